//! Connects a controller with the targets of one run: delivers its inputs at their times, and carries out its
//! actions.
//!
//! Reports and people's changes reach the controller after the watch delay. The targets are a simulated world, or a
//! recorded fleet in a test.

use super::plane::{Record, SeenActs};
use super::{
    Change, Controller, ControllerInput, Plane, RolloutTargets, StatusLog, TargetStates, Traits,
};
use crate::process::ProcessError;
use crate::results::{PassRow, StatusRow};
use crate::units::{SimDuration, SimTime};
use crate::world::{ApplicationId, DriverEvent, Event, Queue, Report, TargetId};

/// A product's control plane of one application in one run.
pub struct ControlPlane<'s> {
    /// The application whose targets it has. Its targets are counted from 0.
    application: ApplicationId,
    /// The product's controller, as a state machine.
    pub controller: Box<dyn Controller + 's>,
    /// Facts about the controller that hold during the whole run.
    pub traits: Traits,
    watch_delay: SimDuration,
    /// People's changes, with their time since the release, in order of time.
    changes: &'s [(SimDuration, Change)],
    /// Whether each target is online, as last reported to an external process.
    online: Vec<bool>,
    record: Record,
    /// The log of the product's status conditions. `None`: they are not recorded.
    statuses: Option<StatusLog>,
}

impl std::fmt::Debug for ControlPlane<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

impl<'s> ControlPlane<'s> {
    /// Creates the control plane of an application with this number of `targets`, which are initially all online.
    pub fn new(
        application: ApplicationId,
        controller: Box<dyn Controller + 's>,
        targets: usize,
        watch_delay: SimDuration,
        changes: &'s [(SimDuration, Change)],
    ) -> Self {
        Self {
            application,
            traits: controller.traits(),
            controller,
            watch_delay,
            changes,
            online: vec![true; targets],
            record: Record {
                promoted: vec![None; targets],
                ever_promoted: vec![0; targets],
                ..Record::default()
            },
            statuses: None,
        }
    }

    /// Starts recording the product's status conditions.
    pub fn record_statuses(&mut self) {
        self.statuses = Some(StatusLog::default());
        self.show(SimTime::ZERO);
    }

    /// Makes people act as observed in a rollout in progress.
    pub fn follow_acts(&mut self, acts: SeenActs) {
        self.record.seen_acts = Some(acts);
    }

    fn show(&mut self, now: SimTime) {
        if let Some(log) = &mut self.statuses {
            log.at(now);
            self.controller.show(log);
        }
    }

    /// Takes the status conditions that the product has shown until `end`.
    pub fn take_statuses(&mut self, end: SimTime) -> Vec<StatusRow> {
        self.show(end);
        self.statuses
            .take()
            .map_or_else(Vec::new, |mut log| log.take())
    }

    /// Takes the passes so far, in order of their beginning.
    pub fn take_passes(&mut self) -> Vec<PassRow> {
        std::mem::take(&mut self.record.passes)
    }

    /// Takes the intervals in which the rollout waited for a person, in any order.
    pub fn take_pauses(&mut self) -> Vec<(SimTime, SimTime)> {
        std::mem::take(&mut self.record.pauses)
    }

    /// Takes the intervals in which the rollout waited for a person and for a timer of the strategy, in any order.
    pub fn take_timed_waits(&mut self) -> Vec<(SimTime, SimTime)> {
        std::mem::take(&mut self.record.timed_waits)
    }

    /// Returns the time at which the product first reported completion.
    pub const fn reported(&self) -> Option<SimTime> {
        self.record.reported
    }

    /// Returns the number of first promotions of any target to any revision.
    pub const fn first_promotions(&self) -> u64 {
        self.record.first_promotions
    }

    /// Returns whether the controller's process has failed.
    pub const fn has_failed(&self) -> bool {
        self.record.failure.is_some()
    }

    /// Returns the number of the controller's pending timers.
    pub const fn timers(&self) -> usize {
        self.record.timers
    }

    /// Ends the run. Returns the error of the controller's process, if there is one.
    pub fn finish(&mut self) -> Option<ProcessError> {
        let at_end = self.controller.finish();
        self.record.failure.take().or(at_end)
    }

    /// Handles a report that has reached the management cluster.
    pub fn arrive(&mut self, report: Report, queue: &mut Queue) {
        let delay = self.traits.report_delay.unwrap_or(self.watch_delay);
        self.record.in_flight += 1;
        queue.schedule_in(
            delay,
            Event::Driver(self.application, DriverEvent::Seen(report)),
        );
    }

    /// Releases the new revision at a time: the controller begins, and people's delays count from then.
    pub fn release(&self, at: SimTime, queue: &mut Queue) {
        let delay = self.shown_after();
        for (number, (after, _)) in (0..).zip(self.changes) {
            queue.schedule(
                at + *after + delay,
                Event::Driver(self.application, DriverEvent::PersonActs(number)),
            );
        }
        queue.schedule(at, Event::Driver(self.application, DriverEvent::Released));
    }

    /// Notifies an external process of targets whose cluster was cut off or has returned.
    pub fn links(&mut self, targets: &mut dyn RolloutTargets, queue: &mut Queue) {
        if !self.traits.is_process {
            return;
        }
        for index in 0..self.online.len() {
            let target = TargetId(index as u32);
            let is_online = targets.is_online(target);
            if std::mem::replace(&mut self.online[index], is_online) != is_online {
                self.input(ControllerInput::Link(target, is_online), targets, queue);
            }
        }
    }

    /// Handles an event of the control plane. Returns the targets whose state may have changed for the controller.
    pub fn handle(
        &mut self,
        event: DriverEvent,
        targets: &mut dyn RolloutTargets,
        queue: &mut Queue,
    ) -> Vec<TargetId> {
        match event {
            DriverEvent::Released => self.input(ControllerInput::Released, targets, queue),
            DriverEvent::Seen(report) => {
                self.record.in_flight -= 1;
                self.record.changed.push(report.target);
                self.input(ControllerInput::Report(report), targets, queue);
            }
            DriverEvent::Timer(number) => {
                self.record.timers -= 1;
                self.input(ControllerInput::Timer(number), targets, queue);
            }
            DriverEvent::Instruct(target, revision) => {
                self.record.in_flight -= 1;
                Plane {
                    targets,
                    application: self.application,
                    queue,
                    record: &mut self.record,
                }
                .instruct(SimTime::ZERO, target, revision);
            }
            DriverEvent::Withdraw(target) => {
                self.record.in_flight -= 1;
                targets.withdraw(target, queue);
            }
            DriverEvent::Pause(target, is_paused) => {
                self.record.in_flight -= 1;
                targets.pause(target, is_paused, queue);
            }
            DriverEvent::HubTurn => self.input(ControllerInput::HubTurn, targets, queue),
            DriverEvent::PersonActs(number) => {
                self.show_change(&self.changes[number as usize].1, targets, queue);
            }
            // The operator's acts become changes ([`ControlPlane::act`]).
            DriverEvent::OperatorLooks(_) | DriverEvent::OperatorActs(_) => {}
        }
        std::mem::take(&mut self.record.changed)
    }

    /// Shows the controller a change that is not in the experiment's list. Returns the targets whose state may have
    /// changed for the controller.
    pub fn act(
        &mut self,
        change: &Change,
        targets: &mut dyn RolloutTargets,
        queue: &mut Queue,
    ) -> Vec<TargetId> {
        self.show_change(change, targets, queue);
        std::mem::take(&mut self.record.changed)
    }

    fn show_change(
        &mut self,
        change: &Change,
        targets: &mut dyn RolloutTargets,
        queue: &mut Queue,
    ) {
        self.record
            .changed
            .extend((0..self.online.len() as u32).map(TargetId));
        if let Change::Release(_) = change {
            self.record.reported = None;
        }
        self.input(ControllerInput::Person(change), targets, queue);
    }

    /// Returns the change with this number in the experiment's list.
    pub fn change(&self, number: u32) -> &'s Change {
        &self.changes[number as usize].1
    }

    /// Returns the time from a person's act until the controller's cache shows it.
    pub fn shown_after(&self) -> SimDuration {
        if self.traits.is_process {
            SimDuration::ZERO
        } else {
            self.watch_delay
        }
    }

    /// Lets an external process advance to the next event that is relevant to it. Called after every event.
    pub fn follow(
        &mut self,
        next: Option<SimTime>,
        targets: &mut dyn RolloutTargets,
        queue: &mut Queue,
    ) {
        if self.traits.is_process && next != Some(queue.now()) {
            self.input(ControllerInput::Quiet(next), targets, queue);
        }
    }

    /// Lets an external process continue alone after the simulated world has ended, until it reports completion.
    pub fn conclude(&mut self, targets: &mut dyn RolloutTargets, queue: &mut Queue) {
        if self.traits.is_process && !self.has_failed() {
            self.input(ControllerInput::Over, targets, queue);
        }
    }

    /// Returns whether the product can still report completion when nothing more happens in the world.
    pub fn may_report(&self, targets: &dyn TargetStates) -> bool {
        let is_working = self.record.in_flight > 0 || !self.controller.is_idle(targets);
        is_working && self.record.reported.is_none() && !self.has_failed()
    }

    /// Passes one input to the controller.
    pub fn input(
        &mut self,
        input: ControllerInput<'_>,
        targets: &mut dyn RolloutTargets,
        queue: &mut Queue,
    ) {
        let now = queue.now();
        self.controller.handle(
            now,
            input,
            &mut Plane {
                targets,
                application: self.application,
                queue,
                record: &mut self.record,
            },
        );
        if std::mem::take(&mut self.record.shows) {
            self.show(now);
            self.input(ControllerInput::Shown, targets, queue);
        }
    }
}
