//! What the rolling update of a KubeFleet placement sees of the world, and how its decisions reach the clusters.
//!
//! Every cluster of the fleet is a member cluster that the placement has picked. What a binding says of its cluster is
//! in [`super::members`]. A pass starts when Available of a binding changes, by the pass's own writes to bindings, and
//! on its timer (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/rollout/controller.go`).
//!
//! That controller writes the bindings of a group all at the same time (`errgroup`): first those that are held back,
//! then those that are up to date, then those that it rolls, their spec before their status. So a pass lasts
//! a few requests, until the limit of the hub agent's client slows it down.

use super::members::Members;
use super::{KubeFleetRolling, member_clusters};
use crate::products::{Clusters, Controller, Decision, Deploy};
use crate::rollout::Hold;
use crate::rollout::kubefleet::rolling::{RollingAction, RollingUpdate, RollingView, wakes};
use crate::rollout::kubefleet::{ApplyStrategy, KubeFleetBugs};
use crate::units::SimTime;
use crate::world::{ClusterId, NEW, Report, WorldSpec};

/// KubeFleet's rollout controller with one placement.
pub(super) struct RollingController {
    scheduler: RollingUpdate,
    view: RollingView,
    members: Members,
    bugs: KubeFleetBugs,
    /// Something was reported since the last pass.
    is_news: bool,
    /// The last pass rolled nothing.
    was_quiet: bool,
}

impl RollingController {
    pub(super) fn new(strategy: &KubeFleetRolling, world: &WorldSpec) -> Self {
        let KubeFleetRolling { rules, upstream_bugs, policy, config } = strategy;
        let members = Members::new(world);
        let view = RollingView {
            active: true,
            policy: *policy,
            apply_strategy: ApplyStrategy(0),
            latest_snapshot: Some(NEW),
            bindings: Members::bindings(world),
        };
        let scheduler = RollingUpdate::new(config.clone(), *rules, *upstream_bugs, member_clusters(&world.clusters));
        Self { scheduler, view, members, bugs: *upstream_bugs, is_news: false, was_quiet: false }
    }
}

impl Controller for RollingController {
    fn reports_completion(&self) -> bool {
        true
    }

    fn learn(&mut self, report: Report, _now: SimTime) -> bool {
        let Some((before, after)) = Members::learn(&mut self.view.bindings, report) else { return false };
        self.is_news = true;
        wakes(&before, &after, self.bugs)
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let pass = self.scheduler.reconcile(now, &self.view);
        let status = &pass.status;
        let mut decision = Decision {
            unavailable: Members::unavailable(&self.view.bindings),
            again: status.wakes_itself(&pass.actions),
            complete: self.view.is_done(),
            ..Decision::default()
        };
        // The bindings are listed first, from the API server.
        decision.requests.in_turn(1);
        for group in [&status.patched, &status.blocked, &status.restarted] {
            decision.requests.together(group.len());
        }
        let rolled = pass.actions.len();
        decision.requests.together(rolled);
        decision.requests.together(rolled);
        let specs = decision.requests.len() - rolled;
        self.was_quiet = !decision.again && status.restarted.is_empty();
        self.view.store(now, &pass);
        for (position, action) in pass.actions.iter().enumerate() {
            let RollingAction::Deploy(target, revision) = *action else {
                unreachable!("every cluster of the fleet stays picked")
            };
            // The work generator begins when RolloutStarted is written, after the spec.
            let after_requests = specs + position + 1;
            let deploy = Deploy { cluster: ClusterId(target.0), revision, after_requests };
            self.members.tell(&mut self.view.bindings, now, deploy, &mut decision);
        }
        for &target in &status.restarted {
            self.members.tell_again(&mut self.view.bindings, now, target, &mut decision);
        }
        self.is_news = false;
        decision
    }

    fn requeue(&mut self, end: SimTime) -> Option<SimTime> {
        self.scheduler.pass_ended(end)
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        Members::is_done(&self.view.bindings, cluster)
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn stages(&self) -> Vec<String> {
        vec![String::new(); self.view.bindings.iter().len()]
    }

    /// Availability of what runs here can be tracked, so that time alone makes nothing ready.
    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        self.was_quiet && !self.is_news
    }
}
