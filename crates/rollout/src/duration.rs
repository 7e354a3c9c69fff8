//! Durations in Go's format: `1h30m0.5s`.
//!
//! Follows `ParseDuration` and `Duration.String` of Go's package `time`, for durations that are not negative.

use fleetsim_units::SimDuration;

/// Go's units. A unit precedes the units that are a prefix of it, so that the longest match is found first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a duration. `None`: Go would reject the text, or the duration is negative.
pub fn parse_duration(text: &str) -> Option<SimDuration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if matches!(rest, "" | "0") {
        return (rest == "0").then_some(SimDuration::ZERO);
    }
    let mut nanos: u64 = 0;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let size = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        nanos = nanos.checked_add(whole.checked_mul(size)?)?;
        nanos = nanos.checked_add(part_of(fraction, size))?;
        rest = after;
    }
    (nanos <= i64::MAX as u64).then(|| SimDuration::from_nanos(nanos))
}

/// Returns the fraction `0.<digits>` of `size`, rounded down.
fn part_of(digits: &str, size: u64) -> u64 {
    // The largest unit is 3.6e12 ns, so further digits are below 1 ns.
    let digits = &digits[..digits.len().min(15)];
    let number: u128 = digits.parse().unwrap_or(0);
    let scale = 10_u128.pow(digits.len() as u32);
    (number * u128::from(size) / scale) as u64
}

/// Formats a duration like Go: `1h0m0s`, `1.5s`, `250ms`, `0s`.
pub fn format_duration(duration: SimDuration) -> String {
    let nanos = duration.as_nanos();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => decimal(nanos, 1, "ns"),
        1_000..1_000_000 => decimal(nanos, 1_000, "\u{b5}s"),
        1_000_000..1_000_000_000 => decimal(nanos, 1_000_000, "ms"),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000, "s");
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// Formats `nanos` in units of `size`, a power of ten.
fn decimal(nanos: u64, size: u64, name: &str) -> String {
    let whole = nanos / size;
    let part = nanos % size;
    let digits = size.ilog10() as usize;
    let fraction = format!("{part:0digits$}");
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        format!("{whole}{name}")
    } else {
        format!("{whole}.{fraction}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_formatted_as_in_go() {
        let cases = [
            // text, nanoseconds, as Go writes it
            ("1h30m0.5s", 5_400_500_000_000, "1h30m0.5s"),
            ("1h", 3_600_000_000_000, "1h0m0s"),
            ("90s", 90_000_000_000, "1m30s"),
            ("1.5m", 90_000_000_000, "1m30s"),
            (".5s", 500_000_000, "500ms"),
            ("1.s", 1_000_000_000, "1s"),
            ("0", 0, "0s"),
            ("0s", 0, "0s"),
            ("2ms3us", 2_003_000, "2.003ms"),
            ("7ns", 7, "7ns"),
            ("1500ns", 1_500, "1.5\u{b5}s"),
            ("+4s", 4_000_000_000, "4s"),
        ];
        for (text, nanos, written) in cases {
            let parsed = parse_duration(text);
            assert_eq!(parsed.map(SimDuration::as_nanos), Some(nanos), "{text}");
            assert_eq!(
                parsed.map(format_duration).as_deref(),
                Some(written),
                "{text}"
            );
        }
    }

    #[test]
    fn durations_that_go_rejects_are_rejected() {
        for text in [
            "",
            "1",
            "s",
            ".s",
            "1x",
            "1h 2m",
            "-1s",
            "1..5s",
            "99999999999h",
            "1d",
        ] {
            assert_eq!(parse_duration(text), None, "{text:?}");
        }
    }
}
