//! The answer in a few sentences, derived from the recorded results by fixed rules. The terminal and the page print it
//! first.
//!
//! A rollout is complete when all reachable targets are ready; targets that cannot be updated are counted with the
//! reason. For each group of compared variants, the answer gives: with limits, the number of variants that meet all of
//! them; the fastest, with the interval of its median and the variants that may be as fast; the variant with the
//! lowest peak of pulls and its cost in time, as the paired difference; the lowest peak within twice the fastest time;
//! and the number of variants that do not complete, with the rules that block them. For a defective revision, the
//! variant that exposes the fewest clusters comes first instead ([`exposure`]). If any variant completes in all runs,
//! only such variants are ranked; with limits, only those that meet all. Names are in backticks.

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

use self::certainty::{GroupWinner, fastest_in_draws, in_draws, least_in_all};
use self::groups::{Best, NamedVariant, VariantGroup};
use self::sentence::{
    ShownInterval, completion, differences_of, listed, may_be_too, mean_of, pulls, quoted, some_of,
};
use crate::report::cautions::{VariantTargets, different_targets};
use crate::report::data::{VariantResults, target_of};
use crate::report::format::{ended, percents, time};
use crate::report::limits::{AssertedLimit, exceeded, of_single_runs};
use crate::results::{
    Limit, Measure, READY_TIME, RunRow, Setting, contenders, distinct, grouped, share_below,
    share_below_at,
};
use fleetsim_units::counted;
use fleetsim_units::stats::in_turn;

/// The answer to an experiment's question.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct PageAnswer {
    /// A sentence if compared variants have different numbers of targets; otherwise empty.
    pub(in crate::report) caution: String,
    /// The sentence for all groups; empty when there is one group.
    pub(in crate::report) lead: String,
    /// The title and the answer of each group.
    pub(in crate::report) parts: Vec<(String, String)>,
    /// The best variants of each group.
    pub(in crate::report) best: Vec<Best>,
}

/// The error of the statement about which variants may be the fastest.
const ERROR: f64 = 0.05;

/// A ranked variant.
struct RankedVariant<'v, 'r> {
    at: usize,
    label: &'v str,
    variant: &'v VariantResults<'r>,
    completion_s: f64,
    peak: f64,
}

impl<'v, 'r> RankedVariant<'v, 'r> {
    /// `None`: it has no time or no peak to rank by.
    fn of(named: &NamedVariant<'v, 'r>) -> Option<Self> {
        Some(Self {
            at: named.at,
            label: named.label,
            variant: named.variant,
            completion_s: named.variant.ready_time()?,
            peak: named.variant.median(Measure::PeakPulls)?,
        })
    }

    /// Returns whether it is a setting of a sweep.
    fn is_swept(&self) -> bool {
        !self.variant.info.settings.is_empty()
    }

    /// Compares by completion time, then by peak.
    fn by_time(a: &&Self, b: &&Self) -> Ordering {
        in_turn([a.completion_s, a.peak], [b.completion_s, b.peak])
    }

    /// Compares by peak, then by completion time.
    fn by_peak(a: &&Self, b: &&Self) -> Ordering {
        in_turn([a.peak, a.completion_s], [b.peak, b.completion_s])
    }
}

/// Answers for all groups. Intervals of differences are resampled from `seed`, like those of the tables.
pub(in crate::report) fn answer(
    variants: &[VariantResults<'_>],
    groups: &[VariantGroup],
    limits: &[AssertedLimit],
    seed: u64,
) -> PageAnswer {
    let mut answer = PageAnswer::default();
    let mut comparisons: Vec<Comparison<'_, '_>> = Vec::new();
    for group in groups {
        let mut all: Vec<NamedVariant<'_, '_>> = Vec::new();
        for (&at, label) in group.members.iter().zip(&group.labels) {
            all.push(NamedVariant {
                at,
                label,
                variant: &variants[at],
            });
        }
        let of_group = if all.iter().any(|named| named.variant.exposed()) {
            GroupAnswer::of_exposure(all, limits, seed)
        } else {
            GroupAnswer::of_completion(&all, limits, seed)
        };
        let title = group.title.clone();
        answer.parts.push((title, of_group.sentences.join(" ")));
        answer.best.push(of_group.best);
        comparisons.push(of_group.comparison);
    }
    answer.caution = caution(variants, groups);
    if groups.len() > 1 {
        answer.lead = lead_of_all(variants, groups, &comparisons, &answer.best);
    }
    answer
}

/// The caution of the first group whose variants have different numbers of targets; empty if there is no such group.
fn caution(variants: &[VariantResults<'_>], groups: &[VariantGroup]) -> String {
    for group in groups {
        let mut compared = Vec::new();
        for &at in &group.members {
            let variant = &variants[at];
            let targets = variant.runs.iter().map(|run| run.targets);
            compared.push(VariantTargets {
                strategy: &variant.info.strategy,
                variant: &variant.info.variant,
                targets: targets.max().unwrap_or(0),
            });
        }
        let infos = group.members.iter().map(|&at| variants[at].info);
        if let Some(sentence) = different_targets(&compared, target_of(infos)) {
            return sentence;
        }
    }
    String::new()
}

/// The answer of one group.
struct GroupAnswer<'v, 'r> {
    sentences: Vec<String>,
    best: Best,
    comparison: Comparison<'v, 'r>,
}

impl<'v, 'r> GroupAnswer<'v, 'r> {
    /// The answer of a group with a defective revision.
    fn of_exposure(all: Vec<NamedVariant<'v, 'r>>, limits: &[AssertedLimit], seed: u64) -> Self {
        let mut sentences = Vec::new();
        let (best, winners) = exposure::sentences(&all, seed, &mut sentences);
        // Inserted before the last sentence, which lists the variants that complete.
        let last = sentences.len().saturating_sub(1);
        sentences.splice(last..last, limits::sentence(&all, limits));
        let comparison = Comparison {
            winners,
            rivals: all,
        };
        Self {
            sentences,
            best,
            comparison,
        }
    }

    /// The answer of any other group.
    fn of_completion(all: &[NamedVariant<'v, 'r>], limits: &[AssertedLimit], seed: u64) -> Self {
        let mut sentences = Vec::new();
        let best = fastest_and_lowest(all, limits, seed, &mut sentences);
        let mut winners = Vec::new();
        for named in all {
            if best.fastest == Some(named.at) {
                winners.push(named.label);
            }
        }
        let comparison = Comparison {
            winners,
            rivals: Sides::of(all).own,
        };
        Self {
            sentences,
            best,
            comparison,
        }
    }
}

/// The sentence for all groups. Empty if the groups answer different questions.
fn lead_of_all(
    variants: &[VariantResults<'_>],
    groups: &[VariantGroup],
    comparisons: &[Comparison<'_, '_>],
    best: &[Best],
) -> String {
    let exposing = best.iter().filter(|best| best.is_exposing()).count();
    if exposing == 0 {
        let does = ["completes first", "complete first"];
        lead(variants, groups, comparisons, does)
    } else if exposing == groups.len() {
        let does = ["exposes the fewest clusters", "expose the fewest clusters"];
        lead(variants, groups, comparisons, does)
    } else {
        String::new()
    }
}

/// The labels of the best variants of a group, and all variants of the comparison.
struct Comparison<'v, 'r> {
    winners: Vec<&'v str>,
    rivals: Vec<NamedVariant<'v, 'r>>,
}

impl<'v, 'r> Comparison<'v, 'r> {
    /// The compared variant with this label.
    fn rivals_of(&self, label: &str) -> Option<GroupWinner<'v, 'r>> {
        let winner = self.rivals.iter().find(|rival| rival.label == label)?;
        Some(GroupWinner {
            winner: winner.variant,
            rivals: self.rivals.iter().map(|rival| rival.variant).collect(),
        })
    }

    /// Returns whether the comparison distinguishes its variants.
    fn is_decided(&self) -> bool {
        self.winners.len() != self.rivals.len()
    }
}

/// The sentence for all groups: the variants that are best in all of them, or the settings that the answer depends on.
/// Empty if no comparison distinguishes its variants.
fn lead(
    variants: &[VariantResults<'_>],
    groups: &[VariantGroup],
    comparisons: &[Comparison<'_, '_>],
    does: [&str; 2],
) -> String {
    if !comparisons.iter().any(Comparison::is_decided) {
        return String::new();
    }
    let mut best = comparisons[0].winners.clone();
    best.retain(|label| {
        comparisons
            .iter()
            .all(|group| group.winners.contains(label))
    });
    let Some(first) = best.first() else {
        return format!(
            "The variant that {} depends on {}.",
            does[0],
            listed(&deciding_settings(variants, groups))
        );
    };
    let all = if groups.len() == 2 {
        "both".to_owned()
    } else {
        format!("all {}", groups.len())
    };
    let drawn = if best.len() == 1 {
        let is_exposure = does[0].starts_with("exposes");
        best_in_draws(first, comparisons, is_exposure)
    } else {
        String::new()
    };
    let does = does[usize::from(best.len() > 1)];
    format!(
        "{} {does} in {all} comparisons{drawn}.",
        some_of(&quoted(best))
    )
}

/// The number of draws of the constants in which a variant is the best in all comparisons. Empty without draws.
fn best_in_draws(label: &str, comparisons: &[Comparison<'_, '_>], is_exposure: bool) -> String {
    let mut winners: Vec<GroupWinner<'_, '_>> = Vec::new();
    for comparison in comparisons {
        let Some(winner) = comparison.rivals_of(label) else {
            return String::new();
        };
        winners.push(winner);
    }
    let (holding, draws) = least_in_all(&winners, is_exposure);
    if draws == 0 {
        return String::new();
    }
    format!(", and in all of them in {holding} of {draws} draws of the constants")
}

/// The settings with several values that distinguish the groups.
fn deciding_settings(variants: &[VariantResults<'_>], groups: &[VariantGroup]) -> Vec<String> {
    let settings: Vec<&[Setting]> = groups
        .iter()
        .map(|group| variants[group.members[0]].info.settings.as_slice())
        .collect();
    let mut names = Vec::new();
    for (name, values) in distinct(&settings) {
        let key = format!("{name}=");
        let mut titles = groups.iter().map(|group| &group.title);
        if values.len() > 1 && titles.any(|title| title.contains(&key)) {
            names.push(name);
        }
    }
    names
}

/// The variants of a group by their role in the question.
struct Sides<'v, 'r> {
    /// The user's own strategies, which the question is about. If there are only bounds, the bounds.
    own: Vec<NamedVariant<'v, 'r>>,
    bounds: Vec<NamedVariant<'v, 'r>>,
}

impl<'v, 'r> Sides<'v, 'r> {
    /// Divides the variants.
    fn of(all: &[NamedVariant<'v, 'r>]) -> Self {
        let (bounds, own): (Vec<_>, Vec<_>) = all
            .iter()
            .copied()
            .partition(|named| named.variant.info.is_bound);
        if own.is_empty() {
            Self {
                own: bounds,
                bounds: own,
            }
        } else {
            Self { own, bounds }
        }
    }
}

/// Variants that may be ranked: those that meet the limits, or all if none does; of these, the ones whose runs all
/// completed, or all if there are none.
fn rankable<'v, 'r>(
    own: &[NamedVariant<'v, 'r>],
    limits: &[AssertedLimit],
) -> Vec<RankedVariant<'v, 'r>> {
    let mut eligible = own.to_vec();
    eligible.retain(|named| exceeded(named.variant, limits) == 0);
    if eligible.is_empty() {
        eligible = own.to_vec();
    }
    let ranked: Vec<RankedVariant<'_, '_>> =
        eligible.iter().filter_map(RankedVariant::of).collect();
    let (whole, partial): (Vec<_>, Vec<_>) = ranked
        .into_iter()
        .partition(|ranked| ranked.variant.is_whole());
    if whole.is_empty() { partial } else { whole }
}

/// The ranked variant with this index among all variants.
fn ranked_at<'a, 'v, 'r>(
    ranked: &'a [RankedVariant<'v, 'r>],
    at: Option<usize>,
) -> Option<&'a RankedVariant<'v, 'r>> {
    ranked.iter().find(|ranked| Some(ranked.at) == at)
}

/// The sentences of a group without a defective revision.
fn fastest_and_lowest(
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
    differences_of(base.variant, other.variant, |run| {
        READY_TIME.of_or_late(run)
    })
}

/// The other variants that may be the fastest, at a joint confidence level.
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
            ties.push(other.label);
        }
    }
    may_be_too(&quoted(ties), "may be as fast", ranked.len())
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
fn unfinished(all: &[NamedVariant<'_, '_>]) -> Option<String> {
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
