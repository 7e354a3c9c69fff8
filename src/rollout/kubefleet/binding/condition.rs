//! A binding's conditions, and what the work generator makes of a cluster's state.
//!
//! Follows `pkg/utils/condition/reason.go` and `pkg/controllers/workgenerator/controller.go`: on every refresh all of the
//! work generator's conditions are written anew, with the time of the refresh.

use super::super::KubeFleetBugs;
use crate::units::SimTime;

/// A condition's status; a condition that is not there is `None` elsewhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// On the way.
    Unknown,
}

/// Why a binding's condition is as it is, by upstream's own names (`pkg/utils/condition/reason.go`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are upstream's and say all that is to be said")]
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
            // What is written while work is on its way and while it comes up.
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
    /// The binding's generation when it was seen.
    pub observed_generation: u64,
    /// When it was written, in whole seconds.
    pub since: SimTime,
}

/// All conditions of a binding. `None`: not written yet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BindingConditions {
    /// Written by the rollout: whether the cluster may be told what the spec says.
    pub rollout_started: Option<Condition>,
    /// Overrides were taken into account.
    pub overridden: Option<Condition>,
    /// The works for the cluster were written.
    pub work_synchronized: Option<Condition>,
    /// The cluster has applied them.
    pub applied: Option<Condition>,
    /// What it applied is available.
    pub available: Option<Condition>,
    /// The difference was reported, for placements that only ask for it.
    pub diff_reported: Option<Condition>,
}

/// How far a cluster is with what it was told, as the work generator writes it: each stands for one set of conditions.
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
    /// The works are written and the cluster has not applied them: what stands there right after a change.
    Applying,
    /// The cluster failed to apply them.
    ApplyFailed,
    /// Exempted from being a failure; the work generator never writes it.
    ApplyPending,
    /// Applied; nothing is known of availability.
    Applied,
    /// Applied, and not available: pods come up, or fail to.
    Unavailable,
    /// Exempted from being a failure; the work generator never writes it.
    NotAvailableYet,
    /// Available.
    Available,
    /// Applied, and of a kind that has no notion of availability.
    AvailableUntrackable,
    /// The difference was reported.
    DiffReported,
    /// The difference could not be reported.
    DiffFailed,
}

impl BindingConditions {
    /// Writes the conditions that stand for `state`, in place of all that the work generator wrote before.
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
