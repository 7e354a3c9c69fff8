//! Rancher Fleet: its `rolloutStrategy`, from a fleet.yaml or from the experiment.

mod config;
mod controller;
mod explain;
mod failed_apply;
mod schedules;
mod status_writes;
mod targets;
mod unseen;
mod version;

use std::sync::Arc;

use serde_json::json;

use crate::control_plane::{Change, Controller};
use crate::products::{
    Documented, Fleet, Run, Strategy, StrategyExplanation, StrategyPart, yaml_snippet,
};
use crate::results::Snippet;
use crate::rollout::RuleSet;
use crate::rollout::rancher_fleet::{
    FleetCluster, RolloutStrategy, explain as explain_bundle, groups_of,
};
use crate::world::AgentSpec;

pub(crate) use config::RancherFleetConfig;
pub use failed_apply::HelmWait;
pub use schedules::FleetSchedules;
pub(crate) use targets::BundleSelection;
pub use version::FleetVersion;

/// A checked `rolloutStrategy` that divides its fleet's clusters into partitions without an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RancherFleetStrategy {
    /// The simulated rule set.
    pub rules: RuleSet,
    /// The product's own configuration, without fields that its version ignores.
    pub strategy: RolloutStrategy,
    /// Whether statuses compare a deployment with the wanted id, as Fleet does since 0.16, or with the deployed id.
    pub judges_wanted: bool,
    /// Fields that were ignored, one sentence each.
    pub ignored: Vec<String>,
    /// Whether the bundle has Helm values, so that the controller keeps a Secret for each target.
    pub has_values: bool,
    /// Whether the fleet.yaml pauses the bundle. If so, nothing is updated until a person resumes it.
    pub paused: bool,
    /// The time for which agents wait in Helm until the workloads are ready.
    pub helm: HelmWait,
    /// Windows outside which agents do nothing.
    pub schedules: Option<Arc<FleetSchedules>>,
}

impl Strategy for RancherFleetStrategy {
    fn lists_of_targets(&self) -> usize {
        self.strategy.partitions.as_ref().map_or(0, Vec::len)
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        let first_deployments = (0..fleet.len())
            .filter(|&cluster| fleet.world.installed(0, cluster).is_none())
            .count();
        explain::explain(self, &clusters(fleet), first_deployments)
    }

    fn notes(&self, fleet: Fleet<'_>) -> Vec<String> {
        let line = self.schedules_in_words(&clusters(fleet));
        line.into_iter().collect()
    }

    fn as_documented(&self, fleet: Fleet<'_>) -> Option<Documented> {
        let documented = Self {
            rules: RuleSet::Documented,
            ..self.clone()
        };
        explain_bundle(&documented.strategy, documented.rules, &clusters(fleet)).ok()?;
        Some(Documented {
            strategy: Box::new(documented),
            section: "rancher-fleet",
        })
    }

    fn snippet(&self) -> Option<Snippet> {
        yaml_snippet(
            "Rancher Fleet, in fleet.yaml",
            json!({ "rolloutStrategy": self.strategy }),
        )
    }

    fn agent(&self, described: AgentSpec) -> AgentSpec {
        self.helm.agent(described)
    }

    /// Stopping the rollout pauses the bundle. A release changes the bundle's content.
    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Stop(_) | Change::Labels(..) | Change::Release(_) => Ok(()),
            _ => Err(
                "fleetsim's Rancher Fleet scheduler supports `release`, `relabel` and `stop`"
                    .into(),
            ),
        }
    }

    fn without(&self, part: StrategyPart) -> Option<Arc<dyn Strategy>> {
        if part != StrategyPart::Windows || self.schedules.is_none() {
            return None;
        }
        Some(Arc::new(Self {
            schedules: None,
            ..self.clone()
        }))
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(controller::FleetController::new(self, &run))
    }
}

impl RancherFleetStrategy {
    /// Returns one line about the windows of these clusters. `None`: there are no Schedules.
    fn schedules_in_words(&self, clusters: &[FleetCluster]) -> Option<String> {
        let schedules = self.schedules.as_ref()?;
        let mut names = Vec::new();
        for cluster in clusters {
            names.push(cluster.name.clone());
        }
        Some(schedules.in_words(&names))
    }
}

/// Returns the clusters in the form that Fleet's rules use, in the fleet's order.
pub fn clusters(fleet: Fleet<'_>) -> Vec<FleetCluster> {
    let mut clusters = Vec::new();
    for cluster in &fleet.world.clusters {
        clusters.push(FleetCluster {
            name: cluster.name.clone(),
            labels: Arc::clone(&cluster.labels),
            groups: groups_of(&cluster.labels, fleet.groups)
                .expect("selectors are checked before they are kept"),
        });
    }
    clusters
}
