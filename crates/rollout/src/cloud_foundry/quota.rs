//! Limits of an organization and a space on started processes.
//!
//! Follows `app/models/runtime/process_model.rb` (the order of its policies),
//! `constraints/max_app_instances_policy.rb` and `max_memory_policy.rb`. The limits are checked whenever a started
//! process is saved with changes, even if it is scaled down. Left out: limits on the log rate, and on the memory of
//! one instance.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::Deserialize;

/// The limits that apply to an app.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct AppQuota {
    /// Limits of the organization.
    pub organization: QuotaLimits,
    /// Limits of the space.
    pub space: QuotaLimits,
}

/// Limits, and how much of them other apps use.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct QuotaLimits {
    /// The name of the organization or space.
    pub name: String,
    /// Maximum number of instances of all started processes. Absent: no limit.
    #[serde(rename = "totalInstances")]
    pub app_instance_limit: Option<u64>,
    /// Maximum memory of all instances of started processes. Absent: no limit.
    #[serde(rename = "totalMemoryInMb")]
    pub memory_limit_in_mb: Option<u64>,
    /// Number of instances of other apps.
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

impl Usage {
    /// Adds instances of this size.
    pub(super) const fn with(self, instances: u32, memory_in_mb: u32) -> Self {
        Self {
            instances: self.instances + instances as u64,
            memory_in_mb: self.memory_in_mb + instances as u64 * memory_in_mb as u64,
        }
    }
}

impl QuotaLimits {
    fn lacks_instances(&self, usage: Usage) -> bool {
        self.app_instance_limit
            .is_some_and(|limit| self.other_instances.saturating_add(usage.instances) > limit)
    }

    fn lacks_memory(&self, usage: Usage) -> bool {
        self.memory_limit_in_mb
            .is_some_and(|limit| self.other_memory_in_mb.saturating_add(usage.memory_in_mb) > limit)
    }
}

impl AppQuota {
    /// Returns the product's text for the limits that `usage` exceeds, in the product's order. `None`: no limit is
    /// exceeded.
    pub(super) fn exceeded_by(&self, usage: Usage) -> Option<String> {
        let mut exceeded = Vec::new();
        if self.space.lacks_memory(usage) {
            exceeded.push("memory space_quota_exceeded");
        }
        if self.organization.lacks_memory(usage) {
            exceeded.push("memory quota_exceeded");
        }
        if self.organization.lacks_instances(usage) {
            exceeded.push("app_instance_limit app_instance_limit_exceeded");
        }
        if self.space.lacks_instances(usage) {
            exceeded.push("app_instance_limit space_app_instance_limit_exceeded");
        }
        if exceeded.is_empty() {
            return None;
        }
        Some(exceeded.join(", "))
    }

    /// Returns the error message for a deployment that cannot be created because it exceeds these limits.
    pub(super) fn creation_error(&self, exceeded: &str) -> String {
        let is_of_space = exceeded.contains(" space_");
        let kind = if is_of_space { "space" } else { "organization" };
        let name = if is_of_space {
            &self.space.name
        } else {
            &self.organization.name
        };
        format!(
            "{exceeded} for {kind} {name}. This {kind}'s quota may not be large enough to support rolling deployments \
             or your configured max-in-flight."
        )
    }
}
