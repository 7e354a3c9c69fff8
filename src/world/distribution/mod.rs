//! The distribution of images: who answers a node's request, and who sends the bytes.
//!
//! Each method of distribution implements [`DistributionMethod`]: it routes requests, chooses the sender of a blob,
//! and keeps the content of caches and swarms. Requests, transfers and their times are the same for all methods
//! (`delivery`), so that bytes are counted in one place.
//!
//! | file | models |
//! |---|---|
//! | `direct` | every node pulls from the registry |
//! | `mirror` | registries of a region that are asked first |
//! | `cache`, `cache_store` | pull-through caches, per cluster or region, and their content |
//! | `spegel` | nodes that serve complete images to each other |
//! | `pieces` | swarms that pass on pieces while they download (Dragonfly, Kraken) |
//! | `lazy` | containers that start before their image is complete |
//! | `pre_pull` | images that are pulled before the release |
//! | `delivery`, `setup` | requests and transfers of all methods; their links |
//! | `spec` | the settings |

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

/// A request that waits for a fill.
pub(crate) type Waiter = (PullId, Request);

/// A node's request, with everything that its routing may depend on.
pub(crate) struct RouteQuery<'w> {
    pub(crate) now: SimTime,
    pub(crate) node: NodeId,
    pub(crate) cluster: ClusterId,
    pub(crate) pull: PullId,
    pub(crate) request: Request,
    pub(crate) image: ImageRef,
    pub(crate) catalog: &'w Catalog,
    /// All nodes, and the range of the cluster's.
    pub(crate) nodes: &'w [NodeState],
    pub(crate) members: std::ops::Range<usize>,
    pub(crate) streams: &'w Streams,
}

impl RouteQuery<'_> {
    /// The blob of a request for a layer.
    pub(crate) fn blob(&self) -> Option<u16> {
        match self.request {
            Request::Layer(layer) => Some(self.catalog.image(self.image).layers[usize::from(layer)].blob),
            _ => None,
        }
    }
}

/// A method of distribution.
pub(crate) trait DistributionMethod: fmt::Debug {
    /// Routes a request, and chooses the source of a blob.
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource);

    /// The registry has responded to a request that is not for a layer.
    fn note_response(&mut self, _cluster: ClusterId, _image: ImageRef, _request: Request) {}

    /// The links from a store or a peer to a node.
    fn last_leg(&mut self, source: BlobSource, node: NodeId, blob: u16, network: &mut Network) -> Leg;

    /// The destination of a store's fills, and their cap beside that of a connection to the registry.
    fn first_leg(&self, store: StoreId) -> (Destination, Option<BytesPerSec>) {
        unreachable!("{store:?} fetches nothing: {self:?}")
    }

    /// A fill has begun. Returns the requests that may proceed.
    fn fill_begins(&mut self, _store: StoreId, _blob: u16, _pull: PullId, _fill: FillId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A fill has ended, with the whole blob or cancelled. Returns the requests to send again.
    fn fill_ends(&mut self, _store: StoreId, _blob: u16, _fill: FillId, _whole: Option<SimTime>) -> Vec<Waiter> {
        Vec::new()
    }

    /// A pull has failed. Returns the requests that waited for its fills.
    fn cancel_pull(&mut self, _cluster: ClusterId, _pull: PullId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A node joins or leaves the swarm of a blob.
    fn member(&mut self, _store: StoreId, _blob: u16, _change: MemberChange, _now: SimTime, _network: &mut Network) {}

    /// Whether a store's fills are shared and do not end with the pull that started them.
    fn is_shared(&self, _store: StoreId) -> bool {
        false
    }

    /// The source of on-demand reads, and its round trip. `None`: the registry.
    fn reads(
        &mut self,
        _cluster: ClusterId,
        _node: NodeId,
        _blob: u16,
        _network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        None
    }

    /// The time from the last byte of a fill until a member of the swarm is complete.
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
