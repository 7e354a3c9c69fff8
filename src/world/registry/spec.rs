//! What a registry is made of: its hosts, their limits, what a connection carries, and when it is out of order.

use crate::units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration, SimTime};
use crate::world::quantity::DurationModel;

/// The registry that serves every image: an API host, a token service, and a host that sends the blobs.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrySpec {
    /// What it can send in all.
    pub egress: BytesPerSec,
    /// What one connection can carry at most. `None`: as much as the links and TCP give.
    pub per_connection: Option<BytesPerSec>,
    /// What TCP makes of round trip and loss.
    pub tcp: TcpSpec,
    /// Manifests, and where to find blobs.
    pub api: HostSpec,
    /// Tokens for pulls.
    pub token: HostSpec,
    /// The bytes of blobs. Not asked when `redirect` is false.
    pub blobs: HostSpec,
    /// Whether the API answers a request for a blob with a redirect to the blob host; else it sends the bytes itself.
    pub redirect: bool,
    /// A bucket of the API for manifests alone, beside the one for all its requests.
    pub manifest_limit: Option<RequestLimit>,
    /// A bucket of the API for requests for blobs alone, beside the one for all its requests.
    pub blob_limit: Option<RequestLimit>,
    /// Images that may be pulled in a span of time; one more is answered with 429.
    pub pull_quota: Option<PullQuota>,
    /// The `Retry-After` of answers 429 and 503. `None`: they have none.
    pub retry_after: Option<SimDuration>,
    /// Connections that carry less of a blob which nobody has downloaded yet. `None`: they do not.
    pub cdn: Option<CdnSpec>,
    /// How egress falls when too many blobs are sent at once. `None`: it does not.
    pub overload: Option<OverloadSpec>,
    /// When it is out of order; the spans do not overlap.
    pub windows: Vec<WindowSpec>,
}

impl RegistrySpec {
    /// A registry without any limit but its egress.
    #[must_use]
    pub fn unlimited(egress: BytesPerSec, service_time: DurationModel) -> Self {
        let host = HostSpec::unlimited(service_time);
        Self {
            egress,
            per_connection: None,
            tcp: TcpSpec::OFF,
            api: host.clone(),
            token: host,
            blobs: HostSpec::unlimited(DurationModel::Constant(SimDuration::ZERO)),
            redirect: true,
            manifest_limit: None,
            blob_limit: None,
            pull_quota: None,
            retry_after: None,
            cdn: None,
            overload: None,
            windows: Vec::new(),
        }
    }
}

/// One host of a registry: a request passes its bucket, then takes a connection, then a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSpec {
    /// Token bucket in front of all its requests. `None`: no limit.
    pub request_limit: Option<RequestLimit>,
    /// What is said to a request above that limit.
    pub over_limit: OverLimit,
    /// Connections at once. `None`: no cap.
    pub connections: Option<ConnectionLimit>,
    /// Requests served at once; others wait, first come first served. `None`: no cap.
    pub workers: Option<u32>,
    /// Time to serve one request, without the round trip, the waits and the bytes.
    pub service_time: DurationModel,
}

impl HostSpec {
    /// A host that serves every request at once.
    #[must_use]
    pub const fn unlimited(service_time: DurationModel) -> Self {
        Self { request_limit: None, over_limit: OverLimit::TooMany, connections: None, workers: None, service_time }
    }
}

/// What a host says to a request above its rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OverLimit {
    /// 429.
    TooMany,
    /// 503, as S3 does ("SlowDown").
    Unavailable,
}

/// A token bucket: `burst` requests at once, refilled at `rate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestLimit {
    /// Tokens per second.
    pub rate: PerSecond,
    /// Most tokens it holds; at least 1.
    pub burst: u32,
}

/// Most connections of a host at once. One lasts from the request until the answer leaves, or until the last byte where
/// the host sends a blob.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ConnectionLimit {
    /// At least 1.
    pub max: u32,
    /// What happens to one more.
    pub excess: Excess,
}

/// What a host does with a request above its connection limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Excess {
    /// Answers 503.
    Refuse,
    /// Lets it wait, first come first served.
    Queue,
}

/// So many images in any span of this length. Counted are requests for a platform's manifest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PullQuota {
    /// At least 1.
    pub pulls: u32,
    /// The span that is looked back over.
    pub per: SimDuration,
    /// Who shares it.
    pub scope: QuotaScope,
}

/// Who shares a pull quota.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuotaScope {
    /// The whole fleet, which signs in with one account.
    Account,
    /// The nodes of a cluster, which come from one address.
    Address,
}

/// A content delivery network in front of the blobs. A blob is cold until the first download of it has completed; a
/// transfer that began before keeps its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CdnSpec {
    /// What one connection carries of a cold blob.
    pub cold: BytesPerSec,
    /// What one connection carries of any other.
    pub warm: BytesPerSec,
}

impl CdnSpec {
    /// What one connection carries.
    #[must_use]
    pub const fn rate(&self, warm: bool) -> BytesPerSec {
        if warm { self.warm } else { self.cold }
    }
}

/// A registry that sends less the more blobs it sends at once: egress · max(floor, connections / n) for n above
/// `connections`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverloadSpec {
    /// Blobs sent at once up to which nothing is lost; at least 1.
    pub connections: u32,
    /// Least share of the egress that is left.
    pub floor: Share,
}

/// What TCP makes of a path's round trip and loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TcpSpec {
    /// Most bytes in flight: the receiver's window. `None`: no bound.
    pub window: Option<Bytes>,
    /// Bytes of a segment.
    pub segment: Bytes,
    /// Segments sent in the first round trip of a transfer; they double with each until the connection's rate is reached.
    /// `None`: every transfer begins at its full rate.
    pub initial_segments: Option<u32>,
}

impl TcpSpec {
    /// Ethernet's segments, no window, no slow start.
    pub const OFF: Self = Self { window: None, segment: Bytes::new(1460), initial_segments: None };
}

/// A span in which the registry is out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSpec {
    /// When it begins.
    pub from: SimTime,
    /// When it is over.
    pub to: SimTime,
    /// What is out of order.
    pub trouble: Trouble,
}

/// What is out of order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// Nothing is answered and nothing is sent; what is under way stands still.
    Down,
    /// Less is sent, and fewer requests are answered.
    Brownout {
        /// What is left of the egress; may be nothing.
        egress: Share,
        /// What is left of the rates of all buckets; serving a request takes as much longer. Above 0.
        requests: Share,
    },
}
