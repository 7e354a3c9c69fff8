//! The set as the controller's cache shows it: without its own last writes, for a while.
//!
//! A pass reads the set from the cache (`Reconcile` in `applicationset/controllers/applicationset_controller.go`). The
//! cache shows a write one watch delay after its answer. A pass that begins sooner works with the rows and conditions
//! before that write. Its first write that the API server accepts puts all of its rows in place of the newer ones
//! (`setAppSetApplicationStatus` writes the whole list); a pass that writes no rows leaves the newer ones as they are.
//!
//! Known by: the recorded rollouts `names-*`, whose watch delay is longer than five tries of a write.

use super::pass::{RefusedWrite, SetPass, SetWrite};
use super::recent::{HiddenWrite, RecentWrite, Rows};
use super::status::SetConditions;
use fleetsim_units::SimTime;

impl SetPass<'_> {
    /// Takes back the writes that the cache does not show.
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
        // In the order of their times.
        self.hidden.reverse();
    }

    /// Writes the rows of the pass; `before` has the earlier state of those that changed. A write of what the API
    /// server has already changes nothing, not even the set's version.
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

    /// The conditions that the API server has.
    pub(super) fn stored_conditions(&self) -> SetConditions {
        match self.hidden.last() {
            Some(last) => last.conditions,
            None => self.set.conditions,
        }
    }

    /// The API server accepts these conditions at `answered`.
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

    /// A write of the set is answered at `answered`, for which the pass has read the set again. `rows`: the earlier
    /// state of the rows that it changes; `None`: it writes no rows.
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

    /// The pass is over: the set has what it has not seen, unless it has written something else.
    pub(super) fn show_writes(&mut self) {
        self.set.conditions = self.stored_conditions();
        for hidden in std::mem::take(&mut self.hidden) {
            self.exchange(&hidden.after);
            self.set.recent.push(hidden.write);
        }
        self.set.recent.sort_by_key(|write| write.answered);
    }

    /// Puts rows in place of others. Returns the others.
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
