//! Attempts of an operation: their requests, the apply on the cluster, and the retries.
//!
//! The header of [`super`] describes the rules, their source, and what is left out.

use super::{ApplicationController, ApplicationStep, Attempt, OF_ALL, StatusPatch};
use crate::control_plane::Plane;
use crate::products::argo_cd::hub_cpu::{ComputedSync, SyncedApplication};
use crate::rollout::argo_cd::{OperationPhase, OperationState};
use crate::units::SimTime;
use crate::world::{ApplyFailure, TargetId};

impl ApplicationController {
    pub(super) fn attempt(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        if !self.may_sync(application, now, plane) {
            return;
        }
        if !plane.targets.is_online(TargetId(application as u32)) {
            self.attempt_fails(application, now, plane);
            return;
        }
        self.applications[application].attempt = Some(Attempt::Requesting);
        if self.cores.is_some() {
            self.begin_on_hub(application, now, plane);
            return;
        }
        let through = self.shard(application).sync(now);
        self.requests_end(application, through, now, plane);
    }

    /// Handles the end of the requests and the computation of an attempt at `through`, which may be later than now.
    fn requests_end(
        &mut self,
        application: usize,
        through: SimTime,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        if through > now {
            self.agenda
                .add(through, (application, ApplicationStep::RequestsMade), plane);
        } else {
            self.requests_made(application, now, plane);
        }
    }

    /// Sends the requests of an attempt, and adds its computation to the work of the shared cores.
    fn begin_on_hub(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let shard = self.applications[application].shard;
        let sent = self.shards[shard].send_requests(now);
        let of = self.synced(application);
        if let Some(cores) = &self.cores {
            cores
                .borrow_mut()
                .begin(shard, ComputedSync { of, sent }, now);
        }
        self.schedule_hub(plane);
    }

    /// Returns how the shared cores know an application of this set.
    pub(super) const fn synced(&self, application: usize) -> SyncedApplication {
        SyncedApplication {
            set: self.set,
            index: application,
        }
    }

    /// Schedules the end of the next computation on the shared cores. If it is one of another set, that set does.
    pub(super) fn schedule_hub(&mut self, plane: &mut Plane<'_>) {
        if let Some(number) = self.hub_timer.take() {
            self.agenda.cancel(number, plane);
        }
        let Some(cores) = &self.cores else { return };
        let mut cores = cores.borrow_mut();
        let next = cores.next_end();
        let is_new = cores.announce(next);
        let Some(next) = next else { return };
        if next.set == self.set {
            let step = (OF_ALL, ApplicationStep::Computed);
            self.hub_timer = Some(self.agenda.add(next.at, step, plane));
        } else if is_new {
            plane.wake(next.set);
        }
    }

    /// Handles the end of computations on the shared cores.
    pub(super) fn computed(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.hub_timer = None;
        if let Some(cores) = &self.cores {
            cores.borrow_mut().end_due(now);
            let sets = cores.borrow().sets_with_ended();
            for set in sets.into_iter().filter(|set| *set != self.set) {
                plane.wake(set);
            }
        }
        self.schedule_hub(plane);
        self.take_computed(now, plane);
    }

    /// Continues the attempts of this set that the shared cores have computed.
    fn take_computed(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let ended = match &self.cores {
            Some(cores) => cores.borrow_mut().take_ended(self.set),
            None => Vec::new(),
        };
        for ComputedSync { of, sent } in ended {
            self.requests_end(of.index, sent, now, plane);
        }
    }

    /// Takes what other sets have left to this one: slots for applies, computed syncs, and the timer of the shared
    /// cores.
    pub(in super::super) fn take_turn(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        for shard in 0..self.shards.len() {
            self.begin_applies(shard, now, plane);
        }
        if self.cores.is_some() {
            self.schedule_hub(plane);
            self.take_computed(now, plane);
        }
    }

    /// Starts an attempt on an unreachable cluster. The attempt fails when the connection times out.
    fn attempt_fails(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.applications[application].attempt = Some(Attempt::Failing);
        let revision = self.applies(application).manifests;
        plane.push(TargetId(application as u32), revision);
        self.agenda.add(
            now + self.settings.tcp_timeout,
            (application, ApplicationStep::AttemptEnds),
            plane,
        );
    }

    pub(super) fn requests_made(
        &mut self,
        application: usize,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let revision = self.applies(application).manifests;
        if self.applications[application].applied == Some(revision) {
            self.applications[application].attempt = Some(Attempt::Idle);
            self.agenda.add(
                now + self.settings.idle_sync,
                (application, ApplicationStep::AttemptEnds),
                plane,
            );
        } else {
            self.shard(application).applying.wait(application);
            self.begin_applies(self.applications[application].shard, now, plane);
        }
    }

    /// Lets the waiting attempts of a shard apply that get a slot.
    fn begin_applies(&mut self, shard: usize, now: SimTime, plane: &mut Plane<'_>) {
        while let Some(next) = self.shards[shard].applying.next(plane) {
            self.apply(next, now, plane);
        }
    }

    /// Frees the slot of an apply for the next attempt.
    fn free_slot(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.shard(application).applying.release();
        self.begin_applies(self.applications[application].shard, now, plane);
    }

    /// Applies the revision on the cluster, unless the cluster was cut off after the attempt began.
    fn apply(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let target = TargetId(application as u32);
        let revision = self.applies(application).manifests;
        if plane.targets.is_online(target) {
            let fails = plane.targets.next_failure(target, revision);
            self.applications[application].attempt = Some(Attempt::Applying);
            plane.promote(target, revision);
            plane.push(target, revision);
            if fails == Some(ApplyFailure::Hook) {
                self.hook_runs(application, now, plane);
            }
            return;
        }
        self.attempt_fails(application, now, plane);
        self.free_slot(application, now, plane);
    }

    pub(super) fn attempt_ends(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let attempt = self.applications[application].attempt.take();
        let attempt = attempt.expect("an attempt ends that ran");
        self.free_processor(application, attempt, now, plane);
        if attempt == Attempt::Failing {
            self.applications[application].failure = None;
            self.retry(application, now, plane);
        } else {
            self.operation_ends(application, OperationPhase::Succeeded, now, plane);
        }
    }

    /// Releases the processor of an attempt, and its slot among the concurrent applies.
    pub(super) fn free_processor(
        &mut self,
        application: usize,
        attempt: Attempt,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        self.shard(application).operations.release();
        if attempt == Attempt::Applying {
            self.free_slot(application, now, plane);
        }
    }

    /// Handles a failed attempt: schedules another attempt, or marks the operation as Failed.
    pub(super) fn retry(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let tracked = &mut self.applications[application];
        let operation = tracked.operation.expect("an attempt has an operation");
        let limit = operation.retry_limit;
        let may_repeat = limit < 0 || i64::from(tracked.failed) < limit;
        match operation.retry_waits.filter(|_| may_repeat) {
            Some(waits) => {
                tracked.failed += 1;
                let again = now + waits.before(tracked.failed);
                self.agenda
                    .add(again, (application, ApplicationStep::Again), plane);
            }
            None => self.operation_ends(application, OperationPhase::Failed, now, plane),
        }
    }

    pub(super) fn operation_ends(
        &mut self,
        application: usize,
        phase: OperationPhase,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let message = self.message(application, phase);
        let source = self.applies(application);
        let tracked = &mut self.applications[application];
        tracked.failed = 0;
        tracked.attempted = Some(source.commit);
        tracked.operation = None;
        let state = OperationState {
            phase,
            ..tracked.state.expect("only a running operation ends")
        };
        tracked.state = Some(state);
        let patch = StatusPatch::Operation(state, message, true);
        self.patch(application, patch, now, plane);
        self.compare(application, now, plane);
        self.finalize(application, now, plane);
    }
}
