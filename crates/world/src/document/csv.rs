//! Checks of CSV before it is read: a reader silently treats everything after an unclosed quote as one cell.

use std::sync::Arc;

use super::problem::{OrProblem, Problem, Source};
use super::wording::Wording;

/// The error message for an [`unclosed_quote`].
pub(crate) const UNCLOSED_QUOTE: &str = "a quoted cell must end with a quote";
/// The suggested fix for an [`unclosed_quote`].
pub(crate) const CLOSE_QUOTE: &str = "close it, or double a quote inside a quoted cell";

/// Returns the byte offset of a quote that is never closed: CSV readers treat everything after it as one cell.
pub(crate) fn unclosed_quote(csv: &str) -> Option<usize> {
    let mut opened = None;
    let mut is_begin = true;
    for (at, letter) in csv.char_indices() {
        match (opened, letter) {
            // A doubled quote closes and reopens. Any other quote ends the cell, or belongs to a later cell.
            (Some(_), '"') => match csv[at + 1..].chars().next() {
                None | Some(',' | '\n' | '\r' | '"' | ' ' | '\t') => opened = None,
                Some(_) => break,
            },
            (None, '"') if is_begin || csv[..at].ends_with('"') => opened = Some(at),
            _ => {}
        }
        is_begin = matches!(letter, ',' | '\n' | '\r') || is_begin && letter == ' ';
    }
    opened
}

/// Returns a reader of a table. The reader trims the cells.
///
/// # Errors
/// If a quote is not closed.
pub fn reader(source: &Arc<Source>) -> OrProblem<csv::Reader<&[u8]>> {
    if let Some(byte) = unclosed_quote(&source.text) {
        return Err(Box::new(
            source
                .at(byte..byte, "", UNCLOSED_QUOTE)
                .with_help(CLOSE_QUOTE),
        ));
    }
    Ok(csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(source.text.as_bytes()))
}

/// Returns a function that converts an error of the CSV reader to a problem.
pub fn broken(source: &Arc<Source>, help: &'static str) -> impl Fn(csv::Error) -> Box<Problem> {
    move |error| Box::new(broken_row(source, &error).with_help(help))
}

/// Returns the problem with a row that the reader rejects.
fn broken_row(source: &Arc<Source>, error: &csv::Error) -> Problem {
    let byte = source.text.floor_char_boundary(byte_of(error.position()));
    let message = Wording::quoting(format!("not CSV: {error}"), "not CSV");
    source.at(byte..byte, "", message)
}

/// Returns the byte offset of the row at this position.
pub fn byte_of(position: Option<&csv::Position>) -> usize {
    position.map_or(0, |position| position.byte() as usize)
}

/// Returns the byte offset of a cell in the row that begins at offset `row`, or after the blank lines at `row`. If the
/// row has fewer cells, returns the row's own offset.
pub fn cell_at(csv: &str, row: usize, index: usize) -> usize {
    let row = skip(csv, row, &['\r', '\n']);
    let mut cell = row;
    let mut is_quoted = false;
    let mut left = index;
    for (in_row, letter) in csv[row..].char_indices() {
        let at = row + in_row;
        if left == 0 {
            break;
        }
        match letter {
            '"' if is_quoted || at == skip(csv, cell, &[' ']) || csv[..at].ends_with('"') => {
                is_quoted = !is_quoted;
            }
            ',' if !is_quoted => {
                cell = at + 1;
                left -= 1;
            }
            '\r' | '\n' if !is_quoted => return row,
            _ => {}
        }
    }
    if left == 0 {
        skip(csv, cell, &[' '])
    } else {
        row
    }
}

/// Returns the byte offset of the first character at or after `at` that is not in `skipped`.
fn skip(csv: &str, at: usize, skipped: &[char]) -> usize {
    csv.len() - csv[at..].trim_start_matches(skipped).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_of_a_cell_is_found() {
        let text = "a,\"b, \"\"c\"\"\", d\n\n5\" e,f\n";
        let found = |row, index| text[cell_at(text, row, index)..].chars().next();
        assert_eq!(
            [0, 1, 2, 3].map(|index| found(0, index)),
            [Some('a'), Some('"'), Some('d'), Some('a')]
        );
        let second = text.find("\n\n").expect("there") + 1;
        assert_eq!(
            [0, 1].map(|index| found(second, index)),
            [Some('5'), Some('f')]
        );
        assert_eq!(cell_at("a\n", 2, 0), 2);
    }

    #[test]
    fn an_unclosed_quote_is_found() {
        assert_eq!(unclosed_quote("a,\"b, \"\"c\"\"\"\n5\" disk,\"\"\n"), None);
        assert_eq!(unclosed_quote("n,l\na,\"x\nb,\"y\nc,z\n"), Some(6));
        assert_eq!(unclosed_quote("n,l\na,\"x=1\nb,y\n"), Some(6));
    }
}
