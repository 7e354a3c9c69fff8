//! A node: what its disk holds, its queue of image pulls, and its download and unpack slots.
//!
//! Left out: image garbage collection. The kubelet deletes images when the disk is 85 % full, looking every five minutes,
//! and never those of running pods; a rollout feels it only on disks too small for two revisions, and then in evictions,
//! which this model does not have either.

use crate::world::spec::NodeSpec;
use std::collections::VecDeque;

use crate::engine::EntityKey;
use crate::units::{Bytes, BytesPerSec};
use crate::world::ids::{ClusterId, PodId, PullId};
use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::disk::Disk;
use crate::world::token_bucket::TokenBucket;

/// What a node has of a compressed layer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Blob {
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
pub(crate) enum Chain {
    Absent,
    Unpacking,
    Unpacked,
}

/// How far the containers of an image have read on a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum ReadProgress {
    #[default]
    NotYet,
    /// These pods wait for what is being read.
    Now(Vec<PodId>),
    Done,
}

/// The state of one node.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) cluster: ClusterId,
    pub(crate) key: EntityKey,
    pub(crate) unpack_rate: BytesPerSec,
    /// What all unpacking writes through; none if the disk is no limit.
    pub(crate) disk: Option<Disk>,
    /// Layers being unpacked.
    pub(crate) unpacking: u32,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) chains: Vec<Chain>,
    /// Per image: all its chains are unpacked and the runtime knows its name.
    pub(crate) present: Vec<bool>,
    /// Per image: its index, manifest and config are in the content store.
    pub(crate) manifests: Vec<bool>,
    /// Per image: how far its containers have read, when images are pulled lazily.
    pub(crate) reading: Vec<ReadProgress>,
    /// Pods whose pull has not started yet, first come first served.
    pub(crate) pull_queue: VecDeque<PodId>,
    /// Pulls in progress.
    pub(crate) pulls: Vec<PullId>,
    /// Calls of the kubelet that wait for one of these, when the runtime merges them.
    pub(crate) merged_pulls: usize,
    /// The kubelet's own limit of pulls per second.
    pub(crate) pull_rate: Option<TokenBucket>,
    /// Downloads that hold a slot, when slots are counted over the node.
    pub(crate) slots_taken: u32,
    /// Layers (by index in their image) that wait for a slot of the node.
    pub(crate) slot_queue: VecDeque<(PullId, u16)>,
    /// Pull attempts, requests, requests for blobs' bytes, unpackings and pods so far: the numbers of the node's draws.
    pub(crate) attempts: u64,
    pub(crate) requests: u64,
    pub(crate) blob_requests: u64,
    pub(crate) unpacks: u64,
    pub(crate) pods: u32,
    /// It has failed and is not back.
    pub(crate) down: bool,
    /// The control plane takes it for ready.
    pub(crate) ready: bool,
    /// Failures so far.
    pub(crate) failures: u32,
    /// The turn of its process of failures.
    pub(crate) turn: u64,
    /// Pods that were deleted while it was away.
    pub(crate) terminating_on_lost_node: Vec<PodId>,
}

impl NodeState {
    /// A node with an empty disk.
    pub(crate) fn new(
        spec: &NodeSpec,
        catalog: &Catalog,
        cluster: ClusterId,
        key: EntityKey,
        unpack_rate: BytesPerSec,
    ) -> Self {
        Self {
            cluster,
            key,
            unpack_rate,
            disk: spec.disk.map(|disk| Disk::new(disk, unpack_rate)),
            unpacking: 0,
            blobs: vec![Blob::Partial(Bytes::ZERO); catalog.blobs],
            chains: vec![Chain::Absent; catalog.chains],
            present: vec![false; catalog.len()],
            manifests: vec![false; catalog.len()],
            reading: vec![ReadProgress::NotYet; catalog.len()],
            pull_queue: VecDeque::new(),
            pulls: Vec::new(),
            pull_rate: spec.pull_rate.map(TokenBucket::new),
            merged_pulls: 0,
            slots_taken: 0,
            slot_queue: VecDeque::new(),
            attempts: 0,
            requests: 0,
            blob_requests: 0,
            unpacks: 0,
            pods: 0,
            down: false,
            ready: true,
            failures: 0,
            turn: 0,
            terminating_on_lost_node: Vec::new(),
        }
    }

    /// Puts an image on the disk as if it had been pulled long ago.
    pub(crate) fn preload(&mut self, catalog: &Catalog, image: ImageRef, keep_blobs: bool) {
        for layer in &catalog.image(image).layers {
            self.chains[usize::from(layer.chain)] = Chain::Unpacked;
            self.blobs[usize::from(layer.blob)] = if keep_blobs { Blob::Whole } else { Blob::Discarded };
        }
        self.present[usize::from(image.0)] = true;
        self.reading[usize::from(image.0)] = ReadProgress::Done;
        self.manifests[usize::from(image.0)] = true;
    }

    /// Bytes of blobs that are not whole: received, and of no use yet.
    pub(crate) fn unfinished(&self) -> Bytes {
        self.blobs
            .iter()
            .map(|blob| match *blob {
                Blob::Partial(bytes) | Blob::Fetching(bytes) => bytes,
                Blob::Whole | Blob::Discarded | Blob::Mounted => Bytes::ZERO,
            })
            .sum()
    }
}
