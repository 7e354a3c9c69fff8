//! The bytes and requests of a release for each registry, region, mirror, cache and cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::content::{ClusterNodes, NeededBlob, ReleaseContent};
use crate::world::distribution::spec::{CachePlace, DistributionKind};
use crate::world::registry::spec::ClientScope;
use crate::world::spec::WorldSpec;

/// The requests of a release to one registry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RegistryDemand {
    pub(super) bytes: f64,
    /// The bytes of each layer that go to each region.
    pub(super) layers: BTreeMap<LayerDemand, f64>,
    /// The requests of all clusters.
    pub(super) requests: RequestCounts,
    /// The requests of each cluster.
    pub(super) by_cluster: Vec<ClusterRequests>,
}

/// The requests of one cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClusterRequests {
    pub(super) nodes: u32,
    pub(super) requests: RequestCounts,
}

/// Numbers of requests by kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct RequestCounts {
    /// First requests of a pull, which are answered with the address of the token service.
    pub(super) challenges: u64,
    /// Requests that resolve a tag.
    pub(super) heads: u64,
    /// Lists of platforms.
    pub(super) indexes: u64,
    /// Manifests of a platform, which a quota counts.
    pub(super) manifests: u64,
    /// Configs and layers.
    pub(super) blobs: u64,
}

impl RequestCounts {
    /// Requests that a limit on manifests counts.
    pub(super) const fn for_manifests(self) -> u64 {
        self.heads + self.indexes + self.manifests
    }

    /// All requests to the API host.
    pub(super) const fn to_api(self) -> u64 {
        self.challenges + self.for_manifests() + self.blobs
    }

    fn add(&mut self, other: Self) {
        self.challenges += other.challenges;
        self.heads += other.heads;
        self.indexes += other.indexes;
        self.manifests += other.manifests;
        self.blobs += other.blobs;
    }
}

impl RegistryDemand {
    /// Counts requests of the latest cluster.
    fn count(&mut self, requests: RequestCounts) {
        self.requests.add(requests);
        if let Some(cluster) = self.by_cluster.last_mut() {
            cluster.requests.add(requests);
        }
    }

    /// Adds the copies of a blob that a cluster fetches.
    fn add_blob(&mut self, layer: LayerDemand, fetched: FetchedBlob) {
        self.bytes += fetched.bytes;
        if fetched.is_whole {
            self.count(RequestCounts {
                blobs: u64::from(fetched.copies),
                ..RequestCounts::default()
            });
        }
        if fetched.is_at_rate_of_blob {
            *self.layers.entry(layer).or_default() += fetched.bytes;
        }
    }

    /// Returns the number of requests of a kind, of those clients that share a limit and have most.
    pub(super) fn most(&self, scope: ClientScope, of_kind: impl Fn(RequestCounts) -> u64) -> u64 {
        let mut most = 0;
        for cluster in &self.by_cluster {
            let requests = of_kind(cluster.requests);
            most = most.max(match scope {
                ClientScope::Account => of_kind(self.requests),
                ClientScope::Address => requests,
                // The node with most requests has at least the mean.
                ClientScope::Node => requests.div_ceil(u64::from(cluster.nodes.max(1))),
            });
        }
        most
    }
}

/// Copies of a blob that a cluster fetches from a registry.
#[derive(Clone, Copy, Debug)]
struct FetchedBlob {
    copies: u32,
    bytes: f64,
    /// One request fetches a copy. A lazily pulled layer is read in parts.
    is_whole: bool,
    /// The rate of a blob limits the copies. It does not limit configs and reads on demand.
    is_at_rate_of_blob: bool,
}

impl FetchedBlob {
    fn of(blob: &NeededBlob, copies: u32, is_lazy: bool) -> Self {
        Self {
            copies,
            bytes: blob.bytes * f64::from(copies),
            is_whole: blob.is_config || !is_lazy,
            is_at_rate_of_blob: !blob.is_config && !is_lazy,
        }
    }
}

/// A layer that a registry sends to a region, or to clusters without one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct LayerDemand {
    pub(super) blob: usize,
    pub(super) region: Option<usize>,
}

/// The total demand of a release.
#[derive(Debug)]
pub(super) struct ReleaseDemand {
    /// The demand on each registry, indexed as in [`WorldSpec::registry_at`].
    pub(super) registries: Vec<RegistryDemand>,
    /// For each region, the bytes over its link.
    pub(super) regions: Vec<f64>,
    /// For each mirror, the bytes that it sends.
    pub(super) mirrors: Vec<f64>,
    /// For each region, the bytes that its cache sends.
    pub(super) region_caches: Vec<f64>,
    /// For each cluster, the bytes over its downlink.
    pub(super) downlinks: Vec<f64>,
    /// For each cluster, the bytes that its cache sends.
    pub(super) caches: Vec<f64>,
    /// For each cluster, the bytes that its cache fetches.
    pub(super) fetches: Vec<f64>,
    /// For each region, the bytes that its cache fetches.
    pub(super) region_fetches: Vec<f64>,
    /// The content that was already counted for a place that fetches once for several clusters.
    fetched: BTreeSet<SharedFetch>,
}

/// A blob or a manifest at a place that fetches it once.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct SharedFetch {
    /// The region or the cell.
    place: usize,
    /// The image whose manifest it is.
    manifest: Option<usize>,
    blob: Option<usize>,
}

/// The number of copies that the nodes of a cluster fetch from a registry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FetchCopies {
    /// Each node by itself.
    EachNode,
    /// Once for the cluster.
    OncePerCluster,
    /// Once for all clusters of a region.
    OncePerRegion(usize),
    /// Once for all instances of a cell, behind the downlink of its first.
    OncePerCell(usize),
}

impl FetchCopies {
    fn of(world: &WorldSpec, cluster: usize) -> Self {
        match &world.distribution.kind {
            DistributionKind::Direct => Self::EachNode,
            DistributionKind::Cache(cache) => match (cache.per, world.clusters[cluster].region) {
                (CachePlace::Cluster, _) => Self::OncePerCluster,
                (CachePlace::Region, Some(region)) => Self::OncePerRegion(region),
                (CachePlace::Region, None) => Self::EachNode,
            },
            DistributionKind::Cells(cells) => {
                let cells = (cells.count as usize).min(world.clusters.len()).max(1);
                Self::OncePerCell(cluster % cells)
            }
            // A node cannot serve discarded blobs to a peer.
            DistributionKind::Spegel(_) if !world.node.keep_blobs => Self::EachNode,
            DistributionKind::Spegel(_) | DistributionKind::Pieces(_) => Self::OncePerCluster,
        }
    }

    /// The cluster behind whose downlink the bytes for a cluster arrive.
    const fn host(self, cluster: usize) -> usize {
        match self {
            Self::OncePerCell(cell) => cell,
            _ => cluster,
        }
    }
}

/// A cluster, with everything that determines the source of its bytes.
struct ClusterRoute<'w> {
    world: &'w WorldSpec,
    content: &'w ReleaseContent,
    cluster: usize,
    nodes: ClusterNodes,
    copies: FetchCopies,
}

impl ClusterRoute<'_> {
    /// The mirror that serves an image to this cluster.
    fn mirror_of(&self, image: usize) -> Option<usize> {
        let region = self.world.clusters[self.cluster].region;
        let mut mirrors = self.world.distribution.mirrors.iter();
        mirrors.position(|mirror| Some(mirror.region) == region && mirror.holds.contains(&image))
    }

    /// Returns the origin of a blob. `None`: a mirror or a registry could send it.
    fn source_of(&self, blob: usize) -> Option<BlobOrigin> {
        let mut found = None;
        for &image in &self.content.blobs[blob].images {
            if self.nodes.of_image[image] == 0 {
                continue;
            }
            let origin = match self.mirror_of(image) {
                Some(mirror) => BlobOrigin::Mirror(mirror),
                None => BlobOrigin::Registry(self.world.images[image].registry),
            };
            found = match found {
                None => Some(origin),
                Some(other) => Some(other.or(origin)?),
            };
        }
        found
    }
}

/// The origin of a blob.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum BlobOrigin {
    Mirror(usize),
    Registry(usize),
    /// One of several registries: images in different registries contain the blob, and a node fetches it once.
    OneOfRegistries,
}

impl BlobOrigin {
    /// Returns the origin of a blob that one of two places sends. `None`: they are of different kinds.
    fn or(self, other: Self) -> Option<Self> {
        match (self, other) {
            _ if self == other => Some(self),
            (Self::Mirror(_), _) | (_, Self::Mirror(_)) => None,
            _ => Some(Self::OneOfRegistries),
        }
    }
}

impl ReleaseDemand {
    pub(super) fn of(world: &WorldSpec, content: &ReleaseContent) -> Self {
        let clusters = world.clusters.len();
        let mut demand = Self {
            registries: vec![RegistryDemand::default(); world.registries.len() + 1],
            regions: vec![0.0; world.regions.len()],
            mirrors: vec![0.0; world.distribution.mirrors.len()],
            region_caches: vec![0.0; world.regions.len()],
            downlinks: vec![0.0; clusters],
            caches: vec![0.0; clusters],
            fetches: vec![0.0; clusters],
            region_fetches: vec![0.0; world.regions.len()],
            fetched: BTreeSet::new(),
        };
        for cluster in 0..clusters {
            let copies = FetchCopies::of(world, cluster);
            let is_cached = matches!(
                world.distribution.kind,
                DistributionKind::Cache(_) | DistributionKind::Cells(_)
            ) && copies != FetchCopies::EachNode;
            let nodes = ClusterNodes::of(world, cluster).nodes;
            // A cache has one address.
            demand.open_cluster(if is_cached { 1 } else { nodes });
            let route = ClusterRoute {
                world,
                content,
                cluster,
                nodes: ClusterNodes::of(world, cluster),
                copies: FetchCopies::of(world, cluster),
            };
            for blob in 0..content.blobs.len() {
                demand.add_blob(&route, blob);
            }
            for image in 0..world.images.len() {
                demand.add_manifests(&route, image);
            }
        }
        demand
    }

    /// Begins to count the requests of the next cluster.
    fn open_cluster(&mut self, nodes: u32) {
        for registry in &mut self.registries {
            registry.by_cluster.push(ClusterRequests {
                nodes,
                requests: RequestCounts::default(),
            });
        }
    }

    /// Returns the number of copies that a cluster fetches if `nodes` of its nodes need the content.
    fn copies(&mut self, route: &ClusterRoute<'_>, nodes: u32, fetch: SharedFetch) -> u32 {
        match route.copies {
            FetchCopies::EachNode => nodes,
            FetchCopies::OncePerCluster => nodes.min(1),
            FetchCopies::OncePerRegion(place) | FetchCopies::OncePerCell(place) => {
                let is_first = nodes > 0 && self.fetched.insert(SharedFetch { place, ..fetch });
                u32::from(is_first)
            }
        }
    }

    /// Adds a blob that a cluster needs.
    fn add_blob(&mut self, route: &ClusterRoute<'_>, number: usize) {
        let blob = &route.content.blobs[number];
        let nodes = route.content.nodes_with(&route.nodes, number);
        if nodes == 0 {
            return;
        }
        let on_nodes = blob.bytes * f64::from(nodes);
        let origin = route.source_of(number);
        let registry = match origin {
            Some(BlobOrigin::Mirror(mirror)) => {
                self.mirrors[mirror] += on_nodes;
                self.downlinks[route.cluster] += on_nodes;
                return;
            }
            Some(BlobOrigin::Registry(registry)) => Some(registry),
            // No single registry has to send it, but it arrives over the same links.
            Some(BlobOrigin::OneOfRegistries) => None,
            None => return,
        };
        let fetch = SharedFetch {
            place: 0,
            manifest: None,
            blob: Some(number),
        };
        let copies = self.copies(route, nodes, fetch);
        let fetched = blob.bytes * f64::from(copies);
        let host = route.copies.host(route.cluster);
        let region = route.world.clusters[host].region;
        if let Some(region) = region {
            self.regions[region] += fetched;
        }
        if let Some(registry) = registry {
            let layer = LayerDemand {
                blob: number,
                region,
            };
            let is_lazy = route.world.distribution.lazy.is_some();
            self.registries[registry].add_blob(layer, FetchedBlob::of(blob, copies, is_lazy));
        }
        match route.copies {
            FetchCopies::OncePerRegion(region) => {
                self.region_caches[region] += on_nodes;
                self.region_fetches[region] += fetched;
                self.downlinks[host] += on_nodes;
            }
            _ => self.downlinks[host] += fetched,
        }
        self.caches[route.cluster] += on_nodes;
        self.fetches[route.cluster] += fetched;
    }

    /// Adds the requests of the pulls of an image, apart from those for blobs.
    fn add_manifests(&mut self, route: &ClusterRoute<'_>, image: usize) {
        let nodes = route.nodes.of_image[image];
        if nodes == 0 || route.mirror_of(image).is_some() {
            return;
        }
        let kind = &route.world.distribution.kind;
        let fetch = SharedFetch {
            place: 0,
            manifest: Some(image),
            blob: None,
        };
        let copies = match kind {
            // Swarms exchange layers only.
            DistributionKind::Pieces(_) => nodes,
            _ => self.copies(route, nodes, fetch),
        };
        // A cache needs no token, and asks for each tag again.
        let is_cached = matches!(
            kind,
            DistributionKind::Cache(_) | DistributionKind::Cells(_)
        ) && route.copies != FetchCopies::EachNode;
        let (challenges, heads) = if is_cached {
            (0, nodes)
        } else {
            (copies, copies)
        };
        let spec = &route.world.images[image];
        let needs_token = route.world.registry_at(spec.registry).tokens;
        self.registries[spec.registry].count(RequestCounts {
            challenges: u64::from(challenges) * u64::from(needs_token),
            heads: u64::from(heads),
            indexes: u64::from(copies) * u64::from(spec.index),
            manifests: u64::from(copies),
            blobs: 0,
        });
    }
}
