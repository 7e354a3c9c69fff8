//! Parses numbers like Go's `strconv.ParseFloat(s, 64)`.
//!
//! Follows `src/strconv/atof.go` and `atoi.go` (`underscoreOK`) of the Go library: decimal with an exponent,
//! hexadecimal with a mandatory `p` exponent, `_` between digits, `inf`, `infinity` and `nan` in any case. No
//! spaces. A value too large for 64 bits is an error.

use super::limit::whole_number;

/// `None` where Go reports an error, be it of syntax or of range.
pub(super) fn parse(text: &str) -> Option<f64> {
    if let Some(special) = special(text) {
        return Some(special);
    }
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    if !underscores_ok(unsigned) {
        return None;
    }
    let clean: Vec<u8> = unsigned.iter().copied().filter(|byte| *byte != b'_').collect();
    let magnitude = match clean.as_slice() {
        [b'0', b'x' | b'X', digits @ ..] => hexadecimal(digits)?,
        digits => decimal(digits)?,
    };
    // A result that is neither `inf` nor finite was too large.
    magnitude.is_finite().then_some(if negative { -magnitude } else { magnitude })
}

fn special(text: &str) -> Option<f64> {
    let (sign, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
        Some(sign * f64::INFINITY)
    } else {
        text.eq_ignore_ascii_case("nan").then_some(f64::NAN)
    }
}

/// Whether every `_` is between two digits; a base prefix counts as a digit.
fn underscores_ok(text: &[u8]) -> bool {
    let (hex, number) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let is_digit = |byte: u8| if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
    let mut after_digit = hex;
    let mut after_underscore = false;
    for &byte in number {
        if byte == b'_' {
            if !after_digit {
                return false;
            }
        } else if after_underscore && !is_digit(byte) {
            return false;
        }
        after_underscore = byte == b'_';
        after_digit = is_digit(byte);
    }
    !after_underscore
}

/// Digits with at most one point, then optionally `e` and an exponent.
fn decimal(text: &[u8]) -> Option<f64> {
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(end);
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit()).count();
    let points = mantissa.iter().filter(|byte| **byte == b'.').count();
    if digits == 0 || points > 1 || digits + points != mantissa.len() {
        return None;
    }
    if !exponent.is_empty() {
        self::exponent(&exponent[1..])?;
    }
    // Rust's own conversion rounds to the nearest float, as Go's does; the syntax was checked above.
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Hexadecimal digits with at most one point, then `p` and a binary exponent.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let end = text.iter().position(|byte| matches!(byte, b'p' | b'P'))?;
    let (mut mantissa, mut scale) = (0_u64, 0_i64);
    let (mut digits, mut after_point) = (false, false);
    for &byte in &text[..end] {
        if byte == b'.' {
            if after_point {
                return None;
            }
            after_point = true;
            continue;
        }
        let digit = u64::from(char::from(byte).to_digit(16)?);
        digits = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            scale -= if after_point { 4 } else { 0 };
        } else {
            // The mantissa is full: the truncated digits only decide whether there is a tie.
            mantissa |= u64::from(digit != 0);
            scale += if after_point { 0 } else { 4 };
        }
    }
    if !digits {
        return None;
    }
    let exponent = exponent(&text[end + 1..])?.saturating_add(scale).clamp(-100_000, 100_000);
    // A 64-bit mantissa rounds to the nearest float; scaling by a power of two is exact down to the subnormals, which
    // no limit distinguishes.
    Some(libm::ldexp(mantissa as f64, exponent as i32))
}

/// An optional sign and digits, cut off where only the order of magnitude matters.
fn exponent(text: &[u8]) -> Option<i64> {
    Some(whole_number(std::str::from_utf8(text).ok()?)?.clamp(-1_000_000, 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_like_in_go() {
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
            ("0x1.000000000000080000001p0", Some(1.000_000_000_000_000_2), "a little more does not"),
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
            assert_eq!(parse(text).map(f64::to_bits), value.map(f64::to_bits), "{text:?}: {why}");
        }
        assert!(parse("NaN").is_some_and(f64::is_nan));
        assert_eq!(parse("-nan"), None, "not a number has no sign");
    }
}
