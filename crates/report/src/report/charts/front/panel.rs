//! One world of the front: its axes, limits, staircase and dots.

use super::mark::{DOT, Mark, MarkPlot, MarkStyle, pareto_front};
use crate::report::prelude::*;
use crate::results::LoadAxis;

/// Height of a line of the note below a panel.
pub(super) const NOTE_LINE: f64 = 15.0;
/// Most lines for the names of settings that did not finish.
const NAMES_LINES: usize = 5;

/// The settings of one world.
pub(super) struct WorldPanel {
    pub(super) title: String,
    pub(super) marks: Vec<Mark>,
}

impl WorldPanel {
    /// The settings that did not finish.
    fn never(&self) -> Vec<&str> {
        self.marks
            .iter()
            .filter(|mark| mark.time.is_none())
            .map(|mark| mark.name.as_str())
            .collect()
    }

    /// The lines that the note below the panel needs: its settings that did not finish, and one for settings without a
    /// label.
    pub(super) fn note_lines(&self, area: Area) -> usize {
        let names = format!("did not finish: {}", self.never().join(", "));
        match self.never().len() {
            0 => 1,
            _ => {
                1 + in_lines(
                    &names,
                    SMALL,
                    Weight::Regular,
                    area.right - area.left + 40.0,
                    NAMES_LINES,
                )
                .len()
            }
        }
    }
}

/// The axes that all panels share.
pub(super) struct FrontAxes<'f> {
    pub(super) load: &'f LoadAxis,
    /// `completion median`, in words.
    pub(super) time: String,
    /// Whether the note below lists the settings that have no room for a label.
    pub(super) lists_unlabelled: bool,
}

pub(super) fn draw_panel(
    canvas: &mut Canvas,
    axes: &FrontAxes<'_>,
    panel: &WorldPanel,
    area: Area,
) {
    let times: Vec<f64> = panel
        .marks
        .iter()
        .filter_map(|mark| mark.time)
        .flat_map(|t| [t.low, t.value, t.high])
        .collect();
    // A limit is shown where it is close to the values.
    let near = |limit: &Option<(f64, String)>, seen: f64| {
        limit
            .clone()
            .filter(|(most, _)| *most <= 1.5 * seen.max(1e-9))
    };
    let time_limit = near(&axes.load.time_at_most, span(&times).1);
    let x = time_scale(
        &[times.as_slice(), &limits_of(&time_limit)].concat(),
        area.left,
        area.right,
    );
    let loads: Vec<f64> = panel
        .marks
        .iter()
        .flat_map(|mark| [mark.load.low, mark.load.value, mark.load.high])
        .collect();
    let load_limit = near(&axes.load.at_most, span(&loads).1);
    let all = [loads.as_slice(), &limits_of(&load_limit)].concat();
    let (y, ticks, unit) = load_scale(&all, axes.load, area);

    let width = area.right - area.left + 40.0;
    let title = fitted(&panel.title, LABEL, Weight::Bold, width);
    write_bold(
        canvas,
        &title,
        (area.left - 50.0, area.top - 31.0),
        LABEL,
        INK,
    );
    value_axis(canvas, area, &y, &ticks, "");
    let kind = if y.log { ", logarithmic" } else { "" };
    let axis = format!("{}{unit}{kind}", load_words(&axes.load.measure));
    write_fitted(
        canvas,
        &axis,
        (area.left - 50.0, area.top - 12.0),
        SMALL,
        INK,
        width,
    );
    if times.is_empty() {
        bottom_axis(canvas, area, &x, &[], "no run finished");
    } else {
        let most = if area.right - area.left > 500.0 { 8 } else { 4 };
        let (linear, log) = (
            format!("{}, {{}}", axes.time),
            format!("{}, logarithmic", axes.time),
        );
        let (ticks, title) = ticks_of_time(&x, (58.0, most), (&linear, &log));
        bottom_axis(canvas, area, &x, &ticks, &title);
    }
    let mut plot = MarkPlot {
        area,
        x,
        y,
        taken: Vec::new(),
    };
    let loads = load_limit
        .iter()
        .map(|(most, text)| (y.at(*most), text, true));
    let edges: Vec<(f64, &String, bool)> = loads
        .chain(
            time_limit
                .iter()
                .map(|(most, text)| (x.at(*most), text, false)),
        )
        .collect();
    plot.taken.extend(
        edges
            .iter()
            .map(|&(at, _, is_load)| shade(canvas, area, at, is_load)),
    );
    let placed: Vec<(Position, &Mark)> = panel
        .marks
        .iter()
        .filter_map(|mark| Some((plot.place(mark)?, mark)))
        .collect();
    let best = pareto_front(&panel.marks);
    let steps = staircase(
        canvas,
        best.iter().filter_map(|&at| plot.place(&panel.marks[at])),
    );
    plot.taken.extend(steps);
    for (at, mark) in &placed {
        let stroke = Stroke::solid(mark.style.faded(mark.weight), 1.6);
        canvas.line(
            (at.0, y.at(mark.load.low)),
            (at.0, y.at(mark.load.high)),
            stroke,
        );
        let time = mark.time.expect("it is placed");
        canvas.line((x.at(time.low), at.1), (x.at(time.high), at.1), stroke);
    }
    // The chosen one lies on top.
    for chosen in [false, true] {
        for (at, mark) in placed
            .iter()
            .filter(|(_, mark)| (mark.style == MarkStyle::Chosen) == chosen)
        {
            mark.style.dot(canvas, *at, 0.3 + 0.7 * mark.weight);
        }
    }
    plot.taken.extend(
        placed
            .iter()
            .map(|((x, y), _)| [x - DOT - 1.0, y - DOT - 1.0, x + DOT + 1.0, y + DOT + 1.0]),
    );
    // Limits first: the shading needs their text.
    for (at, text, is_load) in edges {
        plot.label_limit(canvas, text, at, is_load);
    }
    let mut unnamed = plot.label_marks(canvas, &panel.marks, &best);
    if !axes.lists_unlabelled {
        unnamed.clear();
    }
    let never = panel.never();
    let lists = [("did not finish", &never), ("unlabelled", &unnamed)];
    let lists = lists.iter().filter(|(_, names)| !names.is_empty());
    let notes = lists
        .map(|(what, names)| format!("{what}: {}", names.join(", ")))
        .join("; ");
    let lines = in_lines(
        &notes,
        SMALL,
        Weight::Regular,
        width,
        panel.note_lines(area),
    );
    write_lines(
        canvas,
        &lines,
        (area.left - 50.0, area.bottom + 58.0),
        NOTE_LINE,
        SMALL,
        MUTED,
    );
}

fn limits_of(limit: &Option<(f64, String)>) -> Vec<f64> {
    limit.iter().map(|(most, _)| *most).collect()
}

fn load_words(measure: &str) -> &'static str {
    match measure {
        "peak_pulls" => "peak concurrent image pulls",
        "peak_downloads" => "peak concurrent layer downloads",
        "peak_pulling_clusters" => "peak number of clusters pulling",
        "peak_not_ready" => "peak number of clusters not ready",
        "exposed_targets" => "clusters that receive the defective release",
        "peak_promotions_per_pass" => "most clusters updated in one pass",
        "egress_peak_60s_bytes_per_s" => "registry egress, peak over 60 s",
        _ => "registry egress, peak over 1 s",
    }
}

/// The scale of the load with its ticks, and the unit for the axis.
fn load_scale(loads: &[f64], load: &LoadAxis, area: Area) -> (Scale, Vec<AxisTick>, String) {
    let (_, high) = span(loads);
    if load.unit == "bytes/s" {
        let (ticks, unit) = rate_ticks(1.08 * high, 6);
        return (
            Scale::to_last(&ticks, area.bottom, area.top),
            ticks,
            format!(", {}", unit.name),
        );
    }
    let (scale, ticks) = count_scale(
        loads,
        ([1.6, 2.0], 26.0),
        (1.08 * high, 6),
        (area.bottom, area.top),
    );
    (scale, ticks, String::new())
}

/// Shades the area beyond a limit. Returns the room of its edge.
fn shade(canvas: &mut Canvas, area: Area, at: f64, is_load: bool) -> [f64; 4] {
    let (from, to) = if is_load {
        ((area.left, area.top), (area.right, at))
    } else {
        ((at, area.top), (area.right, area.bottom))
    };
    canvas.rectangle(from, to, AXIS, 0.13);
    let (from, to) = if is_load {
        ((area.left, at), (area.right, at))
    } else {
        ((at, area.top), (at, area.bottom))
    };
    canvas.line(
        from,
        to,
        Stroke {
            colour: AXIS,
            width: 1.2,
            dash: &[5.0, 4.0],
        },
    );
    [from.0 - 1.0, from.1 - 1.0, to.0 + 1.0, to.1 + 1.0]
}

/// The staircase from the fastest setting on: more time allows less load. Returns the room that the steps take.
fn staircase(canvas: &mut Canvas, best: impl Iterator<Item = Position>) -> Vec<[f64; 4]> {
    let mut points: Vec<Position> = Vec::new();
    for at in best {
        let level = points.last().map(|&(_, before)| (at.0, before));
        points.extend(level.into_iter().chain([at]));
    }
    let boxes = points.windows(2).map(|ends| {
        let [(x0, y0), (x1, y1)] = [ends[0], ends[1]];
        [
            x0.min(x1) - 1.5,
            y0.min(y1) - 1.5,
            x0.max(x1) + 1.5,
            y0.max(y1) + 1.5,
        ]
    });
    let boxes = boxes.collect();
    canvas.path(points, Stroke::solid(INK, 1.2));
    boxes
}
