//! Settings of a node: its network card and disk, the kubelet, and the container runtime.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::backoff::Backoff;
use crate::world::calibration as default;
use crate::world::clusters::restarts::Restarts;
use crate::world::nodes::runtime::spec::{RuntimeSpec, RuntimeVersion};
use crate::world::quantity::{DurationModel, RateModel, SizeModel};
use crate::world::registry::spec::RequestLimit;
use fleetsim_units::serial::{positive, speed_factor, spread};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration};

/// Kubelet, container runtime, disk and network card. Values that are drawn for each cluster are equal on all of its
/// nodes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeSpec {
    /// Receiving rate of the network card; drawn for each cluster.
    pub nic: RateModel,
    /// The kubelet's `serializeImagePulls`. True by default, false when `maxParallelImagePulls` is 2 or more.
    pub serialize_image_pulls: Option<bool>,
    /// The kubelet's `maxParallelImagePulls`. Default: no limit.
    #[serde(deserialize_with = "positive")]
    pub max_parallel_image_pulls: Option<u32>,
    /// The kubelet's `registryPullQPS`, pulls started per second; 0 means no limit.
    #[serde(rename = "registryPullQPS")]
    pub registry_pull_qps: u32,
    /// The kubelet's `registryBurst`.
    #[serde(deserialize_with = "positive")]
    pub registry_burst: u32,
    /// Wait after a failed pull.
    pub image_backoff: Backoff,
    /// Wait before a crashed container is restarted. The defaults are those of the product's platform: Cloud Foundry's
    /// are 2, 30 s, 16 min and 5 min; there, `reset` counts only time for which a container was ready.
    pub crash_backoff: Option<Restarts>,
    /// Time from an error to the pod's next sync, with `requeue: afterError`.
    pub error_requeue: DurationModel,
    /// Trigger of a pod's next sync after an error.
    pub requeue: Requeue,
    /// The kubelet's `syncFrequency`. Only used with `requeue: atExpiry`.
    #[serde(deserialize_with = "positive")]
    pub sync_frequency: SimDuration,
    /// Time after which an attempt to pull is cancelled. Kubernetes has no limit.
    #[serde(deserialize_with = "positive")]
    pub pull_deadline: Option<SimDuration>,
    /// The container runtime. It sets the defaults of the fields from `downloadSlots` to `mergePulls`.
    #[serde(rename = "runtime")]
    pub version: RuntimeVersion,
    /// Downloads of the container runtime, and how it handles failed requests and transfers.
    #[serde(rename = "~runtime")]
    #[cfg_attr(any(test, feature = "schema"), schemars(flatten))]
    pub runtime: RuntimeSpec,
    /// Whether compressed layers stay on the node after unpacking. This is the opposite of containerd's
    /// `discard_unpacked_layers`.
    pub keep_blobs: bool,
    /// Number of layers unpacked simultaneously. With 1, each image unpacks one layer after another. A higher number
    /// is a limit per node (containerd's `max_concurrent_unpacks`, since 2.2).
    #[serde(deserialize_with = "positive")]
    pub unpack_slots: u32,
    /// Uncompressed bytes written per second while unpacking one layer; drawn for each cluster.
    pub unpack_rate: RateModel,
    /// Factor on `unpackRate` for layers compressed with zstd, from 0.1 to 100. With 1, the rate is that of gzip.
    #[serde(deserialize_with = "speed_factor")]
    pub zstd_factor: f64,
    /// The disk to which a node's downloads and unpacked layers are written. Default: a `boot-disk`.
    pub disk: Option<DiskSpec>,
    /// Variation of `unpackRate` between nodes, from 0 to 2. It is the sigma of a lognormal factor with median 1.
    #[serde(deserialize_with = "spread")]
    pub unpack_spread: f64,
    /// Part of a layer's unpack time that does not depend on its size.
    pub unpack_per_layer: DurationModel,
    /// Part of a pull's duration that does not depend on the image.
    pub pull_constant: DurationModel,
    /// Time from a pod's arrival on its node to its first request for an image.
    ///
    /// It contains the sandbox with its network, and volumes.
    /// A pod whose image is on the node needs it, too. Retries of a pull and restarts of a container keep the sandbox.
    pub sandbox: DurationModel,
    /// Time from a present image to a started process: create and start the container.
    pub start_overhead: DurationModel,
    /// Variation of `sandbox`, `startOverhead` and the workloads' `start` between clusters. From 0 to 2. It is the
    /// sigma of a lognormal factor with median 1. All starts in a cluster have the same factor.
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
            sandbox: default::SANDBOX,
            start_overhead: default::START_OVERHEAD,
            start_spread: default::START_SPREAD,
        }
    }
}

impl NodeSpec {
    /// Returns the number of image pulls that may run simultaneously. This is the kubelet's own rule: one, unless two
    /// or more are allowed.
    pub(crate) fn parallel_pulls(&self) -> usize {
        match (self.serialize_image_pulls, self.max_parallel_image_pulls) {
            (Some(true), _) | (None, None | Some(0 | 1)) => 1,
            (_, max) => max.map_or(usize::MAX, |max| max as usize),
        }
    }

    /// Returns the kubelet's limit on pulls per second; a pull above it fails immediately.
    pub(crate) fn pull_rate(&self) -> Option<RequestLimit> {
        let rate = PerSecond::new(f64::from(self.registry_pull_qps));
        (self.registry_pull_qps > 0).then(|| RequestLimit::new(rate, self.registry_burst))
    }
}

// Source of the default: `completeWork` in kubernetes/kubernetes `pkg/kubelet/pod_workers.go`. Newer kubelets
// (#133066, 2025-10) use the earliest expiry in an error. In the versions that we read, only a crash loop's error
// contains one, so pulls still follow the older rule.
/// The rule that sets a pod's next sync after an error.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Requeue {
    /// After `errorRequeue`, by the older rule, which pulls still follow in newer kubelets.
    #[default]
    AfterError,
    /// At the end of the pod's back-off, or after `syncFrequency` if that is earlier. A random factor of 1 to 1.5
    /// multiplies the wait.
    AtExpiry,
}

/// A disk behind a page cache, to which downloads and unpacked layers are written.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DiskSpec {
    /// The class of the disk. It sets the defaults of the other fields.
    pub class: DiskClass,
    /// Sustained write rate; drawn for each cluster.
    pub rate: RateModel,
    /// Bytes that may wait in memory to be written. While there is room, the disk does not slow down unpacking.
    pub buffer: Bytes,
    /// Size of the disk. Default: so large that it is never full.
    #[serde(deserialize_with = "positive")]
    pub size: Option<Bytes>,
    /// Bytes of the system, of logs and of images in use; drawn for each node. They are never freed. Needs `size`.
    pub used: SizeModel,
    /// Bytes of unused images of other releases; drawn for each node. Needs `size`.
    ///
    /// The kubelet removes them first. A node starts with at most as many as keep it just below both thresholds.
    pub unused_images: SizeModel,
    /// How the kubelet removes images. Needs `size`.
    pub collection: CollectionSpec,
}

/// The kubelet's collection of images, and its reaction to a disk that is nearly full.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CollectionSpec {
    /// Usage in percent from which the image collector removes images.
    #[serde(rename = "imageGCHighThresholdPercent")]
    pub image_gc_high_threshold_percent: u32,
    /// Usage in percent to which the image collector removes images.
    #[serde(rename = "imageGCLowThresholdPercent")]
    pub image_gc_low_threshold_percent: u32,
    /// Age below which an image is not removed.
    #[serde(rename = "imageMinimumGCAge")]
    pub image_minimum_gc_age: SimDuration,
    /// Time between two runs of the image collector.
    #[serde(rename = "imageGCPeriod", deserialize_with = "positive")]
    pub image_gc_period: SimDuration,
    /// Available share of the disk below which a node takes no pods. It is in the kubelet's `evictionHard`.
    pub imagefs_available: Share,
    /// Time between two looks of the eviction manager at the available space.
    #[serde(deserialize_with = "positive")]
    pub monitoring_interval: SimDuration,
    /// Time without pods after the disk was nearly full: `evictionPressureTransitionPeriod`.
    pub pressure_transition: SimDuration,
}

impl Default for CollectionSpec {
    fn default() -> Self {
        Self {
            image_gc_high_threshold_percent: default::IMAGE_GC_HIGH_PERCENT,
            image_gc_low_threshold_percent: default::IMAGE_GC_LOW_PERCENT,
            image_minimum_gc_age: default::IMAGE_MINIMUM_AGE,
            image_gc_period: default::IMAGE_GC_PERIOD,
            imagefs_available: default::IMAGEFS_AVAILABLE,
            monitoring_interval: default::EVICTION_INTERVAL,
            pressure_transition: default::PRESSURE_TRANSITION,
        }
    }
}

/// Rate, in bytes per second, above which a disk never limits anything.
const UNLIMITED: f64 = 1e15;

impl DiskSpec {
    /// Returns the rate and the buffer of the disk. `None`: it never limits anything.
    pub fn limit(&self) -> Option<(&RateModel, Bytes)> {
        (self.rate.mean() < UNLIMITED).then_some((&self.rate, self.buffer))
    }
}

impl Default for DiskSpec {
    fn default() -> Self {
        DiskClass::default().spec()
    }
}

/// A class of disks, named after the machines that have them.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DiskClass {
    /// An AWS gp3 volume: 131 MB/s, its 125 MiB/s without provisioned throughput. Source:
    /// awsdocs/amazon-ec2-user-guide @0147f87 `ebs-volume-types.md`.
    Gp3,
    /// An Azure Premium SSD, P10 with 128 GiB: 100 MB/s; bursts of 170 MB/s for half an hour are left out. Source:
    /// MicrosoftDocs/azure-docs `disks-types.md`.
    PremiumSsd,
    /// A GKE boot disk, a balanced persistent disk with 100 GB: 176 MB/s, from 140 MiB/s plus 0.28 per GiB. Source:
    /// the documentation of Compute Engine; container-chonks unpacks at 159 to 182 MB/s to such a disk.
    #[default]
    BootDisk,
    /// The temporary disk of an Azure machine with 8 vCPU, which an ephemeral OS disk uses: 500 MB/s, which is 62.5
    /// per vCPU. Source: MicrosoftDocs/azure-docs @017654d `ddv5-ddsv5-series.md`.
    Ephemeral,
    /// A local NVMe disk: 350 MB/s, the write rate of one local SSD of Compute Engine. Source: its documentation;
    /// server disks write 1 to 3 GB/s.
    LocalNvme,
    /// eMMC of a small machine: 60 MB/s. A guess: reports for boards range from 30 to 150 MB/s.
    Emmc,
    /// Writing never limits anything. For measured rates of pulls that already include the disk.
    None,
}

impl DiskClass {
    /// Returns the settings of the class. The buffer is 15% of the memory, up to which the kernel does not throttle
    /// writers. The size of the memory, 8 GB, or 4 GB with eMMC, is a guess.
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
            size: None,
            used: default::DISK_USED.into(),
            unused_images: Bytes::ZERO.into(),
            collection: CollectionSpec::default(),
        }
    }
}
