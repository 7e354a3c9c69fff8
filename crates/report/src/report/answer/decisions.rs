//! The decision in each draw of the constants: the variant that the rule of the verdict would have chosen there.
//!
//! The table is `decisions-by-draw.csv`. A decision that holds in few draws depends on constants that nobody knows.

use super::alike::are_alike;
use super::groups::NamedVariant;
use super::room::RegistryLink;
use crate::report::limits::AssertedLimit;
use crate::results::{DrawDecisionRow, RunRow};

/// The rule by which a verdict chooses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::report) enum DecisionRule {
    /// The fastest variant of those that leave the fewest targets behind.
    Fastest,
    /// The fastest variant of those that leave room on the registry's link.
    FastestWithRoom,
    /// The fastest variant of those that meet the limits.
    FastestWithinLimits,
    /// Of the choices that leave the fewest targets behind and take about as long as the fastest, those whose
    /// registry sends the least.
    FastestChoice,
    /// The same, of those that meet the limits.
    FastestChoiceWithinLimits,
    /// What people have, where it meets the limits.
    EnoughForLimits,
    /// The variant with the fewest exposed clusters.
    FewestExposed,
}

impl DecisionRule {
    /// Returns true if choices that take about as long are told apart by the bytes that the registry sends.
    const fn is_of_choices(self) -> bool {
        matches!(
            self,
            Self::FastestChoice | Self::FastestChoiceWithinLimits | Self::EnoughForLimits
        )
    }

    /// The name of the rule in the table.
    const fn name(self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::FastestWithRoom => "fastest with room on the registry's link",
            Self::FastestWithinLimits => "fastest within the limits",
            Self::FastestChoice => "fastest choice",
            Self::FastestChoiceWithinLimits => "fastest choice within the limits",
            Self::EnoughForLimits => "the first choice, if it meets the limits",
            Self::FewestExposed => "fewest exposed",
        }
    }
}

/// The decision of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct Decision {
    /// The names of the variants that are best.
    pub(in crate::report) best: Vec<String>,
    pub(in crate::report) rule: DecisionRule,
    /// The best variants of each draw. Empty if constants were not drawn.
    pub(in crate::report) by_draw: Vec<DrawDecision>,
}

/// The best variants of one draw.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct DrawDecision {
    pub(in crate::report) draw: u32,
    /// The names of the variants. Empty if no variant fulfils the rule.
    pub(in crate::report) best: Vec<String>,
}

/// The number of draws in which a decision holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct DrawsHolding {
    pub(super) holding: usize,
    /// The number of all draws; 0 if constants were not drawn.
    pub(super) draws: usize,
}

impl DrawsHolding {
    /// Returns true if a decision holds in fewer than half of the draws.
    pub(super) const fn is_minority(self) -> bool {
        2 * self.holding < self.draws
    }
}

impl Decision {
    /// The decision for `best`, and that of the same rule in each draw.
    pub(super) fn of(
        best: &[&str],
        rule: DecisionRule,
        all: &[NamedVariant<'_, '_>],
        limits: &[AssertedLimit],
    ) -> Self {
        let mut draws: Vec<u32> = Vec::new();
        for named in all {
            draws.extend(named.variant.draws.iter().map(|run| run.replicate));
        }
        draws.sort_unstable();
        draws.dedup();
        let mut by_draw = Vec::new();
        for draw in draws {
            by_draw.push(DrawDecision {
                draw,
                best: best_of_draw(rule, &runs_of_draw(all, draw), limits),
            });
        }
        Self {
            best: best.iter().map(|&name| name.to_owned()).collect(),
            rule,
            by_draw,
        }
    }

    /// The number of draws in which the first of the best is one of the best.
    pub(super) fn holding(&self) -> DrawsHolding {
        let holding = self.by_draw.iter().filter(|draw| self.holds_in(draw));
        DrawsHolding {
            holding: holding.count(),
            draws: self.by_draw.len(),
        }
    }

    /// Returns true if the first of the best is one of the best of a draw.
    fn holds_in(&self, draw: &DrawDecision) -> bool {
        match self.best.first() {
            Some(first) => draw.best.contains(first),
            None => draw.best.is_empty(),
        }
    }
}

/// A variant's run with the constants of a draw.
struct DrawnRun<'v, 'r> {
    named: NamedVariant<'v, 'r>,
    run: &'r RunRow,
}

impl DrawnRun<'_, '_> {
    /// Returns the number of targets that the run leaves behind, beyond those that the experiment allows.
    fn left(&self) -> u64 {
        self.named.variant.allowed_left.beyond(self.run)
    }
}

/// The runs of one draw.
fn runs_of_draw<'v, 'r>(all: &[NamedVariant<'v, 'r>], draw: u32) -> Vec<DrawnRun<'v, 'r>> {
    let mut runs = Vec::new();
    for &named in all {
        let mut drawn = named.variant.draws.iter().copied();
        if let Some(run) = drawn.find(|run| run.replicate == draw) {
            runs.push(DrawnRun { named, run });
        }
    }
    runs
}

/// The names of the best of some runs; empty if no run fulfils the rule.
fn best_of_draw(
    rule: DecisionRule,
    runs: &[DrawnRun<'_, '_>],
    limits: &[AssertedLimit],
) -> Vec<String> {
    if rule == DecisionRule::FewestExposed {
        let fewest = runs.iter().map(|drawn| drawn.run.exposed_targets).min();
        return names_of(runs, |run| Some(run.exposed_targets) == fewest);
    }
    let mut eligible: Vec<&DrawnRun<'_, '_>> = Vec::new();
    for drawn in runs {
        if drawn.run.is_done() && fulfils(rule, drawn, limits) {
            eligible.push(drawn);
        }
    }
    let fewest = eligible.iter().map(|drawn| drawn.left()).min();
    eligible.retain(|drawn| Some(drawn.left()) == fewest);
    if let Some(first) = runs.first()
        && rule == DecisionRule::EnoughForLimits
    {
        eligible.retain(|drawn| drawn.named.label == first.named.label);
    }
    let least = least_of(&eligible, ready);
    if rule.is_of_choices() {
        eligible.retain(|drawn| are_alike(ready(drawn.run), least));
        let least_sent = least_of(&eligible, sent);
        eligible.retain(|drawn| are_alike(sent(drawn.run), least_sent));
    } else {
        eligible.retain(|drawn| ready(drawn.run) <= least);
    }
    let mut names: Vec<String> = Vec::new();
    for drawn in eligible {
        let name = drawn.named.label.to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The least value of some runs.
fn least_of(runs: &[&DrawnRun<'_, '_>], of: fn(&RunRow) -> f64) -> f64 {
    let values = runs.iter().map(|drawn| of(drawn.run));
    values.fold(f64::INFINITY, f64::min)
}

/// The names of the runs that `is_best` picks, each once.
fn names_of(runs: &[DrawnRun<'_, '_>], is_best: impl Fn(&RunRow) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for drawn in runs {
        let name = drawn.named.label.to_owned();
        if is_best(drawn.run) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns true if a run fulfils the condition of a rule.
fn fulfils(rule: DecisionRule, drawn: &DrawnRun<'_, '_>, limits: &[AssertedLimit]) -> bool {
    let variant = drawn.named.variant;
    match rule {
        DecisionRule::FastestWithRoom => match RegistryLink::of(variant) {
            Some(link) => link.has_room_in(drawn.run),
            None => true,
        },
        DecisionRule::FastestWithinLimits
        | DecisionRule::FastestChoiceWithinLimits
        | DecisionRule::EnoughForLimits => limits
            .iter()
            .all(|limit| limit.holds_in(variant, drawn.run)),
        DecisionRule::Fastest | DecisionRule::FastestChoice | DecisionRule::FewestExposed => true,
    }
}

/// The bytes that the registry sent in a run.
fn sent(run: &RunRow) -> f64 {
    run.egress_bytes as f64
}

/// The time of a run; infinite if it did not complete.
fn ready(run: &RunRow) -> f64 {
    run.reachable_ready_s.unwrap_or(f64::INFINITY)
}

impl Decision {
    /// The rows of a question.
    pub(in crate::report) fn rows(&self, question: &str) -> Vec<DrawDecisionRow> {
        let mut rows = Vec::new();
        for draw in &self.by_draw {
            rows.push(DrawDecisionRow {
                question: question.to_owned(),
                rule: self.rule.name().to_owned(),
                draw: draw.draw,
                decision: draw.best.join("; "),
                at_defaults: self.best.first().cloned().unwrap_or_default(),
                holds: self.holds_in(draw),
            });
        }
        rows
    }
}
