//! The space on a node's disk: what images take of it, and pulls that do not fit.
//!
//! The disk has a size (`node.disk.size`). It holds what the node itself uses, unused images of other releases, and
//! the images of the release: each blob with its compressed size, and each unpacked layer with its size on disk. So a
//! layer counts twice while it is unpacked, and afterwards as long as the runtime keeps blobs (`node.keepBlobs`). A
//! layer that several images share counts once, as does an unpacked layer on the same base.
//!
//! A download takes the space of the whole layer when it begins. If there is less, the free bytes arrive and then the
//! pull fails with "no space left on device", as it does in containerd. An unpacked layer takes its space when its
//! unpacking begins, and the pull fails then if there is less. The kubelet backs off and tries again.
//!
//! `image_collection` has what the kubelet does before the disk is full.
//!
//! Left out: a second disk for images, logs and volumes that grow during a rollout, inodes, blocks that the file
//! system reserves for root, and the time for which unpacking writes in vain.

use crate::world::World;
use crate::world::event::{Event, PullEvent, Queue};
use crate::world::ids::{NodeId, PodId, PullId};
use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::node::{Blob, Chain, NodeContent, NodeState};
use crate::world::nodes::pull::Pull;
use crate::world::nodes::pull_progress::Fetch;
use crate::world::nodes::spec::NodeSpec;
use fleetsim_units::SimTime;

/// The size of each blob and of each chain of layers, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentSizes {
    blobs: Vec<u64>,
    chains: Vec<u64>,
}

impl ContentSizes {
    pub(crate) fn of(catalog: &Catalog) -> Self {
        let mut sizes = Self {
            blobs: vec![0; catalog.blobs],
            chains: vec![0; catalog.chains],
        };
        for image in 0..catalog.len() {
            for layer in catalog.layers(image) {
                sizes.blobs[usize::from(layer.blob)] = layer.compressed.get();
                sizes.chains[usize::from(layer.chain)] = layer.uncompressed.get();
            }
        }
        sizes
    }

    /// Returns the bytes of a node's content, without downloads in progress.
    fn of_content(&self, content: &NodeContent) -> u64 {
        let mut bytes = 0;
        for (blob, size) in content.blobs.iter().zip(&self.blobs) {
            bytes += match *blob {
                Blob::Partial(have) | Blob::Fetching(have) => have.get(),
                Blob::Whole | Blob::Mounted => *size,
                Blob::Discarded => 0,
            };
        }
        for (chain, size) in content.chains.iter().zip(&self.chains) {
            if *chain != Chain::Absent {
                bytes += size;
            }
        }
        bytes
    }

    /// Returns the bytes that the downloads in progress of a pull will add to a node's content.
    fn of_downloads(&self, pull: &Pull, node: &NodeState, catalog: &Catalog) -> u64 {
        let mut bytes = 0;
        for (fetch, layer) in pull.fetches.iter().zip(&catalog.image(pull.image).layers) {
            let has_space = matches!(
                fetch,
                Fetch::Downloading(_) | Fetch::Settling(_) | Fetch::Syncing(_)
            );
            let blob = usize::from(layer.blob);
            if let Blob::Fetching(have) = node.content.blobs[blob]
                && has_space
            {
                bytes += self.blobs[blob].saturating_sub(have.get());
            }
        }
        bytes
    }
}

impl NodeSpec {
    /// Returns whether disks have a size.
    pub(crate) fn has_limited_space(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| disk.size.is_some())
    }
}

impl NodeState {
    /// Leaves no images of other releases on the node, which is new.
    pub(crate) fn clear_old_images(&mut self) {
        if let Some(space) = &mut self.space {
            space.unused = 0;
        }
    }

    /// Counts a pod that runs an image on the node, or waits for it.
    pub(crate) fn uses_image(&mut self, image: ImageRef) {
        if let Some(space) = &mut self.space {
            space.use_of(image).pods += 1;
        }
    }

    /// Counts the end of such a pod.
    pub(crate) fn leaves_image(&mut self, image: ImageRef, now: SimTime) {
        if let Some(space) = &mut self.space {
            let used = space.use_of(image);
            used.pods -= 1;
            used.last_used = now;
        }
    }

    /// Records that an image was pulled.
    pub(super) fn image_pulled(&mut self, image: ImageRef, now: SimTime) {
        if let Some(space) = &mut self.space {
            let used = space.use_of(image);
            used.pulled = Some(now);
            used.last_used = now;
        }
    }
}

impl World<'_> {
    /// Returns the free bytes of a node's disk. `None`: the disk has no limit.
    pub(super) fn free_space(&self, id: NodeId) -> Option<u64> {
        let node = &self.nodes[id.index()];
        let space = node.space.as_ref()?;
        let mut taken = space.used + space.unused + self.sizes.of_content(&node.content);
        for pull in &node.pulls {
            let pull = &self.pulls[pull.index()];
            taken += self.sizes.of_downloads(pull, node, &self.catalog);
        }
        Some(space.size.saturating_sub(taken))
    }

    /// Called before a layer's download begins. If the layer does not fit, only the free bytes will arrive.
    pub(super) fn take_space_for_download(&mut self, id: PullId, layer: u16) {
        let pull = &self.pulls[id.index()];
        let Some(free) = self.free_space(pull.node) else {
            return;
        };
        if self.bytes_to_fetch(id, layer).get() > free && pull.failing_layer.is_none() {
            let pull = &mut self.pulls[id.index()];
            pull.failing_layer = Some(usize::from(layer));
            pull.free_bytes = Some(free);
        }
    }

    /// Called before a layer is unpacked. Returns whether it fits; if not, the pull fails at this instant.
    pub(super) fn takes_space_to_unpack(
        &mut self,
        id: PullId,
        at: usize,
        queue: &mut Queue,
    ) -> bool {
        let pull = &self.pulls[id.index()];
        let needed = self.catalog.image(pull.image).layers[at].uncompressed.get();
        let fits = (self.free_space(pull.node)).is_none_or(|free| needed <= free);
        if !fits {
            self.pulls[id.index()].is_out_of_space = true;
            queue.schedule(queue.now(), Event::Pull(id, PullEvent::NoSpace));
        }
        fits
    }

    /// Called when the last container of a pod is gone from its node.
    pub(crate) fn pod_leaves_disk(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &self.pods[id.index()];
        let node = pod.node;
        self.nodes[node.index()].leaves_image(pod.image, queue.now());
        self.watch_space(node, queue);
    }
}
