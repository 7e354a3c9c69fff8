//! Sets of clusters that the adapter keeps up to date with what changes.

use crate::rollout::TargetSet;
use crate::rollout::rancher_fleet::{BundleView, ClusterView};

/// The clusters of the fleet by what a pass counts.
#[derive(Debug)]
pub(super) struct ClusterTally {
    /// Clusters that are not targets, or run the wanted version and are ready.
    done: TargetSet,
    /// Clusters whose deployments Fleet counts as unavailable.
    unavailable: TargetSet,
    /// The targets with a deployment, by the rank of their names.
    pub(super) attached: TargetSet,
    clusters: usize,
}

impl ClusterTally {
    /// Of this many clusters, none of which is counted yet.
    pub(super) fn new(clusters: usize) -> Self {
        let none = || TargetSet::new(clusters);
        Self { done: none(), unavailable: none(), attached: none(), clusters }
    }

    /// Counts these clusters again.
    pub(super) fn update(&mut self, view: &BundleView, changed: &TargetSet) {
        for index in changed.iter() {
            let cluster = &view.clusters[index as usize];
            self.done.set(index, !cluster.targeted || cluster.is_done());
            self.unavailable.set(index, cluster.deployment.is_some_and(|deployment| deployment.is_unavailable()));
        }
    }

    /// Number of deployments that Fleet counts as unavailable.
    pub(super) const fn unavailable(&self) -> u64 {
        self.unavailable.len() as u64
    }

    /// Whether all clusters are done.
    pub(super) const fn is_complete(&self) -> bool {
        self.done.len() == self.clusters
    }
}

/// Whether a pass writes the cluster's deployment: it is that of a target.
pub(super) fn is_attached(cluster: &ClusterView) -> bool {
    cluster.targeted && cluster.registered && cluster.deployment.is_some()
}
