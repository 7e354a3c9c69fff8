//! Counts and candidates in the product's order, so a pass need not examine applications that did not change.
//!
//! The rows of the set and its view are authoritative. The ledger is updated row by row. It is discarded when anything
//! changes that it does not track: spec, labels, stored rows.

use super::super::{TargetSet, cost, places_in, stored};
use super::ArgoCd;
use super::barrier::{BarrierLedger, LastComparison};
use super::row::{ApplicationStatus, RolloutStatus};
use super::status::RowCounts;
use super::view::ApplicationView;

/// The rows that the budget of a step counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct StepRows {
    pub(super) total: usize,
    /// Rows that are Pending or Progressing.
    pub(super) updating: usize,
}

/// The effect of a row on the counts.
#[derive(Clone, Copy, Eq, PartialEq)]
enum RowChange {
    Enters,
    Leaves,
}

impl RowChange {
    fn apply(self, count: &mut usize) {
        match self {
            Self::Enters => *count += 1,
            Self::Leaves => *count -= 1,
        }
    }
}

/// Counts and candidates of one set with its current steps.
#[derive(Clone, Debug)]
pub(super) struct SetLedger {
    /// Applications that the next pass must examine, because their last examination changed or wrote something.
    pub(super) unsettled: TargetSet,
    /// Rows by status.
    pub(super) rows: RowCounts,
    /// The rows that the budget of each step counts.
    pub(super) step_rows: Vec<StepRows>,
    /// Generated applications that are not valid.
    pub(super) invalid: TargetSet,
    /// Positions of applications that a step selects, with a Pending row and no operation: each pass requests a sync
    /// of such applications in open steps.
    idle: TargetSet,
    /// The position of each application when sorted by step (as its budget counts it) and name, and the inverse
    /// mapping.
    places: Vec<u32>,
    applications: Vec<u32>,
    /// The first position of each step, and the end of the last step.
    pub(super) first_places: Vec<u32>,
    /// Positions of applications with a row.
    pub(super) with_row: TargetSet,
    /// Positions of Waiting applications that a step selects.
    waiting: TargetSet,
    /// Applications that exist and have a Healthy row.
    complete: TargetSet,
    /// Number of applications of each step that are not complete.
    incomplete: Vec<usize>,
    /// Number of rows that are not Healthy, by the step that they name.
    unfinished: Vec<usize>,
    /// The barrier of v3.6, if there is one.
    pub(super) barrier: Option<BarrierLedger>,
}

impl SetLedger {
    /// Creates the ledger of the set's rows and these applications. The next pass must examine every application.
    pub(super) fn new(set: &ArgoCd, views: &[ApplicationView]) -> Self {
        let plan = &set.plan;
        let count = set.rows.len();
        let steps = plan.lists.len();
        let mut applications = set.by_name.clone();
        applications.sort_by_key(|application| plan.counted_in(*application as usize));
        let mut first_places = Vec::with_capacity(steps + 1);
        for step in 0..=steps {
            let first =
                applications.partition_point(|other| plan.counted_in(*other as usize) < step);
            first_places.push(first as u32);
        }
        let has_barrier = set.options.version.has_barrier();
        let mut ledger = Self {
            unsettled: TargetSet::all(count),
            rows: RowCounts::default(),
            step_rows: vec![StepRows::default(); steps],
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
            barrier: has_barrier.then(|| BarrierLedger::new(count)),
        };
        for (application, view) in (0..).zip(views) {
            ledger.row_changes(set, application, None);
            ledger.examine(set, application, view);
        }
        ledger
    }

    /// Updates the counts after the row of an application was replaced.
    pub(super) fn row_changes(
        &mut self,
        set: &ArgoCd,
        application: u32,
        old: Option<&ApplicationStatus>,
    ) {
        cost::visit();
        let new = set.rows[application as usize].as_ref();
        if let Some(old) = old {
            self.count_row(set, application, old, RowChange::Leaves);
        }
        if let Some(new) = new {
            self.count_row(set, application, new, RowChange::Enters);
        }
        let place = self.places[application as usize];
        self.with_row.set(place, new.is_some());
        let waits = set.row_status(application) == Some(RolloutStatus::Waiting);
        let has_own_step = set.plan.selects(application);
        self.waiting.set(place, waits && has_own_step);
    }

    /// Adds or removes a row of an application.
    fn count_row(
        &mut self,
        set: &ArgoCd,
        application: u32,
        row: &ApplicationStatus,
        change: RowChange,
    ) {
        change.apply(&mut self.rows[row.status as usize]);
        let step_rows = &mut self.step_rows[set.plan.counted_in(application as usize)];
        change.apply(&mut step_rows.total);
        if matches!(
            row.status,
            RolloutStatus::Pending | RolloutStatus::Progressing
        ) {
            change.apply(&mut step_rows.updating);
        }
        if let Some(step) = row.step
            && row.status != RolloutStatus::Healthy
        {
            let step = step as usize;
            if self.unfinished.len() <= step {
                self.unfinished.resize(step + 1, 0);
            }
            change.apply(&mut self.unfinished[step]);
        }
        if let Some(barrier) = &mut self.barrier
            && row.is_pending_change()
        {
            match change {
                RowChange::Enters => barrier.add_change(row.last_transition_time, application),
                RowChange::Leaves => barrier.remove_change(row.last_transition_time, application),
            }
        }
    }

    /// Records the state that depends on both the object and the row of an application.
    pub(super) fn examine(&mut self, set: &ArgoCd, application: u32, view: &ApplicationView) {
        cost::visit();
        let live = view.live.as_ref();
        // A row without an object does not count.
        let status = live.and_then(|_| set.row_status(application));
        let has_own_step = set.plan.selects(application);
        let has_no_operation = live.is_some_and(|live| live.operation.is_none());
        self.invalid.set(application, view.is_invalid());
        self.idle.set(
            self.places[application as usize],
            status == Some(RolloutStatus::Pending)
                && has_no_operation
                && view.is_valid()
                && has_own_step,
        );
        self.note_completion(set, application, status == Some(RolloutStatus::Healthy));
        if let Some(barrier) = &mut self.barrier {
            let comparison = live.map(|live| LastComparison {
                at: live.reconciled_at.map(stored),
                is_asked: live.refresh,
            });
            barrier.examine(application, comparison);
        }
    }

    /// Records whether an application is complete in the counts of its steps.
    fn note_completion(&mut self, set: &ArgoCd, application: u32, is_complete: bool) {
        let is_unchanged = self.complete.contains(application) == is_complete;
        if is_unchanged || set.plan.lists.is_empty() {
            return;
        }
        self.complete.set(application, is_complete);
        for step in set.plan.steps_of(application) {
            let incomplete = &mut self.incomplete[step as usize];
            if is_complete {
                *incomplete -= 1;
            } else {
                *incomplete += 1;
            }
        }
    }

    /// Returns how many steps, from the first, may sync: up to the first that is not complete (`getAppsToSync`).
    pub(super) fn open_steps(&self) -> usize {
        match self.incomplete.iter().position(|count| *count > 0) {
            Some(incomplete) => incomplete + 1,
            None => self.incomplete.len(),
        }
    }

    /// Returns the first step, counted from 1, with a row that is not Healthy.
    pub(super) fn first_unfinished(&self) -> Option<u32> {
        let step = self.unfinished.iter().position(|rows| *rows > 0)?;
        Some(step as u32)
    }

    /// Returns the applications in the first `open` steps that have a Pending row and no operation, step by step.
    pub(super) fn idle(&self, open: usize) -> impl Iterator<Item = u32> {
        let end = self.first_places[open];
        let places = self.idle.iter().take_while(move |place| *place < end);
        places.map(|place| self.application_at(place))
    }

    /// Returns the position of the next Waiting application of a step, by name, at or after this position.
    pub(super) fn waiting_from(&self, step: usize, place: u32) -> Option<u32> {
        let waiting = self.waiting.next(place)?;
        (waiting < self.first_places[step + 1]).then_some(waiting)
    }

    /// Returns the application at a position.
    pub(super) fn application_at(&self, place: u32) -> u32 {
        self.applications[place as usize]
    }

    /// Returns whether a step has a row at this position or later.
    pub(super) fn has_row_from(&self, step: usize, place: u32) -> bool {
        let end = self.first_places[step + 1];
        self.with_row.next(place).is_some_and(|next| next < end)
    }
}
