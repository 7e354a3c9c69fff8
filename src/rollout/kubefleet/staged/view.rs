//! What a staged update run sees of its placement, and what is stored of its passes.

use std::collections::BTreeMap;

use super::super::super::{Action, ApprovalId, Pass, Revision, TargetId};
use super::super::PlacementPolicy;
use super::super::binding::{ApplyStrategy, Bindings};
use super::super::config::RunState;
use super::super::queue::QueueRequest;
use super::run::{RetryError, RunReason};
use crate::units::SimTime;

/// The objects around one run as the hub cluster has them.
#[derive(Clone, Debug, PartialEq)]
pub struct StagedView {
    /// The run's `spec.state`.
    pub state: RunState,
    /// The placement. `None`: there is none of that name.
    pub placement: Option<PlacementView>,
    /// The newest policy snapshot.
    pub policy: PolicySnapshot,
    /// The resource snapshots that exist, oldest first.
    pub resource_snapshots: Vec<Revision>,
    /// The placement's bindings.
    pub bindings: Bindings,
    /// The approval requests that exist. [`StagedUpdateRun::approval_name`](super::StagedUpdateRun::approval_name)
    /// says what an id stands for.
    pub approvals: BTreeMap<ApprovalId, ApprovalRequest>,
}

/// What of a placement a run looks at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PlacementView {
    /// Its strategy's type is `External`.
    pub external: bool,
    /// How its resources are applied.
    pub apply_strategy: ApplyStrategy,
}

/// The rule that picks a placement's clusters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PolicySnapshot {
    /// Its number.
    pub index: u32,
    /// The scheduler is done with it.
    pub scheduled: bool,
    /// How many clusters it asks for.
    pub policy: PlacementPolicy,
}

/// A `ClusterApprovalRequest`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ApprovalRequest {
    /// Somebody approved it, and has not taken that back.
    pub approved: bool,
    /// The run has taken note; from then on taking it back changes nothing.
    pub accepted: bool,
}

/// What one pass of a run came to, beside its actions and what [`RunStatus`](super::RunStatus) says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StagedStatus {
    /// What it asks of its queue; the pass's `wake_at` is the time that comes of it.
    pub next: QueueRequest,
    /// Why it is to be repeated, if it is to be.
    pub error: Option<RetryError>,
    /// Why the run is making progress or not.
    pub reason: Option<RunReason>,
    /// The stage that the pass worked on; the number of stages means the delete stage. `None`: none.
    pub stage: Option<usize>,
    /// Clusters of that stage that have started and not finished.
    pub updating: usize,
    /// Approvals that it took note of.
    pub accepted: Vec<ApprovalId>,
    /// Bindings that it did not have to change, and whose RolloutStarted it sets.
    pub restarted: Vec<TargetId>,
    /// What goes into the bindings that it rolls.
    pub(super) apply_strategy: ApplyStrategy,
}

impl StagedStatus {
    /// Objects that storing the pass writes.
    #[must_use]
    pub fn writes(&self, actions: &[Action]) -> usize {
        actions.len() + self.accepted.len() + self.restarted.len()
    }
}

impl StagedView {
    /// Stores what a pass decided: bindings are rolled and marked for deletion, requests created and accepted.
    ///
    /// # Panics
    /// If an action names a cluster without a binding.
    pub fn store(&mut self, now: SimTime, pass: &Pass<StagedStatus>) {
        for action in &pass.actions {
            match *action {
                Action::Deploy { target, revision } => {
                    self.bound(target).roll(now, revision, Some(pass.status.apply_strategy));
                }
                Action::Delete { target } => {
                    let unscheduled = self.bindings.iter_mut().filter(|binding| binding.target == target);
                    unscheduled
                        .filter(|binding| binding.state == super::super::BindingState::Unscheduled)
                        .for_each(super::super::Binding::delete);
                }
                Action::RequestApproval { approval } => {
                    self.approvals.insert(approval, ApprovalRequest::default());
                }
                Action::Create { .. } | Action::Stage { .. } | Action::Scale { .. } => {
                    unreachable!("a run asks for no {action:?}")
                }
            }
        }
        for approval in &pass.status.accepted {
            self.approvals.entry(*approval).or_default().accepted = true;
        }
        for target in &pass.status.restarted {
            self.bound(*target).set_rollout_started(now, true);
        }
    }

    fn bound(&mut self, target: TargetId) -> &mut super::super::Binding {
        self.bindings.get_mut(target).expect("a binding that is rolled exists")
    }
}
