//! Argo CD's strategies as an experiment holds them: what a release changes, and the fleet as a set of applications.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Scenario;
use crate::rollout::label_selector::Labels;
use crate::world::ClusterSpec;

/// What of an application's template names the new release.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum ArgoCdRelease {
    /// `source.targetRevision`: every application resolves to another revision.
    #[default]
    TargetRevision,
    /// A parameter of the source, such as `helm.parameters`: the revision stays. A RollingSync as shipped loses such a
    /// change on applications that are Synced and Healthy (argoproj/argo-cd#27949).
    Parameters,
    /// A commit on the branch that `targetRevision` names, and no webhook: the set does not change, and each application
    /// is found OutOfSync at its next periodic refresh, within five minutes.
    Commit,
}

impl Scenario {
    /// The fleet as an ApplicationSet sees it: one application for each cluster, with its name and labels.
    #[must_use]
    pub fn argo_cd_applications(&self) -> Vec<(String, Arc<Labels>)> {
        applications(&self.world.clusters)
    }
}

pub(super) fn applications(clusters: &[ClusterSpec]) -> Vec<(String, Arc<Labels>)> {
    clusters.iter().map(|cluster| (cluster.name.clone(), Arc::new(cluster.labels.clone()))).collect()
}
