//! The kubelet's collection of images, and nodes that take no more pods because their disks are nearly full.
//!
//! The kubelet has two loops. Both remove only images that no pod of the node uses and that are old enough, those whose
//! last use is longest ago first; images of other releases are older than all of the release.
//!
//! - The image collector runs every 5 minutes. If usage is at the high threshold (85%), it removes images until usage
//!   is at the low one (80%). Usage is in whole percent, 100 less the available percent rounded down, so at the
//!   defaults it begins when less than 16% are available. Source: `GarbageCollect` and `freeSpace` in
//!   kubernetes/kubernetes `pkg/kubelet/images/image_gc_manager.go`.
//! - The eviction manager looks every 10 s. If less than 15% of the disk is available, the node has disk pressure, and
//!   the manager removes all such images. Pressure lasts until 5 minutes after the last look that found too little,
//!   even if the images freed enough. Source: `synchronize` in `pkg/kubelet/eviction/eviction_manager.go`.
//!
//! Under pressure a node takes no new pods: the scheduler binds none of a Deployment (the taint
//! `node.kubernetes.io/disk-pressure`), and the kubelet admits none of a DaemonSet. Pods that it has admitted go on to
//! pull. So a node whose old images fill 85% of its disk takes no pods for 5 minutes after a large pull.
//!
//! A look or a collection is an event only if there may be something to do. A node starts as its kubelet leaves it:
//! with at most as many unused images as keep it just below both thresholds.
//!
//! Left out: pods that the eviction manager ends if removing images frees too little, `nodefs.available` (10%, which
//! the 15% of `imagefs.available` precede on one disk), soft thresholds, `imageMaximumGCAge`, the time to remove
//! images, pods that reach a node just before it has pressure, and the seconds until the scheduler knows. The age of
//! an image counts from its pull, and not from when the kubelet first sees it, up to 5 minutes later.
//!
//! How we know: the tests of `nodes/space_tests.rs` compute every time by hand.

use crate::world::World;
use crate::world::event::{Event, Queue, SpaceEvent};
use crate::world::ids::{ClusterId, NodeId};
use crate::world::nodes::disk_space::DiskSpace;
use crate::world::nodes::node::NodeState;
use crate::world::nodes::spec::CollectionSpec;
use fleetsim_units::{SimDuration, SimTime};

impl CollectionSpec {
    /// Returns whether the image collector runs with this many free bytes of a disk.
    fn is_high(&self, free: u64, size: u64) -> bool {
        let available = u128::from(free) * 100 / u128::from(size);
        100 - available >= u128::from(self.image_gc_high_threshold_percent)
    }

    /// Returns whether a node has disk pressure with this many free bytes.
    fn is_short(&self, free: u64, size: u64) -> bool {
        (free as f64) < self.imagefs_available.get() * size as f64
    }

    /// Returns the least free bytes of a disk at which neither loop acts.
    #[must_use]
    pub fn least_free(&self, size: u64) -> u64 {
        let percent = u128::from(101_u32.saturating_sub(self.image_gc_high_threshold_percent));
        let by_collector = (u128::from(size) * percent).div_ceil(100) as u64;
        let by_manager = (self.imagefs_available.get() * size as f64).ceil() as u64;
        by_collector.max(by_manager)
    }

    /// Returns the free bytes at which the image collector stops.
    fn free_after_collection(&self, size: u64) -> u64 {
        let percent = 100_u32.saturating_sub(self.image_gc_low_threshold_percent);
        (u128::from(size) * u128::from(percent) / 100) as u64
    }
}

impl NodeState {
    /// Returns whether the node takes no pods because its disk is nearly full.
    pub(crate) fn is_under_pressure(&self) -> bool {
        let space = self.space.as_ref();
        space.is_some_and(|space| space.pressed_until.is_some())
    }
}

/// The kubelet's images to remove, in its order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Removable {
    /// All unused images of other releases.
    Others,
    /// An image of the release.
    OfRelease(usize),
}

impl DiskSpace {
    /// Returns the images of a node that the kubelet may remove now, those whose last use is longest ago first.
    fn removable(&self, present: &[bool], min_age: SimDuration, now: SimTime) -> Vec<Removable> {
        let mut found = Vec::new();
        if self.unused > 0 {
            found.push(Removable::Others);
        }
        let mut images = self.unused_images(present);
        images.retain(|&image| self.is_old(image, min_age, now));
        images.sort_by_key(|&image| (self.images[image].last_used, self.images[image].pulled));
        found.extend(images.into_iter().map(Removable::OfRelease));
        found
    }

    /// Returns whether some image can be removed only later.
    fn has_young_images(&self, present: &[bool], min_age: SimDuration, now: SimTime) -> bool {
        let images = self.unused_images(present);
        images
            .iter()
            .any(|&image| !self.is_old(image, min_age, now))
    }

    /// Returns the images of the release on the node that no pod uses.
    fn unused_images(&self, present: &[bool]) -> Vec<usize> {
        let mut unused = Vec::new();
        for (image, used) in self.images.iter().enumerate() {
            if present[image] && used.pods == 0 {
                unused.push(image);
            }
        }
        unused
    }

    fn is_old(&self, image: usize, min_age: SimDuration, now: SimTime) -> bool {
        self.images[image]
            .pulled
            .is_none_or(|pulled| now - pulled >= min_age)
    }
}

/// Returns the first turn at or after `from` of a loop that runs every `period`.
fn turn_from(first: SimTime, period: SimDuration, from: SimTime) -> SimTime {
    let turns = from
        .saturating_since(first)
        .as_nanos()
        .div_ceil(period.as_nanos());
    first + period * turns
}

/// Returns the first turn after `now` of such a loop.
fn turn_after(first: SimTime, period: SimDuration, now: SimTime) -> SimTime {
    turn_from(first, period, now + SimDuration::from_nanos(1))
}

impl<'s> World<'s> {
    fn collection(&self) -> &'s CollectionSpec {
        let node: &'s _ = &self.spec.node;
        &node
            .disk
            .as_ref()
            .expect("only a disk with a size has this event")
            .collection
    }

    /// Removes unused images of other releases that the kubelet would have removed before the run.
    pub(crate) fn settle_space(&mut self, id: NodeId) {
        let Some(free) = self.free_space(id) else {
            return;
        };
        let spec = self.collection();
        let Some(space) = &mut self.nodes[id.index()].space else {
            return;
        };
        let missing = spec.least_free(space.size).saturating_sub(free);
        space.unused = space.unused.saturating_sub(missing);
    }

    /// Lets the kubelet look at its disk, if there may be something to do. Called after a node's space or the use of
    /// its images has changed.
    pub(crate) fn watch_space(&mut self, id: NodeId, queue: &mut Queue) {
        let Some(free) = self.free_space(id) else {
            return;
        };
        let spec = self.collection();
        let now = queue.now();
        let Some(space) = &mut self.nodes[id.index()].space else {
            return;
        };
        let is_short = spec.is_short(free, space.size);
        if (is_short || space.is_short) && !space.will_look {
            space.will_look = true;
            let at = turn_after(space.first_look, spec.monitoring_interval, now);
            queue.schedule(at, Event::Space(id, SpaceEvent::Look));
        }
        if spec.is_high(free, space.size) && !space.will_collect {
            space.will_collect = true;
            let at = turn_after(space.first_collection, spec.image_gc_period, now);
            queue.schedule(at, Event::Space(id, SpaceEvent::Collect));
        }
    }

    pub(crate) fn handle_space(&mut self, id: NodeId, event: SpaceEvent, queue: &mut Queue) {
        let node = &mut self.nodes[id.index()];
        let Some(space) = &mut node.space else {
            return;
        };
        match event {
            SpaceEvent::Look => space.will_look = false,
            SpaceEvent::Collect => space.will_collect = false,
        }
        // The kubelet of a node that has failed looks again after its return.
        if node.down {
            return;
        }
        let now = queue.now();
        if let Some(after) = self.spec.node.runtime.collect_after {
            self.totals.lost += node.collect(after, &self.pulls, &self.catalog, now);
        }
        match event {
            SpaceEvent::Look => self.look_at_space(id, queue),
            SpaceEvent::Collect => self.collect_images(id, queue),
        }
    }

    /// Called when the eviction manager looks at the available space.
    fn look_at_space(&mut self, id: NodeId, queue: &mut Queue) {
        let spec = self.collection();
        let now = queue.now();
        let free = self.free_space(id).unwrap_or(u64::MAX);
        let Some(space) = &mut self.nodes[id.index()].space else {
            return;
        };
        let size = space.size;
        if !spec.is_short(free, size) {
            if std::mem::take(&mut space.is_short) {
                // The look before this one still found too little.
                let lasts = (spec.pressure_transition).saturating_sub(spec.monitoring_interval);
                space.pressed_until = Some(now + lasts);
            }
            self.end_pressure_if_due(id, queue);
            return;
        }
        if space.pressed_until.is_none() {
            self.totals.disk_pressures += 1;
        }
        space.pressed_until = Some(now + spec.pressure_transition);
        self.remove_images(id, u64::MAX, now);
        let free = self.free_space(id).unwrap_or(u64::MAX);
        let remains = spec.is_short(free, size);
        let may_free_more = self.may_free_more(id, now);
        let Some(space) = &mut self.nodes[id.index()].space else {
            return;
        };
        space.is_short = remains;
        if !remains {
            self.end_pressure_if_due(id, queue);
        } else if may_free_more {
            self.look_from(id, now + SimDuration::from_nanos(1), queue);
        }
    }

    /// Schedules the first look of the eviction manager at or after a time.
    fn look_from(&mut self, id: NodeId, from: SimTime, queue: &mut Queue) {
        let spec = self.collection();
        if let Some(space) = &mut self.nodes[id.index()].space
            && !space.will_look
        {
            space.will_look = true;
            let at = turn_from(space.first_look, spec.monitoring_interval, from);
            queue.schedule(at, Event::Space(id, SpaceEvent::Look));
        }
    }

    /// Returns whether more can be freed later without another event: images that are too young, and leftovers of
    /// failed pulls.
    fn may_free_more(&self, id: NodeId, now: SimTime) -> bool {
        let node = &self.nodes[id.index()];
        let min_age = self.collection().image_minimum_gc_age;
        let has_young = (node.space.as_ref())
            .is_some_and(|space| space.has_young_images(&node.content.present, min_age, now));
        has_young || node.content.failed.iter().any(Option::is_some)
    }

    /// Ends the pressure on a node with enough space if it has lasted long enough; otherwise looks again then.
    fn end_pressure_if_due(&mut self, id: NodeId, queue: &mut Queue) {
        let node = &mut self.nodes[id.index()];
        let cluster = node.cluster;
        let Some(space) = &mut node.space else {
            return;
        };
        let Some(until) = space.pressed_until else {
            return;
        };
        if queue.now() < until {
            self.look_from(id, until, queue);
            return;
        }
        space.pressed_until = None;
        self.takes_pods_again(cluster, queue);
    }

    /// Called when a node of a cluster takes pods again.
    fn takes_pods_again(&mut self, cluster: ClusterId, queue: &mut Queue) {
        self.bind_waiting(cluster, queue);
        self.sync_daemon_sets(cluster, queue);
    }

    /// Called when the image collector runs.
    fn collect_images(&mut self, id: NodeId, queue: &mut Queue) {
        let spec = self.collection();
        let now = queue.now();
        let free = self.free_space(id).unwrap_or(u64::MAX);
        let Some(space) = &self.nodes[id.index()].space else {
            return;
        };
        let size = space.size;
        if !spec.is_high(free, size) {
            return;
        }
        let wanted = spec.free_after_collection(size).saturating_sub(free);
        let before = free;
        self.remove_images(id, wanted, now);
        let free = self.free_space(id).unwrap_or(u64::MAX);
        if spec.is_high(free, size)
            && self.may_free_more(id, now)
            && let Some(space) = &mut self.nodes[id.index()].space
        {
            space.will_collect = true;
            let at = turn_after(space.first_collection, spec.image_gc_period, now);
            queue.schedule(at, Event::Space(id, SpaceEvent::Collect));
        }
        // If nothing was removed, neither loop has anything to do until something else happens.
        if free > before {
            self.watch_space(id, queue);
        }
    }

    /// Removes images that nothing uses until this many bytes are free in addition, or none is left.
    fn remove_images(&mut self, id: NodeId, wanted: u64, now: SimTime) {
        let min_age = self.collection().image_minimum_gc_age;
        let before = self.free_space(id).unwrap_or(u64::MAX);
        let node = &self.nodes[id.index()];
        let Some(space) = &node.space else {
            return;
        };
        for image in space.removable(&node.content.present, min_age, now) {
            let freed = self
                .free_space(id)
                .unwrap_or(u64::MAX)
                .saturating_sub(before);
            if freed >= wanted {
                return;
            }
            let node = &mut self.nodes[id.index()];
            match (image, &mut node.space) {
                (Removable::Others, Some(space)) => {
                    space.unused -= space.unused.min(wanted - freed);
                }
                (Removable::OfRelease(image), _) => {
                    let lost = node.remove_image(image, &self.pulls, &self.catalog);
                    if let Some(lost) = lost {
                        self.totals.lost += lost;
                        self.totals.removed_images += 1;
                    }
                }
                (Removable::Others, None) => {}
            }
        }
    }
}
