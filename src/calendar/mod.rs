//! Dates, time zones and cron expressions, which determine when the windows of a product are open during a rollout.
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
//! Zones come from the IANA database that is compiled into the program, never from the machine, so every machine gives
//! the same answer. Times are whole seconds, as in both libraries. The tests compare both modules with the libraries'
//! own answers for the same expressions (`recorded.txt`), and with a naive search.
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
