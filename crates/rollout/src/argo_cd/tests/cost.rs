//! The cost of a pass, measured in visits so that it does not depend on the machine.

use super::super::super::{TargetSet, cost::visits_of};
use super::*;

/// The name of a state, and a function that creates a set of a given size in this state.
type State = (&'static str, fn(usize) -> SetStory);

/// Creates a settled set: half `dev`, half `prod`.
fn settled(spec: ApplicationSetSpec, options: ControllerOptions, applications: usize) -> SetStory {
    let half = applications / 2;
    SetStory::new(
        spec,
        options,
        &[("dev", half), ("prod", applications - half)],
        Begin::Settled,
    )
}

/// Runs and stores a full pass in each of these seconds.
fn passes(story: &mut SetStory, seconds: std::ops::Range<u64>) {
    let all = TargetSet::all(story.view.len());
    for now in seconds.map(SimTime::from_secs) {
        let pass = story
            .set
            .reconcile_changed(now, &story.view, &all, &mut |_| Some(SimTime::ZERO));
        story.set.store(&pass, &mut story.view);
    }
}

fn count(story: &SetStory, of: impl Fn(&ApplicationStatus, &Application) -> bool) -> usize {
    let rows = story.set.rows().iter().zip(&story.view);
    rows.filter(|(row, view)| {
        row.as_ref()
            .zip(view.live.as_ref())
            .is_some_and(|(row, live)| of(row, live))
    })
    .count()
}

fn count_idle(story: &SetStory) -> usize {
    count(story, |row, live| {
        row.status == RolloutStatus::Pending && live.operation.is_none()
    })
}

/// Creates a set in which a tenth of the applications is syncing.
fn syncing(applications: usize) -> SetStory {
    let mut story = settled(
        rolling("{maxUpdate: 10%}"),
        ControllerOptions::default(),
        applications,
    );
    story.happens(SimTime::from_secs(10), "commit 2");
    passes(&mut story, 10..12);
    let has_operation = |view: &ApplicationView| {
        view.live
            .as_ref()
            .is_some_and(|live| live.operation.is_some())
    };
    let asked = (0..)
        .zip(&story.view)
        .filter(|(_, view)| has_operation(view))
        .map(|(index, _)| index);
    let asked = print_ranges(&asked.collect::<Vec<_>>());
    story.happens(SimTime::from_secs(12), &format!("start {asked}"));
    passes(&mut story, 12..15);
    assert!(count(&story, |row, _| row.status == RolloutStatus::Progressing) >= applications / 20);
    story
}

/// Creates a set in which a tenth of the applications was promoted in a step that has closed since, and waits for a
/// sync.
fn closed(applications: usize) -> SetStory {
    let steps = "{matchExpressions: [{key: env, operator: In, values: [dev]}]}, {maxUpdate: 20%}";
    let mut story = settled(rolling(steps), ControllerOptions::default(), applications);
    story.happens(
        SimTime::from_secs(10),
        &format!("commit 2 {}-{}", applications / 2, applications - 1),
    );
    passes(&mut story, 10..11);
    story.happens(SimTime::from_secs(11), "commit 3 0");
    passes(&mut story, 11..14);
    assert!(count_idle(&story) >= applications / 20 && story.set.allowed_steps == 1);
    story
}

/// Creates a set in which a tenth of the applications is Pending, and whose policy forbids syncs.
fn forbidden(applications: usize) -> SetStory {
    let mut spec = rolling("{maxUpdate: 10%}");
    spec.sync_policy = serde_saphyr::from_str("applicationsSync: create-only").ok();
    let mut story = settled(spec, ControllerOptions::default(), applications);
    story.happens(SimTime::from_secs(10), "commit 2");
    passes(&mut story, 10..13);
    assert!(count_idle(&story) >= applications / 20);
    story
}

/// Creates a set in which one application has a new revision, and a comparison of all others was already requested.
fn behind(applications: usize) -> SetStory {
    let version = ArgoCdVersion::V3_6;
    let options = ControllerOptions {
        version,
        refresh_grace_period: SimDuration::ZERO,
        ..ControllerOptions::default()
    };
    let mut story = settled(rolling("{maxUpdate: 10%}"), options, applications);
    story.happens(SimTime::from_secs(10), "commit 2 0");
    passes(&mut story, 10..13);
    assert_eq!(count(&story, |_, live| live.refresh), applications - 1);
    story
}

/// Returns two numbers of visits: of a pass after 100 applications became unhealthy, and of a full pass.
fn visits(mut story: SetStory) -> [u64; 2] {
    let (now, applications) = (SimTime::from_secs(60), story.view.len());
    let mut changed = TargetSet::new(applications);
    for at in (0..100).map(|at| at * applications / 100 + 5) {
        story.view[at].live.as_mut().expect("all exist").health = Health::Degraded;
        changed.insert(at as u32);
    }
    [changed, TargetSet::all(applications)].map(|changed| {
        visits_of(|| {
            let pass = story
                .set
                .reconcile_changed(now, &story.view, &changed, &mut |_| Some(SimTime::ZERO));
            assert!(pass.actions.is_empty(), "nothing is to be done");
        })
    })
}

#[test]
fn a_pass_visits_as_many_rows_in_a_set_of_20_000_as_in_one_of_1_000() {
    let states: [State; 4] = [
        ("syncing", syncing),
        ("closed", closed),
        ("forbidden", forbidden),
        ("behind", behind),
    ];
    for (state, made) in states {
        let [[few, _], [many, all]] =
            [1_000, 20_000].map(|applications| visits(made(applications)));
        assert!(
            many <= 1_000 && many <= few + 10,
            "{state}: {few} of 1,000 and {many} of 20,000"
        );
        assert!(
            all >= 60_000,
            "{state}: a pass that is told of all visits all, or the count is wrong: {all}"
        );
    }
}
