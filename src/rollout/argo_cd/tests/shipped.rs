//! Stories of what ships. What every single pass of them does is recorded upstream behaviour, held in
//! `tests/conformance`; these are for reading, and for the holds.

use super::*;

/// dev at will, prod one at a time.
const DEV_PROD: &str = "{matchExpressions: [{key: env, operator: In, values: [dev]}]},
    {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 1}";

fn play(spec: ApplicationSetSpec, steps: &[(&str, usize)], begin: Begin, story: &str) {
    Story::new(spec, Options::default(), steps, begin).plays(story);
}

#[test]
fn a_new_set_creates_everything_at_once_and_syncs_it_step_by_step() {
    play(
        rolling(DEV_PROD),
        &[("dev", 2), ("prod", 2)],
        Begin::Empty,
        "
0 pass => create 0-3; Waiting: 0-3
",
    );
}

#[test]
fn a_commit_goes_through_the_steps_and_each_sync_is_requested_a_pass_after_the_promotion() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 2)],
        Begin::Settled,
        "
10 commit 2 => Waiting: 1-2; Pending: 0
10 pass => sync 0
",
    );
}

#[test]
fn a_failed_sync_holds_its_step_until_a_new_revision() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 2)],
        Begin::Settled,
        "
10 commit 2 => x
10 pass => x
12 start => x
20 failed 0 => x
20 pass => x
500 pass => x
510 commit 3 => x
",
    );
}

#[test]
fn max_update_limits_pending_and_progressing_together() {
    play(
        rolling("{maxUpdate: 40%}"),
        &[("dev", 5)],
        Begin::Settled,
        "
10 commit 2 => x
10 pass => x
11 start 0-1 => x
12 synced 0 => x
12 pass => x
13 healthy 0 => x
13 pass => x
14 start 2 => x
15 synced 1-2 => x
15 pass => x
16 pass => x
",
    );
}

#[test]
fn max_update_zero_is_passed_by_hand() {
    play(
        rolling(
            "{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 0}, {matchExpressions: [{key: env, operator: In, values: [prod]}]}",
        ),
        &[("dev", 1), ("prod", 1)],
        Begin::Settled,
        "
10 commit 2 => x
10 pass => x
20 start 0 => x
21 synced 0 => x
22 healthy 0 => x
",
    );
}

#[test]
fn healthy_is_sticky() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 1)],
        Begin::Settled,
        "
10 drift 0 => x
11 degraded 1 => x
12 refresh 0 => x
",
    );
}

#[test]
fn a_changed_spec_is_lost_on_a_settled_application() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 1)],
        Begin::Settled,
        "
10 template 2 => x
10 pass => x
12 drift => x
12 pass => x
20 commit 2 0 => x
",
    );
}

#[test]
fn a_changed_spec_in_the_middle_of_a_rollout_is_rolled_out() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 2)],
        Begin::Settled,
        "
10 commit 2 => x
10 pass => x
11 start 0 => x
12 template 2 => x
12 pass => x
",
    );
}

#[test]
fn an_application_in_no_step_is_never_synced_and_takes_room_in_step_one() {
    play(
        rolling("{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 1}"),
        &[("dev", 1), ("lab", 1)],
        Begin::Settled,
        "
10 commit 2 1 => x
20 synced 1 => x
30 commit 2 0 => x
40 healthy 1 => x
40 pass => x
50 commit 3 1 => x
60 start 0 => x
61 synced 0 => x
62 healthy 0 => x
",
    );
}

#[test]
fn a_new_application_in_an_early_step_closes_the_later_ones() {
    play(
        rolling(DEV_PROD),
        &[("dev", 2), ("prod", 1)],
        Begin::Settled,
        "
5 drop 1 => x
5 pass => x
10 commit 2 2 => x
10 pass => x
20 add 1 => x
20 pass => x
21 compared 1 => x
22 move prod 1 => x
",
    );
}

#[test]
fn an_operation_of_the_same_second_does_not_count() {
    play(
        rolling("{}"),
        &[("dev", 1)],
        Begin::Settled,
        "
10 commit 2 => x
10 start => x
11 synced => x
11 pass => x
12 start => x
13 synced => x
14 healthy => x
",
    );
}

#[test]
fn a_deleted_set_takes_the_last_step_first_one_by_one() {
    let mut spec = rolling(DEV_PROD);
    spec.strategy.as_mut().expect("it has one").deletion_order = "reverse".to_owned();
    spec.template.metadata.finalizers.push("resources-finalizer.argocd.argoproj.io".to_owned());
    play(
        spec.clone(),
        &[("dev", 1), ("prod", 2), ("lab", 1)],
        Begin::Settled,
        "
10 delete set => x
20 pass => x
30 gone 1 => x
40 gone 2 => x
50 gone 0 => x
",
    );
    spec.strategy.as_mut().expect("it has one").deletion_order.clear();
    play(
        spec,
        &[("dev", 1), ("prod", 2)],
        Begin::Settled,
        "
10 delete set => x
",
    );
}

#[test]
fn without_a_rolling_sync_specs_change_and_the_application_controller_does_the_rest() {
    let automated = "template: {spec: {syncPolicy: {automated: {}}}}";
    let spec: ApplicationSetSpec = serde_saphyr::from_str(automated).expect(automated);
    play(
        spec,
        &[("dev", 3)],
        Begin::Settled,
        "
10 template 2 => x
11 drift => x
",
    );
    play(
        ApplicationSetSpec::default(),
        &[("dev", 3)],
        Begin::Settled,
        "
10 template 2 => x
11 drift => x
",
    );
}

#[test]
fn applications_that_may_not_be_changed_are_never_synced() {
    let mut spec = rolling("{}");
    spec.sync_policy = Some(ApplicationSetSyncPolicy { applications_sync: Some(ApplicationsSync::CreateOnly) });
    play(
        spec,
        &[("dev", 2)],
        Begin::Settled,
        "
10 commit 2 => x
10 pass => x
20 drop 1 => x
",
    );
}

#[test]
fn a_set_without_steps_does_nothing_and_says_so() {
    play(
        rolling(""),
        &[("dev", 1)],
        Begin::Settled,
        "
10 commit 2 => x
",
    );
}
