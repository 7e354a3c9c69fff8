//! Max-min fair rates for transfers over any sets of links, recomputed where something changed.
//!
//! # The method
//! Links that are connected through transfers in flight form a *component*; its rates do not depend on anything
//! outside it. A start, an end or a change of capacity marks the affected links. At the next query of rates or
//! advance of the clock, every component with a marked link is filled from zero (`fill`), once, however many changes
//! happened at that instant. Each component stores when its next transfer ends, and a heap over the components gives
//! the first. So an event costs O(n) in the transfers of its component, and nothing elsewhere.
//!
//! The state of a transfer is updated only if its rate changes by at least a bit. The rates depend only on the set of
//! transfers in flight, not on the order in which they started: filling goes in the order of rates, and the sum of a
//! link is formed in that order.

mod fill;

use std::cmp::Reverse;

use crate::engine::heap::{self, Keyed, NOWHERE};
use crate::flow::instant::Instant;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct MeshLink {
    capacity: f64,
    /// Its throughput; while its component is filled, the sum of the rates found so far.
    used: f64,
    /// While its component is filled: number of transfers on it that still rise.
    rising: u32,
    /// Its component, which may be freed already.
    component: u32,
    marked: bool,
    /// Found to be in the component that is being filled.
    found: bool,
}

/// A transfer on a link, and the index of that link in the transfer's path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    transfer: u32,
    step: u32,
}

/// A link of a transfer's path, and the transfer's place in that link's list.
#[derive(Clone, Copy, Debug)]
struct PathStep {
    link: u32,
    place: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FlightPhase {
    /// Its rate is known, or it is not in flight.
    Known,
    /// Its component is being filled, and its rate still rises.
    Rising,
}

/// One transfer; the size of a cache line.
#[derive(Clone, Debug)]
struct Flight {
    /// Remaining bytes at `since`.
    left: f64,
    rate: f64,
    since: Instant,
    /// Nanoseconds from `since` to its end; infinite at rate 0.
    span: f64,
    cap: f64,
    /// Its rate as filling finds it.
    fair: f64,
    steps: u32,
    phase: FlightPhase,
}

impl Flight {
    /// When it ends, at `now` at the earliest.
    fn due(&self, now: Instant) -> Option<Instant> {
        self.since.after(self.span).map(|due| due.max(now))
    }

    /// Nanoseconds from `now` to its end, precise enough to skip transfers that end much later than another.
    fn about(&self, now: Instant) -> f64 {
        self.span - now.nanos_since(self.since)
    }

    fn remaining(&self, now: Instant) -> f64 {
        self.left - self.rate * (now.nanos_since(self.since) * 1e-9)
    }
}

#[derive(Debug, Default)]
pub(super) struct Mesh {
    now: Instant,
    links: Vec<MeshLink>,
    /// The largest capacity that any link has ever had.
    fastest: f64,
    /// The transfers on each link, in no particular order.
    hops: Vec<Vec<Hop>>,
    flights: Vec<Flight>,
    /// Paths by transfer, `stride` places for each.
    steps: Vec<PathStep>,
    stride: usize,
    /// Links whose components must be filled again.
    marked: Vec<u32>,
    /// The transfers of each component.
    members: Vec<Vec<u32>>,
    free_components: Vec<u32>,
    /// When the next transfer of each component ends.
    queue: Vec<Keyed<Instant>>,
    queue_at: Vec<u32>,
    /// Reused: the links of the component that is being filled, its transfers with a cap, and its links by level.
    found: Vec<u32>,
    capped: Vec<Reverse<(u64, u32)>>,
    levels: Vec<Reverse<(u64, u32)>>,
    /// Nothing was changed since the last completion, which makes nothing else due at its tick.
    quiet: bool,
    visits: u64,
    work: u64,
}

impl Mesh {
    /// Adds a link; links are numbered from zero.
    pub(super) fn add_link(&mut self, capacity: f64) {
        self.fastest = self.fastest.max(capacity);
        self.links.push(MeshLink { capacity, used: 0.0, rising: 0, component: NONE, marked: false, found: false });
        self.hops.push(Vec::new());
    }

    /// Number of transfers and links visited so far.
    pub(super) fn visits(&self) -> u64 {
        self.visits
    }

    /// Number of transfers in the components in which one ended, summed over all ends so far: the cost of those ends,
    /// independent of queries in between.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// Sets the clock when this solver takes over. No transfer may be in flight.
    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    pub(super) fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.links[link as usize].capacity = capacity;
        self.fastest = self.fastest.max(capacity);
        self.mark(link);
    }

    /// Starts `transfer`, an unused number, with `left` bytes over distinct `links`; an infinite `cap` means none.
    pub(super) fn insert(&mut self, transfer: u32, links: impl Iterator<Item = u32>, cap: f64, left: f64) {
        let index = transfer as usize;
        let idle = Flight {
            left,
            rate: 0.0,
            since: self.now,
            // A transfer that rounding makes complete is due immediately.
            span: if left > 0.0 { f64::INFINITY } else { 0.0 },
            cap,
            fair: 0.0,
            steps: 0,
            phase: FlightPhase::Known,
        };
        if self.flights.len() <= index {
            self.flights.resize(index + 1, idle.clone());
            self.steps.resize(self.flights.len() * self.stride, PathStep { link: NONE, place: NONE });
        }
        self.flights[index] = idle;
        for link in links {
            let step = self.flights[index].steps;
            if step as usize == self.stride {
                self.widen();
            }
            let hops = &mut self.hops[link as usize];
            self.steps[index * self.stride + step as usize] = PathStep { link, place: hops.len() as u32 };
            hops.push(Hop { transfer, step });
            self.flights[index].steps += 1;
            self.mark(link);
        }
    }

    /// Makes room for longer paths.
    fn widen(&mut self) {
        let (old, new) = (self.stride, (2 * self.stride).max(4));
        let mut steps = vec![PathStep { link: NONE, place: NONE }; self.flights.len() * new];
        for transfer in 0..self.flights.len() {
            steps[transfer * new..][..old].copy_from_slice(&self.steps[transfer * old..][..old]);
        }
        (self.steps, self.stride) = (steps, new);
    }

    /// Removes a transfer.
    pub(super) fn remove(&mut self, transfer: u32) {
        let first = transfer as usize * self.stride;
        for at in first..first + self.flights[transfer as usize].steps as usize {
            let PathStep { link, place } = self.steps[at];
            let hops = &mut self.hops[link as usize];
            hops.swap_remove(place as usize);
            if let Some(moved) = hops.get(place as usize) {
                self.steps[moved.transfer as usize * self.stride + moved.step as usize].place = place;
            }
            self.mark(link);
        }
    }

    /// The links of a transfer, in the order given.
    #[cfg(test)]
    pub(super) fn path(&self, transfer: u32) -> Vec<u32> {
        let steps = &self.steps[transfer as usize * self.stride..];
        steps[..self.flights[transfer as usize].steps as usize].iter().map(|step| step.link).collect()
    }

    /// Remaining bytes of a transfer; slightly negative after rounding.
    pub(super) fn remaining(&self, transfer: u32) -> f64 {
        self.flights[transfer as usize].remaining(self.now)
    }

    pub(super) fn rate(&mut self, transfer: u32) -> f64 {
        self.solve();
        self.flights[transfer as usize].rate
    }

    /// The throughput of a link.
    pub(super) fn throughput(&mut self, link: u32) -> f64 {
        self.solve();
        let link = &self.links[link as usize];
        link.used.min(link.capacity)
    }

    /// The tick at which the next transfer has ended.
    pub(super) fn next_due(&mut self) -> Option<u64> {
        self.solve();
        self.queue.first().map(|first| first.key.tick())
    }

    /// The same, if it is not after `tick`. After a completion at that tick it can rule out another one there without
    /// solving, so that a transfer started in its place is solved together with it.
    pub(super) fn next_due_by(&mut self, tick: u64) -> Option<u64> {
        let others = self.queue.first().is_some_and(|first| first.key.tick() <= tick);
        if self.quiet && self.now.tick() == tick && !others {
            return None;
        }
        self.next_due().filter(|&due| due <= tick)
    }

    /// Advances to a tick before which nothing is due.
    pub(super) fn move_to(&mut self, tick: u64) {
        self.now = self.now.moved_to(tick);
    }

    /// Advances to the end of the next transfer, ends all transfers that are due then, and appends them to `ended`.
    pub(super) fn complete(&mut self, ended: &mut Vec<u32>) {
        self.solve();
        let Some(now) = self.queue.first().map(|first| first.key) else { return };
        self.now = now;
        let first = ended.len();
        let mut least_left = f64::INFINITY;
        while let Some(&Keyed { item, .. }) = self.queue.first().filter(|next| now.coincides_with(next.key)) {
            heap::remove(&mut self.queue, 0, &mut self.queue_at);
            self.work += self.members[item as usize].len() as u64;
            for &transfer in &self.members[item as usize] {
                let flight = &self.flights[transfer as usize];
                let near = flight.about(now) <= fill::NEAR_NANOS;
                if near && flight.due(now).is_some_and(|due| now.coincides_with(due)) {
                    ended.push(transfer);
                } else {
                    least_left = least_left.min(flight.remaining(now));
                }
            }
        }
        for &transfer in &ended[first..] {
            self.remove(transfer);
        }
        // A transfer that needs two nanoseconds at the rate of the fastest link does not end within the rest of this
        // one.
        self.quiet = least_left > self.fastest * 2e-9;
    }

    /// Marks a link and frees its component.
    fn mark(&mut self, link: u32) {
        self.quiet = false;
        let MeshLink { component, ref mut marked, .. } = self.links[link as usize];
        if *marked {
            return;
        }
        *marked = true;
        self.marked.push(link);
        // Until components are formed again, the links of a freed component still refer to it.
        if component != NONE && !self.members[component as usize].is_empty() {
            self.members[component as usize].clear();
            self.free_components.push(component);
            let place = self.queue_at[component as usize];
            if place != NOWHERE {
                heap::remove(&mut self.queue, place, &mut self.queue_at);
            }
        }
    }
}
