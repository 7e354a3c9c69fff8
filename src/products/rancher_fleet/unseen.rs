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

/// The writes that the cache does not show yet, in the order of time.
#[derive(Debug)]
pub(super) struct UnseenWrites {
    watch_delay: SimDuration,
    /// When the cache shows each, its cluster, and the deployment as written.
    writes: VecDeque<(SimTime, usize, BundleDeployment)>,
}

impl UnseenWrites {
    pub(super) const fn new(watch_delay: SimDuration) -> Self {
        Self {
            watch_delay,
            writes: VecDeque::new(),
        }
    }

    /// A deployment is written.
    pub(super) fn write(&mut self, at: SimTime, cluster: usize, deployment: BundleDeployment) {
        self.writes
            .push_back((at + self.watch_delay, cluster, deployment));
    }

    /// The next write that the cache shows at this time: the cluster, and its deployment as written.
    pub(super) fn next_seen(&mut self, now: SimTime) -> Option<(usize, BundleDeployment)> {
        let (_, cluster, deployment) = self.writes.pop_front_if(|(seen, ..)| *seen <= now)?;
        Some((cluster, deployment))
    }

    /// The clusters whose deployments the cache shows as they were.
    pub(super) fn clusters(&self) -> impl Iterator<Item = usize> {
        self.writes.iter().map(|(_, cluster, _)| *cluster)
    }

    /// A cluster's deployment is gone.
    pub(super) fn forget(&mut self, gone: usize) {
        self.writes.retain(|(_, cluster, _)| *cluster != gone);
    }
}
