//! The top level of the experiment file.
//!
//! Most settings are types in [`crate::world`] that are deserialized directly. The doc comments also appear in the
//! JSON Schema, where editors show them. Alternatives are chosen by key (`rancherFleet: {…}`), so that every error has
//! the right line.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::application_file::ApplicationFile;
use super::assertion::AssertionFields;
use super::changes::ChangeFile;
use super::clock::StartTime;
use super::distribution::DistributionFile;
use super::file_plan::PlanFile;
use super::file_uncertainty::UncertaintyFields;
use super::fleet::{ClusterGroupFile, InventoryFields};
use super::operator_file::OperatorRuleFile;
use super::precision::PrecisionFields;
use super::price::PriceFile;
use super::release::ReleaseFile;
use super::release_times::ReleaseTimes;
use crate::control_plane::ControlLoop;
use crate::document::text_or::TextOr;
use crate::products::StrategyChoice;
use crate::units::SimDuration;
use crate::units::serial::Ordered;
use crate::world::{
    AgentSpec, ClusterSpec, CountOrPercent, FaultSpec, MirrorSpec, NamedRegistry, NodeSpec,
    PodSpec, RegionSpec, RegistrySpec,
};

/// An experiment: a fleet, a registry, a release, faults, and the strategies to compare.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(title = "fleetsim experiment"))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct ExperimentFile {
    /// Short name of lowercase letters, digits and `-`; also names the results. Default: the folder's name.
    pub(crate) name: Option<String>,
    /// The question that the experiment answers, in one sentence.
    pub(crate) question: Option<String>,
    /// Seed for all random numbers.
    #[serde(default = "seed")]
    pub(crate) seed: u64,
    /// Runs of every variant, each with its own random numbers. Default: 20. With `precision`, the minimum number of
    /// runs (default: 10). The same replicate has the same random numbers in all variants.
    pub(crate) replicates: Option<u32>,
    /// Required precision of the results. Runs are added to each variant until it is reached.
    pub(crate) precision: Option<TextOr<PrecisionFields>>,
    /// Uncertainty about the model's constants. `constants` draws all constants, so that intervals include their
    /// uncertainty. Default: every constant keeps its value.
    pub(crate) uncertainty: Option<TextOr<UncertaintyFields>>,
    /// Simulated time after which a run ends. Clusters that are not ready by then are reported as unfinished.
    #[serde(default = "horizon")]
    pub(crate) horizon: SimDuration,
    /// Time at which the rollout starts. Examples: `22:00`, `Fri 22:00`, or with a date and a time zone, `2026-03-28
    /// 22:00 Europe/Berlin`. The default of the zone is UTC. Limits may then end at a time of day: `completion_p95 <
    /// 06:00`. The windows of products need a date.
    pub(crate) starts_at: Option<StartTime>,
    /// Total number of clusters in all groups of `fleet`; each group gets a share.
    pub(crate) clusters: Option<u64>,
    /// Groups of similar clusters. An experiment has `fleet`, `inventory`, or both.
    pub(crate) fleet: Option<Vec<ClusterSpec>>,
    /// Clusters as kubectl prints them: a file, or a file with nodes and links set by label. The command is `kubectl
    /// get clusters.fleet.cattle.io -A -o json`.
    pub(crate) inventory: Option<TextOr<InventoryFields>>,
    /// Fleet's cluster groups, for partitions that refer to one.
    pub(crate) cluster_groups: Option<Vec<ClusterGroupFile>>,
    /// Links to the registry that several clusters share.
    pub(crate) regions: Vec<RegionSpec>,
    /// The registry that images are pulled from.
    pub(crate) registry: Option<RegistrySpec>,
    /// Other registries, for images that refer to one.
    pub(crate) registries: Vec<NamedRegistry>,
    /// Path of the images from the registry to the nodes. Default: `{direct: {}}`.
    pub(crate) distribution: Option<DistributionFile>,
    /// Registries within a region, which the region's clusters query first.
    pub(crate) mirrors: Vec<MirrorSpec>,
    /// Kubelet and container runtime of every node.
    pub(crate) node: Option<NodeSpec>,
    /// Rates at which the pods of a cluster are created, scheduled and started.
    pub(crate) pods: PodSpec,
    /// The images and workloads that are rolled out. An experiment has `release` or `applications`.
    #[cfg_attr(test, schemars(with = "ReleaseFile"))]
    pub(crate) release: Option<ReleaseFile>,
    /// The times of releases: of `release`, and of later ones that supersede it. Default: one release at the start.
    pub(crate) releases: Option<ReleaseTimes>,
    /// Several applications, by name; a pattern such as `svc-{01..40}` stands for forty. Each has a release, clusters
    /// and a release time of its own.
    pub(crate) applications: Option<Ordered<ApplicationFile>>,
    /// Failures and defects. Default: none.
    pub(crate) faults: FaultSpec,
    /// People's actions during a rollout, such as stopping it. Default: none.
    pub(crate) changes: Vec<ChangeFile>,
    /// What people do when a rollout goes wrong. Example: `{when: failed > 5, within: 20 min, then: rollback}`.
    /// Default: nothing.
    pub(crate) operator: Vec<OperatorRuleFile>,
    /// Delays between the management cluster and a cluster, and the time to apply a revision. Defaults depend on the
    /// product.
    pub(crate) agent: Option<AgentSpec>,
    /// API requests and delays of the rollout controller's loop. Defaults depend on the product.
    pub(crate) controller: Option<ControlLoop>,
    /// What a rollout costs: prices of data, machines and requests, in one currency. Default: results have no cost.
    pub(crate) price: Option<PriceFile>,
    /// The strategies to compare. Each has a name of your choice, and one product with its configuration.
    #[cfg_attr(test, schemars(required))]
    pub(crate) strategies: Option<Ordered<StrategyChoice>>,
    /// Settings to vary: paths in this file, each with its values. Several paths form a grid. A path into one strategy
    /// does not affect the others.
    pub(crate) sweep: Option<Ordered<Vec<Value>>>,
    /// Limits that the results must meet, e.g. `completion_p95 < 4h`. If one is not met, the program exits with 99.
    pub(crate) assert: Option<Vec<TextOr<AssertionFields>>>,
    /// Targets that a run may leave on the old version: a number, or a share. A variant that leaves more than another
    /// beyond it is never the fastest, and a plan never recommends it. Default: none.
    pub(crate) allow_left_behind: Option<CountOrPercent>,
    /// The search of `fleetsim plan` for the best setting that meets the limits.
    pub(crate) plan: Option<PlanFile>,
}

const fn seed() -> u64 {
    1
}

const fn horizon() -> SimDuration {
    SimDuration::from_hours(24)
}
