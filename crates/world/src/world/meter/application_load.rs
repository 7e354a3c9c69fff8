//! The load of each application over time: its image pulls in progress, and its ready deployments.
//!
//! Changes are kept in the order of events, so that the pulls of all applications add up to the meter's own count at
//! every moment. They are recorded only when they are watched, for runs that are shown in detail.

use crate::world::ids::ApplicationId;
use fleetsim_units::SimTime;

/// A change in the load of an application.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LoadChange {
    /// The time of the change.
    pub at: SimTime,
    /// The application.
    pub application: ApplicationId,
    /// What changed.
    pub kind: LoadChangeKind,
}

/// What changed in the load of an application.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadChangeKind {
    /// An image pull began.
    PullBegins,
    /// An image pull ended.
    PullEnds,
    /// A deployment became ready.
    Ready,
    /// A deployment is no longer ready.
    NotReady,
}
