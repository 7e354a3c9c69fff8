//! The actions of a pass of the proposal.

use super::super::super::{Revision, TargetId};

/// An action of a pass of the proposal, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProposalAction {
    /// Create the product's own object for this target. The cluster does not see it.
    Create(TargetId),
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
}
