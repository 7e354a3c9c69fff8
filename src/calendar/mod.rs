//! Dates, time zones and cron expressions: when the windows of a product are open, counted from a rollout's start.
//!
//! Products give a window as a cron expression, a duration and a time zone. Each product uses its own cron library,
//! and the libraries differ, so this module has both:
//!
//! | file | subject |
//! |---|---|
//! | `zone` | time zones, and Go's rules for times that a change of the clocks skips or repeats |
//! | `start` | the date and time at which a rollout starts |
//! | `five_fields` | robfig/cron v3.0.1: minute, hour, day of month, month, day of week (Argo CD) |
//! | `quartz`, `quartz_days`, `quartz_parts` | reugn/go-quartz v0.15.2: seconds first, perhaps a year (Rancher Fleet) |
//! | `spans` | the times at which something is open, as spans of a run |
//!
//! Zones are those of the IANA database that is compiled into the program, never of the machine, so that every machine
//! gives the same answer. Times are whole seconds, as both libraries count. The tests compare both with what the
//! libraries themselves answered for the same expressions (`recorded.txt`), and with a search second by second.
//!
//! Left out: leap seconds, which Go does not count either.

mod five_fields;
mod quartz;
mod quartz_days;
mod quartz_parts;
mod spans;
mod start;
#[cfg(test)]
mod tests;
mod zone;

pub(crate) use five_fields::FiveFieldCron;
pub(crate) use quartz::QuartzCron;
pub(crate) use spans::{OpenSpans, TimeSpan};
pub use start::CalendarStart;
pub(crate) use zone::{UnixSeconds, Zone};
