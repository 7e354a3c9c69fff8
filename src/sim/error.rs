//! The reasons why a run has no result.

use super::progress_guard::NoProgress;
use crate::process::ProcessError;

/// The reason why a run has no result.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RunFailure {
    /// The external process has failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The run continues without progress.
    #[error(transparent)]
    NoProgress(#[from] NoProgress),
    /// A failure model of another program has failed.
    #[error("{problem}\n  run: {run}")]
    Faults {
        /// Label of the run.
        run: String,
        /// What the model reports.
        problem: String,
    },
    /// The thread's flag has ended the run early.
    #[error("the run was stopped")]
    Stopped,
}
