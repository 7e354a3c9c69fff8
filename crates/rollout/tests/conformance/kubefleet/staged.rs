//! Staged update runs: one initialization, passes one at a time, and closed loops.

mod around;
mod change;
mod closed_loop;

use fleetsim_rollout::kubefleet::staged::{RunError, StageStatus};
use fleetsim_rollout::kubefleet::{StageTask, format_duration, parse_duration};
use fleetsim_units::SimDuration;
use serde_json::{Value, json};

pub use closed_loop::check_loop;

use super::{START, differ, next};
use crate::suite::parse;
use around::{Around, Config};
use change::{Change, Progress, limit_error, run_error, run_text, tri};

pub fn check_init(case: &Value) -> Result<(), String> {
    let config: Config = parse(&case["config"]);
    let mut around = Around::new(&config);
    let (pass, _) = around.pass(START);
    let run = around.run.status();
    let tasks = |tasks: &[StageTask]| -> Vec<String> {
        let wait = |task: &StageTask| {
            task.wait_time
                .as_deref()
                .and_then(parse_duration)
                .map(format_duration)
        };
        let text = |task: &StageTask| match wait(task).filter(|_| task.kind == "TimedWait") {
            Some(wait) => format!("{}:{wait}", task.kind),
            None => task.kind.clone(),
        };
        tasks.iter().map(text).collect()
    };
    let names = |stage: &StageStatus| -> Vec<String> {
        stage
            .clusters
            .iter()
            .map(|cluster| around.name(cluster.target))
            .collect()
    };
    let stage = |(index, stage): (usize, &StageStatus)| {
        let config = &around.run.strategy().expect("a strategy").stages[index];
        let limit = around.run.max_concurrency(index);
        json!({
            "name": stage.name,
            "clusters": names(stage),
            "resolved_max_concurrency": limit.as_ref().ok(),
            "max_concurrency_error": limit.as_ref().err().map(limit_error),
            "before_tasks": tasks(&config.before_stage_tasks),
            "after_tasks": tasks(&config.after_stage_tasks),
        })
    };
    let mut got = json!({
        "outcome": match run.initialized {
            Some(true) => "initialized",
            Some(false) => "failed",
            None => "retry",
        },
        "stages": run.stages.iter().enumerate().map(stage).collect::<Vec<_>>(),
        "deletion_stage": names(&run.deletion),
    });
    let fields = got.as_object_mut().expect("an object");
    if run.initialized == Some(true) {
        fields.insert(
            "observed_cluster_count".to_owned(),
            json!(run.cluster_count),
        );
    } else {
        let retried = pass.status.error.as_ref().map(run_error);
        fields.insert(
            "code".to_owned(),
            json!(run.failure.as_ref().map(run_error).or(retried)),
        );
    }
    match &run.failure {
        Some(RunError::ClustersNotInAnyStage { total, first }) => {
            fields.insert("missing_total".to_owned(), json!(total));
            fields.insert("missing_clusters_first10".to_owned(), json!(first));
        }
        Some(
            RunError::ClusterInMultipleStages { cluster, .. }
            | RunError::SortingLabelInvalid { cluster, .. },
        ) => {
            fields.insert("cluster".to_owned(), json!(cluster));
        }
        _ => {}
    }
    let mut expected = case["expect"].clone();
    if expected["outcome"] == "initialized" {
        expected
            .as_object_mut()
            .expect("an object")
            .entry("observed_cluster_count")
            .or_insert(json!(0));
    }
    differ("initialization", &expected, &got)
}

pub fn check_trace(case: &Value) -> Result<(), String> {
    let config: Config = parse(&case["config"]);
    let mut around = Around::new(&config);
    let mut now = START;
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        now = now + SimDuration::from_millis(step["advance_ms"].as_u64().expect("a time"));
        for event in step
            .get("events")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            around.apply(now, event);
        }
        let (pass, change) = around.pass(now);
        let run = around.run.status();
        let ((progressing, reason, succeeded), fail_code, stuck) = run_text(&around, run);
        let stage = |(name, (progressing, reason, succeeded)): &(String, Progress)| json!({"stage": name, "progressing": progressing, "reason": reason, "succeeded": succeeded});
        let got = json!({
            "next": next(pass.status.next),
            "error_code": pass.status.error.as_ref().map(run_error),
            "bindings_rolled": change.rolled,
            "clusters_started": Change::names(&change.started),
            "clusters_succeeded": Change::names(&change.succeeded),
            "clusters_failed": Change::names(&change.failed),
            "bindings_deleted": change.deleted,
            "approvals_created": change.requested,
            "approvals_accepted": change.accepted,
            "timed_waits_elapsed": change.elapsed,
            "stage_changes": change.stages.iter().map(stage).collect::<Vec<_>>(),
            "run": {
                "initialized": tri(run.initialized),
                "progressing": progressing,
                "reason": reason,
                "succeeded": succeeded,
                "fail_code": fail_code,
                "stuck": stuck,
            },
        });
        differ(&format!("step {index}"), &step["result"], &got)?;
    }
    Ok(())
}
