//! A measure over the runs of a variant.

use crate::results::{Measure, RunRow, Statistic};

/// A measure with the statistic that sums up its values over runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasuredStatistic {
    /// The measure.
    pub(super) measure: &'static Measure,
    /// The statistic over the runs.
    pub(super) over: Statistic,
}

impl MeasuredStatistic {
    /// The median of a measure.
    pub(super) const fn median(measure: &'static Measure) -> Self {
        Self {
            measure,
            over: Statistic::Quantile(0.5),
        }
    }

    /// The statistic over these runs. A run without the measure counts as infinite.
    pub(super) fn of(self, runs: &[RunRow]) -> f64 {
        self.over.of(&values(self.measure, runs))
    }
}

/// The values of a measure, one of each run; infinite for a run without it.
pub(super) fn values(measure: &Measure, runs: &[RunRow]) -> Vec<f64> {
    let mut values = Vec::new();
    for run in runs {
        values.push((measure.of)(run).unwrap_or(f64::INFINITY));
    }
    values
}

/// The measure of a name that the table of measures has.
pub(super) fn named(measure: &str) -> &'static Measure {
    Measure::named(measure).expect("a measure of the table")
}
