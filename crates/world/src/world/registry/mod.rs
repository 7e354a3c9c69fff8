//! A registry: an API host, a token service and a blob host, with the limits of each.
//!
//! | file | models |
//! |---|---|
//! | `request` | requests, hosts and responses |
//! | `client` | the clients that share a limit |
//! | `host` | one host: token bucket, connections, workers |
//! | `in_flight` | requests from their sending until they are served |
//! | `quota` | images that may be pulled per time window |
//! | `windows` | outages and brownouts, and egress that falls under load |
//! | `burst` | an allowance of bytes above a baseline |
//! | `other_load` | the load from clients outside of the fleet |
//! | `tcp` | the rate of one connection, and slow start |
//! | `spec`, `load_spec`, `presets` | the settings, and published limits of known registries |
//!
//! Left out: the cost of the responses' own bytes, requests of other clients, and limits that change during a run.

pub(crate) mod burst;
pub(crate) mod client;
pub(crate) mod host;
pub(crate) mod in_flight;
pub(crate) mod load_spec;
mod other_load;
pub(super) mod presets;
mod quota;
pub(crate) mod request;
pub(crate) mod spec;
pub(crate) mod tcp;
#[cfg(test)]
mod tests;
mod windows;

use crate::engine::{EntityKey, Streams};
use crate::world::ids::PullId;
use burst::Burst;
use client::{Client, ClientBuckets, ClientRefusals};
use fleetsim_units::{Bytes, BytesPerSec, SimDuration, SimTime};
use host::{Admission, Host};
use in_flight::RequestsInFlight;
use other_load::Others;
use quota::QuotaWindow;
use request::{HostRequest, HostRole, Request};
use spec::RegistrySpec;

/// The shares of a registry's egress and request rates that remain in a brownout.
#[derive(Clone, Copy, Debug)]
struct CapacityShares {
    egress: f64,
    requests: f64,
}

impl CapacityShares {
    const ALL: Self = Self {
        egress: 1.0,
        requests: 1.0,
    };
}

/// The state and totals of one registry.
#[derive(Debug)]
pub(crate) struct Registry<'s> {
    pub spec: &'s RegistrySpec,
    /// The index of the registry: 0 is the first registry.
    number: u32,
    hosts: [Host; 3],
    /// Requests to hosts with limits.
    pub(crate) in_flight: RequestsInFlight,
    manifests: Option<ClientBuckets>,
    blob_requests: Option<ClientBuckets>,
    quota: Option<QuotaWindow>,
    /// Whether the registry does not respond and sends nothing.
    pub down: bool,
    capacity_left: CapacityShares,
    /// Number of blobs that the registry is sending.
    sending: u32,
    pub burst: Option<Burst>,
    pub others: Option<Others>,
    /// Hosts with closed connections that have not admitted the next request yet.
    closed: Vec<HostRole>,
    /// Number of windows that have not begun or not ended.
    pub(crate) windows_ahead: usize,
    pub requests: u64,
    pub responses_429: u64,
    pub responses_503: u64,
    /// Bytes that left the registry for the fleet, in ended transfers.
    pub sent: Bytes,
    /// Bytes that left the registry for pulls of another fleet, in ended transfers.
    pub(crate) sent_to_others: Bytes,
}

impl<'s> Registry<'s> {
    /// Creates the registry with index `number`.
    pub(super) fn new(spec: &'s RegistrySpec, number: u32) -> Self {
        Self {
            spec,
            number,
            hosts: [
                Host::new(&spec.api),
                Host::new(&spec.token),
                Host::new(&spec.blobs.host),
            ],
            in_flight: RequestsInFlight::default(),
            manifests: spec.manifest_limit.map(ClientBuckets::new),
            blob_requests: spec.blob_limit.map(ClientBuckets::new),
            quota: spec.pull_quota.map(QuotaWindow::new),
            down: false,
            capacity_left: CapacityShares::ALL,
            sending: 0,
            burst: spec.burst.map(Burst::new),
            others: spec
                .other_load
                .as_ref()
                .map(|load| Others::new(load, number)),
            closed: Vec::new(),
            windows_ahead: spec.windows.len() * 2,
            requests: 0,
            responses_429: 0,
            responses_503: 0,
            sent: Bytes::ZERO,
            sent_to_others: Bytes::ZERO,
        }
    }

    /// Returns the registry's index among the registries of the world.
    const fn index(&self) -> usize {
        self.number as usize
    }

    /// Returns whether this host has a limit, so that the order of arriving requests has an effect.
    pub(crate) const fn is_limited(&self, role: HostRole) -> bool {
        let own = self.hosts[role as usize].is_limited();
        own || (matches!(role, HostRole::Api)
            && (self.manifests.is_some() || self.blob_requests.is_some() || self.quota.is_some()))
    }

    pub(super) const fn host(&mut self, role: HostRole) -> &mut Host {
        &mut self.hosts[role as usize]
    }

    /// Returns the host that sends blobs.
    pub(crate) const fn blob_host(&self) -> HostRole {
        if self.spec.blobs.redirect {
            HostRole::Blobs
        } else {
            HostRole::Api
        }
    }

    /// Returns whether a host responds to a request by sending the bytes of a blob.
    pub(crate) fn sends_bytes(&self, request: Request, host: HostRole) -> bool {
        request.is_blob() && host == self.blob_host()
    }

    /// Returns the number of pending events of the registry's burst and other load.
    pub(crate) fn load_events(&self) -> usize {
        self.burst.as_ref().map_or(0, Burst::pending_events)
            + self.others.as_ref().map_or(0, Others::pending_events)
    }

    /// Returns the time to serve the `nth` request of a node to this host; `is_cold`: whether it is for a blob that
    /// has not been downloaded before.
    pub(super) fn service_time(
        &self,
        host: HostRole,
        is_cold: bool,
        streams: &Streams,
        node: EntityKey,
        nth: u64,
    ) -> SimDuration {
        if let Some(first_byte) = self.spec.blobs.cold_first_byte.as_ref().filter(|_| is_cold) {
            return first_byte.draw(streams, node, "cold first byte", nth);
        }
        let (host, purpose) = match host {
            HostRole::Api => (&self.spec.api, "service time"),
            HostRole::Token => (&self.spec.token, "service time"),
            HostRole::Blobs => (&self.spec.blobs.host, "blob service time"),
        };
        let usual = host.service_time.draw(streams, node, purpose, nth);
        let slowness = 1.0 / self.capacity_left.requests;
        if slowness > 1.0 {
            usual.mul_f64(slowness)
        } else {
            usual
        }
    }

    /// Returns the maximum rate of one connection over a path with its own limit. For a blob, the rate depends on
    /// whether the content delivery network has cached the blob (`warm`).
    pub(crate) fn connection_cap(
        &self,
        path: Option<BytesPerSec>,
        warm: Option<bool>,
    ) -> Option<BytesPerSec> {
        let cdn = self.spec.cdn.zip(warm).map(|(cdn, warm)| cdn.rate(warm));
        [path, cdn]
            .into_iter()
            .flatten()
            .min_by(|a, b| a.get().total_cmp(&b.get()))
    }

    /// Counts a request that is sent to a host.
    pub(super) fn count(&mut self, role: HostRole) {
        self.requests += u64::from(role == HostRole::Api);
    }

    /// Handles a client's request that reaches a host.
    pub(super) fn arrives(
        &mut self,
        asked: HostRequest,
        client: Client,
        now: SimTime,
    ) -> Admission {
        let is_over_limit =
            asked.host == HostRole::Api && !self.api_limits_allow(asked.request, client, now);
        let admission = if is_over_limit {
            Admission::TooMany
        } else {
            self.host(asked.host)
                .arrives(asked.pull_request(), client, now)
        };
        self.responses_429 += u64::from(admission == Admission::TooMany);
        self.responses_503 += u64::from(admission == Admission::Unavailable);
        admission
    }

    fn api_limits_allow(&mut self, request: Request, client: Client, now: SimTime) -> bool {
        let bucket = match request {
            Request::Resolve | Request::Index | Request::Manifest => &mut self.manifests,
            Request::Config | Request::Layer(_) => &mut self.blob_requests,
            Request::Challenge | Request::Token => &mut None,
        };
        bucket
            .as_mut()
            .is_none_or(|bucket| bucket.try_take(client, now))
            && (request != Request::Manifest
                || self
                    .quota
                    .as_mut()
                    .is_none_or(|quota| quota.try_take(client, now)))
    }

    /// Returns the requests that limits of single clients have refused. `None`: it has no such limit.
    pub(super) fn refusals(&self) -> Option<ClientRefusals> {
        let own = [&self.manifests, &self.blob_requests].into_iter().flatten();
        let of_hosts = self.hosts.iter().filter_map(Host::buckets);
        ClientRefusals::of(own.chain(of_hosts))
    }

    /// Records that the registry starts to send a blob.
    pub(crate) const fn transfer_begins(&mut self) {
        self.sending += 1;
    }

    /// Records that the registry starts to send a blob that no pull has requested, so it did not wait for a
    /// connection.
    pub(crate) fn unasked_transfer_begins(&mut self) {
        let host = self.blob_host();
        if self.host(host).holds_requests() {
            self.host(host).open_beside();
        }
    }

    /// Records that the registry has sent a blob or a part of one.
    pub(crate) fn transfer_ends(&mut self, sent: Bytes) {
        self.sending -= 1;
        self.sent += sent;
        self.close(self.blob_host());
    }

    /// Closes a connection of a host; [`Registry::next_admitted`] assigns it to a waiting request.
    pub(super) fn close(&mut self, role: HostRole) {
        if self.host(role).holds_requests() {
            self.host(role).close();
            self.closed.push(role);
        }
    }

    /// Returns the next waiting request that gets a connection and a worker. `None`: no connection is free for a
    /// waiting request.
    pub(crate) fn next_admitted(
        &mut self,
        is_alive: impl Fn(PullId) -> bool,
    ) -> Option<HostRequest> {
        while let Some(&role) = self.closed.last() {
            if let Some(next) = self.host(role).next_from_outside(&is_alive) {
                return Some(next.to(role));
            }
            self.closed.pop();
        }
        None
    }

    /// Removes and returns all waiting requests.
    fn drop_waiting(&mut self) -> Vec<HostRequest> {
        let mut dropped = Vec::new();
        for role in [HostRole::Api, HostRole::Token, HostRole::Blobs] {
            for asked in self.host(role).drop_waiting() {
                dropped.push(asked.to(role));
            }
        }
        dropped
    }

    /// Scales the rates of all buckets.
    fn set_rates(&mut self, now: SimTime, share: f64) {
        for host in &mut self.hosts {
            host.set_rate(now, share);
        }
        for bucket in [&mut self.manifests, &mut self.blob_requests]
            .into_iter()
            .flatten()
        {
            bucket.set_rate(now, share);
        }
    }
}
