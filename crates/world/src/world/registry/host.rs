//! One host of a registry: a token bucket, then connections, then workers.
//!
//! A request above the bucket's rate is refused (429 or 503) and does not take a connection. A request above the
//! connection limit gets 503 or waits. A request with a connection waits for a worker, first come, first served: a
//! host with n workers and a service time of s answers n/s requests per second, like a CPU-bound server.
//!
//! Left out: keep-alive (in the model each request has its own connection), server-side timeouts of waiting requests,
//! and the cost of refusing a request.

use std::collections::VecDeque;

use crate::world::ids::PullId;
use crate::world::registry::client::{Client, ClientBuckets};
use crate::world::registry::request::PullRequest;
use crate::world::registry::spec::{Excess, HostSpec, OverLimit, RequestLimit};
use fleetsim_units::SimTime;

/// A host's decision about a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Admission {
    /// The request is served now.
    Serve,
    /// The request waits for a connection or a worker.
    Wait,
    /// The request gets a 429.
    TooMany,
    /// The request gets a 503.
    Unavailable,
}

/// The state of a host.
#[derive(Debug)]
pub(crate) struct Host {
    spec: HostSpec,
    bucket: Option<ClientBuckets>,
    /// Number of open connections.
    open: u32,
    /// Requests that wait for a connection.
    outside: VecDeque<PullRequest>,
    /// Number of requests being served.
    serving: u32,
    /// Requests that have a connection and wait for a worker.
    inside: VecDeque<PullRequest>,
}

impl Host {
    pub(super) fn new(spec: &HostSpec) -> Self {
        Self {
            spec: spec.clone(),
            bucket: spec.request_limit.map(ClientBuckets::new),
            open: 0,
            outside: VecDeque::new(),
            serving: 0,
            inside: VecDeque::new(),
        }
    }

    /// Returns whether the host has a limit, so that the order of arriving requests has an effect.
    pub(super) const fn is_limited(&self) -> bool {
        self.bucket.is_some() || self.holds_requests()
    }

    /// The buckets of its limit of requests, if it has one.
    pub(super) const fn buckets(&self) -> Option<&ClientBuckets> {
        self.bucket.as_ref()
    }

    /// Returns whether requests occupy a connection or a worker.
    pub(crate) const fn holds_requests(&self) -> bool {
        self.spec.connections.is_some() || self.spec.workers.is_some()
    }

    /// Returns whether a request that the bucket admits would wait for a connection or a worker.
    pub(crate) fn would_wait(&self) -> bool {
        if !self.holds_requests() {
            return false;
        }
        match self.spec.connections {
            Some(limit) if self.open >= limit.max => limit.excess == Excess::Queue,
            _ => self.spec.workers == Some(self.serving),
        }
    }

    /// Scales the rate of the bucket at `now`.
    pub(super) fn set_rate(&mut self, now: SimTime, share: f64) {
        if let Some(bucket) = &mut self.bucket {
            bucket.set_rate(now, share);
        }
    }

    /// Decides about an arriving request.
    pub(super) fn arrives(
        &mut self,
        asked: PullRequest,
        client: Client,
        now: SimTime,
    ) -> Admission {
        if self
            .bucket
            .as_mut()
            .is_some_and(|bucket| !bucket.try_take(client, now))
        {
            return match self.spec.request_limit {
                Some(RequestLimit {
                    answer: OverLimit::Unavailable,
                    ..
                }) => Admission::Unavailable,
                _ => Admission::TooMany,
            };
        }
        if !self.holds_requests() {
            return Admission::Serve;
        }
        if let Some(limit) = self.spec.connections
            && self.open >= limit.max
        {
            if limit.excess == Excess::Refuse {
                return Admission::Unavailable;
            }
            self.outside.push_back(asked);
            return Admission::Wait;
        }
        self.enter(asked)
    }

    fn enter(&mut self, asked: PullRequest) -> Admission {
        self.open += 1;
        if self.spec.workers == Some(self.serving) {
            self.inside.push_back(asked);
            Admission::Wait
        } else {
            self.serving += 1;
            Admission::Serve
        }
    }

    /// Opens a connection that does not count towards the limit.
    pub(super) const fn open_beside(&mut self) {
        self.open += 1;
    }

    /// Called when a worker is free. Returns the next request to serve; requests of ended pulls release their
    /// connection.
    pub(crate) fn worker_freed(
        &mut self,
        is_alive: impl Fn(PullId) -> bool,
    ) -> Option<PullRequest> {
        self.serving -= 1;
        while let Some(next) = self.inside.pop_front() {
            if is_alive(next.pull) {
                self.serving += 1;
                return Some(next);
            }
            self.open -= 1;
        }
        None
    }

    /// Called when a connection is closed.
    pub(crate) fn close(&mut self) {
        self.open = self
            .open
            .checked_sub(1)
            .expect("a closed connection was open");
    }

    /// Returns the next waiting request that gets a connection and a worker. Call it until it returns `None`.
    pub(crate) fn next_from_outside(
        &mut self,
        is_alive: impl Fn(PullId) -> bool,
    ) -> Option<PullRequest> {
        let limit = self.spec.connections?;
        while self.open < limit.max {
            let next = self.outside.pop_front()?;
            if is_alive(next.pull) && self.enter(next) == Admission::Serve {
                return Some(next);
            }
        }
        None
    }

    /// Removes and returns all waiting requests when the host goes down.
    pub(super) fn drop_waiting(&mut self) -> Vec<PullRequest> {
        self.open -= self.inside.len() as u32;
        self.inside
            .drain(..)
            .chain(self.outside.drain(..))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::quantity::DurationModel;
    use crate::world::registry::client::client;
    use crate::world::registry::request::Request;
    use crate::world::registry::spec::ConnectionLimit;
    use fleetsim_units::SimDuration;

    fn asked(at: u32) -> PullRequest {
        PullRequest::new(PullId(at), Request::Manifest)
    }

    #[test]
    fn requests_pass_connections_and_workers_in_order_of_arrival() {
        let mut spec = HostSpec::unlimited(DurationModel::Constant(SimDuration::ZERO));
        spec.connections = Some(ConnectionLimit {
            max: 2,
            excess: Excess::Queue,
        });
        spec.workers = Some(1);
        let mut host = Host::new(&spec);
        let admitted: Vec<Admission> = (0..4)
            .map(|at| host.arrives(asked(at), client(0, 0), SimTime::ZERO))
            .collect();
        assert_eq!(
            admitted,
            [
                Admission::Serve,
                Admission::Wait,
                Admission::Wait,
                Admission::Wait
            ]
        );
        // The first request has been served: the second gets its worker, and the third its connection.
        assert_eq!(host.worker_freed(|_| true), Some(asked(1)));
        host.close();
        assert_eq!(
            host.next_from_outside(|_| true),
            None,
            "it has a connection and waits for the worker"
        );
        // The second request has been served, and the third was given up in the meantime: the fourth gets the
        // connection and the worker.
        assert_eq!(host.worker_freed(|pull| pull != PullId(2)), None);
        host.close();
        assert_eq!(host.next_from_outside(|_| true), Some(asked(3)));
    }

    #[test]
    fn connections_above_the_limit_are_refused_until_another_is_closed() {
        let mut spec = HostSpec::unlimited(DurationModel::Constant(SimDuration::ZERO));
        spec.connections = Some(ConnectionLimit {
            max: 1,
            excess: Excess::Refuse,
        });
        let mut host = Host::new(&spec);
        assert_eq!(
            host.arrives(asked(0), client(0, 0), SimTime::ZERO),
            Admission::Serve
        );
        assert_eq!(
            host.arrives(asked(1), client(0, 0), SimTime::ZERO),
            Admission::Unavailable
        );
        assert_eq!(host.worker_freed(|_| true), None);
        assert_eq!(
            host.arrives(asked(1), client(0, 0), SimTime::ZERO),
            Admission::Unavailable,
            "served, and not closed yet"
        );
        host.close();
        assert_eq!(
            host.arrives(asked(1), client(0, 0), SimTime::ZERO),
            Admission::Serve
        );
    }
}
