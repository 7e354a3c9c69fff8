//! The rolling update of a placement, limited by `maxUnavailable` and `maxSurge`.
//!
//! Follows `pkg/controllers/rollout/controller.go` of kubefleet-dev/kubefleet at
//! e160c1cdfdd9bf4c0234713d2b7f34e0ec95dab6.
//!
//! Invariants: a pass keeps at least the requested number minus `maxUnavailable` of the bindings that are ready when
//! it starts, and it binds at most `maxSurge` above the requested number. Failed bindings are outside both limits. The
//! cost of a partial pass ([`RollingUpdate::reconcile_changed`]) depends on what changed.

mod candidates;
mod explain;
mod hold;
mod pass;
mod view;

use super::super::IntOrString;
use super::config::RollingUpdateConfig;
use super::limit::{Rounding, limit};
use super::{KubeFleetBugs, MemberCluster, RuleSet};
use fleetsim_units::{SimDuration, SimTime};

use candidates::CandidateSets;

pub use explain::{RollingExplanation, explain};
pub use view::{
    BindingCounts, RollingAction, RollingDecision, RollingError, RollingStatus, RollingView, Room,
    wakes,
};

/// Default of `unavailablePeriodSeconds`.
const PERIOD_SECONDS: i64 = 60;

/// The limits of a rolling update for a number of clusters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RollingLimits {
    /// Maximum number of unavailable clusters.
    pub max_unavailable: i64,
    /// Maximum number of clusters above the requested number.
    pub max_surge: i64,
}

/// The scheduler of one placement.
#[derive(Clone, Debug)]
pub struct RollingUpdate {
    rules: RuleSet,
    bugs: KubeFleetBugs,
    config: RollingUpdateConfig,
    clusters: Vec<MemberCluster>,
    /// Time of the last pass.
    last: SimTime,
    /// The bindings as the last pass saw them.
    sets: Option<CandidateSets>,
}

impl RollingUpdate {
    /// Creates a scheduler with these limits. `clusters` only provides names; the index of a cluster is its
    /// [`TargetId`](super::super::TargetId).
    pub fn new(
        config: RollingUpdateConfig,
        rules: RuleSet,
        bugs: KubeFleetBugs,
        clusters: Vec<MemberCluster>,
    ) -> Self {
        Self {
            rules,
            bugs,
            config,
            clusters,
            last: SimTime::ZERO,
            sets: None,
        }
    }

    /// Replaces the limits, like a change of the placement; this does not start a pass.
    #[cfg(test)]
    pub(super) fn set_config(&mut self, config: RollingUpdateConfig) {
        self.config = config;
        self.sets = None;
    }

    /// Returns the limits for `target` requested clusters. An invalid value, which admission rejects, becomes 0.
    pub fn limits(&self, target: i64) -> RollingLimits {
        let total = usize::try_from(target).unwrap_or(0);
        let max_unavailable = resolved(self.config.max_unavailable.as_ref(), total);
        RollingLimits {
            max_unavailable: match self.rules {
                RuleSet::Shipped => max_unavailable,
                // KubeFleet's document: "The minimum is 1."
                RuleSet::Documented => max_unavailable.max(1),
            },
            max_surge: resolved(self.config.max_surge.as_ref(), total),
        }
    }

    fn period(&self) -> SimDuration {
        let seconds = self
            .config
            .unavailable_period_seconds
            .unwrap_or(PERIOD_SECONDS);
        SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }
}

/// Resolves a limit for a rolling update of `total` clusters.
fn resolved(value: Option<&IntOrString>, total: usize) -> i64 {
    let default = IntOrString::String("25%".to_owned());
    let value = value.unwrap_or(&default);
    limit(Some(value), total, Rounding::Up).unwrap_or(0)
}
