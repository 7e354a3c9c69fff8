//! Clusters that are slower than others by a factor: their downlinks, disks and container starts.
//!
//! The factor is drawn once for each of them. No published distribution of stragglers among edge clusters was found,
//! so share and factor are those of the experiment.
//!
//! Left out: slowness that varies with time.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::faults::spec::SlowSpec;

/// The largest factor: beyond it a cluster is practically offline.
const MOST: f64 = 1e6;

impl SlowSpec {
    /// Draws the factor by which a cluster is slower; 1 for most.
    pub(crate) fn draw(spec: Option<&Self>, streams: &Streams, cluster: EntityKey) -> f64 {
        let Some(spec) = spec else { return 1.0 };
        if !dist::bernoulli(&mut streams.stream(cluster, "slow"), spec.share.get()) {
            return 1.0;
        }
        spec.factor.draw(streams, cluster, "slow factor", 0).get().clamp(1.0 / MOST, MOST)
    }
}
