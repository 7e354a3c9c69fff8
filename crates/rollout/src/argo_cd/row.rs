//! The state that the controller stores for each application, and its transitions.
//!
//! Follows `UpdateApplicationSetApplicationStatus` in `applicationset/progressivesync/progressive_sync.go`.

use std::sync::Arc;

use super::super::{Revision, cost, stored};
use super::ArgoCd;
use super::view::{Application, ApplicationView, Health, OperationPhase, SyncStatus};
use fleetsim_units::SimTime;

/// One row of `status.applicationStatus`.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplicationStatus {
    /// The application's progress.
    pub status: RolloutStatus,
    /// The application's step, counted from 1. `None`: in no step; the product shows -1.
    pub step: Option<u32>,
    /// The target revisions.
    pub target_revisions: Arc<[Revision]>,
    /// The time of the status's last change, in whole seconds.
    pub last_transition_time: SimTime,
    /// The reason of the status.
    pub message: Message,
}

/// The progress of an application.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum RolloutStatus {
    /// The application waits for its step, and for room in the step's budget.
    Waiting,
    /// A sync is requested; the start of an operation has not been observed yet.
    Pending,
    /// An operation was observed; the application is not Synced and Healthy yet.
    Progressing,
    /// The application is complete. Later events at these revisions and this spec have no effect.
    Healthy,
}

impl RolloutStatus {
    /// All values, in the order of a rollout.
    pub const ALL: [Self; 4] = [
        Self::Waiting,
        Self::Pending,
        Self::Progressing,
        Self::Healthy,
    ];
}

/// The reason why a row has its status: one name for each message of the product.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, thiserror::Error)]
pub enum Message {
    /// An empty message.
    #[error("")]
    #[default]
    Empty,
    /// The application has no row yet.
    #[error("No Application status found, defaulting status to Waiting")]
    New,
    /// The application is at another revision.
    #[error("Application has pending changes, setting status to Waiting")]
    Revision,
    /// The application's spec must change.
    #[error("Application has pending changes (spec differs), setting status to Waiting")]
    Spec,
    /// Both the application's revision and its spec differ.
    #[error(
        "Application has pending changes (revision and spec differ), setting status to Waiting"
    )]
    RevisionAndSpec,
    /// The application was already Synced and Healthy before any sync was requested.
    #[error("Application resource has synced, updating status to Healthy")]
    SyncedHealthy,
    /// The application was already Synced, but not Healthy, before any sync was requested.
    #[error("Application resource has synced, updating status to Progressing")]
    SyncedNotHealthy,
    /// The application's step and its budget allow the update.
    #[error(
        "Application moved to Pending status, watching for the Application resource to start Progressing"
    )]
    Promoted,
    /// The requested operation is running.
    #[error("Application resource became Progressing, updating status from Pending to Progressing")]
    OperationRunning,
    /// The requested operation succeeded.
    #[error(
        "Application resource completed a sync successfully, updating status from Pending to Progressing"
    )]
    OperationSucceeded,
    /// The requested operation failed.
    #[error("Application resource completed a sync, updating status from Pending to Progressing")]
    OperationFailed,
    /// The application cannot be synced: `InvalidSpecError` or `UnknownError`.
    #[error("Application resource has error and cannot sync, updating status to Progressing")]
    ApplicationError,
    /// The application became Synced and Healthy.
    #[error("Application resource became Healthy, updating status from Progressing to Healthy")]
    Arrived,
}

impl ApplicationStatus {
    /// Returns whether the row is Waiting because the application's revision or spec changed.
    pub(super) const fn is_pending_change(&self) -> bool {
        matches!(self.status, RolloutStatus::Waiting)
            && matches!(
                self.message,
                Message::Revision | Message::Spec | Message::RevisionAndSpec
            )
    }

    /// Returns whether a change of this row causes a write of the rows. A change of only the revisions or the time
    /// does not.
    pub(super) fn is_worth_writing_over(&self, old: &Self) -> bool {
        self.status != old.status || self.step != old.step || self.message != old.message
    }

    pub(super) fn turn(&mut self, status: RolloutStatus, message: Message, now: SimTime) {
        self.status = status;
        self.message = message;
        self.last_transition_time = now;
    }

    /// Creates the row of an application that does not have one yet.
    fn new(live: &Application, now: SimTime) -> Self {
        Self {
            status: RolloutStatus::Waiting,
            step: None,
            target_revisions: Arc::clone(&live.revisions),
            last_transition_time: now,
            message: Message::New,
        }
    }
}

impl ArgoCd {
    /// Returns the row of an application after an update at `now`. `None`: the application does not exist.
    pub(super) fn updated_row(
        &self,
        now: SimTime,
        index: usize,
        view: &ApplicationView,
    ) -> Option<ApplicationStatus> {
        cost::visit();
        let live = view.live.as_ref()?;
        let mut row = match &self.rows[index] {
            Some(row) => row.clone(),
            None => ApplicationStatus::new(live, now),
        };
        row.step = self.plan.step_of[index].map(|step| step + 1);
        if let Some(message) = self.pending_change(&row, live, view) {
            row.turn(RolloutStatus::Waiting, message, now);
            row.target_revisions = Arc::clone(&live.revisions);
        }
        match row.status {
            RolloutStatus::Waiting => {
                let counts = !self.options.keep_spec_changes || is_synced_since(&row, live);
                if live.sync == SyncStatus::Synced && counts {
                    if live.health == Health::Healthy {
                        row.turn(RolloutStatus::Healthy, Message::SyncedHealthy, now);
                    } else {
                        row.turn(RolloutStatus::Progressing, Message::SyncedNotHealthy, now);
                    }
                }
            }
            RolloutStatus::Pending => {
                if let Some(message) = left_pending(&row, live) {
                    row.turn(RolloutStatus::Progressing, message, now);
                }
            }
            RolloutStatus::Progressing => {
                if live.is_synced_and_healthy() {
                    row.turn(RolloutStatus::Healthy, Message::Arrived, now);
                }
            }
            RolloutStatus::Healthy => {}
        }
        Some(row)
    }

    /// Returns why an application waits for another sync: its revisions or its spec changed.
    fn pending_change(
        &self,
        row: &ApplicationStatus,
        live: &Application,
        view: &ApplicationView,
    ) -> Option<Message> {
        let revision_changed = row.target_revisions != live.revisions;
        // The fixed rule waits for the comparison of a changed spec. Specs that must not be written are never
        // compared.
        let looks_at_spec = self.options.version.sees_spec_changes()
            && (!self.options.keep_spec_changes || self.spec.may_update());
        let spec_changed = match &view.generated {
            Some(generated) if looks_at_spec => self.spec_of(generated) != live.spec,
            _ => false,
        };
        match (revision_changed, spec_changed) {
            (true, true) => Some(Message::RevisionAndSpec),
            (true, false) => Some(Message::Revision),
            (false, true) => Some(Message::Spec),
            (false, false) => None,
        }
    }
}

/// Returns why a Pending application progresses. Only an operation that started after the second of the promotion
/// counts, and only if the application was compared after that second.
fn left_pending(row: &ApplicationStatus, live: &Application) -> Option<Message> {
    if let Some(at) = live.reconciled_at
        && stored(at) <= row.last_transition_time
    {
        return None;
    }
    match live.operation_state {
        Some(state) if stored(state.started_at) > row.last_transition_time => {
            Some(match state.phase {
                OperationPhase::Succeeded => Message::OperationSucceeded,
                OperationPhase::Failed | OperationPhase::Error => Message::OperationFailed,
                OperationPhase::Running | OperationPhase::Terminating => Message::OperationRunning,
            })
        }
        _ => live.has_error.then_some(Message::ApplicationError),
    }
}

/// Implements the fixed rule: Synced does not count for a changed spec before its comparison.
fn is_synced_since(row: &ApplicationStatus, live: &Application) -> bool {
    if !matches!(row.message, Message::Spec | Message::RevisionAndSpec) {
        return true;
    }
    match live.reconciled_at {
        Some(at) => stored(at) > row.last_transition_time,
        None => false,
    }
}
