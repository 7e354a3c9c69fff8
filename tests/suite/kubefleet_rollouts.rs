//! KubeFleet's schedulers in complete simulations of 1 000 clusters: invariants of every staged update run and every
//! rolling update, first deployments and updates, with and without failures; and wrong configuration.

use fleetsim::results::{ClusterRow, RunOutcome, RunRecord};
use fleetsim::scenario::{Experiment, LoadError, Overrides, load};
use fleetsim::sim;
use tempfile::TempDir;

use super::common::{canaries_and_stores, first_run, folder_with, loaded, peak_in_flight};

const STRATEGY: &str = "apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: by-ring, annotations: {owner: shop}}
spec:
  stages:
    - name: canary
      labelSelector: {matchLabels: {ring: '0'}}
      maxConcurrency: 5
      afterStageTasks: [{type: TimedWait, waitTime: 10m}]
    - name: early
      labelSelector: {matchLabels: {ring: '1'}}
      maxConcurrency: 20%
      afterStageTasks: [{type: Approval}]
    - name: rest
      labelSelector: {matchLabels: {ring: '2'}}
      sortingLabelKey: wave
      maxConcurrency: 200
      beforeStageTasks: [{type: Approval}]
";
/// Name, number of clusters and resolved `maxConcurrency` of each stage.
const STAGES: [(&str, usize, usize); 3] =
    [("canary", 20, 5), ("early", 180, 36), ("rest", 800, 200)];
const PLACEMENT: &str = "kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: '', version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 10%, unavailablePeriodSeconds: 30}
";

/// A folder with an experiment of one strategy, and all files that strategies name.
fn folder(release: &str, faults: &str, strategy: &str) -> TempDir {
    let text = format!(
        r#"name: kubefleet
seed: 3
replicates: 1
horizon: 48h
fleet:
  - {{name: "c-{{01..20}}", labels: {{ring: "0", wave: "1"}}, nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}
  - {{name: "e-{{001..180}}", labels: {{ring: "1", wave: "1"}}, nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}
  - {{name: "x-{{001..400}}", labels: {{ring: "2", wave: "2"}}, nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}
  - {{name: "y-{{001..400}}", labels: {{ring: "2", wave: "1"}}, nodes: 1, downlink: 1 Gbit/s, rtt: 1 ms}}
release:
  kind: {release}
  images: [{{name: shop, manifest: {{layers: [{{size: 30 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, replicas: 1}}]
faults: {{{faults}}}
strategies:
  it: {strategy}
"#
    );
    let files = [
        ("experiment.yaml", text.as_str()),
        ("strategy.yaml", STRATEGY),
        ("placement.yaml", PLACEMENT),
    ];
    folder_with(&[&files[..], WRONG_FILES].concat())
}

fn experiment(release: &str, faults: &str, strategy: &str) -> Result<Experiment, LoadError> {
    load(
        folder(release, faults, strategy).path(),
        &Overrides::default(),
    )
}

fn run(release: &str, faults: &str, strategy: &str) -> RunRecord {
    let experiment = loaded(folder(release, faults, strategy).path());
    sim::run(&experiment.variants[0], experiment.seed, 0).expect("the strategy starts no process")
}

fn staged(release: &str, faults: &str, approvals: &str) -> RunRecord {
    run(
        release,
        faults,
        &format!("{{kubeFleetStaged: {{file: strategy.yaml, approvals: {{after: {approvals}}}}}}}"),
    )
}

fn of_stage<'r>(run: &'r RunRecord, stage: &str) -> Vec<&'r ClusterRow> {
    run.clusters
        .iter()
        .filter(|cluster| cluster.stage == stage)
        .collect()
}

fn first_told(clusters: &[&ClusterRow]) -> f64 {
    clusters
        .iter()
        .filter_map(|cluster| cluster.instructed_s)
        .fold(f64::INFINITY, f64::min)
}

/// The time at which the last of the clusters became ready; infinite if one of them never did.
fn all_ready(clusters: &[&ClusterRow]) -> f64 {
    clusters
        .iter()
        .map(|cluster| cluster.ready_s.unwrap_or(f64::INFINITY))
        .fold(0.0, f64::max)
}

/// Asserts the invariants of every staged run: each stage respects its limit, and begins only when the previous stage,
/// the after-tasks of that stage and the before-tasks of this stage are done.
fn check_stages(run: &RunRecord, approval_s: f64) {
    for (name, count, limit) in STAGES {
        let clusters = of_stage(run, name);
        assert_eq!(clusters.len(), count, "{name}");
        let peak = peak_in_flight(clusters);
        assert!(peak <= limit, "{name}: {peak} at once");
    }
    // There is a wait of ten minutes after the canary. Before the rest, two approvals are requested one after the
    // other.
    let waits = [600.0, 2.0 * approval_s];
    for ((before, after), wait) in STAGES.iter().zip(&STAGES[1..]).zip(waits) {
        let begin = first_told(&of_stage(run, after.0));
        let end = all_ready(&of_stage(run, before.0));
        // A condition's time is in whole seconds, rounded down.
        assert!(
            begin == f64::INFINITY || begin >= end + wait - 1.0,
            "{}: {begin} after {end}",
            after.0
        );
    }
}

#[test]
fn a_staged_run_respects_the_limits_and_tasks_of_its_stages() {
    for release in ["initial", "update"] {
        let run = staged(release, "", "20 min");
        assert_eq!(
            run.run.outcome,
            RunOutcome::Complete,
            "{release}: {}",
            run.run.held()
        );
        assert_eq!(
            (run.run.targets_done, run.run.held().as_str()),
            (1000, ""),
            "{release}"
        );
        check_stages(&run, 1200.0);
        for (name, _, limit) in STAGES {
            // The work generator's queue has a burst of a hundred and a few for each cluster. After that, ten clusters
            // a second are instructed, and the first of them are ready before a large limit is reached.
            let peak = peak_in_flight(of_stage(&run, name));
            assert!(
                (limit.min(50)..=limit).contains(&peak),
                "{release}, {name}: {peak} of {limit}"
            );
        }
        // The sorting label takes precedence over the name.
        let told = |prefix: &str| -> Vec<f64> {
            run.clusters
                .iter()
                .filter(|c| c.cluster.starts_with(prefix))
                .filter_map(|c| c.instructed_s)
                .collect()
        };
        let first_x = told("x-").into_iter().fold(f64::INFINITY, f64::min);
        assert_eq!(
            told("y-").iter().filter(|at| **at <= first_x).count(),
            400,
            "{release}: wave 1 before wave 2"
        );
    }
}

#[test]
fn requeue_delays_count_from_the_end_of_a_pass() {
    let stages = "[{name: all, labelSelector: {}, maxConcurrency: 30%}]";
    let run = run(
        "update",
        "",
        &format!(
            "{{kubeFleetStaged: {{upstreamBugs: {{inProgressIsFailure: false}}, stages: {stages}}}}}"
        ),
    );
    assert_eq!(run.run.outcome, RunOutcome::Complete, "{}", run.run.held());
    // 300 bindings are written in the first pass, at 10 ms each.
    assert!(
        run.passes[0].duration_s > 3.0 && run.passes.len() > 3,
        "{:?}",
        run.passes
    );
    for pair in run.passes.windows(2) {
        let rest = pair[1].t_s - (pair[0].t_s + pair[0].duration_s);
        assert!(
            (rest - 15.0).abs() < 1e-6,
            "clusters are being updated: {rest} s after {:?}",
            pair[0]
        );
    }
}

#[test]
fn failing_pulls_delay_a_staged_run_and_do_not_end_it() {
    let (good, bad) = (
        staged("update", "", "20 min"),
        staged("update", "pullFailure: 2%", "20 min"),
    );
    assert_eq!(bad.run.outcome, RunOutcome::Complete, "{}", bad.run.held());
    assert!(bad.run.failed_pulls > 0);
    check_stages(&bad, 1200.0);
    assert!(
        bad.run.completion_s > good.run.completion_s,
        "{:?} {:?}",
        bad.run.completion_s,
        good.run.completion_s
    );
}

#[test]
fn offline_clusters_block_a_staged_run_indefinitely_and_are_named() {
    let run = staged("update", "offline: {share: 1%}", "20 min");
    check_stages(&run, 1200.0);
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    let offline = of_stage(&run, "early")
        .into_iter()
        .find(|cluster| cluster.offline && cluster.instructed_s.is_some());
    let offline =
        offline.expect("with this seed an offline cluster's turn comes in the stage `early`");
    assert_eq!(offline.ready_s, None);
    let held_by = &run.run.held();
    assert!(
        held_by.starts_with("stages: in stage `early`, "),
        "{held_by}"
    );
    assert!(
        held_by.contains(&format!("(for more than 5m: {}", offline.cluster)),
        "{held_by}"
    );
    assert!(
        held_by.contains("retried indefinitely") && held_by.contains("800 clusters"),
        "{held_by}"
    );
    assert!(
        of_stage(&run, "rest")
            .iter()
            .all(|cluster| cluster.instructed_s.is_none()),
        "a later stage has not begun"
    );
    // All other clusters of the stage were updated in the remaining slots.
    assert!(
        of_stage(&run, "early")
            .iter()
            .all(|cluster| cluster.offline || cluster.ready_s.is_some())
    );
}

#[test]
fn a_staged_run_completes_when_clusters_return() {
    let run = staged(
        "initial",
        "offline: {share: 1%, return: {min: 1h, max: 3h}}",
        "1 min",
    );
    assert_eq!(run.run.outcome, RunOutcome::Complete, "{}", run.run.held());
    check_stages(&run, 60.0);
}

#[test]
fn a_missing_approval_blocks_the_run_between_two_stages() {
    let run = staged("update", "", "never");
    assert_eq!(
        (run.run.outcome, run.run.targets_done),
        (RunOutcome::Stalled, 200)
    );
    assert!(
        run.run.held().starts_with(
            "afterStageTasks: all of stage `early` is done, `run-after-early` is not approved"
        ),
        "{}",
        run.run.held()
    );
    assert!(
        of_stage(&run, "rest")
            .iter()
            .all(|cluster| cluster.instructed_s.is_none())
    );
}

#[test]
fn approvals_are_drawn_from_the_random_numbers_of_the_run() {
    let drawn = "{median: 20 min, sigma: 0.5}";
    let strategy =
        format!("{{kubeFleetStaged: {{file: strategy.yaml, approvals: {{after: {drawn}}}}}}}");
    let experiment = experiment("update", "", &strategy).expect("it is right");
    let begin = |seed, replicate| {
        let run = sim::run(&experiment.variants[0], seed, replicate)
            .expect("the strategy starts no process");
        check_stages(&run, 0.0);
        first_told(&of_stage(&run, "rest"))
    };
    assert_eq!(
        begin(3, 0).to_bits(),
        begin(3, 0).to_bits(),
        "the same luck"
    );
    assert!((begin(3, 0) - begin(3, 1)).abs() > 10.0, "another one");
}

#[test]
fn the_documented_rules_update_one_cluster_at_a_time() {
    let stages = "stages: [{name: canary, labelSelector: {matchLabels: {ring: '0'}}, maxConcurrency: 100%, \
                  afterStageTasks: [{type: Approval}]}, {name: later, labelSelector: {matchExpressions: [{key: ring, \
                  operator: NotIn, values: ['0']}]}}]";
    let peak = |rules: &str| {
        let strategy = format!(
            "{{kubeFleetStaged: {{rules: {rules}, {stages}, approvals: {{after: never}}}}}}"
        );
        let run = run("update", "", &strategy);
        assert_eq!(run.run.targets_done, 20, "{rules}: {}", run.run.held());
        let approval = if rules == "documented" {
            "`run-canary`"
        } else {
            "`run-after-canary`"
        };
        assert!(
            run.run
                .held()
                .contains(&format!("{approval} is not approved")),
            "{rules}: {}",
            run.run.held()
        );
        peak_in_flight(&run.clusters)
    };
    assert_eq!((peak("shipped"), peak("documented")), (20, 1));
}

#[test]
fn a_rolling_update_never_exceeds_max_unavailable() {
    for faults in ["", "pullFailure: 2%"] {
        let run = run(
            "update",
            faults,
            "{kubeFleetRolling: {file: placement.yaml}}",
        );
        assert_eq!(
            (run.run.outcome, run.run.targets_done),
            (RunOutcome::Complete, 1000),
            "{}",
            run.run.held()
        );
        let peak = peak_in_flight(&run.clusters);
        // The work generator instructs ten clusters a second after its burst, and clusters become ready meanwhile.
        assert!(
            (50..=100).contains(&peak),
            "{faults}: {peak} of 10 % of 1 000"
        );
        assert!(
            run.passes.iter().all(|pass| pass.unavailable <= 100),
            "{faults}: as the hub cluster sees it"
        );
    }
}

#[test]
fn max_unavailable_does_not_limit_a_first_deployment() {
    let run = run(
        "initial",
        "pullFailure: 2%",
        "{kubeFleetRolling: {file: placement.yaml}}",
    );
    assert_eq!(
        (run.run.outcome, run.run.targets_done),
        (RunOutcome::Complete, 1000),
        "{}",
        run.run.held()
    );
    assert_eq!(
        run.run.peak_promotions_per_pass, 1000,
        "target + maxSurge - none that may be ready"
    );
    for rules in ["shipped", "documented"] {
        let told = explained(
            "initial",
            &format!("{{kubeFleetRolling: {{rules: {rules}, maxUnavailable: 0, maxSurge: 1}}}}"),
        );
        let lines: Vec<&str> = told.lines().skip(1).collect();
        let [only] = lines[..] else {
            panic!("neither waves nor warnings of an update: {told}")
        };
        assert!(
            only.contains("all 1000 clusters get the resources in the first pass"),
            "{told}"
        );
    }
}

#[test]
fn offline_clusters_use_up_max_unavailable_and_then_block_a_rolling_update() {
    let few = run(
        "update",
        "offline: {share: 1%}",
        "{kubeFleetRolling: {file: placement.yaml}}",
    );
    let offline = few
        .clusters
        .iter()
        .filter(|cluster| cluster.offline)
        .count() as u64;
    assert!(offline > 0 && offline < 100);
    assert_eq!(
        (few.run.outcome, few.run.targets_done),
        (RunOutcome::Stalled, 1000 - offline),
        "all others are done"
    );
    assert!(
        few.run.held().starts_with("Available: "),
        "{}",
        few.run.held()
    );

    let strategy = "{kubeFleetRolling: {file: placement.yaml, maxUnavailable: 2}}";
    let many = run("update", "offline: {share: 4%}", strategy);
    assert_eq!(many.run.outcome, RunOutcome::Stalled);
    assert!(
        many.run.held().starts_with("maxUnavailable: "),
        "{}",
        many.run.held()
    );
    assert!(
        many.run.held().contains("allows 2 to be unavailable"),
        "what is in place counts before the file"
    );
    assert_eq!(
        many.clusters
            .iter()
            .filter(|cluster| cluster.instructed_s.is_some() && cluster.ready_s.is_none())
            .count(),
        2
    );
    assert_eq!(peak_in_flight(&many.clusters), 2);
}

#[test]
fn a_max_unavailable_of_zero_never_updates_anything_as_shipped() {
    let strategy =
        |rules: &str| format!("{{kubeFleetRolling: {{rules: {rules}, maxUnavailable: 0}}}}");
    let shipped = run("update", "", &strategy("shipped"));
    assert_eq!(
        (shipped.run.outcome, shipped.run.targets_done),
        (RunOutcome::Stalled, 0)
    );
    assert!(
        shipped
            .run
            .held()
            .contains("maxUnavailable is 0, so no available cluster is ever updated")
    );
    // Clusters are updated one after the other, up to the first offline cluster.
    let documented = run("update", "offline: {share: 2%}", &strategy("documented"));
    assert_eq!(documented.run.outcome, RunOutcome::Stalled);
    assert!(documented.run.targets_done > 0);
    assert_eq!(peak_in_flight(&documented.clusters), 1, "the minimum is 1");
}

/// The program's explanation of a strategy.
fn explained(kind: &str, strategy: &str) -> String {
    let folder = folder(kind, "", strategy);
    let mut program = assert_cmd::Command::cargo_bin("fleetsim").expect("the program is built");
    let output = program
        .arg("explain")
        .arg(folder.path())
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("it is text");
    let (_, strategy) = text.split_once("\nit: ").expect("the strategy");
    strategy
        .split_once("\nsettings in force\n")
        .expect("the settings follow")
        .0
        .to_owned()
}

#[test]
fn explain_prints_stages_limits_tasks_and_warnings() {
    assert_eq!(
        explained(
            "update",
            "{kubeFleetStaged: {file: strategy.yaml, approvals: {after: 20 min}}}"
        ),
        "KubeFleet's staged update run, as shipped
  stage   clusters  maxConcurrency  before    after          first clusters
  canary        20               5  -         TimedWait 10m  c-01, c-02, c-03
  early        180              36  -         Approval       e-001, e-002, e-003
  rest         800             200  Approval  -              y-001, y-002, y-003
  approvals: given 20 min 00 s after they are requested
"
    );
    let documented = explained(
        "update",
        "{kubeFleetStaged: {rules: documented, file: strategy.yaml, approvals: {after: never}}}",
    );
    assert!(
        documented.contains("  note: maxConcurrency of stage `canary` has no effect"),
        "{documented}"
    );
    assert!(
        documented.contains("  approvals: never given\n"),
        "{documented}"
    );
    let rolling = explained(
        "update",
        "{kubeFleetRolling: {file: placement.yaml, rules: documented}}",
    );
    assert_eq!(
        rolling,
        "KubeFleet's rolling update, as documented
  maxUnavailable 100 and maxSurge 250 of 1000 clusters; an update begins with 100 clusters; in 10 waves or more; \
         looks again every 30 s
"
    );
}

/// Realistic files with errors, by name.
const WRONG_FILES: &[(&str, &str)] = &[
    (
        "dashed.yaml",
        "kind: ClusterStagedUpdateStrategy\nspec:\n  stages:\n    - name: not-a-name\n      labelSelector: {}\n",
    ),
    (
        "typo.yaml",
        "spec:\n  stages:\n    - name: all\n      labelSelector: {}\n      maxConcurency: 5\n",
    ),
    (
        "typed.yaml",
        "spec:\n  stages:\n    - name: all\n      labelSelector: [ring]\n",
    ),
    ("other.yaml", "kind: Deployment\nspec: {}\n"),
    (
        "external.yaml",
        "kind: ClusterResourcePlacement\nspec:\n  strategy:\n    type: External\n",
    ),
    (
        "few.yaml",
        "spec:\n  policy: {placementType: PickN, numberOfClusters: 7}\n",
    ),
    (
        "minus.yaml",
        "spec:\n  strategy:\n    rollingUpdate:\n      maxSurge: 5\n      maxUnavailable: -1\n",
    ),
];

#[test]
fn invalid_configuration_is_refused_with_its_line_and_the_products_reason() {
    let cases = [
        // strategy, position, words of the message
        (
            "{kubeFleetStaged: {}}",
            "experiment.yaml:16:",
            "at least one stage is required",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}, maxConcurrency: 0}]}}",
            "experiment.yaml:16:",
            "kubeFleetStaged.stages[0].maxConcurrency: maxConcurrency must be at least 1",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}, afterStageTasks: [{type: TimedWait}]}]}}",
            "experiment.yaml:16:",
            "stages[0].afterStageTasks: AfterStageTaskType is TimedWait, waitTime is required",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: some, labelSelector: {matchLabels: {ring: '0'}}}]}}",
            "experiment.yaml:16:",
            "stages: some clusters are not placed in any stage, total 980",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}}, {name: b, labelSelector: {}}]}}",
            "experiment.yaml:16:",
            "stages[1].labelSelector: cluster `c-01` appears in more than one stages, again in `b`",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}, sortingLabelKey: zone}]}}",
            "experiment.yaml:16:",
            "stages[0].sortingLabelKey: the sorting label `zone:` on cluster",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}, beforeStageTasks: [{type: Approval}]}]}}",
            "experiment.yaml:16:",
            "stages[0].beforeStageTasks[0]: this approval has no time",
        ),
        (
            "{kubeFleetStaged: {file: strategy.yaml}}",
            "strategy.yaml:13:",
            "spec.stages[1].afterStageTasks[0]: this approval has no time",
        ),
        (
            "{kubeFleetStaged: {file: strategy.yaml, approvals: {after: 10}}}",
            "experiment.yaml:16:",
            "approvals.after: `10` has no unit",
        ),
        (
            "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}, sortingKey: zone}]}}",
            "experiment.yaml:16:",
            "stages[0].sortingKey: unknown field `sortingKey`",
        ),
        (
            "{kubeFleetStaged: {file: dashed.yaml}}",
            "dashed.yaml:4:",
            "must be 1 to 63 characters that match",
        ),
        (
            "{kubeFleetStaged: {file: typo.yaml}}",
            "typo.yaml:5:",
            "did you mean `maxConcurrency`?",
        ),
        (
            "{kubeFleetStaged: {file: typed.yaml}}",
            "typed.yaml:4:",
            "spec.stages[0].labelSelector: must be a map, but this is a list",
        ),
        (
            "{kubeFleetStaged: {file: other.yaml}}",
            "other.yaml:1:",
            "an object of kind `Deployment` cannot be used here",
        ),
        (
            "{kubeFleetStaged: {file: gone.yaml}}",
            "experiment.yaml:16:",
            "cannot read `gone.yaml`",
        ),
        (
            "{kubeFleetRolling: {maxSurge: '25'}}",
            "experiment.yaml:16:",
            "kubeFleetRolling.maxSurge: maxSurge `\"25\"` is invalid",
        ),
        (
            "{kubeFleetRolling: {unavailablePeriodSeconds: -1}}",
            "experiment.yaml:16:",
            "unavailablePeriodSeconds must be greater than or equal to 0, got -1",
        ),
        (
            "{kubeFleetRolling: {file: external.yaml}}",
            "external.yaml:4:",
            "the placement's strategy is `External`",
        ),
        (
            "{kubeFleetRolling: {file: few.yaml}}",
            "few.yaml:2:",
            "the placement asks for 7 of 1000 clusters",
        ),
        (
            "{kubeFleetRolling: {file: minus.yaml}}",
            "minus.yaml:5:",
            "maxUnavailable must be greater than or equal to 0, got `-1`",
        ),
    ];
    for (strategy, place, words) in cases {
        let error = experiment("update", "", strategy)
            .map(|_| ())
            .expect_err(strategy);
        let told: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{strategy}: {told:?}");
        assert!(
            told[0].contains(&format!("/{place}")),
            "{strategy}: {told:?}"
        );
        assert!(told[0].contains(words), "{strategy}: {told:?}");
    }
    let in_place = "{kubeFleetRolling: {file: minus.yaml, maxUnavailable: 1}}";
    assert!(
        experiment("update", "", in_place).is_ok(),
        "what is in place counts before the file"
    );
}

#[test]
fn a_stage_selects_clusters_by_the_name_label_that_kubefleet_adds() {
    let key = "kubernetes-fleet.io/member-name";
    let others =
        format!("{{matchExpressions: [{{key: {key}, operator: NotIn, values: [store-05]}}]}}");
    let stages = format!(
        "{{name: first, labelSelector: {{matchLabels: {{{key}: store-05}}}}}}, {{name: rest, labelSelector: {others}, \
         maxConcurrency: 100%}}"
    );
    let text = canaries_and_stores(
        1,
        &format!("\n  s: {{kubeFleetStaged: {{stages: [{stages}]}}}}"),
        "",
    );
    let run = first_run(&[("experiment.yaml", &text)]);
    assert_eq!(run.run.outcome, RunOutcome::Complete);
    let first = run
        .clusters
        .iter()
        .min_by(|a, b| a.instructed_s.unwrap().total_cmp(&b.instructed_s.unwrap()));
    assert_eq!(first.expect("there are clusters").cluster, "store-05");
}
