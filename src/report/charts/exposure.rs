//! The blast radius: how many clusters received a defective revision before the scheduler stopped.
//!
//! One row for each variant, the least exposed first: every run, the median and its interval, and when the last cluster
//! was exposed in the representative run.

use crate::report::axis::{AxisTick, LOG_FROM, Scale, ScaleKind, log_ticks, span, ticks_from_zero};
use crate::report::canvas::{Align, Canvas, Stroke};
use crate::report::data::{Results, VariantResults, extent};
use crate::report::format::{count, ended, percent, time};
use crate::report::frame::{Area, FOOTER, TOP, bottom_axis, page, write, write_bold};
use crate::report::names;
use crate::report::style::{AXIS, GRID, INK, LABEL, MARGIN, MUTED, PAGE_WIDTH, SMALL, WHITE, series_colour};
use crate::report::text::{Weight, fitted, text_width};

const ROW: f64 = 46.0;
/// Widest column of names.
const NAMES_MAX: f64 = 0.36 * PAGE_WIDTH;
/// Width of the column of numbers.
const NUMBERS: f64 = 250.0;

/// One variant's numbers.
struct ExposureRow<'v> {
    variant: &'v VariantResults<'v>,
    name: String,
    median: f64,
}

/// Draws the chart. `None` where no cluster received a defective revision.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    if !variants.iter().any(VariantResults::exposed) {
        return None;
    }
    let (names, size) = names::column(&variants, [LABEL, 11.0], Weight::Bold, NAMES_MAX);
    let row = |(variant, name)| ExposureRow { variant, name, median: variant.median("exposed_targets").unwrap_or(0.0) };
    let mut rows: Vec<ExposureRow<'_>> = variants.iter().zip(names).map(row).collect();
    rows.sort_by(|a, b| a.median.total_cmp(&b.median));
    let widest = rows.iter().map(|row| text_width(&row.name, size, Weight::Bold)).fold(60.0, f64::max);
    let area = Area {
        left: MARGIN + widest + 26.0,
        top: TOP + 4.0,
        right: PAGE_WIDTH - MARGIN - NUMBERS,
        bottom: TOP + 4.0 + ROW * rows.len() as f64,
    };
    let exposed: Vec<f64> = results.tables.runs.iter().map(|run| run.exposed_targets as f64).collect();
    let (x, ticks) = scale(&exposed, results.tables.runs.iter().map(|run| run.targets).max().unwrap_or(1), area);
    let subtitle = format!("{}; dot: median, line: its 95% CI, small dots: single runs", extent(&variants));
    let title = "Clusters exposed to the defective revision";
    let mut canvas = page(&results.provenance, title, &subtitle, area.bottom + 56.0 + FOOTER);
    for tick in &ticks {
        let at = x.at(tick.value);
        canvas.line((at, area.top), (at, area.bottom), Stroke::solid(GRID, 1.0));
    }
    let axis = if x.kind == ScaleKind::Log { "exposed clusters (logarithmic)" } else { "exposed clusters" };
    bottom_axis(&mut canvas, area, &x, &ticks, axis);
    for (at, row) in rows.iter().enumerate() {
        draw_row(&mut canvas, row, size, area.top + ROW * (at as f64 + 0.5), area, &x);
    }
    Some(canvas)
}

/// Logarithmic where exposures differ by a large factor and none is zero.
fn scale(exposed: &[f64], targets: u64, area: Area) -> (Scale, Vec<AxisTick>) {
    let (low, high) = span(exposed);
    if low > 0.0 && high > LOG_FROM * low {
        let x = Scale { low: low / 1.4, high: high * 1.25, from: area.left, to: area.right, kind: ScaleKind::Log };
        return (x, log_ticks(&x, 46.0));
    }
    // The axis ends at the whole fleet where exposures are close to it.
    let end = if high * 2.0 >= targets as f64 { targets as f64 } else { high * 1.04 };
    let ticks = ticks_from_zero(end, 6, true);
    let high = ticks.last().expect("there are ticks").value;
    (Scale::from_zero(high, area.left, area.right), ticks)
}

fn draw_row(canvas: &mut Canvas, row: &ExposureRow<'_>, size: f64, middle: f64, area: Area, x: &Scale) {
    let variant = row.variant;
    let colour = series_colour(variant.index);
    write_bold(canvas, &row.name, (MARGIN, middle + 4.5), size, INK);
    canvas.line(
        (area.left, middle),
        (x.at(row.median), middle),
        Stroke { colour: AXIS, width: 0.8, dash: &[1.5, 3.0] },
    );
    for run in &variant.runs {
        canvas.dot((x.at(run.exposed_targets as f64), middle + 14.0), 2.2, colour, 0.5);
    }
    let summary = variant.summary("exposed_targets");
    let interval = summary.and_then(|row| Some((row.median_ci95_low?, row.median_ci95_high?)));
    if let Some((low, high)) = interval {
        canvas.line((x.at(low), middle), (x.at(high), middle), Stroke::solid(colour, 4.0));
    }
    canvas.dot((x.at(row.median), middle), 6.5, WHITE, 1.0);
    canvas.dot((x.at(row.median), middle), 5.0, colour, 1.0);
    let left = area.right + 20.0;
    let width = PAGE_WIDTH - 10.0 - left;
    let headline = fitted(&headline(row, interval), LABEL, Weight::Regular, width);
    write(canvas, &headline, (left, middle - 4.0), LABEL, INK, Align::Left);
    let note = fitted(&note(variant), SMALL, Weight::Regular, width);
    write(canvas, &note, (left, middle + 13.0), SMALL, MUTED, Align::Left);
}

/// `120 [100–140], 12% of the fleet`.
fn headline(row: &ExposureRow<'_>, interval: Option<(f64, f64)>) -> String {
    if row.variant.runs.iter().all(|run| run.exposed_targets == 0) {
        return "none".to_owned();
    }
    let mut text = count(row.median);
    if let Some((low, high)) = interval.filter(|(low, high)| low < high) {
        text.push_str(&format!(" [{}–{}]", count(low), count(high)));
    }
    let targets = row.variant.median("targets").unwrap_or(0.0);
    if targets > 0.0 {
        text.push_str(&format!(", {} of the fleet", percent(row.median / targets)));
    }
    text
}

/// How runs ended, and when the last cluster was exposed.
fn note(variant: &VariantResults<'_>) -> String {
    let exposed = variant.clusters.iter().filter_map(|cluster| cluster.told_s).reduce(f64::max);
    let last = exposed.map_or_else(String::new, |last| format!("; last exposed after {}", time(last)));
    let (finished, runs) = (variant.finished(), variant.runs.len());
    let end = match variant.unfinished() {
        None => "completed".to_owned(),
        Some((outcome, _)) if finished == 0 => ended(outcome).to_owned(),
        Some((outcome, _)) => format!("{} in {} of {runs} runs", ended(outcome), runs - finished),
    };
    format!("{end}{last}")
}
