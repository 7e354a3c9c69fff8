//! The comparison that a run prints last: one line a variant, as plain text or as JSON.

use std::collections::BTreeSet;

use serde::Serialize;

use super::data::{Results, Variant};
use super::format::{count, number, time_interval, time_parts};
use super::text::common_start;
use crate::record::Outcome;

/// The version of the JSON form; raised when a field changes its name or meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Widest that a variant's name is shown, if that tells the variants apart; and if it does not.
const NAME_MAX: usize = 30;
const NAME_LONGEST: usize = 60;

/// One column.
struct Column {
    /// Its two lines, and its name in the text below.
    heading: [&'static str; 2],
    name: &'static str,
    /// How little it tells: the greatest is left out first, 0 never.
    rank: u32,
    /// What the numbers are, where heading and unit leave that open.
    note: &'static str,
    cell: fn(&Variant<'_>) -> Cell,
}

/// What stands in a column for a variant.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    /// A number and what belongs to it, each aligned with those of the other variants.
    Parts(Vec<String>),
    /// A word in place of numbers.
    Word(&'static str),
}

/// Without a value.
const NONE: Cell = Cell::Word("–");

const COLUMNS: [Column; 9] = [
    Column {
        heading: ["", "done"],
        name: "done",
        rank: 0,
        note: "done: runs that finished",
        cell: |variant| Cell::number(format!("{}/{}", variant.finished(), variant.runs.len())),
    },
    Column {
        heading: ["", "completion [95 %]"],
        name: "completion",
        rank: 0,
        note: "completion: over finished runs, with the 95 % interval of the median",
        cell: completion,
    },
    Column { heading: ["", "peak pulls [p5–p95]"], name: "peak pulls", rank: 0, note: "", cell: peak_pulls },
    Column {
        heading: ["peak", "Gbit/s"],
        name: "peak Gbit/s",
        rank: 1,
        note: "peak Gbit/s: the registry's highest egress over 1 s",
        cell: |variant| scaled(variant, "egress_peak_1s_bytes_per_s", 125e6),
    },
    Column {
        heading: ["", "busy"],
        name: "busy",
        rank: 5,
        note: "busy: share of the time at the link's capacity",
        cell: busy,
    },
    Column {
        heading: ["", "GB"],
        name: "GB",
        rank: 4,
        note: "GB: all bytes out of the registry",
        cell: |variant| scaled(variant, "egress_bytes", 1e9),
    },
    Column {
        heading: ["pulls", "failed"],
        name: "pulls failed",
        rank: 3,
        note: "",
        cell: |variant| counted(variant, "failed_pulls"),
    },
    Column {
        heading: ["answers", "429"],
        name: "answers 429",
        rank: 6,
        note: "answers 429: requests refused as too many",
        cell: |variant| counted(variant, "responses_429"),
    },
    Column {
        heading: ["not ready", "(peak)"],
        name: "not ready (peak)",
        rank: 2,
        note: "not ready: most clusters at once",
        cell: |variant| counted(variant, "peak_not_ready"),
    },
];

impl Cell {
    fn number(text: String) -> Self {
        Self::Parts(vec![text])
    }

    fn text(&self) -> String {
        match self {
            Self::Parts(parts) => parts.join(" "),
            Self::Word(word) => (*word).to_owned(),
        }
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// A column with its cells laid out: all lines are of one width.
struct Laid {
    column: &'static Column,
    /// The text that all variants have here, when there are several variants.
    common: Option<String>,
    lines: Vec<String>,
}

impl Laid {
    fn out(column: &'static Column, variants: &[Variant<'_>]) -> Self {
        let cells: Vec<Cell> = variants.iter().map(column.cell).collect();
        let mut widths: Vec<usize> = Vec::new();
        for cell in &cells {
            let Cell::Parts(parts) = cell else { continue };
            widths.resize(widths.len().max(parts.len()), 0);
            for (width, part) in widths.iter_mut().zip(parts) {
                *width = letters(part).max(*width);
            }
        }
        let aligned = |cell: &Cell| match cell {
            Cell::Word(word) => (*word).to_owned(),
            Cell::Parts(parts) => {
                let mut text = String::new();
                for (at, &width) in widths.iter().enumerate() {
                    let part = parts.get(at).map_or("", String::as_str);
                    // Numbers end at the right; units and intervals begin at the left.
                    text.push_str(&if at == 0 { format!("{part:>width$}") } else { format!(" {part:<width$}") });
                }
                text
            }
        };
        let texts: Vec<String> =
            column.heading.iter().map(|&line| line.to_owned()).chain(cells.iter().map(aligned)).collect();
        let width = texts.iter().map(|text| letters(text)).max().unwrap_or(0);
        let common = cells.first().filter(|first| cells.len() > 1 && cells.iter().all(|cell| cell == *first));
        Self {
            column,
            common: common.map(Cell::text),
            lines: texts.iter().map(|text| format!("{text:>width$}")).collect(),
        }
    }

    fn width(&self) -> usize {
        letters(&self.lines[0])
    }
}

/// The comparison table as plain text, no line wider than `width` characters where that can be had. To that end columns
/// that say the same of all variants become a sentence below, then names lose their common start, then columns are left
/// out, the least telling first. Unfinished variants are listed with the rule that holds them, and the last line tells how
/// to reproduce the results.
#[must_use]
pub fn table(results: &Results, width: usize) -> String {
    let variants = results.variants();
    let mut columns: Vec<Laid> = COLUMNS.iter().map(|column| Laid::out(column, &variants)).collect();
    let full: Vec<&str> = variants.iter().map(Variant::name).collect();
    let start = common_start(&full);
    let named = |start: usize| -> Vec<String> {
        let dots = if start == 0 { "" } else { "…" };
        let names = |most: usize| -> Vec<String> {
            full.iter().map(|name| shortened(&format!("{dots}{}", &name[start..]), most)).collect()
        };
        let tells_apart = |most: &usize| names(*most).iter().collect::<BTreeSet<_>>().len() == full.len();
        names((NAME_MAX..NAME_LONGEST).find(tells_apart).unwrap_or(NAME_LONGEST))
    };
    let mut start_cut = if full.iter().any(|name| letters(name) > NAME_MAX) { start } else { 0 };
    let mut names = named(start_cut);
    let name_width = |names: &[String]| names.iter().map(|name| letters(name)).max().unwrap_or(0).max("variant".len());
    let total = |names: &[String], columns: &[Laid]| {
        name_width(names) + columns.iter().map(|column| 2 + column.width()).sum::<usize>()
    };
    let least_telling = |columns: &[Laid], may: fn(&Laid) -> bool| {
        (0..columns.len()).filter(|&at| may(&columns[at])).max_by_key(|&at| columns[at].column.rank)
    };
    let mut common: Vec<String> = Vec::new();
    while total(&names, &columns) > width {
        if let Some(at) = least_telling(&columns, foldable) {
            let Laid { column, common: text, .. } = columns.remove(at);
            common.push(format!("{} {}", column.name, text.expect("only what is common is foldable")));
        } else if start_cut < start {
            start_cut = start;
            names = named(start);
        } else if let Some(at) = least_telling(&columns, |laid| laid.column.rank > 0) {
            columns.remove(at);
        } else {
            break;
        }
    }
    let name_width = name_width(&names);
    let left = ["", "variant"].into_iter().chain(names.iter().map(String::as_str));
    let mut text = String::new();
    for (line, name) in left.enumerate() {
        let mut row = format!("{name:<name_width$}");
        for column in &columns {
            row.push_str("  ");
            row.push_str(&column.lines[line]);
        }
        if !row.trim().is_empty() {
            text.push_str(row.trim_end());
            text.push('\n');
        }
    }
    text.push('\n');
    if !common.is_empty() {
        text.push_str(&wrapped(&format!("The same for all variants: {}.", common.join(", ")), width, ""));
    }
    let mut notes = vec!["Medians and p5–p95 over runs, not over clusters".to_owned()];
    notes.extend(columns.iter().map(|laid| laid.column.note.to_owned()).filter(|note| !note.is_empty()));
    if start_cut > 0 {
        notes.push(format!("all variants begin with `{}`", full[0][..start_cut].trim_end()));
    }
    text.push_str(&wrapped(&format!("{}.", notes.join("; ")), width, ""));
    for variant in &variants {
        if let Some((outcome, held_by)) = variant.unfinished() {
            text.push_str(&wrapped(&unfinished(variant, outcome, held_by), width, "  "));
        }
    }
    if !results.provenance.command.is_empty() {
        // A command is to be copied, so it is not broken.
        text.push_str(&format!("Reproduce: {}\n", results.provenance.command));
    }
    text
}

/// Whether a sentence can stand for a column: all say the same, and it is not one of the two that are compared.
fn foldable(laid: &Laid) -> bool {
    laid.common.is_some() && (laid.column.rank > 0 || laid.column.name == "done")
}

fn unfinished(variant: &Variant<'_>, outcome: Outcome, held_by: &str) -> String {
    let missing = variant.runs.len() - variant.finished();
    let end = match outcome {
        Outcome::Complete => "complete",
        Outcome::Stalled => "stalled",
        Outcome::Horizon => "out of time",
    };
    let rule = if held_by.is_empty() { String::new() } else { format!(", held by {held_by}") };
    format!("{}: {missing} of {} runs unfinished, {end}{rule}.", variant.name(), variant.runs.len())
}

/// Breaks a text at spaces so that no line is wider than `width` where words allow; later lines start with `indent`.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push_str(&line);
            lines.push('\n');
            indent.clone_into(&mut line);
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

/// `text`, its middle cut where it has more than `max` characters: settings stand at the end of a name.
fn shortened(text: &str, max: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= max {
        return text.to_owned();
    }
    let head = max / 3;
    let tail = max - head - 1;
    letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
}

fn completion(variant: &Variant<'_>) -> Cell {
    let Some(row) = variant.summary("completion_s") else { return NONE };
    let Some(median) = row.median else { return Cell::Word("unfinished") };
    let (number, unit) = time_parts(median);
    let mut parts = vec![number, unit.to_owned()];
    if let Some((low, high)) = row.median_ci95_low.zip(row.median_ci95_high).filter(|(low, high)| low < high) {
        parts.push(time_interval(median, low, high));
    }
    Cell::Parts(parts)
}

fn peak_pulls(variant: &Variant<'_>) -> Cell {
    let Some(row) = variant.summary("peak_pulls") else { return NONE };
    let Some(median) = row.median else { return NONE };
    let mut parts = vec![count(median)];
    if let Some((p5, p95)) = row.p5.zip(row.p95).filter(|(p5, p95)| p5 < p95) {
        parts.push(format!("[{}–{}]", count(p5), count(p95)));
    }
    Cell::Parts(parts)
}

fn busy(variant: &Variant<'_>) -> Cell {
    variant.median("egress_busy_share").map_or(NONE, |share| Cell::number(format!("{} %", count(100.0 * share))))
}

fn scaled(variant: &Variant<'_>, measure: &str, unit: f64) -> Cell {
    variant.median(measure).map_or(NONE, |value| Cell::number(number(value / unit)))
}

fn counted(variant: &Variant<'_>, measure: &str) -> Cell {
    variant.median(measure).map_or(NONE, |value| Cell::number(count(value)))
}

/// The JSON form of the comparison.
#[derive(Debug, Serialize)]
struct Comparison<'r> {
    schema_version: u32,
    experiment: &'r str,
    seed: u64,
    command: &'r str,
    variants: Vec<Row<'r>>,
}

/// One variant in the JSON form: medians over runs; `null` where no run has the measure.
#[derive(Debug, Serialize)]
struct Row<'r> {
    variant: &'r str,
    strategy: &'r str,
    setting: &'r str,
    runs: usize,
    finished: usize,
    held_by: Option<&'r str>,
    completion_s: Option<f64>,
    completion_median_ci95_low_s: Option<f64>,
    completion_median_ci95_high_s: Option<f64>,
    peak_pulls: Option<f64>,
    peak_pulls_p5: Option<f64>,
    peak_pulls_p95: Option<f64>,
    egress_peak_1s_bytes_per_s: Option<f64>,
    egress_busy_share: Option<f64>,
    egress_bytes: Option<f64>,
    failed_pulls: Option<f64>,
    responses_429: Option<f64>,
    peak_not_ready: Option<f64>,
}

/// The comparison as JSON: `schema_version`, the experiment, and one object a variant.
#[must_use]
pub fn json(results: &Results) -> String {
    let comparison = Comparison {
        schema_version: SCHEMA_VERSION,
        experiment: &results.provenance.experiment,
        seed: results.provenance.seed,
        command: &results.provenance.command,
        variants: results.variants().iter().map(row).collect(),
    };
    let mut text = serde_json::to_string_pretty(&comparison).expect("plain fields with text keys are always JSON");
    text.push('\n');
    text
}

fn row<'r>(variant: &Variant<'r>) -> Row<'r> {
    let info = variant.info;
    let completion = variant.summary("completion_s");
    let pulls = variant.summary("peak_pulls");
    Row {
        variant: &info.variant,
        strategy: &info.strategy,
        setting: &info.setting,
        runs: variant.runs.len(),
        finished: variant.finished(),
        held_by: variant.unfinished().map(|(_, held_by)| held_by),
        completion_s: completion.and_then(|row| row.median),
        completion_median_ci95_low_s: completion.and_then(|row| row.median_ci95_low),
        completion_median_ci95_high_s: completion.and_then(|row| row.median_ci95_high),
        peak_pulls: pulls.and_then(|row| row.median),
        peak_pulls_p5: pulls.and_then(|row| row.p5),
        peak_pulls_p95: pulls.and_then(|row| row.p95),
        egress_peak_1s_bytes_per_s: variant.median("egress_peak_1s_bytes_per_s"),
        egress_busy_share: variant.median("egress_busy_share"),
        egress_bytes: variant.median("egress_bytes"),
        failed_pulls: variant.median("failed_pulls"),
        responses_429: variant.median("responses_429"),
        peak_not_ready: variant.median("peak_not_ready"),
    }
}
