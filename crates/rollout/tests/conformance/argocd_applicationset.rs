//! Argo CD's steps, budgets and passes, as recorded from its own code (see `argocd-applicationset/README.md`).
//!
//! Every pass of a trace is compared in full: rows, requests, operations, objects, conditions, timers, and the
//! triggers of the next pass.

mod record;
mod replay;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fleetsim_rollout::Revision;
use fleetsim_rollout::argo_cd::{
    ApplicationSetSpec, ApplicationStatus, ArgoCd, ControllerOptions, IssueKind, Message,
    RolloutConfig, RolloutStatus, RolloutStep, StepBudget,
};
use fleetsim_units::SimTime;
use serde_json::{Map, Value, json};

use super::suite::{Check, Suite, differ, parse, suites_of};
use record::{BudgetCase, StepsCase, Trace};
use replay::Replay;
use words::{config, is_empty, numbers, out_of_sync, rolling, time, ungrouped};

/// Returns all suites for which `folder` has files.
pub fn suites(folder: &Path) -> Vec<Suite> {
    let kinds: [(&str, &str, Check); 3] = [
        ("budget", "cases", check_budget),
        ("steps", "cases", check_steps),
        ("traces", "traces", check_trace),
    ];
    suites_of("argocd-applicationset", folder, &kinds)
}

/// Compares how many rows of one step are promoted, with rows in all three states.
fn check_budget(case: &Value) -> Result<(), String> {
    let case: BudgetCase = parse(case);
    let step = RolloutStep {
        max_update: case.max.clone(),
        ..RolloutStep::default()
    };
    let names = (0..case.total)
        .map(|index| format!("a{index:04}"))
        .collect();
    let mut set = ArgoCd::new(rolling(&[step]), ControllerOptions::default(), names);
    let row = |index: usize| ApplicationStatus {
        status: match index {
            index if index < case.updating => RolloutStatus::Progressing,
            index if index < case.updating + case.waiting => RolloutStatus::Waiting,
            _ => RolloutStatus::Healthy,
        },
        step: Some(1),
        target_revisions: Arc::new([Revision(1)]),
        last_transition_time: SimTime::ZERO,
        message: Message::Empty,
    };
    set.set_rows((0..case.total).map(|index| Some(row(index))).collect());
    let view = vec![out_of_sync(&Arc::default()); case.total];
    let pass = set.reconcile(time(0), &view);
    let budget = pass.status.budgets[0];
    let got = json!({
        "promoted": pass.status.rows[RolloutStatus::Pending as usize],
        "invalid": u8::from(set.conditions().config == Some(RolloutConfig::Invalid(IssueKind::MaxUpdate))),
        "cap": budget.limit.filter(|_| budget.is_used_up),
    });
    let expected = json!({ "promoted": case.promoted, "invalid": case.invalid, "cap": case.cap });
    differ(&format!("{case:?}"), &expected, &got)
}

fn check_steps(case: &Value) -> Result<(), String> {
    let input: StepsCase = parse(case);
    let names: Vec<String> = input.apps.iter().map(|app| app.n.clone()).collect();
    let spec = ApplicationSetSpec {
        strategy: input.strategy,
        ..ApplicationSetSpec::default()
    };
    let mut set = ArgoCd::new(spec.clone(), ControllerOptions::default(), names.clone());
    let row = ApplicationStatus {
        status: RolloutStatus::Waiting,
        step: None,
        target_revisions: Arc::new([Revision(1)]),
        last_transition_time: SimTime::ZERO,
        message: Message::Empty,
    };
    set.set_rows(vec![Some(row); names.len()]);
    let applications: Vec<_> = input
        .apps
        .iter()
        .map(|app| out_of_sync(&Arc::new(app.l.clone())))
        .collect();
    let pass = set.reconcile(time(0), &applications);

    let plan = set.steps();
    let steps = spec.steps().ok().flatten();
    let named = |list: &[u32]| {
        list.iter()
            .map(|index| names[*index as usize].clone())
            .collect::<Vec<_>>()
    };
    // All rows are Waiting, and the steps of all applications are open, so only the budgets limit promotion.
    let mut budgets: Vec<StepBudget> = Vec::new();
    let mut promoted = vec![0; plan.lists.len()];
    for (index, step) in steps.unwrap_or_default().iter().enumerate() {
        let total = (0..names.len())
            .filter(|application| plan.counted_in(*application) == index)
            .count();
        budgets.push(StepBudget::new(step.max_update.as_ref(), total, 0));
    }
    let mut order: Vec<usize> = (0..plan.step_of.len()).collect();
    order.sort_by_key(|application| &names[*application]);
    for application in order {
        let (step, is_selected) = (
            plan.counted_in(application),
            plan.step_of[application].is_some(),
        );
        if step < budgets.len() {
            promoted[step] += i64::from(budgets[step].turn(is_selected));
        }
    }
    let unreadable: Vec<usize> = numbers(&budgets, |budget| budget.is_unreadable);
    let mut open = named(&plan.lists[..pass.status.open_steps].concat());
    open.sort_unstable();
    open.dedup();
    let step = |name: &String| {
        let index = names
            .iter()
            .position(|other| other == name)
            .expect("a name of the list");
        plan.step_of
            .get(index)
            .copied()
            .flatten()
            .map_or(-1, |step| i64::from(step) + 1)
    };
    let mut issues = Map::from_iter([
        (
            "operator".to_owned(),
            json!(
                plan.issues
                    .operators
                    .iter()
                    .map(|(step, text)| json!([step + 1, text]))
                    .collect::<Vec<_>>()
            ),
        ),
        (
            "duplicate".to_owned(),
            json!(
                plan.issues
                    .duplicates
                    .iter()
                    .map(|(index, steps)| (
                        names[*index as usize].clone(),
                        steps.iter().map(|s| s + 1).collect()
                    ))
                    .collect::<BTreeMap<_, Vec<_>>>()
            ),
        ),
        ("maxUpdate".to_owned(), json!(unreadable)),
        (
            "emptyStep".to_owned(),
            json!(
                plan.issues
                    .empty_steps
                    .iter()
                    .map(|step| step + 1)
                    .collect::<Vec<_>>()
            ),
        ),
    ]);
    issues.retain(|_, value| !is_empty(value));
    let mut got = json!({
        "enabled": steps.is_some(),
        "lists": plan.lists.iter().map(|list| named(list)).collect::<Vec<_>>(),
        "step": names.iter().map(|name| (name.clone(), step(name))).collect::<BTreeMap<_, _>>(),
        "open": open,
        "budget": budgets.iter().map(|budget| budget.limit.filter(|_| budget.is_used_up)).collect::<Vec<_>>(),
        "promoted": promoted,
        "issues": issues,
        "report": config(set.conditions().config),
    });
    let mut expected = case.clone();
    for key in ["id", "kind", "about", "strategy", "apps"] {
        expected.as_object_mut().expect("an object").remove(key);
    }
    for value in [&mut got, &mut expected] {
        value
            .as_object_mut()
            .expect("an object")
            .retain(|_, value| !is_empty(value));
    }
    differ("steps", &expected, &got)
}

fn check_trace(case: &Value) -> Result<(), String> {
    let trace: Trace = parse(case);
    let mut replay = Replay::new(&trace);
    for (index, step) in trace.steps.iter().enumerate() {
        let wakes = replay.apply(step);
        let place = format!("step {index} (t={})", step.t);
        differ(
            &format!("{place} wake"),
            &json!(step.wake),
            &json!(u8::from(wakes)),
        )?;
        let is_due = wakes || replay.is_queued;
        if trace.kind == "closed" && index > 0 && step.skip == 1 {
            differ(&format!("{place} skip"), &json!(false), &json!(is_due))?;
        }
        if step.skip == 1 {
            continue;
        }
        let got = replay.pass(step.t);
        let mut expected = step.out.clone();
        if let Some(rows) = expected.remove("st") {
            expected.insert("st".to_owned(), ungrouped(&rows));
        }
        differ(&place, &Value::Object(expected), &Value::Object(got))?;
    }
    differ("op", &trace.op.unwrap_or_default(), &replay.first_operation)
}
