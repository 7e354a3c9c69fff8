//! Checks whether results meet the limits that the experiment asserts.

use super::answer::sentence::listed;
use super::data::{Results, VariantResults};
use super::format::in_unit;
use super::wrap::letters;
use crate::results::{Limit, RunRow, ShareVerdict, Verdict};
use fleetsim_units::counted;

/// A limit that the experiment asserts.
#[derive(Clone, Debug)]
pub(super) struct AssertedLimit {
    pub(super) limit: Limit,
    /// The strategy that the limit applies to. `None`: all strategies.
    pub(super) strategy: Option<String>,
}

impl AssertedLimit {
    /// The limits that the answer is about: those that the experiment asserts, or, if it asserts none, those of its
    /// plan.
    pub(super) fn of_answer(results: &Results) -> Vec<Self> {
        let asserted = Self::all(results);
        if !asserted.is_empty() {
            return asserted;
        }
        let mut limits = Vec::new();
        for aim in &results.provenance.aims {
            if let Ok(limit) = Limit::parse(aim) {
                let strategy = None;
                limits.push(Self { limit, strategy });
            }
        }
        limits
    }

    /// All limits of the experiment. A limit that another version of the program wrote, and that this one cannot read,
    /// is left out.
    pub(super) fn all(results: &Results) -> Vec<Self> {
        let mut limits = Vec::new();
        for info in &results.provenance.limits {
            if let Ok(limit) = Limit::parse(&info.limit) {
                let strategy = info.strategy.clone();
                limits.push(Self { limit, strategy });
            }
        }
        limits
    }

    /// Returns whether the limit applies to a variant.
    pub(super) fn applies_to(&self, variant: &VariantResults<'_>) -> bool {
        match &self.strategy {
            Some(strategy) => variant.info.strategy == *strategy,
            None => true,
        }
    }

    /// Compares a variant's runs with the limit. `None` if the limit is for another strategy.
    pub(super) fn judge(&self, variant: &VariantResults<'_>) -> Option<Verdict> {
        self.applies_to(variant)
            .then(|| self.limit.judge(&variant.runs))
    }

    /// Returns whether a single run of a variant meets the limit; true if the limit is for another strategy.
    pub(super) fn holds_in(&self, variant: &VariantResults<'_>, run: &RunRow) -> bool {
        !self.applies_to(variant) || self.limit.excess(run) <= 0.0
    }

    /// A judged value with its unit.
    pub(super) fn value(&self, verdict: Verdict) -> String {
        in_unit(verdict.value, self.limit.unit())
    }
}

/// A limit with the verdict on each variant that it applies to.
pub(super) struct JudgedLimit<'v, 'r> {
    pub(super) asserted: AssertedLimit,
    pub(super) verdicts: Vec<(&'v VariantResults<'r>, Verdict)>,
}

impl<'v, 'r> JudgedLimit<'v, 'r> {
    /// All limits of the experiment.
    pub(super) fn all(results: &Results, variants: &'v [VariantResults<'r>]) -> Vec<Self> {
        let mut judged = Vec::new();
        for asserted in AssertedLimit::all(results) {
            let mut verdicts = Vec::new();
            for variant in variants {
                if let Some(verdict) = asserted.judge(variant) {
                    verdicts.push((variant, verdict));
                }
            }
            judged.push(Self { asserted, verdicts });
        }
        judged
    }

    /// Returns whether all variants meet the limit.
    pub(super) fn holds(&self) -> bool {
        self.verdicts.iter().all(|(_, verdict)| verdict.holds)
    }

    /// `40.0 min; 3 of 20 runs outside the limit`; for a limit on a share of all runs, also the estimate of that
    /// share.
    pub(super) fn in_words(
        &self,
        variant: &VariantResults<'_>,
        verdict: Verdict,
    ) -> (String, Option<String>) {
        let value = self.asserted.value(verdict);
        let outside = verdict.runs_beyond;
        let runs = counted(variant.runs.len(), "run");
        (
            format!("{value}; {outside} of {runs} outside the limit"),
            verdict.share.map(share_in_words),
        )
    }
}

/// `of all runs, 75.1–99.9% meet the limit`, and the number of runs needed to show that it holds.
fn share_in_words(verdict: ShareVerdict) -> String {
    let needed = match verdict.runs_needed {
        Some(runs) => format!("; {runs} runs show that it holds if no further one is outside"),
        None => String::new(),
    };
    format!(
        "of all runs, {}–{} meet the limit{needed}",
        percent_down(verdict.share.low),
        percent_up(verdict.share.high)
    )
}

/// A percentage with one decimal, rounded down.
fn percent_down(share: f64) -> String {
    format!("{}%", (share * 1000.0 + 1e-9).floor() / 10.0)
}

/// A percentage with one decimal, rounded up.
fn percent_up(share: f64) -> String {
    format!("{}%", (share * 1000.0 - 1e-9).ceil() / 10.0)
}

/// The limits with which single runs are compared: `all`, or a list in which a limit on a share of all runs is
/// replaced by its limit on a single run.
pub(super) fn of_single_runs(limits: &[&Limit], all: &str) -> String {
    let singles: Vec<Option<String>> = limits.iter().map(|limit| limit.of_single_run()).collect();
    if singles.iter().all(Option::is_none) {
        return all.to_owned();
    }
    let mut texts: Vec<String> = Vec::new();
    for (single, limit) in singles.into_iter().zip(limits) {
        texts.push(single.unwrap_or_else(|| limit.to_string()));
    }
    listed(&texts)
}

/// The number of limits that a variant exceeds, or whose verdict is open because the variant has too few runs.
pub(super) fn exceeded(variant: &VariantResults<'_>, limits: &[AssertedLimit]) -> usize {
    limits
        .iter()
        .filter(|limit| limit.judge(variant).is_some_and(|verdict| !verdict.holds))
        .count()
}

/// Returns true if the runs of a variant show that it misses a limit, however few they are.
pub(super) fn fails(variant: &VariantResults<'_>, limits: &[AssertedLimit]) -> bool {
    limits.iter().any(|limit| match limit.judge(variant) {
        Some(verdict) => !verdict.holds && !verdict.is_undecided(),
        None => false,
    })
}

/// The mark of a limit that holds, is undecided, or fails.
pub(super) const fn mark<T: Copy>(
    holds: bool,
    is_undecided: bool,
    [held, undecided, failed]: [T; 3],
) -> T {
    match (holds, is_undecided) {
        (true, _) => held,
        (false, true) => undecided,
        (false, false) => failed,
    }
}

/// Returns whether all asserted limits are met, and a report for each limit and variant; empty without limits.
#[must_use]
pub fn verdicts(results: &Results) -> (bool, String) {
    let variants = results.variants();
    let judged = JudgedLimit::all(results, &variants);
    let mut text = String::new();
    for limit in &judged {
        let fails = limit
            .verdicts
            .iter()
            .any(|(_, verdict)| !verdict.holds && !verdict.is_undecided());
        let holds = mark(limit.holds(), !fails, ["holds", "UNDECIDED", "FAILS"]);
        text.push_str(&format!("\nassert {}: {holds}\n", limit.asserted.limit));
        let names = limit.verdicts.iter().map(|(variant, _)| variant.name());
        let width = names.map(letters).max().unwrap_or(0);
        for &(variant, verdict) in &limit.verdicts {
            let mark = mark(
                verdict.holds,
                verdict.is_undecided(),
                ["ok  ", "?   ", "FAIL"],
            );
            let (words, why) = limit.in_words(variant, verdict);
            text.push_str(&format!("  {mark}  {:width$}  {words}\n", variant.name()));
            if let Some(why) = why {
                text.push_str(&format!("        {why}\n"));
            }
        }
    }
    (judged.iter().all(JudgedLimit::holds), text)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;
    use crate::results::LimitInfo;

    #[test]
    fn a_limit_on_a_share_of_runs_becomes_its_limit_on_a_single_run() {
        let of = |limits: &[&str]| {
            let limits: Vec<Limit> = limits
                .iter()
                .map(|limit| Limit::parse(limit).expect("a limit"))
                .collect();
            of_single_runs(&limits.iter().collect::<Vec<_>>(), "all limits")
        };
        assert_eq!(of(&["peak_pulls < 5", "completion_p95 < 1h"]), "all limits");
        assert_eq!(
            of(&["peak_pulls < 5", "P(completion < 1h) >= 50%"]),
            "peak_pulls < 5 and completion < 1h"
        );
    }

    #[test]
    fn the_verdict_fails_if_one_variant_fails() {
        let home = tempfile::tempdir().expect("a temporary folder");
        synthetic::six_settings().publish(&home.path().join("results"));
        let mut results = Results::read(&home.path().join("results")).expect("readable");
        let (first, strategy) = {
            let variants = results.variants();
            (
                variants[0].name().to_owned(),
                variants[0].info.strategy.clone(),
            )
        };
        let mut verdicts_of = |limits: &[(&str, Option<&String>)]| {
            let info = |(limit, strategy): &(&str, Option<&String>)| LimitInfo {
                limit: (*limit).to_owned(),
                strategy: strategy.cloned(),
            };
            results.provenance.limits = limits.iter().map(info).collect();
            verdicts(&results)
        };
        assert_eq!(verdicts_of(&[]), (true, String::new()));
        let (all, text) = verdicts_of(&[("peak_pulls >= 0", None)]);
        assert!(
            all && text.starts_with("\nassert peak_pulls >= 0: holds\n  ok    "),
            "{text}"
        );
        let (all, text) = verdicts_of(&[("P(peak_pulls >= 0) >= 95%", Some(&strategy))]);
        assert!(
            !all && text.contains("assert P(peak_pulls >= 0) >= 95%: UNDECIDED\n  ?   "),
            "{text}"
        );
        assert!(
            text.contains("–100% meet the limit; 59 runs show that it holds"),
            "{text}"
        );
        let (all, text) = verdicts_of(&[
            ("peak_pulls >= 0", None),
            ("peak_pulls < 0", Some(&strategy)),
        ]);
        assert!(
            !all && text.contains(&format!("assert peak_pulls < 0: FAILS\n  FAIL  {first}")),
            "{text}"
        );
    }
}
