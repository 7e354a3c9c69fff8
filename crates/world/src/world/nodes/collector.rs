//! containerd's garbage collector, which deletes the leftovers of a failed pull on a node.
//!
//! A pull holds its blobs, unpacked layers and unfinished downloads with a lease, which ends with the pull. Nothing
//! else holds them unless an image on the node has the same layers or another pull needs them. The collector runs
//! milliseconds to seconds after a lease has ended: after the mean time for which it locks the database, divided by
//! `pause_threshold` (2%). Source: containerd `docs/garbage-collection.md` @22f44c4, `client/pull.go`. In our
//! laboratory measurements, containerd requests manifests and finished layers of failed pulls again.
//!
//! Left out: the leftovers of a pull on a node that fails, because the lease remains for 24 h.

use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::node::{Blob, Chain, NodeContent, NodeState, ReadProgress};
use crate::world::nodes::pull::Pull;
use fleetsim_units::{Bytes, SimDuration, SimTime};

impl NodeState {
    /// Ends the lease of a failed pull.
    pub(super) fn lease_ends(&mut self, image: ImageRef, now: SimTime) {
        self.content_mut().failed[usize::from(image.0)] = Some(now);
    }

    /// Deletes the leftovers of failed pulls, if the collector has run in the meantime. It runs `after` the end of
    /// their leases. Returns the lost bytes of incomplete blobs.
    pub(super) fn collect(
        &mut self,
        after: SimDuration,
        pulls: &[Pull],
        catalog: &Catalog,
        now: SimTime,
    ) -> Bytes {
        let mut lost = Bytes::ZERO;
        let mut due: Vec<usize> = Vec::new();
        for (image, failed) in self.content.failed.iter().enumerate() {
            if failed.is_some_and(|at| at + after <= now) {
                due.push(image);
            }
        }
        if due.is_empty() {
            return lost;
        }
        let held = self.held_images(pulls);
        let content = self.content_mut();
        for image in due {
            content.failed[image] = None;
            if !held.contains(&image) {
                lost += content.delete_image(image, &held, catalog);
            }
        }
        lost
    }

    /// Removes an image from the node, with its parts that no other image has. Returns the lost bytes of incomplete
    /// blobs. `None`: the image is being pulled, and stays.
    pub(super) fn remove_image(
        &mut self,
        image: usize,
        pulls: &[Pull],
        catalog: &Catalog,
    ) -> Option<Bytes> {
        let mut is_pulled = false;
        for pull in &self.pulls {
            is_pulled |= usize::from(pulls[pull.index()].image.0) == image;
        }
        if is_pulled {
            return None;
        }
        let content = self.content_mut();
        content.present[image] = false;
        content.reading[image] = ReadProgress::NotYet;
        let held = self.held_images(pulls);
        Some(self.content_mut().delete_image(image, &held, catalog))
    }

    /// Returns the images that are on the node or being pulled.
    fn held_images(&self, pulls: &[Pull]) -> Vec<usize> {
        let mut is_held = self.content.present.clone();
        for pull in &self.pulls {
            is_held[usize::from(pulls[pull.index()].image.0)] = true;
        }
        (0..is_held.len()).filter(|&image| is_held[image]).collect()
    }
}

impl NodeContent {
    /// Deletes the parts of an image that no held image has. Returns the lost bytes of incomplete blobs.
    fn delete_image(&mut self, image: usize, held: &[usize], catalog: &Catalog) -> Bytes {
        let mut lost = Bytes::ZERO;
        self.manifests[image] = false;
        for layer in catalog.layers(image) {
            let mut is_blob_held = false;
            let mut is_chain_held = false;
            for held in held.iter().flat_map(|&held| catalog.layers(held)) {
                is_blob_held |= held.blob == layer.blob;
                is_chain_held |= held.chain == layer.chain;
            }
            if !is_blob_held {
                let blob = &mut self.blobs[usize::from(layer.blob)];
                if let Blob::Partial(bytes) = *blob {
                    lost += bytes;
                }
                *blob = Blob::Partial(Bytes::ZERO);
            }
            if !is_chain_held {
                self.chains[usize::from(layer.chain)] = Chain::Absent;
            }
        }
        lost
    }
}
