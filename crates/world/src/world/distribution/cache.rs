//! Pull-through caches, one per cluster or region: distribution's proxy mode and Harbor's proxy projects. The caches
//! of Diego's cells are modelled in the same way.
//!
//! A node sends all requests to its cache, which requests missing content from the registry. A missing blob takes two
//! concurrent transfers, from the registry to the cache and from the cache to the node; the node has the blob when
//! both have completed. The transfers are concurrent because a cache forwards bytes as they arrive. There are two
//! because they use different links, and because the first may fill the cache for all other nodes long before the
//! second reaches a slow node. The second may run ahead of the first for a while: it then uses bandwidth near the node
//! too early, but never too much of it.
//!
//! Until the first copy of a blob is complete, every other request fetches it again (`coalesce: none`). distribution
//! documents this behaviour (`docs/recipes/mirror.md`; merging was declined in distribution#4511), and Harbor has it
//! too (goharbor/harbor @c50c7dd `src/server/middleware/repoproxy/proxy.go`, requested in harbor#22184). Distribution
//! 2 fetches another copy for itself (`ownCopy`; v2.8 `registry/proxy/proxyblobstore.go`), which our laboratory
//! measurements confirm. `wait` and `stream` show the effect of merging. A tag is requested from the registry each
//! time (distribution `registry/proxy/proxymanifeststore.go` @0d6b721); manifests by digest and configs are kept.
//! Above Harbor's limit of upstream connections the cache responds 429.
//!
//! A cell of Diego, which runs instances of Cloud Foundry's apps, downloads a droplet once and keeps it. Instances of
//! the app that start on the cell in the meantime wait for that download, and other downloads wait for a free
//! connection (code.cloudfoundry.org/executor `depot/steps/download_step.go`, cacheddownloader
//! `cached_downloader.go`). Copies within the cell do not use a link.
//!
//! Left out: the requests for a cache's own copy, which does not wait for a connection of the registry; the caches'
//! tokens, disks and CPU, and their content before the run.

use crate::flow::{LinkId, Network};
use crate::world::distribution::cache_room::CacheRoom;
use crate::world::distribution::cache_store::{CacheLookup, CacheStore};
use crate::world::distribution::method::{DistributionMethod, FirstLeg, RouteQuery};
use crate::world::distribution::spec::{CachePlace, CacheSpec};
use crate::world::ids::{ClusterId, NodeId, StoreId};
use crate::world::nodes::catalog::ImageRef;
use crate::world::registry::request::Request;
use crate::world::transfers::links::{Destination, Leg};
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::SimDuration;

/// The links of one cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLink {
    /// The link over which the cache sends.
    pub(super) link: LinkId,
    pub(super) place: Destination,
    /// The link that limits the cache's fetches. `None`: only the links on the way limit them.
    pub(super) upstream: Option<LinkId>,
}

/// One cache.
#[derive(Debug)]
struct Cache {
    link: LinkId,
    place: Destination,
    /// The link that limits the cache's fetches.
    upstream: Option<LinkId>,
    cache_store: CacheStore,
    /// For each image, whether its index and manifest are cached, and whether its config is.
    manifests: Vec<bool>,
    configs: Vec<bool>,
}

/// All caches.
#[derive(Debug)]
pub(super) struct Caches {
    spec: CacheSpec,
    caches: Vec<Cache>,
    /// The cache of each cluster, if it has one.
    of_cluster: Vec<Option<StoreId>>,
    /// For each node, the links between its cache and the node: the downlink of its cluster if the cache is regional,
    /// and the node's network card.
    last: Vec<Vec<LinkId>>,
}

impl Caches {
    /// Creates caches with these links.
    pub(super) fn new(
        spec: &CacheSpec,
        links: &[CacheLink],
        of_cluster: Vec<Option<StoreId>>,
        last: Vec<Vec<LinkId>>,
        (blobs, images): (usize, usize),
    ) -> Self {
        let mut caches = Vec::with_capacity(links.len());
        for &CacheLink {
            link,
            place,
            upstream,
        } in links
        {
            let most = spec.upstream_connections;
            caches.push(Cache {
                link,
                place,
                upstream,
                cache_store: CacheStore::new(blobs, spec.coalesce, spec.ttl, most),
                manifests: vec![false; images],
                configs: vec![false; images],
            });
        }
        Self {
            spec: spec.clone(),
            caches,
            of_cluster,
            last,
        }
    }

    /// Limits each cache to the size of `room`, and lets requests wait for a free connection.
    pub(super) fn with_room(mut self, room: &CacheRoom) -> Self {
        for cache in &mut self.caches {
            let stock = CacheStore::new(0, self.spec.coalesce, self.spec.ttl, None);
            cache.cache_store =
                std::mem::replace(&mut cache.cache_store, stock).with_room(room.clone());
        }
        self
    }

    /// Returns the cache of each cluster, one per cluster or region.
    pub(super) fn places(per: CachePlace, regions: &[Option<usize>]) -> Vec<Option<StoreId>> {
        let store = StoreId::at;
        match per {
            CachePlace::Cluster => (0..regions.len()).map(|at| Some(store(at))).collect(),
            CachePlace::Region => regions.iter().map(|region| region.map(store)).collect(),
        }
    }
}

impl DistributionMethod for Caches {
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource) {
        let Some(store) = self.of_cluster[query.cluster.index()] else {
            return (
                Routing::Upstream {
                    detour: SimDuration::ZERO,
                },
                BlobSource::Registry,
            );
        };
        let cache = &mut self.caches[store.index()];
        let rtt = self.spec.rtt;
        let image = usize::from(query.image.0);
        let near = (
            Routing::Nearby { wait: rtt },
            BlobSource::Store(store, None),
        );
        let upstream = Routing::Upstream { detour: rtt };
        match query.request {
            // The node connects to the cache, which needs no token.
            Request::Challenge => (Routing::Nearby { wait: rtt * 2 }, BlobSource::Registry),
            Request::Token => (
                Routing::Nearby {
                    wait: SimDuration::ZERO,
                },
                BlobSource::Registry,
            ),
            Request::Resolve => (upstream, BlobSource::Registry),
            Request::Index | Request::Manifest if cache.manifests[image] => near,
            Request::Config if cache.configs[image] => near,
            Request::Index | Request::Manifest => (upstream, BlobSource::Registry),
            Request::Config => (upstream, BlobSource::Miss(store)),
            Request::Layer(_) => {
                let blob = query.blob().expect("a layer is a blob");
                match cache.cache_store.look_up(query.now, blob, query.asked()) {
                    CacheLookup::Hit => near,
                    CacheLookup::Filling(fill) => (
                        Routing::Nearby { wait: rtt },
                        BlobSource::Store(store, Some(fill)),
                    ),
                    CacheLookup::Miss => (upstream, BlobSource::Miss(store)),
                    CacheLookup::Waits => (Routing::Waits, BlobSource::Store(store, None)),
                    CacheLookup::Full => (
                        Routing::Refused { wait: rtt },
                        BlobSource::Store(store, None),
                    ),
                }
            }
        }
    }

    fn note_response(&mut self, cluster: ClusterId, image: ImageRef, request: Request) {
        let Some(store) = self.of_cluster[cluster.index()] else {
            return;
        };
        let cache = &mut self.caches[store.index()];
        match request {
            Request::Manifest => cache.manifests[usize::from(image.0)] = true,
            Request::Config => cache.configs[usize::from(image.0)] = true,
            _ => {}
        }
    }

    fn last_leg(
        &mut self,
        source: BlobSource,
        node: NodeId,
        _blob: u16,
        _network: &mut Network,
    ) -> Leg {
        let (BlobSource::Store(store, _) | BlobSource::Miss(store)) = source else {
            unreachable!("{source:?} is no cache");
        };
        let links = std::iter::once(self.caches[store.index()].link)
            .chain(self.last[node.index()].iter().copied());
        Leg {
            links: links.collect(),
            connection: self.spec.per_connection.into(),
        }
    }

    fn reads(
        &mut self,
        cluster: ClusterId,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        let store = self.of_cluster[cluster.index()]?;
        Some((
            self.last_leg(BlobSource::Store(store, None), node, blob, network),
            self.spec.rtt,
        ))
    }

    fn first_leg(&self, store: StoreId) -> FirstLeg {
        FirstLeg {
            to: self.caches[store.index()].place,
            most: None,
            last: self.caches[store.index()].upstream,
        }
    }

    fn contents(&mut self, store: StoreId) -> &mut CacheStore {
        &mut self.caches[store.index()].cache_store
    }

    fn store_of(&self, cluster: ClusterId) -> Option<StoreId> {
        self.of_cluster[cluster.index()]
    }
}
