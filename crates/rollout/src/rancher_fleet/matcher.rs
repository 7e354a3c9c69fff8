//! Selection of clusters by an entry of `partitions`.
//!
//! Follows `internal/cmd/controller/target/matcher/clustermatcher.go` and its use in `target/rollout.go`.

use super::super::label_selector::{CheckedSelector, LabelSelector, Labels, SelectorError};
use super::cluster::{ClusterGroup, FleetCluster};
use super::config::ManualPartition;

/// The label with the display name of a cluster.
const DISPLAY_NAME: &str = "management.cattle.io/cluster-display-name";

/// The criteria of one entry of `partitions`; `None`: not set.
pub(super) struct Matcher<'a> {
    name: Option<&'a str>,
    labels: Option<CheckedSelector>,
    group_name: Option<&'a str>,
    group_labels: Option<CheckedSelector>,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(entry: &'a ManualPartition) -> Result<Self, SelectorError> {
        Ok(Self {
            name: non_empty(&entry.cluster_name),
            labels: checked(entry.cluster_selector.as_ref())?,
            group_name: non_empty(&entry.cluster_group),
            group_labels: checked(entry.cluster_group_selector.as_ref())?,
        })
    }

    /// Returns whether the entry has any criterion; without a criterion, it matches nothing.
    pub(super) fn has_criteria(&self) -> bool {
        self.name.is_some()
            || self.labels.is_some()
            || self.group_name.is_some()
            || self.group_labels.is_some()
    }

    /// Returns a label that a selected cluster must have, with its possible values.
    pub(super) fn needs(&self) -> Option<(&str, &[String])> {
        self.labels.as_ref().and_then(CheckedSelector::needs)
    }

    pub(super) fn matches(&self, cluster: &FleetCluster) -> bool {
        self.matches_cluster(cluster) && self.matches_a_group(cluster)
    }

    /// Returns whether the entry selects the cluster as a member of `group`, one of the cluster's groups.
    pub(super) fn matches_in(&self, cluster: &FleetCluster, group: &ClusterGroup) -> bool {
        self.matches_cluster(cluster) && self.matches_group(&group.name, &group.labels)
    }

    /// Returns whether the cluster meets the criteria that do not concern groups.
    fn matches_cluster(&self, cluster: &FleetCluster) -> bool {
        self.has_criteria()
            && self.matches_name(cluster)
            && holds(self.labels.as_ref(), &cluster.labels)
    }

    fn matches_name(&self, cluster: &FleetCluster) -> bool {
        let Some(name) = self.name else {
            return true;
        };
        let display_name = cluster.labels.get(DISPLAY_NAME);
        cluster.name == name || display_name.is_some_and(|text| text == name)
    }

    /// Returns whether both group criteria hold for the same group. A cluster in no group is matched as if it were in
    /// a group without name and labels, so `{}`, `NotIn` and `DoesNotExist` match it.
    fn matches_a_group(&self, cluster: &FleetCluster) -> bool {
        if cluster.groups.is_empty() {
            return self.matches_group("", &Labels::new());
        }
        let mut groups = cluster.groups.iter();
        groups.any(|group| self.matches_group(&group.name, &group.labels))
    }

    fn matches_group(&self, name: &str, labels: &Labels) -> bool {
        self.group_name.is_none_or(|wanted| wanted == name)
            && holds(self.group_labels.as_ref(), labels)
    }
}

/// Returns a text of an entry. `None`: the text is empty, which means that it is not set.
fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn checked(selector: Option<&LabelSelector>) -> Result<Option<CheckedSelector>, SelectorError> {
    selector.map(LabelSelector::check).transpose()
}

/// Returns whether the selector matches these labels; true without a selector.
fn holds(selector: Option<&CheckedSelector>, labels: &Labels) -> bool {
    match selector {
        Some(selector) => selector.matches(labels),
        None => true,
    }
}

/// Returns, for each cluster, whether one of the entries selects it, as an entry of a bundle's targets does.
///
/// # Errors
/// The first selector that Kubernetes would reject, with the index of its entry.
pub fn selected_by(
    entries: &[ManualPartition],
    clusters: &[FleetCluster],
) -> Result<Vec<bool>, (usize, SelectorError)> {
    let mut matchers = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        match Matcher::new(entry) {
            Ok(matcher) => matchers.push(matcher),
            Err(error) => return Err((index, error)),
        }
    }
    let mut selected = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        selected.push(matchers.iter().any(|matcher| matcher.matches(cluster)));
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn an_entry_selects_the_clusters_that_meet_all_its_criteria() {
        let group = |name: &str, pairs| {
            Arc::new(ClusterGroup {
                name: name.to_owned(),
                labels: labels(pairs),
            })
        };
        let edge = FleetCluster {
            name: "edge-1".to_owned(),
            labels: labels(&[("env", "prod"), (DISPLAY_NAME, "Shop 1")]).into(),
            groups: vec![
                group("shops", &[("wave", "1")]),
                group("eu", &[("wave", "2")]),
            ],
        };
        let alone = FleetCluster {
            name: "alone".to_owned(),
            ..FleetCluster::default()
        };
        let cases = [
            // entry, edge-1, alone, why
            ("{}", false, false, "no criterion matches nothing"),
            (
                "{name: edge-1}",
                false,
                false,
                "the entry's own name is for display",
            ),
            ("{clusterName: edge-1}", true, false, "by name"),
            (
                "{clusterName: Shop 1}",
                true,
                false,
                "by the name users see",
            ),
            (
                "{clusterName: ''}",
                false,
                false,
                "an empty text is not a criterion",
            ),
            (
                "{clusterSelector: {}}",
                true,
                true,
                "an empty selector matches everything",
            ),
            (
                "{clusterName: edge-1, clusterSelector: {matchLabels: {env: dev}}}",
                false,
                false,
                "all must hold",
            ),
            ("{clusterGroup: eu}", true, false, "any of its groups"),
            (
                "{clusterGroupSelector: {matchLabels: {wave: '2'}}}",
                true,
                false,
                "by the group's labels",
            ),
            (
                "{clusterGroup: eu, clusterGroupSelector: {matchLabels: {wave: '1'}}}",
                false,
                false,
                "of the same group",
            ),
            (
                "{clusterGroupSelector: {}}",
                true,
                true,
                "also without any group",
            ),
            (
                "{clusterGroupSelector: {matchExpressions: [{key: wave, operator: NotIn, values: ['1', '2']}]}}",
                false,
                true,
                "no group has no label, so it is not in the values",
            ),
            (
                "{clusterGroupSelector: {matchExpressions: [{key: wave, operator: DoesNotExist}]}}",
                false,
                true,
                "nor does the label exist",
            ),
        ];
        for (yaml, takes_edge, takes_alone, why) in cases {
            let entry: ManualPartition = serde_saphyr::from_str(yaml).expect(yaml);
            let matcher = Matcher::new(&entry).expect(yaml);
            assert_eq!(
                (matcher.matches(&edge), matcher.matches(&alone)),
                (takes_edge, takes_alone),
                "{yaml}: {why}"
            );
        }
    }
}
