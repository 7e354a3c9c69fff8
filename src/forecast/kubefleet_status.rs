//! The objects of KubeFleet: staged update runs and bindings.

use super::fields::{ShownObject, StageCluster};
use super::messages;
use super::product::ShownProduct;
use super::status::{ShownConditions, ShownRollout, ShownSince, ShownTarget, refused};
use crate::document::problem::OrProblems;
use crate::scenario::import::objects::ExportObject;
use crate::sim::SeenState;

impl ShownRollout {
    /// Adds the clusters of all stages of an update run.
    pub(super) fn staged_run(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        self.run_goes_on(object, &read)?;
        self.released = self.time(
            object,
            "metadata.creationTimestamp",
            read.metadata.creation_timestamp.as_deref(),
        )?;
        self.product = Some(ShownProduct::KubeFleetStaged);
        let mut first_stage = None;
        for (nth, stage) in read.status.stages_status.iter().enumerate() {
            let field = format!("status.stagesStatus[{nth}].startTime");
            let started = self.time(object, &field, stage.start_time.as_deref())?;
            // A task before the stage is a part of the rollout; a late `state: Run` is not.
            first_stage = first_stage.or(started.filter(|_| !stage.has_task_before()));
        }
        self.released = first_stage.or(self.released);
        let clusters = read
            .status
            .stages_status
            .iter()
            .map(|stage| stage.clusters.len())
            .sum();
        let help = "export the update run again when it is initialized";
        self.expect_targets(object, clusters, "status.stagesStatus", help);
        for (nth, stage) in read.status.stages_status.iter().enumerate() {
            for (at, cluster) in stage.clusters.iter().enumerate() {
                let field = format!("status.stagesStatus[{nth}].clusters[{at}].conditions");
                let target = self.cluster_of_stage(object, &field, cluster)?;
                self.targets.push(target);
            }
        }
        Ok(())
    }

    /// Adds a cluster in a stage of an update run. `field`: the path of the cluster's conditions.
    fn cluster_of_stage(
        &mut self,
        object: &ExportObject<'_>,
        field: &str,
        cluster: &StageCluster,
    ) -> OrProblems<ShownTarget> {
        let conditions = ShownConditions {
            field,
            conditions: &cluster.conditions,
        };
        let started = self.since(object, conditions, "Started", "True")?;
        let succeeded = self.since(object, conditions, "Succeeded", "True")?;
        let failed = self.since(object, conditions, "Succeeded", "False")?;
        let state = if succeeded.is_some() {
            SeenState::Ready
        } else if failed.is_some() {
            SeenState::Failed
        } else if started.is_some() {
            SeenState::Updating
        } else {
            SeenState::Waiting
        };
        Ok(ShownTarget {
            name: cluster.cluster_name.clone(),
            state,
            instructed: ShownSince::time(started),
            ready: ShownSince::time(succeeded),
            since: ShownSince::time(failed).or(ShownSince::time(started)),
            message: messages::of_stage_cluster(&cluster.conditions),
            ..ShownTarget::default()
        })
    }

    /// Rejects an update run that has failed, because a failure is final, or whose state is not `Run`.
    fn run_goes_on(&mut self, object: &ExportObject<'_>, run: &ShownObject) -> OrProblems<()> {
        let another = "create another update run, and export that";
        let failed = final_condition(run, "Succeeded", "False");
        let failed = failed.or_else(|| final_condition(run, "Initialized", "False"));
        if let Some(condition) = failed {
            return Err(refused(
                object,
                &condition.field,
                &condition.message,
                another,
            ));
        }
        self.over = final_condition(run, "Succeeded", "True").map(|condition| {
            let message = condition.message + ", but not all of its clusters are ready";
            object.problem(&condition.field, message).with_help(another)
        });
        let state = run.spec.state.as_deref().unwrap_or("Run");
        if state == "Run" || self.over.is_some() {
            return Ok(());
        }
        let message =
            format!("the state of the update run is `{state}`, so no other cluster is updated");
        Err(refused(
            object,
            "spec.state",
            &message,
            "set `spec.state: Run`, and export again",
        ))
    }

    /// Adds a binding, whose cluster is a target.
    pub(super) fn binding(&mut self, object: &ExportObject<'_>) -> OrProblems<()> {
        let read: ShownObject = object.read()?;
        self.product = Some(ShownProduct::KubeFleetRolling);
        let conditions = ShownConditions::of(&read);
        let waits = self.since(object, conditions, "RolloutStarted", "False")?;
        let started = self.since(object, conditions, "RolloutStarted", "True")?;
        let available = self.since(object, conditions, "Available", "True")?;
        let state = if started.is_none() {
            SeenState::Waiting
        } else if available.is_some() {
            SeenState::Ready
        } else {
            SeenState::Updating
        };
        self.began_by(ShownSince::time(waits));
        let is_applied = conditions.position("Applied", "True").is_some();
        let is_unanswered = state == SeenState::Updating && !is_applied;
        self.targets.push(ShownTarget {
            is_unanswered,
            name: read.spec.target_cluster.clone(),
            state,
            instructed: ShownSince::time(started),
            ready: ShownSince::time(available),
            since: ShownSince::time(started),
            message: messages::of_binding(&read.status.conditions),
            ..ShownTarget::default()
        });
        Ok(())
    }
}

/// A condition that ends an update run.
struct FinalCondition {
    /// The path of the condition's status.
    field: String,
    message: String,
}

/// Returns the condition that ends an update run, if it has this status.
fn final_condition(run: &ShownObject, kind: &str, status: &str) -> Option<FinalCondition> {
    let place = ShownConditions::of(run).position(kind, status)?;
    let reason = run.status.conditions[place].reason.as_deref();
    let reason = reason.unwrap_or("no reason");
    Some(FinalCondition {
        field: format!("status.conditions[{place}].status"),
        message: format!("the update run is over: {kind} is {status} ({reason})"),
    })
}
