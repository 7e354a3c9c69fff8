//! Random properties of each cluster, drawn before the run.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::clusters::spec::ClusterSpec;
use crate::world::faults::strata::{FaultDraws, ShareFault};
use crate::world::ids::NEW;
use crate::world::spec::WorldSpec;
use fleetsim_rollout::Revision;
use fleetsim_units::SimTime;

/// Random properties of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClusterDraws {
    /// Whether the cluster is offline when the rollout starts, and when it reconnects. `Some(None)`: never.
    pub offline: Option<Option<SimTime>>,
    /// Whether the new revision is defective in the cluster.
    pub defective: bool,
    /// Whether the new revision's images are missing for the cluster.
    pub not_found: bool,
    /// The factor by which the cluster is slower than others.
    pub slow: f64,
    /// The factor on the start times of the cluster's containers and programs.
    pub start: f64,
    /// The factor on the durations of the cluster's applies.
    pub apply: f64,
    /// The first entry of `faults.apply` that affects the cluster.
    pub apply_fault: Option<usize>,
}

impl ClusterDraws {
    /// Returns whether pods of this revision are defective in the cluster.
    pub(crate) fn is_defective(&self, revision: Revision) -> bool {
        revision == NEW && self.defective
    }

    /// Returns whether the images of this revision are missing for the cluster.
    pub(crate) fn is_missing(&self, revision: Revision) -> bool {
        revision == NEW && self.not_found
    }

    /// Draws the properties of this cluster, whose applies vary by `apply_spread`.
    pub(crate) fn draw(
        spec: &WorldSpec,
        apply_spread: f64,
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
            defective: draws.hits(ShareFault::Defect, faults, streams, cluster),
            not_found: draws.hits(ShareFault::NotFound, faults, streams, cluster),
            slow,
            start: slow * start,
            apply: factor(apply_spread, "apply spread", streams, cluster),
            apply_fault: (0..faults.apply.len())
                .find(|at| faults.apply[*at].hits(*at, &own.name, streams)),
        }
    }
}

/// Draws a factor of a cluster with median 1; it is 1 without a spread.
fn factor(sigma: f64, purpose: &'static str, streams: &Streams, cluster: EntityKey) -> f64 {
    if sigma > 0.0 {
        dist::lognormal(&mut streams.stream(cluster, purpose), 1.0, sigma)
    } else {
        1.0
    }
}
