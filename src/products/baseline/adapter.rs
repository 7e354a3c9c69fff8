//! What a baseline sees of the world: who was told, and who is ready.
//!
//! Its loop runs like Fleet's, so that a comparison shows the rule and not the loop. Clusters that are paused or not
//! registered are targets all the same, and are never told: a baseline that waits for a batch waits for them for ever.

use crate::products::{Controller, Decision, Deploy};
use crate::rollout::Hold;
use crate::rollout::baseline::{Baseline, BaselineRollout, BaselineView, Start, TargetView};
use crate::units::SimTime;
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, ReleaseKind, Report, WorldSpec};

/// One of the baselines with its view of the fleet.
pub(super) struct BaselineController<'s> {
    scheduler: BaselineRollout,
    view: BaselineView,
    clusters: &'s [ClusterSpec],
}

impl<'s> BaselineController<'s> {
    pub(super) fn new(world: &'s WorldSpec, baseline: Baseline) -> Self {
        let clusters = &world.clusters;
        let assigned = (world.release == ReleaseKind::Update).then_some(OLD);
        let target = TargetView { wanted: NEW, assigned, ready: assigned.is_some() };
        let names = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let scheduler = BaselineRollout::new(baseline, names);
        Self { scheduler, view: BaselineView { targets: vec![target; clusters.len()] }, clusters }
    }
}

impl Controller for BaselineController<'_> {
    fn learn(&mut self, report: Report) -> bool {
        let target = &mut self.view.targets[report.cluster.index()];
        let ready = report.ready && target.assigned == Some(report.applied);
        std::mem::replace(&mut target.ready, ready) != ready
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let pass = self.scheduler.reconcile(now, &self.view);
        let unavailable = self.view.targets.iter().filter(|target| !target.ready).count() as u64;
        let mut decision = Decision { unavailable, wake_at: pass.wake_at, ..Decision::default() };
        for Start { target, revision } in pass.actions {
            self.view.targets[target.index()] = TargetView { wanted: NEW, assigned: Some(revision), ready: false };
            decision.writes += 1;
            let spec = &self.clusters[target.index()];
            if spec.registered && !spec.paused {
                let cluster = ClusterId(target.0);
                decision.deploys.push(Deploy { cluster, revision, after_writes: decision.writes });
            }
        }
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let target = self.view.targets[cluster.index()];
        target.assigned == Some(target.wanted) && target.ready
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn stages(&self) -> Vec<String> {
        let batch = self.scheduler.batch();
        let batches = self.view.targets.len().div_ceil(batch);
        let stage = |target: usize| if batches > 1 { format!("batch {}", target / batch + 1) } else { String::new() };
        (0..self.view.targets.len()).map(stage).collect()
    }
}
