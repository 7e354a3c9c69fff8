//! The fields of a request for editors: the schema that its type, which keeps what is written, cannot give.

use schemars::JsonSchema;

use super::DeploymentStrategy;

/// The fields of a body, for the schema alone.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentRequestBody")]
pub(super) struct Body {
    /// Absent: `rolling`.
    strategy: Option<DeploymentStrategy>,
    /// Absent: all defaults.
    options: Option<OptionsSchema>,
    /// Which droplet to run. Not looked at.
    droplet: Option<serde_json::Value>,
    /// Which revision to go back to. Not looked at; not together with `droplet`.
    revision: Option<serde_json::Value>,
    /// Of which app. Not looked at.
    relationships: Option<serde_json::Value>,
    /// Not looked at.
    metadata: Option<serde_json::Value>,
}

/// `options` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentOptions")]
struct OptionsSchema {
    /// How many new instances may be started beyond those that are routable. Absent: 1.
    #[schemars(range(min = 1))]
    max_in_flight: Option<u64>,
    /// How many instances to end with. Absent: as many as there are.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    web_instances: Option<u32>,
    /// Memory of a new instance. Absent: as it is.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    memory_in_mb: Option<u32>,
    /// Disk of a new instance. Of no effect here.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    disk_in_mb: Option<u32>,
    /// Log rate of a new instance. Of no effect here.
    #[schemars(range(min = -1))]
    log_rate_limit_in_bytes_per_second: Option<i64>,
    /// Only with the strategy `canary`.
    canary: Option<Canary>,
}

/// `options.canary` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentCanary")]
struct Canary {
    /// In ascending order. Absent: one step with one new instance.
    #[schemars(length(min = 1))]
    steps: Option<Vec<CanaryStepSchema>>,
}

/// One of `options.canary.steps` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentCanaryStep")]
struct CanaryStepSchema {
    /// Percent of the instances that are new when the step is reached.
    #[schemars(range(min = 1, max = 100))]
    instance_weight: u8,
}
