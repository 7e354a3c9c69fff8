//! Events per second of the queue under the loads of [`churn`].
//!
//! The reference in the same run is a binary heap with stamps. Building the load is not timed. Before each
//! measurement, two million events are handled and their checksum is compared with the known one, so a fast but wrong
//! queue does not count. Without `--bench`, as in tests, each load runs once with few events.

mod churn;

use std::time::{Duration, Instant};

use churn::{Churn, HeapWithStamps, Load, Pending};
use criterion::{BenchmarkId, Criterion, Throughput};
use fleetsim::engine::EventQueue;

const CHECKED_EVENTS: u32 = 2_000_000;

/// Load, number of pending events, and the checksum over the first two million fired events, if known.
const CASES: [(Load, u32, Option<u64>); 6] = [
    (Load::Hold, 1_000, Some(0x6a89_a2bf_959c_aa30)),
    (Load::Hold, 100_000, Some(0x28f3_025c_cc36_dd1f)),
    (Load::Hold, 1_000_000, None),
    (Load::Cancel, 1_000, Some(0xd0da_7380_b2f8_2afd)),
    (Load::Cancel, 100_000, Some(0x60f0_77b7_8727_a731)),
    (Load::Cancel, 1_000_000, None),
];

fn main() {
    let measure = std::env::args().any(|argument| argument == "--bench");
    // There are no charts: with the `ab_glyph` feature of plotters, which this crate enables, criterion would need a
    // registered font.
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    for case in CASES {
        // Without `--bench` a few pending events are enough.
        let case = if measure {
            case
        } else {
            (case.0, (case.1 / 1000).max(20), None)
        };
        measure_queue(
            &mut criterion,
            "event queue",
            case,
            measure,
            EventQueue::new,
        );
        measure_queue(
            &mut criterion,
            "heap with stamps",
            case,
            measure,
            HeapWithStamps::default,
        );
    }
    criterion.final_summary();
}

fn measure_queue<Q: Pending>(
    criterion: &mut Criterion,
    name: &str,
    (load, pending, checksum): (Load, u32, Option<u64>),
    measure: bool,
    queue: impl Fn() -> Q,
) {
    let fired: u32 = if measure { 500_000 } else { 100 };
    if let Some(expected) = checksum.filter(|_| measure) {
        let checksum = Churn::new(load, pending, queue()).fire(CHECKED_EVENTS);
        let which = "handled other events, or in another order";
        assert_eq!(
            checksum, expected,
            "{name}, {load:?} with {pending} pending events {which}"
        );
    }
    let mut group = criterion.benchmark_group(format!("{name}, {load:?}"));
    group.throughput(Throughput::Elements(fired.into()));
    group.bench_function(
        BenchmarkId::from_parameter(format!("{pending} pending, {fired} fired")),
        |bencher| {
            bencher.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    let mut churn = Churn::new(load, pending, queue());
                    let start = Instant::now();
                    churn.fire(fired);
                    spent += start.elapsed();
                }
                spent
            });
        },
    );
    group.finish();
}
