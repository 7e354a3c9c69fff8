//! Figures in the READMEs of experiments are those of the committed tables.
//!
//! A figure is tied to a cell by a comment that follows it, without a space between:
//!
//! `24.3 min<!-- summary.csv | from-git maxUnavailable=25% | reachable_ready_s | median -->`
//!
//! The comment names a table of the experiment's results, the variant, the measure and the column. In a table without
//! measures (`uncertainty.csv` has them, `runs.csv` has not), the measure is empty. The figure may have a unit; it
//! must be the cell's value, rounded to the decimals that the figure has. `UPDATE_DOCS=1` writes the cells' values.

use std::fs;
use std::path::Path;

use super::common::root;

/// Units that a figure may have, and their size in that of the tables.
const UNITS: [(&str, f64); 14] = [
    ("min", 60.0),
    ("ms", 1e-3),
    ("Gbit/s", 125e6),
    ("Mbit/s", 125e3),
    ("MB/s", 1e6),
    ("GB", 1e9),
    ("MB", 1e6),
    ("TB", 1e12),
    ("%", 0.01),
    ("s", 1.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("pulls", 1.0),
    ("", 1.0),
];

/// A figure in a text: its digits and unit, where the digits are, and its cell.
struct Figure<'t> {
    digits: &'t str,
    place: std::ops::Range<usize>,
    unit: f64,
    cell: Vec<&'t str>,
}

fn figures(text: &str) -> Vec<Figure<'_>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("<!-- ") {
        let comment = &text[at + 5..at + 5 + text[at + 5..].find("-->").expect("a comment ends")];
        let cell: Vec<&str> = comment.trim().split('|').map(str::trim).collect();
        if cell.len() != 4 || !cell[0].ends_with(".csv") {
            continue;
        }
        let before = text[..at].trim_end_matches(['*', '`']);
        let (unit, size) = *UNITS
            .iter()
            .find(|(unit, _)| {
                before.ends_with(unit)
                    && before[..before.len() - unit.len()].trim_end().ends_with(|c: char| c.is_ascii_digit())
            })
            .unwrap_or_else(|| panic!("no figure stands before `{comment}`"));
        let number = before[..before.len() - unit.len()].trim_end();
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let start = number
            .rfind(|c: char| !is_part(c))
            .map_or(0, |at| at + number[at..].chars().next().map_or(1, char::len_utf8));
        found.push(Figure { digits: &number[start..], place: start..number.len(), unit: size, cell });
    }
    found
}

/// The value of a cell.
fn value(results: &Path, cell: &[&str]) -> f64 {
    let &[table, variant, measure, column] = cell else { panic!("a cell has four parts") };
    let path = results.join(table);
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let header = reader.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|other| other == name);
    let at = place(column).unwrap_or_else(|| panic!("{table} has no column `{column}`"));
    let wanted = [("variant", variant), ("measure", measure)];
    let is_own = |row: &csv::StringRecord| {
        wanted.iter().all(|(name, value)| value.is_empty() || place(name).and_then(|at| row.get(at)) == Some(*value))
    };
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).filter(is_own).collect();
    let [row] = rows.as_slice() else { panic!("{table} has {} rows for {cell:?}", rows.len()) };
    row[at].parse().unwrap_or_else(|_| panic!("{cell:?} is `{}`", &row[at]))
}

/// A number with as many decimals as the digits have, and separators if they have any.
fn written(value: f64, like: &str) -> String {
    let decimals = like.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// The text with the values of the cells in place of its figures.
fn current(text: &str, results: &Path) -> String {
    let mut now = text.to_owned();
    for figure in figures(text).into_iter().rev() {
        now.replace_range(figure.place.clone(), &written(value(results, &figure.cell) / figure.unit, figure.digits));
    }
    now
}

#[test]
fn figures_with_a_cell_are_those_of_the_tables() {
    let experiments = fs::read_dir(root().join("experiments")).expect("the experiments");
    for folder in experiments.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()) {
        let page = folder.join("README.md");
        let text = fs::read_to_string(&page).expect("readable");
        let results = root().join("results").join(folder.file_name().expect("a name"));
        let now = current(&text, &results);
        if now != text && std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&page, now).expect("writable");
            continue;
        }
        let differing = text.lines().zip(now.lines()).find(|(old, new)| old != new);
        assert!(
            differing.is_none(),
            "{} differs from its tables; run UPDATE_DOCS=1 cargo test --test suite figures: {differing:?}",
            page.display()
        );
    }
}

#[test]
fn a_figure_is_found_with_its_unit_and_written_as_it_is() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let table = "variant,measure,median\na x=25%,reachable_ready_s,1458.3\na x=25%,peak_pulls,1234\n";
    fs::write(home.path().join("summary.csv"), table).expect("written");
    let text = "It takes **24.0 min**<!-- summary.csv | a x=25% | reachable_ready_s | median --> with a peak of 1,000 \
                pulls<!-- summary.csv | a x=25% | peak_pulls | median -->. <!-- another comment -->";
    let now = current(text, home.path());
    assert!(now.contains("**24.3 min**<!--") && now.contains("of 1,234 pulls<!--"), "{now}");
    assert_eq!(current(&now, home.path()), now);
}

/// A median with two ends, as tables have them: `24.3 min [24.2–24.4]`, or `178 (171–189)` with the least and the
/// greatest.
struct MedianWithEnds {
    text: String,
    /// Each a number as written.
    numbers: [String; 3],
    unit: f64,
    is_interval: bool,
}

fn medians_with_ends(text: &str) -> Vec<MedianWithEnds> {
    let form = regex::Regex::new(
        r"\*{0,2}([0-9][0-9,.]*)(?: (min|ms|s|h|d|GB|pulls))?\*{0,2} ?([\[(])([0-9][0-9,.]*)–([0-9][0-9,.]*)[\])]",
    )
    .expect("a regular expression");
    let tables = text.lines().filter(|line| line.starts_with('|'));
    let of_line = |line| {
        form.captures_iter(line).map(|found| {
            let part = |at| found.get(at).map_or("", |part: regex::Match<'_>| part.as_str()).to_owned();
            let unit = part(2);
            MedianWithEnds {
                text: part(0),
                numbers: [part(1), part(4), part(5)],
                unit: UNITS.iter().find(|(name, _)| *name == unit).expect("a known unit").1,
                is_interval: &part(3) == "[",
            }
        })
    };
    tables.flat_map(of_line).collect()
}

#[test]
fn medians_with_their_ends_are_rows_of_the_summary() {
    let mut count = 0;
    for folder in fs::read_dir(root().join("experiments")).expect("the experiments") {
        let folder = folder.expect("an entry").path();
        let path = root().join("results").join(folder.file_name().expect("a name")).join("summary.csv");
        if !folder.is_dir() || !path.exists() {
            continue;
        }
        let mut reader = csv::Reader::from_path(&path).expect("a table");
        let header = reader.headers().expect("a header").clone();
        let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
        let cell = |row: &csv::StringRecord, column: &str| -> Option<f64> {
            row[header.iter().position(|name| name == column).expect("a column")].parse().ok()
        };
        let page = fs::read_to_string(folder.join("README.md")).expect("readable");
        for found in medians_with_ends(&page) {
            let columns = if found.is_interval { ["median_ci95_low", "median_ci95_high"] } else { ["min", "max"] };
            let columns = ["median", columns[0], columns[1]];
            let is_same = |row: &csv::StringRecord| {
                columns.iter().zip(&found.numbers).all(|(column, number)| {
                    cell(row, column).is_some_and(|value| written(value / found.unit, number) == *number)
                })
            };
            assert!(rows.iter().any(is_same), "{}: no row of summary.csv is `{}`", folder.display(), found.text);
            count += 1;
        }
    }
    assert!(count > 60, "the tables of the READMEs are read: {count}");
}

#[test]
fn the_parts_of_the_critical_path_add_up_to_the_time_of_every_committed_run() {
    let mut runs = 0;
    for folder in fs::read_dir(root().join("results")).expect("the results") {
        let path = folder.expect("an entry").path().join("runs.csv");
        let Ok(mut reader) = csv::Reader::from_path(&path) else { continue };
        let header = reader.headers().expect("a header").clone();
        let is_part = |name: &str| name.starts_with("path_") && name.ends_with("_s");
        for row in reader.records().map(|row| row.expect("a row")) {
            let cell = |name: &str| row[header.iter().position(|other| other == name).expect("a column")].parse().ok();
            let parts: Vec<Option<f64>> = header.iter().filter(|name| is_part(name)).map(cell).collect();
            let ready: Option<f64> = cell("reachable_ready_s");
            let sum = parts.into_iter().sum::<Option<f64>>();
            let is_equal =
                sum.zip(ready).map_or(sum.is_none() && ready.is_none(), |(sum, ready)| (sum - ready).abs() < 1e-6);
            assert!(is_equal, "{}: {sum:?} is not {ready:?}", path.display());
            runs += 1;
        }
    }
    assert!(runs > 1_000, "{runs}");
}
