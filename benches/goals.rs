//! The rows of the table of goals that do not need the whole program, as CPU time relative to a reference in the same
//! run.
//!
//! `cargo bench --bench goals` prints one line for each goal: part, load, nanoseconds of CPU time per unit of work,
//! the same for the reference, and the ratio. Work and reference alternate, and the smallest time of each counts,
//! because other processes can only increase a time. `benches/goals.py` adds whole runs and writes
//! `results/performance/goals.csv`.
//!
//! With `simulate FILE` it loads an experiment and prints the CPU seconds of the first variant's first run alone.
//! Without `--bench`, as in `cargo test --benches`, each load runs once with little work.
#![allow(clippy::print_stdout, reason = "the lines are the result")]

mod churn;
#[allow(dead_code, reason = "other benches use the rest")]
mod sharing;

use std::path::Path;

use churn::{BareHeap, Churn, HeapWithStamps, Pending};
use fleetsim::engine::EventQueue;
use fleetsim::scenario::{Overrides, load};
use rustix::time::{ClockId, clock_gettime};
use sharing::{Family, LAYERS, Links, Load};

/// CPU time of this thread, in seconds.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Runs `work`. Returns its CPU seconds and its result.
fn timed(work: impl FnOnce() -> u64) -> (f64, u64) {
    let start = cpu_seconds();
    let checksum = work();
    (cpu_seconds() - start, checksum)
}

/// Some work that is ready to be timed; it returns its checksum.
type Work<'w> = Box<dyn FnOnce() -> u64 + 'w>;

/// Alternates between the work and the reference, and prints the smallest time of each. `units`: the units of work of
/// both.
fn compare(
    name: &str,
    rounds: u32,
    units: [f64; 2],
    ready: [&dyn Fn() -> Work<'static>; 2],
) -> [u64; 2] {
    let (mut least, mut checksums) = ([f64::INFINITY; 2], [0; 2]);
    for _ in 0..rounds {
        for at in 0..2 {
            let work = ready[at]();
            let (seconds, checksum) = timed(work);
            (least[at], checksums[at]) = (least[at].min(seconds), checksum);
        }
    }
    let [work, reference] = [0, 1].map(|at| least[at] / units[at] * 1e9);
    println!("{name},{work:.1},{reference:.1},{:.3}", work / reference);
    checksums
}

fn fill<Q: Pending>(load: churn::Load, pending: u32, queue: Q) -> Churn<Q> {
    Churn::new(load, pending, queue)
}

/// Compares the engine's loop with a bare heap, and, with cancellation, with a heap with stamps.
fn engine(is_bench: bool) {
    let (sizes, fired, rounds): (&[u32], u32, u32) = if is_bench {
        (&[1_000, 100_000, 1_000_000], 2_000_000, 7)
    } else {
        (&[20], 200, 1)
    };
    for &pending in sizes {
        for load in [churn::Load::Hold, churn::Load::Cancel] {
            let looped = move || -> Work<'static> {
                let churn = fill(load, pending, EventQueue::new());
                Box::new(move || churn.dispatch(fired))
            };
            let heap = move || -> Work<'static> {
                if load == churn::Load::Cancel {
                    let mut churn = fill(load, pending, HeapWithStamps::default());
                    return Box::new(move || churn.fire(fired));
                }
                let mut churn = fill(load, pending, BareHeap::default());
                Box::new(move || churn.fire(fired))
            };
            let name = format!("engine,{load:?} {pending}");
            let [ours, theirs] = compare(&name, rounds, [f64::from(fired); 2], [&looped, &heap]);
            assert_eq!(ours, theirs, "{name}: the same events in the same order");
        }
    }
}

/// Compares the time of a transfer with one pop and push of a heap with the same number of entries, and with B3 of
/// another size or the B3 of the forest.
fn flow(is_bench: bool) {
    let (few, many, most, rounds) = if is_bench {
        (1_000, 10_000, 1_000_000, 5)
    } else {
        (20, 30, 40, 1)
    };
    let transfers = |n: usize| (n * LAYERS) as f64;
    let b3 = |n: usize| move || -> Work<'static> { ready(Family::B, n, Links::Forest) };
    for n in [few, many] {
        let fired = if is_bench { 2_000_000 } else { 100 };
        let heap = move || -> Work<'static> {
            let mut churn = fill(churn::Load::Hold, n as u32, BareHeap::default());
            Box::new(move || churn.fire(fired))
        };
        let name = format!("flow,B3 {n} over a heap of {n}");
        compare(
            &name,
            rounds,
            [transfers(n), f64::from(fired)],
            [&b3(n), &heap],
        );
    }
    for n in if is_bench {
        vec![100, few, many]
    } else {
        vec![few]
    } {
        for family in [Family::R, Family::M, Family::S] {
            let general = || -> Work<'static> { ready(family, n, Links::Forest) };
            compare(
                &format!("flow,{family:?}3 {n} over B3 {n}"),
                rounds,
                [transfers(n); 2],
                [&general, &b3(n)],
            );
        }
    }
    // A single small load would take only a few milliseconds, mostly on a cold processor.
    let small = || -> Work<'static> {
        let loads: Vec<Load> = (0..20)
            .map(|_| Load::new(Family::B, 3, few, Links::Forest))
            .collect();
        Box::new(move || loads.into_iter().map(Load::run).fold(0, u64::wrapping_add))
    };
    let name = format!("flow,B3 {most} over B3 {few}");
    compare(
        &name,
        rounds.min(2),
        [transfers(most), 20.0 * transfers(few)],
        [&b3(most), &small],
    );
}

fn ready(family: Family, n: usize, links: Links) -> Work<'static> {
    let load = Load::new(family, 3, n, links);
    Box::new(move || load.run())
}

/// Simulates the first run of the first variant, and prints its CPU seconds.
fn simulate(file: &str) {
    let experiment = load(Path::new(file), &Overrides::default()).expect("the experiment is valid");
    let (seconds, events) = timed(|| {
        let run = fleetsim::sim::run(&experiment.variants[0], experiment.seed, 0);
        run.expect("the strategy starts no process").run.events
    });
    println!("{seconds:.3},{events}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "simulate") {
        return simulate(&arguments[at + 1]);
    }
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let is_wanted = |part: &str| {
        !arguments
            .iter()
            .any(|argument| argument.starts_with("only-") && argument != part)
    };
    println!("part,load,ns,reference_ns,ratio");
    if is_wanted("only-engine") {
        engine(is_bench);
    }
    if is_wanted("only-flow") {
        flow(is_bench);
    }
}
