//! The removal of a deployment's workloads for good, after a product's object that wanted them is deleted.
//!
//! The deletion reaches the agent like an instruction, in a cluster that is cut off after its return. Then an apply in
//! progress has no further effect, all pods terminate, and the agent reports once the last pod is gone: deletions in
//! the foreground wait for dependents (`DeletePropagationForeground`: kubefleet-dev/kubefleet at e160c1cd,
//! `pkg/controllers/workapplier/controller.go`; argoproj/argo-cd at 37ee0097, `controller/appcontroller.go`). Nothing
//! of the deployment is applied afterwards.
//!
//! Left out: image pulls of pods that are deleted, which go on to their end as in a rolling update; finalizers of the
//! workloads' own resources; and volumes.

use crate::world::World;
use crate::world::clusters::agent::{Agent, RemovalState};
use crate::world::clusters::agent_steps::DeploymentContext;
use crate::world::clusters::deployment::AppDeployment;
use crate::world::event::{AgentEvent, Event, Queue, Report};
use crate::world::ids::{NOTHING, TargetId};

impl World<'_> {
    /// Instructs a cluster's agent to remove a deployment's workloads for good.
    pub fn withdraw(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        if deployment.agent.removal == RemovalState::No {
            deployment.agent.removal = RemovalState::Wanted;
            deployment.send_removal(&mut context);
        }
    }

    /// Returns whether a deployment's workloads were removed and all their pods are gone.
    #[must_use]
    pub fn is_removed(&self, id: TargetId) -> bool {
        self.deployments[id.index()].agent.removal == RemovalState::Over
    }

    /// Deletes the workloads of a deployment, whose agent has received the deletion.
    pub(super) fn removal_arrives(&mut self, id: TargetId, queue: &mut Queue) {
        let deployment = &mut self.deployments[id.index()];
        let cluster = &self.clusters[deployment.cluster.index()];
        if deployment.agent.removal != RemovalState::Wanted || !cluster.cuts.is_managed() {
            return;
        }
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        deployment.release_worker(&mut context);
        context.workers.forget(id);
        deployment.facts.removed = Some(context.queue.now());
        deployment.agent.begin_removal(context.queue);
        self.meter.advance(queue.now());
        self.take_down(id, queue);
        self.note_phase(id);
        self.note_pods_gone(id, queue);
    }

    /// Ends a removal if the last pod of the deployment is gone.
    pub(super) fn note_pods_gone(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        let is_empty = deployment
            .workloads
            .iter()
            .all(|workload| workload.pods.is_empty() && workload.terminating.is_empty());
        if deployment.agent.removal == RemovalState::Begun && is_empty {
            deployment.agent.removal = RemovalState::Over;
            deployment.send_removal(&mut context);
        }
    }
}

impl AppDeployment {
    /// Sends the deletion to the agent, or the agent's report that all pods are gone, unless the cluster is cut off.
    pub(super) fn send_removal(&mut self, context: &mut DeploymentContext<'_>) {
        if !context.cluster.cuts.is_managed() || !context.cluster.is_registered {
            return;
        }
        let agent = context.agent;
        let now = context.queue.now();
        match self.agent.removal {
            RemovalState::No | RemovalState::Begun => {}
            RemovalState::Wanted => {
                let delay =
                    agent
                        .instruction_delay
                        .draw(context.streams, self.key, "removal delay", 0);
                let arrives = Event::Agent(AgentEvent::RemovalArrives(self.id));
                context.queue.schedule(now + delay, arrives);
            }
            RemovalState::Over => {
                let delay = agent
                    .report_delay
                    .draw(context.streams, self.key, "removal report", 0);
                // Reports do not overtake each other.
                self.agent.arrives = self.agent.arrives.max(now + delay);
                let report = Report {
                    target: self.id,
                    applied: NOTHING,
                    ready: false,
                    degraded: false,
                    failure: None,
                };
                let arrives = Event::Agent(AgentEvent::ReportArrives(report));
                context.queue.schedule(self.agent.arrives, arrives);
            }
        }
    }
}

impl Agent {
    /// Forgets what it applies and applied: nothing is wanted any more.
    fn begin_removal(&mut self, queue: &mut Queue) {
        let pending = [
            self.wait_due.take(),
            self.retry_due.take(),
            self.fault_due.take(),
            self.readiness_due.take(),
        ];
        for due in pending.into_iter().flatten() {
            queue.cancel(due);
        }
        *self = Self {
            removal: RemovalState::Begun,
            arrives: self.arrives,
            reports: self.reports,
            reported: self.reported,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::clusters::agent_spec::AgentSpec;
    use crate::world::spec::{ReleaseKind, WorldSpec};
    use crate::world::testing::{Intervention, Played, bare_world, fixed, play_agent_with};
    use fleetsim_units::SimDuration;

    /// An agent with 0.5 s until it has an instruction, 3 s to apply, and 0.25 s for a report.
    const AGENT: AgentSpec = AgentSpec {
        instruction_delay: fixed(SimDuration::from_millis(500)),
        apply: fixed(SimDuration::from_secs(3)),
        report_delay: fixed(SimDuration::from_millis(250)),
        ..AgentSpec::INSTANT
    };
    const FIRST: TargetId = TargetId(0);

    /// A cluster whose pods need 20 s to terminate.
    fn world() -> WorldSpec {
        let mut world = bare_world(1);
        world.applications[0].release = ReleaseKind::Update;
        world.applications[0].workloads[0].termination = fixed(SimDuration::from_secs(20));
        world
    }

    fn withdraw(at: f64) -> (f64, Intervention) {
        (at, |world, queue| world.withdraw(FIRST, queue))
    }

    /// The arrival of the report that nothing is left, in seconds.
    fn removed(played: &Played) -> Vec<f64> {
        played.times(|event| {
            matches!(event, Event::Agent(AgentEvent::ReportArrives(report)) if report.applied == NOTHING)
        })
    }

    #[test]
    fn a_removal_ends_when_the_last_pod_is_gone() {
        // The new pod is ready long before. The deletion arrives after 100.5 s, and the report after 20.25 s more.
        let played = play_agent_with(&world(), AGENT, &[withdraw(100.0)]);
        assert_eq!(removed(&played), [120.75]);
        assert!(played.ready_s()[0].is_some_and(|at| at < 100.0));
    }

    #[test]
    fn an_apply_in_progress_has_no_effect_after_the_deletion() {
        // The apply would end after 3.5 s; the deletion arrives after 1.5 s, and the old pods terminate.
        let played = play_agent_with(&world(), AGENT, &[withdraw(1.0)]);
        assert_eq!(removed(&played), [21.75]);
        assert_eq!(played.ready_s(), [None]);
        assert_eq!(played.totals.pulls, 0, "the new version is never pulled");
    }
}
