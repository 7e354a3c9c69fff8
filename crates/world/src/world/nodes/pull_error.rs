//! The outcome of an attempt to pull an image.

use crate::world::ids::{ClusterId, NodeId, TargetId};
use fleetsim_units::{Bytes, SimTime};

/// The reason why an attempt failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullError {
    /// The attempt exceeded the kubelet's limit of pulls per second.
    KubeletRate,
    /// The registry responded 429 to every attempt of one request.
    TooManyRequests,
    /// The transfer was aborted.
    Broken,
    /// The attempt took longer than the node's deadline.
    Deadline,
    /// The registry responded 503, even to the retry.
    Unavailable,
    /// The registry did not respond to any attempt of one request.
    Unreachable,
    /// No bytes arrived within the runtime's timeout.
    NoProgress,
    /// The image does not exist.
    NotFound,
    /// The node failed.
    NodeLost,
    /// The node's disk had no space left.
    NoSpace,
}

impl PullError {
    /// The number of error kinds.
    pub const COUNT: usize = Self::NoSpace as usize + 1;
}

/// The outcome of one attempt to pull an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PullFacts {
    /// The target whose pod needs the image first.
    pub target: TargetId,
    /// The attempt's cluster.
    pub cluster: ClusterId,
    /// The attempt's node.
    pub node: NodeId,
    /// The time at which the kubelet requested the pull.
    pub asked: SimTime,
    /// The time at which the runtime began, after any wait in the kubelet's queue.
    pub began: SimTime,
    /// The time at which the attempt ended. `None`: it is in progress.
    pub ended: Option<SimTime>,
    /// The reason why the attempt failed. `None`: it has not failed.
    pub error: Option<PullError>,
    /// Bytes that the node has received for the attempt.
    pub received: Bytes,
}
