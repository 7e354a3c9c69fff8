//! How a product's control loop runs: data, not code.
//!
//! The loop itself is in `sim/controller.rs`; a product's folder says with which values it runs.

use crate::units::SimDuration;

/// When passes start, how long they take, and how late their effects and their news are.
///
/// A pass is started by a change or by the scheduler's own wake-up time. Changes that arrive while a pass runs are
/// merged into one next pass; a scheduler is never in two passes at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlLoop {
    /// Part of a pass that does not depend on the fleet.
    pub pass_base: SimDuration,
    /// Part of a pass per target it looks at.
    pub pass_per_target: SimDuration,
    /// Part of a pass per object it writes.
    pub pass_per_write: SimDuration,
    /// From a change of an object to the controller's cache.
    pub watch_delay: SimDuration,
}

impl ControlLoop {
    /// How long a pass takes that looks at `targets` and writes `writes` objects.
    #[must_use]
    pub fn pass_duration(&self, targets: usize, writes: usize) -> SimDuration {
        self.pass_base + self.pass_per_target * targets as u64 + self.pass_per_write * writes as u64
    }
}
