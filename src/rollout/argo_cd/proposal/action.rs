//! What a pass of the proposal asks for.

use super::super::super::{Revision, TargetId};

/// What a pass of the proposal asks for. The scheduler never does it itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProposalAction {
    /// Create the product's own object for this target. The cluster is not instructed by it.
    Create {
        /// For which target.
        target: TargetId,
    },
    /// Instruct the target to run `revision` now.
    Deploy {
        /// Which target.
        target: TargetId,
        /// What it is to run.
        revision: Revision,
    },
}
