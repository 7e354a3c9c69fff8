//! Confidence intervals, and Student's interval of a mean.

use super::sample::{mean, sample_sd};
use super::student::t_quantile;

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate from the sample.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies between the ends, or on one.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Student's interval of the mean of the population that the values were drawn from: mean ± t · sd / √n with n - 1
/// degrees of freedom. `level` is the confidence, such as 0.95. `None` for fewer than two values, whose spread is
/// unknown; of equal values both ends are the mean.
///
/// Exact for normal values, close for others when n is large or the values are not far from symmetric.
///
/// # Panics
/// If `level` is not above 0 and below 1.
#[must_use]
pub fn mean_interval(values: &[f64], level: f64) -> Option<Interval> {
    assert_level(level);
    let estimate = mean(values)?;
    let sd = sample_sd(values)?;
    let degrees = u32::try_from(values.len() - 1).expect("fewer than 2^32 values");
    let half = t_quantile(0.5 + level / 2.0, degrees) * sd / (values.len() as f64).sqrt();
    Some(Interval { estimate, low: estimate - half, high: estimate + half })
}

pub(super) fn assert_level(level: f64) {
    assert!(level > 0.0 && level < 1.0, "not a confidence level: {level}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::coverage::Draws;

    #[test]
    fn the_interval_is_the_textbook_one() {
        // mean 5, sd sqrt(32/7) = 2.138 090, t(0.975, 7) = 2.364 624: half width 2.364 624 · 2.138 090 / sqrt 8
        let interval = mean_interval(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 0.95).expect("eight values");
        assert!((interval.low - (5.0 - 1.787_491)).abs() < 1e-5, "{interval:?}");
        assert!((interval.high - (5.0 + 1.787_491)).abs() < 1e-5, "{interval:?}");
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_a_point() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[3.0], 0.95), None);
        assert_eq!(mean_interval(&[3.0, 3.0], 0.95), Some(Interval { estimate: 3.0, low: 3.0, high: 3.0 }));
    }

    #[test]
    fn intervals_cover_the_true_mean_as_often_as_their_level() {
        const ROUNDS: u32 = 4_000;
        let mut draws = Draws::new(1);
        for level in [0.5, 0.9, 0.95] {
            for size in [2, 5, 20] {
                let covered = (0..ROUNDS)
                    .filter(|_| {
                        let values: Vec<f64> = (0..size).map(|_| 3.0 + 2.0 * draws.normal()).collect();
                        mean_interval(&values, level).expect("at least two values").contains(3.0)
                    })
                    .count();
                let found = covered as f64 / f64::from(ROUNDS);
                let standard_error = (level * (1.0 - level) / f64::from(ROUNDS)).sqrt();
                assert!((found - level).abs() < 4.0 * standard_error, "{size} values at {level}: covered {found}");
            }
        }
    }
}
