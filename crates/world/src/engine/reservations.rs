//! A token bucket whose callers wait for their turn.
//!
//! Follows `Limiter.Reserve` of Go's `golang.org/x/time/rate`, which limits clients and work queues of Kubernetes: a
//! caller that finds the bucket empty is given the time at which its token will be there, and tokens are handed out in
//! the order of the calls.

use fleetsim_units::{SimDuration, SimTime};

/// A token bucket that starts full and hands out tokens of the future.
#[derive(Clone, Debug)]
pub struct Reservations {
    per_second: f64,
    burst: f64,
    /// Negative: tokens that are handed out and still to come.
    tokens: f64,
    filled: SimTime,
    /// All tokens that were handed out, without those that came back.
    handed_out: u64,
}

impl Reservations {
    /// A full bucket. It holds at least one token.
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

    /// Takes a token. Returns the time at which the caller may go on. A caller may ask for a time ahead of that of a
    /// later call.
    pub fn reserve(&mut self, now: SimTime) -> SimTime {
        let since = now.saturating_since(self.filled).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + since).min(self.burst) - 1.0;
        self.filled = self.filled.max(now);
        self.handed_out += 1;
        // A full bucket has a token for each caller so far, in whatever order their times are.
        if self.handed_out as f64 <= self.burst {
            return now;
        }
        // Tokens that come between now and the latest call are not there yet.
        let tokens = self.tokens - (self.filled - now).as_secs_f64() * self.per_second;
        // A token that is complete except for rounding counts.
        if tokens >= -1e-9 {
            now
        } else {
            now + SimDuration::from_secs_f64(-tokens / self.per_second)
        }
    }

    /// Returns a token that is handed out and that has no waiter any more.
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
        // 0.25 s bring 2.5 tokens for the two that were handed out in advance: the next lacks half a token.
        assert_eq!(bucket.reserve(at(250)), at(300));
        assert_eq!(
            bucket.reserve(SimTime::from_secs(100)),
            SimTime::from_secs(100),
            "it is full again"
        );
    }

    #[test]
    fn a_caller_of_an_earlier_time_does_not_wait_while_the_first_tokens_last() {
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
