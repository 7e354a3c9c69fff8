//! One pass over the current stage: starts and observes clusters, handles tasks, deletions and stops.
//!
//! Follows `execution.go` and `stop.go` of `pkg/controllers/updaterun`.

use std::collections::BTreeMap;

use super::super::super::{QueueRequest, TargetId};
use super::super::control_loop::{CLUSTER_UPDATING_WAIT, STAGE_WAIT};
use super::super::{Binding, KubeFleetVersion, RuleSet, stored};
use super::initialize::Collected;
use super::ledger::StageLedger;
use super::run::{ClusterStatus, RunError, RunReason, RunStatus};
use super::view::{StagedAction, StagedDecision, StagedView};
use super::{RunInputs, RunState, StageTask, TaskTime};
use fleetsim_units::{SimDuration, SimTime};

/// A pass in progress.
pub(super) struct RunPass<'a> {
    pub(super) inputs: &'a RunInputs,
    pub(super) now: SimTime,
    pub(super) view: &'a StagedView,
    pub(super) collected: Collected<'a>,
    pub(super) stage: &'a mut StageLedger,
    /// The first cluster of the stage whose binding another writer has changed.
    pub(super) preempted: Option<RunError>,
    pub(super) run: &'a mut RunStatus,
    pub(super) decision: &'a mut StagedDecision,
}

/// The result of a pass for a cluster that may start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClusterStart {
    /// The cluster's binding gets the run's resources.
    Deployed,
    /// The cluster's binding already has the run's resources, and is now marked as started.
    Restarted,
    /// The cluster's binding already has the run's resources, and was already marked as started.
    AlreadyCurrent,
}

/// The state of a cluster of the stage, as a pass finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClusterUpdate {
    /// The cluster is still being updated.
    Going,
    /// The cluster has the resources of the run and is available.
    Done,
    /// The cluster counts as failed; a later pass may find it done.
    Failing,
    /// Another writer has changed the cluster's binding since the cluster started.
    Preempted,
}

/// The action of a pass on deletions that have not started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum NewDeletions {
    Start,
    Hold,
}

/// The state of a cluster of the delete stage, as a pass finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClusterDeletion {
    NotStarted,
    InProgress,
    /// The cluster's binding is gone.
    Done,
    /// The cluster's binding exists again, or is no longer being deleted.
    Undone,
}

impl ClusterDeletion {
    /// Returns the state of a cluster. `binding`: the cluster's binding to delete, if it still exists.
    fn of(cluster: &ClusterStatus, binding: Option<&Binding>) -> Self {
        let Some(binding) = binding else {
            return Self::Done;
        };
        if cluster.succeeded == Some(true) {
            return Self::Undone;
        }
        match cluster.started {
            None => Self::NotStarted,
            Some(_) if binding.deleting => Self::InProgress,
            Some(_) => Self::Undone,
        }
    }
}

/// Maximum number of failing clusters that the error of a pass names.
const NAMED: usize = 10;

impl<'a> RunPass<'a> {
    /// Runs a pass in state `Run`.
    pub(super) fn execute(&mut self) -> Result<(), RunError> {
        let reason = self.run.progressing.map(|progress| progress.reason);
        if !matches!(reason, Some(RunReason::Waiting | RunReason::Stuck)) {
            self.run.mark(self.now, RunReason::Progressing);
        }
        let index = self.run.current_stage();
        if index == self.run.stages.len() {
            return self.execute_delete_stage();
        }
        let updates_empty_stages = self.inputs.behaviour.rules == RuleSet::Shipped
            && self.inputs.behaviour.version < KubeFleetVersion::Main;
        if self.run.stages[index].clusters.is_empty() && !updates_empty_stages {
            match self.inputs.behaviour.rules {
                RuleSet::Shipped => {
                    self.run.stages[index].mark(self.now, RunReason::SkippedNoClusters);
                    self.decision.status.next = QueueRequest::RateLimited;
                }
                // The document says: "Both tasks must be satisfied before advancing to the next stage."
                RuleSet::Documented => self.complete_stage(index),
            }
            return Ok(());
        }
        if self.inputs.needs_approval_before(index) && !self.run.stages[index].approved_before {
            self.run.stages[index].approved_before =
                self.ask(self.inputs.approval(TaskTime::Before, index));
            if !self.run.stages[index].approved_before {
                self.run.stages[index].mark(self.now, RunReason::Waiting);
                self.run.mark(self.now, RunReason::Waiting);
                self.decision.status.next = QueueRequest::After(STAGE_WAIT);
                return Ok(());
            }
        }
        let limit = self
            .inputs
            .limit(index, &self.run.stages[index])
            .map_err(|error| self.abort_stage(index, error))?;
        let keep_slots = self.update_clusters(index, Some(limit))?;
        let stage = &self.run.stages[index];
        if stage.finished == stage.clusters.len() && keep_slots == 0 {
            self.complete_stage(index);
        } else {
            self.decision.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    /// Observes the clusters of a stage that may have changed. Unless `limit` is `None`, also starts clusters in the
    /// order of the stage (`executeUpdatingStage`). Returns how many clusters keep their slots in this pass although
    /// they are no longer updating.
    fn update_clusters(&mut self, index: usize, limit: Option<i64>) -> Result<i64, RunError> {
        let mut keep_slots = 0;
        for position in std::mem::take(&mut self.stage.to_observe) {
            keep_slots += i64::from(self.update_cluster(index, position, limit.is_some()));
        }
        let taken =
            (self.run.stages[index].in_progress + self.stage.refused.len()) as i64 + keep_slots;
        for _ in taken..limit.unwrap_or(0) {
            if self.stage.frontier == self.run.stages[index].clusters.len() {
                break;
            }
            self.stage.frontier += 1;
            keep_slots +=
                i64::from(self.update_cluster(index, self.stage.frontier as u32 - 1, true));
        }
        let clusters = &self.run.stages[index].clusters;
        self.run.stuck.clear();
        for position in self.stage.stuck(self.now) {
            self.run.stuck.push(clusters[position as usize].target);
        }
        let mut failing = Vec::new();
        for position in self.stage.failing.iter().take(NAMED) {
            let target = clusters[position as usize].target;
            failing.push(self.inputs.name(target));
        }
        if !self.run.stuck.is_empty() {
            self.run.mark(self.now, RunReason::Stuck);
        } else if self.view.state != RunState::Stop {
            self.run.mark(self.now, RunReason::Progressing);
        }
        if let Some(error) = self.preempted.take() {
            return Err(self.abort_stage(index, error));
        }
        if failing.is_empty() {
            Ok(keep_slots)
        } else {
            Err(RunError::ClusterUpdate(failing))
        }
    }

    /// Observes a cluster, or starts it if the pass may start clusters. Returns whether it keeps its slot in this pass
    /// although it is no longer updating: `executeUpdatingStage` counts the slots before it observes such clusters.
    fn update_cluster(&mut self, index: usize, position: u32, may_start: bool) -> bool {
        let before = self.run.stages[index].clusters[position as usize];
        let binding = self.binding(before.target);
        let update = if before.started.is_some() {
            self.observe(binding, may_start)
        } else if may_start {
            self.start_or_observe(binding)
        } else {
            return false;
        };
        if update == ClusterUpdate::Preempted {
            self.note_preemption(index, before.target);
        }

        let mut cluster = before;
        match update {
            ClusterUpdate::Going | ClusterUpdate::Failing => {}
            ClusterUpdate::Done => cluster.succeeded = Some(true),
            ClusterUpdate::Preempted => cluster.succeeded = Some(false),
        }
        // A cluster that counts as failed before its start does not start.
        let starts = before.started.is_none() && update != ClusterUpdate::Failing;
        if starts {
            cluster.started = Some(stored(self.now));
            self.run.stages[index].mark(self.now, RunReason::Started);
        }
        self.run.stages[index].set(position as usize, cluster);
        let is_failing = update == ClusterUpdate::Failing;
        self.stage.note(position, before, cluster, is_failing);
        cluster.succeeded == Some(false) || (starts && update == ClusterUpdate::Done)
    }

    /// Returns the binding of a cluster in a stage.
    fn binding(&self, target: TargetId) -> &'a Binding {
        let selected = self.collected.selected.get(target.index()).copied();
        selected
            .flatten()
            .or_else(|| self.view.bindings.get(target))
            .expect("the check at the start found a binding for every cluster of a stage")
    }

    /// Starts a cluster. If it already has the resources of the run, it is observed in the same pass.
    fn start_or_observe(&mut self, binding: &Binding) -> ClusterUpdate {
        match self.start(binding) {
            ClusterStart::Deployed | ClusterStart::Restarted => ClusterUpdate::Going,
            ClusterStart::AlreadyCurrent => self.result(binding),
        }
    }

    /// Rolls the binding of a cluster to start it.
    fn start(&mut self, binding: &Binding) -> ClusterStart {
        if !self.run.is_in_sync(binding) {
            let snapshot = self
                .run
                .snapshot
                .expect("an initialized run has a snapshot");
            let deploy = StagedAction::Deploy(binding.target, snapshot);
            self.decision.actions.push(deploy);
            ClusterStart::Deployed
        } else if !binding.has_started() {
            self.decision.status.restarted.push(binding.target);
            ClusterStart::Restarted
        } else {
            ClusterStart::AlreadyCurrent
        }
    }

    /// Observes a cluster that has started. Only a pass that may start clusters checks for other writers of the
    /// binding.
    fn observe(&self, binding: &Binding, may_start: bool) -> ClusterUpdate {
        let is_own = self.run.is_in_sync(binding) && binding.has_started();
        if may_start && !is_own {
            ClusterUpdate::Preempted
        } else {
            self.result(binding)
        }
    }

    /// Returns the state of a cluster by its binding (`checkClusterUpdateResult`).
    fn result(&self, binding: &Binding) -> ClusterUpdate {
        if binding.has_succeeded() {
            ClusterUpdate::Done
        } else if self.inputs.is_failing(binding) {
            ClusterUpdate::Failing
        } else {
            ClusterUpdate::Going
        }
    }

    /// Records the error of the first cluster whose binding another writer has changed.
    fn note_preemption(&mut self, index: usize, target: TargetId) {
        if self.preempted.is_none() {
            self.preempted = Some(RunError::Preempted {
                cluster: self.inputs.name(target),
                stage: self.run.stages[index].name.clone(),
            });
        }
    }

    fn abort_stage(&mut self, index: usize, error: RunError) -> RunError {
        self.run.stages[index].mark(self.now, RunReason::Failed);
        error
    }

    /// Runs the tasks after a stage whose clusters are all done (`handleStageCompletion`,
    /// `checkAfterStageTasksStatus`).
    fn complete_stage(&mut self, index: usize) {
        self.run.mark(self.now, RunReason::Waiting);
        self.run.stages[index].mark(self.now, RunReason::Waiting);
        let tasks = &self.inputs.config(index).after_stage_tasks;
        let mut is_passed = true;
        let mut wait = None;
        for (position, task) in tasks.iter().enumerate() {
            if task.kind == "Approval" {
                let approved = self.run.stages[index].after_tasks[position].approved
                    || self.ask(self.inputs.approval(TaskTime::After, index));
                self.run.stages[index].after_tasks[position].approved = approved;
                is_passed &= approved;
            } else if let Some(remaining) = self.remaining_wait(index, task) {
                is_passed = false;
                wait = Some(remaining);
            } else {
                self.run.stages[index].after_tasks[position].elapsed = true;
            }
        }
        if is_passed {
            self.run.mark(self.now, RunReason::Progressing);
            self.run.stages[index].mark(self.now, RunReason::Succeeded);
            self.decision.status.next = QueueRequest::RateLimited;
        } else {
            self.decision.status.next = QueueRequest::After(wait.unwrap_or(STAGE_WAIT));
        }
    }

    /// Returns the remaining wait of a task. The wait started when the stage's Progressing condition last changed its
    /// status.
    fn remaining_wait(&self, index: usize, task: &StageTask) -> Option<SimDuration> {
        let since = self.run.stages[index]
            .progressing
            .expect("a completed stage was in progress")
            .since;
        let remaining = (since + task.wait()).saturating_since(self.now);
        (!remaining.is_zero()).then_some(remaining)
    }

    /// Returns whether an approval was given, and accepts it (`handleStageApprovalTask`). If there is no request,
    /// creates one, which cannot be approved yet.
    fn ask(&mut self, approval: String) -> bool {
        let Some(request) = self.view.approval_requests.get(&approval) else {
            let action = StagedAction::RequestApproval(approval);
            // Another task with the same name may have created the request in this pass.
            if !self.decision.actions.contains(&action) {
                self.decision.actions.push(action);
            }
            return false;
        };
        if request.approved
            && !request.accepted
            && !self.decision.status.accepted.contains(&approval)
        {
            self.decision.status.accepted.push(approval);
        }
        request.approved || request.accepted
    }

    /// Deletes all bindings together; the stage is done when no binding is left.
    fn execute_delete_stage(&mut self) -> Result<(), RunError> {
        self.run.deletion.mark(self.now, RunReason::Started);
        self.follow_deletions(NewDeletions::Start)?;
        if self.collected.to_delete.is_empty() {
            self.run.deletion.mark(self.now, RunReason::Succeeded);
            self.run.mark(self.now, RunReason::Succeeded);
        } else {
            self.decision.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    /// Starts no deletions, and observes the deletions in progress.
    fn stop_delete_stage(&mut self) -> Result<(), RunError> {
        self.run.deletion.mark(self.now, RunReason::Stopping);
        let in_progress = self.follow_deletions(NewDeletions::Hold)?;
        if in_progress == 0 {
            self.run.deletion.mark(self.now, RunReason::Stopped);
        }
        // A stopped run also waits for the bindings that still have to be deleted.
        if self.collected.to_delete.is_empty() {
            self.run.mark(self.now, RunReason::Stopped);
        } else {
            self.decision.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    /// Observes the deletions of the delete stage, and starts others in the order of the stage. Returns how many
    /// deletions were already in progress.
    fn follow_deletions(&mut self, new: NewDeletions) -> Result<usize, RunError> {
        let mut binding_of: BTreeMap<TargetId, &Binding> = BTreeMap::new();
        for binding in &self.collected.to_delete {
            binding_of.insert(binding.target, binding);
        }
        let mut in_progress = 0;
        for position in 0..self.run.deletion.clusters.len() {
            let mut cluster = self.run.deletion.clusters[position];
            let target = cluster.target;
            match ClusterDeletion::of(&cluster, binding_of.get(&target).copied()) {
                ClusterDeletion::Done => {
                    cluster.started.get_or_insert(stored(self.now));
                    cluster.succeeded = Some(true);
                }
                ClusterDeletion::Undone => {
                    self.run.deletion.mark(self.now, RunReason::Failed);
                    return Err(RunError::DeletedBindingIsBack(self.inputs.name(target)));
                }
                ClusterDeletion::InProgress => in_progress += 1,
                ClusterDeletion::NotStarted => match new {
                    NewDeletions::Start => {
                        cluster.started = Some(stored(self.now));
                        self.decision.actions.push(StagedAction::Delete(target));
                    }
                    NewDeletions::Hold => {}
                },
            }
            self.run.deletion.set(position, cluster);
        }
        Ok(in_progress)
    }

    /// Runs a pass in state `Stop`: starts nothing, and observes the updates in progress.
    pub(super) fn stop(&mut self) -> Result<(), RunError> {
        self.run.mark(self.now, RunReason::Stopping);
        let index = self.run.current_stage();
        if index == self.run.stages.len() {
            return self.stop_delete_stage();
        }
        // If the stage waits for a task, this restarts the wait.
        self.run.stages[index].mark(self.now, RunReason::Stopping);
        self.update_clusters(index, None)?;
        if self.run.stages[index].in_progress == 0 {
            self.run.stages[index].mark(self.now, RunReason::Stopped);
            self.run.mark(self.now, RunReason::Stopped);
        } else {
            self.decision.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }
}
