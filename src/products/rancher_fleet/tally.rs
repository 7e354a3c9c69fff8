//! Sets of clusters that the adapter keeps up to date with what changes.

use crate::rollout::TargetSet;
use crate::rollout::rancher_fleet::{BundleView, ClusterView};

/// The clusters of the fleet by what a pass counts.
#[derive(Debug)]
pub(super) struct ClusterTally {
    /// Clusters that are not targets, or run the wanted version and are ready.
    pub(super) done: TargetSet,
    /// Clusters whose deployments Fleet counts as unavailable.
    pub(super) unavailable: TargetSet,
    /// The targets with a deployment, by the rank of their names.
    pub(super) attached: TargetSet,
}

impl ClusterTally {
    /// Of this many clusters, none of which is counted yet.
    pub(super) fn new(clusters: usize) -> Self {
        let none = || TargetSet::new(clusters);
        Self { done: none(), unavailable: none(), attached: none() }
    }

    /// Counts these clusters again.
    pub(super) fn update(&mut self, view: &BundleView, changed: &TargetSet) {
        for index in changed.iter() {
            let cluster = &view.clusters[index as usize];
            self.done.set(index, !cluster.targeted || cluster.is_done());
            self.unavailable.set(index, cluster.deployment.is_some_and(|deployment| deployment.is_unavailable()));
        }
    }
}

/// Whether a pass writes the cluster's deployment: it is that of a target.
pub(super) fn is_attached(cluster: &ClusterView) -> bool {
    cluster.targeted && cluster.registered && cluster.deployment.is_some()
}
