//! What Rancher Fleet's bundle controller sees of the world, and how its decisions reach the clusters.
//!
//! Every cluster of the fleet is a target of one bundle. A report of a cluster's agent becomes the status of its
//! `BundleDeployment`, and a changed status starts a pass, as does a created deployment; the promotion itself does not
//! (rancher/fleet at 3b2c622, `reconciler/{bundle_controller,bundledeployment_controller}.go`). A pass first decides
//! on all targets. Then it goes through those that have a deployment, in the order of the clusters' names, with one
//! request after the other: it deletes the Secret with the Helm values, of which there are none, and writes the
//! deployment if it changes. So a pass that changes nothing costs a request for each target.

use std::collections::BTreeMap;

use super::{RancherFleetStrategy, clusters};
use crate::products::{Controller, Decision, Deploy, Fleet};
use crate::rollout::rancher_fleet::{BundleAction, BundleView, ClusterView, RancherFleet};
use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::{ClusterId, NEW, OLD, ReleaseKind, Report};

/// Rancher Fleet's controller with one bundle.
pub(super) struct BundleController {
    scheduler: RancherFleet,
    view: BundleView,
    /// Clusters in the order of their names.
    by_name: Vec<usize>,
    /// Each cluster's place in that order.
    places: Vec<usize>,
    /// The release's content is stored in the management cluster.
    has_content: bool,
}

impl BundleController {
    pub(super) fn new(strategy: &RancherFleetStrategy, fleet: Fleet<'_>) -> Self {
        let scheduler = RancherFleet::new(strategy.strategy.clone(), strategy.rules, clusters(fleet));
        let world = fleet.world;
        let views = world.clusters.iter().map(|spec| {
            let runs = match world.release {
                ReleaseKind::Update if spec.registered => ClusterView::settled(OLD),
                _ => ClusterView::new(OLD),
            };
            ClusterView { wanted: NEW, registered: spec.registered, paused: spec.paused, ..runs }
        });
        let view = BundleView { paused: false, clusters: views.collect() };
        let clusters = &world.clusters;
        let mut by_name: Vec<usize> = (0..clusters.len()).collect();
        by_name.sort_by_key(|&cluster| &clusters[cluster].name);
        let mut places = vec![0; clusters.len()];
        for (place, &cluster) in by_name.iter().enumerate() {
            places[cluster] = place;
        }
        Self { scheduler, view, by_name, places, has_content: false }
    }
}

impl BundleController {
    /// The requests of a pass: for each target with a deployment one for its Secret, and one if the deployment changes;
    /// at the end the bundle's status.
    fn request(&mut self, writes: &BTreeMap<usize, Option<Revision>>, decision: &mut Decision) {
        decision.requests.in_turn(usize::from(!std::mem::replace(&mut self.has_content, true)));
        for (place, &cluster) in self.by_name.iter().enumerate() {
            if self.view.clusters[cluster].deployment.is_none() {
                continue;
            }
            decision.requests.in_turn(1);
            let Some(write) = writes.get(&place) else { continue };
            decision.requests.in_turn(1);
            if let Some(revision) = *write {
                let after_requests = decision.requests.len();
                decision.deploys.push(Deploy { cluster: ClusterId(cluster as u32), revision, after_requests });
            }
        }
        decision.requests.in_turn(1);
    }
}

impl Controller for BundleController {
    fn learn(&mut self, report: Report, _now: SimTime) -> bool {
        let deployment = self.view.clusters[report.cluster.index()].deployment.as_mut();
        let deployment = deployment.expect("an agent reports on a deployment that was created");
        let before = *deployment;
        deployment.applied = Some(report.applied);
        deployment.ready = report.ready;
        deployment.non_modified = true;
        *deployment != before
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let pass = self.scheduler.reconcile(now, &self.view);
        let mut decision =
            Decision { unavailable: unavailable(&self.view), wake_at: pass.wake_at, ..Decision::default() };
        // All that a pass decides about one target is one write of its deployment.
        let mut writes: BTreeMap<usize, Option<Revision>> = BTreeMap::new();
        for action in &pass.actions {
            let target = match *action {
                BundleAction::Create(target) => {
                    decision.created += 1;
                    target
                }
                BundleAction::Stage(target, _) | BundleAction::Deploy(target, _) => target,
                BundleAction::Delete(..) => unreachable!("every cluster of the fleet stays a target"),
            };
            let write = writes.entry(self.places[target.index()]).or_default();
            if let BundleAction::Deploy(_, revision) = *action {
                *write = Some(revision);
            }
        }
        decision.again = decision.created > 0;
        self.view.store(&pass);
        self.request(&writes, &mut decision);
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        self.view.clusters[cluster.index()].is_done()
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn stages(&self) -> Vec<String> {
        let mut stages = vec![String::new(); self.view.clusters.len()];
        for partition in self.scheduler.partitions() {
            for &member in &partition.members {
                let stage = &mut stages[member as usize];
                if !stage.is_empty() {
                    stage.push_str("; ");
                }
                stage.push_str(&partition.name);
            }
        }
        stages
    }
}

/// Deployments that Fleet counts as unavailable.
fn unavailable(view: &BundleView) -> u64 {
    let deployments = view.clusters.iter().filter_map(|cluster| cluster.deployment.as_ref());
    deployments.filter(|deployment| deployment.is_unavailable()).count() as u64
}
