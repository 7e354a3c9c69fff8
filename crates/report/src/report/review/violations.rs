//! The limits that the new version of an experiment exceeds: new violations, and those that the old version had
//! already.
//!
//! The old version had a violation if it asserts the same limit and its variant exceeds it, too. A limit that is new,
//! or stricter than before, is a new violation. Runs that are too few to decide count as a violation in both versions,
//! as in `fleetsim run`.

use serde::Serialize;

use super::pairs::Paired;
use crate::report::data::{Results, VariantResults};
use crate::report::limits::{AssertedLimit, JudgedLimit};

/// A limit that a variant of the new version exceeds, or is not shown to meet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ViolationReview {
    /// The limit as written.
    pub(super) limit: String,
    /// The variant in the new version.
    pub(super) variant: String,
    /// The variant's value and runs: `27 pulls; 6 of 6 runs outside the limit`.
    pub(super) value: String,
    /// Whether the runs are too few to decide.
    pub(super) is_undecided: bool,
    /// Value and runs of the old version, which violates the same limit. `None`: the violation is new.
    pub(super) before: Option<String>,
}

/// The violations of the new version, the new ones first.
pub(super) fn violations(
    old: &Results,
    news: &[VariantResults<'_>],
    new: &Results,
    paired: &Paired<'_, '_>,
) -> Vec<ViolationReview> {
    let old_limits = AssertedLimit::all(old);
    let mut found = Vec::new();
    for judged in JudgedLimit::all(new, news) {
        for &(variant, verdict) in &judged.verdicts {
            if verdict.holds {
                continue;
            }
            let earlier = paired
                .pairs
                .iter()
                .find(|(_, new)| new.name() == variant.name());
            let earlier = earlier.and_then(|(old, _)| earlier_value(&old_limits, &judged, old));
            found.push(ViolationReview {
                limit: judged.asserted.limit.to_string(),
                variant: variant.name().to_owned(),
                value: judged.in_words(variant, verdict).0,
                is_undecided: verdict.is_undecided(),
                before: earlier,
            });
        }
    }
    found.sort_by_key(|violation| violation.before.is_some());
    found
}

/// The value and runs of the old version, if it asserts and violates the same limit.
fn earlier_value(
    old_limits: &[AssertedLimit],
    judged: &JudgedLimit<'_, '_>,
    old: &VariantResults<'_>,
) -> Option<String> {
    let limit = judged.asserted.limit.to_string();
    let mut asserted = old_limits.iter();
    let own = asserted.find(|other| other.applies_to(old) && other.limit.to_string() == limit)?;
    let verdict = own.judge(old)?;
    (!verdict.holds).then(|| judged.in_words(old, verdict).0)
}

impl ViolationReview {
    /// Returns whether the old version meets the limit, or does not assert it.
    pub(super) const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// `exceeds` or `is not shown to meet`.
    pub(super) const fn verb(&self) -> &'static str {
        if self.is_undecided {
            "is not shown to meet"
        } else {
            "exceeds"
        }
    }

    /// `new: `a` exceeds `peak_pulls <= 20`: 27 pulls; 6 of 6 runs outside the limit`.
    pub(super) fn in_words(&self) -> String {
        let Self {
            limit,
            variant,
            value,
            ..
        } = self;
        let verb = self.verb();
        match &self.before {
            None => format!("new: `{variant}` {verb} `{limit}`: {value}"),
            Some(before) => {
                format!("as before: `{variant}` {verb} `{limit}`: {value} (before: {before})")
            }
        }
    }
}
