//! Which member clusters a KubeFleet placement picks.
//!
//! An exported placement names them in its status. Without a status, they follow from the specification as in
//! `PlacementPolicy` of `apis/placement/v1beta1/clusterresourceplacement_types.go` and `Taint` of
//! `apis/cluster/v1beta1/membercluster_types.go` of kubefleet-dev/kubefleet: the named clusters, or all joined ones
//! that one of the required terms selects by labels and whose taints are tolerated. Left out: `PickN` and properties
//! without a status, because the scheduler's ranking decides there, and overrides.

use serde::Deserialize;

use super::fleet::left_out;
use crate::rollout::label_selector::{CheckedSelector, LabelSelector, Labels};
use crate::scenario::import::object::OrDefault;
use crate::units::counted;

const WITH_STATUS: &str =
    "export the placement with its status, `kubectl get clusterresourceplacement NAME -o yaml`";

/// The part of a placement's specification that picks clusters.
#[derive(Default, Deserialize)]
pub(super) struct PickingSpec {
    policy: OrDefault<PickingPolicy>,
    strategy: OrDefault<PickingStrategy>,
}

/// The kind of a placement's update strategy.
#[derive(Default, Deserialize)]
struct PickingStrategy {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// `spec.policy` of a placement.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PickingPolicy {
    placement_type: Option<String>,
    cluster_names: OrDefault<Vec<String>>,
    affinity: OrDefault<PlacementAffinity>,
    tolerations: OrDefault<Vec<ClusterToleration>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlacementAffinity {
    cluster_affinity: OrDefault<ClusterAffinity>,
}

#[derive(Default, Deserialize)]
struct ClusterAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: OrDefault<RequiredTerms>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequiredTerms {
    cluster_selector_terms: Option<Vec<SelectorTerm>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SelectorTerm {
    label_selector: Option<LabelSelector>,
    property_selector: Option<serde::de::IgnoredAny>,
}

/// A taint of a member cluster.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClusterTaint {
    key: String,
    value: String,
    effect: String,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct ClusterToleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
}

/// The part of a placement's status that names clusters.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PickingStatus {
    #[serde(alias = "perClusterPlacementStatuses")]
    placement_statuses: OrDefault<Vec<PickedCluster>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PickedCluster {
    cluster_name: Option<String>,
}

/// A member cluster as the scheduler sees it.
pub(super) struct MemberView {
    pub(super) name: String,
    pub(super) labels: Labels,
    pub(super) taints: Vec<ClusterTaint>,
    /// As a property provider reports them.
    pub(super) nodes: Option<u32>,
}

/// The picked clusters, by their index, and what a reader should know.
pub(super) struct Picked {
    pub(super) members: Vec<usize>,
    pub(super) notes: Vec<String>,
}

/// Why a placement picks nothing.
pub(super) struct NotPicked {
    /// The field of the placement.
    pub(super) field: String,
    pub(super) reason: String,
    /// The fix.
    pub(super) help: &'static str,
}

impl NotPicked {
    fn new(field: &str, reason: &str, help: &'static str) -> Self {
        Self {
            field: field.to_owned(),
            reason: reason.to_owned(),
            help,
        }
    }
}

fn not_picked(field: &str, reason: &str, help: &'static str) -> Vec<NotPicked> {
    vec![NotPicked::new(field, reason, help)]
}

impl PickingSpec {
    /// Whether staged update runs update the clusters.
    pub(super) fn is_external(&self) -> bool {
        self.strategy.kind.as_deref() == Some("External")
    }

    /// The clusters that the placement picks of these.
    ///
    /// `away`: names of further members, which cannot be picked, and why.
    ///
    /// # Errors
    /// When a selector is invalid, the scheduler's choice is not known, or a cluster or all cannot be picked.
    pub(super) fn pick(
        &self,
        status: &PickingStatus,
        members: &[MemberView],
        away: &[(&str, &str)],
    ) -> Result<Picked, Vec<NotPicked>> {
        let named = status.members(members);
        if !named.is_empty() {
            let note = format!(
                "the {} of the placement's status are its targets",
                counted(named.len(), "member")
            );
            return Ok(Picked {
                members: named,
                notes: vec![note],
            });
        }
        let policy = &self.policy;
        match policy.placement_type.as_deref() {
            Some("PickFixed") => return policy.fixed(members, away),
            Some("PickN") => {
                let reason =
                    "the placement has no status, so that the picked clusters are not known";
                return Err(not_picked("spec.policy.placementType", reason, WITH_STATUS));
            }
            _ => {}
        }
        policy.all(members)
    }
}

impl PickingStatus {
    /// The members that it names.
    fn members(&self, members: &[MemberView]) -> Vec<usize> {
        let mut named = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let mut statuses = self.placement_statuses.iter();
            if statuses.any(|status| status.cluster_name.as_ref() == Some(&member.name)) {
                named.push(at);
            }
        }
        named
    }
}

impl PickingPolicy {
    /// The members that the affinity selects and whose taints are tolerated.
    fn all(&self, members: &[MemberView]) -> Result<Picked, Vec<NotPicked>> {
        let selected = self.selected(members).map_err(|reason| vec![reason])?;
        let (tolerated, tainted): (Vec<usize>, Vec<usize>) = selected
            .iter()
            .copied()
            .partition(|member| self.tolerates(&members[*member]));
        if tolerated.is_empty() {
            let help =
                "compare its affinity and tolerations with the labels and taints of the members";
            let reason = "the placement picks none of the joined member clusters";
            return Err(not_picked("spec.policy", reason, help));
        }
        let unselected = members.len() - selected.len();
        let mut notes = Vec::new();
        notes.extend(left_out(
            unselected,
            "member",
            "not selected by the placement's affinity",
        ));
        notes.extend(left_out(
            tainted.len(),
            "member",
            "with a taint that the placement does not tolerate",
        ));
        Ok(Picked {
            members: tolerated,
            notes,
        })
    }

    /// The members that `clusterNames` names.
    fn fixed(
        &self,
        members: &[MemberView],
        away: &[(&str, &str)],
    ) -> Result<Picked, Vec<NotPicked>> {
        let mut picked = Vec::new();
        let mut missing: Vec<NotPicked> = Vec::new();
        for (at, name) in self.cluster_names.iter().enumerate() {
            if let Some(index) = members.iter().position(|member| member.name == *name) {
                picked.push(index);
                continue;
            }
            let (why, help) = match away.iter().find(|(away, _)| away == name) {
                Some((_, why)) => (
                    *why,
                    "KubeFleet does not pick it; remove the name from a copy of the file",
                ),
                None => (
                    "is not among the member clusters",
                    "export all members: `kubectl get memberclusters -o json`",
                ),
            };
            missing.push(NotPicked {
                field: format!("spec.policy.clusterNames[{at}]"),
                reason: format!("`{name}` {why}"),
                help,
            });
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        picked.sort_unstable();
        picked.dedup();
        if picked.is_empty() {
            let help = "KubeFleet refuses this too; name at least one";
            return Err(not_picked(
                "spec.policy.clusterNames",
                "the placement names no clusters",
                help,
            ));
        }
        let note = left_out(
            members.len() - picked.len(),
            "member",
            "not named by the placement",
        );
        Ok(Picked {
            members: picked,
            notes: note.into_iter().collect(),
        })
    }

    /// The members that one of the required terms selects; without terms all.
    fn selected(&self, members: &[MemberView]) -> Result<Vec<usize>, NotPicked> {
        let Some(terms) = &self
            .affinity
            .cluster_affinity
            .required
            .cluster_selector_terms
        else {
            return Ok((0..members.len()).collect());
        };
        let mut selectors = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            let path = format!(
                "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[{at}]"
            );
            selectors.push(term.selector(&path)?);
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

    /// Follows `ToleratesTaint` of Kubernetes: an empty key with `Exists` tolerates everything.
    fn tolerates(&self, member: &MemberView) -> bool {
        member.taints.iter().all(|taint| {
            let mut tolerations = self.tolerations.iter();
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
    /// The selector of the term, which is at `path`; without one it selects everything.
    fn selector(&self, path: &str) -> Result<CheckedSelector, NotPicked> {
        if self.property_selector.is_some() {
            let reason = "properties cannot be evaluated without the placement's status";
            let field = format!("{path}.propertySelector");
            return Err(NotPicked::new(&field, reason, WITH_STATUS));
        }
        let written = self.label_selector.clone().unwrap_or_default();
        written.check().map_err(|error| NotPicked {
            field: format!("{path}.labelSelector"),
            reason: error.to_string(),
            help: "Kubernetes would refuse this selector too",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<MemberView> {
        let member = |(at, name): (usize, &str)| MemberView {
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
            nodes: None,
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
        match spec.pick(&status, &members, &[("y", "is leaving the fleet")]) {
            Ok(picked) => Ok(picked
                .members
                .into_iter()
                .map(|at| members[at].name.clone())
                .collect()),
            Err(reasons) => {
                let reasons = reasons
                    .into_iter()
                    .map(|why| format!("{}: {}", why.field, why.reason));
                Err(reasons.collect::<Vec<_>>().join("; "))
            }
        }
    }

    #[test]
    fn a_placement_picks_as_the_scheduler_does() {
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
    fn a_placement_without_clusters_says_why() {
        for (spec, message) in [
            (
                "policy: {placementType: PickFixed, clusterNames: [x, a, y]}",
                "spec.policy.clusterNames[0]: `x` is not among the member clusters; \
                 spec.policy.clusterNames[2]: `y` is leaving the fleet",
            ),
            (
                "policy: {placementType: PickN, numberOfClusters: 2}",
                "spec.policy.placementType: the placement has no status, so that the picked clusters are not known",
            ),
            (
                "policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: []}}}}",
                "spec.policy: the placement picks none of the joined member clusters",
            ),
            (
                "policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: \
                 [{propertySelector: {matchExpressions: []}}]}}}}",
                "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0]\
                 .propertySelector: properties cannot be evaluated without the placement's status",
            ),
        ] {
            assert_eq!(picked(spec, "{}"), Err(message.to_owned()), "{spec}");
        }
    }
}
