//! The state of a stage, so that a pass need not examine clusters that did not change.
//!
//! A run checks in every pass that its stages are unchanged. The result depends on the placement, on its policy, and
//! on which bindings exist, are no longer picked or have an old policy. As long as none of these changes, a
//! [`RunLedger`] replaces the check. Clusters start in the order of their stage, so a pass only needs the next cluster
//! to start and the clusters that are failing or stuck ([`StageLedger`]). Always examined in full: the delete stage, a
//! stopped run, and placements that have several bindings for one cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::super::{TargetId, TargetSet};
use super::super::RuleSet;
use super::super::binding::{BindingState, Layout};
use super::super::control_loop::STUCK_AFTER;
use super::run::{ClusterStatus, RunStatus};
use super::view::{PlacementView, PolicySnapshot, StagedView};
use super::{RunInputs, RunState};
use fleetsim_units::SimTime;

/// The part of a binding that affects the check that stages are unchanged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct PickedBinding {
    /// The policy under which the binding was picked.
    policy: u32,
    /// Whether the binding is still picked.
    is_picked: bool,
}

impl PickedBinding {
    /// Returns the part of the binding at an index that affects the check. `None`: the binding was removed.
    fn at(view: &StagedView, place: u32) -> Option<Self> {
        let binding = view.bindings.at(place)?;
        Some(Self {
            policy: binding.policy,
            is_picked: binding.state != BindingState::Unscheduled,
        })
    }
}

/// A cluster's stage, and its position in the stage.
#[derive(Clone, Copy, Debug)]
struct StagePosition {
    stage: u32,
    position: u32,
}

/// A run's bindings as the last pass saw them.
#[derive(Clone, Debug)]
pub(super) struct RunLedger {
    layout: Arc<Layout>,
    placement: Option<PlacementView>,
    policy: PolicySnapshot,
    /// The bindings by index. `None`: the binding was removed.
    picked: Vec<Option<PickedBinding>>,
    /// The position of each cluster. `None`: the cluster is in no stage.
    positions: Vec<Option<StagePosition>>,
    pub(super) stage: StageLedger,
}

/// The clusters of the current stage, by position.
#[derive(Clone, Debug)]
pub(super) struct StageLedger {
    index: usize,
    /// Position of the first cluster that no pass has tried to start.
    pub(super) frontier: usize,
    /// Clusters that could not start because they count as failed, but still occupy slots.
    pub(super) refused: TargetSet,
    /// Clusters that a pass has tried to start, that are not done, and that count as failed.
    pub(super) failing: TargetSet,
    /// Clusters that are updating, in the order of their start.
    updating: BTreeSet<(SimTime, u32)>,
    /// Clusters whose bindings have changed, in the order of the stage; the next pass observes them.
    pub(super) to_observe: Vec<u32>,
}

impl RunLedger {
    /// Creates the ledger after a full pass. `None`: the next pass must also be full.
    pub(super) fn new(inputs: &RunInputs, run: &RunStatus, view: &StagedView) -> Option<Self> {
        if !is_covered(inputs, run, view) || !view.bindings.are_single() {
            return None;
        }
        let places = 0..view.bindings.places() as u32;
        let mut positions = vec![None; inputs.clusters.len()];
        for (number, stage) in (0..).zip(&run.stages) {
            for (position, cluster) in (0..).zip(&stage.clusters) {
                positions[cluster.target.index()] = Some(StagePosition {
                    stage: number,
                    position,
                });
            }
        }
        Some(Self {
            layout: Arc::clone(view.bindings.layout()),
            placement: view.placement,
            policy: view.policy,
            picked: places.map(|place| PickedBinding::at(view, place)).collect(),
            positions,
            stage: StageLedger::new(run, run.current_stage()),
        })
    }

    /// Adds the changes that the next pass must examine to the ledger. `None`: the next pass must examine everything.
    pub(super) fn update(
        mut self,
        inputs: &RunInputs,
        run: &RunStatus,
        view: &StagedView,
        changed: &TargetSet,
    ) -> Option<Self> {
        let is_same = self.placement == view.placement && self.policy == view.policy;
        if !is_same
            || !is_covered(inputs, run, view)
            || !Arc::ptr_eq(&self.layout, view.bindings.layout())
        {
            return None;
        }
        let index = run.current_stage();
        if self.stage.index != index {
            self.stage = StageLedger::new(run, index);
        }
        let mut to_observe = std::mem::take(&mut self.stage.to_observe);
        for target in changed.iter() {
            let Some(place) = view.bindings.place(TargetId(target)) else {
                continue;
            };
            if PickedBinding::at(view, place) != self.picked[place as usize] {
                return None;
            }
            if let Some(StagePosition { stage, position }) = self.positions[target as usize]
                && stage as usize == index
                && (position as usize) < self.stage.frontier
            {
                to_observe.push(position);
            }
        }
        to_observe.sort_unstable();
        to_observe.dedup();
        let clusters = &run.stages[index].clusters;
        to_observe.retain(|position| clusters[*position as usize].succeeded != Some(true));
        self.stage.to_observe = to_observe;
        Some(self)
    }
}

/// Returns whether a pass only continues a stage, so that a ledger covers it.
fn is_covered(inputs: &RunInputs, run: &RunStatus, view: &StagedView) -> bool {
    let runs = match (inputs.behaviour.rules, view.state) {
        (_, RunState::Run) | (RuleSet::Documented, RunState::Initialize) => true,
        (RuleSet::Shipped, RunState::Initialize) | (_, RunState::Stop) => false,
    };
    let index = run.current_stage();
    let is_going = run.initialized == Some(true) && !run.is_over() && index < run.stages.len();
    runs && is_going && have_room(inputs, run)
}

/// Returns whether all stages may update clusters: an invalid limit in any stage, even a later one, makes a full pass
/// end the run.
fn have_room(inputs: &RunInputs, run: &RunStatus) -> bool {
    let mut stages = run.stages.iter().enumerate();
    stages.all(|(index, stage)| {
        let limit = inputs.max_concurrency(index, stage.clusters.len());
        limit.is_ok_and(|limit| limit > 0)
    })
}

impl StageLedger {
    /// Creates a ledger with which a pass observes all clusters that an earlier pass tried to start and that are not
    /// done.
    pub(super) fn new(run: &RunStatus, index: usize) -> Self {
        let clusters = &run.stage(index).clusters;
        let frontier = match clusters.iter().rposition(ClusterStatus::is_tried) {
            Some(last) => last + 1,
            None => 0,
        };
        let mut ledger = Self {
            index,
            frontier,
            refused: TargetSet::new(clusters.len()),
            failing: TargetSet::new(clusters.len()),
            updating: BTreeSet::new(),
            to_observe: Vec::new(),
        };
        for (position, cluster) in (0..).zip(&clusters[..frontier]) {
            ledger.refused.set(position, !cluster.is_tried());
            if let Some(started) = cluster.started
                && cluster.is_updating()
            {
                ledger.updating.insert((started, position));
            }
            if cluster.succeeded != Some(true) {
                ledger.to_observe.push(position);
            }
        }
        ledger
    }

    /// Records that a pass has observed or started a cluster.
    pub(super) fn note(
        &mut self,
        position: u32,
        before: ClusterStatus,
        after: ClusterStatus,
        is_failing: bool,
    ) {
        self.refused.set(position, after.started.is_none());
        self.failing.set(position, is_failing);
        let Some(started) = after.started else { return };
        if !after.is_updating() {
            self.updating.remove(&(started, position));
        } else if self.updating.insert((started, position)) && before.started.is_none() {
            // Storing the pass changes the cluster's binding.
            self.to_observe.push(position);
        }
    }

    /// Returns the clusters that have been updating for too long, in the order of the stage.
    pub(super) fn stuck(&self, now: SimTime) -> Vec<u32> {
        let mut stuck = Vec::new();
        for &(started, position) in &self.updating {
            if now.since(started) <= STUCK_AFTER {
                break;
            }
            stuck.push(position);
        }
        stuck.sort_unstable();
        stuck
    }
}
