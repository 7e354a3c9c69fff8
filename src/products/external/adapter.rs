//! A process as the controller of one run: it is told what agents report, and decides in every pass.
//!
//! Clusters that are paused or not registered are targets as well and are never instructed, as with the baselines.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::ExternalStrategy;
use crate::process::protocol::{Decided, Held, Hello, Instruction, News, ProcessMessage, Ready, Release, Target};
use crate::process::{ChildProcess, ProcessError};
use rand_xoshiro::rand_core::Rng;

use crate::products::{Controller, Decision, Run};
use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, ReleaseKind, Report};

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// A target as fleetsim knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The revision that it was instructed to run.
    assigned: Option<Revision>,
    /// It runs that revision, and is ready.
    ready: bool,
}

/// One run's process.
pub(super) struct ExternalController<'r> {
    /// `None`: it could not be started, or was given up. In a cell, because a question changes its pipes.
    process: RefCell<Option<ChildProcess>>,
    failure: RefCell<Option<ProcessError>>,
    clusters: &'r [ClusterSpec],
    known: Vec<Known>,
    stages: Vec<String>,
    news: Vec<News>,
}

impl<'r> ExternalController<'r> {
    pub(super) fn new(strategy: &'r ExternalStrategy, run: Run<'r>) -> Self {
        let world = run.fleet.world;
        let assigned = (world.release == ReleaseKind::Update).then_some(OLD);
        let mut controller = Self {
            process: RefCell::new(None),
            failure: RefCell::new(None),
            clusters: &world.clusters,
            known: vec![Known { assigned, ready: assigned.is_some() }; world.clusters.len()],
            stages: vec![String::new(); world.clusters.len()],
            news: Vec::new(),
        };
        let hello = Hello {
            protocol: PROTOCOL,
            run: run.label,
            seed: run.streams.stream("external", "seed").next_u64() >> 1,
            targets: world.clusters.iter().map(|of| Target { name: &of.name, labels: &of.labels }).collect(),
            files: strategy.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<BTreeMap<_, _>>(),
            release: Release { installed: assigned.map_or(0, |revision| revision.0), revision: NEW.0 },
        };
        match ChildProcess::start(&strategy.command, run.label) {
            Ok(process) => *controller.process.get_mut() = Some(process),
            Err(error) => *controller.failure.get_mut() = Some(error),
        }
        if let Some(ready) = controller.ask::<Ready>(&ProcessMessage::Hello(hello), Some("ready")) {
            controller.name_stages(ready);
        }
        controller
    }

    /// An answer, unless the process has failed or fails now.
    fn ask<T: serde::de::DeserializeOwned>(&self, question: &ProcessMessage<'_>, part: Option<&str>) -> Option<T> {
        let mut process = self.process.borrow_mut();
        match process.as_mut()?.ask(question, part) {
            Ok(answer) => Some(answer),
            Err(error) => {
                *process = None;
                *self.failure.borrow_mut() = Some(error);
                None
            }
        }
    }

    /// The process broke a rule.
    fn give_up(&self, problem: String) {
        if let Some(mut process) = self.process.borrow_mut().take() {
            *self.failure.borrow_mut() = Some(process.error(problem, b""));
        }
    }

    fn name_stages(&mut self, ready: Ready) {
        for stage in ready.stages {
            for target in stage.targets {
                match self.stages.get_mut(target as usize) {
                    Some(name) => name.clone_from(&stage.name),
                    None => return self.give_up(self.unknown_target(target)),
                }
            }
        }
    }

    fn unknown_target(&self, target: u32) -> String {
        format!("a target must be a number from 0 to {}, not {target}", self.clusters.len() - 1)
    }

    /// The rule that an answer breaks.
    fn broken_rule(&self, decided: &Decided, now: SimTime) -> Option<String> {
        for &Instruction { target, revision } in &decided.deploy {
            if target as usize >= self.clusters.len() {
                return Some(self.unknown_target(target));
            }
            if ![OLD, NEW].contains(&Revision(revision)) {
                return Some(format!("a revision must be {} or {}, not {revision}", OLD.0, NEW.0));
            }
        }
        let is_past = decided.wake.is_some_and(|wake| wake <= now.as_nanos());
        is_past.then(|| format!("`wake` must be later than `now`, {}; time does not go back", now.as_nanos()))
    }
}

impl Controller for ExternalController<'_> {
    fn learn(&mut self, report: Report, now: SimTime) -> bool {
        let known = &mut self.known[report.cluster.index()];
        let ready = report.ready && known.assigned == Some(report.applied);
        let has_changed = std::mem::replace(&mut known.ready, ready) != ready;
        self.news.push(News {
            at: now.as_nanos(),
            target: report.cluster.0,
            applied: report.applied.0,
            ready: report.ready,
        });
        has_changed
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let unavailable = self.known.iter().filter(|target| !target.ready).count() as u64;
        let mut decision = Decision { unavailable, ..Decision::default() };
        let news = std::mem::take(&mut self.news);
        let question = ProcessMessage::Pass { now: now.as_nanos(), news: &news };
        let Some(decided) = self.ask::<Decided>(&question, None) else { return decision };
        if let Some(problem) = self.broken_rule(&decided, now) {
            self.give_up(problem);
            return decision;
        }
        for Instruction { target, revision } in decided.deploy {
            let revision = Revision(revision);
            self.known[target as usize] = Known { assigned: Some(revision), ready: false };
            decision.writes += 1;
            decision.instruct(self.clusters, target as usize, revision);
        }
        decision.wake_at = decided.wake.map(SimTime::from_nanos);
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let known = self.known[cluster.index()];
        known.assigned == Some(NEW) && known.ready
    }

    fn hold(&self) -> Option<Hold> {
        let held: Held = self.ask(&ProcessMessage::Hold {}, Some("hold"))?;
        (!held.rule.is_empty())
            .then(|| Hold { rule: "external", explanation: format!("{}: {}", held.rule, held.explanation) })
    }

    fn stages(&self) -> Vec<String> {
        self.stages.clone()
    }

    fn failure(&self) -> Option<ProcessError> {
        self.failure.borrow().clone()
    }

    fn finish(&mut self) {
        let finished = self.process.get_mut().take().map_or(Ok(()), |mut process| process.finish());
        if let Err(error) = finished {
            *self.failure.get_mut() = Some(error);
        }
    }
}
