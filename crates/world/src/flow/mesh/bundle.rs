//! Bundles: transfers with equal path and equal cap per unit of weight.
//!
//! The tags, caps and rates of bundles are per unit of weight.

use std::hash::Hasher as _;

use super::{Affine, Hop, Mesh, Mix, NONE, site_of_bundle, site_of_link};
use crate::engine::heap::{self, Keyed, NOWHERE};
use crate::flow::connection::{Connection, ShareWeight};
use crate::flow::instant::Instant;

/// Denotes the bundle's own cap as its bottleneck.
pub(super) const CAP: u32 = u32::MAX - 1;

/// A link of a bundle's path, and the bundle's position in that link's list.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathStep {
    pub(super) link: u32,
    place: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Bundle {
    /// The bundle's transfers by tag.
    pub(super) tags: Vec<Keyed<f64>>,
    pub(super) cap: f64,
    /// The sum of the transfers' weights, in sixteenths.
    weight: u64,
    /// The sum of weights for which the rates were solved.
    pub(super) solved_weight: u64,
    /// The link that bounds the bundle, [`CAP`], or [`NONE`] while the rate is unknown.
    pub(super) bottleneck: u32,
    /// If a link bounds the bundle: the bundle's clock minus the link's. Otherwise: the reading of the bundle's clock
    /// at `since`.
    pub(super) clock: f64,
    pub(super) since: Instant,
    steps: u32,
    changed: bool,
    hash: u64,
    /// The next bundle with the same hash.
    next: u32,
}

impl Bundle {
    /// Returns the sum of the bundle's weights for which the rates were solved.
    pub(super) fn weight(&self) -> f64 {
        self.solved_weight as f64 / ShareWeight::STEPS as f64
    }

    /// Returns the tag of the transfer that ends first.
    pub(super) fn first_tag(&self) -> f64 {
        self.tags.first().map_or(f64::INFINITY, |first| first.key)
    }
}

/// The rate per unit of weight in a bundle, and the bottleneck that bounds it.
#[derive(Clone, Copy)]
pub(super) struct RateLimit {
    pub(super) rate: f64,
    /// The hub that bounds the bundle, [`CAP`], or [`NONE`].
    pub(super) bottleneck: u32,
}

impl Mesh {
    /// Starts `transfer`, an unused number, with `left` bytes over distinct `links`.
    pub(in crate::flow) fn insert(
        &mut self,
        transfer: u32,
        links: impl Iterator<Item = u32>,
        connection: Connection,
        left: f64,
    ) {
        let weight = connection.weight;
        if weight < self.lightest {
            self.lightest = weight;
        }
        self.quiet = false;
        self.path.clear();
        self.path.extend(links);
        let bundle = self.bundle(connection.unit_cap());
        self.set_back_clocks(bundle);
        let index = transfer as usize;
        if self.transfer_at.len() <= index {
            self.transfer_at.resize(index + 1, NOWHERE);
            self.transfer_bundle.resize(index + 1, (NONE, weight));
        }
        self.transfer_bundle[index] = (bundle, weight);
        self.bundles[bundle as usize].weight += weight.steps();
        let tag = self.reading_of_bundle(bundle) + left / weight.get();
        heap::push(
            &mut self.bundles[bundle as usize].tags,
            tag,
            transfer,
            &mut self.transfer_at,
        );
        self.bundle_changed(bundle);
    }

    /// Removes a transfer.
    pub(in crate::flow) fn remove(&mut self, transfer: u32) {
        self.quiet = false;
        let (bundle, weight) = self.transfer_bundle[transfer as usize];
        self.bundles[bundle as usize].weight -= weight.steps();
        let place = self.transfer_at[transfer as usize];
        heap::remove(
            &mut self.bundles[bundle as usize].tags,
            place,
            &mut self.transfer_at,
        );
        self.bundle_changed(bundle);
    }

    /// Returns the links of a transfer in the given order.
    #[cfg(test)]
    pub(in crate::flow) fn path(&self, transfer: u32) -> Vec<u32> {
        self.steps_of(self.transfer_bundle[transfer as usize].0)
            .iter()
            .map(|step| step.link)
            .collect()
    }

    /// Returns the remaining bytes of a transfer; rounding can make them slightly negative.
    pub(in crate::flow) fn remaining(&self, transfer: u32) -> f64 {
        let (bundle, weight) = self.transfer_bundle[transfer as usize];
        let tag =
            self.bundles[bundle as usize].tags[self.transfer_at[transfer as usize] as usize].key;
        (tag - self.reading_of_bundle(bundle)) * weight.get()
    }

    pub(super) fn steps_of(&self, bundle: u32) -> &[PathStep] {
        &self.steps[bundle as usize * self.stride..][..self.bundles[bundle as usize].steps as usize]
    }

    /// Returns the bundle with the path in `self.path` and this cap.
    fn bundle(&mut self, cap: f64) -> u32 {
        let mut hash = Mix::default();
        hash.write_u64(cap.to_bits());
        for &link in &self.path {
            hash.write_u32(link);
        }
        let hash = hash.finish();
        let first = self.bundle_of.get(&hash).copied().unwrap_or(NONE);
        let mut at = first;
        while at != NONE {
            let bundle = &self.bundles[at as usize];
            let equal =
                bundle.cap.to_bits() == cap.to_bits() && bundle.steps as usize == self.path.len();
            if equal
                && self
                    .steps_of(at)
                    .iter()
                    .map(|step| step.link)
                    .eq(self.path.iter().copied())
            {
                return at;
            }
            at = bundle.next;
        }
        self.new_bundle(cap, hash, first)
    }

    fn new_bundle(&mut self, cap: f64, hash: u64, next: u32) -> u32 {
        let new = Bundle {
            tags: Vec::new(),
            cap,
            weight: 0,
            solved_weight: 0,
            bottleneck: NONE,
            clock: 0.0,
            since: self.now,
            steps: self.path.len() as u32,
            changed: false,
            hash,
            next,
        };
        let id = match self.free_bundles.pop() {
            Some(id) => {
                // The heap of the reused bundle is empty and keeps its capacity.
                let tags = std::mem::take(&mut self.bundles[id as usize].tags);
                self.bundles[id as usize] = Bundle { tags, ..new };
                id
            }
            None => {
                self.bundles.push(new);
                self.bundle_at.push(NOWHERE);
                self.widen_sites();
                self.bundles.len() as u32 - 1
            }
        };
        self.bundle_of.insert(hash, id);
        if self.path.len() > self.stride || self.steps.len() < self.bundles.len() * self.stride {
            self.widen_steps();
        }
        for at in 0..self.path.len() {
            let link = self.path[at];
            let hops = &mut self.links[link as usize].hops;
            self.steps[id as usize * self.stride + at] = PathStep {
                link,
                place: hops.len() as u32,
            };
            hops.push(Hop {
                bundle: id,
                step: at as u32,
            });
            if hops.len() > self.hub_size.above && self.links[link as usize].hub == NONE {
                self.link_changed(link);
            }
        }
        id
    }

    /// Makes room for more or longer paths.
    fn widen_steps(&mut self) {
        let old = self.stride;
        let new = if self.path.len() > old {
            self.path.len().next_power_of_two().max(4)
        } else {
            old
        };
        let bundles = self.bundles.len().next_power_of_two();
        let mut steps = vec![
            PathStep {
                link: NONE,
                place: NONE
            };
            bundles * new
        ];
        if old > 0 {
            for (from, to) in self
                .steps
                .chunks_exact(old)
                .zip(steps.chunks_exact_mut(new))
            {
                to[..old].copy_from_slice(from);
            }
        }
        self.steps = steps;
        self.stride = new;
    }

    /// Removes a bundle without transfers from its links.
    fn dissolve(&mut self, id: u32) {
        for at in 0..self.bundles[id as usize].steps as usize {
            let PathStep { link, place } = self.steps[id as usize * self.stride + at];
            let hops = &mut self.links[link as usize].hops;
            hops.swap_remove(place as usize);
            if let Some(moved) = hops.get(place as usize) {
                self.steps[moved.bundle as usize * self.stride + moved.step as usize].place = place;
            }
            if self.links[link as usize].hub != NONE
                && self.links[link as usize].hops.len() < self.hub_size.below
            {
                self.link_changed(link);
            }
            self.touch(link);
        }
        let Bundle { hash, next, .. } = self.bundles[id as usize];
        if self.bundle_of[&hash] == id {
            if next == NONE {
                self.bundle_of.remove(&hash);
            } else {
                self.bundle_of.insert(hash, next);
            }
        } else {
            let mut at = self.bundle_of[&hash];
            while self.bundles[at as usize].next != id {
                at = self.bundles[at as usize].next;
            }
            self.bundles[at as usize].next = next;
        }
        // Make the guards of the bundle void.
        let site = &mut self.sites[site_of_bundle(id) as usize];
        site.stamp = site.stamp.wrapping_add(1);
        self.free_bundles.push(id);
    }

    /// Records that a transfer of a bundle has started or ended.
    fn bundle_changed(&mut self, id: u32) {
        let bundle = &mut self.bundles[id as usize];
        if !bundle.changed {
            bundle.changed = true;
            self.changed_bundles.push(id);
        }
        match bundle.bottleneck {
            NONE => {}
            CAP => self.unqueue(site_of_bundle(id)),
            link => {
                let key = bundle.first_tag() - bundle.clock;
                heap::rekey(
                    &mut self.links[link as usize].bound,
                    self.bundle_at[id as usize],
                    key,
                    &mut self.bundle_at,
                );
                self.unqueue(site_of_link(link));
            }
        }
    }

    /// Makes the rates reflect the current weight of a bundle's transfers.
    pub(super) fn recount(&mut self, id: u32) {
        let bundle = &mut self.bundles[id as usize];
        bundle.changed = false;
        let old = bundle.solved_weight;
        let new = bundle.weight;
        if old == new && new > 0 {
            return;
        }
        let bottleneck = bundle.bottleneck;
        if old > 0 {
            self.detach(id);
        }
        self.bundles[id as usize].solved_weight = new;
        if new == 0 {
            self.dissolve(id);
            return;
        }
        let bottleneck = if old == 0 {
            self.limit(id).bottleneck
        } else {
            bottleneck
        };
        self.attach(id, bottleneck);
        for at in 0..self.steps_of(id).len() {
            self.touch(self.steps_of(id)[at].link);
        }
    }

    /// Returns the current rate per unit of weight in a bundle; infinite while the rate is unknown.
    pub(super) fn rate_of(&self, id: u32) -> f64 {
        match self.bundles[id as usize].bottleneck {
            NONE => f64::INFINITY,
            CAP => self.bundles[id as usize].cap,
            link => self.level_of(link),
        }
    }

    /// Returns the current level of a link that bounds a bundle.
    pub(super) fn level_of(&self, link: u32) -> f64 {
        let link = &self.links[link as usize];
        if link.hub == NONE {
            self.value(&link.level)
        } else {
            self.hubs[link.hub as usize].level
        }
    }

    /// Returns the value of an affine function at the current levels.
    pub(super) fn value(&self, rate: &Affine) -> f64 {
        let terms = rate
            .terms
            .iter()
            .map(|&(hub, factor)| factor * self.hubs[hub as usize].level);
        terms.fold(rate.base, |sum, term| sum + term).max(0.0)
    }

    /// Returns the limit that a bundle's cap and hubs set, without its local links.
    pub(super) fn limit(&self, id: u32) -> RateLimit {
        let cap = self.bundles[id as usize].cap;
        let mut limit = RateLimit {
            rate: cap,
            bottleneck: if cap < f64::INFINITY { CAP } else { NONE },
        };
        let mut local = false;
        for &PathStep { link, .. } in self.steps_of(id) {
            let hub = self.links[link as usize].hub;
            if hub == NONE {
                local = true;
            } else if self.hubs[hub as usize].level < limit.rate {
                limit.rate = self.hubs[hub as usize].level;
                limit.bottleneck = link;
            }
        }
        // If all links are hubs, one of them must be the bottleneck for now.
        if limit.bottleneck == NONE && !local {
            limit.rate = f64::INFINITY;
            limit.bottleneck = self.steps_of(id)[0].link;
        }
        limit
    }

    /// Adds `factor` times a bundle's rate to `sum`.
    pub(super) fn add_rate(&self, id: u32, factor: f64, sum: &mut Affine) {
        match self.bundles[id as usize].bottleneck {
            NONE => unreachable!("the rate of bundle {id} is not known"),
            CAP => sum.base += factor * self.bundles[id as usize].cap,
            link => match &self.links[link as usize] {
                link if link.hub == NONE => sum.add(factor, &link.level),
                link => sum.add_term(link.hub, factor),
            },
        }
    }

    /// Sets the bottleneck of a bundle that has no bottleneck.
    pub(super) fn attach(&mut self, id: u32, bottleneck: u32) {
        let reading = self.reading_of_bundle(id);
        let now = self.now;
        match bottleneck {
            NONE => {}
            CAP => self.unqueue(site_of_bundle(id)),
            link => {
                let clock = reading - self.reading_of_link(link);
                let bundle = &mut self.bundles[id as usize];
                bundle.clock = clock;
                let key = bundle.first_tag() - clock;
                heap::push(
                    &mut self.links[link as usize].bound,
                    key,
                    id,
                    &mut self.bundle_at,
                );
                self.unqueue(site_of_link(link));
            }
        }
        let bundle = &mut self.bundles[id as usize];
        bundle.bottleneck = bottleneck;
        if bottleneck >= CAP {
            (bundle.clock, bundle.since) = (reading, now);
        }
        self.contribute(id, 1);
        self.unguard(site_of_bundle(id));
    }

    /// Removes a bundle's bottleneck.
    pub(super) fn detach(&mut self, id: u32) {
        let reading = self.reading_of_bundle(id);
        self.contribute(id, -1);
        let bundle = &mut self.bundles[id as usize];
        let was = std::mem::replace(&mut bundle.bottleneck, NONE);
        (bundle.clock, bundle.since) = (reading, self.now);
        match was {
            NONE => {}
            CAP => self.unqueue(site_of_bundle(id)),
            link => {
                heap::remove(
                    &mut self.links[link as usize].bound,
                    self.bundle_at[id as usize],
                    &mut self.bundle_at,
                );
                self.unqueue(site_of_link(link));
            }
        }
    }
}
