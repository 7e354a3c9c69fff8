//! A scripted fleet with several applications, driven by one control plane for each of them.
//!
//! Like `../field.rs`, but a cluster has one agent for the deployments of all applications, and the control planes
//! share a hub, unless the replay gives each a hub of its own.

use std::collections::BTreeMap;

use super::super::field::{AgentReport, Deployed, Outcome, PlannedStep, Sight, native_revision};
use super::super::recording::News;
use super::recording::{ApplicationPart, SharedRecording};
use crate::control_plane::{
    Change, ControlLoop, ControlPlane, ControllerInput, RolloutTargets, SharedHub, TargetStates,
};
use crate::engine::{EntityKey, EventQueue, Streams};
use crate::products::Run;
use crate::rollout::Revision;
use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};
use crate::world::{
    AgentEvent, ApplicationId, ClusterId, DriverEvent, Event, NEW, Queue, Report, TargetId,
};

/// The agents of one cluster. [`Sight::target`] is the application.
pub(super) trait ClusterAgents {
    type Step: Clone + std::fmt::Debug;

    /// Returns whether the cluster is online for the management cluster.
    fn is_online(&self) -> bool;

    /// Handles a write of the management cluster's object, which instructs the agent to run a revision.
    fn written(&mut self, revision: u32, is_held: bool, sight: &mut Sight<'_, Self::Step>);

    /// Handles a planned step that is due.
    fn step(&mut self, step: Self::Step, sight: &mut Sight<'_, Self::Step>);

    /// Handles an event in the cluster.
    fn news(&mut self, news: &News, sight: &mut Sight<'_, Self::Step>);
}

/// An application with its scenario and its control loop.
pub(super) struct PlayedApplication {
    pub(super) part: ApplicationPart,
    pub(super) scenario: Scenario,
    pub(super) timing: ControlLoop,
    /// The delay from its release to the first pass, without the watch delay.
    pub(super) first_wait: SimDuration,
    /// Whether people hold the rollout back.
    pub(super) is_held: bool,
}

/// The hubs of a replay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Hubs {
    /// All applications share one.
    Shared,
    /// Each application has its own.
    Own,
}

/// An instruction that has reached a cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayedInstruction {
    pub(super) at: u64,
    pub(super) application: usize,
    pub(super) cluster: usize,
    pub(super) revision: u32,
}

/// A write of a controller to a deployment's object.
struct ObjectWrite {
    application: usize,
    cluster: usize,
    revision: u32,
}

/// Something that is due.
#[derive(Clone, Debug)]
enum SharedDue<S> {
    /// A step of a cluster's agent for an application.
    Step {
        cluster: usize,
        application: usize,
        step: S,
    },
    /// An event. It happens unless an instruction newer than this number has arrived at its deployment.
    Happens(News, Option<usize>),
    /// An event takes effect.
    TakesEffect(News),
    /// A person's change of an application that reaches the controller's cache.
    Change { application: usize, change: Change },
}

/// The targets of one application in the field.
struct ScriptedTargets<'f, A> {
    agents: &'f [A],
    writes: &'f mut Vec<ObjectWrite>,
    clusters: &'f [usize],
    application: usize,
    newest: u32,
}

impl<A: ClusterAgents> TargetStates for ScriptedTargets<'_, A> {
    fn is_online(&self, target: TargetId) -> bool {
        self.agents[self.clusters[target.index()]].is_online()
    }

    fn is_repair_due(&self, _target: TargetId) -> bool {
        true
    }

    fn is_backing_off(&self, _target: TargetId) -> bool {
        false
    }

    fn is_stuck(&self, _target: TargetId) -> bool {
        false
    }
}

impl<A: ClusterAgents> RolloutTargets for ScriptedTargets<'_, A> {
    fn instruct(&mut self, target: TargetId, revision: Revision, _queue: &mut Queue) {
        self.writes.push(ObjectWrite {
            application: self.application,
            cluster: self.clusters[target.index()],
            revision: revision.0 + self.newest - NEW.0,
        });
    }

    fn push(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        self.instruct(target, revision, queue);
    }

    fn remove(&mut self, target: TargetId, _queue: &mut Queue) {
        self.writes.push(ObjectWrite {
            application: self.application,
            cluster: self.clusters[target.index()],
            revision: 0,
        });
    }
}

/// A fleet with several applications.
pub(super) struct SharedField<'r, A: ClusterAgents> {
    recording: &'r SharedRecording,
    applications: &'r [PlayedApplication],
    agents: Vec<A>,
    controls: Vec<ControlPlane<'r>>,
    /// Pending events by number.
    agenda: BTreeMap<u32, SharedDue<A::Step>>,
    events: u32,
    /// The number of the last instruction of each deployment.
    latest: Vec<usize>,
    writes: Vec<ObjectWrite>,
    is_held: Vec<bool>,
    queue: Queue,
    pub(super) deploys: Vec<ReplayedInstruction>,
}

impl<'r, A: ClusterAgents> SharedField<'r, A> {
    /// Creates the field. `hub` is that of the first application.
    pub(super) fn new(
        recording: &'r SharedRecording,
        applications: &'r [PlayedApplication],
        agents: Vec<A>,
        hub: &SharedHub,
        hubs: Hubs,
    ) -> Self {
        let mut controls = Vec::with_capacity(applications.len());
        let mut is_held = Vec::with_capacity(applications.len());
        for (number, application) in (0..).zip(applications) {
            let streams = Streams::new(1, 0);
            let own_streams = match number {
                0 => streams,
                _ => streams.of_part(EntityKey::of(&application.part.name)),
            };
            let own_hub = match hubs {
                Hubs::Shared => hub.seen_by(ApplicationId(number)),
                Hubs::Own => SharedHub::of_run().seen_by(ApplicationId(number)),
            };
            let controller = application.scenario.strategy().controller(Run {
                label: &recording.id,
                fleet: application.scenario.fleet(),
                control_loop: &application.timing,
                horizon: SimTime::from_nanos(recording.until),
                streams: own_streams,
                hub: own_hub,
            });
            controls.push(ControlPlane::new(
                ApplicationId(number),
                controller,
                application.part.clusters.len(),
                application.timing.watch_delay,
                &[],
            ));
            is_held.push(application.is_held);
        }
        Self {
            recording,
            applications,
            controls,
            agenda: BTreeMap::new(),
            events: 0,
            latest: vec![0; applications.len() * agents.len()],
            agents,
            writes: Vec::new(),
            is_held,
            queue: EventQueue::new(),
            deploys: Vec::new(),
        }
    }

    /// Runs the recording's script to its end.
    pub(super) fn play(&mut self) {
        for news in &self.recording.script {
            let at = SimTime::from_nanos(news.at);
            self.plan(at, SharedDue::Happens(news.clone(), None));
        }
        for (number, application) in (0..).zip(self.applications) {
            let seen = SimTime::ZERO + application.part.released + application.timing.watch_delay;
            let event = Event::Driver(ApplicationId(number), DriverEvent::Released);
            self.queue.schedule(seen + application.first_wait, event);
        }
        let until = SimTime::from_nanos(self.recording.until);
        while let Some((_, event)) = self.queue.pop_until(until) {
            match event {
                Event::Driver(application, event) => {
                    self.with_control(application.index(), |control, targets, queue| {
                        control.handle(event, targets, queue);
                    });
                }
                Event::Agent(AgentEvent::Applied(TargetId(number))) => {
                    let due = self
                        .agenda
                        .remove(&number)
                        .expect("what is due was planned");
                    self.happens(due);
                }
                other => unreachable!("{other:?} is no event of a scripted fleet"),
            }
            for write in std::mem::take(&mut self.writes) {
                let is_held = self.is_held[write.application];
                self.with_agent(write.cluster, write.application, |agent, sight| {
                    agent.written(write.revision, is_held, sight);
                });
            }
        }
    }

    /// Returns the first time at which the product reported an application as complete.
    pub(super) fn reported(&self, application: usize) -> Option<u64> {
        self.controls[application].reported().map(SimTime::as_nanos)
    }

    fn newest(&self, application: usize) -> u32 {
        self.applications[application]
            .part
            .alone
            .hello
            .release
            .revision
    }

    fn with_control(
        &mut self,
        application: usize,
        act: impl FnOnce(&mut ControlPlane<'r>, &mut dyn RolloutTargets, &mut Queue),
    ) {
        let newest = self.newest(application);
        let mut targets = ScriptedTargets {
            agents: &self.agents,
            writes: &mut self.writes,
            clusters: &self.applications[application].part.clusters,
            application,
            newest,
        };
        act(
            &mut self.controls[application],
            &mut targets,
            &mut self.queue,
        );
    }

    fn with_agent(
        &mut self,
        cluster: usize,
        application: usize,
        act: impl FnOnce(&mut A, &mut Sight<'_, A::Step>),
    ) {
        let latency = &self.recording.hello.latency;
        let mut outcome = Outcome::default();
        let mut sight = Sight {
            now: self.queue.now(),
            request: latency.request(),
            watch: latency.watch(),
            target: application,
            outcome: &mut outcome,
        };
        act(&mut self.agents[cluster], &mut sight);
        for PlannedStep { at, target, step } in outcome.planned {
            let due = SharedDue::Step {
                cluster,
                application: target,
                step,
            };
            self.plan(at, due);
        }
        for Deployed { target, revision } in outcome.deployed {
            self.deployed(ReplayedInstruction {
                at: self.queue.now().as_nanos(),
                application: target,
                cluster,
                revision,
            });
        }
        for report in outcome.reports {
            self.report(cluster, &report);
        }
    }

    /// Delivers a status to the control plane of its application.
    fn report(&mut self, cluster: usize, report: &AgentReport) {
        let application = report.target;
        let clusters = &self.applications[application].part.clusters;
        let target = clusters
            .iter()
            .position(|own| *own == cluster)
            .expect("only targets report");
        let status = Report {
            target: TargetId(target as u32),
            applied: native_revision(report.applied, self.newest(application)),
            ready: report.ready,
            degraded: report.degraded,
            failure: None,
        };
        self.controls[application].arrive(status, &mut self.queue);
    }

    fn plan(&mut self, at: SimTime, due: SharedDue<A::Step>) {
        self.agenda.insert(self.events, due);
        let event = Event::Agent(AgentEvent::Applied(TargetId(self.events)));
        self.queue.schedule(at.max(self.queue.now()), event);
        self.events += 1;
    }

    /// Delivers an instruction to a cluster, which schedules its events.
    fn deployed(&mut self, instructed: ReplayedInstruction) {
        self.deploys.push(instructed);
        let number = self.deploys.len();
        let ReplayedInstruction {
            application,
            cluster,
            revision,
            ..
        } = instructed;
        let deployment = self.recording.number(application, cluster);
        self.latest[deployment] = number;
        if revision == 0 {
            return;
        }
        let news = News {
            application: Some(application),
            target: Some(cluster),
            applied: Some(revision),
            ..News::default()
        };
        let applied = self.queue.now() + self.recording.fleet.apply();
        self.plan(applied, SharedDue::Happens(news.clone(), Some(number)));
        if let Some(ready) = self.recording.fleet.ready(application, cluster, revision) {
            let news = News {
                ready: Some(true),
                ..news
            };
            self.plan(applied + ready, SharedDue::Happens(news, Some(number)));
        }
    }

    fn happens(&mut self, due: SharedDue<A::Step>) {
        match due {
            SharedDue::Step {
                cluster,
                application,
                step,
            } => self.with_agent(cluster, application, |agent, sight| agent.step(step, sight)),
            SharedDue::Happens(news, number) => {
                if number.is_none_or(|number| self.is_latest(&news, number)) {
                    let at = self.queue.now() + self.recording.product.lookahead();
                    self.plan(at, SharedDue::TakesEffect(news));
                }
            }
            SharedDue::TakesEffect(news) => self.takes_effect(&news),
            SharedDue::Change {
                application,
                change,
            } => self.with_control(application, |control, targets, queue| {
                control.input(ControllerInput::Person(&change), targets, queue);
            }),
        }
    }

    fn is_latest(&self, news: &News, number: usize) -> bool {
        let cluster = news.target.expect("an instruction has a cluster");
        let application = news.application.unwrap_or_default();
        self.latest[self.recording.number(application, cluster)] == number
    }

    fn takes_effect(&mut self, news: &News) {
        let application = news.application.unwrap_or_default();
        if let Some(cluster) = news.target {
            self.with_agent(cluster, application, |agent, sight| agent.news(news, sight));
        }
        if let Some(stop) = news.stop {
            self.is_held[application] = stop;
            self.change(application, Change::Stop(stop));
        }
        if let Some(revision) = news.release {
            let revision = native_revision(revision, self.newest(application));
            self.change(application, Change::Release(revision));
        }
        if let Some(cluster) = news.target {
            for number in 0..self.applications.len() {
                let clusters = &self.applications[number].part.clusters;
                let Some(target) = clusters.iter().position(|own| *own == cluster) else {
                    continue;
                };
                if let Some(labels) = &news.labels {
                    let labels = labels.clone();
                    self.change(number, Change::Labels(ClusterId(target as u32), labels));
                }
                if let Some(is_selected) = news.selected {
                    self.change(
                        number,
                        Change::Selected(TargetId(target as u32), is_selected),
                    );
                }
            }
        }
    }

    /// Lets a person's change reach the controller's cache.
    fn change(&mut self, application: usize, change: Change) {
        let at = self.queue.now() + self.recording.hello.latency.watch();
        let due = SharedDue::Change {
            application,
            change,
        };
        self.plan(at, due);
    }
}
