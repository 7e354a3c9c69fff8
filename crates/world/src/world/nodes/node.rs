//! A node: the content of its disk, its queue of image pulls, and its download and unpack slots.
//!
//! `space` has the size of the disk, and `image_collection` the images that the kubelet removes.

use crate::world::nodes::spec::NodeSpec;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use crate::engine::EntityKey;
use crate::world::event::{Event, Queue};
use crate::world::ids::{ClusterId, NodeId, PodId, PullId};
use crate::world::nodes::catalog::{Catalog, Image, ImageRef, Layer};
use crate::world::nodes::disk::{Disk, UnpackRates};
use crate::world::nodes::disk_space::DiskSpace;
use crate::world::nodes::pull_progress::PullLayer;
use crate::world::registry::request::HostRole;
use crate::world::token_bucket::TokenBucket;
use fleetsim_units::{Bytes, BytesPerSec, Factor, SimDuration, SimTime};

/// The part of a compressed layer that is on a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Blob {
    /// This many bytes of the blob, possibly none.
    Partial(Bytes),
    /// An attempt is downloading the blob, and started with this many bytes.
    Fetching(Bytes),
    /// All of the blob is on the node.
    Whole,
    /// The blob was complete, and was discarded after unpacking.
    Discarded,
    /// Enough of the blob to mount its layer; the rest is read on demand or downloaded in the background.
    Mounted,
}

/// The state of a chain of layers on a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Chain {
    Absent,
    Unpacking,
    Unpacked,
}

/// A pod whose pull has not started yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedPull {
    pub(crate) pod: PodId,
    /// The time at which the kubelet requested the image.
    pub(crate) asked: SimTime,
}

/// The on-demand reads of an image's containers on a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum ReadProgress {
    #[default]
    NotYet,
    /// The reads are in progress; these pods wait for them.
    Now(Vec<PodId>),
    Done,
}

/// The parts of each image that a node has. Nodes with equal content share it; most nodes have equal content before
/// and after an update.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeContent {
    pub blobs: Vec<Blob>,
    pub chains: Vec<Chain>,
    /// For each image, whether all its chains are unpacked and the runtime knows its name.
    pub present: Vec<bool>,
    /// For each image, whether its index, manifest and config are in the content store.
    pub manifests: Vec<bool>,
    /// For each image, the reads of its containers if images are pulled lazily.
    pub reading: Vec<ReadProgress>,
    /// For each image, when its last pull failed, if that pull left something to collect.
    pub failed: Vec<Option<SimTime>>,
}

impl NodeContent {
    /// Creates the content of a node that has nothing.
    pub(crate) fn new(catalog: &Catalog) -> Self {
        Self {
            blobs: vec![Blob::Partial(Bytes::ZERO); catalog.blobs],
            chains: vec![Chain::Absent; catalog.chains],
            present: vec![false; catalog.len()],
            manifests: vec![false; catalog.len()],
            reading: vec![ReadProgress::NotYet; catalog.len()],
            failed: vec![None; catalog.len()],
        }
    }

    /// Returns how many of these layers, from the bottom up, are unpacked.
    pub(super) fn unpacked_layers(&self, layers: &[Layer]) -> usize {
        layers
            .iter()
            .take_while(|layer| self.chains[usize::from(layer.chain)] == Chain::Unpacked)
            .count()
    }
}

/// Recent contents of nodes, which the next node with the same content can share.
#[derive(Debug)]
pub(crate) struct KnownContents {
    known: Vec<Rc<NodeContent>>,
    /// Index of the content that is replaced next.
    oldest: usize,
}

impl KnownContents {
    const MOST: usize = 8;

    /// Creates the list with a first content.
    pub(crate) fn new(first: NodeContent) -> Self {
        Self {
            known: vec![Rc::new(first)],
            oldest: 0,
        }
    }

    /// Returns the first known content.
    pub(crate) fn first(&self) -> Rc<NodeContent> {
        Rc::clone(&self.known[0])
    }

    /// Replaces a content with an equal one that other nodes share, if there is one.
    pub(crate) fn share(&mut self, content: &mut Rc<NodeContent>) {
        let same = self
            .known
            .iter()
            .find(|known| Rc::ptr_eq(known, content) || ***known == **content);
        if let Some(same) = same {
            *content = Rc::clone(same);
        } else if self.known.len() < Self::MOST {
            self.known.push(Rc::clone(content));
        } else {
            self.known[self.oldest] = Rc::clone(content);
            self.oldest = (self.oldest + 1) % Self::MOST;
        }
    }
}

/// The hardware of a node that limits how fast images are unpacked and written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeHardware {
    pub(crate) unpack_rate: BytesPerSec,
    /// The disk. `None`: the disk never limits the rate.
    pub(crate) disk: Option<DiskHardware>,
}

/// The rate of a disk, and the size of its buffer of dirty pages in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskHardware {
    pub(crate) rate: BytesPerSec,
    pub(crate) buffer: Bytes,
}

/// The state of one node.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub cluster: ClusterId,
    pub key: EntityKey,
    /// Number of requests, requests to blob hosts and unpackings so far. These numbers identify the node's random
    /// draws.
    pub requests: u64,
    pub(crate) blob_requests: u64,
    pub(crate) unpacks: u64,
    pub content: Rc<NodeContent>,
    /// The disk to which layers are written. `None`: the disk never limits the rate.
    pub disk: Option<Box<Disk>>,
    /// The space on the disk. `None`: it has no limit.
    pub(crate) space: Option<Box<DiskSpace>>,
    /// Number of layers being unpacked.
    pub unpacking: u32,
    pub(crate) unpack_rates: UnpackRates,
    /// Pulls in progress.
    pub pulls: Vec<PullId>,
    /// Number of downloads that hold a slot, if slots are counted per node.
    pub(crate) slots_taken: u32,
    /// Layers that wait for a slot of the node.
    pub(crate) slot_queue: VecDeque<PullLayer>,
    /// Pods whose pull has not started yet, first come first served.
    pub(crate) pull_queue: VecDeque<QueuedPull>,
    /// Pods in image back-off, and some that have left it.
    pub(crate) backing_off: Vec<PodId>,
    /// Number of kubelet calls that wait for a pull in progress, if the runtime merges calls.
    pub(crate) merged_pulls: usize,
    /// The kubelet's own limit on pulls per second.
    pub(crate) pull_rate: Option<TokenBucket>,
    /// The time at which the node can start another pod, if its rate of starts is limited.
    pub(crate) next_start: SimTime,
    /// Whether the node has failed and not recovered.
    pub down: bool,
    /// Whether the control plane considers the node ready.
    pub ready: bool,
    /// Number of failures so far.
    pub failures: u32,
    /// The current cycle of the node's failure process.
    pub turn: u64,
    /// Pods that were deleted while the node was down.
    pub(crate) terminating_on_lost_node: Vec<PodId>,
}

impl NodeState {
    /// Creates a node with this content.
    pub(crate) fn new(
        spec: &NodeSpec,
        content: Rc<NodeContent>,
        cluster: ClusterId,
        key: EntityKey,
        hardware: NodeHardware,
    ) -> Self {
        let unpack_rates = UnpackRates::of(hardware.unpack_rate, spec.zstd_factor);
        let disk = hardware
            .disk
            .map(|disk| Box::new(Disk::new(disk.rate, disk.buffer, unpack_rates)));
        Self {
            cluster,
            key,
            unpack_rates,
            disk,
            space: None,
            unpacking: 0,
            content,
            pull_queue: VecDeque::new(),
            backing_off: Vec::new(),
            pulls: Vec::new(),
            pull_rate: spec.pull_rate().map(TokenBucket::new),
            merged_pulls: 0,
            slots_taken: 0,
            slot_queue: VecDeque::new(),
            requests: 0,
            blob_requests: 0,
            unpacks: 0,
            next_start: SimTime::ZERO,
            down: false,
            ready: true,
            failures: 0,
            turn: 0,
            terminating_on_lost_node: Vec::new(),
        }
    }

    /// Puts an image on the node, in its state long after a pull.
    pub(crate) fn preload(&mut self, catalog: &Catalog, image: ImageRef, keep_blobs: bool) {
        let content = self.content_mut();
        for layer in &catalog.image(image).layers {
            content.chains[usize::from(layer.chain)] = Chain::Unpacked;
            content.blobs[usize::from(layer.blob)] = if keep_blobs {
                Blob::Whole
            } else {
                Blob::Discarded
            };
        }
        content.present[usize::from(image.0)] = true;
        content.reading[usize::from(image.0)] = ReadProgress::Done;
        content.manifests[usize::from(image.0)] = true;
    }

    /// Returns the node's content for modification.
    pub(crate) fn content_mut(&mut self) -> &mut NodeContent {
        Rc::make_mut(&mut self.content)
    }

    /// Returns the number that identifies the draw of the next request's service time on this node.
    pub(crate) const fn next_request_draw(&mut self, host: HostRole) -> u64 {
        let requests = if matches!(host, HostRole::Blobs) {
            &mut self.blob_requests
        } else {
            &mut self.requests
        };
        let draw = *requests;
        *requests += 1;
        draw
    }

    /// Schedules the disk's next change, after its writes have changed.
    pub(super) fn schedule_disk(&mut self, id: NodeId, queue: &mut Queue) {
        let disk = self.disk.as_mut().expect("a disk that changed");
        let next = disk.next_change();
        queue.keep_scheduled(&mut disk.event, next, Event::DiskChanges(id));
    }

    /// Returns the mounted layers of an image, each blob once.
    pub(crate) fn mounted_layers<'c>(&self, image: &'c Image) -> impl Iterator<Item = &'c Layer> {
        let blobs = &self.content.blobs;
        let mut seen = BTreeSet::new();
        image.layers.iter().filter(move |layer| {
            blobs[usize::from(layer.blob)] == Blob::Mounted && seen.insert(layer.blob)
        })
    }

    /// Returns the time until the node can start the next pod, if it starts `rate` pods per second; `slow` is the
    /// factor of the node's cluster.
    pub(crate) fn wait_to_start(&mut self, rate: Factor, slow: f64, now: SimTime) -> SimDuration {
        let turn = self.next_start.max(now);
        self.next_start = turn + SimDuration::from_secs_f64(slow / rate.get());
        turn - now
    }

    /// Frees the memory of empty queues.
    pub(crate) fn shrink(&mut self) {
        if self.pulls.is_empty() {
            self.pulls = Vec::new();
        }
        if self.backing_off.is_empty() {
            self.backing_off = Vec::new();
        }
        if self.pull_queue.is_empty() {
            self.pull_queue = VecDeque::new();
        }
        if self.slot_queue.is_empty() {
            self.slot_queue = VecDeque::new();
        }
    }

    /// Returns the number of bytes in incomplete blobs.
    pub(crate) fn unfinished(&self) -> Bytes {
        self.content
            .blobs
            .iter()
            .map(|blob| match *blob {
                Blob::Partial(bytes) | Blob::Fetching(bytes) => bytes,
                Blob::Whole | Blob::Discarded | Blob::Mounted => Bytes::ZERO,
            })
            .sum()
    }
}
