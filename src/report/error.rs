//! Errors of making a report.

use std::path::PathBuf;

use thiserror::Error;

use crate::results::ResultsError;

/// Errors of making a report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The results could not be read.
    #[error(transparent)]
    Record(#[from] ResultsError),
    /// The folder has no results.
    #[error("{} is not a results folder: {file} is missing; name a folder that `fleetsim run` wrote", folder.display())]
    NoResults {
        /// The folder.
        folder: PathBuf,
        /// The missing file.
        file: &'static str,
    },
    /// A chart or the page could not be written.
    #[error("cannot write {}: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The file system's error.
        reason: String,
    },
}
