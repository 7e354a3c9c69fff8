//! Location and spread of one sample.

/// Returns the values in ascending order.
///
/// # Panics
/// If a value is not finite.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    for value in values {
        assert!(value.is_finite(), "a sample holds {value}");
    }
    ordered(values)
}

/// Returns the values, which may be infinite, in ascending order.
///
/// # Panics
/// If a value is not a number.
#[must_use]
pub fn ordered(values: &[f64]) -> Vec<f64> {
    assert!(
        !values.iter().any(|value| value.is_nan()),
        "a sample holds NaN"
    );
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    ordered
}

/// Returns the `p`-quantile of values in ascending order; `None` without values. The quantile is infinite if it
/// depends on an infinite value, and `None` if it is between infinite values of opposite signs.
///
/// The quantile is linear between order statistics: with n values `x[0]..x[n-1]` and `h = (n - 1) p` it is `x[⌊h⌋] +
/// (h - ⌊h⌋) (x[⌊h⌋ + 1] - x[⌊h⌋])`. This is type 7 of Hyndman, Fan, "Sample quantiles in statistical packages", The
/// American Statistician 50 (1996); also the default of R and `NumPy`.
///
/// # Panics
/// If `p` is not between 0 and 1.
#[must_use]
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&p), "not a quantile's share: {p}");
    let last = sorted.len().checked_sub(1)?;
    let h = last as f64 * p;
    let below = h.floor() as usize;
    let share = h - h.floor();
    let low = sorted[below];
    let high = sorted[(below + 1).min(last)];
    match (low.is_finite(), high.is_finite()) {
        (true, true) => Some(low + share * (high - low)),
        // Do not interpolate between equal values: the difference of infinite values would be NaN.
        _ if share <= 0.0 || low.total_cmp(&high).is_eq() => Some(low),
        (true, false) => Some(high),
        (false, true) => Some(low),
        (false, false) => None,
    }
}

/// Returns the middle value, or the mean of the two middle ones. `None` without values.
///
/// # Panics
/// If a value is not finite.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile_of_sorted(&sorted(values), 0.5)
}

/// Returns the arithmetic mean. `None` without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the standard deviation of the population: squared deviations from the mean are divided by n - 1. `None` for
/// fewer than two values.
#[must_use]
pub fn sample_sd(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    let variance = squares.sum::<f64>() / (values.len() - 1) as f64;
    Some(variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn quantile(values: &[f64], p: f64) -> Option<f64> {
        quantile_of_sorted(&sorted(values), p)
    }

    fn assert_near(found: Option<f64>, expected: f64, why: &str) {
        let found = found.expect(why);
        assert!(
            (found - expected).abs() < 1e-12,
            "{found}, not {expected}: {why}"
        );
    }

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        let cases: [(&[f64], f64, f64, &str); 7] = [
            (&[7.0], 0.3, 7.0, "one value is every quantile"),
            (&[3.0, 1.0], 0.5, 2.0, "halfway between two, in any order"),
            (&[1.0, 2.0, 3.0, 4.0], 0.25, 1.75, "h = 3 · 0.25 = 0.75"),
            (&[1.0, 2.0, 3.0, 4.0], 0.0, 1.0, "the least"),
            (&[1.0, 2.0, 3.0, 4.0], 1.0, 4.0, "the greatest"),
            (
                &[10.0, 20.0, 20.0, 20.0, 90.0],
                0.9,
                62.0,
                "h = 3.6: 20 + 0.6 · 70",
            ),
            (&[5.0, 5.0, 5.0], 0.77, 5.0, "equal values"),
        ];
        for (values, p, expected, why) in cases {
            assert_near(quantile(values, p), expected, why);
        }
    }

    #[test]
    fn a_quantile_that_depends_on_an_infinite_value_is_infinite() {
        const NEVER: f64 = f64::INFINITY;
        let of = |values: &[f64], p| quantile_of_sorted(&ordered(values), p);
        let cases: [(&[f64], f64, Option<f64>, &str); 8] = [
            (&[NEVER, 2.0, 1.0], 0.5, Some(2.0), "the middle of three"),
            (
                &[NEVER, 2.0, 1.0, NEVER],
                0.5,
                Some(NEVER),
                "between 2 and never",
            ),
            (
                &[NEVER, 2.0, 1.0, 1.5, 3.0],
                0.75,
                Some(3.0),
                "h = 3, a value itself",
            ),
            (
                &[NEVER, 2.0, 1.0, 1.5, 3.0],
                0.76,
                Some(NEVER),
                "a little beyond",
            ),
            (&[NEVER, NEVER], 0.3, Some(NEVER), "between equal values"),
            (
                &[-NEVER, 5.0],
                0.5,
                Some(-NEVER),
                "between earlier than all and 5",
            ),
            (&[-NEVER, NEVER], 0.5, None, "anything in between"),
            (&[-NEVER, NEVER], 1.0, Some(NEVER), "the greatest"),
        ];
        for (values, p, expected, why) in cases {
            assert_eq!(of(values, p), expected, "{why}");
        }
    }

    #[test]
    fn statistics_of_few_values_exist_or_are_none() {
        assert_eq!(
            (quantile(&[], 0.5), median(&[]), mean(&[]), sample_sd(&[])),
            (None, None, None, None)
        );
        assert_eq!(
            (median(&[4.0]), mean(&[4.0]), sample_sd(&[4.0])),
            (Some(4.0), Some(4.0), None)
        );
    }

    #[test]
    fn mean_and_standard_deviation_match_the_textbook() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_near(mean(&values), 5.0, "40 / 8");
        assert_near(
            sample_sd(&values),
            (32.0_f64 / 7.0).sqrt(),
            "squares 9+1+1+1+0+0+4+16 = 32, over n - 1",
        );
        assert_near(median(&values), 4.5, "between the fourth and the fifth");
    }

    #[test]
    #[should_panic(expected = "a sample holds NaN")]
    fn a_sample_rejects_nan() {
        let _ = median(&[1.0, f64::NAN]);
    }

    proptest! {
        #[test]
        fn quantiles_rise_with_p_and_stay_within_the_values(
            values in vec(-1e6..1e6_f64, 1..50), p in 0.0..=1.0_f64, q in 0.0..=1.0_f64,
        ) {
            let (low, high) = (quantile(&values, p.min(q)), quantile(&values, p.max(q)));
            prop_assert!(low <= high);
            prop_assert!(quantile(&values, 0.0) <= low && high <= quantile(&values, 1.0));
        }
    }
}
