//! The books of a run: totals, closed at its end, and the laws that they must keep.
//!
//! Bytes are neither made nor destroyed, and pulls are metered as long as they take (Little's law). Both hold exactly,
//! in whole bytes and nanoseconds, whatever went wrong in the run.

use crate::units::{Bytes, SimTime};
use crate::world::World;
use crate::world::nodes::node::NodeState;
use crate::world::nodes::pull::Pull;
use crate::world::nodes::pull_error::{PullError, PullFacts};

/// Totals over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Image pulls begun.
    pub pulls: u64,
    /// Attempts that failed, by [`PullError`] in its order.
    pub failed_pulls: [u64; PullError::COUNT],
    /// Times a pod was sent into image back-off.
    pub backoffs: u64,
    /// Containers that crashed.
    pub crashes: u64,
    /// Bytes of blobs that became whole on a node.
    pub received: Bytes,
    /// Bytes that arrived and were thrown away, or belong to unfinished blobs at the end.
    pub lost: Bytes,
    /// Bytes that left the registry.
    pub sent: Bytes,
    /// Those of them that went to caches and to the seeds of swarms.
    pub upstream: Bytes,
    /// Bytes that caches and mirrors sent to nodes.
    pub from_caches: Bytes,
    /// Bytes that nodes, and seeds of swarms, sent to nodes.
    pub from_peers: Bytes,
    /// Requests to the registry's API.
    pub requests: u64,
    /// Requests to any host of the registry that were answered with 429.
    pub responses_429: u64,
    /// Requests to any host of the registry that were answered with 503.
    pub responses_503: u64,
    /// Requests that no host answered within the dial time-out.
    pub timeouts: u64,
}

impl World<'_> {
    /// Ends the run at `now`: what is in flight is counted as far as it came.
    pub fn finish(&mut self, now: SimTime) -> Totals {
        self.meter.advance(now);
        self.cancel_all_transfers(now);
        self.totals.lost += self.pulls.iter().map(Pull::settling).sum();
        self.totals.lost += self.nodes.iter().map(NodeState::unfinished).sum();
        self.totals.sent = self.registries.iter().map(|registry| registry.sent).sum();
        self.totals.requests = self.registries.iter().map(|registry| registry.requests).sum();
        self.totals.responses_429 = self.registries.iter().map(|registry| registry.responses_429).sum();
        self.totals.responses_503 = self.registries.iter().map(|registry| registry.responses_503).sum();
        self.totals
    }

    /// Checks that what registry, caches and peers sent to nodes is what nodes received plus what was lost.
    ///
    /// # Panics
    /// When bytes were made or destroyed. Call it after [`World::finish`].
    pub fn assert_bytes_are_conserved(&self) {
        let Totals { sent, upstream, from_caches, from_peers, received, lost, .. } = self.totals;
        let to_nodes = sent - upstream + from_caches + from_peers;
        assert_eq!(to_nodes, received + lost, "sent to nodes, by whomever = received + lost");
    }

    /// Checks Little's law on the image pulls: those under way, summed over time by the meters, are the time that each of
    /// them took.
    ///
    /// # Panics
    /// When a pull was metered but not made, or the other way round. Call it after [`World::finish`].
    pub fn assert_littles_law(&self) {
        let now = self.meter.now();
        let taken = |pull: PullFacts| u128::from((pull.ended.unwrap_or(now) - pull.began).as_nanos());
        let sum: u128 = self.pulls().map(taken).sum();
        assert_eq!(self.meter.pulls.area_nanos(), sum, "pulls under way over time = time that pulls took");
    }
}
