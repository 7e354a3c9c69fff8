//! A node: what its disk holds, its queue of image pulls, and its download and unpack slots.
//!
//! Left out: image garbage collection. The kubelet deletes images when the disk is 85 % full, looking every five minutes,
//! and never those of running pods; a rollout feels it only on disks too small for two revisions, and then in evictions,
//! which this model does not have either.

use std::collections::VecDeque;

use super::catalog::{Catalog, ImageRef};
use super::disk::Disk;
use super::distribution::Reading;
use super::gates::TokenBucket;
use super::ids::{ClusterId, PodId, PullId};
use crate::engine::EntityKey;
use crate::flow::LinkId;
use crate::units::{Bytes, BytesPerSec};

/// What a node has of a compressed layer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Blob {
    /// So many bytes of it, possibly none.
    Partial(Bytes),
    /// An attempt is fetching it; it began with so many bytes.
    Fetching(Bytes),
    /// All of it.
    Whole,
    /// All of it was here and was discarded after unpacking.
    Discarded,
    /// Enough of it that its layer is mounted; the rest is read on demand or comes in the background.
    Mounted,
}

/// What a node has of an unpacked chain of layers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Chain {
    Absent,
    Unpacking,
    Unpacked,
}

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) cluster: ClusterId,
    pub(super) key: EntityKey,
    pub(super) link: LinkId,
    pub(super) unpack_rate: BytesPerSec,
    /// What all unpacking writes through; none if the disk is no limit.
    pub(super) disk: Option<Disk>,
    /// Layers being unpacked.
    pub(super) unpacking: u32,
    pub(super) blobs: Vec<Blob>,
    pub(super) chains: Vec<Chain>,
    /// Per image: all its chains are unpacked and the runtime knows its name.
    pub(super) present: Vec<bool>,
    /// Per image: its index, manifest and config are in the content store.
    pub(super) manifests: Vec<bool>,
    /// Per image: how far its containers have read, when images are pulled lazily.
    pub(super) reading: Vec<Reading>,
    /// Pods whose pull has not started yet, first come first served.
    pub(super) pull_queue: VecDeque<PodId>,
    /// Pulls in progress.
    pub(super) pulls: Vec<PullId>,
    /// Calls of the kubelet that wait for one of these, when the runtime merges them.
    pub(super) merged_pulls: usize,
    /// The kubelet's own limit of pulls per second.
    pub(super) pull_rate: Option<TokenBucket>,
    /// Downloads that hold a slot, when slots are counted over the node.
    pub(super) slots_taken: u32,
    /// Layers (by index in their image) that wait for a slot of the node.
    pub(super) slot_queue: VecDeque<(PullId, u16)>,
    /// Pull attempts, requests, requests for blobs' bytes, unpackings and pods so far: the numbers of the node's draws.
    pub(super) attempts: u64,
    pub(super) requests: u64,
    pub(super) blob_requests: u64,
    pub(super) unpacks: u64,
    pub(super) pods: u32,
    /// It has failed and is not back.
    pub(super) down: bool,
    /// The control plane takes it for ready.
    pub(super) ready: bool,
    /// Failures so far.
    pub(super) failures: u32,
    /// The turn of its process of failures.
    pub(super) turn: u64,
    /// Pods that were deleted while it was away.
    pub(super) undead: Vec<PodId>,
}

impl Node {
    /// Puts an image on the disk as if it had been pulled long ago.
    pub(super) fn preload(&mut self, catalog: &Catalog, image: ImageRef, keep_blobs: bool) {
        for layer in &catalog.image(image).layers {
            self.chains[usize::from(layer.chain)] = Chain::Unpacked;
            self.blobs[usize::from(layer.blob)] = if keep_blobs { Blob::Whole } else { Blob::Discarded };
        }
        self.present[usize::from(image.0)] = true;
        self.reading[usize::from(image.0)] = Reading::Done;
        self.manifests[usize::from(image.0)] = true;
    }

    /// Bytes of blobs that are not whole: received, and of no use yet.
    pub(super) fn unfinished(&self) -> Bytes {
        self.blobs
            .iter()
            .map(|blob| match *blob {
                Blob::Partial(bytes) | Blob::Fetching(bytes) => bytes,
                Blob::Whole | Blob::Discarded | Blob::Mounted => Bytes::ZERO,
            })
            .sum()
    }
}
