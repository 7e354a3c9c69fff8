//! Curves of variants that are read against each other: progress, exposure and load.
//!
//! One plot where few variants are compared. Otherwise each world has a plot of its own, or each product where a world
//! has more variants than a reader tells apart; all plots have the same axes.

use crate::report::answer::groups;
use crate::report::names;
use crate::report::prelude::*;

/// Most variants in the plot of a world.
const TOGETHER: usize = 7;
/// Height of a plot: of one alone, and of one among others.
const ALONE: f64 = 346.0;
const AMONG: f64 = 186.0;
/// Room above a plot for its heading and the title of its axis, and below for the labels and the title of the other.
const ABOVE: f64 = 50.0;
const BELOW: f64 = 56.0;
/// Distance of two plots side by side.
const GAP: f64 = 16.0;
/// Widest name in the key of a plot among others, as a share of its width.
const NAME: f64 = 0.3;

/// The curve of one variant, in the units of the axes.
pub(super) struct Curve {
    pub(super) points: Vec<Position>,
    /// Where it has a dot.
    pub(super) end: Option<Position>,
    /// The text of the key below the name, where it has room.
    pub(super) detail: String,
    /// The order in the key, greatest first.
    pub(super) order: f64,
}

/// The parts that all plots share.
pub(super) struct Axes<'a> {
    pub(super) head: Head<'a>,
    /// Scales without places on the page.
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// Titles of a linear axis of time, in which `{}` is the unit, and of a logarithmic one.
    pub(super) x_titles: (&'a str, &'a str),
    pub(super) y_title: &'a str,
    pub(super) y_ticks: Vec<AxisTick>,
    /// A value that is drawn as a dashed line.
    pub(super) reference: Option<f64>,
}

/// Draws the curves, one for each variant.
pub(super) fn draw(results: &Results, axes: &Axes<'_>, curves: &[Curve]) -> Canvas {
    let variants = results.variants();
    let plots = plots(&variants);
    let alone = plots.len() == 1;
    let sheet = results.sheet();
    let columns = if alone || sheet.is_narrow() { 1 } else { 2 };
    let most = plots
        .iter()
        .map(|(_, members)| members.len())
        .max()
        .unwrap_or(0) as f64;
    let height = if alone { ALONE } else { AMONG }.max(if sheet.is_narrow() {
        0.0
    } else {
        KEY_LINE * (most - 1.0)
    });
    let cell = (sheet.inner() - GAP * (columns - 1) as f64) / columns as f64;
    let plots_count = plots.len();
    let keys: Vec<(String, Vec<usize>, Vec<KeyEntry>)> = plots
        .into_iter()
        .map(|(heading, members)| {
            let width = if columns == 1 {
                sheet.key_name()
            } else {
                NAME * cell
            };
            let (settings, entries) = entries(&variants, &members, curves, width, alone);
            let heading = [Some(heading), settings]
                .into_iter()
                .flatten()
                .filter(|part| !part.is_empty())
                .join(", by ");
            (heading, members, entries)
        })
        .collect();
    let rooms = keys.iter().map(|(.., entries)| key_room(sheet, entries));
    let (key_right, key_below) =
        rooms.fold((0.0, 0.0), |a, b| (f64::max(a.0, b.0), f64::max(a.1, b.1)));
    let row = ABOVE + height + BELOW + key_below;
    let page_height = TOP - 30.0 + row * plots_count.div_ceil(columns) as f64 + FOOTER;
    let mut canvas = page_of_run(results, &axes.head, page_height);
    for (at, (heading, members, entries)) in keys.into_iter().enumerate() {
        let left = MARGIN + (cell + GAP) * (at % columns) as f64;
        let top = TOP - 30.0 + row * (at / columns) as f64 + ABOVE;
        let area = Area {
            left: left + 50.0,
            top,
            right: left + cell - key_right,
            bottom: top + height,
        };
        write_bold(
            &mut canvas,
            &fitted_name(&heading, LABEL, Weight::Bold, cell),
            (left, top - 31.0),
            LABEL,
            INK,
        );
        plot(
            &mut canvas,
            axes,
            area,
            members.iter().map(|&at| (&variants[at], &curves[at])),
        );
        key(&mut canvas, area, left + cell, entries);
    }
    canvas
}

/// The plots with their headings and the places of their variants.
fn plots(variants: &[VariantResults<'_>]) -> Vec<(String, Vec<usize>)> {
    let worlds = groups::groups(variants);
    let many = |members: &[usize]| members.len() > TOGETHER;
    let by_product = |members: Vec<usize>, title: &str| -> Vec<(String, Vec<usize>)> {
        let product = |at: usize| {
            let info = variants[at].info;
            if info.is_bound {
                "bounds".to_owned()
            } else {
                info.product.clone()
            }
        };
        let parts = grouped(members.into_iter().map(|at| (product(at), at)));
        let heading = |product: String| {
            [product, title.to_owned()]
                .into_iter()
                .filter(|part| !part.is_empty())
                .join(", ")
        };
        parts
            .into_iter()
            .map(|(product, members)| (heading(product), members))
            .collect()
    };
    let split = |world: groups::VariantGroup| {
        if many(&world.members) {
            by_product(world.members, &world.title)
        } else {
            vec![(world.title, world.members)]
        }
    };
    worlds.into_iter().flat_map(split).collect()
}

/// The entries of a key, with the settings that they are the values of where their names have no room.
fn entries(
    variants: &[VariantResults<'_>],
    members: &[usize],
    curves: &[Curve],
    width: f64,
    has_details: bool,
) -> (Option<String>, Vec<KeyEntry>) {
    let shown: Vec<VariantResults<'_>> = members.iter().map(|&at| variants[at].clone()).collect();
    let short = names::in_short(&shown);
    let (settings, names) = if widest(&short, LABEL, Weight::Bold) <= width {
        (None, short)
    } else {
        names::within_or_values(&shown, LABEL, Weight::Bold, width)
    };
    let entry = |(&at, name): (&usize, String)| KeyEntry {
        value: curves[at].order,
        colour: variants[at].style.colour(),
        name,
        detail: if has_details {
            curves[at].detail.clone()
        } else {
            String::new()
        },
    };
    (settings, members.iter().zip(names).map(entry).collect())
}

fn plot<'c>(
    canvas: &mut Canvas,
    axes: &Axes<'_>,
    area: Area,
    curves: impl Iterator<Item = (&'c VariantResults<'c>, &'c Curve)>,
) {
    let x = Scale {
        from: area.left,
        to: area.right,
        ..axes.x
    };
    let y = Scale {
        from: area.bottom,
        to: area.top,
        ..axes.y
    };
    value_axis(canvas, area, &y, &axes.y_ticks, axes.y_title);
    let room = ((area.right - area.left) / 58.0) as usize;
    let (ticks, title) = ticks_of_time(&x, (58.0, room.clamp(2, 8)), axes.x_titles);
    bottom_axis(canvas, area, &x, &ticks, &title);
    if let Some(reference) = axes.reference {
        let stroke = Stroke {
            colour: INK,
            width: 1.3,
            dash: &[6.0, 4.0],
        };
        canvas.line(
            (area.left, y.at(reference)),
            (area.right, y.at(reference)),
            stroke,
        );
    }
    for (variant, curve) in curves {
        let place = |(at, value): Position| (x.at(at), y.at(value));
        let points: Vec<Position> = curve.points.iter().map(|&point| place(point)).collect();
        let colour = variant.style.colour();
        canvas.path(decimate(&points, 2.0), Stroke::solid(colour, 2.0));
        if let Some(end) = curve.end {
            canvas.dot(place(end), 3.5, colour, 1.0);
        }
    }
}

/// Points of a curve that rises by one at each of these times, and goes on to `until`.
pub(super) fn rising(times: &[f64], until: Option<f64>) -> Vec<Position> {
    let steps = times
        .iter()
        .enumerate()
        .flat_map(|(at, &time)| [(time, at as f64), (time, at as f64 + 1.0)]);
    steps
        .chain(until.map(|until| (until, times.len() as f64)))
        .collect()
}
