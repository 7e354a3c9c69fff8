//! What a staged update run of KubeFleet sees of the world, and how its decisions reach the clusters.
//!
//! Every cluster of the fleet is a member cluster with a binding, and one run updates them all. What a binding says of
//! its cluster is in [`super::members`]; none of it wakes the run, which looks at its clusters on its own timer
//! (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/updaterun/{controller,execution}.go`). Approvals are given
//! by a model: so long after the request, drawn by the request's name, or never; a given approval wakes the run.
//!
//! Left out: the watch delay of an approval, which is short beside a person's.

use std::collections::{BTreeMap, BTreeSet};

use super::members::Members;
use super::work_generator::{Effect, WorkGenerator};
use super::{KubeFleetStaged, member_clusters};
use crate::engine::Streams;
use crate::products::{Change, Clusters, Controller, Decision, Happened, Run, StatusLog};
use crate::rollout::kubefleet::staged::{PlacementView, PolicySnapshot, StagedAction, StagedUpdateRun, StagedView};
use crate::rollout::kubefleet::{ApplyStrategy, Bindings, PlacementPolicy, RunSpec, RunState, placement_conditions};
use crate::rollout::{ApprovalId, Hold, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, DurationModel, NEW, OLD, ReleaseKind, Report};

/// Requests of a new run before its first binding: its finalizer, which meets a conflict and is written again after a
/// back-off of 5 ms, about a request's time; and the status of a run that is initialized.
const REQUESTS_OF_A_NEW_RUN: usize = 4;

/// KubeFleet's controller with one staged update run.
pub(super) struct StagedController<'s> {
    scheduler: StagedUpdateRun,
    view: StagedView,
    members: Members,
    generator: WorkGenerator,
    /// Bindings that the pass in progress rolls: the cluster, the revision, and the numbers of the two requests.
    unwritten: Vec<(usize, Revision, [usize; 2])>,
    /// Approvals that were given, also before they were asked for.
    given: BTreeSet<String>,
    approvals: Option<&'s DurationModel>,
    streams: Streams,
    /// From when on the cache shows the status that the last pass wrote.
    fresh_at: Option<SimTime>,
    /// The last pass saw an older status.
    is_stale: bool,
    watch_delay: SimDuration,
    /// Approvals that the last pass found asked for and not accepted.
    asked: usize,
    /// When approvals that were asked for are given.
    due: BTreeMap<ApprovalId, SimTime>,
    /// How far the run was before the last pass and after it.
    progress: [Option<Progress>; 2],
    /// Something was reported since the last pass.
    is_news: bool,
    /// The last pass asked for nothing and noted nothing.
    was_quiet: bool,
}

/// What of a run's status its next pass goes by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Progress {
    stage: usize,
    updating: usize,
    finished: usize,
    stuck: usize,
}

impl<'s> StagedController<'s> {
    pub(super) fn new(strategy: &'s KubeFleetStaged, run: Run<'_>) -> Self {
        let KubeFleetStaged { rules, version, upstream_bugs, strategy, approvals } = strategy;
        let world = run.fleet.world;
        let spec = RunSpec {
            placement_name: "placement".to_owned(),
            resource_snapshot_index: NEW.0.to_string(),
            staged_rollout_strategy_name: "strategy".to_owned(),
            state: Some(RunState::Run),
        };
        let clusters = member_clusters(&world.clusters);
        let strategy = Some(strategy.clone().with_defaults());
        let scheduler = StagedUpdateRun::new("run".to_owned(), spec, strategy, *rules, *upstream_bugs, clusters);
        let scheduler = scheduler.with_version(*version);
        let members = Members::new(world);
        let timing = run.control_loop;
        let view = StagedView {
            state: RunState::Run,
            placement: Some(PlacementView { external: true, apply_strategy: ApplyStrategy(0) }),
            policy: PolicySnapshot { index: 0, scheduled: true, policy: PlacementPolicy::PickAll },
            resource_snapshots: match world.release {
                ReleaseKind::Update => vec![OLD, NEW],
                ReleaseKind::Initial => vec![NEW],
            },
            bindings: Members::bindings(world),
            approvals: BTreeMap::new(),
        };
        Self {
            scheduler,
            view,
            members,
            // The run reads bindings from its cache.
            generator: WorkGenerator::new(timing, timing.watch_delay, run.streams, Members::works(world)),
            unwritten: Vec::new(),
            given: BTreeSet::new(),
            fresh_at: None,
            is_stale: false,
            asked: 0,
            watch_delay: timing.watch_delay,
            approvals: approvals.as_ref(),
            streams: run.streams,
            due: BTreeMap::new(),
            progress: [None; 2],
            is_news: false,
            was_quiet: false,
        }
    }

    fn bindings(&self) -> &Bindings {
        &self.view.bindings
    }

    /// Approvals whose time has come are given.
    fn approve(&mut self, now: SimTime) {
        for (approval, _) in self.due.iter().filter(|(_, due)| **due <= now) {
            let request = self.view.approvals.get_mut(approval);
            request.expect("an approval that is due was asked for").approved = true;
        }
        self.due.retain(|_, due| *due > now);
    }

    fn request(&mut self, now: SimTime, approval: ApprovalId) {
        if self.given.contains(&self.scheduler.approval_name(approval)) {
            self.due.insert(approval, now);
            return;
        }
        if let Some(delay) = self.approvals {
            let name = self.scheduler.approval_name(approval);
            let mut luck = self.streams.stream(crate::engine::EntityKey::of(&name), "approval");
            self.due.insert(approval, now + delay.sample(&mut luck));
        }
    }

    fn progress(&self) -> Option<Progress> {
        let run = self.scheduler.run();
        run.initialized?;
        let stage = run.current_stage();
        let status = run.stage(stage);
        Some(Progress {
            stage,
            updating: status.updating().count(),
            finished: status.finished(),
            stuck: run.stuck.len(),
        })
    }
}

impl Controller for StagedController<'_> {
    fn heeds_pause(&self) -> bool {
        false
    }

    fn reports_completion(&self) -> bool {
        true
    }

    fn learn(&mut self, report: Report, now: SimTime) -> bool {
        self.generator.reported(report, now);
        false
    }

    fn change(&mut self, change: &Change, _now: SimTime) -> Option<bool> {
        if let Change::Stop(is_stopped) = change {
            self.view.state = if *is_stopped { RunState::Stop } else { RunState::Run };
            return Some(true);
        }
        let Change::Approve { stage, before } = change else { return None };
        let name = format!("run-{}-{stage}", if *before { "before" } else { "after" });
        let asked =
            self.view.approvals.iter_mut().filter(|(approval, _)| self.scheduler.approval_name(**approval) == name);
        let is_asked = asked.map(|(_, request)| request.approved = true).count() > 0;
        self.given.insert(name);
        Some(is_asked)
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let mut decision = Decision::default();
        if self.fresh_at.is_some_and(|fresh| now <= fresh) {
            self.scheduler.meets_conflict(now);
            self.is_stale = true;
            decision.unavailable = Members::unavailable(self.bindings());
            decision.requests.in_turn(self.asked + 1);
            return decision;
        }
        self.is_stale = false;
        self.asked = self.view.approvals.values().filter(|request| !request.accepted).count();
        self.approve(now);
        let before = self.progress();
        let is_new = before.is_none();
        let pass = self.scheduler.reconcile(now, &self.view);
        let status = &pass.status;
        decision.unavailable = Members::unavailable(self.bindings());
        // Each pass asks anew for an approval that has not been accepted, and is told that the request exists.
        decision.requests.in_turn(self.asked);
        if is_new {
            decision.requests.in_turn(REQUESTS_OF_A_NEW_RUN);
        }
        self.was_quiet = status.writes(&pass.actions) == 0;
        self.view.store(now, &pass);
        for action in &pass.actions {
            match *action {
                StagedAction::Deploy(target, revision) => {
                    // The binding's spec and then its status, whose RolloutStarted the work generator waits for.
                    decision.requests.in_turn(2);
                    let written = decision.requests.len();
                    decision.requested += 1;
                    self.unwritten.push((target.index(), revision, [written - 2, written - 1]));
                }
                StagedAction::RequestApproval(approval) => {
                    decision.created += 1;
                    decision.requests.in_turn(1);
                    self.request(now, approval);
                }
                StagedAction::Delete(..) => unreachable!("every cluster of the fleet stays picked"),
            }
        }
        decision.requests.in_turn(status.restarted.len());
        // Accepted approvals, and at last the run's own status, which every pass writes.
        decision.requests.in_turn(pass.status.accepted.len() + 1);
        decision.wake_at = self.due.values().copied().min();
        decision.complete = self.scheduler.run().succeeded == Some(true);
        self.is_news = false;
        self.progress = [before, self.progress()];
        decision
    }

    fn answered(&mut self, answers: &[SimTime]) {
        if !self.is_stale {
            self.fresh_at = answers.last().map(|written| *written + self.watch_delay);
        }
        for (cluster, revision, [spec, started]) in std::mem::take(&mut self.unwritten) {
            self.generator.rolled(cluster, revision, answers[spec], answers[started]);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        self.generator.next()
    }

    fn advance(&mut self, now: SimTime, _clusters: &dyn Clusters) -> Happened {
        let mut happened = Happened::default();
        while let Some(effect) = self.generator.advance(now) {
            match effect {
                Effect::Instruct(cluster, revision) if self.members.is_registered(cluster) => {
                    happened.instructions.push((cluster, revision));
                }
                Effect::Status(cluster, revision, state) => {
                    self.is_news |= Members::write(&mut self.view.bindings, cluster, revision, state).is_some();
                    happened.changed.push(cluster);
                }
                Effect::Instruct(..) | Effect::Seen(_) | Effect::Wake => {}
            }
        }
        happened
    }

    fn requeue(&mut self, end: SimTime) -> Option<SimTime> {
        self.scheduler.pass_ended(end)
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        Members::is_done(self.bindings(), cluster)
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn show(&mut self, log: &mut StatusLog) {
        log.show(self.scheduler.conditions());
        log.show(placement_conditions("placement", &self.view.bindings, None));
    }

    fn stages(&self) -> Vec<String> {
        let mut stages = vec![String::new(); self.scheduler.clusters().len()];
        for stage in &self.scheduler.run().stages {
            for cluster in &stage.clusters {
                stages[cluster.target.index()].clone_from(&stage.name);
            }
        }
        stages
    }

    /// A run that saw what there is, changed nothing, and waits neither for a person nor for a time. Clusters that are
    /// updating are waited for until they are called stuck, because that is what a user would be shown.
    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        let [before, after] = self.progress;
        let (Some(after), true) = (after, before == after) else { return false };
        let run = self.scheduler.run();
        let is_waiting_for_time = run.stages.get(after.stage).is_some_and(|stage| {
            let strategy = self.scheduler.strategy().expect("an initialized run has a strategy");
            let tasks = strategy.stages[after.stage].after_stage_tasks.iter().zip(&stage.after);
            after.finished == stage.clusters.len()
                && tasks.into_iter().any(|(task, status)| task.kind == "TimedWait" && !status.elapsed)
        });
        self.was_quiet
            && !self.is_news
            && self.generator.is_idle()
            && self.due.is_empty()
            && !is_waiting_for_time
            && after.updating == after.stuck
    }
}
