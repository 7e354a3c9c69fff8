//! A variant's curves in compact form: columns of integers, in bins that are long enough for a page.
//!
//! Bins are merged as in the tables: the maximum of counts and of egress, the last of states.

use serde::Serialize;

use crate::report::data::VariantResults;
use crate::results::TimelineRow;

/// Number of bins of all variants together, and the minimum and maximum for one variant.
const BINS_ALL: usize = 24_000;
const BINS: (usize, usize) = (600, 2000);
/// Egress is stored in units of this many bytes per second: 0.1 Mbit/s.
pub(super) const EGRESS_UNIT: f64 = 12_500.0;

/// The curves of one variant. Percentiles are empty if there is one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct PageSeries {
    /// Length of a bin in seconds.
    bin: f64,
    /// Maximum number of concurrent pulls in each bin: of the displayed run, and percentiles over runs.
    pulls: Vec<u64>,
    pulls5: Vec<u64>,
    pulls95: Vec<u64>,
    /// Maximum egress over one second in each bin, in units of [`EGRESS_UNIT`].
    egress: Vec<u64>,
    egress5: Vec<u64>,
    egress95: Vec<u64>,
    /// Targets ready on the wanted revision at the end of each bin.
    ready: Vec<u64>,
}

/// The curves of `variant`, for a page with `variants` variants. The constant end of a curve is left out.
pub(super) fn series(variant: &VariantResults<'_>, variants: usize) -> PageSeries {
    let rows = &variant.timeline;
    let shown = moving_part(rows);
    let (fewest, most) = BINS;
    let most = (BINS_ALL / variants.max(1)).clamp(fewest, most);
    let factor = shown.len().div_ceil(most).max(1);
    let bins: Vec<&[&TimelineRow]> = shown.chunks(factor).collect();
    let mut series = PageSeries {
        bin: rows.first().map_or(1.0, |row| row.bin_s) * factor as f64,
        pulls: most_in(&bins, 1.0, |row| row.pulls as f64),
        egress: most_in(&bins, EGRESS_UNIT, |row| row.egress_peak_1s_bytes_per_s),
        ready: bins.iter().map(|rows| ready_at_end(rows)).collect(),
        ..PageSeries::default()
    };
    if variant.runs.len() > 1 {
        series.pulls5 = most_in(&bins, 1.0, |row| row.pulls_p5);
        series.pulls95 = most_in(&bins, 1.0, |row| row.pulls_p95);
        series.egress5 = most_in(&bins, EGRESS_UNIT, |row| row.egress_peak_1s_p5_bytes_per_s);
        series.egress95 = most_in(&bins, EGRESS_UNIT, |row| row.egress_peak_1s_p95_bytes_per_s);
    }
    series
}

/// The rows up to the last change, and the row after it.
fn moving_part<'a, 'r>(rows: &'a [&'r TimelineRow]) -> &'a [&'r TimelineRow] {
    let Some(last) = rows.last() else {
        return rows;
    };
    let shown = match rows.iter().rposition(|row| !is_same_state(row, last)) {
        Some(at) => (at + 2).min(rows.len()),
        None => 1,
    };
    &rows[..shown]
}

/// Returns whether two bins have the same pulls and ready targets, and both or neither have traffic.
fn is_same_state(a: &TimelineRow, b: &TimelineRow) -> bool {
    a.pulls == b.pulls
        && a.ready_new == b.ready_new
        && is_positive(a.egress_bytes_per_s) == is_positive(b.egress_bytes_per_s)
        && is_positive(a.pulls_p95) == is_positive(b.pulls_p95)
        && is_positive(a.egress_peak_1s_p95_bytes_per_s)
            == is_positive(b.egress_peak_1s_p95_bytes_per_s)
}

/// Returns whether a quantity is greater than 0.
fn is_positive(quantity: f64) -> bool {
    quantity > 0.0
}

/// The maximum value of each bin, in units of size `unit`.
fn most_in(bins: &[&[&TimelineRow]], unit: f64, value: fn(&TimelineRow) -> f64) -> Vec<u64> {
    let mut greatest = Vec::new();
    for rows in bins {
        let mut most: f64 = 0.0;
        for row in *rows {
            most = most.max(value(row));
        }
        greatest.push((most / unit).round() as u64);
    }
    greatest
}

/// Targets that are ready at the end of a bin.
fn ready_at_end(rows: &[&TimelineRow]) -> u64 {
    rows.last().map_or(0, |row| row.ready_new)
}

impl PageSeries {
    /// Time of the last change, in seconds.
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
    fn coarse_bins_keep_the_highest_peak_and_the_last_state() {
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
