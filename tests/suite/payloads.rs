//! Releases without pods: a ConfigMap, or a Deployment that is scaled to zero. Completion as the product reports it.

use fleetsim::control_plane::WATCH_DELAY;
use fleetsim::results::RunOutcome;
use fleetsim::sim;

use super::common::{fleetsim, folder_with, loaded};

const EMPTY: &str = "[]";
const SCALED_TO_ZERO: &str = "[{kind: Deployment, image: shop, replicas: 0}]";

fn experiment(kind: &str, workloads: &str, more: &str) -> String {
    format!(
        "name: payloads
question: Does a release without pods complete?
seed: 1
replicates: 1
horizon: 6h
fleet: [{{name: \"c-{{01..20}}\", labels: {{env: canary}}}}]
release:
  kind: {kind}
  images: [{{name: shop, manifest: {{layers: [{{size: 30 MB}}]}}}}]
  workloads: {workloads}
{more}strategies:
  fleet: {{rancherFleet: {{maxUnavailable: 10%}}}}
  argo: {{argoCd: {{strategy: {{type: RollingSync, rollingSync: {{steps: [{{matchExpressions: [{{key: env, operator: In, \
         values: [canary]}}], maxUpdate: 5}}]}}}}}}}}
  staged: {{kubeFleetStaged: {{stages: [{{name: all, labelSelector: {{}}, maxConcurrency: 5}}]}}}}
  rolling: {{kubeFleetRolling: {{}}}}
  cloud: {{cloudFoundry: {{strategy: rolling}}}}
  bound: {{allAtOnce: {{}}}}
"
    )
}

#[test]
fn a_release_without_pods_completes_without_a_pull() {
    for kind in ["initial", "update"] {
        for workloads in [EMPTY, SCALED_TO_ZERO] {
            let folder = folder_with(&[("experiment.yaml", &experiment(kind, workloads, ""))]);
            let experiment = loaded(folder.path());
            for variant in &experiment.variants {
                let what = format!("{} {kind} {workloads}", variant.label);
                let run = sim::run(variant, experiment.seed, 0)
                    .expect("no process")
                    .run;
                assert_eq!(
                    (run.outcome, run.targets_done),
                    (RunOutcome::Complete, 20),
                    "{what}: {}",
                    run.held()
                );
                assert_eq!(
                    (run.pulls, run.peak_pulls, run.egress_bytes),
                    (0, 0, 0),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_pre_pull_without_images_does_not_delay_the_release() {
    let text = experiment("update", EMPTY, "distribution: {prePull: {}}\n");
    let experiment = loaded(folder_with(&[("experiment.yaml", &text)]).path());
    let run = sim::run(&experiment.variants[0], experiment.seed, 0)
        .expect("no process")
        .run;
    assert_eq!(run.outcome, RunOutcome::Complete, "{}", run.held());
}

#[test]
fn a_study_without_a_pull_is_reported() {
    let folder = folder_with(&[("experiment.yaml", &experiment("update", EMPTY, ""))]);
    fleetsim(folder.path())
        .args(["run", "experiment.yaml"])
        .assert()
        .success();
    let chart = folder.path().join("results/payloads/charts/multiples.svg");
    let chart = std::fs::read_to_string(chart).expect("a chart");
    assert!(
        chart.contains("no run pulls an image"),
        "the chart of pulls says so"
    );
}

#[test]
fn a_product_reports_completion_after_its_last_target_is_ready() {
    let folder = folder_with(&[("experiment.yaml", &experiment("update", SCALED_TO_ZERO, ""))]);
    let experiment = loaded(folder.path());
    for variant in &experiment.variants {
        let run = sim::run(variant, experiment.seed, 0)
            .expect("no process")
            .run;
        let completion = run.completion_s.expect("complete");
        if variant.strategy == "bound" {
            assert_eq!(run.reported_s, None, "a baseline is no product");
            continue;
        }
        let reported = run.reported_s.expect("reported");
        // The end of a pass over 20 targets takes less than a second; a staged run polls every 15 s, an updater every
        // 5 s.
        let most = match variant.strategy.as_str() {
            "staged" => 2.0 * 15.5,
            "cloud" => 2.0 * 5.5,
            _ => 2.0,
        };
        // A pass of a rolling update lists bindings from the API server itself. So it may see the last binding before
        // the watch shows it, which is the time of `completion_s`.
        let least = if variant.strategy == "rolling" {
            -WATCH_DELAY.as_secs_f64()
        } else {
            0.0
        };
        let later = reported - completion;
        assert!(
            later > least && later < most,
            "{}: {reported} s is {later} s after the last target",
            variant.label
        );
    }
}
