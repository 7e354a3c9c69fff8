//! A rolling update with `maxUnavailable: 10%` whose clusters fail or become available, and a staged update run with
//! `maxConcurrency: 10%` whose clusters finish.

use fleetsim::rollout::kubefleet::rolling::{RollingAction, RollingUpdate, RollingView};
use fleetsim::rollout::kubefleet::staged::{
    PlacementView, PolicySnapshot, RunBehaviour, StagedAction, StagedUpdateRun, StagedView,
};
use fleetsim::rollout::kubefleet::{
    ApplyStrategy, Binding, Bindings, KubeFleetBugs, MemberCluster, RollingUpdateConfig, RuleSet,
    RunState, StrategySpec, WorkState, binding_name,
};
use fleetsim::rollout::{Revision, TargetId, TargetSet};
use fleetsim::units::SimTime;

use super::{CHANGES, Load, spread, sum};

const OLD: Revision = Revision(1);
const NEW: Revision = Revision(2);

fn members(clusters: usize) -> Vec<MemberCluster> {
    (0..clusters)
        .map(|at| MemberCluster {
            name: format!("c-{at:07}"),
            ..MemberCluster::default()
        })
        .collect()
}

/// Bindings with which all clusters run the old resources.
fn settled(clusters: &[MemberCluster]) -> Bindings {
    let binding = |(index, cluster): (usize, &MemberCluster)| {
        let name = binding_name("crp", &cluster.name, 0);
        Binding::settled(name, TargetId(index as u32), 0, OLD, ApplyStrategy(0))
    };
    clusters.iter().enumerate().map(binding).collect()
}

/// A controller of a placement, and the clusters that change. The decisions of passes are not stored.
pub(crate) struct RollingLoad {
    update: RollingUpdate,
    view: RollingView,
    changed: TargetSet,
    is_ready: bool,
}

impl RollingLoad {
    pub(crate) fn new(clusters: usize) -> Self {
        let members = members(clusters);
        let mut view = RollingView {
            requested: None,
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: Some(NEW),
            bindings: settled(&members),
        };
        let config: RollingUpdateConfig =
            serde_saphyr::from_str("{maxUnavailable: 10%}").expect("valid limits");
        let mut update = RollingUpdate::new(config, RuleSet::Shipped, KubeFleetBugs::ALL, members);
        for _ in 0..2 {
            let pass = update.reconcile_changed(SimTime::ZERO, &view, view.bindings.changed());
            view.bindings.clear_changed();
            view.store(&pass);
        }
        Self {
            update,
            view,
            changed: spread(clusters),
            is_ready: true,
        }
    }
}

impl Load for RollingLoad {
    fn change(&mut self) {
        self.is_ready = !self.is_ready;
        let state = if self.is_ready {
            WorkState::Available
        } else {
            WorkState::Unavailable
        };
        for index in self.changed.iter() {
            let binding = self.view.bindings.get_mut(TargetId(index));
            binding.expect("all have one").report(SimTime::ZERO, state);
        }
    }

    fn pass(&mut self, is_full: bool) -> u64 {
        let pass = if is_full {
            self.update.reconcile(SimTime::ZERO, &self.view)
        } else {
            self.update
                .reconcile_changed(SimTime::ZERO, &self.view, self.view.bindings.changed())
        };
        self.view.bindings.clear_changed();
        sum(pass.actions.iter().copied().map(RollingAction::target))
    }
}

/// A controller of a staged update run. The decisions of passes are stored, because finished clusters do not change
/// again.
pub(crate) struct StagedLoad {
    run: StagedUpdateRun,
    view: StagedView,
    /// The first cluster that has not finished.
    next: usize,
}

impl StagedLoad {
    pub(crate) fn new(clusters: usize) -> Self {
        let members = members(clusters);
        let view = StagedView {
            state: RunState::Run,
            placement: Some(PlacementView {
                external: true,
                apply_strategy: ApplyStrategy(0),
            }),
            policy: PolicySnapshot {
                index: 0,
                scheduled: true,
                requested: None,
            },
            resource_snapshots: vec![OLD, NEW],
            bindings: settled(&members),
            approval_requests: std::collections::BTreeMap::new(),
        };
        let yaml = "stages: [{name: all, labelSelector: {}, maxConcurrency: 10%}]";
        let strategy: StrategySpec = serde_saphyr::from_str(yaml).expect("a valid strategy");
        let run = StagedUpdateRun::new(
            "run".to_owned(),
            NEW.0.to_string(),
            Some(strategy.with_defaults()),
            RunBehaviour::of(RuleSet::Shipped),
            members,
        );
        let mut load = Self { run, view, next: 0 };
        // After two rounds, the first clusters have started and are observed.
        for _ in 0..2 {
            load.pass(false);
        }
        load
    }
}

impl Load for StagedLoad {
    fn change(&mut self) {
        for index in self.next..self.next + CHANGES {
            if let Some(binding) = self.view.bindings.get_mut(TargetId(index as u32)) {
                binding.report(SimTime::ZERO, WorkState::Available);
            }
        }
        self.next += CHANGES;
    }

    fn pass(&mut self, is_full: bool) -> u64 {
        let pass = if is_full {
            self.run.reconcile(SimTime::ZERO, &self.view)
        } else {
            self.run
                .reconcile_changed(SimTime::ZERO, &self.view, self.view.bindings.changed())
        };
        self.view.bindings.clear_changed();
        self.view.store(&pass);
        sum(pass.actions.iter().filter_map(|action| match action {
            StagedAction::Deploy(target, _) => Some(*target),
            _ => None,
        }))
    }
}
