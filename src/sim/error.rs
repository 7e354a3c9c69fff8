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
}
