//! Pulls that fail: attempts that abort, and images that do not exist.
//!
//! Each attempt aborts with the same probability, in a random layer after a random share of its bytes; the next
//! attempt may succeed. A missing tag (a typo, or an image that a mirror never received) gets a 404 response to the
//! request that resolves it, after challenge and token. Every attempt fails in this way, and the pods stay in image
//! back-off for 10, 20, … 300 s.
//!
//! No published rates were found; for aborted attempts, 0.1 to 1% is a guess.
//!
//! Simplified: an attempt at a missing tag does not delay other pulls of its node (it takes a few round trips), and
//! never gets 429.

use crate::engine::{EntityKey, Streams, dist};
use crate::world::World;
use crate::world::event::{Event, FaultEvent, Queue};
use crate::world::ids::PodId;
use crate::world::meter::LoadChangeKind;
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::pull_wait::PullWaits;
use crate::world::registry::request::HostRole;
use crate::world::registry::tcp;
use fleetsim_units::Share;

/// Number of connections until a missing image gets its 404 response: to the API and to the token service.
const CONNECTIONS: u64 = 2;
/// Number of requests until the 404 response, each with a round trip: the challenge, the token and the HEAD.
const ROUND_TRIPS: u64 = 3;
/// Number of these requests that reach the API.
const REQUESTS: u32 = 2;

/// The point at which an attempt aborts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedFailure {
    /// The relative position of the layer among the missing layers, from 0 up to 1.
    pub(crate) position: f64,
    /// The share of the layer's bytes that arrive before the failure.
    pub(crate) bytes: f64,
}

impl PlannedFailure {
    /// Draws the failure of an attempt on a node. `None`: the attempt does not abort.
    pub(crate) fn draw(
        probability: Share,
        streams: &Streams,
        node: EntityKey,
        attempt: u64,
    ) -> Option<Self> {
        let mut rng = streams.stream_nth(node, "pull failure", attempt);
        if !dist::bernoulli(&mut rng, probability.get()) {
            return None;
        }
        let position = dist::unit(&mut rng);
        let bytes = dist::unit(&mut rng);
        Some(Self { position, bytes })
    }
}

impl World<'_> {
    /// Requests an image that does not exist.
    pub(crate) fn request_missing_image(&mut self, pod: PodId, queue: &mut Queue) {
        let image = self.workload_of(&self.pods[pod.index()]).image;
        let registry = self.spec.images[image].registry;
        for _ in 0..REQUESTS {
            self.registries[registry].count(HostRole::Api);
        }
        let rtt = self.cluster_of_pod(pod).rtt;
        let takes =
            tcp::handshake(self.registries[registry].spec, rtt) * CONNECTIONS + rtt * ROUND_TRIPS;
        self.pods
            .schedule(pod, takes, Event::Fault(FaultEvent::NotFound(pod)), queue);
    }

    pub(super) fn not_found(&mut self, pod: PodId, queue: &mut Queue) {
        self.pods.take_event(pod);
        self.count_pull(pod);
        let cluster = self.nodes[self.pods[pod.index()].node.index()].cluster;
        let application = self.application_of_pod(pod);
        self.meter
            .note_load(application, LoadChangeKind::PullBegins);
        self.meter.note_load(application, LoadChangeKind::PullEnds);
        let state = &mut self.clusters[cluster.index()];
        state.pull_begins(queue.now(), &mut self.meter);
        state.pull_ends(queue.now(), PullWaits::NONE, &mut self.meter);
        if self.cancel_pre_pull(pod, queue) {
            self.count_failed_pull(pod, PullError::NotFound);
            return;
        }
        self.pods[pod.index()].never_ready = true;
        self.pull_failed(pod, PullError::NotFound, queue);
    }
}
