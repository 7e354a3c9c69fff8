//! The Application objects that a pass creates, changes and deletes, and those that it asks to sync.
//!
//! Follows `createOrUpdateInCluster` and `deleteInCluster` in
//! `applicationset/controllers/applicationset_controller.go`.

use super::super::{TargetId, cost};
use super::action::ApplicationAction;
use super::view::{ApplicationSetView, ApplicationView};
use super::{ApplicationSetStatus, ApplicationsSync, ArgoCd};

impl ArgoCd {
    /// Creates, changes and deletes objects, and requests syncs of those in `is_requested`.
    pub(super) fn write_objects(
        &self,
        view: &ApplicationSetView,
        is_requested: impl Fn(usize) -> bool,
        status: &mut ApplicationSetStatus,
    ) -> Vec<ApplicationAction> {
        let mut actions = Vec::new();
        let targets = || (0..).map(TargetId).zip(&view.applications);
        for (target, application) in targets() {
            if self.write_object(target, application, is_requested(target.index()), status, &mut actions) {
                status.requested.push(target);
            }
        }
        for (target, application) in targets() {
            self.delete_orphan(target, application, status, &mut actions);
        }
        actions
    }

    /// Creates or changes the object of one application. True: its sync is requested.
    pub(super) fn write_object(
        &self,
        target: TargetId,
        application: &ApplicationView,
        is_requested: bool,
        status: &mut ApplicationSetStatus,
        actions: &mut Vec<ApplicationAction>,
    ) -> bool {
        cost::visit();
        let Some(generated) = application.generated.as_ref().filter(|generated| generated.valid) else { return false };
        let revision = generated.wanted;
        let is_idle = match &application.live {
            None => {
                actions.push(ApplicationAction::Create(target));
                true
            }
            Some(_) if !self.may_update() => return false,
            Some(live) => {
                if live.spec != self.spec_of(generated) || live.labels != generated.labels {
                    actions.push(ApplicationAction::Stage(target, revision));
                    status.objects_written = true;
                }
                live.operation.is_none()
            }
        };
        if is_requested && is_idle {
            actions.push(ApplicationAction::Deploy(target, revision));
        }
        is_requested
    }

    /// Deletes the object of an application that is not generated any more.
    pub(super) fn delete_orphan(
        &self,
        target: TargetId,
        application: &ApplicationView,
        status: &mut ApplicationSetStatus,
        actions: &mut Vec<ApplicationAction>,
    ) {
        cost::visit();
        let policy = self.spec().applications_sync();
        let may_delete = matches!(policy, ApplicationsSync::Sync | ApplicationsSync::CreateDelete);
        let is_orphan = application.generated.is_none();
        if may_delete && is_orphan && application.live.as_ref().is_some_and(|live| live.deleted_at.is_none()) {
            actions.push(ApplicationAction::Delete(target));
            status.objects_written |= !self.has_finalizers();
        }
    }

    /// Whether existing applications may be written.
    pub(super) fn may_update(&self) -> bool {
        matches!(self.spec().applications_sync(), ApplicationsSync::Sync | ApplicationsSync::CreateUpdate)
    }
}
