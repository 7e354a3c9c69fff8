//! Settings of a node: its network card and disk, the kubelet, and the container runtime.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::backoff::Backoff;
use crate::world::calibration as default;
use crate::world::clusters::restarts::Restarts;
use crate::world::nodes::runtime::spec::{RuntimeSpec, RuntimeVersion};
use crate::world::quantity::{DurationModel, RateModel};
use crate::world::registry::spec::RequestLimit;
use fleetsim_units::serial::{positive, speed_factor, spread};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, SimDuration};

/// Kubelet, container runtime, disk and network card. A quantity that is drawn for each cluster is the same on all its
/// nodes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
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
    #[cfg_attr(any(test, feature = "schema"), schemars(flatten))]
    pub runtime: RuntimeSpec,
    /// Whether compressed layers stay on the node after unpacking. In containerd: not `discard_unpacked_layers`.
    pub keep_blobs: bool,
    /// Layers unpacked simultaneously. With 1, each image unpacks one layer after another. A higher number is counted
    /// over the node (containerd's `max_concurrent_unpacks`, since 2.2).
    #[serde(deserialize_with = "positive")]
    pub unpack_slots: u32,
    /// Uncompressed bytes written per second while unpacking one layer; drawn for each cluster.
    pub unpack_rate: RateModel,
    /// Factor on `unpackRate` for layers compressed with zstd. 1 is the rate of gzip. 0.1 to 100.
    #[serde(deserialize_with = "speed_factor")]
    pub zstd_factor: f64,
    /// The disk that downloads and unpacked layers of a node are written to. Default: a `boot-disk`.
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
    /// Variation of `startOverhead` and of the workloads' `start` between clusters, from 0 to 2. It is the sigma of a
    /// lognormal factor with median 1, the same for all starts in a cluster.
    #[serde(deserialize_with = "spread")]
    pub start_spread: f64,
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
            zstd_factor: default::ZSTD_FACTOR,
            disk: None,
            unpack_spread: default::UNPACK_SPREAD,
            unpack_per_layer: default::UNPACK_PER_LAYER,
            pull_constant: default::PULL_CONSTANT,
            start_overhead: default::START_OVERHEAD,
            start_spread: default::START_SPREAD,
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
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Requeue {
    /// `errorRequeue`: the older rule, which pulls still follow in the newer kubelets that were read.
    #[default]
    AfterError,
    /// When the pod's back-off ends, at most `syncFrequency`, times 1 to 1.5.
    AtExpiry,
}

/// A disk behind a page cache, which all layers are written to: downloads, and what is unpacked.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DiskSpec {
    /// The class of the disk. It sets the defaults of the other fields.
    pub class: DiskClass,
    /// Sustained writing rate; drawn for each cluster.
    pub rate: RateModel,
    /// Bytes that may wait in memory to be written. While there is room, the disk does not slow unpacking down.
    pub buffer: Bytes,
}

/// Bytes per second from which a disk is never a limit.
const UNLIMITED: f64 = 1e15;

impl DiskSpec {
    /// Its rate and buffer, where it can be a limit.
    pub fn limit(&self) -> Option<(&RateModel, Bytes)> {
        (self.rate.mean() < UNLIMITED).then_some((&self.rate, self.buffer))
    }
}

impl Default for DiskSpec {
    fn default() -> Self {
        DiskClass::default().spec()
    }
}

/// A class of disks, by the machine that has it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DiskClass {
    /// A gp3 volume of AWS: 131 MB/s, its 125 MiB/s without provisioned throughput. Source:
    /// awsdocs/amazon-ec2-user-guide @0147f87 `ebs-volume-types.md`.
    Gp3,
    /// A Premium SSD of Azure, P10 with 128 GiB: 100 MB/s; 170 MB/s for half an hour are left out. Source:
    /// MicrosoftDocs/azure-docs `disks-types.md`.
    PremiumSsd,
    /// A boot disk of GKE, a balanced persistent disk with 100 GB: 176 MB/s, from 140 MiB/s and 0.28 for each GiB.
    /// Source: the documentation of Compute Engine; container-chonks unpacks at 159 to 182 MB/s to one.
    #[default]
    BootDisk,
    /// The temporary disk of a machine of Azure with 8 vCPU, on which an ephemeral OS disk is: 500 MB/s, which is 62.5
    /// for each vCPU. Source: MicrosoftDocs/azure-docs @017654d `ddv5-ddsv5-series.md`.
    Ephemeral,
    /// A local NVMe disk: 350 MB/s, the writing rate of one local SSD of Compute Engine. Source: its documentation;
    /// disks in servers write 1 to 3 GB/s.
    LocalNvme,
    /// eMMC of a small machine: 60 MB/s. A guess: boards are reported with 30 to 150 MB/s.
    Emmc,
    /// Writing is never a limit. For measured rates of pulls, which include their disk.
    None,
}

impl DiskClass {
    /// Its settings. The buffer is the 15 % of memory up to which the kernel lets writers run freely; the memory, 8 GB,
    /// or 4 GB beside eMMC, is a guess.
    #[must_use]
    pub fn spec(self) -> DiskSpec {
        let (rate, memory) = match self {
            Self::Gp3 => (131e6, 8.0),
            Self::PremiumSsd => (100e6, 8.0),
            Self::BootDisk => (176e6, 8.0),
            Self::Ephemeral => (500e6, 8.0),
            Self::LocalNvme => (350e6, 8.0),
            Self::Emmc => (60e6, 4.0),
            Self::None => (UNLIMITED, 8.0),
        };
        let buffer = Bytes::new((0.15 * memory * 1e9) as u64);
        DiskSpec {
            class: self,
            rate: BytesPerSec::new(rate).into(),
            buffer,
        }
    }
}
