//! What the rolling update of a KubeFleet placement sees of the world, and how its decisions reach the clusters.
//!
//! Every cluster of the fleet is a member cluster that the placement has picked. What a binding says of its cluster is
//! in [`super::members`]. A pass starts when Available of a binding changes, by the pass's own writes to bindings, and
//! on its timer (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/rollout/controller.go`).
//!
//! That controller writes the bindings of a group all at the same time (`errgroup`): first those that are held back,
//! then those that are up to date, then those that it rolls, their spec before their status. So a pass lasts
//! a few requests, until the limit of the hub agent's client slows it down.

use super::members::Members;
use super::work_generator::{Effect, WorkGenerator};
use super::{KubeFleetRolling, member_clusters};
use crate::products::{Change, Clusters, Controller, Decision, Happened, Run, StatusLog};
use crate::rollout::kubefleet::rolling::{RollingAction, RollingUpdate, RollingView, wakes};
use crate::rollout::kubefleet::{ApplyStrategy, Binding, BindingState, KubeFleetBugs, placement_conditions};
use crate::rollout::{Hold, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, Report};

/// KubeFleet's rollout controller with one placement.
pub(super) struct RollingController {
    scheduler: RollingUpdate,
    view: RollingView,
    members: Members,
    bugs: KubeFleetBugs,
    generator: WorkGenerator,
    /// Time of a list from the API server.
    list: SimDuration,
    /// Bindings that the pass in progress rolls: the cluster, the revision, and the numbers of the two requests.
    unwritten: Vec<(usize, Revision, [usize; 2])>,
    /// Bindings whose spec the pass in progress patches: the numbers of the requests.
    patched: std::ops::Range<usize>,
    /// Something was reported since the last pass.
    is_news: bool,
    /// The last pass rolled nothing.
    was_quiet: bool,
}

impl RollingController {
    pub(super) fn new(strategy: &KubeFleetRolling, run: Run<'_>) -> Self {
        let KubeFleetRolling { rules, upstream_bugs, policy, config } = strategy;
        let world = run.fleet.world;
        let members = Members::new(world);
        let view = RollingView {
            active: true,
            policy: *policy,
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: Some(NEW),
            bindings: Members::bindings(world),
        };
        let scheduler = RollingUpdate::new(config.clone(), *rules, *upstream_bugs, member_clusters(&world.clusters));
        let timing = run.control_loop;
        Self {
            scheduler,
            view,
            members,
            bugs: *upstream_bugs,
            // A pass lists the bindings from the API server.
            generator: WorkGenerator::new(timing, SimDuration::ZERO, run.streams, Members::works(world)),
            list: timing.request.typical(),
            unwritten: Vec::new(),
            patched: 0..0,
            is_news: false,
            was_quiet: false,
        }
    }

    /// Bindings that are bound to the newest resources.
    fn up_to_date(&self) -> usize {
        let is_newest =
            |binding: &&Binding| binding.state == BindingState::Bound && binding.snapshot == self.view.latest_snapshot;
        self.view.bindings.iter().filter(is_newest).count()
    }

    /// A binding's status is written at `at`.
    fn write(&mut self, effect: Effect, at: SimTime) {
        let Effect::Status(cluster, revision, state) = effect else { unreachable!("it is a status") };
        self.generator.seen(cluster, at);
        if let Some((before, after)) = Members::write(&mut self.view.bindings, cluster, revision, state) {
            self.is_news = true;
            if wakes(&before, &after, self.bugs) {
                self.generator.wake(at);
            }
        }
    }
}

impl Controller for RollingController {
    fn heeds_pause(&self) -> bool {
        false
    }

    fn reports_completion(&self) -> bool {
        true
    }

    fn learn(&mut self, report: Report, now: SimTime) -> bool {
        self.generator.reported(report, now);
        false
    }

    fn change(&mut self, change: &Change, _now: SimTime) -> Option<bool> {
        let Change::Release(revision) = change else { return None };
        self.view.latest_snapshot = Some(*revision);
        Some(true)
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        for (at, effect) in self.generator.statuses_until(now + self.list) {
            self.write(effect, at);
        }
        let pass = self.scheduler.reconcile(now, &self.view);
        let status = &pass.status;
        let mut decision = Decision {
            unavailable: Members::unavailable(&self.view.bindings),
            complete: self.view.is_done(),
            ..Decision::default()
        };
        // The bindings are listed first, from the API server.
        decision.requests.in_turn(1);
        decision.requests.together(status.patched.len());
        self.patched = 1..decision.requests.len();
        decision.requests.together(status.blocked.len());
        // Where anything is left to roll, the status of each binding that is up to date is written anew, changed or not.
        let is_rolling = !pass.actions.is_empty() || !status.blocked.is_empty();
        let up_to_date = if is_rolling { self.up_to_date() } else { status.restarted.len() };
        decision.requests.together(up_to_date);
        let rolled = pass.actions.len();
        let before = decision.requests.len();
        decision.requests.together(rolled);
        decision.requests.together(rolled);
        decision.requested = rolled;
        self.was_quiet = rolled == 0 && status.patched.is_empty() && status.restarted.is_empty();
        self.view.store(now, &pass);
        for (position, action) in pass.actions.iter().enumerate() {
            let RollingAction::Deploy(target, revision) = *action else {
                unreachable!("every cluster of the fleet stays picked")
            };
            self.unwritten.push((target.index(), revision, [before + position, before + rolled + position]));
        }
        self.is_news = false;
        decision
    }

    /// A write of a binding's spec wakes the work generator and this controller itself.
    fn answered(&mut self, answers: &[SimTime]) {
        for patched in self.patched.clone() {
            self.generator.wake(answers[patched]);
        }
        for (cluster, revision, [spec, started]) in std::mem::take(&mut self.unwritten) {
            self.generator.rolled(cluster, revision, answers[spec], answers[started]);
            self.generator.wake(answers[spec]);
        }
    }

    fn requeue(&mut self, end: SimTime) -> Option<SimTime> {
        self.scheduler.pass_ended(end)
    }

    fn next_event(&self) -> Option<SimTime> {
        self.generator.next()
    }

    fn advance(&mut self, now: SimTime, _clusters: &dyn Clusters) -> Happened {
        let mut happened = Happened::default();
        while let Some(effect) = self.generator.advance(now) {
            match effect {
                Effect::Instruct(cluster, revision) if self.members.is_registered(cluster) => {
                    happened.instructions.push((cluster, revision));
                }
                Effect::Instruct(..) | Effect::Remove(_) | Effect::Gone(_) => {}
                Effect::Status(..) => self.write(effect, now),
                Effect::Seen(cluster) => happened.changed.push(cluster),
                Effect::Wake => happened.starts_pass = true,
            }
        }
        happened
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        Members::is_done(&self.view.bindings, cluster)
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn show(&mut self, log: &mut StatusLog) {
        log.show(placement_conditions("placement", &self.view.bindings, self.view.latest_snapshot));
    }

    fn stages(&self) -> Vec<String> {
        vec![String::new(); self.view.bindings.iter().len()]
    }

    /// Availability of what runs here can be tracked, so that time alone makes nothing ready.
    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        self.was_quiet && !self.is_news && self.generator.is_idle()
    }
}
