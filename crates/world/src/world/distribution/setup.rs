//! Creates the links of caches, and the distribution method of a world.

use crate::flow::{LinkId, Network};
use crate::world::distribution::cache::CacheLink;
use crate::world::distribution::cache_room::CacheRoom;
use crate::world::distribution::method::DistributionMethod;
use crate::world::distribution::pieces::PeerCards;
use crate::world::distribution::spec::{
    CachePlace, CacheSpec, CellSpec, DistributionKind, PiecesSpec,
};
use crate::world::distribution::{cache, direct, pieces, spegel};
use crate::world::ids::{ClusterId, StoreId};
use crate::world::nodes::catalog::Catalog;
use crate::world::spec::WorldSpec;
use crate::world::transfers::Transfers;
use crate::world::transfers::links::{Destination, Links};
use fleetsim_units::{BytesPerSec, SimTime};

/// The links of caches. They are created before the links that are reached through them.
#[derive(Debug)]
pub(crate) struct CacheLinks {
    /// The location of the caches. `None`: there are no caches.
    place: Option<CachePlace>,
    links: Vec<CacheLink>,
    /// The cache of each cluster.
    cache_of: Vec<Option<StoreId>>,
}

impl CacheLinks {
    pub(crate) fn new(spec: &WorldSpec, links: &Links, network: &mut Network) -> Self {
        let cache = match &spec.distribution.kind {
            DistributionKind::Cache(cache) => cache,
            DistributionKind::Cells(cells) => {
                return Self::of_cells(cells, spec.clusters.len(), network);
            }
            _ => {
                return Self {
                    place: None,
                    links: Vec::new(),
                    cache_of: Vec::new(),
                };
            }
        };
        let regions: Vec<Option<usize>> =
            spec.clusters.iter().map(|cluster| cluster.region).collect();
        let places: Vec<Destination> = match cache.per {
            CachePlace::Cluster => (0..spec.clusters.len())
                .map(|at| Destination::Cluster(ClusterId::at(at)))
                .collect(),
            CachePlace::Region => (0..spec.regions.len()).map(Destination::Region).collect(),
        };
        let egress = links.data(cache.egress);
        let pulls_at = cache.pull_bandwidth.map(|rate| links.data(rate));
        let mut cache_links = Vec::with_capacity(places.len());
        for place in places {
            cache_links.push(CacheLink {
                link: network.add_link(None, egress),
                place,
                upstream: pulls_at.map(|rate| network.add_link(None, rate)),
            });
        }
        Self {
            place: Some(cache.per),
            links: cache_links,
            cache_of: cache::Caches::places(cache.per, &regions),
        }
    }

    /// Creates the links of cells. Instances are assigned to the cells in turn.
    fn of_cells(cells: &CellSpec, clusters: usize, network: &mut Network) -> Self {
        let count = (cells.count as usize).min(clusters);
        let egress = cells.as_cache().egress;
        let mut links = Vec::with_capacity(count);
        for at in 0..count {
            links.push(CacheLink {
                link: network.add_link(None, egress),
                place: Destination::Cluster(ClusterId::at(at)),
                upstream: None,
            });
        }
        let cache_of = (0..clusters)
            .map(|at| Some(StoreId::at(at % count)))
            .collect();
        Self {
            place: None,
            links,
            cache_of,
        }
    }

    /// Places each cell behind the downlink of the instance that is reachable first, so that an offline instance does
    /// not cut off the others.
    pub(crate) fn place_cells(&mut self, reachable_from: impl Fn(ClusterId) -> SimTime) {
        if self.place.is_some() {
            return;
        }
        let count = self.links.len();
        for (cell, CacheLink { place, .. }) in self.links.iter_mut().enumerate() {
            let instances = (cell..self.cache_of.len())
                .step_by(count)
                .map(ClusterId::at);
            *place = instances
                .min_by_key(|&at| reachable_from(at))
                .map_or(*place, Destination::Cluster);
        }
    }

    /// Creates the caches behind these links; `last` has the links from a cache to each node.
    fn with_content(
        self,
        spec: &CacheSpec,
        last: Vec<Vec<LinkId>>,
        catalog: &Catalog,
    ) -> cache::Caches {
        let sizes = (catalog.blobs, catalog.len());
        cache::Caches::new(spec, &self.links, self.cache_of, last, sizes)
    }

    /// The link of each cache.
    pub(crate) fn all(&self) -> Vec<LinkId> {
        self.links.iter().map(|cache| cache.link).collect()
    }

    /// The links that limit what each cache fetches. Empty without a limit.
    pub(crate) fn fetch_links(&self) -> Vec<LinkId> {
        self.links
            .iter()
            .filter_map(|cache| cache.upstream)
            .collect()
    }

    /// Returns the link of a cluster's cache, if caches are at this level. All bytes for the cluster's nodes come from
    /// the cache, so the links behind it form a separate tree.
    pub(crate) fn link(&self, cluster: ClusterId, place: CachePlace) -> Option<LinkId> {
        if self.place != Some(place) {
            return None;
        }
        self.cache_of[cluster.index()].map(|store| self.links[store.index()].link)
    }
}

/// Creates the specified method, once all links of clusters and nodes exist.
pub(super) fn method(
    spec: &WorldSpec,
    caches: CacheLinks,
    catalog: &Catalog,
    transfers: &mut Transfers,
) -> Box<dyn DistributionMethod> {
    let Transfers { network, links, .. } = transfers;
    match &spec.distribution.kind {
        DistributionKind::Direct => Box::new(direct::Direct),
        DistributionKind::Cache(cache) => {
            let mut last = Vec::with_capacity(links.nodes.len());
            for &(cluster, card) in &links.nodes {
                last.push(match cache.per {
                    CachePlace::Cluster => vec![card],
                    CachePlace::Region => vec![links.downlink(cluster), card],
                });
            }
            Box::new(caches.with_content(cache, last, catalog))
        }
        DistributionKind::Cells(cells) => {
            let last = vec![Vec::new(); links.nodes.len()];
            let room = CacheRoom::new(cells.cache, catalog.blob_sizes());
            let content = caches.with_content(&cells.as_cache(), last, catalog);
            Box::new(content.with_room(&room))
        }
        DistributionKind::Spegel(spegel) => {
            let mut cards = Vec::with_capacity(links.nodes.len());
            for &(_, card) in &links.nodes {
                let capacity = network.capacity(card);
                cards.push((card, network.add_link(None, capacity)));
            }
            Box::new(spegel::Spegel::new(spegel, cards))
        }
        DistributionKind::Pieces(pieces) => {
            let cards = peer_cards(pieces, links, network);
            Box::new(pieces::Pieces::new(pieces, cards, catalog, links, network))
        }
    }
}

/// Creates the links over which nodes receive from their peers. A node's network card also limits what it sends.
fn peer_cards(pieces: &PiecesSpec, links: &Links, network: &mut Network) -> PeerCards {
    let mut cards = PeerCards {
        inlets: Vec::with_capacity(links.nodes.len()),
        out: Vec::with_capacity(links.nodes.len()),
    };
    for &(_, card) in &links.nodes {
        let card = network.capacity(card).get();
        let inlet = BytesPerSec::new(pieces.peer_in.get().min(card));
        cards.inlets.push(network.add_link(None, inlet));
        cards.out.push(pieces.peer_out.get().min(card) as u64);
    }
    cards
}
