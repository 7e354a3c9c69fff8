//! Scripts under the shipped rules. `tests/conformance` covers single passes with recorded upstream behaviour; these
//! scripts cover holds and serve as examples.

use super::*;

/// All dev applications concurrently, prod one at a time.
const DEV_PROD: &str = "{matchExpressions: [{key: env, operator: In, values: [dev]}]},
    {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 1}";

fn play(spec: ApplicationSetSpec, steps: &[(&str, usize)], begin: Begin, story: &str) {
    SetStory::new(spec, ControllerOptions::default(), steps, begin).plays(story);
}

#[test]
fn a_new_set_creates_everything_immediately_and_syncs_it_step_by_step() {
    play(
        rolling(DEV_PROD),
        &[("dev", 2), ("prod", 2)],
        Begin::Empty,
        "
0 pass => create 0-3
2 compared => Waiting: 2-3; Pending: 0-1
2 pass => sync 0-1
5 start 0-1 => Progressing: 0-1
8 synced 0-1 => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 2 applications (a00, a01) Progressing, Synced, Progressing, operation Succeeded; 2 applications (a02, a03) in later steps wait
9 healthy 0-1 => Pending: 2; Healthy: 0-1
9 pass => sync 2
",
    );
}

#[test]
fn a_commit_is_rolled_out_by_steps_and_syncs_follow_promotions_by_one_pass() {
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
fn a_failed_sync_blocks_its_step_until_a_new_revision() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 2)],
        Begin::Settled,
        "
10 commit 2 => Waiting: 1-2; Pending: 0
10 pass => sync 0
12 start => Progressing: 0
20 failed 0 => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Progressing, OutOfSync, Healthy, operation Failed (retries are used up); 2 applications (a01, a02) in later steps wait
20 pass => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Progressing, OutOfSync, Healthy, operation Failed (retries are used up); 2 applications (a01, a02) in later steps wait
500 pass => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Progressing, OutOfSync, Healthy, operation Failed (retries are used up); 2 applications (a01, a02) in later steps wait
510 commit 3 => Pending: 0
510 pass => sync 0
",
    );
}

#[test]
fn an_application_of_a_later_step_that_runs_the_new_commit_does_not_wait() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 3)],
        Begin::Settled,
        "
10 commit 2 0,2 => Waiting: 2; Pending: 0
10 pass => sync 0
12 start 0,2 => Progressing: 0
14 synced 0,2 => Progressing: 2
15 commit 2 1,3 => Waiting: 1,3
15 pass => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Progressing, Synced, Progressing, operation Succeeded; 2 applications (a01, a03) in later steps wait
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
10 commit 2 => Waiting: 2-4; Pending: 0-1
10 pass => sync 0-1
11 start 0-1 => Progressing: 0-1
12 synced 0 => hold maxUpdate: in step 1, maxUpdate allows 2 of 5 applications to be updated concurrently; taken by 1 application (a00) Progressing, Synced, Progressing, operation Succeeded; 1 application (a01) Progressing, OutOfSync, Healthy, operation Running; 3 applications (a02, a03, a04) wait
12 pass => hold maxUpdate: in step 1, maxUpdate allows 2 of 5 applications to be updated concurrently; taken by 1 application (a00) Progressing, Synced, Progressing, operation Succeeded; 1 application (a01) Progressing, OutOfSync, Healthy, operation Running; 3 applications (a02, a03, a04) wait
13 healthy 0 => Pending: 2; Healthy: 0
13 pass => sync 2
14 start 2 => Progressing: 2
15 synced 1-2 => hold maxUpdate: in step 1, maxUpdate allows 2 of 5 applications to be updated concurrently; taken by 2 applications (a01, a02) Progressing, Synced, Progressing, operation Succeeded; 2 applications (a03, a04) wait
15 pass => hold maxUpdate: in step 1, maxUpdate allows 2 of 5 applications to be updated concurrently; taken by 2 applications (a01, a02) Progressing, Synced, Progressing, operation Succeeded; 2 applications (a03, a04) wait
16 pass => hold maxUpdate: in step 1, maxUpdate allows 2 of 5 applications to be updated concurrently; taken by 2 applications (a01, a02) Progressing, Synced, Progressing, operation Succeeded; 2 applications (a03, a04) wait
",
    );
}

#[test]
fn a_step_with_max_update_0_completes_after_manual_syncs() {
    play(
        rolling(
            "{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 0}, {matchExpressions: [{key: env, operator: In, values: [prod]}]}",
        ),
        &[("dev", 1), ("prod", 1)],
        Begin::Settled,
        "
10 commit 2 => Waiting: 0-1
10 pass => hold maxUpdate: maxUpdate is 0 in step 1, so no application is ever synced; 1 application (a00) wait to be synced by hand
20 start 0 => hold maxUpdate: maxUpdate is 0 in step 1, so no application is ever synced; 1 application (a00) wait to be synced by hand
21 synced 0 => Progressing: 0
22 healthy 0 => Pending: 1; Healthy: 0
",
    );
}

#[test]
fn an_application_that_was_healthy_once_stays_healthy_for_rolling_sync() {
    play(
        rolling(DEV_PROD),
        &[("dev", 1), ("prod", 1)],
        Begin::Settled,
        "
10 drift 0 => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 1 application (a00) Healthy, OutOfSync, Healthy
11 degraded 1 => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 1 application (a00) Healthy, OutOfSync, Healthy; 1 application (a01) Healthy, Synced, Degraded
12 refresh 0 => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 1 application (a01) Healthy, Synced, Degraded
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
10 template 2 => update 0-1
10 pass => done
12 drift => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 2 applications (a00, a01) Healthy, OutOfSync, Healthy
12 pass => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 2 applications (a00, a01) Healthy, OutOfSync, Healthy
20 commit 2 0 => Pending: 0
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
10 commit 2 => Waiting: 1-2; Pending: 0
10 pass => sync 0
11 start 0 => Progressing: 0
12 template 2 => update 0-2; Waiting: 1-2; Pending: 0
12 pass => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Pending, OutOfSync, Healthy, operation Running; 2 applications (a01, a02) in later steps wait
",
    );
}

#[test]
fn an_application_in_no_step_is_never_synced_and_counts_in_step_1() {
    play(
        rolling("{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 1}"),
        &[("dev", 1), ("lab", 1)],
        Begin::Settled,
        "
10 commit 2 1 => Waiting: 1
20 synced 1 => Progressing: 1
30 commit 2 0 => Waiting: 0
40 healthy 1 => Pending: 0; Healthy: 1
40 pass => sync 0
50 commit 3 1 => Waiting: 1
60 start 0 => Progressing: 0
61 synced 0 => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Progressing, Synced, Progressing, operation Succeeded
62 healthy 0 => Healthy: 0
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
5 drop 1 => delete 1; Healthy: 1
5 pass => done
10 commit 2 2 => Pending: 2
10 pass => sync 2
20 add 1 => create 1
20 pass => Pending: 1
21 compared 1 => sync 1
22 move prod 1 => update 1; Pending: 1
",
    );
}

#[test]
fn an_operation_in_the_second_of_its_promotion_does_not_count() {
    play(
        rolling("{}"),
        &[("dev", 1)],
        Begin::Settled,
        "
10 commit 2 => Pending: 0
10 start => sync 0
11 synced => sync 0
11 pass => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Pending, Synced, Progressing, operation Succeeded
12 start => Progressing: 0
13 synced => hold rollingSync.steps: step 1 is complete when all of it is Healthy; not yet: 1 application (a00) Progressing, Synced, Progressing, operation Succeeded
14 healthy => Healthy: 0
",
    );
}

#[test]
fn a_deleted_set_deletes_its_applications_one_by_one_from_the_last_step() {
    let deleted = |spec: &ApplicationSetSpec, steps: &[(&str, usize)]| {
        let SetStory { mut set, mut view } = SetStory::new(
            spec.clone(),
            ControllerOptions::default(),
            steps,
            Begin::Settled,
        );
        let mut deleted = Vec::new();
        loop {
            let pass = set.delete(SimTime::from_secs(10), &view);
            let [ApplicationAction::Delete(target)] = pass.actions[..] else {
                assert!(pass.status.released);
                return deleted;
            };
            set.store(&pass, &mut view);
            let waits = set.delete(SimTime::from_secs(130), &view);
            assert!(waits.actions.is_empty() && waits.wake_at == Some(SimTime::from_secs(140)));
            assert!(
                set.delete(SimTime::from_secs(131), &view)
                    .status
                    .deletion_failed,
                "after two minutes"
            );
            view[target.index()].live = None;
            deleted.push(target.0);
        }
    };
    let mut spec = rolling(DEV_PROD);
    spec.strategy.as_mut().expect("it has one").deletion_order = "reverse".to_owned();
    spec.template
        .metadata
        .finalizers
        .push("resources-finalizer.argocd.argoproj.io".to_owned());
    assert_eq!(
        deleted(&spec, &[("dev", 1), ("prod", 2), ("lab", 1)]),
        [1, 2, 0]
    );
    let both = "{matchExpressions: [{key: env, operator: In, values: [dev, both]}]},
         {matchExpressions: [{key: env, operator: In, values: [prod, both]}]}";
    let strategy = ApplicationSetStrategy {
        deletion_order: "Reverse".to_owned(),
        ..rolling(both).strategy.expect("it has one")
    };
    let overlapping = ApplicationSetSpec {
        strategy: Some(strategy),
        ..spec.clone()
    };
    assert_eq!(
        deleted(&overlapping, &[("dev", 1), ("both", 1), ("prod", 1)]),
        [2, 0, 1]
    );
    spec.strategy
        .as_mut()
        .expect("it has one")
        .deletion_order
        .clear();
    assert_eq!(deleted(&spec, &[("dev", 1), ("prod", 2)]), [0; 0]);
}

#[test]
fn without_a_rolling_sync_specs_change_and_the_application_controller_syncs() {
    let automated = "template: {spec: {syncPolicy: {automated: {}}}}";
    let spec: ApplicationSetSpec = serde_saphyr::from_str(automated).expect(automated);
    play(
        spec,
        &[("dev", 3)],
        Begin::Settled,
        "
10 template 2 => update 0-2
11 drift => hold AllAtOnce: all were updated simultaneously; not yet: 3 applications (a00, a01, a02) OutOfSync, Healthy
",
    );
    play(
        ApplicationSetSpec::default(),
        &[("dev", 3)],
        Begin::Settled,
        "
10 template 2 => update 0-2
11 drift => hold syncPolicy.automated: only a user can sync 3 applications (a00, a01, a02) OutOfSync, Healthy
",
    );
}

#[test]
fn applications_that_policies_protect_are_never_synced() {
    let mut spec = rolling("{}");
    spec.sync_policy = Some(ApplicationSetSyncPolicy {
        applications_sync: Some(ApplicationsSync::CreateOnly),
        ..ApplicationSetSyncPolicy::default()
    });
    play(
        spec,
        &[("dev", 2)],
        Begin::Settled,
        "
10 commit 2 => Pending: 0-1
10 pass => hold applicationsSync: CreateOnly forbids syncs of 2 applications (a00, a01)
20 drop 1 => Pending: 1
",
    );
}

#[test]
fn a_set_without_steps_does_nothing_and_reports_it() {
    play(
        rolling(""),
        &[("dev", 1)],
        Begin::Settled,
        "
10 commit 2 => hold rollingSync.steps: strategy.rollingSync.steps is empty: Argo CD 3.6 then updates nothing (ApplicationSetRolloutError), and older versions update all applications at once
",
    );
}
