//! The changes that one pass makes in a run, in the format of the record.

use fleetsim_rollout::Pass;
use fleetsim_rollout::kubefleet::staged::{
    RunError, RunReason, RunStatus, StageStatus, StagedAction, StagedStatus,
};
use fleetsim_rollout::kubefleet::{ConditionStatus, ScaledValueError};

use super::around::Around;

/// The changes that one pass makes in a run, in the format of the record. Stages and their clusters keep their order.
#[derive(Default)]
pub struct Change {
    pub rolled: Vec<String>,
    pub deleted: Vec<String>,
    pub started: Vec<(String, String)>,
    pub succeeded: Vec<(String, String)>,
    pub failed: Vec<(String, String)>,
    pub requested: Vec<String>,
    pub accepted: Vec<String>,
    pub elapsed: Vec<String>,
    /// Name and progress of each changed stage.
    pub stages: Vec<(String, Progress)>,
    pub run: Option<RunText>,
}

pub type Progress = (&'static str, String, &'static str);
/// The run's Progressing status, its reason, and a text with outcome, failure and stuck clusters.
pub type RunText = (Progress, &'static str, String);

impl Change {
    pub fn new(
        around: &Around,
        before: &RunStatus,
        pass: &Pass<StagedAction, StagedStatus>,
    ) -> Self {
        let mut change = Self::default();
        for action in &pass.actions {
            match action {
                StagedAction::Deploy(target, _) => change.rolled.push(around.name(*target)),
                StagedAction::Delete(target) => change.deleted.push(around.name(*target)),
                StagedAction::RequestApproval(approval) => change.requested.push(approval.clone()),
            }
        }
        change.deleted.sort();
        change.accepted.clone_from(&pass.status.accepted);
        let after = around.run.status();
        let nothing = StageStatus::default();
        let stages = after
            .stages
            .iter()
            .enumerate()
            .map(|(index, stage)| (before.stages.get(index), stage, stage.name.clone()));
        let deletion = (
            Some(&before.deletion),
            &after.deletion,
            "__delete__".to_owned(),
        );
        for (old, new, name) in stages.chain([deletion]) {
            let old = old.unwrap_or(&nothing);
            for (index, cluster) in new.clusters.iter().enumerate() {
                let was = old.clusters.get(index);
                let entry = (name.clone(), around.name(cluster.target));
                if cluster.started.is_some() && was.is_none_or(|was| was.started.is_none()) {
                    change.started.push(entry.clone());
                }
                if cluster.succeeded != was.and_then(|was| was.succeeded) {
                    let list = if cluster.succeeded == Some(true) {
                        &mut change.succeeded
                    } else {
                        &mut change.failed
                    };
                    list.push(entry);
                }
            }
            let has_elapsed =
                |stage: &StageStatus| stage.after_tasks.iter().filter(|task| task.elapsed).count();
            if has_elapsed(new) > has_elapsed(old) {
                change.elapsed.push(name.clone());
            }
            if stage_text(old) != stage_text(new) {
                change.stages.push((name, stage_text(new)));
            }
        }
        if run_text(around, before) != run_text(around, after) {
            change.run = Some(run_text(around, after));
        }
        change
    }

    pub fn names(list: &[(String, String)]) -> Vec<&str> {
        list.iter().map(|(_, cluster)| cluster.as_str()).collect()
    }
}

pub fn stage_text(stage: &StageStatus) -> Progress {
    match stage.progressing {
        None => ("", String::new(), tri(stage.succeeded())),
        Some(progress) => (
            status(progress.reason.status()),
            format!("StageUpdating{:?}", progress.reason),
            tri(stage.succeeded()),
        ),
    }
}

pub fn run_text(around: &Around, run: &RunStatus) -> RunText {
    let progress = match run.progressing {
        None => ("", String::new(), tri(run.succeeded())),
        Some(progress) => (
            status(progress.reason.status()),
            format!("UpdateRun{:?}", progress.reason),
            tri(run.succeeded()),
        ),
    };
    let stuck = if run
        .progressing
        .is_some_and(|progress| progress.reason == RunReason::Stuck)
    {
        let names: Vec<String> = run
            .stuck
            .iter()
            .take(3)
            .map(|target| around.name(*target))
            .collect();
        format!(
            "{}{}",
            names.join(", "),
            if run.stuck.len() > 3 { "..." } else { "" }
        )
    } else {
        String::new()
    };
    (progress, run.failure.as_ref().map_or("", run_error), stuck)
}

pub fn status(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

pub fn tri(value: Option<bool>) -> &'static str {
    match value {
        None => "",
        Some(true) => "True",
        Some(false) => "False",
    }
}

pub fn limit_error(error: &ScaledValueError) -> &'static str {
    match error {
        ScaledValueError::NotAPercentage(_) => "max_concurrency_invalid",
        ScaledValueError::Missing => "max_concurrency_missing",
        other => panic!("the record knows no error such as {other}"),
    }
}

pub fn run_error(error: &RunError) -> &'static str {
    match error {
        RunError::PlacementNotFound => "placement_not_found",
        RunError::PlacementNotExternal => "placement_not_external",
        RunError::ApplyStrategyChanged => "apply_strategy_changed",
        RunError::PolicyNotScheduled(_) => "policy_not_scheduled",
        RunError::PolicySnapshotChanged { .. } => "policy_snapshot_changed",
        RunError::NoBindings(_) => "no_bindings",
        RunError::ClusterCountMismatch { .. } => "cluster_count_mismatch",
        RunError::StrategyNotFound => "strategy_not_found",
        RunError::InvalidBeforeStageTasks(_) => "invalid_before_stage_tasks",
        RunError::InvalidAfterStageTasks(_) => "invalid_after_stage_tasks",
        RunError::InvalidLabelSelector { .. } => "invalid_label_selector",
        RunError::ClusterInMultipleStages { .. } => "cluster_in_multiple_stages",
        RunError::SortingLabelInvalid { .. } => "sorting_label_invalid",
        RunError::ClustersNotInAnyStage { .. } => "clusters_not_in_any_stage",
        RunError::ResourceSnapshotIndexInvalid(_) => "resource_snapshot_index_invalid",
        RunError::ResourceSnapshotNotFound(_) => "resource_snapshot_not_found",
        RunError::StageClusterCountChanged { .. } => "stage_cluster_count_changed",
        RunError::StageClusterChanged { .. } => "stage_cluster_changed",
        RunError::NewClusterToDelete(_) => "new_cluster_to_delete",
        RunError::Preempted { .. } => "preempted",
        RunError::MaxConcurrency { source, .. } => limit_error(source),
        RunError::OldPolicyBinding(_) => "transient_old_policy_binding",
        RunError::ClusterUpdate(_) => "cluster_update_error",
        other => panic!("the record knows no error such as {other}"),
    }
}
