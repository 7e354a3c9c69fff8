//! The actions of a pass of a rolling update.

use super::super::super::{Revision, TargetId};

/// An action of a pass of a rolling update, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RollingAction {
    /// Instruct the target to run the revision now.
    Deploy(TargetId, Revision),
    /// Remove the application from the target.
    Delete(TargetId),
}
