//! `rolloutStrategy` in fleet.yaml and in a Bundle's `spec`.
//!
//! Follows `pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go`. Unknown fields are ignored, because real files have
//! many. Only types are checked: Fleet's own schema sets no bounds, and [`super::limit`] interprets the values.

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::IntOrString;
use super::super::label_selector::{LabelSelector, null_is_default};

/// Rollout strategy of a bundle. `null` has the same meaning as an absent strategy.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RolloutStrategy {
    /// Number of clusters that may be unavailable during an update. It applies to the whole bundle, and to each
    /// partition without its own limit. Absent: `100%`.
    pub max_unavailable: Option<IntOrString>,
    /// Number of partitions that may exceed their `maxUnavailable` while later ones are updated. Absent: 0.
    pub max_unavailable_partitions: Option<IntOrString>,
    /// Number of clusters in an automatic partition. Absent: `25%`; an int of 0 or less: one partition.
    pub auto_partition_size: Option<IntOrString>,
    /// With fewer targets than this, there is one automatic partition. 0 or less: always one. Absent: 200.
    pub auto_partition_threshold: Option<i64>,
    /// Maximum number of new deployments per pass of the controller. Absent: 50.
    pub max_new: Option<i64>,
    /// Manual partitions, in the order in which they are updated. Absent or empty: automatic partitions.
    pub partitions: Option<Vec<ManualPartition>>,
}

/// One entry of `partitions`. It selects every target that meets all its criteria, or no target if it has no criteria.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ManualPartition {
    /// The partition's name, for display only.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// Number of the partition's clusters that may be unavailable. Absent: the strategy's limit.
    pub max_unavailable: Option<IntOrString>,
    /// Selects by the cluster's name or display name. Empty: not a criterion.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub cluster_name: String,
    /// Selects by the cluster's labels. `{}` is a criterion that every cluster meets.
    pub cluster_selector: Option<LabelSelector>,
    /// Selects by the name of a cluster group. Empty: not a criterion.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub cluster_group: String,
    /// Selects by the labels of a cluster group. `{}` is a criterion that every cluster meets, even if it is in no
    /// group.
    pub cluster_group_selector: Option<LabelSelector>,
}

impl RolloutStrategy {
    /// Returns this strategy with every field that `other` sets replaced by its value in `other`. `partitions` is one
    /// field: the whole list is replaced, even by an empty list.
    pub fn overridden_by(self, other: Self) -> Self {
        Self {
            max_unavailable: other.max_unavailable.or(self.max_unavailable),
            max_unavailable_partitions: other
                .max_unavailable_partitions
                .or(self.max_unavailable_partitions),
            auto_partition_size: other.auto_partition_size.or(self.auto_partition_size),
            auto_partition_threshold: other
                .auto_partition_threshold
                .or(self.auto_partition_threshold),
            max_new: other.max_new.or(self.max_new),
            partitions: other.partitions.or(self.partitions),
        }
    }

    /// Returns the manual partitions; empty if partitions are automatic.
    pub fn manual_partitions(&self) -> &[ManualPartition] {
        self.partitions.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_yaml(text: &str) -> RolloutStrategy {
        serde_saphyr::from_str(text).expect(text)
    }

    #[test]
    fn a_real_fleet_yaml_is_read_with_its_other_fields() {
        let text = r#"
defaultNamespace: shop
helm: {chart: ./chart, values: {replicas: 3}}
rolloutStrategy:
  maxUnavailable: 15%
  maxUnavailablePartitions: 0
  autoPartitionSize: null
  somethingNewer: 7
  partitions:
    - name: canary
      maxUnavailable: 1
      clusterName:
      clusterSelector: {matchLabels: {env: staging}}
      clusterGroupSelector: {}
targetCustomizations: [{name: all, clusterSelector: {}}]
"#;
        let file: serde_json::Value = serde_saphyr::from_str(text).expect("it is read");
        let strategy: RolloutStrategy =
            serde_json::from_value(file["rolloutStrategy"].clone()).expect("it is set");
        assert_eq!(strategy.max_unavailable, Some("15%".into()));
        assert_eq!(strategy.max_unavailable_partitions, Some(0.into()));
        assert_eq!(strategy.auto_partition_size, None, "null is absent");
        let [canary] = strategy.manual_partitions() else {
            panic!("one entry")
        };
        assert_eq!(
            (canary.name.as_str(), canary.cluster_name.as_str()),
            ("canary", "")
        );
        assert_eq!(
            canary.cluster_group_selector,
            Some(LabelSelector::default()),
            "{{}} is present"
        );
    }

    #[test]
    fn an_override_replaces_field_by_field() {
        let file = from_yaml(
            "{maxUnavailable: 10%, maxNew: 20, partitions: [{name: a, clusterSelector: {}}]}",
        );
        let merged = file
            .clone()
            .overridden_by(from_yaml("{maxUnavailable: 5, autoPartitionThreshold: 10}"));
        assert_eq!(
            merged.max_unavailable,
            Some(5.into()),
            "set in both: the override's"
        );
        assert_eq!(merged.max_new, Some(20), "set in the file alone: kept");
        assert_eq!(
            merged.auto_partition_threshold,
            Some(10),
            "set in the override alone: added"
        );
        assert_eq!(merged.partitions, file.partitions);
        assert_eq!(
            file.overridden_by(from_yaml("partitions: []"))
                .manual_partitions(),
            [],
            "an empty list replaces"
        );
    }
}
