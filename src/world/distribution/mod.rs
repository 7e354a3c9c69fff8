//! How images are distributed: who answers a request of a node, and who sends the bytes.
//!
//! One way of distribution is one implementation of [`Delivery`]: it says where a request goes and from where a
//! blob comes, and keeps what caches and swarms hold. What that costs in requests, transfers and time is carried out
//! in one place for all (`carry`), so that bytes are counted once.
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
//! `shelf` is what a cache or the seeds of a swarm hold and fetch.

mod cache;
mod carry;
mod direct;
mod lazy;
mod mirror;
mod pieces;
mod pre_pull;
mod shelf;
mod spec;
mod spegel;
#[cfg(test)]
mod tests;

use std::fmt;

pub(super) use carry::{Fill, Links};
pub(super) use lazy::{Reading, Sender};
pub(super) use pre_pull::PrePull;
pub use spec::*;

use super::catalog::{Catalog, ImageRef};
use super::ids::{ClusterId, NodeId, PullId};
use super::node::Node;
use super::runtime::Request;
use crate::engine::Streams;
use crate::flow::{LinkId, Network};
use crate::units::{BytesPerSec, SimDuration, SimTime};

/// A cache, or the seeds of one cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PlaceId(pub(super) u32);

impl PlaceId {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place's fetching of one blob.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FillId(pub(super) u32);

impl FillId {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who sends a blob to a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Source {
    /// The registry.
    Registry,
    /// A mirror.
    Mirror(u16),
    /// A place that does not have it yet: this node's request makes it fetch it.
    Lead(PlaceId),
    /// A place that has it, or is fetching it.
    Place(PlaceId, Option<FillId>),
    /// Another node.
    Peer(NodeId),
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reply {
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
pub(super) type Waiter = (PullId, Request);

/// A node's request, with what an answer may depend on.
pub(super) struct Ask<'w> {
    pub(super) now: SimTime,
    pub(super) node: NodeId,
    pub(super) cluster: ClusterId,
    pub(super) pull: PullId,
    pub(super) request: Request,
    pub(super) image: ImageRef,
    pub(super) catalog: &'w Catalog,
    /// All nodes, and which of them are the cluster's.
    pub(super) nodes: &'w [Node],
    pub(super) members: std::ops::Range<usize>,
    pub(super) streams: &'w Streams,
}

impl Ask<'_> {
    /// The blob of the layer that is asked for.
    pub(super) fn blob(&self) -> Option<u16> {
        match self.request {
            Request::Layer(layer) => Some(self.catalog.image(self.image).layers[usize::from(layer)].blob),
            _ => None,
        }
    }
}

/// A way of distribution.
pub(super) trait Delivery: fmt::Debug {
    /// Who answers a request, and who will send the blob if it asks for one.
    fn ask(&mut self, ask: &Ask<'_>) -> (Reply, Source);

    /// The registry has answered a request for something else than a layer.
    fn answered(&mut self, _cluster: ClusterId, _image: ImageRef, _request: Request) {}

    /// The links from a place or a peer to a node, and what one connection over them carries. `None` for what comes
    /// by the node's own way in.
    fn last_leg(&mut self, source: Source, node: NodeId, blob: u16, network: &mut Network) -> Leg;

    /// The link that a place fetches over, and what bounds one of its fetches beside a connection to the registry.
    fn first_leg(&self, place: PlaceId) -> (FirstLeg, Option<BytesPerSec>) {
        unreachable!("{place:?} fetches nothing: {self:?}")
    }

    /// A place's fetch has begun: whose requests are answered now?
    fn fill_begins(&mut self, _place: PlaceId, _blob: u16, _pull: PullId, _fill: FillId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A place's fetch has ended, or was broken off: whose requests are answered, or asked again, now?
    fn fill_ends(&mut self, _place: PlaceId, _blob: u16, _fill: FillId, _whole: Option<SimTime>) -> Vec<Waiter> {
        Vec::new()
    }

    /// A pull has failed: who waited for what it had asked for?
    fn gives_up(&mut self, _cluster: ClusterId, _pull: PullId) -> Vec<Waiter> {
        Vec::new()
    }

    /// A node's download from a place has begun or ended; `whole` when it has the blob now.
    fn member(&mut self, _at: PlaceId, _blob: u16, _change: Member, _now: SimTime, _network: &mut Network) {}

    /// Whether a place's fetches are for everybody, and so do not end with the pull that made it fetch.
    fn is_shared(&self, _place: PlaceId) -> bool {
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
    fn settling(&self, _place: PlaceId, _blob: u16) -> SimDuration {
        SimDuration::ZERO
    }
}

/// What becomes of a member of a swarm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Member {
    Joins,
    Completes,
    Leaves,
}

/// From where a place fetches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FirstLeg {
    /// Over the downlink of this cluster.
    Cluster(ClusterId),
    /// Over the link of this region.
    Region(usize),
}

/// The links that a transfer to a node runs over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leg {
    pub(super) over: Vec<LinkId>,
    pub(super) cap: Option<BytesPerSec>,
}
