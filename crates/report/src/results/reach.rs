//! Number of targets of a variant that its rollout could update, and number of targets that it could not update, by
//! reason.
//!
//! The counts of one run are columns of `runs.csv`; this module has their range over the runs.

use itertools::Itertools;
use serde::{Deserialize, Serialize};

use super::RunRow;

/// The minimum and the maximum number of targets over runs.
type TargetRange = (u64, u64);

/// Numbers of targets over the runs of a variant, each as minimum and maximum.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReachRange {
    /// All targets.
    pub targets: TargetRange,
    /// Targets that could be updated.
    pub reachable: TargetRange,
    /// Targets that could not be updated.
    pub missing: TargetRange,
    /// Missing targets that are paused.
    pub paused: TargetRange,
    /// Missing targets without an agent.
    pub agentless: TargetRange,
    /// Number of these targets that are offline from the start to the horizon.
    pub offline: TargetRange,
}

impl ReachRange {
    /// The ranges over the given runs; zeros without runs.
    #[must_use]
    pub fn of(runs: &[&RunRow]) -> Self {
        Self {
            targets: range_over(runs, |run| run.targets),
            reachable: range_over(runs, |run| run.reachable_targets),
            missing: range_over(runs, RunRow::unreachable_targets),
            paused: range_over(runs, |run| run.paused_targets),
            agentless: range_over(runs, |run| run.agentless_targets),
            offline: range_over(runs, |run| run.offline_targets),
        }
    }

    /// Returns whether every target of every run could be updated.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        let (_, most) = self.missing;
        most == 0
    }
}

/// The minimum and the maximum of a number of targets over runs; zeros without runs.
fn range_over(runs: &[&RunRow], targets: fn(&RunRow) -> u64) -> TargetRange {
    let numbers = runs.iter().map(|run| targets(run));
    numbers.minmax().into_option().unwrap_or_default()
}
