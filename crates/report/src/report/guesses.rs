//! The number of guessed settings in force, and the constants with the largest effect on the completion time.
//!
//! `resolved.yaml` marks every setting that is a guess. If constants were drawn, their rank correlation with the time
//! over the draws says which matter (Spearman). Left out: interactions, and constants whose effect is not monotone;
//! `fleetsim sensitivity` finds those.

use std::collections::BTreeMap;

use itertools::Itertools;

use super::answer::PageAnswer;
use super::answer::groups::Best;
use super::answer::sentence::some_of;
use super::data::{Results, VariantResults};
use crate::results::{
    ConstantRange, DecisionEnd, DecisionRecord, DrawnConstant, SensitivityRecord,
};
use fleetsim_units::stats::t_quantile;

/// Maximum number of names in one sentence.
const NAMED: usize = 3;
/// A constant is reported if its correlation is at least [`MATTERS`], and is so large that chance produces such a
/// correlation for any of the constants in at most the share [`BY_CHANCE`] of analyses.
const MATTERS: f64 = 0.4;
const BY_CHANCE: f64 = 0.05;

/// The sentences on guesses; empty if the settings in force are unknown.
pub(super) fn sentences(
    results: &Results,
    variants: &[VariantResults<'_>],
    answer: &PageAnswer,
) -> String {
    let guesses = &results.guesses;
    if guesses.is_empty() {
        return String::new();
    }
    let count = guesses_in_force(results);
    let chosen = answer.best.first().and_then(decided_by);
    let Some(variant) = chosen.and_then(|at| variants.get(at)) else {
        return format!("{count} {DRAW_CONSTANTS}");
    };
    if variant.draws.is_empty() {
        return format!("{count} {DRAW_CONSTANTS}");
    }
    let name = variant.name();
    let mattering = mattering(results, variant);
    if mattering.is_empty() {
        return format!("{count} No single constant decides the completion of `{name}`.");
    }
    let mut names: Vec<String> = Vec::new();
    for constant in mattering.iter().take(NAMED) {
        names.push(constant.in_words(guesses));
    }
    format!(
        "{count} Over {} draws of the constants, the completion of `{name}` follows {}. Your own values for these narrow \
         the total interval.",
        variant.draws.len(),
        names.join(", ")
    )
}

/// The number of guesses in force, and the unstated links that decide the answer; empty without guesses.
pub(super) fn in_short(results: &Results) -> String {
    let guesses: Vec<String> = results
        .guesses
        .iter()
        .map(|guess| anywhere(guess))
        .unique()
        .collect();
    if guesses.is_empty() {
        return String::new();
    }
    let are = if guesses.len() == 1 {
        "setting in force is a guess"
    } else {
        "settings in force are guesses"
    };
    let mut text = format!("{} {are}; `--details` names them.", guesses.len());
    for sentence in &results.provenance.defaults {
        if !sentence.starts_with(SAME) {
            text.push_str(&format!(" {sentence}"));
        }
    }
    text
}

/// Advice on how to learn which guesses matter.
const DRAW_CONSTANTS: &str = "`fleetsim sensitivity` says which of them matter, and `uncertainty: constants` in the \
                              experiment gives intervals that include them.";

/// The number of guesses in force with some of their names, and the defaults of the experiment.
fn guesses_in_force(results: &Results) -> String {
    // A setting that occurs several times, such as for each kind of site, counts once.
    let names: Vec<String> = results
        .guesses
        .iter()
        .map(|guess| format!("`{}`", anywhere(guess)))
        .unique()
        .collect();
    let (s, those) = if names.len() == 1 {
        ("", "is a guess")
    } else {
        ("s", "are guesses")
    };
    let mut sentences = vec![format!(
        "{} setting{s} in force {those} without a source: {}.",
        names.len(),
        some_of(&names)
    )];
    sentences.extend(results.provenance.defaults.iter().cloned());
    sentences.join(" ")
}

/// The variant on which a group's answer is based.
fn decided_by(best: &Best) -> Option<usize> {
    best.compromise
        .or(best.fastest)
        .or_else(|| best.least_exposed.first().copied())
}

/// The start of the sentence if the guesses do not affect the answer.
const SAME: &str = "The answer stays the same for";

/// Sentences on whether unstated links decide the answer, from an analysis with one run at both ends of their ranges.
#[must_use]
pub fn deciding_links(record: &SensitivityRecord) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for decision in &record.decisions {
        for end in &decision.ends {
            if end.changes.is_some() {
                sentences.push(deciding(decision, end));
            }
        }
    }
    if sentences.is_empty() && !record.constants.is_empty() {
        let ranges = record.constants.iter().map(range_in_words).join(" and ");
        sentences.push(format!(
            "{SAME} {ranges}, which are not stated (one run each)."
        ));
    }
    sentences
}

/// The decision that results at an end of a constant's range.
fn deciding(decision: &DecisionRecord, end: &DecisionEnd) -> String {
    let question = &decision.decision;
    let there = &end.answer;
    let what = match decision.answer.as_str() {
        "holds" | "is exceeded" => format!("{question} {there}"),
        answer => format!("`{there}` has the {question}, not `{answer}`"),
    };
    format!(
        "`{}` is a guess and decides here: at {}, {what}.",
        end.constant, end.end
    )
}

/// A constant with its range.
fn range_in_words(range: &ConstantRange) -> String {
    format!("`{}` from {} to {}", range.constant, range.low, range.high)
}

/// A path with `*` for each index, as in the names of constants.
fn anywhere(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('[') {
        parts.push(match part.split_once(']') {
            Some((_, rest)) => rest,
            None => part,
        });
    }
    parts.join("[*]")
}

/// A constant whose drawn values correlate with the completion time.
struct MatteringConstant {
    name: String,
    correlation: f64,
}

impl MatteringConstant {
    /// `` `node.unpack`, a guess (rank correlation 0.71) ``.
    fn in_words(&self, guesses: &[String]) -> String {
        let Self { name, correlation } = self;
        let mut paths = guesses.iter().map(|guess| anywhere(guess));
        let own = anywhere(name);
        let guess = if paths.any(|path| path == own) {
            ", a guess"
        } else {
            ""
        };
        format!("`{name}`{guess} (rank correlation {correlation:.2})")
    }
}

/// The constants whose drawn values correlate with the completion time, the most important first.
fn mattering(results: &Results, variant: &VariantResults<'_>) -> Vec<MatteringConstant> {
    let mut times: BTreeMap<u32, f64> = BTreeMap::new();
    for run in &variant.draws {
        let time = run.reachable_ready_s.unwrap_or(f64::INFINITY);
        times.insert(run.replicate, time);
    }
    let mut constants: BTreeMap<&str, Vec<&DrawnConstant>> = BTreeMap::new();
    for drawn in &results.constants {
        constants.entry(&drawn.constant).or_default().push(drawn);
    }
    let matters = least_correlation(variant.draws.len(), constants.len());
    let mut found: Vec<MatteringConstant> = Vec::new();
    for (name, drawn) in constants {
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        // Values of groups or products move together, so one value per draw represents all.
        for drawn in drawn.iter().unique_by(|drawn| drawn.draw) {
            if let Some(time) = times.get(&drawn.draw) {
                pairs.push((drawn.drawn, *time));
            }
        }
        if let Some(correlation) = spearman(&pairs)
            && correlation.abs() >= matters
        {
            let name = name.to_owned();
            found.push(MatteringConstant { name, correlation });
        }
    }
    // Stable: ties are sorted by name.
    found.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()));
    found
}

/// The smallest correlation that is worth reporting, for the given number of draws and of constants (Bonferroni;
/// Student's t of a rank correlation).
fn least_correlation(draws: usize, constants: usize) -> f64 {
    let degrees = u32::try_from(draws.saturating_sub(2).max(1)).unwrap_or(u32::MAX);
    let t = t_quantile(1.0 - BY_CHANCE / (2.0 * constants.max(1) as f64), degrees);
    (t / (f64::from(degrees) + t * t).sqrt()).max(MATTERS)
}

/// The rank correlation of pairs; equal values have their mean rank. `None` if one side is constant.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let x = ranks(&x);
    let y = ranks(&y);
    let scale = (covariation(&x, &x) * covariation(&y, &y)).sqrt();
    (scale > 0.0).then(|| covariation(&x, &y) / scale)
}

/// The rank of each value, from 0; equal values have their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut ranks = Vec::new();
    for own in values {
        let below = values.iter().filter(|other| *other < own).count();
        let equal = values
            .iter()
            .filter(|other| other.total_cmp(own).is_eq())
            .count();
        ranks.push(below as f64 + (equal as f64 - 1.0) / 2.0);
    }
    ranks
}

/// The sum of the products of two lists of ranks, centred on their means.
fn covariation(a: &[f64], b: &[f64]) -> f64 {
    let mean = (a.len() as f64 - 1.0) / 2.0;
    a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::data::guesses_of;
    use super::super::synthetic::{Fleet, Wave, six_settings};
    use super::super::tests::readable_quietly;
    use super::*;
    use crate::results::RunRow;

    const RESOLVED: &str = "# A default is measured or a guess; others are limits.\neverywhere:\n  node.nic: 10 Gbit/s  # \
                            default: guess\n  fleet[0].rtt: 30 ms  # default: guess\n  seed: 1  # line 2\nstrategies:\n  \
                            it:\n    node.nic: 10 Gbit/s  # default: guess\n";

    #[test]
    fn guesses_are_counted_once() {
        assert_eq!(guesses_of(RESOLVED), ["node.nic", "fleet[0].rtt"]);
        assert_eq!(
            ["fleet[0].rtt", "fleet[*].rtt", "seed"].map(anywhere),
            ["fleet[*].rtt", "fleet[*].rtt", "seed"]
        );
    }

    #[test]
    fn the_rank_correlation_equals_one_computed_by_hand() {
        // d = 0, 1, 1, 0: 1 - 6 · 2 / (4 · 15) = 0.8.
        let pairs = [(1.0, 10.0), (2.0, 30.0), (3.0, 20.0), (4.0, f64::INFINITY)];
        assert!((spearman(&pairs).expect("both vary") - 0.8).abs() < 1e-12);
        assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    #[test]
    fn more_constants_and_fewer_draws_need_a_higher_correlation() {
        // One constant, 39 draws: t with 37 degrees of freedom is 2.026, and 2.026 / sqrt(37 + 2.026²) = 0.316, below
        // 0.4.
        for (draws, constants) in [(39, 1), (1000, 40)] {
            assert!((least_correlation(draws, constants) - MATTERS).abs() < 1e-12);
        }
        // For 40 constants, t = 3.49 with 37 degrees of freedom: 0.4976.
        assert!(
            (0.49..0.51).contains(&least_correlation(39, 40)),
            "{}",
            least_correlation(39, 40)
        );
    }

    #[test]
    fn the_text_names_the_constants_that_change_the_answer() {
        let waves = vec![Wave::new("all", 100, 0)];
        let mut results = readable_quietly(&Fleet {
            replicates: 6,
            waves,
            ..six_settings()
        });
        results.guesses = guesses_of(RESOLVED);
        let best = vec![Best {
            fastest: Some(0),
            ..Best::default()
        }];
        let answer = PageAnswer {
            best,
            ..PageAnswer::default()
        };
        let text = |results: &Results| sentences(results, &results.variants(), &answer);
        assert!(
            text(&results).starts_with(
                "2 settings in force are guesses without a source: `node.nic` and `fleet[*].rtt`. `fleetsim sensitivity`"
            ),
            "{}",
            text(&results)
        );
        let runs: Vec<RunRow> = results.tables.runs.clone();
        results.draws = runs;
        let mut order: Vec<(f64, u32)> = results
            .draws
            .iter()
            .map(|run| (run.reachable_ready_s.expect("complete"), run.replicate))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let constant = |(rank, (_, draw)): (usize, &(f64, u32))| DrawnConstant {
            draw: *draw,
            constant: "fleet[*].rtt".to_owned(),
            drawn: rank as f64,
            ..DrawnConstant::default()
        };
        results.constants = order.iter().enumerate().map(constant).collect();
        let text = text(&results);
        assert!(
            text.contains("follows `fleet[*].rtt`, a guess (rank correlation -"),
            "{text}"
        );
    }
}
