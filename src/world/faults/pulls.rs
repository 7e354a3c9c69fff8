//! Pulls that fail: attempts that break on their way, and images that are not there at all.
//!
//! An attempt breaks with the same probability each time, in a layer and after a share of its bytes that are drawn; the
//! next attempt may succeed. A tag that is not there (a typing error, or an image that a mirror never got) is the
//! answer 404 to the request that resolves it, after the challenge and the token; every attempt ends so, for ever, and
//! its pods wait in image back-off for 10, 20, … 300 s.
//!
//! No published rate of either was found: guesses of 0.1 to 1 % for the first.
//!
//! Left out: an attempt at a tag that is not there does not keep other pulls of its node waiting (it lasts a few round
//! trips), and is never answered with 429.

use crate::engine::dist;
use crate::units::SimDuration;
use crate::world::World;
use crate::world::event::FaultEvent;
use crate::world::event::{Event, Queue};
use crate::world::ids::NEW;
use crate::world::ids::{NodeId, PodId};
use crate::world::nodes::pull_error::PullError;
use crate::world::registry::request::HostRole;

/// Round trips until the answer 404: a connection to the API (2) and its challenge, one to the token service (2) and its
/// answer, and the HEAD.
const ROUND_TRIPS: u64 = 7;
/// Requests that the API gets of them.
const REQUESTS: u32 = 2;

impl World<'_> {
    /// Where an attempt breaks, if it does: in which of its layers and after which share of its bytes.
    pub(crate) fn draw_planned_failure(&self, node: NodeId, attempt: u64) -> Option<(f64, f64)> {
        let key = self.nodes[node.index()].key;
        let mut rng = self.streams.stream_nth(key, "pull failure", attempt);
        let fails = dist::bernoulli(&mut rng, self.spec.faults.pull_failure.get());
        fails.then(|| (dist::unit(&mut rng), dist::unit(&mut rng)))
    }

    /// Whether the pod's image is not there for its cluster.
    pub(crate) fn is_missing(&self, pod: PodId) -> bool {
        let pod = &self.pods[pod.index()];
        pod.revision == NEW && self.clusters[pod.cluster.index()].draws.not_found
    }

    /// Asks for an image that is not there.
    pub(crate) fn request_missing_image(&mut self, pod: PodId, queue: &mut Queue) {
        let cluster = self.pods[pod.index()].cluster;
        let image = self.spec.workloads[self.pods[pod.index()].workload].image;
        let registry = self.spec.images[image].registry;
        for _ in 0..REQUESTS {
            self.registries[registry].count(HostRole::Api);
        }
        let takes: SimDuration = self.clusters[cluster.index()].rtt * ROUND_TRIPS;
        self.schedule_for_pod(pod, takes, Event::Fault(FaultEvent::NotFound { pod }), queue);
    }

    pub(super) fn not_found(&mut self, pod: PodId, queue: &mut Queue) {
        self.take_pod_event(pod);
        self.totals.pulls += 1;
        self.clusters[self.pods[pod.index()].cluster.index()].facts.pulls += 1;
        if self.cancel_pre_pull(pod, queue) {
            self.note_pull_failed(self.pods[pod.index()].cluster, PullError::NotFound);
            return;
        }
        self.mark_never_ready(pod);
        self.pull_failed(pod, PullError::NotFound, queue);
    }
}
