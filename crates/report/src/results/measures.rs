//! The measures of a run, each defined once with its column, unit, definition and direction, and the row of a run that
//! contains them.
//!
//! A new measure is one entry of `measures!`. `summary.csv` has one row for each variant and measure.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// Every target runs its wanted revision and is ready.
    Complete,
    /// Nothing can advance the rollout any more.
    #[default]
    Stalled,
    /// The run reached its time limit.
    Horizon,
}

/// The measure of the rollout's duration. It leaves out targets that cannot be updated, so that one paused cluster
/// does not hide the answer.
pub const READY_TIME: Measure = Measure::ReachableReady;

/// Whether low or high values of a measure are better.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Times, loads and failures.
    LessIsBetter,
    /// Updated targets.
    MoreIsBetter,
    /// The measure describes the fleet or the run, and does not rate the rollout.
    Neutral,
}

/// A value in a measure's column.
trait MeasureValue {
    /// The value of the measure. `None` if the run does not have it.
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

impl MeasureValue for Option<u64> {
    fn known(self) -> Option<f64> {
        self.and_then(MeasureValue::known)
    }
}

impl MeasureValue for Option<f64> {
    fn known(self) -> Option<f64> {
        self
    }
}

/// The unit of a cost. The column `currency` has its name.
pub(super) const MONEY: &str = "currency";

/// Defines the measures of a run, each in one entry. The documentation is the definition. It is followed by the column
/// of `runs.csv` with its type, the name in code, the unit (`1` for shares), the direction, `late` for a time that a
/// run may not reach, and the condition for the value to count.
macro_rules! measures {
    ($($(#[doc = $definition:literal])+ $(#[serde($serde:ident)])?
       $column:ident: $type:ty => $measure:ident, $unit:literal, $direction:ident
       $(, $late:ident)? $(, when $counts:ident)?;)+) => {
        /// `runs.csv`: one simulated rollout.
        #[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
        pub struct RunRow {
            /// Strategy and setting in one short text, unique in the experiment.
            pub variant: String,
            /// The strategy's name in the experiment file.
            pub strategy: String,
            /// The swept settings, `name=value`, joined by `; `; empty without a sweep.
            pub setting: String,
            /// Number of the run, from 0; the same replicate uses the same random numbers in every variant.
            pub replicate: u32,
            /// The outcome of the run.
            pub outcome: RunOutcome,
            /// The rule that blocked an unfinished rollout at the end; empty when complete.
            pub held_by: String,
            /// The limit that the blocking rule had reached, and the cause, in words.
            #[serde(default)]
            pub held_detail: String,
            /// The currency of the cost; empty without prices.
            #[serde(default)]
            pub currency: String,
            $($(#[doc = $definition])+ $(#[serde($serde)])? pub $column: $type,)+
        }

        impl RunRow {
            /// Every number of an existing measure, with its unit. Values that do not count are included.
            pub(super) fn numbers(&self) -> Vec<(f64, &'static str)> {
                let all = [$((self.$column.known(), $unit)),+];
                all.into_iter()
                    .filter_map(|(value, unit)| Some((value?, unit)))
                    .collect()
            }
        }

        /// A run with some of its measures.
        pub(super) struct RunColumns<'r> {
            pub(super) run: &'r RunRow,
            pub(super) measures: &'r [Measure],
        }

        impl Serialize for RunColumns<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { run, measures } = self;
                let mut columns = serializer.serialize_struct("RunRow", Measure::ALL.len())?;
                columns.serialize_field("variant", &run.variant)?;
                columns.serialize_field("strategy", &run.strategy)?;
                columns.serialize_field("setting", &run.setting)?;
                columns.serialize_field("replicate", &run.replicate)?;
                columns.serialize_field("outcome", &run.outcome)?;
                columns.serialize_field("held_by", &run.held_by)?;
                columns.serialize_field("held_detail", &run.held_detail)?;
                if measures.contains(&Measure::Cost) {
                    columns.serialize_field("currency", &run.currency)?;
                }
                $(if measures.contains(&Measure::$measure) {
                    columns.serialize_field(stringify!($column), &run.$column)?;
                })+
                columns.end()
            }
        }

        /// A measure of a run. It is displayed, read and stored by the name of its column.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Measure {
            $($(#[doc = $definition])+ $measure,)+
        }

        impl Measure {
            /// All measures, in the order of their columns.
            pub const ALL: &[Self] = &[$(Self::$measure),+];

            /// The measure's column in `runs.csv`.
            #[must_use]
            pub const fn column(self) -> &'static str {
                match self {
                    $(Self::$measure => stringify!($column),)+
                }
            }

            /// The measure's unit; `1` for shares.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self {
                    $(Self::$measure => $unit,)+
                }
            }

            /// The measure's definition in one sentence.
            #[must_use]
            pub const fn definition(self) -> &'static str {
                match self {
                    $(Self::$measure => concat!($($definition),+).trim_ascii_start(),)+
                }
            }

            /// Returns whether low or high values of the measure are better.
            #[must_use]
            pub const fn direction(self) -> Direction {
                match self {
                    $(Self::$measure => Direction::$direction,)+
                }
            }

            /// Returns whether a run without the measure counts in medians and comparisons, as later than every run
            /// with it. For other measures, missing values are unknown.
            #[must_use]
            pub const fn is_late_if_missing(self) -> bool {
                match self {
                    $(Self::$measure => !concat!("" $(, stringify!($late))?).is_empty(),)+
                }
            }

            /// The measure of one run. `None` if the run does not have it, such as the completion time of an
            /// unfinished run.
            #[must_use]
            pub fn of(self, run: &RunRow) -> Option<f64> {
                match self {
                    $(Self::$measure => run.$column.known()$(.filter(|_| run.$counts()))?,)+
                }
            }
        }
    };
}

measures! {
    /// Time from release until the last target was ready, as the product sees it; finished runs only.
    completion_s: Option<f64> => Completion, "s", LessIsBetter, late, when is_complete;
    /// Time from release until all reachable targets were ready; empty if they never were at the same time.
    reachable_ready_s: Option<f64> => ReachableReady, "s", LessIsBetter, late;
    /// Time from release until the product itself reported completion; empty if it did not, or has no such report.
    reported_s: Option<f64> => Reported, "s", LessIsBetter;
    /// Part of the time until all reachable targets were ready, along the critical path: waits for rules of the
    /// strategy.
    path_rule_s: Option<f64> => PathRule, "s", LessIsBetter;
    /// The same: waits for approvals and other acts of people.
    path_people_s: Option<f64> => PathPeople, "s", LessIsBetter;
    /// The same: time with a pull in progress that downloads, asks the registry, or waits for a cache or cell.
    path_transfer_s: Option<f64> => PathTransfer, "s", LessIsBetter;
    /// The same: time without downloads in which images are unpacked or written to disk.
    path_unpack_s: Option<f64> => PathUnpack, "s", LessIsBetter;
    /// The same: waits after HTTP 429 (a limit of requests, a quota of pulls) while nothing is downloaded or unpacked.
    #[serde(default)]
    path_throttled_s: Option<f64> => PathThrottled, "s", LessIsBetter;
    /// The same: waits after HTTP 503, a missing response or stalled bytes, while nothing is downloaded or unpacked.
    #[serde(default)]
    path_unavailable_s: Option<f64> => PathUnavailable, "s", LessIsBetter;
    /// The same: waits for the kubelet's rate limit, or in its back-off after another failure, with no pull in
    /// progress.
    #[serde(default)]
    path_kubelet_s: Option<f64> => PathKubelet, "s", LessIsBetter;
    /// The same: replacing and starting pods, probes, and waits after crashes.
    path_start_s: Option<f64> => PathStart, "s", LessIsBetter;
    /// The same: messages to and from clusters that are offline, until these are back.
    #[serde(default)]
    path_offline_s: Option<f64> => PathOffline, "s", LessIsBetter;
    /// The same: other time of instructions to clusters and reports from them.
    path_report_s: Option<f64> => PathReport, "s", LessIsBetter;
    /// Time from release until 50% of all targets were ready; empty if fewer ever became ready.
    t50_s: Option<f64> => T50, "s", LessIsBetter, late;
    /// Time from release until 90% of all targets were ready; empty if fewer ever became ready.
    t90_s: Option<f64> => T90, "s", LessIsBetter, late;
    /// Time from release until 99% of all targets were ready; empty if fewer ever became ready.
    t99_s: Option<f64> => T99, "s", LessIsBetter, late;
    /// Median time from instruction to ready over this run's clusters that became ready.
    update_p50_s: Option<f64> => UpdateP50, "s", LessIsBetter;
    /// 95th percentile of the same times.
    update_p95_s: Option<f64> => UpdateP95, "s", LessIsBetter;
    /// Longest of the same times: the slowest cluster that became ready.
    update_max_s: Option<f64> => UpdateMax, "s", LessIsBetter;
    /// Median time of a successful pull, from the kubelet's request until the image is unpacked.
    #[serde(default)]
    pull_p50_s: Option<f64> => PullP50, "s", LessIsBetter;
    /// 95th percentile of the same times.
    #[serde(default)]
    pull_p95_s: Option<f64> => PullP95, "s", LessIsBetter;
    /// 99th percentile of the same times.
    #[serde(default)]
    pull_p99_s: Option<f64> => PullP99, "s", LessIsBetter;
    /// End of the run, finished or not, from its start.
    end_s: f64 => End, "s", Neutral;
    /// Time of the release from the start of the run: the length of a pre-pull.
    release_s: f64 => Release, "s", Neutral;
    /// Targets of the rollout.
    targets: u64 => Targets, "targets", Neutral;
    /// Targets ready at the end.
    targets_done: u64 => TargetsDone, "targets", MoreIsBetter;
    /// Targets not ready on a released revision at the end, such as those that went back to the installed one.
    #[serde(default)]
    left_behind: u64 => LeftBehind, "targets", LessIsBetter;
    /// Targets that are ready at the end, or not paused, with an agent, and online at any time.
    #[serde(default)]
    reachable_targets: u64 => ReachableTargets, "targets", MoreIsBetter;
    /// Targets not ready because they are paused, and the product leaves such alone.
    #[serde(default)]
    paused_targets: u64 => PausedTargets, "targets", LessIsBetter;
    /// Targets not ready because they have no agent.
    #[serde(default)]
    agentless_targets: u64 => AgentlessTargets, "targets", LessIsBetter;
    /// Other targets that are not ready, and offline from the start to the horizon.
    #[serde(default)]
    offline_targets: u64 => OfflineTargets, "targets", LessIsBetter;
    /// Clusters that were offline when the rollout started.
    #[serde(default)]
    offline_at_start: u64 => OfflineAtStart, "clusters", Neutral;
    /// Targets in which the new revision is defective.
    #[serde(default)]
    defective_targets: u64 => DefectiveTargets, "targets", Neutral;
    /// Highest number of concurrent image pulls, counted per node.
    peak_pulls: u64 => PeakPulls, "pulls", LessIsBetter;
    /// Highest number of concurrent layer downloads.
    peak_downloads: u64 => PeakDownloads, "downloads", LessIsBetter;
    /// Highest number of blobs that the registries send concurrently, to nodes, caches and seeds.
    #[serde(default)]
    peak_registry_downloads: u64 => PeakRegistryDownloads, "downloads", LessIsBetter;
    /// Highest number of clusters with an image pull in progress.
    peak_pulling_clusters: u64 => PeakPullingClusters, "clusters", LessIsBetter;
    /// Bytes that left the registry.
    egress_bytes: u64 => EgressBytes, "bytes", LessIsBetter;
    /// Bytes received for layers that arrived completely.
    received_bytes: u64 => ReceivedBytes, "bytes", Neutral;
    /// Bytes that failed attempts discarded, or of downloads unfinished at the end.
    lost_bytes: u64 => LostBytes, "bytes", LessIsBetter;
    /// Bytes that the registry sent to caches and swarm seeds.
    upstream_bytes: u64 => UpstreamBytes, "bytes", LessIsBetter;
    /// Bytes that caches and mirrors sent to nodes.
    cache_bytes: u64 => CacheBytes, "bytes", Neutral;
    /// Bytes that nodes and swarm seeds sent to nodes.
    peer_bytes: u64 => PeerBytes, "bytes", Neutral;
    /// Highest mean rate of the registry's egress over one second (bins at whole seconds).
    egress_peak_1s_bytes_per_s: f64 => EgressPeak1s, "bytes/s", LessIsBetter;
    /// Highest mean rate of the registry's egress over 60 consecutive seconds.
    egress_peak_60s_bytes_per_s: f64 => EgressPeak60s, "bytes/s", LessIsBetter;
    /// Highest mean rate over one second that the registries send to the fleet and to others together.
    #[serde(default)]
    total_egress_peak_1s_bytes_per_s: f64 => TotalEgressPeak1s, "bytes/s", LessIsBetter;
    /// Highest mean rate over 60 consecutive seconds that the registries send to the fleet and to others together.
    #[serde(default)]
    total_egress_peak_60s_bytes_per_s: f64 => TotalEgressPeak60s, "bytes/s", LessIsBetter;
    /// Bytes that the registries sent to clients outside of the fleet.
    #[serde(default)]
    other_egress_bytes: f64 => OtherEgressBytes, "bytes", Neutral;
    /// Rate that the registry's egress exceeded in 5% of the seconds until the end, to within 1.1%.
    #[serde(default)]
    egress_p95_over_time_bytes_per_s: f64 => EgressP95OverTime, "bytes/s", LessIsBetter;
    /// Rate that it exceeded in 1% of the seconds, to within 1.1%.
    #[serde(default)]
    egress_p99_over_time_bytes_per_s: f64 => EgressP99OverTime, "bytes/s", LessIsBetter;
    /// Share of time until the end in which the registry's egress was at its capacity; stragglers lower it.
    egress_busy_share: f64 => EgressBusyShare, "1", LessIsBetter;
    /// Time in which the registry's egress was at its capacity.
    #[serde(default)]
    egress_busy_s: f64 => EgressBusy, "s", LessIsBetter;
    /// Greatest share of any 60 consecutive minutes in which the registry's egress was at its capacity.
    #[serde(default)]
    egress_busiest_hour_share: f64 => EgressBusiestHourShare, "1", LessIsBetter;
    /// Requests to the registry's API, including those answered with 429.
    requests: u64 => Requests, "requests", LessIsBetter;
    /// Requests answered with 429.
    responses_429: u64 => Responses429, "requests", LessIsBetter;
    /// Requests answered with 503.
    responses_503: u64 => Responses503, "requests", LessIsBetter;
    /// Requests without a response in time.
    request_timeouts: u64 => RequestTimeouts, "requests", LessIsBetter;
    /// Image pulls started.
    pulls: u64 => Pulls, "pulls", LessIsBetter;
    /// Image pull attempts that failed, for any reason.
    failed_pulls: u64 => FailedPulls, "pulls", LessIsBetter;
    /// Failed pulls that the kubelet's own rate limit rejected.
    failed_pulls_kubelet_rate: u64 => FailedPullsKubeletRate, "pulls", LessIsBetter;
    /// Failed pulls with a request that received 429 on every attempt.
    failed_pulls_429: u64 => FailedPulls429, "pulls", LessIsBetter;
    /// Failed pulls with a request that received 503.
    failed_pulls_503: u64 => FailedPulls503, "pulls", LessIsBetter;
    /// Failed pulls with a request that received no response.
    failed_pulls_unreachable: u64 => FailedPullsUnreachable, "pulls", LessIsBetter;
    /// Failed pulls that the runtime cancelled for lack of progress.
    failed_pulls_no_progress: u64 => FailedPullsNoProgress, "pulls", LessIsBetter;
    /// Times a pod entered image pull back-off.
    backoffs: u64 => Backoffs, "pods", LessIsBetter;
    /// Containers that crashed.
    crashes: u64 => Crashes, "containers", LessIsBetter;
    /// Highest number of clusters not ready at the same time, including those being updated.
    peak_not_ready: u64 => PeakNotReady, "clusters", LessIsBetter;
    /// Time integral of the number of clusters not ready.
    not_ready_cluster_hours: f64 => NotReadyClusterHours, "cluster-hours", LessIsBetter;
    /// Targets instructed to run a revision that is defective in their cluster.
    exposed_targets: u64 => ExposedTargets, "targets", LessIsBetter;
    /// Scheduler passes.
    passes: u64 => Passes, "passes", Neutral;
    /// Targets that passes decided to move to the new revision.
    promotions: u64 => Promotions, "targets", Neutral;
    /// Maximum number of targets that one pass decided to move.
    peak_promotions_per_pass: u64 => PeakPromotionsPerPass, "targets", Neutral;
    /// Events that the engine processed, without those that only check a limit.
    events: u64 => Events, "events", Neutral;
    /// Maximum number of concurrent instances of all versions of an app; only for Cloud Foundry with `countInstances`.
    #[serde(default)]
    peak_instances: Option<u64> => PeakInstances, "instances", LessIsBetter;
    /// Targets that lost their workloads, because the product's object that wanted them was deleted.
    #[serde(default)]
    removed_targets: Option<u64> => RemovedTargets, "targets", LessIsBetter;
    /// Nodes that joined a cluster while pods waited for room; only with `autoscaling`.
    #[serde(default)]
    joined_nodes: Option<u64> => JoinedNodes, "nodes", LessIsBetter;
    /// Highest number of pods of Deployments that waited for room; only with `autoscaling` or a disk's `size`.
    #[serde(default)]
    peak_waiting_pods: Option<u64> => PeakWaitingPods, "pods", LessIsBetter;
    /// Failed pulls because a node's disk had no space left; only with a disk's `size`.
    #[serde(default)]
    failed_pulls_no_space: Option<u64> => FailedPullsNoSpace, "pulls", LessIsBetter;
    /// Images of the release that kubelets removed to free space; only with a disk's `size`.
    #[serde(default)]
    removed_images: Option<u64> => RemovedImages, "images", Neutral;
    /// Times a node took no more pods because its disk was nearly full; only with a disk's `size`.
    #[serde(default)]
    disk_pressures: Option<u64> => DiskPressures, "nodes", LessIsBetter;
    /// Releases published, of all applications; only with later releases or an `operator`.
    #[serde(default)]
    releases: Option<u64> => Releases, "releases", Neutral;
    /// Releases that an operator's rule published: rollbacks and repairs; only with later releases or an `operator`.
    #[serde(default)]
    reactions: Option<u64> => Reactions, "releases", Neutral;
    /// Time integral of the number of targets whose workloads had a defective revision; only with later releases or an
    /// `operator`.
    #[serde(default)]
    exposed_target_hours: Option<f64> => ExposedTargetHours, "target-hours", LessIsBetter;
    /// Cost of the run by the experiment's prices; only with `price`.
    #[serde(default)]
    cost: Option<f64> => Cost, "currency", LessIsBetter;
}

impl Measure {
    /// Returns whether only some strategies or worlds have the measure. Results omit it if no run has it.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(
            self,
            Self::PeakInstances
                | Self::RemovedTargets
                | Self::JoinedNodes
                | Self::PeakWaitingPods
                | Self::FailedPullsNoSpace
                | Self::RemovedImages
                | Self::DiskPressures
                | Self::Releases
                | Self::Reactions
                | Self::ExposedTargetHours
                | Self::Cost
        )
    }

    /// The columns that `runs.csv` has with these runs: those of the measures that every run has, and the own ones
    /// that some run has. The two own measures of strategies have their columns together.
    pub(super) fn columns<'r>(runs: &(impl Iterator<Item = &'r RunRow> + Clone)) -> Vec<Self> {
        let present = Self::present(runs);
        let of_strategies = [Self::PeakInstances, Self::RemovedTargets];
        let has_some = of_strategies
            .iter()
            .any(|measure| present.contains(measure));
        let mut columns = Self::ALL.to_vec();
        columns.retain(|measure| {
            present.contains(measure) || (has_some && of_strategies.contains(measure))
        });
        columns
    }

    /// The unit of the measure in these runs: that of the measure, or the currency of a cost.
    #[must_use]
    pub fn unit_in<'r>(self, runs: impl IntoIterator<Item = &'r RunRow>) -> &'r str {
        if self != Self::Cost {
            return self.unit();
        }
        let mut currencies = runs.into_iter().map(|run| run.currency.as_str());
        currencies
            .find(|currency| !currency.is_empty())
            .unwrap_or(MONEY)
    }

    /// The measures that results of these runs have.
    pub(super) fn present<'r>(runs: &(impl Iterator<Item = &'r RunRow> + Clone)) -> Vec<Self> {
        let mut present = Self::ALL.to_vec();
        present.retain(|measure| {
            !measure.is_own() || runs.clone().any(|run| measure.of(run).is_some())
        });
        present
    }

    /// The measure of one run; infinite for a run that is later than all others. `None` if the measure of the run is
    /// unknown.
    #[must_use]
    pub fn of_or_late(self, run: &RunRow) -> Option<f64> {
        match self.of(run) {
            None if self.is_late_if_missing() => Some(f64::INFINITY),
            value => value,
        }
    }

    /// The values of runs; infinite for a run without the measure.
    #[must_use]
    pub fn values(self, runs: &[RunRow]) -> Vec<f64> {
        let mut values = Vec::new();
        for run in runs {
            values.push(self.of(run).unwrap_or(f64::INFINITY));
        }
        values
    }

    /// Returns whether the measure is the peak of a load in one run: a load on the registry, or a number of clusters.
    #[must_use]
    pub const fn is_peak_of_load(self) -> bool {
        matches!(
            self,
            Self::EgressPeak1s
                | Self::EgressPeak60s
                | Self::TotalEgressPeak60s
                | Self::PeakPulls
                | Self::PeakDownloads
                | Self::PeakRegistryDownloads
                | Self::PeakPullingClusters
                | Self::PeakNotReady
                | Self::PeakPromotionsPerPass
                | Self::PeakInstances
        )
    }

    /// Returns whether the measure is a duration.
    #[must_use]
    pub fn is_time(self) -> bool {
        self.unit() == "s"
    }
}

/// The measure by which rollouts are compared if no other measure is named.
impl Default for Measure {
    fn default() -> Self {
        READY_TIME
    }
}

impl RunRow {
    /// Returns whether every target runs its wanted revision and is ready.
    fn is_complete(&self) -> bool {
        self.outcome == RunOutcome::Complete
    }

    /// Returns whether the rollout finished as far as possible: every reachable target was ready.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.reachable_ready_s.is_some()
    }

    /// Returns how many targets are on the old version at the end.
    #[must_use]
    pub const fn left_on_old(&self) -> u64 {
        self.targets - self.targets_done
    }

    /// The number of targets that could not be updated.
    pub(super) fn unreachable_targets(&self) -> u64 {
        self.targets.saturating_sub(self.reachable_targets)
    }

    /// The rule that blocked the run with the detail, as `rule: detail`; empty if it completed.
    #[must_use]
    pub fn held(&self) -> String {
        if self.held_detail.is_empty() {
            self.held_by.clone()
        } else {
            format!("{}: {}", self.held_by, self.held_detail)
        }
    }
}
