//! Versions of KubeFleet in which staged runs behave differently.
//!
//! Follows the code at v0.3.1 and e160c1c (`pkg/controllers/updaterun/execution.go`). After v0.3.1 there is also a
//! list of reasons that do not count as failures (`pkg/utils/binding/binding.go`, kubefleet-dev/kubefleet#670). It has
//! no effect on a rollout, because the work generator does not write these reasons.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::Deserialize;

/// A version of KubeFleet that determines the rules.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub enum KubeFleetVersion {
    /// v0.3.0 and v0.3.1: the tasks of a stage without clusters run, as for every other stage.
    #[serde(rename = "0.3")]
    V0_3,
    /// Commit e160c1c, which was recorded: a stage without clusters is skipped with its tasks. No release contains it.
    #[default]
    #[serde(rename = "main")]
    Main,
}
