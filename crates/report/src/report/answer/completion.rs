//! The answer for a completed rollout: the variant that completes first, or the setting to use.
//!
//! The verdict depends on the question. With limits, it is the fastest variant that meets all of them. For settings of
//! one strategy, some of which fill the registry's link, it is the fastest that leaves room. Otherwise it is the
//! fastest. A variant for which this holds in at most half of the draws of the constants is not named as the answer.

use super::asked::Asked;
use super::decisions::{Decision, DecisionRule};
use super::details::{may_be_fastest, unfinished};
use super::groups::NamedVariant;
use super::lines::{AnswerKey, AnswerLines};
use super::load::LoadContext;
use super::ranking::{RankedTime, RankedVariant, fastest, rankable, ranked_time};
use super::room::RegistryLink;
use super::sentence::{listed, quoted, some_of};
use super::{applications, cost, left, limit_lines, load, others, releases, times, tradeoff};
use crate::report::data::{VariantResults, latest, range_of, target_of};
use crate::report::format::time;
use crate::report::limits::{AssertedLimit, exceeded, fails};
use fleetsim_units::counted;

/// Maximum number of variants that the verdict names as equally fast.
const TIES_MAX: usize = 3;
/// A variant under which no pull fails may take this factor longer than the fastest, and variants whose times differ
/// by less are named together.
const HARDLY_SLOWER: f64 = 1.05;
/// A setting with more concurrent pulls counts as slower if it takes this factor longer.
const SLOWER: f64 = 1.02;

/// The variant that a verdict chooses, and why.
pub(super) struct GroupVerdict<'a, 'v, 'r> {
    text: String,
    /// `None`: no variant can be chosen.
    pub(super) chosen: Option<&'a NamedVariant<'v, 'r>>,
    rule: DecisionRule,
}

/// The answer for the user's own variants.
pub(super) fn answer(
    own: &[NamedVariant<'_, '_>],
    limits: &[AssertedLimit],
    seed: u64,
) -> AnswerLines {
    let mut applying: Vec<AssertedLimit> = limits.to_vec();
    applying.retain(|limit| own.iter().any(|named| limit.applies_to(named.variant)));
    let ranked = rankable(own, &applying);
    let asked = Asked {
        own,
        by: ranked_time(&ranked),
        ranked: &ranked,
        limits: &applying,
        seed,
    };
    let verdict = asked.verdict();
    let mut answer = AnswerLines {
        verdict: verdict.text.clone(),
        lines: limit_lines::lines(own, verdict.chosen, &applying),
        ..AnswerLines::default()
    };
    let Some(chosen) = verdict.chosen else {
        answer.add(AnswerKey::Left, unfinished(own));
        return answer;
    };
    if releases::goes_back(chosen.variant) {
        answer.verdict = way_back(own, chosen);
    }
    let named = (own.len() > 1).then_some(chosen.label);
    answer.add(AnswerKey::Ends, releases::line(named, chosen.variant));
    answer.add(AnswerKey::Left, left::line(chosen.variant));
    let decision = asked.decision(chosen.label, verdict.rule);
    let time =
        times::line_below(&verdict.text, chosen.variant).map(|line| with_draws(line, &decision));
    let is_by_room = verdict.rule == DecisionRule::FastestWithRoom;
    answer.add(AnswerKey::Time, time);
    let context = LoadContext {
        is_room_asked: is_by_room,
        ..LoadContext::default()
    };
    answer.add(AnswerKey::Load, load::line(chosen.variant, context));
    answer.add(AnswerKey::Applications, applications::line(chosen.variant));
    let cost = cost::line(chosen, own).map(|line| at_defaults(line, chosen.variant));
    answer.add(AnswerKey::Cost, cost);
    answer.add_cause(chosen);
    let others = others::line(&asked, chosen).map(|line| at_defaults(line, chosen.variant));
    answer.add(AnswerKey::Else, others);
    answer.decision = (own.len() > 1).then_some(decision);
    answer
}

/// The verdict where runs go back to the installed revision, so that nothing is released. A variant that completes a
/// release leaves fewer targets behind and is chosen before these.
fn way_back(own: &[NamedVariant<'_, '_>], chosen: &NamedVariant<'_, '_>) -> String {
    let took = times::headline_text(chosen.variant);
    let label = chosen.label;
    if own.len() == 1 {
        return format!("`{label}` goes back to the installed revision, after {took}.");
    }
    format!(
        "The variants go back to the installed revision; `{label}` is back first, after {took}."
    )
}

impl<'a, 'v, 'r> Asked<'a, 'v, 'r> {
    fn verdict(&self) -> GroupVerdict<'a, 'v, 'r> {
        if let [only] = self.own {
            return GroupVerdict {
                text: self.of_one(only),
                chosen: Some(only),
                rule: DecisionRule::Fastest,
            };
        }
        let Some(first) = fastest(self.ranked, self.by) else {
            return GroupVerdict {
                text: "✗ No variant completes in most of its runs.".to_owned(),
                chosen: None,
                rule: DecisionRule::Fastest,
            };
        };
        if !self.limits.is_empty() {
            return self.by_limits(first);
        }
        if tradeoff::is_sweep(self.ranked)
            && let Some(verdict) = self.by_room(first)
        {
            return verdict;
        }
        if let Some(verdict) = self.by_failures(first) {
            return verdict;
        }
        GroupVerdict {
            text: self.by_time(first),
            chosen: self.named(first),
            rule: DecisionRule::Fastest,
        }
    }

    /// A variant that is about as fast as the first, and under which no pull fails. `None`: no pull of the first
    /// fails, or there is no such variant.
    fn by_failures(&self, first: &RankedVariant<'_, '_>) -> Option<GroupVerdict<'a, 'v, 'r>> {
        if most_failed_pulls(first.variant) == 0 || !first.variant.draws.is_empty() {
            return None;
        }
        let at_most = HARDLY_SLOWER * first.time(self.by);
        let mut gentle: Vec<&RankedVariant<'_, '_>> = self.ranked.iter().collect();
        gentle.retain(|other| {
            other.time(self.by) <= at_most && most_failed_pulls(other.variant) == 0
        });
        let best = gentle
            .iter()
            .min_by(|a, b| a.time(self.by).total_cmp(&b.time(self.by)))?;
        let best_s = best.time(self.by);
        let text = format!(
            "Use `{}`: {} after {}, {} later than under `{}`, and no pull fails.",
            best.label,
            times::are_ready(best.variant),
            time(best_s),
            time(best_s - first.time(self.by)),
            first.label
        );
        Some(GroupVerdict {
            text,
            chosen: self.named(best),
            rule: DecisionRule::Fastest,
        })
    }

    /// The variant with its name.
    fn named(&self, ranked: &RankedVariant<'_, '_>) -> Option<&'a NamedVariant<'v, 'r>> {
        self.own.iter().find(|named| named.at == ranked.at)
    }

    /// The verdict on the only variant.
    fn of_one(&self, only: &NamedVariant<'_, '_>) -> String {
        if !self.limits.is_empty() {
            return limit_lines::verdict_on_one(only, self.limits);
        }
        let NamedVariant { label, variant, .. } = only;
        let finished = variant.finished();
        let runs = variant.runs.len();
        if finished == 0 {
            return format!("✗ `{label}` {}.", never(variant));
        }
        if finished < runs {
            return format!(
                "✗ `{label}` completes in {finished} of {}.",
                counted(runs, "run")
            );
        }
        let reach = variant.reach();
        if !reach.is_whole() {
            return format!(
                "`{label}` leaves {} of {} {}s on the old version.",
                range_of(reach.missing),
                range_of(reach.targets),
                target_of([variant.info])
            );
        }
        let took = times::headline_text(variant);
        format!("`{label}`: {} after {took}.", times::are_ready(variant))
    }

    /// The fastest variant that meets the limits.
    fn by_limits(&self, first: &RankedVariant<'_, '_>) -> GroupVerdict<'a, 'v, 'r> {
        let meeting = self
            .own
            .iter()
            .filter(|named| exceeded(named.variant, self.limits) == 0)
            .count();
        if meeting == 0 {
            let is_open = !self
                .own
                .iter()
                .all(|named| fails(named.variant, self.limits));
            let none = if is_open {
                "? No variant is shown to meet all limits, as the runs are too few to tell"
            } else if self.limits.len() == 1 {
                "✗ No variant meets the limit"
            } else {
                "✗ No variant meets all limits"
            };
            return GroupVerdict {
                text: format!("{none}; without limits, `{}` ranks first.", first.label),
                chosen: self.named(first),
                rule: DecisionRule::Fastest,
            };
        }
        let which = limit_lines::which(self.limits);
        let all = self.own.len();
        let label = first.label;
        let rule = DecisionRule::FastestWithinLimits;
        let drawn = self.decision(label, rule).holding();
        let ranked = self.ranked.len();
        let text = if drawn.is_minority() {
            format!(
                "No variant is the fastest within the limits in most draws of the constants: `{label}`, the one at the \
                 defaults, is in {} of {}.",
                drawn.holding, drawn.draws
            )
        } else if ranked < meeting {
            format!(
                "Use `{label}`: the fastest that meets {which}, completes in the most runs and leaves the fewest behind."
            )
        } else if meeting == 1 {
            format!("Use `{label}`: the only one of {all} variants that meets {which}.")
        } else if meeting == all {
            format!("Use `{label}`: the fastest of {all} variants, which all meet {which}.")
        } else {
            format!(
                "Use `{label}`: the fastest of the {meeting} of {all} variants that meet {which}."
            )
        };
        GroupVerdict {
            text,
            chosen: self.named(first),
            rule,
        }
    }

    /// The fastest setting that leaves room on the registry's link. `None`: room does not distinguish the settings.
    fn by_room(&self, first: &RankedVariant<'_, '_>) -> Option<GroupVerdict<'a, 'v, 'r>> {
        let link = RegistryLink::of(first.variant)?;
        let mut roomy: Vec<&RankedVariant<'_, '_>> = self.ranked.iter().collect();
        roomy.retain(|ranked| link.has_room_with(ranked.variant));
        if roomy.len() == self.ranked.len() {
            return None;
        }
        let best = roomy
            .iter()
            .min_by(|a, b| a.time(self.by).total_cmp(&b.time(self.by)));
        let Some(best) = best else {
            return Some(GroupVerdict {
                text: format!(
                    "No setting leaves room on the registry's link; `{}` is the fastest.",
                    first.label
                ),
                chosen: self.named(first),
                rule: DecisionRule::Fastest,
            });
        };
        let rule = DecisionRule::FastestWithRoom;
        let drawn = self.decision(best.label, rule).holding();
        let text = if drawn.is_minority() {
            format!(
                "No setting is the fastest with room on the registry's link in most draws of the constants: `{}`, the \
                 one at the defaults, is in {} of {}.",
                best.label, drawn.holding, drawn.draws
            )
        } else {
            format!(
                "Use `{}`: the fastest setting that leaves room on the registry's link.",
                best.label
            )
        };
        Some(GroupVerdict {
            text,
            chosen: self.named(best),
            rule: DecisionRule::FastestWithRoom,
        })
    }

    /// The fastest variant.
    fn by_time(&self, first: &RankedVariant<'_, '_>) -> String {
        let label = first.label;
        let drawn = self.decision(label, DecisionRule::Fastest).holding();
        if drawn.is_minority() {
            return format!(
                "No variant is the fastest in most draws of the constants: `{label}`, the fastest at the defaults, is in \
                 {} of {}.",
                drawn.holding, drawn.draws
            );
        }
        if self.by == RankedTime::OfMost {
            let took = time(first.time(self.by));
            let most = times::most_targets(first.variant).unwrap_or_default();
            return format!(
                "`{label}` is the fastest for {most}: {took}. The last ones take about as long in all variants."
            );
        }
        let took = times::headline_text(first.variant);
        if drawn.draws == 0
            && let Some(undecided) = self.undecided(first)
        {
            return undecided;
        }
        let slower = if self.more_is_slower(first) {
            " More at once is slower."
        } else {
            ""
        };
        if tradeoff::is_sweep(self.ranked) {
            return format!(
                "Use `{label}`: the fastest of {} settings, {took}.{slower}",
                self.own.len()
            );
        }
        if !first.variant.is_whole() {
            let finished = first.variant.finished();
            let runs = counted(first.variant.runs.len(), "run");
            return format!(
                "`{label}` is the fastest to reach all that can be updated: {took}, in {finished} of {runs}."
            );
        }
        let are_ready = times::are_ready(first.variant);
        format!("`{label}` is the fastest: {are_ready} after {took}.")
    }

    /// The sentence if the runs do not show that the first variant is the fastest. `None`: they do, or it is one of
    /// many that are about as fast.
    fn undecided(&self, first: &RankedVariant<'_, '_>) -> Option<String> {
        let ties = may_be_fastest(first, self.ranked, self.seed);
        if ties.is_empty() {
            return None;
        }
        let label = first.label;
        let took = times::headline_text(first.variant);
        let slowest_s = ties
            .iter()
            .map(|tied| tied.completion_s)
            .fold(0.0, f64::max);
        let are_alike = slowest_s <= HARDLY_SLOWER * first.completion_s;
        let runs = counted(first.variant.runs.len(), "run");
        if ties.len() < TIES_MAX && are_alike {
            let mut names = vec![label];
            names.extend(ties.iter().map(|tied| tied.label));
            return Some(format!(
                "{} are the fastest, {took}; these runs do not show which is faster.",
                some_of(&quoted(names))
            ));
        }
        if ties.len() < TIES_MAX {
            let mut slower: Vec<String> = Vec::new();
            for tied in &ties {
                slower.push(format!("`{}` ({})", tied.label, time(tied.completion_s)));
            }
            return Some(format!(
                "`{label}` is ahead, {took}, but {runs} do not show that it is faster than {}.",
                listed(&slower)
            ));
        }
        let is_any_decided = ties.len() + 1 < self.ranked.len();
        (!is_any_decided && !are_alike).then(|| {
            format!(
                "`{label}` is ahead, {took}, but {runs} do not show which of {} variants is the fastest.",
                self.ranked.len()
            )
        })
    }

    /// Returns true if a setting with a higher peak of pulls takes longer.
    fn more_is_slower(&self, first: &RankedVariant<'_, '_>) -> bool {
        self.ranked.iter().any(|other| {
            other.peak > first.peak && other.time(self.by) > SLOWER * first.time(self.by)
        })
    }

    /// The decision for a variant by a rule.
    fn decision(&self, best: &str, rule: DecisionRule) -> Decision {
        Decision::of(&[best], rule, self.own, self.limits)
    }
}

/// Marks the times of a line as those with every constant at its default, if constants were drawn.
pub(super) fn at_defaults(line: String, variant: &VariantResults<'_>) -> String {
    if variant.draws.is_empty() {
        line
    } else {
        format!("at the defaults, {line}")
    }
}

/// A line with the number of draws in which the decision holds.
pub(super) fn with_draws(line: String, decision: &Decision) -> String {
    let drawn = decision.holding();
    if drawn.draws == 0 || decision.by_draw.is_empty() {
        return line;
    }
    format!(
        "{line}; the choice holds in {} of {} draws",
        drawn.holding, drawn.draws
    )
}

/// The maximum number of failed pulls in a run.
fn most_failed_pulls(variant: &VariantResults<'_>) -> u64 {
    let failed = variant.runs.iter().map(|run| run.failed_pulls);
    failed.max().unwrap_or(0)
}

/// `never completes`, or the time after which it is still incomplete.
fn never(variant: &VariantResults<'_>) -> String {
    let runs = &variant.runs;
    let left: u64 = runs.iter().map(|run| run.left_on_old()).sum();
    match latest(runs).as_str() {
        "never" => "never completes".to_owned(),
        later if left > 0 => format!("needs {later}"),
        later => format!("takes {later}"),
    }
}
