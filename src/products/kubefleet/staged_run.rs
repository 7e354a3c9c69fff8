//! One staged update run in the hub cluster: its scheduler, and the people who create, stop, resume and approve it.
//!
//! None of what a binding says of its cluster wakes a run, which looks at its clusters on its own timer
//! (kubefleet-dev/kubefleet at e160c1cd, `pkg/controllers/updaterun/{controller,execution}.go`). Approvals are given by
//! a model: so long after the request, drawn by the request's name, or never. A given approval wakes the run, and so
//! does another `spec.state`.
//!
//! Left out: the watch delay of what people do, which is short beside their own.

use std::collections::{BTreeMap, BTreeSet};

use super::{KubeFleetStaged, UpdateRun};
use crate::engine::{EntityKey, Streams};
use crate::products::Decision;
use crate::rollout::kubefleet::staged::{
    PlacementView, PolicySnapshot, RunStatus, StagedAction, StagedUpdateRun, StagedView,
};
use crate::rollout::kubefleet::{ApplyStrategy, Bindings, MemberCluster, PlacementPolicy, RunSpec, RunState};
use crate::rollout::{ApprovalId, Hold, Revision, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{DurationModel, NEW, OLD, ReleaseKind};

/// Requests of a new run before its first binding: its finalizer, which meets a conflict and is written again after a
/// back-off of 5 ms, about a request's time; and the status of a run that is initialized.
const REQUESTS_OF_A_NEW_RUN: usize = 4;

/// What a pass writes into bindings, with the numbers of its requests.
pub(super) enum BindingWrite {
    /// The binding's spec and then its status, whose RolloutStarted the work generator waits for.
    Rolled(usize, Revision, [usize; 2]),
    /// It is deleted.
    Deleted(usize, usize),
}

/// One run.
pub(super) struct StagedRun<'s> {
    pub(super) placement: usize,
    name: String,
    scheduler: StagedUpdateRun,
    view: StagedView,
    /// What people do, the earliest first: the run exists with the first state.
    acts: Vec<(SimDuration, RunState)>,
    /// Number of them that were done.
    done: usize,
    /// Approvals that were given, also before they were asked for.
    given: BTreeSet<String>,
    approvals: Option<&'s DurationModel>,
    streams: Streams,
    /// When approvals that were asked for are given.
    due: BTreeMap<ApprovalId, SimTime>,
    /// When its queue, or what people did, asks for its next pass.
    next: Option<SimTime>,
    /// From when on the cache shows the status that the last pass wrote.
    fresh_at: Option<SimTime>,
    /// The last pass saw an older status.
    is_stale: bool,
    watch_delay: SimDuration,
    /// Approvals that the last pass found asked for and not accepted.
    asked: usize,
    /// How far the run was before the last pass and after it.
    progress: [Option<Progress>; 2],
    /// The last pass asked for nothing and noted nothing.
    was_quiet: bool,
    /// Clusters whose bindings it may see otherwise than in its last pass.
    changed: TargetSet,
}

/// What of a run's status its next pass goes by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Progress {
    stage: usize,
    updating: usize,
    finished: usize,
    stuck: usize,
}

impl<'s> StagedRun<'s> {
    pub(super) fn new(
        strategy: &'s KubeFleetStaged,
        run: &UpdateRun,
        clusters: Vec<MemberCluster>,
        release: ReleaseKind,
        streams: Streams,
        watch_delay: SimDuration,
    ) -> Self {
        let spec = RunSpec {
            placement_name: strategy.updates.placements[run.placement].clone(),
            resource_snapshot_index: run.snapshot.0.to_string(),
            staged_rollout_strategy_name: "strategy".to_owned(),
            state: run.states.first().map(|(_, state)| *state),
        };
        let stages = Some(strategy.strategy.clone().with_defaults());
        let changed = TargetSet::all(clusters.len());
        let scheduler =
            StagedUpdateRun::new(run.name.clone(), spec, stages, strategy.rules, strategy.upstream_bugs, clusters);
        let view = StagedView {
            state: RunState::Initialize,
            placement: Some(PlacementView { external: true, apply_strategy: ApplyStrategy(0) }),
            policy: PolicySnapshot { index: 0, scheduled: true, policy: PlacementPolicy::PickAll },
            resource_snapshots: match release {
                ReleaseKind::Update => vec![OLD, NEW],
                ReleaseKind::Initial => vec![NEW],
            },
            bindings: Bindings::default(),
            approval_requests: BTreeMap::new(),
        };
        Self {
            placement: run.placement,
            name: run.name.clone(),
            scheduler: scheduler.with_version(strategy.version),
            view,
            acts: run.states.clone(),
            done: 0,
            given: BTreeSet::new(),
            approvals: strategy.approvals.as_ref(),
            streams,
            due: BTreeMap::new(),
            next: None,
            fresh_at: None,
            is_stale: false,
            watch_delay,
            asked: 0,
            progress: [None; 2],
            was_quiet: false,
            changed,
        }
    }

    /// The bindings of these clusters have changed.
    pub(super) fn sees(&mut self, changed: &TargetSet) {
        changed.iter().for_each(|cluster| _ = self.changed.insert(cluster));
    }

    /// There are newer resources than those of the release.
    pub(super) fn add_snapshot(&mut self, snapshot: Revision) {
        self.view.resource_snapshots.push(snapshot);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn scheduler(&self) -> &StagedUpdateRun {
        &self.scheduler
    }

    pub(super) fn status(&self) -> &RunStatus {
        self.scheduler.run()
    }

    /// Its object was created.
    pub(super) fn exists(&self) -> bool {
        self.done > 0
    }

    /// The member clusters have other labels now.
    pub(super) fn set_clusters(&mut self, clusters: Vec<MemberCluster>) {
        self.scheduler.set_clusters(clusters);
    }

    /// When people act next.
    pub(super) fn next_act(&self, released: SimTime) -> Option<SimTime> {
        self.acts.get(self.done).map(|(after, _)| released + *after)
    }

    /// People act. Returns whether they have done anything by `now`, which asks for a pass.
    pub(super) fn act(&mut self, now: SimTime, released: SimTime) -> bool {
        let before = self.done;
        while self.next_act(released).is_some_and(|at| at <= now) {
            self.set_state(self.acts[self.done].1, now);
            self.done += 1;
        }
        self.done > before
    }

    /// Somebody sets the state, which asks for a pass.
    pub(super) fn set_state(&mut self, state: RunState, now: SimTime) {
        self.view.state = state;
        self.next = Some(now);
    }

    /// When it wants its next pass.
    pub(super) fn wakes(&self) -> Option<SimTime> {
        self.next.into_iter().chain(self.due.values().copied()).min()
    }

    /// Somebody approves a stage, perhaps before the run asks for it. Returns whether it has asked.
    pub(super) fn approve(&mut self, stage: &str, before: bool, now: SimTime) -> bool {
        let name = format!("{}-{}-{stage}", self.name, if before { "before" } else { "after" });
        let scheduler = &self.scheduler;
        let asked =
            self.view.approval_requests.iter_mut().filter(|(approval, _)| scheduler.approval_name(**approval) == name);
        let is_asked = asked.map(|(_, request)| request.approved = true).count() > 0;
        self.given.insert(name);
        if is_asked {
            self.next = Some(now);
        }
        is_asked
    }

    /// One pass on these bindings of its placement. Returns what it writes into them.
    pub(super) fn decide(
        &mut self,
        now: SimTime,
        bindings: &mut Bindings,
        decision: &mut Decision,
    ) -> Vec<BindingWrite> {
        self.next = None;
        if self.fresh_at.is_some_and(|fresh| now <= fresh) {
            self.scheduler.meets_conflict(now);
            self.is_stale = true;
            decision.requests.in_turn(self.asked + 1);
            return Vec::new();
        }
        self.is_stale = false;
        self.asked = self.view.approval_requests.values().filter(|request| !request.accepted).count();
        self.accept(now);
        let before = self.progress();
        if before.is_none() {
            // Its finalizer; the requests of that are in this pass.
            self.scheduler.has_met_conflict();
        }
        std::mem::swap(&mut self.view.bindings, bindings);
        let pass = self.scheduler.reconcile_changed(now, &self.view, &self.changed);
        self.changed.clear();
        self.view.store(now, &pass);
        std::mem::swap(&mut self.view.bindings, bindings);
        let status = &pass.status;
        // Each pass asks anew for an approval that has not been accepted, and is told that the request exists.
        decision.requests.in_turn(self.asked);
        if before.is_none() {
            decision.requests.in_turn(REQUESTS_OF_A_NEW_RUN);
        }
        self.was_quiet = status.writes(&pass.actions) == 0;
        let mut writes = Vec::new();
        for action in &pass.actions {
            match *action {
                StagedAction::Deploy(target, revision) => {
                    decision.requests.in_turn(2);
                    let written = decision.requests.len();
                    decision.requested += 1;
                    writes.push(BindingWrite::Rolled(target.index(), revision, [written - 2, written - 1]));
                }
                StagedAction::RequestApproval(approval) => {
                    decision.created += 1;
                    decision.requests.in_turn(1);
                    self.request(now, approval);
                }
                StagedAction::Delete(target) => {
                    decision.requests.in_turn(1);
                    writes.push(BindingWrite::Deleted(target.index(), decision.requests.len() - 1));
                }
            }
        }
        decision.requests.in_turn(status.restarted.len());
        // Accepted approvals, and at last the run's own status, which every pass writes.
        decision.requests.in_turn(status.accepted.len() + 1);
        self.progress = [before, self.progress()];
        writes
    }

    /// The requests of its pass are answered.
    pub(super) fn answered(&mut self, answers: &[SimTime]) {
        if !self.is_stale {
            self.fresh_at = answers.last().map(|written| *written + self.watch_delay);
        }
    }

    /// Its pass has ended: the queue comes up with it again.
    pub(super) fn pass_ended(&mut self, end: SimTime) {
        // What people did during the pass is not forgotten.
        self.next = self.next.into_iter().chain(self.scheduler.pass_ended(end)).min();
    }

    /// Approvals whose time has come are given.
    fn accept(&mut self, now: SimTime) {
        for (approval, _) in self.due.iter().filter(|(_, due)| **due <= now) {
            let request = self.view.approval_requests.get_mut(approval);
            request.expect("an approval that is due was asked for").approved = true;
        }
        self.due.retain(|_, due| *due > now);
    }

    fn request(&mut self, now: SimTime, approval: ApprovalId) {
        let name = self.scheduler.approval_name(approval);
        if self.given.contains(&name) {
            self.due.insert(approval, now);
        } else if let Some(delay) = self.approvals {
            let mut luck = self.streams.stream(EntityKey::of(&name), "approval");
            self.due.insert(approval, now + delay.sample(&mut luck));
        }
    }

    fn progress(&self) -> Option<Progress> {
        let run = self.scheduler.run();
        run.initialized?;
        let stage = run.current_stage();
        let status = run.stage(stage);
        Some(Progress { stage, updating: status.in_progress(), finished: status.finished(), stuck: run.stuck.len() })
    }

    /// The rule that blocks it.
    pub(super) fn hold(&self, bindings: &Bindings) -> Option<Hold> {
        self.scheduler.hold(&StagedView { bindings: bindings.clone(), ..self.view.clone() })
    }

    /// A run that saw what there is, changed nothing, and waits neither for a person nor for a time. Clusters that are
    /// updating are waited for until they are called stuck, because that is what a user would be shown.
    pub(super) fn is_idle(&self) -> bool {
        let [before, after] = self.progress;
        if self.done < self.acts.len() || !self.due.is_empty() {
            return false;
        }
        let run = self.scheduler.run();
        if run.is_over() {
            return true;
        }
        let (Some(after), true) = (after, before == after) else { return false };
        let is_waiting_for_time = run.stages.get(after.stage).is_some_and(|stage| {
            let strategy = self.scheduler.strategy().expect("an initialized run has a strategy");
            let tasks = strategy.stages[after.stage].after_stage_tasks.iter().zip(&stage.after_tasks);
            after.finished == stage.clusters.len()
                && tasks.into_iter().any(|(task, status)| task.kind == "TimedWait" && !status.elapsed)
        });
        self.was_quiet && !is_waiting_for_time && (after.updating == after.stuck || self.is_deleting())
    }

    /// It waits for bindings that it has deleted.
    fn is_deleting(&self) -> bool {
        let run = self.scheduler.run();
        run.current_stage() == run.stages.len()
    }

    /// What the run has written is out of date for a pass that is due now.
    pub(super) fn is_due(&self, now: SimTime) -> bool {
        self.exists() && self.wakes().is_some_and(|at| at <= now)
    }
}
