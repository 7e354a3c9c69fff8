//! The workers of a cluster's agent, which all deployments of the cluster share.
//!
//! A deployment that is to be applied takes a worker until the apply ends, with the wait for its workloads if there is
//! one. If all workers are busy, it waits behind those that came before it. A deployment that waits already keeps its
//! place, and applies the newest instruction when its turn comes; so does the work queue of client-go
//! (kubernetes/client-go, `util/workqueue/queue.go`), which has each key once. One that is to be applied again at the
//! end of its own apply goes to the end of the queue.
//!
//! Left out: the share of a worker's time that the agent's other controllers take, such as those that watch for drift.
//!
//! How we know: the tests below compute every time by hand.

use crate::world::clusters::agent_steps::DeploymentContext;
use crate::world::clusters::deployment::AppDeployment;
use crate::world::event::{AgentEvent, Event};

impl AppDeployment {
    /// Takes a worker of the agent for an apply. Returns false if the deployment has to wait for one.
    pub(super) fn takes_worker(&mut self, context: &mut DeploymentContext<'_>) -> bool {
        let Some(workers) = context.agent.workers else {
            return true;
        };
        if !self.agent.has_worker {
            self.agent.has_worker = context.workers.take(self.id, workers);
        }
        self.agent.has_worker
    }

    /// Gives the deployment's worker, if it has one, to the deployment that has waited longest.
    pub(super) fn release_worker(&mut self, context: &mut DeploymentContext<'_>) {
        if !std::mem::take(&mut self.agent.has_worker) {
            return;
        }
        if let Some(next) = context.workers.release() {
            let event = Event::Agent(AgentEvent::WorkerFree(next));
            context.queue.schedule(context.queue.now(), event);
        }
    }

    /// Handles the end of the wait for a worker.
    pub(super) fn worker_is_free(&mut self, context: &mut DeploymentContext<'_>) {
        self.agent.has_worker = true;
        self.instruction_arrives(context);
        if self.agent.applying.is_none() {
            self.release_worker(context);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::world::clusters::agent_spec::AgentSpec;
    use crate::world::clusters::apply_rules::{ApplyFailure, ApplyRetry, ApplyRules};
    use crate::world::faults::spec::{ApplyFaultSpec, ReleaseFaults};
    use crate::world::ids::{NEW, OLD, TargetId};
    use crate::world::spec::{ApplicationSpec, ReleaseKind, WorldSpec};
    use crate::world::testing::{
        Intervention, Played, bare_world, fixed, play_agent, play_agent_with,
    };
    use fleetsim_units::{Share, SimDuration, SimTime};

    /// An agent with this number of workers, whose applies take 3 s.
    fn agent(workers: u32) -> AgentSpec {
        AgentSpec {
            apply: fixed(SimDuration::from_secs(3)),
            workers: Some(workers),
            ..AgentSpec::INSTANT
        }
    }

    /// Applications without pods on one cluster.
    fn world(applications: usize) -> WorldSpec {
        let mut world = bare_world(1);
        world.applications.clear();
        for number in 0..applications {
            world.applications.push(ApplicationSpec::everywhere(
                format!("app-{number}"),
                Vec::new(),
                ReleaseKind::Initial,
            ));
        }
        world
    }

    /// Returns when each target was applied, in seconds rounded to milliseconds.
    fn applied(played: &Played) -> Vec<f64> {
        let mut times = Vec::new();
        for facts in &played.deployments {
            let applied = facts.applied.map_or(f64::NAN, SimTime::as_secs_f64);
            times.push((applied * 1e3).round() / 1e3);
        }
        times
    }

    #[test]
    fn an_agent_applies_as_many_deployments_at_a_time_as_it_has_workers() {
        for (workers, expected) in [
            (1, [3.0, 6.0, 9.0, 12.0, 15.0]),
            (2, [3.0, 3.0, 6.0, 6.0, 9.0]),
            (5, [3.0; 5]),
        ] {
            let played = play_agent(&world(5), agent(workers));
            assert_eq!(applied(&played), expected, "{workers} workers");
        }
        let unlimited = AgentSpec {
            workers: None,
            ..agent(1)
        };
        assert_eq!(applied(&play_agent(&world(5), unlimited)), [3.0; 5]);
    }

    #[test]
    fn agents_of_different_clusters_have_their_own_workers() {
        let mut world = world(2);
        world.clusters = bare_world(2).clusters;
        // Targets 0 and 1 are the first application on both clusters.
        let played = play_agent(&world, agent(1));
        assert_eq!(applied(&played), [3.0, 3.0, 6.0, 6.0]);
    }

    #[test]
    fn a_failed_apply_frees_its_worker_and_is_retried_at_the_end_of_the_queue() {
        let mut world = world(3);
        let fault = ApplyFaultSpec {
            share: Share::ALL,
            clusters: Vec::new(),
            kind: ApplyFailure::Rejected,
            attempts: Some(1),
            after: None,
        };
        world.applications[0].faults = Some(ReleaseFaults {
            apply: vec![fault],
            ..ReleaseFaults::default()
        });
        let agent = AgentSpec {
            applies: ApplyRules {
                again: ApplyRetry::CONTROLLER_RUNTIME,
                ..ApplyRules::NONE
            },
            ..agent(1)
        };
        // The first fails after 3 s, and is to be applied again 5 ms later, behind the others.
        let played = play_agent(&world, agent);
        assert_eq!(applied(&played), [12.0, 6.0, 9.0]);
    }

    #[test]
    fn a_wait_for_the_workloads_holds_the_worker() {
        let mut world = world(2);
        let mut workload = bare_world(1).applications[0].workloads[0].clone();
        workload.min_ready = SimDuration::from_secs(10);
        for application in &mut world.applications {
            application.workloads = vec![workload.clone()];
        }
        let waiting = AgentSpec {
            wait: true,
            ..agent(1)
        };
        // The first takes 3 s to apply, 1 s for its pull and 10 s until it is available. The second has the image.
        assert_eq!(applied(&play_agent(&world, waiting)), [14.0, 27.0]);
        assert_eq!(applied(&play_agent(&world, agent(1))), [3.0, 6.0]);
    }

    #[test]
    fn a_deployment_that_waits_applies_the_newest_instruction_once() {
        let mut world = world(2);
        world.applications[1].release = ReleaseKind::Update;
        // The second is told to go back while it waits, and has nothing to apply when its turn comes.
        let back: Intervention = |world, queue| world.instruct(TargetId(1), OLD, queue);
        let again: Intervention = |world, queue| world.instruct(TargetId(1), NEW, queue);
        let played = play_agent_with(&world, agent(1), &[(1.0, back), (10.0, again)]);
        assert_eq!(applied(&played), [3.0, 13.0]);
    }

    #[test]
    fn a_deployment_that_is_withdrawn_frees_its_worker_and_its_place() {
        let first: Intervention = |world, queue| world.withdraw(TargetId(0), queue);
        let second: Intervention = |world, queue| world.withdraw(TargetId(1), queue);
        let played = play_agent_with(&world(3), agent(1), &[(1.0, first), (2.0, second)]);
        // The second begins after 1 s, and the third after 2 s.
        assert_eq!(played.deployments[2].applied, Some(SimTime::from_secs(5)));
        assert!(played.deployments[0].applied.is_none());
        assert!(played.deployments[1].applied.is_none());
    }
}
