//! Properties of every pass over random applications.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

pub(super) const STEPS: [&str; 5] = [
    "{}",
    "{maxUpdate: 2}",
    "{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 50%},
     {matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: 1}",
    "{matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 0},
     {matchExpressions: [{key: env, operator: NotIn, values: [lab]}]}",
    "{matchExpressions: [{key: env, operator: In, values: [prod]}], maxUpdate: some},
     {matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: -1}, {maxUpdate: 3}",
];

const FLEET: [(&str, usize); 3] = [("dev", 4), ("prod", 4), ("lab", 2)];

pub(super) const EVENTS: [&str; 15] = [
    "pass",
    "compared",
    "commit 2",
    "commit 3",
    "template 2",
    "drift",
    "refresh",
    "start",
    "synced",
    "failed",
    "healthy",
    "degraded",
    "reconciled",
    "drop",
    "add",
];

prop_compose! {
    pub(super) fn options()(
        trigger_once in any::<bool>(),
        keep_spec_changes in any::<bool>(),
        version in prop::sample::select(vec![ArgoCdVersion::V3_3, ArgoCdVersion::V3_5, ArgoCdVersion::V3_6]),
    ) -> ControllerOptions {
        // Holds are checked one second after the last pass, when a grace period would not be over, so there is none.
        let refresh_grace_period = SimDuration::ZERO;
        ControllerOptions {
            trigger_once, keep_spec_changes, version, refresh_grace_period, ..ControllerOptions::default()
        }
    }
}

fn story(steps: &str, options: ControllerOptions, settled: bool) -> SetStory {
    SetStory::new(
        rolling(steps),
        options,
        &FLEET,
        if settled {
            Begin::Settled
        } else {
            Begin::Empty
        },
    )
}

/// Checks for forbidden transitions of a row in one pass.
fn check_row(old: Option<&ApplicationStatus>, new: Option<&ApplicationStatus>) {
    let (Some(old), Some(new)) = (old, new) else {
        return;
    };
    if new.message == Message::Arrived && old.message != Message::Arrived {
        assert_eq!(old.status, RolloutStatus::Progressing, "{old:?} to {new:?}");
    }
    if (old.status, new.status) == (RolloutStatus::Pending, RolloutStatus::Healthy) {
        assert_eq!(
            new.message,
            Message::SyncedHealthy,
            "only by way of Waiting: {old:?} to {new:?}"
        );
    }
    assert!(
        old.last_transition_time <= new.last_transition_time,
        "time only advances: {old:?} to {new:?}"
    );
}

proptest! {
    #[test]
    fn budgets_and_the_order_of_steps_are_not_violated(
        steps in prop::sample::select(STEPS.to_vec()),
        options in options(),
        settled in any::<bool>(),
        events in vec((0..EVENTS.len(), vec(0..10_u32, 0..4)), 1..40),
    ) {
        let mut story = story(steps, options, settled);
        for (second, (event, list)) in (1..).zip(events) {
            let now = SimTime::from_secs(second);
            let list: Vec<_> = list.iter().map(u32::to_string).collect();
            story.happens(now, &format!("{} {}", EVENTS[event], list.join(",")));
            let before = story.set.rows().to_vec();
            let mut fresh = ArgoCd::new(story.set.spec().clone(), options, story.set.names.clone());
            fresh.set_rows(before.clone());
            let hold = story.set.hold(&story.view);
            let pass = story.set.reconcile(now, &story.view);

            // Apart from the rows, state between passes only saves work; a pass that promotes nothing keeps the
            // conditions.
            let mut again = fresh.reconcile(now, &story.view);
            if pass.status.barrier.is_some() {
                again.status.conditions = pass.status.conditions;
            }
            prop_assert_eq!(&again, &pass);
            prop_assert_eq!(fresh.rows(), story.set.rows());

            let plan = story.set.steps().clone();
            let allowed = plan.lists[..pass.status.open_steps].concat();
            let mut promoted = vec![0; plan.lists.len()];
            for (index, (old, new)) in before.iter().zip(story.set.rows()).enumerate() {
                check_row(old.as_ref(), new.as_ref());
                let is_promoted = |row: &ApplicationStatus| {
                    row.message == Message::Promoted && row.last_transition_time == now
                        && old.as_ref() != Some(row)
                };
                if new.as_ref().is_some_and(is_promoted) {
                    promoted[plan.counted_in(index)] += 1;
                    prop_assert!(allowed.contains(&(index as u32)), "promoted in a closed step");
                }
            }
            for (step, budget) in pass.status.budgets.iter().enumerate() {
                let updating = story.set.rows().iter().enumerate().filter(|(index, row)| {
                    plan.counted_in(*index) == step && row.as_ref().is_some_and(|row| {
                        matches!(row.status, RolloutStatus::Pending | RolloutStatus::Progressing)
                    })
                }).count();
                prop_assert_eq!(updating, budget.updating);
                let is_within = budget.limit.is_none_or(|limit| updating as i64 <= limit);
                prop_assert!(promoted[step] == 0 || is_within, "step {step}: {budget:?}");
            }
            for target in &pass.status.requested {
                prop_assert!(allowed.contains(&target.0), "a sync outside of the open steps");
                prop_assert!(plan.step_of[target.index()].is_some());
                let rows = if options.trigger_once { story.set.rows() } else { &before[..] };
                let row = rows[target.index()].as_ref().expect("it has one");
                prop_assert_eq!(row.status, RolloutStatus::Pending);
            }
            if !pass.status.rows_written {
                prop_assert_eq!(story.set.rows(), &before[..]);
            }
            let moves = pass.status.rows_written || !pass.actions.is_empty();
            prop_assert!(!(moves && hold.is_some()), "{hold:?} in a pass that makes progress");
            story.set.store(&pass, &mut story.view);
        }
    }

    /// If every sync succeeds, a rollout ends with all applications complete.
    #[test]
    fn a_rollout_ends_if_every_sync_succeeds(
        steps in prop::sample::select(STEPS[..3].to_vec()),
        options in options(),
        settled in any::<bool>(),
    ) {
        // The toy controller compares only on request.
        let options = ControllerOptions { version: options.version.min(ArgoCdVersion::V3_5), ..options };
        let mut story = SetStory::new(
            rolling(steps), options, &FLEET[..2], if settled { Begin::Settled } else { Begin::Empty },
        );
        let mut second = 0;
        for round in 0..60 {
            second += 2;
            if round == 1 {
                story.happens(SimTime::from_secs(second), if settled { "commit 2" } else { "compared" });
            }
            story.pass(SimTime::from_secs(second));
            story.pass(SimTime::from_secs(second));
            let running: Vec<u32> = (0..8).filter(|index| {
                story.view[*index as usize].live.as_ref().is_some_and(|live| live.operation.is_some())
            }).collect();
            second += 2;
            for event in ["start", "synced", "healthy"] {
                for index in &running {
                    story.happens(SimTime::from_secs(second), &format!("{event} {index}"));
                }
            }
        }
        prop_assert!(story.view.iter().all(ApplicationView::is_done), "{:?}", story.set.hold(&story.view));
        prop_assert_eq!(story.set.conditions().rollout, Some(Rollout::Complete));
    }

    /// The order of promotion is the order of the names, not of the list.
    #[test]
    fn the_order_of_the_list_has_no_effect(rotate in 0..10_usize, steps in prop::sample::select(STEPS.to_vec())) {
        let story = story(steps, ControllerOptions::default(), true);
        let decide = |rotate: usize| {
            let (mut names, mut view) = (story.set.names.clone(), story.view.clone());
            for application in &mut view {
                let live = application.live.as_mut().expect("it is settled");
                live.sync = SyncStatus::OutOfSync;
            }
            names.rotate_left(rotate);
            view.rotate_left(rotate);
            let mut set = ArgoCd::new(story.set.spec().clone(), ControllerOptions::default(), names);
            set.reconcile(SimTime::from_secs(5), &view);
            let mut rows = set.rows().to_vec();
            rows.rotate_right(rotate);
            rows
        };
        prop_assert_eq!(decide(rotate), decide(0));
    }
}

#[test]
fn a_pass_returns_when_the_next_one_is_due() {
    let mut spec = rolling("{}");
    spec.generators = serde_saphyr::from_str("[{git: {}}]").expect("a generator");
    let mut story = SetStory::new(
        spec,
        ControllerOptions::default(),
        &[("dev", 1)],
        Begin::Settled,
    );
    let (now, seconds) = (SimTime::from_secs(100), SimDuration::from_secs);
    let wake = |story: &mut SetStory| story.set.reconcile(now, &story.view).wake_at;
    assert_eq!(
        wake(&mut story),
        Some(now + seconds(180)),
        "the generator's timer"
    );
    story.happens(now, "commit 2");
    assert_eq!(
        wake(&mut story),
        Some(now),
        "the pass wrote rows, which queues another one"
    );
    story.set.set_spec(rolling("{}"));
    assert_eq!(wake(&mut story), None, "no generator has a timer");
    story.view[0]
        .generated
        .as_mut()
        .expect("it is generated")
        .valid = false;
    assert_eq!(
        wake(&mut story),
        Some(now + ERROR_REQUEUE),
        "an application is not valid"
    );
    story.set.set_spec(rolling(""));
    assert_eq!(wake(&mut story), Some(now + ERROR_REQUEUE), "no steps");
}
