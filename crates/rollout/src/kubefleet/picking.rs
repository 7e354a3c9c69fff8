//! The member clusters that a placement picks.
//!
//! A placement names the picked clusters in its status. Without a status, they follow from the specification, as
//! described in `PlacementPolicy` of `apis/placement/v1beta1/clusterresourceplacement_types.go` and `Taint` of
//! `apis/cluster/v1beta1/membercluster_types.go`: the named clusters, or all joined clusters that match the labels of
//! a required term and whose taints are tolerated. `PickN` also picks all of these if it requests as many. The checks
//! of the policy are those of `pkg/utils/validator/placement.go`. Left out: properties, the scheduler's ranking, and
//! overrides.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::label_selector::{
    CheckedSelector, LabelSelector, Labels, SelectorError, null_is_default,
};
use super::InvalidField;

/// The path of the affinity in a placement.
const AFFINITY: &str = "spec.policy.affinity";

/// The path of the affinity's alternative terms in a placement; at least one term must hold.
const TERMS: &str = "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.\
                     clusterSelectorTerms";

/// The part of a placement that picks clusters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PickingPlacement {
    /// The placement's specification.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: PickingSpec,
    /// The placement's status.
    #[serde(deserialize_with = "null_is_default")]
    pub status: PickingStatus,
}

/// The part of a placement's specification that picks clusters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PickingSpec {
    #[serde(deserialize_with = "null_is_default")]
    policy: PickingPolicy,
    #[serde(deserialize_with = "null_is_default")]
    strategy: PickingStrategy,
}

/// The kind of a placement's update strategy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct PickingStrategy {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// `spec.policy` of a placement.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PickingPolicy {
    placement_type: Option<String>,
    number_of_clusters: Option<i64>,
    #[serde(deserialize_with = "null_is_default")]
    cluster_names: Vec<String>,
    affinity: Option<PlacementAffinity>,
    #[serde(deserialize_with = "null_is_default")]
    topology_spread_constraints: Vec<IgnoredAny>,
    tolerations: Option<Vec<ClusterToleration>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PlacementAffinity {
    #[serde(deserialize_with = "null_is_default")]
    cluster_affinity: ClusterAffinity,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterAffinity {
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_is_default"
    )]
    required: RequiredTerms,
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_is_default"
    )]
    preferred: Vec<IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequiredTerms {
    cluster_selector_terms: Option<Vec<SelectorTerm>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectorTerm {
    label_selector: Option<LabelSelector>,
    property_sorter: Option<IgnoredAny>,
}

/// A taint of a member cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterTaint {
    /// The taint's key.
    pub key: String,
    /// The taint's value.
    pub value: String,
    /// The effect; only `NoSchedule` is supported.
    pub effect: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterToleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
}

/// The part of a placement's status that names clusters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PickingStatus {
    #[serde(
        alias = "perClusterPlacementStatuses",
        deserialize_with = "null_is_default"
    )]
    placement_statuses: Vec<PickedCluster>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PickedCluster {
    cluster_name: Option<String>,
}

/// A joined member cluster as the scheduler sees it.
#[derive(Clone, Debug, Default)]
pub struct SchedulableMember {
    /// The cluster's name, unique in the fleet.
    pub name: String,
    /// The cluster's labels.
    pub labels: Labels,
    /// The cluster's taints.
    pub taints: Vec<ClusterTaint>,
}

/// The part of a placement that determines which clusters it picks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PickedBy {
    /// The placement's status.
    Status,
    /// The list `clusterNames`.
    Names,
    /// Affinity and tolerations.
    Policy,
}

/// The picked clusters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PickedMembers {
    /// Indices of the picked members, in ascending order.
    pub members: Vec<usize>,
    /// The part of the placement that picked them.
    pub by: PickedBy,
    /// Indices of selected members that are not picked because they have a taint that is not tolerated.
    pub tainted: Vec<usize>,
}

/// The reason why the picked clusters cannot be determined.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct NotPicked {
    /// The path of the field, e.g. `spec.policy.clusterNames[1]`.
    pub at: String,
    /// The reason.
    pub reason: NotPickedReason,
}

/// The reason of a [`NotPicked`], without the field.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum NotPickedReason {
    #[error("`{0}` is not among the member clusters")]
    UnknownName(String),
    #[error("none of the clusters in the placement's status is among the member clusters")]
    UnknownStatus,
    #[error(
        "the placement asks for {asked} of {selected} clusters, and has no status that names them"
    )]
    SomeOf { asked: usize, selected: usize },
    #[error("{0}")]
    Selector(SelectorError),
    #[error("the placement picks none of the joined member clusters")]
    Nobody,
}

impl NotPicked {
    fn new(at: impl Into<String>, reason: NotPickedReason) -> Self {
        Self {
            at: at.into(),
            reason,
        }
    }
}

impl PickingSpec {
    /// Returns whether staged update runs update the clusters.
    pub fn is_external(&self) -> bool {
        self.strategy.kind.as_deref() == Some("External")
    }

    /// Checks the policy for errors that the product rejects, in addition to
    /// [`PlacementSpec::validate`](super::PlacementSpec::validate).
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), InvalidField> {
        match self.policy.refused() {
            Some((field, reason)) => Err(InvalidField {
                at: format!("spec.policy.{field}"),
                reason,
            }),
            None => self.policy.refused_sorter().map_or(Ok(()), Err),
        }
    }

    /// Returns which of these clusters the placement picks. Properties are ignored.
    ///
    /// # Errors
    /// If a selector is invalid, a named cluster does not exist, the scheduler would have to choose, or no cluster is
    /// picked.
    pub fn pick(
        &self,
        status: &PickingStatus,
        members: &[SchedulableMember],
    ) -> Result<PickedMembers, Vec<NotPicked>> {
        if status.has_names() {
            return status.members(members).map_err(|error| vec![error]);
        }
        let policy = &self.policy;
        if policy.kind() == "PickFixed" {
            return policy.fixed(members);
        }
        let picked = policy.all(members).map_err(|error| vec![error])?;
        let selected = picked.members.len();
        match policy.asked() {
            Some(asked) if asked < selected => {
                let reason = NotPickedReason::SomeOf { asked, selected };
                Err(vec![NotPicked::new("spec.policy", reason)])
            }
            _ => Ok(picked),
        }
    }
}

impl PickingStatus {
    /// Returns whether the status names a cluster.
    pub fn has_names(&self) -> bool {
        let mut statuses = self.placement_statuses.iter();
        statuses.any(|status| status.cluster_name.is_some())
    }

    /// Returns the members that the status names.
    fn members(&self, members: &[SchedulableMember]) -> Result<PickedMembers, NotPicked> {
        let mut named = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let mut statuses = self.placement_statuses.iter();
            if statuses.any(|status| status.cluster_name.as_ref() == Some(&member.name)) {
                named.push(at);
            }
        }
        if named.is_empty() {
            let at = "status.placementStatuses";
            return Err(NotPicked::new(at, NotPickedReason::UnknownStatus));
        }
        Ok(PickedMembers {
            members: named,
            by: PickedBy::Status,
            tainted: Vec::new(),
        })
    }
}

impl PickingPolicy {
    fn kind(&self) -> &str {
        self.placement_type.as_deref().unwrap_or("PickAll")
    }

    /// Returns the number that `PickN` requests. `None`: there is no number, or admission rejects it.
    fn asked(&self) -> Option<usize> {
        if self.kind() != "PickN" {
            return None;
        }
        usize::try_from(self.number_of_clusters?).ok()
    }

    /// Returns a field of the policy that the product rejects, and the reason.
    fn refused(&self) -> Option<(&'static str, String)> {
        let kind = self.kind();
        let only = "only valid for PickN policy type";
        if kind != "PickN" && !self.topology_spread_constraints.is_empty() {
            let reason = format!(
                "topology spread constraints needs to be empty for policy type {kind}, {only}"
            );
            return Some(("topologySpreadConstraints", reason));
        }
        let preferred = "affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution";
        match kind {
            "PickFixed" if self.cluster_names.is_empty() => Some((
                "clusterNames",
                "cluster names cannot be empty for policy type PickFixed".to_owned(),
            )),
            "PickFixed" if self.affinity.is_some() => Some((
                "affinity",
                "affinity must be nil for policy type PickFixed, only valid for PickAll/PickN placement policy types"
                    .to_owned(),
            )),
            "PickFixed" if self.tolerations.is_some() => Some((
                "tolerations",
                "tolerations needs to be empty for policy type PickFixed, only valid for PickAll/PickN".to_owned(),
            )),
            "PickAll" if self.has_preferred_terms() => Some((
                preferred,
                "PreferredDuringSchedulingIgnoredDuringExecution will be ignored for placement policy type PickAll"
                    .to_owned(),
            )),
            _ => None,
        }
    }

    fn has_preferred_terms(&self) -> bool {
        let affinity = self.affinity.as_ref();
        affinity.is_some_and(|affinity| !affinity.cluster_affinity.preferred.is_empty())
    }

    /// Returns the first required term that has a sorter, as an error.
    fn refused_sorter(&self) -> Option<InvalidField> {
        let terms = self.required_terms()?;
        let at = terms
            .iter()
            .position(|term| term.property_sorter.is_some())?;
        Some(InvalidField {
            at: format!("{TERMS}[{at}].propertySorter"),
            reason: "PropertySorter is not allowed for RequiredDuringSchedulingIgnoredDuringExecution affinity"
                .to_owned(),
        })
    }

    fn required_terms(&self) -> Option<&Vec<SelectorTerm>> {
        let affinity = self.affinity.as_ref()?;
        affinity
            .cluster_affinity
            .required
            .cluster_selector_terms
            .as_ref()
    }

    /// Returns the members that the affinity selects and whose taints are tolerated.
    fn all(&self, members: &[SchedulableMember]) -> Result<PickedMembers, NotPicked> {
        let selected = self.selected(members)?;
        let (picked, tainted): (Vec<usize>, Vec<usize>) = selected
            .into_iter()
            .partition(|&at| self.tolerates(&members[at]));
        if picked.is_empty() {
            let at = match self.affinity {
                Some(_) => AFFINITY,
                None => "spec.policy",
            };
            return Err(NotPicked::new(at, NotPickedReason::Nobody));
        }
        Ok(PickedMembers {
            tainted,
            members: picked,
            by: PickedBy::Policy,
        })
    }

    /// Returns the members that `clusterNames` lists.
    fn fixed(&self, members: &[SchedulableMember]) -> Result<PickedMembers, Vec<NotPicked>> {
        let mut picked = Vec::new();
        let mut missing = Vec::new();
        for (at, name) in self.cluster_names.iter().enumerate() {
            match members.iter().position(|member| member.name == *name) {
                Some(index) => picked.push(index),
                None => missing.push(NotPicked::new(
                    format!("spec.policy.clusterNames[{at}]"),
                    NotPickedReason::UnknownName(name.clone()),
                )),
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        picked.sort_unstable();
        picked.dedup();
        if picked.is_empty() {
            let at = "spec.policy.clusterNames";
            return Err(vec![NotPicked::new(at, NotPickedReason::Nobody)]);
        }
        Ok(PickedMembers {
            members: picked,
            by: PickedBy::Names,
            tainted: Vec::new(),
        })
    }

    /// Returns the members that at least one required term selects; without terms, all members.
    fn selected(&self, members: &[SchedulableMember]) -> Result<Vec<usize>, NotPicked> {
        let Some(terms) = self.required_terms() else {
            return Ok((0..members.len()).collect());
        };
        let mut selectors = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            selectors.push(term.selector(at)?);
        }
        let mut selected = Vec::new();
        for (at, member) in members.iter().enumerate() {
            if selectors
                .iter()
                .any(|selector| selector.matches(&member.labels))
            {
                selected.push(at);
            }
        }
        Ok(selected)
    }

    /// Returns whether the taints are tolerated. Follows `ToleratesTaint` of Kubernetes: an empty key with `Exists`
    /// tolerates everything.
    fn tolerates(&self, member: &SchedulableMember) -> bool {
        let tolerations = self.tolerations.as_deref().unwrap_or_default();
        member.taints.iter().all(|taint| {
            let mut tolerations = tolerations.iter();
            tolerations.any(|toleration| toleration.tolerates(taint))
        })
    }
}

impl ClusterToleration {
    fn tolerates(&self, taint: &ClusterTaint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && (self.operator == "Exists" || !self.key.is_empty() && self.value == taint.value)
    }
}

impl SelectorTerm {
    /// Returns the selector of the term at this index; without a selector the term selects everything.
    fn selector(&self, at: usize) -> Result<CheckedSelector, NotPicked> {
        let written = self.label_selector.clone().unwrap_or_default();
        written.check().map_err(|error| {
            NotPicked::new(
                format!("{TERMS}[{at}].labelSelector"),
                NotPickedReason::Selector(error),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<SchedulableMember> {
        let member = |(at, name): (usize, &str)| SchedulableMember {
            name: name.to_owned(),
            labels: [("ring".to_owned(), (at / 2).to_string())].into(),
            taints: if name == "d" {
                vec![ClusterTaint {
                    key: "edge".into(),
                    value: "yes".into(),
                    effect: "NoSchedule".into(),
                }]
            } else {
                Vec::new()
            },
        };
        ["a", "b", "c", "d"]
            .into_iter()
            .enumerate()
            .map(member)
            .collect()
    }

    fn picked(spec: &str, status: &str) -> Result<Vec<String>, String> {
        let spec: PickingSpec = serde_saphyr::from_str(spec).expect("a spec");
        let status: PickingStatus = serde_saphyr::from_str(status).expect("a status");
        let members = members();
        match spec.pick(&status, &members) {
            Ok(picked) => Ok(picked
                .members
                .into_iter()
                .map(|at| members[at].name.clone())
                .collect()),
            Err(reasons) => {
                let reasons = reasons.into_iter().map(|why| format!("{}: {why}", why.at));
                Err(reasons.collect::<Vec<_>>().join("; "))
            }
        }
    }

    #[test]
    fn a_placement_picks_the_same_clusters_as_the_scheduler() {
        let names = |text: &str| Ok(text.chars().map(String::from).collect::<Vec<_>>());
        let required = |term: &str| {
            format!(
                "policy: {{affinity: {{clusterAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: \
                 {{clusterSelectorTerms: [{term}]}}}}}}}}"
            )
        };
        assert_eq!(picked("{}", "{}"), names("abc"), "`d` has a taint");
        assert_eq!(
            picked(
                "policy: {tolerations: [{key: edge, operator: Exists}]}",
                "{}"
            ),
            names("abcd")
        );
        assert_eq!(
            picked("policy: {tolerations: [{key: edge, value: no}]}", "{}"),
            names("abc")
        );
        assert_eq!(
            picked(
                &required("{labelSelector: {matchLabels: {ring: '0'}}}"),
                "{}"
            ),
            names("ab")
        );
        assert_eq!(
            picked(
                "policy: {placementType: PickFixed, clusterNames: [d, a]}",
                "{}"
            ),
            names("ad"),
            "taints do not matter to named clusters"
        );
        assert_eq!(
            picked("policy: {placementType: PickN, numberOfClusters: 3}", "{}"),
            names("abc"),
            "it asks for all"
        );
        let two = "policy: {placementType: PickN, numberOfClusters: 2}";
        assert_eq!(
            picked(
                two,
                "placementStatuses: [{clusterName: b}, {clusterName: c}, {}]"
            ),
            names("bc")
        );
    }

    #[test]
    fn a_placement_without_clusters_reports_why() {
        for (spec, message) in [
            (
                "policy: {placementType: PickFixed, clusterNames: [x, a, y]}",
                "spec.policy.clusterNames[0]: `x` is not among the member clusters; \
                 spec.policy.clusterNames[2]: `y` is not among the member clusters",
            ),
            (
                "policy: {placementType: PickN, numberOfClusters: 2}",
                "spec.policy: the placement asks for 2 of 3 clusters, and has no status that names them",
            ),
            (
                "policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: []}}}}",
                "spec.policy.affinity: the placement picks none of the joined member clusters",
            ),
        ] {
            assert_eq!(picked(spec, "{}"), Err(message.to_owned()), "{spec}");
        }
    }

    #[test]
    fn a_policy_that_admission_refuses_is_refused() {
        for (policy, at) in [
            ("{placementType: PickFixed}", "clusterNames"),
            (
                "{placementType: PickFixed, clusterNames: [a], affinity: {}}",
                "affinity",
            ),
            (
                "{placementType: PickFixed, clusterNames: [a], tolerations: []}",
                "tolerations",
            ),
            (
                "{topologySpreadConstraints: [{topologyKey: zone}]}",
                "topologySpreadConstraints",
            ),
            (
                "{affinity: {clusterAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}}}",
                "affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution",
            ),
        ] {
            let text = format!("policy: {policy}");
            let spec: PickingSpec = serde_saphyr::from_str(&text).expect(policy);
            let error = spec.validate().expect_err(policy);
            assert_eq!(error.at, format!("spec.policy.{at}"), "{policy}");
        }
    }
}
