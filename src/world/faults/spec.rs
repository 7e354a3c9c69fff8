//! Settings of everything that can fail. By default nothing does.

use crate::units::{Share, SimDuration};
use crate::world::quantity::{DurationModel, FactorModel};

/// What goes wrong, as shares and distributions; the luck itself is drawn per run. By default nothing does.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// Share of clusters that are offline when the rollout starts.
    pub offline: Share,
    /// When an offline cluster comes back, from the start of the rollout. `None`: never.
    pub offline_return: Option<DurationModel>,
    /// Outages of each cluster on its own, before and during the rollout.
    pub outages: Option<OutageSpec>,
    /// Outages of several clusters together.
    pub regional: Vec<RegionalOutageSpec>,
    /// Clusters that are slower than others.
    pub slow: Option<SlowSpec>,
    /// Probability that an attempt to pull an image fails on its way.
    pub pull_failure: Share,
    /// Share of clusters in which the new revision's images cannot be found, ever.
    pub not_found: Share,
    /// Share of clusters in which the new revision is defective.
    pub defect: Share,
    /// What a defective container does.
    pub defect_kind: DefectKind,
    /// How long a defective container runs before it crashes.
    pub crash_after: DurationModel,
    /// How long a defective container works before its defect shows, from its start. `None`: it never works.
    pub detected_after: Option<DurationModel>,
    /// Nodes that fail and come back.
    pub node_loss: Option<NodeLossSpec>,
}

impl Default for FaultSpec {
    fn default() -> Self {
        Self {
            offline: Share::NONE,
            offline_return: None,
            outages: None,
            regional: Vec::new(),
            slow: None,
            pull_failure: Share::NONE,
            not_found: Share::NONE,
            defect: Share::NONE,
            defect_kind: DefectKind::Crashes,
            crash_after: DurationModel::Constant(SimDuration::ZERO),
            detected_after: None,
            node_loss: None,
        }
    }
}

/// Outages of each cluster on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct OutageSpec {
    /// From the end of an outage to the beginning of the next; has a mean above zero.
    pub between: DurationModel,
    /// How long an outage lasts; has a mean.
    pub repair: DurationModel,
    /// What is cut.
    pub cuts: CutKind,
}

/// What an outage cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CutKind {
    /// All that goes into the cluster and out of it.
    All,
    /// The link to the management cluster; images still come.
    Management,
    /// A part of the downlink's capacity.
    Brownout {
        /// What is left of it.
        downlink: Share,
    },
}

/// Outages of several clusters together.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionalOutageSpec {
    /// The key of its luck.
    pub name: String,
    /// Indices into [`crate::world::WorldSpec::clusters`].
    pub clusters: Vec<usize>,
    /// What is cut.
    pub cuts: CutKind,
    /// When.
    pub times: RegionalTimes,
}

/// When several clusters are cut off together.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionalTimes {
    /// In these windows: from when, and for how long.
    Windows(Vec<(SimDuration, SimDuration)>),
    /// Again and again.
    Drawn {
        /// From the end of an outage to the beginning of the next; has a mean above zero.
        between: DurationModel,
        /// How long an outage lasts; has a mean.
        repair: DurationModel,
    },
}

/// Clusters that are slower than others.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowSpec {
    /// Share of clusters.
    pub share: Share,
    /// How many times slower such a cluster is.
    pub factor: FactorModel,
}

/// What a defective container does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DefectKind {
    /// Its process ends.
    Crashes,
    /// It runs, and does not answer its readiness probe.
    Unready,
}

/// Nodes that fail and come back, each on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeLossSpec {
    /// From a node's return to its next failure; has a mean above zero.
    pub between: DurationModel,
    /// How long it is away; has a mean.
    pub repair: DurationModel,
    /// From its failure until it counts as not ready.
    pub grace: SimDuration,
    /// From then until pods that do not tolerate it for ever are deleted.
    pub eviction: SimDuration,
}
