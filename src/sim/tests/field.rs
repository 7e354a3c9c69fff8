//! A scripted fleet instead of the world, driven by the same control loop.
//!
//! Each instruction is followed by events: the revision is applied after one delay and ready after another, unless a
//! newer instruction arrives first. Agents see writes and report events; each product's agent has its own model.

use std::collections::BTreeMap;

use super::recording::{News, Recording};
use crate::control_plane::{
    Change, ControlLoop, ControlPlane, ControllerInput, RolloutTargets, SharedHub, TargetStates,
};
use crate::engine::{EventQueue, Streams};
use crate::products::Run;
use crate::results::StatusRow;
use crate::rollout::{Hold, Revision};
use crate::scenario::Scenario;
use crate::units::{SimDuration, SimTime};
use crate::world::{
    AgentEvent, ApplicationId, ClusterId, DriverEvent, Event, NEW, OLD, Queue, Report, TargetId,
};

/// A product's agent in one cluster.
pub(super) trait Agent: Sized {
    type Step: Clone + std::fmt::Debug;

    /// Returns whether the agent's cluster is online.
    fn is_online(&self) -> bool {
        true
    }

    /// Starts the agent at time 0.
    fn start(&mut self, sight: &mut Sight<'_, Self::Step>) {
        let _ = sight;
    }

    /// Handles a write of the management cluster's object, which instructs the agent to run a revision.
    fn written(&mut self, revision: u32, is_paused: bool, sight: &mut Sight<'_, Self::Step>);

    /// Handles a planned step that is due.
    fn step(&mut self, step: Self::Step, sight: &mut Sight<'_, Self::Step>);

    /// Handles an event in the agent's cluster.
    fn news(&mut self, news: &News, sight: &mut Sight<'_, Self::Step>);
}

/// The part of the field that an agent can see and change at one instant.
pub(super) struct Sight<'a, S> {
    pub(super) now: SimTime,
    pub(super) request: SimDuration,
    pub(super) watch: SimDuration,
    /// The target. An agent of several applications acts for one of them at a time: then this is the application.
    pub(super) target: usize,
    pub(super) outcome: &'a mut Outcome<S>,
}

impl<S> Sight<'_, S> {
    pub(super) fn after(&mut self, delay: SimDuration, step: S) {
        self.outcome.planned.push(PlannedStep {
            at: self.now + delay,
            target: self.target,
            step,
        });
    }

    /// Records that an instruction has reached the cluster.
    pub(super) fn deployed(&mut self, revision: u32) {
        self.outcome.deployed.push(Deployed {
            target: self.target,
            revision,
        });
    }

    /// Writes a status in the management cluster.
    pub(super) fn report(&mut self, applied: u32, ready: bool) {
        self.report_health(applied, ready, false);
    }

    /// Writes a status in the management cluster, including whether the cluster reports a failure.
    pub(super) fn report_health(&mut self, applied: u32, ready: bool, degraded: bool) {
        self.outcome.reports.push(AgentReport {
            target: self.target,
            applied,
            ready,
            degraded,
        });
    }
}

/// What an agent does at one instant.
#[derive(Debug)]
pub(super) struct Outcome<S> {
    pub(super) planned: Vec<PlannedStep<S>>,
    pub(super) deployed: Vec<Deployed>,
    pub(super) reports: Vec<AgentReport>,
}

impl<S> Default for Outcome<S> {
    fn default() -> Self {
        Self {
            planned: Vec::new(),
            deployed: Vec::new(),
            reports: Vec::new(),
        }
    }
}

/// A step that an agent plans.
#[derive(Debug)]
pub(super) struct PlannedStep<S> {
    pub(super) at: SimTime,
    pub(super) target: usize,
    pub(super) step: S,
}

/// An instruction that reaches a cluster.
#[derive(Debug)]
pub(super) struct Deployed {
    pub(super) target: usize,
    pub(super) revision: u32,
}

/// A status that an agent writes.
#[derive(Debug)]
pub(super) struct AgentReport {
    pub(super) target: usize,
    pub(super) applied: u32,
    pub(super) ready: bool,
    pub(super) degraded: bool,
}

#[derive(Clone, Debug)]
enum Due<S> {
    /// A planned step of an agent.
    Step(usize, S),
    /// An event in a cluster. It happens unless an instruction newer than this number has arrived.
    Happens(News, Option<usize>),
    /// An event takes effect.
    TakesEffect(News),
    /// A person's change that reaches the controller's cache.
    Change(Change),
}

/// A fleet with its scripted events and its controller.
pub(super) struct Field<'r, A: Agent> {
    recording: &'r Recording,
    agents: Vec<A>,
    /// The revision that the recording rolls out. It corresponds to the new revision in the replay.
    newest: u32,
    /// Whether a person has stopped the rollout.
    pub(super) stopped: bool,
    /// The seed for random waits.
    pub(super) seed: u64,
    /// Pending events by number.
    agenda: BTreeMap<u32, Due<A::Step>>,
    events: u32,
    /// The number of each target's last instruction.
    latest: Vec<usize>,
    /// Writes of the controller that the agents have not received yet.
    writes: Vec<(usize, u32)>,
    pub(super) deploys: Vec<(u64, usize, u32)>,
    /// The start and duration of each pass, in seconds.
    pub(super) passes: Vec<(f64, f64)>,
    /// The delay from the first change to the first pass, without the watch delay.
    pub(super) first_wait: SimDuration,
    /// The time at which the product reported the rollout as complete, for the revision that was newest at time 0.
    pub(super) reported: Option<u64>,
    /// The status conditions that the product has shown.
    pub(super) statuses: Vec<StatusRow>,
    /// The rule that blocks the rollout at the end.
    pub(super) hold: Option<Hold>,
}

impl<A: Agent> TargetStates for Field<'_, A> {
    fn is_online(&self, target: TargetId) -> bool {
        self.agents[target.index()].is_online()
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

impl<A: Agent> RolloutTargets for Field<'_, A> {
    fn instruct(&mut self, target: TargetId, revision: Revision, _queue: &mut Queue) {
        self.writes
            .push((target.index(), revision.0 + self.newest - NEW.0));
    }

    fn push(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        self.instruct(target, revision, queue);
    }

    fn remove(&mut self, target: TargetId, _queue: &mut Queue) {
        self.writes.push((target.index(), 0));
    }
}

impl<'r, A: Agent> Field<'r, A> {
    pub(super) fn new(recording: &'r Recording, agent: impl Fn(usize, u32, bool) -> A) -> Self {
        let targets = &recording.hello.targets;
        let installed = recording.hello.release.installed;
        let agents = targets.iter().enumerate();
        let agents = agents
            .map(|(nth, target)| agent(nth, target.revision.unwrap_or(installed), target.offline));
        Self {
            recording,
            agents: agents.collect(),
            newest: recording.hello.release.revision,
            stopped: false,
            seed: 1,
            agenda: BTreeMap::new(),
            events: 0,
            latest: vec![0; targets.len()],
            writes: Vec::new(),
            deploys: Vec::new(),
            passes: Vec::new(),
            first_wait: SimDuration::ZERO,
            reported: None,
            statuses: Vec::new(),
            hold: None,
        }
    }

    /// Runs the recording's script to its end, with the native controller for this scenario.
    pub(super) fn play(&mut self, scenario: &'r Scenario, timing: &'r ControlLoop) {
        let streams = Streams::new(self.seed, 0);
        let until = SimTime::from_nanos(self.recording.until);
        let run = Run {
            label: &self.recording.id,
            fleet: scenario.fleet(),
            control_loop: timing,
            horizon: until,
            streams,
            hub: SharedHub::of_run(),
        };
        let controller = scenario.strategy().controller(run);
        let mut control = ControlPlane::new(
            ApplicationId::default(),
            controller,
            self.agents.len(),
            timing.watch_delay,
            &[],
        );
        control.record_statuses();
        let mut queue: Queue = EventQueue::new();
        for news in &self.recording.script {
            self.plan(
                SimTime::from_nanos(news.at),
                Due::Happens(news.clone(), None),
                &mut queue,
            );
        }
        queue.schedule(
            SimTime::ZERO + timing.watch_delay + self.first_wait,
            Event::Driver(ApplicationId::default(), DriverEvent::Released),
        );
        for target in 0..self.agents.len() {
            self.with_agent(target, &mut control, &mut queue, Agent::start);
        }
        while queue.peek_time().is_some_and(|next| next <= until) {
            let (_, event) = queue.pop().expect("there is one");
            match event {
                Event::Driver(_, event) => _ = control.handle(event, self, &mut queue),
                Event::Agent(AgentEvent::Applied(TargetId(number))) => {
                    let due = self
                        .agenda
                        .remove(&number)
                        .expect("what is due was planned");
                    self.happens(due, &mut control, &mut queue);
                }
                other => unreachable!("{other:?} is no event of a scripted fleet"),
            }
            for (target, revision) in std::mem::take(&mut self.writes) {
                let is_paused = self.stopped;
                self.with_agent(target, &mut control, &mut queue, |agent, sight| {
                    agent.written(revision, is_paused, sight);
                });
            }
        }
        self.statuses = control.take_statuses(queue.now());
        self.reported = control.reported().map(SimTime::as_nanos);
        self.hold = control.controller.hold();
        self.passes = control
            .take_passes()
            .iter()
            .map(|pass| (pass.t_s, pass.duration_s))
            .collect();
    }

    fn native(&self, revision: u32) -> Revision {
        native_revision(revision, self.newest)
    }

    fn plan(&mut self, at: SimTime, due: Due<A::Step>, queue: &mut Queue) {
        self.agenda.insert(self.events, due);
        queue.schedule(
            at.max(queue.now()),
            Event::Agent(AgentEvent::Applied(TargetId(self.events))),
        );
        self.events += 1;
    }

    fn with_agent(
        &mut self,
        target: usize,
        control: &mut ControlPlane<'_>,
        queue: &mut Queue,
        act: impl FnOnce(&mut A, &mut Sight<'_, A::Step>),
    ) {
        let latency = &self.recording.hello.latency;
        let mut outcome = Outcome::default();
        let (request, watch, now) = (latency.request(), latency.watch(), queue.now());
        act(
            &mut self.agents[target],
            &mut Sight {
                now,
                request,
                watch,
                target,
                outcome: &mut outcome,
            },
        );
        for PlannedStep { at, target, step } in outcome.planned {
            self.plan(at, Due::Step(target, step), queue);
        }
        for Deployed { target, revision } in outcome.deployed {
            self.deployed(target, revision, queue);
        }
        for status in outcome.reports {
            let report = Report {
                target: TargetId(status.target as u32),
                applied: self.native(status.applied),
                ready: status.ready,
                degraded: status.degraded,
                failure: None,
            };
            control.arrive(report, queue);
        }
    }

    /// Delivers an instruction to a target, which schedules its events.
    fn deployed(&mut self, target: usize, revision: u32, queue: &mut Queue) {
        self.deploys
            .push((queue.now().as_nanos(), target, revision));
        let number = self.deploys.len();
        self.latest[target] = number;
        if revision == 0 {
            return;
        }
        let rules = &self.recording.fleet;
        let applied = queue.now() + rules.apply();
        let ready = rules.ready(target, revision).map(|ready| applied + ready);
        let news = News {
            target: Some(target),
            applied: Some(revision),
            ..News::default()
        };
        self.plan(applied, Due::Happens(news.clone(), Some(number)), queue);
        if let Some(ready) = ready {
            self.plan(
                ready,
                Due::Happens(
                    News {
                        ready: Some(true),
                        ..news
                    },
                    Some(number),
                ),
                queue,
            );
        }
    }

    fn happens(&mut self, due: Due<A::Step>, control: &mut ControlPlane<'_>, queue: &mut Queue) {
        match due {
            Due::Step(target, step) => {
                self.with_agent(target, control, queue, |agent, sight| {
                    agent.step(step, sight);
                });
            }
            Due::Happens(news, number) => {
                let target = news.target;
                if number
                    .is_none_or(|number| target.is_some_and(|target| self.latest[target] == number))
                {
                    let at = queue.now() + self.recording.product.lookahead();
                    self.plan(at, Due::TakesEffect(news), queue);
                }
            }
            Due::TakesEffect(news) => self.takes_effect(&news, control, queue),
            Due::Change(change) => {
                control.input(ControllerInput::Person(&change), self, queue);
            }
        }
    }

    fn takes_effect(&mut self, news: &News, control: &mut ControlPlane<'_>, queue: &mut Queue) {
        if let Some(target) = news.target {
            self.with_agent(target, control, queue, |agent, sight| {
                agent.news(news, sight);
            });
        }
        if let Some(stop) = news.stop {
            self.stopped = stop;
        }
        let target = news.target.unwrap_or_default() as u32;
        let changes = [
            news.release
                .map(|revision| Change::Release(self.native(revision))),
            news.stop.map(Change::Stop),
            news.labels
                .clone()
                .map(|labels| Change::Labels(ClusterId(target), labels.into_iter().collect())),
            news.selected
                .map(|selected| Change::Selected(TargetId(target), selected)),
            news.approve.clone().map(|approval| Change::Approve {
                stage: approval.stage,
                before: approval.when == "before",
            }),
        ];
        for change in changes.into_iter().flatten() {
            let at = queue.now() + self.recording.hello.latency.watch();
            self.plan(at, Due::Change(change), queue);
        }
    }
}

/// Returns the simulated revision for a recorded one, if `newest` is the new revision. Any revision older than the
/// installed one counts as old.
pub(super) fn native_revision(revision: u32, newest: u32) -> Revision {
    Revision((revision + NEW.0).saturating_sub(newest).max(OLD.0))
}
