//! Numbers and times in readable form.

use crate::results::RunOutcome;
use fleetsim_units::in_thousands;
use fleetsim_units::stats::Interval;

/// The text for a time that is never reached.
const NEVER: &str = "never";

/// A count with thousands separators: whole, except for medians such as `52.5` between 52 and 53.
pub(super) fn count(value: f64) -> String {
    let is_half = value.abs().fract().total_cmp(&0.5).is_eq();
    if is_half {
        fixed(value, 1)
    } else {
        whole(value)
    }
}

/// A number rounded to a whole one, with thousands separators.
pub(super) fn whole(value: f64) -> String {
    let sign = if value <= -0.5 { "-" } else { "" };
    format!("{sign}{}", in_thousands(&format!("{:.0}", value.abs())))
}

/// A number with about three significant digits and thousands separators: `0.0123`, `1.23`, `45.6`, `1,234`.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if size >= 99.95 {
        return whole(value);
    }
    let text = format!("{value:.*}", decimals(size));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Number of decimals with which a number of the given size has about three significant digits.
fn decimals(size: f64) -> usize {
    [99.95, 9.995, 0.9995, 0.0995]
        .iter()
        .filter(|limit| size < **limit)
        .count()
}

/// Numbers to be read together, all with the decimals of the first: `8.10`, `7.98`, `8.49`.
pub(super) fn alike<const N: usize>(values: [f64; N]) -> [String; N] {
    let decimals = decimals(values[0].abs());
    values.map(|value| fixed(value, decimals))
}

/// A number with a fixed number of decimals, and thousands separators.
fn fixed(value: f64, decimals: usize) -> String {
    if value.is_infinite() {
        return NEVER.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let sign = if value < 0.0 && text.contains(|digit: char| ('1'..='9').contains(&digit)) {
        "-"
    } else {
        ""
    };
    let (whole, part) = text
        .split_once('.')
        .map_or((&*text, None), |(whole, part)| (whole, Some(part)));
    let digits = self::whole(whole.parse().unwrap_or(value.abs()));
    match part {
        Some(part) => format!("{sign}{digits}.{part}"),
        None => format!("{sign}{digits}"),
    }
}

/// A number and the ends of its interval, with the decimals of the number, and up to two more if the ends would look
/// equal: `22.30`, `22.28`, `22.32`.
pub(super) fn apart(values: [f64; 3]) -> [String; 3] {
    let usual = decimals(values[0].abs());
    for decimals in usual..=usual + 2 {
        let [number, low, high] = values.map(|value| fixed(value, decimals));
        if low != high {
            return [number, low, high];
        }
    }
    values.map(|value| fixed(value, usual))
}

/// A value of a measure with its unit. Infinite means a time that was never reached.
pub(super) fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        _ if value.is_infinite() => NEVER.to_owned(),
        "s" => time(value),
        "bytes/s" => rate(value),
        "bytes" => format!("{} GB", number(value / 1e9)),
        "1" => percent(value),
        "target-hours" => format!("{} {unit}", number(value)),
        unit if is_money(unit) => format!("{} {unit}", number(value)),
        // Units are plural: `targets`, `pulls`, `requests`.
        "passes" if count(value) == "1" => "1 pass".to_owned(),
        unit if count(value) == "1" => format!("1 {}", unit.strip_suffix('s').unwrap_or(unit)),
        unit => format!("{} {unit}", count(value)),
    }
}

/// Returns whether a unit is that of a cost: a currency such as `USD`, or the word for an unknown one.
pub(super) fn is_money(unit: &str) -> bool {
    let is_code = unit.len() == 3 && unit.bytes().all(|letter| letter.is_ascii_uppercase());
    is_code || unit == "currency"
}

/// `12.5%`.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// The ends of an interval of a share, in percent: `62–97%`.
pub(super) fn percents(share: Interval) -> String {
    format!(
        "{}–{}%",
        percents_of_end(share.low),
        percents_of_end(share.high)
    )
}

/// Whole percents, but 0 or 100 only for an end that is exactly 0 or 1.
fn percents_of_end(end: f64) -> String {
    match end * 100.0 {
        percent if percent > 99.0 && percent < 100.0 => {
            format!("{:.1}", (percent * 10.0).floor() / 10.0)
        }
        percent if percent > 0.0 && percent < 1.0 => {
            format!("{:.1}", (percent * 10.0).ceil() / 10.0)
        }
        percent => format!("{percent:.0}"),
    }
}

/// How a run ended, as a verb.
pub(super) const fn ended(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Complete => "completed",
        RunOutcome::Stalled => "stalled",
        RunOutcome::Horizon => "timed out",
    }
}

/// A unit of time with its length in seconds and its short and long name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeUnit {
    pub(super) seconds: f64,
    pub(super) short: &'static str,
    pub(super) long: &'static str,
}

const SECOND: TimeUnit = TimeUnit {
    seconds: 1.0,
    short: "s",
    long: "seconds",
};
const MINUTE: TimeUnit = TimeUnit {
    seconds: 60.0,
    short: "min",
    long: "minutes",
};
const HOUR: TimeUnit = TimeUnit {
    seconds: 3600.0,
    short: "h",
    long: "hours",
};
const DAY: TimeUnit = TimeUnit {
    seconds: 86_400.0,
    short: "d",
    long: "days",
};

impl TimeUnit {
    /// The unit in which times up to `span_s` have at most two digits before the decimal point, or are many days.
    pub(super) fn for_span(span_s: f64) -> Self {
        match span_s {
            ..99.95 => SECOND,
            ..5_997.0 => MINUTE,
            ..172_800.0 => HOUR,
            _ => DAY,
        }
    }
}

/// A time with its unit, in a form that is easy to compare: `45.3 s`, `8.10 min`, `3.42 h`.
pub(super) fn time(seconds: f64) -> String {
    let unit = TimeUnit::for_span(seconds.abs());
    let [number] = alike([seconds / unit.seconds]);
    format!(
        "{} {}",
        if seconds == 0.0 { "0" } else { &number },
        unit.short
    )
}

/// A time with its interval, both in the time's unit and with its decimals: `12.3 min [11.9–12.8]`; without the
/// interval if its ends are equal.
pub(super) fn time_with_interval(middle: f64, low: f64, high: f64) -> String {
    let unit = TimeUnit::for_span(middle.abs());
    let [_, from, to] = alike([middle, low, high].map(|time| time / unit.seconds));
    if low < high {
        format!("{} [{from}–{to}]", time(middle))
    } else {
        time(middle)
    }
}

/// A data rate in the unit that makes it a short number.
pub(super) fn rate(bytes_per_s: f64) -> String {
    RateUnit::for_max(bytes_per_s).text(bytes_per_s)
}

/// A unit of a data rate with its size in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateUnit {
    pub(super) bytes_per_s: f64,
    pub(super) name: &'static str,
}

impl RateUnit {
    /// The unit in which rates up to `max` bytes per second are short numbers.
    pub(super) fn for_max(max: f64) -> Self {
        [(125e9, "Tbit/s"), (125e6, "Gbit/s"), (125e3, "Mbit/s")]
            .into_iter()
            .find(|&(size, _)| max >= size)
            .map_or(
                Self {
                    bytes_per_s: 125.0,
                    name: "kbit/s",
                },
                |(bytes_per_s, name)| Self { bytes_per_s, name },
            )
    }

    /// A rate in this unit, with the unit's name.
    pub(super) fn text(self, bytes_per_s: f64) -> String {
        format!("{} {}", number(bytes_per_s / self.bytes_per_s), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let cases = [
            (0.0, "0"),
            (0.01234, "0.0123"),
            (0.5, "0.5"),
            (1.0, "1"),
            (1.2345, "1.23"),
            (9.996, "10"),
            (45.67, "45.7"),
            (99.96, "100"),
            (1234.5, "1,234"),
            (1_234_567.0, "1,234,567"),
            (-1500.0, "-1,500"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected, "{value}");
        }
    }

    #[test]
    fn a_median_halfway_between_two_counts_keeps_its_half() {
        let cases = [
            (0.5, "0.5"),
            (1.5, "1.5"),
            (52.5, "52.5"),
            (1234.5, "1,234.5"),
            (-0.5, "-0.5"),
            (75.9, "76"),
        ];
        for (value, expected) in cases {
            assert_eq!(count(value), expected, "{value}");
        }
        assert_eq!(in_unit(0.5, "targets"), "0.5 targets");
    }

    #[test]
    fn a_value_between_minus_one_and_zero_keeps_its_sign() {
        assert_eq!(apart([0.441, -0.475, 2.143]), ["0.441", "-0.475", "2.143"]);
        assert_eq!(alike([1.5, -0.001, -1.5]), ["1.50", "0.00", "-1.50"]);
    }

    #[test]
    fn an_uncertain_share_is_not_rounded_to_0_or_100_percent() {
        let of = |low, high| {
            percents(Interval {
                estimate: 0.5,
                low,
                high,
            })
        };
        assert_eq!(of(0.621, 0.968), "62–97%");
        assert_eq!(of(0.832, 1.0), "83–100%");
        assert_eq!(of(0.0013, 0.9987), "0.2–99.8%");
        assert_eq!(of(0.0, 0.5), "0–50%");
    }

    #[test]
    fn the_unit_of_the_value_one_is_singular() {
        assert_eq!(in_unit(1.0, "targets"), "1 target");
        assert_eq!(in_unit(38.0, "targets"), "38 targets");
        assert_eq!(in_unit(2400.0, "s"), "40.0 min");
        assert_eq!(in_unit(f64::INFINITY, "s"), "never");
        assert_eq!(in_unit(0.125, "1"), "12.5%");
        assert_eq!(in_unit(1.0, "USD"), "1 USD");
        assert_eq!(in_unit(149_257.0, "USD"), "149,257 USD");
        assert_eq!(in_unit(0.0432, "EUR"), "0.0432 EUR");
    }

    #[test]
    fn times_and_rates_have_the_unit_that_gives_short_numbers() {
        let times = [
            (0.0, "0 s"),
            (45.3, "45.3 s"),
            (99.0, "99.0 s"),
            (119.0, "1.98 min"),
            (486.0, "8.10 min"),
            (739.0, "12.3 min"),
            (6540.0, "1.82 h"),
            (12_312.0, "3.42 h"),
            (864_000.0, "10.0 d"),
        ];
        for (seconds, expected) in times {
            assert_eq!(time(seconds), expected, "{seconds}");
        }
        assert_eq!(
            time_with_interval(739.0, 700.0, 846.0),
            "12.3 min [11.7–14.1]"
        );
        // The ends of an interval have as many decimals as the number, even if an end is round or has another number
        // of digits.
        assert_eq!(
            time_with_interval(486.0, 480.0, 606.0),
            "8.10 min [8.00–10.10]"
        );
        assert_eq!(
            time_with_interval(739.0, 700.0, f64::INFINITY),
            "12.3 min [11.7–never]"
        );
        assert_eq!(
            apart([22.3, 21.9, f64::INFINITY]),
            ["22.3", "21.9", "never"]
        );
        assert_eq!(alike([9.25, 6.18, 10.0]), ["9.25", "6.18", "10.00"]);
        assert_eq!(alike([1999.0, 1997.4, 2000.0]), ["1,999", "1,997", "2,000"]);
        // There are as many decimals as are needed to show the precision.
        assert_eq!(apart([22.3, 21.9, 22.8]), ["22.3", "21.9", "22.8"]);
        assert_eq!(apart([22.3, 22.283, 22.317]), ["22.30", "22.28", "22.32"]);
        assert_eq!(
            apart([1343.2, 1343.14, 1343.26]),
            ["1,343.2", "1,343.1", "1,343.3"]
        );
        assert_eq!(apart([22.3, 22.3, 22.3]), ["22.3", "22.3", "22.3"]);
        assert_eq!(RateUnit::for_max(1.25e9).text(1.25e9), "10 Gbit/s");
        assert_eq!(RateUnit::for_max(1e7).text(1e7), "80 Mbit/s");
        assert_eq!(RateUnit::for_max(0.0).text(0.0), "0 kbit/s");
    }
}
