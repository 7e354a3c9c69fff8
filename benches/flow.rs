//! Bandwidth sharing: time per transfer under several loads.
//!
//! Each load is n *pullers* with a path of links and five layers each, of 1 to 200 MB; a puller starts its next layer
//! as soon as one ends. The load is in the id, e.g. `flow/B3/10000 pullers`: family, layers at a time, pullers.
//!
//! - A: equal downlinks below one egress that is nearly always the bottleneck; pullers start within a minute. H: all
//!   start simultaneously. U: no downlink is a bottleneck.
//! - B: downlinks of all sizes; about half of the transfers are limited by them, half by the egress. C: the same below
//!   16 regions. E: the same below 8 regions, every other one with its own source.
//! - D: six sizes of downlinks, and a cap for each connection.
//! - F: like A, with an egress such that the fair share hovers around the downlinks' capacity.
//! - G: a window of n/10 pullers at a time on equal downlinks; the fair share crosses their capacity twice per puller.
//! - N: four links deep: egress, region, cluster, node.
//! - T: one image for all, in three waves, on four sizes of downlink: exact ties.
//!
//! These loads are forests, which the fast solver handles. The general solver has `flow/general B3`, the load of B3
//! with links that have no parents, and three loads that are not forests:
//!
//! - R: like B, and every other layer comes from a second registry with half the egress.
//! - M: below 8 regions, and every other layer comes from a mirror in the region.
//! - S: swarms of 50 nodes; each layer comes from the network card of a randomly drawn node.
//!
//! `flow/peers` keeps n transfers in flight between n/3 nodes, each between the cards of two drawn nodes. `flow/one
//! link` keeps n transfers in flight on one link and replaces each as it ends. `flow/heap` is the reference of the
//! same run: one pop and one push of a bare `BinaryHeap` with n entries.
//!
//! As a test (`cargo test --benches`) every load runs once at a small size.
#![allow(
    missing_docs,
    reason = "the macros of criterion generate public functions"
)]

mod sharing;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fleetsim::flow::{LinkId, Network, TransferId};
use fleetsim::units::{Bytes, BytesPerSec, SimTime};
use sharing::{Family, LAYERS, Links, Load, SplitMix64};

/// Transfers on random paths, each of which is replaced by a new one when it ends.
struct Churn {
    network: Network,
    /// Lists of links; a path has one link of each list.
    hops: Vec<Vec<LinkId>>,
    random: SplitMix64,
}

impl Churn {
    /// `n` transfers in flight on one link.
    fn one_link(n: usize) -> Self {
        Self::new(n, &[1], BytesPerSec::from_gbit(10.0))
    }

    /// `n` transfers in flight between n/3 nodes, from card to card.
    fn peers(n: usize) -> Self {
        Self::new(n, &[n / 3, n / 3], BytesPerSec::from_gbit(1.0))
    }

    fn new(n: usize, hops: &[usize], capacity: BytesPerSec) -> Self {
        let mut network = Network::new();
        let hops = hops
            .iter()
            .map(|&links| {
                (0..links)
                    .map(|_| network.add_link(None, capacity))
                    .collect()
            })
            .collect();
        let mut churn = Self {
            network,
            hops,
            random: SplitMix64(n as u64),
        };
        (0..n).for_each(|_| churn.start(SimTime::ZERO));
        churn
    }

    fn start(&mut self, now: SimTime) {
        let size = Bytes::new(self.random.within(1_000_000, 200_000_000));
        let mut path = [self.hops[0][0]; 2];
        for (links, hop) in self.hops.iter().zip(&mut path) {
            *hop = links[if links.len() > 1 {
                self.random.below(links.len() as u64) as usize
            } else {
                0
            }];
        }
        self.network
            .start_over(now, &path[..self.hops.len()], size, None);
    }

    /// Completes `transfers` transfers. Returns a checksum over the completions in their order.
    fn run(&mut self, transfers: usize) -> u64 {
        let (mut checksum, mut done) = (0_u64, 0);
        let mut completed: Vec<TransferId> = Vec::new();
        while done < transfers {
            let now = self
                .network
                .next_completion()
                .expect("transfers are in flight");
            self.network.advance(now, &mut completed);
            for id in completed.drain(..) {
                checksum = checksum
                    .wrapping_mul(31)
                    .wrapping_add(now.as_nanos() ^ id.serial());
                self.start(now);
                done += 1;
            }
        }
        checksum
    }
}

/// One pop and one push of a bare heap with `n` entries, 1,000 times: the minimum cost of an event.
fn heap(group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>, n: usize) {
    const EVENTS: u64 = 1000;
    let mut random = SplitMix64(n as u64);
    let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> = (0..n as u32)
        .map(|item| Reverse((random.below(1_000_000_000), item, item)))
        .collect();
    group.throughput(Throughput::Elements(EVENTS));
    group.bench_function(
        BenchmarkId::new("heap", format!("{n} entries")),
        |bencher| {
            bencher.iter(|| {
                for _ in 0..EVENTS {
                    let Reverse((at, serial, item)) = heap.pop().expect("an entry replaces each");
                    heap.push(Reverse((
                        at + random.below(2_000_000_000),
                        serial.wrapping_add(1),
                        item,
                    )));
                }
            });
        },
    );
}

#[allow(clippy::print_stderr, reason = "a bench prints its checksum")]
fn report(id: &str, checksum: u64) {
    eprintln!("{id}: checksum {checksum:016x}");
}

fn flow(criterion: &mut Criterion) {
    // Without `--bench` criterion only tests that everything runs.
    let measured = std::env::args().any(|argument| argument == "--bench");
    let mut group = criterion.benchmark_group("flow");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    let loads: &[usize] = if measured {
        &[100, 1000, 3000, 10_000]
    } else {
        &[20]
    };
    let families = [
        (Family::A, 1),
        (Family::U, 1),
        (Family::H, 1),
        (Family::B, 1),
        (Family::B, 3),
        (Family::C, 3),
        (Family::D, 3),
        (Family::E, 3),
        (Family::F, 1),
        (Family::G, 1),
        (Family::N, 3),
        (Family::T, 3),
        (Family::R, 3),
        (Family::M, 3),
        (Family::S, 3),
    ];
    for &n in loads {
        heap(&mut group, n);
    }
    let cases = families.iter().flat_map(|&(family, parallel)| {
        loads
            .iter()
            .map(move |&n| (family, parallel, n, Links::Forest))
    });
    let general = loads.iter().map(|&n| (Family::B, 3, n, Links::Loose));
    let large = measured.then_some((Family::B, 3, 100_000, Links::Forest));
    for (family, parallel, n, links) in cases.chain(general).chain(large) {
        let solver = if links == Links::Loose {
            "general "
        } else {
            ""
        };
        let name = format!("{solver}{family:?}{parallel}");
        let load = || Load::new(family, parallel, n, links);
        report(&format!("{name}, {n} pullers"), load().run());
        group.throughput(Throughput::Elements((n * LAYERS) as u64));
        group.bench_function(BenchmarkId::new(name, format!("{n} pullers")), |bencher| {
            bencher.iter_batched(load, Load::run, BatchSize::PerIteration);
        });
    }
    let (few, many, transfers) = if measured {
        (1000, 100_000, 100_000)
    } else {
        (20, 40, 100)
    };
    type Churning = fn(usize) -> Churn;
    let churns: [(&str, Churning, usize, usize); 3] = [
        ("one link", Churn::one_link, few, transfers),
        ("one link", Churn::one_link, many, transfers),
        ("peers", Churn::peers, 3 * few, transfers / 10),
    ];
    for (name, churn, n, transfers) in churns {
        report(&format!("{name}, {n} at a time"), churn(n).run(transfers));
        group.throughput(Throughput::Elements(transfers as u64));
        group.bench_function(
            BenchmarkId::new(name, format!("{n} at a time")),
            |bencher| {
                bencher.iter_batched(
                    || churn(n),
                    |mut churn| {
                        let checksum = churn.run(transfers);
                        (churn, checksum)
                    },
                    BatchSize::PerIteration,
                );
            },
        );
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // Criterion's own plots need a font, and plotters is built without fonts.
    config = Criterion::default().without_plots();
    targets = flow
}
criterion_main!(benches);
