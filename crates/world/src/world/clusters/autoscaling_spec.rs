//! Settings of nodes that join a cluster while pods wait for room.

use serde::{Deserialize, Serialize};

use crate::world::calibration;
use crate::world::quantity::DurationModel;
use fleetsim_units::PerSecond;
use fleetsim_units::serial::positive;

/// Nodes that join a cluster while pods fit on none of its nodes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AutoscalingSpec {
    /// Number of nodes at the start, which may be 0. Default: `nodes`.
    ///
    /// A cluster that runs the previous revision starts with at least the nodes that its pods need.
    pub min_nodes: Option<u32>,
    /// Maximum number of nodes of the cluster, with those at the start.
    #[serde(deserialize_with = "positive")]
    pub max_nodes: u32,
    /// Number of pods of Deployments that fit on a node.
    ///
    /// Only pods of the release count, and pods of DaemonSets always fit.
    #[serde(deserialize_with = "positive")]
    pub pods_per_node: u32,
    /// Time from a pod that fits on no node to the request for nodes.
    #[serde(default = "decision")]
    pub decision: DurationModel,
    /// Time from the request for a node until the node is ready; drawn for each node.
    #[serde(default = "provisioning")]
    pub provisioning: DurationModel,
    /// Rate at which requested nodes are created. Default: no limit.
    pub creation: Option<NodeCreation>,
}

const fn decision() -> DurationModel {
    calibration::SCALING_DECISION
}

const fn provisioning() -> DurationModel {
    calibration::NODE_PROVISIONING
}

/// A token bucket for new nodes, which wait for their turn.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeCreation {
    /// Number of nodes per time.
    #[serde(deserialize_with = "positive")]
    pub rate: PerSecond,
    /// Number of nodes that are created immediately if none was created for a while; at least 1.
    #[serde(default = "one", deserialize_with = "positive")]
    pub burst: u32,
}

const fn one() -> u32 {
    1
}
