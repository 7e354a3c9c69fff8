//! The trade-off at a glance: completion time against load on the registry, or against the clusters that received a
//! defective revision. One dot for each variant, at the medians; a thin line joins the settings of one strategy.
//! Overlapping dots are drawn as rings around a dot, with their names in one block. Many variants are numbered instead,
//! in the order of their completion times, with a key below.

use crate::report::charts::key_table;
use crate::report::names;
use crate::report::prelude::*;
use crate::report::swept::SweepAxis;
use crate::results::VariantInfo;

/// Maximum width of a name on the plot.
const NAME: f64 = 260.0;
/// Numbers in one line of a block.
const NUMBERS_IN_LINE: usize = 4;
/// Maximum width of a name in the strip for variants with half of their runs or more unfinished.
const STRIP_NAME: f64 = 150.0;
/// Distance from the plot to the line of the strip for unfinished variants.
const STRIP: f64 = 14.0;
/// Width of the strip for unfinished variants, without its names.
const STRIP_ROOM: f64 = 52.0;

/// The dot of one variant.
struct Dot<'v> {
    variant: &'v VariantResults<'v>,
    at: Position,
    finished: bool,
    /// Number of dots drawn on top of this dot; each of them widens its ring.
    under: usize,
    /// The variant's name or number.
    label: String,
}

impl Dot<'_> {
    /// Returns whether the dots hide each other.
    fn touches(&self, other: &Self) -> bool {
        distance(self.at, other.at) < TOUCHING
    }

    /// The radius of the dot including its ring.
    fn radius(&self) -> f64 {
        DOT + 4.0 * self.under as f64
    }

    /// `18 of 20 finished`; empty if all runs finished, and for dots in the strip.
    fn note(&self) -> String {
        let finished = self.variant.finished();
        let all = self.variant.runs.len();
        if self.finished && finished < all {
            format!("{finished} of {all} finished")
        } else {
            String::new()
        }
    }
}

/// The distance between two positions.
fn distance((from_x, from_y): Position, (to_x, to_y): Position) -> f64 {
    libm::hypot(to_x - from_x, to_y - from_y)
}

/// The measure that is traded for completion time.
#[derive(Clone, Copy, Eq, PartialEq)]
enum TradedLoad {
    PeakPulls,
    /// Clusters that received a defective revision.
    Exposure,
}

impl TradedLoad {
    /// Exposure if any variant has some, otherwise the peak of pulls.
    fn of(variants: &[VariantResults<'_>]) -> Self {
        if variants.iter().any(VariantResults::exposed) {
            Self::Exposure
        } else {
            Self::PeakPulls
        }
    }

    /// The measure of the load in one run.
    const fn measure(self) -> Measure {
        match self {
            Self::PeakPulls => Measure::PeakPulls,
            Self::Exposure => Measure::ExposedTargets,
        }
    }

    /// The title of the value axis.
    const fn axis(self) -> &'static str {
        match self {
            Self::PeakPulls => "peak concurrent image pulls",
            Self::Exposure => "clusters exposed to the defective revision",
        }
    }

    /// The quantity in the explanation of the marks.
    const fn name(self) -> &'static str {
        match self {
            Self::PeakPulls => "the peak",
            Self::Exposure => "the exposure",
        }
    }

    /// The subject of the chart.
    const fn subject(self) -> &'static str {
        match self {
            Self::PeakPulls => "Peak image pulls against completion time",
            Self::Exposure => "Clusters with the defective revision against completion time",
        }
    }

    /// The findings for the title.
    fn findings(self, variants: &[VariantResults<'_>]) -> Vec<String> {
        match self {
            Self::PeakPulls => findings::tradeoff(variants),
            Self::Exposure => findings::exposure(variants),
        }
    }
}

/// The strip at the right for variants with half of their runs or more unfinished.
struct Strip {
    /// Maximum width of a name in the strip.
    name: f64,
    /// Width of the strip. `None` if all variants finish.
    width: Option<f64>,
}

impl Strip {
    /// A strip with room for the names of the given variants, or for their numbers.
    fn of(sheet: Sheet<'_>, variants: &[VariantResults<'_>], labels: &[String]) -> Self {
        let mut unfinished: Vec<&String> = Vec::new();
        for (variant, label) in variants.iter().zip(labels) {
            if variant.ready_time().is_none() {
                unfinished.push(label);
            }
        }
        let name = strip_name(&unfinished, sheet);
        let mut width: Option<f64> = None;
        for label in unfinished {
            let own = text_width(label, LABEL, Weight::Bold).clamp(70.0, name) + STRIP_ROOM;
            width = Some(width.map_or(own, |widest| widest.max(own)));
        }
        Self { name, width }
    }
}

/// Dots closer than this hide each other.
const TOUCHING: f64 = 10.0;
/// Radius of a dot.
const DOT: f64 = 5.5;
/// Height of a name's line and of a note's line.
const NAME_LINE: f64 = 16.0;
/// Width of the mark in front of a name in a block of several names.
const MARK: f64 = 16.0;

/// Maximum number of variants that are labelled with their names.
const NAMED_MAX: usize = 8;
/// Room for names above the highest dot.
const HEADROOM: f64 = 14.0;
/// Height of the plot including its axes and everything above it.
const PLOT: f64 = 520.0;

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let load = TradedLoad::of(&variants);
    let sheet = results.sheet();
    let numbered = variants.len() > NAMED_MAX;
    let labels = labels_of(sheet, &variants, numbered);
    let strip = Strip::of(sheet, &variants, &labels);
    let area = Area {
        left: MARGIN + 50.0,
        top: TOP + 28.0,
        right: sheet.px() - MARGIN - 20.0 - strip.width.unwrap_or(0.0),
        bottom: PLOT - 58.0,
    };
    let times = drawn_times(&variants);
    let x = time_scale(&times, area.left, area.right);
    let peaks = drawn_loads(&variants, load);
    let (y, ticks) = count_scale(
        &peaks,
        ([2.4, 1.4], 26.0),
        (span(&peaks).1, 7),
        (area.bottom, area.top + HEADROOM),
    );
    let mut dots: Vec<Dot<'_>> = Vec::new();
    for (variant, label) in variants.iter().zip(labels) {
        let completion = variant.ready_time();
        let at_x = completion.map_or(area.right + 34.0, |completion| x.at(completion));
        let at_y = y.at(variant.median(load.measure()).unwrap_or(0.0));
        dots.push(Dot {
            variant,
            at: (at_x, at_y),
            finished: completion.is_some(),
            under: 0,
            label,
        });
    }
    let groups = groups(&dots);
    for group in &groups {
        // The first dot in the experiment's order is at the bottom, with the widest ring.
        for (over, &at) in group.iter().rev().enumerate() {
            dots[at].under = if numbered { over.min(1) } else { over };
        }
    }

    let rings = match (groups.len() < dots.len(), numbered) {
        (false, _) => "",
        (true, false) => " (ring: another dot on top)",
        (true, true) => " (ring: several dots)",
    };
    let subtitle = format!(
        "{}; dot{rings}: medians, vertical: p5–p95 of {}, horizontal: 95% CI of the median time",
        extent(&variants),
        load.name()
    );
    let table = if numbered {
        key_table::height(sheet, variants.len())
    } else {
        0.0
    };
    let head = Head {
        subject: load.subject(),
        findings: load.findings(&variants),
        note: subtitle,
    };
    let mut canvas = page(sheet, &head, PLOT + table + FOOTER);
    let title = format!("{}{}", load.axis(), y.note());
    value_axis(&mut canvas, area, &y, &ticks, &title);
    if times.is_empty() {
        bottom_axis(&mut canvas, area, &x, &[], "completion time");
    } else {
        let titles = ("completion time in {}", "completion time (logarithmic)");
        let (ticks, title) = ticks_of_time(&x, (58.0, 8), titles);
        bottom_axis(&mut canvas, area, &x, &ticks, &title);
    }
    if strip.width.is_some() {
        draw_strip(&mut canvas, sheet, area);
    }
    let lines = joined(&dots, &swept_quantities(&variants));
    for line in &lines {
        canvas.line(line.from, line.to, Stroke::solid(GRID, 2.0));
    }
    for dot in &dots {
        draw_dot(&mut canvas, dot, load.measure(), &x, &y);
    }
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for group in &groups {
        let dots = group.iter().map(|&at| &dots[at]).collect();
        blocks.push(Block::of(dots, numbered, strip.name));
    }
    label_blocks(&mut canvas, &blocks, &lines, area);
    if numbered {
        key_table::draw(&mut canvas, sheet, &variants, PLOT);
    }
    canvas
}

/// The name of each dot, or its number.
fn labels_of(sheet: Sheet<'_>, variants: &[VariantResults<'_>], numbered: bool) -> Vec<String> {
    if !numbered {
        return names::within(variants, LABEL, Weight::Bold, NAME.min(0.4 * sheet.px()));
    }
    key_table::numbers(variants)
        .iter()
        .map(usize::to_string)
        .collect()
}

/// The ends of the intervals of all completion times.
fn drawn_times(variants: &[VariantResults<'_>]) -> Vec<f64> {
    let mut times = Vec::new();
    for variant in variants {
        let Some(row) = variant.summary(READY_TIME) else {
            continue;
        };
        if row.median.is_some() {
            times.extend(row.median_ci95_low.or(row.median));
            times.extend(row.median_ci95_high.or(row.median));
        }
    }
    times
}

/// The medians of the load, and its 5th and 95th percentiles.
fn drawn_loads(variants: &[VariantResults<'_>], load: TradedLoad) -> Vec<f64> {
    let mut loads = Vec::new();
    for variant in variants {
        if let Some(row) = variant.summary(load.measure()) {
            loads.extend([row.p5, row.median, row.p95].into_iter().flatten());
        }
    }
    loads
}

/// The paths of swept settings whose values are quantities.
fn swept_quantities<'r>(variants: &[VariantResults<'r>]) -> Vec<&'r str> {
    let mut axes = SweepAxis::all(variants);
    axes.retain(|axis| axis.numeric);
    axes.iter().map(|axis| axis.path).collect()
}

/// Draws the line that separates the strip from the plot, and the strip's title.
fn draw_strip(canvas: &mut Canvas, sheet: Sheet<'_>, area: Area) {
    let left = area.right + STRIP;
    canvas.line(
        (left, area.top),
        (left, area.bottom),
        Stroke {
            colour: AXIS,
            width: 1.0,
            dash: &[3.0, 3.0],
        },
    );
    let above = if sheet.is_narrow() { 29.0 } else { 13.0 };
    write(
        canvas,
        "too few runs finished",
        (left + 10.0, area.top - above),
        TextStyle::new(SMALL, INK),
        Align::Left,
    );
}

/// The maximum width of a name in the strip: more than usual if shortened names would be equal.
fn strip_name(labels: &[&String], sheet: Sheet<'_>) -> f64 {
    let usual = STRIP_NAME.min(0.25 * sheet.px());
    let most = if sheet.is_narrow() { usual } else { NAME };
    let mut width = usual;
    loop {
        let mut names = labels
            .iter()
            .map(|label| fitted_name(label, LABEL, Weight::Bold, width));
        if names.all_unique() {
            return width;
        }
        width += 10.0;
        if width > most {
            return usual;
        }
    }
}

/// Draws a dot with its intervals and its ring.
fn draw_dot(canvas: &mut Canvas, dot: &Dot<'_>, measure: Measure, x: &Scale, y: &Scale) {
    let colour = dot.variant.style.colour();
    let stroke = Stroke::solid(colour, 2.0);
    let (at_x, at_y) = dot.at;
    if let Some(row) = dot.variant.summary(measure)
        && let Some((p5, p95)) = row.p5.zip(row.p95)
    {
        canvas.line((at_x, y.at(p5)), (at_x, y.at(p95)), stroke);
    }
    // The strip has no time axis for an interval.
    if dot.finished
        && let Some((low, high)) = dot.variant.median_interval(READY_TIME)
    {
        canvas.line((x.at(low), at_y), (x.at(high), at_y), stroke);
    }
    let radius = dot.radius();
    canvas.dot(dot.at, radius + 1.5, WHITE, 1.0);
    canvas.dot(dot.at, radius, colour, 1.0);
    if dot.under > 0 {
        canvas.dot(dot.at, radius - 2.5, WHITE, 1.0);
    } else if !dot.finished {
        canvas.dot(dot.at, 3.0, WHITE, 1.0);
    }
}

/// Groups of dots in the experiment's order: a dot joins the group whose first dot it touches. A dot that only touches
/// a later member of a group does not join: with many variants, a group could cover half of the plot.
fn groups(dots: &[Dot<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, dot) in dots.iter().enumerate() {
        match groups.iter_mut().find(|group| dot.touches(&dots[group[0]])) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// Numbers in short form: `3 · 7–12`.
fn ranges(numbers: &[usize]) -> Vec<String> {
    let mut texts = Vec::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        match run {
            [first, _, .., last] => texts.push(format!("{first}–{last}")),
            few => texts.extend(few.iter().map(usize::to_string)),
        }
    }
    texts
}

/// A line between two dots.
struct JoinLine {
    from: Position,
    to: Position,
}

impl JoinLine {
    /// Small squares along the line, which names must not cover.
    fn beads(&self) -> Vec<[f64; 4]> {
        let (from_x, from_y) = self.from;
        let (to_x, to_y) = self.to;
        let steps = (distance(self.from, self.to) / 6.0).ceil().max(1.0);
        let mut beads = Vec::new();
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let x = from_x + (to_x - from_x) * share;
            let y = from_y + (to_y - from_y) * share;
            beads.push([x - 1.0, y - 1.0, x + 1.0, y + 1.0]);
        }
        beads
    }
}

/// The lines between neighbouring settings of one strategy that both finished, see [`differ_in_one`].
fn joined(dots: &[Dot<'_>], quantities: &[&str]) -> Vec<JoinLine> {
    let mut lines = Vec::new();
    for pair in dots.windows(2) {
        let [from, to] = [&pair[0], &pair[1]];
        let both_finished = from.finished && to.finished;
        if both_finished && differ_in_one(from.variant.info, to.variant.info, quantities) {
            lines.push(JoinLine {
                from: from.at,
                to: to.at,
            });
        }
    }
    lines
}

/// Returns whether two variants of one strategy differ only in one setting that is among `quantities`. Values of other
/// kinds, such as methods of distribution, have no order that a line could follow.
fn differ_in_one(a: &VariantInfo, b: &VariantInfo, quantities: &[&str]) -> bool {
    let mut differ = a.settings.iter().zip(&b.settings).filter(|(a, b)| a != b);
    let (Some((first, _)), None) = (differ.next(), differ.next()) else {
        return false;
    };
    a.strategy == b.strategy && quantities.contains(&first.path.as_str())
}

/// The names of dots that cover each other, or of one dot.
struct Block<'d> {
    dots: Vec<&'d Dot<'d>>,
    /// Width of the marks before the names.
    marks: f64,
    names: Vec<String>,
    notes: Vec<String>,
    width: f64,
    height: f64,
    /// Centre of the dots, and how far they extend from there.
    at: Position,
    reach: f64,
}

/// The texts of a block.
struct BlockText {
    names: Vec<String>,
    /// A note for each name, or an empty text.
    notes: Vec<String>,
}

impl BlockText {
    /// The name of each dot with its note; names in the strip have less room.
    fn named(dots: &[&Dot<'_>], strip: f64) -> Self {
        let mut names = Vec::new();
        let mut notes = Vec::new();
        for dot in dots {
            let width = if dot.finished { NAME } else { strip };
            names.push(fitted_name(&dot.label, LABEL, Weight::Bold, width));
            notes.push(dot.note());
        }
        Self { names, notes }
    }

    /// The numbers of the dots, which are short enough to share a few lines; the key shows the details.
    fn numbered(dots: &[&Dot<'_>]) -> Self {
        let mut numbers: Vec<usize> = dots
            .iter()
            .filter_map(|dot| dot.label.parse().ok())
            .collect();
        numbers.sort_unstable();
        Self {
            names: ranges(&numbers)
                .chunks(NUMBERS_IN_LINE)
                .map(|part| part.join(" · "))
                .collect(),
            notes: vec![String::new(); numbers.len()],
        }
    }

    /// The number of lines of the text.
    fn lines(&self) -> usize {
        self.names.len() + self.notes.iter().filter(|note| !note.is_empty()).count()
    }

    /// The width of the widest line of the text.
    fn width(&self) -> f64 {
        let names = widest(&self.names, LABEL, Weight::Bold);
        names.max(widest(&self.notes, SMALL, Weight::Regular))
    }
}

/// The centre of some dots.
fn middle_of(dots: &[&Dot<'_>]) -> Position {
    let mut x = 0.0;
    let mut y = 0.0;
    for dot in dots {
        let (dot_x, dot_y) = dot.at;
        x += dot_x;
        y += dot_y;
    }
    (x / dots.len() as f64, y / dots.len() as f64)
}

impl<'d> Block<'d> {
    /// The block of dots that touch each other.
    fn of(dots: Vec<&'d Dot<'d>>, numbered: bool, strip: f64) -> Self {
        let text = if numbered {
            BlockText::numbered(&dots)
        } else {
            BlockText::named(&dots, strip)
        };
        let marks = if dots.len() > 1 && !numbered {
            MARK
        } else {
            0.0
        };
        let at = middle_of(&dots);
        let mut reach: f64 = 0.0;
        for dot in &dots {
            reach = reach.max(distance(at, dot.at) + DOT + 4.0 * dot.under as f64);
        }
        Self {
            width: marks + text.width(),
            height: NAME_LINE * text.lines() as f64 - 3.0,
            at,
            reach: reach + 1.5,
            dots,
            marks,
            names: text.names,
            notes: text.notes,
        }
    }

    /// The `step`-th candidate rectangle for the block: right or left of its dots (higher first, then lower, then
    /// level), otherwise above or below, at increasing distances.
    fn place(&self, step: usize) -> [f64; 4] {
        let (x, y) = self.at;
        let gap = self.reach + 4.0;
        let further = 7.0 * (step / 12) as f64;
        let above = y - self.height - 1.0 - further;
        let below = y + 3.0 + further;
        let middle = x - self.width / 2.0;
        // Alternates between right and left.
        let (close, distant) = if step.is_multiple_of(2) {
            let right = x + gap;
            (right, right + further)
        } else {
            let left = x - gap - self.width;
            (left, left - further)
        };
        let (left, top) = match step % 12 {
            0 | 1 => (close, above),
            2 | 3 => (close, below),
            4 | 5 => (distant, y - self.height * 0.75),
            6 | 7 => (distant, y - self.height * 0.5),
            8 | 9 => (distant, y - self.height * 0.25),
            10 => (middle, above - self.reach - 3.0),
            _ => (middle, below + self.reach),
        };
        [left, top, left + self.width, top + self.height]
    }

    /// The line to a block that is not directly next to its dots.
    fn leader(&self, [left, top, right, bottom]: [f64; 4]) -> Option<JoinLine> {
        let (x, y) = self.at;
        let near_x = x.clamp(left - 2.0, right + 2.0);
        let near_y = y.clamp(top, bottom);
        let dx = near_x - x;
        let dy = near_y - y;
        let distance = libm::hypot(dx, dy);
        let is_far =
            distance > self.reach + 9.0 || (self.dots.len() > 1 && distance > self.reach + 3.0);
        let share = self.reach / distance;
        is_far.then_some(JoinLine {
            from: (x + dx * share, y + dy * share),
            to: (near_x, near_y),
        })
    }

    /// The rectangle that the dots of the block cover.
    fn room_of_dots(&self) -> [f64; 4] {
        let (x, y) = self.at;
        let reach = self.reach;
        [x - reach, y - reach, x + reach, y + reach]
    }

    /// Draws the block in the given rectangle, with the line to its dots.
    fn draw(&self, canvas: &mut Canvas, found: [f64; 4]) {
        let [left, top, right, bottom] = found;
        canvas.rectangle((left - 2.0, top), (right + 2.0, bottom), WHITE, 0.75);
        if let Some(line) = self.leader(found) {
            canvas.line(line.from, line.to, Stroke::solid(AXIS, 0.8));
        }
        let mut baseline = top + 11.0;
        for ((dot, name), note) in self.dots.iter().zip(&self.names).zip(&self.notes) {
            if self.marks > 0.0 {
                let middle = (left + 5.0, baseline - 4.5);
                canvas.dot(middle, 4.5, dot.variant.style.colour(), 1.0);
                if dot.under > 0 || !dot.finished {
                    canvas.dot(middle, 2.5, WHITE, 1.0);
                }
            }
            write_bold(
                canvas,
                name,
                (left + self.marks, baseline),
                TextStyle::new(LABEL, INK),
            );
            if !note.is_empty() {
                baseline += NAME_LINE;
                write(
                    canvas,
                    note,
                    (left + self.marks, baseline),
                    TextStyle::new(SMALL, MUTED),
                    Align::Left,
                );
            }
            baseline += NAME_LINE;
        }
    }
}

/// Number of rectangles to try for a name.
const MOST_STEPS: usize = 840;

/// The shapes that names must not cover, and the positions for the names of a block.
struct NameRoom<'t> {
    /// The rectangles of the dots of each block, the squares along lines between dots, and the placed names.
    taken: &'t [[f64; 4]],
    /// The indices in `taken` of the squares along lines between dots.
    lines: std::ops::Range<usize>,
    /// The index of the block to be placed.
    own: usize,
    /// The area that the names of the block must stay in.
    bounds: [f64; 4],
}

impl NameRoom<'_> {
    /// Returns whether a rectangle is in the area for names.
    fn is_inside(&self, a: &[f64; 4]) -> bool {
        let [left, top, right, bottom] = self.bounds;
        a[0] >= left && a[2] <= right && a[1] >= top && a[3] <= bottom
    }

    /// Returns whether a rectangle covers no other shape, and the line from it to the block's dots crosses none.
    fn is_free(&self, block: &Block<'_>, a: &[f64; 4]) -> bool {
        self.is_inside(a)
            && self.taken.iter().all(|b| is_clear(a, b))
            && !block.leader(*a).is_some_and(|line| self.crosses(&line))
    }

    /// Returns whether a line covers something other than the block's own dots.
    fn crosses(&self, line: &JoinLine) -> bool {
        for bead in line.beads() {
            for (at, taken) in self.taken.iter().enumerate() {
                if at != self.own && !is_clear(&bead, taken) {
                    return true;
                }
            }
        }
        false
    }

    /// Returns whether a rectangle covers nothing but lines between dots.
    fn is_over_lines(&self, a: &[f64; 4]) -> bool {
        if !self.is_inside(a) {
            return false;
        }
        for (at, taken) in self.taken.iter().enumerate() {
            if !self.lines.contains(&at) && !is_clear(a, taken) {
                return false;
            }
        }
        true
    }

    /// The first free rectangle for the name of a block. If the lines leave no room, it may cover them, but never dots
    /// or names. `None` if there is no such rectangle.
    fn find(&self, block: &Block<'_>) -> Option<[f64; 4]> {
        let mut over_lines = None;
        for step in 0..MOST_STEPS {
            let place = block.place(step);
            if self.is_free(block, &place) {
                return Some(place);
            }
            if over_lines.is_none() && self.is_over_lines(&place) {
                over_lines = Some(place);
            }
        }
        over_lines
    }
}

/// Returns whether two rectangles have a gap between them.
fn is_clear(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[2] + 3.0 <= b[0] || b[2] + 3.0 <= a[0] || a[3] + 2.0 <= b[1] || b[3] + 2.0 <= a[1]
}

/// Places each name so that it touches no dot, no other name and no line to a name.
fn label_blocks(canvas: &mut Canvas, blocks: &[Block<'_>], joined: &[JoinLine], area: Area) {
    let mut taken: Vec<[f64; 4]> = blocks.iter().map(Block::room_of_dots).collect();
    for line in joined {
        taken.extend(line.beads());
    }
    let lines = blocks.len()..taken.len();
    for (own, block) in blocks.iter().enumerate() {
        // A name in the strip stays on its side of the line.
        let is_on_axis = block.dots.iter().any(|dot| dot.finished);
        let (left, right) = if is_on_axis {
            (area.left, area.right)
        } else {
            (area.right + STRIP + 4.0, canvas.width)
        };
        let room = NameRoom {
            taken: &taken,
            lines: lines.clone(),
            own,
            bounds: [left, area.top - 8.0, right, area.bottom - 2.0],
        };
        let Some(found) = room.find(block) else {
            continue;
        };
        taken.push(found);
        if let Some(leader) = block.leader(found) {
            taken.extend(leader.beads());
        }
        block.draw(canvas, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_strip_are_distinct_if_there_is_room() {
        let provenance = &crate::results::Provenance::new("strip", "", 1, 1);
        let sheet = Sheet {
            provenance,
            width: crate::report::sheet::ChartWidth::Page,
            untitled: false,
        };
        let names =
            ["batches, 1 Gbit/s, size=20", "batches, 200 Mbit/s, size=20"].map(str::to_owned);
        let width = strip_name(&[&names[0], &names[1]], sheet);
        let [a, b] = names
            .each_ref()
            .map(|name| fitted_name(name, LABEL, Weight::Bold, width));
        assert!(a != b && width > STRIP_NAME, "{a} {b} {width}");
        assert!(strip_name(&[&names[0]], sheet) <= STRIP_NAME);
    }

    #[test]
    fn three_or_more_consecutive_numbers_become_a_range() {
        assert_eq!(ranges(&[3, 7, 8, 9, 11, 12]), ["3", "7–9", "11", "12"]);
        assert_eq!(ranges(&[5]), ["5"]);
    }
}
