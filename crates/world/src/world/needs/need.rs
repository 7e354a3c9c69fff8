//! What a release needs of one resource, as it is shown.

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
}

impl fmt::Display for NeededAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Requests(requests) => counted(*requests, "request"),
            Self::Pulls(pulls) => counted(*pulls, "pull"),
        };
        f.pad(&text)
    }
}

/// What a release needs of one resource.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceNeed {
    /// The resource in words: `registry link`, `downlink of van-001 and 499 alike`.
    pub resource: String,
    /// What the release needs of it in all.
    pub amount: NeededAmount,
    /// What it gives, in words.
    pub limit: String,
    /// The time below which it cannot give the amount.
    pub least: SimDuration,
}
