//! The answer in a few sentences, from the recorded results by fixed rules.
//!
//! Within each group of variants that are compared: how many do not complete, and by which rule they are held; with
//! limits, how many keep to all of them; the fastest, with the interval of its median and whether others are told apart
//! from it; the one with the lowest peak of pulls and what that costs in time, as the paired difference; and the lowest peak that
//! is to be had in at most twice the fastest time. Only variants whose runs all completed are candidates while there
//! are any, and with limits only those that keep to all. Names stand in backticks.

use super::groups::Group;
use crate::record::{Limit, Outcome, Setting, distinct, interval_of_mean};
use crate::report::data::Variant;
use crate::report::format::{TimeUnit, alike, count, time, time_interval};
use crate::stats;

/// A limit of the experiment, and the strategy that it is for; `None`: all.
pub(super) type Demand = (Limit, Option<String>);

/// What the results say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Said of all groups together; empty when there is one group.
    pub(super) lead: String,
    /// A group's title and what is said of it.
    pub(super) parts: Vec<(String, String)>,
    /// The fastest variant and the one with the lowest peak, of each group.
    pub(super) best: Vec<Best>,
}

/// Places of the best variants of a group in the list of all variants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Best {
    pub(super) fastest: Option<usize>,
    pub(super) lowest: Option<usize>,
    /// Neither, but the lowest peak in at most twice the fastest time.
    pub(super) compromise: Option<usize>,
}

/// Most names in one list.
const NAMED: usize = 3;

/// A variant among those it is compared with.
struct Candidate<'v, 'r> {
    at: usize,
    label: &'v str,
    variant: &'v Variant<'r>,
    completion_s: f64,
    peak: f64,
}

/// Answers for all groups; intervals of differences are resampled from `seed`, as those of the tables are.
pub(super) fn answer(variants: &[Variant<'_>], groups: &[Group], demands: &[Demand], seed: u64) -> Answer {
    let mut answer = Answer::default();
    let mut winners: Vec<Option<&str>> = Vec::new();
    for group in groups {
        let (text, best) = told(variants, group, demands, seed);
        answer.parts.push((group.title.clone(), text));
        answer.best.push(best);
        let place = best.fastest.and_then(|fastest| group.members.iter().position(|&at| at == fastest));
        winners.push(place.map(|place| group.labels[place].as_str()));
    }
    if groups.len() > 1 {
        answer.lead = lead(variants, groups, &winners);
    }
    answer
}

/// What all groups have in common: the fastest, or that it depends.
fn lead(variants: &[Variant<'_>], groups: &[Group], winners: &[Option<&str>]) -> String {
    if let Some(first) = winners[0].filter(|_| winners.iter().all(|other| *other == winners[0])) {
        return format!("In all {} comparisons `{first}` completes first.", groups.len());
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
    format!("Which variant completes first depends on {}.", listed(&names, usize::MAX))
}

fn told(variants: &[Variant<'_>], group: &Group, demands: &[Demand], seed: u64) -> (String, Best) {
    let all: Vec<(usize, &str, &Variant<'_>)> =
        group.members.iter().zip(&group.labels).map(|(&at, label)| (at, label.as_str(), &variants[at])).collect();
    let mut sentences = Vec::new();
    let keeping: Vec<bool> = all.iter().map(|(_, _, variant)| broken(variant, demands) == 0).collect();
    if !demands.is_empty() {
        sentences.push(limits_told(&all, demands, &keeping));
    }
    let some_keep = keeping.contains(&true);
    let eligible: Vec<Candidate<'_, '_>> = all
        .iter()
        .zip(&keeping)
        .filter(|(_, keeps)| **keeps || !some_keep)
        .filter_map(|(&(at, label, variant), _)| {
            let completion_s = variant.median("completion_s")?;
            let peak = variant.median("peak_pulls")?;
            Some(Candidate { at, label, variant, completion_s, peak })
        })
        .collect();
    let whole = |candidate: &Candidate<'_, '_>| candidate.variant.finished() == candidate.variant.runs.len();
    let any_whole = eligible.iter().any(whole);
    let candidates: Vec<Candidate<'_, '_>> =
        eligible.into_iter().filter(|candidate| whole(candidate) || !any_whole).collect();
    let first = match (all.len(), demands.is_empty() || !some_keep) {
        (1, _) => "completes",
        (_, true) => "completes first:",
        (_, false) => "of these completes first:",
    };
    let best = compared(&candidates, first, seed, &mut sentences);
    unfinished_told(&all, &mut sentences);
    (sentences.join(" "), best)
}

/// Limits that a variant breaks.
pub(super) fn broken(variant: &Variant<'_>, demands: &[Demand]) -> usize {
    demands.iter().filter(|demand| judged(variant, demand).is_some_and(|verdict| !verdict.holds)).count()
}

/// How a variant stands to a limit. `None` when the limit is for another strategy.
pub(super) fn judged(variant: &Variant<'_>, (limit, strategy): &Demand) -> Option<crate::record::Verdict> {
    let applies = strategy.as_deref().is_none_or(|strategy| variant.info.strategy == strategy);
    applies.then(|| limit.judge(&variant.runs))
}

fn limits_told(all: &[(usize, &str, &Variant<'_>)], demands: &[Demand], keeping: &[bool]) -> String {
    let kept = keeping.iter().filter(|keeps| **keeps).count();
    let limits = match demands {
        [(limit, _)] => format!("the limit {limit}"),
        _ => format!("all {} limits", demands.len()),
    };
    if all.len() == 1 {
        let verb = if kept == 1 { "keeps" } else { "does not keep" };
        return format!("`{}` {verb} to {limits}.", all[0].1);
    }
    if kept > 0 {
        let verb = if kept == 1 { "keeps" } else { "keep" };
        return format!("{kept} of {} variants {verb} to {limits}.", all.len());
    }
    if demands.len() == 1 {
        return format!("None of the {} variants keeps to {limits}.", all.len());
    }
    let fewest = all.iter().min_by_key(|(_, _, variant)| broken(variant, demands)).expect("a group has a member");
    let count = broken(fewest.2, demands);
    format!("None of the {} variants keeps to {limits}; `{}` breaks the fewest ({count}).", all.len(), fewest.1)
}

/// The fastest, the lowest peak and the compromise between them.
fn compared(candidates: &[Candidate<'_, '_>], verb: &str, seed: u64, sentences: &mut Vec<String>) -> Best {
    let order = |by: fn(&Candidate<'_, '_>) -> [f64; 2]| {
        move |a: &&Candidate<'_, '_>, b: &&Candidate<'_, '_>| {
            let (a, b) = (by(a), by(b));
            a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
        }
    };
    let by_time = order(|candidate| [candidate.completion_s, candidate.peak]);
    let by_peak = order(|candidate| [candidate.peak, candidate.completion_s]);
    let Some(fastest) = candidates.iter().min_by(by_time) else { return Best::default() };
    let peak = pulls(fastest.peak);
    sentences.push(format!("`{}` {verb} after {}, with a peak of {peak} at once.", fastest.label, when(fastest)));
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
    let mut best = Best { fastest: Some(fastest.at), lowest: Some(lowest.at), compromise: None };
    if candidates.len() < 2 {
        return best;
    }
    if lowest.peak.total_cmp(&fastest.peak).is_eq() {
        sentences.push("No other has a lower peak.".to_owned());
        return Best { lowest: Some(fastest.at), ..best };
    }
    let longer = match difference(fastest, lowest, seed) {
        Some(between) => {
            let (difference, low, high) = told_apart(&between);
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
fn when(candidate: &Candidate<'_, '_>) -> String {
    let variant = candidate.variant;
    let (runs, finished) = (variant.runs.len(), variant.finished());
    let runs = match (finished == runs, runs) {
        (true, 1) => "1 run".to_owned(),
        (true, runs) => format!("{runs} runs"),
        (false, runs) => format!("{finished} of {runs} runs"),
    };
    let middle = candidate.completion_s;
    let interval = variant
        .summary("completion_s")
        .and_then(|row| row.median_ci95_low.zip(row.median_ci95_high))
        .filter(|(low, high)| low < high)
        .map_or_else(String::new, |(low, high)| {
            format!("95 % interval of the median {}, ", bare(&time_interval(middle, low, high)))
        });
    format!("{} ({interval}{runs})", time(middle))
}

/// `1 pull`, `212 pulls`.
fn pulls(peak: f64) -> String {
    let count = count(peak);
    if count == "1" { format!("{count} pull") } else { format!("{count} pulls") }
}

/// A difference and the ends of its interval, in the longest unit that tells the ends apart; in seconds at the last.
fn told_apart(between: &stats::Interval) -> (String, String, String) {
    let usual = TimeUnit::for_span(between.estimate.abs());
    let told = |unit: TimeUnit| {
        let [middle, low, high] =
            alike([between.estimate, between.low, between.high].map(|seconds| seconds / unit.seconds));
        (format!("{middle} {}", unit.short), low, high)
    };
    let shorter = [86_400.0, 5_000.0, 60.0].map(TimeUnit::for_span);
    std::iter::once(usual)
        .chain(shorter.into_iter().filter(|unit| unit.seconds < usual.seconds))
        .map(told)
        .find(|(_, low, high)| low != high)
        .unwrap_or_else(|| told(usual))
}

/// An interval without its brackets.
fn bare(interval: &str) -> &str {
    interval.trim_start_matches('[').trim_end_matches(']')
}

/// How much longer `other` takes than `base`, over the replicates in which both completed.
fn difference(base: &Candidate<'_, '_>, other: &Candidate<'_, '_>, seed: u64) -> Option<stats::Interval> {
    let completed = |variant: &Variant<'_>, replicate: u32| {
        let run = variant.runs.iter().find(|run| run.replicate == replicate)?;
        run.completion_s.filter(|_| run.outcome == Outcome::Complete)
    };
    let differences: Vec<f64> = base
        .variant
        .runs
        .iter()
        .filter_map(|run| Some(completed(other.variant, run.replicate)? - completed(base.variant, run.replicate)?))
        .collect();
    interval_of_mean(&differences, seed)
}

/// How many do not complete, and why.
fn unfinished_told(all: &[(usize, &str, &Variant<'_>)], sentences: &mut Vec<String>) {
    let unfinished: Vec<String> = all
        .iter()
        .filter_map(|(_, label, variant)| {
            let (outcome, held_by) = variant.unfinished()?;
            let runs = variant.runs.len();
            let missing = runs - variant.finished();
            let end = if outcome == Outcome::Stalled { "stalled" } else { "ran out of time" };
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
fn listed(items: &[String], most: usize) -> String {
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

    fn answered(fleet: &Fleet, limits: &[&str]) -> Answer {
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
    fn text(answer: &Answer) -> &str {
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
        assert_eq!(answer.best, [Best { fastest: Some(5), lowest: Some(0), compromise: Some(3) }]);
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
        assert_eq!(answer.best, [Best { fastest: Some(1), lowest: Some(1), compromise: None }]);
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
    fn a_difference_is_told_in_a_unit_that_shows_how_sure_it_is() {
        let told = |estimate: f64, half: f64| {
            told_apart(&stats::Interval { estimate, low: estimate - half, high: estimate + half })
        };
        let words = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(told(600.0, 60.0), words("10.0 min", "9.0", "11.0"));
        // 22.3 h: a minute either way does not show in hours, but in minutes.
        assert_eq!(told(80_280.0, 60.0), words("1,338 min", "1,337", "1,339"));
        assert_eq!(told(50.0, 0.0), words("50.0 s", "50.0", "50.0"), "nothing shorter than seconds");
    }

    #[test]
    fn no_variants_give_no_answer_and_one_gives_its_numbers() {
        assert_eq!(answered(&of(Vec::new()), &[]), Answer::default());
        let answer = answered(&of(vec![wave("all", 1000, 0)]), &[]);
        assert!(text(&answer).contains("` completes after "), "{answer:?}");
    }
}
