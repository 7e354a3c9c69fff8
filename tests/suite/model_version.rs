//! Results identify the model that computed them.

use std::fmt::Write as _;

use fleetsim::build_info::build_info;
use fleetsim::results::MODEL_VERSION;
use sha2::{Digest, Sha256};

use super::failures::run_all_with;

/// The version of the model, and the hash of the experiment's results with this version.
const RECORDED: (u32, &str) = (
    16,
    "a0e9868375f3f716e0bbe26abe8851656177606549d6183c86baac1ce33996c5",
);

#[test]
fn results_change_only_with_the_model_version() {
    // The experiment has every product, limits of requests, drawn times, and most kinds of faults.
    let registry = "egress: 2 Gbit/s, requests: {rate: 50/s, burst: 20}";
    let faults = "offline: {share: 5%}, pullFailure: 2%, regional: [{region: east, windows: [{from: 60 s, for: 10m}]}]";
    let workload = "{kind: Deployment, image: shop, replicas: 3, start: {median: 4 s, sigma: 0.4}}";
    let mut text = String::new();
    for (name, record) in run_all_with(registry, faults, workload) {
        let run = record.run;
        let measures = (
            run.end_s,
            run.t50_s,
            run.egress_bytes,
            run.peak_pulls,
            run.pulls,
            run.passes,
        );
        writeln!(text, "{name}: {measures:?}").expect("writes to memory do not fail");
    }
    let hash: String = Sha256::digest(&text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        (MODEL_VERSION, hash.as_str()),
        RECORDED,
        "results have changed: raise MODEL_VERSION, record both here, and say in CHANGELOG.md what moved and why\n{text}"
    );
}

#[test]
fn provenance_describes_the_programs_dependencies_and_target() {
    let build = build_info();
    assert_eq!(build.cargo_lock_sha256.len(), 64);
    assert!(build.target.split('-').count() >= 3, "{}", build.target);
    assert_eq!(build.commit.is_some(), build.modified.is_some());
}
