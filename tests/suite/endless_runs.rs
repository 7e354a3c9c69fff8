//! Experiments whose events repeat without progress: the program ends with a message that names the repeated event.

use super::common::{canaries_and_stores, fleetsim, folder_with, text};

/// An experiment with Argo CD without any latency: its passes request operations that end at the same instant, again
/// and again.
fn without_latencies(strategies: &str) -> tempfile::TempDir {
    let controller = "controller: {request: 0 s, watchDelay: 0 s, clientQps: 0}";
    folder_with(&[(
        "experiment.yaml",
        &canaries_and_stores(1, strategies, controller),
    )])
}

const ARGO_CD: &str = "argo: {argoCd: {
    strategy: {type: RollingSync, rollingSync: {steps: [
      {matchExpressions: [{key: ring, operator: In, values: [canary]}]},
      {matchExpressions: [{key: ring, operator: In, values: [rest]}]}]}},
    applicationController: {clientQps: 0, comparison: 0 s, idleSync: 0 s, syncsPerSecond: 1000000}}}";

#[test]
fn a_run_without_progress_fails_and_names_its_events_time_and_zero_settings() {
    let folder = without_latencies(&format!("{{{ARGO_CD}}}"));
    let output = fleetsim(folder.path())
        .args(["run", ".", "--out", "out"])
        .timeout(std::time::Duration::from_secs(240))
        .output()
        .expect("it runs");
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    for part in [
        "the run makes no progress: the same events repeat at ",
        "run: argo, replicate 0",
        "begins of an operation",
        "applicationController.comparison",
        "applicationController.syncsPerSecond (1 µs for a sync)",
        "controller.request",
        "controller.watchDelay",
    ] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    assert!(!folder.path().join("out").exists(), "nothing is written");
}

#[test]
fn other_runs_are_simulated_and_saved_if_one_makes_no_progress() {
    let folder = without_latencies(&format!("{{all: {{allAtOnce: {{}}}}, {ARGO_CD}}}"));
    let output = fleetsim(folder.path())
        .args(["run", ".", "--out", "out"])
        .timeout(std::time::Duration::from_secs(240))
        .output()
        .expect("it runs");
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("1 of 2 finished runs were saved"),
        "{messages}"
    );
}
