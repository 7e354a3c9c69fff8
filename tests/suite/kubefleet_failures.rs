//! Applies that fail under KubeFleet, in complete simulations of a small fleet.
//!
//! An apply takes 1 s in its cluster. The source for the reactions to a failure is the product's code
//! (`docs/schedulers.md`).

use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::sim;

use super::common::{folder_with, loaded};

const STAGED: &str =
    "kubeFleetStaged: {stages: [{name: all, labelSelector: {}, maxConcurrency: 4}]}";
const ROLLING: &str = "kubeFleetRolling: {maxUnavailable: 40%}";

/// Simulates the update of ten clusters with this strategy and these failing applies.
fn update(strategy: &str, applies: &str) -> RunRecord {
    run(strategy, &format!("faults: {{apply: {applies}}}"))
}

/// Simulates the update of ten clusters with this strategy and these further sections of the experiment.
fn run(strategy: &str, sections: &str) -> RunRecord {
    let text = format!(
        "name: failures
question: What does a failed apply do?
seed: 5
replicates: 1
horizon: 24h
fleet: [{{name: 'c-{{01..10}}', nodes: 1}}]
release:
  images: [{{name: shop, manifest: {{layers: [{{size: 5 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: shop}}]
{sections}
agent: {{instructionDelay: 0 s, apply: 1 s, applySpread: 0, reportDelay: 0 s}}
strategies:
  tested: {{{strategy}}}
"
    );
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let experiment = loaded(folder.path());
    sim::run_in_detail(&experiment.variants[0], experiment.seed, 0)
        .expect("the strategy starts no process")
}

/// Returns the seconds from the instruction of a cluster to its apply.
fn took(record: &RunRecord, name: &str) -> f64 {
    let row = record.clusters.iter().find(|row| row.cluster == name);
    let row = row.expect("the cluster exists");
    row.applied_s.expect("applied") - row.instructed_s.expect("instructed")
}

#[test]
fn clusters_that_reject_their_work_keep_their_slots_and_are_named() {
    let words = "Applied is False on c-02, c-04 (Failed to apply the manifest (error: an error is returned by the \
                 API server: admission webhook denied the request))";
    for strategy in [STAGED, ROLLING] {
        let record = update(strategy, "[{clusters: [c-02, c-04], kind: rejected}]");
        assert_eq!(record.run.outcome, RunOutcome::Stalled, "{strategy}");
        assert_eq!(
            record.run.targets_done, 8,
            "{strategy}: the others go through"
        );
        let held = record.run.held();
        assert!(held.contains(words), "{held}");
        let mut rows = record
            .statuses
            .iter()
            .filter(|row| row.condition == "failedPlacements");
        let row = rows
            .find(|row| row.object.contains("c-04"))
            .expect("it is shown");
        assert_eq!(
            (&*row.status, &*row.reason),
            ("False", "ManifestApplyFailed")
        );
        assert!(
            row.message
                .ends_with("admission webhook denied the request)"),
            "{row:?}"
        );
    }
}

#[test]
fn failing_clusters_use_up_the_limit_of_both_kinds_of_rollout() {
    for (strategy, rule) in [(STAGED, "maxConcurrency"), (ROLLING, "maxUnavailable")] {
        let record = update(strategy, "[{share: 100%, kind: immutable}]");
        assert_eq!(record.run.outcome, RunOutcome::Stalled, "{strategy}");
        let instructed = record
            .clusters
            .iter()
            .filter(|row| row.instructed_s.is_some());
        assert_eq!(instructed.count(), 4, "{strategy}");
        assert_eq!(record.run.held_by, rule, "{strategy}");
    }
}

#[test]
fn a_failed_apply_is_tried_again_at_the_checks_of_the_agent() {
    for strategy in [STAGED, ROLLING] {
        let record = update(
            strategy,
            "[{clusters: [c-01], kind: rejected, attempts: 4}]",
        );
        assert_eq!(
            record.run.outcome,
            RunOutcome::Complete,
            "{}",
            record.run.held()
        );
        // Five applies take 1 s each, with waits of 5, 2, 2.4 and 2.88 s between them. The work generator runs before
        // the first.
        let more = took(&record, "c-01") - took(&record, "c-02");
        assert!((more - (4.0 + 12.28)).abs() < 0.5, "{strategy}: {more}");
        let last = record
            .statuses
            .iter()
            .rev()
            .find(|row| row.condition == "failedPlacements");
        assert_eq!(
            last.expect("it was shown").status,
            "",
            "{strategy}: it no longer fails"
        );
    }
}

#[test]
fn a_failure_of_the_release_before_is_not_one_of_the_release_that_is_wanted() {
    // The apply of the first release fails after a minute, when the Work already has the second one.
    for strategy in [STAGED, ROLLING] {
        let record = run(
            strategy,
            "faults: {apply: [{clusters: [c-01], kind: rejected, after: 60 s}]}
releases: [{at: 0 s}, {at: 30 s, images: [{name: shop, manifest: {layers: [{size: 1 MB}]}}]}]",
        );
        assert_eq!(record.run.outcome, RunOutcome::Complete, "{strategy}");
        let row = record.clusters.iter().find(|row| row.cluster == "c-01");
        let applied = row.expect("the cluster exists").applied_s;
        assert!(
            applied.is_some_and(|at| at > 60.0),
            "{strategy}: {applied:?}"
        );
        for row in &record.statuses {
            let is_shown = row.condition == "failedPlacements" && row.status == "False";
            assert!(!is_shown, "{strategy}: {row:?}");
        }
    }
}
