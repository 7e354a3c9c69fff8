//! The screening: mu* of each constant (the mean size of its elementary effects) with their standard deviation.
//!
//! A bar as long as mu*, and a line as long as sigma from its end. A line as long as the bar means that the effect
//! depends on the other constants, or is not linear.

use itertools::Itertools;

use super::layout::{BarLayout, heading};
use super::tornado::{BARS, HEADING, ROW, ROWS, head, scaled_axis, short_name};
use super::{FEWEST_TRAJECTORIES, Panel};
use crate::report::axis::Scale;
use crate::report::canvas::{Canvas, Stroke};
use crate::report::format::in_unit;
use crate::report::frame::{Area, FOOTER, TOP, bottom_grid, page};
use crate::report::sheet::Sheet;
use crate::report::style::{INK, series_colour};
use crate::results::{ScreeningRow, SensitivityRecord};

/// Draws the chart. `None` without a screening, or where no constant has an effect on the measure.
pub(super) fn draw(
    record: &SensitivityRecord,
    sheet: Sheet<'_>,
    (measure, unit): (&str, &str),
    panels: &[Panel<'_>],
) -> Option<Canvas> {
    if record.trajectories < FEWEST_TRAJECTORIES {
        return None;
    }
    let screened: Vec<(&str, Vec<&ScreeningRow>)> = panels
        .iter()
        .map(|panel| {
            let is_own = |row: &&ScreeningRow| {
                row.measure == measure && row.variant == panel.variant && row.mu_star > 0.0 && row.effects > 0
            };
            let rows = record.screening.iter().filter(is_own);
            (panel.variant, rows.sorted_by(|a, b| b.mu_star.total_cmp(&a.mu_star)).take(ROWS).collect())
        })
        .filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty())
        .collect();
    let most: Vec<&str> = screened.first()?.1.iter().take(3).map(|row| short_name(&row.constant)).collect();
    let rows: usize = screened.iter().map(|(_, rows)| rows.len()).sum();
    let layout = BarLayout::new(sheet, ROW, BARS, 1);
    let height = TOP + screened.len() as f64 * HEADING + rows as f64 * layout.row + 60.0 + FOOTER;
    let subject = format!("Largest effects on {} when all constants vary", measure.replace('_', " "));
    let note = format!(
        "bar: mu*, mean size of the change over a whole range; line: sigma; {} trajectories of one run each",
        record.trajectories
    );
    let mut canvas = page(sheet, &head(&subject, &most, note), height);
    let area = Area { left: layout.left, top: TOP, right: layout.right, bottom: height - 60.0 - FOOTER };
    let ends: Vec<f64> =
        screened.iter().flat_map(|(_, rows)| rows.iter().map(|row| row.mu_star + row.sigma)).chain([0.0]).collect();
    let (scale, ticks, name) = scaled_axis(&ends, measure, unit, &layout);
    bottom_grid(&mut canvas, area, &scale, &ticks, &format!("change of {name}"));
    let mut y = area.top;
    for (variant, rows) in screened {
        heading(&mut canvas, y + 22.0, variant);
        y += HEADING;
        for row in rows {
            bar(&mut canvas, &scale, &layout, y, row, unit);
            y += layout.row;
        }
    }
    Some(canvas)
}

fn bar(canvas: &mut Canvas, scale: &Scale, layout: &BarLayout, y: f64, row: &ScreeningRow, unit: &str) {
    let middle = layout.middle(y);
    let text = format!("mu* {}, sigma {}", in_unit(row.mu_star, unit), in_unit(row.sigma, unit));
    layout.write(canvas, y, &row.constant, &[text], 0);
    let end = scale.at(row.mu_star);
    canvas.rectangle((layout.left, middle - 7.0), (end, middle + 7.0), series_colour(0), 1.0);
    canvas.line((end, middle), (scale.at(row.mu_star + row.sigma), middle), Stroke::solid(INK, 1.6));
}
