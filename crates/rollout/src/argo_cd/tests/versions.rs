//! The rules that differ between versions.

use super::*;

fn options(version: ArgoCdVersion, grace_s: u64) -> ControllerOptions {
    let refresh_grace_period = SimDuration::from_secs(grace_s);
    ControllerOptions {
        version,
        refresh_grace_period,
        ..ControllerOptions::default()
    }
}

fn story(version: ArgoCdVersion, grace_s: u64, applications: usize) -> SetStory {
    SetStory::new(
        rolling("{maxUpdate: 1}"),
        options(version, grace_s),
        &[("dev", applications)],
        Begin::Settled,
    )
}

#[test]
fn since_3_4_a_changed_spec_counts_for_a_drifted_application() {
    let drifted = "
9 drift => hold applicationStatus: the rollout is complete: Healthy rows stay Healthy until a new revision or spec; not as wanted: 2 applications (a00, a01) Healthy, OutOfSync, Healthy
";
    let ignored = format!("{drifted}10 template 2 => update 0-1\n");
    story(ArgoCdVersion::V3_3, 30, 2).plays(&ignored);
    let seen = format!("{drifted}10 template 2 => update 0-1; Waiting: 1; Pending: 0\n");
    for version in [ArgoCdVersion::V3_4, ArgoCdVersion::V3_5] {
        story(version, 30, 2).plays(&seen);
    }
}

#[test]
fn since_3_6_no_promotion_precedes_a_comparison_of_all_applications_with_the_last_change() {
    story(ArgoCdVersion::V3_6, 0, 3).plays(
        "
10 commit 2 0 => refresh 1-2; Waiting: 0
10 pass => hold refresh: not compared since the last change, so nothing is promoted: 2 applications (a01, a02)
11 commit 2 1 => Waiting: 1
12 reconciled 2 => refresh 0
13 reconciled 0 => Pending: 0
13 pass => sync 0
",
    );
    story(ArgoCdVersion::V3_5, 0, 3).plays("10 commit 2 0 => Pending: 0\n10 pass => sync 0");
}

#[test]
fn in_3_6_applications_that_already_have_the_new_revision_delay_no_promotion() {
    // All applications have the new revision in the second of the change, so none is behind.
    story(ArgoCdVersion::V3_6, 0, 2).plays("10 commit 2 => Waiting: 1; Pending: 0");
    // Without a pending change the barrier does not apply: new applications are promoted as before.
    let new = SetStory::new(
        rolling("{}"),
        options(ArgoCdVersion::V3_6, 30),
        &[("dev", 2)],
        Begin::Empty,
    );
    new.plays("1 pass => create 0-1\n1 pass => Pending: 0-1");
}

#[test]
fn within_the_grace_period_3_6_requests_no_promotion_refresh_or_pass() {
    let mut story = story(ArgoCdVersion::V3_6, 30, 2);
    let at = SimTime::from_secs;
    story.happens(at(10), "commit 2 0");
    assert_eq!(story.pass(at(10)), "Waiting: 0");
    let held = story.pass(at(11));
    assert!(
        held.starts_with("hold refreshGracePeriod: nothing is promoted within 30 s of a change"),
        "{held}"
    );
    let early = story
        .set
        .reconcile(SimTime::from_nanos(39_999_999_999), &story.view);
    assert_eq!((early.actions.as_slice(), early.wake_at), (&[][..], None));
    let late = story.set.reconcile(at(40), &story.view);
    assert_eq!(late.actions, [ApplicationAction::Refresh(TargetId(1))]);
    assert_eq!(late.wake_at, Some(at(40)), "an annotation queues a pass");
}
