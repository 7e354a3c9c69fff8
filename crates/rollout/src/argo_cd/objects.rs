//! The Application objects that a pass creates, changes and deletes, and the syncs that it requests.
//!
//! Follows `createOrUpdateInCluster` and `deleteInCluster` in
//! `applicationset/controllers/applicationset_controller.go`.

use super::super::{TargetId, cost};
use super::pass::{ExaminedApplication, SetPass};
use super::{ApplicationAction, ApplicationsSync};

impl SetPass<'_> {
    /// Creates, changes and deletes the objects of these applications in the order of their names.
    pub(super) fn write_objects(&mut self, mut examined: Vec<ExaminedApplication>) {
        examined.sort_unstable_by_key(|application| self.set.rank[application.index as usize]);
        for application in &examined {
            self.write_object(TargetId(application.index), application.requests_sync);
        }
        for application in &examined {
            self.delete_orphan(TargetId(application.index));
        }
    }

    /// Records an action that changes the application, so that the next pass examines it again.
    fn act(&mut self, target: TargetId, action: ApplicationAction) {
        self.ledger.unsettled.insert(target.0);
        self.actions.push(action);
    }

    /// Creates or changes an object, and requests its sync (`SyncDesiredApplications`).
    fn write_object(&mut self, target: TargetId, is_requested: bool) {
        cost::visit();
        let view = self.view;
        let application = &view[target.index()];
        let Some(generated) = &application.generated else {
            return;
        };
        if !generated.valid {
            return;
        }
        let is_idle = match &application.live {
            None => {
                self.act(target, ApplicationAction::Create(target));
                true
            }
            Some(_) if !self.set.spec.may_update() => return,
            Some(live) => {
                if live.spec != self.set.spec_of(generated) || live.labels != generated.labels {
                    self.act(target, ApplicationAction::Stage(target));
                    self.status.objects_written = true;
                }
                live.operation.is_none()
            }
        };
        if is_requested {
            self.status.requested.push(target);
            if is_idle {
                self.act(target, ApplicationAction::Deploy(target));
            }
        }
    }

    /// Deletes the object of an application that is no longer generated.
    fn delete_orphan(&mut self, target: TargetId) {
        cost::visit();
        let application = &self.view[target.index()];
        let may_delete = matches!(
            self.set.spec.applications_sync(),
            ApplicationsSync::Sync | ApplicationsSync::CreateDelete
        );
        let Some(live) = &application.live else {
            return;
        };
        let is_orphan = application.generated.is_none() && live.deleted_at.is_none();
        if may_delete && is_orphan {
            self.act(target, ApplicationAction::Delete(target));
            self.status.objects_written |= !self.set.has_finalizers();
        }
    }
}
