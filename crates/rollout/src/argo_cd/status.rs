//! The status that the product shows for an ApplicationSet.
//!
//! Follows the conditions in `applicationset/progressivesync/progressive_sync.go`, `validation_issues.go` and
//! `applicationset/controllers/applicationset_controller.go`. No condition exists for a rollout that stalls or
//! failed.

use super::super::{Pass, TargetId};
use super::barrier::Barrier;
use super::limit::StepBudget;
use super::row::{Message, RolloutStatus};
use super::steps::IssueKind;
use super::view::ApplicationAction;
use fleetsim_units::SimDuration;

/// The decision of a pass.
pub type SetDecision = Pass<ApplicationAction, ApplicationSetStatus>;

/// The result of a pass apart from its actions. The rows are [`ArgoCd::rows`](super::ArgoCd::rows).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationSetStatus {
    /// Conditions after the pass.
    pub conditions: SetConditions,
    /// The budget of each step. Empty: the set is not rolling.
    pub budgets: Vec<StepBudget>,
    /// Number of steps, from the first, that may sync their applications. 0: the set is not rolling.
    pub open_steps: usize,
    /// The reason why the pass promoted nothing. `None`: no barrier applied.
    pub barrier: Option<Barrier>,
    /// The examined applications for which the pass requested a sync. A request starts a sync only if no sync was
    /// requested earlier: such applications have an [`ApplicationAction::Deploy`](super::ApplicationAction).
    pub requested: Vec<TargetId>,
    /// Rows that the pass promoted, with the message that they had before.
    pub promoted: Vec<(TargetId, Message)>,
    /// Rows after the pass, by status.
    pub rows: RowCounts,
    /// Whether the pass changed the stored rows, which queues another pass immediately.
    pub rows_written: bool,
    /// Whether a write of rows was refused, which aborted the pass.
    pub failed: bool,
    /// Whether the pass changed or deleted Application objects in a way that queues another pass immediately.
    pub objects_written: bool,
    /// Delay after which another pass is due even without changes.
    pub requeue_after: Option<SimDuration>,
    /// Whether the pass failed because the set is deleted and an application has been terminating for too long.
    pub deletion_failed: bool,
    /// Whether the deleted set removed its finalizer. The set is then gone, and the garbage collector deletes the
    /// rest.
    pub released: bool,
}

/// Rows by status, in the order of [`RolloutStatus::ALL`].
pub type RowCounts = [usize; RolloutStatus::ALL.len()];

/// `status.conditions`. A pass that fails early changes only some of them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SetConditions {
    /// `RolloutProgressing`. `None`: the condition is missing.
    pub rollout: Option<Rollout>,
    /// `InvalidRolloutConfig`. `None`: the condition is missing.
    pub config: Option<RolloutConfig>,
    /// `ErrorOccurred` and its opposite, `ResourcesUpToDate`. `None`: the conditions are missing.
    pub error: Option<ErrorOccurred>,
}

impl SetConditions {
    /// Returns whether the set has these conditions of a rollout.
    pub(super) fn has_rollout(&self, rollout: Rollout, config: RolloutConfig) -> bool {
        self.rollout == Some(rollout) && self.config == Some(config)
    }
}

/// `RolloutProgressing`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rollout {
    /// The status is false: every row in a step is Healthy. Missing applications have no row.
    Complete,
    /// The status is true. Contains the first step with a row that is not Healthy, counted from 1.
    Progressing(u32),
}

/// `InvalidRolloutConfig`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RolloutConfig {
    /// The condition is false: the steps have no errors.
    Valid,
    /// The condition is true, with this reason. It does not affect the rollout.
    Invalid(IssueKind),
}

/// `ErrorOccurred`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorOccurred {
    /// The condition `ErrorOccurred` is false.
    No,
    /// An application is invalid: reason `ApplicationValidationError`.
    Validation {
        /// The first invalid application.
        first: TargetId,
        /// Number of invalid applications.
        applications: usize,
    },
    /// A RollingSync has no steps: reason `ApplicationSetRolloutError`.
    NoSteps,
}
