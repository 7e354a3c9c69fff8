//! How precise a study became: for the provenance of its results, and in words at its end.

use fleetsim::results::{PrecisionAsked, PrecisionFound, VariantRecord};
use fleetsim::scenario::Precision;
use fleetsim::study::{MeasurePrecision, judge};

/// What was asked for.
pub(super) fn asked(precision: &Precision) -> PrecisionAsked {
    PrecisionAsked {
        to: precision.to.get(),
        of: precision.of.iter().map(|measure| measure.name.to_owned()).collect(),
        max: precision.max,
    }
}

/// What each variant came to, and the text that tells it.
pub(super) fn found(precision: &Precision, variants: &[VariantRecord], seed: u64) -> (Vec<PrecisionFound>, String) {
    let judged: Vec<Vec<MeasurePrecision>> =
        variants.iter().map(|variant| judge(precision, &variant.runs, seed)).collect();
    let found: Vec<PrecisionFound> = variants
        .iter()
        .zip(&judged)
        .map(|(variant, judged)| PrecisionFound {
            runs: variant.runs.len() as u32,
            reached: judged.iter().all(|judged| judged.is_precise),
            half_widths: judged.iter().map(|judged| (judged.measure.name.to_owned(), judged.half_width)).collect(),
        })
        .collect();
    let runs = || found.iter().map(|found| found.runs);
    let measures: Vec<&str> = precision.of.iter().map(|measure| measure.name).collect();
    let (least, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
    let each = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let mut text = format!(
        "precision: {} of {} variants have {} to {}, with {each} runs each\n",
        found.iter().filter(|found| found.reached).count(),
        found.len(),
        measures.join(" and "),
        precision.to,
    );
    for ((variant, found), judged) in variants.iter().zip(&found).zip(&judged).filter(|((_, found), _)| !found.reached)
    {
        let open = judged.iter().filter(|judged| !judged.is_precise).map(|judged| in_words(judged, found.runs));
        let open: Vec<String> = open.collect();
        text.push_str(&format!("  not in {} runs of {}: {}\n", found.runs, variant.variant, open.join(", ")));
    }
    (found, text)
}

/// `completion_s ± 7.3%`; for a measure that some runs do not have, of how many it is.
fn in_words(judged: &MeasurePrecision, runs: u32) -> String {
    let MeasurePrecision { measure, values, half_width, .. } = *judged;
    let of = if values < runs as usize { format!(" over {values} of them") } else { String::new() };
    match half_width {
        Some(half) => format!("{} ± {:.1}%{of}", measure.name, half * 100.0),
        None if values < 2 => format!("{} is known of one run", measure.name),
        None => format!("{} spreads about 0{of}", measure.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim::results::MEASURES;

    #[test]
    fn what_is_not_precise_is_told_with_what_it_is() {
        let judged =
            |values, half_width| MeasurePrecision { measure: &MEASURES[0], values, half_width, is_precise: false };
        assert_eq!(in_words(&judged(40, Some(0.0726)), 40), "completion_s ± 7.3%");
        assert_eq!(in_words(&judged(12, Some(0.0726)), 40), "completion_s ± 7.3% over 12 of them");
        assert_eq!(in_words(&judged(1, None), 40), "completion_s is known of one run");
        assert_eq!(in_words(&judged(40, None), 40), "completion_s spreads about 0");
    }
}
