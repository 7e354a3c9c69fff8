//! The answer for a sweep that is not over a strategy's own setting, but over something that a team can choose: a
//! cache, mirrors, the registry, the nodes' settings. Each choice is represented by its best variant.
//!
//! The first value of the sweep is the reference, because it is usually the current setup. Choices that take equally
//! long are ranked by the bytes that the registry sends.

use itertools::Itertools;

use super::alike::are_alike;
use super::completion::{at_defaults, with_draws};
use super::decisions::{Decision, DecisionRule};
use super::groups::{NamedVariant, VariantGroup, setting_label};
use super::lines::{AnswerKey, AnswerLines};
use super::load::LoadContext;
use super::ranking::{RankedTime, RankedVariant, Sides, fastest, left_in, rankable};
use super::sentence::{quoted, some_of};
use super::short_labels::short_values;
use super::times::times_instead;
use super::{applications, cost, left, limit_lines, load, times, workloads};
use crate::report::data::VariantResults;
use crate::report::format::{in_unit, number, time};
use crate::report::limits::{AssertedLimit, exceeded, fails};
use crate::results::{Measure, Setting, grouped};
use fleetsim_units::stats::in_turn;

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
    /// True if several variants have it.
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

    /// The targets that its first `runs` runs leave behind, beyond those that the experiment allows.
    fn left(&self, runs: usize) -> u64 {
        match &self.best {
            Some(best) => left_in(best.variant, runs).iter().sum(),
            None => u64::MAX,
        }
    }

    /// The number of its runs.
    fn runs(&self) -> usize {
        match &self.best {
            Some(best) => best.variant.runs.len(),
            None => 0,
        }
    }

    /// The number of limits that its best variant exceeds.
    fn missed(&self, limits: &[AssertedLimit]) -> usize {
        match &self.best {
            Some(best) => exceeded(best.variant, limits),
            None => usize::MAX,
        }
    }

    /// Returns true if another choice takes about as long, and its registry sends about as much.
    fn is_like(&self, other: &Self) -> bool {
        are_alike(self.time(), other.time()) && are_alike(self.sent(), other.sent())
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
    let named = named_choices(&choices);
    let mut applying: Vec<AssertedLimit> = limits.to_vec();
    applying.retain(|limit| named.iter().any(|named| limit.applies_to(named.variant)));
    let ChosenWorld { choice: best, rule } = chosen_of(&choices, &applying)?;
    let ranked = best.best.as_ref()?;
    let chosen = NamedVariant {
        at: ranked.at,
        label: &best.label,
        variant: ranked.variant,
    };
    let all = with_choices(variants, question, &choices);
    let decision = Decision::of(&[&best.label], rule, &all, &applying);
    let mut answer = AnswerLines {
        verdict: verdict(best, reference, &applying, &decision),
        lines: limit_lines::lines(&named, Some(&chosen), &applying),
        ..AnswerLines::default()
    };
    answer.add(AnswerKey::Left, left::line(chosen.variant));
    answer.add(
        AnswerKey::Time,
        times::line_below(&answer.verdict, chosen.variant).map(|line| with_draws(line, &decision)),
    );
    let context = LoadContext {
        is_room_asked: false,
        says_sent: answer.verdict.contains("the registry sends"),
        reference: reference.best.as_ref().map(|reference| reference.variant),
    };
    answer.add(AnswerKey::Load, load::line(chosen.variant, context));
    answer.add(AnswerKey::Applications, applications::line(chosen.variant));
    let cost = cost::line(&chosen, &named).map(|line| at_defaults(line, chosen.variant));
    answer.add(AnswerKey::Cost, cost);
    answer.add_cause(&chosen);
    let others = others(&choices, best, reference);
    answer.add(
        AnswerKey::Else,
        others.map(|line| at_defaults(line, chosen.variant)),
    );
    answer.decision = Some(decision);
    Some(answer)
}

/// The choices that have a variant to compare, each by its best one.
fn named_choices<'c, 'v, 'r>(choices: &'c [RankedChoice<'v, 'r>]) -> Vec<NamedVariant<'c, 'r>> {
    let mut named = Vec::new();
    for choice in choices {
        if let Some(ranked) = &choice.best {
            named.push(NamedVariant {
                at: ranked.at,
                label: &choice.label,
                variant: ranked.variant,
            });
        }
    }
    named
}

/// The choice of a verdict, and the rule that chose it.
struct ChosenWorld<'c, 'v, 'r> {
    choice: &'c RankedChoice<'v, 'r>,
    rule: DecisionRule,
}

/// What people have, if it meets all limits and no other choice leaves fewer targets behind. Otherwise the best
/// choice.
fn chosen_of<'c, 'v, 'r>(
    choices: &'c [RankedChoice<'v, 'r>],
    limits: &[AssertedLimit],
) -> Option<ChosenWorld<'c, 'v, 'r>> {
    let reference = choices.first()?;
    if limits.is_empty() {
        return Some(ChosenWorld {
            choice: best_of(choices, limits)?,
            rule: DecisionRule::FastestChoice,
        });
    }
    let faultless = with_fewest_faults(choices, limits);
    let is_enough = faultless
        .iter()
        .any(|choice| choice.label == reference.label);
    if is_enough && reference.missed(limits) == 0 {
        return Some(ChosenWorld {
            choice: reference,
            rule: DecisionRule::EnoughForLimits,
        });
    }
    Some(ChosenWorld {
        choice: best_of(choices, limits)?,
        rule: DecisionRule::FastestChoiceWithinLimits,
    })
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

/// The settings of each choice, with long values in short.
fn shortened(chosen: &[&[Setting]]) -> Vec<Vec<Setting>> {
    let mut all: Vec<Vec<Setting>> = Vec::new();
    for &settings in chosen {
        all.push(settings.to_vec());
    }
    for (path, values) in grouped(chosen.iter().copied().flatten().map(path_and_value)) {
        let values: Vec<&str> = values.into_iter().unique().collect();
        let short = short_values(&values);
        for setting in all.iter_mut().flatten() {
            if setting.path == path
                && let Some(at) = values.iter().position(|value| *value == setting.value)
            {
                setting.value.clone_from(&short[at]);
            }
        }
    }
    all
}

/// The path of a setting, and its value.
fn path_and_value(setting: &Setting) -> (&str, &str) {
    (&setting.path, &setting.value)
}

/// The labels of choices: a list by its length and a long value in short where this tells them apart, else the values.
fn labels(chosen: &[&[Setting]]) -> Vec<String> {
    let short: Vec<String> = shortened(chosen)
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

/// The choices that miss the fewest limits, and of these the ones that leave the fewest targets behind.
fn with_fewest_faults<'c, 'v, 'r>(
    choices: &'c [RankedChoice<'v, 'r>],
    limits: &[AssertedLimit],
) -> Vec<&'c RankedChoice<'v, 'r>> {
    let mut rest: Vec<&RankedChoice<'v, 'r>> = choices.iter().collect();
    rest.retain(|choice| choice.best.is_some());
    let fewest_missed = rest.iter().map(|choice| choice.missed(limits)).min();
    rest.retain(|choice| Some(choice.missed(limits)) == fewest_missed);
    let shared = rest.iter().map(|choice| choice.runs()).min().unwrap_or(0);
    let fewest_left = rest.iter().map(|choice| choice.left(shared)).min();
    rest.retain(|choice| Some(choice.left(shared)) == fewest_left);
    rest
}

/// The best choice: of those with the fewest faults, the fastest. Of several that take about as long, it is the one
/// whose registry sends the least, and then the one with the earliest workloads.
fn best_of<'c, 'v, 'r>(
    choices: &'c [RankedChoice<'v, 'r>],
    limits: &[AssertedLimit],
) -> Option<&'c RankedChoice<'v, 'r>> {
    let mut rest = with_fewest_faults(choices, limits);
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

/// `` Use `cache`: all 5 clusters ready after 5.3 instead of 25.3 min, and the registry sends 0.6 instead of
/// 3 GB. ``
fn verdict(
    best: &RankedChoice<'_, '_>,
    reference: &RankedChoice<'_, '_>,
    limits: &[AssertedLimit],
    decision: &Decision,
) -> String {
    let label = &best.label;
    let Some(ranked) = &best.best else {
        return String::new();
    };
    let drawn = decision.holding();
    if drawn.is_minority() {
        return format!(
            "No choice is the best in most draws of the constants: `{label}`, the best at the defaults, is in {} of {}.",
            drawn.holding, drawn.draws
        );
    }
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
    if decision.rule == DecisionRule::EnoughForLimits {
        let took = times::headline_text(ranked.variant);
        return format!("`{label}` is enough to meet {which}: {are_ready} after {took}.{each}");
    }
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
        Some(before) if are_alike(best.time(), reference.time()) => {
            workloads::greatest_gain(ranked.variant, before.variant)
        }
        _ => None,
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
        let price = if choice.is_like(best) {
            "the same".to_owned()
        } else if choice.is_like(reference) {
            "no gain".to_owned()
        } else {
            choice.costs()
        };
        keyed.push((price, choice.label.as_str()));
    }
    let prices = grouped(keyed);
    let mut parts: Vec<String> = Vec::new();
    for (price, labels) in prices.iter().take(MOST) {
        let names = some_of(&quoted(labels.iter().copied()));
        parts.push(format!("{names}: {price}"));
    }
    if prices.len() > MOST {
        let more: usize = prices[MOST..].iter().map(|(_, labels)| labels.len()).sum();
        parts.push(format!("{more} more in the table"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
