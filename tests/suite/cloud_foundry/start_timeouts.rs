//! The time-out of an app's health check: an instance that is not healthy by then crashes and is restarted.

use fleetsim::results::RunOutcome;

use super::{CLUSTERS, run_with, told};

/// Replacement for the experiment's text: all clusters start pods at the same speed.
const ALIKE: (&str, &str) = ("agent: {", "node: {startSpread: 0}\nagent: {");

const WORKLOAD: &str = "start: 4 s, readiness: {period: 10 s}";

/// An app whose instances answer `start` after they begin to run, and must answer within `timeout`.
fn with_timeout(start: &str, timeout: &str) -> String {
    format!("start: {start}, startTimeout: {timeout}")
}

#[test]
fn instances_that_start_in_time_are_healthy_once_they_answer() {
    let workload = with_timeout("50 s", "60 s");
    let run = run_with(
        "update",
        "",
        "{maxInFlight: 200}",
        &[(WORKLOAD, &workload), ALIKE],
    );
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Complete, CLUSTERS)
    );
    for cluster in &run.clusters {
        let took = cluster.ready_s.expect("ready") - cluster.last_pull_s.expect("pulled");
        assert!(took > 50.0, "{took}");
    }
}

#[test]
fn instances_that_miss_their_start_timeout_block_the_deployment() {
    let workload = with_timeout("70 s", "60 s");
    let run = run_with(
        "update",
        "",
        "{maxInFlight: 40}",
        &[
            (WORKLOAD, &workload),
            ALIKE,
            ("horizon: 24h", "horizon: 1h"),
        ],
    );
    assert_ne!(run.run.outcome, RunOutcome::Complete);
    // The updater adds as many instances as are routable (none here), and adds none while all instances look
    // unhealthy.
    assert_eq!((run.run.targets_done, told(&run)), (0, 40));
}
