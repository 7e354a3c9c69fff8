//! Limits on the risk over all possible runs, times of day, and failures that are spread evenly over the runs.

use std::fs;

use super::common::{fleetsim, folder_with, text};

const EXPERIMENT: &str = "
name: risk
startsAt: Fri 22:00
replicates: 20
horizon: 12h
fleet: [{name: \"c-{01..10}\", nodes: 1}]
release:
  images: [{name: app, manifest: {layers: [{size: 4 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
strategies: {once: {allAtOnce: {}}}
";

/// Returns the exit code, and the output beginning with the verdicts.
fn judged(limit: &str, replicates: &str) -> (Option<i32>, String) {
    let folder = folder_with(&[(
        "experiment.yaml",
        &format!("{EXPERIMENT}assert: [\"{limit}\"]\n"),
    )]);
    let mut command = fleetsim(folder.path());
    let output = command
        .args(["run", ".", "--replicates", replicates])
        .output()
        .expect("it runs");
    let told = text(&output.stdout);
    (
        output.status.code(),
        told.find("\nassert")
            .map_or(String::new(), |at| told[at..].to_owned()),
    )
}

#[test]
fn a_risk_limit_holds_fails_or_is_undecided_with_the_matching_exit_code() {
    let (code, told) = judged("P(completion <= Sat 06:00) >= 95%", "59");
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("assert P(completion <= 8h (Sat 06:00)) >= 95%: holds"),
        "{told}"
    );
    let (code, told) = judged("P(completion <= 06:00) >= 95%", "20");
    assert_eq!(code, Some(99), "{told}");
    assert!(
        told.contains("UNDECIDED") && told.contains("59 runs show"),
        "{told}"
    );
    let (code, told) = judged("P(completion <= 1s) >= 95%", "20");
    assert_eq!(code, Some(99), "{told}");
    assert!(told.contains("FAIL"), "{told}");
}

#[test]
fn stratified_failures_occur_in_as_many_runs_as_expected() {
    // In 1 - 0.99^10 = 9.6% of all runs, some cluster is offline: 1.9 of 20. With independent runs, the number would
    // be outside 1 to 3 in 26% of all studies.
    let hit = |seed: u32, threads: &str| {
        let faults = "faults: {draws: stratified, offline: {share: 1%}}\n";
        let folder = folder_with(&[(
            "experiment.yaml",
            &format!("{EXPERIMENT}seed: {seed}\n{faults}"),
        )]);
        fleetsim(folder.path())
            .args(["run", ".", "--threads", threads])
            .assert()
            .success();
        let runs =
            fs::read_to_string(folder.path().join("results/risk/runs.csv")).expect("a table");
        let mut reader = csv::Reader::from_reader(runs.as_bytes());
        let column = reader
            .headers()
            .expect("a header")
            .iter()
            .position(|name| name == "offline_at_start");
        let column = column.expect("a measure");
        let is_hit = |row: &csv::StringRecord| row[column] != *"0";
        (
            reader
                .records()
                .map(|row| row.expect("a row"))
                .filter(is_hit)
                .count(),
            runs,
        )
    };
    for seed in 1..=3 {
        let (count, _) = hit(seed, "1");
        assert!((1..=3).contains(&count), "seed {seed}: {count} of 20 runs");
    }
    assert_eq!(hit(1, "1"), hit(1, "2"), "threads change nothing");
}
