//! Settings of a cluster and of the workloads that every cluster runs.

use std::collections::BTreeMap;
use std::sync::Arc;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::engine::{EntityKey, Streams};
use crate::world::calibration as default;
use crate::world::clusters::autoscaling_spec::AutoscalingSpec;
use crate::world::clusters::site::{GapSpec, SiteKind, SiteLink};
use crate::world::quantity::{CountOrPercent, DurationModel, FactorModel, RateModel};
use fleetsim_units::serial::positive;
use fleetsim_units::{BytesPerSec, Share, SimDuration};

/// Maximum number of worker nodes of a cluster. Kubernetes is tested with 5,000; a count beyond this is a mistake.
pub const MOST_NODES: u32 = 10_000;

/// One Kubernetes cluster; in a file, a group of clusters that differ only in their names.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The cluster's unique name, which is also the key of its random numbers. In a file with ranges:
    /// `store-{0001..0900}` means 900 clusters. Several ranges multiply. For `store-{0001..}`, `clusters` sets the
    /// number.
    #[cfg_attr(any(test, feature = "schema"), schemars(required))]
    pub name: String,
    /// Number of clusters of a group with an open range, or its share of the file's `clusters`.
    pub clusters: Option<CountOrPercent>,
    /// The cluster's group: its name with ranges as in the file, or an inventory's namespace.
    #[serde(skip)]
    pub group: String,
    /// Labels of the cluster's object in the management cluster.
    #[serde(deserialize_with = "shared")]
    #[cfg_attr(
        any(test, feature = "schema"),
        schemars(with = "BTreeMap<String, String>")
    )]
    pub labels: Arc<BTreeMap<String, String>>,
    /// Number of worker nodes; drawn for each cluster and rounded to at least one.
    pub nodes: FactorModel,
    /// Nodes that join while pods wait for room. Default: none, and pods always fit.
    pub autoscaling: Option<AutoscalingSpec>,
    /// The kind of site. It sets the defaults of `downlink`, `rtt`, `loss` and `gaps`.
    pub site: Option<SiteKind>,
    /// Total rate at which the cluster's nodes can receive from outside; drawn for each cluster.
    pub downlink: RateModel,
    /// Round trip to the registry; drawn for each cluster.
    pub rtt: DurationModel,
    /// The correlation between the logarithms of downlink and round trip, if both are lognormal. The kind of site sets
    /// it.
    #[serde(skip)]
    pub rtt_correlation: f64,
    /// Share of segments lost between the registry and the cluster, which limits each connection.
    pub loss: Share,
    /// Rate of the network card of each of the cluster's nodes. `None`: that of `node`.
    #[serde(skip)]
    pub nic: Option<BytesPerSec>,
    /// Seconds without data on the link. By default, only `cellular` and `satellite` sites have gaps.
    pub gaps: Option<GapSpec>,
    /// The shared link to which the cluster belongs: a name in `regions`.
    #[serde(rename = "region")]
    pub region_name: Option<String>,
    /// Index of the cluster's region in [`crate::world::WorldSpec::regions`].
    #[serde(skip)]
    pub region: Option<usize>,
    /// The cluster's `spec.paused`.
    pub paused: bool,
    /// Whether the cluster has an agent (Fleet: a `status.namespace`).
    pub registered: bool,
    /// Whether the previous revision runs when an update begins; `false`: nothing runs.
    pub installed: bool,
    /// Whether the cluster is offline at the start of every run. `faults.offline.share` selects others at random.
    pub offline: bool,
}

impl ClusterSpec {
    /// Replaces the cluster's links with those of a kind of site.
    pub fn take_links_of(&mut self, site: SiteKind) {
        let SiteLink {
            downlink,
            rtt,
            loss,
            gaps,
            correlation,
            nic,
            ..
        } = site.link();
        (self.downlink, self.rtt, self.loss, self.gaps) = (downlink, rtt, loss, gaps);
        self.nic = nic;
        (self.site, self.rtt_correlation) = (Some(site), correlation);
    }

    /// Returns the mean number of nodes with which the cluster starts.
    #[must_use]
    pub fn mean_nodes(&self) -> f64 {
        let least = self.autoscaling.as_ref().and_then(|spec| spec.min_nodes);
        least.map_or_else(|| self.nodes.mean(), f64::from)
    }

    /// Draws the number of nodes of the cluster with the key `cluster`.
    pub(crate) fn draw_nodes(&self, streams: &Streams, cluster: EntityKey) -> u32 {
        match &self.nodes {
            FactorModel::Constant(count) => count.get() as u32,
            drawn => drawn
                .draw(streams, cluster, "nodes", 0)
                .get()
                .round()
                .clamp(1.0, f64::from(MOST_NODES)) as u32,
        }
    }
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            group: String::new(),
            clusters: None,
            labels: Arc::default(),
            nodes: default::NODES.into(),
            autoscaling: None,
            site: None,
            downlink: default::DOWNLINK.into(),
            rtt: default::RTT,
            rtt_correlation: 0.0,
            loss: Share::NONE,
            nic: None,
            gaps: None,
            region_name: None,
            region: None,
            paused: false,
            registered: true,
            installed: true,
            offline: false,
        }
    }
}

/// Deserializes labels so that clusters of one group share them.
fn shared<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<BTreeMap<String, String>>, D::Error> {
    BTreeMap::deserialize(deserializer).map(Arc::new)
}

/// One workload that every cluster runs.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WorkloadSpec {
    /// The workload's name, unique among the workloads. Default: the image's name.
    #[serde(default)]
    pub name: String,
    /// Number of pods, and how an update replaces them.
    #[serde(rename = "~kind")]
    #[cfg_attr(
        any(test, feature = "schema"),
        schemars(flatten, with = "WorkloadKindText")
    )]
    pub kind: WorkloadKind,
    /// The image that the workload's pods run: a name in `images`.
    #[serde(rename = "image")]
    pub image_name: String,
    /// Index of the workload's image in [`crate::world::WorldSpec::images`].
    #[serde(skip)]
    pub image: usize,
    /// Kubernetes' `imagePullPolicy`.
    #[serde(default, rename = "imagePullPolicy")]
    pub pull_policy: PullPolicy,
    /// Time from the start of the process until it can answer its readiness probe.
    #[serde(default = "start")]
    pub start: DurationModel,
    /// The readiness probe. Default: none, so a pod is ready once it has started.
    #[serde(default)]
    pub readiness: Option<ProbeSpec>,
    /// Maximum of `start`: a process that does not answer by then is stopped and restarted. With this limit, a pod
    /// without `readiness` is ready after `start`. It is the `timeout` of Cloud Foundry's health check, and
    /// `failureThreshold` times `periodSeconds` of a `startupProbe`. Default: no limit.
    #[serde(default)]
    pub start_timeout: Option<SimDuration>,
    /// Kubernetes' `minReadySeconds`, with a unit.
    #[serde(default)]
    pub min_ready: SimDuration,
    /// Time from the deletion of a pod until it is gone.
    #[serde(default = "termination")]
    pub termination: DurationModel,
}

const fn start() -> DurationModel {
    default::START
}

const fn termination() -> DurationModel {
    default::TERMINATION
}

/// Which Kubernetes controller runs a workload, with its rolling update settings.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(from = "WorkloadKindText")]
pub enum WorkloadKind {
    /// A Deployment with the RollingUpdate strategy.
    Deployment {
        /// Number of pods of the Deployment.
        replicas: u32,
        /// Maximum number of missing pods; a percentage is rounded down.
        max_unavailable: CountOrPercent,
        /// Maximum number of additional pods; a percentage is rounded up.
        max_surge: CountOrPercent,
        /// `progressDeadlineSeconds`: time without progress until a Deployment counts as failed.
        progress_deadline: SimDuration,
    },
    /// A DaemonSet with the RollingUpdate strategy: one pod per node.
    DaemonSet {
        /// Maximum number of nodes without a pod; a percentage is rounded up.
        max_unavailable: CountOrPercent,
        /// Maximum number of nodes with both an old and a new pod; a percentage is rounded up.
        max_surge: CountOrPercent,
    },
}

/// `maxUnavailable` of a Deployment. Source: api, `apps/v1` RollingUpdateDeployment.
pub const DEPLOYMENT_MAX_UNAVAILABLE: CountOrPercent = CountOrPercent::Percent(25);

/// `maxSurge` of a Deployment. Source: api, `apps/v1` RollingUpdateDeployment.
pub const DEPLOYMENT_MAX_SURGE: CountOrPercent = CountOrPercent::Percent(25);

/// `maxUnavailable` of a DaemonSet. Source: api, `apps/v1` RollingUpdateDaemonSet.
pub const DAEMON_SET_MAX_UNAVAILABLE: CountOrPercent = CountOrPercent::Count(1);

/// `maxSurge` of a DaemonSet. Source: api, `apps/v1` RollingUpdateDaemonSet.
pub const DAEMON_SET_MAX_SURGE: CountOrPercent = CountOrPercent::Count(0);

/// A workload's controller and its settings.
#[derive(Debug, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
struct WorkloadKindText {
    /// The Kubernetes controller that runs the workload.
    kind: ControllerKind,
    /// Number of pods of a Deployment. With 0, the Deployment is ready once its controller has observed it.
    #[serde(default = "one")]
    replicas: u32,
    /// `maxUnavailable` of the rolling update. Default: 25% for a Deployment, 1 for a DaemonSet.
    max_unavailable: Option<CountOrPercent>,
    /// `maxSurge` of the rolling update. Default: 25% for a Deployment, 0 for a DaemonSet.
    max_surge: Option<CountOrPercent>,
    /// Kubernetes' `progressDeadlineSeconds` of a Deployment, with a unit. After this time without progress, the
    /// Deployment counts as failed (Argo CD: Degraded). Must be longer than `minReady`.
    #[serde(default = "progress_deadline")]
    progress_deadline: SimDuration,
}

const fn one() -> u32 {
    1
}

const fn progress_deadline() -> SimDuration {
    default::PROGRESS_DEADLINE
}

/// A Kubernetes workload controller.
#[derive(Debug, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
enum ControllerKind {
    /// A Deployment with the RollingUpdate strategy.
    Deployment,
    /// A DaemonSet with the RollingUpdate strategy: one pod per node.
    DaemonSet,
}

impl From<WorkloadKindText> for WorkloadKind {
    fn from(written: WorkloadKindText) -> Self {
        let WorkloadKindText {
            kind,
            replicas,
            max_unavailable,
            max_surge,
            progress_deadline,
        } = written;
        match kind {
            ControllerKind::Deployment => Self::Deployment {
                replicas,
                max_unavailable: max_unavailable.unwrap_or(DEPLOYMENT_MAX_UNAVAILABLE),
                max_surge: max_surge.unwrap_or(DEPLOYMENT_MAX_SURGE),
                progress_deadline,
            },
            ControllerKind::DaemonSet => Self::DaemonSet {
                max_unavailable: max_unavailable.unwrap_or(DAEMON_SET_MAX_UNAVAILABLE),
                max_surge: max_surge.unwrap_or(DAEMON_SET_MAX_SURGE),
            },
        }
    }
}

/// When the kubelet asks the runtime to pull.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub enum PullPolicy {
    /// Pull only if the image is not on the node.
    #[default]
    IfNotPresent,
    /// Pull for every pod. If the image is on the node, this costs only the manifest requests.
    Always,
}

/// A readiness probe.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ProbeSpec {
    /// Time before the first probe.
    pub initial_delay: SimDuration,
    /// Time between two probes.
    #[serde(deserialize_with = "positive")]
    pub period: SimDuration,
    /// Number of consecutive successes after which a pod is ready.
    #[serde(deserialize_with = "positive")]
    pub success_threshold: u32,
}

impl ProbeSpec {
    /// Returns the time from the start of a container until its probe has succeeded, if its process can answer after
    /// `able`.
    pub(crate) fn succeeds(&self, able: SimDuration) -> SimDuration {
        // Probes are sent every period from the start; probes before the initial delay are skipped.
        let missed = able
            .max(self.initial_delay)
            .as_nanos()
            .div_ceil(self.period.as_nanos());
        self.period * (missed + u64::from(self.success_threshold) - 1)
    }
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self {
            initial_delay: SimDuration::ZERO,
            period: default::PROBE_PERIOD,
            success_threshold: 1,
        }
    }
}
