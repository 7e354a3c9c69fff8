//! A cluster's agent: receives instructions, applies them and reports back, each with a delay.
//!
//! An instruction reaches an online cluster after a delay. Applying takes time (Fleet: a Helm upgrade). Then the agent
//! reports the applied revision. [`ReadinessSpec`] determines how later changes of readiness are reported. A cluster
//! that is cut off receives nothing, and its reports are lost. When it reconnects, it receives only the newest
//! instruction and reports its current state. The agent of a paused deployment applies nothing and reports no
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
use crate::world::clusters::agent::{RemovalState, ReportedState};
use crate::world::clusters::agent_spec::{AgentSpec, ReadinessSpec};
use crate::world::clusters::apply_rules::{ApplyFailure, ApplyRetry};
use crate::world::clusters::cluster::ClusterState;
use crate::world::clusters::pod::Pod;
use crate::world::clusters::progress_deadline::PodCounts;
use crate::world::clusters::spec::WorkloadSpec;
use crate::world::event::{AgentEvent, Event, Queue, Report};
use crate::world::faults::spec::ApplyFaultSpec;
use crate::world::ids::{ClusterId, NEW, NOTHING};
use crate::world::meter::{ClusterPhase, Meter};
use fleetsim_rollout::Revision;
use fleetsim_units::{SimDuration, SimTime};

/// The settings, streams and pods that a step of an agent uses, in addition to the state of its cluster.
pub(crate) struct ClusterContext<'w> {
    pub agent: &'w AgentSpec,
    pub workloads: &'w [WorkloadSpec],
    /// Applies that fail because the experiment specifies failures.
    pub apply_faults: &'w [ApplyFaultSpec],
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
                let (cluster, mut context) = self.cluster_with_context(id, queue);
                cluster.instruction_arrives(&mut context);
            }
            AgentEvent::Applied(id) => self.applied(id, queue),
            AgentEvent::ApplyFails(id, failure) => {
                let (cluster, mut context) = self.cluster_with_context(id, queue);
                cluster.apply_fails(failure, &mut context);
            }
            AgentEvent::WaitEnds(id) => self.wait_ends(id, queue),
            AgentEvent::ApplyAgain(id) => {
                let (cluster, mut context) = self.cluster_with_context(id, queue);
                cluster.apply_again(&mut context);
            }
            AgentEvent::ReadinessDue(id) => {
                let (cluster, mut context) = self.cluster_with_context(id, queue);
                cluster.readiness_due(&mut context);
            }
            AgentEvent::ReportArrives(report) => {
                let cluster = &mut self.clusters[report.cluster.index()];
                if cluster.cuts.is_managed() {
                    cluster.report_arrives(report, queue.now());
                    self.reports.push(report);
                    cluster.note_phase(&mut self.meter);
                }
            }
        }
    }

    /// Whether an event is a step of an agent whose workloads are deleted by now.
    fn is_moot(&self, event: AgentEvent) -> bool {
        let id = match event {
            AgentEvent::ReportArrives(_) | AgentEvent::RemovalArrives(_) => return false,
            AgentEvent::InstructionArrives(id)
            | AgentEvent::Applied(id)
            | AgentEvent::ApplyFails(id, _)
            | AgentEvent::WaitEnds(id)
            | AgentEvent::ApplyAgain(id)
            | AgentEvent::ReadinessDue(id) => id,
        };
        self.clusters[id.index()].agent.removal.has_begun()
    }

    /// Returns a cluster, with everything that the steps of its agent may use.
    pub(super) fn cluster_with_context<'w>(
        &'w mut self,
        id: ClusterId,
        queue: &'w mut Queue,
    ) -> (&'w mut ClusterState, ClusterContext<'w>) {
        let context = ClusterContext {
            agent: &self.platform.agent,
            workloads: &self.spec.workloads,
            apply_faults: &self.spec.faults.apply,
            pods: &self.pods,
            streams: &self.streams,
            queue,
        };
        (&mut self.clusters[id.index()], context)
    }

    /// Instructs a cluster to run a revision.
    pub fn instruct(&mut self, id: ClusterId, revision: Revision, queue: &mut Queue) {
        self.meter.advance(queue.now());
        let (cluster, mut context) = self.cluster_with_context(id, queue);
        cluster.instruct(revision, &mut context);
        self.clusters[id.index()].note_phase(&mut self.meter);
    }

    /// Applies a revision in a cluster directly from the management cluster, like Argo CD. An offline cluster misses
    /// the revision, even after it reconnects.
    pub fn push(&mut self, id: ClusterId, revision: Revision, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        if cluster.cuts.is_managed() || cluster.agent.removal != RemovalState::No {
            self.instruct(id, revision, queue);
            return;
        }
        self.meter.advance(queue.now());
        cluster.agent.missed = Some(revision);
        if revision == NEW {
            cluster.facts.instructed.get_or_insert(queue.now());
        }
        cluster.note_phase(&mut self.meter);
    }

    /// Pauses or resumes the deployment of a cluster. The agent is informed immediately, or when the cluster
    /// reconnects.
    pub fn pause(&mut self, id: ClusterId, is_paused: bool, queue: &mut Queue) {
        let (cluster, mut context) = self.cluster_with_context(id, queue);
        cluster.agent.is_paused = is_paused;
        let agent = &cluster.agent;
        if !is_paused && agent.applying.is_none() && agent.instructed == agent.applied {
            cluster.send_report(cluster.settled, &mut context);
        } else if !is_paused && agent.failure.is_some() {
            cluster.apply_again(&mut context);
        }
    }

    /// Called when the management cluster reaches the cluster again: the instruction and the report are sent if they
    /// have changed.
    pub(crate) fn is_managed_again(&mut self, id: ClusterId, queue: &mut Queue) {
        let (cluster, mut context) = self.cluster_with_context(id, queue);
        if cluster.agent.removal != RemovalState::No {
            cluster.send_removal(&mut context);
            return;
        }
        cluster.note_wait_for_link(context.queue.now());
        // Reports in transit may be lost.
        cluster.agent.sent = cluster.agent.reported;
        if cluster.agent.instructed != cluster.agent.applied {
            cluster.send_instruction(&mut context);
        }
        if !cluster.agent.is_paused {
            cluster.send_report(cluster.settled, &mut context);
        }
        self.clusters[id.index()].note_phase(&mut self.meter);
    }

    /// Called when the manifests are applied: the controllers of the workloads start, and the agent observes them.
    fn applied(&mut self, id: ClusterId, queue: &mut Queue) {
        let (cluster, mut context) = self.cluster_with_context(id, queue);
        let agent = &cluster.agent;
        let revision = agent.applying.expect("an apply that ends has begun");
        if agent.applied.is_none() {
            cluster.watch_begins(&mut context);
        }
        cluster.look_anew(&mut context);
        self.roll_out(id, revision, queue);
        let (cluster, mut context) = self.cluster_with_context(id, queue);
        cluster.wait_begins(&mut context);
        cluster.note_settled(&mut context);
        if cluster.agent.applying.is_some() && !context.agent.wait {
            let inspects = !matches!(context.agent.readiness, ReadinessSpec::Delay(_));
            let ready = cluster.settled && (!inspects || context.workloads.is_empty());
            cluster.apply_ends(ready, &mut context);
        }
    }

    /// Handles a change of a workload: schedules a report if the agent has something to report.
    pub(crate) fn note_settled(&mut self, id: ClusterId, queue: &mut Queue) {
        let (cluster, mut context) = self.cluster_with_context(id, queue);
        cluster.note_settled(&mut context);
    }
}

impl ClusterState {
    /// Records the revision that the management cluster now wants.
    fn instruct(&mut self, revision: Revision, context: &mut ClusterContext<'_>) {
        if self.agent.removal != RemovalState::No {
            return;
        }
        self.agent.instructed = Some(revision);
        self.agent.missed = None;
        if revision == NEW {
            self.facts.instructed.get_or_insert(context.queue.now());
        }
        if self.cuts.is_managed() {
            self.send_instruction(context);
        }
    }

    /// Counts how long the instruction or the report of readiness has waited, when the management cluster reaches the
    /// cluster again.
    fn note_wait_for_link(&mut self, now: SimTime) {
        let lost = self.cuts.management_lost();
        let wanted = self.agent.missed.or(self.agent.instructed);
        let facts = &mut self.facts;
        if self.agent.applying.is_none()
            && self.agent.applied != wanted
            && let (Some(instructed), None) = (facts.instructed, facts.begun)
        {
            facts.instruction_waited += now - lost.max(instructed);
        }
        let is_reported = self.agent.reported.is_some_and(ReportedState::is_updated);
        if self.settled
            && !is_reported
            && let Some(settled) = facts.settled
        {
            facts.report_waited += now - lost.max(settled);
        }
    }

    fn send_instruction(&mut self, context: &mut ClusterContext<'_>) {
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
    pub(super) fn instruction_arrives(&mut self, context: &mut ClusterContext<'_>) {
        let agent = &mut self.agent;
        let is_able = self.cuts.is_managed() && !agent.is_paused;
        // After a failed apply, the workloads may run neither the old nor the new revision.
        let is_applied = agent.instructed == agent.applied && agent.failure.is_none();
        let is_given_up = agent.given_up.is_some() && agent.given_up == agent.instructed;
        if !is_able || agent.applying.is_some() || is_applied || is_given_up {
            return;
        }
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
        if self.schedule_failure(usual, nth, context) {
            return;
        }
        let applied = Event::Agent(AgentEvent::Applied(self.id));
        context.queue.schedule_in(usual, applied);
    }

    /// Ends the apply. The agent reports it, and begins another apply if it has received another instruction.
    fn apply_ends(&mut self, ready: bool, context: &mut ClusterContext<'_>) {
        self.wait_is_over(context);
        self.agent.failure = None;
        self.agent.failures = 0;
        self.agent.given_up = None;
        self.agent.applied = self.agent.applying.take();
        if self.agent.applied == Some(NEW) {
            self.facts.applied.get_or_insert(context.queue.now());
        }
        self.send_report(ready, context);
        self.instruction_arrives(context);
    }

    /// Handles the first deployment in a cluster: the watch begins some time later, and the objects found then are its
    /// first event.
    fn watch_begins(&mut self, context: &mut ClusterContext<'_>) {
        let ReadinessSpec::Debounce(debounce) = &context.agent.readiness else {
            return;
        };
        if self.agent.readiness_due.is_none() && !context.workloads.is_empty() {
            let event = Event::Agent(AgentEvent::ReadinessDue(self.id));
            let after = debounce.watch_start + debounce.delay;
            self.agent.readiness_due = Some(context.queue.schedule_in(after, event));
        }
    }

    /// Called when a new revision is applied: an agent that polls begins a new series of polls, and has seen nothing
    /// available yet.
    fn look_anew(&mut self, context: &mut ClusterContext<'_>) {
        if !matches!(context.agent.readiness, ReadinessSpec::Looks(_)) {
            return;
        }
        if let Some(look) = self.agent.readiness_due.take() {
            context.queue.cancel(look);
        }
        self.agent.seen = 0;
        self.agent.looks_from = context.queue.now();
        self.agent.saw_all_available = context.workloads.is_empty();
    }

    /// Handles a change of a workload: schedules a report if the agent has something to report.
    pub(super) fn note_settled(&mut self, context: &mut ClusterContext<'_>) {
        self.note_workloads(context);
        if self.agent.removal.has_begun() {
            self.settled = false;
            self.degraded = false;
            return;
        }
        let settled = self.is_settled(context.workloads, context.pods);
        if settled && !self.settled {
            self.facts.settled = Some(context.queue.now());
            self.facts.report_waited = SimDuration::ZERO;
        }
        self.settled = settled;
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
    fn report_due(&mut self, context: &ClusterContext<'_>) -> Option<SimTime> {
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
                let available = self.available_workloads(context.workloads, context.pods);
                (agent.seen != available && !is_scheduled)
                    .then(|| looks.next_look(agent.looks_from, agent.saw_all_available, now))
            }
        }
    }

    /// Lets an agent that polls look at the workloads, and reports the cluster's state.
    fn readiness_due(&mut self, context: &mut ClusterContext<'_>) {
        self.agent.readiness_due = None;
        if matches!(context.agent.readiness, ReadinessSpec::Looks(_)) {
            let available = self.available_workloads(context.workloads, context.pods);
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
    pub(super) fn has_seen_all(
        &mut self,
        readiness: &ReadinessSpec,
        workloads: &[WorkloadSpec],
        pods: &[Pod],
    ) {
        self.agent.seen = match readiness {
            ReadinessSpec::Delay(_) => 0,
            ReadinessSpec::Debounce(_) => self.digest_of_status(pods),
            ReadinessSpec::Looks(_) => self.available_workloads(workloads, pods),
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
    fn available_workloads(&self, workloads: &[WorkloadSpec], pods: &[Pod]) -> u128 {
        let mut bits = 0;
        for (at, workload) in self.workloads.iter().enumerate() {
            if workload.is_settled(&workloads[at], self.nodes.len(), pods) {
                bits ^= 1 << (at % 128);
            }
        }
        bits
    }

    /// Sends the agent's report on the applied revision. After a failed apply, the reported readiness does not change,
    /// because the agent observes readiness only of an applied revision (rancher/fleet at 3b2c622,
    /// `ShouldUpdateStatus` in `internal/cmd/agent/deployer/monitor/updatestatus.go`).
    pub(super) fn send_report(&mut self, seen_ready: bool, context: &mut ClusterContext<'_>) {
        let again = context.agent.applies.again;
        let is_attempt = again == ApplyRetry::ByController;
        let ends_attempt = is_attempt && self.agent.failure_is_news;
        let failure = self.agent.failure.filter(|_| ends_attempt || !is_attempt);
        let applied = match (self.agent.applied, failure) {
            (Some(applied), _) => applied,
            (None, Some(_)) => NOTHING,
            (None, None) => return,
        };
        let keeps_readiness = failure.is_some() && matches!(again, ApplyRetry::BackOff { .. });
        let ready = if keeps_readiness {
            self.agent.sent.is_some_and(|sent| sent.ready)
        } else {
            seen_ready
        };
        // A cluster that is not registered has no agent.
        if !self.cuts.is_managed() || !self.is_registered {
            return;
        }
        let state = ReportedState {
            applied,
            ready,
            degraded: self.degraded,
            failure,
        };
        if self.agent.sent == Some(state) && !ends_attempt {
            return;
        }
        self.agent.failure_is_news = false;
        self.agent.sent = Some(state);
        let nth = self.agent.reports;
        self.agent.reports += 1;
        let delay = context
            .agent
            .report_delay
            .draw(context.streams, self.key, "report delay", nth);
        // Reports do not overtake each other.
        self.agent.arrives = self.agent.arrives.max(context.queue.now() + delay);
        let report = Report {
            cluster: self.id,
            applied,
            ready,
            degraded: self.degraded,
            failure,
        };
        let arrives = Event::Agent(AgentEvent::ReportArrives(report));
        context.queue.schedule(self.agent.arrives, arrives);
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
        if reported.is_updated() {
            self.facts.ready.get_or_insert(now);
        }
    }

    /// Updates the cluster's phase in the meters.
    pub(crate) fn note_phase(&mut self, meter: &mut Meter) {
        let phase = self.current_phase();
        if phase != self.phase {
            let was = std::mem::replace(&mut self.phase, phase);
            meter.move_cluster(was, phase);
        }
    }

    fn current_phase(&self) -> ClusterPhase {
        let agent = &self.agent;
        if agent.removal.has_begun() {
            ClusterPhase::NotReady
        } else if agent.missed.or(agent.instructed) != Some(NEW) {
            ClusterPhase::Waiting
        } else if agent.reported.is_some_and(ReportedState::is_updated) {
            ClusterPhase::Ready
        } else if !self.cuts.is_managed() || self.troubled_pods > 0 || agent.failure.is_some() {
            ClusterPhase::NotReady
        } else {
            ClusterPhase::Updating
        }
    }
}
