//! Random properties of each cluster, drawn before the run.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::clusters::spec::ClusterSpec;
use crate::world::faults::strata::{FaultDraws, ShareFault};
use crate::world::spec::WorldSpec;
use fleetsim_units::SimTime;

/// Random properties of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClusterDraws {
    /// Whether the cluster is offline when the rollout starts, and when it reconnects. `Some(None)`: never.
    pub offline: Option<Option<SimTime>>,
    /// The factor by which the cluster is slower than others.
    pub slow: f64,
    /// The factor on the start times of the cluster's containers and programs.
    pub start: f64,
}

impl ClusterDraws {
    /// Draws the properties of this cluster.
    pub(crate) fn draw(
        spec: &WorldSpec,
        streams: &Streams,
        draws: &FaultDraws,
        own: &ClusterSpec,
    ) -> Self {
        let faults = &spec.faults;
        let cluster = EntityKey::of(&own.name);
        let is_offline = own.offline || draws.hits(ShareFault::Offline, faults, streams, cluster);
        let offline = is_offline.then(|| {
            let back = faults.offline.comes_back.as_ref()?;
            Some(SimTime::ZERO + back.sample(&mut streams.stream(cluster, "offline return")))
        });
        let slow = match &faults.slow {
            Some(slow) if draws.hits(ShareFault::Slow, faults, streams, cluster) => {
                slow.factor(streams, cluster)
            }
            _ => 1.0,
        };
        let start = factor(spec.node.start_spread, "start spread", streams, cluster);
        Self {
            offline,
            slow,
            start: slow * start,
        }
    }
}

/// Draws a factor of a cluster with median 1; it is 1 without a spread.
pub(super) fn factor(
    sigma: f64,
    purpose: &'static str,
    streams: &Streams,
    cluster: EntityKey,
) -> f64 {
    if sigma > 0.0 {
        dist::lognormal(&mut streams.stream(cluster, purpose), 1.0, sigma)
    } else {
        1.0
    }
}
