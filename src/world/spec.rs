//! What a world is made of: plain, checked data that a run only reads.
//!
//! Most of these types are also the settings of an experiment file: they read themselves, and their defaults are the
//! values of [`crate::world::calibration`]. A reference to another part of the file is a name in the file and an index
//! here, which is filled in when the experiment is checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::units::serial::positive;
use crate::units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration};
use crate::world::backoff::Backoff;
use crate::world::calibration as default;
use crate::world::clusters::restarts::Restarts;
use crate::world::distribution::spec::DistributionSpec;
use crate::world::faults::spec::FaultSpec;
use crate::world::nodes::runtime::spec::{RuntimeSpec, RuntimeVersion};
use crate::world::quantity::{CountOrPercent, DurationModel, RateModel, SizeModel};
use crate::world::registry::spec::{RegistrySpec, RequestLimit};

/// The whole world of one run, before its luck is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldSpec {
    /// The fleet, in the order of the experiment file or the inventory.
    pub clusters: Vec<ClusterSpec>,
    /// Links that several clusters share between the registry and their own downlink.
    pub regions: Vec<RegionSpec>,
    /// Where images come from.
    pub registry: RegistrySpec,
    /// Other registries, from which the images come that name one.
    pub registries: Vec<NamedRegistry>,
    /// How images get from there to the nodes.
    pub distribution: DistributionSpec,
    /// What every node runs.
    pub node: NodeSpec,
    /// What is rolled out: images in two revisions.
    pub images: Vec<ImageSpec>,
    /// What every cluster runs of them.
    pub workloads: Vec<WorkloadSpec>,
    /// Whether an older revision runs everywhere when the rollout starts.
    pub release: ReleaseKind,
    /// What brings the new revision into a cluster and reports on it.
    pub agent: AgentSpec,
    /// What goes wrong.
    pub faults: FaultSpec,
}

impl WorldSpec {
    /// The registry of an image, by its number: 0 is [`WorldSpec::registry`], others follow.
    #[must_use]
    pub fn registry_at(&self, at: usize) -> &RegistrySpec {
        if at == 0 { &self.registry } else { &self.registries[at - 1].spec }
    }
}

/// A registry beside the first.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NamedRegistry {
    /// The name that images use; unique among the registries.
    pub name: String,
    /// Its settings, with the same defaults as those of the first.
    #[serde(default, rename = "registry")]
    pub spec: RegistrySpec,
}

/// Whether an older revision runs when the rollout starts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReleaseKind {
    /// All clusters run the previous revision, ready, with its images on their nodes.
    #[default]
    Update,
    /// First deployment: no cluster runs anything, no image layer is on any node.
    Initial,
}

/// One Kubernetes cluster; in a file, a group of clusters that differ in their names only.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Unique in the fleet; also the key of its random numbers. In a file with ranges: `store-{0001..0900}` is 900
    /// clusters. Several ranges multiply. `store-{0001..}` is as many as `clusters` says.
    #[schemars(required)]
    pub name: String,
    /// Number of clusters of a group whose name has an open range: a number, or a share of the file's `clusters`.
    pub clusters: Option<CountOrPercent>,
    /// Labels of the cluster's object in the management cluster.
    pub labels: BTreeMap<String, String>,
    /// Worker nodes, at least one.
    pub nodes: u32,
    /// Total rate at which its nodes can receive from outside; drawn for each cluster.
    pub downlink: RateModel,
    /// Round trip to the registry; drawn for each cluster.
    pub rtt: DurationModel,
    /// Segments lost on the way from the registry, which limits each connection.
    pub loss: Share,
    /// The shared link it sits behind: a name of `regions`.
    #[serde(rename = "region")]
    pub region_name: Option<String>,
    /// Index into [`WorldSpec::regions`] of that link.
    #[serde(skip)]
    pub region: Option<usize>,
    /// The cluster's `spec.paused`.
    pub paused: bool,
    /// Whether the cluster has an agent (Fleet: a `status.namespace`).
    pub registered: bool,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            clusters: None,
            labels: BTreeMap::new(),
            nodes: default::NODES,
            downlink: default::DOWNLINK.into(),
            rtt: default::RTT,
            loss: Share::NONE,
            region_name: None,
            region: None,
            paused: false,
            registered: true,
        }
    }
}

/// A link that several clusters share, between the registry's egress and their downlinks.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RegionSpec {
    /// The name that clusters use; unique among the regions.
    pub name: String,
    /// Total rate at which its clusters can receive.
    #[serde(deserialize_with = "positive")]
    pub bandwidth: BytesPerSec,
}

/// Kubelet, container runtime, disk and network card. A quantity that is drawn for each cluster is the same on all its
/// nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeSpec {
    /// Receiving rate of the network card; drawn for each cluster.
    pub nic: RateModel,
    /// How the kubelet orders pulls.
    #[serde(rename = "~pulls")]
    #[schemars(flatten, with = "PullOrderText")]
    pub pulls: PullOrder,
    /// Kubelet's `registryPullQPS` and `registryBurst`; a pull above it fails immediately. `None`: off (QPS 0).
    #[serde(rename = "~pullRate", deserialize_with = "pull_rate")]
    #[schemars(flatten, with = "PullRateText")]
    pub pull_rate: Option<RequestLimit>,
    /// Wait after a failed pull.
    pub image_backoff: Backoff,
    /// Wait before a crashed container is started again. The defaults are those of the product's platform: Cloud
    /// Foundry's are 2, 30 s, 16 min and 5 min, and there only the time a container was ready counts for `reset`.
    pub crash_backoff: Option<Restarts>,
    /// From an error to the pod's next sync, with `requeue: afterError`.
    pub error_requeue: DurationModel,
    /// When the kubelet looks again at a pod whose sync failed.
    #[serde(rename = "~requeue")]
    #[schemars(flatten, with = "RequeueText")]
    pub requeue: Requeue,
    /// An attempt to pull that takes longer is cancelled. Kubernetes has no limit.
    #[serde(deserialize_with = "positive")]
    pub pull_deadline: Option<SimDuration>,
    /// The container runtime, whose defaults the fields from `downloadSlots` to `mergePulls` take.
    #[serde(rename = "runtime")]
    pub version: RuntimeVersion,
    /// How the container runtime downloads, and what it does when a request or a transfer fails.
    #[serde(rename = "~runtime")]
    #[schemars(flatten)]
    pub runtime: RuntimeSpec,
    /// Whether compressed layers stay on the node after they are unpacked (containerd: not `discard_unpacked_layers`).
    pub keep_blobs: bool,
    /// Layers unpacked simultaneously: 1 is one after another in each image, more are counted over the node
    /// (containerd's `max_concurrent_unpacks`, since 2.2).
    #[serde(deserialize_with = "positive")]
    pub unpack_slots: u32,
    /// Uncompressed bytes written per second while unpacking one layer; drawn for each cluster.
    pub unpack_rate: RateModel,
    /// The disk that all unpacking on a node writes through. Without it, the disk is never a limit.
    pub disk: Option<DiskSpec>,
    /// Variation of `unpackRate` between nodes: sigma of a lognormal factor with median 1, from 0 to 2.
    #[serde(deserialize_with = "spread")]
    pub unpack_spread: f64,
    /// Part of unpacking a layer that does not depend on its size.
    pub unpack_per_layer: DurationModel,
    /// Part of a pull that does not depend on the image.
    pub pull_constant: DurationModel,
    /// From the image being present to the container's process being started (sandbox, create, start).
    pub start_overhead: DurationModel,
}

impl Default for NodeSpec {
    fn default() -> Self {
        Self {
            nic: default::NIC.into(),
            pulls: PullOrderText::default().into(),
            pull_rate: PullRateText::default().into(),
            image_backoff: Backoff::default(),
            crash_backoff: None,
            error_requeue: default::ERROR_REQUEUE,
            requeue: RequeueText::default().into(),
            pull_deadline: None,
            version: RuntimeVersion::default(),
            runtime: RuntimeSpec::default(),
            keep_blobs: default::KEEP_BLOBS,
            unpack_slots: default::UNPACK_SLOTS,
            unpack_rate: default::UNPACK_RATE.into(),
            disk: None,
            unpack_spread: default::UNPACK_SPREAD,
            unpack_per_layer: default::UNPACK_PER_LAYER,
            pull_constant: default::PULL_CONSTANT,
            start_overhead: default::START_OVERHEAD,
        }
    }
}

fn spread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let sigma = f64::deserialize(deserializer)?;
    if (0.0..=2.0).contains(&sigma) {
        return Ok(sigma);
    }
    Err(de::Error::custom(format!("must be between 0 and 2, not {sigma}; 0.1 is usual")))
}

/// The kubelet's settings for the rate of pulls.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct PullRateText {
    /// The kubelet's `registryPullQPS`, pulls started per second; 0 is off.
    #[serde(rename = "registryPullQPS")]
    registry_pull_qps: u32,
    /// The kubelet's `registryBurst`.
    #[serde(deserialize_with = "positive")]
    registry_burst: u32,
}

impl Default for PullRateText {
    fn default() -> Self {
        Self { registry_pull_qps: default::REGISTRY_PULL_QPS, registry_burst: default::REGISTRY_BURST }
    }
}

impl From<PullRateText> for Option<RequestLimit> {
    fn from(PullRateText { registry_pull_qps: qps, registry_burst }: PullRateText) -> Self {
        (qps > 0).then(|| RequestLimit::new(PerSecond::new(f64::from(qps)), registry_burst))
    }
}

fn pull_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestLimit>, D::Error> {
    PullRateText::deserialize(deserializer).map(Into::into)
}

/// When the kubelet looks again at a pod whose sync failed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(from = "RequeueText")]
pub enum Requeue {
    /// After [`NodeSpec::error_requeue`], whatever the error.
    AfterError,
    /// When the earliest gate of the pod opens, but after `sync_period` at the latest; either times U[1, 1.5].
    AtExpiry {
        /// The kubelet's `syncFrequency`.
        sync_period: SimDuration,
    },
}

/// The kubelet's settings for a pod's next sync after an error.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct RequeueText {
    /// What sets a pod's next sync after an error.
    requeue: RequeueRule,
    /// The kubelet's `syncFrequency`. Only used with `requeue: atExpiry`.
    #[serde(deserialize_with = "positive")]
    sync_frequency: SimDuration,
}

impl Default for RequeueText {
    // Source: `completeWork` in kubernetes/kubernetes `pkg/kubelet/pod_workers.go`. Newer kubelets (#133066, 2025-10) take
    // the earliest expiry that an error carries; in the copies read only a crash loop's error carries one, so pulls keep
    // the older rule.
    fn default() -> Self {
        Self { requeue: RequeueRule::AfterError, sync_frequency: default::SYNC_PERIOD }
    }
}

/// What sets a pod's next sync after an error.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
enum RequeueRule {
    /// `errorRequeue`: the older rule, which pulls still follow in the newer kubelets that were read.
    AfterError,
    /// When the pod's back-off ends, at most `syncFrequency`, times 1 to 1.5.
    AtExpiry,
}

impl From<RequeueText> for Requeue {
    fn from(written: RequeueText) -> Self {
        match written.requeue {
            RequeueRule::AfterError => Self::AfterError,
            RequeueRule::AtExpiry => Self::AtExpiry { sync_period: written.sync_frequency },
        }
    }
}

/// A disk behind a page cache.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DiskSpec {
    /// Sustained writing rate.
    #[serde(deserialize_with = "positive")]
    pub rate: BytesPerSec,
    /// Bytes that may wait in memory to be written. While there is room, the disk slows nobody down.
    #[serde(default)]
    pub buffer: Bytes,
}

/// How the kubelet orders the pulls of a node.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(from = "PullOrderText")]
pub enum PullOrder {
    /// `serializeImagePulls: true`: one after another, first come first served.
    Serial,
    /// `serializeImagePulls: false`, with `maxParallelImagePulls` if given.
    Parallel {
        /// Most pulls at once. `None`: no cap.
        max: Option<u32>,
    },
}

/// The kubelet's settings for the order of pulls.
#[derive(Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct PullOrderText {
    /// The kubelet's `serializeImagePulls`. True by default, false when `maxParallelImagePulls` is 2 or more.
    serialize_image_pulls: Option<bool>,
    /// The kubelet's `maxParallelImagePulls`. Without it there is no cap.
    #[serde(deserialize_with = "positive")]
    max_parallel_image_pulls: Option<u32>,
}

impl From<PullOrderText> for PullOrder {
    /// The kubelet's own rule: serial unless two or more may be pulled in parallel.
    fn from(written: PullOrderText) -> Self {
        let max = written.max_parallel_image_pulls;
        match (written.serialize_image_pulls, max) {
            (Some(true), _) | (None, None | Some(0 | 1)) => Self::Serial,
            (Some(false), _) | (None, Some(2..)) => Self::Parallel { max },
        }
    }
}

/// One image in its old and its new revision.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSpec {
    /// The name that workloads use.
    pub name: String,
    /// The new revision's layers, bottom first.
    pub layers: Vec<LayerSpec>,
    /// The old revision's layers, bottom first; empty when nothing is known of it or nothing runs.
    pub previous: Vec<LayerSpec>,
    /// Size of the new revision's config blob; drawn once a run.
    pub config: SizeModel,
    /// The registry it comes from, as in [`WorldSpec::registry_at`].
    pub registry: usize,
}

/// One layer of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSpec {
    /// Its digest: equal digests are the same bytes, and the key of its luck.
    pub digest: String,
    /// Bytes over the wire; drawn once a run.
    pub compressed: SizeModel,
    /// Bytes on disk; drawn once a run.
    pub uncompressed: Uncompressed,
}

/// What a layer takes on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Uncompressed {
    /// So many times what goes over the wire.
    Ratio(f64),
    /// A size of its own.
    Size(SizeModel),
}

/// One workload that every cluster runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WorkloadSpec {
    /// Unique among the workloads; the image's name by default.
    #[serde(default)]
    pub name: String,
    /// How many pods, and how they are replaced.
    #[serde(rename = "~kind")]
    #[schemars(flatten, with = "WorkloadKindText")]
    pub kind: WorkloadKind,
    /// The image that its pods run: a name of `images`.
    #[serde(rename = "image")]
    pub image_name: String,
    /// Index into [`WorldSpec::images`] of that image.
    #[serde(skip)]
    pub image: usize,
    /// Kubernetes' `imagePullPolicy`.
    #[serde(default, rename = "imagePullPolicy")]
    pub pull_policy: PullPolicy,
    /// From the start of the process until it can answer its readiness probe.
    #[serde(default = "start")]
    pub start: DurationModel,
    /// The readiness probe. Without it, a pod is ready once started.
    #[serde(default)]
    pub readiness: Option<ProbeSpec>,
    /// Kubernetes' `minReadySeconds`, with a unit.
    #[serde(default)]
    pub min_ready: SimDuration,
    /// From the deletion of a pod until it is gone.
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
        /// Pods, at least 1.
        replicas: u32,
        /// Pods that may be missing; percent rounds down.
        max_unavailable: CountOrPercent,
        /// Pods that may be too many; percent rounds up.
        max_surge: CountOrPercent,
        /// Kubernetes' `progressDeadlineSeconds`: without progress for longer, the Deployment counts as failed.
        progress_deadline: SimDuration,
    },
    /// A DaemonSet with the RollingUpdate strategy: one pod a node.
    DaemonSet {
        /// Nodes that may be without a pod; percent rounds up.
        max_unavailable: CountOrPercent,
        /// Nodes that may have an old and a new pod; percent rounds up.
        max_surge: CountOrPercent,
    },
}

/// `maxUnavailable` of a Deployment. Source: api, `apps/v1` RollingUpdateDeployment.
pub const DEPLOYMENT_MAX_UNAVAILABLE: CountOrPercent = CountOrPercent::Percent(25);

/// `maxSurge` of a Deployment. Source: as above.
pub const DEPLOYMENT_MAX_SURGE: CountOrPercent = CountOrPercent::Percent(25);

/// `maxUnavailable` of a DaemonSet. Source: api, `apps/v1` RollingUpdateDaemonSet.
pub const DAEMON_SET_MAX_UNAVAILABLE: CountOrPercent = CountOrPercent::Count(1);

/// `maxSurge` of a DaemonSet. Source: as above.
pub const DAEMON_SET_MAX_SURGE: CountOrPercent = CountOrPercent::Count(0);

/// A workload's controller and its settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkloadKindText {
    /// Which Kubernetes controller runs it.
    kind: ControllerKind,
    /// Pods of a Deployment.
    #[serde(default = "one", deserialize_with = "positive")]
    replicas: u32,
    /// `maxUnavailable` of the rolling update. 25% for a Deployment, 1 for a DaemonSet by default.
    max_unavailable: Option<CountOrPercent>,
    /// `maxSurge` of the rolling update. 25% for a Deployment, 0 for a DaemonSet by default.
    max_surge: Option<CountOrPercent>,
    /// Kubernetes' `progressDeadlineSeconds` of a Deployment, with a unit: without progress for longer, it counts as
    /// failed (Argo CD: Degraded). Longer than `minReady`.
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
#[derive(Debug, Deserialize, JsonSchema)]
enum ControllerKind {
    /// With the RollingUpdate strategy.
    Deployment,
    /// With the RollingUpdate strategy: one pod per node.
    DaemonSet,
}

impl From<WorkloadKindText> for WorkloadKind {
    fn from(written: WorkloadKindText) -> Self {
        let WorkloadKindText { kind, replicas, max_unavailable, max_surge, progress_deadline } = written;
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
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum PullPolicy {
    /// When the image is not on the node.
    #[default]
    IfNotPresent,
    /// For every pod; an image that is there costs the manifest requests only.
    Always,
}

/// A readiness probe.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ProbeSpec {
    /// Time before the first probe.
    pub initial_delay: SimDuration,
    /// Time between two probes.
    #[serde(deserialize_with = "positive")]
    pub period: SimDuration,
    /// Consecutive successes that make a pod ready.
    #[serde(deserialize_with = "positive")]
    pub success_threshold: u32,
}

impl Default for ProbeSpec {
    fn default() -> Self {
        Self { initial_delay: SimDuration::ZERO, period: default::PROBE_PERIOD, success_threshold: 1 }
    }
}

/// How news travels between the management cluster and a cluster, and how long applying takes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AgentSpec {
    /// From an instruction for a cluster until its agent has it.
    pub instruction_delay: DurationModel,
    /// Applying a revision (Fleet: the Helm upgrade).
    pub apply: DurationModel,
    /// From sending a report until the management cluster has it.
    pub report_delay: DurationModel,
    /// From a change of readiness in the cluster to the report about it.
    pub readiness_delay: DurationModel,
}

impl Default for AgentSpec {
    fn default() -> Self {
        Self {
            instruction_delay: default::INSTRUCTION_DELAY,
            apply: default::APPLY,
            report_delay: default::REPORT_DELAY,
            readiness_delay: default::READINESS_DELAY,
        }
    }
}
