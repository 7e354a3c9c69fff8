//! Settings for the distribution of images.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::world::calibration as default;
use crate::world::quantity::{CountOrPercent, DurationModel};
use fleetsim_units::serial::{positive, unlimited};
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration};

/// How images get from the registry to the nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionSpec {
    /// Caches or peers between registry and nodes.
    pub kind: DistributionKind,
    /// How containers start before their image is complete. `None`: they start only when it is complete.
    pub lazy: Option<LazySpec>,
    /// How the new images are pulled before the release. `None`: they are not pre-pulled.
    pub pre_pull: Option<PrePullSpec>,
    /// Registries of a region that are tried before the registry that an image names.
    pub mirrors: Vec<MirrorSpec>,
}

/// Caches or peers between registry and nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DistributionKind {
    /// No caches or peers: every node pulls from the registry.
    #[default]
    Direct,
    /// Pull-through caches.
    Cache(CacheSpec),
    /// Cloud Foundry cells, each of which downloads an image once for all of its instances.
    Cells(CellSpec),
    /// Nodes that serve each other the content that they have (Spegel).
    Spegel(SpegelSpec),
    /// Nodes that forward pieces of blobs that they are still downloading (Dragonfly, Kraken).
    Pieces(PiecesSpec),
}

/// Where caches are.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CachePlace {
    /// A cache in every cluster, behind the cluster's downlink.
    Cluster,
    /// A cache in every region, behind the region's link. Clusters without a region have no cache.
    Region,
}

/// How a cache handles a request for a blob that it is already fetching.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Coalesce {
    /// The request fetches the blob again, until a copy is complete.
    None,
    /// Like `none`, but the first request also makes the cache fetch its own copy. Only that copy is stored, as in
    /// Distribution 2.
    OwnCopy,
    /// The request waits until the copy is complete.
    Wait,
    /// The request is served while the copy arrives.
    Stream,
}

/// Pull-through caches (distribution's proxy mode, Harbor's proxy projects).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CacheSpec {
    /// Where the caches are.
    pub per: CachePlace,
    /// Sending rate of one cache.
    #[serde(deserialize_with = "positive")]
    pub egress: BytesPerSec,
    /// Maximum rate of one connection from the cache, or `unlimited`.
    #[serde(with = "unlimited")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub per_connection: Option<BytesPerSec>,
    /// Round trip from a node to the cache.
    pub rtt: SimDuration,
    /// How the cache handles requests for a blob that it is already fetching.
    pub coalesce: Coalesce,
    /// Time for which a stored blob is served.
    #[serde(deserialize_with = "positive")]
    pub ttl: SimDuration,
    /// Maximum number of blobs that the cache fetches simultaneously. A further miss gets a 429 response. Default: no
    /// limit.
    #[serde(deserialize_with = "positive")]
    pub upstream_connections: Option<u32>,
    /// Maximum total rate of one cache's fetches, or `unlimited`.
    #[serde(with = "unlimited")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub pull_bandwidth: Option<BytesPerSec>,
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
            pull_bandwidth: None,
        }
    }
}

/// Cloud Foundry cells (Diego): instances on the same cell share its downloads.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CellSpec {
    /// Number of cells, to which the instances are assigned in turn. A cell is behind the downlink of the instance on
    /// it that is reachable first.
    #[serde(deserialize_with = "positive")]
    pub count: u32,
    /// Bytes that a cell keeps (`diego.executor.max_cache_size_in_bytes`).
    #[serde(default = "cell_cache")]
    pub cache: Bytes,
    /// Maximum number of concurrent downloads of a cell; others wait.
    ///
    /// In Diego this is `diego.executor.max_concurrent_downloads`.
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
    /// Returns the settings of each cell's cache. Stored downloads never expire, and copies within the cell take no
    /// time; writing them is part of unpacking.
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

/// Spegel: each node serves the complete images in its content store to the other nodes of its cluster.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct SpegelSpec {
    /// Time from a request to a peer's answer, if a peer has the content.
    pub lookup: SimDuration,
    /// Time of a lookup that finds no peer (`mirrorResolveTimeout`). The request then goes to the registry.
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

/// Peers that forward pieces while they download, modelled as a fluid. The defaults are Kraken's. Fields state
/// Dragonfly's default where it differs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PiecesSpec {
    /// Number of peers in a cluster that fetch from the registry and only serve nodes.
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
    /// Size of one piece.
    #[serde(deserialize_with = "positive")]
    pub piece: Bytes,
    /// Number of peers with which one peer exchanges pieces; at least 2. Dragonfly: 4.
    pub connections: u32,
    /// Share of their upload rate that nodes can use for each other while still downloading.
    pub effectiveness: Share,
    /// Time from a node's request until it requests its first piece.
    pub announce: SimDuration,
    /// Time-outs that delay nodes. Dragonfly: none.
    pub timeouts: Option<PeerTimeouts>,
    /// Whether the card of a cluster's nodes also limits its seeds: Dragonfly's default for `seedOut` is that card.
    #[serde(skip)]
    pub seeds_have_node_cards: bool,
}

/// Time-outs of connections between peers. Before a node has its last piece, each attempt to connect may fail, which
/// costs time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct PeerTimeouts {
    /// Probability that an attempt fails, for each node and layer; below 100%.
    pub share: Share,
    /// Time that a failed attempt costs. Kraken waits 5 s for a handshake.
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
            seeds_have_node_cards: false,
        }
    }
}

impl PiecesSpec {
    /// Returns Dragonfly's defaults, which use the full rate of the node's network card.
    #[must_use]
    pub fn dragonfly(nic: BytesPerSec) -> Self {
        Self {
            seed_out: nic,
            peer_out: nic,
            peer_in: nic,
            connections: default::DRAGONFLY_PARENTS,
            timeouts: None,
            seeds_have_node_cards: true,
            ..Self::default()
        }
    }
}

/// Lazy pulling: containers start before their image is complete (eStargz, SOCI, Nydus, overlaybd).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct LazySpec {
    /// Share of an image's bytes that a container reads before the container is ready.
    pub start_fraction: Share,
    /// Share of the start's bytes fetched before the container starts. The rest is read on demand.
    pub prefetch: Share,
    /// Size of one read on demand.
    #[serde(deserialize_with = "positive")]
    pub read: Bytes,
    /// Number of concurrent reads on demand.
    #[serde(deserialize_with = "positive")]
    pub parallel_reads: u32,
    /// Size of a layer's table of contents, which is fetched before the layer is mounted.
    pub toc: Bytes,
    /// Time from the last layer's mount until a container can start, due to the snapshotter.
    pub mount: DurationModel,
    /// Share of images that the streaming service has prepared. Other images are pulled as a whole. Drawn for each
    /// image once per run.
    pub prepared: Share,
    /// Maximum rate of the background fetch of one layer; 0 MB/s disables it.
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

/// Pulls the new images to the nodes before the release.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct PrePullSpec {
    /// Number of clusters that begin together, or their share of the fleet; at least one cluster.
    pub clusters: CountOrPercent,
    /// Time between the starts of two groups of clusters.
    #[serde(deserialize_with = "positive")]
    pub every: SimDuration,
    /// Time from the start of the pre-pull to the release. Default: until every online cluster has the images.
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
    /// Returns the number of clusters of a fleet that begin together.
    #[must_use]
    pub fn group(&self, fleet: usize) -> usize {
        let group = match self.clusters {
            CountOrPercent::Count(count) => count as usize,
            CountOrPercent::Percent(percent) => fleet * percent as usize / 100,
        };
        group.max(1)
    }
}

/// A registry of a region that is tried before the registry that an image names.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MirrorSpec {
    /// The mirror's name, unique among the mirrors.
    pub name: String,
    /// The region whose clusters use the mirror: a name in `regions`.
    #[serde(rename = "region")]
    pub region_name: String,
    /// Index of the mirror's region in the world's regions.
    #[serde(skip)]
    pub region: usize,
    /// Total sending rate of the mirror.
    #[serde(default = "mirror_egress", deserialize_with = "positive")]
    pub egress: BytesPerSec,
    /// Maximum rate of one connection from the mirror, or `unlimited`.
    #[serde(default, deserialize_with = "unlimited::deserialize")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "unlimited::Text"))]
    pub per_connection: Option<BytesPerSec>,
    /// Round trip from the region's clusters to the mirror.
    #[serde(default = "mirror_rtt")]
    pub rtt: SimDuration,
    /// The images that the mirror has; all by default. For others, the response is 404.
    #[serde(rename = "holds")]
    pub image_names: Option<Vec<String>>,
    /// Indices of the images that the mirror has, in both revisions.
    #[serde(skip)]
    pub holds: Vec<usize>,
}

const fn mirror_egress() -> BytesPerSec {
    default::CACHE_EGRESS
}

const fn mirror_rtt() -> SimDuration {
    default::MIRROR_RTT
}
