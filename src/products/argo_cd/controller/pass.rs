//! A pass of the ApplicationSet controller: its decision, and its writes of Applications and of the set.
//!
//! Follows `applicationset/controllers/applicationset_controller.go` of argoproj/argo-cd. The header of [`super`]
//! lists what is left out, and the evidence.

use std::collections::{BTreeMap, VecDeque};

use super::super::application_controller::{ApplicationWrite, SetStep};
use super::ArgoCdController;
use super::set_client::{APPLICATIONS, RunningUpdate, SetUpdate};
use crate::control_plane::Plane;
use crate::rollout::argo_cd::{ApplicationAction, Barrier, SetDecision, SetWrite};
use crate::rollout::{Revision, TargetId};
use crate::units::SimTime;

/// The rank of an Application within a pass: first the requested comparisons, then the other writes by name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum WriteTurn {
    Refresh(TargetId),
    /// The rank of the application's name in sort order.
    ByName(u32),
}

/// A pending write of an Application.
struct QueuedWrite {
    target: TargetId,
    /// The creation of the object, a change of its spec, or a request for a comparison.
    change: Option<ApplicationAction>,
    /// The revision that the pass requests a sync of.
    requested: Option<Revision>,
}

/// A pass that writes Applications.
pub(super) struct WritingPass {
    decided: SetDecision,
    queued: VecDeque<QueuedWrite>,
    /// The number of unanswered requests. At first this is the last write of the set before the Applications.
    pub(super) in_flight: usize,
}

impl ArgoCdController<'_> {
    /// Runs a pass of the ApplicationSet controller.
    pub(super) fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        plane.begin_pass(self.scheduler.updating() as u64);
        self.passed = now;
        if self.too_large.is_some() {
            self.view.queue.end_pass((), now, 0, false, plane);
            return;
        }
        self.rows_written.clear();
        self.condition_written = None;
        let mut at = now;
        self.scheduler
            .sees_until(SimTime::ZERO + now.saturating_since(SimTime::ZERO + self.watch_delay));
        if self.client.api.is_contended() {
            return self.begin_decision(now, plane);
        }
        let pass = self.scheduler.reconcile_changed(
            now,
            &self.view.set,
            &self.view.changed,
            &mut |write| {
                let update = self.client.update(at, write.is_new());
                at = update.answered;
                if !update.is_written {
                    return None;
                }
                match write {
                    SetWrite::Rows { is_new: true } => self.rows_written.push(at),
                    SetWrite::Conditions { is_new: true } => self.condition_written = Some(at),
                    SetWrite::Rows { is_new: false } | SetWrite::Conditions { is_new: false } => {}
                }
                Some(at)
            },
        );
        self.view.changed.clear();
        for written in &self.rows_written {
            self.view
                .queue
                .step(*written + self.watch_delay, SetStep::Seen, plane);
        }
        self.begin_writes(pass, at, plane);
    }

    /// Lets a pass that has decided write the Applications from `at` on, unless a write of the set's rows was refused.
    pub(super) fn begin_writes(&mut self, pass: SetDecision, at: SimTime, plane: &mut Plane<'_>) {
        let has_failed = pass.status.failed;
        let queued = if has_failed {
            VecDeque::new()
        } else {
            self.queued_writes(&pass)
        };
        self.writing = Some(WritingPass {
            decided: pass,
            queued,
            in_flight: 1,
        });
        if has_failed {
            self.end_pass(at, false, plane);
        } else {
            self.view.queue.step(at, SetStep::Answered, plane);
        }
    }

    /// Returns the Applications that a pass writes, each with one request: first the requested comparisons, then the
    /// other writes by name.
    fn queued_writes(&mut self, pass: &SetDecision) -> VecDeque<QueuedWrite> {
        self.in_grace = pass.status.barrier == Some(Barrier::GracePeriod);
        let mut queued: BTreeMap<WriteTurn, QueuedWrite> = BTreeMap::new();
        for action in &pass.actions {
            let (target, turn) = match *action {
                ApplicationAction::Refresh(target) => (target, WriteTurn::Refresh(target)),
                ApplicationAction::Create(target) | ApplicationAction::Stage(target) => {
                    (target, self.turn_by_name(target))
                }
                ApplicationAction::Deploy(_) | ApplicationAction::Delete(_) => continue,
            };
            queued.insert(
                turn,
                QueuedWrite {
                    target,
                    change: Some(*action),
                    requested: None,
                },
            );
        }
        for &target in &pass.status.requested {
            let write = queued
                .entry(self.turn_by_name(target))
                .or_insert(QueuedWrite {
                    target,
                    change: None,
                    requested: None,
                });
            let generated = self.view.set[target.index()].generated.as_ref();
            write.requested = generated.map(|_| self.wanted);
        }
        queued.into_values().collect()
    }

    fn turn_by_name(&self, target: TargetId) -> WriteTurn {
        WriteTurn::ByName(self.scheduler.rank(target))
    }

    /// Sends writes of Applications until the limit of concurrent requests is reached or nothing is left to write.
    pub(super) fn write_applications(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let Some(mut pass) = self.writing.take() else {
            return;
        };
        while pass.in_flight < self.width
            && let Some(write) = pass.queued.pop_front()
        {
            self.write_application(&mut pass, &write, now, plane);
        }
        let is_over = pass.in_flight == 0;
        self.writing = Some(pass);
        if is_over {
            self.write_list(now, plane);
        }
    }

    /// Writes one Application. Spec and operation are one request; no request is needed if nothing changes.
    fn write_application(
        &mut self,
        pass: &mut WritingPass,
        write: &QueuedWrite,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let target = write.target;
        let operation = write.requested.filter(|_| !self.has_operation(target));
        let deploy = operation.map(|_| ApplicationAction::Deploy(target));
        for action in write.change.into_iter().chain(deploy) {
            self.scheduler.carry_out(action, &mut self.view.set);
        }
        if write.change.is_none() && deploy.is_none() {
            return;
        }
        if let Some(revision) = operation {
            plane.promote(target, revision);
        }
        let answered = self.client.api.send(APPLICATIONS, now).answered;
        self.view.changed.insert(target.0);
        pass.in_flight += 1;
        self.view.queue.step(answered, SetStep::Answered, plane);
        let Some(live) = &self.view.set[target.index()].live else {
            return;
        };
        let writes_spec = matches!(
            write.change,
            Some(ApplicationAction::Create(_) | ApplicationAction::Stage(_))
        );
        let written = ApplicationWrite {
            spec: writes_spec.then_some(Revision(live.spec.parameters)),
            is_change: write.change.is_some(),
            is_request: deploy.is_some(),
        };
        self.application_controller
            .written(target.index(), answered, written, plane);
        if deploy.is_none() {
            self.view
                .queue
                .step(answered + self.watch_delay, SetStep::Seen, plane);
        }
    }

    /// Returns whether an operation of the application is requested or running.
    fn has_operation(&self, target: TargetId) -> bool {
        let live = self.view.set[target.index()].live.as_ref();
        live.is_some_and(|live| live.operation.is_some())
    }

    /// Finishes the writes of Applications. Deletes those that are no longer generated, and writes the list of all
    /// applications with their sync status and health to the set's status, even if the list has not changed.
    fn write_list(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        let Some(pass) = &self.writing else { return };
        let mut is_new = false;
        let mut at = now;
        for action in &pass.decided.actions {
            is_new |= matches!(
                action,
                ApplicationAction::Create(_) | ApplicationAction::Delete(_)
            );
            if let ApplicationAction::Delete(target) = *action {
                // The destination is unknown, so the finalizer is removed first and the payload remains.
                at = self.client.api.in_turn(APPLICATIONS, at, 2);
                self.scheduler.carry_out(*action, &mut self.view.set);
                self.view.changed.insert(target.0);
                self.application_controller.deleted(target.index(), plane);
            }
        }
        let shown_at = self.application_controller.shown_at;
        is_new |= shown_at.is_some_and(|shown| self.listed.is_none_or(|listed| shown > listed));
        if self.client.api.is_contended() {
            let update = RunningUpdate::of_list(is_new, now);
            return self.begin_update(update, at, plane);
        }
        let update = self.client.update(at, is_new);
        self.end_list(now, update, plane);
    }

    /// Ends a pass with the update of the list that was read at `listed`.
    pub(super) fn end_list(&mut self, listed: SimTime, update: SetUpdate, plane: &mut Plane<'_>) {
        if update.is_written {
            self.listed = Some(listed);
        }
        for index in self.joining.drain(..) {
            if let Some(generated) = &mut self.view.set[index].generated {
                generated.valid = true;
                self.view.changed.insert(index as u32);
            }
        }
        self.end_pass(update.answered, update.is_written, plane);
    }

    /// Ends the pass at `end`. A pass that could not write the set is retried.
    fn end_pass(&mut self, end: SimTime, is_written: bool, plane: &mut Plane<'_>) {
        let WritingPass { decided, .. } = self.writing.take().expect("a pass ends that writes");
        self.has_failed = !is_written;
        let wake_at = if is_written {
            self.limiter.forget(());
            decided.wake_at.filter(|at| *at > self.passed)
        } else {
            Some(self.limiter.again((), end))
        };
        if let Some(at) = wake_at {
            self.view.queue.add_at((), at, plane);
        }
        let completes = is_written && self.is_reported(decided.status.rows);
        let created = decided
            .actions
            .iter()
            .filter(|action| matches!(action, ApplicationAction::Create(_)))
            .count();
        self.status = decided.status;
        for change in std::mem::take(&mut self.unread) {
            self.person(&change, plane);
        }
        self.view
            .queue
            .end_pass((), end, created as u64, completes, plane);
    }
}
