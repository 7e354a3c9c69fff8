//! A run that follows the observed part of a rollout in progress, and simulates the rest.
//!
//! The run begins at the release. Until the present, the product's own rules are applied to the observed state, with
//! the observed order and times:
//!
//! | observed state | in the run |
//! |---|---|
//! | ready at a known time | its report of readiness arrives at that time, or when it is instructed if that is later |
//! | ready at an unknown time | its report arrives when simulated, but not after the present |
//! | updating | a report before the present is withheld; the remaining time is drawn from the run's longer durations |
//! | waiting | an instruction does not arrive before the present |
//! | failed | it never reports readiness |
//! | any, with a planned duration | its report arrives after that duration, not when simulated |
//!
//! A person's pending action happens before the instruction of the first target that was observed as instructed but is
//! not instructed in the run. If there is no such target, and the product does not show the action, it happens after
//! the present.
//!
//! A target that is ready is online: it is not offline at the start, and its simulated outages begin at the present or
//! later.
//!
//! Products therefore need no code for this: the waits, timers and queues of their controllers are as old as the
//! rollout. The run also records the update duration that it would have simulated for each target, which a forecast
//! uses to evaluate its constants.
//!
//! Left out: the difference in received bytes if a target's report comes earlier or later than its simulated pulls;
//! targets that were ready before but no longer are; outages at the start of a run that cut off a target observed as
//! ready.

use super::{RunFailure, Sim, conclude};
use crate::control_plane::{Controller, SeenActs};
use crate::engine::{self, EntityKey, EventQueue, Streams, dist};
use crate::results::RunRecord;
use crate::rollout::Hold;
use crate::scenario::Variant;
use crate::stats::CensoredFit;
use crate::units::{SimDuration, SimTime};
use crate::world::{AgentEvent, ClusterId, Event, FaultEvent, NEW, Queue, Report, TargetId};

/// The observed state of a target.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SeenState {
    /// The target runs the old revision and was not instructed.
    #[default]
    Waiting,
    /// The target was instructed and is not ready yet.
    Updating,
    /// The target is ready on the new revision.
    Ready,
    /// The target's update has failed permanently.
    Failed,
}

/// The observation of a target, with times since the release.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeenTarget {
    /// The target's observed state.
    pub state: SeenState,
    /// The time at which the target was instructed, if known.
    pub instructed: Option<SimTime>,
    /// The time at which the target became ready, if known.
    pub ready: Option<SimTime>,
    /// Whether the update has stopped, so that its duration says nothing about the other targets.
    pub is_stuck: bool,
    /// The future of a target that is not ready yet.
    pub rest: PlannedRest,
}

/// The future of a target that is not ready yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PlannedRest {
    /// The run simulates it.
    #[default]
    Simulated,
    /// The run simulates it, and an update that is too early in the run takes longer than this share of the longer
    /// ones.
    Longer(f64),
    /// The target is ready this long after its instruction, in place of the simulated time.
    Takes(SimDuration),
    /// The target's update fails permanently.
    Fails,
}

/// A rollout in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutSoFar {
    /// The time from the release to the observation.
    pub now: SimTime,
    /// Every target, in the order of the fleet.
    pub targets: Vec<SeenTarget>,
    /// Minimum number of approvals or continuations that people have made.
    pub acts: usize,
}

impl RolloutSoFar {
    /// Returns people's actions, as the targets show them. If a target's instruction time is unknown, its update is
    /// assumed to have taken as long as the first one.
    fn acts(&self) -> SeenActs {
        let first = self.targets.iter().filter_map(|target| target.ready).min();
        let mut began = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            began.push(match target.state {
                SeenState::Updating | SeenState::Ready => Some(self.instruction_of(target, first)),
                SeenState::Waiting | SeenState::Failed => None,
            });
        }
        SeenActs {
            now: self.now,
            made: self.acts,
            began,
        }
    }

    /// Returns the time at which a target was instructed. If it is unknown, the update is assumed to have taken as
    /// long as that of the first ready target, which was instructed at the release.
    fn instruction_of(&self, target: &SeenTarget, first_ready: Option<SimTime>) -> SimTime {
        if let Some(instructed) = target.instructed {
            return instructed;
        }
        match (target.ready, first_ready) {
            (Some(ready), Some(first)) => SimTime::ZERO + ready.saturating_since(first),
            _ => self.now,
        }
    }
}

/// A run that followed an observed rollout and then continued it.
#[derive(Clone, Debug)]
pub struct Continuation {
    /// The record of the whole run.
    pub record: RunRecord,
    /// The time at which each target was instructed. `None`: it was never instructed.
    pub instructed: Vec<Option<SimTime>>,
    /// The time at which each target would have become ready without the observation. `None`: not before the end.
    pub own_ready: Vec<Option<SimTime>>,
    /// The rule that blocks the rollout at the present.
    pub hold: Option<Hold>,
}

/// Runs a variant from the release, and follows the observed rollout until the present.
///
/// # Errors
/// See [`super::run`].
pub fn run_from(
    variant: &Variant,
    seed: u64,
    replicate: u32,
    seen: &RolloutSoFar,
) -> Result<Continuation, RunFailure> {
    let scenario = &variant.scenario;
    let mut queue = EventQueue::new();
    let mut sim = Sim::new(scenario, &variant.label, seed, replicate, &mut queue);
    sim.past = Some(Past {
        seen,
        streams: Streams::new(seed, replicate),
        targets: vec![FollowedTarget::default(); seen.targets.len()],
        fit: None,
        hold: None,
        is_now: false,
    });
    // A forecast has one application.
    sim.rollouts[0].control.follow_acts(seen.acts());
    sim.reconnect(&mut queue);
    let horizon = SimTime::ZERO + scenario.horizon;
    let end = engine::run(&mut sim, &mut queue, &mut (), horizon, Sim::is_over);
    let past = sim.past.take().expect("this run follows a rollout");
    let targets = past.targets.iter();
    Ok(Continuation {
        record: conclude(sim, &mut queue, end, variant, replicate)?,
        instructed: targets.clone().map(|target| target.instructed).collect(),
        own_ready: targets.map(|target| target.own_ready).collect(),
        hold: past.hold,
    })
}

/// The observed rollout that a run follows, and how far the run has followed it.
pub(super) struct Past<'s> {
    seen: &'s RolloutSoFar,
    streams: Streams,
    targets: Vec<FollowedTarget>,
    /// The durations of the run's own simulated updates until the present.
    fit: Option<CensoredFit>,
    hold: Option<Hold>,
    is_now: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct FollowedTarget {
    /// The time at which the target's instruction arrived.
    instructed: Option<SimTime>,
    /// The time at which the target's own, simulated report of readiness arrived.
    own_ready: Option<SimTime>,
    /// The time at which the observed report replaces the simulated one.
    due: Option<SimTime>,
    /// Whether the observed report has arrived.
    is_ready: bool,
    /// Whether the target was reconnected because the run had it offline at the start.
    is_reconnected: bool,
}

impl Sim<'_> {
    /// Reconnects targets that were observed as ready although the run's own failures cut them off at the start.
    fn reconnect(&mut self, queue: &mut Queue) {
        let Some(past) = &mut self.past else { return };
        let faults = &self.scenario.world.faults;
        if faults.outages.is_some() || !faults.regional.is_empty() {
            return;
        }
        let offline: Vec<bool> = self
            .world
            .cluster_facts()
            .map(|facts| facts.offline)
            .collect();
        for (at, is_offline) in offline.into_iter().enumerate() {
            if is_offline && past.seen.targets[at].state == SeenState::Ready {
                past.targets[at].is_reconnected = true;
                self.world.handle(
                    Event::Fault(FaultEvent::OfflineEnds(ClusterId(at as u32))),
                    queue,
                );
            }
        }
    }
}

impl Past<'_> {
    /// Returns a time, or that of the observation if it is later.
    pub(super) fn observed_from(&self, at: SimTime) -> SimTime {
        at.max(self.seen.now)
    }

    /// Returns whether a time is before the observation, when nothing shows what people noticed.
    pub(super) fn is_before_observation(&self, now: SimTime) -> bool {
        now < self.seen.now
    }

    /// Handles an event that is about to happen. The hold at the present is determined at the first later event,
    /// because exports have times in whole seconds and the controller sees changes slightly later.
    pub(super) fn reaches(&mut self, now: SimTime, controller: &dyn Controller) {
        if !self.is_now && now > self.seen.now + SimDuration::from_secs(1) {
            self.is_now = true;
            self.hold = controller.hold();
        }
    }

    /// Returns whether an event must not happen now because the observation contradicts it.
    pub(super) fn withholds(&mut self, event: Event, queue: &mut Queue) -> bool {
        match event {
            Event::Agent(AgentEvent::InstructionArrives(target)) => {
                self.withholds_instruction(target, queue)
            }
            Event::Agent(AgentEvent::ReportArrives(report)) if report.applied == NEW => {
                self.withholds_report(report, queue)
            }
            Event::Fault(FaultEvent::OfflineEnds(cluster)) => {
                self.targets[cluster.index()].is_reconnected
            }
            Event::Fault(FaultEvent::OutageBegins(cluster))
                if queue.now() < self.seen.now
                    && self.seen.targets[cluster.index()].state == SeenState::Ready =>
            {
                queue.schedule(self.seen.now, event);
                true
            }
            _ => false,
        }
    }

    fn withholds_instruction(&mut self, target: TargetId, queue: &mut Queue) -> bool {
        let seen = self.seen.targets[target.index()];
        if seen.state == SeenState::Waiting && queue.now() < self.seen.now {
            queue.schedule(
                self.seen.now,
                Event::Agent(AgentEvent::InstructionArrives(target)),
            );
            return true;
        }
        let followed = &mut self.targets[target.index()];
        followed.instructed.get_or_insert(queue.now());
        if seen.state == SeenState::Ready && followed.due.is_none() {
            let at = seen.ready.unwrap_or(self.seen.now).max(queue.now());
            followed.due = Some(at);
            schedule_ready_report(target, at, queue);
        }
        if let PlannedRest::Takes(duration) = seen.rest
            && followed.due.is_none()
        {
            let told = seen.instructed.or(followed.instructed);
            // A report at exactly this instant would count as observed, so it comes later.
            let least = self.seen.now.max(queue.now()) + SimDuration::from_millis(1);
            let at = least.max(told.unwrap_or(queue.now()) + duration);
            followed.due = Some(at);
            schedule_ready_report(target, at, queue);
        }
        false
    }

    fn withholds_report(&mut self, report: Report, queue: &mut Queue) -> bool {
        let now = queue.now();
        let seen = self.seen.targets[report.target.index()];
        let target = &mut self.targets[report.target.index()];
        if target.is_ready {
            // The target's reports are out of date until its simulated update has caught up.
            let has_caught_up = target.own_ready.is_some();
            if report.ready {
                target.own_ready.get_or_insert(now);
            }
            return !has_caught_up;
        }
        if !report.ready {
            return false;
        }
        if target.due == Some(now) {
            target.is_ready = true;
            return false;
        }
        let is_own = target.own_ready.is_none();
        target.own_ready.get_or_insert(now);
        if matches!(seen.rest, PlannedRest::Takes(_) | PlannedRest::Fails) {
            return true;
        }
        match seen.state {
            SeenState::Waiting => false,
            SeenState::Failed => true,
            SeenState::Ready => {
                target.is_ready = seen.ready.is_none();
                !target.is_ready
            }
            SeenState::Updating if is_own && now > self.seen.now => {
                target.is_ready = true;
                false
            }
            SeenState::Updating if now < self.seen.now => {
                if is_own {
                    schedule_ready_report(report.target, self.seen.now, queue);
                }
                true
            }
            SeenState::Updating => {
                if target.due.is_none() {
                    let at = now + self.rest(report.target);
                    self.targets[report.target.index()].due = Some(at);
                    schedule_ready_report(report.target, at, queue);
                }
                true
            }
        }
    }

    /// Returns the remaining time of an update that finished too early in the run.
    fn rest(&mut self, target: TargetId) -> SimDuration {
        let now = self.seen.now;
        let at = target.index();
        let instructed = self.seen.targets[at].instructed;
        let instructed = instructed.or(self.targets[at].instructed).unwrap_or(now);
        let elapsed = now.saturating_since(instructed).as_secs_f64();
        if self.fit.is_none() {
            self.fit = CensoredFit::of(&self.own_durations());
        }
        let fit = self.fit;
        let key = EntityKey::of("update in progress").part(u64::from(target.0));
        let share = match self.seen.targets[at].rest {
            PlannedRest::Longer(share) => 1.0 - share,
            _ => 1.0 - dist::unit(&mut self.streams.stream(key, "rest")),
        };
        let whole = fit.map_or(elapsed, |fit| fit.beyond(elapsed, share));
        // A report at exactly this instant would count as observed, so it comes later.
        SimDuration::from_secs_f64((whole - elapsed).clamp(1e-3, 1e8))
    }

    /// Returns the durations of the run's own simulated updates until the present in seconds, and whether each has
    /// ended.
    fn own_durations(&self) -> Vec<(f64, bool)> {
        let mut durations = Vec::new();
        for target in &self.targets {
            if let Some(instructed) = target.instructed {
                let ended = target.own_ready.unwrap_or(self.seen.now);
                let took = ended.saturating_since(instructed);
                durations.push((took.as_secs_f64(), target.own_ready.is_some()));
            }
        }
        durations
    }
}

/// Schedules the arrival of a report of readiness.
fn schedule_ready_report(target: TargetId, at: SimTime, queue: &mut Queue) {
    let report = Report {
        target,
        applied: NEW,
        ready: true,
        degraded: false,
        failure: None,
    };
    queue.schedule(at, Event::Agent(AgentEvent::ReportArrives(report)));
}
