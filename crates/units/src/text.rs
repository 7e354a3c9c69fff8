//! Quantities as people write them: a number and a unit.
//!
//! Reading accepts what Kubernetes, `tc` and `fio` users are used to (`90s`, `1m30s`, `200 MiB`, `10 Gbit/s`,
//! `10Gbps`, `1000/s`, `3%`). A bare number is rejected with a fix, because "100" for a link has meant Mbit/s, MB/s
//! and bytes in different files. Printing picks the unit that gives a short number, and is meant for people; files
//! have plain numbers with the unit in the column's name.

use super::{Bytes, BytesPerSec, Factor, PerSecond, Share, SimDuration};

/// Explains why a text is not a quantity, and includes a fix.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct UnitError {
    message: String,
}

impl UnitError {
    fn not_a_number(value: &str, quantity: &str, example: &str) -> Self {
        Self {
            message: format!("`{value}` is not {quantity}; write e.g. `{example}`"),
        }
    }

    fn out_of_range(value: &str, quantity: &str, range: &str) -> Self {
        Self {
            message: format!("`{value}` is out of range: {quantity} is {range}"),
        }
    }

    /// Returns this error for a setting that also accepts a word, with the word in the example.
    pub(super) fn or_word(self, word: &str) -> Self {
        if !self.message.contains("write e.g.") {
            return self;
        }
        Self {
            message: format!("{self} or `{word}`"),
        }
    }
}

/// The notation of a quantity: its name, and its units with their sizes in the base unit.
#[derive(Clone, Copy, Debug)]
pub struct Notation<T> {
    quantity: &'static str,
    example: &'static str,
    units_text: &'static str,
    units: &'static [(&'static str, f64)],
    /// The maximum in the base unit; `range` describes the range in words.
    most: f64,
    range: &'static str,
    /// The units for printing, with the base unit last. If texts in several units have equally many digits, the first
    /// unit is used.
    printed: &'static [&'static str],
    /// Conversions from and to the base unit.
    from: fn(f64) -> T,
    to: fn(T) -> f64,
}

/// A decimal number as a regular expression; see [`split_number`].
#[cfg(any(test, feature = "schema"))]
const NUMBER: &str = r"\+?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)";

/// A quantity that is written as a number with a unit.
pub trait WithUnit: Copy + PartialEq + 'static {
    /// The notation of this quantity.
    const NOTATION: Notation<Self>;

    /// Reads one number with one unit: `200 MiB`, `10 Gbit/s`, `600/min`, `0.2 %`.
    ///
    /// # Errors
    /// If the text is not a number, has no unit or another quantity's unit, or is out of range.
    fn parse(value: &str) -> Result<Self, UnitError> {
        let Some((number, rest)) = split_number(value.trim()) else {
            return Err(Self::NOTATION.not_a_number(value));
        };
        let (size, after) = Self::NOTATION.unit_size(value, rest)?;
        if !after.is_empty() {
            return Err(Self::NOTATION.not_a_number(value));
        }
        Self::NOTATION.of_base(value, number * size)
    }

    /// Returns a regular expression (ECMA 262), without anchors, of the texts that [`WithUnit::parse`] reads,
    /// regardless of their range. Only tests generate the schema of experiments.
    #[cfg(any(test, feature = "schema"))]
    fn pattern() -> String {
        format!(r"{NUMBER}\s*{}", Self::NOTATION.any_unit())
    }

    /// Returns the shortest text, in one of the printed units, that [`WithUnit::parse`] reads as the same value.
    #[must_use]
    fn exact(self) -> String {
        shortest(self)
    }
}

impl WithUnit for SimDuration {
    const NOTATION: Notation<Self> = Notation {
        quantity: "a duration",
        example: "90s",
        units_text: "ns, us, ms, s, m, h or d",
        units: &[
            ("ns", 1.0),
            ("us", 1e3),
            ("µs", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("sec", 1e9),
            ("m", 60e9),
            ("min", 60e9),
            ("h", 3600e9),
            ("d", 86_400e9),
        ],
        most: 100.0 * 365.25 * 86_400e9,
        range: "at most 100 years",
        printed: &["d", "h", "min", "s", "ms", "us", "ns"],
        from: |nanos| Self::from_nanos(nanos.round() as u64),
        to: |span| span.as_nanos() as f64,
    };

    /// Reads a duration: `250ms`, `90s`, `1.5 h`, or several units in a row as in Go, `1h2m3.5s`. A single `0` needs
    /// no unit.
    fn parse(value: &str) -> Result<Self, UnitError> {
        let mut rest = value.trim();
        let mut nanos = None;
        while !rest.is_empty() || nanos.is_none() {
            let Some((number, after)) = split_number(rest) else {
                return Err(Self::NOTATION.not_a_number(value));
            };
            if number == 0.0 && after.is_empty() && nanos.is_none() {
                return Ok(Self::ZERO);
            }
            if number < 0.0 {
                return Err(Self::NOTATION.out_of_range(value, "0 or more"));
            }
            let (size, after) = Self::NOTATION.unit_size(value, after)?;
            nanos = Some(nanos.unwrap_or(0.0) + number * size);
            rest = after;
        }
        Self::NOTATION.of_base(value, nanos.unwrap_or(0.0))
    }

    #[cfg(any(test, feature = "schema"))]
    fn pattern() -> String {
        format!(
            r"(({NUMBER}\s*{}\s*)+|\+?(0[0_]*(\.[0_]*)?|\.0[0_]*))",
            Self::NOTATION.any_unit()
        )
    }

    fn exact(self) -> String {
        if self.is_zero() {
            "0 s".to_owned()
        } else {
            shortest(self)
        }
    }
}

impl WithUnit for Bytes {
    const NOTATION: Notation<Self> = Notation {
        quantity: "an amount of data",
        example: "200 MiB",
        units_text: "B, kB, MB, GB, TB, KiB, MiB, GiB or TiB",
        units: &[
            ("B", 1.0),
            ("kB", 1e3),
            ("KB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("TB", 1e12),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
            ("TiB", 1_099_511_627_776.0),
        ],
        most: 1e18,
        range: "between 0 and 10^18 B",
        printed: &["TB", "GB", "MB", "kB", "TiB", "GiB", "MiB", "KiB", "B"],
        from: |bytes| Self::new(bytes.round() as u64),
        to: |bytes| bytes.get() as f64,
    };
}

impl WithUnit for BytesPerSec {
    const NOTATION: Notation<Self> = Notation {
        quantity: "a rate of data",
        example: "10 Gbit/s",
        units_text: "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s (or Mbps, Gbps, …), B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s or GiB/s",
        units: &[
            ("bit/s", 0.125),
            ("kbit/s", 125.0),
            ("Mbit/s", 125e3),
            ("Gbit/s", 125e6),
            ("Tbit/s", 125e9),
            ("bps", 0.125),
            ("kbps", 125.0),
            ("Mbps", 125e3),
            ("Gbps", 125e6),
            ("Tbps", 125e9),
            ("B/s", 1.0),
            ("kB/s", 1e3),
            ("MB/s", 1e6),
            ("GB/s", 1e9),
            ("KiB/s", 1024.0),
            ("MiB/s", 1_048_576.0),
            ("GiB/s", 1_073_741_824.0),
        ],
        most: 1e15,
        range: "between 0 and 10^15 B/s",
        printed: &["MB/s", "GB/s", "Gbit/s", "Mbit/s", "kbit/s", "B/s"],
        from: Self::new,
        to: Self::get,
    };
}

impl WithUnit for PerSecond {
    const NOTATION: Notation<Self> = Notation {
        quantity: "a rate",
        example: "1000/s",
        units_text: "/s, /min or /h",
        units: &[("/s", 1.0), ("/min", 1.0 / 60.0), ("/h", 1.0 / 3600.0)],
        most: 1e12,
        range: "between 0 and 10^12 per second",
        printed: &["/min", "/h", "/s"],
        from: Self::new,
        to: Self::get,
    };
}

impl WithUnit for Share {
    const NOTATION: Notation<Self> = Notation {
        quantity: "a share",
        example: "3%",
        units_text: "%",
        units: &[("%", 0.01)],
        most: 1.0,
        range: "between 0% and 100%",
        printed: &["%"],
        from: Self::new,
        to: Self::get,
    };
}

/// See [`WithUnit::exact`].
fn shortest<T: WithUnit>(value: T) -> String {
    let notation = T::NOTATION;
    let base = (notation.to)(value);
    let mut shortest: Option<UnitText> = None;
    for unit in notation.printed {
        let candidate = UnitText::new(base / notation.size(unit), unit);
        let is_exact = T::parse(&candidate.text).is_ok_and(|read| read == value);
        let is_shorter = match &shortest {
            Some(shortest) => candidate.rank() < shortest.rank(),
            None => true,
        };
        if is_exact && is_shorter {
            shortest = Some(candidate);
        }
    }
    if let Some(UnitText { text, .. }) = shortest {
        return text;
    }
    // No number in any unit parses to exactly this value: print the nearest number, without rounding noise.
    let unit = notation.printed.last().expect("a kind has units");
    let rounded = (base / notation.size(unit) * 1e9).round() / 1e9;
    UnitText::new(rounded, unit).text
}

/// A number with its unit as text.
struct UnitText {
    text: String,
    /// Number of significant digits, plus one if the number is below 1, because other numbers are easier to read.
    digits: usize,
}

impl UnitText {
    fn new(number: f64, unit: &str) -> Self {
        let space = if unit.starts_with(['/', '%']) {
            ""
        } else {
            " "
        };
        let digits = number.to_string().replace('.', "").trim_matches('0').len();
        Self {
            text: format!("{number}{space}{unit}"),
            digits: digits + usize::from(number < 1.0),
        }
    }

    /// Returns the sort key of a text; smaller is easier to read.
    const fn rank(&self) -> (usize, usize) {
        (self.digits, self.text.len())
    }
}

/// Splits the leading decimal number off `text`. `None` if there is no number.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let after = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    let end = text.len() - after.len();
    // Exponents are not accepted: `1e3 s` is more likely a typo than a number.
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, after.trim_start()))
}

impl<T> Notation<T> {
    /// Returns the size of a unit in the base unit.
    fn size(&self, unit: &str) -> f64 {
        match self.units.iter().find(|(name, _)| *name == unit) {
            Some((_, size)) => *size,
            None => 1.0,
        }
    }

    /// Returns the units as alternatives of a regular expression.
    #[cfg(any(test, feature = "schema"))]
    fn any_unit(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        format!("({})", names.join("|"))
    }

    fn not_a_number(&self, value: &str) -> UnitError {
        UnitError::not_a_number(value, self.quantity, self.example)
    }

    fn out_of_range(&self, value: &str, range: &str) -> UnitError {
        UnitError::out_of_range(value, self.quantity, range)
    }

    /// Returns the size of the unit at the start of `rest`: letters, `/` and `%` up to the next digit or the end.
    fn unit_size<'t>(&self, value: &str, rest: &'t str) -> Result<(f64, &'t str), UnitError> {
        let end = rest
            .find(|c: char| c.is_ascii_digit() || c.is_whitespace())
            .unwrap_or(rest.len());
        let (unit, after) = rest.split_at(end);
        if let Some((_, size)) = self.units.iter().find(|(name, _)| *name == unit) {
            return Ok((*size, after.trim_start()));
        }
        let Self {
            quantity,
            units_text: units,
            example,
            ..
        } = self;
        let message = match unit {
            "" => format!("`{value}` has no unit; write e.g. `{example}`"),
            "e" | "E" | "e-" | "E-" | "e+" | "E+" => {
                format!("`{value}` has an exponent; write all digits, e.g. `{example}`")
            }
            _ => format!("`{unit}` in `{value}` is not a unit of {quantity}; use {units}"),
        };
        Err(UnitError { message })
    }

    /// Returns the quantity of `base` base units, if it is in range.
    fn of_base(&self, value: &str, base: f64) -> Result<T, UnitError> {
        if (0.0..=self.most).contains(&base) {
            Ok((self.from)(base))
        } else {
            Err(self.out_of_range(value, self.range))
        }
    }
}

/// Reads a number greater than 0: `3`.
///
/// # Errors
/// If the text is not a number, is not finite, or is not greater than 0.
pub fn parse_factor(value: &str) -> Result<Factor, UnitError> {
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(Factor::new(number)),
        Ok(_) => Err(UnitError::out_of_range(
            value,
            "the number",
            "greater than 0",
        )),
        Err(_) => Err(UnitError::not_a_number(
            value,
            "a number greater than 0",
            "3",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, nanos) in [
            ("90s", 90_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1 h", 3_600_000_000_000),
            ("24h", 86_400_000_000_000),
            ("0.25 s", 250_000_000),
            ("850ms", 850_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("5 min", 300_000_000_000),
            ("0", 0),
            ("1_000 ms", 1_000_000_000),
        ] {
            assert_eq!(
                SimDuration::parse(text).map(SimDuration::as_nanos),
                Ok(nanos),
                "{text}"
            );
        }
    }

    #[test]
    fn rates_and_sizes_are_read_as_people_write_them() {
        assert_eq!(
            BytesPerSec::parse("10 Gbit/s"),
            Ok(BytesPerSec::from_gbit(10.0))
        );
        assert_eq!(
            BytesPerSec::parse("10Gbps"),
            Ok(BytesPerSec::from_gbit(10.0))
        );
        assert_eq!(
            BytesPerSec::parse("1.25 GB/s"),
            Ok(BytesPerSec::from_gbit(10.0))
        );
        assert_eq!(Bytes::parse("200 MiB"), Ok(Bytes::new(209_715_200)));
        assert_eq!(PerSecond::parse("600/min"), Ok(PerSecond::new(10.0)));
        assert_eq!(Share::parse("3%"), Ok(Share::new(0.03)));
    }

    #[test]
    fn a_share_without_an_exact_percentage_is_written_as_the_nearest_one() {
        assert_eq!(
            Share::new(0.95).exact(),
            "95%",
            "95 times 0.01 is not 0.95 in binary"
        );
        assert_eq!(Share::new(0.35).exact(), "35%");
    }

    #[test]
    fn invalid_quantities_are_rejected_with_a_fix() {
        let cases = [
            (
                SimDuration::parse("90").unwrap_err(),
                "`90` has no unit; write e.g. `90s`",
            ),
            (
                SimDuration::parse("1e3 s").unwrap_err(),
                "`1e3 s` has an exponent; write all digits, e.g. `90s`",
            ),
            (
                Bytes::parse("2.5E+8 B").unwrap_err(),
                "`2.5E+8 B` has an exponent; write all digits, e.g. `200 MiB`",
            ),
            (
                SimDuration::parse("").unwrap_err(),
                "`` is not a duration; write e.g. `90s`",
            ),
            (
                SimDuration::parse("soon").unwrap_err(),
                "`soon` is not a duration; write e.g. `90s`",
            ),
            (
                SimDuration::parse("-1s").unwrap_err(),
                "`-1s` is out of range: a duration is 0 or more",
            ),
            (
                SimDuration::parse("9000000h").unwrap_err(),
                "`9000000h` is out of range: a duration is at most 100 years",
            ),
            (
                BytesPerSec::parse("100").unwrap_err(),
                "`100` has no unit; write e.g. `10 Gbit/s`",
            ),
            (
                Bytes::parse("200 Mib").unwrap_err(),
                "`Mib` in `200 Mib` is not a unit of an amount of data; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB",
            ),
            (
                Bytes::parse("1 MB 2").unwrap_err(),
                "`1 MB 2` is not an amount of data; write e.g. `200 MiB`",
            ),
            (
                Share::parse("120%").unwrap_err(),
                "`120%` is out of range: a share is between 0% and 100%",
            ),
            (
                Share::parse("0.03").unwrap_err(),
                "`0.03` has no unit; write e.g. `3%`",
            ),
        ];
        for (error, message) in cases {
            assert_eq!(error.to_string(), message);
        }
    }
}
