//! The concurrent image pulls over time, in a small panel for each variant, all on the same axes.
//!
//! If a setting was swept, its values are the columns, and strategies with the other settings the rows; otherwise
//! panels follow each other. If times or pulls differ by a large factor, their axis is logarithmic, so that all panels
//! can share it.

use super::over_time::steps;
use crate::report::names;
use crate::report::prelude::*;
use crate::report::spans::TimeSpans;
use crate::report::swept::SweepAxis;
use crate::results::TimelineRow;

/// A logarithmic axis is used for ends or peaks that span more than this factor.
const LOG_FROM: f64 = 8.0;
/// Minimum number of variants for separate panels.
const FEWEST: usize = 4;
/// Maximum number of columns.
const COLUMNS_MAX: usize = 7;
const PANEL: f64 = 76.0;
const GAP: f64 = 14.0;
/// Room above a panel for its two lines, and below for the next.
const ABOVE: f64 = 44.0;
const ABOVE_NAMELESS: f64 = 32.0;
/// Maximum width of a row's name.
const ROW_NAME: f64 = 150.0;
/// Minimum width of a panel, so that its detail fits.
const NARROWEST: f64 = 78.0;

/// A panel's position in the grid, with the variant that it shows.
struct GridPanel<'v, 'r> {
    row: usize,
    column: usize,
    variant: &'v VariantResults<'r>,
    /// The variant's name; empty if the row and the column identify the variant.
    name: String,
}

impl<'v, 'r> GridPanel<'v, 'r> {
    /// A panel that is identified by its row and column.
    const fn nameless(row: usize, column: usize, variant: &'v VariantResults<'r>) -> Self {
        Self {
            row,
            column,
            variant,
            name: String::new(),
        }
    }
}

/// The panels in rows and columns.
struct Grid<'v, 'r> {
    panels: Vec<GridPanel<'v, 'r>>,
    columns: Vec<String>,
    rows: Vec<String>,
    /// The columns' setting, written above the first column.
    title: String,
}

impl Grid<'_, '_> {
    /// The row of the lowest panel of a column, which has the time labels.
    fn lowest_row(&self, column: usize) -> Option<usize> {
        let in_column = self.panels.iter().filter(|panel| panel.column == column);
        in_column.map(|panel| panel.row).max()
    }

    /// The number of rows that have panels.
    fn row_count(&self) -> usize {
        let rows = self.panels.iter().map(|panel| panel.row + 1);
        rows.max().unwrap_or(0)
    }
}

/// Position and size of the panels.
struct GridLayout {
    left: f64,
    top: f64,
    /// Width of each panel, and the room above it.
    width: f64,
    above: f64,
}

impl GridLayout {
    /// The layout of a grid whose rows have the names `rows`.
    fn of(sheet: Sheet<'_>, grid: &Grid<'_, '_>, rows: &[String]) -> Self {
        let above = if grid.title.is_empty() {
            ABOVE
        } else {
            ABOVE_NAMELESS
        };
        let titles = if grid.title.is_empty() { 0.0 } else { 42.0 };
        Self {
            left: left_of(rows),
            top: TOP + 48.0 + titles,
            width: width_in(sheet, grid),
            above: above + if sheet.is_narrow() { 8.0 } else { 0.0 },
        }
    }

    /// The left edge of a column.
    fn column(&self, column: usize) -> f64 {
        self.left + (self.width + GAP) * column as f64
    }

    /// The upper edge of a row.
    fn row(&self, row: usize) -> f64 {
        self.top + (PANEL + self.above) * row as f64
    }

    /// The area of a panel.
    fn area(&self, panel: &GridPanel<'_, '_>) -> Area {
        let left = self.column(panel.column);
        let top = self.row(panel.row);
        Area {
            left,
            top,
            right: left + self.width,
            bottom: top + PANEL,
        }
    }
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
    let layout = GridLayout::of(sheet, &grid, &rows);
    let bottom = layout.row(grid.row_count()) - layout.above;
    let axes = PanelAxes {
        x: time_axis(&spans_of(&variants).ends),
        y: pulls_axis(&variants),
        tiny,
    };
    let time = spans_of(&variants);
    let head = Head {
        subject: "Concurrent image pulls on common axes",
        findings: findings::tradeoff(&variants),
        note: subtitle_of(results, &variants, &axes) + time.note(),
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
    write_lines(
        &mut canvas,
        &lines,
        (MARGIN, TOP - 2.0),
        15.0,
        TextStyle::new(SMALL, INK),
    );
    if !grid.title.is_empty() {
        write_columns(&mut canvas, &grid, &layout, tiny);
    }
    for (at, name) in rows.iter().enumerate() {
        let middle = layout.row(at) + PANEL / 2.0;
        write_bold(
            &mut canvas,
            name,
            (MARGIN, middle + 4.5),
            TextStyle::new(LABEL, INK),
        );
    }
    for panel in &grid.panels {
        let is_lowest = grid.lowest_row(panel.column) == Some(panel.row);
        let axes = axes.in_area(layout.area(panel));
        draw_panel(&mut canvas, panel, &axes, is_lowest);
        if axes.x.high < active_until(panel.variant) {
            arrow(&mut canvas, layout.area(panel));
        }
    }
    let middle = f64::midpoint(layout.left, sheet.px() - MARGIN);
    let axis = format!("time since {}", results.start());
    write(
        &mut canvas,
        &axis,
        (middle, bottom + 42.0),
        TextStyle::new(SMALL, INK),
        Align::Middle,
    );
    Some(canvas)
}

/// The extent of the data, and how to read the panels.
fn subtitle_of(results: &Results, variants: &[VariantResults<'_>], axes: &PanelAxes) -> String {
    let logs = match (axes.x.log, axes.y.log) {
        (true, true) => "; both axes logarithmic",
        (true, false) => "; time axis logarithmic",
        (false, true) => "; pulls axis logarithmic",
        (false, false) => "",
    };
    let line = match results.displayed() {
        Some(run) => format!("line: replicate {}, ", run.replicate),
        None => String::new(),
    };
    format!(
        "{}; {line}shade: p5–p95 of all runs, or the range of a dense line around its mean{logs}",
        extent(variants)
    )
}

/// Writes the setting of the columns, and its values. If a value does not fit, its part in parentheses goes to a
/// second line.
fn write_columns(canvas: &mut Canvas, grid: &Grid<'_, '_>, layout: &GridLayout, tiny: f64) {
    let title_at = (layout.left, TOP + 26.0);
    write(
        canvas,
        &grid.title,
        title_at,
        TextStyle::new(SMALL, MUTED),
        Align::Left,
    );
    let width = layout.width;
    for (at, column) in grid.columns.iter().enumerate() {
        let is_whole = text_width(column, LABEL, Weight::Bold) <= width;
        let cut = match column.find('(') {
            Some(parenthesis) if !is_whole => parenthesis,
            _ => column.len(),
        };
        let (name, inside) = column.split_at(cut);
        let left = layout.column(at);
        let name = fitted(name, LABEL, Weight::Bold, width);
        write_bold(
            canvas,
            &name,
            (left, TOP + 45.0),
            TextStyle::new(LABEL, INK),
        );
        write_fitted(
            canvas,
            inside,
            (left, TOP + 60.0),
            TextStyle::new(tiny, MUTED),
            width,
        );
    }
}

/// The axes that all panels share, and the size of their labels.
#[derive(Clone, Copy)]
struct PanelAxes {
    x: Scale,
    y: Scale,
    tiny: f64,
}

impl PanelAxes {
    /// The axes, moved to the given area.
    fn in_area(self, area: Area) -> Self {
        Self {
            x: Scale {
                from: area.left,
                to: area.right,
                ..self.x
            },
            y: Scale {
                from: area.bottom,
                to: area.top,
                ..self.y
            },
            ..self
        }
    }

    /// The curve of a value until `end`, where it falls to 0.
    fn curve(
        &self,
        variant: &VariantResults<'_>,
        end: f64,
        value: fn(&TimelineRow) -> f64,
    ) -> Vec<Position> {
        let mut points = steps(variant, end, value, &self.x, &self.y);
        if end >= active_until(variant) {
            points.push((self.x.at(end), self.y.at(0.0)));
        }
        points
    }
}

/// Columns for the values of the setting with the most values, rows for everything else. `None` if more than half of
/// the cells would be empty.
fn trellis<'v, 'r>(
    axes: &[SweepAxis<'r>],
    variants: &'v [VariantResults<'r>],
) -> Option<Grid<'v, 'r>> {
    let mut across: Option<&SweepAxis<'_>> = None;
    for axis in axes {
        let values = axis.values.len();
        let most = across.map_or(0, |across| across.values.len());
        if values <= COLUMNS_MAX && values > most {
            across = Some(axis);
        }
    }
    let across = across?;
    let lines = across.lines(axes, variants);
    let mut rows: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    let mut panels: Vec<GridPanel<'v, 'r>> = Vec::new();
    for (row, line) in lines.iter().enumerate() {
        for point in &line.points {
            panels.push(GridPanel::nameless(row, point.value, point.variant));
        }
    }
    for variant in variants {
        if across.value_of(variant).is_none() {
            panels.push(GridPanel::nameless(rows.len(), 0, variant));
            rows.push(variant.info.strategy.clone());
        }
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

/// The names of the rows, cut to the available width; empty if rows have no names.
fn row_names(grid: &Grid<'_, '_>) -> Vec<String> {
    grid.rows
        .iter()
        .map(|name| fitted_name(name, LABEL, Weight::Bold, ROW_NAME))
        .collect()
}

/// The left edge of the first column of panels.
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

/// A grid whose panels are in the variants' order, row by row.
fn one_by_one<'v, 'r>(sheet: Sheet<'_>, variants: &'v [VariantResults<'r>]) -> Grid<'v, 'r> {
    let columns = if sheet.is_narrow() { 3 } else { 4 };
    let width = (sheet.inner() - 44.0 - GAP * (columns - 1) as f64) / columns as f64;
    let names = names::within(variants, SMALL, Weight::Bold, width);
    let mut panels = Vec::new();
    for (at, (variant, name)) in variants.iter().zip(names).enumerate() {
        panels.push(GridPanel {
            row: at / columns,
            column: at % columns,
            variant,
            name,
        });
    }
    Grid {
        panels,
        columns: vec![String::new(); columns],
        rows: Vec::new(),
        title: String::new(),
    }
}

/// The time at which the pulls of a variant end.
fn active_until(variant: &VariantResults<'_>) -> f64 {
    variant.active_until(pulls_of, |row| (row.pulls_p5, row.pulls_p95))
}

/// The ends of the variants' pulls on the axes.
fn spans_of(variants: &[VariantResults<'_>]) -> TimeSpans {
    TimeSpans::of(variants, variants.iter().map(active_until).collect())
}

/// The concurrent pulls of a bin.
fn pulls_of(row: &TimelineRow) -> f64 {
    row.pulls as f64
}

/// The time axis of all panels. The first twentieth of the shortest rollout is clamped to the edge.
fn time_axis(ends: &[f64]) -> Scale {
    let mut ends = ends.to_vec();
    ends.retain(|end| *end > 0.0);
    Scale::fitting(&ends, (LOG_FROM, [20.0, 1.0]), 1.0, (0.0, 1.0))
}

/// The value axis of all panels.
fn pulls_axis(variants: &[VariantResults<'_>]) -> Scale {
    let mut peaks = Vec::new();
    for variant in variants {
        let mut peak: f64 = 0.0;
        for row in &variant.timeline {
            peak = peak.max(pulls_of(row).max(row.pulls_p95));
        }
        if peak > 0.0 {
            peaks.push(peak);
        }
    }
    let scale = Scale::fitting(&peaks, (LOG_FROM, [5.0, 1.1]), 1.04, (0.0, 1.0));
    Scale {
        low: scale.low.min(1.0),
        ..scale
    }
}

/// Draws a panel with its texts, its curve and its axes. The lowest panel of a column has time labels.
fn draw_panel(canvas: &mut Canvas, panel: &GridPanel<'_, '_>, axes: &PanelAxes, is_lowest: bool) {
    let PanelAxes { x, y, tiny } = axes;
    for tick in pulls_ticks(y) {
        let at = y.at(tick.value);
        canvas.line((x.from, at), (x.to, at), Stroke::solid(GRID, 1.0));
        if panel.column == 0 {
            let label_at = (x.from - 6.0, at + 0.36 * tiny);
            write(
                canvas,
                &tick.label,
                label_at,
                TextStyle::new(*tiny, MUTED),
                Align::Right,
            );
        }
    }
    let left = x.from;
    let top = y.to;
    write_bold(
        canvas,
        &panel.name,
        (left, top - 19.0),
        TextStyle::new(SMALL, INK),
    );
    let detail = detail(panel.variant);
    write(
        canvas,
        &detail,
        (left, top - 6.0),
        TextStyle::new(*tiny, MUTED),
        Align::Left,
    );
    draw_curve(canvas, panel.variant, axes);
    draw_times(canvas, axes, is_lowest);
}

/// Draws the curve of a variant over its band, or an envelope if the curve would be a solid block.
fn draw_curve(canvas: &mut Canvas, variant: &VariantResults<'_>, axes: &PanelAxes) {
    let colour = variant.style.colour();
    let end = active_until(variant).min(axes.x.high);
    let pulls = axes.curve(variant, end, pulls_of);
    if let Some(dense) = envelope(&pulls) {
        canvas.between(dense.upper, dense.lower, colour, 0.35);
        return canvas.path(dense.mean, Stroke::solid(colour, 1.4));
    }
    if variant.runs.len() > 1 {
        let upper = decimate(&axes.curve(variant, end, |row| row.pulls_p95), 1.0);
        let lower = decimate(&axes.curve(variant, end, |row| row.pulls_p5), 1.0);
        canvas.between(upper, lower, colour, 0.25);
    }
    canvas.path(decimate(&pulls, 1.0), Stroke::solid(colour, 1.4));
}

/// Draws the time axis of a panel, with labels if it is the lowest of its column.
fn draw_times(canvas: &mut Canvas, axes: &PanelAxes, is_lowest: bool) {
    let PanelAxes { x, y, tiny } = axes;
    let bottom = y.from;
    let stroke = Stroke::solid(AXIS, 1.0);
    canvas.line((x.from, bottom), (x.to, bottom), stroke);
    let most = ((x.to - x.from) / 42.0) as usize;
    for tick in ticks_of_short_time(x, 40.0, most.clamp(1, 5)) {
        let at = x.at(tick.value);
        canvas.line((at, bottom), (at, bottom + 3.0), stroke);
        if is_lowest {
            let half = text_width(&tick.label, *tiny, Weight::Regular) / 2.0;
            let middle = at.min(x.to + 5.0 - half);
            let label_at = (middle, bottom + 16.0);
            write(
                canvas,
                &tick.label,
                label_at,
                TextStyle::new(*tiny, MUTED),
                Align::Middle,
            );
        }
    }
}

/// `5,000 · 12.2 min`: the peak and the completion time.
fn detail(variant: &VariantResults<'_>) -> String {
    let peak = count(variant.median(Measure::PeakPulls).unwrap_or(0.0));
    let end = variant
        .ready_time()
        .map_or_else(|| "unfinished".to_owned(), time);
    format!("{peak} · {end}")
}

/// Ticks of the value axis.
fn pulls_ticks(y: &Scale) -> Vec<AxisTick> {
    let mut ticks = if y.log {
        log_ticks(y, 17.0)
    } else {
        ticks_from_zero(y.high, 3, true)
    };
    ticks.retain(|tick| tick.value <= y.high);
    ticks
}
