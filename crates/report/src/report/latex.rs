//! The comparison as a LaTeX table, to be read into a paper with `\input`. It needs no package.

use super::columns::FilledColumn;
use super::data::Results;
use super::names;
use crate::results::READY_TIME;

/// The table: a line for each variant, and the measures of the comparison that differ between variants.
pub(super) fn table(results: &Results) -> String {
    let variants = results.variants();
    let filled = FilledColumn::all(&variants);
    let mut columns: Vec<&FilledColumn<'_>> = filled.iter().collect();
    columns.retain(|column| variants.len() < 2 || column.shared().is_none());
    let mut text = format!(
        "\\begin{{tabular}}{{l{}}}\n\\hline\n",
        "r".repeat(columns.len())
    );
    let mut heads = vec!["variant".to_owned()];
    let mut units = vec![String::new()];
    for column in &columns {
        heads.push(escaped(column.column.heading));
        units.push(escaped(&column.heading_unit()));
    }
    text.push_str(&line(&heads));
    if units.iter().any(|unit| !unit.is_empty()) {
        text.push_str(&line(&units));
    }
    text.push_str("\\hline\n");
    let names = names::in_short(&variants);
    for (at, name) in names.iter().enumerate() {
        let mut cells = vec![escaped(name)];
        for column in &columns {
            cells.push(match column.cell(at) {
                Some(cell) => {
                    let range = cell.range.as_ref().map(|range| format!(" {range}"));
                    escaped(&format!("{}{}", cell.value(), range.unwrap_or_default()))
                }
                None if column.column.measure == READY_TIME => "unfinished".to_owned(),
                None => "--".to_owned(),
            });
        }
        text.push_str(&line(&cells));
    }
    text.push_str("\\hline\n\\end{tabular}\n");
    text
}

/// A line of a table.
fn line(cells: &[String]) -> String {
    format!("{} \\\\\n", cells.join(" & "))
}

/// A text whose letters LaTeX prints as they are.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '\\' => escaped.push_str("\\textbackslash{}"),
            // A bracket after `\\` would be read as its option.
            '[' => escaped.push_str("{[}"),
            ']' => escaped.push_str("{]}"),
            '–' => escaped.push_str("--"),
            '≤' => escaped.push_str("$\\le$"),
            '≥' => escaped.push_str("$\\ge$"),
            '×' => escaped.push_str("$\\times$"),
            '…' => escaped.push_str("\\dots{}"),
            '\u{a0}' => escaped.push('~'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::six_settings;
    use crate::report::tests::readable_quietly;

    #[test]
    fn a_table_has_a_line_for_each_variant_and_escaped_letters() {
        let results = readable_quietly(&six_settings());
        let text = table(&results);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("\\begin{tabular}{lr"), "{text}");
        assert_eq!(lines.last(), Some(&"\\end{tabular}"));
        let rows: Vec<&&str> = lines
            .iter()
            .filter(|line| line.ends_with(" \\\\"))
            .collect();
        assert_eq!(rows.len(), 2 + results.variants().len(), "{text}");
        let cells = rows[0].matches(" & ").count();
        assert!(
            rows.iter().all(|row| row.matches(" & ").count() == cells),
            "{text}"
        );
        assert!(
            text.contains("completion") && text.contains("\\%"),
            "{text}"
        );
        assert_eq!(
            escaped("a_b=50% & {c} [1–2] ≤ 3"),
            "a\\_b=50\\% \\& \\{c\\} {[}1--2{]} $\\le$ 3"
        );
    }
}
