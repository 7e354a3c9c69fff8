//! A process during one run: what fleetsim and the process know of the targets, whoever keeps the control loop.
//!
//! Clusters that are paused or not registered are targets as well and are never instructed, as with the baselines.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rand_xoshiro::rand_core::Rng;
use serde::de::DeserializeOwned;

use super::ExternalStrategy;
use crate::process::protocol::{
    Held, Hello, Instruction, Latency, News, ProcessMessage, Ready, Release, StageTargets, Target,
};
use crate::process::{ChildProcess, ProcessError};
use crate::products::Run;
use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, ReleaseKind, Report, WorldSpec};

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// Why a cluster's workload fails, in the words of Kubernetes.
const PROGRESS_DEADLINE: &str = "Deployment exceeded its progress deadline";

/// A target as fleetsim knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The revision that it was instructed to run.
    assigned: Option<Revision>,
    /// It runs that revision, and is ready.
    ready: bool,
    /// What the process was told last: the applied revision, whether it is ready, and whether it fails.
    told: (u32, bool, bool),
}

/// A target as the process is told of it.
fn target(world: &WorldSpec, index: usize) -> Target<'_> {
    let ClusterSpec { name, labels, group, installed, .. } = &world.clusters[index];
    let revision = (!installed && world.release == ReleaseKind::Update).then_some(0);
    Target { name, labels, group, revision }
}

impl Known {
    fn at_start(assigned: Option<Revision>) -> Self {
        let told = (assigned.map_or(0, |revision| revision.0), assigned.is_some(), false);
        Self { assigned, ready: assigned.is_some(), told }
    }
}

/// One run's process.
pub(super) struct Session<'r> {
    /// `None`: it could not be started, or was given up. In a cell, because a question changes its pipes.
    process: RefCell<Option<ChildProcess>>,
    failure: RefCell<Option<ProcessError>>,
    pub(super) clusters: &'r [ClusterSpec],
    known: Vec<Known>,
    pub(super) stages: Vec<String>,
    /// Reports that the process was not told yet.
    pub(super) news: Vec<News>,
    /// Time from an event of the world until the process can know of it, in nanoseconds.
    pub(super) lookahead: u64,
}

impl<'r> Session<'r> {
    /// Starts the process and says hello.
    pub(super) fn start(strategy: &'r ExternalStrategy, run: Run<'r>) -> Self {
        let world = run.fleet.world;
        let mut session = Self {
            process: RefCell::new(None),
            failure: RefCell::new(None),
            clusters: &world.clusters,
            known: (0..world.clusters.len()).map(|index| Known::at_start(world.installed(index))).collect(),
            stages: vec![String::new(); world.clusters.len()],
            news: Vec::new(),
            lookahead: 0,
        };
        let hello = Hello {
            protocol: PROTOCOL,
            run: run.label,
            seed: run.streams.stream("external", "seed").next_u64() >> 1,
            targets: (0..world.clusters.len()).map(|index| target(world, index)).collect(),
            files: strategy.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<BTreeMap<_, _>>(),
            release: Release {
                installed: if world.release == ReleaseKind::Update { OLD.0 } else { 0 },
                revision: NEW.0,
            },
            latency: Latency {
                request: run.control_loop.request.typical().as_nanos(),
                watch: run.control_loop.watch_delay.as_nanos(),
            },
            settings: &strategy.settings,
        };
        match ChildProcess::start(&strategy.command, run.label) {
            Ok(process) => *session.process.get_mut() = Some(process),
            Err(error) => *session.failure.get_mut() = Some(error),
        }
        if let Some(ready) = session.ask::<Ready>(&ProcessMessage::Hello(hello), Some("ready")) {
            session.lookahead = ready.lookahead;
            session.name_stages(ready);
        }
        session
    }

    /// An answer, unless the process has failed or fails now.
    pub(super) fn ask<T: DeserializeOwned>(&self, question: &ProcessMessage<'_>, part: Option<&str>) -> Option<T> {
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
    pub(super) fn give_up(&self, problem: String) {
        if let Some(mut process) = self.process.borrow_mut().take() {
            *self.failure.borrow_mut() = Some(process.error(problem, b""));
        }
    }

    fn name_stages(&mut self, ready: Ready) {
        for (number, stage) in (1..).zip(ready.stages) {
            let (name, targets) = match stage {
                StageTargets::Named { name, targets } => (name, targets),
                StageTargets::Numbered(targets) => (format!("stage {number}"), targets),
            };
            for target in targets {
                match self.stages.get_mut(target as usize) {
                    Some(stage) => stage.clone_from(&name),
                    None => return self.give_up(self.unknown_target(target)),
                }
            }
        }
    }

    fn unknown_target(&self, target: u32) -> String {
        format!("a target must be a number from 0 to {}, not {target}", self.clusters.len() - 1)
    }

    /// Notes instructions that were given. `None`: one of them breaks a rule, and the process was given up.
    pub(super) fn instructed(&mut self, instructions: &[Instruction]) -> Option<()> {
        for &Instruction { target, revision } in instructions {
            let revision = Revision(revision);
            if ![OLD, NEW].contains(&revision) {
                self.give_up(format!("a revision must be {} or {}, not {}", OLD.0, NEW.0, revision.0));
                return None;
            }
            let Some(known) = self.known.get_mut(target as usize) else {
                self.give_up(self.unknown_target(target));
                return None;
            };
            *known = Known { assigned: Some(revision), ready: false, ..*known };
        }
        Some(())
    }

    /// A report becomes news for the process.
    pub(super) fn tell(&mut self, report: Report, now: SimTime) {
        let Report { cluster, applied, ready, degraded } = report;
        let told = &mut self.known[cluster.index()].told;
        let was_failing = std::mem::replace(told, (applied.0, ready, degraded)).2;
        let failing = (degraded != was_failing).then_some(if degraded { PROGRESS_DEADLINE } else { "" });
        let (at, target) = (now.as_nanos(), cluster.0);
        self.news.push(News { at, target, applied: applied.0, ready, offline: None, failing });
    }

    /// A cluster was cut off, or is back: this becomes news for the process.
    pub(super) fn tell_link(&mut self, cluster: ClusterId, is_online: bool, now: SimTime) {
        let (applied, ready, _) = self.known[cluster.index()].told;
        let (at, target) = (now.as_nanos(), cluster.0);
        self.news.push(News { at, target, applied, ready, offline: Some(!is_online), failing: None });
    }

    /// The process knows of a report. Returns whether the target became ready or ceased to be.
    pub(super) fn learn(&mut self, report: Report) -> bool {
        let known = &mut self.known[report.cluster.index()];
        let ready = report.ready && known.assigned == Some(report.applied);
        std::mem::replace(&mut known.ready, ready) != ready
    }

    pub(super) fn unavailable(&self) -> u64 {
        self.known.iter().filter(|target| !target.ready).count() as u64
    }

    pub(super) fn is_done(&self, cluster: ClusterId) -> bool {
        let known = self.known[cluster.index()];
        known.assigned == Some(NEW) && known.ready
    }

    pub(super) fn hold(&self) -> Option<Hold> {
        let Held { rule, explanation } = self.ask(&ProcessMessage::Hold {}, Some("hold"))?;
        (!rule.is_empty()).then(|| Hold { rule: "external", explanation: format!("{rule}: {explanation}") })
    }

    pub(super) fn failure(&self) -> Option<ProcessError> {
        self.failure.borrow().clone()
    }

    /// Lets the process end.
    pub(super) fn finish(&mut self) {
        let finished = self.process.get_mut().take().map_or(Ok(()), |mut process| process.finish());
        if let Err(error) = finished {
            *self.failure.get_mut() = Some(error);
        }
    }
}
