//! A binding's conditions, and how the work generator derives them from a cluster's state.
//!
//! Follows `pkg/utils/condition/reason.go` and `pkg/controllers/workgenerator/controller.go`: every refresh rewrites
//! all conditions of the work generator, with the time of the refresh.

use super::super::KubeFleetBugs;
use crate::units::SimTime;

/// A condition's status, in the order of a placement's reasons; a missing condition is `None` elsewhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// In progress.
    Unknown,
    /// It does not hold.
    False,
    /// It holds.
    True,
}

/// The reason of a binding's condition, with upstream's names (`pkg/utils/condition/reason.go`); those of differences
/// are shortened. Left out: `NoOverrideSpecified`, which decides as `OverriddenSucceeded`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are upstream's and self-explanatory")]
pub enum ConditionReason {
    RolloutStarted,
    RolloutNotStartedYet,
    OverriddenSucceeded,
    OverriddenFailed,
    OverriddenPending,
    AllWorkSynced,
    SyncWorkFailed,
    WorkNotSynchronizedYet,
    AllWorkHaveBeenApplied,
    NotAllWorkHaveBeenApplied,
    ApplyInProgress,
    ApplyPending,
    AllWorkAreAvailable,
    NotAllWorkAreAvailable,
    NotAllWorkAreAvailabilityTrackable,
    ResourceNotAvailableYet,
    DiffReported,
    DiffNotReported,
}

impl ConditionReason {
    /// Whether a condition that is False for this reason is a failure.
    pub(super) const fn is_failure(self, defects: KubeFleetBugs) -> bool {
        match self {
            Self::OverriddenPending
            | Self::WorkNotSynchronizedYet
            | Self::ApplyPending
            | Self::ResourceNotAvailableYet => false,
            // The reasons written while work is being applied and while it starts.
            Self::ApplyInProgress | Self::NotAllWorkAreAvailable => defects.in_progress_is_failure,
            _ => true,
        }
    }
}

/// One condition of a binding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Condition {
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why.
    pub reason: ConditionReason,
    /// The binding's generation when it was observed.
    pub observed_generation: u64,
    /// When it was written, in whole seconds.
    pub since: SimTime,
}

/// All conditions of a binding. `None`: not written yet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BindingConditions {
    /// Written by the rollout: whether the spec may be applied to the cluster.
    pub rollout_started: Option<Condition>,
    /// Overrides were taken into account.
    pub overridden: Option<Condition>,
    /// The works for the cluster were written.
    pub work_synchronized: Option<Condition>,
    /// The cluster has applied them.
    pub applied: Option<Condition>,
    /// The applied resources are available.
    pub available: Option<Condition>,
    /// The difference was reported, for placements that only request a report.
    pub diff_reported: Option<Condition>,
}

/// A cluster's progress with its work, as the work generator writes it: each state corresponds to one set of
/// conditions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkState {
    /// Nothing is known.
    Unknown,
    /// Overrides cannot be applied.
    OverrideFailed,
    /// The works cannot be written.
    SyncFailed,
    /// The works are not written yet.
    SyncPending,
    /// The works are written and the cluster has not applied them: the state right after a change.
    Applying,
    /// The cluster failed to apply them.
    ApplyFailed,
    /// Exempted from being a failure; the work generator never writes it.
    ApplyPending,
    /// Applied; availability is unknown.
    Applied,
    /// Applied, and not available: pods are starting or failing.
    Unavailable,
    /// Exempted from being a failure; the work generator never writes it.
    NotAvailableYet,
    /// Available.
    Available,
    /// Applied; the kind has no availability tracking.
    AvailableUntrackable,
    /// The difference was reported.
    DiffReported,
    /// The difference could not be reported.
    DiffFailed,
}

impl BindingConditions {
    /// Replaces the conditions of the work generator with those of `state`: those before the one that decides it hold.
    pub(super) fn write(&mut self, state: WorkState, observed_generation: u64, since: SimTime) {
        use ConditionReason as Reason;
        use ConditionStatus::{False, True};
        // The number of conditions that hold before, and the deciding one.
        let (before, status, reason) = match state {
            WorkState::Unknown => (0, None, Reason::OverriddenSucceeded),
            WorkState::OverrideFailed => (0, Some(False), Reason::OverriddenFailed),
            WorkState::SyncFailed => (1, Some(False), Reason::SyncWorkFailed),
            WorkState::SyncPending => (1, Some(False), Reason::WorkNotSynchronizedYet),
            WorkState::Applying => (2, Some(False), Reason::ApplyInProgress),
            WorkState::ApplyFailed => (2, Some(False), Reason::NotAllWorkHaveBeenApplied),
            WorkState::ApplyPending => (2, Some(False), Reason::ApplyPending),
            WorkState::Applied => (2, Some(True), Reason::AllWorkHaveBeenApplied),
            WorkState::DiffReported => (2, Some(True), Reason::DiffReported),
            WorkState::DiffFailed => (2, Some(False), Reason::DiffNotReported),
            WorkState::Unavailable => (3, Some(False), Reason::NotAllWorkAreAvailable),
            WorkState::NotAvailableYet => (3, Some(False), Reason::ResourceNotAvailableYet),
            WorkState::Available => (3, Some(True), Reason::AllWorkAreAvailable),
            WorkState::AvailableUntrackable => (3, Some(True), Reason::NotAllWorkAreAvailabilityTrackable),
        };
        let condition = |status, reason| Condition { status, reason, observed_generation, since };
        let held = [Reason::OverriddenSucceeded, Reason::AllWorkSynced, Reason::AllWorkHaveBeenApplied];
        let mut row = [None; 4];
        for (entry, reason) in row.iter_mut().zip(held).take(before) {
            *entry = Some(condition(True, reason));
        }
        let deciding = status.map(|status| condition(status, reason));
        let is_diff = matches!(state, WorkState::DiffReported | WorkState::DiffFailed);
        row[before] = deciding.filter(|_| !is_diff);
        let [overridden, work_synchronized, applied, available] = row;
        let diff_reported = deciding.filter(|_| is_diff);
        *self = Self { overridden, work_synchronized, applied, available, diff_reported, ..*self };
    }
}
