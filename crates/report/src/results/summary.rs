//! `summary.csv`: each measure of each variant over its runs, with its spread and its difference from the reference.
//!
//! A peak is the median over runs of each run's exact peak; the peak of a median curve would hide waves that shift in
//! time. The interval of a median uses order statistics. All variants use the same random numbers in the same
//! replicate, so they are compared in pairs. Means, and means of differences, have a seeded bootstrap interval.
//!
//! A run that does not reach a time counts as later than every run that does. Such a time has only the quantiles that
//! do not depend on unfinished runs, and no mean. A difference from a run without the time is infinite, and two runs
//! without it are equal. So a comparison has a median of differences, and the share of pairs in which the variant is
//! below the reference; the mean of differences exists only if every pair has both times.
//!
//! Why the mean of differences in addition to their median? The mean of differences is the difference of means, so it
//! agrees with the table, and it shows a change that affects only a few runs.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Measure, RunRecord, RunRow, Setting, VariantRecord, compared};
use fleetsim_units::stats::{self, Interval};

/// Resamples of the bootstrap: the ends of a 95% interval are the 50th from either end.
const RESAMPLES: usize = 1999;

/// The level of all intervals.
const LEVEL: f64 = 0.95;

/// `summary.csv`: one measure of one variant.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SummaryRow {
    /// The variant.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings.
    pub setting: String,
    /// The measure: a column of `runs.csv`.
    pub measure: Measure,
    /// The measure's unit.
    pub unit: String,
    /// Number of runs of the variant.
    pub runs: u64,
    /// Number of runs in which all reachable targets were ready.
    pub finished: u64,
    /// Number of runs that have the measure.
    pub values: u64,
    /// Lower end of the exact 95% interval of the share of runs that have the measure.
    pub values_ci95_low: Option<f64>,
    /// Upper end of the exact 95% interval of the share of runs that have the measure.
    pub values_ci95_high: Option<f64>,
    /// Mean; empty if a run without the measure counts as later than all others.
    pub mean: Option<f64>,
    /// Lower end of the 95% interval of the mean; empty for fewer than two values.
    pub mean_ci95_low: Option<f64>,
    /// Upper end of the 95% interval of the mean; empty for fewer than two values.
    pub mean_ci95_high: Option<f64>,
    /// Sample standard deviation; empty for fewer than two values.
    pub sd: Option<f64>,
    /// Median; empty if the median is later than every run that has the measure.
    pub median: Option<f64>,
    /// 5th percentile.
    pub p5: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Lower end of the 95% interval of the median; empty for fewer than six values.
    pub median_ci95_low: Option<f64>,
    /// Upper end of the 95% interval of the median; empty for fewer than six values, or if the interval has no upper
    /// end.
    pub median_ci95_high: Option<f64>,
    /// The reference of differences: the first of the compared variants ([`compared`]).
    pub reference: String,
    /// Number of replicates in which the variant is compared with the reference; 0 for the reference itself.
    pub diff_pairs: u64,
    /// Mean of the paired differences, variant minus reference; empty if one of them is infinite.
    pub diff_mean: Option<f64>,
    /// Lower end of the 95% interval of the mean difference; empty for fewer than two pairs.
    pub diff_mean_ci95_low: Option<f64>,
    /// Upper end of the 95% interval of the mean difference; empty for fewer than two pairs.
    pub diff_mean_ci95_high: Option<f64>,
    /// Median of the paired differences; empty if the median is infinite.
    pub diff_median: Option<f64>,
    /// Lower end of the 95% interval of the median difference; empty for fewer than six pairs, or without a lower end.
    pub diff_median_ci95_low: Option<f64>,
    /// Upper end of the 95% interval of the median difference; empty for fewer than six pairs, or without an upper end.
    pub diff_median_ci95_high: Option<f64>,
    /// Share of pairs in which the variant is below the reference; equal pairs count half.
    pub below_share: Option<f64>,
    /// Lower end of the exact 95% interval of `below_share`.
    pub below_ci95_low: Option<f64>,
    /// Upper end of the exact 95% interval of `below_share`.
    pub below_ci95_high: Option<f64>,
}

/// The summary of all `variants` with runs.
pub(super) fn summary(variants: &[VariantRecord], seed: u64) -> Vec<SummaryRow> {
    let variants: Vec<&VariantRecord> = variants
        .iter()
        .filter(|variant| !variant.runs.is_empty())
        .collect();
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.settings.as_slice())
        .collect();
    let mut references: Vec<usize> = (0..variants.len()).collect();
    for group in compared(&settings) {
        for &at in &group {
            references[at] = group[0];
        }
    }
    let runs = variants.iter().flat_map(|variant| &variant.runs);
    let measures = Measure::present(&runs.map(|run| &run.run));
    let mut rows = Vec::new();
    for (at, variant) in variants.iter().enumerate() {
        let reference = variants[references[at]];
        let base = (references[at] != at).then_some(reference);
        for &measure in &measures {
            let mut row = of_measure(measure, variant, base, seed);
            row.reference.clone_from(&reference.variant);
            rows.push(row);
        }
    }
    rows
}

/// The 95% interval of the mean of a measure over runs, as in `summary.csv`: all intervals of one experiment are
/// resampled from its seed. `None` for fewer than two values.
///
/// # Panics
/// Panics if a value is not finite.
#[must_use]
pub fn interval_of_mean(values: &[f64], seed: u64) -> Option<Interval> {
    stats::bootstrap_interval(values, LEVEL, RESAMPLES, seed)
}

/// The difference of each pair of the reference's and the variant's value. Two infinite values are equal.
#[must_use]
pub fn paired_differences(pairs: impl IntoIterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut differences = Vec::new();
    for (base, own) in pairs {
        let is_equal = base.total_cmp(&own).is_eq();
        differences.push(if is_equal { 0.0 } else { own - base });
    }
    differences
}

/// The share of pairs whose difference is negative, with its exact 95% interval; equal pairs count half. `None` without
/// pairs.
#[must_use]
pub fn share_below(differences: &[f64]) -> Option<Interval> {
    share_below_at(differences, LEVEL)
}

/// Like [`share_below`], with an interval of the given level.
#[must_use]
pub fn share_below_at(differences: &[f64], level: f64) -> Option<Interval> {
    let mut halves = 0_u32;
    for difference in differences {
        halves += match difference.partial_cmp(&0.0) {
            Some(Ordering::Less) => 2,
            Some(Ordering::Equal) => 1,
            _ => 0,
        };
    }
    let below = f64::from(halves) / 2.0;
    stats::share_interval(below, differences.len(), level)
}

/// The ends of an interval; empty without one.
#[derive(Default)]
struct EndCells {
    low: Option<f64>,
    high: Option<f64>,
}

impl EndCells {
    /// Both ends of an interval; empty without one.
    fn of(interval: Option<Interval>) -> Self {
        match interval {
            Some(interval) => Self {
                low: Some(interval.low),
                high: Some(interval.high),
            },
            None => Self::default(),
        }
    }

    /// The ends of an interval that are finite.
    fn finite(interval: Option<Interval>) -> Self {
        let Self { low, high } = Self::of(interval);
        Self {
            low: low.filter(|low| low.is_finite()),
            high: high.filter(|high| high.is_finite()),
        }
    }
}

/// A quantile of sorted values. `None` if the quantile is infinite, or there are no values.
fn finite_quantile(ordered: &[f64], p: f64) -> Option<f64> {
    stats::quantile_of_sorted(ordered, p).filter(|quantile| quantile.is_finite())
}

/// The values whose mean can be computed: all of them, or none if one is infinite.
fn for_mean(values: &[f64]) -> &[f64] {
    if values.iter().all(|value| value.is_finite()) {
        values
    } else {
        &[]
    }
}

/// The differences of the runs of `own` from the runs of `base` with the same replicate.
fn differences_to(base: &VariantRecord, own: &VariantRecord, measure: Measure) -> Vec<f64> {
    let mut compared = Vec::new();
    for (base, own) in pairs(&base.runs, &own.runs) {
        if let (Some(base), Some(own)) = (measure.of_or_late(base), measure.of_or_late(own)) {
            compared.push((base, own));
        }
    }
    paired_differences(compared)
}

/// One measure of one variant, with an empty `reference`.
fn of_measure(
    measure: Measure,
    variant: &VariantRecord,
    base: Option<&VariantRecord>,
    seed: u64,
) -> SummaryRow {
    let runs: Vec<&RunRow> = variant.runs.iter().map(|run| &run.run).collect();
    let known = runs.iter().filter(|run| measure.of(run).is_some()).count();
    // Runs that are later than all others count as infinite values.
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| measure.of_or_late(run))
        .collect();
    let ordered = stats::ordered(&values);
    let of_values = EndCells::of(stats::share_interval(known as f64, runs.len(), LEVEL));
    let averaged = for_mean(&values);
    let of_mean = EndCells::of(interval_of_mean(averaged, seed));
    let of_median = EndCells::finite(stats::median_interval(&values, LEVEL));
    let differences = match base {
        Some(base) => differences_to(base, variant, measure),
        None => Vec::new(),
    };
    let averaged_differences = for_mean(&differences);
    let of_difference = EndCells::of(interval_of_mean(averaged_differences, seed));
    let of_median_difference = EndCells::finite(stats::median_interval(&differences, LEVEL));
    let below = share_below(&differences);
    let of_below = EndCells::of(below);
    SummaryRow {
        variant: variant.variant.clone(),
        strategy: variant.strategy.clone(),
        setting: variant.setting.clone(),
        measure,
        unit: measure.unit_in(runs.iter().copied()).to_owned(),
        runs: runs.len() as u64,
        finished: runs.iter().filter(|run| run.is_done()).count() as u64,
        values: known as u64,
        values_ci95_low: of_values.low,
        values_ci95_high: of_values.high,
        mean: stats::mean(averaged),
        mean_ci95_low: of_mean.low,
        mean_ci95_high: of_mean.high,
        sd: stats::sample_sd(averaged),
        median: finite_quantile(&ordered, 0.5),
        p5: finite_quantile(&ordered, 0.05),
        p95: finite_quantile(&ordered, 0.95),
        min: finite_quantile(&ordered, 0.0),
        max: finite_quantile(&ordered, 1.0),
        median_ci95_low: of_median.low,
        median_ci95_high: of_median.high,
        reference: String::new(),
        diff_pairs: differences.len() as u64,
        diff_mean: stats::mean(averaged_differences),
        diff_mean_ci95_low: of_difference.low,
        diff_mean_ci95_high: of_difference.high,
        diff_median: finite_quantile(&stats::ordered(&differences), 0.5),
        diff_median_ci95_low: of_median_difference.low,
        diff_median_ci95_high: of_median_difference.high,
        below_share: below.map(|interval| interval.estimate),
        below_ci95_low: of_below.low,
        below_ci95_high: of_below.high,
    }
}

/// The pairs of runs with the same replicate. Both lists are sorted by replicate; one may be longer.
fn pairs<'r>(base: &'r [RunRecord], own: &'r [RunRecord]) -> Vec<(&'r RunRow, &'r RunRow)> {
    let mut pairs = Vec::new();
    let mut base = base.iter().map(|run| &run.run).peekable();
    for own in own {
        let replicate = own.run.replicate;
        while base.next_if(|other| other.replicate < replicate).is_some() {}
        if let Some(other) = base.next_if(|other| other.replicate == replicate) {
            pairs.push((other, &own.run));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::super::RunOutcome;
    use super::super::testing::{run_record, variant};
    use super::*;

    fn of_completions(name: &str, completions: &[Option<f64>]) -> VariantRecord {
        let run = |(replicate, &completion_s): (u32, &Option<f64>)| {
            let record = run_record(replicate, 10 + u64::from(replicate));
            let outcome = if completion_s.is_some() {
                RunOutcome::Complete
            } else {
                RunOutcome::Horizon
            };
            RunRecord {
                run: RunRow {
                    completion_s,
                    reachable_ready_s: completion_s,
                    outcome,
                    ..record.run
                },
                ..record
            }
        };
        variant(name, (0..).zip(completions).map(run).collect())
    }

    #[test]
    fn a_variant_is_compared_with_the_first_of_its_own_world() {
        let setting = |path: &str, name: &str, value: &str| Setting {
            path: path.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let in_world = |name: &str, clusters: &str, limit: &str| VariantRecord {
            settings: vec![
                setting("fleet[0].clusters", "clusters", clusters),
                setting("strategies.s.limit", "limit", limit),
            ],
            ..of_completions(name, &[Some(10.0), Some(20.0)])
        };
        let nothing = VariantRecord {
            runs: Vec::new(),
            ..in_world("no run", "200", "9")
        };
        let all = [
            nothing,
            in_world("a", "200", "1"),
            in_world("b", "200", "2"),
            in_world("c", "1000", "1"),
            in_world("d", "1000", "2"),
        ];
        let rows = summary(&all, 1);
        let completions: Vec<(&str, &str, u64)> = rows
            .iter()
            .filter(|row| row.measure == Measure::Completion)
            .map(|row| (row.variant.as_str(), row.reference.as_str(), row.diff_pairs))
            .collect();
        assert_eq!(
            completions,
            [("a", "a", 0), ("b", "a", 2), ("c", "c", 0), ("d", "c", 2)]
        );
    }

    #[test]
    fn an_unfinished_run_counts_but_has_no_completion_time() {
        let all = [
            of_completions("base", &[Some(10.0), Some(20.0), Some(60.0)]),
            of_completions("other", &[Some(13.0), None, Some(61.0)]),
        ];
        let rows = summary(&all, 1);
        let of = |variant: &str, measure: Measure| {
            rows.iter()
                .find(|row| row.variant == variant && row.measure == measure)
                .expect("in the summary")
                .clone()
        };
        let base = of("base", Measure::Completion);
        assert_eq!(
            (base.runs, base.finished, base.values, base.diff_pairs),
            (3, 3, 3, 0)
        );
        assert_eq!(
            (base.mean, base.median, base.min, base.max),
            (Some(30.0), Some(20.0), Some(10.0), Some(60.0))
        );
        let other = of("other", Measure::Completion);
        assert_eq!(
            (other.runs, other.finished, other.values, other.diff_pairs),
            (3, 2, 2, 3)
        );
        assert_eq!(other.reference, "base");
        assert_eq!(
            (
                other.mean,
                other.sd,
                other.diff_mean,
                other.diff_mean_ci95_low
            ),
            (None, None, None, None)
        );
        // 13, 61, never; differences 13 - 10 = 3, never, 61 - 60 = 1.
        assert_eq!(
            (other.median, other.min, other.p5, other.p95, other.max),
            (Some(61.0), Some(13.0), Some(17.8), None, None)
        );
        assert_eq!(
            (other.diff_median, other.below_share),
            (Some(3.0), Some(0.0))
        );
        // No success in three: 1 - 0.025^(1/3). Two of three have the time.
        let high = other.below_ci95_high.expect("three pairs have an interval");
        assert!(
            (high - 0.707_6).abs() < 1e-4 && other.below_ci95_low == Some(0.0),
            "{high}"
        );
        let (low, high) = (
            other.values_ci95_low.expect("three runs"),
            other.values_ci95_high.expect("three runs"),
        );
        assert!(
            (low - 0.094_3).abs() < 1e-4 && (high - 0.991_6).abs() < 1e-4,
            "{low} {high}"
        );
        assert_eq!(
            of("other", Measure::PeakPulls).values,
            3,
            "peaks are known of unfinished runs too"
        );
    }

    #[test]
    fn the_median_exists_when_more_than_half_finish_and_its_interval_may_have_no_upper_end() {
        // 100 to 1300 in steps of 100, and seven unfinished runs: the median of twenty is 1050, and its interval goes
        // from the sixth to the fifteenth, which did not finish.
        let times: Vec<Option<f64>> = (1..=20)
            .map(|at| (at <= 13).then(|| f64::from(at) * 100.0))
            .collect();
        let row = &summary(&[of_completions("v", &times)], 1)[0];
        assert_eq!((row.values, row.median), (13, Some(1050.0)));
        assert_eq!(
            (row.median_ci95_low, row.median_ci95_high),
            (Some(600.0), None)
        );
        let half = &summary(&[of_completions("v", &times[4..])], 1)[0];
        // Nine of sixteen: the eighth and the ninth are 1200 and 1300.
        assert_eq!((half.values, half.median), (9, Some(1250.0)));
        let fewer = &summary(&[of_completions("v", &times[8..])], 1)[0];
        assert_eq!((fewer.values, fewer.median), (5, None), "five of twelve");
    }

    #[test]
    fn unfinished_runs_are_later_than_finished_runs_and_equal_each_other() {
        let base = of_completions("base", &[Some(50.0), None, None, Some(70.0)]);
        let other = of_completions("other", &[None, Some(900.0), None, Some(70.0)]);
        let rows = summary(&[base, other], 1);
        let row = rows
            .iter()
            .find(|row| row.variant == "other")
            .expect("in the summary");
        // Behind, ahead, a tie and a tie: 2 of 4; the differences are never, -never, 0 and 0.
        assert_eq!(
            (
                row.diff_pairs,
                row.below_share,
                row.diff_median,
                row.diff_mean
            ),
            (4, Some(0.5), Some(0.0), None)
        );
        assert_eq!(
            paired_differences([(f64::INFINITY, f64::INFINITY), (1.0, 3.0)]),
            [0.0, 2.0]
        );
        assert_eq!(share_below(&[]), None);
    }

    #[test]
    fn statistics_are_empty_if_no_run_finished() {
        let rows = summary(&[of_completions("v", &[None])], 1);
        let row = &rows[0];
        assert_eq!(
            (row.measure, row.values, row.mean, row.median),
            (Measure::Completion, 0, None, None)
        );
        assert_eq!((row.sd, row.median_ci95_low), (None, None));
    }

    #[test]
    fn intervals_depend_only_on_the_seed_and_contain_their_estimate() {
        let values: Vec<Option<f64>> = (0..20)
            .map(|value| Some(f64::from(value * value)))
            .collect();
        let all = [of_completions("v", &values)];
        assert_eq!(summary(&all, 5), summary(&all, 5));
        let row = &summary(&all, 5)[0];
        // For twenty values, the sixth from either end: 5² and 14².
        assert_eq!(
            (row.median_ci95_low, row.median_ci95_high),
            (Some(25.0), Some(196.0))
        );
        let (low, high) = (
            row.mean_ci95_low.expect("an interval"),
            row.mean_ci95_high.expect("an interval"),
        );
        let mean = row.mean.expect("a mean");
        assert!(
            low < mean && high - mean > mean - low,
            "skewed: {low} < {mean} < {high}"
        );
        assert_ne!(summary(&all, 6)[0].mean_ci95_high, row.mean_ci95_high);
    }

    /// The number of rows of each variant: the measures that every strategy has.
    fn of_each_variant() -> usize {
        Measure::ALL
            .iter()
            .filter(|measure| !measure.is_own())
            .count()
    }

    #[test]
    fn the_interval_of_a_difference_resamples_pairs() {
        // The runs are spread over a hundred, and each pair differs by slightly more than 2.
        let base: Vec<Option<f64>> = (0..10)
            .map(|i| Some(f64::from(i * 37 % 10) * 10.0))
            .collect();
        let other = base
            .iter()
            .zip(0..)
            .map(|(base, i)| base.map(|base| base + 2.0 + f64::from(i % 3) * 0.1))
            .collect::<Vec<_>>();
        let row = &summary(
            &[
                of_completions("base", &base),
                of_completions("other", &other),
            ],
            5,
        )[of_each_variant()];
        let (low, high) = (
            row.diff_mean_ci95_low.expect("an interval"),
            row.diff_mean_ci95_high.expect("an interval"),
        );
        assert!(
            1.9 < low && low < 2.09 && 2.09 < high && high < 2.3,
            "{low} {high}"
        );
    }

    #[test]
    fn a_variant_with_more_runs_is_paired_on_common_replicates() {
        let base = of_completions("base", &[Some(1.0), Some(2.0)]);
        let more = of_completions("more", &[Some(2.0), Some(4.0), Some(9.0)]);
        for (all, expected) in [([base.clone(), more.clone()], 1.5), ([more, base], -1.5)] {
            let row = &summary(&all, 1)[of_each_variant()];
            assert_eq!((row.diff_pairs, row.diff_mean), (2, Some(expected)));
        }
    }
}
