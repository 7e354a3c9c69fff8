//! Deployments that supersede another one, and the bug by which they lose instances.

use fleetsim::results::RunOutcome;

use super::{CLUSTERS, STEPS, load_in, most_lacking, run, run_with, told, with_file, write};
use crate::common::{fleetsim, peak_in_flight};

#[test]
fn superseding_a_paused_canary_loses_instances_especially_with_the_purge_defect() {
    // Step 1 had 500 new instances, so there are 501 old instances and 500 canary instances, 1001 in total. In the
    // first pass, at 5 s, no new instance is routable yet, and there is one instance too many; the pass removes the
    // 500. As shipped, the removed instances are still counted, so one more of the 501 is removed: 500 of 1000 are
    // left. Without the defect, 501 are left.
    for (bugs, lacking) in [("", 500), (", upstreamBugs: {purge: false}", 499)] {
        let supersedes = "supersedes: {instances: 500, state: PAUSED}";
        let run = run(
            "update",
            "",
            &format!("{{maxInFlight: 50, {supersedes}{bugs}}}"),
        );
        assert_eq!(
            (run.run.outcome, told(&run)),
            (RunOutcome::Complete, CLUSTERS),
            "{bugs}"
        );
        assert_eq!(most_lacking(&run), lacking, "{bugs}");
        assert_eq!(
            run.passes[0].unavailable, 0,
            "the request itself takes nothing away"
        );
        assert!(peak_in_flight(&run.clusters) <= 50, "{bugs}");
    }
}

#[test]
fn the_purge_defect_can_remove_the_last_instance_that_serves() {
    let lost = |bugs: &str| {
        let strategy = format!(
            "{{maxInFlight: 1000, supersedes: {{instances: 1000, state: PREPAUSED}}, upstreamBugs: {{{bugs}}}}}"
        );
        most_lacking(&run("update", "", &strategy))
    };
    // There are one old instance and 1000 canary instances, one more than is kept, and no new instance is routable
    // yet. The purge removes the 1000; with the defect, the surplus instance is also removed from the oldest process.
    assert_eq!((lost("purge: true"), lost("purge: false")), (1000, 999));
}

#[test]
fn superseding_a_rolling_deployment_keeps_the_capacity() {
    let strategy = |bugs: &str| {
        format!("{{maxInFlight: 100, supersedes: {{instances: 300, state: DEPLOYING}}{bugs}}}")
    };
    // Passes of different lengths would draw different latencies, so all passes have the same length.
    let run = |strategy: &str| {
        run_with(
            "update",
            "",
            strategy,
            &[("strategies:", "controller: {request: 5 ms}\nstrategies:")],
        )
    };
    let shipped = run(&strategy(""));
    let mended = run(&strategy(", upstreamBugs: {interimTrap: false}"));
    for run in [&shipped, &mended] {
        assert_eq!(
            (run.run.outcome, told(run), most_lacking(run)),
            (RunOutcome::Complete, CLUSTERS, 0)
        );
    }
    let plain = run("{maxInFlight: 100}");
    assert_eq!(
        shipped.run.completion_s, plain.run.completion_s,
        "interim instances are old instances"
    );
    // The defect `interimTrap` fails the pass that would finish the deployment, but all instances are already routable
    // by then.
    assert_eq!(shipped.run.completion_s, mended.run.completion_s);
}

#[test]
fn a_cancelled_deployment_returns_to_the_superseded_rolling_deployment() {
    let supersedes = "supersedes: {instances: 300, state: DEPLOYING}";
    let run = run(
        "update",
        "",
        &format!("{{{STEPS}, {supersedes}, cancelAfter: 10m}}"),
    );
    assert_eq!(
        (run.run.outcome, told(&run), run.run.targets_done),
        (RunOutcome::Stalled, 100, 0)
    );
    assert_eq!(
        run.run.held(),
        "cancel: the deployment was cancelled: the app is back on v1 with 1000 instances"
    );
    assert_eq!(run.passes.last().map(|pass| pass.promoted), Some(100));
}

#[test]
fn a_crash_also_stops_a_deployment_that_supersedes_another() {
    let supersedes = "supersedes: {instances: 400, state: PAUSED}";
    let short = ("horizon: 24h", "horizon: 3h");
    let run = run_with(
        "update",
        "defect: {share: 1%}",
        &format!("{{maxInFlight: 20, {supersedes}}}"),
        &[short],
    );
    assert_eq!(run.run.outcome, RunOutcome::Horizon);
    assert!(
        run.run.held().starts_with("unhealthy: "),
        "{}",
        run.run.held()
    );
    // The 400 canary instances are removed, and so is the surplus instance: they are never replaced.
    assert!(run.passes.last().expect("there are passes").unavailable > 0);
}

#[test]
fn an_impossible_superseded_deployment_is_rejected() {
    let cases = [
        (
            "{supersedes: {instances: 1001, state: PAUSED}}",
            "must be from 1 to 1000",
        ),
        (
            "{supersedes: {instances: 1000, state: DEPLOYING}}",
            "must be from 1 to 999",
        ),
        (
            "{supersedes: {instances: 0, state: PAUSED}}",
            "supersedes.instances",
        ),
        (
            "{supersedes: {instances: 3}}",
            "the field `state` is missing",
        ),
        ("{supersedes: {instances: 3, state: CANCELED}}", "CANCELED"),
        ("{upstreamBugs: {trap: false}}", "trap"),
        (
            "{defects: {purge: false}}",
            "`defects` is now `upstreamBugs`",
        ),
    ];
    for (strategy, reason) in cases {
        let folder = with_file("{}", strategy);
        let error = load_in(folder.path()).expect_err(reason).to_string();
        assert!(
            error.contains("experiment.yaml:16:") && error.contains(reason),
            "{strategy}: {error}"
        );
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(
        folder.path(),
        "initial",
        "",
        "{supersedes: {instances: 3, state: PAUSED}}",
    );
    let error = load_in(folder.path())
        .expect_err("a first push supersedes nothing")
        .to_string();
    assert!(
        error.contains("the first deployment of an app cannot supersede another"),
        "{error}"
    );
}

#[test]
fn explain_lists_the_bugs_and_the_superseded_deployment() {
    let folder = with_file(
        "{}",
        "{maxInFlight: 50, supersedes: {instances: 300, state: PAUSED}}",
    );
    let explained = fleetsim(folder.path())
        .args(["explain", "."])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&explained.get_output().stdout).into_owned();
    for line in [
        "  1000 instances, one for each entry of the fleet; max_in_flight 50; 50 start with the request; 1051 of both versions at most",
        "  it supersedes a deployment that leaves 701 old and 300 interim instances",
        "  note: the first pass that changes anything removes all 300 interim instances, and counts them as old ones that \
         are still there",
        "  upstreamBugs: purge on, interimTrap on",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "`{line}` is in\n{text}"
        );
    }
}

#[test]
fn explain_and_the_quota_count_the_extra_instance_of_a_superseded_canary() {
    let strategy = |limit: u32| {
        format!(
            "{{maxInFlight: 50, supersedes: {{instances: 300, state: PAUSED}}, quota: {{space: {{name: shop, \
             totalInstances: {limit}}}}}}}"
        )
    };
    let error = load_in(with_file("{}", &strategy(1050)).path())
        .expect_err("701 + 300 + 50 are 1051")
        .to_string();
    assert!(
        error.contains("space_app_instance_limit_exceeded for space shop."),
        "{error}"
    );
    let folder = with_file("{}", &strategy(1051));
    let explained = fleetsim(folder.path())
        .args(["explain", "."])
        .assert()
        .success();
    let text = String::from_utf8_lossy(&explained.get_output().stdout).into_owned();
    assert!(
        text.contains("50 start with the request; 1051 of both versions at most"),
        "{text}"
    );
    assert!(!text.contains("quota"), "it fits: {text}");
}
