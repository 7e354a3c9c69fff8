//! Baselines, which no product ships: everything at once, one by one, and batches of a fixed size.
//!
//! Their control loop runs like Rancher Fleet's, so that a comparison shows the rule and not the loop.

mod adapter;
mod config;

use crate::products::{Controller, Fleet, Run, Strategy, StrategyExplanation};
use crate::results::Snippet;
use crate::rollout::baseline::Baseline;

pub use config::{AllAtOnce, Batches, OneByOne};

/// A checked baseline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BaselineStrategy(pub Baseline);

impl Strategy for BaselineStrategy {
    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        let clusters = fleet.len();
        let summary = match self.0 {
            Baseline::AllAtOnce => format!("all {clusters} clusters in the first pass"),
            Baseline::OneByOne => format!("{clusters} clusters, each after the one before is ready"),
            Baseline::BatchSize(_) | Baseline::BatchPercent(_) => {
                let size = self.0.batch(clusters);
                let batches = clusters.div_ceil(size);
                format!("{batches} batches of {size} clusters, each after the one before is ready")
            }
        };
        StrategyExplanation { summary, ..StrategyExplanation::default() }
    }

    fn snippet(&self) -> Option<Snippet> {
        None
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(adapter::BaselineController::new(run.fleet.world, self.0))
    }
}
