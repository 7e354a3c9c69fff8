//! `summary.csv`: each measure of each variant over its runs, with its spread and its difference to the reference.
//!
//! A peak is the median over runs of each run's exact peak; the peak of a median curve would hide waves that shift in
//! time. The interval is one of the median, by a seeded bootstrap over runs. All variants meet the same luck in the
//! same replicate, so they are compared by paired differences, with Student's t interval of the mean difference.

use serde::{Deserialize, Serialize};

use super::measures::{MEASURES, Measure};
use super::{Outcome, RunRow, Setting, VariantRecord};
use crate::stats;

/// Resamples of the bootstrap.
const RESAMPLES: u32 = 2000;

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
    pub measure: String,
    /// The measure's unit.
    pub unit: String,
    /// Runs of the variant.
    pub runs: u64,
    /// Runs that ended complete.
    pub finished: u64,
    /// Runs that have the measure, and that all statistics of the row are taken over.
    pub values: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Sample standard deviation; empty for fewer than two values.
    pub sd: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// 5th percentile.
    pub p5: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Lower end of the 95 % interval of the median; empty for fewer than two values.
    pub median_ci95_low: Option<f64>,
    /// Upper end of the 95 % interval of the median; empty for fewer than two values.
    pub median_ci95_high: Option<f64>,
    /// The variant that differences are taken to: the first of the same world.
    pub reference: String,
    /// Replicates in which both the variant and the reference have the measure; 0 for the reference itself.
    pub diff_pairs: u64,
    /// Mean of the paired differences, variant minus reference.
    pub diff_mean: Option<f64>,
    /// Lower end of the 95 % interval of the mean difference; empty for fewer than two pairs.
    pub diff_mean_ci95_low: Option<f64>,
    /// Upper end of the 95 % interval of the mean difference; empty for fewer than two pairs.
    pub diff_mean_ci95_high: Option<f64>,
}

/// The summary of `variants`, those without runs left out.
pub(super) fn summary(variants: &[VariantRecord], seed: u64) -> Vec<SummaryRow> {
    let world = |variant: &VariantRecord| Setting::of_world(&variant.settings).cloned().collect::<Vec<_>>();
    let with_runs = || variants.iter().filter(|variant| !variant.runs.is_empty());
    let rows = |variant: &VariantRecord| -> Vec<SummaryRow> {
        let reference =
            with_runs().find(|other| world(other) == world(variant)).expect("every variant is of its own world");
        let base = (reference.variant != variant.variant).then_some(reference);
        let row =
            |measure| SummaryRow { reference: reference.variant.clone(), ..compared(measure, variant, base, seed) };
        MEASURES.iter().map(row).collect()
    };
    with_runs().flat_map(rows).collect()
}

/// One measure of one variant, its `reference` left empty.
fn compared(measure: &Measure, variant: &VariantRecord, base: Option<&VariantRecord>, seed: u64) -> SummaryRow {
    let runs: Vec<&RunRow> = variant.runs.iter().map(|run| &run.run).collect();
    let values: Vec<f64> = runs.iter().filter_map(|run| (measure.of)(run)).collect();
    let sorted = stats::sorted(&values);
    let quantile = |p| stats::quantile_of_sorted(&sorted, p);
    let interval = stats::bootstrap_interval(&values, LEVEL, RESAMPLES, seed, |sample| {
        stats::median(sample).expect("a resample is as large as the sample, which is not empty")
    });
    let (theirs, ours): (Vec<f64>, Vec<f64>) = base
        .into_iter()
        .flat_map(|base| base.runs.iter().map(|run| &run.run))
        .filter_map(|other| {
            let own = runs.iter().find(|run| run.replicate == other.replicate)?;
            Some(((measure.of)(other)?, (measure.of)(own)?))
        })
        .unzip();
    let difference = stats::paired_difference(&theirs, &ours, LEVEL);
    let differences: Vec<f64> = ours.iter().zip(&theirs).map(|(own, other)| own - other).collect();
    SummaryRow {
        variant: variant.variant.clone(),
        strategy: variant.strategy.clone(),
        setting: variant.setting.clone(),
        measure: measure.name.to_owned(),
        unit: measure.unit.to_owned(),
        runs: runs.len() as u64,
        finished: runs.iter().filter(|run| run.outcome == Outcome::Complete).count() as u64,
        values: sorted.len() as u64,
        mean: stats::mean(&values),
        sd: stats::sample_sd(&values),
        median: quantile(0.5),
        p5: quantile(0.05),
        p95: quantile(0.95),
        min: sorted.first().copied(),
        max: sorted.last().copied(),
        median_ci95_low: interval.map(|interval| interval.low),
        median_ci95_high: interval.map(|interval| interval.high),
        reference: String::new(),
        diff_pairs: ours.len() as u64,
        diff_mean: stats::mean(&differences),
        diff_mean_ci95_low: difference.map(|interval| interval.low),
        diff_mean_ci95_high: difference.map(|interval| interval.high),
    }
}

#[cfg(test)]
mod tests {
    use super::super::RunRecord;
    use super::super::testing::{run_record, variant};
    use super::*;

    fn of_completions(name: &str, completions: &[Option<f64>]) -> VariantRecord {
        let run = |(replicate, &completion_s): (u32, &Option<f64>)| {
            let record = run_record(replicate, 10 + u64::from(replicate));
            let outcome = if completion_s.is_some() { Outcome::Complete } else { Outcome::Horizon };
            RunRecord { run: RunRow { completion_s, outcome, ..record.run }, ..record }
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
        let nothing = VariantRecord { runs: Vec::new(), ..in_world("no run", "200", "9") };
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
            .filter(|row| row.measure == "completion_s")
            .map(|row| (row.variant.as_str(), row.reference.as_str(), row.diff_pairs))
            .collect();
        assert_eq!(completions, [("a", "a", 0), ("b", "a", 2), ("c", "c", 0), ("d", "c", 2)]);
    }

    #[test]
    fn an_unfinished_run_counts_but_gives_no_completion_time() {
        let all = [
            of_completions("base", &[Some(10.0), Some(20.0), Some(60.0)]),
            of_completions("other", &[Some(13.0), None, Some(61.0)]),
        ];
        let rows = summary(&all, 1);
        let of = |variant: &str, measure: &str| {
            rows.iter().find(|row| row.variant == variant && row.measure == measure).expect("in the summary").clone()
        };
        let base = of("base", "completion_s");
        assert_eq!((base.runs, base.finished, base.values, base.diff_pairs), (3, 3, 3, 0));
        assert_eq!((base.mean, base.median, base.min, base.max), (Some(30.0), Some(20.0), Some(10.0), Some(60.0)));
        let other = of("other", "completion_s");
        assert_eq!((other.runs, other.finished, other.values, other.diff_pairs), (3, 2, 2, 2));
        assert_eq!(other.reference, "base");
        assert_eq!(other.diff_mean, Some(2.0), "13 - 10 = 3 and 61 - 60 = 1; the unfinished pair is left out");
        // Two pairs: mean 2, sd 2^0.5, t(0.975, 1) = 12.706: half width 12.706 * 2^0.5 / 2^0.5.
        let low = other.diff_mean_ci95_low.expect("two pairs have an interval");
        assert!((low - (2.0 - 12.706)).abs() < 1e-3, "{low}");
        assert_eq!(of("other", "peak_pulls").values, 3, "peaks are known of unfinished runs too");
    }

    #[test]
    fn nothing_finished_leaves_the_statistics_empty() {
        let rows = summary(&[of_completions("v", &[None])], 1);
        let row = &rows[0];
        assert_eq!((row.measure.as_str(), row.values, row.mean, row.median), ("completion_s", 0, None, None));
        assert_eq!((row.sd, row.median_ci95_low), (None, None));
    }

    #[test]
    fn the_interval_of_the_median_follows_from_the_seed_alone() {
        let values: Vec<Option<f64>> = (0..20).map(|value| Some(f64::from(value * value))).collect();
        let all = [of_completions("v", &values)];
        assert_eq!(summary(&all, 5), summary(&all, 5));
        let row = &summary(&all, 5)[0];
        let (low, high) = (row.median_ci95_low.expect("an interval"), row.median_ci95_high.expect("an interval"));
        let median = row.median.expect("a median");
        assert!(low < median && median < high, "{low} < {median} < {high}");
    }
}
