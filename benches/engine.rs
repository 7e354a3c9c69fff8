//! Events per second of the queue under the loads of [`churn`].
//!
//! Building the load is not timed. Before each measurement two million events are handled once and their checksum is
//! compared with the known one, so a fast but wrong queue does not count. Without `--bench`, as among the tests, each
//! load runs once with few events.

mod churn;

use std::time::{Duration, Instant};

use churn::{Churn, Load};
use criterion::{BenchmarkId, Criterion, Throughput};
use fleetsim::engine::EventQueue;

const CHECKED_EVENTS: u32 = 2_000_000;

/// Load, pending events, checksum over the first two million fired events.
const CASES: [(Load, u32, u64); 4] = [
    (Load::Hold, 1_000, 0x6a89_a2bf_959c_aa30),
    (Load::Hold, 100_000, 0x28f3_025c_cc36_dd1f),
    (Load::Cancel, 1_000, 0xd0da_7380_b2f8_2afd),
    (Load::Cancel, 100_000, 0x60f0_77b7_8727_a731),
];

fn main() {
    let measure = std::env::args().any(|argument| argument == "--bench");
    let fired: u32 = if measure { 500_000 } else { 100 };
    // No charts: with the `ab_glyph` feature that this crate asks of plotters, criterion would need a registered font.
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    for (load, pending, checksum) in CASES {
        if measure {
            report_checksum(load, pending, checksum);
        }
        let mut group = criterion.benchmark_group(format!("event queue, {load:?}"));
        group.throughput(Throughput::Elements(fired.into()));
        group.bench_function(BenchmarkId::from_parameter(format!("{pending} pending, {fired} fired")), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    let mut churn = Churn::new(load, pending, EventQueue::new());
                    let start = Instant::now();
                    churn.fire(fired);
                    spent += start.elapsed();
                }
                spent
            });
        });
        group.finish();
    }
    criterion.final_summary();
}

#[allow(clippy::print_stderr, reason = "a bench shows what it computed")]
fn report_checksum(load: Load, pending: u32, expected: u64) {
    let checksum = Churn::new(load, pending, EventQueue::new()).fire(CHECKED_EVENTS);
    eprintln!("{load:?}, {pending} pending, {CHECKED_EVENTS} fired: checksum {checksum:016x}");
    assert_eq!(checksum, expected, "{load:?} with {pending} pending events handled other events, or in another order");
}
