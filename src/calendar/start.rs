//! The date and time at which a rollout starts, in a time zone.

use super::zone::{SECONDS_OF_DAY, UnixSeconds, Zone, day_of_week, midnight};
use crate::units::{SimDuration, SimTime};

/// The instant of the calendar at which the simulated time is 0.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CalendarStart {
    at: UnixSeconds,
    zone: Zone,
}

impl CalendarStart {
    /// Reads `2026-03-28 22:00` or `2026-03-28 22:00 Europe/Berlin`; without a zone it is UTC.
    ///
    /// # Errors
    /// Returns a description of the problem.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let date = words.next().and_then(read_date);
        let time = words.next().and_then(read_time);
        let (Some(date), Some(time)) = (date, time) else {
            return Err(format!(
                "`{text}` is not a date and time such as `2026-03-28 22:00` or `2026-03-28 22:00 Europe/Berlin`"
            ));
        };
        let zone = match words.next() {
            None => Zone::utc(),
            Some(name) => Zone::load(name)
                .ok_or_else(|| format!("`{name}` is not a time zone such as `Europe/Berlin`"))?,
        };
        if let Some(more) = words.next() {
            return Err(format!("unexpected `{more}` after the time zone"));
        }
        let clocks = date + time;
        let at = zone.instant(clocks);
        if zone.clocks(at) != clocks {
            return Err(format!(
                "`{text}` does not exist: the clocks skip this time"
            ));
        }
        Ok(Self { at, zone })
    }

    /// Returns the time zone of the start.
    pub(crate) const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the instant of the start.
    pub(crate) const fn at(&self) -> UnixSeconds {
        self.at
    }

    /// Returns the time since midnight on the clocks.
    pub(crate) fn since_midnight(&self) -> SimDuration {
        let clocks = self.zone.clocks(self.at).rem_euclid(SECONDS_OF_DAY);
        SimDuration::from_secs(clocks.unsigned_abs())
    }

    /// Returns the day of the week; 0 is Monday.
    pub(crate) fn day_from_monday(&self) -> u32 {
        let from_sunday = day_of_week(self.zone.clocks(self.at));
        ((from_sunday + 6) % 7) as u32
    }

    /// Returns the time until the clocks have advanced by a number of minutes. A change of the clocks makes this time
    /// shorter or longer.
    pub(crate) fn until_clocks_move(&self, minutes: u32) -> SimDuration {
        let clocks = self.zone.clocks(self.at) + i64::from(minutes) * 60;
        let end = self.zone.instant(clocks);
        SimDuration::from_secs((end - self.at).max(0).unsigned_abs())
    }

    /// Returns the instant of a simulated time, rounded down to a second.
    pub(crate) fn instant(&self, at: SimTime) -> UnixSeconds {
        let since = at.saturating_since(SimTime::ZERO).as_nanos() / 1_000_000_000;
        self.at + since as i64
    }

    /// Returns the simulated time of an instant. `None`: the instant is before the start.
    pub(crate) fn since_start(&self, at: UnixSeconds) -> Option<SimTime> {
        let since = u64::try_from(at - self.at).ok()?;
        let nanos = since.checked_mul(1_000_000_000)?;
        Some(SimTime::ZERO + SimDuration::from_nanos(nanos))
    }
}

/// Parses a date such as `2026-03-28`. Returns its midnight.
fn read_date(text: &str) -> Option<i64> {
    let date: jiff::civil::Date = text.parse().ok()?;
    let is_plain = text.len() == "2026-03-28".len();
    is_plain.then(|| {
        midnight(
            i64::from(date.year()),
            i64::from(date.month()),
            i64::from(date.day()),
        )
    })
}

/// Parses a time of day such as `22:00`. Returns the seconds since midnight.
fn read_time(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let is_plain = (1..=2).contains(&hours.len()) && minutes.len() == 2;
    let is_number = is_plain
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b':');
    let hours: i64 = hours
        .parse()
        .ok()
        .filter(|hours| is_number && *hours < 24)?;
    let minutes: i64 = minutes.parse().ok().filter(|minutes| *minutes < 60)?;
    Some(hours * 3_600 + minutes * 60)
}
