//! The bootstrap: an interval of any statistic of some runs, by drawing as many runs from them again and again.
//!
//! The percentile interval of Efron, Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13. It is too
//! narrow for few runs (below about twenty), the more so for extreme quantiles: no resample holds a run that never
//! happened.

use super::interval::{Interval, assert_level};
use super::sample::{quantile_of_sorted, sorted};

/// The percentile interval of `statistic` over the runs, of which `runs` is one sample: the statistic of `resamples`
/// draws of as many runs with replacement, cut at both ends by half of what `level` leaves. `seed` decides the draws:
/// the same arguments give the same interval. `None` for fewer than two runs, whose spread is unknown.
///
/// What is drawn is a whole run, so that what belongs together stays together: give pairs for a paired comparison.
///
/// # Panics
/// If `level` is not above 0 and below 1, `resamples` is 0, or the statistic of a resample is not finite.
#[must_use]
pub fn bootstrap_interval<T: Clone>(
    runs: &[T],
    level: f64,
    resamples: u32,
    seed: u64,
    mut statistic: impl FnMut(&[T]) -> f64,
) -> Option<Interval> {
    assert_level(level);
    assert!(resamples > 0, "an interval needs resamples");
    if runs.len() < 2 {
        return None;
    }
    let mut indices = Indices::new(seed);
    let mut resample = Vec::with_capacity(runs.len());
    let statistics: Vec<f64> = (0..resamples)
        .map(|_| {
            resample.clear();
            resample.extend((0..runs.len()).map(|_| runs[indices.below(runs.len())].clone()));
            statistic(&resample)
        })
        .collect();
    let statistics = sorted(&statistics);
    let tail = (1.0 - level) / 2.0;
    Some(Interval {
        estimate: statistic(runs),
        low: quantile_of_sorted(&statistics, tail)?,
        high: quantile_of_sorted(&statistics, 1.0 - tail)?,
    })
}

/// Draws of an index: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(super) struct Indices(u64);

impl Indices {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Below `count`, each equally likely but for a share of `count` in 2⁶⁴.
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((u128::from(z) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{mean, mean_interval, median};

    fn mean_of(values: &[f64]) -> f64 {
        mean(values).expect("a resample is not empty")
    }

    #[test]
    fn the_seed_decides_the_interval() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i % 31)).collect();
        let interval = |seed| bootstrap_interval(&values, 0.9, 500, seed, mean_of);
        assert_eq!(interval(1), interval(1));
        assert_ne!(interval(1), interval(2));
    }

    #[test]
    fn one_run_has_no_interval_and_equal_runs_have_a_point() {
        assert_eq!(bootstrap_interval(&[], 0.95, 100, 1, mean_of), None);
        assert_eq!(bootstrap_interval(&[3.0], 0.95, 100, 1, mean_of), None);
        let point = Interval { estimate: 3.0, low: 3.0, high: 3.0 };
        assert_eq!(bootstrap_interval(&[3.0; 5], 0.95, 100, 1, mean_of), Some(point));
    }

    #[test]
    fn of_a_mean_it_is_close_to_students() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 200)).collect();
        let resampled = bootstrap_interval(&values, 0.95, 5_000, 1, mean_of).expect("two hundred runs");
        let student = mean_interval(&values, 0.95).expect("two hundred runs");
        // Both ends within a tenth of the half width, which is 8.1.
        assert!((resampled.low - student.low).abs() < 0.8, "{resampled:?}, {student:?}");
        assert!((resampled.high - student.high).abs() < 0.8, "{resampled:?}, {student:?}");
    }

    #[test]
    fn a_pair_is_drawn_together() {
        let pairs: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i), f64::from(i) + 2.0)).collect();
        let difference = |pairs: &[(f64, f64)]| {
            median(&pairs.iter().map(|(base, other)| other - base).collect::<Vec<_>>()).expect("a resample")
        };
        let interval = bootstrap_interval(&pairs, 0.95, 200, 1, difference).expect("twenty runs");
        assert_eq!(interval, Interval { estimate: 2.0, low: 2.0, high: 2.0 });
    }

    #[test]
    fn intervals_of_a_median_cover_it_about_as_often_as_they_say() {
        const ROUNDS: u32 = 500;
        let mut draws = Indices::new(3);
        let mut covered = 0;
        for round in 0..ROUNDS {
            // Exponential with mean 1, whose median is ln 2: a skewed statistic of a skewed distribution.
            let values: Vec<f64> =
                (0..40).map(|_| -((draws.below(1 << 52) as f64 + 0.5) / (1_u64 << 52) as f64).ln()).collect();
            let interval = bootstrap_interval(&values, 0.9, 400, round.into(), |values| {
                median(values).expect("a resample is not empty")
            });
            covered += u32::from(interval.expect("forty runs").contains(std::f64::consts::LN_2));
        }
        // 0.90 with standard error sqrt(0.9 · 0.1 / 500) = 0.0134; four of them, and 0.01 for being approximate
        let found = f64::from(covered) / f64::from(ROUNDS);
        assert!((found - 0.9).abs() < 0.064, "covered {found}");
    }

    #[test]
    fn indices_are_equally_likely() {
        let mut indices = Indices::new(4);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[indices.below(7)] += 1;
        }
        // 10 000 each, standard error sqrt(70 000 · 1/7 · 6/7) = 93
        assert!(counts.iter().all(|count| (9_535..=10_465).contains(count)), "{counts:?}");
    }
}
