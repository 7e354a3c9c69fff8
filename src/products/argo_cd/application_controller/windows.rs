//! Syncs that wait for a sync window during a run.
//!
//! `sync_windows.rs` has the rules and their source. An application that may sync by itself and is blocked waits for
//! its first refresh in an open window. A blocked operation is Running without a processor, and is looked at every 30
//! s; the looks at which it is still blocked change nothing and are left out. Then it waits for a processor like any
//! other. Left out: an operation that `--sync-timeout` ends while it is blocked; it is Terminating until the window
//! opens in the product, and Failed at once here.

use super::super::refresh::next_refresh;
use super::super::sync_windows::StatusStart;
use super::{ApplicationController, ApplicationStep, StatusPatch};
use crate::control_plane::Plane;
use crate::rollout::argo_cd::{BLOCKED_BY_WINDOW, OperationMessage};
use crate::units::{SimDuration, SimTime};

/// Interval between two checks of an operation in progress. Source: `appOperationMaxRequeueInterval` in
/// `controller/appcontroller.go`.
const LOOK: SimDuration = SimDuration::from_secs(30);

/// The reason why an application waits for a window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum WindowWait {
    /// Automated sync does not begin an operation.
    Comparison,
    /// An operation is blocked.
    Operation,
}

impl WindowWait {
    /// Returns the product's own message.
    pub(in super::super) const fn message(self) -> &'static str {
        match self {
            Self::Comparison => "Sync prevented by sync window",
            Self::Operation => BLOCKED_BY_WINDOW,
        }
    }
}

impl ApplicationController {
    /// Returns whether an operation of an application may continue. If it may not, it releases its processor and
    /// waits.
    pub(super) fn may_sync(
        &mut self,
        application: usize,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> bool {
        let tracked = &mut self.applications[application];
        let of_status = tracked.status_start;
        tracked.status_start = match tracked.state {
            Some(state) => StatusStart::At(state.started_at),
            None => of_status,
        };
        tracked.window_wait = None;
        if self.windows.can_sync(application, now, of_status) {
            return true;
        }
        tracked.window_wait = Some(WindowWait::Operation);
        self.shows_block(application, now, plane);
        self.shard(application).operations.release();
        if let Some(at) = self.windows.next_look(application, now, LOOK) {
            self.agenda
                .add(at, (application, ApplicationStep::Unblocked), plane);
        }
        false
    }

    /// Writes the message of a blocked operation. It stays until the operation ends, or fails an attempt.
    fn shows_block(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        self.with_messages.insert(application);
        if let Some(state) = self.applications[application].state {
            let message = Some(OperationMessage::Blocked);
            let patch = StatusPatch::Operation(state, message, false);
            self.patch(application, patch, now, plane);
        }
    }

    /// Returns whether automated sync of an application may begin an operation. If it may not, a later refresh checks
    /// again.
    pub(super) fn may_begin(
        &mut self,
        application: usize,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> bool {
        self.applications[application].window_wait = None;
        if self.windows.can_sync(application, now, StatusStart::Never) {
            return true;
        }
        self.applications[application].window_wait = Some(WindowWait::Comparison);
        if self.applications[application].refresh_due {
            return false;
        }
        if let Some(at) = self.first_refresh_in_window(application, now) {
            self.applications[application].refresh_due = true;
            self.agenda
                .add(at, (application, ApplicationStep::WindowRefresh), plane);
        }
        false
    }

    /// Returns the time of the first refresh after `now` at which an application may be synced.
    fn first_refresh_in_window(&self, application: usize, now: SimTime) -> Option<SimTime> {
        let name = &self.names[application];
        let mut from = self.windows.opens_after(application, now)?;
        loop {
            let at = next_refresh(&self.settings, &self.streams, name, from);
            if self.windows.can_sync(application, at, StatusStart::Never) {
                return Some(at);
            }
            from = self.windows.opens_after(application, at)?;
        }
    }

    /// Returns the applications that wait for a window, the reason, and the time at which the first may be synced.
    pub(in super::super) fn waiting_for_windows(&self, now: SimTime) -> WaitingForWindows {
        let mut found = WaitingForWindows::default();
        for (index, tracked) in self.applications.iter().enumerate() {
            let Some(wait) = tracked.window_wait else {
                continue;
            };
            found.applications.push(index);
            found.reason.get_or_insert(wait);
            let opens = self.windows.opens_after(index, now);
            found.opens = [found.opens, opens].into_iter().flatten().min();
        }
        found
    }
}

/// Applications that wait for a window.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct WaitingForWindows {
    pub(in super::super) applications: Vec<usize>,
    pub(in super::super) reason: Option<WindowWait>,
    /// The time at which the first may be synced. `None`: not within the run.
    pub(in super::super) opens: Option<SimTime>,
}
