//! Versions of Rancher Fleet with different `rolloutStrategy` fields.
//!
//! Source: the code at v0.12.0 to v0.16.1 (`pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go`,
//! `internal/cmd/controller/target`). v0.12 is left out: there, clusters without a group belong to no manual
//! partition.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rollout::rancher_fleet::RolloutStrategy;

/// A minor version of Rancher Fleet.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum FleetVersion {
    /// Ignores `autoPartitionThreshold` (always 200) and `maxNew` (always 50).
    #[serde(rename = "0.13")]
    V0_13,
    /// Same fields as 0.13.
    #[serde(rename = "0.14")]
    V0_14,
    /// Reads `autoPartitionThreshold`; ignores `maxNew` (always 50).
    #[serde(rename = "0.15")]
    V0_15,
    /// The newest release; reads `autoPartitionThreshold` and `maxNew`. A status compares a deployment with the wanted
    /// id (`effectiveDeployment` in `target/target.go`): a cluster that waits for its update is `WaitApplied`, not
    /// `Ready` as in earlier versions. The recorded rollouts are from this version.
    #[default]
    #[serde(rename = "0.16")]
    V0_16,
}

impl FleetVersion {
    /// Returns the strategy as this version reads it, and the fields that this version ignores.
    pub(super) fn read(self, mut strategy: RolloutStrategy) -> (RolloutStrategy, Vec<String>) {
        let mut ignored = Vec::new();
        if self < Self::V0_15 && strategy.auto_partition_threshold.take().is_some() {
            ignored.push(ignores("autoPartitionThreshold", "0.15", "200"));
        }
        if self < Self::V0_16 && strategy.max_new.take().is_some() {
            ignored.push(ignores("maxNew", "0.16", "50"));
        }
        (strategy, ignored)
    }
}

fn ignores(field: &str, since: &str, instead: &str) -> String {
    format!(
        "{field} is ignored and {instead} applies: Rancher Fleet has had this field since {since}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_ignores_fields_that_were_added_later() {
        let written = RolloutStrategy {
            auto_partition_threshold: Some(50),
            max_new: Some(7),
            ..Default::default()
        };
        let read = |version: FleetVersion| {
            let (strategy, ignored) = version.read(written.clone());
            (
                strategy.auto_partition_threshold,
                strategy.max_new,
                ignored.len(),
            )
        };
        assert_eq!(read(FleetVersion::V0_14), (None, None, 2));
        assert_eq!(read(FleetVersion::V0_15), (Some(50), None, 1));
        assert_eq!(read(FleetVersion::V0_16), (Some(50), Some(7), 0));
        assert_eq!(
            FleetVersion::V0_13.read(RolloutStrategy::default()).1,
            [""; 0],
            "nothing is set"
        );
    }
}
