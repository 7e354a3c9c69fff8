//! The tornado: a measure at both ends of each constant's range, the largest change first.
//!
//! A panel for each variant whose measure changes most, all on one scale. The upper bar of a row goes from the value in
//! force to the one at the low end of the constant's range, the lower bar to the one at the high end.

use super::layout::{BarLayout, heading};
use super::{Panel, value};
use crate::report::axis::{AxisTick, LOG_FROM, Scale, log_ticks, ticks_from_zero, ticks_of_time};
use crate::report::canvas::{Canvas, Stroke};
use crate::report::findings::Head;
use crate::report::format::RateUnit;
use crate::report::frame::{Area, FOOTER, TOP, bottom_grid, legend, page};
use crate::report::sheet::Sheet;
use crate::report::style::{AXIS, series_colour};
use crate::results::{EffectRow, SensitivityRecord};

/// Height of a row.
pub(super) const ROW: f64 = 27.0;
/// Constants in a panel.
pub(super) const ROWS: usize = 10;
/// Height of a panel's heading.
pub(super) const HEADING: f64 = 34.0;
/// Where bars begin and end, as shares of the page; names are at the left, numbers at the right.
pub(super) const BARS: [f64; 2] = [0.294, 0.677];
/// Height of the key.
const KEY: f64 = 22.0;

/// Draws the chart. `None` where no constant has an effect on the measure.
pub(super) fn draw(
    record: &SensitivityRecord,
    sheet: Sheet<'_>,
    (measure, unit): (&str, &str),
    panels: &[Panel<'_>],
) -> Option<Canvas> {
    let top = panels.first()?;
    let rows: usize = panels.iter().map(|panel| panel.rows.len().min(ROWS)).sum();
    let layout = BarLayout::new(sheet, ROW, BARS, 2);
    let height = TOP + KEY + panels.len() as f64 * HEADING + rows as f64 * layout.row + 60.0 + FOOTER;
    let most: Vec<&str> = top.rows.iter().take(4).map(|row| short_name(&row.constant)).collect();
    let subject = format!("Largest effects on {}", measure.replace('_', " "));
    let note = format!(
        "each constant at the ends of its range, the others at their values; medians of {} run{}; one scale",
        record.replicates,
        if record.replicates == 1 { "" } else { "s" }
    );
    let mut canvas = page(sheet, &head(&subject, &most, note), height);
    let ends = [("at the low end", series_colour(0)), ("at the high end", series_colour(1))];
    legend(&mut canvas, (layout.left, TOP - 8.0), &ends);
    let area = Area { left: layout.left, top: TOP + KEY, right: layout.right, bottom: height - 60.0 - FOOTER };
    let (scale, ticks, name) = axis(panels, measure, unit, &layout);
    bottom_grid(&mut canvas, area, &scale, &ticks, &name);
    let mut y = area.top;
    for panel in panels {
        heading(&mut canvas, y + 22.0, &format!("{}: {}", panel.variant, value(panel.rows[0].at_value, unit)));
        y += HEADING;
        for row in panel.rows.iter().take(ROWS) {
            bars(&mut canvas, &scale, &layout, y, row, unit);
            y += layout.row;
        }
    }
    Some(canvas)
}

/// A head with the subject and as many of the names, the first ones first, as the title has room for.
pub(super) fn head<'h>(subject: &'h str, names: &[&str], note: String) -> Head<'h> {
    let findings = (1..=names.len()).rev().map(|count| format!("{subject}: {}", names[..count].join(", "))).collect();
    Head { subject, findings, note }
}

/// The end of a path behind its lists: `downlink` of `fleet[*].downlink`.
pub(super) fn short_name(path: &str) -> &str {
    path.rsplit("[*].").next().unwrap_or(path)
}

fn bars(canvas: &mut Canvas, scale: &Scale, layout: &BarLayout, y: f64, row: &EffectRow, unit: &str) {
    let middle = layout.middle(y);
    let numbers = [(row.at_low, &row.low), (row.at_high, &row.high)];
    let numbers = numbers.map(|(at, end)| format!("{} at {end}", value(at, unit)));
    layout.write(canvas, y, &row.constant, &numbers, 1);
    let end = |at: Option<f64>| at.map_or(layout.right, |at| scale.at(at));
    let from = end(row.at_value);
    for (at, (value, above)) in [(row.at_low, true), (row.at_high, false)].into_iter().enumerate() {
        let to = end(value);
        let (low, high) = if above { (middle - 8.0, middle - 0.5) } else { (middle + 0.5, middle + 8.0) };
        if (to - from).abs() > 0.0 {
            canvas.rectangle((from.min(to), low), (from.max(to), high), series_colour(at), 1.0);
        }
    }
    canvas.line((from, middle - 9.0), (from, middle + 9.0), Stroke::solid(AXIS, 1.4));
}

/// The scale of all panels with its ticks and title.
fn axis(panels: &[Panel<'_>], measure: &str, unit: &str, layout: &BarLayout) -> (Scale, Vec<AxisTick>, String) {
    let rows = panels.iter().flat_map(|panel| panel.rows.iter().take(ROWS));
    let values: Vec<f64> = rows.flat_map(|row| [row.at_low, row.at_value, row.at_high]).flatten().collect();
    scaled_axis(&values, measure, unit, layout)
}

/// A scale for values of a measure, from zero or logarithmic, with its ticks and title.
pub(super) fn scaled_axis(
    values: &[f64],
    measure: &str,
    unit: &str,
    &BarLayout { left: from, right: to, .. }: &BarLayout,
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
