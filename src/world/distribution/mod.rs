//! How images are distributed: who answers a request of a node, and who sends the bytes.
//!
//! One way of distribution is one implementation of [`DistributionMethod`]: it says where a request goes and from where a
//! blob comes, and keeps what caches and swarms hold. What that costs in requests, transfers and time is carried out
//! in one place for all (`delivery`), so that bytes are counted once.
//!
//! | file | way |
//! |---|---|
//! | `direct` | every node pulls from the registry |
//! | `mirror` | registries of a region that are asked first |
//! | `cache` | pull-through caches, per cluster or region |
//! | `spegel` | nodes that serve complete images to each other |
//! | `pieces` | swarms that pass pieces on while they fetch (Dragonfly, Kraken) |
//! | `lazy` | containers that start before their image is there |
//! | `pre_pull` | the new images are on the nodes before the release |
//!
//! `cache_store` is what a cache or the seeds of a swarm hold and fetch.

mod cache;
mod cache_store;
pub(crate) mod delivery;
mod direct;
pub(crate) mod lazy;
mod mirror;
mod pieces;
pub(crate) mod pre_pull;
pub(crate) mod setup;
pub(crate) mod spec;
mod spegel;
use crate::world::distribution::pre_pull::PrePull;
use crate::world::distribution::setup::CacheLinks;
use crate::world::event::Queue;
use crate::world::ids::FillId;
use crate::world::ids::StoreId;
use crate::world::spec::WorldSpec;
use crate::world::transfers::Transfers;
use crate::world::transfers::links::Destination;
use crate::world::transfers::links::Leg;
use crate::world::transfers::payload::BlobSource;
use crate::world::transfers::payload::Routing;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::engine::Streams;
use crate::flow::{Network, TransferId};
use crate::units::{BytesPerSec, SimDuration, SimTime};
use crate::world::ids::{ClusterId, NodeId, PullId};
use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::node::NodeState;
use crate::world::registry::request::Request;

/// A request that waits for a blob.
pub(crate) type Waiter = (PullId, Request);

/// A node's request, with what an answer may depend on.
pub(crate) struct RouteQuery<'w> {
    pub(crate) now: SimTime,
    pub(crate) node: NodeId,
    pub(crate) cluster: ClusterId,
    pub(crate) pull: PullId,
    pub(crate) request: Request,
    pub(crate) image: ImageRef,
    pub(crate) catalog: &'w Catalog,
    /// All nodes, and which of them are the cluster's.
    pub(crate) nodes: &'w [NodeState],
    pub(crate) members: std::ops::Range<usize>,
    pub(crate) streams: &'w Streams,
}

impl RouteQuery<'_> {
    /// The blob of the layer that is asked for.
    pub(crate) fn blob(&self) -> Option<u16> {
        match self.request {
            Request::Layer(layer) => Some(self.catalog.image(self.image).layers[usize::from(layer)].blob),
            _ => None,
        }
    }
}

/// A way of distribution.
pub(crate) trait DistributionMethod: fmt::Debug {
    /// Who answers a request, and who will send the blob if it asks for one.
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource);

    /// The registry has answered a request for something else than a layer.
    fn note_response(&mut self, _cluster: ClusterId, _image: ImageRef, _request: Request) {}

    /// The links from a place or a peer to a node, and what one connection over them carries. `None` for what comes
    /// by the node's own way in.
    fn last_leg(&mut self, source: BlobSource, node: NodeId, blob: u16, network: &mut Network) -> Leg;

    /// The link that a place fetches over, and what bounds one of its fetches beside a connection to the registry.
    fn first_leg(&self, store: StoreId) -> (Destination, Option<BytesPerSec>) {
        unreachable!("{store:?} fetches nothing: {self:?}")
    }

    /// A place's fetch has begun: whose requests are answered now?
    fn fill_begins(&mut self, _store: StoreId, _blob: u16, _pull: PullId, _fill: FillId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A place's fetch has ended, or was broken off: whose requests are answered, or asked again, now?
    fn fill_ends(&mut self, _store: StoreId, _blob: u16, _fill: FillId, _whole: Option<SimTime>) -> Vec<Waiter> {
        Vec::new()
    }

    /// A pull has failed: who waited for what it had asked for?
    fn cancel_pull(&mut self, _cluster: ClusterId, _pull: PullId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A node's download from a place has begun or ended; `whole` when it has the blob now.
    fn member(&mut self, _store: StoreId, _blob: u16, _change: MemberChange, _now: SimTime, _network: &mut Network) {}

    /// Whether a place's fetches are for everybody, and so do not end with the pull that made it fetch.
    fn is_shared(&self, _store: StoreId) -> bool {
        false
    }

    /// From where a node reads on demand, and what a round trip there takes. `None`: from the registry.
    fn reads(
        &mut self,
        _cluster: ClusterId,
        _node: NodeId,
        _blob: u16,
        _network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        None
    }

    /// From the last byte being there until a node that took part has it.
    fn settling(&self, _store: StoreId, _blob: u16) -> SimDuration {
        SimDuration::ZERO
    }
}

/// A change of a swarm's members.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MemberChange {
    Joins,
    Completes,
    Leaves,
}

/// A store's download of a blob or config.
#[derive(Debug)]
pub(crate) struct Fill {
    store: StoreId,
    /// `None`: a config, which no request waits for.
    blob: Option<u16>,
    transfer: Option<TransferId>,
    /// The pull with which it is cancelled. `None`: it is shared.
    owner: Option<PullId>,
    /// Layers whose last leg has completed before this.
    followers: Vec<(PullId, u16)>,
}

/// The distribution of images in one world.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) method: Box<dyn DistributionMethod>,
    /// Every download of a store so far.
    pub(crate) fills: Vec<Fill>,
    pub(crate) pre_pull: Option<PrePull>,
}

impl Default for Delivery {
    fn default() -> Self {
        Self { method: Box::new(direct::Direct), fills: Vec::new(), pre_pull: None }
    }
}

impl Delivery {
    /// The specified distribution, once all links of clusters and nodes exist.
    pub(crate) fn new(
        spec: &WorldSpec,
        caches: CacheLinks,
        catalog: &Catalog,
        transfers: &mut Transfers,
        queue: &mut Queue,
    ) -> Self {
        let pre_pull = spec.distribution.pre_pull.map(|pre_pull| PrePull::begin(pre_pull, spec.clusters.len(), queue));
        Self { method: setup::method(spec, caches, catalog, transfers), fills: Vec::new(), pre_pull }
    }
}
