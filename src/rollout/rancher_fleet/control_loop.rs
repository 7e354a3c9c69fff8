//! Settings of Fleet's controller and agent.
//!
//! Sources are files of rancher/fleet at 3b2c622ce176b11644abc7fb768f87c3ffb5a3ab. The cost of a pass and the delay
//! of the cache depend on the management cluster; those values are guesses.

use super::super::ControlLoop;
use crate::units::SimDuration;

/// The control loop of the bundle controller. It has no timer: a pass starts when a deployment is created, deleted or
/// reports a changed status, or when the bundle or a cluster changes; not when the spec of a deployment changes.
pub const CONTROL_LOOP: ControlLoop = ControlLoop {
    // Guess: reading the bundle and its content, and writing its status.
    pass_base: SimDuration::from_millis(20),
    // Guess: matching a cluster and hashing its options.
    pass_per_target: SimDuration::from_nanos(50_000),
    // Guess: consecutive requests to the API server.
    pass_per_write: SimDuration::from_millis(5),
    // Guess: a watch event on an unloaded API server.
    watch_delay: SimDuration::from_millis(100),
};
