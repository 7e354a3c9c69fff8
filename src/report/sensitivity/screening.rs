//! The screening: mu* of each constant (the mean size of its elementary effects) with their standard deviation.
//!
//! A bar as long as mu*, and a line as long as sigma from its end. A line as long as the bar means that the effect
//! depends on the other constants, or is not linear.

use itertools::Itertools;

use super::tornado::{HEADING, LEFT, RIGHT, ROW, ROWS, scaled_axis, short_name, title};
use super::{FEWEST_TRAJECTORIES, Panel};
use crate::report::axis::Scale;
use crate::report::canvas::{Canvas, Stroke};
use crate::report::format::in_unit;
use crate::report::frame::{Area, FOOTER, TOP, bottom_grid, page, write_bold, write_fitted};
use crate::report::style::{INK, MARGIN, MUTED, PAGE_WIDTH, SMALL, series_colour};
use crate::report::text::{Weight, fitted_name};
use crate::results::{Provenance, ScreeningRow, SensitivityRecord};

/// Draws the chart. `None` without a screening, or where no constant has an effect on the measure.
pub(super) fn draw(
    record: &SensitivityRecord,
    provenance: &Provenance,
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
    let height = TOP + screened.len() as f64 * HEADING + rows as f64 * ROW + 60.0 + FOOTER;
    let title = title(&format!("Largest effects on {} when all constants vary", measure.replace('_', " ")), &most);
    let subtitle = format!(
        "bar: mu*, mean size of the change over a whole range; line: sigma; {} trajectories of one run each",
        record.trajectories
    );
    let mut canvas = page(provenance, &title, &subtitle, height);
    let area = Area { left: LEFT, top: TOP, right: RIGHT, bottom: height - 60.0 - FOOTER };
    let ends: Vec<f64> =
        screened.iter().flat_map(|(_, rows)| rows.iter().map(|row| row.mu_star + row.sigma)).chain([0.0]).collect();
    let (scale, ticks, name) = scaled_axis(&ends, measure, unit, (LEFT, RIGHT));
    bottom_grid(&mut canvas, area, &scale, &ticks, &format!("change of {name}"));
    let mut y = area.top;
    for (variant, rows) in screened {
        let text = fitted_name(variant, 13.0, Weight::Bold, PAGE_WIDTH - 2.0 * MARGIN);
        write_bold(&mut canvas, &text, (MARGIN, y + 22.0), 13.0, INK);
        y += HEADING;
        for row in rows {
            bar(&mut canvas, &scale, y, row, unit);
            y += ROW;
        }
    }
    Some(canvas)
}

fn bar(canvas: &mut Canvas, scale: &Scale, y: f64, row: &ScreeningRow, unit: &str) {
    let middle = y + ROW / 2.0;
    write_fitted(canvas, &row.constant, (MARGIN, middle + 4.0), SMALL, INK, LEFT - MARGIN - 12.0);
    let end = scale.at(row.mu_star);
    canvas.rectangle((LEFT, middle - 7.0), (end, middle + 7.0), series_colour(0), 1.0);
    canvas.line((end, middle), (scale.at(row.mu_star + row.sigma), middle), Stroke::solid(INK, 1.6));
    let text = format!("mu* {}, sigma {}", in_unit(row.mu_star, unit), in_unit(row.sigma, unit));
    write_fitted(canvas, &text, (RIGHT + 16.0, middle + 4.0), 11.0, MUTED, PAGE_WIDTH - MARGIN - RIGHT - 16.0);
}
