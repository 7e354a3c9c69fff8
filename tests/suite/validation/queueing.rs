//! Queueing theory: the expected results of an idealised link and an idealised node.
//!
//! - Processor sharing (Kleinrock, Queueing Systems II, 1976, section 4.4): a link that is shared equally is an
//!   M/G/1-PS queue, whose mean time in system is E\[S\] / (1 - ρ) for Poisson arrivals and any distribution of sizes.
//! - Pollaczek and Khinchine: the mean wait in an M/D/1 queue is ρ D / (2 (1 - ρ)). A node with serial pulls of images
//!   that all take the same time is such a queue.
//! - Little's law: the number of items in a system, integrated over time, is the sum of the times that they spend
//!   there.
//!
//! No parameter is fitted. Means over independent seeds must agree within three standard errors.

use fleetsim::engine::{self, EventQueue, Model, Stream, Streams, dist};
use fleetsim::flow::{LinkId, Network, TransferId};
use fleetsim::stats;
use fleetsim::units::{Bytes, BytesPerSec, SimDuration, SimTime};
use fleetsim::world::{DurationModel, Event, ImageSpec, ReleaseKind, WorkloadEvent, WorkloadSpec};

use super::worlds::{DAY, base, layers, play, secs};

/// Bytes per second of the link, and mean bytes of a transfer: the mean service time is one second.
const RATE: f64 = 1e6;

#[derive(Clone, Copy, Debug)]
enum Sizes {
    Constant,
    Exponential,
    /// Nine of ten transfers are short and the tenth is long: coefficient of variation 3.3.
    Hyperexponential,
    /// Lognormal sizes with sigma 1.5: coefficient of variation 2.9.
    LogNormal,
}

impl Sizes {
    fn draw(self, rng: &mut Stream) -> Bytes {
        let secs = match self {
            Self::Constant => 1.0,
            Self::Exponential => dist::exponential(rng, 1.0),
            Self::Hyperexponential => {
                // 0.9 · 0.2596 + 0.1 · 7.6636 = 1; the second moment is 2 (0.9 · 0.0674 + 0.1 · 58.73) = 11.87, so its
                // coefficient of variation is 3.3.
                let mean = if dist::bernoulli(rng, 0.1) {
                    7.6636
                } else {
                    0.2596
                };
                dist::exponential(rng, mean)
            }
            Self::LogNormal => dist::lognormal(rng, libm::exp(-1.5 * 1.5 / 2.0), 1.5),
        };
        Bytes::new((secs * RATE) as u64 + 1)
    }
}

#[derive(Debug)]
enum Happening {
    Arrival,
    Completion,
}

/// Transfers that arrive at random times on one link.
struct Link {
    network: Network,
    link: LinkId,
    sizes: Sizes,
    rng: Stream,
    between: f64,
    began: Vec<SimTime>,
    took: Vec<Option<f64>>,
    measured: usize,
    left: usize,
    /// The total time of all transfers in nanoseconds, and the integral of their number.
    sum: u128,
    area: u128,
    since: SimTime,
    present: u128,
    pending: Option<engine::EventId>,
}

impl Link {
    fn reschedule(&mut self, queue: &mut EventQueue<Happening>) {
        if let Some(event) = self.pending.take() {
            queue.cancel(event);
        }
        self.pending = self
            .network
            .next_completion()
            .map(|at| queue.schedule(at, Happening::Completion));
    }

    fn end(&mut self, now: SimTime) {
        let mut ended: Vec<TransferId> = Vec::new();
        self.area += u128::from((now - self.since).as_nanos()) * self.present;
        self.since = now;
        self.network.advance(now, &mut ended);
        self.present -= ended.len() as u128;
        for id in ended {
            let at = id.serial() as usize;
            let took = now - self.began[at];
            self.sum += u128::from(took.as_nanos());
            self.took[at] = Some(took.as_secs_f64());
            self.left -= usize::from((WARM_UP..self.measured).contains(&at));
        }
    }
}

/// Number of transfers that complete before the measured ones.
const WARM_UP: usize = 300;

impl Model for Link {
    type Event = Happening;

    fn handle(&mut self, event: Happening, queue: &mut EventQueue<Happening>) {
        let now = queue.now();
        self.end(now);
        match event {
            Happening::Completion => self.pending = None,
            Happening::Arrival => {
                let size = self.sizes.draw(&mut self.rng);
                self.network.start(now, self.link, size, None);
                self.began.push(now);
                self.took.push(None);
                self.present += 1;
                if self.left > 0 {
                    let next = secs(dist::exponential(&mut self.rng, self.between));
                    queue.schedule_in(next, Happening::Arrival);
                }
            }
        }
        self.reschedule(queue);
    }
}

/// Mean time in system for one seed. Arrivals continue until all measured transfers have left.
fn mean_time_on_a_link(sizes: Sizes, load: f64, seed: u64) -> f64 {
    const MEASURED: usize = 2_000;
    let mut network = Network::new();
    let link = network.add_link(None, BytesPerSec::new(RATE));
    let mut model = Link {
        network,
        link,
        sizes,
        rng: Streams::new(seed, 0).stream("link", "arrivals"),
        between: 1.0 / load,
        began: Vec::new(),
        took: Vec::new(),
        measured: WARM_UP + MEASURED,
        left: MEASURED,
        sum: 0,
        area: 0,
        since: SimTime::ZERO,
        present: 0,
        pending: None,
    };
    let mut queue = EventQueue::new();
    queue.schedule(SimTime::ZERO, Happening::Arrival);
    engine::run(&mut model, &mut queue, &mut (), SimTime::MAX, |_, _| false);
    assert_eq!(
        model.area, model.sum,
        "Little's law: transfers over time = time of transfers"
    );
    let took: Vec<f64> = model.took[WARM_UP..WARM_UP + MEASURED]
        .iter()
        .map(|took| took.expect("it left"))
        .collect();
    stats::mean(&took).expect("some were measured")
}

/// Prints and checks a mean over seeds against theory.
fn check(what: &str, means: &[f64], theory: f64) {
    let mean = stats::mean(means).expect("seeds");
    let error = stats::sample_sd(means).expect("seeds") / (means.len() as f64).sqrt();
    let off = (mean - theory) / error;
    println!("  {what:44} {mean:8.4} {theory:8.4} {error:8.4} {off:+6.2}");
    assert!(
        off.abs() <= 3.0,
        "{what}: {mean}, theory {theory}, {off} standard errors of {error}"
    );
}

fn title(text: &str) {
    println!(
        "\n{text}\n  parameters set: none\n  {:44} {:>8} {:>8} {:>8} {:>6}",
        "", "ours", "theory", "std.err.", "off"
    );
}

#[test]
fn a_shared_link_is_a_processor_sharing_queue_for_any_sizes() {
    const SEEDS: u64 = 40;
    title("Mean time in system on a shared link, s: E[S] / (1 - ρ)");
    for load in [0.5, 0.8] {
        for sizes in [
            Sizes::Constant,
            Sizes::Exponential,
            Sizes::Hyperexponential,
            Sizes::LogNormal,
        ] {
            let means: Vec<f64> = (0..SEEDS)
                .map(|seed| mean_time_on_a_link(sizes, load, seed))
                .collect();
            check(
                &format!("M/G/1-PS, ρ = {load}, {sizes:?}"),
                &means,
                1.0 / (1.0 - load),
            );
        }
    }
}

#[test]
fn serial_pulls_of_equal_duration_are_an_m_d_1_queue() {
    const SEEDS: u64 = 30;
    const PODS: usize = 400;
    const FIRST: usize = 40;
    title("Mean wait for the serial puller, s: ρ D / (2 (1 - ρ))");
    for load in [0.5, 0.7] {
        // The predecessor of each pod ends at a random time, which gives the arrivals of a Poisson process whose
        // number is fixed.
        let mut world = base();
        world.applications[0].release = ReleaseKind::Update;
        world.clusters[0].downlink = BytesPerSec::new(RATE).into();
        let whole = SimDuration::from_secs((PODS as f64 / load) as u64);
        let (image, workload) = (
            world.images.remove(0),
            world.applications[0].workloads.remove(0),
        );
        for at in 0..PODS {
            let name = format!("w{at}");
            let bytes = RATE as u64;
            world.images.push(ImageSpec {
                layers: layers(&name, 1, bytes, bytes),
                name: name.clone(),
                ..image.clone()
            });
            let termination = DurationModel::Uniform {
                min: SimDuration::ZERO,
                max: whole,
            };
            world.applications[0].workloads.push(WorkloadSpec {
                name,
                image: at,
                termination,
                ..workload.clone()
            });
        }
        let means: Vec<f64> = (0..SEEDS)
            .map(|seed| {
                let played = play(&world, seed, DAY);
                let came = played
                    .times(|event| matches!(event, Event::Workload(WorkloadEvent::PodGone(_))));
                assert_eq!(
                    (came.len(), played.pulls.len()),
                    (PODS, PODS),
                    "one pull for each pod"
                );
                assert_eq!(played.peak_pulls, 1, "one at a time");
                let waits: Vec<f64> = came[FIRST..]
                    .iter()
                    .zip(&played.pulls[FIRST..])
                    .map(|(came, pull)| pull.began.as_secs_f64() - came)
                    .collect();
                stats::mean(&waits).expect("pods came")
            })
            .collect();
        check(
            &format!("M/D/1, ρ = {load}"),
            &means,
            load / (2.0 * (1.0 - load)),
        );
    }
}
