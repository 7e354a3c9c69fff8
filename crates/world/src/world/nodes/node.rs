//! A node: the content of its disk, its queue of image pulls, and its download and unpack slots.
//!
//! Left out: image garbage collection. The kubelet deletes images when the disk is 85 % full, checking every five
//! minutes, and never those of running pods. It affects a rollout only on disks too small for two revisions, and then
//! through evictions, which are not modelled either.

use crate::world::nodes::spec::NodeSpec;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use crate::engine::EntityKey;
use crate::world::event::{Event, Queue};
use crate::world::ids::{ClusterId, NodeId, PodId, PullId};
use crate::world::nodes::catalog::{Catalog, Image, ImageRef, Layer};
use crate::world::nodes::disk::{Disk, UnpackRates};
use crate::world::nodes::pull_progress::PullLayer;
use crate::world::registry::request::HostRole;
use crate::world::token_bucket::TokenBucket;
use fleetsim_units::{Bytes, BytesPerSec, Factor, SimDuration, SimTime};

/// The part of a compressed layer that is on a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Blob {
    /// This many bytes, possibly none.
    Partial(Bytes),
    /// An attempt is downloading it and began with this many bytes.
    Fetching(Bytes),
    /// All of it.
    Whole,
    /// It was complete and was discarded after unpacking.
    Discarded,
    /// Enough to mount its layer; the rest is read on demand or downloaded in the background.
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
    /// When its kubelet asked for the image.
    pub(crate) asked: SimTime,
}

/// The on-demand reads of an image's containers on a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum ReadProgress {
    #[default]
    NotYet,
    /// In progress; these pods wait for it.
    Now(Vec<PodId>),
    Done,
}

/// The parts of each image that a node has. Nodes with the same share one value, as most have before and after an
/// update.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeContent {
    pub blobs: Vec<Blob>,
    pub chains: Vec<Chain>,
    /// By image: all its chains are unpacked and the runtime knows its name.
    pub present: Vec<bool>,
    /// By image: its index, manifest and config are in the content store.
    pub manifests: Vec<bool>,
    /// By image: the reads of its containers when images are pulled lazily.
    pub reading: Vec<ReadProgress>,
    /// By image: the failure of its last pull, if that left something to collect.
    pub failed: Vec<Option<SimTime>>,
}

impl NodeContent {
    /// Nothing.
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

    /// The number of these layers, from the bottom up, that are unpacked.
    pub(super) fn unpacked_layers(&self, layers: &[Layer]) -> usize {
        layers
            .iter()
            .take_while(|layer| self.chains[usize::from(layer.chain)] == Chain::Unpacked)
            .count()
    }
}

/// Contents that nodes had lately, to be shared by the next that has the same.
#[derive(Debug)]
pub(crate) struct KnownContents {
    known: Vec<Rc<NodeContent>>,
    /// The one to be forgotten next.
    oldest: usize,
}

impl KnownContents {
    const MOST: usize = 8;

    /// Knows this content.
    pub(crate) fn new(first: NodeContent) -> Self {
        Self {
            known: vec![Rc::new(first)],
            oldest: 0,
        }
    }

    /// The first that was known.
    pub(crate) fn first(&self) -> Rc<NodeContent> {
        Rc::clone(&self.known[0])
    }

    /// Replaces a content by an equal one that other nodes have, if one is known.
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
    /// `None`: the disk is never a limit.
    pub(crate) disk: Option<DiskHardware>,
}

/// The rate of a disk, and the dirty pages before it that memory may hold.
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
    /// Pull attempts, requests, requests to blob hosts, unpackings and pods so far; they number the node's random
    /// draws.
    pub attempts: u64,
    pub requests: u64,
    pub(crate) blob_requests: u64,
    pub(crate) unpacks: u64,
    pub pods: u32,
    pub content: Rc<NodeContent>,
    /// The disk that layers are written to. `None`: it is never a limit.
    pub disk: Option<Box<Disk>>,
    /// Layers being unpacked.
    pub unpacking: u32,
    pub(crate) unpack_rates: UnpackRates,
    /// Pulls in progress.
    pub pulls: Vec<PullId>,
    /// Downloads that hold a slot, if slots are counted per node.
    pub(crate) slots_taken: u32,
    /// Layers that wait for a slot of the node.
    pub(crate) slot_queue: VecDeque<PullLayer>,
    /// Pods whose pull has not started yet, first come first served.
    pub(crate) pull_queue: VecDeque<QueuedPull>,
    /// Pods in image back-off, and some that have left it.
    pub(crate) backing_off: Vec<PodId>,
    /// Calls of the kubelet that wait for one of these pulls, if the runtime merges calls.
    pub(crate) merged_pulls: usize,
    /// The kubelet's own limit of pulls per second.
    pub(crate) pull_rate: Option<TokenBucket>,
    /// When it can start another pod, at this rate of starts.
    pub(crate) next_start: SimTime,
    /// It has failed and has not returned.
    pub down: bool,
    /// The control plane considers it ready.
    pub ready: bool,
    /// Failures so far.
    pub failures: u32,
    /// The current turn of its failure process.
    pub turn: u64,
    /// Pods that were deleted while it was down.
    pub(crate) terminating_on_lost_node: Vec<PodId>,
}

impl NodeState {
    /// A node with this content.
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
            unpacking: 0,
            content,
            pull_queue: VecDeque::new(),
            backing_off: Vec::new(),
            pulls: Vec::new(),
            pull_rate: spec.pull_rate().map(TokenBucket::new),
            merged_pulls: 0,
            slots_taken: 0,
            slot_queue: VecDeque::new(),
            attempts: 0,
            requests: 0,
            blob_requests: 0,
            unpacks: 0,
            pods: 0,
            next_start: SimTime::ZERO,
            down: false,
            ready: true,
            failures: 0,
            turn: 0,
            terminating_on_lost_node: Vec::new(),
        }
    }

    /// Puts an image on the disk as if it was pulled long ago.
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

    /// Its content, to be changed.
    pub(crate) fn content_mut(&mut self) -> &mut NodeContent {
        Rc::make_mut(&mut self.content)
    }

    /// The number of the next request's service time among the draws of this node.
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

    /// The writes to its disk have changed: schedules the next change.
    pub(super) fn schedule_disk(&mut self, id: NodeId, queue: &mut Queue) {
        let disk = self.disk.as_mut().expect("a disk that changed");
        let next = disk.next_change();
        queue.keep_scheduled(&mut disk.event, next, Event::DiskChanges(id));
    }

    /// The layers of an image that are mounted, each blob once.
    pub(crate) fn mounted_layers<'c>(&self, image: &'c Image) -> impl Iterator<Item = &'c Layer> {
        let blobs = &self.content.blobs;
        let mut seen = BTreeSet::new();
        image.layers.iter().filter(move |layer| {
            blobs[usize::from(layer.blob)] == Blob::Mounted && seen.insert(layer.blob)
        })
    }

    /// The time until it has started the pods before the next one, when it starts this many per second; `slow` is the
    /// factor of its cluster.
    pub(crate) fn wait_to_start(&mut self, rate: Factor, slow: f64, now: SimTime) -> SimDuration {
        let turn = self.next_start.max(now);
        self.next_start = turn + SimDuration::from_secs_f64(slow / rate.get());
        turn - now
    }

    /// Gives back the memory of queues that are empty.
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

    /// Bytes of incomplete blobs.
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
