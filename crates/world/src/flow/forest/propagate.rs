//! Propagates a change from a node towards the root, and stops where it no longer has an effect.

use super::{CLOCK_MAX, Forest, ForestNode, MARGIN, NONE, NodeKind};
use crate::engine::heap::{self, NOWHERE};
use crate::flow::instant::Instant;
use crate::flow::tree::{Summary, Tree};

impl Forest {
    /// Updates everything above `id` after a change in `id`, but does not pin or unpin classes.
    pub(super) fn propagate(&mut self, id: u32) {
        let mut link = match self.node(id).kind {
            NodeKind::Free => return,
            NodeKind::Link => id,
            NodeKind::Class => {
                let link = self.node(id).parent;
                if !self.refresh_class(id) {
                    return;
                }
                link
            }
        };
        while self.node(link).above != NONE {
            if !self.refresh_link(link) {
                return;
            }
            link = self.node(link).above;
        }
        self.refresh_root(link);
    }

    /// Returns the rate at which `link` becomes the bottleneck of its followers.
    fn level(&self, link: u32, summary: &Summary) -> f64 {
        let capacity = self.node(link).capacity;
        if summary.followers == 0.0 {
            // The link is overloaded without followers: level 0 unpins everything below, largest level first.
            return if summary.fixed <= capacity * (1.0 + MARGIN) {
                f64::INFINITY
            } else {
                0.0
            };
        }
        // Adding 0 makes a negative zero positive, so that the bits can serve as a key.
        (capacity - summary.fixed).max(0.0) / summary.followers + 0.0
    }

    /// Updates the clock and the rate of a root.
    fn refresh_root(&mut self, root: u32) {
        self.visits += 1;
        let summary = self.summary(root);
        let level = self.level(root, &summary);
        let rate = if summary.followers > 0.0 { level } else { 0.0 };
        let now = self.now;
        let reading = self.owner_clock(root);
        let empty = self.is_idle(root);
        let node = self.node_mut(root);
        // A clock without followers is reset to zero.
        node.clock = if empty { 0.0 } else { reading };
        node.since = now;
        node.rate = rate;
        node.level = level;
        self.mark_unbalanced(root);
    }

    /// Updates the summary of `link` in its class, or moves it to another class. Returns whether this affects the link
    /// above.
    fn refresh_link(&mut self, link: u32) -> bool {
        self.visits += 1;
        let class = self.node(link).parent;
        if self.is_idle(link) {
            if class == NONE {
                return false;
            }
            self.detach(link);
            self.node_mut(link).clock = 0.0;
            return self.refresh_class(class);
        }
        let summary = self.summary(link);
        let mut level = self.level(link, &summary);
        if summary.highest_following.to_bits() == summary.lowest_following.to_bits()
            && summary.followers > 0.0
        {
            // All followers are in one class, which becomes the bottleneck before the link or together with it.
            level = level.min(summary.lowest_following);
        }
        if class != NONE && level.to_bits() == self.node(link).level.to_bits() {
            return self.report_link(link, summary) && self.refresh_class(class);
        }
        let reading = self.clock(link);
        if class != NONE {
            self.detach(link);
        }
        let new_class = self.class(self.node(link).above, level, reading);
        let class_reading = self.clock(new_class);
        if class_reading > CLOCK_MAX {
            self.set_back(new_class, class_reading);
        }
        let clock = reading - self.clock(new_class);
        let slot = self.node_mut(new_class).tree.insert(link);
        let node = self.node_mut(link);
        (node.owner, node.parent, node.slot) = (false, new_class, slot);
        (node.clock, node.rate, node.level) = (clock, 0.0, level);
        self.report_link(link, summary);
        let left_differs = class != NONE && self.refresh_class(class);
        self.refresh_class(new_class) || left_differs
    }

    fn report_link(&mut self, link: u32, summary: Summary) -> bool {
        let &ForestNode {
            clock,
            parent,
            slot,
            ..
        } = self.node(link);
        let seen = Summary {
            tag: summary.tag - clock,
            highest_following: f64::NEG_INFINITY,
            ..summary
        };
        self.node_mut(parent).tree.set(slot, seen)
    }

    /// Removes a link from its class.
    fn detach(&mut self, link: u32) {
        let now = self.now;
        let &ForestNode { parent, slot, .. } = self.node(link);
        self.node_mut(parent).tree.remove(slot);
        let node = self.node_mut(link);
        (node.owner, node.parent, node.slot) = (true, NONE, NONE);
        (node.rate, node.since, node.level) = (0.0, now, 0.0);
    }

    /// Updates the summary of `class` in its link, or frees the class if it is empty. Returns whether this affects the
    /// link.
    fn refresh_class(&mut self, class: u32) -> bool {
        self.visits += 1;
        if self.is_idle(class) {
            return self.free_class(class);
        }
        let summary = self.summary(class);
        let node = &self.nodes[class as usize];
        let link = node.parent;
        let slot = node.slot;
        let level = node.level;
        let seen = if node.owner {
            Summary {
                highest_pinned: level,
                fixed: summary.fixed + level * summary.followers,
                ..Summary::NOTHING
            }
        } else {
            Summary {
                tag: summary.tag - node.clock,
                lowest_following: summary.lowest_following.min(level),
                highest_following: if summary.followers > 0.0 {
                    level
                } else {
                    f64::NEG_INFINITY
                },
                ..summary
            }
        };
        if node.owner {
            self.mark_unbalanced(class);
        }
        self.node_mut(link).tree.set(slot, seen)
    }

    /// Returns the class of `link` with this level. A new class gets a clock that fits a first member whose clock
    /// reads `reading`.
    pub(super) fn class(&mut self, link: u32, level: f64, reading: f64) -> u32 {
        if let Some(&class) = self.classes.get(&(link, level.to_bits())) {
            return class;
        }
        let governing = self.owner(link);
        // This is only an initial guess, which avoids a later change of state.
        let pinned = level
            < if governing.kind == NodeKind::Link {
                governing.level
            } else {
                governing.rate
            };
        let class = self.free_classes.pop().unwrap_or_else(|| {
            self.add_node(ForestNode {
                kind: NodeKind::Free,
                owner: false,
                unbalanced: false,
                parent: NONE,
                slot: NONE,
                above: NONE,
                clock: 0.0,
                rate: 0.0,
                since: Instant::default(),
                level: 0.0,
                capacity: 0.0,
                tree: Tree::default(),
                heap: Vec::new(),
                weight: 0.0,
            })
        });
        let slot = self.node_mut(link).tree.insert(class);
        let now = self.now;
        let node = self.node_mut(class);
        (node.kind, node.owner, node.parent, node.slot, node.level) =
            (NodeKind::Class, pinned, link, slot, level);
        (node.clock, node.rate, node.since) = if pinned {
            (reading, level, now)
        } else {
            (0.0, 0.0, now)
        };
        self.classes.insert((link, level.to_bits()), class);
        class
    }

    fn free_class(&mut self, class: u32) -> bool {
        let node = self.node_mut(class);
        let link = node.parent;
        let slot = node.slot;
        let level = node.level;
        node.kind = NodeKind::Free;
        node.owner = false;
        node.parent = NONE;
        self.unqueue(class);
        self.classes.remove(&(link, level.to_bits()));
        self.free_classes.push(class);
        self.node_mut(link).tree.remove(slot)
    }

    pub(super) fn unqueue(&mut self, owner: u32) {
        let place = self.queue_at[owner as usize];
        if place != NOWHERE {
            heap::remove(&mut self.queue, place, &mut self.queue_at);
        }
    }
}
