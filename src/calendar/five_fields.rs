//! Cron expressions of five fields, as robfig/cron v3.0.1 reads them.
//!
//! Follows `Parser.Parse`, `getRange`, `SpecSchedule.Next` and `dayMatches` in its `parser.go` and `spec.go`. A field
//! is a list of numbers, names, ranges and steps. `?` means `*`, and `N/step` continues to the largest value. If the
//! day of the month and the day of the week are both given, either suffices. A `*` in one of them, also in a list or
//! with a step of 1, makes both required. An expression may begin with `TZ=` or `CRON_TZ=`.
//!
//! Left out: `@every`, which no product's windows accept, and descriptors such as `@daily`, which Argo CD's parser
//! rejects.

use super::zone::{SECONDS_OF_DAY, UnixSeconds, Zone, date_time, day_of_week, midnight};

/// Number of years after which a search gives up. Source: `Next` in `spec.go`.
const YEARS: i64 = 5;

/// A parsed expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct FiveFieldCron {
    minutes: CronField,
    hours: CronField,
    days: CronField,
    months: CronField,
    weekdays: CronField,
    /// The zone that the expression names.
    zone: Option<Zone>,
}

/// The values of a field as bits, and a flag for a star.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct CronField {
    values: u64,
    has_star: bool,
}

impl CronField {
    const fn has(self, value: i64) -> bool {
        self.values & (1 << value) != 0
    }
}

/// The values that a field can have, and their names.
struct FieldBounds {
    least: u32,
    most: u32,
    /// Names of the values, starting with the smallest value.
    names: &'static [&'static str],
}

const MINUTES: FieldBounds = FieldBounds::plain(0, 59);
const HOURS: FieldBounds = FieldBounds::plain(0, 23);
const DAYS: FieldBounds = FieldBounds::plain(1, 31);
const MONTHS: FieldBounds = FieldBounds {
    least: 1,
    most: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
};
const WEEKDAYS: FieldBounds = FieldBounds {
    least: 0,
    most: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

impl FieldBounds {
    const fn plain(least: u32, most: u32) -> Self {
        Self {
            least,
            most,
            names: &[],
        }
    }
}

impl FiveFieldCron {
    /// Parses an expression.
    ///
    /// # Errors
    /// Returns the library's own message.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty spec string".to_owned());
        }
        let mut rest = text;
        let mut zone = None;
        let is_zoned = text.starts_with("TZ=") || text.starts_with("CRON_TZ=");
        if is_zoned && let Some((prefix, after)) = text.split_once(' ') {
            let name = prefix.split_once('=').map_or("", |(_, name)| name);
            let found = Zone::load(name);
            let unknown = || format!("provided bad location {name}: unknown time zone {name}");
            zone = Some(found.ok_or_else(unknown)?);
            rest = after.trim();
        }
        if rest.starts_with('@') {
            return Err(format!("parser does not accept descriptors: {rest}"));
        }
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let &[minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(format!(
                "expected exactly 5 fields, found {}: [{}]",
                fields.len(),
                fields.join(" ")
            ));
        };
        Ok(Self {
            minutes: field(minutes, &MINUTES)?,
            hours: field(hours, &HOURS)?,
            days: field(days, &DAYS)?,
            months: field(months, &MONTHS)?,
            weekdays: field(weekdays, &WEEKDAYS)?,
            zone,
        })
    }

    /// Returns the first time after `after`, in the zone of the expression, or in `zone` if the expression names no
    /// zone. `None`: no such time comes within five years.
    pub(crate) fn next(&self, after: UnixSeconds, zone: &Zone) -> Option<UnixSeconds> {
        let zone = self.zone.as_ref().unwrap_or(zone);
        let mut search = CronSearch {
            cron: self,
            zone,
            at: after + 1,
            has_moved: false,
        };
        let last_year = search.year() + YEARS;
        while search.year() <= last_year {
            if search.month() && search.day() && search.hour() && search.minute() && search.second()
            {
                return Some(search.at);
            }
        }
        None
    }
}

/// The search for the next time. Each step advances one part of the time until it fits. If the next larger part
/// changes, the step ends and the search starts again with the month.
struct CronSearch<'c> {
    cron: &'c FiveFieldCron,
    zone: &'c Zone,
    at: UnixSeconds,
    /// The smaller parts of the time have their first values.
    has_moved: bool,
}

impl CronSearch<'_> {
    fn year(&self) -> i64 {
        i64::from(date_time(self.clocks()).year())
    }

    fn clocks(&self) -> i64 {
        self.zone.clocks(self.at)
    }

    fn hour_of_day(&self) -> i64 {
        self.clocks().rem_euclid(SECONDS_OF_DAY) / 3_600
    }

    /// Returns whether the month fits.
    fn month(&mut self) -> bool {
        loop {
            let date = date_time(self.clocks());
            let month = i64::from(date.month());
            if self.cron.months.has(month) {
                return true;
            }
            let year = i64::from(date.year());
            if !self.has_moved {
                self.has_moved = true;
                self.at = self.zone.instant(midnight(year, month, 1));
            }
            let date = date_time(self.clocks());
            let time_of_day = self.clocks().rem_euclid(SECONDS_OF_DAY);
            let next = midnight(year, month + 1, i64::from(date.day())) + time_of_day;
            self.at = self.zone.instant(next);
            if date_time(self.clocks()).month() == 1 {
                return false;
            }
        }
    }

    /// Returns whether the day fits.
    fn day(&mut self) -> bool {
        while !self.day_fits() {
            if !self.has_moved {
                self.has_moved = true;
                let clocks = self.clocks();
                let begin = clocks - clocks.rem_euclid(SECONDS_OF_DAY);
                self.at = self.zone.instant(begin);
            }
            self.at = self.zone.instant(self.clocks() + SECONDS_OF_DAY);
            // If the clocks skip midnight, the day begins an hour late or early.
            let hour = self.hour_of_day();
            if hour > 12 {
                self.at += (24 - hour) * 3_600;
            } else {
                self.at -= hour * 3_600;
            }
            if date_time(self.clocks()).day() == 1 {
                return false;
            }
        }
        true
    }

    fn day_fits(&self) -> bool {
        let clocks = self.clocks();
        let FiveFieldCron { days, weekdays, .. } = self.cron;
        let is_day = days.has(i64::from(date_time(clocks).day()));
        let is_weekday = weekdays.has(day_of_week(clocks));
        if days.has_star || weekdays.has_star {
            is_day && is_weekday
        } else {
            is_day || is_weekday
        }
    }

    /// Returns whether the hour fits.
    fn hour(&mut self) -> bool {
        while !self.cron.hours.has(self.hour_of_day()) {
            if !self.has_moved {
                self.has_moved = true;
                let clocks = self.clocks();
                self.at = self.zone.instant(clocks - clocks.rem_euclid(3_600));
            }
            self.at += 3_600;
            if self.hour_of_day() == 0 {
                return false;
            }
        }
        true
    }

    /// Returns whether the minute fits.
    fn minute(&mut self) -> bool {
        while !self.cron.minutes.has(self.clocks().rem_euclid(3_600) / 60) {
            if !self.has_moved {
                self.has_moved = true;
                self.at -= self.at.rem_euclid(60);
            }
            self.at += 60;
            if self.clocks().rem_euclid(3_600) / 60 == 0 {
                return false;
            }
        }
        true
    }

    /// Returns whether the second fits: all times are at second 0.
    fn second(&mut self) -> bool {
        while self.clocks().rem_euclid(60) != 0 {
            self.has_moved = true;
            self.at += 1;
            if self.clocks().rem_euclid(60) == 0 {
                return false;
            }
        }
        true
    }
}

/// Parses a field, which is a list.
///
/// # Errors
/// Returns the library's message.
fn field(text: &str, bounds: &FieldBounds) -> Result<CronField, String> {
    let mut field = CronField::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let CronField { values, has_star } = range(part, bounds)?;
        field.values |= values;
        field.has_star |= has_star;
    }
    Ok(field)
}

/// Parses an entry of a list: a value or a range, and a step.
///
/// # Errors
/// Returns the library's message.
fn range(text: &str, bounds: &FieldBounds) -> Result<CronField, String> {
    let mut parts = text.split('/');
    let (whole, step) = (parts.next().unwrap_or(""), parts.next());
    let ends: Vec<&str> = whole.split('-').collect();
    let is_star = ends[0] == "*" || ends[0] == "?";
    let (start, mut end) = match ends.as_slice() {
        _ if is_star => (bounds.least, bounds.most),
        [single] => (value(single, bounds)?, value(single, bounds)?),
        [start, end] => (value(start, bounds)?, value(end, bounds)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    if parts.next().is_some() {
        return Err(format!("too many slashes: {text}"));
    }
    let step = match step {
        None => 1,
        Some(step) => {
            if ends.len() == 1 {
                end = bounds.most;
            }
            number(step)?
        }
    };
    check_range(start, end, step, bounds).map_err(|message| format!("{message}: {text}"))?;
    let mut values = 0;
    for value in (start..=end).step_by(step as usize) {
        values |= 1 << value;
    }
    Ok(CronField {
        values,
        has_star: is_star && step <= 1,
    })
}

/// Checks the ends of a range.
///
/// # Errors
/// Returns the library's message without the text that the message concerns.
fn check_range(start: u32, end: u32, step: u32, bounds: &FieldBounds) -> Result<(), String> {
    let FieldBounds { least, most, .. } = *bounds;
    if start < least {
        Err(format!(
            "beginning of range ({start}) below minimum ({least})"
        ))
    } else if end > most {
        Err(format!("end of range ({end}) above maximum ({most})"))
    } else if start > end {
        Err(format!(
            "beginning of range ({start}) beyond end of range ({end})"
        ))
    } else if step == 0 {
        Err("step of range should be a positive number".to_owned())
    } else {
        Ok(())
    }
}

/// Parses a number or the name of a number.
fn value(text: &str, bounds: &FieldBounds) -> Result<u32, String> {
    let name = text.to_lowercase();
    match bounds.names.iter().position(|known| *known == name) {
        Some(position) => Ok(bounds.least + position as u32),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    let Ok(number) = text.parse::<i64>() else {
        return Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        ));
    };
    u32::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}
