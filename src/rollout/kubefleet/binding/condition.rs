//! A binding's conditions, and how the work generator derives them from a cluster's state.
//!
//! Follows `pkg/utils/condition/reason.go` and `pkg/controllers/workgenerator/controller.go`: every refresh rewrites
//! all conditions of the work generator, with the time of the refresh.

use super::super::KubeFleetBugs;
use crate::units::SimTime;

/// A condition's status; a missing condition is `None` elsewhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// In progress.
    Unknown,
}

/// The reason of a binding's condition, with upstream's names (`pkg/utils/condition/reason.go`).
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
    /// Replaces the conditions of the work generator with those of `state`.
    pub(super) fn write(&mut self, state: WorkState, observed_generation: u64, since: SimTime) {
        use ConditionStatus::{False, True};
        let at = |status, reason| Some(Condition { status, reason, observed_generation, since });
        let mut next = BindingConditions { rollout_started: self.rollout_started, ..BindingConditions::default() };
        if !matches!(state, WorkState::Unknown) {
            next.overridden = at(True, ConditionReason::OverriddenSucceeded);
            next.work_synchronized = at(True, ConditionReason::AllWorkSynced);
        }
        let applied = at(True, ConditionReason::AllWorkHaveBeenApplied);
        match state {
            WorkState::Unknown => {}
            WorkState::OverrideFailed => {
                next.overridden = at(False, ConditionReason::OverriddenFailed);
                next.work_synchronized = None;
            }
            WorkState::SyncFailed => next.work_synchronized = at(False, ConditionReason::SyncWorkFailed),
            WorkState::SyncPending => next.work_synchronized = at(False, ConditionReason::WorkNotSynchronizedYet),
            WorkState::Applying => next.applied = at(False, ConditionReason::ApplyInProgress),
            WorkState::ApplyFailed => next.applied = at(False, ConditionReason::NotAllWorkHaveBeenApplied),
            WorkState::ApplyPending => next.applied = at(False, ConditionReason::ApplyPending),
            WorkState::Applied => next.applied = applied,
            WorkState::Unavailable => {
                (next.applied, next.available) = (applied, at(False, ConditionReason::NotAllWorkAreAvailable));
            }
            WorkState::NotAvailableYet => {
                (next.applied, next.available) = (applied, at(False, ConditionReason::ResourceNotAvailableYet));
            }
            WorkState::Available => {
                (next.applied, next.available) = (applied, at(True, ConditionReason::AllWorkAreAvailable));
            }
            WorkState::AvailableUntrackable => {
                let available = at(True, ConditionReason::NotAllWorkAreAvailabilityTrackable);
                (next.applied, next.available) = (applied, available);
            }
            WorkState::DiffReported => next.diff_reported = at(True, ConditionReason::DiffReported),
            WorkState::DiffFailed => next.diff_reported = at(False, ConditionReason::DiffNotReported),
        }
        *self = next;
    }
}
