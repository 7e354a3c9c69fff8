//! Prints quantities for people: a short number with a suitable unit.

use std::fmt;

use itertools::Itertools;

use super::{Bytes, BytesPerSec, PerSecond, Share, SimDuration, SimTime};

/// Returns a number of things, with thousands separators: `1 cluster`, `1,200 clusters`.
#[must_use]
pub fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!(
        "{} {noun}{}",
        in_thousands(&number.to_string()),
        if number == 1 { "" } else { "s" }
    )
}

/// Separates the thousands with commas.
pub fn in_thousands(digits: &str) -> String {
    digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).expect("digits are text"))
        .join(",")
}

impl fmt::Display for Bytes {
    /// Prints an amount of data: `1.05 GB`, `17 MB`, `512 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (1e12, "TB"),
            (1e9, "GB"),
            (1e6, "MB"),
            (1e3, "kB"),
            (1.0, "B"),
        ];
        f.pad(&print_scaled(self.get() as f64, &units))
    }
}

impl fmt::Display for BytesPerSec {
    /// Prints a rate: `10 Gbit/s`, `100 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::UNLIMITED {
            return f.pad("unlimited");
        }
        let units = [
            (1e12, "Tbit/s"),
            (1e9, "Gbit/s"),
            (1e6, "Mbit/s"),
            (1e3, "kbit/s"),
            (1.0, "bit/s"),
        ];
        f.pad(&print_scaled(self.get() * 8.0, &units))
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", print_number(self.get())))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", print_number(self.get() * 100.0)))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SimDuration::from_nanos(self.as_nanos()).fmt(f)
    }
}

impl fmt::Display for SimDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print_duration(*self))
    }
}

/// Prints a number with at most three digits after the point, without trailing zeros.
fn print_number(number: f64) -> String {
    without_zeros(format!("{number:.3}"))
}

fn print_scaled(number: f64, units: &[(f64, &str)]) -> String {
    let &(size, unit) = units
        .iter()
        .find(|(size, _)| number.abs() >= *size)
        .or(units.last())
        .expect("a kind has units");
    // Three significant digits read well in a table; a unit of 1 is exact.
    let scaled = number / size;
    let digits = match scaled {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{} {unit}", without_zeros(format!("{scaled:.digits$}")))
}

/// Prints a number with `digits` significant digits, without trailing zeros.
pub fn significant(number: f64, digits: i32) -> String {
    if number == 0.0 || !number.is_finite() {
        return "0".to_owned();
    }
    let decimals = (digits - 1 - libm::log10(number.abs()).floor() as i32).max(0) as usize;
    without_zeros(format!("{number:.decimals$}"))
}

/// Removes trailing zeros after the decimal point.
fn without_zeros(number: String) -> String {
    if number.contains('.') {
        number
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        number
    }
}

/// Prints a duration in at most two units: `2 h 05 min`, `4 min 10 s`, `12.3 s`, `250 ms`.
fn print_duration(span: SimDuration) -> String {
    let secs = span.as_secs_f64();
    if span.is_zero() {
        "0 s".to_owned()
    } else if secs < 59.95 {
        print_scaled(
            span.as_nanos() as f64,
            &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
        )
    } else {
        let whole = secs.round() as u64;
        let ((size, unit), (sub_size, sub_unit)) = match whole {
            ..3600 => ((60, "min"), (1, "s")),
            3600..86_400 => ((3600, "h"), (60, "min")),
            _ => ((86_400, "d"), (3600, "h")),
        };
        format!(
            "{} {unit} {:02} {sub_unit}",
            whole / size,
            whole % size / sub_size
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_is_singular_only_for_one() {
        let texts = [0, 1, 999, 1_000, 1_234_567].map(|number: u64| counted(number, "run"));
        assert_eq!(
            texts,
            [
                "0 runs",
                "1 run",
                "999 runs",
                "1,000 runs",
                "1,234,567 runs"
            ]
        );
    }

    #[test]
    fn quantities_print_in_short_form_with_their_unit() {
        for (printed, text) in [
            (SimDuration::from_secs(0).to_string(), "0 s"),
            (SimDuration::from_millis(12_340).to_string(), "12.3 s"),
            (SimDuration::from_millis(250).to_string(), "250 ms"),
            (SimDuration::from_secs(250).to_string(), "4 min 10 s"),
            (SimDuration::from_secs(7500).to_string(), "2 h 05 min"),
            (SimDuration::from_hours(50).to_string(), "2 d 02 h"),
            (Bytes::new(1_050_000_000).to_string(), "1.05 GB"),
            (Bytes::new(0).to_string(), "0 B"),
            (BytesPerSec::from_gbit(10.0).to_string(), "10 Gbit/s"),
            (BytesPerSec::from_mbit(100.0).to_string(), "100 Mbit/s"),
            (PerSecond::new(1000.0).to_string(), "1000/s"),
            (Share::new(0.03).to_string(), "3%"),
        ] {
            assert_eq!(printed, text);
        }
    }
}
