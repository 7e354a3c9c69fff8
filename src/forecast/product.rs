//! The products whose exports show a rollout, and where each one shows the start of a rollout.
//!
//! | product | start |
//! |---|---|
//! | Fleet | the last write of the Bundle's `spec`, or of `stagedDeploymentID` of a waiting BundleDeployment |
//! | Argo CD | the oldest row that is `Waiting`, or `RolloutProgressing` while its message names the first step |
//! | KubeFleet, staged | `startTime` of the first stage that has one, or the creation of the run |
//! | KubeFleet, rolling | the creation of the newest resource snapshot, or the oldest binding that waits |
//! | Cloud Foundry | `created_at` of the deployment |
//!
//! Kubernetes sets the time of an entry of `managedFields` when its manager changes a value that it owns
//! (`ManagedFieldsEntry.Time` in `apimachinery/pkg/apis/meta/v1/types.go`). Argo CD renews the time of a condition
//! when its message changes, and the message names the current step
//! (`UpdateApplicationSetApplicationStatusConditions` in `applicationset/progressivesync`); before 2.9 the message
//! says only that the rollout started. KubeFleet sets `startTime` when the first cluster of a stage begins
//! (`StageUpdatingStatus` in `apis/placement/v1beta1`).
//!
//! Left out: releases of a Git commit, whose time only Git and the products' logs have.

/// A product whose exports show the progress of a rollout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ShownProduct {
    Fleet,
    ArgoCd,
    KubeFleetStaged,
    KubeFleetRolling,
    CloudFoundry,
}

impl ShownProduct {
    /// The key of the product's strategies in experiments.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Fleet => "rancherFleet",
            Self::ArgoCd => "argoCd",
            Self::KubeFleetStaged => "kubeFleetStaged",
            Self::KubeFleetRolling => "kubeFleetRolling",
            Self::CloudFoundry => "cloudFoundry",
        }
    }

    /// The name of the product, with the kind of the objects.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Fleet => "Rancher Fleet (BundleDeployments)",
            Self::ArgoCd => "Argo CD (rows of an ApplicationSet)",
            Self::KubeFleetStaged => "KubeFleet (a staged update run)",
            Self::KubeFleetRolling => "KubeFleet (bindings)",
            Self::CloudFoundry => "Cloud Foundry (instances)",
        }
    }

    /// Whether an export lists every target, including those that wait for their turn.
    pub(super) const fn lists_all_targets(self) -> bool {
        !matches!(self, Self::CloudFoundry)
    }

    /// Where a user finds the start of the rollout.
    pub(super) const fn start_help(self) -> &'static str {
        match self {
            Self::Fleet => {
                "export the Bundle with `kubectl get bundles,bundledeployments -A -o json --show-managed-fields`, or \
                 give the time of the Git commit or of the change of the GitRepo, e.g. `--released \
                 2026-03-01T15:04:05Z`"
            }
            Self::ArgoCd => {
                "give the time of the commit or of the change of the ApplicationSet; `status.operationState.startedAt` \
                 of the first Application that was synced is shortly after it, e.g. `--released 2026-03-01T15:04:05Z`"
            }
            Self::KubeFleetStaged => {
                "give the `metadata.creationTimestamp` of the update run, e.g. `--released 2026-03-01T15:04:05Z`"
            }
            Self::KubeFleetRolling => {
                "export `kubectl get clusterresourcebindings,clusterresourcesnapshots -o json`, or give the \
                 `metadata.creationTimestamp` of the newest snapshot, e.g. `--released 2026-03-01T15:04:05Z`"
            }
            Self::CloudFoundry => {
                "export the deployment, too, with `cf curl /v3/deployments/GUID`, or give its `created_at`, e.g. \
                 `--released 2026-03-01T15:04:05Z`"
            }
        }
    }
}

/// The API group of the objects of a kind. `None`: the kind shows no rollout.
pub(super) fn group_of(kind: &str) -> Option<&'static str> {
    match kind {
        "Bundle" | "BundleDeployment" => Some("fleet.cattle.io"),
        "ApplicationSet" | "Application" => Some("argoproj.io"),
        "ClusterStagedUpdateRun"
        | "StagedUpdateRun"
        | "ClusterResourceBinding"
        | "ResourceBinding"
        | "ClusterResourceSnapshot"
        | "ResourceSnapshot" => Some("placement.kubernetes-fleet.io"),
        "MemberCluster" => Some("cluster.kubernetes-fleet.io"),
        _ => None,
    }
}
