//! What holds the recommended variants back, by trials: the time that each one saves.
//!
//! A panel for each variant. The bar of a trial ends at the median of what it saves, and its line goes from the least
//! to the most of its runs. The rows below `then` are trials after the first resource was lifted.

use crate::report::answer::bound;
use crate::report::bars::{BarChart, BarPlot};
use crate::report::prelude::*;
use crate::results::{CauseRow, CauseVerdict, Resource, ResourceKind, TrialKind};
use fleetsim_units::counted;

/// Most trials of a variant that lift one resource.
const ALONE_MAX: usize = 9;
/// Most trials of a variant after its first resource was lifted.
const THEN_MAX: usize = 3;
/// A trial that saves a smaller share of the time has no bar.
const SHOWN: f64 = 0.01;

/// Draws the chart. `None`: no variant has trials that save anything.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let mut panels: Vec<(String, Vec<&CauseRow>)> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    let mut most: Vec<&str> = Vec::new();
    for variant in &variants {
        let shown = shown_rows(&variant.causes);
        let Some(first) = shown.first() else {
            continue;
        };
        values.extend(first.base_s);
        if let Some(first) = bound::first(&variant.causes) {
            most.extend(first.resources().first().map(|one| one.words()));
        }
        let whole = time(first.base_s.unwrap_or_default());
        panels.push((format!("{}: {whole}", variant.name()), shown));
    }
    if panels.is_empty() {
        return None;
    }
    most.truncate(3);
    let chart = BarChart {
        subject: "What holds the rollout back",
        most: &most,
        note: "time saved by lifting a resource; medians of up to six extra runs, with the least and the most".to_owned(),
        key: &[
            ("a limit", LIMIT),
            ("a failure", FAULT),
            ("people", PEOPLE),
            ("the rule", RULE),
        ],
        numbers: 2,
        panels,
        values,
        axis: "time saved".to_owned(),
        is_from_zero: true,
    };
    Some(chart.draw(results.sheet(), "s", draw_bar))
}

const LIMIT: Colour = Colour(0x1F, 0x6F, 0xB2);
const FAULT: Colour = Colour(0xC2, 0x4A, 0x2C);
const PEOPLE: Colour = Colour(0xE0, 0x9F, 0x3E);
const RULE: Colour = Colour(0x9A, 0xA3, 0xAE);

/// The rows that a chart shows: joint limits, what saves most alone, and what saves most after the first.
fn shown_rows<'r>(causes: &[&'r CauseRow]) -> Vec<&'r CauseRow> {
    let mut shown = Vec::new();
    for row in causes {
        if row.trial == TrialKind::Together && row.verdict == CauseVerdict::First {
            shown.push(*row);
        }
    }
    shown.extend(largest(causes, TrialKind::Alone, ALONE_MAX));
    if !shown.is_empty() {
        shown.extend(largest(causes, TrialKind::Then, THEN_MAX));
    }
    shown
}

/// The trials of a kind that save most.
fn largest<'r>(causes: &[&'r CauseRow], kind: TrialKind, most: usize) -> Vec<&'r CauseRow> {
    let mut rows: Vec<&CauseRow> = causes.to_vec();
    rows.retain(|row| {
        let saved = row.saved_s.unwrap_or_default();
        row.trial == kind && saved > SHOWN * row.base_s.unwrap_or(f64::INFINITY)
    });
    rows.sort_by(|a, b| {
        b.saved_s
            .unwrap_or_default()
            .total_cmp(&a.saved_s.unwrap_or_default())
    });
    rows.truncate(most);
    rows
}

/// `the registry's link and the mirrors' links together`, `then starting pods`.
fn name(row: &CauseRow) -> String {
    let words: Vec<&str> = row.resources().into_iter().map(Resource::words).collect();
    let words = words.join(" and ");
    match row.trial {
        TrialKind::Together => format!("{words} together"),
        TrialKind::Then => format!("then {words}"),
        _ => words,
    }
}

fn draw_bar(canvas: &mut Canvas, plot: &BarPlot<'_>, y: f64, row: &CauseRow) {
    let saved = row.saved_s.unwrap_or_default();
    let low = row.saved_low_s.unwrap_or(saved);
    let whole = row.base_s.unwrap_or(saved);
    // A run that completes only with the lift saves more than any time.
    let high = row.saved_high_s.unwrap_or(f64::INFINITY);
    let most = if high.is_finite() {
        time(high)
    } else {
        "completion".to_owned()
    };
    let numbers = [
        time(saved),
        format!("{} to {most} in {}", time(low), counted(row.runs, "run")),
    ];
    plot.layout.write(canvas, y, &name(row), &numbers, 1);
    let middle = plot.layout.middle(y);
    let from = plot.scale.at(0.0);
    let colour = match row.resources().first().map(|one| one.kind()) {
        Some(ResourceKind::Fault) => FAULT,
        Some(ResourceKind::People) => PEOPLE,
        Some(ResourceKind::Rule) => RULE,
        Some(ResourceKind::Limit) | None => LIMIT,
    };
    canvas.rectangle(
        (from, middle - 7.0),
        (plot.scale.at(saved), middle + 7.0),
        colour,
        if row.trial == TrialKind::Then {
            0.6
        } else {
            1.0
        },
    );
    if row.runs > 1 {
        canvas.line(
            (plot.scale.at(low.max(0.0)), middle),
            (plot.scale.at(high.clamp(0.0, whole)), middle),
            Stroke::solid(INK, 1.4),
        );
    }
}
