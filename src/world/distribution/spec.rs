//! How images are distributed: plain, checked data that a scenario fills in.

use crate::units::{Bytes, BytesPerSec, SimDuration};

/// How images get from the registry to the nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionSpec {
    /// Who stands between registry and nodes.
    pub kind: DistributionKind,
    /// Containers start before their image is there. `None`: only when all of it is.
    pub lazy: Option<LazySpec>,
    /// The new images are brought to the nodes before the release. `None`: they are not.
    pub pre_pull: Option<PrePullSpec>,
    /// Registries of a region that are asked before the one that an image names.
    pub mirrors: Vec<MirrorSpec>,
}

/// Who stands between registry and nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DistributionKind {
    /// Nobody: every node pulls from the registry.
    #[default]
    Direct,
    /// Pull-through caches.
    Cache(CacheSpec),
    /// Nodes that serve what they hold to each other (Spegel).
    Spegel(SpegelSpec),
    /// Nodes that pass on pieces of what they are still fetching (Dragonfly, Kraken).
    Pieces(PiecesSpec),
}

/// What one cache serves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CachePlace {
    /// Every cluster has its own, behind its downlink.
    Cluster,
    /// Every region has one, behind the region's link; clusters without a region have none.
    Region,
}

/// What a cache does with a request for a blob that it is fetching already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Coalesce {
    /// Fetches it again, until the first copy is complete.
    None,
    /// Lets it wait until the first copy is complete.
    Wait,
    /// Sends what it has, as it comes.
    Stream,
}

/// A pull-through cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheSpec {
    /// How many there are.
    pub per: CachePlace,
    /// What one cache can send.
    pub egress: BytesPerSec,
    /// What one connection from it can carry. `None`: as much as the links give.
    pub per_connection: Option<BytesPerSec>,
    /// Round trip from a node to it.
    pub rtt: SimDuration,
    /// What happens to requests for a blob that is on its way already.
    pub coalesce: Coalesce,
    /// How long a stored blob is served; not zero.
    pub ttl: SimDuration,
    /// Blobs it fetches at once; a miss above it is answered with 429. `None`: no limit.
    pub upstream_connections: Option<u32>,
}

/// Spegel: each node serves the complete images in its content store.
#[derive(Clone, Debug, PartialEq)]
pub struct SpegelSpec {
    /// From the request to the peer's answer, when there is one.
    pub lookup: SimDuration,
    /// What a lookup costs that finds nobody; then the registry is asked.
    pub timeout: SimDuration,
    /// What one connection between peers can carry. `None`: as much as the links give.
    pub per_connection: Option<BytesPerSec>,
}

/// Swarms that pass pieces on, as a fluid.
#[derive(Clone, Debug, PartialEq)]
pub struct PiecesSpec {
    /// Peers of a cluster that fetch from the registry and serve nodes only; at least 1.
    pub seeds: u32,
    /// What a seed may fetch of one blob from the registry. `None`: what the links give.
    pub source_rate: Option<BytesPerSec>,
    /// What one seed can send.
    pub seed_out: BytesPerSec,
    /// What one node can send to its peers.
    pub peer_out: BytesPerSec,
    /// What one node can receive from its peers.
    pub peer_in: BytesPerSec,
    /// Bytes of one piece; not zero.
    pub piece: Bytes,
    /// Peers that one peer exchanges pieces with; at least 2.
    pub connections: u32,
    /// Share of their upload that nodes which are still downloading can use for each other, from 0 to 1.
    pub effectiveness: f64,
    /// From a node's request to its first piece being asked for.
    pub announce: SimDuration,
}

/// Starting containers before their image is there (eStargz, SOCI, Nydus, overlaybd).
#[derive(Clone, Debug, PartialEq)]
pub struct LazySpec {
    /// Share of an image's bytes that a container reads before it is ready, from 0 to 1.
    pub start_fraction: f64,
    /// Share of those that is fetched in one go before the container starts; the rest is read on demand.
    pub prefetch: f64,
    /// Bytes of one read on demand; not zero.
    pub read: Bytes,
    /// Reads on demand that are under way at once; at least 1.
    pub parallel_reads: u32,
    /// Table of contents of a layer, fetched before it is mounted.
    pub toc: Bytes,
    /// What one layer's background fetch may carry. `None`: nothing is fetched in the background.
    pub background: Option<BytesPerSec>,
}

/// Bringing the new images to the nodes before the release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrePullSpec {
    /// Clusters that begin together; at least 1.
    pub clusters: u32,
    /// From one such group to the next.
    pub every: SimDuration,
    /// When the release comes, from the start of the pre-pull. `None`: when every online cluster has the images.
    pub release_after: Option<SimDuration>,
}

/// A registry of a region that is asked first.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorSpec {
    /// Unique among the mirrors.
    pub name: String,
    /// Index into the world's regions: whose clusters ask it.
    pub region: usize,
    /// What it can send in all.
    pub egress: BytesPerSec,
    /// What one connection from it can carry. `None`: as much as the links give.
    pub per_connection: Option<BytesPerSec>,
    /// Round trip from its clusters to it.
    pub rtt: SimDuration,
    /// Indexes of the images of which it holds both revisions; it answers 404 for the others.
    pub holds: Vec<usize>,
}
