//! The screening: mu* of each constant (the mean size of its elementary effects) with the standard deviation of the
//! effects.
//!
//! Each bar has the length of mu*, and the line from its end has the length of sigma. A line as long as the bar means
//! that the effect depends on the other constants, or is not linear.

use super::tornado::short_name;
use super::{FEWEST_TRAJECTORIES, Panel};
use crate::report::bars::{BarChart, BarPlot, ROWS, named};
use crate::report::prelude::*;
use crate::results::{ScreeningRow, SensitivityRecord};

/// Draws the chart. `None` without a screening, or if no constant has an effect on the measure.
pub(super) fn draw(
    record: &SensitivityRecord,
    sheet: Sheet<'_>,
    panels: &[Panel<'_>],
) -> Option<Canvas> {
    if record.trajectories < FEWEST_TRAJECTORIES {
        return None;
    }
    let first = panels.first()?.rows[0];
    let measure = first.measure;
    let unit = first.unit.as_str();
    let mut screened: Vec<(String, Vec<&ScreeningRow>)> = Vec::new();
    for panel in panels {
        let rows = largest_effects(record, measure, panel.variant);
        if !rows.is_empty() {
            screened.push((panel.variant.to_owned(), rows));
        }
    }
    let (_, rows) = screened.first()?;
    let most: Vec<&str> = rows
        .iter()
        .take(3)
        .map(|row| short_name(&row.constant))
        .collect();
    let chart = BarChart {
        subject: &format!(
            "Largest effects on {} when all constants vary",
            named(measure).replace('_', " ")
        ),
        most: &most,
        note: format!(
            "bar: mu*, mean size of the change over a whole range; line: sigma; {} trajectories of one run each",
            record.trajectories
        ),
        key: &[],
        numbers: 1,
        // Bars begin at zero.
        values: screened
            .iter()
            .flat_map(|(_, rows)| rows)
            .map(|row| row.mu_star + row.sigma)
            .chain([0.0])
            .collect(),
        panels: screened,
        axis: format!("change of {}", named(measure)),
        is_from_zero: false,
    };
    Some(chart.draw(sheet, unit, draw_bar))
}

/// The constants with the largest effects on a measure of a variant, the largest first.
fn largest_effects<'r>(
    record: &'r SensitivityRecord,
    measure: Measure,
    variant: &str,
) -> Vec<&'r ScreeningRow> {
    let mut rows: Vec<&ScreeningRow> = Vec::new();
    for row in &record.screening {
        let has_effect = row.mu_star > 0.0 && row.effects > 0;
        if row.measure == measure && row.variant == variant && has_effect {
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| b.mu_star.total_cmp(&a.mu_star));
    rows.truncate(ROWS);
    rows
}

/// Draws the bar and the line of a constant.
fn draw_bar(canvas: &mut Canvas, plot: &BarPlot<'_>, y: f64, row: &ScreeningRow) {
    let BarPlot {
        layout,
        scale,
        unit,
    } = plot;
    let middle = layout.middle(y);
    let text = format!(
        "mu* {}, sigma {}",
        in_unit(row.mu_star, unit),
        in_unit(row.sigma, unit)
    );
    layout.write(canvas, y, &row.constant, &[text], 0);
    let end = scale.at(row.mu_star);
    canvas.rectangle(
        (layout.left, middle - 7.0),
        (end, middle + 7.0),
        series_colour(0),
        1.0,
    );
    canvas.line(
        (end, middle),
        (scale.at(row.mu_star + row.sigma), middle),
        Stroke::solid(INK, 1.6),
    );
}
