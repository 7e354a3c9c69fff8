//! A baseline's view of the world: the clusters that were instructed, and those that are ready.
//!
//! Clusters that are paused or not registered are targets as well and are never instructed, so a baseline that waits
//! for a batch with one of them waits indefinitely.

use super::BaselineStrategy;
use crate::products::{Change, Controller, Decision};
use crate::rollout::Hold;
use crate::rollout::baseline::{Baseline, BaselineTarget};
use crate::units::SimTime;
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, Report, WorldSpec};

/// One of the baselines with its view of the fleet.
pub(super) struct BaselineController<'s> {
    baseline: Baseline,
    targets: Vec<BaselineTarget>,
    clusters: &'s [ClusterSpec],
    /// A person has stopped the rollout.
    stopped: bool,
}

impl<'s> BaselineController<'s> {
    pub(super) fn new(world: &'s WorldSpec, BaselineStrategy(baseline): BaselineStrategy) -> Self {
        let target = |index: usize| BaselineTarget { started: false, ready: world.installed(index).is_some() };
        let targets = (0..world.clusters.len()).map(target).collect();
        Self { baseline, targets, clusters: &world.clusters, stopped: false }
    }
}

impl Controller for BaselineController<'_> {
    fn learn(&mut self, report: Report, _now: SimTime) -> bool {
        let target = &mut self.targets[report.cluster.index()];
        let ready = report.ready && report.applied == if target.started { NEW } else { OLD };
        std::mem::replace(&mut target.ready, ready) != ready
    }

    fn change(&mut self, change: &Change, _now: SimTime) -> Option<bool> {
        let Change::Stop(stop) = change else { return None };
        self.stopped = *stop;
        Some(true)
    }

    fn decide(&mut self, _now: SimTime) -> Decision {
        let unavailable = self.targets.iter().filter(|target| !target.ready).count() as u64;
        let mut decision = Decision { unavailable, ..Decision::default() };
        let started = if self.stopped { Vec::new() } else { self.baseline.reconcile(&self.targets) };
        for target in started {
            self.targets[target.index()] = BaselineTarget { started: true, ready: false };
            decision.requests.in_turn(1);
            decision.instruct(self.clusters, target.index(), NEW);
        }
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let target = self.targets[cluster.index()];
        target.started && target.ready
    }

    fn hold(&self) -> Option<Hold> {
        if self.stopped {
            let waiting = self.targets.iter().filter(|target| !target.started).count();
            let explanation = format!("a person has stopped the rollout; {waiting} clusters wait");
            return Some(Hold { rule: "stop", explanation });
        }
        self.baseline.hold(&self.targets, self.clusters.iter().map(|cluster| cluster.name.as_str()))
    }

    fn stages(&self) -> Vec<String> {
        let sizes = self.baseline.batches(self.targets.len());
        let word = if matches!(self.baseline, Baseline::Doubling(_)) { "wave" } else { "batch" };
        let is_divided = sizes.len() > 1;
        let name = |number: usize| if is_divided { format!("{word} {number}") } else { String::new() };
        sizes.into_iter().zip(1..).flat_map(|(size, number)| std::iter::repeat_n(name(number), size)).collect()
    }
}
