//! One pass: selects the bindings to update, bind and delete.
//!
//! Follows `Reconcile`, `processApplyStrategyUpdates`, `waitForResourcesToCleanUp`, `determineBindingsToUpdate`,
//! `calculateMaxToRemove` and `calculateMaxToAdd` in `pkg/controllers/rollout/controller.go`.
//!
//! `maxUnavailable` is a budget on *ready* bindings: every binding that is not ready uses it, for any reason. Failed
//! bindings, which as shipped are all those in progress, are updated regardless of it.

use std::collections::BTreeMap;

use super::super::super::{Pass, QueueRequest, Revision, TargetId, TargetSet};
use super::super::binding::BindingState;
use super::super::control_loop::CLEAN_UP_WAIT;
use super::super::{Binding, RuleSet};
use super::RollingUpdate;
use super::candidates::{BindingKind, CandidateSets};
use super::view::{
    BindingCounts, RollingAction, RollingDecision, RollingError, RollingStatus, RollingView, Room,
};
use fleetsim_units::{SimDuration, SimTime};

/// Bindings of the largest placement whose passes tests compare with passes over sets made anew.
#[cfg(test)]
const SCANNED_MAX: usize = 100;

impl RollingUpdate {
    /// One pass of the rollout reconciler over all bindings. Its status has the request to the queue.
    ///
    /// Of [`RollingStatus::blocked`] it lists only those that do not say so yet.
    pub fn reconcile(&mut self, now: SimTime, view: &RollingView) -> RollingDecision {
        self.sets = None;
        self.reconcile_changed(now, view, &TargetSet::default())
    }

    /// One pass as [`Self::reconcile`], at the cost of what changed: the caller promises that only bindings of clusters
    /// in `changed` differ from those of the last pass, also by what storing it changed
    /// ([`Bindings::changed`](super::super::Bindings::changed)). The first pass, and one after a change of the limits
    /// or of the newest resource snapshot, looks at all.
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &RollingView,
        changed: &TargetSet,
    ) -> RollingDecision {
        self.last = now;
        let sets = self
            .sets
            .take()
            .and_then(|sets| sets.update(self, view, changed));
        let sets = sets.unwrap_or_else(|| CandidateSets::new(self, view));
        let decision = self.pass(view, &sets);
        #[cfg(test)]
        if view.bindings.places() <= SCANNED_MAX {
            let scanned = self.pass(view, &CandidateSets::new(self, view));
            assert_eq!(
                decision, scanned,
                "a pass over the sets decides as one over sets made anew"
            );
            assert_eq!(sets.count(BindingKind::Behind) == 0, view.is_done());
        }
        self.sets = Some(sets);
        decision
    }

    /// Clusters whose binding this pass, the last one, has blocked: all of them.
    pub fn blocked(&self, pass: &RollingStatus, view: &RollingView) -> Vec<TargetId> {
        let kinds = [BindingKind::UpdateCandidate, BindingKind::BoundingCandidate];
        let mut blocked = Vec::new();
        for (kind, from) in kinds.into_iter().zip(pass.blocked_from) {
            if let (Some(sets), Some(from)) = (&self.sets, from) {
                blocked.extend(
                    sets.from(kind, from)
                        .map(|place| view.bindings.target_at(place)),
                );
            }
        }
        blocked
    }

    /// [`RollingView::is_done`], at the time of the last pass.
    pub fn is_done(&self, view: &RollingView) -> bool {
        self.sets.as_ref().map_or_else(
            || view.is_done(),
            |sets| sets.count(BindingKind::Behind) == 0,
        )
    }

    pub(super) fn pass(&self, view: &RollingView, candidates: &CandidateSets) -> RollingDecision {
        let mut pass = Pass {
            actions: Vec::new(),
            wake_at: None,
            status: RollingStatus::default(),
        };
        let others = candidates.from(BindingKind::OtherStrategy, 0);
        pass.status.patched = others.map(|place| view.bindings.target_at(place)).collect();
        if !pass.status.patched.is_empty() {
            pass.status.next = QueueRequest::RateLimited;
            return pass;
        }
        match has_to_clean_up(view) {
            Err(error) => {
                pass.status.error = Some(error);
                pass.status.next = QueueRequest::Error;
            }
            Ok(true) => pass.status.next = QueueRequest::After(CLEAN_UP_WAIT),
            Ok(false) => {
                if let Some(latest) = view.latest_snapshot {
                    self.roll(view, candidates, latest, &mut pass);
                }
            }
        }
        pass
    }

    fn roll(
        &self,
        view: &RollingView,
        candidates: &CandidateSets,
        latest: Revision,
        pass: &mut RollingDecision,
    ) {
        let Pass {
            actions, status, ..
        } = pass;
        let count = |kind: BindingKind| candidates.count(kind) as i64;
        let target = |place: u32| view.bindings.target_at(place);
        let deploy = |place: u32| RollingAction::Deploy(target(place), latest);
        let counts = BindingCounts {
            target: view
                .requested
                .map_or_else(|| count(BindingKind::SchedulerTargeted), i64::from),
            ready: count(BindingKind::Ready),
            can_be_unavailable: count(BindingKind::CanBeUnavailable),
            can_be_ready: count(BindingKind::CanBeReady),
            bounding_candidates: count(BindingKind::BoundingCandidate),
            remove_candidates: count(BindingKind::RemoveCandidate),
            update_candidates: count(BindingKind::UpdateCandidate),
            failed_update_candidates: count(BindingKind::ApplyFailedUpdateCandidate),
        };
        status.counts = Some(counts);
        let BindingCounts {
            bounding_candidates,
            remove_candidates,
            update_candidates,
            ..
        } = counts;
        if bounding_candidates
            + remove_candidates
            + update_candidates
            + counts.failed_update_candidates
            == 0
        {
            status.restarted = candidates
                .from(BindingKind::LacksStart, 0)
                .map(target)
                .collect();
            return;
        }
        let limits = self.limits(counts.target);
        let room = Room {
            to_remove: counts.ready
                - counts.can_be_unavailable
                - (counts.target - limits.max_unavailable),
            to_add: counts.target + limits.max_surge - counts.can_be_ready,
        };
        status.room = Some(room);
        let removed = room.to_remove.clamp(0, remove_candidates);
        let updated = (room.to_remove - removed).clamp(0, update_candidates);
        let bound = room.to_add.clamp(0, bounding_candidates);
        actions.extend(
            candidates
                .from(BindingKind::ApplyFailedUpdateCandidate, 0)
                .map(deploy),
        );
        let removing = candidates
            .from(BindingKind::RemoveCandidate, 0)
            .take(removed as usize);
        actions.extend(removing.map(|place| RollingAction::Delete(target(place))));
        let kinds = [
            (
                BindingKind::UpdateCandidate,
                BindingKind::UpdateCandidateUnmarked,
                updated,
            ),
            (
                BindingKind::BoundingCandidate,
                BindingKind::BoundingCandidateUnmarked,
                bound,
            ),
        ];
        for ((kind, unmarked, share), blocked_from) in
            kinds.into_iter().zip(&mut status.blocked_from)
        {
            let mut places = candidates.from(kind, 0);
            actions.extend(places.by_ref().take(share as usize).map(deploy));
            *blocked_from = places.next();
            let blocked = blocked_from
                .iter()
                .flat_map(|from| candidates.from(unmarked, *from));
            status.blocked.extend(blocked.map(target));
        }
        status.restarted = candidates
            .from(BindingKind::UpToDateBound, 0)
            .map(target)
            .collect();
        let wait = candidates
            .first_ready_after()
            .map(|time| time.since(self.last));
        status.next = self.next(
            wait,
            wait.is_some() || candidates.count(BindingKind::NotReady) > 0,
        );
    }

    fn next(&self, wait: Option<SimDuration>, is_waiting: bool) -> QueueRequest {
        let wait = match self.rules {
            _ if !is_waiting => Some(SimDuration::ZERO),
            RuleSet::Shipped => Some(wait.map_or(self.period(), |wait| wait.min(self.period()))),
            // "Only matters for resources whose availability cannot be tracked."
            RuleSet::Documented => wait,
        };
        match wait {
            None => QueueRequest::None,
            Some(wait) if wait.is_zero() => QueueRequest::RateLimited,
            Some(wait) => QueueRequest::After(wait),
        }
    }
}

/// Whether a cluster that needs the resources is still being cleaned up; nothing is rolled then.
fn has_to_clean_up(view: &RollingView) -> Result<bool, RollingError> {
    if view.bindings.are_single() {
        return Ok(false);
    }
    let mut live: BTreeMap<TargetId, &Binding> = BTreeMap::new();
    let (deleting, others): (Vec<&Binding>, Vec<&Binding>) =
        view.bindings.iter().partition(|binding| binding.deleting);
    for binding in others {
        if let Some(first) = live.insert(binding.target, binding) {
            let (first, second) = (first.name.clone(), binding.name.clone());
            return Err(RollingError::TwoBindings { first, second });
        }
    }
    let mut waits = false;
    for binding in deleting.iter().filter_map(|old| live.get(&old.target)) {
        let was_bound = binding.state == BindingState::Unscheduled && binding.was_bound;
        if binding.state == BindingState::Bound || was_bound {
            return Err(RollingError::BoundAndDeleting(binding.name.clone()));
        }
        waits = true;
    }
    Ok(waits)
}
