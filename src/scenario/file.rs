//! The experiment file as its author wrote it: text with units, and fields left out.
//!
//! The doc comments here are also what an editor shows, through the JSON Schema, so they say the default. Alternatives
//! are chosen by key (`rancherFleet: {…}`), so that every error points at its line. Checking is elsewhere.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use super::assertion::AssertionFile;
use super::distribution_file::{DistributionFile, MirrorFile};
use super::file_plan::PlanFile;
use super::file_registry::{NamedRegistryFile, RegistryFile};
use super::file_runtime::{RetryFile, RuntimeFile, SlotScopeFile};
use super::precision::PrecisionFile;
use super::quantity::{Amount, Anything, Duration, Ordered, Percent, Rate, Size, Timeout};
use super::spread::Spread;
use crate::document::text_or::TextOr;
use crate::products::StrategyChoice;
use crate::rollout::ControlLoopOverrides;
use crate::rollout::label_selector::LabelSelector;
use crate::world::FaultSpec;

/// An experiment: a fleet, a registry, a release, what goes wrong, and the strategies to compare.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
#[schemars(title = "fleetsim experiment")]
pub(crate) struct ExperimentFile {
    /// Short name of lowercase letters, digits and `-`. Default: the experiment folder's name.
    pub(crate) name: Option<String>,
    /// What the experiment asks, in one sentence.
    pub(crate) question: Option<String>,
    /// The root of all luck. Default: 1.
    pub(crate) seed: Option<u64>,
    /// Runs of every variant, each with its own luck; with `precision` the fewest. Default: 20, with `precision` 10.
    pub(crate) replicates: Option<u32>,
    /// How precise the results are to be: runs are added to a variant until they are. Default: `replicates` runs, however
    /// precise.
    pub(crate) precision: Option<PrecisionFile>,
    /// When a run is given up; what is not done by then is reported as unfinished. Default: 24h.
    pub(crate) horizon: Option<Duration>,
    /// How many clusters all groups of `fleet` are together, when each takes a share of them (`clusters: 90%`).
    pub(crate) clusters: Option<u64>,
    /// Groups of clusters that are alike. This, `inventory`, or both.
    pub(crate) fleet: Option<Vec<GroupFile>>,
    /// Clusters as `kubectl get clusters.fleet.cattle.io -A -o json` prints them: a file, or a file with what it does
    /// not tell (nodes and links).
    pub(crate) inventory: Option<InventoryFile>,
    /// Fleet's cluster groups, for partitions that name one.
    pub(crate) cluster_groups: Option<Vec<ClusterGroupFile>>,
    /// Links that several clusters share on their way from the registry.
    pub(crate) regions: Option<Vec<RegionFile>>,
    /// Where images come from.
    pub(crate) registry: Option<RegistryFile>,
    /// Other registries, for images that name one.
    pub(crate) registries: Option<Vec<NamedRegistryFile>>,
    /// How images get from the registry to the nodes. Default: {direct: {}}.
    pub(crate) distribution: Option<DistributionFile>,
    /// Registries of a region that are asked before the one above.
    pub(crate) mirrors: Option<Vec<MirrorFile>>,
    /// What every node runs.
    pub(crate) node: Option<NodeFile>,
    /// What is rolled out.
    #[schemars(required)]
    pub(crate) release: Option<ReleaseFile>,
    /// What goes wrong.
    pub(crate) faults: FaultSpec,
    /// How news travels between the management cluster and a cluster, and how long applying takes.
    pub(crate) agent: Option<AgentFile>,
    /// How the control loop of every strategy runs. Default: as each product's does.
    #[serde(default)]
    pub(crate) controller: ControlLoopOverrides,
    /// The strategies to compare: a name of your own -> one product with its configuration.
    #[schemars(required)]
    pub(crate) strategies: Option<Ordered<StrategyChoice>>,
    /// Settings to vary: a path in this file -> its values. Several paths make a grid. A path into one strategy leaves
    /// the others alone.
    pub(crate) sweep: Option<Ordered<Vec<Anything>>>,
    /// What the results must keep to, e.g. `completion_p95 < 4h`; the program exits with 99 when they do not.
    pub(crate) assert: Option<Vec<AssertionFile>>,
    /// What `fleetsim plan` searches for: the fastest settings that keep to limits.
    pub(crate) plan: Option<PlanFile>,
}

/// Clusters that differ in their names only.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GroupFile {
    /// The name, with ranges: `store-{0001..0900}` is 900 clusters. Several ranges multiply. `store-{0001..}` is as many
    /// as `clusters` says.
    pub(crate) name: String,
    /// How many clusters a name with an open range stands for: a number, or a share of the file's `clusters`.
    pub(crate) clusters: Option<Amount>,
    /// Labels of the clusters' objects in the management cluster.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Worker nodes of each cluster. Default: 3.
    pub(crate) nodes: Option<u32>,
    /// What all nodes of a cluster together can receive from outside; drawn for each cluster. Default: 100 Mbit/s.
    pub(crate) downlink: Option<Spread<Rate>>,
    /// Round trip to the registry; drawn for each cluster. Default: 30 ms.
    pub(crate) rtt: Option<Spread>,
    /// Segments lost on the way from the registry, which bounds each connection. Default: 0%.
    pub(crate) loss: Option<Percent>,
    /// The shared link it sits behind: a name of `regions`. Default: none.
    pub(crate) region: Option<String>,
    /// The clusters' `spec.paused`. Default: false.
    #[serde(default)]
    pub(crate) paused: bool,
    /// Whether the clusters have an agent. Default: true.
    pub(crate) registered: Option<bool>,
}

/// An inventory and what it does not tell.
#[derive(Clone, Debug)]
pub(crate) struct InventoryFile(pub(crate) InventoryFields);

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InventoryFields {
    /// JSON as `kubectl get clusters.fleet.cattle.io -A -o json` prints it.
    pub(crate) file: String,
    /// JSON as `kubectl get clustergroups.fleet.cattle.io -A -o json` prints it.
    pub(crate) cluster_groups: Option<String>,
    /// Rules by label: for each field, the first rule that selects the cluster and sets the field counts.
    #[serde(default)]
    pub(crate) links: Vec<LinkRule>,
    /// What counts where no rule does.
    pub(crate) default: Option<LinkFields>,
}

/// What the clusters that a selector selects are made of.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LinkRule {
    /// A Kubernetes label selector; `{}` selects all.
    pub(crate) selector: LabelSelector,
    /// Worker nodes of each cluster.
    pub(crate) nodes: Option<u32>,
    /// What all nodes of a cluster together can receive from outside; drawn for each cluster.
    pub(crate) downlink: Option<Spread<Rate>>,
    /// Round trip to the registry; drawn for each cluster.
    pub(crate) rtt: Option<Spread>,
    /// Segments lost on the way from the registry, which bounds each connection. Default: 0%.
    pub(crate) loss: Option<Percent>,
    /// The shared link it sits behind: a name of `regions`.
    pub(crate) region: Option<String>,
}

/// What a cluster is made of.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LinkFields {
    /// Worker nodes of each cluster. Default: 3.
    pub(crate) nodes: Option<u32>,
    /// What all nodes of a cluster together can receive from outside; drawn for each cluster. Default: 100 Mbit/s.
    pub(crate) downlink: Option<Spread<Rate>>,
    /// Round trip to the registry; drawn for each cluster. Default: 30 ms.
    pub(crate) rtt: Option<Spread>,
    /// Segments lost on the way from the registry, which bounds each connection. Default: 0%.
    pub(crate) loss: Option<Percent>,
    /// The shared link it sits behind: a name of `regions`. Default: none.
    pub(crate) region: Option<String>,
}

/// A Fleet ClusterGroup.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ClusterGroupFile {
    /// Its name.
    pub(crate) name: String,
    /// Labels of the group's own object.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Which clusters belong to it. Without one: none.
    pub(crate) selector: Option<LabelSelector>,
}

/// A link that several clusters share, between the registry's egress and their downlinks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RegionFile {
    /// The name that clusters use.
    pub(crate) name: String,
    /// What all its clusters together can receive.
    pub(crate) bandwidth: Rate,
}

/// Kubelet, container runtime, disk and network card.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NodeFile {
    /// What the network card can receive; drawn for each cluster. Default: 10 Gbit/s.
    pub(crate) nic: Option<Spread<Rate>>,
    /// The kubelet's `serializeImagePulls`. Default: true, or false when `maxParallelImagePulls` is 2 or more.
    pub(crate) serialize_image_pulls: Option<bool>,
    /// The kubelet's `maxParallelImagePulls`. Default: no cap.
    pub(crate) max_parallel_image_pulls: Option<u32>,
    /// The kubelet's `registryPullQPS`, pulls started per second; 0 is off. Default: 5.
    #[serde(rename = "registryPullQPS")]
    pub(crate) registry_pull_qps: Option<u32>,
    /// The kubelet's `registryBurst`. Default: 10.
    pub(crate) registry_burst: Option<u32>,
    /// Gate after a failed pull. Default: 10 s doubling to 300 s.
    pub(crate) image_backoff: Option<BackoffFile>,
    /// Wait before a container that crashed is started again. Default: none after the first crash, then 10 s doubling
    /// to 300 s; with Cloud Foundry none after the first two, then 30 s doubling to 960 s.
    pub(crate) crash_backoff: Option<CrashBackoffFile>,
    /// From an error to the pod's next sync. Default: {min: 10 s, max: 15 s}.
    pub(crate) error_requeue: Option<Spread>,
    /// What sets a pod's next sync after an error. Default: afterError.
    pub(crate) requeue: Option<RequeueFile>,
    /// The kubelet's `syncFrequency`; counts with `requeue: atExpiry`. Default: 1m.
    pub(crate) sync_frequency: Option<Duration>,
    /// An attempt to pull that takes longer is cancelled, and its layers are kept as `resume` says. Default: no limit.
    pub(crate) pull_deadline: Option<Duration>,
    /// The container runtime, whose defaults the next fields take. Default: containerd-2.4.
    pub(crate) runtime: Option<RuntimeFile>,
    /// Layers downloaded at once. Default: 3; CRI-O 6.
    pub(crate) download_slots: Option<u32>,
    /// What the slots are counted over. Default: node; image for containerd up to 2.0 and CRI-O.
    pub(crate) slot_scope: Option<SlotScopeFile>,
    /// How often a request that was answered with 429 is repeated, and when.
    #[serde(rename = "retry429")]
    pub(crate) retry_429: Option<RetryFile>,
    /// Answers 503 in a row after which a request is made again at once. Default: 1; 0 for containerd up to 2.0 and
    /// CRI-O.
    #[serde(rename = "retry5xx")]
    pub(crate) retry_5xx: Option<u32>,
    /// How often a request that got no answer is repeated, and when. Default: 5 in all, 50 ms; one before containerd 2.4.
    pub(crate) retry_transport: Option<RetryFile>,
    /// How long a request waits for a connection. Default: 30 s.
    pub(crate) dial_timeout: Option<Duration>,
    /// How long a pull may go without a byte, or `off`. Default: 5m; 1m for containerd 1.7, off for CRI-O.
    pub(crate) no_progress_timeout: Option<Timeout>,
    /// Whether a failed attempt's partial layers are continued by the next one. Default: true; false for CRI-O.
    pub(crate) resume: Option<bool>,
    /// Whether a pull of an image that the node is pulling already waits for that one. Default: false; true for CRI-O.
    pub(crate) merge_pulls: Option<bool>,
    /// Whether compressed layers stay on the node after they are unpacked. Default: true.
    pub(crate) keep_blobs: Option<bool>,
    /// Layers unpacked at once, containerd's `max_concurrent_unpacks`; more than 1 are counted over the node. Default: 1.
    pub(crate) unpack_slots: Option<u32>,
    /// Uncompressed bytes written per second while unpacking one layer; drawn for each cluster. Default: 200 MB/s.
    pub(crate) unpack_rate: Option<Spread<Rate>>,
    /// What all unpacking on a node writes through. Default: never a limit.
    pub(crate) disk: Option<DiskFile>,
    /// Spread between nodes of `unpackRate`: sigma of a lognormal factor with median 1. Default: 0.1.
    pub(crate) unpack_spread: Option<f64>,
    /// Part of unpacking a layer that does not depend on its size. Default: 25 ms.
    pub(crate) unpack_per_layer: Option<Spread>,
    /// Part of a pull that depends on nothing. Default: 300 ms.
    pub(crate) pull_constant: Option<Spread>,
    /// Sandbox, container create and start. Default: {median: 1.5 s, sigma: 0.3}.
    pub(crate) start_overhead: Option<Spread>,
}

/// What sets a pod's next sync after an error.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RequeueFile {
    /// `errorRequeue`: the older rule, which pulls still follow in the newer kubelets that were read.
    AfterError,
    /// When the pod's gate opens, at most `syncFrequency`, times 1 to 1.5.
    AtExpiry,
}

/// A disk behind a page cache.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct DiskFile {
    /// What it writes in the long run.
    pub(crate) rate: Rate,
    /// Bytes that may wait in memory: until then the disk slows nobody down. Default: 0 B.
    pub(crate) buffer: Option<Size>,
}

/// A wait that doubles.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BackoffFile {
    /// The first wait. Default: 10 s.
    pub(crate) initial: Option<Duration>,
    /// The longest wait. Default: 300 s.
    pub(crate) max: Option<Duration>,
    /// It begins anew when nothing failed for longer. Default: twice `max`.
    pub(crate) reset: Option<Duration>,
}

/// When a container that crashed is started again.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CrashBackoffFile {
    /// Crashes in a row after which it is started at once. Default: 1; Cloud Foundry 2.
    pub(crate) immediate: Option<u32>,
    /// The first wait after those. Default: 10 s; Cloud Foundry 30 s.
    pub(crate) initial: Option<Duration>,
    /// The longest wait. Default: 300 s; Cloud Foundry 960 s.
    pub(crate) max: Option<Duration>,
    /// It begins anew when the container ran for longer. Default: 10m; Cloud Foundry 5m, and only while it was ready.
    pub(crate) reset: Option<Duration>,
}

/// What is rolled out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReleaseFile {
    /// Whether an older revision runs everywhere when the rollout starts. Default: update.
    pub(crate) kind: Option<ReleaseKindFile>,
    /// The images, in their new and their old revision.
    #[serde(default)]
    #[schemars(required)]
    pub(crate) images: Vec<ImageFile>,
    /// What every cluster runs of them.
    #[serde(default)]
    #[schemars(required)]
    pub(crate) workloads: Vec<WorkloadFile>,
}

/// Whether something runs already.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ReleaseKindFile {
    /// All clusters run the previous revision, ready, with its images on their nodes.
    Update,
    /// First deployment: nothing runs, no layer is on any node.
    Initial,
}

/// An image.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ImageFile {
    /// The name that workloads use.
    pub(crate) name: String,
    /// The new revision: a file as `crane manifest` prints it, or its layers in place.
    pub(crate) manifest: ManifestFile,
    /// The old revision, as `manifest`. Default: no layer of it is shared with the new one.
    pub(crate) previous: Option<ManifestFile>,
    /// The registry it comes from: a name of `registries`. Default: `registry`.
    pub(crate) registry: Option<String>,
    /// Uncompressed over compressed bytes of a layer, 0.1 to 1000. Default: 2.6.
    pub(crate) compression_ratio: Option<f64>,
}

/// A manifest in a file of its own, or its layers in place.
#[derive(Clone, Debug)]
pub(crate) enum ManifestFile {
    /// Relative to the experiment's folder.
    File(String),
    Inline(InlineManifest),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct InlineManifest {
    /// Size of the config blob; drawn once a run. Default: 8 kB.
    pub(crate) config: Option<Spread<Size>>,
    /// Bottom first.
    pub(crate) layers: Vec<LayerFile>,
}

/// One layer of an image.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LayerFile {
    /// Any text; layers with the same one are the same bytes. Default: a layer that is like no other.
    pub(crate) digest: Option<String>,
    /// Compressed, over the wire; drawn once a run for each digest.
    pub(crate) size: Spread<Size>,
    /// On disk; drawn once a run for each digest. Default: `size` times the image's `compressionRatio`.
    pub(crate) uncompressed: Option<Spread<Size>>,
}

/// A workload that every cluster runs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WorkloadFile {
    /// Default: the image's name.
    pub(crate) name: Option<String>,
    /// Which Kubernetes controller runs it.
    pub(crate) kind: WorkloadKindFile,
    /// The image that its pods run: a name of `images`.
    pub(crate) image: String,
    /// Pods of a Deployment. Default: 1.
    pub(crate) replicas: Option<u32>,
    /// `maxUnavailable` of the rolling update. Default: 25% (Deployment), 1 (DaemonSet).
    pub(crate) max_unavailable: Option<Amount>,
    /// `maxSurge` of the rolling update. Default: 25% (Deployment), 0 (DaemonSet).
    pub(crate) max_surge: Option<Amount>,
    /// Kubernetes' `imagePullPolicy`. Default: IfNotPresent.
    pub(crate) image_pull_policy: Option<PullPolicyFile>,
    /// From the process being started until it could answer its readiness probe. Default: {median: 4 s, sigma: 0.6}.
    pub(crate) start: Option<Spread>,
    /// The readiness probe. Default: none, a pod is ready once started.
    pub(crate) readiness: Option<ProbeFile>,
    /// Kubernetes' `minReadySeconds`, with a unit. Default: 0 s.
    pub(crate) min_ready: Option<Duration>,
    /// Kubernetes' `progressDeadlineSeconds` of a Deployment, with a unit: without progress for longer, it counts as
    /// failed (Argo CD: Degraded). Longer than `minReady`. Default: 600 s.
    pub(crate) progress_deadline: Option<Duration>,
    /// From deleting a pod to its being gone. Default: {median: 2 s, sigma: 0.5}.
    pub(crate) termination: Option<Spread>,
}

/// A Kubernetes workload controller.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) enum WorkloadKindFile {
    /// With the RollingUpdate strategy.
    Deployment,
    /// With the RollingUpdate strategy: one pod a node.
    DaemonSet,
}

/// When the kubelet asks for a pull.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) enum PullPolicyFile {
    /// When the image is not on the node.
    IfNotPresent,
    /// For every pod.
    Always,
}

/// A readiness probe.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ProbeFile {
    /// Before the first probe. Default: 0 s.
    pub(crate) initial_delay: Option<Duration>,
    /// Between two probes. Default: 10 s.
    pub(crate) period: Option<Duration>,
    /// Successes in a row that make a pod ready. Default: 1.
    pub(crate) success_threshold: Option<u32>,
}

/// What brings a new revision into a cluster and reports on it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct AgentFile {
    /// From telling a cluster to its agent knowing. Default: {median: 500 ms, sigma: 0.5}.
    pub(crate) instruction_delay: Option<Spread>,
    /// Applying a revision (Fleet: the Helm upgrade). Default: {median: 3 s, sigma: 0.4}.
    pub(crate) apply: Option<Spread>,
    /// From a report being sent to the management cluster having it. Default: {median: 500 ms, sigma: 0.5}.
    pub(crate) report_delay: Option<Spread>,
    /// From a change of readiness in the cluster to the report that tells of it. Default: 5 s.
    pub(crate) readiness_delay: Option<Spread>,
}

impl<'de> Deserialize<'de> for InventoryFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr {
            expecting: "the path of a JSON file, or `{file: clusters.json, links: […]}`",
            of_text: |file| Self(InventoryFields { file, cluster_groups: None, links: Vec::new(), default: None }),
            of_fields: Self,
        })
    }
}

impl<'de> Deserialize<'de> for ManifestFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr {
            expecting: "the path of a manifest, or `{layers: [{size: 30 MB}]}`",
            of_text: Self::File,
            of_fields: Self::Inline,
        })
    }
}

impl JsonSchema for InventoryFile {
    fn schema_name() -> Cow<'static, str> {
        "Inventory".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<InventoryFields>();
        json_schema!({ "anyOf": [{ "type": "string" }, fields] })
    }
}

impl JsonSchema for ManifestFile {
    fn schema_name() -> Cow<'static, str> {
        "Manifest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<InlineManifest>();
        json_schema!({ "anyOf": [{ "type": "string" }, fields] })
    }
}
