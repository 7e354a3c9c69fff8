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

/// One application in the controller's cache, as generated and as it exists. A set has an entry for each name of the
/// scheduler, in the scheduler's order, which is the order of the generators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationView {
    /// The generated application. `None`: not generated.
    pub generated: Option<Generated>,
    /// The set's Application object. `None`: it does not exist.
    pub live: Option<Application>,
}

/// An application as currently generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The application's labels, by which steps select.
    pub labels: Arc<Labels>,
    /// The parts of the application's spec that the template sets. Different numbers mean different specs.
    pub parameters: u32,
    /// False: the application fails the product's validation (unknown project or destination) and is never written.
    pub valid: bool,
    /// The revision that a sync deploys if it starts now. It has no effect on decisions.
    pub wanted: Revision,
    /// Whether the application's own `syncPolicy.automated` is enabled. `None`: as in the template.
    pub automated: Option<bool>,
}

/// An Application object. The default has not been compared yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// The application's labels, as last written.
    pub labels: Arc<Labels>,
    /// The application's spec, as last written.
    pub spec: Spec,
    /// Value of `status.sync.status`.
    pub sync: SyncStatus,
    /// Value of `status.health.status`.
    pub health: Health,
    /// `status.sync.revisions`, or the single `status.sync.revision`. Empty: not compared yet.
    pub revisions: Arc<[Revision]>,
    /// `status.operationState`: the running or last operation, if any.
    pub operation_state: Option<OperationState>,
    /// The operation's message, if one of its attempts has failed for a known reason.
    pub operation_message: Option<OperationMessage>,
    /// `status.reconciledAt`: the time of the last comparison. `None`: never compared.
    pub reconciled_at: Option<fleetsim_units::SimTime>,
    /// Whether the application has a condition `InvalidSpecError` or `UnknownError`.
    pub has_error: bool,
    /// The `operation` field: a sync is requested or running. The application controller clears it with the result.
    pub operation: Option<Operation>,
    /// Whether the application has the annotation `argocd.argoproj.io/refresh`, which the application controller
    /// removes.
    pub refresh: bool,
    /// Start of the application's deletion. `None`: it is not being deleted.
    pub deleted_at: Option<SimTime>,
}

/// The compared part of an application's spec.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spec {
    /// See [`Generated::parameters`].
    pub parameters: u32,
    /// `syncPolicy.automated`.
    pub auto_sync: AutoSync,
}

/// Whether the application controller syncs an application automatically.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AutoSync {
    /// No `automated` block: not synced automatically.
    #[default]
    Absent,
    /// An `automated` block that is not disabled: synced automatically.
    Enabled,
    /// `automated.enabled` is false: not synced automatically.
    Disabled,
}

/// `status.sync.status`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SyncStatus {
    /// The cluster matches the source.
    Synced,
    /// The cluster differs from the source.
    OutOfSync,
    /// The status could not be determined.
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
    /// The application is not healthy yet.
    Progressing,
    /// Unhealthy.
    Degraded,
    /// The application's resources do not exist in the cluster.
    Missing,
    /// Waiting for an external event.
    Suspended,
    /// The health could not be determined.
    Unknown,
    /// Empty: not evaluated yet.
    #[default]
    NotJudged,
}

/// `status.operationState`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OperationState {
    /// The operation's phase.
    pub phase: OperationPhase,
    /// Start of the operation; an automatic retry does not change it.
    pub started_at: fleetsim_units::SimTime,
}

/// The phase of an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OperationPhase {
    /// Running, or waiting for the next attempt.
    Running,
    /// The operation is being stopped.
    Terminating,
    /// All resources were applied, healthy or not.
    Succeeded,
    /// The sync failed.
    Failed,
    /// The sync could not be attempted.
    Error,
}

/// `status.operationState.message` of an operation that has failed or is blocked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OperationMessage {
    /// An attempt has failed, or the operation was ended.
    Failure {
        /// Why the last attempt failed, or why the operation was ended.
        failure: &'static str,
        /// Attempts after the first.
        retries: u32,
    },
    /// A sync window blocks the operation.
    Blocked,
}

/// Source: `SyncAppState` in `controller/sync.go`.
pub const BLOCKED_BY_WINDOW: &str = "Sync operation blocked by sync window";

impl OperationMessage {
    /// Returns the message of an operation in this phase, without the time of the next attempt. Source:
    /// `processRequestedAppOperation` in `controller/appcontroller.go`.
    pub fn text(&self, phase: OperationPhase) -> String {
        let Self::Failure { failure, retries } = self else {
            return BLOCKED_BY_WINDOW.to_owned();
        };
        match (phase, retries) {
            (OperationPhase::Running, _) => format!("{failure}. Retrying attempt #{retries}"),
            (_, 0) => (*failure).to_owned(),
            (_, _) => format!("{failure} (retried {retries} times)."),
        }
    }
}

/// A sync as the controller requests it: automated, to the revision that the application resolves to when it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Operation {
    /// Delete resources that the source no longer has.
    pub prune: bool,
    /// Number of retries; negative: unlimited.
    pub retry_limit: i64,
    /// Waits between the attempts. `None`: the template's `backoff` is invalid, and a failed attempt is not retried.
    pub retry_waits: Option<Waits>,
}

/// An action of a pass of the ApplicationSet controller, which a driver carries out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApplicationAction {
    /// Create the product's own object for this target. The cluster does not see this write.
    Create(TargetId),
    /// Write the generated labels and spec. The cluster does not see this write.
    Stage(TargetId),
    /// Request a sync, which instructs the target to run the wanted revision now.
    Deploy(TargetId),
    /// Request a comparison of this application by the application controller (v3.6). The cluster does not see this
    /// write.
    Refresh(TargetId),
    /// Remove the application from the target.
    Delete(TargetId),
}

impl Generated {
    /// Creates a valid application.
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
    /// Creates a new object that has not been compared yet.
    pub fn new(labels: Arc<Labels>, spec: Spec) -> Self {
        Self {
            labels,
            spec,
            ..Self::default()
        }
    }

    /// Creates an object that runs `revision`, Synced and Healthy, without an operation.
    pub fn settled(labels: Arc<Labels>, spec: Spec, revision: Revision) -> Self {
        Self {
            sync: SyncStatus::Synced,
            health: Health::Healthy,
            revisions: Arc::new([revision]),
            ..Self::new(labels, spec)
        }
    }

    /// Returns whether the application is Synced and Healthy.
    pub fn is_synced_and_healthy(&self) -> bool {
        self.sync == SyncStatus::Synced && self.health == Health::Healthy
    }
}

impl ApplicationView {
    /// Returns the labels of the generated application.
    pub(super) fn generated_labels(&self) -> Option<&Arc<Labels>> {
        Some(&self.generated.as_ref()?.labels)
    }

    /// Returns whether the application is generated and passes the product's validation.
    pub(super) fn is_valid(&self) -> bool {
        self.generated
            .as_ref()
            .is_some_and(|generated| generated.valid)
    }

    /// Returns whether the application is generated and fails the product's validation.
    pub(super) fn is_invalid(&self) -> bool {
        self.generated.is_some() && !self.is_valid()
    }

    /// Returns whether the application has the generated parameters and is Synced to the wanted revision, healthy or
    /// not.
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

    /// Returns whether the application is complete: the object has the generated parameters, and is Synced and
    /// Healthy. An application that is no longer generated is complete once it does not exist.
    pub fn is_done(&self) -> bool {
        match (&self.generated, &self.live) {
            (Some(generated), Some(live)) => {
                live.spec.parameters == generated.parameters && live.is_synced_and_healthy()
            }
            (generated, live) => generated.is_none() && live.is_none(),
        }
    }
}
