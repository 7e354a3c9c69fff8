//! Recomputes the bottlenecks of bundles on local links, from a change outwards, in the order of levels.
//!
//! During a sweep, the levels of hubs are constant and bound bundles like caps. Links that a change reaches have at
//! least the level of the changed link: a bundle's rate matters only to links on which it is not the fastest, and
//! those have higher levels. So links are queued by level, and the first link in the queue is final unless something
//! below it changes. A link is handled as follows:
//! - Bundles whose link could give them more are released; they rise to their cap, or the level of their hubs or of
//!   the next link.
//! - An overloaded link stops the bundles above its new level.

use std::cmp::Reverse;

use super::hub::{UNIT, units};
use super::{Affine, Mesh, NONE, site_of_bundle, site_of_link};

impl Mesh {
    /// Queues a local link. It is handled once everything below `level` is final.
    pub(super) fn push(&mut self, link: u32, level: f64) {
        // Adding 0 makes a negative zero positive, so that the bits can serve as a key.
        let key = (level + 0.0).to_bits();
        let pending = &mut self.links[link as usize].pending;
        if key < *pending {
            *pending = key;
            self.pending.push(Reverse((key, link)));
        }
    }

    /// Queues all local links of a bundle.
    pub(super) fn touch_path(&mut self, bundle: u32, level: f64) {
        for at in 0..self.steps_of(bundle).len() {
            let link = self.steps_of(bundle)[at].link;
            if self.links[link as usize].hub == NONE {
                self.push(link, level);
            }
        }
    }

    /// Handles all queued links.
    pub(super) fn sweep(&mut self) {
        let patience = 4096 + 64 * self.links.len();
        let mut left = patience;
        while let Some(Reverse((key, link))) = self.pending.pop() {
            let at = &mut self.links[link as usize];
            if at.pending != key {
                continue;
            }
            at.pending = u64::MAX;
            debug_assert_eq!(at.hub, NONE, "only local links wait");
            self.visits += at.hops.len() as u64;
            let bounds = !at.bound.is_empty();
            let level = self.fill_level(link);
            let current = if bounds {
                self.level_of(link)
            } else {
                f64::INFINITY
            };
            let due = level.min(current);
            if due.to_bits() > key && due < f64::INFINITY {
                self.push(link, due);
                continue;
            }
            self.unguard(site_of_link(link));
            let slack = self.slack(link, level);
            if bounds && level > current + slack {
                self.release(link, current);
                if level < f64::INFINITY {
                    self.push(link, level);
                }
            } else if level < f64::INFINITY {
                self.fix(link, level, slack);
            }
            left -= 1;
            if left == 0 {
                self.margin *= 16.0;
                assert!(
                    self.margin < 1e-3,
                    "the fair shares at link {link} do not settle"
                );
                left = patience;
            }
        }
    }

    /// Returns the difference up to which rates on a link count as equal: the rounding error of a level, and of a sum
    /// as large as the capacity.
    fn slack(&self, link: u32, level: f64) -> f64 {
        if level < f64::INFINITY {
            self.margin * (level + self.links[link as usize].capacity * 1e-3)
        } else {
            0.0
        }
    }

    /// Returns the level to which a link can fill if others on it keep their rates and its own bundles rise to their
    /// limits; infinite if the link is not full then.
    fn fill_level(&mut self, link: u32) -> f64 {
        let mut shares = std::mem::take(&mut self.shares);
        shares.clear();
        let mut most = 0.0;
        let mut count = 0.0;
        for hop in &self.links[link as usize].hops {
            let bundle = &self.bundles[hop.bundle as usize];
            let rate = if bundle.bottleneck == link {
                self.limit(hop.bundle).rate
            } else {
                self.rate_of(hop.bundle)
            };
            most += rate * bundle.weight();
            count += bundle.weight();
            shares.push((rate, bundle.weight()));
        }
        let capacity = self.links[link as usize].capacity;
        let mut level = if most <= capacity {
            f64::INFINITY
        } else {
            capacity / count
        };
        while level < f64::INFINITY {
            let mut used = 0.0;
            let mut rest = 0.0;
            for &(rate, count) in &shares {
                if rate <= level {
                    used += rate * count;
                } else {
                    rest += count;
                }
            }
            let next = if rest > 0.0 {
                (capacity - used).max(0.0) / rest
            } else {
                f64::INFINITY
            };
            if next <= level {
                break;
            }
            level = next;
        }
        self.shares = shares;
        level
    }

    /// Removes the bottleneck of all bundles that a link bounds. `level`: the link's old level.
    fn release(&mut self, link: u32, level: f64) {
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        chosen.extend(
            self.links[link as usize]
                .bound
                .iter()
                .map(|entry| entry.item),
        );
        for &bundle in &chosen {
            self.detach(bundle);
        }
        for &bundle in &chosen {
            let bottleneck = self.limit(bundle).bottleneck;
            self.attach(bundle, bottleneck);
            self.touch_path(bundle, level);
        }
        self.chosen = chosen;
        // The link is queued again with its new level, if it gets one.
        self.links[link as usize].pending = u64::MAX;
    }

    /// Makes a link the bottleneck of all bundles on it whose rate would exceed the link's level.
    fn fix(&mut self, link: u32, level: f64, slack: f64) {
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        for at in 0..self.links[link as usize].hops.len() {
            let bundle = self.links[link as usize].hops[at].bundle;
            let was = self.bundles[bundle as usize].bottleneck;
            if was == link {
                let limit = self.limit(bundle);
                if limit.rate < level - slack {
                    self.detach(bundle);
                    self.attach(bundle, limit.bottleneck);
                    self.touch_path(bundle, level);
                }
            } else if was == NONE || self.rate_of(bundle) > level + slack {
                self.detach(bundle);
                chosen.push(bundle);
            }
        }
        let mut sum = std::mem::take(&mut self.sum);
        self.level_left(link, &mut sum);
        let own = self.links[link as usize].bound.len();
        let changes =
            own + chosen.len() > 0 && (own == 0 || sum != self.links[link as usize].level);
        if changes {
            self.change_level(link, &sum, level);
        }
        self.sum = sum;
        for &bundle in &chosen {
            self.attach(bundle, link);
            self.touch_path(bundle, level);
        }
        self.chosen = chosen;
        // The link that was pushed last is this one.
        self.links[link as usize].pending = u64::MAX;
    }

    /// Changes the rate of the bundles that a link already bounds.
    fn change_level(&mut self, link: u32, new: &Affine, level: f64) {
        for at in 0..self.links[link as usize].bound.len() {
            self.contribute(self.links[link as usize].bound[at].item, -1);
        }
        self.set_local_level(link, new);
        for at in 0..self.links[link as usize].bound.len() {
            let bundle = self.links[link as usize].bound[at].item;
            self.contribute(bundle, 1);
            self.unguard(site_of_bundle(bundle));
            self.touch_path(bundle, level);
        }
        self.unqueue(site_of_link(link));
    }

    /// Computes the rate that remains on a local link, after all other bundles, for each bundle that it bounds or that
    /// has no bottleneck. Sums are exact, so they do not depend on the order of bundles.
    fn level_left(&self, link: u32, sum: &mut Affine) {
        let at = &self.links[link as usize];
        sum.clear();
        let mut own = 0.0;
        let mut used = 0;
        for hop in &at.hops {
            let bundle = &self.bundles[hop.bundle as usize];
            if bundle.bottleneck == link || bundle.bottleneck == NONE {
                own += bundle.weight();
            } else {
                let before = std::mem::take(&mut sum.base);
                self.add_rate(hop.bundle, -bundle.weight(), sum);
                used += units(sum.base);
                sum.base = before;
            }
        }
        sum.base = (units(at.capacity) + used) as f64 / UNIT;
        sum.scale(1.0 / own);
    }
}
