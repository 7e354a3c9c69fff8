//! The set as the controller's cache shows it: the controller's own last writes are missing for a while.
//!
//! A pass reads the set from the cache (`Reconcile` in `applicationset/controllers/applicationset_controller.go`). The
//! cache shows a write one watch delay after the API server has answered it. A pass that begins sooner works with the
//! rows and conditions before that write. Its first accepted write of rows replaces all newer rows, because
//! `setAppSetApplicationStatus` writes the whole list. A pass that writes no rows keeps the newer ones.
//!
//! Evidence: the recorded rollouts `names-*`, whose watch delay is longer than five attempts of a write.

use super::pass::{RefusedWrite, SetPass, SetWrite};
use super::recent::{HiddenWrite, RecentWrite, Rows};
use super::status::SetConditions;
use fleetsim_units::SimTime;

impl SetPass<'_> {
    /// Hides the writes that the cache does not show.
    pub(super) fn hide_writes(&mut self) {
        let seen = self.set.seen;
        self.set.recent.retain(|write| write.answered > seen);
        while let Some(write) = self.set.recent.pop() {
            let after = self.exchange(&write.before);
            let conditions = std::mem::replace(&mut self.set.conditions, write.conditions);
            self.hidden.push(HiddenWrite {
                write,
                after,
                conditions,
            });
        }
        // Oldest first.
        self.hidden.reverse();
    }

    /// Writes the rows of the pass; `before` has the earlier state of the rows that changed. A write that does not
    /// change the stored rows has no effect, not even on the set's version.
    pub(super) fn write_rows(&mut self, before: Rows) -> Result<(), RefusedWrite> {
        let mut stored = before.clone();
        for hidden in &self.hidden {
            stored.extend(hidden.after.clone());
        }
        let mut stored = stored.iter();
        let is_new = stored.any(|(index, row)| self.set.rows[*index as usize] != *row);
        let Some(answered) = (self.store)(SetWrite::Rows { is_new }) else {
            self.exchange(&before);
            return Err(RefusedWrite);
        };
        self.accepted(answered, is_new, Some(before));
        Ok(())
    }

    /// Returns the conditions that the API server has.
    pub(super) fn stored_conditions(&self) -> SetConditions {
        match self.hidden.last() {
            Some(last) => last.conditions,
            None => self.set.conditions,
        }
    }

    /// Stores these conditions, which the API server accepts at `answered`.
    pub(super) fn write_conditions(
        &mut self,
        answered: SimTime,
        is_new: bool,
        conditions: SetConditions,
    ) {
        self.accepted(answered, is_new, None);
        self.set.conditions = conditions;
        if let Some(last) = self.hidden.last_mut() {
            last.conditions = conditions;
        }
    }

    /// Records that a write of the set was accepted at `answered`. The pass has read the set again for this write.
    /// `rows`: the earlier state of the rows that the write changes; `None`: it changes no rows.
    fn accepted(&mut self, answered: SimTime, is_new: bool, rows: Option<Rows>) {
        self.set.conditions = self.stored_conditions();
        let conditions = self.set.conditions;
        let mut before = Rows::new();
        if let Some(rows) = rows {
            for hidden in std::mem::take(&mut self.hidden) {
                before.extend(hidden.after);
                self.set.recent.push(hidden.write);
            }
            for (index, row) in rows {
                before.entry(index).or_insert(row);
            }
        }
        if is_new {
            self.set.recent.push(RecentWrite {
                answered,
                before,
                conditions,
            });
        }
    }

    /// Ends the pass: the hidden writes are visible again, unless the pass has overwritten them.
    pub(super) fn show_writes(&mut self) {
        self.set.conditions = self.stored_conditions();
        for hidden in std::mem::take(&mut self.hidden) {
            self.exchange(&hidden.after);
            self.set.recent.push(hidden.write);
        }
        self.set.recent.sort_by_key(|write| write.answered);
    }

    /// Replaces rows, and returns the previous ones.
    fn exchange(&mut self, rows: &Rows) -> Rows {
        let mut others = Rows::new();
        for (&index, row) in rows {
            others.insert(index, self.set.rows[index as usize].clone());
            self.replace_row(index, row.clone());
            self.examine(index);
            self.ledger.unsettled.insert(index);
        }
        others
    }
}
