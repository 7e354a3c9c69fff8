//! The barrier of v3.6: a pass promotes and triggers nothing while applications are behind the last pending change.
//!
//! A pending change is a row that is Waiting because its revision or spec changed. Its time is the latest one stored
//! before the pass, or else the latest of this pass. Within the grace period after it, a pass ends early and does not
//! requeue the set: the next pass starts when an application changes or a generator's timer fires
//! (argoproj/argo-cd#29347). After the grace period, each application that has not been compared since gets a refresh
//! annotation. Source: `applicationset/progressivesync/progressive_sync.go` of argoproj/argo-cd#27467 at 42a0b1d4.
//!
//! Left out: the check that the compared revision is the row's. The update of the rows has just made them equal.

use std::collections::BTreeSet;

use super::super::{TargetId, cost};
use super::ArgoCd;
use fleetsim_units::SimTime;

/// The reason why a pass of v3.6 promotes nothing, whatever steps and budgets allow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Barrier {
    /// The grace period since the last pending change is not over.
    GracePeriod,
    /// Applications were not compared since the last pending change. The pass requests a comparison of the listed
    /// ones; all others already have a request.
    Behind(Vec<TargetId>),
}

/// Pending changes and comparisons, in the order of their times.
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierLedger {
    /// Times of pending changes, with their applications.
    changes: BTreeSet<(SimTime, u32)>,
    /// Existing applications without the annotation that requests another comparison.
    unasked: BTreeSet<ComparedApplication>,
    /// Existing applications with the annotation that requests another comparison.
    asked: BTreeSet<ComparedApplication>,
    /// The last comparison of each application. `None`: the application does not exist.
    comparisons: Vec<Option<LastComparison>>,
}

/// The last comparison of an existing application.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct LastComparison {
    /// The second of the comparison. `None`: the application was never compared.
    pub(super) at: Option<SimTime>,
    /// Whether the application has the annotation that requests another comparison.
    pub(super) is_asked: bool,
}

/// An application by the second of its last comparison.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct ComparedApplication {
    at: Option<SimTime>,
    application: u32,
}

impl ComparedApplication {
    /// Returns whether the application was not compared at or after `since`.
    fn is_behind(&self, since: SimTime) -> bool {
        match self.at {
            Some(at) => at < since,
            None => true,
        }
    }
}

impl ArgoCd {
    /// Returns the barrier of a pass, if it applies. `before`: the time of the last pending change before the pass.
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
            comparisons: vec![None; applications],
            ..Self::default()
        }
    }

    /// Adds a pending change of a row.
    pub(super) fn add_change(&mut self, time: SimTime, application: u32) {
        self.changes.insert((time, application));
    }

    /// Removes a pending change of a row.
    pub(super) fn remove_change(&mut self, time: SimTime, application: u32) {
        self.changes.remove(&(time, application));
    }

    /// Returns the time of the last pending change.
    pub(super) fn pending_since(&self) -> Option<SimTime> {
        let (time, _) = self.changes.last()?;
        Some(*time)
    }

    /// Records the last comparison of an application. `None`: the application does not exist.
    pub(super) fn examine(&mut self, application: u32, comparison: Option<LastComparison>) {
        let known = std::mem::replace(&mut self.comparisons[application as usize], comparison);
        if known == comparison {
            return;
        }
        if let Some(LastComparison { at, is_asked }) = known {
            self.group(is_asked)
                .remove(&ComparedApplication { at, application });
        }
        if let Some(LastComparison { at, is_asked }) = comparison {
            self.group(is_asked)
                .insert(ComparedApplication { at, application });
        }
    }

    /// Returns the applications that have the annotation (`is_asked`), or those that do not have it.
    const fn group(&mut self, is_asked: bool) -> &mut BTreeSet<ComparedApplication> {
        if is_asked {
            &mut self.asked
        } else {
            &mut self.unasked
        }
    }

    /// Returns the applications without the annotation that were not compared at or after `since`, by index. `None`:
    /// all applications were compared.
    fn behind(&self, since: SimTime) -> Option<Vec<TargetId>> {
        let mut unasked = Vec::new();
        for compared in &self.unasked {
            if !compared.is_behind(since) {
                break;
            }
            cost::visit();
            unasked.push(TargetId(compared.application));
        }
        unasked.sort_unstable();
        let first_asked = self.asked.first();
        let is_any_behind =
            !unasked.is_empty() || first_asked.is_some_and(|first| first.is_behind(since));
        is_any_behind.then_some(unasked)
    }
}
