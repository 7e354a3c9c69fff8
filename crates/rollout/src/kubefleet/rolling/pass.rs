//! One pass: selects the bindings to update, bind and delete.
//!
//! Follows `Reconcile`, `processApplyStrategyUpdates`, `waitForResourcesToCleanUp`, `determineBindingsToUpdate`,
//! `calculateMaxToRemove` and `calculateMaxToAdd` in `pkg/controllers/rollout/controller.go`.
//!
//! `maxUnavailable` is a budget on *ready* bindings: every binding that is not ready uses it, for any reason. Failed
//! bindings are updated regardless of this budget. As shipped, all bindings in progress count as failed.

use std::collections::BTreeMap;

use super::super::super::{Pass, QueueRequest, Revision, TargetId, TargetSet};
use super::super::binding::BindingState;
use super::super::control_loop::CLEAN_UP_WAIT;
use super::super::{Binding, RuleSet};
use super::RollingUpdate;
use super::candidates::{BindingKind, CandidateSets};
use super::view::{
    BindingCounts, BlockedFrom, RollingAction, RollingDecision, RollingError, RollingStatus,
    RollingView, Room,
};
use fleetsim_units::{SimDuration, SimTime};

/// Maximum number of bindings of a placement whose passes are compared, in tests, with passes over rebuilt sets.
#[cfg(test)]
const SCANNED_MAX: usize = 100;

impl RollingUpdate {
    /// Runs one pass of the rollout reconciler over all bindings. The status of the decision tells the queue when to
    /// run the next pass.
    ///
    /// [`RollingStatus::blocked`] lists only blocked bindings whose conditions do not show this yet.
    pub fn reconcile(&mut self, now: SimTime, view: &RollingView) -> RollingDecision {
        self.sets = None;
        self.reconcile_changed(now, view, &TargetSet::default())
    }

    /// Runs one pass like [`Self::reconcile`], at a cost that depends on what changed. The caller guarantees that only
    /// bindings of clusters in `changed` differ from those of the last pass. `changed` includes the clusters that
    /// storing the last pass has changed ([`Bindings::changed`](super::super::Bindings::changed)). The first pass, and
    /// a pass after a change of the limits or of the newest resource snapshot, examines all bindings.
    pub fn reconcile_changed(
        &mut self,
        now: SimTime,
        view: &RollingView,
        changed: &TargetSet,
    ) -> RollingDecision {
        self.last = now;
        let known = self.sets.take();
        let updated = known.and_then(|sets| sets.update(self, view, changed));
        let sets = match updated {
            Some(sets) => sets,
            None => CandidateSets::new(self, view),
        };
        let decision = self.pass(view, &sets);
        #[cfg(test)]
        if view.bindings.places() <= SCANNED_MAX {
            let scanned = self.pass(view, &CandidateSets::new(self, view));
            assert_eq!(
                decision, scanned,
                "a pass over the sets decides as one over sets built again"
            );
            assert_eq!(sets.count(BindingKind::Behind) == 0, view.is_done());
        }
        self.sets = Some(sets);
        decision
    }

    /// Returns all clusters whose binding is blocked by this pass, which must be the last one that ran.
    pub fn blocked(&self, pass: &RollingStatus, view: &RollingView) -> Vec<TargetId> {
        let mut blocked = Vec::new();
        let Some(sets) = &self.sets else {
            return blocked;
        };
        let BlockedFrom { updates, bindings } = pass.blocked_from;
        if let Some(from) = updates {
            blocked.extend(sets.targets(view, BindingKind::UpdateCandidate, from));
        }
        if let Some(from) = bindings {
            blocked.extend(sets.targets(view, BindingKind::BoundingCandidate, from));
        }
        blocked
    }

    /// Returns [`RollingView::is_done`] at the time of the last pass.
    pub fn is_done(&self, view: &RollingView) -> bool {
        match &self.sets {
            Some(sets) => sets.count(BindingKind::Behind) == 0,
            None => view.is_done(),
        }
    }

    pub(super) fn pass(&self, view: &RollingView, candidates: &CandidateSets) -> RollingDecision {
        let mut pass = Pass {
            actions: Vec::new(),
            wake_at: None,
            status: RollingStatus::default(),
        };
        let others = candidates.targets(view, BindingKind::OtherStrategy, 0);
        pass.status.patched = others.collect();
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
        let counts = candidates.binding_counts(view);
        status.counts = Some(counts);
        if counts.all_candidates() == 0 {
            let started = candidates.targets(view, BindingKind::LacksStart, 0);
            status.restarted = started.collect();
            return;
        }
        let room = self.room(counts);
        status.room = Some(room);
        let removed = room.to_remove.clamp(0, counts.remove_candidates);
        let updated = (room.to_remove - removed).clamp(0, counts.update_candidates);
        let bound = room.to_add.clamp(0, counts.bounding_candidates);
        for target in candidates.targets(view, BindingKind::ApplyFailedUpdateCandidate, 0) {
            actions.push(RollingAction::Deploy(target, latest));
        }
        let removing = candidates.targets(view, BindingKind::RemoveCandidate, 0);
        actions.extend(removing.take(removed as usize).map(RollingAction::Delete));
        let updates = RollingWave::updates(updated as usize);
        let bindings = RollingWave::bindings(bound as usize);
        status.blocked_from = BlockedFrom {
            updates: updates.deploy(view, candidates, latest, actions),
            bindings: bindings.deploy(view, candidates, latest, actions),
        };
        if let Some(from) = status.blocked_from.updates {
            let unmarked = candidates.targets(view, updates.unmarked, from);
            status.blocked.extend(unmarked);
        }
        if let Some(from) = status.blocked_from.bindings {
            let unmarked = candidates.targets(view, bindings.unmarked, from);
            status.blocked.extend(unmarked);
        }
        let restarted = candidates.targets(view, BindingKind::UpToDateBound, 0);
        status.restarted = restarted.collect();
        let ready_after = candidates.first_ready_after();
        let wait = ready_after.map(|time| time.since(self.last));
        let is_waiting = wait.is_some() || candidates.count(BindingKind::NotReady) > 0;
        status.next = self.next(wait, is_waiting);
    }

    /// Returns how many bindings the limits allow a pass to roll.
    fn room(&self, counts: BindingCounts) -> Room {
        let limits = self.limits(counts.target);
        let least_ready = counts.target - limits.max_unavailable;
        Room {
            to_remove: counts.ready - counts.can_be_unavailable - least_ready,
            to_add: counts.target + limits.max_surge - counts.can_be_ready,
        }
    }

    fn next(&self, wait: Option<SimDuration>, is_waiting: bool) -> QueueRequest {
        let wait = match self.rules {
            _ if !is_waiting => Some(SimDuration::ZERO),
            RuleSet::Shipped => Some(wait.unwrap_or(SimDuration::MAX).min(self.period())),
            // KubeFleet's document about this period: "Only matters for resources whose availability cannot be
            // tracked."
            RuleSet::Documented => wait,
        };
        match wait {
            None => QueueRequest::None,
            Some(wait) if wait.is_zero() => QueueRequest::RateLimited,
            Some(wait) => QueueRequest::After(wait),
        }
    }
}

/// Candidates in order; a pass deploys to the first ones.
struct RollingWave {
    kind: BindingKind,
    /// Candidates whose RolloutStarted does not show yet that they are blocked.
    unmarked: BindingKind,
    size: usize,
}

impl RollingWave {
    /// Creates a wave of bindings with an older snapshot.
    const fn updates(size: usize) -> Self {
        Self {
            kind: BindingKind::UpdateCandidate,
            unmarked: BindingKind::UpdateCandidateUnmarked,
            size,
        }
    }

    /// Creates a wave of bindings that are only scheduled.
    const fn bindings(size: usize) -> Self {
        Self {
            kind: BindingKind::BoundingCandidate,
            unmarked: BindingKind::BoundingCandidateUnmarked,
            size,
        }
    }

    /// Deploys to the first candidates. Returns the index from which candidates are blocked.
    fn deploy(
        &self,
        view: &RollingView,
        candidates: &CandidateSets,
        latest: Revision,
        actions: &mut Vec<RollingAction>,
    ) -> Option<u32> {
        let mut places = candidates.from(self.kind, 0);
        for place in places.by_ref().take(self.size) {
            let target = view.bindings.target_at(place);
            actions.push(RollingAction::Deploy(target, latest));
        }
        places.next()
    }
}

/// Returns whether a cluster that needs the resources is still being cleaned up. No binding is rolled until then.
fn has_to_clean_up(view: &RollingView) -> Result<bool, RollingError> {
    if view.bindings.are_single() {
        return Ok(false);
    }
    let mut live: BTreeMap<TargetId, &Binding> = BTreeMap::new();
    for binding in view.bindings.iter().filter(|binding| !binding.deleting) {
        if let Some(first) = live.insert(binding.target, binding) {
            return Err(RollingError::TwoBindings {
                first: first.name.clone(),
                second: binding.name.clone(),
            });
        }
    }
    let mut waits = false;
    for deleting in view.bindings.iter().filter(|binding| binding.deleting) {
        let Some(binding) = live.get(&deleting.target) else {
            continue;
        };
        let was_bound = binding.state == BindingState::Unscheduled && binding.was_bound;
        if binding.state == BindingState::Bound || was_bound {
            return Err(RollingError::BoundAndDeleting(binding.name.clone()));
        }
        waits = true;
    }
    Ok(waits)
}
