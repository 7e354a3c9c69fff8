//! One pass of a controller over many targets of which 100 changed: a full pass, and one over what changed.
//!
//! Prints a table as CSV: product, targets, µs of both kinds of pass, and their ratio. The loads are in `controllers`;
//! each is in the middle of a rollout with `maxUnavailable: 10%` or its like. A time is the least of several passes,
//! each with the changes before it: other work on the machine only adds to it. A checksum of the decisions must be the
//! same for both kinds. `cargo test` runs a small load once, so this file keeps working.

#![allow(clippy::print_stdout, reason = "a bench prints its results")]

mod controllers;

use std::hint::black_box;
use std::time::Instant;

use controllers::{CHANGES, LOADS, Load};

/// Times of a kind of pass, and the sum of what it decided.
struct Measured {
    least_us: f64,
    checksum: u64,
}

/// Loads are made so often, and each makes at most so many passes.
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
