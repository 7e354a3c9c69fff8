//! How often an answer holds when the constants of the model are drawn from their ranges, and the total interval of
//! its time. Nothing where the experiment has no `uncertainty`.

use super::RankedVariant;
use super::sentence::with_ends;
use crate::report::data::VariantResults;
use crate::report::format::time;
use crate::report::uncertainty::level;
use crate::results::{READY_TIME, RunRow};

/// `With the constants of the model drawn from their ranges, it leaves room on the link in 98 of 100 draws, and
/// completes after 40 min (16–77 in 95% of rollouts).` The median and the interval are those of the draws.
pub(super) fn in_draws(variant: &VariantResults<'_>, claim: &str, holds: impl Fn(&RunRow) -> bool) -> Option<String> {
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
pub(super) fn fastest_in_draws(fastest: &RankedVariant<'_, '_>, ranked: &[RankedVariant<'_, '_>]) -> Option<String> {
    let value = |run: &RunRow| run.reachable_ready_s.unwrap_or(f64::INFINITY);
    let is_first = |run: &RunRow| {
        let same = |other: &&&RunRow| other.replicate == run.replicate;
        let others = ranked.iter().filter_map(|other| other.variant.draws.iter().find(same));
        value(run).is_finite() && others.into_iter().all(|other| value(run) <= value(other))
    };
    match ranked.len() {
        0 | 1 => in_draws(fastest.variant, "it completes", |run| value(run).is_finite()),
        _ => in_draws(fastest.variant, &format!("`{}` is the first", fastest.label), is_first),
    }
}

fn total(variant: &VariantResults<'_>) -> String {
    let Some(row) = variant.uncertain(READY_TIME) else { return String::new() };
    let Some(median) = row.total_median else { return ", and does not complete in most of them".to_owned() };
    match (row.total_low, row.total_high) {
        (Some(low), Some(high)) => {
            let (middle, low, high) = with_ends(median, low, high);
            format!(", and it completes after {middle} ({low}–{high} in {} of rollouts)", level(row.total_level))
        }
        _ => format!(", and it completes after {} in the median", time(median)),
    }
}
