//! Scripts under the shipped rules, and the stored objects. `tests/conformance` covers single passes with recorded
//! upstream behaviour; these scripts cover holds and serve as examples.

use super::*;

fn play(yaml: &str, release: Release, stages: &[(&str, usize)], story: &str) {
    BundleStory::new(yaml, RuleSet::Shipped, release, clusters(stages)).plays(
        Show::All,
        yaml,
        story,
    );
}

#[test]
fn an_update_stays_within_max_unavailable() {
    play(
        "{maxUnavailable: 2}",
        Release::Update,
        &[("", 6)],
        "
pass => deploy 0-1
pass => hold maxUnavailable: in the bundle, 2 clusters (c000, c001) of 6 are unavailable, and maxUnavailable allows 2; 4 clusters (c002, c003, c004 and 1 more) wait
ready 1 => deploy 2
ready 2 => deploy 3
ready 3 => deploy 4
ready 4 => deploy 5
ready 5 => hold ready: 1 cluster (c000) is assigned the new version and not ready on it: in progress, offline or failing, without a time-out
ready 0 => done",
    );
}

#[test]
fn first_deployments_wait_only_for_the_gate() {
    // No cluster is ready, and maxUnavailable is 1; each pass still creates 50.
    play(
        "{maxUnavailable: 1}",
        Release::Initial,
        &[("", 120)],
        "
pass => create 0-49, deploy 0-49
pass => create 50-99, deploy 50-99
pass => create 100-119, deploy 100-119
pass => hold ready: 120 clusters (c000, c001, c002 and 117 more) are assigned the new version and not ready on it: in progress, offline or failing, without a time-out",
    );
}

#[test]
fn the_number_0_blocks_and_0_percent_updates_one_by_one() {
    play(
        "{maxUnavailable: 0}",
        Release::Update,
        &[("", 3)],
        "
pass => hold maxUnavailable: maxUnavailable is 0 in the bundle, so no available cluster is ever updated; 3 clusters (c000, c001, c002) wait
unready 1 => deploy 1",
    );
    play(
        "{maxUnavailable: 0%}",
        Release::Update,
        &[("", 3)],
        "\npass => deploy 0\nready 0 => deploy 1",
    );
}

#[test]
fn the_next_partition_starts_before_the_last_one_has_finished() {
    // The limits are one cluster in the bundle, and 40% of 5 in each partition.
    let yaml = "{maxUnavailable: 30%, partitions: [
        {name: a, maxUnavailable: 40%, clusterSelector: {matchLabels: {stage: a}}},
        {name: b, maxUnavailable: 40%, clusterSelector: {matchLabels: {stage: b}}}]}";
    play(
        yaml,
        Release::Update,
        &[("a", 5), ("b", 5)],
        "
pass => deploy 0-1
ready 0 => deploy 2
ready 1 => deploy 3
ready 2 => deploy 4-5
pass => hold maxUnavailable: in the bundle, 3 clusters (c003, c004, c005) of 10 are unavailable, and maxUnavailable allows 3; 4 clusters (c006, c007, c008 and 1 more) wait
ready 3-5 => deploy 6-7",
    );
}

#[test]
fn a_pending_partition_blocks_all_later_ones() {
    let yaml = "{maxUnavailable: 100%, partitions: [
        {name: a, maxUnavailable: 1, clusterSelector: {matchLabels: {stage: a}}},
        {name: b, clusterSelector: {matchLabels: {stage: b}}}]}";
    play(
        yaml,
        Release::Update,
        &[("a", 4), ("b", 2)],
        "
pause 0-1 => deploy 2
ready 2 => deploy 3
ready 3 => hold maxUnavailablePartitions: partition `a` has 2 clusters not up to date or not available (paused: c000, c001), and its limit is 1; it is unavailable partition number 1, and maxUnavailablePartitions allows 0; 2 clusters (c004, c005) in later partitions wait
unpause 1 => deploy 1
ready 1 => deploy 4-5
ready 4-5 => hold paused: 1 cluster (c000) is paused",
    );
}

#[test]
fn a_partition_can_be_blocked_by_its_own_limit() {
    let yaml = "{partitions: [{name: a, maxUnavailable: 1, clusterSelector: {}}]}";
    play(
        yaml,
        Release::Update,
        &[("", 3)],
        "
pass => deploy 0
pass => hold maxUnavailable: in partition `a`, 1 cluster (c000) of 3 is unavailable, and maxUnavailable allows 1; 2 clusters (c001, c002) wait",
    );
}

#[test]
fn unregistered_clusters_use_up_max_new_in_every_pass() {
    let mut story = BundleStory::new(
        "{maxNew: 2}",
        RuleSet::Shipped,
        Release::Initial,
        clusters(&[("", 4)]),
    );
    story.view.clusters[0].registered = false;
    story.view.clusters[1].registered = false;
    story.plays(
        Show::All,
        "unregistered",
        "
pass => hold maxNew: all 2 new deployments of a pass go to unregistered clusters, which cannot keep them (c000, c001); 2 clusters (c002, c003) wait
register 0 => create 0, deploy 0
register 1 => create 1-2, deploy 1-2
pass => create 3, deploy 3",
    );
}

#[test]
fn a_hold_names_unregistered_clusters_last_and_does_not_count_them_as_unavailable() {
    let yaml =
        "{partitions: [{name: a, maxUnavailable: 1, clusterSelector: {matchLabels: {stage: a}}}]}";
    let fleet = clusters(&[("a", 4), ("", 1)]);
    let mut story = BundleStory::new(yaml, RuleSet::Shipped, Release::Update, fleet);
    story.view.clusters[0].registered = false;
    story.plays(
        Show::All,
        "unregistered",
        "
pass => deploy 1
pass => hold maxUnavailable: in partition `a`, 1 cluster (c001) of 4 is unavailable, and maxUnavailable allows 1; 2 clusters (c002, c003) wait
ready 1 => deploy 2
ready 2 => deploy 3
ready 3 => hold partitions: 1 cluster (c004) is in no partition, so no pass updates them; 1 cluster (c000) is not registered",
    );
}

#[test]
fn max_new_of_zero_creates_nothing_but_still_updates() {
    play(
        "{maxNew: 0}",
        Release::Initial,
        &[("", 2)],
        "\npass => hold maxNew: maxNew is 0, so no deployment is ever created; 2 clusters (c000, c001) wait",
    );
    play(
        "{maxNew: 0}",
        Release::Update,
        &[("", 2)],
        "\npass => deploy 0-1\nready 0-1 => done",
    );
}

#[test]
fn a_cluster_in_no_partition_keeps_its_version() {
    play(
        "{partitions: [{name: a, clusterSelector: {matchLabels: {stage: a}}}]}",
        Release::Update,
        &[("a", 2), ("", 1)],
        "
pass => deploy 0-1
ready 0 => hold partitions: 1 cluster (c002) is in no partition, so no pass updates them; 1 cluster (c001) is assigned the new version and not ready on it: in progress, offline or failing, without a time-out
ready 1 => hold partitions: 1 cluster (c002) is in no partition, so no pass updates them",
    );
}

#[test]
fn a_rollback_is_unlimited_on_clusters_that_have_not_applied_the_new_version() {
    // Clusters 1 and 2 were promoted and still run the old version; cluster 0 is finished, and is rolled back within
    // the limit.
    play(
        "{maxUnavailable: 2}",
        Release::Update,
        &[("", 4)],
        "
pass => deploy 0-1
ready 0 => deploy 2
version 1 0-3 => deploy 1-2
pass => deploy 0
ready 0 => done",
    );
}

#[test]
fn a_paused_bundle_and_an_invalid_strategy_are_reported() {
    let mut story = BundleStory::new(
        "{}",
        RuleSet::Shipped,
        Release::Update,
        clusters(&[("", 2)]),
    );
    story.view.paused = true;
    story.plays(
        Show::All,
        "paused",
        "\npass => hold paused: the bundle is paused; 2 clusters (c000, c001) wait",
    );
    play(
        "{maxUnavailable: half}",
        Release::Update,
        &[("", 2)],
        "
pass => hold rolloutStrategy: rolloutStrategy.maxUnavailable: `half` is neither a whole number above 0 nor a percentage; write e.g. `10` or `10%`",
    );
}

#[test]
fn the_document_is_wrong_about_200_clusters_in_partitions_of_10_percent() {
    // The document says: "limits the amount of image pulls to up to ~40". The default maxUnavailable of 100% never
    // makes a partition unavailable.
    let yaml = "{maxUnavailablePartitions: 1, autoPartitionSize: 10%}";
    play(
        yaml,
        Release::Update,
        &[("", 200)],
        "\npass => deploy 0-199",
    );
    play(
        yaml,
        Release::Initial,
        &[("", 200)],
        "
pass => create 0-49, deploy 0-49
pass => create 50-99, deploy 50-99
pass => create 100-149, deploy 100-149
pass => create 150-199, deploy 150-199",
    );
}

#[test]
fn stored_flags_equal_the_states_of_the_clusters() {
    let mut story = BundleStory::new(
        "{maxUnavailable: 0}",
        RuleSet::Shipped,
        Release::Update,
        clusters(&[("", 4)]),
    );
    for (index, change) in [
        (0, (|cluster| cluster.paused = true) as fn(&mut ClusterView)),
        (1, |cluster| cluster.off_schedule = true),
        (2, |cluster| cluster.registered = false),
    ] {
        change(&mut story.view.clusters[index]);
    }
    let pass = |story: &mut BundleStory| {
        let pass = story.fleet.reconcile(SimTime::ZERO, &story.view);
        story.view.store(&pass);
        pass
    };
    pass(&mut story);
    let stored = |story: &BundleStory| {
        let flags = |deployment: BundleDeployment| (deployment.paused, deployment.off_schedule);
        story
            .view
            .clusters
            .iter()
            .map(|cluster| cluster.deployment.map(flags))
            .collect::<Vec<_>>()
    };
    let expected = [
        Some((true, false)),
        Some((false, true)),
        None,
        Some((false, false)),
    ];
    assert_eq!(
        stored(&story),
        expected,
        "the deployment of an unregistered cluster is deleted"
    );

    story
        .view
        .clusters
        .iter_mut()
        .for_each(|cluster| cluster.targeted = false);
    story.view.clusters[1].off_schedule = false;
    let deleted = pass(&mut story);
    assert_eq!(deleted.actions.len(), 2, "{:?}", deleted.actions);
    let expected = [None, Some((false, true)), None, None];
    assert_eq!(
        stored(&story),
        expected,
        "all are orphans; one was last stored as off schedule, and stays"
    );
}
