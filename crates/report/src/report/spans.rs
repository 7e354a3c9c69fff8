//! The ends of time axes: those of runs that complete.
//!
//! A run that does not complete may go on to the horizon, with pulls that are tried again and again, and would squash
//! all others into the left edge of a common axis. Its part of the axis ends soon after the last run that completes,
//! with an arrow. If no run completes, all axes show everything.

use super::data::VariantResults;

/// A time beyond this many times that of the last complete run is not shown.
const STRETCH: f64 = 2.0;
/// The end of an axis with an arrow, as a multiple of the time of the last complete run.
const BEYOND: f64 = 1.1;

/// The end of each variant's time axis.
pub(super) struct TimeSpans {
    pub(super) ends: Vec<f64>,
    /// Whether each variant goes on beyond the end of its axis.
    pub(super) goes_on: Vec<bool>,
}

impl TimeSpans {
    /// The ends of the axes for variants whose curves end at `ends`.
    pub(super) fn of(variants: &[VariantResults<'_>], ends: Vec<f64>) -> Self {
        let mut spans = Self {
            goes_on: vec![false; ends.len()],
            ends,
        };
        let mut last: f64 = 0.0;
        for run in variants.iter().flat_map(|variant| &variant.runs) {
            if let Some(ready_s) = run.reachable_ready_s.filter(|_| run.is_done()) {
                last = last.max(run.release_s + ready_s);
            }
        }
        if last <= 0.0 {
            return spans;
        }
        for (at, variant) in variants.iter().enumerate() {
            let is_open = variant.finished() < variant.runs.len();
            if is_open && spans.ends[at] > STRETCH * last {
                spans.ends[at] = BEYOND * last;
                spans.goes_on[at] = true;
            }
        }
        spans
    }

    /// The part of a chart's note that explains arrows.
    pub(super) fn note(&self) -> &'static str {
        if self.goes_on.contains(&true) {
            "; arrow: goes on beyond the axis without completing"
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::readable_quietly;
    use crate::results::RunOutcome;

    #[test]
    fn a_variant_that_never_completes_does_not_stretch_the_axis() {
        let mut results = readable_quietly(&six_settings());
        let stuck = results.provenance.variants[0].variant.clone();
        let mut last: f64 = 0.0;
        for run in &mut results.tables.runs {
            if run.variant == stuck {
                run.outcome = RunOutcome::Horizon;
                run.reachable_ready_s = None;
                run.completion_s = None;
            } else {
                let ready_s = run.reachable_ready_s.expect("it completes");
                last = last.max(run.release_s + ready_s);
            }
        }
        let variants = results.variants();
        let mut ends = vec![last; variants.len()];
        ends[0] = 50.0 * last;
        let spans = TimeSpans::of(&variants, ends.clone());
        assert!(
            (spans.ends[0] - 1.1 * last).abs() < 1e-6,
            "{:?}",
            spans.ends
        );
        assert_eq!(spans.goes_on.iter().filter(|goes_on| **goes_on).count(), 1);
        assert!(spans.note().contains("arrow"));
        // A slow variant that completes keeps its axis, and so does one of several that do not.
        let slow = TimeSpans::of(&variants[1..], ends.clone());
        assert_eq!((slow.ends[0], slow.note()), (50.0 * last, ""));
        let none = TimeSpans::of(&variants[..1], ends[..1].to_vec());
        assert_eq!(none.ends, [50.0 * last]);
    }
}
