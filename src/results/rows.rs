//! One type a table, one field a column.

use serde::{Deserialize, Serialize};

use crate::stats;

/// How a run ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// Every target runs its wanted revision and is ready.
    Complete,
    /// Nothing can happen any more that would move the rollout on.
    Stalled,
    /// The horizon came first.
    Horizon,
}

/// `runs.csv`: one simulated rollout.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunRow {
    /// Strategy and setting in one short text, unique in the experiment.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings, `name=value`, joined by `; `; empty without a sweep.
    pub setting: String,
    /// 0-based; the same replicate has the same luck in every variant.
    pub replicate: u32,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Which rule held the rollout when it ended unfinished; empty when complete.
    pub held_by: String,
    /// When the last target was ready on its wanted revision, as the product sees it, from the release; empty when
    /// unfinished.
    pub completion_s: Option<f64>,
    /// When 50 % of all targets were, from the release; empty when fewer ever were.
    pub t50_s: Option<f64>,
    /// When 90 % of all targets were.
    pub t90_s: Option<f64>,
    /// When 99 % of all targets were.
    pub t99_s: Option<f64>,
    /// Median over the clusters that got ready of the time from being told the new revision to being ready on it.
    #[serde(default)]
    pub update_p50_s: Option<f64>,
    /// 95th percentile of the same times.
    #[serde(default)]
    pub update_p95_s: Option<f64>,
    /// Longest of the same times.
    #[serde(default)]
    pub update_max_s: Option<f64>,
    /// When the run ended, from its start.
    pub end_s: f64,
    /// When the release came, from the start of the run: the length of a pre-pull, 0 without one.
    #[serde(default)]
    pub release_s: f64,
    /// Targets of the rollout.
    pub targets: u64,
    /// Targets ready on their wanted revision at the end.
    pub targets_done: u64,
    /// Most image pulls in progress at once, counted over nodes, from the runtime's first request to the last unpack.
    pub peak_pulls: u64,
    /// Most layer downloads in progress at once.
    pub peak_downloads: u64,
    /// Most clusters at once with an image pull in progress.
    pub peak_pulling_clusters: u64,
    /// Bytes that left the registry.
    pub egress_bytes: u64,
    /// Bytes that arrived for layers that are whole on their node.
    pub received_bytes: u64,
    /// Bytes that failed attempts had received and threw away, or held unfinished at the end.
    pub lost_bytes: u64,
    /// Bytes of `egress_bytes` that went to caches and to the seeds of swarms.
    #[serde(default)]
    pub upstream_bytes: u64,
    /// Bytes that caches and mirrors sent to nodes.
    #[serde(default)]
    pub cache_bytes: u64,
    /// Bytes that nodes, and seeds of swarms, sent to nodes.
    #[serde(default)]
    pub peer_bytes: u64,
    /// Highest mean rate of the registry's egress over a second (bins at whole seconds), in bytes per second.
    pub egress_peak_1s_bytes_per_s: f64,
    /// Highest mean rate over a minute (60 consecutive bins), in bytes per second.
    pub egress_peak_60s_bytes_per_s: f64,
    /// Share of the time until the end in which the registry's egress was at its capacity.
    pub egress_busy_share: f64,
    /// Requests to the registry's API, those answered with 429 included.
    pub requests: u64,
    /// Requests answered with 429.
    pub responses_429: u64,
    /// Requests answered with 503.
    #[serde(default)]
    pub responses_503: u64,
    /// Requests that no host answered in time.
    #[serde(default)]
    pub request_timeouts: u64,
    /// Image pulls started.
    pub pulls: u64,
    /// Attempts to pull that failed, for whatever reason.
    pub failed_pulls: u64,
    /// Of them, those that the kubelet's own rate refused.
    #[serde(default)]
    pub failed_pulls_kubelet_rate: u64,
    /// Of them, those whose tries were all answered with 429.
    #[serde(default)]
    pub failed_pulls_429: u64,
    /// Of them, those that were answered with 503.
    #[serde(default)]
    pub failed_pulls_503: u64,
    /// Of them, those whose requests were not answered.
    #[serde(default)]
    pub failed_pulls_unreachable: u64,
    /// Of them, those that the runtime cancelled because nothing came.
    #[serde(default)]
    pub failed_pulls_no_progress: u64,
    /// Times a pod was sent into image back-off.
    pub backoffs: u64,
    /// Containers that crashed.
    pub crashes: u64,
    /// Most clusters at once that were not ready (updating ones included).
    pub peak_not_ready: u64,
    /// Time integral of the clusters that were not ready, in cluster-hours.
    pub not_ready_cluster_hours: f64,
    /// Targets that were told to run a revision that is defective in their cluster.
    pub exposed_targets: u64,
    /// Passes of the scheduler.
    pub passes: u64,
    /// Targets told to run the new revision.
    pub promotions: u64,
    /// Most targets told in one pass.
    pub peak_promotions_per_pass: u64,
    /// Events that the engine handled.
    pub events: u64,
}

/// One time bin of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SeriesRow {
    /// Start of the bin.
    pub t_s: f64,
    /// Most image pulls in progress at once in the bin.
    pub pulls: u64,
    /// Most layer downloads in progress at once in the bin.
    pub downloads: u64,
    /// Bytes that left the registry in the bin, divided by its length.
    pub egress_bytes_per_s: f64,
    /// Targets ready on the wanted revision at the end of the bin.
    pub ready_new: u64,
    /// Targets told the wanted revision, not ready yet, and getting on.
    pub updating: u64,
    /// Targets told the wanted revision, not ready, and not getting on: offline, or a pod waits in back-off.
    pub not_ready: u64,
    /// Targets not told the wanted revision yet.
    pub waiting: u64,
}

/// One target of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ClusterRow {
    /// The cluster's name.
    pub cluster: String,
    /// The stage (Fleet: partition) that the scheduler put it in; empty for none, joined by `; ` for several.
    pub stage: String,
    /// Whether it was offline when the rollout started.
    pub offline: bool,
    /// Whether the new revision is defective in it.
    pub defective: bool,
    /// When the scheduler told it the new revision; empty for never.
    pub told_s: Option<f64>,
    /// When its agent had applied the new revision.
    pub applied_s: Option<f64>,
    /// When its first image pull started.
    pub first_pull_s: Option<f64>,
    /// When its last image pull ended.
    pub last_pull_s: Option<f64>,
    /// When it was ready on the new revision, as the product sees it.
    pub ready_s: Option<f64>,
    /// Image pulls started.
    pub pulls: u64,
    /// Attempts that failed.
    pub failed_pulls: u64,
    /// Bytes received from the registry.
    pub received_bytes: u64,
}

impl ClusterRow {
    /// How long its update took: from being told the new revision to being ready on it. `None` when it never was.
    #[must_use]
    pub fn update_s(&self) -> Option<f64> {
        Some(self.ready_s? - self.told_s?)
    }
}

/// Quantiles of how long updates took, over the clusters of one run that got ready. `None` when none did.
#[must_use]
pub fn update_quantiles<const N: usize>(clusters: &[ClusterRow], shares: [f64; N]) -> [Option<f64>; N] {
    let took: Vec<f64> = clusters.iter().filter_map(ClusterRow::update_s).collect();
    let sorted = stats::sorted(&took);
    shares.map(|share| stats::quantile_of_sorted(&sorted, share))
}

/// One pass of the scheduler.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct PassRow {
    /// When the pass began.
    pub t_s: f64,
    /// How long it took.
    pub duration_s: f64,
    /// Objects created.
    pub created: u64,
    /// Targets told to run another revision.
    pub promoted: u64,
    /// Unavailable targets as the product counts them at the start of the pass.
    pub unavailable: u64,
}

/// All that is kept of one run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunRecord {
    /// The run's measures.
    pub run: RunRow,
    /// Its time series; all bins have the same length.
    pub series: Vec<SeriesRow>,
    /// Length of a bin.
    pub bin_s: f64,
    /// One row a target, in the fleet's order.
    pub clusters: Vec<ClusterRow>,
    /// One row a pass.
    pub passes: Vec<PassRow>,
}
