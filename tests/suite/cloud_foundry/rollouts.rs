//! First deployments and rolling updates, with and without failures.

use std::fs;

use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::sim;

use super::{CLUSTERS, STEPS, load_in, run, run_with, told, with_file, write};
use crate::common::{loaded, peak_in_flight};

#[test]
fn a_first_push_starts_all_instances_simultaneously() {
    for strategy in [
        "{strategy: rolling, maxInFlight: 50}".to_owned(),
        format!("{{{STEPS}}}"),
    ] {
        let run = run("initial", "", &strategy);
        assert_eq!(
            (run.run.outcome, run.run.held().as_str(), told(&run)),
            (RunOutcome::Complete, "", CLUSTERS)
        );
        assert_eq!(
            run.passes.len(),
            1,
            "there is no deployment for the updater to look at"
        );
        assert_eq!(run.passes[0].promoted, CLUSTERS as u64);
        assert!(run.clusters.iter().all(|cluster| cluster.stage.is_empty()));
    }
}

#[test]
fn a_first_push_does_not_complete_if_cells_are_missing() {
    let run = run("initial", "offline: {share: 1%}, pullFailure: 2%", "{}");
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Stalled, CLUSTERS)
    );
    let offline = run
        .clusters
        .iter()
        .filter(|cluster| cluster.offline)
        .count();
    assert_eq!(
        run.run.targets_done as usize,
        CLUSTERS - offline,
        "failed pulls are repeated"
    );
    let held = format!(
        "routable: the app was started with all 1000 instances, {offline} of which are not routable"
    );
    assert!(run.run.held().starts_with(&held), "{}", run.run.held());
}

#[test]
fn a_rolling_update_never_starts_more_than_max_in_flight() {
    for (faults, max_in_flight) in [("", 40), ("", 200), ("pullFailure: 2%", 40)] {
        let run = run(
            "update",
            faults,
            &format!("{{maxInFlight: {max_in_flight}}}"),
        );
        assert_eq!(
            (run.run.outcome, told(&run)),
            (RunOutcome::Complete, CLUSTERS),
            "{faults}"
        );
        assert_eq!(peak_in_flight(&run.clusters), max_in_flight, "{faults}");
        assert_eq!(
            run.passes[0].promoted, max_in_flight as u64,
            "the request starts the first batch"
        );
        assert_eq!(run.run.failed_pulls > 0, !faults.is_empty());
        // Passes start every 5 s, which is the updater's period, and at no other time.
        for (index, pass) in run.passes.iter().enumerate() {
            assert!(
                (pass.t_s - 5.0 * index as f64).abs() < 1e-9,
                "pass {index} at {} s",
                pass.t_s
            );
        }
    }
}

#[test]
fn one_instance_is_in_flight_by_default() {
    let run = run("update", "defect: {share: 1%}", "{}");
    assert_eq!(peak_in_flight(&run.clusters), 1);
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    let first_defect = run
        .clusters
        .iter()
        .position(|cluster| cluster.defective)
        .expect("ten or so are");
    assert_eq!(
        told(&run),
        first_defect + 1,
        "the first that crashes is the last that is told"
    );
    assert!(
        run.run.held().starts_with("unhealthy: 1 of "),
        "{}",
        run.run.held()
    );
    assert!(run.run.held().contains("(1 crashed)"), "{}", run.run.held());
    assert_eq!(
        run.run.crashes, 3,
        "Diego starts it again twice at once, and the pass after the third crash is the last"
    );
}

#[test]
fn the_file_can_set_how_often_an_instance_restarts_immediately() {
    for (immediate, crashes) in [(0, 1), (5, 6)] {
        let node = format!("node: {{crashBackoff: {{immediate: {immediate}}}}}\nfaults:");
        let run = run_with("update", "defect: {share: 1%}", "{}", &[("faults:", &node)]);
        assert_eq!(
            (run.run.outcome, run.run.crashes),
            (RunOutcome::Stalled, crashes),
            "{}",
            run.run.held()
        );
    }
}

#[test]
fn a_deployment_grows_while_crashing_instances_appear_to_start() {
    // About ten of 1 000 instances crash indefinitely, and all of them fit into the 20 in flight.
    let short = ("horizon: 24h", "horizon: 30m");
    let at_once = run_with(
        "update",
        "defect: {share: 1%}",
        "{maxInFlight: 20}",
        &[short],
    );
    // No instance is restarted before the horizon: the first crash that a pass sees ends all growth.
    let never = (
        "faults:",
        "node: {crashBackoff: {immediate: 0, initial: 1h, max: 1h}}\nfaults:",
    );
    let not_again = run_with(
        "update",
        "defect: {share: 1%}",
        "{maxInFlight: 20}",
        &[short, never],
    );
    let crashed = |run: &RunRecord| {
        run.clusters
            .iter()
            .filter(|cluster| cluster.instructed_s.is_some() && cluster.defective)
            .count() as u64
    };
    assert_eq!(
        not_again.run.crashes,
        crashed(&not_again),
        "each of them crashed once"
    );
    assert!(
        told(&at_once) > told(&not_again),
        "{} and {}",
        told(&at_once),
        told(&not_again)
    );
    let growth_after_a_crash = at_once
        .passes
        .iter()
        .filter(|pass| pass.promoted > 0)
        .map(|pass| pass.t_s);
    let first_crash = at_once
        .clusters
        .iter()
        .filter(|cluster| cluster.defective)
        .filter_map(|cluster| cluster.instructed_s);
    let first_crash = first_crash.fold(f64::INFINITY, f64::min) + 30.0;
    assert!(
        growth_after_a_crash.fold(0.0, f64::max) > first_crash,
        "it grew again after the first crash"
    );
    for run in [&at_once, &not_again] {
        assert_eq!(
            run.run.outcome,
            RunOutcome::Horizon,
            "a pass that sees all of them starting would grow"
        );
        assert!(
            run.run.held().starts_with("unhealthy: "),
            "{}",
            run.run.held()
        );
    }
}

#[test]
fn crashing_instances_stop_a_deployment_almost_indefinitely() {
    let short = ("horizon: 24h", "horizon: 3h");
    let run = run_with(
        "update",
        "defect: {share: 1%}, pullFailure: 2%",
        "{maxInFlight: 20}",
        &[short],
    );
    assert_eq!(
        run.run.outcome,
        RunOutcome::Horizon,
        "each is started again, and all of them at once would let it grow"
    );
    assert!(peak_in_flight(&run.clusters) <= 20);
    assert!(told(&run) < CLUSTERS, "it stands still at {}", told(&run));
    let crashed = run
        .clusters
        .iter()
        .filter(|cluster| cluster.instructed_s.is_some() && cluster.defective)
        .count();
    let held = format!("unhealthy: {crashed} of {} new instances", told(&run));
    assert!(run.run.held().starts_with(&held), "{}", run.run.held());
    assert_eq!(run.run.exposed_targets as usize, crashed);
}

#[test]
fn missing_cells_use_up_max_in_flight() {
    let many = run("update", "offline: {share: 1%}", "{maxInFlight: 100}");
    let offline = many
        .clusters
        .iter()
        .filter(|cluster| cluster.offline)
        .count();
    assert_eq!(
        (many.run.outcome, told(&many)),
        (RunOutcome::Stalled, CLUSTERS)
    );
    assert_eq!(many.run.targets_done as usize, CLUSTERS - offline);
    let held = format!(
        "routable: {} of 1000 new instances are routable",
        CLUSTERS - offline
    );
    assert!(many.run.held().starts_with(&held), "{}", many.run.held());

    let few = run("update", "offline: {share: 1%}", "{maxInFlight: 2}");
    assert_eq!(few.run.outcome, RunOutcome::Stalled);
    let waiting = few
        .clusters
        .iter()
        .filter(|cluster| cluster.instructed_s.is_some() && cluster.ready_s.is_none())
        .count();
    assert_eq!(waiting, 2, "both places are taken by cells that never come");
    assert!(
        few.run.held().starts_with("max_in_flight: 2 of "),
        "{}",
        few.run.held()
    );

    let back = run(
        "update",
        "offline: {share: 1%, return: 2h}",
        "{maxInFlight: 100}",
    );
    assert_eq!(
        (back.run.outcome, told(&back)),
        (RunOutcome::Complete, CLUSTERS)
    );
    assert!(back.run.completion_s > Some(7200.0));
}

#[test]
fn a_cancelled_deployment_has_all_its_old_instances_again() {
    let always = (
        "readiness: {period",
        "imagePullPolicy: Always, readiness: {period",
    );
    for (change, pulls) in [(None, 1), (Some(always), 2)] {
        let strategy = format!("{{{STEPS}, cancelAfter: 10m}}");
        let run = run_with("update", "", &strategy, change.as_slice());
        let end = run.series.last().expect("there is a series");
        assert_eq!(
            (end.ready_new, end.updating, end.not_ready),
            (0, 0, 0),
            "{pulls}"
        );
        assert_eq!(
            end.waiting, CLUSTERS as u64,
            "{pulls}: all run the old revision"
        );
        // The old image is still on the nodes, so requests for it occur only if every start asks the registry.
        let new = run
            .clusters
            .iter()
            .filter(|cluster| cluster.instructed_s.is_some());
        assert!(
            new.into_iter().all(|cluster| cluster.pulls == pulls),
            "{pulls}"
        );
        assert_eq!(run.run.pulls, 100 * pulls);
        let bytes = run
            .clusters
            .iter()
            .map(|cluster| cluster.received_bytes)
            .max();
        assert!(
            bytes < Some(21_000_000),
            "the new image's 20 MB and nothing of the old one: {bytes:?}"
        );
    }
}

#[test]
fn documented_rules_replace_each_instance_by_one_other() {
    let run = run("update", "", "{maxInFlight: 50, rules: documented}");
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Complete, CLUSTERS)
    );
    assert!(peak_in_flight(&run.clusters) <= 50);
}

#[test]
fn a_rolling_deployment_within_its_quota_stays_within_it() {
    let quota = |limit: u32| {
        format!("{{maxInFlight: 10, quota: {{space: {{name: shop, totalInstances: {limit}}}}}}}")
    };
    let run = run("update", "", &quota(1010));
    assert_eq!(
        (run.run.outcome, told(&run)),
        (RunOutcome::Complete, CLUSTERS),
        "{}",
        run.run.held()
    );
    let error = load_in(with_file("{}", &quota(1009)).path())
        .expect_err("it has no room for ten more")
        .to_string();
    assert!(
        error.contains("app_instance_limit space_app_instance_limit_exceeded for space shop."),
        "{error}"
    );
}

#[test]
fn a_pass_that_outlasts_the_period_is_followed_immediately_and_shifts_the_period() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "update", "", "{maxInFlight: 500}");
    let file = folder.path().join("experiment.yaml");
    let text = fs::read_to_string(&file).expect("it was written");
    fs::write(
        &file,
        text.replace("strategies:", "controller: {request: 400 ms}\nstrategies:"),
    )
    .expect("written");
    let experiment = loaded(folder.path());
    let run = sim::run(&experiment.variants[0], experiment.seed, 0)
        .expect("the strategy starts no process");
    assert_eq!(run.run.outcome, RunOutcome::Complete, "{}", run.run.held());
    let (mut long, mut short) = (0, 0);
    // The first row is the user's request, not a pass of the updater.
    for pair in run.passes[1..].windows(2) {
        let next = pair[0].t_s + pair[0].duration_s.max(5.0);
        assert!(
            (pair[1].t_s - next).abs() < 1e-6,
            "max(period, duration) after the start: {pair:?}"
        );
        *(if pair[0].duration_s > 5.0 {
            &mut long
        } else {
            &mut short
        }) += 1;
    }
    assert!(long > 0 && short > 0, "{:?}", run.passes);
}

#[test]
fn instances_on_shared_cells_download_one_copy_per_cell() {
    let on = |cells: &str| {
        let distribution = format!("distribution: {{{cells}}}\nrelease:");
        super::run_with(
            "update",
            "",
            "{maxInFlight: 100}",
            &[("release:", &distribution)],
        )
        .run
    };
    let (alone, shared) = (on("direct: {}"), on("cells: {count: 125}"));
    // 1 000 instances download 20 MB each, or 125 cells do. The rest is manifests and configs, which also differ.
    assert_eq!((alone.egress_bytes - shared.egress_bytes) / 20_000_000, 875);
    assert!(
        shared.egress_bytes < 126 * 20_000_000,
        "{}",
        shared.egress_bytes
    );
    assert_eq!((shared.targets_done, shared.failed_pulls), (1_000, 0));
    assert!(
        shared.completion_s <= alone.completion_s,
        "copies within a cell take no time"
    );
}
