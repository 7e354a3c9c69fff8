//! Limits of an organization and a space on started processes.
//!
//! Follows `app/models/runtime/process_model.rb` (the order of its policies),
//! `constraints/max_app_instances_policy.rb` and `max_memory_policy.rb`. Checked whenever a started process is saved
//! with changes, also when its number goes down. Left out: limits on the log rate, and on the memory of one instance.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

/// The limits that apply to an app.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct AppQuota {
    /// Of the organization.
    pub organization: QuotaLimits,
    /// Of the space.
    pub space: QuotaLimits,
}

/// Limits, and the usage of other apps under them.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct QuotaLimits {
    /// The name of the organization or space.
    pub name: String,
    /// Instances of all started processes together. Absent: no limit.
    #[serde(rename = "totalInstances")]
    pub app_instance_limit: Option<u64>,
    /// Memory of all their instances. Absent: no limit.
    #[serde(rename = "totalMemoryInMb")]
    pub memory_limit_in_mb: Option<u64>,
    /// Instances of other apps.
    pub other_instances: u64,
    /// Memory of other apps' instances.
    pub other_memory_in_mb: u64,
}

/// The total usage of an app's started processes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Usage {
    pub(super) instances: u64,
    pub(super) memory_in_mb: u64,
}

/// One limit that would be exceeded; displayed as in the product.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuotaError {
    /// The space's memory.
    SpaceMemory,
    /// The organization's memory.
    OrganizationMemory,
    /// The organization's instances.
    OrganizationInstances,
    /// The space's instances.
    SpaceInstances,
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SpaceMemory => "memory space_quota_exceeded",
            Self::OrganizationMemory => "memory quota_exceeded",
            Self::OrganizationInstances => "app_instance_limit app_instance_limit_exceeded",
            Self::SpaceInstances => "app_instance_limit space_app_instance_limit_exceeded",
        })
    }
}

impl AppQuota {
    /// The limits that `usage` exceeds, in the product's order.
    pub(super) fn exceeded_by(&self, usage: Usage) -> Vec<QuotaError> {
        let checks = [
            (QuotaError::SpaceMemory, self.space.lacks_memory(usage)),
            (QuotaError::OrganizationMemory, self.organization.lacks_memory(usage)),
            (QuotaError::OrganizationInstances, self.organization.lacks_instances(usage)),
            (QuotaError::SpaceInstances, self.space.lacks_instances(usage)),
        ];
        checks.into_iter().filter(|(_, exceeded)| *exceeded).map(|(error, _)| error).collect()
    }

    /// The message to a client when a deployment cannot be created for these reasons.
    pub(super) fn creation_error(&self, errors: &[QuotaError]) -> String {
        let is_space = |error: &QuotaError| matches!(error, QuotaError::SpaceMemory | QuotaError::SpaceInstances);
        let (kind, name) = if errors.iter().any(is_space) {
            ("space", &self.space.name)
        } else {
            ("organization", &self.organization.name)
        };
        format!(
            "{} for {kind} {name}. This {kind}'s quota may not be large enough to support rolling deployments or your \
             configured max-in-flight.",
            texts(errors)
        )
    }
}

impl QuotaLimits {
    fn lacks_instances(&self, usage: Usage) -> bool {
        self.app_instance_limit.is_some_and(|limit| self.other_instances.saturating_add(usage.instances) > limit)
    }

    fn lacks_memory(&self, usage: Usage) -> bool {
        self.memory_limit_in_mb.is_some_and(|limit| self.other_memory_in_mb.saturating_add(usage.memory_in_mb) > limit)
    }
}

/// The product's text for several errors.
pub(super) fn texts(errors: &[QuotaError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
