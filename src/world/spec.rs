//! What a world is made of: plain, checked data that a scenario fills in and a run only reads.
//!
//! No field here is optional for want of a value: a scenario has filled in the defaults of [`crate::world::calibration`].

use crate::world::backoff::Backoff;
use crate::world::backoff::Requeue;
use crate::world::faults::spec::FaultSpec;
use crate::world::nodes::runtime::spec::RuntimeSpec;
use crate::world::quantity::CountOrPercent;
use crate::world::quantity::DurationModel;
use crate::world::quantity::RateModel;
use crate::world::quantity::SizeModel;
use crate::world::registry::spec::RegistrySpec;
use crate::world::registry::spec::RequestLimit;
use std::collections::BTreeMap;

use crate::units::{Bytes, BytesPerSec, Share, SimDuration};
use crate::world::distribution::spec::DistributionSpec;

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
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRegistry {
    /// Unique among the registries.
    pub name: String,
    /// What it is.
    pub spec: RegistrySpec,
}

/// Whether something runs already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReleaseKind {
    /// First deployment: no cluster runs anything, no image layer is on any node.
    Initial,
    /// All clusters run the previous revision, ready, with its images on their nodes.
    Update,
}

/// One Kubernetes cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSpec {
    /// Unique in the fleet; also the key of its luck.
    pub name: String,
    /// Labels of the cluster's object in the management cluster.
    pub labels: BTreeMap<String, String>,
    /// Worker nodes, at least one.
    pub nodes: u32,
    /// What all nodes together can receive from outside; drawn once a run.
    pub downlink: RateModel,
    /// Round trip to the registry; drawn once a run.
    pub rtt: DurationModel,
    /// Segments that are lost on the way from the registry.
    pub loss: Share,
    /// Index into [`WorldSpec::regions`] of the shared link it sits behind, if any.
    pub region: Option<usize>,
    /// The cluster's `spec.paused`.
    pub paused: bool,
    /// False while the cluster has no agent yet (Fleet: no `status.namespace`).
    pub registered: bool,
}

/// A link that several clusters share, between the registry's egress and their downlinks.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionSpec {
    /// Unique among the regions.
    pub name: String,
    /// What all its clusters together can receive.
    pub bandwidth: BytesPerSec,
}

/// Kubelet, container runtime, disk and network card. What is drawn "for a cluster" is drawn once a run and is the same
/// on all its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// What the network card can receive; drawn for a cluster.
    pub nic: RateModel,
    /// How the kubelet orders pulls.
    pub pulls: PullOrder,
    /// `registryPullQPS` and `registryBurst`; a pull above it fails at once. `None`: off (QPS 0).
    pub pull_rate: Option<RequestLimit>,
    /// First and longest gate after a failed pull; it doubles in between.
    pub image_backoff: Backoff,
    /// From an error to the pod's next sync, where [`NodeSpec::requeue`] says so.
    pub error_requeue: DurationModel,
    /// When the kubelet looks again at a pod whose sync failed.
    pub requeue: Requeue,
    /// An attempt to pull that takes longer than this from its start is cancelled. `None`: no limit, as in Kubernetes.
    pub pull_deadline: Option<SimDuration>,
    /// How the container runtime downloads, and what it does when a request or a transfer fails.
    pub runtime: RuntimeSpec,
    /// Whether compressed layers stay on the node after they are unpacked (containerd: not `discard_unpacked_layers`).
    pub keep_blobs: bool,
    /// Layers unpacked at once: 1 is one after another in each image, more are counted over the node (containerd's
    /// `max_concurrent_unpacks`, since 2.2).
    pub unpack_slots: u32,
    /// Uncompressed bytes written per second while unpacking one layer, as fast as the disk takes them; drawn for a
    /// cluster.
    pub unpack_rate: RateModel,
    /// What all layers that are unpacked at once can write together. `None`: never a limit.
    pub disk: Option<DiskSpec>,
    /// Spread between nodes of `unpack_rate`: sigma of a lognormal factor with median 1.
    pub unpack_spread: f64,
    /// Part of unpacking a layer that does not depend on its size.
    pub unpack_per_layer: DurationModel,
    /// Part of a pull that depends on nothing.
    pub pull_constant: DurationModel,
    /// From the image being there to the container's process being started (sandbox, create, start).
    pub start_overhead: DurationModel,
}

/// A disk behind a page cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskSpec {
    /// What it writes per second; not zero.
    pub rate: BytesPerSec,
    /// Bytes that may wait in memory to be written. As long as there is room, the disk slows nobody down.
    pub buffer: Bytes,
}

/// How the kubelet orders the pulls of a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullOrder {
    /// `serializeImagePulls: true`: one after another, first come first served.
    Serial,
    /// `serializeImagePulls: false`, with `maxParallelImagePulls` if given.
    Parallel {
        /// Most pulls at once. `None`: no cap.
        max: Option<u32>,
    },
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
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Unique among the workloads.
    pub name: String,
    /// How many pods, and how they are replaced.
    pub kind: WorkloadKind,
    /// Index into [`WorldSpec::images`] of the one image its pods run.
    pub image: usize,
    /// Kubernetes' `imagePullPolicy`.
    pub pull_policy: PullPolicy,
    /// From the process being started until it could answer its readiness probe.
    pub start: DurationModel,
    /// The readiness probe. `None`: ready once started.
    pub readiness: Option<ProbeSpec>,
    /// Kubernetes' `minReadySeconds`.
    pub min_ready: SimDuration,
    /// From deleting a pod to its being gone.
    pub termination: DurationModel,
}

/// Which Kubernetes controller runs a workload, with its rolling update settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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

/// When the kubelet asks the runtime to pull.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullPolicy {
    /// When the image is not on the node.
    IfNotPresent,
    /// For every pod; an image that is there costs the manifest requests only.
    Always,
}

/// A readiness probe.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProbeSpec {
    /// Before the first probe.
    pub initial_delay: SimDuration,
    /// Between two probes; not zero.
    pub period: SimDuration,
    /// Successes in a row that make a pod ready, at least 1.
    pub success_threshold: u32,
}

/// How news travels between the management cluster and a cluster, and how long applying takes.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSpec {
    /// From telling a cluster to its agent knowing.
    pub instruction_delay: DurationModel,
    /// Applying a revision: Fleet's Helm upgrade.
    pub apply: DurationModel,
    /// From a report being sent to the management cluster having it.
    pub report_delay: DurationModel,
    /// From a change of readiness in the cluster to the report that tells of it.
    pub readiness_delay: DurationModel,
}
