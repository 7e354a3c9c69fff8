//! The waits of a rollout, and the targets that it leaves behind, in complete simulations of small experiments. Each
//! has one limit that is binding by construction.

use fleetsim::results::{LinkKind, Measure, RegistryRow, RunOutcome, RunRecord, RunRow};
use fleetsim::sim;

use super::common::{first_run, folder_with, loaded};

/// The parts of the critical path.
const PARTS: [Measure; 10] = [
    Measure::PathRule,
    Measure::PathPeople,
    Measure::PathTransfer,
    Measure::PathUnpack,
    Measure::PathThrottled,
    Measure::PathUnavailable,
    Measure::PathKubelet,
    Measure::PathStart,
    Measure::PathOffline,
    Measure::PathReport,
];

/// Returns the largest part of a run's time. Checks that the parts add up to that time.
fn largest(run: &RunRow) -> Measure {
    let part = |measure: Measure| measure.of(run).expect("the run is complete");
    let sum: f64 = PARTS.into_iter().map(part).sum();
    let all = run.reachable_ready_s.expect("the run is complete");
    assert!((sum - all).abs() < 1e-3, "{sum} of {all}");
    let largest = PARTS
        .into_iter()
        .max_by(|a, b| part(*a).total_cmp(&part(*b)));
    largest.expect("there are parts")
}

/// An experiment in which all clusters pull one image simultaneously.
fn storm(fleet: &str, registry: &str, rest: &str) -> RunRecord {
    let text = format!(
        "name: storm
question: What binds?
seed: 1
replicates: 1
horizon: 48h
fleet: [{fleet}]
registry: {registry}
release:
  kind: initial
  images: [{{name: app, manifest: {{layers: [{{size: 60 MB}}]}}}}]
  workloads: [{{kind: DaemonSet, image: app}}]
strategies: {{all: {{allAtOnce: {{}}}}}}
{rest}
"
    );
    first_run(&[("experiment.yaml", &text)])
}

const TWENTY: &str = "{name: \"site-{01..20}\", nodes: 1, downlink: 1 Gbit/s, rtt: 20 ms}";

#[test]
fn a_quota_of_pulls_is_a_wait_for_the_limit() {
    let run = storm(
        TWENTY,
        "{egress: 10 Gbit/s, pullQuota: {pulls: 10, per: 1 h, scope: account}}",
        "",
    )
    .run;
    assert!(run.responses_429 > 0);
    assert_eq!(largest(&run), Measure::PathThrottled, "{run:?}");
    assert!(run.path_throttled_s.is_some_and(|waits| waits > 3000.0));
}

#[test]
fn an_outage_of_the_registry_counts_as_a_wait_for_it() {
    let run = storm(
        TWENTY,
        "{egress: 10 Gbit/s, windows: [{from: 0 s, for: 4 min, down: true}]}",
        "",
    )
    .run;
    assert_eq!(largest(&run), Measure::PathUnavailable, "{run:?}");
    assert!(run.path_unavailable_s.is_some_and(|waits| waits > 200.0));
    assert!(run.path_transfer_s.is_some_and(|transfer| transfer < 30.0));
}

#[test]
fn requests_to_a_full_registry_count_as_a_wait_for_it() {
    let run = storm(
        "{name: \"n-{001..100}\", nodes: 1, downlink: 1 Gbit/s, rtt: 2 ms}",
        "{preset: harbor-small, egress: 100 Mbit/s, connections: {max: 10}}",
        "",
    )
    .run;
    assert!(run.responses_503 > 0, "{run:?}");
    assert_eq!(largest(&run), Measure::PathUnavailable, "{run:?}");
}

#[test]
fn a_release_without_workloads_starts_no_pods() {
    let text = "name: no-pods
question: How long does the control plane take?
seed: 1
replicates: 1
horizon: 12h
fleet: [{name: \"app-{001..100}\", nodes: 1}]
registry: {egress: 1 Gbit/s}
release: {kind: update, workloads: []}
strategies: {stock: {argoCd: {}}}
";
    let run = first_run(&[("experiment.yaml", text)]).run;
    largest(&run);
    assert_eq!((run.path_start_s, run.pull_p50_s), (Some(0.0), None));
}

/// Three of twenty sites are cut off for the first hour, written as `faults`.
fn cut_off(faults: &str, strategy: &str) -> RunRecord {
    let text = format!(
        "name: cut-off
question: Who is left behind?
seed: 1
replicates: 1
horizon: 6h
fleet:
  - {{name: \"a-{{01..17}}\", nodes: 1}}
  - {{name: \"z-{{1..3}}\", labels: {{cut: \"yes\"}}, nodes: 1}}
registry: {{egress: 1 Gbit/s}}
release:
  kind: update
  images: [{{name: app, manifest: {{layers: [{{size: 60 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app}}]
faults: {faults}
strategies: {{s: {strategy}}}
"
    );
    first_run(&[("experiment.yaml", &text)])
}

const WINDOW: &str =
    "{regional: [{selector: {matchLabels: {cut: \"yes\"}}, windows: [{from: 0s, for: 1h}]}]}";
const RETURN: &str = "{offline: {share: 15%, return: 1h}, draws: stratified}";

#[test]
fn sites_that_are_back_before_the_horizon_are_left_behind_by_a_product_that_gave_up() {
    for faults in [WINDOW, RETURN] {
        let run = cut_off(faults, "{argoCd: {}}").run;
        assert_eq!(
            (
                run.outcome,
                run.left_behind,
                run.reachable_targets,
                run.is_done()
            ),
            (RunOutcome::Stalled, 3, 20, false),
            "{faults}"
        );
        assert!(
            run.held()
                .contains("operation Failed (retries are used up)"),
            "{}",
            run.held()
        );
    }
}

#[test]
fn a_message_to_a_cluster_that_is_offline_waits_until_it_is_back() {
    for faults in [WINDOW, RETURN] {
        let run = cut_off(faults, "{rancherFleet: {}}").run;
        assert_eq!((run.outcome, run.left_behind), (RunOutcome::Complete, 0));
        assert_eq!(largest(&run), Measure::PathOffline, "{faults}: {run:?}");
        // The instruction is sent some seconds after the release.
        let waited = run.path_offline_s.expect("the run is complete");
        assert!((3500.0..=3600.0).contains(&waited), "{waited}");
    }
    for return_after in ["10 h", "7 h"] {
        let faults =
            format!("{{offline: {{share: 15%, return: {return_after}}}, draws: stratified}}");
        let run = cut_off(&faults, "{rancherFleet: {maxUnavailable: 100%}}").run;
        assert_eq!(
            (run.left_behind, run.reachable_targets, run.is_done()),
            (3, 17, true),
            "back after the horizon"
        );
    }
}

/// The rows of a kind.
fn rows_of(run: &RunRecord, kind: LinkKind) -> Vec<&RegistryRow> {
    run.registries
        .iter()
        .filter(|row| row.kind == kind)
        .collect()
}

const REGIONAL: &str =
    "{name: \"s-{01..20}\", nodes: 1, downlink: 50 Mbit/s, rtt: 20 ms, region: lan}";

#[test]
fn the_link_of_a_region_that_binds_is_busy_in_the_table() {
    let run = storm(
        REGIONAL,
        "{egress: 1 Gbit/s}",
        "regions: [{name: lan, bandwidth: 16 Mbit/s}]",
    );
    let [lan] = rows_of(&run, LinkKind::Region)[..] else {
        panic!("{:?}", run.registries);
    };
    // 20 times 60 MB over 2 MB/s take 10 minutes.
    let busy_s = lan.egress_busy_share.expect("metered") * run.run.end_s;
    assert!((590.0..620.0).contains(&busy_s), "{busy_s}");
    assert_eq!(lan.in_bytes, Some(lan.egress_bytes));
    assert_eq!(lan.egress_bytes, run.run.egress_bytes);
    assert_eq!(lan.capacity_bytes_per_s, Some(2e6));
}

#[test]
fn mirrors_send_the_pulls_of_their_regions() {
    let run = storm(
        REGIONAL,
        "{egress: 1 Gbit/s}",
        "regions: [{name: lan, bandwidth: 10 Gbit/s}]
mirrors: [{name: near, region: lan, egress: 1 Gbit/s}]",
    );
    let [near] = rows_of(&run, LinkKind::Mirror)[..] else {
        panic!("{:?}", run.registries);
    };
    assert_eq!(near.egress_bytes, run.run.cache_bytes);
    assert!(near.egress_bytes >= 20 * 60_000_000);
    assert_eq!(run.run.egress_bytes, 0, "the registry sends nothing");
}

#[test]
fn a_small_image_behind_a_large_one_is_ready_late_only_with_serial_pulls() {
    let ready = |serial: bool| {
        let text = format!(
            "name: serial
question: Does a large image hold up a small one?
seed: 1
replicates: 1
horizon: 6h
fleet: [{{name: \"node-{{1..3}}\", nodes: 1, downlink: 1 Gbit/s, rtt: 10 ms}}]
registry: {{egress: 100 Gbit/s}}
release:
  kind: initial
  images:
    - {{name: large, manifest: {{layers: [{{size: 5 GB}}]}}, compressionRatio: 1}}
    - {{name: small, manifest: {{layers: [{{size: 60 MB}}]}}}}
  workloads:
    - {{kind: DaemonSet, image: large}}
    - {{kind: DaemonSet, image: small}}
node: {{serializeImagePulls: {serial}, sandbox: 0 s}}
strategies: {{all: {{allAtOnce: {{}}}}}}
"
        );
        let run = first_run(&[("experiment.yaml", &text)]);
        let times: Vec<(String, f64)> = run
            .workloads
            .iter()
            .map(|row| (row.workload.clone(), row.ready_s.expect("ready")))
            .collect();
        assert_eq!(
            (times[0].0.as_str(), times[1].0.as_str()),
            ("large", "small")
        );
        [times[0].1, times[1].1]
    };
    let [large, small] = ready(true);
    assert!(small > large, "{small}, {large}");
    let [large, small] = ready(false);
    assert!(small < large / 4.0, "{small}, {large}");
}

#[test]
fn an_experiment_with_one_workload_has_no_table_of_workloads() {
    let run = storm(TWENTY, "{egress: 10 Gbit/s}", "");
    assert!(run.workloads.is_empty());
    let pulls = [run.run.pull_p50_s, run.run.pull_p95_s, run.run.pull_p99_s];
    let pulls = pulls.map(|pull| pull.expect("all pulls are successful"));
    assert!(0.0 < pulls[0] && pulls[0] <= pulls[1] && pulls[1] <= pulls[2]);
    assert_eq!(run.registries.len(), 1, "no link but the registry's");
}

#[test]
fn a_cluster_that_never_returns_is_left_behind_and_can_be_limited() {
    let text = "name: limit
question: Is nobody left behind?
seed: 1
replicates: 1
horizon: 6h
fleet: [{name: \"a-{1..5}\", nodes: 1}, {name: gone, nodes: 1, offline: true}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: app, manifest: {layers: [{size: 60 MB}]}}]
  workloads: [{kind: Deployment, image: app}]
assert: [left_behind == 0, left_behind <= 1]
strategies: {s: {rancherFleet: {maxUnavailable: 100%}}}
";
    let folder = folder_with(&[("experiment.yaml", text)]);
    let experiment = loaded(folder.path());
    let run = sim::run(&experiment.variants[0], experiment.seed, 0).expect("no process");
    assert_eq!((run.run.left_behind, run.run.is_done()), (1, true));
}
