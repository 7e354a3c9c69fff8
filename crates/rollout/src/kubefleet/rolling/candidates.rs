//! The bindings of a placement, sorted by what a pass does with them.
//!
//! Follows `pickBindingsToRoll` and `isBindingReady` in `pkg/controllers/rollout/controller.go`; the kinds have the
//! names of its lists. A pass asks [`CandidateSets`] for numbers and for the bindings of a kind in the order of names.
//! They follow changes; tests run the same pass on sets that are made anew of all bindings.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::super::{Revision, TargetId, TargetSet};
use super::super::binding::{BindingState, Layout};
use super::super::{ApplyStrategy, WorkState};
use super::RollingUpdate;
use super::view::RollingView;
use fleetsim_units::SimTime;

/// A reason to count or pick a binding. A binding can be of several kinds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BindingKind {
    /// Its apply strategy is not the placement's.
    OtherStrategy,
    /// Scheduled or Bound.
    SchedulerTargeted,
    Ready,
    /// Ready, and being deleted.
    CanBeUnavailable,
    CanBeReady,
    /// Not ready, at no known time.
    NotReady,
    /// Scheduled.
    BoundingCandidate,
    /// Unscheduled, and not being deleted.
    RemoveCandidate,
    /// Bound to another resource snapshot.
    UpdateCandidate,
    /// The same, and failed.
    ApplyFailedUpdateCandidate,
    /// Bound to the newest resource snapshot, without RolloutStarted.
    UpToDateBound,
    /// Scheduled or Bound, without RolloutStarted.
    LacksStart,
    /// Of these candidates, those whose RolloutStarted does not say yet that they are blocked.
    BoundingCandidateUnmarked,
    UpdateCandidateUnmarked,
    /// It keeps the rollout from being done.
    Behind,
}

const COUNT: usize = BindingKind::Behind as usize + 1;

/// The kinds of the binding at a place, one bit each, and the known time after which it becomes ready by itself. A
/// binding that is gone is of no kind.
fn seen(update: &RollingUpdate, view: &RollingView, place: u32) -> (u32, Option<SimTime>) {
    let Some(binding) = view.bindings.at(place) else {
        return (0, None);
    };
    let mut kinds = 0;
    let mut is = |kind: BindingKind, holds: bool| kinds |= u32::from(holds) << kind as u32;
    let (is_picked, is_unmarked) = (
        binding.state != BindingState::Unscheduled,
        !binding.is_marked_blocked(),
    );
    is(
        BindingKind::OtherStrategy,
        !binding.deleting && binding.apply_strategy != Some(view.apply_strategy),
    );
    is(BindingKind::SchedulerTargeted, is_picked);
    is(BindingKind::LacksStart, is_picked && !binding.has_started());
    is(BindingKind::Behind, !view.has(binding));
    if binding.state == BindingState::Scheduled {
        is(BindingKind::BoundingCandidate, true);
        is(BindingKind::BoundingCandidateUnmarked, is_unmarked);
        return (kinds, None);
    }
    let (state, has_failed) = (binding.work_state(), binding.has_failed(update.defects));
    is(
        BindingKind::CanBeReady,
        !(has_failed || matches!(state, WorkState::DiffReported | WorkState::DiffFailed)),
    );
    // Without availability tracking: at exactly the period it is not ready yet, and no wait is left.
    let ready_after =
        (state == WorkState::AvailableUntrackable).then(|| binding.work.since + update.period());
    let is_ready = match ready_after {
        Some(time) => time < update.last,
        None => matches!(state, WorkState::Available | WorkState::DiffReported),
    };
    is(BindingKind::Ready, is_ready);
    is(BindingKind::CanBeUnavailable, is_ready && binding.deleting);
    is(BindingKind::NotReady, !is_ready && ready_after.is_none());
    if !binding.deleting {
        let kind = match binding.state {
            BindingState::Unscheduled => BindingKind::RemoveCandidate,
            _ if binding.snapshot == view.latest_snapshot => BindingKind::UpToDateBound,
            _ if has_failed => BindingKind::ApplyFailedUpdateCandidate,
            _ => BindingKind::UpdateCandidate,
        };
        is(
            kind,
            kind != BindingKind::UpToDateBound || !binding.has_started(),
        );
        is(
            BindingKind::UpdateCandidateUnmarked,
            kind == BindingKind::UpdateCandidate && is_unmarked,
        );
    }
    (kinds, ready_after.filter(|_| !is_ready))
}

/// The places of each kind as the last pass saw them. They follow changes of placements without a cluster that has
/// several bindings; for others they are built anew.
#[derive(Clone, Debug)]
pub(super) struct CandidateSets {
    layout: Arc<Layout>,
    apply_strategy: ApplyStrategy,
    latest: Option<Revision>,
    kinds: [TargetSet; COUNT],
    /// The known times after which bindings become ready by themselves, by place and in their order.
    ready_after: Vec<Option<SimTime>>,
    by_time: BTreeSet<(SimTime, u32)>,
}

impl CandidateSets {
    /// The sets at the time of the last pass.
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
        (0..places as u32).for_each(|place| sets.observe(place, update, view));
        sets
    }

    /// Observes the bindings of these clusters again, and those that have become ready by themselves. `None`: all have
    /// to be observed.
    pub(super) fn update(
        mut self,
        update: &RollingUpdate,
        view: &RollingView,
        changed: &TargetSet,
    ) -> Option<Self> {
        let is_same =
            (self.apply_strategy, self.latest) == (view.apply_strategy, view.latest_snapshot);
        if !is_same
            || !Arc::ptr_eq(&self.layout, view.bindings.layout())
            || !view.bindings.are_single()
        {
            return None;
        }
        while let Some((_, place)) = self
            .by_time
            .first()
            .copied()
            .filter(|(time, _)| *time < update.last)
        {
            self.observe(place, update, view);
        }
        for place in changed
            .iter()
            .filter_map(|target| view.bindings.place(TargetId(target)))
        {
            self.observe(place, update, view);
        }
        Some(self)
    }

    fn observe(&mut self, place: u32, update: &RollingUpdate, view: &RollingView) {
        let (kinds, ready_after) = seen(update, view, place);
        for (kind, set) in self.kinds.iter_mut().enumerate() {
            set.set(place, kinds >> kind & 1 == 1);
        }
        let before = std::mem::replace(&mut self.ready_after[place as usize], ready_after);
        before.map(|time| self.by_time.remove(&(time, place)));
        self.by_time.extend(ready_after.map(|time| (time, place)));
    }

    /// Number of bindings of a kind.
    pub(super) fn count(&self, kind: BindingKind) -> usize {
        self.kinds[kind as usize].len()
    }

    /// All bindings of a kind at or after a place.
    pub(super) fn from(&self, kind: BindingKind, from: u32) -> impl Iterator<Item = u32> {
        self.kinds[kind as usize].iter_from(from)
    }

    /// The first known time after which a binding becomes ready by itself.
    pub(super) fn first_ready_after(&self) -> Option<SimTime> {
        self.by_time.first().map(|(time, _)| *time)
    }
}
