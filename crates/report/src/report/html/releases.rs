//! The section of a page on releases that supersede one another: a table for each variant.
//!
//! A row stands for the releases of all runs with one number, content and cause. Its times and amounts are medians over
//! the runs that have it. Left out: the spread between runs, and single applications, which `releases.csv` has.

use super::markup::{self, escaped, plain_table};
use crate::report::applications::after;
use crate::report::data::{Results, VariantResults};
use crate::report::format::{count, in_unit, number};
use crate::results::ReleaseRow;
use fleetsim_units::stats;

/// The headings of a table.
const COLUMNS: [&str; 9] = [
    "release",
    "content",
    "published by",
    "runs",
    "published after",
    "ready after",
    "most ready",
    "sent",
    "exposed target-hours",
];

/// The releases of all runs of a variant that are alike.
struct AlikeReleases<'r> {
    application: &'r str,
    release: u64,
    content: &'r str,
    cause: &'r str,
    rows: Vec<&'r ReleaseRow>,
}

impl<'r> AlikeReleases<'r> {
    /// The releases of a variant, by application and number.
    fn all(variant: &VariantResults<'r>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for &(_, row) in &variant.releases {
            match all.iter_mut().find(|alike| alike.has(row)) {
                Some(alike) => alike.rows.push(row),
                None => all.push(Self {
                    application: &row.application,
                    release: row.release,
                    content: &row.content,
                    cause: &row.cause,
                    rows: vec![row],
                }),
            }
        }
        all.sort_by_key(|alike| alike.release);
        all
    }

    fn has(&self, row: &ReleaseRow) -> bool {
        self.application == row.application
            && self.release == row.release
            && self.content == row.content
            && self.cause == row.cause
    }

    /// The median of a value, which is infinite where it was never reached.
    fn median(&self, value: fn(&ReleaseRow) -> f64) -> f64 {
        let mut values = Vec::new();
        for row in &self.rows {
            values.push(value(row));
        }
        stats::quantile_of_sorted(&stats::ordered(&values), 0.5).unwrap_or(f64::INFINITY)
    }

    fn row(&self) -> String {
        let name = if self.application.is_empty() {
            self.release.to_string()
        } else {
            format!("{} {}", escaped(self.application), self.release)
        };
        format!(
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}\
             </td><td>{}</td></tr>\n",
            escaped(self.content),
            escaped(self.cause),
            self.rows.len(),
            after(self.median(published_s)),
            after(self.median(completion_s)),
            count(self.median(targets_done)),
            in_unit(self.median(egress_bytes), "bytes"),
            number(self.median(exposed_target_hours)),
        )
    }
}

fn published_s(row: &ReleaseRow) -> f64 {
    row.published_s.unwrap_or(f64::INFINITY)
}

fn completion_s(row: &ReleaseRow) -> f64 {
    row.completion_s.unwrap_or(f64::INFINITY)
}

const fn targets_done(row: &ReleaseRow) -> f64 {
    row.targets_done as f64
}

const fn egress_bytes(row: &ReleaseRow) -> f64 {
    row.egress_bytes as f64
}

const fn exposed_target_hours(row: &ReleaseRow) -> f64 {
    row.exposed_target_hours
}

/// The section; empty if each application has one release.
pub(super) fn section(results: &Results) -> String {
    let mut tables = String::new();
    for (at, variant) in results.variants().iter().enumerate() {
        tables.push_str(&table(variant, at == 0));
    }
    if tables.is_empty() {
        return tables;
    }
    let note = "<p class=\"note\">Medians across the runs that have the release. A release is ready when all targets \
                are, counted from its publication. Every run is in <a href=\"releases.csv\">releases.csv</a>.</p>\n";
    markup::section("releases", "Releases", &format!("{note}{tables}"))
}

/// The link to the section; empty if there is no section.
pub(super) fn link(results: &Results) -> &'static str {
    if results.tables.releases.is_empty() {
        ""
    } else {
        "<a href=\"#releases-title\">Releases</a>\n"
    }
}

/// The table of a variant; empty if it has one release.
fn table(variant: &VariantResults<'_>, is_open: bool) -> String {
    let all = AlikeReleases::all(variant);
    if all.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for alike in &all {
        rows.push_str(&alike.row());
    }
    let name = escaped(variant.name());
    let open = if is_open { " open" } else { "" };
    let table = plain_table(&format!("releases of {name}"), &COLUMNS, &rows);
    format!("<details{open}><summary>{name}</summary>{table}</details>\n")
}

#[cfg(test)]
mod tests {
    use super::super::{PageCharts, page};
    use crate::report::synthetic::{six_settings, with_rollbacks};
    use crate::report::tests::readable_quietly;

    #[test]
    fn the_page_has_a_table_of_releases_only_if_there_are_several() {
        let mut results = readable_quietly(&six_settings());
        let charts = PageCharts {
            names: Vec::new(),
            applications: String::new(),
        };
        let words = ["id=\"releases\"", "#releases-title", "<dt>ends</dt>"];
        let one = page(&results, &charts);
        for word in words {
            assert!(!one.contains(word), "{word}");
        }
        with_rollbacks(&mut results);
        let several = page(&results, &charts);
        for word in words {
            assert!(several.contains(word), "{word}");
        }
        let row = "<th scope=\"row\">2</th><td>installed</td><td>failed &gt; 5</td>";
        assert_eq!(several.matches(row).count(), 6);
    }
}
