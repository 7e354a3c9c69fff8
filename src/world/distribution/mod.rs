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
pub(crate) mod spec;
mod spegel;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::engine::Streams;
use crate::flow::{LinkId, Network};
use crate::units::{BytesPerSec, SimDuration, SimTime};
use crate::world::ids::{ClusterId, NodeId, PullId};
use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::node::NodeState;
use crate::world::nodes::runtime::request::Request;

/// A cache, or the seeds of one cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct StoreId(pub(crate) u32);

impl StoreId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place's fetching of one blob.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct FillId(pub(crate) u32);

impl FillId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who sends a blob to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BlobSource {
    /// The registry.
    Registry,
    /// A mirror.
    Mirror(u16),
    /// A place that does not have it yet: this node's request makes it fetch it.
    Lead(StoreId),
    /// A place that has it, or is fetching it.
    Place(StoreId, Option<FillId>),
    /// Another node.
    Peer(NodeId),
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Routing {
    /// It goes to the registry; this much is spent on others before.
    Upstream { detour: SimDuration },
    /// One that is near answers after this time.
    Near { after: SimDuration },
    /// One that is near says 429 after this time.
    Refused { after: SimDuration },
    /// It is answered when a blob has come far enough; who waits is remembered.
    Waits,
}

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
    fn ask(&mut self, ask: &RouteQuery<'_>) -> (Routing, BlobSource);

    /// The registry has answered a request for something else than a layer.
    fn answered(&mut self, _cluster: ClusterId, _image: ImageRef, _request: Request) {}

    /// The links from a place or a peer to a node, and what one connection over them carries. `None` for what comes
    /// by the node's own way in.
    fn last_leg(&mut self, source: BlobSource, node: NodeId, blob: u16, network: &mut Network) -> Leg;

    /// The link that a place fetches over, and what bounds one of its fetches beside a connection to the registry.
    fn first_leg(&self, place: StoreId) -> (FirstLeg, Option<BytesPerSec>) {
        unreachable!("{place:?} fetches nothing: {self:?}")
    }

    /// A place's fetch has begun: whose requests are answered now?
    fn fill_begins(&mut self, _place: StoreId, _blob: u16, _pull: PullId, _fill: FillId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A place's fetch has ended, or was broken off: whose requests are answered, or asked again, now?
    fn fill_ends(&mut self, _place: StoreId, _blob: u16, _fill: FillId, _whole: Option<SimTime>) -> Vec<Waiter> {
        Vec::new()
    }

    /// A pull has failed: who waited for what it had asked for?
    fn gives_up(&mut self, _cluster: ClusterId, _pull: PullId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A node's download from a place has begun or ended; `whole` when it has the blob now.
    fn member(&mut self, _at: StoreId, _blob: u16, _change: MemberChange, _now: SimTime, _network: &mut Network) {}

    /// Whether a place's fetches are for everybody, and so do not end with the pull that made it fetch.
    fn is_shared(&self, _place: StoreId) -> bool {
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
    fn settling(&self, _place: StoreId, _blob: u16) -> SimDuration {
        SimDuration::ZERO
    }
}

/// What becomes of a member of a swarm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MemberChange {
    Joins,
    Completes,
    Leaves,
}

/// From where a place fetches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FirstLeg {
    /// Over the downlink of this cluster.
    Cluster(ClusterId),
    /// Over the link of this region.
    Region(usize),
}

/// The links that a transfer to a node runs over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leg {
    pub(crate) over: Vec<LinkId>,
    pub(crate) cap: Option<BytesPerSec>,
}
