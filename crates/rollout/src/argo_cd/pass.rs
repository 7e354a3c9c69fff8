//! One pass of the ApplicationSet reconciler: rows are updated, steps open, rows are promoted, objects are written.
//!
//! Follows `Reconcile` and `setAppSetApplicationStatus` in `applicationset/controllers/applicationset_controller.go`,
//! and `PerformProgressiveSyncs` in `applicationset/progressivesync/progressive_sync.go`.
//!
//! A row's update depends on the row, the application's object and the generated application. If none of these changed
//! since an examination without effect, another examination has no effect. So a pass examines the applications that
//! its caller names and those that the last pass changed or wrote, and gets everything else from the [`SetLedger`]. A
//! full pass builds the ledger first. In tests, each partial pass over a small set is compared with a full pass.

use std::sync::Arc;

use super::super::label_selector::Labels;
use super::super::{Pass, TargetId, TargetSet, stored};
use super::barrier::{Barrier, BarrierLedger};
use super::ledger::{SetLedger, StepRows};
use super::limit::StepBudget;
use super::recent::{HiddenWrite, Rows};
use super::row::{ApplicationStatus, Message, RolloutStatus};
use super::status::{ErrorOccurred, Rollout, RolloutConfig, RowCounts, SetConditions};
use super::steps::Steps;
use super::view::ApplicationView;
use super::{ApplicationAction, ApplicationSetStatus, ArgoCd, SetDecision};
use fleetsim_units::SimTime;

/// Maximum size of a set whose passes are compared with full passes in tests.
#[cfg(test)]
const COMPARED_MAX: usize = 100;

/// An application that a pass examines.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct ExaminedApplication {
    pub(super) index: u32,
    /// Whether the pass requests its sync: its row is Pending, and its step is open.
    pub(super) requests_sync: bool,
}

/// A write of the set's status during a pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetWrite {
    /// A write of rows. If it is refused, the pass aborts.
    Rows {
        /// Whether the rows differ from those that the API server has.
        is_new: bool,
    },
    /// A write of the rollout's conditions. If it is refused, this is logged, and the pass continues.
    Conditions {
        /// Whether the conditions differ from those that the API server has.
        is_new: bool,
    },
}

impl SetWrite {
    /// Returns whether the write differs from what the API server has. An identical write has no effect, not even on
    /// the version of the set.
    pub const fn is_new(self) -> bool {
        match self {
            Self::Rows { is_new } | Self::Conditions { is_new } => is_new,
        }
    }
}

/// The API server refused a write of rows: the pass aborts, and nothing has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct RefusedWrite;

/// Performs a write of the set's status. Returns when the API server accepted it, or `None` if it was refused.
pub(super) type Store<'s> = &'s mut dyn FnMut(SetWrite) -> Option<SimTime>;

/// A pass over a set.
pub(super) struct SetPass<'p> {
    pub(super) set: &'p mut ArgoCd,
    now: SimTime,
    pub(super) view: &'p [ApplicationView],
    /// Taken from the set while the pass uses it.
    pub(super) ledger: SetLedger,
    pub(super) status: ApplicationSetStatus,
    pub(super) actions: Vec<ApplicationAction>,
    pub(super) store: Store<'p>,
    /// Writes that the pass does not see.
    pub(super) hidden: Vec<HiddenWrite>,
}

impl ArgoCd {
    /// Runs one pass of the ApplicationSet reconciler over all applications. If its changes queue another pass,
    /// [`Pass::wake_at`] is `now`.
    ///
    /// # Panics
    /// If the view does not have one entry for each name.
    pub fn reconcile(&mut self, now: SimTime, view: &[ApplicationView]) -> SetDecision {
        self.ledger = None;
        let pass = self.reconcile_changed(now, view, &TargetSet::default(), &mut |_| Some(now));
        self.ledger = None;
        pass
    }

    /// Runs one pass like [`Self::reconcile`], at a cost that depends on what changed. The caller guarantees that only
    /// applications in `changed` differ from those of the last such pass. The first pass, and a pass after a change of
    /// spec or labels, examines all applications. `store` performs the writes of the set's status. It returns the time
    /// at which a write is accepted, or `None` if the write is refused.
    ///
    /// # Panics
    /// If the view does not have one entry for each name.
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &[ApplicationView],
        changed: &TargetSet,
        store: Store<'_>,
    ) -> SetDecision {
        assert_eq!(
            view.len(),
            self.names.len(),
            "the view has one entry for each name"
        );
        #[cfg(test)]
        if self.ledger.is_some() && self.names.len() <= COMPARED_MAX {
            return self.decide_as_a_full_pass(now, view, changed, store);
        }
        self.decide(now, view, changed, store)
    }

    /// Makes a decision, and compares it with the decision of a full pass.
    #[cfg(test)]
    fn decide_as_a_full_pass(
        &mut self,
        now: SimTime,
        view: &[ApplicationView],
        changed: &TargetSet,
        store: Store<'_>,
    ) -> SetDecision {
        let mut full = self.clone();
        full.ledger = None;
        let mut answers = std::collections::VecDeque::new();
        let pass = self.decide(now, view, changed, &mut |write| {
            let answered = store(write);
            answers.push_back(answered);
            answered
        });
        let mut all = full.decide(now, view, &TargetSet::default(), &mut |_| {
            answers.pop_front().unwrap_or(Some(now))
        });
        all.status.requested.clone_from(&pass.status.requested);
        assert_eq!(
            pass, all,
            "a pass over the changed targets decides like a full pass"
        );
        assert_eq!(self.rows, full.rows, "and leaves the same rows");
        assert_eq!(self.allowed_steps, full.allowed_steps);
        assert_eq!(self.plan, full.plan);
        pass
    }

    fn decide(
        &mut self,
        now: SimTime,
        view: &[ApplicationView],
        changed: &TargetSet,
        store: Store<'_>,
    ) -> SetDecision {
        self.last_pass = now;
        let mut pass = match self.is_rolling() {
            // Without steps a pass does nothing; rows and the rollout's conditions are unchanged.
            Err(_) => {
                self.ledger = None;
                self.conditions.error = Some(ErrorOccurred::NoSteps);
                Pass {
                    actions: Vec::new(),
                    wake_at: None,
                    status: ApplicationSetStatus::default(),
                }
            }
            Ok(is_rolling) => self.pass(view, changed, is_rolling, store),
        };
        pass.status.rows = self.row_counts();
        pass.status.conditions = self.conditions;
        pass.status.requeue_after = self.requeue_after();
        pass.wake_at = if pass.status.rows_written || pass.status.objects_written {
            Some(now)
        } else if pass.status.failed {
            None
        } else {
            pass.status.requeue_after.map(|after| now + after)
        };
        pass
    }

    /// Takes the ledger out of the set. `None`: it does not cover everything that changed.
    fn take_ledger(&mut self, view: &[ApplicationView], changed: &TargetSet) -> Option<SetLedger> {
        let ledger = self.ledger.take()?;
        let is_known = match &self.labels {
            None => ledger.with_row.is_empty(),
            Some(labels) => changed.iter().all(|index| {
                view[index as usize].generated_labels() == labels[index as usize].as_ref()
            }),
        };
        (is_known && self.is_rolling() == Ok(self.labels.is_some())).then_some(ledger)
    }

    /// Creates the ledger of a full pass. If the set has no steps, removes the rows and the conditions of the rollout.
    fn new_ledger(
        &mut self,
        view: &[ApplicationView],
        is_rolling: bool,
        status: &mut ApplicationSetStatus,
        store: Store<'_>,
    ) -> SetLedger {
        let has_rows = self.rows.iter().any(Option::is_some);
        if is_rolling {
            let labels: Vec<Option<Arc<Labels>>> = view
                .iter()
                .map(|application| application.generated_labels().cloned())
                .collect();
            self.plan = Steps::new(self.spec.rolling_steps(), &labels);
            self.labels = Some(labels);
        } else if has_rows && store(SetWrite::Rows { is_new: true }).is_none() {
            status.failed = true;
        } else {
            status.rows_written = has_rows;
            self.rows.fill(None);
            self.plan = Steps::default();
            self.conditions.rollout = None;
            self.conditions.config = None;
            self.labels = None;
        }
        SetLedger::new(self, view)
    }

    fn pass(
        &mut self,
        view: &[ApplicationView],
        changed: &TargetSet,
        is_rolling: bool,
        store: Store<'_>,
    ) -> SetDecision {
        let mut status = ApplicationSetStatus::default();
        let ledger = match self.take_ledger(view, changed) {
            Some(ledger) => ledger,
            None => self.new_ledger(view, is_rolling, &mut status, store),
        };
        let mut pass = SetPass {
            now: self.last_pass,
            set: self,
            view,
            ledger,
            status,
            actions: Vec::new(),
            store,
            hidden: Vec::new(),
        };
        if is_rolling {
            pass.hide_writes();
        } else {
            pass.set.recent.clear();
        }
        pass.examine_changed(changed, is_rolling);
        pass.show_writes();
        let SetPass {
            ledger,
            status,
            actions,
            ..
        } = pass;
        self.ledger = Some(ledger);
        Pass {
            actions,
            wake_at: None,
            status,
        }
    }

    /// Returns the status of an application's row. `None`: no row.
    pub(super) fn row_status(&self, application: u32) -> Option<RolloutStatus> {
        Some(self.rows[application as usize].as_ref()?.status)
    }

    fn is_pending(&self, application: u32) -> bool {
        self.row_status(application) == Some(RolloutStatus::Pending)
    }

    /// Returns whether an application was in an open step in the last pass.
    pub(super) fn is_allowed(&self, index: usize) -> bool {
        self.plan.step_of[index].is_some_and(|step| (step as usize) < self.allowed_steps)
    }

    /// Returns the budget of each step, given its numbers of rows.
    fn budgets(&self, counts: &[StepRows]) -> Vec<StepBudget> {
        let mut budgets = Vec::new();
        for (step, rows) in self.spec.rolling_steps().iter().zip(counts) {
            let max_update = step.max_update.as_ref();
            budgets.push(StepBudget::new(max_update, rows.total, rows.updating));
        }
        budgets
    }

    /// Returns the number of rows that are Pending or Progressing, which budgets count as updating.
    pub fn updating(&self) -> usize {
        let counts = self.row_counts();
        counts[RolloutStatus::Pending as usize] + counts[RolloutStatus::Progressing as usize]
    }

    /// Returns the number of stored rows by status.
    pub(super) fn row_counts(&self) -> RowCounts {
        if let Some(ledger) = &self.ledger {
            return ledger.rows;
        }
        let mut counts = RowCounts::default();
        for row in self.rows.iter().flatten() {
            counts[row.status as usize] += 1;
        }
        counts
    }
}

impl SetPass<'_> {
    /// Examines the applications that changed or are not settled: updates their rows, and writes their objects. If a
    /// write is refused, the pass aborts, and the next one examines the same applications.
    fn examine_changed(&mut self, changed: &TargetSet, is_rolling: bool) {
        let mut to_examine: Vec<u32> = changed.iter().chain(self.ledger.unsettled.iter()).collect();
        to_examine.sort_unstable();
        to_examine.dedup();
        self.ledger.unsettled.clear();
        let examined = if self.status.failed {
            Err(RefusedWrite)
        } else if is_rolling {
            self.roll(&to_examine)
        } else {
            Ok(self.examine_without_steps(&to_examine))
        };
        match examined {
            Ok(examined) => self.write_objects(examined),
            Err(RefusedWrite) => {
                self.status.failed = true;
                for application in to_examine {
                    self.ledger.unsettled.insert(application);
                }
            }
        }
    }

    /// Examines applications of a set without steps: there are no rows to update, and no syncs to request.
    fn examine_without_steps(&mut self, to_examine: &[u32]) -> Vec<ExaminedApplication> {
        let mut examined = Vec::with_capacity(to_examine.len());
        for &application in to_examine {
            self.examine(application);
            examined.push(ExaminedApplication {
                index: application,
                requests_sync: false,
            });
        }
        self.set.report_invalid(&self.ledger);
        examined
    }

    /// Updates rows, opens steps and promotes rows. Returns the applications whose objects may be written.
    fn roll(&mut self, to_examine: &[u32]) -> Result<Vec<ExaminedApplication>, RefusedWrite> {
        let pending_since = self
            .ledger
            .barrier
            .as_ref()
            .and_then(BarrierLedger::pending_since);
        // Request a sync for a row that was Pending before the pass.
        let mut examined = Vec::with_capacity(to_examine.len());
        for &application in to_examine {
            examined.push(ExaminedApplication {
                index: application,
                requests_sync: self.set.is_pending(application),
            });
        }
        let is_updated = self.update_rows(to_examine)?;
        self.status.budgets = self.set.budgets(&self.ledger.step_rows);
        self.open_steps(pending_since);
        self.add_idle(to_examine, &mut examined);
        if self.status.barrier.is_none() {
            self.promote()?;
            self.report_rollout();
        }
        self.status.rows_written = is_updated || !self.status.promoted.is_empty();
        // The pass works on a copy of the set's status, and triggers syncs from the original. After writing a new
        // error, the pass reads the set again, and then triggers from the status that it has just stored.
        let has_new_error = self.set.report_invalid(&self.ledger);
        if has_new_error || self.set.options.trigger_once {
            self.request_by_new_rows(&mut examined);
        }
        self.ask_for_comparisons();
        examined.sort_unstable();
        examined.dedup_by_key(|application| application.index);
        for application in &mut examined {
            application.requests_sync &= self.set.is_allowed(application.index as usize);
        }
        Ok(examined)
    }

    /// Opens steps, beginning with the first, unless there is a barrier. `pending_since`: time of the last pending
    /// change before the pass.
    fn open_steps(&mut self, pending_since: Option<SimTime>) {
        self.status.barrier = match &self.ledger.barrier {
            Some(barrier) => self.set.barrier(self.now, pending_since, barrier),
            None => None,
        };
        self.set.allowed_steps = 0;
        if self.status.barrier.is_none() {
            self.set.allowed_steps = self.ledger.open_steps();
            self.status.open_steps = self.set.allowed_steps;
        }
    }

    /// Adds the applications of open steps whose rows were Pending before the pass and still are Pending. Rows that
    /// have just left Pending are examined anyway.
    fn add_idle(&self, to_examine: &[u32], examined: &mut Vec<ExaminedApplication>) {
        if !self.set.spec.may_update() {
            return;
        }
        for application in self.ledger.idle(self.set.allowed_steps) {
            if to_examine.binary_search(&application).is_err() {
                examined.push(ExaminedApplication {
                    index: application,
                    requests_sync: true,
                });
            }
        }
    }

    /// Requests the syncs of the rows that are Pending after the pass instead of before it.
    fn request_by_new_rows(&self, examined: &mut Vec<ExaminedApplication>) {
        for (target, _) in &self.status.promoted {
            examined.push(ExaminedApplication {
                index: target.0,
                requests_sync: true,
            });
        }
        for application in examined {
            application.requests_sync = self.set.is_pending(application.index);
        }
    }

    /// Requests a comparison of applications that are behind, unless this was already requested.
    fn ask_for_comparisons(&mut self) {
        let Some(Barrier::Behind(unasked)) = &self.status.barrier else {
            return;
        };
        self.status.objects_written |= !unasked.is_empty();
        for target in unasked {
            self.actions.push(ApplicationAction::Refresh(*target));
        }
    }

    /// Updates the rows (`UpdateApplicationSetApplicationStatus`). Returns whether they are written, all or none. A
    /// change of only revisions or times does not cause a write.
    fn update_rows(&mut self, to_examine: &[u32]) -> Result<bool, RefusedWrite> {
        let now = stored(self.now);
        let mut new_rows: Vec<(u32, Option<ApplicationStatus>)> = Vec::new();
        let mut is_written = false;
        for &index in to_examine {
            let application = &self.view[index as usize];
            let new = self.set.updated_row(now, index as usize, application);
            let old = self.set.rows[index as usize].as_ref();
            is_written |= match (old, &new) {
                (Some(old), Some(new)) => new.is_worth_writing_over(old),
                (old, new) => old.is_some() || new.is_some(),
            };
            let is_changed = old != new.as_ref();
            // A row that changed within this second may change again in the next.
            let may_turn_again = new
                .as_ref()
                .is_some_and(|new| new.last_transition_time == now);
            if is_changed || may_turn_again {
                self.ledger.unsettled.insert(index);
            }
            if is_changed {
                new_rows.push((index, new));
            }
        }
        if is_written {
            let mut before = Rows::new();
            for (index, new) in new_rows {
                before.insert(index, self.replace_row(index, new));
            }
            self.write_rows(before)?;
        }
        for &index in to_examine {
            self.examine(index);
        }
        Ok(is_written)
    }

    /// Promotes as many Waiting rows of each open step as its budget allows, in the order of all names
    /// (`UpdateApplicationSetApplicationStatusProgress`). An application need not be OutOfSync.
    fn promote(&mut self) -> Result<(), RefusedWrite> {
        let mut before = Rows::new();
        for step in 0..self.status.budgets.len() {
            let mut place = self.ledger.first_places[step];
            if step < self.set.allowed_steps {
                place = self.promote_step(step, &mut before);
            }
            // Process the rows after the last promoted one.
            if self.ledger.has_row_from(step, place) {
                self.status.budgets[step].turn(false);
            }
        }
        self.status
            .promoted
            .sort_by_key(|(target, _)| &self.set.names[target.index()]);
        if before.is_empty() {
            return Ok(());
        }
        // All rows are written in one request.
        self.write_rows(before)
    }

    /// Promotes Waiting rows of a step while its budget has room. Stores the previous rows in `before`, and returns
    /// the position after the last promoted row.
    fn promote_step(&mut self, step: usize, before: &mut Rows) -> u32 {
        let mut place = self.ledger.first_places[step];
        while let Some(waiting) = self.ledger.waiting_from(step, place) {
            if !self.status.budgets[step].turn(true) {
                break;
            }
            place = waiting + 1;
            let application = self.ledger.application_at(waiting);
            let mut row = self.set.rows[application as usize]
                .clone()
                .expect("a row waits");
            self.status
                .promoted
                .push((TargetId(application), row.message));
            row.turn(RolloutStatus::Pending, Message::Promoted, stored(self.now));
            before.insert(application, self.replace_row(application, Some(row)));
            self.examine(application);
            self.ledger.unsettled.insert(application);
        }
        place
    }

    /// Sets the conditions of a rollout that has reached this step (`getProgressingCondition`,
    /// `getInvalidRolloutConfig`), unless their write is refused.
    fn report_rollout(&mut self) {
        let rollout = match self.ledger.first_unfinished() {
            Some(step) => Rollout::Progressing(step),
            None => Rollout::Complete,
        };
        let mut budgets = self.status.budgets.iter();
        let is_max_update_unreadable = budgets.any(|budget| budget.is_unreadable);
        let config = match self.set.plan.issues.reported(is_max_update_unreadable) {
            Some(issue) => RolloutConfig::Invalid(issue),
            None => RolloutConfig::Valid,
        };
        if self.set.conditions.has_rollout(rollout, config) {
            return;
        }
        let is_new = !self.stored_conditions().has_rollout(rollout, config);
        let Some(answered) = (self.store)(SetWrite::Conditions { is_new }) else {
            return;
        };
        let conditions = SetConditions {
            rollout: Some(rollout),
            config: Some(config),
            ..self.stored_conditions()
        };
        self.write_conditions(answered, is_new, conditions);
    }

    /// Replaces a row, and returns the previous one.
    pub(super) fn replace_row(
        &mut self,
        index: u32,
        row: Option<ApplicationStatus>,
    ) -> Option<ApplicationStatus> {
        let old = std::mem::replace(&mut self.set.rows[index as usize], row);
        self.ledger.row_changes(self.set, index, old.as_ref());
        old
    }

    pub(super) fn examine(&mut self, index: u32) {
        self.ledger
            .examine(self.set, index, &self.view[index as usize]);
    }
}
