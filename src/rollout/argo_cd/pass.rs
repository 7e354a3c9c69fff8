//! One pass over all rows of a rolling set: update, open steps, promotion.
//!
//! Follows `PerformProgressiveSyncs` in `applicationset/progressivesync/progressive_sync.go` and
//! `setAppSetApplicationStatus` in `applicationset/controllers/applicationset_controller.go`.

use super::super::{TargetId, cost, stored};
use super::barrier::Barrier;
use super::limit::StepBudget;
use super::row::{self, ApplicationStatus, Message, Observed, RolloutStatus};
use super::steps::Steps;
use super::view::{ApplicationSetView, ApplicationView};
use super::{ArgoCd, status};
use crate::units::SimTime;

/// The result of a pass over the rows.
pub(super) struct Rolled {
    /// Number of steps, from the first, that may sync.
    pub open_steps: usize,
    pub budgets: Vec<StepBudget>,
    /// Promoted rows, with the message that they had before.
    pub promoted: Vec<(TargetId, Message)>,
    /// How often the rows were written.
    pub row_writes: usize,
    /// Why nothing was promoted, if there was a barrier.
    pub barrier: Option<Barrier>,
}

impl ArgoCd {
    /// `plan` is taken out of `self` while it is used.
    pub(super) fn roll(&mut self, now: SimTime, view: &ApplicationSetView, plan: &Steps) -> Rolled {
        let pending_since = self.pending_since();
        let mut row_writes = usize::from(self.update_rows(stored(now), view, plan));
        let mut budgets = self.budgets(plan);
        let barrier = self.barrier(now, pending_since, view);
        let mut open_steps = 0;
        let mut promoted = Vec::new();
        self.allowed_steps = 0;
        if barrier.is_none() {
            open_steps = self.open_steps(view, plan);
            self.allowed_steps = open_steps;
            promoted = self.promote(stored(now), plan, &mut budgets);
            row_writes += usize::from(!promoted.is_empty());
        }
        Rolled { open_steps, budgets, promoted, row_writes, barrier }
    }

    fn update_rows(&mut self, now: SimTime, view: &ApplicationSetView, plan: &Steps) -> bool {
        let mut changed = std::mem::take(&mut self.changed);
        let mut is_written = false;
        for (index, application) in view.applications.iter().enumerate() {
            let old = self.rows[index].as_ref();
            let Some(new) = self.updated_row(now, index, application, plan) else {
                is_written |= old.is_some();
                continue;
            };
            is_written |= old.is_none_or(|old| new.is_worth_writing_over(old));
            if old != Some(&new) {
                changed.push((index as u32, new));
            }
        }
        if is_written {
            for (index, application) in view.applications.iter().enumerate() {
                if application.live.is_none() {
                    self.rows[index] = None;
                }
            }
        }
        self.write(changed, is_written);
        is_written
    }

    /// The row of one application after the update. `None`: the application does not exist.
    pub(super) fn updated_row(
        &self,
        now: SimTime,
        index: usize,
        application: &ApplicationView,
        plan: &Steps,
    ) -> Option<ApplicationStatus> {
        cost::visit();
        // The fixed rule waits for the comparison of a changed spec; a spec that may not be written is never
        // compared.
        let looks_at_spec =
            self.options.version.sees_spec_changes() && (!self.options.keep_spec_changes || self.may_update());
        let generated = application.generated.as_ref().filter(|_| looks_at_spec);
        let observed = Observed {
            step: plan.step_of[index].map(|step| step + 1),
            live: application.live.as_ref()?,
            generated: generated.map(|generated| self.spec_of(generated)),
            now,
            keep_spec_changes: self.options.keep_spec_changes,
        };
        Some(row::update(self.rows[index].as_ref(), &observed))
    }

    /// Whether an application was in an open step in the last pass.
    pub(super) fn is_allowed(&self, plan: &Steps, index: usize) -> bool {
        plan.step_of[index].is_some_and(|step| (step as usize) < self.allowed_steps)
    }

    /// The write rule: all rows are stored, or none.
    fn write(&mut self, mut changed: Vec<(u32, ApplicationStatus)>, is_written: bool) {
        for (index, row) in changed.drain(..) {
            if is_written {
                self.rows[index as usize] = Some(row);
            }
        }
        self.changed = changed;
    }

    /// A step is open when all earlier applications exist and their rows are Healthy.
    fn open_steps(&self, view: &ApplicationSetView, plan: &Steps) -> usize {
        let is_complete = |application: &u32| {
            let index = *application as usize;
            let is_healthy = |row: &ApplicationStatus| row.status == RolloutStatus::Healthy;
            view.applications[index].live.is_some() && self.rows[index].as_ref().is_some_and(is_healthy)
        };
        let closed = plan.lists.iter().position(|list| !list.iter().all(is_complete));
        closed.map_or(plan.lists.len(), |index| index + 1)
    }

    pub(super) fn budgets(&self, plan: &Steps) -> Vec<StepBudget> {
        let mut counts = vec![(0, 0); plan.lists.len()];
        for (index, row) in self.rows.iter().enumerate() {
            let Some(row) = row else { continue };
            let (total, updating) = &mut counts[plan.counted_in(index)];
            *total += 1;
            *updating += usize::from(matches!(row.status, RolloutStatus::Pending | RolloutStatus::Progressing));
        }
        self.budgets_of(counts)
    }

    /// The budgets of the steps with these rows, and those of them that are updating.
    pub(super) fn budgets_of(&self, counts: Vec<(usize, usize)>) -> Vec<StepBudget> {
        let steps = self.spec.steps().ok().flatten().unwrap_or_default();
        let budget = |(step, (total, updating)): (&super::RolloutStep, (usize, usize))| {
            StepBudget::new(step.max_update.as_ref(), total, updating)
        };
        steps.iter().zip(counts).map(budget).collect()
    }

    /// In the byte order of names. An application need not be OutOfSync.
    fn promote(&mut self, now: SimTime, plan: &Steps, budgets: &mut [StepBudget]) -> Vec<(TargetId, Message)> {
        let mut promoted = Vec::new();
        for &application in &self.by_name {
            let index = application as usize;
            let is_allowed = self.is_allowed(plan, index);
            let Some(row) = &mut self.rows[index] else { continue };
            let is_waiting = row.status == RolloutStatus::Waiting && is_allowed;
            if budgets[plan.counted_in(index)].turn(is_waiting) {
                promoted.push((TargetId(application), row.message));
                row.promote(now);
            }
        }
        promoted
    }

    pub(super) fn counts(&self) -> status::RowCounts {
        let mut counts = status::RowCounts::default();
        for row in self.rows.iter().flatten() {
            *match row.status {
                RolloutStatus::Waiting => &mut counts.waiting,
                RolloutStatus::Pending => &mut counts.pending,
                RolloutStatus::Progressing => &mut counts.progressing,
                RolloutStatus::Healthy => &mut counts.healthy,
            } += 1;
        }
        counts
    }

    /// The first step with a row that is not Healthy, counted from 1.
    pub(super) fn first_unfinished(&self) -> Option<u32> {
        let unfinished = self.rows.iter().flatten().filter(|row| row.status != RolloutStatus::Healthy);
        unfinished.filter_map(|row| row.step).min()
    }
}
