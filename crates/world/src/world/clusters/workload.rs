//! The workload controllers: the pods that a Deployment or a DaemonSet creates and deletes, and the readiness of a
//! cluster.
//!
//! `rolling` decides how many pods change. This file counts them, chooses nodes for new pods, and selects old ones.
//!
//! Left out: the seconds that the API server and the controllers need to see each other's changes.

use crate::world::World;
use crate::world::clusters::pod::{Pod, PodPhase};
use crate::world::clusters::progress_deadline::{PodCounts, Progressing};
use crate::world::clusters::rolling::{
    ReplicaCounts, RollingStep, daemon_set_limits, deployment_limits,
};
use crate::world::clusters::spec::WorkloadKind;
use crate::world::event::{Queue, WorkloadEvent};
use crate::world::faults::spec::DefectKind;
use crate::world::ids::{ClusterId, NEW, NodeId, PodId};
use crate::world::nodes::catalog::Catalog;
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
            self.progress_begins(cluster, workload, queue.now());
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
                (
                    self.pods[pod.index()].ready,
                    self.pods[pod.index()].available,
                ) = (true, true);
                self.clusters[cluster.index()].workloads[at].pods.push(pod);
                self.nodes[node.index()].preload(&self.catalog, image, self.spec.node.keep_blobs);
            }
            self.clusters[cluster.index()].workloads[at].desired = Some(revision);
        }
        self.has_seen_all(cluster);
    }

    /// Whether every workload of the cluster has exactly its wanted pods, all available and of its current template.
    pub(crate) fn is_settled(&self, cluster: ClusterId) -> bool {
        (0..self.spec.workloads.len()).all(|workload| self.is_workload_settled(cluster, workload))
    }

    /// Whether this workload has exactly its wanted pods, all available and of its current template.
    pub(crate) fn is_workload_settled(&self, cluster: ClusterId, workload: usize) -> bool {
        let state = &self.clusters[cluster.index()].workloads[workload];
        let wanted = match self.spec.workloads[workload].kind {
            WorkloadKind::Deployment { replicas, .. } => replicas as usize,
            WorkloadKind::DaemonSet { .. } => self.nodes_of(cluster).len(),
        };
        state.desired.is_some()
            && state.pods.len() == wanted
            && state.pods.iter().all(|pod| {
                let pod = &self.pods[pod.index()];
                pod.available && Some(pod.revision) == state.desired
            })
    }

    /// Whether a pod of the cluster backs off after a failed pull or a crash.
    #[must_use]
    pub fn is_backing_off(&self, cluster: ClusterId) -> bool {
        self.has_pod(cluster, |pod| {
            matches!(pod.phase, PodPhase::ImageBackOff | PodPhase::CrashLoop)
        })
    }

    /// Whether a pod of the cluster runs and cannot pass its readiness probe because of a defect.
    #[must_use]
    pub fn is_stuck(&self, cluster: ClusterId) -> bool {
        let at_once = self.spec.faults.defect.kind == DefectKind::Unready;
        self.has_pod(cluster, |pod| match pod.phase {
            PodPhase::Unready => true,
            PodPhase::Running => at_once && pod.troubled,
            _ => false,
        })
    }

    fn has_pod(&self, cluster: ClusterId, is_it: impl Fn(&Pod) -> bool) -> bool {
        let mut pods = self.clusters[cluster.index()]
            .workloads
            .iter()
            .flat_map(WorkloadState::pods);
        pods.any(|pod| is_it(&self.pods[pod.index()]))
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
            let step = self.replica_counts(cluster, workload).next_step();
            if step == RollingStep::default() {
                return;
            }
            for _ in 0..step.create {
                let node = self.least_loaded_node(cluster, workload);
                self.create_pod(cluster, workload, node, queue);
            }
            self.delete_old(cluster, workload, false, step.delete_broken, queue);
            self.delete_old(cluster, workload, true, step.delete_available, queue);
        }
    }

    fn replica_counts(&self, cluster: ClusterId, workload: usize) -> ReplicaCounts {
        let WorkloadKind::Deployment {
            replicas,
            max_unavailable,
            max_surge,
            ..
        } = self.spec.workloads[workload].kind
        else {
            unreachable!("only a Deployment counts replicas");
        };
        let (surge, unavailable) = deployment_limits(replicas, max_surge, max_unavailable);
        let state = &self.clusters[cluster.index()].workloads[workload];
        let mut replica_counts = ReplicaCounts {
            replicas,
            surge,
            unavailable,
            ..ReplicaCounts::default()
        };
        for pod in &state.pods {
            let pod = &self.pods[pod.index()];
            let available = u32::from(pod.available);
            if Some(pod.revision) == state.desired {
                replica_counts.new += 1;
                replica_counts.new_available += available;
            } else {
                replica_counts.old += 1;
                replica_counts.old_available += available;
            }
        }
        replica_counts
    }

    pub(crate) fn progress_counts(&self, cluster: ClusterId, workload: usize) -> PodCounts {
        let state = &self.clusters[cluster.index()].workloads[workload];
        let mut counts = PodCounts::default();
        for pod in &state.pods {
            let pod = &self.pods[pod.index()];
            *if Some(pod.revision) == state.desired {
                &mut counts.updated
            } else {
                &mut counts.old
            } += 1;
            counts.ready += u32::from(pod.ready);
            counts.available += u32::from(pod.available);
        }
        counts
    }

    /// The node with the fewest pods of this revision, then of the workload; ready nodes go first. The scheduler
    /// spreads the pods of a ReplicaSet (default constraints of `PodTopologySpread`, kubernetes/kubernetes
    /// `pkg/scheduler/framework/plugins/podtopologyspread`).
    fn least_loaded_node(&self, cluster: ClusterId, workload: usize) -> NodeId {
        let nodes = self.nodes_of(cluster);
        let state = &self.clusters[cluster.index()].workloads[workload];
        let mut pods = vec![(0_u32, 0_u32); nodes.len()];
        for pod in &state.pods {
            let pod = &self.pods[pod.index()];
            let (same, all) = &mut pods[pod.node.index() - nodes.start];
            *same += u32::from(Some(pod.revision) == state.desired);
            *all += 1;
        }
        let (at, _) = pods
            .iter()
            .enumerate()
            .min_by_key(|&(at, pods)| (!self.nodes[nodes.start + at].ready, *pods, at))
            .expect("a cluster has a node");
        NodeId::at(nodes.start + at)
    }

    /// Deletes pods of other revisions: first those that share their node with the most pods of the workload, then the
    /// youngest, as a ReplicaSet does (kubernetes/kubernetes `pkg/controller/controller_utils.go`,
    /// `ActivePodsWithRanks`).
    fn delete_old(
        &mut self,
        cluster: ClusterId,
        workload: usize,
        available: bool,
        count: u32,
        queue: &mut Queue,
    ) {
        for _ in 0..count {
            let state = &self.clusters[cluster.index()].workloads[workload];
            let on_node = |node: NodeId| {
                state
                    .pods
                    .iter()
                    .filter(|pod| self.pods[pod.index()].node == node)
                    .count()
            };
            let victim = state
                .pods
                .iter()
                .copied()
                .filter(|pod| {
                    let pod = &self.pods[pod.index()];
                    Some(pod.revision) != state.desired && pod.available == available
                })
                .max_by_key(|&pod| (on_node(self.pods[pod.index()].node), pod))
                .expect("the controller deletes existing pods");
            self.delete_pod(victim, queue);
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
        let mut old: Vec<Option<PodId>> = vec![None; nodes.len()];
        let mut new = old.clone();
        let mut dying = vec![false; nodes.len()];
        for &id in &state.pods {
            let pod = &self.pods[id.index()];
            let side = if Some(pod.revision) == state.desired {
                &mut new
            } else {
                &mut old
            };
            side[pod.node.index() - nodes.start] = Some(id);
        }
        for node in &state.terminating {
            dying[node.index() - nodes.start] = true;
        }
        let is_available = |pod: PodId| self.pods[pod.index()].available;
        let mut create: Vec<usize> = Vec::new();
        let mut delete: Vec<PodId> = Vec::new();
        let mut candidates: Vec<usize> = Vec::new();
        let mut in_use = 0;
        for at in 0..nodes.len() {
            match (old[at], new[at]) {
                (None, None) => {
                    // The node gets its pod after the old one is gone.
                    if !dying[at] {
                        create.push(at);
                    }
                    in_use += u32::from(surge == 0);
                }
                (None, Some(pod)) => in_use += u32::from(surge == 0 && !is_available(pod)),
                (Some(pod), None) if !is_available(pod) && surge == 0 => {
                    // Counted before its deletion is seen, as in newer releases (the first of them is unverified).
                    in_use += 1;
                    delete.push(pod);
                }
                (Some(pod), None) if !is_available(pod) => create.push(at),
                (Some(_), None) => candidates.push(at),
                (Some(old), Some(new)) if is_available(new) => delete.push(old),
                (Some(_), Some(_)) => in_use += 1,
            }
        }
        let limit = if surge == 0 { unavailable } else { surge };
        for &at in candidates
            .iter()
            .take(limit.saturating_sub(in_use) as usize)
        {
            if surge == 0 {
                delete.extend(old[at]);
            } else {
                create.push(at);
            }
        }
        for pod in delete {
            self.delete_pod(pod, queue);
        }
        for at in create {
            self.create_pod(cluster, workload, NodeId::at(nodes.start + at), queue);
        }
    }

    fn pod_gone(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &self.pods[id.index()];
        let (cluster, workload, node) = (pod.cluster, pod.workload, pod.node);
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
