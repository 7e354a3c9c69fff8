//! A run that follows what was seen of a rollout in progress, and simulates the rest.
//!
//! The run begins at the release. Until now, the product's own rules decide on what was seen, in the order and at the
//! times at which it happened:
//!
//! | seen | in the run |
//! |---|---|
//! | ready, with its time | its report of readiness arrives at that time, or when it is instructed if that is later |
//! | ready at an unknown time | its report arrives when simulated, and now at the latest |
//! | updating | a report before now is withheld; the rest is drawn from the longer durations of this run |
//! | waiting | an instruction does not arrive before now |
//! | failed | it never reports readiness |
//!
//! A person whom a strategy waits for acts before the first target that was seen instructed and is not in the run; if
//! there is none and the product does not say that the act was made, after now.
//!
//! A target that is ready is online: it is not offline at the start, and the run's own outages of it begin now at the
//! earliest.
//!
//! So a product needs no code for this: waits, timers and queues of its controllers are as old as the rollout. The
//! duration that the run itself would have given each target is kept; a forecast judges its constants by it.
//!
//! Left out: bytes that a target has received when its report comes earlier or later than its simulated pulls; targets
//! that were ready and are not any more; outages that stand at the start of a run, which may cut off a target that was
//! seen ready.

use super::{RunFailure, Sim, conclude};
use crate::control_plane::{Controller, SeenActs};
use crate::engine::{self, EntityKey, EventQueue, Streams, dist};
use crate::results::RunRecord;
use crate::rollout::Hold;
use crate::scenario::Variant;
use crate::stats::CensoredFit;
use crate::units::{SimDuration, SimTime};
use crate::world::{AgentEvent, ClusterId, Event, FaultEvent, NEW, Queue, Report};

/// The state in which a target was seen.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SeenState {
    /// It runs the old revision, and was not instructed.
    #[default]
    Waiting,
    /// It was instructed and is not ready.
    Updating,
    /// It is ready on the new revision.
    Ready,
    /// Its update has failed, and stays so.
    Failed,
}

/// A target, with times since the release.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeenTarget {
    /// The state in which it was seen.
    pub state: SeenState,
    /// When it was instructed, if that is known.
    pub instructed: Option<SimTime>,
    /// When it became ready, if that is known.
    pub ready: Option<SimTime>,
}

/// A rollout in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutSoFar {
    /// The time since the release.
    pub now: SimTime,
    /// Every target, in the order of the fleet.
    pub targets: Vec<SeenTarget>,
    /// Approvals or continuations that people have made, at least.
    pub acts: usize,
}

impl RolloutSoFar {
    /// People's acts, as the targets show them. Where the product does not say when it instructed a target, its update
    /// is taken to have been as long as the first one.
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

    /// When a target was instructed. If the product does not say it, its update took as long as that of the first
    /// ready target, which is taken to have been instructed at the release.
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

/// A run that followed a rollout and went on.
#[derive(Clone, Debug)]
pub struct Continuation {
    /// The whole run.
    pub record: RunRecord,
    /// When each target was instructed. `None`: never.
    pub instructed: Vec<Option<SimTime>>,
    /// When each target would have been ready by itself. `None`: not before the end.
    pub own_ready: Vec<Option<SimTime>>,
    /// The rule that held the rollout now.
    pub hold: Option<Hold>,
}

/// Runs a variant from the release, following a rollout in progress until now.
///
/// # Errors
/// As [`super::run`].
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
    sim.control.follow_acts(seen.acts());
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

/// The observed rollout that a run follows, and how far it has followed it.
pub(super) struct Past<'s> {
    seen: &'s RolloutSoFar,
    streams: Streams,
    targets: Vec<FollowedTarget>,
    /// The durations of the run's own updates until now.
    fit: Option<CensoredFit>,
    hold: Option<Hold>,
    is_now: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct FollowedTarget {
    /// When its instruction arrived.
    instructed: Option<SimTime>,
    /// When its own report of readiness arrived.
    own_ready: Option<SimTime>,
    /// When its report arrives in place of its own.
    due: Option<SimTime>,
    /// That report has arrived.
    is_ready: bool,
    /// It was offline at the start of the run.
    is_reconnected: bool,
}

impl Sim<'_> {
    /// Connects targets that the run's own failures have cut off from the start, but that are ready.
    fn reconnect(&mut self, queue: &mut Queue) {
        let Some(past) = &mut self.past else { return };
        let faults = &self.scenario.world.faults;
        if faults.outages.is_some() || !faults.regional.is_empty() {
            return;
        }
        let offline: Vec<bool> = self.world.facts().map(|facts| facts.offline).collect();
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
    /// An event is about to happen: the first one after now sees what holds the rollout. Exports tell times to the
    /// second, and the controller hears of what happened by now a moment later.
    pub(super) fn reaches(&mut self, now: SimTime, controller: &dyn Controller) {
        if !self.is_now && now > self.seen.now + SimDuration::from_secs(1) {
            self.is_now = true;
            self.hold = controller.hold();
        }
    }

    /// Whether an event must not happen now, because something else was seen.
    pub(super) fn withholds(&mut self, event: Event, queue: &mut Queue) -> bool {
        match event {
            Event::Agent(AgentEvent::InstructionArrives(cluster)) => {
                self.withholds_instruction(cluster, queue)
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

    fn withholds_instruction(&mut self, cluster: ClusterId, queue: &mut Queue) -> bool {
        let seen = self.seen.targets[cluster.index()];
        if seen.state == SeenState::Waiting && queue.now() < self.seen.now {
            queue.schedule(
                self.seen.now,
                Event::Agent(AgentEvent::InstructionArrives(cluster)),
            );
            return true;
        }
        let target = &mut self.targets[cluster.index()];
        target.instructed.get_or_insert(queue.now());
        if seen.state == SeenState::Ready && target.due.is_none() {
            let at = seen.ready.unwrap_or(self.seen.now).max(queue.now());
            target.due = Some(at);
            schedule_ready_report(cluster, at, queue);
        }
        false
    }

    fn withholds_report(&mut self, report: Report, queue: &mut Queue) -> bool {
        let now = queue.now();
        let seen = self.seen.targets[report.cluster.index()];
        let target = &mut self.targets[report.cluster.index()];
        if target.is_ready {
            // Until its own update has caught up, what it reports is old.
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
                    schedule_ready_report(report.cluster, self.seen.now, queue);
                }
                true
            }
            SeenState::Updating => {
                if target.due.is_none() {
                    let at = now + self.rest(report.cluster);
                    self.targets[report.cluster.index()].due = Some(at);
                    schedule_ready_report(report.cluster, at, queue);
                }
                true
            }
        }
    }

    /// The time that an update still takes after the run has finished it too early.
    fn rest(&mut self, cluster: ClusterId) -> SimDuration {
        let now = self.seen.now;
        let at = cluster.index();
        let instructed = self.seen.targets[at].instructed;
        let instructed = instructed.or(self.targets[at].instructed).unwrap_or(now);
        let elapsed = now.saturating_since(instructed).as_secs_f64();
        if self.fit.is_none() {
            self.fit = CensoredFit::of(&self.own_durations());
        }
        let fit = self.fit;
        let key = EntityKey::of("update in progress").part(u64::from(cluster.0));
        let share = 1.0 - dist::unit(&mut self.streams.stream(key, "rest"));
        let whole = fit.map_or(elapsed, |fit| fit.beyond(elapsed, share));
        // A report at the very instant would count as seen.
        SimDuration::from_secs_f64((whole - elapsed).clamp(1e-3, 1e8))
    }

    /// Seconds of the run's own updates until now, and whether they have ended.
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
fn schedule_ready_report(cluster: ClusterId, at: SimTime, queue: &mut Queue) {
    let report = Report {
        cluster,
        applied: NEW,
        ready: true,
        degraded: false,
        failure: None,
    };
    queue.schedule(at, Event::Agent(AgentEvent::ReportArrives(report)));
}
