//! The nodes of a typical cluster: how many take pods, and their container runtime.

use std::path::Path;

use itertools::Itertools;
use serde::Deserialize;

use super::draft::NodeFacts;
use super::kinds::NODES;
use super::sources::Texts;
use crate::document::problem::OrProblems;
use crate::scenario::import::object::{KubeCondition, KubeObject, OrDefault};
use crate::units::counted;

/// Labels of nodes that run the control plane.
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

/// The starts of `providerID` in clouds.
const CLOUDS: [&str; 3] = ["aws://", "azure://", "gce://"];

/// Why a node takes no pods of the release, in the order in which it is counted.
const REASONS: [&str; 3] = ["cordoned", "not ready", "of another platform"];

/// Reads nodes. `platform`: that of the images, `linux/amd64`.
///
/// # Errors
/// When the file is no list of nodes.
pub(super) fn import(
    path: &Path,
    platform: &str,
    texts: &mut Texts,
) -> OrProblems<(NodeFacts, Vec<String>)> {
    let source = texts.read(path, NODES.command)?;
    let read = NODES.read::<NodeObject>(&source)?;
    let all = read.found.len();
    let nodes = || read.found.iter().map(|node| &node.value);
    let usable: Vec<&NodeObject> = nodes()
        .filter(|node| unusable(node, platform).is_none())
        .collect();
    // Where none is usable, the export is of a bad day; where every node runs the control plane, they take pods too.
    let usable = if usable.is_empty() {
        nodes().collect()
    } else {
        usable
    };
    let workers: Vec<&NodeObject> = usable
        .iter()
        .copied()
        .filter(|node| takes_pods(node))
        .collect();
    let workers = if workers.is_empty() { usable } else { workers };
    let counts = REASONS.iter().enumerate().map(|(at, reason)| {
        (
            nodes()
                .filter(|node| takes_pods(node) && unusable(node, platform) == Some(at))
                .count(),
            reason,
        )
    });
    let others: String = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!(", {count} {reason}"))
        .collect();
    let mut lines = vec![format!(
        "{}: {}, {} of them for pods{others}",
        source.name,
        counted(all, "node"),
        workers.len()
    )];
    let versions = workers
        .iter()
        .map(|node| node.status.node_info.container_runtime_version.as_str());
    let counts = versions
        .filter(|version| !version.is_empty())
        .counts()
        .into_iter()
        .sorted();
    let most = counts
        .max_by_key(|(_, count)| *count)
        .map(|(version, _)| version);
    let runtime = most.and_then(runtime_of);
    lines.extend(most.map(|version| match runtime {
        Some(runtime) => format!("{}: {version} is simulated as {runtime}", source.name),
        None => format!(
            "{}: {version} is not modelled; its runtime is a guess",
            source.name
        ),
    }));
    let count = u32::try_from(workers.len()).unwrap_or(u32::MAX);
    let is_cloud = workers.iter().any(|node| {
        let provider = node.spec.provider_id.as_deref().unwrap_or_default();
        CLOUDS.iter().any(|cloud| provider.starts_with(cloud))
    });
    Ok((
        NodeFacts {
            count,
            runtime: runtime.map(str::to_owned),
            is_cloud,
        },
        lines,
    ))
}

/// Why a node takes no pods of the release: the number of the reason.
fn unusable(node: &NodeObject, platform: &str) -> Option<usize> {
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
    let is_foreign = !architecture.is_empty()
        && platform != of_node
        && !platform.starts_with(&format!("{of_node}/"));
    let reasons = [
        node.spec.unschedulable,
        node.status
            .conditions
            .iter()
            .any(|condition| condition.kind == "Ready" && condition.status != "True"),
        is_foreign,
    ];
    reasons.iter().position(|is_so| *is_so)
}

fn takes_pods(node: &NodeObject) -> bool {
    let is_control_plane = CONTROL_PLANE
        .iter()
        .any(|label| node.metadata.labels.contains_key(*label));
    !is_control_plane
        || !node
            .spec
            .taints
            .iter()
            .any(|taint| taint.effect == "NoSchedule" || taint.effect == "NoExecute")
}

/// The simulated runtime of a `containerRuntimeVersion`: `containerd://1.7.13-k3s1`. Older ones of containerd are like
/// 1.7.
fn runtime_of(version: &str) -> Option<&'static str> {
    let (name, number) = version.split_once("://")?;
    if name == "cri-o" {
        return Some("cri-o");
    }
    let mut parts = number.split(['.', '-', '+']).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return None;
    };
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
    fn runtimes_are_those_that_the_model_knows() {
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
