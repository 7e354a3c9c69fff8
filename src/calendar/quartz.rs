//! Cron expressions of six or seven fields, as reugn/go-quartz v0.15.2 reads them: seconds, minutes, hours, day of the
//! month, month, day of the week, and the year if wanted.
//!
//! Follows `quartz/cron.go`, `quartz/util.go` and `internal/csm`. Days of the week are 1 (Sunday) to 7, and one of the
//! two day fields must be `*` or `?`. A time is a state machine of six fields, which moves to its next valid state.
//! The result is interpreted as a clock time of the zone. So Go's `Date` moves a time that the clocks skip, and a time
//! that exists twice is found once. The module reproduces two peculiarities:
//! - Hours without a limit count up to 59. So `0 0 * ? * MON` also fires at midnight after the Monday.
//! - A list may contain values that are invalid for the field.
//!
//! Left out: with a date that never comes, such as 31 February, the library searches endlessly. Here it never fires.

use super::quartz_days::{DayField, DayRule};
use super::quartz_parts::{Moved, QuartzMonth, QuartzPart};
use super::zone::{SECONDS_OF_DAY, UnixSeconds, Zone, date_time, midnight};

/// Names of the fields' values, starting with value 1.
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Expressions with a name.
const NAMED: [(&str, &str); 5] = [
    ("@yearly", "0 0 0 1 1 *"),
    ("@monthly", "0 0 0 1 * *"),
    ("@weekly", "0 0 0 * * 1"),
    ("@daily", "0 0 0 * * *"),
    ("@hourly", "0 0 * * * *"),
];

/// Number of moves of the state machine after which a date counts as one that never comes.
const MOST_MOVES: u32 = 20_000;

/// Error: no date ever matches the expression.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct NeverComes;

/// A parsed expression. A field without values has no limit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct QuartzCron {
    seconds: Vec<i64>,
    minutes: Vec<i64>,
    hours: Vec<i64>,
    days: DayRule,
    months: Vec<i64>,
    years: Vec<i64>,
}

/// The values that a field can have.
struct QuartzBounds {
    least: i64,
    most: i64,
    /// The names of the values, starting with 1.
    names: &'static [&'static str],
}

const fn bounds(least: i64, most: i64, names: &'static [&'static str]) -> QuartzBounds {
    QuartzBounds { least, most, names }
}

impl QuartzCron {
    /// Parses an expression.
    ///
    /// # Errors
    /// Returns the library's own message, without the prefix `parse cron expression:`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut fields: Vec<&str> = text.split_whitespace().collect();
        if let [name] = fields.as_slice()
            && let Some((_, meant)) = NAMED.iter().find(|(known, _)| known == name)
        {
            fields = meant.split(' ').collect();
        }
        if fields.len() == 6 {
            fields.push("*");
        }
        let &[seconds, minutes, hours, day, month, weekday, year] = fields.as_slice() else {
            return Err("invalid expression length".to_owned());
        };
        if !is_any(day) && !is_any(weekday) {
            return Err("day field set twice".to_owned());
        }
        let mut cron = Self {
            seconds: values(seconds, &bounds(0, 59, &[]))?,
            minutes: values(minutes, &bounds(0, 59, &[]))?,
            hours: values(hours, &bounds(0, 23, &[]))?,
            days: day_rule(day)?,
            months: values(month, &bounds(1, 12, &MONTHS))?,
            years: Vec::new(),
        };
        if let Some(rule) = weekday_rule(weekday)? {
            cron.days = rule;
        }
        cron.years = values(year, &bounds(1970, 3_940, &[]))?;
        if cron == Self::without_limit() {
            cron.seconds = (0..60).collect();
        }
        Ok(cron)
    }

    fn without_limit() -> Self {
        Self {
            seconds: Vec::new(),
            minutes: Vec::new(),
            hours: Vec::new(),
            days: DayRule::Any,
            months: Vec::new(),
            years: Vec::new(),
        }
    }

    /// Returns the first time after `after`. `None`: no such time comes.
    pub(crate) fn next(&self, after: UnixSeconds, zone: &Zone) -> Option<UnixSeconds> {
        let mut machine = QuartzMachine::new(self, zone.clocks(after));
        // A second pass handles times that the clocks show twice or skip.
        let passes = if zone.is_utc() { 1 } else { 2 };
        for _ in 0..passes {
            machine.find_forward().ok()?;
            let found = zone.instant(machine.clocks());
            if found > after {
                return Some(found);
            }
        }
        None
    }
}

/// The parts of a time, in the order in which they overflow into each other.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum PartName {
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Year,
}

const PARTS: [PartName; 6] = [
    PartName::Second,
    PartName::Minute,
    PartName::Hour,
    PartName::Day,
    PartName::Month,
    PartName::Year,
];

/// A time that advances to the next match of the expression.
struct QuartzMachine<'c> {
    second: QuartzPart<'c>,
    minute: QuartzPart<'c>,
    hour: QuartzPart<'c>,
    day: DayField<'c>,
    months: QuartzMonth<'c>,
    moves: u32,
}

impl<'c> QuartzMachine<'c> {
    fn new(cron: &'c QuartzCron, clocks: i64) -> Self {
        let at = date_time(clocks);
        Self {
            second: QuartzPart::new(i64::from(at.second()), 0, 59, &cron.seconds),
            minute: QuartzPart::new(i64::from(at.minute()), 0, 59, &cron.minutes),
            hour: QuartzPart::new(i64::from(at.hour()), 0, 59, &cron.hours),
            day: DayField::new(i64::from(at.day()), &cron.days),
            months: QuartzMonth {
                month: QuartzPart::new(i64::from(at.month()), 1, 12, &cron.months),
                year: QuartzPart::new(i64::from(at.year()), 0, 999_999, &cron.years),
            },
            moves: 0,
        }
    }

    /// Returns the clock time of the state.
    fn clocks(&self) -> i64 {
        let QuartzMonth { month, year } = &self.months;
        let day = midnight(year.value, month.value, self.day.value());
        debug_assert_eq!(day % SECONDS_OF_DAY, 0);
        day + self.hour.value * 3_600 + self.minute.value * 60 + self.second.value
    }

    /// Moves to the next valid state.
    ///
    /// # Errors
    /// Returns an error if no valid state follows.
    fn find_forward(&mut self) -> Result<(), NeverComes> {
        for (place, part) in PARTS.iter().enumerate().rev() {
            let moved = match part {
                PartName::Second => self.second.find_forward(),
                PartName::Minute => self.minute.find_forward(),
                PartName::Hour => self.hour.find_forward(),
                PartName::Day => self.day.find_forward(&mut self.months),
                PartName::Month => self.months.month.find_forward(),
                PartName::Year => self.months.year.find_forward(),
            };
            if moved == Moved::Unchanged {
                continue;
            }
            self.reset_below(place);
            if moved == Moved::Overflowed {
                self.overflow_from(place + 1)?;
            }
            return Ok(());
        }
        self.next()
    }

    /// Resets all parts that are smaller than the given one, starting with the largest.
    fn reset_below(&mut self, place: usize) {
        for part in PARTS[..place].iter().rev() {
            match part {
                PartName::Second => self.second.reset(),
                PartName::Minute => self.minute.reset(),
                PartName::Hour => self.hour.reset(),
                PartName::Day => self.day.reset(&mut self.months),
                PartName::Month => self.months.month.reset(),
                PartName::Year => self.months.year.reset(),
            }
        }
    }

    /// Advances a part and the parts above it.
    ///
    /// # Errors
    /// Returns an error after too many moves.
    fn overflow_from(&mut self, from: usize) -> Result<(), NeverComes> {
        for (place, part) in PARTS.iter().enumerate().skip(from) {
            self.count_move()?;
            let overflows = match part {
                PartName::Second => self.second.next(),
                PartName::Minute => self.minute.next(),
                PartName::Hour => self.hour.next(),
                PartName::Day => self.day.next(&mut self.months),
                PartName::Month => self.months.month.next(),
                PartName::Year => self.months.year.next(),
            };
            if !overflows {
                self.reset_below(place);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Advances from a valid state.
    ///
    /// # Errors
    /// Returns an error if no valid date follows.
    fn next(&mut self) -> Result<(), NeverComes> {
        if !self.second.next() || !self.minute.next() || !self.hour.next() {
            return Ok(());
        }
        loop {
            self.count_move()?;
            if self.day.next(&mut self.months) {
                let is_new_year = self.months.month.next();
                if is_new_year {
                    self.months.year.next();
                }
                if !self.day.is_valid(&self.months) {
                    self.day.reset(&mut self.months);
                }
            }
            if self.day.is_in_month(&self.months) {
                return Ok(());
            }
        }
    }

    fn count_move(&mut self) -> Result<(), NeverComes> {
        self.moves += 1;
        if self.moves < MOST_MOVES {
            Ok(())
        } else {
            Err(NeverComes)
        }
    }
}

fn is_any(text: &str) -> bool {
    text == "*" || text == "?"
}

fn invalid(kind: &str, text: &str) -> String {
    format!("invalid {kind} field {text}")
}

/// Returns the sorted values of a field. Empty: the field has no limit.
///
/// # Errors
/// Returns the library's message.
fn values(text: &str, bounds: &QuartzBounds) -> Result<Vec<i64>, String> {
    if is_any(text) {
        return Ok(Vec::new());
    }
    if text.contains(',') {
        return list(text, bounds);
    }
    if text.contains('/') {
        return steps(text, bounds);
    }
    if text.contains('-') {
        return range(text, bounds);
    }
    let value = number(text, bounds)?;
    if (bounds.least..=bounds.most).contains(&value) {
        Ok(vec![value])
    } else {
        Err(invalid("numeric", text))
    }
}

/// Parses values, steps and ranges. Single values may be out of bounds.
fn list(text: &str, bounds: &QuartzBounds) -> Result<Vec<i64>, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        if part.contains('/') {
            all.extend(steps(part, bounds)?);
        } else if part.contains('-') {
            all.extend(range(part, bounds)?);
        } else {
            all.push(number(part, bounds)?);
        }
    }
    all.sort_unstable();
    Ok(all)
}

fn range(text: &str, bounds: &QuartzBounds) -> Result<Vec<i64>, String> {
    let ends: Vec<&str> = text.split('-').collect();
    let &[from, to] = ends.as_slice() else {
        return Err(invalid("range", text));
    };
    let (from, to) = (number(from, bounds)?, number(to, bounds)?);
    let within = bounds.least..=bounds.most;
    if !within.contains(&from) || !within.contains(&to) {
        return Err(invalid("range", text));
    }
    if to < from {
        return Err("fill range values".to_owned());
    }
    Ok((from..=to).collect())
}

fn steps(text: &str, bounds: &QuartzBounds) -> Result<Vec<i64>, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let &[whole, step] = parts.as_slice() else {
        return Err(invalid("step", text));
    };
    let mut to = bounds.most;
    let from = if whole == "*" {
        bounds.least
    } else if whole.contains('-') {
        let ends: Vec<&str> = whole.split('-').collect();
        let &[first, last] = ends.as_slice() else {
            return Err(invalid("step", text));
        };
        to = number(last, bounds)?;
        number(first, bounds)?
    } else {
        number(whole, bounds)?
    };
    let step: i64 = step.parse().map_err(|_| invalid("step", text))?;
    let within = bounds.least..=bounds.most;
    if !within.contains(&from) || !within.contains(&to) || !(1..=bounds.most).contains(&step) {
        return Err(invalid("step", text));
    }
    if to < from {
        return Err("fill step values".to_owned());
    }
    Ok((from..=to).step_by(step as usize).collect())
}

/// Parses a number or the name of a number.
fn number(text: &str, bounds: &QuartzBounds) -> Result<i64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let name = text.to_uppercase();
    match bounds.names.iter().position(|known| *known == name) {
        Some(position) => Ok(position as i64 + 1),
        None => Err(format!("unknown literal {text}")),
    }
}

/// Parses the field for the day of the month.
fn day_rule(text: &str) -> Result<DayRule, String> {
    let of_month = bounds(1, 31, &[]);
    if text == "L" {
        return Ok(DayRule::LastOfMonth(0));
    }
    if text == "LW" {
        return Ok(DayRule::LastWorkday);
    }
    if let Some(days) = text.strip_prefix("L-").filter(|days| is_digits(days)) {
        let before: Option<i64> = days.parse().ok();
        let before = before.filter(|days| (1..=31).contains(days));
        return match before {
            Some(days) => Ok(DayRule::LastOfMonth(days)),
            None => Err(invalid("last", text)),
        };
    }
    if let Some(day) = text.strip_suffix('W').filter(|day| is_digits(day)) {
        let day: Option<i64> = day.parse().ok();
        let day = day.filter(|day| (1..=31).contains(day));
        return match day {
            Some(day) => Ok(DayRule::WorkdayNear(day)),
            None => Err(invalid("weekday", text)),
        };
    }
    let days = values(text, &of_month)?;
    Ok(if days.is_empty() {
        DayRule::Any
    } else {
        DayRule::OfMonth(days)
    })
}

/// Parses the field for the day of the week. In the result, 0 is Sunday. `None`: the field has no limit.
fn weekday_rule(text: &str) -> Result<Option<DayRule>, String> {
    let of_week = bounds(1, 7, &DAYS);
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if let Some(day) = text.strip_suffix('L').filter(|day| is_name(day)) {
        let day = if day.is_empty() {
            Ok(7)
        } else {
            number(day, &of_week)
        };
        return match day {
            Ok(day) if (1..=7).contains(&day) => Ok(Some(DayRule::LastWeekday(day - 1))),
            _ => Err(invalid("last", text)),
        };
    }
    if let Some((day, nth)) = text.split_once('#')
        && is_name(day)
        && is_digits(nth)
    {
        let day = number(day, &of_week);
        let nth: Result<usize, _> = nth.parse();
        return match (day, nth) {
            (Ok(day @ 1..=7), Ok(nth @ 1..=5)) => Ok(Some(DayRule::NthWeekday(day - 1, nth))),
            _ => Err(invalid("hash", text)),
        };
    }
    let mut days = values(text, &of_week)?;
    for day in &mut days {
        *day -= 1;
    }
    Ok((!days.is_empty()).then_some(DayRule::Weekdays(days)))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
