//! The trade-off at a glance: completion time against load on the registry, or against the clusters that received a
//! defective revision. One dot for each variant, at the medians; a thin line joins the settings of one strategy.
//! Overlapping dots are drawn as rings around a dot, with their names in one block. Many variants are numbered instead,
//! in the order of their completion times, with a key below.

use crate::report::charts::key_table;
use crate::report::names;
use crate::report::prelude::*;
use crate::report::swept::SweepAxis;

/// Greatest width of a name on the plot.
const NAME: f64 = 260.0;
/// Numbers in one line of a block.
const NUMBERS_IN_LINE: usize = 4;
/// Greatest width of a name in the strip for variants of which half of the runs or more did not finish.
const STRIP_NAME: f64 = 150.0;
/// Distance of that strip's line from the plot.
const STRIP: f64 = 14.0;
/// Width of that strip without its names.
const STRIP_ROOM: f64 = 52.0;

/// One variant's place.
struct Dot<'v> {
    variant: &'v VariantResults<'v>,
    at: Position,
    finished: bool,
    /// Number of dots on top of it: each makes its ring wider.
    under: usize,
    /// Its name or number.
    label: String,
}

impl Dot<'_> {
    fn touches(&self, other: &Self) -> bool {
        libm::hypot(other.at.0 - self.at.0, other.at.1 - self.at.1) < TOUCHING
    }
}

/// Dots closer than this hide each other.
const TOUCHING: f64 = 10.0;
/// Radius of a dot.
const DOT: f64 = 5.5;
/// Height of a name's line and of a note's line.
const NAME_LINE: f64 = 16.0;
/// Width of the mark before a name that shares its block.
const MARK: f64 = 16.0;

/// Most variants that are labelled with their names.
const NAMED_MAX: usize = 8;
/// Room for names above the highest dot.
const HEADROOM: f64 = 14.0;
/// Height of the plot with its axes and all above it.
const PLOT: f64 = 520.0;

/// Draws the chart.
pub(in crate::report) fn draw(results: &Results) -> Canvas {
    let variants = results.variants();
    let (measure, price) = match variants.iter().any(VariantResults::exposed) {
        true => (
            "exposed_targets",
            "clusters exposed to the defective revision",
        ),
        false => ("peak_pulls", "peak concurrent image pulls"),
    };
    let sheet = results.sheet();
    let numbered = variants.len() > NAMED_MAX;
    let labels = if numbered {
        key_table::numbers(&variants)
            .iter()
            .map(usize::to_string)
            .collect()
    } else {
        names::within(&variants, LABEL, Weight::Bold, NAME.min(0.4 * sheet.px()))
    };
    let unfinished = variants
        .iter()
        .zip(&labels)
        .filter(|(variant, _)| variant.ready_time().is_none());
    let unfinished: Vec<&String> = unfinished.map(|(_, label)| label).collect();
    let strip_name = strip_name(&unfinished, sheet);
    let widths = unfinished
        .iter()
        .map(|label| text_width(label, LABEL, Weight::Bold));
    let strip = widths
        .map(|width| width.clamp(70.0, strip_name) + STRIP_ROOM)
        .reduce(f64::max);
    let area = Area {
        left: MARGIN + 50.0,
        top: TOP + 28.0,
        right: sheet.px() - MARGIN - 20.0 - strip.unwrap_or(0.0),
        bottom: PLOT - 58.0,
    };
    let on_axis = variants
        .iter()
        .filter(|variant| variant.ready_time().is_some());
    let completions = on_axis.filter_map(|variant| variant.summary(READY_TIME));
    let ends = completions.flat_map(|row| {
        [
            row.median_ci95_low.or(row.median),
            row.median_ci95_high.or(row.median),
        ]
    });
    let times: Vec<f64> = ends.flatten().collect();
    let x = time_scale(&times, area.left, area.right);
    let peaks = variants
        .iter()
        .filter_map(|variant| variant.summary(measure));
    let peaks: Vec<f64> = peaks
        .flat_map(|row| [row.p5, row.median, row.p95])
        .flatten()
        .collect();
    let (y, ticks) = count_scale(
        &peaks,
        ([2.4, 1.4], 26.0),
        (span(&peaks).1, 7),
        (area.bottom, area.top + HEADROOM),
    );
    let mut dots: Vec<Dot<'_>> = variants
        .iter()
        .zip(labels)
        .map(|(variant, label)| {
            let completion = variant.ready_time();
            let peak = y.at(variant.median(measure).unwrap_or(0.0));
            let at = (
                completion.map_or(area.right + 34.0, |completion| x.at(completion)),
                peak,
            );
            Dot {
                variant,
                at,
                finished: completion.is_some(),
                under: 0,
                label,
            }
        })
        .collect();
    let axes = SweepAxis::all(&variants);
    let quantities: Vec<&str> = axes
        .iter()
        .filter(|axis| axis.numeric)
        .map(|axis| axis.path)
        .collect();
    let groups = groups(&dots);
    for group in &groups {
        // The first of the experiment lies at the bottom, as the widest ring.
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
        if measure == "peak_pulls" {
            "the peak"
        } else {
            "the exposure"
        }
    );
    let table = if numbered {
        key_table::height(sheet, variants.len())
    } else {
        0.0
    };
    let height = PLOT + table + FOOTER;
    let (subject, findings) = match measure {
        "peak_pulls" => (
            "Peak image pulls against completion time",
            findings::tradeoff(&variants),
        ),
        _ => (
            "Clusters with the defective revision against completion time",
            findings::exposure(&variants),
        ),
    };
    let head = Head {
        subject,
        findings,
        note: subtitle,
    };
    let mut canvas = page(sheet, &head, height);
    value_axis(
        &mut canvas,
        area,
        &y,
        &ticks,
        &format!("{price}{}", y.note()),
    );
    if times.is_empty() {
        bottom_axis(&mut canvas, area, &x, &[], "completion time");
    } else {
        let titles = ("completion time in {}", "completion time (logarithmic)");
        let (ticks, title) = ticks_of_time(&x, (58.0, 8), titles);
        bottom_axis(&mut canvas, area, &x, &ticks, &title);
    }
    if strip.is_some() {
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
            &mut canvas,
            "too few runs finished",
            (left + 10.0, area.top - above),
            SMALL,
            INK,
            Align::Left,
        );
    }
    let lines = joined(&dots, &quantities);
    for &(from, to) in &lines {
        canvas.line(from, to, Stroke::solid(GRID, 2.0));
    }
    for dot in &dots {
        draw_dot(&mut canvas, dot, measure, &x, &y);
    }
    let blocks: Vec<Block<'_>> = groups
        .iter()
        .map(|group| Block::of(group, &dots, numbered, strip_name))
        .collect();
    label_blocks(&mut canvas, &blocks, &lines, area);
    if numbered {
        key_table::draw(&mut canvas, sheet, &variants, PLOT);
    }
    canvas
}

/// The greatest width of a name in the strip: more than usual where names that are cut would be equal.
fn strip_name(labels: &[&String], sheet: Sheet<'_>) -> f64 {
    let usual = STRIP_NAME.min(0.25 * sheet.px());
    let most = if sheet.is_narrow() { usual } else { NAME };
    let is_unique = |width: &f64| {
        labels
            .iter()
            .map(|label| fitted_name(label, LABEL, Weight::Bold, *width))
            .all_unique()
    };
    let mut widths = std::iter::successors(Some(usual), |width| {
        Some(width + 10.0).filter(|width| *width <= most)
    });
    widths.find(is_unique).unwrap_or(usual)
}

fn draw_dot(canvas: &mut Canvas, dot: &Dot<'_>, measure: &str, x: &Scale, y: &Scale) {
    let colour = dot.variant.style.colour();
    let stroke = Stroke::solid(colour, 2.0);
    if let Some((p5, p95)) = dot
        .variant
        .summary(measure)
        .and_then(|row| Some((row.p5?, row.p95?)))
    {
        canvas.line((dot.at.0, y.at(p5)), (dot.at.0, y.at(p95)), stroke);
    }
    // The strip has no time axis that an interval could lie on.
    if let Some((low, high)) = dot
        .variant
        .median_interval(READY_TIME)
        .filter(|_| dot.finished)
    {
        canvas.line((x.at(low), dot.at.1), (x.at(high), dot.at.1), stroke);
    }
    let radius = DOT + 4.0 * dot.under as f64;
    canvas.dot(dot.at, radius + 1.5, WHITE, 1.0);
    canvas.dot(dot.at, radius, colour, 1.0);
    if dot.under > 0 {
        canvas.dot(dot.at, radius - 2.5, WHITE, 1.0);
    } else if !dot.finished {
        canvas.dot(dot.at, 3.0, WHITE, 1.0);
    }
}

/// Groups of dots that touch the first of their group, in the experiment's order. They do not grow from dot to dot:
/// with many variants, a group could cover half of the plot.
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

/// Numbers in short: `3 · 7–12`.
fn ranges(numbers: &[usize]) -> Vec<String> {
    let follows = |a: &usize, b: &usize| a + 1 == *b;
    let text = |run: &[usize]| match run {
        [first, _, .., last] => vec![format!("{first}–{last}")],
        few => few.iter().map(usize::to_string).collect(),
    };
    numbers.chunk_by(follows).flat_map(text).collect()
}

/// The pairs of neighbouring settings of one strategy that both finished: one of its settings that are `quantities`
/// differs. Kinds, such as methods of distribution, have no order that a line could follow.
fn joined(dots: &[Dot<'_>], quantities: &[&str]) -> Vec<(Position, Position)> {
    let joins = |pair: &&[Dot<'_>]| {
        let [a, b] = [&pair[0].variant.info, &pair[1].variant.info];
        let mut differ = a.settings.iter().zip(&b.settings).filter(|(a, b)| a != b);
        let one = differ
            .next()
            .is_some_and(|(a, _)| quantities.contains(&a.path.as_str()))
            && differ.next().is_none();
        a.strategy == b.strategy && one && pair[0].finished && pair[1].finished
    };
    dots.windows(2)
        .filter(joins)
        .map(|pair| (pair[0].at, pair[1].at))
        .collect()
}

/// The names of dots that lie on each other, or of one dot.
struct Block<'d> {
    dots: Vec<&'d Dot<'d>>,
    /// Width of the marks before the names.
    marks: f64,
    names: Vec<String>,
    notes: Vec<String>,
    width: f64,
    height: f64,
    /// Middle of the dots, and how far they reach from there.
    at: Position,
    reach: f64,
}

impl<'d> Block<'d> {
    fn of(group: &[usize], all: &'d [Dot<'d>], numbered: bool, strip: f64) -> Self {
        let dots: Vec<&Dot<'_>> = group.iter().map(|&at| &all[at]).collect();
        let name = |dot: &&Dot<'_>| {
            fitted_name(
                &dot.label,
                LABEL,
                Weight::Bold,
                if dot.finished { NAME } else { strip },
            )
        };
        let note = |dot: &&Dot<'_>| {
            let (finished, all) = (dot.variant.finished(), dot.variant.runs.len());
            if dot.finished && finished < all {
                format!("{finished} of {all} finished")
            } else {
                String::new()
            }
        };
        // Numbers are short enough to share a few lines; the key has the details.
        let (names, notes): (Vec<String>, Vec<String>) = if numbered {
            let mut numbers: Vec<usize> = dots
                .iter()
                .filter_map(|dot| dot.label.parse().ok())
                .collect();
            numbers.sort_unstable();
            let lines: Vec<String> = ranges(&numbers)
                .chunks(NUMBERS_IN_LINE)
                .map(|part| part.join(" · "))
                .collect();
            (lines, vec![String::new(); numbers.len()])
        } else {
            (
                dots.iter().map(name).collect(),
                dots.iter().map(note).collect(),
            )
        };
        let marks = if dots.len() > 1 && !numbered {
            MARK
        } else {
            0.0
        };
        let lines = names.len() + notes.iter().filter(|note| !note.is_empty()).count();
        let mean = |place: fn(&Dot<'_>) -> f64| {
            dots.iter().map(|dot| place(dot)).sum::<f64>() / dots.len() as f64
        };
        let at = (mean(|dot| dot.at.0), mean(|dot| dot.at.1));
        let far = |dot: &&Dot<'_>| {
            libm::hypot(dot.at.0 - at.0, dot.at.1 - at.1) + DOT + 4.0 * dot.under as f64
        };
        Self {
            width: marks
                + widest(&names, LABEL, Weight::Bold).max(widest(&notes, SMALL, Weight::Regular)),
            height: NAME_LINE * lines as f64 - 3.0,
            at,
            reach: dots.iter().map(far).fold(0.0, f64::max) + 1.5,
            dots,
            marks,
            names,
            notes,
        }
    }

    /// The `step`-th place for the block: right or left of its dots, first higher than them, then lower, then beside
    /// them; else above or below; in growing distance.
    fn place(&self, step: usize) -> [f64; 4] {
        let ((x, y), aside) = (self.at, self.reach + 4.0);
        let further = 7.0 * (step / 12) as f64;
        let above = y - self.height - 1.0 - further;
        let below = y + 3.0 + further;
        let beside = |share: f64| y - self.height * share;
        let (right, left, middle) = (x + aside, x - aside - self.width, x - self.width / 2.0);
        let aside = |further: f64| {
            if step.is_multiple_of(2) {
                right + further
            } else {
                left - further
            }
        };
        let (left, top) = match step % 12 {
            0 | 1 => (aside(0.0), above),
            2 | 3 => (aside(0.0), below),
            4 | 5 => (aside(further), beside(0.75)),
            6 | 7 => (aside(further), beside(0.5)),
            8 | 9 => (aside(further), beside(0.25)),
            10 => (middle, above - self.reach - 3.0),
            _ => (middle, below + self.reach),
        };
        [left, top, left + self.width, top + self.height]
    }

    /// The line to a block that is not right beside its dots.
    fn leader(&self, [left, top, right, bottom]: [f64; 4]) -> Option<(Position, Position)> {
        let near = (
            self.at.0.clamp(left - 2.0, right + 2.0),
            self.at.1.clamp(top, bottom),
        );
        let (dx, dy) = (near.0 - self.at.0, near.1 - self.at.1);
        let distance = libm::hypot(dx, dy);
        let is_far =
            distance > self.reach + 9.0 || (self.dots.len() > 1 && distance > self.reach + 3.0);
        let share = self.reach / distance;
        is_far.then_some(((self.at.0 + dx * share, self.at.1 + dy * share), near))
    }

    fn draw(&self, canvas: &mut Canvas, found: [f64; 4]) {
        let [left, top, right, bottom] = found;
        canvas.rectangle((left - 2.0, top), (right + 2.0, bottom), WHITE, 0.75);
        if let Some((from, to)) = self.leader(found) {
            canvas.line(from, to, Stroke::solid(AXIS, 0.8));
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
            write_bold(canvas, name, (left + self.marks, baseline), LABEL, INK);
            if !note.is_empty() {
                baseline += NAME_LINE;
                write(
                    canvas,
                    note,
                    (left + self.marks, baseline),
                    SMALL,
                    MUTED,
                    Align::Left,
                );
            }
            baseline += NAME_LINE;
        }
    }
}

/// A line as small squares on it, which names must not cover.
fn beads((a, b): (Position, Position)) -> impl Iterator<Item = [f64; 4]> {
    let steps = (libm::hypot(b.0 - a.0, b.1 - a.1) / 6.0).ceil().max(1.0);
    (0..=steps as usize).map(move |step| {
        let share = step as f64 / steps;
        let (x, y) = (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share);
        [x - 1.0, y - 1.0, x + 1.0, y + 1.0]
    })
}

/// Places each name where it touches no dot, no other name and no line to one.
fn label_blocks(
    canvas: &mut Canvas,
    blocks: &[Block<'_>],
    joined: &[(Position, Position)],
    area: Area,
) {
    let around = |block: &Block<'_>| {
        let ((x, y), reach) = (block.at, block.reach);
        [x - reach, y - reach, x + reach, y + reach]
    };
    let mut taken: Vec<[f64; 4]> = blocks.iter().map(around).collect();
    taken.extend(joined.iter().flat_map(|&line| beads(line)));
    // Where the lines leave no room, a name may lie over them, but never over dots or names.
    let lines = blocks.len()..taken.len();
    for (own, block) in blocks.iter().enumerate() {
        // A name of the strip stays on its side of the line.
        let is_on_axis = block.dots.iter().any(|dot| dot.finished);
        let (left, right) = if is_on_axis {
            (area.left, area.right)
        } else {
            (area.right + STRIP + 4.0, canvas.width)
        };
        let inside = |a: &[f64; 4]| {
            a[0] >= left && a[2] <= right && a[1] >= area.top - 8.0 && a[3] <= area.bottom - 2.0
        };
        let clear = |a: &[f64; 4], b: &[f64; 4]| {
            a[2] + 3.0 <= b[0] || b[2] + 3.0 <= a[0] || a[3] + 2.0 <= b[1] || b[3] + 2.0 <= a[1]
        };
        let is_crossed = |a: &[f64; 4]| {
            let mut line = block.leader(*a).into_iter().flat_map(beads);
            line.any(|bead| {
                taken
                    .iter()
                    .enumerate()
                    .any(|(at, b)| at != own && !clear(&bead, b))
            })
        };
        let free = |a: &[f64; 4]| inside(a) && taken.iter().all(|b| clear(a, b)) && !is_crossed(a);
        let over_lines = |a: &[f64; 4]| {
            inside(a)
                && taken
                    .iter()
                    .enumerate()
                    .all(|(at, b)| lines.contains(&at) || clear(a, b))
        };
        let places = || (0..840).map(|step| block.place(step));
        let Some(found) = places().find(free).or_else(|| places().find(over_lines)) else {
            continue;
        };
        taken.push(found);
        taken.extend(block.leader(found).into_iter().flat_map(beads));
        block.draw(canvas, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_strip_differ_where_there_is_room() {
        let provenance = &crate::results::Provenance::new("strip", "", 1, 1);
        let sheet = Sheet {
            provenance,
            width: crate::report::sheet::ChartWidth::Page,
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
    fn three_numbers_in_a_row_or_more_are_a_range() {
        assert_eq!(ranges(&[3, 7, 8, 9, 11, 12]), ["3", "7–9", "11", "12"]);
        assert_eq!(ranges(&[5]), ["5"]);
    }
}
