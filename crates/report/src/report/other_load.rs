//! The load that a registry sends to others over time, for the chart of its egress.
//!
//! It is read from the settings in force: a constant rate, or rates over the day. Left out: rates from a file and
//! pulls of another fleet, which no settings show, and worlds whose variants have different loads.

use super::clock::StartClock;
use fleetsim_units::{BytesPerSec, WithUnit};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// Rates over the day, in bytes per second, for equal parts from midnight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OtherLoadOverTime {
    rates: Vec<f64>,
    /// The time of day at which the run starts, in seconds.
    starts_s: f64,
}

impl OtherLoadOverTime {
    /// The load in the settings in force. `None`: there is none, or it cannot be read from them.
    pub(super) fn of_settings(resolved: &str) -> Option<Self> {
        let mut found: Option<Vec<f64>> = None;
        for line in resolved.lines() {
            let Some(rest) = line.trim_start().strip_prefix("registry.otherLoad.") else {
                continue;
            };
            let rates = rates_of(rest)?;
            if found.as_ref().is_some_and(|other| *other != rates) {
                return None;
            }
            found = Some(rates);
        }
        let starts_s = StartClock::of_settings(resolved).map_or(0.0, |clock| clock.seconds());
        Some(Self {
            rates: found?,
            starts_s,
        })
    }

    /// The points of a line from the start of the run to `end_s`, with two points at each change.
    pub(super) fn line(&self, end_s: f64) -> Vec<(f64, f64)> {
        let part_s = DAY_S / self.rates.len() as f64;
        let mut points = Vec::new();
        let mut from_s = 0.0;
        while from_s < end_s {
            let at_s = self.starts_s + from_s;
            let nth = (at_s / part_s).floor();
            let until_s = ((nth + 1.0) * part_s - self.starts_s).min(end_s);
            let rate = self.rates[nth as usize % self.rates.len()];
            points.extend([(from_s, rate), (until_s, rate)]);
            from_s = until_s;
        }
        points
    }
}

/// The rates in a line of the settings after `registry.otherLoad.`.
fn rates_of(line: &str) -> Option<Vec<f64>> {
    let (key, rest) = line.split_once(": ")?;
    if !["constant", "daily.rates"].contains(&key) {
        return None;
    }
    let (value, _) = rest.split_once("  #").unwrap_or((rest, ""));
    let list = value.trim().trim_matches(['"', '\'', '[', ']']);
    let mut rates = Vec::new();
    for rate in list.split(',') {
        rates.push(BytesPerSec::parse(rate.trim()).ok()?.get());
    }
    Some(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_over_the_day_begin_at_the_time_of_the_start() {
        let settings = "
everywhere:
  startsAt: 22:00  # line 3
  registry.egress: 1 Gbit/s  # line 6
  registry.otherLoad.daily.rates: \"[100 Mbit/s, 800 Mbit/s]\"  # line 6
";
        let load = OtherLoadOverTime::of_settings(settings).expect("readable");
        // The second half of the day has 800 Mbit/s; after two hours the next day begins.
        assert_eq!(
            load.line(10_000.0),
            [
                (0.0, 100e6),
                (7_200.0, 100e6),
                (7_200.0, 12.5e6),
                (10_000.0, 12.5e6)
            ]
        );
    }

    #[test]
    fn a_constant_rate_is_a_level_line_and_different_rates_are_left_out() {
        let one = "  registry.otherLoad.constant: 80 Mbit/s  # line 4\n";
        let load = OtherLoadOverTime::of_settings(one).expect("readable");
        assert_eq!(load.line(60.0), [(0.0, 10e6), (60.0, 10e6)]);
        let two = format!("{one}  registry.otherLoad.constant: 90 Mbit/s  # line 9\n");
        assert_eq!(OtherLoadOverTime::of_settings(&two), None);
        let pulls = "  registry.otherLoad.pulls.rate: 5/s  # line 4\n";
        assert_eq!(OtherLoadOverTime::of_settings(pulls), None);
        assert_eq!(OtherLoadOverTime::of_settings(""), None);
    }
}
