//! Confidence intervals, and Student's interval of a mean, with the quantiles of Student's distribution.
//!
//! With ν degrees of freedom, `P(|T| > t) = I_x(ν/2, 1/2)` for `x = ν / (ν + t²)`, where `I` is the regularised
//! incomplete beta function (Abramowitz, Stegun, "Handbook of Mathematical Functions", 26.7.1 and 26.5.27). `I` is
//! computed by its continued fraction (26.5.8), and the quantile by halving an interval: slow, and hard to get wrong.

use super::bisected;
use super::sample::{mean, sample_sd};

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
    /// Returns whether `value` is between the ends, both included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Returns Student's interval of the population mean: mean ± t · sd / √n with n - 1 degrees of freedom. `level` is the
/// confidence, such as 0.95. `None` for fewer than two values, whose spread is unknown. For equal values both ends are
/// the mean.
///
/// The coverage is exact for normal values, and close to `level` for others if n is large or their distribution is
/// nearly symmetric.
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
    Some(Interval {
        estimate,
        low: estimate - half,
        high: estimate + half,
    })
}

pub(super) fn assert_level(level: f64) {
    assert!(
        level > 0.0 && level < 1.0,
        "not a confidence level: {level}"
    );
}

/// Returns the value that a t-distributed variable with `degrees` of freedom stays below with probability `p`. The
/// result is correct to nine digits for up to a million degrees of freedom, and to six digits beyond.
///
/// # Panics
/// If `p` is not above 0 and below 1, or `degrees` is 0.
#[must_use]
pub fn t_quantile(p: f64, degrees: u32) -> f64 {
    assert!(p > 0.0 && p < 1.0, "no quantile at probability {p}");
    assert!(degrees > 0, "no degree of freedom");
    if p < 0.5 {
        return -t_quantile(1.0 - p, degrees);
    }
    let above = 1.0 - p;
    let mut high = 1.0;
    while upper_tail(high, degrees) > above {
        high *= 2.0;
    }
    // Fifty-odd halvings use all bits of a float; the limit prevents endless halving of the last bit.
    let (low, high) = bisected((0.0, high), 100, |middle| {
        upper_tail(middle, degrees) <= above
    });
    0.5 * (low + high)
}

/// Returns P(T > t) for t ≥ 0.
fn upper_tail(t: f64, degrees: u32) -> f64 {
    let nu = f64::from(degrees);
    let x = nu / (nu + t * t);
    // Pass 1 - x = t² / (ν + t²) in addition to x, because computing the difference would lose its digits for small t.
    0.5 * incomplete_beta(x, t * t / (nu + t * t), nu / 2.0, 0.5)
}

/// Returns the regularised incomplete beta function I_x(a, b); `y` is 1 - x.
pub(super) fn incomplete_beta(x: f64, y: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let ln_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log(y);
    let front = libm::exp(ln_front);
    // I_x(a, b) = 1 - I_y(b, a): the fraction converges quickly on the side that is chosen here.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(y, b, a) / b
    }
}

/// Returns `1 / (1 + d1 / (1 + d2 / (1 + ...)))` , the continued fraction of 26.5.8, evaluated from the front (Lentz's
/// method as modified by Thompson and Barnett, Journal of Computational Physics 64 (1986)).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TOLERANCE: f64 = 1e-14;
    // The number of steps is proportional to sqrt(max(a, b)); this is enough for 2³² degrees of freedom.
    const STEPS: u32 = 1_000_000;
    let mut value = 1.0_f64;
    let mut c = 1.0_f64;
    let mut d = 0.0_f64;
    for step in 0..=STEPS {
        let m = f64::from(step / 2);
        let numerator = if step == 0 {
            1.0
        } else if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / away_from_zero(1.0 + numerator * d);
        c = away_from_zero(1.0 + numerator / c);
        let factor = c * d;
        value *= factor;
        if step > 0 && (factor - 1.0).abs() < TOLERANCE {
            break;
        }
    }
    value - 1.0
}

/// Returns the value, or a tiny number if the value is closer to 0.
const fn away_from_zero(value: f64) -> f64 {
    const TINY: f64 = 1e-300;
    if value.abs() < TINY { TINY } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::draws::Draws;

    #[test]
    fn the_interval_equals_the_textbook_example() {
        // The mean is 5, sd sqrt(32/7) = 2.138 090, t(0.975, 7) = 2.364 624, so the half width is 2.364 624 · 2.138
        // 090 / sqrt 8.
        let interval =
            mean_interval(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 0.95).expect("eight values");
        assert!(
            (interval.low - (5.0 - 1.787_491)).abs() < 1e-5,
            "{interval:?}"
        );
        assert!(
            (interval.high - (5.0 + 1.787_491)).abs() < 1e-5,
            "{interval:?}"
        );
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_a_point() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[3.0], 0.95), None);
        assert_eq!(
            mean_interval(&[3.0, 3.0], 0.95),
            Some(Interval {
                estimate: 3.0,
                low: 3.0,
                high: 3.0
            })
        );
    }

    #[test]
    fn intervals_cover_the_true_mean_as_often_as_their_level() {
        const ROUNDS: u32 = 4_000;
        let mut draws = Draws::new(1);
        for level in [0.5, 0.9, 0.95] {
            for size in [2, 5, 20] {
                let covered = (0..ROUNDS)
                    .filter(|_| {
                        let values: Vec<f64> =
                            (0..size).map(|_| 3.0 + 2.0 * draws.normal()).collect();
                        mean_interval(&values, level)
                            .expect("at least two values")
                            .contains(3.0)
                    })
                    .count();
                let found = covered as f64 / f64::from(ROUNDS);
                let standard_error = (level * (1.0 - level) / f64::from(ROUNDS)).sqrt();
                assert!(
                    (found - level).abs() < 4.0 * standard_error,
                    "{size} values at {level}: covered {found}"
                );
            }
        }
    }

    #[test]
    fn quantiles_equal_the_printed_table() {
        // Values with three decimals from the NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
        for (p, degrees, expected) in [
            (0.90, 1, 3.078),
            (0.975, 1, 12.706),
            (0.95, 2, 2.920),
            (0.975, 2, 4.303),
            (0.995, 4, 4.604),
            (0.975, 5, 2.571),
            (0.95, 9, 1.833),
            (0.975, 10, 2.228),
            (0.99, 19, 2.539),
            (0.975, 30, 2.042),
            (0.995, 60, 2.660),
            (0.975, 100, 1.984),
        ] {
            let found = t_quantile(p, degrees);
            assert!(
                (found - expected).abs() < 0.000_6,
                "t({p}, {degrees}) = {found}, printed as {expected}"
            );
            assert!(
                (t_quantile(1.0 - p, degrees) + found).abs() < 1e-6 * found,
                "symmetric"
            );
        }
    }

    #[test]
    fn quantiles_equal_the_closed_forms() {
        for p in [0.5, 0.500_001, 0.6, 0.75, 0.9, 0.975, 0.999_9] {
            let cauchy = libm::tan(std::f64::consts::PI * (p - 0.5));
            let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
            for (degrees, expected) in [(1, cauchy), (2, two)] {
                let found = t_quantile(p, degrees);
                assert!(
                    (found - expected).abs() <= 1e-9 * (1.0 + expected),
                    "t({p}, {degrees}) = {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn with_many_degrees_of_freedom_quantiles_are_normal() {
        // The quantile is about z + (z³ + z) / 4ν, with z(0.975) = 1.959 963 985 (Abramowitz, Stegun, 26.7.5).
        for degrees in [100_000, 10_000_000, u32::MAX] {
            let z = 1.959_963_985_f64;
            let expected = z + (z * z * z + z) / (4.0 * f64::from(degrees));
            let found = t_quantile(0.975, degrees);
            assert!(
                (found - expected).abs() < 1e-6,
                "{degrees}: {found}, not {expected}"
            );
        }
    }
}
