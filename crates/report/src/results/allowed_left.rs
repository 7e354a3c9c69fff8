//! How many targets a run may leave on the old version and still count as one that leaves none.

use serde::{Deserialize, Serialize};

use super::RunRow;

/// The targets that each run may leave on the old version. By default none.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllowedLeft {
    /// This number of targets.
    Count(u32),
    /// This share of all targets in whole percent, rounded down.
    Percent(u32),
}

impl Default for AllowedLeft {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl AllowedLeft {
    /// Returns true if runs may leave no target behind.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns how many targets a run leaves behind beyond those that are allowed.
    #[must_use]
    pub fn beyond(self, run: &RunRow) -> u64 {
        let allowed = match self {
            Self::Count(count) => u64::from(count),
            Self::Percent(percent) => run.targets * u64::from(percent) / 100,
        };
        run.left_on_old().saturating_sub(allowed)
    }

    /// Returns the allowance as it is written in an experiment.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Percent(percent) => format!("{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::run_record;
    use super::*;

    fn run(targets: u64, targets_done: u64) -> RunRow {
        RunRow {
            targets,
            targets_done,
            ..run_record(0, targets).run
        }
    }

    #[test]
    fn a_run_is_judged_by_what_it_leaves_beyond_the_allowance() {
        let cases = [
            (AllowedLeft::default(), run(200, 197), 3),
            (AllowedLeft::Count(2), run(200, 197), 1),
            (AllowedLeft::Count(5), run(200, 197), 0),
            (AllowedLeft::Percent(2), run(200, 196), 0),
            (AllowedLeft::Percent(2), run(200, 194), 2),
            // 2% of 30 targets is less than one target.
            (AllowedLeft::Percent(2), run(30, 29), 1),
        ];
        for (allowed, run, beyond) in cases {
            assert_eq!(allowed.beyond(&run), beyond, "{allowed:?}");
        }
    }
}
