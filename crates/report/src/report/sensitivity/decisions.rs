//! The tornado chart of the decisions: for each constant, the part of its range in which a decision has another
//! answer.
//!
//! There is a panel for each decision with the constants that change it. The line in the middle is the value in force,
//! and the ends are those of the range; the bar begins where the answer changes.

use super::{changes, condition, share};
use crate::report::bars::{BarLayout, heading};
use crate::report::prelude::*;
use crate::results::{DecisionEnd, DecisionRecord, SensitivityRecord};

const ROW: f64 = 40.0;
const HEADING: f64 = 44.0;
/// Ends of the ranges, as shares of the page; names are at the left, answers at the right.
const BARS: [f64; 2] = [0.273, 0.523];

/// Draws the chart. `None` if no constant changes a decision.
pub(super) fn draw(record: &SensitivityRecord, sheet: Sheet<'_>) -> Option<Canvas> {
    let panels: Vec<(&DecisionRecord, Vec<Vec<&DecisionEnd>>)> = record
        .decisions
        .iter()
        .map(|decision| (decision, by_constant(decision)))
        .collect();
    let changed: Vec<_> = panels.iter().filter(|(_, rows)| !rows.is_empty()).collect();
    if changed.is_empty() {
        return None;
    }
    let rows: usize = changed.iter().map(|(_, rows)| rows.len()).sum();
    let layout = BarLayout::new(sheet, ROW, BARS, 2);
    let height = TOP + 22.0 + changed.len() as f64 * HEADING + rows as f64 * layout.row + FOOTER;
    let constants = changed
        .iter()
        .flat_map(|(_, rows)| rows)
        .map(|ends| &ends[0].constant)
        .unique()
        .count();
    let title = format!(
        "{constants} of {} constants change {} of {} decisions",
        record.constants.len(),
        changed.len(),
        record.decisions.len()
    );
    let note =
        "bar: the part of a constant's range with another answer; middle line: the value in force"
            .to_owned();
    let mut canvas = page(
        sheet,
        &Head {
            subject: &title,
            findings: Vec::new(),
            note,
        },
        height,
    );
    let axis = TOP + 4.0;
    let middle = f64::midpoint(layout.left, layout.right);
    write(
        &mut canvas,
        "low end",
        (layout.left, axis),
        TextStyle::new(SMALL, MUTED),
        Align::Left,
    );
    write(
        &mut canvas,
        "value",
        (middle, axis),
        TextStyle::new(SMALL, MUTED),
        Align::Middle,
    );
    write(
        &mut canvas,
        "high end",
        (layout.right, axis),
        TextStyle::new(SMALL, MUTED),
        Align::Right,
    );
    let mut y = TOP + 14.0;
    for (decision, rows) in changed {
        let text = format!("{}: {}", decision.decision, decision.answer);
        heading(&mut canvas, y + 28.0, &text);
        y += HEADING;
        for ends in rows {
            row(&mut canvas, &layout, y, ends);
            y += layout.row;
        }
    }
    Some(canvas)
}

/// The ends that change the decision, grouped by constant, the constant with the closest change first.
fn by_constant(decision: &DecisionRecord) -> Vec<Vec<&DecisionEnd>> {
    let ends = changes(decision)
        .into_iter()
        .map(|end| (&end.constant, end));
    grouped(ends).into_iter().map(|(_, ends)| ends).collect()
}

fn row(canvas: &mut Canvas, layout: &BarLayout, y: f64, ends: &[&DecisionEnd]) {
    let &BarLayout { left, right, .. } = layout;
    let middle = layout.middle(y);
    let centre = f64::midpoint(left, right);
    let mut answers = Vec::new();
    for end in ends {
        let text = condition(end).replacen(&format!("{} ", end.constant), "", 1);
        answers.push(format!("{text}: {}", end.answer));
    }
    layout.write(canvas, y, &ends[0].constant, &answers, ends.len());
    canvas.rectangle((left, middle - 6.0), (right, middle + 6.0), GRID, 1.0);
    for end in ends {
        let sign = if end.is_high { 1.0 } else { -1.0 };
        let from = centre + sign * share(end) * (right - centre);
        let to = if end.is_high { right } else { left };
        canvas.rectangle(
            (from.min(to), middle - 6.0),
            (from.max(to), middle + 6.0),
            series_colour(1),
            1.0,
        );
    }
    canvas.line(
        (centre, middle - 9.0),
        (centre, middle + 9.0),
        Stroke::solid(AXIS, 1.4),
    );
}
