//! Writes of deployments that the controller's cache does not show yet.
//!
//! The bundle controller decides on what its cache shows, and looks there again before it writes a deployment
//! (`createBundleDeployment` in `internal/cmd/controller/reconciler/bundle_controller.go` of rancher/fleet). So a pass
//! that begins within a watch delay of a write decides on the deployment from before. What it then writes is refused
//! while the cache is behind, and undoes the write where the cache has caught up meanwhile. Left out: conflicts with
//! statuses that agents write.

use std::collections::VecDeque;

use crate::rollout::rancher_fleet::BundleDeployment;
use crate::units::{SimDuration, SimTime};

/// A written deployment, by the number of its cluster.
#[derive(Clone, Copy, Debug)]
struct Write {
    seen: SimTime,
    cluster: usize,
    deployment: BundleDeployment,
}

/// The writes that the cache does not show yet, in the order of time.
#[derive(Debug)]
pub(super) struct UnseenWrites {
    watch_delay: SimDuration,
    writes: VecDeque<Write>,
    /// For each cluster, how many of them are its own.
    counts: Vec<u32>,
}

impl UnseenWrites {
    /// Of this many clusters, with no writes.
    pub(super) fn new(watch_delay: SimDuration, clusters: usize) -> Self {
        Self { watch_delay, writes: VecDeque::new(), counts: vec![0; clusters] }
    }

    /// A deployment is written.
    pub(super) fn write(&mut self, at: SimTime, cluster: usize, deployment: BundleDeployment) {
        self.writes.push_back(Write { seen: at + self.watch_delay, cluster, deployment });
        self.counts[cluster] += 1;
    }

    /// The next write that the cache shows at this time: the cluster, and its deployment as written.
    pub(super) fn next_seen(&mut self, now: SimTime) -> Option<(usize, BundleDeployment)> {
        let Write { cluster, deployment, .. } = self.writes.pop_front_if(|write| write.seen <= now)?;
        self.counts[cluster] -= 1;
        Some((cluster, deployment))
    }

    /// True while the cache shows a cluster's deployment as it was.
    pub(super) fn is_behind(&self, cluster: usize) -> bool {
        self.counts[cluster] > 0
    }

    /// The clusters whose deployments the cache shows as they were.
    pub(super) fn clusters(&self) -> impl Iterator<Item = usize> {
        self.writes.iter().map(|write| write.cluster)
    }

    /// A cluster's deployment is gone.
    pub(super) fn forget(&mut self, cluster: usize) {
        if std::mem::take(&mut self.counts[cluster]) > 0 {
            self.writes.retain(|write| write.cluster != cluster);
        }
    }
}
