//! The effect of the two fixes, each compared with the shipped behaviour.

use super::*;

fn play(options: ControllerOptions, story: &str) {
    SetStory::new(
        rolling("{maxUpdate: 1}"),
        options,
        &[("dev", 2)],
        Begin::Settled,
    )
    .plays(story);
}

#[test]
fn a_sync_is_requested_twice_as_shipped_and_once_when_fixed() {
    // The operation ends before a pass observes it, so the second request starts a second sync.
    play(
        ControllerOptions::default(),
        "
10 commit 2 => Waiting: 1; Pending: 0
10 pass => sync 0
12 synced 0 => sync 0; Progressing: 0
",
    );
    play(
        ControllerOptions { trigger_once: true, ..ControllerOptions::default() },
        "
10 commit 2 => sync 0; Waiting: 1; Pending: 0
10 pass => hold maxUpdate: in step 1, maxUpdate allows 1 of 2 applications to be updated concurrently; taken by 1 application (a00) Pending, OutOfSync, Healthy; 1 application (a01) wait
12 synced 0 => Progressing: 0
",
    );
}

#[test]
fn a_changed_spec_is_lost_as_shipped_and_rolled_out_when_fixed() {
    play(
        ControllerOptions::default(),
        "
10 template 2 => update 0-1
11 drift => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 2 applications (a00, a01) Healthy, OutOfSync, Healthy
",
    );
    play(
        ControllerOptions { keep_spec_changes: true, ..ControllerOptions::default() },
        "
10 template 2 => update 0-1; Waiting: 1; Pending: 0
10 pass => sync 0
11 drift => hold maxUpdate: in step 1, maxUpdate allows 1 of 2 applications to be updated concurrently; taken by 1 application (a00) Pending, OutOfSync, Healthy; 1 application (a01) wait
12 start 0 => Progressing: 0
13 synced 0 => hold maxUpdate: in step 1, maxUpdate allows 1 of 2 applications to be updated concurrently; taken by 1 application (a00) Progressing, Synced, Progressing, operation Succeeded; 1 application (a01) wait
14 healthy 0 => Pending: 1; Healthy: 0
14 pass => sync 1
",
    );
}

#[test]
fn without_the_flag_a_strategy_has_no_effect() {
    play(
        ControllerOptions { enable_progressive_syncs: false, ..ControllerOptions::default() },
        "
10 template 2 => update 0-1
11 drift => hold syncPolicy.automated: only a user can sync 2 applications (a00, a01) OutOfSync, Healthy
",
    );
}
