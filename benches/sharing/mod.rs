//! Loads of bandwidth sharing: pullers with a path of links and five layers each.
//!
//! All random numbers come from splitmix64 with a stated seed, so the work is the same on every machine.

use fleetsim::flow::{LinkId, Network};
use fleetsim::units::{Bytes, BytesPerSec, SimDuration, SimTime};

pub(crate) const LAYERS: usize = 5;

pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
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

/// A puller as a compact record without heap memory, so that the load itself is cheap compared with the network.
#[derive(Clone, Debug)]
struct Puller {
    /// For each layer, the start and the end of its path in the load's `links`.
    paths: [(u32, u32); LAYERS],
    start: SimTime,
    layers: [Bytes; LAYERS],
    cap: Option<BytesPerSec>,
}

/// A load that is ready to run.
pub(crate) struct Load {
    network: Network,
    /// All paths, each from the egress downwards.
    links: Vec<LinkId>,
    pullers: Vec<Puller>,
    /// Number of layers that a puller downloads concurrently.
    parallel: usize,
    /// Number of pullers that start simultaneously. Each puller that finishes is replaced by the next one a
    /// millisecond later.
    window: usize,
}

/// The kinds of loads, as described in the documentation of each bench.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Family {
    A,
    U,
    H,
    B,
    C,
    D,
    E,
    F,
    G,
    N,
    T,
    /// Like B, with two registries.
    R,
    /// Like B, with a mirror in each region.
    M,
    /// Swarms of fifty nodes that send layers to each other.
    S,
}

/// The form in which a path is passed to the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Links {
    /// A path is identified by its last link; the other links are the parents of that link.
    Forest,
    /// A path is a list of links; no link has a parent.
    Loose,
}

/// The links above the pullers of a load, and how they are drawn.
struct Fabric {
    network: Network,
    paths: Vec<LinkId>,
    random: SplitMix64,
    links: Links,
    family: Family,
    n: usize,
    egress: LinkId,
    /// The second registry.
    other: LinkId,
    /// The links from the egress down to each region or cluster.
    regions: Vec<Vec<LinkId>>,
    clusters: Vec<Vec<LinkId>>,
    /// The mirror of each region.
    mirrors: Vec<LinkId>,
    /// The outgoing link of each puller in a swarm.
    out: Vec<LinkId>,
}

impl Fabric {
    fn new(family: Family, n: usize, window: usize, links: Links) -> Self {
        let random = SplitMix64(if family == Family::G {
            5
        } else {
            20_240_607 + n as u64
        });
        let mut network = Network::new();
        let count = n as f64;
        let egress = match family {
            Family::A | Family::U | Family::H => 1.25e9,
            Family::B | Family::T | Family::R | Family::M | Family::S => 4e6 * count,
            Family::C => 3e6 * count,
            Family::D => 6e6 * count,
            Family::E => 2.5e6 * count,
            Family::F => (125e6 * count * 4.0 / 60.0).floor(),
            Family::G => (window as f64 - 0.5) * 1.25e8,
            Family::N => 2e6 * count,
        };
        let egress = network.add_link(None, BytesPerSec::new(egress));
        let other = network.add_link(None, BytesPerSec::new(2e6 * count));
        let (regions, clusters, mirrors, out, paths) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut fabric = Self {
            network,
            paths,
            random,
            links,
            family,
            n,
            egress,
            other,
            regions,
            clusters,
            mirrors,
            out,
        };
        fabric.add_regions();
        fabric
    }

    fn below(&mut self, above: &[LinkId], capacity: f64) -> Vec<LinkId> {
        let parent = above
            .last()
            .copied()
            .filter(|_| self.links == Links::Forest);
        let mut path = above.to_vec();
        path.push(self.network.add_link(parent, BytesPerSec::new(capacity)));
        path
    }

    fn add_regions(&mut self) {
        let (count, low, high) = match self.family {
            Family::C => (16, 2_000_000, 7_000_000),
            Family::E => (8, 2_000_000, 7_000_000),
            Family::N | Family::M => (8, 1_000_000, 5_000_000),
            _ => return,
        };
        for at in 0..count {
            let capacity = (self.n as u64 * self.random.within(low, high) / count) as f64;
            // A warm mirror serves its region without using the egress.
            let above = if self.family == Family::E && at % 2 == 1 {
                vec![]
            } else {
                vec![self.egress]
            };
            let region = self.below(&above, capacity);
            self.regions.push(region);
        }
        if self.family == Family::M {
            let capacity = BytesPerSec::new(0.2e6 * self.n as f64);
            self.mirrors = (0..count)
                .map(|_| self.network.add_link(None, capacity))
                .collect();
        }
        for _ in 0..if self.family == Family::N {
            (self.n / 5).max(1)
        } else {
            0
        } {
            let capacity = self.random.log_uniform(5e6, 1e8);
            let region = self.regions[self.random.below(count) as usize].clone();
            let cluster = self.below(&region, capacity);
            self.clusters.push(cluster);
        }
    }

    /// Draws the next puller; the order of the draws is part of the load's definition.
    fn puller(&mut self, at: usize) -> Puller {
        let egress = [self.egress];
        match self.family {
            Family::A | Family::F | Family::U => {
                let start = self.random.start();
                let capacity = if self.family == Family::U {
                    1e12
                } else {
                    1.25e8
                };
                let path = self.below(&egress, capacity);
                self.pulling(&[path], start)
            }
            Family::G | Family::H => {
                let path = self.below(&egress, 1.25e8);
                self.pulling(&[path], SimTime::ZERO)
            }
            Family::B => {
                let capacity = self.random.log_uniform(2e6, 1e8);
                let path = self.below(&egress, capacity);
                let start = self.random.start();
                self.pulling(&[path], start)
            }
            Family::C => {
                let capacity = self.random.log_uniform(2e6, 1e8);
                let start = self.random.start();
                let region = self.regions[self.random.below(16) as usize].clone();
                let path = self.below(&region, capacity);
                self.pulling(&[path], start)
            }
            Family::D => {
                let tier = [12.5e6, 31.25e6, 62.5e6, 125e6, 312.5e6, 1250e6]
                    [self.random.below(6) as usize];
                let path = self.below(&egress, tier);
                let start = self.random.start();
                let cap = Some(BytesPerSec::new(25e6));
                Puller {
                    cap,
                    ..self.pulling(&[path], start)
                }
            }
            Family::E => {
                let capacity = self.random.log_uniform(2e6, 1e8);
                let region = self.regions[self.random.below(8) as usize].clone();
                let path = self.below(&region, capacity);
                let start = self.random.start();
                self.pulling(&[path], start)
            }
            Family::N => {
                let capacity = self.random.log_uniform(2e6, 1e8);
                let cluster =
                    self.clusters[self.random.below(self.clusters.len() as u64) as usize].clone();
                let path = self.below(&cluster, capacity);
                let start = self.random.start();
                self.pulling(&[path], start)
            }
            Family::T => {
                let path = self.below(&egress, [12.5e6, 31.25e6, 62.5e6, 125e6][at % 4]);
                let layers = [30, 5, 120, 5, 60].map(|mb| Bytes::new(mb * 1_000_000));
                Puller {
                    paths: self.lay(&[path]),
                    start: SimTime::from_secs(at as u64 % 3 * 10),
                    layers,
                    cap: None,
                }
            }
            Family::R | Family::M | Family::S => self.general_puller(),
        }
    }

    fn general_puller(&mut self) -> Puller {
        let start = self.random.start();
        let capacity = self.random.log_uniform(2e6, 1e8);
        if self.family == Family::S {
            let card = self.network.add_link(None, BytesPerSec::new(1.25e8));
            self.out
                .push(self.network.add_link(None, BytesPerSec::new(1.25e8)));
            let swarm = self.out.len().div_ceil(50) * 50 - 50;
            let paths = (0..LAYERS).map(|_| {
                vec![
                    self.out[swarm + self.random.below((self.out.len() - swarm) as u64) as usize],
                    card,
                ]
            });
            let paths: Vec<Vec<LinkId>> = paths.collect();
            return self.pulling(&paths, start);
        }
        let region = if self.family == Family::M {
            self.random.below(8) as usize
        } else {
            0
        };
        let above = if self.family == Family::M {
            self.regions[region].clone()
        } else {
            vec![self.egress]
        };
        let path = self.below(&above, capacity);
        let down = *path.last().expect("not empty");
        let second = if self.family == Family::M {
            self.mirrors[region]
        } else {
            self.other
        };
        self.pulling(&[path, vec![second, down]], start)
    }

    fn pulling(&mut self, paths: &[Vec<LinkId>], start: SimTime) -> Puller {
        Puller {
            paths: self.lay(paths),
            start,
            layers: self.random.sizes(),
            cap: None,
        }
    }

    /// Stores the paths that the layers use in turn.
    fn lay(&mut self, paths: &[Vec<LinkId>]) -> [(u32, u32); LAYERS] {
        let mut laid = Vec::new();
        for path in paths {
            let start = self.paths.len() as u32;
            self.paths.extend(path);
            laid.push((start, self.paths.len() as u32));
        }
        std::array::from_fn(|layer| laid[layer % laid.len()])
    }
}

impl Load {
    pub(crate) fn new(family: Family, parallel: usize, n: usize, links: Links) -> Self {
        let window = if family == Family::G {
            n.div_ceil(10)
        } else {
            n
        };
        let mut fabric = Fabric::new(family, n, window, links);
        let pullers = (0..n).map(|at| fabric.puller(at)).collect();
        Self {
            network: fabric.network,
            links: fabric.paths,
            pullers,
            parallel,
            window,
        }
    }

    /// Runs the load to its end. Returns a checksum over the completions in their order.
    pub(crate) fn run(self) -> u64 {
        let Self {
            network,
            links,
            pullers,
            parallel,
            window,
        } = self;
        let begun = vec![0; pullers.len()];
        let mut run = Run {
            network,
            begun,
            puller_of: Vec::new(),
            links: &links,
            pullers: &pullers,
        };
        let mut ended = vec![0_usize; pullers.len()];
        let mut starts: Vec<(SimTime, usize)> = pullers
            .iter()
            .map(|puller| puller.start)
            .zip(0..)
            .take(window)
            .collect();
        starts.sort_unstable();
        // Replacements start in the order of their times, all after the pullers of the first window.
        let (mut next_start, mut next_puller) = (0, window);
        let (mut checksum, mut completed) = (0_u64, Vec::new());
        loop {
            let next = run.network.next_completion();
            let start = starts.get(next_start).copied();
            if let Some((time, puller)) =
                start.filter(|&(time, _)| next.is_none_or(|next| time < next))
            {
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
                checksum = checksum
                    .wrapping_mul(31)
                    .wrapping_add(now.as_nanos() ^ puller as u64);
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
    links: &'p [LinkId],
    pullers: &'p [Puller],
    /// Number of layers that each puller has begun.
    begun: Vec<usize>,
    /// The puller of each transfer, by serial number.
    puller_of: Vec<u32>,
}

impl Run<'_> {
    fn begin_next_layer(&mut self, now: SimTime, at: usize) {
        let puller = &self.pullers[at];
        let layer = self.begun[at];
        if let Some(&size) = puller.layers.get(layer) {
            self.begun[at] += 1;
            let (start, end) = puller.paths[layer];
            self.network.start_over(
                now,
                &self.links[start as usize..end as usize],
                size,
                puller.cap,
            );
            self.puller_of.push(at as u32);
        }
    }
}
