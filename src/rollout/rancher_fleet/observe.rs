//! The first half of a pass: observes every cluster once and stores one byte each, so the rules run over flat arrays.
//!
//! Follows the reset of the bundle's status in `internal/cmd/controller/target/status.go` and
//! `reconciler/bundle_status.go`.

use super::super::{Revision, TargetId};
use super::status::{BundleState, BundleSummary};
use super::view::{BundleDeployment, BundleView, ClusterView};

/// Number of not-ready targets that a bundle's status lists.
pub(super) const LISTED: usize = 10;

/// The state of a cluster as far as the rules need it. Deployments count only where the cluster is a registered
/// target.
pub(super) mod flag {
    /// It has a deployment, stored or made in this pass.
    pub(crate) const EXISTS: u8 = 1;
    /// The deployment is unavailable.
    pub(crate) const UNAVAILABLE: u8 = 1 << 1;
    /// The deployment's staged id is the wanted one.
    pub(crate) const STAGED: u8 = 1 << 2;
    /// The deployment's deployed id is the wanted one.
    pub(crate) const PROMOTED: u8 = 1 << 3;
    /// The wanted id is applied, and the deployment is ready.
    pub(crate) const APPLIED_READY: u8 = 1 << 4;
    /// The cluster or the bundle is paused.
    pub(crate) const PAUSED: u8 = 1 << 5;
    /// The cluster has a namespace.
    pub(crate) const REGISTERED: u8 = 1 << 6;
    /// The wanted id is deployed, applied and ready: up to date and available.
    pub(crate) const DONE: u8 = PROMOTED | APPLIED_READY;
}

/// The wanted id is staged, deployed and applied, and the deployment is ready.
const SETTLED: u8 = flag::STAGED | flag::DONE;

/// One cluster as a pass sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// [`flag`]s.
    pub(super) flags: u8,
    pub(super) state: BundleState,
    pub(super) is_targeted: bool,
    /// Its deployment is one of a target, and unavailable.
    pub(super) is_unavailable: bool,
    /// The stored `paused` or `offSchedule` of its deployment is out of date.
    pub(super) is_stale: bool,
    /// Its deployment no longer belongs to a target and must be deleted.
    pub(super) is_orphan: bool,
}

impl Seen {
    #[inline]
    pub(super) fn of(cluster: &ClusterView, is_bundle_paused: bool) -> Self {
        let is_paused = cluster.paused || is_bundle_paused;
        let mut flags = if cluster.registered { flag::REGISTERED } else { 0 };
        flags |= if is_paused { flag::PAUSED } else { 0 };
        let seen = Self { flags, is_targeted: cluster.targeted, ..Self::default() };
        match &cluster.deployment {
            Some(deployment) if cluster.targeted && cluster.registered => {
                seen.with_deployment(deployment, cluster, is_paused)
            }
            // A deployment is found by its cluster's namespace, so that of an unregistered target belongs to no
            // cluster.
            Some(stored) => Self { is_orphan: !stored.off_schedule, ..seen },
            None => seen,
        }
    }

    #[inline]
    fn with_deployment(self, deployment: &BundleDeployment, cluster: &ClusterView, is_paused: bool) -> Self {
        let is_unavailable = deployment.is_unavailable();
        let own = flags_of(deployment, cluster.wanted) | if is_unavailable { flag::UNAVAILABLE } else { 0 };
        let flags = self.flags | own;
        let state = if flags & SETTLED == SETTLED && deployment.non_modified {
            BundleState::Ready
        } else {
            BundleState::of(deployment, Some(cluster.wanted))
        };
        let is_stale = deployment.paused != is_paused || deployment.off_schedule != cluster.off_schedule;
        Self { flags, state, is_unavailable, is_stale, ..self }
    }
}

impl Default for Seen {
    /// A cluster that is no target.
    fn default() -> Self {
        Self {
            flags: 0,
            state: BundleState::Pending,
            is_targeted: false,
            is_unavailable: false,
            is_stale: false,
            is_orphan: false,
        }
    }
}

/// The result of observing a view.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    /// [`flag`]s, one byte per cluster, by its index; the rules update them during the pass.
    pub(super) flags: Vec<u8>,
    /// Unavailable deployments over all targets.
    pub(super) unavailable: i64,
    pub(super) summary: BundleSummary,
    pub(super) not_ready: Vec<(TargetId, BundleState)>,
    /// Clusters whose deployment no longer belongs to a target and must be deleted.
    pub(super) orphans: Vec<TargetId>,
    /// The stored `paused` or `offSchedule` of some deployment is out of date.
    pub(super) stores_flags: bool,
    /// The targets differ from `is_target`.
    pub(super) targets_changed: bool,
}

impl Observation {
    /// Observes all clusters in the order `by_name`. `is_target`: the clusters that the partitions cover.
    pub(super) fn observe(&mut self, view: &BundleView, by_name: &[u32], is_target: &[bool]) {
        let mut flags = std::mem::take(&mut self.flags);
        flags.clear();
        flags.resize(view.clusters.len(), 0);
        *self = Self { flags, ..Self::default() };
        for &index in by_name {
            let seen = Seen::of(&view.clusters[index as usize], view.paused);
            self.targets_changed |= seen.is_targeted != is_target[index as usize];
            self.unavailable += i64::from(seen.is_unavailable);
            self.stores_flags |= seen.is_stale;
            if seen.is_orphan {
                self.orphans.push(TargetId(index));
            }
            if !seen.is_targeted {
                continue;
            }
            self.flags[index as usize] = seen.flags;
            self.summary.add(seen.state);
            if seen.state != BundleState::Ready && self.not_ready.len() < LISTED {
                self.not_ready.push((TargetId(index), seen.state));
            }
        }
    }

    /// Number of `members` that have all the flags of `flags`.
    pub(super) fn count(&self, members: &[u32], flags: u8) -> i64 {
        members.iter().filter(|member| self.has(**member, flags)).count() as i64
    }

    #[inline]
    pub(super) fn has(&self, member: u32, flags: u8) -> bool {
        self.flags[member as usize] & flags == flags
    }

    #[inline]
    pub(super) fn set(&mut self, member: u32, flags: u8) {
        self.flags[member as usize] |= flags;
    }
}

#[inline]
fn flags_of(deployment: &BundleDeployment, wanted: Revision) -> u8 {
    let wanted = Some(wanted);
    let bit = |holds: bool, flag: u8| if holds { flag } else { 0 };
    flag::EXISTS
        | bit(deployment.staged == wanted, flag::STAGED)
        | bit(deployment.deployed == wanted, flag::PROMOTED)
        | bit(deployment.applied == wanted && deployment.ready, flag::APPLIED_READY)
}
