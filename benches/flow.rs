//! Bandwidth sharing: time per transfer under several loads.
//!
//! Each load is n *pullers* with a path of links and five layers each, of 1 to 200 MB; a puller begins its next layer the
//! instant one ends. The load is in the id, e.g. `flow/B3/10000 pullers`: family, layers at a time, pullers.
//!
//! - A: equal downlinks below one egress that binds nearly always; starts within a minute.
//! - B: downlinks of all sizes, about half of the transfers bound by them, half by the egress.
//! - F: as A, with an egress such that the fair share hovers around the downlinks' capacity.
//! - G: a window of n/10 pullers at a time on equal downlinks; the fair share crosses their capacity twice per puller.
//! - N: four links deep: egress, region, cluster, node.
//! - T: one image for all, in three waves, on four sizes of downlink: exact ties.
//!
//! `flow/one link` keeps n transfers in flight on one link and replaces each as it ends.
//!
//! Everything drawn comes from splitmix64 with a stated seed, so that the work is the same everywhere. As a test
//! (`cargo test --benches`) every load runs once, tiny.
#![allow(missing_docs, reason = "the macros of criterion generate public functions")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fleetsim::flow::{LinkId, Network, TransferId};
use fleetsim::units::{Bytes, BytesPerSec, SimDuration, SimTime};

const LAYERS: usize = 5;

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        let share = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (low.ln() + share * (high.ln() - low.ln())).exp().round()
    }

    fn start(&mut self) -> SimTime {
        SimTime::from_nanos(self.below(60_000_001) * 1000)
    }

    fn sizes(&mut self) -> [Bytes; LAYERS] {
        [(); LAYERS].map(|()| Bytes::new(self.within(1_000_000, 200_000_000)))
    }
}

#[derive(Clone, Debug)]
struct Puller {
    link: LinkId,
    start: SimTime,
    layers: [Bytes; LAYERS],
}

/// A load, ready to run.
struct Load {
    network: Network,
    pullers: Vec<Puller>,
    /// Layers at a time.
    parallel: usize,
    /// How many of the pullers start at their start; each that ends is replaced by the next one a millisecond later.
    window: usize,
}

#[derive(Clone, Copy, Debug)]
enum Family {
    A,
    B,
    F,
    G,
    N,
    T,
}

impl Load {
    fn new(family: Family, parallel: usize, n: usize) -> Self {
        let mut random = SplitMix64(if matches!(family, Family::G) { 5 } else { 20_240_607 + n as u64 });
        let mut network = Network::new();
        let count = n as f64;
        let window = if matches!(family, Family::G) { n.div_ceil(10) } else { n };
        let egress = match family {
            Family::A => 1.25e9,
            Family::B | Family::T => 4e6 * count,
            Family::F => (125e6 * count * 4.0 / 60.0).floor(),
            Family::G => (window as f64 - 0.5) * 1.25e8,
            Family::N => 2e6 * count,
        };
        let egress = network.add_link(None, BytesPerSec::new(egress));
        let below = |network: &mut Network, above: LinkId, capacity: f64| {
            network.add_link(Some(above), BytesPerSec::new(capacity))
        };
        let mut clusters = Vec::new();
        if matches!(family, Family::N) {
            let regions = [(); 8].map(|()| {
                let capacity = (n as u64 * random.within(1_000_000, 5_000_000) / 8) as f64;
                below(&mut network, egress, capacity)
            });
            clusters.extend((0..(n / 5).max(1)).map(|_| {
                let capacity = random.log_uniform(5e6, 1e8);
                below(&mut network, regions[random.below(8) as usize], capacity)
            }));
        }
        let pullers = (0..n).map(|at| match family {
            Family::A | Family::F => {
                let start = random.start();
                Puller { link: below(&mut network, egress, 1.25e8), start, layers: random.sizes() }
            }
            Family::B => {
                let link = below(&mut network, egress, random.log_uniform(2e6, 1e8));
                Puller { link, start: random.start(), layers: random.sizes() }
            }
            Family::G => {
                let link = below(&mut network, egress, 1.25e8);
                Puller { link, start: SimTime::ZERO, layers: random.sizes() }
            }
            Family::N => {
                let capacity = random.log_uniform(2e6, 1e8);
                let cluster = clusters[random.below(clusters.len() as u64) as usize];
                let link = below(&mut network, cluster, capacity);
                Puller { link, start: random.start(), layers: random.sizes() }
            }
            Family::T => Puller {
                link: below(&mut network, egress, [12.5e6, 31.25e6, 62.5e6, 125e6][at % 4]),
                start: SimTime::from_secs(at as u64 % 3 * 10),
                layers: [30, 5, 120, 5, 60].map(|mb| Bytes::new(mb * 1_000_000)),
            },
        });
        let pullers = pullers.collect();
        Self { network, pullers, parallel, window }
    }

    /// Runs to the end. Returns a checksum over the completions in their order.
    fn run(self) -> u64 {
        let Self { network, pullers, parallel, window } = self;
        let mut run = Run { network, begun: vec![0; pullers.len()], puller_of: Vec::new(), pullers: &pullers };
        let mut ended = vec![0_usize; pullers.len()];
        let mut starts: Vec<(SimTime, usize)> =
            pullers.iter().map(|puller| puller.start).zip(0..).take(window).collect();
        starts.sort_unstable();
        // Replacements come in the order of their time, all after the last start of the window.
        let (mut next_start, mut next_puller) = (0, window);
        let (mut checksum, mut completed) = (0_u64, Vec::new());
        loop {
            let next = run.network.next_completion();
            let start = starts.get(next_start).copied();
            if let Some((time, puller)) = start.filter(|&(time, _)| next.is_none_or(|next| time < next)) {
                next_start += 1;
                for _ in 0..parallel {
                    run.begin_next_layer(time, puller);
                }
                continue;
            }
            let Some(now) = next else { return checksum };
            run.network.advance(now, &mut completed);
            for id in completed.drain(..) {
                let puller = run.puller_of[id.serial() as usize] as usize;
                checksum = checksum.wrapping_mul(31).wrapping_add(now.as_nanos() ^ puller as u64);
                ended[puller] += 1;
                run.begin_next_layer(now, puller);
                if ended[puller] == LAYERS && next_puller < pullers.len() {
                    starts.push((now + SimDuration::from_millis(1), next_puller));
                    next_puller += 1;
                }
            }
        }
    }
}

struct Run<'p> {
    network: Network,
    pullers: &'p [Puller],
    /// Layers that each puller has begun.
    begun: Vec<usize>,
    /// The puller of each transfer, by serial number.
    puller_of: Vec<u32>,
}

impl Run<'_> {
    fn begin_next_layer(&mut self, now: SimTime, at: usize) {
        let puller = &self.pullers[at];
        if let Some(&size) = puller.layers.get(self.begun[at]) {
            self.begun[at] += 1;
            self.network.start(now, puller.link, size, None);
            self.puller_of.push(at as u32);
        }
    }
}

/// One link with `n` transfers in flight, and what to draw the next ones from.
fn one_link(n: usize) -> (Network, LinkId, SplitMix64) {
    let mut network = Network::new();
    let link = network.add_link(None, BytesPerSec::from_gbit(10.0));
    let mut random = SplitMix64(n as u64);
    for _ in 0..n {
        network.start(SimTime::ZERO, link, Bytes::new(random.within(1_000_000, 200_000_000)), None);
    }
    (network, link, random)
}

/// Completes `transfers` transfers, each replaced as it ends.
fn replace(mut network: Network, link: LinkId, random: &mut SplitMix64, transfers: usize) -> (Network, u64) {
    let (mut checksum, mut done) = (0_u64, 0);
    let mut completed: Vec<TransferId> = Vec::new();
    while done < transfers {
        let now = network.next_completion().expect("transfers are in flight");
        network.advance(now, &mut completed);
        for id in completed.drain(..) {
            checksum = checksum.wrapping_mul(31).wrapping_add(now.as_nanos() ^ id.serial());
            network.start(now, link, Bytes::new(random.within(1_000_000, 200_000_000)), None);
            done += 1;
        }
    }
    (network, checksum)
}

#[allow(clippy::print_stderr, reason = "a bench says what it computed")]
fn report(id: &str, checksum: u64) {
    eprintln!("{id}: checksum {checksum:016x}");
}

fn flow(criterion: &mut Criterion) {
    // Without `--bench` criterion only tests that everything runs.
    let measured = std::env::args().any(|argument| argument == "--bench");
    let mut group = criterion.benchmark_group("flow");
    group.sample_size(10);
    let loads: &[usize] = if measured { &[1000, 10_000, 100_000] } else { &[20] };
    let families = [
        (Family::A, 1),
        (Family::B, 1),
        (Family::B, 3),
        (Family::F, 1),
        (Family::G, 1),
        (Family::N, 3),
        (Family::T, 3),
    ];
    for (family, parallel) in families {
        for &n in loads {
            let name = format!("{family:?}{parallel}");
            report(&format!("{name}, {n} pullers"), Load::new(family, parallel, n).run());
            group.throughput(Throughput::Elements((n * LAYERS) as u64));
            group.bench_function(BenchmarkId::new(name, format!("{n} pullers")), |bencher| {
                bencher.iter_batched(|| Load::new(family, parallel, n), Load::run, BatchSize::PerIteration);
            });
        }
    }
    let (loads, transfers): (&[usize], usize) = if measured { (&[1000, 100_000], 100_000) } else { (&[20], 100) };
    for &n in loads {
        let (network, link, mut random) = one_link(n);
        report(&format!("one link, {n} at a time"), replace(network, link, &mut random, transfers).1);
        group.throughput(Throughput::Elements(transfers as u64));
        group.bench_function(BenchmarkId::new("one link", format!("{n} at a time")), |bencher| {
            bencher.iter_batched(
                || one_link(n),
                |(network, link, mut random)| replace(network, link, &mut random, transfers),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, flow);
criterion_main!(benches);
