//! Writes of deployments that the controller's cache does not show yet.
//!
//! The bundle controller bases its decisions on its cache, and reads the cache again before it writes a deployment
//! (`createBundleDeployment` in `internal/cmd/controller/reconciler/bundle_controller.go` of rancher/fleet). A pass
//! that begins within a watch delay of a write therefore sees the old deployment. Its own write is rejected while the
//! cache is behind, and undoes the earlier write if the cache has caught up in the meantime. Left out: conflicts with
//! statuses that agents write.

use std::collections::VecDeque;

use crate::rollout::rancher_fleet::BundleDeployment;
use crate::units::{SimDuration, SimTime};

/// A write that the cache does not show yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnseenWrite {
    /// The time at which the cache shows the write.
    seen_at: SimTime,
    pub(super) cluster: usize,
    /// The written deployment.
    pub(super) deployment: BundleDeployment,
}

/// The writes that the cache does not show yet, in order of time.
#[derive(Debug)]
pub(super) struct UnseenWrites {
    watch_delay: SimDuration,
    writes: VecDeque<UnseenWrite>,
}

impl UnseenWrites {
    pub(super) const fn new(watch_delay: SimDuration) -> Self {
        Self {
            watch_delay,
            writes: VecDeque::new(),
        }
    }

    /// Records a write of a deployment.
    pub(super) fn write(&mut self, at: SimTime, cluster: usize, deployment: BundleDeployment) {
        self.writes.push_back(UnseenWrite {
            seen_at: at + self.watch_delay,
            cluster,
            deployment,
        });
    }

    /// Returns the next write that the cache shows by this time.
    pub(super) fn next_seen(&mut self, now: SimTime) -> Option<UnseenWrite> {
        self.writes.pop_front_if(|write| write.seen_at <= now)
    }

    /// Returns the clusters whose cached deployments are out of date.
    pub(super) fn clusters(&self) -> impl Iterator<Item = usize> {
        self.writes.iter().map(|write| write.cluster)
    }

    /// Drops the writes for a cluster whose deployment no longer exists.
    pub(super) fn forget(&mut self, gone: usize) {
        self.writes.retain(|write| write.cluster != gone);
    }
}
