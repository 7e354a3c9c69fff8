//! Why results could not be written or read. Each message names the path and the mend.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why results could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// A path that cannot be a results folder: a file, a dangling link, or a path without a last name.
    #[error("{} is not a folder; choose another output folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A folder that fleetsim did not write.
    #[error(
        "{} exists and holds no fleetsim results, so it is left alone; remove it or choose another output folder",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// Results of another experiment.
    #[error(
        "{} holds results of the experiment `{found}`, not of `{wanted}`; remove it or choose another output folder",
        path.display()
    )]
    OtherExperiment {
        /// The folder.
        path: PathBuf,
        /// Whose results it holds.
        found: String,
        /// Whose results were to be written.
        wanted: String,
    },
    /// A file among earlier results that fleetsim did not write, and that replacing them would lose.
    #[error("{} is not a results file, and replacing the folder would lose it; move it elsewhere", path.display())]
    UnlistedFile {
        /// The file.
        path: PathBuf,
    },
    /// Results that another study is at work on.
    #[error("{} is being written by another fleetsim; wait for it, or choose another output folder", path.display())]
    Busy {
        /// The results.
        path: PathBuf,
    },
    /// A table whose bytes are not those that fleetsim wrote.
    #[error("{} was changed since fleetsim wrote it; put it back, or run the experiment again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A table that is listed but not there.
    #[error("{} is missing; run `fleetsim reproduce {}` to create it again", path.display(), folder.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The results folder.
        folder: PathBuf,
    },
    /// A table that does not read as one.
    #[error("{} does not read as a results table: {source}; run the experiment again", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        source: csv::Error,
    },
    /// A provenance file that does not read as one.
    #[error("{} does not read as fleetsim's provenance: {source}; run the experiment again", path.display())]
    Provenance {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A plan that does not read as one.
    #[error("{} does not read as a plan: {source}; plan the experiment again", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Results of another version of the format.
    #[error("{} has the format {found}, this program reads format {}; run the experiment again", path.display(), super::SCHEMA_VERSION)]
    SchemaVersion {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
}

impl ResultsError {
    /// Wraps what the file system said about `path`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
