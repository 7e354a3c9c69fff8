//! What the product shows of an ApplicationSet.
//!
//! Follows the conditions in `applicationset/progressivesync/progressive_sync.go`, `validation_issues.go` and
//! `applicationset/controllers/applicationset_controller.go`. There is no condition for a rollout that stands still or
//! failed.

use super::super::TargetId;
use super::limit::StepBudget;
use super::steps::IssueKind;
use crate::units::SimDuration;

/// What a pass came to, beside its actions. The rows are [`ArgoCd::rows`](super::ArgoCd::rows).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationSetStatus {
    /// After the pass.
    pub conditions: SetConditions,
    /// For each step what its budget came to. Empty when not rolling.
    pub budgets: Vec<StepBudget>,
    /// How many steps, from the first, may sync their applications. 0 when not rolling.
    pub open_steps: usize,
    /// Applications of which the pass requested a sync. Only where none was requested already does one begin: these
    /// have an [`Action::Deploy`](super::super::Action).
    pub requested: Vec<TargetId>,
    /// Rows after the pass, by status.
    pub rows: RowCounts,
    /// The pass changed the stored rows, which queues another pass at once.
    pub rows_written: bool,
    /// The pass changed or deleted Application objects in a way that queues another pass at once.
    pub objects_written: bool,
    /// After which another pass is wanted even if nothing happens.
    pub requeue_after: Option<SimDuration>,
    /// The set is deleted, and an application has been terminating for too long: the pass failed.
    pub deletion_failed: bool,
    /// The deleted set let go of its finalizer: it is gone, and the garbage collector deletes what is left of it.
    pub released: bool,
}

/// Rows by status.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RowCounts {
    /// Waiting.
    pub waiting: usize,
    /// Pending.
    pub pending: usize,
    /// Progressing.
    pub progressing: usize,
    /// Healthy.
    pub healthy: usize,
}

/// `status.conditions`. A pass that fails early leaves the others as they were.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SetConditions {
    /// `RolloutProgressing`. `None`: there is no such condition.
    pub rollout: Option<Rollout>,
    /// `InvalidRolloutConfig`. `None`: there is no such condition.
    pub config: Option<RolloutConfig>,
    /// `ErrorOccurred`. `None`: there is no such condition.
    pub error: Option<ErrorOccurred>,
    /// `ResourcesUpToDate` is True.
    pub up_to_date: bool,
}

/// `RolloutProgressing`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rollout {
    /// False: every row that is in a step is Healthy. Applications that do not exist have no row.
    Complete,
    /// True: the first step with a row that is not Healthy, counted from 1.
    Progressing(u32),
}

/// `InvalidRolloutConfig`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RolloutConfig {
    /// False.
    Valid,
    /// True, for this reason. It stops nothing.
    Invalid(IssueKind),
}

/// `ErrorOccurred`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorOccurred {
    /// False.
    No,
    /// `ApplicationValidationError`.
    Validation {
        /// The first of them.
        first: TargetId,
        /// How many applications are not valid.
        applications: usize,
    },
    /// `ApplicationSetRolloutError`: a RollingSync without steps.
    NoSteps,
}

/// `status.health` of the set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetHealth {
    /// An error occurred.
    Degraded,
    /// A rollout progresses, or stands still.
    Progressing,
    /// Neither.
    Healthy,
    /// No pass has come to its end.
    Unknown,
}

impl SetConditions {
    /// `status.health` of the set. The health of its applications has no part in it.
    #[must_use]
    pub fn health(&self) -> SetHealth {
        match (self.error, self.rollout) {
            (Some(ErrorOccurred::Validation { .. } | ErrorOccurred::NoSteps), _) => SetHealth::Degraded,
            (_, Some(Rollout::Progressing(_))) => SetHealth::Progressing,
            _ if self.up_to_date => SetHealth::Healthy,
            _ => SetHealth::Unknown,
        }
    }
}
