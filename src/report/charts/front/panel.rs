//! One world of the front: its axes, limits, staircase and dots.

use super::labels::{name_all, tell_limit};
use super::{Front, Mark, MarkStyle, WorldPanel};
use crate::report::axis::{
    AxisTick, LOG_FROM, Scale, ScaleKind, log_ticks, log_time_ticks, span, ticks_from_zero, time_scale, time_ticks,
};
use crate::report::canvas::{Align, Canvas, Position, Stroke};
use crate::report::format::{RateUnit, number};
use crate::report::frame::{Area, bottom_axis, value_axis, write, write_bold};
use crate::report::style::{AXIS, Colour, INK, LABEL, MUTED, SMALL, WHITE, series_colour};
use crate::report::text::{Weight, fitted};
use crate::results::LoadAxis;

/// Radius of a dot.
pub(super) const DOT: f64 = 5.0;

fn colour(style: MarkStyle) -> Colour {
    match style {
        MarkStyle::Chosen | MarkStyle::Keeps => series_colour(0),
        MarkStyle::Out => series_colour(1),
    }
}

/// A dot; whether it is filled, hollow or ringed tells its look without colour.
pub(super) fn dot(canvas: &mut Canvas, at: Position, style: MarkStyle, opacity: f64) {
    if style == MarkStyle::Chosen {
        canvas.dot(at, DOT + 5.0, INK, 1.0);
        canvas.dot(at, DOT + 3.0, WHITE, 1.0);
    }
    canvas.dot(at, DOT + 1.5, WHITE, 1.0);
    canvas.dot(at, DOT, colour(style), opacity);
    if style == MarkStyle::Out {
        canvas.dot(at, DOT - 2.2, WHITE, 1.0);
    }
}

pub(super) fn draw_panel(canvas: &mut Canvas, front: &Front<'_>, panel: &WorldPanel, area: Area) {
    let times: Vec<f64> =
        panel.marks.iter().filter_map(|mark| mark.time).flat_map(|t| [t.low, t.value, t.high]).collect();
    // A limit is shown where it is not far from what was seen.
    let near =
        |limit: &Option<(f64, String)>, seen: f64| limit.clone().filter(|(most, _)| *most <= 1.5 * seen.max(1e-9));
    let time_limit = near(&front.load.time_at_most, span(&times).1);
    let x = time_scale(&[times.as_slice(), &limits_of(&time_limit)].concat(), area.left, area.right);
    let loads: Vec<f64> =
        panel.marks.iter().flat_map(|mark| [mark.load.low, mark.load.value, mark.load.high]).collect();
    let load_limit = near(&front.load.at_most, span(&loads).1);
    let all = [loads.as_slice(), &limits_of(&load_limit)].concat();
    let (y, ticks, unit) = load_scale(&all, front.load, area);

    if !panel.title.is_empty() {
        let title = fitted(&panel.title, LABEL, Weight::Bold, area.right - area.left + 40.0);
        write_bold(canvas, &title, (area.left - 50.0, area.top - 31.0), LABEL, INK);
    }
    value_axis(canvas, area, &y, &ticks, "");
    let axis = format!(
        "{}{unit}{}",
        load_words(&front.load.measure),
        if y.kind == ScaleKind::Log { ", logarithmic" } else { "" }
    );
    let axis = fitted(&axis, SMALL, Weight::Regular, area.right - area.left + 40.0);
    write(canvas, &axis, (area.left - 50.0, area.top - 12.0), SMALL, INK, Align::Left);
    if times.is_empty() {
        bottom_axis(canvas, area, &x, &[], "no run got there");
    } else {
        let most = if area.right - area.left > 500.0 { 8 } else { 4 };
        let (ticks, words) = match x.kind {
            ScaleKind::Log => (log_time_ticks(&x, 58.0), "logarithmic"),
            ScaleKind::Linear => {
                let (ticks, unit) = time_ticks(x.high, most);
                (ticks, unit.long)
            }
        };
        bottom_axis(canvas, area, &x, &ticks, &format!("{}, {words}", front.time));
    }
    let mut taken: Vec<[f64; 4]> = Vec::new();
    if let Some((most, _)) = &load_limit {
        taken.push(shade(canvas, area, y.at(*most), true));
    }
    if let Some((most, _)) = &time_limit {
        taken.push(shade(canvas, area, x.at(*most), false));
    }
    let placed: Vec<(Position, &Mark)> =
        panel.marks.iter().filter_map(|mark| Some(((x.at(mark.time?.value), y.at(mark.load.value)), mark))).collect();
    let best = front_of(&panel.marks);
    taken.extend(staircase(canvas, &best.iter().map(|&at| &panel.marks[at]).collect::<Vec<_>>(), &x, &y));
    for (at, mark) in &placed {
        let stroke = Stroke::solid(faded(colour(mark.style), mark.weight), 1.6);
        canvas.line((at.0, y.at(mark.load.low)), (at.0, y.at(mark.load.high)), stroke);
        let time = mark.time.expect("it is placed");
        canvas.line((x.at(time.low), at.1), (x.at(time.high), at.1), stroke);
    }
    // The chosen one lies on top.
    for chosen in [false, true] {
        for (at, mark) in placed.iter().filter(|(_, mark)| (mark.style == MarkStyle::Chosen) == chosen) {
            dot(canvas, *at, mark.style, 0.3 + 0.7 * mark.weight);
        }
    }
    taken.extend(placed.iter().map(|((x, y), _)| [x - DOT - 1.0, y - DOT - 1.0, x + DOT + 1.0, y + DOT + 1.0]));
    // Limits first: without their words the shading says nothing.
    for (limit, is_load) in [(&load_limit, true), (&time_limit, false)] {
        if let Some((most, text)) = limit {
            let at = if is_load { y.at(*most) } else { x.at(*most) };
            taken.push(tell_limit(canvas, area, text, at, is_load, &taken));
        }
    }
    let unnamed = name_all(canvas, &panel.marks, &best, &x, &y, area, &mut taken);
    let never: Vec<&str> =
        panel.marks.iter().filter(|mark| mark.time.is_none()).map(|mark| mark.name.as_str()).collect();
    let told = [("never got there", &never), ("without a name", &unnamed)];
    let notes: Vec<String> = told
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", names.join(", ")))
        .collect();
    if !notes.is_empty() {
        let text = fitted(&notes.join("; "), SMALL, Weight::Regular, area.right - area.left + 40.0);
        write(canvas, &text, (area.left - 50.0, area.bottom + 58.0), SMALL, MUTED, Align::Left);
    }
}

fn limits_of(limit: &Option<(f64, String)>) -> Vec<f64> {
    limit.iter().map(|(most, _)| *most).collect()
}

/// A colour that is nearer to white the fewer runs it stands for.
fn faded(Colour(red, green, blue): Colour, weight: f64) -> Colour {
    let fade = |channel: u8| (255.0 - (255.0 - f64::from(channel)) * (0.35 + 0.65 * weight)).round() as u8;
    Colour(fade(red), fade(green), fade(blue))
}

fn load_words(measure: &str) -> &'static str {
    match measure {
        "peak_pulls" => "most image pulls at once",
        "peak_downloads" => "most layer downloads at once",
        "peak_pulling_clusters" => "most clusters pulling at once",
        "peak_not_ready" => "most clusters not ready at once",
        "peak_promotions_per_pass" => "most clusters told in one pass",
        "egress_peak_60s_bytes_per_s" => "registry egress, peak over 60 s",
        _ => "registry egress, peak over 1 s",
    }
}

/// The scale of the load with its ticks, and the unit for the axis.
fn load_scale(loads: &[f64], load: &LoadAxis, area: Area) -> (Scale, Vec<AxisTick>, String) {
    let (low, high) = span(loads);
    if load.unit == "bytes/s" {
        let unit = RateUnit::for_max(high);
        let top = ticks_from_zero(1.08 * high / unit.bytes_per_s, 6, false);
        let ticks: Vec<AxisTick> = top
            .into_iter()
            .map(|tick| AxisTick { value: tick.value * unit.bytes_per_s, label: number(tick.value) })
            .collect();
        let scale = Scale::from_zero(ticks.last().expect("there are ticks").value, area.bottom, area.top);
        return (scale, ticks, format!(", {}", unit.name));
    }
    if low > 0.0 && high / low > LOG_FROM {
        let y = Scale { low: low / 1.6, high: high * 2.0, from: area.bottom, to: area.top, kind: ScaleKind::Log };
        return (y, log_ticks(&y, 26.0), String::new());
    }
    let ticks = ticks_from_zero(1.08 * high, 6, true);
    (Scale::from_zero(ticks.last().expect("there are ticks").value, area.bottom, area.top), ticks, String::new())
}

/// The ground beyond a limit. Returns the room of its edge.
fn shade(canvas: &mut Canvas, area: Area, at: f64, is_load: bool) -> [f64; 4] {
    let (from, to) =
        if is_load { ((area.left, area.top), (area.right, at)) } else { ((at, area.top), (area.right, area.bottom)) };
    canvas.rectangle(from, to, AXIS, 0.13);
    let (from, to) = if is_load { ((area.left, at), (area.right, at)) } else { ((at, area.top), (at, area.bottom)) };
    canvas.line(from, to, Stroke { colour: AXIS, width: 1.2, dash: &[5.0, 4.0] });
    [from.0 - 1.0, from.1 - 1.0, to.0 + 1.0, to.1 + 1.0]
}

/// Loads that differ by less than this share are one: a full link is full, whatever the last digit says.
const SAME_LOAD: f64 = 0.01;

/// The marks that no other beats in both time and load, the fastest first.
pub(super) fn front_of(marks: &[Mark]) -> Vec<usize> {
    let place = |at: usize| marks[at].time.map(|time| (time.value, marks[at].load.value));
    let mut placed: Vec<usize> = (0..marks.len()).filter(|&at| place(at).is_some()).collect();
    placed.sort_by(|&a, &b| place(a).partial_cmp(&place(b)).expect("times and loads are finite"));
    let mut best: Vec<usize> = Vec::new();
    for at in placed {
        if best.last().is_none_or(|&last| marks[at].load.value < marks[last].load.value * (1.0 - SAME_LOAD)) {
            best.push(at);
        }
    }
    best
}

/// From the fastest on: more time allows less load, in steps. Returns the room that the steps take.
fn staircase(canvas: &mut Canvas, best: &[&Mark], x: &Scale, y: &Scale) -> Vec<[f64; 4]> {
    let mut points: Vec<Position> = Vec::new();
    for mark in best {
        let at = (x.at(mark.time.expect("it is on the front").value), y.at(mark.load.value));
        if let Some(&(_, before)) = points.last() {
            points.push((at.0, before));
        }
        points.push(at);
    }
    let boxes = points.windows(2).map(|ends| {
        let [(x0, y0), (x1, y1)] = [ends[0], ends[1]];
        [x0.min(x1) - 1.5, y0.min(y1) - 1.5, x0.max(x1) + 1.5, y0.max(y1) + 1.5]
    });
    let boxes = boxes.collect();
    if points.len() > 1 {
        canvas.path(points, Stroke::solid(INK, 1.2));
    }
    boxes
}
