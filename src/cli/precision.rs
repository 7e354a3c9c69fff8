//! The precision that a study reached: for the provenance of its results, and in words at its end.

use fleetsim::results::{PrecisionAsked, PrecisionFound, VariantRecord};
use fleetsim::scenario::Precision;
use fleetsim::study::{MeasurePrecision, judge};
use itertools::Itertools;

/// The precision asked for, for the provenance.
pub(super) fn asked(precision: &Precision) -> PrecisionAsked {
    PrecisionAsked {
        to: precision.to.get(),
        of: precision.of.iter().map(ToString::to_string).collect(),
        max: precision.max,
    }
}

/// The precision of each variant, and the text that reports it.
pub(super) fn found(
    precision: &Precision,
    variants: &[VariantRecord],
    seed: u64,
) -> (Vec<PrecisionFound>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    for variant in variants {
        let (judged, runs) = (
            judge(precision, &variant.runs, seed),
            variant.runs.len() as u32,
        );
        let open: Vec<&MeasurePrecision> =
            judged.iter().filter(|judged| !judged.is_precise).collect();
        if !open.is_empty() {
            let open = open.iter().map(|judged| in_words(judged, runs)).join(", ");
            rest.push_str(&format!(
                "  not reached by {} in {runs} runs: {open}\n",
                variant.variant
            ));
        }
        let half_widths = judged
            .iter()
            .map(|judged| (judged.measure.to_string(), judged.half_width))
            .collect();
        found.push(PrecisionFound {
            runs,
            reached: open.is_empty(),
            half_widths,
        });
    }
    let text = summary(precision, &found) + &rest;
    (found, text)
}

/// The measures that are to be precise, in words.
pub(super) fn measures(precision: &Precision) -> String {
    precision.of.iter().join(" and ")
}

fn summary(precision: &Precision, found: &[PrecisionFound]) -> String {
    let runs = || found.iter().map(|found| found.runs);
    let (least, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
    let each = if least == most {
        least.to_string()
    } else {
        format!("{least}–{most}")
    };
    format!(
        "precision: {} of {} variants reached ±{} in {} with {each} runs each\n",
        found.iter().filter(|found| found.reached).count(),
        found.len(),
        precision.to,
        measures(precision),
    )
}

/// `completion_s ±7.3%`; for a measure that some runs lack, with the number of runs that have it.
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
    fn a_measure_that_is_not_precise_is_reported_with_its_half_width() {
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
