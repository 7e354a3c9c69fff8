//! The clusters of a bundle, with the labels and groups that partitions select by.

use std::sync::Arc;

#[cfg(any(test, feature = "schema"))]
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::label_selector::{LabelSelector, Labels, SelectorError};

/// A cluster as described by its object in the management cluster. Its index in the list is its
/// [`TargetId`](crate::TargetId).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FleetCluster {
    /// The cluster's name. Fleet processes clusters in the byte order of their names.
    pub name: String,
    /// The labels of the cluster's object. Clusters with equal labels may share them.
    pub labels: Arc<Labels>,
    /// The cluster groups to which the cluster belongs.
    pub groups: Vec<Arc<ClusterGroup>>,
}

/// A cluster group.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[cfg_attr(any(test, feature = "schema"), derive(JsonSchema))]
pub struct ClusterGroup {
    /// The name that partitions use.
    pub name: String,
    /// Labels of the group's own object, which are not those of its clusters.
    #[serde(default)]
    pub labels: Labels,
}

/// Returns the groups whose selector matches a cluster with these labels. A group without a selector has no members.
/// Follows `internal/cmd/controller/target/query.go`.
///
/// # Errors
/// The first selector that Kubernetes would reject.
pub fn groups_of(
    labels: &Labels,
    groups: &[(Arc<ClusterGroup>, Option<LabelSelector>)],
) -> Result<Vec<Arc<ClusterGroup>>, SelectorError> {
    let mut found = Vec::new();
    for (group, selector) in groups {
        if selector
            .as_ref()
            .map(LabelSelector::check)
            .transpose()?
            .is_some_and(|selector| selector.matches(labels))
        {
            found.push(Arc::clone(group));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_contains_the_clusters_that_its_selector_matches() {
        let selector = |value: &str| LabelSelector {
            match_labels: [("env".to_owned(), value.to_owned())].into(),
            ..LabelSelector::default()
        };
        let group = |name: &str| {
            Arc::new(ClusterGroup {
                name: name.to_owned(),
                labels: Labels::new(),
            })
        };
        let groups = [
            (group("prod"), Some(selector("prod"))),
            (group("all"), Some(LabelSelector::default())),
            (group("none"), None),
            (group("dev"), Some(selector("dev"))),
        ];
        let labels = [("env".to_owned(), "prod".to_owned())].into();
        let names = |groups: Vec<Arc<ClusterGroup>>| {
            groups
                .iter()
                .map(|group| group.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            groups_of(&labels, &groups).map(names),
            Ok(vec!["prod".to_owned(), "all".to_owned()])
        );
        assert!(groups_of(&labels, &[(group("bad"), Some(selector("a b")))]).is_err());
    }
}
