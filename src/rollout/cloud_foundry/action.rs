//! What a pass of the deployment updater asks for.

use super::super::TargetId;

/// What a pass of the deployment updater asks for. The scheduler never does it itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessAction {
    /// Run this many interchangeable instances of the process.
    Scale {
        /// Which process; its revision is known from its creation.
        target: TargetId,
        /// How many instances. 0: none, and the process remains.
        instances: u32,
    },
    /// Remove the application from the target.
    Delete {
        /// Which target.
        target: TargetId,
    },
}
