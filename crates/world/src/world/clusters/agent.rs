//! A cluster's agent: receives instructions, applies them and reports back, each with a delay.
//!
//! An instruction reaches an online cluster after a delay. Applying takes time (Fleet: a Helm upgrade). Then the agent
//! reports what it applied. Later changes of readiness are reported as [`ReadinessSpec`] says. A cluster that is cut
//! off receives nothing, and its reports are lost. When it is back it receives only the newest instruction and reports
//! its current state. The agent of a deployment that is held applies nothing and reports no readiness; an apply that is
//! under way ends and is reported.
//!
//! An agent that inspects objects (Fleet, KubeFleet) does so once at the end of an apply. It then sees no workload as
//! ready, because the workload's controller has not observed the new template yet (`observedGeneration`). A release
//! without workloads is ready as soon as it is applied.
//!
//! Left out: failed applies, time-outs of Helm's `wait`, and reports lost on a working connection.

use crate::engine::EventId;
use crate::world::World;
use crate::world::clusters::agent_spec::ReadinessSpec;
use crate::world::clusters::progress_deadline::PodCounts;
use crate::world::event::{AgentEvent, Event, Queue, Report};
use crate::world::ids::{ClusterId, NEW};
use crate::world::meter::ClusterPhase;
use fleetsim_rollout::Revision;
use fleetsim_units::SimTime;

/// The state of an agent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agent {
    instructed: Option<Revision>,
    /// The revision that the management cluster failed to apply while the cluster was offline; it is not kept.
    missed: Option<Revision>,
    applying: Option<Revision>,
    /// The manifests are applied, and the apply waits until the workloads are ready.
    waits: bool,
    /// Its deployment is paused.
    is_held: bool,
    applied: Option<Revision>,
    applies: u64,
    instructions: u64,
    reports: u64,
    readiness_changes: u64,
    /// The last report sent: revision, readiness, failure.
    sent: Option<(Revision, bool, bool)>,
    arrives: SimTime,
    /// The scheduled report of readiness, or look.
    readiness_due: Option<EventId>,
    /// The state of the workloads that it saw last: a digest of their status, or the set of available ones.
    seen: u128,
    /// When its series of looks began.
    looks_from: SimTime,
    /// Everything was available at its last look.
    saw_all_available: bool,
    /// The last report that arrived.
    reported: Option<(Revision, bool, bool)>,
}

impl Agent {
    /// An agent that applied `applied` long ago and whose workloads are ready.
    pub(crate) fn settled(applied: Option<Revision>) -> Self {
        let reported = applied.map(|revision| (revision, true, false));
        Self {
            instructed: applied,
            applied,
            sent: reported,
            saw_all_available: applied.is_some(),
            reported,
            ..Self::default()
        }
    }
}

impl Agent {
    /// Whether it has nothing left to do and to report.
    pub(crate) fn is_at_rest(&self, settled: bool) -> bool {
        let has_begun = self.instructed.is_some() || self.applied.is_some();
        let is_known =
            settled && self.reported == self.applied.map(|revision| (revision, true, false));
        !has_begun || (self.instructed == self.applied && self.applying.is_none() && is_known)
    }
}

impl World<'_> {
    pub(crate) fn handle_agent(&mut self, event: AgentEvent, queue: &mut Queue) {
        match event {
            AgentEvent::InstructionArrives(cluster) => self.instruction_arrives(cluster, queue),
            AgentEvent::Applied(cluster) => self.applied(cluster, queue),
            AgentEvent::ReadinessDue(cluster) => self.readiness_due(cluster, queue),
            AgentEvent::ReportArrives(report) => self.report_arrives(report, queue.now()),
        }
    }

    /// The management cluster instructs a cluster to run a revision.
    pub fn instruct(&mut self, id: ClusterId, revision: Revision, queue: &mut Queue) {
        let now = queue.now();
        self.meter.advance(now);
        let cluster = &mut self.clusters[id.index()];
        (cluster.agent.instructed, cluster.agent.missed) = (Some(revision), None);
        if revision == NEW {
            cluster.facts.instructed.get_or_insert(now);
        }
        if cluster.cuts.is_managed() {
            self.send_instruction(id, queue);
        }
        self.note_phase(id);
    }

    /// The management cluster itself applies a revision in a cluster, as Argo CD does. An offline cluster misses it,
    /// even after it returns.
    pub fn push(&mut self, id: ClusterId, revision: Revision, queue: &mut Queue) {
        let now = queue.now();
        let cluster = &mut self.clusters[id.index()];
        if cluster.cuts.is_managed() {
            self.instruct(id, revision, queue);
            return;
        }
        self.meter.advance(now);
        cluster.agent.missed = Some(revision);
        if revision == NEW {
            cluster.facts.instructed.get_or_insert(now);
        }
        self.note_phase(id);
    }

    /// The deployment of a cluster is paused or resumed. Its agent knows that at once, or when it is back.
    pub fn hold(&mut self, id: ClusterId, is_held: bool, queue: &mut Queue) {
        let agent = &mut self.clusters[id.index()].agent;
        agent.is_held = is_held;
        if !is_held && agent.applying.is_none() && agent.instructed == agent.applied {
            self.send_report(id, self.clusters[id.index()].settled, queue);
        }
    }

    fn send_instruction(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let nth = cluster.agent.instructions;
        cluster.agent.instructions += 1;
        let delay = self.platform.agent.instruction_delay.draw(
            &self.streams,
            cluster.key,
            "instruction delay",
            nth,
        );
        queue.schedule_in(delay, Event::Agent(AgentEvent::InstructionArrives(id)));
    }

    /// The management cluster reaches the cluster again: instruction and report are sent if they have changed.
    pub(crate) fn is_managed_again(&mut self, id: ClusterId, queue: &mut Queue) {
        let agent = &mut self.clusters[id.index()].agent;
        // Reports in transit may be lost.
        agent.sent = agent.reported;
        if agent.instructed != agent.applied {
            self.send_instruction(id, queue);
        }
        if !self.clusters[id.index()].agent.is_held {
            self.send_report(id, self.clusters[id.index()].settled, queue);
        }
        self.note_phase(id);
    }

    fn instruction_arrives(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let agent = &mut cluster.agent;
        let is_able = cluster.cuts.is_managed() && !agent.is_held;
        if !is_able || agent.applying.is_some() || agent.instructed == agent.applied {
            return;
        }
        agent.applying = agent.instructed;
        let nth = agent.applies;
        agent.applies += 1;
        let cluster = &self.clusters[id.index()];
        let span = self
            .platform
            .agent
            .apply
            .draw(&self.streams, cluster.key, "apply", nth);
        let span = span.mul_f64(cluster.draws.apply);
        queue.schedule_in(span, Event::Agent(AgentEvent::Applied(id)));
    }

    /// The manifests are applied.
    fn applied(&mut self, id: ClusterId, queue: &mut Queue) {
        let agent = &self.clusters[id.index()].agent;
        let revision = agent.applying.expect("an apply that ends has begun");
        if agent.applied.is_none() {
            self.watch_begins(id, queue);
        }
        self.look_anew(id, queue);
        self.roll_out(id, revision, queue);
        self.clusters[id.index()].agent.waits = self.platform.agent.wait;
        self.note_settled(id, queue);
        let inspects = !matches!(self.platform.agent.readiness, ReadinessSpec::Delay(_));
        let cluster = &self.clusters[id.index()];
        if cluster.agent.applying.is_some() && !self.platform.agent.wait {
            let ready = cluster.settled && (!inspects || self.spec.workloads.is_empty());
            self.apply_ends(id, ready, queue);
        }
    }

    /// The apply is over. The agent reports it, and begins the next one if it was instructed meanwhile.
    fn apply_ends(&mut self, id: ClusterId, ready: bool, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        cluster.agent.waits = false;
        cluster.agent.applied = cluster.agent.applying.take();
        if cluster.agent.applied == Some(NEW) {
            cluster.facts.applied.get_or_insert(queue.now());
        }
        self.send_report(id, ready, queue);
        self.instruction_arrives(id, queue);
    }

    /// The first deployment in a cluster: the watch begins some time later, and what it finds is its first event.
    fn watch_begins(&mut self, id: ClusterId, queue: &mut Queue) {
        let agent = &mut self.clusters[id.index()].agent;
        let ReadinessSpec::Debounce(debounce) = &self.platform.agent.readiness else {
            return;
        };
        if agent.readiness_due.is_none() && !self.spec.workloads.is_empty() {
            let event = Event::Agent(AgentEvent::ReadinessDue(id));
            agent.readiness_due =
                Some(queue.schedule_in(debounce.watch_start + debounce.delay, event));
        }
    }

    /// A new revision is applied: an agent that looks begins a new series, and sees nothing available yet.
    fn look_anew(&mut self, id: ClusterId, queue: &mut Queue) {
        if !matches!(self.platform.agent.readiness, ReadinessSpec::Looks(_)) {
            return;
        }
        let is_available = self.spec.workloads.is_empty();
        let agent = &mut self.clusters[id.index()].agent;
        if let Some(look) = agent.readiness_due.take() {
            queue.cancel(look);
        }
        (agent.seen, agent.looks_from, agent.saw_all_available) = (0, queue.now(), is_available);
    }

    /// A workload changed: schedules a report, if the agent has something to report.
    pub(crate) fn note_settled(&mut self, id: ClusterId, queue: &mut Queue) {
        let (settled, degraded) = (self.is_settled(id), self.is_degraded(id));
        let cluster = &mut self.clusters[id.index()];
        if settled && !cluster.settled {
            cluster.facts.settled = Some(queue.now());
        }
        (cluster.settled, cluster.degraded) = (settled, degraded);
        if settled && cluster.agent.waits {
            self.apply_ends(id, true, queue);
            return;
        }
        if let Some(at) = self.report_due(id, queue.now()) {
            let event = Event::Agent(AgentEvent::ReadinessDue(id));
            self.clusters[id.index()].agent.readiness_due = Some(queue.schedule(at, event));
        }
    }

    /// When the agent reports what it sees now, or looks at it. `None`: a report is scheduled, or it has seen all of
    /// this.
    fn report_due(&mut self, id: ClusterId, now: SimTime) -> Option<SimTime> {
        let platform = self.platform;
        let is_scheduled = self.clusters[id.index()].agent.readiness_due.is_some();
        match &platform.agent.readiness {
            ReadinessSpec::Delay(delay) => {
                let cluster = &mut self.clusters[id.index()];
                let sent = cluster
                    .agent
                    .sent
                    .map(|(_, ready, degraded)| (ready, degraded))
                    .unwrap_or_default();
                if is_scheduled || (cluster.settled, cluster.degraded) == sent {
                    return None;
                }
                let nth = cluster.agent.readiness_changes;
                cluster.agent.readiness_changes += 1;
                Some(now + delay.draw(&self.streams, cluster.key, "readiness delay", nth))
            }
            ReadinessSpec::Debounce(debounce) => {
                let status = self.digest_of_status(id);
                let seen = &mut self.clusters[id.index()].agent.seen;
                let is_new = std::mem::replace(seen, status) != status;
                (is_new && !is_scheduled).then_some(now + debounce.delay)
            }
            ReadinessSpec::Looks(looks) => {
                let agent = &self.clusters[id.index()].agent;
                let is_new = agent.seen != self.available_workloads(id);
                (is_new && !is_scheduled)
                    .then(|| looks.next_look(agent.looks_from, agent.saw_all_available, now))
            }
        }
    }

    fn readiness_due(&mut self, id: ClusterId, queue: &mut Queue) {
        self.clusters[id.index()].agent.readiness_due = None;
        if matches!(self.platform.agent.readiness, ReadinessSpec::Looks(_)) {
            let available = self.available_workloads(id);
            let cluster = &mut self.clusters[id.index()];
            if cluster.agent.seen != available {
                cluster.agent.seen = available;
                cluster.agent.looks_from = queue.now();
                cluster.agent.saw_all_available = cluster.settled;
            }
        }
        if !self.clusters[id.index()].agent.is_held {
            self.send_report(id, self.clusters[id.index()].settled, queue);
        }
    }

    /// The agent has seen the workloads as they are now.
    pub(crate) fn has_seen_all(&mut self, id: ClusterId) {
        let seen = match self.platform.agent.readiness {
            ReadinessSpec::Delay(_) => 0,
            ReadinessSpec::Debounce(_) => self.digest_of_status(id),
            ReadinessSpec::Looks(_) => self.available_workloads(id),
        };
        self.clusters[id.index()].agent.seen = seen;
    }

    /// A digest of the status of every workload: its observed template and its counts.
    fn digest_of_status(&self, id: ClusterId) -> u128 {
        (0..self.spec.workloads.len()).fold(0, |digest: u128, workload| {
            let PodCounts {
                updated,
                old,
                ready,
                available,
            } = self.progress_counts(id, workload);
            let template = self.clusters[id.index()].workloads[workload]
                .desired
                .map_or(0, |revision| revision.0 + 1);
            [template, updated, old, ready, available]
                .into_iter()
                .fold(digest, |digest, count| {
                    // The multiplier of a 128-bit congruential generator, so that counts in other places differ.
                    digest
                        .wrapping_add(u128::from(count) + 1)
                        .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645)
                })
        })
    }

    /// The set of workloads that are available, as bits; beyond 128 workloads they share bits.
    fn available_workloads(&self, id: ClusterId) -> u128 {
        let available = (0..self.spec.workloads.len())
            .filter(|&workload| self.is_workload_settled(id, workload));
        available.fold(0, |bits, workload| bits ^ (1 << (workload % 128)))
    }

    fn send_report(&mut self, id: ClusterId, ready: bool, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let agent = &mut cluster.agent;
        let Some(applied) = agent.applied else { return };
        // A cluster that is not registered has no agent.
        if !cluster.cuts.is_managed() || !self.spec.clusters[id.index()].registered {
            return;
        }
        let degraded = cluster.degraded;
        let report = (applied, ready, degraded);
        if agent.sent == Some(report) {
            return;
        }
        agent.sent = Some(report);
        let nth = agent.reports;
        agent.reports += 1;
        let delay =
            self.platform
                .agent
                .report_delay
                .draw(&self.streams, cluster.key, "report delay", nth);
        agent.arrives = agent.arrives.max(queue.now() + delay);
        queue.schedule(
            agent.arrives,
            Event::Agent(AgentEvent::ReportArrives(Report {
                cluster: id,
                applied,
                ready,
                degraded,
            })),
        );
    }

    fn report_arrives(&mut self, report: Report, now: SimTime) {
        let cluster = &mut self.clusters[report.cluster.index()];
        if !cluster.cuts.is_managed() {
            return;
        }
        cluster.agent.reported = Some((report.applied, report.ready, report.degraded));
        if (report.applied, report.ready) == (NEW, true) {
            cluster.facts.ready.get_or_insert(now);
        }
        self.reports.push(report);
        self.note_phase(report.cluster);
    }

    /// Updates the cluster's phase in the meters.
    pub(crate) fn note_phase(&mut self, id: ClusterId) {
        let cluster = &mut self.clusters[id.index()];
        let agent = &cluster.agent;
        let phase = if agent.missed.or(agent.instructed) != Some(NEW) {
            ClusterPhase::Waiting
        } else if agent
            .reported
            .is_some_and(|(applied, ready, _)| (applied, ready) == (NEW, true))
        {
            ClusterPhase::Ready
        } else if !cluster.cuts.is_managed() || cluster.troubled_pods > 0 {
            ClusterPhase::NotReady
        } else {
            ClusterPhase::Updating
        };
        if phase != cluster.phase {
            let was = std::mem::replace(&mut cluster.phase, phase);
            self.meter.move_cluster(was, phase);
        }
    }
}
