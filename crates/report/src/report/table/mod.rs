//! The comparison that a run prints last: the answer, then one line for each variant, as plain text or as JSON.

mod json;
mod names;

use itertools::Itertools;

use super::answer::lines::{AnswerLine, AnswerLines};
use super::answer::sentence::listed;
use super::answer::{PageAnswer, answer, groups};
use super::applications::{self, ApplicationMedians};
use super::cautions;
use super::columns::{FilledColumn, SharedPhrase, identical};
use super::data::{Results, VariantResults, target_of};
use super::format::{count, ended, in_unit, percents};
use super::guesses;
use super::limits::AssertedLimit;
use super::wrap::{letters, paragraph, text_table, wrapped};
use crate::results::{Provenance, READY_TIME, RunRow};
use fleetsim_units::counted;
use names::Names;

pub use json::{SCHEMA_VERSION, json};

/// Maximum number of questions whose lines are printed. Of further questions only the verdicts are printed.
const ANSWERS_MAX: usize = 2;
/// The width of the words at the start of an answer's lines.
const KEY_WIDTH: usize = 5;
/// Maximum number of listed variants with unfinished runs, so that the list fits on a screen.
const UNFINISHED_MAX: usize = 12;

/// A column as lines of text, all of the same width.
struct TextColumn {
    /// The column's heading on one line.
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
        let is_shared = counts.len() > 1 && counts.iter().all_equal();
        let shared = is_shared.then(|| SharedPhrase {
            text: format!("{} runs complete", counts[0]),
            is_of_every_run: true,
        });
        if variants.iter().all(VariantResults::is_whole) {
            let cells: Vec<Vec<String>> = counts.into_iter().map(|count| vec![count]).collect();
            let heading = ["", "done"].map(str::to_owned);
            return Self::aligned("done", heading, &cells, 0, shared);
        }
        let mut cells = Vec::new();
        for (count, variant) in counts.into_iter().zip(variants) {
            let interval = match variant.finishing_share() {
                Some(share) => format!("[{}]", percents(share)),
                None => String::new(),
            };
            cells.push(vec![count, String::new(), interval]);
        }
        let heading = ["done", "[95% CI]"].map(str::to_owned);
        Self::aligned("done", heading, &cells, 0, shared)
    }

    /// A measure of each variant.
    fn of(filled: &FilledColumn<'_>, variants: usize) -> Self {
        let column = filled.column;
        let missing = if column.measure == READY_TIME {
            "unfinished"
        } else {
            "–"
        };
        let mut cells: Vec<Vec<String>> = Vec::new();
        for at in 0..variants {
            cells.push(match filled.cell(at) {
                None => vec![missing.to_owned()],
                Some(cell) => vec![
                    cell.number,
                    cell.unit.to_owned(),
                    cell.range.unwrap_or_default(),
                ],
            });
        }
        let unit = filled.heading_unit();
        // A heading of two words without a unit is written in two lines, so that the column is narrow.
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
        Self::aligned(column.heading, heading, &cells, column.rank, shared)
    }

    /// Aligns the parts of the cells in a column: numbers at the right, units and ranges at the left.
    fn aligned(
        name: &'static str,
        heading: [String; 2],
        cells: &[Vec<String>],
        rank: u32,
        shared: Option<SharedPhrase>,
    ) -> Self {
        let mut widths = [0; 3];
        for parts in cells.iter().filter(|parts| parts.len() > 1) {
            for (width, part) in widths.iter_mut().zip(parts) {
                *width = letters(part).max(*width);
            }
        }
        let mut texts: Vec<String> = heading.into();
        texts.extend(cells.iter().map(|parts| aligned_cell(parts, widths)));
        let width = texts.iter().map(|text| letters(text)).max().unwrap_or(0);
        Self {
            name,
            rank,
            shared,
            lines: texts.iter().map(|text| format!("{text:>width$}")).collect(),
        }
    }

    /// The width that all lines of the column have.
    fn width(&self) -> usize {
        letters(&self.lines[0])
    }
}

/// Pads the parts of a cell to their widths: the number at the right, the others at the left; parts of width 0 are
/// left out. A cell of one part is unchanged.
fn aligned_cell(parts: &[String], widths: [usize; 3]) -> String {
    let [number, others @ ..] = parts else {
        return String::new();
    };
    if others.is_empty() {
        return number.clone();
    }
    let mut text = format!("{number:>width$}", width = widths[0]);
    for (part, &width) in others.iter().zip(&widths[1..]) {
        if width > 0 {
            text.push_str(&format!(" {part:<width$}"));
        }
    }
    text
}

/// The answer and the comparison table as plain text, with lines of at most `width` characters if possible. To achieve
/// that, a sentence replaces columns with the same value in every variant, then names lose their common start, then
/// columns are left out, the least important first, and a note names them. Unfinished variants are listed with the
/// rule that blocks them, and the last line is the command that reproduces the results.
///
/// `detail`: the sentences behind the answer, and notes for readers of the table, are for those who ask.
#[must_use]
pub fn table(results: &Results, width: usize, detail: Detail) -> String {
    let variants = results.variants();
    let filled = FilledColumn::all(&variants);
    let mut columns = vec![TextColumn::done(&variants)];
    for column in &filled {
        columns.push(TextColumn::of(column, variants.len()));
    }
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
    if detail == Detail::All {
        text.push_str(&behind(&found, width));
        text.push_str(&applications_of(&variants, &found));
    }
    for (line, mut row) in names.lines().into_iter().enumerate() {
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
    text.push_str(&paragraph(&identical(&shared), width));
    let mut notes = notes_of(results, &variants, &names);
    if !left_out.is_empty() {
        notes.push_str(&format!(
            " Left out for lack of room: {}; see summary.csv.",
            left_out.join(", ")
        ));
    }
    text.push_str(&wrapped(&notes, width, ""));
    let guesses = match detail {
        Detail::All => guesses::sentences(results, &variants, &found),
        Detail::Answer => guesses::in_short(results),
    };
    text.push_str(&paragraph(&guesses, width));
    text.push_str(&unfinished(&variants, width));
    text.push_str(&file_notes(results, width));
    text.push_str(&reproduction(&results.provenance, width));
    text
}

/// The last line: how to reproduce the results. Empty: it is not known.
fn reproduction(provenance: &Provenance, width: usize) -> String {
    if !provenance.guests.is_empty() {
        return wrapped(
            &format!("Reproduce: {}", without_command(provenance)),
            width,
            "",
        );
    }
    if provenance.command.is_empty() {
        return String::new();
    }
    // A command is meant to be copied, so it is not wrapped.
    format!("Reproduce: {}\n", provenance.command)
}

/// Says how to reproduce results with guests, which no command has.
pub(in crate::report) fn without_command(provenance: &Provenance) -> String {
    let guests = listed(&provenance.guests);
    format!("run the program that has {guests} again; no command has them")
}

/// The parts of the products' files that are not simulated, or were read in a way that users may not expect.
fn file_notes(results: &Results, width: usize) -> String {
    let mut text = String::new();
    for line in cautions::file_notes(&results.provenance.file_notes) {
        text.push_str(&wrapped(&format!("note: {line}"), width, "  "));
    }
    text
}

/// How much of a comparison is printed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Detail {
    /// The answer and the table.
    #[default]
    Answer,
    /// The answer, the table and the sentences behind the answer.
    All,
}

/// Explains how to read the table.
fn notes_of(results: &Results, variants: &[VariantResults<'_>], names: &Names) -> String {
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
    if let Some(note) = names.note() {
        notes.push_str(&format!(" {note}."));
    }
    if let Some(run) = results.displayed() {
        notes.push_str(&format!(
            " Charts show replicate {} of every variant: {}.",
            run.replicate,
            run.conditions()
        ));
    }
    notes
}

/// The answer as on the page, followed by an empty line. If there are many comparisons, one sentence replaces their
/// answers.
fn answered(answer: &PageAnswer, width: usize) -> String {
    let mut text = paragraph(&answer.caution, width);
    text.push_str(&paragraph(&answer.lead, width));
    let has_lines = answer.questions.len() <= ANSWERS_MAX;
    for question in &answer.questions {
        let AnswerLines { verdict, lines, .. } = &question.lines;
        let title = if question.title.is_empty() {
            String::new()
        } else {
            format!("{}: ", question.title)
        };
        text.push_str(&wrapped(&format!("{title}{verdict}"), width, "  "));
        if has_lines {
            for line in lines {
                text.push_str(&answer_line(line, width));
            }
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// `  time   all 1,000 clusters ready in 21 min (…)`, later lines below the text.
fn answer_line(line: &AnswerLine, width: usize) -> String {
    let key = line.key.word();
    let indent = " ".repeat(KEY_WIDTH + 4);
    wrapped(
        &format!(
            "\u{a0}\u{a0}{key:\u{a0}<KEY_WIDTH$}\u{a0}\u{a0}{}",
            line.text
        ),
        width,
        &indent,
    )
    .replace('\u{a0}', " ")
}

/// The sentences behind the answer.
fn behind(answer: &PageAnswer, width: usize) -> String {
    let mut text = String::new();
    for group in answer.details.iter().filter(|group| !group.text.is_empty()) {
        let title = if group.title.is_empty() {
            String::new()
        } else {
            format!("{}: ", group.title)
        };
        text.push_str(&wrapped(&format!("{title}{}", group.text), width, ""));
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// The table of the applications of the variant that the answer chooses, or of the first one. Empty for a single
/// application.
fn applications_of(variants: &[VariantResults<'_>], answer: &PageAnswer) -> String {
    let mut chosen = answer.questions.iter().map(|found| found.lines.chosen);
    let at = chosen.next().flatten().unwrap_or(0);
    let Some(variant) = variants.get(at) else {
        return String::new();
    };
    let all = ApplicationMedians::all(variant);
    if all.is_empty() {
        return String::new();
    }
    let shown = applications::shown(&all);
    let of_all = if shown.len() < all.len() {
        format!(
            ", {} of {}: the largest and the slowest",
            shown.len(),
            all.len()
        )
    } else {
        String::new()
    };
    let table = text_table(
        &shown,
        1,
        &[
            ("application", &|row| row.name.to_owned()),
            ("clusters", &|row| count(row.targets)),
            ("released after", &|row| applications::after(row.release_s)),
            ("completion", &|row| applications::after(row.ready_s)),
            ("left behind", &|row| count(row.left_behind)),
            ("peak pulls", &|row| count(row.peak_pulls)),
            ("received", &|row| in_unit(row.received_bytes, "bytes")),
        ],
    );
    let name = variant.name();
    format!("Applications of `{name}`{of_all}; completion from the own release:\n{table}\n")
}

/// The columns that do not fit into a line: replaced by phrases, or left out.
#[derive(Default)]
struct Fitted {
    /// Phrases that replace columns.
    shared: Vec<SharedPhrase>,
    /// Headings of omitted columns.
    left_out: Vec<&'static str>,
}

/// Shortens names and leaves out columns until a line fits.
fn fit(names: &mut Names, columns: &mut Vec<TextColumn>, width: usize) -> Fitted {
    let mut fitted = Fitted::default();
    while line_width(names, columns) > width {
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

/// The width of a line with the given names and columns.
fn line_width(names: &Names, columns: &[TextColumn]) -> usize {
    let columns = columns.iter().map(|column| 2 + column.width());
    names.width() + columns.sum::<usize>()
}

/// The least important removable column.
fn least_important(columns: &[TextColumn], may_go: fn(&TextColumn) -> bool) -> Option<usize> {
    (0..columns.len())
        .filter(|&at| may_go(&columns[at]))
        .max_by_key(|&at| columns[at].rank)
}

/// `4 of 20 runs stalled, blocked by maxUnavailable`, or with several ends `6 of 20 runs are incomplete: 4 stalled,
/// …`.
fn ends(variant: &VariantResults<'_>) -> Option<String> {
    let missing = variant.runs.len() - variant.finished();
    let runs = counted(variant.runs.len(), "run");
    match variant.ends().as_slice() {
        [] => None,
        [all] => Some(format!("{missing} of {runs} {}", end_in_words(all))),
        several => {
            let each = several
                .iter()
                .map(|runs| format!("{} {}", runs.len(), end_in_words(runs)))
                .join("; ");
            Some(format!("{missing} of {runs} did not complete: {each}"))
        }
    }
}

/// Describes how the given runs ended, with the detail of the blocking rule. If it differs, the first run is the
/// example.
fn end_in_words(runs: &[&RunRow]) -> String {
    let run = runs[0];
    let mut details = runs.iter().map(|run| &run.held_detail);
    let held = if details.all_equal() || run.held_detail.is_empty() {
        run.held()
    } else {
        format!(
            "{}; for example run {}: {}",
            run.held_by, run.replicate, run.held_detail
        )
    };
    let rule = if held.is_empty() {
        String::new()
    } else {
        format!(", blocked by {held}")
    };
    format!("{}{rule}", ended(run.outcome))
}

/// A line for each variant with unfinished runs: their number, and the reason.
fn unfinished(variants: &[VariantResults<'_>], width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for variant in variants {
        if let Some(ends) = ends(variant) {
            lines.push(format!("{}: {ends}.", variant.name()));
        }
    }
    let more = lines.len().saturating_sub(UNFINISHED_MAX);
    lines.truncate(UNFINISHED_MAX);
    if more > 0 {
        lines.push(format!(
            "{more} more variants have unfinished runs; see `held_by` in runs.csv."
        ));
    }
    lines
        .iter()
        .map(|line| wrapped(line, width, "  "))
        .collect()
}
