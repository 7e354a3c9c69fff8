//! Objects of Rancher Fleet, Argo CD and KubeFleet with the times in their status.
//!
//! Sources: `Application` (`status.history`, `status.operationState`, `status.health`) of argoproj/argo-cd
//! `pkg/apis/application/v1alpha1/types.go`; `BundleDeployment` and `Bundle` (conditions) of rancher/fleet
//! `pkg/apis/fleet.cattle.io/v1alpha1`; `ClusterStagedUpdateRun` (`status.stagesStatus`) of kubefleet-dev/kubefleet
//! `apis/placement/v1beta1/stageupdate_types.go`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::HistoryDurations;
use crate::calibrate::input::Input;
use crate::calibrate::json_stream::{Found, read_values};
use crate::calibrate::time::{Nanos, rfc3339, seconds_between};
use crate::document::problem::OrProblem;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StatusObject {
    kind: Option<String>,
    metadata: ObjectName,
    status: Option<StatusJson>,
    items: Option<Vec<StatusObject>>,
    object: Option<Box<StatusObject>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectName {
    name: String,
    namespace: String,
    uid: String,
    creation_timestamp: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StatusJson {
    conditions: Vec<ConditionJson>,
    history: Vec<DeploymentJson>,
    operation_state: Option<OperationJson>,
    health: Option<HealthJson>,
    stages_status: Vec<StageJson>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ConditionJson {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    last_transition_time: Option<String>,
    /// Of Rancher's conditions.
    last_update_time: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeploymentJson {
    deploy_started_at: Option<String>,
    deployed_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OperationJson {
    phase: String,
    started_at: Option<String>,
    finished_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HealthJson {
    status: String,
    last_transition_time: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StageJson {
    stage_name: String,
    start_time: Option<String>,
    end_time: Option<String>,
    clusters: Vec<ClusterStatusJson>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClusterStatusJson {
    cluster_name: String,
    conditions: Vec<ConditionJson>,
}

fn time(text: Option<&String>) -> Option<Nanos> {
    rfc3339(text?).map(|(nanos, _)| nanos)
}

impl ConditionJson {
    fn at(&self) -> Option<Nanos> {
        time(self.last_transition_time.as_ref()).or_else(|| time(self.last_update_time.as_ref()))
    }
}

/// The time of a condition that is true.
fn when_true(conditions: &[ConditionJson], kind: &str) -> Option<Nanos> {
    conditions.iter().find(|condition| condition.kind == kind && condition.status == "True")?.at()
}

pub(super) fn read(input: &Input, durations: &mut HistoryDurations<'_>) -> OrProblem<()> {
    let help = "name Applications, Bundles, BundleDeployments or ClusterStagedUpdateRuns, as `kubectl get KIND -A -o \
                json` prints them";
    let values =
        read_values::<StatusObject>(input, |value| value.get("status").is_none() && value.get("items").is_none())?;
    durations.tally.add_many("line that is not an object", values.other_lines);
    // When each bundle was not ready any more.
    let mut not_ready: BTreeMap<String, Nanos> = BTreeMap::new();
    let (mut known, mut other) = (0, None);
    for Found { at, value } in values.found {
        let mut open = vec![value];
        if let Some(items) = open[0].items.take() {
            open = items;
            open.reverse();
        }
        while let Some(mut object) = open.pop() {
            if let Some(inner) = object.object.take() {
                open.push(*inner);
                continue;
            }
            let status = object.status.take().unwrap_or_default();
            let id = format!("{} {}/{}", object.metadata.uid, object.metadata.namespace, object.metadata.name);
            known += 1;
            durations.tally.events += 1;
            match object.kind.as_deref().unwrap_or_default() {
                "Application" => application(&id, &status, durations),
                "BundleDeployment" => bundle_deployment(&id, &object.metadata, &status, durations),
                "Bundle" => bundle(&id, &status, &mut not_ready, durations),
                "ClusterStagedUpdateRun" | "StagedUpdateRun" => update_run(&id, &status, durations),
                kind => {
                    known -= 1;
                    durations.tally.add("object of a kind without durations");
                    other = other.or(Some((at, kind.to_owned())));
                }
            }
        }
    }
    match other {
        _ if known > 0 => Ok(()),
        Some((at, kind)) if !kind.is_empty() => {
            let message = format!("this is a {kind}, whose status has no durations that are used here");
            Err(input.at(at, "kind", message, help))
        }
        _ => Err(input.at(0, "kind", "the file has no object of a product", help)),
    }
}

fn application(id: &str, status: &StatusJson, durations: &mut HistoryDurations<'_>) {
    for deployment in &status.history {
        let (from, to) = (time(deployment.deploy_started_at.as_ref()), time(deployment.deployed_at.as_ref()));
        match (from, to) {
            (Some(from), Some(to)) => {
                durations.add("argo_cd_sync", format!("{id} {from}"), seconds_between(from, to));
            }
            _ => durations.tally.add("sync without a start or an end (Argo CD before 2.2 records no start)"),
        }
    }
    let Some(operation) = &status.operation_state else { return };
    let (from, to) = (time(operation.started_at.as_ref()), time(operation.finished_at.as_ref()));
    if operation.phase != "Succeeded" {
        durations.tally.add("sync that had not succeeded");
        return;
    }
    let Some((from, to)) = from.zip(to) else { return };
    // The last entry of the history is the same sync; its start is written a moment earlier or later.
    let is_in_history = status.history.iter().any(|deployment| {
        let start = time(deployment.deploy_started_at.as_ref());
        start.is_some_and(|start| (start - from).abs() <= 2_000_000_000)
    });
    if !is_in_history {
        durations.add("argo_cd_sync", format!("{id} {from}"), seconds_between(from, to));
    }
    let healthy = status.health.as_ref().filter(|health| health.status == "Healthy");
    if let Some(healthy) = healthy.and_then(|health| time(health.last_transition_time.as_ref()))
        && healthy >= to
    {
        durations.add("argo_cd_ready_after_sync", format!("{id} {from}"), seconds_between(to, healthy));
    }
}

fn bundle_deployment(id: &str, metadata: &ObjectName, status: &StatusJson, durations: &mut HistoryDurations<'_>) {
    let deployed = when_true(&status.conditions, "Deployed");
    let ready = when_true(&status.conditions, "Ready");
    // A later revision does not change the creation, so only the first apply has a start; it is the first one seen.
    if let Some((created, deployed)) = time(metadata.creation_timestamp.as_ref()).zip(deployed) {
        durations.add("fleet_applied", id.to_owned(), seconds_between(created, deployed));
    }
    if let Some((deployed, ready)) = deployed.zip(ready)
        && ready >= deployed
    {
        durations.add("fleet_ready_after_apply", format!("{id} {deployed}"), seconds_between(deployed, ready));
    }
}

fn bundle(
    id: &str,
    status: &StatusJson,
    not_ready: &mut BTreeMap<String, Nanos>,
    durations: &mut HistoryDurations<'_>,
) {
    let Some(ready) = status.conditions.iter().find(|condition| condition.kind == "Ready") else { return };
    let Some(at) = ready.at() else { return };
    if ready.status == "True" {
        if let Some(from) = not_ready.remove(id) {
            durations.add("fleet_bundle", format!("{id} {from}"), seconds_between(from, at));
        }
    } else {
        not_ready.entry(id.to_owned()).or_insert(at);
    }
}

fn update_run(id: &str, status: &StatusJson, durations: &mut HistoryDurations<'_>) {
    for stage in &status.stages_status {
        if let Some((from, to)) = time(stage.start_time.as_ref()).zip(time(stage.end_time.as_ref())) {
            let id = format!("{id} {}", stage.stage_name);
            durations.add("kubefleet_stage", id, seconds_between(from, to));
        }
        for cluster in &stage.clusters {
            let started = when_true(&cluster.conditions, "Started");
            if let Some((from, to)) = started.zip(when_true(&cluster.conditions, "Succeeded")) {
                let id = format!("{id} {} {}", stage.stage_name, cluster.cluster_name);
                durations.add("kubefleet_cluster", id, seconds_between(from, to));
            }
        }
    }
}
