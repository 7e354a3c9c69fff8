//! Pods that fit on no node, and the room of nodes.
//!
//! A pod of a Deployment gets the node with the fewest pods of its workload ([`WorkloadState`]). A node has no room if
//! it has as many pods as fit on it or is not ready (both with `fleet[*].autoscaling`), or if its disk is nearly full
//! (`nodes/image_collection.rs`). A pod for which no node has room waits, and is bound when one has: when
//! another pod is gone, when a node joins, or when a disk is no longer full. Pods that have waited longest are first.
//!
//! A pod takes its room when its controller asks for it, as if it were bound at once. This makes no difference unless
//! the room changes within the fraction of a second for which it waits for its controller and for the scheduler.
//!
//! Left out: CPU and memory that pods request, priorities, the back-off of 1 to 10 s before the scheduler tries a pod
//! again, and pods that the world does not know.

use crate::world::World;
use crate::world::clusters::pod::{Pod, PodPhase};
use crate::world::clusters::spec::WorkloadKind;
use crate::world::clusters::workload::WorkloadState;
use crate::world::event::{Event, Queue, WorkloadEvent};
use crate::world::ids::{ClusterId, NodeId, PodId, TargetId};
use crate::world::spec::{ApplicationSpec, WorldSpec};

impl WorldSpec {
    /// Returns the number of pods of all Deployments of all applications on a cluster.
    #[must_use]
    pub fn deployed_pods(&self, cluster: usize) -> u64 {
        self.applications_on(cluster)
            .map(ApplicationSpec::deployed_pods)
            .sum()
    }

    /// Returns the number of pods of those Deployments that run on a cluster at the start.
    pub(super) fn installed_pods(&self, cluster: usize) -> u64 {
        let mut pods = 0;
        for (at, application) in self.applications.iter().enumerate() {
            if self.installed(at, cluster).is_some() {
                pods += application.deployed_pods();
            }
        }
        pods
    }
}

impl ApplicationSpec {
    /// Returns the number of pods of all Deployments on one cluster.
    fn deployed_pods(&self) -> u64 {
        let mut pods = 0;
        for workload in &self.workloads {
            if let WorkloadKind::Deployment { replicas, .. } = workload.kind {
                pods += u64::from(replicas);
            }
        }
        pods
    }
}

impl World<'_> {
    /// Returns whether nodes of a cluster may have no room, so that pods wait.
    fn has_limited_room(&self, cluster: ClusterId) -> bool {
        self.clusters[cluster.index()].autoscaling.is_some() || self.spec.node.has_limited_space()
    }

    /// Returns the node for the next pod of a Deployment. `None`: no node has room.
    pub(super) fn node_for_pod(&self, target: TargetId, workload: usize) -> Option<NodeId> {
        let deployment = &self.deployments[target.index()];
        let cluster = deployment.cluster;
        let nodes = self.nodes_of(cluster);
        let state = &deployment.workloads[workload];
        if !self.has_limited_room(cluster) {
            return Some(state.least_loaded_node(nodes, &self.nodes, &self.pods));
        }
        let mut has_room = vec![true; nodes.len()];
        for at in nodes.clone() {
            has_room[at - nodes.start] = !self.nodes[at].is_under_pressure();
        }
        if let Some(spec) = &self.spec.clusters[cluster.index()].autoscaling {
            for (at, taken) in self.pods_by_node(cluster).into_iter().enumerate() {
                let is_ready = self.nodes[nodes.start + at].ready;
                has_room[at] &= is_ready && taken < spec.pods_per_node;
            }
        }
        state.least_loaded_of(nodes, &has_room, &self.nodes, &self.pods)
    }

    /// Returns whether the pods of a cluster's previous revision fit only if every workload begins on the node after
    /// the last one of the workload before it.
    pub(super) fn settles_in_turn(&self, cluster: ClusterId) -> bool {
        let Some(spec) = &self.spec.clusters[cluster.index()].autoscaling else {
            return false;
        };
        let nodes = self.nodes_of(cluster).len() as u32;
        let mut on_first = 0;
        for (at, application) in self.spec.applications.iter().enumerate() {
            if self.spec.installed(at, cluster.index()).is_none() {
                continue;
            }
            for workload in &application.workloads {
                if let WorkloadKind::Deployment { replicas, .. } = workload.kind {
                    on_first += replicas.div_ceil(nodes);
                }
            }
        }
        on_first > spec.pods_per_node
    }

    /// Returns the number of pods of Deployments on each node of a cluster, with those that terminate.
    fn pods_by_node(&self, cluster: ClusterId) -> Vec<u32> {
        let nodes = self.nodes_of(cluster);
        let mut taken = vec![0_u32; nodes.len()];
        for &target in &self.clusters[cluster.index()].deployments {
            let workloads = &self.deployments[target.index()].workloads;
            for (workload, spec) in workloads.iter().zip(self.workloads_of(target)) {
                if !matches!(spec.kind, WorkloadKind::Deployment { .. }) {
                    continue;
                }
                for node in workload.nodes_of_pods(&self.pods) {
                    taken[node.index() - nodes.start] += 1;
                }
            }
        }
        taken
    }

    /// Creates a pod of a Deployment for which no node has room. The scheduler sees it when its controller has created
    /// it.
    pub(super) fn create_unbound_pod(&mut self, id: PodId, queue: &mut Queue) {
        let now = queue.now();
        let cluster = self.cluster_of_target(self.pods[id.index()].target);
        let created = self.clusters[cluster.index()].pod_queues.created(now);
        if created == now {
            self.schedule_pod(id, queue);
        } else {
            let event = Event::Workload(WorkloadEvent::PodCreated(id));
            self.pods.schedule(id, created - now, event, queue);
        }
    }

    /// Called when the controller of a pod without a node has created it.
    pub(super) fn pod_created(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods.take_event(id) == PodPhase::Unbound {
            self.schedule_pod(id, queue);
        }
    }

    /// Binds a pod to a node with room, or lets it wait.
    fn schedule_pod(&mut self, id: PodId, queue: &mut Queue) {
        if self.bind_if_room(id, queue) {
            return;
        }
        let cluster = self.cluster_of_target(self.pods[id.index()].target);
        self.clusters[cluster.index()].unbound.push_back(id);
        self.meter.unbound_pods.rise();
        self.scale_if_needed(cluster, queue);
    }

    /// Binds a pod to a node with room. Returns whether there is one.
    fn bind_if_room(&mut self, id: PodId, queue: &mut Queue) -> bool {
        let Pod {
            target, workload, ..
        } = self.pods[id.index()];
        let Some(node) = self.node_for_pod(target, workload) else {
            return false;
        };
        self.place(id, node);
        let now = queue.now();
        let cluster = self.cluster_of_target(target);
        let bound = self.clusters[cluster.index()].pod_queues.scheduled(now);
        self.bind_at(id, bound, queue);
        true
    }

    /// Binds the pods that have waited longest while there is room.
    pub(crate) fn bind_waiting(&mut self, cluster: ClusterId, queue: &mut Queue) {
        while let Some(&first) = self.clusters[cluster.index()].unbound.front() {
            if !self.bind_if_room(first, queue) {
                return;
            }
            self.clusters[cluster.index()].unbound.pop_front();
            self.meter.unbound_pods.fall();
        }
    }

    /// Takes a deleted pod from those that wait for room.
    pub(super) fn stop_waiting(&mut self, id: PodId) {
        let cluster = self.cluster_of_target(self.pods[id.index()].target);
        let waiting = &mut self.clusters[cluster.index()].unbound;
        let before = waiting.len();
        waiting.retain(|&other| other != id);
        if waiting.len() < before {
            self.meter.unbound_pods.fall();
        }
    }

    /// Returns whether a pod of the cluster waits for a node with room.
    #[must_use]
    pub fn waits_for_room(&self, cluster: ClusterId) -> bool {
        !self.clusters[cluster.index()].unbound.is_empty()
    }

    /// Checks that no node has more pods than fit on it.
    ///
    /// # Panics
    /// If a node has more.
    pub fn assert_pods_fit(&self) {
        for (at, cluster) in self.clusters.iter().enumerate() {
            let Some(spec) = &self.spec.clusters[at].autoscaling else {
                continue;
            };
            assert!(
                cluster.nodes.len() <= spec.max_nodes as usize,
                "a cluster has at most its maximum of nodes"
            );
            for taken in self.pods_by_node(cluster.id) {
                assert!(
                    taken <= spec.pods_per_node,
                    "a node has at most the pods that fit on it"
                );
            }
        }
    }
}

impl WorkloadState {
    /// Returns the node of each pod that has one, and of each pod that terminates.
    fn nodes_of_pods(&self, pods: &[Pod]) -> impl Iterator<Item = NodeId> {
        self.pods
            .iter()
            .map(|pod| &pods[pod.index()])
            .filter(|pod| pod.has_node())
            .map(|pod| pod.node)
            .chain(self.terminating.iter().copied())
    }
}
