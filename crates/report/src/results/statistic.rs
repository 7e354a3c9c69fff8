//! Statistics over the runs of a variant, and a measure with such a statistic, for example `completion_p95`.

use super::{Measure, MeasureError, RunRow};
use fleetsim_units::stats;

/// How the values of the runs are reduced to one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// No reduction: each run is compared.
    Every,
    /// The arithmetic mean.
    Mean,
    /// A quantile, between 0 and 1.
    Quantile(f64),
}

impl Statistic {
    /// The median.
    pub const MEDIAN: Self = Self::Quantile(0.5);

    /// The statistic of values that may be infinite; for [`Statistic::Every`], the maximum.
    ///
    /// # Panics
    /// Panics if there are no values.
    #[must_use]
    pub fn of(self, values: &[f64]) -> f64 {
        match self {
            Self::Every => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Quantile(p) => stats::quantile_of_sorted(&stats::ordered(values), p)
                .expect("a limit is compared with values"),
        }
    }

    /// Reads `mean`, `median`, `min`, `max` or a percentile such as `p95`.
    fn parse(text: &str) -> Result<Self, MeasureError> {
        Ok(match text {
            "mean" => Self::Mean,
            "median" => Self::MEDIAN,
            "min" => Self::Quantile(0.0),
            "max" => Self::Quantile(1.0),
            _ => Self::Quantile(parse_percentile(text).ok_or_else(|| unknown_statistic(text))?),
        })
    }
}

/// Reads `p95` as a share.
fn parse_percentile(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// The error for a text that is not a statistic.
fn unknown_statistic(text: &str) -> MeasureError {
    MeasureError {
        message: format!("unknown statistic `_{text}`"),
        help:
            "use _mean, _median, _min, _max or a percentile such as _p95; without one, every run must \
             meet the limit"
                .to_owned(),
    }
}

/// A measure with the statistic that reduces its values over runs to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredStatistic {
    /// The measure.
    pub measure: Measure,
    /// The statistic over the runs.
    pub over: Statistic,
}

impl MeasuredStatistic {
    /// The median of a measure.
    #[must_use]
    pub const fn median(measure: Measure) -> Self {
        Self {
            measure,
            over: Statistic::MEDIAN,
        }
    }

    /// Reads a measure without a statistic, or with one, such as `completion_p95`.
    ///
    /// # Errors
    /// Returns an error with the fix if there is no such measure or statistic.
    pub fn parse(name: &str) -> Result<Self, MeasureError> {
        let unknown = match Measure::named(name) {
            Ok(measure) => {
                return Ok(Self {
                    measure,
                    over: Statistic::Every,
                });
            }
            Err(unknown) => unknown,
        };
        let Some((start, statistic)) = name.rsplit_once('_') else {
            return Err(unknown);
        };
        let Ok(measure) = Measure::named(start) else {
            return Err(unknown);
        };
        let over = Statistic::parse(statistic)?;
        Ok(Self { measure, over })
    }

    /// Like [`MeasuredStatistic::parse`], with the median if no statistic is named.
    ///
    /// # Errors
    /// Returns an error with the fix if there is no such measure or statistic.
    pub fn parse_or_median(name: &str) -> Result<Self, MeasureError> {
        let parsed = Self::parse(name.trim())?;
        Ok(match parsed.over {
            Statistic::Every => Self::median(parsed.measure),
            Statistic::Mean | Statistic::Quantile(_) => parsed,
        })
    }

    /// The statistic over the given runs. A run without the measure counts as infinite.
    #[must_use]
    pub fn of(self, runs: &[RunRow]) -> f64 {
        self.over.of(&self.measure.values(runs))
    }
}
