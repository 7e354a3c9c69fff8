//! Argo CD's ApplicationSet controller with the `RollingSync` strategy: which applications may sync, and when.
//!
//! Follows argoproj/argo-cd at 37ee0097cf851bc2dd7665fc081bbce61a7e836e:
//! `applicationset/progressivesync/{progressive_sync,validation_issues}.go`,
//! `applicationset/controllers/applicationset_controller.go`, `applicationset/utils/createOrUpdate.go` and
//! `pkg/apis/application/v1alpha1/{applicationset_types,types}.go`. `tests/conformance/argocd-applicationset` holds
//! recorded executions of the reconciler; every recorded case is a test. [`proposal`] is the strategy that was
//! proposed first and never shipped.
//!
//! This folder uses Argo CD's own terms:
//!
//! | word | meaning |
//! |---|---|
//! | ApplicationSet, set | creates applications from generators and a template; has the strategy |
//! | application | one object for one destination; the application controller syncs it. A target |
//! | step | applications selected by labels, and a `maxUpdate` |
//! | row | `ApplicationStatus`: the state of one application in the set's status |
//! | Waiting, Pending, Progressing, Healthy | states of a row: not due yet, sync requested, sync observed, complete |
//! | promotion | Waiting to Pending |
//! | operation | one sync, requested in the application's `operation` field |
//!
//! Surprising shipped rules are kept. The specs of all applications change simultaneously; only syncs are ordered. The
//! sync is requested in the pass after the promotion, and again in the pass that leaves Pending. Healthy is sticky.
//! Applications in no step are never synced, and count in step 1. A changed spec is lost on an application that is
//! Synced and Healthy. Nothing times out, and a failed sync is not repeated. [`ControllerOptions`] can fix the two
//! rules that upstream treats as bugs.
//!
//! Left out: generators and most of the templates (the view contains their results), JQ rules
//! for ignored differences, the template's sync options, and the queue's back-off after errors.

mod barrier;
mod cache;
mod conditions;
mod config;
mod deletion;
mod explain;
mod hold;
mod ledger;
mod limit;
mod objects;
mod pass;
pub mod proposal;
mod recent;
mod retry;
mod row;
mod status;
mod steps;
mod template;
#[cfg(test)]
mod tests;
mod triggers;
mod version;
mod view;

use std::sync::Arc;

use super::label_selector::Labels;
use super::{TargetId, by_name, places_in};
use fleetsim_units::{SimDuration, SimTime};
use ledger::SetLedger;
use recent::RecentWrite;

pub use super::IntOrString;
pub use barrier::Barrier;
pub use config::{
    ApplicationSetError, ApplicationSetFile, ApplicationSetSpec, ApplicationSetStrategy,
    ApplicationSetSyncPolicy, ApplicationsSync, Automated, ControllerOptions, Generator,
    GeneratorBody, MatchExpression, ROLLING_SYNC, RollingSync, RolloutStep, SyncPolicy, Template,
    TemplateMetadata, TemplateSpec,
};
pub use explain::{ApplicationSetExplanation, NO_AUTOMATED_SYNC, explain};
pub use hold::REFRESH_GRACE_PERIOD;
pub use limit::{StepBudget, StepLimit, limit};
pub use pass::SetWrite;
pub use retry::{
    BackoffError, RETRY_FACTOR, RETRY_FIRST, RETRY_LIMIT, RETRY_MAX, Retry, RetryBackoff, Waits,
};
pub use row::{ApplicationStatus, Message, RolloutStatus};
pub use status::{
    ApplicationSetStatus, ErrorOccurred, Rollout, RolloutConfig, RowCounts, SetConditions,
    SetDecision,
};
pub use steps::{IssueKind, Issues, Steps};
pub use template::{OpenExpression, TemplateCluster};
pub use triggers::{ERROR_REQUEUE, queues_pass};
pub use version::ArgoCdVersion;
pub use view::{
    Application, ApplicationAction, ApplicationView, AutoSync, BLOCKED_BY_WINDOW, Generated,
    Health, Operation, OperationMessage, OperationPhase, OperationState, Spec, SyncStatus,
};

/// The controller of one ApplicationSet, with the rows and the conditions in the set's status.
#[derive(Clone, Debug)]
pub struct ArgoCd {
    spec: ApplicationSetSpec,
    options: ControllerOptions,
    names: Vec<String>,
    /// Indices into `names` in byte order.
    by_name: Vec<u32>,
    /// The rank of each name in byte order.
    rank: Vec<u32>,
    rows: Vec<Option<ApplicationStatus>>,
    conditions: SetConditions,
    /// Start of the last pass.
    last_pass: SimTime,
    /// Writes that were answered after this time are in the list of recent writes, and the next pass does not see
    /// them.
    seen: SimTime,
    recent: Vec<RecentWrite>,
    /// The labels that `plan` is based on. `None`: `plan` is out of date.
    labels: Option<Vec<Option<Arc<Labels>>>>,
    plan: Steps,
    /// Number of steps, from the first, whose applications the last pass allowed to sync.
    allowed_steps: usize,
    /// Counts and candidates of the last pass. `None`: the next pass examines all applications.
    ledger: Option<SetLedger>,
}

impl ArgoCd {
    /// The name of an application, by its number.
    pub fn name(&self, application: usize) -> &str {
        &self.names[application]
    }

    /// Creates the controller of a new set of applications with these unique names, in the order of the generators.
    /// The index of an application is its [`TargetId`].
    pub fn new(spec: ApplicationSetSpec, options: ControllerOptions, names: Vec<String>) -> Self {
        let by_name = by_name(&names, String::as_str);
        Self {
            rank: places_in(&by_name),
            by_name,
            rows: vec![None; names.len()],
            spec,
            options,
            names,
            conditions: SetConditions::default(),
            last_pass: SimTime::ZERO,
            seen: SimTime::MAX,
            recent: Vec::new(),
            labels: None,
            plan: Steps::default(),
            allowed_steps: 0,
            ledger: None,
        }
    }

    /// Hides writes after `seen` from the next pass, because the cache does not show them yet. By default, no write is
    /// hidden.
    pub const fn sees_until(&mut self, seen: SimTime) {
        self.seen = seen;
    }

    /// Replaces the set's spec. Rows are kept, because there is no rollout object that could be abandoned.
    pub fn set_spec(&mut self, spec: ApplicationSetSpec) {
        self.spec = spec;
        self.labels = None;
        self.ledger = None;
    }

    /// Replaces the stored rows, one for each name, as found by a restarted controller.
    ///
    /// # Panics
    /// If there is not one entry for each name.
    pub fn set_rows(&mut self, rows: Vec<Option<ApplicationStatus>>) {
        assert_eq!(
            rows.len(),
            self.names.len(),
            "one row, or none, for each name"
        );
        self.rows = rows;
        self.ledger = None;
    }

    /// Returns the set's spec.
    pub const fn spec(&self) -> &ApplicationSetSpec {
        &self.spec
    }

    /// Returns the stored rows, one for each name. `None`: no row.
    pub fn rows(&self) -> &[Option<ApplicationStatus>] {
        &self.rows
    }

    /// Returns the set's conditions.
    pub const fn conditions(&self) -> SetConditions {
        self.conditions
    }

    /// Returns the steps of the last pass with their applications; empty if the set was not rolling.
    pub const fn steps(&self) -> &Steps {
        &self.plan
    }

    /// Returns whether the strategy orders syncs.
    ///
    /// # Errors
    /// [`ApplicationSetError::NoSteps`].
    pub fn is_rolling(&self) -> Result<bool, ApplicationSetError> {
        if self.options.enable_progressive_syncs {
            self.spec.steps().map(|steps| steps.is_some())
        } else {
            Ok(false)
        }
    }

    /// Returns the spec that this controller writes for an application. In a rolling set, automated sync is disabled
    /// (`disableAutomatedSync` in `progressivesync/progressive_sync.go`).
    pub fn spec_of(&self, generated: &Generated) -> Spec {
        let template = self.spec.automated();
        let in_template = template.is_some_and(Automated::is_enabled);
        let is_enabled = generated.automated.unwrap_or(in_template);
        let auto_sync = if is_enabled && self.is_rolling() == Ok(false) {
            AutoSync::Enabled
        } else if is_enabled || template.is_some() {
            AutoSync::Disabled
        } else {
            AutoSync::Absent
        };
        Spec {
            parameters: generated.parameters,
            auto_sync,
        }
    }

    /// Returns the operation that the controller requests for an application.
    pub fn operation(&self) -> Operation {
        let retry = self.spec.retry();
        let backoff = retry.and_then(|retry| retry.backoff.as_ref());
        let automated = self.spec.automated();
        Operation {
            prune: automated.is_some_and(|automated| automated.is_enabled() && automated.prune),
            retry_limit: match retry {
                Some(retry) => retry.limit,
                None => RETRY_LIMIT,
            },
            retry_waits: match backoff {
                Some(backoff) => backoff.waits().ok(),
                None => Some(Waits::DEFAULT),
            },
        }
    }

    /// Returns whether a deleted application continues to exist until its resources are gone.
    pub fn has_finalizers(&self) -> bool {
        !self.spec.template.metadata.finalizers.is_empty()
    }

    /// Applies the result of the last pass to the objects of `view`.
    ///
    /// # Panics
    /// If the pass belongs to another view.
    pub fn store(&self, pass: &SetDecision, view: &mut [ApplicationView]) {
        for action in &pass.actions {
            self.carry_out(*action, view);
        }
    }

    /// Applies one action of the last pass to its object in `view`.
    ///
    /// # Panics
    /// If the action belongs to another view.
    pub fn carry_out(&self, action: ApplicationAction, view: &mut [ApplicationView]) {
        match action {
            ApplicationAction::Create(target) | ApplicationAction::Stage(target) => {
                let ApplicationView { generated, live } = &mut view[target.index()];
                let generated = generated
                    .as_ref()
                    .expect("only generated applications are written");
                let live = live.get_or_insert_default();
                live.labels = Arc::clone(&generated.labels);
                live.spec = self.spec_of(generated);
            }
            ApplicationAction::Deploy(target) => {
                existing(view, target).operation = Some(self.operation());
            }
            ApplicationAction::Refresh(target) => existing(view, target).refresh = true,
            ApplicationAction::Delete(target) if self.has_finalizers() => {
                existing(view, target).deleted_at = Some(self.last_pass);
            }
            ApplicationAction::Delete(target) => view[target.index()].live = None,
        }
    }

    /// Returns the rank of an application by name. A pass writes in this order.
    pub fn rank(&self, target: TargetId) -> u32 {
        self.rank[target.index()]
    }

    /// Sets the conditions that follow from invalid applications (`validateGeneratedApplications`). Returns whether
    /// there is a new error.
    fn report_invalid(&mut self, ledger: &SetLedger) -> bool {
        let error = match ledger.invalid.next(0) {
            Some(first) => ErrorOccurred::Validation {
                first: TargetId(first),
                applications: ledger.invalid.len(),
            },
            None => ErrorOccurred::No,
        };
        let is_new = self.conditions.error.replace(error) != Some(error);
        is_new && error != ErrorOccurred::No
    }

    fn requeue_after(&self) -> Option<SimDuration> {
        match self.conditions.error {
            Some(ErrorOccurred::NoSteps) => Some(ERROR_REQUEUE),
            Some(ErrorOccurred::Validation { .. }) => {
                self.spec.requeue_after().or(Some(ERROR_REQUEUE))
            }
            _ => self.spec.requeue_after(),
        }
    }
}

fn existing(view: &mut [ApplicationView], target: TargetId) -> &mut Application {
    view[target.index()]
        .live
        .as_mut()
        .expect("an application is created before it is changed")
}
