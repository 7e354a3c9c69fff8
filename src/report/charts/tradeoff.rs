//! The question at a glance: what a setting costs in time against what it asks of the registry. One dot a variant, at
//! the medians of completion time and peak of pulls; a thin line joins the settings of one strategy.

use crate::report::axis::{
    Kind, LOG_FROM, Scale, Tick, log_ticks, log_time_ticks, span, ticks_from_zero, time_scale, time_ticks,
};
use crate::report::data::{Results, Variant, extent};
use crate::report::frame::{Area, FOOTER, TOP, bottom_axis, page, value_axis, write};
use crate::report::scene::{Align, Label, Point, Scene, Stroke};
use crate::report::style::{AXIS, GRID, INK, LABEL, MARGIN, MUTED, PAGE_WIDTH, SMALL, WHITE, series_colour};
use crate::report::text::{Weight, fitted_name, text_width};

/// Greatest width of a name in the strip for variants of which no run finished.
const STRIP_NAME: f64 = 150.0;
/// Width of that strip without its names.
const STRIP_ROOM: f64 = 52.0;

/// One variant's place.
struct Dot<'v> {
    variant: &'v Variant<'v>,
    at: Point,
    finished: bool,
}

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Scene {
    let variants = results.variants();
    let height = 560.0;
    let unfinished = variants.iter().filter(|variant| variant.median("completion_s").is_none());
    let strip = unfinished
        .map(|variant| text_width(variant.name(), LABEL, Weight::Bold).clamp(70.0, STRIP_NAME) + STRIP_ROOM)
        .reduce(f64::max);
    let area = Area {
        left: MARGIN + 50.0,
        top: TOP + 28.0,
        right: PAGE_WIDTH - MARGIN - 20.0 - strip.unwrap_or(0.0),
        bottom: height - FOOTER - 58.0,
    };
    let subtitle = format!(
        "{}; dot: medians, vertical: p5–p95 of the peak, horizontal: 95 % interval of the median",
        extent(&variants)
    );
    let mut scene = page(&results.provenance, "Peak of image pulls against completion time", &subtitle, height);

    let ends = |variant: &Variant<'_>| {
        let row = variant.summary("completion_s");
        row.map_or([None, None], |row| [row.median_ci95_low.or(row.median), row.median_ci95_high.or(row.median)])
    };
    let times: Vec<f64> = variants.iter().flat_map(ends).flatten().collect();
    let x = time_scale(&times, area.left, area.right);
    let peaks: Vec<f64> = variants
        .iter()
        .filter_map(|variant| variant.summary("peak_pulls"))
        .flat_map(|row| [row.p5, row.median, row.p95])
        .flatten()
        .collect();
    let (y, ticks) = peak_scale(&peaks, area);
    let axis = if y.kind == Kind::Log { "most image pulls at once (logarithmic)" } else { "most image pulls at once" };
    value_axis(&mut scene, area, &y, &ticks, axis);
    if times.is_empty() {
        bottom_axis(&mut scene, area, &x, &[], "no completion time, as no run finished");
    } else {
        time_axis(&mut scene, area, &x);
    }
    if strip.is_some() {
        let left = area.right + 14.0;
        scene.line((left, area.top), (left, area.bottom), Stroke { colour: AXIS, width: 1.0, dash: &[3.0, 3.0] });
        write(&mut scene, "no run finished", (left + 10.0, area.top - 13.0), SMALL, INK, Align::Left);
    }

    let dots: Vec<Dot<'_>> = variants
        .iter()
        .map(|variant| {
            let completion = variant.median("completion_s");
            let peak = y.at(variant.median("peak_pulls").unwrap_or(0.0));
            let at = (completion.map_or(area.right + 34.0, |completion| x.at(completion)), peak);
            Dot { variant, at, finished: completion.is_some() }
        })
        .collect();
    for (from, to) in joined(&dots) {
        scene.line(from, to, Stroke::solid(GRID, 2.0));
    }
    for dot in &dots {
        draw_dot(&mut scene, dot, &x, &y);
    }
    label_dots(&mut scene, &dots, area);
    scene
}

fn peak_scale(peaks: &[f64], area: Area) -> (Scale, Vec<Tick>) {
    let (low, high) = span(peaks);
    if low > 0.0 && high / low > LOG_FROM {
        let y = Scale { low: low / 1.6, high: high * 1.4, from: area.bottom, to: area.top, kind: Kind::Log };
        return (y, log_ticks(&y, 34.0));
    }
    let ticks = ticks_from_zero(high, 7, true);
    (Scale::from_zero(ticks.last().expect("there are ticks").value, area.bottom, area.top), ticks)
}

fn time_axis(scene: &mut Scene, area: Area, x: &Scale) {
    if x.kind == Kind::Log {
        bottom_axis(scene, area, x, &log_time_ticks(x, 58.0), "completion time (logarithmic)");
    } else {
        let (ticks, unit) = time_ticks(x.high, 8);
        bottom_axis(scene, area, x, &ticks, &format!("completion time in {}", unit.long));
    }
}

fn draw_dot(scene: &mut Scene, dot: &Dot<'_>, x: &Scale, y: &Scale) {
    let colour = series_colour(dot.variant.index);
    let stroke = Stroke::solid(colour, 2.0);
    if let Some((p5, p95)) = dot.variant.summary("peak_pulls").and_then(|row| Some((row.p5?, row.p95?))) {
        scene.line((dot.at.0, y.at(p5)), (dot.at.0, y.at(p95)), stroke);
    }
    let interval =
        dot.variant.summary("completion_s").and_then(|row| Some((row.median_ci95_low?, row.median_ci95_high?)));
    if let Some((low, high)) = interval {
        scene.line((x.at(low), dot.at.1), (x.at(high), dot.at.1), stroke);
    }
    scene.dot(dot.at, 7.0, WHITE, 1.0);
    scene.dot(dot.at, 5.5, colour, 1.0);
    if !dot.finished {
        scene.dot(dot.at, 3.0, WHITE, 1.0);
    }
}

/// The pairs of neighbouring settings of one strategy that both finished.
fn joined(dots: &[Dot<'_>]) -> Vec<(Point, Point)> {
    let joins = |pair: &&[Dot<'_>]| {
        pair[0].variant.info.strategy == pair[1].variant.info.strategy && pair[0].finished && pair[1].finished
    };
    dots.windows(2).filter(joins).map(|pair| (pair[0].at, pair[1].at)).collect()
}

/// Puts each name where it touches no dot and no other name: beside its dot, else above or below in growing distance.
fn label_dots(scene: &mut Scene, dots: &[Dot<'_>], area: Area) {
    let mut taken: Vec<[f64; 4]> =
        dots.iter().map(|dot| [dot.at.0 - 7.0, dot.at.1 - 7.0, dot.at.0 + 7.0, dot.at.1 + 7.0]).collect();
    for (a, b) in joined(dots) {
        let steps = ((b.0 - a.0).hypot(b.1 - a.1) / 6.0).ceil().max(1.0);
        taken.extend((0..=steps as usize).map(|step| {
            let share = step as f64 / steps;
            let (x, y) = (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share);
            [x - 1.0, y - 1.0, x + 1.0, y + 1.0]
        }));
    }
    for dot in dots {
        let room = if dot.finished { 260.0 } else { STRIP_NAME };
        let name = fitted_name(dot.variant.name(), LABEL, Weight::Bold, room);
        let finished = dot.variant.finished();
        let note = if dot.finished && finished < dot.variant.runs.len() {
            format!("{finished} of {} finished", dot.variant.runs.len())
        } else {
            String::new()
        };
        let width = text_width(&name, LABEL, Weight::Bold).max(text_width(&note, SMALL, Weight::Regular));
        let height = if note.is_empty() { 13.0 } else { 29.0 };
        let place = |step: usize| -> [f64; 4] {
            let (x, y) = dot.at;
            let far = 10.0 + 7.0 * (step / 6) as f64;
            let (left, top) = match step % 6 {
                0 => (x + 11.0, y - 14.0 - (far - 10.0)),
                1 => (x - 11.0 - width, y - 14.0 - (far - 10.0)),
                2 => (x + 11.0, y + 3.0 + (far - 10.0)),
                3 => (x - 11.0 - width, y + 3.0 + (far - 10.0)),
                4 => (x - width / 2.0, y - far - height),
                _ => (x - width / 2.0, y + far),
            };
            [left, top, left + width, top + height]
        };
        let right = if dot.finished { area.right } else { PAGE_WIDTH };
        let fits = |a: &[f64; 4]| {
            let inside = a[0] >= area.left && a[2] <= right && a[1] >= area.top - 8.0 && a[3] <= area.bottom - 2.0;
            let apart =
                |b: &[f64; 4]| a[2] + 3.0 <= b[0] || b[2] + 3.0 <= a[0] || a[3] + 2.0 <= b[1] || b[3] + 2.0 <= a[1];
            inside && taken.iter().all(apart)
        };
        let Some(found) = (0..240).map(place).find(fits) else { continue };
        taken.push(found);
        scene.rectangle((found[0] - 2.0, found[1]), (found[2] + 2.0, found[3]), WHITE, 0.75);
        scene.text(Label {
            text: name,
            at: (found[0], found[1] + 11.0),
            size: LABEL,
            weight: Weight::Bold,
            colour: INK,
            align: Align::Left,
        });
        write(scene, &note, (found[0], found[1] + 26.0), SMALL, MUTED, Align::Left);
    }
}
