//! Every variant in a small panel, all on the same axes, with the concurrent image pulls over time.
//!
//! Where a setting was swept, its values are the columns, and strategies with the other settings the rows; otherwise
//! panels follow each other. Times or pulls that differ by a large factor get logarithmic axes, so that all panels can
//! share them.

use super::over_time::steps;
use crate::report::names;
use crate::report::prelude::*;
use crate::report::swept::SweepAxis;
use crate::results::TimelineRow;

/// Ends or peaks that span more than this factor get a logarithmic axis.
const LOG_FROM: f64 = 8.0;
/// Fewest variants for a panel each.
const FEWEST: usize = 4;
/// Most columns.
const COLUMNS_MAX: usize = 7;
const PANEL: f64 = 76.0;
const GAP: f64 = 14.0;
/// Room above a panel for its two lines, and below for the next.
const ABOVE: f64 = 44.0;
const ABOVE_NAMELESS: f64 = 32.0;
/// Widest name of a row.
const ROW_NAME: f64 = 150.0;
/// Narrowest panel: it has room for its detail.
const NARROWEST: f64 = 78.0;

/// A panel's place in the grid, with the variant that it shows.
struct GridPanel<'v, 'r> {
    row: usize,
    column: usize,
    variant: &'v VariantResults<'r>,
    /// Its name, where row and column do not show it.
    name: String,
}

/// The grid.
struct Grid<'v, 'r> {
    panels: Vec<GridPanel<'v, 'r>>,
    columns: Vec<String>,
    rows: Vec<String>,
    /// The columns' setting, above the first.
    title: String,
}

/// Draws the chart. `None` for fewer than four variants, which fit in one plot.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    if variants.len() < FEWEST {
        return None;
    }
    let axes = SweepAxis::all(&variants);
    let sheet = results.sheet();
    let tiny = if sheet.is_narrow() { SMALL } else { 10.5 };
    let grid = trellis(&axes, &variants).filter(|grid| width_in(sheet, grid) >= NARROWEST);
    let grid = grid.unwrap_or_else(|| one_by_one(sheet, &variants));
    let rows = row_names(&grid);
    let left = left_of(&rows);
    let width = width_in(sheet, &grid);
    let above = if grid.title.is_empty() {
        ABOVE
    } else {
        ABOVE_NAMELESS
    } + if sheet.is_narrow() { 8.0 } else { 0.0 };
    let row_count = grid
        .panels
        .iter()
        .map(|panel| panel.row + 1)
        .max()
        .unwrap_or(0);
    let top = TOP + 48.0 + if grid.title.is_empty() { 0.0 } else { 42.0 };
    let area = |panel: &GridPanel<'_, '_>| {
        let left = left + (width + GAP) * panel.column as f64;
        let top = top + (PANEL + above) * panel.row as f64;
        Area {
            left,
            top,
            right: left + width,
            bottom: top + PANEL,
        }
    };
    let bottom = top + (PANEL + above) * row_count as f64 - above;
    let (x, y) = (time_axis(&variants), pulls_axis(&variants));
    let logs = match (x.log, y.log) {
        (true, true) => "; both axes logarithmic",
        (true, false) => "; time axis logarithmic",
        (false, true) => "; pulls axis logarithmic",
        (false, false) => "",
    };
    let line = results.displayed().map_or_else(String::new, |run| {
        format!("line: replicate {}, ", run.replicate)
    });
    let subtitle = format!(
        "{}; {line}shade: p5–p95 of all runs, or the range of a dense line around its mean{logs}",
        extent(&variants)
    );
    let subject = "Concurrent image pulls on common axes";
    let head = Head {
        subject,
        findings: findings::tradeoff(&variants),
        note: subtitle,
    };
    let mut canvas = page_of_run(results, &head, bottom + 62.0 + FOOTER);
    let pulls = if results.tables.runs.iter().any(|run| run.pulls > 0) {
        ""
    } else {
        " (no run pulls an image)"
    };
    let note = format!(
        "concurrent image pulls{pulls}; above each panel: median peak · median completion time"
    );
    let lines = in_lines(&note, SMALL, Weight::Regular, sheet.inner(), 2);
    write_lines(&mut canvas, &lines, (MARGIN, TOP - 2.0), 15.0, SMALL, INK);
    if !grid.title.is_empty() {
        write(
            &mut canvas,
            &grid.title,
            (left, TOP + 26.0),
            SMALL,
            MUTED,
            Align::Left,
        );
        for (at, column) in grid.columns.iter().enumerate() {
            // The part of a value in parentheses moves to a second line where it does not fit.
            let whole = text_width(column, LABEL, Weight::Bold) <= width;
            let (name, inside) =
                column.split_at(column.find('(').filter(|_| !whole).unwrap_or(column.len()));
            let left = left + (width + GAP) * at as f64;
            write_bold(
                &mut canvas,
                &fitted(name, LABEL, Weight::Bold, width),
                (left, TOP + 45.0),
                LABEL,
                INK,
            );
            write_fitted(&mut canvas, inside, (left, TOP + 60.0), tiny, MUTED, width);
        }
    }
    for (at, name) in rows.iter().enumerate() {
        let middle = top + (PANEL + above) * at as f64 + PANEL / 2.0;
        write_bold(&mut canvas, name, (MARGIN, middle + 4.5), LABEL, INK);
    }
    // The lowest panel of a column carries the times.
    let lowest = |column: usize| {
        grid.panels
            .iter()
            .filter(|p| p.column == column)
            .map(|p| p.row)
            .max()
    };
    for panel in &grid.panels {
        let area = area(panel);
        let (x, y) = (
            Scale {
                from: area.left,
                to: area.right,
                ..x
            },
            Scale {
                from: area.bottom,
                to: area.top,
                ..y
            },
        );
        draw_panel(
            &mut canvas,
            panel,
            (&x, &y),
            tiny,
            lowest(panel.column) == Some(panel.row),
        );
    }
    let middle = f64::midpoint(left, sheet.px() - MARGIN);
    let axis = format!("time since {}", results.start());
    write(
        &mut canvas,
        &axis,
        (middle, bottom + 42.0),
        SMALL,
        INK,
        Align::Middle,
    );
    Some(canvas)
}

/// Columns for the values of the setting with the most values, rows for everything else. `None` where more than half
/// of the places would be empty.
fn trellis<'v, 'r>(
    axes: &[SweepAxis<'r>],
    variants: &'v [VariantResults<'r>],
) -> Option<Grid<'v, 'r>> {
    let across = axes
        .iter()
        .filter(|axis| axis.values.len() <= COLUMNS_MAX)
        .rev()
        .max_by_key(|axis| axis.values.len())?;
    let lines = across.lines(axes, variants);
    let mut rows: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let panel = |row, column, variant| GridPanel {
        row,
        column,
        variant,
        name: String::new(),
    };
    let mut panels: Vec<GridPanel<'v, 'r>> = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        panels.extend(
            line.points
                .iter()
                .map(|&(column, variant)| panel(row, column, variant)),
        );
    }
    for variant in variants
        .iter()
        .filter(|variant| across.value_of(variant).is_none())
    {
        panels.push(panel(rows.len(), 0, variant));
        rows.push(variant.info.strategy.clone());
    }
    if !rows.iter().all_unique() || 2 * panels.len() < rows.len() * across.values.len() {
        return None;
    }
    let columns = across
        .values
        .iter()
        .map(|value| value.label.clone())
        .collect();
    let title = across.subject();
    Some(Grid {
        panels,
        columns,
        rows,
        title,
    })
}

/// The names of the rows, where they have them.
fn row_names(grid: &Grid<'_, '_>) -> Vec<String> {
    grid.rows
        .iter()
        .map(|name| fitted_name(name, LABEL, Weight::Bold, ROW_NAME))
        .collect()
}

/// Where the first column of panels begins.
fn left_of(rows: &[String]) -> f64 {
    let names = rows
        .iter()
        .map(|name| text_width(name, LABEL, Weight::Bold))
        .reduce(f64::max);
    MARGIN + names.map_or(0.0, |names| names + 14.0) + 44.0
}

/// The width of a panel.
fn width_in(sheet: Sheet<'_>, grid: &Grid<'_, '_>) -> f64 {
    let columns = grid.columns.len() as f64;
    (sheet.px() - MARGIN - left_of(&row_names(grid)) - GAP * (columns - 1.0)) / columns
}

/// Panels that follow each other.
fn one_by_one<'v, 'r>(sheet: Sheet<'_>, variants: &'v [VariantResults<'r>]) -> Grid<'v, 'r> {
    let columns = if sheet.is_narrow() { 3 } else { 4 };
    let width = (sheet.inner() - 44.0 - GAP * (columns - 1) as f64) / columns as f64;
    let names = names::within(variants, SMALL, Weight::Bold, width);
    let panel = |(at, (variant, name)): (usize, (&'v VariantResults<'r>, String))| GridPanel {
        row: at / columns,
        column: at % columns,
        variant,
        name,
    };
    let panels = variants.iter().zip(names).enumerate().map(panel).collect();
    Grid {
        panels,
        columns: vec![String::new(); columns],
        rows: Vec::new(),
        title: String::new(),
    }
}

fn active_until(variant: &VariantResults<'_>) -> f64 {
    variant.active_until(|row| row.pulls as f64, |row| (row.pulls_p5, row.pulls_p95))
}

fn time_axis(variants: &[VariantResults<'_>]) -> Scale {
    let ends: Vec<f64> = variants
        .iter()
        .map(active_until)
        .filter(|end| *end > 0.0)
        .collect();
    // The first twentieth of the shortest rollout is drawn at the edge.
    Scale::fitting(&ends, (LOG_FROM, [20.0, 1.0]), 1.0, (0.0, 1.0))
}

fn pulls_axis(variants: &[VariantResults<'_>]) -> Scale {
    let greatest = |variant: &VariantResults<'_>| {
        variant
            .timeline
            .iter()
            .map(|row| (row.pulls as f64).max(row.pulls_p95))
            .fold(0.0, f64::max)
    };
    let peaks: Vec<f64> = variants
        .iter()
        .map(greatest)
        .filter(|peak| *peak > 0.0)
        .collect();
    let scale = Scale::fitting(&peaks, (LOG_FROM, [5.0, 1.1]), 1.04, (0.0, 1.0));
    Scale {
        low: scale.low.min(1.0),
        ..scale
    }
}

fn draw_panel(
    canvas: &mut Canvas,
    panel: &GridPanel<'_, '_>,
    (x, y): (&Scale, &Scale),
    tiny: f64,
    lowest: bool,
) {
    let area = Area {
        left: x.from,
        top: y.to,
        right: x.to,
        bottom: y.from,
    };
    let variant = panel.variant;
    for tick in pulls_ticks(y) {
        let at = y.at(tick.value);
        canvas.line((area.left, at), (area.right, at), Stroke::solid(GRID, 1.0));
        if panel.column == 0 {
            write(
                canvas,
                &tick.label,
                (area.left - 6.0, at + 0.36 * tiny),
                tiny,
                MUTED,
                Align::Right,
            );
        }
    }
    let detail = detail(variant);
    write_bold(
        canvas,
        &panel.name,
        (area.left, area.top - 19.0),
        SMALL,
        INK,
    );
    write(
        canvas,
        &detail,
        (area.left, area.top - 6.0),
        tiny,
        MUTED,
        Align::Left,
    );
    let colour = variant.style.colour();
    let end = active_until(variant);
    let whole = |value: &dyn Fn(&TimelineRow) -> f64| {
        let mut points = steps(variant, end, value, x, y);
        points.push((x.at(end), y.at(0.0)));
        points
    };
    let line = |value: &dyn Fn(&TimelineRow) -> f64| decimate(&whole(value), 1.0);
    if let Some(dense) = envelope(&whole(&|row| row.pulls as f64)) {
        canvas.between(dense.upper, dense.lower, colour, 0.35);
        canvas.path(dense.mean, Stroke::solid(colour, 1.4));
    } else {
        if variant.runs.len() > 1 {
            canvas.between(
                line(&|row| row.pulls_p95),
                line(&|row| row.pulls_p5),
                colour,
                0.25,
            );
        }
        canvas.path(line(&|row| row.pulls as f64), Stroke::solid(colour, 1.4));
    }
    canvas.line(
        (area.left, area.bottom),
        (area.right, area.bottom),
        Stroke::solid(AXIS, 1.0),
    );
    let most = ((area.right - area.left) / 42.0) as usize;
    for tick in ticks_of_short_time(x, 40.0, most.clamp(1, 5)) {
        let at = x.at(tick.value);
        canvas.line(
            (at, area.bottom),
            (at, area.bottom + 3.0),
            Stroke::solid(AXIS, 1.0),
        );
        let half = text_width(&tick.label, tiny, Weight::Regular) / 2.0;
        if lowest {
            let middle = at.min(area.right + 5.0 - half);
            write(
                canvas,
                &tick.label,
                (middle, area.bottom + 16.0),
                tiny,
                MUTED,
                Align::Middle,
            );
        }
    }
}

/// `5,000 · 12.2 min`: the peak and the completion time.
fn detail(variant: &VariantResults<'_>) -> String {
    let peak = count(variant.median("peak_pulls").unwrap_or(0.0));
    let end = variant
        .ready_time()
        .map_or_else(|| "unfinished".to_owned(), time);
    format!("{peak} · {end}")
}

fn pulls_ticks(y: &Scale) -> Vec<AxisTick> {
    let ticks = if y.log {
        log_ticks(y, 17.0)
    } else {
        ticks_from_zero(y.high, 3, true)
    };
    ticks
        .into_iter()
        .filter(|tick| tick.value <= y.high)
        .collect()
}
