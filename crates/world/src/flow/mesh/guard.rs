//! Guards: bounds within which the levels of hubs may move before a choice of bottlenecks could be wrong.
//!
//! A choice is correct as long as these differences of affine functions are not negative: the unused capacity of a
//! link that is not full, the difference between the level of a full link and the rates of bundles bounded elsewhere,
//! and the difference between the limits of a bundle and its rate. If a difference depends on one hub, its guard is
//! exact. If it depends on several hubs, each may use up an equal part of it; the guards are then renewed repeatedly
//! before the choice changes.

use super::bundle::CAP;
use super::{Affine, Mesh, NONE, site_of_bundle, site_of_link};

/// If a level that depends on hubs rises by more than this share, its guards are renewed.
const LEEWAY: f64 = 0.25;

/// The range of a hub's level in which the choices of a site hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct HubBand {
    hub: u32,
    low: f64,
    high: f64,
}

impl Mesh {
    /// Marks the guards of a site for renewal.
    pub(super) fn unguard(&mut self, site: u32) {
        let at = &mut self.sites[site as usize];
        if !at.unguarded {
            at.unguarded = true;
            self.unguarded.push(site);
        }
    }

    pub(super) fn renew_guards(&mut self) {
        while let Some(site) = self.unguarded.pop() {
            let at = &mut self.sites[site as usize];
            at.unguarded = false;
            at.stamp = at.stamp.wrapping_add(1);
            if self.hubs.is_empty() {
                continue;
            }
            self.bands.clear();
            let mut sum = std::mem::take(&mut self.sum);
            let id = site / 2;
            if site == site_of_bundle(id) {
                self.guard_bundle(id, &mut sum);
            } else if self.links[id as usize].hub == NONE {
                self.guard_link(id, &mut sum);
            }
            self.sum = sum;
            for at in 0..self.bands.len() {
                let HubBand { hub, low, high } = self.bands[at];
                self.add_guards(hub, site, low, high);
            }
        }
    }

    fn guard_bundle(&mut self, id: u32, sum: &mut Affine) {
        let bottleneck = self.bundles[id as usize].bottleneck;
        let rate = self.rate_of(id);
        if rate == f64::INFINITY {
            return;
        }
        let own_hub = if bottleneck < CAP {
            self.links[bottleneck as usize].hub
        } else {
            NONE
        };
        for at in 0..self.steps_of(id).len() {
            let hub = self.links[self.steps_of(id)[at].link as usize].hub;
            if hub == NONE || hub == own_hub {
                continue;
            }
            sum.clear();
            self.add_rate(id, -1.0, sum);
            if self.hubs[hub as usize].level < f64::INFINITY {
                sum.add_term(hub, 1.0);
                self.require(sum);
            } else if sum.is_constant() {
                self.narrow(hub, rate, f64::INFINITY);
            } else {
                // The guards of the link that bounds the bundle keep the link's level below this limit, and are
                // renewed together with these guards.
                self.narrow(hub, rate * (1.0 + LEEWAY), f64::INFINITY);
                if own_hub != NONE {
                    self.narrow(own_hub, 0.0, rate * (1.0 + LEEWAY));
                }
            }
        }
        let cap = self.bundles[id as usize].cap;
        if cap < f64::INFINITY && bottleneck != CAP {
            sum.clear();
            self.add_rate(id, -1.0, sum);
            sum.base += cap;
            self.require(sum);
        }
    }

    fn guard_link(&mut self, id: u32, sum: &mut Affine) {
        let bounds = !self.links[id as usize].bound.is_empty();
        sum.clear();
        if !bounds {
            for hop in &self.links[id as usize].hops {
                self.add_rate(hop.bundle, -self.bundles[hop.bundle as usize].weight(), sum);
            }
            sum.base += self.links[id as usize].capacity;
            self.require(sum);
            return;
        }
        let mut before = NONE;
        for at in 0..self.links[id as usize].hops.len() {
            let bundle = self.links[id as usize].hops[at].bundle;
            let bottleneck = self.bundles[bundle as usize].bottleneck;
            // Neighbouring bundles often have the same bottleneck, which is handled only once.
            if bottleneck == id || bottleneck == before && bottleneck < CAP {
                continue;
            }
            before = bottleneck;
            sum.clear();
            sum.add(1.0, &self.links[id as usize].level);
            self.add_rate(bundle, -1.0, sum);
            self.require(sum);
        }
        let level = self.level_of(id);
        self.links[id as usize].fastest = level * (1.0 + LEEWAY);
        if !self.links[id as usize].level.is_constant() {
            sum.clear();
            sum.add(-1.0, &self.links[id as usize].level);
            sum.base += level * (1.0 + LEEWAY);
            self.require(sum);
            // The guards of these bundles may rely on the leeway that ends here.
            for at in 0..self.links[id as usize].bound.len() {
                self.unguard(site_of_bundle(self.links[id as usize].bound[at].item));
            }
        }
        self.unqueue(site_of_link(id));
    }

    /// Narrows the bands so that `difference` cannot become negative while levels stay within them.
    fn require(&mut self, difference: &Affine) {
        let depends = difference
            .terms
            .iter()
            .filter(|&&(_, factor)| factor != 0.0)
            .count();
        if depends == 0 {
            return;
        }
        let share = self.value(difference) / depends as f64;
        for &(hub, factor) in &difference.terms {
            let level = self.hubs[hub as usize].level;
            if factor > 0.0 {
                self.narrow(hub, level - share / factor, f64::INFINITY);
            } else if factor < 0.0 {
                self.narrow(hub, 0.0, level - share / factor);
            }
        }
    }

    fn narrow(&mut self, hub: u32, low: f64, high: f64) {
        match self.bands.iter_mut().find(|band| band.hub == hub) {
            Some(band) => {
                band.low = band.low.max(low);
                band.high = band.high.min(high);
            }
            None => self.bands.push(HubBand { hub, low, high }),
        }
    }
}
