//! The words of a staged update run's status: the conditions of the run, of its stages and of their tasks.
//!
//! Follows `pkg/controllers/updaterun/{initialization,execution,validation,stop,controller}.go` and
//! `pkg/utils/condition/reason.go`. The recorded rollouts in `tests/conformance/closed-loop/kubefleet` contain the
//! words of runs and stages. Left out: the conditions of each cluster.

use super::super::super::{ObjectCondition, TargetId};
use super::super::ConditionStatus;
use super::run::{RunError, RunReason, RunStatus, StageReason, StageStatus};
use super::{StagedUpdateRun, TaskTime};

/// Clusters that the message of a stuck run names.
const STUCK_NAMED: usize = 3;

/// What the message of an error that ends a run begins with.
const ABORTED: &str = "cannot continue the updateRun: ";

/// The stage in which clusters that are no longer picked lose their resources.
const DELETE_STAGE: &str = "kubernetes-fleet.io/deleteStage";

impl StagedUpdateRun {
    /// What the run shows after its last pass.
    #[must_use]
    pub fn conditions(&self) -> Vec<ObjectCondition> {
        let run = &self.run;
        let object = format!("ClusterStagedUpdateRun/{}", self.fixed.run_name);
        let mut list = Vec::new();
        list.extend(match (run.initialized, &run.failure) {
            (Some(true), _) => Some(ObjectCondition::new(
                &object,
                "Initialized",
                "True",
                "UpdateRunInitializedSuccessfully",
                "The UpdateRun initialized successfully",
            )),
            (Some(false), failure) => Some(ObjectCondition::new(
                &object,
                "Initialized",
                "False",
                "UpdateRunInitializedFailed",
                failure.as_ref().map(|error| message(error, run)).unwrap_or_default(),
            )),
            (None, _) => None,
        });
        for (index, stage) in run.stages.iter().enumerate() {
            let object = format!("{object}/{}", stage.name);
            list.extend(stage_conditions(&object, stage, run));
            list.extend(self.task_conditions(&object, index, stage));
        }
        list.extend(stage_conditions(&format!("{object}/{DELETE_STAGE}"), &run.deletion, run));
        if let Some(progressing) = run.progressing {
            let (reason, message) = self.progressing(progressing.reason);
            list.push(ObjectCondition::new(&object, "Progressing", status(progressing.status), reason, message));
        }
        list.extend(run.succeeded.map(|succeeded| {
            if succeeded {
                let message = "All stages are completed successfully";
                ObjectCondition::new(&object, "Succeeded", "True", "UpdateRunSucceeded", message)
            } else {
                let message = run.failure.as_ref().map(|error| message(error, run)).unwrap_or_default();
                ObjectCondition::new(&object, "Succeeded", "False", "UpdateRunFailed", message)
            }
        }));
        list
    }

    fn progressing(&self, reason: RunReason) -> (&'static str, String) {
        let index = self.run.current_stage();
        let stage = self.run.stage(index);
        match reason {
            RunReason::Progressing => ("UpdateRunProgressing", "The update run is making progress".to_owned()),
            RunReason::Waiting => {
                let tasks = if is_complete(stage) { "after-stage" } else { "before-stage" };
                let message = format!("The updateRun is waiting for {tasks} tasks in stage {} to complete", stage.name);
                ("UpdateRunWaiting", message)
            }
            RunReason::Stuck => {
                let message = format!(
                    "The updateRun is stuck waiting for {} cluster(s) in stage {} to finish updating, please check \
                     placement status for potential errors",
                    self.stuck(&self.run.stuck),
                    stage.name
                );
                ("UpdateRunStuck", message)
            }
            RunReason::Stopping => {
                let message = "The update run is the process of stopping, waiting for all the updating/deleting clusters \
                               to finish updating before completing the stop process";
                ("UpdateRunStopping", message.to_owned())
            }
            RunReason::Stopped => ("UpdateRunStopped", "The update run has been stopped".to_owned()),
            RunReason::Succeeded => ("UpdateRunSucceeded", "All stages are completed".to_owned()),
            RunReason::Failed => {
                ("UpdateRunFailed", "The stages are aborted due to a non-recoverable error".to_owned())
            }
        }
    }

    fn stuck(&self, targets: &[TargetId]) -> String {
        let named = targets.iter().take(STUCK_NAMED);
        let names: Vec<&str> = named.map(|target| self.fixed.clusters[target.index()].name.as_str()).collect();
        format!("{}{}", names.join(", "), if targets.len() > STUCK_NAMED { "..." } else { "" })
    }

    /// The tasks before and after a stage, once the run has come to them.
    fn task_conditions(&self, object: &str, index: usize, stage: &StageStatus) -> Vec<ObjectCondition> {
        let is_before = stage.approved_before
            || stage.progressing.is_some_and(|it| it.reason == StageReason::Waiting && !is_complete(stage));
        let mut list = Vec::new();
        if is_before && self.fixed.needs_approval_before(index) {
            let name = self.approval_name(self.fixed.approval(index, TaskTime::Before));
            list.extend(approval(object, &name, stage.approved_before));
        }
        let is_after = is_complete(stage) && stage.progressing.is_some_and(|it| it.reason != StageReason::Started);
        for (task, status) in self.fixed.config(index).after_stage_tasks.iter().zip(&stage.after_tasks) {
            if task.kind == "Approval" && is_after {
                let name = self.approval_name(self.fixed.approval(index, TaskTime::After));
                list.extend(approval(object, &name, status.approved));
            }
            if status.elapsed {
                let reason = "AfterStageTaskWaitTimeElapsed";
                let condition = ObjectCondition::new(object, "WaitTimeElapsed", "True", reason, "Wait time elapsed");
                list.push(condition);
            }
        }
        list
    }
}

/// The conditions of an approval's task, with the name of its request.
fn approval(object: &str, name: &str, is_approved: bool) -> impl Iterator<Item = ObjectCondition> {
    let condition = |kind: &str, reason: &str, message: &str| {
        ObjectCondition::new(&format!("{object}/{name}"), kind, "True", reason, message)
    };
    let created =
        condition("ApprovalRequestCreated", "StageTaskApprovalRequestCreated", "ApprovalRequest object is created");
    let approved =
        condition("ApprovalRequestApproved", "StageTaskApprovalRequestApproved", "ApprovalRequest object is approved");
    std::iter::once(created).chain(is_approved.then_some(approved))
}

fn is_complete(stage: &StageStatus) -> bool {
    stage.finished() == stage.clusters.len()
}

const fn status(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

fn stage_conditions(object: &str, stage: &StageStatus, run: &RunStatus) -> Vec<ObjectCondition> {
    let Some(progressing) = stage.progressing else { return Vec::new() };
    let skipped = "Stage skipped because it has no clusters";
    let (reason, text) = match progressing.reason {
        StageReason::Started => ("StageUpdatingStarted", "Clusters in the stage started updating"),
        StageReason::Waiting if is_complete(stage) => {
            ("StageUpdatingWaiting", "All clusters in the stage are updated, waiting for after-stage tasks to complete")
        }
        StageReason::Waiting => {
            ("StageUpdatingWaiting", "Not all before-stage tasks are completed, waiting for approval")
        }
        StageReason::Stopping => (
            "StageUpdatingStopping",
            "Waiting for all the updating clusters to finish updating before completing the stop process",
        ),
        StageReason::Stopped => (
            "StageUpdatingStopped",
            "All the updating clusters have finished updating, the stage is now stopped, waiting to be resumed",
        ),
        StageReason::Succeeded => {
            ("StageUpdatingSucceeded", "All clusters in the stage are updated and after-stage tasks are completed")
        }
        StageReason::SkippedNoClusters => ("StageUpdatingSkippedNoClusters", skipped),
        StageReason::Failed => ("StageUpdatingFailed", "Stage update aborted due to a non-recoverable error"),
    };
    let mut list = vec![ObjectCondition::new(object, "Progressing", status(progressing.status), reason, text)];
    list.extend(stage.succeeded.map(|succeeded| {
        let (status, text) = match progressing.reason {
            _ if !succeeded => ("False", run.failure.as_ref().map(|error| message(error, run)).unwrap_or_default()),
            StageReason::SkippedNoClusters => ("True", skipped.to_owned()),
            _ => ("True", "Stage update completed successfully".to_owned()),
        };
        ObjectCondition::new(object, "Succeeded", status, reason, text)
    }));
    list
}

/// The message of an error that has ended a run. Errors say who is to blame: the user, or the product itself.
fn message(error: &RunError, run: &RunStatus) -> String {
    const INVALID: &str = "failed to validate the updateRun: ";
    const CLIENT: &str = "failed to process the request due to a client error: ";
    const UNEXPECTED: &str = "unexpected behavior which cannot be handled by the controller: ";
    let index = |name: &str| run.stages.iter().position(|stage| stage.name == name).unwrap_or_default();
    match error {
        RunError::StageClusterCountChanged { stage, new, existing } => format!(
            "{ABORTED}the number of clusters in index `{}` stage has changed, new: {new}, existing: {existing}",
            index(stage)
        ),
        RunError::StageClusterChanged { stage, position, new, existing } => format!(
            "{ABORTED}the `{position}` cluster in the `{}` stage has changed, new: {new}, existing: {existing}",
            index(stage)
        ),
        RunError::ClusterInMultipleStages { cluster, .. } => {
            format!("{ABORTED}{INVALID}{CLIENT}cluster `{cluster}` appears in more than one stages")
        }
        RunError::Preempted { cluster, stage } => format!(
            "{ABORTED}{CLIENT}the binding of the updating cluster `{cluster}` in the stage `{stage}` is not up-to-date \
             with the desired status, please check the status of its binding and see if there is a concurrent updateRun \
             referencing the same placement and updating the same cluster"
        ),
        RunError::ApplyStrategyChanged => format!("{ABORTED}{CLIENT}{error}"),
        RunError::PolicySnapshotChanged { .. } | RunError::MaxConcurrency { .. } => format!("{ABORTED}{error}"),
        RunError::NewClusterToDelete(_) | RunError::DeletedBindingIsBack(_) => format!("{ABORTED}{UNEXPECTED}{error}"),
        RunError::ClusterCountMismatch { .. } => format!("{ABORTED}{INVALID}{UNEXPECTED}{error}"),
        RunError::PolicyNotScheduled(_) | RunError::NoBindings(_) => format!("{ABORTED}{INVALID}{error}"),
        _ => format!("{ABORTED}{INVALID}{CLIENT}{error}"),
    }
}
