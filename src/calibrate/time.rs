//! Points in time as Kubernetes writes them: RFC 3339, and the hexadecimal nanoseconds in the name of an event.

/// Nanoseconds since 1970 in UTC.
pub(super) type Nanos = i64;

const SECOND: i64 = 1_000_000_000;

/// Seconds from one point in time to another.
pub(super) fn seconds_between(from: Nanos, to: Nanos) -> f64 {
    (to - from) as f64 / 1e9
}

/// A point in time as RFC 3339 writes it: `2024-10-02T17:19:33Z`, with a fraction, or with an offset. The second
/// value: whether it has a fraction of a second.
pub(super) fn rfc3339(text: &str) -> Option<(Nanos, bool)> {
    let (date, rest) = text.trim().split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let part = |text: &str, at: std::ops::Range<usize>| text.get(at)?.parse::<i64>().ok();
    let (year, month, day) = (part(date, 0..4)?, part(date, 5..7)?, part(date, 8..10)?);
    let (hour, minute, second) = (part(clock, 0..2)?, part(clock, 3..5)?, part(clock, 6..8)?);
    let separated = date.as_bytes()[4] == b'-' && date.as_bytes()[7] == b'-';
    let clocked = clock.as_bytes()[2] == b':' && clock.as_bytes()[5] == b':';
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !(separated && clocked && in_range && (1970..2250).contains(&year)) {
        return None;
    }
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => (None, rest),
        Some(rest) => {
            let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
            (Some(&rest[..digits]).filter(|digits| !digits.is_empty()), &rest[digits..])
        }
    };
    let nanos = match fraction {
        None => 0,
        Some(digits) => format!("{digits:0<9.9}").parse::<i64>().ok()?,
    };
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (sign, rest) = zone.split_at_checked(1)?;
            let minutes = part(rest, 0..2)? * 60 + part(rest, 3..5)?;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset * 60;
    Some((seconds * SECOND + nanos, fraction.is_some()))
}

/// Days from 1970-01-01 in the Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms", 2014).
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The time in the name of an event: client-go names events `<object>.<hexadecimal nanoseconds>`
/// (`tools/record/event.go`). `None` when the last part is no such number.
pub(super) fn of_event_name(name: &str) -> Option<Nanos> {
    let (_, digits) = name.rsplit_once('.')?;
    if !(14..=16).contains(&digits.len()) {
        return None;
    }
    // From 1990 to 2200.
    i64::from_str_radix(digits, 16).ok().filter(|nanos| (631_152_000..7_258_118_400).contains(&(nanos / SECOND)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_utc() {
        for (text, expected) in [
            // `date -u -d @1727889573`
            ("2024-10-02T17:19:33Z", Some((1_727_889_573_000_000_000, false))),
            ("2024-10-02T17:19:33.25Z", Some((1_727_889_573_250_000_000, true))),
            ("2024-10-02T19:19:33.000001+02:00", Some((1_727_889_573_000_001_000, true))),
            ("2024-10-02T17:19:33", None),
            ("1970-01-01T00:00:00Z", Some((0, false))),
            ("2024-02-29T00:00:00Z", Some((1_709_164_800_000_000_000, false))),
            ("yesterday", None),
            ("2024-13-02T17:19:33Z", None),
            ("", None),
            ("2024-10-02T17:19:33.é", None),
        ] {
            assert_eq!(rfc3339(text), expected, "{text}");
        }
    }

    #[test]
    fn the_name_of_an_event_ends_in_its_time() {
        // 0x17fab2697b8d7c1d = 1,727,889,573,164,186,653 ns: 2024-10-02T17:19:33.164Z.
        assert_eq!(of_event_name("shop-7.17fab2697b8d7c1d"), Some(1_727_889_573_164_186_653));
        for name in ["shop", "shop.7", "shop.7-hnlfh", "a.17fab2697b8d7c1g", "a.0000000000000001"] {
            assert_eq!(of_event_name(name), None, "{name}");
        }
    }
}
