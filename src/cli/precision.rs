//! The precision that a study reached, as text and for the provenance of its results.

use std::collections::BTreeMap;

use fleetsim::results::{PrecisionAsked, PrecisionFound, VariantRecord};
use fleetsim::scenario::Precision;
use fleetsim::study::{MeasurePrecision, judge};
use itertools::Itertools;

/// Returns the requested precision, for the provenance.
pub(super) fn asked(precision: &Precision) -> PrecisionAsked {
    let measures = precision.of.iter();
    PrecisionAsked {
        to: precision.to.get(),
        of: measures.map(ToString::to_string).collect(),
        max: precision.max,
    }
}

/// Returns the precision of each variant, and a text that reports it.
pub(super) fn found(
    precision: &Precision,
    variants: &[VariantRecord],
    seed: u64,
) -> (Vec<PrecisionFound>, String) {
    let mut found = Vec::new();
    let mut rest = String::new();
    for variant in variants {
        let judged = judge(precision, &variant.runs, seed);
        let runs = variant.runs.len() as u32;
        let mut half_widths = BTreeMap::new();
        let mut open = Vec::new();
        for judged in &judged {
            half_widths.insert(judged.measure.to_string(), judged.half_width);
            if !judged.is_precise {
                open.push(in_words(judged, runs));
            }
        }
        if !open.is_empty() {
            rest.push_str(&format!(
                "  not reached by {} in {runs} runs: {}\n",
                variant.variant,
                open.join(", ")
            ));
        }
        found.push(PrecisionFound {
            runs,
            reached: open.is_empty(),
            half_widths,
        });
    }
    let text = summary(precision, &found) + &rest;
    (found, text)
}

/// Lists the measures that must be precise.
pub(super) fn measures(precision: &Precision) -> String {
    precision.of.iter().join(" and ")
}

fn summary(precision: &Precision, found: &[PrecisionFound]) -> String {
    let runs = found.iter().map(|found| found.runs);
    let each = match runs.minmax().into_option() {
        None => "0".to_owned(),
        Some((least, most)) if least == most => least.to_string(),
        Some((least, most)) => format!("{least}–{most}"),
    };
    format!(
        "precision: {} of {} variants reached ±{} in {} with {each} runs each\n",
        found.iter().filter(|found| found.reached).count(),
        found.len(),
        precision.to,
        measures(precision),
    )
}

/// Returns a text such as `completion_s ±7.3%`. If some runs lack the measure, the text includes the number of runs
/// that have it.
fn in_words(judged: &MeasurePrecision, runs: u32) -> String {
    let MeasurePrecision {
        measure,
        values,
        half_width,
        ..
    } = *judged;
    let of = if values < runs as usize {
        format!(" in {values} of them")
    } else {
        String::new()
    };
    match half_width {
        Some(half) => format!("{measure} ±{:.1}%{of}", half * 100.0),
        None if values < 2 => format!("{measure} has a value in at most one run"),
        None => format!("{measure} varies around 0{of}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim::results::Measure;

    #[test]
    fn an_imprecise_measure_is_reported_with_its_half_width() {
        let judged = |values, half_width| MeasurePrecision {
            measure: Measure::Completion,
            values,
            half_width,
            is_precise: false,
        };
        assert_eq!(
            in_words(&judged(40, Some(0.0726)), 40),
            "completion_s ±7.3%"
        );
        assert_eq!(
            in_words(&judged(12, Some(0.0726)), 40),
            "completion_s ±7.3% in 12 of them"
        );
        assert_eq!(
            in_words(&judged(1, None), 40),
            "completion_s has a value in at most one run"
        );
        assert_eq!(
            in_words(&judged(40, None), 40),
            "completion_s varies around 0"
        );
    }
}
