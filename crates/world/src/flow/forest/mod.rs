//! Max-min fair rates on a forest of links, kept up to date in O(log n) per change.
//!
//! # The method
//! For a link v, from the leaves up: **level(v) = (capacity(v) − fixed(v)) / followers(v)**, where fixed(v) is the
//! throughput of the topmost saturated parts strictly below v, and followers(v) is the weight of the transfers below v
//! that are not in one of these parts. The rate of a transfer is its weight times the smallest level on its path. This
//! is the max-min allocation: the link with the smallest level is full, and no transfer on it has a larger rate for
//! its weight. Below, sizes, caps and rates of transfers are per unit of weight.
//!
//! - The links below v that have the same level, and v's own transfers with that level as their cap, form one *class*
//!   of v. A class is *pinned* (it is its own bottleneck, and its rate is its level) if its level is below the rate
//!   that governs v; otherwise it *follows* v. Nodes alternate: link, class, link, class, … Equal links are pinned and
//!   unpinned together, however many there are.
//! - A root link and a pinned class own a *clock*, which reads the bytes that each transfer governed by it has
//!   received. A follower's clock is its parent's plus a constant. A transfer ends when its node's clock reaches its
//!   *tag*, which never changes, however often the rate does.
//! - If all followers of a link are in one class, the link reaches that class's level before its own, so that level
//!   counts as the link's: a thousand links that each carry one capped connection form one class.
//! - A change is propagated from its node towards the root and stops where a summary is unchanged: a pinned class
//!   shields everything above it. Then classes whose state no longer fits their level are toggled, one at a time,
//!   until all fit.
//!
//! Why does rebalancing end? The level of an owner rises when a class below that level is pinned, and when a class
//! above it is unpinned. A level that only rises passes each class once. Rounding can violate this only within the
//! rounding error, and the margin of comparisons widens if toggling does not end (see `rebalance`).

mod propagate;
mod rebalance;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::engine::heap::{self, Keyed, NOWHERE};
use crate::flow::connection::{Connection, ShareWeight};
use crate::flow::instant::{Instant, SLACK_NANOS};
use crate::flow::tree::{Summary, Tree};

const NONE: u32 = u32::MAX;

/// Levels with a smaller relative difference than this count as equal.
const MARGIN: f64 = 1e-12;

/// A clock above this value, in bytes per transfer, is set back when the next transfer starts that it governs, so that
/// tags keep at least 16 binary digits after the point.
const CLOCK_MAX: f64 = (1u64 << 36) as f64;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum NodeKind {
    Link,
    Class,
    /// A class that is not in use.
    Free,
}

/// Everything about a link or class that an event needs, stored together to reduce cache misses, because an event
/// accesses nodes all over memory.
#[derive(Debug)]
struct ForestNode {
    kind: NodeKind,
    /// Whether the node owns a clock: roots, pinned classes, and links without transfers (whose clock is stopped).
    owner: bool,
    /// Whether `rebalance` must visit the node.
    unbalanced: bool,
    /// The class of a link, or the link of a class. `NONE` for roots and for links without transfers.
    parent: u32,
    /// The slot in the parent's tree.
    slot: u32,
    /// For a link: the link nearer the source.
    above: u32,
    /// For an owner: the reading of its clock at `since`. For a follower: its clock minus its parent's.
    clock: f64,
    rate: f64,
    since: Instant,
    /// For a class or a root: its level. For a link below another: the level at which it joined its class.
    level: f64,
    capacity: f64,
    /// The children of the node.
    tree: Tree,
    /// The node's own transfers by tag: on a link, those without a cap; on a class, those whose cap is the class's
    /// level.
    heap: Vec<Keyed<f64>>,
    /// The sum of the weights of the transfers in `heap`.
    weight: f64,
}

#[derive(Debug, Default)]
pub(super) struct Forest {
    now: Instant,
    nodes: Vec<ForestNode>,
    /// The position of each transfer in its node's heap.
    transfer_at: Vec<u32>,
    /// The node and the weight of each transfer.
    transfer_node: Vec<(u32, ShareWeight)>,
    /// For each owner, when the next transfer governed by it ends.
    queue: Vec<Keyed<Instant>>,
    queue_at: Vec<u32>,
    /// The class of a link with a given level, by the level's bits. For lookup only, never iterated.
    classes: HashMap<(u32, u64), u32, BuildHasherDefault<Mix>>,
    free_classes: Vec<u32>,
    unbalanced: Vec<u32>,
    /// Buffer that `complete` reuses.
    touched: Vec<u32>,
    /// Number of nodes visited so far, including toggled classes: a measure of cost.
    visits: u64,
}

/// Construction and queries.
impl Forest {
    /// Adds a link below `above`, or a root. Returns its node.
    pub(super) fn add_link(&mut self, above: Option<u32>, capacity: f64) -> u32 {
        self.add_node(ForestNode {
            kind: NodeKind::Link,
            owner: true,
            unbalanced: false,
            parent: NONE,
            slot: NONE,
            above: above.unwrap_or(NONE),
            clock: 0.0,
            rate: 0.0,
            since: self.now,
            // A root without transfers pins each new class. A new class of any other idle link follows the link.
            level: if above.is_none() { f64::INFINITY } else { 0.0 },
            capacity,
            tree: Tree::default(),
            heap: Vec::new(),
            weight: 0.0,
        })
    }

    fn add_node(&mut self, node: ForestNode) -> u32 {
        let id = u32::try_from(self.nodes.len()).expect("fewer than 2^32 links and classes");
        self.nodes.push(node);
        self.queue_at.push(NOWHERE);
        id
    }

    fn node(&self, id: u32) -> &ForestNode {
        &self.nodes[id as usize]
    }

    fn node_mut(&mut self, id: u32) -> &mut ForestNode {
        &mut self.nodes[id as usize]
    }

    pub(super) fn capacity(&self, link: u32) -> f64 {
        self.node(link).capacity
    }

    pub(super) fn above(&self, link: u32) -> Option<u32> {
        Some(self.node(link).above).filter(|&above| above != NONE)
    }

    /// Returns the number of nodes visited since the start.
    pub(super) fn visits(&self) -> u64 {
        self.visits
    }

    /// Returns the node whose clock governs `id`.
    fn owner(&self, mut id: u32) -> &ForestNode {
        while !self.node(id).owner {
            id = self.node(id).parent;
        }
        self.node(id)
    }

    /// Returns the current reading of the clock of `id`.
    fn clock(&self, mut id: u32) -> f64 {
        let mut ahead = 0.0;
        while !self.node(id).owner {
            ahead += self.node(id).clock;
            id = self.node(id).parent;
        }
        self.owner_clock(id) + ahead
    }

    fn owner_clock(&self, owner: u32) -> f64 {
        let node = self.node(owner);
        node.clock + node.rate * (self.now.nanos_since(node.since) * 1e-9)
    }

    fn is_idle(&self, id: u32) -> bool {
        let node = self.node(id);
        node.heap.is_empty() && node.tree.is_empty()
    }

    /// Summarizes everything below `id`; clock values are relative to the clock of `id`.
    fn summary(&self, id: u32) -> Summary {
        let ForestNode {
            tree,
            heap: transfers,
            weight,
            ..
        } = self.node(id);
        let mut summary = tree.summary();
        if let Some(first) = transfers.first() {
            summary.tag = summary.tag.min(first.key);
            summary.followers += weight;
            summary.highest_following = f64::INFINITY;
        }
        summary
    }

    /// Returns the rate of a follower of `id` per unit of weight.
    pub(super) fn rate_of_followers(&self, id: u32) -> f64 {
        self.owner(id).rate
    }

    pub(super) fn rate_of_transfer(&self, transfer: u32) -> f64 {
        let (node, weight) = self.transfer_node[transfer as usize];
        self.rate_of_followers(node) * weight.get()
    }

    /// Returns the throughput of a link.
    pub(super) fn throughput(&self, link: u32) -> f64 {
        let node = self.node(link);
        let summary = self.summary(link);
        if summary.followers > 0.0 && node.above == NONE {
            return node.capacity;
        }
        let followers = if summary.followers > 0.0 {
            summary.followers * self.rate_of_followers(link)
        } else {
            0.0
        };
        (summary.fixed + followers).min(node.capacity)
    }

    /// Returns the remaining bytes of a transfer; after the transfer's end, negative by at most the bytes of one
    /// nanosecond.
    pub(super) fn remaining(&self, transfer: u32) -> f64 {
        let (node, weight) = self.transfer_node[transfer as usize];
        let tag = self.node(node).heap[self.transfer_at[transfer as usize] as usize].key;
        (tag - self.clock(node)) * weight.get()
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// Sets the clock when this solver takes over. No transfer may be in flight.
    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Returns the tick at which the next transfer has ended.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.queue.first().map(|first| first.key.tick())
    }
}

/// Changes. They take effect at `now`, which only [`Forest::complete`] and [`Forest::move_to`] advance.
impl Forest {
    /// Advances to a tick before which nothing is due.
    pub(super) fn move_to(&mut self, tick: u64) {
        self.now = self.now.moved_to(tick);
    }

    pub(super) fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.node_mut(link).capacity = capacity;
        self.propagate(link);
        self.rebalance();
    }

    /// Starts `transfer`, an unused number, with `size` bytes on `link`.
    pub(super) fn insert(&mut self, transfer: u32, link: u32, connection: Connection, size: f64) {
        let cap = connection.unit_cap();
        let weight = connection.weight;
        let capped = cap < f64::INFINITY;
        let class = if capped {
            self.classes.get(&(link, cap.to_bits())).copied()
        } else {
            None
        };
        self.set_back_clocks(class.unwrap_or(link));
        let node = if capped {
            self.class(link, cap, 0.0)
        } else {
            link
        };
        let tag = self.clock(node) + size / weight.get();
        let index = transfer as usize;
        if self.transfer_at.len() <= index {
            self.transfer_at.resize(index + 1, NOWHERE);
            self.transfer_node.resize(index + 1, (NONE, weight));
        }
        self.transfer_node[index] = (node, weight);
        self.nodes[node as usize].weight += weight.get();
        heap::push(
            &mut self.nodes[node as usize].heap,
            tag,
            transfer,
            &mut self.transfer_at,
        );
        self.propagate(node);
        self.rebalance();
    }

    pub(super) fn remove(&mut self, transfer: u32) {
        let node = self.take_out(transfer);
        self.propagate(node);
        self.rebalance();
    }

    /// Advances to the end of the next transfer, ends all transfers that are due then, and appends them to `ended`.
    pub(super) fn complete(&mut self, ended: &mut Vec<u32>) {
        let Some(now) = self.queue.first().map(|first| first.key) else {
            return;
        };
        self.now = now;
        let first = ended.len();
        while let Some(&Keyed { item: owner, .. }) = self
            .queue
            .first()
            .filter(|next| now.coincides_with(next.key))
        {
            heap::remove(&mut self.queue, 0, &mut self.queue_at);
            self.mark_unbalanced(owner);
            let due = self.owner_clock(owner) + self.node(owner).rate * (SLACK_NANOS * 1e-9);
            self.collect_due(owner, due, ended);
        }
        // Collect all transfers before removing the first: rates after `now` must not affect what is due at `now`.
        let mut touched = std::mem::take(&mut self.touched);
        for &transfer in &ended[first..] {
            let node = self.take_out(transfer);
            if touched.last() != Some(&node) {
                touched.push(node);
            }
        }
        for node in touched.drain(..) {
            self.propagate(node);
        }
        self.touched = touched;
        self.rebalance();
    }

    /// Removes a transfer from its heap and returns the node to propagate from.
    fn take_out(&mut self, transfer: u32) -> u32 {
        let (node, weight) = self.transfer_node[transfer as usize];
        let place = self.transfer_at[transfer as usize];
        self.nodes[node as usize].weight -= weight.get();
        heap::remove(
            &mut self.nodes[node as usize].heap,
            place,
            &mut self.transfer_at,
        );
        node
    }

    /// Appends the transfers that follow `id` and have a tag of at most `due`. The first transfer is always appended:
    /// its end was announced for this instant, and rounding of the clocks in the meantime must not delay it.
    fn collect_due(&self, id: u32, due: f64, ended: &mut Vec<u32>) {
        let due = due.max(self.summary(id).tag);
        let ForestNode {
            tree,
            heap: transfers,
            ..
        } = self.node(id);
        if !transfers.is_empty() {
            collect_due_in(transfers, 0, due, ended);
        }
        tree.each_due(due, &mut |kid| {
            self.collect_due(kid, due + self.node(kid).clock, ended);
        });
    }

    /// Sets back the clocks between `id` and its root that exceed [`CLOCK_MAX`].
    fn set_back_clocks(&mut self, id: u32) {
        let mut at = id;
        while at != NONE {
            let reading = self.clock(at);
            if reading > CLOCK_MAX {
                self.set_back(at, reading);
                self.propagate(at);
            }
            let node = self.node(at);
            // An idle link has no class yet.
            at = if node.parent == NONE {
                node.above
            } else {
                node.parent
            };
        }
    }

    /// Resets the clock of `id`, which reads `by`, to zero without changing when anything ends. The caller then
    /// updates the nodes above.
    fn set_back(&mut self, id: u32, by: f64) {
        let now = self.now;
        let node = self.node_mut(id);
        if node.owner {
            (node.clock, node.since) = (0.0, now);
        } else {
            node.clock -= by;
        }
        // Subtracting the same number keeps the order, so heap and tree stay in order.
        for entry in &mut node.heap {
            entry.key -= by;
        }
        let mut tree = std::mem::take(&mut node.tree);
        tree.set_back(by, |kid| {
            let kid = self.node_mut(kid);
            if !kid.owner {
                kid.clock += by;
            }
        });
        self.node_mut(id).tree = tree;
    }
}

fn collect_due_in(transfers: &[Keyed<f64>], place: usize, due: f64, ended: &mut Vec<u32>) {
    if transfers[place].key <= due {
        ended.push(transfers[place].item);
        for down in heap::below(place, transfers.len()) {
            collect_due_in(transfers, down, due, ended);
        }
    }
}

/// A multiplicative hash, for keys that no adversary chooses. Tables that use it are never iterated.
#[derive(Default)]
pub(super) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
