//! Problems with settings as text: the error and the fix.

use std::fmt::Display;

use crate::document::path::Path;

/// A problem without its position, which the caller knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WordedProblem {
    pub(crate) message: String,
    /// The suggested fix.
    pub(crate) help: String,
}

impl WordedProblem {
    pub(crate) fn new(message: impl Display, help: impl Display) -> Self {
        Self {
            message: message.to_string(),
            help: help.to_string(),
        }
    }

    /// Returns the problem at the setting with this path.
    pub(super) const fn at(self, path: Path) -> PathProblem {
        PathProblem {
            path,
            problem: self,
        }
    }
}

/// A problem with the setting at a path in the experiment.
#[derive(Clone, Debug)]
pub(super) struct PathProblem {
    pub(super) path: Path,
    pub(super) problem: WordedProblem,
}
