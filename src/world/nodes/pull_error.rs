//! The outcome of an attempt to pull an image.

use crate::units::SimTime;
use crate::world::ids::{ClusterId, NodeId};

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullError {
    /// The kubelet's own limit of pulls per second said no.
    KubeletRate,
    /// The registry answered 429 to every try of one request.
    TooManyRequests,
    /// The transfer broke.
    Broken,
    /// It took longer than the node's deadline.
    Deadline,
    /// The registry answered 503, and again when it was asked once more.
    Unavailable,
    /// The registry did not answer any try of one request.
    Unreachable,
    /// Nothing came for as long as the runtime waits.
    NoProgress,
    /// There is no such image.
    NotFound,
    /// The node failed.
    NodeLost,
}

impl PullError {
    /// How many kinds there are.
    pub const COUNT: usize = Self::NodeLost as usize + 1;
}

/// What became of one attempt to pull an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PullFacts {
    /// In which cluster.
    pub cluster: ClusterId,
    /// On which node.
    pub node: NodeId,
    /// When the runtime began, after any wait in the kubelet's queue.
    pub began: SimTime,
    /// When it ended, well or not. `None`: it is still under way.
    pub ended: Option<SimTime>,
    /// Why it failed, if it did.
    pub error: Option<PullError>,
}
