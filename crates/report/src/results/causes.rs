//! `causes.csv`: what holds a rollout back, found by trials.
//!
//! A trial simulates a variant again with a resource lifted, which means that the resource no longer limits anything.
//! It uses the random numbers of the runs that it is compared with. The time that the trial saves is what the resource
//! costs. `src/causes` runs the trials, and judges them; this file has their words and their rows.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ResultsError;
use super::tables::{from_csv_if_there, header, row, to_csv};

/// The table of the trials.
pub(super) const CAUSES_FILE: &str = "causes.csv";

/// Something that can hold a rollout back.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The sending rate of the registries, with their bursts and their loss under overload.
    #[default]
    RegistryLink,
    /// The registries' limits on requests and on open connections.
    RegistryRequests,
    /// The registries' workers, and the time that they need for a request.
    RegistryWorkers,
    /// The registries' limits on the number of pulls in a period.
    PullQuota,
    /// The rate of one connection to a registry, and of its content delivery network.
    ConnectionRate,
    /// The rate at which a registry sends one blob to all nodes together.
    BlobRate,
    /// Load that the registries send to others.
    OtherLoad,
    /// The links of regions.
    RegionLinks,
    /// The links of mirrors.
    Mirrors,
    /// The links of caches, and their limits on fetches.
    Caches,
    /// The rates between peers.
    Peers,
    /// The links of sites.
    Downlinks,
    /// Round trips, and lost segments.
    Latency,
    /// Seconds without data on the links of sites.
    Gaps,
    /// The network cards of nodes.
    NetworkCards,
    /// The disks of nodes.
    Disks,
    /// The size of the disks of nodes.
    DiskSpace,
    /// The time until nodes join a cluster whose pods wait for room.
    NodeJoins,
    /// Unpacking of layers, and the constant part of a pull.
    Unpacking,
    /// The kubelet's limits on pulls.
    KubeletPulls,
    /// The container runtime's limit on concurrent downloads.
    DownloadSlots,
    /// The time that pods need to start, to answer their probes and to end, and the limits of their controllers.
    PodStart,
    /// The rolling updates of workloads within a cluster.
    RollingUpdates,
    /// The agents' delays and applies.
    Agents,
    /// The requests and client limits of the product's controller.
    ControlPlane,
    /// Argo CD's application controller.
    ApplicationController,
    /// The cores that the shards of Argo CD's application controller share.
    HubCpu,
    /// Clusters that are slower than others.
    SlowClusters,
    /// Approvals, pauses and other acts of people.
    People,
    /// Closed windows of a product.
    ClosedWindows,
    /// Outages and brownouts of registries.
    RegistryOutages,
    /// Outages of clusters and regions.
    ClusterOutages,
    /// Clusters that are offline when the rollout starts.
    OfflineClusters,
    /// Pulls that abort.
    FailedPulls,
    /// Applies that fail.
    FailedApplies,
    /// Nodes that fail.
    NodeLoss,
    /// Defective revisions and missing images.
    Defects,
    /// The strategy's own pace: without it, all targets are instructed at once.
    Rule,
}

/// What people can do about something that holds a rollout back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResourceKind {
    /// A limit of the world, which can be raised.
    Limit,
    /// A failure, which can be avoided.
    Fault,
    /// Waits for people.
    People,
    /// The strategy itself.
    Rule,
}

impl Resource {
    /// All resources, in the order of the table.
    pub const ALL: [Self; 38] = [
        Self::RegistryLink,
        Self::RegistryRequests,
        Self::RegistryWorkers,
        Self::PullQuota,
        Self::ConnectionRate,
        Self::BlobRate,
        Self::OtherLoad,
        Self::RegionLinks,
        Self::Mirrors,
        Self::Caches,
        Self::Peers,
        Self::Downlinks,
        Self::Latency,
        Self::Gaps,
        Self::NetworkCards,
        Self::Disks,
        Self::DiskSpace,
        Self::NodeJoins,
        Self::Unpacking,
        Self::KubeletPulls,
        Self::DownloadSlots,
        Self::PodStart,
        Self::RollingUpdates,
        Self::Agents,
        Self::ControlPlane,
        Self::ApplicationController,
        Self::HubCpu,
        Self::SlowClusters,
        Self::People,
        Self::ClosedWindows,
        Self::RegistryOutages,
        Self::ClusterOutages,
        Self::OfflineClusters,
        Self::FailedPulls,
        Self::FailedApplies,
        Self::NodeLoss,
        Self::Defects,
        Self::Rule,
    ];

    /// The words of the resource in a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::RegistryLink => "the registry's link",
            Self::RegistryRequests => "the registry's request limits",
            Self::RegistryWorkers => "the registry's workers",
            Self::PullQuota => "the pull quota",
            Self::ConnectionRate => "the rate of one connection",
            Self::BlobRate => "the registry's rate for one layer",
            Self::OtherLoad => "other load on the registry",
            Self::RegionLinks => "the regions' links",
            Self::Mirrors => "the mirrors' links",
            Self::Caches => "the caches' limits",
            Self::Peers => "the peers' rates",
            Self::Downlinks => "the sites' downlinks",
            Self::Latency => "latency and loss",
            Self::Gaps => "gaps in the sites' links",
            Self::NetworkCards => "the network cards",
            Self::Disks => "the disks",
            Self::DiskSpace => "the size of the disks",
            Self::NodeJoins => "the wait for new nodes",
            Self::Unpacking => "unpacking",
            Self::KubeletPulls => "the kubelet's pull limits",
            Self::DownloadSlots => "the runtime's download slots",
            Self::PodStart => "starting pods",
            Self::RollingUpdates => "the workloads' rolling updates",
            Self::Agents => "the agents",
            Self::ControlPlane => "the product's controller",
            Self::ApplicationController => "Argo CD's application controller",
            Self::HubCpu => "Argo CD's shared cores",
            Self::SlowClusters => "slow clusters",
            Self::People => "people",
            Self::ClosedWindows => "closed windows",
            Self::RegistryOutages => "outages of the registry",
            Self::ClusterOutages => "outages of sites",
            Self::OfflineClusters => "offline clusters",
            Self::FailedPulls => "failed pulls",
            Self::FailedApplies => "failed applies",
            Self::NodeLoss => "lost nodes",
            Self::Defects => "defects and missing images",
            Self::Rule => "the strategy's own pace",
        }
    }

    /// Returns whether its words need a verb in the plural.
    #[must_use]
    pub fn is_plural(self) -> bool {
        match self {
            Self::People | Self::Latency => true,
            Self::DiskSpace | Self::NodeJoins => false,
            _ => self.words().ends_with('s'),
        }
    }

    /// What people can do about it.
    #[must_use]
    pub const fn kind(self) -> ResourceKind {
        match self {
            Self::RegistryOutages
            | Self::ClusterOutages
            | Self::OfflineClusters
            | Self::FailedPulls
            | Self::FailedApplies
            | Self::NodeLoss
            | Self::Defects => ResourceKind::Fault,
            Self::People | Self::ClosedWindows => ResourceKind::People,
            Self::Rule => ResourceKind::Rule,
            _ => ResourceKind::Limit,
        }
    }
}

/// The kind of a trial.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum TrialKind {
    /// Only the resource is lifted.
    #[default]
    Alone,
    /// Everything but the resource and the rule is lifted.
    Only,
    /// Several resources are lifted, each of which alone would hold the rollout back as long.
    Together,
    /// The resource costs half of its time.
    Halved,
    /// The resource is lifted after the one that saves most.
    Then,
    /// The rate of one connection is changed by 0.1%, which should change nothing.
    Placebo,
}

/// How a trial is judged.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseVerdict {
    /// It does not stand out.
    #[default]
    None,
    /// It holds the rollout back most.
    First,
    /// It holds the rollout back most once the first is lifted.
    Next,
    /// It keeps the rollout from completing.
    Keeps,
    /// The rollout is slower without it.
    Slows,
    /// It would be named, but its time cannot be saved by half.
    Saturates,
    /// A run of the trial reached ten times the events of its counterpart, and was stopped.
    Stopped,
}

/// `causes.csv`: one trial.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CauseRow {
    /// The variant.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings.
    pub setting: String,
    /// The kind of the trial.
    pub trial: TrialKind,
    /// The resources, joined by ` + `.
    pub resource: String,
    /// The value of the limit that was lifted, such as `1,000/min`; empty where the sites' values differ.
    pub limit: String,
    /// The number of runs of the trial, each with its counterpart.
    pub runs: u64,
    /// Median time of the counterparts; empty if most did not complete.
    pub base_s: Option<f64>,
    /// Median time of the trial's runs; empty if most did not complete.
    pub lifted_s: Option<f64>,
    /// Median of the time that the lift saves; negative if it costs time.
    pub saved_s: Option<f64>,
    /// Least time that the lift saves in a run.
    pub saved_low_s: Option<f64>,
    /// Most time that the lift saves in a run.
    pub saved_high_s: Option<f64>,
    /// Median number of concurrent pulls at the peak of the counterparts.
    pub base_peak_pulls: f64,
    /// Median number of concurrent pulls at the trial's peak.
    pub peak_pulls: f64,
    /// The number of runs in which the lift saves more than 5%, and more than the placebo moves any run.
    pub saving_runs: u64,
    /// How the trial is judged.
    pub verdict: CauseVerdict,
}

impl CauseRow {
    /// The resources of the trial.
    #[must_use]
    pub fn resources(&self) -> Vec<Resource> {
        let mut found = Vec::new();
        for key in self.resource.split(JOINED) {
            found.extend(Resource::ALL.into_iter().find(|one| one.key() == key));
        }
        found
    }
}

/// Between the resources of a trial.
const JOINED: &str = " + ";

/// The names of several resources, as in the table.
#[must_use]
pub fn resource_keys(resources: &[Resource]) -> String {
    let keys: Vec<String> = resources.iter().map(|one| one.key()).collect();
    keys.join(JOINED)
}

impl Resource {
    /// The name of the resource in the table.
    fn key(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(key)) => key,
            _ => unreachable!("a variant without fields is a text"),
        }
    }
}

/// The table of all trials, with its name.
#[must_use]
pub fn causes_table(rows: &[CauseRow]) -> (&'static str, Vec<u8>) {
    (CAUSES_FILE, to_csv(&header::<CauseRow>(), rows))
}

/// Reads the trials of a results folder; empty if there were none.
///
/// # Errors
/// Returns an error if the table is damaged.
pub fn read_causes(folder: &Path) -> Result<Vec<CauseRow>, ResultsError> {
    from_csv_if_there(folder, CAUSES_FILE, row)
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_documented;
    use super::*;

    #[test]
    fn every_column_is_documented_and_reads_back() {
        let row = CauseRow {
            variant: "a".to_owned(),
            trial: TrialKind::Together,
            resource: resource_keys(&[Resource::RegistryLink, Resource::Mirrors]),
            base_s: Some(500.0),
            saved_s: Some(420.0),
            verdict: CauseVerdict::First,
            ..CauseRow::default()
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (name, bytes) = causes_table(std::slice::from_ref(&row));
        assert_documented(name, &bytes);
        std::fs::write(folder.path().join(name), bytes).expect("written");
        let read = read_causes(folder.path()).expect("readable");
        assert_eq!(read, [row]);
        assert_eq!(
            read[0].resources(),
            [Resource::RegistryLink, Resource::Mirrors]
        );
    }

    #[test]
    fn each_resource_is_listed_once_under_its_own_name() {
        let mut keys: Vec<String> = Resource::ALL.iter().map(|one| one.key()).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), Resource::ALL.len());
    }
}
