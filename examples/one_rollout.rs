//! One rollout per variant of an experiment, from its file to its measures.
//!
//! `cargo run --release --example one_rollout`
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;
use std::path::Path;

use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/03-documented-or-shipped");
    let experiment = load(&folder, &Overrides::default())?;
    for variant in &experiment.variants {
        let run = sim::run(variant, experiment.seed, 0)
            .expect("the strategy starts no process")
            .run;
        let completion = run
            .completion_s
            .map_or_else(|| "never".to_owned(), |s| format!("after {s:.0} s"));
        println!(
            "{:<20} at most {:>3} concurrent pulls, complete {completion}",
            variant.label, run.peak_pulls
        );
    }
    Ok(())
}
