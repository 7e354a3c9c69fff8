//! `comparison.csv`: which variants may be the best of the compared ones, by measures that should be low.
//!
//! The comparisons of one measure hold together, at 95% (see `stats::with_the_best`). Different measures and different
//! worlds are different questions, each with its own 95% level.
//!
//! A variant without a value in a replicate has no mean, so it is not the best if another variant has all values. Only
//! the replicates that all variants have are compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Measure, READY_TIME, RunRow, Setting, VariantRecord, compared};
use fleetsim_units::stats::{self, Contender};

/// The compared measures.
const COMPARED: [Measure; 8] = [
    READY_TIME,
    Measure::Completion,
    Measure::PeakPulls,
    Measure::EgressPeak60s,
    Measure::FailedPulls,
    Measure::PeakNotReady,
    Measure::NotReadyClusterHours,
    Measure::ExposedTargets,
];
/// Number of resamples for the critical values.
const RESAMPLES: usize = 999;
/// The joint level of all statements on one measure in one world.
const LEVEL: f64 = 0.95;

/// `comparison.csv`: one measure of one variant, compared with the other variants of its world.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ComparisonRow {
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
    /// Number of variants that are compared.
    pub compared: u64,
    /// Number of replicates that all compared variants have.
    pub pairs: u64,
    /// Whether the variant's mean may be the smallest.
    pub may_be_best: bool,
    /// Difference of the variant's mean from the smallest mean of the other variants; empty if the variant has no
    /// mean.
    pub behind: Option<f64>,
    /// Lower end of the simultaneous 95% interval of the difference from the smallest mean of the other variants.
    pub behind_low: Option<f64>,
    /// Upper end of the simultaneous 95% interval of the difference from the smallest mean of the other variants.
    pub behind_high: Option<f64>,
}

/// The comparisons of all variants with runs. A variant that is alone in its world is not compared.
pub(super) fn comparisons(variants: &[VariantRecord], seed: u64) -> Vec<ComparisonRow> {
    let variants: Vec<&VariantRecord> = variants
        .iter()
        .filter(|variant| !variant.runs.is_empty())
        .collect();
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.settings.as_slice())
        .collect();
    let mut rows = Vec::new();
    for group in compared(&settings).iter().filter(|group| group.len() > 1) {
        let mut runs: Vec<Vec<&RunRow>> = Vec::new();
        for &at in group {
            runs.push(variants[at].runs.iter().map(|run| &run.run).collect());
        }
        for measure in COMPARED {
            let (pairs, found) = contenders(&runs, |run| measure.of(run), seed);
            for (&at, found) in group.iter().zip(found) {
                let variant = variants[at];
                let mut row = ComparisonRow {
                    variant: variant.variant.clone(),
                    strategy: variant.strategy.clone(),
                    setting: variant.setting.clone(),
                    measure,
                    unit: measure.unit().to_owned(),
                    compared: group.len() as u64,
                    pairs: pairs as u64,
                    ..ComparisonRow::default()
                };
                if let Some(found) = found {
                    row.may_be_best = found.may_be_best;
                    row.behind = Some(found.behind.estimate);
                    row.behind_low = Some(found.behind.low);
                    row.behind_high = Some(found.behind.high);
                }
                rows.push(row);
            }
        }
    }
    rows
}

/// Compares one measure of several variants over their common replicates, the number of which is returned first. A
/// variant without a value in one of them is `None`; so are all variants if fewer than two variants or replicates can
/// be compared.
#[must_use]
pub fn contenders(
    variants: &[Vec<&RunRow>],
    of: impl Fn(&RunRow) -> Option<f64>,
    seed: u64,
) -> (usize, Vec<Option<Contender>>) {
    let mut by_replicate: Vec<BTreeMap<u32, &RunRow>> = Vec::new();
    for runs in variants {
        by_replicate.push(runs.iter().map(|run| (run.replicate, *run)).collect());
    }
    let common = common_replicates(variants, &by_replicate);
    // The values of the variants that have a value in every replicate, and the indices of these variants.
    let mut complete: Vec<Vec<f64>> = Vec::new();
    let mut with_values: Vec<usize> = Vec::new();
    for (variant, runs) in by_replicate.iter().enumerate() {
        let values = common.iter().map(|replicate| of(runs[replicate]));
        if let Some(values) = values.collect() {
            complete.push(values);
            with_values.push(variant);
        }
    }
    let mut of_each: Vec<Option<Contender>> = vec![None; variants.len()];
    if let Some(found) = stats::with_the_best(&complete, LEVEL, RESAMPLES, seed) {
        for (variant, contender) in with_values.into_iter().zip(found) {
            of_each[variant] = Some(contender);
        }
    }
    (common.len(), of_each)
}

/// The replicates that all variants have, in the first variant's order.
fn common_replicates(
    variants: &[Vec<&RunRow>],
    by_replicate: &[BTreeMap<u32, &RunRow>],
) -> Vec<u32> {
    let mut common = Vec::new();
    for run in variants.first().into_iter().flatten() {
        let replicate = run.replicate;
        if by_replicate
            .iter()
            .all(|runs| runs.contains_key(&replicate))
        {
            common.push(replicate);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::super::testing::{run_record, variant};
    use super::*;
    use crate::results::{Direction, RunRecord};

    fn of_times(name: &str, times: &[Option<f64>]) -> VariantRecord {
        let run = |(replicate, &reachable_ready_s): (u32, &Option<f64>)| {
            let record = run_record(replicate, 10);
            RunRecord {
                run: RunRow {
                    reachable_ready_s,
                    ..record.run
                },
                ..record
            }
        };
        variant(name, (0..).zip(times).map(run).collect())
    }

    fn times(base: f64, step: f64) -> Vec<Option<f64>> {
        (0..12)
            .map(|run| Some(base + 10.0 * f64::from(run * 7 % 12) + step * f64::from(run % 3)))
            .collect()
    }

    #[test]
    fn less_of_a_compared_measure_is_better() {
        for measure in COMPARED {
            assert_eq!(measure.direction(), Direction::LessIsBetter, "{measure}");
        }
    }

    #[test]
    fn every_variant_that_may_be_the_fastest_is_marked() {
        let mut stuck = times(90.0, 0.0);
        stuck[5] = None;
        let all = [
            of_times("a", &times(100.0, 0.0)),
            of_times("b", &times(99.9, 0.1)),
            of_times("c", &times(130.0, 0.3)),
            of_times("stuck", &stuck),
        ];
        let rows = comparisons(&all, 1);
        let of = |name: &str| {
            let found = rows
                .iter()
                .find(|row| row.variant == name && row.measure == READY_TIME);
            found.expect("a row for each measure and variant").clone()
        };
        assert_eq!(
            (
                of("a").may_be_best,
                of("b").may_be_best,
                of("c").may_be_best
            ),
            (true, true, false)
        );
        assert_eq!((of("a").compared, of("a").pairs), (4, 12));
        assert!(
            of("c").behind_low >= Some(0.0) && of("c").behind.expect("a mean") > 29.0,
            "{:?}",
            of("c")
        );
        assert_eq!(
            (of("stuck").may_be_best, of("stuck").behind),
            (false, None),
            "it has no mean"
        );
        // All values are equal, so every variant may have the lowest peak.
        assert!(
            rows.iter()
                .filter(|row| row.measure == Measure::PeakPulls)
                .all(|row| row.may_be_best)
        );
        assert!(
            comparisons(&all[..1], 1).is_empty(),
            "nothing to compare with"
        );
    }

    #[test]
    fn variants_are_compared_over_the_replicates_that_all_have() {
        let all = [
            of_times("a", &times(100.0, 0.0)),
            of_times("b", &times(101.0, 0.0)[..4]),
        ];
        let rows = comparisons(&all, 1);
        assert_eq!(
            (rows[0].pairs, rows[0].may_be_best, rows[1].may_be_best),
            (4, true, false),
            "always 1 s later"
        );
    }
}
