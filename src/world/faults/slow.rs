//! Clusters that are slower than the others by a factor: their downlink, their disks and the starts of their containers.
//!
//! The factor is drawn once for each of them. No published distribution of stragglers among edge clusters was found, so
//! share and factor are an experiment's own.
//!
//! Left out: slowness that comes and goes.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::faults::spec::SlowSpec;

/// The largest factor that is drawn: beyond it a cluster is as good as offline.
const MOST: f64 = 1e6;

impl SlowSpec {
    /// How many times slower this cluster is than the others; 1 for most.
    pub(crate) fn draw(spec: Option<&Self>, streams: &Streams, cluster: EntityKey) -> f64 {
        let Some(spec) = spec else { return 1.0 };
        if !dist::bernoulli(&mut streams.stream(cluster, "slow"), spec.share.get()) {
            return 1.0;
        }
        spec.factor.draw(streams, cluster, "slow factor", 0).get().clamp(1.0 / MOST, MOST)
    }
}
