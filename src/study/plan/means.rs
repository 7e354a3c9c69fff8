//! Confidence bounds for a mean that are valid for skewed times and for any number of runs.
//!
//! The bounds come from a test by betting: a capital of 1 is multiplied by 1 + λ (x - m) with each run. If the mean is
//! at most m, the expected capital does not grow, and the probability that it ever reaches 1 / ε is at most ε (Ville;
//! Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", J. R. Statist. Soc. B 86 (2024)).
//! No factor may be negative, so a bet needs a lower limit of the values. The capital is split evenly over fixed bets
//! λ, and bets that the lower limit forbids count as lost.
//!
//! Without a lower limit there is no valid bound for a mean, because an event that occurs in no run may move the mean
//! by any amount. The bounds are therefore for a mean in which the worst [`RARE`] of all runs are limited to the edge
//! of that share. After [`runs_to_see`] runs, the worst observed run is at that edge or beyond it.

use crate::stats::bisected;

/// Share of runs at the unfavourable end whose excess beyond the worst observed run is not covered by a statement
/// about a mean. As for `confirm`, statements are about 95% of the runs.
pub(super) const RARE: f64 = 0.05;

/// Fractions of the maximum bet that is allowed if the lower limit of the values is 0.
const FRACTIONS: [f64; 6] = [0.05, 0.15, 0.35, 0.6, 0.85, 0.99];
/// Bets relative to the first run's value: 2^-6 to 2^12 times its inverse.
const EXPONENTS: std::ops::RangeInclusive<i32> = -6..=12;

/// Returns the number of runs after which an event with a probability of [`RARE`] has occurred at least once, except
/// with a probability of `error`.
pub(super) fn runs_to_see(error: f64) -> usize {
    (libm::log(error) / libm::log1p(-RARE)).ceil() as usize
}

/// Returns whether the values show that their mean is greater than 0, without a known lower limit. The answer is wrong
/// with a probability of at most `error`, at any number of values. `scale` is the values' order of magnitude, known
/// after the first run.
pub(super) fn is_above_zero(values: &[f64], scale: f64, error: f64) -> bool {
    values.len() >= runs_to_see(error / 2.0) && capital(values, scale) >= libm::log(2.0 / error)
}

/// Returns whether the pairs show that the mean of `other` is greater than that of `base`, as in [`is_above_zero`].
pub(super) fn is_greater_in_pairs(base: &[f64], other: &[f64], error: f64) -> bool {
    is_above_zero(&differences(base, other), base[0], error)
}

/// Returns the difference between each value of `other` and its pair in `base`.
pub(super) fn differences(base: &[f64], other: &[f64]) -> Vec<f64> {
    let mut differences = Vec::new();
    for (base, other) in base.iter().zip(other) {
        differences.push(other - base);
    }
    differences
}

/// Returns a lower bound for the mean of non-negative values.
pub(super) fn lower(values: &[f64], error: f64) -> f64 {
    let (bound, _) = bisected((0.0, greatest(values)), 40, |mean| {
        !is_lower_bound(values, mean, error)
    });
    bound
}

/// Returns whether non-negative values show that their mean is at least `mean`.
fn is_lower_bound(values: &[f64], mean: f64, error: f64) -> bool {
    if mean <= 0.0 {
        return false;
    }
    let mut capital = Vec::new();
    for fraction in FRACTIONS {
        capital.push(sum_ln(values, |value| fraction * (value / mean - 1.0)));
    }
    log_mean(&capital) >= -libm::log(error)
}

/// Returns an upper bound for the mean of non-negative values. Infinite before [`runs_to_see`] runs.
pub(super) fn upper(values: &[f64], error: f64) -> f64 {
    let greatest = greatest(values);
    if values.len() < runs_to_see(error / 2.0) || !greatest.is_finite() {
        return f64::INFINITY;
    }
    let mut low = 0.0;
    let mut high = greatest.max(f64::MIN_POSITIVE);
    while !is_upper_bound(values, high, error) {
        low = high;
        high *= 2.0;
        if !high.is_finite() {
            return high;
        }
    }
    let (_, bound) = bisected((low, high), 40, |mean| is_upper_bound(values, mean, error));
    bound
}

/// Returns whether non-negative values show that their mean is at most `mean`.
fn is_upper_bound(values: &[f64], mean: f64, error: f64) -> bool {
    let room: Vec<f64> = values.iter().map(|value| mean - value).collect();
    is_above_zero(&room, values[0], error)
}

/// Returns the maximum of non-negative values.
fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Returns the logarithm of the capital after all values except the first, which determines the scale.
fn capital(values: &[f64], scale: f64) -> f64 {
    let scale = if scale.abs() > 0.0 { scale.abs() } else { 1.0 };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut capital = Vec::new();
    for exponent in EXPONENTS {
        let bet = libm::ldexp(1.0 / scale, exponent);
        let is_allowed = bet * least > -1.0;
        capital.push(if is_allowed {
            sum_ln(&values[1..], |value| bet * value)
        } else {
            f64::NEG_INFINITY
        });
    }
    log_mean(&capital)
}

/// Returns the logarithm of a bet's capital after these values. `of`: the relative growth for a value.
fn sum_ln(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    values.iter().map(|value| libm::log1p(of(*value))).sum()
}

/// Returns the logarithm of the mean of numbers that are given as logarithms.
fn log_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return most;
    }
    let sum: f64 = logs.iter().map(|log| libm::exp(log - most)).sum();
    most + libm::log(sum / logs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::draws::Draws;

    #[test]
    fn bounds_enclose_the_mean_of_skewed_times() {
        const ROUNDS: usize = 400;
        type Draw = fn(&mut Draws) -> f64;
        let cases: [(&str, Draw, f64); 4] = [
            (
                "500 s later in a tenth",
                |draws| if draws.unit() < 0.1 { 595.0 } else { 95.0 },
                145.0,
            ),
            (
                "100 s later in a fifth",
                |draws| if draws.unit() < 0.2 { 185.0 } else { 85.0 },
                105.0,
            ),
            (
                "90 or 130",
                |draws| if draws.unit() < 0.5 { 90.0 } else { 130.0 },
                110.0,
            ),
            (
                "exponential",
                |draws| -100.0 * libm::log(draws.unit()),
                100.0,
            ),
        ];
        for (name, draw, mean) in cases {
            let mut draws = Draws::new(9);
            let mut wrong = 0;
            for _ in 0..ROUNDS {
                let values: Vec<f64> = (0..137).map(|_| draw(&mut draws)).collect();
                let mut below = 0.0;
                let mut above = f64::INFINITY;
                for runs in [10, 22, 44, 87, 137] {
                    below = lower(&values[..runs], 0.05).max(below);
                    above = upper(&values[..runs], 0.05).min(above);
                }
                assert!(above.is_finite() && below > 0.0, "{name}");
                wrong += usize::from(below > mean) + usize::from(above < mean);
            }
            // Each bound may be wrong in 5% of the rounds.
            assert!(wrong <= ROUNDS / 10, "{name}: {wrong} of {ROUNDS}");
        }
    }

    #[test]
    fn equal_values_get_a_bound_once_rare_events_would_have_shown() {
        assert_eq!(runs_to_see(0.05), 59);
        assert!(
            upper(&[100.0; 71], 0.05).is_infinite(),
            "0.95^71 = 0.026 > 0.025"
        );
        let high = upper(&[100.0; 72], 0.05);
        assert!((100.0..102.0).contains(&high), "{high}");
        let low = lower(&[100.0; 20], 0.05);
        assert!((70.0..100.0).contains(&low), "{low}");
        assert!(is_above_zero(&[5.0; 72], 100.0, 0.05) && !is_above_zero(&[5.0; 71], 100.0, 0.05));
        assert!(!is_above_zero(&[-5.0; 100], 100.0, 0.05));
    }
}
