//! What a pass of a run needs to know of the clusters that did not change.
//!
//! A run checks in every pass that its stages are unchanged. That depends on which bindings exist, are no longer picked
//! or have an old policy, on the placement and on its policy; as long as none of these changes, a [`RunLedger`] stands
//! for the check. Clusters start in the order of their stage, so a pass needs to know how far it came and which
//! clusters are failing or stuck. Left out, so that such passes look at all: the delete stage, a run that is stopped,
//! and placements of which a cluster has several bindings.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::super::{TargetId, TargetSet};
use super::super::binding::{BindingState, Layout};
use super::super::control_loop::STUCK_AFTER;
use super::super::{Binding, RuleSet};
use super::run::{ClusterStatus, RunStatus};
use super::view::{PlacementView, PolicySnapshot, StagedView};
use super::{Fixed, RunState};
use crate::units::SimTime;

/// What the check of the stages goes by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum StagedBinding {
    Gone,
    Picked,
    NotPicked,
    OldPolicy,
}

impl StagedBinding {
    fn of(binding: Option<&Binding>, policy: u32) -> Self {
        match binding {
            None => Self::Gone,
            Some(binding) if binding.state == BindingState::Unscheduled => Self::NotPicked,
            Some(binding) if binding.policy != policy => Self::OldPolicy,
            Some(_) => Self::Picked,
        }
    }
}

/// A run's bindings as the last pass saw them.
#[derive(Clone, Debug)]
pub(super) struct RunLedger {
    layout: Arc<Layout>,
    placement: Option<PlacementView>,
    policy: PolicySnapshot,
    /// By place.
    kinds: Vec<StagedBinding>,
    /// The stage of each cluster and its position there.
    positions: Vec<Option<(u32, u32)>>,
    pub(super) stage: StageLedger,
}

/// The clusters of the current stage, by position.
#[derive(Clone, Debug)]
pub(super) struct StageLedger {
    index: usize,
    /// The first cluster that no pass has tried to start.
    pub(super) frontier: usize,
    /// Clusters that could not start, because they count as failed.
    refused: TargetSet,
    /// Clusters that have been tried, are not done, and count as failed.
    pub(super) failing: TargetSet,
    /// Clusters that have been updating for too long; and whether the run does not list them so.
    pub(super) stuck: TargetSet,
    pub(super) is_stuck_new: bool,
    /// The other updating clusters, in the order of their start.
    young: VecDeque<(SimTime, u32)>,
    /// What the next pass looks at in any case: storing the last one changes it.
    again: Vec<u32>,
    /// What this pass looks at, in the order of the stage.
    pub(super) looks: Vec<u32>,
}

impl RunLedger {
    /// The ledger after a pass that has looked at all. `None`: the next one must do so too.
    pub(super) fn new(fixed: &Fixed, run: &RunStatus, view: &StagedView) -> Option<Self> {
        if !is_covered(fixed, run, view) || !view.bindings.are_single() {
            return None;
        }
        let places = 0..view.bindings.places() as u32;
        let mut positions = vec![None; fixed.clusters.len()];
        for (number, stage) in (0..).zip(&run.stages) {
            for (position, cluster) in (0..).zip(&stage.clusters) {
                positions[cluster.target.index()] = Some((number, position));
            }
        }
        Some(Self {
            layout: Arc::clone(view.bindings.layout()),
            placement: view.placement,
            policy: view.policy,
            kinds: places.map(|place| StagedBinding::of(view.bindings.at(place), view.policy.index)).collect(),
            positions,
            stage: StageLedger::new(run, run.current_stage()),
        })
    }

    /// Notes what the next pass has to look at. False: it has to look at all.
    pub(super) fn update(&mut self, fixed: &Fixed, run: &RunStatus, view: &StagedView, changed: &TargetSet) -> bool {
        let is_same = self.placement == view.placement && self.policy == view.policy;
        if !is_same || !is_covered(fixed, run, view) || !Arc::ptr_eq(&self.layout, view.bindings.layout()) {
            return false;
        }
        let index = run.current_stage();
        if self.stage.index != index {
            self.stage = StageLedger::new(run, index);
        }
        let mut looks = std::mem::take(&mut self.stage.again);
        for target in changed.iter() {
            let Some(place) = view.bindings.place(TargetId(target)) else { continue };
            if StagedBinding::of(view.bindings.at(place), view.policy.index) != self.kinds[place as usize] {
                return false;
            }
            let position = self.positions[target as usize].filter(|(stage, _)| *stage as usize == index);
            looks.extend(position.map(|(_, position)| position).filter(|at| (*at as usize) < self.stage.frontier));
        }
        looks.sort_unstable();
        looks.dedup();
        let clusters = &run.stages[index].clusters;
        looks.retain(|position| clusters[*position as usize].succeeded != Some(true));
        let is_preempted = |position: &u32| {
            let cluster = clusters[*position as usize];
            let binding = view.bindings.get(cluster.target);
            cluster.started.is_some() && binding.is_none_or(|binding| run.is_preempted(binding))
        };
        // An error that ends the run is found by looking at all.
        let is_calm = !looks.iter().any(is_preempted);
        self.stage.looks = looks;
        is_calm
    }
}

/// Whether a pass does nothing but go on with a stage.
fn is_covered(fixed: &Fixed, run: &RunStatus, view: &StagedView) -> bool {
    let runs = match (fixed.rules, view.state) {
        (_, RunState::Run) | (RuleSet::Documented, RunState::Initialize) => true,
        (RuleSet::Shipped, RunState::Initialize) | (_, RunState::Stop) => false,
    };
    let index = run.current_stage();
    let is_going = run.initialized == Some(true) && !run.is_over() && index < run.stages.len();
    let has_room = || fixed.max_concurrency(index, run.stages[index].clusters.len()).is_ok_and(|limit| limit > 0);
    runs && is_going && has_room()
}

impl StageLedger {
    fn new(run: &RunStatus, index: usize) -> Self {
        let clusters = &run.stages[index].clusters;
        let is_tried = |cluster: &ClusterStatus| cluster.started.is_some() || cluster.succeeded.is_some();
        let frontier = clusters.iter().rposition(is_tried).map_or(0, |last| last + 1);
        let tried = || (0..).zip(&clusters[..frontier]);
        let (mut refused, none) = (TargetSet::new(clusters.len()), TargetSet::new(clusters.len()));
        let waiting = tried().filter(|(_, cluster)| !is_tried(cluster));
        waiting.for_each(|(position, _)| _ = refused.insert(position));
        let updating = tried().filter(|(_, cluster)| cluster.is_updating());
        let mut young: Vec<(SimTime, u32)> =
            updating.filter_map(|(position, cluster)| Some((cluster.started?, position))).collect();
        young.sort_unstable();
        let again = tried().filter(|(_, it)| it.succeeded != Some(true)).map(|(position, _)| position).collect();
        Self {
            index,
            frontier,
            refused,
            failing: none.clone(),
            stuck: none,
            is_stuck_new: true,
            young: young.into(),
            again,
            looks: Vec::new(),
        }
    }

    /// A look at a cluster has found this. Returns whether it is done, and has never been seen updating.
    pub(super) fn note(
        &mut self,
        position: u32,
        before: ClusterStatus,
        after: ClusterStatus,
        is_failing: bool,
    ) -> bool {
        let is_done = after.succeeded == Some(true);
        self.refused.set(position, after.started.is_none());
        self.failing.set(position, is_failing && !is_done);
        if is_done {
            self.is_stuck_new |= self.stuck.remove(position);
        } else if let Some(started) = after.started.filter(|_| before.started.is_none()) {
            self.young.push_back((started, position));
            self.again.push(position);
        }
        is_done && before.started.is_none()
    }

    /// Clusters that could not start have a place among those that are updating.
    pub(super) const fn refused(&self) -> usize {
        self.refused.len()
    }

    /// Finds the clusters that are stuck now.
    pub(super) fn age(&mut self, now: SimTime, clusters: &[ClusterStatus]) {
        while let Some((_, position)) = self.young.pop_front_if(|(started, _)| now.since(*started) > STUCK_AFTER) {
            if clusters[position as usize].is_updating() {
                self.is_stuck_new |= self.stuck.insert(position);
            }
        }
    }
}
