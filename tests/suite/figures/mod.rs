//! Numbers in the READMEs of experiments and on the front page must be those of the committed tables. `UPDATE_DOCS=1`
//! updates them.
//!
//! A number in a text is tied to a cell by a comment that follows it, without a space between:
//!
//! `24.3 min<!-- summary.csv | from-git maxUnavailable=25% | reachable_ready_s | median -->`
//!
//! The comment names a table of the experiment's results (on the front page, with its folder), the variant, the
//! measure and the column. For a table without measures (`runs.csv`), the measure is empty. The number may have a
//! unit; it must be the cell's value, rounded to the number's decimals. A fifth part relates the value to that of
//! another variant: `/ one-by-one` is the ratio, `- one-by-one` the difference.
//!
//! The columns of a whole table are those of `summary.csv` if a comment before it names them, and a comment at the end
//! of each row names its variants (`%%` separates several, and `@2` selects the second one):
//!
//! ```text
//! <!-- columns: - | reachable_ready_s time ci | peak_pulls count -->
//!
//! | `maxUnavailable` | completion | peak of pulls |
//! |---|---|---|
//! | 25 % | 24.3 min [24.2–24.4] | 278 <!-- from-git maxUnavailable=25% --> |
//! ```
//!
//! Formats: `time` (in a suitable unit, or `never`), `share` (in percent), `count`, `fixed1` (one decimal), `GB`,
//! `runs` (number of finished runs), `change` (the difference from the reference, in percent of it). `ci` adds the 95
//! % interval, `range` the minimum and the maximum of the runs, `total` uses the median over draws of the constants
//! from `uncertainty.csv` with its interval, and `-` leaves the column unchanged.
//!
//! A block after `<!-- quote: FILE | LINE -->` is the paragraph of the file that begins with that line. The file is in
//! the folder of the page, or in `results`.

mod columns;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::common::root;

/// The allowed units of a number, and their size in the unit of the tables.
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

/// Minimum number of checked numbers in texts, in addition to those in whole tables.
const FEWEST: usize = 100;

/// A number in a text: its digits and unit, the position of the digits, and the parts of its comment.
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
        if !(4..=5).contains(&cell.len()) || !cell[0].ends_with(".csv") {
            continue;
        }
        let before = text[..at].trim_end_matches(['*', '`']);
        let (unit, size) = *UNITS
            .iter()
            .find(|(unit, _)| {
                before.ends_with(unit)
                    && before[..before.len() - unit.len()]
                        .trim_end()
                        .ends_with(|c: char| c.is_ascii_digit())
            })
            .unwrap_or_else(|| panic!("no figure stands before `{comment}`"));
        let number = before[..before.len() - unit.len()].trim_end();
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let start = number.rfind(|c: char| !is_part(c)).map_or(0, |at| {
            at + number[at..].chars().next().map_or(1, char::len_utf8)
        });
        found.push(Figure {
            digits: &number[start..],
            place: start..number.len(),
            unit: size,
            cell,
        });
    }
    found
}

/// The rows of a table, with their cells by column name.
type Rows = Arc<Vec<BTreeMap<String, String>>>;

/// A table, cached after the first read.
fn rows_of(path: &Path) -> Rows {
    static READ: Mutex<BTreeMap<PathBuf, Rows>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let parse = || {
        let mut reader = csv::Reader::from_path(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Arc::new(
            reader
                .deserialize()
                .map(|row| row.expect("a row"))
                .collect(),
        )
    };
    Arc::clone(read.entry(path.to_owned()).or_insert_with(parse))
}

/// The table row that contains the cell.
fn row_of(results: &Path, cell: &[&str]) -> BTreeMap<String, String> {
    let &[table, variant, measure, _] = cell else {
        panic!("a cell has four parts")
    };
    let path = results.join(table);
    let wanted = [("variant", variant), ("measure", measure)];
    let is_own = |row: &&BTreeMap<String, String>| {
        wanted.iter().all(|(name, value)| {
            value.is_empty() || row.get(*name).is_some_and(|cell| cell == value)
        })
    };
    let rows = rows_of(&path);
    let own: Vec<_> = rows.iter().filter(is_own).collect();
    let [row] = own.as_slice() else {
        panic!("{} has {} rows for {cell:?}", path.display(), own.len())
    };
    (*row).clone()
}

/// The value of a cell; `None` if it is empty.
fn cell(results: &Path, cell: &[&str]) -> Option<f64> {
    let row = row_of(results, cell);
    let text = row
        .get(cell[3])
        .unwrap_or_else(|| panic!("no column for {cell:?}"));
    (!text.is_empty()).then(|| {
        text.parse()
            .unwrap_or_else(|_| panic!("{cell:?} is `{text}`"))
    })
}

/// The value of a number in a text: the value of its cell, or its ratio to, or difference from, the cell of another
/// variant.
fn value(results: &Path, parts: &[&str]) -> f64 {
    let own = cell(results, &parts[..4]).unwrap_or_else(|| panic!("{parts:?} is empty"));
    let Some(relation) = parts.get(4) else {
        return own;
    };
    let (sign, variant) = relation.split_once(' ').expect("a sign and a variant");
    let other = cell(results, &[parts[0], variant, parts[2], parts[3]])
        .unwrap_or_else(|| panic!("{parts:?} is empty"));
    match sign {
        "/" => own / other,
        "-" => own - other,
        _ => panic!("`{sign}` is neither `/` nor `-`"),
    }
}

/// A number with as many decimals as `like`, and with thousands separators.
fn written(value: f64, like: &str) -> String {
    grouped(
        value,
        like.split_once('.')
            .map_or(0, |(_, decimals)| decimals.len()),
    )
}

/// A number with this many decimals, and with thousands separators.
fn grouped(value: f64, decimals: usize) -> String {
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

/// The text with current values instead of its numbers and quotations.
fn current(text: &str, page: &Path, results: &Path) -> String {
    let mut now = text.to_owned();
    for figure in figures(text).into_iter().rev() {
        now.replace_range(
            figure.place.clone(),
            &written(value(results, &figure.cell) / figure.unit, figure.digits),
        );
    }
    quoted(&columns::current(&now, results), page)
}

/// The text with current paragraphs of results instead of its quotations.
fn quoted(text: &str, page: &Path) -> String {
    let form = regex::Regex::new(r"(?s)<!-- quote: (\S+) \| ([^\n]+) -->\n\n```text\n(.*?)```")
        .expect("a regular expression");
    let replaced = form.replace_all(text, |found: &regex::Captures<'_>| {
        let of_page = page.with_file_name(&found[1]);
        let path = if of_page.exists() {
            of_page
        } else {
            root().join("results").join(&found[1])
        };
        let all =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let is_it = |paragraph: &&str| paragraph.starts_with(&found[2]);
        let paragraph = all
            .split("\n\n")
            .find(is_it)
            .unwrap_or_else(|| panic!("nothing begins with {}", &found[2]));
        format!(
            "<!-- quote: {} | {} -->\n\n```text\n{}\n```",
            &found[1],
            &found[2],
            paragraph.trim_end()
        )
    });
    replaced.into_owned()
}

/// The front page and the pages of the experiments, each with the folder of its tables.
fn pages_with_results() -> Vec<(PathBuf, PathBuf)> {
    let results = root().join("results");
    let mut pages = vec![(root().join("README.md"), results.clone())];
    for entry in fs::read_dir(root().join("experiments")).expect("the experiments") {
        let folder = entry.expect("an entry").path();
        if folder.is_dir() {
            let name = folder.file_name().expect("a name");
            pages.push((folder.join("README.md"), results.join(name)));
        }
    }
    pages
}

#[test]
fn numbers_tied_to_a_cell_equal_those_of_the_tables() {
    let mut checked = 0;
    for (page, results) in pages_with_results() {
        let text = fs::read_to_string(&page).expect("readable");
        checked += figures(&text).len();
        let now = current(&text, &page, &results);
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
    assert!(checked >= FEWEST, "only {checked} figures were checked");
}

#[test]
fn a_number_is_found_with_its_unit_and_keeps_its_format() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let table =
        "variant,measure,median\na x=25%,reachable_ready_s,1458.3\na x=25%,peak_pulls,1234\n";
    fs::write(home.path().join("summary.csv"), table).expect("written");
    let text = "It takes **24.0 min**<!-- summary.csv | a x=25% | reachable_ready_s | median --> with a peak of 1,000 \
                pulls<!-- summary.csv | a x=25% | peak_pulls | median -->. <!-- another comment -->";
    let now = current(text, home.path(), home.path());
    assert!(
        now.contains("**24.3 min**<!--") && now.contains("of 1,234 pulls<!--"),
        "{now}"
    );
    assert_eq!(current(&now, home.path(), home.path()), now);
}

#[test]
fn intervals_in_tables_belong_to_columns_with_a_measure() {
    let form = regex::Regex::new(r"[\[(][0-9.,]+–[0-9.,]+[\])]").expect("a regular expression");
    for folder in fs::read_dir(root().join("experiments")).expect("the experiments") {
        let page = folder.expect("an entry").path().join("README.md");
        let text = fs::read_to_string(&page).unwrap_or_default();
        let by_hand = text
            .lines()
            .find(|line| line.starts_with('|') && form.is_match(line) && !line.ends_with(" --> |"));
        assert!(
            by_hand.is_none(),
            "{}: name the measure and the variant of {by_hand:?}",
            page.display()
        );
    }
}

#[test]
fn the_parts_of_the_critical_path_add_up_to_the_time_of_every_committed_run() {
    let mut runs = 0;
    for folder in fs::read_dir(root().join("results")).expect("the results") {
        let path = folder.expect("an entry").path().join("runs.csv");
        let Ok(mut reader) = csv::Reader::from_path(&path) else {
            continue;
        };
        let header = reader.headers().expect("a header").clone();
        let is_part = |name: &str| name.starts_with("path_") && name.ends_with("_s");
        for row in reader.records().map(|row| row.expect("a row")) {
            let cell = |name: &str| {
                row[header
                    .iter()
                    .position(|other| other == name)
                    .expect("a column")]
                .parse()
                .ok()
            };
            let parts: Vec<Option<f64>> = header
                .iter()
                .filter(|name| is_part(name))
                .map(cell)
                .collect();
            let ready: Option<f64> = cell("reachable_ready_s");
            let sum = parts.into_iter().sum::<Option<f64>>();
            let is_equal = sum
                .zip(ready)
                .map_or(sum.is_none() && ready.is_none(), |(sum, ready)| {
                    (sum - ready).abs() < 1e-6
                });
            assert!(is_equal, "{}: {sum:?} is not {ready:?}", path.display());
            runs += 1;
        }
    }
    assert!(runs > 1_000, "{runs}");
}
