//! Rollouts of the proposal as scripts, each based on a sentence of its text.
//!
//! A line is `event => outcome`. Events: `pass` (nothing), `synced LIST`, `failed LIST` (synced, and Degraded until it
//! is synced again), `progressing LIST`, `healthy LIST`, `degraded LIST`, `release N` (the template changes). A list is
//! `0-3,7`, by index. Each event is followed by a pass, which is stored. Outcome: the created and changed applications
//! or, if none, the hold or `done`.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::super::label_selector::Labels;
use super::super::super::testing::{print_ranges, ranges};
use super::super::super::{Revision, TargetId};
use super::super::Health;
use super::*;

fn applications(steps: &[(&str, usize)]) -> Vec<(String, Arc<Labels>)> {
    let environments = steps
        .iter()
        .flat_map(|(env, count)| std::iter::repeat_n(*env, *count));
    let application = |(index, env): (usize, &str)| {
        let labels = Labels::from([("env".to_owned(), env.to_owned())]);
        (format!("a{index:02}"), Arc::new(labels))
    };
    environments.enumerate().map(application).collect()
}

fn scheduler(strategy: &str, steps: &[(&str, usize)]) -> ProposedRollingUpdate {
    let strategy: ProposalStrategy = serde_saphyr::from_str(strategy).expect(strategy);
    ProposedRollingUpdate::new(&strategy, &applications(steps)).expect("the strategy is in order")
}

fn view(count: usize, live: Option<ProposalObject>) -> ProposalView {
    ProposalView {
        wanted: Revision(1),
        applications: vec![live; count],
    }
}

fn settled() -> Option<ProposalObject> {
    Some(ProposalObject {
        revision: Revision(1),
        is_synced: true,
        health: Health::Healthy,
    })
}

fn happens(view: &mut ProposalView, event: &str) {
    let mut words = event.split(' ');
    let name = words.next().expect("an event has a name");
    if name == "release" {
        view.wanted = Revision(words.next().expect("which").parse().expect("a number"));
        return;
    }
    let list = words
        .next()
        .map_or_else(|| (0..view.applications.len() as u32).collect(), ranges);
    for index in list {
        let Some(live) = &mut view.applications[index as usize] else {
            continue;
        };
        match name {
            "pass" => {}
            "synced" if live.health == Health::Degraded => {
                (live.is_synced, live.health) = (true, Health::Healthy);
            }
            "synced" => live.is_synced = true,
            "failed" => (live.is_synced, live.health) = (true, Health::Degraded),
            "progressing" => live.health = Health::Progressing,
            "healthy" => live.health = Health::Healthy,
            "degraded" => live.health = Health::Degraded,
            other => panic!("unknown event `{other}`"),
        }
    }
}

fn pass(set: &ProposedRollingUpdate, view: &mut ProposalView) -> String {
    let hold = set.hold(view);
    let pass = set.reconcile(view);
    let targets = pass.actions.iter().map(|target| target.0);
    let (created, changed): (Vec<u32>, Vec<u32>) =
        targets.partition(|target| view.applications[*target as usize].is_none());
    view.store(&pass);
    assert!(
        pass.actions.is_empty() || hold.is_none(),
        "{hold:?} in a pass that makes progress"
    );
    let groups = [("create", created), ("update", changed)];
    let texts: Vec<_> = groups
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(what, list)| format!("{what} {}", print_ranges(list)))
        .collect();
    match hold {
        Some(hold) => format!("hold {hold}"),
        None if texts.is_empty() => "done".to_owned(),
        None => texts.join(", "),
    }
}

fn play(strategy: &str, steps: &[(&str, usize)], mut view: ProposalView, story: &str) {
    let set = scheduler(strategy, steps);
    let played: String = story
        .lines()
        .map(|line| {
            let Some((event, _)) = line.split_once(" => ") else {
                return "\n".to_owned();
            };
            happens(&mut view, event);
            format!("{event} => {}\n", pass(&set, &mut view))
        })
        .collect();
    assert_eq!(played.trim(), story.trim());
}

/// The example in the text.
const EXAMPLE: &str = "
type: RollingUpdate
rollingUpdate:
  steps:
    - matchExpressions: [{key: env, operator: In, values: [dev]}]
      maxUpdate: 0
    - matchExpressions: [{key: env, operator: In, values: [qa]}]
    - matchExpressions: [{key: env, operator: In, values: [us_east_2, eu_west_1, ap_south_1]}]
      maxUpdate: 1";

const FLEET: [(&str, usize); 4] = [("dev", 2), ("qa", 2), ("us_east_2", 1), ("eu_west_1", 1)];

#[test]
fn the_example_updates_all_dev_then_all_qa_and_then_the_rest_one_by_one() {
    play(
        EXAMPLE,
        &FLEET,
        view(6, settled()),
        "
pass => done
release 2 => update 0-1
synced 0-1 => update 2-3
synced 2 => hold rollingUpdate.steps: in step 2, not complete: 1 application (a03); 2 applications (a04, a05) of later steps wait
synced 3 => update 4
synced 4 => update 5
synced 5 => done",
    );
}

#[test]
fn a_synced_application_is_complete_when_it_is_healthy_again() {
    play(
        "{type: RollingUpdate, rollingUpdate: {steps: [{maxUpdate: 1}]}}",
        &[("dev", 2)],
        view(2, settled()),
        "
release 2 => update 0
progressing 0 => hold maxUpdate: in step 1, not complete: 1 application (a00); 1 application (a01) of the step wait; maxUpdate allows 1 concurrently
synced 0 => hold maxUpdate: in step 1, not complete: 1 application (a00); 1 application (a01) of the step wait; maxUpdate allows 1 concurrently
healthy 0 => update 1",
    );
}

#[test]
fn a_new_set_is_created_in_the_order_of_the_steps() {
    play(
        EXAMPLE,
        &FLEET,
        view(6, None),
        "
pass => create 0-1
synced 0-1 => hold rollingUpdate.steps: in step 1, not complete: 2 applications (a00, a01); 4 applications (a02, a03, a04 and 1 more) of later steps wait
healthy 0-1 => create 2-3",
    );
}

#[test]
fn a_failure_stalls_the_rollout_but_its_step_continues() {
    play(
        "{type: RollingUpdate, rollingUpdate: {steps: [
            {matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 50%},
            {matchExpressions: [{key: env, operator: In, values: [qa]}]}]}}",
        &[("dev", 4), ("qa", 1)],
        view(5, settled()),
        "
release 2 => update 0-1
failed 0 => hold maxUpdate: in step 1, not complete: 2 applications (a00, a01); failed, which stalls the rollout: 1 application (a00); 2 applications (a02, a03) of the step wait; 1 application (a04) of later steps wait; maxUpdate allows 2 concurrently
synced 1 => update 2
synced 2 => update 3
synced 3 => hold rollingUpdate.steps: in step 1, not complete: 1 application (a00); failed, which stalls the rollout: 1 application (a00); 1 application (a04) of later steps wait
synced 0 => update 4",
    );
}

#[test]
fn a_new_change_abandons_the_rollout_in_progress_without_a_rollback() {
    play(
        EXAMPLE,
        &FLEET,
        view(6, settled()),
        "
release 2 => update 0-1
synced 0 => hold rollingUpdate.steps: in step 1, not complete: 1 application (a01); 4 applications (a02, a03, a04 and 1 more) of later steps wait
failed 1 => hold rollingUpdate.steps: in step 1, not complete: 1 application (a01); failed, which stalls the rollout: 1 application (a01); 4 applications (a02, a03, a04 and 1 more) of later steps wait
release 3 => update 0-1
synced 0-1 => update 2-3
release 1 => update 0-1
synced 0-3 => update 2-3
synced 2-3 => done",
    );
}

#[test]
fn without_steps_applications_are_updated_one_by_one_in_a_fixed_order() {
    let story = "
release 2 => update 0
synced 0 => update 1
failed 1 => hold maxUpdate: in step 1, not complete: 1 application (a01); failed, which stalls the rollout: 1 application (a01); 1 application (a02) of the step wait; maxUpdate allows 1 concurrently";
    play(
        "{type: RollingUpdate}",
        &[("dev", 3)],
        view(3, settled()),
        story,
    );
    play(
        "{type: RollingUpdate, rollingUpdate: {steps: []}}",
        &[("dev", 3)],
        view(3, settled()),
        story,
    );
}

#[test]
fn all_at_once_updates_all_applications_simultaneously() {
    let story = "
release 2 => update 0-2
failed 1 => hold AllAtOnce: all were updated simultaneously; not complete: 3 applications (a00, a01, a02)
synced 0-2 => done";
    play("{}", &[("dev", 3)], view(3, settled()), story);
    play(
        "{type: AllAtOnce}",
        &[("dev", 3)],
        view(3, settled()),
        story,
    );
}

#[test]
fn an_application_that_no_step_selects_is_never_changed() {
    play(
        EXAMPLE,
        &[("dev", 1), ("lab", 1)],
        view(2, settled()),
        "
release 2 => update 0
synced 0 => hold matchExpressions: no step selects 1 application (a01), so they are never changed",
    );
}

#[test]
fn undefined_values_are_rejected() {
    let step = |step: &str| format!("{{type: RollingUpdate, rollingUpdate: {{steps: [{step}]}}}}");
    let cases = [
        (
            "{type: RollingSync}".to_owned(),
            "strategy.type is `RollingSync`; the proposal has RollingUpdate and AllAtOnce",
        ),
        (
            step("{maxUpdate: -1}"),
            "strategy.rollingUpdate.steps[0].maxUpdate is `-1`; write a number from 0, or a percentage such as 10%",
        ),
        (
            step("{}, {maxUpdate: some}"),
            "strategy.rollingUpdate.steps[1].maxUpdate is `\"some\"`; write a number from 0, or a percentage such as 10%",
        ),
        (
            step("{maxUpdate: -5%}"),
            "strategy.rollingUpdate.steps[0].maxUpdate is `-5%`; write a number from 0, or a percentage such as 10%",
        ),
        (
            step("{matchExpressions: [{key: env, operator: Exists}]}"),
            "strategy.rollingUpdate.steps[0] has the operator `Exists`; use In or NotIn",
        ),
    ];
    for (yaml, message) in cases {
        let strategy: ProposalStrategy = serde_saphyr::from_str(&yaml).expect(&yaml);
        let error = ProposedRollingUpdate::new(&strategy, &[]).expect_err(&yaml);
        assert_eq!(error.to_string(), message, "{yaml}");
    }
}

#[test]
fn limits_are_relative_to_the_step_and_zero_means_all() {
    let cases = [
        ("absent", None),
        ("0", None),
        ("0%", None),
        ("3", Some(3)),
        ("25%", Some(2)),
        ("1%", Some(1)),
    ];
    for (written, limit) in cases {
        let max_update = if written == "absent" {
            String::new()
        } else {
            format!("maxUpdate: {written}")
        };
        let yaml = format!("{{type: RollingUpdate, rollingUpdate: {{steps: [{{{max_update}}}]}}}}");
        let steps: Vec<_> = scheduler(&yaml, &[("dev", 10)]).steps().collect();
        assert_eq!(
            steps,
            [((0..10).map(TargetId).collect(), limit)],
            "{written} of 10"
        );
    }
}

proptest! {
    /// For all events, a step's limit holds for the applications that the rollout itself started, and no application
    /// of a later step is changed before the earlier steps are complete.
    #[test]
    fn limits_and_the_order_of_steps_are_not_violated(events in proptest::collection::vec((0..8_u32, 0..5_usize), 0..60)) {
        let set = scheduler(EXAMPLE, &FLEET);
        let mut view = view(6, settled());
        happens(&mut view, "release 2");
        pass(&set, &mut view);
        for (index, event) in events {
            let name = ["synced", "failed", "progressing", "healthy", "degraded"][event];
            happens(&mut view, &format!("{name} {}", index % 6));
            let result = set.reconcile(&view);
            let steps: Vec<_> = set.steps().collect();
            let current = steps.iter().position(|(members, _)| {
                members.iter().any(|target| !view.is_complete(target.0))
            });
            for target in &result.actions {
                let (members, _) = &steps[current.expect("only an unfinished step is processed")];
                prop_assert!(members.contains(target));
            }
            view.store(&result);
            for (members, limit) in steps {
                let is_updating = |target: &&TargetId| {
                    view.is_changed(target.0)
                        && view.applications[target.index()].is_some_and(|live| !live.is_synced)
                };
                let updating = members.iter().filter(is_updating).count();
                prop_assert!(limit.is_none_or(|limit| updating <= limit));
            }
        }
    }
}
