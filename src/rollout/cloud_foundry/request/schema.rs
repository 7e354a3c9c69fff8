//! The fields of a request for editors: a schema that the request's type, which stores any value, cannot provide.

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
    /// The droplet to run. Ignored.
    droplet: Option<serde_json::Value>,
    /// The revision to roll back to. Ignored; not together with `droplet`.
    revision: Option<serde_json::Value>,
    /// The app. Ignored.
    relationships: Option<serde_json::Value>,
    /// Ignored.
    metadata: Option<serde_json::Value>,
}

/// `options` of a deployment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it exists for its schema")]
#[schemars(rename = "DeploymentOptions")]
struct OptionsSchema {
    /// Number of new instances that may be started beyond the routable ones. Absent: 1.
    #[schemars(range(min = 1))]
    max_in_flight: Option<u64>,
    /// Final number of instances. Absent: unchanged.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    web_instances: Option<u32>,
    /// Memory of a new instance. Absent: unchanged.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    memory_in_mb: Option<u32>,
    /// Disk of a new instance. No effect here.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    disk_in_mb: Option<u32>,
    /// Log rate of a new instance. No effect here.
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
    /// Percentage of new instances at the end of the step.
    #[schemars(range(min = 1, max = 100))]
    instance_weight: u8,
}
