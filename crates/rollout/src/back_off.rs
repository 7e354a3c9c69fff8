//! The times at which a controller's work queue processes a key again, and the waits of failed keys.
//!
//! Follows `DefaultTypedControllerRateLimiter` of kubernetes/client-go (`util/workqueue/default_rate_limiters.go`),
//! which controller-runtime uses if a controller sets no rate limiter. Its token bucket for all keys is left out.

use fleetsim_units::SimDuration;

/// How a pass asks its controller's queue to requeue the key.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum QueueRequest {
    /// No requeue; the failure counter is reset.
    #[default]
    None,
    /// Requeue after this time; the failure counter is reset.
    After(SimDuration),
    /// Requeue after the backoff, without an error.
    RateLimited,
    /// Requeue after the backoff, because of an error.
    Error,
}

/// Wait after the first failure. Each further failure doubles it.
const FIRST: SimDuration = SimDuration::from_millis(5);

/// The longest wait.
const LONGEST: SimDuration = SimDuration::from_secs(1_000);

/// Returns the wait after a failure; `failures` is the number of failures before it.
pub fn back_off(failures: u32) -> SimDuration {
    // 5 ms x 2^18 is above 1,000 s.
    (FIRST * (1 << failures.min(18))).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_5_ms_to_1000_s() {
        assert_eq!(
            [0, 1, 2].map(back_off),
            [5, 10, 20].map(SimDuration::from_millis)
        );
        assert_eq!(back_off(17), SimDuration::from_millis(655_360));
        assert_eq!([18, 19, u32::MAX].map(back_off), [LONGEST; 3]);
    }
}
