//! The row of a run with all measures, each defined once with its name, unit and meaning.
//!
//! A measure's name is its column in `runs.csv`. `summary.csv` has one row for each variant and measure.

use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// Every target runs its wanted revision and is ready.
    Complete,
    /// Nothing can move the rollout forward any more.
    Stalled,
    /// The run reached its time limit.
    Horizon,
}

/// The measure of how long a rollout takes: a column of `runs.csv`. It leaves out targets that cannot be updated, so
/// that one paused cluster does not hide the answer.
pub const READY_TIME: &str = "reachable_ready_s";

/// One measure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its column in `runs.csv`.
    pub name: &'static str,
    /// Its unit; `1` for shares.
    pub unit: &'static str,
    /// Its definition in one sentence.
    pub definition: &'static str,
    /// The measure of one run. `None` when the run has none, such as the completion time of an unfinished run.
    pub of: fn(&RunRow) -> Option<f64>,
    /// A run without it is later than every run with it, and counts in medians and comparisons. Other measures are
    /// unknown where they are missing.
    pub is_late_if_missing: bool,
}

/// A value in a measure's column.
trait MeasureValue {
    /// The value. `None` where the run has none.
    fn known(self) -> Option<f64>;
}

impl MeasureValue for u64 {
    // Counts stay far below 2^53, so conversion is exact.
    fn known(self) -> Option<f64> {
        Some(self as f64)
    }
}

impl MeasureValue for f64 {
    fn known(self) -> Option<f64> {
        Some(self)
    }
}

impl MeasureValue for Option<f64> {
    fn known(self) -> Option<f64> {
        self
    }
}

/// Defines the measures of a run: the documentation is the definition, then follow the column with its type, the unit,
/// `late` for a time that a run may not reach, and what must hold for the value to count.
macro_rules! run_row {
    ($($(#[doc = $definition:literal])+ $(#[serde($serde:ident)])?
       $name:ident: $type:ty, $unit:literal $(, $late:ident)? $(, when $counts:ident)?;)+) => {
        /// `runs.csv`: one simulated rollout.
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
        pub struct RunRow {
            /// Strategy and setting in one short text, unique in the experiment.
            pub variant: String,
            /// The strategy's name in the experiment file.
            pub strategy: String,
            /// The swept settings, `name=value`, joined by `; `; empty without a sweep.
            pub setting: String,
            /// Number of the run, from 0; the same replicate uses the same random numbers in every variant.
            pub replicate: u32,
            /// Its outcome.
            pub outcome: RunOutcome,
            /// The rule that blocked an unfinished rollout at the end; empty when complete.
            pub held_by: String,
            /// The limit that it had reached and the cause, in words.
            #[serde(default)]
            pub held_detail: String,
            $($(#[doc = $definition])+ $(#[serde($serde)])? pub $name: $type,)+
        }

        impl RunRow {
            /// Every number of a measure that is there, with its unit; also those that do not count.
            pub(super) fn numbers(&self) -> Vec<(f64, &'static str)> {
                let all = [$((self.$name.known(), $unit)),+];
                all.into_iter()
                    .filter_map(|(value, unit)| Some((value?, unit)))
                    .collect()
            }
        }

        /// All measures, in the order of their columns.
        pub const MEASURES: &[Measure] = &[$(Measure {
            name: stringify!($name),
            unit: $unit,
            definition: concat!($($definition),+).trim_ascii_start(),
            of: |run| run.$name.known()$(.filter(|_| run.$counts()))?,
            is_late_if_missing: !concat!("" $(, stringify!($late))?).is_empty(),
        }),+];
    };
}

run_row! {
    /// Time from release until the last target was ready, as the product sees it; finished runs only.
    completion_s: Option<f64>, "s", late, when is_complete;
    /// Time from release until all reachable targets were ready; empty if they never were at the same time.
    reachable_ready_s: Option<f64>, "s", late;
    /// Time from release until the product itself reported completion; empty if it did not, or has no such report.
    reported_s: Option<f64>, "s";
    /// Part of the time until all reachable targets were ready, along the critical path: waits for rules of the
    /// strategy.
    path_rule_s: Option<f64>, "s";
    /// The same: waits for approvals and other acts of people.
    path_people_s: Option<f64>, "s";
    /// The same: time with a pull in progress that downloads, asks the registry, or waits for a cache or cell.
    path_transfer_s: Option<f64>, "s";
    /// The same: time without downloads in which images are unpacked or written to disk.
    path_unpack_s: Option<f64>, "s";
    /// The same: replacing and starting pods, probes, and waits after failures.
    path_start_s: Option<f64>, "s";
    /// The same: instructions to clusters and reports from them.
    path_report_s: Option<f64>, "s";
    /// Time from release until 50% of all targets were ready; empty if fewer ever were.
    t50_s: Option<f64>, "s", late;
    /// Time from release until 90% of all targets were ready; empty if fewer ever were.
    t90_s: Option<f64>, "s", late;
    /// Time from release until 99% of all targets were ready; empty if fewer ever were.
    t99_s: Option<f64>, "s", late;
    /// Median time from promotion to ready over this run's clusters that became ready.
    update_p50_s: Option<f64>, "s";
    /// 95th percentile of the same times.
    update_p95_s: Option<f64>, "s";
    /// Longest of the same times: the slowest cluster that became ready.
    update_max_s: Option<f64>, "s";
    /// End of the run, finished or not, from its start.
    end_s: f64, "s";
    /// Time of the release from the start of the run: the length of a pre-pull.
    release_s: f64, "s";
    /// Targets of the rollout.
    targets: u64, "targets";
    /// Targets ready at the end.
    targets_done: u64, "targets";
    /// Targets that are ready at the end, or not paused, with an agent, and online at the end.
    #[serde(default)]
    reachable_targets: u64, "targets";
    /// Targets not ready because they are paused, and the product leaves such alone.
    #[serde(default)]
    paused_targets: u64, "targets";
    /// Targets not ready because they have no agent.
    #[serde(default)]
    agentless_targets: u64, "targets";
    /// Other targets that are not ready and offline at the end.
    #[serde(default)]
    offline_targets: u64, "targets";
    /// Clusters that were offline when the rollout started.
    #[serde(default)]
    offline_at_start: u64, "clusters";
    /// Targets in which the new revision is defective.
    #[serde(default)]
    defective_targets: u64, "targets";
    /// Highest number of concurrent image pulls, counted per node.
    peak_pulls: u64, "pulls";
    /// Highest number of concurrent layer downloads.
    peak_downloads: u64, "downloads";
    /// Highest number of blobs that the registries send concurrently, to nodes, caches and seeds.
    #[serde(default)]
    peak_registry_downloads: u64, "downloads";
    /// Highest number of clusters with an image pull in progress.
    peak_pulling_clusters: u64, "clusters";
    /// Bytes that left the registry.
    egress_bytes: u64, "bytes";
    /// Bytes received for layers that arrived completely.
    received_bytes: u64, "bytes";
    /// Bytes that failed attempts discarded, or of downloads unfinished at the end.
    lost_bytes: u64, "bytes";
    /// Bytes that the registry sent to caches and swarm seeds.
    upstream_bytes: u64, "bytes";
    /// Bytes that caches and mirrors sent to nodes.
    cache_bytes: u64, "bytes";
    /// Bytes that nodes and swarm seeds sent to nodes.
    peer_bytes: u64, "bytes";
    /// Highest mean rate of the registry's egress over one second (bins at whole seconds).
    egress_peak_1s_bytes_per_s: f64, "bytes/s";
    /// Highest mean rate of the registry's egress over 60 consecutive seconds.
    egress_peak_60s_bytes_per_s: f64, "bytes/s";
    /// Highest mean rate over one second that the registries send to the fleet and to others together.
    #[serde(default)]
    total_egress_peak_1s_bytes_per_s: f64, "bytes/s";
    /// Bytes that the registries sent to clients outside of the fleet.
    #[serde(default)]
    other_egress_bytes: f64, "bytes";
    /// Rate that the registry's egress exceeded in 5% of the seconds until the end, to within 1.1%.
    #[serde(default)]
    egress_p95_over_time_bytes_per_s: f64, "bytes/s";
    /// Rate that it exceeded in 1% of the seconds, to within 1.1%.
    #[serde(default)]
    egress_p99_over_time_bytes_per_s: f64, "bytes/s";
    /// Share of time until the end in which the registry's egress was at its capacity; stragglers lower it.
    egress_busy_share: f64, "1";
    /// Time in which the registry's egress was at its capacity.
    #[serde(default)]
    egress_busy_s: f64, "s";
    /// Greatest share of any 60 consecutive minutes in which the registry's egress was at its capacity.
    #[serde(default)]
    egress_busiest_hour_share: f64, "1";
    /// Requests to the registry's API, including those answered with 429.
    requests: u64, "requests";
    /// Requests answered with 429.
    responses_429: u64, "requests";
    /// Requests answered with 503.
    responses_503: u64, "requests";
    /// Requests without a response in time.
    request_timeouts: u64, "requests";
    /// Image pulls started.
    pulls: u64, "pulls";
    /// Image pull attempts that failed, for any reason.
    failed_pulls: u64, "pulls";
    /// Failed pulls that the kubelet's own rate limit rejected.
    failed_pulls_kubelet_rate: u64, "pulls";
    /// Failed pulls with a request that received 429 on every attempt.
    failed_pulls_429: u64, "pulls";
    /// Failed pulls with a request that received 503.
    failed_pulls_503: u64, "pulls";
    /// Failed pulls with a request that received no response.
    failed_pulls_unreachable: u64, "pulls";
    /// Failed pulls that the runtime cancelled for lack of progress.
    failed_pulls_no_progress: u64, "pulls";
    /// Times a pod entered image pull back-off.
    backoffs: u64, "pods";
    /// Containers that crashed.
    crashes: u64, "containers";
    /// Highest number of clusters not ready at the same time, including those being updated.
    peak_not_ready: u64, "clusters";
    /// Time integral of the number of clusters not ready.
    not_ready_cluster_hours: f64, "cluster-hours";
    /// Targets promoted to a revision that is defective in their cluster.
    exposed_targets: u64, "targets";
    /// Scheduler passes.
    passes: u64, "passes";
    /// Targets promoted to the new revision.
    promotions: u64, "targets";
    /// Most targets promoted in one pass.
    peak_promotions_per_pass: u64, "targets";
    /// Events that the engine processed, without those that only check a limit.
    events: u64, "events";
}

impl RunRow {
    /// Whether every target runs its wanted revision and is ready.
    fn is_complete(&self) -> bool {
        self.outcome == RunOutcome::Complete
    }

    /// Whether the rollout did all that it could: every reachable target was ready.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.reachable_ready_s.is_some()
    }

    /// The rule that blocked it with the detail, as `rule: detail`; empty when complete.
    #[must_use]
    pub fn held(&self) -> String {
        if self.held_detail.is_empty() {
            self.held_by.clone()
        } else {
            format!("{}: {}", self.held_by, self.held_detail)
        }
    }
}
