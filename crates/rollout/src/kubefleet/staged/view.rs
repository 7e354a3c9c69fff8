//! A staged update run's view of its placement, and how its passes are stored.

use std::collections::BTreeMap;

use super::super::super::{Pass, QueueRequest, Revision, TargetId};
use super::super::binding::{ApplyStrategy, Binding, BindingState, Bindings};
use super::super::config::RunState;
use super::run::RunError;

/// The objects around one run in the hub cluster.
#[derive(Clone, Debug)]
pub struct StagedView {
    /// The run's `spec.state`.
    pub state: RunState,
    /// The placement. `None`: no placement has this name.
    pub placement: Option<PlacementView>,
    /// The newest policy snapshot.
    pub policy: PolicySnapshot,
    /// The resource snapshots that exist, oldest first.
    pub resource_snapshots: Vec<Revision>,
    /// The placement's bindings.
    pub bindings: Bindings,
    /// The approval requests that exist, by their names.
    pub approval_requests: BTreeMap<String, ApprovalRequest>,
}

/// The part of a placement that a run reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PlacementView {
    /// Whether the type of the placement's strategy is `External`.
    pub external: bool,
    /// How the placement's resources are applied.
    pub apply_strategy: ApplyStrategy,
}

/// The rule that picks a placement's clusters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PolicySnapshot {
    /// The number of the snapshot.
    pub index: u32,
    /// Whether the scheduler has finished the policy.
    pub scheduled: bool,
    /// Number of clusters that the policy requests. `None`: all that match.
    pub requested: Option<u32>,
}

/// A `ClusterApprovalRequest`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ApprovalRequest {
    /// Whether the request is approved, and the approval was not withdrawn.
    pub approved: bool,
    /// Whether the run has accepted the approval; withdrawing it then has no effect.
    pub accepted: bool,
}

/// The result of one pass of a run apart from its actions and [`RunStatus`](super::RunStatus).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StagedStatus {
    /// How the queue should requeue the run.
    pub next: QueueRequest,
    /// The reason why the pass must be repeated. `None`: it succeeded.
    pub error: Option<RunError>,
    /// Requests whose approval the pass accepted.
    pub accepted: Vec<String>,
    /// Bindings that did not need a change, and whose RolloutStarted the pass sets.
    pub restarted: Vec<TargetId>,
}

/// An action of a pass of a staged update run, which a driver carries out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StagedAction {
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
    /// Remove the application from the target.
    Delete(TargetId),
    /// Ask a person for permission to continue, with a request of this name. A later view shows whether the permission
    /// was given.
    RequestApproval(String),
}

/// The decision of a pass.
pub type StagedDecision = Pass<StagedAction, StagedStatus>;

impl StagedView {
    /// Stores the result of a pass: rolls bindings and marks them for deletion, creates and accepts requests.
    ///
    /// # Panics
    /// If an action names a cluster without a binding.
    pub fn store(&mut self, pass: &StagedDecision) {
        let apply_strategy = self.placement.map(|placement| placement.apply_strategy);
        for action in &pass.actions {
            match action {
                StagedAction::Deploy(target, revision) => {
                    self.bindings
                        .selected(*target)
                        .roll(*revision, apply_strategy);
                }
                StagedAction::Delete(target) => {
                    let bindings = self.bindings.of_mut(*target);
                    bindings
                        .filter(|binding| binding.state == BindingState::Unscheduled)
                        .for_each(Binding::delete);
                }
                StagedAction::RequestApproval(approval) => {
                    self.approval_requests
                        .insert(approval.clone(), ApprovalRequest::default());
                }
            }
        }
        for approval in &pass.status.accepted {
            self.approval_requests
                .entry(approval.clone())
                .or_default()
                .accepted = true;
        }
        for target in &pass.status.restarted {
            self.bindings.selected(*target).set_rollout_started(true);
        }
    }
}
