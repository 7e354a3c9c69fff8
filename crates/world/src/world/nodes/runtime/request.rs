//! The requests of a pull: their order, their hosts, and their way there and back.
//!
//! Follows containerd `core/remotes/docker/{resolver,fetcher,authorizer}.go` at 301026e: a challenge and a token for
//! each pull, HEAD for the tag, index, manifest, config, and one request for each missing layer. Blobs are redirected.
//! A refused request is sent again to its first host, whichever host of a redirect refused it. A registry that needs no
//! tokens gets neither the challenge nor the request for one; only the connection is opened.
//!
//! A host that cannot be reached does not respond. The connection is tried again after 1, 3, 7, 15 … s (the kernel's
//! first retransmission comes after 1 s, RFC 6298, and each later wait is twice as long) until the runtime's dial
//! timeout.
//!
//! Left out: 408 and 5xx other than 503 (no host here sends them), requests of other clients, and idle connections
//! that break silently (every request during an outage has to connect).

use crate::world::World;
use crate::world::event::{Event, Queue, RequestEvent};
use crate::world::ids::PullId;
use crate::world::nodes::pull_progress::Fetch;
use crate::world::nodes::runtime::retries::{Next, Tries};
use crate::world::registry::host::Admission;
use crate::world::registry::in_flight::{HostRequest, InFlight};
use crate::world::registry::request::{HostRole, Request, Response};
use crate::world::registry::tcp;
use crate::world::transfers::payload::{BlobSource, Payload, Routing};
use fleetsim_units::{Bytes, SimDuration, SimTime};

/// Time from the first try to connect to the second. Source: RFC 6298, section 2; Linux doubles it each time.
const FIRST_RETRANSMISSION: SimDuration = SimDuration::from_secs(1);

/// The way to a host, or back.
fn one_way(rtt: SimDuration) -> SimDuration {
    rtt.mul_f64(0.5)
}

/// A host has served a request.
fn served(asked: HostRequest) -> Event {
    Event::Request(asked.pull, asked.request, RequestEvent::Served(asked.host))
}

impl World<'_> {
    pub(crate) fn handle_request(
        &mut self,
        pull: PullId,
        request: Request,
        event: RequestEvent,
        queue: &mut Queue,
    ) {
        match event {
            // A pull that has ended still holds a place in a host.
            RequestEvent::Served(host) => self.served(
                HostRequest {
                    pull,
                    request,
                    host,
                },
                queue,
            ),
            RequestEvent::Response(host, response) => {
                self.response_arrives(
                    HostRequest {
                        pull,
                        request,
                        host,
                    },
                    response,
                    queue,
                );
            }
            RequestEvent::RampedUp => self.ramped_up(pull, request, queue),
            RequestEvent::Arrives(host) => self.request_arrives(
                HostRequest {
                    pull,
                    request,
                    host,
                },
                queue,
            ),
            _ if self.pulls[pull.index()].ended => {}
            RequestEvent::Retry => self.send(pull, request, queue),
            RequestEvent::Redial { host, since } => self.redial(pull, request, host, since, queue),
            RequestEvent::Upstream => self.contact_host(pull, request, request.first_host(), queue),
            RequestEvent::NearbyResponse(response) => {
                self.nearby_response(pull, request, response, queue);
            }
        }
    }

    /// Sends a request to its first host; the response comes as an event.
    pub fn send(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        let (after, response) = match self.route_request(pull, request, queue.now()) {
            Routing::Upstream {
                detour: SimDuration::ZERO,
            } => {
                return self.contact_host(pull, request, request.first_host(), queue);
            }
            Routing::Upstream { detour } => {
                queue.schedule_in(
                    detour,
                    Event::Request(pull, request, RequestEvent::Upstream),
                );
                return;
            }
            Routing::Nearby { wait } => (wait, Response::Ok),
            Routing::Refused { wait } => (wait, Response::TooManyRequests),
            Routing::Waits => return,
        };
        queue.schedule_in(
            after,
            Event::Request(pull, request, RequestEvent::NearbyResponse(response)),
        );
    }

    /// A cache, a mirror or a peer has responded.
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
            let next = self.tries(id, request).too_many(runtime, None);
            self.retry_or_fail(id, request, next, queue);
        }
    }

    fn contact_host(&mut self, pull: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        if !self.is_reachable(pull) {
            self.dial(pull, request, host, queue);
            return;
        }
        let rtt = self.rtt(pull);
        let from = self.registry_of(pull);
        let registry = self.registries[from].spec;
        let is_new = match (host, request) {
            (HostRole::Blobs, _) => {
                !std::mem::replace(&mut self.pulls[pull.index()].blob_host_known, true)
            }
            (_, Request::Challenge) => true,
            (_, request) => request == Request::Token && registry.tokens,
        };
        let handshake = if is_new {
            tcp::handshake(registry, rtt)
        } else {
            SimDuration::ZERO
        };
        let response = Event::Request(pull, request, RequestEvent::Response(host, Response::Ok));
        let is_needed = registry.tokens || !matches!(request, Request::Challenge | Request::Token);
        if !is_needed {
            queue.schedule_in(handshake, response);
            return;
        }
        let asked = HostRequest {
            pull,
            request,
            host,
        };
        self.registries[from].count(host);
        let draw = self.next_draw(asked);
        let service = self.service_time(asked, draw);
        if !self.registries[from].is_limited(host) {
            queue.schedule_in(handshake + (rtt + service), response);
            return;
        }
        // It arrives before its response leaves, also where neither takes any time.
        queue.schedule_in(
            handshake + one_way(rtt),
            Event::Request(pull, request, RequestEvent::Arrives(host)),
        );
        let response = queue.schedule_in(handshake + (rtt + service), response);
        let in_flight = InFlight {
            response: Some(response),
            service,
            draw,
            service_end: None,
        };
        self.registries[from].in_flight.insert(asked, in_flight);
    }

    /// A request arrives at a host with limits, which decides on it.
    ///
    /// A cut of the network since it was sent makes no difference to a request that need not wait, as at a host without
    /// limits.
    fn request_arrives(&mut self, asked: HostRequest, queue: &mut Queue) {
        let HostRequest {
            pull,
            request,
            host,
        } = asked;
        let from = self.registry_of(pull);
        if self.pulls[pull.index()].ended {
            self.registries[from].in_flight.remove(asked);
            return;
        }
        if !self.is_reachable(pull) && self.registries[from].host(host).would_wait() {
            self.take_back_response(asked, queue);
            self.registries[from].in_flight.remove(asked);
            self.dial(pull, request, host, queue);
            return;
        }
        let cluster = self.nodes[self.pulls[pull.index()].node.index()].cluster;
        let refusal =
            match self.registries[from].arrives(host, (pull, request), cluster, queue.now()) {
                Admission::Serve => return self.serve_immediately(asked, queue),
                Admission::Wait => return self.take_back_response(asked, queue),
                Admission::TooMany => Response::TooManyRequests,
                Admission::Unavailable => Response::Unavailable,
            };
        self.take_back_response(asked, queue);
        self.registries[from].in_flight.remove(asked);
        queue.schedule_in(
            one_way(self.rtt(pull)),
            Event::Request(pull, request, RequestEvent::Response(host, refusal)),
        );
    }

    /// A request does not get the response that was scheduled when it was sent.
    fn take_back_response(&mut self, asked: HostRequest, queue: &mut Queue) {
        let from = self.registry_of(asked.pull);
        let in_flight = self.registries[from].in_flight.get_mut(asked);
        if let Some(response) = in_flight.and_then(|in_flight| in_flight.response.take()) {
            queue.cancel(response);
        }
    }

    /// A host serves a request as soon as it has arrived.
    fn serve_immediately(&mut self, asked: HostRequest, queue: &mut Queue) {
        let from = self.registry_of(asked.pull);
        if !self.registries[from].host(asked.host).holds_requests() {
            self.registries[from].in_flight.remove(asked);
        } else if let Some(in_flight) = self.registries[from].in_flight.get_mut(asked) {
            in_flight.service_end = Some(queue.schedule_in(in_flight.service, served(asked)));
        }
    }

    /// A host begins to serve a request that has waited.
    fn serve_waiting(&mut self, asked: HostRequest, queue: &mut Queue) {
        let from = self.registry_of(asked.pull);
        let Some(InFlight { draw, .. }) = self.registries[from].in_flight.get_mut(asked).copied()
        else {
            unreachable!("a request that waits is in flight: {asked:?}");
        };
        let service = self.service_time(asked, draw);
        let in_flight = InFlight {
            response: None,
            service,
            draw,
            service_end: Some(queue.schedule_in(service, served(asked))),
        };
        self.registries[from].in_flight.insert(asked, in_flight);
    }

    /// A host has served a request: it takes the next one, and the response leaves.
    fn served(&mut self, asked: HostRequest, queue: &mut Queue) {
        let HostRequest {
            pull,
            request,
            host,
        } = asked;
        let from = self.registry_of(pull);
        let Some(in_flight) = self.registries[from].in_flight.get_mut(asked) else {
            return;
        };
        in_flight.service_end = None;
        let has_waited = in_flight.response.is_none();
        let pulls = &self.pulls;
        let next = self.registries[from]
            .host(host)
            .worker_freed(|pull| !pulls[pull.index()].ended);
        if let Some((pull, request)) = next {
            let next = HostRequest {
                pull,
                request,
                host,
            };
            self.serve_waiting(next, queue);
        }
        let is_waited_for = !self.pulls[pull.index()].ended;
        let answers = is_waited_for && (!has_waited || self.is_reachable(pull));
        if !(answers && self.registries[from].sends_bytes(request, host)) {
            self.registries[from].close(host);
            self.registries[from].in_flight.remove(asked);
        }
        self.admit_waiting(queue);
        if !has_waited {
            return;
        }
        if answers {
            queue.schedule_in(
                one_way(self.rtt(pull)),
                Event::Request(pull, request, RequestEvent::Response(host, Response::Ok)),
            );
        } else if is_waited_for {
            self.dial(pull, request, host, queue);
        }
    }

    /// Serves waiting requests for which a connection has become free.
    pub(crate) fn admit_waiting(&mut self, queue: &mut Queue) {
        for from in 0..self.registries.len() {
            loop {
                let pulls = &self.pulls;
                let next = self.registries[from].next_admitted(|pull| !pulls[pull.index()].ended);
                let Some((host, (pull, request))) = next else {
                    break;
                };
                let next = HostRequest {
                    pull,
                    request,
                    host,
                };
                self.serve_waiting(next, queue);
            }
        }
    }

    /// The number of a request's service time among the draws of its node.
    fn next_draw(&mut self, asked: HostRequest) -> u64 {
        let node = &mut self.nodes[self.pulls[asked.pull.index()].node.index()];
        let requests = if asked.host == HostRole::Blobs {
            &mut node.blob_requests
        } else {
            &mut node.requests
        };
        let draw = *requests;
        *requests += 1;
        draw
    }

    /// The time to serve a request now, with the draw of this number.
    fn service_time(&self, asked: HostRequest, draw: u64) -> SimDuration {
        let HostRequest {
            pull,
            request,
            host,
        } = asked;
        let registry = &self.registries[self.registry_of(pull)];
        let is_cold = match request {
            Request::Layer(layer) if registry.sends_bytes(request, host) => {
                let image = self.catalog.image(self.pulls[pull.index()].image);
                !self
                    .transfers
                    .is_warm(image.layers[usize::from(layer)].blob)
            }
            _ => false,
        };
        let node = &self.nodes[self.pulls[pull.index()].node.index()];
        registry.service_time(host, is_cold, &self.streams, node.key, draw)
    }

    fn response_arrives(&mut self, asked: HostRequest, response: Response, queue: &mut Queue) {
        let HostRequest {
            pull: id,
            request,
            host,
        } = asked;
        let from = self.registry_of(id);
        // A host serves a request before the response arrives, also at the same instant.
        let in_flight = self.registries[from].in_flight.get_mut(asked);
        if let Some(end) = in_flight.and_then(|in_flight| in_flight.service_end) {
            queue.cancel(end);
            self.served(asked, queue);
        }
        let holds_connection = self.registries[from].in_flight.remove(asked);
        if self.pulls[id.index()].ended {
            if holds_connection {
                self.registries[from].close(host);
                self.admit_waiting(queue);
            }
            return;
        }
        let retry_after = self.registries[from].spec.retry_after;
        let runtime = &self.spec.node.runtime;
        let next = match response {
            Response::Ok => return self.granted(id, request, host, queue),
            Response::TooManyRequests => self.tries(id, request).too_many(runtime, retry_after),
            Response::Unavailable => self.tries(id, request).unavailable(runtime),
        };
        self.retry_or_fail(id, request, next, queue);
    }

    /// A host has granted a request.
    fn granted(&mut self, id: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        let registry = &self.registries[self.registry_of(id)];
        if request.is_blob() && !registry.sends_bytes(request, host) {
            return self.contact_host(id, request, registry.blob_host(), queue);
        }
        self.note_response(id, request);
        self.proceed(id, request, queue);
    }

    /// Sends the next request of a pull, or starts the transfer of a blob.
    fn proceed(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        *self.tries(id, request) = Tries::default();
        let pull = &self.pulls[id.index()];
        let known = self.nodes[pull.node.index()].content.manifests[usize::from(pull.image.0)];
        match request {
            Request::Challenge => self.send(id, Request::Token, queue),
            Request::Token => self.send(id, Request::Resolve, queue),
            // Manifests in the content store are not requested again.
            Request::Resolve if known => self.plan_layers(id, queue),
            Request::Resolve if self.spec.images[pull.image.index()].index => {
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

    /// A transfer has passed its slow start.
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
            if let Some(disk) = self.nodes[pull.node.index()]
                .disk
                .as_mut()
                .filter(|_| self.spec.distribution.lazy.is_none())
            {
                disk.download_begins(queue.now(), id, layer);
            }
        } else {
            self.pulls[id.index()].config = Some(transfer);
        }
        self.check_stall(id, queue);
    }

    fn tries(&mut self, id: PullId, request: Request) -> &mut Tries {
        let pull = &mut self.pulls[id.index()];
        match request {
            Request::Layer(layer) => &mut pull.layer_tries[usize::from(layer)],
            _ => &mut pull.tries,
        }
    }

    fn retry_or_fail(&mut self, id: PullId, request: Request, next: Next, queue: &mut Queue) {
        match next {
            Next::GiveUp(error) => self.fail(id, error, queue),
            Next::Again(SimDuration::ZERO) => self.send(id, request, queue),
            Next::Again(wait) => {
                queue.schedule_in(wait, Event::Request(id, request, RequestEvent::Retry));
            }
        }
    }

    /// A host does not respond: the kernel keeps trying to connect.
    pub(crate) fn dial(
        &mut self,
        pull: PullId,
        request: Request,
        host: HostRole,
        queue: &mut Queue,
    ) {
        let since = queue.now();
        let first = FIRST_RETRANSMISSION.min(self.spec.node.runtime.dial_timeout);
        queue.schedule_in(
            first,
            Event::Request(pull, request, RequestEvent::Redial { host, since }),
        );
    }

    fn redial(
        &mut self,
        pull: PullId,
        request: Request,
        host: HostRole,
        since: SimTime,
        queue: &mut Queue,
    ) {
        let timeout = self.spec.node.runtime.dial_timeout;
        let waited = queue.now() - since;
        if waited >= timeout {
            self.totals.timeouts += 1;
            let runtime = &self.spec.node.runtime;
            let next = self.tries(pull, request).silence(runtime);
            self.retry_or_fail(pull, request, next, queue);
        } else if self.is_reachable(pull) {
            self.contact_host(pull, request, host, queue);
        } else {
            let next = (waited * 2 + FIRST_RETRANSMISSION).min(timeout);
            queue.schedule(
                since + next,
                Event::Request(pull, request, RequestEvent::Redial { host, since }),
            );
        }
    }
}
