//! The times at which a container restarts after a crash.
//!
//! The first consecutive crashes may be followed by an immediate restart. After that each wait is twice as long as the
//! previous one, up to a maximum, without jitter. The platform defines when crashes are no longer consecutive: see
//! [`Restarter`] for Kubernetes' kubelet and Cloud Foundry's Diego.
//!
//! Left out: restarts on another node, and the interval of Diego's convergence (30 s), which delays its later
//! restarts.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::backoff::Backoff;
#[cfg(any(test, feature = "schema"))]
use fleetsim_units::serial::without_defaults;
use fleetsim_units::{SimDuration, SimTime};

/// A platform's rules for restarts after crashes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema), schemars(transform = without_defaults))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Restarts {
    /// The platform that restarts containers.
    #[serde(skip)]
    pub by: Restarter,
    /// Number of consecutive crashes that are followed by an immediate restart.
    pub immediate: u32,
    /// The waits after further crashes, and the time after which the crash count restarts.
    #[serde(rename = "~backoff")]
    #[cfg_attr(any(test, feature = "schema"), schemars(flatten))]
    pub backoff: Backoff,
    /// The number of consecutive crashes after which a container is not restarted. `None`: it is always restarted.
    #[serde(skip)]
    pub last: Option<u32>,
}

impl Restarts {
    /// The kubelet's restarts. Source: kubernetes/kubernetes, `newCrashLoopBackOff` in `pkg/kubelet/kubelet.go`, with
    /// its `HasExpiredFunc` (600 s, whatever the longest wait is); `doBackOff` in
    /// `pkg/kubelet/kuberuntime/kuberuntime_manager.go` immediately starts a container that has not crashed before.
    /// The alpha gate `ReduceDefaultCrashLoopBackOffDecay` changes the waits to 1 s to 60 s (kubernetes/enhancements
    /// KEP-4603); a node's own `maxContainerRestartPeriod` is 1 s to 300 s.
    pub const KUBELET: Self = Self {
        by: Restarter::Kubelet,
        immediate: 1,
        backoff: Backoff {
            initial: SimDuration::from_secs(10),
            max: SimDuration::from_secs(300),
            reset: SimDuration::from_secs(600),
        },
        last: None,
    };
}

impl Default for Restarts {
    fn default() -> Self {
        Self::KUBELET
    }
}

/// The component that restarts containers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Restarter {
    /// Kubernetes' kubelet: a container restarts with the pod's next sync after the wait, and the count restarts when
    /// the container ran for longer than the reset.
    #[default]
    Kubelet,
    /// Cloud Foundry's Diego: a container restarts when the wait is over, and the count restarts when the container
    /// was ready for longer than the reset.
    Diego,
}

/// The consecutive crashes of one container.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crashes {
    in_a_row: u32,
    /// The last wait; zero after an immediate restart.
    wait: SimDuration,
    started: Option<SimTime>,
    ready: Option<SimTime>,
}

impl Crashes {
    /// Records that the container restarts.
    pub(crate) const fn restarts(&mut self, now: SimTime) {
        self.started = Some(now);
    }

    /// Records that the container has become ready.
    pub(crate) const fn ready(&mut self, now: SimTime) {
        self.ready = Some(now);
    }

    /// Records a crash, and returns the wait until the next start. `None`: the container is not restarted.
    pub(crate) fn crash(&mut self, now: SimTime, restarts: &Restarts) -> Option<SimDuration> {
        let well_since = match restarts.by {
            Restarter::Kubelet => self.started,
            Restarter::Diego => self.ready,
        };
        if well_since.is_some_and(|since| now - since > restarts.backoff.reset) {
            *self = Self::default();
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.ready = None;
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

    /// Returns the waits of a container that crashes after each of these lifetimes and becomes ready `ready` after
    /// each start.
    fn waits(
        restarts: &Restarts,
        lives: &[SimDuration],
        ready: Option<SimDuration>,
    ) -> Vec<Option<f64>> {
        let mut container = Crashes::default();
        let mut now = SimTime::ZERO;
        let mut crash = |life: &SimDuration| {
            if let Some(ready) = ready {
                container.ready(now + ready);
            }
            now = now + *life;
            let wait = container.crash(now, restarts)?;
            now = now + wait;
            container.restarts(now);
            Some(wait.as_secs_f64())
        };
        lives.iter().map(&mut crash).collect()
    }

    #[test]
    fn restarts_of_a_5_s_container_wait_0_10_20_40_s_and_reset_after_10_minutes() {
        let kubelet = Restarts::KUBELET;
        let backoff = Backoff {
            initial: secs(1),
            max: secs(60),
            ..kubelet.backoff
        };
        // The faster back-off of KEP-4603.
        let reduced = Restarts { backoff, ..kubelet };
        let cases = [
            (kubelet, [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]),
            (reduced, [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]),
        ];
        for (restarts, expected) in cases {
            let [first, .., longest] = expected;
            let mut expected: Vec<Option<f64>> = expected.into_iter().map(Some).collect();
            let short = [secs(5); 8];
            // 600 s are just too short to reset the waits; 601 s are long enough.
            expected.extend([longest, first, restarts.backoff.initial.as_secs_f64()].map(Some));
            let lives = [&short[..], &[secs(600), secs(601), secs(5)]].concat();
            assert_eq!(
                waits(&restarts, &lives, Some(SimDuration::ZERO)),
                expected,
                "{restarts:?}"
            );
        }
    }

    const DIEGO: Restarts = Restarts {
        by: Restarter::Diego,
        immediate: 2,
        backoff: Backoff {
            initial: secs(30),
            max: secs(960),
            reset: secs(300),
        },
        last: Some(200),
    };

    #[test]
    fn diego_restarts_twice_immediately_and_then_waits_30_s_to_16_min_up_to_200_crashes() {
        let waits = waits(&DIEGO, &[secs(7); 200], None);
        let table = [(1, 0), (2, 0), (3, 30), (4, 60), (8, 960), (199, 960)];
        for (crashes, wait) in table {
            assert_eq!(
                waits[crashes - 1],
                Some(f64::from(wait)),
                "after {crashes} crashes"
            );
        }
        assert_eq!(waits[199], None);
    }

    #[test]
    fn diego_resets_the_back_off_of_an_instance_after_more_than_5_ready_minutes() {
        let lives = [secs(400); 4];
        let in_a_row = [0.0, 0.0, 30.0, 60.0].map(Some);
        assert_eq!(
            waits(&DIEGO, &lives, None),
            in_a_row,
            "it ran and was never ready"
        );
        assert_eq!(
            waits(&DIEGO, &lives, Some(secs(100))),
            in_a_row,
            "5 minutes are not more than 5 minutes"
        );
        assert_eq!(waits(&DIEGO, &lives, Some(secs(99))), [Some(0.0); 4]);
    }
}
