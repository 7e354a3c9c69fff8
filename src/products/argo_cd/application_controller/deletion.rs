//! The deletion of an application: its resources go first, then its object.
//!
//! Follows `finalizeApplicationDeletion` and `processAppOperationQueueItem` in `controller/appcontroller.go` of
//! argoproj/argo-cd at 37ee0097. An operation that is requested or runs comes first. The resources are deleted in the
//! foreground, so the object is gone when the last pod is. A cluster that cannot be reached is tried again at the next
//! periodic refresh.
//!
//! A guess: a deletion makes as many requests as a sync. Left out: the operation processor that it occupies, which is
//! free again before pods terminate; and the background propagation of a finalizer's name, which does not wait for
//! pods.

use super::{ApplicationController, ApplicationStep};
use crate::control_plane::Plane;
use crate::units::SimTime;
use crate::world::TargetId;

/// How far the deletion of an application is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum FinalizerState {
    /// It is not deleted.
    #[default]
    No,
    /// The object has a deletion timestamp.
    Marked,
    /// Its resources are being deleted.
    Deleting,
}

impl ApplicationController {
    /// Handles an Application that is marked for deletion at `at`, and has Argo CD's finalizer.
    pub(in super::super) fn marked(
        &mut self,
        application: usize,
        at: SimTime,
        plane: &mut Plane<'_>,
    ) {
        let tracked = &mut self.applications[application];
        tracked.deletion = FinalizerState::Marked;
        if !tracked.is_skipped {
            let seen = at + self.watch_delay;
            self.agenda
                .add(seen, (application, ApplicationStep::Finalizes), plane);
        }
    }

    /// Deletes the resources of an application that is marked for deletion, unless an operation comes first.
    pub(super) fn finalize(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let tracked = &self.applications[application];
        if tracked.deletion != FinalizerState::Marked || tracked.operation.is_some() {
            return;
        }
        let target = TargetId(application as u32);
        if plane.targets.is_online(target) {
            self.applications[application].deletion = FinalizerState::Deleting;
            let requested = self.shard(application).sync(now);
            plane.withdraw(requested, target);
        } else if plane.targets.is_repair_due(target) {
            let again = now + self.settings.app_resync;
            self.agenda
                .add(again, (application, ApplicationStep::Finalizes), plane);
        }
    }

    /// Removes the finalizer of an application if its resources are gone.
    pub(super) fn note_removal(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let is_gone = plane.targets.is_removed(TargetId(application as u32));
        if self.applications[application].deletion == FinalizerState::Deleting && is_gone {
            let answered = self.client.send(0, now).answered;
            let seen = answered + self.watch_delay;
            self.agenda
                .add(seen, (application, ApplicationStep::Gone), plane);
        }
    }
}
