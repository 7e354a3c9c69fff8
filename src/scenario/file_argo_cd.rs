//! Argo CD's strategies as the author of an experiment wrote them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::argo_cd::ArgoCdRelease;
use crate::rollout::argo_cd::proposal::ProposalStrategy;
use crate::rollout::argo_cd::{ApplicationSetStrategy, ApplicationsSync, ControllerOptions};

/// Argo CD's ApplicationSet, from a real file or in place; what is in place counts before the file. Each cluster of the
/// fleet is one application, with the cluster's name and labels.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ArgoCdFile {
    /// An ApplicationSet whose `spec` counts where nothing is set here.
    pub(crate) file: Option<String>,
    /// `spec.strategy`, replaced as a whole. Default: all at once.
    pub(crate) strategy: Option<ApplicationSetStrategy>,
    /// Whether the template has an enabled `syncPolicy.automated`; else nothing but the steps syncs. Default: as in the
    /// file, and true without one.
    pub(crate) auto_sync: Option<bool>,
    /// `spec.syncPolicy.applicationsSync`. Default: sync.
    pub(crate) applications_sync: Option<ApplicationsSync>,
    /// What of the template names the new release. Default: targetRevision.
    pub(crate) release: Option<ArgoCdRelease>,
    /// How the controller runs. Default: as it ships, with progressive syncs enabled.
    pub(crate) options: Option<ControllerOptions>,
}

/// The `RollingUpdate` strategy that was proposed for Argo CD's ApplicationSets and never shipped.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ArgoCdProposalFile {
    /// An ApplicationSet whose `spec.strategy` counts where nothing is set here.
    pub(crate) file: Option<String>,
    /// `spec.strategy`, replaced as a whole. Default: all at once.
    pub(crate) strategy: Option<ProposalStrategy>,
}
