//! Resolves a configured integer or percentage to a number.
//!
//! Follows `GetScaledValueFromIntOrPercent` in `pkg/util/intstr` of kubernetes/apimachinery. A quoted number is not a
//! percentage and therefore an error; a number is never capped at the total. Rust parses integers like Go's
//! `strconv.Atoi`: an optional sign and ASCII digits.

use super::super::IntOrString;

/// The direction in which a share of clusters is rounded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rounding {
    /// Round down, as for `maxConcurrency`.
    Down,
    /// Round up, as for `maxUnavailable` and `maxSurge`.
    Up,
}

/// The reason why a value does not resolve to a number of clusters.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaledValueError {
    /// A text that is not a whole percentage.
    #[error("`{0}` is not a percentage; write e.g. `10` or `10%`")]
    NotAPercentage(String),
    /// A missing value without a default.
    #[error("the value is missing")]
    Missing,
}

/// Returns the number that `value` resolves to for `total`.
///
/// # Errors
/// If the value is missing or invalid.
pub fn limit(
    value: Option<&IntOrString>,
    total: usize,
    rounding: Rounding,
) -> Result<i64, ScaledValueError> {
    match value {
        None => Err(ScaledValueError::Missing),
        Some(IntOrString::Int(number)) => Ok(i64::from(*number)),
        Some(IntOrString::String(text)) => {
            let percent = text
                .strip_suffix('%')
                .and_then(|number| number.parse::<i64>().ok());
            let percent = percent.ok_or_else(|| ScaledValueError::NotAPercentage(text.clone()))?;
            let hundredths = i128::from(percent) * total as i128;
            let share = match rounding {
                Rounding::Down => hundredths.div_euclid(100),
                Rounding::Up => -(-hundredths).div_euclid(100),
            };
            Ok(i64::try_from(share).unwrap_or(i64::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_resolve_as_in_kubernetes() {
        type Case = (IntOrString, usize, Option<(i64, i64)>, &'static str);
        let cases: [Case; 10] = [
            // value, total, (down, up), why
            (3.into(), 10, Some((3, 3)), "a number is itself"),
            (30.into(), 10, Some((30, 30)), "even above the total"),
            ((-2).into(), 10, Some((-2, -2)), "and below zero"),
            (
                "25%".into(),
                10,
                Some((2, 3)),
                "a share is rounded in the given direction",
            ),
            ("50%".into(), 10, Some((5, 5)), "nothing to round"),
            ("0%".into(), 10, Some((0, 0)), "nothing"),
            ("+7%".into(), 100, Some((7, 7)), "Go takes a sign"),
            ("50".into(), 10, None, "a quoted number is not a percentage"),
            ("2.5%".into(), 10, None, "nor is a fraction"),
            ("%".into(), 10, None, "nor nothing"),
        ];
        for (value, total, expected, why) in cases {
            let both = limit(Some(&value), total, Rounding::Down)
                .ok()
                .zip(limit(Some(&value), total, Rounding::Up).ok());
            assert_eq!(both, expected, "{value} of {total}: {why}");
        }
        assert_eq!(
            limit(None, 10, Rounding::Up),
            Err(ScaledValueError::Missing)
        );
    }

    #[test]
    fn numbers_are_parsed_as_in_go() {
        for (text, number) in [
            ("007", Some(7)),
            ("+1", Some(1)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            (" 1", None),
            ("1_0", None),
            ("0x1", None),
            ("1.0", None),
            ("", None),
            ("+", None),
        ] {
            let share = IntOrString::String(format!("{text}%"));
            assert_eq!(
                limit(Some(&share), 100, Rounding::Down).ok(),
                number,
                "{text:?}"
            );
        }
    }
}
