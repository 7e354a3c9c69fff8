//! The frame around every chart: title, subtitle and footer; the key at the right; axes and grid.

use super::axis::{AxisTick, Scale};
use super::canvas::{Align, Canvas, Label, Position, Stroke};
use super::data::Results;
use super::findings::Head;
use super::sheet::{Sheet, is_narrow};
use super::style::{AXIS, Colour, GRID, INK, LABEL, MARGIN, MUTED, SMALL, SUBTITLE};
use super::text::{Weight, fitted, fitted_name, in_lines, text_width, widest};
use crate::results::Provenance;

/// Upper edge of the parts below the subtitle.
pub(super) const TOP: f64 = 108.0;
/// Room for the title and the note, which a chart without them does not have.
const HEAD: f64 = 66.0;
/// Room below the lowest part of a chart without a footer.
const FOOT_MARGIN: f64 = 12.0;
/// Height of the footer.
pub(super) const FOOTER: f64 = 40.0;
/// Distance between the key's texts and the plot: a gap and the line of the entry.
pub(super) const KEY_INDENT: f64 = 58.0;
/// Minimum height of an entry of a key.
pub(super) const KEY_LINE: f64 = 17.0;

/// A rectangle on the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// The area of a page of the given height, with `left` px for the labels of an axis and `right` px for the texts
    /// at the right.
    pub(super) fn of_page(sheet: Sheet<'_>, height: f64, left: f64, right: f64) -> Self {
        Self {
            left: MARGIN + left,
            top: TOP + 28.0,
            right: sheet.px() - right,
            bottom: height - FOOTER - 58.0,
        }
    }
}

/// One entry of a key.
#[derive(Clone, Debug)]
pub(super) struct KeyEntry {
    /// Sort key of the entries, greatest first.
    pub(super) value: f64,
    pub(super) colour: Colour,
    /// The pattern of its line.
    pub(super) dash: &'static [f64],
    pub(super) name: String,
    pub(super) detail: String,
}

/// The size and colour of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    size: f64,
    colour: Colour,
}

impl TextStyle {
    pub(super) const fn new(size: f64, colour: Colour) -> Self {
        Self { size, colour }
    }
}

/// Writes a text.
pub(super) fn write(canvas: &mut Canvas, text: &str, at: Position, style: TextStyle, align: Align) {
    canvas.text(Label {
        text: text.to_owned(),
        at,
        size: style.size,
        weight: Weight::Regular,
        colour: style.colour,
        align,
    });
}

/// Writes a text from its left end, cut if it is wider than `width`.
pub(super) fn write_fitted(
    canvas: &mut Canvas,
    text: &str,
    at: Position,
    style: TextStyle,
    width: f64,
) {
    let text = fitted(text, style.size, Weight::Regular, width);
    write(canvas, &text, at, style, Align::Left);
}

/// Writes lines from their left end, the first one at the given position, the others `step` apart.
pub(super) fn write_lines(
    canvas: &mut Canvas,
    lines: &[String],
    (x, y): Position,
    step: f64,
    style: TextStyle,
) {
    for (at, line) in lines.iter().enumerate() {
        let baseline = y + step * at as f64;
        write(canvas, line, (x, baseline), style, Align::Left);
    }
}

/// Writes a bold text from its left end.
pub(super) fn write_bold(canvas: &mut Canvas, text: &str, at: Position, style: TextStyle) {
    canvas.text(Label {
        text: text.to_owned(),
        at,
        size: style.size,
        weight: Weight::Bold,
        colour: style.colour,
        align: Align::Left,
    });
}

/// A page with title, subtitle and footer, for a chart of the displayed run, which the footer names.
pub(super) fn page_of_run(results: &Results, head: &Head<'_>, height: f64) -> Canvas {
    let run = match results.displayed() {
        Some(run) => format!(" · replicate {}: {}", run.replicate, run.conditions()),
        None => String::new(),
    };
    page_with_footer(results.sheet(), head, &run, height)
}

/// A page with title, subtitle and footer.
pub(super) fn page(sheet: Sheet<'_>, head: &Head<'_>, height: f64) -> Canvas {
    page_with_footer(sheet, head, "", height)
}

/// A page with `height` for everything except additional lines of the title, the subtitle and the footer. Everything
/// that is drawn later is below those lines.
fn page_with_footer(sheet: Sheet<'_>, head: &Head<'_>, more: &str, height: f64) -> Canvas {
    let (title, subtitle) = head.on(sheet);
    let Provenance {
        experiment,
        program,
        program_version,
        seed,
        ..
    } = sheet.provenance;
    let footer = format!("{experiment} · {program} {program_version} · seed {seed}{more}");
    let narrow = sheet.is_narrow();
    let (size, titles) = sheet.title_lines(title);
    let notes = in_lines(
        &subtitle,
        SUBTITLE,
        Weight::Regular,
        sheet.inner(),
        if narrow { 7 } else { 2 },
    );
    let footers = in_lines(
        &footer,
        SMALL,
        Weight::Regular,
        sheet.inner(),
        if narrow { 4 } else { 1 },
    );
    let title_step = size + 4.0;
    let of_title = title_step * titles.len().saturating_sub(1) as f64;
    let down = of_title + 17.0 * notes.len().saturating_sub(2) as f64;
    let of_footer = 15.0 * footers.len().saturating_sub(1) as f64;
    let name = format!("{title}: {subtitle}");
    if sheet.untitled {
        // The caption of the figure has the title and the note, and names the results.
        let mut canvas = Canvas::new(&name, sheet.px(), height - HEAD - FOOTER + FOOT_MARGIN);
        canvas.down = -HEAD;
        return canvas;
    }
    let mut canvas = Canvas::new(&name, sheet.px(), height + down + of_footer);
    for (at, line) in titles.iter().enumerate() {
        write_bold(
            &mut canvas,
            line,
            (MARGIN, 36.0 + title_step * at as f64),
            TextStyle::new(size, INK),
        );
    }
    write_lines(
        &mut canvas,
        &notes,
        (MARGIN, 59.0 + of_title),
        17.0,
        TextStyle::new(SUBTITLE, MUTED),
    );
    write_lines(
        &mut canvas,
        &footers,
        (MARGIN, height + down - 16.0),
        15.0,
        TextStyle::new(SMALL, MUTED),
    );
    canvas.down = down;
    canvas
}

/// Draws vertical grid lines and the axis at the bottom.
pub(super) fn bottom_grid(
    canvas: &mut Canvas,
    area: Area,
    scale: &Scale,
    ticks: &[AxisTick],
    title: &str,
) {
    for tick in ticks {
        let at = scale.at(tick.value);
        canvas.line((at, area.top), (at, area.bottom), Stroke::solid(GRID, 1.0));
    }
    bottom_axis(canvas, area, scale, ticks, title);
}

/// Draws horizontal grid lines with the value axis' labels at the left; the title is above the labels.
pub(super) fn value_axis(
    canvas: &mut Canvas,
    area: Area,
    scale: &Scale,
    ticks: &[AxisTick],
    title: &str,
) {
    for tick in ticks {
        let y = scale.at(tick.value);
        canvas.line((area.left, y), (area.right, y), Stroke::solid(GRID, 1.0));
        write(
            canvas,
            &tick.label,
            (area.left - 8.0, y + 0.36 * SMALL),
            TextStyle::new(SMALL, MUTED),
            Align::Right,
        );
    }
    if !title.is_empty() {
        let widest = widest(ticks.iter().map(|tick| &tick.label), SMALL, Weight::Regular);
        let left = (area.left - 8.0 - widest).max(0.0);
        write(
            canvas,
            title,
            (left, area.top - 13.0),
            TextStyle::new(SMALL, INK),
            Align::Left,
        );
    }
}

/// Draws the axis line at the bottom with ticks, labels and, below them, the title.
pub(super) fn bottom_axis(
    canvas: &mut Canvas,
    area: Area,
    scale: &Scale,
    ticks: &[AxisTick],
    title: &str,
) {
    canvas.line(
        (area.left, area.bottom),
        (area.right, area.bottom),
        Stroke::solid(AXIS, 1.2),
    );
    for tick in ticks {
        let x = scale.at(tick.value);
        canvas.line(
            (x, area.bottom),
            (x, area.bottom + 5.0),
            Stroke::solid(AXIS, 1.2),
        );
        // The last label must not overlap the texts at the right.
        let reach = area.right + 8.0 - text_width(&tick.label, SMALL, Weight::Regular) / 2.0;
        write(
            canvas,
            &tick.label,
            (x.min(reach), area.bottom + 19.0),
            TextStyle::new(SMALL, MUTED),
            Align::Middle,
        );
    }
    if !title.is_empty() {
        write(
            canvas,
            title,
            (f64::midpoint(area.left, area.right), area.bottom + 40.0),
            TextStyle::new(SMALL, INK),
            Align::Middle,
        );
    }
}

/// Draws the arrow at the end of a time axis beyond which a rollout goes on.
pub(super) fn arrow(canvas: &mut Canvas, area: Area) {
    /// Half of the height.
    const ARROW: f64 = 4.0;
    let left = area.right + 2.0;
    let middle = area.bottom;
    let corners = vec![
        (left, middle - ARROW),
        (left + 1.6 * ARROW, middle),
        (left, middle + ARROW),
    ];
    canvas.area(corners, INK, 1.0);
}

/// Width of a key at the right of its plot, with the gap, and height below the plot. The width is limited, so that the
/// plot keeps enough room. On a narrow page, the key is below.
pub(super) fn key_room(sheet: Sheet<'_>, entries: &[KeyEntry]) -> (f64, f64) {
    if sheet.is_narrow() {
        return (MARGIN, entries.iter().map(height_below).sum());
    }
    let names = widest(entries.iter().map(|entry| &entry.name), LABEL, Weight::Bold);
    let details = widest(
        entries.iter().map(|entry| &entry.detail),
        SMALL,
        Weight::Regular,
    );
    // A viewer that shows an SVG without the font may substitute one that is a sixth wider.
    (
        KEY_INDENT + names.max(details).clamp(100.0, sheet.key_name()) * 7.0 / 6.0 + 10.0,
        0.0,
    )
}

/// Height of an entry of a key below its plot.
fn height_below(entry: &KeyEntry) -> f64 {
    KEY_LINE + if entry.detail.is_empty() { 0.0 } else { 16.0 }
}

/// Draws the key between `area` and `right`, or below the area on a narrow page, greatest value first. If there are
/// many entries, each takes one line.
pub(super) fn key(canvas: &mut Canvas, area: Area, right: f64, mut entries: Vec<KeyEntry>) {
    entries.sort_by(|a, b| b.value.total_cmp(&a.value));
    let narrow = is_narrow(canvas.width);
    let (left, text_left) = if narrow {
        (area.left, area.left + 32.0)
    } else {
        (area.right + 26.0, area.right + KEY_INDENT)
    };
    let width = if narrow {
        area.right - area.left - 32.0
    } else {
        (right - text_left) * 6.0 / 7.0 + 0.5
    };
    let step = ((area.bottom - area.top + 30.0) / entries.len().max(1) as f64).min(50.0);
    let mut below = area.bottom + 52.0;
    for (at, entry) in entries.iter().enumerate() {
        let (top, detail) = if narrow {
            (below, 26.5)
        } else {
            (area.top + at as f64 * step, 27.5)
        };
        canvas.line(
            (left, top + 6.0),
            (left + 24.0, top + 6.0),
            Stroke {
                dash: entry.dash,
                ..Stroke::solid(entry.colour, 2.6)
            },
        );
        let name = fitted_name(&entry.name, LABEL, Weight::Bold, width);
        write_bold(
            canvas,
            &name,
            (text_left, top + 10.5),
            TextStyle::new(LABEL, INK),
        );
        if narrow || step >= 32.0 {
            write_fitted(
                canvas,
                &entry.detail,
                (text_left, top + detail),
                TextStyle::new(SMALL, MUTED),
                width,
            );
        }
        below += height_below(entry);
    }
}

/// Cells of a grid of panels for small multiples, row by row, and the page's height. Only the first of a row has room
/// for labels at its left, because all share one value axis; with `labels`, each has this much room.
pub(super) fn panels(sheet: Sheet<'_>, count: usize, labels: Option<f64>) -> (Vec<Area>, f64) {
    const PANEL: f64 = 124.0;
    const ROW: f64 = PANEL + 82.0;
    let gap = labels.map_or(26.0, |labels| labels + 26.0);
    let columns = match count {
        0..=4 => 2,
        _ if sheet.is_narrow() => 2,
        _ => 3,
    }
    .min(count.max(1));
    let left = MARGIN + 44.0;
    let right = sheet.px() - MARGIN;
    let width = (right - left - gap * (columns - 1) as f64) / columns as f64;
    let top = TOP + 54.0;
    let mut cells = Vec::new();
    for at in 0..count {
        let left = left + (width + gap) * (at % columns) as f64;
        let top = top + ROW * (at / columns) as f64;
        cells.push(Area {
            left,
            top,
            right: left + width,
            bottom: top + PANEL,
        });
    }
    let rows = count.max(1).div_ceil(columns);
    (cells, top + ROW * rows as f64 - 48.0 + FOOTER)
}

/// Writes entries of a colour and a name one after the other, in as many lines as needed, from a baseline downwards.
pub(super) fn legend(
    canvas: &mut Canvas,
    (from, mut baseline): Position,
    entries: &[(&str, Colour)],
) {
    let mut left = from;
    for &(name, colour) in entries {
        let width = 20.0 + text_width(name, SMALL, Weight::Regular);
        if left > from && left + width > canvas.width - MARGIN {
            (left, baseline) = (from, baseline + 17.0);
        }
        canvas.rectangle(
            (left, baseline - 11.0),
            (left + 14.0, baseline + 3.0),
            colour,
            1.0,
        );
        write(
            canvas,
            name,
            (left + 20.0, baseline),
            TextStyle::new(SMALL, INK),
            Align::Left,
        );
        left += width + 22.0;
    }
}
