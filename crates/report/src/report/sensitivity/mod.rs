//! A sensitivity analysis in words and charts: which constants matter, and where decisions change.
//!
//! There is a tornado chart for each headline measure, a chart of the decisions, and one of the screening. All show
//! constants by their paths, the one with the largest effect first.

mod decisions;
mod screening;
mod tornado;

use itertools::Itertools;

use super::canvas::Canvas;
use super::format::in_unit;
use super::sheet::Sheet;
use super::wrap::{shortened, text_table, wrapped};
use crate::results::{
    DecisionEnd, DecisionRecord, EffectRow, HALVINGS, Measure, SensitivityRecord, grouped,
};
use fleetsim_units::counted;

/// Maximum number of constants in a table of the text.
const ROWS: usize = 8;
/// Maximum number of variants in the text, for each measure.
const VARIANTS: usize = 3;
/// With fewer trajectories, the ranking of constants would be random (Morris used four).
const FEWEST_TRAJECTORIES: u32 = 4;
/// Maximum number of panels of a chart, one for each variant.
const PANELS: usize = 4;

/// The charts with the names of their files.
pub(super) fn charts(record: &SensitivityRecord, sheet: Sheet<'_>) -> Vec<(String, Canvas)> {
    let mut charts = Vec::new();
    for (measure, _) in &record.measures {
        let panels = panels(record, *measure, PANELS);
        if let Some(canvas) = tornado::draw(record, sheet, &panels) {
            charts.push((format!("tornado-{measure}"), canvas));
        }
        if let Some(canvas) = screening::draw(record, sheet, &panels) {
            charts.push((format!("morris-{measure}"), canvas));
        }
    }
    if let Some(canvas) = decisions::draw(record, sheet) {
        charts.push(("decisions".to_owned(), canvas));
    }
    charts
}

/// The effects on one measure of one variant, the largest first, without constants that have none.
struct Panel<'r> {
    variant: &'r str,
    rows: Vec<&'r EffectRow>,
}

impl Panel<'_> {
    /// The largest effect, relative to the measure's value.
    fn relative_effect(&self) -> f64 {
        let row = self.rows[0];
        let value = row.at_value.map_or(1.0, |value| value.abs().max(1e-9));
        row.swing() / value
    }

    /// The panel's table with a heading.
    fn in_words(&self) -> String {
        let EffectRow {
            measure,
            unit,
            at_value,
            ..
        } = self.rows[0];
        format!(
            "\n{measure} of {}: {}\n{}",
            self.variant,
            value(*at_value, unit),
            table(self, unit)
        )
    }
}

/// The variants in which constants have the largest effects on the measure, relative to its value.
fn panels<'r>(record: &'r SensitivityRecord, measure: Measure, most: usize) -> Vec<Panel<'r>> {
    let mut effects = Vec::new();
    for row in &record.effects {
        if row.measure == measure && row.swing() > 0.0 {
            effects.push((row.variant.as_str(), row));
        }
    }
    let mut panels: Vec<Panel<'r>> = Vec::new();
    for (variant, mut rows) in grouped(effects) {
        rows.sort_by(|a, b| b.swing().total_cmp(&a.swing()));
        panels.push(Panel { variant, rows });
    }
    panels.sort_by(|a, b| b.relative_effect().total_cmp(&a.relative_effect()));
    panels.truncate(most);
    panels
}

/// A measure's value in words; `never` if it is not reached.
fn value(value: Option<f64>, unit: &str) -> String {
    in_unit(value.unwrap_or(f64::INFINITY), unit)
}

/// The analysis in words: decisions and the constants that change them, then the constants with the largest effects.
#[must_use]
pub fn sensitivity_text(record: &SensitivityRecord, width: usize) -> String {
    let guesses = record
        .constants
        .iter()
        .filter(|constant| constant.basis == "guess")
        .count();
    let mut text = wrapped(
        &format!(
            "{} constants take part, of which {guesses} are guesses. Each was put at both ends of its range, the others \
             at their values.",
            record.constants.len()
        ),
        width,
        "  ",
    );
    for decision in &record.decisions {
        text.push('\n');
        text.push_str(&decided(decision, width));
    }
    text.push_str(&tables(record));
    let mut without: Vec<&str> = Vec::new();
    for constant in &record.constants {
        if !constant.has_effect {
            without.push(&constant.constant);
        }
    }
    if !without.is_empty() {
        text.push('\n');
        text.push_str(&wrapped(
            &format!("No effect on any run: {}.", without.join(", ")),
            width,
            "  ",
        ));
    }
    text.push('\n');
    text.push_str(&effort(record, width));
    text
}

/// The constants with the largest effect on each measure, by variant.
fn tables(record: &SensitivityRecord) -> String {
    let mut text = String::new();
    for (measure, _) in &record.measures {
        for panel in panels(record, *measure, VARIANTS) {
            text.push_str(&panel.in_words());
        }
    }
    text
}

/// Number of analysed variants.
fn variants(record: &SensitivityRecord) -> u64 {
    record
        .effects
        .iter()
        .map(|row| &row.variant)
        .unique()
        .count() as u64
}

/// Runs of a trajectory: for each variant, one at the start and one after each step.
fn trajectory_runs(record: &SensitivityRecord) -> u64 {
    let active = record
        .constants
        .iter()
        .filter(|constant| constant.has_effect)
        .count() as u64;
    variants(record) * (active + 1)
}

/// Number of runs of the analysis with the minimum number of trajectories. The runs with one changed constant and the
/// complete searches come before the trajectories.
fn budget(record: &SensitivityRecord) -> u64 {
    let searches = record
        .decisions
        .iter()
        .map(|decision| changes(decision).len() as u64)
        .sum::<u64>();
    let values = 1 + 2 * record.constants.len() as u64 + u64::from(HALVINGS) * searches;
    variants(record) * u64::from(record.replicates) * values
        + u64::from(FEWEST_TRAJECTORIES) * trajectory_runs(record)
}

/// The number of runs, and how constants were screened.
fn effort(record: &SensitivityRecord, width: usize) -> String {
    let screened = match record.trajectories {
        0 => "no screening, as the budget allows no trajectory".to_owned(),
        count if count < FEWEST_TRAJECTORIES => format!(
            "no ranking of constants that vary together, because the budget allows {count} trajectories of {} runs; \
             `--budget {}` allows {FEWEST_TRAJECTORIES}",
            trajectory_runs(record),
            budget(record)
        ),
        count => format!("screened in {count} trajectories (morris.csv)"),
    };
    let limits = if record.limits.is_empty() {
        String::new()
    } else {
        format!(" with {}", record.limits.join(", "))
    };
    let text = format!(
        "{}, {} of each variant for each value; {screened}. Best: least {}{limits}.",
        counted(record.runs, "run"),
        record.replicates,
        record.objective
    );
    wrapped(&text, width, "  ")
}

/// The ends of ranges at which a decision has another answer, the closest change first.
fn changes(decision: &DecisionRecord) -> Vec<&DecisionEnd> {
    let mut changes: Vec<&DecisionEnd> = decision.ends.iter().collect();
    changes.retain(|end| end.changes.is_some());
    changes.sort_by(|a, b| share(a).total_cmp(&share(b)));
    changes
}

/// The share of the range at which the answer changes; infinite if it does not.
fn share(end: &DecisionEnd) -> f64 {
    match &end.changes {
        Some((share, _)) => *share,
        None => f64::INFINITY,
    }
}

/// `agent.apply > 12 s`.
fn condition(end: &DecisionEnd) -> String {
    let at = match &end.changes {
        Some((_, at)) => at,
        None => &end.end,
    };
    let sign = if end.is_high { ">" } else { "<" };
    format!("{} {sign} {at}", end.constant)
}

/// A decision and the constants that change it.
fn decided(decision: &DecisionRecord, width: usize) -> String {
    let mut text = wrapped(
        &format!("{}: {}", decision.decision, decision.answer),
        width,
        "  ",
    );
    let changes = changes(decision);
    if changes.is_empty() {
        text.push_str("  no constant changes it within its range\n");
    }
    for end in changes {
        // Wrapping removes spaces at the start.
        let line = wrapped(
            &format!("if {}: {}", condition(end), end.answer),
            width - 2,
            "      ",
        );
        text.push_str(&format!("  {line}"));
    }
    text
}

/// The constants with the largest effects.
fn table(panel: &Panel<'_>, unit: &str) -> String {
    text_table(
        &panel.rows[..panel.rows.len().min(ROWS)],
        2,
        &[
            ("  constant", &|row| format!("  {}", row.constant)),
            ("basis", &|row| row.basis.clone()),
            ("low", &|row| shortened(&row.low, 20)),
            ("there", &|row| value(row.at_low, unit)),
            ("high", &|row| shortened(&row.high, 20)),
            ("there", &|row| value(row.at_high, unit)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sheet::ChartWidth;
    use crate::report::tests::assert_printable;
    use crate::results::Provenance;
    use crate::results::{ConstantRange, ScreeningRow};

    fn effect(constant: &str, variant: &str, at: [Option<f64>; 3]) -> EffectRow {
        EffectRow {
            constant: constant.to_owned(),
            basis: "guess".to_owned(),
            low: "20 Mbit/s".to_owned(),
            value: "100 Mbit/s".to_owned(),
            high: "500 Mbit/s".to_owned(),
            variant: variant.to_owned(),
            measure: Measure::Completion,
            unit: "s".to_owned(),
            at_low: at[0],
            at_value: at[1],
            at_high: at[2],
        }
    }

    fn record() -> SensitivityRecord {
        let constant = |name: &str, has_effect| ConstantRange {
            constant: name.to_owned(),
            basis: "guess".to_owned(),
            low: "1 s".to_owned(),
            value: "2 s".to_owned(),
            high: "9 s".to_owned(),
            has_effect,
        };
        let end = |constant: &str, is_high, changes: Option<(f64, &str)>| DecisionEnd {
            constant: constant.to_owned(),
            is_high,
            end: "9 s".to_owned(),
            answer: if changes.is_some() {
                "careful limit=5%"
            } else {
                "quick"
            }
            .to_owned(),
            changes: changes.map(|(share, at)| (share, at.to_owned())),
        };
        let screened = |constant: &str, mu: f64| ScreeningRow {
            constant: constant.to_owned(),
            variant: "quick".to_owned(),
            measure: Measure::Completion,
            unit: "s".to_owned(),
            effects: 6,
            mu,
            mu_star: mu.abs(),
            sigma: 3.0,
        };
        SensitivityRecord {
            schema_version: 1,
            objective: "completion_s, median".to_owned(),
            limits: vec!["egress_busy_share < 10%".to_owned()],
            replicates: 5,
            runs: 1234,
            trajectories: 6,
            measures: vec![(Measure::Completion, "s".to_owned())],
            constants: vec![
                constant("fleet[*].downlink", true),
                constant("node.nic", false),
            ],
            effects: vec![
                effect(
                    "fleet[*].downlink",
                    "quick",
                    [Some(400.0), Some(100.0), Some(60.0)],
                ),
                effect("agent.apply", "quick", [Some(95.0), Some(100.0), None]),
                effect("node.nic", "quick", [Some(100.0), Some(100.0), Some(100.0)]),
                effect(
                    "fleet[*].downlink",
                    "careful",
                    [Some(1000.0), Some(900.0), Some(890.0)],
                ),
            ],
            screening: vec![
                screened("fleet[*].downlink", -40.0),
                screened("agent.apply", 20.0),
            ],
            decisions: vec![
                DecisionRecord {
                    decision: "least completion_s".to_owned(),
                    answer: "quick".to_owned(),
                    ends: vec![
                        end("fleet[*].downlink", false, Some((0.75, "31 Mbit/s"))),
                        end("agent.apply", true, Some((0.25, "4.1 s"))),
                        end("node.nic", true, None),
                    ],
                },
                DecisionRecord {
                    decision: "completion < 1h".to_owned(),
                    answer: "holds".to_owned(),
                    ends: Vec::new(),
                },
            ],
        }
    }

    #[test]
    fn the_text_begins_with_decisions_and_the_constants_that_change_them() {
        let text = sensitivity_text(&record(), 100);
        let expected = "least completion_s: quick\n  if agent.apply > 4.1 s: careful limit=5%\n  if fleet[*].downlink < \
                        31 Mbit/s: careful limit=5%\n\ncompletion < 1h: holds\n  no constant changes it within its range\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("No effect on any run: node.nic."), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        let first = text
            .lines()
            .position(|line| line.contains("agent.apply") && line.contains("never"));
        let second = text
            .lines()
            .position(|line| line.contains("fleet[*].downlink") && line.contains("6.67 min"));
        assert!(
            first.is_some() && first < second,
            "the largest effect is first:\n{text}"
        );
    }

    #[test]
    fn a_chart_names_its_measure_as_the_tables_do() {
        let mut record = record();
        let measures = record.measures.iter_mut().map(|(measure, _)| measure);
        let of_effects = record.effects.iter_mut().map(|row| &mut row.measure);
        for measure in measures.chain(of_effects) {
            *measure = crate::results::READY_TIME;
        }
        let provenance = &Provenance::new("waves", "How long?", 1, 5);
        let (_, tornado) = &charts(
            &record,
            Sheet {
                provenance,
                width: ChartWidth::Page,
                untitled: false,
            },
        )[0];
        assert!(
            tornado.title.starts_with("Largest effects on completion: "),
            "{}",
            tornado.title
        );
    }

    #[test]
    fn two_trajectories_are_too_few_for_a_ranking() {
        let few = SensitivityRecord {
            trajectories: 2,
            ..record()
        };
        let text = sensitivity_text(&few, 200);
        // There are two variants, and one of two constants has an effect. One at a time takes 2 · 5 · (1 + 2 · 2)
        // runs, the two searches 2 · 5 · 6 each, and the trajectories 4 · 4.
        let why = "the budget allows 2 trajectories of 4 runs; `--budget 186` allows 4";
        assert!(text.contains(why), "{text}");
        let provenance = &Provenance::new("waves", "How long?", 1, 5);
        let charts = charts(
            &few,
            Sheet {
                provenance,
                width: ChartWidth::Page,
                untitled: false,
            },
        );
        assert!(
            charts.iter().all(|(name, _)| !name.starts_with("morris")),
            "no chart either"
        );
    }

    #[test]
    fn every_chart_is_readable() {
        let provenance = &Provenance::new("waves", "How long?", 1, 5);
        for width in [ChartWidth::Column, ChartWidth::Slide, ChartWidth::Page] {
            let charts = charts(
                &record(),
                Sheet {
                    provenance,
                    width,
                    untitled: false,
                },
            );
            let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(
                names,
                ["tornado-completion_s", "morris-completion_s", "decisions"]
            );
            charts
                .iter()
                .for_each(|(_, canvas)| assert_printable(canvas, width));
        }
    }
}
