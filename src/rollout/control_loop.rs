//! The settings of a product's control loop: data, not code.
//!
//! The loop itself is in `sim/controller_loop.rs`; each product's folder defines its values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::SimDuration;
use crate::units::serial::without_defaults;

/// The start and duration of passes, and the delay of observed changes.
///
/// A change or the scheduler's own wake-up time starts a pass. Changes that arrive during a pass are merged into the
/// next one; passes of a scheduler never overlap.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[schemars(transform = without_defaults)]
pub struct ControlLoop {
    /// Duration of a pass that does not depend on the fleet.
    pub pass_base: SimDuration,
    /// Duration of a pass per observed target.
    pub pass_per_target: SimDuration,
    /// Duration of a pass per written object.
    pub pass_per_write: SimDuration,
    /// Delay from a change of an object to the controller's cache.
    pub watch_delay: SimDuration,
}

impl Default for ControlLoop {
    /// Values of the products that have none of their own. All are guesses: they depend on the management cluster.
    fn default() -> Self {
        Self {
            pass_base: SimDuration::from_millis(20),
            pass_per_target: SimDuration::from_nanos(50_000),
            pass_per_write: SimDuration::from_millis(5),
            watch_delay: SimDuration::from_millis(100),
        }
    }
}

impl ControlLoop {
    /// Duration of a pass that observes `targets` and writes `writes` objects.
    #[must_use]
    pub fn pass_duration(&self, targets: usize, writes: usize) -> SimDuration {
        self.pass_base + self.pass_per_target * targets as u64 + self.pass_per_write * writes as u64
    }
}
