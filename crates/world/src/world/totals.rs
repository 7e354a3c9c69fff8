//! Totals of a run, and the invariants that they satisfy.
//!
//! Bytes are conserved, and the time integral of the meters' pulls equals the sum of the pulls' durations (Little's
//! law). Both hold exactly, in whole bytes and nanoseconds, whatever fails in the run.

use crate::world::World;
use crate::world::nodes::node::NodeState;
use crate::world::nodes::pull::Pull;
use crate::world::nodes::pull_error::PullError;
use crate::world::registry::client::ClientRefusals;
use crate::world::transfers::limit_loads::LimitLoad;
use fleetsim_units::{Bytes, SimDuration, SimTime};

/// Totals over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of image pulls started.
    pub pulls: u64,
    /// Number of failed attempts, in the order of [`PullError`].
    pub failed_pulls: [u64; PullError::COUNT],
    /// Number of times that a pod entered image back-off.
    pub backoffs: u64,
    /// Number of crashes of containers.
    pub crashes: u64,
    /// Bytes of blobs that became complete on a node.
    pub received: Bytes,
    /// Bytes that arrived but were discarded, or belong to incomplete blobs at the end.
    pub lost: Bytes,
    /// Bytes that left the registry.
    pub sent: Bytes,
    /// The part of `sent` that went to caches and to the seeds of swarms.
    pub upstream: Bytes,
    /// Bytes that caches and mirrors sent to nodes.
    pub from_caches: Bytes,
    /// Bytes that nodes, and seeds of swarms, sent to nodes.
    pub from_peers: Bytes,
    /// Number of requests to the registry's API.
    pub requests: u64,
    /// Number of 429 responses from all hosts of the registry.
    pub responses_429: u64,
    /// Number of 503 responses from all hosts of the registry.
    pub responses_503: u64,
    /// Number of requests without a response within the dial timeout.
    pub timeouts: u64,
    /// Number of nodes that joined a cluster.
    pub joined_nodes: u64,
    /// Number of times that a kubelet removed an image of the release from its node.
    pub removed_images: u64,
    /// Number of times that a disk became so full that its node took no more pods.
    pub disk_pressures: u64,
}

/// Totals of one registry over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegistryTotals {
    /// Bytes that left the registry.
    pub sent: Bytes,
    /// Highest mean rate of the registry's egress over one second.
    pub egress_peak: f64,
    /// Time during which the registry's egress was at its capacity.
    pub busy: SimDuration,
    /// Number of requests to the registry's API.
    pub requests: u64,
    /// Number of 429 responses.
    pub responses_429: u64,
    /// Number of 503 responses.
    pub responses_503: u64,
    /// The blob whose rate was at its limit longest. `None`: the registry does not limit blobs.
    pub busiest_blob: Option<LimitLoad>,
    /// Requests that the limits of single clients refused. `None`: no such limit.
    pub refusals: Option<ClientRefusals>,
}

impl World<'_> {
    /// Returns the totals of each registry, in the experiment's order. Call it after [`World::finish`].
    pub fn registry_totals(&self) -> impl Iterator<Item = RegistryTotals> {
        self.registries
            .iter()
            .zip(self.meter.registries())
            .enumerate()
            .map(|(number, (registry, meter))| RegistryTotals {
                sent: registry.sent,
                egress_peak: meter.peak(),
                busy: meter.busy(),
                requests: registry.requests,
                responses_429: registry.responses_429,
                responses_503: registry.responses_503,
                busiest_blob: self.limit_loads.busiest_blob(number),
                refusals: registry.refusals(),
            })
    }

    /// Ends the run at `now`; transfers in progress count with the bytes that have arrived.
    pub fn finish(&mut self, now: SimTime) -> Totals {
        self.meter.advance(now);
        self.cancel_all_transfers(now);
        self.close_links(now);
        self.totals.lost += self.pulls.iter().map(Pull::settling).sum();
        self.totals.lost += self.nodes.iter().map(NodeState::unfinished).sum();
        self.totals.sent = self.registries.iter().map(|registry| registry.sent).sum();
        self.totals.requests = self
            .registries
            .iter()
            .map(|registry| registry.requests)
            .sum();
        self.totals.responses_429 = self
            .registries
            .iter()
            .map(|registry| registry.responses_429)
            .sum();
        self.totals.responses_503 = self
            .registries
            .iter()
            .map(|registry| registry.responses_503)
            .sum();
        self.total_orders();
        self.totals
    }

    /// Checks that the bytes sent to nodes equal the bytes received plus the bytes lost.
    ///
    /// # Panics
    /// If bytes are not conserved. Must be called after [`World::finish`], and not with measured bytes, which need not
    /// be conserved.
    pub fn assert_bytes_are_conserved(&self) {
        if self.orders.is_some() {
            return;
        }
        let Totals {
            sent,
            upstream,
            from_caches,
            from_peers,
            received,
            lost,
            ..
        } = self.totals;
        let to_nodes = sent - upstream + from_caches + from_peers;
        assert_eq!(
            to_nodes,
            received + lost,
            "bytes sent to nodes must equal bytes received plus bytes lost"
        );
        self.assert_links_carry_all();
    }

    /// Checks Little's law on image pulls: the integral of pulls in progress equals the sum of their durations.
    ///
    /// # Panics
    /// If the meters and the pulls disagree. Must be called after [`World::finish`].
    pub fn assert_littles_law(&self) {
        let now = self.meter.now();
        let mut sum = 0;
        for pull in self.pulls() {
            let lasted = pull.ended.unwrap_or(now) - pull.began;
            sum += u128::from(lasted.as_nanos());
        }
        assert_eq!(
            self.meter.pulls.area_nanos(),
            sum,
            "the time integral of pulls must equal their durations"
        );
    }
}
