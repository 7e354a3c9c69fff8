//! Times of day: `startsAt`, and limits such as `completion_p95 < 06:00`.
//!
//! A time of day in a limit means its first occurrence after the start of the rollout. With days of the week,
//! `startsAt: Fri 22:00` and `completion < Mon 06:00` are 56 h apart.
//!
//! Left out: dates, time zones and daylight saving time, which a simulated week does not have. The times of outages
//! and registry settings are durations since the start.

use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::calendar::CalendarStart;
use crate::results::{Limit, MeasureError};
use crate::units::SimDuration;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY: u32 = 24 * 60;
const WEEK: u32 = 7 * DAY;

/// The start of a rollout: a time of day, or a date and time.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub(crate) struct StartTime {
    clock: ClockTime,
    /// `None`: no date is written.
    pub(crate) date: Option<CalendarStart>,
}

impl StartTime {
    /// The time since midnight.
    pub(crate) fn since_midnight(&self) -> SimDuration {
        self.clock.since_midnight()
    }

    /// The time until the next `end`: more than 0. `None` if only `end` has a day of the week.
    fn until(&self, end: ClockTime) -> Option<SimDuration> {
        let minutes = self.clock.minutes_until(end)?;
        Some(match &self.date {
            Some(date) => date.until_clocks_move(minutes),
            None => SimDuration::from_mins(u64::from(minutes)),
        })
    }
}

impl TryFrom<String> for StartTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text
            .trim()
            .starts_with(|first: char| first.is_ascii_digit())
            && text.contains('-')
        {
            let date = CalendarStart::parse(&text)?;
            let minute = date.since_midnight().as_secs_f64() / 60.0;
            let clock = ClockTime {
                day: Some(date.day_from_monday()),
                minute: minute as u32,
            };
            return Ok(Self {
                clock,
                date: Some(date),
            });
        }
        Ok(Self {
            clock: ClockTime::try_from(text)?,
            date: None,
        })
    }
}

/// A time of day, optionally on a day of the week.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub(crate) struct ClockTime {
    day: Option<u32>,
    /// Minutes since midnight.
    minute: u32,
}

impl ClockTime {
    fn parse(text: &str) -> Option<Self> {
        let mut day = None;
        let mut time = text.trim();
        if let Some((name, rest)) = time.split_once(' ') {
            let number = DAYS
                .iter()
                .position(|known| known.eq_ignore_ascii_case(name))?;
            day = Some(number as u32);
            time = rest;
        }
        let (hours, minutes) = time.trim().split_once(':')?;
        if minutes.len() != 2 {
            return None;
        }
        Some(Self {
            day,
            minute: number_below(24, hours)? * 60 + number_below(60, minutes)?,
        })
    }

    /// Returns the time since midnight.
    pub(crate) fn since_midnight(self) -> SimDuration {
        SimDuration::from_mins(u64::from(self.minute))
    }

    /// Returns the minutes from this time to the next `end`, at least 1. `None`: only `end` has a day of the week.
    fn minutes_until(self, end: Self) -> Option<u32> {
        let (period, from, to) = match (self.day, end.day) {
            (Some(from), Some(to)) => (WEEK, from * DAY + self.minute, to * DAY + end.minute),
            (_, None) => (DAY, self.minute, end.minute),
            (None, Some(_)) => return None,
        };
        Some((to + period - from - 1) % period + 1)
    }
}

/// Parses a number with one or two digits that is less than `limit`.
fn number_below(limit: u32, text: &str) -> Option<u32> {
    let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok()?;
    (is_number && number < limit).then_some(number)
}

impl TryFrom<String> for ClockTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
            .ok_or_else(|| format!("`{text}` is not a time of day such as `22:00` or `Fri 22:00`"))
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(day) = self.day {
            write!(f, "{} ", DAYS[day as usize])?;
        }
        write!(f, "{:02}:{:02}", self.minute / 60, self.minute % 60)
    }
}

#[cfg(test)]
impl JsonSchema for StartTime {
    fn schema_name() -> Cow<'static, str> {
        // The name under which the format was released.
        "ClockTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time of day, e.g. `22:00` or `Fri 22:00`, or a date and time, e.g. `2026-03-28 22:00 \
                            Europe/Berlin`.",
            "type": "string",
            "pattern": "^(((Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?([01]?[0-9]|2[0-3]):[0-5][0-9]|[0-9]{4}-[0-9]{2}-[0-9]{2} \
                        ([01]?[0-9]|2[0-3]):[0-5][0-9]( [A-Za-z0-9_+/-]+)?)$",
            "examples": ["22:00", "Fri 22:00", "2026-03-28 22:00 Europe/Berlin"],
        })
    }
}

/// Converts the time of day in a limit to a duration, and appends the time in brackets: `completion < 8h (06:00)`.
/// Limits without a time of day do not change.
///
/// # Errors
/// Returns an error if the time of day is invalid, or if it cannot be converted to a duration.
pub(super) fn in_durations<'t>(
    limit: &'t str,
    start: Option<&StartTime>,
) -> Result<Cow<'t, str>, MeasureError> {
    let Some(colon) = limit.find(':') else {
        return Ok(limit.into());
    };
    let from = match limit[..colon].rfind(is_outside_of_time) {
        Some(before) => before + 1,
        None => 0,
    };
    let to = match limit[colon..].find(is_outside_of_time) {
        Some(after) => colon + after,
        None => limit.len(),
    };
    // `… >= 95% with 99% confidence` has no colon, so the whole part is taken as the time.
    let written = limit[from..to].trim();
    let Some(end) = ClockTime::parse(written) else {
        return Err(MeasureError {
            message: format!("`{written}` is not a time of day"),
            help: "write e.g. `06:00`, `Mon 06:00`, or a duration".to_owned(),
        });
    };
    let minutes = until(end, start)?.as_nanos() / 60_000_000_000;
    let duration = match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    };
    let space = if limit[from..to].starts_with(' ') {
        " "
    } else {
        ""
    };
    Ok(format!(
        "{}{space}{duration} ({end}){}",
        &limit[..from],
        &limit[to..]
    )
    .into())
}

/// Returns whether a character cannot be part of a time of day. The character must be ASCII, so that the text can be
/// split next to it.
const fn is_outside_of_time(c: char) -> bool {
    !c.is_ascii_alphanumeric() && c != ':' && c != ' '
}

/// The time from the start to a time of day.
fn until(end: ClockTime, start: Option<&StartTime>) -> Result<SimDuration, MeasureError> {
    let Some(start) = start else {
        return Err(MeasureError {
            message: format!("`{end}` is a time of day, but the rollout has no start time"),
            help: "add e.g. `startsAt: 22:00` to the experiment, or write a duration such as `8h`"
                .to_owned(),
        });
    };
    start.until(end).ok_or_else(|| MeasureError {
        message: format!(
            "`{end}` has a day of the week, but `startsAt: {}` has none",
            start.clock
        ),
        help: "add the day to `startsAt`, e.g. `Fri 22:00`, or remove it from the limit".to_owned(),
    })
}

/// Parses a limit for an experiment that starts at this time of day.
///
/// # Errors
/// Returns an error with a fix if the limit is invalid.
pub(super) fn clocked_limit(
    written: &str,
    start: Option<&StartTime>,
) -> Result<Limit, MeasureError> {
    Limit::parse(&in_durations(written, start)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(start: &str) -> Option<StartTime> {
        StartTime::try_from(start.to_owned()).ok()
    }

    fn resolved(limit: &str, start: &str) -> String {
        in_durations(limit, started(start).as_ref())
            .expect("a time of day")
            .into_owned()
    }

    /// In the night to 29 March 2026, Berlin sets its clocks forward by an hour; 28 March is a Saturday.
    #[test]
    fn a_date_counts_the_hour_that_the_clocks_skip() {
        for (start, limit, expected) in [
            (
                "2026-03-28 22:00 Europe/Berlin",
                "completion < 06:00",
                "completion < 7h (06:00)",
            ),
            (
                "2026-03-28 22:00",
                "completion < 06:00",
                "completion < 8h (06:00)",
            ),
            (
                "2026-03-28 22:00 Europe/Berlin",
                "completion < Mon 06:00",
                "completion < 31h (Mon 06:00)",
            ),
        ] {
            assert_eq!(resolved(limit, start), expected);
        }
    }

    #[test]
    fn a_time_of_day_is_the_next_one_after_the_start() {
        for (limit, start, expected) in [
            (
                "completion_p95 < 06:00",
                "22:00",
                "completion_p95 < 8h (06:00)",
            ),
            ("completion<6:00", "22:15", "completion<7h45m (06:00)"),
            ("completion <= 22:00", "22:00", "completion <= 24h (22:00)"),
            (
                "completion <= 22:30",
                "Fri 22:00",
                "completion <= 30m (22:30)",
            ),
            (
                "completion < Mon 06:00",
                "Fri 22:00",
                "completion < 56h (Mon 06:00)",
            ),
            (
                "completion < Fri 21:00",
                "Fri 22:00",
                "completion < 167h (Fri 21:00)",
            ),
            (
                "P(completion <= 06:00) >= 99%",
                "22:00",
                "P(completion <= 8h (06:00)) >= 99%",
            ),
            (
                "P(completion > 06:00) <= 1% with 99% confidence",
                "5:00",
                "P(completion > 1h (06:00)) <= 1% with 99% confidence",
            ),
            ("completion < 4h", "22:00", "completion < 4h"),
        ] {
            let found = resolved(limit, start);
            assert_eq!(found, expected);
            let parsed = Limit::parse(&found).expect("a limit");
            assert_eq!(
                Limit::parse(&parsed.to_string())
                    .expect("its own text")
                    .to_string(),
                parsed.to_string()
            );
        }
    }

    #[test]
    fn a_limit_in_brackets_has_the_value_of_its_duration() {
        let limit = Limit::parse(&resolved("completion <= 06:00", "22:00")).expect("a limit");
        assert_eq!(limit.at_most(), Some(8.0 * 3_600.0));
    }

    #[test]
    fn ambiguous_times_of_day_are_rejected_with_the_fix() {
        for (limit, start, message) in [
            (
                "completion < 06:00",
                None,
                "`06:00` is a time of day, but the rollout has no start time",
            ),
            (
                "completion < Mon 06:00",
                Some("22:00"),
                "`Mon 06:00` has a day of the week, but `startsAt: 22:00` has none",
            ),
            (
                "completion < 25:00",
                Some("22:00"),
                "`25:00` is not a time of day",
            ),
            (
                "completion < 6:0",
                Some("22:00"),
                "`6:0` is not a time of day",
            ),
            (
                "completion < Foo 06:00",
                Some("22:00"),
                "`Foo 06:00` is not a time of day",
            ),
        ] {
            let start = start.and_then(started);
            let found = in_durations(limit, start.as_ref()).expect_err("refused");
            assert_eq!(found.message, message);
        }
    }
}
