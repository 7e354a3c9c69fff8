//! What a pass needs to know of the bindings that did not change: counts, and ordered sets of candidates.
//!
//! A [`RollingLedger`] has a record for each binding, by its place in the list of bindings, and the places of those
//! that a pass may pick next. Left out: placements of which a cluster has several bindings; their passes look at all.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::super::{Revision, TargetId, TargetSet};
use super::super::binding::{BindingState, Layout};
use super::super::{ApplyStrategy, Binding};
use super::RollingUpdate;
use super::pass::{Readiness, readiness};
use super::view::{BindingCounts, RollingView};
use crate::units::{SimDuration, SimTime};

/// The operation that a binding waits for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Group {
    #[default]
    None,
    Bounding,
    Removing,
    Updating,
    Failed,
    /// Up to date, without RolloutStarted.
    Starting,
}

/// What a pass sees in one binding. The default: it is gone.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct SeenBinding {
    group: Group,
    is_targeted: bool,
    can_be_ready: bool,
    is_ready: bool,
    is_deleting: bool,
    /// It is not ready, and nobody knows when it will be.
    is_unknown: bool,
    /// It is not ready until then.
    waits_until: Option<SimTime>,
    lacks_start: bool,
    has_other_strategy: bool,
    /// Its RolloutStarted says that it is blocked.
    is_marked: bool,
    /// It keeps the rollout from being done.
    is_behind: bool,
}

impl SeenBinding {
    fn of(update: &RollingUpdate, now: SimTime, view: &RollingView, binding: &Binding) -> Self {
        let mut seen = Self {
            is_targeted: binding.state != BindingState::Unscheduled,
            is_deleting: binding.deleting,
            lacks_start: binding.state != BindingState::Unscheduled && !binding.has_started(),
            has_other_strategy: !binding.deleting && binding.apply_strategy != Some(view.apply_strategy),
            is_marked: binding.is_marked_blocked(),
            is_behind: !view.has(binding),
            ..Self::default()
        };
        if binding.state == BindingState::Scheduled {
            seen.group = Group::Bounding;
            return seen;
        }
        let has_failed = binding.has_failed(update.defects);
        seen.can_be_ready = !has_failed && !binding.has_diff_status();
        match readiness(binding, now, update.period) {
            Readiness::Ready => seen.is_ready = true,
            Readiness::Unknown => seen.is_unknown = true,
            Readiness::In(wait) => seen.waits_until = Some(now + wait),
        }
        seen.group = match binding.state {
            _ if binding.deleting => Group::None,
            BindingState::Unscheduled => Group::Removing,
            _ if binding.snapshot == view.latest_snapshot && binding.has_started() => Group::None,
            _ if binding.snapshot == view.latest_snapshot => Group::Starting,
            _ if has_failed => Group::Failed,
            _ => Group::Updating,
        };
        seen
    }
}

/// The bindings of a placement as the last pass saw them. Sets have places.
#[derive(Clone, Debug)]
pub(super) struct RollingLedger {
    layout: Arc<Layout>,
    apply_strategy: ApplyStrategy,
    latest: Option<Revision>,
    /// When it was last brought up to date.
    at: SimTime,
    seen: Vec<SeenBinding>,
    counts: BindingCounts,
    unknown: usize,
    behind: usize,
    /// Bindings that are ready at a known time, unless something happens.
    waiting: BTreeSet<(SimTime, u32)>,
    pub(super) bounding: TargetSet,
    pub(super) removing: TargetSet,
    pub(super) updating: TargetSet,
    pub(super) failed: TargetSet,
    pub(super) starting: TargetSet,
    /// Of those to update and of those to bind, the ones whose RolloutStarted does not say that they are blocked.
    unmarked: [TargetSet; 2],
    pub(super) lacking_start: TargetSet,
    pub(super) other_strategy: TargetSet,
    /// From which place on bindings to update and to bind are blocked. `None`: none is.
    pub(super) blocked_from: [Option<u32>; 2],
}

impl RollingLedger {
    /// The ledger of all bindings. `None`: it could not tell them apart by cluster.
    pub(super) fn new(update: &RollingUpdate, now: SimTime, view: &RollingView) -> Option<Self> {
        let (bindings, none) = (&view.bindings, || TargetSet::new(view.bindings.places()));
        if !bindings.are_single() || view.latest_snapshot.is_none() {
            return None;
        }
        let mut ledger = Self {
            layout: Arc::clone(bindings.layout()),
            apply_strategy: view.apply_strategy,
            latest: view.latest_snapshot,
            at: now,
            seen: vec![SeenBinding::default(); bindings.places()],
            counts: BindingCounts::default(),
            unknown: 0,
            behind: 0,
            waiting: BTreeSet::new(),
            bounding: none(),
            removing: none(),
            updating: none(),
            failed: none(),
            starting: none(),
            unmarked: [none(), none()],
            lacking_start: none(),
            other_strategy: none(),
            blocked_from: [None; 2],
        };
        for place in 0..bindings.places() as u32 {
            ledger.observe(place, update, view);
        }
        Some(ledger)
    }

    /// Observes the bindings of these clusters again, and those whose time has come. False: it does not cover the
    /// change.
    pub(super) fn update(
        &mut self,
        update: &RollingUpdate,
        now: SimTime,
        view: &RollingView,
        changed: &TargetSet,
    ) -> bool {
        let is_same = (self.apply_strategy, self.latest) == (view.apply_strategy, view.latest_snapshot);
        if !is_same || !Arc::ptr_eq(&self.layout, view.bindings.layout()) || now < self.at {
            return false;
        }
        self.at = now;
        while let Some((_, place)) = self.waiting.first().copied().filter(|(until, _)| *until < now) {
            self.observe(place, update, view);
        }
        for place in changed.iter().filter_map(|target| view.bindings.place(TargetId(target))) {
            self.observe(place, update, view);
        }
        true
    }

    fn observe(&mut self, place: u32, update: &RollingUpdate, view: &RollingView) {
        let new =
            view.bindings.at(place).map_or_else(SeenBinding::default, |it| SeenBinding::of(update, self.at, view, it));
        let old = std::mem::replace(&mut self.seen[place as usize], new);
        if old == new {
            return;
        }
        self.count(old, -1);
        self.count(new, 1);
        if let Some(until) = old.waits_until {
            self.waiting.remove(&(until, place));
        }
        self.waiting.extend(new.waits_until.map(|until| (until, place)));
        self.bounding.set(place, new.group == Group::Bounding);
        self.removing.set(place, new.group == Group::Removing);
        self.updating.set(place, new.group == Group::Updating);
        self.failed.set(place, new.group == Group::Failed);
        self.starting.set(place, new.group == Group::Starting);
        self.unmarked[0].set(place, new.group == Group::Updating && !new.is_marked);
        self.unmarked[1].set(place, new.group == Group::Bounding && !new.is_marked);
        self.lacking_start.set(place, new.lacks_start);
        self.other_strategy.set(place, new.has_other_strategy);
    }

    fn count(&mut self, seen: SeenBinding, sign: i64) {
        let add = |count: &mut i64, holds: bool| *count += sign * i64::from(holds);
        add(&mut self.counts.target, seen.is_targeted);
        add(&mut self.counts.ready, seen.is_ready);
        add(&mut self.counts.can_be_unavailable, seen.is_ready && seen.is_deleting);
        add(&mut self.counts.can_be_ready, seen.can_be_ready);
        let add =
            |count: &mut usize, holds: bool| *count = count.wrapping_add_signed(sign as isize * isize::from(holds));
        add(&mut self.unknown, seen.is_unknown);
        add(&mut self.behind, seen.is_behind);
    }

    /// The counters of the pass; of the bindings, not of the placement, where that asks for a number.
    pub(super) fn counts(&self) -> BindingCounts {
        BindingCounts {
            bounding_candidates: self.bounding.len() as i64,
            remove_candidates: self.removing.len() as i64,
            update_candidates: self.updating.len() as i64,
            failed_update_candidates: self.failed.len() as i64,
            ..self.counts
        }
    }

    /// The shortest known time until an unready binding becomes ready, and whether any is not ready.
    pub(super) fn wait(&self) -> (Option<SimDuration>, bool) {
        let wait = self.waiting.first().map(|(until, _)| until.since(self.at));
        (wait, wait.is_some() || self.unknown > 0)
    }

    /// Whether nothing is behind.
    pub(super) const fn is_done(&self) -> bool {
        self.behind == 0
    }

    /// The bindings that the pass blocks.
    pub(super) fn blocked(&self) -> impl Iterator<Item = u32> {
        Self::from(self.blocked_from, [&self.updating, &self.bounding])
    }

    /// Those of them whose RolloutStarted does not say so.
    pub(super) fn newly_blocked(&self) -> impl Iterator<Item = u32> {
        Self::from(self.blocked_from, self.unmarked.each_ref())
    }

    fn from<'s>(from: [Option<u32>; 2], sets: [&'s TargetSet; 2]) -> impl Iterator<Item = u32> + use<'s> {
        from.into_iter().zip(sets).flat_map(|(from, set)| from.into_iter().flat_map(|from| set.iter_from(from)))
    }

    /// Whether the last pass blocks the binding at a place.
    pub(super) fn is_blocked(&self, place: u32) -> bool {
        let is_in =
            |(from, set): (Option<u32>, &TargetSet)| from.is_some_and(|from| from <= place) && set.contains(place);
        self.blocked_from.into_iter().zip([&self.updating, &self.bounding]).any(is_in)
    }
}
