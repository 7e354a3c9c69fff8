//! The bindings of a placement, sorted by what a pass does with them.
//!
//! Follows `pickBindingsToRoll` and `isBindingReady` in `pkg/controllers/rollout/controller.go`; the kinds have the
//! names of its lists. A pass asks [`Candidates`] for numbers and for the next binding of a kind in the order of names.
//! The program's answers come from [`CandidateSets`], which follow changes; tests run the same pass on a plain scan of
//! all bindings.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::super::{Revision, TargetId, TargetSet};
use super::super::binding::{BindingState, ConditionReason, ConditionStatus, Layout};
use super::super::{ApplyStrategy, Binding};
use super::RollingUpdate;
use super::view::RollingView;
use crate::units::{SimDuration, SimTime};

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

/// A pass's view of the bindings, by their places in the list.
pub(super) trait Candidates {
    /// The first binding of a kind at or after a place.
    fn next(&self, kind: BindingKind, from: u32) -> Option<u32>;

    /// Number of bindings of a kind.
    fn count(&self, kind: BindingKind) -> usize;

    /// The first known time after which a binding becomes ready by itself.
    fn first_ready_after(&self) -> Option<SimTime>;

    /// All bindings of a kind at or after a place.
    fn from(&self, kind: BindingKind, from: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.next(kind, from), move |place| self.next(kind, place + 1))
    }
}

/// The kinds of one binding, one bit each. The default: it is gone.
#[derive(Clone, Copy, Debug, Default)]
struct SeenBinding {
    kinds: u32,
    ready_after: Option<SimTime>,
}

impl SeenBinding {
    fn of(update: &RollingUpdate, now: SimTime, view: &RollingView, place: u32) -> Self {
        let Some(binding) = view.bindings.at(place) else { return Self::default() };
        let mut seen = Self::default();
        let mut is = |kind: BindingKind, holds: bool| seen.kinds |= u32::from(holds) << kind as u32;
        let (is_picked, is_unmarked) = (binding.state != BindingState::Unscheduled, !binding.is_marked_blocked());
        is(BindingKind::OtherStrategy, !binding.deleting && binding.apply_strategy != Some(view.apply_strategy));
        is(BindingKind::SchedulerTargeted, is_picked);
        is(BindingKind::LacksStart, is_picked && !binding.has_started());
        is(BindingKind::Behind, !view.has(binding));
        if binding.state == BindingState::Scheduled {
            is(BindingKind::BoundingCandidate, true);
            is(BindingKind::BoundingCandidateUnmarked, is_unmarked);
            return seen;
        }
        let has_failed = binding.has_failed(update.defects);
        is(BindingKind::CanBeReady, !(has_failed || binding.is_diff_reported() || binding.has_diff_failed()));
        match readiness(binding, now, update.period) {
            Readiness::Ready => {
                is(BindingKind::Ready, true);
                is(BindingKind::CanBeUnavailable, binding.deleting);
            }
            Readiness::Unknown => is(BindingKind::NotReady, true),
            Readiness::After(time) => seen.ready_after = Some(time),
        }
        if !binding.deleting {
            let kind = match binding.state {
                BindingState::Unscheduled => BindingKind::RemoveCandidate,
                _ if binding.snapshot == view.latest_snapshot => BindingKind::UpToDateBound,
                _ if has_failed => BindingKind::ApplyFailedUpdateCandidate,
                _ => BindingKind::UpdateCandidate,
            };
            is(kind, kind != BindingKind::UpToDateBound || !binding.has_started());
            is(BindingKind::UpdateCandidateUnmarked, kind == BindingKind::UpdateCandidate && is_unmarked);
        }
        seen
    }
}

/// Whether a binding is ready; if not, after which time it is, if known.
enum Readiness {
    Ready,
    After(SimTime),
    Unknown,
}

fn readiness(binding: &Binding, now: SimTime, period: SimDuration) -> Readiness {
    let available = binding.conditions.available.filter(|_| !binding.is_diff_reported());
    match available {
        None if binding.is_diff_reported() => Readiness::Ready,
        Some(condition) if binding.is(available, ConditionStatus::True) => {
            let is_tracked = condition.reason != ConditionReason::NotAllWorkAreAvailabilityTrackable;
            // At exactly the period it is not ready yet, and no wait is left.
            let time = condition.since + period;
            if is_tracked || time < now { Readiness::Ready } else { Readiness::After(time) }
        }
        _ => Readiness::Unknown,
    }
}

/// The places of each kind as the last pass saw them. They follow changes of placements without a cluster that has
/// several bindings; for others they are built anew.
#[derive(Clone, Debug)]
pub(super) struct CandidateSets {
    layout: Arc<Layout>,
    apply_strategy: ApplyStrategy,
    latest: Option<Revision>,
    /// When they were last brought up to date.
    at: SimTime,
    kinds: [TargetSet; COUNT],
    seen: Vec<SeenBinding>,
    by_time: BTreeSet<(SimTime, u32)>,
}

impl CandidateSets {
    pub(super) fn new(update: &RollingUpdate, now: SimTime, view: &RollingView) -> Self {
        let places = view.bindings.places();
        let mut sets = Self {
            layout: Arc::clone(view.bindings.layout()),
            apply_strategy: view.apply_strategy,
            latest: view.latest_snapshot,
            at: now,
            kinds: std::array::from_fn(|_| TargetSet::new(places)),
            seen: vec![SeenBinding::default(); places],
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
        now: SimTime,
        view: &RollingView,
        changed: &TargetSet,
    ) -> Option<Self> {
        let is_same = (self.apply_strategy, self.latest) == (view.apply_strategy, view.latest_snapshot);
        let is_same = is_same && Arc::ptr_eq(&self.layout, view.bindings.layout()) && now >= self.at;
        if !is_same || !view.bindings.are_single() {
            return None;
        }
        self.at = now;
        while let Some((_, place)) = self.by_time.first().copied().filter(|(time, _)| *time < now) {
            self.observe(place, update, view);
        }
        for place in changed.iter().filter_map(|target| view.bindings.place(TargetId(target))) {
            self.observe(place, update, view);
        }
        Some(self)
    }

    fn observe(&mut self, place: u32, update: &RollingUpdate, view: &RollingView) {
        let seen = SeenBinding::of(update, self.at, view, place);
        let before = std::mem::replace(&mut self.seen[place as usize], seen);
        let mut changed = before.kinds ^ seen.kinds;
        while changed != 0 {
            let kind = changed.trailing_zeros();
            self.kinds[kind as usize].set(place, seen.kinds >> kind & 1 == 1);
            changed &= changed - 1;
        }
        if before.ready_after != seen.ready_after {
            before.ready_after.map(|time| self.by_time.remove(&(time, place)));
            self.by_time.extend(seen.ready_after.map(|time| (time, place)));
        }
    }

    pub(super) fn contains(&self, kind: BindingKind, place: u32) -> bool {
        self.kinds[kind as usize].contains(place)
    }
}

impl Candidates for CandidateSets {
    fn next(&self, kind: BindingKind, from: u32) -> Option<u32> {
        self.kinds[kind as usize].next(from)
    }

    fn count(&self, kind: BindingKind) -> usize {
        self.kinds[kind as usize].len()
    }

    fn first_ready_after(&self) -> Option<SimTime> {
        self.by_time.first().map(|(time, _)| *time)
    }
}

/// Looks at every binding for each question: passes over the sets are compared with passes over this.
#[cfg(test)]
pub(super) struct Scan<'a> {
    pub(super) update: &'a RollingUpdate,
    pub(super) now: SimTime,
    pub(super) view: &'a RollingView,
}

#[cfg(test)]
impl Scan<'_> {
    fn seen(&self, from: u32) -> impl Iterator<Item = (u32, SeenBinding)> {
        let places = from..self.view.bindings.places() as u32;
        places.map(|place| (place, SeenBinding::of(self.update, self.now, self.view, place)))
    }
}

#[cfg(test)]
impl Candidates for Scan<'_> {
    fn next(&self, kind: BindingKind, from: u32) -> Option<u32> {
        self.seen(from).find(|(_, seen)| seen.kinds >> kind as u32 & 1 == 1).map(|(place, _)| place)
    }

    fn count(&self, kind: BindingKind) -> usize {
        self.seen(0).filter(|(_, seen)| seen.kinds >> kind as u32 & 1 == 1).count()
    }

    fn first_ready_after(&self) -> Option<SimTime> {
        self.seen(0).filter_map(|(_, seen)| seen.ready_after).min()
    }
}
