//! A token bucket that limits the rate of requests, as in the kubelet and in registries.

use crate::world::registry::spec::RequestLimit;
use fleetsim_units::SimTime;

/// A token bucket that starts full, refills steadily, and refuses immediately if it is empty.
///
/// This is `TryAccept` of Kubernetes' flow control and the request limit of a registry; neither makes a caller wait.
#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    limit: RequestLimit,
    /// The current share of the limit's rate.
    share: f64,
    tokens: f64,
    filled: SimTime,
}

impl TokenBucket {
    pub(super) fn new(limit: RequestLimit) -> Self {
        Self {
            limit,
            share: 1.0,
            tokens: f64::from(limit.burst),
            filled: SimTime::ZERO,
        }
    }

    fn refill(&mut self, now: SimTime) {
        let refill = (now - self.filled).as_secs_f64() * (self.limit.rate.get() * self.share);
        self.tokens = (self.tokens + refill).min(f64::from(self.limit.burst));
        self.filled = now;
    }

    /// Sets the share of the limit's rate at which the bucket refills now.
    pub(crate) fn set_rate(&mut self, now: SimTime, share: f64) {
        self.refill(now);
        self.share = share;
    }

    /// Takes one token. Returns false if no token is available.
    pub(crate) fn try_take(&mut self, now: SimTime) -> bool {
        self.refill(now);
        // Ignore a shortage that is only due to rounding.
        let whole = self.tokens >= 1.0 - 1e-9;
        if whole {
            self.tokens -= 1.0;
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim_units::PerSecond;

    #[test]
    fn a_bucket_admits_its_burst_and_then_its_rate() {
        let mut bucket = TokenBucket::new(RequestLimit::new(PerSecond::new(5.0), 10));
        let at_once = (0..20).filter(|_| bucket.try_take(SimTime::ZERO)).count();
        assert_eq!(at_once, 10, "the burst");
        assert!(
            !bucket.try_take(SimTime::from_nanos(199_000_000)),
            "the next token comes after 1/5 s"
        );
        assert!(bucket.try_take(SimTime::from_nanos(200_000_000)));
        let later = (0..20)
            .filter(|_| bucket.try_take(SimTime::from_secs(100)))
            .count();
        assert_eq!(later, 10, "it holds no more than its burst");
    }
}
