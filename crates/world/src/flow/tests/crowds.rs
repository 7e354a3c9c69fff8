//! Hundreds of receivers on hubs, checked by the definition of max-min fairness: two registries, mirrors and regions.
//!
//! In these tests, links become hubs and then local links again, many guards wait concurrently, and levels pass each
//! other.

use super::check::{Ledger, unfairness};
use super::*;
use crate::flow::LinkId;

const LAYERS: u64 = 5;

/// A deterministic sequence of numbers that look random.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Returns a capacity between `least` and about 50 times as much, evenly distributed by order of magnitude.
    fn capacity(&mut self, least: f64) -> BytesPerSec {
        rate(least * libm::exp(self.below(4000) as f64 / 1000.0))
    }
}

struct Crowd {
    network: Network,
    draw: Draw,
    /// For each receiver: the paths of its odd and even layers, and the number of layers it has started.
    receivers: Vec<([Vec<LinkId>; 2], u64)>,
    of: Vec<(usize, Bytes)>,
    ledger: Ledger,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let (network, draw) = (Network::new(), Draw(seed));
        Self {
            network,
            draw,
            receivers: Vec::new(),
            of: Vec::new(),
            ledger: Ledger::new(),
        }
    }

    fn begin(&mut self, now: SimTime, receiver: usize) {
        let (paths, begun) = &mut self.receivers[receiver];
        if *begun < LAYERS {
            let size = bytes(1_000_000 + self.draw.below(200_000_000));
            self.network
                .start_over(now, &paths[*begun as usize % 2], size, None);
            *begun += 1;
            self.of.push((receiver, size));
        }
    }

    /// Runs a crowd in which every receiver starts three layers within a minute, and another layer whenever one ends.
    /// Checks the rates after each `every` events.
    fn run(mut self, every: usize, mut change: impl FnMut(&mut Network, SimTime, u64)) {
        let mut starts: Vec<(u64, usize)> = (0..self.receivers.len())
            .map(|receiver| (self.draw.below(60_000_000_000), receiver))
            .collect();
        starts.sort_unstable_by_key(|&start| std::cmp::Reverse(start));
        let (mut now, mut events, mut completed) = (SimTime::ZERO, 0, Vec::new());
        loop {
            events += 1;
            if events % every == 0 {
                assert_eq!(
                    unfairness(&self.network),
                    Vec::<String>::new(),
                    "event {events} at {now}"
                );
            }
            change(&mut self.network, now, events as u64);
            if self.receivers.len() < 300 {
                self.ledger.note(now, &self.network);
            }
            let next = self.network.next_completion();
            if let Some(&(at, receiver)) = starts
                .last()
                .filter(|&&(at, _)| next.is_none_or(|next| nanos(at) < next))
            {
                starts.pop();
                now = nanos(at).max(now);
                (0..3).for_each(|_| self.begin(now, receiver));
                continue;
            }
            let Some(next) = next else { break };
            now = next.max(now);
            self.network.advance(now, &mut completed);
            for id in completed.drain(..) {
                let (receiver, size) = self.of[id.serial() as usize];
                self.ledger.completed(size);
                self.begin(now, receiver);
            }
        }
        assert_eq!(
            self.of.len() as u64,
            LAYERS * self.receivers.len() as u64,
            "all have begun"
        );
        assert_eq!(self.network.active, 0, "all have ended");
        if self.receivers.len() < 300 {
            assert_eq!(self.ledger.imbalance(), None);
        }
    }
}

#[test]
fn rates_in_regions_with_mirrors_are_max_min_fair() {
    let mut crowd = Crowd::new(3);
    let n = 600.0;
    let egress = crowd.network.add_link(None, rate(4e6 * n));
    let regions: Vec<LinkId> = (0..8)
        .map(|_| {
            crowd.network.add_link(
                Some(egress),
                rate(n / 8.0 * crowd.draw.capacity(0.2e6).get()),
            )
        })
        .collect();
    let mirrors: Vec<LinkId> = (0..8)
        .map(|_| crowd.network.add_link(None, rate(0.2e6 * n)))
        .collect();
    for _ in 0..n as usize {
        let region = crowd.draw.below(8) as usize;
        let down = crowd
            .network
            .add_link(Some(regions[region]), crowd.draw.capacity(2e6));
        crowd.receivers.push((
            [
                vec![egress, regions[region], down],
                vec![mirrors[region], down],
            ],
            0,
        ));
    }
    crowd.run(20, |_, _, _| {});
}

#[test]
fn rates_from_two_failing_registries_are_max_min_fair() {
    let mut crowd = Crowd::new(4);
    let n = 200.0;
    let egress = [4e6 * n, 1e6 * n].map(|capacity| crowd.network.add_link(None, rate(capacity)));
    for _ in 0..n as usize / 2 {
        let down = crowd
            .network
            .add_link(Some(egress[0]), crowd.draw.capacity(2e6));
        for _ in 0..2 {
            let card = crowd.network.add_link(Some(down), rate(2e7));
            crowd
                .receivers
                .push((egress.map(|egress| vec![egress, down, card]), 0));
        }
    }
    // Once in 40 events, an egress loses all or half of its capacity, or regains it.
    crowd.run(10, |network, now, events| {
        if events % 40 == 0 {
            let change = events / 40;
            let at = (change % 2) as usize;
            let share = if change > 20 {
                1.0
            } else {
                [0.0, 1.0, 0.5][change as usize % 3]
            };
            network.set_capacity(now, egress[at], rate([4e6, 1e6][at] * n * share));
        }
    });
}
