//! The interface that every distribution method implements.

use std::fmt;

use crate::engine::Streams;
use crate::flow::{LinkId, Network};
use crate::world::distribution::cache_store::CacheStore;
use crate::world::distribution::spec::PeerTimeouts;
use crate::world::ids::{ClusterId, NodeId, PullId, StoreId};
use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::node::NodeState;
use crate::world::registry::request::{PullRequest, Request};
use crate::world::transfers::links::{Destination, Leg};
use crate::world::transfers::payload::{BlobSource, Routing};
use fleetsim_units::{BytesPerSec, SimDuration, SimTime};

/// A node's request, with everything that may affect its routing.
pub(crate) struct RouteQuery<'w> {
    pub now: SimTime,
    pub node: NodeId,
    pub cluster: ClusterId,
    pub pull: PullId,
    pub request: Request,
    pub image: ImageRef,
    pub catalog: &'w Catalog,
    /// All nodes of the world, and after them the range of the cluster's nodes.
    pub nodes: &'w [NodeState],
    pub members: std::ops::Range<usize>,
    pub streams: &'w Streams,
}

impl RouteQuery<'_> {
    pub(crate) const fn asked(&self) -> PullRequest {
        PullRequest::new(self.pull, self.request)
    }

    /// Returns the blob of a request for a layer.
    pub(crate) fn blob(&self) -> Option<u16> {
        match self.request {
            Request::Layer(layer) => {
                Some(self.catalog.image(self.image).layers[usize::from(layer)].blob)
            }
            _ => None,
        }
    }
}

/// A distribution method.
pub(crate) trait DistributionMethod: fmt::Debug {
    /// Routes a request, and determines the source of its blob.
    fn route(&mut self, query: &RouteQuery<'_>) -> (Routing, BlobSource);

    /// Called when the registry has responded to a request that is not for a layer.
    fn note_response(&mut self, _cluster: ClusterId, _image: ImageRef, _request: Request) {}

    /// Returns the links of a last leg: from a store or a peer to a node.
    fn last_leg(
        &mut self,
        source: BlobSource,
        node: NodeId,
        blob: u16,
        network: &mut Network,
    ) -> Leg;

    /// Returns the way of a store's fills.
    fn first_leg(&self, store: StoreId) -> FirstLeg {
        unreachable!("{store:?} fetches nothing: {self:?}")
    }

    /// Returns the content of a store.
    fn contents(&mut self, store: StoreId) -> &mut CacheStore {
        unreachable!("{store:?} holds nothing: {self:?}")
    }

    /// Returns the store from which the nodes of a cluster request content, if there is one.
    fn store_of(&self, _cluster: ClusterId) -> Option<StoreId> {
        None
    }

    /// Called when a node joins or leaves the swarm of a blob.
    fn member(
        &mut self,
        _of: SwarmMembership,
        _change: MemberChange,
        _now: SimTime,
        _network: &mut Network,
    ) {
    }

    /// Returns the source of on-demand reads, and the round trip to it. `None`: the registry.
    fn reads(
        &mut self,
        _cluster: ClusterId,
        _node: NodeId,
        _blob: u16,
        _network: &mut Network,
    ) -> Option<(Leg, SimDuration)> {
        None
    }

    /// Returns the time-outs that delay the nodes.
    fn timeouts(&self) -> Option<PeerTimeouts> {
        None
    }

    /// Returns the time from the last byte of a fill until a member of the swarm has the whole blob.
    fn settling(&self, _store: StoreId, _blob: u16) -> SimDuration {
        SimDuration::ZERO
    }
}

/// The way of a store's fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstLeg {
    pub to: Destination,
    /// A cap in addition to that of a connection to the registry.
    pub most: Option<BytesPerSec>,
    /// A link behind the destination that the store's fills share.
    pub last: Option<LinkId>,
}

/// A node in the swarm of a blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwarmMembership {
    pub store: StoreId,
    pub blob: u16,
    pub node: NodeId,
}

/// A change of a swarm's members.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum MemberChange {
    Joins,
    Completes,
    Leaves,
}
