//! The line `left`: targets that are not on the new version at the end, who they are, and why.

use super::sentence::listed;
use crate::report::data::{VariantResults, range_of, target_of};
use crate::report::format::{count, ended};
use crate::results::{RunRow, grouped};
use fleetsim_units::counted;

/// Maximum number of names.
const NAMED: usize = 5;
/// Below this share of the runs, only the rule of a stall is named.
const FEW_RUNS: f64 = 0.25;

/// What a variant does not leave on the new version. `None`: nothing, in every run.
pub(super) fn line(variant: &VariantResults<'_>) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(removed(variant));
    parts.extend(unreachable(variant));
    parts.extend(stalled(variant));
    if parts.is_empty() {
        return None;
    }
    let allowed = variant.allowed_left;
    let is_allowed = variant.runs.iter().all(|run| allowed.beyond(run) == 0);
    if is_allowed && !allowed.is_none() {
        parts.push(format!("{} allowed", allowed.text()));
    }
    Some(parts.join("; "))
}

/// `12 of 20 clusters have lost their workloads`: those whose workloads a person's deletion has removed.
fn removed(variant: &VariantResults<'_>) -> Option<String> {
    let mut removed: Vec<u64> = Vec::new();
    for run in &variant.runs {
        removed.extend(run.removed_targets);
    }
    let least = removed.iter().copied().min()?;
    let most = removed.iter().copied().max().filter(|most| *most > 0)?;
    let targets = variant.runs.iter().map(|run| run.targets).max()?;
    Some(format!(
        "{} of {} have lost their workloads",
        range_of((least, most)),
        counted(targets as usize, target_of([variant.info]))
    ))
}

/// `6 of 200 clusters (2–11 over the runs) are offline: a, b and c`, or why each of them cannot be updated.
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
    let names = if variant.is_whole() {
        example(variant)
    } else {
        String::new()
    };
    let who = format!(
        "{} {}s{}",
        missing_of_all(variant),
        target_of([variant.info]),
        over_runs(variant)
    );
    let mut given: Vec<String> = Vec::new();
    for (range, reason) in reasons {
        let (_, most) = range;
        if most > 0 && range == reach.missing {
            return Some(format!("{who} {reason} for the whole time{names}"));
        }
        if most > 0 {
            given.push(format!("{} {reason}", range_of(range)));
        }
    }
    Some(format!(
        "{who} cannot be updated: {}{names}",
        listed(&given)
    ))
}

/// `6 of 200`; a range where the median run misses none.
fn missing_of_all(variant: &VariantResults<'_>) -> String {
    let reach = variant.reach();
    let targets = range_of(reach.targets);
    match median_missing(variant) {
        0 => format!("{} of {targets}", range_of(reach.missing)),
        median => format!("{} of {targets}", count(median as f64)),
    }
}

/// ` (2–11 over the runs)`; empty if all runs have the same number, or it is said already.
fn over_runs(variant: &VariantResults<'_>) -> String {
    let (least, most) = variant.reach().missing;
    if least < most && median_missing(variant) > 0 {
        format!(" ({} over the runs)", range_of((least, most)))
    } else {
        String::new()
    }
}

/// The median number of targets that cannot be updated, the lower of two.
fn median_missing(variant: &VariantResults<'_>) -> u64 {
    let mut missing: Vec<u64> = Vec::new();
    for run in &variant.runs {
        missing.push(run.targets.saturating_sub(run.reachable_targets));
    }
    missing.sort_unstable();
    let middle = missing.get(missing.len().saturating_sub(1) / 2);
    middle.copied().unwrap_or(0)
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
        why(first, runs)
    ))
}

/// The least and the most targets that some runs leave behind.
fn left_range(runs: &[&RunRow]) -> String {
    let least = runs.iter().map(|run| run.left_on_old()).min();
    let most = runs.iter().map(|run| run.left_on_old()).max();
    range_of((least.unwrap_or(0), most.unwrap_or(0)))
}

/// The rule that holds these runs, of `all` runs, with the explanation of one of them. Few runs have only the rule.
fn why(runs: &[&RunRow], all: usize) -> String {
    let run = runs[0];
    if run.held_by.is_empty() {
        return String::new();
    }
    let mut text = format!(", held by {}", run.held_by);
    let are_few = (runs.len() as f64) < FEW_RUNS * all as f64;
    if are_few {
        return text;
    }
    if !run.held_detail.is_empty() {
        let details = grouped(runs.iter().map(|run| (&run.held_detail, ())));
        if details.len() > 1 {
            text.push_str(&format!("; in run {}", run.replicate));
        }
        text.push_str(&format!(": {}", run.held_detail));
    }
    // The text does not name the run, so it must be true for all of them.
    let known = in_the_way(run);
    let holds_in_all = runs.iter().all(|other| in_the_way(other) == known);
    if !known.is_empty() && (holds_in_all || text.contains("; in run ")) {
        text.push_str(&format!(" ({known})"));
    }
    text
}

/// Describes the targets that a run leaves behind, as far as the simulator knows: `6 offline, 1 defective`.
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
