//! The limits that the experiment asserts: which variants meet them, a line for each limit.

use super::groups::NamedVariant;
use super::lines::{AnswerKey, AnswerLine};
use crate::report::format::in_unit;
use crate::report::limits::{AssertedLimit, exceeded, fails};
use crate::results::Verdict;
use fleetsim_units::counted;

/// `the limit`, `both limits`, `all 3 limits`.
pub(super) fn which(limits: &[AssertedLimit]) -> String {
    match limits.len() {
        1 => "the limit".to_owned(),
        2 => "both limits".to_owned(),
        more => format!("all {more} limits"),
    }
}

/// The verdict on the only variant.
pub(super) fn verdict_on_one(only: &NamedVariant<'_, '_>, limits: &[AssertedLimit]) -> String {
    let NamedVariant { label, variant, .. } = only;
    let all = limits.len();
    let missed = exceeded(variant, limits);
    if missed == 0 {
        return format!("✓ `{label}` meets {}.", which(limits));
    }
    let of_all = match (missed, all) {
        (1, 1) => "the limit".to_owned(),
        (missed, all) if missed == all => which(limits),
        (missed, all) => format!("{missed} of {all} limits"),
    };
    if fails(variant, limits) {
        format!("✗ `{label}` misses {of_all}.")
    } else {
        format!("? `{label}` is not shown to meet {of_all}: the runs are too few to tell.")
    }
}

/// A line for each limit: the value of the chosen variant, or how many meet it and the closest one.
pub(super) fn lines(
    own: &[NamedVariant<'_, '_>],
    chosen: Option<&NamedVariant<'_, '_>>,
    limits: &[AssertedLimit],
) -> Vec<AnswerLine> {
    let mut lines = Vec::new();
    for limit in limits {
        lines.extend(line(own, chosen, limit));
    }
    lines
}

/// The line of one limit. `None`: it applies to no variant.
fn line(
    own: &[NamedVariant<'_, '_>],
    chosen: Option<&NamedVariant<'_, '_>>,
    limit: &AssertedLimit,
) -> Option<AnswerLine> {
    let mut judged: Vec<JudgedVariant<'_, '_, '_>> = Vec::new();
    for named in own {
        if let Some(verdict) = limit.judge(named.variant) {
            judged.push(JudgedVariant { named, verdict });
        }
    }
    let all = judged.len();
    let meeting = judged.iter().filter(|one| one.verdict.holds).count();
    let shown = chosen
        .and_then(|chosen| judged.iter().find(|one| one.named.at == chosen.at))
        .or_else(|| closest(limit, &judged))?;
    let JudgedVariant { named, verdict } = if meeting == 0 {
        closest(limit, &judged)?
    } else {
        shown
    };
    let value = in_unit(verdict.value, limit.limit.unit());
    let runs = counted(named.variant.runs.len(), "run");
    let beyond = verdict.runs_beyond;
    let outside = if beyond > 0 {
        format!(", {beyond} of {runs} outside")
    } else {
        String::new()
    };
    let text = if all == 1 {
        format!("{}: {value}{outside}", limit.limit)
    } else if meeting == 0 {
        format!(
            "{}: closest `{}`, {value}{outside}",
            limit.limit, named.label
        )
    } else {
        format!("{}: {value}, met by {meeting} of {all}", limit.limit)
    };
    Some(AnswerLine {
        key: key(*verdict, meeting),
        text,
    })
}

/// The mark of a limit with this verdict on the variant that is shown.
fn key(verdict: Verdict, meeting: usize) -> AnswerKey {
    if verdict.holds {
        AnswerKey::Met
    } else if verdict.is_undecided() && meeting == 0 {
        AnswerKey::Open
    } else {
        AnswerKey::Missed
    }
}

/// A variant with the verdict on one limit.
struct JudgedVariant<'a, 'v, 'r> {
    named: &'a NamedVariant<'v, 'r>,
    verdict: Verdict,
}

/// The variant that comes closest to a limit, of those that were judged.
fn closest<'j, 'a, 'v, 'r>(
    limit: &AssertedLimit,
    judged: &'j [JudgedVariant<'a, 'v, 'r>],
) -> Option<&'j JudgedVariant<'a, 'v, 'r>> {
    judged.iter().min_by(|a, b| {
        let outside = a.verdict.runs_beyond.cmp(&b.verdict.runs_beyond);
        outside.then_with(|| {
            let excess_a = mean_excess(limit, a.named);
            let excess_b = mean_excess(limit, b.named);
            excess_a.total_cmp(&excess_b)
        })
    })
}

/// The mean amount by which the runs of a variant exceed a limit.
fn mean_excess(limit: &AssertedLimit, named: &NamedVariant<'_, '_>) -> f64 {
    let runs = &named.variant.runs;
    let excess: f64 = runs.iter().map(|run| limit.limit.excess(run)).sum();
    excess / runs.len().max(1) as f64
}
