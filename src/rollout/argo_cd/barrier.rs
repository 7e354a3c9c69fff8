//! The barrier of v3.6: a pass promotes and triggers nothing while applications are behind the last pending change.
//!
//! A pending change is a row that Waits because of another revision or spec. Its time is the latest that was stored
//! before the pass, or else the latest of this pass. Within the grace period after it the pass looks no further, and
//! asks for no other pass: one follows when an application changes, or by a generator's timer
//! (argoproj/argo-cd#29347). After the grace period, each application that was not compared since gets a refresh
//! annotation. Source: `applicationset/progressivesync/progressive_sync.go` of argoproj/argo-cd#27467 at 42a0b1d4.
//!
//! Left out: that the compared revision must be the row's. The rows' update has just made them equal.

use super::super::{TargetId, stored};
use super::ArgoCd;
use super::view::ApplicationSetView;
use crate::units::SimTime;

/// Why a pass of v3.6 promotes nothing, whatever steps and budgets allow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Barrier {
    /// The grace period since the last pending change is not over.
    GracePeriod,
    /// Applications were not compared since the last pending change. The pass asks these of them to be compared; the
    /// others are asked already.
    Behind(Vec<TargetId>),
}

impl ArgoCd {
    /// When the last pending change was, by the stored rows.
    pub(super) fn pending_since(&self) -> Option<SimTime> {
        let rows = self.rows.iter().flatten();
        rows.filter(|row| row.is_pending_change()).map(|row| row.last_transition_time).max()
    }

    /// `before` is [`Self::pending_since`] before the pass.
    pub(super) fn barrier(&self, now: SimTime, before: Option<SimTime>, view: &ApplicationSetView) -> Option<Barrier> {
        if !self.options.version.has_barrier() {
            return None;
        }
        let since = before.or_else(|| self.pending_since())?;
        if now < since + self.options.refresh_grace_period {
            return Some(Barrier::GracePeriod);
        }
        let mut behind = Self::behind(since, view).peekable();
        behind.peek()?;
        let is_asked =
            |target: &TargetId| view.applications[target.index()].live.as_ref().is_some_and(|live| live.refresh);
        Some(Barrier::Behind(behind.filter(|target| !is_asked(target)).collect()))
    }

    /// Existing applications that were not compared since then.
    pub(super) fn behind(since: SimTime, view: &ApplicationSetView) -> impl Iterator<Item = TargetId> {
        let applications = (0..).map(TargetId).zip(&view.applications);
        let is_behind = move |live: &super::Application| live.reconciled_at.is_none_or(|at| stored(at) < since);
        applications
            .filter(move |(_, application)| application.live.as_ref().is_some_and(is_behind))
            .map(|(target, _)| target)
    }
}
