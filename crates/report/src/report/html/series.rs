//! A variant's curves in compact form: columns of whole numbers, in bins that are long enough for a page.
//!
//! Bins are joined as in the tables: the maximum of counts and of egress, the last of states.

use serde::Serialize;

use crate::report::data::VariantResults;
use crate::results::TimelineRow;

/// Bins of all variants together, and the least and most that one variant gets.
const BINS_ALL: usize = 24_000;
const BINS: (usize, usize) = (600, 2000);
/// Egress is stored in units of this many bytes per second: 0.1 Mbit/s.
pub(super) const EGRESS_UNIT: f64 = 12_500.0;

/// The curves of one variant. Percentiles are empty where there is one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct PageSeries {
    /// Length of a bin in seconds.
    bin: f64,
    /// Highest number of concurrent pulls in each bin: of the displayed run, and percentiles over runs.
    pulls: Vec<u64>,
    pulls5: Vec<u64>,
    pulls95: Vec<u64>,
    /// Highest egress over one second in each bin, in units of [`EGRESS_UNIT`].
    egress: Vec<u64>,
    egress5: Vec<u64>,
    egress95: Vec<u64>,
    /// Targets ready on the wanted revision at the end of each bin.
    ready: Vec<u64>,
}

/// The curves of `variant`, one of `variants`. A constant end is left out.
pub(super) fn series(variant: &VariantResults<'_>, variants: usize) -> PageSeries {
    let rows = &variant.timeline;
    let state = |row: &TimelineRow| {
        (
            row.pulls,
            row.ready_new,
            row.egress_bytes_per_s > 0.0,
            row.pulls_p95 > 0.0,
            row.egress_peak_1s_p95_bytes_per_s > 0.0,
        )
    };
    let moving = rows
        .last()
        .and_then(|last| rows.iter().rposition(|row| state(row) != state(last)));
    let shown = &rows[..moving.map_or(rows.len().min(1), |at| (at + 2).min(rows.len()))];
    let most = (BINS_ALL / variants.max(1)).clamp(BINS.0, BINS.1);
    let factor = shown.len().div_ceil(most).max(1);
    let joined: Vec<&[&TimelineRow]> = shown.chunks(factor).collect();
    let most_in = |unit: f64, value: fn(&TimelineRow) -> f64| -> Vec<u64> {
        let most = |rows: &&[&TimelineRow]| rows.iter().map(|row| value(row)).fold(0.0, f64::max);
        joined
            .iter()
            .map(|rows| (most(rows) / unit).round() as u64)
            .collect()
    };
    let spread = variant.runs.len() > 1;
    PageSeries {
        bin: rows.first().map_or(1.0, |row| row.bin_s) * factor as f64,
        pulls: most_in(1.0, |row| row.pulls as f64),
        pulls5: if spread {
            most_in(1.0, |row| row.pulls_p5)
        } else {
            Vec::new()
        },
        pulls95: if spread {
            most_in(1.0, |row| row.pulls_p95)
        } else {
            Vec::new()
        },
        egress: most_in(EGRESS_UNIT, |row| row.egress_peak_1s_bytes_per_s),
        egress5: if spread {
            most_in(EGRESS_UNIT, |row| row.egress_peak_1s_p5_bytes_per_s)
        } else {
            Vec::new()
        },
        egress95: if spread {
            most_in(EGRESS_UNIT, |row| row.egress_peak_1s_p95_bytes_per_s)
        } else {
            Vec::new()
        },
        ready: joined
            .iter()
            .map(|rows| rows.last().map_or(0, |row| row.ready_new))
            .collect(),
    }
}

impl PageSeries {
    /// End of the last change, in seconds.
    pub(super) fn end(&self) -> f64 {
        self.bin * self.ready.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Results;
    use crate::report::synthetic::{Fleet, six_settings};

    #[test]
    fn coarse_bins_keep_the_highest_peaks_and_the_end() {
        let home = tempfile::tempdir().expect("a temporary folder");
        Fleet {
            replicates: 2,
            ..six_settings()
        }
        .publish(&home.path().join("results"));
        let results = Results::read(&home.path().join("results")).expect("readable");
        for variant in &results.variants() {
            let series = series(variant, 100);
            assert!(series.pulls.len() <= BINS.0, "{}", series.pulls.len());
            let peak = variant
                .timeline
                .iter()
                .map(|row| row.pulls)
                .max()
                .expect("rows");
            assert_eq!(series.pulls.iter().max(), Some(&peak), "{}", variant.name());
            assert_eq!(
                series.ready.last(),
                variant.timeline.last().map(|row| &row.ready_new)
            );
            let recorded = variant
                .timeline
                .iter()
                .map(|row| row.egress_peak_1s_bytes_per_s)
                .fold(0.0, f64::max);
            let shown = series
                .egress
                .iter()
                .max()
                .map_or(0.0, |&most| most as f64 * EGRESS_UNIT);
            assert!(
                (shown - recorded).abs() <= EGRESS_UNIT,
                "{}: {shown} of {recorded}",
                variant.name()
            );
        }
    }
}
