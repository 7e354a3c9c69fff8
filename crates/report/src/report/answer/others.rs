//! The line `else`: what the other variants would cost or save.

use super::asked::{Asked, shown_peak, shown_time};
use super::groups::NamedVariant;
use super::ranking::{RankedVariant, ranked_at};
use super::room::RegistryLink;
use super::sentence::{quoted, some_of};
use super::{load, tradeoff};
use crate::report::data::VariantResults;
use crate::report::format::{count, time};
use crate::report::limits::{AssertedLimit, exceeded, fails};
use crate::results::grouped;
use fleetsim_units::counted;

/// Most different prices in the line.
const MOST: usize = 4;
/// Times that differ by less than this share count as equal.
const ALIKE: f64 = 0.01;

/// The alternatives to the chosen variant with their prices, those of one price together. `None`: there is no other.
pub(super) fn line(asked: &Asked<'_, '_, '_>, chosen: &NamedVariant<'_, '_>) -> Option<String> {
    let own = ranked_at(asked.ranked, Some(chosen.at));
    let mut priced = Vec::new();
    for other in candidates(asked, chosen) {
        let ranked = ranked_at(asked.ranked, Some(other.at));
        let price = match (own, ranked) {
            (Some(own), Some(ranked)) => against(asked, own, ranked),
            _ => of_unranked(other, chosen.variant, asked.limits),
        };
        priced.push((price, other.label));
    }
    let prices = grouped(priced);
    let mut parts: Vec<String> = Vec::new();
    let mut more = 0;
    for (price, labels) in &prices {
        if parts.len() == MOST {
            more += labels.len();
            continue;
        }
        let names = some_of(&quoted(labels.iter().copied()));
        parts.push(format!("{names}: {price}"));
    }
    if parts.is_empty() {
        return None;
    }
    if more > 0 {
        parts.push(format!("{more} more in the table"));
    }
    Some(parts.join("; "))
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

/// The distance of the time of a variant from another time. Faster ones come before slower ones, and unfinished ones
/// last.
fn distance(variant: &VariantResults<'_>, from_s: f64) -> f64 {
    match variant.ready_time() {
        Some(ready_s) if ready_s <= from_s => -1.0 / (1.0 + from_s - ready_s),
        Some(ready_s) => ready_s - from_s,
        None => f64::INFINITY,
    }
}

/// `10.9 min with 1,000 at once, link full for 4 min`, `22.9 min with 7 at once`.
fn against(
    asked: &Asked<'_, '_, '_>,
    own: &RankedVariant<'_, '_>,
    other: &RankedVariant<'_, '_>,
) -> String {
    let own_s = own.time(asked.by);
    let other_s = other.time(asked.by);
    let mut text = if (own_s - other_s).abs() <= ALIKE * own_s {
        "about as long".to_owned()
    } else {
        shown_time(other, asked.by)
    };
    if other.peak.total_cmp(&own.peak).is_ne() {
        text.push_str(&format!(" with {}", shown_peak(other.peak)));
    }
    let mut parts = vec![text];
    if has_room(own) != has_room(other) {
        parts.extend(load::full(other.variant));
    }
    parts.extend(load::refused_in_short(other.variant));
    let finished = other.variant.finished();
    let runs = other.variant.runs.len();
    if finished < runs && finished != own.variant.finished() {
        parts.push(format!("{finished} of {} complete", counted(runs, "run")));
    }
    parts.join(", ")
}

/// Returns true if a variant leaves room on the registry's link.
fn has_room(ranked: &RankedVariant<'_, '_>) -> bool {
    match RegistryLink::of(ranked.variant) {
        Some(link) => link.has_room_with(ranked.variant),
        None => true,
    }
}

/// The price of a variant that is not ranked: it misses a limit, leaves more targets behind, or does not complete.
fn of_unranked(
    other: &NamedVariant<'_, '_>,
    chosen: &VariantResults<'_>,
    limits: &[AssertedLimit],
) -> String {
    let variant = other.variant;
    let runs = variant.runs.len();
    let finished = variant.finished();
    let left = variant.runs.iter().map(|run| run.left_on_old()).max();
    let left = left.unwrap_or(0);
    if finished == 0 {
        return format!("no run completes, up to {} stay behind", count(left as f64));
    }
    if finished < runs && finished < chosen.finished() {
        return format!("{finished} of {} complete", counted(runs, "run"));
    }
    let took = match variant.ready_time() {
        Some(took) => time(took),
        None => "no known time".to_owned(),
    };
    if fails(variant, limits) {
        return format!("{took}, but misses a limit");
    }
    if exceeded(variant, limits) > 0 {
        return format!("{took}; its runs are too few to show that it meets the limits");
    }
    match left {
        0 => took,
        most => format!("{took}, but up to {} stay behind", count(most as f64)),
    }
}
