//! When a container that crashed is started again.
//!
//! The first crashes in a row may be followed by a start at once; after that each wait is twice as long as the one
//! before, up to a longest one, without jitter. What counts as a row, and whether it ever ends, is the platform's: see
//! [`Restarts`] for Kubernetes' kubelet and Cloud Foundry's Diego.
//!
//! Left out: a restart on another node, and the beat of Diego's convergence (30 s), on which its later restarts wait.

use super::spec::Backoff;
use crate::units::{SimDuration, SimTime};

/// A platform's rules for containers that crash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Restarts {
    /// Crashes in a row after which the container is started again at once.
    pub immediate: u32,
    /// The waits after further ones.
    pub backoff: Backoff,
    /// The crash in a row after which the container is not started again. `None`: it always is.
    pub last: Option<u32>,
    /// What ends a row of crashes.
    pub row_ends: RowEnds,
}

/// What ends a row of crashes, so that the next one counts as the first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowEnds {
    /// More than twice the longest wait from one crash to the next (kubernetes/client-go `util/flowcontrol/backoff.go`).
    Quiet,
    /// The container was ready for longer than this before it crashed.
    Ready(SimDuration),
}

/// The crashes of one container.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crashes {
    in_a_row: u32,
    /// The last wait; zero after an immediate restart.
    wait: SimDuration,
    last: SimTime,
    ready: Option<SimTime>,
}

impl Crashes {
    /// The container has become ready.
    pub(super) const fn ready(&mut self, now: SimTime) {
        self.ready = Some(now);
    }

    /// Records a crash at `now` and returns how long it is until the next start. `None`: there is none.
    pub(super) fn crash(&mut self, now: SimTime, restarts: &Restarts) -> Option<SimDuration> {
        let ready = self.ready.take();
        let is_first = match restarts.row_ends {
            RowEnds::Quiet => now - self.last > restarts.backoff.max * 2,
            RowEnds::Ready(long) => ready.is_some_and(|ready| now - ready > long),
        };
        if is_first {
            *self = Self::default();
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.last = now;
        if restarts.last.is_some_and(|last| self.in_a_row >= last) {
            return None;
        }
        self.wait = match self.in_a_row {
            crashes if crashes <= restarts.immediate => SimDuration::ZERO,
            crashes if crashes == restarts.immediate + 1 => restarts.backoff.initial,
            _ => (self.wait * 2).min(restarts.backoff.max),
        };
        Some(self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> SimDuration {
        SimDuration::from_secs(secs)
    }

    /// What a container that is ready after `ready` and crashes after `life` waits after each crash.
    fn waits(restarts: &Restarts, life: SimDuration, ready: Option<SimDuration>, crashes: usize) -> Vec<Option<f64>> {
        let mut container = Crashes::default();
        let mut now = SimTime::ZERO;
        let mut crash = |_| {
            if let Some(ready) = ready {
                container.ready(now + ready);
            }
            now = now + life;
            let wait = container.crash(now, restarts)?;
            now = now + wait;
            Some(wait.as_secs_f64())
        };
        (0..crashes).map(&mut crash).collect()
    }

    #[test]
    fn kubernetes_waits_from_the_first_crash_on_and_forgets_after_ten_minutes() {
        let restarts = super::super::calibration::RESTARTS;
        let expected = [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0].map(Some);
        assert_eq!(waits(&restarts, secs(5), None, 7), expected);
        assert_eq!(waits(&restarts, secs(601), None, 3), [Some(10.0); 3], "each crash is the first");
        let expected = [10.0, 20.0, 40.0].map(Some);
        assert_eq!(waits(&restarts, secs(500), Some(secs(0)), 3), expected, "being ready does not end the row");
    }

    #[test]
    fn diego_restarts_twice_at_once_and_then_waits_30_s_to_16_min_up_to_200_crashes() {
        let backoff = Backoff { initial: secs(30), max: secs(960) };
        let diego = Restarts { immediate: 2, backoff, last: Some(200), row_ends: RowEnds::Ready(secs(300)) };
        let waits = waits(&diego, secs(7), None, 200);
        let table = [
            (1, Some(0.0)),
            (2, Some(0.0)),
            (3, Some(30.0)),
            (4, Some(60.0)),
            (8, Some(960.0)),
            (199, Some(960.0)),
            (200, None),
        ];
        for (crashes, wait) in table {
            assert_eq!(waits[crashes - 1], wait, "after {crashes} crashes");
        }
    }

    #[test]
    fn a_row_can_have_an_end_and_be_forgiven_for_being_ready() {
        let backoff = Backoff { initial: secs(30), max: secs(100) };
        let row_ends = RowEnds::Ready(secs(300));
        let restarts = Restarts { immediate: 2, backoff, last: Some(6), row_ends };
        let expected = [Some(0.0), Some(0.0), Some(30.0), Some(60.0), Some(100.0), None];
        assert_eq!(waits(&restarts, secs(1), None, 6), expected);
        assert_eq!(waits(&restarts, secs(400), Some(secs(100)), 6), expected, "5 minutes are not more than 5 minutes");
        assert_eq!(waits(&restarts, secs(400), Some(secs(99)), 6), [Some(0.0); 6]);
    }
}
