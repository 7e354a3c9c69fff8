//! Several releases of one application, and people who react: from the file to the results, with times and bytes by
//! hand.

mod operators;

use fleetsim::results::{ReleaseRow, RunOutcome, RunRecord};
use fleetsim::sim;

use super::common::{folder_with, loaded};

/// The number of clusters, each with two nodes that pull 40 MB for the first release.
const CLUSTERS: u64 = 8;
/// Bytes of the configuration that each pull brings.
const CONFIG: u64 = 2 * 1_000_000;

/// The clusters and the release. Containers start in 5 s, and only pulls, starts and probes take time that matters.
const WORLD: &str = "name: releases
seed: 1
replicates: 1
horizon: 12h
fleet: [{name: 'c-{1..8}', nodes: 2, downlink: 100 Mbit/s, rtt: 1 ms, labels: {ring: all}}]
agent: {applySpread: 0}
";

const RELEASE: &str = "release:
  kind: update
  images:
    - name: app
      manifest: {config: 1 MB, layers: [{size: 60 MB, digest: base}, {size: 40 MB}]}
      previous: {config: 1 MB, layers: [{size: 60 MB, digest: base}, {size: 39 MB}]}
  workloads: [{kind: Deployment, image: app, replicas: 2, start: 5 s, readiness: {period: 10 s}}]
";

/// The releases of the experiment, with a fix of 10 MB.
const FIX: &str = "images: [{name: app, manifest: {config: 1 MB, layers: [{size: 60 MB, digest: base}, {size: 10 MB}]}}]";

/// A strategy of each product that updates a quarter of the clusters at a time.
const PRODUCTS: &[(&str, &str)] = &[
    ("Argo CD, RollingSync", "argoCd: {file: set.yaml}"),
    (
        "Argo CD, by commit",
        "argoCd: {file: set.yaml, release: commit, webhook: true}",
    ),
    (
        "Rancher Fleet",
        "rancherFleet: {maxUnavailable: 25%, autoPartitionSize: 100%}",
    ),
    (
        "KubeFleet, rolling update",
        "kubeFleetRolling: {maxUnavailable: 25%}",
    ),
    ("KubeFleet, staged", "kubeFleetStaged: {file: staged.yaml}"),
    (
        "Cloud Foundry, rolling",
        "cloudFoundry: {strategy: rolling, maxInFlight: 2}",
    ),
    ("batches", "batches: {size: 2}"),
];

const SET: &str = "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop, namespace: argocd}
spec:
  goTemplate: true
  generators: [{clusters: {}}]
  strategy:
    type: RollingSync
    rollingSync:
      steps: [{matchExpressions: [{key: ring, operator: In, values: [all]}], maxUpdate: 25%}]
  template:
    metadata: {name: 'shop-{{.name}}', labels: {ring: all}}
    spec:
      project: default
      source: {repoURL: https://example.com/shop.git, path: deploy, targetRevision: v2}
      destination: {server: '{{.server}}', namespace: shop}
";

const STAGED: &str = "apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: all}
spec:
  stages: [{name: all, labelSelector: {matchLabels: {ring: all}}, maxConcurrency: 25%}]
";

/// Runs an experiment with these further sections.
fn run(strategy: &str, sections: &str) -> RunRecord {
    let text = format!("{WORLD}{RELEASE}{sections}\nstrategies: {{s: {{{strategy}}}}}\n");
    let folder = folder_with(&[
        ("experiment.yaml", &text),
        ("set.yaml", SET),
        ("staged.yaml", STAGED),
    ]);
    let experiment = loaded(folder.path());
    sim::run(&experiment.variants[0], experiment.seed, 0).expect("no process")
}

/// The releases of a run, which must be this many.
fn releases<const N: usize>(product: &str, record: &RunRecord) -> [ReleaseRow; N] {
    let found = record.releases.clone();
    found
        .try_into()
        .unwrap_or_else(|found: Vec<ReleaseRow>| panic!("{product}: {found:?}"))
}

/// Asserts that all targets run what the last release publishes.
fn assert_complete(product: &str, record: &RunRecord) {
    assert_eq!(
        record.run.outcome,
        RunOutcome::Complete,
        "{product}: {:?}",
        record.run.held()
    );
    let last = record.releases.last().expect("a release");
    assert_eq!(last.targets_done, CLUSTERS, "{product}");
    assert!(last.completion_s.is_some(), "{product}");
}

#[test]
fn a_rollback_after_the_rollout_pulls_nothing() {
    for (product, strategy) in PRODUCTS {
        let record = run(strategy, "releases: [{at: 0 s}, {at: 2h, rollback: true}]");
        assert_complete(product, &record);
        let [first, back] = releases(product, &record);
        assert_eq!(
            (first.content.as_str(), back.content.as_str()),
            ("content 1", "installed")
        );
        assert_eq!(
            first.egress_bytes,
            CLUSTERS * 2 * (40_000_000 + CONFIG / 2),
            "{product}"
        );
        assert_eq!(back.egress_bytes, 0, "{product}");
        assert_eq!(
            (first.targets_done, back.targets_done),
            (CLUSTERS, CLUSTERS),
            "{product}"
        );
        let completion = back.completion_s.expect("all are back");
        let whole = record.run.completion_s.expect("complete");
        let published = back.published_s.expect("published");
        assert!((published - 7200.0).abs() < 1.0, "{product}: {published}");
        assert!((whole - published - completion).abs() < 1e-6, "{product}");
        assert!(
            completion > 1.0,
            "{product}: each cluster replaces its pods"
        );
        assert!(
            (record.run.path_people_s.expect("a path") - published).abs() < 1.0,
            "{product}"
        );
    }
}

#[test]
fn a_release_in_mid_rollout_supersedes_the_first_one() {
    for (product, strategy) in PRODUCTS {
        let record = run(
            strategy,
            &format!("releases: [{{at: 0 s}}, {{at: 30 s, {FIX}}}]"),
        );
        assert_complete(product, &record);
        let [first, second] = releases(product, &record);
        assert!(first.targets_done < CLUSTERS, "{product}");
        assert_eq!(first.completion_s, None, "{product}");
        assert_eq!(first.superseded_s, second.published_s, "{product}");
        assert_eq!(second.content, "content 2");
        let of_the_fix = CLUSTERS * 2 * (10_000_000 + CONFIG / 2);
        assert!(record.run.egress_bytes >= of_the_fix, "{product}");
        assert!(
            record.run.egress_bytes < of_the_fix + CLUSTERS * 2 * 41_000_000,
            "{product}: some nodes never pull the first release"
        );
        assert_eq!(
            record.run.egress_bytes,
            first.egress_bytes + second.egress_bytes,
            "{product}"
        );
    }
}

#[test]
fn a_rollback_in_mid_rollout_leaves_no_target_on_the_new_revision() {
    for (product, strategy) in PRODUCTS {
        let record = run(
            strategy,
            "releases: [{at: 0 s}, {at: 30 s, rollback: true}]",
        );
        assert_complete(product, &record);
        let [first, back] = releases(product, &record);
        assert!(first.targets_done < CLUSTERS, "{product}");
        assert!(
            back.completion_s
                .is_some_and(|completion| completion < 600.0),
            "{product}"
        );
    }
}

#[test]
fn one_application_has_the_same_releases_in_both_forms() {
    let (product, strategy) = PRODUCTS[0];
    let releases = format!("releases: [{{at: 0 s}}, {{at: 30 s, {FIX}}}]");
    let alone = run(strategy, &releases);
    let indented = RELEASE.replace('\n', "\n    ");
    let text = format!(
        "{WORLD}applications:\n  shop:\n    {indented}{releases}\nstrategies: {{s: {{{strategy}}}}}\n"
    );
    let folder = folder_with(&[
        ("experiment.yaml", &text),
        ("set.yaml", SET),
        ("staged.yaml", STAGED),
    ]);
    let experiment = loaded(folder.path());
    let named = sim::run(&experiment.variants[0], experiment.seed, 0).expect("no process");
    assert_eq!(alone.run, named.run, "{product}");
}
