//! The tornado of the decisions: the part of each constant's range in which a decision has another answer.
//!
//! A panel for each decision with the constants that change it. The line in the middle is the value in force, and the
//! ends are those of the range; the bar begins where the answer changes.

use itertools::Itertools;

use super::{changes, condition, share};
use crate::report::canvas::{Align, Canvas, Stroke};
use crate::report::frame::{FOOTER, TOP, page, write, write_bold, write_fitted};
use crate::report::style::{AXIS, GRID, INK, MARGIN, MUTED, PAGE_WIDTH, SMALL, series_colour};
use crate::report::text::{Weight, fitted_name};
use crate::results::{DecisionEnd, DecisionRecord, Provenance, SensitivityRecord, grouped};

const ROW: f64 = 40.0;
const HEADING: f64 = 44.0;
/// Ends of the ranges; names are at the left, answers at the right.
const LEFT: f64 = 262.0;
const RIGHT: f64 = 502.0;

/// Draws the chart. `None` where no constant changes a decision.
pub(super) fn draw(record: &SensitivityRecord, provenance: &Provenance) -> Option<Canvas> {
    let panels: Vec<(&DecisionRecord, Vec<Vec<&DecisionEnd>>)> =
        record.decisions.iter().map(|decision| (decision, by_constant(decision))).collect();
    let changed: Vec<_> = panels.iter().filter(|(_, rows)| !rows.is_empty()).collect();
    if changed.is_empty() {
        return None;
    }
    let rows: usize = changed.iter().map(|(_, rows)| rows.len()).sum();
    let height = TOP + 22.0 + changed.len() as f64 * HEADING + rows as f64 * ROW + FOOTER;
    let constants = changed.iter().flat_map(|(_, rows)| rows).map(|ends| &ends[0].constant).unique().count();
    let title = format!(
        "{constants} of {} constants change {} of {} decisions",
        record.constants.len(),
        changed.len(),
        record.decisions.len()
    );
    let subtitle = "bar: the part of a constant's range with another answer; middle line: the value in force";
    let mut canvas = page(provenance, &title, subtitle, height);
    let (axis, middle) = (TOP + 4.0, f64::midpoint(LEFT, RIGHT));
    write(&mut canvas, "low end", (LEFT, axis), SMALL, MUTED, Align::Left);
    write(&mut canvas, "value", (middle, axis), SMALL, MUTED, Align::Middle);
    write(&mut canvas, "high end", (RIGHT, axis), SMALL, MUTED, Align::Right);
    let mut y = TOP + 14.0;
    for (decision, rows) in changed {
        let text = format!("{}: {}", decision.decision, decision.answer);
        let text = fitted_name(&text, 13.0, Weight::Bold, PAGE_WIDTH - 2.0 * MARGIN);
        write_bold(&mut canvas, &text, (MARGIN, y + 28.0), 13.0, INK);
        y += HEADING;
        for ends in rows {
            row(&mut canvas, y, ends);
            y += ROW;
        }
    }
    Some(canvas)
}

/// The changed ends of each constant, the constant whose change is closest first.
fn by_constant(decision: &DecisionRecord) -> Vec<Vec<&DecisionEnd>> {
    let ends = changes(decision).into_iter().map(|end| (&end.constant, end));
    grouped(ends).into_iter().map(|(_, ends)| ends).collect()
}

fn row(canvas: &mut Canvas, y: f64, ends: &[&DecisionEnd]) {
    let middle = y + ROW / 2.0;
    let centre = f64::midpoint(LEFT, RIGHT);
    write_fitted(canvas, &ends[0].constant, (MARGIN, middle + 4.0), SMALL, INK, LEFT - MARGIN - 12.0);
    canvas.rectangle((LEFT, middle - 6.0), (RIGHT, middle + 6.0), GRID, 1.0);
    for (at, end) in ends.iter().enumerate() {
        let sign = if end.is_high { 1.0 } else { -1.0 };
        let from = centre + sign * share(end) * (RIGHT - centre);
        let to = if end.is_high { RIGHT } else { LEFT };
        canvas.rectangle((from.min(to), middle - 6.0), (from.max(to), middle + 6.0), series_colour(1), 1.0);
        let text = condition(end).replacen(&format!("{} ", end.constant), "", 1);
        let text = format!("{text}: {}", end.answer);
        let offset = if ends.len() == 1 { 4.0 } else { -4.0 + 16.0 * at as f64 };
        write_fitted(canvas, &text, (RIGHT + 16.0, middle + offset), SMALL, INK, PAGE_WIDTH - MARGIN - RIGHT - 16.0);
    }
    canvas.line((centre, middle - 9.0), (centre, middle + 9.0), Stroke::solid(AXIS, 1.4));
}
