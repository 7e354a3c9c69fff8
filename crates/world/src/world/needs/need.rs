//! The displayed need of a release for one resource.

use std::fmt;

use fleetsim_units::{Bytes, SimDuration, counted};

/// An amount that a release needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NeededAmount {
    /// Bytes over a link, or onto a disk.
    Bytes(Bytes),
    /// Requests to a host.
    Requests(u64),
    /// Images that a quota counts.
    Pulls(u64),
    /// Nodes that join a cluster.
    Nodes(u64),
    /// Bytes that a disk holds at the same time.
    Space(Bytes),
}

impl fmt::Display for NeededAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Bytes(bytes) | Self::Space(bytes) => bytes.to_string(),
            Self::Requests(requests) => counted(*requests, "request"),
            Self::Pulls(pulls) => counted(*pulls, "pull"),
            Self::Nodes(nodes) => counted(*nodes, "node"),
        };
        f.pad(&text)
    }
}

/// The need of a release for one resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceNeed {
    /// The resource in words: `registry link`, `downlink of van-001 and 499 alike`.
    pub resource: String,
    /// The total amount that the release needs.
    pub amount: NeededAmount,
    /// The resource's limit, in words.
    pub limit: String,
    /// The minimum time in which the resource can provide the amount.
    pub least: SimDuration,
}
