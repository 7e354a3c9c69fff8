//! Max-min fair rates for transfers over any sets of links; a change costs what it changes.
//!
//! # The method
//! Transfers with equal path and cap form a *bundle*, and have one rate. With weights, caps and rates are those of one
//! unit of weight, and a bundle counts as its weight. A link is the *bottleneck* of a bundle when
//! it is full and no bundle on it has a higher rate; the common rate of the bundles that a link bounds is its *level*.
//! Rates are max-min fair exactly when every bundle has a bottleneck or is at its cap.
//!
//! - A link with many bundles is a *hub*: a registry's egress, a region, the link of a swarm. Its level changes with
//!   nearly every event, and with it the rates of thousands of bundles. So the rates behind it are not numbers but
//!   affine functions of the levels of hubs (`affine`), which stay the same: a bundle that a hub bounds has the hub's
//!   level, and what that bundle leaves to another one on a full downlink is the rest.
//! - The other links are *local*. A change of a bundle or of a capacity is carried from link to link in the order of
//!   their levels, and stops where a link's function stays the same (`sweep`).
//! - The level of a hub follows from the sums of the functions over its bundles (`hub`). The sums are integers, so they
//!   have no drift and do not depend on the order of changes.
//! - Every choice of a bottleneck has a *guard*: how far the levels of hubs may move before it could be wrong
//!   (`guard`). A level moves from guard to guard, and what a guard belongs to is swept there, until the level is where
//!   the sum is the capacity. The sum is a concave function of the level, so no choice is undone on the way.
//! - Every link has a *clock*, the bytes that a transfer bounded by it has received, again an affine function of those
//!   of hubs. A transfer ends when the clock reaches its *tag*, which no change of rates moves (`clock`, `due`).
//!
//! So an event costs O(log n) and the part of its surroundings whose functions it changes. It costs more where many
//! bundles change their bottleneck at once, for example when the fair share crosses a cap that all have in common.

mod affine;
mod bundle;
mod clock;
mod due;
mod guard;
mod hub;
mod sweep;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use crate::engine::heap::{Keyed, NOWHERE};
use crate::flow::connection::ShareWeight;
use crate::flow::forest::Mix;
use crate::flow::instant::Instant;
use affine::Affine;
use bundle::{Bundle, PathStep};
use guard::HubBand;
use hub::Hub;

const NONE: u32 = u32::MAX;

/// Rates closer together than this, relatively, count as equal.
const MARGIN: f64 = 1e-12;

/// The number of bundles above which a link becomes a hub, and below which a hub becomes a local link.
#[derive(Clone, Copy, Debug)]
pub(super) struct HubSize {
    pub(super) above: usize,
    pub(super) below: usize,
}

impl Default for HubSize {
    fn default() -> Self {
        Self {
            above: 24,
            below: 6,
        }
    }
}

#[derive(Clone, Debug)]
struct MeshLink {
    capacity: f64,
    /// Its hub, if it is one.
    hub: u32,
    /// The bundles on it, in no particular order.
    hops: Vec<Hop>,
    /// The bundles that it bounds, by the reading of its clock at which the first transfer ends.
    bound: Vec<Keyed<f64>>,
    /// The rate of the bundles that it bounds, unless it is a hub.
    level: Affine,
    /// The reading of its clock at `since`, and those of the hubs on which its level depends.
    clock: f64,
    hub_clocks: Vec<f64>,
    since: Instant,
    /// The largest rate that its level can reach without crossing a guard.
    fastest: f64,
    /// Its entry in the queue is exact, and not a lower bound.
    exact: bool,
    /// The key with which it waits to be swept.
    pending: u64,
    /// Its capacity has changed, or it may become a hub, since rates were solved.
    changed: bool,
}

/// A bundle on a link, and the index of that link in the bundle's path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    bundle: u32,
    step: u32,
}

/// A link or a bundle, as the owner of guards and of an entry in the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Site {
    /// Guards with another stamp are out of date.
    stamp: u32,
    unguarded: bool,
    unqueued: bool,
}

const fn site_of_link(link: u32) -> u32 {
    2 * link
}

const fn site_of_bundle(bundle: u32) -> u32 {
    2 * bundle + 1
}

#[derive(Debug, Default)]
pub(super) struct Mesh {
    pub(super) hub_size: HubSize,
    now: Instant,
    links: Vec<MeshLink>,
    bundles: Vec<Bundle>,
    free_bundles: Vec<u32>,
    /// The first bundle with a hash of path and cap. For lookup only, never iterated.
    bundle_of: HashMap<u64, u32, BuildHasherDefault<Mix>>,
    /// Paths by bundle, `stride` places for each.
    steps: Vec<PathStep>,
    stride: usize,
    hubs: Vec<Hub>,
    free_hubs: Vec<u32>,
    /// The place of each transfer in its bundle's heap; its bundle and its weight.
    transfer_at: Vec<u32>,
    transfer_bundle: Vec<(u32, ShareWeight)>,
    /// The place of each bundle in the heap of the link that bounds it.
    bundle_at: Vec<u32>,
    sites: Vec<Site>,
    unguarded: Vec<u32>,
    unqueued: Vec<u32>,
    /// When the next transfer ends at each link, and at each bundle at its cap.
    queue: Vec<Keyed<Instant>>,
    queue_at: Vec<u32>,
    /// Links whose entry was made exact since rates were solved.
    refreshed: Vec<u32>,
    /// Bundles, links and hubs that have changed since rates were solved.
    changed_bundles: Vec<u32>,
    changed_links: Vec<u32>,
    dirty_hubs: Vec<u32>,
    /// Hubs that became local links since rates were solved.
    leaving: Vec<u32>,
    /// Links to sweep, by level.
    pending: BinaryHeap<Reverse<(u64, u32)>>,
    /// The guard that stopped a hub last, and how often in a row.
    stopped_by: (u32, u32),
    stops: u32,
    /// The hub that is on its way to its level.
    moving: u32,
    /// Grows when rounding makes choices contradict each other.
    margin: f64,
    /// Nothing was changed since the last completion.
    quiet: bool,
    /// The largest capacity that any link has ever had.
    fastest: f64,
    /// The least weight that any transfer has ever had.
    lightest: ShareWeight,
    visits: u64,
    work: u64,
    /// Reused.
    path: Vec<u32>,
    shares: Vec<(f64, f64)>,
    chosen: Vec<u32>,
    sum: Affine,
    bands: Vec<HubBand>,
}

impl Mesh {
    /// A link has, or will have, this capacity.
    pub(super) fn allow_for(&mut self, capacity: f64) {
        self.fastest = self.fastest.max(capacity);
    }

    /// Number of links.
    pub(super) fn links(&self) -> usize {
        self.links.len()
    }

    /// Adds a link; links are numbered from zero.
    pub(super) fn add_link(&mut self, capacity: f64) {
        self.allow_for(capacity);
        self.links.push(MeshLink {
            capacity,
            hub: NONE,
            hops: Vec::new(),
            bound: Vec::new(),
            level: Affine::default(),
            clock: 0.0,
            hub_clocks: Vec::new(),
            since: self.now,
            fastest: 0.0,
            exact: true,
            pending: u64::MAX,
            changed: false,
        });
        self.widen_sites();
    }

    /// Makes room for the sites of all links and bundles.
    fn widen_sites(&mut self) {
        let sites = 2 * self.links.len().max(self.bundles.len());
        if sites > self.sites.len() {
            let sites = sites.next_power_of_two();
            self.sites.resize(sites, Site::default());
            self.queue_at.resize(sites, NOWHERE);
        }
    }

    /// Number of bundles and hubs visited so far.
    pub(super) fn visits(&self) -> u64 {
        self.visits
    }

    /// Number of transfers that have ended: the cost of their ends, independent of queries in between.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// Sets the clock when this solver takes over. No transfer may be in flight.
    pub(super) fn set_now(&mut self, now: Instant) {
        self.solve();
        self.now = now;
    }

    /// Changes the capacity of a link; of one that it does not know, it only learns that it may be as large.
    pub(super) fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.allow_for(capacity);
        let Some(known) = self.links.get_mut(link as usize) else {
            return;
        };
        known.capacity = capacity;
        self.link_changed(link);
        self.quiet = false;
    }

    fn link_changed(&mut self, link: u32) {
        let changed = &mut self.links[link as usize].changed;
        if !*changed {
            *changed = true;
            self.changed_links.push(link);
        }
    }

    pub(super) fn rate(&mut self, transfer: u32) -> f64 {
        self.solve();
        let (bundle, weight) = self.transfer_bundle[transfer as usize];
        self.rate_of(bundle) * weight.get()
    }

    /// The throughput of a link.
    pub(super) fn throughput(&mut self, link: u32) -> f64 {
        self.solve();
        let MeshLink {
            capacity,
            hub,
            ref hops,
            ref bound,
            ..
        } = self.links[link as usize];
        if !bound.is_empty() {
            return capacity;
        }
        let used = if hub == NONE {
            hops.iter()
                .map(|hop| self.rate_of(hop.bundle) * self.bundles[hop.bundle as usize].weight())
                .sum()
        } else {
            self.used(hub)
        };
        // Adding 0 makes a negative zero positive.
        used.clamp(0.0, capacity) + 0.0
    }

    /// Updates every rate.
    fn solve(&mut self) {
        if self.changed_bundles.is_empty() && self.changed_links.is_empty() {
            return;
        }
        self.margin = MARGIN;
        self.take_changes();
        let mut left = 256 + 8 * self.bundles.len();
        loop {
            self.sweep();
            self.renew_guards();
            if !self.move_a_hub() {
                break;
            }
            left -= 1;
            if left == 0 {
                self.settle_without_hubs();
                break;
            }
        }
        self.moving = NONE;
        self.free_left_hubs();
        self.renew_queue();
    }

    /// Takes over what has changed since rates were solved, and leaves links to sweep.
    fn take_changes(&mut self) {
        for at in 0..self.changed_links.len() {
            let link = self.changed_links[at];
            if self.links[link as usize].hub == NONE
                && self.links[link as usize].hops.len() > self.hub_size.above
            {
                self.promote(link);
            }
            self.touch(link);
        }
        let mut bundles = std::mem::take(&mut self.changed_bundles);
        for bundle in bundles.drain(..) {
            self.recount(bundle);
        }
        self.changed_bundles = bundles;
        let mut links = std::mem::take(&mut self.changed_links);
        for link in links.drain(..) {
            self.links[link as usize].changed = false;
            if self.links[link as usize].hub != NONE
                && self.links[link as usize].hops.len() < self.hub_size.below
            {
                self.demote(link);
            }
        }
        self.changed_links = links;
    }

    /// Makes sure that a link is looked at again.
    fn touch(&mut self, link: u32) {
        match self.links[link as usize].hub {
            NONE => self.push(link, 0.0),
            hub => self.mark_dirty(hub),
        }
    }
}
