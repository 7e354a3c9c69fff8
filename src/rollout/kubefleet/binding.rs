//! A binding: the placement's object for one cluster, with the conditions that the work generator writes on it.
//!
//! Follows `pkg/utils/binding/binding.go` and `pkg/controllers/workgenerator/controller.go`. A change of a binding's
//! spec, and marking it for deletion, raise its generation; a condition counts only if it was observed at the current
//! one. Left out: overrides, and the works behind the binding.

use std::collections::BTreeSet;

use super::super::{Revision, TargetId};
use super::{Defects, stored};
use crate::units::SimTime;

/// How far the scheduler and the rollout are with a binding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BindingState {
    /// The cluster was picked; nothing has been sent to it.
    Scheduled,
    /// The cluster was told to run a resource snapshot.
    Bound,
    /// The cluster is no longer picked, and may still run what it was told.
    Unscheduled,
}

/// A placement's apply strategy: equal numbers are equal strategies.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ApplyStrategy(pub u32);

/// A condition's status; a condition that is not there is `None` elsewhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// On the way.
    Unknown,
}

/// Why a binding's condition is as it is, by upstream's own names (`pkg/utils/condition/reason.go`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names are upstream's and say all that is to be said")]
pub enum Reason {
    RolloutStarted,
    RolloutNotStartedYet,
    OverriddenSucceeded,
    OverriddenFailed,
    OverriddenPending,
    AllWorkSynced,
    SyncWorkFailed,
    WorkNotSynchronizedYet,
    AllWorkHaveBeenApplied,
    NotAllWorkHaveBeenApplied,
    ApplyInProgress,
    ApplyPending,
    AllWorkAreAvailable,
    NotAllWorkAreAvailable,
    NotAllWorkAreAvailabilityTrackable,
    ResourceNotAvailableYet,
    DiffReported,
    DiffNotReported,
}

impl Reason {
    /// Whether a condition that is False for this reason is a failure.
    const fn is_failure(self, defects: Defects) -> bool {
        match self {
            Self::OverriddenPending
            | Self::WorkNotSynchronizedYet
            | Self::ApplyPending
            | Self::ResourceNotAvailableYet => false,
            // What is written while work is on its way and while it comes up.
            Self::ApplyInProgress | Self::NotAllWorkAreAvailable => defects.in_progress_is_failure,
            _ => true,
        }
    }
}

/// One condition of a binding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Condition {
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why.
    pub reason: Reason,
    /// The binding's generation when it was seen.
    pub observed_generation: u64,
    /// When it was written, in whole seconds.
    pub since: SimTime,
}

/// All conditions of a binding. `None`: not written yet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Conditions {
    /// Written by the rollout: whether the cluster may be told what the spec says.
    pub rollout_started: Option<Condition>,
    /// Overrides were taken into account.
    pub overridden: Option<Condition>,
    /// The works for the cluster were written.
    pub work_synchronized: Option<Condition>,
    /// The cluster has applied them.
    pub applied: Option<Condition>,
    /// What it applied is available.
    pub available: Option<Condition>,
    /// The difference was reported, for placements that only ask for it.
    pub diff_reported: Option<Condition>,
}

/// How far a cluster is with what it was told, as the work generator writes it: each stands for one set of conditions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkState {
    /// Nothing is known.
    Unknown,
    /// Overrides cannot be applied.
    OverrideFailed,
    /// The works cannot be written.
    SyncFailed,
    /// The works are not written yet.
    SyncPending,
    /// The works are written and the cluster has not applied them: what stands there right after a change.
    Applying,
    /// The cluster failed to apply them.
    ApplyFailed,
    /// Exempted from being a failure; the work generator never writes it.
    ApplyPending,
    /// Applied; nothing is known of availability.
    Applied,
    /// Applied, and not available: pods come up, or fail to.
    Unavailable,
    /// Exempted from being a failure; the work generator never writes it.
    NotAvailableYet,
    /// Available.
    Available,
    /// Applied, and of a kind that has no notion of availability.
    AvailableUntrackable,
    /// The difference was reported.
    DiffReported,
    /// The difference could not be reported.
    DiffFailed,
}

/// One binding.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Binding {
    /// Decides the order in which a rolling update goes.
    pub name: String,
    /// The cluster.
    pub target: TargetId,
    /// How far it is.
    pub state: BindingState,
    /// Unscheduled, and Bound before.
    pub was_bound: bool,
    /// The policy snapshot under which it was scheduled.
    pub policy: u32,
    /// The resource snapshot that the cluster is told. `None`: none yet.
    pub snapshot: Option<Revision>,
    /// `None`: the scheduler made it and nobody has set one.
    pub apply_strategy: Option<ApplyStrategy>,
    /// Raised by every change of the spec.
    pub generation: u64,
    /// Marked for deletion; it is there until the cluster is cleaned up.
    pub deleting: bool,
    /// What is known of it.
    pub conditions: Conditions,
}

impl Binding {
    /// One as the scheduler makes it.
    #[must_use]
    pub fn scheduled(name: String, target: TargetId, policy: u32) -> Self {
        Self {
            name,
            target,
            state: BindingState::Scheduled,
            was_bound: false,
            policy,
            snapshot: None,
            apply_strategy: None,
            generation: 1,
            deleting: false,
            conditions: Conditions::default(),
        }
    }

    /// One that has long been bound to `snapshot`, with RolloutStarted and all conditions of an available cluster.
    #[must_use]
    pub fn settled(name: String, target: TargetId, policy: u32, snapshot: Revision, apply: ApplyStrategy) -> Self {
        let mut binding = Self::scheduled(name, target, policy);
        binding.state = BindingState::Bound;
        binding.snapshot = Some(snapshot);
        binding.apply_strategy = Some(apply);
        binding.set_rollout_started(SimTime::ZERO, true);
        binding.report(SimTime::ZERO, WorkState::Available);
        binding
    }

    /// Whether `condition` has this status and was observed at the current generation.
    #[must_use]
    pub fn is(&self, condition: Option<Condition>, status: ConditionStatus) -> bool {
        condition.is_some_and(|c| c.status == status && c.observed_generation == self.generation)
    }

    /// Whether the rollout of what its spec says has started.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.is(self.conditions.rollout_started, ConditionStatus::True)
    }

    /// Whether its cluster is done with what its spec says: available, or its difference reported.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.is(self.conditions.available, ConditionStatus::True) || self.is_diff_reported()
    }

    /// Whether upstream takes it for failed. As shipped that includes a cluster that is still at work.
    #[must_use]
    pub fn has_failed(&self, defects: Defects) -> bool {
        let Conditions { overridden, work_synchronized, applied, available, .. } = self.conditions;
        [overridden, work_synchronized, applied, available].into_iter().any(|condition| {
            self.is(condition, ConditionStatus::False) && condition.is_some_and(|c| c.reason.is_failure(defects))
        })
    }

    pub(super) fn is_diff_reported(&self) -> bool {
        self.is(self.conditions.diff_reported, ConditionStatus::True)
    }

    pub(super) fn has_diff_failed(&self) -> bool {
        self.is(self.conditions.diff_reported, ConditionStatus::False)
    }

    /// Whether the difference was reported, well or not, at the current generation.
    pub(super) fn has_diff_status(&self) -> bool {
        self.is_diff_reported() || self.has_diff_failed()
    }

    /// Writes the conditions that stand for `state`, in place of all that the work generator wrote before.
    pub fn report(&mut self, now: SimTime, state: WorkState) {
        use ConditionStatus::{False, True};
        let at = |status, reason| {
            Some(Condition { status, reason, observed_generation: self.generation, since: stored(now) })
        };
        let mut next = Conditions { rollout_started: self.conditions.rollout_started, ..Conditions::default() };
        if !matches!(state, WorkState::Unknown) {
            next.overridden = at(True, Reason::OverriddenSucceeded);
            next.work_synchronized = at(True, Reason::AllWorkSynced);
        }
        let applied = at(True, Reason::AllWorkHaveBeenApplied);
        match state {
            WorkState::Unknown => {}
            WorkState::OverrideFailed => {
                next.overridden = at(False, Reason::OverriddenFailed);
                next.work_synchronized = None;
            }
            WorkState::SyncFailed => next.work_synchronized = at(False, Reason::SyncWorkFailed),
            WorkState::SyncPending => next.work_synchronized = at(False, Reason::WorkNotSynchronizedYet),
            WorkState::Applying => next.applied = at(False, Reason::ApplyInProgress),
            WorkState::ApplyFailed => next.applied = at(False, Reason::NotAllWorkHaveBeenApplied),
            WorkState::ApplyPending => next.applied = at(False, Reason::ApplyPending),
            WorkState::Applied => next.applied = applied,
            WorkState::Unavailable => {
                (next.applied, next.available) = (applied, at(False, Reason::NotAllWorkAreAvailable));
            }
            WorkState::NotAvailableYet => {
                (next.applied, next.available) = (applied, at(False, Reason::ResourceNotAvailableYet));
            }
            WorkState::Available => {
                (next.applied, next.available) = (applied, at(True, Reason::AllWorkAreAvailable));
            }
            WorkState::AvailableUntrackable => {
                let available = at(True, Reason::NotAllWorkAreAvailabilityTrackable);
                (next.applied, next.available) = (applied, available);
            }
            WorkState::DiffReported => next.diff_reported = at(True, Reason::DiffReported),
            WorkState::DiffFailed => next.diff_reported = at(False, Reason::DiffNotReported),
        }
        self.conditions = next;
    }

    /// What the scheduler does when the cluster is no longer picked.
    pub fn unschedule(&mut self) {
        self.was_bound = self.state == BindingState::Bound;
        self.state = BindingState::Unscheduled;
        self.generation += 1;
    }

    /// Tells the cluster to run `snapshot`.
    pub(super) fn roll(&mut self, now: SimTime, snapshot: Revision, apply: Option<ApplyStrategy>) {
        self.state = BindingState::Bound;
        self.snapshot = Some(snapshot);
        self.apply_strategy = apply;
        self.generation += 1;
        self.set_rollout_started(now, true);
    }

    /// Marks it for deletion, once.
    pub(super) fn delete(&mut self) {
        if !self.deleting {
            self.deleting = true;
            self.generation += 1;
        }
    }

    pub(super) fn set_rollout_started(&mut self, now: SimTime, started: bool) {
        let (status, reason) = if started {
            (ConditionStatus::True, Reason::RolloutStarted)
        } else {
            (ConditionStatus::False, Reason::RolloutNotStartedYet)
        };
        let observed_generation = self.generation;
        self.conditions.rollout_started = Some(Condition { status, reason, observed_generation, since: stored(now) });
    }
}

/// The name that the scheduler gives a binding, with `suffix` in place of eight random hexadecimal digits; both parts
/// are cut so that it fits into 63 characters (`pkg/scheduler/framework/uniquename`).
#[must_use]
pub fn binding_name(placement: &str, cluster: &str, suffix: u32) -> String {
    const PART: usize = (63 - 8 - 2) / 2;
    let cut = |part: &str, most: usize| part.chars().take(most).collect::<String>();
    let (placement_len, cluster_len) = (placement.chars().count(), cluster.chars().count());
    // What one part leaves unused the other may have.
    let placement_most = PART.max(2 * PART - cluster_len.min(2 * PART));
    let cluster_most = PART.max(2 * PART - placement_len.min(2 * PART));
    format!("{}-{}-{suffix:08x}", cut(placement, placement_most), cut(cluster, cluster_most))
}

/// All bindings of a placement, in the byte order of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    list: Vec<Binding>,
    /// For each cluster the position in `list` of the binding that was inserted last; `NOWHERE` for none.
    of_target: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Bindings {
    /// All of them, in the order of their names.
    pub fn iter(&self) -> std::slice::Iter<'_, Binding> {
        self.list.iter()
    }

    /// How many there are, those marked for deletion included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The binding of a cluster; if it has several, the one that was inserted last.
    #[must_use]
    pub fn get(&self, target: TargetId) -> Option<&Binding> {
        self.position(target).map(|position| &self.list[position])
    }

    /// As [`Bindings::get`], to be changed; its name and cluster must stay what they are.
    pub fn get_mut(&mut self, target: TargetId) -> Option<&mut Binding> {
        self.position(target).map(|position| &mut self.list[position])
    }

    /// The binding of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Binding> {
        self.find(name).ok().map(|position| &self.list[position])
    }

    /// As [`Bindings::named`], to be changed; its name and cluster must stay what they are.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Binding> {
        self.find(name).ok().map(|position| &mut self.list[position])
    }

    /// Adds a binding, in place of one of the same name.
    pub fn insert(&mut self, binding: Binding) {
        let target = binding.target;
        match self.find(&binding.name) {
            Ok(position) => self.list[position] = binding,
            Err(position) => self.list.insert(position, binding),
        }
        self.reindex(Some(target));
    }

    /// Takes a binding away: the cluster is cleaned up.
    pub fn remove(&mut self, name: &str) -> Option<Binding> {
        let removed = self.list.remove(self.find(name).ok()?);
        self.reindex(None);
        Some(removed)
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Binding> {
        self.list.iter_mut()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.list.binary_search_by(|binding| binding.name.as_str().cmp(name))
    }

    fn position(&self, target: TargetId) -> Option<usize> {
        let position = *self.of_target.get(target.index())?;
        (position != NOWHERE).then_some(position as usize)
    }

    /// Finds every cluster's binding anew. Of several the one that is not being deleted is taken; `newest` has one
    /// that goes before all others.
    fn reindex(&mut self, newest: Option<TargetId>) {
        let most = self.list.iter().map(|binding| binding.target.index() + 1).max().unwrap_or(0);
        self.of_target.clear();
        self.of_target.resize(most, NOWHERE);
        for (position, binding) in self.list.iter().enumerate() {
            let entry = &mut self.of_target[binding.target.index()];
            if *entry == NOWHERE
                || self.list[*entry as usize].deleting
                || newest == Some(binding.target) && !binding.deleting
            {
                *entry = position as u32;
            }
        }
    }
}

impl FromIterator<Binding> for Bindings {
    /// # Panics
    /// If two have the same name.
    fn from_iter<I: IntoIterator<Item = Binding>>(bindings: I) -> Self {
        let mut list: Vec<Binding> = bindings.into_iter().collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        let names: BTreeSet<&str> = list.iter().map(|binding| binding.name.as_str()).collect();
        assert_eq!(names.len(), list.len(), "a binding's name is unique");
        let mut bindings = Self { list, of_target: Vec::new() };
        bindings.reindex(None);
        bindings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(state: WorkState) -> Binding {
        let mut binding = Binding::scheduled("crp-a".to_owned(), TargetId(0), 0);
        binding.report(SimTime::from_secs(1), state);
        binding
    }

    #[test]
    fn a_cluster_in_progress_counts_as_failed_as_shipped() {
        let cases = [
            // state, succeeded, failed, failed without the defect
            (WorkState::Unknown, false, false, false),
            (WorkState::OverrideFailed, false, true, true),
            (WorkState::SyncFailed, false, true, true),
            (WorkState::SyncPending, false, false, false),
            (WorkState::Applying, false, true, false),
            (WorkState::ApplyFailed, false, true, true),
            (WorkState::ApplyPending, false, false, false),
            (WorkState::Applied, false, false, false),
            (WorkState::Unavailable, false, true, false),
            (WorkState::NotAvailableYet, false, false, false),
            (WorkState::Available, true, false, false),
            (WorkState::AvailableUntrackable, true, false, false),
            (WorkState::DiffReported, true, false, false),
            (WorkState::DiffFailed, false, false, false),
        ];
        for (state, succeeded, failed, failed_without) in cases {
            let binding = reported(state);
            assert_eq!(binding.has_succeeded(), succeeded, "{state:?}");
            assert_eq!(binding.has_failed(Defects::ALL), failed, "{state:?}");
            assert_eq!(binding.has_failed(Defects::NONE), failed_without, "{state:?} without the defect");
        }
    }

    #[test]
    fn a_condition_of_an_older_generation_counts_for_nothing() {
        let mut binding = reported(WorkState::Available);
        binding.generation += 1;
        assert!(!binding.has_succeeded());
        let mut binding = reported(WorkState::ApplyFailed);
        binding.delete();
        assert!(!binding.has_failed(Defects::ALL), "marking it for deletion raises the generation too");
        let generation = binding.generation;
        binding.delete();
        assert_eq!(binding.generation, generation, "but once only");
    }

    #[test]
    fn a_binding_s_name_is_cut_to_what_kubernetes_takes() {
        assert_eq!(binding_name("crp", "store-1", 0xab), "crp-store-1-000000ab");
        let name = binding_name(&"p".repeat(60), &"c".repeat(60), u32::MAX);
        assert_eq!(name.len(), 62, "26 characters each");
        assert!(binding_name("p", &"c".repeat(63), 1).len() <= 63);
    }

    #[test]
    fn the_live_binding_of_a_cluster_is_found_beside_one_that_goes() {
        let named = |name: &str| Binding::scheduled(name.to_owned(), TargetId(2), 0);
        let mut old = named("b");
        old.delete();
        let mut bindings: Bindings = [old].into_iter().collect();
        bindings.insert(named("a"));
        assert_eq!(bindings.get(TargetId(2)).map(|binding| binding.name.as_str()), Some("a"));
        bindings.insert(named("c"));
        assert_eq!(bindings.remove("b").map(|binding| binding.deleting), Some(true));
        assert_eq!(bindings.iter().map(|binding| binding.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert!(bindings.get(TargetId(0)).is_none() && bindings.get(TargetId(9)).is_none());
        assert!(bindings.named("b").is_none() && bindings.named_mut("c").is_some());
    }
}
