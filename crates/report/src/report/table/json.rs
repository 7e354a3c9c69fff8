//! The comparison as JSON, for programs.

use serde::Serialize;

use crate::report::answer::bound;
use crate::report::data::{Results, VariantResults};
use crate::report::limits::{AssertedLimit, JudgedLimit};
use crate::results::{Measure, READY_TIME, SummaryRow, UncertaintyRow, Verdict};
use fleetsim_units::serial::Ordered;

/// The version of the JSON form; raised when a field changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 2;

/// The measures whose medians are included.
const MEDIANS: [Measure; 15] = [
    READY_TIME,
    Measure::Completion,
    Measure::Targets,
    Measure::ReachableTargets,
    Measure::PausedTargets,
    Measure::AgentlessTargets,
    Measure::OfflineTargets,
    Measure::PeakPulls,
    Measure::EgressPeak1s,
    Measure::EgressBusyShare,
    Measure::EgressBytes,
    Measure::FailedPulls,
    Measure::Responses429,
    Measure::PeakNotReady,
    Measure::Cost,
];

/// Reads a value of a row of the summary.
type SummaryValue = fn(&SummaryRow) -> Option<f64>;

/// The ends of ranges: the measure, the name, and the value.
const ENDS: [(Measure, &str, SummaryValue); 4] = [
    (READY_TIME, "reachable_ready_median_ci95_low_s", |row| {
        row.median_ci95_low
    }),
    (READY_TIME, "reachable_ready_median_ci95_high_s", |row| {
        row.median_ci95_high
    }),
    (Measure::PeakPulls, "peak_pulls_p5", |row| row.p5),
    (Measure::PeakPulls, "peak_pulls_p95", |row| row.p95),
];

/// The JSON form of the comparison.
#[derive(Debug, Serialize)]
struct ComparisonJson<'r> {
    schema_version: u32,
    experiment: &'r str,
    seed: u64,
    command: &'r str,
    variants: Vec<VariantJson<'r>>,
    /// The intervals from random numbers only, and those that also cover unknown constants; left out if constants were
    /// not drawn.
    #[serde(skip_serializing_if = "<[UncertaintyRow]>::is_empty")]
    uncertainty: &'r [UncertaintyRow],
    assertions: Vec<AssertionJson>,
}

/// An asserted limit in the JSON form.
#[derive(Debug, Serialize)]
struct AssertionJson {
    limit: String,
    /// The strategy that the limit applies to; `null` for all strategies.
    strategy: Option<String>,
    holds: bool,
    variants: Vec<VerdictJson>,
}

/// The verdict on one variant in the JSON form.
#[derive(Debug, Serialize)]
struct VerdictJson {
    variant: String,
    holds: bool,
    /// The compared value; `null` for a time that was never reached.
    value: Option<f64>,
    unit: String,
    runs: usize,
    runs_outside: usize,
}

/// One variant in the JSON form: medians over runs; `null` if no run has the measure.
#[derive(Debug, Serialize)]
struct VariantJson<'r> {
    variant: &'r str,
    strategy: &'r str,
    setting: &'r str,
    runs: usize,
    finished: usize,
    held_by: Option<&'r str>,
    held_detail: Option<&'r str>,
    /// The currency of the cost, if there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'r str>,
    /// What holds the variant back, if it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<String>,
    /// Measures by name.
    #[serde(flatten)]
    measures: Ordered<Option<f64>>,
}

/// The comparison as JSON: `schema_version`, the experiment, and one object per variant.
#[must_use]
pub fn json(results: &Results) -> String {
    let variants = results.variants();
    let comparison = ComparisonJson {
        schema_version: SCHEMA_VERSION,
        experiment: &results.provenance.experiment,
        seed: results.provenance.seed,
        command: &results.provenance.command,
        variants: variants.iter().map(row).collect(),
        assertions: JudgedLimit::all(results, &variants)
            .iter()
            .map(assertion)
            .collect(),
        uncertainty: &results.uncertainty,
    };
    let mut text = serde_json::to_string_pretty(&comparison)
        .expect("plain fields with text keys are always JSON");
    text.push('\n');
    text
}

fn assertion(judged: &JudgedLimit<'_, '_>) -> AssertionJson {
    let AssertedLimit { limit, strategy } = &judged.asserted;
    let verdict = |&(variant, verdict): &(&VariantResults<'_>, Verdict)| VerdictJson {
        variant: variant.name().to_owned(),
        holds: verdict.holds,
        value: verdict.value.is_finite().then_some(verdict.value),
        unit: limit.unit().to_owned(),
        runs: variant.runs.len(),
        runs_outside: verdict.runs_beyond,
    };
    AssertionJson {
        limit: limit.to_string(),
        strategy: strategy.clone(),
        holds: judged.holds(),
        variants: judged.verdicts.iter().map(verdict).collect(),
    }
}

fn row<'r>(variant: &VariantResults<'r>) -> VariantJson<'r> {
    let info = variant.info;
    let mut measures: Vec<(String, Option<f64>)> = Vec::new();
    for median in MEDIANS {
        if median.is_own() && variant.summary(median).is_none() {
            continue;
        }
        measures.push((median.to_string(), variant.median(median)));
        let ends = ENDS.iter().filter(|(measure, ..)| *measure == median);
        measures.extend(
            ends.map(|(_, end, of)| ((*end).to_owned(), variant.summary(median).and_then(of))),
        );
    }
    VariantJson {
        variant: &info.variant,
        strategy: &info.strategy,
        setting: &info.setting,
        runs: variant.runs.len(),
        finished: variant.finished(),
        held_by: variant.unfinished().map(|run| run.held_by.as_str()),
        held_detail: variant.unfinished().map(|run| run.held_detail.as_str()),
        currency: variant
            .summary(Measure::Cost)
            .map(|_| Measure::Cost.unit_in(variant.runs.iter().copied())),
        bound: bound::line(variant),
        measures: Ordered(measures),
    }
}
