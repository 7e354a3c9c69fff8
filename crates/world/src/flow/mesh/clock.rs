//! Clocks: the bytes that each transfer has received, by link and by bundle.
//!
//! The clock of a hub runs at its level. The clock of a local link runs at an affine function of the levels of hubs,
//! so its reading is the same function of time and the hubs' readings, however often their levels have changed. The
//! clock of a bundle is its bottleneck's plus a constant; if the bundle is at its cap, the clock runs at the cap.

use super::bundle::CAP;
use super::{Affine, Mesh, NONE};
use crate::engine::heap::Keyed;

/// A clock above this value, in bytes per transfer, is set back when the next transfer starts that it governs, so that
/// tags keep at least 16 binary digits after the point.
const CLOCK_MAX: f64 = (1u64 << 36) as f64;

impl Mesh {
    fn secs_since(&self, since: crate::flow::instant::Instant) -> f64 {
        self.now.nanos_since(since) * 1e-9
    }

    /// Returns the current reading of a hub's clock, which stops while the hub bounds nothing.
    pub(super) fn reading_of_hub(&self, hub: u32) -> f64 {
        let hub = &self.hubs[hub as usize];
        let rate = if hub.level < f64::INFINITY {
            hub.level
        } else {
            0.0
        };
        hub.clock + rate * self.secs_since(hub.since)
    }

    /// Returns the current reading of a link's clock.
    pub(super) fn reading_of_link(&self, link: u32) -> f64 {
        let link = &self.links[link as usize];
        if link.hub != NONE {
            return self.reading_of_hub(link.hub);
        }
        let reading = link.clock + link.level.base * self.secs_since(link.since);
        let terms = link.level.terms.iter().zip(&link.hub_clocks);
        terms.fold(reading, |sum, (&(hub, factor), &since)| {
            sum + factor * (self.reading_of_hub(hub) - since)
        })
    }

    /// Returns the current reading of a bundle's clock.
    pub(super) fn reading_of_bundle(&self, id: u32) -> f64 {
        let bundle = &self.bundles[id as usize];
        match bundle.bottleneck {
            NONE => bundle.clock,
            CAP => bundle.clock + bundle.cap * self.secs_since(bundle.since),
            link => self.reading_of_link(link) + bundle.clock,
        }
    }

    /// Sets the level of a local link. The clocks of bundles that the link already bounds continue from their
    /// readings.
    pub(super) fn set_local_level(&mut self, link: u32, level: &Affine) {
        let clock = if self.links[link as usize].bound.is_empty() {
            0.0
        } else {
            self.reading_of_link(link)
        };
        let mut hub_clocks = std::mem::take(&mut self.links[link as usize].hub_clocks);
        hub_clocks.clear();
        hub_clocks.extend(level.terms.iter().map(|&(hub, _)| self.reading_of_hub(hub)));
        let now = self.now;
        let link = &mut self.links[link as usize];
        link.level.copy_from(level);
        (link.clock, link.hub_clocks, link.since) = (clock, hub_clocks, now);
    }

    /// Sets back the clocks of a bundle and its bottleneck that exceed [`CLOCK_MAX`].
    pub(super) fn set_back_clocks(&mut self, id: u32) {
        let bottleneck = self.bundles[id as usize].bottleneck;
        if bottleneck < CAP {
            let reading = self.reading_of_link(bottleneck);
            if reading > CLOCK_MAX {
                self.set_back_link(bottleneck, reading);
            }
        }
        let reading = self.reading_of_bundle(id);
        if reading > CLOCK_MAX {
            let bundle = &mut self.bundles[id as usize];
            bundle.tags.iter_mut().for_each(|tag| tag.key -= reading);
            bundle.clock -= reading;
        }
    }

    /// Sets a link's clock back by `by` without changing when anything ends.
    fn set_back_link(&mut self, link: u32, by: f64) {
        for &mut Keyed { ref mut key, item } in &mut self.links[link as usize].bound {
            // Subtracting the same number keeps the order, so the heap stays in order.
            *key -= by;
            self.bundles[item as usize].clock += by;
        }
        let hub = self.links[link as usize].hub;
        if hub == NONE {
            self.links[link as usize].clock -= by;
            return;
        }
        self.hubs[hub as usize].clock -= by;
        for link in self.links.iter_mut().filter(|link| link.hub == NONE) {
            if let Ok(term) = link.level.terms.binary_search_by_key(&hub, |&(hub, _)| hub) {
                link.hub_clocks[term] -= by;
            }
        }
    }
}
