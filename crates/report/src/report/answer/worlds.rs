//! The answer for a sweep that is not over a strategy's own setting, but over something that a team can choose: a
//! cache, mirrors, the registry, the nodes' settings. Each choice is represented by its best variant.
//!
//! The first value of the sweep is the reference, because it is usually the current setup. Choices that take equally
//! long are ranked by the bytes that the registry sends.

use itertools::Itertools;

use super::completion::{at_defaults, with_draws};
use super::decisions::{Decision, DecisionRule};
use super::groups::{NamedVariant, VariantGroup, setting_label};
use super::lines::{AnswerKey, AnswerLines};
use super::ranking::{RankedTime, RankedVariant, Sides, fastest, left_behind, rankable};
use super::sentence::{quoted, some_of};
use super::{left, limit_lines, load, times, workloads};
use crate::report::data::VariantResults;
use crate::report::format::{TimeUnit, in_unit, number, time};
use crate::report::limits::{AssertedLimit, exceeded, fails};
use crate::results::{Measure, Setting, grouped};
use fleetsim_units::stats::in_turn;

/// Times that differ by less than this share count as equal.
const ALIKE: f64 = 0.02;
/// Maximum number of other choices in the last line.
const MOST: usize = 4;
/// The settings that a team chooses, by the first key of their paths. Others describe the fleet and the release.
const CHOICES: [&str; 6] = [
    "distribution",
    "mirrors",
    "node",
    "regions",
    "registries",
    "registry",
];

/// Returns true for a setting that a team chooses in addition to its strategy.
pub(super) fn is_choice(setting: &Setting) -> bool {
    let first = setting.path.split('.').next().unwrap_or_default();
    CHOICES.contains(&first)
}

/// A choice with the best variant of it.
struct RankedChoice<'v, 'r> {
    label: String,
    best: Option<RankedVariant<'v, 'r>>,
    /// Whether several variants have it.
    is_best_of_several: bool,
}

impl RankedChoice<'_, '_> {
    /// The median time; infinite if most runs do not complete.
    fn time(&self) -> f64 {
        match &self.best {
            Some(best) => best.completion_s,
            None => f64::INFINITY,
        }
    }

    /// The time that a headline shows; infinite if most runs do not complete.
    fn headline(&self) -> f64 {
        let best = self.best.as_ref();
        let shown = best.and_then(|best| times::headline(best.variant));
        shown.unwrap_or(f64::INFINITY)
    }

    /// The sum of the times of all workloads.
    fn workloads(&self) -> f64 {
        match &self.best {
            Some(best) => workloads::sum(best.variant),
            None => f64::INFINITY,
        }
    }

    /// The median of the bytes that the registry sends.
    fn sent(&self) -> f64 {
        match &self.best {
            Some(best) => best.variant.median(Measure::EgressBytes).unwrap_or(0.0),
            None => f64::INFINITY,
        }
    }

    /// The targets that all runs leave behind.
    fn left(&self) -> u64 {
        match &self.best {
            Some(best) => best.variant.runs.iter().map(|run| left_behind(run)).sum(),
            None => u64::MAX,
        }
    }

    /// The number of limits that its best variant exceeds.
    fn missed(&self, limits: &[AssertedLimit]) -> usize {
        match &self.best {
            Some(best) => exceeded(best.variant, limits),
            None => usize::MAX,
        }
    }

    /// `5.39 min, 0.6 GB`.
    fn costs(&self) -> String {
        match &self.best {
            Some(best) => {
                let sent = in_unit(self.sent(), "bytes");
                format!("{}, {sent}", time(best.completion_s))
            }
            None => "does not complete in most runs".to_owned(),
        }
    }
}

/// Returns true if the variants of a question have several choices.
pub(super) fn has_choices(variants: &[VariantResults<'_>], question: &VariantGroup) -> bool {
    choices_of(variants, question).len() > 1
}

/// The members of a question by their choices, in the order of the sweep.
fn choices_of(
    variants: &[VariantResults<'_>],
    question: &VariantGroup,
) -> Vec<(Vec<Setting>, Vec<usize>)> {
    let mut keyed = Vec::new();
    for &at in &question.members {
        let mut chosen = variants[at].info.settings.clone();
        chosen.retain(is_choice);
        keyed.push((chosen, at));
    }
    grouped(keyed)
}

/// The answer over all choices of a question. `None`: no choice has a variant that completes in most of its runs.
pub(super) fn answer(
    variants: &[VariantResults<'_>],
    question: &VariantGroup,
    limits: &[AssertedLimit],
) -> Option<AnswerLines> {
    let choices = judged_choices(variants, question, limits);
    let reference = choices.first()?;
    let best = best_of(&choices, limits)?;
    let ranked = best.best.as_ref()?;
    let chosen = NamedVariant {
        at: ranked.at,
        label: &best.label,
        variant: ranked.variant,
    };
    let mut named: Vec<NamedVariant<'_, '_>> = Vec::new();
    for choice in &choices {
        if let Some(ranked) = &choice.best {
            named.push(NamedVariant {
                at: ranked.at,
                label: &choice.label,
                variant: ranked.variant,
            });
        }
    }
    let mut applying: Vec<AssertedLimit> = limits.to_vec();
    applying.retain(|limit| named.iter().any(|named| limit.applies_to(named.variant)));
    let mut answer = AnswerLines {
        verdict: verdict(best, reference, &applying),
        lines: limit_lines::lines(&named, Some(&chosen), &applying),
        ..AnswerLines::default()
    };
    answer.add(AnswerKey::Left, left::line(chosen.variant));
    let rule = if applying.is_empty() {
        DecisionRule::Fastest
    } else {
        DecisionRule::FastestWithinLimits
    };
    let all = with_choices(variants, question, &choices);
    let decision = Decision::of(&[&best.label], rule, &all, &applying);
    answer.add(
        AnswerKey::Time,
        times::line(chosen.variant).map(|line| with_draws(line, &decision)),
    );
    answer.add(AnswerKey::Load, load::line(chosen.variant, false));
    answer.add_cause(&chosen);
    let others = others(&choices, best, reference);
    answer.add(
        AnswerKey::Else,
        others.map(|line| at_defaults(line, chosen.variant)),
    );
    answer.decision = Some(decision);
    Some(answer)
}

/// The user's own variants of a question, each by the name of its choice.
fn with_choices<'v, 'r>(
    variants: &'v [VariantResults<'r>],
    question: &'v VariantGroup,
    choices: &'v [RankedChoice<'v, 'r>],
) -> Vec<NamedVariant<'v, 'r>> {
    let mut all: Vec<NamedVariant<'v, 'r>> = Vec::new();
    for ((_, members), choice) in choices_of(variants, question).iter().zip(choices) {
        for &at in members {
            all.push(NamedVariant {
                at,
                label: &choice.label,
                variant: &variants[at],
            });
        }
    }
    Sides::of(&all).own
}

/// Each choice with its best variant.
fn judged_choices<'v, 'r>(
    variants: &'v [VariantResults<'r>],
    question: &'v VariantGroup,
    limits: &[AssertedLimit],
) -> Vec<RankedChoice<'v, 'r>> {
    let all = choices_of(variants, question);
    let mut chosen: Vec<&[Setting]> = Vec::new();
    for (settings, _) in &all {
        chosen.push(settings);
    }
    let labels = labels(&chosen);
    let mut choices = Vec::new();
    for ((_, members), label) in all.iter().zip(labels) {
        let mut named: Vec<NamedVariant<'v, 'r>> = Vec::new();
        for &at in members {
            named.push(NamedVariant {
                at,
                label: variants[at].name(),
                variant: &variants[at],
            });
        }
        let mut ranked = rankable(&Sides::of(&named).own, limits);
        let first = fastest(&ranked, RankedTime::OfAll).map(|first| first.at);
        ranked.retain(|ranked| Some(ranked.at) == first);
        choices.push(RankedChoice {
            label,
            best: ranked.pop(),
            is_best_of_several: members.len() > 1,
        });
    }
    choices
}

/// The labels of choices: lists by their length if the lengths differ, otherwise by their values.
fn labels(chosen: &[&[Setting]]) -> Vec<String> {
    let short: Vec<String> = chosen
        .iter()
        .map(|settings| label(settings, true))
        .collect();
    if short.iter().all_unique() {
        return short;
    }
    chosen
        .iter()
        .map(|settings| label(settings, false))
        .collect()
}

/// The label of one choice.
fn label(settings: &[Setting], counts_lists: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    for setting in settings {
        parts.push(setting_label(setting, counts_lists));
    }
    parts.join(" · ")
}

/// The best choice: the fastest of those that miss the fewest limits and leave the fewest targets behind. If several
/// take about equally long, the one whose registry sends the least wins, and then the one whose workloads are ready
/// first.
fn best_of<'c, 'v, 'r>(
    choices: &'c [RankedChoice<'v, 'r>],
    limits: &[AssertedLimit],
) -> Option<&'c RankedChoice<'v, 'r>> {
    let mut rest: Vec<&RankedChoice<'v, 'r>> = choices.iter().collect();
    rest.retain(|choice| choice.best.is_some());
    let fewest_missed = rest.iter().map(|choice| choice.missed(limits)).min()?;
    rest.retain(|choice| choice.missed(limits) == fewest_missed);
    let fewest_left = rest.iter().map(|choice| choice.left()).min()?;
    rest.retain(|choice| choice.left() == fewest_left);
    let least_s = rest
        .iter()
        .map(|choice| choice.time())
        .fold(f64::INFINITY, f64::min);
    rest.retain(|choice| are_alike(choice.time(), least_s));
    let least_sent = rest
        .iter()
        .map(|choice| choice.sent())
        .fold(f64::INFINITY, f64::min);
    rest.retain(|choice| are_alike(choice.sent(), least_sent));
    rest.into_iter()
        .min_by(|a, b| in_turn([a.workloads(), a.time()], [b.workloads(), b.time()]))
}

/// Returns true if two times hardly differ.
fn are_alike(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq() || (a - b).abs() <= ALIKE * a.min(b)
}

/// `` Use `cache`: all 5 clusters ready after 5.3 instead of 25.3 min, and the registry sends 0.6 instead of
/// 3 GB. ``
fn verdict(
    best: &RankedChoice<'_, '_>,
    reference: &RankedChoice<'_, '_>,
    limits: &[AssertedLimit],
) -> String {
    let label = &best.label;
    let Some(ranked) = &best.best else {
        return String::new();
    };
    let which = limit_lines::which(limits);
    let start = if limits.is_empty() {
        format!("Use `{label}`")
    } else if best.missed(limits) == 0 {
        format!("Use `{label}`, which meets {which}")
    } else if fails(ranked.variant, limits) {
        format!("✗ No choice meets {which}; `{label}` misses the fewest limits")
    } else {
        format!("? `{label}` is not shown to meet {which}, as its runs are too few")
    };
    let are_ready = times::are_ready(ranked.variant);
    let each = if best.is_best_of_several {
        " Each choice has its best setting."
    } else {
        ""
    };
    if best.label == reference.label {
        let took = times::headline_text(ranked.variant);
        return format!("{start}: {are_ready} after {took}.{each}");
    }
    if reference.best.is_none() {
        let took = times::headline_text(ranked.variant);
        return format!(
            "{start}: {are_ready} after {took}; `{}` does not complete in most runs.{each}",
            reference.label
        );
    }
    let took = if are_alike(best.time(), reference.time()) {
        let took = times::headline_text(ranked.variant);
        format!("{took}, about as long as `{}`", reference.label)
    } else {
        times_instead(best.headline(), reference.headline())
    };
    let gain = match &reference.best {
        Some(before) => workloads::greatest_gain(ranked.variant, before.variant),
        None => None,
    };
    let gain = gain.map(|gain| format!("; {gain}")).unwrap_or_default();
    let sent = if are_alike(best.sent(), reference.sent()) {
        String::new()
    } else {
        format!(
            ", and the registry sends {} instead of {} GB",
            number(best.sent() / 1e9),
            number(reference.sent() / 1e9)
        )
    };
    format!("{start}: {are_ready} after {took}{sent}{gain}.{each}")
}

/// `5.3 instead of 25.3 min`.
fn times_instead(now: f64, before: f64) -> String {
    let unit = TimeUnit::for_span(before);
    if TimeUnit::for_span(now) == unit {
        let now = number(now / unit.seconds);
        return format!("{now} instead of {}", time(before));
    }
    format!("{} instead of {}", time(now), time(before))
}

/// The other choices with their time and the bytes that the registry sends, equal ones together.
fn others(
    choices: &[RankedChoice<'_, '_>],
    best: &RankedChoice<'_, '_>,
    reference: &RankedChoice<'_, '_>,
) -> Option<String> {
    let mut rest: Vec<&RankedChoice<'_, '_>> = choices.iter().collect();
    rest.retain(|choice| choice.label != best.label && choice.label != reference.label);
    rest.sort_by(|a, b| a.time().total_cmp(&b.time()));
    let mut keyed = Vec::new();
    for choice in &rest {
        keyed.push((choice.costs(), choice.label.as_str()));
    }
    let costs = grouped(keyed);
    let mut parts: Vec<String> = Vec::new();
    for (costs, labels) in costs.iter().take(MOST) {
        parts.push(format!(
            "{} {costs}",
            some_of(&quoted(labels.iter().copied()))
        ));
    }
    if costs.len() > MOST {
        parts.push(format!("{} more in the table", costs.len() - MOST));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
