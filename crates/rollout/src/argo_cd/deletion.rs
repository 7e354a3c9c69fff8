//! Deletion of the applications when the set itself is deleted.
//!
//! Follows `PerformReverseDeletion` in `applicationset/progressivesync/progressive_sync.go` and `Reconcile` in
//! `applicationset/controllers/applicationset_controller.go`. With `deletionOrder: Reverse` one application is deleted
//! at a time, those of the last step first; upstream deletes those of one step in random order, this model in the order
//! of names. Left out: the back-off after a pass that fails because an application is not removed; policies that forbid
//! deletion; and the look into the API server after two minutes, which ends a wait for an application that is gone.
//! No experiment deletes a set; recorded passes do.

use std::sync::Arc;

use super::super::{Pass, TargetId};
use super::steps::Steps;
use super::triggers::DELETION_REQUEUE;
use super::view::{Application, ApplicationView};
use super::{ApplicationAction, ApplicationSetStatus, ArgoCd, SetDecision};
use fleetsim_units::{SimDuration, SimTime};

/// Time after which a pass fails that waits for the removal of an application. Source:
/// `applicationset/progressivesync/progressive_sync.go`.
const PATIENCE: SimDuration = SimDuration::from_mins(2);

impl ArgoCd {
    /// One pass over a set that is being deleted.
    pub fn delete(&mut self, now: SimTime, view: &[ApplicationView]) -> SetDecision {
        (self.last_pass, self.ledger) = (now, None);
        let mut actions = Vec::new();
        let mut status = ApplicationSetStatus {
            conditions: self.conditions,
            ..ApplicationSetStatus::default()
        };
        match self.next_to_delete(view) {
            None => {
                // The set and its rows are gone; nothing queues a pass any more.
                self.rows.fill(None);
                status.released = true;
            }
            Some((_, live))
                if live
                    .deleted_at
                    .is_some_and(|since| now.saturating_since(since) > PATIENCE) =>
            {
                status.deletion_failed = true;
            }
            Some((target, live)) => {
                status.requeue_after = Some(DELETION_REQUEUE);
                if live.deleted_at.is_none() {
                    actions.push(ApplicationAction::Delete(target));
                    status.objects_written = !self.has_finalizers();
                }
            }
        }
        status.rows = self.row_counts();
        let requeued = status.requeue_after.map(|after| now + after);
        Pass {
            actions,
            wake_at: if status.objects_written {
                Some(now)
            } else {
                requeued
            },
            status,
        }
    }

    /// By the labels of the objects, not the generated ones. The garbage collector deletes those in no step, and all
    /// of them without `deletionOrder`.
    fn next_to_delete<'a>(
        &self,
        view: &'a [ApplicationView],
    ) -> Option<(TargetId, &'a Application)> {
        if !self.spec.is_deletion_reversed() {
            return None;
        }
        let labels: Vec<_> = view
            .iter()
            .map(|a| a.live.as_ref().map(|live| Arc::clone(&live.labels)))
            .collect();
        let steps = Steps::new(
            self.spec.steps().ok().flatten().unwrap_or_default(),
            &labels,
        );
        // One that several steps select belongs to the first of them.
        let last = steps.step_of.iter().flatten().max()?;
        let index = *self
            .by_name
            .iter()
            .find(|index| steps.step_of[**index as usize] == Some(*last))?;
        let live = view[index as usize].live.as_ref()?;
        Some((TargetId(index), live))
    }
}
