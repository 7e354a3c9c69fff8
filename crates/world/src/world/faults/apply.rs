//! Applies that fail: which clusters are affected, and how long the applies take.
//!
//! Every entry of `faults.apply` draws its clusters from its own stream. For each cluster, only the first entry that
//! affects it counts.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::calibration;
use crate::world::clusters::apply_rules::ApplyFailure;
use crate::world::faults::spec::ApplyFaultSpec;
use fleetsim_units::SimDuration;

impl ApplyFaultSpec {
    /// Returns whether this entry affects the deployment with this key, on the cluster of this name. `at`: the index of
    /// the entry.
    pub(crate) fn hits(&self, at: usize, cluster: &str, key: EntityKey, streams: &Streams) -> bool {
        if !self.clusters.is_empty() {
            return self.clusters.iter().any(|name| name == cluster);
        }
        let mut rng = streams.stream_nth(key, "apply fault", at as u64);
        dist::bernoulli(&mut rng, self.share.get())
    }

    /// Returns the duration of a cluster's `nth` failing apply, if a successful one would take `usual`.
    pub(crate) fn takes(
        &self,
        usual: SimDuration,
        streams: &Streams,
        cluster: EntityKey,
        nth: u64,
    ) -> SimDuration {
        match (&self.after, self.kind) {
            (Some(after), _) => after.draw(streams, cluster, "failing apply", nth),
            (None, ApplyFailure::Timeout) => usual + calibration::WEBHOOK_TIMEOUT,
            (None, _) => usual,
        }
    }
}
