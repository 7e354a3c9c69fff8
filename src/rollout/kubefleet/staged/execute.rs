//! One pass over the current stage: starts and observes clusters, handles tasks, deletions and stops.
//!
//! Follows `execution.go` and `stop.go` of `pkg/controllers/updaterun`.

use super::super::super::{ApprovalId, Revision, TargetId};
use super::super::binding::ConditionStatus;
use super::super::control_loop::{CLUSTER_UPDATING_WAIT, STAGE_WAIT, STUCK_AFTER};
use super::super::duration::parse_duration;
use super::super::queue::QueueRequest;
use super::super::{Binding, KubeFleetVersion, RuleSet, stored};
use super::initialize::{Collected, Stopped};
use super::ledger::StageLedger;
use super::run::{ClusterStatus, RetryError, RunError, RunReason, RunStatus, StageReason};
use super::view::{StagedAction, StagedStatus, StagedView};
use super::{Fixed, StageTask};
use crate::units::{SimDuration, SimTime};

use ConditionStatus::{False, True, Unknown};

/// A pass in progress.
pub(super) struct RunPass<'a> {
    pub(super) fixed: &'a Fixed,
    pub(super) now: SimTime,
    pub(super) view: &'a StagedView,
    pub(super) collected: Collected<'a>,
    /// What is known of the current stage. `None`: all of its clusters are looked at.
    pub(super) known: Option<&'a mut StageLedger>,
    pub(super) run: &'a mut RunStatus,
    pub(super) actions: &'a mut Vec<StagedAction>,
    pub(super) status: &'a mut StagedStatus,
}

/// The result of observing the started clusters of a stage.
#[derive(Default)]
pub(super) struct Watched {
    stuck: Vec<TargetId>,
    pub(super) failing: Vec<String>,
    preempted: Option<RunError>,
}

/// The state of a started cluster.
enum Update {
    Done,
    Failing,
    Going,
}

impl RunPass<'_> {
    /// State `Run`.
    pub(super) fn execute(&mut self) -> Result<(), Stopped> {
        if !matches!(self.run.reason(), Some(RunReason::Waiting | RunReason::Stuck)) {
            self.run.mark(self.now, True, RunReason::Progressing);
        }
        let index = self.run.current_stage();
        self.status.stage = Some(index);
        if index == self.run.stages.len() {
            return self.execute_delete_stage();
        }
        let is_plain = self.fixed.rules == RuleSet::Shipped && self.fixed.kubefleet < KubeFleetVersion::Main;
        if self.run.stages[index].clusters.is_empty() && !is_plain {
            match self.fixed.rules {
                RuleSet::Shipped => {
                    self.run.stages[index].end(self.now, StageReason::SkippedNoClusters);
                    self.status.next = QueueRequest::RateLimited;
                }
                // "Both tasks must be satisfied before advancing to the next stage."
                RuleSet::Documented => self.complete_stage(index),
            }
            return Ok(());
        }
        if !self.is_approved_before(index) {
            self.run.stages[index].mark(self.now, False, StageReason::Waiting);
            self.run.mark(self.now, False, RunReason::Waiting);
            self.status.next = QueueRequest::After(STAGE_WAIT);
            return Ok(());
        }
        self.execute_stage(index)
    }

    fn execute_stage(&mut self, index: usize) -> Result<(), Stopped> {
        let total = self.run.stages[index].clusters.len();
        let limit = self.fixed.max_concurrency(index, total).map_err(|source| {
            let error = RunError::MaxConcurrency { stage: self.run.stages[index].name.clone(), source };
            self.abort_stage(index, error)
        })?;
        if let Some(known) = self.known.take() {
            return self.execute_changed(index, limit, known);
        }
        let snapshot = self.run.snapshot.expect("an initialized run has a snapshot");
        let (mut finished, mut updating) = (0, 0);
        let mut watched = Watched::default();
        for position in 0..total {
            if updating >= limit {
                break;
            }
            let mut cluster = self.run.stages[index].clusters[position];
            if cluster.succeeded == Some(true) {
                finished += 1;
                continue;
            }
            updating += 1;
            let binding = self.collected.selected[cluster.target.index()]
                .expect("the check at the start found a binding for every cluster of a stage");
            if cluster.started.is_none() {
                self.start(index, &mut cluster, binding, snapshot, &mut watched);
            } else if self.run.is_preempted(binding) {
                cluster.succeeded = Some(false);
                let (cluster, stage) = (self.fixed.name(cluster.target), self.run.stages[index].name.clone());
                watched.preempted.get_or_insert(RunError::Preempted { cluster, stage });
            } else if self.watch(&mut cluster, binding, &mut watched) {
                finished += 1;
                updating -= 1;
            }
            self.run.stages[index].set(position, cluster);
        }
        self.mark_stuck(!watched.stuck.is_empty());
        self.run.stuck = watched.stuck;
        if let Some(error) = watched.preempted {
            return Err(self.abort_stage(index, error));
        }
        if !watched.failing.is_empty() {
            return Err(Stopped::Retry(RetryError::ClusterUpdate(watched.failing)));
        }
        if finished == total {
            self.complete_stage(index);
        } else {
            self.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    /// Starts a cluster. It keeps its slot for this pass even if it is done immediately.
    pub(super) fn start(
        &mut self,
        stage: usize,
        cluster: &mut ClusterStatus,
        binding: &Binding,
        snapshot: Revision,
        watched: &mut Watched,
    ) {
        let target = cluster.target;
        if !self.run.is_in_sync(binding) {
            self.actions.push(StagedAction::Deploy(target, snapshot));
        } else if !binding.has_started() {
            self.status.restarted.push(target);
        } else {
            match self.result(binding) {
                Update::Done => cluster.succeeded = Some(true),
                Update::Going => {}
                Update::Failing => {
                    watched.failing.push(self.fixed.name(target));
                    return;
                }
            }
        }
        cluster.started = Some(stored(self.now));
        self.run.stages[stage].mark(self.now, True, StageReason::Started);
    }

    /// Observes a started cluster. True: it is done.
    pub(super) fn watch(&self, cluster: &mut ClusterStatus, binding: &Binding, watched: &mut Watched) -> bool {
        match self.result(binding) {
            Update::Done => {
                cluster.succeeded = Some(true);
                return true;
            }
            Update::Failing => watched.failing.push(self.fixed.name(cluster.target)),
            Update::Going => {}
        }
        let started = cluster.started.expect("an observed cluster has started");
        if self.now.since(started) > STUCK_AFTER {
            watched.stuck.push(cluster.target);
        }
        false
    }

    fn result(&self, binding: &Binding) -> Update {
        if binding.has_succeeded() {
            Update::Done
        } else if binding.has_failed(self.fixed.defects) || binding.has_diff_failed() {
            Update::Failing
        } else {
            Update::Going
        }
    }

    pub(super) fn mark_stuck(&mut self, is_stuck: bool) {
        if is_stuck {
            self.run.mark(self.now, False, RunReason::Stuck);
        } else if self.view.state != super::RunState::Stop {
            self.run.mark(self.now, True, RunReason::Progressing);
        }
    }

    fn abort_stage(&mut self, index: usize, error: RunError) -> Stopped {
        self.run.stages[index].end(self.now, StageReason::Failed);
        Stopped::Aborted(error)
    }

    /// All clusters of the stage are done; continues with the tasks after it.
    pub(super) fn complete_stage(&mut self, index: usize) {
        self.run.mark(self.now, False, RunReason::Waiting);
        self.run.stages[index].mark(self.now, False, StageReason::Waiting);
        let tasks = &self.fixed.config(index).after_stage_tasks;
        let (mut is_passed, mut wait) = (true, None);
        for (position, task) in tasks.iter().enumerate() {
            if task.kind == "Approval" {
                is_passed &= self.is_approved_after(index, position);
            } else if let Some(remaining) = self.remaining_wait(index, task) {
                is_passed = false;
                wait = Some(remaining);
            } else {
                self.run.stages[index].after_tasks[position].elapsed = true;
            }
        }
        if is_passed {
            self.run.mark(self.now, True, RunReason::Progressing);
            self.run.stages[index].end(self.now, StageReason::Succeeded);
            self.status.next = QueueRequest::RateLimited;
        } else {
            self.status.next = QueueRequest::After(wait.unwrap_or(STAGE_WAIT));
        }
    }

    /// The rest of a wait that started when the stage's Progressing condition last changed its status.
    fn remaining_wait(&self, index: usize, task: &StageTask) -> Option<SimDuration> {
        let since = self.run.stages[index].progressing.expect("a completed stage was in progress").since;
        let wait = task.wait_time.as_deref().and_then(parse_duration).unwrap_or_default();
        let remaining = (since + wait).saturating_since(self.now);
        (!remaining.is_zero()).then_some(remaining)
    }

    fn is_approved_before(&mut self, index: usize) -> bool {
        if self.run.stages[index].approved_before || !self.fixed.needs_approval_before(index) {
            return true;
        }
        let approved = self.ask(self.fixed.approval(index, super::TaskTime::Before));
        self.run.stages[index].approved_before = approved;
        approved
    }

    fn is_approved_after(&mut self, index: usize, position: usize) -> bool {
        let approved = self.run.stages[index].after_tasks[position].approved
            || self.ask(self.fixed.approval(index, super::TaskTime::After));
        self.run.stages[index].after_tasks[position].approved = approved;
        approved
    }

    /// Accepts a given approval. Without a request one is created, which cannot be approved yet.
    fn ask(&mut self, approval: ApprovalId) -> bool {
        let Some(request) = self.view.approval_requests.get(&approval) else {
            let action = StagedAction::RequestApproval(approval);
            if self.actions.contains(&action) {
                // Created by another task of the same name in this pass.
                return false;
            }
            self.actions.push(action);
            return false;
        };
        if request.approved && !request.accepted && !self.status.accepted.contains(&approval) {
            self.status.accepted.push(approval);
        }
        request.approved || request.accepted
    }

    /// Deletes all bindings together; done when none is left.
    fn execute_delete_stage(&mut self) -> Result<(), Stopped> {
        self.run.deletion.mark(self.now, True, StageReason::Started);
        self.follow_deletions(true)?;
        if self.collected.to_delete.is_empty() {
            self.run.deletion.end(self.now, StageReason::Succeeded);
            self.run.end(self.now, RunReason::Succeeded);
        } else {
            self.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    /// Marks clusters whose bindings are gone, and deletes the rest if it `may_delete`. Returns whether any deletion
    /// is in progress.
    fn follow_deletions(&mut self, may_delete: bool) -> Result<bool, Stopped> {
        let mut binding_of = vec![None; self.fixed.clusters.len()];
        for binding in &self.collected.to_delete {
            binding_of[binding.target.index()] = Some(*binding);
        }
        let mut is_deleting = false;
        for position in 0..self.run.deletion.clusters.len() {
            let mut cluster = self.run.deletion.clusters[position];
            let target = cluster.target;
            match binding_of[target.index()] {
                None => {
                    cluster.started.get_or_insert(stored(self.now));
                    cluster.succeeded = Some(true);
                }
                Some(binding) if cluster.succeeded == Some(true) || cluster.started.is_some() && !binding.deleting => {
                    if may_delete || cluster.succeeded != Some(true) {
                        self.run.deletion.end(self.now, StageReason::Failed);
                        return Err(RunError::DeletedBindingIsBack(self.fixed.name(target)).into());
                    }
                }
                Some(_) if cluster.started.is_some() => is_deleting = true,
                Some(_) if may_delete => {
                    cluster.started = Some(stored(self.now));
                    self.actions.push(StagedAction::Delete(target));
                    is_deleting = true;
                }
                Some(_) => {}
            }
            self.run.deletion.set(position, cluster);
        }
        Ok(is_deleting)
    }

    /// State `Stop`: starts nothing, and observes the updates in progress.
    pub(super) fn stop(&mut self) -> Result<(), Stopped> {
        self.run.mark(self.now, Unknown, RunReason::Stopping);
        let index = self.run.current_stage();
        self.status.stage = Some(index);
        if index == self.run.stages.len() {
            return self.stop_delete_stage();
        }
        // For a waiting stage this moves the start of its wait.
        self.run.stages[index].mark(self.now, Unknown, StageReason::Stopping);
        let mut watched = Watched::default();
        let mut updating = 0;
        for position in 0..self.run.stages[index].clusters.len() {
            let mut cluster = self.run.stages[index].clusters[position];
            if cluster.started.is_none() || cluster.succeeded.is_some() {
                continue;
            }
            let binding = self.collected.selected[cluster.target.index()]
                .expect("the check at the start found a binding for every cluster of a stage");
            updating += usize::from(!self.watch(&mut cluster, binding, &mut watched));
            self.run.stages[index].set(position, cluster);
        }
        self.mark_stuck(!watched.stuck.is_empty());
        self.run.stuck = watched.stuck;
        if !watched.failing.is_empty() {
            return Err(Stopped::Retry(RetryError::ClusterUpdate(watched.failing)));
        }
        if updating == 0 {
            self.run.stages[index].mark(self.now, False, StageReason::Stopped);
            self.run.mark(self.now, False, RunReason::Stopped);
        } else {
            self.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }

    fn stop_delete_stage(&mut self) -> Result<(), Stopped> {
        self.run.deletion.mark(self.now, Unknown, StageReason::Stopping);
        if !self.follow_deletions(false)? {
            self.run.deletion.mark(self.now, False, StageReason::Stopped);
        }
        // Bindings that still have to be deleted prevent the run from being stopped.
        if self.collected.to_delete.is_empty() {
            self.run.mark(self.now, False, RunReason::Stopped);
        } else {
            self.status.next = QueueRequest::After(CLUSTER_UPDATING_WAIT);
        }
        Ok(())
    }
}
