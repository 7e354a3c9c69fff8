//! The settings of a product's control loop.
//!
//! Each product's configuration names its values. The duration of a pass is the duration of its API requests:
//! controllers read from caches and compute in microseconds, but wait for the API server for milliseconds. Left out:
//! the CPU time of a pass, and an API server that slows down under load.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::SimDuration;
#[cfg(test)]
use crate::units::serial::without_defaults;
use crate::world::DurationModel;

/// The controller's request latency, client rate limit, and delay of observed changes.
///
/// A change or a timer of the scheduler starts a pass. Changes that arrive during a pass are merged into the next one;
/// passes of a scheduler never overlap. A pass lasts as long as its requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(transform = without_defaults))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ControlLoop {
    /// Duration of one request to the API server, from sending to the answer.
    pub request: DurationModel,
    /// Maximum requests per second of the client, for each kind of object; 0 means no limit.
    pub client_qps: u32,
    /// Requests that the client may send before its limit applies.
    pub client_burst: u32,
    /// Delay from a change of an object to the controller's cache.
    pub watch_delay: SimDuration,
}

/// Duration of one request to an API server. Source: writes of 10 clients to etcd 3.6 on three nodes with NVMe disks,
/// median 6.4 to 7.6 ms, p90 10.7 to 12.6 ms (rancher/dartboard@7a1d06b6, `docs/20250513`); this lognormal has a
/// median of 7 ms and a p90 of 11.7 ms. Spread: p95 14 to 23 ms with etcd 3.5, 188 to 275 ms with PostgreSQL through
/// kine.
pub const API_REQUEST: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(7),
    sigma: 0.4,
};

/// Delay from the answer to a write until a cache shows it. Source: `benches/watch-delay` measures medians of 0.2 to
/// 0.6 ms and p99 of 0.9 to 1.6 ms on one machine; a network adds to this.
pub const WATCH_DELAY: SimDuration = SimDuration::from_millis(1);

impl ControlLoop {
    /// The control loop of a Kubernetes controller whose client has no rate limit.
    pub const fn kubernetes() -> Self {
        Self::limited(0, 0)
    }

    /// The control loop of a Kubernetes controller whose client sends at most `qps` requests per second.
    pub const fn limited(qps: u32, burst: u32) -> Self {
        Self {
            request: API_REQUEST,
            client_qps: qps,
            client_burst: burst,
            watch_delay: WATCH_DELAY,
        }
    }
}

impl Default for ControlLoop {
    fn default() -> Self {
        Self::kubernetes()
    }
}
