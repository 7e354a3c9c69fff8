//! Writes of the set that its controller's cache may not show yet; [`super::cache`] describes their effects.

use std::collections::BTreeMap;

use super::row::ApplicationStatus;
use super::status::SetConditions;
use fleetsim_units::SimTime;

/// The rows that a write has changed, by application.
pub(super) type Rows = BTreeMap<u32, Option<ApplicationStatus>>;

/// A write of the set that the cache may not show yet.
#[derive(Clone, Debug)]
pub(super) struct RecentWrite {
    pub(super) answered: SimTime,
    /// The rows and conditions before the write.
    pub(super) before: Rows,
    pub(super) conditions: SetConditions,
}

/// A write that a pass does not see, with the rows and conditions that the write stored.
pub(super) struct HiddenWrite {
    pub(super) write: RecentWrite,
    pub(super) after: Rows,
    pub(super) conditions: SetConditions,
}
