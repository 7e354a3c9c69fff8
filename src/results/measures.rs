//! What is measured: each measure once, with its name, unit and meaning.
//!
//! A measure's name is its column in `runs.csv`. `summary.csv` has one row for each variant and measure.

use super::{RunOutcome, RunRow};

/// One measure of a run.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its column in `runs.csv`.
    pub name: &'static str,
    /// Its unit; `1` for shares and counts of nothing in particular.
    pub unit: &'static str,
    /// What it is, in one sentence.
    pub definition: &'static str,
    /// The measure of one run. `None` when the run has none, such as the completion time of an unfinished run.
    pub of: fn(&RunRow) -> Option<f64>,
}

/// A measure that every run has.
macro_rules! counted {
    ($name:ident, $unit:literal, $definition:literal) => {
        Measure {
            name: stringify!($name),
            unit: $unit,
            definition: $definition,
            // Counts stay far below 2^53, so that none is rounded.
            of: |run| Some(run.$name as f64),
        }
    };
}

/// A time that a run may never reach.
macro_rules! reached {
    ($name:ident, $definition:literal) => {
        Measure { name: stringify!($name), unit: "s", definition: $definition, of: |run| run.$name }
    };
}

/// All measures, in the order of their columns.
pub const MEASURES: &[Measure] = &[
    Measure {
        name: "completion_s",
        unit: "s",
        definition: "When the last target was ready on its wanted revision, as the product sees it, from the release; finished \
                     runs only.",
        of: |run| run.completion_s.filter(|_| run.outcome == RunOutcome::Complete),
    },
    reached!(
        t50_s,
        "When 50 % of all targets were ready on their wanted revision, from the release; runs that came so far only."
    ),
    reached!(
        t90_s,
        "When 90 % of all targets were ready on their wanted revision, from the release; runs that came so far only."
    ),
    reached!(
        t99_s,
        "When 99 % of all targets were ready on their wanted revision, from the release; runs that came so far only."
    ),
    reached!(
        update_p50_s,
        "Median over this run's clusters of the time from being told the new revision to being ready on it; clusters that got \
         ready only."
    ),
    reached!(update_p95_s, "95th percentile over this run's clusters of the same time."),
    reached!(update_max_s, "Longest of the same times: the slowest cluster that got ready."),
    counted!(end_s, "s", "When the run ended, finished or not, from its start."),
    counted!(release_s, "s", "When the release came, from the start of the run: the length of a pre-pull."),
    counted!(targets, "targets", "Targets of the rollout."),
    counted!(targets_done, "targets", "Targets ready on their wanted revision at the end."),
    counted!(peak_pulls, "pulls", "Most image pulls in progress at once, counted over nodes."),
    counted!(peak_downloads, "downloads", "Most layer downloads in progress at once."),
    counted!(peak_pulling_clusters, "clusters", "Most clusters at once with an image pull in progress."),
    counted!(egress_bytes, "bytes", "Bytes that left the registry."),
    counted!(received_bytes, "bytes", "Bytes that arrived for layers that are whole on their node."),
    counted!(lost_bytes, "bytes", "Bytes that failed attempts threw away, or that were held unfinished at the end."),
    counted!(upstream_bytes, "bytes", "Bytes that left the registry for caches and the seeds of swarms."),
    counted!(cache_bytes, "bytes", "Bytes that caches and mirrors sent to nodes."),
    counted!(peer_bytes, "bytes", "Bytes that nodes, and seeds of swarms, sent to nodes."),
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
        egress_busy_share,
        "1",
        "Share of the time until the end in which the registry's egress was at its capacity."
    ),
    counted!(requests, "requests", "Requests to the registry's API, those answered with 429 included."),
    counted!(responses_429, "requests", "Requests answered with 429."),
    counted!(responses_503, "requests", "Requests answered with 503."),
    counted!(request_timeouts, "requests", "Requests that no host answered in time."),
    counted!(pulls, "pulls", "Image pulls started."),
    counted!(failed_pulls, "pulls", "Attempts to pull that failed, for whatever reason."),
    counted!(failed_pulls_kubelet_rate, "pulls", "Failed pulls that the kubelet's own rate refused."),
    counted!(failed_pulls_429, "pulls", "Failed pulls with a request whose tries were all answered with 429."),
    counted!(failed_pulls_503, "pulls", "Failed pulls with a request that was answered with 503."),
    counted!(failed_pulls_unreachable, "pulls", "Failed pulls with a request that was never answered."),
    counted!(failed_pulls_no_progress, "pulls", "Failed pulls that the runtime cancelled because nothing came."),
    counted!(backoffs, "pods", "Times a pod was sent into image back-off."),
    counted!(crashes, "containers", "Containers that crashed."),
    counted!(peak_not_ready, "clusters", "Most clusters at once that were not ready, updating ones included."),
    counted!(not_ready_cluster_hours, "cluster-hours", "Time integral of the clusters that were not ready."),
    counted!(
        exposed_targets,
        "targets",
        "Targets that were told to run a revision that is defective in their cluster."
    ),
    counted!(passes, "passes", "Passes of the scheduler."),
    counted!(promotions, "targets", "Targets told to run the new revision."),
    counted!(peak_promotions_per_pass, "targets", "Most targets told in one pass."),
    counted!(events, "events", "Events that the engine handled."),
];
