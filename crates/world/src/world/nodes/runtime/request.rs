//! The requests of a pull: their order, their hosts, and their path there and back.
//!
//! Follows containerd `core/remotes/docker/{resolver,fetcher,authorizer}.go` at 301026e: a challenge and a token for
//! each pull, HEAD for the tag, index, manifest, config, and one request for each missing layer. Blobs are redirected.
//! A refused request is resent to its first host, even if the host of a redirect refused it. A registry without tokens
//! gets neither the challenge nor a token request; only the connection is opened.
//!
//! A host that cannot be reached does not respond. The kernel retries the connection after 1, 3, 7, 15 … s (the first
//! retransmission is after 1 s, RFC 6298, and each later wait is twice as long) until the runtime's dial timeout.
//!
//! Left out: 408 and 5xx other than 503 (no modelled host sends them), requests of other clients, and idle connections
//! that fail silently (every request during an outage has to connect).

use crate::world::World;
use crate::world::event::{Event, Queue, RequestEvent};
use crate::world::ids::PullId;
use crate::world::nodes::pull_progress::{Fetch, PullLayer};
use crate::world::nodes::pull_wait::PullWait;
use crate::world::nodes::runtime::retries::{Next, Tries};
use crate::world::registry::host::Admission;
use crate::world::registry::in_flight::InFlight;
use crate::world::registry::request::{HostRequest, PullRequest, Request, Response};
use crate::world::registry::spec::RegistrySpec;
use crate::world::registry::tcp;
use crate::world::transfers::payload::{BlobSource, Payload, Routing};
use fleetsim_units::{Bytes, SimDuration, SimTime};

/// Time between the first and the second attempt to connect. Source: RFC 6298, section 2; Linux doubles the time after
/// each attempt.
const FIRST_RETRANSMISSION: SimDuration = SimDuration::from_secs(1);

/// Returns the latency in one direction between a node and a host.
fn one_way(rtt: SimDuration) -> SimDuration {
    rtt.mul_f64(0.5)
}

/// Returns whether a registry needs this request. A registry without tokens needs neither the challenge nor the token
/// request.
fn is_needed(request: Request, registry: &RegistrySpec) -> bool {
    registry.tokens || !matches!(request, Request::Challenge | Request::Token)
}

impl World<'_> {
    pub(crate) fn handle_request(
        &mut self,
        pull: PullId,
        request: Request,
        event: RequestEvent,
        queue: &mut Queue,
    ) {
        let asked = PullRequest::new(pull, request);
        match event {
            // A request of an ended pull still occupies a slot in a host.
            RequestEvent::Served(host) => self.served(asked.to(host), queue),
            RequestEvent::Response(host, response) => {
                self.response_arrives(asked.to(host), response, queue);
            }
            RequestEvent::RampedUp => self.ramped_up(pull, request, queue),
            RequestEvent::Arrives(host) => self.request_arrives(asked.to(host), queue),
            _ if self.pulls[pull.index()].ended => {}
            RequestEvent::Retry(wait) => {
                self.request_goes_on(pull, wait, queue.now());
                self.send(pull, request, queue);
            }
            RequestEvent::Redial { host, since } => self.redial(asked.to(host), since, queue),
            RequestEvent::Upstream => self.contact_host(asked.to(request.first_host()), queue),
            RequestEvent::NearbyResponse(response) => {
                self.nearby_response(pull, request, response, queue);
            }
        }
    }

    /// Sends a request to its first host; the response arrives as an event.
    pub fn send(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        let asked = PullRequest::new(pull, request).to(request.first_host());
        let (after, event) = match self.route_request(pull, request, queue.now()) {
            Routing::Waits => return,
            Routing::Upstream { detour } if detour.is_zero() => {
                return self.contact_host(asked, queue);
            }
            Routing::Upstream { detour } => (detour, RequestEvent::Upstream),
            Routing::Nearby { wait } => (wait, RequestEvent::NearbyResponse(Response::Ok)),
            Routing::Refused { wait } => {
                let refusal = Response::TooManyRequests;
                (wait, RequestEvent::NearbyResponse(refusal))
            }
        };
        queue.schedule_in(after, asked.event(event));
    }

    /// Handles the response of a cache, a mirror or a peer.
    fn nearby_response(
        &mut self,
        id: PullId,
        request: Request,
        response: Response,
        queue: &mut Queue,
    ) {
        if response == Response::Ok {
            self.proceed(id, request, queue);
        } else {
            let runtime = &self.spec.node.runtime;
            let next = self.pulls[id.index()]
                .tries_of(request)
                .too_many(runtime, None);
            self.retry_or_fail(
                PullRequest::new(id, request),
                next,
                PullWait::Throttled,
                queue,
            );
        }
    }

    /// Handles a host that does not respond: the kernel keeps trying to connect.
    pub(crate) fn dial(&mut self, asked: HostRequest, queue: &mut Queue) {
        self.request_waits(asked.pull, PullWait::Unavailable, queue.now());
        let host = asked.host;
        let since = queue.now();
        let first = FIRST_RETRANSMISSION.min(self.spec.node.runtime.dial_timeout);
        queue.schedule_in(first, asked.event(RequestEvent::Redial { host, since }));
    }

    /// Sends a request to a host of the pull's registry, or tries to connect to the host.
    fn contact_host(&mut self, asked: HostRequest, queue: &mut Queue) {
        if !self.is_reachable(asked.pull) {
            self.dial(asked, queue);
            return;
        }
        let rtt = self.rtt(asked.pull);
        let from = self.registry_of(asked.pull);
        let registry = self.registries[from].spec;
        let handshake = if self.pulls[asked.pull.index()].opens_connection(asked, registry) {
            tcp::handshake(registry, rtt)
        } else {
            SimDuration::ZERO
        };
        let response = asked.event(RequestEvent::Response(asked.host, Response::Ok));
        if !is_needed(asked.request, registry) {
            queue.schedule_in(handshake, response);
            return;
        }
        self.registries[from].count(asked.host);
        let node = &mut self.nodes[self.pulls[asked.pull.index()].node.index()];
        let draw = node.next_request_draw(asked.host);
        let service = self.service_time(asked, draw);
        if !self.registries[from].is_limited(asked.host) {
            queue.schedule_in(handshake + (rtt + service), response);
            return;
        }
        // The request arrives before its response leaves, even if both take no time.
        let arrives = asked.event(RequestEvent::Arrives(asked.host));
        queue.schedule_in(handshake + one_way(rtt), arrives);
        let response = queue.schedule_in(handshake + (rtt + service), response);
        let in_flight = InFlight {
            response: Some(response),
            service,
            draw,
            service_end: None,
        };
        self.registries[from].in_flight.insert(asked, in_flight);
    }

    /// Handles a request that arrives at a host with limits, which decides about it.
    ///
    /// A request that need not wait is not affected by a network cut after it was sent, as at a host without limits.
    fn request_arrives(&mut self, asked: HostRequest, queue: &mut Queue) {
        let is_reachable = self.is_reachable(asked.pull);
        let rtt = self.rtt(asked.pull);
        let from = self.registry_of(asked.pull);
        let pull = &self.pulls[asked.pull.index()];
        let client = self.client_of(pull.node);
        let registry = &mut self.registries[from];
        if pull.ended {
            registry.in_flight.remove(asked);
            return;
        }
        if !is_reachable && registry.host(asked.host).would_wait() {
            registry.drop_request(asked, queue);
            self.dial(asked, queue);
            return;
        }
        let refusal = match registry.arrives(asked, client, queue.now()) {
            Admission::Serve => return registry.serve_immediately(asked, queue),
            Admission::Wait => return registry.take_back_response(asked, queue),
            Admission::TooMany => Response::TooManyRequests,
            Admission::Unavailable => Response::Unavailable,
        };
        registry.drop_request(asked, queue);
        let refused = asked.event(RequestEvent::Response(asked.host, refusal));
        queue.schedule_in(one_way(rtt), refused);
    }

    /// Begins to serve a request that has waited at a host.
    fn serve_waiting(&mut self, asked: HostRequest, queue: &mut Queue) {
        let from = self.registry_of(asked.pull);
        let draw = self.registries[from].draw_of_waiting(asked);
        let service = self.service_time(asked, draw);
        self.registries[from].serve_waiting(asked, service, queue);
    }

    /// Called when a host has served a request: the host begins to serve the next one, and the response leaves.
    fn served(&mut self, asked: HostRequest, queue: &mut Queue) {
        let from = self.registry_of(asked.pull);
        let Some(in_flight) = self.registries[from].in_flight.get_mut(asked) else {
            return;
        };
        in_flight.service_end = None;
        let has_waited = in_flight.response.is_none();
        let pulls = &self.pulls;
        let next = self.registries[from]
            .host(asked.host)
            .worker_freed(|pull| !pulls[pull.index()].ended);
        if let Some(next) = next {
            self.serve_waiting(next.to(asked.host), queue);
        }
        let is_waited_for = !self.pulls[asked.pull.index()].ended;
        let answers = is_waited_for && (!has_waited || self.is_reachable(asked.pull));
        if !(answers && self.registries[from].sends_bytes(asked.request, asked.host)) {
            self.registries[from].close(asked.host);
            self.registries[from].in_flight.remove(asked);
        }
        self.admit_waiting(queue);
        if !has_waited {
            return;
        }
        if answers {
            let response = asked.event(RequestEvent::Response(asked.host, Response::Ok));
            queue.schedule_in(one_way(self.rtt(asked.pull)), response);
        } else if is_waited_for {
            self.dial(asked, queue);
        }
    }

    /// Serves waiting requests for which a connection has become free.
    pub(crate) fn admit_waiting(&mut self, queue: &mut Queue) {
        for from in 0..self.registries.len() {
            loop {
                let pulls = &self.pulls;
                let next = self.registries[from].next_admitted(|pull| !pulls[pull.index()].ended);
                let Some(next) = next else {
                    break;
                };
                self.serve_waiting(next, queue);
            }
        }
    }

    /// Returns the time that it would take to serve a request now, from the random draw number `draw`.
    fn service_time(&self, asked: HostRequest, draw: u64) -> SimDuration {
        let pull = &self.pulls[asked.pull.index()];
        let registry = &self.registries[self.registry_of(asked.pull)];
        let is_cold = match asked.request {
            Request::Layer(layer) if registry.sends_bytes(asked.request, asked.host) => {
                let layer = self.catalog.image(pull.image).layers[usize::from(layer)];
                !self.transfers.is_warm(layer.blob)
            }
            _ => false,
        };
        let node = &self.nodes[pull.node.index()];
        registry.service_time(asked.host, is_cold, &self.streams, node.key, draw)
    }

    fn response_arrives(&mut self, asked: HostRequest, response: Response, queue: &mut Queue) {
        let HostRequest { pull, request, .. } = asked;
        let from = self.registry_of(pull);
        // A host serves a request before the response arrives, even at the same instant.
        let in_flight = self.registries[from].in_flight.get_mut(asked);
        if let Some(end) = in_flight.and_then(|in_flight| in_flight.service_end) {
            queue.cancel(end);
            self.served(asked, queue);
        }
        let holds_connection = self.registries[from].in_flight.remove(asked);
        if self.pulls[pull.index()].ended {
            if holds_connection {
                self.registries[from].close(asked.host);
                self.admit_waiting(queue);
            }
            return;
        }
        let retry_after = self.registries[from].spec.retry_after;
        let runtime = &self.spec.node.runtime;
        let tries = self.pulls[pull.index()].tries_of(request);
        let (next, wait) = match response {
            Response::Ok => return self.granted(asked, queue),
            Response::TooManyRequests => {
                (tries.too_many(runtime, retry_after), PullWait::Throttled)
            }
            Response::Unavailable => (tries.unavailable(runtime), PullWait::Unavailable),
        };
        self.retry_or_fail(asked.pull_request(), next, wait, queue);
    }

    /// Called when a host has granted a request.
    fn granted(&mut self, asked: HostRequest, queue: &mut Queue) {
        let HostRequest { pull, request, .. } = asked;
        let registry = &self.registries[self.registry_of(pull)];
        if request.is_blob() && !registry.sends_bytes(request, asked.host) {
            let redirected = asked.pull_request().to(registry.blob_host());
            return self.contact_host(redirected, queue);
        }
        self.note_response(pull, request);
        self.proceed(pull, request, queue);
    }

    /// Sends the next request of a pull, or starts the transfer of a blob.
    fn proceed(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        *pull.tries_of(request) = Tries::default();
        let specified = self.catalog.specified_index(pull.image);
        let known = self.nodes[pull.node.index()].content.manifests[usize::from(pull.image.0)];
        match request {
            Request::Challenge => self.send(id, Request::Token, queue),
            Request::Token => self.send(id, Request::Resolve, queue),
            // Manifests in the content store are not requested again.
            Request::Resolve if known => self.plan_layers(id, queue),
            Request::Resolve if self.spec.images[specified].index => {
                self.send(id, Request::Index, queue);
            }
            Request::Resolve => self.send(id, Request::Manifest, queue),
            Request::Index => self.send(id, Request::Manifest, queue),
            Request::Manifest => self.send(id, Request::Config, queue),
            Request::Config | Request::Layer(_) => {
                let ramp_up = match self.pulls[id.index()].source(request) {
                    BlobSource::Registry => self.ramp_up(id, self.blob_size(id, request)),
                    _ => SimDuration::ZERO,
                };
                if ramp_up.is_zero() {
                    self.start_blob(id, request, queue);
                } else {
                    queue.schedule_in(ramp_up, Event::Request(id, request, RequestEvent::RampedUp));
                }
            }
        }
    }

    /// Called when a transfer has passed its slow start.
    fn ramped_up(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        if self.pulls[id.index()].ended {
            let from = self.registry_of(id);
            let host = self.registries[from].blob_host();
            self.registries[from].close(host);
            self.admit_waiting(queue);
        } else {
            self.start_blob(id, request, queue);
        }
    }

    fn blob_size(&self, id: PullId, request: Request) -> Bytes {
        match request {
            Request::Layer(layer) => self.bytes_to_fetch(id, layer),
            _ => self.catalog.image(self.pulls[id.index()].image).config,
        }
    }

    fn start_blob(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        if let Request::Layer(layer) = request {
            self.take_space_for_download(id, layer);
        }
        let size = self.blob_size(id, request);
        let pull = &self.pulls[id.index()];
        let (payload, blob) = match request {
            Request::Layer(layer) => {
                let blob = self.catalog.image(pull.image).layers[usize::from(layer)].blob;
                (Payload::Layer(id, layer), Some(blob))
            }
            _ => (Payload::Config(id), None),
        };
        let transfer = match pull.source(request) {
            BlobSource::Registry => self.start_registry_transfer(id, size, payload, blob, queue),
            _ => self.start_nearby_transfer(id, request, size, payload, queue),
        };
        if let Request::Layer(layer) = request {
            let pull = &mut self.pulls[id.index()];
            pull.fetches[usize::from(layer)] = Fetch::Downloading(transfer);
            let is_written = self.spec.distribution.lazy.is_none();
            if let Some(disk) = &mut self.nodes[pull.node.index()].disk
                && is_written
            {
                disk.download_begins(queue.now(), PullLayer::new(id, layer));
            }
            let node = self.pulls[id.index()].node;
            self.watch_space(node, queue);
        } else {
            self.pulls[id.index()].config = Some(transfer);
        }
        self.check_stall(id, queue);
    }

    /// Takes the next step after a request was refused or got no response. `wait` is the cause of a possible wait.
    fn retry_or_fail(&mut self, asked: PullRequest, next: Next, wait: PullWait, queue: &mut Queue) {
        let PullRequest { pull: id, request } = asked;
        match next {
            Next::GiveUp(error) => self.fail(id, error, queue),
            Next::Again(SimDuration::ZERO) => self.send(id, request, queue),
            Next::Again(after) => {
                self.request_waits(id, wait, queue.now());
                queue.schedule_in(
                    after,
                    Event::Request(id, request, RequestEvent::Retry(wait)),
                );
            }
        }
    }

    fn redial(&mut self, asked: HostRequest, since: SimTime, queue: &mut Queue) {
        let HostRequest {
            pull,
            request,
            host,
        } = asked;
        self.request_goes_on(pull, PullWait::Unavailable, queue.now());
        let runtime = &self.spec.node.runtime;
        let waited = queue.now() - since;
        if waited >= runtime.dial_timeout {
            self.totals.timeouts += 1;
            let next = self.pulls[pull.index()].tries_of(request).silence(runtime);
            self.retry_or_fail(asked.pull_request(), next, PullWait::Unavailable, queue);
        } else if self.is_reachable(pull) {
            self.contact_host(asked, queue);
        } else {
            self.request_waits(pull, PullWait::Unavailable, queue.now());
            let next = (waited * 2 + FIRST_RETRANSMISSION).min(runtime.dial_timeout);
            let again = asked.event(RequestEvent::Redial { host, since });
            queue.schedule(since + next, again);
        }
    }
}
