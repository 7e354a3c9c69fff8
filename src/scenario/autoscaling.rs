//! `fleet[*].autoscaling`: nodes that join while pods wait, and settings of it that have no effect.

use super::check::Checker;
use crate::document::path::Path;
use crate::world::{AutoscalingSpec, ClusterSpec, MOST_NODES, WorkloadKind, WorldSpec};

impl Checker<'_> {
    /// Checks the nodes that join clusters of a group.
    pub(super) fn autoscaling(&mut self, path: &Path, autoscaling: &mut AutoscalingSpec) {
        if autoscaling.min_nodes.is_some() && self.is_set(&path.key("nodes")) {
            self.report(
                &path.key("nodes"),
                "`nodes` has no effect beside `autoscaling.minNodes`",
                "remove one of them: both are the number of nodes at the start",
            );
        }
        let path = path.key("autoscaling");
        self.resolve(&path.key("decision"), &mut autoscaling.decision);
        self.resolve(&path.key("provisioning"), &mut autoscaling.provisioning);
        if autoscaling.max_nodes > MOST_NODES {
            let help = format!("write at most {MOST_NODES}");
            self.report(&path.key("maxNodes"), "too many nodes", &help);
        }
        if !autoscaling.provisioning.mean().is_finite() {
            self.report(
                &path.key("provisioning"),
                "the mean must be finite",
                "write e.g. `90 s`",
            );
        }
    }

    /// Reports nodes that can never join, or whose room limits nothing.
    pub(super) fn autoscaling_effects(&mut self, world: &WorldSpec) {
        let mut has_deployment = false;
        for workload in &world.workloads {
            has_deployment |= matches!(workload.kind, WorkloadKind::Deployment { .. });
        }
        let Some(cluster) = world.clusters.iter().find(|one| one.autoscaling.is_some()) else {
            return;
        };
        let path = self.place_of_autoscaling();
        if !has_deployment {
            self.report(
                &path,
                "`autoscaling` has no effect: pods of DaemonSets never wait for room",
                "remove it, or add a workload of kind `Deployment`",
            );
            return;
        }
        if let Some(problem) = too_few_nodes(world, cluster) {
            let help = "raise `maxNodes` or `podsPerNode`, or lower `replicas` or `nodes`";
            self.report(&path, problem, help);
        }
    }

    /// Returns the path of the first `autoscaling` in the file.
    fn place_of_autoscaling(&self) -> Path {
        let groups = self.tree.get(&Path::of("fleet"));
        for index in 0..groups.map_or(0, |fleet| fleet.items().len()) {
            let path = Path::of("fleet").index(index).key("autoscaling");
            if self.is_set(&path) {
                return path;
            }
        }
        let inventory = Path::of("inventory");
        let rules = self.tree.get(&inventory.key("links"));
        for index in 0..rules.map_or(0, |links| links.items().len()) {
            let path = inventory.key("links").index(index).key("autoscaling");
            if self.is_set(&path) {
                return path;
            }
        }
        let path = inventory.key("default").key("autoscaling");
        if self.is_set(&path) { path } else { inventory }
    }
}

/// Returns why the maximum of a cluster's nodes cannot be right, if it cannot.
fn too_few_nodes(world: &WorldSpec, cluster: &ClusterSpec) -> Option<String> {
    let autoscaling = cluster.autoscaling.as_ref()?;
    let AutoscalingSpec {
        max_nodes,
        pods_per_node,
        ..
    } = *autoscaling;
    let start = cluster.mean_nodes();
    if start > f64::from(max_nodes) {
        return Some(format!(
            "the cluster starts with {start} nodes and has at most {max_nodes}"
        ));
    }
    let pods = world.deployed_pods();
    let room = u64::from(max_nodes) * u64::from(pods_per_node);
    (pods > room).then(|| format!("{max_nodes} nodes have room for {room} of {pods} pods"))
}
