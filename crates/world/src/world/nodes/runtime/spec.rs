//! Settings of a container runtime's requests and downloads, with presets by product and version.
//!
//! Sources, by name in the comments:
//!
//! - *containerd*: containerd/containerd @301026e (v2.4.0-beta.0+70), tags v1.7.0 to v2.2 compared. One retry on 500,
//!   503 and 504 was added by pull request 11484 (2025-03, v2.1); retries after transport errors by 13323 (2026-04,
//!   v2.4).
//! - *c/image*: containers/image @df7e80d, `docker/docker_client.go` and `copy/copy.go`, as CRI-O @f954a17 uses it.
//!
//! Left out: CRI-O's slightly different sequence of requests (`GET /v2/` and no HEAD), and its `image_pull_timeout`
//! options.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use fleetsim_units::SimDuration;
use fleetsim_units::serial::{off, positive};

/// Maximum number of attempts; more than this is a mistake.
const MAX_ATTEMPTS: u32 = 1000;

/// A container runtime and its version.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub enum RuntimeVersion {
    /// containerd since 2.4.
    #[default]
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

impl RuntimeVersion {
    /// Returns the version's settings.
    #[must_use]
    pub const fn spec(self) -> RuntimeSpec {
        match self {
            Self::Containerd24 => RuntimeSpec::CONTAINERD_2_4,
            Self::Containerd21 => RuntimeSpec::CONTAINERD_2_1,
            Self::Containerd20 => RuntimeSpec::CONTAINERD_2_0,
            Self::Containerd17 => RuntimeSpec::CONTAINERD_1_7,
            Self::CriO => RuntimeSpec::CRI_O,
        }
    }
}

/// Downloads and error handling of a container runtime. The defaults are those of containerd 2.4.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct RuntimeSpec {
    /// Number of layers downloaded simultaneously. CRI-O: 6.
    #[serde(deserialize_with = "positive")]
    pub download_slots: u32,
    /// Scope of the download slots. Up to containerd 2.0, and in CRI-O: image.
    pub slot_scope: SlotScope,
    /// Attempts of a request that gets a 429 or 408 response, and the wait between them. containerd 1.7 to 2.3: 6
    /// attempts. CRI-O: 5 attempts, 2 s doubling to 1 min, honours `Retry-After`.
    #[serde(rename = "retry429")]
    pub retry_429: RetrySpec,
    /// Number of consecutive 500, 503 or 504 responses followed by an immediate retry. Such requests count as attempts
    /// of `retry429`. Up to containerd 2.0, and in CRI-O: 0.
    #[serde(rename = "retry5xx")]
    pub retry_5xx: u32,
    /// Attempts of a request that gets no response, and the wait between them. Before containerd 2.4, and in CRI-O: 1
    /// attempt.
    pub retry_transport: RetrySpec,
    /// Maximum wait of a request for a connection.
    #[serde(deserialize_with = "positive")]
    pub dial_timeout: SimDuration,
    /// Time without data after which a pull is cancelled, or `off`. containerd 1.7: 1 min. CRI-O: off.
    #[serde(with = "off")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "off::Text"))]
    pub no_progress_timeout: Option<SimDuration>,
    /// Whether the next attempt resumes the partial layers of a failed one. CRI-O: false.
    pub resume: bool,
    /// Time from a failed pull until containerd's collector deletes its leftovers, or `off`. CRI-O: off.
    #[serde(with = "off")]
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "off::Text"))]
    pub collect_after: Option<SimDuration>,
    /// Whether a pull of an image that the node is already pulling waits for that pull instead. CRI-O: true.
    pub merge_pulls: bool,
}

impl Default for RuntimeSpec {
    fn default() -> Self {
        Self::CONTAINERD_2_4
    }
}

/// Scope of the runtime's download slots.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SlotScope {
    /// All pulls of a node share the slots (containerd since 2.1).
    Node,
    /// Each image pull has its own slots (containerd up to 2.0, CRI-O).
    Image,
}

/// Retries of requests by the runtime. Omitted fields have the runtime's values.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RetrySpec {
    /// Total number of attempts, including the first; 1 to 1000.
    #[serde(deserialize_with = "attempts")]
    pub attempts: u32,
    /// Wait before the second attempt; it doubles up to `delayMax`.
    pub delay: SimDuration,
    /// Maximum wait between two attempts. Default: `delay` if it is set.
    pub delay_max: SimDuration,
    /// Whether the registry's `Retry-After` replaces the wait, up to `delayMax`.
    pub honours_retry_after: bool,
}

impl Default for RetrySpec {
    fn default() -> Self {
        RuntimeSpec::CONTAINERD_2_4.retry_429
    }
}

fn attempts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let attempts = positive(deserializer)?;
    if attempts <= MAX_ATTEMPTS {
        return Ok(attempts);
    }
    Err(de::Error::custom(format!(
        "must be at most {MAX_ATTEMPTS}, not {attempts}"
    )))
}

impl RetrySpec {
    /// Makes this total number of attempts, with the same wait between any two.
    #[must_use]
    pub const fn every(attempts: u32, delay: SimDuration) -> Self {
        Self {
            attempts,
            delay,
            delay_max: delay,
            honours_retry_after: false,
        }
    }

    /// Makes one request without retries.
    pub const ONCE: Self = Self::every(1, SimDuration::ZERO);
}

impl RuntimeSpec {
    /// containerd since v2.4, the default. Three downloads per node (`max_concurrent_downloads`, one semaphore for all
    /// pulls since v2.1, commit e2d6a71); five attempts of a request in total, whatever the failure; retries after 429
    /// without a wait, ignoring `Retry-After` (`core/remotes/docker/resolver.go`); 30 s to connect
    /// (`DefaultHTTPTransport`); five minutes without data cancel a pull (`image_pull_progress_timeout`).
    pub const CONTAINERD_2_4: Self = Self {
        download_slots: 3,
        slot_scope: SlotScope::Node,
        retry_429: RetrySpec::every(5, SimDuration::ZERO),
        retry_5xx: 1,
        retry_transport: RetrySpec::every(5, SimDuration::from_millis(50)),
        dial_timeout: SimDuration::from_secs(30),
        no_progress_timeout: Some(SimDuration::from_mins(5)),
        // The partial download (ingest) keeps its offset (`core/content/helpers.go`). It is a guess that the kubelet's
        // next attempt always finds the ingest.
        resume: true,
        // The collector runs after at most seconds (see `collector.rs`); all values below the kubelet's first back-off
        // of 10 s have the same effect.
        collect_after: Some(SimDuration::from_secs(5)),
        merge_pulls: false,
    };

    /// containerd v2.1 to v2.3: six attempts of a request that gets a 429, and no retries after a transport error.
    pub const CONTAINERD_2_1: Self = Self {
        retry_429: RetrySpec::every(6, SimDuration::ZERO),
        retry_transport: RetrySpec::ONCE,
        ..Self::CONTAINERD_2_4
    };

    /// containerd v2.0: the download slots are per image, and 5xx responses are not retried.
    pub const CONTAINERD_2_0: Self = Self {
        slot_scope: SlotScope::Image,
        retry_5xx: 0,
        ..Self::CONTAINERD_2_1
    };

    /// containerd v1.7: one minute without data cancels a pull (v1.7.0; later patch releases differ).
    pub const CONTAINERD_1_7: Self = Self {
        no_progress_timeout: Some(SimDuration::from_mins(1)),
        ..Self::CONTAINERD_2_0
    };

    /// CRI-O with containers/image: six blobs of an image concurrently; five attempts after 429, 2 s doubling to 60 s,
    /// or after the time in `Retry-After`; no retries after other errors; no no-progress timeout; identical concurrent
    /// calls are merged (cri-o `server/image_pull.go`). CRI-O waits 30 s for a connection (`pkg/tlsclientconfig`). It
    /// is a guess that a partial layer is discarded when a pull fails, because its temporary file is deleted with the
    /// attempt.
    pub const CRI_O: Self = Self {
        download_slots: 6,
        slot_scope: SlotScope::Image,
        retry_429: RetrySpec {
            attempts: 5,
            delay: SimDuration::from_secs(2),
            delay_max: SimDuration::from_secs(60),
            honours_retry_after: true,
        },
        retry_5xx: 0,
        retry_transport: RetrySpec::ONCE,
        dial_timeout: SimDuration::from_secs(30),
        no_progress_timeout: None,
        resume: false,
        collect_after: None,
        merge_pulls: true,
    };
}
