//! Random properties of each cluster, drawn before the run.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::faults::strata::{FaultDraws, ShareFault};
use crate::world::spec::WorldSpec;
use fleetsim_units::SimTime;

/// Random properties of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClusterDraws {
    /// Offline when the rollout starts, and when it returns. `Some(None)`: never.
    pub offline: Option<Option<SimTime>>,
    /// Whether the new revision is defective here.
    pub defective: bool,
    /// Whether the new revision's images are missing here.
    pub not_found: bool,
    /// The factor by which it is slower than others.
    pub slow: f64,
    /// The factor of its starts of containers and programs.
    pub start: f64,
    /// The factor of its applies.
    pub apply: f64,
}

impl ClusterDraws {
    /// Those of this cluster, whose agent has applies that vary by `apply_spread`.
    pub(crate) fn draw(
        spec: &WorldSpec,
        apply_spread: f64,
        streams: &Streams,
        draws: &FaultDraws,
        cluster: EntityKey,
    ) -> Self {
        let faults = &spec.faults;
        let is_hit = |fault| draws.hits(fault, faults, streams, cluster);
        let offline = is_hit(ShareFault::Offline).then(|| {
            let back = faults.offline.comes_back.as_ref()?;
            Some(SimTime::ZERO + back.sample(&mut streams.stream(cluster, "offline return")))
        });
        let slow = faults.slow.as_ref().filter(|_| is_hit(ShareFault::Slow));
        let slow = slow.map_or(1.0, |slow| slow.factor(streams, cluster));
        let factor = |sigma: f64, purpose| match sigma > 0.0 {
            true => dist::lognormal(&mut streams.stream(cluster, purpose), 1.0, sigma),
            false => 1.0,
        };
        Self {
            offline,
            defective: is_hit(ShareFault::Defect),
            not_found: is_hit(ShareFault::NotFound),
            slow,
            start: slow * factor(spec.node.start_spread, "start spread"),
            apply: factor(apply_spread, "apply spread"),
        }
    }
}
