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

use super::super::ids::{NodeId, PodId};
use super::super::pull::PullError;
use super::super::registry::HostRole;
use super::super::{Event, NEW, Queue, World};
use super::FaultEvent;
use crate::engine::dist;
use crate::units::SimDuration;

/// Round trips until the answer 404: a connection to the API (2) and its challenge, one to the token service (2) and its
/// answer, and the HEAD.
const ROUND_TRIPS: u64 = 7;
/// Requests that the API gets of them.
const REQUESTS: u32 = 2;

impl World<'_> {
    /// Where an attempt breaks, if it does: in which of its layers and after which share of its bytes.
    pub(in super::super) fn draw_doom(&self, node: NodeId, attempt: u64) -> Option<(f64, f64)> {
        let key = self.nodes[node.index()].key;
        let mut rng = self.streams.stream_nth(key, "pull failure", attempt);
        let fails = dist::bernoulli(&mut rng, self.spec.faults.pull_failure.get());
        fails.then(|| (dist::unit(&mut rng), dist::unit(&mut rng)))
    }

    /// Whether the pod's image is not there for its cluster.
    pub(in super::super) fn is_missing(&self, pod: PodId) -> bool {
        let pod = &self.pods[pod.index()];
        pod.revision == NEW && self.clusters[pod.cluster.index()].lot.not_found
    }

    /// Asks for an image that is not there.
    pub(in super::super) fn ask_in_vain(&mut self, pod: PodId, queue: &mut Queue) {
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
        self.take_from_pod(pod);
        self.totals.pulls += 1;
        self.clusters[self.pods[pod.index()].cluster.index()].facts.pulls += 1;
        if self.gives_up_pre_pull(pod, queue) {
            self.note_pull_failed(self.pods[pod.index()].cluster, PullError::NotFound);
            return;
        }
        self.give_up_hope(pod);
        self.pull_failed(pod, PullError::NotFound, queue);
    }
}
