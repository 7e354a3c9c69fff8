//! Why a run has no result.

use super::progress_guard::NoProgress;
use crate::process::ProcessError;

/// Why a run has no result.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RunFailure {
    /// The process that decides has failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The run continues without progress.
    #[error(transparent)]
    NoProgress(#[from] NoProgress),
}
