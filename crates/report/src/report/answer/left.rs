//! The line `left`: targets that are not on the new version at the end, who they are, and why.

use super::ranking::left_behind;
use super::sentence::listed;
use crate::report::data::{VariantResults, range_of, target_of};
use crate::report::format::{count, ended};
use crate::results::{RunRow, grouped};
use fleetsim_units::counted;

/// Most names.
const NAMED: usize = 5;

/// What a variant does not leave on the new version. `None`: nothing, in every run.
pub(super) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(removed(variant));
    parts.extend(unreachable(variant));
    parts.extend(stalled(variant));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `12 of 20 clusters have lost their workloads`: those whose workloads a person's deletion has removed.
fn removed(variant: &VariantResults<'_>) -> Option<String> {
    let removed = || variant.runs.iter().filter_map(|run| run.removed_targets);
    let most = removed().max().filter(|most| *most > 0)?;
    let targets = variant.runs.iter().map(|run| run.targets).max()?;
    Some(format!(
        "{} of {} have lost their workloads",
        range_of((removed().min().unwrap_or(0), most)),
        counted(targets as usize, target_of([variant.info]))
    ))
}

/// `6 of 200 (2–11) cannot be updated: offline, for example a, b and c`.
fn unreachable(variant: &VariantResults<'_>) -> Option<String> {
    let reach = variant.reach();
    if reach.is_whole() {
        return None;
    }
    let reasons = [
        (reach.paused, "paused"),
        (reach.agentless, "without agent"),
        (reach.offline, "offline"),
    ];
    let mut given: Vec<String> = Vec::new();
    for (range, reason) in reasons {
        let (_, most) = range;
        if most > 0 && range == reach.missing {
            given.push(reason.to_owned());
        } else if most > 0 {
            given.push(format!("{} {reason}", range_of(range)));
        }
    }
    let names = if variant.is_whole() {
        example(variant)
    } else {
        String::new()
    };
    Some(format!(
        "{} of {} {}s cannot be updated: {}{names}",
        range_of(reach.missing),
        range_of(reach.targets),
        target_of([variant.info]),
        listed(&given)
    ))
}

/// The names of the targets that the displayed run leaves behind, if they are few.
fn example(variant: &VariantResults<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for cluster in &variant.clusters {
        if cluster.ready_s.is_none() {
            names.push(cluster.cluster.clone());
        }
    }
    let whether = if variant.runs.len() > 1 {
        "for example "
    } else {
        ""
    };
    match names.len() {
        1..=NAMED => format!(" ({whether}{})", listed(&names)),
        _ => String::new(),
    }
}

/// `4 of 10 runs stall: in the bundle, 1 cluster (a) of 10 is unavailable, …; 1 offline`: the most frequent end, with
/// the rule and what is in the way in one of these runs.
pub(super) fn stalled(variant: &VariantResults<'_>) -> Option<String> {
    let runs = variant.runs.len();
    let ends = variant.ends();
    let first = ends.first()?;
    let run = first[0];
    let which = match (first.len(), runs) {
        (1, 1) => "the run".to_owned(),
        (all, runs) if all == runs => "every run".to_owned(),
        (some, runs) => format!("{some} of {}", counted(runs, "run")),
    };
    let left = left_range(first);
    let target = target_of([variant.info]);
    Some(format!(
        "{which} {} with {left} {target}s not ready on the new version{}",
        ended(run.outcome),
        why(first)
    ))
}

/// The least and the most targets that some runs leave behind.
fn left_range(runs: &[&RunRow]) -> String {
    let least = runs.iter().map(|run| left_behind(run)).min();
    let most = runs.iter().map(|run| left_behind(run)).max();
    range_of((least.unwrap_or(0), most.unwrap_or(0)))
}

/// The rule that holds these runs, with the explanation of one of them.
fn why(runs: &[&RunRow]) -> String {
    let run = runs[0];
    if run.held_by.is_empty() {
        return String::new();
    }
    let mut text = format!(", held by {}", run.held_by);
    if !run.held_detail.is_empty() {
        let details = grouped(runs.iter().map(|run| (&run.held_detail, ())));
        if details.len() > 1 {
            text.push_str(&format!("; in run {}", run.replicate));
        }
        text.push_str(&format!(": {}", run.held_detail));
    }
    // Without the number of the run, this must hold in all of them.
    let known = in_the_way(run);
    let holds_in_all = runs.iter().all(|other| in_the_way(other) == known);
    if !known.is_empty() && (holds_in_all || text.contains("; in run ")) {
        text.push_str(&format!(" ({known})"));
    }
    text
}

/// What the simulator knows of the targets that a run leaves behind: `6 offline, 1 defective`.
fn in_the_way(run: &RunRow) -> String {
    let counts = [
        (run.offline_targets, "offline"),
        (run.paused_targets, "paused"),
        (run.agentless_targets, "without agent"),
        (run.exposed_targets, "defective"),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (number, word) in counts {
        if number > 0 {
            parts.push(format!("{} {word}", count(number as f64)));
        }
    }
    parts.join(", ")
}
