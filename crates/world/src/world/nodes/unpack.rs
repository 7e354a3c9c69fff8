//! Unpacking: a layer moves from the content store to the disk, on top of the layer below.
//!
//! Each image unpacks one layer after another, unless `unpackSlots` is above 1. Then up to that many layers per node
//! are unpacked as soon as their blobs are available, and each is committed once all layers below it are committed
//! (containerd `core/unpack/unpacker.go` since 2.2, containerd/containerd#12332). A layer takes a constant, plus its
//! uncompressed bytes over a rate; a node with a `disk` writes them, and its downloads, to the disk.
//!
//! An uncompressed layer is only written: immediately to the page cache, and from there at the disk's rate. On a node
//! whose disk is never a limit, the rate is that of measured pulls, including their disk, and applies to every layer.
//! For zstd layers, the rate is multiplied by a factor.
//!
//! Left out: decompressors on several cores (set a higher rate), reading the blob back from the disk, and the time to
//! hash uncompressed content.

use crate::world::World;
use crate::world::event::{Event, PullEvent, Queue};
use crate::world::ids::{NodeId, PullId};
use crate::world::nodes::catalog::Catalog;
use crate::world::nodes::disk::EndedWrites;
use crate::world::nodes::node::{Blob, Chain, NodeState};
use crate::world::nodes::pull::Pull;
use crate::world::nodes::pull_progress::{Fetch, PullLayer};
use fleetsim_units::Bytes;

impl Pull {
    /// Returns whether a layer's blob is complete and its chain is neither unpacked nor being unpacked.
    fn can_unpack(&self, layer: usize, node: &NodeState, catalog: &Catalog) -> bool {
        let chain = catalog.image(self.image).layers[layer].chain;
        self.fetches[layer] == Fetch::Done
            && node.content.chains[usize::from(chain)] == Chain::Absent
    }

    /// Commits the unpacked layers that have no missing layer below them. Returns whether there were any.
    fn commit(&mut self, node: &mut NodeState, catalog: &Catalog, keep_blobs: bool) -> bool {
        let mut committed = false;
        while let Some(layer) = catalog.image(self.image).layers.get(self.unpack_next) {
            if node.content.chains[usize::from(layer.chain)] != Chain::Unpacked {
                let next = self.unpack_next;
                let own = self
                    .unpacked
                    .iter()
                    .position(|&own| usize::from(own) == next);
                let Some(own) = own else {
                    break;
                };
                self.unpacked.swap_remove(own);
                let content = node.content_mut();
                content.chains[usize::from(layer.chain)] = Chain::Unpacked;
                committed = true;
                let blob = &mut content.blobs[usize::from(layer.blob)];
                // Another pull may be downloading the blob again for another chain.
                if !keep_blobs && *blob == Blob::Whole {
                    *blob = Blob::Discarded;
                }
            }
            self.unpack_next += 1;
        }
        committed
    }
}

impl World<'_> {
    /// Starts to unpack layers, and ends the pull when no layer is left. Returns whether it committed a layer that
    /// other pulls may wait for.
    pub(crate) fn unpack_next(&mut self, id: PullId, queue: &mut Queue) -> bool {
        let pull = &self.pulls[id.index()];
        if pull.ended || pull.finishing || !pull.planned || pull.is_out_of_space {
            return false;
        }
        let node = pull.node;
        let committed = self.commit(id);
        let slots = self.spec.node.unpack_slots;
        let pull = &self.pulls[id.index()];
        let layers = self.catalog.image(pull.image).layers.len();
        if pull.unpack_next == layers {
            self.finish_if_downloaded(id, queue);
        } else if slots == 1 {
            let first = pull.unpack_next;
            let node = &self.nodes[node.index()];
            if pull.unpacking.is_empty() && pull.can_unpack(first, node, &self.catalog) {
                self.unpack(id, first, queue);
            }
        } else {
            for layer in pull.unpack_next..layers {
                let node = &self.nodes[node.index()];
                let pull = &self.pulls[id.index()];
                if node.unpacking < slots && pull.can_unpack(layer, node, &self.catalog) {
                    self.unpack(id, layer, queue);
                }
            }
        }
        committed
    }

    /// Finishes a pull whose layers are all committed, once its downloads have ended, so that only the constant part
    /// is left. The runtime waits for the downloads even if another pull has already unpacked the layers.
    fn finish_if_downloaded(&mut self, id: PullId, queue: &mut Queue) {
        let key = self.key_of_pod(&self.pods[self.pulls[id.index()].pod.index()]);
        let pull = &mut self.pulls[id.index()];
        if pull.fetches.iter().any(|fetch| *fetch != Fetch::Done) {
            return;
        }
        pull.finishing = true;
        let on = pull.node;
        let attempt = pull.attempt;
        let constant =
            self.spec
                .node
                .pull_constant
                .draw(&self.streams, key, "pull constant", attempt);
        self.note_unpack_begins(on);
        queue.schedule_in(constant, Event::Pull(id, PullEvent::Completed));
    }

    /// Commits the unpacked layers of a pull that have no missing layer below them. Returns whether there were any.
    fn commit(&mut self, id: PullId) -> bool {
        let pull = &mut self.pulls[id.index()];
        let node = &mut self.nodes[pull.node.index()];
        pull.commit(node, &self.catalog, self.spec.node.keep_blobs)
    }

    fn unpack(&mut self, id: PullId, at: usize, queue: &mut Queue) {
        if !self.takes_space_to_unpack(id, at, queue) {
            return;
        }
        let pull = &mut self.pulls[id.index()];
        let image = self.catalog.image(pull.image);
        let layer = image.layers[at];
        let node = &mut self.nodes[pull.node.index()];
        node.content_mut().chains[usize::from(layer.chain)] = Chain::Unpacking;
        node.unpacking += 1;
        let index = u16::try_from(at).expect("an image has fewer than 65 536 layers");
        pull.unpacking.push(index);
        let on = pull.node;
        let nth = node.unpacks;
        node.unpacks += 1;
        let constant =
            self.spec
                .node
                .unpack_per_layer
                .draw(&self.streams, node.key, "unpack per layer", nth);
        // A lazily pulled layer is mounted, not unpacked.
        if node.disk.is_some() && !image.is_lazy {
            queue.schedule_in(constant, Event::Pull(id, PullEvent::LayerWrites(index)));
        } else {
            let written = if image.is_lazy {
                Bytes::ZERO
            } else {
                layer.uncompressed
            };
            let writing = written
                .time_at(node.unpack_rates.of_packing(layer.packing))
                .expect("a checked unpack rate is not zero");
            queue.schedule_in(
                constant + writing,
                Event::Pull(id, PullEvent::Unpacked(index)),
            );
        }
        self.note_unpack_begins(on);
        self.watch_space(on, queue);
    }

    /// Records that a part of an image on a node begins to be unpacked or written.
    pub(super) fn note_unpack_begins(&mut self, node: NodeId) {
        let cluster = self.nodes[node.index()].cluster;
        self.clusters[cluster.index()].unpack_begins(&self.meter);
    }

    /// Records that `count` parts of images on a node are unpacked or written, or no longer needed.
    pub(super) fn note_unpacks_end(&mut self, node: NodeId, count: usize) {
        let cluster = self.nodes[node.index()].cluster;
        self.clusters[cluster.index()].unpacks_end(count, &self.meter);
    }

    /// Begins to write a layer to its node's disk.
    pub(crate) fn layer_writes(&mut self, id: PullId, layer: u16, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        if pull.ended {
            return;
        }
        let spec = self.catalog.image(pull.image).layers[usize::from(layer)];
        let bytes = spec.uncompressed.get() as f64;
        let node = pull.node;
        let state = &mut self.nodes[node.index()];
        let disk = state.disk.as_mut().expect("it writes to a disk");
        let layer = PullLayer::new(id, layer);
        disk.begin(queue.now(), layer, bytes, spec.packing);
        state.schedule_disk(node, queue);
    }

    /// Called when a layer is written or synced to its node's disk, or the disk's buffer is full.
    pub(crate) fn disk_changes(&mut self, id: NodeId, queue: &mut Queue) {
        let disk = self.nodes[id.index()]
            .disk
            .as_mut()
            .expect("an event of a disk");
        disk.event = None;
        let EndedWrites { synced, unpacked } = disk.take_ended(queue.now());
        for PullLayer { pull, layer } in synced {
            self.layer_synced(pull, layer, queue);
        }
        for PullLayer { pull, layer } in unpacked {
            self.unpacked(pull, layer, queue);
        }
        self.nodes[id.index()].schedule_disk(id, queue);
    }

    /// Called when a layer is unpacked.
    pub fn unpacked(&mut self, id: PullId, layer: u16, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        if pull.ended {
            return;
        }
        pull.unpacking.retain(|&other| other != layer);
        pull.unpacked.push(layer);
        let node = pull.node;
        self.nodes[node.index()].unpacking -= 1;
        self.note_unpacks_end(node, 1);
        self.commit(id);
        self.resume_node_pulls(id, queue);
    }

    /// Discards the uncommitted layers of a failed attempt.
    pub(crate) fn cancel_unpacking(&mut self, id: PullId, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        let node = &mut self.nodes[pull.node.index()];
        let on = pull.node;
        let layers = &self.catalog.image(pull.image).layers;
        let unpacking = std::mem::take(&mut pull.unpacking);
        let unpacked = std::mem::take(&mut pull.unpacked);
        let count = unpacking.len();
        node.unpacking -= count as u32;
        for at in unpacking.into_iter().chain(unpacked) {
            let layer = layers[usize::from(at)];
            node.content_mut().chains[usize::from(layer.chain)] = Chain::Absent;
        }
        if let Some(disk) = &mut node.disk {
            disk.cancel(queue.now(), id);
            node.schedule_disk(on, queue);
        }
        self.note_unpacks_end(on, count);
    }
}
