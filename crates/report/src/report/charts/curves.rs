//! Curves of variants that are compared with each other: progress, exposure and load.
//!
//! If few variants are compared, the chart has one plot. Otherwise it has a plot for each world, or for each product
//! if a world has too many variants to tell apart. All plots have equal axes.

use crate::report::answer::groups;
use crate::report::clock::StartClock;
use crate::report::names;
use crate::report::prelude::*;

/// Maximum number of variants in the plot of a world.
const TOGETHER: usize = 7;
/// Height of a single plot, and height of each of several plots.
const ALONE: f64 = 346.0;
const AMONG: f64 = 186.0;
/// Room above a plot for its heading and the title of its value axis, and below for the labels and the title of the
/// time axis.
const ABOVE: f64 = 50.0;
const BELOW: f64 = 56.0;
/// Distance between two plots next to each other.
const GAP: f64 = 16.0;
/// Maximum width of a name in the key if there are several plots, as a share of the plot's width.
const NAME: f64 = 0.3;

/// The curve of one variant, in the units of the axes.
pub(super) struct Curve {
    pub(super) points: Vec<Position>,
    /// Position of the curve's dot. `None`: the curve has no dot.
    pub(super) end: Option<Position>,
    /// The text below the name in the key, if there is room.
    pub(super) detail: String,
    /// Sort key of the curve's entry in the key; the greatest comes first.
    pub(super) order: f64,
}

/// The axes, titles and reference line that all plots share.
pub(super) struct Axes<'a> {
    pub(super) head: Head<'a>,
    /// The time of day at which the axis begins, for an axis of times since the start of the rollout.
    pub(super) clock: Option<StartClock>,
    /// The scale of time. It has no position on the page yet.
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// Titles of a linear time axis, in which `{}` is the unit, and of a logarithmic one.
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
    let count = plots.len();
    let alone = count == 1;
    let sheet = results.sheet();
    let columns = if alone || sheet.is_narrow() { 1 } else { 2 };
    let sizes = plots.iter().map(|plot| plot.members.len());
    let most = sizes.max().unwrap_or(0) as f64;
    let keys_height = if sheet.is_narrow() {
        0.0
    } else {
        KEY_LINE * (most - 1.0)
    };
    let height = if alone { ALONE } else { AMONG }.max(keys_height);
    let cell = (sheet.inner() - GAP * (columns - 1) as f64) / columns as f64;
    let name_width = if columns == 1 {
        sheet.key_name()
    } else {
        NAME * cell
    };
    let mut keyed: Vec<KeyedPlot> = Vec::new();
    let mut key_right: f64 = 0.0;
    let mut key_below: f64 = 0.0;
    for plot in plots {
        let plot = plot.keyed(&variants, curves, name_width, alone);
        let (right, below) = key_room(sheet, &plot.entries);
        key_right = key_right.max(right);
        key_below = key_below.max(below);
        keyed.push(plot);
    }
    let row = ABOVE + height + BELOW + key_below;
    let page_height = TOP - 30.0 + row * count.div_ceil(columns) as f64 + FOOTER;
    let mut canvas = page_of_run(results, &axes.head, page_height);
    for (at, plot) in keyed.into_iter().enumerate() {
        let left = MARGIN + (cell + GAP) * (at % columns) as f64;
        let top = TOP - 30.0 + row * (at / columns) as f64 + ABOVE;
        let area = Area {
            left: left + 50.0,
            top,
            right: left + cell - key_right,
            bottom: top + height,
        };
        let heading = fitted_name(&plot.heading, LABEL, Weight::Bold, cell);
        write_bold(
            &mut canvas,
            &heading,
            (left, top - 31.0),
            TextStyle::new(LABEL, INK),
        );
        let shown = plot.members.iter().map(|&at| (&variants[at], &curves[at]));
        draw_plot(&mut canvas, axes, area, shown);
        key(&mut canvas, area, left + cell, plot.entries);
    }
    canvas
}

/// The variants of one plot, as indices into the list of all, and the heading.
struct CurvePlot {
    heading: String,
    members: Vec<usize>,
}

/// A plot with the entries of its key.
struct KeyedPlot {
    heading: String,
    members: Vec<usize>,
    entries: Vec<KeyEntry>,
}

impl CurvePlot {
    /// The plot with its key. Names in the key are at most `width` wide; if the full names do not fit, the key has the
    /// values of their settings, and the heading names the settings.
    fn keyed(
        self,
        variants: &[VariantResults<'_>],
        curves: &[Curve],
        width: f64,
        has_details: bool,
    ) -> KeyedPlot {
        let (settings, entries) = entries(variants, &self.members, curves, width, has_details);
        let settings = settings.unwrap_or_default();
        KeyedPlot {
            heading: joined_parts([self.heading, settings], ", by "),
            members: self.members,
            entries,
        }
    }
}

/// Joins the parts that are not empty.
fn joined_parts(parts: [String; 2], separator: &str) -> String {
    let mut parts = Vec::from(parts);
    parts.retain(|part| !part.is_empty());
    parts.join(separator)
}

/// The plots: one for each world, or for each product of a world with many variants.
fn plots(variants: &[VariantResults<'_>]) -> Vec<CurvePlot> {
    let mut plots = Vec::new();
    for world in groups::groups(variants) {
        if world.members.len() <= TOGETHER {
            plots.push(CurvePlot {
                heading: world.title,
                members: world.members,
            });
            continue;
        }
        let products = world.members.into_iter().map(|at| {
            let info = variants[at].info;
            let product = if info.is_bound {
                "bounds"
            } else {
                info.product.as_str()
            };
            (product, at)
        });
        for (product, members) in grouped(products) {
            let parts = [product.to_owned(), world.title.clone()];
            plots.push(CurvePlot {
                heading: joined_parts(parts, ", "),
                members,
            });
        }
    }
    plots
}

/// The entries of a key, and the names of the settings whose values they show if the full names do not fit.
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
    let mut entries: Vec<KeyEntry> = Vec::new();
    for (&at, name) in members.iter().zip(names) {
        entries.push(KeyEntry {
            value: curves[at].order,
            colour: variants[at].style.colour(),
            dash: variants[at].style.pattern(),
            name,
            detail: if has_details {
                curves[at].detail.clone()
            } else {
                String::new()
            },
        });
    }
    (settings, entries)
}

/// Draws the curves of one plot with their axes.
fn draw_plot<'c>(
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
    let (mut ticks, mut title) = ticks_of_time(&x, (58.0, room.clamp(2, 8)), axes.x_titles);
    if let Some(clock) = axes.clock.as_ref().filter(|_| !x.log)
        && clock.label(&mut ticks)
    {
        title = format!("time of day; the rollout starts at {}", clock.text);
    }
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
        let mut points: Vec<Position> = Vec::new();
        for &(at, value) in &curve.points {
            points.push((x.at(at), y.at(value)));
        }
        let colour = variant.style.colour();
        let stroke = Stroke {
            dash: variant.style.pattern(),
            ..Stroke::solid(colour, 2.0)
        };
        canvas.path(decimate(&points, 2.0), stroke);
        if let Some((at, value)) = curve.end {
            canvas.dot((x.at(at), y.at(value)), 3.5, colour, 1.0);
        }
    }
}

/// Points of a curve that rises by one at each of `times`, and continues until `until`.
pub(super) fn rising(times: &[f64], until: Option<f64>) -> Vec<Position> {
    let mut points = Vec::new();
    for (at, &time) in times.iter().enumerate() {
        points.push((time, at as f64));
        points.push((time, at as f64 + 1.0));
    }
    if let Some(until) = until {
        points.push((until, times.len() as f64));
    }
    points
}
