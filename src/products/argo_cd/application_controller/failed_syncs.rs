//! Failed syncs in clusters that respond, and the time-out of a sync.
//!
//! Source: argoproj/argo-cd v3.5.7, whose code is the same as at 37ee009 in these parts, and its gitops-engine. Not
//! recorded.
//!
//! - An object that is refused, or a webhook that does not answer, fails the attempt (`runTasks` in
//!   `gitops-engine/pkg/sync/sync_context.go`, "one or more objects failed to apply"). Argo CD does not examine the
//!   message: a change of an immutable field is refused like any other object.
//! - A hook is a Job whose failure ends the attempt ("one or more synchronization tasks completed unsuccessfully").
//!   The attempt frees its processor while the hook runs: `SyncAppState` returns, and an event of the Job queues the
//!   operation.
//! - A failed attempt is repeated according to the operation's `retry`; without it 5 times, after 10 s, 20 s and so on
//!   up to 3 min. In the meantime the operation is Running, and then Failed (`processRequestedAppOperation` in
//!   `controller/appcontroller.go:1692`). The application stays OutOfSync, and its health does not change. Automatic
//!   sync does not repeat the operation (`autoSync`, "failed previous sync attempt"), and nothing is rolled back.
//! - `--sync-timeout` counts from the operation's `startedAt`, over all attempts. It immediately ends a hook or a wait
//!   for the next attempt. An attempt that is applying ends when it has failed. The operation is then Failed and is
//!   not repeated (`appcontroller.go:1615`, and `terminating` at 1693). The default is 0: none.
//!
//! Left out: objects of a failed attempt that were applied before the one that was refused; the phase Terminating,
//! which lasts for one request; PostSync and SyncFail hooks; the wait of a hook's end for a processor; the condition
//! `SyncError` of an application that would sync by itself.

use super::{ApplicationController, ApplicationStep, Attempt, StatusPatch};
use crate::control_plane::{PendingWork as _, Plane, TargetStates};
use crate::rollout::ObjectCondition;
use crate::rollout::argo_cd::{ApplicationView, ArgoCd, OperationMessage, OperationPhase};
use crate::units::SimTime;
use crate::world::{ApplyFailure, TargetId};

/// The message of an operation that was ended by its time-out (`terminate` in `sync_context.go`, and
/// `appcontroller.go`).
const TIMED_OUT: &str = "Operation terminated, triggered by controller sync timeout";

/// Returns the abridged message of an operation after a failed attempt.
const fn failure_message(failure: ApplyFailure) -> &'static str {
    match failure {
        ApplyFailure::Rejected => {
            "one or more objects failed to apply, reason: admission webhook denied the request"
        }
        ApplyFailure::Immutable => {
            "one or more objects failed to apply, reason: Forbidden: updates to statefulset spec for fields other than \
             'replicas' are forbidden"
        }
        ApplyFailure::Hook => {
            "one or more synchronization tasks completed unsuccessfully, reason: Job has reached the specified backoff \
             limit"
        }
        ApplyFailure::Timeout => {
            "one or more objects failed to apply, reason: failed calling webhook: context deadline exceeded"
        }
        ApplyFailure::NotReady => "waiting for healthy state",
    }
}

impl ApplicationController {
    /// Starts a hook of the current attempt. The hook will fail.
    pub(super) fn hook_runs(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.applications[application].attempt = Some(Attempt::Hook);
        self.free_processor(application, Attempt::Applying, now, plane);
    }

    /// Handles an attempt whose objects the cluster has refused, or whose hook has failed.
    pub(super) fn sync_fails(
        &mut self,
        application: usize,
        failure: ApplyFailure,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let tracked = &mut self.applications[application];
        let Some(attempt) = tracked
            .attempt
            .take_if(|attempt| matches!(attempt, Attempt::Applying | Attempt::Hook))
        else {
            return;
        };
        tracked.failure = Some(failure_message(failure));
        self.with_messages.insert(application);
        if attempt == Attempt::Applying {
            self.free_processor(application, attempt, now, plane);
        }
        if self.is_timed_out(application, now) {
            self.terminate(application, now, plane);
            return;
        }
        self.retry(application, now, plane);
        let tracked = &self.applications[application];
        if tracked.operation.is_some()
            && let Some(state) = tracked.state
        {
            let message = self.message(application, state.phase);
            let patch = StatusPatch::Operation(state, message, false);
            self.patch(application, patch, now, plane);
        }
    }

    /// Returns the message of an operation in this phase. `None`: none of its attempts failed in a cluster that
    /// responds.
    pub(super) fn message(
        &self,
        application: usize,
        phase: OperationPhase,
    ) -> Option<OperationMessage> {
        let tracked = &self.applications[application];
        let failure = tracked
            .failure
            .filter(|_| phase != OperationPhase::Succeeded)?;
        Some(OperationMessage::Failure {
            failure,
            retries: tracked.failed,
        })
    }

    /// Returns true if the only pending work is endless attempts on clusters that never respond.
    pub(in super::super) fn is_hopeless(&self, targets: &dyn TargetStates) -> bool {
        for &(application, step) in self.agenda.iter() {
            let is_attempt = match step {
                ApplicationStep::AttemptEnds => {
                    self.applications[application].attempt == Some(Attempt::Failing)
                }
                ApplicationStep::Again => true,
                _ => false,
            };
            if !is_attempt || !self.fails_without_end(application, targets) {
                return false;
            }
        }
        if let Some(cores) = &self.cores
            && cores.borrow().has_work_of(self.set)
        {
            return false;
        }
        let mut waiting = self
            .shards
            .iter()
            .flat_map(|shard| shard.operations.waiting());
        waiting.all(|application| self.fails_without_end(application, targets))
    }

    /// Returns whether the operation of an application has failed and is repeated without a limit, while its cluster
    /// never responds or never applies the revision.
    fn fails_without_end(&self, application: usize, targets: &dyn TargetStates) -> bool {
        let tracked = &self.applications[application];
        let target = TargetId(application as u32);
        tracked.failed > 0
            && tracked
                .operation
                .is_some_and(|operation| operation.retry_limit < 0)
            && (targets.always_fails(target)
                || !targets.is_online(target) && !targets.is_repair_due(target))
    }

    /// What the Applications show of their operations, once one has failed or was blocked.
    pub(in super::super) fn conditions(
        &self,
        set: &[ApplicationView],
        scheduler: &ArgoCd,
    ) -> Vec<ObjectCondition> {
        let mut shown = Vec::new();
        for &application in &self.with_messages {
            let object = format!("Application/{}", scheduler.name(application));
            let live = set[application].live.as_ref();
            shown.push(
                match live.and_then(|live| Some((live.operation_state?, live))) {
                    Some((state, live)) => {
                        let message = live
                            .operation_message
                            .map(|message| message.text(state.phase));
                        let phase = format!("{:?}", state.phase);
                        let message = message.unwrap_or_default();
                        ObjectCondition::new(&object, "operationState", &phase, "", message)
                    }
                    None => ObjectCondition::absent(&object, "operationState"),
                },
            );
        }
        shown
    }

    /// Schedules the time-out of an operation that begins now.
    pub(super) fn schedule_time_out(
        &mut self,
        application: usize,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        if let Some(limit) = self.settings.sync_timeout {
            let at = now + limit;
            let step = ApplicationStep::TimesOut(now);
            self.agenda.add(at, (application, step), plane);
        }
    }

    /// Returns whether the running operation has reached its time-out.
    fn is_timed_out(&self, application: usize, now: SimTime) -> bool {
        match (
            self.settings.sync_timeout,
            self.applications[application].state,
        ) {
            (Some(limit), Some(state)) => now >= state.started_at + limit,
            _ => false,
        }
    }

    /// Handles the time-out of the operation that began at `begun`, if it still runs. If an attempt has a processor,
    /// the attempt ends first.
    pub(super) fn times_out(
        &mut self,
        application: usize,
        begun: SimTime,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let tracked = &mut self.applications[application];
        let runs = tracked.operation.is_some()
            && tracked.state.is_some_and(|state| {
                state.started_at == begun && state.phase == OperationPhase::Running
            });
        if !runs
            || tracked
                .attempt
                .is_some_and(|attempt| attempt != Attempt::Hook)
        {
            return;
        }
        if tracked.attempt.take().is_some() {
            plane.break_off(TargetId(application as u32));
        }
        self.terminate(application, now, plane);
    }

    /// Ends the running operation, none of whose attempts is in progress.
    fn terminate(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.agenda.cancel_if(
            |(of, step)| *of == application && matches!(step, ApplicationStep::Again),
            plane,
        );
        self.shard(application).operations.forget(application);
        let tracked = &mut self.applications[application];
        tracked.failure = Some(TIMED_OUT);
        self.with_messages.insert(application);
        self.operation_ends(application, OperationPhase::Failed, now, plane);
    }
}
