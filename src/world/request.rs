//! The requests of a pull: what is asked of which host, in which order, and what happens when the answer is 429.
//!
//! Follows containerd `core/remotes/docker/{resolver,fetcher,authorizer}.go` at 301026e: a challenge and a token for each
//! pull, HEAD for the tag, index, manifest, config, and one request for each missing layer, blobs by way of a redirect.
//! A request that is answered with 429 is sent again at once, up to a number of tries in all; CRI-O waits in between.
//!
//! Left out: other errors than 429, and requests of other clients.

use super::ids::PullId;
use super::pull::{Cargo, Fetch, PullError};
use super::{Event, Queue, World};
use crate::units::SimDuration;

/// Round trips that setting up a TCP connection with TLS 1.3 costs before the first request.
const HANDSHAKE_ROUND_TRIPS: u64 = 2;

/// One request of a pull, in the order in which they are made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Request {
    /// The first HEAD, answered with 401 and where to get a token.
    Challenge,
    /// At the token service, which is another host and has no limit here.
    Token,
    /// The HEAD that resolves the tag.
    Resolve,
    /// The list of platforms.
    Index,
    /// The platform's manifest.
    Manifest,
    /// The config blob, by way of a redirect.
    Config,
    /// The layer at this index, by way of a redirect.
    Layer(u16),
}

impl World<'_> {
    /// Sends a request; its answer comes as an event.
    pub(super) fn send(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        let rtt = self.rtt(pull);
        let handshake = match request {
            Request::Challenge | Request::Token => rtt * HANDSHAKE_ROUND_TRIPS,
            _ => SimDuration::ZERO,
        };
        if request == Request::Token {
            let service = self.service_time(pull);
            queue.schedule_in(handshake + rtt + service, Event::Answered { pull, request, accepted: true });
        } else if self.registry.is_limited() {
            queue.schedule_in(handshake + rtt.mul_f64(0.5), Event::RequestArrives { pull, request });
        } else {
            // Without a limit the order of arrival decides nothing, so one event does for two.
            self.registry.admit(queue.now());
            let service = self.service_time(pull);
            queue.schedule_in(handshake + rtt + service, Event::Answered { pull, request, accepted: true });
        }
    }

    pub(super) fn request_arrives(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        if self.pulls[pull.index()].ended {
            return;
        }
        let accepted = self.registry.admit(queue.now());
        let service = if accepted { self.service_time(pull) } else { SimDuration::ZERO };
        let back = self.rtt(pull).mul_f64(0.5) + service;
        queue.schedule_in(back, Event::Answered { pull, request, accepted });
    }

    fn rtt(&self, pull: PullId) -> SimDuration {
        let node = &self.nodes[self.pulls[pull.index()].node.index()];
        self.clusters[node.cluster.index()].rtt
    }

    fn service_time(&mut self, pull: PullId) -> SimDuration {
        let node = &mut self.nodes[self.pulls[pull.index()].node.index()];
        let nth = node.requests;
        node.requests += 1;
        self.spec.registry.service_time.draw(&self.streams, node.key, "service time", nth)
    }

    pub(super) fn answered(&mut self, id: PullId, request: Request, accepted: bool, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        if pull.ended {
            return;
        }
        if !accepted {
            self.answered_429(id, request, queue);
            return;
        }
        pull.rejections = 0;
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
                queue.schedule_in(self.redirect_time(id), Event::BlobHostAnswers { pull: id, request });
            }
        }
    }

    fn answered_429(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        let rejections = match request {
            Request::Layer(layer) => &mut pull.layer_rejections[usize::from(layer)],
            _ => &mut pull.rejections,
        };
        *rejections += 1;
        let retry = self.spec.node.retry_429;
        if *rejections >= retry.attempts {
            self.fail(id, PullError::TooManyRequests, queue);
            return;
        }
        let doublings = (*rejections - 1).min(62);
        let wait = (retry.delay * (1 << doublings)).min(retry.delay_max);
        if wait.is_zero() {
            self.send(id, request, queue);
        } else {
            queue.schedule_in(wait, Event::RequestAgain { pull: id, request });
        }
    }

    pub(super) fn request_again(&mut self, pull: PullId, request: Request, queue: &mut Queue) {
        if !self.pulls[pull.index()].ended {
            self.send(pull, request, queue);
        }
    }

    /// From the redirect to the first byte: one round trip, and the connection's set-up the first time.
    fn redirect_time(&mut self, id: PullId) -> SimDuration {
        let rtt = self.rtt(id);
        let pull = &mut self.pulls[id.index()];
        let known = std::mem::replace(&mut pull.blob_host_known, true);
        if known { rtt } else { rtt * (1 + HANDSHAKE_ROUND_TRIPS) }
    }

    pub(super) fn blob_host_answers(&mut self, id: PullId, request: Request, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        if pull.ended {
            return;
        }
        match request {
            Request::Config => {
                let size = self.catalog.image(pull.image).config;
                let transfer = self.start_transfer(pull.node, size, Cargo::Config(id), queue);
                self.pulls[id.index()].config = Some(transfer);
            }
            Request::Layer(layer) => {
                let size = self.bytes_to_fetch(id, layer);
                let transfer = self.start_transfer(pull.node, size, Cargo::Layer(id, layer), queue);
                self.pulls[id.index()].fetches[usize::from(layer)] = Fetch::Downloading(transfer);
            }
            _ => unreachable!("only blobs are redirected"),
        }
    }
}
