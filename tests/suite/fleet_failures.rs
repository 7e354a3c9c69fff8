//! Applies that fail under Rancher Fleet, in complete simulations of a small fleet.
//!
//! An apply takes 1 s, and its pods answer their probe 180 to 190 s after they start. At most half of the ten clusters
//! are unavailable at a time. Fleet's source shows that it retries (`docs/schedulers.md`).

use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;
use tempfile::TempDir;

use super::common::{folder_with, loaded};

/// Simulates the update of ten clusters with the given `helm` section of fleet.yaml and the given faults.
fn update(helm: &str, faults: &str) -> RunRecord {
    let folder = folder(helm, faults, "");
    let experiment = loaded(folder.path());
    sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
        .expect("the strategy starts no process")
}

/// Creates a folder with that experiment and more settings of the strategy.
fn folder(helm: &str, faults: &str, more: &str) -> TempDir {
    let text = format!(
        "name: failures
question: What does a failed apply do?
seed: 5
replicates: 1
horizon: 3h
fleet: [{{name: 'c-{{01..10}}', nodes: 1}}]
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop, readiness: {{initialDelay: 3 min, period: 10 s}}}}]
faults: {faults}
agent: {{instructionDelay: 0 s, apply: 1 s, applySpread: 0, reportDelay: 0 s}}
strategies:
  tested: {{rancherFleet: {{file: fleet.yaml{more}}}}}
"
    );
    let bundle = format!("helm: {helm}\nrolloutStrategy: {{maxUnavailable: 50%}}\n");
    folder_with(&[("experiment.yaml", &text), ("fleet.yaml", &bundle)])
}

/// Returns whether the message of the bundle's `Ready` condition ever contains `text`.
fn shows(record: &RunRecord, text: &str) -> bool {
    record.statuses.iter().any(|row| {
        row.object == "Bundle/app" && row.condition == "Ready" && row.message.contains(text)
    })
}

fn instructed(record: &RunRecord) -> usize {
    let clusters = record.clusters.iter();
    clusters.filter(|row| row.instructed_s.is_some()).count()
}

#[test]
fn without_a_time_out_no_apply_fails() {
    let record = update("{timeoutSeconds: 0}", "{}");
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert!(!shows(&record, "ErrApplied"));
}

#[test]
fn after_a_time_out_a_retry_finds_the_pods_ready() {
    let record = update("{timeoutSeconds: 60}", "{}");
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert!(shows(
        &record,
        "[Cluster fleet-default/c-01: resource not ready: context deadline exceeded]"
    ));
    // Two groups of five clusters are updated one after the other. In each group, the third wait of 1 + 60 s ends when
    // the pods are ready.
    let completion = record.run.completion_s.expect("it is complete");
    assert!(
        (2.0 * 181.0..2.0 * 200.0).contains(&completion),
        "{completion}"
    );
}

#[test]
fn a_rolled_back_apply_never_succeeds() {
    for helm in ["{timeoutSeconds: 60, atomic: true}", "{atomic: true}"] {
        let record = update(helm, "{}");
        assert_eq!(record.run.outcome, RunOutcome::Horizon, "{helm}");
        assert_eq!(record.run.targets_done, 0, "{helm}");
        assert_eq!(
            instructed(&record),
            5,
            "{helm}: maxUnavailable holds the others"
        );
        let held = record.run.held();
        let message = "5 clusters (c-01, c-02, c-03 and 2 more) are ErrApplied (release app failed, and has been rolled \
                       back due to rollback-on-failure being set: resource not ready: context deadline exceeded)";
        assert!(held.contains(message), "{helm}: {held}");
    }
}

#[test]
fn with_atomic_an_apply_succeeds_if_pods_are_ready_in_time() {
    let record = update("{timeoutSeconds: 300, atomic: true}", "{}");
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert!(!shows(&record, "ErrApplied"));
}

#[test]
fn clusters_that_reject_the_apply_use_up_the_limit_and_are_named() {
    let faults = "{apply: [{clusters: [c-02, c-04], kind: rejected}]}";
    let record = update("{chart: ./chart}", faults);
    // The two failed clusters occupy two of five slots; the other eight clusters use the remaining slots.
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    assert_eq!(record.run.targets_done, 8);
    let held = record.run.held();
    let words = "2 clusters (c-02, c-04) are assigned the new version and ErrApplied (admission webhook denied the \
                 request)";
    assert!(held.contains(words), "{held}");
    assert!(shows(
        &record,
        "[Cluster fleet-default/c-02: admission webhook denied the request]"
    ));
}

#[test]
fn an_apply_that_fails_for_a_while_succeeds_and_one_that_always_fails_blocks_the_others() {
    let record = update("{}", "{apply: [{share: 100%, kind: hook, attempts: 3}]}");
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    assert!(shows(&record, "pre-upgrade hooks failed"));
    let record = update("{}", "{apply: [{share: 100%, kind: timeout}]}");
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    assert_eq!((record.run.targets_done, instructed(&record)), (0, 5));
    assert!(
        record
            .run
            .held()
            .contains("failed calling webhook: context deadline exceeded")
    );
}

#[test]
fn a_field_that_must_not_change_ends_the_apply_for_good() {
    // A single failure has the same effect, because Fleet does not try again.
    for helm in ["{}", "{atomic: true, timeoutSeconds: 600}"] {
        let faults = "{apply: [{clusters: [c-02, c-04], kind: immutable, attempts: 1}]}";
        let record = update(helm, faults);
        assert_eq!(record.run.outcome, RunOutcome::Stalled, "{helm}");
        assert_eq!(record.run.targets_done, 8, "{helm}");
        let held = record.run.held();
        assert!(
            held.contains(
                "2 clusters (c-02, c-04) are assigned the new version and NotReady (not installed: "
            ),
            "{held}"
        );
        assert!(
            held.contains("Forbidden: updates to statefulset spec"),
            "{held}"
        );
        assert!(
            shows(
                &record,
                "NotReady(2) [Cluster fleet-default/c-02: not installed: "
            ),
            "{helm}"
        );
        assert!(!shows(&record, "ErrApplied"), "{helm}");
    }
}

#[test]
fn a_time_out_of_the_api_server_hits_the_listed_clusters_only() {
    let faults = "{apply: [{clusters: [c-03], kind: timeout, attempts: 2}]}";
    let record = update("{}", faults);
    assert_eq!(record.run.outcome, RunOutcome::Complete);
    for row in &record.clusters {
        let took = row.applied_s.expect("applied") - row.instructed_s.expect("instructed");
        // An apply takes 1 s, a webhook adds 10 s, and the back-offs are 5 and 10 ms.
        let expected = if row.cluster == "c-03" { 23.015 } else { 1.0 };
        assert!((took - expected).abs() < 0.01, "{}: {took} s", row.cluster);
    }
    let message = "[Cluster fleet-default/c-03: failed calling webhook: context deadline exceeded]";
    assert!(shows(&record, message));
}

#[test]
fn atomic_is_refused_for_versions_whose_helm_ends_the_apply() {
    let refused = |version: &str| {
        let folder = folder("{atomic: true}", "{}", &format!(", version: '{version}'"));
        load(folder.path(), &Overrides::default())
            .err()
            .map(|error| error.to_string())
    };
    for version in ["0.13", "0.14"] {
        let error = refused(version).expect("it is refused");
        assert!(
            error.contains("`helm.atomic` is not simulated for Rancher Fleet before 0.15"),
            "{error}"
        );
        assert!(
            error.contains("fleet.yaml:1"),
            "the place is in the user's file: {error}"
        );
    }
    for version in ["0.15", "0.16"] {
        assert_eq!(refused(version), None, "{version}");
    }
}
