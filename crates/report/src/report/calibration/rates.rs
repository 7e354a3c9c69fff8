//! The fitted pull model compared with the pulls: for each image, the measured durations against the fitted one.
//!
//! Points on the diagonal line have equal durations; the grey band extends 15% to either side.

use crate::report::prelude::*;
use crate::results::{RateParameter, RatesRecord};

/// Width of the parameters next to the plot, as a share of the page, and height of each.
const TEXTS: f64 = 0.344;
const PARAMETER: f64 = 58.0;

/// Draws the chart. `None` without an image.
pub(super) fn draw(rates: &RatesRecord, sheet: Sheet<'_>) -> Option<Canvas> {
    let height = 560.0;
    // The parameters are next to the plot, or below it on a narrow page.
    let (beside, below) = match sheet.is_narrow() {
        true => (MARGIN, PARAMETER * rates.parameters.len() as f64),
        false => (MARGIN + TEXTS * sheet.px(), 0.0),
    };
    let area = Area::of_page(sheet, height, 60.0, beside);
    let title = format!(
        "Fitted pull times differ from measured ones by {} (median)",
        percent(rates.median_error)
    );
    let note = format!(
        "{}; dot: median, line: least to greatest",
        super::extent(rates)
    );
    let ends = rates
        .images
        .iter()
        .flat_map(|row| [row.pull_s_min, row.pull_s_max, row.fitted_s]);
    let ends: Vec<f64> = ends.filter(|time| *time > 0.0).collect();
    let low = ends.iter().copied().reduce(f64::min)? / 1.2;
    let high = ends.iter().copied().reduce(f64::max)? * 1.2;
    let x = Scale {
        low,
        high,
        from: area.left,
        to: area.right,
        log: true,
    };
    let y = Scale {
        low,
        high,
        from: area.bottom,
        to: area.top,
        log: true,
    };
    let mut canvas = page(
        sheet,
        &Head {
            subject: &title,
            findings: Vec::new(),
            note,
        },
        height + below,
    );
    canvas.between(
        multiples_of(1.15, &x, &y),
        multiples_of(1.0 / 1.15, &x, &y),
        GRID,
        0.7,
    );
    let (ticks, _) = ticks_of_time(&x, (40.0, 6), ("", ""));
    bottom_grid(
        &mut canvas,
        area,
        &x,
        &ticks,
        "duration by the fitted model (logarithmic)",
    );
    let (ticks, _) = ticks_of_time(&y, (40.0, 6), ("", ""));
    value_axis(&mut canvas, area, &y, &ticks, "measured duration of a pull");
    canvas.path(multiples_of(1.0, &x, &y), Stroke::solid(AXIS, 1.2));
    for row in &rates.images {
        let at = x.at(row.fitted_s);
        canvas.line(
            (at, y.at(row.pull_s_min)),
            (at, y.at(row.pull_s_max)),
            Stroke::solid(series_colour(0), 1.4),
        );
        canvas.dot((at, y.at(row.pull_s_median)), 5.0, WHITE, 1.0);
        canvas.dot((at, y.at(row.pull_s_median)), 4.0, series_colour(0), 0.85);
    }
    let (left, from) = if sheet.is_narrow() {
        (MARGIN, area.bottom + 62.0)
    } else {
        (area.right + 28.0, area.top + 8.0)
    };
    let width = sheet.px() - MARGIN - left;
    for (at, parameter) in rates.parameters.iter().enumerate() {
        let top = from + PARAMETER * at as f64;
        write_bold(
            &mut canvas,
            &parameter.name,
            (left, top),
            TextStyle::new(LABEL, INK),
        );
        write_fitted(
            &mut canvas,
            &value(parameter),
            (left, top + 18.0),
            TextStyle::new(LABEL, INK),
            width,
        );
        write_fitted(
            &mut canvas,
            &parameter.note,
            (left, top + 35.0),
            TextStyle::new(SMALL, MUTED),
            width,
        );
    }
    Some(canvas)
}

/// The line y = `factor` · x, from the lower to the upper end of the axes.
fn multiples_of(factor: f64, x: &Scale, y: &Scale) -> Vec<Position> {
    let mut line = Vec::new();
    for time in [x.low, x.high] {
        line.push((x.at(time), y.at((time * factor).clamp(y.low, y.high))));
    }
    line
}

/// A parameter with its interval, as text.
pub(super) fn value(parameter: &RateParameter) -> String {
    let Some(value) = parameter.value else {
        return "not determined".to_owned();
    };
    let unit = parameter.unit.as_str();
    let written = with_unit(value, unit);
    let Some(low) = parameter.low else {
        return written;
    };
    let low = with_unit(low, unit);
    match parameter.high {
        Some(high) => format!("{written} [{low} to {}]", with_unit(high, unit)),
        None => format!("{written} [at least {low}]"),
    }
}

/// A value of a parameter with its unit.
fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" if value > 0.0 && value < 0.1 => format!("{:.1} ms", value * 1e3),
        "s" => time(value),
        "bytes/s" => format!("{:.1} MB/s", value / 1e6),
        _ => format!("{value:.3}"),
    }
}
