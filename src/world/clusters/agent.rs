//! A cluster's agent: receives instructions, applies them and reports back, each with a delay.
//!
//! An instruction reaches an online cluster after a delay. Applying takes time (Fleet: a Helm upgrade). Then the agent
//! reports what it applied, with the readiness of that moment. Later changes of readiness are reported after another
//! delay. A cluster that is cut off receives nothing, and its reports are lost. When it is back it receives only the
//! newest instruction and reports its current state.
//!
//! Left out: failed applies, and reports lost on a working connection.

use crate::rollout::Revision;
use crate::units::SimTime;
use crate::world::World;
use crate::world::event::{AgentEvent, Event, Queue, Report};
use crate::world::ids::{ClusterId, NEW};
use crate::world::meter::ClusterPhase;

/// The state of an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agent {
    instructed: Option<Revision>,
    /// The revision that the management cluster failed to apply while the cluster was offline; it is not kept.
    missed: Option<Revision>,
    applying: Option<Revision>,
    applied: Option<Revision>,
    applies: u64,
    instructions: u64,
    reports: u64,
    readiness_changes: u64,
    /// The last report sent: revision, readiness, failure.
    sent: Option<(Revision, bool, bool)>,
    arrives: SimTime,
    /// A readiness report is scheduled.
    readiness_due: bool,
    /// The last report that arrived.
    known: Option<(Revision, bool, bool)>,
}

impl Agent {
    /// An agent that applied `applied` long ago and whose workloads are ready.
    pub(crate) fn settled(applied: Option<Revision>) -> Self {
        let known = applied.map(|revision| (revision, true, false));
        Self {
            instructed: applied,
            missed: None,
            applying: None,
            applied,
            applies: 0,
            instructions: 0,
            reports: 0,
            readiness_changes: 0,
            sent: known,
            arrives: SimTime::ZERO,
            readiness_due: false,
            known,
        }
    }
}

impl Agent {
    /// Whether it has nothing left to do and to report.
    pub(crate) fn is_at_rest(&self, settled: bool) -> bool {
        let has_begun = self.instructed.is_some() || self.applied.is_some();
        let is_known = settled && self.known == self.applied.map(|revision| (revision, true, false));
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

    fn send_instruction(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let nth = cluster.agent.instructions;
        cluster.agent.instructions += 1;
        let delay = self.spec.agent.instruction_delay.draw(&self.streams, cluster.key, "instruction delay", nth);
        queue.schedule_in(delay, Event::Agent(AgentEvent::InstructionArrives(id)));
    }

    /// The management cluster reaches the cluster again: instruction and report are sent if they have changed.
    pub(crate) fn is_managed_again(&mut self, id: ClusterId, queue: &mut Queue) {
        let agent = &mut self.clusters[id.index()].agent;
        // Reports in transit may be lost.
        agent.sent = agent.known;
        if agent.instructed != agent.applied {
            self.send_instruction(id, queue);
        }
        self.send_report(id, queue);
        self.note_phase(id);
    }

    fn instruction_arrives(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let agent = &mut cluster.agent;
        if !cluster.cuts.is_managed() || agent.applying.is_some() || agent.instructed == agent.applied {
            return;
        }
        agent.applying = agent.instructed;
        let nth = agent.applies;
        agent.applies += 1;
        let span = self.spec.agent.apply.draw(&self.streams, self.clusters[id.index()].key, "apply", nth);
        queue.schedule_in(span, Event::Agent(AgentEvent::Applied(id)));
    }

    fn applied(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let revision = cluster.agent.applying.take().expect("an apply that ends has begun");
        cluster.agent.applied = Some(revision);
        if revision == NEW {
            cluster.facts.applied.get_or_insert(queue.now());
        }
        self.roll_out(id, revision, queue);
        self.send_report(id, queue);
        self.instruction_arrives(id, queue);
    }

    /// A workload changed: schedules a report if readiness differs from the last one sent.
    pub(crate) fn note_settled(&mut self, id: ClusterId, queue: &mut Queue) {
        let (settled, degraded) = (self.is_settled(id), self.is_degraded(id));
        let cluster = &mut self.clusters[id.index()];
        (cluster.settled, cluster.degraded) = (settled, degraded);
        let sent_ready = cluster.agent.sent.is_some_and(|(_, ready, _)| ready);
        let sent_degraded = cluster.agent.sent.is_some_and(|(_, _, degraded)| degraded);
        if (settled, degraded) != (sent_ready, sent_degraded) && !cluster.agent.readiness_due {
            cluster.agent.readiness_due = true;
            let nth = cluster.agent.readiness_changes;
            cluster.agent.readiness_changes += 1;
            let delay = self.spec.agent.readiness_delay.draw(&self.streams, cluster.key, "readiness delay", nth);
            queue.schedule_in(delay, Event::Agent(AgentEvent::ReadinessDue(id)));
        }
    }

    fn readiness_due(&mut self, id: ClusterId, queue: &mut Queue) {
        self.clusters[id.index()].agent.readiness_due = false;
        self.send_report(id, queue);
    }

    fn send_report(&mut self, id: ClusterId, queue: &mut Queue) {
        let cluster = &mut self.clusters[id.index()];
        let agent = &mut cluster.agent;
        let Some(applied) = agent.applied else { return };
        // A cluster that is not registered has no agent.
        if !cluster.cuts.is_managed() || !self.spec.clusters[id.index()].registered {
            return;
        }
        let report = (applied, cluster.settled, cluster.degraded);
        if agent.sent == Some(report) {
            return;
        }
        agent.sent = Some(report);
        let nth = agent.reports;
        agent.reports += 1;
        let delay = self.spec.agent.report_delay.draw(&self.streams, cluster.key, "report delay", nth);
        agent.arrives = agent.arrives.max(queue.now() + delay);
        let (ready, degraded) = (cluster.settled, cluster.degraded);
        queue.schedule(
            agent.arrives,
            Event::Agent(AgentEvent::ReportArrives(Report { cluster: id, applied, ready, degraded })),
        );
    }

    fn report_arrives(&mut self, report: Report, now: SimTime) {
        let cluster = &mut self.clusters[report.cluster.index()];
        if !cluster.cuts.is_managed() {
            return;
        }
        cluster.agent.known = Some((report.applied, report.ready, report.degraded));
        if (report.applied, report.ready) == (NEW, true) {
            cluster.facts.ready = Some(now);
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
        } else if agent.known.is_some_and(|(applied, ready, _)| (applied, ready) == (NEW, true)) {
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
