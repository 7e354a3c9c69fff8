//! What a pass of a staged update run asks for.

use super::super::super::{ApprovalId, Revision, TargetId};

/// What a pass of a staged update run asks for. The scheduler never does it itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StagedAction {
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
    /// Ask a person for permission to continue. A later view shows whether it was given.
    RequestApproval {
        /// Which of the rollout's approvals.
        approval: ApprovalId,
    },
}
