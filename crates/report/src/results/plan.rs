//! The result of a search for settings: the question, the answer for each world and strategy, and every candidate with
//! the runs spent on it. `plan.json` has everything, `plan.csv` a row for each candidate.
//!
//! Times and loads are estimates from few runs, so each has the range of its runs.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::provenance::{VersionedRecord, read_record};
use super::tables::{runs_csv, to_csv};
use super::{AllowedLeft, Measure, ReachRange, ResultsError, RunRow, Setting};

/// The name of the plan file. It distinguishes the folder of a plan from one of plain results.
pub const PLAN_FILE: &str = "plan.json";

/// The result of a search.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PlanRecord {
    /// The version of this format.
    pub schema_version: u32,
    /// The objective: a measure with its statistic, e.g. `completion_median`, or the path of a setting.
    pub objective: String,
    /// The unit of the objective: `s` for a time; empty for a setting.
    pub unit: String,
    /// Whether the highest value is the best; only for a setting.
    pub is_maximised: bool,
    /// The limits, as written.
    pub limits: Vec<String>,
    /// The targets that a run may leave on the old version and still count as one that leaves none.
    #[serde(default, skip_serializing_if = "AllowedLeft::is_none")]
    pub allowed_left: AllowedLeft,
    /// Confidence of the comparisons, 0 to 1.
    pub confidence: f64,
    /// Values that differ by less than this share count as equal.
    pub indifference: f64,
    /// Minimum number of runs in which the answer must have met the limits.
    pub confirm: u32,
    /// Number of runs of each candidate in an exhaustive search.
    pub replicates: u32,
    /// Number of simulated runs.
    pub runs: u64,
    /// Number of runs of an exhaustive search.
    pub exhaustive_runs: u64,
    /// The budget of runs, if the search stopped because of it.
    pub stopped_at: Option<u64>,
    /// The load that the chart shows.
    pub load: LoadAxis,
    /// The question of each world, in the experiment's order.
    pub questions: Vec<Question>,
    /// The search with a limited number of tries. `None`: every candidate ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<TunedPlan>,
    /// The result of an exhaustive search, if requested.
    pub exhaustive: Option<ExhaustiveSearch>,
}

/// The load that the chart shows.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LoadAxis {
    /// A column of `runs.csv`.
    pub measure: Measure,
    /// The unit of the load.
    pub unit: String,
    /// The maximum load that a limit allows, with the limit as written.
    pub at_most: Option<(f64, String)>,
    /// The maximum duration that a limit allows, with the limit as written.
    pub time_at_most: Option<(f64, String)>,
}

/// One world: its candidates, and the answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Question {
    /// The swept settings of the world, `name=value`, joined by `; `; empty if there is only one world.
    pub world: String,
    /// The best setting of each strategy, in the experiment's order.
    pub answers: Vec<StrategyAnswer>,
    /// The best variant of all strategies. `None`: no setting meets the limits.
    pub best: Option<String>,
    /// Whether the runs show, with the plan's confidence, that this variant is the best.
    #[serde(default)]
    pub is_best_shown: bool,
    /// What holds the best variant back, by trials; empty if it was not tried.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bound: String,
    /// The candidates in the experiment's order.
    pub candidates: Vec<Candidate>,
}

impl Question {
    /// Returns whether the search finished for all strategies.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.answers.iter().all(|answer| answer.is_decided)
    }
}

/// The best setting of one strategy in one world.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StrategyAnswer {
    /// The numbers of targets that rollouts with the best setting could and could not update; empty without an answer.
    #[serde(default)]
    pub reach: ReachRange,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The variant with the best setting. `None`: no setting meets the limits.
    pub variant: Option<String>,
    /// The variant that is closest to meeting the limits, if none meets them.
    pub closest: Option<String>,
    /// Whether the search finished for this strategy: all other settings are slower, equal or excluded.
    pub is_decided: bool,
    /// Whether the answer met the limits in the required number of runs, and the runs show that it meets those on
    /// means and percentiles.
    pub is_confirmed: bool,
    /// The number of runs in which the answer met all limits. `None`: there is no answer.
    pub kept: Option<WithinLimits>,
    /// The snippet for the product's own file. `None`: there is no answer, the search did not decide, or no product
    /// implements the strategy.
    pub snippet: Option<Snippet>,
}

/// The number of runs that met all limits, and the share of all possible runs that do.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct WithinLimits {
    /// Number of runs that met all limits.
    pub kept: u64,
    /// Number of all runs of the setting.
    pub runs: u64,
    /// Lower confidence bound of the share of all possible runs that meet the limits, corrected for the choice among
    /// candidates.
    pub share_at_least: f64,
}

/// A piece of a product's own file.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
pub struct Snippet {
    /// The product, and where to paste the text.
    pub place: String,
    /// The text to paste.
    pub text: String,
}

/// The result for a candidate.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CandidateStatus {
    /// The best of the strategy's settings that meet the limits.
    Best,
    /// Equal to the best setting, within the zone of indifference.
    Equal,
    /// Slower than the best setting, or worse in another objective.
    Slower,
    /// The candidate exceeds a limit.
    Breaks,
    /// The candidate leaves more targets behind than another setting that meets the limits.
    Leaves,
    /// A run of the candidate did not finish.
    Unfinished,
    /// The candidate's runs do not distinguish it from the best setting.
    Undecided,
}

impl CandidateStatus {
    /// The word for the status in files.
    #[must_use]
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// An estimate from few runs, with the lowest and highest run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate from all runs.
    pub value: f64,
    /// The lowest value of a run.
    pub low: f64,
    /// The highest value of a run.
    pub high: f64,
}

/// One candidate.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Candidate {
    /// Strategy and setting in one short text.
    pub variant: String,
    /// The strategy's name in the experiment file.
    pub strategy: String,
    /// The searched settings, without those of the world.
    pub settings: Vec<Setting>,
    /// The candidate's status.
    pub standing: CandidateStatus,
    /// The limit that the candidate exceeds or is not shown to meet, the rule that blocked an unfinished run, or how
    /// many targets it leaves behind; otherwise empty.
    pub reason: String,
    /// Number of runs spent on the candidate.
    pub runs: u64,
    /// The last round in which the candidate ran, from 1.
    pub round: u32,
    /// The objective over the candidate's runs in seconds or, if the objective is not a time, the median time until
    /// all reachable targets are ready. `None` if a run did not finish.
    pub time: Option<Estimate>,
    /// The objective over the candidate's runs, in the objective's unit. `None` if the objective is a time or a
    /// setting.
    pub value: Option<Estimate>,
    /// Difference of the objective from that of the best candidate over the same replicates, with the minimum and the
    /// maximum over replicates, in the objective's unit. `None` for the best candidate, and if the objective is a
    /// setting.
    pub slower_by: Option<Estimate>,
    /// The median load over the candidate's runs, with its range.
    pub load: Estimate,
    /// For each limit, the compared value and the number of runs that exceed it.
    pub limits: Vec<(Option<f64>, u64)>,
    /// The rules that blocked the candidate's unfinished runs, each with the number of runs; an empty text if no rule
    /// did.
    #[serde(default)]
    pub unfinished: Vec<(String, u64)>,
    /// The candidate's distance from the front. `None`: the plan tries all settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front: Option<FrontPlace>,
}

/// The time, load and exposure of a setting in the runs that all tried settings share: medians, except for the time,
/// which has the statistic of the objective.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct FrontPlace {
    /// Like [`Candidate::time`], in seconds. `None` if a run did not finish.
    pub time: Option<f64>,
    /// The load, in the unit of [`LoadAxis`].
    pub load: f64,
    /// Number of targets that received a defective release. If the release is not defective, the maximum number of
    /// clusters that were simultaneously unready.
    pub exposure: f64,
    /// Whether the setting is on the front.
    pub is_optimal: bool,
    /// Whether the setting is the current one of the experiment.
    pub is_present: bool,
}

/// A search with a limited number of tries.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TunedPlan {
    /// Maximum number of tried settings for each strategy and world.
    pub tries: u64,
    /// Number of all combinations of values.
    pub settings: u64,
    /// Number of runs that all tried settings share.
    pub runs_each: u64,
    /// The measure of the exposure: a column of `runs.csv`.
    pub exposure: Measure,
}

impl Candidate {
    /// The searched settings as one text: `name=value`, joined by `; `.
    #[must_use]
    pub fn setting(&self) -> String {
        Setting::in_short(&self.settings)
    }
}

/// An exhaustive search of the same candidates.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ExhaustiveSearch {
    /// Number of runs of the exhaustive search.
    pub runs: u64,
    /// For each world and strategy, the choice of the exhaustive search, and whether the plan's answer is the same
    /// setting or equally fast.
    pub answers: Vec<(Option<String>, bool)>,
}

impl VersionedRecord for PlanRecord {
    const FILE: &'static str = PLAN_FILE;
    const COMMAND: &'static str = "plan";
    const EXPECTED_VERSION: u32 = Self::SCHEMA_VERSION;

    fn version(&self) -> u32 {
        self.schema_version
    }
}

impl PlanRecord {
    /// The version of the format.
    pub const SCHEMA_VERSION: u32 = 2;

    /// Reads the plan of a results folder.
    ///
    /// # Errors
    /// Returns an error if the plan is missing, unreadable or damaged, or has another format.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        read_record(folder)
    }

    /// Returns whether every question has an answer that the runs show.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.questions
            .iter()
            .all(|question| question.best.is_some() && question.is_decided())
    }
}

const FRONT_HEADER: &str =
    "variant,strategy,setting,world,standing,time_s,load,exposure,on_front,is_present";

const PLAN_HEADER: &str = "variant,strategy,setting,world,standing,reason,runs,round,time_s,time_min_s,time_max_s,\
slower_by,slower_by_low,slower_by_high,load,load_min,load_max,value,value_min,value_max";

/// The tables of a plan with their names: `plan.csv` and `runs.csv`.
#[must_use]
pub fn plan_tables(plan: &PlanRecord, runs: &[RunRow]) -> Vec<(&'static str, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut on_front = Vec::new();
    for question in &plan.questions {
        for candidate in &question.candidates {
            rows.push(plan_row(question, candidate));
            if let Some(place) = candidate.front {
                on_front.push(front_row(question, candidate, place));
            }
        }
    }
    let mut tables = vec![
        ("plan.csv", to_csv(PLAN_HEADER, rows)),
        ("runs.csv", runs_csv(runs.iter())),
    ];
    if plan.tuned.is_some() {
        tables.push(("front.csv", to_csv(FRONT_HEADER, on_front)));
    }
    tables
}

/// The row of a candidate below [`PLAN_HEADER`].
fn plan_row(question: &Question, candidate: &Candidate) -> impl Serialize {
    let estimates = [
        cells_of(candidate.time),
        cells_of(candidate.slower_by),
        cells_of(Some(candidate.load)),
        cells_of(candidate.value),
    ];
    (
        candidate.variant.clone(),
        candidate.strategy.clone(),
        candidate.setting(),
        question.world.clone(),
        candidate.standing,
        candidate.reason.clone(),
        candidate.runs,
        candidate.round,
        estimates,
    )
}

/// The row of a candidate below [`FRONT_HEADER`].
fn front_row(question: &Question, candidate: &Candidate, place: FrontPlace) -> impl Serialize {
    (
        candidate.variant.clone(),
        candidate.strategy.clone(),
        candidate.setting(),
        question.world.clone(),
        candidate.standing,
        place.time,
        place.load,
        place.exposure,
        place.is_optimal,
        place.is_present,
    )
}

/// The value of an estimate and its ends; all three are empty without an estimate.
fn cells_of(estimate: Option<Estimate>) -> [Option<f64>; 3] {
    match estimate {
        Some(Estimate { value, low, high }) => [Some(value), Some(low), Some(high)],
        None => [None; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_documented, run_record};
    use super::*;

    #[test]
    fn every_column_of_a_plan_is_documented() {
        let span = Estimate {
            value: 1.0,
            low: 1.0,
            high: 1.0,
        };
        let candidate = Candidate {
            variant: "s clusters=9; limit=1".to_owned(),
            strategy: "s".to_owned(),
            settings: Vec::new(),
            standing: CandidateStatus::Best,
            reason: String::new(),
            runs: 1,
            round: 1,
            time: Some(span),
            value: None,
            slower_by: None,
            load: span,
            limits: Vec::new(),
            unfinished: Vec::new(),
            front: Some(FrontPlace {
                time: None,
                load: 1.0,
                exposure: 1.0,
                is_optimal: true,
                is_present: true,
            }),
        };
        let question = Question {
            world: "clusters=9".to_owned(),
            answers: Vec::new(),
            best: None,
            is_best_shown: false,
            bound: String::new(),
            candidates: vec![candidate],
        };
        let plan = PlanRecord {
            schema_version: PlanRecord::SCHEMA_VERSION,
            objective: "completion_median".to_owned(),
            unit: "s".to_owned(),
            is_maximised: false,
            limits: Vec::new(),
            allowed_left: AllowedLeft::default(),
            confidence: 0.95,
            indifference: 0.01,
            confirm: 1,
            replicates: 1,
            runs: 1,
            exhaustive_runs: 1,
            stopped_at: None,
            load: LoadAxis {
                measure: Measure::PeakPulls,
                unit: "pulls".to_owned(),
                at_most: None,
                time_at_most: None,
            },
            questions: vec![question],
            tuned: Some(TunedPlan {
                tries: 1,
                settings: 1,
                runs_each: 5,
                exposure: Measure::PeakNotReady,
            }),
            exhaustive: None,
        };
        let tables = plan_tables(&plan, &[run_record(0, 1).run]);
        assert_eq!(
            tables.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["plan.csv", "runs.csv", "front.csv"]
        );
        for (name, bytes) in tables {
            assert_documented(name, &bytes);
        }
        let documentation = include_str!("../../../../docs/results-format.md");
        let standings = [
            CandidateStatus::Best,
            CandidateStatus::Equal,
            CandidateStatus::Slower,
            CandidateStatus::Breaks,
            CandidateStatus::Leaves,
            CandidateStatus::Unfinished,
            CandidateStatus::Undecided,
        ];
        for standing in standings {
            assert!(
                documentation.contains(&format!("`{}`", standing.word())),
                "{standing:?}"
            );
        }
    }
}
