//! Load over time: concurrent image pulls, and the registry's egress.
//!
//! A line shows one real run, the same replicate for all variants, over the band that contains 90% of all runs in each
//! bin. A line that would be a solid block, such as clusters updated one by one, becomes an envelope with its mean. Up
//! to three variants of similar duration share one plot. More variants get a panel each, with a common value axis, or
//! separate axes if a common one would flatten the low curves.

use crate::report::clock::StartClock;
use crate::report::names;
use crate::report::other_load::OtherLoadOverTime;
use crate::report::prelude::*;
use crate::report::spans::TimeSpans;
use crate::results::TimelineRow;

/// Maximum number of variants in one plot.
const OVERLAY_MAX: usize = 3;
/// Variants share a time axis if the longest takes at most this many times as long as the shortest.
pub(super) const SHARED_TIME: f64 = 4.0;
/// Panels share a value axis if the highest curve is at most this many times as high as the lowest.
pub(super) const SHARED_VALUE: f64 = 8.0;
/// A capacity is drawn if it is at most this many times the maximum value; otherwise it would flatten the curves.
const CAPACITY_SHOWN: f64 = 3.0;

/// A quantity over time.
struct CurveQuantity {
    title: &'static str,
    findings: fn(&[VariantResults<'_>]) -> Vec<String>,
    axis: String,
    /// The definition of a point of the curve, and of the peak if the peak is another measure.
    point_note: &'static str,
    whole: bool,
    /// Size of the displayed unit, in recorded units.
    unit: f64,
    unit_name: &'static str,
    value: fn(&TimelineRow) -> f64,
    band: fn(&TimelineRow) -> (f64, f64),
    /// The capacity of a variant, in the displayed unit.
    capacity: fn(&VariantResults<'_>) -> Option<f64>,
    /// The measure of the curve's peak.
    peak: Measure,
    /// The load of others on the same link.
    others: Option<OtherLoadOverTime>,
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
            unit: 1.0,
            unit_name: "",
            value: |row| row.pulls as f64,
            band: |row| (row.pulls_p5, row.pulls_p95),
            capacity: |_| None,
            peak: Measure::PeakPulls,
            others: None,
        },
    )
}

/// The registry's egress over time.
pub(in crate::report) fn egress(results: &Results) -> Canvas {
    let mut greatest: f64 = 0.0;
    for row in &results.tables.timeline {
        greatest = greatest.max(row.egress_peak_1s_bytes_per_s);
        greatest = greatest.max(row.egress_peak_1s_p95_bytes_per_s);
    }
    for run in &results.tables.runs {
        greatest = greatest.max(run.egress_peak_1s_bytes_per_s);
    }
    let unit = RateUnit::for_max(greatest);
    draw(
        results,
        &CurveQuantity {
            title: "Registry egress over time",
            findings: findings::egress,
            axis: format!("registry egress in {}", unit.name),
            point_note: ", mean over 1 s; curve: maximum per time bin",
            whole: false,
            unit: unit.bytes_per_s,
            unit_name: unit.name,
            value: |row| row.egress_peak_1s_bytes_per_s,
            band: |row| {
                (
                    row.egress_peak_1s_p5_bytes_per_s,
                    row.egress_peak_1s_p95_bytes_per_s,
                )
            },
            capacity: |variant| variant.info.registry_egress_bytes_per_s,
            peak: Measure::EgressPeak1s,
            others: OtherLoadOverTime::of_settings(&results.resolved),
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
        let mut top = greatest;
        for variant in variants {
            if let Some(capacity) = (self.capacity)(variant)
                && capacity <= CAPACITY_SHOWN * greatest
            {
                top = top.max(capacity);
            }
        }
        scaled(
            ticks_from_zero(top / self.unit, most, self.whole),
            self.unit,
        )
    }

    /// The upper end of a variant's band in a bin.
    fn upper(&self, row: &TimelineRow) -> f64 {
        let (_, upper) = (self.band)(row);
        upper
    }

    /// The lower end of a variant's band in a bin.
    fn lower(&self, row: &TimelineRow) -> f64 {
        let (lower, _) = (self.band)(row);
        lower
    }

    /// Variants with high peaks come first, so that low ones are drawn over them.
    fn by_peak<'v, 'r>(&self, variants: &'v [VariantResults<'r>]) -> Vec<&'v VariantResults<'r>> {
        let mut order: Vec<&VariantResults<'_>> = variants.iter().collect();
        order.sort_by(|a, b| self.peak_of(b).total_cmp(&self.peak_of(a)));
        order
    }

    /// The peak of a variant, for the order and the key.
    fn peak_of(&self, variant: &VariantResults<'_>) -> f64 {
        variant.median(self.peak).unwrap_or(0.0)
    }

    /// `peak 1,132 [1,110–1,150]`: the median peak over runs with its 5th and 95th percentile.
    fn detail(&self, variant: &VariantResults<'_>) -> String {
        let Some(row) = variant.summary(self.peak) else {
            return String::new();
        };
        let (Some(median), Some(p5), Some(p95)) = (row.median, row.p5, row.p95) else {
            return String::new();
        };
        let values = [median, p5, p95].map(|value| value / self.unit);
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
        format!("peak {peak} {}", self.unit_name)
            .trim_end()
            .to_owned()
    }
}

/// How the variants share plots and axes.
struct Sharing {
    /// All variants are in one plot.
    overlay: bool,
    /// All variants share one time axis.
    time: bool,
    /// Each variant has its own value axis.
    own_values: bool,
}

impl Sharing {
    /// Decides how variants share plots and axes, from the ends and heights of their curves.
    fn of(
        quantity: &CurveQuantity,
        variants: &[VariantResults<'_>],
        ends: &[f64],
        heights: &[f64],
    ) -> Self {
        let longest = ends.iter().copied().fold(0.0, f64::max);
        let time = ends.iter().all(|end| end * SHARED_TIME >= longest);
        let overlay = variants.len() <= OVERLAY_MAX && time;
        // A common axis that includes the shared link does not hide low curves: they show that a variant needs little
        // of the link.
        let (_, highest) = span(heights);
        let shares_link = match shared_link(variants, quantity) {
            Some(link) => link <= CAPACITY_SHOWN * highest,
            None => false,
        };
        Self {
            overlay,
            time,
            own_values: !overlay && !shares_link && differ(heights),
        }
    }

    /// The axes that differ between panels, for the subtitle.
    const fn note(&self) -> &'static str {
        match (self.own_values, self.time) {
            _ if self.overlay => "",
            (true, true) => "; value axes differ between panels",
            (true, false) => "; axes differ between panels",
            (false, false) => "; time axes differ between panels",
            (false, true) => "",
        }
    }
}

/// Draws a quantity of all variants over time.
fn draw(results: &Results, quantity: &CurveQuantity) -> Canvas {
    let variants = results.variants();
    let active = variants
        .iter()
        .map(|variant| variant.active_until(quantity.value, quantity.band));
    let time = TimeSpans::of(&variants, active.collect());
    let ends = &time.ends;
    let longest = ends.iter().copied().fold(0.0, f64::max);
    let heights: Vec<f64> = variants
        .iter()
        .map(|variant| height_of(variant, quantity))
        .collect();
    let sharing = Sharing::of(quantity, &variants, ends, &heights);
    let mut note = extent(&variants) + &results.replicate_of("line");
    if variants.iter().any(|variant| variant.runs.len() > 1) {
        note.push_str("; shade: p5–p95 of all runs");
    }
    if quantity.others.is_some() {
        note.push_str("; grey: load of others");
    }
    note.push_str(sharing.note());
    note.push_str(time.note());
    let head = Head {
        subject: quantity.title,
        findings: (quantity.findings)(&variants),
        note,
    };
    if sharing.overlay {
        let axes = PlotAxes {
            span: longest,
            ticks: quantity.ticks(&variants, &heights, 7),
            goes_on: time.goes_on.contains(&true),
        };
        return overlaid(results, quantity, &variants, &head, &axes);
    }
    let shared = quantity.ticks(&variants, &heights, 4);
    let mut axes: Vec<PlotAxes> = Vec::new();
    for at in 0..variants.len() {
        axes.push(PlotAxes {
            span: if sharing.time { longest } else { ends[at] },
            goes_on: time.goes_on[at],
            ticks: if sharing.own_values {
                quantity.ticks(&variants[at..=at], &heights[at..=at], 4)
            } else {
                shared.clone()
            },
        });
    }
    in_panels(results, quantity, head, &axes, sharing.own_values)
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
    let names = names::within(variants, LABEL, Weight::Bold, sheet.key_name());
    let mut entries: Vec<KeyEntry> = Vec::new();
    for (variant, name) in variants.iter().zip(names) {
        entries.push(KeyEntry {
            value: quantity.peak_of(variant),
            colour: variant.style.colour(),
            dash: &[],
            name,
            detail: quantity.detail(variant),
        });
    }
    let (key_right, key_below) = key_room(sheet, &entries);
    let area = Area::of_page(sheet, height, 50.0, key_right);
    let mut canvas = page_of_run(results, head, height + key_below);
    let plot = Plot::new(area, axes, quantity);
    let dense = density_note(variants.iter().any(|variant| plot.is_dense(variant)));
    let title = format!("{}{}{dense}", quantity.axis, quantity.point_note);
    value_axis(&mut canvas, area, &plot.y, &axes.ticks, &title);
    let order = quantity.by_peak(variants);
    plot.others(&mut canvas);
    for variant in &order {
        plot.band(&mut canvas, variant);
    }
    for variant in &order {
        plot.line(&mut canvas, variant, 2.0);
    }
    plot.capacities(&mut canvas, variants, true);
    let (mut times, unit) = time_ticks(plot.x.high, 8);
    let title = match results.clock() {
        Some(clock) if clock.label(&mut times) => {
            format!("time of day; the rollout starts at {}", clock.text)
        }
        _ => format!("{} since {}", unit.long, results.start()),
    };
    bottom_axis(&mut canvas, area, &plot.x, &times, &title);
    if axes.goes_on {
        arrow(&mut canvas, area);
    }
    key(&mut canvas, area, sheet.px() - 10.0, entries);
    canvas
}

/// The end of a plot's time axis, and the ticks of its value axis.
struct PlotAxes {
    span: f64,
    ticks: Vec<AxisTick>,
    /// Whether a rollout goes on beyond the end of the time axis.
    goes_on: bool,
}

impl PlotAxes {
    /// The end of the value axis.
    fn top(&self) -> f64 {
        self.ticks.last().expect("there are ticks").value
    }
}

/// A panel for each variant; with `own_values`, each has its own value axis.
fn in_panels(
    results: &Results,
    quantity: &CurveQuantity,
    mut head: Head<'_>,
    axes: &[PlotAxes],
    own_values: bool,
) -> Canvas {
    let variants = &results.variants();
    let ticks = axes.iter().flat_map(|axes| &axes.ticks);
    let widest = widest(ticks.map(|tick| &tick.label), SMALL, Weight::Regular);
    let (areas, height) = panels(
        results.sheet(),
        variants.len(),
        own_values.then_some(widest),
    );
    let mut plots: Vec<Plot<'_>> = Vec::new();
    for (area, axes) in areas.iter().zip(axes) {
        plots.push(Plot::new(*area, axes, quantity));
    }
    let mut pairs = plots.iter().zip(variants);
    let is_dense = pairs.any(|(plot, variant)| plot.is_dense(variant));
    head.note.push_str(density_note(is_dense));
    let mut canvas = page_of_run(results, &head, height);
    let tops: Vec<f64> = axes.iter().map(PlotAxes::top).collect();
    let link = link_note(variants, &tops, quantity);
    let clock = results.clock();
    let since = match &clock {
        Some(clock) => format!("over the day from {}, the start of the rollout", clock.text),
        None => format!("over time since {}", results.start()),
    };
    let note = format!("{}{link} {since}{}", quantity.axis, quantity.point_note);
    let lines = in_lines(&note, SMALL, Weight::Regular, results.sheet().inner(), 2);
    write_lines(
        &mut canvas,
        &lines,
        (MARGIN, TOP - 2.0),
        15.0,
        TextStyle::new(SMALL, INK),
    );
    let names = panel_names(variants, &areas);
    for (at, (&area, variant)) in areas.iter().zip(variants).enumerate() {
        let plot = &plots[at];
        let mut detail = quantity.detail(variant);
        if link.is_empty()
            && let Some(capacity) = (quantity.capacity)(variant)
        {
            detail.push_str(&format!(", link {}", rate(capacity)));
        }
        let labelled = own_values || area.left < MARGIN + 60.0;
        panel_frame(
            &mut canvas,
            area,
            &plot.y,
            &axes[at].ticks,
            &Heading {
                name: &names[at],
                detail: &detail,
                labelled,
            },
        );
        plot.others(&mut canvas);
        plot.band(&mut canvas, variant);
        plot.line(&mut canvas, variant, 1.6);
        plot.capacities(&mut canvas, std::slice::from_ref(variant), false);
        panel_time(&mut canvas, area, &plot.x, clock.as_ref());
        if axes[at].goes_on {
            arrow(&mut canvas, area);
        }
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

/// The maximum value that is drawn for a variant.
fn height_of(variant: &VariantResults<'_>, quantity: &CurveQuantity) -> f64 {
    let mut height: f64 = 0.0;
    for row in &variant.timeline {
        height = height.max((quantity.value)(row).max(quantity.upper(row)));
    }
    height
}

/// Returns whether a common axis would leave the lowest curve too flat to read. Curves that are always zero do not
/// count.
fn differ(heights: &[f64]) -> bool {
    let mut positive = heights.to_vec();
    positive.retain(|height| *height > 0.0);
    let (low, high) = span(&positive);
    low > 0.0 && high > SHARED_VALUE * low
}

/// The capacity that all variants share, for the line above the panels; empty if there is none or it differs.
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

/// The capacity that all variants share, if there is one.
fn shared_link(variants: &[VariantResults<'_>], quantity: &CurveQuantity) -> Option<f64> {
    let mut capacities = variants.iter().map(quantity.capacity);
    let first = capacities.next()?;
    if capacities.any(|other| other != first) {
        return None;
    }
    first
}

/// Names for the panels of small multiples, cut to the same length.
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
    write_bold(
        canvas,
        &name,
        (area.left, area.top - 27.0),
        TextStyle::new(LABEL, INK),
    );
    write_fitted(
        canvas,
        heading.detail,
        (area.left, area.top - 11.0),
        TextStyle::new(SMALL, MUTED),
        width,
    );
    let mut ticks = ticks.to_vec();
    if !heading.labelled {
        for tick in &mut ticks {
            tick.label.clear();
        }
    }
    value_axis(canvas, area, y, &ticks, "");
}

/// Draws the time axis of a panel, with the unit in its last label.
pub(super) fn panel_time(canvas: &mut Canvas, area: Area, x: &Scale, clock: Option<&StartClock>) {
    let room = ((area.right - area.left) / 48.0) as usize;
    let mut ticks = ticks_of_short_time(x, 40.0, room.clamp(2, 6));
    if let Some(clock) = clock.filter(|_| !x.log) {
        clock.label(&mut ticks);
    }
    bottom_axis(canvas, area, x, &ticks, "");
}

/// A step line: each bin that begins before `end` is level from its start to its end.
pub(super) fn steps(
    variant: &VariantResults<'_>,
    end: f64,
    value: impl Fn(&TimelineRow) -> f64,
    x: &Scale,
    y: &Scale,
) -> Vec<Position> {
    let mut points = Vec::new();
    for row in &variant.timeline {
        if row.t_s < end {
            let height = y.at(value(row));
            points.push((x.at(row.t_s), height));
            points.push((x.at(row.t_s + row.bin_s), height));
        }
    }
    points
}

/// One plot: its area, its scales, and the quantity.
struct Plot<'q> {
    area: Area,
    x: Scale,
    y: Scale,
    quantity: &'q CurveQuantity,
}

impl<'q> Plot<'q> {
    /// A plot with the given axes.
    fn new(area: Area, axes: &PlotAxes, quantity: &'q CurveQuantity) -> Self {
        let x = Scale::from_zero(axes.span, area.left, area.right);
        Self {
            area,
            x,
            y: Scale::to_last(&axes.ticks, area.bottom, area.top),
            quantity,
        }
    }

    /// The step curve of a value on this plot.
    fn steps(
        &self,
        variant: &VariantResults<'_>,
        value: impl Fn(&TimelineRow) -> f64,
    ) -> Vec<Position> {
        decimate(&steps(variant, self.x.high, value, &self.x, &self.y), 2.0)
    }

    /// The curve of a variant as an envelope, if its line would be a solid block.
    fn envelope(&self, variant: &VariantResults<'_>) -> Option<Envelope> {
        envelope(&steps(
            variant,
            self.x.high,
            self.quantity.value,
            &self.x,
            &self.y,
        ))
    }

    /// Returns whether the line of a variant would be a solid block.
    fn is_dense(&self, variant: &VariantResults<'_>) -> bool {
        self.envelope(variant).is_some()
    }

    /// Draws the band of a variant if its curve is a line.
    fn band(&self, canvas: &mut Canvas, variant: &VariantResults<'_>) {
        if variant.runs.len() > 1 && !self.is_dense(variant) {
            let upper = self.steps(variant, |row| self.quantity.upper(row));
            let lower = self.steps(variant, |row| self.quantity.lower(row));
            canvas.between(upper, lower, variant.style.colour(), 0.22);
        }
    }

    /// Draws the curve of a variant.
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

    /// Draws the load of others, up to the end of the value axis.
    fn others(&self, canvas: &mut Canvas) {
        let Some(others) = &self.quantity.others else {
            return;
        };
        let mut points: Vec<Position> = Vec::new();
        for (at_s, rate) in others.line(self.x.high) {
            points.push((self.x.at(at_s), self.y.at(rate.min(self.y.high))));
        }
        canvas.path(points, Stroke::solid(MUTED, 1.6));
    }

    /// Draws the distinct capacities of the variants as reference lines, with labels if `labelled`.
    fn capacities(&self, canvas: &mut Canvas, variants: &[VariantResults<'_>], labelled: bool) {
        let with_link = variants
            .iter()
            .filter(|variant| (self.quantity.capacity)(variant).is_some());
        let mut capacities = links(with_link);
        capacities.retain(|capacity| *capacity <= self.y.high);
        for capacity in capacities {
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
                    TextStyle::new(SMALL, INK),
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
