//! The actions of a pass of the ApplicationSet controller.

use super::super::{Revision, TargetId};

/// An action of a pass of the ApplicationSet controller, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApplicationAction {
    /// Create the product's own object for this target. The cluster does not see it.
    Create(TargetId),
    /// Record the revision as the next one of the target. The cluster does not see it.
    Stage(TargetId, Revision),
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
    /// Ask the application controller to compare this application (v3.6). The cluster does not see it.
    Refresh(TargetId),
    /// Remove the application from the target.
    Delete(TargetId),
}
