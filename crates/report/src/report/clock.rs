//! The time of day at which a rollout starts, for the time axes of charts.
//!
//! `startsAt` is read from the settings in force. The clock goes on evenly: a night in which it is put forward or back
//! has its labels in the time of the start.

use super::axis::AxisTick;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The time of day at which a run starts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StartClock {
    /// As written, such as `Fri 22:00`.
    pub(super) text: String,
    /// Seconds since midnight.
    seconds: f64,
}

impl StartClock {
    /// The start in the settings in force. `None`: it is not set, or differs between variants.
    pub(super) fn of_settings(resolved: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        for line in resolved.lines() {
            let Some(rest) = line.trim_start().strip_prefix("startsAt: ") else {
                continue;
            };
            let (value, _) = rest.split_once("  #").unwrap_or((rest, ""));
            let clock = Self::parse(value.trim().trim_matches(['"', '\'']))?;
            if found.as_ref().is_some_and(|other| *other != clock) {
                return None;
            }
            found = Some(clock);
        }
        found
    }

    /// Seconds since midnight.
    pub(super) const fn seconds(&self) -> f64 {
        self.seconds
    }

    fn parse(text: &str) -> Option<Self> {
        let time = text.split_whitespace().find(|word| word.contains(':'))?;
        let mut seconds = 0.0;
        for (part, size) in time.split(':').zip([3600.0, 60.0, 1.0]) {
            seconds += size * part.parse::<f64>().ok()?;
        }
        Some(Self {
            text: text.to_owned(),
            seconds,
        })
    }

    /// Writes the time of day at the ticks of an axis of elapsed seconds. False: they are less than a minute or more
    /// than half a day apart, and keep their labels.
    pub(super) fn label(&self, ticks: &mut [AxisTick]) -> bool {
        let [first, second, ..] = ticks else {
            return false;
        };
        let apart = second.value - first.value;
        if !(60.0..=DAY_S / 2.0).contains(&apart) {
            return false;
        }
        for tick in ticks {
            let minutes = ((self.seconds + tick.value) % DAY_S / 60.0).floor() as u32;
            tick.label = format!("{:02}:{:02}", minutes / 60, minutes % 60);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::axis::time_ticks;

    fn labels(start: &str, span_s: f64) -> (bool, Vec<String>) {
        let clock =
            StartClock::of_settings(&format!("everywhere:\n  startsAt: {start}  # line 3\n"));
        let (mut ticks, _) = time_ticks(span_s, 6);
        let is_clock = clock.expect("a time").label(&mut ticks);
        (is_clock, ticks.into_iter().map(|tick| tick.label).collect())
    }

    #[test]
    fn ticks_have_the_time_of_day_also_after_midnight() {
        let (is_clock, shown) = labels("\"Fri 22:30\"", 4.0 * 3600.0);
        assert!(is_clock);
        assert_eq!(shown, ["22:30", "23:30", "00:30", "01:30", "02:30"]);
        let (_, dated) = labels("2026-03-28 20:00 Europe/Berlin", 4.0 * 3600.0);
        assert_eq!(dated[0], "20:00");
    }

    #[test]
    fn short_and_long_spans_keep_elapsed_times() {
        assert_eq!(labels("22:00", 30.0).1[0], "0");
        assert_eq!(labels("22:00", 20.0 * 86_400.0).1[0], "0");
        assert_eq!(StartClock::of_settings("  seed: 1\n"), None);
        let two = "a:\n  startsAt: 20:00  # x\nb:\n  startsAt: 21:00  # y\n";
        assert_eq!(StartClock::of_settings(two), None, "they differ");
    }
}
