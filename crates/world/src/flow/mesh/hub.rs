//! Hubs: links with many bundles, and the levels at which they are full.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bundle::CAP;
use super::{Mesh, NONE, Site, site_of_bundle, site_of_link};
use crate::flow::connection::ShareWeight;
use crate::flow::instant::Instant;

/// Number of binary digits after the point in a sum. Rates are counted in steps of 2⁻⁴⁴ bytes per second, so that sums
/// are exact and do not depend on the order of changes.
const DIGITS: u32 = 44;
pub(super) const UNIT: f64 = (1u64 << DIGITS) as f64;

/// A level of a hub above or below which a choice of a site could be wrong. Guards are ordered by this level.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Guard {
    /// The bits of the level. Levels are not negative, so bits are ordered like levels.
    level_bits: u64,
    site: u32,
    /// The stamp of the site when the guard was created. The guard is valid while the site still has this stamp.
    stamp: u32,
}

impl Guard {
    const fn level(self) -> f64 {
        f64::from_bits(self.level_bits)
    }

    fn is_valid(self, sites: &[Site]) -> bool {
        sites[self.site as usize].stamp == self.stamp
    }
}

/// A possible move of a hub to the level at which it is full, with its rank in the order of moves.
struct HubMove {
    hub: u32,
    target: f64,
    turn: u8,
    /// The lower of the hub's level and its target: within a turn, the lowest hub is moved first.
    lowest: f64,
}

impl HubMove {
    fn comes_before(&self, other: &Self) -> bool {
        (self.turn, self.lowest) < (other.turn, other.lowest)
    }
}

/// Multiplies the steps of a sum by a weight. Rounds towards zero, so that a contribution and its opposite cancel.
fn weighted(weight: i128, units: i128) -> i128 {
    weight * units / i128::from(ShareWeight::STEPS)
}

#[derive(Clone, Debug)]
pub(super) struct Hub {
    pub(super) link: u32,
    /// The common rate of the bundles that the hub bounds; infinite while it bounds no bundle.
    pub(super) level: f64,
    /// The reading of the hub's clock at `since`.
    pub(super) clock: f64,
    pub(super) since: Instant,
    /// The sum of the hub's bundles' rates is linear in the levels of other hubs: `fixed` is the constant term, and
    /// `factors` has the coefficient of each of these levels.
    fixed: i128,
    factors: Vec<(u32, i128)>,
    /// Hubs whose sums depend on this hub's level.
    dependents: Vec<u32>,
    dirty: bool,
    /// Guards above and below the hub's level.
    above: BinaryHeap<Reverse<Guard>>,
    below: BinaryHeap<Guard>,
    /// Number of guards above which outdated guards are dropped.
    crowded: usize,
}

pub(super) fn units(rate: f64) -> i128 {
    (rate * UNIT) as i128
}

impl Hub {
    fn factor(&self, of: u32) -> f64 {
        let at = self.factors.binary_search_by_key(&of, |&(hub, _)| hub);
        at.map_or(0.0, |at| self.factors[at].1 as f64 / UNIT)
    }
}

impl Hub {
    /// Returns the lowest valid guard above the level.
    fn next_above(&mut self, sites: &[Site]) -> Option<Guard> {
        loop {
            let Reverse(guard) = *self.above.peek()?;
            if guard.is_valid(sites) {
                return Some(guard);
            }
            self.above.pop();
        }
    }

    /// Returns the highest valid guard below the level.
    fn next_below(&mut self, sites: &[Site]) -> Option<Guard> {
        loop {
            let guard = *self.below.peek()?;
            if guard.is_valid(sites) {
                return Some(guard);
            }
            self.below.pop();
        }
    }
}

impl Mesh {
    pub(super) fn mark_dirty(&mut self, hub: u32) {
        let dirty = &mut self.hubs[hub as usize].dirty;
        if !*dirty {
            *dirty = true;
            self.dirty_hubs.push(hub);
        }
    }

    /// Turns a local link into a hub.
    pub(super) fn promote(&mut self, link: u32) {
        self.each_bundle_on(link, |mesh, bundle| mesh.contribute(bundle, -1));
        let clock = self.reading_of_link(link);
        let bounds = !self.links[link as usize].bound.is_empty();
        let level = if bounds {
            self.level_of(link)
        } else {
            f64::INFINITY
        };
        let new = Hub {
            link,
            level,
            clock: if bounds { clock } else { 0.0 },
            since: self.now,
            fixed: 0,
            factors: Vec::new(),
            dependents: Vec::new(),
            dirty: false,
            above: BinaryHeap::new(),
            below: BinaryHeap::new(),
            crowded: 0,
        };
        let id = match self.free_hubs.pop() {
            Some(id) => {
                self.hubs[id as usize] = new;
                id
            }
            None => {
                self.hubs.push(new);
                self.hubs.len() as u32 - 1
            }
        };
        let at = &mut self.links[link as usize];
        at.hub = id;
        at.exact = true;
        at.pending = u64::MAX;
        at.level.clear();
        self.unqueue(site_of_link(link));
        // The guards that the hub had as a local link become void.
        self.unguard(site_of_link(link));
        self.each_bundle_on(link, |mesh, bundle| {
            mesh.contribute(bundle, 1);
            mesh.unguard(site_of_bundle(bundle));
            mesh.touch_path(bundle, 0.0);
        });
        self.mark_dirty(id);
    }

    /// Turns a hub into a local link.
    pub(super) fn demote(&mut self, link: u32) {
        let hub = self.links[link as usize].hub;
        let bound: Vec<u32> = self.links[link as usize]
            .bound
            .iter()
            .map(|entry| entry.item)
            .collect();
        for &bundle in &bound {
            self.detach(bundle);
        }
        self.each_bundle_on(link, |mesh, bundle| mesh.contribute(bundle, -1));
        self.links[link as usize].hub = NONE;
        self.each_bundle_on(link, |mesh, bundle| {
            mesh.contribute(bundle, 1);
            mesh.unguard(site_of_bundle(bundle));
        });
        for bundle in bound {
            let bottleneck = self.limit(bundle).bottleneck;
            self.attach(bundle, bottleneck);
        }
        self.each_bundle_on(link, |mesh, bundle| mesh.touch_path(bundle, 0.0));
        self.push(link, 0.0);
        // The hub's level and clock are still read until its surroundings are swept.
        self.leaving.push(hub);
        for (of, _) in std::mem::take(&mut self.hubs[hub as usize].factors) {
            self.hubs[of as usize]
                .dependents
                .retain(|&dependent| dependent != hub);
        }
        if std::mem::take(&mut self.hubs[hub as usize].dirty) {
            self.dirty_hubs.retain(|&dirty| dirty != hub);
        }
    }

    /// Turns every hub into a local link, finds all bottlenecks in one sweep, and recreates the hubs. This is the
    /// fallback if hubs do not settle one by one.
    pub(super) fn settle_without_hubs(&mut self) {
        let hubs: Vec<u32> = (0..self.links.len() as u32)
            .filter(|&at| self.links[at as usize].hub != NONE)
            .collect();
        for &link in &hubs {
            self.demote(link);
        }
        self.sweep();
        self.free_left_hubs();
        for link in hubs {
            self.promote(link);
        }
        self.sweep();
        self.renew_guards();
        // The hubs are at their levels, up to rounding.
        while let Some(hub) = self.dirty_hubs.pop() {
            self.hubs[hub as usize].dirty = false;
        }
        self.visits += self.bundles.len() as u64;
    }

    /// Frees the former hubs on which no rate depends any more.
    pub(super) fn free_left_hubs(&mut self) {
        while let Some(hub) = self.leaving.pop() {
            debug_assert!(
                self.hubs[hub as usize].dependents.is_empty(),
                "nothing depends on a link that is no hub"
            );
            self.free_hubs.push(hub);
        }
    }

    fn each_bundle_on(&mut self, link: u32, mut each: impl FnMut(&mut Self, u32)) {
        for at in 0..self.links[link as usize].hops.len() {
            let bundle = self.links[link as usize].hops[at].bundle;
            each(self, bundle);
        }
    }

    /// Adds a bundle's throughput to the sums of its hubs, or subtracts it.
    pub(super) fn contribute(&mut self, id: u32, sign: i32) {
        let bundle = &self.bundles[id as usize];
        let bottleneck = bundle.bottleneck;
        let cap = bundle.cap;
        let weight = i128::from(bundle.solved_weight) * i128::from(sign);
        if bottleneck == NONE {
            return;
        }
        for step in 0..self.steps_of(id).len() {
            let hub = self.links[self.steps_of(id)[step].link as usize].hub;
            if hub == NONE {
                continue;
            }
            if bottleneck == CAP {
                self.hubs[hub as usize].fixed += weighted(weight, units(cap));
            } else if self.links[bottleneck as usize].hub != NONE {
                self.add_factor(
                    hub,
                    self.links[bottleneck as usize].hub,
                    weighted(weight, 1 << DIGITS),
                );
            } else {
                self.hubs[hub as usize].fixed +=
                    weighted(weight, units(self.links[bottleneck as usize].level.base));
                for at in 0..self.links[bottleneck as usize].level.terms.len() {
                    let (of, factor) = self.links[bottleneck as usize].level.terms[at];
                    self.add_factor(hub, of, weighted(weight, units(factor)));
                }
            }
            self.mark_dirty(hub);
        }
    }

    fn add_factor(&mut self, hub: u32, of: u32, factor: i128) {
        if factor == 0 {
            return;
        }
        let factors = &mut self.hubs[hub as usize].factors;
        match factors.binary_search_by_key(&of, |&(of, _)| of) {
            Ok(at) => {
                factors[at].1 += factor;
                if factors[at].1 == 0 {
                    factors.remove(at);
                    self.hubs[of as usize]
                        .dependents
                        .retain(|&dependent| dependent != hub);
                }
            }
            Err(at) => {
                factors.insert(at, (of, factor));
                self.hubs[of as usize].dependents.push(hub);
            }
        }
    }

    /// Returns the rate that the bundles of a hub use, except for those that the hub bounds.
    fn used_by_others(&self, id: u32) -> f64 {
        let hub = &self.hubs[id as usize];
        let others = hub.factors.iter().filter(|&&(of, _)| of != id);
        others.fold(hub.fixed as f64 / UNIT, |sum, &(of, factor)| {
            sum + factor as f64 / UNIT * self.hubs[of as usize].level
        })
    }

    /// Returns the throughput of a hub that bounds nothing.
    pub(super) fn used(&self, id: u32) -> f64 {
        self.used_by_others(id)
    }

    /// Returns the level at which a hub is full, as long as no bundle changes its bottleneck.
    fn target(&self, id: u32) -> f64 {
        let hub = &self.hubs[id as usize];
        let link = &self.links[hub.link as usize];
        let capacity = link.capacity;
        let left = capacity - self.used_by_others(id);
        if link.bound.is_empty() {
            // The hub is overloaded but bounds no bundle, so its level must fall until it bounds one.
            return if left >= -self.margin * capacity {
                f64::INFINITY
            } else {
                0.0
            };
        }
        let own = hub.factor(id);
        if own > 0.5 * self.lightest.get() {
            return left.max(0.0) / own;
        }
        // The level of the hub does not change its total rate; this happens only if a choice is at its limit.
        let rest = left - own * hub.level;
        match rest {
            rest if rest.abs() <= self.margin * capacity => hub.level,
            rest if rest > 0.0 => 2.0 * hub.level + 1.0,
            _ => 0.0,
        }
    }

    /// Moves a hub that is not at its level, up to the next guard. Returns false if all hubs are at their levels.
    ///
    /// Hubs whose level is unknown, and hubs that bound nothing and are not overloaded, are first. Then each hub,
    /// lowest first, moves until it reaches its level: if two hubs took turns, each would stop at the other. Hubs that
    /// bound nothing and are overloaded are last, because they may only seem overloaded until all others are settled.
    pub(super) fn move_a_hub(&mut self) -> bool {
        let mut next: Option<HubMove> = None;
        let mut at = 0;
        while let Some(&hub) = self.dirty_hubs.get(at) {
            let level = self.hubs[hub as usize].level;
            let target = self.target(hub);
            if target.to_bits() == level.to_bits() {
                self.hubs[hub as usize].dirty = false;
                self.dirty_hubs.swap_remove(at);
                continue;
            }
            let turn = match self.links[self.hubs[hub as usize].link as usize]
                .bound
                .is_empty()
            {
                false if level == f64::INFINITY => 0,
                true if target == f64::INFINITY => 0,
                _ if hub == self.moving => 1,
                false => 2,
                true => 3,
            };
            let candidate = HubMove {
                hub,
                target,
                turn,
                lowest: level.min(target),
            };
            if next
                .as_ref()
                .is_none_or(|next| candidate.comes_before(next))
            {
                next = Some(candidate);
            }
            at += 1;
        }
        let Some(HubMove { hub, target, .. }) = next else {
            return false;
        };
        self.moving = hub;
        self.visits += 1;
        self.approach(hub, target);
        true
    }

    /// Moves the level of a hub to `target`, or slightly past the first guard on the way.
    fn approach(&mut self, id: u32, target: f64) {
        let level = self.hubs[id as usize].level;
        let rises = target > level;
        let hub = &mut self.hubs[id as usize];
        let guard = if rises {
            hub.next_above(&self.sites)
        } else {
            hub.next_below(&self.sites)
        };
        let Some(guard) = guard else {
            self.set_hub_level(id, target);
            return;
        };
        // Because of rounding, the hub may already be past a guard.
        let rounding = self.margin * (4.0 * guard.level() + 1e3);
        let crosses = if rises {
            target > guard.level() + rounding
        } else {
            target < guard.level() - rounding
        };
        if !crosses {
            self.set_hub_level(id, target);
            return;
        }
        let stop = (id, guard.site);
        if self.stopped_by != stop {
            self.stops = 0;
        }
        // Move further past the guard if the guarded choice did not change there.
        let beyond = rounding * f64::from(1_u32 << self.stops.min(30));
        let new = if rises {
            target.min((guard.level() + beyond).max(level))
        } else {
            target.max((guard.level() - beyond).min(level)).max(0.0)
        };
        if self.stopped_by == stop {
            self.stops += 1;
        }
        self.stopped_by = stop;
        self.set_hub_level(id, new);
        self.cross_guard(guard.site);
    }

    fn set_hub_level(&mut self, id: u32, level: f64) {
        let clock = self.reading_of_hub(id);
        let hub = &mut self.hubs[id as usize];
        let link = hub.link;
        let was_unknown = hub.level == f64::INFINITY;
        hub.clock = clock;
        hub.since = self.now;
        hub.level = level;
        if was_unknown {
            // These links could not have guards until now.
            let begun: Vec<u32> = self.links[link as usize]
                .bound
                .iter()
                .map(|entry| entry.item)
                .collect();
            for bundle in begun {
                self.cross_guard(site_of_bundle(bundle));
            }
        }
        for at in 0..self.hubs[id as usize].dependents.len() {
            self.mark_dirty(self.hubs[id as usize].dependents[at]);
        }
        self.mark_dirty(id);
        self.unqueue(site_of_link(link));
    }

    /// Handles a guard that the level of a hub has crossed: makes the guarded choice again.
    fn cross_guard(&mut self, site: u32) {
        self.unguard(site);
        let id = site / 2;
        if site == site_of_link(id) {
            self.push(id, 0.0);
            return;
        }
        let bottleneck = self.bundles[id as usize].bottleneck;
        if bottleneck < CAP && self.links[bottleneck as usize].hub == NONE {
            self.push(bottleneck, 0.0);
            return;
        }
        let limit = self.limit(id);
        if limit.rate < self.rate_of(id) {
            self.detach(id);
            self.attach(id, limit.bottleneck);
            self.touch_path(id, 0.0);
        }
    }

    /// Adds guards of a site to a hub: the levels below and above which its choices could be wrong.
    pub(super) fn add_guards(&mut self, id: u32, site: u32, low: f64, high: f64) {
        let Self {
            hubs, sites, links, ..
        } = self;
        let hub = &mut hubs[id as usize];
        let stamp = sites[site as usize].stamp;
        if low > 0.0 {
            hub.below.push(Guard {
                level_bits: low.to_bits(),
                site,
                stamp,
            });
        }
        if high < f64::INFINITY {
            // Adding 0 makes a negative zero positive, so that the bits can serve as a key.
            hub.above.push(Reverse(Guard {
                level_bits: (high.max(0.0) + 0.0).to_bits(),
                site,
                stamp,
            }));
        }
        if hub.above.len() + hub.below.len() > hub.crowded {
            hub.above.retain(|Reverse(guard)| guard.is_valid(sites));
            hub.below.retain(|guard| guard.is_valid(sites));
            hub.crowded = 64
                + 4 * (hub.above.len() + hub.below.len()).max(links[hub.link as usize].hops.len());
        }
    }
}
