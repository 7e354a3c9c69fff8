//! The effect of a swept setting: peak pulls, peak egress and completion time against its values.
//!
//! One chart for each swept path, and one line for each strategy and combination of the other swept settings. A line
//! joins the medians over runs if the values are quantities; the shade contains 90% of all runs; whiskers are 95%
//! confidence intervals of the median. Values that are not quantities are evenly spaced, with their dots side by side.
//! If runs did not finish, the first panel shows the share that did, because the other panels alone would mislead. A
//! link that a variant fills limits the peak of egress, so the chart shows how long it is full instead.

use crate::report::charts::panel::{EGRESS, MeasurePanel, SweepPanel};
use crate::report::prelude::*;
use crate::report::swept::{SweepAxis, SweepLine, SweepPoint};

/// Maximum number of shaded lines; more shades would hide each other.
const SHADED_MAX: usize = 4;
/// Minimum height of a panel.
const PANEL: f64 = 168.0;
/// Height of a line's label.
const LABEL_LINE: f64 = 16.0;
/// Room above a panel.
const ABOVE: f64 = 34.0;
/// Room for the second line of labels below the last panel.
const SECOND_LINE: f64 = 14.0;
/// Minimum room for a label: with less, only some of the labels are written.
const WORD: f64 = 44.0;
/// Maximum width of a line's label.
const NAME: f64 = 210.0;
/// Minimum distance from the end of an axis to the first value.
const INSET: f64 = 30.0;
/// Maximum distance between the dots of neighbouring lines if values are evenly spaced, and the width of a dot.
const STEP: f64 = 14.0;
const DOT: f64 = 10.0;

/// Draws a chart for each swept path along which a line can be drawn, with the names of their files.
pub(in crate::report) fn draw_all(results: &Results) -> Vec<(String, Canvas)> {
    let variants = results.variants();
    let axes = SweepAxis::all(&variants);
    let mut drawn: Vec<&SweepAxis<'_>> = Vec::new();
    let mut canvases: Vec<Canvas> = Vec::new();
    for axis in &axes {
        if let Some(canvas) = draw(results, axis, &axes, &variants) {
            drawn.push(axis);
            canvases.push(canvas);
        }
    }
    chart_names(&drawn).into_iter().zip(canvases).collect()
}

/// A unique name for the chart of each axis.
fn chart_names(axes: &[&SweepAxis<'_>]) -> Vec<String> {
    if axes.len() == 1 {
        return vec!["sweep".to_owned()];
    }
    let mut names: Vec<String> = Vec::new();
    for axis in axes {
        let name = format!("sweep-{}", file_name(axis.name));
        let is_taken = names.contains(&name);
        names.push(if is_taken {
            format!("{name}-{}", names.len() + 1)
        } else {
            name
        });
    }
    names
}

/// A setting's name with only letters, digits and dashes, for file names and links.
fn file_name(name: &str) -> String {
    let mut words: Vec<&str> = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .collect();
    words.retain(|word| !word.is_empty());
    words.join("-")
}

/// Draws the chart of one swept path. `None` if no line along it has two points.
fn draw(
    results: &Results,
    axis: &SweepAxis<'_>,
    axes: &[SweepAxis<'_>],
    variants: &[VariantResults<'_>],
) -> Option<Canvas> {
    let lines = axis.lines(axes, variants);
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    let sheet = results.sheet();
    let names = line_names(sheet, &lines);
    let layout = PanelLayout::of(sheet, &names);
    let shown = variants_on(&lines);
    let is_exposed = shown.iter().any(|variant| variant.exposed());
    let mut panels: Vec<MeasurePanel> = Vec::new();
    for panel in panels_of(&shown, is_exposed) {
        panels.push(panel.laid_out(&shown, layout.area(panels.len())));
    }
    let drawing = Drawing::of(sheet, axis, &lines, &names, layout);

    let marks = if drawing.is_shaded() { "shade" } else { "bar" };
    let subtitle = format!(
        "{}; dot: median, whisker: its 95% CI, {marks}: p5–p95 of all runs",
        extent(variants)
    );
    let findings = if is_exposed {
        findings::exposure(variants)
    } else {
        let along: Vec<Vec<&VariantResults<'_>>> = lines.iter().map(SweepLine::variants).collect();
        findings::effect(&axis.subject(), &along)
    };
    let head = Head {
        subject: &format!("Effect of {}", axis.subject()),
        findings,
        note: subtitle,
    };
    let last = panels.len() - 1;
    let below = layout.area(last).bottom + 58.0 + second_line(axis);
    // On a narrow page, the names of the lines are below the panels.
    let is_keyed = sheet.is_narrow() && lines.len() > 1;
    let keyed = if is_keyed {
        LABEL_LINE * names.len() as f64
    } else {
        0.0
    };
    let mut canvas = page(sheet, &head, below + keyed + FOOTER);
    for (at, panel) in panels.iter().enumerate() {
        drawing.panel(&mut canvas, layout.area(at), panel, at == last);
    }
    if is_keyed {
        drawing.key(&mut canvas, &names, below);
    }
    Some(canvas)
}

/// The names of the lines, cut to the available width.
fn line_names(sheet: Sheet<'_>, lines: &[SweepLine<'_, '_>]) -> Vec<String> {
    let most = if sheet.is_narrow() {
        sheet.inner() - 18.0
    } else {
        NAME.min(0.22 * sheet.px())
    };
    lines
        .iter()
        .map(|line| fitted_name(&line.name, LABEL, Weight::Bold, most))
        .collect()
}

/// All variants of the lines.
fn variants_on<'v, 'r>(lines: &[SweepLine<'v, 'r>]) -> Vec<&'v VariantResults<'r>> {
    let mut variants = Vec::new();
    for line in lines {
        variants.extend(line.variants());
    }
    variants
}

/// The panels that the given variants need, from top to bottom.
fn panels_of(shown: &[&VariantResults<'_>], is_exposed: bool) -> Vec<SweepPanel> {
    let mut panels = Vec::new();
    if shown.iter().any(|variant| !variant.is_whole()) {
        panels.push(SweepPanel::FinishingShare);
    }
    if is_exposed {
        panels.push(SweepPanel::Exposure);
    }
    panels.push(SweepPanel::PeakPulls);
    if !is_exposed {
        let is_bounded = shown.iter().any(|variant| fills_its_link(variant));
        panels.push(if is_bounded {
            SweepPanel::FullLinkTime
        } else {
            SweepPanel::PeakEgress
        });
    }
    if shown.iter().any(|variant| variant.ready_time().is_some()) {
        panels.push(SweepPanel::CompletionTime);
    }
    panels
}

/// Returns whether the peak of egress of a variant reaches the capacity of the registry's link.
fn fills_its_link(variant: &VariantResults<'_>) -> bool {
    let link = variant.info.registry_egress_bytes_per_s;
    match link.zip(variant.median(EGRESS)) {
        Some((link, peak)) => peak >= findings::FULL * link,
        None => false,
    }
}

/// Position and size of the panels.
#[derive(Clone, Copy)]
struct PanelLayout {
    left: f64,
    right: f64,
    /// Height of each panel.
    height: f64,
}

impl PanelLayout {
    /// Panels with room for the names of the lines at their right, except on a narrow page.
    fn of(sheet: Sheet<'_>, names: &[String]) -> Self {
        let widest = if sheet.is_narrow() {
            0.0
        } else {
            widest(names, LABEL, Weight::Bold).max(60.0)
        };
        Self {
            left: MARGIN + 56.0,
            right: sheet.px() - MARGIN - widest - 34.0,
            height: PANEL.max(LABEL_LINE * names.len() as f64),
        }
    }

    /// The area of a panel, counted from the top.
    fn area(&self, at: usize) -> Area {
        let top = TOP + 30.0 + (self.height + ABOVE) * at as f64;
        Area {
            left: self.left,
            top,
            right: self.right,
            bottom: top + self.height,
        }
    }
}

/// Distance of the first and the last value from the ends of an axis of the given width, and distance between the dots
/// of neighbouring lines. Evenly spaced values have room for dots side by side.
fn beside(numeric: bool, values: usize, lines: usize, width: f64) -> (f64, f64) {
    if numeric {
        return (INSET, 0.0);
    }
    let gaps = lines.saturating_sub(1).max(1) as f64;
    let inset = (STEP * gaps / 2.0 + DOT).clamp(INSET, width / 5.0);
    let room = (width - 2.0 * inset) / (values - 1) as f64;
    let step = STEP
        .min(0.62 * room / lines as f64)
        .min(2.0 * (inset - DOT) / gaps);
    (inset, step)
}

/// Height of a second line of labels; 0 for quantities, whose labels fit on one line.
fn second_line(axis: &SweepAxis<'_>) -> f64 {
    if axis.values.iter().any(|value| value.label.contains('(')) && !axis.numeric {
        SECOND_LINE
    } else {
        0.0
    }
}

/// A point of a line on a panel, in pixels.
#[derive(Clone, Copy)]
struct PointPosition {
    x: f64,
    median: f64,
    p5: f64,
    p95: f64,
    /// The ends of the 95% interval of the median.
    low: f64,
    high: f64,
}

/// The lines of a chart with their styles and their common axis.
struct Drawing<'d> {
    axis: &'d SweepAxis<'d>,
    lines: &'d [SweepLine<'d, 'd>],
    /// The names at the ends of the lines; empty on a narrow page.
    names: &'d [String],
    x: Scale,
    /// Distance between the dots of neighbouring lines.
    step: f64,
    /// The style of each line.
    styles: Vec<CurveStyle>,
}

impl<'d> Drawing<'d> {
    /// The lines along an axis that spans the width of the panels.
    fn of(
        sheet: Sheet<'_>,
        axis: &'d SweepAxis<'d>,
        lines: &'d [SweepLine<'d, 'd>],
        names: &'d [String],
        layout: PanelLayout,
    ) -> Self {
        let width = layout.right - layout.left;
        let (inset, step) = beside(axis.numeric, axis.values.len(), lines.len(), width);
        Self {
            axis,
            lines,
            names: if sheet.is_narrow() { &[] } else { names },
            x: axis.scale(layout.left + inset, layout.right - inset),
            step,
            styles: styles_of(lines),
        }
    }
}

/// The style of each line, by the product of its first variant.
fn styles_of(lines: &[SweepLine<'_, '_>]) -> Vec<CurveStyle> {
    let mut products: Vec<(&str, bool)> = Vec::new();
    for line in lines {
        let first = line.points.first();
        products.push(first.map_or(("", false), |point| point.variant.product()));
    }
    CurveStyle::of(&[(0..lines.len()).collect()], &products)
}

impl Drawing<'_> {
    /// Returns whether the spread of a line is drawn as a shaded band, and not as a bar at each dot.
    fn is_shaded(&self) -> bool {
        self.axis.numeric && self.lines.len() <= SHADED_MAX
    }

    /// Horizontal position of the dot of a line at a value.
    fn at(&self, line: usize, value: usize) -> f64 {
        let x = self.x.at(self.axis.values[value].place);
        x + self.step * (line as f64 - (self.lines.len() - 1) as f64 / 2.0)
    }

    /// Draws a panel with its axes and lines. The last panel has the axis of the swept setting.
    fn panel(&self, canvas: &mut Canvas, area: Area, panel: &MeasurePanel, last: bool) {
        for value in &self.axis.values {
            let x = self.x.at(value.place);
            canvas.line((x, area.top), (x, area.bottom), Stroke::solid(GRID, 1.0));
        }
        value_axis(canvas, area, &panel.scale, &panel.ticks, "");
        let title_at = (MARGIN, area.top - 12.0);
        write_fitted(
            canvas,
            &panel.title,
            title_at,
            TextStyle::new(SMALL, INK),
            area.right - MARGIN,
        );
        if last {
            self.bottom(canvas, area);
        } else {
            bottom_axis(canvas, area, &self.x, &[], "");
        }
        // The capacities of the registry's link.
        for capacity in &panel.capacities {
            let y = panel.scale.at(*capacity);
            canvas.line(
                (area.left, y),
                (area.right, y),
                Stroke {
                    colour: INK,
                    width: 1.2,
                    dash: &[6.0, 4.0],
                },
            );
        }
        for at in 0..self.lines.len() {
            self.spread(canvas, at, panel);
        }
        for at in 0..self.lines.len() {
            self.line(canvas, at, panel);
        }
        self.labels(canvas, area, panel);
    }

    /// The axis of the swept setting, below the last panel.
    fn bottom(&self, canvas: &mut Canvas, area: Area) {
        let room = (self.x.to - self.x.from) / (self.axis.values.len() - 1) as f64 - 6.0;
        let title_at = area.bottom + 40.0 + second_line(self.axis);
        let middle = f64::midpoint(area.left, area.right);
        write(
            canvas,
            &self.axis.title,
            (middle, title_at),
            TextStyle::new(SMALL, INK),
            Align::Middle,
        );
        if self.axis.numeric || room < WORD {
            let ticks = thinned(&self.axis.ticks(), &self.x);
            return bottom_axis(canvas, area, &self.x, &ticks, "");
        }
        let (ticks, below) = in_two_lines(&self.axis.ticks(), room);
        bottom_axis(canvas, area, &self.x, &ticks, "");
        for tick in &below {
            let at = (self.x.at(tick.value), area.bottom + 19.0 + SECOND_LINE);
            write(
                canvas,
                &tick.label,
                at,
                TextStyle::new(SMALL, MUTED),
                Align::Middle,
            );
        }
    }

    /// Draws the names of the lines with their marks below `top`.
    fn key(&self, canvas: &mut Canvas, names: &[String], top: f64) {
        let mut y = top;
        for (at, name) in names.iter().enumerate() {
            mark(canvas, (MARGIN + 8.0, y), at, self.styles[at].colour());
            write_bold(
                canvas,
                name,
                (MARGIN + 18.0, y + 4.5),
                TextStyle::new(LABEL, INK),
            );
            y += LABEL_LINE;
        }
    }

    /// The parts of a line between values without a median (half of the runs or more did not finish). A part may be
    /// empty.
    fn pieces(&self, at: usize, panel: &MeasurePanel) -> Vec<Vec<PointPosition>> {
        let mut pieces = vec![Vec::new()];
        for point in &self.lines[at].points {
            match self.position(at, panel, point) {
                Some(position) => pieces.last_mut().expect("there is one").push(position),
                None => pieces.push(Vec::new()),
            }
        }
        pieces
    }

    /// The position of a point. `None` without a median.
    fn position(
        &self,
        at: usize,
        panel: &MeasurePanel,
        point: &SweepPoint<'_, '_>,
    ) -> Option<PointPosition> {
        let scale = &panel.scale;
        let x = self.at(at, point.value);
        let Some(measure) = panel.shows.measure() else {
            let share = point.variant.finishing_share()?;
            let middle = scale.at(share.estimate);
            return Some(PointPosition {
                x,
                median: middle,
                p5: middle,
                p95: middle,
                low: scale.at(share.low),
                high: scale.at(share.high),
            });
        };
        let row = point.variant.summary(measure)?;
        let median = row.median?;
        let (low, high) = median_interval(row).unwrap_or((median, median));
        Some(PointPosition {
            x,
            median: scale.at(median),
            p5: scale.at(finite_or(row.p5, median)),
            p95: scale.at(finite_or(row.p95, median)),
            low: scale.at(low),
            high: scale.at(finite_or(Some(high), median)),
        })
    }

    /// Draws the spread of a line over all runs.
    fn spread(&self, canvas: &mut Canvas, at: usize, panel: &MeasurePanel) {
        let colour = self.styles[at].colour();
        for piece in self.pieces(at, panel) {
            if self.is_shaded() && piece.len() > 1 {
                let upper = piece.iter().map(|point| (point.x, point.p95)).collect();
                let lower = piece.iter().map(|point| (point.x, point.p5)).collect();
                canvas.between(upper, lower, colour, 0.2);
                continue;
            }
            for PointPosition { x, p5, p95, .. } in piece {
                canvas.rectangle((x - 4.0, p95), (x + 4.0, p5), colour, 0.28);
            }
        }
    }

    /// Draws the medians of a line with their intervals, joined if values have an order.
    fn line(&self, canvas: &mut Canvas, at: usize, panel: &MeasurePanel) {
        let colour = self.styles[at].colour();
        let pieces = self.pieces(at, panel);
        if self.axis.numeric {
            for piece in &pieces {
                let points = piece.iter().map(|point| (point.x, point.median)).collect();
                canvas.path(points, Stroke::solid(colour, 2.0));
            }
        }
        let whisker = Stroke::solid(colour, 1.3);
        for point in pieces.into_iter().flatten() {
            let PointPosition { x, low, high, .. } = point;
            for end in [low, high] {
                canvas.line((x - 4.0, end), (x + 4.0, end), whisker);
            }
            canvas.line((x, low), (x, high), whisker);
            mark(canvas, (x, point.median), at, colour);
        }
    }

    /// The right ends of the lines, the highest first.
    fn ends(&self, panel: &MeasurePanel) -> Vec<LineEnd> {
        let mut ends: Vec<LineEnd> = Vec::new();
        for line in 0..self.lines.len() {
            if let Some(point) = self.pieces(line, panel).into_iter().flatten().next_back() {
                let PointPosition { x, median: y, .. } = point;
                ends.push(LineEnd { line, x, y });
            }
        }
        // A stable sort: lines that end at the same height keep their order.
        ends.sort_by(|a, b| a.y.total_cmp(&b.y));
        ends
    }

    /// Writes the names at the right, each connected to the end of its line, in the order of those ends.
    fn labels(&self, canvas: &mut Canvas, area: Area, panel: &MeasurePanel) {
        let ends = self.ends(panel);
        let wished: Vec<f64> = ends.iter().map(|end| end.y).collect();
        let places = spaced(&wished, LABEL_LINE, area.top, area.bottom);
        for (LineEnd { line, x, y }, place) in ends.into_iter().zip(places) {
            let left = area.right + 14.0;
            canvas.path(
                vec![(x + 7.0, y), (area.right, y), (left + 2.0, place)],
                Stroke::solid(AXIS, 0.7),
            );
            let colour = self.styles[line].colour();
            mark(canvas, (left + 8.0, place), line, colour);
            if let Some(name) = self.names.get(line) {
                write_bold(
                    canvas,
                    name,
                    (left + 18.0, place + 4.5),
                    TextStyle::new(LABEL, INK),
                );
            }
        }
    }
}

/// The right end of a line.
struct LineEnd {
    line: usize,
    x: f64,
    y: f64,
}

/// Returns an end of an interval if it is finite, otherwise the median. The upper end is infinite if it lies beyond
/// every finished run; the first panel counts the unfinished runs.
fn finite_or(end: Option<f64>, median: f64) -> f64 {
    match end {
        Some(end) if end.is_finite() => end,
        _ => median,
    }
}

/// Draws a line's mark: four shapes in turn, so that lines also differ in grey.
fn mark(canvas: &mut Canvas, at: Position, line: usize, colour: Colour) {
    mark_of_radius(canvas, at, line, 5.6, WHITE);
    mark_of_radius(canvas, at, line, 4.4, colour);
    if line / 4 % 2 == 1 {
        mark_of_radius(canvas, at, line, 2.0, WHITE);
    }
}

/// Draws a line's mark with radius `r`.
fn mark_of_radius(canvas: &mut Canvas, (x, y): Position, line: usize, r: f64, colour: Colour) {
    let outline = match line % 4 {
        0 => return canvas.dot((x, y), r, colour, 1.0),
        1 => {
            let half = 0.88 * r;
            return canvas.rectangle((x - half, y - half), (x + half, y + half), colour, 1.0);
        }
        2 => vec![
            (x, y - 1.25 * r),
            (x + 1.15 * r, y + 0.85 * r),
            (x - 1.15 * r, y + 0.85 * r),
        ],
        _ => vec![
            (x, y - 1.3 * r),
            (x + 1.3 * r, y),
            (x, y + 1.3 * r),
            (x - 1.3 * r, y),
        ],
    };
    canvas.area(outline, colour, 1.0);
}

/// Positions at least `apart` from each other between `top` and `bottom`, as close as possible to the sorted positions
/// `wished`.
fn spaced(wished: &[f64], apart: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut places = wished.to_vec();
    let mut least = top;
    for place in &mut places {
        *place = place.max(least);
        least = *place + apart;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - apart;
    }
    places
}

/// Removes the labels that do not fit; all ticks stay.
fn thinned(ticks: &[AxisTick], x: &Scale) -> Vec<AxisTick> {
    let mut taken = f64::NEG_INFINITY;
    let mut thinned = ticks.to_vec();
    for tick in &mut thinned {
        let half = text_width(&tick.label, SMALL, Weight::Regular) / 2.0;
        let at = x.at(tick.value);
        if at - half < taken {
            tick.label.clear();
        } else {
            taken = at + half + 6.0;
        }
    }
    thinned
}

/// Labels of evenly spaced values in two lines, both cut to `room`. If a label is too wide, its part in parentheses
/// goes to the second line.
fn in_two_lines(ticks: &[AxisTick], room: f64) -> (Vec<AxisTick>, Vec<AxisTick>) {
    let mut first = ticks.to_vec();
    let mut second = ticks.to_vec();
    for (at, tick) in ticks.iter().enumerate() {
        let label = tick.label.as_str();
        let is_wide = text_width(label, SMALL, Weight::Regular) > room;
        let cut = match label.find('(') {
            Some(parenthesis) if is_wide => parenthesis,
            _ => label.len(),
        };
        let (head, tail) = label.split_at(cut);
        first[at].label = fitted(head, SMALL, Weight::Regular, room);
        second[at].label = fitted(tail, SMALL, Weight::Regular, room);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dots_of_many_lines_stay_on_the_axis_and_near_their_value() {
        for lines in 1..=40 {
            for values in 2..=12 {
                let (inset, step) = beside(false, values, lines, 700.0);
                let reach = step * (lines - 1) as f64 / 2.0;
                assert!(
                    reach + DOT <= inset + 1e-9,
                    "{lines} lines: {reach} of {inset}"
                );
                let room = (700.0 - 2.0 * inset) / (values - 1) as f64;
                assert!(
                    2.0 * reach <= 0.62 * room,
                    "{lines} lines, {values} values: {reach} of {room}"
                );
            }
        }
        assert_eq!(
            beside(true, 6, 9, 700.0),
            (INSET, 0.0),
            "a quantity keeps its place"
        );
    }

    #[test]
    fn overlapping_labels_are_moved_apart_no_further_than_necessary() {
        let text = |places: Vec<f64>| {
            places
                .iter()
                .map(f64::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(text(spaced(&[10.0, 50.0], 16.0, 0.0, 100.0)), "10 50");
        assert_eq!(
            text(spaced(&[10.0, 12.0, 90.0], 16.0, 0.0, 100.0)),
            "10 26 90"
        );
        assert_eq!(
            text(spaced(&[90.0, 99.0], 16.0, 0.0, 100.0)),
            "84 100",
            "the lowest stays on the plot"
        );
    }

    #[test]
    fn a_chart_file_name_has_only_plain_characters() {
        assert_eq!(
            file_name("strategies.a.rancherFleet.maxUnavailable"),
            "strategies-a-rancherFleet-maxUnavailable"
        );
        assert_eq!(file_name("fleet[0].downlink"), "fleet-0-downlink");
    }
}
