//! The answer in a few sentences, from the recorded results by fixed rules; the terminal prints it first, and the page.
//!
//! A rollout is complete when all reachable targets are ready; those that cannot be updated are counted with the
//! reason. Within each group of variants that are compared: with limits, how many meet all of them; the fastest, with
//! the interval of its median and the variants that may be as fast; the one with the lowest peak of pulls and its cost
//! in time, as the paired difference; the lowest peak within twice the fastest time; and how many do not complete, with
//! the rules that block them. Where a defective revision was rolled out, the variant that exposes the fewest clusters
//! comes first instead ([`exposure`]). Only variants whose runs all completed are ranked if there are any, and with
//! limits only those that meet all. Names stand in backticks.

mod certainty;
mod exposure;
pub(in crate::report) mod groups;
mod limits;
pub(in crate::report) mod path;
pub(in crate::report) mod sentence;
#[cfg(test)]
mod tests;
mod tradeoff;

use std::cmp::Ordering;

use self::certainty::{fastest_in_draws, in_draws, least_in_all};
use self::groups::{Best, Named, VariantGroup};
use self::sentence::{
    completion, differences_of, listed, may_be_too, mean_of, pulls, quoted, some_of, with_ends,
};
use crate::report::data::{VariantResults, target_of};
use crate::report::format::{ended, percents, time};
use crate::report::limits::{AssertedLimit, exceeded, of_single_runs};
use crate::results::{
    Limit, RunRow, Setting, contenders, distinct, grouped, share_below, share_below_at,
};
use fleetsim_units::counted;
use fleetsim_units::stats::in_turn;

/// The answer to an experiment's question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct PageAnswer {
    /// The sentence for all groups; empty when there is one group.
    pub(in crate::report) lead: String,
    /// A group's title and its answer.
    pub(in crate::report) parts: Vec<(String, String)>,
    /// The best variants of each group.
    pub(in crate::report) best: Vec<Best>,
}

/// The error of the statement which variants may be the fastest.
const ERROR: f64 = 0.05;

/// A variant that is ranked.
struct RankedVariant<'v, 'r> {
    at: usize,
    label: &'v str,
    variant: &'v VariantResults<'r>,
    completion_s: f64,
    peak: f64,
}

impl<'v, 'r> RankedVariant<'v, 'r> {
    /// `None`: it has no time or no peak to be ranked by.
    fn of(&(at, label, variant): &Named<'v, 'r>) -> Option<Self> {
        let (completion_s, peak) = (variant.ready_time()?, variant.median("peak_pulls")?);
        Some(Self {
            at,
            label,
            variant,
            completion_s,
            peak,
        })
    }
}

/// Answers for all groups; intervals of differences are resampled from `seed`, as those of the tables are.
pub(in crate::report) fn answer(
    variants: &[VariantResults<'_>],
    groups: &[VariantGroup],
    limits: &[AssertedLimit],
    seed: u64,
) -> PageAnswer {
    let mut answer = PageAnswer::default();
    let mut comparisons: Vec<Comparison<'_, '_>> = Vec::new();
    for group in groups {
        let all: Vec<Named<'_, '_>> = group
            .members
            .iter()
            .zip(&group.labels)
            .map(|(&at, label)| (at, label.as_str(), &variants[at]))
            .collect();
        let mut sentences = Vec::new();
        let (best, winners, rivals) = if all.iter().any(|(_, _, variant)| variant.exposed()) {
            let (best, fewest) = exposure::sentences(&all, seed, &mut sentences);
            // Before the last sentence, which lists the variants that complete.
            let last = sentences.len().saturating_sub(1);
            sentences.splice(last..last, limits::sentence(&all, limits));
            (best, fewest, all)
        } else {
            let best = fastest_and_lowest(&all, limits, seed, &mut sentences);
            let fastest = all.iter().find(|(at, ..)| best.fastest == Some(*at));
            (
                best,
                fastest.map(|(_, label, _)| *label).into_iter().collect(),
                own_and_bounds(&all).0,
            )
        };
        answer
            .parts
            .push((group.title.clone(), sentences.join(" ")));
        answer.best.push(best);
        comparisons.push(Comparison { winners, rivals });
    }
    if groups.len() > 1 {
        let exposing = answer
            .best
            .iter()
            .filter(|best| best.most_exposed.is_some())
            .count();
        answer.lead = match exposing {
            0 => lead(
                variants,
                groups,
                &comparisons,
                ["completes first", "complete first"],
            ),
            all if all == groups.len() => {
                let does = ["exposes the fewest clusters", "expose the fewest clusters"];
                lead(variants, groups, &comparisons, does)
            }
            // The comparisons answer different questions.
            _ => String::new(),
        };
    }
    answer
}

/// The labels of the best variants of a group, and the variants that they are compared with.
struct Comparison<'v, 'r> {
    winners: Vec<&'v str>,
    rivals: Vec<Named<'v, 'r>>,
}

/// The sentence for all groups: the variants that are best in all, or the settings that it depends on. Empty where no
/// comparison distinguishes its variants.
fn lead<'v, 'r>(
    variants: &[VariantResults<'_>],
    groups: &[VariantGroup],
    comparisons: &[Comparison<'v, 'r>],
    does: [&str; 2],
) -> String {
    if comparisons
        .iter()
        .all(|group| group.winners.len() == group.rivals.len())
    {
        return String::new();
    }
    let is_best = |label: &&&str| {
        comparisons
            .iter()
            .all(|group| group.winners.contains(label))
    };
    let best: Vec<&str> = comparisons[0]
        .winners
        .iter()
        .filter(is_best)
        .copied()
        .collect();
    if let Some(first) = best.first() {
        let all = if groups.len() == 2 {
            "both".to_owned()
        } else {
            format!("all {}", groups.len())
        };
        let in_group = |group: &Comparison<'v, 'r>| {
            let (_, _, found) = group.rivals.iter().find(|(_, label, _)| label == first)?;
            Some((
                *found,
                group.rivals.iter().map(|(_, _, rival)| *rival).collect(),
            ))
        };
        let bests: Option<Vec<_>> = comparisons.iter().map(in_group).collect();
        let drawn = match bests.map(|bests| least_in_all(&bests, does[0].starts_with("exposes"))) {
            Some((holding, draws)) if draws > 0 && best.len() == 1 => {
                format!(", and in all of them in {holding} of {draws} draws of the constants")
            }
            _ => String::new(),
        };
        let does = does[usize::from(best.len() > 1)];
        return format!(
            "{} {does} in {all} comparisons{drawn}.",
            some_of(&quoted(best))
        );
    }
    let settings: Vec<&[Setting]> = groups
        .iter()
        .map(|group| variants[group.members[0]].info.settings.as_slice())
        .collect();
    let names: Vec<String> = distinct(&settings)
        .into_iter()
        .filter(|(name, values)| {
            values.len() > 1
                && groups
                    .iter()
                    .any(|group| group.title.contains(&format!("{name}=")))
        })
        .map(|(name, _)| name)
        .collect();
    format!(
        "The variant that {} depends on {}.",
        does[0],
        listed(&names)
    )
}

/// The user's own strategies, which the question is about, and the bounds; the bounds alone take their place.
fn own_and_bounds<'v, 'r>(all: &[Named<'v, 'r>]) -> (Vec<Named<'v, 'r>>, Vec<Named<'v, 'r>>) {
    let (bounds, own): (Vec<_>, Vec<_>) = all
        .iter()
        .copied()
        .partition(|(_, _, variant)| variant.info.is_bound);
    if own.is_empty() {
        (bounds, own)
    } else {
        (own, bounds)
    }
}

fn fastest_and_lowest(
    all: &[Named<'_, '_>],
    limits: &[AssertedLimit],
    seed: u64,
    sentences: &mut Vec<String>,
) -> Best {
    let (own, bounds) = own_and_bounds(all);
    let meeting: Vec<bool> = own
        .iter()
        .map(|(_, _, variant)| exceeded(variant, limits) == 0)
        .collect();
    let is_limited = limits
        .iter()
        .any(|limit| own.iter().any(|(_, _, variant)| limit.applies_to(variant)));
    let some_meet = meeting.contains(&true);
    let eligible = own
        .iter()
        .zip(&meeting)
        .filter(|(_, meets)| **meets || !some_meet);
    let eligible: Vec<_> = eligible
        .filter_map(|(named, _)| RankedVariant::of(named))
        .collect();
    let any_whole = eligible.iter().any(|ranked| ranked.variant.is_whole());
    let ranked: Vec<RankedVariant<'_, '_>> = eligible
        .into_iter()
        .filter(|ranked| ranked.variant.is_whole() || !any_whole)
        .collect();
    let at = |place: Option<usize>| ranked.iter().find(|ranked| Some(ranked.at) == place);
    let of_all = limits::of_all(&own, limits).filter(|_| is_limited && own.len() > 1);
    let best = match own.len() {
        _ if of_all.is_some() => {
            // The setting that meets the limits leads.
            let is_fastest = of_all.unwrap_or_default();
            let words = [format!("{is_fastest}: complete"), format!(" {is_fastest}")];
            let best = compared(&ranked, [&words[0], &words[1]], seed, sentences);
            if let Some(fastest) = at(best.fastest) {
                let meets = |run: &RunRow| {
                    limits
                        .iter()
                        .all(|limit| limit.holds_in(fastest.variant, run))
                };
                let applying = limits
                    .iter()
                    .filter(|limit| limit.applies_to(fastest.variant));
                let applying: Vec<&Limit> = applying.map(|limit| &limit.limit).collect();
                let which = of_single_runs(&applying, "the limits");
                let claim = format!("`{}` meets {which}", fastest.label);
                sentences.extend(limits::next_beyond(&own, fastest.completion_s, limits));
                sentences.extend(in_draws(fastest.variant, &claim, meets));
            }
            best
        }
        _ if !is_limited && tradeoff::is_sweep(&ranked) => {
            let chosen = tradeoff::sentences(&ranked, sentences);
            let best = compared(
                &ranked,
                ["completes first,", " is first"],
                seed,
                &mut Vec::new(),
            );
            Best {
                compromise: chosen.map(|at| ranked[at].at),
                ..best
            }
        }
        several => {
            sentences.extend(limits::sentence(&own, limits));
            let words = if several == 1 {
                ["completes", ""]
            } else {
                ["completes first,", " is first"]
            };
            let best = compared(&ranked, words, seed, sentences);
            sentences
                .extend(at(best.fastest).and_then(|fastest| fastest_in_draws(fastest, &ranked)));
            best
        }
    };
    let led = best
        .compromise
        .filter(|_| !is_limited && tradeoff::is_sweep(&ranked))
        .or(best.fastest);
    sentences.extend(at(led).and_then(|led| path::sentence(led.label, led.variant)));
    let reach = |named: &[Named<'_, '_>]| {
        let missing = named
            .iter()
            .map(|(_, _, variant)| variant.reach())
            .find(|reach| !reach.is_whole());
        missing.map(|reach| format!("{}.", reach.missing()))
    };
    // Where none of the user's own strategies completes, this is the answer.
    let is_first = best.fastest.is_none();
    if is_first {
        sentences.extend(unfinished(&own));
        sentences.extend(reach(&own));
    }
    sentences.extend(tradeoff::bounds(&bounds, &own));
    sentences.extend(unfinished(if is_first { &bounds } else { all }));
    best
}

/// The fastest, the lowest peak and the compromise between them.
fn compared(
    ranked: &[RankedVariant<'_, '_>],
    [completes, is_first]: [&str; 2],
    seed: u64,
    sentences: &mut Vec<String>,
) -> Best {
    let order = |by: fn(&RankedVariant<'_, '_>) -> [f64; 2]| {
        move |a: &&RankedVariant<'_, '_>, b: &&RankedVariant<'_, '_>| in_turn(by(a), by(b))
    };
    let by_time = order(|ranked| [ranked.completion_s, ranked.peak]);
    let by_peak = order(|ranked| [ranked.peak, ranked.completion_s]);
    let Some(fastest) = ranked.iter().min_by(by_time) else {
        return Best::default();
    };
    let (label, reach) = (fastest.label, fastest.variant.reach());
    let (time_taken, peak) = (
        completion(fastest.variant, fastest.completion_s),
        pulls(fastest.peak),
    );
    sentences.push(if reach.is_whole() {
        format!("`{label}` {completes} after {time_taken}, with a peak of {peak}.")
    } else {
        let (ready, missing) = (reach.of_all(), reach.missing());
        let target = target_of([fastest.variant.info]);
        format!(
            "`{label}`{is_first}: {ready} {target}s are ready after {time_taken}, with a peak of {peak}. {missing}."
        )
    });
    let release = fastest
        .variant
        .runs
        .iter()
        .map(|run| run.release_s)
        .fold(0.0, f64::max);
    if release > 0.0 {
        sentences.push(format!(
            "The time counts from the release, {} after the pre-pull began.",
            time(release)
        ));
    }
    sentences.extend(ahead(fastest, ranked));
    sentences.extend(equally_fast(fastest, ranked, seed));
    sentences.extend(unswept(fastest, ranked, seed));
    let lowest = ranked.iter().min_by(by_peak).expect("there is a fastest");
    let mut best = Best {
        fastest: Some(fastest.at),
        lowest: Some(lowest.at),
        ..Best::default()
    };
    if ranked.len() < 2 {
        return best;
    }
    if lowest.peak.total_cmp(&fastest.peak).is_eq() {
        sentences.push("No other variant has a lower peak.".to_owned());
        return Best {
            lowest: Some(fastest.at),
            ..best
        };
    }
    let cost = cost(fastest, lowest, seed);
    sentences.push(format!(
        "`{}` has the lowest peak, {}, but {cost}.",
        lowest.label,
        pulls(lowest.peak)
    ));
    let compromise = ranked
        .iter()
        .filter(|ranked| ranked.completion_s <= 2.0 * fastest.completion_s)
        .min_by(by_peak)
        .filter(|ranked| ranked.at != fastest.at && ranked.at != lowest.at);
    if let Some(compromise) = compromise.filter(|ranked| ranked.peak < fastest.peak) {
        sentences.push(format!(
            "Within twice the fastest time, `{}` has the lowest peak: {}, complete after {}.",
            compromise.label,
            pulls(compromise.peak),
            time(compromise.completion_s)
        ));
        best.compromise = Some(compromise.at);
    }
    best
}

/// The strategy that comes first, where settings of another one are swept: people know theirs, and ask what to change.
fn unswept(
    fastest: &RankedVariant<'_, '_>,
    ranked: &[RankedVariant<'_, '_>],
    seed: u64,
) -> Option<String> {
    let is_swept = |ranked: &RankedVariant<'_, '_>| !ranked.variant.info.settings.is_empty();
    let own = ranked.iter().min_by_key(|ranked| ranked.at)?;
    let is_asked = !is_swept(own) && own.at != fastest.at && ranked.iter().any(is_swept);
    is_asked.then(|| {
        format!(
            "`{}` {}, with a peak of {}.",
            own.label,
            cost(fastest, own, seed),
            pulls(own.peak)
        )
    })
}

/// `takes 12.0 min longer (paired difference, 95% CI 11.5–12.5)`.
fn cost(fastest: &RankedVariant<'_, '_>, other: &RankedVariant<'_, '_>, seed: u64) -> String {
    match mean_of(&differences(fastest, other), seed) {
        Some(between) => {
            let (difference, low, high) = with_ends(between.estimate, between.low, between.high);
            format!("takes {difference} longer (paired difference, 95% CI {low}–{high})")
        }
        None => format!("completes after {}", time(other.completion_s)),
    }
}

/// Additional time of `other` over `base`, over common replicates. An unfinished run is later than all finished ones.
fn differences(base: &RankedVariant<'_, '_>, other: &RankedVariant<'_, '_>) -> Vec<f64> {
    let time = |run: &RunRow| Some(run.reachable_ready_s.unwrap_or(f64::INFINITY));
    differences_of(base.variant, other.variant, time)
}

/// The other variants that may be the fastest, compared for all variants together.
fn equally_fast(
    fastest: &RankedVariant<'_, '_>,
    ranked: &[RankedVariant<'_, '_>],
    seed: u64,
) -> Option<String> {
    let runs: Vec<Vec<&RunRow>> = ranked
        .iter()
        .map(|ranked| ranked.variant.runs.clone())
        .collect();
    let (_, contenders) = contenders(&runs, |run| run.reachable_ready_s, seed);
    let has_times = contenders.iter().all(Option::is_some);
    let may_be_first = |place: usize| match contenders[place] {
        Some(contender) if has_times => contender.may_be_best,
        _ => may_be_ahead(place, ranked),
    };
    let ties =
        (0..ranked.len()).filter(|&place| ranked[place].at != fastest.at && may_be_first(place));
    may_be_too(
        &quoted(ties.map(|place| ranked[place].label)),
        "may be as fast",
        ranked.len(),
    )
}

/// Where a run did not finish there are no means. A variant may then be the fastest unless another one is ahead of it
/// in more than half of all possible runs. The error is divided among its comparisons, so that all hold together.
fn may_be_ahead(place: usize, ranked: &[RankedVariant<'_, '_>]) -> bool {
    let others = || (0..ranked.len()).filter(|other| *other != place);
    let level = 1.0 - 2.0 * ERROR / others().count() as f64;
    others().all(|other| {
        let differences = differences(&ranked[place], &ranked[other]);
        differences.len() > 1
            && share_below_at(&differences, level).is_some_and(|share| share.low <= 0.5)
    })
}

/// `It is faster than `b`, the next, in 19 of 20 pairs of runs with equal random numbers (95% CI of the share:
/// 75–99.9%).` Nothing for one variant, or one run.
fn ahead(fastest: &RankedVariant<'_, '_>, ranked: &[RankedVariant<'_, '_>]) -> Option<String> {
    let others = ranked.iter().filter(|other| other.at != fastest.at);
    let next = others.min_by(|a, b| a.completion_s.total_cmp(&b.completion_s))?;
    let ahead: Vec<f64> = differences(next, fastest);
    let share = share_below(&ahead).filter(|_| ahead.len() > 1)?;
    let count = |order: Ordering| {
        ahead
            .iter()
            .filter(|by| by.partial_cmp(&&0.0) == Some(order))
            .count()
    };
    let equal = match count(Ordering::Equal) {
        0 => String::new(),
        ties => format!(", and as fast in {ties}"),
    };
    Some(format!(
        "It is faster than `{}`, the next, in {} of {} pairs of runs with equal random numbers{equal} (95% CI of the \
         share: {}).",
        next.label,
        count(Ordering::Less),
        ahead.len(),
        percents(share)
    ))
}

/// Number of variants that do not complete, with the reasons, equal ones once. `None` when all do.
fn unfinished(all: &[Named<'_, '_>]) -> Option<String> {
    let reasons = grouped(
        all.iter()
            .filter_map(|(_, label, variant)| Some((ends(variant)?, *label))),
    );
    let missing: usize = reasons.iter().map(|(_, labels)| labels.len()).sum();
    let of = |(reason, labels): &(String, Vec<&str>)| {
        let each = if labels.len() > 1 { "each " } else { "" };
        format!(
            "{} ({each}{reason})",
            some_of(&quoted(labels.iter().copied()))
        )
    };
    let some = some_of(&reasons.iter().map(of).collect::<Vec<_>>());
    match (missing, all) {
        (0, _) => None,
        (1, [(_, label, variant)]) if variant.finished() == 0 => {
            Some(format!("`{label}` never completes: {}.", reasons[0].0))
        }
        (1, [_]) => Some(format!("Not every run completes: {some}.")),
        (missing, all) if missing == all.len() => {
            Some(format!("No variant completes in every run: {some}."))
        }
        (1, all) => Some(format!(
            "1 of {} variants does not complete in every run: {some}.",
            all.len()
        )),
        (missing, all) => Some(format!(
            "{missing} of {} variants do not complete in every run: {some}.",
            all.len()
        )),
    }
}

/// `13 of 20 runs stalled, blocked by maxUnavailable, and 7 by maxUnavailablePartitions`. `None`: all runs completed.
fn ends(variant: &VariantResults<'_>) -> Option<String> {
    let ends = variant.ends();
    let runs = variant.runs.len();
    let mut last = "";
    let each = ends.iter().enumerate().map(|(at, group)| {
        let run = group[0];
        let end = ended(run.outcome);
        let of = if at == 0 {
            format!(" of {}", counted(runs, "run"))
        } else {
            String::new()
        };
        let is_rule = !run.held_detail.is_empty();
        let is_same = at > 0 && end == last && is_rule;
        last = end;
        match (is_same, is_rule) {
            (true, _) => format!("{} by {}", group.len(), run.held_by),
            (false, true) => format!("{}{of} {end}, blocked by {}", group.len(), run.held_by),
            (false, false) => format!("{}{of} {end}", group.len()),
        }
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| listed(&each))
}
