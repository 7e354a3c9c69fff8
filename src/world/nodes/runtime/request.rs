//! The requests of a pull: what is asked of which host, in which order, and the way of each to its host and back.
//!
//! Follows containerd `core/remotes/docker/{resolver,fetcher,authorizer}.go` at 301026e: a challenge and a token for each
//! pull, HEAD for the tag, index, manifest, config, and one request for each missing layer, blobs by way of a redirect.
//! A request that is refused goes again to the host where it began, whichever host of a redirect refused it.
//!
//! A host that cannot be reached does not answer: the connection is tried again after 1, 3, 7, 15 … s (the kernel's first
//! retransmission comes after 1 s, RFC 6298, and each later wait is twice as long) until the runtime's dial time-out.
//!
//! Left out: 408 and 5xx other than 503 (no host here sends them), requests of other clients, and idle connections that
//! break silently: whoever asks while nothing answers is treated as if it had to connect anew.

use crate::units::{SimDuration, SimTime};
use crate::world::World;
use crate::world::distribution::{BlobSource, Routing};
use crate::world::event::{Event, Queue};
use crate::world::ids::PullId;
use crate::world::nodes::pull::{Fetch, Payload};
use crate::world::nodes::runtime::retries::{Next, Tries};
use crate::world::registry::HostRole;
use crate::world::registry::host::Admission;

/// Round trips that setting up a TCP connection with TLS 1.3 costs before the first request.
const HANDSHAKE_ROUND_TRIPS: u64 = 2;

/// From the first try to connect to the second. Source: RFC 6298, section 2; Linux doubles it each time.
const FIRST_RETRANSMISSION: SimDuration = SimDuration::from_secs(1);

/// One request of a pull, in the order in which they are made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Request {
    /// The first HEAD, answered with 401 and where to get a token.
    Challenge,
    /// At the token service.
    Token,
    /// The HEAD that resolves the tag.
    Resolve,
    /// The list of platforms.
    Index,
    /// The platform's manifest.
    Manifest,
    /// The config blob.
    Config,
    /// The layer at this index.
    Layer(u16),
}

/// What a host says to a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Response {
    /// What was asked for, or where to get it.
    Yes,
    /// 429.
    TooManyRequests,
    /// 503.
    Unavailable,
}

impl World<'_> {
    /// Sends a request to the host where it begins; its answer comes as an event.
    pub(crate) fn send(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        let (after, answer) = match self.route_request(pull, request, queue.now()) {
            Routing::Upstream { detour: SimDuration::ZERO } => return self.send_upstream(pull, request, queue),
            Routing::Upstream { detour } => {
                queue.schedule_in(detour, Event::GoesUpstream { pull, request });
                return;
            }
            Routing::Near { after } => (after, Response::Yes),
            Routing::Refused { after } => (after, Response::TooManyRequests),
            Routing::Waits => return,
        };
        queue.schedule_in(after, Event::NearAnswers { pull, request, answer });
    }

    pub(crate) fn send_upstream(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        if !self.pulls[pull.index()].ended {
            self.ask(pull, request, self.first_host(request), queue);
        }
    }

    /// A cache, a mirror or a peer has answered.
    pub(crate) fn near_answers(&mut self, id: PullId, request: Request, answer: Response, queue: &mut Queue) {
        if self.pulls[id.index()].ended {
            return;
        }
        if answer == Response::Yes {
            self.proceed(id, request, queue);
        } else {
            let runtime = &self.spec.node.runtime;
            let next = self.tries(id, request).too_many(runtime, None);
            self.retry_or_fail(id, request, next, queue);
        }
    }

    fn ask(&mut self, pull: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        if !self.is_reachable(pull) {
            self.dial(pull, request, host, queue);
            return;
        }
        let rtt = self.rtt(pull);
        let is_new = match (host, request) {
            (HostRole::Blobs, _) => !std::mem::replace(&mut self.pulls[pull.index()].blob_host_known, true),
            (_, request) => matches!(request, Request::Challenge | Request::Token),
        };
        let handshake = if is_new { rtt * HANDSHAKE_ROUND_TRIPS } else { SimDuration::ZERO };
        let from = self.registry_of(pull);
        if self.registries[from].is_limited(host) {
            queue.schedule_in(handshake + rtt.mul_f64(0.5), Event::RequestArrives { pull, request, host });
        } else {
            // Without a limit the order of arrival decides nothing, so one event does for two.
            self.registries[from].count(host);
            let service = self.service_time(pull, host);
            let answer = Response::Yes;
            queue.schedule_in(handshake + rtt + service, Event::Answered { pull, request, host, answer });
        }
    }

    pub(crate) fn request_arrives(&mut self, pull: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        let state = &self.pulls[pull.index()];
        if state.ended {
            return;
        }
        if !self.is_reachable(pull) {
            self.dial(pull, request, host, queue);
            return;
        }
        let cluster = self.nodes[state.node.index()].cluster;
        let from = self.registry_of(pull);
        let answer = match self.registries[from].arrives(host, (pull, request), cluster, queue.now()) {
            Admission::Serve => return self.serve(pull, request, host, queue),
            Admission::Wait => return,
            Admission::TooMany => Response::TooManyRequests,
            Admission::Unavailable => Response::Unavailable,
        };
        queue.schedule_in(self.rtt(pull).mul_f64(0.5), Event::Answered { pull, request, host, answer });
    }

    /// A host begins to serve a request.
    fn serve(&mut self, pull: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        let service = self.service_time(pull, host);
        let from = self.registry_of(pull);
        if self.registries[from].host(host).holds_requests() {
            queue.schedule_in(service, Event::Served { pull, request, host });
        } else {
            let back = self.rtt(pull).mul_f64(0.5) + service;
            queue.schedule_in(back, Event::Answered { pull, request, host, answer: Response::Yes });
        }
    }

    /// A host has served a request: it is free for the next, and the answer leaves.
    pub(crate) fn served(&mut self, pull: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        let from = self.registry_of(pull);
        let pulls = &self.pulls;
        let next = self.registries[from].host(host).worker_freed(|pull| !pulls[pull.index()].ended);
        if let Some((next, request)) = next {
            self.serve(next, request, host, queue);
        }
        let is_waited_for = !self.pulls[pull.index()].ended;
        let answers = is_waited_for && self.is_reachable(pull);
        if !(answers && self.sends_bytes(pull, request, host)) {
            self.registries[from].close(host);
        }
        self.admit_waiting(queue);
        if answers {
            let back = self.rtt(pull).mul_f64(0.5);
            queue.schedule_in(back, Event::Answered { pull, request, host, answer: Response::Yes });
        } else if is_waited_for {
            self.dial(pull, request, host, queue);
        }
    }

    /// Connections have been closed: who waits for one gets it.
    pub(crate) fn admit_waiting(&mut self, queue: &mut Queue) {
        for from in 0..self.registries.len() {
            while let Some(host) = self.registries[from].take_closed() {
                loop {
                    let pulls = &self.pulls;
                    let next = self.registries[from].host(host).next_from_outside(|pull| !pulls[pull.index()].ended);
                    let Some((pull, request)) = next else { break };
                    self.serve(pull, request, host, queue);
                }
            }
        }
    }

    fn service_time(&mut self, pull: PullId, host: HostRole) -> SimDuration {
        let from = self.registry_of(pull);
        let registry = self.spec.registry_at(from);
        let node = &mut self.nodes[self.pulls[pull.index()].node.index()];
        let (model, purpose, count) = match host {
            HostRole::Api => (&registry.api.service_time, "service time", &mut node.requests),
            HostRole::Token => (&registry.token.service_time, "service time", &mut node.requests),
            HostRole::Blobs => (&registry.blobs.service_time, "blob service time", &mut node.blob_requests),
        };
        let nth = *count;
        *count += 1;
        let usual = model.draw(&self.streams, node.key, purpose, nth);
        let slowness = self.registries[from].slowness();
        if slowness > 1.0 { usual.mul_f64(slowness) } else { usual }
    }

    pub(crate) fn answered(
        &mut self,
        id: PullId,
        request: Request,
        host: HostRole,
        answer: Response,
        queue: &mut Queue,
    ) {
        if self.pulls[id.index()].ended {
            if answer == Response::Yes && self.sends_bytes(id, request, host) {
                let from = self.registry_of(id);
                self.registries[from].close(host);
                self.admit_waiting(queue);
            }
            return;
        }
        let retry_after = self.spec.registry_at(self.registry_of(id)).retry_after;
        let runtime = &self.spec.node.runtime;
        let next = match answer {
            Response::Yes => return self.granted(id, request, host, queue),
            Response::TooManyRequests => self.tries(id, request).too_many(runtime, retry_after),
            Response::Unavailable => self.tries(id, request).unavailable(runtime),
        };
        self.retry_or_fail(id, request, next, queue);
    }

    /// A host said yes.
    fn granted(&mut self, id: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        let is_blob = matches!(request, Request::Config | Request::Layer(_));
        if is_blob && !self.sends_bytes(id, request, host) {
            self.ask(id, request, self.sender(self.registry_of(id)), queue);
            return;
        }
        self.note_response(id, request);
        self.proceed(id, request, queue);
    }

    /// What was asked for is granted: what comes next?
    fn proceed(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        *self.tries(id, request) = Tries::default();
        let pull = &self.pulls[id.index()];
        let known = self.nodes[pull.node.index()].manifests[usize::from(pull.image.0)];
        match request {
            Request::Challenge => self.send(id, Request::Token, queue),
            Request::Token => self.send(id, Request::Resolve, queue),
            // What the content store has is not asked for again.
            Request::Resolve if known => self.plan_layers(id, queue),
            Request::Resolve => self.send(id, Request::Index, queue),
            Request::Index => self.send(id, Request::Manifest, queue),
            Request::Manifest => self.send(id, Request::Config, queue),
            Request::Config | Request::Layer(_) => {
                let ramp_up = match self.source(id, request) {
                    BlobSource::Registry => self.ramp_up(id, self.blob_size(id, request)),
                    _ => SimDuration::ZERO,
                };
                if ramp_up.is_zero() {
                    self.start_blob(id, request, queue);
                } else {
                    queue.schedule_in(ramp_up, Event::RampedUp { pull: id, request });
                }
            }
        }
    }

    /// A transfer has come to its full rate.
    pub(crate) fn ramped_up(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        if self.pulls[id.index()].ended {
            let from = self.registry_of(id);
            let sender = self.sender(from);
            self.registries[from].close(sender);
            self.admit_waiting(queue);
        } else {
            self.start_blob(id, request, queue);
        }
    }

    fn blob_size(&self, id: PullId, request: Request) -> crate::units::Bytes {
        match request {
            Request::Layer(layer) => self.bytes_to_fetch(id, layer),
            _ => self.catalog.image(self.pulls[id.index()].image).config,
        }
    }

    fn start_blob(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        let size = self.blob_size(id, request);
        let payload = if let Request::Layer(layer) = request { Payload::Layer(id, layer) } else { Payload::Config(id) };
        let transfer = match self.source(id, request) {
            BlobSource::Registry => self.start_transfer(id, size, payload, queue),
            _ => self.start_nearby_transfer(id, request, size, payload, queue),
        };
        if let Request::Layer(layer) = request {
            self.pulls[id.index()].fetches[usize::from(layer)] = Fetch::Downloading(transfer);
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
                queue.schedule_in(wait, Event::RequestAgain { pull: id, request });
            }
        }
    }

    pub(crate) fn request_again(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        if !self.pulls[pull.index()].ended {
            self.send(pull, request, queue);
        }
    }

    /// A host does not answer: the kernel goes on trying to connect.
    pub(crate) fn dial(&mut self, pull: PullId, request: Request, host: HostRole, queue: &mut Queue) {
        let since = queue.now();
        let first = FIRST_RETRANSMISSION.min(self.spec.node.runtime.dial_timeout);
        queue.schedule_in(first, Event::DialAgain { pull, request, host, since });
    }

    pub(crate) fn dial_again(
        &mut self,
        pull: PullId,
        request: Request,
        host: HostRole,
        since: SimTime,
        queue: &mut Queue,
    ) {
        if self.pulls[pull.index()].ended {
            return;
        }
        let timeout = self.spec.node.runtime.dial_timeout;
        let waited = queue.now() - since;
        if waited >= timeout {
            self.totals.timeouts += 1;
            let runtime = &self.spec.node.runtime;
            let next = self.tries(pull, request).silence(runtime);
            self.retry_or_fail(pull, request, next, queue);
        } else if self.is_reachable(pull) {
            self.ask(pull, request, host, queue);
        } else {
            let next = (waited * 2 + FIRST_RETRANSMISSION).min(timeout);
            queue.schedule(since + next, Event::DialAgain { pull, request, host, since });
        }
    }
}
