//! The actions of a pass of the deployment updater.

use super::super::TargetId;

/// An action of a pass of the deployment updater, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessAction {
    /// Run this many interchangeable instances of the process.
    Scale {
        /// The process; its revision is fixed at its creation.
        target: TargetId,
        /// Number of instances. At 0 the process still exists.
        instances: u32,
    },
    /// Remove the process.
    Delete {
        /// The target.
        target: TargetId,
    },
}
