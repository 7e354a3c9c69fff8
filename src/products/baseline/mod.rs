//! Baselines, which no product ships: everything at once, one by one, batches of a fixed size, and doubling waves.
//!
//! They use the agents and the control loop of the product that they are compared with (the first product of the
//! experiment, or Rancher Fleet), so that a comparison shows the effect of the pacing rule alone.

mod adapter;
mod config;

use crate::control_plane::{Change, Controller};
use crate::products::{Fleet, Run, Strategy, StrategyExplanation};
use crate::rollout::baseline::Baseline;

pub use config::{AllAtOnce, Batches, Doubling, OneByOne};

impl Strategy for Baseline {
    fn memory_of_target(&self, _releases: usize) -> f64 {
        0.0
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        let clusters = fleet.len();
        let batches = self.batches(clusters);
        let count = batches.len();
        let summary = match self {
            Self::AllAtOnce => format!("all {clusters} clusters in the first pass"),
            Self::OneByOne => format!("{clusters} clusters, each after the previous one is ready"),
            Self::Doubling(_) => {
                format!(
                    "{clusters} clusters in {count} waves, each twice as large as the previous one"
                )
            }
            Self::BatchSize(_) | Self::BatchPercent(_) => {
                let size = self.batch(0, clusters);
                format!("{count} batches of {size} clusters, each after the previous one is ready")
            }
        };
        StrategyExplanation {
            summary,
            ..StrategyExplanation::default()
        }
    }

    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Stop(_) | Change::Release(_) => Ok(()),
            _ => Err("a baseline supports `release` and `stop`".to_owned()),
        }
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(adapter::BaselineController::new(&run, *self))
    }
}
