//! Clusters that are slower than others by a factor: their downlinks, disks and container starts.
//!
//! The factor is drawn once for each slow cluster. No published distribution of stragglers among edge clusters was
//! found, so the experiment sets share and factor.
//!
//! Left out: slowness that varies with time.

use crate::engine::{EntityKey, Streams};
use crate::world::faults::spec::SlowSpec;

/// The largest factor: beyond it, a cluster is practically offline.
const MOST: f64 = 1e6;

impl SlowSpec {
    /// Draws the factor of a slow cluster.
    pub fn factor(&self, streams: &Streams, cluster: EntityKey) -> f64 {
        self.factor
            .draw(streams, cluster, "slow factor", 0)
            .get()
            .clamp(1.0 / MOST, MOST)
    }
}
