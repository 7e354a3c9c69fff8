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
//! Each rule is written once, against ordered sets that follow changes (`ledger.rs`). A pass over all clusters builds
//! them; one over what changed ([`RancherFleet::reconcile_changed`]) costs what changed. Left out: the selection of
//! targets (target customization, `doNotDeploy`), Policies and sharding. Values secrets, and a cache that lags behind
//! the controller's own writes, are in `products/rancher_fleet`.

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
mod partition;
mod pass;
mod status;
#[cfg(test)]
mod tests;
mod view;

use super::{Pass, TargetSet, by_name};
use fleetsim_units::SimTime;

pub use super::{IntOrString, RuleSet};
pub use cluster::{ClusterGroup, FleetCluster, groups_of};
pub use config::{ManualPartition, RolloutStrategy};
pub use explain::{BundleExplanation, explain};
pub use limit::{FleetLimitError, limit};
pub use matcher::selected_by;
pub use partition::{Partition, Partitioning, StrategyError};
pub use status::{BundleDecision, BundleState, BundleStatus, BundleSummary};
pub use view::{BundleAction, BundleDeployment, BundleView, ClusterView};

use ledger::{BundleLedger, PartitionMembers};
use pass::BundlePass;

/// The scheduler of one bundle.
#[derive(Clone, Debug)]
pub struct RancherFleet {
    rules: RuleSet,
    strategy: RolloutStrategy,
    /// Statuses compare a deployment with the id that is wanted, not with the deployed one.
    judges_wanted: bool,
    clusters: Vec<FleetCluster>,
    /// Indices into `clusters` in the byte order of names.
    by_name: Vec<u32>,
    plan: Result<Partitioning, StrategyError>,
    /// The clusters as the last pass saw them.
    ledger: Option<BundleLedger>,
}

impl RancherFleet {
    /// A scheduler for these clusters; the index of a cluster is its [`TargetId`](super::TargetId). Each view states
    /// which of them are targets; before the first pass all are. Clusters with equal names are updated in list order,
    /// which Fleet leaves open.
    pub fn new(strategy: RolloutStrategy, rules: RuleSet, clusters: Vec<FleetCluster>) -> Self {
        let by_name = by_name(&clusters, |cluster| &cluster.name);
        let plan = Partitioning::new(&strategy, &clusters, &by_name);
        Self {
            rules,
            strategy,
            judges_wanted: true,
            clusters,
            by_name,
            plan,
            ledger: None,
        }
    }

    /// The same, whose statuses compare a deployment with the id that is wanted, as from 0.16 on, or with the deployed
    /// one.
    #[must_use]
    pub fn judging_wanted(mut self, judges_wanted: bool) -> Self {
        self.judges_wanted = judges_wanted;
        self
    }

    /// Replaces the strategy, as a change of the bundle does. All clusters are targets until the next pass.
    pub fn set_strategy(&mut self, strategy: RolloutStrategy) {
        let clusters = std::mem::take(&mut self.clusters);
        *self = Self::new(strategy, self.rules, clusters).judging_wanted(self.judges_wanted);
    }

    /// Replaces the clusters, as a change of their labels or groups does. All are targets until the next pass.
    pub fn set_clusters(&mut self, clusters: Vec<FleetCluster>) {
        let strategy = std::mem::take(&mut self.strategy);
        *self = Self::new(strategy, self.rules, clusters).judging_wanted(self.judges_wanted);
    }

    /// Partitions and limits for the targets of the last pass.
    ///
    /// # Errors
    /// The strategy is invalid.
    pub const fn partitioning(&self) -> Result<&Partitioning, &StrategyError> {
        self.plan.as_ref()
    }

    fn partitioning_of(&self, view: &BundleView) -> Result<Partitioning, StrategyError> {
        let is_target = |index: &u32| view.clusters[*index as usize].targeted;
        let targets: Vec<u32> = self.by_name.iter().copied().filter(is_target).collect();
        Partitioning::new(&self.strategy, &self.clusters, &targets)
    }

    fn decide<M: PartitionMembers>(&self, pass: &mut BundlePass<'_, M>) {
        match self.rules {
            RuleSet::Shipped => pass.shipped(self.strategy.max_new.unwrap_or(pass::MAX_NEW)),
            RuleSet::Documented => {
                pass.documented(self.strategy.max_unavailable_partitions.is_some());
            }
        }
    }

    /// One pass of the bundle reconciler, which looks at every cluster.
    ///
    /// # Panics
    /// If the view does not have one entry for each cluster.
    pub fn reconcile(&mut self, now: SimTime, view: &BundleView) -> BundleDecision {
        self.ledger = None;
        self.reconcile_changed(now, view, &TargetSet::default())
    }

    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only clusters in
    /// `changed` differ from those of the last pass, also by what storing it changed ([`BundleStatus::stored`]). The
    /// first pass, and one after a change of strategy, labels, targets or the bundle's pause, looks at all.
    ///
    /// # Panics
    /// If the view does not have one entry for each cluster.
    pub fn reconcile_changed(
        &mut self,
        _now: SimTime,
        view: &BundleView,
        changed: &TargetSet,
    ) -> BundleDecision {
        assert_eq!(
            view.clusters.len(),
            self.clusters.len(),
            "the view has one entry for each cluster"
        );
        let mut ledger = self.ledger.take();
        if !ledger
            .as_mut()
            .is_some_and(|ledger| ledger.update(view, changed))
        {
            self.plan = self.partitioning_of(view);
            ledger = self
                .plan
                .as_ref()
                .ok()
                .map(|plan| BundleLedger::new(plan, &self.by_name, view, self.judges_wanted));
        }
        let (Ok(plan), Some(mut ledger)) = (&self.plan, ledger) else {
            // It changes nothing, and only a change starts the next pass.
            let status = BundleStatus {
                error: self.plan.as_ref().err().cloned(),
                ..BundleStatus::default()
            };
            return Pass {
                actions: Vec::new(),
                wake_at: None,
                status,
            };
        };
        let (summary, not_ready, unavailable) =
            (ledger.summary, ledger.first_not_ready(), ledger.unavailable);
        let mut pass = BundlePass::new(plan, &mut ledger, unavailable);
        self.decide(&mut pass);
        let BundlePass {
            mut actions,
            status,
            ..
        } = pass;
        actions.extend(ledger.orphans().map(BundleAction::Delete));
        let mut stored: Vec<u32> = actions
            .iter()
            .map(|action| action.target().0)
            .chain(ledger.stale.iter())
            .collect();
        stored.sort_unstable();
        stored.dedup();
        let status = BundleStatus {
            summary,
            not_ready,
            stored,
            ..status
        };
        self.ledger = Some(ledger);
        Pass {
            actions,
            wake_at: None,
            status,
        }
    }
}
