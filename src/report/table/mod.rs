//! The comparison that a run prints last: one line a variant, as plain text or as JSON.

mod columns;
mod json;
mod names;

use super::data::{Results, VariantResults};
use crate::results::RunOutcome;
use columns::{Cell, Column};
use names::Names;

pub use json::{SCHEMA_VERSION, json};

/// Unfinished variants that are told of in full; a screen is full of them.
const UNFINISHED_MAX: usize = 12;

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
    fn out(column: &'static Column, variants: &[VariantResults<'_>]) -> Self {
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
    let mut columns: Vec<Laid> = columns::telling(&variants).map(|column| Laid::out(column, &variants)).collect();
    let mut names = Names::of(&variants);
    let total = |names: &Names, columns: &[Laid]| {
        names.width() + columns.iter().map(|column| 2 + column.width()).sum::<usize>()
    };
    let least_telling = |columns: &[Laid], may: fn(&Laid) -> bool| {
        (0..columns.len()).filter(|&at| may(&columns[at])).max_by_key(|&at| columns[at].column.rank)
    };
    let mut common: Vec<String> = Vec::new();
    while total(&names, &columns) > width {
        if let Some(at) = least_telling(&columns, foldable) {
            let Laid { column, common: text, .. } = columns.remove(at);
            common.push(format!("{} {}", column.name, text.expect("only what is common is foldable")));
        } else if names.shorten() {
        } else if let Some(at) = least_telling(&columns, |laid| laid.column.rank > 0) {
            columns.remove(at);
        } else {
            break;
        }
    }
    let mut text = String::new();
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
    if !common.is_empty() {
        text.push_str(&wrapped(&format!("The same for all variants: {}.", common.join(", ")), width, ""));
    }
    let mut notes = vec!["Medians and p5–p95 over runs, not over clusters".to_owned()];
    notes.extend(columns.iter().map(|laid| laid.column.note.to_owned()).filter(|note| !note.is_empty()));
    notes.extend(names.note());
    text.push_str(&wrapped(&format!("{}.", notes.join("; ")), width, ""));
    let unfinished: Vec<String> = variants.iter().filter_map(unfinished).collect();
    for told in unfinished.iter().take(UNFINISHED_MAX) {
        text.push_str(&wrapped(told, width, "  "));
    }
    if let Some(more) = unfinished.len().checked_sub(UNFINISHED_MAX).filter(|&more| more > 0) {
        let told = format!("{more} more variants have unfinished runs; `held_by` in runs.csv tells what holds each.");
        text.push_str(&wrapped(&told, width, "  "));
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

/// How many runs of a variant did not finish, and why. `None` when all did.
fn unfinished(variant: &VariantResults<'_>) -> Option<String> {
    let (outcome, held_by) = variant.unfinished()?;
    let missing = variant.runs.len() - variant.finished();
    let end = match outcome {
        RunOutcome::Complete => "complete",
        RunOutcome::Stalled => "stalled",
        RunOutcome::Horizon => "out of time",
    };
    let rule = if held_by.is_empty() { String::new() } else { format!(", held by {held_by}") };
    Some(format!("{}: {missing} of {} runs unfinished, {end}{rule}.", variant.name(), variant.runs.len()))
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
