//! Errors of writing or reading results. Each message names the path and a fix.

use std::path::{Path, PathBuf};

use thiserror::Error;

use fleetsim_units::counted;

/// Reason why results could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file system failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The file system's error.
        source: std::io::Error,
    },
    /// A path that cannot be a results folder: a file, a dangling link, or a path without a name.
    #[error("{} is not a folder; choose another output folder", .0.display())]
    NotAFolder(PathBuf),
    /// A folder that cannot be renamed, such as a mount point.
    #[error("cannot replace the folder {}: {}; use a new folder in it, e.g. `{}`", .0.display(), .1, .0.join("results").display())]
    Fixed(PathBuf, #[source] std::io::Error),
    /// A folder without results, or without a plan.
    #[error(
        "{} is not a results folder: {file} is missing, damaged or not written by fleetsim; name a folder that \
         `fleetsim run` wrote",
        folder.display()
    )]
    NoResults {
        /// The folder.
        folder: PathBuf,
        /// The missing file.
        file: &'static str,
    },
    /// A folder that fleetsim did not write.
    #[error(
        "{} exists but does not contain fleetsim results; remove it or choose another output folder",
        .0.display()
    )]
    Foreign(PathBuf),
    /// Results of another experiment than the one to write.
    #[error(
        "{} has results of the experiment `{found}`, not of `{wanted}`; remove it or choose another output folder",
        path.display()
    )]
    OtherExperiment {
        /// The folder.
        path: PathBuf,
        /// The experiment of the existing results.
        found: String,
        /// The experiment to write.
        wanted: String,
    },
    /// A finished study that would be replaced by a smaller or different one from the command line.
    #[error(
        "{} has the results of `{found}`, with {} and seed {seed}; add `--out DIR` to keep them, or \
         `--replace` to replace them",
        path.display(), counted(*replicates, "replicate")
    )]
    Finished {
        /// The folder.
        path: PathBuf,
        /// The command that produced the results.
        found: String,
        /// The number of replicates of the existing results.
        replicates: u32,
        /// The seed of the existing results.
        seed: u64,
    },
    /// A file in a results folder that fleetsim did not write. Replacing the folder would delete it.
    #[error("{} was not written by fleetsim and would be lost; move it out of the results folder", .0.display())]
    UnlistedFile(PathBuf),
    /// Results that another process is writing.
    #[error("another fleetsim process is writing to {}; wait for it or choose another folder", .0.display())]
    Busy(PathBuf),
    /// The user has no folder for saved runs that only this user can write to.
    #[error("no folder for saved runs is available: {0}")]
    NoState(#[source] std::io::Error),
    /// A table that was modified after fleetsim wrote it.
    #[error("{} was modified after fleetsim wrote it; restore it or run the experiment again", .0.display())]
    Changed(PathBuf),
    /// A table without a hash, so that a modification would not be noticed.
    #[error("{} is not listed in provenance.json, so it may be modified; run the experiment again", .0.display())]
    Unlisted(PathBuf),
    /// A table that is listed but missing.
    #[error("{} is missing; run `fleetsim reproduce {}` to create it again", path.display(), folder.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The results folder.
        folder: PathBuf,
    },
    /// An invalid table.
    #[error("{} is not a valid results table: {}; run the experiment again", .0.display(), .1)]
    Table(PathBuf, String),
    /// An invalid provenance file.
    #[error("{} is not a valid provenance file: {}; run the experiment again", .0.display(), .1)]
    Provenance(PathBuf, #[source] serde_json::Error),
    /// An invalid record of a plan, an analysis or a calibration.
    #[error("{} is not valid: {source}; run `fleetsim {command}` again", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The fleetsim command that writes the file.
        command: &'static str,
        /// The reason why the file cannot be parsed.
        source: serde_json::Error,
    },
    /// Results of another version of the format.
    #[error("{} has format version {found}, but this program reads version {expected}; remove the folder and run the experiment again", path.display())]
    SchemaVersion {
        /// The file.
        path: PathBuf,
        /// The format that was found.
        found: u32,
        /// The format that this program reads.
        expected: u32,
    },
}

impl ResultsError {
    /// Returns whether the error is about results to be read, which are missing, damaged or modified, rather than
    /// about output.
    #[must_use]
    pub const fn is_of_input(&self) -> bool {
        match self {
            Self::Io { doing, .. } => matches!(doing.as_bytes(), b"read"),
            Self::NoResults { .. }
            | Self::Changed(_)
            | Self::Unlisted(_)
            | Self::Missing { .. } => true,
            Self::Table(..)
            | Self::Provenance(..)
            | Self::Record { .. }
            | Self::SchemaVersion { .. } => true,
            _ => false,
        }
    }

    /// Replaces `folder` by `target` in the path of the error, for a file that was copied from `target` to `folder`.
    #[must_use]
    pub fn of_original(mut self, folder: &Path, target: &Path) -> Self {
        if let Self::Io { path, .. } | Self::Table(path, _) | Self::Record { path, .. } = &mut self
            && let Ok(name) = path.strip_prefix(folder)
        {
            *path = target.join(name);
        }
        self
    }

    /// Wraps a file system error about `path`.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}
