//! Random properties of each cluster, drawn before the run.

use crate::engine::{EntityKey, Streams, dist};
use crate::units::SimTime;
use crate::world::faults::spec::SlowSpec;
use crate::world::spec::WorldSpec;

/// Random properties of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClusterDraws {
    /// Offline when the rollout starts, and when it returns. `Some(None)`: never.
    pub(crate) offline: Option<Option<SimTime>>,
    /// Whether the new revision is defective here.
    pub(crate) defective: bool,
    /// Whether the new revision's images are missing here.
    pub(crate) not_found: bool,
    /// The factor by which it is slower than others.
    pub(crate) slow: f64,
}

impl ClusterDraws {
    pub(crate) fn draw(spec: &WorldSpec, streams: &Streams, cluster: EntityKey) -> Self {
        let faults = &spec.faults;
        let offline = dist::bernoulli(&mut streams.stream(cluster, "offline"), faults.offline.share.get()).then(|| {
            let back = faults.offline.comes_back.as_ref()?;
            Some(SimTime::ZERO + back.sample(&mut streams.stream(cluster, "offline return")))
        });
        let defective = dist::bernoulli(&mut streams.stream(cluster, "defect"), faults.defect.share.get());
        let not_found = dist::bernoulli(&mut streams.stream(cluster, "not found"), faults.not_found.get());
        let slow = SlowSpec::draw(faults.slow.as_ref(), streams, cluster);
        Self { offline, defective, not_found, slow }
    }
}
