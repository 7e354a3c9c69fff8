//! The answer for a strategy whose setting was swept, without limits: the fastest setting that leaves room on the
//! registry's link, and the savings and costs of each step of the setting.
//! ([`RegistryLink`] has the rule.)

use std::cmp::Ordering;

use super::certainty::in_draws;
use super::groups::NamedVariant;
use super::ranking::RankedVariant;
use super::room::{RegistryLink, busiest_minute};
use super::sentence::{completion, listed, pulls};
use crate::report::data::target_of;
use crate::report::format::{RateUnit, count, time};
use crate::results::Measure;

/// Maximum number of steps of a setting that are listed individually.
const STEPS_MAX: usize = 8;

/// Returns whether the variants are settings of one strategy.
pub(super) fn is_sweep(ranked: &[RankedVariant<'_, '_>]) -> bool {
    let Some(first) = ranked.first() else {
        return false;
    };
    let mut infos = ranked.iter().map(|ranked| ranked.variant.info);
    let strategy = &first.variant.info.strategy;
    ranked.len() > 1 && infos.all(|info| info.strategy == *strategy && !info.setting.is_empty())
}

/// Compares by completion time.
fn by_time(a: &&RankedVariant<'_, '_>, b: &&RankedVariant<'_, '_>) -> Ordering {
    a.completion_s.total_cmp(&b.completion_s)
}

/// Compares by peak; among equal peaks, the slower comes first.
fn by_peak(a: &RankedVariant<'_, '_>, b: &RankedVariant<'_, '_>) -> Ordering {
    let by_peak = a.peak.total_cmp(&b.peak);
    by_peak.then(b.completion_s.total_cmp(&a.completion_s))
}

/// Returns the sentences, and the setting that the first one names, as its index in the list of all variants.
pub(super) fn sentences(
    ranked: &[RankedVariant<'_, '_>],
    sentences: &mut Vec<String>,
) -> Option<usize> {
    let mut order: Vec<&RankedVariant<'_, '_>> = ranked.iter().collect();
    order.sort_by(|a, b| by_peak(a, b));
    let fastest = order.iter().copied().min_by(by_time)?;
    let Some(link) = RegistryLink::of(fastest.variant) else {
        sentences.extend(steps(&order));
        return None;
    };
    let bytes_per_s = link.bytes_per_s;
    let mut roomy = order.clone();
    roomy.retain(|ranked| link.has_room_with(ranked.variant));
    let unit = RateUnit::for_max(bytes_per_s);
    let link_text = unit.text(bytes_per_s);
    let chosen = roomy.iter().copied().min_by(by_time);
    sentences.push(match chosen {
        Some(chosen) if roomy.len() < order.len() => {
            let runs = &chosen.variant.runs;
            format!(
                "`{}` is the fastest setting that leaves room on the registry's {link_text} link: its busiest minute \
                 takes {} (room in {} of {} runs). {}, with a peak of {}.{}",
                chosen.label,
                unit.text(busiest_minute(chosen.variant).unwrap_or(f64::INFINITY)),
                runs.iter().filter(|run| link.has_room_in(run)).count(),
                runs.len(),
                completes(chosen, "It completes"),
                pulls(chosen.peak),
                chosen.variant.reach().note()
            )
        }
        Some(chosen) => {
            let minutes = order
                .iter()
                .filter_map(|ranked| busiest_minute(ranked.variant));
            format!(
                "`{}` is the fastest: {}.{} With every setting, the busiest minute takes at most {} of the registry's \
                 {link_text} link.",
                chosen.label,
                completes(chosen, "it completes"),
                chosen.variant.reach().note(),
                unit.text(minutes.fold(0.0, f64::max))
            )
        }
        None => format!(
            "No setting leaves room on the registry's {link_text} link in its busiest minute.{}",
            fastest.variant.reach().note()
        ),
    });
    if let Some(chosen) = chosen
        && roomy.len() < order.len()
    {
        let claim = "it leaves room on the link";
        sentences.extend(in_draws(chosen.variant, claim, |run| link.has_room_in(run)));
    }
    sentences.extend(steps(&order));
    chosen.map(|chosen| chosen.at)
}

/// `It completes after 24.3 min (…)`; `296 of 299 clusters are ready after …` if some cannot be updated.
fn completes(ranked: &RankedVariant<'_, '_>, it: &str) -> String {
    let reach = ranked.variant.reach();
    let took = completion(ranked.variant, ranked.completion_s);
    if reach.is_whole() {
        format!("{it} after {took}")
    } else {
        format!(
            "{} {}s are ready after {took}",
            reach.of_all(),
            target_of([ranked.variant.info])
        )
    }
}

/// The savings and the costs of each step of the setting, from the lowest peak upwards.
fn steps(order: &[&RankedVariant<'_, '_>]) -> Option<String> {
    let (start, rest) = order.split_first()?;
    let shown = rest.len().min(STEPS_MAX);
    let mut steps: Vec<String> = Vec::new();
    for pair in order.windows(2).take(shown) {
        steps.push(step(pair[0], pair[1]));
    }
    if rest.len() > shown {
        steps.push(format!("{} more settings", rest.len() - shown));
    }
    Some(format!(
        "Step by step, `{}` takes {} with a peak of {}; {}.",
        start.label,
        time(start.completion_s),
        pulls(start.peak),
        listed(&steps)
    ))
}

/// The saving or cost of a setting, compared with the one before it.
fn step(before: &RankedVariant<'_, '_>, now: &RankedVariant<'_, '_>) -> String {
    let label = now.label;
    let saved = before.completion_s - now.completion_s;
    let peak = count(now.peak);
    match saved.partial_cmp(&0.0) {
        Some(Ordering::Greater) => format!("`{label}` saves {} (peak {peak})", time(saved)),
        Some(Ordering::Less) => format!("`{label}` takes {} longer (peak {peak})", time(-saved)),
        _ => format!("`{label}` saves nothing (peak {peak})"),
    }
}

/// The bounds for any pacing, and whose constants they have, as a sentence after the user's own strategies.
pub(super) fn bounds(
    bounds: &[NamedVariant<'_, '_>],
    own: &[NamedVariant<'_, '_>],
) -> Option<String> {
    let product = &bounds.first()?.variant.info.product;
    let mut others: Vec<String> = Vec::new();
    for named in own {
        let other = &named.variant.info.product;
        if other != product && !other.is_empty() {
            others.push(other.clone());
        }
    }
    others.dedup();
    let differing = if others.is_empty() {
        String::new()
    } else {
        format!("; those of {} differ", listed(&others))
    };
    let whose = match product.as_str() {
        "" => String::new(),
        product => format!(" They have the agents and the control loop of {product}{differing}."),
    };
    let bounds: Vec<String> = bounds.iter().map(bound).collect();
    Some(format!(
        "Bounds on the effect of pacing: {}.{whose}",
        listed(&bounds)
    ))
}

/// `` `all` completes after 4.2 min (peak 1,200) ``.
fn bound(named: &NamedVariant<'_, '_>) -> String {
    let NamedVariant { label, variant, .. } = named;
    let peak = match variant.median(Measure::PeakPulls) {
        Some(peak) => format!(" (peak {})", count(peak)),
        None => String::new(),
    };
    match variant.ready_time() {
        Some(ready) => format!("`{label}` completes after {}{peak}", time(ready)),
        None => format!("`{label}` does not complete{peak}"),
    }
}
