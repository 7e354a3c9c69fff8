//! A token bucket whose callers wait for a token.
//!
//! Follows `Limiter.Reserve` of Go's `golang.org/x/time/rate`, which limits clients and work queues of Kubernetes. If
//! the bucket is empty, a caller is assigned a future token, and learns when it becomes available. Tokens are assigned
//! in the order of the calls.

use fleetsim_units::{SimDuration, SimTime};

/// A token bucket that starts full and also assigns future tokens.
#[derive(Clone, Debug)]
pub struct Reservations {
    per_second: f64,
    burst: f64,
    /// Number of available tokens; if negative, the number of future tokens that are already assigned.
    tokens: f64,
    filled: SimTime,
    /// Number of assigned tokens that were not returned.
    handed_out: u64,
}

impl Reservations {
    /// Creates a full bucket. It holds at least one token.
    ///
    /// # Panics
    /// If `per_second` is not positive.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Self {
        assert!(per_second > 0.0, "not a rate: {per_second}");
        let burst = f64::from(burst.max(1));
        Self {
            per_second,
            burst,
            tokens: burst,
            filled: SimTime::ZERO,
            handed_out: 0,
        }
    }

    /// Takes a token. Returns the time at which the caller may continue. `now` may be earlier than in a previous call.
    pub fn reserve(&mut self, now: SimTime) -> SimTime {
        let since = now.saturating_since(self.filled).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + since).min(self.burst) - 1.0;
        self.filled = self.filled.max(now);
        self.handed_out += 1;
        // The burst has a token for each caller so far, whatever the order of their times.
        if self.handed_out as f64 <= self.burst {
            return now;
        }
        // Tokens that arrive between `now` and the latest call are not available yet.
        let tokens = self.tokens - (self.filled - now).as_secs_f64() * self.per_second;
        // Ignore a shortage that is only due to rounding.
        if tokens >= -1e-9 {
            now
        } else {
            now + SimDuration::from_secs_f64(-tokens / self.per_second)
        }
    }

    /// Returns an assigned token whose caller no longer waits.
    pub fn give_back(&mut self) {
        self.tokens += 1.0;
        self.handed_out -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_proceeds_immediately_and_the_others_wait_for_their_tokens() {
        let mut bucket = Reservations::new(10.0, 3);
        let at = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        let turns: Vec<SimTime> = (0..5).map(|_| bucket.reserve(SimTime::ZERO)).collect();
        assert_eq!(turns, [at(0), at(0), at(0), at(100), at(200)]);
        // In 0.25 s, 2.5 tokens arrive, and two of them were assigned in advance: the next caller lacks half a token.
        assert_eq!(bucket.reserve(at(250)), at(300));
        assert_eq!(
            bucket.reserve(SimTime::from_secs(100)),
            SimTime::from_secs(100),
            "it is full again"
        );
    }

    #[test]
    fn an_earlier_caller_does_not_wait_while_burst_tokens_are_left() {
        let mut bucket = Reservations::new(1000.0, 2);
        let at = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        assert_eq!(bucket.reserve(at(500)), at(500));
        assert_eq!(bucket.reserve(at(100)), at(100));
    }

    #[test]
    fn a_returned_token_goes_to_the_next_caller() {
        let mut bucket = Reservations::new(10.0, 1);
        let at = |millis: u64| SimTime::from_nanos(millis * 1_000_000);
        let turns: Vec<SimTime> = (0..3).map(|_| bucket.reserve(SimTime::ZERO)).collect();
        assert_eq!(turns, [at(0), at(100), at(200)]);
        bucket.give_back();
        assert_eq!(bucket.reserve(at(50)), at(200));
        bucket.give_back();
        bucket.give_back();
        assert_eq!(bucket.reserve(at(60)), at(100));
    }
}
