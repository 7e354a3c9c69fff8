//! What a rolling update sees of its placement, and what is stored of its passes.

use super::super::super::{Action, Pass, Revision, TargetId};
use super::super::binding::{ApplyStrategy, Binding, Bindings, Condition};
use super::super::queue::QueueRequest;
use super::super::{BindingState, KubeFleetBugs, PlacementPolicy};
use crate::units::SimTime;

/// One placement as the hub cluster has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RollingView {
    /// It exists, is not being deleted, and its strategy is `RollingUpdate`.
    pub active: bool,
    /// How many clusters it asks for.
    pub policy: PlacementPolicy,
    /// How its resources are applied.
    pub apply_strategy: ApplyStrategy,
    /// The newest version of its resources. `None`: there is none yet.
    pub latest_snapshot: Option<Revision>,
    /// Its bindings.
    pub bindings: Bindings,
}

/// The controller's own numbers in a pass.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BindingCounts {
    /// Clusters that the placement is to have.
    pub target: i64,
    /// Bindings that are ready.
    pub ready: i64,
    /// Ready ones that are being deleted.
    pub can_be_unavailable: i64,
    /// Bindings whose cluster has the resources and may be or become ready.
    pub can_be_ready: i64,
    /// Scheduled ones.
    pub bounding_candidates: i64,
    /// Unscheduled ones that are to be deleted.
    pub remove_candidates: i64,
    /// Bound ones with another snapshot than the newest.
    pub update_candidates: i64,
    /// The same, but failed: they are updated whatever the limits say.
    pub failed_update_candidates: i64,
}

/// How many bindings the limits let a pass roll. Below zero is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Room {
    /// To be deleted or updated, by `maxUnavailable`.
    pub to_remove: i64,
    /// To be bound, by `maxSurge`.
    pub to_add: i64,
}

/// Why a pass is repeated after a backoff.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RollingError {
    /// Two bindings of one cluster that are not being deleted.
    #[error("the same cluster has bindings `{first}` and `{second}` pointing to it")]
    TwoBindings {
        /// By name.
        first: String,
        /// The other one.
        second: String,
    },
    /// A cluster has a bound binding and one that is being deleted.
    #[error("a cluster has a bound binding `{0}` and a deleting binding pointing to it")]
    BoundAndDeleting(String),
}

/// What one pass came to, beside its actions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollingStatus {
    /// What it asks of its queue; the pass's `wake_at` is the time that comes of it.
    pub next: QueueRequest,
    /// Why it is to be repeated, if it is to be.
    pub error: Option<RollingError>,
    /// `None`: the pass ended before it counted.
    pub counts: Option<BindingCounts>,
    /// `None`: there was nothing to roll.
    pub room: Option<Room>,
    /// Clusters whose binding was given the placement's apply strategy; such a pass does nothing else.
    pub patched: Vec<TargetId>,
    /// Clusters whose binding is held back by the limits, updates before bindings.
    pub blocked: Vec<TargetId>,
    /// Clusters whose binding is up to date, and whose RolloutStarted it sets.
    pub restarted: Vec<TargetId>,
    pub(super) apply_strategy: ApplyStrategy,
}

impl RollingStatus {
    /// Objects that storing the pass writes, statuses included.
    #[must_use]
    pub fn writes(&self, actions: &[Action]) -> usize {
        actions.len() + self.patched.len() + self.blocked.len() + self.restarted.len()
    }

    /// Whether its own writes wake the controller again at once: those of a binding's spec do.
    #[must_use]
    pub fn wakes_itself(&self, actions: &[Action]) -> bool {
        !actions.is_empty() || !self.patched.is_empty()
    }
}

impl RollingView {
    /// Stores what a pass decided.
    ///
    /// # Panics
    /// If the pass names a cluster without a binding.
    pub fn store(&mut self, now: SimTime, pass: &Pass<RollingStatus>) {
        let status = &pass.status;
        for target in &status.patched {
            for binding in self.bindings.iter_mut().filter(|b| b.target == *target && !b.deleting) {
                binding.apply_strategy = Some(status.apply_strategy);
                binding.generation += 1;
            }
        }
        for target in &status.blocked {
            self.bound(*target).set_rollout_started(now, false);
        }
        for target in &status.restarted {
            self.bound(*target).set_rollout_started(now, true);
        }
        for action in &pass.actions {
            match *action {
                Action::Deploy { target, revision } => {
                    let binding = self.bound(target);
                    let apply = binding.apply_strategy;
                    binding.roll(now, revision, apply);
                }
                Action::Delete { target } => self.bound(target).delete(),
                Action::Create { .. }
                | Action::Stage { .. }
                | Action::RequestApproval { .. }
                | Action::Scale { .. } => {
                    unreachable!("a rolling update asks for no {action:?}")
                }
            }
        }
    }

    /// Whether every cluster has the newest resources and is available with them, and none has them that should not.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.bindings.iter().all(|binding| {
            binding.state == BindingState::Bound
                && !binding.deleting
                && binding.snapshot == self.latest_snapshot
                && binding.has_succeeded()
        })
    }

    fn bound(&mut self, target: TargetId) -> &mut Binding {
        self.bindings.get_mut(target).expect("a binding that a pass decided about exists")
    }
}

/// Whether this change of a binding starts a pass: its generation, Available or DiffReported changed.
///
/// As shipped ([`KubeFleetBugs::missed_wake_ups`]) a condition whose observed generation alone has grown is taken for
/// unchanged, because the old and the new object are compared the wrong way round.
#[must_use]
pub fn wakes(before: &Binding, after: &Binding, defects: KubeFleetBugs) -> bool {
    let differs = |before: Option<Condition>, after: Option<Condition>| match (before, after) {
        (None, None) => false,
        (Some(before), Some(after)) => {
            let (older, newer) = (before.observed_generation, after.observed_generation);
            let is_outdated = if defects.missed_wake_ups { newer < older } else { older < newer };
            before.status != after.status || before.reason != after.reason || is_outdated
        }
        _ => true,
    };
    before.generation != after.generation
        || differs(before.conditions.diff_reported, after.conditions.diff_reported)
        || differs(before.conditions.available, after.conditions.available)
}
