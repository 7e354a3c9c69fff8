//! Settings for bursts of a registry, and for the load of other clients.

use serde::{Deserialize, Serialize};

use crate::world::calibration;
use fleetsim_units::serial::positive;
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, SimDuration};

/// A burst allowance on bytes: `egress` until a bucket is empty, then `baseline`. Unused baseline refills the bucket.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BurstSpec {
    /// Bytes above the baseline that a full bucket allows. The bucket is full at the start.
    #[serde(deserialize_with = "positive")]
    pub bytes: Bytes,
    /// Sending rate while the bucket is empty. Must be below `egress`.
    #[serde(deserialize_with = "positive")]
    pub baseline: BytesPerSec,
}

/// The load that a registry sends to clients outside of the fleet.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OtherLoad {
    /// The same rate at all times, reduced while the egress is reduced. Must be below `egress`.
    Constant(BytesPerSec),
    /// Rates over the day, repeated daily.
    Daily(DailyLoad),
    /// Rates over time from a file, such as a range query of Prometheus.
    Series(LoadSeries),
    /// Image pulls of another fleet, which share the egress with the fleet's own.
    Pulls(OtherPulls),
}

/// Rates over the day.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DailyLoad {
    /// Rates for equal parts of the day from midnight, such as 24 hourly rates. The rollout starts at `startsAt`, or
    /// at midnight.
    pub rates: Vec<BytesPerSec>,
    /// Time of day at the start of the run.
    #[serde(skip)]
    pub starts: SimDuration,
}

/// Rates over time from a CSV file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LoadSeries {
    /// A CSV file whose first column has times in seconds, such as Unix time. The first time is the start of the run,
    /// and the last rate remains.
    pub file: String,
    /// The column with rates: numbers in bytes per second, or values with a unit. Default: the second column.
    #[serde(default)]
    pub column: Option<String>,
    /// The rates in the file, with the times at which they start.
    #[serde(skip)]
    pub steps: Vec<(SimDuration, BytesPerSec)>,
}

/// Image pulls of another fleet, which begin at random times with this mean rate (a Poisson process).
///
/// Sizes are those of 145 popular images. An image is downloaded over three connections: the largest layer over one,
/// the others over two.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OtherPulls {
    /// Mean number of pulls that begin per time.
    #[serde(deserialize_with = "positive")]
    pub rate: PerSecond,
    /// Rate at which a puller can receive.
    #[serde(default = "downlink", deserialize_with = "positive")]
    pub downlink: BytesPerSec,
}

const fn downlink() -> BytesPerSec {
    calibration::DOWNLINK
}

impl OtherLoad {
    /// Returns the steady rates with their start times, and the period after which they repeat. Empty for pulls.
    #[must_use]
    pub fn steps(&self) -> (Vec<(SimDuration, BytesPerSec)>, Option<SimDuration>) {
        let day = SimDuration::from_hours(24);
        match self {
            Self::Constant(rate) => (vec![(SimDuration::ZERO, *rate)], None),
            Self::Daily(DailyLoad { rates, starts }) => {
                let part = day.mul_f64(1.0 / rates.len().max(1) as f64);
                // The part of the day in which the run starts, and the time that has passed in it.
                let first = (starts.as_secs_f64() / part.as_secs_f64()) as usize;
                let passed = starts.saturating_sub(part * first as u64);
                let step = |at: usize| {
                    let rate = rates[(first + at) % rates.len()];
                    ((part * at as u64).saturating_sub(passed), rate)
                };
                let mut steps: Vec<_> = (0..rates.len()).map(step).collect();
                if !passed.is_zero() {
                    steps.push(step(rates.len()));
                }
                (steps, Some(day))
            }
            Self::Series(series) => (series.steps.clone(), None),
            Self::Pulls(_) => (Vec::new(), None),
        }
    }

    /// Returns the greatest steady rate.
    #[must_use]
    pub fn peak(&self) -> BytesPerSec {
        let (steps, _) = self.steps();
        BytesPerSec::new(steps.iter().map(|(_, rate)| rate.get()).fold(0.0, f64::max))
    }
}
