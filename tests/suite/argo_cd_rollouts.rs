//! Argo CD's RollingSync and its proposal in complete simulations of 1 000 applications: failures do not break budgets
//! or the order of steps, a stalled rollout names its step, and settings that Argo CD rejects are rejected.

use std::collections::BTreeMap;

use fleetsim::results::{ClusterRow, RunOutcome, RunRecord};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;
use tempfile::TempDir;

use super::common::{folder_with, loaded, peak_in_flight};

/// 50 canaries, 150 in staging, 800 in production.
const FLEET: [(&str, usize); 3] = [("canary", 50), ("staging", 150), ("prod", 800)];

/// The value of `maxUpdate` in each step of [`STEPS`]: all clusters, a number of clusters, and 10 % of 800.
const BUDGETS: [usize; 3] = [50, 20, 80];

const STEPS: &str = "steps:
        - matchExpressions: [{key: env, operator: In, values: [canary]}]
        - matchExpressions: [{key: env, operator: In, values: [staging]}]
          maxUpdate: 20
        - matchExpressions: [{key: env, operator: In, values: [prod]}]
          maxUpdate: 10%
";

const RELIABLE: &str = "{}";
const PULLS_FAIL: &str = "{pullFailure: 2%}";

fn application_set(strategy: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: shop, namespace: argocd}}
spec:
  goTemplate: true
  generators:
    - clusters: {{selector: {{matchLabels: {{app: shop}}}}}}
  {strategy}
  template:
    metadata: {{name: 'shop-{{{{.name}}}}'}}
    spec:
      project: default
      source: {{repoURL: https://example.com/shop.git, path: deploy, targetRevision: v2}}
      destination: {{server: '{{{{.server}}}}', namespace: shop}}
      syncPolicy: {{automated: {{selfHeal: true}}}}
"
    )
}

fn rolling_sync() -> String {
    application_set(&format!(
        "strategy:\n    type: RollingSync\n    rollingSync:\n      {STEPS}"
    ))
}

fn rolling_update() -> String {
    application_set(&format!(
        "strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      {STEPS}"
    ))
}

/// Writes an experiment in which applying is fast, so that budgets and not the ten operation processors limit a step.
fn folder(release: &str, faults: &str, strategy: &str, set: &str) -> TempDir {
    let groups: String = FLEET
        .iter()
        .map(|(env, count)| {
            format!(
                "  - {{name: \"{env}-{{001..{count:03}}}\", labels: {{env: {env}}}, nodes: 1, downlink: 1 Gbit/s}}\n"
            )
        })
        .collect();
    let text = format!(
        "name: argo
question: Do budgets and steps hold?
seed: 3
replicates: 1
horizon: 2h
fleet:
{groups}release:
  kind: {release}
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}, previous: {{layers: [{{size: 4 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, replicas: 1}}]
faults: {faults}
agent: {{instructionDelay: 20 ms, apply: 200 ms, reportDelay: 20 ms}}
strategies:
  tested: {{{strategy}}}
"
    );
    folder_with(&[("experiment.yaml", &text), ("applicationset.yaml", set)])
}

fn run(release: &str, faults: &str, strategy: &str, set: &str) -> RunRecord {
    let experiment = loaded(folder(release, faults, strategy, set).path());
    sim::run(&experiment.variants[0], experiment.seed, 0).expect("the strategy starts no process")
}

/// The clusters of each step, in order of the steps.
fn by_step(record: &RunRecord) -> BTreeMap<&str, Vec<&ClusterRow>> {
    let mut steps: BTreeMap<&str, Vec<&ClusterRow>> = BTreeMap::new();
    for row in &record.clusters {
        steps.entry(row.stage.as_str()).or_default().push(row);
    }
    steps
}

/// Asserts the invariants of every run with [`STEPS`], however it ends.
fn assert_budgets_and_order(record: &RunRecord, what: &str) {
    let steps = by_step(record);
    assert_eq!(
        steps.keys().copied().collect::<Vec<_>>(),
        ["step 1", "step 2", "step 3"],
        "{what}"
    );
    let mut before_is_over = Some(0.0);
    for ((name, rows), budget) in steps.iter().zip(BUDGETS) {
        let most = peak_in_flight(rows.iter().copied());
        assert!(
            most <= budget,
            "{what}: {most} of {name} at once; maxUpdate allows {budget}"
        );
        let first = rows
            .iter()
            .filter_map(|row| row.instructed_s)
            .min_by(f64::total_cmp);
        match (first, before_is_over) {
            (Some(first), Some(over)) => {
                assert!(
                    first >= over,
                    "{what}: {name} begins at {first} s, the step before is over at {over} s"
                );
                assert!(
                    most * 2 > budget,
                    "{what}: {name} uses its budget: {most} of {budget}"
                );
            }
            (Some(first), None) => {
                panic!("{what}: {name} begins at {first} s, and the step before is never over")
            }
            (None, _) => {}
        }
        let ready: Option<Vec<f64>> = rows.iter().map(|row| row.ready_s).collect();
        before_is_over = ready.and_then(|ready| ready.into_iter().max_by(f64::total_cmp));
    }
}

/// Settings with which neither the client nor the CPU of the application controller limits a step.
const SHIPPED: &str = "argoCd: {generate: false, file: applicationset.yaml, applicationController: {clientQps: 0, syncsPerSecond: 1000000000000}}";
const PROPOSED: &str = "argoCdProposal: {file: applicationset.yaml}";

#[test]
fn a_rollout_with_failed_pulls_respects_budgets_and_the_order_of_steps() {
    for (strategy, set) in [(SHIPPED, rolling_sync()), (PROPOSED, rolling_update())] {
        for (release, faults) in [
            ("update", RELIABLE),
            ("update", PULLS_FAIL),
            ("initial", PULLS_FAIL),
        ] {
            let what = format!("{strategy} {release} {faults}");
            let record = run(release, faults, strategy, &set);
            assert_eq!(
                record.run.outcome,
                RunOutcome::Complete,
                "{what}: {}",
                record.run.held()
            );
            assert_eq!(
                (record.run.targets_done, record.run.held().as_str()),
                (1000, ""),
                "{what}"
            );
            assert_budgets_and_order(&record, &what);
            assert_eq!(record.run.failed_pulls > 0, faults != RELIABLE, "{what}");
        }
    }
}

#[test]
fn an_application_that_never_appears_blocks_its_step_indefinitely() {
    for (strategy, set) in [(SHIPPED, rolling_sync()), (PROPOSED, rolling_update())] {
        for faults in [
            "{pullFailure: 2%, offline: {share: 1%}}",
            "{defect: {share: 3%, crashAfter: 100 us}}",
        ] {
            let what = format!("{strategy} {faults}");
            let record = run("update", faults, strategy, &set);
            assert_budgets_and_order(&record, &what);
            assert_ne!(record.run.outcome, RunOutcome::Complete, "{what}");
            // The first step with a cluster that never becomes ready, and whether it has used up its budget.
            let steps = by_step(&record);
            let is_lost = |row: &&ClusterRow| row.offline || row.defective;
            let (number, rows) = (1..)
                .zip(steps.values())
                .find(|(_, rows)| rows.iter().any(is_lost))
                .expect("some");
            let held = &record.run.held();
            assert!(held.contains(&format!("step {number}")), "{what}: {held}");
            let rule = if strategy == SHIPPED {
                "rollingSync.steps"
            } else {
                "rollingUpdate.steps"
            };
            let lost = rows.iter().filter(|row| is_lost(row)).count();
            assert!(
                lost < BUDGETS[number - 1],
                "{what}: else maxUpdate would hold it"
            );
            assert!(held.starts_with(rule), "{what}: {held}");
            assert!(
                rows.iter()
                    .filter(|row| !is_lost(row))
                    .all(|row| row.ready_s.is_some()),
                "the step's others go on"
            );
            let told_later = steps
                .values()
                .skip(number)
                .flatten()
                .filter(|row| row.instructed_s.is_some())
                .count();
            assert_eq!(told_later, 0, "{what}: later steps do not begin");
        }
    }
}

#[test]
fn a_crash_after_healthy_was_seen_blocks_nothing_as_shipped() {
    let record = run("update", "{defect: {share: 3%}}", SHIPPED, &rolling_sync());
    assert_ne!(record.run.outcome, RunOutcome::Complete);
    assert!(
        record.clusters.iter().all(|row| row.instructed_s.is_some()),
        "Healthy is sticky: every step had its turn"
    );
    assert!(
        record
            .run
            .held()
            .starts_with("applicationStatus: the rollout is complete"),
        "{}",
        record.run.held()
    );
}

#[test]
fn changed_parameters_without_a_new_revision_are_lost_unless_the_bug_is_fixed() {
    let lost = run(
        "update",
        RELIABLE,
        "argoCd: {generate: false, file: applicationset.yaml, release: parameters}",
        &rolling_sync(),
    );
    assert_eq!(
        (lost.run.outcome, lost.run.targets_done),
        (RunOutcome::Stalled, 0),
        "argoproj/argo-cd#27949"
    );
    assert!(
        lost.run
            .held()
            .starts_with("applicationStatus: the rollout is complete"),
        "{}",
        lost.run.held()
    );
    let mended = "argoCd: {generate: false, file: applicationset.yaml, release: parameters, options: {keepSpecChanges: true}, \
                  applicationController: {clientQps: 0, syncsPerSecond: 1000000000000}}";
    let mended = run("update", RELIABLE, mended, &rolling_sync());
    assert_eq!(
        mended.run.outcome,
        RunOutcome::Complete,
        "{}",
        mended.run.held()
    );
    assert_budgets_and_order(&mended, "mended");
}

#[test]
fn a_policy_that_forbids_spec_changes_stops_the_rollout_and_the_passes() {
    for options in ["{}", "{keepSpecChanges: true}"] {
        let strategy = format!(
            "argoCd: {{generate: false, file: applicationset.yaml, applicationsSync: create-only, options: {options}}}"
        );
        let record = run("update", RELIABLE, &strategy, &rolling_sync());
        assert_eq!(
            (record.run.outcome, record.run.targets_done),
            (RunOutcome::Stalled, 0),
            "{options}"
        );
        let held =
            "applicationsSync: CreateOnly forbids writing a changed spec to 1000 applications (";
        assert!(
            record.run.held().starts_with(held),
            "{options}: {}",
            record.run.held()
        );
        assert!(
            record.passes.len() < 5,
            "{options}: nothing changes, and {} passes",
            record.passes.len()
        );
    }
}

#[test]
fn without_steps_applications_sync_by_themselves_or_not_at_all() {
    for release in ["update", "initial"] {
        let all = run(release, RELIABLE, SHIPPED, &application_set(""));
        assert_eq!(
            (all.run.outcome, all.run.targets_done),
            (RunOutcome::Complete, 1000),
            "{}",
            all.run.held()
        );
        assert_eq!(
            all.run.promotions, 1000,
            "the application controller syncs each once"
        );
        let of = |env: &'static str| {
            all.clusters
                .iter()
                .filter(move |row| row.cluster.starts_with(env))
        };
        let prod_begins = of("prod")
            .filter_map(|row| row.instructed_s)
            .min_by(f64::total_cmp);
        let staging_ends = of("staging")
            .filter_map(|row| row.ready_s)
            .max_by(f64::total_cmp);
        assert!(
            prod_begins < staging_ends,
            "nothing orders them: {prod_begins:?}, {staging_ends:?}"
        );
        assert!(all.clusters.iter().all(|row| row.stage.is_empty()));
        let nobody = run(
            release,
            RELIABLE,
            "argoCd: {generate: false, file: applicationset.yaml, autoSync: false}",
            &application_set(""),
        );
        assert_eq!(
            (nobody.run.outcome, nobody.run.targets_done),
            (RunOutcome::Stalled, 0)
        );
        assert!(
            nobody.run.held().starts_with("syncPolicy.automated"),
            "{}",
            nobody.run.held()
        );
    }
}

#[test]
fn applications_in_no_step_are_never_synced() {
    let set = rolling_sync().replace("values: [canary]", "values: [nowhere]");
    let record = run("update", RELIABLE, SHIPPED, &set);
    assert_eq!(
        (record.run.outcome, record.run.targets_done),
        (RunOutcome::Stalled, 950)
    );
    assert!(
        record
            .run
            .held()
            .starts_with("matchExpressions: no step selects 50 applications"),
        "{}",
        record.run.held()
    );
    assert!(
        by_step(&record)["no step"]
            .iter()
            .all(|row| row.instructed_s.is_none())
    );
}

#[test]
fn files_that_argo_cd_rejects_are_refused_with_line_and_reason() {
    let cases = [
        // strategy, the set, the message
        (
            SHIPPED,
            application_set("strategy:\n    type: RollingSync\n    rollingSync: {steps: []}"),
            "applicationset.yaml:10:19: spec.strategy.rollingSync.steps: strategy.rollingSync.steps is empty: Argo CD \
             3.6 then updates nothing (ApplicationSetRolloutError), and older versions update all applications at once",
        ),
        (
            SHIPPED,
            rolling_sync().replace("kind: ApplicationSet", "kind: Application"),
            "applicationset.yaml:2:1: kind: an object of kind `Application` cannot be used here",
        ),
        (
            SHIPPED,
            rolling_sync().replace("maxUpdate: 20", "maxUpdates: 20"),
            "applicationset.yaml:14:11: spec.strategy.rollingSync.steps[1].maxUpdates: unknown field `maxUpdates`",
        ),
        (
            "argoCd: {generate: false, file: applicationset.yaml, strategy: {type: RollingSync, rollingSync: {steps: []}}}",
            rolling_sync(),
            "experiment.yaml:17:109: strategies.tested.argoCd.strategy.rollingSync.steps: strategy.rollingSync.steps",
        ),
        (
            "argoCd: {options: {triggerTwice: true}}",
            rolling_sync(),
            "experiment.yaml:17:31: strategies.tested.argoCd.options.triggerTwice: unknown field `triggerTwice`",
        ),
        (
            PROPOSED,
            rolling_update().replace("maxUpdate: 20", "maxUpdate: many"),
            "applicationset.yaml:14:22: spec.strategy.rollingUpdate.steps[1].maxUpdate: \
             strategy.rollingUpdate.steps[1].maxUpdate is",
        ),
        (
            "argoCdProposal: {strategy: {type: Rolling}}",
            rolling_update(),
            "experiment.yaml:17:46: strategies.tested.argoCdProposal.strategy.type: strategy.type is `Rolling`; the \
             proposal has RollingUpdate and AllAtOnce",
        ),
    ];
    let mut differences = Vec::new();
    for (strategy, set, expected) in cases {
        let folder = folder("update", RELIABLE, strategy, &set);
        let error = load(folder.path(), &Overrides::default()).expect_err(strategy);
        let told: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
        if !told.iter().any(|problem| problem.contains(expected)) {
            differences.push(format!(
                "{strategy}\n  told:     {told:#?}\n  expected: {expected}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
