//! Max-min fair rates for transfers over any sets of links, computed anew where something changed.
//!
//! # The method
//! Links that are connected through transfers in flight form a *component*; nothing outside of it has a say in its
//! rates. A start, an end or a change of capacity marks the links concerned; at the next question about rates or
//! movement of the clock every component with such a link is filled up from zero (`fill`), once, however much
//! happened at that instant. Each component knows when its next transfer ends, and a heap over the components knows
//! which is first. So an event costs O(n) in the transfers of its component, and nothing elsewhere.
//!
//! A transfer whose rate comes out as it was, to the last bit, keeps its books; for the others what they got so far
//! is written down. The rates depend on what is in flight alone, not on the order in which it came: filling goes in
//! the order of rates, and a link's sum is formed in that order.

mod fill;

use std::cmp::Reverse;

use crate::flow::heap::{self, Keyed, NOWHERE};
use crate::flow::instant::Instant;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct MeshLink {
    capacity: f64,
    /// What runs through it; while its component is filled, what those have whose rate is found.
    used: f64,
    /// While its component is filled: how many transfers on it still rise.
    rising: u32,
    /// Its component, which may be given up already.
    component: u32,
    marked: bool,
    /// Found to be in the component that is being filled.
    found: bool,
}

/// A transfer on a link: which, and the how-manieth link of its path this is.
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

/// One transfer; of the size of a cache line.
#[derive(Clone, Debug)]
struct Flight {
    /// Bytes to go at `since`.
    left: f64,
    rate: f64,
    since: Instant,
    /// Nanoseconds from `since` to its end; infinite if it stands still.
    span: f64,
    cap: f64,
    /// Its rate as filling finds it.
    fair: f64,
    steps: u32,
    phase: FlightPhase,
}

impl Flight {
    /// When it ends, but for what it may take to show at a tick; `now` is at most that.
    fn due(&self, now: Instant) -> Option<Instant> {
        self.since.after(self.span).map(|due| due.max(now))
    }

    /// Nanoseconds from `now` to its end, good enough to leave out those that end much later than another.
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
    /// No link can carry more, nor ever could.
    fastest: f64,
    /// The transfers on each link, in no order that means anything.
    hops: Vec<Vec<Hop>>,
    flights: Vec<Flight>,
    /// Paths by transfer, `stride` places for each.
    steps: Vec<PathStep>,
    stride: usize,
    /// Links whose components must be filled anew.
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
    /// Since the last completion nothing was changed, and it makes nothing else due at its tick.
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

    /// Transfers and links looked at so far.
    pub(super) fn visits(&self) -> u64 {
        self.visits
    }

    /// How many transfers were in the components in which one ended, so far: what those ends cost, however often
    /// somebody looked in between.
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// Takes the clock over from elsewhere. Nothing may be in flight.
    pub(super) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    pub(super) fn set_capacity(&mut self, link: u32, capacity: f64) {
        self.links[link as usize].capacity = capacity;
        self.fastest = self.fastest.max(capacity);
        self.mark(link);
    }

    /// Starts `transfer`, a number not in use, with `left` bytes to go over `links`, where none is named twice, with a
    /// cap or an infinite one.
    pub(super) fn insert(&mut self, transfer: u32, links: impl Iterator<Item = u32>, cap: f64, left: f64) {
        let index = transfer as usize;
        let idle = Flight {
            left,
            rate: 0.0,
            since: self.now,
            // What rounding says is complete already is due at once.
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

    /// Takes a transfer out. Its path can be asked for until its number is used again.
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

    /// The links of a transfer, as they were named.
    pub(super) fn path(&self, transfer: u32) -> impl Iterator<Item = u32> + '_ {
        let steps = &self.steps[transfer as usize * self.stride..];
        steps[..self.flights[transfer as usize].steps as usize].iter().map(|step| step.link)
    }

    /// Bytes that a transfer still has to get; below zero by what rounding may add.
    pub(super) fn remaining(&self, transfer: u32) -> f64 {
        self.flights[transfer as usize].remaining(self.now)
    }

    pub(super) fn rate(&mut self, transfer: u32) -> f64 {
        self.solve();
        self.flights[transfer as usize].rate
    }

    /// What runs through a link.
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

    /// The same, if it is by `tick`. After a completion at that very tick it need not solve to know that nothing else
    /// is due there, so that what is started in its stead is solved together with it.
    pub(super) fn next_due_by(&mut self, tick: u64) -> Option<u64> {
        let others = self.queue.first().is_some_and(|first| first.key.tick() <= tick);
        if self.quiet && self.now.tick() == tick && !others {
            return None;
        }
        self.next_due().filter(|&due| due <= tick)
    }

    /// Moves to a tick by which nothing is due.
    pub(super) fn move_to(&mut self, tick: u64) {
        self.now = self.now.moved_to(tick);
    }

    /// Moves to where the next transfer ends, ends all that end there, and appends them to `ended`.
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
        // What takes two nanoseconds at the rate of the fastest link does not end within the rest of this one.
        self.quiet = least_left > self.fastest * 2e-9;
    }

    /// Marks a link, and gives up its component.
    fn mark(&mut self, link: u32) {
        self.quiet = false;
        let MeshLink { component, ref mut marked, .. } = self.links[link as usize];
        if *marked {
            return;
        }
        *marked = true;
        self.marked.push(link);
        // Until components are formed anew, the links of one that is given up go on naming it.
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
