//! Swarms that forward pieces while they download, modelled as a fluid: Dragonfly and Kraken.
//!
//! For each cluster and blob, the seeds fetch one copy from the registry, and the nodes exchange pieces. With x nodes
//! downloading, y complete nodes and s complete seeds, upload rates μ and σ, and the effectiveness η of incomplete
//! nodes, the whole swarm downloads at min{c·x, μ(η·x + y) + σ·s}: Qiu and Srikant, "Modeling and performance analysis
//! of BitTorrent-like peer-to-peer networks" (SIGCOMM 2004), equation 1, with the seeds as a second class. Here the
//! second term is the capacity of a link that the swarm's downloads share max-min fairly, c is each node's own limit,
//! and x and y change with the simulation. A node has its blob when its share has arrived, the seeds are complete, and
//! a last piece has arrived over log_k(x + y) hops of k connections each: no node can be further ahead of the seeds
//! than that (Kumar and Ross, "Peer-assisted file distribution: the minimum distribution time", 2006: no faster than
//! one copy leaves the seeds).
//!
//! Machines send over one network card, whatever they send: the same equation also bounds the downloads of all blobs
//! of an image together, and of all blobs of a cluster, where each node counts once (see `crowd`). One copy of every
//! blob has to leave the seeds, so their downloads from the registry share what they can send. A node's card bounds
//! its rate, too.
//!
//! Sources of the numbers: kraken @2a7fbcb `lib/torrent/scheduler/conn/config.go` and `connstate/config.go`; dragonfly
//! @66db456
//! `scheduler/config/constants.go`.
//!
//! Slow hosts: before its last piece, a node's attempts to reach a peer fail with a probability, each after a
//! time-out, so the lost time has a geometric distribution. Kraken waits 5 s for a handshake (@3705d31
//! `lib/torrent/scheduler/conn/config.go`). The failure rate of handshakes is not published.
//!
//! Left out: the choice of pieces (rarest first), peers that are slow or leave, and the load of the tracker or
//! scheduler. Two images with a layer in common, each on its own nodes, may get more than these nodes can send
//! together, but never more than the cluster's nodes can. Dragonfly's connection limits (4 parents per peer, 200
//! uploads per peer, 2,000 per seed) matter only if more than 2,000 nodes per seed begin simultaneously, since each
//! node takes 4 connections and offers 200. Its limit of 200 downloads from the source is for peers without a parent,
//! which a swarm without failures does not have.

use crate::flow::{LinkId, Network};
use crate::world::distribution::cache_store::{CacheLookup, CacheStore};
use crate::world::distribution::crowd::{Crowd, CrowdChange, PeerNode, UploadTerms};
use crate::world::distribution::method::{
    DistributionMethod, FirstLeg, MemberChange, RouteQuery, SwarmMembership,
};
use crate::world::distribution::spec::{Coalesce, PeerTimeouts, PiecesSpec};
use crate::world::ids::{ClusterId, NodeId, StoreId};
use crate::world::nodes::catalog::Catalog;
use crate::world::transfers::links::{Destination, Leg, Links};
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::{BytesPerSec, SimDuration, SimTime};

/// The swarms of one cluster.
#[derive(Debug)]
struct ClusterSwarms {
    /// The index of the cluster's first node, and the number of its nodes.
    first_node: usize,
    nodes: usize,
    terms: UploadTerms,
    /// The link over which one copy of every blob reaches the seeds, as slowly as it can leave them.
    copy: LinkId,
    /// Everything that the cluster's nodes download.
    all: Crowd,
    /// The downloads of blobs that only one image has, by image.
    images: Vec<Option<Crowd>>,
    blobs: Vec<Option<Crowd>>,
}

impl ClusterSwarms {
    fn crowd<'c>(
        crowds: &'c mut [Option<Crowd>],
        at: u16,
        nodes: usize,
        terms: UploadTerms,
        network: &mut Network,
    ) -> &'c mut Crowd {
        crowds[usize::from(at)].get_or_insert_with(|| Crowd::new(nodes, terms, network))
    }
}

/// The network cards of a world's nodes, as swarms use them.
#[derive(Debug)]
pub(super) struct PeerCards {
    /// For each node, the link that limits its downloads from peers.
    pub inlets: Vec<LinkId>,
    /// For each node, the rate at which it can send, in bytes per second.
    pub out: Vec<u64>,
}

/// The swarms of a fleet. A store represents the seeds of a cluster.
#[derive(Debug)]
pub(super) struct Pieces {
    spec: PiecesSpec,
    stores: Vec<CacheStore>,
    clusters: Vec<ClusterSwarms>,
    /// For each blob, the only image that has it. `None`: several images have it, or there is only one image.
    image_of: Vec<Option<u16>>,
    cards: PeerCards,
}

impl Pieces {
    pub(super) fn new(
        spec: &PiecesSpec,
        cards: PeerCards,
        catalog: &Catalog,
        links: &Links,
        network: &mut Network,
    ) -> Self {
        let mut clusters = Vec::new();
        let mut stores = Vec::new();
        let mut first_node = 0;
        for cluster in 0..links.clusters() {
            let id = ClusterId::at(cluster);
            let rest = &links.nodes[first_node..];
            let nodes = rest.iter().take_while(|&&(of, _)| of == id).count();
            let card = rest.first().map(|&(_, card)| network.capacity(card));
            let terms = upload_terms(spec, card);
            clusters.push(ClusterSwarms {
                first_node,
                nodes,
                terms,
                copy: network.add_link(Some(links.downlink(id)), BytesPerSec::new(terms.seeds)),
                all: Crowd::new(nodes, terms, network),
                images: none_of(catalog.specified()),
                blobs: none_of(catalog.blobs),
            });
            let forever = SimDuration::MAX;
            stores.push(CacheStore::new(
                catalog.blobs,
                Coalesce::Stream,
                forever,
                None,
            ));
            first_node += nodes;
        }
        Self {
            spec: spec.clone(),
            stores,
            clusters,
            image_of: catalog.only_image_of_blobs(),
            cards,
        }
    }

    /// Returns the crowds that a node's download of a blob belongs to.
    fn crowds<'s>(
        &'s mut self,
        store: StoreId,
        blob: u16,
        network: &mut Network,
    ) -> CrowdsOfBlob<'s> {
        let cluster = &mut self.clusters[store.index()];
        let terms = cluster.terms;
        let image = self.image_of[usize::from(blob)].map(|image| {
            ClusterSwarms::crowd(&mut cluster.images, image, cluster.nodes, terms, network)
        });
        let of_blob = ClusterSwarms::crowd(&mut cluster.blobs, blob, cluster.nodes, terms, network);
        CrowdsOfBlob {
            all: &mut cluster.all,
            image,
            of_blob,
        }
    }

    /// Records that nodes begin or cease to ask for a blob. The nodes that have it whole serve the crowds of several
    /// blobs only in between.
    fn ask_for(&mut self, store: StoreId, blob: u16, is_active: bool, network: &mut Network) {
        let service = if is_active {
            CrowdChange::Serves
        } else {
            CrowdChange::StopsServing
        };
        for at in 0..self.clusters[store.index()].nodes {
            let peer = self.peer(store, at);
            let mut crowds = self.crowds(store, blob, network);
            if crowds.of_blob.is_complete(at) {
                crowds.change_several(peer, service);
            }
        }
    }

    /// Returns a node of a store's cluster.
    fn peer(&self, store: StoreId, at: usize) -> PeerNode {
        let first = self.clusters[store.index()].first_node;
        PeerNode {
            at,
            out: self.cards.out[first + at],
        }
    }
}

/// The crowds that the downloads of a blob belong to.
struct CrowdsOfBlob<'s> {
    /// The cluster's.
    all: &'s mut Crowd,
    /// That of the only image that has the blob.
    image: Option<&'s mut Crowd>,
    /// The blob's own.
    of_blob: &'s mut Crowd,
}

impl CrowdsOfBlob<'_> {
    /// Records a change in the crowds of several blobs.
    fn change_several(&mut self, node: PeerNode, change: CrowdChange) {
        self.all.change(node, change);
        if let Some(image) = &mut self.image {
            image.change(node, change);
        }
    }

    /// Sets the capacities of all links.
    fn update(&mut self, terms: UploadTerms, now: SimTime, network: &mut Network) {
        self.all.update(terms, now, network);
        if let Some(image) = &mut self.image {
            image.update(terms, now, network);
        }
        self.of_blob.update(terms, now, network);
    }
}

/// Returns what the seeds of a cluster can send. `card`: the rate of its nodes' network cards.
fn upload_terms(spec: &PiecesSpec, card: Option<BytesPerSec>) -> UploadTerms {
    let mut out = spec.seed_out.get();
    if let Some(card) = card.filter(|_| spec.seeds_have_node_cards) {
        out = out.min(card.get());
    }
    UploadTerms {
        seeds: out * f64::from(spec.seeds),
        effectiveness: spec.effectiveness,
    }
}

fn none_of(crowds: usize) -> Vec<Option<Crowd>> {
    let mut none = Vec::new();
    none.resize_with(crowds, || None);
    none
}

impl DistributionMethod for Pieces {
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource) {
        let Some(blob) = query.blob() else {
            return (
                Routing::Upstream {
                    detour: SimDuration::ZERO,
                },
                BlobSource::Registry,
            );
        };
        let store = StoreId(query.cluster.0);
        let announce = self.spec.announce;
        match self.stores[store.index()].look_up(query.now, blob, query.asked()) {
            CacheLookup::Hit => (
                Routing::Nearby { wait: announce },
                BlobSource::Store(store, None),
            ),
            CacheLookup::Filling(fill) => (
                Routing::Nearby { wait: announce },
                BlobSource::Store(store, Some(fill)),
            ),
            CacheLookup::Miss => (
                Routing::Upstream { detour: announce },
                BlobSource::Miss(store),
            ),
            CacheLookup::Waits => (Routing::Waits, BlobSource::Store(store, None)),
            CacheLookup::Full => unreachable!("a cluster's seeds have no limit of fetches"),
        }
    }

    fn last_leg(
        &mut self,
        source: BlobSource,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Leg {
        let (BlobSource::Store(store, _) | BlobSource::Miss(store)) = source else {
            unreachable!("{source:?} is no swarm");
        };
        let mut links = Vec::with_capacity(4);
        let crowds = self.crowds(store, blob, network);
        links.push(crowds.all.link);
        links.extend(crowds.image.map(|image| image.link));
        links.push(crowds.of_blob.link);
        links.push(self.cards.inlets[node.index()]);
        Leg {
            links,
            connection: None.into(),
        }
    }

    /// Serves reads from the swarm without a wait, because pieces are larger than reads and arrive before them.
    fn reads(
        &mut self,
        cluster: ClusterId,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        let store = StoreId(cluster.0);
        Some((
            self.last_leg(BlobSource::Store(store, None), node, blob, network),
            SimDuration::ZERO,
        ))
    }

    fn first_leg(&self, store: StoreId) -> FirstLeg {
        FirstLeg {
            to: Destination::Cluster(ClusterId(store.0)),
            most: self.spec.source_rate,
            last: Some(self.clusters[store.index()].copy),
        }
    }

    fn contents(&mut self, store: StoreId) -> &mut CacheStore {
        &mut self.stores[store.index()]
    }

    fn store_of(&self, cluster: ClusterId) -> Option<StoreId> {
        Some(StoreId(cluster.0))
    }

    fn member(
        &mut self,
        of: SwarmMembership,
        change: MemberChange,
        now: SimTime,
        network: &mut Network,
    ) {
        let at = of.node.index() - self.clusters[of.store.index()].first_node;
        let node = self.peer(of.store, at);
        let terms = self.clusters[of.store.index()].terms;
        let mut crowds = self.crowds(of.store, of.blob, network);
        let was_active = crowds.of_blob.is_active();
        let download = match change {
            MemberChange::Joins => CrowdChange::Downloads,
            MemberChange::Completes | MemberChange::Leaves => CrowdChange::EndsDownload,
        };
        crowds.of_blob.change(node, download);
        crowds.change_several(node, download);
        let is_active = crowds.of_blob.is_active();
        if was_active != is_active {
            self.ask_for(of.store, of.blob, is_active, network);
        }
        let mut crowds = self.crowds(of.store, of.blob, network);
        if change == MemberChange::Completes {
            crowds.of_blob.change(node, CrowdChange::Serves);
            if is_active {
                crowds.change_several(node, CrowdChange::Serves);
            }
        }
        crowds.update(terms, now, network);
    }

    fn timeouts(&self) -> Option<PeerTimeouts> {
        self.spec.timeouts
    }

    fn settling(&self, store: StoreId, blob: u16) -> SimDuration {
        let crowd = self.clusters[store.index()].blobs[usize::from(blob)].as_ref();
        let peers = crowd.map_or(1, Crowd::nodes).max(1);
        let hops = libm::log(f64::from(peers)) / libm::log(f64::from(self.spec.connections));
        let piece = self
            .spec
            .piece
            .time_at(self.spec.peer_out)
            .unwrap_or(SimDuration::ZERO);
        piece.mul_f64(hops)
    }
}
