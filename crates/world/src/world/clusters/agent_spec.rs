//! Settings of a cluster's agent: how long it takes to apply a revision, and when it reports readiness.
//!
//! Products differ most in how readiness is detected. Rancher Fleet's agent watches the objects that it applied, and
//! waits some seconds after the first event, to report several changes together. KubeFleet's agent does not watch: it
//! polls, at intervals that grow while nothing changes. Argo CD's controller watches and reports immediately. Each
//! product has its own values, with their sources, in its folder.
//!
//! Left out: intervals that depend on the object, and custom health checks.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::calibration as default;
use crate::world::clusters::agent_client::AgentClientRate;
use crate::world::clusters::apply_rules::{ApplyRetry, ApplyRules};
use crate::world::quantity::DurationModel;
#[cfg(any(test, feature = "schema"))]
use fleetsim_units::serial::without_defaults;
use fleetsim_units::serial::{positive, spread};
use fleetsim_units::{SimDuration, SimTime};

/// Delays between the management cluster and a cluster, and the time to apply a revision.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema), schemars(transform = without_defaults))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AgentSpec {
    /// Time from instructing a cluster until its agent has the instruction.
    pub instruction_delay: DurationModel,
    /// Duration of applying a revision (Fleet: the Helm upgrade; Argo CD: the sync).
    pub apply: DurationModel,
    /// Variation of `apply` between clusters, from 0 to 2: the speed of their control planes. It is the sigma of a
    /// lognormal factor with median 1. All applies in a cluster have the same factor.
    #[serde(deserialize_with = "spread")]
    pub apply_spread: f64,
    /// Whether an apply ends only when all workloads are ready, like Helm's `wait`. Rancher Fleet always waits if a
    /// fleet.yaml has `helm.atomic` or a `helm.timeoutSeconds` greater than 0.
    pub wait: bool,
    /// Number of applications that an agent applies at a time. Others wait in the order of their arrival. With `wait`,
    /// an application keeps its place until its workloads are ready.
    #[serde(deserialize_with = "positive")]
    pub workers: Option<u32>,
    /// How the agent detects and reports changes of readiness.
    pub readiness: ReadinessSpec,
    /// Time from sending a report until the management cluster has it.
    pub report_delay: DurationModel,
    /// The limit of the agent's requests to the management cluster. `None`: it has none. The product determines this.
    #[serde(skip)]
    pub client: Option<AgentClientRate>,
    /// How the agent handles a failed apply. The product determines this.
    #[serde(skip)]
    pub applies: ApplyRules,
}

impl AgentSpec {
    /// An agent that takes no time, for worlds that are computed by hand.
    pub const INSTANT: Self = Self {
        instruction_delay: DurationModel::Constant(SimDuration::ZERO),
        apply: DurationModel::Constant(SimDuration::ZERO),
        apply_spread: 0.0,
        wait: false,
        workers: None,
        client: None,
        readiness: ReadinessSpec::Delay(DurationModel::Constant(SimDuration::ZERO)),
        report_delay: DurationModel::Constant(SimDuration::ZERO),
        applies: ApplyRules::NONE,
    };
}

impl AgentSpec {
    /// The agent of products without their own: Rancher Fleet's agent, which applies with Helm.
    pub const HELM: Self = Self {
        instruction_delay: default::INSTRUCTION_DELAY,
        apply: default::APPLY,
        apply_spread: default::APPLY_SPREAD,
        wait: false,
        workers: Some(default::AGENT_WORKERS),
        client: Some(AgentClientRate::FLEET),
        readiness: ReadinessSpec::Debounce(DebounceSpec::FLEET),
        report_delay: default::REPORT_DELAY,
        applies: ApplyRules {
            again: ApplyRetry::CONTROLLER_RUNTIME,
            immutable_is_final: true,
            ..ApplyRules::NONE
        },
    };
}

impl Default for AgentSpec {
    fn default() -> Self {
        Self::HELM
    }
}

/// How an agent detects and reports changes of readiness.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ReadinessSpec {
    /// The agent watches, and reports each change of readiness after this delay. The delay is drawn for each change.
    Delay(DurationModel),
    /// The agent watches, and reports some time after the first event. Later events until then are part of the same
    /// report.
    Debounce(DebounceSpec),
    /// The agent does not watch, but polls at intervals that grow while nothing changes.
    Looks(LookSpec),
}

impl ReadinessSpec {
    /// Returns the typical minimum time until a change of readiness is reported.
    #[must_use]
    pub fn shortest(&self) -> SimDuration {
        match self {
            Self::Delay(delay) => delay.typical(),
            Self::Debounce(debounce) => debounce.delay,
            Self::Looks(looks) => looks.fixed_delay,
        }
    }
}

/// An agent that collects events for some time before it reports.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DebounceSpec {
    /// Time from the first event to the report.
    pub delay: SimDuration,
    /// Time from the first deployment in a cluster until the watch of its objects begins. The objects found then are
    /// the first event.
    pub watch_start: SimDuration,
}

impl DebounceSpec {
    /// The settings of Rancher Fleet's agent since v0.12.0.
    pub const FLEET: Self = Self {
        delay: default::DEBOUNCE,
        watch_start: default::WATCH_START,
    };
}

impl Default for DebounceSpec {
    fn default() -> Self {
        Self::FLEET
    }
}

/// An agent that polls at intervals. The interval is fixed at first, then grows slowly, and finally grows fast. A new
/// revision or a changed result restarts the series. While everything is available, the interval grows fast after its
/// first growth. The settings have the names of KubeFleet's flags.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LookSpec {
    /// Number of polls with the fixed interval, 1 to 40.
    pub attempts_with_fixed_delay: u32,
    /// The fixed interval.
    #[serde(deserialize_with = "positive")]
    pub fixed_delay: SimDuration,
    /// The first interval after the polls with the fixed interval.
    #[serde(deserialize_with = "positive")]
    pub initial_slow_backoff_delay: SimDuration,
    /// Growth factor of the slow phase, at least 1.05.
    pub exponential_base_for_slow_backoff: f64,
    /// Maximum interval of the slow phase.
    pub max_slow_backoff_delay: SimDuration,
    /// Growth factor of the fast phase, at least that of the slow phase, at most 100.
    pub exponential_base_for_fast_backoff: f64,
    /// Maximum interval of the fast phase.
    pub max_fast_backoff_delay: SimDuration,
}

impl Default for LookSpec {
    fn default() -> Self {
        Self::KUBEFLEET
    }
}

impl LookSpec {
    /// The intervals of KubeFleet's member agent. Source: defaults of the flags in `cmd/memberagent/options/applier.go`
    /// of kubefleet-dev/kubefleet at e160c1c; `pkg/controllers/workapplier/backoff.go` there computes the intervals.
    pub const KUBEFLEET: Self = Self {
        attempts_with_fixed_delay: 1,
        fixed_delay: SimDuration::from_secs(5),
        initial_slow_backoff_delay: SimDuration::from_secs(2),
        exponential_base_for_slow_backoff: 1.2,
        max_slow_backoff_delay: SimDuration::from_secs(15),
        exponential_base_for_fast_backoff: 1.5,
        max_fast_backoff_delay: SimDuration::from_secs(900),
    };

    /// Returns the infinite sequence of intervals between polls from the start of a series. `available`: everything is
    /// available.
    pub(super) fn intervals(self, available: bool) -> impl Iterator<Item = SimDuration> {
        let mut last = SimDuration::ZERO;
        (0_u32..).map(move |nth| {
            let slow = last.mul_f64(self.exponential_base_for_slow_backoff);
            last = if nth < self.attempts_with_fixed_delay {
                self.fixed_delay
            } else if nth == self.attempts_with_fixed_delay {
                self.initial_slow_backoff_delay
            } else if available || slow > self.max_slow_backoff_delay {
                // An interval that would exceed the slow limit grows fast instead of being limited there.
                last.mul_f64(self.exponential_base_for_fast_backoff)
            } else {
                slow
            };
            last = last.min(self.max_fast_backoff_delay);
            last
        })
    }

    /// Returns the first poll after `now`, in the series that began at `from`. A poll at `now` itself does not count.
    pub(crate) fn next_look(self, from: SimTime, available: bool, now: SimTime) -> SimTime {
        let mut at = from;
        let mut looks = self.intervals(available).map(|interval| {
            at = at + interval;
            at
        });
        looks.find(|look| *look > now).expect("looks never end")
    }

    /// Returns a setting that the product's agent would reject.
    #[must_use]
    pub fn problem(&self) -> Option<LookProblem> {
        let slow = self.exponential_base_for_slow_backoff;
        let fast = self.exponential_base_for_fast_backoff;
        if !(1..=40).contains(&self.attempts_with_fixed_delay) {
            Some(LookProblem {
                setting: "attemptsWithFixedDelay",
                rule: "must be 1 to 40",
                fix: "write e.g. `1`",
            })
        } else if !(1.05..=100.0).contains(&slow) {
            Some(LookProblem {
                setting: "exponentialBaseForSlowBackoff",
                rule: "must be 1.05 to 100",
                fix: "write e.g. `1.2`",
            })
        } else if !(slow..=100.0).contains(&fast) {
            Some(LookProblem {
                setting: "exponentialBaseForFastBackoff",
                rule: "must be at most 100 and not less than `exponentialBaseForSlowBackoff`",
                fix: "write e.g. `1.5`",
            })
        } else if self.max_slow_backoff_delay < self.initial_slow_backoff_delay {
            Some(LookProblem {
                setting: "maxSlowBackoffDelay",
                rule: "must not be less than `initialSlowBackoffDelay`",
                fix: "write e.g. `15 s`",
            })
        } else if self.max_fast_backoff_delay < self.max_slow_backoff_delay {
            Some(LookProblem {
                setting: "maxFastBackoffDelay",
                rule: "must not be less than `maxSlowBackoffDelay`",
                fix: "write e.g. `900 s`",
            })
        } else {
            None
        }
    }
}

/// A setting of [`LookSpec`] that the product's agent would reject.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LookProblem {
    /// The setting's name in the file.
    pub setting: &'static str,
    /// The condition that must hold.
    pub rule: &'static str,
    /// The suggested fix.
    pub fix: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(available: bool, count: usize) -> Vec<f64> {
        let mut at = 0.0;
        let sums = LookSpec::KUBEFLEET.intervals(available).map(|interval| {
            at += interval.as_secs_f64();
            at
        });
        sums.take(count).collect()
    }

    #[test]
    fn an_unavailable_work_is_polled_as_by_kubefleets_agent() {
        // Computed by hand: 5, then 2 · 1.2^n while that is at most 15 (n = 0 to 11; the last is 14.86). 1.2 times
        // that is 17.8 and exceeds 15, so the next interval is 1.5 times 14.86, or 22.29, and there is no interval of
        // 15 s.
        let expected = [
            5.0, 7.0, 9.4, 12.28, 15.736, 19.883, 24.860, 30.832, 37.998, 46.598, 56.917, 69.301,
            84.161, 106.451, 139.887, 190.040, 265.269, 378.114, 547.380, 801.280,
        ];
        for (look, expected) in looks(false, expected.len()).iter().zip(expected) {
            assert!((look - expected).abs() < 0.001, "{look} is not {expected}");
        }
        // The next intervals are 380.8, 571.2 and 856.8 s; then every interval is the longest.
        let last = looks(false, 30);
        assert!((last[29] - last[28] - 900.0).abs() < 1e-6);
    }

    #[test]
    fn the_polling_interval_of_an_available_work_grows_from_the_first_poll() {
        for (look, expected) in looks(true, 6)
            .iter()
            .zip([5.0, 7.0, 10.0, 14.5, 21.25, 31.375])
        {
            assert!((look - expected).abs() < 1e-6, "{look} is not {expected}");
        }
    }

    #[test]
    fn the_next_poll_is_in_the_future() {
        let next = |now: f64| {
            let now = SimTime::ZERO + SimDuration::from_secs_f64(10.0 + now);
            LookSpec::KUBEFLEET
                .next_look(SimTime::from_secs(10), false, now)
                .as_secs_f64()
                - 10.0
        };
        // The cluster is ready after 300 s and is seen at 378 s, or ready after 600 s and seen at 801 s.
        for (now, expected) in [
            (0.0, 5.0),
            (4.9, 5.0),
            (5.0, 7.0),
            (300.0, 378.114),
            (600.0, 801.280),
        ] {
            assert!(
                (next(now) - expected).abs() < 0.001,
                "after {now}: {} is not {expected}",
                next(now)
            );
        }
    }
}
