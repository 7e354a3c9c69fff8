//! Errors of the laboratory.

use std::path::Path;

use fleetsim::results::ResultsError;
use fleetsim::scenario::LoadError;
use fleetsim::sim::RunFailure;

/// Reason why a set-up was not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    /// The experiment is invalid.
    #[error("the experiment is invalid\n{0}")]
    Experiment(#[from] LoadError),
    /// The laboratory cannot emulate parts of the experiment.
    #[error("{0}")]
    Unsupported(String),
    /// The machine lacks what the laboratory needs, or is busy.
    #[error("{0}")]
    Machine(String),
    /// A program failed.
    #[error("`{command}` failed: {message}")]
    Program {
        /// The command as typed in a shell.
        command: String,
        /// The last line of its output.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: String,
        /// The reason.
        error: std::io::Error,
    },
    /// Results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run has failed.
    #[error("{0}")]
    Run(#[from] RunFailure),
    /// Ctrl-C or a request to end.
    #[error("interrupted; nothing of this set-up was written")]
    Interrupted,
}

impl LabError {
    /// A closure for `map_err` of an operation on `path`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::File { path, error }
    }
}
