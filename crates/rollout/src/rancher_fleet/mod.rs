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
//! | bundle | the object that is rolled out; it has the `rolloutStrategy` |
//! | target | a cluster that the bundle's `targets` select |
//! | deployment | the `BundleDeployment` object of a target |
//! | wanted, staged, deployed, applied id | the final id, the next id, the id for the agent, the id that it reports |
//! | promotion | setting the deployed id, which the cluster's agent then applies |
//! | unavailable | the applied id is not the deployed id, or not ready; healthy on an old version is available |
//!
//! [`RuleSet`] selects the shipped rules or the rules of the product's documentation (`documented.rs`). Surprising
//! shipped rules are kept. First deployments are limited only by `maxNew` per pass, so 200 clusters are created in
//! four consecutive passes. `maxUnavailable` limits updates, in the bundle and in each partition. The gate between
//! partitions is open by default, because `maxUnavailable` is 100%. An off-schedule cluster is promoted and then
//! counts as unavailable. Offline clusters are not detected, and nothing times out.
//!
//! Each rule is written once, against ordered sets that are updated with changes (`ledger.rs`). A full pass builds
//! them; the cost of a partial pass ([`RancherFleet::reconcile_changed`]) depends on what changed. Left out: Policies
//! and sharding. Values secrets, and a cache that lags behind the controller's own writes, are in
//! `products/rancher_fleet`.

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
mod targets;
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
pub use targets::{BundleTarget, BundleTargets, CustomizationMode, TargetChoice, TargetsError};
pub use view::{BundleAction, BundleDeployment, BundleView, ClusterView};

use ledger::{BundleLedger, PartitionMembers};
use pass::BundlePass;

/// The scheduler of one bundle.
#[derive(Clone, Debug)]
pub struct RancherFleet {
    rules: RuleSet,
    strategy: RolloutStrategy,
    /// Whether statuses compare a deployment with the wanted id instead of the deployed id.
    judges_wanted: bool,
    clusters: Vec<FleetCluster>,
    /// Indices into `clusters` in the byte order of names.
    by_name: Vec<u32>,
    plan: Result<Partitioning, StrategyError>,
    /// The clusters as the last pass saw them.
    ledger: Option<BundleLedger>,
}

impl RancherFleet {
    /// Creates a scheduler for these clusters; the index of a cluster is its [`TargetId`](super::TargetId). Each view
    /// shows which clusters are targets; before the first pass, all clusters are targets. Clusters with equal names
    /// are updated in list order; Fleet does not define their order.
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

    /// Sets whether statuses compare a deployment with the wanted id (since 0.16) or with the deployed id.
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

    /// Replaces the clusters, as a change of their labels or groups does. All clusters are targets until the next
    /// pass.
    pub fn set_clusters(&mut self, clusters: Vec<FleetCluster>) {
        let strategy = std::mem::take(&mut self.strategy);
        *self = Self::new(strategy, self.rules, clusters).judging_wanted(self.judges_wanted);
    }

    /// Returns the partitions and limits for the targets of the last pass.
    ///
    /// # Errors
    /// If the strategy is invalid.
    pub const fn partitioning(&self) -> Result<&Partitioning, &StrategyError> {
        self.plan.as_ref()
    }

    fn partitioning_of(&self, view: &BundleView) -> Result<Partitioning, StrategyError> {
        let mut targets = Vec::with_capacity(self.by_name.len());
        for &index in &self.by_name {
            if view.clusters[index as usize].targeted {
                targets.push(index);
            }
        }
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

    /// Runs one pass of the bundle reconciler over all clusters.
    ///
    /// # Panics
    /// If the view does not have one entry for each cluster.
    pub fn reconcile(&mut self, now: SimTime, view: &BundleView) -> BundleDecision {
        self.ledger = None;
        self.reconcile_changed(now, view, &TargetSet::default())
    }

    /// Runs one pass like [`Self::reconcile`], at a cost that depends on what changed. The caller guarantees that only
    /// clusters in `changed` differ from those of the last pass. `changed` includes the clusters that storing the last
    /// pass has changed ([`BundleStatus::stored`]). The first pass, and a pass after a change of strategy, labels,
    /// targets or the bundle's pause, examines all clusters.
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
        let known = self.take_ledger(view, changed);
        if known.is_none() {
            self.plan = self.partitioning_of(view);
        }
        let plan = match &self.plan {
            Ok(plan) => plan,
            Err(error) => return failed_pass(error.clone()),
        };
        let mut ledger = match known {
            Some(ledger) => ledger,
            None => BundleLedger::new(plan, &self.by_name, view, self.judges_wanted),
        };
        let mut decision = self.pass(plan, &mut ledger);
        decision.status.failures = first_failures(view, &decision.status);
        self.ledger = Some(ledger);
        decision
    }

    /// Takes the ledger out of the scheduler, updated with these changes. `None`: it does not cover all of them.
    fn take_ledger(&mut self, view: &BundleView, changed: &TargetSet) -> Option<BundleLedger> {
        let mut ledger = self.ledger.take()?;
        ledger.update(view, changed).then_some(ledger)
    }

    fn pass(&self, plan: &Partitioning, ledger: &mut BundleLedger) -> BundleDecision {
        // The status shows the states before the pass.
        let summary = ledger.summary;
        let not_ready = ledger.first_not_ready();
        let unavailable = ledger.unavailable;
        let mut pass = BundlePass::new(plan, ledger, unavailable);
        self.decide(&mut pass);
        let BundlePass {
            mut actions,
            mut status,
            ..
        } = pass;
        actions.extend(ledger.orphans().map(BundleAction::Delete));
        let changed = actions.iter().map(|action| action.target().0);
        let mut stored: Vec<u32> = changed.chain(ledger.stale.iter()).collect();
        stored.sort_unstable();
        stored.dedup();
        status.summary = summary;
        status.not_ready = not_ready;
        status.stored = stored;
        Pass {
            actions,
            wake_at: None,
            status,
        }
    }
}

/// Returns the messages of the first listed targets of each state whose apply failed.
fn first_failures(view: &BundleView, status: &BundleStatus) -> Vec<(BundleState, &'static str)> {
    let mut failures = Vec::new();
    for state in BundleState::ALL {
        let first = status.not_ready.iter().find(|(_, other)| *other == state);
        if let Some((target, _)) = first
            && let Some(deployment) = view.clusters[target.index()].deployment
            && let Some(failure) = deployment.failure
        {
            failures.push((state, failure));
        }
    }
    failures
}

/// Returns a pass that changes nothing. The next pass starts only after a change.
fn failed_pass(error: StrategyError) -> BundleDecision {
    Pass {
        actions: Vec::new(),
        wake_at: None,
        status: BundleStatus {
            error: Some(error),
            ..BundleStatus::default()
        },
    }
}
