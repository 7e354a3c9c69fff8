//! The products' own status texts on the page: what each product showed to people over time, in the displayed run of
//! each variant.
//!
//! A table of changes for each variant, initially closed. Single applications are left out, and if there are many
//! changes, those in the middle; `statuses.csv` has all.

use itertools::Itertools;

use super::markup::{self, escaped, plain_table};
use crate::report::data::Results;
use crate::report::format::{count, time};
use crate::results::{StatusRow, grouped};

/// Maximum number of changes of a variant on the page: half of them from the start, half from the end.
const SHOWN: usize = 40;

/// The section; empty if no product showed anything.
pub(super) fn section(results: &Results) -> String {
    let mut rows: Vec<(&str, &StatusRow)> = Vec::new();
    for (key, row) in &results.tables.statuses {
        if !is_single(row) {
            rows.push((&key.variant, row));
        }
    }
    let mut tables = String::new();
    for (variant, rows) in grouped(rows) {
        tables.push_str(&table(variant, &rows));
    }
    if tables.is_empty() {
        return tables;
    }
    let note = "<p class=\"note\">The words in which each product showed the rollout to its users, in the run that the \
                curves show. All changes are in <a href=\"statuses.csv\">statuses.csv</a>.</p>\n";
    markup::section("statuses", "Statuses", &format!("{note}{tables}"))
}

/// The link to the section; empty if there is no section.
pub(super) fn link(results: &Results) -> &'static str {
    let has_section = results
        .tables
        .statuses
        .iter()
        .any(|(_, row)| !is_single(row));
    if has_section {
        "<a href=\"#statuses-title\">Statuses</a>\n"
    } else {
        ""
    }
}

/// Returns whether the row is about one of many applications.
fn is_single(row: &StatusRow) -> bool {
    row.object.starts_with("Application/") || row.condition.starts_with("applicationStatus")
}

fn table(variant: &str, rows: &[&StatusRow]) -> String {
    let name = escaped(variant);
    let changes = count(rows.len() as f64);
    let shown = if rows.len() <= SHOWN {
        lines(rows)
    } else {
        let start = lines(&rows[..SHOWN / 2]);
        let end = lines(&rows[rows.len() - SHOWN / 2..]);
        let left_out = count((rows.len() - SHOWN) as f64);
        format!("{start}<tr><td colspan=\"5\">{left_out} changes are left out</td></tr>\n{end}")
    };
    let columns = [
        "time",
        "object",
        "condition",
        "status",
        "reason and message",
    ];
    let table = plain_table(&format!("statuses of {name}"), &columns, &shown);
    format!("<details><summary>{name}: {changes} changes</summary>{table}</details>\n")
}

/// The lines of some changes.
fn lines(rows: &[&StatusRow]) -> String {
    rows.iter().copied().map(line).collect()
}

fn line(row: &StatusRow) -> String {
    let words = [&row.reason, &row.message]
        .into_iter()
        .filter(|text| !text.is_empty())
        .join(": ");
    format!(
        "<tr><th scope=\"row\" style=\"white-space:nowrap\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escaped(&time(row.t_s)),
        escaped(&row.object),
        escaped(&row.condition),
        escaped(&row.status),
        escaped(&words),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::uncertainty::tests::uncertain;
    use crate::results::RunKey;

    #[test]
    fn the_section_shows_the_statuses_and_omits_the_middle_of_a_long_list() {
        let mut results = uncertain();
        results.tables.statuses.clear();
        assert_eq!(section(&results), "");
        let key = RunKey {
            variant: "careful".to_owned(),
            ..RunKey::default()
        };
        let row = |nth: usize, object: &str| StatusRow {
            t_s: nth as f64,
            object: object.to_owned(),
            condition: "Ready".to_owned(),
            reason: "Because".to_owned(),
            message: format!("NotReady({nth}) & so on"),
            ..StatusRow::default()
        };
        results
            .tables
            .statuses
            .extend((0..100).map(|nth| (key.clone(), row(nth, "Bundle/app"))));
        results
            .tables
            .statuses
            .push((key, row(100, "Application/c1")));
        let html = section(&results);
        assert!(
            html.contains("100 changes</summary>") && html.contains("60 changes are left out"),
            "{html}"
        );
        assert!(
            html.contains("Because: NotReady(19) &amp; so on") && !html.contains("NotReady(20)"),
            "{html}"
        );
        assert!(
            html.contains("NotReady(99)") && !html.contains("Application/"),
            "{html}"
        );
    }
}
