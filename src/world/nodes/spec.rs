//! Settings of a node: its network card and disk, the kubelet, and the container runtime.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::serial::{positive, spread};
use crate::units::{Bytes, BytesPerSec, PerSecond, SimDuration};
use crate::world::backoff::Backoff;
use crate::world::calibration as default;
use crate::world::clusters::restarts::Restarts;
use crate::world::nodes::runtime::spec::{RuntimeSpec, RuntimeVersion};
use crate::world::quantity::{DurationModel, RateModel};
use crate::world::registry::spec::RequestLimit;

/// Kubelet, container runtime, disk and network card. A quantity that is drawn for each cluster is the same on all its
/// nodes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeSpec {
    /// Receiving rate of the network card; drawn for each cluster.
    pub nic: RateModel,
    /// The kubelet's `serializeImagePulls`. True by default, false when `maxParallelImagePulls` is 2 or more.
    pub serialize_image_pulls: Option<bool>,
    /// The kubelet's `maxParallelImagePulls`. Without it there is no cap.
    #[serde(deserialize_with = "positive")]
    pub max_parallel_image_pulls: Option<u32>,
    /// The kubelet's `registryPullQPS`, pulls started per second; 0 is off.
    #[serde(rename = "registryPullQPS")]
    pub registry_pull_qps: u32,
    /// The kubelet's `registryBurst`.
    #[serde(deserialize_with = "positive")]
    pub registry_burst: u32,
    /// Wait after a failed pull.
    pub image_backoff: Backoff,
    /// Wait before a crashed container is started again. The defaults are those of the product's platform: Cloud
    /// Foundry's are 2, 30 s, 16 min and 5 min, and there only the time a container was ready counts for `reset`.
    pub crash_backoff: Option<Restarts>,
    /// From an error to the pod's next sync, with `requeue: afterError`.
    pub error_requeue: DurationModel,
    /// Trigger of a pod's next sync after an error.
    pub requeue: Requeue,
    /// The kubelet's `syncFrequency`. Only used with `requeue: atExpiry`.
    #[serde(deserialize_with = "positive")]
    pub sync_frequency: SimDuration,
    /// An attempt to pull that takes longer is cancelled. Kubernetes has no limit.
    #[serde(deserialize_with = "positive")]
    pub pull_deadline: Option<SimDuration>,
    /// The container runtime. It sets the defaults of the fields from `downloadSlots` to `mergePulls`.
    #[serde(rename = "runtime")]
    pub version: RuntimeVersion,
    /// Downloads of the container runtime, and its reaction to failed requests and transfers.
    #[serde(rename = "~runtime")]
    #[cfg_attr(test, schemars(flatten))]
    pub runtime: RuntimeSpec,
    /// Whether compressed layers stay on the node after unpacking. In containerd: not `discard_unpacked_layers`.
    pub keep_blobs: bool,
    /// Layers unpacked simultaneously. With 1, each image unpacks one layer after another. A higher number is counted
    /// over the node (containerd's `max_concurrent_unpacks`, since 2.2).
    #[serde(deserialize_with = "positive")]
    pub unpack_slots: u32,
    /// Uncompressed bytes written per second while unpacking one layer; drawn for each cluster.
    pub unpack_rate: RateModel,
    /// The disk that all unpacking on a node writes through. Without it, the disk is never a limit.
    pub disk: Option<DiskSpec>,
    /// Variation of `unpackRate` between nodes, from 0 to 2. It is the sigma of a lognormal factor with median 1.
    #[serde(deserialize_with = "spread")]
    pub unpack_spread: f64,
    /// Part of unpacking a layer that does not depend on its size.
    pub unpack_per_layer: DurationModel,
    /// Part of a pull that does not depend on the image.
    pub pull_constant: DurationModel,
    /// From a present image to a started process: sandbox, create, start.
    pub start_overhead: DurationModel,
}

impl Default for NodeSpec {
    fn default() -> Self {
        Self {
            nic: default::NIC.into(),
            serialize_image_pulls: None,
            max_parallel_image_pulls: None,
            registry_pull_qps: default::REGISTRY_PULL_QPS,
            registry_burst: default::REGISTRY_BURST,
            image_backoff: Backoff::default(),
            crash_backoff: None,
            error_requeue: default::ERROR_REQUEUE,
            requeue: Requeue::default(),
            sync_frequency: default::SYNC_PERIOD,
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

impl NodeSpec {
    /// Image pulls that may run simultaneously. The kubelet's own rule: one, unless two or more are allowed.
    pub(crate) fn parallel_pulls(&self) -> usize {
        match (self.serialize_image_pulls, self.max_parallel_image_pulls) {
            (Some(true), _) | (None, None | Some(0 | 1)) => 1,
            (_, max) => max.map_or(usize::MAX, |max| max as usize),
        }
    }

    /// The kubelet's limit of pulls per second; a pull above it fails immediately.
    pub(crate) fn pull_rate(&self) -> Option<RequestLimit> {
        let rate = PerSecond::new(f64::from(self.registry_pull_qps));
        (self.registry_pull_qps > 0).then(|| RequestLimit::new(rate, self.registry_burst))
    }
}

// Source of the default: `completeWork` in kubernetes/kubernetes `pkg/kubelet/pod_workers.go`. Newer kubelets
// (#133066, 2025-10) take the earliest expiry that an error carries; in the copies read only a crash loop's error
// carries one, so pulls keep the older rule.
/// The rule that sets a pod's next sync after an error.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Requeue {
    /// `errorRequeue`: the older rule, which pulls still follow in the newer kubelets that were read.
    #[default]
    AfterError,
    /// When the pod's back-off ends, at most `syncFrequency`, times 1 to 1.5.
    AtExpiry,
}

/// A disk behind a page cache.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DiskSpec {
    /// Sustained writing rate.
    #[serde(deserialize_with = "positive")]
    pub rate: BytesPerSec,
    /// Bytes that may wait in memory to be written. While there is room, the disk slows nobody down.
    #[serde(default)]
    pub buffer: Bytes,
}
