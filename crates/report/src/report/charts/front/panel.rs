//! One world of the front: its axes, limits, staircase and dots.

use super::mark::{DOT, Mark, MarkPlot, MarkStyle, pareto_front};
use crate::report::prelude::*;
use crate::results::{Estimate, LoadAxis};

/// Height of a line of the note below a panel.
pub(super) const NOTE_LINE: f64 = 15.0;
/// Maximum number of lines for the names of settings that did not finish.
const NAMES_LINES: usize = 5;

/// The settings of one world.
pub(super) struct WorldPanel {
    pub(super) title: String,
    pub(super) marks: Vec<Mark>,
}

impl WorldPanel {
    /// The settings that did not finish.
    fn never(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for mark in &self.marks {
            if mark.time.is_none() {
                names.push(mark.name.as_str());
            }
        }
        names
    }

    /// Returns whether two settings or more finish.
    pub(super) fn has_choice(&self) -> bool {
        self.marks.len() - self.never().len() > 1
    }

    /// The completion times of the panel's settings, with the ends of their ranges.
    fn times(&self) -> Vec<f64> {
        let mut times = Vec::new();
        for time in self.marks.iter().filter_map(|mark| mark.time) {
            times.extend([time.low, time.value, time.high]);
        }
        times
    }

    /// The loads of the panel's settings, with the ends of their ranges.
    fn loads(&self) -> Vec<f64> {
        let mut loads = Vec::new();
        for mark in &self.marks {
            loads.extend([mark.load.low, mark.load.value, mark.load.high]);
        }
        loads
    }

    /// The number of lines in the note below the panel: lines that list the settings that did not finish, and one line
    /// for the settings without a label.
    pub(super) fn note_lines(&self, area: Area) -> usize {
        let never = self.never();
        if never.is_empty() {
            return 1;
        }
        let names = format!("did not finish: {}", never.join(", "));
        let width = area.right - area.left + 40.0;
        1 + in_lines(&names, SMALL, Weight::Regular, width, NAMES_LINES).len()
    }
}

/// The axes that all panels share.
pub(super) struct FrontAxes<'f> {
    pub(super) load: &'f LoadAxis,
    /// The time in words, such as `completion median`.
    pub(super) time: String,
    /// Whether the note below lists the settings without a label.
    pub(super) lists_unlabelled: bool,
}

/// A limit with a drawn edge.
struct LimitEdge<'f> {
    value: f64,
    /// The limit as written in the experiment.
    text: &'f str,
    is_load: bool,
}

impl<'f> LimitEdge<'f> {
    /// Returns the edge of a limit. `None`: there is no limit, or it is far above `seen`, the maximum of the values.
    fn near(limit: &'f Option<(f64, String)>, seen: f64, is_load: bool) -> Option<Self> {
        let (value, text) = limit.as_ref()?;
        let is_near = *value <= 1.5 * seen.max(1e-9);
        is_near.then_some(Self {
            value: *value,
            text,
            is_load,
        })
    }

    /// The position of the limit on a plot.
    fn at(&self, plot: &MarkPlot) -> f64 {
        if self.is_load {
            plot.y.at(self.value)
        } else {
            plot.x.at(self.value)
        }
    }
}

/// The values, with the limit if there is one.
fn with_limit(mut values: Vec<f64>, limit: Option<&LimitEdge<'_>>) -> Vec<f64> {
    values.extend(limit.map(|limit| limit.value));
    values
}

/// Draws the panel of a world.
pub(super) fn draw_panel(
    canvas: &mut Canvas,
    axes: &FrontAxes<'_>,
    panel: &WorldPanel,
    area: Area,
) {
    let times = panel.times();
    let (_, slowest) = span(&times);
    let time_limit = LimitEdge::near(&axes.load.time_at_most, slowest, false);
    let has_times = !times.is_empty();
    let shown_times = with_limit(times, time_limit.as_ref());
    let loads = panel.loads();
    let (_, highest) = span(&loads);
    let load_limit = LimitEdge::near(&axes.load.at_most, highest, true);
    let load = LoadScale::of(&with_limit(loads, load_limit.as_ref()), axes.load, area);
    let mut plot = MarkPlot {
        area,
        x: time_scale(&shown_times, area.left, area.right),
        y: load.scale,
        taken: Vec::new(),
    };
    draw_titles(canvas, axes, panel, &load, area);
    draw_time_axis(canvas, axes, &plot, has_times);

    let mut limits: Vec<LimitEdge<'_>> = Vec::new();
    limits.extend(load_limit);
    limits.extend(time_limit);
    for limit in &limits {
        let edge = shade(canvas, area, limit.at(&plot), limit.is_load);
        plot.taken.push(edge);
    }
    let best = pareto_front(&panel.marks);
    let optimal = best.iter().filter_map(|&at| plot.place(&panel.marks[at]));
    let steps = staircase(canvas, optimal);
    plot.taken.extend(steps);
    draw_marks(canvas, &mut plot, &panel.marks);
    // Limits first: the shading needs their text.
    for limit in &limits {
        let at = limit.at(&plot);
        plot.label_limit(canvas, limit.text, at, limit.is_load);
    }
    let mut unnamed = plot.label_marks(canvas, &panel.marks, &best);
    if !axes.lists_unlabelled {
        unnamed.clear();
    }
    draw_note(canvas, panel, &unnamed, area);
}

/// Draws the name of the world, and the value axis with its title.
fn draw_titles(
    canvas: &mut Canvas,
    axes: &FrontAxes<'_>,
    panel: &WorldPanel,
    load: &LoadScale,
    area: Area,
) {
    let width = area.right - area.left + 40.0;
    let left = area.left - 50.0;
    let title = fitted(&panel.title, LABEL, Weight::Bold, width);
    write_bold(
        canvas,
        &title,
        (left, area.top - 31.0),
        TextStyle::new(LABEL, INK),
    );
    value_axis(canvas, area, &load.scale, &load.ticks, "");
    let kind = if load.scale.log { ", logarithmic" } else { "" };
    let axis = format!("{}{}{kind}", load_words(axes.load.measure), load.unit);
    write_fitted(
        canvas,
        &axis,
        (left, area.top - 12.0),
        TextStyle::new(SMALL, INK),
        width,
    );
}

/// Draws the time axis, without ticks if no run finished.
fn draw_time_axis(canvas: &mut Canvas, axes: &FrontAxes<'_>, plot: &MarkPlot, has_times: bool) {
    let MarkPlot { area, x, .. } = plot;
    if !has_times {
        return bottom_axis(canvas, *area, x, &[], "no run finished");
    }
    let most = if area.right - area.left > 500.0 { 8 } else { 4 };
    let linear = format!("{}, {{}}", axes.time);
    let log = format!("{}, logarithmic", axes.time);
    let (ticks, title) = ticks_of_time(x, (58.0, most), (&linear, &log));
    bottom_axis(canvas, *area, x, &ticks, &title);
}

/// A setting that finished, at its position on the plot.
struct PlacedMark<'m> {
    mark: &'m Mark,
    at: Position,
    time: Estimate,
}

/// Draws the settings that finished, the chosen one on top, and marks their rectangles as occupied.
fn draw_marks(canvas: &mut Canvas, plot: &mut MarkPlot, marks: &[Mark]) {
    let mut placed: Vec<PlacedMark<'_>> = Vec::new();
    for mark in marks {
        if let (Some(at), Some(time)) = (plot.place(mark), mark.time) {
            placed.push(PlacedMark { mark, at, time });
        }
    }
    for PlacedMark { mark, at, time } in &placed {
        let stroke = Stroke::solid(mark.style.faded(mark.weight), 1.6);
        let (x, y) = *at;
        let low = plot.y.at(mark.load.low);
        let high = plot.y.at(mark.load.high);
        canvas.line((x, low), (x, high), stroke);
        let early = plot.x.at(time.low);
        let late = plot.x.at(time.high);
        canvas.line((early, y), (late, y), stroke);
    }
    for is_chosen in [false, true] {
        for PlacedMark { mark, at, .. } in &placed {
            if (mark.style == MarkStyle::Chosen) == is_chosen {
                mark.style.dot(canvas, *at, 0.3 + 0.7 * mark.weight);
            }
        }
    }
    for mark in &placed {
        let (x, y) = mark.at;
        plot.taken
            .push([x - DOT - 1.0, y - DOT - 1.0, x + DOT + 1.0, y + DOT + 1.0]);
    }
}

/// Writes the note below a panel: the settings that did not finish, and those without a label.
fn draw_note(canvas: &mut Canvas, panel: &WorldPanel, unnamed: &[&str], area: Area) {
    let never = panel.never();
    let mut notes: Vec<String> = Vec::new();
    if !never.is_empty() {
        notes.push(format!("did not finish: {}", never.join(", ")));
    }
    if !unnamed.is_empty() {
        notes.push(format!("unlabelled: {}", unnamed.join(", ")));
    }
    let lines = in_lines(
        &notes.join("; "),
        SMALL,
        Weight::Regular,
        area.right - area.left + 40.0,
        panel.note_lines(area),
    );
    let at = (area.left - 50.0, area.bottom + 58.0);
    write_lines(canvas, &lines, at, NOTE_LINE, TextStyle::new(SMALL, MUTED));
}

/// A measure of the load in words.
fn load_words(measure: Measure) -> &'static str {
    match measure {
        Measure::PeakPulls => "peak concurrent image pulls",
        Measure::PeakRegistryDownloads => "peak concurrent registry downloads",
        Measure::PeakDownloads => "peak concurrent layer downloads",
        Measure::PeakPullingClusters => "peak number of clusters pulling",
        Measure::PeakNotReady => "peak number of clusters not ready",
        Measure::ExposedTargets => "clusters that receive the defective release",
        Measure::PeakPromotionsPerPass => "most clusters updated in one pass",
        Measure::PeakInstances => "most instances of all versions",
        Measure::EgressPeak60s => "registry egress, peak over 60 s",
        Measure::EgressPeak1s => "registry egress, peak over 1 s",
        other => other.column(),
    }
}

/// The scale of the load with its ticks.
struct LoadScale {
    scale: Scale,
    ticks: Vec<AxisTick>,
    /// The unit for the title of the axis: `, Gbit/s`; empty for counts.
    unit: String,
}

impl LoadScale {
    /// The scale for the given loads.
    fn of(loads: &[f64], load: &LoadAxis, area: Area) -> Self {
        let (_, high) = span(loads);
        if load.unit == "bytes/s" {
            let (ticks, unit) = rate_ticks(1.08 * high, 6);
            return Self {
                scale: Scale::to_last(&ticks, area.bottom, area.top),
                ticks,
                unit: format!(", {}", unit.name),
            };
        }
        let (scale, ticks) = count_scale(
            loads,
            ([1.6, 2.0], 26.0),
            (1.08 * high, 6),
            (area.bottom, area.top),
        );
        Self {
            scale,
            ticks,
            unit: String::new(),
        }
    }
}

/// Shades the area beyond a limit. Returns the rectangle of its edge.
fn shade(canvas: &mut Canvas, area: Area, at: f64, is_load: bool) -> [f64; 4] {
    let right = area.right;
    let bottom = area.bottom;
    let [left, top, end_x, end_y] = if is_load {
        canvas.rectangle((area.left, area.top), (right, at), AXIS, 0.13);
        [area.left, at, right, at]
    } else {
        canvas.rectangle((at, area.top), (right, bottom), AXIS, 0.13);
        [at, area.top, at, bottom]
    };
    canvas.line(
        (left, top),
        (end_x, end_y),
        Stroke {
            colour: AXIS,
            width: 1.2,
            dash: &[5.0, 4.0],
        },
    );
    [left - 1.0, top - 1.0, end_x + 1.0, end_y + 1.0]
}

/// Draws a staircase through the Pareto-optimal settings, which begins at the fastest one: more time allows less load.
/// Returns the rectangles of the steps.
fn staircase(canvas: &mut Canvas, best: impl Iterator<Item = Position>) -> Vec<[f64; 4]> {
    let mut points: Vec<Position> = Vec::new();
    for (x, y) in best {
        if let Some(&(_, before)) = points.last() {
            points.push((x, before));
        }
        points.push((x, y));
    }
    let mut rooms = Vec::new();
    for ends in points.windows(2) {
        let [(x0, y0), (x1, y1)] = [ends[0], ends[1]];
        rooms.push([
            x0.min(x1) - 1.5,
            y0.min(y1) - 1.5,
            x0.max(x1) + 1.5,
            y0.max(y1) + 1.5,
        ]);
    }
    canvas.path(points, Stroke::solid(INK, 1.2));
    rooms
}
