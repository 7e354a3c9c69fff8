//! The client of the ApplicationSet controller, and its updates of the set's status.
//!
//! An update carries the version that the controller's cache shows, and is tried again after a conflict
//! (kubernetes/client-go, `util/retry`). [`super::pass`] sends all tries of an update at once, and [`super::decision`]
//! each at an event of its own. The header of [`super`] lists what is left out, and the evidence.

use crate::control_plane::{ApiClient, CachedUpdate, RetryPolicy};
use crate::rollout::argo_cd::SetWrite;
use crate::units::SimTime;

/// Kinds of objects with separate rate limits in the ApplicationSet controller's client.
pub(super) const APPLICATIONS: usize = 0;
const SET: usize = 1;

/// The client of the ApplicationSet controller.
pub(super) struct SetClient {
    pub(super) api: ApiClient,
    /// The last time at which the set's status was written with changed content.
    pub(super) written: Option<SimTime>,
    /// The update in progress, if its tries are sent one after another.
    pub(super) updating: Option<RunningUpdate>,
}

/// The outcome of an update of the set's status.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetUpdate {
    pub(super) is_written: bool,
    /// The time of the answer to the last try.
    pub(super) answered: SimTime,
}

impl SetClient {
    /// Returns the update of the set's status, which is read from the cache.
    pub(super) const fn update_of_set(&self) -> CachedUpdate {
        CachedUpdate {
            kind: SET,
            written: self.written,
            retry: RetryPolicy::DEFAULT,
        }
    }

    /// Updates the set's status at `begin`. `changes`: whether its content differs.
    pub(super) fn update(&mut self, begin: SimTime, changes: bool) -> SetUpdate {
        let of_set = self.update_of_set();
        match self.api.update(of_set, begin) {
            Ok(answered) => {
                if changes {
                    self.written = Some(answered);
                }
                SetUpdate {
                    is_written: true,
                    answered,
                }
            }
            Err(answered) => SetUpdate {
                is_written: false,
                answered,
            },
        }
    }
}

/// What a pass updates in the set's status.
#[derive(Clone, Copy, Debug)]
pub(super) enum UpdatePurpose {
    /// Rows or conditions, which the decision has asked for.
    Decision(SetWrite),
    /// The list of resources, which was read at this time.
    List(SimTime),
}

/// An update of the set's status in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningUpdate {
    pub(super) purpose: UpdatePurpose,
    /// Whether the content differs from what the API server has.
    pub(super) is_new: bool,
    /// The number of tries so far.
    pub(super) tries: u32,
}

impl RunningUpdate {
    /// Creates the update that a decision has asked for.
    pub(super) const fn of_decision(write: SetWrite) -> Self {
        Self {
            purpose: UpdatePurpose::Decision(write),
            is_new: write.is_new(),
            tries: 0,
        }
    }

    /// Creates the update of the list of resources, which was read at `listed`.
    pub(super) const fn of_list(is_new: bool, listed: SimTime) -> Self {
        Self {
            purpose: UpdatePurpose::List(listed),
            is_new,
            tries: 0,
        }
    }
}
