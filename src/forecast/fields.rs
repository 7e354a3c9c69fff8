//! The fields of products' objects that show the progress of a rollout. Other fields and null values are ignored.

use serde::Deserialize;
use serde_json::Value;

use crate::scenario::import::object::{KubeObject, OrDefault};

/// The fields that identify the kind of an object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KindMark {
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) resources: Value,
    pub(super) strategy: Value,
    pub(super) spec: Value,
}

/// A condition of an object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ShownCondition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) last_transition_time: Option<String>,
    pub(super) last_update_time: Option<String>,
    pub(super) message: OrDefault<String>,
}

/// A Kubernetes object. Each kind uses some of the fields.
pub(super) type ShownObject = KubeObject<ShownSpec, ShownStatus>;

/// The specification of a Kubernetes object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ShownSpec {
    #[serde(rename = "deploymentID")]
    pub(super) deployment: Option<String>,
    #[serde(rename = "stagedDeploymentID")]
    pub(super) staged: Option<String>,
    pub(super) target_cluster: String,
    pub(super) paused: OrDefault<bool>,
    /// The state of an update run.
    pub(super) state: Option<String>,
}

/// The status of a Kubernetes object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ShownStatus {
    #[serde(rename = "appliedDeploymentID")]
    pub(super) applied: Option<String>,
    pub(super) ready: bool,
    pub(super) display: OrDefault<DisplayedState>,
    pub(super) conditions: OrDefault<Vec<ShownCondition>>,
    pub(super) application_status: OrDefault<Vec<SetRow>>,
    pub(super) stages_status: OrDefault<Vec<StageShown>>,
    /// The last operation of an Application.
    pub(super) operation_state: OrDefault<OperationShown>,
    /// The agent of a Cluster of Fleet.
    pub(super) agent: OrDefault<FleetAgentShown>,
    /// The agents of a MemberCluster of KubeFleet.
    pub(super) agent_status: OrDefault<Vec<MemberAgentShown>>,
}

/// The agent of a Cluster of Fleet.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FleetAgentShown {
    pub(super) last_seen: Option<String>,
}

/// An agent of a MemberCluster of KubeFleet.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MemberAgentShown {
    pub(super) last_received_heartbeat: Option<String>,
}

/// The operation of an Application.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OperationShown {
    pub(super) phase: String,
    pub(super) message: OrDefault<String>,
}

/// The state of a BundleDeployment, as Fleet displays it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct DisplayedState {
    pub(super) state: String,
}

/// A row of an ApplicationSet: one Application.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetRow {
    pub(super) application: String,
    pub(super) status: String,
    pub(super) last_transition_time: Option<String>,
}

/// A stage of an update run.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StageShown {
    pub(super) start_time: Option<String>,
    pub(super) before_stage_task_status: Value,
    pub(super) clusters: OrDefault<Vec<StageCluster>>,
}

impl StageShown {
    /// Returns whether the stage has a task before it, such as an approval.
    pub(super) fn has_task_before(&self) -> bool {
        let tasks = self.before_stage_task_status.as_array();
        tasks.is_some_and(|tasks| !tasks.is_empty())
    }
}

/// A cluster in a stage.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StageCluster {
    pub(super) cluster_name: String,
    pub(super) conditions: OrDefault<Vec<ShownCondition>>,
}

/// An object of Fleet with the times of its last writes. `KubeObject` omits them because they are large.
#[derive(Default, Deserialize)]
pub(super) struct ManagedObject {
    pub(super) metadata: OrDefault<ManagedMetadata>,
    pub(super) spec: OrDefault<ShownSpec>,
}

/// A Cloud Foundry deployment.
#[derive(Default, Deserialize)]
pub(super) struct ShownDeployment {
    pub(super) created_at: Option<String>,
    pub(super) updated_at: Option<String>,
    pub(super) status: OrDefault<DeploymentStatus>,
}

/// The status of a deployment.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct DeploymentStatus {
    pub(super) value: String,
    pub(super) reason: String,
    pub(super) canary: OrDefault<ShownCanary>,
}

/// The canary of a deployment.
#[derive(Default, Deserialize)]
pub(super) struct ShownCanary {
    pub(super) steps: OrDefault<ShownSteps>,
}

/// The steps of a canary.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ShownSteps {
    pub(super) current: usize,
    pub(super) total: usize,
}

/// The metadata of an object of Fleet.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ManagedMetadata {
    pub(super) name: String,
    pub(super) managed_fields: OrDefault<Vec<ManagedField>>,
}

/// The last write by one manager of fields.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ManagedField {
    pub(super) time: Option<String>,
    #[serde(rename = "fieldsV1")]
    pub(super) fields: Value,
}

/// An instance of a process.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InstanceStats {
    pub(super) index: u64,
    pub(super) state: String,
    pub(super) uptime: Option<f64>,
    pub(super) routable: Option<bool>,
    /// Why the instance does not run.
    pub(super) details: Option<String>,
}
