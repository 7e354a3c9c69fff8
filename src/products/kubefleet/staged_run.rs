//! One staged update run in the hub cluster: its scheduler, and the people who create, stop, resume and approve it.
//!
//! Changes of a binding's status do not wake a run; it checks its clusters on its own timer (kubefleet-dev/kubefleet
//! at e160c1cd, `pkg/controllers/updaterun/{controller,execution}.go`). An approval is given after a delay drawn by
//! the request's name, or never. An approval wakes the run, as does a change of `spec.state`.
//!
//! Left out: the watch delay of people's actions, which is short compared with their own delays.

use std::collections::{BTreeMap, BTreeSet};

use super::work_generator::{APPROVALS, BINDINGS, RUNS, SpecWrite, WorkGenerator};
use super::{KubeFleetStaged, UpdateRun};
use crate::control_plane::{Change, Plane};
use crate::products::Run;
use crate::products::delay::pause;
use crate::rollout::kubefleet::staged::{
    PlacementView, PolicySnapshot, RunBehaviour, StagedAction, StagedUpdateRun, StagedView,
};
use crate::rollout::kubefleet::{ApplyStrategy, Bindings, MemberCluster, RunState};
use crate::rollout::{Hold, QueueRequest, TargetSet};
use crate::units::SimTime;
use crate::world::{DurationModel, NEW, OLD, ReleaseKind};

/// Requests of a new run before its first binding: its finalizer, which meets a conflict and is written again after a
/// back-off of 5 ms, about the duration of a request; and the status after initialization.
const REQUESTS_OF_A_NEW_RUN: usize = 4;

/// The outcome of a pass.
pub(super) struct PassEnd {
    /// The time of the answer to the pass's last request.
    pub(super) end: SimTime,
    /// Approvals that the pass requests, with the times at which they are given.
    pub(super) approvals: Vec<(String, SimTime)>,
    /// Whether the run is new. The pass then includes the requests for its finalizer, which first meets a conflict.
    pub(super) is_new: bool,
    /// The request for the next pass.
    pub(super) next: QueueRequest,
}

/// The part of a run's status that affects its next pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct RunProgress {
    /// The index of the current stage, or the number of stages while the delete stage runs.
    stage: usize,
    /// The number of clusters in the stage that are updating.
    updating: usize,
    /// The number of clusters in the stage that have finished.
    finished: usize,
    /// The number of clusters that are reported as stuck.
    stuck: usize,
}

/// A staged update run.
pub(super) struct StagedRun<'s> {
    /// The run as described in the experiment. It exists after its first state is set.
    pub(super) described: UpdateRun,
    pub(super) scheduler: StagedUpdateRun,
    pub(super) view: StagedView,
    /// Whether the run's object was created.
    pub(super) exists: bool,
    /// The number of pending actions and approvals.
    pub(super) pending: usize,
    /// Approvals that were given, including those given before they were requested.
    given: BTreeSet<String>,
    approvals: Option<&'s DurationModel>,
    /// The approvals that the run requested, in order.
    asked: Vec<String>,
    /// The simulated rollout that contains the run.
    rollout: Run<'s>,
    /// The time at which the cache shows the status that the last pass wrote.
    fresh_at: Option<SimTime>,
    /// The run's progress before the last pass. `None`: the run was not initialized.
    before: Option<RunProgress>,
    /// Whether the last pass requested nothing and wrote nothing.
    wrote_nothing: bool,
    /// Clusters whose bindings may have changed since the run's last pass.
    pub(super) changed: TargetSet,
}

impl<'s> StagedRun<'s> {
    pub(super) fn new(
        strategy: &'s KubeFleetStaged,
        described: UpdateRun,
        clusters: Vec<MemberCluster>,
        rollout: Run<'s>,
    ) -> Self {
        let changed = TargetSet::all(clusters.len());
        let behaviour = RunBehaviour {
            rules: strategy.rules,
            version: strategy.version,
            bugs: strategy.upstream_bugs,
        };
        let scheduler = StagedUpdateRun::new(
            described.name.clone(),
            described.snapshot.0.to_string(),
            Some(strategy.strategy.clone()),
            behaviour,
            clusters,
        );
        let view = StagedView {
            state: RunState::Initialize,
            placement: Some(PlacementView {
                external: true,
                apply_strategy: ApplyStrategy(0),
            }),
            policy: PolicySnapshot {
                index: 0,
                scheduled: true,
                requested: None,
            },
            resource_snapshots: match rollout.fleet.world.applications[0].release {
                ReleaseKind::Update => vec![OLD, NEW],
                ReleaseKind::Initial => vec![NEW],
            },
            bindings: Bindings::default(),
            approval_requests: BTreeMap::new(),
        };
        Self {
            scheduler,
            view,
            exists: false,
            pending: described.states.len(),
            described,
            given: BTreeSet::new(),
            approvals: strategy.approvals.as_ref(),
            asked: Vec::new(),
            rollout,
            fresh_at: None,
            before: None,
            wrote_nothing: false,
            changed,
        }
    }

    /// Creates the object or sets its state. Returns whether anything changed: a write without a change keeps the
    /// generation and does not start a pass.
    pub(super) fn set_state(&mut self, state: RunState) -> bool {
        let changes = !self.exists || self.view.state != state;
        self.exists = true;
        self.view.state = state;
        changes
    }

    /// Records a requested approval as given. Returns whether the request changes.
    pub(super) fn approved(&mut self, approval: &str) -> bool {
        let request = self.view.approval_requests.get_mut(approval);
        !std::mem::replace(
            &mut request
                .expect("an approval that is given was asked for")
                .approved,
            true,
        )
    }

    /// Applies a person's action: stops or resumes the run, or approves a stage, possibly before the run requests it.
    /// Returns whether the run's object or a request changes.
    pub(super) fn person(&mut self, change: &Change) -> bool {
        match change {
            Change::Stop(is_stopped) => {
                self.exists
                    && self.set_state(if *is_stopped {
                        RunState::Stop
                    } else {
                        RunState::Run
                    })
            }
            Change::Approve { stage, before } => {
                let name = self.scheduler.approval_name(stage, *before);
                let request = self.view.approval_requests.get_mut(&name);
                self.given.insert(name);
                request.is_some_and(|request| !std::mem::replace(&mut request.approved, true))
            }
            _ => false,
        }
    }

    /// Runs one pass over the bindings in the run's placement.
    pub(super) fn reconcile(
        &mut self,
        now: SimTime,
        bindings: &mut Bindings,
        generator: &mut WorkGenerator,
        plane: &mut Plane<'_>,
    ) -> PassEnd {
        // Each pass requests an approval again until it is given, and finds that the request already exists.
        let open_requests = self
            .view
            .approval_requests
            .values()
            .filter(|request| !request.accepted)
            .count();
        let mut at = generator.client.in_turn(APPROVALS, now, open_requests);
        if self.fresh_at.is_some_and(|fresh| now <= fresh) {
            // The cache does not show the last pass's status yet, so there is a conflict. The next pass sees anything
            // that has changed since then, such as an approval.
            self.wrote_nothing = false;
            return PassEnd {
                end: generator.client.in_turn(RUNS, at, 1),
                approvals: Vec::new(),
                is_new: false,
                next: QueueRequest::Error,
            };
        }
        let before = self.progress();
        std::mem::swap(&mut self.view.bindings, bindings);
        let pass = self
            .scheduler
            .reconcile_changed(now, &self.view, &self.changed);
        self.changed.clear();
        self.view.store(&pass);
        std::mem::swap(&mut self.view.bindings, bindings);
        let status = &pass.status;
        if before.is_none() {
            at = generator.client.in_turn(RUNS, at, REQUESTS_OF_A_NEW_RUN);
        }
        self.wrote_nothing =
            pass.actions.is_empty() && status.accepted.is_empty() && status.restarted.is_empty();
        let mut approvals = Vec::new();
        for action in &pass.actions {
            at = write(action, at, generator, plane);
            if let StagedAction::RequestApproval(approval) = action {
                plane.pass_until(at, 1);
                if let Some(given) = self.given_at(now, approval, plane) {
                    approvals.push((approval.clone(), given));
                }
            }
        }
        at = generator
            .client
            .in_turn(BINDINGS, at, status.restarted.len());
        // Accepted approvals, and finally the run's own status, which every pass writes.
        at = generator
            .client
            .in_turn(APPROVALS, at, status.accepted.len());
        at = generator.client.in_turn(RUNS, at, 1);
        self.before = before;
        self.fresh_at = Some(at + self.rollout.control_loop.watch_delay);
        self.pending += approvals.len();
        PassEnd {
            end: at,
            approvals,
            is_new: before.is_none(),
            next: pass.status.next,
        }
    }

    /// Returns the time at which an approval requested now is given. `None`: it is never given.
    fn given_at(&mut self, now: SimTime, approval: &str, plane: &mut Plane<'_>) -> Option<SimTime> {
        if let Some(ends) = self.scheduler.wait_beside(approval) {
            plane.waits_for_time(now, ends);
        }
        if self.given.contains(approval) {
            return Some(now);
        }
        let nth = self
            .asked
            .iter()
            .position(|asked| asked == approval)
            .unwrap_or_else(|| {
                self.asked.push(approval.to_owned());
                self.asked.len() - 1
            });
        let own = self
            .approvals
            .map(|delay| now + pause(delay, &self.rollout.streams, nth as u64));
        plane.person_acts(now, own)
    }

    /// Returns the progress of the run. `None`: the run is not initialized.
    fn progress(&self) -> Option<RunProgress> {
        let run = self.scheduler.status();
        run.initialized?;
        let stage = run.current_stage();
        let status = run.stage(stage);
        Some(RunProgress {
            stage,
            updating: status.in_progress,
            finished: status.finished,
            stuck: run.stuck.len(),
        })
    }

    /// Returns the rule that blocks the run now: that of its last pass, even if the next pass will make progress.
    pub(super) fn hold(&self, bindings: &Bindings) -> Option<Hold> {
        let view = StagedView {
            bindings: bindings.clone(),
            ..self.view.clone()
        };
        let hold = self.scheduler.hold(&view);
        hold.or_else(|| self.scheduler.hold_until_next_pass(&view))
    }

    /// Returns true if the run has seen every change, changed nothing, and waits neither for a person nor for a timer.
    /// It waits for updating clusters until they are reported as stuck, because users would see that report.
    pub(super) fn is_idle(&self) -> bool {
        if self.pending > 0 {
            return false;
        }
        let run = self.scheduler.status();
        if run.is_over() {
            return true;
        }
        let Some(progress) = self.progress() else {
            return false;
        };
        if self.before != Some(progress) {
            return false;
        }
        let is_deleting = progress.stage == run.stages.len();
        let is_stage_finished = run
            .stages
            .get(progress.stage)
            .is_some_and(|stage| progress.finished == stage.clusters.len());
        let is_waiting_for_time = is_stage_finished && self.waits_after_stage(progress.stage);
        let is_stuck = progress.updating == progress.stuck;
        self.wrote_nothing && !is_waiting_for_time && (is_stuck || is_deleting)
    }

    /// Returns whether a timed wait after the stage has not elapsed.
    fn waits_after_stage(&self, index: usize) -> bool {
        let strategy = self
            .scheduler
            .strategy()
            .expect("an initialized run has a strategy");
        let tasks = &strategy.stages[index].after_stage_tasks;
        let statuses = &self.scheduler.status().stages[index].after_tasks;
        tasks
            .iter()
            .zip(statuses)
            .any(|(task, status)| task.kind == "TimedWait" && !status.elapsed)
    }
}

/// Sends the requests of an action, starting at `at`. Returns the time at which the last one is answered.
fn write(
    action: &StagedAction,
    at: SimTime,
    generator: &mut WorkGenerator,
    plane: &mut Plane<'_>,
) -> SimTime {
    match action {
        &StagedAction::Deploy(target, revision) => {
            plane.promote(target, revision);
            let spec = generator.client.in_turn(BINDINGS, at, 1);
            let started = generator.client.in_turn(BINDINGS, spec, 1);
            generator.write_spec(target.index(), revision, SpecWrite { spec, started }, plane);
            started
        }
        StagedAction::RequestApproval(_) => generator.client.in_turn(APPROVALS, at, 1),
        &StagedAction::Delete(target) => {
            let deleted = generator.client.in_turn(BINDINGS, at, 1);
            generator.delete(target.index(), deleted, plane);
            deleted
        }
    }
}
