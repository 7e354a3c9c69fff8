//! What a pass of a rolling update asks for.

use super::super::super::{Revision, TargetId};

/// What a pass of a rolling update asks for. The scheduler never does it itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RollingAction {
    /// Instruct the target to run `revision` now.
    Deploy {
        /// Which target.
        target: TargetId,
        /// What it is to run.
        revision: Revision,
    },
    /// Remove the application from the target.
    Delete {
        /// Which target.
        target: TargetId,
    },
}
