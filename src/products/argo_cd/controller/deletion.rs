//! The deletion of an ApplicationSet in mid-rollout, and of its applications.
//!
//! Follows `Reconcile` in `applicationset/controllers/applicationset_controller.go` and `PerformReverseDeletion` in
//! `applicationset/progressivesync/progressive_sync.go` of argoproj/argo-cd at 37ee0097. A set that is deleted updates
//! nothing more. What becomes of its applications:
//!
//! - If `applicationsSync` forbids deletions, the controller removes their owner references, and they stay.
//! - With `deletionOrder: Reverse` and steps, a finalizer holds the set. Its controller deletes one application at a
//!   time, those of the last step first, looks again every 10 s until that one is gone, and then releases the set.
//! - Otherwise the set is gone immediately. Kubernetes' garbage collector deletes what it owned, with two requests for
//!   each application and at most 20 applications per second (`startGarbageCollectorController` in
//!   `cmd/kube-controller-manager/app/core.go`: twice `--kube-api-qps`, 20 by default, and `--kube-api-burst`, 30).
//!
//! An application with Argo CD's finalizer exists until its resources are gone
//! (`super::super::application_controller`).
//! The set's controller adds this finalizer to applications whose template has none, unless
//! `preserveResourcesOnDeletion` is set (`applicationset/utils/utils.go`). Without it an application is gone when it is
//! deleted, and its resources stay as they are.
//!
//! Left out: `kubectl delete --cascade=orphan`, which keeps applications; hooks and finalizers of other controllers,
//! which are refused; the order in which the garbage collector deletes, which is that of names here; and the look at
//! the API server for an application that needs more than two minutes, which fails the pass as upstream.

use super::{ArgoCdController, ArgoCdStrategy};
use crate::control_plane::{ApiClient, ControlLoop, Plane, StatusLog};
use crate::products::argo_cd::application_controller::SetStep;
use crate::products::words::first_names;
use crate::rollout::argo_cd::{ApplicationAction, ApplicationsSync};
use crate::rollout::{Hold, ObjectCondition, TargetId};
use crate::units::{SimTime, counted};

/// Requests per second of Kubernetes' garbage collector, and its burst.
const COLLECTOR_REQUESTS: (u32, u32) = (40, 30);

/// Requests of the garbage collector for each deletion: it reads the object and deletes it.
const COLLECTOR_REQUESTS_EACH: usize = 2;

/// The finalizers with which the application controller deletes an application's resources.
const CASCADING: [&str; 3] = [
    "resources-finalizer.argocd.argoproj.io",
    "resources-finalizer.argocd.argoproj.io/foreground",
    "resources-finalizer.argocd.argoproj.io/background",
];

/// A set that people have deleted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SetDeletion {
    /// Its controller has not released it.
    Marked,
    /// The object is gone.
    Gone,
}

impl ArgoCdStrategy {
    /// Returns whether the set's controller may delete applications.
    fn may_delete(&self) -> bool {
        matches!(
            self.spec.applications_sync(),
            ApplicationsSync::Sync | ApplicationsSync::CreateDelete
        )
    }

    /// Returns whether the resources of a deleted application are deleted, too.
    fn is_cascading(&self) -> bool {
        let policy = self.spec.sync_policy.as_ref();
        let preserves = policy.is_some_and(|policy| policy.preserve_resources_on_deletion);
        !self.spec.template.metadata.finalizers.is_empty() || !preserves
    }

    /// Why the deletion of the set cannot be simulated, if so.
    pub(in super::super) fn refuses_deletion(&self) -> Result<(), String> {
        let finalizers = &self.spec.template.metadata.finalizers;
        match finalizers
            .iter()
            .find(|finalizer| !CASCADING.contains(&finalizer.as_str()))
        {
            Some(other) => Err(format!(
                "its template has the finalizer `{other}`, and what removes that is not simulated; only \
                 `resources-finalizer.argocd.argoproj.io` is"
            )),
            None => Ok(()),
        }
    }
}

impl ArgoCdController<'_> {
    /// Runs a pass of the ApplicationSet controller over the deleted set.
    pub(super) fn delete_set(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        plane.begin_pass(0);
        if self.deletion == Some(SetDeletion::Gone) {
            self.view.queue.end_pass((), now, 0, false, plane);
            return;
        }
        let mut at = now;
        if !self.strategy.may_delete() {
            let owned = self.view.set.iter().filter(|view| view.live.is_some());
            at = self
                .client
                .api
                .in_turn(super::set_client::APPLICATIONS, at, owned.count());
            self.deletion = Some(SetDeletion::Gone);
        } else if self.strategy.options.enable_progressive_syncs
            && self.strategy.spec.is_deletion_reversed()
        {
            at = self.delete_next(now, plane);
        } else {
            self.collect(now, plane);
        }
        self.view.queue.end_pass((), at, 0, false, plane);
    }

    /// Deletes the next application of a set with `deletionOrder: Reverse`, or releases the set. Returns when its
    /// request is answered.
    fn delete_next(&mut self, now: SimTime, plane: &mut Plane<'_>) -> SimTime {
        let pass = self.scheduler.delete(now, &self.view.set);
        let mut at = now;
        for action in &pass.actions {
            if let ApplicationAction::Delete(target) = *action {
                at = self
                    .client
                    .api
                    .send(super::set_client::APPLICATIONS, at)
                    .answered;
                self.mark_deleted(target, at, plane);
            }
        }
        if pass.status.released {
            self.collect(now, plane);
        } else if pass.status.deletion_failed {
            // The pass ends with an error, and is tried again with increasing waits.
            let again = self.limiter.again((), now);
            self.view.queue.add_at((), again, plane);
        } else if let Some(after) = pass.status.requeue_after {
            self.limiter.forget(());
            self.view.queue.add_at((), at + after, plane);
        }
        at
    }

    /// Leaves the applications of the released set to Kubernetes' garbage collector.
    fn collect(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.deletion = Some(SetDeletion::Gone);
        let (per_second, burst) = COLLECTOR_REQUESTS;
        let control_loop = ControlLoop {
            request: self.control_loop.request.clone(),
            ..ControlLoop::limited(per_second, burst)
        };
        let mut client = ApiClient::new(&control_loop, &self.streams, "garbage collector");
        let begins = now + self.watch_delay;
        let mut owned = Vec::new();
        for (index, view) in self.view.set.iter().enumerate() {
            if view
                .live
                .as_ref()
                .is_some_and(|live| live.deleted_at.is_none())
            {
                owned.push(TargetId(index as u32));
            }
        }
        owned.sort_unstable_by_key(|target| self.scheduler.rank(*target));
        for target in owned {
            let mut deleted = begins;
            for _ in 0..COLLECTOR_REQUESTS_EACH {
                deleted = client.send(0, begins).answered;
            }
            self.view
                .queue
                .step(deleted, SetStep::Collected(target), plane);
        }
    }

    /// Handles the API server's mark of deletion on an Application. Without a finalizer, the object is gone.
    pub(super) fn mark_deleted(&mut self, target: TargetId, at: SimTime, plane: &mut Plane<'_>) {
        let index = target.index();
        let Some(live) = &mut self.view.set[index].live else {
            return;
        };
        self.deleted.insert(target.0);
        if self.strategy.is_cascading() {
            live.deleted_at = Some(at);
            self.application_controller.marked(index, at, plane);
        } else {
            if self.is_complete(index, false) {
                self.kept_done.insert(target.0);
            }
            self.view.set[index].live = None;
            self.application_controller.deleted(index, plane);
            let seen = at + self.watch_delay;
            self.view.queue.step(seen, SetStep::Seen, plane);
        }
        self.view.changed.insert(target.0);
        plane.changed(target);
        plane.shows();
    }

    /// Shows the Applications that terminate, and those that are gone.
    pub(super) fn show_deletions(&self, log: &mut StatusLog) {
        let mut shown = Vec::new();
        for index in self.deleted.iter() {
            let object = format!("Application/{}", self.scheduler.name(index as usize));
            let is_live = self.view.set[index as usize].live.is_some();
            let status = if is_live { "Terminating" } else { "Gone" };
            shown.push(ObjectCondition::new(&object, "deletion", status, "", ""));
        }
        log.show(shown);
    }

    /// What the deletion has left, if people have deleted the set.
    pub(super) fn deletion_hold(&self) -> Option<Hold> {
        self.deletion?;
        let count = self.view.set.len();
        let mut existing = Vec::new();
        for (index, view) in self.view.set.iter().enumerate() {
            if view.live.is_some() {
                existing.push(self.clusters[index].name.clone());
            }
        }
        let gone = count - existing.len();
        let text = if !self.strategy.may_delete() {
            "the ApplicationSet is deleted; `applicationsSync` keeps its applications, and nothing updates them any \
             more"
                .to_owned()
        } else if self.strategy.is_cascading() {
            format!(
                "the ApplicationSet is deleted; {gone} of {} are gone with their resources{}",
                counted(count, "application"),
                still_there(&existing)
            )
        } else {
            format!(
                "the ApplicationSet is deleted; {gone} of {} are gone without their resources \
                 (`preserveResourcesOnDeletion`){}",
                counted(count, "application"),
                still_there(&existing)
            )
        };
        Some(Hold::new("deletionTimestamp", text))
    }
}

/// The applications that still exist, as the end of a sentence.
fn still_there(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!(
        "; {} {} not gone: {}",
        names.len(),
        if names.len() == 1 { "is" } else { "are" },
        first_names(names)
    )
}
