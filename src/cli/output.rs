//! Writing to the terminal: plain text, without a panic when the reader has closed the pipe.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::Path;

use fleetsim::report::{self, Results};

use super::Failure;

/// Prints results. A closed pipe, as with `head`, is not a failure; a full disk is.
pub(super) fn out(text: &str) -> Result<(), Failure> {
    let mut stdout = stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Machine(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints progress, notes and errors.
pub(crate) fn err(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

/// Writes the asserted limits of these results as a JUnit report, if a file is named.
pub(crate) fn junit(file: Option<&Path>, results: &Results) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, report::junit(results))
        .map_err(|error| Failure::Machine(format!("cannot write {}: {error}", file.display())))
}

/// Whether colours are wanted on stderr: it is a terminal and `NO_COLOR` is not set.
pub(crate) fn stderr_has_colour() -> bool {
    stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// An error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// Columns of the terminal; 100 when stdout is not a terminal, so that files look the same everywhere.
pub(crate) fn width() -> usize {
    const DEFAULT: usize = 100;
    if stdout().is_terminal() { console::Term::stdout().size().1.into() } else { DEFAULT }
}

/// A whole number with thousands separators: `1,000`.
pub(crate) fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}
