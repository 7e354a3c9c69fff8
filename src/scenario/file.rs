//! The experiment file: its top level.
//!
//! Most settings are the types of [`crate::world`], which read themselves. The doc comments are also shown by an editor,
//! through the JSON Schema. Alternatives are chosen by key (`rancherFleet: {…}`), so that every error points at its line.

use schemars::JsonSchema;
use serde::Deserialize;

use super::assertion::AssertionFile;
use super::distribution::DistributionFile;
use super::file_plan::PlanFile;
use super::fleet::{ClusterGroupFile, InventoryFile};
use super::precision::PrecisionFile;
use super::quantity::{Anything, Ordered};
use super::release::ReleaseFile;
use crate::products::StrategyChoice;
use crate::rollout::ControlLoop;
use crate::units::SimDuration;
use crate::world::{AgentSpec, ClusterSpec, FaultSpec, MirrorSpec, NamedRegistry, NodeSpec, RegionSpec, RegistrySpec};

/// An experiment: a fleet, a registry, a release, what goes wrong, and the strategies to compare.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[schemars(title = "fleetsim experiment")]
pub(crate) struct ExperimentFile {
    /// Short name of lowercase letters, digits and `-`. Default: the experiment folder's name.
    pub(crate) name: Option<String>,
    /// What the experiment asks, in one sentence.
    pub(crate) question: Option<String>,
    /// The root of all luck. Default: 1.
    pub(crate) seed: Option<u64>,
    /// Runs of every variant, each with its own luck; with `precision` the fewest. Default: 20, with `precision` 10.
    pub(crate) replicates: Option<u32>,
    /// How precise the results are to be: runs are added to a variant until they are. Default: `replicates` runs, however
    /// precise.
    pub(crate) precision: Option<PrecisionFile>,
    /// When a run is given up; what is not done by then is reported as unfinished. Default: 24h.
    pub(crate) horizon: Option<SimDuration>,
    /// How many clusters all groups of `fleet` are together, when each takes a share of them (`clusters: 90%`).
    pub(crate) clusters: Option<u64>,
    /// Groups of clusters that are alike. This, `inventory`, or both.
    pub(crate) fleet: Option<Vec<ClusterSpec>>,
    /// Clusters as `kubectl get clusters.fleet.cattle.io -A -o json` prints them: a file, or a file with what it does
    /// not tell (nodes and links).
    pub(crate) inventory: Option<InventoryFile>,
    /// Fleet's cluster groups, for partitions that name one.
    pub(crate) cluster_groups: Option<Vec<ClusterGroupFile>>,
    /// Links that several clusters share on their way from the registry.
    pub(crate) regions: Vec<RegionSpec>,
    /// Where images come from.
    pub(crate) registry: Option<RegistrySpec>,
    /// Other registries, for images that name one.
    pub(crate) registries: Vec<NamedRegistry>,
    /// How images get from the registry to the nodes. Default: {direct: {}}.
    pub(crate) distribution: Option<DistributionFile>,
    /// Registries of a region that are asked before the one above.
    pub(crate) mirrors: Vec<MirrorSpec>,
    /// What every node runs.
    pub(crate) node: Option<NodeSpec>,
    /// What is rolled out.
    #[schemars(required)]
    pub(crate) release: Option<ReleaseFile>,
    /// What goes wrong.
    pub(crate) faults: FaultSpec,
    /// How news travels between the management cluster and a cluster, and how long applying takes.
    pub(crate) agent: Option<AgentSpec>,
    /// How long a pass of the rollout controller takes.
    pub(crate) controller: Option<ControlLoop>,
    /// The strategies to compare: a name of your own -> one product with its configuration.
    #[schemars(required)]
    pub(crate) strategies: Option<Ordered<StrategyChoice>>,
    /// Settings to vary: a path in this file -> its values. Several paths make a grid. A path into one strategy leaves
    /// the others alone.
    pub(crate) sweep: Option<Ordered<Vec<Anything>>>,
    /// What the results must keep to, e.g. `completion_p95 < 4h`; the program exits with 99 when they do not.
    pub(crate) assert: Option<Vec<AssertionFile>>,
    /// What `fleetsim plan` searches for: the fastest settings that keep to limits.
    pub(crate) plan: Option<PlanFile>,
}
