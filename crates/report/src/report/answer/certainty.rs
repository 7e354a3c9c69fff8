//! The number of draws of the model's constants from their ranges in which an answer holds, and the total interval of
//! its time. Nothing where the experiment has no `uncertainty`.

use super::RankedVariant;
use super::sentence::with_ends;
use crate::report::data::VariantResults;
use crate::report::format::{count, time};
use crate::report::uncertainty::level;
use crate::results::{READY_TIME, RunRow};

/// `With the constants of the model drawn from their ranges, it leaves room on the link in 98 of 100 draws, and
/// completes after 40 min (16–77 in 95% of rollouts).` The median and the interval are those of the draws.
pub(super) fn in_draws(
    variant: &VariantResults<'_>,
    claim: &str,
    holds: impl Fn(&RunRow) -> bool,
) -> Option<String> {
    let draws = variant.draws.len();
    let holding = variant.draws.iter().filter(|run| holds(run)).count();
    (draws > 0).then(|| {
        format!(
            "With the constants of the model drawn from their ranges, {claim} in {holding} of {draws} draws{}.",
            total(variant)
        )
    })
}

/// The same of being the fastest among the ranked.
pub(super) fn fastest_in_draws(
    fastest: &RankedVariant<'_, '_>,
    ranked: &[RankedVariant<'_, '_>],
) -> Option<String> {
    let others: Vec<&VariantResults<'_>> = ranked.iter().map(|other| other.variant).collect();
    match ranked.len() {
        0 | 1 => in_draws(fastest.variant, "it completes", |run| {
            ready(run).is_finite()
        }),
        _ => in_draws(
            fastest.variant,
            &format!("`{}` is the first", fastest.label),
            |run| is_least(run, &others, ready),
        ),
    }
}

/// `… \`canary\` exposes the fewest clusters in 39 of 39 draws, 1 in the median (1–18 in 95% of rollouts).`
pub(super) fn fewest_in_draws(
    label: &str,
    variant: &VariantResults<'_>,
    all: &[&VariantResults<'_>],
) -> Option<String> {
    let draws = variant.draws.len();
    let holding = variant
        .draws
        .iter()
        .filter(|run| is_least(run, all, exposed))
        .count();
    let row = variant.uncertain("exposed_targets")?;
    let (median, low, high) = (row.total_median?, row.total_low?, row.total_high?);
    let claim = if all.len() > 1 {
        format!("`{label}` exposes the fewest clusters in {holding} of {draws} draws, ")
    } else {
        format!("`{label}` exposes ")
    };
    Some(format!(
        "With the constants of the model drawn from their ranges, {claim}{} in the median ({}–{} in {} of rollouts).",
        count(median),
        count(low),
        count(high),
        level(row.total_level)
    ))
}

/// The draws in which one variant of each group has the least of a measure in all of its group, and all draws.
pub(super) fn least_in_all(
    groups: &[(&VariantResults<'_>, Vec<&VariantResults<'_>>)],
    is_exposure: bool,
) -> (usize, usize) {
    let of = if is_exposure { exposed } else { ready };
    let draws: Vec<u32> = groups[0].0.draws.iter().map(|run| run.replicate).collect();
    let is_best = |draw: &&u32| {
        groups.iter().all(|(best, all)| {
            best.draws
                .iter()
                .find(|run| run.replicate == **draw)
                .is_some_and(|run| is_least(run, all, of))
        })
    };
    (draws.iter().filter(is_best).count(), draws.len())
}

/// Whether no other variant has less of a measure in the same draw.
fn is_least(run: &RunRow, all: &[&VariantResults<'_>], of: fn(&RunRow) -> f64) -> bool {
    let same = |other: &&&RunRow| other.replicate == run.replicate;
    of(run).is_finite()
        && all
            .iter()
            .filter_map(|other| other.draws.iter().find(same))
            .all(|other| of(run) <= of(other))
}

fn ready(run: &RunRow) -> f64 {
    run.reachable_ready_s.unwrap_or(f64::INFINITY)
}

fn exposed(run: &RunRow) -> f64 {
    run.exposed_targets as f64
}

fn total(variant: &VariantResults<'_>) -> String {
    let Some(row) = variant.uncertain(READY_TIME) else {
        return String::new();
    };
    let Some(median) = row.total_median else {
        return ", and does not complete in most of them".to_owned();
    };
    match (row.total_low, row.total_high) {
        (Some(low), Some(high)) => {
            let (middle, low, high) = with_ends(median, low, high);
            format!(
                ", and it completes after {middle} ({low}–{high} in {} of rollouts)",
                level(row.total_level)
            )
        }
        _ => format!(", and it completes after {} in the median", time(median)),
    }
}
