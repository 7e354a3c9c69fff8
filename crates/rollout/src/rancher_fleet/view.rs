//! The controller's view of a bundle, and the objects that it stores: the bundle's flags, its clusters, and their
//! `BundleDeployment` objects.
//!
//! Follows the code that stores deployments in `internal/cmd/controller/reconciler/bundle_controller.go`. Left out:
//! the content of a deployment (options, values), `dependsOn` and labels, which have no effect on a pass.

use super::super::{Revision, TargetId};

/// One bundle in the management cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleView {
    /// The bundle's `spec.paused`, as set through the GitRepo.
    pub paused: bool,
    /// The clusters, in the order of the scheduler's list.
    pub clusters: Vec<ClusterView>,
}

/// One cluster as a target of the bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterView {
    /// The current deployment id of the bundle for this cluster.
    pub wanted: Revision,
    /// Whether the bundle's targeting selects the cluster.
    pub targeted: bool,
    /// Whether the cluster has a namespace (`status.namespace`). Without it, no deployment can be stored.
    pub registered: bool,
    /// The cluster's `spec.paused`.
    pub paused: bool,
    /// Whether the cluster has a Schedule and none of its windows is open.
    pub off_schedule: bool,
    /// The stored deployment, if any.
    pub deployment: Option<BundleDeployment>,
}

/// A `BundleDeployment`: the staged, deployed and applied ids of one cluster. `None` is the empty id.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct BundleDeployment {
    /// `spec.stagedDeploymentID`: the next id to deploy.
    pub staged: Option<Revision>,
    /// `spec.deploymentID`: the id that the cluster's agent must apply.
    pub deployed: Option<Revision>,
    /// `status.appliedDeploymentID`: the id that the agent reports as applied.
    pub applied: Option<Revision>,
    /// `status.ready`, as reported by the agent.
    pub ready: bool,
    /// `status.nonModified`: no drift.
    pub non_modified: bool,
    /// Whether the condition `Deployed` is False: the last attempt to apply failed.
    pub failed: bool,
    /// The message of the condition `Deployed`, if it is False and the message is known.
    pub failure: Option<&'static str>,
    /// `spec.paused`: the agent does nothing.
    pub paused: bool,
    /// `spec.offSchedule`: the agent does nothing until a window of its Schedule opens.
    pub off_schedule: bool,
}

/// An action of a pass of the bundle controller, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BundleAction {
    /// Create the product's own object for this target. The cluster does not see this write.
    Create(TargetId),
    /// Record the wanted revision as the next one of the target. The cluster does not see this write.
    Stage(TargetId),
    /// Instruct the target to run the wanted revision now.
    Deploy(TargetId),
    /// Remove the application from the target.
    Delete(TargetId),
}

impl BundleAction {
    /// Returns the cluster of the action.
    pub const fn target(&self) -> TargetId {
        match self {
            Self::Create(target)
            | Self::Stage(target)
            | Self::Deploy(target)
            | Self::Delete(target) => *target,
        }
    }
}

impl ClusterView {
    /// Creates a registered target that does not run anything yet.
    pub const fn new(wanted: Revision) -> Self {
        Self {
            wanted,
            targeted: true,
            registered: true,
            paused: false,
            off_schedule: false,
            deployment: None,
        }
    }

    /// Creates a registered target that runs `revision`, is ready, and wants no other revision.
    pub fn settled(revision: Revision) -> Self {
        Self {
            deployment: Some(BundleDeployment::settled(revision)),
            ..Self::new(revision)
        }
    }

    /// Returns whether the cluster runs the wanted id and is ready; false without a deployment.
    pub fn is_done(&self) -> bool {
        self.deployment.is_some_and(|deployment| {
            let wanted = Some(self.wanted);
            deployment.deployed == wanted && deployment.applied == wanted && deployment.ready
        })
    }
}

impl BundleDeployment {
    /// Creates a deployment that runs `revision`, is ready, and has no other id staged.
    pub fn settled(revision: Revision) -> Self {
        let id = Some(revision);
        Self {
            staged: id,
            deployed: id,
            applied: id,
            ready: true,
            non_modified: true,
            ..Self::default()
        }
    }

    /// Returns whether the deployment is unavailable by Fleet's definition: the agent has not applied the deployed id,
    /// or is not ready. The *wanted* id does not matter: a healthy cluster on an old version is available.
    pub fn is_unavailable(&self) -> bool {
        self.applied != self.deployed || !self.ready
    }
}

impl BundleView {
    /// Returns whether every target runs its wanted id and is ready, including targets in no partition.
    pub fn is_done(&self) -> bool {
        self.clusters
            .iter()
            .filter(|cluster| cluster.targeted)
            .all(ClusterView::is_done)
    }
}
