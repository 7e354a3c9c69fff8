//! Counts and candidates in the product's order: a pass need not look at applications that did not change.
//!
//! The rows of the set and its view hold the truth. The ledger is kept beside them row by row, and is thrown away when
//! anything changes that it does not follow: spec, labels, stored rows.

use super::super::{TargetSet, cost, places_in, stored};
use super::ArgoCd;
use super::barrier::BarrierLedger;
use super::row::{ApplicationStatus, RolloutStatus};
use super::status::RowCounts;
use super::view::ApplicationView;

/// Counts and candidates of one set, with its steps as they are.
#[derive(Clone, Debug)]
pub(super) struct SetLedger {
    /// Applications to look at in the next pass, whatever changes: the last look changed or wrote something.
    pub(super) unsettled: TargetSet,
    /// Rows by status.
    pub(super) rows: RowCounts,
    /// Of each step the rows that its budget counts, and those Pending or Progressing.
    pub(super) counted: Vec<(usize, usize)>,
    /// Generated applications that are not valid.
    pub(super) invalid: TargetSet,
    /// Places of applications in a step of their own with a Pending row and no operation: each pass requests a sync of
    /// those in open steps.
    idle: TargetSet,
    /// For each application its place in the order of step, as its budget counts it, and name; and the reverse.
    places: Vec<u32>,
    applications: Vec<u32>,
    /// The first place of each step, and the end.
    pub(super) first_places: Vec<u32>,
    /// Places of applications with a row.
    pub(super) with_row: TargetSet,
    /// Places of applications that Wait in a step of their own.
    waiting: TargetSet,
    /// Applications that exist and have a Healthy row.
    complete: TargetSet,
    /// Of each step, how many of its applications are not complete.
    incomplete: Vec<usize>,
    /// Rows that are not Healthy, by the step that they name.
    unfinished: Vec<usize>,
    /// The barrier of v3.6, if there is one.
    pub(super) barrier: Option<BarrierLedger>,
}

impl SetLedger {
    /// The ledger of the set's rows and these applications, in which every application is still to be looked at.
    pub(super) fn new(set: &ArgoCd, views: &[ApplicationView]) -> Self {
        let (plan, count, steps) = (&set.plan, set.rows.len(), set.plan.lists.len());
        let step_of = |application: &u32| plan.counted_in(*application as usize);
        let mut applications = set.by_name.clone();
        applications.sort_by_key(step_of);
        let first_places = (0..=steps)
            .map(|step| applications.partition_point(|other| step_of(other) < step) as u32)
            .collect();
        let mut ledger = Self {
            unsettled: TargetSet::all(count),
            rows: RowCounts::default(),
            counted: vec![(0, 0); steps],
            invalid: TargetSet::new(count),
            idle: TargetSet::new(count),
            places: places_in(&applications),
            applications,
            first_places,
            with_row: TargetSet::new(count),
            waiting: TargetSet::new(count),
            complete: TargetSet::new(count),
            incomplete: plan.lists.iter().map(Vec::len).collect(),
            unfinished: Vec::new(),
            barrier: set
                .options
                .version
                .has_barrier()
                .then(|| BarrierLedger::new(count)),
        };
        for (application, view) in (0..).zip(views) {
            ledger.row_changes(set, application, None);
            ledger.examine(set, application, view);
        }
        ledger
    }

    /// The row of an application is not `old` any more.
    pub(super) fn row_changes(
        &mut self,
        set: &ArgoCd,
        application: u32,
        old: Option<&ApplicationStatus>,
    ) {
        cost::visit();
        let (plan, new) = (&set.plan, set.rows[application as usize].as_ref());
        for (row, is_new) in [(old, false), (new, true)] {
            let Some(row) = row else { continue };
            let count = |number: &mut usize| if is_new { *number += 1 } else { *number -= 1 };
            count(&mut self.rows[row.status as usize]);
            let (total, updating) = &mut self.counted[plan.counted_in(application as usize)];
            count(total);
            if matches!(
                row.status,
                RolloutStatus::Pending | RolloutStatus::Progressing
            ) {
                count(updating);
            }
            if let Some(step) = row.step.filter(|_| row.status != RolloutStatus::Healthy) {
                self.unfinished
                    .resize(self.unfinished.len().max(step as usize + 1), 0);
                count(&mut self.unfinished[step as usize]);
            }
            if let Some(barrier) = self.barrier.as_mut().filter(|_| row.is_pending_change()) {
                barrier.change(row.last_transition_time, application, is_new);
            }
        }
        let place = self.places[application as usize];
        self.with_row.set(place, new.is_some());
        let waits = new.is_some_and(|row| row.status == RolloutStatus::Waiting);
        self.waiting
            .set(place, waits && plan.step_of[application as usize].is_some());
    }

    /// Notes what depends on both the object and the row of an application.
    pub(super) fn examine(&mut self, set: &ArgoCd, application: u32, view: &ApplicationView) {
        cost::visit();
        let (plan, row, live) = (
            &set.plan,
            set.rows[application as usize].as_ref(),
            view.live.as_ref(),
        );
        let is = |status| live.is_some() && row.is_some_and(|row| row.status == status);
        let is_valid = view.generated.as_ref().map(|generated| generated.valid);
        self.invalid.set(application, is_valid == Some(false));
        let has_own_step = || plan.step_of[application as usize].is_some();
        let is_idle =
            is(RolloutStatus::Pending) && live.is_some_and(|live| live.operation.is_none());
        self.idle.set(
            self.places[application as usize],
            is_idle && is_valid == Some(true) && has_own_step(),
        );
        let (was_complete, is_complete) = (
            self.complete.contains(application),
            is(RolloutStatus::Healthy),
        );
        if was_complete != is_complete && !plan.lists.is_empty() {
            self.complete.set(application, is_complete);
            for step in plan.steps_of(application) {
                let incomplete = &mut self.incomplete[step as usize];
                *incomplete = if is_complete {
                    *incomplete - 1
                } else {
                    *incomplete + 1
                };
            }
        }
        if let Some(barrier) = &mut self.barrier {
            barrier.examine(
                application,
                live.map(|live| (live.reconciled_at.map(stored), live.refresh)),
            );
        }
    }

    /// Number of steps, from the first, that may sync: up to the first that is not complete (`getAppsToSync`).
    pub(super) fn open_steps(&self) -> usize {
        let closed = self
            .incomplete
            .iter()
            .position(|incomplete| *incomplete > 0);
        closed.map_or(self.incomplete.len(), |step| step + 1)
    }

    /// The first step, counted from 1, that a row names which is not Healthy.
    pub(super) fn first_unfinished(&self) -> Option<u32> {
        self.unfinished
            .iter()
            .position(|rows| *rows > 0)
            .map(|step| step as u32)
    }

    /// Applications in the first `open` steps that have a Pending row and no operation, step by step.
    pub(super) fn idle(&self, open: usize) -> impl Iterator<Item = u32> {
        let end = self.first_places[open];
        self.idle
            .iter()
            .take_while(move |place| *place < end)
            .map(|place| self.applications[place as usize])
    }

    /// The next application of a step that Waits, by name, and its place; from this place on.
    pub(super) fn waiting_from(&self, step: usize, place: u32) -> Option<(u32, u32)> {
        let place = self
            .waiting
            .next(place)
            .filter(|place| *place < self.first_places[step + 1])?;
        Some((place, self.applications[place as usize]))
    }

    /// Whether a step has a row at this place or later.
    pub(super) fn has_row_from(&self, step: usize, place: u32) -> bool {
        self.with_row
            .next(place)
            .is_some_and(|place| place < self.first_places[step + 1])
    }
}
