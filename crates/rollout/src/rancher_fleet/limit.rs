//! Resolves a configured value to a number: the rule behind all limits and sizes in Fleet.
//!
//! Follows `limit` in `internal/cmd/controller/target/status.go`. Its surprises are kept: an int 0 is 0 but `0%` is
//! 1; a text such as `"300"` is not capped at the count but a number 300 is; `"0"` is an error.
//!
//! Go's conversion of some floats (`Inf%`, `NaN%`, `1e30%`) depends on the processor. This code follows amd64, where
//! such a value becomes the smallest integer and thus the limit 1.

use super::super::IntOrString;
use super::go_float::{self, whole_number};

/// The reason why a configured value is not a valid limit.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetLimitError {
    /// A text that is neither a positive whole number nor ends with `%`.
    #[error("`{0}` is neither a whole number above 0 nor a percentage; write e.g. `10` or `10%`")]
    NotIntOrPercent(String),
    /// A text with a final `%` and no number before it.
    #[error("`{0}` is not a percentage; write e.g. `10%`")]
    BadPercent(String),
}

/// Returns the limit for `count` according to the first present value in `values`; without a value, 100%.
///
/// # Errors
/// If that value is an invalid text and `count` is above 0.
pub fn limit(count: i64, values: &[Option<&IntOrString>]) -> Result<i64, FleetLimitError> {
    if count <= 0 {
        // Without targets, even an invalid value has no effect.
        return Ok(1);
    }
    match values.iter().find_map(|value| *value) {
        None => Ok(count),
        Some(IntOrString::Int(number)) => Ok(i64::from(*number).clamp(0, count)),
        Some(IntOrString::String(text)) => of_text(count, text),
    }
}

fn of_text(count: i64, text: &str) -> Result<i64, FleetLimitError> {
    if let Some(number) = whole_number(text).filter(|number| *number > 0) {
        return Ok(number);
    }
    let Some(number) = text.strip_suffix('%') else {
        return Err(FleetLimitError::NotIntOrPercent(text.to_owned()));
    };
    let percent =
        go_float::parse(number).ok_or_else(|| FleetLimitError::BadPercent(text.to_owned()))?;
    if percent <= 0.0 {
        return Ok(1);
    }
    Ok((to_integer_amd64(count as f64 * percent) / 100).clamp(1, count))
}

/// Truncates like amd64's `CVTTSD2SQ`: values that do not fit become the smallest integer.
fn to_integer_amd64(value: f64) -> i64 {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if (-TWO_63..TWO_63).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: i64, value: &str) -> Option<i64> {
        limit(count, &[Some(&value.into())]).ok()
    }

    #[test]
    fn limits_resolve_as_in_fleet() {
        let cases = [
            // value  count  limit  why
            ("25%", 200, Some(50), "the plain case"),
            ("25%", 230, Some(57), "rounds down"),
            ("1%", 3, Some(1), "but to at least one"),
            ("0%", 200, Some(1), "a percentage never stops a rollout"),
            ("-10%", 200, Some(1), "not even a negative one"),
            ("150%", 200, Some(200), "and never exceeds the count"),
            ("10", 5, Some(10), "a text is not capped"),
            ("+7", 5, Some(7), "a sign is a number's"),
            (
                "99999999999999999999",
                5,
                Some(i64::MAX),
                "too many digits saturate",
            ),
            ("0", 5, None, "the text 0 is neither"),
            ("-5", 5, None, "nor is a negative one"),
            ("", 5, None, "nor is nothing"),
            ("5.5", 5, None, "nor is half a cluster"),
            ("\u{ff11}", 5, None, "digits are ASCII"),
            ("10 %", 5, None, "no spaces"),
            ("10%%", 5, None, "one % is taken away"),
            ("1_0%", 100, Some(10), "Go allows _ between digits"),
            ("0x1p4%", 100, Some(16), "and hex floats"),
            ("1e400%", 100, None, "an overflow is an error"),
            ("Inf%", 100, Some(1), "amd64: the smallest integer"),
            ("1e30%", 100, Some(1), "amd64: the smallest integer"),
            ("abc", 0, Some(1), "a count of 0 ignores the value"),
        ];
        for (value, count, expected, why) in cases {
            assert_eq!(of(count, value), expected, "{value:?} of {count}: {why}");
        }
    }

    #[test]
    fn a_number_is_clamped_to_the_count() {
        for (number, expected) in [
            (-1, 0),
            (0, 0),
            (1, 1),
            (5, 5),
            (6, 5),
            (i32::MAX, 5),
            (i32::MIN, 0),
        ] {
            assert_eq!(
                limit(5, &[Some(&number.into())]),
                Ok(expected),
                "{number} of 5"
            );
        }
    }

    #[test]
    fn the_first_present_value_applies() {
        assert_eq!(limit(10, &[None, Some(&3.into()), Some(&4.into())]), Ok(3));
        assert_eq!(limit(10, &[None, None]), Ok(10), "none: 100%");
        assert_eq!(
            limit(10, &[Some(&3.into()), Some(&"abc".into())]),
            Ok(3),
            "later ones are not even read"
        );
    }
}
