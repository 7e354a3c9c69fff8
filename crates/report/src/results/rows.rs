//! The rows of the tables: one type for each table, one field for each column.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::Setting;
use super::application_series::ApplicationSeries;
use super::measures::RunRow;
use fleetsim_units::stats;

/// One time bin of a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SeriesRow {
    /// Start of the bin.
    pub t_s: f64,
    /// Highest number of concurrent image pulls in the bin.
    pub pulls: u64,
    /// Highest number of concurrent layer downloads in the bin.
    pub downloads: u64,
    /// Bytes that left the registry in the bin, divided by its length.
    pub egress_bytes_per_s: f64,
    /// Highest mean rate over one second in the bin.
    #[serde(default)]
    pub egress_peak_1s_bytes_per_s: f64,
    /// Targets ready on the wanted revision at the end of the bin.
    pub ready_new: u64,
    /// Targets instructed to run the wanted revision and making progress, but not ready yet.
    pub updating: u64,
    /// Targets instructed to run the wanted revision, not ready and stalled: offline, or a pod is in back-off.
    pub not_ready: u64,
    /// Targets not instructed to run the wanted revision yet.
    pub waiting: u64,
}

/// One target of a run: a deployment of an application on a cluster.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ClusterRow {
    /// The application. Empty in an experiment with one application, whose table has no such column.
    #[serde(default)]
    pub application: String,
    /// The cluster's name.
    pub cluster: String,
    /// The cluster's stage (Fleet: partition); empty if it has none; several stages are joined by `; `.
    pub stage: String,
    /// The cluster's group of the experiment's `fleet`, by the name written there; for an inventory, the cluster's
    /// namespace.
    pub group: String,
    /// The region whose link the cluster shares; empty if there is no region.
    pub region: String,
    /// Number of nodes of the cluster.
    pub nodes: u32,
    /// Capacity of the cluster's downlink without faults.
    pub downlink_bytes_per_s: f64,
    /// Round-trip time between the cluster and the registry.
    pub rtt_s: f64,
    /// Whether the cluster was offline when the rollout started.
    pub offline: bool,
    /// Whether the new revision is defective in the cluster.
    pub defective: bool,
    /// Time when the cluster was instructed to run the new revision: the write of a pass took effect. Empty if the
    /// cluster was never instructed.
    pub instructed_s: Option<f64>,
    /// Time when the cluster's agent had applied the new revision.
    pub applied_s: Option<f64>,
    /// Time when the cluster's first image pull started.
    pub first_pull_s: Option<f64>,
    /// Time when the cluster's last image pull finished.
    pub last_pull_s: Option<f64>,
    /// Time when the cluster's first report that it is ready on the new revision arrived at the management cluster.
    pub ready_s: Option<f64>,
    /// Number of image pulls that the cluster started.
    pub pulls: u64,
    /// Number of the cluster's image pull attempts that failed.
    pub failed_pulls: u64,
    /// Bytes that the cluster received from registries, caches and peers, including those of failed attempts.
    pub received_bytes: u64,
}

/// A row of `clusters.csv` with the columns that its table has.
pub(super) struct ClusterColumns<'r> {
    pub(super) row: &'r ClusterRow,
    /// Whether there are several applications.
    pub(super) has_applications: bool,
}

impl Serialize for ClusterColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row;
        let mut columns = serializer.serialize_struct("ClusterRow", CLUSTER_COLUMNS)?;
        if self.has_applications {
            columns.serialize_field("application", &row.application)?;
        }
        columns.serialize_field("cluster", &row.cluster)?;
        columns.serialize_field("stage", &row.stage)?;
        columns.serialize_field("group", &row.group)?;
        columns.serialize_field("region", &row.region)?;
        columns.serialize_field("nodes", &row.nodes)?;
        columns.serialize_field("downlink_bytes_per_s", &row.downlink_bytes_per_s)?;
        columns.serialize_field("rtt_s", &row.rtt_s)?;
        columns.serialize_field("offline", &row.offline)?;
        columns.serialize_field("defective", &row.defective)?;
        columns.serialize_field("instructed_s", &row.instructed_s)?;
        columns.serialize_field("applied_s", &row.applied_s)?;
        columns.serialize_field("first_pull_s", &row.first_pull_s)?;
        columns.serialize_field("last_pull_s", &row.last_pull_s)?;
        columns.serialize_field("ready_s", &row.ready_s)?;
        columns.serialize_field("pulls", &row.pulls)?;
        columns.serialize_field("failed_pulls", &row.failed_pulls)?;
        columns.serialize_field("received_bytes", &row.received_bytes)?;
        columns.end()
    }
}

/// The number of all columns of a cluster's row.
const CLUSTER_COLUMNS: usize = 18;

/// Quantiles of the durations of updates, from instruction to ready, over the clusters of one run that became ready.
/// `None` if no cluster became ready.
#[must_use]
pub fn update_quantiles<const N: usize>(
    clusters: &[ClusterRow],
    shares: [f64; N],
) -> [Option<f64>; N] {
    let took: Vec<f64> = clusters
        .iter()
        .filter_map(|cluster| Some(cluster.ready_s? - cluster.instructed_s?))
        .collect();
    let sorted = stats::sorted(&took);
    shares.map(|share| stats::quantile_of_sorted(&sorted, share))
}

/// One link of a run: of a registry, or of a mirror, cache, region or group of peers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RegistryRow {
    /// The name of the registry in the experiment; `registry` for the first one.
    pub registry: String,
    /// The kind of the link's owner.
    #[serde(default)]
    pub kind: LinkKind,
    /// Bytes that came in: from the registry to a cache or a seed, or across the link of a region. Empty for a registry
    /// and a mirror, which have their images.
    pub in_bytes: Option<u64>,
    /// Bytes that left the registry.
    pub egress_bytes: u64,
    /// The link's capacity; of several links, that of each. Empty if it is unlimited, and for peers.
    pub capacity_bytes_per_s: Option<f64>,
    /// Highest mean rate of the link's egress over one second. Empty for a row of several links.
    pub egress_peak_1s_bytes_per_s: Option<f64>,
    /// Share of the time until the end in which the egress was at its capacity; of several links, that of the busiest.
    /// Empty for peers.
    pub egress_busy_share: Option<f64>,
    /// Requests to the API. Only for registries, like the next two columns.
    pub requests: Option<u64>,
    /// Number of requests that the registry answered with 429.
    pub responses_429: Option<u64>,
    /// Number of requests that the registry answered with 503.
    pub responses_503: Option<u64>,
    /// Bytes of the blob whose rate was at its limit longest. Only with a limit of the rate of a blob.
    #[serde(default)]
    pub busiest_blob_bytes: Option<u64>,
    /// Share of the time until the end in which this blob's rate was at its limit.
    #[serde(default)]
    pub busiest_blob_share: Option<f64>,
    /// Number of clients (addresses of clusters or nodes) that asked. Only with limits of single clients.
    #[serde(default)]
    pub clients: Option<u64>,
    /// Number of clients of which their limit refused a request.
    #[serde(default)]
    pub refused_clients: Option<u64>,
    /// Number of refused requests of the client with most of them.
    #[serde(default)]
    pub most_refused_requests: Option<u64>,
    /// The rate at which a cache can fetch; of several, each of them. Only with such a limit.
    #[serde(default)]
    pub in_capacity_bytes_per_s: Option<f64>,
    /// Share of the time until the end in which a cache fetched at this rate; of several, the busiest.
    #[serde(default)]
    pub in_busy_share: Option<f64>,
    /// What the experiment's prices charge for this row. Only with prices.
    #[serde(default)]
    pub cost: Option<f64>,
}

/// The groups of columns of `registries.csv` that only some experiments have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegistryGroups {
    /// A registry limits the rate of a blob.
    has_blobs: bool,
    /// A registry limits single clients.
    has_clients: bool,
    /// Caches have a limit on what they fetch.
    has_fetches: bool,
    /// There are prices.
    has_cost: bool,
}

impl RegistryGroups {
    /// Returns the groups that some row has.
    pub(super) fn of<'r>(rows: impl IntoIterator<Item = &'r RegistryRow>) -> Self {
        let mut groups = Self::default();
        for row in rows {
            groups.has_blobs |= row.busiest_blob_bytes.is_some();
            groups.has_clients |= row.clients.is_some();
            groups.has_fetches |= row.in_capacity_bytes_per_s.is_some();
            groups.has_cost |= row.cost.is_some();
        }
        groups
    }
}

/// A row of `registries.csv` with the groups of columns that its table has.
pub(super) struct RegistryColumns<'r> {
    pub(super) row: &'r RegistryRow,
    pub(super) groups: RegistryGroups,
}

impl Serialize for RegistryColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { row, groups } = self;
        let mut columns = serializer.serialize_struct("RegistryRow", REGISTRY_COLUMNS)?;
        columns.serialize_field("registry", &row.registry)?;
        columns.serialize_field("kind", &row.kind)?;
        columns.serialize_field("in_bytes", &row.in_bytes)?;
        columns.serialize_field("egress_bytes", &row.egress_bytes)?;
        columns.serialize_field("capacity_bytes_per_s", &row.capacity_bytes_per_s)?;
        let peak = &row.egress_peak_1s_bytes_per_s;
        columns.serialize_field("egress_peak_1s_bytes_per_s", peak)?;
        columns.serialize_field("egress_busy_share", &row.egress_busy_share)?;
        columns.serialize_field("requests", &row.requests)?;
        columns.serialize_field("responses_429", &row.responses_429)?;
        columns.serialize_field("responses_503", &row.responses_503)?;
        if groups.has_blobs {
            columns.serialize_field("busiest_blob_bytes", &row.busiest_blob_bytes)?;
            columns.serialize_field("busiest_blob_share", &row.busiest_blob_share)?;
        }
        if groups.has_clients {
            columns.serialize_field("clients", &row.clients)?;
            columns.serialize_field("refused_clients", &row.refused_clients)?;
            columns.serialize_field("most_refused_requests", &row.most_refused_requests)?;
        }
        if groups.has_fetches {
            columns.serialize_field("in_capacity_bytes_per_s", &row.in_capacity_bytes_per_s)?;
            columns.serialize_field("in_busy_share", &row.in_busy_share)?;
        }
        if groups.has_cost {
            columns.serialize_field("cost", &row.cost)?;
        }
        columns.end()
    }
}

/// The number of all columns of a registry's row.
const REGISTRY_COLUMNS: usize = 18;

/// The subject of a row of `registries.csv`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// A registry with its egress.
    #[default]
    Registry,
    /// A mirror with its egress.
    Mirror,
    /// A cache of a region, or all caches of clusters or cells.
    Cache,
    /// The link that the clusters of a region share.
    Region,
    /// Nodes that send to each other, and the seeds of swarms.
    Peers,
}

/// One workload of a run. Only for experiments with several.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WorkloadRow {
    /// The workload's name.
    pub workload: String,
    /// Time from release until it was ready on the last of the reachable targets. Empty if it was not ready on all of
    /// them at the end.
    pub ready_s: Option<f64>,
}

/// One application of a run. Only for experiments with several.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ApplicationRow {
    /// The application's name.
    pub application: String,
    /// Number of its targets: the clusters on which it is deployed.
    pub targets: u64,
    /// Number of its targets that were ready on the new revision at the end.
    pub targets_done: u64,
    /// Number of its targets that were not.
    pub left_behind: u64,
    /// Number of its targets that could be updated.
    pub reachable_targets: u64,
    /// Time of its release, from the start of the run. Empty if it was not released.
    pub release_s: Option<f64>,
    /// Time from its own release until all of its targets were ready. Empty if they were not at the end.
    pub completion_s: Option<f64>,
    /// Time from its own release until all of its reachable targets were ready.
    pub reachable_ready_s: Option<f64>,
    /// Highest number of concurrent pulls of its images.
    pub peak_pulls: u64,
    /// Number of pulls of its images.
    pub pulls: u64,
    /// Number of pulls of its images that failed.
    pub failed_pulls: u64,
    /// Bytes that nodes received for pulls of its images. A layer that several images share counts for the pull that
    /// downloaded it.
    pub received_bytes: u64,
    /// Number of its targets in which the new revision is defective.
    pub defective_targets: u64,
    /// Number of these targets that were instructed.
    pub exposed_targets: u64,
}

/// One release of a run. Only for experiments with later releases or an operator.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReleaseRow {
    /// The application's name. Empty for the release of an experiment without `applications`.
    pub application: String,
    /// The number of the release among those of its application in this run, from 1.
    pub release: u64,
    /// What it publishes: `installed` (what ran before), or a content of the file, such as `content 2`.
    pub content: String,
    /// What published it: `releases`, `changes`, or the sign of the operator's rule, such as `failed > 5`.
    pub cause: String,
    /// The time at which people noticed the sign, from the start of the run. Empty if no operator published it.
    pub noticed_s: Option<f64>,
    /// Time at which it was published, from the start of the run. Empty if that did not happen.
    pub published_s: Option<f64>,
    /// Time at which the next release superseded it. Empty if none did.
    pub superseded_s: Option<f64>,
    /// Time from its publication until all targets were ready on it. Empty if that did not happen.
    pub completion_s: Option<f64>,
    /// Maximum number of targets that were ready on it simultaneously.
    pub targets_done: u64,
    /// Bytes that the registries sent to the fleet until the next release of the application, or the end.
    pub egress_bytes: u64,
    /// Time integral, until the same time, of the number of targets of the application with a defective revision.
    pub exposed_target_hours: f64,
}

/// One pass of the scheduler.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PassRow {
    /// Time when the pass began.
    pub t_s: f64,
    /// Number of passes that the row represents: 1, except for a process with its own control loop, which reports the
    /// number of its passes but not their times.
    #[serde(default = "one")]
    pub passes: u64,
    /// Duration of the pass.
    pub duration_s: f64,
    /// Number of objects that the pass created.
    pub created: u64,
    /// Number of targets that the pass decided to move to another revision; each is instructed when its write takes
    /// effect.
    pub promoted: u64,
    /// Number of unavailable targets at the start of the pass, as counted by the product.
    pub unavailable: u64,
}

/// One change of a condition that an object of the product shows.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct StatusRow {
    /// Time of the change.
    pub t_s: f64,
    /// Kind and name of the object.
    pub object: String,
    /// Type of the condition, or name of the status field.
    pub condition: String,
    /// `True`, `False` or `Unknown`, or the field's value; empty if the condition is gone.
    pub status: String,
    /// The reason that the product gives for the status.
    pub reason: String,
    /// The message that the product shows with the status.
    pub message: String,
}

/// The default of [`PassRow::passes`]: in a table of an earlier version, each row is one pass.
const fn one() -> u64 {
    1
}

/// The record of one run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunRecord {
    /// The run's measures.
    pub run: RunRow,
    /// One row for each registry, in the experiment's order, then for regions, mirrors, caches and peers.
    pub registries: Vec<RegistryRow>,
    /// One row for each workload, in the experiment's order. Empty for a single workload.
    pub workloads: Vec<WorkloadRow>,
    /// One row for each application, in the experiment's order. Empty for a single application.
    #[serde(default)]
    pub applications: Vec<ApplicationRow>,
    /// One row for each release, in the order of applications and times. Empty if each application has one release.
    #[serde(default)]
    pub releases: Vec<ReleaseRow>,
    /// The run's time series; all bins have the same length.
    pub series: Vec<SeriesRow>,
    /// Length of a bin of the time series.
    pub bin_s: f64,
    /// One row for each target, in the fleet's order.
    pub clusters: Vec<ClusterRow>,
    /// One row for each pass.
    pub passes: Vec<PassRow>,
    /// Changes of the conditions that the product shows; only for a detailed run.
    pub statuses: Vec<StatusRow>,
    /// The largest applications over time, and the others together; only for a detailed run with several.
    #[serde(default)]
    pub application_series: Vec<ApplicationSeries>,
}

/// Returns whether a time, a rate or another amount is possible: finite and not below 0.
fn is_amount(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

/// Returns whether a share is possible. A share is the quotient of two rounded times, so it may exceed 1 slightly.
fn is_share(value: f64) -> bool {
    is_amount(value) && value <= 1.0 + 1e-9
}

impl SeriesRow {
    fn is_valid(&self) -> bool {
        is_amount(self.t_s)
            && is_amount(self.egress_bytes_per_s)
            && is_amount(self.egress_peak_1s_bytes_per_s)
    }
}

impl ClusterRow {
    fn is_valid(&self) -> bool {
        let times = [
            self.instructed_s,
            self.applied_s,
            self.first_pull_s,
            self.last_pull_s,
            self.ready_s,
        ];
        is_amount(self.downlink_bytes_per_s)
            && is_amount(self.rtt_s)
            && times.into_iter().flatten().all(is_amount)
    }
}

impl RegistryRow {
    fn is_valid(&self) -> bool {
        let amounts = [
            self.capacity_bytes_per_s,
            self.egress_peak_1s_bytes_per_s,
            self.in_capacity_bytes_per_s,
            self.cost,
        ];
        let shares = [
            self.egress_busy_share,
            self.busiest_blob_share,
            self.in_busy_share,
        ];
        amounts.into_iter().flatten().all(is_amount) && shares.into_iter().flatten().all(is_share)
    }
}

impl WorkloadRow {
    fn is_valid(&self) -> bool {
        self.ready_s.is_none_or(is_amount)
    }
}

impl ApplicationRow {
    fn is_valid(&self) -> bool {
        let times = [self.release_s, self.completion_s, self.reachable_ready_s];
        times.into_iter().flatten().all(is_amount)
            && self.targets_done <= self.targets
            && self.reachable_targets <= self.targets
    }
}

impl ReleaseRow {
    fn is_valid(&self) -> bool {
        let times = [
            self.noticed_s,
            self.published_s,
            self.superseded_s,
            self.completion_s,
        ];
        times.into_iter().flatten().all(is_amount) && is_amount(self.exposed_target_hours)
    }
}

impl PassRow {
    fn is_valid(&self) -> bool {
        is_amount(self.t_s) && is_amount(self.duration_s)
    }
}

impl StatusRow {
    fn is_valid(&self) -> bool {
        is_amount(self.t_s)
    }
}

impl RunRow {
    /// Returns whether a simulation can have produced the row's numbers, so that they can be used in statistics.
    fn is_valid(&self) -> bool {
        let is_possible = |(value, unit): (f64, &str)| match unit {
            "1" => is_share(value),
            _ => is_amount(value),
        };
        self.numbers().into_iter().all(is_possible)
            && self.targets_done <= self.targets
            && self.reachable_targets <= self.targets
    }
}

impl RunRecord {
    /// Returns whether a simulation can have produced the record's numbers. Saved runs and runs of a shard are
    /// untrusted input. Another check decides whether a record is the run that the study expects.
    pub(super) fn is_valid(&self) -> bool {
        self.run.is_valid()
            && is_amount(self.bin_s)
            && self.registries.iter().all(RegistryRow::is_valid)
            && self.workloads.iter().all(WorkloadRow::is_valid)
            && self.applications.iter().all(ApplicationRow::is_valid)
            && self.releases.iter().all(ReleaseRow::is_valid)
            && self.series.iter().all(SeriesRow::is_valid)
            && self.clusters.iter().all(ClusterRow::is_valid)
            && self.passes.iter().all(PassRow::is_valid)
            && self.statuses.iter().all(StatusRow::is_valid)
            && self.are_applications_in_bins()
    }

    /// Returns whether the series of applications have the bins of the run's own series.
    fn are_applications_in_bins(&self) -> bool {
        let mut series = self.application_series.iter();
        series.all(|series| series.bins.len() == self.series.len())
    }
}

/// The runs of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantRecord {
    /// Strategy and setting in one short text, unique in the experiment.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings, `name=value`, joined by `; `; empty without a sweep.
    pub setting: String,
    /// The swept settings as a list.
    pub settings: Vec<Setting>,
    /// The variant's runs, in the order of their replicates.
    pub runs: Vec<RunRecord>,
}
