//! The answer in a few sentences, from the recorded results by fixed rules.
//!
//! Within each group of variants that are compared: how many do not complete, and by which rule they are held; with
//! limits, how many keep to all of them; the fastest, with the interval of its median and whether others are told apart
//! from it; the one with the lowest peak of pulls and what that costs in time, as the paired difference; and the lowest peak that
//! is to be had in at most twice the fastest time. Where a defective revision was given out, who lets the fewest clusters
//! have it comes first instead (`exposure`). Only variants whose runs all completed are candidates while there
//! are any, and with limits only those that keep to all. Names stand in backticks.

use super::exposure;
use super::groups::VariantGroup;
use super::limits::{self, Demand, broken};
use crate::report::data::VariantResults;
use crate::report::format::{TimeUnit, apart, count, time};
use crate::results::{RunOutcome, RunRow, Setting, distinct, interval_of_mean};
use crate::stats;

/// What the results say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PageAnswer {
    /// Said of all groups together; empty when there is one group.
    pub(super) lead: String,
    /// A group's title and what is said of it.
    pub(super) parts: Vec<(String, String)>,
    /// The best variants of each group.
    pub(super) best: Vec<Best>,
}

/// Places of the best variants of a group in the list of all variants.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Best {
    pub(super) fastest: Option<usize>,
    pub(super) lowest: Option<usize>,
    /// Neither, but the lowest peak in at most twice the fastest time.
    pub(super) compromise: Option<usize>,
    /// Where a defective revision was given out, in place of the others: all with the fewest clusters that were told it,
    /// and the one with the most.
    pub(super) least_exposed: Vec<usize>,
    pub(super) most_exposed: Option<usize>,
}

/// Most names in one list.
pub(super) const NAMED: usize = 3;

/// A variant among those it is compared with.
struct RankedVariant<'v, 'r> {
    at: usize,
    label: &'v str,
    variant: &'v VariantResults<'r>,
    completion_s: f64,
    peak: f64,
}

/// Answers for all groups; intervals of differences are resampled from `seed`, as those of the tables are.
pub(super) fn answer(
    variants: &[VariantResults<'_>],
    groups: &[VariantGroup],
    demands: &[Demand],
    seed: u64,
) -> PageAnswer {
    let mut answer = PageAnswer::default();
    let mut winners: Vec<Vec<&str>> = Vec::new();
    for group in groups {
        let all: Vec<(usize, &str, &VariantResults<'_>)> =
            group.members.iter().zip(&group.labels).map(|(&at, label)| (at, label.as_str(), &variants[at])).collect();
        let mut sentences = Vec::new();
        let (best, first) = if exposed(&all) {
            let found = exposure::told(&all, seed, &mut sentences);
            // Before the last sentence, which is of what completes.
            let last = sentences.len().saturating_sub(1);
            sentences.splice(last..last, limits::told(&all, demands));
            found
        } else {
            let best = told(&all, demands, seed, &mut sentences);
            let fastest = all.iter().find(|(at, ..)| best.fastest == Some(*at));
            (best, fastest.map(|(_, label, _)| *label).into_iter().collect())
        };
        answer.parts.push((group.title.clone(), sentences.join(" ")));
        answer.best.push(best);
        winners.push(first);
    }
    if groups.len() > 1 {
        let exposing = answer.best.iter().filter(|best| best.most_exposed.is_some()).count();
        answer.lead = match exposing {
            0 => lead(variants, groups, &winners, "completes first"),
            all if all == groups.len() => {
                lead(variants, groups, &winners, "lets the fewest clusters have the defective revision")
            }
            // The comparisons answer different questions.
            _ => String::new(),
        };
    }
    answer
}

/// Whether any of these variants told a cluster a defective revision.
fn exposed(all: &[(usize, &str, &VariantResults<'_>)]) -> bool {
    all.iter().any(|(_, _, variant)| variant.exposed())
}

/// What all groups have in common: the one that does best in all, or that it depends.
fn lead(variants: &[VariantResults<'_>], groups: &[VariantGroup], winners: &[Vec<&str>], does: &str) -> String {
    let in_all = winners[0].iter().find(|first| winners.iter().all(|others| others.contains(first)));
    if let Some(first) = in_all {
        return format!("In all {} comparisons `{first}` {does}.", groups.len());
    }
    let settings: Vec<&[Setting]> =
        groups.iter().map(|group| variants[group.members[0]].info.settings.as_slice()).collect();
    let names: Vec<String> = distinct(&settings)
        .into_iter()
        .filter(|(name, values)| {
            values.len() > 1 && groups.iter().any(|group| group.title.contains(&format!("{name}=")))
        })
        .map(|(name, _)| name)
        .collect();
    format!("Which variant {does} depends on {}.", listed(&names, usize::MAX))
}

fn told(
    all: &[(usize, &str, &VariantResults<'_>)],
    demands: &[Demand],
    seed: u64,
    sentences: &mut Vec<String>,
) -> Best {
    let keeping: Vec<bool> = all.iter().map(|(_, _, variant)| broken(variant, demands) == 0).collect();
    let limits = limits::told(all, demands);
    let limited = limits.is_some();
    sentences.extend(limits);
    let some_keep = keeping.contains(&true);
    let eligible: Vec<RankedVariant<'_, '_>> = all
        .iter()
        .zip(&keeping)
        .filter(|(_, keeps)| **keeps || !some_keep)
        .filter_map(|(&(at, label, variant), _)| {
            let completion_s = variant.median("completion_s")?;
            let peak = variant.median("peak_pulls")?;
            Some(RankedVariant { at, label, variant, completion_s, peak })
        })
        .collect();
    let whole = |candidate: &RankedVariant<'_, '_>| candidate.variant.finished() == candidate.variant.runs.len();
    let any_whole = eligible.iter().any(whole);
    let candidates: Vec<RankedVariant<'_, '_>> =
        eligible.into_iter().filter(|candidate| whole(candidate) || !any_whole).collect();
    let first = match (all.len(), !limited || !some_keep) {
        (1, _) => "completes",
        (_, true) => "completes first:",
        (_, false) => "of these completes first:",
    };
    let best = compared(&candidates, first, seed, sentences);
    unfinished_told(all, sentences);
    best
}

/// The fastest, the lowest peak and the compromise between them.
fn compared(candidates: &[RankedVariant<'_, '_>], verb: &str, seed: u64, sentences: &mut Vec<String>) -> Best {
    let order = |by: fn(&RankedVariant<'_, '_>) -> [f64; 2]| {
        move |a: &&RankedVariant<'_, '_>, b: &&RankedVariant<'_, '_>| {
            let (a, b) = (by(a), by(b));
            a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
        }
    };
    let by_time = order(|candidate| [candidate.completion_s, candidate.peak]);
    let by_peak = order(|candidate| [candidate.peak, candidate.completion_s]);
    let Some(fastest) = candidates.iter().min_by(by_time) else { return Best::default() };
    let peak = pulls(fastest.peak);
    sentences.push(format!(
        "`{}` {verb} after {}, with a peak of {peak} at once.",
        fastest.label,
        when(fastest.variant, fastest.completion_s)
    ));
    let ahead = fastest.variant.runs.iter().map(|run| run.release_s).fold(0.0, f64::max);
    if ahead > 0.0 {
        sentences.push(format!("That counts from the release, {} after its pre-pull began.", time(ahead)));
    }
    let ties: Vec<String> = candidates
        .iter()
        .filter(|other| {
            other.at != fastest.at && difference(fastest, other, seed).is_some_and(|between| between.contains(0.0))
        })
        .map(|other| format!("`{}`", other.label))
        .collect();
    if !ties.is_empty() {
        let verb = if ties.len() == 1 { "is" } else { "are" };
        sentences.push(format!(
            "{} {verb} not told apart from it: the 95 % interval of the paired difference holds zero.",
            listed(&ties, NAMED)
        ));
    }
    let lowest = candidates.iter().min_by(by_peak).expect("there is a fastest");
    let mut best = Best { fastest: Some(fastest.at), lowest: Some(lowest.at), ..Best::default() };
    if candidates.len() < 2 {
        return best;
    }
    if lowest.peak.total_cmp(&fastest.peak).is_eq() {
        sentences.push("No other has a lower peak.".to_owned());
        return Best { lowest: Some(fastest.at), ..best };
    }
    let longer = match difference(fastest, lowest, seed) {
        Some(between) => {
            let (difference, low, high) = told_apart(between.estimate, between.low, between.high);
            format!("takes {difference} longer (95 % interval of the paired difference {low}–{high})")
        }
        None => format!("completes after {}", time(lowest.completion_s)),
    };
    sentences.push(format!(
        "The lowest peak, {} at once, is that of `{}`, which {longer}.",
        pulls(lowest.peak),
        lowest.label
    ));
    let compromise = candidates
        .iter()
        .filter(|candidate| candidate.completion_s <= 2.0 * fastest.completion_s)
        .min_by(by_peak)
        .filter(|candidate| candidate.at != fastest.at && candidate.at != lowest.at);
    if let Some(compromise) = compromise.filter(|candidate| candidate.peak < fastest.peak) {
        sentences.push(format!(
            "Within twice the fastest time, `{}` keeps the peak lowest: {} at once, complete after {}.",
            compromise.label,
            pulls(compromise.peak),
            time(compromise.completion_s)
        ));
        best.compromise = Some(compromise.at);
    }
    best
}

/// `12.3 min (95 % interval of the median 11.9–12.8 min, 20 runs)`.
pub(super) fn when(variant: &VariantResults<'_>, completion_s: f64) -> String {
    let (runs, finished) = (variant.runs.len(), variant.finished());
    let runs = match (finished == runs, runs) {
        (true, 1) => "1 run".to_owned(),
        (true, runs) => format!("{runs} runs"),
        (false, runs) => format!("{finished} of {runs} runs"),
    };
    let interval = variant
        .summary("completion_s")
        .and_then(|row| row.median_ci95_low.zip(row.median_ci95_high))
        .filter(|(low, high)| low < high);
    match interval {
        Some((low, high)) => {
            let (middle, low, high) = told_apart(completion_s, low, high);
            format!("{middle} (95 % interval of the median {low}–{high}, {runs})")
        }
        None => format!("{} ({runs})", time(completion_s)),
    }
}

/// `1 pull`, `212 pulls`.
fn pulls(peak: f64) -> String {
    let count = count(peak);
    if count == "1" { format!("{count} pull") } else { format!("{count} pulls") }
}

/// A time with its unit and the ends of its interval, with decimals enough to tell the ends apart.
fn told_apart(middle: f64, low: f64, high: f64) -> (String, String, String) {
    let unit = TimeUnit::for_span(middle.abs());
    let [middle, low, high] = apart(middle / unit.seconds, low / unit.seconds, high / unit.seconds);
    (format!("{middle} {}", unit.short), low, high)
}

/// How much longer `other` takes than `base`, over the replicates in which both completed.
fn difference(base: &RankedVariant<'_, '_>, other: &RankedVariant<'_, '_>, seed: u64) -> Option<stats::Interval> {
    let completed = |run: &RunRow| run.completion_s.filter(|_| run.outcome == RunOutcome::Complete);
    difference_of(base.variant, other.variant, completed, seed)
}

/// By how much a measure of `other` exceeds that of `base`, over the replicates in which both have it.
pub(super) fn difference_of(
    base: &VariantResults<'_>,
    other: &VariantResults<'_>,
    of: impl Fn(&RunRow) -> Option<f64>,
    seed: u64,
) -> Option<stats::Interval> {
    let in_replicate = |replicate: u32| of(other.runs.iter().find(|run| run.replicate == replicate)?);
    let differences: Vec<f64> =
        base.runs.iter().filter_map(|run| Some(in_replicate(run.replicate)? - of(run)?)).collect();
    interval_of_mean(&differences, seed)
}

/// How many do not complete, and why.
fn unfinished_told(all: &[(usize, &str, &VariantResults<'_>)], sentences: &mut Vec<String>) {
    let unfinished: Vec<String> = all
        .iter()
        .filter_map(|(_, label, variant)| {
            let (outcome, held_by) = variant.unfinished()?;
            let runs = variant.runs.len();
            let missing = runs - variant.finished();
            let end = if outcome == RunOutcome::Stalled { "stalled" } else { "ran out of time" };
            // The rule's name stands before the colon.
            let rule = held_by.split(": ").next().filter(|rule| !rule.is_empty() && rule.len() < held_by.len());
            let rule = rule.map_or_else(String::new, |rule| format!(", held by {rule}"));
            Some(format!("`{label}` ({missing} of {runs} runs {end}{rule})"))
        })
        .collect();
    match unfinished.len() {
        0 => {}
        missing if missing == all.len() && missing > 1 => {
            sentences.push(format!("No variant completes in every run: {}.", listed(&unfinished, NAMED)));
        }
        missing => {
            let verb = if missing == 1 { "does" } else { "do" };
            let of = if all.len() == 1 {
                String::new()
            } else {
                format!("{missing} of {} variants {verb} not complete in every run: ", all.len())
            };
            let (before, after) = if all.len() == 1 { ("Not every run completes: ", ".") } else { ("", ".") };
            sentences.push(format!("{before}{of}{}{after}", listed(&unfinished, NAMED)));
        }
    }
}

/// `a, b and c`; of more than `most` the first ones and how many more.
pub(super) fn listed(items: &[String], most: usize) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        _ if items.len() > most => format!("{} and {} more", items[..most].join(", "), items.len() - most),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::groups;
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, Wave, six_settings};
    use crate::results::Limit;

    fn answered(fleet: &Fleet, limits: &[&str]) -> PageAnswer {
        let home = tempfile::tempdir().expect("a temporary folder");
        fleet.publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        let variants = results.variants();
        let demands: Vec<Demand> = limits.iter().map(|limit| (Limit::parse(limit).expect("a limit"), None)).collect();
        answer(&variants, &groups(&variants), &demands, 42)
    }

    fn wave(name: &str, size: u64, stalls: u32) -> Wave {
        Wave::new(name, size, stalls)
    }

    fn of(waves: Vec<Wave>) -> Fleet {
        Fleet { waves, replicates: 6, ..six_settings() }
    }

    /// The only part's text.
    fn text(answer: &PageAnswer) -> &str {
        assert_eq!((answer.lead.as_str(), answer.parts.len()), ("", 1));
        &answer.parts[0].1
    }

    #[test]
    fn the_fastest_the_lowest_peak_and_what_lies_between_are_told_with_their_numbers() {
        let answer = answered(&six_settings(), &[]);
        let text = text(&answer);
        assert!(text.starts_with("`maxUnavailable=100%` completes first: after "), "{text}");
        assert!(
            text.contains(" min (95 % interval of the median ") && text.contains(", 20 runs), with a peak of 3,000"),
            "{text}"
        );
        assert!(
            text.contains("The lowest peak, 6 pulls at once, is that of `maxUnavailable=1`, which takes "),
            "{text}"
        );
        assert!(text.contains(" longer (95 % interval of the paired difference "), "{text}");
        assert!(
            text.contains(" Within twice the fastest time, `maxUnavailable=25%` keeps the peak lowest: 750 pulls"),
            "{text}"
        );
        assert_eq!(answer.best, [Best { fastest: Some(5), lowest: Some(0), compromise: Some(3), ..Best::default() }]);
    }

    #[test]
    fn with_limits_only_variants_that_keep_to_all_are_candidates() {
        let answer = answered(&six_settings(), &["peak_pulls < 1000", "completion < 24h"]);
        let kept = text(&answer);
        assert!(kept.contains(" of 6 variants keep to all 2 limits. `maxUnavailable="), "{kept}");
        assert!(!kept.contains("`maxUnavailable=100%`"), "it breaks the first limit: {kept}");
        let answer = answered(&six_settings(), &["peak_pulls < 0"]);
        let none = text(&answer);
        assert!(none.starts_with("None of the 6 variants keeps to the limit peak_pulls < 0. `"), "{none}");
        let answer = answered(&six_settings(), &["peak_pulls < 0", "peak_pulls < 10"]);
        let none = text(&answer);
        assert!(
            none.starts_with("None of the 6 variants keeps to all 2 limits; `maxUnavailable=1` breaks the fewest (1)."),
            "{none}"
        );
    }

    #[test]
    fn a_variant_that_stalls_is_no_candidate_and_told_with_its_rule() {
        let answer = answered(&of(vec![wave("careful", 100, 1), wave("bold", 500, 0)]), &[]);
        let text = text(&answer);
        assert!(text.starts_with("`bold` completes first: after "), "{text}");
        let end =
            "1 of 2 variants does not complete in every run: `careful` (6 of 6 runs stalled, held by maxUnavailable).";
        assert!(text.ends_with(end), "{text}");
        assert_eq!(answer.best, [Best { fastest: Some(1), lowest: Some(1), ..Best::default() }]);
    }

    #[test]
    fn where_nothing_completes_the_answer_says_so() {
        let answer = answered(&of(vec![wave("careful", 100, 1), wave("bold", 500, 1)]), &[]);
        let text = text(&answer);
        assert!(text.starts_with("No variant completes in every run: `careful` (6 of 6 runs stalled"), "{text}");
        assert_eq!(answer.best, [Best::default()]);
    }

    #[test]
    fn variants_that_no_run_tells_apart_are_called_as_fast() {
        let answer = answered(&of(vec![wave("one", 250, 0), wave("other", 250, 0)]), &[]);
        let text = text(&answer);
        assert!(
            text.contains("`other` is not told apart from it: the 95 % interval of the paired difference holds zero."),
            "{text}"
        );
        assert!(text.ends_with("No other has a lower peak."), "{text}");
    }

    #[test]
    fn a_time_is_told_with_decimals_that_show_how_sure_it_is() {
        let told = |middle: f64, half: f64| told_apart(middle, middle - half, middle + half);
        let words = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(told(600.0, 60.0), words("10.0 min", "9.0", "11.0"));
        // A minute either way of 22.3 h shows with one decimal more.
        assert_eq!(told(80_280.0, 60.0), words("22.30 h", "22.28", "22.32"));
        assert_eq!(told(402_883.0, 100.0), words("4.663 d", "4.662", "4.664"), "days, as 4.66 to 4.66 says nothing");
        assert_eq!(told(50.0, 0.0), words("50.0 s", "50.0", "50.0"), "nothing shorter than seconds");
    }

    #[test]
    fn no_variants_give_no_answer_and_one_gives_its_numbers() {
        assert_eq!(answered(&of(Vec::new()), &[]), PageAnswer::default());
        let answer = answered(&of(vec![wave("all", 1000, 0)]), &[]);
        assert!(text(&answer).contains("` completes after "), "{answer:?}");
    }
}
