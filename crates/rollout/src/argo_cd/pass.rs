//! One pass of the ApplicationSet reconciler: rows are updated, steps open, rows are promoted, objects are written.
//!
//! Follows `Reconcile` and `setAppSetApplicationStatus` in `applicationset/controllers/applicationset_controller.go`,
//! and `PerformProgressiveSyncs` in `applicationset/progressivesync/progressive_sync.go`.
//!
//! A row's update depends on the row, the application's object and what is generated for it. If none of these changed
//! since a look that changed nothing, another look changes nothing. So a pass looks at the applications that its caller
//! names and at those of which the last look changed or wrote something, and takes everything else from the
//! [`SetLedger`]. A pass over all builds the ledger first. In tests, each pass over few applications of a small set is
//! compared with one over all.

use std::sync::Arc;

use super::super::{Pass, TargetId, TargetSet, stored};
use super::barrier::{Barrier, BarrierLedger};
use super::ledger::SetLedger;
use super::limit::StepBudget;
use super::recent::{HiddenWrite, Rows};
use super::row::{ApplicationStatus, Message, RolloutStatus};
use super::status::{ErrorOccurred, Rollout, RolloutConfig, RowCounts, SetConditions};
use super::steps::Steps;
use super::view::ApplicationView;
use super::{ApplicationAction, ApplicationSetStatus, ArgoCd, SetDecision};
use fleetsim_units::SimTime;

/// Applications of the largest set whose passes tests compare with passes over all.
#[cfg(test)]
const COMPARED_MAX: usize = 100;

/// An application that a pass looks at, and whether its row was Pending before.
type Looked = (u32, bool);

/// A write of the set's status in mid-pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetWrite {
    /// Rows. A pass whose write is refused gives up.
    Rows {
        /// Whether they differ from those that the API server has.
        is_new: bool,
    },
    /// Conditions of the rollout. A refused write is logged, and the pass goes on.
    Conditions {
        /// Whether they differ from those that the API server has.
        is_new: bool,
    },
}

impl SetWrite {
    /// Whether it differs from what the API server has. A write of the same changes nothing, not even the version of
    /// the set.
    pub const fn is_new(self) -> bool {
        match self {
            Self::Rows { is_new } | Self::Conditions { is_new } => is_new,
        }
    }
}

/// The API server has refused a write of rows; the pass gives up, and nothing has changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct RefusedWrite;

/// Carries out a write of the set's status. Returns when the API server has accepted it, if it has.
pub(super) type Store<'s> = &'s mut dyn FnMut(SetWrite) -> Option<SimTime>;

/// A pass over a set.
pub(super) struct SetPass<'p> {
    pub(super) set: &'p mut ArgoCd,
    now: SimTime,
    pub(super) view: &'p [ApplicationView],
    /// Taken out of the set while the pass uses it.
    pub(super) ledger: SetLedger,
    pub(super) status: ApplicationSetStatus,
    pub(super) actions: Vec<ApplicationAction>,
    pub(super) store: Store<'p>,
    /// Writes that the pass does not see.
    pub(super) hidden: Vec<HiddenWrite>,
}

impl ArgoCd {
    /// One pass of the ApplicationSet reconciler over all applications. It is due again immediately ([`Pass::wake_at`]
    /// is `now`) when its changes queue a pass.
    ///
    /// # Panics
    /// If the view does not have one entry for each name.
    pub fn reconcile(&mut self, now: SimTime, view: &[ApplicationView]) -> SetDecision {
        self.ledger = None;
        let pass = self.reconcile_changed(now, view, &TargetSet::default(), &mut |_| Some(now));
        self.ledger = None;
        pass
    }

    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only applications in
    /// `changed` differ from those of the last such pass. The first pass, and one after a change of spec or labels,
    /// looks at all. `store` carries out the writes of the set's status, each with whether the API server has something
    /// else, and says when it is accepted, if it is.
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
        let before =
            (self.ledger.is_some() && self.names.len() <= COMPARED_MAX).then(|| self.clone());
        #[cfg(test)]
        let mut answers = std::collections::VecDeque::new();
        #[cfg(test)]
        let store = &mut |write| {
            answers.push_back(store(write));
            answers[answers.len() - 1]
        };
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
            Ok(_) => self.pass(now, view, changed, store),
        };
        pass.status.rows = self.row_counts();
        pass.status.conditions = self.conditions;
        pass.status.requeue_after = self.requeue_after();
        let is_queued = pass.status.rows_written || pass.status.objects_written;
        let requeued = pass.status.requeue_after.map(|after| now + after);
        pass.wake_at = if is_queued {
            Some(now)
        } else {
            requeued.filter(|_| !pass.status.failed)
        };
        #[cfg(test)]
        if let Some(mut full) = before {
            full.ledger = None;
            let mut answer = |_| answers.pop_front().unwrap_or(Some(now));
            let mut all = full.reconcile_changed(now, view, &TargetSet::default(), &mut answer);
            all.status.requested.clone_from(&pass.status.requested);
            assert_eq!(
                pass, all,
                "a pass over what changed decides as a pass over all"
            );
            assert_eq!(self.rows, full.rows, "and leaves the same rows");
            assert_eq!(
                (self.allowed_steps, &self.plan),
                (full.allowed_steps, &full.plan)
            );
        }
        pass
    }

    /// The ledger, if it covers everything that changed.
    fn take_ledger(&mut self, view: &[ApplicationView], changed: &TargetSet) -> Option<SetLedger> {
        let ledger = self.ledger.take()?;
        let is_known = match &self.labels {
            None => ledger.with_row.is_empty(),
            Some(labels) => changed.iter().all(|index| {
                let generated = view[index as usize].generated.as_ref();
                generated.map(|generated| &generated.labels) == labels[index as usize].as_ref()
            }),
        };
        (is_known && self.is_rolling() == Ok(self.labels.is_some())).then_some(ledger)
    }

    /// The ledger of a pass over all. Without steps to roll in, rows and the rollout's conditions are removed.
    fn new_ledger(
        &mut self,
        view: &[ApplicationView],
        is_rolling: bool,
        status: &mut ApplicationSetStatus,
        store: Store<'_>,
    ) -> SetLedger {
        let has_rows = self.rows.iter().any(Option::is_some);
        if is_rolling {
            let labels = |view: &ApplicationView| {
                view.generated
                    .as_ref()
                    .map(|generated| Arc::clone(&generated.labels))
            };
            let labels: Vec<_> = view.iter().map(labels).collect();
            self.plan = Steps::new(
                self.spec.steps().ok().flatten().unwrap_or_default(),
                &labels,
            );
            self.labels = Some(labels);
        } else if has_rows && store(SetWrite::Rows { is_new: true }).is_none() {
            status.failed = true;
        } else {
            status.rows_written = has_rows;
            self.rows.fill(None);
            (self.plan, self.conditions.rollout, self.conditions.config) =
                (Steps::default(), None, None);
            self.labels = None;
        }
        SetLedger::new(self, view)
    }

    fn pass(
        &mut self,
        now: SimTime,
        view: &[ApplicationView],
        changed: &TargetSet,
        store: Store<'_>,
    ) -> SetDecision {
        let (is_rolling, mut status) = (
            self.is_rolling() == Ok(true),
            ApplicationSetStatus::default(),
        );
        let ledger = self.take_ledger(view, changed);
        let ledger =
            ledger.unwrap_or_else(|| self.new_ledger(view, is_rolling, &mut status, store));
        let (actions, hidden) = (Vec::new(), Vec::new());
        let mut pass = SetPass {
            set: self,
            now,
            view,
            ledger,
            status,
            actions,
            store,
            hidden,
        };
        if is_rolling {
            pass.hide_writes();
        } else {
            pass.set.recent.clear();
        }
        let mut looked_at: Vec<u32> = changed.iter().chain(pass.ledger.unsettled.iter()).collect();
        looked_at.sort_unstable();
        looked_at.dedup();
        pass.ledger.unsettled.clear();
        let looked = if pass.status.failed {
            Err(RefusedWrite)
        } else if is_rolling {
            pass.roll(&looked_at)
        } else {
            looked_at.iter().for_each(|&index| pass.examine(index));
            pass.set.report_invalid(&pass.ledger);
            Ok(looked_at.iter().map(|&index| (index, false)).collect())
        };
        if let Ok(looked) = looked {
            pass.write_objects(looked);
        } else {
            pass.status.failed = true;
            looked_at
                .into_iter()
                .for_each(|index| _ = pass.ledger.unsettled.insert(index));
        }
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

    fn is_pending(&self, index: u32) -> bool {
        self.rows[index as usize]
            .as_ref()
            .is_some_and(|row| row.status == RolloutStatus::Pending)
    }

    /// Whether an application was in an open step in the last pass.
    pub(super) fn is_allowed(&self, index: usize) -> bool {
        self.plan.step_of[index].is_some_and(|step| (step as usize) < self.allowed_steps)
    }

    /// The budgets of the steps with these rows, and those of them that are updating.
    fn budgets(&self, counts: &[(usize, usize)]) -> Vec<StepBudget> {
        let steps = self
            .spec
            .steps()
            .ok()
            .flatten()
            .unwrap_or_default()
            .iter()
            .zip(counts);
        steps
            .map(|(step, (total, updating))| {
                StepBudget::new(step.max_update.as_ref(), *total, *updating)
            })
            .collect()
    }

    /// Rows that are on their way, which is what a budget counts.
    pub fn updating(&self) -> usize {
        let counts = self.row_counts();
        counts[RolloutStatus::Pending as usize] + counts[RolloutStatus::Progressing as usize]
    }

    /// The stored rows by status.
    pub(super) fn row_counts(&self) -> RowCounts {
        let count = |status| {
            self.rows
                .iter()
                .flatten()
                .filter(|row| row.status == status)
                .count()
        };
        self.ledger
            .as_ref()
            .map_or_else(|| RolloutStatus::ALL.map(count), |ledger| ledger.rows)
    }
}

impl SetPass<'_> {
    /// Updates, opens and promotes. Returns the applications whose objects may be written, each with whether its sync
    /// is requested.
    fn roll(&mut self, looked_at: &[u32]) -> Result<Vec<Looked>, RefusedWrite> {
        let pending_since = self
            .ledger
            .barrier
            .as_ref()
            .and_then(BarrierLedger::pending_since);
        let mut looked: Vec<Looked> = looked_at
            .iter()
            .map(|&index| (index, self.set.is_pending(index)))
            .collect();
        let is_updated = self.update_rows(looked_at)?;
        self.status.budgets = self.set.budgets(&self.ledger.counted);
        let barrier = self.ledger.barrier.as_ref();
        self.status.barrier =
            barrier.and_then(|barrier| self.set.barrier(self.now, pending_since, barrier));
        self.set.allowed_steps = 0;
        if self.status.barrier.is_none() {
            self.set.allowed_steps = self.ledger.open_steps();
            self.status.open_steps = self.set.allowed_steps;
        }
        // Rows Pending all along; those that have just left it are among those looked at.
        let open = if self.set.spec.may_update() {
            self.set.allowed_steps
        } else {
            0
        };
        let idle = self
            .ledger
            .idle(open)
            .filter(|index| looked_at.binary_search(index).is_err());
        looked.extend(idle.map(|index| (index, true)));
        if self.status.barrier.is_none() {
            self.promote()?;
            self.report_rollout();
        }
        let status = &mut self.status;
        status.rows_written = is_updated || !status.promoted.is_empty();
        // The pass works on a copy of the set's status, and triggers syncs by the original. If it has written a new
        // error it reads the set again, and so triggers by the status it has just stored.
        if self.set.report_invalid(&self.ledger) || self.set.options.trigger_once {
            looked.extend(status.promoted.iter().map(|(target, _)| (target.0, true)));
            looked
                .iter_mut()
                .for_each(|(index, was_pending)| *was_pending = self.set.is_pending(*index));
        }
        // Applications that are behind, and were not asked for a comparison yet, are asked for it.
        if let Some(Barrier::Behind(unasked)) = &status.barrier {
            status.objects_written |= !unasked.is_empty();
            self.actions.extend(
                unasked
                    .iter()
                    .map(|target| ApplicationAction::Refresh(*target)),
            );
        }
        looked.sort_unstable();
        looked.dedup_by_key(|(index, _)| *index);
        looked
            .iter_mut()
            .for_each(|(index, was_pending)| *was_pending &= self.set.is_allowed(*index as usize));
        Ok(looked)
    }

    /// The update of rows (`UpdateApplicationSetApplicationStatus`). True: they are written, all or none; a change of
    /// only revisions or times is no reason.
    fn update_rows(&mut self, looked_at: &[u32]) -> Result<bool, RefusedWrite> {
        let now = stored(self.now);
        let mut new_rows: Vec<(u32, Option<ApplicationStatus>)> = Vec::new();
        let mut is_written = false;
        for &index in looked_at {
            let application = &self.view[index as usize];
            let new = self.set.updated_row(now, index as usize, application);
            let old = self.set.rows[index as usize].as_ref();
            is_written |= match (old, &new) {
                (Some(old), Some(new)) => new.is_worth_writing_over(old),
                (old, new) => old.is_some() || new.is_some(),
            };
            // A row that was turned within this second may turn again in the next.
            if old != new.as_ref()
                || new
                    .as_ref()
                    .is_some_and(|new| new.last_transition_time == now)
            {
                self.ledger.unsettled.insert(index);
            }
            if old != new.as_ref() {
                new_rows.push((index, new));
            }
        }
        if is_written {
            let before = new_rows
                .into_iter()
                .map(|(index, new)| (index, self.replace_row(index, new)))
                .collect();
            self.write_rows(before)?;
        }
        looked_at.iter().for_each(|&index| self.examine(index));
        Ok(is_written)
    }

    /// Promotes as many Waiting rows of each open step as its budget has room for, by name, in the order of all names
    /// (`UpdateApplicationSetApplicationStatusProgress`). An application need not be OutOfSync.
    fn promote(&mut self) -> Result<(), RefusedWrite> {
        let mut before = Rows::new();
        for step in 0..self.status.budgets.len() {
            let mut place = self.ledger.first_places[step];
            let is_open = step < self.set.allowed_steps;
            while let Some((at, application)) =
                self.ledger.waiting_from(step, place).filter(|_| is_open)
            {
                if !self.status.budgets[step].turn(true) {
                    break;
                }
                place = at + 1;
                let mut row = self.set.rows[application as usize]
                    .clone()
                    .expect("a row waits");
                self.status
                    .promoted
                    .push((TargetId(application), row.message));
                row.turn(RolloutStatus::Pending, Message::Promoted, stored(self.now));
                let waiting = self.replace_row(application, Some(row));
                before.insert(application, waiting);
                self.examine(application);
                self.ledger.unsettled.insert(application);
            }
            // The turn of the rows behind the last promoted one.
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
        // The rows are written together.
        self.write_rows(before)
    }

    /// Sets the conditions of a rollout that has reached this step (`getProgressingCondition`,
    /// `getInvalidRolloutConfig`), unless their write is refused.
    fn report_rollout(&mut self) {
        let rollout = Some(
            self.ledger
                .first_unfinished()
                .map_or(Rollout::Complete, Rollout::Progressing),
        );
        let issue = self.set.plan.issues.reported(
            self.status
                .budgets
                .iter()
                .any(|budget| budget.is_unreadable),
        );
        let config = Some(issue.map_or(RolloutConfig::Valid, RolloutConfig::Invalid));
        let is_other = |conditions: SetConditions| {
            (rollout, config) != (conditions.rollout, conditions.config)
        };
        let is_new = is_other(self.stored_conditions());
        if is_other(self.set.conditions)
            && let Some(answered) = (self.store)(SetWrite::Conditions { is_new })
        {
            self.write_conditions(
                answered,
                is_new,
                SetConditions {
                    rollout,
                    config,
                    ..self.stored_conditions()
                },
            );
        }
    }

    /// Puts a row in place of another one, which is returned.
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
