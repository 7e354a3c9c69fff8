//! The conditions in a staged update run's status: for the run, its stages and their tasks.
//!
//! Follows `pkg/controllers/updaterun/{initialization,execution,validation,stop,controller}.go` and
//! `pkg/utils/condition/reason.go`. The recorded rollouts in `tests/closed-loop/kubefleet` contain the conditions of
//! runs and stages. Left out: messages that only repeat a reason, and the conditions of each cluster.

use itertools::Itertools;

use super::super::super::ObjectCondition;
use super::run::{ProgressCondition, RunReason, RunStatus, StageStatus};
use super::{StagedUpdateRun, TaskTime};

/// Maximum number of clusters that the message of a stuck run names.
const STUCK_NAMED: usize = 3;

/// The stage in which clusters that are no longer picked lose their resources.
const DELETE_STAGE: &str = "kubernetes-fleet.io/deleteStage";

/// The prefix of a stage's reasons.
const STAGE: &str = "StageUpdating";

impl StagedUpdateRun {
    /// Returns the conditions that the run shows after its last pass.
    pub fn conditions(&self) -> Vec<ObjectCondition> {
        let run = &self.run;
        let object = format!("ClusterStagedUpdateRun/{}", self.inputs.run_name);
        let mut list = Vec::new();
        if let Some(is_done) = run.initialized {
            let reason = if is_done {
                "UpdateRunInitializedSuccessfully"
            } else {
                "UpdateRunInitializedFailed"
            };
            list.push(outcome(&object, "Initialized", is_done, reason, run));
        }
        for (index, stage) in run.stages.iter().enumerate() {
            let object = format!("{object}/{}", stage.name);
            list.extend(progress(
                &object,
                STAGE,
                stage.progressing,
                String::new(),
                run,
            ));
            list.extend(self.task_conditions(&object, index, stage));
        }
        let object_of_deletion = format!("{object}/{DELETE_STAGE}");
        list.extend(progress(
            &object_of_deletion,
            STAGE,
            run.deletion.progressing,
            String::new(),
            run,
        ));
        list.extend(progress(
            &object,
            "UpdateRun",
            run.progressing,
            self.waits_for(),
            run,
        ));
        list
    }

    /// Describes the tasks or the clusters that a run waits for.
    fn waits_for(&self) -> String {
        let stage = self.run.stage(self.run.current_stage());
        match self.run.progressing.map(|progress| progress.reason) {
            Some(RunReason::Waiting) => {
                let tasks = if is_complete(stage) {
                    "after-stage"
                } else {
                    "before-stage"
                };
                format!(
                    "The updateRun is waiting for {tasks} tasks in stage {} to complete",
                    stage.name
                )
            }
            Some(RunReason::Stuck) => {
                let first = self.run.stuck.iter().take(STUCK_NAMED);
                let named = first.map(|target| self.inputs.name(*target)).join(", ");
                let more = if self.run.stuck.len() > STUCK_NAMED {
                    "..."
                } else {
                    ""
                };
                format!(
                    "The updateRun is stuck waiting for {named}{more} cluster(s) in stage {} to finish updating, \
                     please check placement status for potential errors",
                    stage.name
                )
            }
            _ => String::new(),
        }
    }

    /// Returns the conditions of the tasks before and after a stage, once the run has reached them.
    fn task_conditions(
        &self,
        object: &str,
        index: usize,
        stage: &StageStatus,
    ) -> Vec<ObjectCondition> {
        let reason = stage.progressing.map(|progress| progress.reason);
        let waits_before = reason == Some(RunReason::Waiting) && !is_complete(stage);
        let is_before = stage.approved_before || waits_before;
        let mut list = Vec::new();
        if is_before && self.inputs.needs_approval_before(index) {
            let name = self.inputs.approval(TaskTime::Before, index);
            list.extend(approval(object, &name, stage.approved_before));
        }
        let is_after = is_complete(stage) && !matches!(reason, None | Some(RunReason::Started));
        let tasks = &self.inputs.config(index).after_stage_tasks;
        for (task, status) in tasks.iter().zip(&stage.after_tasks) {
            if task.kind == "Approval" && is_after {
                let name = self.inputs.approval(TaskTime::After, index);
                list.extend(approval(object, &name, status.approved));
            }
            if status.elapsed {
                let reason = "AfterStageTaskWaitTimeElapsed";
                list.push(ObjectCondition::new(
                    object,
                    "WaitTimeElapsed",
                    "True",
                    reason,
                    "",
                ));
            }
        }
        list
    }
}

/// Returns the conditions of an approval's task, with the name of its request.
fn approval(object: &str, name: &str, is_approved: bool) -> Vec<ObjectCondition> {
    let object = format!("{object}/{name}");
    let mut kinds = vec!["ApprovalRequestCreated"];
    if is_approved {
        kinds.push("ApprovalRequestApproved");
    }
    let mut list = Vec::new();
    for kind in kinds {
        let reason = format!("StageTask{kind}");
        list.push(ObjectCondition::new(&object, kind, "True", &reason, ""));
    }
    list
}

fn is_complete(stage: &StageStatus) -> bool {
    stage.finished == stage.clusters.len()
}

/// Returns a condition of a finished run or stage. A false condition shows why the run failed.
fn outcome(
    object: &str,
    kind: &str,
    is_true: bool,
    reason: &str,
    run: &RunStatus,
) -> ObjectCondition {
    let failure = match &run.failure {
        Some(error) if !is_true => error.to_string(),
        _ => String::new(),
    };
    ObjectCondition::new(
        object,
        kind,
        if is_true { "True" } else { "False" },
        reason,
        failure,
    )
}

/// Returns the condition Progressing and, once a run or stage has ended, Succeeded.
fn progress(
    object: &str,
    prefix: &str,
    condition: Option<ProgressCondition>,
    message: String,
    run: &RunStatus,
) -> Vec<ObjectCondition> {
    let Some(progress) = condition else {
        return Vec::new();
    };
    let status = progress.reason.status();
    let reason = format!("{prefix}{:?}", progress.reason);
    let mut list = vec![ObjectCondition::new(
        object,
        "Progressing",
        &format!("{status:?}"),
        &reason,
        message,
    )];
    if let Some(succeeded) = progress.outcome() {
        list.push(outcome(object, "Succeeded", succeeded, &reason, run));
    }
    list
}
