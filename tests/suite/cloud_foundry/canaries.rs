//! Canaries: pauses, users who continue or cancel, and the status that the API shows.

use fleetsim::results::{RunOutcome, RunRecord, StatusRow};

use super::{CLUSTERS, STEPS, ready_by, run, run_with, told, told_between};
use crate::common::peak_in_flight;

#[test]
fn a_canary_pauses_after_each_step_until_a_user_continues() {
    for faults in ["", "pullFailure: 2%"] {
        let run = run(
            "update",
            faults,
            &format!("{{{STEPS}, continueAfter: 10m}}"),
        );
        assert_eq!(
            (run.run.outcome, told(&run)),
            (RunOutcome::Complete, CLUSTERS)
        );
        assert!(peak_in_flight(&run.clusters) <= 100);
        assert_eq!(run.passes[0].promoted, 1, "the request starts one instance");
        // The steps are 10 % and 50 % of 1 000 instances, followed by the rest.
        let stages = [
            (0..100, "step 1 (10 %)"),
            (100..500, "step 2 (50 %)"),
            (500..1000, "after the last step"),
        ];
        for (instances, stage) in &stages {
            assert!(
                run.clusters[instances.clone()]
                    .iter()
                    .all(|cluster| cluster.stage == *stage),
                "{stage}"
            );
        }
        for pair in stages.windows(2) {
            let (before, after) = (pair[0].0.clone(), pair[1].0.clone());
            let pause = told_between(&run, after).0 - ready_by(&run, before);
            // A pass sees that the last instance is ready, the deployment is continued ten minutes later, and it is
            // done in the pass after that.
            assert!(
                (600.0..=611.0).contains(&pause),
                "a pause of {pause} s before {}",
                pair[1].1
            );
        }
    }
}

/// The states of the deployment in the API, change by change.
fn shown(run: &RunRecord) -> Vec<(f64, String)> {
    let text = |row: &StatusRow| {
        format!(
            "{} {} {} {}",
            row.object, row.condition, row.status, row.reason
        )
    };
    run.statuses
        .iter()
        .map(|row| (row.t_s, text(row).trim_end().to_owned()))
        .collect()
}

#[test]
fn the_status_of_a_deployment_equals_that_of_the_api() {
    let run = run("update", "", &format!("{{{STEPS}, continueAfter: 10m}}"));
    let words: Vec<String> = shown(&run).into_iter().map(|(_, text)| text).collect();
    // Two steps, a user who continues after each, and the end. The presenter does not show PREPAUSED: scaling is
    // DEPLOYING.
    assert_eq!(
        words,
        [
            "Deployment/1 status ACTIVE DEPLOYING",
            "Deployment/1 status.canary.steps.current 1",
            "Deployment/1 status.canary.steps.total 2",
            "Deployment/1 status ACTIVE PAUSED",
            "Deployment/1 status ACTIVE DEPLOYING",
            "Deployment/1 status.canary.steps.current 2",
            "Deployment/1 status ACTIVE PAUSED",
            "Deployment/1 status ACTIVE DEPLOYING",
            "Deployment/1 status FINALIZED DEPLOYED",
        ]
    );
    let times: Vec<f64> = shown(&run).into_iter().map(|(at, _)| at).collect();
    let paused = [times[4] - times[3], times[7] - times[6]];
    // The user waits for ten minutes, and the next tick of 5 s notices the action.
    assert!(
        paused.iter().all(|paused| (600.0..606.0).contains(paused)),
        "{paused:?}"
    );
    assert_eq!(
        run.run.reported_s.map(f64::to_bits),
        Some(times[8].to_bits()),
        "completion is reported by this status"
    );
    // For a deployment that is never continued, the reason for the stall is the status.
    let run = run_with("update", "", &format!("{{{STEPS}}}"), &[]);
    let shown = shown(&run);
    let (_, last) = shown
        .iter()
        .rfind(|(_, text)| text.contains(" status "))
        .expect("a status");
    assert_eq!(last, "Deployment/1 status ACTIVE PAUSED");
    let (_, step) = shown
        .iter()
        .rfind(|(_, text)| text.contains("steps.current"))
        .expect("a step");
    assert_eq!(step, "Deployment/1 status.canary.steps.current 1");
    let held = run.run.held();
    assert!(
        held.starts_with("canary: step 1 of 2") && held.contains("waits for a user"),
        "{held}"
    );
}

#[test]
fn a_canary_that_no_user_continues_stalls_with_that_reason() {
    let run = run("update", "", &format!("{{{STEPS}}}"));
    assert_eq!((run.run.outcome, told(&run)), (RunOutcome::Stalled, 100));
    assert_eq!(
        run.run.held(),
        "canary: step 1 of 2 (10 %) is reached with 100 new and 901 old instances; it waits for a user to continue or \
         cancel"
    );
    assert!(
        run.run.end_s < 3600.0,
        "it does not wait for the horizon: {} s",
        run.run.end_s
    );
}

#[test]
fn a_canary_step_with_a_crash_is_never_reached() {
    let run = run(
        "update",
        "defect: {share: 3%}",
        &format!("{{{STEPS}, continueAfter: 1m}}"),
    );
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    assert!(
        told(&run) <= 100,
        "step 1 ends with 100, and {} were told",
        told(&run)
    );
    assert!(
        ["unhealthy", "routable"]
            .iter()
            .any(|rule| run.run.held().starts_with(rule)),
        "{}",
        run.run.held()
    );
}

#[test]
fn a_cancelled_deployment_is_rolled_back() {
    let run = run("update", "", &format!("{{{STEPS}, cancelAfter: 10m}}"));
    assert_eq!(
        (run.run.outcome, told(&run), run.run.targets_done),
        (RunOutcome::Stalled, 100, 0)
    );
    let held = "cancel: the deployment was cancelled: the app is back on v1 with 1000 instances";
    assert_eq!(run.run.held(), held);
    let back = run.passes.last().expect("the pass that goes back");
    assert_eq!(
        back.promoted, 100,
        "all that were new are told the old version at once"
    );
    assert!(run.run.end_s > 600.0);
}

#[test]
fn a_drawn_pause_is_the_same_in_all_variants() {
    let first_of_rest = |max_in_flight: u32| {
        let strategy = format!(
            "{{strategy: canary, maxInFlight: {max_in_flight}, continueAfter: {{median: 20m, sigma: 0.6}}}}"
        );
        told_between(&run("update", "", &strategy), 1..CLUSTERS).0
    };
    let (few, many) = (first_of_rest(50), first_of_rest(500));
    assert!((few - many).abs() < 0.1 && few > 60.0, "{few} and {many} s");
}
