//! The pods of a workload in a cluster, and its controller's decisions about them.
//!
//! `rolling` determines how many pods change. This file counts them, chooses nodes for new pods, and selects old ones.

use std::ops::Range;

use crate::world::clusters::pod::Pod;
use crate::world::clusters::progress_deadline::{PodCounts, Progressing};
use crate::world::clusters::rolling::{ReplicaCounts, deployment_limits};
use crate::world::clusters::spec::{WorkloadKind, WorkloadSpec};
use crate::world::ids::{NodeId, PodId};
use crate::world::nodes::node::NodeState;
use fleetsim_rollout::Revision;
use fleetsim_units::SimTime;

/// The pods of one workload in one cluster.
#[derive(Debug, Default)]
pub(crate) struct WorkloadState {
    /// The revision of the workload's pod template. `None` before the first apply.
    pub(crate) desired: Option<Revision>,
    /// The workload's pods without terminating ones, oldest first.
    pub pods: Vec<PodId>,
    /// Nodes on which a pod of the workload is terminating (one entry per pod).
    pub(crate) terminating: Vec<NodeId>,
    pub(crate) progressing: Progressing,
    /// The time since when all pods run the new revision and are available. `None`: they are not, or the world has no
    /// other workload.
    pub(crate) ready_since: Option<SimTime>,
}

impl WorkloadState {
    /// Returns the workload's pods without terminating ones, oldest first.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodId> {
        self.pods.iter()
    }

    /// Returns whether a pod has the workload's current template.
    fn is_current(&self, pod: &Pod) -> bool {
        Some(pod.revision) == self.desired
    }

    /// Returns whether the workload has exactly the desired pods for a cluster of `nodes` nodes, all available and
    /// with its current template.
    pub(super) fn is_settled(&self, spec: &WorkloadSpec, nodes: usize, pods: &[Pod]) -> bool {
        let wanted = match spec.kind {
            WorkloadKind::Deployment { replicas, .. } => replicas as usize,
            WorkloadKind::DaemonSet { .. } => nodes,
        };
        self.desired.is_some()
            && self.pods.len() == wanted
            && self.pods.iter().all(|pod| {
                let pod = &pods[pod.index()];
                pod.available && self.is_current(pod)
            })
    }

    /// Returns the counts in the workload's status.
    pub(super) fn counts(&self, pods: &[Pod]) -> PodCounts {
        let mut counts = PodCounts::default();
        for pod in &self.pods {
            let pod = &pods[pod.index()];
            if self.is_current(pod) {
                counts.updated += 1;
            } else {
                counts.old += 1;
            }
            counts.ready += u32::from(pod.ready);
            counts.available += u32::from(pod.available);
        }
        counts
    }

    /// Returns the counts that the controller of a Deployment uses.
    pub(super) fn replica_counts(&self, kind: &WorkloadKind, pods: &[Pod]) -> ReplicaCounts {
        let WorkloadKind::Deployment {
            replicas,
            max_unavailable,
            max_surge,
            ..
        } = *kind
        else {
            unreachable!("only a Deployment counts replicas");
        };
        let (surge, unavailable) = deployment_limits(replicas, max_surge, max_unavailable);
        let mut counts = ReplicaCounts {
            replicas,
            surge,
            unavailable,
            ..ReplicaCounts::default()
        };
        for pod in &self.pods {
            let pod = &pods[pod.index()];
            let available = u32::from(pod.available);
            if self.is_current(pod) {
                counts.new += 1;
                counts.new_available += available;
            } else {
                counts.old += 1;
                counts.old_available += available;
            }
        }
        counts
    }

    /// Returns the node with the fewest pods of this revision; of several, the one with the fewest pods of the
    /// workload. Ready nodes are preferred. The scheduler spreads the pods of a ReplicaSet (default constraints of
    /// `PodTopologySpread`, kubernetes/kubernetes `pkg/scheduler/framework/plugins/podtopologyspread`).
    pub(super) fn least_loaded_node(
        &self,
        nodes: Range<usize>,
        states: &[NodeState],
        pods: &[Pod],
    ) -> NodeId {
        let mut current = vec![0_u32; nodes.len()];
        let mut all = vec![0_u32; nodes.len()];
        for pod in &self.pods {
            let pod = &pods[pod.index()];
            let at = pod.node.index() - nodes.start;
            current[at] += u32::from(self.is_current(pod));
            all[at] += 1;
        }
        let at = (0..nodes.len())
            .min_by_key(|&at| (!states[nodes.start + at].ready, current[at], all[at], at))
            .expect("a cluster has a node");
        NodeId::at(nodes.start + at)
    }

    /// Like [`WorkloadState::least_loaded_node`], of the nodes that have room. `None`: none has.
    pub(super) fn least_loaded_of(
        &self,
        nodes: Range<usize>,
        has_room: &[bool],
        states: &[NodeState],
        pods: &[Pod],
    ) -> Option<NodeId> {
        let mut current = vec![0_u32; nodes.len()];
        let mut all = vec![0_u32; nodes.len()];
        for pod in &self.pods {
            let pod = &pods[pod.index()];
            if pod.has_node() {
                let at = pod.node.index() - nodes.start;
                current[at] += u32::from(self.is_current(pod));
                all[at] += 1;
            }
        }
        let at = (0..nodes.len())
            .filter(|&at| has_room[at])
            .min_by_key(|&at| (!states[nodes.start + at].ready, current[at], all[at], at))?;
        Some(NodeId::at(nodes.start + at))
    }

    /// Returns the pod of another revision to delete next. Like a ReplicaSet, it chooses a pod that shares its node
    /// with the most pods of the workload; of several, the youngest; and before all of them a pod without a node
    /// (kubernetes/kubernetes `pkg/controller/controller_utils.go`, `ActivePodsWithRanks`).
    pub(super) fn next_victim(&self, is_available: bool, pods: &[Pod]) -> PodId {
        self.pods
            .iter()
            .copied()
            .filter(|pod| {
                let pod = &pods[pod.index()];
                !self.is_current(pod) && pod.available == is_available
            })
            .max_by_key(|&id| {
                let pod = &pods[id.index()];
                (!pod.has_node(), self.pods_on(pod.node, pods), id)
            })
            .expect("the controller deletes existing pods")
    }

    /// Returns the number of the workload's pods on a node.
    fn pods_on(&self, node: NodeId, pods: &[Pod]) -> usize {
        let mut count = 0;
        for pod in &self.pods {
            let pod = &pods[pod.index()];
            count += usize::from(pod.node == node && pod.has_node());
        }
        count
    }

    /// Returns the workload's pods by node, as the controller of a DaemonSet sees them.
    pub(super) fn pods_by_node(&self, nodes: &Range<usize>, pods: &[Pod]) -> DaemonPods {
        let mut by_node = DaemonPods {
            old: vec![None; nodes.len()],
            new: vec![None; nodes.len()],
            dying: vec![false; nodes.len()],
        };
        for &id in &self.pods {
            let pod = &pods[id.index()];
            let side = if self.is_current(pod) {
                &mut by_node.new
            } else {
                &mut by_node.old
            };
            side[pod.node.index() - nodes.start] = Some(id);
        }
        for node in &self.terminating {
            by_node.dying[node.index() - nodes.start] = true;
        }
        by_node
    }
}

/// The pods of a DaemonSet, by the nodes of their cluster.
pub(super) struct DaemonPods {
    /// On each node, the pod with another template.
    old: Vec<Option<PodId>>,
    /// On each node, the pod with the current template.
    new: Vec<Option<PodId>>,
    /// On each node, whether a pod is terminating.
    dying: Vec<bool>,
}

/// The next step of a DaemonSet's controller.
#[derive(Default)]
pub(super) struct DaemonSetStep {
    pub(super) delete: Vec<PodId>,
    /// Nodes that get a pod, by their number in the cluster.
    pub(super) create: Vec<usize>,
}

impl DaemonPods {
    /// Returns the pods to delete and the nodes that get a pod, within the limits of the update.
    pub(super) fn next_step(&self, surge: u32, unavailable: u32, pods: &[Pod]) -> DaemonSetStep {
        let mut step = DaemonSetStep::default();
        let mut candidates: Vec<usize> = Vec::new();
        let mut in_use = 0;
        for at in 0..self.old.len() {
            match (self.old[at], self.new[at]) {
                (None, None) => {
                    // The node gets its new pod after the old one is gone.
                    if !self.dying[at] {
                        step.create.push(at);
                    }
                    in_use += u32::from(surge == 0);
                }
                (None, Some(pod)) => {
                    in_use += u32::from(surge == 0 && !pods[pod.index()].available);
                }
                (Some(pod), None) if !pods[pod.index()].available && surge == 0 => {
                    // The pod is counted before its deletion is observed, as in newer releases (the first such release
                    // is unverified).
                    in_use += 1;
                    step.delete.push(pod);
                }
                (Some(pod), None) if !pods[pod.index()].available => step.create.push(at),
                (Some(_), None) => candidates.push(at),
                (Some(old), Some(new)) if pods[new.index()].available => step.delete.push(old),
                (Some(_), Some(_)) => in_use += 1,
            }
        }
        let limit = if surge == 0 { unavailable } else { surge };
        let free = limit.saturating_sub(in_use) as usize;
        for &at in candidates.iter().take(free) {
            if surge == 0 {
                step.delete.extend(self.old[at]);
            } else {
                step.create.push(at);
            }
        }
        step
    }
}
