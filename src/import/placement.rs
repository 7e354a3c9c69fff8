//! Which member clusters a KubeFleet placement picks.
//!
//! Follows `PlacementPolicy` in `apis/placement/v1beta1/clusterresourceplacement_types.go` and `Taint` in
//! `apis/cluster/v1beta1/membercluster_types.go` of kubefleet-dev/kubefleet: joined clusters that one of the required
//! terms selects and whose taints are tolerated; of these all, the named ones, or N. Which N the scheduler has picked
//! is in the placement's status; without a status they are ranked by the labels of the preferred terms. Left out:
//! sorting by properties, topology spread constraints and overrides.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::fleet::{counted, left_out};
use crate::rollout::label_selector::{CheckedSelector, LabelSelector, Labels, SelectorError};

/// The part of a placement's specification that picks clusters.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PickingSpec {
    pub(super) policy: Option<PickingPolicy>,
    pub(super) strategy: Option<PickingStrategy>,
}

/// The kind of a placement's update strategy.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PickingStrategy {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// `spec.policy` of a placement.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PickingPolicy {
    placement_type: Option<String>,
    cluster_names: Option<Vec<String>>,
    number_of_clusters: Option<u32>,
    affinity: Option<PlacementAffinity>,
    tolerations: Option<Vec<ClusterToleration>>,
    topology_spread_constraints: Option<Vec<serde_json::Value>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PlacementAffinity {
    cluster_affinity: Option<ClusterAffinity>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct ClusterAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<RequiredTerms>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    preferred: Option<Vec<PreferredTerm>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequiredTerms {
    cluster_selector_terms: Option<Vec<SelectorTerm>>,
}

#[derive(Clone, Deserialize)]
struct PreferredTerm {
    #[serde(default)]
    weight: i64,
    #[serde(default)]
    preference: SelectorTerm,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectorTerm {
    label_selector: Option<LabelSelector>,
    property_selector: Option<PropertySelector>,
    property_sorter: Option<serde_json::Value>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PropertySelector {
    match_expressions: Vec<PropertyRequirement>,
}

#[derive(Clone, Deserialize)]
struct PropertyRequirement {
    name: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
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
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PickingStatus {
    #[serde(alias = "perClusterPlacementStatuses")]
    placement_statuses: Option<Vec<PickedCluster>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PickedCluster {
    cluster_name: Option<String>,
}

/// A member cluster as the scheduler sees it.
pub(super) struct MemberView {
    pub(super) name: String,
    pub(super) labels: Labels,
    pub(super) taints: Vec<ClusterTaint>,
    /// Properties and resources, as quantities.
    pub(super) properties: BTreeMap<String, String>,
}

/// The picked clusters, by their index, and what a reader should know.
pub(super) struct Picked {
    pub(super) members: Vec<usize>,
    pub(super) notes: Vec<String>,
}

/// Why a placement picks nothing: the field, the reason, and the fix.
pub(super) struct NotPicked {
    pub(super) field: String,
    pub(super) reason: String,
    pub(super) help: String,
}

impl NotPicked {
    fn new(field: impl Into<String>, reason: impl Into<String>, help: &str) -> Self {
        Self { field: field.into(), reason: reason.into(), help: help.to_owned() }
    }
}

impl PickingSpec {
    /// Whether staged update runs update the clusters.
    pub(super) fn is_external(&self) -> bool {
        self.strategy.as_ref().and_then(|strategy| strategy.kind.as_deref()) == Some("External")
    }

    /// The clusters that the placement picks of these.
    ///
    /// # Errors
    /// When a selector is invalid, a property is unknown, or no cluster is picked.
    pub(super) fn pick(&self, status: Option<&PickingStatus>, members: &[MemberView]) -> Result<Picked, NotPicked> {
        let policy = self.policy.clone().unwrap_or_default();
        if policy.placement_type.as_deref() == Some("PickFixed") {
            return policy.fixed(members);
        }
        let mut notes = Vec::new();
        let selected = policy.selected(members)?;
        let (tolerated, tainted): (Vec<usize>, Vec<usize>) =
            selected.iter().copied().partition(|member| policy.tolerates(&members[*member]));
        let unselected = members.len() - selected.len();
        notes.extend(left_out(unselected, "member", "not selected by the placement's affinity"));
        notes.extend(left_out(tainted.len(), "member", "with a taint that the placement does not tolerate"));
        if tolerated.is_empty() {
            let help = "compare its affinity and tolerations with the labels and taints of the members";
            return Err(NotPicked::new("spec.policy", "the placement picks none of the joined member clusters", help));
        }
        if policy.placement_type.as_deref() != Some("PickN") {
            return Ok(Picked { members: tolerated, notes });
        }
        let count = policy.number_of_clusters.unwrap_or(0) as usize;
        let (members, note) = policy.pick_n(count, &tolerated, status, members)?;
        notes.extend(note);
        Ok(Picked { members, notes })
    }
}

impl PickingPolicy {
    fn fixed(&self, members: &[MemberView]) -> Result<Picked, NotPicked> {
        let names = self.cluster_names.clone().unwrap_or_default();
        let mut picked = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match members.iter().position(|member| member.name == *name) {
                Some(index) => picked.push(index),
                None => {
                    let reason = format!("`{name}` is not among the joined member clusters");
                    let help = "export all members: `kubectl get memberclusters -o json`";
                    return Err(NotPicked::new(format!("spec.policy.clusterNames[{at}]"), reason, help));
                }
            }
        }
        picked.sort_unstable();
        picked.dedup();
        if picked.is_empty() {
            let help = "KubeFleet refuses this too; name at least one";
            return Err(NotPicked::new("spec.policy.clusterNames", "the placement names no clusters", help));
        }
        let note = left_out(members.len() - picked.len(), "member", "not named by the placement");
        Ok(Picked { members: picked, notes: note.into_iter().collect() })
    }

    /// The members that one of the required terms selects; without terms all.
    fn selected(&self, members: &[MemberView]) -> Result<Vec<usize>, NotPicked> {
        let affinity = self.affinity.as_ref().and_then(|affinity| affinity.cluster_affinity.as_ref());
        let required = affinity.and_then(|affinity| affinity.required.as_ref());
        let Some(terms) = required.and_then(|required| required.cluster_selector_terms.as_ref()) else {
            return Ok((0..members.len()).collect());
        };
        let mut checked = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            let path = format!(
                "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[{at}]"
            );
            let selector = term.labels().map_err(|error| refused(format!("{path}.labelSelector"), &error))?;
            let requirements = term.property_selector.clone().unwrap_or_default().match_expressions;
            for (number, requirement) in requirements.iter().enumerate() {
                let field = format!("{path}.propertySelector.matchExpressions[{number}]");
                let help = "the members must have the property in `status.properties` or `status.resourceUsage`";
                requirement.check(members).map_err(|reason| NotPicked::new(field, reason, help))?;
            }
            checked.push((selector, requirements));
        }
        let is_selected = |member: &MemberView| {
            checked.iter().any(|(selector, requirements)| {
                selector.as_ref().is_none_or(|selector| selector.matches(&member.labels))
                    && requirements.iter().all(|requirement| requirement.holds(member))
            })
        };
        Ok((0..members.len()).filter(|at| is_selected(&members[*at])).collect())
    }

    /// Follows `ToleratesTaint` of Kubernetes: an empty key with `Exists` tolerates everything.
    fn tolerates(&self, member: &MemberView) -> bool {
        let tolerations = self.tolerations.as_deref().unwrap_or_default();
        let is_by = |taint: &ClusterTaint, toleration: &ClusterToleration| {
            (toleration.effect.is_empty() || toleration.effect == taint.effect)
                && (toleration.key.is_empty() || toleration.key == taint.key)
                && match toleration.operator.as_str() {
                    "Exists" => true,
                    _ => !toleration.key.is_empty() && toleration.value == taint.value,
                }
        };
        member.taints.iter().all(|taint| tolerations.iter().any(|toleration| is_by(taint, toleration)))
    }

    /// The clusters of the status, or those with the highest preference.
    fn pick_n(
        &self,
        count: usize,
        candidates: &[usize],
        status: Option<&PickingStatus>,
        members: &[MemberView],
    ) -> Result<(Vec<usize>, Option<String>), NotPicked> {
        let named = status.and_then(|status| status.placement_statuses.as_ref());
        let names: Vec<&str> =
            named.into_iter().flatten().filter_map(|cluster| cluster.cluster_name.as_deref()).collect();
        let known: Vec<usize> =
            (0..members.len()).filter(|at| names.contains(&members[*at].name.as_str())).take(count).collect();
        if known.len() == count.min(candidates.len()) && !known.is_empty() {
            let note = format!("the {} of the placement's status are its targets", counted(known.len(), "member"));
            return Ok((known, Some(note)));
        }
        let affinity = self.affinity.as_ref().and_then(|affinity| affinity.cluster_affinity.as_ref());
        let preferred = affinity.and_then(|affinity| affinity.preferred.clone()).unwrap_or_default();
        let mut terms = Vec::new();
        for (at, term) in preferred.iter().enumerate() {
            let path = "spec.policy.affinity.clusterAffinity.preferredDuringSchedulingIgnoredDuringExecution";
            let selector = term.preference.labels();
            let selector =
                selector.map_err(|error| refused(format!("{path}[{at}].preference.labelSelector"), &error))?;
            terms.push((term.weight, selector));
        }
        let score = |at: usize| -> i64 {
            let holds = |selector: &Option<CheckedSelector>| {
                selector.as_ref().is_none_or(|selector| selector.matches(&members[at].labels))
            };
            terms.iter().filter(|(_, selector)| holds(selector)).map(|(weight, _)| weight).sum()
        };
        let mut ranked = candidates.to_vec();
        ranked.sort_by(|a, b| score(*b).cmp(&score(*a)).then_with(|| members[*a].name.cmp(&members[*b].name)));
        ranked.truncate(count);
        ranked.sort_unstable();
        if ranked.is_empty() {
            let reason = "the placement asks for no clusters";
            return Err(NotPicked::new("spec.policy.numberOfClusters", reason, "write at least 1"));
        }
        let by = match (self.topology_spread_constraints.is_some(), preferred.iter().any(PreferredTerm::is_sorted)) {
            (false, false) => "by preferred labels, then by name",
            _ => "by preferred labels, then by name, without sorted properties and spread constraints",
        };
        let note = format!(
            "guess: {} of {} are picked {by}; export the placement with its status to have those of the scheduler",
            counted(ranked.len(), "member"),
            candidates.len()
        );
        Ok((ranked, Some(note)))
    }
}

impl PreferredTerm {
    const fn is_sorted(&self) -> bool {
        self.preference.property_sorter.is_some()
    }
}

impl SelectorTerm {
    fn labels(&self) -> Result<Option<CheckedSelector>, SelectorError> {
        self.label_selector.as_ref().map(LabelSelector::check).transpose()
    }
}

fn refused(field: String, error: &SelectorError) -> NotPicked {
    NotPicked::new(field, error.to_string(), "Kubernetes would refuse this selector too")
}

impl PropertyRequirement {
    /// Why it cannot be evaluated.
    fn check(&self, members: &[MemberView]) -> Result<(), String> {
        if !["Gt", "Ge", "Eq", "Ne", "Lt", "Le"].contains(&self.operator.as_str()) {
            return Err(format!("`{}` is no operator; use Gt, Ge, Eq, Ne, Lt or Le", self.operator));
        }
        match self.values.as_slice() {
            [value] if quantity(value).is_some() => {}
            [value] => return Err(format!("`{value}` is no quantity")),
            _ => return Err("exactly one value is required".to_owned()),
        }
        let is_known = members.iter().any(|member| member.properties.contains_key(&self.name));
        if is_known { Ok(()) } else { Err(format!("no member has the property `{}`", self.name)) }
    }

    /// A cluster without the property does not match.
    fn holds(&self, member: &MemberView) -> bool {
        let observed = member.properties.get(&self.name).and_then(|value| quantity(value));
        let (Some(observed), Some(wanted)) = (observed, self.values.first().and_then(|value| quantity(value))) else {
            return false;
        };
        let order = observed.total_cmp(&wanted);
        match self.operator.as_str() {
            "Gt" => order.is_gt(),
            "Ge" => order.is_ge(),
            "Eq" => order.is_eq(),
            "Ne" => order.is_ne(),
            "Lt" => order.is_lt(),
            _ => order.is_le(),
        }
    }
}

/// A Kubernetes quantity: `3`, `500m`, `16Gi`, `1e3`.
fn quantity(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 13] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
    ];
    let suffix = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix));
    let (number, factor) = suffix.map_or((text, 1.0), |(suffix, factor)| (&text[..text.len() - suffix.len()], *factor));
    number.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<MemberView> {
        let member = |(at, name): (usize, &str)| MemberView {
            name: name.to_owned(),
            labels: [("ring".to_owned(), (at / 2).to_string())].into(),
            taints: if name == "d" {
                vec![ClusterTaint { key: "edge".into(), value: "yes".into(), effect: "NoSchedule".into() }]
            } else {
                Vec::new()
            },
            properties: [("kubernetes-fleet.io/node-count".to_owned(), (at + 1).to_string())].into(),
        };
        ["a", "b", "c", "d"].into_iter().enumerate().map(member).collect()
    }

    fn picked(spec: &str, status: &str) -> Result<Vec<String>, String> {
        let spec: PickingSpec = serde_saphyr::from_str(spec).expect("a spec");
        let status: PickingStatus = serde_saphyr::from_str(status).expect("a status");
        let members = members();
        match spec.pick(Some(&status), &members) {
            Ok(picked) => Ok(picked.members.into_iter().map(|at| members[at].name.clone()).collect()),
            Err(not) => Err(format!("{}: {}", not.field, not.reason)),
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
        assert_eq!(picked("policy: {tolerations: [{key: edge, operator: Exists}]}", "{}"), names("abcd"));
        assert_eq!(picked("policy: {tolerations: [{key: edge, value: no}]}", "{}"), names("abc"));
        assert_eq!(picked(&required("{labelSelector: {matchLabels: {ring: '0'}}}"), "{}"), names("ab"));
        let nodes = "{propertySelector: {matchExpressions: [{name: kubernetes-fleet.io/node-count, operator: Ge, values: ['2']}]}}";
        assert_eq!(picked(&required(nodes), "{}"), names("bc"));
        assert_eq!(
            picked("policy: {placementType: PickFixed, clusterNames: [d, a]}", "{}"),
            names("ad"),
            "taints do not matter to named clusters"
        );
        let two = "policy: {placementType: PickN, numberOfClusters: 2, affinity: {clusterAffinity: \
            {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 20, preference: {labelSelector: {matchLabels: {ring: '1'}}}}]}}}";
        assert_eq!(picked(two, "{}"), names("ac"), "the preferred one, then by name");
        assert_eq!(picked(two, "placementStatuses: [{clusterName: b}, {clusterName: c}]"), names("bc"));
    }

    #[test]
    fn a_placement_without_clusters_says_why() {
        for (spec, message) in [
            (
                "policy: {placementType: PickFixed, clusterNames: [x]}",
                "spec.policy.clusterNames[0]: `x` is not among the joined member clusters",
            ),
            (
                "policy: {placementType: PickN, numberOfClusters: 0}",
                "spec.policy.numberOfClusters: the placement asks for no clusters",
            ),
            (
                "policy: {affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: []}}}}",
                "spec.policy: the placement picks none of the joined member clusters",
            ),
        ] {
            assert_eq!(picked(spec, "{}"), Err(message.to_owned()), "{spec}");
        }
    }

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for (text, number) in [
            ("3", Some(3.0)),
            ("500m", Some(0.5)),
            ("2Ki", Some(2048.0)),
            ("1e3", Some(1000.0)),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(quantity(text), number, "{text}");
        }
    }
}
