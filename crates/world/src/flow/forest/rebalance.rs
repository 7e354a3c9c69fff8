//! Pins and unpins classes until each class's state fits its level.

use super::{Forest, MARGIN, NodeKind};
use crate::engine::heap::{self, NOWHERE};
use crate::flow::tree::Summary;

impl Forest {
    pub(super) fn mark_unbalanced(&mut self, owner: u32) {
        let node = &mut self.nodes[owner as usize];
        if !node.unbalanced {
            node.unbalanced = true;
            self.unbalanced.push(owner);
        }
    }

    fn is_live_owner(&self, id: u32) -> bool {
        let node = self.node(id);
        node.owner && node.kind != NodeKind::Free
    }

    /// Toggles classes until the states of all fit their levels, then updates when the affected owners are due.
    ///
    /// # Panics
    /// If toggling does not end, which requires levels that contradict each other by a relative 10⁻³.
    pub(super) fn rebalance(&mut self) {
        let mut margin = MARGIN;
        let mut toggles_left = 64 + 8 * self.classes.len();
        while let Some(owner) = self.unbalanced.pop() {
            self.node_mut(owner).unbalanced = false;
            while self.is_live_owner(owner) {
                let summary = self.node(owner).tree.summary();
                let level = self.node(owner).level;
                let misfit = if summary.highest_pinned > level * (1.0 + margin) {
                    self.find_class(
                        owner,
                        |part| part.highest_pinned >= summary.highest_pinned,
                        true,
                    )
                } else if summary.lowest_following < level * (1.0 - margin) {
                    self.find_class(
                        owner,
                        |part| part.lowest_following <= summary.lowest_following,
                        false,
                    )
                } else {
                    self.requeue(owner);
                    break;
                };
                self.toggle(misfit);
                toggles_left -= 1;
                if toggles_left == 0 {
                    // The difference of two nearly equal sums can be less exact than the margin, so that two classes
                    // alternate. The wider margin is within the error of that difference.
                    margin *= 16.0;
                    assert!(
                        margin < 1e-3,
                        "the fair shares below node {owner} do not rebalance"
                    );
                    toggles_left = 64 + 8 * self.classes.len();
                }
            }
        }
    }

    /// Returns the topmost class below `id` that has this pinned state, and whose own level satisfies `has`.
    fn find_class(&self, id: u32, has: impl Fn(&Summary) -> bool, pinned: bool) -> u32 {
        let mut at = id;
        loop {
            at = self.node(at).tree.find(&has);
            let node = self.node(at);
            if node.kind == NodeKind::Class && node.owner == pinned {
                let own = Summary {
                    lowest_following: node.level,
                    highest_pinned: node.level,
                    ..Summary::NOTHING
                };
                if has(&own) {
                    return at;
                }
            }
        }
    }

    fn toggle(&mut self, class: u32) {
        let reading = self.clock(class);
        let link_reading = self.clock(self.node(class).parent);
        let now = self.now;
        let node = self.node_mut(class);
        if node.owner {
            (node.owner, node.clock, node.rate) = (false, reading - link_reading, 0.0);
            self.unqueue(class);
        } else {
            (node.owner, node.clock, node.since, node.rate) = (true, reading, now, node.level);
        }
        self.propagate(class);
    }

    /// Queues the time at which the next transfer that `owner` governs ends.
    fn requeue(&mut self, owner: u32) {
        let node = &self.nodes[owner as usize];
        let left = self.summary(owner).tag - node.clock;
        // A transfer that rounding puts before `since` is due immediately; at rate 0 no other transfer is ever due.
        let nanos = if left > 0.0 {
            left / node.rate * 1e9
        } else {
            0.0
        };
        let Some(due) = node.since.after(nanos) else {
            self.unqueue(owner);
            return;
        };
        let due = due.max(self.now);
        match self.queue_at[owner as usize] {
            NOWHERE => heap::push(&mut self.queue, due, owner, &mut self.queue_at),
            place => heap::rekey(&mut self.queue, place, due, &mut self.queue_at),
        }
    }
}
