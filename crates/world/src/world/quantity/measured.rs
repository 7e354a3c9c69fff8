//! Reads measured values, from which a quantity is drawn, from a CSV file.
//!
//! The file has a header with column names. Each value has its own unit (`4.2 s`), or the name of its column is a unit
//! or ends in one (`seconds`, `pull_time_s`, `size_bytes`). Empty cells, which mean that nothing was measured, are
//! ignored.

use std::sync::Arc;

use super::{Distribution, Quantity};
use crate::document::context::Context;
use crate::document::csv::{CLOSE_QUOTE, UNCLOSED_QUOTE, unclosed_quote};
use crate::document::path::Path;
use crate::document::problem::{Problem, Source, nearest, some_of};
use crate::document::wording::Wording;

/// Maximum number of values. More values only make a run larger, not more accurate.
const MOST_VALUES: usize = 1_000_000;

impl<T: Quantity> Distribution<T> {
    /// Returns the distribution, which is at `path` of the document, with the values of its file. `None`: the file
    /// cannot be used, which is reported.
    pub fn read_values(self, path: &Path, context: &mut Context<'_>) -> Option<Self> {
        let Self::Unread(values) = self else {
            return Some(self);
        };
        let file = values.path.clone();
        let source = context.file(&file, &path.key("file"))?;
        match read_column::<T>(&source, values.column.as_deref()) {
            Ok(ReadColumn { mut values, .. }) => {
                context.files.copy_whole(&file);
                values.sort_by(|a, b| a.to_number().total_cmp(&b.to_number()));
                Some(Self::Empirical(values.into()))
            }
            // The location is in the experiment, but the message quotes the file.
            Err(WrongColumn::Column(message, help)) => {
                let at = if values.column.is_some() {
                    path.key("column")
                } else {
                    path.key("file")
                };
                let problem = context.at(&at, source.reason(message));
                let problem = problem.with_optional_help(source.fix(help));
                context.problems.push(problem);
                None
            }
            Err(WrongColumn::Cell(problem)) => {
                context.problems.push(*problem);
                None
            }
        }
    }
}

/// A column of a table.
#[derive(Debug)]
pub struct ReadColumn<Q> {
    /// The values in the order of the rows.
    pub values: Vec<Q>,
    /// Number of rows without a value.
    pub empty: usize,
}

/// The reason why a column cannot be read.
#[derive(Debug)]
pub enum WrongColumn {
    /// The column does not exist or has no values: the message and the fix.
    Column(Wording, Wording),
    /// A row or a cell is invalid.
    Cell(Box<Problem>),
}

/// Reads the named column of a table, or its only column.
///
/// # Errors
/// If the column does not exist, or a cell is not a value of this quantity.
pub fn read_column<Q: Quantity>(
    source: &Arc<Source>,
    column: Option<&str>,
) -> Result<ReadColumn<Q>, WrongColumn> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(source.text.as_bytes());
    let at = |position: Option<&csv::Position>, field: &str, message: Wording, help: Wording| {
        let byte = position
            .map_or(0, |position| position.byte() as usize)
            .min(source.text.len());
        WrongColumn::Cell(Box::new(
            source.at(byte..byte, field, message).with_help(help),
        ))
    };
    let broken = |error: csv::Error| {
        let help = "write one header line, and the same number of cells in each row";
        let message = Wording::quoting(format!("not CSV: {error}"), "not CSV");
        at(error.position(), "", message, help.into())
    };
    if let Some(byte) = unclosed_quote(&source.text) {
        let quote = source
            .at(byte..byte + 1, "", UNCLOSED_QUOTE)
            .with_help(CLOSE_QUOTE);
        return Err(WrongColumn::Cell(Box::new(quote)));
    }
    let names: Vec<String> = reader
        .headers()
        .map_err(broken)?
        .iter()
        .map(str::to_owned)
        .collect();
    let (index, name) = match column {
        Some(column) => match names.iter().position(|name| name == column) {
            Some(index) => (index, column),
            None => {
                let near = nearest(column, names.iter().map(String::as_str))
                    .map(|near| format!("did you mean `{near}`?"));
                let help = near.unwrap_or_else(|| format!("it has {}", some_of(&names)));
                let message = format!("the file has no column `{column}`");
                let message = Wording::quoting(message, "the file has no such column");
                return Err(WrongColumn::Column(message, help.into()));
            }
        },
        None if names.len() == 1 => (0, names[0].as_str()),
        None => {
            let message = format!("the file has {} columns", names.len());
            let message = Wording::quoting(message, "the file has several columns");
            let help = format!("add `column:` with one of {}", some_of(&names));
            return Err(WrongColumn::Column(
                message,
                Wording::quoting(help, "add `column:` with the name of one"),
            ));
        }
    };
    let ends_in = |unit: &str| {
        name == unit
            || name
                .strip_suffix(unit)
                .is_some_and(|rest| rest.ends_with(['_', ' ']))
    };
    let unit = Q::COLUMN_UNITS
        .iter()
        .find(|(end, _)| ends_in(end))
        .map(|(_, unit)| *unit);
    let mut column = ReadColumn {
        values: Vec::new(),
        empty: 0,
    };
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let cell = record.get(index).unwrap_or_default();
        if cell.is_empty() {
            column.empty += 1;
            continue;
        }
        // Accept exponents, which programs that write CSV use for small and large numbers; `Display` never does.
        let number = cell.parse::<f64>().ok().filter(|_| unit.is_some());
        let read = match (unit, number) {
            (Some(unit), Some(number)) => Q::read(&format!("{number} {unit}")),
            _ => Q::read(cell),
        };
        column.values.push(read.map_err(|error| {
            let units: Vec<String> = Q::COLUMN_UNITS.iter().map(|(end, _)| (*end).to_owned()).collect();
            let units = some_of(&units);
            let help = format!("write values with units, or end the name of the column `{name}` with one of {units}");
            // Show the number as written, because it may have 300 digits without its exponent.
            let written = |number: f64| error.to_string().replace(&number.to_string(), cell);
            let message = number.map_or_else(|| error.to_string(), written);
            let message = Wording::quoting(message, "a cell has an invalid value");
            at(record.position(), name, message, help.into())
        })?);
    }
    if column.values.is_empty() || column.values.len() > MOST_VALUES {
        let message = format!("the column `{name}` has {} values", column.values.len());
        let message = Wording::quoting(message, "the column has no values, or too many");
        let help = format!("1 to {MOST_VALUES} can be drawn from");
        return Err(WrongColumn::Column(message, help.into()));
    }
    Ok(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleetsim_units::{Bytes, SimDuration};

    fn read<Q: Quantity>(text: &str, column: Option<&str>) -> Result<Vec<Q>, String> {
        let source = Arc::new(Source::new("values.csv", text));
        read_column::<Q>(&source, column)
            .map(|column| column.values)
            .map_err(|wrong| match wrong {
                WrongColumn::Column(message, help) => {
                    format!("{}; {}", message.whole(), help.whole())
                }
                WrongColumn::Cell(problem) => {
                    format!("{}: {}", problem.line().unwrap_or(0), problem.message)
                }
            })
    }

    #[test]
    fn a_file_with_one_column_of_values_is_read() {
        let ms = |all: &[u64]| {
            all.iter()
                .map(|ms| SimDuration::from_millis(*ms))
                .collect::<Vec<_>>()
        };
        for (text, column, expected) in [
            ("seconds\n4\n1.5\n", None, ms(&[4000, 1500])),
            ("seconds\n1e3\n2.5E-01\n", None, ms(&[1_000_000, 250])),
            (
                "node,pull_time_s\na,4\nb,\nc,2\n",
                Some("pull_time_s"),
                ms(&[4000, 2000]),
            ),
            (
                "took\n4 s\n250 ms\n1m\n",
                Some("took"),
                ms(&[4000, 250, 60_000]),
            ),
            ("pull_ms\r\n7\r\n", None, ms(&[7])),
            ("pull (s)\n4 s\n", None, ms(&[4000])),
        ] {
            assert_eq!(read::<SimDuration>(text, column), Ok(expected), "{text}");
        }
        assert_eq!(
            read::<Bytes>("size_bytes\n5\n", None).map(|sizes| sizes[0].get()),
            Ok(5)
        );
    }

    #[test]
    fn unreadable_values_are_reported_with_their_line_and_the_fix() {
        for (text, column, message) in [
            ("took\n4 s\n5\n", None, "3: `5` has no unit"),
            ("took\nlong\n", None, "2: "),
            ("took_s\n1e300\n", None, "2: `1e300 s` is out of range"),
            (
                "a,b\n1,2\n",
                None,
                "the file has 2 columns; add `column:` with one of `a`, `b`",
            ),
            (
                "a,b\n1,2\n",
                Some("c"),
                "the file has no column `c`; it has `a`, `b`",
            ),
            (
                "s\n",
                None,
                "the column `s` has 0 values; 1 to 1000000 can be drawn from",
            ),
            ("s,t\n1,2\n3\n", Some("s"), "3: not CSV"),
            ("s\n-4\n", None, "2: "),
        ] {
            let error = read::<SimDuration>(text, column).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}
