//! Pulls that real machines carry out: the world orders them, and is notified when they have ended.
//!
//! Pods, kubelet, serial pulls and back-off are simulated, before and after a pull. Between the start and the end of a
//! pull nothing is simulated: no request, no transfer and no unpacking. An order has an event for its end that is
//! never due, so that the queue shows that an event is still expected. The caller that carries out the pull replaces
//! this event.
//!
//! Left out: the parts of a pull. A pull counts as one download from its start to its end, and a node's bytes are
//! counted when its pull has succeeded. Bytes and requests of the registry are measured values, and bytes that were
//! sent but are not in a complete blob count as lost.

use crate::engine::EventId;
use crate::world::event::{Event, PullEvent, Queue};
use crate::world::ids::{ClusterId, NodeId, PullId};
use crate::world::nodes::node::{Blob, Chain};
use crate::world::nodes::pull_error::PullError;
use crate::world::{Totals, World};
use fleetsim_rollout::Revision;
use fleetsim_units::{Bytes, BytesPerSec, SimTime};

/// A pull for real machines to carry out.
#[derive(Clone, Copy, Debug)]
pub struct PullOrder {
    /// The pull attempt.
    pub pull: PullId,
    /// The cluster of the pull.
    pub cluster: ClusterId,
    /// The node of the pull, by its number in the cluster.
    pub node: usize,
    /// Index of the image in [`crate::world::WorldSpec::images`].
    pub image: usize,
    /// The revision of the image.
    pub revision: Revision,
}

/// The orders of a world whose pulls are carried out by real machines, and their measurements.
#[derive(Debug, Default)]
pub(crate) struct PullOrders {
    new: Vec<PullOrder>,
    measured: Totals,
}

impl World<'_> {
    /// Switches from simulating pulls to ordering them ([`World::take_orders`]).
    pub fn order_pulls(&mut self) {
        self.orders = Some(Box::default());
    }

    /// Returns the pulls that have begun since the last call.
    pub fn take_orders(&mut self) -> Vec<PullOrder> {
        self.orders
            .as_mut()
            .map(|orders| std::mem::take(&mut orders.new))
            .unwrap_or_default()
    }

    /// Records that an ordered pull has ended at `at`, or failed.
    pub fn order_ends(
        &mut self,
        pull: PullId,
        at: SimTime,
        error: Option<PullError>,
        queue: &mut Queue,
    ) {
        let Some(never) = self.pulls[pull.index()].order else {
            return;
        };
        queue.cancel(never);
        let end = queue.schedule(
            at.max(queue.now()),
            Event::Pull(pull, PullEvent::OrderEnds(error)),
        );
        self.pulls[pull.index()].order = Some(end);
    }

    /// Sets the measured current sending rate of the registry.
    pub fn measure_egress(&mut self, now: SimTime, rate: BytesPerSec, at_capacity: bool) {
        self.meter.advance(now);
        self.meter.set_egress([(rate, at_capacity)].into_iter());
    }

    /// Sets the measured totals: bytes that left the registry and caches, requests and responses. Other totals are
    /// ignored.
    ///
    /// # Panics
    /// If pulls are simulated.
    pub fn measure_totals(&mut self, measured: Totals) {
        self.orders
            .as_mut()
            .expect("only pulls that are carried out are measured")
            .measured = measured;
    }

    /// Orders an attempt that has just begun.
    pub(super) fn order(&mut self, pull: PullId, queue: &mut Queue) {
        let node = self.pulls[pull.index()].node;
        let image = self.pulls[pull.index()].image;
        self.pulls[pull.index()].order =
            Some(queue.schedule(SimTime::MAX, Event::Pull(pull, PullEvent::OrderEnds(None))));
        self.note_download_begins(node);
        let cluster = self.nodes[node.index()].cluster;
        let revision = self.revision_of_pull(pull);
        let orders = self.orders.as_mut().expect("asked by the caller");
        orders.new.push(PullOrder {
            pull,
            cluster,
            node: node.index() - self.clusters[cluster.index()].nodes.start,
            image: self.catalog.specified_index(image),
            revision,
        });
    }

    pub(super) fn ordered_pull_ended(
        &mut self,
        id: PullId,
        error: Option<PullError>,
        queue: &mut Queue,
    ) {
        if self.pulls[id.index()].ended {
            return;
        }
        match error {
            Some(error) => self.fail(id, error, queue),
            None => {
                self.store_ordered(id);
                self.pulled(id, queue);
            }
        }
    }

    /// Returns the revision of the application whose image a pull brings.
    fn revision_of_pull(&self, pull: PullId) -> Revision {
        let pod = self.pulls[pull.index()].pod;
        self.pods[pod.index()].revision
    }

    /// Closes an order whose attempt has ended, successfully or not.
    pub(super) fn close_order(&mut self, node: NodeId, end: EventId, queue: &mut Queue) {
        queue.cancel(end);
        let cluster = self.nodes[node.index()].cluster;
        self.clusters[cluster.index()].download_ends(&mut self.meter);
    }

    /// Puts the image of a pull on its node, and counts the bytes that were missing.
    fn store_ordered(&mut self, id: PullId) {
        let pull = &self.pulls[id.index()];
        let node = &mut self.nodes[pull.node.index()];
        let image = self.catalog.image(pull.image);
        let cluster = node.cluster;
        let content = node.content_mut();
        let first_missing = content.unpacked_layers(&image.layers);
        let is_known = std::mem::replace(&mut content.manifests[usize::from(pull.image.0)], true);
        let mut received = if is_known { Bytes::ZERO } else { image.config };
        for layer in &image.layers[first_missing..] {
            let blob = &mut content.blobs[usize::from(layer.blob)];
            if *blob != Blob::Whole {
                received += layer.compressed;
            }
            *blob = Blob::Whole;
            content.chains[usize::from(layer.chain)] = Chain::Unpacked;
        }
        self.totals.received += received;
        self.clusters[cluster.index()].facts.received += received;
    }

    /// Replaces values in the totals by measured ones, in a world whose pulls are carried out by real machines.
    pub(crate) fn total_orders(&mut self) {
        let Some(orders) = &self.orders else { return };
        let measured = &orders.measured;
        let to_nodes = measured.sent + measured.from_caches + measured.from_peers;
        self.totals = Totals {
            sent: measured.sent,
            upstream: measured.upstream,
            from_caches: measured.from_caches,
            requests: measured.requests,
            responses_429: measured.responses_429,
            responses_503: measured.responses_503,
            timeouts: measured.timeouts,
            lost: to_nodes.saturating_sub(measured.upstream + self.totals.received),
            ..self.totals
        };
        let first = &mut self.registries[0];
        first.sent = measured.sent;
        first.requests = measured.requests;
        first.responses_429 = measured.responses_429;
        first.responses_503 = measured.responses_503;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EventQueue;
    use crate::world::ids::{NEW, TargetId};
    use crate::world::spec::PlatformSpec;
    use crate::world::testing::bare_world;
    use fleetsim_units::SimDuration;

    #[test]
    fn a_failed_pull_closes_its_order() {
        let mut spec = bare_world(1);
        spec.node.pull_deadline = Some(SimDuration::from_secs(4));
        let mut queue = EventQueue::new();
        let mut world = World::new(&spec, &PlatformSpec::INSTANT, 1, 0, &mut queue);
        world.order_pulls();
        world.instruct(TargetId::at(0), NEW, &mut queue);
        let mut downloads_at = |secs| {
            while let Some((_, event)) = queue.pop_until(SimTime::from_secs(secs)) {
                world.handle(event, &mut queue);
            }
            world.meter().downloads.value()
        };
        assert_eq!(
            [downloads_at(3), downloads_at(4)],
            [1, 0],
            "the deadline is at 4 s"
        );
    }
}
