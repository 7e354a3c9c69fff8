//! An agent's requests to the management cluster, which may wait for the limit of its client (`agent_client`).
//!
//! An apply begins with a read of the release's content, which waits for a token of the contents. A report is a write
//! of a status, which waits for a token of the statuses. The apply keeps its worker during both waits, and the next
//! apply of the deployment begins after the write. The status is that of the time at which the agent wants to write
//! it.
//!
//! Left out: the reads of a release's values, which come behind those of its content and so never wait for a limit that
//! is the same; the limits of the agent's clients for its own cluster; the deletion of a deployment.
//!
//! How we know: the tests below compute every time by hand; `sim::tests::agent_client` compares the end of a rollout
//! that was recorded from the product's own hub.

use crate::world::clusters::agent_steps::DeploymentContext;
use crate::world::clusters::deployment::AppDeployment;
use crate::world::event::{AgentEvent, Event};
use fleetsim_units::SimDuration;

impl DeploymentContext<'_> {
    /// Takes a token for the read of a content. Returns the wait for it.
    pub(super) fn wait_for_content(&mut self) -> SimDuration {
        self.client
            .read_content(self.agent.client, self.queue.now())
    }

    /// Takes a token for the write of a status. Returns the wait for it.
    pub(super) fn wait_for_status(&mut self) -> SimDuration {
        self.client
            .write_status(self.agent.client, self.queue.now())
    }
}

impl AppDeployment {
    /// Ends the agent's work on an apply, whose report is sent after `wait`. Until then, the agent keeps its worker.
    pub(super) fn work_ends(&mut self, wait: SimDuration, context: &mut DeploymentContext<'_>) {
        if wait == SimDuration::ZERO {
            self.release_worker(context);
            return;
        }
        self.agent.is_writing = true;
        let sent = Event::Agent(AgentEvent::StatusSent(self.id));
        context.queue.schedule_in(wait, sent);
    }

    /// Handles the end of the wait for the write of a status: the worker is free, and the newest instruction is
    /// applied.
    pub(super) fn status_sent(&mut self, context: &mut DeploymentContext<'_>) {
        self.agent.is_writing = false;
        self.release_worker(context);
        self.instruction_arrives(context);
    }
}

#[cfg(test)]
mod tests {
    use crate::world::clusters::agent_client::AgentClientRate;
    use crate::world::clusters::agent_spec::AgentSpec;
    use crate::world::clusters::apply_rules::{ApplyFailure, ApplyRetry, ApplyRules};
    use crate::world::event::{AgentEvent, Event};
    use crate::world::faults::spec::{ApplyFaultSpec, ReleaseFaults};
    use crate::world::ids::{OLD, TargetId};
    use crate::world::spec::{ApplicationSpec, ReleaseKind, WorldSpec};
    use crate::world::testing::{
        Intervention, Played, bare_world, fixed, layer, play_agent, play_agent_with,
    };
    use fleetsim_units::{Share, SimDuration, SimTime};

    /// An agent that may send 2 requests at once and one a second after that. Its applies take 100 ms.
    const AGENT: AgentSpec = AgentSpec {
        apply: fixed(SimDuration::from_millis(100)),
        client: Some(AgentClientRate {
            per_second: 1,
            burst: 2,
        }),
        ..AgentSpec::INSTANT
    };

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

    /// Returns when each target was applied, in milliseconds.
    fn applied(played: &Played) -> Vec<u64> {
        let mut times = Vec::new();
        for facts in &played.deployments {
            let applied = facts.applied.expect("every target is applied");
            times.push(applied.as_nanos() / 1_000_000);
        }
        times
    }

    /// Returns when reports arrive, in milliseconds.
    fn reported(played: &Played) -> Vec<u64> {
        let arrivals =
            played.times(|event| matches!(event, Event::Agent(AgentEvent::ReportArrives(_))));
        let mut times = Vec::new();
        for seconds in arrivals {
            times.push((seconds * 1e3).round() as u64);
        }
        times
    }

    #[test]
    fn an_apply_waits_for_the_read_of_its_content() {
        // Two reads at once, and then one a second. The writes come as far apart, and so wait for nothing.
        let played = play_agent(&world(5), AGENT);
        assert_eq!(applied(&played), [100, 100, 1100, 2100, 3100]);
        assert_eq!(reported(&played), applied(&played));
        let unlimited = AgentSpec {
            client: None,
            ..AGENT
        };
        assert_eq!(applied(&play_agent(&world(5), unlimited)), [100; 5]);
    }

    #[test]
    fn one_deployment_never_waits() {
        let played = play_agent(
            &world(1),
            AgentSpec {
                client: Some(AgentClientRate::FLEET),
                ..AGENT
            },
        );
        assert_eq!(applied(&played), [100]);
    }

    #[test]
    fn agents_of_different_clusters_have_their_own_clients() {
        let mut world = world(2);
        world.clusters = bare_world(3).clusters;
        // Each cluster has two deployments, which the burst suffices for.
        assert_eq!(applied(&play_agent(&world, AGENT)), [100; 6]);
    }

    /// Four deployments, of which the first two have a pod. Its image takes 0.9 s to pull.
    fn two_with_pods() -> WorldSpec {
        let mut world = world(4);
        world.images[0].layers = vec![layer("app", 90_000_000)];
        for application in &mut world.applications[..2] {
            application.workloads = bare_world(1).applications.remove(0).workloads;
        }
        world.applications[2].release = ReleaseKind::Update;
        world
    }

    #[test]
    fn reports_of_applies_and_of_readiness_share_a_limit() {
        // The first two are applied at 0.1 s and ready at 1.0 s. The next tokens are there at 1.1 and 2.1 s. The third
        // and the fourth, whose applies end at 1.1 and 2.1 s, come after them.
        let played = play_agent(&two_with_pods(), AGENT);
        assert_eq!(applied(&played), [100, 100, 1100, 2100]);
        assert_eq!(reported(&played), [100, 100, 1100, 2100, 3100, 4100]);
    }

    #[test]
    fn an_apply_keeps_its_worker_until_its_report_is_sent() {
        let one_worker = AgentSpec {
            workers: Some(1),
            ..AGENT
        };
        // The report of the third waits until 3.1 s, and only then is the content of the fourth read.
        let played = play_agent(&two_with_pods(), one_worker);
        assert_eq!(applied(&played), [100, 200, 1100, 3200]);
        assert_eq!(reported(&played), [100, 200, 1100, 2100, 3100, 4100]);
    }

    #[test]
    fn a_newer_instruction_waits_for_the_report_of_the_apply_before() {
        let back: Intervention = |world, queue| world.instruct(TargetId(2), OLD, queue);
        let played = play_agent_with(&two_with_pods(), AGENT, &[(1.5, back)]);
        // The third is told to go back after 1.5 s, and its report waits until 3.1 s.
        let third = played.times(|event| *event == Event::Agent(AgentEvent::Applied(TargetId(2))));
        assert_eq!(third, [1.1, 3.2]);
    }

    #[test]
    fn every_try_of_a_failing_apply_reads_the_content_again() {
        let mut world = world(1);
        let fault = ApplyFaultSpec {
            share: Share::ALL,
            clusters: Vec::new(),
            kind: ApplyFailure::Rejected,
            attempts: Some(2),
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
            ..AGENT
        };
        // The tries begin after 0, 105 and 215 ms. The third reads at 1 s, when a third token has arrived.
        let played = play_agent(&world, agent);
        assert_eq!(
            played.deployments[0].applied,
            Some(SimTime::from_nanos(1_100_000_000))
        );
    }
}
