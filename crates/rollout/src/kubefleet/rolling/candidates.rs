//! The bindings of a placement, sorted by the actions that a pass may take on them.
//!
//! Follows `pickBindingsToRoll` and `isBindingReady` in `pkg/controllers/rollout/controller.go`; the kinds are named
//! after the lists of this code. A pass queries [`CandidateSets`] for counts and for the bindings of a kind in the
//! order of names. The sets are updated with changes; tests run the same pass on sets that are rebuilt from all
//! bindings.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::super::{Revision, TargetId, TargetSet};
use super::super::binding::{BindingState, Layout};
use super::super::{ApplyStrategy, Binding, WorkState};
use super::RollingUpdate;
use super::view::{BindingCounts, RollingView};
use fleetsim_units::SimTime;

/// A reason to count or pick a binding. A binding can be of several kinds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BindingKind {
    /// Bindings whose apply strategy differs from the placement's.
    OtherStrategy,
    /// Scheduled or Bound bindings.
    SchedulerTargeted,
    Ready,
    /// Ready bindings that are being deleted.
    CanBeUnavailable,
    CanBeReady,
    /// Bindings that are not ready, and without a known time at which they become ready.
    NotReady,
    /// Scheduled bindings.
    BoundingCandidate,
    /// Unscheduled bindings that are not being deleted.
    RemoveCandidate,
    /// Bindings that are bound to another resource snapshot.
    UpdateCandidate,
    /// Update candidates that have failed.
    ApplyFailedUpdateCandidate,
    /// Bindings that are bound to the newest resource snapshot, without RolloutStarted.
    UpToDateBound,
    /// Scheduled or Bound bindings without RolloutStarted.
    LacksStart,
    /// BoundingCandidates whose RolloutStarted does not show yet that they are blocked.
    BoundingCandidateUnmarked,
    /// UpdateCandidates whose RolloutStarted does not show yet that they are blocked.
    UpdateCandidateUnmarked,
    /// Bindings that prevent the rollout from being done.
    Behind,
}

const COUNT: usize = BindingKind::Behind as usize + 1;

/// The kinds of one binding, as a pass sees it. A removed binding has no kinds.
#[derive(Clone, Copy, Default)]
struct SeenBinding {
    /// One bit for each [`BindingKind`].
    kinds: u32,
    /// The known time after which the binding becomes ready without a change.
    ready_after: Option<SimTime>,
}

impl SeenBinding {
    fn at(update: &RollingUpdate, view: &RollingView, place: u32) -> Self {
        let mut seen = Self::default();
        let Some(binding) = view.bindings.at(place) else {
            return seen;
        };
        let is_picked = binding.state != BindingState::Unscheduled;
        let has_other_strategy = binding.apply_strategy != Some(view.apply_strategy);
        seen.set(
            BindingKind::OtherStrategy,
            !binding.deleting && has_other_strategy,
        );
        seen.set(BindingKind::SchedulerTargeted, is_picked);
        seen.set(BindingKind::LacksStart, is_picked && !binding.has_started());
        seen.set(BindingKind::Behind, !view.has(binding));
        if binding.state == BindingState::Scheduled {
            seen.set(BindingKind::BoundingCandidate, true);
            seen.set(
                BindingKind::BoundingCandidateUnmarked,
                !binding.is_marked_blocked(),
            );
            return seen;
        }
        let has_failed = binding.has_failed(update.bugs);
        seen.see_readiness(update, binding, has_failed);
        if !binding.deleting {
            seen.see_candidate(view, binding, has_failed);
        }
        seen
    }

    /// Determines whether a binding whose cluster may have the resources is ready, or may become ready.
    fn see_readiness(&mut self, update: &RollingUpdate, binding: &Binding, has_failed: bool) {
        let state = binding.work_state();
        let is_diff = matches!(state, WorkState::DiffReported | WorkState::DiffFailed);
        self.set(BindingKind::CanBeReady, !has_failed && !is_diff);
        let is_ready = if state == WorkState::AvailableUntrackable {
            // Without availability tracking: exactly at the end of the period the binding is not ready yet, and the
            // remaining wait is 0.
            let ready_after = binding.work.since + update.period();
            let is_ready = ready_after < update.last;
            if !is_ready {
                self.ready_after = Some(ready_after);
            }
            is_ready
        } else {
            matches!(state, WorkState::Available | WorkState::DiffReported)
        };
        self.set(BindingKind::Ready, is_ready);
        self.set(BindingKind::CanBeUnavailable, is_ready && binding.deleting);
        self.set(
            BindingKind::NotReady,
            !is_ready && self.ready_after.is_none(),
        );
    }

    /// Determines the action that a pass may take on a binding that is not being deleted.
    fn see_candidate(&mut self, view: &RollingView, binding: &Binding, has_failed: bool) {
        if binding.state == BindingState::Unscheduled {
            self.set(BindingKind::RemoveCandidate, true);
        } else if binding.snapshot == view.latest_snapshot {
            self.set(BindingKind::UpToDateBound, !binding.has_started());
        } else if has_failed {
            self.set(BindingKind::ApplyFailedUpdateCandidate, true);
        } else {
            self.set(BindingKind::UpdateCandidate, true);
            self.set(
                BindingKind::UpdateCandidateUnmarked,
                !binding.is_marked_blocked(),
            );
        }
    }

    fn set(&mut self, kind: BindingKind, is_of_kind: bool) {
        self.kinds |= u32::from(is_of_kind) << kind as u32;
    }

    const fn is(self, kind: usize) -> bool {
        self.kinds >> kind & 1 == 1
    }
}

/// The indices of each kind as the last pass saw them. If no cluster has several bindings, the indices are updated
/// with changes; otherwise they are rebuilt.
#[derive(Clone, Debug)]
pub(super) struct CandidateSets {
    layout: Arc<Layout>,
    apply_strategy: ApplyStrategy,
    latest: Option<Revision>,
    kinds: [TargetSet; COUNT],
    /// The known times after which bindings become ready without a change, by index and in time order.
    ready_after: Vec<Option<SimTime>>,
    by_time: BTreeSet<(SimTime, u32)>,
}

impl CandidateSets {
    /// Builds the sets at the time of the last pass.
    pub(super) fn new(update: &RollingUpdate, view: &RollingView) -> Self {
        let places = view.bindings.places();
        let mut sets = Self {
            layout: Arc::clone(view.bindings.layout()),
            apply_strategy: view.apply_strategy,
            latest: view.latest_snapshot,
            kinds: std::array::from_fn(|_| TargetSet::new(places)),
            ready_after: vec![None; places],
            by_time: BTreeSet::new(),
        };
        for place in 0..places as u32 {
            sets.observe(place, update, view);
        }
        sets
    }

    /// Examines the bindings of these clusters again, and those that have become ready in the meantime. `None`: all
    /// bindings must be examined.
    pub(super) fn update(
        mut self,
        update: &RollingUpdate,
        view: &RollingView,
        changed: &TargetSet,
    ) -> Option<Self> {
        if self.apply_strategy != view.apply_strategy
            || self.latest != view.latest_snapshot
            || !Arc::ptr_eq(&self.layout, view.bindings.layout())
            || !view.bindings.are_single()
        {
            return None;
        }
        while let Some(&(time, place)) = self.by_time.first()
            && time < update.last
        {
            self.observe(place, update, view);
        }
        for target in changed.iter() {
            if let Some(place) = view.bindings.place(TargetId(target)) {
                self.observe(place, update, view);
            }
        }
        Some(self)
    }

    fn observe(&mut self, place: u32, update: &RollingUpdate, view: &RollingView) {
        let seen = SeenBinding::at(update, view, place);
        for (kind, set) in self.kinds.iter_mut().enumerate() {
            set.set(place, seen.is(kind));
        }
        let before = std::mem::replace(&mut self.ready_after[place as usize], seen.ready_after);
        if let Some(time) = before {
            self.by_time.remove(&(time, place));
        }
        if let Some(time) = seen.ready_after {
            self.by_time.insert((time, place));
        }
    }

    /// Returns the number of bindings of a kind.
    pub(super) fn count(&self, kind: BindingKind) -> usize {
        self.kinds[kind as usize].len()
    }

    /// Returns all bindings of a kind at or after an index.
    pub(super) fn from(&self, kind: BindingKind, from: u32) -> impl Iterator<Item = u32> {
        self.kinds[kind as usize].iter_from(from)
    }

    /// Returns the clusters of all bindings of a kind at or after an index.
    pub(super) fn targets(
        &self,
        view: &RollingView,
        kind: BindingKind,
        from: u32,
    ) -> impl Iterator<Item = TargetId> {
        self.from(kind, from)
            .map(|place| view.bindings.target_at(place))
    }

    /// Returns the controller's counters.
    pub(super) fn binding_counts(&self, view: &RollingView) -> BindingCounts {
        let target = match view.requested {
            Some(requested) => i64::from(requested),
            None => self.count(BindingKind::SchedulerTargeted) as i64,
        };
        BindingCounts {
            target,
            ready: self.count(BindingKind::Ready) as i64,
            can_be_unavailable: self.count(BindingKind::CanBeUnavailable) as i64,
            can_be_ready: self.count(BindingKind::CanBeReady) as i64,
            bounding_candidates: self.count(BindingKind::BoundingCandidate) as i64,
            remove_candidates: self.count(BindingKind::RemoveCandidate) as i64,
            update_candidates: self.count(BindingKind::UpdateCandidate) as i64,
            failed_update_candidates: self.count(BindingKind::ApplyFailedUpdateCandidate) as i64,
        }
    }

    /// Returns the first known time after which a binding becomes ready without a change.
    pub(super) fn first_ready_after(&self) -> Option<SimTime> {
        let (time, _) = self.by_time.first()?;
        Some(*time)
    }
}
