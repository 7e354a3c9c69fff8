//! Product objects that people delete in mid-rollout: an ApplicationSet of Argo CD, and a placement of KubeFleet.

use fleetsim::results::{RunOutcome, RunRecord};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;

use super::common::{fleetsim, folder_with, loaded, text};

/// An experiment with two applications of `first` and three of `last`, which are updated in this order. Pods need 20 s
/// to terminate.
fn experiment(strategy: &str, others: &str) -> String {
    format!(
        "name: deletions
seed: 1
replicates: 1
horizon: 2h
fleet:
  - {{name: 'a-{{1..2}}', labels: {{ring: first}}, nodes: 1, downlink: 1 Gbit/s}}
  - {{name: 'b-{{1..3}}', labels: {{ring: last}}, nodes: 1, downlink: 1 Gbit/s}}
release:
  kind: update
  images: [{{name: app, manifest: {{layers: [{{size: 10 MB}}]}}}}]
  workloads: [{{kind: Deployment, image: app, start: 5 min, readiness: {{period: 10 s}}, termination: 20 s}}]
{others}
strategies:
  s: {strategy}
"
    )
}

/// Steps by ring, in an ApplicationSet with these further fields of the spec and of the strategy.
fn set(order: &str, policy: &str, finalizers: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: shop, namespace: argocd}}
spec:
  goTemplate: true
  generators: [{{clusters: {{}}}}]
  strategy:
    type: RollingSync
    {order}
    rollingSync:
      steps:
        - matchExpressions: [{{key: ring, operator: In, values: [first]}}]
        - matchExpressions: [{{key: ring, operator: In, values: [last]}}]
  {policy}
  template:
    metadata: {{name: 'shop-{{{{.name}}}}'{finalizers}}}
    spec:
      project: default
      source: {{repoURL: https://example.com/shop.git, path: deploy, targetRevision: v2}}
      destination: {{server: '{{{{.server}}}}', namespace: shop}}
"
    )
}

const ARGO_CD: &str = "{argoCd: {generate: false, file: set.yaml}}";

/// The first step is ready after somewhat more than five minutes, and the second after ten.
const DELETED: &str = "changes: [{after: 6 min, delete: applicationSet}]";

fn run(set: &str, others: &str) -> RunRecord {
    let text = experiment(ARGO_CD, others);
    let folder = folder_with(&[("experiment.yaml", &text), ("set.yaml", set)]);
    let experiment = loaded(folder.path());
    sim::run_in_detail(&experiment.variants[0], experiment.seed, 0).expect("no process")
}

/// When the applications were shown as this, in order of time: seconds and the entry's name.
fn shown(record: &RunRecord, status: &str) -> Vec<(f64, String)> {
    let mut found = Vec::new();
    for row in &record.statuses {
        if row.condition == "deletion" && row.status == status {
            found.push((row.t_s, row.object.replace("Application/", "")));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

#[test]
fn a_deleted_set_removes_all_applications_and_ends_the_rollout() {
    let record = run(&set("", "", ""), DELETED);
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    assert_eq!(
        (record.run.removed_targets, record.run.targets_done),
        (Some(5), 0)
    );
    let held = record.run.held();
    assert!(
        held.starts_with(
            "deletionTimestamp: the ApplicationSet is deleted; 5 of 5 applications are gone with their resources"
        ),
        "{held}"
    );
    let gone = shown(&record, "Gone");
    assert_eq!(gone.len(), 5);
    // The garbage collector deletes all of them within a second; pods need 20 s.
    let (first, last) = (gone[0].0, gone[4].0);
    assert!((380.0..390.0).contains(&first), "{gone:?}");
    // The second step has new pods that start: they are gone without a grace period, the old ones with.
    assert!(last - first < 5.0, "{gone:?}");
}

#[test]
fn a_reversed_deletion_takes_one_application_at_a_time_and_the_last_step_first() {
    let record = run(&set("deletionOrder: reverse", "", ""), DELETED);
    let gone = shown(&record, "Gone");
    let terminating = shown(&record, "Terminating");
    assert_eq!(gone.len(), 5, "{terminating:?}");
    let mut order = Vec::new();
    for (_, name) in &terminating {
        order.push(name.as_str());
    }
    assert_eq!(order, ["b-1", "b-2", "b-3", "a-1", "a-2"]);
    // The next one begins once the controller sees that the one before is gone: after its pods' 20 s.
    for (next, before) in terminating[1..].iter().zip(&gone) {
        let after = next.0 - before.0;
        assert!((0.0..1.0).contains(&after), "{terminating:?} {gone:?}");
    }
    assert!(
        terminating[4].0 - terminating[0].0 > 80.0,
        "{terminating:?}"
    );
    assert_eq!(record.run.removed_targets, Some(5));
}

#[test]
fn resources_stay_with_preserve_and_without_the_right_to_delete() {
    let preserved = run(
        &set("", "syncPolicy: {preserveResourcesOnDeletion: true}", ""),
        DELETED,
    );
    assert_eq!(preserved.run.removed_targets, Some(0));
    assert_eq!(preserved.run.targets_done, 2, "the first step stays");
    assert_eq!(shown(&preserved, "Gone").len(), 5);
    let held = preserved.run.held();
    assert!(held.contains("without their resources"), "{held}");

    let kept = run(
        &set(
            "deletionOrder: Reverse",
            "syncPolicy: {applicationsSync: create-update}",
            "",
        ),
        DELETED,
    );
    assert_eq!(kept.run.removed_targets, Some(0));
    assert_eq!(shown(&kept, "Gone"), []);
    // The syncs of the second step have begun, and the applications end them without the set.
    assert_eq!(kept.run.targets_done, 5);
}

#[test]
fn an_offline_cluster_keeps_its_application_and_holds_a_reversed_deletion() {
    let away = format!(
        "{DELETED}\nfaults: {{regional: [{{selector: {{matchLabels: {{ring: last}}}}, windows: [{{from: 5.5 min, for: 10 min}}]}}]}}"
    );
    let record = run(&set("deletionOrder: Reverse", "", ""), &away);
    let gone = shown(&record, "Gone");
    assert_eq!(gone.len(), 5, "{:?}", record.run.held());
    // Back after 15.5 min: the next refresh deletes the resources.
    assert!(gone[0].0 > 930.0, "{gone:?}");

    let for_ever = away.replace("for: 10 min", "for: 100 h");
    let record = run(&set("deletionOrder: Reverse", "", ""), &for_ever);
    assert_eq!(record.run.removed_targets, Some(0));
    let held = record.run.held();
    assert!(held.contains("0 of 5 applications are gone"), "{held}");
    assert!(held.contains("5 are not gone"), "{held}");
}

/// The message with which an experiment is refused.
fn refused(set: &str, others: &str) -> String {
    let text = experiment(ARGO_CD, others);
    let folder = folder_with(&[("experiment.yaml", &text), ("set.yaml", set)]);
    let error = load(folder.path(), &Overrides::default()).expect_err("it is refused");
    error.render(false)
}

#[test]
fn what_is_not_simulated_of_a_deletion_is_refused() {
    let finalizer = refused(
        &set(
            "",
            "",
            ", finalizers: [post-delete-finalizer.argocd.argoproj.io]",
        ),
        DELETED,
    );
    assert!(
        finalizer.contains("post-delete-finalizer.argocd.argoproj.io"),
        "{finalizer}"
    );
    let placement = refused(
        &set("", "", ""),
        "changes: [{after: 1 min, delete: placement}]",
    );
    assert!(placement.contains("delete: applicationSet"), "{placement}");
    let later = refused(
        &set("", "", ""),
        "changes: [{after: 1 min, delete: applicationSet}, {after: 2 min, release: installed}]",
    );
    assert!(later.contains("is deleted after"), "{later}");
    let hub = experiment(
        "{kubeFleetStaged: {stages: [{name: all, labelSelector: {}}]}}",
        "changes: [{after: 1 min, delete: applicationSet}]",
    );
    let folder = folder_with(&[("experiment.yaml", &hub)]);
    let error = load(folder.path(), &Overrides::default()).expect_err("it is refused");
    assert!(
        error
            .render(false)
            .contains("KubeFleet has no ApplicationSet")
    );
}

const STAGES: &str = "{kubeFleetStaged: {stages: [\
    {name: first, labelSelector: {matchLabels: {ring: first}}, maxConcurrency: 2}, \
    {name: last, labelSelector: {matchLabels: {ring: last}}, maxConcurrency: 3}]}}";

#[test]
fn a_deleted_placement_removes_its_workloads_from_all_clusters() {
    let text = experiment(STAGES, "changes: [{after: 6 min, delete: placement}]");
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let experiment = loaded(folder.path());
    let record =
        sim::run_in_detail(&experiment.variants[0], experiment.seed, 0).expect("no process");
    assert_eq!(record.run.outcome, RunOutcome::Stalled);
    assert_eq!(
        (record.run.removed_targets, record.run.targets_done),
        (Some(5), 0),
        "those that were updated lose their workloads, too"
    );
    let held = record.run.held();
    assert!(held.contains("parent placement not found"), "{held}");
    assert!(
        held.contains("the placement is deleted, and 5 of 5 clusters have lost their workloads"),
        "{held}"
    );
}

#[test]
fn a_cluster_that_the_hub_does_not_reach_keeps_its_workloads() {
    let others = "changes: [{after: 6 min, delete: placement}]\n\
        faults: {regional: [{selector: {matchLabels: {ring: last}}, windows: [{from: 5 min, for: 100 h}]}]}";
    let text = experiment(STAGES, others);
    let folder = folder_with(&[("experiment.yaml", &text)]);
    let experiment = loaded(folder.path());
    let record =
        sim::run_in_detail(&experiment.variants[0], experiment.seed, 0).expect("no process");
    assert_eq!(record.run.removed_targets, Some(2));
    let held = record.run.held();
    assert!(
        held.contains(
            "2 of 5 clusters have lost their workloads; the hub does not reach the others: b-1, b-2"
        ),
        "{held}"
    );
}

#[test]
fn the_answer_says_which_targets_have_lost_their_workloads() {
    let experiment = experiment(STAGES, "changes: [{after: 6 min, delete: placement}]");
    let folder = folder_with(&[("experiment.yaml", &experiment)]);
    let done = fleetsim(folder.path())
        .args(["run", "experiment.yaml", "--out", "out"])
        .output()
        .expect("it runs");
    let words = text(&done.stdout);
    let line = words
        .lines()
        .find(|line| line.trim_start().starts_with("left"));
    assert!(
        line.is_some_and(|line| line.contains("5 of 5 member clusters have lost")),
        "{words}"
    );
    assert!(!words.contains("on the old version"), "{words}");
}
