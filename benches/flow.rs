//! Bandwidth sharing: time per transfer under several loads.
//!
//! Each load is n *pullers* with a path of links and five layers each, of 1 to 200 MB; a puller starts its next layer
//! as soon as one ends. The load is in the id, e.g. `flow/B3/10000 pullers`: family, layers at a time, pullers.
//!
//! - A: equal downlinks below one egress that binds nearly always; starts within a minute.
//! - B: downlinks of all sizes, about half of the transfers bound by them, half by the egress.
//! - F: as A, with an egress such that the fair share hovers around the downlinks' capacity.
//! - G: a window of n/10 pullers at a time on equal downlinks; the fair share crosses their capacity twice per puller.
//! - N: four links deep: egress, region, cluster, node.
//! - T: one image for all, in three waves, on four sizes of downlink: exact ties.
//!
//! `flow/general B3/1000 pullers` is the load of `flow/B3/1000 pullers`, 3,000 concurrent transfers on an egress and
//! 1,000 downlinks, by the general solver: the links have no parents, and each transfer names its path. `flow/peers`
//! keeps n transfers in flight between n/3 nodes, each from the card of one to the card of another, both drawn.
//!
//! `flow/one link` keeps n transfers in flight on one link and replaces each as it ends.
//!
//! All random numbers come from splitmix64 with a stated seed, so the work is the same on every machine. As a test
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
        libm::exp(libm::log(low) + share * (libm::log(high) - libm::log(low))).round()
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
    /// From the egress down.
    path: Vec<LinkId>,
    start: SimTime,
    layers: [Bytes; LAYERS],
}

/// A load, ready to run.
struct Load {
    network: Network,
    links: Links,
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

/// How a path is given to the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Links {
    /// By its last link.
    Forest,
    /// Link by link, where no link has a parent.
    Loose,
}

impl Load {
    fn new(family: Family, parallel: usize, n: usize, links: Links) -> Self {
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
        let below = |network: &mut Network, above: &[LinkId], capacity: f64| {
            let parent = above.last().copied().filter(|_| links == Links::Forest);
            let mut path = above.to_vec();
            path.push(network.add_link(parent, BytesPerSec::new(capacity)));
            path
        };
        let egress = [egress];
        let mut clusters = Vec::new();
        if matches!(family, Family::N) {
            let regions = [(); 8].map(|()| {
                let capacity = (n as u64 * random.within(1_000_000, 5_000_000) / 8) as f64;
                below(&mut network, &egress, capacity)
            });
            clusters.extend((0..(n / 5).max(1)).map(|_| {
                let capacity = random.log_uniform(5e6, 1e8);
                below(&mut network, &regions[random.below(8) as usize], capacity)
            }));
        }
        let pullers = (0..n).map(|at| match family {
            Family::A | Family::F => {
                let start = random.start();
                Puller { path: below(&mut network, &egress, 1.25e8), start, layers: random.sizes() }
            }
            Family::B => {
                let path = below(&mut network, &egress, random.log_uniform(2e6, 1e8));
                Puller { path, start: random.start(), layers: random.sizes() }
            }
            Family::G => {
                let path = below(&mut network, &egress, 1.25e8);
                Puller { path, start: SimTime::ZERO, layers: random.sizes() }
            }
            Family::N => {
                let capacity = random.log_uniform(2e6, 1e8);
                let cluster: &Vec<LinkId> = &clusters[random.below(clusters.len() as u64) as usize];
                let path = below(&mut network, cluster, capacity);
                Puller { path, start: random.start(), layers: random.sizes() }
            }
            Family::T => Puller {
                path: below(&mut network, &egress, [12.5e6, 31.25e6, 62.5e6, 125e6][at % 4]),
                start: SimTime::from_secs(at as u64 % 3 * 10),
                layers: [30, 5, 120, 5, 60].map(|mb| Bytes::new(mb * 1_000_000)),
            },
        });
        let pullers = pullers.collect();
        Self { network, links, pullers, parallel, window }
    }

    /// Runs to the end. Returns a checksum over the completions in their order.
    fn run(self) -> u64 {
        let Self { network, links, pullers, parallel, window } = self;
        let mut run = Run { network, links, begun: vec![0; pullers.len()], puller_of: Vec::new(), pullers: &pullers };
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
    links: Links,
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
            match self.links {
                Links::Forest => self.network.start(now, *puller.path.last().expect("not empty"), size, None),
                Links::Loose => self.network.start_over(now, &puller.path, size, None),
            };
            self.puller_of.push(at as u32);
        }
    }
}

/// Transfers that are replaced as they end, each by one over a path that is drawn.
struct Churn {
    network: Network,
    /// A path takes one link of each of these.
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
        let hops = hops.iter().map(|&links| (0..links).map(|_| network.add_link(None, capacity)).collect()).collect();
        let mut churn = Self { network, hops, random: SplitMix64(n as u64) };
        (0..n).for_each(|_| churn.start(SimTime::ZERO));
        churn
    }

    fn start(&mut self, now: SimTime) {
        let size = Bytes::new(self.random.within(1_000_000, 200_000_000));
        let mut path = [self.hops[0][0]; 2];
        for (links, hop) in self.hops.iter().zip(&mut path) {
            *hop = links[if links.len() > 1 { self.random.below(links.len() as u64) as usize } else { 0 }];
        }
        self.network.start_over(now, &path[..self.hops.len()], size, None);
    }

    /// Completes `transfers` transfers. Returns a checksum over the completions in their order.
    fn run(&mut self, transfers: usize) -> u64 {
        let (mut checksum, mut done) = (0_u64, 0);
        let mut completed: Vec<TransferId> = Vec::new();
        while done < transfers {
            let now = self.network.next_completion().expect("transfers are in flight");
            self.network.advance(now, &mut completed);
            for id in completed.drain(..) {
                checksum = checksum.wrapping_mul(31).wrapping_add(now.as_nanos() ^ id.serial());
                self.start(now);
                done += 1;
            }
        }
        checksum
    }
}

#[allow(clippy::print_stderr, reason = "a bench prints its checksum")]
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
    let cases = families
        .iter()
        .flat_map(|&(family, parallel)| loads.iter().map(move |&n| (family, parallel, n, Links::Forest)));
    for (family, parallel, n, links) in cases.chain([(Family::B, 3, loads[0], Links::Loose)]) {
        let solver = if links == Links::Loose { "general " } else { "" };
        let name = format!("{solver}{family:?}{parallel}");
        let load = || Load::new(family, parallel, n, links);
        report(&format!("{name}, {n} pullers"), load().run());
        group.throughput(Throughput::Elements((n * LAYERS) as u64));
        group.bench_function(BenchmarkId::new(name, format!("{n} pullers")), |bencher| {
            bencher.iter_batched(load, Load::run, BatchSize::PerIteration);
        });
    }
    let (few, many, transfers) = if measured { (1000, 100_000, 100_000) } else { (20, 40, 100) };
    type Churning = fn(usize) -> Churn;
    let churns: [(&str, Churning, usize, usize); 3] = [
        ("one link", Churn::one_link, few, transfers),
        ("one link", Churn::one_link, many, transfers),
        ("peers", Churn::peers, 3 * few, transfers / 100),
    ];
    for (name, churn, n, transfers) in churns {
        report(&format!("{name}, {n} at a time"), churn(n).run(transfers));
        group.throughput(Throughput::Elements(transfers as u64));
        group.bench_function(BenchmarkId::new(name, format!("{n} at a time")), |bencher| {
            bencher.iter_batched(
                || churn(n),
                |mut churn| {
                    let checksum = churn.run(transfers);
                    (churn, checksum)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // Criterion's own plots need a font that our choice of plotters' features leaves out.
    config = Criterion::default().without_plots();
    targets = flow
}
criterion_main!(benches);
