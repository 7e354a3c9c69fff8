//! The combined effect of two settings: a cell for each pair of values, with the median over runs as a number and as a
//! shade.
//!
//! The sides are the two swept paths with the most values. If only one path of the world is swept for several
//! strategies, the strategies are the other side. Other swept settings get separate rows of maps. Darker is higher, in
//! one hue, so the chart also works in grey. Cells in which half of the runs or more did not finish are hatched,
//! because they have no median time.

use crate::report::prelude::*;
use crate::report::swept::SweepAxis;
use crate::results::grouped;
use fleetsim_units::counted;

/// Values that span more than this factor are shaded by their logarithm.
const LOG_FROM: f64 = 10.0;
/// Maximum number of columns of a map that leaves room for a third map.
const THREE_MAPS: usize = 4;
/// Maximum number of columns of a map; with more, the sides are swapped.
const COLUMNS_MAX: usize = 7;
const CELL: f64 = 34.0;
/// Distance between maps.
const GAP: f64 = 26.0;
/// Maximum width of a row's name.
const ROW_NAME: f64 = 170.0;
/// Height of the key of a map.
const KEY: f64 = 46.0;
/// Height of a line of the columns' labels.
const LABEL_LINE: f64 = 14.0;
/// Values that differ by less than this share count as equal.
const ALIKE: f64 = 0.01;

/// A side of the maps.
enum MapSide<'s> {
    /// The values of a swept path.
    Setting(&'s SweepAxis<'s>),
    /// The strategies, by name.
    Strategies(Vec<String>),
}

impl MapSide<'_> {
    /// The title of the side.
    fn title(&self) -> String {
        match self {
            Self::Setting(axis) => axis.subject(),
            Self::Strategies(_) => "strategy".to_owned(),
        }
    }

    /// The labels of the rows or columns.
    fn labels(&self) -> Vec<String> {
        match self {
            Self::Setting(axis) => axis
                .values
                .iter()
                .map(|value| axis.label_with_unit(value))
                .collect(),
            Self::Strategies(names) => names.clone(),
        }
    }

    /// The row or column of a variant. `None`: the variant is on no map.
    fn index_of(&self, variant: &VariantResults<'_>) -> Option<usize> {
        match self {
            Self::Setting(axis) => axis.value_of(variant),
            Self::Strategies(names) => names.iter().position(|name| *name == variant.info.strategy),
        }
    }
}

/// The two sides, and the other swept paths.
struct MapSides<'s> {
    sides: [MapSide<'s>; 2],
    rest: Vec<&'s SweepAxis<'s>>,
}

/// The number format of a measure.
enum HeatText {
    Count,
    Time,
    Rate(RateUnit),
}

/// The measure that a column of maps shows.
struct HeatMeasure {
    measure: Measure,
    title: &'static str,
    low: f64,
    high: f64,
    text: HeatText,
}

/// One row of maps.
struct MapRow<'v, 'r> {
    name: String,
    variants: Vec<&'v VariantResults<'r>>,
}

/// Position and size of the parts of the maps.
struct MapLayout {
    /// Left edge of the first map.
    left: f64,
    /// Width of a map, and of its cells.
    width: f64,
    cell: f64,
    /// Height of a row of maps, and of the text above its cells.
    block: f64,
    above: f64,
    /// Offset from one map to the next: to the right, or downwards on a narrow page.
    step: (f64, f64),
}

/// The maps of all measures.
struct Maps<'m, 'v, 'r> {
    sheet: Sheet<'m>,
    x: &'m MapSide<'m>,
    y: &'m MapSide<'m>,
    /// The names of the columns, in lines, and of the rows.
    columns: Vec<Vec<String>>,
    rows: &'m [String],
    groups: &'m [MapRow<'v, 'r>],
    layout: &'m MapLayout,
}

/// Draws the chart. `None` if no two settings vary together.
pub(in crate::report) fn draw(results: &Results) -> Option<Canvas> {
    let variants = results.variants();
    let axes = SweepAxis::all(&variants);
    let found = sides(&axes, &variants)?;
    let groups = groups(&found, &variants);
    let sheet = results.sheet();
    let [x, y] = laid_out(sheet, found.sides);
    let mut shown: Vec<&VariantResults<'_>> = Vec::new();
    for group in &groups {
        shown.extend(&group.variants);
    }
    let x_labels = x.labels();
    let mut measures = measures(&shown);
    if x_labels.len() > THREE_MAPS || sheet.is_narrow() {
        measures.truncate(2);
    }
    let row_name = ROW_NAME.min(0.3 * sheet.px());
    let rows: Vec<String> = y
        .labels()
        .iter()
        .map(|label| fitted_name(label, SMALL, Weight::Regular, row_name))
        .collect();
    let left = MARGIN + widest(&rows, SMALL, Weight::Regular).max(30.0) + 12.0;
    // Maps are next to each other, or below each other on a narrow page.
    let beside = if sheet.is_narrow() {
        1.0
    } else {
        measures.len() as f64
    };
    let width = (sheet.px() - MARGIN - left - GAP * (beside - 1.0)) / beside;
    let cell = width / x_labels.len() as f64;
    let columns: Vec<Vec<String>> = x_labels
        .iter()
        .map(|label| in_lines(label, SMALL, Weight::Regular, cell - 4.0, 2))
        .collect();
    let label_lines = columns.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let heading = if groups.len() > 1 { 26.0 } else { 0.0 };
    let above = heading + 20.0 + LABEL_LINE * (label_lines - 1.0);
    let block = above + CELL * rows.len() as f64 + 14.0;
    let map = KEY + block * groups.len() as f64;
    let (right, down) = if sheet.is_narrow() {
        (0.0, map + 20.0)
    } else {
        (width + GAP, 0.0)
    };
    let height = TOP + map + down * (measures.len() - 1) as f64 + 24.0 + FOOTER;
    let subtitle = format!(
        "{}; medians; darker: higher; hatched: half of the runs unfinished, or more",
        extent(&variants)
    );
    let subject = format!("Medians by {} and {}", y.title(), x.title());
    let findings = if measures[0].is_exposure() {
        findings::exposure(&variants)
    } else {
        findings::completion(&variants)
    };
    let head = Head {
        subject: &subject,
        findings,
        note: subtitle,
    };
    let mut canvas = page(sheet, &head, height);
    let layout = MapLayout {
        left,
        width,
        cell,
        block,
        above,
        step: (right, down),
    };
    let maps = Maps {
        sheet,
        x: &x,
        y: &y,
        columns,
        rows: &rows,
        groups: &groups,
        layout: &layout,
    };
    for (nth, measure) in measures.iter().enumerate() {
        maps.draw(&mut canvas, nth, measure);
    }
    let axes = format!("columns: {}; rows: {}", x.title(), y.title());
    let axes = fitted_name(&axes, SMALL, Weight::Regular, sheet.inner());
    write(
        &mut canvas,
        &axes,
        (sheet.px() / 2.0, height - FOOTER - 12.0),
        TextStyle::new(SMALL, INK),
        Align::Middle,
    );
    Some(canvas)
}

impl Maps<'_, '_, '_> {
    /// Draws the maps of the `nth` measure, from top to bottom, with their key.
    fn draw(&self, canvas: &mut Canvas, nth: usize, measure: &HeatMeasure) {
        let (right, down) = self.layout.step;
        let from = self.layout.left + right * nth as f64;
        let top = TOP + down * nth as f64;
        key(canvas, measure, (from, top), self.layout.width);
        let has_names = nth == 0 || self.sheet.is_narrow();
        for (at, group) in self.groups.iter().enumerate() {
            let top = top + KEY + self.layout.block * at as f64;
            if has_names {
                self.draw_names(canvas, group, top);
            }
            let top = top + self.layout.above;
            self.draw_columns(canvas, (from, top));
            for variant in &group.variants {
                self.draw_variant(canvas, measure, variant, (from, top));
            }
        }
    }

    /// Draws the name of a row of maps, and the names of the rows of its first map.
    fn draw_names(&self, canvas: &mut Canvas, group: &MapRow<'_, '_>, top: f64) {
        if self.groups.len() > 1 {
            let name = fitted_name(&group.name, LABEL, Weight::Bold, self.sheet.inner());
            write_bold(
                canvas,
                &name,
                (MARGIN, top + 12.0),
                TextStyle::new(LABEL, INK),
            );
        }
        let top = top + self.layout.above;
        for (row, name) in self.rows.iter().enumerate() {
            let middle = top + CELL * (row as f64 + 0.5);
            let at = (self.layout.left - 10.0, middle + 4.2);
            write(canvas, name, at, TextStyle::new(SMALL, INK), Align::Right);
        }
    }

    /// Draws the names of the columns above the map whose upper left corner is given.
    fn draw_columns(&self, canvas: &mut Canvas, (left, top): Position) {
        for (column, label) in self.columns.iter().enumerate() {
            let middle = left + self.layout.cell * (column as f64 + 0.5);
            for (line, text) in label.iter().rev().enumerate() {
                let baseline = top - 6.0 - LABEL_LINE * line as f64;
                let at = (middle, baseline);
                write(
                    canvas,
                    text,
                    at,
                    TextStyle::new(SMALL, MUTED),
                    Align::Middle,
                );
            }
        }
    }

    /// Draws the cell of a variant on the map whose upper left corner is given.
    fn draw_variant(
        &self,
        canvas: &mut Canvas,
        measure: &HeatMeasure,
        variant: &VariantResults<'_>,
        (left, top): Position,
    ) {
        let Some(column) = self.x.index_of(variant) else {
            return;
        };
        let Some(row) = self.y.index_of(variant) else {
            return;
        };
        let cell = HeatCell::of(measure, variant);
        let left = left + self.layout.cell * column as f64;
        let top = top + CELL * row as f64;
        let area = Area {
            left,
            top,
            right: left + self.layout.cell - 1.5,
            bottom: top + CELL - 1.5,
        };
        let room = self.layout.cell - 5.0;
        cell.draw(canvas, area, room, self.sheet.small_sizes());
    }
}

/// The two sides, and the other swept paths. `None` if no variant has two swept settings.
fn sides<'s>(axes: &'s [SweepAxis<'s>], variants: &[VariantResults<'_>]) -> Option<MapSides<'s>> {
    if let Some([a, b]) = best_pair(axes, variants) {
        let mut rest: Vec<&SweepAxis<'_>> = axes.iter().collect();
        rest.retain(|axis| axis.path != a.path && axis.path != b.path);
        return Some(MapSides {
            sides: [MapSide::Setting(a), MapSide::Setting(b)],
            rest,
        });
    }
    let axis = axes
        .iter()
        .find(|axis| !axis.path.starts_with("strategies."))?;
    let mut strategies: Vec<String> = Vec::new();
    for variant in variants {
        let strategy = &variant.info.strategy;
        if axis.value_of(variant).is_some() && !strategies.contains(strategy) {
            strategies.push(strategy.clone());
        }
    }
    if strategies.len() < 2 {
        return None;
    }
    let mut rest: Vec<&SweepAxis<'_>> = axes.iter().collect();
    rest.retain(|other| other.path != axis.path);
    Some(MapSides {
        sides: [MapSide::Setting(axis), MapSide::Strategies(strategies)],
        rest,
    })
}

/// The two swept paths with the most pairs of values, if each variant has a different pair; ties go to the first in
/// the sweep.
fn best_pair<'s>(
    axes: &'s [SweepAxis<'s>],
    variants: &[VariantResults<'_>],
) -> Option<[&'s SweepAxis<'s>; 2]> {
    let mut best: Option<[&SweepAxis<'_>; 2]> = None;
    let mut most = 0;
    for (at, b) in axes.iter().enumerate() {
        for a in &axes[..at] {
            let cells = a.values.len() * b.values.len();
            let is_better = best.is_none() || cells > most;
            if is_better && variants.iter().any(|variant| is_on_both(a, b, variant)) {
                best = Some([a, b]);
                most = cells;
            }
        }
    }
    best
}

/// Returns whether a variant has a value of both paths.
fn is_on_both(a: &SweepAxis<'_>, b: &SweepAxis<'_>, variant: &VariantResults<'_>) -> bool {
    a.value_of(variant).is_some() && b.value_of(variant).is_some()
}

/// Columns and rows: the side with more values becomes the columns if its labels fit.
fn laid_out<'s>(sheet: Sheet<'_>, [a, b]: [MapSide<'s>; 2]) -> [MapSide<'s>; 2] {
    let [more, fewer] = if a.labels().len() >= b.labels().len() {
        [a, b]
    } else {
        [b, a]
    };
    let labels = more.labels();
    let maps = if sheet.is_narrow() { 1.0 } else { 2.0 };
    let room = (sheet.inner() - GAP - 90.0) / maps / labels.len() as f64 - 4.0;
    let words = labels.iter().flat_map(|label| label.split_whitespace());
    if labels.len() <= COLUMNS_MAX && widest(words, SMALL, Weight::Regular) <= room {
        [more, fewer]
    } else {
        [fewer, more]
    }
}

/// The rows of maps: one for each strategy and combination of the other swept settings.
fn groups<'v, 'r>(found: &MapSides<'_>, variants: &'v [VariantResults<'r>]) -> Vec<MapRow<'v, 'r>> {
    let mut keyed = Vec::new();
    for variant in variants {
        if found
            .sides
            .iter()
            .all(|side| side.index_of(variant).is_some())
        {
            keyed.push((found.row_key(variant), variant));
        }
    }
    let groups = grouped(keyed);
    let alike = groups.iter().map(|(key, _)| &key[0]).all_equal();
    let mut rows = Vec::new();
    for (key, variants) in groups {
        let skipped = usize::from(alike && key.len() > 1);
        let mut parts = key[skipped..].to_vec();
        parts.retain(|part| !part.is_empty());
        rows.push(MapRow {
            name: parts.join(", "),
            variants,
        });
    }
    rows
}

impl MapSides<'_> {
    /// The key of a variant's row of maps: its strategy, and each of the other settings. Parts may be empty.
    fn row_key(&self, variant: &VariantResults<'_>) -> Vec<String> {
        let is_by_strategy = self.sides.iter().all(|side| side.title() != "strategy");
        let mut key = vec![if is_by_strategy {
            variant.info.strategy.clone()
        } else {
            String::new()
        }];
        for axis in &self.rest {
            key.push(match axis.value_of(variant) {
                Some(at) => {
                    let value = axis.label_with_unit(&axis.values[at]);
                    format!("{}: {value}", axis.subject())
                }
                None => String::new(),
            });
        }
        key
    }
}

/// The measures of the maps. The first one is used for the finding.
fn measures(variants: &[&VariantResults<'_>]) -> Vec<HeatMeasure> {
    const PULLS: &str = "peak concurrent pulls";
    const EGRESS: Measure = Measure::EgressPeak1s;
    let completion = HeatMeasure::of(variants, READY_TIME, "completion time", HeatText::Time);
    let pulls = HeatMeasure::of(variants, Measure::PeakPulls, PULLS, HeatText::Count);
    if variants.iter().any(|variant| variant.exposed()) {
        let title = "clusters exposed to the defect";
        let exposed = HeatMeasure::of(variants, EXPOSED, title, HeatText::Count);
        return vec![exposed, completion, pulls];
    }
    let greatest = medians(variants, EGRESS).into_iter().fold(0.0, f64::max);
    let text = HeatText::Rate(RateUnit::for_max(greatest));
    let egress = HeatMeasure::of(variants, EGRESS, "peak egress over 1 s", text);
    vec![completion, pulls, egress]
}

/// The measure of exposure.
const EXPOSED: Measure = Measure::ExposedTargets;

/// The medians of a measure, for the variants that have one.
fn medians(variants: &[&VariantResults<'_>], measure: Measure) -> Vec<f64> {
    variants
        .iter()
        .filter_map(|variant| variant.median(measure))
        .collect()
}

impl HeatMeasure {
    /// The measure with the range of its medians.
    fn of(
        variants: &[&VariantResults<'_>],
        measure: Measure,
        title: &'static str,
        text: HeatText,
    ) -> Self {
        let values = medians(variants, measure);
        Self {
            measure,
            title,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            text,
        }
    }

    /// A value in words.
    fn text(&self, value: f64) -> String {
        match &self.text {
            HeatText::Count => count(value),
            HeatText::Time => time(value),
            HeatText::Rate(unit) => unit.text(value),
        }
    }

    /// Returns whether this is the exposure. Rollouts of a defective revision are supposed to stop, so they need not
    /// finish.
    fn is_exposure(&self) -> bool {
        self.measure == EXPOSED
    }

    /// Returns whether the medians differ by so little that they count as equal.
    fn alike(&self) -> bool {
        self.high - self.low <= ALIKE * self.high
    }

    /// The value's share of the range, from 0 for the minimum to 1 for the maximum; 0.3 if all values count as equal.
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

/// Draws the measure's name, and its shades from the minimum to the maximum.
fn key(canvas: &mut Canvas, measure: &HeatMeasure, (left, top): Position, width: f64) {
    write_bold(
        canvas,
        measure.title,
        (left, top),
        TextStyle::new(LABEL, INK),
    );
    if measure.low > measure.high {
        write(
            canvas,
            "too few runs finished",
            (left, top + 20.0),
            TextStyle::new(SMALL, MUTED),
            Align::Left,
        );
        return;
    }
    let low = measure.text(measure.low);
    write(
        canvas,
        &low,
        (left, top + 20.0),
        TextStyle::new(SMALL, MUTED),
        Align::Left,
    );
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
            &measure.text(measure.high),
            (end, top + 20.0),
            TextStyle::new(SMALL, MUTED),
            Align::Left,
        );
    }
}

/// The cell of a variant on the map of a measure.
struct HeatCell {
    /// The colours of its background and of its text. `None` without a median.
    shade: Option<CellColours>,
    /// Whether the measure needs finished runs, and half of the runs or more did not finish.
    is_late: bool,
    lines: Vec<String>,
}

/// The colours of a shaded cell.
struct CellColours {
    ground: Colour,
    text: Colour,
}

impl HeatCell {
    /// The cell with its texts.
    fn of(measure: &HeatMeasure, variant: &VariantResults<'_>) -> Self {
        let finished = variant.finished();
        let runs = variant.runs.len();
        let needs_an_end = !measure.is_exposure();
        let share_finished = format!("{finished} of {}", counted(runs, "run"));
        let mut lines = Vec::new();
        let mut colours = None;
        match variant.median(measure.measure) {
            Some(median) => {
                let share = measure.share(median);
                colours = Some(CellColours {
                    ground: shade(share),
                    text: on_shade(share),
                });
                lines.push(measure.text(median));
                if needs_an_end && finished > 0 && finished < runs {
                    lines.push(share_finished);
                }
            }
            None => lines.push(share_finished),
        }
        Self {
            shade: colours,
            is_late: needs_an_end && variant.ready_time().is_none(),
            lines,
        }
    }

    /// Draws the cell. If a text is wider than `room`, it is written in one of the `small` sizes, or left out.
    fn draw(&self, canvas: &mut Canvas, area: Area, room: f64, small: &[f64]) {
        let Area {
            left,
            top,
            right,
            bottom,
        } = area;
        if let Some(colours) = &self.shade {
            canvas.rectangle((left, top), (right, bottom), colours.ground, 1.0);
        }
        if self.is_late {
            let colour = self.shade.as_ref().map_or(AXIS, |colours| colours.text);
            hatch(canvas, [left, top, right, bottom], colour);
        }
        let x = f64::midpoint(left, right);
        let middle = f64::midpoint(top, bottom);
        for (at, line) in self.lines.iter().enumerate() {
            // A second line is smaller.
            let mut sizes = vec![LABEL];
            sizes.extend(small);
            sizes.drain(..(2 * at).min(small.len()));
            let Some(text) = CellText::fitting(line, &sizes, room) else {
                continue;
            };
            let baseline = if self.lines.len() == 1 {
                middle + 0.36 * text.size
            } else {
                middle - 2.5 + 14.0 * at as f64
            };
            self.write(canvas, &text, (x, baseline));
        }
    }

    /// Writes a text, on a plain background if the cell is hatched.
    fn write(&self, canvas: &mut Canvas, text: &CellText, (x, baseline): Position) {
        let CellText { line, size } = text;
        let colours = self.shade.as_ref();
        if self.is_late {
            let half = text_width(line, *size, Weight::Regular) / 2.0;
            canvas.rectangle(
                (x - half - 3.0, baseline - size),
                (x + half + 3.0, baseline + 4.0),
                colours.map_or(WHITE, |colours| colours.ground),
                1.0,
            );
        }
        let colour = colours.map_or(INK, |colours| colours.text);
        write(
            canvas,
            line,
            (x, baseline),
            TextStyle::new(*size, colour),
            Align::Middle,
        );
    }
}

/// A text in a size that fits into its cell.
struct CellText {
    line: String,
    size: f64,
}

impl CellText {
    /// The text in the first of `sizes` that fits into `width`, otherwise the text's brief form. `None` if neither
    /// fits.
    fn fitting(line: &str, sizes: &[f64], width: f64) -> Option<Self> {
        let brief = line.replace(" of ", "/").replace(" runs", "");
        for text in [line, &brief] {
            for &size in sizes {
                if text_width(text, size, Weight::Regular) <= width {
                    let line = text.to_owned();
                    return Some(Self { line, size });
                }
            }
        }
        None
    }
}

/// Slanted lines over a rectangle.
fn hatch(canvas: &mut Canvas, [left, top, right, bottom]: [f64; 4], colour: Colour) {
    let height = bottom - top;
    let mut start = left - height + 4.0;
    while start < right {
        // From the lower end at `start` upwards to the right, clipped at both sides.
        let from = start.max(left);
        let to = (start + height).min(right);
        canvas.line(
            (from, bottom - (from - start)),
            (to, bottom - (to - start)),
            Stroke::solid(colour, 0.8),
        );
        start += 8.0;
    }
}
