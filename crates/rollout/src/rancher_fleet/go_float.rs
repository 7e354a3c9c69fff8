//! Parses numbers like Go's `strconv.ParseFloat(s, 64)` and `strconv.Atoi(s)`.
//!
//! Follows `src/strconv/atof.go` and `atoi.go` (`underscoreOK`) of the Go library: decimal with an exponent,
//! hexadecimal with a mandatory `p` exponent, `_` between digits, `inf`, `infinity` and `nan` in any letter case.
//! Spaces, and values too large for 64 bits, are errors.

use std::num::IntErrorKind;

/// Parses an optional sign and ASCII digits, saturating; `None` for anything else.
pub(super) fn whole_number(text: &str) -> Option<i64> {
    match text.parse::<i64>() {
        Ok(number) => Some(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(i64::MAX),
        Err(error) => (*error.kind() == IntErrorKind::NegOverflow).then_some(i64::MIN),
    }
}

/// Parses a float. `None` if Go reports a syntax or range error.
pub(super) fn parse(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !underscores_ok(unsigned.as_bytes()) {
        return None;
    }
    let clean = unsigned.replace('_', "");
    let magnitude = match clean.as_bytes() {
        [b'0', b'x' | b'X', ..] => hexadecimal(&clean[2..])?,
        // A second sign is invalid.
        [b'+' | b'-', ..] => return None,
        // Rust accepts the same decimals and names as Go.
        _ => clean.parse().ok()?,
    };
    // A text of digits with an infinite value was too large. The name `nan` must have no sign.
    let is_named = clean.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_valid =
        magnitude.is_finite() || is_named && (magnitude == f64::INFINITY || unsigned == text);
    is_valid.then_some(if text.starts_with('-') {
        -magnitude
    } else {
        magnitude
    })
}

/// Returns whether every `_` is between two digits; a base prefix counts as a digit.
fn underscores_ok(text: &[u8]) -> bool {
    let (is_hex, number) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut is_after_digit = is_hex;
    for (index, byte) in number.iter().enumerate() {
        if *byte == b'_' {
            let next = number.get(index + 1);
            let is_before_digit = next.is_some_and(|next| is_digit(*next, is_hex));
            if !is_after_digit || !is_before_digit {
                return false;
            }
        }
        is_after_digit = is_digit(*byte, is_hex);
    }
    true
}

const fn is_digit(byte: u8, is_hex: bool) -> bool {
    if is_hex {
        byte.is_ascii_hexdigit()
    } else {
        byte.is_ascii_digit()
    }
}

/// Parses hexadecimal digits with at most one point, then `p` and a binary exponent.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut mantissa = 0_u64;
    let mut scale = -4 * fraction.len() as i64;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            // The mantissa is full: the truncated digits only determine whether there is a tie.
            mantissa |= u64::from(digit != 0);
            scale += 4;
        }
    }
    let exponent = whole_number(exponent)?
        .saturating_add(scale)
        .clamp(-100_000, 100_000);
    // A 64-bit mantissa rounds to the nearest float. Scaling by a power of two is exact except for subnormals, whose
    // rounding does not affect any limit.
    if matches!(digits, "" | ".") {
        return None;
    }
    Some(libm::ldexp(mantissa as f64, exponent as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_as_in_go() {
        let cases = [
            // text, value, why
            ("10", Some(10.0), "plain"),
            ("+.5", Some(0.5), "no digit before the point"),
            ("5.", Some(5.0), "none after it"),
            (".", None, "but one of the two"),
            ("1.2.3", None, "one point"),
            ("1e1", Some(10.0), "an exponent"),
            ("1e", None, "has digits"),
            ("1e+", None, "behind its sign too"),
            ("e5", None, "and follows some"),
            ("1e400", None, "out of range"),
            ("1e-400", Some(0.0), "too small is zero, not an error"),
            ("0e99999999999999999999", Some(0.0), "zero stays zero"),
            ("0x10", None, "a hexadecimal number needs an exponent"),
            ("0x1p4", Some(16.0), "a binary one"),
            ("0X.8P1", Some(1.0), "with a point"),
            ("0xp1", None, "and digits"),
            ("0x1p2000", None, "out of range"),
            ("0x1.00000000000008p0", Some(1.0), "a tie goes to even"),
            (
                "0x1.000000000000080000001p0",
                Some(1.000_000_000_000_000_2),
                "a little more does not",
            ),
            ("1_0", Some(10.0), "_ between digits"),
            ("_10", None, "not in front"),
            ("10_", None, "not behind"),
            ("1__0", None, "not two"),
            ("1_.5", None, "not before the point"),
            ("1._5", None, "not after it"),
            ("1e1_0", Some(1e10), "in the exponent too"),
            ("0x_1p4", Some(16.0), "a base prefix counts as a digit"),
            ("-inf", Some(f64::NEG_INFINITY), "infinity has a name"),
            ("iNfInItY", Some(f64::INFINITY), "in any case"),
            ("infin", None, "as a whole"),
            ("", None, "nothing"),
            (" 1", None, "no spaces"),
            ("1f", None, "no suffix"),
        ];
        for (text, value, why) in cases {
            assert_eq!(
                parse(text).map(f64::to_bits),
                value.map(f64::to_bits),
                "{text:?}: {why}"
            );
        }
        assert!(parse("NaN").is_some_and(f64::is_nan));
        assert_eq!(parse("-nan"), None, "not a number has no sign");
    }
}
