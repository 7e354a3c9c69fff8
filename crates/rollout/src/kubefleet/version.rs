//! Versions of KubeFleet in which a staged run differs.
//!
//! By the code at v0.3.1 and e160c1c (`pkg/controllers/updaterun/execution.go`). After v0.3.1 the list of reasons that
//! are no failure is new as well (`pkg/utils/binding/binding.go`, kubefleet-dev/kubefleet#670); the work generator
//! writes none of them, so that it has no effect on a rollout.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::Deserialize;

/// A version of KubeFleet, by its rules.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub enum KubeFleetVersion {
    /// v0.3.0 and v0.3.1: an empty stage has its tasks, like every other.
    #[serde(rename = "0.3")]
    V0_3,
    /// Commit e160c1c, which the recordings are of: an empty stage is skipped with its tasks. No release contains it.
    #[default]
    #[serde(rename = "main")]
    Main,
}
