//! The state of one run's process and of the targets, as fleetsim and the process know it. Used whichever side runs
//! the control loop.
//!
//! Paused and unregistered clusters are also targets, and the first message marks them. They are never instructed, as
//! with the baselines; products that cannot pause clusters do instruct paused ones.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rand_xoshiro::rand_core::Rng;
use serde::de::DeserializeOwned;

use super::approvals::Approvals;
use super::{ExternalStrategy, LoopKeeper};
use crate::control_plane::{Change, Plane};
use crate::engine::Streams;
use crate::process::protocol::{
    Approval, ClientLimit, Decided, Held, Hello, HelloGroup, Instruction, Latency, News,
    ProcessCondition, ProcessMessage, Ready, Release, SeenReadiness, StageTargets, Target,
};
use crate::process::{BegunRun, ChildProcess, Decider, ProcessError, RunDecider};
use crate::products::{FleetGroup, Run};
use crate::rollout::{Hold, Revision};
use crate::units::{Bytes, SimDuration, SimTime};
use crate::world::{
    ApplyFailure, ClusterSpec, DurationModel, FailedApply, NEW, NOTHING, OLD, ReleaseKind, Report,
    TargetId, WorldSpec,
};

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// Maximum number of consecutive answers without an event that may together advance less than [`LEAST_PROGRESS`]. Each
/// target permits one more answer.
const MOST_ANSWERS: u32 = 10_000;

/// Maximum total size of the conditions in a run, in bytes.
const MOST_SHOWN: usize = 256_000_000;

/// Additional answers for each target, if the process reports the readiness it sees: the target may become ready or
/// not ready.
const ANSWERS_OF_A_SEEN_TARGET: u32 = 2;

/// Minimum progress in virtual time that [`MOST_ANSWERS`] answers must make, in nanoseconds.
const LEAST_PROGRESS: u64 = 100_000_000_000;

/// Maximum length of a rule's name and of an explanation, in characters.
const LONGEST_TEXT: usize = 1_000;

/// Shortens a text from the process to a readable length.
pub(super) fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text,
    }
}

/// The reason for a failing workload, in Kubernetes' wording.
const PROGRESS_DEADLINE: &str = "Deployment exceeded its progress deadline";

/// A target's state as fleetsim knows it.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The revision that the target was instructed to run.
    assigned: Option<Revision>,
    /// Whether the target runs the assigned revision and is ready.
    ready: bool,
    /// The target's state in the last event that the process received.
    reported: StateReport,
    /// Whether a person has removed the target from the rollout.
    deselected: bool,
}

/// A target's state as its agent reports it.
#[derive(Clone, Copy, Debug)]
struct StateReport {
    /// The number of the applied revision; 0 if there is none.
    applied: u32,
    ready: bool,
    failing: bool,
}

/// The process has failed or broken a rule. The session stores the error, and the run ends with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ProcessFailed;

/// Returns the text that the process receives for a failed apply.
const fn failed_apply(failure: FailedApply) -> &'static str {
    match failure.kind {
        ApplyFailure::Rejected => "the apply was rejected by the API server",
        ApplyFailure::Immutable => "the apply would change a field that must not change",
        ApplyFailure::Hook => "a hook of the apply failed",
        ApplyFailure::Timeout => "the API server did not answer the apply in time",
        ApplyFailure::NotReady => "the workloads were not ready within the time-out of the apply",
    }
}

/// Returns the cluster groups for the first message.
fn groups(groups: &[FleetGroup]) -> Vec<HelloGroup<'_>> {
    let mut described = Vec::new();
    for (group, selector) in groups {
        let selector = selector
            .as_ref()
            .map(|selector| serde_json::to_value(selector).expect("texts and lists"));
        described.push(HelloGroup {
            name: &group.name,
            labels: &group.labels,
            selector,
        });
    }
    described
}

/// Returns equally likely request durations in nanoseconds, in ascending order, with the model's mean. They do not
/// depend on the run. Empty for a constant.
fn request_times(model: &DurationModel) -> Vec<u64> {
    /// The number of returned durations, and the number of draws for each of them.
    const TIMES: usize = 200;
    const DRAWS: usize = 50;
    if matches!(model, DurationModel::Constant(_)) {
        return Vec::new();
    }
    let mut stream = Streams::new(0, 0).stream("external", "request times");
    let mut draws: Vec<f64> = (0..TIMES * DRAWS)
        .map(|_| model.sample(&mut stream).as_secs_f64())
        .collect();
    draws.sort_by(f64::total_cmp);
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let wanted = model.mean();
    let factor = if mean > 0.0 && wanted.is_finite() {
        wanted / mean
    } else {
        1.0
    };
    let mut times = Vec::new();
    for chunk in draws.chunks(DRAWS) {
        let seconds = chunk.iter().sum::<f64>() / DRAWS as f64 * factor;
        times.push(SimDuration::from_secs_f64(seconds).as_nanos());
    }
    times
}

/// Returns a target's description for the first message.
fn target(world: &WorldSpec, index: usize) -> Target<'_> {
    let ClusterSpec {
        name,
        labels,
        group,
        installed,
        paused,
        registered,
        ..
    } = &world.clusters[index];
    let revision =
        (!installed && world.applications[0].release == ReleaseKind::Update).then_some(0);
    Target {
        name,
        labels,
        group,
        revision,
        paused: paused.then_some(true),
        registered: (!registered).then_some(false),
    }
}

impl Known {
    fn at_start(assigned: Option<Revision>) -> Self {
        let is_ready = assigned.is_some();
        Self {
            assigned,
            ready: is_ready,
            reported: StateReport {
                applied: assigned.map_or(0, |revision| revision.0),
                ready: is_ready,
                failing: false,
            },
            deselected: false,
        }
    }
}

/// A series of consecutive answers without an event.
#[derive(Clone, Copy, Debug, Default)]
struct IdleAnswers {
    count: u32,
    /// The virtual time of the first answer in the series, in nanoseconds.
    since: u64,
}

/// The side that decides in a run.
enum Respondent {
    /// A process over pipes.
    Child(Box<ChildProcess>),
    /// An object in this process.
    Guest(GuestOfRun),
}

/// An object that decides in place of a process, with the texts that its errors need.
struct GuestOfRun {
    decider: Box<dyn RunDecider>,
    run: String,
    name: String,
}

/// Returns the error of a strategy in this process.
fn guest_error(run: &str, name: &str, problem: String) -> ProcessError {
    ProcessError {
        run: run.to_owned(),
        command: name.to_owned(),
        problem,
        line: String::new(),
        last_words: Vec::new(),
    }
}

impl Respondent {
    /// Returns the error of this side that broke a rule. A process is killed.
    fn error(&mut self, problem: String) -> ProcessError {
        match self {
            Self::Child(child) => child.error(problem, b""),
            Self::Guest(guest) => guest_error(&guest.run, &guest.name, problem),
        }
    }
}

/// The external process of one run, or the object that decides in its place.
pub(super) struct Session<'r> {
    /// The process or object, or the error if it could not be started or was abandoned. In a cell, because a query
    /// changes it.
    process: RefCell<Result<Respondent, ProcessError>>,
    pub(super) clusters: &'r [ClusterSpec],
    heeds_pause: bool,
    known: Vec<Known>,
    /// The newest revision that people have published.
    pub(super) newest: Revision,
    /// The highest revision that people have published. A rollback publishes a lower one.
    highest: Revision,
    pub(super) stages: Vec<String>,
    /// Reports and people's actions that the process has not received yet.
    pub(super) news: Vec<News>,
    /// Approvals that the process requests.
    pub(super) approvals: Approvals<'r>,
    /// Delay from an event of the world until it can reach the process, in nanoseconds.
    pub(super) lookahead: u64,
    /// Whether the process reports the readiness that its product sees. Otherwise a target counts as ready once the
    /// report can reach the process.
    pub(super) sees: bool,
    /// The current series of answers without an event.
    idle_answers: IdleAnswers,
    /// Total size of the recorded conditions so far, in bytes.
    shown_bytes: usize,
}

/// Returns the first message to a run's process.
fn hello<'r>(strategy: &'r ExternalStrategy, run: &Run<'r>) -> Hello<'r> {
    let world = run.fleet.world;
    let control_loop = run.control_loop;
    let files: BTreeMap<&str, &str> = strategy
        .files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let installed = match world.applications[0].release {
        ReleaseKind::Update => OLD.0,
        ReleaseKind::Initial => 0,
    };
    Hello {
        protocol: PROTOCOL,
        run: run.label,
        seed: run.streams.stream("external", "seed").next_u64() >> 1,
        targets: (0..world.clusters.len())
            .map(|index| target(world, index))
            .collect(),
        files,
        release: Release {
            installed,
            revision: NEW.0,
        },
        latency: Latency {
            request: control_loop.request.typical().as_nanos(),
            requests: request_times(&control_loop.request),
            watch: control_loop.watch_delay.as_nanos(),
        },
        client: ClientLimit {
            qps: control_loop.client_qps,
            burst: control_loop.client_burst,
        },
        cluster_groups: groups(run.fleet.groups),
        settings: &strategy.settings,
        seen: strategy.keeper == LoopKeeper::Process,
    }
}

impl<'r> Session<'r> {
    /// Starts the process and sends it the first message.
    pub(super) fn start(strategy: &'r ExternalStrategy, run: &Run<'r>) -> Self {
        let world = run.fleet.world;
        let mut session = Self {
            process: RefCell::new(Err(guest_error(run.label, "", String::new()))),
            clusters: &world.clusters,
            heeds_pause: strategy.heeds_pause,
            known: (0..world.clusters.len())
                .map(|index| Known::at_start(world.installed(0, index)))
                .collect(),
            newest: NEW,
            highest: NEW,
            stages: vec![String::new(); world.clusters.len()],
            news: Vec::new(),
            approvals: Approvals::new(&strategy.approvals, run.streams),
            lookahead: 0,
            sees: false,
            idle_answers: IdleAnswers::default(),
            shown_bytes: 0,
        };
        // If the process fails here, the session stores the error.
        let _ = session.greet(strategy, run);
        session
    }

    /// Starts the process or the object with the first message, and records its answer.
    fn greet(&mut self, strategy: &ExternalStrategy, run: &Run<'_>) -> Result<(), ProcessFailed> {
        let hello = hello(strategy, run);
        let ready = match &strategy.decider {
            Some(guest) => self.begin_guest(&**guest, run.label, &hello)?,
            None => {
                let started = ChildProcess::start(&strategy.command, run.label);
                let process = started.map(|child| Respondent::Child(Box::new(child)));
                self.process = RefCell::new(process);
                self.ask(&ProcessMessage::Hello(hello), Some("ready"))?
            }
        };
        self.lookahead = ready.lookahead;
        self.sees = ready.sees;
        self.name_stages(ready)
    }

    /// Begins a run of an object that decides in place of a process. Returns its answer to the first message.
    fn begin_guest(
        &mut self,
        guest: &dyn Decider,
        label: &str,
        hello: &Hello<'_>,
    ) -> Result<Ready, ProcessFailed> {
        let name = guest.name();
        match guest.begin(hello) {
            Ok(BegunRun { decider, ready }) => {
                let run = label.to_owned();
                let guest = GuestOfRun { decider, run, name };
                self.process = RefCell::new(Ok(Respondent::Guest(guest)));
                Ok(ready)
            }
            Err(problem) => {
                self.process = RefCell::new(Err(guest_error(label, &name, problem)));
                Err(ProcessFailed)
            }
        }
    }

    /// Returns the answer of an object in this process. `None`: a process decides. If the object fails, the session
    /// stores the error.
    fn ask_guest<T>(
        &self,
        question: impl FnOnce(&mut dyn RunDecider) -> Result<T, String>,
    ) -> Option<Result<T, ProcessFailed>> {
        let mut process = self.process.borrow_mut();
        let Ok(Respondent::Guest(guest)) = process.as_mut() else {
            return None;
        };
        match question(&mut *guest.decider) {
            Ok(answer) => Some(Ok(answer)),
            Err(problem) => {
                *process = Err(guest_error(&guest.run, &guest.name, problem));
                Some(Err(ProcessFailed))
            }
        }
    }

    /// Returns the decisions in a pass at `now`.
    pub(super) fn decide(&self, now: SimTime, news: &[News]) -> Result<Decided, ProcessFailed> {
        let now = now.as_nanos();
        match self.ask_guest(|guest| guest.decide(now, news)) {
            Some(decided) => decided,
            None => self.ask(&ProcessMessage::Pass { now, news }, None),
        }
    }

    /// Returns the process's answer, unless the process has failed or fails now.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        question: &ProcessMessage<'_>,
        part: Option<&str>,
    ) -> Result<T, ProcessFailed> {
        let mut process = self.process.borrow_mut();
        let Ok(Respondent::Child(child)) = process.as_mut() else {
            return Err(ProcessFailed);
        };
        match child.ask(question, part) {
            Ok(answer) => Ok(answer),
            Err(error) => {
                *process = Err(error);
                Err(ProcessFailed)
            }
        }
    }

    /// Abandons a process that broke a rule.
    pub(super) fn give_up(&self, problem: String) -> ProcessFailed {
        let mut process = self.process.borrow_mut();
        if let Ok(respondent) = &mut *process {
            let error = respondent.error(problem);
            *process = Err(error);
        }
        ProcessFailed
    }

    fn name_stages(&mut self, ready: Ready) -> Result<(), ProcessFailed> {
        for (number, stage) in (1..).zip(ready.stages) {
            let (name, targets) = match stage {
                StageTargets::Named { name, targets } => (name, targets),
                StageTargets::Numbered(targets) => (format!("stage {number}"), targets),
            };
            for target in targets {
                match self.stages.get_mut(target as usize) {
                    Some(stage) => stage.clone_from(&name),
                    None => return Err(self.unknown_target(target)),
                }
            }
        }
        Ok(())
    }

    fn unknown_target(&self, target: u32) -> ProcessFailed {
        self.give_up(format!(
            "a target must be a number from 0 to {}, not {target}",
            self.clusters.len() - 1
        ))
    }

    /// Counts an answer at `now` that the process could have given without waiting.
    ///
    /// # Errors
    /// Returns an error if the process continues endlessly without advancing the time.
    pub(super) fn moves_on(&mut self, now: u64, had_news: bool) -> Result<(), ProcessFailed> {
        let idle = &mut self.idle_answers;
        if had_news || now - idle.since >= LEAST_PROGRESS {
            *idle = IdleAnswers {
                count: 0,
                since: now,
            };
        }
        idle.count += 1;
        let per_target = if self.sees {
            1 + ANSWERS_OF_A_SEEN_TARGET
        } else {
            1
        };
        let most = MOST_ANSWERS + per_target * self.clusters.len() as u32;
        if idle.count <= most {
            return Ok(());
        }
        let passed = SimDuration::from_nanos(now - idle.since);
        let least = SimDuration::from_nanos(LEAST_PROGRESS);
        Err(self.give_up(format!(
            "time must advance: {most} consecutive answers without news took {passed} of virtual time, and must take \
             at least {least}; wait for news, or for a later time"
        )))
    }

    /// Records instructions.
    ///
    /// # Errors
    /// Returns an error if an instruction breaks a rule.
    pub(super) fn instructed(&mut self, instructions: &[Instruction]) -> Result<(), ProcessFailed> {
        for &Instruction { target, revision } in instructions {
            let revision = Revision(revision);
            if revision > self.highest {
                return Err(self.give_up(format!(
                    "a revision must be 0 (to remove) or a published one, {} to {}, not {}",
                    OLD.0, self.highest.0, revision.0
                )));
            }
            let Some(known) = self.known.get_mut(target as usize) else {
                return Err(self.unknown_target(target));
            };
            let assigned = (revision != NOTHING).then_some(revision);
            *known = Known {
                assigned,
                ready: false,
                ..*known
            };
        }
        Ok(())
    }

    /// Returns whether instructions can reach the target.
    pub(super) fn reaches(&self, target: u32) -> bool {
        let spec = &self.clusters[target as usize];
        spec.registered && !(spec.paused && self.heeds_pause)
    }

    /// Adds a report to the events for the process.
    pub(super) fn tell(&mut self, report: Report, now: SimTime) {
        let reported = &mut self.known[report.target.index()].reported;
        let was_failing = reported.failing;
        *reported = StateReport {
            applied: report.applied.0,
            ready: report.ready,
            failing: report.degraded || report.failure.is_some(),
        };
        let failing = match (was_failing, reported.failing) {
            (false, true) => Some(report.failure.map_or(PROGRESS_DEADLINE, failed_apply)),
            (true, false) => Some(""),
            // Another attempt has failed.
            (true, true) => report.failure.map(failed_apply),
            (false, false) => None,
        };
        self.news.push(News {
            failing,
            ..self.last_news(report.target, now)
        });
    }

    /// Returns an event with the last reported state of a target.
    fn last_news(&self, target: TargetId, now: SimTime) -> News {
        let reported = self.known[target.index()].reported;
        News {
            at: now.as_nanos(),
            target: Some(target.0),
            applied: Some(reported.applied),
            ready: Some(reported.ready),
            ..News::default()
        }
    }

    /// Adds an event for a target whose cluster was cut off or has returned.
    pub(super) fn tell_link(&mut self, target: TargetId, is_online: bool, now: SimTime) {
        self.news.push(News {
            offline: Some(!is_online),
            ..self.last_news(target, now)
        });
    }

    /// Adds an event for a person's action.
    pub(super) fn tell_change(&mut self, change: &Change, now: SimTime) {
        let mut news = News {
            at: now.as_nanos(),
            ..News::default()
        };
        match change {
            Change::Release(revision) => {
                self.newest = *revision;
                self.highest = self.highest.max(*revision);
                news.release = Some(revision.0);
            }
            Change::Stop(stop) => news.stop = Some(*stop),
            Change::Labels(cluster, labels) => {
                news.target = Some(cluster.0);
                news.labels = Some(labels.clone());
            }
            Change::Selected(target, selected) => {
                self.known[target.index()].deselected = !selected;
                news.target = Some(target.0);
                news.selected = Some(*selected);
            }
            Change::Approve { stage, before } => news.approve = Some(Approval::new(stage, *before)),
            // The protocol has no message for these changes, and the strategy rejects them.
            Change::Edited(_) | Change::Deleted(_) => return,
        }
        self.news.push(news);
    }

    /// Records the approvals that the process requests at `now`, directly or through conditions, and its objects'
    /// conditions.
    ///
    /// # Errors
    /// Returns an error if the conditions exceed the limit of a run.
    pub(super) fn asked(
        &mut self,
        approvals: &[Approval],
        conditions: &[ProcessCondition],
        now: u64,
    ) -> Result<(), ProcessFailed> {
        for condition in conditions {
            self.shown_bytes += condition.bytes();
        }
        if self.shown_bytes > MOST_SHOWN {
            return Err(self.give_up(format!(
                "`conditions` of a run may have {} in total; send only changes",
                Bytes::new(MOST_SHOWN as u64)
            )));
        }
        for approval in approvals {
            self.approvals.ask(approval, now);
        }
        for condition in conditions {
            self.approvals.notice(condition);
        }
        Ok(())
    }

    /// Adds events for approvals that people give by `now`. Returns whether any were added.
    pub(super) fn tell_approvals(&mut self, now: SimTime) -> bool {
        let before = self.news.len();
        while let Some((at, approval)) = self.approvals.given_by(now.as_nanos()) {
            self.news.push(News {
                at,
                approve: Some(approval),
                ..News::default()
            });
        }
        self.news.len() > before
    }

    /// Handles a report that has reached the process. Returns whether the target's readiness changed.
    pub(super) fn learn(&mut self, report: Report) -> bool {
        let known = &mut self.known[report.target.index()];
        let ready = report.ready && known.assigned == Some(report.applied);
        std::mem::replace(&mut known.ready, ready) != ready
    }

    /// Records whether the product sees a target as ready.
    ///
    /// # Errors
    /// Returns an error if the target does not exist.
    pub(super) fn sees_ready(&mut self, seen: SeenReadiness) -> Result<(), ProcessFailed> {
        let Some(known) = self.known.get_mut(seen.target as usize) else {
            return Err(self.unknown_target(seen.target));
        };
        known.ready = seen.ready && known.assigned == Some(Revision(seen.revision));
        Ok(())
    }

    pub(super) fn unavailable(&self) -> u64 {
        self.known.iter().filter(|target| !target.ready).count() as u64
    }

    pub(super) fn is_done(&self, target: TargetId) -> bool {
        let known = self.known[target.index()];
        known.deselected || (known.assigned == Some(self.newest) && known.ready)
    }

    pub(super) fn hold(&self) -> Option<Hold> {
        let held: Held = match self.ask_guest(|guest| guest.hold()) {
            Some(held) => held.ok()?,
            None => self.ask(&ProcessMessage::Hold {}, Some("hold")).ok()?,
        };
        if held.rule.is_empty() {
            return None;
        }
        Some(Hold {
            rule: shortened(held.rule).into(),
            explanation: shortened(held.explanation),
        })
    }

    /// Reports the effects of an input: the intervals spent waiting for people, and the process's error.
    pub(super) fn settle(&mut self, plane: &mut Plane<'_>) {
        for (asked, given) in self.approvals.pauses.drain(..) {
            plane.waits_for_person(asked, given);
        }
        if let Some(error) = self.failure() {
            plane.fail(error);
        }
    }

    pub(super) fn failure(&self) -> Option<ProcessError> {
        self.process.borrow().as_ref().err().cloned()
    }

    /// Ends the process. Returns the error of the session, if there was one.
    pub(super) fn finish(&mut self) -> Option<ProcessError> {
        match self.process.get_mut() {
            Ok(Respondent::Child(process)) => process.finish().err(),
            Ok(Respondent::Guest(_)) => None,
            Err(error) => Some(error.clone()),
        }
    }
}
