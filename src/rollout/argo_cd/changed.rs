//! A pass that looks only at applications that changed, and decides as a pass over all of them.
//!
//! A row's update depends on the row, the application's object and what is generated for it. If none of these changed
//! since a look that changed nothing, another look changes nothing. So a pass looks at the applications that its caller
//! names and at those of which the last look changed or wrote something, and takes everything else from the
//! [`SetLedger`]. In builds with debug assertions each pass over a small set is checked against [`ArgoCd::reconcile`].

use super::super::{Pass, TargetId, TargetSet, stored};
use super::barrier::Barrier;
use super::ledger::SetLedger;
use super::limit::StepBudget;
use super::row::{ApplicationStatus, Message, RolloutStatus};
use super::status::RowCounts;
use super::steps::Steps;
use super::view::ApplicationSetView;
use super::{ApplicationAction, ApplicationSetStatus, ArgoCd, refreshes};
use crate::units::SimTime;

/// Applications of the largest set whose passes are checked in builds with debug assertions.
const CHECKED: usize = 64;

/// An application of this pass: its index, and whether its row was Pending before.
type Looked = (u32, bool);

impl ArgoCd {
    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only applications in
    /// `changed` differ from those of the last pass. The first pass, and one after a change of spec or labels, looks at
    /// all.
    ///
    /// Of [`ApplicationSetStatus::requested`] it lists only those that start a sync.
    ///
    /// # Panics
    /// If the view does not have one entry for each name.
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &ApplicationSetView,
        changed: &TargetSet,
    ) -> Pass<ApplicationAction, ApplicationSetStatus> {
        let oracle = (cfg!(debug_assertions) && self.names.len() <= CHECKED).then(|| self.clone());
        let pass = match self.take_ledger(view, changed) {
            Some(ledger) => self.pass_of_changed(now, view, changed, ledger),
            None => {
                let mut pass = self.reconcile(now, view);
                keep_started(&mut pass);
                if !view.deleted && self.is_rolling().is_ok() {
                    let has_barrier = self.options.version.has_barrier();
                    let by_name = &self.by_name;
                    self.ledger =
                        Some(SetLedger::new(&self.plan, by_name, &self.rows, &view.applications, has_barrier));
                }
                pass
            }
        };
        if let Some(mut oracle) = oracle {
            let mut full = oracle.reconcile(now, view);
            keep_started(&mut full);
            assert_eq!(pass, full, "a pass over what changed decides as a pass over all");
            assert_eq!(self.rows, oracle.rows, "and leaves the same rows");
            assert_eq!((self.allowed_steps, &self.plan), (oracle.allowed_steps, &oracle.plan));
        }
        pass
    }

    /// Rows that are on their way, which is what a budget counts.
    #[must_use]
    pub fn updating(&self) -> usize {
        let counts = self.row_counts();
        counts.pending + counts.progressing
    }

    /// The stored rows by status.
    pub(super) fn row_counts(&self) -> RowCounts {
        self.ledger.as_ref().map_or_else(|| self.counts(), |ledger| ledger.rows)
    }

    /// The ledger, if it covers everything that changed.
    fn take_ledger(&mut self, view: &ApplicationSetView, changed: &TargetSet) -> Option<SetLedger> {
        assert_eq!(view.applications.len(), self.names.len(), "the view has one entry for each name");
        let ledger = self.ledger.take()?;
        let is_known = match &self.labels {
            None => ledger.has_no_rows(),
            Some(labels) => changed.iter().all(|index| {
                let generated = view.applications[index as usize].generated.as_ref();
                generated.map(|generated| &generated.labels) == labels[index as usize].as_ref()
            }),
        };
        (is_known && !view.deleted && self.is_rolling() == Ok(self.labels.is_some())).then_some(ledger)
    }

    fn pass_of_changed(
        &mut self,
        now: SimTime,
        view: &ApplicationSetView,
        changed: &TargetSet,
        mut ledger: SetLedger,
    ) -> Pass<ApplicationAction, ApplicationSetStatus> {
        self.last_pass = now;
        let mut looked_at: Vec<u32> = changed.iter().chain(ledger.unsettled.iter()).collect();
        looked_at.sort_unstable();
        looked_at.dedup();
        ledger.unsettled.clear();
        let mut pass = if self.labels.is_some() {
            self.rolling_changed(now, view, &looked_at, &mut ledger)
        } else {
            self.all_at_once_changed(view, &looked_at, &mut ledger)
        };
        pass.status.rows = ledger.rows;
        self.ledger = Some(ledger);
        self.conclude(now, view, &mut pass);
        pass
    }

    fn all_at_once_changed(
        &mut self,
        view: &ApplicationSetView,
        looked_at: &[u32],
        ledger: &mut SetLedger,
    ) -> Pass<ApplicationAction, ApplicationSetStatus> {
        let mut status = ApplicationSetStatus::default();
        for &index in looked_at {
            ledger.examine(&self.plan, index, None, &view.applications[index as usize]);
        }
        self.report_invalid(ledger.invalid.next(0), ledger.invalid.len());
        let looked_at = looked_at.iter().map(|&index| (index, false));
        let actions = self.write_changed(view, looked_at, ledger, &mut status);
        Pass { actions, wake_at: None, status }
    }

    fn rolling_changed(
        &mut self,
        now: SimTime,
        view: &ApplicationSetView,
        looked_at: &[u32],
        ledger: &mut SetLedger,
    ) -> Pass<ApplicationAction, ApplicationSetStatus> {
        let plan = std::mem::take(&mut self.plan);
        let pending_since = ledger.barrier.as_ref().and_then(super::ledger::BarrierLedger::pending_since);
        let was_pending = |set: &Self, index: u32| (index, set.is_pending(index));
        let mut looked: Vec<Looked> = looked_at.iter().map(|&index| was_pending(self, index)).collect();
        let is_updated = self.update_changed(stored(now), view, &plan, looked_at, ledger);
        let mut budgets = self.budgets_of(ledger.counted.clone());
        let barrier = self.barrier_changed(now, pending_since, ledger);
        self.allowed_steps = if barrier.is_none() { ledger.open_steps() } else { 0 };
        // Rows Pending all along; those that have just left it are among those looked at.
        let open = if self.may_update() { self.allowed_steps } else { 0 };
        let idle = ledger.idle(open).filter(|index| looked_at.binary_search(index).is_err());
        looked.extend(idle.map(|index| (index, true)));
        let promoted = if barrier.is_none() {
            self.promote_waiting(stored(now), view, &plan, &mut budgets, ledger)
        } else {
            Vec::new()
        };
        let conditions = (self.conditions.rollout, self.conditions.config);
        if barrier.is_none() {
            self.report_rollout(ledger.first_unfinished(), &plan, &budgets);
        }
        if self.report_invalid(ledger.invalid.next(0), ledger.invalid.len()) || self.options.trigger_once {
            looked.extend(promoted.iter().map(|(target, _)| (target.0, true)));
            looked.iter_mut().for_each(|(index, was_pending)| *was_pending = self.is_pending(*index));
        }
        looked.sort_unstable();
        looked.dedup_by_key(|(index, _)| *index);
        let row_writes = usize::from(is_updated) + usize::from(!promoted.is_empty());
        let mut status = ApplicationSetStatus {
            budgets,
            promoted,
            open_steps: self.allowed_steps,
            rows_written: row_writes > 0,
            row_writes,
            conditions_written: conditions != (self.conditions.rollout, self.conditions.config),
            barrier,
            ..ApplicationSetStatus::default()
        };
        let mut actions = refreshes(&mut status);
        let looked = looked.into_iter().map(|(index, was)| (index, was && self.is_allowed(&plan, index as usize)));
        actions.extend(self.write_changed(view, looked, ledger, &mut status));
        self.plan = plan;
        Pass { actions, wake_at: None, status }
    }

    fn is_pending(&self, index: u32) -> bool {
        self.rows[index as usize].as_ref().is_some_and(|row| row.status == RolloutStatus::Pending)
    }

    /// The update of rows. True: they are written, all or none.
    fn update_changed(
        &mut self,
        now: SimTime,
        view: &ApplicationSetView,
        plan: &Steps,
        looked_at: &[u32],
        ledger: &mut SetLedger,
    ) -> bool {
        let mut new_rows: Vec<(u32, Option<ApplicationStatus>)> = Vec::new();
        let mut is_written = false;
        for &index in looked_at {
            let new = self.updated_row(now, index as usize, &view.applications[index as usize], plan);
            let old = self.rows[index as usize].as_ref();
            is_written |= match (old, &new) {
                (Some(old), Some(new)) => new.is_worth_writing_over(old),
                (old, new) => old.is_some() || new.is_some(),
            };
            // A row that was turned within this second may turn again in the next.
            if old != new.as_ref() || new.as_ref().is_some_and(|new| new.last_transition_time == now) {
                ledger.unsettled.insert(index);
            }
            if old != new.as_ref() {
                new_rows.push((index, new));
            }
        }
        if is_written {
            for (index, new) in new_rows {
                ledger.row_changes(plan, index, self.rows[index as usize].as_ref(), new.as_ref());
                self.rows[index as usize] = new;
            }
        }
        for &index in looked_at {
            ledger.examine(plan, index, self.rows[index as usize].as_ref(), &view.applications[index as usize]);
        }
        is_written
    }

    /// As [`Self::barrier`], of the ledger.
    fn barrier_changed(&self, now: SimTime, before: Option<SimTime>, ledger: &SetLedger) -> Option<Barrier> {
        let barrier = ledger.barrier.as_ref()?;
        let since = before.or_else(|| barrier.pending_since())?;
        if now < since + self.options.refresh_grace_period {
            return Some(Barrier::GracePeriod);
        }
        barrier.behind(since).map(Barrier::Behind)
    }

    /// Promotes as many Waiting rows of each open step as its budget has room for, by name, in the order of all names.
    fn promote_waiting(
        &mut self,
        now: SimTime,
        view: &ApplicationSetView,
        plan: &Steps,
        budgets: &mut [StepBudget],
        ledger: &mut SetLedger,
    ) -> Vec<(TargetId, Message)> {
        let mut promoted = Vec::new();
        for (step, budget) in budgets.iter_mut().enumerate() {
            let mut place = ledger.first_place(step);
            let is_open = step < self.allowed_steps;
            while let Some((at, application)) = ledger.waiting_from(step, place).filter(|_| is_open) {
                if !budget.turn(true) {
                    break;
                }
                place = at + 1;
                let old = self.rows[application as usize].clone().expect("a row waits");
                let mut new = old.clone();
                new.promote(now);
                ledger.row_changes(plan, application, Some(&old), Some(&new));
                promoted.push((TargetId(application), old.message));
                ledger.examine(plan, application, Some(&new), &view.applications[application as usize]);
                ledger.unsettled.insert(application);
                self.rows[application as usize] = Some(new);
            }
            // The turn of the rows behind the last promoted one.
            if ledger.has_row_from(step, place) {
                budget.turn(false);
            }
        }
        promoted.sort_by(|(a, _), (b, _)| self.names[a.index()].cmp(&self.names[b.index()]));
        promoted
    }

    /// Writes the objects of these applications, each with whether its sync is requested.
    fn write_changed(
        &self,
        view: &ApplicationSetView,
        looked: impl Iterator<Item = (u32, bool)> + Clone,
        ledger: &mut SetLedger,
        status: &mut ApplicationSetStatus,
    ) -> Vec<ApplicationAction> {
        let mut actions = Vec::new();
        for (index, is_requested) in looked.clone() {
            let known = actions.len();
            self.write_object(TargetId(index), &view.applications[index as usize], is_requested, status, &mut actions);
            if actions.len() > known {
                ledger.unsettled.insert(index);
            }
            if matches!(actions[known..].last(), Some(ApplicationAction::Deploy(..))) {
                status.requested.push(TargetId(index));
            }
        }
        for (index, _) in looked {
            let known = actions.len();
            self.delete_orphan(TargetId(index), &view.applications[index as usize], status, &mut actions);
            if actions.len() > known {
                ledger.unsettled.insert(index);
            }
        }
        actions
    }
}

/// Leaves only requests that start a sync in the status.
fn keep_started(pass: &mut Pass<ApplicationAction, ApplicationSetStatus>) {
    let starts = |action: &ApplicationAction| match action {
        ApplicationAction::Deploy(target, _) => Some(*target),
        _ => None,
    };
    pass.status.requested = pass.actions.iter().filter_map(starts).collect();
}
