//! Update runs of KubeFleet as objects: initialized, started, stopped and resumed by people, several at a time, and
//! with clusters that lose their resources.

use std::path::Path;

use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{Experiment, LoadError, Overrides, load};
use fleetsim::sim;

use super::common::{folder_with, loaded, root};

const STRATEGY: &str = "kind: ClusterStagedUpdateStrategy
metadata: {name: by-ring}
spec:
  stages:
    - {name: canary, labelSelector: {matchLabels: {ring: '0'}}, maxConcurrency: 2}
    - {name: rest, labelSelector: {matchLabels: {ring: '1'}}, maxConcurrency: 50%}
";

const RUN: &str = "kind: ClusterStagedUpdateRun
metadata: {name: shop-1}
spec:
  placementName: shop
  resourceSnapshotIndex: '1'
  stagedRolloutStrategyName: by-ring
  state: Initialize
";

/// Realistic files with errors, by name.
const WRONG: &[(&str, &str)] = &[
    (
        "other.yaml",
        "kind: ClusterStagedUpdateRun\nspec:\n  stagedRolloutStrategyName: by-zone\n",
    ),
    ("kind.yaml", "kind: ClusterStagedUpdateStrategy\nspec: {}\n"),
    (
        "typo.yaml",
        "spec:\n  stagedRolloutStrategyName: by-ring\n  sate: Run\n",
    ),
    (
        "index.yaml",
        "spec:\n  stagedRolloutStrategyName: by-ring\n  resourceSnapshotIndex: '7'\n",
    ),
    (
        "state.yaml",
        "spec:\n  stagedRolloutStrategyName: by-ring\n  state: Running\n",
    ),
];

/// Loads an experiment whose strategy has the given settings, and to whose fleet `more` can add clusters.
fn experiment(more: &str, settings: &str) -> Result<Experiment, LoadError> {
    let text = format!(
        "name: runs
seed: 1
replicates: 1
horizon: 12h
fleet:
  - {{name: 'c-{{1..4}}', labels: {{ring: '0'}}, nodes: 1}}
  - {{name: 'r-{{01..20}}', labels: {{ring: '1'}}, nodes: 1}}
  - {{name: 'x-{{1..3}}', labels: {{ring: '1', gone: 'yes'}}, nodes: 1}}
{more}release:
  images: [{{name: shop, manifest: {{layers: [{{size: 10 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
strategies:
  it: {{kubeFleetStaged: {{file: strategy.yaml, {settings}}}}}
"
    );
    let files = [
        ("experiment.yaml", text.as_str()),
        ("strategy.yaml", STRATEGY),
        ("run.yaml", RUN),
    ];
    load(
        folder_with(&[&files[..], WRONG].concat()).path(),
        &Overrides::default(),
    )
}

fn run(more: &str, settings: &str) -> RunRecord {
    let experiment = experiment(more, settings).expect("a valid experiment");
    sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
        .expect("the strategy starts no process")
}

/// The times at which a condition of an object had the given reason, in minutes.
fn at(run: &RunRecord, object: &str, condition: &str, reason: &str) -> Vec<f64> {
    let rows = run
        .statuses
        .iter()
        .filter(|row| (row.object.as_str(), row.condition.as_str()) == (object, condition));
    rows.filter(|row| row.reason == reason)
        .map(|row| row.t_s / 60.0)
        .collect()
}

#[test]
fn people_initialize_start_stop_and_resume_a_run() {
    let run = run(
        "",
        "runs: [{file: run.yaml, after: 1 min, states: [{after: 10 min, state: Run}, {after: 605 s, state: Stop}, \
         {after: 1 h, state: Run}]}]",
    );
    assert_eq!(run.run.outcome, RunOutcome::Complete);
    let object = "ClusterStagedUpdateRun/shop-1";
    let initialized = at(
        &run,
        object,
        "Initialized",
        "UpdateRunInitializedSuccessfully",
    );
    assert!((1.0..1.1).contains(&initialized[0]), "{initialized:?}");
    let progressing = at(&run, object, "Progressing", "UpdateRunProgressing");
    assert!(
        (10.0..10.1).contains(&progressing[0]),
        "nothing goes on before it is started: {progressing:?}"
    );
    let stopping = at(&run, object, "Progressing", "UpdateRunStopping");
    let stopped = at(&run, object, "Progressing", "UpdateRunStopped");
    assert!(
        (605.0 / 60.0..10.2).contains(&stopping[0]) && stopped[0] > stopping[0],
        "{stopping:?} {stopped:?}"
    );
    assert!(
        progressing.iter().any(|at| (60.0..60.1).contains(at)),
        "{progressing:?}"
    );
    assert!(!at(&run, object, "Succeeded", "UpdateRunSucceeded").is_empty());
    let told: Vec<f64> = run
        .clusters
        .iter()
        .map(|cluster| cluster.instructed_s.expect("it was told") / 60.0)
        .collect();
    assert!(
        told.iter()
            .all(|at| (10.0..=10.2).contains(at) || *at >= 60.0),
        "nobody starts while it is stopped"
    );
    assert!(
        told.iter().any(|at| *at < 12.0) && told.iter().any(|at| *at >= 60.0),
        "it was stopped in the middle"
    );
    // The placement has the name of the file, and reports that its clusters differ.
    let differ = at(
        &run,
        "ClusterResourcePlacement/shop",
        "RolloutStarted",
        "RolloutControlledByExternalController",
    );
    assert!(!differ.is_empty());
}

#[test]
fn a_run_without_a_start_or_resumption_stalls_with_its_state() {
    let initialized = run("", "runs: [{file: run.yaml}]");
    assert_eq!(initialized.run.outcome, RunOutcome::Stalled);
    assert!(
        initialized
            .run
            .held()
            .starts_with("state: the run is initialized and its state is not Run")
    );
    assert_eq!(
        at(
            &initialized,
            "ClusterStagedUpdateRun/shop-1",
            "Initialized",
            "UpdateRunInitializedSuccessfully"
        )
        .len(),
        1
    );
    assert!(
        at(
            &initialized,
            "ClusterStagedUpdateRun/shop-1",
            "Progressing",
            "UpdateRunProgressing"
        )
        .is_empty()
    );
    let stopped = run("", "runs: [{states: [{after: 30 s, state: Stop}]}]");
    assert_eq!(stopped.run.outcome, RunOutcome::Stalled);
    assert!(
        stopped
            .run
            .held()
            .starts_with("state: the state of the run is Stop"),
        "{}",
        stopped.run.held()
    );
    let last = stopped
        .statuses
        .iter()
        .rfind(|row| row.object == "ClusterStagedUpdateRun/run")
        .expect("a condition");
    assert_eq!(
        last.reason, "UpdateRunStopped",
        "which the reason for the stall agrees with"
    );
}

#[test]
fn the_delete_stage_removes_resources_from_clusters_no_longer_picked() {
    let unpicked = "placements: [{name: shop, unpicked: {matchLabels: {gone: 'yes'}}}], runs: [{file: run.yaml, state: Run}]";
    let run = run("", unpicked);
    assert_eq!(
        (run.run.outcome, run.run.targets_done),
        (RunOutcome::Complete, 27)
    );
    let gone: Vec<_> = run
        .clusters
        .iter()
        .filter(|cluster| cluster.cluster.starts_with('x'))
        .collect();
    assert!(
        gone.iter()
            .all(|cluster| cluster.instructed_s.is_none() && cluster.stage.is_empty()),
        "they get no release"
    );
    let deletion = "ClusterStagedUpdateRun/shop-1/kubernetes-fleet.io/deleteStage";
    let started = at(&run, deletion, "Progressing", "StageUpdatingStarted");
    let last = run
        .clusters
        .iter()
        .filter_map(|cluster| cluster.ready_s)
        .fold(0.0, f64::max)
        / 60.0;
    assert!(started[0] > last, "after all stages");
    let succeeded = at(&run, deletion, "Succeeded", "StageUpdatingSucceeded");
    // The run checks again after 15 s.
    assert!(
        (0.25..0.27).contains(&(succeeded[0] - started[0])),
        "{started:?} {succeeded:?}"
    );
}

#[test]
fn a_cluster_without_an_agent_keeps_the_delete_stage_open() {
    let run = run(
        "  - {name: x-4, labels: {ring: '1', gone: 'yes'}, nodes: 1, registered: false}\n",
        "placements: [{name: shop, unpicked: {matchLabels: {gone: 'yes'}}}], runs: [{file: run.yaml, state: Run}]",
    );
    assert_eq!(
        (run.run.outcome, run.run.targets_done),
        (RunOutcome::Stalled, 27)
    );
    assert_eq!(
        run.run.held(),
        "deletionStage: waiting for the deletion of their bindings: 1 cluster (x-4) waits"
    );
}

#[test]
fn two_runs_of_one_placement_roll_out_to_each_others_clusters() {
    // The second run rolls the old resources out again to the clusters that the first one is updating.
    let run = run(
        "",
        "runs: [{name: new}, {name: back, resourceSnapshotIndex: '0', after: 5 s}]",
    );
    let failed = run
        .statuses
        .iter()
        .filter(|row| row.condition == "Succeeded" && row.status == "False");
    let messages: Vec<(&str, &str)> = failed
        .map(|row| (row.object.as_str(), row.message.as_str()))
        .collect();
    let preempted = messages
        .iter()
        .find(|(_, message)| message.contains("is there a concurrent updateRun"));
    let (object, message) =
        preempted.unwrap_or_else(|| panic!("no run was preempted: {messages:?}"));
    assert!(
        message.starts_with("the binding of the updating cluster `c-1` in the stage `canary`"),
        "{message}"
    );
    assert_eq!(
        *object, "ClusterStagedUpdateRun/new/canary",
        "the stage fails with its run"
    );
    let of_run = messages
        .iter()
        .find(|(object, _)| *object == "ClusterStagedUpdateRun/new");
    assert_eq!(of_run.map(|(_, text)| text), Some(message));
    assert_eq!(
        at(
            &run,
            "ClusterStagedUpdateRun/back",
            "Succeeded",
            "UpdateRunSucceeded"
        )
        .len(),
        1
    );
    assert!(
        run.run.held().contains("the run has failed"),
        "{}",
        run.run.held()
    );
    assert_eq!(
        run.run.outcome,
        RunOutcome::Stalled,
        "some clusters have the old resources in the end"
    );
}

#[test]
fn runs_of_different_placements_proceed_in_parallel() {
    let run = run(
        "",
        "placements: [{name: main, clusters: {matchExpressions: [{key: gone, operator: DoesNotExist}]}}, \
         {name: other, clusters: {matchLabels: {gone: 'yes'}}}], \
         runs: [{name: a}, {name: b, placementName: other, after: 10 s}]",
    );
    assert_eq!(run.run.outcome, RunOutcome::Complete);
    for name in ["a", "b"] {
        assert_eq!(
            at(
                &run,
                &format!("ClusterStagedUpdateRun/{name}"),
                "Succeeded",
                "UpdateRunSucceeded"
            )
            .len(),
            1
        );
    }
    let first = |prefix: &str| {
        let told = run
            .clusters
            .iter()
            .filter(|cluster| cluster.cluster.starts_with(prefix));
        told.filter_map(|cluster| cluster.instructed_s)
            .fold(f64::INFINITY, f64::min)
    };
    assert!(
        first("x") < first("r"),
        "the second run does not wait for the first one's canary"
    );
    let stage = |name: &str| {
        run.clusters
            .iter()
            .find(|cluster| cluster.cluster == name)
            .map(|cluster| cluster.stage.clone())
    };
    assert_eq!(
        (stage("r-01").as_deref(), stage("x-1").as_deref()),
        (Some("a/rest"), Some("b/rest"))
    );
}

#[test]
fn the_example_runs_and_a_stop_delays_it() {
    let folder = root().join(Path::new("examples/kubefleet-runs"));
    let experiment = loaded(&folder);
    let completion = |nth: usize| {
        let run = sim::run(&experiment.variants[nth], experiment.seed, 0)
            .expect("the strategy starts no process");
        assert_eq!(run.run.outcome, RunOutcome::Complete, "{}", run.run.held_by);
        run.run.completion_s.expect("it is complete")
    };
    let (at_once, stopped) = (completion(0), completion(1));
    // The run is started after five minutes, and stopped for twenty minutes.
    assert!(stopped > at_once + 20.0 * 60.0, "{at_once} s, {stopped} s");
}

#[test]
fn invalid_runs_are_refused_with_their_line_and_a_fix() {
    let cases = [
        // settings, position, words of the message
        (
            "runs: [{file: other.yaml}]",
            "other.yaml:3:",
            "the run uses the strategy `by-zone`",
        ),
        (
            "runs: [{file: kind.yaml}]",
            "kind.yaml:1:",
            "an object of kind `ClusterStagedUpdateStrategy` cannot be used here",
        ),
        (
            "runs: [{file: typo.yaml}]",
            "typo.yaml:3:",
            "unknown field `sate`",
        ),
        ("runs: [{file: state.yaml}]", "state.yaml:3:", "Running"),
        (
            "runs: [{file: index.yaml}]",
            "index.yaml:3:",
            "there is no resource snapshot `7`; there is `0`, which is installed, and `1`, the release",
        ),
        (
            "runs: [{resourceSnapshotIndex: one}]",
            "experiment.yaml:13:",
            "there is no resource snapshot `one`",
        ),
        (
            "runs: [{file: gone.yaml}]",
            "experiment.yaml:13:",
            "cannot read `gone.yaml`",
        ),
        (
            "runs: [{state: Run, states: [{after: 1 min, state: Initialize}]}]",
            "experiment.yaml:13:",
            "KubeFleet does not accept Initialize after Run",
        ),
        (
            "runs: [{after: 5 min, states: [{after: 1 min, state: Stop}]}]",
            "experiment.yaml:13:",
            "states must be in chronological order",
        ),
        (
            "runs: [{}, {name: run}]",
            "experiment.yaml:13:",
            "two runs are called `run`",
        ),
        (
            "placements: [{name: shop}], runs: [{placementName: shelf}]",
            "experiment.yaml:13:",
            "there is no placement `shelf`",
        ),
        (
            "placements: [{name: a, clusters: {matchLabels: {ring: '0'}}}]",
            "experiment.yaml:13:",
            "cluster `r-01` is in no placement",
        ),
        (
            "placements: [{name: a}, {name: b, clusters: {matchLabels: {ring: '0'}}}]",
            "experiment.yaml:13:",
            "cluster `c-1` is also in the placement `a`",
        ),
    ];
    for (settings, place, words) in cases {
        let error = experiment("", settings).map(|_| ()).expect_err(settings);
        let told: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{settings}: {told:?}");
        assert!(
            told[0].contains(&format!("/{place}")) && told[0].contains(words),
            "{settings}: {told:?}"
        );
        assert!(
            told[0].contains("help") || told[0].contains('('),
            "{settings}: {told:?}"
        );
    }
}

#[test]
fn a_run_whose_status_would_be_too_large_does_not_begin() {
    let run = run(
        "  - {name: 'z-{0001..3900}', labels: {ring: '1'}, nodes: 1}\n",
        "",
    );
    assert_eq!(run.run.targets_done, 0);
    assert!(
        run.run
            .held()
            .starts_with("objectSize: the status of the ClusterStagedUpdateRun"),
        "{}",
        run.run.held()
    );
    assert!(run.run.passes < 10, "{} passes", run.run.passes);
}

#[test]
fn an_approval_during_a_write_conflict_is_not_lost() {
    // The run polls 300 s after its request. For one watch delay, its cache does not show the status that this pass
    // has written, so an approval at that time meets a conflict, and is seen by the next pass.
    let text = "name: runs
seed: 1
replicates: 1
horizon: 12h
fleet: [{name: a, labels: {ring: '0'}, nodes: 1}, {name: b, labels: {ring: '1'}, nodes: 1}]
release:
  images: [{name: shop, manifest: {layers: [{size: 1 MB}]}}]
  workloads: [{kind: Deployment, image: shop}]
strategies:
  it:
    kubeFleetStaged:
      stages:
        - {name: a, labelSelector: {matchLabels: {ring: '0'}}, afterStageTasks: [{type: Approval}]}
        - {name: b, labelSelector: {matchLabels: {ring: '1'}}}
      approvals: {after: 5 min}
sweep: {strategies.it.kubeFleetStaged.approvals.after: [AFTER]}
";
    let after: Vec<String> = (299_900..300_500)
        .step_by(25)
        .map(|ms| format!("{ms} ms"))
        .collect();
    let text = text.replace("AFTER", &after.join(", "));
    let experiment = load(
        folder_with(&[("experiment.yaml", text.as_str())]).path(),
        &Overrides::default(),
    );
    let experiment = experiment.expect("a valid experiment");
    for variant in &experiment.variants {
        let run = sim::run(variant, experiment.seed, 0)
            .expect("the strategy starts no process")
            .run;
        assert_eq!(
            run.outcome,
            RunOutcome::Complete,
            "{}: {}",
            variant.label,
            run.held()
        );
    }
}

#[test]
fn a_run_of_an_older_release_that_goes_on_later_puts_it_over_the_newer_one() {
    // People stop the first run, release a fix, and start the first run again after the fix is everywhere, except on
    // a cluster that is offline. The run writes its snapshot to each cluster that it has not started, whatever the
    // cluster has (kubefleet-dev/kubefleet at e160c1c, `executeUpdatingStage` in
    // `pkg/controllers/updaterun/execution.go`). It does not look for newer runs.
    let run = run(
        "  - {name: z-1, labels: {ring: '1'}, nodes: 1, offline: true}
releases: [{at: 0 s}, {at: 1h, images: [{name: shop, manifest: {layers: [{size: 5 MB}]}}]}]
",
        "runs: [{name: first, states: [{after: 5 s, state: Stop}, {after: 3 h, state: Run}]}]",
    );
    let [first, fix] = &run.releases[..] else {
        panic!("{:?}", run.releases);
    };
    assert!((1..27).contains(&first.targets_done), "stopped: {first:?}");
    assert_eq!(fix.targets_done, 27, "the fix is everywhere else: {fix:?}");
    assert_eq!(run.run.outcome, RunOutcome::Stalled);
    assert_eq!(
        run.run.targets_done,
        first.targets_done,
        "only those that the first run had updated before keep the fix: {}",
        run.run.held()
    );
}
