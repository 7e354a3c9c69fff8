//! Rollout completion time, until all reachable clusters were ready: every finished run of each variant, with the
//! median and its interval, and a note on the variants that may be the fastest (`comparison.csv`). Unfinished runs
//! have no time; they are counted, with the rule that blocked them.

use super::rows::RowLayout;
use crate::report::prelude::*;
use crate::results::RunRow;

const ROW: f64 = 46.0;
/// Height of a row for more than [`MANY`] variants.
const ROW_MANY: f64 = 34.0;
const MANY: usize = 12;
/// Maximum widths of the columns of names and numbers, as shares of the page.
const COLUMNS_MAX: [f64; 2] = [0.45, 0.24];

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let mut numbers = Vec::new();
    for variant in &variants {
        let standing = results.standing(variant, READY_TIME, "the fastest");
        let mut notes = vec![standing.unwrap_or_default(), unfinished_note(variant)];
        notes.retain(|note| !note.is_empty());
        numbers.push([headline(variant), notes.join("; ")]);
    }
    let row = if variants.len() > MANY { ROW_MANY } else { ROW };
    let rows = RowLayout::lay_out(
        results.sheet(),
        &variants,
        numbers,
        (TOP + 4.0, row),
        COLUMNS_MAX,
    );
    let area = rows.area;
    let times: Vec<f64> = results
        .tables
        .runs
        .iter()
        .filter_map(|run| run.reachable_ready_s)
        .collect();
    let x = time_scale(&times, area.left, area.right);
    let subtitle = format!(
        "{}; dot: median, line: its 95% CI, small dots: single runs",
        extent(&variants)
    );
    let head = Head {
        subject: "Rollout completion time",
        findings: findings::completion(&variants),
        note: subtitle,
    };
    let mut canvas = page(results.sheet(), &head, area.bottom + 56.0 + FOOTER);
    if !times.is_empty() {
        let titles = (
            "{} since the rollout started",
            "time since the rollout started (logarithmic)",
        );
        let (ticks, title) = ticks_of_time(&x, (46.0, 6), titles);
        bottom_grid(&mut canvas, area, &x, &ticks, &title);
    }
    for (row, variant) in variants.iter().enumerate() {
        let middle = rows.middle(row);
        rows.write(&mut canvas, row);
        let runs = RunDots {
            measure: READY_TIME,
            values: variant
                .runs
                .iter()
                .filter_map(|run| run.reachable_ready_s)
                .collect(),
            below: 11.0,
        };
        dots(&mut canvas, variant, &runs, &x, middle);
        if variant.ready_time().is_none() && variant.finished() == 0 {
            let held = variant.unfinished().map_or_else(String::new, RunRow::held);
            let reason = fitted(&held, SMALL, Weight::Regular, area.right - area.left - 8.0);
            let width = text_width(&reason, SMALL, Weight::Regular);
            canvas.rectangle(
                (area.left + 2.0, middle - 9.0),
                (area.left + 10.0 + width, middle + 10.0),
                WHITE,
                1.0,
            );
            write(
                &mut canvas,
                &reason,
                (area.left + 6.0, middle + 4.5),
                TextStyle::new(SMALL, INK),
                Align::Left,
            );
        }
    }
    canvas
}

/// The values of a variant's single runs.
pub(super) struct RunDots {
    pub(super) measure: Measure,
    pub(super) values: Vec<f64>,
    /// Distance of the dots below the middle of the row.
    pub(super) below: f64,
}

/// Draws the values of single runs below the middle of a row, together with their median and its interval.
pub(super) fn dots(
    canvas: &mut Canvas,
    variant: &VariantResults<'_>,
    runs: &RunDots,
    x: &Scale,
    middle: f64,
) {
    let colour = variant.style.colour();
    for &value in &runs.values {
        canvas.dot((x.at(value), middle + runs.below), 2.2, colour, 0.5);
    }
    // An interval whose median is beyond the axis would be drawn as a stub at the end of the axis.
    if let Some(median) = variant.median(runs.measure) {
        if let Some((low, high)) = variant.median_interval(runs.measure) {
            canvas.line(
                (x.at(low), middle),
                (x.at(high), middle),
                Stroke::solid(colour, 4.0),
            );
        }
        canvas.dot((x.at(median), middle), 6.5, WHITE, 1.0);
        canvas.dot((x.at(median), middle), 5.0, colour, 1.0);
    }
}

/// The variant's completion time with its interval, or how the runs of the variant ended.
fn headline(variant: &VariantResults<'_>) -> String {
    variant
        .ready_text()
        .unwrap_or_else(|| match (variant.finished(), variant.unfinished()) {
            (0, Some(run)) => match variant.runs.len() {
                1 => format!("the run {}", ended(run.outcome)),
                runs => format!("all {runs} runs {}", ended(run.outcome)),
            },
            (finished, _) => format!("{finished} of {} finished", variant.runs.len()),
        })
}

/// Number of finished runs, if not all runs finished and the headline does not say so.
fn unfinished_note(variant: &VariantResults<'_>) -> String {
    let Some(run) = variant.unfinished() else {
        return String::new();
    };
    let finished = variant.finished();
    let all = variant.runs.len();
    match variant.ready_time() {
        Some(_) => format!(
            "{finished} of {all} finished, the rest {}",
            ended(run.outcome)
        ),
        None if finished > 0 => format!("the rest {}", ended(run.outcome)),
        None => String::new(),
    }
}
