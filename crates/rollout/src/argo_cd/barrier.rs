//! The barrier of v3.6: a pass promotes and triggers nothing while applications are behind the last pending change.
//!
//! A pending change is a row that Waits because of another revision or spec. Its time is the latest that was stored
//! before the pass, or else the latest of this pass. Within the grace period after it the pass looks no further, and
//! asks for no other pass: one follows when an application changes, or by a generator's timer
//! (argoproj/argo-cd#29347). After the grace period, each application that was not compared since gets a refresh
//! annotation. Source: `applicationset/progressivesync/progressive_sync.go` of argoproj/argo-cd#27467 at 42a0b1d4.
//!
//! Left out: that the compared revision must be the row's. The rows' update has just made them equal.

use std::collections::BTreeSet;

use super::super::{TargetId, cost};
use super::ArgoCd;
use fleetsim_units::SimTime;

/// Why a pass of v3.6 promotes nothing, whatever steps and budgets allow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Barrier {
    /// The grace period since the last pending change is not over.
    GracePeriod,
    /// Applications were not compared since the last pending change. The pass asks these of them to be compared; the
    /// others are asked already.
    Behind(Vec<TargetId>),
}

/// Pending changes and comparisons, in the order of their times.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierLedger {
    /// Times of pending changes.
    changes: BTreeSet<(SimTime, u32)>,
    /// Existing applications by the second of their last comparison: first others, then those with the annotation.
    compared: [BTreeSet<Compared>; 2],
    /// The entry of each application, and whether it has the annotation. `None`: it does not exist.
    entries: Vec<Option<(Compared, bool)>>,
}

/// The second of an application's last comparison, and its index.
type Compared = (Option<SimTime>, u32);

impl ArgoCd {
    /// `before`: when the last pending change was, before the pass.
    pub(super) fn barrier(
        &self,
        now: SimTime,
        before: Option<SimTime>,
        ledger: &BarrierLedger,
    ) -> Option<Barrier> {
        let since = before.or_else(|| ledger.pending_since())?;
        if now < since + self.options.refresh_grace_period {
            return Some(Barrier::GracePeriod);
        }
        ledger.behind(since).map(Barrier::Behind)
    }
}

impl BarrierLedger {
    pub(super) fn new(applications: usize) -> Self {
        Self {
            entries: vec![None; applications],
            ..Self::default()
        }
    }

    /// A row has, or no longer has, a pending change of this time.
    pub(super) fn change(&mut self, time: SimTime, application: u32, is_pending: bool) {
        let change = (time, application);
        _ = if is_pending {
            self.changes.insert(change)
        } else {
            self.changes.remove(&change)
        };
    }

    /// When the last pending change was.
    pub(super) fn pending_since(&self) -> Option<SimTime> {
        self.changes.last().map(|(time, _)| *time)
    }

    /// Notes when an application was compared last, and whether it has the annotation. `None`: it does not exist.
    pub(super) fn examine(&mut self, application: u32, compared: Option<(Option<SimTime>, bool)>) {
        let entry = compared.map(|(at, is_asked)| ((at, application), is_asked));
        let known = std::mem::replace(&mut self.entries[application as usize], entry);
        if known != entry {
            known
                .map(|(compared, is_asked)| self.compared[usize::from(is_asked)].remove(&compared));
            entry.map(|(compared, is_asked)| self.compared[usize::from(is_asked)].insert(compared));
        }
    }

    /// If any application was not compared since then: those of them without the annotation, by index.
    fn behind(&self, since: SimTime) -> Option<Vec<TargetId>> {
        let is_behind = |(at, _): &&Compared| at.is_none_or(|at| at < since);
        let [unasked, asked] = &self.compared;
        let unasked = unasked
            .iter()
            .take_while(is_behind)
            .inspect(|_| cost::visit());
        let mut unasked: Vec<TargetId> = unasked.map(|(_, index)| TargetId(*index)).collect();
        unasked.sort_unstable();
        (!unasked.is_empty() || asked.first().is_some_and(|first| is_behind(&first)))
            .then_some(unasked)
    }
}
