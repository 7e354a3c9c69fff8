//! Commits on the branch that the applications' source names.
//!
//! A release by commit does not change the ApplicationSet. Each application resolves the branch when it is compared,
//! and again when an operation begins, so a later commit is found at the next refresh like the first one
//! (`refreshAppConditions` and `CompareAppState` in argoproj/argo-cd `controller/{appcontroller,state}.go` at 37ee009).
//! The steps of a RollingSync order the syncs and not the commits: a changed `status.sync.revision` sets a row to
//! Waiting (`crates/rollout/src/argo_cd/row.rs`, recorded).
//!
//! A revert is a new commit whose manifests equal those of an older one. An application that never synced the commit in
//! between is Synced again at its next refresh, without a sync; its row waits once for the new revision.
//!
//! Left out: a commit that arrives between the comparison and the start of an operation counts for the operation, as
//! in the product, but its own comparison follows at the next refresh only.

use super::{ApplicationController, ApplicationStep};
use crate::control_plane::Plane;
use crate::products::argo_cd::refresh::next_refresh;
use crate::rollout::Revision;
use crate::rollout::argo_cd::ApplicationView;

/// The revision that the source of an application resolves to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) struct SourceRevision {
    /// The commit or tag. A revert has a commit of its own.
    pub(in super::super) commit: Revision,
    /// The manifests in it. A revert has those of an older commit.
    pub(in super::super) manifests: Revision,
}

impl SourceRevision {
    /// Creates a revision that is identified by its manifests.
    pub(in super::super) const fn of(manifests: Revision) -> Self {
        Self {
            commit: manifests,
            manifests,
        }
    }
}

impl ApplicationController {
    /// Handles another commit on the branch. Each application of the set finds it at its next refresh.
    pub(in super::super) fn commit(
        &mut self,
        manifests: Revision,
        set: &[ApplicationView],
        plane: &mut Plane<'_>,
    ) {
        let Revision(last) = self.head.commit;
        self.head = SourceRevision {
            commit: Revision(last + 1),
            manifests,
        };
        self.await_refreshes(set, plane);
    }

    /// Schedules the next refresh of each application, unless the controller ignores it.
    pub(super) fn await_refreshes(&mut self, set: &[ApplicationView], plane: &mut Plane<'_>) {
        let now = plane.now();
        for (application, view) in set.iter().enumerate() {
            if view.live.is_none() || self.applications[application].is_skipped {
                continue;
            }
            let at = match &mut self.webhook {
                Some(webhook) => webhook.refresh(now),
                None => next_refresh(&self.settings, &self.streams, &self.names[application], now),
            };
            self.agenda
                .add(at, (application, ApplicationStep::Refresh), plane);
        }
    }
}
