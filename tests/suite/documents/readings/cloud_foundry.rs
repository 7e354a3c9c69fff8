//! Readings of Cloud Foundry's experiments.

use super::super::shown::ShownSetup;
use super::at_once;

/// Returns the number of pauses of a canary deployment, and the number of new instances at each.
pub(in crate::documents) fn pauses(shown: &ShownSetup) -> String {
    let paused = reasons(shown)
        .iter()
        .filter(|text| text.starts_with("PAUSED"))
        .count();
    if paused == 1 {
        "1 pause".to_owned()
    } else {
        format!("{paused} pauses")
    }
}

/// Returns the reasons in the deployment's status, each with its step.
fn reasons(shown: &ShownSetup) -> Vec<String> {
    let mut step = String::new();
    let mut reason = String::new();
    let mut at = f64::NAN;
    let mut list: Vec<String> = Vec::new();
    for row in &shown.run().statuses {
        // Rows with the same time belong to one state.
        if row.t_s.to_bits() != at.to_bits() && !reason.is_empty() {
            push_new(&mut list, format!("{reason} {step}"));
        }
        at = row.t_s;
        match row.condition.as_str() {
            "status" => reason.clone_from(&row.reason),
            "status.canary.steps.current" => step.clone_from(&row.status),
            _ => {}
        }
    }
    push_new(&mut list, format!("{reason} {step}"));
    list
}

fn push_new(list: &mut Vec<String>, text: String) {
    if list.last() != Some(&text) {
        list.push(text);
    }
}

/// Returns the steps that were in progress and then paused, in their order.
pub(in crate::documents) fn steps_paused(shown: &ShownSetup) -> String {
    let mut paused = Vec::new();
    for pair in reasons(shown).windows(2) {
        if let (Some(begun), Some(step)) = (
            pair[0].strip_prefix("DEPLOYING "),
            pair[1].strip_prefix("PAUSED "),
        ) && begun == step
        {
            paused.push(step.to_owned());
        }
    }
    format!("DEPLOYING, then PAUSED: {}", paused.join(", "))
}

/// New and old instances at the end of the second step.
pub(in crate::documents) fn second_canary_step(shown: &ShownSetup) -> String {
    format!(
        "{} new, {} old",
        shown.column("step", 3)[1],
        shown.column("step", 4)[1]
    )
}

/// New instances at the end of each step.
pub(in crate::documents) fn canary_instances(shown: &ShownSetup) -> String {
    shown.column("step", 3).join(", ")
}

/// Instances of both versions at the end of the last step.
pub(in crate::documents) fn last_canary_step(shown: &ShownSetup) -> String {
    let new: u32 = shown
        .column("step", 3)
        .last()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let old: u32 = shown
        .column("step", 4)
        .last()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    (new + old).to_string()
}

/// The fields of the step in a canary's status.
pub(in crate::documents) fn step_fields(shown: &ShownSetup) -> String {
    let field = |name: &str| {
        let values = shown.statuses("Deployment/1", &format!("status.canary.steps.{name}"));
        values
            .first()
            .map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    format!("current {}, total {}", field("current"), field("total"))
}

/// Returns the last values of the deployment's status.
pub(in crate::documents) fn last_status(shown: &ShownSetup) -> String {
    shown
        .statuses("Deployment/1", "status")
        .last()
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Returns the line of `cf app` at the first pause; without a pause, the first line.
pub(in crate::documents) fn line_of_cf_app(shown: &ShownSetup) -> String {
    let lines = shown.statuses("App/app", "cf app");
    let paused = lines.iter().find(|line| line.contains("PAUSED"));
    let line = paused.or(lines.first());
    line.map_or("no such line".to_owned(), |line| line.trim().to_owned())
}

/// Returns the number of instances that start with the request.
pub(in crate::documents) fn start_with_request(shown: &ShownSetup) -> String {
    let (before, _) = shown.explanation.lines[0]
        .split_once(" start with the request")
        .unwrap_or_default();
    before.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Returns the maximum number of concurrent instances, and the megabytes that left the registry.
pub(in crate::documents) fn at_once_without_bytes(shown: &ShownSetup) -> String {
    let megabytes = shown.run().run.egress_bytes / 1_000_000;
    format!("{} at once, {megabytes} MB", at_once(shown))
}

/// Returns whether the second batch of instances begins only after a new instance is routable.
pub(in crate::documents) fn second_batch(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let first = told.partition_point(|at| *at <= told[0] + 1.0);
    if told[first] >= shown.ready("")[0] {
        "after the first is healthy".to_owned()
    } else {
        "before one is healthy".to_owned()
    }
}

/// Returns whether the second batch waits until the old instances, which take eight seconds to end, are gone.
pub(in crate::documents) fn waits_for_teardown(shown: &ShownSetup) -> String {
    let told = shown.told("");
    let first = told.partition_point(|at| *at <= told[0] + 1.0);
    if told[first] >= shown.ready("")[0] + 8.0 {
        "after the teardown".to_owned()
    } else {
        "without waiting for the teardown".to_owned()
    }
}

/// The measure `peak_instances`.
pub(in crate::documents) fn peak_instances(shown: &ShownSetup) -> String {
    shown
        .run()
        .run
        .peak_instances
        .map_or_else(String::new, |most| most.to_string())
}

/// Returns the number of instances that run the new version at the end.
pub(in crate::documents) fn replaced(shown: &ShownSetup) -> String {
    let run = &shown.run().run;
    format!("{} of {}", run.targets_done, run.targets)
}

/// Returns whether an update with an unhealthy instance completed.
pub(in crate::documents) fn held_by_unhealthy(shown: &ShownSetup) -> String {
    if shown.outcome() == "complete" {
        "complete".to_owned()
    } else {
        "held".to_owned()
    }
}

/// New instances at the steps, and the pauses.
pub(in crate::documents) fn instances_and_pauses(shown: &ShownSetup) -> String {
    format!("{}; {}", canary_instances(shown), pauses(shown))
}

/// Instances of the only step, and the pauses.
pub(in crate::documents) fn single_step(shown: &ShownSetup) -> String {
    let [new, old] = [3, 4].map(|column| shown.column("step", column).concat());
    format!("{new} new, {old} old; {}", pauses(shown))
}
