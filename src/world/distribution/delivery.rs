//! Carrying out what a way of distribution decides: which way a request takes, the transfers of a blob, and when it is there.
//!
//! A blob that comes by way of a place is on its node when the node's own transfer, the *last leg*, has ended, and the
//! place's fetch of it as well if it was under way, the *first leg*; a swarm's last piece comes a little later. Every
//! byte is counted where it leaves: the registry's (`sent`, of which `upstream` go to caches and seeds), those of caches and
//! mirrors, and those of peers. So what nodes received is sent − upstream + what caches and peers sent.

use crate::flow::{LinkId, Network, TransferId};
use crate::units::{Bytes, BytesPerSec, SimDuration, SimTime};
use crate::world::World;
use crate::world::distribution::lazy::Sender;
use crate::world::distribution::spec::{CachePlace, DistributionKind};
use crate::world::distribution::{
    BlobSource, DistributionMethod, FillId, FirstLeg, Leg, MemberChange, RouteQuery, Routing, StoreId, Waiter, direct,
    mirror,
};
use crate::world::distribution::{cache, pieces, spegel};
use crate::world::event::{Event, Queue};
use crate::world::ids::{ClusterId, NodeId, PullId};
use crate::world::nodes::catalog::Catalog;
use crate::world::nodes::pull::{Fetch, Payload};
use crate::world::nodes::runtime::request::Request;
use crate::world::spec::WorldSpec;

/// A place's fetch of a blob, or of a config.
#[derive(Debug)]
pub(crate) struct Fill {
    place: StoreId,
    /// `None`: a config, which nobody waits for.
    blob: Option<u16>,
    /// Which registry it comes from.
    from: usize,
    transfer: Option<TransferId>,
    /// The pull with which it breaks off. `None`: it is for everybody.
    owner: Option<PullId>,
    /// Layers whose last leg has ended before this has.
    followers: Vec<(PullId, u16)>,
}

/// The links between registry and nodes, and the way of distribution over them.
#[derive(Debug)]
pub(crate) struct Links {
    regions: Vec<LinkId>,
    downlinks: Vec<LinkId>,
    /// By region, then by cluster: the links of caches, where there are any.
    caches: Vec<(LinkId, FirstLeg)>,
    cache_of: Vec<Option<StoreId>>,
    per: Option<CachePlace>,
}

impl Links {
    /// Lays the links of the regions, and of the caches, which come before what is behind them.
    pub(crate) fn new(spec: &WorldSpec, egress: LinkId, network: &mut Network) -> Self {
        let regions: Vec<LinkId> =
            spec.regions.iter().map(|region| network.add_link(Some(egress), region.bandwidth)).collect();
        let mut links = Self { regions, downlinks: Vec::new(), caches: Vec::new(), cache_of: Vec::new(), per: None };
        if let DistributionKind::Cache(cache) = &spec.distribution.kind {
            let regions: Vec<Option<usize>> = spec.clusters.iter().map(|cluster| cluster.region).collect();
            links.per = Some(cache.per);
            links.cache_of = cache::Caches::places(cache.per, &regions);
            let froms: Vec<FirstLeg> = match cache.per {
                CachePlace::Cluster => {
                    (0..spec.clusters.len()).map(|at| FirstLeg::Cluster(ClusterId::at(at))).collect()
                }
                CachePlace::Region => (0..spec.regions.len()).map(FirstLeg::Region).collect(),
            };
            links.caches = froms.into_iter().map(|from| (network.add_link(None, cache.egress), from)).collect();
        }
        links
    }

    /// The link of the cache of a cluster, if it stands there.
    fn cache(&self, cluster: ClusterId, at: CachePlace) -> Option<LinkId> {
        if self.per != Some(at) {
            return None;
        }
        self.cache_of[cluster.index()].map(|place| self.caches[place.index()].0)
    }

    /// Lays a cluster's downlink of this capacity, and returns it with what its nodes' links hang on.
    pub(crate) fn add_cluster(
        &mut self,
        spec: &WorldSpec,
        cluster: ClusterId,
        egress: LinkId,
        capacity: BytesPerSec,
        network: &mut Network,
    ) -> (LinkId, LinkId) {
        let written = &spec.clusters[cluster.index()];
        let uplink = written.region.map_or(egress, |region| self.regions[region]);
        // Everything that nodes get comes from their cache, where they have one; so these links are a tree of their own.
        let uplink = self.cache(cluster, CachePlace::Region).unwrap_or(uplink);
        let downlink = network.add_link(Some(uplink), capacity);
        self.downlinks.push(downlink);
        (downlink, self.cache(cluster, CachePlace::Cluster).unwrap_or(downlink))
    }

    /// The way of distribution, once all links of clusters and nodes are laid.
    pub(crate) fn distribution(
        self,
        spec: &WorldSpec,
        catalog: &Catalog,
        nodes: &[(ClusterId, LinkId)],
        network: &mut Network,
    ) -> (Vec<LinkId>, Option<Box<dyn DistributionMethod>>) {
        let Self { regions, downlinks, caches, cache_of, .. } = self;
        let mut way: Box<dyn DistributionMethod> = match &spec.distribution.kind {
            DistributionKind::Direct if spec.distribution.mirrors.is_empty() => return (regions, None),
            DistributionKind::Direct => Box::new(direct::Direct),
            DistributionKind::Cache(cache) => {
                let last = |&(cluster, link): &(ClusterId, LinkId)| match cache.per {
                    CachePlace::Cluster => vec![link],
                    CachePlace::Region => vec![downlinks[cluster.index()], link],
                };
                let last = nodes.iter().map(last).collect();
                Box::new(cache::Caches::new(cache, &caches, cache_of, last, (catalog.blobs, catalog.len())))
            }
            DistributionKind::Spegel(spegel) => {
                let out = |&(_, card): &(ClusterId, LinkId)| {
                    let capacity = network.capacity(card);
                    (card, network.add_link(None, capacity))
                };
                let links = nodes.iter().map(out).collect();
                Box::new(spegel::Spegel::new(spegel, links))
            }
            DistributionKind::Pieces(pieces) => {
                let inlet = |&(_, card): &(ClusterId, LinkId)| {
                    let capacity = pieces.peer_in.get().min(network.capacity(card).get());
                    network.add_link(None, BytesPerSec::new(capacity))
                };
                let inlets = nodes.iter().map(inlet).collect();
                Box::new(pieces::Pieces::new(pieces, spec.clusters.len(), catalog.blobs, inlets))
            }
        };
        if !spec.distribution.mirrors.is_empty() {
            let regions: Vec<Option<usize>> = spec.clusters.iter().map(|cluster| cluster.region).collect();
            let mirrors = &spec.distribution.mirrors;
            let mirrored = mirror::Mirrored::new(mirrors, &regions, downlinks.clone(), nodes.to_vec(), way, network);
            way = Box::new(mirrored);
        }
        (regions, Some(way))
    }
}

impl World<'_> {
    /// Which way a request takes. For a blob, it is remembered who sends it.
    pub(crate) fn route_request(&mut self, id: PullId, request: Request, now: SimTime) -> Routing {
        let Some(distribution) = &mut self.distribution else {
            return Routing::Upstream { detour: SimDuration::ZERO };
        };
        let pull = &mut self.pulls[id.index()];
        let cluster = self.nodes[pull.node.index()].cluster;
        let (answer, source) = distribution.ask(&RouteQuery {
            now,
            node: pull.node,
            cluster,
            pull: id,
            request,
            image: pull.image,
            catalog: &self.catalog,
            nodes: &self.nodes,
            members: self.clusters[cluster.index()].nodes.clone(),
            streams: &self.streams,
        });
        match request {
            Request::Config => pull.config_source = source,
            Request::Layer(layer) => {
                pull.sources.resize(pull.fetches.len(), BlobSource::Registry);
                pull.sources[usize::from(layer)] = source;
            }
            _ => {}
        }
        answer
    }

    /// The registry, or one that is near, has answered.
    pub(crate) fn note_response(&mut self, id: PullId, request: Request) {
        if let Some(distribution) = &mut self.distribution {
            let pull = &self.pulls[id.index()];
            let cluster = self.nodes[pull.node.index()].cluster;
            distribution.answered(cluster, pull.image, request);
        }
    }

    /// Who sends a blob.
    pub(crate) fn source(&self, id: PullId, request: Request) -> BlobSource {
        let pull = &self.pulls[id.index()];
        match request {
            Request::Config => pull.config_source,
            Request::Layer(layer) => pull.sources.get(usize::from(layer)).copied().unwrap_or(BlobSource::Registry),
            _ => BlobSource::Registry,
        }
    }

    /// The bytes of a blob begin to come from somebody else than the registry.
    pub(crate) fn start_nearby_transfer(
        &mut self,
        id: PullId,
        request: Request,
        size: Bytes,
        payload: Payload,
        queue: &mut Queue,
    ) -> TransferId {
        let pull = &self.pulls[id.index()];
        let (node, image) = (pull.node, pull.image);
        let blob = match request {
            Request::Layer(layer) => Some(self.catalog.image(image).layers[usize::from(layer)].blob),
            _ => None,
        };
        let mut source = self.source(id, request);
        if let BlobSource::Lead(place) = source {
            let whole = match request {
                Request::Layer(layer) => self.catalog.image(image).layers[usize::from(layer)].compressed,
                _ => size,
            };
            let fill = self.begin_fill(id, place, blob, whole, queue);
            source = BlobSource::Place(place, blob.map(|_| fill));
            if let Request::Layer(layer) = request {
                self.pulls[id.index()].sources[usize::from(layer)] = source;
            } else {
                self.pulls[id.index()].config_source = source;
            }
        }
        let distribution = self.distribution.as_mut().expect("only a way of distribution has other sources");
        if let (BlobSource::Place(place, _), Some(blob)) = (source, blob) {
            distribution.member(place, blob, MemberChange::Joins, queue.now(), &mut self.network);
        }
        let Leg { over, cap } = distribution.last_leg(source, node, blob.unwrap_or(0), &mut self.network);
        let transfer = self.network.start_over(queue.now(), &over, size, cap);
        self.payload.insert(transfer, (payload, size));
        self.meter.download_begins();
        self.flow_changed(queue);
        transfer
    }

    fn begin_fill(
        &mut self,
        pull: PullId,
        place: StoreId,
        blob: Option<u16>,
        size: Bytes,
        queue: &mut Queue,
    ) -> FillId {
        let distribution = self.distribution.as_mut().expect("only a way of distribution has places");
        let fill = FillId(u32::try_from(self.fills.len()).expect("fewer than 2^32 fetches"));
        let owner = (!distribution.is_shared(place)).then_some(pull);
        let waiters = blob.map_or_else(Vec::new, |blob| distribution.fill_begins(place, blob, pull, fill));
        let (from, most) = distribution.first_leg(place);
        let registry = self.registry_of(pull);
        let over = self.first_leg_links(registry, from);
        let cap = self.connection_cap(pull, blob);
        let cap = match (cap, most) {
            (Some(cap), Some(most)) => Some(BytesPerSec::new(cap.get().min(most.get()))),
            (cap, most) => cap.or(most),
        };
        let transfer = self.network.start_over(queue.now(), &over, size, cap);
        self.payload.insert(transfer, (Payload::Fill(fill), size));
        self.registries[registry].transfer_begins();
        self.fills.push(Fill { place, blob, from: registry, transfer: Some(transfer), owner, followers: Vec::new() });
        self.resend_waiting(waiters, queue);
        fill
    }

    fn first_leg_links(&self, registry: usize, leg: FirstLeg) -> Vec<LinkId> {
        match leg {
            FirstLeg::Region(region) => vec![self.egress[registry], self.regions[region]],
            FirstLeg::Cluster(cluster) => self.links_into(registry, cluster),
        }
    }

    /// Requests that waited are looked at again.
    fn resend_waiting(&mut self, waiters: Vec<Waiter>, queue: &mut Queue) {
        for (pull, request) in waiters {
            if !self.pulls[pull.index()].ended {
                self.send(pull, request, queue);
            }
        }
    }

    /// A place has all of what it fetched.
    pub(crate) fn fill_ended(&mut self, id: FillId, queue: &mut Queue) {
        let fill = &mut self.fills[id.index()];
        fill.transfer = None;
        let followers = std::mem::take(&mut fill.followers);
        let (place, Some(blob)) = (fill.place, fill.blob) else { return };
        let distribution = self.distribution.as_mut().expect("a place belongs to a way of distribution");
        let waiters = distribution.fill_ends(place, blob, id, Some(queue.now()));
        self.resend_waiting(waiters, queue);
        for (pull, layer) in followers {
            self.settle_layer(pull, layer, place, blob, queue);
        }
    }

    /// A node's own transfer of a layer has ended. Whether the layer is there: not if its source is still fetching it
    /// (of a lazy pull a small part has come, which the source had long before).
    pub(crate) fn last_leg_ended(&mut self, id: PullId, layer: u16, size: Bytes, queue: &mut Queue) -> bool {
        let BlobSource::Place(place, fill) = self.source(id, Request::Layer(layer)) else { return true };
        let pull = &mut self.pulls[id.index()];
        if pull.failing_layer == Some(usize::from(layer)) || self.spec.distribution.lazy.is_some() {
            return true;
        }
        let blob = self.catalog.image(pull.image).layers[usize::from(layer)].blob;
        pull.fetches[usize::from(layer)] = Fetch::Settling(size);
        match fill {
            Some(fill) if self.fills[fill.index()].transfer.is_some() => {
                self.fills[fill.index()].followers.push((id, layer));
            }
            _ => self.settle_layer(id, layer, place, blob, queue),
        }
        false
    }

    fn settle_layer(&mut self, id: PullId, layer: u16, place: StoreId, blob: u16, queue: &mut Queue) {
        let after = self.distribution.as_ref().map_or(SimDuration::ZERO, |way| way.settling(place, blob));
        if after.is_zero() {
            self.layer_settled(id, layer, queue);
        } else {
            queue.schedule_in(after, Event::LayerSettles { pull: id, layer });
        }
    }

    /// A layer that had come by way of a place is on its node.
    pub(crate) fn layer_settled(&mut self, id: PullId, layer: u16, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        if pull.ended {
            return;
        }
        let Fetch::Settling(size) = pull.fetches[usize::from(layer)] else {
            unreachable!("a layer settles once");
        };
        self.leave_swarm(id, layer, MemberChange::Completes, queue.now());
        self.layer_arrived(id, usize::from(layer), size, queue);
        self.flow_changed(queue);
    }

    /// A node has all of a layer, or gives it up.
    pub(crate) fn leave_swarm(&mut self, id: PullId, layer: u16, how: MemberChange, now: SimTime) {
        let BlobSource::Place(place, _) = self.source(id, Request::Layer(layer)) else { return };
        let blob = self.catalog.image(self.pulls[id.index()].image).layers[usize::from(layer)].blob;
        let distribution = self.distribution.as_mut().expect("a place belongs to a way of distribution");
        distribution.member(place, blob, how, now, &mut self.network);
    }

    /// A pull has failed: what was fetched for it alone breaks off, and who waited for what it asked for asks again.
    pub(crate) fn cancel_distribution(&mut self, id: PullId, queue: &mut Queue) {
        if self.distribution.is_none() {
            return;
        }
        let owned: Vec<usize> = (0..self.fills.len())
            .filter(|&at| self.fills[at].owner == Some(id) && self.fills[at].transfer.is_some())
            .collect();
        let mut waiters = Vec::new();
        for at in owned {
            let fill = &mut self.fills[at];
            let (place, blob) = (fill.place, fill.blob);
            let transfer = fill.transfer.take().expect("it is under way");
            self.cancel_transfer(transfer, queue.now());
            if let (Some(blob), Some(distribution)) = (blob, &mut self.distribution) {
                let id = FillId(u32::try_from(at).expect("fewer than 2^32 fetches"));
                waiters.extend(distribution.fill_ends(place, blob, id, None));
            }
        }
        let cluster = self.nodes[self.pulls[id.index()].node.index()].cluster;
        if let Some(distribution) = &mut self.distribution {
            waiters.extend(distribution.gives_up(cluster, id));
        }
        self.resend_waiting(waiters, queue);
    }

    /// The transfer that a layer waits for whose own has ended.
    pub(crate) fn awaited_fill(&self, id: PullId, layer: u16) -> Option<TransferId> {
        match self.source(id, Request::Layer(layer)) {
            BlobSource::Place(_, Some(fill)) => self.fills[fill.index()].transfer,
            _ => None,
        }
    }

    /// Counts bytes by who sent them.
    pub(crate) fn count_sent(&mut self, payload: Payload, bytes: Bytes) {
        let way = &self.spec.distribution.kind;
        let (source, from) = match payload {
            Payload::Fill(fill) => {
                self.totals.upstream += bytes;
                (BlobSource::Registry, self.fills[fill.index()].from)
            }
            Payload::Config(pull) => (self.source(pull, Request::Config), self.registry_of(pull)),
            Payload::Layer(pull, layer) => (self.source(pull, Request::Layer(layer)), self.registry_of(pull)),
            Payload::Reads(_, _, sender) | Payload::Background(_, _, sender) => {
                match (sender, way) {
                    (Sender::Registry(from), _) => self.registries[from].sent += bytes,
                    (Sender::Near, DistributionKind::Pieces(_)) => self.totals.from_peers += bytes,
                    (Sender::Near, _) => self.totals.from_caches += bytes,
                }
                return;
            }
        };
        match (source, way) {
            (BlobSource::Registry, _) => {
                let sender = self.sender(from);
                self.registries[from].transfer_ends(sender, bytes);
            }
            (BlobSource::Peer(_), _) | (BlobSource::Lead(_) | BlobSource::Place(..), DistributionKind::Pieces(_)) => {
                self.totals.from_peers += bytes;
            }
            (BlobSource::Mirror(_) | BlobSource::Lead(_) | BlobSource::Place(..), _) => {
                self.totals.from_caches += bytes
            }
        }
    }

    /// The node of a transfer that goes to one; `None` for one to a cache or a seed.
    pub(crate) fn receiver(&self, payload: Payload) -> Option<NodeId> {
        match payload {
            Payload::Config(pull) | Payload::Layer(pull, _) => Some(self.pulls[pull.index()].node),
            Payload::Reads(node, ..) | Payload::Background(node, ..) => Some(node),
            Payload::Fill(_) => None,
        }
    }

    /// The blob that a transfer carries, if it is a layer's.
    pub(crate) fn blob_of(&self, payload: Payload) -> Option<u16> {
        match payload {
            Payload::Layer(pull, layer) => {
                Some(self.catalog.image(self.pulls[pull.index()].image).layers[usize::from(layer)].blob)
            }
            Payload::Fill(fill) => self.fills[fill.index()].blob,
            Payload::Config(_) | Payload::Reads(..) | Payload::Background(..) => None,
        }
    }

    /// A transfer has completed: the registry's content delivery network holds from now on what came from there.
    pub(crate) fn note_warm(&mut self, payload: Payload) {
        let from_registry = match payload {
            Payload::Layer(pull, layer) => self.source(pull, Request::Layer(layer)) == BlobSource::Registry,
            Payload::Fill(_) => true,
            Payload::Config(_) | Payload::Reads(..) | Payload::Background(..) => false,
        };
        if let Some(blob) = self.blob_of(payload).filter(|_| from_registry) {
            self.warm[usize::from(blob)] = true;
        }
    }
}
