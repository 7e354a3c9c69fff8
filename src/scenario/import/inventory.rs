//! Clusters and cluster groups as kubectl prints Rancher Fleet's objects.
//!
//! Only the fields of a `Cluster` that affect a rollout are read (`pkg/apis/fleet.cattle.io/v1alpha1/cluster_types.go`
//! of rancher/fleet at 3b2c622): `metadata.name`, `.namespace` and `.labels`, `spec.paused`, `status.namespace`, and
//! whether and when an agent has reported (`status.agent.lastSeen`, `status.display.state`; older versions wrote
//! `status.agent.readyNodes` and `nonReadyNodes`). The objects do not contain links.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::document::problem::{OrProblems, Problem, Source, some_of};
use crate::products::FleetGroup;
use crate::rollout::label_selector::LabelSelector;
use crate::rollout::rancher_fleet::ClusterGroup;
use crate::units::Share;
use crate::world::{
    AutoscalingSpec, ClusterSpec, DurationModel, FactorModel, GapSpec, MOST_NODES, RateModel,
    SiteKind,
};

use super::object::{IgnoredPart, KubeObject, OrDefault};
use super::objects::{self, ReadObject, name_problems};
use crate::scenario::worded::WordedProblem;

/// The information about one cluster in an inventory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InventoryCluster {
    /// Fleet's workspace, which is the cluster's namespace.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) paused: bool,
    pub(crate) registered: bool,
    /// Whether the cluster is offline when the rollout starts. Only tables contain this.
    pub(crate) offline: bool,
    /// The time of the agent's last report, in RFC 3339.
    pub(crate) last_seen: Option<String>,
    /// The nodes and the link in the inventory. Only tables contain links.
    pub(crate) link: LinkFields,
}

/// Fleet's default workspace for downstream clusters. The management cluster itself is in `fleet-local`.
const DEFAULT_WORKSPACE: &str = "fleet-default";

/// A Fleet cluster as kubectl prints it.
pub(crate) type ClusterObject = KubeObject<ClusterJsonSpec, ClusterJsonStatus>;

/// A Fleet cluster group as kubectl prints it.
pub(crate) type GroupObject = KubeObject<GroupJsonSpec, IgnoredPart>;

/// The relevant part of a cluster's specification.
#[derive(Default, Deserialize)]
pub(crate) struct ClusterJsonSpec {
    paused: OrDefault<bool>,
}

/// The relevant part of a cluster's status.
#[derive(Default, Deserialize)]
pub(crate) struct ClusterJsonStatus {
    namespace: OrDefault<String>,
    agent: Option<AgentJson>,
    display: OrDefault<DisplayJson>,
}

#[derive(Default, Deserialize)]
struct DisplayJson {
    state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgentJson {
    last_seen: Option<String>,
    ready_nodes: Option<u32>,
    non_ready_nodes: Option<u32>,
}

/// The relevant part of a group's specification.
#[derive(Default, Deserialize)]
pub(crate) struct GroupJsonSpec {
    selector: Option<LabelSelector>,
}

/// Reads the clusters in a file, at least one.
///
/// # Errors
/// Returns all problems of the file.
pub(crate) fn clusters(source: &Arc<Source>) -> Result<Vec<InventoryCluster>, Vec<Problem>> {
    let command = "kubectl get clusters.fleet.cattle.io -A -o json";
    let objects: Vec<ClusterObject> = objects(source, "Cluster", command)?;
    if objects.is_empty() {
        let help = format!("check the context and the permissions with which `{command}` was run");
        return Err(vec![
            source
                .at(0..0, "items", "the inventory contains no clusters")
                .with_help(help),
        ]);
    }
    Ok(of_objects(&objects))
}

/// Reads the cluster groups in a workspace. There may be none.
///
/// # Errors
/// Returns all problems of the file.
pub(crate) fn groups(source: &Arc<Source>, space: &str) -> Result<Vec<FleetGroup>, Vec<Problem>> {
    let command = "kubectl get clustergroups.fleet.cattle.io -A -o json";
    Ok(groups_of_workspace(
        objects(source, "ClusterGroup", command)?,
        space,
    ))
}

/// Returns the groups that can contain clusters of a workspace, with their selectors. A group has members only in its
/// own namespace. If the clusters or the group have no namespace, the namespaces are assumed to be equal.
pub(crate) fn groups_of_workspace(objects: Vec<GroupObject>, space: &str) -> Vec<FleetGroup> {
    let mut groups = Vec::new();
    for object in objects {
        let own = object.namespace();
        if !own.is_empty() && !space.is_empty() && own != space {
            continue;
        }
        let group = ClusterGroup {
            name: object.name().to_owned(),
            labels: object.labels(),
        };
        groups.push((Arc::new(group), object.spec.0.selector));
    }
    groups
}

/// The displayed state of a cluster whose agent has never reported.
const NEVER_REPORTED: &str = "WaitCheckIn";

/// Returns the clusters in one file. If some clusters have `status.agent`, those without it count as having no agent.
pub(crate) fn of_objects(objects: &[ClusterObject]) -> Vec<InventoryCluster> {
    let has_agents = objects.iter().any(|object| object.status.agent.is_some());
    objects
        .iter()
        .map(|object| InventoryCluster::of(object, has_agents))
        .collect()
}

impl ClusterJsonStatus {
    /// Returns whether an agent reports. The existence of the cluster's namespace is not sufficient, because Fleet
    /// creates it earlier. `has_agents`: whether the file shows which agents report.
    fn is_registered(&self, has_agents: bool) -> bool {
        let never = self.display.state.as_deref() == Some(NEVER_REPORTED);
        let reports = match &self.agent {
            Some(agent) => agent.has_reported(),
            None => !has_agents,
        };
        !self.namespace.is_empty() && reports && !never
    }
}

impl AgentJson {
    fn has_reported(&self) -> bool {
        let seen = self.last_seen.as_deref().unwrap_or_default();
        !seen.is_empty() || self.ready_nodes.is_some() || self.non_ready_nodes.is_some()
    }

    /// Returns the number of nodes that the cluster reports.
    fn nodes(&self) -> u32 {
        let ready = self.ready_nodes.unwrap_or(0);
        ready.saturating_add(self.non_ready_nodes.unwrap_or(0))
    }
}

impl InventoryCluster {
    fn of(object: &ClusterObject, has_agents: bool) -> Self {
        let agent = object.status.agent.as_ref();
        let nodes = agent
            .map(AgentJson::nodes)
            .filter(|nodes| (1..=MOST_NODES).contains(nodes))
            .map(FactorModel::from);
        Self {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            labels: object.labels(),
            paused: *object.spec.paused,
            registered: object.status.is_registered(has_agents),
            offline: false,
            last_seen: agent.and_then(|agent| agent.last_seen.clone()),
            link: LinkFields {
                nodes,
                ..LinkFields::default()
            },
        }
    }
}

/// Settings of clusters, with the same fields as a group of `fleet`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LinkFields {
    /// Number of worker nodes; drawn for each cluster, rounded, at least one.
    pub(crate) nodes: Option<FactorModel>,
    /// Nodes that join while pods wait for room.
    pub(crate) autoscaling: Option<AutoscalingSpec>,
    /// The kind of site, which sets the defaults of `downlink`, `rtt`, `loss` and `gaps`.
    pub(crate) site: Option<SiteKind>,
    /// Total rate at which a cluster's nodes can receive from outside; drawn for each cluster.
    pub(crate) downlink: Option<RateModel>,
    /// Round trip to the registry; drawn for each cluster.
    pub(crate) rtt: Option<DurationModel>,
    /// Share of segments lost on the way from the registry, which limits each connection.
    pub(crate) loss: Option<Share>,
    /// Gaps in which nothing arrives over the cluster's link.
    pub(crate) gaps: Option<GapSpec>,
    /// The shared link in front of the cluster: a name in `regions`.
    pub(crate) region: Option<String>,
    /// Index of the shared link in `regions`.
    #[serde(skip)]
    pub(crate) region_index: Option<usize>,
}

impl LinkFields {
    /// Copies the fields that are set to a cluster.
    pub(crate) fn apply(&self, cluster: &mut ClusterSpec) {
        fn set<T: Clone>(to: &mut T, from: &Option<T>) {
            if let Some(from) = from {
                to.clone_from(from);
            }
        }
        set(&mut cluster.nodes, &self.nodes);
        if let Some(site) = self.site {
            cluster.take_links_of(site);
        }
        set(&mut cluster.downlink, &self.downlink);
        set(&mut cluster.rtt, &self.rtt);
        set(&mut cluster.loss, &self.loss);
        cluster.autoscaling = self.autoscaling.clone().or(cluster.autoscaling.take());
        cluster.gaps = self.gaps.clone().or(cluster.gaps.take());
        cluster.region = self.region_index.or(cluster.region);
    }
}

/// Returns a workspace and its clusters, which are the targets, because a bundle's targets are in its own namespace.
///
/// # Errors
/// Returns an error if the `wanted` workspace does not exist, or if none is requested and there are several. `choose`
/// is the advice on choosing one.
pub(crate) fn of_workspace<'c>(
    clusters: &'c [InventoryCluster],
    wanted: Option<&str>,
    choose: &str,
) -> Result<(&'c str, Vec<&'c InventoryCluster>), WordedProblem> {
    let spaces: BTreeSet<&str> = clusters
        .iter()
        .map(|cluster| cluster.namespace.as_str())
        .collect();
    let mut found = spaces.get(wanted.unwrap_or(DEFAULT_WORKSPACE));
    if found.is_none() && wanted.is_none() && spaces.len() == 1 {
        found = spaces.first();
    }
    let Some(&space) = found else {
        let names: Vec<String> = spaces.iter().map(|name| (*name).to_owned()).collect();
        let names = some_of(&names);
        return Err(match wanted {
            Some(name) => WordedProblem::new(
                format!("the inventory has no clusters in the namespace `{name}`"),
                format!("it has clusters in {names}"),
            ),
            None => WordedProblem::new(
                format!("the inventory has clusters in {} namespaces", spaces.len()),
                format!("a bundle has targets in only one; {choose} one of {names}"),
            ),
        });
    };
    let mut own = Vec::new();
    for cluster in clusters {
        if cluster.namespace == space {
            own.push(cluster);
        }
    }
    Ok((space, own))
}

/// Returns the objects of a list, a bare array or a single object. Each must be of the right kind and have a unique
/// name.
fn objects<Spec, Status>(
    source: &Arc<Source>,
    kind: &str,
    command: &str,
) -> OrProblems<Vec<KubeObject<Spec, Status>>>
where
    Spec: Default + DeserializeOwned,
    Status: Default + DeserializeOwned,
{
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for object in objects::objects(source)? {
        let value: KubeObject<Spec, Status> = object.read()?;
        let is_kind = value.kind.as_deref().is_none_or(|found| found == kind);
        let is_fleet = value
            .api_version
            .as_deref()
            .is_none_or(|version| version.starts_with("fleet.cattle.io/"));
        if is_kind && is_fleet {
            found.push(ReadObject { object, value });
            continue;
        }
        let found_kind = value.kind.as_deref().unwrap_or("thing");
        let api = value.api_version.as_deref().unwrap_or("no API");
        let message = format!("this is a {found_kind} of {api}, not a {kind} of fleet.cattle.io");
        problems.push(
            object
                .problem("", message)
                .with_help(format!("write the file with `{command}`")),
        );
    }
    problems.extend(name_problems(&found));
    if problems.is_empty() {
        Ok(found.into_iter().map(|read| read.value).collect())
    } else {
        Err(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source::new("clusters.json", text))
    }

    fn errors<T: std::fmt::Debug>(result: Result<T, Vec<Problem>>) -> Vec<String> {
        result
            .expect_err("wrong")
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    const CLUSTER: &str = r#"{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "store-1", "namespace": "fleet-default", "labels": {"env": "prod"}},
        "spec": {"paused": true}, "status": {"namespace": "cluster-fleet-default-store-1", "agent": {"readyNodes": 2, "nonReadyNodes": 1}}}"#;

    #[test]
    fn a_list_an_array_and_a_single_object_are_read() {
        let expected = InventoryCluster {
            namespace: "fleet-default".into(),
            name: "store-1".into(),
            labels: [("env".to_owned(), "prod".to_owned())].into(),
            paused: true,
            registered: true,
            offline: false,
            last_seen: None,
            link: LinkFields {
                nodes: Some(3.into()),
                ..LinkFields::default()
            },
        };
        for text in [
            format!("{{\"kind\": \"List\", \"items\": [{CLUSTER}]}}"),
            format!("[{CLUSTER}]"),
            CLUSTER.to_owned(),
        ] {
            assert_eq!(
                clusters(&source(&text)).ok(),
                Some(vec![expected.clone()]),
                "{text}"
            );
        }
        let bare = clusters(&source(
            r#"[{"metadata": {"name": "x"}, "spec": {}, "status": {"agent": {}}}]"#,
        ));
        let unregistered = InventoryCluster {
            namespace: String::new(),
            name: "x".into(),
            labels: BTreeMap::new(),
            paused: false,
            registered: false,
            offline: false,
            last_seen: None,
            link: LinkFields::default(),
        };
        assert_eq!(
            bare.ok(),
            Some(vec![unregistered]),
            "no namespace yet, no nodes told"
        );
    }

    #[test]
    fn clusters_without_any_agent_report_are_not_registered() {
        let seen = r#"{"lastSeen": "2026-03-02T08:00:00Z", "namespace": "cattle-fleet-system"}"#;
        for (status, is_registered, why) in [
            (format!(r#""agent": {seen}"#), true, "it has reported"),
            (
                r#""agent": {"lastSeen": null, "namespace": ""}"#.to_owned(),
                false,
                "a time that is null",
            ),
            (r#""agent": {}"#.to_owned(), false, "nothing of an agent"),
            (
                r#""display": {"readyBundles": "0/0"}"#.to_owned(),
                false,
                "no agent, as others have",
            ),
            (
                format!(r#""agent": {seen}, "display": {{"state": "WaitCheckIn"}}"#),
                false,
                "Fleet waits for it",
            ),
        ] {
            let text = format!(
                r#"[{{"metadata": {{"name": "other"}}, "status": {{"namespace": "o", "agent": {seen}}}}},
                    {{"metadata": {{"name": "x"}}, "status": {{"namespace": "cluster-x", {status}}}}}]"#
            );
            let found = clusters(&source(&text)).unwrap_or_else(|problems| panic!("{problems:?}"));
            assert_eq!(found[1].registered, is_registered, "{why}: {status}");
        }
        let without = r#"[{"metadata": {"name": "x"}, "status": {"namespace": "cluster-x"}}]"#;
        assert!(
            clusters(&source(without)).is_ok_and(|found| found[0].registered),
            "the file says nothing of agents"
        );
    }

    #[test]
    fn yaml_is_read_like_json_and_names_of_digits_stay_text() {
        let yaml = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: fleet.cattle.io/v1alpha1\n  kind: Cluster\n  \
                    metadata: {name: 0008, namespace: fleet-default, labels: {store: 0008, tier: \"1\"}}\n  \
                    spec: {}\n  status: {namespace: x}\n";
        let found = clusters(&source(yaml)).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(
            (found[0].name.as_str(), found[0].labels["store"].as_str()),
            ("0008", "0008")
        );
    }

    #[test]
    fn groups_are_read_with_their_selector() {
        let text = r#"{"items": [{"kind": "ClusterGroup", "metadata": {"name": "g", "labels": {"tier": "1"}},
            "spec": {"selector": {"matchLabels": {"env": "prod"}}}}, {"metadata": {"name": "h"}, "spec": {}}]}"#;
        let read = groups(&source(text), "fleet-default")
            .unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(read[0].1.as_ref().map(|s| s.match_labels.len()), Some(1));
        assert_eq!((read[1].0.name.as_str(), &read[1].1), ("h", &None));
    }

    #[test]
    fn groups_of_other_workspaces_are_left_out() {
        let text = r#"[{"metadata": {"name": "eu", "namespace": "fleet-default"}, "spec": {}},
            {"metadata": {"name": "eu", "namespace": "other"}, "spec": {"selector": {}}}]"#;
        let selectors = |space: &str| -> Vec<bool> {
            let read =
                groups(&source(text), space).unwrap_or_else(|problems| panic!("{problems:?}"));
            read.iter()
                .map(|(_, selector)| selector.is_some())
                .collect()
        };
        assert_eq!(selectors("fleet-default"), [false]);
        assert_eq!(selectors("other"), [true]);
        assert_eq!(
            selectors(""),
            [false, true],
            "clusters of a table have no namespace"
        );
    }

    #[test]
    fn a_file_that_is_not_an_inventory_is_refused_with_the_fix() {
        let two = format!("[{CLUSTER},\n{CLUSTER}]");
        for (text, message) in [
            (
                r#"{"kind": "List", "items": []}"#,
                "clusters.json:1:1: items: the inventory contains no clusters (help: check the context and the \
                 permissions with which `kubectl get clusters.fleet.cattle.io -A -o json` was run)",
            ),
            (
                r#"{"kind": "List"}"#,
                "clusters.json:1:1: this is a List of no API, not a Cluster of fleet.cattle.io (help: write the file with \
                 `kubectl get clusters.fleet.cattle.io -A -o json`)",
            ),
            (
                r#"[{"apiVersion": "management.cattle.io/v3", "kind": "Cluster", "metadata": {"name": "x"}}]"#,
                "clusters.json:1:2: [0]: this is a Cluster of management.cattle.io/v3, not a Cluster of fleet.cattle.io \
                 (help: write the file with `kubectl get clusters.fleet.cattle.io -A -o json`)",
            ),
            (
                r#"[{"metadata": {}}]"#,
                "clusters.json:1:3: [0].metadata: the object has no `metadata.name` (help: export whole objects, with \
                 `-o json` or `-o yaml`)",
            ),
            (
                two.as_str(),
                "clusters.json:5:30: [1].metadata.name: two objects are named `store-1` in the same \
                 namespace (help: keep one; export every object only once)",
            ),
            (
                "{\"items\": [\n{\"metadata\": {\"name\": \"store",
                "clusters.json:2:28: the JSON ends too early: EOF while parsing a string (help: the file is cut off; \
                 rerun the command that wrote it)",
            ),
        ] {
            assert_eq!(errors(clusters(&source(text))), [message], "{text}");
        }
    }
}
