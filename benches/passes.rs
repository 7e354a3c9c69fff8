//! One pass of a controller over many targets, 100 of which changed: a full pass and an incremental pass.
//!
//! Prints a table as CSV: product, targets, µs of both kinds of pass, and their ratio. The loads are in `controllers`;
//! each is in the middle of a rollout with `maxUnavailable: 10%` or similar. A time is the minimum over several
//! passes, each after its changes, because other processes only add to it. Both kinds must produce the same checksum
//! of decisions. `cargo test` runs a small load once, to check that this file works.

#![allow(clippy::print_stdout, reason = "a bench prints its results")]

mod controllers;

use std::hint::black_box;
use std::time::Instant;

use controllers::{CHANGES, LOADS, Load};

/// Times of one kind of pass and the sum of its decisions.
struct Measured {
    least_us: f64,
    checksum: u64,
}

/// Number of times that each load is built, and the maximum number of passes for each.
const ROUNDS: usize = 3;
const PASSES: usize = 12;

fn measure(new: fn(usize) -> Box<dyn Load>, targets: usize, is_full: bool) -> Measured {
    let mut measured = Measured {
        least_us: f64::INFINITY,
        checksum: 0,
    };
    for _ in 0..ROUNDS {
        let mut load = new(targets);
        for _ in 0..(targets / CHANGES).saturating_sub(2).clamp(1, PASSES) {
            let begin = Instant::now();
            load.change();
            let decided = black_box(load.pass(is_full));
            measured.least_us = measured.least_us.min(begin.elapsed().as_secs_f64() * 1e6);
            measured.checksum = measured.checksum.wrapping_mul(31).wrapping_add(decided);
        }
    }
    measured
}

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let sizes: &[usize] = if is_bench {
        &[1_000, 100_000, 1_000_000]
    } else {
        &[300]
    };
    println!("product,targets,full_us,changed_us,ratio");
    for (name, new) in LOADS {
        for &targets in sizes {
            let [full, changed] = [true, false].map(|is_full| measure(new, targets, is_full));
            assert_eq!(
                full.checksum, changed.checksum,
                "{name}: both kinds of pass decide the same"
            );
            let ratio = full.least_us / changed.least_us;
            println!(
                "{name},{targets},{:.1},{:.2},{ratio:.1}",
                full.least_us, changed.least_us
            );
        }
    }
}
