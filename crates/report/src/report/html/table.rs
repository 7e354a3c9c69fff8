//! The comparison table as HTML: one row for each variant, and one column for each measure, in one unit, and for each
//! limit.
//!
//! A cell includes the number by which it is sorted. If times differ greatly in length, their unit is in the cell; in
//! other columns it is in the heading. A limit follows the measure that it applies to. For a defective revision the
//! exposed clusters come first. A sentence below the table replaces columns with the same value in every variant.

use super::markup::{WIDE_END, escaped, swatch};
use crate::report::answer::groups::Best;
use crate::report::columns::{EXPOSED, FilledColumn, SharedPhrase, identical};
use crate::report::data::VariantResults;
use crate::report::format::percents;
use crate::report::limits::{AssertedLimit, mark};
use crate::results::{Measure, READY_TIME};

/// The table, and the sentence on the values that all variants share.
pub(super) fn table(
    variants: &[VariantResults<'_>],
    names: &[String],
    limits: &[AssertedLimit],
    best: &[Best],
) -> String {
    let (shown, identical_ones): (Vec<FilledColumn<'_>>, Vec<FilledColumn<'_>>) =
        FilledColumn::all(variants)
            .into_iter()
            .partition(|filled| filled.column.rank == 0 || filled.shared().is_none());
    // If every run completed, the room is better used for other columns.
    let all_done = variants.iter().all(VariantResults::is_whole);
    let columns = ordered(&shown, limits, all_done);
    let mut html = String::from(
        "<div class=\"wide\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"comparison-title\">\n<table id=\"comparison\">\n<thead><tr>\n",
    );
    html.push_str(&heading("variant", "", "strategy and setting", "name"));
    html.extend(columns.iter().map(TableColumn::heading));
    html.push_str("</tr></thead>\n<tbody>\n");
    for (at, variant) in variants.iter().enumerate() {
        html.push_str(&format!(
            "<tr data-variant=\"{at}\"><th scope=\"row\" data-sort=\"{at}\"><label title=\"{}\"><input type=\"checkbox\" checked> {} <span>{}</span></label></th>",
            escaped(variant.name()),
            swatch(variant.style),
            escaped(&names[at]),
        ));
        html.extend(columns.iter().map(|column| column.cell(at, variant, best)));
        html.push_str("</tr>\n");
    }
    html.push_str(&format!("</tbody></table></div>{WIDE_END}"));
    let mut phrases: Vec<SharedPhrase> = Vec::new();
    if all_done {
        phrases.push(SharedPhrase {
            text: "all runs complete".to_owned(),
            is_of_every_run: true,
        });
    }
    phrases.extend(identical_ones.iter().filter_map(FilledColumn::shared));
    if !phrases.is_empty() && variants.len() > 1 {
        html.push_str(&format!("<p class=\"note\">{}</p>\n", identical(&phrases)));
    }
    html
}

/// A column of the table.
enum TableColumn<'t, 'v> {
    Done,
    Limit(&'t AssertedLimit),
    Measure(&'t FilledColumn<'v>),
}

/// The columns after the name, in their order.
fn ordered<'t, 'v>(
    shown: &'t [FilledColumn<'v>],
    limits: &'t [AssertedLimit],
    all_done: bool,
) -> Vec<TableColumn<'t, 'v>> {
    let (first, others): (Vec<&FilledColumn<'_>>, Vec<&FilledColumn<'_>>) = shown
        .iter()
        .partition(|column| column.column.measure == EXPOSED);
    let mut columns = Vec::new();
    for column in first {
        push_with_limits(&mut columns, column, limits);
    }
    if !all_done {
        columns.push(TableColumn::Done);
    }
    // Each limit on a measure that has no column is shown in a separate column.
    for limit in limits {
        if !shown.iter().any(|column| is_on(limit, column)) {
            columns.push(TableColumn::Limit(limit));
        }
    }
    for column in others {
        push_with_limits(&mut columns, column, limits);
    }
    columns
}

/// Adds the column of a measure, and the columns of its limits.
fn push_with_limits<'t, 'v>(
    columns: &mut Vec<TableColumn<'t, 'v>>,
    column: &'t FilledColumn<'v>,
    limits: &'t [AssertedLimit],
) {
    columns.push(TableColumn::Measure(column));
    for limit in limits {
        if is_on(limit, column) {
            columns.push(TableColumn::Limit(limit));
        }
    }
}

/// Returns whether a limit applies to the measure of a column.
fn is_on(asserted: &AssertedLimit, column: &FilledColumn<'_>) -> bool {
    asserted.limit.measure() == column.column.measure
}

impl TableColumn<'_, '_> {
    fn heading(&self) -> String {
        match self {
            Self::Done => heading(
                "done",
                "[95% CI]",
                "runs that completed, with the exact interval of their share",
                "",
            ),
            Self::Limit(AssertedLimit { limit, strategy }) => {
                let whose = strategy
                    .as_ref()
                    .map_or_else(String::new, |strategy| format!(" for {strategy}"));
                let note = format!("limit of the experiment{whose}, with the value compared");
                heading(&limit.to_string(), "", &note, "limit")
            }
            Self::Measure(filled) => heading(
                filled.column.heading,
                &filled.heading_unit(),
                filled.column.measure.definition(),
                "",
            ),
        }
    }

    fn cell(&self, at: usize, variant: &VariantResults<'_>, best: &[Best]) -> String {
        match self {
            Self::Done => done(variant),
            Self::Limit(limit) => verdict(variant, limit),
            Self::Measure(filled) => {
                let is_best = best.iter().any(|best| match filled.column.measure {
                    READY_TIME => best.fastest == Some(at),
                    Measure::PeakPulls => best.lowest == Some(at),
                    EXPOSED => best.least_exposed.contains(&at),
                    _ => false,
                });
                measured(filled, at, is_best)
            }
        }
    }
}

fn heading(name: &str, unit: &str, note: &str, class: &str) -> String {
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"unit\">{unit}</span>")
    };
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    format!(
        "<th scope=\"col\" aria-sort=\"none\"{class}><button type=\"button\" title=\"{}\"><span class=\"sorts\">{}</span>{unit}</button></th>\n",
        escaped(note),
        escaped(name)
    )
}

/// Number of completed runs.
fn done(variant: &VariantResults<'_>) -> String {
    let finished = variant.finished();
    let runs = variant.runs.len();
    let class = if finished < runs {
        " class=\"bad\""
    } else {
        ""
    };
    let interval = variant.finishing_share().map_or_else(String::new, |share| {
        format!(" <span class=\"spread\">[{}]</span>", percents(share))
    });
    format!(
        "<td data-sort=\"{}\"{class}>{finished}/{runs}{interval}</td>",
        finished as f64 / runs.max(1) as f64
    )
}

/// The mark of a limit and the compared value.
fn verdict(variant: &VariantResults<'_>, limit: &AssertedLimit) -> String {
    let Some(verdict) = limit.judge(variant) else {
        return "<td class=\"none\">–</td>".to_owned();
    };
    let marks = [
        ("ok", "✓", "met"),
        ("bad", "?", "undecided"),
        ("bad", "✗", "exceeded"),
    ];
    let (class, mark, word) = mark(verdict.holds, verdict.is_undecided(), marks);
    // Stands for "never", as a number that JSON and HTML can represent.
    let sort = if verdict.value.is_finite() {
        verdict.value
    } else {
        1e300
    };
    format!(
        "<td data-sort=\"{sort}\" class=\"{class}\"><span aria-hidden=\"true\">{mark}</span><span class=\"unseen\">{word}:</span> {}</td>",
        escaped(&limit.value(verdict))
    )
}

/// A median with its range.
fn measured(filled: &FilledColumn<'_>, at: usize, is_best: bool) -> String {
    let Some((median, cell)) = filled.median(at).zip(filled.cell(at)) else {
        return "<td class=\"none\">–</td>".to_owned();
    };
    let range = cell.range.as_ref().map_or_else(String::new, |range| {
        format!(" <span class=\"spread\">{range}</span>")
    });
    let class = if is_best { " class=\"best\"" } else { "" };
    format!(
        "<td data-sort=\"{median}\"{class}>{}{range}</td>",
        cell.value()
    )
}
