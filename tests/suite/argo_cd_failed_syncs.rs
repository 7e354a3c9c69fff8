//! Syncs that fail under Argo CD, in complete simulations of a small fleet.
//!
//! An attempt takes 1 s in its cluster. Ten canaries are the first step, twenty others the second. The source for the
//! reactions to a failure is the product's code (`docs/schedulers.md`).

use fleetsim::results::{ClusterRow, RunOutcome, RunRecord};
use fleetsim::sim;

use super::common::{folder_with, loaded};

const STEPS: &str = "strategy: {type: RollingSync, rollingSync: {steps: [
        {matchExpressions: [{key: env, operator: In, values: [canary]}]},
        {matchExpressions: [{key: env, operator: In, values: [prod]}]}]}}
      options: {triggerOnce: true}";

/// An ApplicationSet whose template repeats a failed sync endlessly.
const ENDLESS: &str = "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: app}
spec:
  generators: [{clusters: {}}]
  template:
    metadata: {name: '{{name}}'}
    spec:
      syncPolicy: {automated: {}, retry: {limit: -1}}
";

/// Simulates the update with this `argoCd`, these settings of the application controller and these failing applies.
fn update(strategy: &str, settings: &str, applies: &str) -> RunRecord {
    let text = format!(
        "name: failures
question: What does a failed sync do?
seed: 5
replicates: 1
horizon: 24h
fleet:
  - {{name: 'canary-{{01..10}}', labels: {{env: canary}}}}
  - {{name: 'prod-{{01..20}}', labels: {{env: prod}}}}
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, readiness: {{period: 10 s}}}}]
faults: {{apply: {applies}}}
agent: {{instructionDelay: 0 s, apply: 1 s, applySpread: 0, reportDelay: 0 s}}
controller: {{request: 10 ms, watchDelay: 1 s}}
strategies:
  tested:
    argoCd:
      {strategy}
      applicationController: {{clientQps: 0, syncsPerSecond: 1000000000000, {settings}}}
"
    );
    let folder = folder_with(&[("experiment.yaml", &text), ("applicationset.yaml", ENDLESS)]);
    let experiment = loaded(folder.path());
    sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
        .expect("the strategy starts no process")
}

fn cluster<'r>(record: &'r RunRecord, name: &str) -> &'r ClusterRow {
    let row = record.clusters.iter().find(|row| row.cluster == name);
    row.expect("the cluster exists")
}

/// Returns the seconds from the first attempt in a cluster to the last one, which succeeds.
fn span(record: &RunRecord, name: &str) -> f64 {
    let row = cluster(record, name);
    row.applied_s.expect("applied") - row.instructed_s.expect("instructed")
}

/// Returns the last message of an application's operation.
fn last_message(record: &RunRecord, name: &str) -> String {
    let object = format!("Application/{name}");
    let rows = record.statuses.iter().rev();
    let mut rows = rows.filter(|row| row.object == object && row.condition == "operationState");
    let row = rows.next().expect("it is shown");
    format!("{}: {}", row.status, row.message)
}

fn assert_near(found: f64, expected: f64) {
    assert!(
        (expected..expected + 12.0).contains(&found),
        "{found} s, not {expected} s"
    );
}

#[test]
fn a_rejected_sync_is_repeated_five_times_and_holds_its_step() {
    let applies = "[{clusters: [canary-03, canary-07], kind: rejected}]";
    let record = update(STEPS, "", applies);
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    assert_eq!(record.run.targets_done, 8, "the step's others arrive");
    let held = record.run.held();
    let words = "rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 2 applications (canary-03, \
                 canary-07) Progressing, OutOfSync, Healthy, operation Failed (one or more objects failed to apply, \
                 reason: admission webhook denied the request (retried 5 times).); 20 applications";
    assert!(held.starts_with(words), "{held}");
    // Six attempts take 1 s each, with waits of 10 + 20 + 40 + 80 + 160 s between them.
    assert_near(record.run.end_s, 316.0);
    assert_eq!(
        last_message(&record, "canary-07"),
        "Failed: one or more objects failed to apply, reason: admission webhook denied the request (retried 5 times)."
    );
    let running = "one or more objects failed to apply, reason: admission webhook denied the request. Retrying attempt #2";
    let mut shown = record.statuses.iter();
    assert!(shown.any(|row| row.status == "Running" && row.message == running));
}

#[test]
fn each_kind_of_failure_has_the_products_message_and_nothing_is_rolled_back() {
    for (kind, words) in [
        ("rejected", "reason: admission webhook denied the request"),
        (
            "immutable",
            "reason: Forbidden: updates to statefulset spec",
        ),
        (
            "hook",
            "one or more synchronization tasks completed unsuccessfully",
        ),
        (
            "timeout",
            "reason: failed calling webhook: context deadline exceeded",
        ),
    ] {
        let record = update(STEPS, "", &format!("[{{share: 100%, kind: {kind}}}]"));
        assert_eq!(record.run.outcome, RunOutcome::Stalled, "{kind}");
        let held = record.run.held();
        assert!(
            held.contains(words) && held.contains("(retried 5 times)"),
            "{held}"
        );
        assert!(
            record.clusters.iter().all(|row| row.applied_s.is_none()),
            "{kind}"
        );
    }
}

#[test]
fn a_sync_that_fails_for_a_while_arrives_with_a_later_attempt() {
    let record = update(STEPS, "", "[{share: 100%, kind: rejected, attempts: 3}]");
    assert_eq!(
        record.run.outcome,
        RunOutcome::Complete,
        "{}",
        record.run.held()
    );
    // The fourth attempt succeeds, after waits of 10 + 20 + 40 s.
    for row in &record.clusters {
        assert!((span(&record, &row.cluster) - 74.0).abs() < 0.1, "{row:?}");
    }
    assert_eq!(last_message(&record, "canary-01"), "Succeeded: ");
}

#[test]
fn a_hook_occupies_no_processor_and_a_webhook_does() {
    // There are ten processors, and ten canaries fail for half an hour before the other clusters begin.
    let told = |kind: &str| {
        let applies = format!(
            "[{{clusters: [canary-01, canary-02, canary-03, canary-04, canary-05, canary-06, canary-07, canary-08, \
             canary-09, canary-10], kind: {kind}, after: 30m, attempts: 1}}]"
        );
        let record = update("autoSync: true", "", &applies);
        assert_eq!(record.run.outcome, RunOutcome::Complete);
        let others = record
            .clusters
            .iter()
            .filter(|row| row.cluster.starts_with("prod"));
        let times = others.map(|row| row.instructed_s.expect("instructed"));
        times.max_by(f64::total_cmp).expect("there are others")
    };
    assert!(told("hook") < 10.0);
    assert_near(told("timeout"), 1800.0);
}

#[test]
fn a_time_out_ends_a_hook_immediately_and_is_not_repeated() {
    let hangs = "[{clusters: [canary-03], kind: hook, after: 30m}]";
    let record = update(STEPS, "syncTimeout: 5m", hangs);
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    // A row leaves Pending only after a comparison, and the first one comes with the end of the operation. So the pass
    // that sees this end requests the sync once more.
    assert_near(record.run.end_s, 2.0 * 300.0);
    let held = record.run.held();
    let words = "operation Failed (Operation terminated, triggered by controller sync timeout)";
    assert!(held.contains(words), "{held}");
    // Without the time-out, there are six hooks of half an hour.
    assert_near(update(STEPS, "", hangs).run.end_s, 6.0 * 1800.0 + 310.0);
}

#[test]
fn a_time_out_covers_all_attempts_and_waits_for_an_attempt_that_is_applying() {
    // Attempts begin after 0, 11 and 32 s; the next would begin after 73 s.
    let record = update(
        STEPS,
        "syncTimeout: 1m",
        "[{clusters: [canary-03], kind: rejected}]",
    );
    assert_near(record.run.end_s, 60.0);
    let words =
        "Failed: Operation terminated, triggered by controller sync timeout (retried 3 times).";
    assert_eq!(last_message(&record, "canary-03"), words);
    let slow = "[{clusters: [canary-03], kind: timeout, after: 5m}]";
    let record = update(STEPS, "syncTimeout: 1m", slow);
    assert_near(record.run.end_s, 2.0 * 300.0);
    let words = "Failed: Operation terminated, triggered by controller sync timeout";
    assert_eq!(last_message(&record, "canary-03"), words);
    // A time-out that is not reached changes nothing.
    let record = update(
        STEPS,
        "syncTimeout: 1h",
        "[{share: 50%, kind: rejected, attempts: 1}]",
    );
    assert_eq!(record.run.outcome, RunOutcome::Complete);
}

#[test]
fn a_set_without_steps_does_not_touch_a_failed_application() {
    let record = update(
        "autoSync: true",
        "",
        "[{clusters: [prod-05], kind: rejected}]",
    );
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    assert_eq!(record.run.targets_done, 29);
    let held = record.run.held();
    assert!(
        held.contains("1 application (prod-05) OutOfSync, Healthy, operation Failed"),
        "{held}"
    );
    assert_near(record.run.end_s, 316.0);
}

#[test]
fn endless_retries_of_a_permanent_failure_do_not_keep_a_run_alive() {
    let strategy = "generate: false\n      file: applicationset.yaml";
    let record = update(strategy, "", "[{clusters: [prod-05], kind: rejected}]");
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    let held = record.run.held();
    assert!(
        held.contains("operation Running (one or more objects failed to apply"),
        "{held}"
    );
    let record = update(
        strategy,
        "",
        "[{clusters: [prod-05], kind: rejected, attempts: 12}]",
    );
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    // The waits between thirteen attempts are 10 + 20 + 40 + 80 + 160 + 7 · 180 s.
    assert!((span(&record, "prod-05") - 1583.0).abs() < 0.1);
}
