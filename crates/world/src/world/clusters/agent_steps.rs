//! A cluster's agent: receives instructions, applies them and reports back, each with a delay. Its workers, which
//! all deployments of the cluster share, are in `agent_queue`, and its requests in `agent_requests`.
//!
//! An instruction reaches an online cluster after a delay. Applying takes time (Fleet: a Helm upgrade). Then the agent
//! reports the applied revision. [`ReadinessSpec`] determines how later changes of readiness are reported. A cluster
//! that is cut off receives nothing, and its reports are lost. When it reconnects, it receives only the newest
//! instruction and reports its current state. If an instruction is withdrawn before it is applied, the agent has
//! nothing to apply and reports that. The agent of a paused deployment applies nothing and reports no
//! readiness; an apply in progress is completed and reported.
//!
//! An agent that inspects objects (Fleet, KubeFleet) does so once at the end of an apply. It then sees no workload as
//! ready, because the workload's controller has not observed the new template yet (`observedGeneration`). A release
//! without workloads is ready as soon as it is applied.
//!
//! Applies that fail are in `failed_applies`.
//!
//! Left out: reports lost on a working connection.

use crate::engine::Streams;
use crate::world::World;
use crate::world::clusters::agent::{AgentQueue, RemovalState, ReportedState};
use crate::world::clusters::agent_client::AgentClient;
use crate::world::clusters::agent_spec::{AgentSpec, ReadinessSpec};
use crate::world::clusters::apply_rules::{ApplyFailure, ApplyRetry};
use crate::world::clusters::cluster::ClusterState;
use crate::world::clusters::deployment::AppDeployment;
use crate::world::clusters::pod::Pod;
use crate::world::clusters::progress_deadline::PodCounts;
use crate::world::clusters::spec::WorkloadSpec;
use crate::world::event::{AgentEvent, Event, Queue, Report};
use crate::world::ids::{ClusterId, NOTHING, TargetId};
use crate::world::meter::DeploymentPhase;
use crate::world::spec::WorldSpec;
use fleetsim_rollout::Revision;
use fleetsim_units::{SimDuration, SimTime};

/// The settings, streams, pods and cluster that a step of an agent uses, in addition to the state of the deployment.
pub(crate) struct DeploymentContext<'w> {
    pub agent: &'w AgentSpec,
    pub cluster: &'w ClusterState,
    /// The workers of the cluster's agent.
    pub workers: &'w mut AgentQueue,
    /// The limits of the requests of the cluster's agent.
    pub client: &'w mut AgentClient,
    pub workloads: &'w [WorkloadSpec],
    /// The world, with the applies that fail because the experiment specifies failures.
    pub spec: &'w WorldSpec,
    /// All pods, read-only.
    pub pods: &'w [Pod],
    pub streams: &'w Streams,
    pub queue: &'w mut Queue,
}

impl World<'_> {
    pub(crate) fn handle_agent(&mut self, event: AgentEvent, queue: &mut Queue) {
        if self.is_moot(event) {
            return;
        }
        match event {
            AgentEvent::RemovalArrives(id) => self.removal_arrives(id, queue),
            AgentEvent::InstructionArrives(id) => {
                let (deployment, mut context) = self.deployment_with_context(id, queue);
                deployment.instruction_arrives(&mut context);
            }
            AgentEvent::WorkerFree(id) => {
                let (deployment, mut context) = self.deployment_with_context(id, queue);
                deployment.worker_is_free(&mut context);
            }
            AgentEvent::StatusSent(id) => {
                let (deployment, mut context) = self.deployment_with_context(id, queue);
                deployment.status_sent(&mut context);
            }
            AgentEvent::Applied(id) => self.applied(id, queue),
            AgentEvent::ApplyFails(id, failure) => {
                let (deployment, mut context) = self.deployment_with_context(id, queue);
                deployment.apply_fails(failure, &mut context);
            }
            AgentEvent::WaitEnds(id) => self.wait_ends(id, queue),
            AgentEvent::ApplyAgain(id) => {
                let (deployment, mut context) = self.deployment_with_context(id, queue);
                deployment.apply_again(&mut context);
            }
            AgentEvent::ReadinessDue(id) => {
                let (deployment, mut context) = self.deployment_with_context(id, queue);
                deployment.readiness_due(&mut context);
            }
            AgentEvent::ReportArrives(report) => {
                let deployment = &mut self.deployments[report.target.index()];
                let cluster = &self.clusters[deployment.cluster.index()];
                if cluster.cuts.is_managed() {
                    deployment.report_arrives(report, queue.now());
                    self.reports.push(report);
                    deployment.note_phase(cluster, &mut self.meter);
                }
            }
        }
    }

    /// Whether an event is a step of an agent whose workloads are deleted by now.
    fn is_moot(&self, event: AgentEvent) -> bool {
        let id = match event {
            AgentEvent::ReportArrives(_)
            | AgentEvent::RemovalArrives(_)
            | AgentEvent::WorkerFree(_) => return false,
            AgentEvent::InstructionArrives(id)
            | AgentEvent::StatusSent(id)
            | AgentEvent::Applied(id)
            | AgentEvent::ApplyFails(id, _)
            | AgentEvent::WaitEnds(id)
            | AgentEvent::ApplyAgain(id)
            | AgentEvent::ReadinessDue(id) => id,
        };
        self.deployments[id.index()].agent.removal.has_begun()
    }

    /// Returns a deployment, with everything that the steps of its agent may use.
    pub(super) fn deployment_with_context<'w>(
        &'w mut self,
        id: TargetId,
        queue: &'w mut Queue,
    ) -> (&'w mut AppDeployment, DeploymentContext<'w>) {
        let workloads = self.workloads_of(id);
        let deployment = &mut self.deployments[id.index()];
        let context = DeploymentContext {
            agent: &self.platform.agent,
            cluster: &self.clusters[deployment.cluster.index()],
            workers: &mut self.agent_queues[deployment.cluster.index()],
            client: &mut self.agent_clients[deployment.cluster.index()],
            workloads,
            spec: self.spec,
            pods: &self.pods,
            streams: &self.streams,
            queue,
        };
        (deployment, context)
    }

    /// Instructs a target to run a revision.
    pub fn instruct(&mut self, id: TargetId, revision: Revision, queue: &mut Queue) {
        self.meter.advance(queue.now());
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        deployment.instruct(revision, &mut context);
        self.note_phase(id);
    }

    /// Applies a revision of a target directly from the management cluster, like Argo CD. A target whose cluster is
    /// offline misses the revision, even after the cluster reconnects.
    pub fn push(&mut self, id: TargetId, revision: Revision, queue: &mut Queue) {
        let deployment = &mut self.deployments[id.index()];
        let cluster = &self.clusters[deployment.cluster.index()];
        if cluster.cuts.is_managed() || deployment.agent.removal != RemovalState::No {
            self.instruct(id, revision, queue);
            return;
        }
        self.meter.advance(queue.now());
        deployment.agent.missed = Some(revision);
        deployment.note_instruction(revision, queue.now());
        deployment.note_phase(cluster, &mut self.meter);
    }

    /// Pauses or resumes a deployment. The agent is informed immediately, or when the cluster
    /// reconnects.
    pub fn pause(&mut self, id: TargetId, is_paused: bool, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        deployment.agent.is_paused = is_paused;
        let agent = &deployment.agent;
        if !is_paused && agent.applying.is_none() && agent.instructed == agent.applied {
            deployment.send_report(deployment.settled, &mut context);
        } else if !is_paused && agent.failure.is_some() {
            deployment.apply_again(&mut context);
        }
    }

    /// Called when the management cluster reaches a cluster again: the instruction and the report of each of its
    /// deployments are sent if they have changed.
    pub(crate) fn is_managed_again(&mut self, id: ClusterId, queue: &mut Queue) {
        for at in 0..self.clusters[id.index()].deployments.len() {
            let target = self.clusters[id.index()].deployments[at];
            self.target_is_managed_again(target, queue);
        }
    }

    fn target_is_managed_again(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        if deployment.agent.removal != RemovalState::No {
            deployment.send_removal(&mut context);
            return;
        }
        deployment.note_wait_for_link(&context);
        // Reports in transit may be lost.
        deployment.agent.sent = deployment.agent.reported;
        if deployment.agent.instructed != deployment.agent.applied {
            deployment.send_instruction(&mut context);
        }
        if !deployment.agent.is_paused {
            deployment.send_report(deployment.settled, &mut context);
        }
        self.note_phase(id);
    }

    /// Called when the manifests are applied: the controllers of the workloads start, and the agent observes them.
    fn applied(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        let agent = &deployment.agent;
        let revision = agent.applying.expect("an apply that ends has begun");
        if agent.applied.is_none() {
            deployment.watch_begins(&mut context);
        }
        deployment.look_anew(&mut context);
        self.roll_out(id, revision, queue);
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        deployment.wait_begins(&mut context);
        deployment.note_settled(&mut context);
        if deployment.agent.applying.is_some() && !context.agent.wait {
            let inspects = !matches!(context.agent.readiness, ReadinessSpec::Delay(_));
            let ready = deployment.settled && (!inspects || context.workloads.is_empty());
            deployment.apply_ends(ready, &mut context);
        }
    }

    /// Handles a change of a workload: schedules a report if the agent has something to report.
    pub(crate) fn note_settled(&mut self, id: TargetId, queue: &mut Queue) {
        let (deployment, mut context) = self.deployment_with_context(id, queue);
        deployment.note_settled(&mut context);
        self.deployments[id.index()].note_signs(&mut self.meter);
    }
}

impl AppDeployment {
    /// Records the revision that the management cluster now wants.
    fn instruct(&mut self, revision: Revision, context: &mut DeploymentContext<'_>) {
        if self.agent.removal != RemovalState::No {
            return;
        }
        let is_news = self.agent.instructed != Some(revision);
        self.agent.owes_report = is_news && self.agent.applied == Some(revision);
        self.agent.instructed = Some(revision);
        self.agent.missed = None;
        self.note_instruction(revision, context.queue.now());
        if context.cluster.cuts.is_managed() {
            self.send_instruction(context);
        }
    }

    /// Counts how long the instruction or the report of readiness has waited, when the management cluster reaches the
    /// cluster again.
    fn note_wait_for_link(&mut self, context: &DeploymentContext<'_>) {
        let now = context.queue.now();
        let lost = context.cluster.cuts.management_lost();
        let wanted = self.agent.missed_or_instructed();
        let is_reported = self.agent.is_reported_on(self.goal);
        let facts = &mut self.facts;
        if self.agent.applying.is_none()
            && self.agent.applied != wanted
            && let (Some(instructed), None) = (facts.instructed, facts.begun)
        {
            facts.instruction_waited += now - lost.max(instructed);
        }
        if self.settled
            && !is_reported
            && let Some(settled) = facts.settled
        {
            facts.report_waited += now - lost.max(settled);
        }
    }

    fn send_instruction(&mut self, context: &mut DeploymentContext<'_>) {
        let nth = self.agent.instructions;
        self.agent.instructions += 1;
        let delay = context.agent.instruction_delay.draw(
            context.streams,
            self.key,
            "instruction delay",
            nth,
        );
        let arrives = Event::Agent(AgentEvent::InstructionArrives(self.id));
        context.queue.schedule_in(delay, arrives);
    }

    /// Begins to apply the newest instruction, if the agent can apply it and has not done so yet.
    pub(super) fn instruction_arrives(&mut self, context: &mut DeploymentContext<'_>) {
        let agent = &mut self.agent;
        let is_able = context.cluster.cuts.is_managed() && !agent.is_paused;
        // After a failed apply, the workloads may run neither the old nor the new revision.
        let is_applied = agent.instructed == agent.applied && agent.failure.is_none();
        let is_given_up = agent.given_up.is_some() && agent.given_up == agent.instructed;
        let is_at_work = agent.applying.is_some() || agent.is_writing;
        if is_able && is_applied && !is_at_work && agent.owes_report {
            self.send_report(self.settled, context);
            return;
        }
        if !is_able || is_at_work || is_applied || is_given_up {
            return;
        }
        if !self.takes_worker(context) {
            return;
        }
        let agent = &mut self.agent;
        if context.agent.applies.again == ApplyRetry::ByController {
            // The management cluster knows about the failure and starts again.
            agent.failure = None;
            agent.failure_is_news = false;
        }
        if let Some(retry) = agent.retry_due.take() {
            context.queue.cancel(retry);
        }
        agent.applying = agent.instructed;
        let nth = agent.applies;
        agent.applies += 1;
        let usual = context
            .agent
            .apply
            .draw(context.streams, self.key, "apply", nth);
        let usual = usual.mul_f64(self.draws.apply);
        let wait = context.wait_for_content();
        if self.schedule_failure(usual, wait, nth, context) {
            return;
        }
        let applied = Event::Agent(AgentEvent::Applied(self.id));
        context.queue.schedule_in(wait + usual, applied);
    }

    /// Ends the apply. The agent reports it, and begins another apply if it has received another instruction.
    fn apply_ends(&mut self, ready: bool, context: &mut DeploymentContext<'_>) {
        self.wait_is_over(context);
        self.agent.failure = None;
        self.agent.failures = 0;
        self.agent.given_up = None;
        self.agent.applied = self.agent.applying.take();
        if self.agent.applied == Some(self.goal) {
            self.facts.applied.get_or_insert(context.queue.now());
        }
        let wait = self.send_report(ready, context);
        self.work_ends(wait, context);
        self.instruction_arrives(context);
    }

    /// Handles the first apply of a deployment: the watch begins some time later, and the objects found then are its
    /// first event.
    fn watch_begins(&mut self, context: &mut DeploymentContext<'_>) {
        let ReadinessSpec::Debounce(debounce) = &context.agent.readiness else {
            return;
        };
        if self.agent.readiness_due.is_none() && !context.workloads.is_empty() {
            let event = Event::Agent(AgentEvent::ReadinessDue(self.id));
            let after = debounce.watch_start + debounce.delay;
            self.agent.readiness_due = Some(context.queue.schedule_in(after, event));
        }
    }

    /// Called when a revision is applied. An agent that polls begins a new series of polls, and has seen nothing
    /// available yet. For an agent that watches, an apply is an event even if it changes nothing: it has reported that
    /// the deployment is not ready, and reports again (`controllers/fleet/agent.go`).
    fn look_anew(&mut self, context: &mut DeploymentContext<'_>) {
        match context.agent.readiness {
            ReadinessSpec::Looks(_) => {}
            ReadinessSpec::Debounce(_) => {
                self.agent.seen = 0;
                return;
            }
            ReadinessSpec::Delay(_) => return,
        }
        if let Some(look) = self.agent.readiness_due.take() {
            context.queue.cancel(look);
        }
        self.agent.seen = 0;
        self.agent.looks_from = context.queue.now();
        self.agent.saw_all_available = context.workloads.is_empty();
    }

    /// Handles a change of a workload: schedules a report if the agent has something to report.
    pub(super) fn note_settled(&mut self, context: &mut DeploymentContext<'_>) {
        self.note_workloads(context);
        if self.agent.removal.has_begun() {
            self.settled = false;
            self.note_exposure(context.queue.now());
            self.degraded = false;
            return;
        }
        let settled = self.is_settled(context);
        if settled && !self.settled {
            self.facts.settled = Some(context.queue.now());
            self.facts.report_waited = SimDuration::ZERO;
        }
        self.settled = settled;
        self.note_exposure(context.queue.now());
        self.degraded = self.is_degraded();
        if settled && self.agent.waits {
            if self.agent.is_rolling_back {
                self.apply_fails(ApplyFailure::NotReady, context);
            } else {
                self.apply_ends(true, context);
            }
            return;
        }
        if let Some(at) = self.report_due(context) {
            let event = Event::Agent(AgentEvent::ReadinessDue(self.id));
            self.agent.readiness_due = Some(context.queue.schedule(at, event));
        }
    }

    /// Returns when the agent reports or polls the current state. `None`: a report is already scheduled, or the agent
    /// has already seen this state.
    fn report_due(&mut self, context: &DeploymentContext<'_>) -> Option<SimTime> {
        let now = context.queue.now();
        let is_scheduled = self.agent.readiness_due.is_some();
        match &context.agent.readiness {
            ReadinessSpec::Delay(delay) => {
                let is_known = match self.agent.sent {
                    Some(sent) => sent.ready == self.settled && sent.degraded == self.degraded,
                    None => !self.settled && !self.degraded,
                };
                if is_scheduled || is_known {
                    return None;
                }
                let nth = self.agent.readiness_changes;
                self.agent.readiness_changes += 1;
                Some(now + delay.draw(context.streams, self.key, "readiness delay", nth))
            }
            ReadinessSpec::Debounce(debounce) => {
                let status = self.digest_of_status(context.pods);
                let is_new = std::mem::replace(&mut self.agent.seen, status) != status;
                (is_new && !is_scheduled).then_some(now + debounce.delay)
            }
            ReadinessSpec::Looks(looks) => {
                let agent = &self.agent;
                let available = self.available_workloads(context);
                (agent.seen != available && !is_scheduled)
                    .then(|| looks.next_look(agent.looks_from, agent.saw_all_available, now))
            }
        }
    }

    /// Lets an agent that polls look at the workloads, and reports the cluster's state.
    fn readiness_due(&mut self, context: &mut DeploymentContext<'_>) {
        self.agent.readiness_due = None;
        if matches!(context.agent.readiness, ReadinessSpec::Looks(_)) {
            let available = self.available_workloads(context);
            if self.agent.seen != available {
                self.agent.seen = available;
                self.agent.looks_from = context.queue.now();
                self.agent.saw_all_available = self.settled;
            }
        }
        if !self.agent.is_paused {
            self.send_report(self.settled, context);
        }
    }

    /// Records that the agent has seen the current state of the workloads.
    pub(super) fn has_seen_all(&mut self, context: &DeploymentContext<'_>) {
        self.agent.seen = match context.agent.readiness {
            ReadinessSpec::Delay(_) => 0,
            ReadinessSpec::Debounce(_) => self.digest_of_status(context.pods),
            ReadinessSpec::Looks(_) => self.available_workloads(context),
        };
    }

    /// Returns a digest of the status of every workload: its observed template and its counts.
    fn digest_of_status(&self, pods: &[Pod]) -> u128 {
        let mut digest: u128 = 0;
        for workload in &self.workloads {
            let PodCounts {
                updated,
                old,
                ready,
                available,
            } = workload.counts(pods);
            let template = workload.desired.map_or(0, |revision| revision.0 + 1);
            for count in [template, updated, old, ready, available] {
                // The multiplier of a 128-bit congruential generator, so that the position of a count matters.
                digest = digest
                    .wrapping_add(u128::from(count) + 1)
                    .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645);
            }
        }
        digest
    }

    /// Returns the set of available workloads as bits. If there are more than 128 workloads, they share bits.
    fn available_workloads(&self, context: &DeploymentContext<'_>) -> u128 {
        let nodes = context.cluster.nodes.len();
        let mut bits = 0;
        for (at, workload) in self.workloads.iter().enumerate() {
            if workload.is_settled(&context.workloads[at], nodes, context.pods) {
                bits ^= 1 << (at % 128);
            }
        }
        bits
    }

    /// Sends the agent's report on the applied revision. After a failed apply, the reported readiness does not change,
    /// because the agent observes readiness only of an applied revision (rancher/fleet at 3b2c622,
    /// `ShouldUpdateStatus` in `internal/cmd/agent/deployer/monitor/updatestatus.go`).
    /// Returns the wait for the limit of the agent's client.
    pub(super) fn send_report(
        &mut self,
        seen_ready: bool,
        context: &mut DeploymentContext<'_>,
    ) -> SimDuration {
        let again = context.agent.applies.again;
        let is_attempt = again == ApplyRetry::ByController;
        let ends_attempt = is_attempt && self.agent.failure_is_news;
        let failure = self.agent.failure.filter(|_| ends_attempt || !is_attempt);
        let applied = match (self.agent.applied, failure) {
            (Some(applied), _) => applied,
            (None, Some(_)) => NOTHING,
            (None, None) => return SimDuration::ZERO,
        };
        let keeps_readiness = failure.is_some() && matches!(again, ApplyRetry::BackOff { .. });
        let ready = if keeps_readiness {
            self.agent.sent.is_some_and(|sent| sent.ready)
        } else {
            seen_ready
        };
        // A cluster that is not registered has no agent.
        if !context.cluster.cuts.is_managed() || !context.cluster.is_registered {
            return SimDuration::ZERO;
        }
        let state = ReportedState {
            applied,
            ready,
            degraded: self.degraded,
            failure,
        };
        if self.agent.sent == Some(state) && !ends_attempt && !self.agent.owes_report {
            return SimDuration::ZERO;
        }
        self.agent.failure_is_news = false;
        self.agent.owes_report = false;
        self.agent.sent = Some(state);
        let nth = self.agent.reports;
        self.agent.reports += 1;
        let delay = context
            .agent
            .report_delay
            .draw(context.streams, self.key, "report delay", nth);
        let wait = context.wait_for_status();
        // Reports do not overtake each other.
        self.agent.arrives = (self.agent.arrives).max(context.queue.now() + wait + delay);
        let report = Report {
            target: self.id,
            applied,
            ready,
            degraded: self.degraded,
            failure,
        };
        let arrives = Event::Agent(AgentEvent::ReportArrives(report));
        context.queue.schedule(self.agent.arrives, arrives);
        wait
    }

    /// Handles the arrival of the agent's report at the management cluster.
    fn report_arrives(&mut self, report: Report, now: SimTime) {
        let reported = ReportedState {
            applied: report.applied,
            ready: report.ready,
            degraded: report.degraded,
            failure: report.failure,
        };
        self.agent.reported = Some(reported);
        if reported.is_ready_on(self.goal) {
            self.facts.ready.get_or_insert(now);
        }
    }

    /// Returns the deployment's phase on this cluster.
    pub(super) fn current_phase(&self, cluster: &ClusterState) -> DeploymentPhase {
        let agent = &self.agent;
        if agent.removal.has_begun() {
            DeploymentPhase::NotReady
        } else if agent.missed_or_instructed() != Some(self.goal) {
            DeploymentPhase::Waiting
        } else if agent.is_reported_on(self.goal) {
            DeploymentPhase::Ready
        } else if !cluster.cuts.is_managed() || self.troubled_pods > 0 || agent.failure.is_some() {
            DeploymentPhase::NotReady
        } else {
            DeploymentPhase::Updating
        }
    }
}
