//! Published times of rollouts of several applications. Each file has one product, with the sources.
//!
//! Nothing is set on these times here. The constants of Argo CD's shards are set on other published rows
//! (`tests/suite/validation/argo_cd.rs`), and one of KubeFleet on a single placement (`.../rollouts.rs`).

mod argo_cd;
mod fleet;
mod kubefleet;

use std::fs;

use crate::results::RunRecord;
use crate::scenario::{self, Overrides};
use crate::sim;

/// Simulates the first runs of an experiment's only variant.
fn runs(text: &str, count: u32) -> Vec<RunRecord> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("experiment.yaml"), text).expect("written");
    let experiment = scenario::load(folder.path(), &Overrides::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let variant = &experiment.variants[0];
    let mut records = Vec::new();
    for replicate in 0..count {
        let record = sim::run_observed(variant, experiment.seed, replicate, &mut ());
        records.push(record.expect("it starts no process"));
    }
    records
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints a time of ours and the measured one. Returns the relative error.
fn compare(what: &str, ours: f64, measured: f64) -> f64 {
    let error = ours / measured - 1.0;
    println!(
        "  {what:44} {ours:7.1}   {measured:7.1}   {:+6.1} %",
        100.0 * error
    );
    error
}
