//! Scripts under the shipped rules. `tests/conformance` covers single passes with recorded upstream behaviour; these
//! scripts cover holds and serve as examples.

use super::*;

fn play(instances: u32, story: &str) {
    AppStory::new(RuleSet::Shipped, instances).plays(story);
}

#[test]
fn a_rolling_deployment_replaces_instances_within_max_in_flight() {
    play(
        10,
        "
create {options: {max_in_flight: 3}} => old 10, new 3, ACTIVE/DEPLOYING
3 starting => hold max_in_flight: 3 of 3 new instances are not routable yet (3 starting), and max_in_flight allows 3; 7 more must be started, 10 old ones are running
1 up, 2 starting => old 9, new 4, ACTIVE/DEPLOYING
4 up => old 6, new 7, ACTIVE/DEPLOYING
7 up => old 3, new 10, ACTIVE/DEPLOYING
9 up, 1 not routable => old 1, new 10, ACTIVE/DEPLOYING
9 up, 1 not routable => hold routable: 9 of 10 new instances are routable, and all of them must be (1 running and not routable); nothing times out
10 up => old none, new 10, FINALIZED/DEPLOYED",
    );
}

#[test]
fn one_crashed_instance_stops_scaling_up_but_not_down() {
    play(
        6,
        "
create {options: {max_in_flight: 2}} => old 6, new 2, ACTIVE/DEPLOYING
1 up, 1 crashed => old 5, new 2, ACTIVE/DEPLOYING
1 up, 1 crashed => hold unhealthy: 1 of 2 new instances is not healthy (1 crashed), so no other is started, and nothing times out; 4 more must be started, 5 old ones are running
2 up => old 4, new 4, ACTIVE/DEPLOYING
2 up, 1 starting => hold unhealthy: 1 of 4 new instances is not healthy (1 not reported), so no other is started, and nothing times out; 2 more must be started, 4 old ones are running",
    );
}

#[test]
fn lost_instances_are_not_compensated() {
    play(
        4,
        "
create {options: {max_in_flight: 2}} => old 4, new 2, ACTIVE/DEPLOYING
2 up => old 2, new 4, ACTIVE/DEPLOYING
1 up, 3 crashed => hold unhealthy: 3 of 4 new instances are not healthy (3 crashed), so no other is started, and nothing times out; 0 more must be started, 2 old ones are running",
    );
}

#[test]
fn a_canary_waits_for_a_user_after_each_step() {
    play(
        10,
        "
create {strategy: canary, options: {max_in_flight: 2, canary: {steps: [{instance_weight: 25}, {instance_weight: 100}]}}} => old 10, new 1, ACTIVE/DEPLOYING, step 1 of 2
1 up => old 10, new 3, ACTIVE/DEPLOYING, step 1 of 2
2 up, 1 starting => old 9, new 3, ACTIVE/DEPLOYING, step 1 of 2
3 up => old 8, new 3, ACTIVE/PAUSED, step 1 of 2
3 up => hold canary: step 1 of 2 (25 %) is reached with 3 new and 8 old instances; it waits for a user to continue or cancel
1 up, 2 crashed => hold canary: step 1 of 2 (25 %) is reached with 3 new and 8 old instances; it waits for a user to continue or cancel
continue => old 8, new 3, ACTIVE/DEPLOYING, step 2 of 2
continue => rejected: Cannot continue a deployment with status: ACTIVE and reason: DEPLOYING
3 up => old 7, new 5, ACTIVE/DEPLOYING, step 2 of 2
5 up => old 5, new 7, ACTIVE/DEPLOYING, step 2 of 2
7 up => old 3, new 9, ACTIVE/DEPLOYING, step 2 of 2
9 up => old 1, new 10, ACTIVE/DEPLOYING, step 2 of 2
10 up => old 0, new 10, ACTIVE/PAUSED, step 2 of 2
continue => old 0, new 10, ACTIVE/DEPLOYING, step 2 of 2
10 up => old none, new 10, FINALIZED/DEPLOYED, step 2 of 2",
    );
}

#[test]
fn a_canary_without_steps_pauses_once_with_one_more_instance() {
    play(
        3,
        "
create {strategy: canary} => old 3, new 1, ACTIVE/DEPLOYING, step 1 of 1
1 up => old 3, new 1, ACTIVE/PAUSED, step 1 of 1
continue => old 3, new 1, ACTIVE/DEPLOYING, step 1 of 1
1 up => old 2, new 2, ACTIVE/DEPLOYING, step 1 of 1
2 up => old 1, new 3, ACTIVE/DEPLOYING, step 1 of 1
3 up => old none, new 3, FINALIZED/DEPLOYED, step 1 of 1",
    );
}

#[test]
fn cancelling_brings_all_old_instances_back_together() {
    play(
        8,
        "
create {options: {max_in_flight: 4, web_instances: 5}} => old 8, new 4, ACTIVE/DEPLOYING
4 up => old 1, new 5, ACTIVE/DEPLOYING
cancel => old 1, new 5, ACTIVE/CANCELING
cancel => old 1, new 5, ACTIVE/CANCELING
5 up => old 8, new none, FINALIZED/CANCELED
pass => hold cancel: the deployment was cancelled: the app is back on v1 with 8 instances
cancel => rejected: Cannot cancel a deployment with status: FINALIZED and reason: CANCELED
continue => rejected: Cannot continue a deployment with status: FINALIZED and reason: CANCELED",
    );
}

#[test]
fn a_quota_without_room_for_the_surge_blocks_indefinitely() {
    let mut story = AppStory::new(RuleSet::Shipped, 4);
    story.app.quota = quota_of_organization("acme", 12, 5);
    story.plays(
        "
create {options: {max_in_flight: 4}} => rejected: app_instance_limit app_instance_limit_exceeded for organization acme. This organization's quota may not be large enough to support rolling deployments or your configured max-in-flight.
create {options: {max_in_flight: 3, web_instances: 7}} => old 4, new 3, ACTIVE/DEPLOYING
1 up, 2 starting => hold app_instance_limit: the pass needs 8 instances for the app, which has 7; others use 5, and organization `acme` allows 12; the pass is rolled back, and so is the next
3 up => hold app_instance_limit: the pass needs 10 instances for the app, which has 7; others use 5, and organization `acme` allows 12; the pass is rolled back, and so is the next",
    );
    let error = story.app.deployments[0].error.clone();
    assert_eq!(
        error.as_deref(),
        Some("app_instance_limit app_instance_limit_exceeded")
    );
    story.app.quota = quota_of_organization("acme", 15, 5);
    story.plays("3 up => old 4, new 6, ACTIVE/DEPLOYING");
}

#[test]
fn a_memory_quota_limits_like_an_instance_quota() {
    let mut story = AppStory::new(RuleSet::Shipped, 2);
    story.app.quota.space = QuotaLimits {
        name: "dev".to_owned(),
        memory_limit_in_mb: Some(3 * 1024),
        ..QuotaLimits::default()
    };
    story.plays(
        "
create {options: {max_in_flight: 2}} => rejected: memory space_quota_exceeded for space dev. This space's quota may not be large enough to support rolling deployments or your configured max-in-flight.
create {options: {memory_in_mb: 1700}} => rejected: memory space_quota_exceeded for space dev. This space's quota may not be large enough to support rolling deployments or your configured max-in-flight.
create {options: {memory_in_mb: 512, max_in_flight: 2}} => old 2, new 2, ACTIVE/DEPLOYING",
    );
}

#[test]
fn an_unresponsive_diego_is_reported_until_the_next_change() {
    play(
        4,
        "
create {} => old 4, new 1, ACTIVE/DEPLOYING
no Diego => hold diego: Diego does not respond; passes have no effect until it does
1 starting => hold max_in_flight: 1 of 1 new instances is not routable yet (1 starting), and max_in_flight allows 1; 3 more must be started, 4 old ones are running
cancel => old 4, new 1, ACTIVE/CANCELING, error: An unexpected error has occurred: CloudController::Errors::InstancesUnavailable
no Diego => old 4, new none, FINALIZED/CANCELED",
    );
}

#[test]
fn a_deployment_that_supersedes_another_needs_one_more_pass() {
    let until_the_last = "
create {options: {max_in_flight: 2}} => old 6, new 2, ACTIVE/DEPLOYING
2 up => old 4, new 4, ACTIVE/DEPLOYING
create {options: {max_in_flight: 3}} => old 4+4, new 3, ACTIVE/DEPLOYING
3 up => old 0+3, new 6, ACTIVE/DEPLOYING
";
    let mut story = AppStory::new(RuleSet::Shipped, 6);
    story.plays(until_the_last);
    assert_eq!(
        api_status(&story.app.deployments[0]),
        "FINALIZED/SUPERSEDED"
    );
    story.plays(
        "
6 up => old none, new 6, ACTIVE/DEPLOYING, error: An unexpected error has occurred: Sequel::NoExistingObject
6 up => old none, new 6, FINALIZED/DEPLOYED",
    );
    let mut story = AppStory::new(RuleSet::Shipped, 6);
    story.updater = story.updater.with_defects(CloudFoundryBugs {
        interim_trap: false,
        ..CloudFoundryBugs::default()
    });
    story.plays(until_the_last);
    story.plays("6 up => old none, new 6, FINALIZED/DEPLOYED");
}

#[test]
fn superseding_a_canary_removes_old_instances_too() {
    let canary = "
create {strategy: canary, options: {max_in_flight: 5, canary: {steps: [{instance_weight: 50}]}}} => old 10, new 1, ACTIVE/DEPLOYING, step 1 of 1
1 up => old 10, new 5, ACTIVE/DEPLOYING, step 1 of 1
5 up => old 6, new 5, ACTIVE/PAUSED, step 1 of 1
create {options: {max_in_flight: 2}} => old 6+5, new 2, ACTIVE/DEPLOYING
";
    // The canary's five instances are removed, but still count: 6 + 5 is one too many.
    let mut story = AppStory::new(RuleSet::Shipped, 10);
    story.plays(canary);
    story.plays("2 starting => old 5+0, new 2, ACTIVE/DEPLOYING");
    // Without the bug the pass removes only the canary, and only if it makes another change.
    let mut story = AppStory::new(RuleSet::Shipped, 10);
    story.updater = story.updater.with_defects(CloudFoundryBugs {
        purge: false,
        ..CloudFoundryBugs::default()
    });
    story.plays(canary);
    story.plays("2 starting => old 6+0, new 2, ACTIVE/DEPLOYING");
}

#[test]
fn cancelling_keeps_the_newest_running_superseded_process() {
    let mut story = AppStory::new(RuleSet::Shipped, 6);
    story.plays(
        "
create {options: {max_in_flight: 2}} => old 6, new 2, ACTIVE/DEPLOYING
2 up => old 4, new 4, ACTIVE/DEPLOYING
create {} => old 4+4, new 1, ACTIVE/DEPLOYING
cancel => old 4+4, new 1, ACTIVE/CANCELING
1 up => old 6, new none, FINALIZED/CANCELED",
    );
    assert_eq!(
        story.app.processes[0].revision, NEW,
        "the superseded deployment's process survived"
    );
}

#[test]
fn a_stopped_app_is_started_directly_with_the_new_version() {
    let mut story = AppStory::new(RuleSet::Shipped, 0);
    story.app = AppView::stopped(OLD, 3);
    story.plays("create {options: {web_instances: 5}} => old 5, new none, FINALIZED/DEPLOYED");
    assert!(story.app.started);
    assert_eq!(
        (story.app.revision, story.app.processes[0].revision),
        (NEW, NEW)
    );
}

#[test]
fn passes_are_periodic_while_a_deployment_is_in_progress() {
    let mut story = AppStory::new(RuleSet::Shipped, 1);
    let at = |seconds| SimTime::from_secs(seconds);
    assert_eq!(
        story.updater.reconcile(at(7), &story.app).wake_at,
        None,
        "nothing to do"
    );
    story.create("{strategy: canary}").expect("it is created");
    assert_eq!(
        story.updater.reconcile(at(0), &story.app).wake_at,
        Some(at(5))
    );
    // The previous pass took seven seconds, so the next starts immediately.
    assert_eq!(
        story.updater.reconcile(at(7), &story.app).wake_at,
        Some(at(12)),
        "from the start of this one"
    );
    story.app.processes[1].lrps = vec![LrpState::Running].into();
    let pass = story.updater.reconcile(at(12), &story.app);
    assert_eq!(pass.wake_at, None, "paused: not processed");
    story.app.store(&pass);
    story.app.continue_deployment(0).expect("it is paused");
    let next = story.updater.next_pass(at(61));
    assert_eq!(next, at(62), "on the loop's own beat");
    let pass = story.updater.reconcile(next, &story.app);
    assert_eq!(
        pass.status[0].state,
        DeploymentState::Deployed,
        "it is finished"
    );
    assert_eq!(pass.wake_at, None);
}
