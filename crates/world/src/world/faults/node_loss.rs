//! Nodes that fail and recover.
//!
//! When a node fails, its containers stop and its pulls end; its disk keeps its content. The control plane notices
//! when no lease was renewed for the grace period: the node and its pods are then NotReady. After another 300 s the
//! pods of a Deployment are deleted and replaced on other nodes; those of a DaemonSet tolerate the failure and wait
//! for the node. A deleted pod is gone only when its node has recovered and confirms the deletion. Until then it
//! counts against a DaemonSet's `maxUnavailable`, which a few missing nodes can exhaust (kubernetes/test-infra#31706:
//! 164 nodes, 3 of them missing, budget 1). When the node has recovered, its pods restart from images on its disk.
//!
//! Sources: node-monitor-grace-period 40 s (kube-controller-manager's default until 1.31; 50 s since, unverified); the
//! tolerations that the API server adds by default (300 s) and the DaemonSet controller adds (unlimited). Times
//! between failures and repairs have no source: Weibull or exponential, and lognormal.
//!
//! Left out: nodes that a cloud replaces with nodes with empty disks, and drains. If no node of a cluster is ready, a
//! new pod is bound to one of them and starts when that node recovers, unless nodes have limited room.

use crate::world::World;
use crate::world::backoff::BackoffEntry;
use crate::world::clusters::restarts::Crashes;
use crate::world::clusters::spec::WorkloadKind;
use crate::world::event::{Event, FaultEvent, Queue, WorkloadEvent};
use crate::world::faults::renewal::Renewal;
use crate::world::faults::spec::NodeLossSpec;
use crate::world::ids::{NodeId, PodId};
use crate::world::nodes::pull_error::PullError;
use fleetsim_units::SimTime;

impl NodeLossSpec {
    const fn renewal(&self) -> Renewal<'_> {
        Renewal {
            between: &self.between,
            repair: &self.repair,
            phase: "node loss phase",
            failing: "time to node loss",
            repairing: "node loss",
        }
    }
}

impl<'s> World<'s> {
    fn node_loss(&self) -> &'s NodeLossSpec {
        let spec: &'s _ = self.spec;
        spec.faults
            .node_loss
            .as_ref()
            .expect("only an experiment with node loss has it")
    }

    /// Starts the failure process of a node, when the rollout starts or when the node joins later. The node is up. Its
    /// process has already run for as long as those of outages, but a node that would be down has just recovered.
    pub(crate) fn start_node_loss(&mut self, id: NodeId, queue: &mut Queue) {
        if self.spec.faults.node_loss.is_none() {
            return;
        }
        let renewal = self.node_loss().renewal();
        let node = &mut self.nodes[id.index()];
        let standing = renewal.start(&self.streams, node.key);
        node.turn = standing.turn + u64::from(standing.is_down);
        let fails = if standing.is_down {
            queue.now() + renewal.time_to_failure(&self.streams, node.key, node.turn)
        } else {
            // The process counts from 0, and a node may join later.
            queue.now() + (standing.until - SimTime::ZERO)
        };
        self.faults
            .schedule(fails, FaultEvent::NodeFails(id), queue);
    }

    /// Returns the pods of a node that the control plane knows, without terminating ones.
    fn pods_on(&self, id: NodeId) -> Vec<PodId> {
        let mut found = Vec::new();
        let cluster = &self.clusters[self.nodes[id.index()].cluster.index()];
        for target in &cluster.deployments {
            for &pod in self.deployments[target.index()].pods() {
                let state = &self.pods[pod.index()];
                if state.node == id && state.has_node() {
                    found.push(pod);
                }
            }
        }
        found
    }

    pub(super) fn node_fails(&mut self, id: NodeId, queue: &mut Queue) {
        let spec = self.node_loss();
        let node = &mut self.nodes[id.index()];
        node.down = true;
        node.failures += 1;
        node.pull_queue.clear();
        let cluster = node.cluster;
        let failure = node.failures;
        let lasts = spec
            .renewal()
            .repair_time(&self.streams, node.key, node.turn);
        self.clusters[cluster.index()].repairs_due += 1;
        while let Some(&pull) = self.nodes[id.index()].pulls.first() {
            let pod = self.pulls[pull.index()].pod;
            self.drop_pull(pull, PullError::NodeLost, queue);
            self.count_failed_pull(pod, PullError::NodeLost);
        }
        for pod in self.pods_on(id) {
            self.pod_goes_on(pod, queue.now());
            self.pods.lose(pod, queue);
        }
        if self.delivery.pre_pull.is_some() {
            for pod in self.pods.pre_pulls_on(id) {
                self.cancel_pre_pull(pod, queue);
            }
        }
        let now = queue.now();
        self.faults.schedule(
            now + spec.grace,
            FaultEvent::NodeNotReady { node: id, failure },
            queue,
        );
        self.faults
            .schedule(now + lasts, FaultEvent::NodeReturns(id), queue);
    }

    pub(super) fn node_not_ready(&mut self, id: NodeId, failure: u32, queue: &mut Queue) {
        let node = &mut self.nodes[id.index()];
        if !node.down || node.failures != failure {
            return;
        }
        node.ready = false;
        let cluster = node.cluster;
        for pod in self.pods_on(id) {
            self.pods[pod.index()].available = false;
        }
        self.sync_workloads(cluster, queue);
        let evicts = queue.now() + self.node_loss().eviction;
        self.faults
            .schedule(evicts, FaultEvent::NodeEvicts { node: id, failure }, queue);
    }

    pub(super) fn node_evicts(&mut self, id: NodeId, failure: u32, queue: &mut Queue) {
        let node = &self.nodes[id.index()];
        if !node.down || node.failures != failure {
            return;
        }
        let cluster = node.cluster;
        for pod in self.pods_on(id) {
            let workload = self.workload_of(&self.pods[pod.index()]);
            if matches!(workload.kind, WorkloadKind::Deployment { .. }) {
                self.delete_pod(pod, queue);
            }
        }
        self.sync_workloads(cluster, queue);
    }

    pub(super) fn node_returns(&mut self, id: NodeId, queue: &mut Queue) {
        let spec = self.node_loss();
        let node = &mut self.nodes[id.index()];
        node.down = false;
        node.ready = true;
        node.turn += 1;
        let cluster = node.cluster;
        let gone = std::mem::take(&mut node.terminating_on_lost_node);
        let next = spec
            .renewal()
            .time_to_failure(&self.streams, node.key, node.turn);
        self.clusters[cluster.index()].repairs_due -= 1;
        for pod in gone {
            queue.schedule(queue.now(), Event::Workload(WorkloadEvent::PodGone(pod)));
        }
        for pod in self.pods_on(id) {
            let found = &mut self.pods[pod.index()];
            found.available = false;
            // A restarted kubelet does not remember failures.
            found.image_backoff = BackoffEntry::default();
            found.crashes = Crashes::default();
            self.reach_node(pod, queue);
        }
        self.watch_space(id, queue);
        self.bind_waiting(cluster, queue);
        self.sync_workloads(cluster, queue);
        self.faults
            .schedule(queue.now() + next, FaultEvent::NodeFails(id), queue);
    }
}
