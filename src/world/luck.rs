//! How a world's parameters turn into draws: durations of a model, and the lot of each cluster.

use super::spec::{DurationModel, WorldSpec};
use crate::engine::{EntityKey, Stream, Streams, dist};
use crate::units::{SimDuration, SimTime};

impl DurationModel {
    /// One draw. A constant draws nothing.
    #[must_use]
    pub fn sample(&self, rng: &mut Stream) -> SimDuration {
        match *self {
            Self::Constant(span) => span,
            Self::LogNormal { median, sigma } => {
                SimDuration::from_secs_f64(dist::lognormal(rng, median.as_secs_f64(), sigma))
            }
            Self::Exponential { mean } => SimDuration::from_secs_f64(dist::exponential(rng, mean.as_secs_f64())),
            Self::Uniform { min, max } => {
                SimDuration::from_secs_f64(dist::uniform(rng, min.as_secs_f64(), max.as_secs_f64()))
            }
        }
    }

    /// The draw number `nth` of `entity` for `purpose`.
    pub(super) fn draw(&self, streams: &Streams, entity: EntityKey, purpose: &'static str, nth: u64) -> SimDuration {
        match *self {
            // Opening a stream costs more than all else a constant needs.
            Self::Constant(span) => span,
            _ => self.sample(&mut streams.stream_nth(entity, purpose, nth)),
        }
    }
}

/// What fate has in store for one cluster, drawn before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lot {
    /// Offline when the rollout starts, and until when. `Some(None)`: for ever.
    pub(super) offline: Option<Option<SimTime>>,
    /// Whether the new revision crashes here.
    pub(super) defective: bool,
}

impl Lot {
    pub(super) fn draw(spec: &WorldSpec, streams: &Streams, cluster: EntityKey) -> Self {
        let faults = &spec.faults;
        let offline = dist::bernoulli(&mut streams.stream(cluster, "offline"), faults.offline.get()).then(|| {
            let back = faults.offline_return.as_ref()?;
            Some(SimTime::ZERO + back.sample(&mut streams.stream(cluster, "offline return")))
        });
        let defective = dist::bernoulli(&mut streams.stream(cluster, "defect"), faults.defect.get());
        Self { offline, defective }
    }
}
