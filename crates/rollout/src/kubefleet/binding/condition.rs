//! A cluster's progress with its work, and the conditions of a binding that follow from it.
//!
//! Follows `pkg/utils/condition/reason.go`, `pkg/utils/binding/binding.go` and
//! `pkg/controllers/workgenerator/controller.go`: every refresh rewrites all conditions of the work generator, with
//! the time of the refresh. The state of the work therefore determines all of them.

use super::super::KubeFleetBugs;
use fleetsim_units::SimTime;

/// A condition's status, in the order of a placement's reasons. A missing condition is represented by `None`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// In progress.
    Unknown,
    /// The condition does not hold.
    False,
    /// The condition holds.
    True,
}

/// A cluster's progress with its work, as the work generator writes it: each state stands for one set of conditions.
/// Left out: `NoOverrideSpecified`, which has the same effect as `OverriddenSucceeded`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WorkState {
    /// No condition is known.
    #[default]
    Unknown,
    /// Overrides cannot be applied.
    OverrideFailed,
    /// The works cannot be written.
    SyncFailed,
    /// The works are not written yet.
    SyncPending,
    /// The works are written and the cluster has not applied them: the state right after a change.
    Applying,
    /// The cluster failed to apply the works.
    ApplyFailed,
    /// The cluster has not applied the works for a reason that does not count as a failure. Never written by the work
    /// generator.
    ApplyPending,
    /// The works are applied; their availability is unknown.
    Applied,
    /// The works are applied but not available: pods are starting or failing.
    Unavailable,
    /// The works are not available for a reason that does not count as a failure. Never written by the work generator.
    NotAvailableYet,
    /// The works are available.
    Available,
    /// The works are applied; their kind has no availability tracking.
    AvailableUntrackable,
    /// The difference between the works and the cluster was reported.
    DiffReported,
    /// The difference between the works and the cluster could not be reported.
    DiffFailed,
}

impl WorkState {
    /// Returns the statuses of Overridden, WorkSynchronized, Applied and Available: all conditions before the one that
    /// determines the state are True. Left out: DiffReported, which determines the two states of differences.
    pub(in super::super) fn statuses(self) -> [Option<ConditionStatus>; 4] {
        use ConditionStatus::{False, True};
        match self {
            Self::Unknown => [None; 4],
            Self::OverrideFailed => [Some(False), None, None, None],
            Self::SyncFailed | Self::SyncPending => [Some(True), Some(False), None, None],
            Self::Applying | Self::ApplyFailed | Self::ApplyPending => {
                [Some(True), Some(True), Some(False), None]
            }
            Self::Applied => [Some(True), Some(True), Some(True), None],
            Self::DiffReported | Self::DiffFailed => [Some(True), Some(True), None, None],
            Self::Unavailable | Self::NotAvailableYet => {
                [Some(True), Some(True), Some(True), Some(False)]
            }
            Self::Available | Self::AvailableUntrackable => [Some(True); 4],
        }
    }

    /// Returns whether Available or DiffReported is among the conditions of this state.
    pub(in super::super) fn is_observed(self) -> bool {
        self.statuses()[3].is_some() || matches!(self, Self::DiffReported | Self::DiffFailed)
    }

    /// Returns whether a condition of this state is False for a reason that counts as a failure.
    pub(super) const fn is_failure(self, bugs: KubeFleetBugs) -> bool {
        match self {
            Self::OverrideFailed | Self::SyncFailed | Self::ApplyFailed => true,
            // The bug affects work that is being applied or is starting.
            Self::Applying | Self::Unavailable => bugs.in_progress_is_failure,
            _ => false,
        }
    }
}

/// The last write of the work generator to a binding's status.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WorkReport {
    /// The cluster's progress.
    pub state: WorkState,
    /// The binding's generation that the report refers to.
    pub generation: u64,
    /// The time of the write, in whole seconds.
    pub since: SimTime,
}
