//! What the controller sees: the applications that the generators make, and the Application objects that exist.
//!
//! Follows `pkg/apis/application/v1alpha1/types.go`. An application's spec is reduced to what the controller compares:
//! its parameters, as one number that stands for everything the template fills in, and whether it syncs by itself.
//! Times may have any precision; they are compared in whole seconds, as the API stores them.

use std::sync::Arc;

use super::super::label_selector::Labels;
use super::super::{Revision, TargetId};
use super::retry::Waits;

/// One ApplicationSet as the controller's cache has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationSetView {
    /// The set is being deleted.
    pub deleted: bool,
    /// One for each name that the scheduler was made with, in that order, which is the order of the generators.
    pub applications: Vec<ApplicationView>,
}

/// One application: as it is to be, and as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationView {
    /// `None`: the generators do not make it.
    pub generated: Option<Generated>,
    /// The Application object of the set. `None`: it does not exist.
    pub live: Option<Application>,
}

/// An application as the generators and the template make it now.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its labels, by which the steps select it.
    pub labels: Arc<Labels>,
    /// Everything in its spec that the template fills in. Another number is another spec.
    pub parameters: u32,
    /// False: it fails the product's validation (no such project, no such destination) and is never written.
    pub valid: bool,
    /// What a sync that starts now makes the application run. It decides nothing, and is passed on in the actions.
    pub wanted: Revision,
}

/// An Application object.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// Its labels, as last written.
    pub labels: Arc<Labels>,
    /// Its spec, as last written.
    pub spec: Spec,
    /// `status.sync.status`.
    pub sync: SyncStatus,
    /// `status.health.status`.
    pub health: Health,
    /// `status.sync.revisions`, or the one `status.sync.revision`. Empty: not compared yet.
    pub revisions: Arc<[Revision]>,
    /// `status.operationState`: the running or the last operation. `None`: there never was one.
    pub operation_state: Option<OperationState>,
    /// `status.reconciledAt`: when it was last compared. `None`: never.
    pub reconciled_at: Option<crate::units::SimTime>,
    /// It has a condition `InvalidSpecError` or `UnknownError`.
    pub has_error: bool,
    /// The `operation` field: a sync is requested, or runs. The application controller clears it with the result.
    pub operation: Option<Operation>,
    /// It is being deleted, since then.
    pub deleted_at: Option<crate::units::SimTime>,
}

/// What of an application's spec is compared.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spec {
    /// As [`Generated::parameters`].
    pub parameters: u32,
    /// `syncPolicy.automated`.
    pub auto_sync: AutoSync,
}

/// Whether the application controller syncs an application by itself.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AutoSync {
    /// No `automated` block: it does not.
    #[default]
    Absent,
    /// It does.
    Enabled,
    /// `automated.enabled` is false: it does not.
    Disabled,
}

/// `status.sync.status`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SyncStatus {
    /// The cluster has what the source says.
    Synced,
    /// It has not.
    OutOfSync,
    /// It could not be found out.
    Unknown,
    /// Empty: not compared yet.
    #[default]
    NotCompared,
}

/// `status.health.status`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Health {
    /// All is well.
    Healthy,
    /// Not yet.
    Progressing,
    /// Broken.
    Degraded,
    /// Its resources do not exist.
    Missing,
    /// It waits for something outside.
    Suspended,
    /// It could not be found out.
    Unknown,
    /// Empty: not judged yet.
    #[default]
    NotJudged,
}

/// `status.operationState`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OperationState {
    /// How far it is.
    pub phase: OperationPhase,
    /// When it began; an automatic retry does not renew it.
    pub started_at: crate::units::SimTime,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OperationPhase {
    /// Also between two attempts.
    Running,
    /// It is being stopped.
    Terminating,
    /// Everything is applied; whether it is healthy is another question.
    Succeeded,
    /// It did not work.
    Failed,
    /// It could not be tried.
    Error,
}

/// A sync as the controller requests it: automated, of the revision that the application resolves to when it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Operation {
    /// Delete what the source no longer has.
    pub prune: bool,
    /// Attempts after the first; negative: without end.
    pub retry_limit: i64,
    /// Waits between the attempts. `None`: the template's `backoff` cannot be read, and a failed attempt is the last.
    pub retry_waits: Option<Waits>,
}

impl Generated {
    /// A valid application.
    #[must_use]
    pub const fn new(labels: Arc<Labels>, parameters: u32, wanted: Revision) -> Self {
        Self { labels, parameters, valid: true, wanted }
    }
}

impl Application {
    /// An object that was just created: nobody has compared it yet.
    #[must_use]
    pub fn new(labels: Arc<Labels>, spec: Spec) -> Self {
        Self {
            labels,
            spec,
            sync: SyncStatus::NotCompared,
            health: Health::NotJudged,
            revisions: Arc::default(),
            operation_state: None,
            reconciled_at: None,
            has_error: false,
            operation: None,
            deleted_at: None,
        }
    }

    /// One that runs `revision`, Synced and Healthy, without a trace of how it came to it.
    #[must_use]
    pub fn settled(labels: Arc<Labels>, spec: Spec, revision: Revision) -> Self {
        Self {
            sync: SyncStatus::Synced,
            health: Health::Healthy,
            revisions: Arc::new([revision]),
            ..Self::new(labels, spec)
        }
    }

    /// Whether it has what its source says, and works.
    #[must_use]
    pub fn is_synced_and_healthy(&self) -> bool {
        self.sync == SyncStatus::Synced && self.health == Health::Healthy
    }
}

impl ApplicationView {
    /// Whether the application is as it is to be: the object has the generated parameters, and is Synced and Healthy.
    /// One that is no longer generated is, once it does not exist.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match (&self.generated, &self.live) {
            (Some(generated), Some(live)) => {
                live.spec.parameters == generated.parameters && live.is_synced_and_healthy()
            }
            (generated, live) => generated.is_none() && live.is_none(),
        }
    }
}

impl ApplicationSetView {
    /// Whether every application is as it is to be.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.applications.iter().all(ApplicationView::is_done)
    }

    pub(super) fn generated(&self, target: TargetId) -> Option<&Generated> {
        self.applications[target.index()].generated.as_ref()
    }
}
