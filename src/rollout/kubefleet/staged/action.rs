//! The actions of a pass of a staged update run.

use super::super::super::{ApprovalId, Revision, TargetId};

/// An action of a pass of a staged update run, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StagedAction {
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
    /// Remove the application from the target.
    Delete(TargetId),
    /// Ask a person for permission to continue. A later view shows whether it was given.
    RequestApproval(ApprovalId),
}
