//! The key of a plot with too many variants to label with their names: the number, name, completion time and peak of
//! each variant.

use crate::report::names;
use crate::report::prelude::*;
use fleetsim_units::stats::in_turn;

const ROW: f64 = 19.0;
const HEADING: f64 = 24.0;
/// Distance between the two columns.
const GAP: f64 = 36.0;
/// Room for a number and its mark, and for the two values.
const NUMBER: f64 = 46.0;
const VALUES: f64 = 138.0;

/// The number of each variant, from 1, sorted by completion time and peak; variants without a median time come last.
pub(super) fn numbers(variants: &[VariantResults<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..variants.len()).collect();
    order.sort_by(|&a, &b| in_turn(time_and_peak(&variants[a]), time_and_peak(&variants[b])));
    let mut numbers = vec![0; variants.len()];
    for (number, at) in (1..).zip(order) {
        numbers[at] = number;
    }
    numbers
}

/// The median completion time and peak of a variant; infinite without one.
fn time_and_peak(variant: &VariantResults<'_>) -> [f64; 2] {
    [READY_TIME, Measure::PeakPulls].map(|measure| variant.median(measure).unwrap_or(f64::INFINITY))
}

/// The number of columns: two if the page has room for them.
fn columns(sheet: Sheet<'_>) -> usize {
    if sheet.is_narrow() { 1 } else { 2 }
}

/// The height of the table.
pub(super) fn height(sheet: Sheet<'_>, variants: usize) -> f64 {
    HEADING + ROW * variants.div_ceil(columns(sheet)) as f64 + 14.0
}

/// Draws the table with its upper edge at `top`.
pub(super) fn draw(
    canvas: &mut Canvas,
    sheet: Sheet<'_>,
    variants: &[VariantResults<'_>],
    top: f64,
) {
    let width = (sheet.inner() - GAP * (columns(sheet) - 1) as f64) / columns(sheet) as f64;
    let mut rows: Vec<(usize, usize)> = numbers(variants).into_iter().zip(0..).collect();
    rows.sort_unstable();
    let in_column = rows.len().div_ceil(columns(sheet)).max(1);
    let names = names::within(variants, SMALL, Weight::Regular, width - NUMBER - VALUES);
    for (place, (number, at)) in rows.into_iter().enumerate() {
        let variant = &variants[at];
        let left = MARGIN + (width + GAP) * (place / in_column) as f64;
        let right = left + width;
        if place % in_column == 0 {
            write(
                canvas,
                "completion",
                (right - 58.0, top + 12.0),
                TextStyle::new(SMALL, MUTED),
                Align::Right,
            );
            write(
                canvas,
                "peak",
                (right, top + 12.0),
                TextStyle::new(SMALL, MUTED),
                Align::Right,
            );
            let y = top + HEADING - 6.0;
            canvas.line(
                (left, y),
                (right, y),
                crate::report::canvas::Stroke::solid(AXIS, 0.8),
            );
        }
        let baseline = top + HEADING + ROW * (place % in_column) as f64 + 11.0;
        let completion = variant.ready_time();
        canvas.dot(
            (left + 6.0, baseline - 4.3),
            5.0,
            variant.style.colour(),
            1.0,
        );
        if completion.is_none() {
            canvas.dot((left + 6.0, baseline - 4.3), 2.8, WHITE, 1.0);
        }
        write_bold(
            canvas,
            &number.to_string(),
            (left + 18.0, baseline),
            TextStyle::new(LABEL, INK),
        );
        write(
            canvas,
            &names[at],
            (left + NUMBER, baseline),
            TextStyle::new(SMALL, INK),
            Align::Left,
        );
        let finished = variant.finished();
        let end = match completion {
            None => "unfinished".to_owned(),
            Some(end) if finished < variant.runs.len() => {
                format!("{} ({finished}/{})", time(end), variant.runs.len())
            }
            Some(end) => time(end),
        };
        write(
            canvas,
            &end,
            (right - 58.0, baseline),
            TextStyle::new(SMALL, INK),
            Align::Right,
        );
        let peak = variant
            .median(Measure::PeakPulls)
            .map_or_else(String::new, count);
        write(
            canvas,
            &peak,
            (right, baseline),
            TextStyle::new(SMALL, INK),
            Align::Right,
        );
    }
}
