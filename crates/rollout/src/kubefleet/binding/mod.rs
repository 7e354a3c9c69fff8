//! A binding: the placement's object for one cluster, with the conditions that the work generator writes on it.
//!
//! Follows `pkg/utils/binding/binding.go` and `pkg/controllers/workgenerator/controller.go`. Changing a binding's spec
//! or marking it for deletion increments its generation. A condition counts only if it was observed at the current
//! generation. Left out: overrides, and the works behind the binding.

mod condition;
mod list;

use super::super::{Revision, TargetId};
use super::{KubeFleetBugs, stored};
use fleetsim_units::SimTime;

pub use condition::{ConditionStatus, WorkReport, WorkState};
pub(super) use list::Layout;
pub use list::{Bindings, binding_name};

/// The state of a binding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BindingState {
    /// The cluster was picked; it has no resources yet.
    Scheduled,
    /// The cluster was assigned a resource snapshot.
    Bound,
    /// The cluster is no longer picked, and may still run its resources.
    Unscheduled,
}

/// A placement's apply strategy; equal numbers denote equal strategies.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ApplyStrategy(pub u32);

/// One binding.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Binding {
    /// The binding's name, which determines its position in the order of a rolling update.
    pub name: String,
    /// The cluster.
    pub target: TargetId,
    /// The binding's state.
    pub state: BindingState,
    /// Whether the binding is Unscheduled and was previously Bound.
    pub was_bound: bool,
    /// The policy snapshot under which the binding was scheduled.
    pub policy: u32,
    /// The resource snapshot assigned to the cluster. `None`: not assigned yet.
    pub snapshot: Option<Revision>,
    /// The apply strategy. `None`: not set since the scheduler created the binding.
    pub apply_strategy: Option<ApplyStrategy>,
    /// Incremented by every change of the spec.
    pub generation: u64,
    /// Whether the binding is marked for deletion; it exists until the cluster is cleaned up.
    pub deleting: bool,
    /// RolloutStarted, which the rollout writes: whether the spec may be applied to the cluster, and the observed
    /// generation. `None`: not written yet.
    pub rollout_started: Option<(bool, u64)>,
    /// The other conditions, which the work generator writes.
    pub work: WorkReport,
}

impl Binding {
    /// Creates a binding in the state in which the scheduler creates it.
    pub fn scheduled(name: String, target: TargetId, policy: u32) -> Self {
        Self {
            name,
            target,
            state: BindingState::Scheduled,
            was_bound: false,
            policy,
            snapshot: None,
            apply_strategy: None,
            generation: 1,
            deleting: false,
            rollout_started: None,
            work: WorkReport::default(),
        }
    }

    /// Creates a settled binding to `snapshot`, with RolloutStarted and all conditions of an available cluster.
    pub fn settled(
        name: String,
        target: TargetId,
        policy: u32,
        snapshot: Revision,
        apply: ApplyStrategy,
    ) -> Self {
        let mut binding = Self::scheduled(name, target, policy);
        binding.state = BindingState::Bound;
        binding.snapshot = Some(snapshot);
        binding.apply_strategy = Some(apply);
        binding.set_rollout_started(true);
        binding.report(SimTime::ZERO, WorkState::Available);
        binding
    }

    /// Returns the cluster's progress with the current spec: conditions that were observed at an older generation do
    /// not count.
    pub fn work_state(&self) -> WorkState {
        if self.work.generation == self.generation {
            self.work.state
        } else {
            WorkState::Unknown
        }
    }

    /// Returns whether the rollout of the binding's current spec has started.
    pub fn has_started(&self) -> bool {
        self.rollout_started == Some((true, self.generation))
    }

    /// Returns whether the binding's RolloutStarted condition is False for the current spec.
    pub(super) fn is_marked_blocked(&self) -> bool {
        self.rollout_started == Some((false, self.generation))
    }

    /// Returns whether the cluster has finished the binding's current spec: available, or its difference reported.
    pub fn has_succeeded(&self) -> bool {
        use WorkState::{Available, AvailableUntrackable, DiffReported};
        matches!(
            self.work_state(),
            Available | AvailableUntrackable | DiffReported
        )
    }

    /// Returns whether upstream considers the binding failed. As shipped, this includes clusters that are still in
    /// progress.
    pub fn has_failed(&self, bugs: KubeFleetBugs) -> bool {
        self.work_state().is_failure(bugs)
    }

    /// Replaces the conditions of the work generator with those of `state`.
    pub fn report(&mut self, now: SimTime, state: WorkState) {
        self.work = WorkReport {
            state,
            generation: self.generation,
            since: stored(now),
        };
    }

    /// Marks the binding like the scheduler when the cluster is no longer picked.
    pub fn unschedule(&mut self) {
        self.was_bound = self.state == BindingState::Bound;
        self.state = BindingState::Unscheduled;
        self.generation += 1;
    }

    /// Marks the binding like the scheduler when a cluster is picked again before its binding was deleted.
    pub fn reschedule(&mut self) {
        self.state = if self.was_bound {
            BindingState::Bound
        } else {
            BindingState::Scheduled
        };
        self.was_bound = false;
        self.generation += 1;
    }

    /// Assigns `snapshot` to the cluster.
    pub(super) fn roll(&mut self, snapshot: Revision, apply: Option<ApplyStrategy>) {
        self.state = BindingState::Bound;
        self.snapshot = Some(snapshot);
        self.apply_strategy = apply;
        self.generation += 1;
        self.set_rollout_started(true);
    }

    /// Marks the binding for deletion if it is not marked yet.
    pub fn delete(&mut self) {
        if !self.deleting {
            self.deleting = true;
            self.generation += 1;
        }
    }

    pub(super) fn set_rollout_started(&mut self, has_started: bool) {
        self.rollout_started = Some((has_started, self.generation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(state: WorkState) -> Binding {
        let mut binding = Binding::scheduled("crp-a".to_owned(), TargetId(0), 0);
        binding.report(SimTime::from_secs(1), state);
        binding
    }

    #[test]
    fn a_cluster_in_progress_counts_as_failed_as_shipped() {
        let cases = [
            // Each case: the state, then whether the binding succeeded, failed, and failed without the bug.
            (WorkState::Unknown, false, false, false),
            (WorkState::OverrideFailed, false, true, true),
            (WorkState::SyncFailed, false, true, true),
            (WorkState::SyncPending, false, false, false),
            (WorkState::Applying, false, true, false),
            (WorkState::ApplyFailed, false, true, true),
            (WorkState::ApplyPending, false, false, false),
            (WorkState::Applied, false, false, false),
            (WorkState::Unavailable, false, true, false),
            (WorkState::NotAvailableYet, false, false, false),
            (WorkState::Available, true, false, false),
            (WorkState::AvailableUntrackable, true, false, false),
            (WorkState::DiffReported, true, false, false),
            (WorkState::DiffFailed, false, false, false),
        ];
        for (state, succeeded, failed, failed_without) in cases {
            let binding = reported(state);
            assert_eq!(binding.has_succeeded(), succeeded, "{state:?}");
            assert_eq!(binding.has_failed(KubeFleetBugs::ALL), failed, "{state:?}");
            assert_eq!(
                binding.has_failed(KubeFleetBugs::NONE),
                failed_without,
                "{state:?} without the defect"
            );
        }
    }

    #[test]
    fn conditions_of_older_generations_are_ignored() {
        let mut binding = reported(WorkState::Available);
        binding.generation += 1;
        assert!(!binding.has_succeeded());
        let mut binding = reported(WorkState::ApplyFailed);
        binding.delete();
        assert!(
            !binding.has_failed(KubeFleetBugs::ALL),
            "marking it for deletion raises the generation too"
        );
        let generation = binding.generation;
        binding.delete();
        assert_eq!(binding.generation, generation, "but once only");
    }
}
