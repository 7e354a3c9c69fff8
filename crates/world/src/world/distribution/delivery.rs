//! Carries out the decisions of a distribution method: routes requests, transfers blobs and completes layers.
//!
//! A blob from a store is complete on its node when the node's own transfer, the *last leg*, and the store's fill, the
//! *first leg*, have completed. In a swarm, the last piece arrives a little later.

use crate::engine::{EntityKey, Streams, dist};
use crate::flow::TransferId;
use crate::world::World;
use crate::world::clusters::cluster::ClusterState;
use crate::world::distribution::method::{MemberChange, RouteQuery, SwarmMembership};
use crate::world::distribution::spec::DistributionKind;
use crate::world::distribution::{Delivery, Fill};
use crate::world::event::{DistributionEvent, Event, PullEvent, Queue};
use crate::world::ids::{FillId, NodeId, PullId, StoreId};
use crate::world::nodes::catalog::ImageRef;
use crate::world::nodes::pull_progress::{Fetch, PullLayer};
use crate::world::registry::client::Client;
use crate::world::registry::request::{PullRequest, Request};
use crate::world::transfers::links::{Destination, Leg};
use crate::world::transfers::payload::{BlobSource, Payload, Routing, Sender, Transfer};
use fleetsim_units::{Bytes, BytesPerSec, SimDuration, SimTime};

impl World<'_> {
    /// Returns the client as which a node's requests reach a registry: itself, or a cache that asks for it. The seeds
    /// of a swarm fetch layers only.
    pub(crate) fn client_of(&self, node: NodeId) -> Client {
        let cluster = self.nodes[node.index()].cluster;
        let cache = match self.spec.distribution.kind {
            DistributionKind::Cache(_) | DistributionKind::Cells(_) => {
                self.delivery.method.store_of(cluster)
            }
            DistributionKind::Direct
            | DistributionKind::Spegel(_)
            | DistributionKind::Pieces(_) => None,
        };
        Client {
            cluster,
            node,
            cache,
        }
    }

    pub(crate) fn handle_distribution(&mut self, event: DistributionEvent, queue: &mut Queue) {
        match event {
            DistributionEvent::ReadsBegin { node, image } => {
                self.reads_begin(node, ImageRef(image), queue);
            }
            DistributionEvent::PrePullGroup => self.pre_pull_group(queue),
            DistributionEvent::Released => {}
        }
    }

    /// Routes a request. For a blob, the pull records the sender.
    pub(crate) fn route_request(&mut self, id: PullId, request: Request, now: SimTime) -> Routing {
        let pull = &mut self.pulls[id.index()];
        let cluster = self.nodes[pull.node.index()].cluster;
        let query = RouteQuery {
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
        };
        let (routing, source) = self.delivery.mirrors.route(&query).unwrap_or_else(|spent| {
            let (routing, source) = self.delivery.method.route(&query);
            (routing.later(spent), source)
        });
        pull.set_source(request, source);
        routing
    }

    /// Handles the response of the registry or of a nearer host.
    pub(crate) fn note_response(&mut self, id: PullId, request: Request) {
        let pull = &self.pulls[id.index()];
        let cluster = self.nodes[pull.node.index()].cluster;
        self.delivery
            .method
            .note_response(cluster, pull.image, request);
    }

    /// Starts the transfer of a blob from a sender other than the registry.
    pub(crate) fn start_nearby_transfer(
        &mut self,
        id: PullId,
        request: Request,
        size: Bytes,
        payload: Payload,
        queue: &mut Queue,
    ) -> TransferId {
        let now = queue.now();
        let pull = &self.pulls[id.index()];
        let node = pull.node;
        let mut source = pull.source(request);
        let layer = match request {
            Request::Layer(layer) => {
                Some(self.catalog.image(pull.image).layers[usize::from(layer)])
            }
            _ => None,
        };
        let blob = layer.map(|layer| layer.blob);
        if let BlobSource::Miss(store) = source {
            let whole = layer.map_or(size, |layer| layer.compressed);
            let fill = self.begin_fill(id, store, blob, whole, queue);
            source = BlobSource::Store(store, blob.map(|_| fill));
            self.pulls[id.index()].set_source(request, source);
        }
        let network = &mut self.transfers.network;
        if let BlobSource::Store(store, _) = source
            && let Some(blob) = blob
        {
            let of = SwarmMembership { store, blob, node };
            self.delivery
                .method
                .member(of, MemberChange::Joins, now, network);
        }
        let leg = match source {
            BlobSource::Mirror(at) => self.delivery.mirrors.leg(at, node, &self.transfers.links),
            _ => self
                .delivery
                .method
                .last_leg(source, node, blob.unwrap_or(0), network),
        };
        let sender = match source {
            BlobSource::Peer(_) => Sender::Peers,
            BlobSource::Mirror(at) => Sender::Mirror(at),
            BlobSource::Store(store, _) => self.spec.distribution.kind.sender_of(Some(store)),
            BlobSource::Registry | BlobSource::Miss(_) => {
                unreachable!("{source:?} is no sender near the node")
            }
        };
        self.link_loads.note_change(sender);
        let transfer = Transfer {
            payload,
            bytes: size,
            sender,
            receiver: Some(node),
            blob: None,
        };
        let transfer = self.transfers.start_over(now, &leg, transfer);
        self.note_download_begins(node);
        self.rates_changed(queue);
        transfer
    }

    fn begin_fill(
        &mut self,
        pull: PullId,
        store: StoreId,
        blob: Option<u16>,
        size: Bytes,
        queue: &mut Queue,
    ) -> FillId {
        let owner = (!self.delivery.method.contents(store).is_shared()).then_some(pull);
        let fill = self.start_fill(pull, Fill::new(store, blob, owner), size, queue);
        if let Some(blob) = blob {
            let contents = self.delivery.method.contents(store);
            let waiters = contents.fill_begins(blob, pull, fill);
            if contents.lacks_own_copy(blob) {
                let registry = self.registry_of(pull);
                self.registries[registry].unasked_transfer_begins();
                let copy = self.start_fill(pull, Fill::new(store, Some(blob), None), size, queue);
                self.delivery
                    .method
                    .contents(store)
                    .own_copy_begins(blob, copy);
            }
            self.resend_waiting(waiters, queue);
        }
        fill
    }

    /// Starts the transfer of a fill that a pull has caused.
    fn start_fill(&mut self, pull: PullId, fill: Fill, size: Bytes, queue: &Queue) -> FillId {
        let id = FillId::at(self.delivery.fills.len());
        let blob = fill.blob;
        let way = self.delivery.method.first_leg(fill.store);
        let registry = self.registry_of(pull);
        let cap = match (self.connection_cap(pull, blob), way.most) {
            (Some(cap), Some(most)) => Some(BytesPerSec::new(cap.get().min(most.get()))),
            (cap, most) => cap.or(most),
        };
        let node = self.pulls[pull.index()].node;
        let key = self.nodes[node.index()].key;
        let tcp = &self.registries[registry].spec.tcp;
        let connection = self.transfers.connect(node, key, cap, tcp, &self.streams);
        let mut links = self.transfers.links.path(registry, blob, way.to);
        links.extend(way.last);
        let leg = Leg { links, connection };
        let transfer = Transfer {
            payload: Payload::Fill(id),
            bytes: size,
            sender: Sender::RegistryFill(registry),
            receiver: None,
            blob,
        };
        let begun = self.transfers.start_over(queue.now(), &leg, transfer);
        self.registries[registry].transfer_begins();
        self.meter.registry_downloads.rise();
        self.delivery.fills.push(Fill {
            transfer: Some(begun),
            ..fill
        });
        self.limits_begin(&transfer, queue.now());
        id
    }

    /// Resends requests that waited for a fill.
    fn resend_waiting(&mut self, waiters: Vec<PullRequest>, queue: &mut Queue) {
        for PullRequest { pull, request } in waiters {
            if !self.pulls[pull.index()].ended {
                self.send(pull, request, queue);
            }
        }
    }

    /// Called when a store has all bytes of a fill.
    pub(crate) fn fill_ended(&mut self, id: FillId, queue: &mut Queue) {
        let fill = &mut self.delivery.fills[id.index()];
        fill.transfer = None;
        let followers = std::mem::take(&mut fill.followers);
        let store = fill.store;
        let Some(blob) = fill.blob else {
            return;
        };
        let waiters = self
            .delivery
            .method
            .contents(store)
            .fill_ends(blob, id, Some(queue.now()));
        self.resend_waiting(waiters, queue);
        for follower in followers {
            self.settle_layer(follower, store, blob, queue);
        }
    }

    /// Called when a node's own transfer of a layer has completed. Returns whether the layer is complete. It is not
    /// while its store is still filling, except in a lazy pull, which needs only a small part that the store has
    /// already received.
    pub(crate) fn last_leg_ended(
        &mut self,
        id: PullId,
        layer: u16,
        size: Bytes,
        queue: &mut Queue,
    ) -> bool {
        let pull = &mut self.pulls[id.index()];
        let image = self.catalog.image(pull.image);
        let BlobSource::Store(store, fill) = pull.source(Request::Layer(layer)) else {
            return true;
        };
        if pull.failing_layer == Some(usize::from(layer)) || image.is_lazy {
            return true;
        }
        let blob = image.layers[usize::from(layer)].blob;
        pull.fetches[usize::from(layer)] = Fetch::Settling(size);
        let follower = PullLayer::new(id, layer);
        match fill.map(|fill| &mut self.delivery.fills[fill.index()]) {
            Some(fill) if fill.transfer.is_some() => fill.followers.push(follower),
            _ => self.settle_layer(follower, store, blob, queue),
        }
        false
    }

    /// Called when the store has all of a layer whose last leg has completed.
    fn settle_layer(&mut self, of: PullLayer, store: StoreId, blob: u16, queue: &mut Queue) {
        let PullLayer { pull: id, layer } = of;
        let node = self.nodes[self.pulls[id.index()].node.index()].key;
        let after = self.delivery.settling(store, blob, &self.streams, node);
        if after.is_zero() {
            self.layer_settled(id, layer, queue);
        } else {
            queue.schedule_in(after, Event::Pull(id, PullEvent::LayerSettles(layer)));
        }
    }

    /// Called when a layer from a store is complete on its node.
    pub(crate) fn layer_settled(&mut self, id: PullId, layer: u16, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        if pull.ended {
            return;
        }
        let Fetch::Settling(size) = pull.fetches[usize::from(layer)] else {
            unreachable!("a layer settles once");
        };
        self.change_member(id, layer, MemberChange::Completes, queue.now());
        self.layer_arrived(id, usize::from(layer), size, queue);
        self.rates_changed(queue);
    }

    /// Adds the node of a pull to the swarm of a layer, or removes it.
    pub(crate) fn change_member(
        &mut self,
        id: PullId,
        layer: u16,
        change: MemberChange,
        now: SimTime,
    ) {
        let pull = &self.pulls[id.index()];
        let BlobSource::Store(store, _) = pull.source(Request::Layer(layer)) else {
            return;
        };
        let blob = self.catalog.image(pull.image).layers[usize::from(layer)].blob;
        let of = SwarmMembership {
            store,
            blob,
            node: pull.node,
        };
        self.delivery
            .method
            .member(of, change, now, &mut self.transfers.network);
    }

    /// Handles a failed pull: the pull's own fills are cancelled, and requests that waited for these fills are resent.
    pub(crate) fn cancel_distribution(&mut self, id: PullId, queue: &mut Queue) {
        let mut waiters = Vec::new();
        for at in 0..self.delivery.fills.len() {
            let fill = &mut self.delivery.fills[at];
            let Some(transfer) = fill.transfer.take_if(|_| fill.owner == Some(id)) else {
                continue;
            };
            let store = fill.store;
            let blob = fill.blob;
            self.cancel_transfer(transfer, queue.now());
            if let Some(blob) = blob {
                let contents = self.delivery.method.contents(store);
                waiters.extend(contents.fill_ends(blob, FillId::at(at), None));
            }
        }
        let cluster = self.nodes[self.pulls[id.index()].node.index()].cluster;
        if let Some(store) = self.delivery.method.store_of(cluster) {
            waiters.extend(self.delivery.method.contents(store).cancel_pull(id));
        }
        self.resend_waiting(waiters, queue);
    }
}

impl DistributionKind {
    /// The sender of bytes that come from a cache, or from a swarm, which has no store.
    pub(super) fn sender_of(&self, store: Option<StoreId>) -> Sender {
        match (self, store) {
            (Self::Pieces(_), _) | (_, None) => Sender::Peers,
            (_, Some(store)) => Sender::Cache(store),
        }
    }
}

impl Delivery {
    /// Returns the time from the end of a blob's last leg and fill until the node has the whole blob.
    fn settling(
        &self,
        store: StoreId,
        blob: u16,
        streams: &Streams,
        node: EntityKey,
    ) -> SimDuration {
        let mut after = self.method.settling(store, blob);
        if let Some(timeouts) = self.method.timeouts() {
            let mut rng = streams.stream_nth(node, "peer time-outs", u64::from(blob));
            while dist::bernoulli(&mut rng, timeouts.share.get()) {
                after += timeouts.after;
            }
        }
        after
    }

    /// Returns true if a fill waits for the repair of a cluster's link.
    pub(crate) fn has_fill_behind_a_repair(&self, clusters: &[ClusterState]) -> bool {
        let mut fills = self.fills.iter().filter(|fill| fill.transfer.is_some());
        fills.any(|fill| match self.method.first_leg(fill.store).to {
            Destination::Cluster(cluster) => clusters[cluster.index()].repairs_due > 0,
            Destination::Region(_) | Destination::Node(_) => false,
        })
    }

    /// Returns the fill for which a layer from this source waits after its own transfer has completed.
    pub(crate) fn awaited_fill(&self, source: BlobSource) -> Option<TransferId> {
        match source {
            BlobSource::Store(_, Some(fill)) => self.fills[fill.index()].transfer,
            _ => None,
        }
    }
}
