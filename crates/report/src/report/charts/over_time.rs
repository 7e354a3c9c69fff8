//! Load over time: concurrent image pulls, and the registry's egress.
//!
//! A line shows one real run, the same replicate for all variants, over the band that contains 90% of all runs in each
//! bin. A line that would be solid ink, as that of clusters updated one by one, is an envelope with its mean instead.
//! Up to three variants of similar duration share one plot. More variants get a panel each, with a common
//! value axis, or separate ones where a common axis would flatten the low curves.

use crate::report::names;
use crate::report::prelude::*;
use crate::results::TimelineRow;

/// Most variants that share one plot.
const OVERLAY_MAX: usize = 3;
/// Variants share a time axis when the longest takes at most this many times as long as the shortest.
pub(super) const SHARED_TIME: f64 = 4.0;
/// Panels share a value axis when the highest curve is at most this many times as high as the lowest.
const SHARED_VALUE: f64 = 8.0;
/// A capacity is drawn when it is at most this many times the greatest value; otherwise it would flatten the curves.
const CAPACITY_SHOWN: f64 = 3.0;

/// A quantity over time.
struct CurveQuantity {
    title: &'static str,
    findings: fn(&[VariantResults<'_>]) -> Vec<String>,
    axis: String,
    /// The definition of a point of the curve, and of the peak where it is another measure.
    point_note: &'static str,
    whole: bool,
    /// Size of the shown unit in the recorded one, and its name.
    unit: (f64, &'static str),
    value: fn(&TimelineRow) -> f64,
    band: fn(&TimelineRow) -> (f64, f64),
    /// The capacity of a variant, in the shown unit.
    capacity: fn(&VariantResults<'_>) -> Option<f64>,
    /// The measure of its peak.
    peak: &'static str,
}

/// Concurrent image pulls over time.
pub(in crate::report) fn pulls(results: &Results) -> Canvas {
    draw(
        results,
        &CurveQuantity {
            title: "Concurrent image pulls over time",
            findings: findings::pulls,
            axis: "concurrent image pulls".to_owned(),
            point_note: if results.tables.runs.iter().any(|run| run.pulls > 0) {
                "; curve: maximum per time bin"
            } else {
                "; no run pulls an image"
            },
            whole: true,
            unit: (1.0, ""),
            value: |row| row.pulls as f64,
            band: |row| (row.pulls_p5, row.pulls_p95),
            capacity: |_| None,
            peak: "peak_pulls",
        },
    )
}

/// The registry's egress over time.
pub(in crate::report) fn egress(results: &Results) -> Canvas {
    let greatest = results
        .tables
        .timeline
        .iter()
        .flat_map(|row| {
            [
                row.egress_peak_1s_bytes_per_s,
                row.egress_peak_1s_p95_bytes_per_s,
            ]
        })
        .chain(
            results
                .tables
                .runs
                .iter()
                .map(|run| run.egress_peak_1s_bytes_per_s),
        )
        .fold(0.0, f64::max);
    let unit = RateUnit::for_max(greatest);
    draw(
        results,
        &CurveQuantity {
            title: "Registry egress over time",
            findings: findings::egress,
            axis: format!("registry egress in {}", unit.name),
            point_note: ", mean over 1 s; curve: maximum per time bin",
            whole: false,
            unit: (unit.bytes_per_s, unit.name),
            value: |row| row.egress_peak_1s_bytes_per_s,
            band: |row| {
                (
                    row.egress_peak_1s_p5_bytes_per_s,
                    row.egress_peak_1s_p95_bytes_per_s,
                )
            },
            capacity: |variant| variant.info.registry_egress_bytes_per_s,
            peak: "egress_peak_1s_bytes_per_s",
        },
    )
}

impl CurveQuantity {
    /// Ticks for all of `variants` on one axis, including capacities that do not flatten the curves.
    fn ticks(
        &self,
        variants: &[VariantResults<'_>],
        heights: &[f64],
        most: usize,
    ) -> Vec<AxisTick> {
        let greatest = heights.iter().copied().fold(0.0, f64::max);
        let shown = |capacity: &f64| *capacity <= CAPACITY_SHOWN * greatest;
        let limit = variants
            .iter()
            .filter_map(self.capacity)
            .filter(shown)
            .fold(0.0, f64::max);
        scaled(
            ticks_from_zero(greatest.max(limit) / self.unit.0, most, self.whole),
            self.unit.0,
        )
    }

    /// The peak of a variant for order and key.
    fn peak_of(&self, variant: &VariantResults<'_>) -> f64 {
        variant.median(self.peak).unwrap_or(0.0)
    }

    /// `peak 1,132 [1,110–1,150]`: the median peak over runs with its 5th and 95th percentile.
    fn detail(&self, variant: &VariantResults<'_>) -> String {
        let row = variant.summary(self.peak);
        let Some((median, p5, p95)) = row.and_then(|row| Some((row.median?, row.p5?, row.p95?)))
        else {
            return String::new();
        };
        let (size, name) = self.unit;
        let values = [median, p5, p95].map(|value| value / size);
        let [shown, low, high] = if self.whole {
            values.map(count)
        } else {
            alike(values)
        };
        let peak = match low == high {
            true if self.whole => shown,
            true => number(values[0]),
            false => format!("{shown} [{low}–{high}]"),
        };
        format!("peak {peak} {name}").trim_end().to_owned()
    }
}

fn draw(results: &Results, quantity: &CurveQuantity) -> Canvas {
    let variants = results.variants();
    let spans: Vec<f64> = variants
        .iter()
        .map(|variant| variant.active_until(quantity.value, quantity.band))
        .collect();
    let longest = spans.iter().copied().fold(0.0, f64::max);
    let alike = spans.iter().all(|span| span * SHARED_TIME >= longest);
    let overlay = variants.len() <= OVERLAY_MAX && alike;
    let heights: Vec<f64> = variants
        .iter()
        .map(|variant| height_of(variant, quantity))
        .collect();
    // Against the link that all share, a low curve says that it needs little of it.
    let shares_link = shared_link(&variants, quantity)
        .is_some_and(|link| link <= CAPACITY_SHOWN * span(&heights).1);
    let own_values = !overlay && !shares_link && differ(&heights);
    let replicates = variants
        .iter()
        .map(|variant| variant.runs.len())
        .max()
        .unwrap_or(0);
    let mut note = extent(&variants) + &results.replicate_of("line");
    if replicates > 1 {
        note.push_str("; shade: p5–p95 of all runs");
    }
    if !overlay {
        note.push_str(match (own_values, alike) {
            (true, true) => "; value axes differ between panels",
            (true, false) => "; axes differ between panels",
            (false, false) => "; time axes differ between panels",
            (false, true) => "",
        });
    }
    let mut head = Head {
        subject: quantity.title,
        findings: (quantity.findings)(&variants),
        note,
    };
    if overlay {
        let axes = PlotAxes {
            span: longest,
            ticks: quantity.ticks(&variants, &heights, 7),
        };
        return overlaid(results, quantity, &variants, &head, &axes);
    }
    let own = |at: usize| quantity.ticks(&variants[at..=at], &heights[at..=at], 4);
    let shared = quantity.ticks(&variants, &heights, 4);
    let panel = |at: usize| PlotAxes {
        span: if alike { longest } else { spans[at] },
        ticks: if own_values { own(at) } else { shared.clone() },
    };
    let axes: Vec<PlotAxes> = (0..variants.len()).map(panel).collect();
    in_panels(results, quantity, &variants, &mut head, &axes, own_values)
}

/// All variants in one plot, with a key.
fn overlaid(
    results: &Results,
    quantity: &CurveQuantity,
    variants: &[VariantResults<'_>],
    head: &Head<'_>,
    axes: &PlotAxes,
) -> Canvas {
    let height = 540.0;
    let sheet = results.sheet();
    let entry = |(variant, name): (&VariantResults<'_>, String)| KeyEntry {
        value: quantity.peak_of(variant),
        colour: variant.style.colour(),
        name,
        detail: quantity.detail(variant),
    };
    let names = names::within(variants, LABEL, Weight::Bold, sheet.key_name());
    let entries: Vec<KeyEntry> = variants.iter().zip(names).map(entry).collect();
    let (key_right, key_below) = key_room(sheet, &entries);
    let area = Area::of_page(sheet, height, 50.0, key_right);
    let mut canvas = page_of_run(results, head, height + key_below);
    let plot = Plot::new(area, axes, quantity);
    let dense = density_note(
        variants
            .iter()
            .any(|variant| plot.envelope(variant).is_some()),
    );
    value_axis(
        &mut canvas,
        area,
        &plot.y,
        &axes.ticks,
        &format!("{}{}{dense}", quantity.axis, quantity.point_note),
    );
    // High peaks first, so that low ones are drawn over them.
    let order = variants
        .iter()
        .sorted_by(|a, b| quantity.peak_of(b).total_cmp(&quantity.peak_of(a)))
        .collect_vec();
    order
        .iter()
        .for_each(|variant| plot.band(&mut canvas, variant));
    order
        .iter()
        .for_each(|variant| plot.line(&mut canvas, variant, 2.0));
    plot.capacities(&mut canvas, variants, true);
    let (times, unit) = time_ticks(plot.x.high, 8);
    bottom_axis(
        &mut canvas,
        area,
        &plot.x,
        &times,
        &format!("{} since {}", unit.long, results.start()),
    );
    key(&mut canvas, area, sheet.px() - 10.0, entries);
    canvas
}

/// The end of a plot's time axis, and the ticks of its value axis.
struct PlotAxes {
    span: f64,
    ticks: Vec<AxisTick>,
}

/// A panel for each variant; with `own_values`, each has a value axis of its own.
fn in_panels(
    results: &Results,
    quantity: &CurveQuantity,
    variants: &[VariantResults<'_>],
    head: &mut Head<'_>,
    axes: &[PlotAxes],
    own_values: bool,
) -> Canvas {
    let labels = axes
        .iter()
        .flat_map(|axes| &axes.ticks)
        .map(|tick| &tick.label);
    let widest = widest(labels, SMALL, Weight::Regular);
    let (areas, height) = panels(
        results.sheet(),
        variants.len(),
        own_values.then_some(widest),
    );
    let plot = |(area, axes): (&Area, &PlotAxes)| Plot::new(*area, axes, quantity);
    let plots: Vec<Plot<'_>> = areas.iter().zip(axes).map(plot).collect();
    let dense = density_note(
        plots
            .iter()
            .zip(variants)
            .any(|(plot, variant)| plot.envelope(variant).is_some()),
    );
    head.note.push_str(dense);
    let mut canvas = page_of_run(results, head, height);
    let tops: Vec<f64> = axes
        .iter()
        .map(|axes| axes.ticks.last().expect("there are ticks").value)
        .collect();
    let link = link_note(variants, &tops, quantity);
    let note = format!(
        "{}{link} over time since {}{}",
        quantity.axis,
        results.start(),
        quantity.point_note
    );
    let lines = in_lines(&note, SMALL, Weight::Regular, results.sheet().inner(), 2);
    write_lines(&mut canvas, &lines, (MARGIN, TOP - 2.0), 15.0, SMALL, INK);
    let names = panel_names(variants, &areas);
    for (at, (&area, variant)) in areas.iter().zip(variants).enumerate() {
        let (plot, ticks) = (&plots[at], &axes[at].ticks);
        let mut detail = quantity.detail(variant);
        if let Some(capacity) = (quantity.capacity)(variant).filter(|_| link.is_empty()) {
            detail.push_str(&format!(", link {}", rate(capacity)));
        }
        let labelled = own_values || area.left < MARGIN + 60.0;
        panel_frame(
            &mut canvas,
            area,
            &plot.y,
            ticks,
            &Heading {
                name: &names[at],
                detail: &detail,
                labelled,
            },
        );
        plot.band(&mut canvas, variant);
        plot.line(&mut canvas, variant, 1.6);
        plot.capacities(&mut canvas, std::slice::from_ref(variant), false);
        panel_time(&mut canvas, area, &plot.x);
    }
    canvas
}

/// Explains curves that are too dense for a line.
const fn density_note(is_dense: bool) -> &'static str {
    if is_dense {
        "; where too dense: range and mean"
    } else {
        ""
    }
}

/// The greatest value that is drawn of a variant.
fn height_of(variant: &VariantResults<'_>, quantity: &CurveQuantity) -> f64 {
    let drawn = |row: &TimelineRow| (quantity.value)(row).max((quantity.band)(row).1);
    variant
        .timeline
        .iter()
        .map(|row| drawn(row))
        .fold(0.0, f64::max)
}

/// Whether a common axis would leave the lowest curve too flat to read. Curves that are always zero do not count.
fn differ(heights: &[f64]) -> bool {
    let (low, high) = span(
        &heights
            .iter()
            .copied()
            .filter(|height| *height > 0.0)
            .collect::<Vec<_>>(),
    );
    low > 0.0 && high > SHARED_VALUE * low
}

/// The capacity that all variants share, for the line above the panels; empty where there is none or it differs.
fn link_note(variants: &[VariantResults<'_>], tops: &[f64], quantity: &CurveQuantity) -> String {
    let Some(capacity) = shared_link(variants, quantity) else {
        return String::new();
    };
    let drawn = tops.iter().filter(|top| capacity <= **top).count();
    let dashed = match drawn {
        0 => "",
        _ if drawn == tops.len() => "dashed: ",
        _ => "dashed where in range: ",
    };
    format!(" ({dashed}link {})", rate(capacity))
}

/// The capacity that all variants share, if they do.
fn shared_link(variants: &[VariantResults<'_>], quantity: &CurveQuantity) -> Option<f64> {
    let capacity = |variant: &VariantResults<'_>| (quantity.capacity)(variant);
    variants.iter().map(capacity).dedup().exactly_one().ok()?
}

/// Names for the panels of small multiples, all of one length.
pub(super) fn panel_names(variants: &[VariantResults<'_>], areas: &[Area]) -> Vec<String> {
    let width = areas.first().map_or(0.0, |area| area.right - area.left);
    names::within(variants, LABEL, Weight::Bold, width)
}

/// The text above a panel, and whether its value axis has labels.
pub(super) struct Heading<'h> {
    pub(super) name: &'h str,
    pub(super) detail: &'h str,
    pub(super) labelled: bool,
}

/// Name, detail, grid and value labels of a panel.
pub(super) fn panel_frame(
    canvas: &mut Canvas,
    area: Area,
    y: &Scale,
    ticks: &[AxisTick],
    heading: &Heading<'_>,
) {
    let width = area.right - area.left;
    let name = fitted_name(heading.name, LABEL, Weight::Bold, width);
    write_bold(canvas, &name, (area.left, area.top - 27.0), LABEL, INK);
    write_fitted(
        canvas,
        heading.detail,
        (area.left, area.top - 11.0),
        SMALL,
        MUTED,
        width,
    );
    let label = |tick: &AxisTick| {
        if heading.labelled {
            tick.label.clone()
        } else {
            String::new()
        }
    };
    let ticks: Vec<AxisTick> = ticks
        .iter()
        .map(|tick| AxisTick {
            label: label(tick),
            ..tick.clone()
        })
        .collect();
    value_axis(canvas, area, y, &ticks, "");
}

/// The time axis of a panel: its last label carries the unit.
pub(super) fn panel_time(canvas: &mut Canvas, area: Area, x: &Scale) {
    let room = ((area.right - area.left) / 48.0) as usize;
    bottom_axis(
        canvas,
        area,
        x,
        &ticks_of_short_time(x, 40.0, room.clamp(2, 6)),
        "",
    );
}

/// A step line: each bin that begins before `end` is level from its start to its end.
pub(super) fn steps(
    variant: &VariantResults<'_>,
    end: f64,
    value: impl Fn(&TimelineRow) -> f64,
    x: &Scale,
    y: &Scale,
) -> Vec<Position> {
    let shown = variant.timeline.iter().filter(|row| row.t_s < end);
    let step =
        |row: &&TimelineRow| [row.t_s, row.t_s + row.bin_s].map(|t| (x.at(t), y.at(value(row))));
    shown.flat_map(step).collect()
}

/// One plot: its area, its scales, and the quantity.
struct Plot<'q> {
    area: Area,
    x: Scale,
    y: Scale,
    quantity: &'q CurveQuantity,
}

impl<'q> Plot<'q> {
    fn new(area: Area, axes: &PlotAxes, quantity: &'q CurveQuantity) -> Self {
        let x = Scale::from_zero(axes.span, area.left, area.right);
        Self {
            area,
            x,
            y: Scale::to_last(&axes.ticks, area.bottom, area.top),
            quantity,
        }
    }

    fn steps(
        &self,
        variant: &VariantResults<'_>,
        value: impl Fn(&TimelineRow) -> f64,
    ) -> Vec<Position> {
        decimate(&steps(variant, self.x.high, value, &self.x, &self.y), 2.0)
    }

    /// The curve of a variant as an envelope, where it would be solid ink.
    fn envelope(&self, variant: &VariantResults<'_>) -> Option<Envelope> {
        envelope(&steps(
            variant,
            self.x.high,
            self.quantity.value,
            &self.x,
            &self.y,
        ))
    }

    fn band(&self, canvas: &mut Canvas, variant: &VariantResults<'_>) {
        if variant.runs.len() > 1 && self.envelope(variant).is_none() {
            let upper = self.steps(variant, |row| (self.quantity.band)(row).1);
            let lower = self.steps(variant, |row| (self.quantity.band)(row).0);
            canvas.between(upper, lower, variant.style.colour(), 0.22);
        }
    }

    fn line(&self, canvas: &mut Canvas, variant: &VariantResults<'_>, width: f64) {
        let colour = variant.style.colour();
        if let Some(dense) = self.envelope(variant) {
            canvas.between(dense.upper, dense.lower, colour, 0.35);
            return canvas.path(dense.mean, Stroke::solid(colour, width));
        }
        canvas.path(
            self.steps(variant, self.quantity.value),
            Stroke::solid(colour, width),
        );
    }

    /// The distinct capacities of the variants as reference lines, with a label where `labelled`.
    fn capacities(&self, canvas: &mut Canvas, variants: &[VariantResults<'_>], labelled: bool) {
        let with_link = variants
            .iter()
            .filter(|variant| (self.quantity.capacity)(variant).is_some());
        for capacity in links(with_link)
            .into_iter()
            .filter(|capacity| *capacity <= self.y.high)
        {
            let y = self.y.at(capacity);
            let stroke = Stroke {
                colour: INK,
                width: 1.3,
                dash: &[6.0, 4.0],
            };
            canvas.line((self.area.left, y), (self.area.right, y), stroke);
            if labelled {
                let text = format!("link {}", rate(capacity));
                let width = text_width(&text, SMALL, Weight::Regular) + 8.0;
                let right = self.area.right - 2.0;
                canvas.rectangle((right - width, y + 3.0), (right, y + 20.0), WHITE, 0.8);
                write(
                    canvas,
                    &text,
                    (right - 4.0, y + 16.0),
                    SMALL,
                    INK,
                    Align::Right,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_get_their_own_value_axis_when_a_common_one_flattens_the_lowest_curve() {
        let cases = [
            (&[2.0, 2000.0][..], true, "a thousand times"),
            (
                &[250.0, 2000.0],
                false,
                "eight times, the limit for a common axis",
            ),
            (&[0.0, 1500.0, 2000.0], false, "a curve that is always zero"),
            (&[0.0, 0.0], false, "nothing at all"),
            (&[], false, "no variant"),
        ];
        for (heights, own, reason) in cases {
            assert_eq!(differ(heights), own, "{reason}");
        }
    }
}
