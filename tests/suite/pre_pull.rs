//! Pre-pulls before a rollout: the bytes are the same, but transferred earlier, and times are relative to the release.

use fleetsim::results::{RunOutcome, RunRecord};

use super::common::first_run;

/// Simulates a rollout of 500 MB to ten clusters of three nodes behind 100 Mbit/s, one cluster after the other.
fn run(distribution: &str, faults: &str) -> RunRecord {
    let text = format!(
        "name: pre-pull\nseed: 1\nreplicates: 1\n\
         fleet: [{{name: \"store-{{01..10}}\", nodes: 3}}]\n\
         distribution: {distribution}\nfaults: {faults}\n\
         release:\n\x20 images: [{{name: shop, manifest: {{layers: [{{size: 500 MB}}]}}}}]\n\
         \x20 workloads: [{{kind: Deployment, image: shop, replicas: 3}}]\n\
         strategies: {{slowly: {{oneByOne: {{}}}}}}\n"
    );
    first_run(&[("experiment.yaml", &text)])
}

#[test]
fn a_pre_pull_transfers_the_images_before_the_release() {
    let plain = run("{direct: {}}", "{}");
    let ahead = run("{prePull: {clusters: 5, every: 1m}}", "{}");
    assert_eq!(
        (plain.run.outcome, ahead.run.outcome),
        (RunOutcome::Complete, RunOutcome::Complete)
    );
    assert!(plain.run.release_s.abs() < 1e-9);
    // The three nodes of a cluster share 12.5 MB/s, so a pre-pull takes 120 s; the second group begins a minute after
    // the first.
    assert!(
        (180.0..200.0).contains(&ahead.run.release_s),
        "{}",
        ahead.run.release_s
    );
    let times = |record: &RunRecord| record.run.completion_s.expect("complete");
    assert!(
        times(&ahead) * 4.0 < times(&plain),
        "{} and {}",
        times(&ahead),
        times(&plain)
    );
    assert!(
        (ahead.run.release_s + times(&ahead) - ahead.run.end_s).abs() < 1e-6,
        "both are visible"
    );
    assert_eq!(
        ahead.run.egress_bytes, plain.run.egress_bytes,
        "the same bytes"
    );
    let last_byte = ahead
        .series
        .iter()
        .rposition(|bin| bin.egress_bytes_per_s > 0.0)
        .expect("bytes");
    assert!(
        (last_byte as f64) * ahead.bin_s <= ahead.run.release_s,
        "and all of them before the release"
    );
}

#[test]
fn a_release_at_a_fixed_time_does_not_wait() {
    let early = run("{prePull: {releaseAfter: 30s}}", "{}");
    assert!((early.run.release_s - 30.0).abs() < 1e-9);
    assert_eq!(early.run.outcome, RunOutcome::Complete);
    // The pods of the rollout find their image being downloaded, and wait for it.
    assert_eq!(
        early.run.egress_bytes,
        run("{direct: {}}", "{}").run.egress_bytes
    );
}

#[test]
fn failed_pulls_are_retried_before_the_release() {
    let record = run("{prePull: {}}", "{pullFailure: 50%}");
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert!(record.run.failed_pulls > 0);
    assert!(
        record.run.release_s > 120.0,
        "the slowest has waited in back-off"
    );
    assert!(record.run.completion_s.expect("complete") < record.run.release_s);
}
