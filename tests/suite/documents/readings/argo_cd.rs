//! Readings of Argo CD's experiments.

use super::super::shown::ShownSetup;
use super::at_once;
use crate::common::peak_in_flight;

/// Returns, for each group in the order in which the groups begin, the maximum number of applications that were
/// updating simultaneously.
pub(in crate::documents) fn waves(shown: &ShownSetup) -> String {
    let mut groups = Vec::new();
    for prefix in ["dev", "qa", "region"] {
        let rows = &shown.run().clusters;
        let of_group = rows.iter().filter(|row| row.cluster.starts_with(prefix));
        let begins = shown.told(prefix).first().copied().unwrap_or(f64::INFINITY);
        groups.push((begins, format!("{prefix} {}", peak_in_flight(of_group))));
    }
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    let texts: Vec<String> = groups.into_iter().map(|(_, text)| text).collect();
    texts.join(", ")
}

/// Returns whether the second step begins only after the last application of the first is Healthy.
pub(in crate::documents) fn second_step(shown: &ShownSetup) -> String {
    let done = shown.ready("dev").last().copied().unwrap_or(f64::INFINITY);
    match shown.told("qa").first() {
        Some(at) if *at >= done => "after the first".to_owned(),
        Some(_) => "before the first is complete".to_owned(),
        None => "never".to_owned(),
    }
}

/// Returns whether the second step begins while an application of the first fails, for 23 hours.
pub(in crate::documents) fn step_after_failure(shown: &ShownSetup) -> String {
    match shown.told("qa").first() {
        Some(at) if *at < 82_800.0 => "begins".to_owned(),
        _ => "waits".to_owned(),
    }
}

/// Returns the number of applications of the first step that complete within five minutes.
pub(in crate::documents) fn ready_soon(shown: &ShownSetup) -> String {
    let soon = shown.ready("dev").iter().filter(|at| **at < 300.0).count();
    format!("{soon} of 5")
}

/// The status of the condition `ApplicationSetUpToDate` after half an hour.
pub(in crate::documents) fn up_to_date(shown: &ShownSetup) -> String {
    let mut rows = shown.run().statuses.iter().filter(|row| row.t_s < 1_800.0);
    let last = rows.rfind(|row| row.condition == "ApplicationSetUpToDate");
    last.map_or("no such condition".to_owned(), |row| {
        format!("condition {}", row.status)
    })
}

/// Returns the number of applications that got the new version, and the outcome of the run after the set was changed
/// back.
pub(in crate::documents) fn changed_back(shown: &ShownSetup) -> String {
    let mut late = 0;
    for row in &shown.run().clusters {
        // The old version's image is on every node, so only the abandoned one is pulled.
        late += usize::from(row.first_pull_s.is_some_and(|at| at > 12.0));
    }
    format!("{late} after the change, {}", shown.outcome())
}

/// The step of each of the three clusters of the proposal's example.
pub(in crate::documents) fn steps_of_elements(shown: &ShownSetup) -> String {
    let mut steps = Vec::new();
    for row in &shown.run().clusters {
        steps.push(format!("{}: {}", row.cluster, row.stage));
    }
    steps.sort_unstable();
    steps.join(", ")
}

/// Returns the number of changed applications, and whether the others are named before a run.
pub(in crate::documents) fn unselected(shown: &ShownSetup) -> String {
    let warned = shown.explanation.warnings.join(" ");
    let is_listed = warned.contains("qa-1");
    let listed = if is_listed { "warned" } else { "not warned" };
    format!("{} of 14, {listed}", shown.told("").len())
}

/// Returns the maximum number of concurrent updates, and whether they follow the order of names.
pub(in crate::documents) fn told_by_name(shown: &ShownSetup) -> String {
    let order = if shown.order("").is_sorted() {
        "by name"
    } else {
        "in another order"
    };
    format!("{}, {order}", at_once(shown))
}

/// Returns the last group of applications that begins, with its maximum number of concurrent updates.
pub(in crate::documents) fn last_group(shown: &ShownSetup) -> String {
    waves(shown)
        .rsplit(", ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns whether applications that got the labels of the first step during the rollout update with that step.
pub(in crate::documents) fn relabelled(shown: &ShownSetup) -> String {
    let regions = shown
        .told("region")
        .first()
        .copied()
        .unwrap_or(f64::INFINITY);
    let qa = shown.told("qa");
    if qa.len() == 3 && qa.iter().all(|at| *at < regions) {
        "qa with dev".to_owned()
    } else {
        format!("{} of qa, not with dev", qa.len())
    }
}

/// Returns the number of objects that the first pass creates.
pub(in crate::documents) fn created_first(shown: &ShownSetup) -> String {
    let mut created = shown.run().passes.iter().map(|pass| pass.created);
    created
        .find(|created| *created > 0)
        .unwrap_or(0)
        .to_string()
}
