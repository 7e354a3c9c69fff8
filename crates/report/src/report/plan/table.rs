//! The candidates of a world in a table: one line for each, and one column for each searched setting.

use itertools::Itertools;

use crate::report::format::{RateUnit, count, in_unit, percent, time, time_with_interval};
use crate::report::wrap::{column, joined, letters, shortened};
use crate::results::{Candidate, CandidateStatus, Limit, Measure, PlanRecord, Question};

/// Width of a line. The name columns get the remaining width, but at least [`NAMES_MIN`].
const WIDTH: usize = 100;
/// Minimum total width of the name columns.
const NAMES_MIN: usize = 16;

/// One line for each candidate, with aligned columns.
pub(super) fn candidates(plan: &PlanRecord, question: &Question) -> String {
    let limits: Vec<Limit> = plan
        .limits
        .iter()
        .filter_map(|limit| Limit::parse(limit).ok())
        .collect();
    // The statistic of a limit is more informative than the median of its measure.
    let has_load = limits
        .iter()
        .any(|limit| limit.measure() == plan.load.measure);
    let is_time = plan.unit == "s";
    let is_setting = plan.unit.is_empty();
    let rows = &question.candidates;
    let mut columns = vec![column("verdict", rows, |candidate| {
        verdict(plan, question, candidate)
    })];
    if !is_time && !is_setting {
        columns.push(column(&plan.objective, rows, |candidate| {
            value_text(plan, candidate)
        }));
    }
    columns.push(column("time", rows, time_text));
    if !is_setting {
        let heading = if is_time { "slower by" } else { "worse by" };
        columns.push(column(heading, rows, |candidate| {
            difference_text(plan, candidate)
        }));
    }
    for (at, limit) in limits.iter().enumerate() {
        columns.push(column(&format!("[{}]", at + 1), rows, |candidate| {
            compared(candidate, at, limit)
        }));
    }
    if !has_load {
        columns.push(column(load_name(plan), rows, |candidate| {
            load_text(plan, question, candidate.load.value)
        }));
    }
    columns.push(column("runs", rows, |candidate| candidate.runs.to_string()));
    let all: Vec<&Candidate> = rows.iter().collect();
    let names = named_columns(
        &all,
        question.answers.len() > 1,
        room_beside(&columns),
        &str::to_owned,
    );
    // Names and verdicts are words; all other cells are numbers.
    let words = names.len() + 1;
    joined(&[names, columns].concat(), words)
}

/// The value of the objective; empty if the candidate has none.
fn value_text(plan: &PlanRecord, candidate: &Candidate) -> String {
    match candidate.value {
        Some(span) => in_unit(span.value, &plan.unit),
        None => String::new(),
    }
}

/// The time until ready, as text.
fn time_text(candidate: &Candidate) -> String {
    match candidate.time {
        Some(span) => time(span.value),
        None => "never".to_owned(),
    }
}

/// The difference between a candidate and the best one; empty if the candidate is not compared.
fn difference_text(plan: &PlanRecord, candidate: &Candidate) -> String {
    match (plan.unit.as_str(), candidate.slower_by) {
        (_, None) => String::new(),
        ("s", Some(by)) => time_with_interval(by.value, by.low, by.high),
        (unit, Some(by)) => in_unit(by.value, unit),
    }
}

/// A load of the world in its unit.
pub(super) fn load_text(plan: &PlanRecord, question: &Question, value: f64) -> String {
    match plan.load.unit.as_str() {
        "bytes/s" => {
            let loads = question
                .candidates
                .iter()
                .map(|candidate| candidate.load.value);
            RateUnit::for_max(loads.fold(0.0, f64::max)).text(value)
        }
        _ => count(value),
    }
}

/// The columns that identify a candidate, with their headings: the strategy if there are several, and each searched
/// setting.
pub(super) fn named_columns(
    candidates: &[&Candidate],
    several_strategies: bool,
    width: usize,
    heading: &dyn Fn(&str) -> String,
) -> Vec<Vec<String>> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    if several_strategies {
        columns.push(column("strategy", candidates, |candidate| {
            candidate.strategy.clone()
        }));
    }
    let settings = candidates.iter().flat_map(|candidate| &candidate.settings);
    for name in settings.map(|setting| &setting.name).unique() {
        columns.push(column(&heading(name), candidates, |candidate| {
            value_of(candidate, name)
        }));
    }
    narrowed(columns, width.max(NAMES_MIN))
}

/// The value of a setting; empty if the candidate does not have it.
fn value_of(candidate: &Candidate, name: &str) -> String {
    let mut settings = candidate.settings.iter();
    match settings.find(|setting| setting.name == name) {
        Some(setting) => setting.value.clone(),
        None => String::new(),
    }
}

/// The width of a line that remains next to the given columns.
pub(super) fn room_beside(columns: &[Vec<String>]) -> usize {
    WIDTH.saturating_sub(columns.iter().map(|column| 2 + widest(column)).sum())
}

/// The width of a column.
fn widest(column: &[String]) -> usize {
    column.iter().map(|text| letters(text)).max().unwrap_or(0)
}

/// The columns, with the longest texts shortened until all fit.
fn narrowed(mut columns: Vec<Vec<String>>, width: usize) -> Vec<Vec<String>> {
    loop {
        let widths: Vec<usize> = columns.iter().map(|column| widest(column)).collect();
        let most = widths.iter().copied().max().unwrap_or(0);
        if widths.iter().sum::<usize>() + 2 * widths.len() <= width || most <= 8 {
            return columns;
        }
        for text in columns.iter_mut().flatten() {
            if letters(text) >= most {
                *text = shortened(text, most - 1);
            }
        }
    }
}

/// Returns whether the search finished for a strategy.
fn is_decided(question: &Question, strategy: &str) -> bool {
    let mut answers = question.answers.iter();
    answers.any(|answer| answer.strategy == strategy && answer.is_decided)
}

/// The status of a candidate in few words.
pub(super) fn verdict(plan: &PlanRecord, question: &Question, candidate: &Candidate) -> String {
    match candidate.standing {
        CandidateStatus::Best if !is_decided(question, &candidate.strategy) => {
            "best so far".to_owned()
        }
        CandidateStatus::Breaks => {
            let mut limits = plan.limits.iter();
            let at = limits.position(|limit| *limit == candidate.reason);
            let number = at.map_or(0, |at| at + 1);
            format!("exceeds [{number}]")
        }
        CandidateStatus::Equal if !plan.unit.is_empty() => {
            format!("within {}", percent(plan.indifference))
        }
        CandidateStatus::Leaves => "leaves more behind".to_owned(),
        CandidateStatus::Slower if plan.unit != "s" => "worse".to_owned(),
        standing => standing.word(),
    }
}

/// The statistic of a limit; for a limit on a share of all runs, the number of runs that meet it.
fn compared(candidate: &Candidate, at: usize, limit: &Limit) -> String {
    let Some(&(value, beyond)) = candidate.limits.get(at) else {
        return String::new();
    };
    if limit.to_string().starts_with("P(") {
        return format!("{}/{}", candidate.runs - beyond, candidate.runs);
    }
    match value {
        Some(value) => in_unit(value, limit.unit()),
        None => "> horizon".to_owned(),
    }
}

/// The load's name as a column heading.
pub(super) fn load_name(plan: &PlanRecord) -> &'static str {
    match plan.load.measure {
        Measure::PeakPulls => "peak pulls",
        Measure::EgressPeak1s => "peak egress",
        Measure::EgressPeak60s => "peak egress 60 s",
        Measure::PeakNotReady => "not ready",
        _ => "peak load",
    }
}
