//! `uncertainty.csv`: the intervals from random numbers only, and the intervals that also cover unknown constants.
//! `draws.csv` has the runs with drawn constants, and `constants.csv` the constants of each draw.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::tables::{from_csv_if_there, header, measure_row, row, runs_csv, to_csv};
use super::{Measure, ResultsError, RunRow, Setting, Statistic, VariantRecord, compared};
use fleetsim_units::stats::{Prediction, prediction_interval};

/// The table of both intervals.
const FILE: &str = "uncertainty.csv";

/// The table of the runs with drawn constants.
const DRAWS: &str = "draws.csv";

/// The table of the drawn constants.
const CONSTANTS: &str = "constants.csv";

/// The table of the decision in each draw.
const DECISIONS: &str = "decisions-by-draw.csv";

/// The files of all tables.
pub(super) const UNCERTAINTY_FILES: [&str; 4] = [FILE, DRAWS, CONSTANTS, DECISIONS];

/// The level of the intervals if there are enough runs.
const LEVEL: f64 = 0.95;

/// `uncertainty.csv`: one measure of one variant.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct UncertaintyRow {
    /// The variant.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The swept settings.
    pub setting: String,
    /// The measure: a column of `runs.csv`.
    pub measure: Measure,
    /// The measure's unit.
    pub unit: String,
    /// Number of runs with the constants at their values in the experiment.
    pub luck_runs: u64,
    /// Median of the runs with the constants at their values in the experiment; empty if half of them or more did not
    /// reach the measure.
    pub luck_median: Option<f64>,
    /// Lower end of the interval that one further run with the same constants is in; empty if the measure is not
    /// reached there.
    pub luck_low: Option<f64>,
    /// Upper end of the interval that one further run with the same constants is in; empty if the measure is not
    /// reached there.
    pub luck_high: Option<f64>,
    /// The probability that one further run with the same constants is in its interval.
    pub luck_level: Option<f64>,
    /// Number of runs with drawn constants.
    pub draws: u64,
    /// Median of the runs with drawn constants.
    pub total_median: Option<f64>,
    /// Lower end of the interval that one further run with unknown constants is in.
    pub total_low: Option<f64>,
    /// Upper end of the interval that one further run with unknown constants is in.
    pub total_high: Option<f64>,
    /// The probability that one further run with unknown constants is in its interval.
    pub total_level: Option<f64>,
    /// Share of the draws in which no variant of the same world has a lower value of the measure.
    pub least_share: f64,
}

/// `constants.csv`: a constant of one draw.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct DrawnConstant {
    /// The draw: the replicate of its runs in `draws.csv`.
    pub draw: u32,
    /// The path of the constant.
    pub constant: String,
    /// The product that the constant belongs to; empty for all products.
    pub product: String,
    /// The value in the experiment.
    pub value: f64,
    /// The value drawn instead.
    pub drawn: f64,
    /// The unit of both values.
    pub unit: String,
}

/// `decisions-by-draw.csv`: the decision on one question of the study in one draw.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct DrawDecisionRow {
    /// The settings that distinguish the question; empty for the only one.
    pub question: String,
    /// The rule of the answer, such as `fastest`.
    pub rule: String,
    /// The draw: the replicate of its runs in `draws.csv`.
    pub draw: u32,
    /// The best variants of this draw, joined by `; `; empty if no variant fulfils the rule.
    pub decision: String,
    /// The best variant with every constant at its value.
    pub at_defaults: String,
    /// Whether the variant in `at_defaults` is one of the best of this draw.
    pub holds: bool,
}

/// The table of the decision in each draw, with its name.
#[must_use]
pub fn decisions_table(rows: &[DrawDecisionRow]) -> (&'static str, Vec<u8>) {
    (DECISIONS, to_csv(&header::<DrawDecisionRow>(), rows))
}

/// The tables of a study with unknown constants, with their names. `drawn` has the runs of each variant.
#[must_use]
pub fn uncertainty_tables(
    variants: &[VariantRecord],
    drawn: &[Vec<RunRow>],
    constants: &[DrawnConstant],
) -> Vec<(&'static str, Vec<u8>)> {
    let settings: Vec<&[Setting]> = variants
        .iter()
        .map(|variant| variant.settings.as_slice())
        .collect();
    let groups = compared(&settings);
    let mut rows = Vec::new();
    for measure in Measure::present(&drawn.iter().flatten()) {
        let drawn = DrawnValues::of(measure, drawn);
        for (at, variant) in variants.iter().enumerate() {
            let own = &[at][..];
            let group = groups.iter().find(|group| group.contains(&at));
            let least_share = drawn.least_share(at, group.map_or(own, Vec::as_slice));
            rows.push(uncertainty_row(variant, &drawn, at, least_share));
        }
    }
    vec![
        (FILE, to_csv("", rows)),
        (DRAWS, runs_csv(drawn.iter().flatten())),
        (CONSTANTS, to_csv(&header::<DrawnConstant>(), constants)),
    ]
}

/// Reads the rows of a results folder; empty if constants were not drawn.
///
/// # Errors
/// Returns an error if the table is damaged.
pub fn read_uncertainty(folder: &Path) -> Result<Vec<UncertaintyRow>, ResultsError> {
    from_csv_if_there(folder, FILE, measure_row)
}

/// Reads the runs with drawn constants of a results folder, and the constants; both are empty if constants were not
/// drawn.
///
/// # Errors
/// Returns an error if a table is damaged.
pub fn read_draws(folder: &Path) -> Result<(Vec<RunRow>, Vec<DrawnConstant>), ResultsError> {
    Ok((
        from_csv_if_there(folder, DRAWS, row)?,
        from_csv_if_there(folder, CONSTANTS, row)?,
    ))
}

/// A measure in all runs with drawn constants.
struct DrawnValues {
    measure: Measure,
    /// The values of each variant, by draw. A time that is not reached counts as later than any other.
    by_variant: Vec<Vec<f64>>,
}

impl DrawnValues {
    fn of(measure: Measure, drawn: &[Vec<RunRow>]) -> Self {
        let mut by_variant = Vec::new();
        for runs in drawn {
            by_variant.push(measure.values(runs));
        }
        Self {
            measure,
            by_variant,
        }
    }

    /// The share of the draws in which no variant of the group has a lower value than `variant`.
    fn least_share(&self, variant: usize, group: &[usize]) -> f64 {
        let own = &self.by_variant[variant];
        let mut least = 0;
        for (draw, value) in own.iter().enumerate() {
            let mut others = group.iter().map(|&other| self.by_variant[other][draw]);
            if others.all(|other| *value <= other) {
                least += 1;
            }
        }
        f64::from(least) / own.len().max(1) as f64
    }
}

/// The row of the variant at index `at`.
fn uncertainty_row(
    variant: &VariantRecord,
    drawn: &DrawnValues,
    at: usize,
    least_share: f64,
) -> UncertaintyRow {
    let measure = drawn.measure;
    let mut luck: Vec<f64> = Vec::new();
    for run in &variant.runs {
        luck.push(measure.of(&run.run).unwrap_or(f64::INFINITY));
    }
    let draws = &drawn.by_variant[at];
    let of_luck = PredictionCells::of(&luck);
    let of_draws = PredictionCells::of(draws);
    UncertaintyRow {
        variant: variant.variant.clone(),
        strategy: variant.strategy.clone(),
        setting: variant.setting.clone(),
        measure,
        unit: measure
            .unit_in(variant.runs.iter().map(|run| &run.run))
            .to_owned(),
        luck_runs: luck.len() as u64,
        luck_median: of_luck.median,
        luck_low: of_luck.low,
        luck_high: of_luck.high,
        luck_level: of_luck.level,
        draws: draws.len() as u64,
        total_median: of_draws.median,
        total_low: of_draws.low,
        total_high: of_draws.high,
        total_level: of_draws.level,
        least_share,
    }
}

/// The median of some values, and the interval that one further value is in. Infinite and unknown values are empty.
#[derive(Default)]
struct PredictionCells {
    median: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    level: Option<f64>,
}

impl PredictionCells {
    fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let mut cells = Self {
            median: finite(Statistic::MEDIAN.of(values)),
            ..Self::default()
        };
        if let Some(Prediction { low, high, level }) = prediction_interval(values, LEVEL) {
            cells.low = finite(low);
            cells.high = finite(high);
            cells.level = Some(level);
        }
        cells
    }
}

/// Returns the value if it is finite.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_documented, run_record, variant};
    use super::*;

    #[test]
    fn every_column_is_documented_and_reads_back() {
        let variants = [
            variant("a", vec![run_record(0, 5), run_record(1, 7)]),
            variant("b", vec![run_record(0, 9)]),
        ];
        let drawn: Vec<Vec<RunRow>> = vec![
            [4, 30, 6]
                .into_iter()
                .map(|peak| run_record(0, peak).run)
                .collect(),
            [8, 9, 6]
                .into_iter()
                .map(|peak| run_record(0, peak).run)
                .collect(),
        ];
        let constant = DrawnConstant {
            draw: 0,
            constant: "agent.apply".to_owned(),
            product: "argoCd".to_owned(),
            value: 1.0,
            drawn: 2.0,
            unit: "s".to_owned(),
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in uncertainty_tables(&variants, &drawn, &[constant]) {
            if name != "draws.csv" {
                assert_documented(name, &bytes);
            }
            std::fs::write(folder.path().join(name), bytes).expect("written");
        }
        let rows = read_uncertainty(folder.path()).expect("readable");
        let of = |name: &str| {
            rows.iter()
                .find(|row| row.variant == name && row.measure == Measure::PeakPulls)
                .expect("a row")
        };
        assert_eq!(
            (of("a").luck_low, of("a").luck_high),
            (Some(5.0), Some(7.0))
        );
        assert_eq!(
            (of("a").total_low, of("a").total_median, of("a").total_high),
            (Some(4.0), Some(6.0), Some(30.0))
        );
        // Draw by draw: 4 is below 8, 30 is above 9, and 6 equals 6.
        assert!(
            (of("a").least_share - 2.0 / 3.0).abs() < 1e-9
                && (of("b").least_share - 2.0 / 3.0).abs() < 1e-9
        );
        assert_eq!(
            read_uncertainty(std::path::Path::new("/nowhere")).expect("none"),
            []
        );
    }
}
