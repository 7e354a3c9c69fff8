//! The comparison as JSON, for programs.

use serde::Serialize;

use crate::report::data::{Results, VariantResults};

/// The version of the JSON form; raised when a field changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON form of the comparison.
#[derive(Debug, Serialize)]
struct ComparisonJson<'r> {
    schema_version: u32,
    experiment: &'r str,
    seed: u64,
    command: &'r str,
    variants: Vec<VariantJson<'r>>,
}

/// One variant in the JSON form: medians over runs; `null` where no run has the measure.
#[derive(Debug, Serialize)]
struct VariantJson<'r> {
    variant: &'r str,
    strategy: &'r str,
    setting: &'r str,
    runs: usize,
    finished: usize,
    held_by: Option<&'r str>,
    completion_s: Option<f64>,
    completion_median_ci95_low_s: Option<f64>,
    completion_median_ci95_high_s: Option<f64>,
    peak_pulls: Option<f64>,
    peak_pulls_p5: Option<f64>,
    peak_pulls_p95: Option<f64>,
    egress_peak_1s_bytes_per_s: Option<f64>,
    egress_busy_share: Option<f64>,
    egress_bytes: Option<f64>,
    failed_pulls: Option<f64>,
    responses_429: Option<f64>,
    peak_not_ready: Option<f64>,
}

/// The comparison as JSON: `schema_version`, the experiment, and one object a variant.
#[must_use]
pub fn json(results: &Results) -> String {
    let comparison = ComparisonJson {
        schema_version: SCHEMA_VERSION,
        experiment: &results.provenance.experiment,
        seed: results.provenance.seed,
        command: &results.provenance.command,
        variants: results.variants().iter().map(row).collect(),
    };
    let mut text = serde_json::to_string_pretty(&comparison).expect("plain fields with text keys are always JSON");
    text.push('\n');
    text
}

fn row<'r>(variant: &VariantResults<'r>) -> VariantJson<'r> {
    let info = variant.info;
    let completion = variant.summary("completion_s");
    let pulls = variant.summary("peak_pulls");
    VariantJson {
        variant: &info.variant,
        strategy: &info.strategy,
        setting: &info.setting,
        runs: variant.runs.len(),
        finished: variant.finished(),
        held_by: variant.unfinished().map(|(_, held_by)| held_by),
        completion_s: completion.and_then(|row| row.median),
        completion_median_ci95_low_s: completion.and_then(|row| row.median_ci95_low),
        completion_median_ci95_high_s: completion.and_then(|row| row.median_ci95_high),
        peak_pulls: pulls.and_then(|row| row.median),
        peak_pulls_p5: pulls.and_then(|row| row.p5),
        peak_pulls_p95: pulls.and_then(|row| row.p95),
        egress_peak_1s_bytes_per_s: variant.median("egress_peak_1s_bytes_per_s"),
        egress_busy_share: variant.median("egress_busy_share"),
        egress_bytes: variant.median("egress_bytes"),
        failed_pulls: variant.median("failed_pulls"),
        responses_429: variant.median("responses_429"),
        peak_not_ready: variant.median("peak_not_ready"),
    }
}
