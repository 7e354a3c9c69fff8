//! The workload controllers: the pods that a Deployment or a DaemonSet creates and deletes, and the readiness of a
//! cluster.
//!
//! `rolling` decides how many pods change. This file counts them, chooses nodes for new pods, and selects old ones.
//!
//! Left out: the seconds that the API server and the controllers need to see each other's changes.

use std::ops::Range;

use crate::world::World;
use crate::world::clusters::cluster::ClusterState;
use crate::world::clusters::pod::{Pod, PodPhase};
use crate::world::clusters::progress_deadline::{PodCounts, Progressing};
use crate::world::clusters::rolling::{
    ReplicaCounts, RollingStep, daemon_set_limits, deployment_limits,
};
use crate::world::clusters::spec::{WorkloadKind, WorkloadSpec};
use crate::world::event::{Queue, WorkloadEvent};
use crate::world::faults::spec::DefectKind;
use crate::world::ids::{ClusterId, NEW, NodeId, PodId};
use crate::world::nodes::catalog::Catalog;
use crate::world::nodes::node::NodeState;
use fleetsim_rollout::Revision;

/// The pods of one workload in one cluster.
#[derive(Debug, Default)]
pub(crate) struct WorkloadState {
    /// The revision of its pod template. `None` before the first apply.
    pub(crate) desired: Option<Revision>,
    /// Its pods, terminating ones not counted, oldest first.
    pub pods: Vec<PodId>,
    /// Nodes (one entry a pod) on which a pod of it is terminating.
    pub(crate) terminating: Vec<NodeId>,
    pub(crate) progressing: Progressing,
}

impl WorkloadState {
    /// Its pods, terminating ones not counted, oldest first.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodId> {
        self.pods.iter()
    }

    /// Whether a pod of it has the current template.
    fn is_current(&self, pod: &Pod) -> bool {
        Some(pod.revision) == self.desired
    }

    /// Whether it has exactly the pods that it wants in a cluster of so many nodes, all available and of its current
    /// template.
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

    /// The counts of its status.
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

    /// The counts on which the controller of a Deployment decides.
    fn replica_counts(&self, kind: &WorkloadKind, pods: &[Pod]) -> ReplicaCounts {
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

    /// The node with the fewest pods of this revision, then of the workload; ready nodes go first. The scheduler
    /// spreads the pods of a ReplicaSet (default constraints of `PodTopologySpread`, kubernetes/kubernetes
    /// `pkg/scheduler/framework/plugins/podtopologyspread`).
    fn least_loaded_node(&self, nodes: Range<usize>, states: &[NodeState], pods: &[Pod]) -> NodeId {
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

    /// The next pod of another revision to be deleted: first those that share their node with the most pods of the
    /// workload, then the youngest, as a ReplicaSet does (kubernetes/kubernetes `pkg/controller/controller_utils.go`,
    /// `ActivePodsWithRanks`).
    fn next_victim(&self, is_available: bool, pods: &[Pod]) -> PodId {
        self.pods
            .iter()
            .copied()
            .filter(|pod| {
                let pod = &pods[pod.index()];
                !self.is_current(pod) && pod.available == is_available
            })
            .max_by_key(|&pod| (self.pods_on(pods[pod.index()].node, pods), pod))
            .expect("the controller deletes existing pods")
    }

    /// The number of its pods on a node.
    fn pods_on(&self, node: NodeId, pods: &[Pod]) -> usize {
        let mut count = 0;
        for pod in &self.pods {
            count += usize::from(pods[pod.index()].node == node);
        }
        count
    }

    /// Its pods by node, as the controller of a DaemonSet sees them.
    fn pods_by_node(&self, nodes: &Range<usize>, pods: &[Pod]) -> DaemonPods {
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

/// The pods of a DaemonSet, by node of their cluster.
struct DaemonPods {
    /// Pods of another template.
    old: Vec<Option<PodId>>,
    /// Pods of the current template.
    new: Vec<Option<PodId>>,
    /// A pod is terminating.
    dying: Vec<bool>,
}

/// What the controller of a DaemonSet does next.
#[derive(Default)]
struct DaemonSetStep {
    delete: Vec<PodId>,
    /// Nodes, by their number in the cluster.
    create: Vec<usize>,
}

impl DaemonPods {
    /// Pods to delete and nodes that get one, when so many may be unavailable or beside an old one.
    fn next_step(&self, surge: u32, unavailable: u32, pods: &[Pod]) -> DaemonSetStep {
        let mut step = DaemonSetStep::default();
        let mut candidates: Vec<usize> = Vec::new();
        let mut in_use = 0;
        for at in 0..self.old.len() {
            match (self.old[at], self.new[at]) {
                (None, None) => {
                    // The node gets its pod after the old one is gone.
                    if !self.dying[at] {
                        step.create.push(at);
                    }
                    in_use += u32::from(surge == 0);
                }
                (None, Some(pod)) => {
                    in_use += u32::from(surge == 0 && !pods[pod.index()].available)
                }
                (Some(pod), None) if !pods[pod.index()].available && surge == 0 => {
                    // Counted before its deletion is seen, as in newer releases (the first of them is unverified).
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

impl ClusterState {
    /// Whether every workload has exactly its wanted pods, all available and of its current template.
    pub(super) fn is_settled(&self, workloads: &[WorkloadSpec], pods: &[Pod]) -> bool {
        let nodes = self.nodes.len();
        self.workloads
            .iter()
            .zip(workloads)
            .all(|(workload, spec)| workload.is_settled(spec, nodes, pods))
    }

    /// The pods of all workloads, terminating ones not counted.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodId> {
        self.workloads.iter().flat_map(WorkloadState::pods)
    }
}

impl World<'_> {
    pub(crate) fn handle_workload(&mut self, event: WorkloadEvent, queue: &mut Queue) {
        match event {
            WorkloadEvent::PodBound(pod) => self.pod_bound(pod, queue),
            WorkloadEvent::PodSync(pod) => self.sync_pod(pod, queue),
            WorkloadEvent::ContainerStarted(pod) => self.container_started(pod, queue),
            WorkloadEvent::PodReady { pod, start } => self.pod_ready(pod, start, queue),
            WorkloadEvent::PodAvailable { pod, start } => self.pod_available(pod, start, queue),
            WorkloadEvent::Crashed(pod) => self.crashed(pod, queue),
            WorkloadEvent::Restart(pod) => self.restart(pod, queue),
            WorkloadEvent::PodGone(pod) => self.pod_gone(pod, queue),
            WorkloadEvent::ProgressDeadline { cluster, workload } => {
                self.progress_deadline(cluster, workload as usize, queue);
            }
        }
    }

    /// Sets the template of all workloads of a cluster.
    pub(crate) fn roll_out(&mut self, cluster: ClusterId, revision: Revision, queue: &mut Queue) {
        let state = &mut self.clusters[cluster.index()];
        if revision == NEW {
            state.spend(queue.now());
            state.facts.begun.get_or_insert(queue.now());
        }
        for workload in &mut state.workloads {
            workload.desired = Some(revision);
        }
        for workload in 0..self.spec.workloads.len() {
            self.clusters[cluster.index()].workloads[workload]
                .progressing
                .begin(queue.now());
            self.sync_workload(cluster, workload, queue);
        }
    }

    /// Creates the pods of `revision` in their state long after a rollout: available, with images on their nodes.
    pub fn settle(&mut self, cluster: ClusterId, revision: Revision) {
        for at in 0..self.spec.workloads.len() {
            let workload = &self.spec.workloads[at];
            let image = Catalog::revision(workload.image, revision == NEW);
            let nodes = self.nodes_of(cluster);
            let pods = match workload.kind {
                WorkloadKind::Deployment { replicas, .. } => replicas,
                WorkloadKind::DaemonSet { .. } => nodes.len() as u32,
            };
            for nth in 0..pods as usize {
                let node = NodeId::at(nodes.start + nth % nodes.len());
                let pod = self.new_pod(cluster, at, node, revision, PodPhase::Running);
                self.pods[pod.index()].ready = true;
                self.pods[pod.index()].available = true;
                self.clusters[cluster.index()].workloads[at].pods.push(pod);
                self.nodes[node.index()].preload(&self.catalog, image, self.spec.node.keep_blobs);
            }
            self.clusters[cluster.index()].workloads[at].desired = Some(revision);
        }
        let readiness = &self.platform.agent.readiness;
        let workloads = &self.spec.workloads;
        self.clusters[cluster.index()].has_seen_all(readiness, workloads, &self.pods);
    }

    /// Whether a pod of the cluster backs off after a failed pull or a crash.
    #[must_use]
    pub fn is_backing_off(&self, cluster: ClusterId) -> bool {
        let state = &self.clusters[cluster.index()];
        state.pods().any(|pod| {
            let phase = self.pods[pod.index()].phase;
            matches!(phase, PodPhase::ImageBackOff | PodPhase::CrashLoop)
        })
    }

    /// Whether a pod of the cluster runs and cannot pass its readiness probe because of a defect.
    #[must_use]
    pub fn is_stuck(&self, cluster: ClusterId) -> bool {
        let shows_at_start = self.spec.faults.defect.kind == DefectKind::Unready;
        let state = &self.clusters[cluster.index()];
        state.pods().any(|pod| {
            let pod = &self.pods[pod.index()];
            match pod.phase {
                PodPhase::Unready => true,
                PodPhase::Running => shows_at_start && pod.troubled,
                _ => false,
            }
        })
    }

    pub(crate) fn sync_workload(&mut self, cluster: ClusterId, workload: usize, queue: &mut Queue) {
        if self.clusters[cluster.index()].workloads[workload]
            .desired
            .is_none()
        {
            return;
        }
        match self.spec.workloads[workload].kind {
            WorkloadKind::Deployment { .. } => self.sync_deployment(cluster, workload, queue),
            WorkloadKind::DaemonSet { .. } => self.sync_daemon_set(cluster, workload, queue),
        }
        self.update_progress_condition(cluster, workload, queue);
        self.note_settled(cluster, queue);
    }

    fn sync_deployment(&mut self, cluster: ClusterId, workload: usize, queue: &mut Queue) {
        loop {
            let kind = &self.spec.workloads[workload].kind;
            let state = &self.clusters[cluster.index()].workloads[workload];
            let step = state.replica_counts(kind, &self.pods).next_step();
            if step == RollingStep::default() {
                return;
            }
            for _ in 0..step.create {
                let nodes = self.nodes_of(cluster);
                let state = &self.clusters[cluster.index()].workloads[workload];
                let node = state.least_loaded_node(nodes, &self.nodes, &self.pods);
                self.create_pod(cluster, workload, node, queue);
            }
            for (are_available, count) in
                [(false, step.delete_broken), (true, step.delete_available)]
            {
                for _ in 0..count {
                    let state = &self.clusters[cluster.index()].workloads[workload];
                    let victim = state.next_victim(are_available, &self.pods);
                    self.delete_pod(victim, queue);
                }
            }
        }
    }

    fn sync_daemon_set(&mut self, cluster: ClusterId, workload: usize, queue: &mut Queue) {
        let WorkloadKind::DaemonSet {
            max_unavailable,
            max_surge,
        } = self.spec.workloads[workload].kind
        else {
            unreachable!("the caller handles only DaemonSets");
        };
        let nodes = self.nodes_of(cluster);
        let (surge, unavailable) =
            daemon_set_limits(nodes.len() as u32, max_surge, max_unavailable);
        let state = &self.clusters[cluster.index()].workloads[workload];
        let step = state
            .pods_by_node(&nodes, &self.pods)
            .next_step(surge, unavailable, &self.pods);
        for pod in step.delete {
            self.delete_pod(pod, queue);
        }
        for at in step.create {
            self.create_pod(cluster, workload, NodeId::at(nodes.start + at), queue);
        }
    }

    fn pod_gone(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &self.pods[id.index()];
        let cluster = pod.cluster;
        let workload = pod.workload;
        let node = pod.node;
        if self.nodes[node.index()].down {
            // Only its kubelet can confirm that it is gone.
            self.nodes[node.index()].terminating_on_lost_node.push(id);
            return;
        }
        let terminating = &mut self.clusters[cluster.index()].workloads[workload].terminating;
        let at = terminating
            .iter()
            .position(|&other| other == node)
            .expect("a pod that is gone was terminating");
        terminating.swap_remove(at);
        self.sync_workload(cluster, workload, queue);
    }
}
