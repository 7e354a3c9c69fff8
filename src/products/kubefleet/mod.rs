//! KubeFleet: staged update runs, and the rolling update of a placement.

mod agent;
mod config;
mod explain;
mod failed_apply;
mod members;
mod rolling_controller;
mod runs;
mod staged_controller;
mod staged_run;
mod targets;
mod work_generator;

use std::sync::Arc;

use serde_json::json;

use crate::control_plane::{Change, Controller, RolloutObject};
use crate::products::delay::at_once;
use crate::products::words::object_limit;
use crate::products::{
    Documented, FailureRefusal, Fleet, REMAINING_TIME, Run, Strategy, StrategyExplanation,
    StrategyPart, yaml_snippet,
};
use crate::results::Snippet;
use crate::rollout::RuleSet;
use crate::rollout::kubefleet::{
    KubeFleetBugs, KubeFleetVersion, MemberCluster, RollingUpdateConfig, RunState, StrategySpec,
};
use crate::rollout::label_selector::Labels;
use crate::world::{ApplyFailure, ClusterSpec, DurationModel};

pub(crate) use config::{RollingConfig, StagedConfig};
pub use runs::{PlacementMember, UpdateRun, UpdateRuns};

/// A checked strategy of staged update runs, with its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeFleetStaged {
    /// The simulated rule set.
    pub rules: RuleSet,
    /// The version of the product.
    pub version: KubeFleetVersion,
    /// Bugs of the product to reproduce.
    pub upstream_bugs: KubeFleetBugs,
    /// The product's own configuration, with its defaults. A run with it can be initialized for this fleet.
    pub strategy: StrategySpec,
    /// Delay from the request of an approval to the approval. `None`: approvals are never given.
    pub approvals: Option<DurationModel>,
    /// The strategy's runs, and the placements that they update.
    pub updates: UpdateRuns,
    /// Delay from a change until it can be rolled out: until its snapshot exists and, in a first deployment, also the
    /// placement's bindings.
    pub delay: DurationModel,
}

/// A checked rolling update of a placement that has picked all clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeFleetRolling {
    /// The simulated rule set.
    pub rules: RuleSet,
    /// Bugs of the product to reproduce.
    pub upstream_bugs: KubeFleetBugs,
    /// The number of clusters that the placement requests, at least the fleet's size. `None`: all matching clusters.
    pub requested: Option<u32>,
    /// The product's own limits.
    pub config: RollingUpdateConfig,
    /// Delay from a change until it can be rolled out: until its snapshot exists and, in a first deployment, also the
    /// placement's bindings.
    pub delay: DurationModel,
}

impl Strategy for KubeFleetStaged {
    fn refuses_failure(&self, failure: ApplyFailure) -> Option<FailureRefusal> {
        failed_apply::refusal(failure)
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        explain::staged(self, &fleet.world.clusters)
    }

    fn as_documented(&self, _: Fleet<'_>) -> Option<Documented> {
        Some(Documented {
            strategy: Box::new(Self {
                rules: RuleSet::Documented,
                upstream_bugs: KubeFleetBugs::of(RuleSet::Documented),
                ..self.clone()
            }),
            section: "kubefleet",
        })
    }

    /// Each run has a status with all clusters, and people create a run for each release.
    fn memory_of_target(&self, releases: usize) -> f64 {
        3_500.0 * (self.updates.runs.len() + releases) as f64
    }

    /// Each cluster has an entry in the run's status.
    fn object_limit(&self, fleet: Fleet<'_>) -> Option<String> {
        let mut sizes = vec![0; self.updates.placements.len()];
        for cluster in 0..fleet.len() {
            sizes[self.updates.placement_of(cluster)] += 1;
        }
        let most = sizes.into_iter().max().unwrap_or(0);
        object_limit(
            "the status of the ClusterStagedUpdateRun",
            "cluster",
            405,
            most,
        )
    }

    fn snippet(&self) -> Option<Snippet> {
        let object = json!({
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterStagedUpdateStrategy",
            "metadata": { "name": "planned" },
            "spec": self.strategy,
        });
        yaml_snippet("KubeFleet, a strategy for staged update runs", object)
    }

    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Approve { stage, .. }
                if self
                    .strategy
                    .stages
                    .iter()
                    .all(|known| known.name != *stage) =>
            {
                Err(format!("there is no stage `{stage}`"))
            }
            Change::Edited(fields) => edited_strategy(fields).map(|_| ()),
            Change::Deleted(RolloutObject::ApplicationSet) => {
                Err("KubeFleet has no ApplicationSet; write `delete: placement` or `delete: strategy`".into())
            }
            Change::Approve { .. }
            | Change::Stop(_)
            | Change::Labels(..)
            | Change::Release(_)
            | Change::Deleted(_) => Ok(()),
            Change::Selected(..) => Err(
                "fleetsim's own scheduler for update runs supports `approve`, `delete`, `edit`, `relabel`, `release` \
                 and `stop`"
                    .into(),
            ),
        }
    }

    fn without(&self, part: StrategyPart) -> Option<Arc<dyn Strategy>> {
        if part != StrategyPart::People {
            return None;
        }
        let mut strategy = self.clone();
        strategy.approvals = Some(at_once(self.approvals.as_ref()));
        for run in &mut strategy.updates.runs {
            run.states.retain(|(_, state)| *state != RunState::Stop);
            for (after, _) in &mut run.states {
                *after = after.mul_f64(REMAINING_TIME);
            }
        }
        Some(Arc::new(strategy))
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(staged_controller::StagedController::new(self, run))
    }
}

impl Strategy for KubeFleetRolling {
    fn refuses_failure(&self, failure: ApplyFailure) -> Option<FailureRefusal> {
        failed_apply::refusal(failure)
    }

    /// A placement has a binding with a work object for each cluster.
    fn memory_of_target(&self, _releases: usize) -> f64 {
        2_000.0
    }

    fn explain(&self, fleet: Fleet<'_>) -> StrategyExplanation {
        explain::rolling(self, fleet)
    }

    fn as_documented(&self, _: Fleet<'_>) -> Option<Documented> {
        Some(Documented {
            strategy: Box::new(Self {
                rules: RuleSet::Documented,
                upstream_bugs: KubeFleetBugs::of(RuleSet::Documented),
                ..self.clone()
            }),
            section: "kubefleet",
        })
    }

    fn snippet(&self) -> Option<Snippet> {
        let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": self.config });
        yaml_snippet(
            "KubeFleet, in the ClusterResourcePlacement",
            json!({ "spec": { "strategy": strategy } }),
        )
    }

    fn takes(&self, change: &Change) -> Result<(), String> {
        match change {
            Change::Release(_) => Ok(()),
            _ => Err("fleetsim's own scheduler for rolling updates supports `release`".to_owned()),
        }
    }

    fn controller<'r>(&'r self, run: Run<'r>) -> Box<dyn Controller + 'r> {
        Box::new(rolling_controller::RollingController::new(self, &run))
    }
}

/// Parses an edited strategy, with the defaults that admission sets.
///
/// # Errors
/// Returns the reason if the strategy is invalid.
fn edited_strategy(fields: &serde_json::Value) -> Result<StrategySpec, String> {
    let spec: StrategySpec = serde_json::from_value(fields.clone()).map_err(|error| {
        format!("its `edit` is not a valid spec of a ClusterStagedUpdateStrategy: {error}")
    })?;
    if spec.stages.is_empty() {
        return Err("its `edit` has no `stages`".to_owned());
    }
    Ok(spec.with_defaults())
}

/// The label that KubeFleet adds to each member cluster; its value is the cluster's name
/// (`membercluster_controller.go`, since v0.3.1).
const MEMBER_NAME: &str = "kubernetes-fleet.io/member-name";

/// Returns the clusters in the form that KubeFleet's rules use, in the fleet's order.
pub fn member_clusters(clusters: &[ClusterSpec]) -> Vec<MemberCluster> {
    clusters
        .iter()
        .map(|cluster| MemberCluster {
            name: cluster.name.clone(),
            labels: member_labels(&cluster.name, &cluster.labels),
            left: false,
        })
        .collect()
}

/// Returns the labels of a member cluster, including the label that KubeFleet adds.
fn member_labels(name: &str, labels: &Labels) -> Labels {
    let mut labels = labels.clone();
    labels.insert(MEMBER_NAME.to_owned(), name.to_owned());
    labels
}

/// Returns the clusters that a placement picks.
fn picked_by(
    updates: &UpdateRuns,
    placement: usize,
    clusters: &[ClusterSpec],
) -> Vec<MemberCluster> {
    let mut picked = Vec::new();
    for (index, member) in member_clusters(clusters).into_iter().enumerate() {
        if updates.placement_of(index) == placement && !updates.is_unpicked(index) {
            picked.push(member);
        }
    }
    picked
}
