//! Two settings together: a cell for each pair of values, with the median over runs as a number and as a shade.
//!
//! The sides are the two swept paths with the most values. Where only one path of the world is swept for several
//! strategies, the strategies are the other side. Other swept settings get separate rows of maps. Darker is higher, in
//! one hue, so that the chart works in grey too. Cells where half of the runs or more
//! did not finish are hatched: they have no median time.

use crate::report::prelude::*;
use crate::report::swept::SweepAxis;
use crate::results::grouped;
use fleetsim_units::counted;

/// Values that span more than this factor are shaded by their logarithm.
const LOG_FROM: f64 = 10.0;
/// Most columns of a map beside which there is room for a third one.
const THREE_MAPS: usize = 4;
/// Most columns of a map; with more, the sides are swapped.
const COLUMNS_MAX: usize = 7;
const CELL: f64 = 34.0;
/// Distance between maps.
const GAP: f64 = 26.0;
/// Widest name of a row.
const ROW_NAME: f64 = 170.0;
/// Height of the key of a map.
const KEY: f64 = 46.0;
/// Height of a line of the columns' labels.
const LABEL_LINE: f64 = 14.0;
/// Values that differ by less than this share count as equal.
const ALIKE: f64 = 0.01;

/// The row or column of a variant; `None` where it is on no map.
type PositionOf<'s> = Box<dyn Fn(&VariantResults<'_>) -> Option<usize> + 's>;

/// A side of the maps.
struct MapSide<'s> {
    title: String,
    labels: Vec<String>,
    of: PositionOf<'s>,
}

/// The measure that a column of maps shows.
struct HeatMeasure {
    name: &'static str,
    title: String,
    low: f64,
    high: f64,
    text: Box<dyn Fn(f64) -> String>,
}

/// The name and the variants of one row of maps.
type MapRow<'v, 'r> = (String, Vec<&'v VariantResults<'r>>);

/// Draws the chart. `None` where no two settings vary together.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let axes = SweepAxis::all(&variants);
    let (sides, rest) = sides(&axes, &variants)?;
    let groups = groups(&sides, &rest, &variants);
    let sheet = results.sheet();
    let [x, y] = laid_out(sheet, sides);
    let shown: Vec<&VariantResults<'_>> = groups
        .iter()
        .flat_map(|(_, variants)| variants)
        .copied()
        .collect();
    let mut measures = measures(&shown);
    if x.labels.len() > THREE_MAPS || sheet.is_narrow() {
        measures.truncate(2);
    }
    let fitted = |label: &String| {
        fitted_name(
            label,
            SMALL,
            Weight::Regular,
            ROW_NAME.min(0.3 * sheet.px()),
        )
    };
    let rows: Vec<String> = y.labels.iter().map(fitted).collect();
    let left = MARGIN + widest(&rows, SMALL, Weight::Regular).max(30.0) + 12.0;
    // Maps stand beside each other, on a narrow page below each other.
    let beside = if sheet.is_narrow() {
        1.0
    } else {
        measures.len() as f64
    };
    let width = (sheet.px() - MARGIN - left - GAP * (beside - 1.0)) / beside;
    let cell = width / x.labels.len() as f64;
    let columns: Vec<Vec<String>> = x
        .labels
        .iter()
        .map(|label| in_lines(label, SMALL, Weight::Regular, cell - 4.0, 2))
        .collect();
    let label_lines = columns.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let heading = if groups.len() > 1 { 26.0 } else { 0.0 };
    let above = heading + 20.0 + LABEL_LINE * (label_lines - 1.0);
    let block = above + CELL * rows.len() as f64 + 14.0;
    let map = KEY + block * groups.len() as f64;
    let step = if sheet.is_narrow() {
        (0.0, map + 20.0)
    } else {
        (width + GAP, 0.0)
    };
    let height = TOP + map + step.1 * (measures.len() - 1) as f64 + 24.0 + FOOTER;
    let subtitle = format!(
        "{}; medians; darker: higher; hatched: half of the runs unfinished, or more",
        extent(&variants)
    );
    let subject = format!("Medians by {} and {}", y.title, x.title);
    let findings = match measures[0].name {
        "exposed_targets" => findings::exposure(&variants),
        _ => findings::completion(&variants),
    };
    let head = Head {
        subject: &subject,
        findings,
        note: subtitle,
    };
    let mut canvas = page(sheet, &head, height);
    for (nth, measure) in measures.iter().enumerate() {
        let (from, top) = (left + step.0 * nth as f64, TOP + step.1 * nth as f64);
        key(&mut canvas, measure, (from, top), width);
        for (at, (name, variants)) in groups.iter().enumerate() {
            let top = top + KEY + block * at as f64;
            let is_first = nth == 0 || sheet.is_narrow();
            if is_first && groups.len() > 1 {
                let name = fitted_name(name, LABEL, Weight::Bold, sheet.inner());
                write_bold(&mut canvas, &name, (MARGIN, top + 12.0), LABEL, INK);
            }
            let top = top + above;
            for (row, name) in rows.iter().enumerate().filter(|_| is_first) {
                let middle = top + CELL * (row as f64 + 0.5);
                write(
                    &mut canvas,
                    name,
                    (left - 10.0, middle + 4.2),
                    SMALL,
                    INK,
                    Align::Right,
                );
            }
            for (column, label) in columns.iter().enumerate() {
                let middle = from + cell * (column as f64 + 0.5);
                for (line, text) in label.iter().rev().enumerate() {
                    let baseline = top - 6.0 - LABEL_LINE * line as f64;
                    write(
                        &mut canvas,
                        text,
                        (middle, baseline),
                        SMALL,
                        MUTED,
                        Align::Middle,
                    );
                }
            }
            for variant in variants {
                let (Some(column), Some(row)) = ((x.of)(variant), (y.of)(variant)) else {
                    continue;
                };
                let corner = (from + cell * column as f64, top + CELL * row as f64);
                draw_cell(
                    &mut canvas,
                    measure,
                    variant,
                    corner,
                    (cell, sheet.small_sizes()),
                );
            }
        }
    }
    let axes = format!("columns: {}; rows: {}", x.title, y.title);
    let axes = fitted_name(&axes, SMALL, Weight::Regular, sheet.inner());
    write(
        &mut canvas,
        &axes,
        (sheet.px() / 2.0, height - FOOTER - 12.0),
        SMALL,
        INK,
        Align::Middle,
    );
    Some(canvas)
}

/// The two sides, and the other swept paths. `None` where no variant has two swept settings.
fn sides<'s>(
    axes: &'s [SweepAxis<'s>],
    variants: &[VariantResults<'_>],
) -> Option<([MapSide<'s>; 2], Vec<&'s SweepAxis<'s>>)> {
    let on_both = |a: &SweepAxis<'_>, b: &SweepAxis<'_>, variant| {
        a.value_of(variant).and(b.value_of(variant)).is_some()
    };
    let mut pairs: Vec<(usize, usize)> = (0..axes.len())
        .flat_map(|b| (0..b).map(move |a| (a, b)))
        .filter(|&(a, b)| {
            variants
                .iter()
                .any(|variant| on_both(&axes[a], &axes[b], variant))
        })
        .collect();
    // Stable: among equals, the first of the sweep wins.
    pairs.sort_by_key(|&(a, b)| std::cmp::Reverse(axes[a].values.len() * axes[b].values.len()));
    if let Some(&(a, b)) = pairs.first() {
        let rest = axes
            .iter()
            .filter(|axis| axis.path != axes[a].path && axis.path != axes[b].path)
            .collect();
        return Some(([side(&axes[a]), side(&axes[b])], rest));
    }
    let axis = axes
        .iter()
        .find(|axis| !axis.path.starts_with("strategies."))?;
    let along = variants
        .iter()
        .filter(|variant| axis.value_of(variant).is_some());
    let strategies: Vec<String> = along
        .map(|variant| variant.info.strategy.clone())
        .unique()
        .collect();
    if strategies.len() < 2 {
        return None;
    }
    let labels = strategies.clone();
    let of = move |variant: &VariantResults<'_>| {
        strategies
            .iter()
            .position(|name| *name == variant.info.strategy)
    };
    let rest = axes
        .iter()
        .filter(|other| other.path != axis.path)
        .collect();
    Some((
        [
            side(axis),
            MapSide {
                title: "strategy".to_owned(),
                labels,
                of: Box::new(of),
            },
        ],
        rest,
    ))
}

fn side<'s>(axis: &'s SweepAxis<'s>) -> MapSide<'s> {
    MapSide {
        title: axis.subject(),
        labels: axis
            .values
            .iter()
            .map(|value| axis.label_with_unit(value))
            .collect(),
        of: Box::new(|variant| axis.value_of(variant)),
    }
}

/// Columns and rows: the side with more values gives the columns, where its labels have room.
fn laid_out<'s>(sheet: Sheet<'_>, [a, b]: [MapSide<'s>; 2]) -> [MapSide<'s>; 2] {
    let (more, fewer) = if a.labels.len() >= b.labels.len() {
        (a, b)
    } else {
        (b, a)
    };
    let maps = if sheet.is_narrow() { 1.0 } else { 2.0 };
    let room = (sheet.inner() - GAP - 90.0) / maps / more.labels.len() as f64 - 4.0;
    let words = more
        .labels
        .iter()
        .flat_map(|label| label.split_whitespace());
    if more.labels.len() <= COLUMNS_MAX && widest(words, SMALL, Weight::Regular) <= room {
        [more, fewer]
    } else {
        [fewer, more]
    }
}

fn groups<'v, 'r>(
    sides: &[MapSide<'_>; 2],
    rest: &[&SweepAxis<'_>],
    variants: &'v [VariantResults<'r>],
) -> Vec<MapRow<'v, 'r>> {
    let on_map =
        |variant: &&VariantResults<'_>| sides.iter().all(|side| (side.of)(variant).is_some());
    let by_strategy = sides.iter().all(|side| side.title != "strategy");
    let key = |variant: &VariantResults<'_>| -> Vec<String> {
        let strategy = if by_strategy {
            variant.info.strategy.clone()
        } else {
            String::new()
        };
        let others = rest.iter().map(|axis| {
            let value = axis.value_of(variant).map(|at| {
                format!(
                    "{}: {}",
                    axis.subject(),
                    axis.label_with_unit(&axis.values[at])
                )
            });
            value.unwrap_or_default()
        });
        std::iter::once(strategy).chain(others).collect()
    };
    let groups = grouped(
        variants
            .iter()
            .filter(on_map)
            .map(|variant| (key(variant), variant)),
    );
    let alike = groups.iter().map(|(key, _)| &key[0]).all_equal();
    let name = |key: &[String]| {
        let skipped = usize::from(alike && key.len() > 1);
        key.iter()
            .skip(skipped)
            .filter(|part| !part.is_empty())
            .join(", ")
    };
    groups
        .into_iter()
        .map(|(key, variants)| (name(&key), variants))
        .collect()
}

fn measures(variants: &[&VariantResults<'_>]) -> Vec<HeatMeasure> {
    let medians = |name: &str| {
        variants
            .iter()
            .filter_map(|variant| variant.median(name))
            .collect::<Vec<f64>>()
    };
    let measure = |name: &'static str, title: &str, text: Box<dyn Fn(f64) -> String>| {
        let values = medians(name);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        HeatMeasure {
            name,
            title: title.to_owned(),
            low,
            high,
            text,
        }
    };
    if variants.iter().any(|variant| variant.exposed()) {
        return vec![
            measure(
                "exposed_targets",
                "clusters exposed to the defect",
                Box::new(count),
            ),
            measure(READY_TIME, "completion time", Box::new(time)),
            measure("peak_pulls", "peak concurrent pulls", Box::new(count)),
        ];
    }
    let egress = "egress_peak_1s_bytes_per_s";
    let unit = RateUnit::for_max(medians(egress).into_iter().fold(0.0, f64::max));
    vec![
        measure(READY_TIME, "completion time", Box::new(time)),
        measure("peak_pulls", "peak concurrent pulls", Box::new(count)),
        measure(
            egress,
            "peak egress over 1 s",
            Box::new(move |rate| unit.text(rate)),
        ),
    ]
}

impl HeatMeasure {
    fn alike(&self) -> bool {
        self.high - self.low <= ALIKE * self.high
    }

    /// Between 0 for the least and 1 for the greatest; in the middle where all are alike.
    fn share(&self, value: f64) -> f64 {
        if self.alike() {
            return 0.3;
        }
        if self.low > 0.0 && self.high > LOG_FROM * self.low {
            return libm::log(value / self.low) / libm::log(self.high / self.low);
        }
        (value - self.low) / (self.high - self.low)
    }
}

/// The measure's name, and its shades from the least to the greatest value.
fn key(canvas: &mut Canvas, measure: &HeatMeasure, (left, top): Position, width: f64) {
    write_bold(canvas, &measure.title, (left, top), LABEL, INK);
    if measure.low > measure.high {
        write(
            canvas,
            "too few runs finished",
            (left, top + 20.0),
            SMALL,
            MUTED,
            Align::Left,
        );
        return;
    }
    let low = (measure.text)(measure.low);
    write(canvas, &low, (left, top + 20.0), SMALL, MUTED, Align::Left);
    if !measure.alike() {
        let start = left + text_width(&low, SMALL, Weight::Regular) + 8.0;
        let step = ((width - 170.0) / 24.0).clamp(2.0, 5.0);
        for at in 0..24 {
            let x = start + step * f64::from(at);
            canvas.rectangle(
                (x, top + 10.0),
                (x + step, top + 22.0),
                shade(f64::from(at) / 23.0),
                1.0,
            );
        }
        let end = start + 24.0 * step + 8.0;
        write(
            canvas,
            &(measure.text)(measure.high),
            (end, top + 20.0),
            SMALL,
            MUTED,
            Align::Left,
        );
    }
}

fn draw_cell(
    canvas: &mut Canvas,
    measure: &HeatMeasure,
    variant: &VariantResults<'_>,
    (left, top): Position,
    (width, small): (f64, &[f64]),
) {
    let (right, bottom) = (left + width - 1.5, top + CELL - 1.5);
    let (finished, runs) = (variant.finished(), variant.runs.len());
    // A rollout that stops is what one wants of exposure.
    let needs_an_end = measure.name != "exposed_targets";
    let is_late = needs_an_end && variant.ready_time().is_none();
    let median = variant.median(measure.name);
    let share = median.map_or(0.0, |median| measure.share(median));
    if median.is_some() {
        canvas.rectangle((left, top), (right, bottom), shade(share), 1.0);
    }
    let colour = on_shade(share);
    if is_late {
        hatch(
            canvas,
            [left, top, right, bottom],
            if median.is_some() { colour } else { AXIS },
        );
    }
    let share_finished = format!("{finished} of {}", counted(runs, "run"));
    let mut lines =
        vec![median.map_or_else(|| share_finished.clone(), |median| (measure.text)(median))];
    if needs_an_end && median.is_some() && finished > 0 && finished < runs {
        lines.push(share_finished);
    }
    let (x, middle) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    for (at, line) in lines.iter().enumerate() {
        let fits = |line: &str, size: f64| text_width(line, size, Weight::Regular) <= width - 5.0;
        // The first size that fits; a second line is smaller.
        let sizes = || {
            [LABEL]
                .into_iter()
                .chain(small.iter().copied())
                .skip((2 * at).min(small.len()))
        };
        let brief = line.replace(" of ", "/").replace(" runs", "");
        let whole = sizes()
            .find(|&size| fits(line, size))
            .map(|size| (line, size));
        let Some((line, size)) =
            whole.or_else(|| Some((&brief, sizes().find(|&size| fits(&brief, size))?)))
        else {
            continue;
        };
        let half = text_width(line, size, Weight::Regular) / 2.0;
        let baseline = if lines.len() == 1 {
            middle + 0.36 * size
        } else {
            middle - 2.5 + 14.0 * at as f64
        };
        if is_late {
            let ground = if median.is_some() {
                shade(share)
            } else {
                WHITE
            };
            canvas.rectangle(
                (x - half - 3.0, baseline - size),
                (x + half + 3.0, baseline + 4.0),
                ground,
                1.0,
            );
        }
        write(
            canvas,
            line,
            (x, baseline),
            size,
            if median.is_some() { colour } else { INK },
            Align::Middle,
        );
    }
}

/// Slanted lines over a rectangle.
fn hatch(
    canvas: &mut Canvas,
    [left, top, right, bottom]: [f64; 4],
    colour: crate::report::style::Colour,
) {
    let height = bottom - top;
    let mut start = left - height + 4.0;
    while start < right {
        // From the lower end at `start` upwards to the right, cut at both sides.
        let (from, to) = (start.max(left), (start + height).min(right));
        canvas.line(
            (from, bottom - (from - start)),
            (to, bottom - (to - start)),
            Stroke::solid(colour, 0.8),
        );
        start += 8.0;
    }
}
