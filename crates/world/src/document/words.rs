//! Plain scalars as Kubernetes and other Go programs read them: YAML 1.1.
//!
//! Fleet, Argo CD and KubeFleet read YAML with sigs.k8s.io/yaml v1.6.0 on go.yaml.in/yaml/v2 and convert it to JSON.
//! So `yes` is true, `010` is 8, and `1e2` is the whole number 100. Left out: dates, which this reader keeps as texts,
//! and base 60, which it does not support. Source: `resolve.go` of go.yaml.in/yaml/v2, and `yaml.go` of
//! sigs.k8s.io/yaml.

/// Go's JSON encoder writes numbers below this bound without an exponent.
const MOST_PLAIN: f64 = 1e21;

/// The value of an unquoted scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlainScalar {
    Null,
    Bool(bool),
    /// A number without a fraction that JSON writes without an exponent.
    Whole(i128),
    Fraction(f64),
    Text(String),
}

/// Interprets an unquoted scalar.
pub(super) fn scalar(text: &str) -> PlainScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return PlainScalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return PlainScalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return PlainScalar::Bool(false);
        }
        _ => {}
    }
    let digits = text.replace('_', "");
    if !begins_as_number(text) {
        return PlainScalar::Text(text.to_owned());
    }
    if let Some(whole) = whole_number(&digits) {
        return PlainScalar::Whole(whole);
    }
    match fraction(&digits) {
        // JSON has a single number type, so this is a whole number.
        Some(number) if number.fract() == 0.0 && number.abs() < MOST_PLAIN => {
            PlainScalar::Whole(number as i128)
        }
        Some(number) => PlainScalar::Fraction(number),
        None => PlainScalar::Text(text.to_owned()),
    }
}

/// Returns the JSON name of a key.
pub(super) fn key(text: &str) -> String {
    match scalar(text) {
        PlainScalar::Bool(value) => value.to_string(),
        PlainScalar::Whole(value) => value.to_string(),
        PlainScalar::Fraction(value) => value.to_string(),
        _ => text.to_owned(),
    }
}

fn begins_as_number(text: &str) -> bool {
    match text.bytes().next() {
        Some(first) => first.is_ascii_digit() || b"+-.".contains(&first),
        None => false,
    }
}

/// Parses a whole number of 64 bits like `strconv.ParseInt` and `ParseUint` without a given base: `0x`, `0o`, `0b`,
/// and octal after a leading 0.
fn whole_number(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, &*lower)
    };
    // A second sign is invalid.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = sign * i128::from_str_radix(digits, base).ok()?;
    let least = i128::from(i64::MIN);
    let most = i128::from(u64::MAX);
    if (least..=most).contains(&value) {
        Some(value)
    } else {
        None
    }
}

/// Parses a number with a point or an exponent: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn fraction(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some((before, after)) => {
            all_digits(before) && all_digits(after) && !(before.is_empty() && after.is_empty())
        }
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    let is_exponent = match exponent {
        Some(exponent) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !digits.is_empty() && all_digits(digits)
        }
        None => true,
    };
    if !(is_mantissa && is_exponent) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    if number.is_finite() {
        Some(number)
    } else {
        None
    }
}

fn all_digits(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parsed_as_in_go() {
        // The expected values are those of sigs.k8s.io/yaml v1.6.0; `to_json` writes numbers in the same way.
        for (word, json) in [
            ("yes", "true"),
            ("On", "true"),
            ("y", "true"),
            ("NO", "false"),
            ("off", "false"),
            ("yES", "\"yES\""),
            ("~", "null"),
            ("010", "8"),
            ("0o10", "8"),
            ("09", "9"),
            ("0x10", "16"),
            ("0b11", "3"),
            ("1_0", "10"),
            ("-010", "-8"),
            ("+5", "5"),
            ("5.0", "5"),
            ("1e2", "100"),
            ("5.5", "5.5"),
            (".5", "0.5"),
            ("1:30", "\"1:30\""),
            ("10%", "\"10%\""),
            ("2026-03-02", "\"2026-03-02\""),
            ("1.2.3", "\"1.2.3\""),
            ("-", "\"-\""),
            ("18446744073709551615", "18446744073709551615"),
            ("v1", "\"v1\""),
        ] {
            let shown = match scalar(word) {
                PlainScalar::Null => "null".to_owned(),
                PlainScalar::Bool(value) => value.to_string(),
                PlainScalar::Whole(value) => value.to_string(),
                PlainScalar::Fraction(value) => value.to_string(),
                PlainScalar::Text(text) => format!("{text:?}"),
            };
            assert_eq!(shown, json, "{word}");
        }
        assert_eq!(key("n"), "false");
        assert_eq!(key("010"), "8");
        assert_eq!(key("env"), "env");
    }
}
