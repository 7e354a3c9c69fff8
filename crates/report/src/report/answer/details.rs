//! The sentences behind the lines of an answer: variants that may be as fast, the numbers of pairs of runs, and the
//! cost of each step.
//!
//! The page shows them behind *Details*, and the terminal with `--details`.

use super::certainty::{fastest_in_draws, in_draws};
use super::groups::{Best, NamedVariant};
use super::ranking::{RankedVariant, Sides, rankable, ranked_at, run_time};
use super::sentence::{
    ShownInterval, completion, differences_of, listed, may_be_too, mean_of, pulls, quoted, some_of,
};
use super::{ERROR, limits, path, tradeoff};
use crate::report::data::{VariantResults, target_of};
use crate::report::format::{ended, percents, time};
use crate::report::limits::{AssertedLimit, of_single_runs};
use crate::results::{Limit, RunRow, contenders, grouped, share_below, share_below_at};
use fleetsim_units::counted;

/// The sentences of a group without a defective revision.
pub(super) fn fastest_and_lowest(
    all: &[NamedVariant<'_, '_>],
    limits: &[AssertedLimit],
    seed: u64,
    sentences: &mut Vec<String>,
) -> Best {
    let Sides { own, bounds } = Sides::of(all);
    let ranked = rankable(&own, limits);
    let is_limited = limits
        .iter()
        .any(|limit| own.iter().any(|named| limit.applies_to(named.variant)));
    let is_sweep = !is_limited && tradeoff::is_sweep(&ranked);
    let of_all = if is_limited && own.len() > 1 {
        limits::of_all(&own, limits)
    } else {
        None
    };
    let best = if let Some(is_fastest) = of_all {
        // The setting that meets the limits comes first.
        let words = [format!("{is_fastest}: complete"), format!(" {is_fastest}")];
        let best = compared(&ranked, [&words[0], &words[1]], seed, sentences);
        if let Some(fastest) = ranked_at(&ranked, best.fastest) {
            sentences.extend(limits::next_beyond(&own, fastest.completion_s, limits));
            sentences.extend(meeting_in_draws(fastest, limits));
        }
        best
    } else if is_sweep {
        let compromise = tradeoff::sentences(&ranked, sentences);
        let words = ["completes first,", " is first"];
        let best = compared(&ranked, words, seed, &mut Vec::new());
        Best { compromise, ..best }
    } else {
        sentences.extend(limits::sentence(&own, limits));
        let words = if own.len() == 1 {
            ["completes", ""]
        } else {
            ["completes first,", " is first"]
        };
        let best = compared(&ranked, words, seed, sentences);
        if let Some(fastest) = ranked_at(&ranked, best.fastest) {
            sentences.extend(fastest_in_draws(fastest, &ranked));
        }
        best
    };
    let led = match best.compromise {
        Some(compromise) if is_sweep => Some(compromise),
        _ => best.fastest,
    };
    if let Some(led) = ranked_at(&ranked, led) {
        sentences.extend(path::sentence(led.label, led.variant));
    }
    // If none of the user's own strategies completes, this is the answer.
    let is_first = best.fastest.is_none();
    if is_first {
        sentences.extend(unfinished(&own));
        sentences.extend(missing(&own));
    }
    sentences.extend(tradeoff::bounds(&bounds, &own));
    sentences.extend(unfinished(if is_first { &bounds } else { all }));
    best
}

/// The number of draws of the constants in which the fastest variant meets the limits that apply to it.
fn meeting_in_draws(fastest: &RankedVariant<'_, '_>, limits: &[AssertedLimit]) -> Option<String> {
    let RankedVariant { label, variant, .. } = fastest;
    let mut applying: Vec<&Limit> = Vec::new();
    for limit in limits {
        if limit.applies_to(variant) {
            applying.push(&limit.limit);
        }
    }
    let which = of_single_runs(&applying, "the limits");
    let claim = format!("`{label}` meets {which}");
    in_draws(variant, &claim, |run| {
        limits.iter().all(|limit| limit.holds_in(variant, run))
    })
}

/// The clusters that cannot be updated, in the first variant that has any.
fn missing(named: &[NamedVariant<'_, '_>]) -> Option<String> {
    let mut reaches = named.iter().map(|named| named.variant.reach());
    let reach = reaches.find(|reach| !reach.is_whole())?;
    Some(format!("{}.", reach.missing()))
}

/// The fastest, the lowest peak and the compromise between them.
fn compared(
    ranked: &[RankedVariant<'_, '_>],
    [completes, is_first]: [&str; 2],
    seed: u64,
    sentences: &mut Vec<String>,
) -> Best {
    let Some(fastest) = ranked.iter().min_by(RankedVariant::by_time) else {
        return Best::default();
    };
    sentences.push(completes_first(fastest, [completes, is_first]));
    sentences.extend(after_release(fastest));
    sentences.extend(ahead(fastest, ranked));
    sentences.extend(equally_fast(fastest, ranked, seed));
    sentences.extend(unswept(fastest, ranked, seed));
    let lowest = ranked.iter().min_by(RankedVariant::by_peak);
    let lowest = lowest.expect("there is a fastest");
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
    if let Some(compromise) = compromise(fastest, lowest, ranked) {
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

/// The first sentence, about the fastest variant.
fn completes_first(fastest: &RankedVariant<'_, '_>, [completes, is_first]: [&str; 2]) -> String {
    let label = fastest.label;
    let reach = fastest.variant.reach();
    let time_taken = completion(fastest.variant, fastest.completion_s);
    let peak = pulls(fastest.peak);
    if reach.is_whole() {
        return format!("`{label}` {completes} after {time_taken}, with a peak of {peak}.");
    }
    let ready = reach.of_all();
    let missing = reach.missing();
    let target = target_of([fastest.variant.info]);
    format!(
        "`{label}`{is_first}: {ready} {target}s are ready after {time_taken}, with a peak of {peak}. {missing}."
    )
}

/// The reference point of the time of a variant with a pre-pull.
fn after_release(fastest: &RankedVariant<'_, '_>) -> Option<String> {
    let releases = fastest.variant.runs.iter().map(|run| run.release_s);
    let release = releases.fold(0.0, f64::max);
    if release <= 0.0 {
        return None;
    }
    Some(format!(
        "The time counts from the release, {} after the pre-pull began.",
        time(release)
    ))
}

/// The variant with the lowest peak within twice the fastest time. `None` if it is the fastest or the lowest itself.
fn compromise<'a, 'v, 'r>(
    fastest: &RankedVariant<'_, '_>,
    lowest: &RankedVariant<'_, '_>,
    ranked: &'a [RankedVariant<'v, 'r>],
) -> Option<&'a RankedVariant<'v, 'r>> {
    let within = ranked
        .iter()
        .filter(|ranked| ranked.completion_s <= 2.0 * fastest.completion_s);
    let found = within.min_by(RankedVariant::by_peak)?;
    let is_other = found.at != fastest.at && found.at != lowest.at;
    (is_other && found.peak < fastest.peak).then_some(found)
}

/// The strategy to name first if settings of another one are swept: users know their own strategy, and ask what to
/// change.
fn unswept(
    fastest: &RankedVariant<'_, '_>,
    ranked: &[RankedVariant<'_, '_>],
    seed: u64,
) -> Option<String> {
    let own = ranked.iter().min_by_key(|ranked| ranked.at)?;
    if own.is_swept() || own.at == fastest.at || !ranked.iter().any(RankedVariant::is_swept) {
        return None;
    }
    Some(format!(
        "`{}` {}, with a peak of {}.",
        own.label,
        cost(fastest, own, seed),
        pulls(own.peak)
    ))
}

/// `takes 12.0 min longer (paired difference, 95% CI 11.5–12.5)`.
fn cost(fastest: &RankedVariant<'_, '_>, other: &RankedVariant<'_, '_>, seed: u64) -> String {
    match mean_of(&differences(fastest, other), seed) {
        Some(between) => {
            let shown = ShownInterval::of_time(between.estimate, between.low, between.high);
            let ShownInterval { middle, low, high } = shown;
            format!("takes {middle} longer (paired difference, 95% CI {low}–{high})")
        }
        None => format!("completes after {}", time(other.completion_s)),
    }
}

/// Additional time of `other` over `base`, over common replicates. An unfinished run is later than all finished ones.
fn differences(base: &RankedVariant<'_, '_>, other: &RankedVariant<'_, '_>) -> Vec<f64> {
    differences_of(base.variant, other.variant, run_time)
}

/// The other variants that may be the fastest, at a joint confidence level.
pub(super) fn may_be_fastest<'a, 'v, 'r>(
    fastest: &RankedVariant<'_, '_>,
    ranked: &'a [RankedVariant<'v, 'r>],
    seed: u64,
) -> Vec<&'a RankedVariant<'v, 'r>> {
    let runs: Vec<Vec<&RunRow>> = ranked
        .iter()
        .map(|ranked| ranked.variant.runs.clone())
        .collect();
    let (_, contenders) = contenders(&runs, |run| run.reachable_ready_s, seed);
    let has_times = contenders.iter().all(Option::is_some);
    let mut ties = Vec::new();
    for (place, other) in ranked.iter().enumerate() {
        if other.at == fastest.at {
            continue;
        }
        let may_be_first = match contenders[place] {
            Some(contender) if has_times => contender.may_be_best,
            _ => may_be_ahead(place, ranked),
        };
        if may_be_first {
            ties.push(other);
        }
    }
    ties
}

/// The variants that may be as fast, as a sentence. `None`: there is no such variant.
fn equally_fast(
    fastest: &RankedVariant<'_, '_>,
    ranked: &[RankedVariant<'_, '_>],
    seed: u64,
) -> Option<String> {
    let ties = may_be_fastest(fastest, ranked, seed);
    let labels = ties.iter().map(|tied| tied.label);
    may_be_too(&quoted(labels), "may be as fast", ranked.len())
}

/// If a run did not finish, there are no means. A variant may then be the fastest unless another one is ahead of it in
/// more than half of all possible runs. The error is divided among its comparisons, so that all hold together.
fn may_be_ahead(place: usize, ranked: &[RankedVariant<'_, '_>]) -> bool {
    let others = ranked.len() - 1;
    let level = 1.0 - 2.0 * ERROR / others as f64;
    for (other, rival) in ranked.iter().enumerate() {
        if other == place {
            continue;
        }
        let differences = differences(&ranked[place], rival);
        let share = share_below_at(&differences, level);
        let is_behind = share.is_none_or(|share| share.low > 0.5);
        if differences.len() <= 1 || is_behind {
            return false;
        }
    }
    true
}

/// `It is faster than `b`, the next, in 19 of 20 pairs of runs with equal random numbers (95% CI of the share:
/// 75–99.9%).` Empty for one variant, or one run.
fn ahead(fastest: &RankedVariant<'_, '_>, ranked: &[RankedVariant<'_, '_>]) -> Option<String> {
    let others = ranked.iter().filter(|other| other.at != fastest.at);
    let next = others.min_by(|a, b| a.completion_s.total_cmp(&b.completion_s))?;
    let ahead: Vec<f64> = differences(next, fastest);
    if ahead.len() < 2 {
        return None;
    }
    let share = share_below(&ahead)?;
    let faster = ahead.iter().filter(|by| **by < 0.0).count();
    let equal = match ahead.iter().filter(|by| **by == 0.0).count() {
        0 => String::new(),
        ties => format!(", and as fast in {ties}"),
    };
    Some(format!(
        "It is faster than `{}`, the next, in {} of {} pairs of runs with equal random numbers{equal} (95% CI of the \
         share: {}).",
        next.label,
        faster,
        ahead.len(),
        percents(share)
    ))
}

/// The number of variants that do not complete, with the distinct reasons. `None` if all do.
pub(super) fn unfinished(all: &[NamedVariant<'_, '_>]) -> Option<String> {
    let mut ended = Vec::new();
    for named in all {
        if let Some(reason) = ends(named.variant) {
            ended.push((reason, named.label));
        }
    }
    let missing = ended.len();
    let reasons = grouped(ended);
    let mut texts: Vec<String> = Vec::new();
    for (reason, labels) in &reasons {
        let each = if labels.len() > 1 { "each " } else { "" };
        let names = some_of(&quoted(labels.iter().copied()));
        texts.push(format!("{names} ({each}{reason})"));
    }
    let some = some_of(&texts);
    match (missing, all) {
        (0, _) => None,
        (1, [only]) if only.variant.finished() == 0 => {
            let (reason, _) = &reasons[0];
            Some(format!("`{}` never completes: {reason}.", only.label))
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
    let runs = variant.runs.len();
    let mut last = "";
    let mut texts: Vec<String> = Vec::new();
    for group in variant.ends() {
        let run = group[0];
        let end = ended(run.outcome);
        let is_first = texts.is_empty();
        let of = if is_first {
            format!(" of {}", counted(runs, "run"))
        } else {
            String::new()
        };
        let is_rule = !run.held_detail.is_empty();
        let is_same = !is_first && end == last && is_rule;
        last = end;
        let count = group.len();
        texts.push(match (is_same, is_rule) {
            (true, _) => format!("{count} by {}", run.held_by),
            (false, true) => format!("{count}{of} {end}, blocked by {}", run.held_by),
            (false, false) => format!("{count}{of} {end}"),
        });
    }
    (!texts.is_empty()).then(|| listed(&texts))
}
