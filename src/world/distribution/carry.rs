//! Carrying out what a way of distribution decides: which way a request takes, the transfers of a blob, and when it is there.
//!
//! A blob that comes by way of a place is on its node when the node's own transfer, the *last leg*, has ended, and the
//! place's fetch of it as well if it was under way, the *first leg*; a swarm's last piece comes a little later. Every
//! byte is counted where it leaves: the registry's (`sent`, of which `upstream` go to caches and seeds), those of caches and
//! mirrors, and those of peers. So what nodes received is sent − upstream + what caches and peers sent.

use super::{
    Ask, CachePlace, Delivery, FillId, FirstLeg, Leg, Member, PlaceId, Reply, Sender, Source, Waiter, Way, cache,
    direct, mirror, pieces, spegel,
};
use crate::flow::{LinkId, Network, TransferId};
use crate::units::{Bytes, BytesPerSec, SimDuration, SimTime};
use crate::world::catalog::Catalog;
use crate::world::ids::{ClusterId, NodeId, PullId};
use crate::world::pull::{Cargo, Fetch};
use crate::world::runtime::Request;
use crate::world::spec::WorldSpec;
use crate::world::{Event, Queue, World};

/// A place's fetch of a blob, or of a config.
#[derive(Debug)]
pub(in crate::world) struct Fill {
    place: PlaceId,
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
pub(in crate::world) struct Links {
    regions: Vec<LinkId>,
    downlinks: Vec<LinkId>,
    /// By region, then by cluster: the links of caches, where there are any.
    caches: Vec<(LinkId, FirstLeg)>,
    cache_of: Vec<Option<PlaceId>>,
    per: Option<CachePlace>,
}

impl Links {
    /// Lays the links of the regions, and of the caches, which come before what is behind them.
    pub(in crate::world) fn new(spec: &WorldSpec, egress: LinkId, network: &mut Network) -> Self {
        let regions: Vec<LinkId> =
            spec.regions.iter().map(|region| network.add_link(Some(egress), region.bandwidth)).collect();
        let mut links = Self { regions, downlinks: Vec::new(), caches: Vec::new(), cache_of: Vec::new(), per: None };
        if let Way::Cache(cache) = &spec.distribution.way {
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
    pub(in crate::world) fn add_cluster(
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
    pub(in crate::world) fn distribution(
        self,
        spec: &WorldSpec,
        catalog: &Catalog,
        nodes: &[(ClusterId, LinkId)],
        network: &mut Network,
    ) -> (Vec<LinkId>, Option<Box<dyn Delivery>>) {
        let Self { regions, downlinks, caches, cache_of, .. } = self;
        let mut way: Box<dyn Delivery> = match &spec.distribution.way {
            Way::Direct if spec.distribution.mirrors.is_empty() => return (regions, None),
            Way::Direct => Box::new(direct::Direct),
            Way::Cache(cache) => {
                let last = |&(cluster, link): &(ClusterId, LinkId)| match cache.per {
                    CachePlace::Cluster => vec![link],
                    CachePlace::Region => vec![downlinks[cluster.index()], link],
                };
                let last = nodes.iter().map(last).collect();
                Box::new(cache::Caches::new(cache, &caches, cache_of, last, (catalog.blobs, catalog.len())))
            }
            Way::Spegel(spegel) => {
                let out = |&(_, card): &(ClusterId, LinkId)| {
                    let capacity = network.capacity(card);
                    (card, network.add_link(None, capacity))
                };
                let links = nodes.iter().map(out).collect();
                Box::new(spegel::Spegel::new(spegel, links))
            }
            Way::Pieces(pieces) => {
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
    pub(in crate::world) fn way_of(&mut self, id: PullId, request: Request, now: SimTime) -> Reply {
        let Some(distribution) = &mut self.distribution else {
            return Reply::Upstream { detour: SimDuration::ZERO };
        };
        let pull = &mut self.pulls[id.index()];
        let cluster = self.nodes[pull.node.index()].cluster;
        let (answer, source) = distribution.ask(&Ask {
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
                pull.sources.resize(pull.fetches.len(), Source::Registry);
                pull.sources[usize::from(layer)] = source;
            }
            _ => {}
        }
        answer
    }

    /// The registry, or one that is near, has answered.
    pub(in crate::world) fn note_answered(&mut self, id: PullId, request: Request) {
        if let Some(distribution) = &mut self.distribution {
            let pull = &self.pulls[id.index()];
            let cluster = self.nodes[pull.node.index()].cluster;
            distribution.answered(cluster, pull.image, request);
        }
    }

    /// Who sends a blob.
    pub(in crate::world) fn source(&self, id: PullId, request: Request) -> Source {
        let pull = &self.pulls[id.index()];
        match request {
            Request::Config => pull.config_source,
            Request::Layer(layer) => pull.sources.get(usize::from(layer)).copied().unwrap_or(Source::Registry),
            _ => Source::Registry,
        }
    }

    /// The bytes of a blob begin to come from somebody else than the registry.
    pub(in crate::world) fn start_from_near(
        &mut self,
        id: PullId,
        request: Request,
        size: Bytes,
        cargo: Cargo,
        queue: &mut Queue,
    ) -> TransferId {
        let pull = &self.pulls[id.index()];
        let (node, image) = (pull.node, pull.image);
        let blob = match request {
            Request::Layer(layer) => Some(self.catalog.image(image).layers[usize::from(layer)].blob),
            _ => None,
        };
        let mut source = self.source(id, request);
        if let Source::Lead(place) = source {
            let whole = match request {
                Request::Layer(layer) => self.catalog.image(image).layers[usize::from(layer)].compressed,
                _ => size,
            };
            let fill = self.begin_fill(id, place, blob, whole, queue);
            source = Source::Place(place, blob.map(|_| fill));
            if let Request::Layer(layer) = request {
                self.pulls[id.index()].sources[usize::from(layer)] = source;
            } else {
                self.pulls[id.index()].config_source = source;
            }
        }
        let distribution = self.distribution.as_mut().expect("only a way of distribution has other sources");
        if let (Source::Place(place, _), Some(blob)) = (source, blob) {
            distribution.member(place, blob, Member::Joins, queue.now(), &mut self.network);
        }
        let Leg { over, cap } = distribution.last_leg(source, node, blob.unwrap_or(0), &mut self.network);
        let transfer = self.network.start_over(queue.now(), &over, size, cap);
        self.cargo.insert(transfer, (cargo, size));
        self.meter.download_begins();
        self.flow_changed(queue);
        transfer
    }

    fn begin_fill(
        &mut self,
        pull: PullId,
        place: PlaceId,
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
        self.cargo.insert(transfer, (Cargo::Fill(fill), size));
        self.registries[registry].transfer_begins();
        self.fills.push(Fill { place, blob, from: registry, transfer: Some(transfer), owner, followers: Vec::new() });
        self.ask_again(waiters, queue);
        fill
    }

    fn first_leg_links(&self, registry: usize, leg: FirstLeg) -> Vec<LinkId> {
        match leg {
            FirstLeg::Region(region) => vec![self.egress[registry], self.regions[region]],
            FirstLeg::Cluster(cluster) => self.links_into(registry, cluster),
        }
    }

    /// Requests that waited are looked at again.
    fn ask_again(&mut self, waiters: Vec<Waiter>, queue: &mut Queue) {
        for (pull, request) in waiters {
            if !self.pulls[pull.index()].ended {
                self.send(pull, request, queue);
            }
        }
    }

    /// A place has all of what it fetched.
    pub(in crate::world) fn fill_ended(&mut self, id: FillId, queue: &mut Queue) {
        let fill = &mut self.fills[id.index()];
        fill.transfer = None;
        let followers = std::mem::take(&mut fill.followers);
        let (place, Some(blob)) = (fill.place, fill.blob) else { return };
        let distribution = self.distribution.as_mut().expect("a place belongs to a way of distribution");
        let waiters = distribution.fill_ends(place, blob, id, Some(queue.now()));
        self.ask_again(waiters, queue);
        for (pull, layer) in followers {
            self.come_over(pull, layer, place, blob, queue);
        }
    }

    /// A node's own transfer of a layer has ended. Whether the layer is there: not if its source is still fetching it
    /// (of a lazy pull a small part has come, which the source had long before).
    pub(in crate::world) fn last_leg_ended(&mut self, id: PullId, layer: u16, size: Bytes, queue: &mut Queue) -> bool {
        let Source::Place(place, fill) = self.source(id, Request::Layer(layer)) else { return true };
        let pull = &mut self.pulls[id.index()];
        if pull.doomed_layer == Some(usize::from(layer)) || self.spec.distribution.lazy.is_some() {
            return true;
        }
        let blob = self.catalog.image(pull.image).layers[usize::from(layer)].blob;
        pull.fetches[usize::from(layer)] = Fetch::Settling(size);
        match fill {
            Some(fill) if self.fills[fill.index()].transfer.is_some() => {
                self.fills[fill.index()].followers.push((id, layer));
            }
            _ => self.come_over(id, layer, place, blob, queue),
        }
        false
    }

    fn come_over(&mut self, id: PullId, layer: u16, place: PlaceId, blob: u16, queue: &mut Queue) {
        let after = self.distribution.as_ref().map_or(SimDuration::ZERO, |way| way.settling(place, blob));
        if after.is_zero() {
            self.settled(id, layer, queue);
        } else {
            queue.schedule_in(after, Event::LayerSettles { pull: id, layer });
        }
    }

    /// A layer that had come by way of a place is on its node.
    pub(in crate::world) fn settled(&mut self, id: PullId, layer: u16, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        if pull.ended {
            return;
        }
        let Fetch::Settling(size) = pull.fetches[usize::from(layer)] else {
            unreachable!("a layer settles once");
        };
        self.leave_swarm(id, layer, Member::Completes, queue.now());
        self.layer_arrived(id, usize::from(layer), size, queue);
        self.flow_changed(queue);
    }

    /// A node has all of a layer, or gives it up.
    pub(in crate::world) fn leave_swarm(&mut self, id: PullId, layer: u16, how: Member, now: SimTime) {
        let Source::Place(place, _) = self.source(id, Request::Layer(layer)) else { return };
        let blob = self.catalog.image(self.pulls[id.index()].image).layers[usize::from(layer)].blob;
        let distribution = self.distribution.as_mut().expect("a place belongs to a way of distribution");
        distribution.member(place, blob, how, now, &mut self.network);
    }

    /// A pull has failed: what was fetched for it alone breaks off, and who waited for what it asked for asks again.
    pub(in crate::world) fn distribution_gives_up(&mut self, id: PullId, queue: &mut Queue) {
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
        self.ask_again(waiters, queue);
    }

    /// The transfer that a layer waits for whose own has ended.
    pub(in crate::world) fn awaited(&self, id: PullId, layer: u16) -> Option<TransferId> {
        match self.source(id, Request::Layer(layer)) {
            Source::Place(_, Some(fill)) => self.fills[fill.index()].transfer,
            _ => None,
        }
    }

    /// Counts bytes by who sent them.
    pub(in crate::world) fn count_sent(&mut self, cargo: Cargo, bytes: Bytes) {
        let way = &self.spec.distribution.way;
        let (source, from) = match cargo {
            Cargo::Fill(fill) => {
                self.totals.upstream += bytes;
                (Source::Registry, self.fills[fill.index()].from)
            }
            Cargo::Config(pull) => (self.source(pull, Request::Config), self.registry_of(pull)),
            Cargo::Layer(pull, layer) => (self.source(pull, Request::Layer(layer)), self.registry_of(pull)),
            Cargo::Reads(_, _, sender) | Cargo::Background(_, _, sender) => {
                match (sender, way) {
                    (Sender::Registry(from), _) => self.registries[from].sent += bytes,
                    (Sender::Near, Way::Pieces(_)) => self.totals.from_peers += bytes,
                    (Sender::Near, _) => self.totals.from_caches += bytes,
                }
                return;
            }
        };
        match (source, way) {
            (Source::Registry, _) => {
                let sender = self.sender(from);
                self.registries[from].transfer_ends(sender, bytes);
            }
            (Source::Peer(_), _) | (Source::Lead(_) | Source::Place(..), Way::Pieces(_)) => {
                self.totals.from_peers += bytes;
            }
            (Source::Mirror(_) | Source::Lead(_) | Source::Place(..), _) => self.totals.from_caches += bytes,
        }
    }

    /// The node of a transfer that goes to one; `None` for one to a cache or a seed.
    pub(in crate::world) fn receiver(&self, cargo: Cargo) -> Option<NodeId> {
        match cargo {
            Cargo::Config(pull) | Cargo::Layer(pull, _) => Some(self.pulls[pull.index()].node),
            Cargo::Reads(node, ..) | Cargo::Background(node, ..) => Some(node),
            Cargo::Fill(_) => None,
        }
    }

    /// The blob that a transfer carries, if it is a layer's.
    pub(in crate::world) fn blob_of(&self, cargo: Cargo) -> Option<u16> {
        match cargo {
            Cargo::Layer(pull, layer) => {
                Some(self.catalog.image(self.pulls[pull.index()].image).layers[usize::from(layer)].blob)
            }
            Cargo::Fill(fill) => self.fills[fill.index()].blob,
            Cargo::Config(_) | Cargo::Reads(..) | Cargo::Background(..) => None,
        }
    }

    /// A transfer has completed: the registry's content delivery network holds from now on what came from there.
    pub(in crate::world) fn note_warm(&mut self, cargo: Cargo) {
        let from_registry = match cargo {
            Cargo::Layer(pull, layer) => self.source(pull, Request::Layer(layer)) == Source::Registry,
            Cargo::Fill(_) => true,
            Cargo::Config(_) | Cargo::Reads(..) | Cargo::Background(..) => false,
        };
        if let Some(blob) = self.blob_of(cargo).filter(|_| from_registry) {
            self.warm[usize::from(blob)] = true;
        }
    }
}
