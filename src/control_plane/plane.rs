//! The actions that are available to a controller: setting timers, instructing targets, and reporting its own
//! activity.

use super::targets::RolloutTargets;
use crate::engine::EventId;
use crate::process::ProcessError;
use crate::results::PassRow;
use crate::rollout::Revision;
use crate::units::{SimDuration, SimTime};
use crate::world::{ApplicationId, ClusterSpec, DriverEvent, Event, NEW, NOTHING, Queue, TargetId};

/// The control plane at one instant, through which a controller acts.
pub struct Plane<'a> {
    /// The targets, which the controller can query.
    pub targets: &'a mut dyn RolloutTargets,
    /// The application that is rolled out.
    pub(super) application: ApplicationId,
    pub(super) queue: &'a mut Queue,
    pub(super) record: &'a mut Record,
}

/// The record of a controller's activity so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The number of the controller's pending timers.
    pub(super) timers: usize,
    /// The number of reports and instructions in flight.
    pub(super) in_flight: usize,
    pub(super) passes: Vec<PassRow>,
    /// The revision that each target was last promoted to.
    pub(super) promoted: Vec<Option<Revision>>,
    /// The revisions that each target was ever promoted to, as a bit mask.
    pub(super) ever_promoted: Vec<u32>,
    /// The number of first promotions of any target to any revision. Switching back and forth between revisions does
    /// not count as progress.
    pub(super) first_promotions: u64,
    /// Targets whose state has changed for the controller since the last input.
    pub(super) changed: Vec<TargetId>,
    /// The intervals in which the rollout waited for a person, in any order.
    pub(super) pauses: Vec<(SimTime, SimTime)>,
    /// The intervals in which the rollout waited for a person and for a timer of the strategy, in any order.
    pub(super) timed_waits: Vec<(SimTime, SimTime)>,
    /// The time at which the product first reported completion.
    pub(super) reported: Option<SimTime>,
    /// The observed actions of people that a run follows. `None`: the run's own models apply.
    pub(super) seen_acts: Option<SeenActs>,
    pub(super) failure: Option<ProcessError>,
    /// Whether the product's objects may have changed since the last input.
    pub(super) shows: bool,
}

impl Record {
    /// Records that a pass has promoted a target.
    fn note_promotion(&mut self, target: TargetId, revision: Revision) {
        let Revision(number) = revision;
        let bit = 1 << number.min(u32::BITS - 1);
        let ever = &mut self.ever_promoted[target.index()];
        if *ever & bit == 0 {
            *ever |= bit;
            self.first_promotions += 1;
        }
    }
}

/// People's actions, as inferred from an export of a rollout in progress.
#[derive(Clone, Debug)]
pub struct SeenActs {
    /// The time at which the rollout was exported.
    pub now: SimTime,
    /// Minimum number of actions that people had made by `now`.
    pub made: usize,
    /// The time at which each target was instructed, or `now` if it is unknown. `None`: the target was not instructed.
    pub began: Vec<Option<SimTime>>,
}

impl SeenActs {
    /// Returns the time of the action with index `nth`, which is requested at `asked` when the targets in `promoted`
    /// were promoted.
    ///
    /// If a target was observed further ahead than in the run, the action was made before the target was instructed.
    /// An action that was not observed is made after `now`.
    fn time(
        &self,
        nth: usize,
        asked: SimTime,
        own: Option<SimTime>,
        promoted: &[Option<Revision>],
    ) -> Option<SimTime> {
        let left = self
            .began
            .iter()
            .zip(promoted)
            .filter(|(_, promoted)| **promoted != Some(NEW));
        let began = left.filter_map(|(began, _)| *began).min();
        match began.or((nth < self.made).then_some(self.now)) {
            Some(at) if at < self.now => Some(at.max(asked)),
            Some(_) => Some(asked),
            // An action at exactly this instant would count as observed, so it comes later.
            None => own.map(|at| at.max(self.now + SimDuration::from_millis(1))),
        }
    }
}

impl std::fmt::Debug for Plane<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plane")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl Plane<'_> {
    /// Returns the current time.
    pub fn now(&self) -> SimTime {
        self.queue.now()
    }

    /// Sets a timer. A past time means now. The timer fires as [`super::ControllerInput::Timer`] with this number.
    pub fn timer(&mut self, at: SimTime, number: u32) -> EventId {
        self.record.timers += 1;
        self.queue.schedule(
            at.max(self.queue.now()),
            Event::Driver(self.application, DriverEvent::Timer(number)),
        )
    }

    /// Lets the controller of another application take its turn at a shared part of the hub, at this instant.
    pub fn wake(&mut self, application: ApplicationId) {
        let now = self.queue.now();
        self.queue
            .schedule(now, Event::Driver(application, DriverEvent::HubTurn));
    }

    /// Schedules an event of this control plane.
    fn schedule(&mut self, at: SimTime, event: DriverEvent) {
        self.queue
            .schedule(at, Event::Driver(self.application, event));
    }

    /// Cancels a timer that has not fired yet.
    pub fn cancel(&mut self, timer: EventId) {
        self.record.timers -= usize::from(self.queue.cancel(timer).is_some());
    }

    /// Writes an instruction for a target to its agent, which takes effect at `at`. [`NOTHING`] removes the target's
    /// workloads.
    pub fn instruct(&mut self, at: SimTime, target: TargetId, revision: Revision) {
        if at > self.queue.now() {
            self.record.in_flight += 1;
            self.schedule(at, DriverEvent::Instruct(target, revision));
        } else if revision == NOTHING {
            self.targets.remove(target, self.queue);
        } else {
            self.targets.instruct(target, revision, self.queue);
        }
    }

    /// Pauses or resumes a target. The write takes effect at `at`.
    pub fn pause(&mut self, at: SimTime, target: TargetId, is_paused: bool) {
        if at > self.queue.now() {
            self.record.in_flight += 1;
            self.schedule(at, DriverEvent::Pause(target, is_paused));
        } else {
            self.targets.pause(target, is_paused, self.queue);
        }
    }

    /// Promotes a target to a revision in a pass, and instructs it at `at`. A cluster that is paused or has no agent
    /// never receives the instruction.
    pub fn deploy(
        &mut self,
        at: SimTime,
        spec: &ClusterSpec,
        target: TargetId,
        revision: Revision,
    ) {
        if spec.registered && !spec.paused {
            self.promote(target, revision);
            self.instruct(at, target, revision);
        }
    }

    /// Instructs a cluster's agent to remove a target's workloads now.
    pub fn remove(&mut self, target: TargetId) {
        self.instruct(self.now(), target, NOTHING);
    }

    /// Removes a target's workloads for good. The write takes effect at `at`.
    pub fn withdraw(&mut self, at: SimTime, target: TargetId) {
        if at > self.queue.now() {
            self.record.in_flight += 1;
            self.schedule(at, DriverEvent::Withdraw(target));
        } else {
            self.targets.withdraw(target, self.queue);
        }
    }

    /// Applies a revision of a target from the management cluster now. An offline cluster never receives it.
    pub fn push(&mut self, target: TargetId, revision: Revision) {
        self.targets.push(target, revision, self.queue);
    }

    /// Aborts an apply that would fail, on behalf of the management cluster. The agent does not report the abort.
    pub fn break_off(&mut self, target: TargetId) {
        self.targets.break_off(target, self.queue);
    }

    /// Begins a pass. `unavailable` is the number of unavailable targets.
    pub fn begin_pass(&mut self, unavailable: u64) {
        let t_s = self.now().as_secs_f64();
        self.record.passes.push(PassRow {
            t_s,
            passes: 1,
            duration_s: 0.0,
            created: 0,
            promoted: 0,
            unavailable,
        });
    }

    /// Extends the last pass until `end`, and adds the number of created objects. A pass that continues after the last
    /// target became ready is already recorded.
    pub fn pass_until(&mut self, end: SimTime, created: u64) {
        if let Some(pass) = self.record.passes.last_mut() {
            pass.duration_s = end.as_secs_f64() - pass.t_s;
            pass.created += created;
        }
    }

    /// Records the promotion of a target to a revision in a pass. It counts once for each target and revision.
    pub fn promote(&mut self, target: TargetId, revision: Revision) {
        let before = self.record.promoted[target.index()].replace(revision);
        self.record.note_promotion(target, revision);
        if before != Some(revision)
            && let Some(pass) = self.record.passes.last_mut()
        {
            pass.promoted += 1;
        }
    }

    /// Returns the passes so far. An external process reports its own passes.
    pub fn passes(&mut self) -> &mut Vec<PassRow> {
        &mut self.record.passes
    }

    /// Announces that [`super::Controller::is_done`] may have changed for a target.
    pub fn changed(&mut self, target: TargetId) {
        self.record.changed.push(target);
    }

    /// Reports that the product's own status shows the rollout of the new revision as complete.
    pub fn reports_completion(&mut self, at: SimTime) {
        self.record.reported.get_or_insert(at);
    }

    /// Records that the rollout waits for a person from `asked` until `given`, as the strategy's delays determine.
    pub fn waits_for_person(&mut self, asked: SimTime, given: SimTime) {
        self.record.pauses.push((asked, given));
    }

    /// Returns the time at which a person responds to a request made at `asked`: the time `own` from the strategy's
    /// model, unless the run follows observed actions. `None`: the person never responds.
    pub fn person_acts(&mut self, asked: SimTime, own: Option<SimTime>) -> Option<SimTime> {
        let Record {
            seen_acts,
            pauses,
            promoted,
            ..
        } = &*self.record;
        let given = match seen_acts {
            Some(acts) => acts.time(pauses.len(), asked, own, promoted),
            None => own,
        };
        given.inspect(|given| self.waits_for_person(asked, *given))
    }

    /// Records a timed wait of the strategy from `begins` until `ends`, while the rollout also waits for a person.
    pub fn waits_for_time(&mut self, begins: SimTime, ends: SimTime) {
        self.record.timed_waits.push((begins, ends));
    }

    /// Announces that the product's objects may show changed conditions.
    pub fn shows(&mut self) {
        self.record.shows = true;
    }

    /// Returns whether [`Plane::shows`] was called and the conditions were not collected yet.
    pub(super) const fn is_to_show(&self) -> bool {
        self.record.shows
    }

    /// Records that the controller's process has failed. The run ends with this error.
    pub fn fail(&mut self, error: ProcessError) {
        self.record.failure.get_or_insert(error);
    }
}
