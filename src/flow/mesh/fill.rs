//! Progressive filling of one component (Bertsekas and Gallager, *Data Networks*, 2nd edition, section 6.5.2).
//!
//! All rates rise together from zero. The *level* of a link is the rate at which it becomes full: its unused capacity
//! divided by the transfers on it that still rise. The link with the lowest level stops all that rise on it, unless a
//! transfer with a lower cap stops first. A stopped transfer raises the level of other links and never lowers it, so
//! a heap suffices in which levels are updated only when they come first.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::{Flight, FlightPhase, Mesh, MeshLink, NONE, PathStep};
use crate::engine::heap::{self, NOWHERE};

/// Completions this close together according to `Flight::about` are compared exactly.
pub(super) const NEAR_NANOS: f64 = 4096.0;

impl MeshLink {
    fn level(&self) -> f64 {
        // Adding 0 makes a negative zero positive, so that the bits can serve as a key.
        (self.capacity - self.used).max(0.0) / f64::from(self.rising) + 0.0
    }
}

impl Mesh {
    /// Updates every rate.
    pub(super) fn solve(&mut self) {
        while let Some(link) = self.marked.pop() {
            // A link connected to an earlier one is already done.
            if !self.links[link as usize].marked {
                continue;
            }
            if self.hops[link as usize].is_empty() {
                let link = &mut self.links[link as usize];
                (link.marked, link.used, link.component) = (false, 0.0, NONE);
                continue;
            }
            let component = self.free_components.pop().unwrap_or_else(|| {
                self.members.push(Vec::new());
                self.queue_at.push(NOWHERE);
                self.members.len() as u32 - 1
            });
            self.find(component, link);
            self.fill(component);
            self.adopt(component);
        }
    }

    /// Finds the links and transfers connected with `first`.
    fn find(&mut self, component: u32, first: u32) {
        let Self { links, hops, flights, steps, stride, members, found, .. } = self;
        let members = &mut members[component as usize];
        found.clear();
        found.push(first);
        links[first as usize].found = true;
        let mut at = 0;
        while let Some(&link) = found.get(at) {
            for hop in &hops[link as usize] {
                let flight = &mut flights[hop.transfer as usize];
                if flight.phase == FlightPhase::Rising {
                    continue;
                }
                flight.phase = FlightPhase::Rising;
                members.push(hop.transfer);
                for step in &steps[hop.transfer as usize * *stride..][..flight.steps as usize] {
                    let link = &mut links[step.link as usize];
                    if !link.found {
                        link.found = true;
                        found.push(step.link);
                    }
                }
            }
            at += 1;
        }
    }

    /// Computes the rate of each transfer of the component that was found.
    fn fill(&mut self, component: u32) {
        let Self { links, hops, flights, steps, stride, members, found, capped, levels, visits, .. } = self;
        let members = &members[component as usize];
        *visits += (members.len() + found.len()) as u64;
        levels.clear();
        for &at in &*found {
            let link = &mut links[at as usize];
            (link.component, link.marked, link.found) = (component, false, false);
            (link.used, link.rising) = (0.0, hops[at as usize].len() as u32);
            levels.push(Reverse((link.level().to_bits(), at)));
        }
        capped.clear();
        let cap = |&transfer: &u32| (flights[transfer as usize].cap.to_bits(), transfer);
        let finite = members.iter().map(cap).filter(|&(cap, _)| f64::from_bits(cap) < f64::INFINITY);
        capped.extend(finite.map(Reverse));
        // A heap, not a sorted list: often one link stops nearly all transfers, and few caps are examined.
        let mut caps = BinaryHeap::from(std::mem::take(capped));
        let mut heap = BinaryHeap::from(std::mem::take(levels));
        let rising = Cell::new(members.len());
        let mut stop = |transfer: u32, rate: f64, links: &mut [MeshLink]| {
            let flight: &mut Flight = &mut flights[transfer as usize];
            if flight.phase != FlightPhase::Rising {
                return;
            }
            (flight.phase, flight.fair) = (FlightPhase::Known, rate);
            rising.set(rising.get() - 1);
            for &PathStep { link, .. } in &steps[transfer as usize * *stride..][..flight.steps as usize] {
                let link = &mut links[link as usize];
                link.used += rate;
                link.rising -= 1;
            }
        };
        // The links left once nothing rises need not be removed one by one.
        while rising.get() > 0 {
            let mut first = heap.peek_mut().expect("every transfer runs over a link that stops it");
            let Reverse((known, at)) = *first;
            let link = &mut links[at as usize];
            if link.rising == 0 {
                PeekMut::pop(first);
                continue;
            }
            let level = link.level();
            if level.to_bits() > known {
                *first = Reverse((level.to_bits(), at));
                continue;
            }
            // A transfer that stops at its cap raises this level as well.
            if let Some(lowest) = caps.peek_mut().filter(|lowest| lowest.0.0 <= level.to_bits()) {
                let Reverse((cap, transfer)) = PeekMut::pop(lowest);
                drop(first);
                stop(transfer, f64::from_bits(cap), links);
                continue;
            }
            PeekMut::pop(first);
            for hop in &hops[at as usize] {
                stop(hop.transfer, level, links);
            }
            let link = &mut links[at as usize];
            // The link is full; the sum may differ by rounding.
            link.used = link.capacity;
        }
        *levels = heap.into_vec();
        *capped = caps.into_vec();
    }

    /// Applies the rates that filling found, and queues the end of the component's next transfer.
    fn adopt(&mut self, component: u32) {
        let now = self.now;
        let (mut soonest, mut next) = (f64::INFINITY, None);
        for &transfer in &self.members[component as usize] {
            let flight = &mut self.flights[transfer as usize];
            if flight.fair.to_bits() != flight.rate.to_bits() {
                flight.left = flight.remaining(now);
                (flight.since, flight.rate) = (now, flight.fair);
                flight.span = if flight.left > 0.0 { flight.left / flight.rate * 1e9 } else { 0.0 };
            }
            let about = flight.about(now);
            if about <= soonest + NEAR_NANOS {
                soonest = soonest.min(about);
                let due = flight.due(now);
                next = match (next, due) {
                    (Some(one), Some(other)) => Some(if other < one { other } else { one }),
                    (one, other) => one.or(other),
                };
            }
        }
        if let Some(due) = next {
            heap::push(&mut self.queue, due, component, &mut self.queue_at);
        }
    }
}
