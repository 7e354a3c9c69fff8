//! The container runtime as the experiment file writes it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Duration;

/// A container runtime in a version.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) enum RuntimeFile {
    /// containerd since 2.4.
    #[serde(rename = "containerd-2.4")]
    Containerd24,
    /// containerd 2.1 to 2.3.
    #[serde(rename = "containerd-2.1")]
    Containerd21,
    /// containerd 2.0.
    #[serde(rename = "containerd-2.0")]
    Containerd20,
    /// containerd 1.7.
    #[serde(rename = "containerd-1.7")]
    Containerd17,
    /// CRI-O.
    #[serde(rename = "cri-o")]
    CriO,
}

/// What the runtime's download slots are counted over.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SlotScopeFile {
    /// All pulls of a node share them (containerd since 2.1).
    Node,
    /// Each image pull has its own (containerd up to 2.0, CRI-O).
    Image,
}

/// How the runtime repeats a request. What is left out is as the runtime has it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RetryFile {
    /// Requests in all, the first included. Default: the runtime's (containerd 5 after 429).
    pub(crate) attempts: Option<u32>,
    /// Wait before the second request; it doubles. Default: the runtime's (containerd 0 s after 429).
    pub(crate) delay: Option<Duration>,
    /// Longest wait between two requests. Default: `delay` if it is written, else the runtime's.
    pub(crate) delay_max: Option<Duration>,
    /// Whether the registry's `Retry-After` replaces the wait, up to `delayMax`. Default: the runtime's (CRI-O true).
    pub(crate) honours_retry_after: Option<bool>,
}
