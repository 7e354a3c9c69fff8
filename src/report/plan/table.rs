//! The candidates of a world in a table: a line each, each searched setting in a column of its own.

use super::{in_unit, percent};
use crate::report::format::{RateUnit, time, time_interval};
use crate::results::{Candidate, CandidateStatus, PlanRecord, Question};

/// Widest that the columns of names are together: the others need the rest of a hundred characters.
const NAMES_MAX: usize = 36;

/// One line a candidate, columns aligned.
pub(super) fn candidates(plan: &PlanRecord, question: &Question) -> String {
    let names = names(question);
    let first = names.len();
    let rate = RateUnit::for_max(question.candidates.iter().map(|candidate| candidate.load.value).fold(0.0, f64::max));
    let load = |value: f64| match plan.load.unit.as_str() {
        "bytes/s" => rate.text(value),
        unit => in_unit(value, unit),
    };
    let values = question.candidates.iter().map(|candidate| {
        let slower = candidate.slower_by.map(|by| match by.low < by.high {
            true => format!("{} {}", time(by.value), time_interval(by.value, by.low, by.high)),
            // The very same in every replicate.
            false => time(by.value),
        });
        [
            verdict(plan, candidate),
            candidate.time.map_or_else(|| "never".to_owned(), |span| time(span.value)),
            slower.unwrap_or_default(),
            load(candidate.load.value),
            candidate.runs.to_string(),
        ]
    });
    let head = ["verdict", "time", "slower by", load_name(plan), "runs"].map(str::to_owned);
    let columns = names.into_iter().chain((0..head.len()).map(|column| {
        let values = values.clone().map(|row| row[column].clone());
        std::iter::once(head[column].clone()).chain(values).collect()
    }));
    let columns: Vec<Vec<String>> = columns.collect();
    let mut lines = vec![String::new(); question.candidates.len() + 1];
    for (at, column) in columns.iter().enumerate() {
        let width = column.iter().map(|text| letters(text)).max().unwrap_or(0);
        for (line, text) in lines.iter_mut().zip(column) {
            line.push_str(if at == 0 { "" } else { "  " });
            // Names and verdicts are words, the rest are numbers.
            let padded = if at <= first { format!("{text:<width$}") } else { format!("{text:>width$}") };
            line.push_str(&padded);
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The columns that say which candidate a line is, with their headings: the strategy where there are several, and each
/// searched setting.
fn names(question: &Question) -> Vec<Vec<String>> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    if question.answers.len() > 1 {
        let strategies = question.candidates.iter().map(|candidate| candidate.strategy.clone());
        columns.push(std::iter::once("strategy".to_owned()).chain(strategies).collect());
    }
    let mut settings: Vec<&str> = Vec::new();
    for setting in question.candidates.iter().flat_map(|candidate| &candidate.settings) {
        if !settings.contains(&setting.name.as_str()) {
            settings.push(&setting.name);
        }
    }
    for name in settings {
        let value = |candidate: &Candidate| {
            let found = candidate.settings.iter().find(|setting| setting.name == name);
            found.map(|setting| setting.value.clone()).unwrap_or_default()
        };
        columns.push(std::iter::once(name.to_owned()).chain(question.candidates.iter().map(value)).collect());
    }
    let widest = |columns: &[Vec<String>]| -> Vec<usize> {
        columns.iter().map(|column| column.iter().map(|text| letters(text)).max().unwrap_or(0)).collect()
    };
    loop {
        let widths = widest(&columns);
        let most = widths.iter().copied().max().unwrap_or(0);
        if widths.iter().sum::<usize>() + 2 * widths.len() <= NAMES_MAX || most <= 8 {
            return columns;
        }
        for text in columns.iter_mut().flatten().filter(|text| letters(text) >= most) {
            *text = cut(text, most - 1);
        }
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// A text of at most so many letters, its middle left out.
fn cut(text: &str, most: usize) -> String {
    let kept: Vec<char> = text.chars().filter(|letter| *letter != '…').collect();
    let head = most / 2;
    let tail = most - head - 1;
    kept[..head].iter().chain(&['…']).chain(&kept[kept.len() - tail..]).collect()
}

fn verdict(plan: &PlanRecord, candidate: &Candidate) -> String {
    match candidate.standing {
        CandidateStatus::Breaks => {
            let number = plan.limits.iter().position(|limit| *limit == candidate.reason).map_or(0, |at| at + 1);
            format!("breaks [{number}]")
        }
        CandidateStatus::Equal => format!("within {}", percent(plan.indifference)),
        standing => standing.word().to_owned(),
    }
}

/// The load's name in a column.
fn load_name(plan: &PlanRecord) -> &'static str {
    match plan.load.measure.as_str() {
        "peak_pulls" => "peak pulls",
        "egress_peak_1s_bytes_per_s" => "peak egress",
        "egress_peak_60s_bytes_per_s" => "peak egress 60 s",
        "peak_not_ready" => "not ready",
        _ => "peak load",
    }
}
