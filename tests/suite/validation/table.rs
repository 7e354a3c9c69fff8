//! Reads published tables, and prints our values next to them.

use std::path::Path;

/// The rows of a file in `data/`, by column.
pub(crate) fn published(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/suite/validation/data")
        .join(file);
    let mut reader = csv::Reader::from_path(path).expect("the table is there");
    let header = reader.headers().expect("it has a header").clone();
    reader
        .records()
        .map(|record| Row {
            header: header.clone(),
            record: record.expect("a whole row"),
        })
        .collect()
}

/// One row of a published table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    header: csv::StringRecord,
    record: csv::StringRecord,
}

impl Row {
    pub(crate) fn text(&self, column: &str) -> &str {
        let at = self
            .header
            .iter()
            .position(|name| name == column)
            .unwrap_or_else(|| panic!("a column {column}"));
        &self.record[at]
    }

    pub(crate) fn number(&self, column: &str) -> f64 {
        self.text(column)
            .parse()
            .unwrap_or_else(|_| panic!("a number in {column}: {}", self.text(column)))
    }
}

/// Prints one line with its name, our value, the published value, and the error in percent. Returns the relative
/// error.
pub(crate) fn compare(what: &str, ours: f64, theirs: f64) -> f64 {
    let error = ours / theirs - 1.0;
    println!(
        "  {what:44} {ours:10.3} {theirs:10.3} {:+7.1} %",
        error * 100.0
    );
    error
}

/// Prints the head of a table of [`compare`] lines.
pub(crate) fn title(text: &str, parameters: &str) {
    println!(
        "\n{text}\n  parameters set on these rows: {parameters}\n  {:44} {:>10} {:>10}   error",
        "", "ours", "published"
    );
}

/// Prints why rows are missed, and asserts that exactly the known rows are missed.
pub(crate) fn check_missed(missed: &[String], known: &[(&str, &str)], tolerance: &str) {
    for (row, why) in known {
        println!("  missed: {row}: {why}");
    }
    let mut missed: Vec<&str> = missed.iter().map(String::as_str).collect();
    let mut known: Vec<&str> = known.iter().map(|(row, _)| *row).collect();
    missed.sort_unstable();
    known.sort_unstable();
    assert_eq!(missed, known, "rows beyond {tolerance}");
}
