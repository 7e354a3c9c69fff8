//! The rollout of one application in a run: its control plane, its targets and its progress.
//!
//! The control plane counts its targets from 0. In the world, they follow those of the applications before it. Every
//! application has its own random streams, so that another application changes none of its draws; those of the first
//! are the streams of a run with one application. The control planes share the workers, limits and processors of one
//! [`SharedHub`], as the rollouts of a management cluster do.

use super::progress::Progress;
use super::release_log::ReleaseLog;
use crate::control_plane::{ApplicationStates, ApplicationTargets, ControlPlane, SharedHub};
use crate::engine::{EntityKey, Streams};
use crate::products::Run;
use crate::scenario::Scenario;
use crate::units::SimTime;
use crate::world::{ApplicationId, OLD, Queue, ReleaseKind, TargetId, World};

/// The rollout of one application in a run.
pub(super) struct RunningRollout<'s> {
    pub(super) control: ControlPlane<'s>,
    /// The number of the first target in the world.
    pub(super) first: u32,
    /// The progress of the application's own targets.
    pub(super) progress: Progress,
    /// The time of the release. `None`: a pre-pull is still in progress.
    pub(super) released: Option<SimTime>,
    /// The releases so far.
    pub(super) releases: ReleaseLog,
    /// The parts of the control plane that the applications share.
    hub: SharedHub,
}

impl<'s> RunningRollout<'s> {
    /// Creates the rollouts of all applications of a scenario, before their releases.
    pub(super) fn all(scenario: &'s Scenario, label: &'s str, streams: Streams) -> Vec<Self> {
        let mut rollouts: Vec<Self> = Vec::with_capacity(scenario.applications.len());
        let mut first = 0;
        let shared = SharedHub::of_run();
        for (number, application) in (0..).zip(&scenario.applications) {
            let targets = scenario.targets_of(application);
            let spec = &scenario.world.applications[number as usize];
            let is_update = spec.release == ReleaseKind::Update;
            let own_streams = match number {
                0 => streams,
                _ => streams.of_part(EntityKey::of(&application.name)),
            };
            let hub = shared.seen_by(ApplicationId(number));
            let controller = application.strategy.controller(Run {
                label,
                fleet: scenario.fleet_of(application),
                control_loop: &scenario.control_loop,
                horizon: SimTime::ZERO + scenario.horizon,
                streams: own_streams,
                hub: hub.clone(),
            });
            rollouts.push(Self {
                control: ControlPlane::new(
                    ApplicationId(number),
                    controller,
                    targets,
                    scenario.control_loop.watch_delay,
                    &application.changes,
                ),
                first,
                progress: Progress::new(targets),
                released: None,
                releases: ReleaseLog::new(is_update, &application.changes),
                hub,
            });
            first += targets as u32;
        }
        rollouts
    }

    /// Releases the application at a time.
    pub(super) fn release(&mut self, at: SimTime, queue: &mut Queue) {
        self.released = Some(at);
        self.control.release(at, queue);
    }

    /// Returns the application's targets in the world.
    pub(super) const fn targets_in<'w>(
        &self,
        world: &'w mut World<'s>,
    ) -> ApplicationTargets<'w, 's> {
        ApplicationTargets {
            world,
            first: self.first,
        }
    }

    /// Returns the states of the application's targets in the world.
    pub(super) const fn states_in<'w>(&self, world: &'w World<'s>) -> ApplicationStates<'w, 's> {
        ApplicationStates {
            world,
            first: self.first,
        }
    }

    /// Returns the number in the world of one of the application's targets.
    pub(super) const fn in_world(&self, target: TargetId) -> TargetId {
        TargetId(self.first + target.0)
    }

    /// Returns the number in the application of a target in the world.
    pub(super) const fn own(&self, target: TargetId) -> TargetId {
        TargetId(target.0 - self.first)
    }

    /// Returns the number of targets that are not ready on a released revision.
    pub(super) fn left_behind(&self) -> u64 {
        if self.releases.wanted() == OLD {
            return self.progress.targets();
        }
        self.progress.targets() - self.progress.done()
    }

    /// Returns whether the controller is an external process with its own clock.
    pub(super) const fn is_of_process(&self) -> bool {
        self.control.traits.is_process
    }

    /// Returns whether no pending step of the control plane can change anything until the world changes.
    pub(super) fn is_idle(&self, world: &World<'s>) -> bool {
        // A native controller cannot act without a timer, unless it waits for a shared part of the hub, whose timer may
        // be one of another application.
        let has_no_timer =
            self.control.timers() == 0 && !self.is_of_process() && !self.hub.is_waiting();
        let is_complete = self.progress.is_complete();
        has_no_timer || is_complete || self.control.controller.is_idle(&self.states_in(world))
    }
}
