//! The registry: an API host, a token service and a blob host, with what limits each of them.
//!
//! | file | models |
//! |---|---|
//! | `host` | one host: token bucket, connections, workers |
//! | `quota` | images that may be pulled in a span of time |
//! | `windows` | windows in which it is down or slow, and egress that falls under load |
//! | `spec`, `presets` | the parameters, and those that are published of known registries |
//!
//! Left out: the cost of the answers' own bytes, other clients, and limits that a registry changes while it is used.

pub(crate) mod host;
pub(crate) mod presets;
mod quota;
pub(crate) mod spec;
#[cfg(test)]
mod tests;
mod windows;

use crate::units::{Bytes, SimTime};
use crate::world::ids::ClusterId;
use crate::world::nodes::runtime::request::Request;
use crate::world::token_bucket::TokenBucket;
use host::{Admission, Host, Ticket};
use quota::QuotaWindow;
use spec::RegistrySpec;

/// Which of a registry's hosts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostRole {
    /// Manifests, and where to find blobs.
    Api,
    /// Tokens.
    Token,
    /// The bytes of blobs.
    Blobs,
}

/// The registry's state and totals.
#[derive(Debug)]
pub(crate) struct Registry {
    hosts: [Host; 3],
    manifests: Option<TokenBucket>,
    blob_requests: Option<TokenBucket>,
    quota: Option<QuotaWindow>,
    /// It answers nothing and sends nothing.
    down: bool,
    /// What a brownout leaves of its egress, and of its rate of answers.
    shares: (f64, f64),
    /// Blobs that it sends now.
    sending: u32,
    /// Connections that have ended and whose hosts have not let the next request in yet.
    closed: Vec<HostRole>,
    /// Windows that have not begun or not ended.
    windows_ahead: usize,
    pub(crate) requests: u64,
    pub(crate) responses_429: u64,
    pub(crate) responses_503: u64,
    /// Bytes that left it in transfers that have ended.
    pub(crate) sent: Bytes,
}

impl Registry {
    pub(crate) fn new(spec: &RegistrySpec) -> Self {
        Self {
            hosts: [Host::new(&spec.api), Host::new(&spec.token), Host::new(&spec.blobs)],
            manifests: spec.manifest_limit.map(TokenBucket::new),
            blob_requests: spec.blob_limit.map(TokenBucket::new),
            quota: spec.pull_quota.map(QuotaWindow::new),
            down: false,
            shares: (1.0, 1.0),
            sending: 0,
            closed: Vec::new(),
            windows_ahead: spec.windows.len() * 2,
            requests: 0,
            responses_429: 0,
            responses_503: 0,
            sent: Bytes::ZERO,
        }
    }

    /// Whether the moment at which a request arrives at this host can matter.
    pub(crate) const fn is_limited(&self, role: HostRole) -> bool {
        let own = self.hosts[role as usize].is_limited();
        own || (matches!(role, HostRole::Api)
            && (self.manifests.is_some() || self.blob_requests.is_some() || self.quota.is_some()))
    }

    pub(crate) const fn host(&mut self, role: HostRole) -> &mut Host {
        &mut self.hosts[role as usize]
    }

    pub(crate) const fn is_down(&self) -> bool {
        self.down
    }

    /// How many times as long as usual it takes to serve a request.
    pub(crate) fn slowness(&self) -> f64 {
        1.0 / self.shares.1
    }

    /// A request reaches a host without any limit.
    pub(crate) fn count(&mut self, role: HostRole) {
        self.requests += u64::from(role == HostRole::Api);
    }

    /// A request of a cluster reaches a host.
    pub(crate) fn arrives(&mut self, role: HostRole, ticket: Ticket, cluster: ClusterId, now: SimTime) -> Admission {
        self.count(role);
        let admission = if role == HostRole::Api && !self.api_limits_allow(ticket.1, cluster, now) {
            Admission::TooMany
        } else {
            self.host(role).arrives(ticket, now)
        };
        self.responses_429 += u64::from(admission == Admission::TooMany);
        self.responses_503 += u64::from(admission == Admission::Unavailable);
        admission
    }

    fn api_limits_allow(&mut self, request: Request, cluster: ClusterId, now: SimTime) -> bool {
        let bucket = match request {
            Request::Resolve | Request::Index | Request::Manifest => &mut self.manifests,
            Request::Config | Request::Layer(_) => &mut self.blob_requests,
            Request::Challenge | Request::Token => &mut None,
        };
        bucket.as_mut().is_none_or(|bucket| bucket.try_take(now))
            && (request != Request::Manifest || self.quota.as_mut().is_none_or(|quota| quota.try_take(cluster, now)))
    }

    /// It begins to send a blob.
    pub(crate) const fn transfer_begins(&mut self) {
        self.sending += 1;
    }

    /// A blob ends to be sent, whole or not, by this host.
    pub(crate) fn transfer_ends(&mut self, role: HostRole, sent: Bytes) {
        self.sending -= 1;
        self.sent += sent;
        self.close(role);
    }

    /// A connection has ended; who waits for it is let in by `let_in`.
    pub(crate) fn close(&mut self, role: HostRole) {
        if self.host(role).holds_requests() {
            self.host(role).close();
            self.closed.push(role);
        }
    }

    /// A host that has lost a connection since the last call.
    pub(crate) fn take_closed(&mut self) -> Option<HostRole> {
        self.closed.pop()
    }

    /// What waits in any host, which does not wait there any more.
    fn drop_waiting(&mut self) -> Vec<(HostRole, Ticket)> {
        let mut dropped = Vec::new();
        for role in [HostRole::Api, HostRole::Token, HostRole::Blobs] {
            dropped.extend(self.host(role).drop_waiting().into_iter().map(|ticket| (role, ticket)));
        }
        dropped
    }

    /// Sets what a brownout leaves of the rates of all buckets.
    fn set_rates(&mut self, now: SimTime, share: f64) {
        for host in &mut self.hosts {
            host.set_rate(now, share);
        }
        for bucket in [&mut self.manifests, &mut self.blob_requests].into_iter().flatten() {
            bucket.set_rate(now, share);
        }
    }

    /// How many events of windows are still to come.
    pub(crate) const fn windows_ahead(&self) -> usize {
        self.windows_ahead
    }
}
