//! All measures, each defined once with its name, unit and meaning.
//!
//! A measure's name is its column in `runs.csv`. `summary.csv` has one row for each variant and measure.

use super::{RunOutcome, RunRow};

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

/// Defines a measure that every run has.
macro_rules! counted {
    ($name:ident, $unit:literal, $definition:literal) => {
        Measure {
            name: stringify!($name),
            unit: $unit,
            definition: $definition,
            // Counts stay far below 2^53, so conversion is exact.
            of: |run| Some(run.$name as f64),
            is_late_if_missing: false,
        }
    };
}

/// Defines a time that is not known of every run.
macro_rules! known {
    ($name:ident, $definition:literal) => {
        Measure {
            name: stringify!($name),
            unit: "s",
            definition: $definition,
            of: |run| run.$name,
            is_late_if_missing: false,
        }
    };
}

/// Defines a time that a run may not reach.
macro_rules! reached {
    ($name:ident, $definition:literal) => {
        Measure { is_late_if_missing: true, ..known!($name, $definition) }
    };
}

/// All measures, in the order of their columns.
pub const MEASURES: &[Measure] = &[
    Measure {
        name: "completion_s",
        unit: "s",
        definition: "Time from release until the last target was ready, as the product sees it; finished runs only.",
        of: |run| run.completion_s.filter(|_| run.outcome == RunOutcome::Complete),
        is_late_if_missing: true,
    },
    reached!(
        reachable_ready_s,
        "Time from release until all reachable targets were ready; empty if they never were at the same time."
    ),
    known!(
        reported_s,
        "Time from release until the product itself reported completion; empty if it did not, or has no such report."
    ),
    known!(
        path_rule_s,
        "Part of the time until all reachable targets were ready, along the critical path: waits for rules of the strategy."
    ),
    known!(path_people_s, "The same: waits for approvals and other acts of people."),
    known!(path_transfer_s, "The same: time with a download in progress."),
    known!(path_unpack_s, "The same: time with a pull, but no download, in progress."),
    known!(path_start_s, "The same: replacing and starting pods, probes, and waits after failures."),
    known!(path_report_s, "The same: instructions to clusters and reports from them."),
    reached!(t50_s, "Time from release until 50% of all targets were ready; empty if fewer ever were."),
    reached!(t90_s, "Time from release until 90% of all targets were ready; empty if fewer ever were."),
    reached!(t99_s, "Time from release until 99% of all targets were ready; empty if fewer ever were."),
    known!(update_p50_s, "Median time from promotion to ready over this run's clusters that became ready."),
    known!(update_p95_s, "95th percentile of the same times."),
    known!(update_max_s, "Longest of the same times: the slowest cluster that became ready."),
    counted!(end_s, "s", "End of the run, finished or not, from its start."),
    counted!(release_s, "s", "Time of the release from the start of the run: the length of a pre-pull."),
    counted!(targets, "targets", "Targets of the rollout."),
    counted!(targets_done, "targets", "Targets ready at the end."),
    counted!(
        reachable_targets,
        "targets",
        "Targets that are ready at the end, or not paused, with an agent, and online at the end."
    ),
    counted!(
        paused_targets,
        "targets",
        "Targets not ready because they are paused, and the product leaves such alone."
    ),
    counted!(agentless_targets, "targets", "Targets not ready because they have no agent."),
    counted!(offline_targets, "targets", "Other targets that are not ready and offline at the end."),
    counted!(offline_at_start, "clusters", "Clusters that were offline when the rollout started."),
    counted!(defective_targets, "targets", "Targets in which the new revision is defective."),
    counted!(peak_pulls, "pulls", "Highest number of concurrent image pulls, counted per node."),
    counted!(peak_downloads, "downloads", "Highest number of concurrent layer downloads."),
    counted!(
        peak_registry_downloads,
        "downloads",
        "Highest number of blobs that the registries send concurrently, to nodes, caches and seeds."
    ),
    counted!(peak_pulling_clusters, "clusters", "Highest number of clusters with an image pull in progress."),
    counted!(egress_bytes, "bytes", "Bytes that left the registry."),
    counted!(received_bytes, "bytes", "Bytes received for layers that arrived completely."),
    counted!(lost_bytes, "bytes", "Bytes that failed attempts discarded, or of downloads unfinished at the end."),
    counted!(upstream_bytes, "bytes", "Bytes that the registry sent to caches and swarm seeds."),
    counted!(cache_bytes, "bytes", "Bytes that caches and mirrors sent to nodes."),
    counted!(peer_bytes, "bytes", "Bytes that nodes and swarm seeds sent to nodes."),
    counted!(
        egress_peak_1s_bytes_per_s,
        "bytes/s",
        "Highest mean rate of the registry's egress over one second (bins at whole seconds)."
    ),
    counted!(
        egress_peak_60s_bytes_per_s,
        "bytes/s",
        "Highest mean rate of the registry's egress over 60 consecutive seconds."
    ),
    counted!(
        egress_p95_over_time_bytes_per_s,
        "bytes/s",
        "Rate that the registry's egress exceeded in 5% of the seconds until the end, to within 1.1%."
    ),
    counted!(
        egress_p99_over_time_bytes_per_s,
        "bytes/s",
        "Rate that it exceeded in 1% of the seconds, to within 1.1%."
    ),
    counted!(
        egress_busy_share,
        "1",
        "Share of time until the end in which the registry's egress was at its capacity; stragglers lower it."
    ),
    counted!(egress_busy_s, "s", "Time in which the registry's egress was at its capacity."),
    counted!(
        egress_busiest_hour_share,
        "1",
        "Greatest share of any 60 consecutive minutes in which the registry's egress was at its capacity."
    ),
    counted!(requests, "requests", "Requests to the registry's API, including those answered with 429."),
    counted!(responses_429, "requests", "Requests answered with 429."),
    counted!(responses_503, "requests", "Requests answered with 503."),
    counted!(request_timeouts, "requests", "Requests without a response in time."),
    counted!(pulls, "pulls", "Image pulls started."),
    counted!(failed_pulls, "pulls", "Image pull attempts that failed, for any reason."),
    counted!(failed_pulls_kubelet_rate, "pulls", "Failed pulls that the kubelet's own rate limit rejected."),
    counted!(failed_pulls_429, "pulls", "Failed pulls with a request that received 429 on every attempt."),
    counted!(failed_pulls_503, "pulls", "Failed pulls with a request that received 503."),
    counted!(failed_pulls_unreachable, "pulls", "Failed pulls with a request that received no response."),
    counted!(failed_pulls_no_progress, "pulls", "Failed pulls that the runtime cancelled for lack of progress."),
    counted!(backoffs, "pods", "Times a pod entered image pull back-off."),
    counted!(crashes, "containers", "Containers that crashed."),
    counted!(
        peak_not_ready,
        "clusters",
        "Highest number of clusters not ready at the same time, including those being updated."
    ),
    counted!(not_ready_cluster_hours, "cluster-hours", "Time integral of the number of clusters not ready."),
    counted!(exposed_targets, "targets", "Targets promoted to a revision that is defective in their cluster."),
    counted!(passes, "passes", "Scheduler passes."),
    counted!(promotions, "targets", "Targets promoted to the new revision."),
    counted!(peak_promotions_per_pass, "targets", "Most targets promoted in one pass."),
    counted!(events, "events", "Events that the engine processed."),
];
