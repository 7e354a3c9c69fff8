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
//! | application | one object for one place; the application controller syncs it. A target |
//! | step | applications selected by labels, and a `maxUpdate` |
//! | row | `ApplicationStatus`: the state of one application in the set's status |
//! | Waiting, Pending, Progressing, Healthy | states of a row: not due yet, sync requested, sync observed, complete |
//! | promotion | Waiting to Pending |
//! | operation | one sync, requested in the application's `operation` field |
//!
//! Surprising shipped rules are kept. The specs of all applications change simultaneously; only syncs are ordered.
//! The sync is requested in the pass after the promotion, and again in the pass that leaves Pending. Healthy is
//! sticky. Applications in no step are never synced, and count in step 1. A changed spec is lost on an application
//! that is Synced and Healthy. Nothing times out, and a failed sync is not repeated. [`ControllerOptions`] fixes the
//! two that upstream knows as bugs.
//!
//! Left out: generators and most of the templates (the view contains their results), JQ rules for ignored differences,
//! the template's sync options, and the queue's back-off after errors.

mod action;
mod barrier;
mod changed;
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
use super::{Hold, Pass, TargetId, by_name};
use crate::units::{SimDuration, SimTime};
use ledger::SetLedger;

pub use super::IntOrString;
pub use action::ApplicationAction;
pub use barrier::Barrier;
pub use config::{
    ApplicationSetError, ApplicationSetFile, ApplicationSetSpec, ApplicationSetStrategy, ApplicationSetSyncPolicy,
    ApplicationsSync, Automated, ControllerOptions, Generator, MatchExpression, Nested, ROLLING_SYNC, RollingSync,
    RolloutStep, SyncPolicy, Template, TemplateMetadata, TemplateSpec, Timed, Untimed,
};
pub use explain::{ApplicationSetExplanation, SyncStepExplanation, explain};
pub use hold::REFRESH_GRACE_PERIOD;
pub use limit::{StepBudget, StepLimit, limit};
pub use retry::{BackoffError, RETRY_FACTOR, RETRY_FIRST, RETRY_LIMIT, RETRY_MAX, Retry, RetryBackoff, Waits};
pub use row::{ApplicationStatus, Message, RolloutStatus};
pub use status::{ApplicationSetStatus, ErrorOccurred, Rollout, RolloutConfig, RowCounts, SetConditions, SetHealth};
pub use steps::{IssueKind, Issues, Steps};
pub use triggers::{DELETION_REQUEUE, ERROR_REQUEUE, queues_pass};
pub use version::ArgoCdVersion;
pub use view::{
    Application, ApplicationSetView, ApplicationView, AutoSync, Generated, Health, Operation, OperationPhase,
    OperationState, Spec, SyncStatus,
};

/// The controller of one ApplicationSet. Its rows and conditions are those of the set's status.
#[derive(Clone, Debug)]
pub struct ArgoCd {
    spec: ApplicationSetSpec,
    options: ControllerOptions,
    names: Vec<String>,
    /// Indices into `names` in byte order.
    by_name: Vec<u32>,
    rows: Vec<Option<ApplicationStatus>>,
    conditions: SetConditions,
    /// Start of the last pass.
    last_pass: SimTime,
    /// The labels that `plan` is based on. `None`: `plan` is out of date.
    labels: Option<Vec<Option<Arc<Labels>>>>,
    plan: Steps,
    /// Steps, from the first, whose applications the last pass allowed to sync.
    allowed_steps: usize,
    /// What the next pass over changed applications knows of the others. `None`: it looks at all of them.
    ledger: Option<SetLedger>,
    /// Reused between passes to avoid allocation.
    changed: Vec<(u32, ApplicationStatus)>,
}

impl ArgoCd {
    /// The controller of a new set of applications with these unique names, in the order of the generators; the index
    /// of an application is its [`TargetId`].
    #[must_use]
    pub fn new(spec: ApplicationSetSpec, options: ControllerOptions, names: Vec<String>) -> Self {
        Self {
            by_name: by_name(&names, String::as_str),
            rows: vec![None; names.len()],
            spec,
            options,
            names,
            conditions: SetConditions::default(),
            last_pass: SimTime::ZERO,
            labels: None,
            plan: Steps::default(),
            allowed_steps: 0,
            ledger: None,
            changed: Vec::new(),
        }
    }

    /// Replaces the set's spec. Rows are kept: no rollout object exists that could be abandoned.
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
        assert_eq!(rows.len(), self.names.len(), "one row, or none, for each name");
        self.rows = rows;
        self.ledger = None;
    }

    /// The set's spec.
    #[must_use]
    pub const fn spec(&self) -> &ApplicationSetSpec {
        &self.spec
    }

    /// The names of its applications.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The stored rows, one for each name. `None`: no row.
    #[must_use]
    pub fn rows(&self) -> &[Option<ApplicationStatus>] {
        &self.rows
    }

    /// The set's conditions.
    #[must_use]
    pub const fn conditions(&self) -> SetConditions {
        self.conditions
    }

    /// The steps of the last pass with their applications; no lists if the set was not rolling.
    #[must_use]
    pub const fn steps(&self) -> &Steps {
        &self.plan
    }

    /// Whether the strategy orders syncs.
    ///
    /// # Errors
    /// [`ApplicationSetError::NoSteps`].
    pub fn is_rolling(&self) -> Result<bool, ApplicationSetError> {
        if self.options.enable_progressive_syncs { self.spec.steps().map(|steps| steps.is_some()) } else { Ok(false) }
    }

    /// The spec that this controller writes for an application. In a rolling set no application syncs by itself.
    #[must_use]
    pub fn spec_of(&self, generated: &Generated) -> Spec {
        let auto_sync = match self.spec.automated() {
            None => AutoSync::Absent,
            Some(automated) if automated.is_enabled() && self.is_rolling() == Ok(false) => AutoSync::Enabled,
            Some(_) => AutoSync::Disabled,
        };
        Spec { parameters: generated.parameters, auto_sync }
    }

    /// The operation that it requests for an application.
    #[must_use]
    pub fn operation(&self) -> Operation {
        let retry = self.spec.retry();
        let backoff = retry.and_then(|retry| retry.backoff.as_ref());
        Operation {
            prune: self.spec.automated().is_some_and(|automated| automated.is_enabled() && automated.prune),
            retry_limit: retry.map_or(RETRY_LIMIT, |retry| retry.limit),
            retry_waits: backoff.map_or(Some(Waits::DEFAULT), |backoff| backoff.waits().ok()),
        }
    }

    /// Whether a deleted application exists until it is cleaned up.
    #[must_use]
    pub fn has_finalizers(&self) -> bool {
        !self.spec.template.metadata.finalizers.is_empty()
    }

    /// Applies the result of a pass at `now` to the objects of `view`.
    ///
    /// # Panics
    /// If the pass belongs to another view.
    pub fn store(
        &self,
        now: SimTime,
        pass: &Pass<ApplicationAction, ApplicationSetStatus>,
        view: &mut ApplicationSetView,
    ) {
        for action in &pass.actions {
            match *action {
                ApplicationAction::Create(target) => {
                    let generated = view.generated(target).expect("only generated applications are created");
                    let application = Application::new(Arc::clone(&generated.labels), self.spec_of(generated));
                    view.applications[target.index()].live = Some(application);
                }
                ApplicationAction::Stage(target, _) => {
                    let generated = view.generated(target).expect("only generated applications are written");
                    let (labels, spec) = (Arc::clone(&generated.labels), self.spec_of(generated));
                    let live = existing(view, target);
                    (live.labels, live.spec) = (labels, spec);
                }
                ApplicationAction::Deploy(target, _) => existing(view, target).operation = Some(self.operation()),
                ApplicationAction::Refresh(target) => existing(view, target).refresh = true,
                ApplicationAction::Delete(target) if self.has_finalizers() => {
                    existing(view, target).deleted_at = Some(now);
                }
                ApplicationAction::Delete(target) => view.applications[target.index()].live = None,
            }
        }
    }

    fn plan_for(&mut self, view: &ApplicationSetView) -> Steps {
        let labels = |view: &view::ApplicationView| view.generated.as_ref().map(|g| Arc::clone(&g.labels));
        let is_same = |(view, labels): (&view::ApplicationView, &Option<Arc<Labels>>)| {
            view.generated.as_ref().map(|generated| &generated.labels) == labels.as_ref()
        };
        let is_current = self.labels.as_ref().is_some_and(|labels| view.applications.iter().zip(labels).all(is_same));
        if !is_current {
            let labels: Vec<_> = view.applications.iter().map(labels).collect();
            self.plan = Steps::new(self.spec.steps().ok().flatten().unwrap_or_default(), &labels);
            self.labels = Some(labels);
        }
        std::mem::take(&mut self.plan)
    }

    fn all_at_once(&mut self, view: &ApplicationSetView) -> Pass<ApplicationAction, ApplicationSetStatus> {
        let mut status = ApplicationSetStatus { rows_written: self.clear_rows(), ..ApplicationSetStatus::default() };
        status.row_writes = usize::from(status.rows_written);
        (self.plan, self.conditions.rollout, self.conditions.config) = (Steps::default(), None, None);
        self.labels = None;
        self.report_validation(view);
        let actions = self.write_objects(view, |_| false, &mut status);
        Pass { actions, wake_at: None, status }
    }

    fn rolling(&mut self, now: SimTime, view: &ApplicationSetView) -> Pass<ApplicationAction, ApplicationSetStatus> {
        let is_pending =
            |row: &Option<ApplicationStatus>| row.as_ref().is_some_and(|row| row.status == RolloutStatus::Pending);
        let mut was_pending: Vec<bool> = self.rows.iter().map(is_pending).collect();
        let plan = self.plan_for(view);
        let rolled = self.roll(now, view, &plan);
        let conditions = (self.conditions.rollout, self.conditions.config);
        if rolled.barrier.is_none() {
            self.report_rollout(self.first_unfinished(), &plan, &rolled.budgets);
        }
        // The pass works on a copy of the set's status, and triggers syncs by the original. If it has written a new
        // error it reads the set again, and so triggers by the status it has just stored.
        if self.report_validation(view) || self.options.trigger_once {
            was_pending = self.rows.iter().map(is_pending).collect();
        }
        let mut status = ApplicationSetStatus {
            budgets: rolled.budgets,
            promoted: rolled.promoted,
            open_steps: rolled.open_steps,
            rows_written: rolled.row_writes > 0,
            row_writes: rolled.row_writes,
            conditions_written: conditions != (self.conditions.rollout, self.conditions.config),
            barrier: rolled.barrier,
            ..ApplicationSetStatus::default()
        };
        let mut actions = refreshes(&mut status);
        let is_requested = |index: usize| self.is_allowed(&plan, index) && was_pending[index];
        actions.extend(self.write_objects(view, is_requested, &mut status));
        self.plan = plan;
        Pass { actions, wake_at: None, status }
    }

    /// Sets the conditions of a rollout that has reached this step.
    fn report_rollout(&mut self, first_unfinished: Option<u32>, plan: &Steps, budgets: &[StepBudget]) {
        self.conditions.rollout = Some(first_unfinished.map_or(Rollout::Complete, Rollout::Progressing));
        let issue = plan.issues.reported(budgets.iter().any(|budget| budget.is_unreadable));
        self.conditions.config = Some(issue.map_or(RolloutConfig::Valid, RolloutConfig::Invalid));
    }

    /// Sets the conditions that follow from invalid applications. True: there is a new error.
    fn report_validation(&mut self, view: &ApplicationSetView) -> bool {
        let is_invalid = |(_, view): &(u32, &ApplicationView)| view.generated.as_ref().is_some_and(|g| !g.valid);
        let mut invalid = (0..).zip(&view.applications).filter(is_invalid);
        let first = invalid.next().map(|(first, _)| first);
        self.report_invalid(first, usize::from(first.is_some()) + invalid.count())
    }

    /// The same, with the first of so many invalid applications.
    fn report_invalid(&mut self, first: Option<u32>, applications: usize) -> bool {
        let error = match first {
            None => ErrorOccurred::No,
            Some(first) => ErrorOccurred::Validation { first: TargetId(first), applications },
        };
        let is_new = self.conditions.error.replace(error) != Some(error);
        self.conditions.up_to_date = error == ErrorOccurred::No;
        is_new && error != ErrorOccurred::No
    }

    /// Without steps a pass does nothing; rows and the rollout's conditions are unchanged.
    fn no_steps(&mut self) -> Pass<ApplicationAction, ApplicationSetStatus> {
        self.conditions.error = Some(ErrorOccurred::NoSteps);
        self.conditions.up_to_date = false;
        Pass { actions: Vec::new(), wake_at: None, status: ApplicationSetStatus::default() }
    }

    fn requeue_after(&self) -> Option<SimDuration> {
        match self.conditions.error {
            Some(ErrorOccurred::NoSteps) => Some(ERROR_REQUEUE),
            Some(ErrorOccurred::Validation { .. }) => self.spec.requeue_after().or(Some(ERROR_REQUEUE)),
            _ => self.spec.requeue_after(),
        }
    }

    fn clear_rows(&mut self) -> bool {
        let had_rows = self.rows.iter().any(Option::is_some);
        self.rows.iter_mut().for_each(|row| *row = None);
        had_rows
    }

    /// One pass of the ApplicationSet reconciler. It is due again immediately ([`Pass::wake_at`] is `now`) when its
    /// changes queue a pass. It looks at every application; [`Self::reconcile_changed`] looks at few.
    ///
    /// # Panics
    /// If the view does not have one entry for each name.
    pub fn reconcile(
        &mut self,
        now: SimTime,
        view: &ApplicationSetView,
    ) -> Pass<ApplicationAction, ApplicationSetStatus> {
        assert_eq!(view.applications.len(), self.names.len(), "the view has one entry for each name");
        self.ledger = None;
        self.last_pass = now;
        let mut pass = if view.deleted {
            self.delete(now, view)
        } else {
            match self.is_rolling() {
                Err(_) => self.no_steps(),
                Ok(false) => self.all_at_once(view),
                Ok(true) => self.rolling(now, view),
            }
        };
        pass.status.rows = self.counts();
        self.conclude(now, view, &mut pass);
        pass
    }

    /// Completes the result of a pass: conditions, and when the next one is due.
    fn conclude(
        &self,
        now: SimTime,
        view: &ApplicationSetView,
        pass: &mut Pass<ApplicationAction, ApplicationSetStatus>,
    ) {
        if !view.deleted {
            pass.status.requeue_after = self.requeue_after();
        }
        let is_queued = pass.status.rows_written || pass.status.objects_written;
        let requeued = pass.status.requeue_after.map(|after| now + after);
        pass.wake_at = if is_queued { Some(now) } else { requeued };
        pass.status.conditions = self.conditions;
    }

    /// The hold of a set whose last pass was within the grace period, if no pass follows.
    #[must_use]
    pub fn grace_period_hold(&self) -> Hold {
        hold::grace_period(self)
    }

    /// The rule that blocks the rollout at `view`. `None`: it is finished, or the next pass makes progress. The call
    /// costs as much as several passes.
    #[must_use]
    pub fn hold(&self, view: &ApplicationSetView) -> Option<Hold> {
        hold::hold(self, view)
    }
}

/// Asks for a comparison of applications that are behind, and were not asked for it yet.
fn refreshes(status: &mut ApplicationSetStatus) -> Vec<ApplicationAction> {
    let Some(Barrier::Behind(asked)) = &status.barrier else { return Vec::new() };
    status.objects_written |= !asked.is_empty();
    asked.iter().map(|target| ApplicationAction::Refresh(*target)).collect()
}

fn existing(view: &mut ApplicationSetView, target: TargetId) -> &mut Application {
    view.applications[target.index()].live.as_mut().expect("an application is created before it is changed")
}
