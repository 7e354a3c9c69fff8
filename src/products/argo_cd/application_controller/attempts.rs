//! Attempts of an operation: their requests, the apply on the cluster, and the retries.
//!
//! The header of [`super`] describes the rules, their source, and what is left out.

use super::{ApplicationController, ApplicationStep, Attempt, StatusPatch};
use crate::control_plane::Plane;
use crate::rollout::argo_cd::{OperationPhase, OperationState};
use crate::units::SimTime;
use crate::world::ClusterId;

impl ApplicationController {
    pub(super) fn attempt(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        if !plane.clusters.is_online(ClusterId(application as u32)) {
            self.attempt_fails(application, now, plane);
            return;
        }
        self.applications[application].attempt = Some(Attempt::Requesting);
        match self.shard(application).sync(now) {
            through if through > now => {
                self.agenda
                    .add(through, (application, ApplicationStep::RequestsMade), plane);
            }
            _ => self.requests_made(application, now, plane),
        }
    }

    /// Starts an attempt on an unreachable cluster. The attempt fails when the connection times out.
    fn attempt_fails(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.applications[application].attempt = Some(Attempt::Failing);
        plane.push(ClusterId(application as u32), self.applies(application));
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
        if self.applications[application].applied == Some(self.applies(application)) {
            self.applications[application].attempt = Some(Attempt::Idle);
            self.agenda.add(
                now + self.settings.idle_sync,
                (application, ApplicationStep::AttemptEnds),
                plane,
            );
        } else if self.shard(application).apply(application) {
            self.apply(application, now, plane);
        }
    }

    /// Applies the revision on the cluster, unless the cluster was cut off after the attempt began.
    fn apply(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let cluster = ClusterId(application as u32);
        let revision = self.applies(application);
        if plane.clusters.is_online(cluster) {
            self.applications[application].attempt = Some(Attempt::Applying);
            plane.promote(cluster, revision);
            plane.push(cluster, revision);
            return;
        }
        self.attempt_fails(application, now, plane);
        if let Some(next) = self.shard(application).applied() {
            self.apply(next, now, plane);
        }
    }

    pub(super) fn attempt_ends(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.shard(application).operations.taken -= 1;
        let tracked = &mut self.applications[application];
        let operation = tracked.operation.expect("an attempt has an operation");
        let attempt = tracked.attempt.take().expect("an attempt ends that ran");
        if attempt != Attempt::Failing {
            let next = if attempt == Attempt::Applying {
                self.shard(application).applied()
            } else {
                None
            };
            if let Some(next) = next {
                self.apply(next, now, plane);
            }
            self.operation_ends(application, OperationPhase::Succeeded, now, plane);
            return;
        }
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

    fn operation_ends(
        &mut self,
        application: usize,
        phase: OperationPhase,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let revision = self.applies(application);
        let tracked = &mut self.applications[application];
        tracked.failed = 0;
        tracked.attempted = Some(revision);
        tracked.operation = None;
        let state = OperationState {
            phase,
            ..tracked.state.expect("an operation ends that ran")
        };
        tracked.state = Some(state);
        self.patch(application, StatusPatch::Operation(state, true), now, plane);
        self.compare(application, now, plane);
    }
}
