//! An entry of `applications`, as written.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::release::ReleaseFile;
use super::release_times::ReleaseTimes;
use crate::rollout::label_selector::LabelSelector;

/// An application, or several with one pattern of names.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApplicationFile {
    /// The clusters on which it is deployed, selected by their labels. Default: all.
    pub(crate) clusters: Option<LabelSelector>,
    /// Its images and workloads, or a file with them: `{file: typical.yaml}`.
    pub(crate) release: ApplicationReleaseFile,
    /// Its own strategy, a name in `strategies`. Default: each of those that are compared.
    pub(crate) strategy: Option<String>,
    /// The times of its releases: `[{at: 1h}]`, or `{every: 5 min}` for a pattern. Later entries of a list supersede
    /// the first release. Default: at the start.
    pub(crate) releases: Option<ReleaseTimes>,
}

/// The release of an application, as written or in a file.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ApplicationReleaseFile {
    /// A file with these fields instead, relative to the experiment's folder.
    pub(crate) file: Option<String>,
    #[serde(rename = "~release")]
    #[cfg_attr(test, schemars(flatten))]
    pub(crate) release: ReleaseFile,
}
