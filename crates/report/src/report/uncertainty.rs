//! The two kinds of interval for each headline measure and variant if constants were drawn: those from random numbers
//! only, and total intervals.

use super::data::Results;
use super::format::{apart, in_unit, percent, time};
use super::wrap::{shortened, text_table, wrapped};
use crate::results::{Measure, READY_TIME, RunOutcome, UncertaintyRow};

/// Headline measures. Each is shown if any run has a value of it.
const HEADLINE: [Measure; 3] = [Measure::ExposedTargets, READY_TIME, Measure::PeakPulls];
/// Maximum width of a variant's name in the text.
const NAME_MAX: usize = 38;

/// The rows of one measure, in the order of the variants.
pub(super) struct Uncertain<'r> {
    pub(super) measure: Measure,
    pub(super) unit: &'r str,
    pub(super) rows: Vec<&'r UncertaintyRow>,
    /// For each row, the words for a value that some draws do not reach.
    pub(super) late: Vec<String>,
}

/// The headline measures with their rows; empty if constants were not drawn.
pub(super) fn headline(results: &Results) -> Vec<Uncertain<'_>> {
    let mut shown = Vec::new();
    for measure in HEADLINE {
        let mut rows: Vec<&UncertaintyRow> = results.uncertainty.iter().collect();
        rows.retain(|row| row.measure == measure);
        let is_seen = rows
            .iter()
            .any(|row| row.total_median.is_some_and(|median| median > 0.0));
        if is_seen {
            shown.push(Uncertain {
                measure,
                unit: &rows[0].unit,
                late: rows.iter().map(|row| late(results, row)).collect(),
                rows,
            });
        }
    }
    shown
}

/// `more than 48 h`, the horizon, for a variant whose unfinished draws went on there; `never` if one of them stalled.
fn late(results: &Results, row: &UncertaintyRow) -> String {
    let mut draws = results.draws.iter();
    let stalls = draws.any(|run| {
        run.variant == row.variant && run.outcome == RunOutcome::Stalled && !run.is_done()
    });
    if stalls || results.provenance.horizon_s <= 0.0 {
        return "never".to_owned();
    }
    format!("more than {}", time(results.provenance.horizon_s))
}

/// A median in words.
pub(super) fn median_text(median: Option<f64>, unit: &str, late: &str) -> String {
    match median {
        Some(median) => in_unit(median, unit),
        None => late.to_owned(),
    }
}

/// An interval in words: `12.3 min–15 min`, `12–200 targets`; `late` are the words for an end that is not reached.
pub(super) fn range(low: Option<f64>, high: Option<f64>, unit: &str, late: &str) -> String {
    match (low, high) {
        (Some(low), Some(high)) if unit == "s" => {
            let low = in_unit(low, unit);
            let high = in_unit(high, unit);
            match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, unit_low)), Some((_, unit_high))) if unit_low == unit_high => {
                    format!("{number}–{high}")
                }
                _ => format!("{low}–{high}"),
            }
        }
        (Some(low), Some(high)) => {
            let [_, from, to] = apart([high, low, high]);
            if from.contains('.') {
                format!("{}–{}", without_zeros(&from), without_zeros(&to))
            } else {
                format!("{from}–{to}")
            }
        }
        (Some(low), None) => format!("{} to {late}", in_unit(low, unit)),
        (None, _) => late.to_owned(),
    }
}

/// A decimal number without trailing zeros.
fn without_zeros(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

/// The interval from random numbers only; a dash for a single run, which has none.
pub(super) fn luck(row: &UncertaintyRow, unit: &str, late: &str) -> String {
    if row.luck_level.is_some() {
        range(row.luck_low, row.luck_high, unit, late)
    } else {
        "–".to_owned()
    }
}

/// The level of an interval in words.
pub(super) fn level(of: Option<f64>) -> String {
    match of {
        Some(level) => percent((level * 1000.0).floor() / 1000.0),
        None => "–".to_owned(),
    }
}

/// The intervals as a text; empty if constants were not drawn.
#[must_use]
pub fn uncertainty_text(results: &Results, width: usize) -> String {
    let mut text = String::new();
    for Uncertain {
        measure,
        unit,
        rows,
        late,
    } in headline(results)
    {
        let first = rows[0];
        text.push('\n');
        text.push_str(&wrapped(
            &format!(
                "{} of one further rollout, each median with two intervals: from random numbers alone ({}), and in \
                 total ({}; {} draws of the constants). The last column is the share of these draws in which the \
                 variant has the lowest value.",
                heading(measure),
                level(first.luck_level),
                level(first.total_level),
                first.draws
            ),
            width,
            "  ",
        ));
        let lines: Vec<UncertainLine<'_>> = rows
            .iter()
            .zip(late)
            .map(|(row, late)| UncertainLine { row, late })
            .collect();
        text.push_str(&table(&lines, unit));
    }
    text
}

/// The heading of a measure in the tables.
pub(super) fn heading(measure: Measure) -> &'static str {
    match measure {
        READY_TIME => "Completion",
        Measure::ExposedTargets => "Exposed clusters",
        Measure::PeakPulls => "Peak pulls",
        other => other.column(),
    }
}

/// A row of a table with the words for a value that some draws do not reach.
struct UncertainLine<'r> {
    row: &'r UncertaintyRow,
    late: String,
}

fn table(lines: &[UncertainLine<'_>], unit: &str) -> String {
    text_table(
        lines,
        1,
        &[
            ("  variant", &|line| {
                format!("  {}", shortened(&line.row.variant, NAME_MAX))
            }),
            ("median", &|line| {
                median_text(line.row.luck_median, unit, &line.late)
            }),
            ("luck alone", &|line| luck(line.row, unit, &line.late)),
            ("median", &|line| {
                median_text(line.row.total_median, unit, &line.late)
            }),
            ("total", &|line| {
                range(line.row.total_low, line.row.total_high, unit, &line.late)
            }),
            ("least in", &|line| {
                percent((line.row.least_share * 100.0).round() / 100.0)
            }),
        ],
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::results::{Provenance, Tables};

    /// Results with the intervals of two variants.
    pub(in crate::report) fn uncertain() -> Results {
        let row = |variant: &str,
                   measure: Measure,
                   unit: &str,
                   luck: [f64; 3],
                   total: [Option<f64>; 3]| {
            UncertaintyRow {
                variant: variant.to_owned(),
                strategy: variant.to_owned(),
                setting: String::new(),
                measure,
                unit: unit.to_owned(),
                luck_runs: 20,
                luck_median: Some(luck[1]),
                luck_low: Some(luck[0]),
                luck_high: Some(luck[2]),
                luck_level: Some(19.0 / 21.0),
                draws: 39,
                total_median: total[1],
                total_low: total[0],
                total_high: total[2],
                total_level: Some(0.95),
                least_share: 0.25,
            }
        };
        let some = |values: [f64; 3]| values.map(Some);
        Results {
            causes: Vec::new(),
            provenance: Provenance {
                horizon_s: 172_800.0,
                ..Provenance::new("waves", "How long?", 1, 20)
            },
            tables: Tables::default(),
            draws: Vec::new(),
            constants: Vec::new(),
            resolved: String::new(),
            untitled: false,
            guesses: Vec::new(),
            width: crate::report::ChartWidth::default(),
            uncertainty: vec![
                row(
                    "quick",
                    READY_TIME,
                    "s",
                    [540.0, 546.0, 560.0],
                    some([300.0, 600.0, 5400.0]),
                ),
                row(
                    "careful",
                    READY_TIME,
                    "s",
                    [3000.0, 3100.0, 3200.0],
                    [Some(2000.0), Some(4000.0), None],
                ),
                row(
                    "quick",
                    Measure::PeakPulls,
                    "pulls",
                    [740.0, 750.0, 755.0],
                    some([700.0, 750.0, 800.0]),
                ),
                row(
                    "quick",
                    Measure::ExposedTargets,
                    "targets",
                    [0.0; 3],
                    some([0.0; 3]),
                ),
            ],
        }
    }

    #[test]
    fn both_intervals_are_shown_side_by_side() {
        let text = uncertainty_text(&uncertain(), 100);
        let line = |start: &str| {
            text.lines()
                .find(|line| line.trim_start().starts_with(start))
                .expect("a line")
        };
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("from random numbers alone (90.4%), and in total (95%; 39 draws"),
            "{text}"
        );
        let quick = line("quick");
        assert!(
            quick.contains("9.10 min")
                && quick.contains("10.0 min")
                && quick.contains("9.00–9.33 min")
                && quick.contains("5.00–90.0 min"),
            "{text}"
        );
        assert!(
            line("careful").contains("33.3 min to more than 2.00 d"),
            "{text}"
        );
        assert!(
            !text.contains("exposed_targets"),
            "no cluster is exposed in any run:\n{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn a_single_run_has_no_interval_from_random_numbers() {
        let mut one = uncertain();
        one.uncertainty
            .iter_mut()
            .for_each(|row| (row.luck_low, row.luck_high, row.luck_level) = (None, None, None));
        let text = uncertainty_text(&one, 100);
        assert!(
            text.contains("from random numbers alone (–),") && !text.contains("min       more"),
            "{text}"
        );
        assert_eq!(text.matches(" – ").count(), 3, "{text}");
    }

    #[test]
    fn results_without_draws_have_no_uncertainty_text() {
        let plain = Results {
            uncertainty: Vec::new(),
            ..uncertain()
        };
        assert_eq!(uncertainty_text(&plain, 100), "");
    }
}
