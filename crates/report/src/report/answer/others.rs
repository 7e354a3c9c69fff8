//! The line `else`: what the other variants would cost or save.

use super::asked::{Asked, shown_peak, shown_time};
use super::groups::NamedVariant;
use super::ranking::{RankedVariant, left_behind, ranked_at};
use super::room::RegistryLink;
use super::{load, tradeoff};
use crate::report::data::VariantResults;
use crate::report::format::{count, time};
use crate::report::limits::{AssertedLimit, exceeded, fails};
use fleetsim_units::counted;

/// Maximum number of variants in the line.
const MOST: usize = 3;
/// Times that differ by less than this share count as equal.
const ALIKE: f64 = 0.01;

/// The alternatives to the chosen variant. `None`: there is no other.
pub(super) fn line(asked: &Asked<'_, '_, '_>, chosen: &NamedVariant<'_, '_>) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let own = ranked_at(asked.ranked, Some(chosen.at));
    for other in candidates(asked, chosen) {
        if parts.len() == MOST {
            break;
        }
        let ranked = ranked_at(asked.ranked, Some(other.at));
        parts.push(match (own, ranked) {
            (Some(own), Some(ranked)) => against(asked, own, ranked),
            _ => of_unranked(other, chosen.variant, asked.limits),
        });
    }
    let more = (asked.own.len() - 1).saturating_sub(parts.len());
    if parts.is_empty() {
        return None;
    }
    let mut text = parts.join("; ");
    if more > 0 {
        text.push_str(&format!("; {more} more in the table"));
    }
    Some(text)
}

/// The other variants, the most informative ones first: the next faster, the next slower, the lowest peak, then the
/// rest.
fn candidates<'a, 'v, 'r>(
    asked: &Asked<'a, 'v, 'r>,
    chosen: &NamedVariant<'_, '_>,
) -> Vec<&'a NamedVariant<'v, 'r>> {
    let own_s = chosen.variant.ready_time().unwrap_or(f64::INFINITY);
    let mut others: Vec<&NamedVariant<'v, 'r>> = asked.own.iter().collect();
    others.retain(|other| other.at != chosen.at);
    others.sort_by(|a, b| distance(a.variant, own_s).total_cmp(&distance(b.variant, own_s)));
    let lowest = asked.ranked.iter().min_by(RankedVariant::by_peak);
    if let Some(lowest) = lowest
        && tradeoff::is_sweep(asked.ranked)
        && let Some(place) = others.iter().position(|other| other.at == lowest.at)
        && place > 1
    {
        let lowest = others.remove(place);
        others.insert(1.min(others.len()), lowest);
    }
    others
}

/// The distance between a variant's time and another time. Faster ones come before slower ones, and unfinished ones
/// last.
fn distance(variant: &VariantResults<'_>, from_s: f64) -> f64 {
    match variant.ready_time() {
        Some(ready_s) if ready_s <= from_s => -1.0 / (1.0 + from_s - ready_s),
        Some(ready_s) => ready_s - from_s,
        None => f64::INFINITY,
    }
}

/// `` `100%` saves 5 min (link full for 4 min) ``, `` `5%` takes 9 min more with 24 at once ``.
fn against(
    asked: &Asked<'_, '_, '_>,
    own: &RankedVariant<'_, '_>,
    other: &RankedVariant<'_, '_>,
) -> String {
    let label = other.label;
    let own_s = own.time(asked.by);
    let other_s = other.time(asked.by);
    let difference = if (own_s - other_s).abs() <= ALIKE * own_s {
        "takes about as long".to_owned()
    } else if !tradeoff::is_sweep(asked.ranked) {
        format!("takes {}", shown_time(other, asked.by))
    } else if other_s < own_s {
        format!("saves {}", time(own_s - other_s))
    } else {
        format!("takes {} more", time(other_s - own_s))
    };
    let mut text = format!("`{label}` {difference}");
    if other.peak.total_cmp(&own.peak).is_ne() {
        text.push_str(&format!(" with {}", shown_peak(other.peak)));
    }
    let mut notes: Vec<String> = Vec::new();
    if has_room(own) != has_room(other) {
        notes.extend(load::full(other.variant));
    }
    notes.extend(load::refused_in_short(other.variant));
    if !notes.is_empty() {
        text.push_str(&format!(" ({})", notes.join(", ")));
    }
    text
}

/// Returns true if a variant leaves room on the registry's link.
fn has_room(ranked: &RankedVariant<'_, '_>) -> bool {
    match RegistryLink::of(ranked.variant) {
        Some(link) => link.has_room_with(ranked.variant),
        None => true,
    }
}

/// A variant that is not ranked: it misses a limit, leaves more targets behind, or does not complete.
fn of_unranked(
    other: &NamedVariant<'_, '_>,
    chosen: &VariantResults<'_>,
    limits: &[AssertedLimit],
) -> String {
    let NamedVariant { label, variant, .. } = other;
    let runs = variant.runs.len();
    let finished = variant.finished();
    if finished == 0 {
        let left = variant.runs.iter().map(|run| left_behind(run)).max();
        let left = count(left.unwrap_or(0) as f64);
        return format!("`{label}` does not complete and leaves up to {left} behind");
    }
    if finished < runs && finished < chosen.finished() {
        return format!(
            "`{label}` completes in {finished} of {}",
            counted(runs, "run")
        );
    }
    let took = match variant.ready_time() {
        Some(took) => time(took),
        None => "no known time".to_owned(),
    };
    if fails(variant, limits) {
        return format!("`{label}` takes {took}, but misses a limit");
    }
    if exceeded(variant, limits) > 0 {
        return format!(
            "`{label}` takes {took}; its runs are too few to show that it meets the limits"
        );
    }
    let left = variant.runs.iter().map(|run| left_behind(run)).max();
    match left.unwrap_or(0) {
        0 => format!("`{label}` takes {took}"),
        most => format!(
            "`{label}` takes {took}, but leaves up to {} behind",
            count(most as f64)
        ),
    }
}
