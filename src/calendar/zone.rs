//! Time zones as Go's package `time` has them: names, offsets, and times of day that do not exist or exist twice.
//!
//! Follows `LoadLocation`, `Location.lookup` and `Date` in Go's `time/zoneinfo.go` and `time/time.go`. A time of day
//! that the clocks skip or repeat becomes one of the two possible instants, depending on the zone. East of Greenwich,
//! 02:30 in the gap of spring becomes 03:30, and 02:30 in autumn is the second instant. West of Greenwich, they are
//! 01:30 and the first instant.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Seconds since 1970-01-01 00:00 UTC.
pub(crate) type UnixSeconds = i64;

/// Seconds between 1970-01-01 00:00 and a date and time of day as the clocks show it, without regard to a zone.
pub(crate) type ClockSeconds = i64;

pub(super) const SECONDS_OF_DAY: i64 = 86_400;

/// Zones whose offset never changes, and that are missing in the database or have another name there.
const UTC_NAMES: [&str; 3] = ["", "UTC", "Local"];

/// A time zone of the IANA database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// UTC.
    pub(crate) fn utc() -> Self {
        Self {
            name: "UTC".to_owned(),
            zone: TimeZone::UTC,
        }
    }

    /// Returns the zone with a name. An empty name and `Local` mean UTC, because controllers run in containers whose
    /// zone is UTC. `None`: there is no such zone. Names are case-sensitive.
    pub(crate) fn load(name: &str) -> Option<Self> {
        if UTC_NAMES.contains(&name) {
            return Some(Self::utc());
        }
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        let is_exact = zone.iana_name() == Some(name);
        is_exact.then(|| Self {
            name: name.to_owned(),
            zone,
        })
    }

    /// Returns whether the zone is UTC, which never changes its clocks.
    pub(super) fn is_utc(&self) -> bool {
        self.zone == TimeZone::UTC
    }

    /// Returns how many seconds the clocks are ahead of UTC at an instant.
    pub(crate) fn offset(&self, at: UnixSeconds) -> i64 {
        let at = Timestamp::from_second(at).unwrap_or(Timestamp::MAX);
        i64::from(self.zone.to_offset(at).seconds())
    }

    /// Returns the next instant after `at` at which the offset changes.
    pub(crate) fn next_change(&self, at: UnixSeconds) -> Option<UnixSeconds> {
        let from = Timestamp::from_second(at).ok()?;
        let before = self.offset(at);
        let mut changes = self.zone.following(from);
        changes.find_map(|change| {
            let second = change.timestamp().as_second();
            (self.offset(second) != before).then_some(second)
        })
    }

    /// Returns the clock time at an instant.
    pub(super) fn clocks(&self, at: UnixSeconds) -> ClockSeconds {
        at + self.offset(at)
    }

    /// Returns the instant of a clock time, by the rule of Go's `Date`: the offset is first looked up as if the clock
    /// time were UTC, and then again at the resulting instant.
    pub(crate) fn instant(&self, clocks: ClockSeconds) -> UnixSeconds {
        let first = self.offset(clocks);
        if first == 0 {
            return clocks;
        }
        clocks - self.offset(clocks - first)
    }

    /// Formats date and time of day: `Sat 2026-03-28 22:00 Europe/Berlin`, with seconds if they are not 0.
    pub(crate) fn in_words(&self, at: UnixSeconds) -> String {
        let shown = date_time(self.clocks(at));
        let format = if shown.second() == 0 {
            "%a %Y-%m-%d %H:%M"
        } else {
            "%a %Y-%m-%d %H:%M:%S"
        };
        format!("{} {}", shown.strftime(format), self.name)
    }
}

/// Date and time of day.
pub(super) fn date_time(clocks: ClockSeconds) -> DateTime {
    let at = Timestamp::from_second(clocks).unwrap_or(Timestamp::MAX);
    TimeZone::UTC.to_datetime(at)
}

/// Returns midnight at the beginning of a day. Day and month may be out of range, as with Go's `Date`.
pub(super) fn midnight(year: i64, month: i64, day: i64) -> ClockSeconds {
    let months = year * 12 + month - 1;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    (days_before(year, month) + day - 1) * SECONDS_OF_DAY
}

/// Days from 1970-01-01 to the first of a month, in the Gregorian calendar.
fn days_before(year: i64, month: i64) -> i64 {
    // In years that begin in March, the leap day is the last day.
    let shifted = if month > 2 { year } else { year - 1 };
    let months_from_march = (month + 9) % 12;
    let days_of_year = (153 * months_from_march + 2) / 5;
    let leap_days = shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400);
    365 * shifted + leap_days + days_of_year - 719_468
}

/// Returns the number of days of a month.
pub(super) fn days_of_month(year: i64, month: i64) -> i64 {
    (midnight(year, month + 1, 1) - midnight(year, month, 1)) / SECONDS_OF_DAY
}

/// Returns the day of the week; 0 is Sunday.
pub(super) fn day_of_week(clocks: ClockSeconds) -> i64 {
    // 1970-01-01 was a Thursday.
    (clocks.div_euclid(SECONDS_OF_DAY) + 4).rem_euclid(7)
}
