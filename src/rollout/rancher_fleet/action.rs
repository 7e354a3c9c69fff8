//! The actions of a pass of the bundle controller.

use super::super::{Revision, TargetId};

/// An action of a pass of the bundle controller, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BundleAction {
    /// Create the product's own object for this target. The cluster does not see it.
    Create {
        /// The target.
        target: TargetId,
    },
    /// Record `revision` as the next one of the target. The cluster does not see it.
    Stage {
        /// The target.
        target: TargetId,
        /// Its next revision.
        revision: Revision,
    },
    /// Instruct the target to run `revision` now.
    Deploy {
        /// The target.
        target: TargetId,
        /// Its new revision.
        revision: Revision,
    },
    /// Remove the application from the target.
    Delete {
        /// The target.
        target: TargetId,
    },
}
