//! Counts over all clusters that the adapter keeps up to date with what changes.

use crate::products::prefix_counts::PrefixCounts;
use crate::rollout::rancher_fleet::{BundleView, ClusterView};

/// What is counted of each cluster, and the counts.
#[derive(Debug)]
pub(super) struct ClusterTally {
    is_done: Vec<bool>,
    is_unavailable: Vec<bool>,
    /// Targets that run the wanted version and are ready, and clusters that are no targets any more.
    done: usize,
    /// Deployments that Fleet counts as unavailable.
    pub(super) unavailable: u64,
    /// The targets with a deployment, by the rank of their names.
    pub(super) attached: PrefixCounts,
}

impl ClusterTally {
    /// Of this many clusters, none of which is counted yet.
    pub(super) fn new(clusters: usize) -> Self {
        let (is_done, is_unavailable) = (vec![false; clusters], vec![false; clusters]);
        Self { is_done, is_unavailable, done: 0, unavailable: 0, attached: PrefixCounts::new(clusters) }
    }

    /// Counts these clusters again.
    pub(super) fn update(&mut self, view: &BundleView, changed: impl Iterator<Item = u32>) {
        for index in changed {
            let (at, cluster) = (index as usize, &view.clusters[index as usize]);
            let is_done = !cluster.targeted || cluster.is_done();
            let was_done = std::mem::replace(&mut self.is_done[at], is_done);
            self.done = self.done + usize::from(is_done) - usize::from(was_done);
            let is_unavailable = cluster.deployment.is_some_and(|deployment| deployment.is_unavailable());
            let was_unavailable = std::mem::replace(&mut self.is_unavailable[at], is_unavailable);
            self.unavailable = self.unavailable + u64::from(is_unavailable) - u64::from(was_unavailable);
        }
    }

    /// Whether all clusters are done.
    pub(super) fn is_complete(&self) -> bool {
        self.done == self.is_done.len()
    }
}

/// Whether a pass writes the cluster's deployment: it is that of a target.
pub(super) fn is_attached(cluster: &ClusterView) -> bool {
    cluster.targeted && cluster.registered && cluster.deployment.is_some()
}
