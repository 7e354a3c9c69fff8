//! The day in a cron expression of go-quartz: days of the month or of the week, the last one, and the nearest workday.
//!
//! Follows `DayNode` in `internal/csm/day_node.go` of reugn/go-quartz v0.15.2, and `closestWeekday` in `util.go`.

use super::quartz_parts::{Moved, QuartzMonth, QuartzPart};
use super::zone::{day_of_week, days_of_month, midnight};

/// The days that an expression selects. Days of the week are numbered from 0 (Sunday).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum DayRule {
    /// Every day.
    Any,
    /// These days of the month.
    OfMonth(Vec<i64>),
    /// This number of days before the last day of the month.
    LastOfMonth(i64),
    /// The workday that is nearest to a day, in the same month.
    WorkdayNear(i64),
    /// The last workday of the month.
    LastWorkday,
    /// These days of the week.
    Weekdays(Vec<i64>),
    /// The first to fifth occurrence of a day of the week in the month.
    NthWeekday(i64, usize),
    /// The last occurrence of a day of the week in the month.
    LastWeekday(i64),
}

impl DayRule {
    fn of_month(&self) -> &[i64] {
        match self {
            Self::OfMonth(days) => days,
            _ => &[],
        }
    }
}

/// The day of an advancing time.
#[derive(Clone, Debug)]
pub(super) struct DayField<'c> {
    part: QuartzPart<'c>,
    rule: &'c DayRule,
}

impl<'c> DayField<'c> {
    pub(super) fn new(value: i64, rule: &'c DayRule) -> Self {
        Self {
            part: QuartzPart::new(value, 1, 31, rule.of_month()),
            rule,
        }
    }

    pub(super) const fn value(&self) -> i64 {
        self.part.value
    }

    pub(super) fn reset(&mut self, months: &mut QuartzMonth<'_>) {
        self.part.value = self.part.least();
        self.find_forward(months);
    }

    pub(super) fn find_forward(&mut self, months: &mut QuartzMonth<'_>) -> Moved {
        if self.is_valid(months) {
            Moved::Unchanged
        } else if self.next(months) {
            Moved::Overflowed
        } else {
            Moved::Advanced
        }
    }

    /// Moves to the next day. Returns whether that day is in another month. Rules that advance the month themselves
    /// return false.
    pub(super) fn next(&mut self, months: &mut QuartzMonth<'_>) -> bool {
        match self.rule {
            DayRule::Any | DayRule::OfMonth(_) => self.part.next(),
            DayRule::Weekdays(days) => self.next_weekday(days, months),
            _ => {
                self.next_of_rule(months);
                false
            }
        }
    }

    pub(super) fn is_in_month(&self, months: &QuartzMonth<'_>) -> bool {
        self.value() <= last_day(months)
    }

    pub(super) fn is_valid(&self, months: &QuartzMonth<'_>) -> bool {
        if !self.part.is_valid() || !self.is_in_month(months) {
            return false;
        }
        let last = last_day(months);
        let is_workday = is_workday(months, self.value());
        match self.rule {
            DayRule::Any | DayRule::OfMonth(_) => true,
            DayRule::LastOfMonth(before) => self.value() == last - before,
            // The library searches the values of the field for the day itself, and `LW` has the value 0.
            DayRule::WorkdayNear(day) => self.value() == *day && is_workday,
            DayRule::LastWorkday => false,
            DayRule::Weekdays(days) => days.contains(&weekday(months, self.value())),
            DayRule::NthWeekday(..) | DayRule::LastWeekday(_) => {
                self.day_of_rule(months) == Some(self.value())
            }
        }
    }

    fn next_weekday(&mut self, days: &[i64], months: &QuartzMonth<'_>) -> bool {
        let today = weekday(months, self.value());
        let offset = match days.iter().find(|day| **day > today) {
            Some(day) => day - today,
            None => 7 + days[0] - today,
        };
        let last = last_day(months);
        let next = self.value() + offset;
        self.part.value = if next > last { next - last } else { next };
        next > last
    }

    /// Moves to the day that the rule selects in this month, or in the next month if that day is past.
    fn next_of_rule(&mut self, months: &mut QuartzMonth<'_>) {
        // Every few months have a fifth occurrence of each day of the week.
        for _ in 0..12 {
            match self.day_of_rule(months) {
                Some(day) if self.value() < day => {
                    self.part.value = day;
                    return;
                }
                Some(_) => self.part.value = 0,
                // The library keeps the day when a month has no fifth Monday, so after 31 October it regards 30
                // November as past.
                None => {}
            }
            if months.month.next() {
                months.year.next();
            }
        }
    }

    /// Returns the day of the month that the rule selects. `None`: this month has no such day.
    fn day_of_rule(&self, months: &QuartzMonth<'_>) -> Option<i64> {
        let last = last_day(months);
        match *self.rule {
            DayRule::LastOfMonth(before) => Some(last - before),
            DayRule::WorkdayNear(day) => Some(nearest_workday(months, day.min(last))),
            DayRule::LastWorkday => Some(nearest_workday(months, last)),
            DayRule::NthWeekday(day, nth) => days_with(months, day).get(nth - 1).copied(),
            DayRule::LastWeekday(day) => days_with(months, day).last().copied(),
            DayRule::Any | DayRule::OfMonth(_) | DayRule::Weekdays(_) => None,
        }
    }
}

fn last_day(months: &QuartzMonth<'_>) -> i64 {
    days_of_month(months.year.value, months.month.value)
}

fn weekday(months: &QuartzMonth<'_>, day: i64) -> i64 {
    day_of_week(midnight(months.year.value, months.month.value, day))
}

fn is_workday(months: &QuartzMonth<'_>, day: i64) -> bool {
    (1..=5).contains(&weekday(months, day))
}

/// Returns the days of a month that fall on this day of the week.
fn days_with(months: &QuartzMonth<'_>, day_of_week: i64) -> Vec<i64> {
    let mut days = Vec::new();
    for day in 1..=last_day(months) {
        if weekday(months, day) == day_of_week {
            days.push(day);
        }
    }
    days
}

/// Returns the workday of the month that is nearest to a day; if two are equally near, the earlier one.
fn nearest_workday(months: &QuartzMonth<'_>, day: i64) -> i64 {
    let last = last_day(months);
    for distance in 0..=7 {
        for near in [day - distance, day + distance] {
            if (1..=last).contains(&near) && is_workday(months, near) {
                return near;
            }
        }
    }
    day
}
