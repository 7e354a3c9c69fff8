//! Pulls that fail: attempts that break, and images that do not exist.
//!
//! Each attempt breaks with the same probability, in a random layer after a random share of its bytes; the next
//! attempt may succeed. A missing tag (a typo, or an image that a mirror never received) gets 404 to the request that
//! resolves it, after challenge and token. Every attempt ends like this, and its pods stay in image back-off for 10,
//! 20, … 300 s.
//!
//! No published rate of either was found; 0.1 to 1 % for the first is a guess.
//!
//! Left out: an attempt at a missing tag does not delay other pulls of its node (it takes a few round trips), and
//! never gets 429.

use crate::engine::dist;
use crate::world::World;
use crate::world::event::{Event, FaultEvent, Queue};
use crate::world::ids::{NEW, NodeId, PodId};
use crate::world::nodes::pull_error::PullError;
use crate::world::registry::request::HostRole;
use crate::world::registry::tcp;

/// Connections opened until the response 404: to the API and to the token service.
const CONNECTIONS: u64 = 2;
/// Requests until then, each with a round trip: the challenge, the token and the HEAD.
const ROUND_TRIPS: u64 = 3;
/// The number of them that reach the API.
const REQUESTS: u32 = 2;

impl World<'_> {
    /// Draws the relative position of the layer in which an attempt breaks, and the share of its bytes. `None`: it
    /// does not break.
    pub(crate) fn draw_planned_failure(&self, node: NodeId, attempt: u64) -> Option<(f64, f64)> {
        let key = self.nodes[node.index()].key;
        let mut rng = self.streams.stream_nth(key, "pull failure", attempt);
        let fails = dist::bernoulli(&mut rng, self.spec.faults.pull_failure.get());
        fails.then(|| (dist::unit(&mut rng), dist::unit(&mut rng)))
    }

    /// Whether the pod's image is missing in its cluster.
    pub fn is_missing(&self, pod: PodId) -> bool {
        let pod = &self.pods[pod.index()];
        pod.revision == NEW && self.clusters[pod.cluster.index()].draws.not_found
    }

    /// Requests an image that does not exist.
    pub(crate) fn request_missing_image(&mut self, pod: PodId, queue: &mut Queue) {
        let cluster = self.pods[pod.index()].cluster;
        let image = self.spec.workloads[self.pods[pod.index()].workload].image;
        let registry = self.spec.images[image].registry;
        for _ in 0..REQUESTS {
            self.registries[registry].count(HostRole::Api);
        }
        let rtt = self.clusters[cluster.index()].rtt;
        let takes =
            tcp::handshake(self.registries[registry].spec, rtt) * CONNECTIONS + rtt * ROUND_TRIPS;
        self.schedule_for_pod(pod, takes, Event::Fault(FaultEvent::NotFound(pod)), queue);
    }

    pub(super) fn not_found(&mut self, pod: PodId, queue: &mut Queue) {
        self.take_pod_event(pod);
        self.totals.pulls += 1;
        let cluster = self.pods[pod.index()].cluster;
        self.note_pull_begins(cluster, queue.now());
        self.note_pull_ends(cluster, queue.now());
        if self.cancel_pre_pull(pod, queue) {
            self.note_pull_failed(cluster, PullError::NotFound);
            return;
        }
        self.mark_never_ready(pod);
        self.pull_failed(pod, PullError::NotFound, queue);
    }
}
