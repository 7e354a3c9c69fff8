//! The constants of the model, each with its source and spread, or marked as a guess.
//!
//! Experiments take their defaults from here and from the settings themselves. Constants of a product's controller and
//! agent are in that product's folder.
//!
//! Sources that are cited more than once:
//!
//! - *kubelet defaults*: kubernetes/kubernetes `pkg/kubelet/apis/config/v1beta1/defaults.go` @030891d, with the meaning
//!   of the fields in kubernetes/kubelet `config/v1beta1/types.go` @63b3249.
//! - *containerd*: containerd/containerd @301026e (v2.4.0-beta.0+70), tags v1.7.0 to v2.2 compared.
//! - *chonks*: the kubelet events published in converged-computing/container-chonks @fa06749: images of 9 and 125
//!   layers, 48 MB to 19 GB uncompressed but only 2 to 21 MB compressed, so pull time is unpack time plus requests.
//!   Fitted as requests + constant + layers · per-layer + bytes / rate, median error 5 to 13%.
//! - *api*: kubernetes/api `core/v1` and `apps/v1` @10b39a3.

use crate::world::quantity::DurationModel;
use fleetsim_units::{Bytes, BytesPerSec, Factor, PerSecond, Share, SimDuration};

// ---- clusters and links ----

/// Number of nodes if a cluster does not set it. Source: about 2,000 restaurants with 6,000 devices, three per site
/// (Chick-fil-A, 2018); published edge clusters have 1 to 3, data-centre clusters tens (spread 1 to 250).
pub const NODES: u32 = 3;

/// Rate at which a cluster can receive. Guess, because no published distribution of site links was found. Branch
/// offices have about 100 Mbit/s, retail 20 to 50, data centres 10,000.
pub const DOWNLINK: BytesPerSec = BytesPerSec::from_mbit(100.0);

/// Round trip from a cluster to the registry. Guess, because no distribution was found: 1 ms in a data centre, 30 ms
/// for a branch, 80 ms over a cellular network, 600 ms over a satellite.
pub const RTT: DurationModel = DurationModel::Constant(SimDuration::from_millis(30));

/// Length of a gap of a cellular link. Source: seconds without data on three carriers while driving
/// (Starlink-Project/Satellite-vs-Cellular @79f9412, downlink over TCP): median 1 s, mean 1.4 to 2.6 s, p90 2 to 3 s.
pub const GAP_LENGTH: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_secs(1),
    sigma: 0.9,
};

/// Length of a gap of a moving satellite terminal. Source: Starlink-Project/Satellite-vs-Cellular @79f9412, downlink
/// over TCP while driving: median 2 s, mean 10 to 12 s, p90 20 to 24 s.
pub const SATELLITE_GAP_LENGTH: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_secs(2),
    sigma: 1.8,
};

/// Time from a pod that fits on no node to the request for nodes. Source: kubernetes/autoscaler looks every 10 s
/// (`--scan-interval`, `cluster-autoscaler/FAQ.md`); Karpenter gathers the pods of 1 to 10 s (`BATCH_IDLE_DURATION` and
/// `BATCH_MAX_DURATION` in its settings).
pub const SCALING_DECISION: DurationModel = DurationModel::Uniform {
    min: SimDuration::ZERO,
    max: SimDuration::from_secs(10),
};

/// Time from the request for a node until it is ready. Source: reports of 30 to 40 s, 40 to 55 s and 100 s
/// (aws/karpenter-provider-aws, issues 6165, 6128 and 3102), 65 s before and 45 s after tuning (Outreach, KubeFM
/// 2026), 1 to 3 min (ovh/public-cloud-roadmap#1198 about EKS and Kapsule), 2 to 4 min
/// (aws/karpenter-provider-aws#2906) and 5 to 10 min (OVHcloud, the same issue). The sigma within a cluster is a guess.
pub const NODE_PROVISIONING: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_secs(90),
    sigma: 0.2,
};

// ---- registry ----

/// Rate at which a registry can send. Source: the 10 Gbit/s registry of Volcano Engine's published pull tests; spread
/// from 30 MB/s (Azure's smallest tier, MicrosoftDocs/azure-docs `includes/container-registry-limits.md`, 2019) to far
/// higher rates.
pub const REGISTRY_EGRESS: BytesPerSec = BytesPerSec::from_gbit(10.0);

/// Rate of one connection to a blob store. Source: AWS's guidance for S3, 85 to 90 MB/s per connection. Spread:
/// ghcr.io delivered 46 MB/s cold and about 500 MB/s warm (spegel-org/benchmark-results @645a85c).
pub const CONNECTION: BytesPerSec = BytesPerSec::new(88e6);

/// Time a registry takes to answer one request. Source: first bytes of object stores, S3 27 ms (sigma 0.62), Azure
/// Blob 38 ms (0.66), fitted to p50, p90 and p99 (cdouglas/endive @3bded46); a content delivery network 80 ms. The
/// default is between S3 and Azure Blob.
pub const SERVICE_TIME: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(30),
    sigma: 0.64,
};

// ---- distribution ----

/// Rate at which a cache or a mirror can send. Guess for one server on a local network; 1 to 25 Gbit/s.
pub const CACHE_EGRESS: BytesPerSec = BytesPerSec::from_gbit(10.0);

/// Round trip from a node to its cache. Guess for a single local network.
pub const CACHE_RTT: SimDuration = SimDuration::from_millis(1);

/// Round trip from a cluster to a mirror in its region. Source: 1 to 2 ms between the clusters of KubeFleet's test on
/// AKS.
pub const MIRROR_RTT: SimDuration = SimDuration::from_millis(2);

/// Time for which a cache serves a blob. Source: `proxy.ttl` of 168h in distribution/distribution @0d6b721
/// `docs/recipes/mirror.md`.
pub const CACHE_TTL: SimDuration = SimDuration::from_hours(168);

/// Bytes of downloads that a Cloud Foundry cell keeps. Source: `diego.executor.max_cache_size_in_bytes`, 10000000000,
/// in cloudfoundry/diego-release `jobs/rep/spec`.
pub const CELL_CACHE: Bytes = Bytes::new(10_000_000_000);

/// Maximum number of concurrent downloads of a cell. Source: `diego.executor.max_concurrent_downloads`, 5, in
/// cloudfoundry/diego-release `jobs/rep/spec`.
pub const CELL_DOWNLOADS: u32 = 5;

/// Rate of copies within a cell: so high that copies take no time, because unpacking already includes writing them.
pub const CELL_COPY: BytesPerSec = BytesPerSec::from_gbit(10_000.0);

/// Time from a request to a peer's answer. Guess, below [`SPEGEL_TIMEOUT`]: the six or more requests of a small image
/// took about 25 ms in total (spegel-org/benchmark-results @645a85c).
pub const SPEGEL_LOOKUP: SimDuration = SimDuration::from_millis(3);

/// Time of a lookup without a result. Source: `mirrorResolveTimeout` in spegel-org/spegel @b8c715a
/// `charts/spegel/values.yaml`.
pub const SPEGEL_TIMEOUT: SimDuration = SimDuration::from_millis(20);

/// Rate of one connection between peers. Source: fitted to the pulls of 1 GB from peers in
/// spegel-org/benchmark-results @645a85c (D8ds_v5); 233 MB/s were reached from the slower disk of a D4ds_v5.
pub const PEER_CONNECTION: BytesPerSec = BytesPerSec::new(600e6);

/// Seeds per cluster. Source: `seedPeer.replicas` of Dragonfly's Helm chart; a Kraken benchmark had 5 origins.
pub const SEEDS: u32 = 3;

/// Size of a piece. Source: 4 MB in uber/kraken @2a7fbcb `config/`, 4 MiB in Dragonfly; up to 16 MB.
pub const PIECE: Bytes = Bytes::new(4_000_000);

/// Number of parents of a peer. Source: dragonflyoss/dragonfly @66db456 `scheduler/config/constants.go`; 3 to 4.
pub const DRAGONFLY_PARENTS: u32 = 4;

/// Rate at which a Kraken agent or origin sends. Source: uber/kraken @2a7fbcb `lib/torrent/scheduler/conn/config.go`.
pub const KRAKEN_OUT: BytesPerSec = BytesPerSec::new(200e6);

/// Rate at which a Kraken agent receives. Source: uber/kraken @2a7fbcb `lib/torrent/scheduler/conn/config.go`.
pub const KRAKEN_IN: BytesPerSec = BytesPerSec::new(300e6);

/// Number of connections per torrent. Source: uber/kraken @2a7fbcb `lib/torrent/scheduler/connstate/config.go`.
pub const KRAKEN_CONNECTIONS: u32 = 10;

/// Share of their upload that peers with a part of a blob can use for each other. Source: Qiu and Srikant (2004),
/// section 3: 1 - (log N / N)^k for N pieces and k connections, above 99% for a blob of 50 pieces or more.
pub const EFFECTIVENESS: Share = Share::ALL;

/// Time from a node's request to the request for its first piece. Guess: one exchange with a tracker or scheduler; 10
/// ms to 0.5 s (Dragonfly's retry interval).
pub const ANNOUNCE: SimDuration = SimDuration::from_millis(50);

/// Time-out of a peer that waits for another peer. Source: `HandshakeTimeout`, 5 s, in uber/kraken @3705d31
/// `lib/torrent/scheduler/conn/config.go`; requests for pieces time out after 4 s or more (`dispatch/config.go`).
pub const PEER_TIMEOUT: SimDuration = SimDuration::from_secs(5);

/// Probability per node and layer that a peer times out. Source: calibrated on the p99 of Kraken's published
/// distribution to 2,600 hosts (18 s, with a median of 10 s); 0 to 15%.
pub const PEER_TIMEOUT_SHARE: Share = Share::new(0.08);

/// Share of an image's bytes that a container reads before it is ready. Source: mean of 6.4% over 57 images (Harter et
/// al., "Slacker", FAST '16); 1 to 40%.
pub const LAZY_START: Share = Share::new(0.064);

/// Size of one read on demand. Source: the largest read that Linux requests from FUSE by default (32 pages); 50 kB to
/// 4 MiB, depending on the snapshotter.
pub const LAZY_READ: Bytes = Bytes::new(128 * 1024);

/// Size of a layer's table of contents. Guess: about 100 bytes per file, compressed; 10 kB to 5 MB.
pub const LAZY_TOC: Bytes = Bytes::new(100_000);

/// Rate of the background fetch of a layer. Guess: it yields to reads on demand.
pub const LAZY_BACKGROUND: BytesPerSec = BytesPerSec::new(10e6);

/// Time between two groups of clusters in a pre-pull. Guess.
pub const PRE_PULL_EVERY: SimDuration = SimDuration::from_mins(1);

/// Rate of one connection for a blob that a content delivery network has not cached yet. Source: ghcr.io, 1 GB in 24
/// to 32 s for every node of a simultaneous pull (spegel-org/benchmark-results @645a85c).
pub const CDN_COLD: BytesPerSec = BytesPerSec::new(46e6);

/// Rate of one connection for a blob that a content delivery network has cached. Source: ghcr.io, 1 GB in 6.0 s with
/// unpacking (spegel-org/benchmark-results @645a85c).
pub const CDN_WARM: BytesPerSec = BytesPerSec::new(500e6);

// ---- kubelet ----

/// `registryPullQPS` in pulls per second. Source: kubelet defaults.
pub const REGISTRY_PULL_QPS: u32 = 5;

/// `registryBurst`. Source: kubelet defaults.
pub const REGISTRY_BURST: u32 = 10;

/// Time from an error to the pod's next sync: 10 s with a jitter factor of 0.5. Source: constants in
/// kubernetes/kubernetes `pkg/kubelet/pod_workers.go`. Only this jitter spreads the retries of simultaneous failures.
pub const ERROR_REQUEUE: DurationModel = DurationModel::Uniform {
    min: SimDuration::from_secs(10),
    max: SimDuration::from_secs(15),
};

/// `syncFrequency`: under the newer rule, the longest wait before jitter is added. Source: kubelet defaults.
pub const SYNC_PERIOD: SimDuration = SimDuration::from_secs(60);

/// Jitter factor of the newer rule: up to half of the wait is added. Source: `workerBackOffPeriodJitterFactor` in
/// kubernetes/kubernetes `pkg/kubelet/pod_workers.go`.
pub const REQUEUE_JITTER: f64 = 0.5;

// ---- container runtime and disk (differences between runtimes and their versions are in `runtime/spec.rs`) ----

/// Whether compressed layers stay on the node. Source: containerd's `discard_unpacked_layers` is off by default; some
/// managed nodes turn it on.
pub const KEEP_BLOBS: bool = true;

/// Number of layers unpacked concurrently. Source: `max_concurrent_unpacks` in containerd
/// `plugins/transfer/plugin.go`, since 2.2; more than 1 requires a snapshotter that can rebase. 3 to 12 are in use.
pub const UNPACK_SLOTS: u32 = 1;

/// Uncompressed bytes written per second while unpacking one layer of a program. Source: 108 MB/s
/// (h4x3rotab/docker-unpack-bench @d6fc36d); 176 (bottlerocket-os/bottlerocket-core-kit#443); 88 to 135 by nodes of
/// EKS, GKE and AKS, which pull 34 to 52 MB/s of compressed programs in small waves
/// (converged-computing/performance-study @6f3df68), with [`COMPRESSION_RATIO`]. The value is close to the 52 MB/s of
/// their CPU nodes, for which downloads and unpacking were told apart. Layers of zeros or of random bytes are faster,
/// up to 345 MB/s (docs/experiment-format/nodes.md): this rate is the one setting for what layers contain.
pub const UNPACK_RATE: BytesPerSec = BytesPerSec::new(130e6);

/// Unpack rate of a zstd layer relative to a gzip layer. Source: copying the whole Fedora image with its files took 8
/// s with gzip and 4.5 s with zstd, a factor of 1.8 (containers/storage#363). Decompression alone, with containerd's
/// decoders: 1.8 to 2.0 relative to an external gzip and 2.4 to 3.7 relative to Go's (containerd/containerd#6957,
/// espressif/esp-idf#18940); writing files takes equally long for both.
pub const ZSTD_FACTOR: f64 = 1.8;

/// Sigma of the lognormal factor on [`UNPACK_RATE`] between nodes. Source: chonks, ±15% over 64 nodes, and a factor of
/// at most 1.1 between the slowest and the fastest of 10 (spegel-org/benchmark-results @645a85c); so 0.05 to 0.15.
pub const UNPACK_SPREAD: f64 = 0.1;

/// Part of a layer's unpack time that does not depend on its size. Source: chonks, five set-ups, fitted with the
/// requests of a pull, as in [`PULL_CONSTANT`]: 8 to 14 ms.
pub const UNPACK_PER_LAYER: DurationModel = DurationModel::Constant(SimDuration::from_millis(12));

/// Constant part of a pull's duration, without its requests. Source: chonks, fitted together with the requests to a
/// registry in the same region (a round trip of 5 ms and [`SERVICE_TIME`]): four set-ups leave nothing for it, one
/// leaves 0.1 s. The laboratory has 2 ms (docs/lab.md).
pub const PULL_CONSTANT: DurationModel = DurationModel::Constant(SimDuration::from_millis(20));

/// Rate at which a node's network card can receive. Guess; 0.1 to 25 Gbit/s.
pub const NIC: BytesPerSec = BytesPerSec::from_gbit(10.0);

/// Time to create a pod's sandbox. Source: 32 streams of Kubernetes events of GKE and EKS (chonks). The sum with
/// [`START_OVERHEAD`], from `Scheduled` to `Pulling` and from `Pulled` to `Started`, has medians of 0.51 to 0.98 s,
/// half of them below 0.57; sigmas of 0.27 to 0.96 in the middle 80%, half of them below 0.51. Older tests have 0.9 to
/// 1.9 s (kubernetes/website, 2015; kube-burner). In one stream (157 pods on four nodes of GKE), the medians are 0.44 s
/// before the pull and 0.08 s after it. A test checks that the sum has a median of 0.6 s and a sigma of 0.5.
pub const SANDBOX: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(500),
    sigma: 0.6,
};

/// Time to create and start a container whose image is there. Source: see [`SANDBOX`].
pub const START_OVERHEAD: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(90),
    sigma: 0.5,
};

/// Sigma of the lognormal factor between clusters on starts of containers and programs. Source: the medians of the 32
/// streams of [`SANDBOX`].
pub const START_SPREAD: f64 = 0.2;

/// Bytes of a disk of limited size that the system, logs and images of other applications in use take. A guess: the
/// system images of EKS and GKE take 3 to 6 GB, and a node runs 1 to 30 GB of other images.
pub const DISK_USED: Bytes = Bytes::new(8_000_000_000);

/// Usage from which the kubelet's image collector removes images, in percent. Source: kubelet defaults.
pub const IMAGE_GC_HIGH_PERCENT: u32 = 85;

/// Usage to which the kubelet's image collector removes images, in percent. Source: kubelet defaults.
pub const IMAGE_GC_LOW_PERCENT: u32 = 80;

/// Age below which the kubelet removes no image. Source: kubelet defaults.
pub const IMAGE_MINIMUM_AGE: SimDuration = SimDuration::from_mins(2);

/// Time between two runs of the image collector. Source: `ImageGCPeriod` in kubernetes/kubernetes
/// `pkg/kubelet/kubelet.go`.
pub const IMAGE_GC_PERIOD: SimDuration = SimDuration::from_mins(5);

/// `imagefs.available` of the kubelet's `evictionHard`. Source: kubelet defaults.
pub const IMAGEFS_AVAILABLE: Share = Share::new(0.15);

/// Time between two looks of the kubelet's eviction manager. Source: `evictionMonitoringPeriod` in
/// kubernetes/kubernetes `pkg/kubelet/kubelet.go`.
pub const EVICTION_INTERVAL: SimDuration = SimDuration::from_secs(10);

/// `evictionPressureTransitionPeriod` of the kubelet. Source: kubelet defaults.
pub const PRESSURE_TRANSITION: SimDuration = SimDuration::from_mins(5);

// ---- images ----

/// Ratio of a layer's uncompressed to its compressed bytes. Source: median of all layers on Docker Hub in 2017 (Zhao
/// et al., CLUSTER '19, through notes on the paper); 1 to 5.
pub const COMPRESSION_RATIO: f64 = 2.6;

/// Size of an image's config blob if it is not given. Source: 69 of the repositories that chonks lists: 2.4, 6.2 and
/// 17 kB (p10, p50, p90).
pub const CONFIG_SIZE: Bytes = Bytes::new(6_200);

// ---- workloads ----

/// Time from a process's start until it can answer its readiness probe. The median is a guess: a small web service; a
/// large JVM takes ten times as long. Source of the sigma within a cluster: ten cold starts each of 620 functions
/// (maxday/lambda-perf @6070b79), 0.05, 0.18 and 0.36 (p10, p50, p90). [`START_SPREAD`] adds the variation between
/// clusters.
pub const START: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_secs(4),
    sigma: 0.2,
};

/// Time from deleting a pod until it is gone: 2 s for a process that obeys SIGTERM, to 30 s, the whole grace period of
/// Kubernetes, for one that does not. Source: one node of a DaemonSet takes 12 s
/// (openshift/cluster-node-tuning-operator#149), 27 s (openshift/cluster-monitoring-operator#902), a minute
/// (grafana/loki#1878) and 78 s (cybozu-go/neco#1910), of which pull and start are a few seconds. Such reports are of
/// slow programs, so the value is near the fastest of them.
pub const TERMINATION: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_secs(10),
    sigma: 0.5,
};

/// `periodSeconds` of a probe. Source: api, `core/v1` Probe.
pub const PROBE_PERIOD: SimDuration = SimDuration::from_secs(10);

/// Rate and burst at which a cluster's controllers create pods. Source: `--kube-api-qps` and `--kube-api-burst` of the
/// kube-controller-manager. End to end, 20 pods per second were measured with these limits, and 201 with a limit of
/// 200 per second (kubernetes-sigs/agent-sandbox, pull requests 1209, 1275 and 1609, 2026).
pub const POD_CREATION: (PerSecond, u32) = (PerSecond::new(20.0), 30);

/// Rate and burst at which a cluster's scheduler binds pods. Source: `clientConnection` of the kube-scheduler's
/// configuration.
pub const POD_SCHEDULING: (PerSecond, u32) = (PerSecond::new(50.0), 100);

/// Pods that start on a node per second. Source: 4.5 to 5 on a spinning disk (kubernetes-sigs/agent-sandbox, pull
/// requests 1209, 1275 and 1609, 2026); 1 to 50.
pub const POD_STARTS: Factor = Factor::new(5.0);

/// `progressDeadlineSeconds` of a Deployment. Source: api, `apps/v1` (`pkg/apis/apps/v1/defaults.go`).
pub const PROGRESS_DEADLINE: SimDuration = SimDuration::from_secs(600);

// ---- agent (constants of one product's agent and controller are in that product's folder) ----

/// Time from instructing a cluster until its agent has the instruction: a watch over the site's link. Guess.
pub const INSTRUCTION_DELAY: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(500),
    sigma: 0.5,
};

/// Duration of a Helm upgrade of a small chart, without waiting for pods. Source: Flux's published benchmarks of its
/// helm-controller, a chart of 4 objects without pods: with Flux 2.6 to 2.9, 2.6 to 3.0 s of a worker's time each, ten
/// concurrently on 2 CPU; 4.9 s with Flux 2.5. The controller was busy, so an idle agent is probably faster. The
/// spread between clusters is a guess.
pub const APPLY: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(2800),
    sigma: 0.4,
};

/// Time within which an admission webhook must answer. Source: default of `timeoutSeconds` in kubernetes/kubernetes
/// `pkg/apis/admissionregistration/v1/defaults.go`.
pub const WEBHOOK_TIMEOUT: SimDuration = SimDuration::from_secs(10);

/// Sigma of the lognormal factor between clusters on the time of an apply, due to the speed of their control planes.
/// Source: the slowest of six clusters that created a million pods took 4.7 times as long as the rest
/// (kubernetes-sigs/agent-sandbox @0b989aa, `docs/keps/1434-multi-cluster-fleet`): sigma is 0.6 by the variance of the
/// six, or 1.2 if that cluster is the expected largest of six.
pub const APPLY_SPREAD: f64 = 0.6;

/// Number of applications that Fleet's agent applies at a time. Source: `agent.reconciler.workers.bundledeployment` in
/// `charts/fleet/values.yaml` of rancher/fleet v0.16.0.
pub const AGENT_WORKERS: u32 = 50;

/// Time from sending a report until the management cluster has it. Guess.
pub const REPORT_DELAY: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_millis(500),
    sigma: 0.5,
};

/// Time from the first event about an applied object to the report, for Rancher Fleet's agent. Source: `enqueueDelay`
/// in rancher/fleet @3b2c622 `internal/cmd/agent/controller/drift_controller.go`, since v0.12.0.
pub const DEBOUNCE: SimDuration = SimDuration::from_secs(5);

/// Time from a first deployment until Rancher Fleet's agent watches a new kind of object. Source: `TriggerSleep` in
/// rancher/fleet @3b2c622 `pkg/durations/durations.go`, the duration of a sleep in
/// `internal/cmd/agent/trigger/watcher.go`.
pub const WATCH_START: SimDuration = SimDuration::from_secs(5);

// ---- faults: what an experiment may set; without a setting, nothing fails ----

/// Time from the end of a cluster's outage to the start of the next. Source: 1 in 15 lines had an outage on a given
/// day (NBN, March 2023, accc.gov.au). The shape is that of [`node_loss_between`].
#[must_use]
pub fn outage_between() -> DurationModel {
    DurationModel::weibull_of_mean(SimDuration::from_hours(15 * 24), 0.75)
}

/// Duration of a cluster's outage. Source of the median: contracts promise 99 to 99.5% for broadband
/// (tfmnetworks.com), which is a mean of 1.8 to 3.6 h every 15 days. Source of the sigma: 1.28 over 1,029 incidents of
/// clouds (atlarge-research/cloud-uptime-archive @044a5cb).
pub const OUTAGE_REPAIR: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_hours(1),
    sigma: 1.3,
};

/// Time from a node's recovery to its next failure. Source: 14 systems with 2 and 4 processors per node at Los Alamos,
/// 1996 to 2005 (Derek-Jones/ESEUR-code-data @1a49d10): 0.27 to 0.69 and 1.0 to 1.3 failures per year, shapes 0.45 to
/// 1.0. The default is between the two groups.
#[must_use]
pub fn node_loss_between() -> DurationModel {
    DurationModel::weibull_of_mean(SimDuration::from_hours(440 * 24), 0.6)
}

/// Time until a failed node recovers. Source: 23,552 repairs of the systems of [`node_loss_between`]: 13, 60, 330 and
/// 3,803 min (p10, p50, p90, p99).
pub const NODE_LOSS_REPAIR: DurationModel = DurationModel::LogNormal {
    median: SimDuration::from_mins(60),
    sigma: 1.4,
};

/// Time from a node's failure until it counts as not ready. Source: `node-monitor-grace-period` of the
/// kube-controller-manager, 40 s until 1.31; 50 s since (unverified).
pub const NODE_GRACE: SimDuration = SimDuration::from_secs(40);

/// Time from when a node counts as not ready until its pods are deleted. Source: the toleration of
/// `node.kubernetes.io/unreachable` that the API server's admission adds by default (unverified).
pub const NODE_EVICTION: SimDuration = SimDuration::from_secs(300);

/// Time from the start of a defective container to its crash. Guess.
pub const CRASH_AFTER: DurationModel = DurationModel::Constant(SimDuration::from_secs(5));
