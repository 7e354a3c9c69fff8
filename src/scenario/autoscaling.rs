//! `fleet[*].autoscaling`: nodes that join while pods wait, and settings of it that have no effect.

use super::check::Checker;
use crate::document::path::Path;
use crate::units::counted;
use crate::world::{AutoscalingSpec, MOST_NODES, WorkloadKind, WorldSpec, deployment_limits};

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
        for application in &world.applications {
            for workload in &application.workloads {
                has_deployment |= matches!(workload.kind, WorkloadKind::Deployment { .. });
            }
        }
        let mut clusters = world.clusters.iter();
        let Some(cluster) = clusters.position(|one| one.autoscaling.is_some()) else {
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
        if let Some(TooFewNodes { message, help }) = TooFewNodes::of(world, cluster) {
            self.report(&path, message, help);
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

/// A maximum of nodes with which a run cannot end.
struct TooFewNodes {
    message: String,
    help: &'static str,
}

impl TooFewNodes {
    /// Returns the problem of the maximum of nodes of the cluster with this index. `None`: it has none.
    fn of(world: &WorldSpec, at: usize) -> Option<Self> {
        let cluster = &world.clusters[at];
        let autoscaling = cluster.autoscaling.as_ref()?;
        let AutoscalingSpec {
            max_nodes,
            pods_per_node,
            ..
        } = *autoscaling;
        let start = cluster.mean_nodes().round() as u32;
        if start > max_nodes {
            return Some(Self {
                message: format!(
                    "the cluster starts with {} and has at most {max_nodes}",
                    counted(start, "node")
                ),
                help: "raise `maxNodes`, or lower `minNodes` or `nodes`",
            });
        }
        let pods = world.deployed_pods(at);
        let room = u64::from(max_nodes) * u64::from(pods_per_node);
        let have = if max_nodes == 1 { "has" } else { "have" };
        let nodes = format!("{} {have} room for", counted(max_nodes, "node"));
        if pods > room {
            return Some(Self {
                message: format!("{nodes} {room} of {pods} pods"),
                help: "raise `maxNodes` or `podsPerNode`, or lower `replicas`",
            });
        }
        if pods == room && world.runs_anything(at) && has_only_surge(world, at) {
            return Some(Self {
                message: format!(
                    "{nodes} {}, and an update needs one more, because none may be unavailable",
                    counted(room, "pod")
                ),
                help: "raise `maxNodes` or `podsPerNode`, or write e.g. `maxUnavailable: 1`",
            });
        }
        None
    }
}

/// Returns whether every Deployment of a cluster is updated with an additional pod and without a missing one.
fn has_only_surge(world: &WorldSpec, cluster: usize) -> bool {
    for application in world.applications_on(cluster) {
        for workload in &application.workloads {
            if let WorkloadKind::Deployment {
                replicas,
                max_unavailable,
                max_surge,
                ..
            } = workload.kind
            {
                let (_, unavailable) = deployment_limits(replicas, max_surge, max_unavailable);
                if unavailable > 0 {
                    return false;
                }
            }
        }
    }
    true
}
