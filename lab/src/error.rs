//! Errors of the laboratory.

use std::path::Path;

use fleetsim::results::ResultsError;
use fleetsim::scenario::LoadError;
use fleetsim::sim::RunFailure;

/// The reason why a set-up was not measured.
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
        /// The last line of the program's output.
        message: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The path of the file.
        path: String,
        /// The error of the file system.
        error: std::io::Error,
    },
    /// Results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A run has failed.
    #[error("{0}")]
    Run(#[from] RunFailure),
    /// The user pressed Ctrl-C, or the process was asked to end.
    #[error("interrupted; nothing of this set-up was written")]
    Interrupted,
}

impl LabError {
    /// Returns a closure for `map_err` that adds `path` to the error of a file operation.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::File { path, error }
    }
}
