//! The section of a page on several applications: the chart of their pulls, and a table for each variant.

use super::markup::{self, escaped, plain_table};
use crate::report::applications::{ApplicationMedians, after, shown};
use crate::report::data::{Results, VariantResults};
use crate::report::format::{count, in_unit};

/// The headings of a table.
const COLUMNS: [&str; 7] = [
    "application",
    "clusters",
    "released after",
    "completion",
    "left behind",
    "peak pulls",
    "received",
];

/// The section; empty for a single application. `chart` is the chart of the applications as SVG.
pub(super) fn section(results: &Results, chart: &str) -> String {
    let mut tables = String::new();
    for (at, variant) in results.variants().iter().enumerate() {
        tables.push_str(&table(variant, at == 0));
    }
    if tables.is_empty() {
        return tables;
    }
    let note = "<p class=\"note\">Medians across runs. Completion counts from the application's own release. Every run \
                is in <a href=\"applications.csv\">applications.csv</a>.</p>\n";
    let figure = if chart.is_empty() {
        String::new()
    } else {
        format!(
            "<p class=\"note\">The chart shows the run of the curves below.</p>\n<div \
             style=\"overflow-x:auto\">{chart}</div>\n"
        )
    };
    markup::section(
        "applications",
        "Applications",
        &format!("{figure}{note}{tables}"),
    )
}

/// The link to the section; empty if there is no section.
pub(super) fn link(results: &Results) -> &'static str {
    if results.tables.applications.is_empty() {
        ""
    } else {
        "<a href=\"#applications-title\">Applications</a>\n"
    }
}

/// The table of a variant; empty for a single application.
fn table(variant: &VariantResults<'_>, is_open: bool) -> String {
    let all = ApplicationMedians::all(variant);
    if all.is_empty() {
        return String::new();
    }
    let shown = shown(&all);
    let mut rows = String::new();
    for application in &shown {
        rows.push_str(&row(application));
    }
    let name = escaped(variant.name());
    let extent = if shown.len() < all.len() {
        format!(
            "{} of {} applications, the largest and the slowest",
            count(shown.len() as f64),
            count(all.len() as f64)
        )
    } else {
        format!("{} applications", count(all.len() as f64))
    };
    let open = if is_open { " open" } else { "" };
    let table = plain_table(&format!("applications of {name}"), &COLUMNS, &rows);
    format!("<details{open}><summary>{name}: {extent}</summary>{table}</details>\n")
}

fn row(application: &ApplicationMedians<'_>) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escaped(application.name),
        count(application.targets),
        after(application.release_s),
        after(application.ready_s),
        count(application.left_behind),
        count(application.peak_pulls),
        in_unit(application.received_bytes, "bytes")
    )
}

#[cfg(test)]
mod tests {
    use super::super::{PageCharts, page};
    use crate::report::synthetic::{six_settings, with_applications};
    use crate::report::tests::readable_quietly;

    #[test]
    fn the_page_has_a_table_of_applications_and_a_choice_only_if_there_are_several() {
        let mut results = readable_quietly(&six_settings());
        let charts = PageCharts {
            names: Vec::new(),
            applications: "<svg id=\"chart\"></svg>".to_owned(),
        };
        let words = [
            "id=\"applications\"",
            "#applications-title",
            "setUpApplications",
            "<svg id=\"chart\">",
        ];
        let one = page(&results, &charts);
        for word in words {
            assert!(!one.contains(word), "{word}");
        }
        with_applications(&mut results);
        let several = page(&results, &charts);
        for word in words {
            assert!(several.contains(word), "{word}");
        }
        assert_eq!(several.matches("10 applications</summary>").count(), 6);
        let row = "<th scope=\"row\">app-9</th><td>20</td><td>10.0 min</td>";
        assert_eq!(several.matches(row).count(), 6);
        assert!(several.contains("<dt>apps</dt>"), "the line of the answer");
    }
}
