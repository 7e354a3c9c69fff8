//! Versions of Argo CD in which a rolling set's rules differ.
//!
//! Follows the code at v3.3.0, v3.4.7, v3.5.1 and 37ee009, and argoproj/argo-cd#27467 for v3.6, which is not released
//! yet. Row updates, steps, budgets and triggers are the same in all of them. Up to v3.5 a set whose RollingSync has
//! no steps updates all applications simultaneously; here this is an error. The recorded rollouts are from v3.5.7, and
//! the recorded decisions from 37ee009.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::Deserialize;

/// A minor version of Argo CD, with the rules of its ApplicationSet controller.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub enum ArgoCdVersion {
    /// A changed spec does not set a row to Waiting; only another revision does.
    #[serde(rename = "3.3")]
    V3_3,
    /// A changed spec sets a row to Waiting.
    #[serde(rename = "3.4")]
    V3_4,
    /// The rules of 3.4. This is the newest release, and the source of the recorded rollouts.
    #[default]
    #[serde(rename = "3.5")]
    V3_5,
    /// Nothing is promoted until all applications were compared since the last change (argoproj/argo-cd#27467). This
    /// version is not released yet; the rules follow the code of the pull request.
    #[serde(rename = "3.6")]
    V3_6,
}

impl ArgoCdVersion {
    /// Returns whether a changed spec sets a row to Waiting.
    pub fn sees_spec_changes(self) -> bool {
        self >= Self::V3_4
    }

    /// Returns whether promotion waits until all applications were compared.
    pub fn has_barrier(self) -> bool {
        self >= Self::V3_6
    }
}
