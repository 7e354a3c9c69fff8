//! `faults`: what goes wrong, as its author wrote it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Duration, Percent};
use super::spread::{Factor, Spread};
use crate::rollout::label_selector::LabelSelector;

/// What goes wrong.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FaultsFile {
    /// Clusters that are offline when the rollout starts. Default: none.
    pub(crate) offline: Option<OfflineFile>,
    /// Outages of each cluster on its own, before and during the rollout. Default: none.
    pub(crate) outages: Option<OutagesFile>,
    /// Outages of several clusters together. Default: none.
    pub(crate) regional: Option<Vec<RegionalFile>>,
    /// Clusters that are slower than others. Default: none.
    pub(crate) slow: Option<SlowFile>,
    /// Probability that an attempt to pull an image fails on its way. Default: 0%.
    pub(crate) pull_failure: Option<Percent>,
    /// Share of clusters in which the new revision's images cannot be found, ever. Default: 0%.
    pub(crate) not_found: Option<Percent>,
    /// Clusters in which the new revision is defective. Default: none.
    pub(crate) defect: Option<DefectFile>,
    /// Nodes that fail and come back. Default: none.
    pub(crate) node_loss: Option<NodeLossFile>,
}

/// Outages of each cluster on its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OutagesFile {
    /// From the end of an outage to the next. Default: {weibull: {mean: 30 d, shape: 0.75}}.
    pub(crate) between: Option<Spread>,
    /// How long an outage lasts. Default: {median: 1 h, sigma: 1.2}.
    pub(crate) repair: Option<Spread>,
    /// What is cut. Default: all.
    pub(crate) cuts: Option<CutsFile>,
    /// Instead of `cuts`, a brownout: what is left of the cluster's downlink.
    pub(crate) downlink: Option<Percent>,
}

/// What an outage cuts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CutsFile {
    /// All that goes into the cluster and out of it.
    All,
    /// The link to the management cluster; images still come.
    Management,
}

/// Outages of several clusters together: in given windows, or again and again.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RegionalFile {
    /// The clusters behind this link: a name of `regions`. This or `selector`.
    pub(crate) region: Option<String>,
    /// The clusters that a Kubernetes label selector selects. This or `region`.
    pub(crate) selector: Option<LabelSelector>,
    /// When they are cut off. These, or `between` and `repair`.
    pub(crate) windows: Option<Vec<WindowFile>>,
    /// From the end of an outage to the next.
    pub(crate) between: Option<Spread>,
    /// How long an outage lasts.
    pub(crate) repair: Option<Spread>,
    /// What is cut. Default: all.
    pub(crate) cuts: Option<CutsFile>,
    /// Instead of `cuts`, a brownout: what is left of each cluster's downlink.
    pub(crate) downlink: Option<Percent>,
}

/// A window of time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WindowFile {
    /// From the start of the rollout.
    pub(crate) from: Duration,
    /// How long.
    #[serde(rename = "for")]
    pub(crate) lasts: Duration,
}

/// Clusters that are slower than others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SlowFile {
    /// Share of all clusters.
    pub(crate) share: Percent,
    /// How many times slower their downlink, their unpacking and the starts of their containers are.
    pub(crate) factor: Spread<Factor>,
}

/// Nodes that fail and come back.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NodeLossFile {
    /// From a node's return to its next failure. Default: {weibull: {mean: 90 d, shape: 0.75}}.
    pub(crate) between: Option<Spread>,
    /// How long a node is away. Default: {median: 15 min, sigma: 1}.
    pub(crate) repair: Option<Spread>,
    /// From a node's failure until it counts as not ready. Default: 40 s.
    pub(crate) grace: Option<Duration>,
    /// From then until the pods of Deployments are replaced. Default: 300 s.
    pub(crate) eviction: Option<Duration>,
}

/// Offline clusters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OfflineFile {
    /// Share of all clusters.
    pub(crate) share: Percent,
    /// When such a cluster comes back, from the start of the rollout. Default: never.
    #[serde(rename = "return")]
    pub(crate) comes_back: Option<Spread>,
}

/// Clusters in which the new revision is defective.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct DefectFile {
    /// Share of all clusters.
    pub(crate) share: Percent,
    /// What a defective container does. Default: crashes.
    pub(crate) kind: Option<DefectKindFile>,
    /// How long a defective container runs before it crashes. Default: 5 s.
    pub(crate) crash_after: Option<Spread>,
    /// How long a defective container works, ready, before its defect shows. Default: it never works.
    pub(crate) detected_after: Option<Spread>,
}

/// What a defective container does.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DefectKindFile {
    /// Its process ends.
    Crashes,
    /// It runs, and does not answer its readiness probe.
    Unready,
}
