//! The comparison that a run prints last: the answer, then one line for each variant, as plain text or as JSON.

mod json;
mod names;

use itertools::Itertools;

use super::answer::{PageAnswer, answer, groups};
use super::columns::{FilledColumn, SharedPhrase, identical};
use super::data::{Results, VariantResults, target_of};
use super::format::{ended, percents};
use super::guesses;
use super::limits::AssertedLimit;
use super::wrap::{letters, paragraph, wrapped};
use crate::results::{READY_TIME, RunRow};
use fleetsim_units::counted;
use names::Names;

pub use json::{SCHEMA_VERSION, json};

/// Most comparisons that are answered one by one.
const ANSWERS_MAX: usize = 6;
/// Most variants with unfinished runs that are listed: a screen is full of them.
const UNFINISHED_MAX: usize = 12;

/// A column in characters: all lines have the same width.
struct TextColumn {
    /// Its heading in one line.
    name: &'static str,
    rank: u32,
    /// The phrase that may replace the column.
    shared: Option<SharedPhrase>,
    lines: Vec<String>,
}

impl TextColumn {
    /// Number of finished runs of each variant.
    fn done(variants: &[VariantResults<'_>]) -> Self {
        let counts: Vec<String> = variants
            .iter()
            .map(|variant| format!("{}/{}", variant.finished(), variant.runs.len()))
            .collect();
        let is_shared = counts.len() > 1 && counts.windows(2).all(|pair| pair[0] == pair[1]);
        let text = || format!("{} runs complete", counts[0]);
        let shared = is_shared.then(|| SharedPhrase {
            text: text(),
            is_of_every_run: true,
        });
        if variants.iter().all(VariantResults::is_whole) {
            let cells = counts.into_iter().map(|count| vec![count]).collect();
            return Self::aligned("done", ["", "done"].map(str::to_owned), cells, 0, shared);
        }
        let cells = counts.into_iter().zip(variants).map(|(count, variant)| {
            let interval = variant
                .finishing_share()
                .map_or_else(String::new, |share| format!("[{}]", percents(share)));
            vec![count, String::new(), interval]
        });
        Self::aligned(
            "done",
            ["done", "[95% CI]"].map(str::to_owned),
            cells.collect(),
            0,
            shared,
        )
    }

    fn of(filled: &FilledColumn<'_>, variants: usize) -> Self {
        let column = filled.column;
        let missing = if column.measure == READY_TIME {
            "unfinished"
        } else {
            "–"
        };
        let cells = (0..variants).map(|at| match filled.cell(at) {
            None => vec![missing.to_owned()],
            Some(cell) => [
                cell.number,
                cell.unit.to_owned(),
                cell.range.unwrap_or_default(),
            ]
            .into(),
        });
        let unit = filled.heading_unit();
        // Two words without a unit go on two lines, so that the column is narrow.
        let heading = match (unit.is_empty(), column.heading.split_once(' ')) {
            (false, _) => [column.heading.to_owned(), unit],
            (true, Some((first, second))) => [first.to_owned(), second.to_owned()],
            (true, None) => [String::new(), column.heading.to_owned()],
        };
        let shared = if column.rank > 0 && variants > 1 {
            filled.shared()
        } else {
            None
        };
        Self::aligned(
            column.heading,
            heading,
            cells.collect(),
            column.rank,
            shared,
        )
    }

    /// Aligns the parts of the cells below each other: numbers at the right, units and ranges at the left.
    fn aligned(
        name: &'static str,
        heading: [String; 2],
        cells: Vec<Vec<String>>,
        rank: u32,
        shared: Option<SharedPhrase>,
    ) -> Self {
        let parts_at = |at: usize| {
            cells
                .iter()
                .filter(|parts| parts.len() > 1)
                .filter_map(move |parts| parts.get(at))
        };
        let widths = [0, 1, 2].map(|at| parts_at(at).map(|part| letters(part)).max().unwrap_or(0));
        let text = |parts: Vec<String>| match parts.as_slice() {
            [number, others @ ..] if !others.is_empty() => {
                let mut text = format!("{number:>width$}", width = widths[0]);
                for (part, &width) in others
                    .iter()
                    .zip(&widths[1..])
                    .filter(|(_, width)| **width > 0)
                {
                    text.push_str(&format!(" {part:<width$}"));
                }
                text
            }
            _ => parts.concat(),
        };
        let texts: Vec<String> = heading
            .into_iter()
            .chain(cells.into_iter().map(text))
            .collect();
        let width = texts.iter().map(|text| letters(text)).max().unwrap_or(0);
        Self {
            name,
            rank,
            shared,
            lines: texts.iter().map(|text| format!("{text:>width$}")).collect(),
        }
    }

    fn width(&self) -> usize {
        letters(&self.lines[0])
    }
}

/// The answer and the comparison table as plain text, no line wider than `width` characters where possible. To that
/// end, a sentence replaces columns with the same value in every variant, then names lose their common start, then
/// columns are left out, the least important first, and a note names them. Unfinished variants are listed with the rule
/// that blocks them, and the last line is the command that reproduces the results.
#[must_use]
pub fn table(results: &Results, width: usize) -> String {
    let variants = results.variants();
    let filled = FilledColumn::all(&variants);
    let mut columns = vec![TextColumn::done(&variants)];
    columns.extend(
        filled
            .iter()
            .map(|column| TextColumn::of(column, variants.len())),
    );
    let mut names = Names::of(&variants);
    let Fitted { shared, left_out } = fit(&mut names, &mut columns, width);
    let groups = groups::groups(&variants);
    let found = answer(
        &variants,
        &groups,
        &AssertedLimit::of_answer(results),
        results.provenance.seed,
    );
    let mut text = answered(&found, width);
    for (line, mut row) in names.lines().into_iter().enumerate() {
        row.extend(
            columns
                .iter()
                .flat_map(|column| ["  ", &column.lines[line]]),
        );
        if !row.trim().is_empty() {
            text.push_str(row.trim_end());
            text.push('\n');
        }
    }
    text.push('\n');
    text.push_str(&paragraph(&identical(&shared), width));
    let mut notes = "Medians with p5–p95 across runs. Pulls include unpacking.".to_owned();
    if variants.iter().any(|variant| !variant.is_whole()) {
        notes.push_str(" An unfinished run is later than every finished one.");
    }
    if variants.iter().any(|variant| !variant.reach().is_whole()) {
        let target = target_of(&results.provenance.variants);
        notes.push_str(&format!(
            " A run is complete when all reachable {target}s are ready."
        ));
    }
    notes.extend(names.note().map(|note| format!(" {note}.")));
    if let Some(run) = results.displayed() {
        notes.push_str(&format!(
            " Charts show replicate {} of every variant: {}.",
            run.replicate,
            run.conditions()
        ));
    }
    if !left_out.is_empty() {
        notes.push_str(&format!(
            " Left out for lack of room: {}; see summary.csv.",
            left_out.join(", ")
        ));
    }
    text.push_str(&wrapped(&notes, width, ""));
    text.push_str(&paragraph(
        &guesses::sentences(results, &variants, &found),
        width,
    ));
    text.push_str(&unfinished(&variants, width));
    if !results.provenance.command.is_empty() {
        // A command is to be copied, so it is not broken.
        text.push_str(&format!("Reproduce: {}\n", results.provenance.command));
    }
    text
}

/// The answer, as the page has it, and an empty line. Of many comparisons, the sentence for all of them.
fn answered(answer: &PageAnswer, width: usize) -> String {
    let mut text = paragraph(&answer.lead, width);
    if answer.parts.len() <= ANSWERS_MAX {
        for (title, part) in answer.parts.iter().filter(|(_, part)| !part.is_empty()) {
            let title = if title.is_empty() {
                String::new()
            } else {
                format!("{title}: ")
            };
            text.push_str(&wrapped(&format!("{title}{part}"), width, ""));
        }
    } else {
        let more = format!(
            "The page has the answers of all {} comparisons.",
            answer.parts.len()
        );
        text.push_str(&wrapped(&more, width, ""));
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// The columns for which a line has no room: replaced by phrases, or left out.
#[derive(Default)]
struct Fitted {
    /// Phrases that replace columns.
    shared: Vec<SharedPhrase>,
    /// Headings of columns that are not shown.
    left_out: Vec<&'static str>,
}

/// Shortens names and leaves out columns until a line fits.
fn fit(names: &mut Names, columns: &mut Vec<TextColumn>, width: usize) -> Fitted {
    let total = |names: &Names, columns: &[TextColumn]| {
        names.width()
            + columns
                .iter()
                .map(|column| 2 + column.width())
                .sum::<usize>()
    };
    let least_important = |columns: &[TextColumn], may: fn(&TextColumn) -> bool| {
        (0..columns.len())
            .filter(|&at| may(&columns[at]))
            .max_by_key(|&at| columns[at].rank)
    };
    let mut fitted = Fitted::default();
    while total(names, columns) > width {
        if let Some(at) = least_important(columns, |column| column.shared.is_some()) {
            fitted.shared.extend(columns.remove(at).shared);
        } else if names.shorten() {
        } else if let Some(at) = least_important(columns, |column| column.rank > 0) {
            fitted.left_out.push(columns.remove(at).name);
        } else {
            break;
        }
    }
    fitted.left_out.reverse();
    fitted
}

/// `4 of 20 runs stalled, blocked by maxUnavailable`, or with several ends `6 of 20 runs are incomplete: 4 stalled, …`.
fn ends(variant: &VariantResults<'_>) -> Option<String> {
    let ends = variant.ends();
    let end = |runs: &Vec<&RunRow>| {
        let run = runs[0];
        let held = if runs
            .iter()
            .all(|other| other.held_detail == run.held_detail)
        {
            run.held()
        } else {
            run.held_by.clone()
        };
        let rule = if held.is_empty() {
            String::new()
        } else {
            format!(", blocked by {held}")
        };
        format!("{}{rule}", ended(run.outcome))
    };
    let missing = variant.runs.len() - variant.finished();
    let runs = counted(variant.runs.len(), "run");
    match ends.as_slice() {
        [] => None,
        [all] => Some(format!("{missing} of {runs} {}", end(all))),
        several => {
            let each = several
                .iter()
                .map(|runs| format!("{} {}", runs.len(), end(runs)))
                .join("; ");
            Some(format!("{missing} of {runs} did not complete: {each}"))
        }
    }
}

/// A line for each variant with unfinished runs: how many, and why.
fn unfinished(variants: &[VariantResults<'_>], width: usize) -> String {
    let line =
        |variant: &VariantResults<'_>| Some(format!("{}: {}.", variant.name(), ends(variant)?));
    let lines: Vec<String> = variants.iter().filter_map(line).collect();
    let mut text: String = lines
        .iter()
        .take(UNFINISHED_MAX)
        .map(|line| wrapped(line, width, "  "))
        .collect();
    if let Some(more) = lines
        .len()
        .checked_sub(UNFINISHED_MAX)
        .filter(|&more| more > 0)
    {
        let line = format!("{more} more variants have unfinished runs; see `held_by` in runs.csv.");
        text.push_str(&wrapped(&line, width, "  "));
    }
    text
}
