//! What time is bought with what load: every setting at its time and its load, the ones that nothing beats in both
//! joined by a staircase. One panel a world, as a bigger fleet is not a worse setting.
//!
//! Of a plan, the ground beyond a limit is shaded, settings that do not keep to the limits are hollow, and those that were
//! dropped early are paler, as their places rest on fewer runs.

use crate::record::{Axis, PlanRecord, Provenance, Setting, Span, Standing};
use crate::report::axis::{
    Kind, LOG_FROM, Scale, Tick, log_ticks, log_time_ticks, span, ticks_from_zero, time_scale, time_ticks,
};
use crate::report::data::{Results, extent};
use crate::report::format::{RateUnit, number};
use crate::report::frame::{Area, FOOTER, TOP, bottom_axis, page, value_axis, write, write_bold};
use crate::report::scene::{Align, Point, Scene, Stroke};
use crate::report::style::{AXIS, Colour, INK, LABEL, MARGIN, MUTED, PAGE_WIDTH, SMALL, WHITE, series_colour};
use crate::report::text::{Weight, fitted, fitted_name, text_width};

/// Radius of a dot.
const DOT: f64 = 5.0;
/// Greatest width of a setting's name.
const NAME: f64 = 190.0;
/// Room below a panel's axis: tick labels, title, note.
const BELOW: f64 = 66.0;
/// Room above a panel: its world, and the title of its value axis.
const ABOVE: f64 = 46.0;

/// How a setting is shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Look {
    Chosen,
    Keeps,
    Out,
}

/// One setting.
struct Mark {
    name: String,
    /// `None`: a run never got there.
    time: Option<Span>,
    load: Span,
    look: Look,
    /// 0 to 1: how much of what was simulated at most.
    weight: f64,
}

struct Panel {
    title: String,
    marks: Vec<Mark>,
}

/// What all panels share.
struct Front<'f> {
    panels: Vec<Panel>,
    load: &'f Axis,
    /// `completion`, in words.
    time: String,
}

/// The chart of a plan.
pub(in crate::report) fn of_plan(plan: &PlanRecord, provenance: &Provenance) -> Scene {
    let panels = plan.questions.iter().map(|question| {
        let most = question.candidates.iter().map(|candidate| candidate.runs).max().unwrap_or(1).max(1);
        let several = question.answers.len() > 1;
        let marks = question.candidates.iter().map(|candidate| Mark {
            name: named(&candidate.strategy, &candidate.setting, several),
            time: candidate.time,
            load: candidate.load,
            look: match candidate.standing {
                Standing::Best => Look::Chosen,
                Standing::Breaks | Standing::Unfinished => Look::Out,
                Standing::Equal | Standing::Slower | Standing::Undecided => Look::Keeps,
            },
            weight: candidate.runs as f64 / most as f64,
        });
        Panel { title: question.world.clone(), marks: marks.collect() }
    });
    let mut panels: Vec<Panel> = panels.collect();
    let key = shorten(&mut panels).map(|key| format!("names: {key}; ")).unwrap_or_default();
    let front = Front { panels, load: &plan.load, time: plan.fastest.replace('_', " ") };
    let subtitle = format!(
        "{key}{} runs; lines: least to greatest run; the staircase joins what nothing beats in both",
        plan.runs
    );
    let mut scene = draw(&front, provenance, "Time against load of the settings that were tried", &subtitle);
    legend(&mut scene);
    scene
}

/// The chart of plain results: all settings alike, at their medians.
pub(in crate::report) fn of_results(results: &Results) -> Scene {
    let variants = results.variants();
    let mut panels: Vec<Panel> = Vec::new();
    let strategies: std::collections::BTreeSet<&str> = variants.iter().map(|v| v.info.strategy.as_str()).collect();
    for variant in &variants {
        let of = |settings: &mut dyn Iterator<Item = &Setting>| {
            settings.map(|setting| format!("{}={}", setting.name, setting.value)).collect::<Vec<_>>().join("; ")
        };
        let world = of(&mut Setting::of_world(&variant.info.settings));
        let setting = of(&mut variant.info.settings.iter().filter(|setting| setting.is_of_strategy()));
        // Results of earlier builds tell settings in one text alone.
        let setting = if variant.info.settings.is_empty() { variant.info.setting.clone() } else { setting };
        let row = |measure: &str,
                   low: fn(&crate::record::SummaryRow) -> Option<f64>,
                   high: fn(&crate::record::SummaryRow) -> Option<f64>| {
            let row = variant.summary(measure)?;
            let value = row.median?;
            Some(Span { value, low: low(row).unwrap_or(value), high: high(row).unwrap_or(value) })
        };
        let mark = Mark {
            // With one world the name of the other charts.
            name: if world.is_empty() {
                variant.name().to_owned()
            } else {
                named(&variant.info.strategy, &setting, strategies.len() > 1)
            },
            time: row("completion_s", |row| row.median_ci95_low, |row| row.median_ci95_high),
            load: row("peak_pulls", |row| row.p5, |row| row.p95).unwrap_or(Span { value: 0.0, low: 0.0, high: 0.0 }),
            look: Look::Keeps,
            weight: 1.0,
        };
        match panels.iter_mut().find(|panel| panel.title == world) {
            Some(panel) => panel.marks.push(mark),
            None => panels.push(Panel { title: world, marks: vec![mark] }),
        }
    }
    let load = Axis { measure: "peak_pulls".to_owned(), unit: "pulls".to_owned(), at_most: None, time_at_most: None };
    let front = Front { panels, load: &load, time: "completion time".to_owned() };
    let subtitle = format!("{}; dot: medians; the staircase joins what nothing beats in both", extent(&variants));
    draw(&front, &results.provenance, "What nothing beats in both time and load", &subtitle)
}

/// A setting in short: without its strategy where there is but one.
fn named(strategy: &str, setting: &str, several: bool) -> String {
    match (several, setting.is_empty()) {
        (_, true) => strategy.to_owned(),
        (true, false) => format!("{strategy} {setting}"),
        (false, false) => setting.to_owned(),
    }
}

/// Takes away what all names begin with, up to the sign of equality: `maxUnavailable=`, which is returned.
fn shorten(panels: &mut [Panel]) -> Option<String> {
    let names = || panels.iter().flat_map(|panel| &panel.marks).map(|mark| mark.name.as_str());
    let key = names().next()?.split_once('=')?.0.to_owned();
    let is_shared = names().all(|name| {
        let rest = name.strip_prefix(&key).and_then(|rest| rest.strip_prefix('='));
        rest.is_some_and(|rest| !rest.contains('='))
    });
    if !is_shared || names().count() < 2 {
        return None;
    }
    for mark in panels.iter_mut().flat_map(|panel| &mut panel.marks) {
        mark.name.drain(..=key.len());
    }
    Some(key)
}

fn draw(front: &Front<'_>, provenance: &Provenance, title: &str, subtitle: &str) -> Scene {
    let count = front.panels.len().max(1);
    let columns = match count {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let inner = if count == 1 { 380.0 } else { 260.0 };
    let row = ABOVE + inner + BELOW;
    let top = TOP + 8.0;
    let height = top + row * count.div_ceil(columns) as f64 + FOOTER;
    let mut scene = page(provenance, title, subtitle, height);
    let labels = 58.0;
    let gap = 22.0;
    let width = (PAGE_WIDTH - 2.0 * MARGIN - gap * (columns - 1) as f64) / columns as f64;
    for (at, panel) in front.panels.iter().enumerate() {
        let left = MARGIN + (width + gap) * (at % columns) as f64 + labels;
        let above = top + row * (at / columns) as f64 + ABOVE;
        let right = left - labels + width - 6.0;
        let area = Area { left, top: above, right, bottom: above + inner };
        draw_panel(&mut scene, front, panel, area);
    }
    scene
}

/// What the looks mean, above the panels.
fn legend(scene: &mut Scene) {
    let mut left = MARGIN + 11.0;
    let y = TOP - 8.0;
    for (look, text) in
        [(Look::Chosen, "chosen"), (Look::Keeps, "keeps to the limits as far as known"), (Look::Out, "does not")]
    {
        dot(scene, (left, y - 4.0), look, 1.0);
        write(scene, text, (left + 15.0, y), SMALL, MUTED, Align::Left);
        left += 15.0 + text_width(text, SMALL, Weight::Regular) + 30.0;
    }
    dot(scene, (left, y - 4.0), Look::Keeps, 0.35);
    write(scene, "paler: fewer runs", (left + 15.0, y), SMALL, MUTED, Align::Left);
}

fn colour(look: Look) -> Colour {
    match look {
        Look::Chosen | Look::Keeps => series_colour(0),
        Look::Out => series_colour(1),
    }
}

/// A dot; whether it is filled, hollow or ringed tells its look without colour.
fn dot(scene: &mut Scene, at: Point, look: Look, opacity: f64) {
    if look == Look::Chosen {
        scene.dot(at, DOT + 5.0, INK, 1.0);
        scene.dot(at, DOT + 3.0, WHITE, 1.0);
    }
    scene.dot(at, DOT + 1.5, WHITE, 1.0);
    scene.dot(at, DOT, colour(look), opacity);
    if look == Look::Out {
        scene.dot(at, DOT - 2.2, WHITE, 1.0);
    }
}

fn draw_panel(scene: &mut Scene, front: &Front<'_>, panel: &Panel, area: Area) {
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
        write_bold(scene, &title, (area.left - 50.0, area.top - 31.0), LABEL, INK);
    }
    value_axis(scene, area, &y, &ticks, "");
    let axis =
        format!("{}{unit}{}", load_words(&front.load.measure), if y.kind == Kind::Log { ", logarithmic" } else { "" });
    let axis = fitted(&axis, SMALL, Weight::Regular, area.right - area.left + 40.0);
    write(scene, &axis, (area.left - 50.0, area.top - 12.0), SMALL, INK, Align::Left);
    if times.is_empty() {
        bottom_axis(scene, area, &x, &[], "no run got there");
    } else {
        let most = if area.right - area.left > 500.0 { 8 } else { 4 };
        let (ticks, words) = match x.kind {
            Kind::Log => (log_time_ticks(&x, 58.0), "logarithmic"),
            Kind::Linear => {
                let (ticks, unit) = time_ticks(x.high, most);
                (ticks, unit.long)
            }
        };
        bottom_axis(scene, area, &x, &ticks, &format!("{}, {words}", front.time));
    }
    let mut taken: Vec<[f64; 4]> = Vec::new();
    if let Some((most, _)) = &load_limit {
        taken.push(shade(scene, area, y.at(*most), true));
    }
    if let Some((most, _)) = &time_limit {
        taken.push(shade(scene, area, x.at(*most), false));
    }
    let placed: Vec<(Point, &Mark)> =
        panel.marks.iter().filter_map(|mark| Some(((x.at(mark.time?.value), y.at(mark.load.value)), mark))).collect();
    let best = front_of(&panel.marks);
    taken.extend(staircase(scene, &best.iter().map(|&at| &panel.marks[at]).collect::<Vec<_>>(), &x, &y));
    for (at, mark) in &placed {
        let stroke = Stroke::solid(faded(colour(mark.look), mark.weight), 1.6);
        scene.line((at.0, y.at(mark.load.low)), (at.0, y.at(mark.load.high)), stroke);
        let time = mark.time.expect("it is placed");
        scene.line((x.at(time.low), at.1), (x.at(time.high), at.1), stroke);
    }
    // The chosen one lies on top.
    for chosen in [false, true] {
        for (at, mark) in placed.iter().filter(|(_, mark)| (mark.look == Look::Chosen) == chosen) {
            dot(scene, *at, mark.look, 0.3 + 0.7 * mark.weight);
        }
    }
    taken.extend(placed.iter().map(|((x, y), _)| [x - DOT - 1.0, y - DOT - 1.0, x + DOT + 1.0, y + DOT + 1.0]));
    // Limits first: without their words the shading says nothing.
    for (limit, is_load) in [(&load_limit, true), (&time_limit, false)] {
        if let Some((most, text)) = limit {
            let at = if is_load { y.at(*most) } else { x.at(*most) };
            taken.push(tell_limit(scene, area, text, at, is_load, &taken));
        }
    }
    let unnamed = name_all(scene, &panel.marks, &best, &x, &y, area, &mut taken);
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
        write(scene, &text, (area.left - 50.0, area.bottom + 58.0), SMALL, MUTED, Align::Left);
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
fn load_scale(loads: &[f64], load: &Axis, area: Area) -> (Scale, Vec<Tick>, String) {
    let (low, high) = span(loads);
    if load.unit == "bytes/s" {
        let unit = RateUnit::for_max(high);
        let top = ticks_from_zero(1.08 * high / unit.bytes_per_s, 6, false);
        let ticks: Vec<Tick> = top
            .into_iter()
            .map(|tick| Tick { value: tick.value * unit.bytes_per_s, label: number(tick.value) })
            .collect();
        let scale = Scale::from_zero(ticks.last().expect("there are ticks").value, area.bottom, area.top);
        return (scale, ticks, format!(", {}", unit.name));
    }
    if low > 0.0 && high / low > LOG_FROM {
        let y = Scale { low: low / 1.6, high: high * 1.4, from: area.bottom, to: area.top, kind: Kind::Log };
        return (y, log_ticks(&y, 26.0), String::new());
    }
    let ticks = ticks_from_zero(1.08 * high, 6, true);
    (Scale::from_zero(ticks.last().expect("there are ticks").value, area.bottom, area.top), ticks, String::new())
}

/// The ground beyond a limit. Returns the room of its edge.
fn shade(scene: &mut Scene, area: Area, at: f64, is_load: bool) -> [f64; 4] {
    let (from, to) =
        if is_load { ((area.left, area.top), (area.right, at)) } else { ((at, area.top), (area.right, area.bottom)) };
    scene.rectangle(from, to, AXIS, 0.13);
    let (from, to) = if is_load { ((area.left, at), (area.right, at)) } else { ((at, area.top), (at, area.bottom)) };
    scene.line(from, to, Stroke { colour: AXIS, width: 1.2, dash: &[5.0, 4.0] });
    [from.0 - 1.0, from.1 - 1.0, to.0 + 1.0, to.1 + 1.0]
}

/// The limit's words along its edge, where there is room: beyond it if it can be. Returns the room they take.
fn tell_limit(scene: &mut Scene, area: Area, text: &str, at: f64, is_load: bool, taken: &[[f64; 4]]) -> [f64; 4] {
    let text = fitted(text, SMALL, Weight::Regular, area.right - area.left - 12.0);
    let width = text_width(&text, SMALL, Weight::Regular);
    let (left, right) = (area.left + 6.0, area.right - 6.0 - width);
    let places: Vec<Point> = if is_load {
        let middle = f64::midpoint(left, right);
        [at - 6.0, at + 14.0].iter().flat_map(|&y| [(right, y), (left, y), (middle, y)]).collect()
    } else {
        let beside = [at + 6.0, at - 6.0 - width];
        let heights = [area.bottom - 8.0, area.bottom - 26.0, area.top + 16.0, f64::midpoint(area.top, area.bottom)];
        beside.iter().flat_map(|&x| heights.map(|y| (x, y))).collect()
    };
    let room = |&(left, baseline): &Point| [left - 2.0, baseline - 11.0, left + width * 1.02 + 2.0, baseline + 3.5];
    let fits = |place: &&Point| is_free(&room(place), area, taken);
    let inside = (left.max(if is_load { right } else { (at - 6.0 - width).max(left) }), at - 6.0);
    let fallback = if is_load { inside } else { (inside.0, area.bottom - 8.0) };
    let place = places.iter().find(fits).copied().unwrap_or(fallback);
    write(scene, &text, place, SMALL, MUTED, Align::Left);
    room(&place)
}

/// Whether a rectangle lies inside the area and off all that is taken.
fn is_free(&[left, top, right, bottom]: &[f64; 4], area: Area, taken: &[[f64; 4]]) -> bool {
    let inside = left >= area.left && right <= area.right + 4.0 && top >= area.top - 2.0 && bottom <= area.bottom;
    inside && taken.iter().all(|[l, t, r, b]| right <= *l || left >= *r || bottom <= *t || top >= *b)
}

/// Loads that differ by less than this share are one: a full link is full, whatever the last digit says.
const SAME_LOAD: f64 = 0.01;

/// The marks that no other beats in both time and load, the fastest first.
fn front_of(marks: &[Mark]) -> Vec<usize> {
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
fn staircase(scene: &mut Scene, best: &[&Mark], x: &Scale, y: &Scale) -> Vec<[f64; 4]> {
    let mut points: Vec<Point> = Vec::new();
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
        scene.path(points, Stroke::solid(INK, 1.2));
    }
    boxes
}

/// Names beside the dots, those of the front and the chosen one first; others where there is room. Returns those for
/// which there was none.
fn name_all<'m>(
    scene: &mut Scene,
    marks: &'m [Mark],
    best: &[usize],
    x: &Scale,
    y: &Scale,
    area: Area,
    taken: &mut Vec<[f64; 4]>,
) -> Vec<&'m str> {
    let mut unnamed = Vec::new();
    let mut order: Vec<usize> = (0..marks.len()).filter(|&at| marks[at].look == Look::Chosen).collect();
    order.extend(best.iter().filter(|&&at| marks[at].look != Look::Chosen));
    let rest: Vec<usize> = (0..marks.len()).filter(|at| !order.contains(at)).collect();
    order.extend(rest);
    for at in order {
        let mark = &marks[at];
        let Some(time) = mark.time else { continue };
        let (px, py) = (x.at(time.value), y.at(mark.load.value));
        let is_bold = mark.look == Look::Chosen;
        let weight = if is_bold { Weight::Bold } else { Weight::Regular };
        let size = if is_bold { LABEL } else { SMALL };
        let name = fitted_name(&mark.name, size, weight, NAME);
        let width = text_width(&name, size, weight);
        let aside = if is_bold { DOT + 9.0 } else { DOT + 5.0 };
        let places = [
            (px + aside, py - 5.0),
            (px - aside - width, py - 5.0),
            (px + aside, py + 14.0),
            (px - aside - width, py + 14.0),
            (px - width / 2.0, py - aside - 6.0),
            (px - width / 2.0, py + aside + 12.0),
            (px + aside, py + 4.0),
            (px - aside - width, py + 4.0),
            (px + aside, py - 20.0),
            (px + aside, py + 28.0),
        ];
        let room =
            |&(left, baseline): &(f64, f64)| [left - 1.0, baseline - 11.5, left + width * 1.02 + 1.0, baseline + 3.5];
        let fits = |place: &&Point| is_free(&room(place), area, taken);
        let Some(&place) = places.iter().find(fits) else {
            unnamed.push(mark.name.as_str());
            continue;
        };
        taken.push(room(&place));
        if is_bold {
            write_bold(scene, &name, place, size, INK);
        } else {
            let ink = if best.contains(&at) { INK } else { MUTED };
            write(scene, &name, place, size, ink, Align::Left);
        }
    }
    unnamed
}
