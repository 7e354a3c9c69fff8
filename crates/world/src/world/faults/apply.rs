//! Applies that fail: which clusters they hit, and how long they take.
//!
//! Every entry of `faults.apply` draws its clusters from a stream of its own. The first entry that hits a cluster
//! counts there.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::calibration;
use crate::world::clusters::apply_rules::ApplyFailure;
use crate::world::faults::spec::ApplyFaultSpec;
use fleetsim_units::SimDuration;

impl ApplyFaultSpec {
    /// Whether it hits the cluster of this name. It is the entry number `at`.
    pub(crate) fn hits(&self, at: usize, cluster: &str, streams: &Streams) -> bool {
        if !self.clusters.is_empty() {
            return self.clusters.iter().any(|name| name == cluster);
        }
        let key = EntityKey::of(cluster);
        let mut rng = streams.stream_nth(key, "apply fault", at as u64);
        dist::bernoulli(&mut rng, self.share.get())
    }

    /// The time of a failing apply, the `nth` of a cluster, where one that succeeds would take `usual`.
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
