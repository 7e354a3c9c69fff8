//! containerd's garbage collector: it deletes what a failed pull has left on a node.
//!
//! A pull holds its blobs, unpacked layers and unfinished downloads by a lease, which ends with it. Nothing else holds
//! them unless an image on the node has the same layers or another pull needs them. The collector runs soon after a
//! lease has ended: after the mean time that it locks the database, over `pause_threshold` (2 %), milliseconds to
//! seconds. Source: containerd `docs/garbage-collection.md` @22f44c4, `client/pull.go`. The laboratory's containerds
//! request manifests and finished layers of failed pulls again.
//!
//! Left out: what a node's failure leaves, because its lease lives on for 24 h.

use crate::world::World;
use crate::world::ids::{NodeId, PullId};
use crate::world::nodes::node::{Blob, Chain};
use crate::world::nodes::pull_error::PullError;
use fleetsim_units::{Bytes, SimTime};

impl World<'_> {
    /// A pull of an image has failed.
    pub(super) fn note_lease_ends(&mut self, id: PullId, error: PullError, now: SimTime) {
        if self.spec.node.runtime.collect_after.is_some() && error != PullError::NodeLost {
            let pull = &self.pulls[id.index()];
            let image = usize::from(pull.image.0);
            self.nodes[pull.node.index()].content_mut().failed[image] = Some(now);
        }
    }

    /// Deletes what failed pulls have left on a node, if the collector has run since.
    pub(super) fn collect(&mut self, id: NodeId, now: SimTime) {
        let Some(after) = self.spec.node.runtime.collect_after else {
            return;
        };
        let node = &self.nodes[id.index()];
        let is_due =
            |&image: &usize| node.content.failed[image].is_some_and(|at| at + after <= now);
        let images = 0..self.catalog.len();
        let due: Vec<usize> = images.clone().filter(is_due).collect();
        let is_pulled = |&image: &usize| {
            node.pulls
                .iter()
                .any(|pull| usize::from(self.pulls[pull.index()].image.0) == image)
        };
        let held: Vec<usize> = images
            .filter(|at| node.content.present[*at] || is_pulled(at))
            .collect();
        for image in due {
            let content = self.nodes[id.index()].content_mut();
            content.failed[image] = None;
            if held.contains(&image) {
                continue;
            }
            content.manifests[image] = false;
            for layer in self.catalog.layers(image) {
                let held_layers = || held.iter().flat_map(|&held| self.catalog.layers(held));
                if !held_layers().any(|held| held.blob == layer.blob) {
                    let blob = &mut content.blobs[usize::from(layer.blob)];
                    if let Blob::Partial(bytes) = *blob {
                        self.totals.lost += bytes;
                    }
                    *blob = Blob::Partial(Bytes::ZERO);
                }
                if !held_layers().any(|held| held.chain == layer.chain) {
                    content.chains[usize::from(layer.chain)] = Chain::Absent;
                }
            }
        }
    }
}
