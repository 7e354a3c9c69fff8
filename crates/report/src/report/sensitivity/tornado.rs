//! The tornado chart: a measure at both ends of each constant's range, the largest change first.
//!
//! There is a panel for each of the variants whose measure changes most, all on one scale. The upper bar of a row goes
//! from the value in force to the value at the low end of the constant's range, the lower bar to the value at the high
//! end.

use super::{Panel, value};
use crate::report::bars::{BarChart, BarPlot, ROWS, named};
use crate::report::prelude::*;
use crate::results::{EffectRow, SensitivityRecord};
use fleetsim_units::counted;

/// Draws the chart. `None` if no constant has an effect on the measure.
pub(super) fn draw(
    record: &SensitivityRecord,
    sheet: Sheet<'_>,
    panels: &[Panel<'_>],
) -> Option<Canvas> {
    let first = panels.first()?.rows[0];
    let measure = first.measure;
    let unit = first.unit.as_str();
    let most: Vec<&str> = panels[0]
        .rows
        .iter()
        .take(4)
        .map(|row| short_name(&row.constant))
        .collect();
    let note = format!(
        "each constant at the ends of its range, the others at their values; medians of {}; one scale",
        counted(record.replicates, "run")
    );
    let mut shown: Vec<(String, Vec<&EffectRow>)> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    for panel in panels {
        let in_force = value(panel.rows[0].at_value, unit);
        let title = format!("{}: {in_force}", panel.variant);
        let rows: Vec<&EffectRow> = panel.rows.iter().copied().take(ROWS).collect();
        for row in &rows {
            values.extend(
                [row.at_low, row.at_value, row.at_high]
                    .into_iter()
                    .flatten(),
            );
        }
        shown.push((title, rows));
    }
    let chart = BarChart {
        subject: &format!("Largest effects on {}", named(measure).replace('_', " ")),
        most: &most,
        note,
        key: &[
            ("at the low end", series_colour(0)),
            ("at the high end", series_colour(1)),
        ],
        numbers: 2,
        panels: shown,
        values,
        axis: named(measure).to_owned(),
        is_from_zero: false,
    };
    Some(chart.draw(sheet, unit, draw_bars))
}

/// Draws both bars of a constant.
fn draw_bars(canvas: &mut Canvas, plot: &BarPlot<'_>, y: f64, row: &EffectRow) {
    let BarPlot { layout, unit, .. } = plot;
    let numbers = [
        format!("{} at {}", value(row.at_low, unit), row.low),
        format!("{} at {}", value(row.at_high, unit), row.high),
    ];
    layout.write(canvas, y, &row.constant, &numbers, 1);
    let middle = layout.middle(y);
    let from = end_of(row.at_value, plot);
    let to_low = end_of(row.at_low, plot);
    let to_high = end_of(row.at_high, plot);
    if (to_low - from).abs() > 0.0 {
        canvas.rectangle(
            (from.min(to_low), middle - 8.0),
            (from.max(to_low), middle - 0.5),
            series_colour(0),
            1.0,
        );
    }
    if (to_high - from).abs() > 0.0 {
        canvas.rectangle(
            (from.min(to_high), middle + 0.5),
            (from.max(to_high), middle + 8.0),
            series_colour(1),
            1.0,
        );
    }
    canvas.line(
        (from, middle - 9.0),
        (from, middle + 9.0),
        Stroke::solid(AXIS, 1.4),
    );
}

/// The position of a value on the scale; a value that is not reached is at its right end.
fn end_of(value: Option<f64>, plot: &BarPlot<'_>) -> f64 {
    match value {
        Some(value) => plot.scale.at(value),
        None => plot.layout.right,
    }
}

/// The last part of a path, after its lists: `downlink` for `fleet[*].downlink`.
pub(super) fn short_name(path: &str) -> &str {
    path.rsplit("[*].").next().unwrap_or(path)
}
