//! Scripts under the documented rules, written from the texts of the two proposals.

use super::*;

fn play(instances: u32, story: &str) {
    AppStory::new(RuleSet::Documented, instances).plays(story);
}

#[test]
fn the_example_of_the_max_in_flight_proposal() {
    // 50 instances, 5 in flight: never more than 55 exist. An old instance counts until it is torn down.
    play(
        50,
        "
create {options: {max_in_flight: 5}} => old 50, new 5, ACTIVE/DEPLOYING
5 starting => hold max_in_flight: 5 of 5 new instances are not routable yet (5 starting), and max_in_flight allows 5; 45 more must be started, 50 old ones are running
1 up, 4 starting => old 49, new 5, ACTIVE/DEPLOYING
1 up, 4 starting, 1 ending => hold max_in_flight: 55 instances exist, 1 of them being stopped, and at most 55 may exist; 45 more must be started, 49 old ones are running
1 up, 4 starting => old 49, new 6, ACTIVE/DEPLOYING
6 up => old 44, new 6, ACTIVE/DEPLOYING
6 up, 3 ending => old 44, new 8, ACTIVE/DEPLOYING
8 up => old 42, new 11, ACTIVE/DEPLOYING",
    );
}

#[test]
fn the_same_deployment_as_shipped_has_a_higher_peak() {
    let mut story = AppStory::new(RuleSet::Shipped, 50);
    story.plays(
        "
create {options: {max_in_flight: 5}} => old 50, new 5, ACTIVE/DEPLOYING
5 up => old 45, new 10, ACTIVE/DEPLOYING",
    );
    // Five old instances still exist, so 45 + 5 + 10 exist in total.
}

#[test]
fn the_example_of_the_canary_proposal() {
    play(
        10,
        "
create {strategy: canary, options: {canary: {steps: [{instance_weight: 20}, {instance_weight: 25}, {instance_weight: 100}]}}} => old 10, new 1, ACTIVE/DEPLOYING, step 1 of 3
1 up => old 9, new 1, ACTIVE/DEPLOYING, step 1 of 3
1 up, 1 ending => hold max_in_flight: 11 instances exist, 1 of them being stopped, and at most 11 may exist; 1 more must be started for step 1, 9 old ones are running
1 up => old 9, new 2, ACTIVE/DEPLOYING, step 1 of 3
2 up => old 9, new 2, ACTIVE/PAUSED, step 1 of 3
continue => old 9, new 2, ACTIVE/DEPLOYING, step 2 of 3
2 up => old 9, new 2, ACTIVE/PAUSED, step 2 of 3
continue => old 9, new 2, ACTIVE/DEPLOYING, step 3 of 3
2 up => old 8, new 2, ACTIVE/DEPLOYING, step 3 of 3
2 up => old 8, new 3, ACTIVE/DEPLOYING, step 3 of 3",
    );
}

#[test]
fn halves_are_rounded_down_and_one_more_instance_always_exists() {
    play(
        10,
        "
create {strategy: canary, options: {max_in_flight: 10, canary: {steps: [{instance_weight: 25}, {instance_weight: 100}]}}} => old 10, new 2, ACTIVE/DEPLOYING, step 1 of 2
2 up => old 9, new 2, ACTIVE/PAUSED, step 1 of 2
continue => old 9, new 2, ACTIVE/DEPLOYING, step 2 of 2
2 up => old 8, new 10, ACTIVE/DEPLOYING, step 2 of 2
10 up => old 1, new 10, ACTIVE/PAUSED, step 2 of 2
continue => old 1, new 10, ACTIVE/DEPLOYING, step 2 of 2
10 up => old none, new 10, FINALIZED/DEPLOYED, step 2 of 2",
    );
}

#[test]
fn a_crashed_instance_only_counts_as_in_flight() {
    play(
        4,
        "
create {options: {max_in_flight: 2}} => old 4, new 2, ACTIVE/DEPLOYING
1 up, 1 crashed => old 3, new 2, ACTIVE/DEPLOYING
1 up, 1 crashed => old 3, new 3, ACTIVE/DEPLOYING
1 up, 2 crashed => hold max_in_flight: 2 of 3 new instances are not routable yet (2 crashed), and max_in_flight allows 2; 1 more must be started, 3 old ones are running",
    );
}

#[test]
fn fewer_web_instances_remove_nothing_in_advance() {
    play(
        6,
        "
create {options: {max_in_flight: 3, web_instances: 3}} => old 6, new 3, ACTIVE/DEPLOYING
1 up, 2 starting => old 5, new 3, ACTIVE/DEPLOYING
3 up => old none, new 3, FINALIZED/DEPLOYED",
    );
}

#[test]
fn a_superseded_canary_is_replaced_like_any_other() {
    play(
        6,
        "
create {strategy: canary, options: {max_in_flight: 3, canary: {steps: [{instance_weight: 50}]}}} => old 6, new 3, ACTIVE/DEPLOYING, step 1 of 1
3 up => old 4, new 3, ACTIVE/PAUSED, step 1 of 1
3 up => hold canary: step 1 of 1 (50 %) is reached with 3 new and 4 old instances; it waits for a user to continue or cancel
create {options: {max_in_flight: 3}} => old 4+3, new 2, ACTIVE/DEPLOYING
2 up => old 1+3, new 2, ACTIVE/DEPLOYING
2 up => old 1+3, new 5, ACTIVE/DEPLOYING
5 up => old 0+1, new 5, ACTIVE/DEPLOYING
5 up => old 0+1, new 6, ACTIVE/DEPLOYING
6 up => old none, new 6, FINALIZED/DEPLOYED",
    );
}

#[test]
fn a_pass_without_diego_is_skipped_silently() {
    play(
        2,
        "
create {} => old 2, new 1, ACTIVE/DEPLOYING
no Diego => hold diego: Diego does not respond; passes have no effect until it does
1 up => old 1, new 1, ACTIVE/DEPLOYING",
    );
}
