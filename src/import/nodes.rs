//! The nodes of a typical cluster: how many run pods of the release, and their container runtime.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::draft::NodeFacts;
use super::kinds::NODES;
use super::sources::Texts;
use crate::document::problem::OrProblems;
use crate::scenario::import::object::{KubeCondition, KubeObject, OrDefault};
use crate::units::counted;

/// Labels of control-plane nodes.
const CONTROL_PLANE: [&str; 3] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/controlplane",
];

type NodeObject = KubeObject<NodeJsonSpec, NodeJsonStatus>;

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeJsonSpec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    taints: OrDefault<Vec<NodeTaint>>,
    unschedulable: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeTaint {
    effect: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeJsonStatus {
    node_info: OrDefault<NodeInfo>,
    conditions: OrDefault<Vec<KubeCondition>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeInfo {
    container_runtime_version: String,
    operating_system: String,
    architecture: String,
}

/// The prefixes of `providerID` for cloud nodes.
const CLOUDS: [&str; 3] = ["aws://", "azure://", "gce://"];

/// The reason why a node runs no pods of the release.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unusable {
    Cordoned,
    NotReady,
    Foreign,
}

impl Unusable {
    /// All reasons, in the order in which they are checked.
    const ALL: [Self; 3] = [Self::Cordoned, Self::NotReady, Self::Foreign];

    /// Describes the reason in words.
    const fn in_words(self) -> &'static str {
        match self {
            Self::Cordoned => "cordoned",
            Self::NotReady => "not ready",
            Self::Foreign => "of another platform",
        }
    }
}

/// The facts that were read from nodes.
pub(super) struct ImportedNodes {
    /// The facts about nodes that the experiment needs.
    pub(super) facts: NodeFacts,
    /// One line for each item that was read.
    pub(super) lines: Vec<String>,
}

/// Reads nodes. `platform`: the platform of the images, such as `linux/amd64`.
///
/// # Errors
/// Returns an error if the file is not a list of nodes.
pub(super) fn import(path: &Path, platform: &str, texts: &mut Texts) -> OrProblems<ImportedNodes> {
    let source = texts.read(path, NODES.command)?;
    let read = NODES.read::<NodeObject>(&source)?;
    let nodes: Vec<&NodeObject> = read.found.iter().map(|node| &node.value).collect();
    let workers = workers(&nodes, platform);
    let mut lines = vec![format!(
        "{}: {}, {} of them for pods{}",
        source.name,
        counted(nodes.len(), "node"),
        workers.len(),
        unusable_in_words(&nodes, platform)
    )];
    let version = most_frequent_version(&workers);
    let runtime = version.and_then(runtime_of);
    if let Some(version) = version {
        let file = &source.name;
        lines.push(match runtime {
            Some(runtime) => format!("{file}: {version} is simulated as {runtime}"),
            None => format!("{file}: {version} is not modelled; its runtime is a guess"),
        });
    }
    let facts = NodeFacts {
        count: u32::try_from(workers.len()).unwrap_or(u32::MAX),
        runtime: runtime.map(str::to_owned),
        is_cloud: workers.iter().any(|node| is_of_cloud(node)),
    };
    Ok(ImportedNodes { facts, lines })
}

/// Returns the nodes that run pods of the release.
fn workers<'n>(nodes: &[&'n NodeObject], platform: &str) -> Vec<&'n NodeObject> {
    let mut usable = nodes.to_vec();
    usable.retain(|node| unusable(node, platform).is_none());
    // If no node is usable, the export is from an exceptional time. If every node is a control-plane node, these nodes
    // run pods as well.
    if usable.is_empty() {
        usable = nodes.to_vec();
    }
    let mut workers = usable.clone();
    workers.retain(|node| takes_pods(node));
    if workers.is_empty() {
        return usable;
    }
    workers
}

/// Describes how many nodes run no pods of the release, by reason.
fn unusable_in_words(nodes: &[&NodeObject], platform: &str) -> String {
    let mut text = String::new();
    for reason in Unusable::ALL {
        let mut count = 0;
        for node in nodes {
            if takes_pods(node) && unusable(node, platform) == Some(reason) {
                count += 1;
            }
        }
        if count > 0 {
            text += &format!(", {count} {}", reason.in_words());
        }
    }
    text
}

/// Returns the most frequent container runtime. In a tie, the last one by name is returned.
fn most_frequent_version<'n>(nodes: &[&'n NodeObject]) -> Option<&'n str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        let version = node.status.node_info.container_runtime_version.as_str();
        if !version.is_empty() {
            *counts.entry(version).or_default() += 1;
        }
    }
    let (version, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some(version)
}

/// Returns whether a node is in a cloud that fleetsim recognises.
fn is_of_cloud(node: &NodeObject) -> bool {
    let provider = node.spec.provider_id.as_deref().unwrap_or_default();
    CLOUDS.iter().any(|cloud| provider.starts_with(cloud))
}

/// Returns the reason why a node runs no pods of the release. `None`: it runs them.
fn unusable(node: &NodeObject, platform: &str) -> Option<Unusable> {
    if node.spec.unschedulable {
        return Some(Unusable::Cordoned);
    }
    let mut conditions = node.status.conditions.iter();
    if conditions.any(|condition| condition.kind == "Ready" && condition.status != "True") {
        return Some(Unusable::NotReady);
    }
    is_foreign(node, platform).then_some(Unusable::Foreign)
}

/// Returns whether a node cannot run images of a platform.
fn is_foreign(node: &NodeObject, platform: &str) -> bool {
    let NodeInfo {
        operating_system,
        architecture,
        ..
    } = &*node.status.node_info;
    let system = if operating_system.is_empty() {
        "linux"
    } else {
        operating_system
    };
    let of_node = format!("{system}/{architecture}");
    !architecture.is_empty() && platform != of_node && !platform.starts_with(&format!("{of_node}/"))
}

/// Returns whether pods of a release can run on a node: it is not a control-plane node, or no taint excludes them.
fn takes_pods(node: &NodeObject) -> bool {
    let labels = &node.metadata.labels;
    let mut marks = CONTROL_PLANE.iter();
    let is_control_plane = marks.any(|mark| labels.contains_key(*mark));
    let mut taints = node.spec.taints.iter();
    let is_tainted =
        taints.any(|taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute");
    !is_control_plane || !is_tainted
}

/// Returns the simulated runtime for a `containerRuntimeVersion` such as `containerd://1.7.13-k3s1`. Older versions of
/// containerd are treated as 1.7.
fn runtime_of(version: &str) -> Option<&'static str> {
    let (name, number) = version.split_once("://")?;
    if name == "cri-o" {
        return Some("cri-o");
    }
    let mut parts = number.split(['.', '-', '+']);
    let major: u32 = parts.next()?.parse().ok()?;
    let minor: u32 = parts.next()?.parse().ok()?;
    match (name, major, minor) {
        ("containerd", 0..=1, _) => Some("containerd-1.7"),
        ("containerd", 2, 0) => Some("containerd-2.0"),
        ("containerd", 2, 1..=3) => Some("containerd-2.1"),
        ("containerd", ..) => Some("containerd-2.4"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_runtimes_are_imported() {
        for (version, runtime) in [
            ("containerd://1.7.13-k3s1", Some("containerd-1.7")),
            ("containerd://1.6.8", Some("containerd-1.7")),
            ("containerd://2.0.5", Some("containerd-2.0")),
            ("containerd://2.2.0", Some("containerd-2.1")),
            ("containerd://2.4.0-beta.0", Some("containerd-2.4")),
            ("cri-o://1.29.1", Some("cri-o")),
            ("docker://20.10.7", None),
            ("x", None),
        ] {
            assert_eq!(runtime_of(version), runtime, "{version}");
        }
    }
}
