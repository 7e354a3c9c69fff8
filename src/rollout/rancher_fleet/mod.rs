//! How Rancher Fleet chooses which clusters may move to a new version of a bundle.
//!
//! Follows rancher/fleet at 3b2c622ce176b11644abc7fb768f87c3ffb5a3ab:
//! `internal/cmd/controller/target/{builder,rollout,partition,status,target}.go`, `target/matcher/clustermatcher.go`,
//! `internal/cmd/controller/reconciler/{bundle_controller,bundle_status}.go`, `summary/summary.go`,
//! `status/status.go` and `pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go`. What these functions did when they
//! were run is recorded in `tests/conformance/rancher-fleet`, and every case of it is a test.
//!
//! Fleet's own words, kept in this folder:
//!
//! | word | meaning |
//! |---|---|
//! | bundle | what is rolled out; carries the `rolloutStrategy` |
//! | target | a cluster that the bundle's targeting selects |
//! | deployment | the `BundleDeployment` object of a target |
//! | wanted, staged, deployed, applied id | what it is to run in the end, next, what it is told, what it says |
//! | promotion | setting the deployed id: from then on the cluster is told |
//! | unavailable | applied is not deployed, or not ready; a healthy cluster on an old version is available |
//!
//! [`RuleSet`] chooses between what ships and what the product's document promises (`documented.rs`). Where shipped
//! rules surprise, they are kept: first deployments are limited by `maxNew` per pass only, so 200 clusters are created
//! in four passes back to back; `maxUnavailable` limits updates, over the bundle and in each partition; the gate
//! between partitions is open by default, because `maxUnavailable` is 100 %; an off-schedule cluster is promoted and
//! then counts as unavailable; nothing knows that a cluster is offline, and nothing times out.
//!
//! A pass costs a few nanoseconds a target: partitions are made anew only when targets, clusters or strategy change.
//! Left out: which clusters are targets at all (target customization, `doNotDeploy`), Policies, sharding, values
//! secrets, and a cache that lags behind the controller's own writes.

mod cluster;
mod config;
mod control_loop;
mod documented;
mod explain;
mod go_float;
mod hold;
mod limit;
mod matcher;
mod observe;
mod partition;
mod pass;
mod status;
#[cfg(test)]
mod tests;
mod view;

use super::{Hold, Pass, Scheduler};
use crate::units::SimTime;

pub use super::{IntOrString, RuleSet};
pub use cluster::{ClusterGroup, FleetCluster, groups_of};
pub use config::{FleetYaml, ManualPartition, RolloutStrategy};
pub use control_loop::{
    CONCURRENT_BUNDLES, DEPENDS_ON_RETRY, ERROR_RETRY, GIT_REPO_STATUS_DELAY, READINESS_DELAY, control_loop,
};
pub use explain::{BundleExplanation, PartitionExplanation, explain};
pub use limit::{FleetLimitError, limit};
pub use partition::{Partition, Partitioning, StrategyError};
pub use status::{BundleState, BundleStatus, BundleSummary, GitRepoStatus, PartitionStatus};
pub use view::{BundleDeployment, BundleView, ClusterView};

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
    /// Which clusters `plan` was made of.
    is_target: Vec<bool>,
    plan: Result<Partitioning, StrategyError>,
    /// Kept between passes for its memory alone.
    seen: Observation,
}

impl RancherFleet {
    /// A scheduler for these clusters; the index of one is its [`TargetId`](super::TargetId). Which of them are targets is part of
    /// each view; until the first pass all are. Clusters of the same name are worked on in the order of the list,
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
        };
        fleet.set_clusters(clusters);
        fleet
    }

    /// Replaces the strategy, as a change of the bundle does.
    pub fn set_strategy(&mut self, strategy: RolloutStrategy) {
        self.strategy = strategy;
        self.plan = self.partition(&self.is_target);
    }

    /// Replaces the clusters, as a change of their labels or groups does. All are targets until the next pass.
    pub fn set_clusters(&mut self, clusters: Vec<FleetCluster>) {
        self.by_name = targets_by_name(&clusters);
        self.is_target = vec![true; clusters.len()];
        self.clusters = clusters;
        self.plan = self.partition(&self.is_target);
    }

    /// The rules it follows.
    #[must_use]
    pub const fn rules(&self) -> RuleSet {
        self.rules
    }

    /// Partitions and limits for the targets of the last pass.
    ///
    /// # Errors
    /// What is wrong with the strategy.
    pub const fn partitioning(&self) -> Result<&Partitioning, &StrategyError> {
        self.plan.as_ref()
    }

    /// The partitions of the last pass; none if the strategy is invalid.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        self.plan.as_ref().map_or(&[], |plan| &plan.partitions)
    }

    /// What the GitRepo shows, some seconds after the bundle ([`GIT_REPO_STATUS_DELAY`]). Under documented rules,
    /// clusters that are in a partition and have no deployment yet are `Pending`; as shipped they do not appear.
    #[must_use]
    pub fn git_repo_status(&self, view: &BundleView) -> GitRepoStatus {
        let mut status = GitRepoStatus::of(view);
        if self.rules == RuleSet::Documented {
            let mut members: Vec<u32> = self.partitions().iter().flat_map(|p| p.members.iter().copied()).collect();
            members.sort_unstable();
            members.dedup();
            for _ in members.iter().filter(|member| view.clusters[**member as usize].deployment.is_none()) {
                status.summary.add(BundleState::Pending);
            }
        }
        status
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
}

impl Scheduler for RancherFleet {
    type View = BundleView;
    type Status = BundleStatus;

    /// One pass of the bundle reconciler.
    ///
    /// # Panics
    /// If the view does not have one entry for each cluster.
    fn reconcile(&mut self, _now: SimTime, view: &BundleView) -> Pass<BundleStatus> {
        assert_eq!(view.clusters.len(), self.clusters.len(), "the view has one entry for each cluster");
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
                outcome.actions.extend(seen.orphans.iter().map(|&target| super::Action::Delete { target }));
                Pass {
                    actions: outcome.actions,
                    wake_at: None,
                    status: BundleStatus {
                        error: None,
                        unavailable: outcome.unavailable,
                        max_unavailable: plan.max_unavailable,
                        unavailable_partitions: outcome.unavailable_partitions,
                        max_unavailable_partitions: plan.max_unavailable_partitions,
                        newly_created: outcome.newly_created,
                        summary: seen.summary,
                        not_ready: std::mem::take(&mut seen.not_ready),
                        partitions: outcome.partitions,
                        stores_flags: seen.stores_flags || outcome.newly_created > 0,
                    },
                }
            }
        };
        self.seen = seen;
        pass
    }

    /// Which rule holds the rollout at `view`. `None`: it is finished, or the next pass moves it on. It costs as much
    /// as several passes.
    fn hold(&self, view: &BundleView) -> Option<Hold> {
        hold::hold(self, view)
    }
}

/// A pass that found the strategy invalid: nothing is changed, and only a change starts another one.
fn failed(error: StrategyError) -> Pass<BundleStatus> {
    Pass { actions: Vec::new(), wake_at: None, status: BundleStatus { error: Some(error), ..BundleStatus::default() } }
}

/// Indices of all clusters in the byte order of their names; equal names keep the order of the list.
fn targets_by_name(clusters: &[FleetCluster]) -> Vec<u32> {
    let mut by_name: Vec<u32> = (0..clusters.len() as u32).collect();
    by_name.sort_by(|a, b| clusters[*a as usize].name.cmp(&clusters[*b as usize].name));
    by_name
}
