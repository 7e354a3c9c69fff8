//! Settings of everything that can fail. By default nothing fails.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::calibration;
use crate::world::clusters::apply_rules::ApplyFailure;
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::guest::GuestFaults;
use crate::world::quantity::{DurationModel, FactorModel};
use fleetsim_rollout::label_selector::LabelSelector;
use fleetsim_units::{Share, SimDuration};

/// Failures, as shares and distributions. Each run draws its own failures from them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct FaultSpec {
    /// Random failures of the runs of a study: independent, or spread evenly over the runs.
    pub draws: FaultDrawKind,
    /// Clusters that are offline when the rollout starts.
    pub offline: OfflineSpec,
    /// Outages of single clusters, before and during the rollout. `{}` selects the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<OutageSpec>,
    /// Outages of several clusters together.
    pub regional: Vec<RegionalOutageSpec>,
    /// Clusters that are slower than others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowSpec>,
    /// Probability that an attempt to pull an image aborts.
    pub pull_failure: Share,
    /// Share of clusters in which the new revision's images are never found.
    pub not_found: Share,
    /// Clusters in which the new revision is defective.
    pub defect: DefectSpec,
    /// Clusters in which applies of the new revision fail. If several entries affect a cluster, the first counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apply: Vec<ApplyFaultSpec>,
    /// Nodes that fail and recover. `{}` selects the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_loss: Option<NodeLossSpec>,
    /// A failure model of another program, which no file can name.
    #[serde(skip)]
    pub guest: Option<GuestFaults>,
}

/// What can fail in one release of one application.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ReleaseFaults {
    /// Share of clusters in which the release's images are never found.
    pub not_found: Share,
    /// Clusters in which the release is defective.
    pub defect: DefectSpec,
    /// Clusters in which applies of the release fail. If several entries affect a cluster, the first counts.
    pub apply: Vec<ApplyFaultSpec>,
}

/// Random failures of the runs of a study.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum FaultDrawKind {
    /// Each run draws its own failures.
    #[default]
    Independent,
    /// Regional outages, and the numbers of clusters that are offline, defective, slow or without images, are spread
    /// evenly over the runs. A rare failure then occurs in nearly as many runs as expected.
    Stratified,
}

/// Clusters that are offline when the rollout starts.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OfflineSpec {
    /// Share of all clusters, drawn in each run. Clusters with `offline: true` are offline in addition to these.
    #[serde(default)]
    pub share: Share,
    /// Time from the start of the rollout until these clusters reconnect. Default: they stay offline.
    #[serde(default, rename = "return", skip_serializing_if = "Option::is_none")]
    pub comes_back: Option<DurationModel>,
}

/// Outages of each cluster, independent of the other clusters.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct OutageSpec {
    /// Time from the end of an outage to the start of the next. Its mean must be at least 1 s.
    pub between: DurationModel,
    /// Duration of an outage. Its mean must be finite.
    pub repair: DurationModel,
    /// The connections that an outage cuts.
    pub cuts: CutKind,
    /// A brownout instead of `cuts`: the share of the cluster's downlink that remains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downlink: Option<Share>,
}

impl Default for OutageSpec {
    fn default() -> Self {
        Self {
            between: calibration::outage_between(),
            repair: calibration::OUTAGE_REPAIR,
            cuts: CutKind::All,
            downlink: None,
        }
    }
}

/// Outages of several clusters together: in configured windows, or drawn.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct RegionalOutageSpec {
    /// The clusters behind this link: a name in `regions`. Set either this or `selector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The clusters that a Kubernetes label selector selects. Set either this or `region`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Windows in which the clusters are cut off. Set either these, or `between` and `repair`.
    pub windows: Vec<OutageWindow>,
    /// Time from the end of an outage to the start of the next, drawn once for all clusters. Its mean must be at least
    /// 1 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<DurationModel>,
    /// Duration of an outage. Its mean must be finite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<DurationModel>,
    /// The connections that an outage cuts.
    pub cuts: CutKind,
    /// A brownout instead of `cuts`: the share of each cluster's downlink that remains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downlink: Option<Share>,
    /// The clusters of `region` or `selector`: indices into [`crate::world::WorldSpec::clusters`].
    #[serde(skip)]
    pub clusters: Vec<usize>,
}

/// A period in which clusters are cut off.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OutageWindow {
    /// Start of the window, from the start of the rollout.
    pub from: SimDuration,
    /// Duration of the window.
    #[serde(rename = "for")]
    pub lasts: SimDuration,
}

/// Clusters that are slower than others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SlowSpec {
    /// Share of all clusters.
    pub share: Share,
    /// Factor by which downlink, unpacking and container starts are slower.
    pub factor: FactorModel,
}

/// Clusters in which the new revision is defective.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DefectSpec {
    /// Share of all clusters.
    pub share: Share,
    /// Behaviour of a defective container.
    #[serde(default)]
    pub kind: DefectKind,
    /// Time that a defective container runs before it crashes.
    #[serde(default = "crash_after")]
    pub crash_after: DurationModel,
    /// Time for which a defective container is ready before the defect shows. Default: it never works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected_after: Option<DurationModel>,
}

const fn crash_after() -> DurationModel {
    calibration::CRASH_AFTER
}

impl Default for DefectSpec {
    fn default() -> Self {
        Self {
            share: Share::NONE,
            kind: DefectKind::Crashes,
            crash_after: crash_after(),
            detected_after: None,
        }
    }
}

/// Behaviour of a defective container.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum DefectKind {
    /// The container's process exits.
    #[default]
    Crashes,
    /// The container runs, but never answers its readiness probe.
    Unready,
}

/// Clusters in which applies of the new revision fail.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ApplyFaultSpec {
    /// Share of all clusters, drawn in each run. Set either this or `clusters`.
    #[serde(default)]
    pub share: Share,
    /// The names of the clusters. Set either these or `share`.
    #[serde(default)]
    pub clusters: Vec<String>,
    /// The kind of failure.
    pub kind: ApplyFailure,
    /// Number of applies that fail in each of these clusters before one succeeds. Default: all fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Time from the start of an apply until it fails. Default: the duration of a successful apply. With `timeout`, 10
    /// s are added, within which an admission webhook must answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<DurationModel>,
}

/// Nodes that fail and recover, each independent of the others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct NodeLossSpec {
    /// Time from a node's recovery to its next failure. Its mean must be at least 1 s.
    pub between: DurationModel,
    /// Time until a failed node recovers. Its mean must be finite.
    pub repair: DurationModel,
    /// Time from a node's failure until it counts as not ready.
    pub grace: SimDuration,
    /// Time from when a node counts as not ready until the pods of Deployments are replaced.
    pub eviction: SimDuration,
}

impl Default for NodeLossSpec {
    fn default() -> Self {
        Self {
            between: calibration::node_loss_between(),
            repair: calibration::NODE_LOSS_REPAIR,
            grace: calibration::NODE_GRACE,
            eviction: calibration::NODE_EVICTION,
        }
    }
}
