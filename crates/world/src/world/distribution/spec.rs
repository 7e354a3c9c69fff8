//! Settings of how images are distributed.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::world::calibration as default;
use crate::world::quantity::{CountOrPercent, DurationModel};
use fleetsim_units::serial::{positive, unlimited};
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration};

/// Path of the images from the registry to the nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionSpec {
    /// Caches or peers between registry and nodes.
    pub kind: DistributionKind,
    /// Containers start before their image is there. `None`: only when all of it is.
    pub lazy: Option<LazySpec>,
    /// The new images are brought to the nodes before the release. `None`: they are not.
    pub pre_pull: Option<PrePullSpec>,
    /// Registries of a region that are asked before the one that an image names.
    pub mirrors: Vec<MirrorSpec>,
}

/// Caches or peers between registry and nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DistributionKind {
    /// Nobody: every node pulls from the registry.
    #[default]
    Direct,
    /// Pull-through caches.
    Cache(CacheSpec),
    /// Cells of Cloud Foundry, each of which downloads an image once for all of its instances.
    Cells(CellSpec),
    /// Nodes that serve what they hold to each other (Spegel).
    Spegel(SpegelSpec),
    /// Nodes that pass on pieces of blobs that they are still fetching (Dragonfly, Kraken).
    Pieces(PiecesSpec),
}

/// Number of caches.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CachePlace {
    /// One in every cluster, behind its downlink.
    Cluster,
    /// One in every region, behind the region's link; clusters without a region have none.
    Region,
}

/// Treatment of a request for a blob that a cache is already fetching.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Coalesce {
    /// It fetches the blob again, until a copy is complete.
    None,
    /// As `none`, and the first request lets the cache fetch its own copy as well. Only that copy is kept, as by
    /// Distribution 2.
    OwnCopy,
    /// The request waits until the copy is complete.
    Wait,
    /// The request is served as the copy arrives.
    Stream,
}

/// Pull-through caches (distribution's proxy mode, Harbor's proxy projects).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CacheSpec {
    /// Number of caches.
    pub per: CachePlace,
    /// Sending rate of one cache.
    #[serde(deserialize_with = "positive")]
    pub egress: BytesPerSec,
    /// Maximum rate of one connection from it, or `unlimited`.
    #[serde(with = "unlimited")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub per_connection: Option<BytesPerSec>,
    /// Round trip from a node to it.
    pub rtt: SimDuration,
    /// Treatment of requests for a blob that it is already fetching.
    pub coalesce: Coalesce,
    /// Time for which a stored blob is served.
    #[serde(deserialize_with = "positive")]
    pub ttl: SimDuration,
    /// Blobs it fetches simultaneously; a further miss is answered with 429. Without it there is no limit.
    #[serde(deserialize_with = "positive")]
    pub upstream_connections: Option<u32>,
}

impl Default for CacheSpec {
    fn default() -> Self {
        Self {
            per: CachePlace::Cluster,
            egress: default::CACHE_EGRESS,
            per_connection: None,
            rtt: default::CACHE_RTT,
            coalesce: Coalesce::None,
            ttl: default::CACHE_TTL,
            upstream_connections: None,
        }
    }
}

/// Cells of Cloud Foundry (Diego): instances on one cell share its downloads.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CellSpec {
    /// Number of cells, over which the instances are spread in turn. A cell is behind the downlink of the
    /// first of its instances that is reachable.
    #[serde(deserialize_with = "positive")]
    pub count: u32,
    /// Bytes that a cell keeps (`diego.executor.max_cache_size_in_bytes`).
    #[serde(default = "cell_cache")]
    pub cache: Bytes,
    /// Downloads of a cell at the same time; others wait.
    ///
    /// Diego calls it `diego.executor.max_concurrent_downloads`.
    #[serde(default = "cell_downloads", deserialize_with = "positive")]
    pub downloads: u32,
}

const fn cell_cache() -> Bytes {
    default::CELL_CACHE
}

const fn cell_downloads() -> u32 {
    default::CELL_DOWNLOADS
}

impl CellSpec {
    /// The cache of each cell. Kept downloads stay for good, and copies within the cell take no time; writing them is
    /// part of unpacking.
    #[must_use]
    pub fn as_cache(&self) -> CacheSpec {
        CacheSpec {
            egress: default::CELL_COPY,
            rtt: SimDuration::ZERO,
            coalesce: Coalesce::Wait,
            ttl: SimDuration::from_hours(876_000),
            upstream_connections: Some(self.downloads),
            ..CacheSpec::default()
        }
    }
}

/// Spegel: each node serves the complete images in its content store to the others of its cluster.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct SpegelSpec {
    /// From a request to a peer's answer, when there is one.
    pub lookup: SimDuration,
    /// Time of a lookup that finds no peer (`mirrorResolveTimeout`); then the registry is asked.
    pub timeout: SimDuration,
    /// Maximum rate of one connection between peers, or `unlimited`.
    #[serde(rename = "peerConnection", with = "unlimited")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub per_connection: Option<BytesPerSec>,
}

impl Default for SpegelSpec {
    fn default() -> Self {
        Self {
            lookup: default::SPEGEL_LOOKUP,
            timeout: default::SPEGEL_TIMEOUT,
            per_connection: Some(default::PEER_CONNECTION),
        }
    }
}

/// Peers that pass pieces on while they fetch, as a fluid. The defaults shown are Kraken's; Dragonfly's differ where a
/// field says so.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PiecesSpec {
    /// Peers of a cluster that fetch from the registry and only serve nodes.
    #[serde(deserialize_with = "positive")]
    pub seeds: u32,
    /// Maximum rate at which a seed fetches one blob from the registry, or `unlimited`.
    #[serde(with = "unlimited")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub source_rate: Option<BytesPerSec>,
    /// Sending rate of one seed. Dragonfly: the node's `nic`.
    #[serde(deserialize_with = "positive")]
    pub seed_out: BytesPerSec,
    /// Rate at which one node can send to its peers. Dragonfly: the node's `nic`.
    #[serde(deserialize_with = "positive")]
    pub peer_out: BytesPerSec,
    /// Rate at which one node can receive from its peers. Dragonfly: the node's `nic`.
    #[serde(deserialize_with = "positive")]
    pub peer_in: BytesPerSec,
    /// Bytes of one piece.
    #[serde(deserialize_with = "positive")]
    pub piece: Bytes,
    /// Peers that one peer exchanges pieces with; at least 2. Dragonfly: 4.
    pub connections: u32,
    /// Share of their upload that nodes which are still downloading can use for each other.
    pub effectiveness: Share,
    /// From a node's request until it asks for its first piece.
    pub announce: SimDuration,
    /// Time-outs that nodes lose time to. Dragonfly: none.
    pub timeouts: Option<PeerTimeouts>,
}

/// Time-outs of connections between peers: before a node has its last piece, each try fails with this probability, and
/// costs this time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PeerTimeouts {
    /// Probability that a try fails, for each node and layer; below 100%.
    pub share: Share,
    /// Time that a failed try costs. Kraken waits 5 s for a handshake.
    pub after: SimDuration,
}

impl Default for PeerTimeouts {
    fn default() -> Self {
        Self {
            share: default::PEER_TIMEOUT_SHARE,
            after: default::PEER_TIMEOUT,
        }
    }
}

impl Default for PiecesSpec {
    fn default() -> Self {
        Self {
            seeds: default::SEEDS,
            source_rate: None,
            seed_out: default::KRAKEN_OUT,
            peer_out: default::KRAKEN_OUT,
            peer_in: default::KRAKEN_IN,
            piece: default::PIECE,
            connections: default::KRAKEN_CONNECTIONS,
            effectiveness: default::EFFECTIVENESS,
            announce: default::ANNOUNCE,
            timeouts: Some(PeerTimeouts::default()),
        }
    }
}

impl PiecesSpec {
    /// Dragonfly's defaults, which use all of the node's network card.
    #[must_use]
    pub fn dragonfly(nic: BytesPerSec) -> Self {
        Self {
            seed_out: nic,
            peer_out: nic,
            peer_in: nic,
            connections: default::DRAGONFLY_PARENTS,
            timeouts: None,
            ..Self::default()
        }
    }
}

/// Lazy pulling: containers start before their image is present (eStargz, SOCI, Nydus, overlaybd).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct LazySpec {
    /// Share of an image's bytes that a container reads before it is ready.
    pub start_fraction: Share,
    /// Share of those that is fetched before the container starts. The rest is read on demand.
    pub prefetch: Share,
    /// Bytes of one read on demand.
    #[serde(deserialize_with = "positive")]
    pub read: Bytes,
    /// Reads on demand that are in progress simultaneously.
    #[serde(deserialize_with = "positive")]
    pub parallel_reads: u32,
    /// Table of contents of a layer, fetched before it is mounted.
    pub toc: Bytes,
    /// From the last layer's mount until a container can begin to start. The snapshotter's own time.
    pub mount: DurationModel,
    /// Share of images that the streaming service has prepared; others are pulled whole. Drawn for each image once a
    /// run.
    pub prepared: Share,
    /// Maximum rate of the background fetch of one layer; 0 MB/s turns it off.
    #[serde(deserialize_with = "zero_is_none", serialize_with = "none_is_zero")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "BytesPerSec"))]
    pub background: Option<BytesPerSec>,
}

impl Default for LazySpec {
    fn default() -> Self {
        Self {
            start_fraction: default::LAZY_START,
            prefetch: Share::NONE,
            read: default::LAZY_READ,
            parallel_reads: 1,
            toc: default::LAZY_TOC,
            mount: DurationModel::Constant(SimDuration::ZERO),
            prepared: Share::ALL,
            background: Some(default::LAZY_BACKGROUND),
        }
    }
}

fn zero_is_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BytesPerSec>, D::Error> {
    BytesPerSec::deserialize(deserializer)
        .map(|rate| Some(rate).filter(|rate| *rate > BytesPerSec::ZERO))
}

#[expect(clippy::ref_option, reason = "serde's interface")]
fn none_is_zero<S: Serializer>(
    rate: &Option<BytesPerSec>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rate.unwrap_or(BytesPerSec::ZERO).serialize(serializer)
}

/// Bringing the new images to the nodes before the release.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct PrePullSpec {
    /// Clusters that begin together: a number, or a share of the fleet; at least one cluster.
    pub clusters: CountOrPercent,
    /// From one such group to the next.
    #[serde(deserialize_with = "positive")]
    pub every: SimDuration,
    /// Time of the release, from the start of the pre-pull. Without it, when every online cluster has the images.
    pub release_after: Option<SimDuration>,
}

impl Default for PrePullSpec {
    fn default() -> Self {
        Self {
            clusters: CountOrPercent::Percent(100),
            every: default::PRE_PULL_EVERY,
            release_after: None,
        }
    }
}

impl PrePullSpec {
    /// Number of clusters of a fleet that begin together.
    #[must_use]
    pub fn group(&self, fleet: usize) -> usize {
        let group = match self.clusters {
            CountOrPercent::Count(count) => count as usize,
            CountOrPercent::Percent(percent) => fleet * percent as usize / 100,
        };
        group.max(1)
    }
}

/// A registry of a region that is asked before the one that an image names.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MirrorSpec {
    /// Unique among the mirrors.
    pub name: String,
    /// The region whose clusters ask it: a name of `regions`.
    #[serde(rename = "region")]
    pub region_name: String,
    /// Index into the world's regions.
    #[serde(skip)]
    pub region: usize,
    /// Total sending rate.
    #[serde(default = "mirror_egress", deserialize_with = "positive")]
    pub egress: BytesPerSec,
    /// Maximum rate of one connection from it, or `unlimited`.
    #[serde(default, deserialize_with = "unlimited::deserialize")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub per_connection: Option<BytesPerSec>,
    /// Round trip from the region's clusters to it.
    #[serde(default = "mirror_rtt")]
    pub rtt: SimDuration,
    /// The images that it holds, all by default. It answers 404 for the others.
    #[serde(rename = "holds")]
    pub image_names: Option<Vec<String>>,
    /// Indexes of the images whose two revisions it holds.
    #[serde(skip)]
    pub holds: Vec<usize>,
}

const fn mirror_egress() -> BytesPerSec {
    default::CACHE_EGRESS
}

const fn mirror_rtt() -> SimDuration {
    default::MIRROR_RTT
}
