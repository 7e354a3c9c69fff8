//! `distribution`, `mirrors` and `registry.cdn` of an experiment file, as their author wrote them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Amount, Duration, Percent, Rate, RateLimit, Size};

/// How images get from the registry to the nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) enum DistributionFile {
    /// Every node pulls from the registry.
    Direct {},
    /// Pull-through caches (distribution's proxy mode, Harbor's proxy projects).
    Cache(CacheFile),
    /// Nodes serve the complete images that they hold to the others of their cluster.
    Spegel(SpegelFile),
    /// Peers that pass pieces on while they fetch, with Dragonfly's numbers.
    Dragonfly(PiecesFile),
    /// The same with Kraken's numbers.
    Kraken(PiecesFile),
    /// Containers start before their image is there (eStargz, SOCI, Nydus, overlaybd).
    Lazy(LazyFile),
    /// The new images are brought to the nodes before the release.
    PrePull(PrePullFile),
}

/// Pull-through caches.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CacheFile {
    /// How many there are. Default: cluster.
    pub(crate) per: Option<CachePlaceFile>,
    /// What one cache can send. Default: 10 Gbit/s.
    pub(crate) egress: Option<Rate>,
    /// What one connection from it can carry, or `unlimited`. Default: unlimited.
    pub(crate) per_connection: Option<RateLimit>,
    /// Round trip from a node to it. Default: 1 ms.
    pub(crate) rtt: Option<Duration>,
    /// What happens to requests for a blob that it is fetching already. Default: none.
    pub(crate) coalesce: Option<CoalesceFile>,
    /// How long a stored blob is served. Default: 168h.
    pub(crate) ttl: Option<Duration>,
    /// Blobs it fetches at once; a miss above it is answered with 429. Default: no limit.
    pub(crate) upstream_connections: Option<u32>,
}

/// How many caches there are.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CachePlaceFile {
    /// One in every cluster.
    Cluster,
    /// One in every region; clusters without a region have none.
    Region,
}

/// What a cache does with a request for a blob that it is fetching already.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CoalesceFile {
    /// It fetches the blob again, until a copy is complete.
    None,
    /// The request waits until the copy is complete.
    Wait,
    /// The request is served as the copy comes.
    Stream,
}

/// Spegel.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SpegelFile {
    /// From a request to a peer's answer, when there is one. Default: 3 ms.
    pub(crate) lookup: Option<Duration>,
    /// What a lookup costs that finds nobody (`mirrorResolveTimeout`). Default: 20 ms.
    pub(crate) timeout: Option<Duration>,
    /// What one connection between peers can carry, or `unlimited`. Default: 600 MB/s.
    pub(crate) peer_connection: Option<RateLimit>,
}

/// Swarms.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PiecesFile {
    /// Peers of a cluster that fetch from the registry and serve nodes only. Default: 3.
    pub(crate) seeds: Option<u32>,
    /// What a seed may fetch of one blob from the registry, or `unlimited`. Default: unlimited.
    pub(crate) source_rate: Option<RateLimit>,
    /// What one seed can send. Default: the node's `nic` (dragonfly), 200 MB/s (kraken).
    pub(crate) seed_out: Option<Rate>,
    /// What one node can send to its peers. Default: the node's `nic` (dragonfly), 200 MB/s (kraken).
    pub(crate) peer_out: Option<Rate>,
    /// What one node can receive from its peers. Default: the node's `nic` (dragonfly), 300 MB/s (kraken).
    pub(crate) peer_in: Option<Rate>,
    /// Bytes of one piece. Default: 4 MB.
    pub(crate) piece: Option<Size>,
    /// Peers that one peer exchanges pieces with. Default: 4 (dragonfly), 10 (kraken).
    pub(crate) connections: Option<u32>,
    /// Share of their upload that nodes which still download can use for each other. Default: 100%.
    pub(crate) effectiveness: Option<Percent>,
    /// From a node's request to its first piece being asked for. Default: 50 ms.
    pub(crate) announce: Option<Duration>,
}

/// Lazy pulling.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LazyFile {
    /// Share of an image's bytes that a container reads before it is ready. Default: 6.4%.
    pub(crate) start_fraction: Option<Percent>,
    /// Share of those that is fetched in one go before the container starts; the rest is read on demand. Default: 0%.
    pub(crate) prefetch: Option<Percent>,
    /// Bytes of one read on demand. Default: 128 KiB.
    pub(crate) read: Option<Size>,
    /// Reads on demand that are under way at once. Default: 1.
    pub(crate) parallel_reads: Option<u32>,
    /// Table of contents of a layer, fetched before it is mounted. Default: 100 kB.
    pub(crate) toc: Option<Size>,
    /// What the background fetch of one layer may carry; 0 MB/s: nothing is fetched in the background. Default: 10 MB/s.
    pub(crate) background: Option<Rate>,
    /// How the bytes come. Default: direct.
    pub(crate) via: Option<Box<DistributionFile>>,
}

/// Pre-pulling.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PrePullFile {
    /// Clusters that begin together. Default: 100%.
    pub(crate) clusters: Option<Amount>,
    /// From one such group to the next. Default: 1 min.
    pub(crate) every: Option<Duration>,
    /// When the release comes, from the start of the pre-pull. Default: when every cluster that is online has the images.
    pub(crate) release_after: Option<Duration>,
    /// How the bytes come. Default: direct.
    pub(crate) via: Option<Box<DistributionFile>>,
}

/// A registry of a region that is asked before the one that an image names.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct MirrorFile {
    /// Its name.
    pub(crate) name: String,
    /// Whose clusters ask it: a name of `regions`.
    pub(crate) region: String,
    /// What it can send in all. Default: 10 Gbit/s.
    pub(crate) egress: Option<Rate>,
    /// What one connection from it can carry, or `unlimited`. Default: unlimited.
    pub(crate) per_connection: Option<RateLimit>,
    /// Round trip from the region's clusters to it. Default: 5 ms.
    pub(crate) rtt: Option<Duration>,
    /// The images that it holds; it answers 404 for the others. Default: all.
    pub(crate) holds: Option<Vec<String>>,
}

/// A content delivery network in front of the blobs, which carries less of a blob that nobody has downloaded yet.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CdnFile {
    /// What one connection carries of a blob that no download has completed yet. Default: 46 MB/s.
    pub(crate) cold: Option<Rate>,
    /// What one connection carries of any other blob. Default: 500 MB/s.
    pub(crate) warm: Option<Rate>,
}
