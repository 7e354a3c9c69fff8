//! The tornado: a measure at both ends of each constant's range, the largest change first.
//!
//! A panel for each variant whose measure changes most, all on one scale. The upper bar of a row goes from the value in
//! force to the one at the low end of the constant's range, the lower bar to the one at the high end.

use super::layout::{BarChart, BarLayout, ROWS, named};
use super::{Panel, value};
use crate::report::prelude::*;
use crate::results::{EffectRow, SensitivityRecord};
use fleetsim_units::counted;

/// Draws the chart. `None` where no constant has an effect on the measure.
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
    let title =
        |panel: &Panel<'_>| format!("{}: {}", panel.variant, value(panel.rows[0].at_value, unit));
    let rows = panels.iter().flat_map(|panel| panel.rows.iter().take(ROWS));
    let chart = BarChart {
        subject: &format!("Largest effects on {}", named(measure).replace('_', " ")),
        most: &most,
        note,
        key: &[
            ("at the low end", series_colour(0)),
            ("at the high end", series_colour(1)),
        ],
        numbers: 2,
        panels: panels
            .iter()
            .map(|panel| {
                (
                    title(panel),
                    panel.rows.iter().copied().take(ROWS).collect(),
                )
            })
            .collect(),
        values: rows
            .flat_map(|row| [row.at_low, row.at_value, row.at_high])
            .flatten()
            .collect(),
        of: "",
    };
    let bars = |canvas: &mut Canvas, scale: &Scale, layout: &BarLayout, y: f64, row: &EffectRow| {
        let middle = layout.middle(y);
        let numbers = [(row.at_low, &row.low), (row.at_high, &row.high)];
        let numbers = numbers.map(|(at, end)| format!("{} at {end}", value(at, unit)));
        layout.write(canvas, y, &row.constant, &numbers, 1);
        let end = |at: Option<f64>| at.map_or(layout.right, |at| scale.at(at));
        let from = end(row.at_value);
        for (at, (value, above)) in [(row.at_low, true), (row.at_high, false)]
            .into_iter()
            .enumerate()
        {
            let to = end(value);
            let (low, high) = if above {
                (middle - 8.0, middle - 0.5)
            } else {
                (middle + 0.5, middle + 8.0)
            };
            if (to - from).abs() > 0.0 {
                canvas.rectangle(
                    (from.min(to), low),
                    (from.max(to), high),
                    series_colour(at),
                    1.0,
                );
            }
        }
        canvas.line(
            (from, middle - 9.0),
            (from, middle + 9.0),
            Stroke::solid(AXIS, 1.4),
        );
    };
    Some(chart.draw(sheet, (measure, unit), bars))
}

/// The end of a path behind its lists: `downlink` of `fleet[*].downlink`.
pub(super) fn short_name(path: &str) -> &str {
    path.rsplit("[*].").next().unwrap_or(path)
}
