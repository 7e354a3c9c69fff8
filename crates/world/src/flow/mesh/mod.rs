//! Max-min fair rates for transfers over any sets of links. The cost of a change depends on what it changes.
//!
//! # The method
//! Transfers with equal path and cap form a *bundle*, and have the same rate. Caps and rates are per unit of weight,
//! and a bundle counts by its weight. A link is the *bottleneck* of a bundle if it is full and no bundle on it has a
//! higher rate; the common rate of the bundles that a link bounds is its *level*. Rates are max-min fair exactly when
//! every bundle has a bottleneck or is at its cap.
//!
//! - A link with many bundles is a *hub*: a registry's egress, a region, the link of a swarm. Nearly every event
//!   changes its level, and thereby the rates of thousands of bundles. So rates that depend on it are not stored as
//!   numbers but as affine functions of the levels of hubs (`affine`), which do not change: a bundle that a hub bounds
//!   has the hub's level, and another bundle on the same full downlink gets the rest.
//! - The other links are *local*. A change of a bundle or of a capacity is propagated from link to link in the order
//!   of their levels, and stops where a link's function stays the same (`sweep`).
//! - The level of a hub follows from the sums of the functions over its bundles (`hub`). The sums are integers, so they
//!   have no drift and do not depend on the order of changes.
//! - Every choice of a bottleneck has a *guard*: how far the levels of hubs may move before the choice could be wrong
//!   (`guard`). A level moves from guard to guard, and the owner of each guard is swept, until the sum at the level
//!   equals the capacity. The sum is a concave function of the level, so no choice is undone on the way.
//! - Every link has a *clock*: the bytes that a transfer bounded by it has received, which is also an affine function
//!   of the hubs' clocks. A transfer ends when the clock reaches its *tag*, which does not change with the rates
//!   (`clock`, `due`).
//!
//! So an event costs O(log n) plus the number of nearby links and bundles whose functions it changes. It costs more if
//! many bundles change their bottleneck simultaneously, for example when the fair share crosses a cap that all of them
//! have.

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

/// Rates with a smaller relative difference than this count as equal.
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
    /// The link's hub, or [`NONE`].
    hub: u32,
    /// The bundles on the link, in no particular order.
    hops: Vec<Hop>,
    /// The bundles that the link bounds, by the reading of the link's clock at which the first transfer ends.
    bound: Vec<Keyed<f64>>,
    /// The rate of the bundles that the link bounds, unless it is a hub.
    level: Affine,
    /// The reading of the link's clock at `since`, and the readings of the hubs on which its level depends.
    clock: f64,
    hub_clocks: Vec<f64>,
    since: Instant,
    /// The maximum rate that the link's level can have before it crosses a guard.
    fastest: f64,
    /// Whether the link's entry in the queue is exact instead of a lower bound.
    exact: bool,
    /// The key under which the link is queued to be swept.
    pending: u64,
    /// Whether the link's capacity has changed, or it may have become a hub, since rates were solved.
    changed: bool,
}

/// A bundle on a link, and the index of that link in the bundle's path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    bundle: u32,
    step: u32,
}

/// A link or a bundle, as the owner of guards and of a queue entry.
#[derive(Clone, Copy, Debug, Default)]
struct Site {
    /// The site's current stamp. Guards with another stamp are outdated.
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
    /// The first bundle with a given hash of path and cap. For lookup only, never iterated.
    bundle_of: HashMap<u64, u32, BuildHasherDefault<Mix>>,
    /// The paths of all bundles, with `stride` steps for each.
    steps: Vec<PathStep>,
    stride: usize,
    hubs: Vec<Hub>,
    free_hubs: Vec<u32>,
    /// The position of each transfer in its bundle's heap.
    transfer_at: Vec<u32>,
    transfer_bundle: Vec<(u32, ShareWeight)>,
    /// The position of each bundle in the heap of the link that bounds it.
    bundle_at: Vec<u32>,
    sites: Vec<Site>,
    unguarded: Vec<u32>,
    unqueued: Vec<u32>,
    /// The time at which the next transfer ends at each link, and at each bundle at its cap.
    queue: Vec<Keyed<Instant>>,
    queue_at: Vec<u32>,
    /// Links whose queue entries were made exact since rates were last solved.
    refreshed: Vec<u32>,
    /// Bundles, links and hubs that have changed since rates were last solved.
    changed_bundles: Vec<u32>,
    changed_links: Vec<u32>,
    dirty_hubs: Vec<u32>,
    /// Hubs that became local links since rates were solved.
    leaving: Vec<u32>,
    /// Links to sweep, by level.
    pending: BinaryHeap<Reverse<(u64, u32)>>,
    /// The guard that last stopped a hub, and how many times in a row.
    stopped_by: (u32, u32),
    stops: u32,
    /// The hub that is moving to its level.
    moving: u32,
    /// The relative margin of comparisons. It grows when rounding makes choices contradict each other.
    margin: f64,
    /// Whether nothing has changed since the last completion, and nothing else can end within its nanosecond.
    quiet: bool,
    /// The largest capacity that any link has ever had.
    fastest: f64,
    /// The minimum weight that any transfer has ever had.
    lightest: ShareWeight,
    visits: u64,
    work: u64,
    /// Reused buffer: the path of a transfer.
    path: Vec<u32>,
    shares: Vec<(f64, f64)>,
    chosen: Vec<u32>,
    sum: Affine,
    bands: Vec<HubBand>,
}

impl Mesh {
    /// Prepares the solver for links of up to this capacity, now or later.
    pub(super) fn allow_for(&mut self, capacity: f64) {
        self.fastest = self.fastest.max(capacity);
    }

    /// Returns the number of links.
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

    /// Reserves room for the sites of all links and bundles.
    fn widen_sites(&mut self) {
        let sites = 2 * self.links.len().max(self.bundles.len());
        if sites > self.sites.len() {
            let sites = sites.next_power_of_two();
            self.sites.resize(sites, Site::default());
            self.queue_at.resize(sites, NOWHERE);
        }
    }

    /// Returns the number of bundles and hubs visited so far.
    pub(super) fn visits(&self) -> u64 {
        self.visits
    }

    /// Returns the number of transfers that have ended. This measures the work, independent of queries in between.
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

    /// Changes the capacity of a link. For an unknown link, only records that a link may have this capacity.
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

    /// Returns the throughput of a link.
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

    /// Solves for every rate, if anything has changed.
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

    /// Applies the changes since rates were solved, and queues links to sweep.
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

    /// Queues a link to be examined again.
    fn touch(&mut self, link: u32) {
        match self.links[link as usize].hub {
            NONE => self.push(link, 0.0),
            hub => self.mark_dirty(hub),
        }
    }
}
