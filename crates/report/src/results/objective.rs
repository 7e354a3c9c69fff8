//! The objective of a plan: a measure to minimise with its statistic over runs, such as `completion_p95`, or a setting
//! to minimise or to maximise.
//!
//! A measure is written like the left side of a [`super::Limit`]. The default statistic is the median.

use std::fmt;

use super::{Measure, MeasureError, MeasuredStatistic, RunRow, Setting, Statistic};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration, WithUnit};

/// The measure or setting that the answer of a plan minimises or maximises.
#[derive(Clone, Debug)]
pub struct Objective {
    text: String,
    aim: Aim,
}

/// The quantity that an objective minimises or maximises.
#[derive(Clone, Copy, Debug)]
enum Aim {
    /// Minimise a measure with its statistic, which is never [`Statistic::Every`].
    LeastMeasure(MeasuredStatistic),
    /// Minimise a setting.
    LeastSetting,
    /// Maximise a setting.
    MostSetting,
}

impl Objective {
    /// Reads a measure with a statistic over the runs.
    ///
    /// # Errors
    /// Returns an error with a fix if the text is not a valid objective.
    pub fn parse(written: &str) -> Result<Self, MeasureError> {
        let text = written.trim();
        let mut measured = MeasuredStatistic::parse(text)?;
        let mut text = text.to_owned();
        if measured.over == Statistic::Every {
            measured.over = Statistic::MEDIAN;
            text.push_str("_median");
        }
        Ok(Self {
            text,
            aim: Aim::LeastMeasure(measured),
        })
    }

    /// A setting to minimise or to maximise, by its path.
    #[must_use]
    pub const fn of_setting(path: String, is_maximised: bool) -> Self {
        Self {
            text: path,
            aim: if is_maximised {
                Aim::MostSetting
            } else {
                Aim::LeastSetting
            },
        }
    }

    /// The measure of one run; infinite if the run does not have it. 0 if the objective is a setting.
    #[must_use]
    pub fn of(&self, run: &RunRow) -> f64 {
        match self.measure() {
            Some(measure) => measure.of(run).unwrap_or(f64::INFINITY),
            None => 0.0,
        }
    }

    /// The measure of the objective. `None` if the objective is a setting.
    #[must_use]
    pub fn measure(&self) -> Option<Measure> {
        Some(self.measured()?.measure)
    }

    /// The measure of the objective with its statistic over the runs, which is never [`Statistic::Every`]. `None` if
    /// the objective is a setting.
    #[must_use]
    pub const fn measured(&self) -> Option<MeasuredStatistic> {
        match self.aim {
            Aim::LeastMeasure(measured) => Some(measured),
            Aim::LeastSetting | Aim::MostSetting => None,
        }
    }

    /// Returns whether the objective is a duration.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.measure().is_some_and(Measure::is_time)
    }

    /// Returns whether a higher value of the objective is better.
    #[must_use]
    pub const fn is_maximised(&self) -> bool {
        matches!(self.aim, Aim::MostSetting)
    }

    /// The statistic over the values of the runs, which is never [`Statistic::Every`].
    #[must_use]
    pub fn over(&self) -> Statistic {
        match self.measured() {
            Some(measured) => measured.over,
            None => Statistic::MEDIAN,
        }
    }

    /// Returns whether the objective is the given setting.
    #[must_use]
    pub fn is_setting(&self, setting: &Setting) -> bool {
        self.measure().is_none() && setting.path == self.text
    }

    /// The number by which the objective ranks settings; lower is better. `None`: the objective is a measure, or the
    /// value is not a number.
    #[must_use]
    pub fn rank(&self, settings: &[Setting]) -> Option<f64> {
        let setting = settings.iter().find(|setting| self.is_setting(setting))?;
        let (_, number) = quantity(&setting.value)?;
        Some(if self.is_maximised() { -number } else { number })
    }

    /// The kind of quantity of a setting's value. `None`: the value has no order.
    #[must_use]
    pub fn kind_of(value: &str) -> Option<&'static str> {
        let (kind, _) = quantity(value)?;
        Some(kind)
    }
}

/// The kind of quantity of a text, and its number.
#[must_use]
pub fn quantity(text: &str) -> Option<(&'static str, f64)> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>()
        && number.is_finite()
    {
        return Some(("number", number));
    }
    if let Ok(share) = Share::parse(text) {
        return Some(("share", share.get()));
    }
    if let Ok(rate) = BytesPerSec::parse(text) {
        return Some(("rate", rate.get()));
    }
    if let Ok(frequency) = PerSecond::parse(text) {
        return Some(("frequency", frequency.get()));
    }
    if let Ok(time) = SimDuration::parse(text) {
        return Some(("time", time.as_secs_f64()));
    }
    let size = Bytes::parse(text).ok()?;
    Some(("size", size.get() as f64))
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_has_the_median_by_default() {
        let parsed = |text: &str| {
            Objective::parse(text).map(|aim| {
                (
                    aim.to_string(),
                    aim.measure().map(Measure::column),
                    aim.over(),
                )
            })
        };
        assert_eq!(
            parsed("completion"),
            Ok((
                "completion_median".to_owned(),
                Some("reachable_ready_s"),
                Statistic::Quantile(0.5)
            ))
        );
        assert_eq!(
            parsed("t99_s_p95"),
            Ok((
                "t99_s_p95".to_owned(),
                Some("t99_s"),
                Statistic::Quantile(0.95)
            ))
        );
        assert_eq!(
            parsed("completion_mean").map(|aim| aim.2),
            Ok(Statistic::Mean)
        );
        assert!(Objective::parse("completion").expect("a time").is_time());
        assert!(
            !Objective::parse("peak_pulls_p95")
                .expect("a measure")
                .is_time()
        );
        assert!(Objective::parse("complexion").is_err());
    }

    #[test]
    fn a_setting_is_ranked_by_its_value() {
        let settings = |value: &str| {
            vec![Setting {
                path: "registry.egress".to_owned(),
                name: "egress".to_owned(),
                value: value.to_owned(),
            }]
        };
        let least = Objective::of_setting("registry.egress".to_owned(), false);
        let most = Objective::of_setting("registry.egress".to_owned(), true);
        let (slow, fast) = (settings("800 Mbit/s"), settings("1 Gbit/s"));
        assert!(least.rank(&slow) < least.rank(&fast) && most.rank(&slow) > most.rank(&fast));
        assert_eq!(least.rank(&settings("unlimited")), None);
        assert_eq!(
            Objective::of_setting("clusters".to_owned(), false).rank(&slow),
            None
        );
        let kinds = ["7", "5%", "1 Gbit/s", "30/s", "90 s", "2 GB"]
            .map(|value| Objective::kind_of(value).expect(value));
        assert_eq!(
            kinds,
            ["number", "share", "rate", "frequency", "time", "size"]
        );
    }
}
