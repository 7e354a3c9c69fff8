//! The controller's view: the generated applications and the existing Application objects.
//!
//! Follows `pkg/apis/application/v1alpha1/types.go`. An application's spec is reduced to the parts that the
//! controller compares: its parameters, one number for everything that the template sets, and whether it syncs
//! automatically. Times may have any precision; they are compared in whole seconds, as the API stores them.

use std::sync::Arc;

use super::super::label_selector::Labels;
use super::super::{Revision, TargetId};
use super::retry::Waits;
use fleetsim_units::SimTime;

/// One application in the controller's cache: the generated and the live one. A set has one for each name of the
/// scheduler, in that order, which is the order of the generators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationView {
    /// `None`: not generated.
    pub generated: Option<Generated>,
    /// The set's Application object. `None`: it does not exist.
    pub live: Option<Application>,
}

/// An application as currently generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Its labels, which steps select by.
    pub labels: Arc<Labels>,
    /// The parts of its spec that the template sets. Different numbers are different specs.
    pub parameters: u32,
    /// False: it fails the product's validation (unknown project or destination) and is never written.
    pub valid: bool,
    /// The revision that a sync started now deploys. It has no effect on decisions.
    pub wanted: Revision,
    /// Whether its own `syncPolicy.automated` is enabled. `None`: as in the template.
    pub automated: Option<bool>,
}

/// An Application object. The default is not compared yet.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// `status.operationState`: the running or last operation, if any.
    pub operation_state: Option<OperationState>,
    /// `status.reconciledAt`: when it was last compared. `None`: never.
    pub reconciled_at: Option<fleetsim_units::SimTime>,
    /// It has a condition `InvalidSpecError` or `UnknownError`.
    pub has_error: bool,
    /// The `operation` field: a sync is requested or running. The application controller clears it with the result.
    pub operation: Option<Operation>,
    /// It has the annotation `argocd.argoproj.io/refresh`, which the application controller takes off.
    pub refresh: bool,
    /// Since when it is being deleted.
    pub deleted_at: Option<SimTime>,
}

/// The compared part of an application's spec.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spec {
    /// As [`Generated::parameters`].
    pub parameters: u32,
    /// `syncPolicy.automated`.
    pub auto_sync: AutoSync,
}

/// Whether the application controller syncs an application automatically.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AutoSync {
    /// No `automated` block: no.
    #[default]
    Absent,
    /// Yes.
    Enabled,
    /// `automated.enabled` is false: no.
    Disabled,
}

/// `status.sync.status`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SyncStatus {
    /// The cluster matches the source.
    Synced,
    /// The cluster differs from the source.
    OutOfSync,
    /// It could not be determined.
    Unknown,
    /// Empty: not compared yet.
    #[default]
    NotCompared,
}

/// `status.health.status`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Health {
    /// Healthy.
    Healthy,
    /// Not healthy yet.
    Progressing,
    /// Unhealthy.
    Degraded,
    /// Its resources do not exist.
    Missing,
    /// Waits for an external event.
    Suspended,
    /// It could not be determined.
    Unknown,
    /// Empty: not evaluated yet.
    #[default]
    NotJudged,
}

/// `status.operationState`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OperationState {
    /// Its phase.
    pub phase: OperationPhase,
    /// Its start; an automatic retry does not change it.
    pub started_at: fleetsim_units::SimTime,
}

/// The phase of an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OperationPhase {
    /// Also between two attempts.
    Running,
    /// It is being stopped.
    Terminating,
    /// Everything is applied, healthy or not.
    Succeeded,
    /// The sync failed.
    Failed,
    /// The sync could not be attempted.
    Error,
}

/// A sync as the controller requests it: automated, of the revision that the application resolves to when it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Operation {
    /// Delete resources that the source no longer has.
    pub prune: bool,
    /// Attempts after the first; negative: unlimited.
    pub retry_limit: i64,
    /// Waits between the attempts. `None`: the template's `backoff` is invalid, and a failed attempt is the last.
    pub retry_waits: Option<Waits>,
}

/// An action of a pass of the ApplicationSet controller, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApplicationAction {
    /// Create the product's own object for this target. The cluster does not see it.
    Create(TargetId),
    /// Write the generated labels and spec. The cluster does not see it.
    Stage(TargetId),
    /// Request a sync, which instructs the target to run the wanted revision now.
    Deploy(TargetId),
    /// Ask the application controller to compare this application (v3.6). The cluster does not see it.
    Refresh(TargetId),
    /// Remove the application from the target.
    Delete(TargetId),
}

impl Generated {
    /// A valid application.
    pub const fn new(labels: Arc<Labels>, parameters: u32, wanted: Revision) -> Self {
        Self {
            labels,
            parameters,
            valid: true,
            wanted,
            automated: None,
        }
    }
}

impl Application {
    /// A newly created object, not compared yet.
    pub fn new(labels: Arc<Labels>, spec: Spec) -> Self {
        Self {
            labels,
            spec,
            ..Self::default()
        }
    }

    /// An object that runs `revision`, Synced and Healthy, without an operation.
    pub fn settled(labels: Arc<Labels>, spec: Spec, revision: Revision) -> Self {
        Self {
            sync: SyncStatus::Synced,
            health: Health::Healthy,
            revisions: Arc::new([revision]),
            ..Self::new(labels, spec)
        }
    }

    /// Whether it is Synced and Healthy.
    pub fn is_synced_and_healthy(&self) -> bool {
        self.sync == SyncStatus::Synced && self.health == Health::Healthy
    }
}

impl ApplicationView {
    /// The labels of the generated application.
    pub(super) fn generated_labels(&self) -> Option<&Arc<Labels>> {
        Some(&self.generated.as_ref()?.labels)
    }

    /// Whether it is generated, and passes the product's validation.
    pub(super) fn is_valid(&self) -> bool {
        self.generated
            .as_ref()
            .is_some_and(|generated| generated.valid)
    }

    /// Whether it is generated, and fails the product's validation.
    pub(super) fn is_invalid(&self) -> bool {
        self.generated.is_some() && !self.is_valid()
    }

    /// Whether the application has the generated parameters and is Synced to the wanted revision, healthy or not.
    pub(super) fn is_synced_as_wanted(&self) -> bool {
        let (Some(generated), Some(live)) = (&self.generated, &self.live) else {
            return false;
        };
        live.spec.parameters == generated.parameters
            && live.sync == SyncStatus::Synced
            && !live.revisions.is_empty()
            && live
                .revisions
                .iter()
                .all(|revision| *revision == generated.wanted)
    }

    /// Whether the application is complete: the object has the generated parameters, and is Synced and Healthy. An
    /// application that is no longer generated is complete once it does not exist.
    pub fn is_done(&self) -> bool {
        match (&self.generated, &self.live) {
            (Some(generated), Some(live)) => {
                live.spec.parameters == generated.parameters && live.is_synced_and_healthy()
            }
            (generated, live) => generated.is_none() && live.is_none(),
        }
    }
}
