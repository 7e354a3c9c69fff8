//! Readings of KubeFleet's experiments.

use super::super::shown::ShownSetup;

/// The order in which the stages of the example begin.
pub(in crate::documents) fn stage_order(shown: &ShownSetup) -> String {
    let mut stages = Vec::new();
    for (name, prefix) in [
        ("staging", "stg"),
        ("canary", "can"),
        ("production", "prod"),
    ] {
        let begins = shown.told(prefix).first().copied().unwrap_or(f64::INFINITY);
        stages.push((begins, name));
    }
    stages.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names: Vec<&str> = stages.into_iter().map(|(_, name)| name).collect();
    names.join(", ")
}

/// Clusters in each stage.
pub(in crate::documents) fn stage_sizes(shown: &ShownSetup) -> String {
    let mut sizes = Vec::new();
    for stage in ["staging", "canary", "production"] {
        let rows = shown.run().clusters.iter();
        sizes.push(rows.filter(|row| row.stage == stage).count().to_string());
    }
    sizes.join(", ")
}

/// The order of the production clusters.
pub(in crate::documents) fn production_order(shown: &ShownSetup) -> String {
    shown.order("prod").join(", ")
}

/// The first five clusters in their order.
pub(in crate::documents) fn first_five(shown: &ShownSetup) -> String {
    let mut order = shown.order("");
    order.truncate(5);
    order.join(", ")
}

/// The wait between the stages staging and canary.
pub(in crate::documents) fn wait_after_staging(shown: &ShownSetup) -> String {
    about(between(shown, "stg", "can"))
}

/// Returns whether the tasks of a stage begin after its last cluster, which is offline for two hours.
pub(in crate::documents) fn tasks_begin(shown: &ShownSetup) -> String {
    match shown.told("can").first() {
        Some(at) if *at >= 10_800.0 => "after all clusters".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Returns the duration of the run after the last production cluster.
pub(in crate::documents) fn end_of_production(shown: &ShownSetup) -> String {
    let last = shown.ready("prod").last().copied().unwrap_or(f64::NAN);
    let ends = shown.run().run.reported_s.unwrap_or(f64::NAN);
    about(ends - last)
}

/// The names of approval requests in the run's status.
pub(in crate::documents) fn approval_of_canary(shown: &ShownSetup) -> String {
    for row in &shown.run().statuses {
        let text = format!("{} {}", row.object, row.message);
        for word in text.split([' ', '/', '`', ',', ':']) {
            if word.starts_with("example-run-") && word.ends_with("canary") {
                return word.to_owned();
            }
        }
    }
    "no request".to_owned()
}

/// Returns whether production begins after the approval at two hours.
pub(in crate::documents) fn production_after_approval(shown: &ShownSetup) -> String {
    match shown.told("prod").first() {
        Some(at) if *at >= 7_200.0 => "after the approval".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Returns the time at which the first cluster is instructed, in a run that is created after ten minutes.
pub(in crate::documents) fn begins_with_the_run(shown: &ShownSetup) -> String {
    match shown.told("").first() {
        Some(at) if *at >= 600.0 => "with the run".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Returns whether the explanation states that no stage begins.
pub(in crate::documents) fn explained_begin(shown: &ShownSetup) -> String {
    if shown.words().contains("Initialize") {
        "stays in Initialize".to_owned()
    } else {
        "begins".to_owned()
    }
}

/// The delete stage in the run's status.
pub(in crate::documents) fn delete_stage(shown: &ShownSetup) -> String {
    let rows = shown.run().statuses.iter();
    let mut reasons = Vec::new();
    for row in rows {
        if row.object.to_lowercase().contains("delet") {
            reasons.push(row.reason.clone());
        }
    }
    reasons.pop().unwrap_or_else(|| "not shown".to_owned())
}

/// The reason of the run's last condition.
pub(in crate::documents) fn run_ends(shown: &ShownSetup) -> String {
    shown
        .statuses("ClusterStagedUpdateRun/", "Succeeded")
        .last()
        .map_or("not ended".to_owned(), |text| text.trim().to_owned())
}

/// Returns whether a stage without clusters keeps the next one waiting.
pub(in crate::documents) fn empty_stage(shown: &ShownSetup) -> String {
    match shown.told("").first() {
        Some(at) if *at >= 3_600.0 => "waits".to_owned(),
        Some(_) => "does not wait".to_owned(),
        None => "never".to_owned(),
    }
}

/// Returns the rule that blocks a run without its approval, and the request that the rule names.
pub(in crate::documents) fn held_by_approval(shown: &ShownSetup) -> String {
    let run = &shown.run().run;
    let names = run.held_detail.contains("canary");
    format!(
        "{}, {}",
        run.held_by,
        if names { "named" } else { "not named" }
    )
}

/// Returns the wait between two stages whose strategy was edited during the rollout, and their order.
pub(in crate::documents) fn snapshot_kept(shown: &ShownSetup) -> String {
    format!(
        "waits {}, {}",
        wait_after_staging(shown),
        stage_order(shown)
    )
}

/// Time from the end of one stage until the next begins.
fn between(shown: &ShownSetup, stage: &str, next: &str) -> f64 {
    let end = shown.ready(stage).last().copied().unwrap_or(f64::NAN);
    shown.told(next).first().copied().unwrap_or(f64::INFINITY) - end
}

/// Formats a time without the delays of a run's polls.
fn about(seconds: f64) -> String {
    if seconds < 60.0 {
        "at once".to_owned()
    } else if (3_590.0..3_660.0).contains(&seconds) {
        "1 h".to_owned()
    } else {
        format!("{seconds:.0} s")
    }
}

/// Returns whether any cluster is instructed.
pub(in crate::documents) fn begins(shown: &ShownSetup) -> String {
    if shown.told("").is_empty() {
        "never begins".to_owned()
    } else {
        "begins".to_owned()
    }
}

/// Returns the reason why a run has failed.
pub(in crate::documents) fn failed(shown: &ShownSetup) -> String {
    let held = shown.run().run.held();
    if held.contains("failed") {
        "failed".to_owned()
    } else {
        format!("{}: {held}", shown.outcome())
    }
}
