//! The answer of a strategy whose setting was swept, without limits: the fastest setting that leaves room on the
//! registry's link, and what each step of the setting saves and costs.
//!
//! A link has room if its busiest minute takes less than [`FULL`] of it, and it is not full for half of the rollout. A
//! shorter time is full in nearly every rollout, and decides nothing.

use std::cmp::Ordering;

use itertools::Itertools;

use super::RankedVariant;
use super::certainty::in_draws;
use super::groups::Named;
use super::sentence::{completion, listed, pulls};
use crate::report::data::target_of;
use crate::report::format::{RateUnit, count, time};
use crate::results::RunRow;

/// A link whose busiest minute takes at least this share of its capacity is full.
const FULL: f64 = 0.98;
/// A link that is full for this share of a rollout has no room, even in rollouts of less than a minute.
const LONG: f64 = 0.5;
/// Most steps of a setting that are listed one by one.
const STEPS_MAX: usize = 8;

/// Whether the variants are settings of one strategy.
pub(super) fn is_sweep(ranked: &[RankedVariant<'_, '_>]) -> bool {
    let strategy = |ranked: &RankedVariant<'_, '_>| ranked.variant.info.strategy.clone();
    ranked.len() > 1
        && ranked
            .iter()
            .all(|other| strategy(other) == strategy(&ranked[0]))
        && ranked
            .iter()
            .all(|other| !other.variant.info.setting.is_empty())
}

/// The sentences; the place of the setting that the first one names.
pub(super) fn sentences(
    ranked: &[RankedVariant<'_, '_>],
    sentences: &mut Vec<String>,
) -> Option<usize> {
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&ranked[a], &ranked[b]);
        a.peak
            .total_cmp(&b.peak)
            .then(b.completion_s.total_cmp(&a.completion_s))
    });
    let by_time = |a: &&usize, b: &&usize| {
        ranked[**a]
            .completion_s
            .total_cmp(&ranked[**b].completion_s)
    };
    let fastest = *order.iter().min_by(by_time)?;
    let Some(link) = ranked[fastest].variant.info.registry_egress_bytes_per_s else {
        sentences.extend(steps(ranked, &order));
        return None;
    };
    let has_room = |run: &RunRow| {
        run.egress_peak_60s_bytes_per_s < FULL * link && run.egress_busy_share < LONG
    };
    let minute = |at: usize| {
        ranked[at]
            .variant
            .median("egress_peak_60s_bytes_per_s")
            .unwrap_or(f64::INFINITY)
    };
    let busy = |at: usize| {
        ranked[at]
            .variant
            .median("egress_busy_share")
            .unwrap_or(1.0)
    };
    let roomy: Vec<usize> = order
        .iter()
        .copied()
        .filter(|&at| minute(at) < FULL * link && busy(at) < LONG)
        .collect();
    let unit = RateUnit::for_max(link);
    let link_text = unit.text(link);
    let chosen = roomy.iter().min_by(by_time).copied();
    sentences.push(match chosen {
        Some(at) if roomy.len() < order.len() => {
            let (runs, all) = (&ranked[at].variant.runs, ranked[at].variant.runs.len());
            format!(
                "`{}` is the fastest setting that leaves room on the registry's {link_text} link: its busiest minute \
                 takes {} (room in {} of {all} runs). {}, with a peak of {}.{}",
                ranked[at].label,
                unit.text(minute(at)),
                runs.iter().filter(|run| has_room(run)).count(),
                completes(&ranked[at], "It completes"),
                pulls(ranked[at].peak),
                ranked[at].variant.reach().note()
            )
        }
        Some(at) => format!(
            "Every setting leaves room on the registry's {link_text} link: its busiest minute takes at most {}. `{}` \
             is the fastest: {}.{}",
            unit.text(order.iter().map(|&at| minute(at)).fold(0.0, f64::max)),
            ranked[at].label,
            completes(&ranked[at], "it completes"),
            ranked[at].variant.reach().note()
        ),
        None => format!(
            "Every setting fills the registry's {link_text} link for a minute, or for half of its time.{}",
            ranked[fastest].variant.reach().note()
        ),
    });
    sentences.extend(
        chosen.and_then(|at| in_draws(ranked[at].variant, "it leaves room on the link", has_room)),
    );
    sentences.extend(steps(ranked, &order));
    chosen
}

/// `It completes after 24.3 min (…)`; `296 of 299 clusters are ready after …` where some cannot be updated.
fn completes(ranked: &RankedVariant<'_, '_>, it: &str) -> String {
    let (reach, took) = (
        ranked.variant.reach(),
        completion(ranked.variant, ranked.completion_s),
    );
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
fn steps(ranked: &[RankedVariant<'_, '_>], order: &[usize]) -> Option<String> {
    let (first, rest) = order.split_first()?;
    let shown = &rest[..rest.len().min(STEPS_MAX)];
    let step = |(place, &at): (usize, &usize)| {
        let before = &ranked[order[place]];
        let (now, label) = (&ranked[at], ranked[at].label);
        let saved = before.completion_s - now.completion_s;
        let peak = count(now.peak);
        match saved.partial_cmp(&0.0) {
            Some(Ordering::Greater) => format!("`{label}` saves {} (peak {peak})", time(saved)),
            Some(Ordering::Less) => {
                format!("`{label}` takes {} longer (peak {peak})", time(-saved))
            }
            _ => format!("`{label}` saves nothing (peak {peak})"),
        }
    };
    let start = &ranked[*first];
    let mut listed_steps: Vec<String> = shown.iter().enumerate().map(step).collect();
    if rest.len() > shown.len() {
        listed_steps.push(format!("{} more settings", rest.len() - shown.len()));
    }
    Some(format!(
        "Step by step, `{}` takes {} with a peak of {}; {}.",
        start.label,
        time(start.completion_s),
        pulls(start.peak),
        listed(&listed_steps)
    ))
}

/// The bounds of what any pacing can do, after the user's own strategies, and whose constants they have.
pub(super) fn bounds(bounds: &[Named<'_, '_>], own: &[Named<'_, '_>]) -> Option<String> {
    let (_, _, first) = bounds.first()?;
    let bound = |(_, label, variant): &Named<'_, '_>| {
        let peak = variant
            .median("peak_pulls")
            .map_or_else(String::new, |peak| format!(" (peak {})", count(peak)));
        match variant.ready_time() {
            Some(ready) => format!("`{label}` completes after {}{peak}", time(ready)),
            None => format!("`{label}` does not complete{peak}"),
        }
    };
    let product = &first.info.product;
    let others = own.iter().map(|(_, _, variant)| &variant.info.product);
    let others = others
        .filter(|other| *other != product && !other.is_empty())
        .dedup()
        .cloned();
    let others = listed(&others.collect::<Vec<String>>());
    let differing = if others.is_empty() {
        others
    } else {
        format!("; those of {others} differ")
    };
    let whose = match product.as_str() {
        "" => String::new(),
        product => format!(" They have the agents and the control loop of {product}{differing}."),
    };
    Some(format!(
        "Bounds of what pacing can do: {}.{whose}",
        listed(&bounds.iter().map(bound).collect::<Vec<String>>())
    ))
}
