//! The result of a sensitivity analysis: the effect of each constant, the screening, and the decisions that change.
//! `sensitivity.json` has everything; `sensitivity.csv`, `morris.csv` and `decisions.csv` are its tables.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::provenance::{VersionedRecord, read_record};
use super::tables::{header, to_csv};
use super::{Measure, ResultsError};

/// The name of the analysis' file. It distinguishes the folder of a sensitivity analysis from one of plain results.
pub const SENSITIVITY_FILE: &str = "sensitivity.json";

/// Number of times that the search for the value that changes a decision halves the range: the value is found to
/// within 1/64 of the distance from the value in force to the end of the range.
pub const HALVINGS: u32 = 6;

/// The result of a sensitivity analysis.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SensitivityRecord {
    /// The version of this format.
    pub schema_version: u32,
    /// The measure that the best variant minimises, e.g. `completion_s, median`.
    pub objective: String,
    /// Limits that the best variant must meet, as written.
    pub limits: Vec<String>,
    /// Number of runs of every variant for each value of a constant.
    pub replicates: u32,
    /// Number of simulated runs.
    pub runs: u64,
    /// Number of trajectories of the screening; 0 if there was none.
    pub trajectories: u32,
    /// The measures that the charts show, the objective's measure first: name and unit.
    pub measures: Vec<(Measure, String)>,
    /// The analysed constants, in the order of the model.
    pub constants: Vec<ConstantRange>,
    /// The effect of each constant on each measure of each variant.
    pub effects: Vec<EffectRow>,
    /// The screening of each constant, for each measure of each variant.
    pub screening: Vec<ScreeningRow>,
    /// The decisions and the constants that change them.
    pub decisions: Vec<DecisionRecord>,
}

/// A constant with its range in the experiment.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ConstantRange {
    /// The path of the constant.
    pub constant: String,
    /// The basis of the range: `guess`, `measured` or `documented`.
    pub basis: String,
    /// The low end, as text; with several groups or products, the low end of each.
    pub low: String,
    /// The value in force.
    pub value: String,
    /// The high end of the range.
    pub high: String,
    /// Whether any run differs at an end of the range.
    pub has_effect: bool,
}

/// `sensitivity.csv`: the median of a measure over the runs of a variant at both ends of a constant's range.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct EffectRow {
    /// The constant's path.
    pub constant: String,
    /// The basis of the range: `guess`, `measured` or `documented`.
    pub basis: String,
    /// The low end of the range.
    pub low: String,
    /// The value in force.
    pub value: String,
    /// The high end of the range.
    pub high: String,
    /// The variant.
    pub variant: String,
    /// The measure: a column of `runs.csv`.
    pub measure: Measure,
    /// The measure's unit.
    pub unit: String,
    /// The measure at the low end; empty if more than half of the runs did not reach it.
    pub at_low: Option<f64>,
    /// The measure at the value in force.
    pub at_value: Option<f64>,
    /// The measure at the high end.
    pub at_high: Option<f64>,
}

impl EffectRow {
    /// The largest change of the measure from its value with the constant in force; infinite if the measure is reached
    /// at only one of the two.
    #[must_use]
    pub fn swing(&self) -> f64 {
        let [low, value, high] =
            [self.at_low, self.at_value, self.at_high].map(|at| at.unwrap_or(f64::INFINITY));
        distance(value, low).max(distance(value, high))
    }
}

/// The difference of two values; 0 if neither is reached.
fn distance(value: f64, end: f64) -> f64 {
    if end.is_infinite() && value.is_infinite() {
        0.0
    } else {
        (end - value).abs()
    }
}

/// `morris.csv`: the elementary effects of a constant on a measure of a variant.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ScreeningRow {
    /// The constant's path.
    pub constant: String,
    /// The variant.
    pub variant: String,
    /// The measure: a column of `runs.csv`.
    pub measure: Measure,
    /// The measure's unit.
    pub unit: String,
    /// Number of elementary effects that could be computed.
    pub effects: u64,
    /// The mean of the elementary effects: the change over the whole range.
    pub mu: f64,
    /// The mean of the absolute values of the elementary effects.
    pub mu_star: f64,
    /// The standard deviation of the elementary effects; large if the effect depends on other constants or is not
    /// linear.
    pub sigma: f64,
}

/// One decision, and the constants that change it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct DecisionRecord {
    /// The question that the decision answers, e.g. `least completion_s, clusters=200`.
    pub decision: String,
    /// The answer at the values in force.
    pub answer: String,
    /// For each constant, the answers at both ends of its range.
    pub ends: Vec<DecisionEnd>,
}

/// The answer of a decision at one end of a constant's range.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct DecisionEnd {
    /// The constant's path.
    pub constant: String,
    /// Whether this is the high end of the range.
    pub is_high: bool,
    /// The value of the constant at this end.
    pub end: String,
    /// The answer of the decision at this end.
    pub answer: String,
    /// The point where the answer changes, if it does: its distance from the value in force, as a share of the
    /// distance to the end of the range, and the constant's value there.
    pub changes: Option<(f64, String)>,
}

impl VersionedRecord for SensitivityRecord {
    const FILE: &'static str = SENSITIVITY_FILE;
    const COMMAND: &'static str = "sensitivity";
    const EXPECTED_VERSION: u32 = Self::SCHEMA_VERSION;

    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl SensitivityRecord {
    /// The version of the format.
    pub const SCHEMA_VERSION: u32 = 1;

    /// Reads the record of a results folder.
    ///
    /// # Errors
    /// Returns an error if the record is missing, unreadable or damaged, or has another format.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        read_record(folder)
    }

    /// The tables of an analysis with their names.
    #[must_use]
    pub fn tables(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut decisions = Vec::new();
        for decision in &self.decisions {
            for end in &decision.ends {
                decisions.push(decision_row(decision, end));
            }
        }
        let columns = "decision,answer,constant,side,end,answer_at_end,changes_at,changes_at_share";
        vec![
            (
                "sensitivity.csv",
                to_csv(&header::<EffectRow>(), &self.effects),
            ),
            (
                "morris.csv",
                to_csv(&header::<ScreeningRow>(), &self.screening),
            ),
            ("decisions.csv", to_csv(columns, decisions)),
        ]
    }
}

/// The row of a decision at one end of a constant's range, in `decisions.csv`.
fn decision_row(decision: &DecisionRecord, end: &DecisionEnd) -> impl Serialize {
    let side = if end.is_high { "high" } else { "low" };
    let mut changes_at = String::new();
    let mut changes_at_share = None;
    if let Some((share, value)) = &end.changes {
        changes_at.clone_from(value);
        changes_at_share = Some(*share);
    }
    (
        decision.decision.clone(),
        decision.answer.clone(),
        end.constant.clone(),
        side,
        end.end.clone(),
        end.answer.clone(),
        changes_at,
        changes_at_share,
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::assert_documented;
    use super::*;

    #[test]
    fn every_column_of_a_sensitivity_analysis_is_documented() {
        let record = SensitivityRecord {
            schema_version: SensitivityRecord::SCHEMA_VERSION,
            objective: String::new(),
            limits: Vec::new(),
            replicates: 1,
            runs: 1,
            trajectories: 0,
            measures: Vec::new(),
            constants: Vec::new(),
            effects: Vec::new(),
            screening: Vec::new(),
            decisions: Vec::new(),
        };
        for (name, bytes) in record.tables() {
            assert_documented(name, &bytes);
        }
    }

    #[test]
    fn the_swing_of_an_effect_is_its_largest_change() {
        let row = |at_low, at_value, at_high| EffectRow {
            constant: String::new(),
            basis: String::new(),
            low: String::new(),
            value: String::new(),
            high: String::new(),
            variant: String::new(),
            measure: Measure::default(),
            unit: String::new(),
            at_low,
            at_value,
            at_high,
        };
        assert!((row(Some(1.0), Some(3.0), Some(4.0)).swing() - 2.0).abs() < 1e-12);
        assert!(
            row(Some(1.0), Some(3.0), None).swing().is_infinite(),
            "it is never reached"
        );
        assert!(row(None, None, None).swing().abs() < 1e-12);
    }
}
