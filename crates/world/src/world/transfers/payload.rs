//! The contents of transfers, their senders, and how a request is routed to one.

use crate::world::ids::{FillId, NodeId, PullId, StoreId};
use crate::world::nodes::catalog::ImageRef;
use fleetsim_units::{Bytes, SimDuration};

/// A transfer in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub payload: Payload,
    pub bytes: Bytes,
    pub sender: Sender,
    /// The receiving node. `None`: a cache, or the seeds of a swarm.
    pub receiver: Option<NodeId>,
    /// The blob that a registry sends, which its content delivery network has cached once this transfer has completed.
    /// `None`: something else, or not from a registry.
    pub(crate) blob: Option<u16>,
}

/// The content of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    Config(PullId),
    Layer(PullId, u16),
    /// A blob or a config for a cache or a seed.
    Fill(FillId),
    /// Bytes of an image that containers read on demand.
    Reads(NodeId, ImageRef),
    /// The rest of a mounted blob of an image.
    Background(NodeId, ImageRef, u16),
    /// Data for a client outside of the fleet.
    Others,
}

impl Transfer {
    /// Returns whether the transfer is for a client outside of the fleet.
    pub(crate) const fn is_of_others(&self) -> bool {
        matches!(self.payload, Payload::Others)
    }
}

/// The sender of a transfer's bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sender {
    /// A registry, over a connection to its blob host.
    Registry(usize),
    /// A registry, to a cache or to the seeds of a swarm.
    RegistryFill(usize),
    /// A registry that serves reads on demand. These connections are not counted.
    RegistryReads(usize),
    /// A registry, to a client outside of the fleet.
    Others(usize),
    /// A mirror.
    Mirror(u16),
    /// A cache.
    Cache(StoreId),
    /// Nodes, or the seeds of a swarm.
    Peers,
}

/// The source of a node's blob.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BlobSource {
    /// The registry.
    Registry,
    /// A mirror.
    Mirror(u16),
    /// A store that does not have the blob yet: this node's request starts the fill.
    Miss(StoreId),
    /// A store that has the blob, or is filling it.
    Store(StoreId, Option<FillId>),
    /// Another node.
    Peer(NodeId),
}

/// The next host of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Routing {
    /// The registry is next, after this much time was spent on nearer hosts.
    Upstream { detour: SimDuration },
    /// A nearer host is next, and responds after this time.
    Nearby { wait: SimDuration },
    /// A nearer host is next, and responds 429 after this time.
    Refused { wait: SimDuration },
    /// The request waits for a fill, and is resent when the fill ends.
    Waits,
}

impl Routing {
    /// Returns this routing, delayed by `spent`: the time spent on hosts that did not serve the request.
    pub(crate) fn later(self, spent: SimDuration) -> Self {
        match self {
            Self::Upstream { detour } => Self::Upstream {
                detour: detour + spent,
            },
            Self::Nearby { wait } => Self::Nearby { wait: wait + spent },
            Self::Refused { wait } => Self::Refused { wait: wait + spent },
            Self::Waits => Self::Waits,
        }
    }
}
