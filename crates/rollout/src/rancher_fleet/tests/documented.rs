//! Every numeric statement of Fleet's document holds under the documented rules, for first deployments and for
//! updates alike.
//!
//! The statements are from "Rollout Strategy" in the SUSE Rancher Prime Continuous Delivery documentation.

use super::*;

#[test]
fn partitions_have_the_documented_sizes() {
    let cases: [(&str, usize, &[usize], &str); 8] = [
        (
            "{autoPartitionSize: 25%}",
            230,
            &[57, 57, 57, 57, 2],
            "four partitions of 57 clusters, one of 2",
        ),
        (
            "{autoPartitionSize: 25%}",
            200,
            &[50; 4],
            "200 clusters and 25 %: four partitions of 50",
        ),
        ("{}", 200, &[50; 4], "the same by default"),
        ("{}", 199, &[199], "fewer than 200: a single partition"),
        (
            "{}",
            50,
            &[50],
            "50 clusters would be in a single partition",
        ),
        (
            "{autoPartitionThreshold: 50, autoPartitionSize: 50%}",
            50,
            &[25; 2],
            "unless the threshold is 50",
        ),
        (
            "{autoPartitionThreshold: 0}",
            500,
            &[500],
            "0 forces all clusters into a single partition",
        ),
        (
            "{maxUnavailablePartitions: 1, autoPartitionSize: 10%}",
            200,
            &[20; 10],
            "ten partitions of 20",
        ),
    ];
    for (yaml, count, sizes, statement) in cases {
        for rules in [RuleSet::Documented, RuleSet::Shipped] {
            let strategy = serde_saphyr::from_str(yaml).expect(yaml);
            let found = explain(&strategy, rules, &clusters(&[("", count)])).expect(yaml);
            assert_eq!(
                found
                    .plan
                    .partitions
                    .iter()
                    .map(|p| p.members.len())
                    .collect::<Vec<_>>(),
                sizes,
                "{statement}, {rules:?}"
            );
        }
    }
}

const FIVE_OF_40: &str = "{maxUnavailable: 10%, maxUnavailablePartitions: 0, partitions: [
    {name: p0, clusterSelector: {matchLabels: {stage: s0}}}, {name: p1, clusterSelector: {matchLabels: {stage: s1}}},
    {name: p2, clusterSelector: {matchLabels: {stage: s2}}}, {name: p3, clusterSelector: {matchLabels: {stage: s3}}},
    {name: p4, clusterSelector: {matchLabels: {stage: s4}}}]}";

const STRICT: &str = "{maxUnavailable: 0, maxUnavailablePartitions: 0, partitions: [
    {name: demoRollout, clusterSelector: {matchLabels: {stage: demoRollout}}},
    {name: stable, clusterSelector: {matchLabels: {stage: stable}}}]}";

const STAGING_PROD: &str = "{partitions: [
    {name: demoRollout, maxUnavailable: 10%, clusterSelector: {matchLabels: {stage: staging}}},
    {name: stable, maxUnavailable: 5%, clusterSelector: {matchLabels: {stage: prod}}}]}";

/// A statement, its strategy, the clusters by their label `stage`, and the expected script.
type ExampleRow = (
    &'static str,
    &'static str,
    &'static [(&'static str, usize)],
    &'static str,
);

#[test]
fn every_numeric_statement_of_the_document_holds() {
    let cases: [ExampleRow; 11] = [
        (
            "50 clusters, maxUnavailable 10%: deploys to all 50 at once; evaluation occurs after all are created",
            "{maxUnavailable: 10%}",
            &[("", 50)],
            "
pass => start 0-49
ready 0-44 => hold ready
ready 45-49 => done",
        ),
        (
            // DIFFERENCE: "until less than 10 clusters are NotReady" contradicts "once ≤4" with a limit of 4. Here the
            // rollout continues at the limit in both cases.
            "100 clusters, maxUnavailable 10%: deploys to 50 at once; the remaining 50 are paused until 10 are NotReady",
            "{maxUnavailable: 10%}",
            &[("", 100)],
            "
pass => start 0-49
ready 0-38 => hold maxUnavailable
ready 39 => start 50-99
ready 40-98 => hold ready
ready 99 => done",
        ),
        (
            "a partition of 25 clusters, maxUnavailable 5: deploys to all 25 before checking",
            "{maxUnavailable: 5}",
            &[("", 25)],
            "
pass => start 0-24
ready 0-24 => done",
        ),
        (
            "a partition of 100 clusters, maxUnavailable 5: 50, a check, the remaining 50 if it is not exceeded",
            "{maxUnavailable: 5}",
            &[("", 100)],
            "
pass => start 0-49
ready 0-43 => hold maxUnavailable
ready 44 => start 50-99",
        ),
        (
            "200 clusters, 25 %: rollout proceeds in 50-cluster batches, checking maxUnavailable before continuing",
            "{maxUnavailable: 10%, autoPartitionSize: 25%}",
            &[("", 200)],
            "
pass => start 0-49
ready 0-43 => hold maxUnavailablePartitions
ready 44 => start 50-99
ready 45-94 => start 100-149",
        ),
        (
            "200 clusters, maxUnavailablePartitions 1, 10 %: partitions of 20, one NotReady proceeds, two pause, ~40 pulls",
            "{maxUnavailablePartitions: 1, autoPartitionSize: 10%}",
            &[("", 200)],
            "
pass => start 0-39
ready 0-18 => hold maxUnavailablePartitions
ready 20-38 => hold maxUnavailablePartitions
ready 19 => start 40-59
ready 40-59 => start 60-79
ready 39 => start 80-99",
        ),
        (
            "200 clusters in partitions of 40, 10 %: 40 at once, paused with more than 4 NotReady, next once 4 are",
            FIVE_OF_40,
            &[("s0", 40), ("s1", 40), ("s2", 40), ("s3", 40), ("s4", 40)],
            "
pass => start 0-39
ready 0-34 => hold maxUnavailablePartitions
ready 35 => start 40-79
ready 36-74 => hold maxUnavailablePartitions
ready 75 => start 80-119",
        ),
        (
            "200 clusters, maxUnavailable 0, maxUnavailablePartitions 0: only moves on when all are ready",
            STRICT,
            &[("demoRollout", 20), ("stable", 180)],
            "
pass => start 0-19
ready 0-18 => hold maxUnavailablePartitions
ready 19 => start 20-69
ready 20-68 => hold maxUnavailable
ready 69 => start 70-119
ready 70-119 => start 120-169
ready 120-169 => start 170-199
ready 170-199 => done",
        ),
        (
            "by default: 4 partitions of 50, proceeds through all of them regardless of readiness",
            "{}",
            &[("", 200)],
            "
pass => start 0-199
ready 0-199 => done",
        ),
        (
            "manual partitions with their own 10 % and 5 %: in the order of the file, waiting for each to be Ready",
            STAGING_PROD,
            &[("prod", 100), ("staging", 20)],
            "
pass => start 100-119
ready 100-116 => hold maxUnavailablePartitions
ready 117 => start 0-49
ready 0-43 => hold maxUnavailable
ready 44 => start 50-99",
        ),
        (
            "targeted clusters that are not part of the manual partitioning are not included",
            STAGING_PROD,
            &[("prod", 2), ("", 3)],
            "
pass => start 0-1
ready 0-1 => hold partitions",
        ),
    ];
    for (statement, yaml, stages, story) in cases {
        for release in [Release::Initial, Release::Update] {
            let title = format!("{release:?}: {statement}");
            BundleStory::new(yaml, RuleSet::Documented, release, clusters(stages)).plays(
                Show::Starts,
                &title,
                story,
            );
        }
    }
}

#[test]
fn an_offline_cluster_stays_unready_until_it_returns() {
    for release in [Release::Initial, Release::Update] {
        BundleStory::new(FIVE_OF_40, RuleSet::Documented, release, clusters(&[("s0", 5), ("s1", 5)])).plays(
            Show::All,
            "offline",
            &"
pass => DEPLOY 0-4
ready 0-2 => hold maxUnavailablePartitions: partition `p0` has 2 clusters NotReady (assigned and not ready: c003, c004), \
and its limit is 1; it is unavailable partition number 1, and maxUnavailablePartitions allows 0; 5 clusters (c005, c006, \
c007 and 2 more) in later partitions wait
ready 3 => DEPLOY 5-9
ready 5-9 => hold ready: 1 cluster (c004) is assigned the new version and not ready on it: in progress, offline or failing, without a time-out
ready 4 => done"
                .replace(
                    "DEPLOY 0-4",
                    if release == Release::Initial { "create 0-4, deploy 0-4" } else { "deploy 0-4" },
                )
                .replace(
                    "DEPLOY 5-9",
                    if release == Release::Initial { "create 5-9, deploy 5-9" } else { "deploy 5-9" },
                ),
        );
    }
}

#[test]
fn the_remaining_clusters_of_an_update_are_out_of_sync() {
    use BundleState::{OutOfSync, WaitApplied};
    let clusters = clusters(&[("demoRollout", 20), ("stable", 180)]);
    let mut story = BundleStory::new(STRICT, RuleSet::Documented, Release::Update, clusters);
    let pass = story.fleet.reconcile(SimTime::ZERO, &story.view);
    story.view.store(&pass);
    let summary = BundleSummary::of_git_repo(&story.view);
    assert_eq!(
        (summary.count(WaitApplied), summary.count(OutOfSync)),
        (20, 180)
    );
}

#[test]
fn paused_clusters_are_not_started_and_count_as_not_ready() {
    BundleStory::new(STRICT, RuleSet::Documented, Release::Update, clusters(&[("demoRollout", 3), ("stable", 2)]))
        .plays(
            Show::All,
            "paused",
            "
pause 1 => deploy 0,2
ready 0,2 => hold maxUnavailablePartitions: partition `demoRollout` has 1 cluster NotReady (paused: c001), and its limit \
is 0; it is unavailable partition number 1, and maxUnavailablePartitions allows 0; 2 clusters (c003, c004) in later \
partitions wait
unpause 1 => deploy 1
ready 1 => deploy 3-4",
        );
}
