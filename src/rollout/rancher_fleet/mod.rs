//! Rancher Fleet: which clusters of a bundle may move to a new version, and when.
//!
//! Follows rancher/fleet at 3b2c622ce176b11644abc7fb768f87c3ffb5a3ab:
//! `internal/cmd/controller/target/{builder,rollout,partition,status,target}.go`, `target/matcher/clustermatcher.go`,
//! `internal/cmd/controller/reconciler/{bundle_controller,bundle_status}.go`, `summary/summary.go`,
//! `status/status.go` and `pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go`. `tests/conformance/rancher-fleet`
//! holds recorded executions of these functions; every recorded case is a test.
//!
//! This folder uses Fleet's own terms:
//!
//! | word | meaning |
//! |---|---|
//! | bundle | the rolled out object; has the `rolloutStrategy` |
//! | target | a cluster that the bundle's `targets` select |
//! | deployment | the `BundleDeployment` object of a target |
//! | wanted, staged, deployed, applied id | the final id, the next one, the one set for the agent, the one it reports |
//! | promotion | setting the deployed id, which the cluster's agent then applies |
//! | unavailable | the applied id is not the deployed id, or not ready; healthy on an old version is available |
//!
//! [`RuleSet`] selects the shipped rules or those of the product's documentation (`documented.rs`). Surprising
//! shipped rules are kept. First deployments are limited only by `maxNew` per pass, so 200 clusters are created in
//! four consecutive passes. `maxUnavailable` limits updates, over the bundle and in each partition. The gate between
//! partitions is open by default, because `maxUnavailable` is 100 %. An off-schedule cluster is promoted and then
//! counts as unavailable. Offline clusters are not detected, and nothing times out.
//!
//! A pass over all costs a few nanoseconds per target: partitions are recomputed only when targets, clusters or
//! strategy change. A pass over what changed ([`RancherFleet::reconcile_changed`]) costs what changed. Left out: the
//! selection of targets (target customization, `doNotDeploy`), Policies, sharding, values secrets, and a cache that
//! lags behind the controller's own writes.

mod changed;
mod cluster;
mod conditions;
mod config;
mod documented;
mod explain;
mod go_float;
mod hold;
mod ledger;
mod limit;
mod matcher;
mod observe;
mod partition;
mod pass;
mod status;
#[cfg(test)]
mod tests;
mod view;

use super::{Pass, by_name};
use crate::units::SimTime;

pub use super::{IntOrString, RuleSet};
pub use cluster::{ClusterGroup, FleetCluster, groups_of};
pub use config::{ManualPartition, RolloutStrategy};
pub use explain::{BundleExplanation, explain};
pub use limit::{FleetLimitError, limit};
pub use matcher::selected_by;
pub use partition::{Partition, Partitioning, StrategyError};
pub use status::{BundleState, BundleStatus, BundleSummary, PartitionStatus};
pub use view::{BundleAction, BundleDeployment, BundleView, ClusterView};

use ledger::BundleLedger;
use observe::Observation;
use pass::PassOutcome;

/// The scheduler of one bundle.
#[derive(Clone, Debug)]
pub struct RancherFleet {
    rules: RuleSet,
    strategy: RolloutStrategy,
    clusters: Vec<FleetCluster>,
    /// Indices into `clusters` in the byte order of names.
    by_name: Vec<u32>,
    /// The clusters that `plan` covers.
    is_target: Vec<bool>,
    plan: Result<Partitioning, StrategyError>,
    /// Reused between passes to avoid allocation.
    seen: Observation,
    /// The clusters as the last pass over what changed saw them.
    ledger: Option<BundleLedger>,
}

impl RancherFleet {
    /// A scheduler for these clusters; the index of a cluster is its [`TargetId`](super::TargetId). Each view states
    /// which of them are targets; before the first pass all are. Clusters with equal names are updated in list order,
    /// which Fleet leaves open.
    #[must_use]
    pub fn new(strategy: RolloutStrategy, rules: RuleSet, clusters: Vec<FleetCluster>) -> Self {
        let mut fleet = Self {
            rules,
            strategy,
            clusters: Vec::new(),
            by_name: Vec::new(),
            is_target: Vec::new(),
            plan: Ok(Partitioning::default()),
            seen: Observation::default(),
            ledger: None,
        };
        fleet.set_clusters(clusters);
        fleet
    }

    /// Replaces the strategy, as a change of the bundle does.
    pub fn set_strategy(&mut self, strategy: RolloutStrategy) {
        self.strategy = strategy;
        self.ledger = None;
        self.plan = self.partition(&self.is_target);
    }

    /// Replaces the clusters, as a change of their labels or groups does. All are targets until the next pass.
    pub fn set_clusters(&mut self, clusters: Vec<FleetCluster>) {
        self.by_name = by_name(&clusters, |cluster| &cluster.name);
        self.is_target = vec![true; clusters.len()];
        self.clusters = clusters;
        self.ledger = None;
        self.plan = self.partition(&self.is_target);
    }

    /// Partitions and limits for the targets of the last pass.
    ///
    /// # Errors
    /// The strategy is invalid.
    pub const fn partitioning(&self) -> Result<&Partitioning, &StrategyError> {
        self.plan.as_ref()
    }

    /// The partitions of the last pass; none if the strategy is invalid.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        self.plan.as_ref().map_or(&[], |plan| &plan.partitions)
    }

    fn partition(&self, is_target: &[bool]) -> Result<Partitioning, StrategyError> {
        let targets: Vec<u32> = self.by_name.iter().copied().filter(|index| is_target[*index as usize]).collect();
        Partitioning::new(&self.strategy, &self.clusters, &targets)
    }

    fn decide(&self, plan: &Partitioning, view: &BundleView, seen: &mut Observation) -> PassOutcome {
        match self.rules {
            RuleSet::Shipped => {
                let max_new = self.strategy.max_new.unwrap_or(pass::MAX_NEW);
                pass::shipped(plan, max_new, view, seen)
            }
            RuleSet::Documented => {
                let is_partition_limit_set = self.strategy.max_unavailable_partitions.is_some();
                documented::documented(plan, is_partition_limit_set, view, seen)
            }
        }
    }

    /// One pass of the bundle reconciler. It looks at every cluster; [`Self::reconcile_changed`] looks at few.
    ///
    /// # Panics
    /// If the view does not have one entry for each cluster.
    pub fn reconcile(&mut self, _now: SimTime, view: &BundleView) -> Pass<BundleAction, BundleStatus> {
        assert_eq!(view.clusters.len(), self.clusters.len(), "the view has one entry for each cluster");
        self.ledger = None;
        let mut seen = std::mem::take(&mut self.seen);
        seen.observe(view, &self.by_name, &self.is_target);
        if seen.targets_changed {
            self.is_target = view.clusters.iter().map(|cluster| cluster.targeted).collect();
            self.plan = self.partition(&self.is_target);
        }
        let pass = match &self.plan {
            Err(error) => failed(error.clone()),
            Ok(plan) => {
                let mut outcome = self.decide(plan, view, &mut seen);
                outcome.actions.extend(seen.orphans.iter().map(|&target| BundleAction::Delete(target)));
                let not_ready = std::mem::take(&mut seen.not_ready);
                let status = BundleStatus::of(plan, &mut outcome, seen.summary, not_ready, seen.stores_flags);
                Pass { actions: outcome.actions, wake_at: None, status }
            }
        };
        self.seen = seen;
        pass
    }
}

/// A pass that found the strategy invalid: it changes nothing, and only a change starts the next pass.
fn failed(error: StrategyError) -> Pass<BundleAction, BundleStatus> {
    Pass { actions: Vec::new(), wake_at: None, status: BundleStatus { error: Some(error), ..BundleStatus::default() } }
}
