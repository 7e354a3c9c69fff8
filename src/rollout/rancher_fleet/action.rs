//! What a pass of the bundle controller asks for.

use super::super::{Revision, TargetId};

/// What a pass of the bundle controller asks for. The scheduler never does it itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BundleAction {
    /// Create the product's own object for this target. The cluster is not instructed by it.
    Create {
        /// For which target.
        target: TargetId,
    },
    /// Note `revision` as what the target is to run next. The cluster is not instructed by it.
    Stage {
        /// At which target.
        target: TargetId,
        /// What it is to run next.
        revision: Revision,
    },
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
