//! The objective of a plan: a duration to minimise and its statistic over runs, such as `completion_p95`.
//!
//! It is written like the left side of a [`super::Limit`]. The default statistic is the median.

use std::fmt;

use super::limit::{Statistic, find};
use super::{MEASURES, Measure, MeasureError, RunRow};

/// A duration to minimise.
#[derive(Clone, Debug)]
pub struct Objective {
    text: String,
    measure: &'static Measure,
    over: Statistic,
}

impl Objective {
    /// Reads a duration with a statistic over the runs.
    ///
    /// # Errors
    /// The error, with a fix.
    pub fn parse(written: &str) -> Result<Self, MeasureError> {
        let text = written.trim();
        let (measure, over) = find(text)?;
        if measure.unit != "s" {
            let times: Vec<&str> = MEASURES.iter().filter(|measure| measure.unit == "s").map(|m| m.name).collect();
            return Err(MeasureError {
                message: format!("the objective must be a duration, not `{text}`"),
                help: format!(
                    "use one of {}, e.g. `completion_p95`; state other requirements as limits",
                    times.join(", ")
                ),
            });
        }
        Ok(match over {
            Statistic::Every => Self { text: format!("{text}_median"), measure, over: Statistic::Quantile(0.5) },
            over => Self { text: text.to_owned(), measure, over },
        })
    }

    /// The duration of one run; infinite when the run did not reach it.
    #[must_use]
    pub fn of(&self, run: &RunRow) -> f64 {
        (self.measure.of)(run).unwrap_or(f64::INFINITY)
    }

    /// The measure.
    #[must_use]
    pub const fn measure(&self) -> &'static Measure {
        self.measure
    }

    /// Statistic over the values of the runs; never [`Statistic::Every`].
    #[must_use]
    pub const fn over(&self) -> Statistic {
        self.over
    }
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
    fn an_objective_is_a_duration_with_the_median_by_default() {
        let parsed = |text: &str| Objective::parse(text).map(|aim| (aim.to_string(), aim.measure().name, aim.over()));
        assert_eq!(
            parsed("completion"),
            Ok(("completion_median".to_owned(), "completion_s", Statistic::Quantile(0.5)))
        );
        assert_eq!(parsed("t99_s_p95"), Ok(("t99_s_p95".to_owned(), "t99_s", Statistic::Quantile(0.95))));
        assert_eq!(parsed("completion_mean").map(|aim| aim.2), Ok(Statistic::Mean));
        let error = Objective::parse("peak_pulls_p95").expect_err("not a duration");
        assert!(error.message.contains("must be a duration") && error.help.contains("completion_s"), "{error}");
        assert!(Objective::parse("complexion").is_err());
    }
}
