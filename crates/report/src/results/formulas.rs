//! Cells that a spreadsheet would interpret as a formula: text that begins with `=`, `+`, `-` or `@`.
//!
//! These cells are quoted; readers of CSV remove the quotes, so that every reader gets the same text as before. A
//! spreadsheet set to import quoted cells as text does not run any of them; `docs/results-format.md` describes the
//! setting. Numbers have no quotes. Left out: changing the text, because a table must read back unchanged.

use std::io::{Result, Write};

/// Passes CSV on, with quotes around cells that may be formulas. The writer before it has already quoted everything
/// that CSV itself requires.
pub(super) struct FormulasAsText<W> {
    out: W,
    /// The bytes of the current cell so far, if it may be a formula.
    cell: Vec<u8>,
    at_start: bool,
    in_quotes: bool,
}

impl<W: Write> FormulasAsText<W> {
    pub(super) const fn new(out: W) -> Self {
        Self {
            out,
            cell: Vec::new(),
            at_start: true,
            in_quotes: false,
        }
    }

    /// Writes the cell that has ended.
    fn end_cell(&mut self) -> Result<()> {
        let is_number = str::from_utf8(&self.cell).is_ok_and(|cell| cell.parse::<f64>().is_ok());
        let quote: &[u8] = if is_number || self.cell.is_empty() {
            b""
        } else {
            b"\""
        };
        for part in [quote, self.cell.as_slice(), quote] {
            self.out.write_all(part)?;
        }
        self.cell.clear();
        Ok(())
    }
}

impl<W: Write> Write for FormulasAsText<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut plain = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let begins = self.at_start && b"=+-@".contains(byte);
            let ends = !self.in_quotes && b",\n".contains(byte);
            if begins {
                self.out.write_all(&bytes[plain..at])?;
            }
            if ends && !self.cell.is_empty() {
                self.end_cell()?;
                plain = at;
            }
            if begins || !self.cell.is_empty() {
                self.cell.push(*byte);
                plain = at + 1;
            }
            self.in_quotes ^= *byte == b'"';
            self.at_start = ends;
        }
        self.out.write_all(&bytes[plain..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_that_looks_like_a_formula_is_quoted() {
        let csv = "name,x\n=1+1,-5\n+a,+1e9\n@x,\"=a,\"\"b\"\"\"\n-b-,a=b\n\"\n=c\",-inf\n";
        let expected = "name,x\n\"=1+1\",-5\n\"+a\",+1e9\n\"@x\",\"=a,\"\"b\"\"\"\n\"-b-\",a=b\n\"\n=c\",-inf\n";
        for size in [1, 2, 3, 7, csv.len()] {
            let mut out = FormulasAsText::new(Vec::new());
            csv.as_bytes()
                .chunks(size)
                .for_each(|part| out.write_all(part).expect("writes to memory do not fail"));
            assert_eq!(
                String::from_utf8(out.out).expect("text"),
                expected,
                "in parts of {size}"
            );
        }
        let records = |text: &str| {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            reader
                .records()
                .collect::<csv::Result<Vec<_>>>()
                .expect("CSV")
        };
        assert_eq!(records(csv), records(expected), "and reads back equal");
    }
}
