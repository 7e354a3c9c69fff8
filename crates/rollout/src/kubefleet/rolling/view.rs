//! A rolling update's view of its placement, and how its passes are stored.

use super::super::super::{Pass, QueueRequest, Revision, TargetId};
use super::super::binding::{ApplyStrategy, Binding, Bindings};
use super::super::{BindingState, KubeFleetBugs};

/// One placement whose strategy is `RollingUpdate`, in the hub cluster.
#[derive(Clone, Debug)]
pub struct RollingView {
    /// Number of requested clusters. `None`: all that match.
    pub requested: Option<u32>,
    /// How the placement's resources are applied.
    pub apply_strategy: ApplyStrategy,
    /// The newest version of the placement's resources, if any.
    pub latest_snapshot: Option<Revision>,
    /// The placement's bindings.
    pub bindings: Bindings,
}

/// The controller's counters in a pass.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BindingCounts {
    /// Clusters that the placement requests.
    pub target: i64,
    /// Bindings that are ready.
    pub ready: i64,
    /// Ready bindings that are being deleted.
    pub can_be_unavailable: i64,
    /// Bindings whose cluster has the resources and that are ready or may become ready.
    pub can_be_ready: i64,
    /// Scheduled bindings.
    pub bounding_candidates: i64,
    /// Unscheduled bindings that must be deleted.
    pub remove_candidates: i64,
    /// Bound bindings with a snapshot other than the newest.
    pub update_candidates: i64,
    /// Update candidates that have failed: they are updated regardless of the limits.
    pub failed_update_candidates: i64,
}

impl BindingCounts {
    /// Returns the number of candidates of all kinds.
    pub(super) const fn all_candidates(&self) -> i64 {
        self.bounding_candidates
            + self.remove_candidates
            + self.update_candidates
            + self.failed_update_candidates
    }
}

/// Number of bindings that the limits allow a pass to roll; 0 or less: no binding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Room {
    /// Deletions and updates, limited by `maxUnavailable`.
    pub to_remove: i64,
    /// New bindings, limited by `maxSurge`.
    pub to_add: i64,
}

/// The reason why a pass is repeated after a backoff.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum RollingError {
    /// Two bindings of one cluster that are not being deleted.
    #[error("the same cluster has bindings `{first}` and `{second}` pointing to it")]
    TwoBindings { first: String, second: String },
    /// A cluster has a bound binding and one that is being deleted.
    #[error("a cluster has a bound binding `{0}` and a deleting binding pointing to it")]
    BoundAndDeleting(String),
}

/// The result of a pass besides its actions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollingStatus {
    /// How the queue should requeue the placement.
    pub next: QueueRequest,
    /// The reason why the pass must be repeated. `None`: it succeeded.
    pub error: Option<RollingError>,
    /// The counters. `None`: the pass ended before the bindings were counted.
    pub counts: Option<BindingCounts>,
    /// The limits in this pass. `None`: no binding had to be rolled.
    pub room: Option<Room>,
    /// Clusters whose binding received the placement's apply strategy. Such a pass does nothing else
    /// (`processApplyStrategyUpdates`).
    pub patched: Vec<TargetId>,
    /// `staleBoundBindings`: clusters whose binding is blocked by the limits and whose RolloutStarted does not show
    /// this yet; updates come before new bindings ([`RollingUpdate::blocked`](super::RollingUpdate::blocked) lists
    /// all).
    pub blocked: Vec<TargetId>,
    /// Clusters whose binding is up to date and whose RolloutStarted the pass sets (`refreshUpToDateBindingStatus`,
    /// and `checkAndUpdateStaleBindingsStatus` if nothing is rolled).
    pub restarted: Vec<TargetId>,
    pub(super) blocked_from: BlockedFrom,
}

/// The indices from which bindings are blocked by the limits. `None`: no binding is blocked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct BlockedFrom {
    /// Bindings to update.
    pub(super) updates: Option<u32>,
    /// Bindings to bind.
    pub(super) bindings: Option<u32>,
}

/// An action of a pass of a rolling update, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RollingAction {
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
    /// Remove the application from the target.
    Delete(TargetId),
}

/// The decision of a pass.
pub type RollingDecision = Pass<RollingAction, RollingStatus>;

impl RollingAction {
    /// Returns the cluster of the action.
    pub const fn target(self) -> TargetId {
        match self {
            Self::Deploy(target, _) | Self::Delete(target) => target,
        }
    }
}

impl RollingView {
    /// Stores the result of a pass.
    ///
    /// # Panics
    /// If the pass names a cluster without a binding.
    pub fn store(&mut self, pass: &RollingDecision) {
        self.store_patched(&pass.status.patched);
        self.store_started(&pass.status.blocked, false);
        self.store_started(&pass.status.restarted, true);
        for action in &pass.actions {
            self.store_action(*action);
        }
    }

    /// Stores only one result of a pass: the bindings that it patches have the placement's apply strategy.
    pub fn store_patched(&mut self, targets: &[TargetId]) {
        for target in targets {
            for binding in self.bindings.of_mut(*target) {
                if !binding.deleting {
                    binding.apply_strategy = Some(self.apply_strategy);
                    binding.generation += 1;
                }
            }
        }
    }

    /// Stores only one result of a pass: the rollout of these bindings has started or is blocked.
    ///
    /// # Panics
    /// If a cluster has no binding.
    pub fn store_started(&mut self, targets: &[TargetId], has_started: bool) {
        for target in targets {
            self.bindings
                .decided(*target)
                .set_rollout_started(has_started);
        }
    }

    /// Stores only one result of a pass: a binding that it rolls or deletes.
    ///
    /// # Panics
    /// If the cluster has no binding.
    pub fn store_action(&mut self, action: RollingAction) {
        let binding = self.bindings.decided(action.target());
        match action {
            RollingAction::Deploy(_, revision) => binding.roll(revision, binding.apply_strategy),
            RollingAction::Delete(_) => binding.delete(),
        }
    }

    /// Returns whether every requested cluster has the newest resources and is available, and no other cluster has the
    /// newest resources.
    pub fn is_done(&self) -> bool {
        self.bindings.iter().all(|binding| self.has(binding))
    }

    /// Returns whether the binding's cluster has the newest resources, and they are available.
    pub(super) fn has(&self, binding: &Binding) -> bool {
        binding.state == BindingState::Bound
            && !binding.deleting
            && binding.snapshot == self.latest_snapshot
            && binding.has_succeeded()
    }
}

/// Returns whether this change of a binding starts a pass: its generation, Available or DiffReported changed.
///
/// As shipped ([`KubeFleetBugs::missed_wake_ups`]), a condition of which only the observed generation changed counts
/// as unchanged, because the old and the new object are compared in the wrong order.
pub fn wakes(before: &Binding, after: &Binding, bugs: KubeFleetBugs) -> bool {
    let old = before.work;
    let new = after.work;
    let differs = match (old.state.is_observed(), new.state.is_observed()) {
        (true, true) => {
            let is_outdated = if bugs.missed_wake_ups {
                new.generation < old.generation
            } else {
                old.generation < new.generation
            };
            old.state != new.state || is_outdated
        }
        (false, false) => false,
        (true, false) | (false, true) => true,
    };
    before.generation != after.generation || differs
}
