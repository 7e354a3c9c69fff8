//! Doubling waves, which no product ships: 1, 2, 4, 8, … clusters, each wave started when all earlier ones are ready.
//!
//! The control loop runs like Rancher Fleet's, as that of the baselines. Clusters that are paused or not registered are
//! targets as well and are never instructed, so that a wave with one of them is never ready.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::path::Path;
use crate::products::{Controller, Decision, Deploy, Fleet, LoadContext, Product, Run, Strategy, StrategyExplanation};
use crate::results::Snippet;
use crate::rollout::doubling::{DoublingRollout, DoublingTarget};
use crate::rollout::{ControlLoop, Hold, rancher_fleet};
use crate::units::SimTime;
use crate::world::{ClusterId, ClusterSpec, NEW, Report};

/// Waves that double, each started when all earlier ones are ready.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Doubling {
    /// Clusters in the first wave.
    first: u32,
}

impl Default for Doubling {
    fn default() -> Self {
        Self { first: 1 }
    }
}

impl Product for Doubling {
    const KEY: &'static str = "doubling";
    const TITLE: &'static str = "Doubling waves";
    const SUMMARY: &'static str = "Waves of 1, 2, 4, 8, … clusters, each started when all earlier ones are ready.";

    fn control_loop() -> ControlLoop {
        rancher_fleet::control_loop()
    }

    fn check(&self, path: &Path, context: &mut LoadContext<'_, '_>) -> Option<Arc<dyn Strategy>> {
        if self.first == 0 {
            context.report(&path.key("first"), "must be greater than 0", "write e.g. `1`");
        }
        Some(Arc::new(DoublingStrategy { first: self.first }))
    }
}

/// A checked strategy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DoublingStrategy {
    /// Clusters in the first wave.
    pub first: u32,
}

impl DoublingStrategy {
    fn rollout(self, clusters: &[ClusterSpec]) -> DoublingRollout {
        DoublingRollout::new(self.first, clusters.iter().map(|cluster| cluster.name.clone()).collect())
    }
}

impl Strategy for DoublingStrategy {
    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        let waves = self.rollout(&fleet.world.clusters).waves().last().unwrap_or(0);
        let summary = format!("{} clusters in {waves} waves, each twice as large as the previous one", fleet.len());
        StrategyExplanation { summary, ..StrategyExplanation::default() }
    }

    fn snippet(&self) -> Option<Snippet> {
        None
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        let clusters = &run.fleet.world.clusters;
        let view = vec![DoublingTarget::default(); clusters.len()];
        Box::new(DoublingController { rollout: self.rollout(clusters), view, clusters })
    }
}

/// The waves of one run.
struct DoublingController<'r> {
    rollout: DoublingRollout,
    view: Vec<DoublingTarget>,
    clusters: &'r [ClusterSpec],
}

impl Controller for DoublingController<'_> {
    fn learn(&mut self, report: Report) -> bool {
        let target = &mut self.view[report.cluster.index()];
        let ready = target.started && report.ready && report.applied == NEW;
        std::mem::replace(&mut target.ready, ready) != ready
    }

    fn decide(&mut self, _now: SimTime) -> Decision {
        let unavailable = self.view.iter().filter(|target| target.started && !target.ready).count() as u64;
        let mut decision = Decision { unavailable, ..Decision::default() };
        for target in self.rollout.reconcile(&self.view) {
            self.view[target.index()].started = true;
            decision.writes += 1;
            let spec = &self.clusters[target.index()];
            if spec.registered && !spec.paused {
                let deploy = Deploy { cluster: ClusterId(target.0), revision: NEW, after_writes: decision.writes };
                decision.deploys.push(deploy);
            }
        }
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        self.view[cluster.index()].ready
    }

    fn hold(&self) -> Option<Hold> {
        self.rollout.hold(&self.view)
    }

    fn stages(&self) -> Vec<String> {
        self.rollout.waves().map(|wave| format!("wave {wave}")).collect()
    }
}
