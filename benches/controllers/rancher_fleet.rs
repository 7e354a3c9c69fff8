//! A bundle in the middle of an update with `maxUnavailable: 10%`. Clusters become unready, and ready again.

use fleetsim::rollout::rancher_fleet::{
    BundleAction, BundleView, ClusterView, FleetCluster, IntOrString, RancherFleet,
    RolloutStrategy, RuleSet,
};
use fleetsim::rollout::{Revision, TargetSet};
use fleetsim::units::SimTime;

use super::{Load, spread, sum};

/// A controller of a bundle, and the clusters that change. The decisions of passes are not stored.
pub(crate) struct BundleLoad {
    fleet: RancherFleet,
    view: BundleView,
    changed: TargetSet,
    is_ready: bool,
}

impl BundleLoad {
    pub(crate) fn new(clusters: usize) -> Self {
        let max_unavailable = Some(IntOrString::String("10%".to_owned()));
        let strategy = RolloutStrategy {
            max_unavailable,
            ..RolloutStrategy::default()
        };
        let named = |at: usize| FleetCluster {
            name: format!("c-{at:07}"),
            ..FleetCluster::default()
        };
        let mut fleet = RancherFleet::new(
            strategy,
            RuleSet::Shipped,
            (0..clusters).map(named).collect(),
        );
        let cluster = ClusterView {
            wanted: Revision(2),
            ..ClusterView::settled(Revision(1))
        };
        let mut view = BundleView {
            paused: false,
            clusters: vec![cluster; clusters],
        };
        let pass = fleet.reconcile_changed(SimTime::ZERO, &view, &TargetSet::all(clusters));
        view.store(&pass);
        let _ = fleet.reconcile_changed(SimTime::ZERO, &view, &TargetSet::all(clusters));
        Self {
            fleet,
            view,
            changed: spread(clusters),
            is_ready: true,
        }
    }
}

impl Load for BundleLoad {
    fn change(&mut self) {
        self.is_ready = !self.is_ready;
        for index in self.changed.iter() {
            let deployment = self.view.clusters[index as usize].deployment.as_mut();
            deployment.expect("all have one").ready = self.is_ready;
        }
    }

    fn pass(&mut self, is_full: bool) -> u64 {
        let pass = if is_full {
            self.fleet.reconcile(SimTime::ZERO, &self.view)
        } else {
            self.fleet
                .reconcile_changed(SimTime::ZERO, &self.view, &self.changed)
        };
        sum(pass.actions.iter().map(BundleAction::target))
    }
}
