//! `timeline.csv`: one real run, with pointwise percentiles of all runs.
//!
//! Why not the pointwise median alone? Waves of different runs shift in time, so the median of the curves has a lower
//! peak than any run. The columns without a suffix are therefore the series of one run: the displayed replicate, the
//! same in all variants ([`super::displayed_replicate`]).
//!
//! Runs may have been recorded in bins of different lengths. All are converted to the longest bin of their variant,
//! and to at most [`BINS_MAX`] bins: the maximum of counts, the mean of egress, the last value of states. After a
//! run's end there are no pulls, and states stay unchanged.

use serde::{Deserialize, Serialize};

use super::{RunRecord, SeriesRow, VariantRecord};
use fleetsim_units::stats::quantile_of_sorted;

/// Maximum number of bins of a variant in `timeline.csv`; bins of longer series are merged.
pub const BINS_MAX: usize = 4000;

/// `timeline.csv`: one time bin of a variant.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TimelineRow {
    /// The variant.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings.
    pub setting: String,
    /// The displayed replicate.
    pub replicate: u32,
    /// Length of the bin.
    pub bin_s: f64,
    /// Start of the bin.
    pub t_s: f64,
    /// Highest number of concurrent image pulls in the bin, in the displayed run.
    pub pulls: u64,
    /// Highest number of concurrent layer downloads in the bin, in the displayed run.
    pub downloads: u64,
    /// Mean registry egress in the bin, in the displayed run.
    pub egress_bytes_per_s: f64,
    /// Highest mean registry egress over one second in the bin, in the displayed run.
    pub egress_peak_1s_bytes_per_s: f64,
    /// Targets ready on the wanted revision at the end of the bin, in the displayed run.
    pub ready_new: u64,
    /// Targets instructed to run the wanted revision and making progress, but not ready yet, in the displayed run.
    pub updating: u64,
    /// Targets instructed to run the wanted revision, not ready and stalled, in the displayed run.
    pub not_ready: u64,
    /// Targets not instructed to run the wanted revision yet, in the displayed run.
    pub waiting: u64,
    /// 5th percentile of `pulls` over all runs, bin by bin.
    pub pulls_p5: f64,
    /// Median of `pulls` over all runs, bin by bin.
    pub pulls_p50: f64,
    /// 95th percentile of `pulls` over all runs, bin by bin.
    pub pulls_p95: f64,
    /// 5th percentile of egress over all runs, bin by bin.
    pub egress_p5_bytes_per_s: f64,
    /// Median of egress over all runs, bin by bin.
    pub egress_p50_bytes_per_s: f64,
    /// 95th percentile of egress over all runs, bin by bin.
    pub egress_p95_bytes_per_s: f64,
    /// 5th percentile of `egress_peak_1s_bytes_per_s` over all runs, bin by bin.
    pub egress_peak_1s_p5_bytes_per_s: f64,
    /// 95th percentile of `egress_peak_1s_bytes_per_s` over all runs, bin by bin.
    pub egress_peak_1s_p95_bytes_per_s: f64,
}

/// The common bins for the series of all runs of a variant.
pub(super) struct CommonBins {
    pub(super) bin_s: f64,
    pub(super) count: usize,
}

impl CommonBins {
    /// The common bins of a variant's runs. `None`: no run has a series.
    pub(super) fn of(variant: &VariantRecord) -> Option<Self> {
        let mut longest: f64 = 0.0;
        let mut span: f64 = 0.0;
        for run in &variant.runs {
            longest = longest.max(run.bin_s);
            span = span.max(run.series.len() as f64 * run.bin_s);
        }
        if longest <= 0.0 {
            return None;
        }
        let unjoined = bins_of(span, longest);
        let bin_s = longest * unjoined.div_ceil(BINS_MAX) as f64;
        (unjoined > 0).then(|| Self {
            bin_s,
            count: bins_of(span, bin_s),
        })
    }

    /// The index of the common bin that has this bin of a run's series.
    pub(super) fn index_of(&self, own: usize, run: &RunRecord) -> usize {
        // The tolerance keeps rounding errors from moving a bin into the one before it.
        let place = (own as f64 + 1e-6) * run.bin_s / self.bin_s;
        (place as usize).min(self.count - 1)
    }
}

/// The number of bins in a span. The tolerance keeps rounding errors of the division from adding a bin.
fn bins_of(span: f64, bin_s: f64) -> usize {
    (span / bin_s - 1e-9).ceil().max(0.0) as usize
}

/// Percentiles of one column over the runs of a variant, in one bin.
struct Spread {
    p5: f64,
    p50: f64,
    p95: f64,
}

impl Spread {
    /// The percentiles of a column; at least one run has a series.
    fn of(series: &[Vec<SeriesRow>], bin: usize, column: fn(&SeriesRow) -> f64) -> Self {
        let mut values: Vec<f64> = series.iter().map(|run| column(&run[bin])).collect();
        values.sort_by(f64::total_cmp);
        let [p5, p50, p95] = [0.05, 0.5, 0.95].map(|p| {
            quantile_of_sorted(&values, p).expect("the displayed run is one of the values")
        });
        Self { p5, p50, p95 }
    }
}

/// The timeline of one variant, with the run at index `displayed`; empty if no run has a series.
pub(super) fn timeline(variant: &VariantRecord, displayed: usize) -> Vec<TimelineRow> {
    let Some(bins) = CommonBins::of(variant) else {
        return Vec::new();
    };
    let mut series: Vec<Vec<SeriesRow>> = Vec::new();
    for run in &variant.runs {
        series.push(rebin(run, &bins));
    }
    let mut rows = Vec::new();
    for (bin, row) in series[displayed].iter().enumerate() {
        let pulls = Spread::of(&series, bin, |row| row.pulls as f64);
        let egress = Spread::of(&series, bin, |row| row.egress_bytes_per_s);
        let egress_peak = Spread::of(&series, bin, |row| row.egress_peak_1s_bytes_per_s);
        rows.push(TimelineRow {
            variant: variant.variant.clone(),
            strategy: variant.strategy.clone(),
            setting: variant.setting.clone(),
            replicate: variant.runs[displayed].run.replicate,
            bin_s: bins.bin_s,
            t_s: row.t_s,
            pulls: row.pulls,
            downloads: row.downloads,
            egress_bytes_per_s: row.egress_bytes_per_s,
            egress_peak_1s_bytes_per_s: row.egress_peak_1s_bytes_per_s,
            ready_new: row.ready_new,
            updating: row.updating,
            not_ready: row.not_ready,
            waiting: row.waiting,
            pulls_p5: pulls.p5,
            pulls_p50: pulls.p50,
            pulls_p95: pulls.p95,
            egress_p5_bytes_per_s: egress.p5,
            egress_p50_bytes_per_s: egress.p50,
            egress_p95_bytes_per_s: egress.p95,
            egress_peak_1s_p5_bytes_per_s: egress_peak.p5,
            egress_peak_1s_p95_bytes_per_s: egress_peak.p95,
        });
    }
    rows
}

/// The series of `run` in bins that are at least as long as the run's own.
fn rebin(run: &RunRecord, bins: &CommonBins) -> Vec<SeriesRow> {
    let bin_s = bins.bin_s;
    let mut fine = run.series.iter().peekable();
    let mut last = SeriesRow {
        waiting: run.run.targets,
        ..SeriesRow::default()
    };
    let mut rows = Vec::with_capacity(bins.count);
    for bin in 0..bins.count {
        let mut row = SeriesRow {
            t_s: bin as f64 * bin_s,
            pulls: 0,
            downloads: 0,
            egress_bytes_per_s: 0.0,
            egress_peak_1s_bytes_per_s: 0.0,
            ..last
        };
        let end = (bin + 1) as f64 * bin_s - 1e-6 * run.bin_s;
        while let Some(part) = fine.next_if(|part| part.t_s < end) {
            row.pulls = row.pulls.max(part.pulls);
            row.downloads = row.downloads.max(part.downloads);
            row.egress_bytes_per_s += part.egress_bytes_per_s * run.bin_s / bin_s;
            row.egress_peak_1s_bytes_per_s = row
                .egress_peak_1s_bytes_per_s
                .max(part.egress_peak_1s_bytes_per_s);
            row.ready_new = part.ready_new;
            row.updating = part.updating;
            row.not_ready = part.not_ready;
            row.waiting = part.waiting;
        }
        last = row;
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_record, variant};
    use super::*;

    fn series(bin_s: f64, pulls: &[u64]) -> Vec<SeriesRow> {
        let row = |(bin, &pulls): (usize, &u64)| SeriesRow {
            t_s: bin as f64 * bin_s,
            pulls,
            egress_bytes_per_s: 8.0 * pulls as f64,
            egress_peak_1s_bytes_per_s: 10.0 * pulls as f64,
            ready_new: bin as u64,
            ..SeriesRow::default()
        };
        pulls.iter().enumerate().map(row).collect()
    }

    #[test]
    fn runs_with_different_bins_are_converted_to_the_longest_bin() {
        let fine = RunRecord {
            bin_s: 1.0,
            series: series(1.0, &[1, 9, 2, 4, 5]),
            ..run_record(0, 9)
        };
        let coarse = RunRecord {
            bin_s: 2.0,
            series: series(2.0, &[3, 3]),
            ..run_record(1, 11)
        };
        let rows = timeline(&variant("v", vec![fine, coarse]), 0);
        // The run with fine bins is displayed: maxima of (1 9) (2 4) (5), and the last bin holds half a bin's bytes.
        assert_eq!(
            rows.iter().map(|row| row.pulls).collect::<Vec<_>>(),
            [9, 4, 5]
        );
        let egress: Vec<String> = rows
            .iter()
            .map(|row| row.egress_bytes_per_s.to_string())
            .collect();
        assert_eq!(egress, ["40", "24", "20"]);
        let peaks: Vec<String> = rows
            .iter()
            .map(|row| row.egress_peak_1s_bytes_per_s.to_string())
            .collect();
        assert_eq!(peaks, ["90", "40", "50"], "maxima");
        assert_eq!(
            rows.iter().map(|row| row.ready_new).collect::<Vec<_>>(),
            [1, 3, 4]
        );
        // The medians of (9 3), of (4 3), and of (5 0), because the coarse run has ended.
        let medians: Vec<String> = rows.iter().map(|row| row.pulls_p50.to_string()).collect();
        assert_eq!(medians, ["6", "3.5", "2.5"]);
    }

    #[test]
    fn a_long_series_is_merged_into_longer_bins_and_keeps_its_peak() {
        let mut pulls = vec![0; 3 * BINS_MAX - 1];
        pulls[7001] = 77;
        let rows = timeline(
            &variant(
                "v",
                vec![RunRecord {
                    series: series(1.0, &pulls),
                    ..run_record(0, 77)
                }],
            ),
            0,
        );
        assert_eq!(rows.len(), BINS_MAX);
        assert_eq!(rows[7001 / 3].pulls, 77);
        assert_eq!(rows.iter().map(|row| row.pulls).sum::<u64>(), 77);
    }

    #[test]
    fn a_run_without_a_series_has_no_timeline() {
        assert!(
            timeline(
                &variant(
                    "v",
                    vec![RunRecord {
                        series: Vec::new(),
                        ..run_record(0, 0)
                    }]
                ),
                0
            )
            .is_empty()
        );
    }
}
