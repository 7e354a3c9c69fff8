//! The tornado: a measure at both ends of each constant's range, the largest change first.
//!
//! A panel for each variant whose measure changes most, all on one scale. The upper bar of a row goes from the value in
//! force to the one at the low end of the constant's range, the lower bar to the one at the high end.

use super::{Panel, value};
use crate::report::axis::{AxisTick, LOG_FROM, Scale, log_ticks, ticks_from_zero, ticks_of_time};
use crate::report::canvas::{Align, Canvas, Stroke};
use crate::report::findings::Head;
use crate::report::format::RateUnit;
use crate::report::frame::{Area, FOOTER, TOP, bottom_grid, page, write, write_bold, write_fitted};
use crate::report::style::{AXIS, INK, MARGIN, MUTED, PAGE_WIDTH, SMALL, series_colour};
use crate::results::{EffectRow, Provenance, SensitivityRecord};

/// Height of a row.
pub(super) const ROW: f64 = 27.0;
/// Constants in a panel.
pub(super) const ROWS: usize = 10;
/// Height of a panel's heading.
pub(super) const HEADING: f64 = 34.0;
/// Where bars begin and end; names are at the left, numbers at the right.
pub(super) const LEFT: f64 = 282.0;
pub(super) const RIGHT: f64 = 650.0;
/// Height of the key.
const KEY: f64 = 22.0;

/// Draws the chart. `None` where no constant has an effect on the measure.
pub(super) fn draw(
    record: &SensitivityRecord,
    provenance: &Provenance,
    (measure, unit): (&str, &str),
    panels: &[Panel<'_>],
) -> Option<Canvas> {
    let top = panels.first()?;
    let rows: usize = panels.iter().map(|panel| panel.rows.len().min(ROWS)).sum();
    let height = TOP + KEY + panels.len() as f64 * HEADING + rows as f64 * ROW + 60.0 + FOOTER;
    let most: Vec<&str> = top.rows.iter().take(4).map(|row| short_name(&row.constant)).collect();
    let title = title(&format!("Largest effects on {}", measure.replace('_', " ")), &most);
    let subtitle = format!(
        "each constant at the ends of its range, the others at their values; medians of {} run{}; one scale",
        record.replicates,
        if record.replicates == 1 { "" } else { "s" }
    );
    let mut canvas = page(provenance, &title, &subtitle, height);
    key(&mut canvas);
    let area = Area { left: LEFT, top: TOP + KEY, right: RIGHT, bottom: height - 60.0 - FOOTER };
    let (scale, ticks, name) = axis(panels, measure, unit);
    bottom_grid(&mut canvas, area, &scale, &ticks, &name);
    let mut y = area.top;
    for panel in panels {
        heading(&mut canvas, y, panel, unit);
        y += HEADING;
        for row in panel.rows.iter().take(ROWS) {
            bars(&mut canvas, &scale, y, row, unit);
            y += ROW;
        }
    }
    Some(canvas)
}

/// The subject and as many of the names, the first ones first, as fit in the line of a title.
pub(super) fn title(subject: &str, names: &[&str]) -> String {
    let findings = (1..=names.len()).rev().map(|count| format!("{subject}: {}", names[..count].join(", "))).collect();
    Head { subject, findings, note: String::new() }.title().to_owned()
}

/// The end of a path behind its lists: `downlink` of `fleet[*].downlink`.
pub(super) fn short_name(path: &str) -> &str {
    path.rsplit("[*].").next().unwrap_or(path)
}

fn key(canvas: &mut Canvas) {
    let y = TOP - 8.0;
    for (at, text) in ["at the low end", "at the high end"].into_iter().enumerate() {
        let x = LEFT + at as f64 * 150.0;
        canvas.rectangle((x, y - 8.0), (x + 18.0, y), series_colour(at), 1.0);
        write(canvas, text, (x + 24.0, y), SMALL, INK, Align::Left);
    }
}

fn heading(canvas: &mut Canvas, y: f64, panel: &Panel<'_>, unit: &str) {
    let text = format!("{}: {}", panel.variant, value(panel.rows[0].at_value, unit));
    let text =
        crate::report::text::fitted_name(&text, 13.0, crate::report::text::Weight::Bold, PAGE_WIDTH - 2.0 * MARGIN);
    write_bold(canvas, &text, (MARGIN, y + 22.0), 13.0, INK);
}

fn bars(canvas: &mut Canvas, scale: &Scale, y: f64, row: &EffectRow, unit: &str) {
    let middle = y + ROW / 2.0;
    write_fitted(canvas, &row.constant, (MARGIN, middle + 4.0), SMALL, INK, LEFT - MARGIN - 12.0);
    let end = |at: Option<f64>| at.map_or(RIGHT, |at| scale.at(at));
    let from = end(row.at_value);
    for (at, (value, above)) in [(row.at_low, true), (row.at_high, false)].into_iter().enumerate() {
        let to = end(value);
        let (low, high) = if above { (middle - 8.0, middle - 0.5) } else { (middle + 0.5, middle + 8.0) };
        if (to - from).abs() > 0.0 {
            canvas.rectangle((from.min(to), low), (from.max(to), high), series_colour(at), 1.0);
        }
    }
    canvas.line((from, middle - 9.0), (from, middle + 9.0), Stroke::solid(AXIS, 1.4));
    let numbers = format!("{} at {}", value(row.at_low, unit), row.low);
    let width = PAGE_WIDTH - MARGIN - RIGHT - 16.0;
    write_fitted(canvas, &numbers, (RIGHT + 16.0, middle - 1.5), 11.0, INK, width);
    let numbers = format!("{} at {}", value(row.at_high, unit), row.high);
    write_fitted(canvas, &numbers, (RIGHT + 16.0, middle + 10.5), 11.0, MUTED, width);
}

/// The scale of all panels with its ticks and title.
fn axis(panels: &[Panel<'_>], measure: &str, unit: &str) -> (Scale, Vec<AxisTick>, String) {
    let rows = panels.iter().flat_map(|panel| panel.rows.iter().take(ROWS));
    let values: Vec<f64> = rows.flat_map(|row| [row.at_low, row.at_value, row.at_high]).flatten().collect();
    scaled_axis(&values, measure, unit, (LEFT, RIGHT))
}

/// A scale for values of a measure, from zero or logarithmic, with its ticks and title.
pub(super) fn scaled_axis(
    values: &[f64],
    measure: &str,
    unit: &str,
    (from, to): (f64, f64),
) -> (Scale, Vec<AxisTick>, String) {
    let high = values.iter().copied().fold(0.0, f64::max);
    let log = Scale::logarithmic(values, LOG_FROM, [1.2, 1.15], from, to);
    let note = if log.is_some() { " (logarithmic)" } else { "" };
    match unit {
        "s" => {
            let scale = log.unwrap_or_else(|| Scale::from_zero(if high > 0.0 { high * 1.05 } else { 1.0 }, from, to));
            let (ticks, title) = ticks_of_time(&scale, (44.0, 6), ("{}", "time (logarithmic)"));
            (scale, ticks, format!("{measure}: {title}"))
        }
        _ => {
            let (size, name) = match unit {
                "bytes/s" => (RateUnit::for_max(high).bytes_per_s, RateUnit::for_max(high).name.to_owned()),
                "bytes" => (1e9, "GB".to_owned()),
                "1" => (0.01, "%".to_owned()),
                other => (1.0, other.to_owned()),
            };
            let (scale, ticks) = match log {
                Some(scale) if (size - 1.0).abs() < 1e-9 => (scale, log_ticks(&scale, 44.0)),
                _ => {
                    let ticks = ticks_from_zero(high / size, 5, size > 0.9 && unit != "bytes/s" && unit != "bytes");
                    let ticks = crate::report::axis::scaled(ticks, size);
                    (Scale::to_last(&ticks, from, to), ticks)
                }
            };
            let note = if scale.log { note } else { "" };
            (scale, ticks, format!("{measure}: {name}{note}"))
        }
    }
}
