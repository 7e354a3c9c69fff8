//! The effect of a swept setting: peak pulls, peak egress and completion time against its values.
//!
//! One chart for each swept path, and one line for each strategy and combination of the other swept settings. A line
//! joins medians over runs of values that are quantities, the shade contains 90% of all runs, whiskers are 95%
//! confidence intervals of the median. Values that are not quantities are spaced evenly, with their dots side by side.
//! Where runs did not finish, the first panel has the share that did: without it, the other panels mislead. A link that
//! a variant fills bounds the peak of egress, so the time for which it is full takes its place.

use crate::report::charts::panel::{self, EGRESS, FINISHING, MeasurePanel};
use crate::report::prelude::*;
use crate::report::swept::{SweepAxis, SweepLine};

/// Most lines with a shade; more shades would hide each other.
const SHADED_MAX: usize = 4;
/// Height of a panel, at least.
const PANEL: f64 = 168.0;
/// Height of a line's label.
const LABEL_LINE: f64 = 16.0;
/// Room above a panel.
const ABOVE: f64 = 34.0;
/// Room for the second line of labels below the last panel.
const SECOND_LINE: f64 = 14.0;
/// Least room for a label: with less, only some of the labels are written.
const WORD: f64 = 44.0;
/// Widest label of a line.
const NAME: f64 = 210.0;
/// From the end of an axis to the value beside it, at least.
const INSET: f64 = 30.0;
/// From the dot of a line to that of the next where values are evenly spaced, at most; and what a dot needs.
const STEP: f64 = 14.0;
const DOT: f64 = 10.0;

/// Draws a chart for each swept path that a line can be drawn along, with the names of their files.
pub(in crate::report) fn draw_all(results: &Results) -> Vec<(String, Canvas)> {
    let variants = results.variants();
    let axes = SweepAxis::all(&variants);
    let charts: Vec<(&SweepAxis<'_>, Canvas)> = axes
        .iter()
        .filter_map(|axis| Some((axis, draw(results, axis, &axes, &variants)?)))
        .collect();
    let alone = charts.len() == 1;
    let mut names: Vec<String> = Vec::new();
    for (axis, _) in &charts {
        let name = if alone {
            "sweep".to_owned()
        } else {
            format!("sweep-{}", file_name(axis.name))
        };
        let taken = names.iter().filter(|other| **other == name).count();
        names.push(if taken == 0 {
            name
        } else {
            format!("{name}-{}", names.len() + 1)
        });
    }
    names
        .into_iter()
        .zip(charts)
        .map(|(name, (_, canvas))| (name, canvas))
        .collect()
}

/// A setting's name with only letters, digits and dashes, for file names and links.
fn file_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    plain
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

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
    // On a narrow page, the names stand below.
    let is_keyed = sheet.is_narrow() && lines.len() > 1;
    let most = if sheet.is_narrow() {
        sheet.inner() - 18.0
    } else {
        NAME.min(0.22 * sheet.px())
    };
    let names: Vec<String> = lines
        .iter()
        .map(|line| fitted_name(&line.name, LABEL, Weight::Bold, most))
        .collect();
    let widest = if sheet.is_narrow() {
        0.0
    } else {
        widest(&names, LABEL, Weight::Bold).max(60.0)
    };
    let panel = PANEL.max(LABEL_LINE * lines.len() as f64);
    let top = TOP + 30.0;
    let left = MARGIN + 56.0;
    let right = sheet.px() - MARGIN - widest - 34.0;
    let area = |at: usize| {
        let top = top + (panel + ABOVE) * at as f64;
        Area {
            left,
            top,
            right,
            bottom: top + panel,
        }
    };
    let shown: Vec<&VariantResults<'_>> = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|(_, variant)| *variant))
        .collect();
    let is_exposed = shown.iter().any(|variant| variant.exposed());
    let is_full = |variant: &&VariantResults<'_>| {
        let peak = variant.median(EGRESS);
        variant
            .info
            .registry_egress_bytes_per_s
            .zip(peak)
            .is_some_and(|(link, peak)| peak >= findings::FULL * link)
    };
    let measures = [
        shown
            .iter()
            .any(|variant| !variant.is_whole())
            .then_some(FINISHING),
        is_exposed.then_some("exposed_targets"),
        Some("peak_pulls"),
        (!is_exposed).then_some(if shown.iter().any(is_full) {
            "egress_busy_s"
        } else {
            EGRESS
        }),
        shown
            .iter()
            .any(|variant| variant.ready_time().is_some())
            .then_some(READY_TIME),
    ];
    let panels: Vec<MeasurePanel> = measures
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, measure)| panel::of(measure, &shown, area(at)))
        .collect();
    let last = panels.len() - 1;
    let (inset, step) = beside(axis.numeric, axis.values.len(), lines.len(), right - left);
    let places = (0..lines.len()).collect();
    let first = lines.iter().map(|line| line.points.first());
    let products = first
        .map(|point| point.map_or(("", false), |(_, variant)| variant.product()))
        .collect_vec();
    let styles = CurveStyle::of(&[places], &products);
    let x = axis.scale(left + inset, right - inset);
    let beside: &[String] = if sheet.is_narrow() { &[] } else { &names };
    let drawing = Drawing {
        axis,
        lines: &lines,
        names: beside,
        styles,
        x,
        step,
    };

    let marks = if lines.len() > SHADED_MAX || !axis.numeric {
        "bar"
    } else {
        "shade"
    };
    let subtitle = format!(
        "{}; dot: median, whisker: its 95% CI, {marks}: p5–p95 of all runs",
        extent(variants)
    );
    let subject = format!("Effect of {}", axis.subject());
    let along: Vec<Vec<&VariantResults<'_>>> = lines
        .iter()
        .map(|line| line.points.iter().map(|(_, variant)| *variant).collect())
        .collect();
    let findings = match is_exposed {
        true => findings::exposure(variants),
        false => findings::effect(&axis.subject(), &along),
    };
    let head = Head {
        subject: &subject,
        findings,
        note: subtitle,
    };
    let mut below = area(last).bottom + 58.0 + second_line(axis);
    let keyed = if is_keyed {
        LABEL_LINE * names.len() as f64
    } else {
        0.0
    };
    let mut canvas = page(sheet, &head, below + keyed + FOOTER);
    for (at, panel) in panels.iter().enumerate() {
        drawing.panel(&mut canvas, area(at), panel, at == last);
    }
    for (at, name) in names.iter().enumerate().filter(|_| is_keyed) {
        mark(
            &mut canvas,
            (MARGIN + 8.0, below),
            at,
            drawing.styles[at].colour(),
        );
        write_bold(&mut canvas, name, (MARGIN + 18.0, below + 4.5), LABEL, INK);
        below += LABEL_LINE;
    }
    Some(canvas)
}

/// Distance of the first and the last value from the ends of an axis of this width, and distance between the dots of
/// neighbouring lines. Evenly spaced values have room for dots side by side.
fn beside(numeric: bool, values: usize, lines: usize, width: f64) -> (f64, f64) {
    if numeric {
        return (INSET, 0.0);
    }
    let gaps = lines.saturating_sub(1).max(1) as f64;
    let inset = (STEP * gaps / 2.0 + DOT).clamp(INSET, width / 5.0);
    let room = (width - 2.0 * inset) / (values - 1) as f64;
    (
        inset,
        STEP.min(0.62 * room / lines as f64)
            .min(2.0 * (inset - DOT) / gaps),
    )
}

/// Labels of values that are not quantities may need a second line.
fn second_line(axis: &SweepAxis<'_>) -> f64 {
    if axis.values.iter().any(|value| value.label.contains('(')) && !axis.numeric {
        SECOND_LINE
    } else {
        0.0
    }
}

struct Drawing<'d> {
    axis: &'d SweepAxis<'d>,
    lines: &'d [SweepLine<'d, 'd>],
    /// Those beside the ends of the lines; none on a narrow page.
    names: &'d [String],
    x: Scale,
    /// From the dot of a line to that of the next.
    step: f64,
    /// The look of each line.
    styles: Vec<CurveStyle>,
}

impl Drawing<'_> {
    /// Position of a line's dot.
    fn at(&self, line: usize, value: usize) -> f64 {
        let x = self.x.at(self.axis.values[value].place);
        x + self.step * (line as f64 - (self.lines.len() - 1) as f64 / 2.0)
    }

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
            SMALL,
            INK,
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
        (0..self.lines.len()).for_each(|at| self.spread(canvas, at, panel));
        (0..self.lines.len()).for_each(|at| self.line(canvas, at, panel));
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
            SMALL,
            INK,
            Align::Middle,
        );
        if self.axis.numeric || room < WORD {
            return bottom_axis(
                canvas,
                area,
                &self.x,
                &thinned(&self.axis.ticks(), &self.x),
                "",
            );
        }
        let (ticks, below) = in_two_lines(&self.axis.ticks(), room);
        bottom_axis(canvas, area, &self.x, &ticks, "");
        for tick in &below {
            let at = (self.x.at(tick.value), area.bottom + 19.0 + SECOND_LINE);
            write(canvas, &tick.label, at, SMALL, MUTED, Align::Middle);
        }
    }

    /// The parts of a line between values without a median, where half of the runs or more did not finish.
    fn pieces(&self, at: usize, panel: &MeasurePanel) -> Vec<Vec<[f64; 6]>> {
        let points: Vec<Option<[f64; 6]>> = self.lines[at]
            .points
            .iter()
            .map(|point| self.place(at, panel, point))
            .collect();
        points
            .split(Option::is_none)
            .map(|piece| piece.iter().copied().flatten().collect())
            .collect()
    }

    /// Where a point is drawn: x, then the y of its median, 5th and 95th percentile, and the ends of the interval.
    fn place(
        &self,
        at: usize,
        panel: &MeasurePanel,
        (value, variant): &(usize, &VariantResults<'_>),
    ) -> Option<[f64; 6]> {
        let y = |value: f64| panel.scale.at(value);
        let x = self.at(at, *value);
        if panel.measure == FINISHING {
            let share = variant.finishing_share()?;
            let [middle, low, high] = [share.estimate, share.low, share.high].map(y);
            return Some([x, middle, middle, middle, low, high]);
        }
        let row = variant.summary(panel.measure)?;
        let median = row.median?;
        // Where some runs did not finish, the upper ends lie behind every finished one: the first panel counts those.
        let finite = |end: Option<f64>| end.filter(|end| end.is_finite()).unwrap_or(median);
        let (low, high) = median_interval(row).unwrap_or((median, median));
        Some([
            x,
            y(median),
            y(finite(row.p5)),
            y(finite(row.p95)),
            y(low),
            y(finite(Some(high))),
        ])
    }

    fn spread(&self, canvas: &mut Canvas, at: usize, panel: &MeasurePanel) {
        let colour = self.styles[at].colour();
        for piece in self.pieces(at, panel) {
            if self.axis.numeric && self.lines.len() <= SHADED_MAX && piece.len() > 1 {
                let upper = piece.iter().map(|&[x, _, _, p95, ..]| (x, p95)).collect();
                canvas.between(
                    upper,
                    piece.iter().map(|&[x, _, p5, ..]| (x, p5)).collect(),
                    colour,
                    0.2,
                );
            } else {
                for [x, _, p5, p95, ..] in piece {
                    canvas.rectangle((x - 4.0, p95), (x + 4.0, p5), colour, 0.28);
                }
            }
        }
    }

    fn line(&self, canvas: &mut Canvas, at: usize, panel: &MeasurePanel) {
        let colour = self.styles[at].colour();
        let pieces = self.pieces(at, panel);
        // Values that are no quantities have no order that a line could follow.
        for piece in pieces.iter().filter(|_| self.axis.numeric) {
            let points = piece.iter().map(|&[x, median, ..]| (x, median)).collect();
            canvas.path(points, Stroke::solid(colour, 2.0));
        }
        for [x, median, _, _, low, high] in pieces.into_iter().flatten() {
            for end in [low, high] {
                canvas.line((x - 4.0, end), (x + 4.0, end), Stroke::solid(colour, 1.3));
            }
            canvas.line((x, low), (x, high), Stroke::solid(colour, 1.3));
            mark(canvas, (x, median), at, colour);
        }
    }

    /// The names at the right, each led to the end of its line, in the order of those ends.
    fn labels(&self, canvas: &mut Canvas, area: Area, panel: &MeasurePanel) {
        let end = |at: usize| {
            self.pieces(at, panel)
                .into_iter()
                .flatten()
                .next_back()
                .map(|[x, median, ..]| (at, (x, median)))
        };
        let mut ends: Vec<(usize, Position)> = (0..self.lines.len()).filter_map(end).collect();
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1).then(a.0.cmp(&b.0)));
        let wished: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
        let places = spaced(&wished, LABEL_LINE, area.top, area.bottom);
        for ((at, (x, y)), place) in ends.into_iter().zip(places) {
            let left = area.right + 14.0;
            canvas.path(
                vec![(x + 7.0, y), (area.right, y), (left + 2.0, place)],
                Stroke::solid(AXIS, 0.7),
            );
            mark(canvas, (left + 8.0, place), at, self.styles[at].colour());
            if let Some(name) = self.names.get(at) {
                write_bold(canvas, name, (left + 18.0, place + 4.5), LABEL, INK);
            }
        }
    }
}

/// A line's mark: four shapes in turn, so that lines differ in grey too.
fn mark(canvas: &mut Canvas, (x, y): Position, line: usize, colour: Colour) {
    let around = |r: f64, canvas: &mut Canvas, colour: Colour| {
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
    };
    around(5.6, canvas, WHITE);
    around(4.4, canvas, colour);
    if line / 4 % 2 == 1 {
        around(2.0, canvas, WHITE);
    }
}

/// Places at least `apart` from each other between `top` and `bottom`, near the wished ones, which are sorted.
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

/// Ticks whose labels have room; the others keep their place and lose their label.
fn thinned(ticks: &[AxisTick], x: &Scale) -> Vec<AxisTick> {
    let mut taken = f64::NEG_INFINITY;
    let label = |tick: &AxisTick| {
        let half = text_width(&tick.label, SMALL, Weight::Regular) / 2.0;
        let at = x.at(tick.value);
        if at - half < taken {
            return AxisTick {
                label: String::new(),
                ..tick.clone()
            };
        }
        taken = at + half + 6.0;
        tick.clone()
    };
    ticks.iter().map(label).collect()
}

/// Labels of evenly spaced values in the room that each has: what a value has in parentheses goes to a second line.
fn in_two_lines(ticks: &[AxisTick], room: f64) -> (Vec<AxisTick>, Vec<AxisTick>) {
    let with = |tick: &AxisTick, text: &str| AxisTick {
        label: fitted(text, SMALL, Weight::Regular, room),
        ..tick.clone()
    };
    let parts = |tick: &AxisTick| {
        let at = tick
            .label
            .find('(')
            .filter(|_| text_width(&tick.label, SMALL, Weight::Regular) > room);
        let (first, second) = tick.label.split_at(at.unwrap_or(tick.label.len()));
        (with(tick, first), with(tick, second))
    };
    ticks.iter().map(parts).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_many_lines_stay_on_the_axis_and_with_their_value() {
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
    fn labels_are_pushed_apart_no_further_than_they_must() {
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
    fn a_setting_gives_a_plain_name_of_a_file() {
        assert_eq!(
            file_name("strategies.a.rancherFleet.maxUnavailable"),
            "strategies-a-rancherFleet-maxUnavailable"
        );
        assert_eq!(file_name("fleet[0].downlink"), "fleet-0-downlink");
    }
}
