//! Multiple comparisons with the best: which of several means may be the smallest, with simultaneous intervals.
//!
//! If each difference from the observed best had its own 95% interval, more than 5% of all studies would miss some
//! true difference, and the observed best is itself chosen by chance. Here the level holds for all statements together
//! (Hsu, "Multiple Comparisons: Theory and Methods" (1996), chapter 4): each variant in turn is assumed to be the
//! best, and compared with all others simultaneously. The variant remains a candidate unless another one is shown to
//! be better. For the true best to remain, only its own comparison must hold, so it is among the candidates with the
//! probability of the level.
//!
//! The runs are paired by their replicate, so differences are between pairs and their variances differ. The critical
//! value of each comparison is the quantile of the greatest Student's ratio over the others, from resamples of whole
//! replicates (bootstrap max-t; Romano, Wolf, Econometrica 73, 2005), and at least Student's quantile. With few
//! replicates or many variants it is Bonferroni's.

use super::bootstrap::{Indices, MOST_RESAMPLED, students_ratio};
use super::interval::{Interval, assert_level, t_quantile};
use super::sample::{mean, sample_sd};

/// Minimum number of replicates for resampling.
const FEWEST: usize = 5;

/// Maximum number of variants for resampling.
const MOST_VARIANTS: usize = 40;

/// A variant compared with the best of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contender {
    /// Whether the variant's mean may be the smallest.
    pub may_be_best: bool,
    /// Difference of the variant's mean from the smallest mean of the others, with its simultaneous interval. One end
    /// is 0 if the variant is shown to be the best, or shown not to be.
    pub behind: Interval,
}

/// Compares the means of variants, each with its values in the order of the replicates. All intervals and marks
/// together are correct with probability `level`. `None` for fewer than two variants or replicates.
///
/// # Panics
/// If variants have different numbers of values, or `level` is not above 0 and below 1.
#[must_use]
pub fn with_the_best(
    variants: &[Vec<f64>],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Vec<Contender>> {
    assert_level(level);
    let count = variants.len();
    let runs = variants.first()?.len();
    assert!(
        variants.iter().all(|values| values.len() == runs),
        "paired variants have the same replicates"
    );
    if count < 2 || runs < 2 {
        return None;
    }
    let differences = paired_differences(variants);
    let critical = critical_values(variants, &differences, level, resamples, seed);
    let comparisons = Comparisons {
        differences,
        critical,
    };
    let may_be_best: Vec<bool> = (0..count)
        .map(|variant| comparisons.may_be_best(variant))
        .collect();
    let contenders = (0..count).map(|variant| comparisons.contender(variant, &may_be_best));
    Some(contenders.collect())
}

/// The difference of two variants over their replicates.
#[derive(Clone, Copy)]
struct PairedDifference {
    mean: f64,
    /// Standard error of the mean difference.
    standard_error: f64,
}

/// Returns the differences of each ordered pair of variants.
fn paired_differences(variants: &[Vec<f64>]) -> Vec<Vec<PairedDifference>> {
    let root = (variants[0].len() as f64).sqrt();
    let mut differences = Vec::with_capacity(variants.len());
    for own in variants {
        let mut row = Vec::with_capacity(variants.len());
        for other in variants {
            let values: Vec<f64> = own
                .iter()
                .zip(other)
                .map(|(own, other)| own - other)
                .collect();
            row.push(PairedDifference {
                mean: mean(&values).unwrap_or(0.0),
                standard_error: sample_sd(&values).unwrap_or(0.0) / root,
            });
        }
        differences.push(row);
    }
    differences
}

/// All comparisons of variants with one another.
struct Comparisons {
    differences: Vec<Vec<PairedDifference>>,
    /// Critical value of each variant when it is assumed to be the best.
    critical: Vec<f64>,
}

impl Comparisons {
    /// Returns a lower bound of how far `variant` is behind `other`.
    fn least(&self, variant: usize, other: usize) -> f64 {
        let difference = self.differences[variant][other];
        difference.mean - self.critical[variant] * difference.standard_error
    }

    fn others(&self, variant: usize) -> impl Iterator<Item = usize> {
        (0..self.differences.len()).filter(move |other| *other != variant)
    }

    /// Returns whether no other variant is shown to be better.
    fn may_be_best(&self, variant: usize) -> bool {
        let mut others = self.others(variant);
        others.all(|other| self.least(variant, other) <= 0.0)
    }

    /// Compares a variant with the best of the others. `may_be_best`: for each variant, whether it may be the best.
    fn contender(&self, variant: usize, may_be_best: &[bool]) -> Contender {
        let mut estimate = f64::NEG_INFINITY;
        let mut low = f64::NEG_INFINITY;
        // Upper bound of how far the variant is behind a candidate for the best.
        let mut high = f64::NEG_INFINITY;
        for other in self.others(variant) {
            estimate = estimate.max(self.differences[variant][other].mean);
            low = low.max(self.least(variant, other));
            if may_be_best[other] {
                high = high.max(-self.least(other, variant));
            }
        }
        let low = if may_be_best[variant] {
            low.min(0.0)
        } else {
            0.0
        };
        // The compiler determines whether `max` returns -0 or 0; adding 0 always gives 0.
        let high = high.max(0.0) + 0.0;
        Contender {
            may_be_best: may_be_best[variant],
            behind: Interval {
                estimate,
                low,
                high,
            },
        }
    }
}

/// Returns, for each variant assumed to be the best, the number of standard errors by which another variant may seem
/// better by chance.
fn critical_values(
    variants: &[Vec<f64>],
    differences: &[Vec<PairedDifference>],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Vec<f64> {
    let count = variants.len();
    let runs = variants[0].len();
    let degrees = u32::try_from(runs - 1).expect("fewer than 2^32 runs");
    let bonferroni = t_quantile(1.0 - (1.0 - level) / (count - 1) as f64, degrees);
    if runs < FEWEST || count > MOST_VARIANTS {
        return vec![bonferroni; count];
    }
    let rank = ((resamples + 1) as f64 * level).ceil() as usize - 1;
    let rank = rank.min(resamples - 1);
    let student = t_quantile(level, degrees);
    let mut critical = Vec::with_capacity(count);
    for mut ratios in greatest_ratios(variants, differences, resamples, seed) {
        let (_, &mut quantile, _) = ratios.select_nth_unstable_by(rank, f64::total_cmp);
        critical.push(quantile.max(student));
    }
    critical
}

/// Returns the greatest ratio of each variant in every resample.
fn greatest_ratios(
    variants: &[Vec<f64>],
    differences: &[Vec<PairedDifference>],
    resamples: usize,
    seed: u64,
) -> Vec<Vec<f64>> {
    let count = variants.len();
    let runs = variants[0].len();
    let mut greatest: Vec<Vec<f64>> = vec![Vec::with_capacity(resamples); count];
    let mut indices = Indices::new(seed);
    for _ in 0..resamples {
        let drawn: Vec<usize> = (0..runs.min(MOST_RESAMPLED))
            .map(|_| indices.below(runs))
            .collect();
        let mut most = vec![f64::NEG_INFINITY; count];
        for own in 0..count {
            for other in own + 1..count {
                let difference = differences[own][other];
                let ratio = ratio(&variants[own], &variants[other], difference, &drawn);
                most[own] = most[own].max(ratio);
                most[other] = most[other].max(-ratio);
            }
        }
        for (ratios, most) in greatest.iter_mut().zip(most) {
            ratios.push(most);
        }
    }
    greatest
}

/// Returns Student's ratio of a pair in a resample of replicates; 0 if the pair's difference is constant.
fn ratio(own: &[f64], other: &[f64], difference: PairedDifference, drawn: &[usize]) -> f64 {
    let PairedDifference {
        mean,
        standard_error,
    } = difference;
    if standard_error <= 0.0 {
        return 0.0;
    }
    let deviations = drawn.iter().map(|&run| own[run] - other[run] - mean);
    let variance = standard_error * standard_error * drawn.len() as f64;
    students_ratio(deviations, variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::bootstrap_interval;
    use crate::stats::draws::Draws;

    /// Draws paired values: the sum of a shared deviation and a separate deviation of each variant.
    fn drawn(
        draws: &mut Draws,
        means: &[f64],
        runs: usize,
        own: fn(&mut Draws) -> f64,
    ) -> Vec<Vec<f64>> {
        let mut variants = vec![Vec::new(); means.len()];
        for _ in 0..runs {
            let shared = 10.0 * draws.normal();
            for (values, mean) in variants.iter_mut().zip(means) {
                values.push(mean + shared + own(draws));
            }
        }
        variants
    }

    fn truly_behind(means: &[f64], at: usize) -> f64 {
        let others = means
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at)
            .map(|(_, mean)| *mean);
        means[at] - others.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn simultaneous_intervals_cover_all_values_as_often_as_their_level() {
        const STUDIES: u32 = 300;
        type Own = fn(&mut Draws) -> f64;
        let normal: Own = |draws| draws.normal();
        // The mean of this deviation is exp(1/8) - exp(1/8) = 0.
        let skewed: Own = |draws| libm::exp(0.5 * draws.normal()) - 1.133_148_453_066_826_4;
        let cases: [(&str, &[f64], usize, Own); 5] = [
            ("equal", &[100.0; 6], 20, normal),
            ("equal, few runs", &[100.0; 4], 6, normal),
            (
                "two are close",
                &[100.0, 100.3, 101.0, 103.0, 110.0],
                20,
                normal,
            ),
            ("skewed", &[100.0, 100.3, 101.0, 101.0], 20, skewed),
            ("three runs", &[100.0, 100.5, 101.0], 3, normal),
        ];
        for (name, means, runs, own) in cases {
            let mut draws = Draws::new(11);
            let (mut covered, mut kept) = (0, 0);
            for study in 0..STUDIES {
                let values = drawn(&mut draws, means, runs, own);
                let found =
                    with_the_best(&values, 0.95, 399, u64::from(study)).expect("several variants");
                covered += u32::from(
                    (0..means.len()).all(|at| found[at].behind.contains(truly_behind(means, at))),
                );
                kept += u32::from(found[0].may_be_best);
            }
            let least = 0.95 - 4.0 * (0.95 * 0.05 / f64::from(STUDIES)).sqrt();
            let share = |count: u32| f64::from(count) / f64::from(STUDIES);
            assert!(
                share(kept) > least,
                "{name}: the best is among those that may be in {}",
                share(kept)
            );
            assert!(
                share(covered) > least,
                "{name}: all intervals cover in {}",
                share(covered)
            );
        }
    }

    #[test]
    fn separate_intervals_against_the_observed_best_are_wrong_far_more_often() {
        // This is why separate intervals are not enough: among six equal variants, at least one seems slower than the
        // fastest in most studies.
        let mut draws = Draws::new(12);
        let mut wrong = 0;
        for study in 0..200 {
            let values = drawn(&mut draws, &[100.0; 6], 20, Draws::normal);
            let means: Vec<f64> = values
                .iter()
                .map(|values| mean(values).expect("runs"))
                .collect();
            let best = (0..6)
                .min_by(|&a, &b| means[a].total_cmp(&means[b]))
                .expect("six");
            let excluded = |at: usize| {
                let differences: Vec<f64> = values[at]
                    .iter()
                    .zip(&values[best])
                    .map(|(own, best)| own - best)
                    .collect();
                at != best
                    && bootstrap_interval(&differences, 0.95, 399, study)
                        .expect("pairs")
                        .low
                        > 0.0
            };
            wrong += u32::from((0..6).any(excluded));
        }
        assert!(wrong > 60, "{wrong} of 200");
    }

    #[test]
    fn clear_differences_are_found_and_constant_ones_are_exact() {
        let mut draws = Draws::new(13);
        let values = drawn(&mut draws, &[100.0, 105.0, 100.1], 20, Draws::normal);
        let found = with_the_best(&values, 0.95, 999, 1).expect("three");
        assert_eq!(
            found.iter().map(|one| one.may_be_best).collect::<Vec<_>>(),
            [true, false, true]
        );
        assert!(
            found[1].behind.low >= 0.0 && found[1].behind.high > 4.0 && found[1].behind.high < 7.0,
            "{found:?}"
        );
        let base: Vec<f64> = (0..10).map(|run| f64::from(run * run)).collect();
        let later: Vec<f64> = base.iter().map(|value| value + 2.0).collect();
        let found = with_the_best(&[later, base.clone()], 0.95, 99, 1).expect("two");
        assert_eq!(
            found.iter().map(|one| one.may_be_best).collect::<Vec<_>>(),
            [false, true]
        );
        assert!(
            (found[0].behind.high - 2.0).abs() < 1e-9 && (found[1].behind.low + 2.0).abs() < 1e-9,
            "{found:?}"
        );
        assert_eq!(with_the_best(&[base], 0.95, 99, 1), None);
    }
}
