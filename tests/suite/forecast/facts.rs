//! Facts that an export shows and a forecast keeps: starts, approvals, canaries, failures and the end.

use fleetsim::forecast::{ForecastInputs, Forecaster};

use super::exporter::{Exported, time};
use super::{
    cut, cut_folder, experiment, experiment_with, forecast, inputs, interval, printed, truth,
};

#[test]
fn a_rollout_without_a_finished_target_has_the_unconditioned_forecast() {
    let (folder, varied) = experiment(Exported::Fleet);
    inputs(folder.path(), Exported::Fleet, &truth(&varied, 3), 5.0, 19);
    let (shown, code) = printed(
        folder.path(),
        &["experiment.yaml", "status.json", "--draws", "19"],
    );
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("No cluster has finished, so this is the unconditioned forecast"),
        "{shown}"
    );
}

#[test]
fn a_deployment_of_cloud_foundry_states_when_it_began() {
    let folder = cut_folder(Exported::CloudFoundry);
    let arguments = [
        "experiment.yaml",
        "deployment.json",
        "stats.json",
        "--draws",
        "19",
        "--now",
        &time(60.0),
    ];
    let (shown, code) = printed(folder.path(), &arguments);
    assert_eq!(code, 0, "{shown}");
    std::fs::write(folder.path().join("none.json"), "{\"resources\": []}").expect("written");
    let (shown, code) = printed(
        folder.path(),
        &["experiment.yaml", "deployment.json", "none.json"],
    );
    assert!(
        code == 2
            && shown.contains("`resources` is empty; it must list")
            && shown.contains("none.json"),
        "{shown}"
    );
    std::fs::remove_file(folder.path().join("deployment.json")).expect("it was written");
    let (shown, code) = printed(
        folder.path(),
        &["experiment.yaml", "stats.json", "--now", &time(60.0)],
    );
    assert!(
        code == 2 && shown.contains("does not say when the rollout began"),
        "{shown}"
    );
}

#[test]
fn a_complete_rollout_has_no_future_load() {
    let (folder, varied) = experiment(Exported::Fleet);
    let run = truth(&varied, 3);
    let end = run.run.reachable_ready_s.expect("it completes");
    let inputs = inputs(folder.path(), Exported::Fleet, &run, end + 360.0, 19);
    let record = forecast(&Forecaster::new(&varied, 0, &inputs).expect("valid"));
    assert_eq!(
        (record.seen.ready, record.draws, record.egress_bytes.median),
        (24, 0, 0.0),
        "{record:?}"
    );
    assert_eq!(
        (&record.done.low, &record.done.high),
        (&record.done.median, &record.done.median)
    );
    assert!((interval(&record).0 - end).abs() < 1.0, "{end}: {record:?}");
    let now = time(end + 360.0);
    let (shown, code) = printed(
        folder.path(),
        &["experiment.yaml", "status.json", "--now", &now],
    );
    assert_eq!(code, 0, "{shown}");
    let done = format!(
        "It is done, since {} UTC at the latest.",
        time(end)[11..].trim_end_matches('Z')
    );
    assert!(
        shown.contains(&done) && !shown.contains("Load to come"),
        "{done}: {shown}"
    );
}

/// Stage `canary` was approved after 5 minutes, where the experiment expects 2 hours.
#[test]
fn a_forecast_does_not_wait_for_an_observed_approval() {
    let strategy = |after: &str| {
        format!(
            "kubeFleetStaged: {{approvals: {{after: {after}}}, stages: [{{name: canary, labelSelector: {{matchLabels: \
             {{ring: canary}}}}, maxConcurrency: 2, afterStageTasks: [{{type: Approval}}]}}, {{name: rest, \
             labelSelector: {{matchLabels: {{ring: rest}}}}, maxConcurrency: 20%}}]}}"
        )
    };
    let (_real, real) = experiment_with(&strategy("5m"), &[]);
    let run = truth(&real, 3);
    for after in ["2h", "never"] {
        let (folder, expected) = experiment_with(&strategy(after), &[]);
        let inputs = inputs(folder.path(), Exported::KubeFleet, &run, cut(&run, 0.5), 19);
        let record = forecast(&Forecaster::new(&expected, 0, &inputs).expect("valid"));
        assert!(
            record
                .hold
                .as_ref()
                .is_none_or(|hold| hold.rule != "afterStageTasks"),
            "{after}: {record:?}"
        );
        assert!(interval(&record).1 < 3600.0, "{after}: {record:?}");
    }
}

/// A canary of 2, 6, 6 and 24 instances; people have continued two or three steps within 7 minutes.
#[test]
fn a_canary_continues_from_the_step_that_the_deployment_shows() {
    let strategy = "cloudFoundry: {strategy: canary, maxInFlight: 5, continueAfter: 10m, canarySteps: \
                    [{instance_weight: 10}, {instance_weight: 25}, {instance_weight: 25}, {instance_weight: 100}]}";
    let (folder, varied) = experiment_with(strategy, &[]);
    let forecast_of = |reason: &str, step: u32, uptimes: &[Option<u32>]| {
        let deployment = serde_json::json!({"strategy": "canary", "created_at": time(0.0), "status": {
            "value": "ACTIVE", "reason": reason, "canary": {"steps": {"current": step, "total": 4}}}});
        let instance = |(index, uptime): (usize, &Option<u32>)| {
            let state = if uptime.is_some() {
                "RUNNING"
            } else {
                "STARTING"
            };
            serde_json::json!({"index": index, "state": state, "routable": uptime.is_some(), "uptime": uptime})
        };
        let instances: Vec<serde_json::Value> = uptimes.iter().enumerate().map(instance).collect();
        let stats = serde_json::json!({"resources": instances});
        let files =
            [("deployment.json", deployment), ("stats.json", stats)].map(|(name, export)| {
                std::fs::write(folder.path().join(name), export.to_string()).expect("written");
                folder.path().join(name)
            });
        let inputs = ForecastInputs {
            status: files.to_vec(),
            now: Some(time(420.0)),
            released: None,
            clock: time(0.0),
            draws: 19,
        };
        forecast(
            &Forecaster::new(&varied, 0, &inputs)
                .unwrap_or_else(|error| panic!("{}", error.render(false))),
        )
    };
    let six = [400, 395, 200, 200, 200, 200].map(Some);
    let paused = forecast_of("PAUSED", 3, &six);
    let hold = paused.hold.as_ref().expect("a user is waited for");
    assert!(
        hold.rule == "canary" && hold.explanation.starts_with("step 3 of 4 (25 %)"),
        "{paused:?}"
    );
    let going_on = forecast_of(
        "DEPLOYING",
        4,
        &[&six[..], &[Some(15); 5], &[None; 5]].concat(),
    );
    assert!(
        going_on
            .hold
            .as_ref()
            .is_none_or(|hold| hold.rule != "canary"),
        "{going_on:?}"
    );
    assert!(
        interval(&going_on).1 < 1_000.0,
        "two more pauses would be 20 minutes: {going_on:?}"
    );
}

#[test]
fn a_failed_target_stays_failed_and_is_left_out() {
    let folder = cut_folder(Exported::Fleet);
    let path = folder.path().join("status.json");
    let status = std::fs::read_to_string(&path).expect("written");
    std::fs::write(&path, status.replacen("WaitApplied", "ErrApplied", 1)).expect("written");
    let (shown, code) = printed(
        folder.path(),
        &["experiment.yaml", "status.json", "--draws", "19"],
    );
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("1 failed") && shown.contains("Failed: 1 cluster ("),
        "{shown}"
    );
}

#[test]
fn a_target_whose_apply_fleet_has_ended_has_failed() {
    let folder = cut_folder(Exported::Fleet);
    let path = folder.path().join("status.json");
    let status = std::fs::read_to_string(&path).expect("written");
    let mut shown: serde_json::Value = serde_json::from_str(&status).expect("it is JSON");
    let items = shown["items"].as_array_mut().expect("a list");
    let waiting = items
        .iter_mut()
        .find(|item| item["status"]["display"]["state"] == "WaitApplied");
    let ended = waiting.expect("one waits");
    ended["status"]["appliedDeploymentID"] = ended["spec"]["deploymentID"].clone();
    ended["status"]["display"]["state"] = "NotReady".into();
    ended["status"]["ready"] = false.into();
    ended["status"]["conditions"] = serde_json::json!([
        {"type": "Installed", "status": "False", "message": "admission webhook \"policy\" denied the request"},
    ]);
    let cluster = ended["metadata"]["labels"]["fleet.cattle.io/cluster"].as_str();
    let cluster = cluster.expect("it has a cluster").to_owned();
    std::fs::write(&path, shown.to_string()).expect("written");
    let args = ["experiment.yaml", "status.json", "--draws", "19"];
    let (shown, code) = printed(folder.path(), &args);
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("1 failed") && shown.contains("Failed: 1 cluster ("),
        "{shown}"
    );
    let line = format!(
        "The product shows for `{cluster}`: admission webhook \"policy\" denied the request"
    );
    let in_one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains(&line), "{shown}");
}
