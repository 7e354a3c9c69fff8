//! Two gates in front of work: a token bucket and an exponential back-off.

use super::spec::{Backoff, RequestLimit};
use crate::units::{SimDuration, SimTime};

/// A token bucket: starts full, refills steadily, and says no at once when it is empty.
///
/// This is `TryAccept` of Kubernetes' flow control and the request limit of a registry; neither makes a caller wait.
#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    limit: RequestLimit,
    /// What is left of the limit's rate.
    share: f64,
    tokens: f64,
    filled: SimTime,
}

impl TokenBucket {
    pub(super) fn new(limit: RequestLimit) -> Self {
        Self { limit, share: 1.0, tokens: f64::from(limit.burst), filled: SimTime::ZERO }
    }

    fn refill(&mut self, now: SimTime) {
        let refill = (now - self.filled).as_secs_f64() * (self.limit.rate.get() * self.share);
        self.tokens = (self.tokens + refill).min(f64::from(self.limit.burst));
        self.filled = now;
    }

    /// From `now` on it is refilled at this share of its limit's rate.
    pub(super) fn set_rate(&mut self, now: SimTime, share: f64) {
        self.refill(now);
        self.share = share;
    }

    /// Takes one token, or says no.
    pub(super) fn try_take(&mut self, now: SimTime) -> bool {
        self.refill(now);
        // A token that is whole but for rounding counts as whole.
        let whole = self.tokens >= 1.0 - 1e-9;
        if whole {
            self.tokens -= 1.0;
        }
        whole
    }
}

/// One entry of an exponential back-off without jitter (client-go `flowcontrol.Backoff`, jitter factor 0).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackoffEntry {
    last: Option<(SimDuration, SimTime)>,
}

impl BackoffEntry {
    /// Records a failure at `now` and returns how long the gate stays closed.
    pub(super) fn fail(&mut self, now: SimTime, backoff: Backoff) -> SimDuration {
        let delay = match self.last {
            // An entry that was not renewed for twice the longest wait is forgotten.
            Some((delay, renewed)) if now - renewed <= backoff.max * 2 => (delay * 2).min(backoff.max),
            _ => backoff.initial,
        };
        self.last = Some((delay, now));
        delay
    }

    /// When the gate opens; `None` when it was never closed.
    pub(super) fn opens(&self) -> Option<SimTime> {
        self.last.map(|(delay, since)| since + delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::PerSecond;

    #[test]
    fn a_bucket_lets_its_burst_through_and_then_its_rate() {
        let mut bucket = TokenBucket::new(RequestLimit { rate: PerSecond::new(5.0), burst: 10 });
        let at_once = (0..20).filter(|_| bucket.try_take(SimTime::ZERO)).count();
        assert_eq!(at_once, 10, "the burst");
        assert!(!bucket.try_take(SimTime::from_nanos(199_000_000)), "the next token comes after 1/5 s");
        assert!(bucket.try_take(SimTime::from_nanos(200_000_000)));
        let later = (0..20).filter(|_| bucket.try_take(SimTime::from_secs(100))).count();
        assert_eq!(later, 10, "it holds no more than its burst");
    }

    #[test]
    fn a_pod_that_fails_at_once_each_time_waits_10_20_40_80_160_300_300() {
        let backoff = Backoff { initial: SimDuration::from_secs(10), max: SimDuration::from_secs(300) };
        let mut entry = BackoffEntry::default();
        let mut now = SimTime::ZERO;
        let waits: Vec<f64> = (0..7)
            .map(|_| {
                let wait = entry.fail(now, backoff);
                now = now + wait;
                wait.as_secs_f64()
            })
            .collect();
        assert_eq!(waits, [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]);
        let forgotten = now + SimDuration::from_secs(601);
        assert_eq!(entry.fail(forgotten, backoff), SimDuration::from_secs(10), "after 2 x 300 s it is forgotten");
    }
}
