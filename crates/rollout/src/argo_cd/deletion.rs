//! Deletion of the applications when the set itself is deleted.
//!
//! Follows `PerformReverseDeletion` in `applicationset/progressivesync/progressive_sync.go` and `Reconcile` in
//! `applicationset/controllers/applicationset_controller.go`. With `deletionOrder: Reverse` one application is deleted
//! at a time, starting with the last step. Within a step, upstream deletes in random order; this model deletes in the
//! order of names. Left out: the back-off after a pass that fails because an application is not removed; policies that
//! forbid deletion; and the request to the API server after two minutes, which ends the wait for an application that
//! is gone.

use std::sync::Arc;

use super::super::{Pass, TargetId};
use super::steps::Steps;
use super::triggers::DELETION_REQUEUE;
use super::view::{Application, ApplicationView};
use super::{ApplicationAction, ApplicationSetStatus, ArgoCd, SetDecision};
use fleetsim_units::{SimDuration, SimTime};

/// Time after which a pass that waits for the removal of an application fails. Source:
/// `applicationset/progressivesync/progressive_sync.go`.
const PATIENCE: SimDuration = SimDuration::from_mins(2);

impl ArgoCd {
    /// Runs one pass over a set that is being deleted.
    pub fn delete(&mut self, now: SimTime, view: &[ApplicationView]) -> SetDecision {
        self.last_pass = now;
        self.ledger = None;
        let mut actions = Vec::new();
        let mut status = ApplicationSetStatus {
            conditions: self.conditions,
            ..ApplicationSetStatus::default()
        };
        if let Some((target, live)) = self.next_to_delete(view) {
            match live.deleted_at {
                Some(since) if now.saturating_since(since) > PATIENCE => {
                    status.deletion_failed = true;
                }
                Some(_) => status.requeue_after = Some(DELETION_REQUEUE),
                None => {
                    status.requeue_after = Some(DELETION_REQUEUE);
                    actions.push(ApplicationAction::Delete(target));
                    status.objects_written = !self.has_finalizers();
                }
            }
        } else {
            // The set and its rows are gone; nothing will queue another pass.
            self.rows.fill(None);
            status.released = true;
        }
        status.rows = self.row_counts();
        let wake_at = if status.objects_written {
            Some(now)
        } else {
            status.requeue_after.map(|after| now + after)
        };
        Pass {
            actions,
            wake_at,
            status,
        }
    }

    /// Returns the next application to delete, by the labels of the objects, not by the generated labels. The garbage
    /// collector deletes applications in no step; without `deletionOrder`, it deletes all applications.
    fn next_to_delete<'a>(
        &self,
        view: &'a [ApplicationView],
    ) -> Option<(TargetId, &'a Application)> {
        if !self.spec.is_deletion_reversed() {
            return None;
        }
        let mut labels = Vec::with_capacity(view.len());
        for application in view {
            let live = application.live.as_ref();
            labels.push(live.map(|live| Arc::clone(&live.labels)));
        }
        let steps = Steps::new(self.spec.rolling_steps(), &labels);
        // An application that several steps select belongs to the first of these steps.
        let last = *steps.step_of.iter().flatten().max()?;
        let mut names = self.by_name.iter();
        let index = *names.find(|index| steps.step_of[**index as usize] == Some(last))?;
        let live = view[index as usize].live.as_ref()?;
        Some((TargetId(index), live))
    }
}
