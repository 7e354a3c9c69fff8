//! One pass: selects the bindings to update, bind and delete.
//!
//! Follows `pickBindingsToRoll` and `determineBindingsToUpdate` in `pkg/controllers/rollout/controller.go`.
//!
//! `maxUnavailable` is a budget on *ready* bindings: every binding that is not ready uses it, for any reason. Failed
//! bindings, which as shipped are all those in progress, are updated regardless of it.

use std::collections::BTreeMap;

use super::super::super::{Revision, TargetId};
use super::super::binding::{BindingState, ConditionReason, ConditionStatus};
use super::super::control_loop::CLEAN_UP_WAIT;
use super::super::queue::QueueRequest;
use super::super::{Binding, RuleSet};
use super::view::{BindingCounts, RollingAction, RollingError, RollingStatus, RollingView, Room};
use super::{RollingLimits, RollingUpdate};
use crate::units::{SimDuration, SimTime};

/// The bindings of a placement, grouped by the possible operation; each list in the order of names.
#[derive(Default)]
struct Sorted {
    counts: BindingCounts,
    bounding: Vec<TargetId>,
    removing: Vec<TargetId>,
    updating: Vec<TargetId>,
    failed: Vec<TargetId>,
    up_to_date: Vec<TargetId>,
    /// The shortest known time until an unready binding becomes ready, and whether any is not ready.
    wait: Option<SimDuration>,
    is_waiting: bool,
}

/// Whether a binding is ready; if not, when it will be, if known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Readiness {
    Ready,
    In(SimDuration),
    #[default]
    Unknown,
}

/// How many of the candidates a pass takes, the first ones of each list; failed ones it takes all.
pub(super) struct Shares {
    pub(super) removed: usize,
    pub(super) updated: usize,
    pub(super) added: usize,
}

impl RollingUpdate {
    pub(super) fn pass(&self, now: SimTime, view: &RollingView) -> (Vec<RollingAction>, RollingStatus) {
        let mut status = RollingStatus { apply_strategy: view.apply_strategy, ..RollingStatus::default() };
        let mut actions = Vec::new();
        if !view.active {
            return (actions, status);
        }
        let has_other = |b: &&Binding| !b.deleting && b.apply_strategy != Some(view.apply_strategy);
        status.patched = view.bindings.iter().filter(has_other).map(|binding| binding.target).collect();
        if !status.patched.is_empty() {
            status.next = QueueRequest::RateLimited;
            return (actions, status);
        }
        match has_to_clean_up(view) {
            Err(error) => {
                status.error = Some(error);
                status.next = QueueRequest::Error;
            }
            Ok(true) => status.next = QueueRequest::After(CLEAN_UP_WAIT),
            Ok(false) => {
                if let Some(latest) = view.latest_snapshot {
                    self.roll(now, view, latest, &mut actions, &mut status);
                }
            }
        }
        (actions, status)
    }

    fn roll(
        &self,
        now: SimTime,
        view: &RollingView,
        latest: Revision,
        actions: &mut Vec<RollingAction>,
        status: &mut RollingStatus,
    ) {
        let mut sorted = self.sort(now, view, latest);
        let targeted = sorted.counts.target;
        sorted.counts.target = view.policy.count().map_or(targeted, i64::from);
        let limits = self.limits(sorted.counts.target);
        let counts = sorted.counts;
        status.counts = Some(counts);
        let lacks_start = |b: &&Binding| b.state != BindingState::Unscheduled && !b.has_started();
        if sorted.bounding.len() + sorted.removing.len() + sorted.updating.len() + sorted.failed.len() == 0 {
            status.restarted = view.bindings.iter().filter(lacks_start).map(|binding| binding.target).collect();
            return;
        }
        let room = Room::of(counts, limits);
        status.room = Some(room);
        let Shares { removed, updated, added } = Shares::of(room, counts);
        let deploy = |&target: &TargetId| RollingAction::Deploy(target, latest);
        actions.extend(sorted.failed.iter().map(deploy));
        actions.extend(sorted.removing[..removed].iter().map(|&target| RollingAction::Delete(target)));
        actions.extend(sorted.updating[..updated].iter().map(deploy));
        actions.extend(sorted.bounding[..added].iter().map(deploy));
        status.blocked = [&sorted.updating[updated..], &sorted.bounding[added..]].concat();
        status.blocked_count = status.blocked.len();
        status.restarted = sorted.up_to_date;
        status.next = self.next(&sorted.wait, sorted.is_waiting);
    }

    pub(super) fn next(&self, wait: &Option<SimDuration>, is_waiting: bool) -> QueueRequest {
        let wait = match (self.rules, is_waiting) {
            (_, false) => SimDuration::ZERO,
            (RuleSet::Shipped, true) => wait.map_or(self.period, |wait| wait.min(self.period)),
            // "Only matters for resources whose availability cannot be tracked."
            (RuleSet::Documented, true) => match wait {
                Some(wait) => *wait,
                None => return QueueRequest::None,
            },
        };
        if wait.is_zero() { QueueRequest::RateLimited } else { QueueRequest::After(wait) }
    }

    fn sort(&self, now: SimTime, view: &RollingView, latest: Revision) -> Sorted {
        let mut sorted = Sorted::default();
        for binding in view.bindings.iter() {
            let target = binding.target;
            if binding.state == BindingState::Scheduled {
                sorted.counts.target += 1;
                sorted.bounding.push(target);
                continue;
            }
            sorted.counts.target += i64::from(binding.state == BindingState::Bound);
            let has_failed = binding.has_failed(self.defects);
            sorted.counts.can_be_ready += i64::from(!has_failed && !binding.has_diff_status());
            let readiness = readiness(binding, now, self.period);
            match readiness {
                Readiness::Ready => sorted.counts.ready += 1,
                Readiness::Unknown => sorted.is_waiting = true,
                Readiness::In(wait) => {
                    sorted.is_waiting = true;
                    sorted.wait = Some(sorted.wait.map_or(wait, |before| before.min(wait)));
                }
            }
            if binding.deleting {
                sorted.counts.can_be_unavailable += i64::from(matches!(readiness, Readiness::Ready));
            } else if binding.state == BindingState::Unscheduled {
                sorted.removing.push(target);
            } else if binding.snapshot == Some(latest) {
                if !binding.has_started() {
                    sorted.up_to_date.push(target);
                }
            } else if has_failed {
                sorted.failed.push(target);
            } else {
                sorted.updating.push(target);
            }
        }
        sorted.counts.bounding_candidates = sorted.bounding.len() as i64;
        sorted.counts.remove_candidates = sorted.removing.len() as i64;
        sorted.counts.update_candidates = sorted.updating.len() as i64;
        sorted.counts.failed_update_candidates = sorted.failed.len() as i64;
        sorted
    }
}

impl Shares {
    pub(super) fn of(room: Room, counts: BindingCounts) -> Self {
        let most = |room: i64, candidates: i64| room.clamp(0, candidates);
        let removed = most(room.to_remove, counts.remove_candidates);
        let updated = most(room.to_remove - removed, counts.update_candidates);
        let added = most(room.to_add, counts.bounding_candidates);
        let [removed, updated, added] = [removed, updated, added].map(|share| share as usize);
        Self { removed, updated, added }
    }
}

impl Room {
    pub(super) fn of(counts: BindingCounts, limits: RollingLimits) -> Self {
        let at_least = counts.target - limits.max_unavailable;
        Self {
            to_remove: counts.ready - counts.can_be_unavailable - at_least,
            to_add: counts.target + limits.max_surge - counts.can_be_ready,
        }
    }
}

pub(super) fn readiness(binding: &Binding, now: SimTime, period: SimDuration) -> Readiness {
    let available = binding.conditions.available.filter(|_| !binding.is_diff_reported());
    match available {
        None if binding.is_diff_reported() => Readiness::Ready,
        Some(condition) if binding.is(available, ConditionStatus::True) => {
            if condition.reason != ConditionReason::NotAllWorkAreAvailabilityTrackable {
                return Readiness::Ready;
            }
            // At exactly the period it is not ready yet, and no wait is left.
            let ready_after = condition.since + period;
            if ready_after < now { Readiness::Ready } else { Readiness::In(ready_after.since(now)) }
        }
        _ => Readiness::Unknown,
    }
}

/// Whether a cluster that needs the resources is still being cleaned up; nothing is rolled then.
fn has_to_clean_up(view: &RollingView) -> Result<bool, RollingError> {
    if view.bindings.are_single() {
        return Ok(false);
    }
    let mut live: BTreeMap<TargetId, &Binding> = BTreeMap::new();
    let mut deleting: Vec<TargetId> = Vec::new();
    for binding in view.bindings.iter() {
        if binding.deleting {
            deleting.push(binding.target);
        } else if let Some(first) = live.insert(binding.target, binding) {
            let (first, second) = (first.name.clone(), binding.name.clone());
            return Err(RollingError::TwoBindings { first, second });
        }
    }
    let mut waits = false;
    for binding in deleting.iter().filter_map(|target| live.get(target)) {
        let was_bound = binding.state == BindingState::Unscheduled && binding.was_bound;
        if binding.state == BindingState::Bound || was_bound {
            return Err(RollingError::BoundAndDeleting(binding.name.clone()));
        }
        waits = true;
    }
    Ok(waits)
}
