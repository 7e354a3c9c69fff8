//! Points in time in Kubernetes' formats: RFC 3339, and the hexadecimal nanoseconds in event names.
//!
//! The `jiff` crate parses RFC 3339.

/// Nanoseconds since 1970 in UTC.
pub(crate) type Nanos = i64;

const SECOND: i64 = 1_000_000_000;

/// Returns the seconds from one point in time to another.
pub(crate) fn seconds_between(from: Nanos, to: Nanos) -> f64 {
    (to - from) as f64 / 1e9
}

/// The range of valid times: from 1970 to 2250.
const YEARS: std::ops::Range<i64> = 0..8_835_955_200 * SECOND;

/// A point in time, and whether it has a fraction of a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stamp {
    pub(crate) at: Nanos,
    pub(crate) is_exact: bool,
}

/// Parses a point in time in RFC 3339, such as `2024-10-02T17:19:33Z`, with an optional fraction or offset. `None`:
/// invalid, or not in 1970 to 2249. (Go's zero time is in the year 1.)
pub(crate) fn rfc3339(text: &str) -> Option<Stamp> {
    let time: jiff::Timestamp = text.trim().parse().ok()?;
    let at = i64::try_from(time.as_nanosecond()).ok()?;
    if !YEARS.contains(&at) {
        return None;
    }
    Some(Stamp {
        at,
        is_exact: text.contains('.'),
    })
}

/// Returns the time in the name of an event: client-go names events `<object>.<hexadecimal nanoseconds>`
/// (`tools/record/event.go`). `None`: the last part is not a plausible number.
pub(super) fn of_event_name(name: &str) -> Option<Nanos> {
    let (_, digits) = name.rsplit_once('.')?;
    if !(14..=16).contains(&digits.len()) {
        return None;
    }
    let nanos = i64::from_str_radix(digits, 16).ok()?;
    // Only times from 1990 to 2200 are plausible.
    let is_plausible = (631_152_000..7_258_118_400).contains(&(nanos / SECOND));
    is_plausible.then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        for (text, expected) in [
            // `date -u -d @1727889573`
            (
                "2024-10-02T17:19:33Z",
                Some((1_727_889_573_000_000_000, false)),
            ),
            (
                "2024-10-02T17:19:33.25Z",
                Some((1_727_889_573_250_000_000, true)),
            ),
            (
                "2024-10-02T19:19:33.000001+02:00",
                Some((1_727_889_573_000_001_000, true)),
            ),
            ("2024-10-02T17:19:33", None),
            ("1970-01-01T00:00:00Z", Some((0, false))),
            (
                "2024-02-29T00:00:00Z",
                Some((1_709_164_800_000_000_000, false)),
            ),
            ("yesterday", None),
            ("2024-13-02T17:19:33Z", None),
            ("2024-02-30T17:19:33Z", None),
            ("0001-01-01T00:00:00Z", None),
            ("2250-01-01T00:00:00Z", None),
            ("", None),
            ("2024-10-02T17:19:33.é", None),
        ] {
            let expected = expected.map(|(at, is_exact)| Stamp { at, is_exact });
            assert_eq!(rfc3339(text), expected, "{text}");
        }
    }

    #[test]
    fn the_name_of_an_event_ends_in_its_time() {
        // 0x17fab2697b8d7c1d = 1,727,889,573,164,186,653 ns: 2024-10-02T17:19:33.164Z.
        assert_eq!(
            of_event_name("shop-7.17fab2697b8d7c1d"),
            Some(1_727_889_573_164_186_653)
        );
        for name in [
            "shop",
            "shop.7",
            "shop.7-hnlfh",
            "a.17fab2697b8d7c1g",
            "a.0000000000000001",
        ] {
            assert_eq!(of_event_name(name), None, "{name}");
        }
    }
}
