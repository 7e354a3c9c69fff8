//! The answer, derived from the recorded results by fixed rules. The terminal and the page show it first.
//!
//! A rollout is complete when all reachable targets are ready. An answer is a verdict and a few lines below it:
//! limits, targets left behind, time, load, the critical path, and what the other variants would cost. Where a
//! defective revision was rolled out, the variant that exposes the fewest clusters is the answer instead
//! ([`exposure`]). Where a choice beside the strategy's own settings was swept, such as a cache, the choices are
//! compared ([`worlds`]). The sentences behind the lines are the details. Names stand in backticks.

mod alike;
pub(in crate::report) mod applications;
mod asked;
pub(in crate::report) mod bound;
mod certainty;
mod completion;
mod cost;
mod decisions;
mod details;
mod exposure;
pub(in crate::report) mod groups;
mod left;
mod limit_lines;
mod limits;
#[cfg(test)]
mod line_tests;
pub(in crate::report) mod lines;
mod load;
mod others;
pub(in crate::report) mod path;
mod questions;
mod ranking;
mod releases;
mod room;
pub(in crate::report) mod sentence;
mod short_labels;
mod sites;
#[cfg(test)]
mod tests;
mod times;
mod tradeoff;
mod workloads;
mod worlds;

pub use self::bound::bound_text;
use self::certainty::{GroupWinner, least_in_all};
use self::details::fastest_and_lowest;
use self::groups::{Best, NamedVariant, VariantGroup};
use self::lines::AnswerLines;
use self::ranking::Sides;
use self::sentence::{listed, quoted, some_of};
use crate::report::cautions::{VariantTargets, different_targets};
use crate::report::data::{Results, VariantResults, target_of};
use crate::report::limits::AssertedLimit;
use crate::results::{DrawDecisionRow, Setting, distinct};

/// The answer to one of the questions of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct QuestionAnswer {
    /// The settings that distinguish the question; empty for the only one.
    pub(in crate::report) title: String,
    pub(in crate::report) lines: AnswerLines,
}

/// The sentences behind the answer, of variants that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct GroupDetails {
    /// The settings that distinguish the group; empty for the only one.
    pub(in crate::report) title: String,
    pub(in crate::report) text: String,
}

/// The answer to an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct PageAnswer {
    /// A sentence if compared variants have different numbers of targets; otherwise empty.
    pub(in crate::report) caution: String,
    /// The sentence for all questions; empty for a single question, and if the questions have nothing in common.
    pub(in crate::report) lead: String,
    pub(in crate::report) questions: Vec<QuestionAnswer>,
    pub(in crate::report) details: Vec<GroupDetails>,
    /// The best variants of each group.
    pub(in crate::report) best: Vec<Best>,
}

/// The error of the statement about which variants may be the fastest.
const ERROR: f64 = 0.05;

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
        let of_group = GroupAnswer::of(named(variants, group), limits, seed);
        answer.details.push(GroupDetails {
            title: group.title.clone(),
            text: of_group.sentences.join(" "),
        });
        answer.best.push(of_group.best);
        comparisons.push(of_group.comparison);
    }
    answer.caution = caution(variants, groups);
    let questions = questions::questions(variants);
    for question in &questions {
        if !question.members.is_empty() {
            answer.questions.push(QuestionAnswer {
                title: question.title.clone(),
                lines: lines_of(variants, question, limits, seed),
            });
        }
    }
    if answer.questions.len() > 1 && questions.len() == groups.len() {
        answer.lead = lead_of_all(variants, groups, &comparisons, &answer.best);
    }
    answer
}

/// The variants of a group with their names in it.
fn named<'v, 'r>(
    variants: &'v [VariantResults<'r>],
    group: &'v VariantGroup,
) -> Vec<NamedVariant<'v, 'r>> {
    let mut all: Vec<NamedVariant<'_, '_>> = Vec::new();
    for (&at, label) in group.members.iter().zip(&group.labels) {
        all.push(NamedVariant {
            at,
            label,
            variant: &variants[at],
        });
    }
    all
}

/// The lines that answer one question.
fn lines_of(
    variants: &[VariantResults<'_>],
    question: &VariantGroup,
    limits: &[AssertedLimit],
    seed: u64,
) -> AnswerLines {
    let all = named(variants, question);
    if all.iter().any(|named| named.variant.exposed()) {
        return exposure::answer(&all, limits, seed);
    }
    if worlds::has_choices(variants, question)
        && let Some(answer) = worlds::answer(variants, question, limits)
    {
        return answer;
    }
    completion::answer(&Sides::of(&all).own, limits, seed)
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

/// The sentences of one group, and its best variants.
struct GroupAnswer<'v, 'r> {
    sentences: Vec<String>,
    best: Best,
    comparison: Comparison<'v, 'r>,
}

impl<'v, 'r> GroupAnswer<'v, 'r> {
    /// The answer of a group.
    fn of(all: Vec<NamedVariant<'v, 'r>>, limits: &[AssertedLimit], seed: u64) -> Self {
        if all.iter().any(|named| named.variant.exposed()) {
            Self::of_exposure(all, limits, seed)
        } else {
            Self::of_completion(&all, limits, seed)
        }
    }

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

/// The labels of the variants that the answers recommend, in the order of the questions.
#[must_use]
pub fn recommended(results: &Results) -> Vec<String> {
    let variants = results.variants();
    let groups = groups::groups(&variants);
    let limits = AssertedLimit::of_answer(results);
    let found = answer(&variants, &groups, &limits, results.provenance.seed);
    let mut labels: Vec<String> = Vec::new();
    for question in &found.questions {
        let Some(chosen) = question.lines.chosen else {
            continue;
        };
        let label = variants[chosen].name();
        if !labels.iter().any(|known| known == label) {
            labels.push(label.to_owned());
        }
    }
    labels
}

/// The decisions on all questions by each draw of the constants: the rows of `decisions-by-draw.csv`.
#[must_use]
pub fn decisions_by_draw(results: &Results) -> Vec<DrawDecisionRow> {
    let variants = results.variants();
    let groups = groups::groups(&variants);
    let limits = AssertedLimit::of_answer(results);
    let found = answer(&variants, &groups, &limits, results.provenance.seed);
    let mut rows = Vec::new();
    for question in &found.questions {
        if let Some(decision) = &question.lines.decision {
            rows.extend(decision.rows(&question.title));
        }
    }
    rows
}
