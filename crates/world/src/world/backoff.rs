//! Exponential back-off without jitter, as the kubelet applies it to failed image pulls.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fleetsim_units::serial::positive;
use fleetsim_units::{SimDuration, SimTime};

/// Back-off after a failed pull, per pod and image: 10 s, doubling to 300 s, without jitter, reset after 600 s.
/// Source: constants in kubernetes/kubernetes `pkg/kubelet/kubelet.go`; kubernetes/client-go
/// `util/flowcontrol/backoff.go` @32ce75a.
const IMAGE_BACKOFF: Backoff = Backoff {
    initial: SimDuration::from_secs(10),
    max: SimDuration::from_secs(300),
    reset: SimDuration::from_secs(600),
};

/// An exponential back-off without jitter.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Backoff {
    /// The first wait; each later wait is twice as long.
    #[serde(deserialize_with = "positive")]
    pub initial: SimDuration,
    /// The longest wait.
    pub max: SimDuration,
    /// The back-off restarts at `initial` if nothing failed for longer than this.
    pub reset: SimDuration,
}

impl Default for Backoff {
    fn default() -> Self {
        IMAGE_BACKOFF
    }
}

/// One entry of an exponential back-off (client-go `flowcontrol.Backoff`, jitter factor 0): the last wait, and when it
/// started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BackoffEntry {
    last: Option<(SimDuration, SimTime)>,
}

impl BackoffEntry {
    /// Records a failure and returns the wait.
    pub(crate) fn fail(&mut self, now: SimTime, backoff: Backoff) -> SimDuration {
        let delay = match self.last {
            Some((delay, renewed)) if now - renewed <= backoff.reset => {
                (delay * 2).min(backoff.max)
            }
            _ => backoff.initial,
        };
        self.last = Some((delay, now));
        delay
    }

    /// Returns when the wait ends. `None`: there was no failure.
    pub(crate) fn expires(&self) -> Option<SimTime> {
        self.last.map(|(delay, since)| since + delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn immediate_failures_back_off_for_10_20_40_80_160_300_300_s() {
        let backoff = IMAGE_BACKOFF;
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
        assert_eq!(
            entry.fail(forgotten, backoff),
            SimDuration::from_secs(10),
            "after 2 x 300 s it is forgotten"
        );
    }
}
