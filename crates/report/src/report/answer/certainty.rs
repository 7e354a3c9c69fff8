//! The number of draws of the model's constants from their ranges in which an answer holds, and the total interval of
//! its time. Empty if the experiment has no `uncertainty`.

use super::ranking::RankedVariant;
use super::sentence::ShownInterval;
use crate::report::data::VariantResults;
use crate::report::format::{count, time};
use crate::report::uncertainty::level;
use crate::results::{Measure, READY_TIME, RunRow};

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

/// The number of draws in which a variant is the fastest of the ranked ones, as a sentence.
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
    let row = variant.uncertain(Measure::ExposedTargets)?;
    let median = row.total_median?;
    let low = row.total_low?;
    let high = row.total_high?;
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

/// The best variant of a group, and all variants of the comparison.
pub(super) struct GroupWinner<'v, 'r> {
    pub(super) winner: &'v VariantResults<'r>,
    pub(super) rivals: Vec<&'v VariantResults<'r>>,
}

impl GroupWinner<'_, '_> {
    /// Returns whether the winner has the lowest value of a measure in a draw.
    fn is_least_in(&self, draw: u32, of: fn(&RunRow) -> f64) -> bool {
        match run_of_draw(self.winner, draw) {
            Some(run) => is_least(run, &self.rivals, of),
            None => false,
        }
    }
}

/// The number of draws in which the winner of each group has the lowest value of a measure in its group, and the
/// number of all draws.
pub(super) fn least_in_all(groups: &[GroupWinner<'_, '_>], is_exposure: bool) -> (usize, usize) {
    let of = if is_exposure { exposed } else { ready };
    let draws = &groups[0].winner.draws;
    let mut holding = 0;
    for run in draws {
        if groups
            .iter()
            .all(|group| group.is_least_in(run.replicate, of))
        {
            holding += 1;
        }
    }
    (holding, draws.len())
}

/// The run of a variant with the constants of a draw.
fn run_of_draw<'r>(variant: &VariantResults<'r>, draw: u32) -> Option<&'r RunRow> {
    variant
        .draws
        .iter()
        .copied()
        .find(|run| run.replicate == draw)
}

/// Returns whether no other variant has a lower value in the same draw.
fn is_least(run: &RunRow, all: &[&VariantResults<'_>], of: fn(&RunRow) -> f64) -> bool {
    let mut others = all
        .iter()
        .filter_map(|other| run_of_draw(other, run.replicate));
    of(run).is_finite() && others.all(|other| of(run) <= of(other))
}

/// The completion time of a run; infinite if it did not complete.
fn ready(run: &RunRow) -> f64 {
    run.reachable_ready_s.unwrap_or(f64::INFINITY)
}

/// The exposure of a run.
fn exposed(run: &RunRow) -> f64 {
    run.exposed_targets as f64
}

/// The total interval of the time, worded for the end of a sentence.
fn total(variant: &VariantResults<'_>) -> String {
    let Some(row) = variant.uncertain(READY_TIME) else {
        return String::new();
    };
    let Some(median) = row.total_median else {
        return ", and does not complete in most of them".to_owned();
    };
    match (row.total_low, row.total_high) {
        (Some(low), Some(high)) => {
            let ShownInterval { middle, low, high } = ShownInterval::of_time(median, low, high);
            format!(
                ", and it completes after {middle} ({low}–{high} in {} of rollouts)",
                level(row.total_level)
            )
        }
        _ => format!(", and it completes after {} in the median", time(median)),
    }
}
