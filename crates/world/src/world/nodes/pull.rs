//! One attempt to pull an image, from the kubelet's queue to the last unpacked layer.
//!
//! Follows containerd's pipeline: resolve the tag, fetch manifest and config (`runtime`), then download all missing
//! layers through a few slots. Each layer is unpacked on top of the layer below as soon as both are available.
//! Sources: containerd `core/unpack/unpacker.go` and `plugins/transfer/plugin.go` at 301026e (v2.4.0-beta.0+70);
//! kubelet `pkg/kubelet/images/{puller,image_manager}.go`.
//!
//! Layers that are already unpacked on the same base are skipped from the bottom up to the first missing one. The
//! layers above are always unpacked, and are downloaded unless their blobs are in the content store. If two pulls on a
//! node need the same blob or chain, the work is done once. A layer that an image lists twice is downloaded once, for
//! its first position, and unpacked for each position, because each is a separate chain.
//!
//! The kubelet's serial puller has a channel of ten requests, and further callers block. Blocked callers are served in
//! order (Go's channels), so this is one unbounded first-come-first-served queue.
//!
//! An attempt may have a deadline (`pullDeadline`). Kubernetes has no such deadline.
//!
//! Left out: bytes of manifests and headers, and chunked layers (off by default).

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use crate::world::World;
use crate::world::clusters::pod::Pod;
use crate::world::clusters::spec::PullPolicy;
use crate::world::distribution::method::MemberChange;
use crate::world::distribution::spec::LazySpec;
use crate::world::event::{Event, PullEvent, Queue};
use crate::world::faults::pulls::PlannedFailure;
use crate::world::ids::{NodeId, PodId, PullId};
use crate::world::meter::LoadChangeKind;
use crate::world::nodes::catalog::{Catalog, ImageRef};
use crate::world::nodes::node::{Blob, NodeState, QueuedPull};
use crate::world::nodes::pull_error::{PullError, PullFacts};
use crate::world::nodes::pull_progress::{Fetch, PullLayer, PullProgress};
use crate::world::nodes::runtime::retries::Tries;
use crate::world::nodes::runtime::spec::SlotScope;
use crate::world::registry::request::{HostRequest, HostRole, Request};
use crate::world::registry::spec::RegistrySpec;
use crate::world::transfers::payload::BlobSource;
use fleetsim_units::{Bytes, SimTime};

/// An attempt to pull an image. [`PullProgress`] has the state that only an attempt in progress needs; ended attempts
/// do not store it, because a long run has many of them.
#[derive(Debug)]
pub(crate) struct Pull {
    pub pod: PodId,
    pub node: NodeId,
    pub image: ImageRef,
    /// The number of earlier attempts of the deployment on the node.
    pub attempt: u64,
    asked: SimTime,
    began: SimTime,
    finished: Option<SimTime>,
    error: Option<PullError>,
    /// Bytes that the node has received for the attempt.
    pub(crate) received: Bytes,
    pub ended: bool,
    progress: Option<Box<PullProgress>>,
}

/// The state of an ended attempt: no layers.
static NO_PROGRESS: PullProgress = PullProgress::of_layers(Vec::new(), Vec::new());

impl Deref for Pull {
    type Target = PullProgress;

    fn deref(&self) -> &PullProgress {
        self.progress.as_deref().unwrap_or(&NO_PROGRESS)
    }
}

impl DerefMut for Pull {
    fn deref_mut(&mut self) -> &mut PullProgress {
        self.progress
            .as_deref_mut()
            .expect("an attempt in progress")
    }
}

impl Pull {
    /// Returns the source of a blob.
    pub(crate) fn source(&self, request: Request) -> BlobSource {
        match request {
            Request::Config => self.config_source,
            Request::Layer(layer) => self
                .sources
                .get(usize::from(layer))
                .copied()
                .unwrap_or(BlobSource::Registry),
            _ => BlobSource::Registry,
        }
    }

    /// Records the source of a blob.
    pub(crate) fn set_source(&mut self, request: Request, source: BlobSource) {
        match request {
            Request::Config => self.config_source = source,
            Request::Layer(layer) if source != BlobSource::Registry || !self.sources.is_empty() => {
                let layers = self.fetches.len();
                self.sources.resize(layers, BlobSource::Registry);
                self.sources[usize::from(layer)] = source;
            }
            _ => {}
        }
    }

    /// Returns the failed attempts of a request; each layer's request is counted separately.
    pub(crate) fn tries_of(&mut self, request: Request) -> &mut Tries {
        match request {
            Request::Layer(layer) => &mut self.layer_tries[usize::from(layer)],
            _ => &mut self.tries,
        }
    }

    /// Returns whether a request opens a connection to its host, and records the connection.
    pub(crate) fn opens_connection(&mut self, asked: HostRequest, registry: &RegistrySpec) -> bool {
        match (asked.host, asked.request) {
            (HostRole::Blobs, _) => !std::mem::replace(&mut self.blob_host_known, true),
            (_, Request::Challenge) => true,
            (_, Request::Token) => registry.tokens,
            _ => false,
        }
    }

    /// Returns the missing bytes of a layer, or the part of them that arrives before a planned failure. For a lazy
    /// image, returns the bytes that are needed to mount the layer.
    fn bytes_to_fetch(
        &self,
        layer: usize,
        node: &NodeState,
        catalog: &Catalog,
        lazy: Option<&LazySpec>,
    ) -> Bytes {
        let image = catalog.image(self.image);
        let spec = image.layers[layer];
        let Blob::Fetching(have) = node.content.blobs[usize::from(spec.blob)] else {
            unreachable!("a blob with a slot is being fetched");
        };
        let wanted = match lazy {
            Some(lazy) if image.is_lazy => lazy.mount_size(&spec),
            _ => spec.compressed,
        };
        let missing = wanted.saturating_sub(have);
        if let Some(free) = self.free_bytes
            && self.failing_layer == Some(layer)
        {
            return missing.min(Bytes::new(free));
        }
        match self.planned_failure {
            Some(failure) if self.failing_layer == Some(layer) => {
                Bytes::new((missing.get() as f64 * failure.bytes) as u64)
            }
            _ => missing,
        }
    }

    /// Determines and returns the missing layers after the config has arrived, and the layer in which the attempt
    /// aborts.
    fn plan_layers(&mut self, node: &mut NodeState, catalog: &Catalog) -> Vec<usize> {
        let layers = &catalog.image(self.image).layers;
        node.content_mut().manifests[usize::from(self.image.0)] = true;
        let content = &node.content;
        let first_missing = content.unpacked_layers(layers);
        self.unpack_next = first_missing;
        self.planned = true;
        let mut missing = Vec::new();
        for (at, layer) in layers.iter().enumerate().skip(first_missing) {
            let blob = content.blobs[usize::from(layer.blob)];
            if !matches!(blob, Blob::Whole | Blob::Mounted) {
                missing.push(at);
            }
        }
        if let Some(failure) = self.planned_failure
            && !missing.is_empty()
        {
            // A layer that is listed twice is downloaded for its first position.
            let mut downloaded = missing.clone();
            let mut blobs = BTreeSet::new();
            downloaded.retain(|&at| blobs.insert(layers[at].blob));
            let at = (failure.position * downloaded.len() as f64) as usize;
            self.failing_layer = Some(downloaded[at]);
        }
        missing
    }

    /// Claims every blob that this pull needs and that no other pull of the node is downloading. A claimed blob waits
    /// for a slot.
    fn claim_blobs(
        &mut self,
        id: PullId,
        node: &mut NodeState,
        catalog: &Catalog,
        scope: SlotScope,
    ) {
        for (at, layer) in catalog.image(self.image).layers.iter().enumerate() {
            if self.fetches[at] != Fetch::Elsewhere {
                continue;
            }
            let blob = &mut node.content_mut().blobs[usize::from(layer.blob)];
            let have = match *blob {
                Blob::Fetching(_) => continue,
                Blob::Whole | Blob::Mounted => {
                    self.fetches[at] = Fetch::Done;
                    continue;
                }
                Blob::Partial(have) => have,
                Blob::Discarded => Bytes::ZERO,
            };
            *blob = Blob::Fetching(have);
            self.fetches[at] = Fetch::Queued;
            let layer = u16::try_from(at).expect("an image has fewer than 65 536 layers");
            match scope {
                SlotScope::Node => node.slot_queue.push_back(PullLayer::new(id, layer)),
                SlotScope::Image => self.slot_queue.push_back(layer),
            }
        }
    }

    /// Returns the bytes that have arrived for layers that are not complete yet, because their source is filling or
    /// the disk is writing.
    pub(crate) fn settling(&self) -> Bytes {
        let mut bytes = Bytes::ZERO;
        for fetch in &self.fetches {
            if let Fetch::Settling(size) | Fetch::Syncing(size) = *fetch {
                bytes += size;
            }
        }
        bytes
    }
}

impl NodeState {
    /// Returns the node's pull in progress for an image, if there is one.
    fn pull_of(&self, image: ImageRef, pulls: &[Pull]) -> Option<PullId> {
        self.pulls
            .iter()
            .copied()
            .find(|pull| pulls[pull.index()].image == image)
    }
}

impl World<'_> {
    pub(crate) fn handle_pull(&mut self, pull: PullId, event: PullEvent, queue: &mut Queue) {
        match event {
            PullEvent::LayerSettles(layer) => self.layer_settled(pull, layer, queue),
            PullEvent::LayerWrites(layer) => self.layer_writes(pull, layer, queue),
            PullEvent::Unpacked(layer) => self.unpacked(pull, layer, queue),
            PullEvent::Stalled => self.cancel_stalled(pull, queue),
            PullEvent::Deadline => self.pull_deadline(pull, queue),
            PullEvent::NoSpace => self.pull_out_of_space(pull, queue),
            PullEvent::Completed => self.pulled(pull, queue),
            PullEvent::OrderEnds(error) => self.ordered_pull_ended(pull, error, queue),
        }
    }

    /// Queues the pull of a pod's image on its node.
    pub(crate) fn enqueue_pull(&mut self, pod: PodId, queue: &mut Queue) {
        let node = self.pods[pod.index()].node;
        let asked = queue.now();
        let queued = QueuedPull { pod, asked };
        self.nodes[node.index()].pull_queue.push_back(queued);
        self.start_queued_pulls(node, queue);
    }

    fn start_queued_pulls(&mut self, id: NodeId, queue: &mut Queue) {
        let max = self.spec.node.parallel_pulls();
        while self.nodes[id.index()].pulls.len() + self.nodes[id.index()].merged_pulls < max {
            let Some(queued) = self.nodes[id.index()].pull_queue.pop_front() else {
                return;
            };
            self.begin_pull(id, queued, queue);
        }
    }

    /// Starts the pull of a pod's image, unless the kubelet may not pull, the image is missing, or a running pull can
    /// be shared.
    fn begin_pull(&mut self, id: NodeId, queued: QueuedPull, queue: &mut Queue) {
        let now = queue.now();
        let pod = queued.pod;
        let node = &mut self.nodes[id.index()];
        if let Some(bucket) = &mut node.pull_rate
            && !bucket.try_take(now)
        {
            self.pull_failed(pod, PullError::KubeletRate, queue);
            return;
        }
        let Pod {
            target, revision, ..
        } = self.pods[pod.index()];
        if self.deployments[target.index()]
            .draws
            .of(revision)
            .not_found
        {
            self.request_missing_image(pod, queue);
            return;
        }
        let image = self.pods[pod.index()].image;
        if self.spec.node.runtime.merge_pulls
            && let Some(same) = node.pull_of(image, &self.pulls)
        {
            node.merged_pulls += 1;
            self.pulls[same.index()].others.push(pod);
            return;
        }
        if let Some(after) = self.spec.node.runtime.collect_after {
            self.totals.lost += node.collect(after, &self.pulls, &self.catalog, now);
        }
        self.begin_attempt(id, queued, queue);
    }

    /// Counts an attempt to pull the image of a pod, and returns the number of earlier ones of its deployment on its
    /// node.
    fn next_attempt_of(&mut self, pod: PodId) -> u64 {
        let Pod { target, node, .. } = self.pods[pod.index()];
        let first = self.clusters[self.nodes[node.index()].cluster.index()]
            .nodes
            .start;
        let deployment = &mut self.deployments[target.index()];
        u64::from(deployment.next_attempt(node.index() - first))
    }

    /// Begins an attempt with its first request, or orders it.
    fn begin_attempt(&mut self, id: NodeId, queued: QueuedPull, queue: &mut Queue) {
        let now = queue.now();
        let QueuedPull { pod, asked } = queued;
        let image = self.pods[pod.index()].image;
        let layers = self.catalog.image(image).layers.len();
        let node = &mut self.nodes[id.index()];
        let pull = PullId::at(self.pulls.len());
        node.pulls.push(pull);
        let cluster = node.cluster;
        let attempt = self.next_attempt_of(pod);
        let key = self.key_of_pod(&self.pods[pod.index()]);
        let failures = self.spec.faults.pull_failure;
        let planned_failure = PlannedFailure::draw(failures, &self.streams, key, attempt);
        let deadline = self.spec.node.pull_deadline;
        let deadline =
            deadline.map(|after| queue.schedule_in(after, Event::Pull(pull, PullEvent::Deadline)));
        let progress = PullProgress {
            deadline,
            planned_failure,
            ..PullProgress::of_layers(vec![Tries::NONE; layers], vec![Fetch::Done; layers])
        };
        self.pulls.push(Pull {
            pod,
            node: id,
            image,
            attempt,
            asked,
            began: now,
            finished: None,
            error: None,
            received: Bytes::ZERO,
            ended: false,
            progress: Some(Box::new(progress)),
        });
        self.count_pull(pod);
        let application = self.application_of_pod(pod);
        self.meter
            .note_load(application, LoadChangeKind::PullBegins);
        let state = &mut self.clusters[cluster.index()];
        state.pull_begins(now, &mut self.meter);
        if state.pulls_now == 1 {
            self.follow_gaps(cluster, queue);
        }
        if self.orders.is_some() {
            self.order(pull, queue);
        } else {
            self.send(pull, Request::Challenge, queue);
        }
    }

    /// Returns the missing bytes of a layer, or the part of them that arrives before a planned failure.
    pub(crate) fn bytes_to_fetch(&self, id: PullId, layer: u16) -> Bytes {
        let pull = &self.pulls[id.index()];
        let node = &self.nodes[pull.node.index()];
        let lazy = self.spec.distribution.lazy.as_ref();
        pull.bytes_to_fetch(usize::from(layer), node, &self.catalog, lazy)
    }

    /// Determines the missing layers after the config has arrived.
    pub(crate) fn plan_layers(&mut self, id: PullId, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        let node = &mut self.nodes[pull.node.index()];
        let missing = pull.plan_layers(node, &self.catalog);
        if pull.planned_failure.is_some() && missing.is_empty() {
            self.fail(id, PullError::Broken, queue);
            return;
        }
        for at in missing {
            pull.fetches[at] = Fetch::Elsewhere;
        }
        self.claim_blobs(id);
        self.grant_slots(id, queue);
        self.unpack_next(id, queue);
    }

    /// Claims every blob that this pull needs and that no other pull is downloading.
    fn claim_blobs(&mut self, id: PullId) {
        let pull = &mut self.pulls[id.index()];
        let node = &mut self.nodes[pull.node.index()];
        pull.claim_blobs(id, node, &self.catalog, self.spec.node.runtime.slot_scope);
    }

    /// Grants free download slots, first come, first served.
    fn grant_slots(&mut self, id: PullId, queue: &mut Queue) {
        while let Some(PullLayer { pull, layer }) = self.next_with_slot(id) {
            self.pulls[pull.index()].fetches[usize::from(layer)] = Fetch::Requested;
            self.send(pull, Request::Layer(layer), queue);
        }
    }

    /// Assigns a free slot, of the node or of this pull, to the next layer that waits for one.
    fn next_with_slot(&mut self, id: PullId) -> Option<PullLayer> {
        let slots = self.spec.node.runtime.download_slots;
        let pull = &mut self.pulls[id.index()];
        match self.spec.node.runtime.slot_scope {
            SlotScope::Node => {
                let node = &mut self.nodes[pull.node.index()];
                if node.slots_taken == slots {
                    return None;
                }
                let next = node.slot_queue.pop_front()?;
                node.slots_taken += 1;
                Some(next)
            }
            SlotScope::Image => {
                if pull.slots_taken == slots {
                    return None;
                }
                let layer = pull.slot_queue.pop_front()?;
                pull.slots_taken += 1;
                Some(PullLayer::new(id, layer))
            }
        }
    }

    fn release_slot(&mut self, id: PullId) {
        let pull = &mut self.pulls[id.index()];
        match self.spec.node.runtime.slot_scope {
            SlotScope::Node => self.nodes[pull.node.index()].slots_taken -= 1,
            SlotScope::Image => pull.slots_taken -= 1,
        }
    }

    pub(crate) fn config_arrived(&mut self, id: PullId, size: Bytes, queue: &mut Queue) {
        self.totals.received += size;
        self.pulls[id.index()].config = None;
        self.check_stall(id, queue);
        self.plan_layers(id, queue);
    }

    /// Called when all bytes of a layer have arrived.
    pub(crate) fn layer_arrived(&mut self, id: PullId, at: usize, size: Bytes, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        let is_lazy = self.catalog.image(pull.image).is_lazy;
        let is_written = pull.failing_layer != Some(at) && !is_lazy;
        let node = pull.node;
        if let Some(disk) = &mut self.nodes[node.index()].disk
            && is_written
        {
            pull.fetches[at] = Fetch::Syncing(size);
            let layer = u16::try_from(at).expect("an image has fewer than 65 536 layers");
            disk.sync(queue.now(), PullLayer::new(id, layer), size.get() as f64);
            self.note_unpack_begins(node);
            self.check_stall(id, queue);
            self.nodes[node.index()].schedule_disk(node, queue);
        } else {
            self.layer_complete(id, at, size, queue);
        }
    }

    /// Called when an arrived layer is on its node's disk.
    pub(super) fn layer_synced(&mut self, id: PullId, layer: u16, queue: &mut Queue) {
        let at = usize::from(layer);
        // The sync of an ended pull is cancelled, but may have ended at the same instant.
        if let Some(Fetch::Syncing(size)) = self.pulls[id.index()].fetches.get(at).copied() {
            self.note_unpacks_end(self.pulls[id.index()].node, 1);
            self.layer_complete(id, at, size, queue);
        }
    }

    fn layer_complete(&mut self, id: PullId, at: usize, size: Bytes, queue: &mut Queue) {
        let pull = &mut self.pulls[id.index()];
        pull.fetches[at] = Fetch::Done;
        let image = self.catalog.image(pull.image);
        let spec = image.layers[at];
        let blob = &mut self.nodes[pull.node.index()].content_mut().blobs[usize::from(spec.blob)];
        let doomed = pull.failing_layer == Some(at);
        if doomed {
            let Blob::Fetching(have) = *blob else {
                unreachable!("a downloading blob is being fetched")
            };
            *blob = Blob::Fetching(have + size);
            pull.fetches[at] = Fetch::Requested;
            let error = match pull.free_bytes {
                Some(_) => PullError::NoSpace,
                None => PullError::Broken,
            };
            self.fail(id, error, queue);
            return;
        }
        if image.is_lazy {
            let Blob::Fetching(have) = *blob else {
                unreachable!("a downloading blob is being fetched")
            };
            *blob = Blob::Mounted;
            self.totals.received += have + size;
        } else {
            *blob = Blob::Whole;
            self.totals.received += spec.compressed;
        }
        self.check_stall(id, queue);
        self.release_slot(id);
        self.grant_slots(id, queue);
        self.resume_node_pulls(id, queue);
        self.watch_space(self.pulls[id.index()].node, queue);
    }

    /// Continues all pulls of a node after a change that they may have waited for.
    pub(crate) fn resume_node_pulls(&mut self, id: PullId, queue: &mut Queue) {
        let node = self.pulls[id.index()].node;
        let mut committed = true;
        while committed {
            committed = false;
            for at in 0..self.nodes[node.index()].pulls.len() {
                let other = self.nodes[node.index()].pulls[at];
                self.claim_blobs(other);
                self.grant_slots(other, queue);
                committed |= self.unpack_next(other, queue);
            }
        }
    }

    /// Called when all layers are committed: the image is on the node.
    pub(super) fn pulled(&mut self, id: PullId, queue: &mut Queue) {
        let pull = &self.pulls[id.index()];
        if pull.ended {
            return;
        }
        let pod = pull.pod;
        let node = pull.node;
        let image = pull.image;
        let host = &mut self.nodes[node.index()];
        host.content_mut().present[usize::from(image.0)] = true;
        host.image_pulled(image, queue.now());
        self.contents.share(&mut host.content);
        self.image_appears(node, queue);
        let others = self.end_pull(id, queue);
        self.image_ready(pod, queue);
        for other in others {
            self.image_ready(other, queue);
        }
        self.start_queued_pulls(node, queue);
    }

    /// Removes a pull from its node and the meters. Returns the other pods that waited for the pull.
    fn end_pull(&mut self, id: PullId, queue: &mut Queue) -> Vec<PodId> {
        let now = queue.now();
        let pull = &mut self.pulls[id.index()];
        pull.ended = true;
        pull.finished = Some(now);
        let on = pull.node;
        let pod = pull.pod;
        let progress = pull.progress.take().expect("an attempt ends once");
        let PullProgress {
            others,
            deadline,
            stall_timeout,
            order,
            finishing,
            waits,
            ..
        } = *progress;
        self.note_unpacks_end(on, usize::from(finishing));
        for event in [deadline, stall_timeout].into_iter().flatten() {
            queue.cancel(event);
        }
        if let Some(end) = order {
            self.close_order(on, end, queue);
        }
        let node = &mut self.nodes[on.index()];
        node.pulls.retain(|&other| other != id);
        node.merged_pulls -= others.len();
        node.shrink();
        let cluster = node.cluster;
        let application = self.application_of_pod(pod);
        self.meter.note_load(application, LoadChangeKind::PullEnds);
        let state = &mut self.clusters[cluster.index()];
        state.pull_ends(now, waits, &mut self.meter);
        if state.pulls_now == 0 {
            self.leave_gaps(cluster, queue);
        }
        others
    }

    /// Called when an attempt has exceeded its deadline.
    fn pull_deadline(&mut self, id: PullId, queue: &mut Queue) {
        self.pulls[id.index()].deadline = None;
        self.fail(id, PullError::Deadline, queue);
    }

    /// Called when a layer of an attempt does not fit on its node's disk.
    fn pull_out_of_space(&mut self, id: PullId, queue: &mut Queue) {
        if !self.pulls[id.index()].ended {
            self.fail(id, PullError::NoSpace, queue);
        }
    }

    /// Returns every attempt so far, in the order of their start.
    pub fn pulls(&self) -> impl Iterator<Item = PullFacts> + '_ {
        self.pulls.iter().map(|pull| PullFacts {
            target: self.pods[pull.pod.index()].target,
            cluster: self.nodes[pull.node.index()].cluster,
            node: pull.node,
            asked: pull.asked,
            began: pull.began,
            ended: pull.finished,
            error: pull.error,
            received: pull.received,
        })
    }

    /// Counts an attempt for a pod.
    pub(crate) fn count_pull(&mut self, pod: PodId) {
        self.totals.pulls += 1;
        let target = self.pods[pod.index()].target;
        self.deployments[target.index()].facts.pulls += 1;
    }

    /// Fails an attempt; its pod retries later.
    pub fn fail(&mut self, id: PullId, error: PullError, queue: &mut Queue) {
        let pod = self.pulls[id.index()].pod;
        let node_id = self.pulls[id.index()].node;
        let others = self.drop_pull(id, error, queue);
        self.pull_failed(pod, error, queue);
        for other in others {
            self.pull_failed(other, error, queue);
        }
        // Other pulls of the node may have waited for blobs that this one had claimed.
        if !self.nodes[node_id.index()].pulls.is_empty() {
            let other = self.nodes[node_id.index()].pulls[0];
            self.resume_node_pulls(other, queue);
        }
        self.start_queued_pulls(node_id, queue);
    }

    /// Ends an attempt early: transfers are cancelled, and arrived bytes are kept or lost. Returns the other pods that
    /// waited for the attempt.
    pub(crate) fn drop_pull(
        &mut self,
        id: PullId,
        error: PullError,
        queue: &mut Queue,
    ) -> Vec<PodId> {
        let now = queue.now();
        let node_id = self.pulls[id.index()].node;
        if let Some(transfer) = self.pulls[id.index()].config.take() {
            let part = self.cancel_transfer(transfer, now);
            self.totals.lost += part;
        }
        let fetches = std::mem::take(&mut self.pulls[id.index()].fetches);
        for (layer, fetch) in (0..).zip(fetches) {
            self.drop_fetch(PullLayer::new(id, layer), fetch, now);
        }
        let node = &mut self.nodes[node_id.index()];
        node.slot_queue.retain(|waiting| waiting.pull != id);
        // The lease of a pull on a lost node remains.
        if self.spec.node.runtime.collect_after.is_some() && error != PullError::NodeLost {
            node.lease_ends(self.pulls[id.index()].image, now);
        }
        self.cancel_unpacking(id, queue);
        self.pulls[id.index()].error = Some(error);
        let others = self.end_pull(id, queue);
        self.cancel_distribution(id, queue);
        self.rates_changed(queue);
        self.watch_space(node_id, queue);
        others
    }

    /// Abandons the download of a layer: its bytes are kept or lost, and its slot is freed.
    fn drop_fetch(&mut self, of: PullLayer, fetch: Fetch, now: SimTime) {
        let PullLayer { pull: id, layer } = of;
        let node_id = self.pulls[id.index()].node;
        let part = match fetch {
            Fetch::Done | Fetch::Elsewhere => return,
            Fetch::Queued | Fetch::Requested => Bytes::ZERO,
            Fetch::Downloading(transfer) => {
                let part = self.cancel_transfer(transfer, now);
                self.change_member(id, layer, MemberChange::Leaves, now);
                part
            }
            Fetch::Settling(size) => {
                self.change_member(id, layer, MemberChange::Leaves, now);
                size
            }
            Fetch::Syncing(size) => {
                self.note_unpacks_end(node_id, 1);
                size
            }
        };
        let image = self.catalog.image(self.pulls[id.index()].image);
        let blob = usize::from(image.layers[usize::from(layer)].blob);
        let blob = &mut self.nodes[node_id.index()].content_mut().blobs[blob];
        let Blob::Fetching(had) = *blob else {
            unreachable!("a fetch holds its blob");
        };
        let have = had + part;
        let kept = if self.spec.node.runtime.resume {
            have
        } else {
            Bytes::ZERO
        };
        *blob = Blob::Partial(kept);
        self.totals.lost += have - kept;
        if fetch != Fetch::Queued {
            self.release_slot(id);
        }
    }

    /// Returns whether a pod needs a pull.
    pub(crate) fn needs_pull(&self, pod: PodId) -> bool {
        let pod = &self.pods[pod.index()];
        let present = self.nodes[pod.node.index()].content.present[usize::from(pod.image.0)];
        match self.workload_of(pod).pull_policy {
            PullPolicy::Always => true,
            PullPolicy::IfNotPresent => !present,
        }
    }
}
