//! What KubeFleet's hub cluster knows of the member clusters: a binding for each, with what the work generator writes.
//!
//! A binding that is rolled counts as being applied at once, also where the cluster is offline: the work generator
//! writes that in the hub cluster (kubefleet-dev/kubefleet at e160c1cd,
//! `pkg/controllers/workgenerator/controller.go`). A report that the new resources were applied makes it Available, or
//! not available yet; a report about other resources than those it was told says nothing.
//!
//! KubeFleet knows no paused clusters: `paused` has no meaning here. A cluster without an agent is a member that never
//! hears of anything. Left out: the time that the work generator takes, and the work applier's own looks at what it
//! applied (the agent's delays of the world stand for them).

use crate::products::{Decision, Deploy};
use crate::rollout::TargetId;
use crate::rollout::kubefleet::{ApplyStrategy, Binding, Bindings, WorkState, binding_name};
use crate::units::SimTime;
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, ReleaseKind, Report, WorldSpec};

/// The member clusters of the fleet.
pub(super) struct Members {
    /// Whether an agent is there to hear anything.
    registered: Vec<bool>,
}

impl Members {
    pub(super) fn new(world: &WorldSpec) -> Self {
        Self { registered: world.clusters.iter().map(|cluster| cluster.registered).collect() }
    }

    /// A binding for each cluster, as it is before the release.
    pub(super) fn bindings(world: &WorldSpec) -> Bindings {
        let clusters = world.clusters.iter().enumerate();
        let binding = |(index, cluster): (usize, &ClusterSpec)| {
            let target = TargetId(index as u32);
            let name = binding_name("placement", &cluster.name, target.0);
            match world.release {
                ReleaseKind::Update if cluster.registered => Binding::settled(name, target, 0, OLD, ApplyStrategy(0)),
                _ => Binding::scheduled(name, target, 0),
            }
        };
        clusters.map(binding).collect()
    }

    /// Notes a report. The binding before and after it, if it changed.
    pub(super) fn learn(bindings: &mut Bindings, report: Report) -> Option<(Binding, Binding)> {
        let binding = bindings.get_mut(TargetId(report.cluster.0)).expect("every cluster has a binding");
        if binding.snapshot != Some(report.applied) {
            return None;
        }
        let before = binding.clone();
        // When a condition was written decides nothing about these two states, as a test of the schedulers shows; with
        // the time of the report, one that says the same again would look like a change.
        let state = if report.ready { WorkState::Available } else { WorkState::Unavailable };
        binding.report(SimTime::ZERO, state);
        (before != *binding).then(|| (before, binding.clone()))
    }

    /// A binding was rolled: its cluster is told when that is written.
    pub(super) fn tell(&self, bindings: &mut Bindings, now: SimTime, deploy: Deploy, decision: &mut Decision) {
        let binding = bindings.get_mut(TargetId(deploy.cluster.0)).expect("every cluster has a binding");
        binding.report(now, WorkState::Applying);
        if self.registered[deploy.cluster.index()] {
            decision.deploys.push(deploy);
        }
    }

    /// RolloutStarted alone was set: from then on the cluster may have what its binding says, if it has not.
    pub(super) fn tell_again(&self, bindings: &mut Bindings, now: SimTime, target: TargetId, decision: &mut Decision) {
        let binding = bindings.get(target).expect("every cluster has a binding");
        if let Some(revision) = binding.snapshot.filter(|_| !binding.has_succeeded()) {
            let after_requests = decision.requests.len();
            let deploy = Deploy { cluster: ClusterId(target.0), revision, after_requests };
            self.tell(bindings, now, deploy, decision);
        }
    }

    /// Whether the hub cluster sees the new resources available in a cluster.
    pub(super) fn is_done(bindings: &Bindings, cluster: ClusterId) -> bool {
        let binding = bindings.get(TargetId(cluster.0)).expect("every cluster has a binding");
        binding.snapshot == Some(NEW) && binding.has_succeeded()
    }

    /// Bindings that are not available with what they say.
    pub(super) fn unavailable(bindings: &Bindings) -> u64 {
        bindings.iter().filter(|binding| !binding.has_succeeded()).count() as u64
    }
}
