//! The steps of the workload controllers: they create and delete the pods of Deployments and DaemonSets, and check the
//! progress of Deployments.
//!
//! Left out: the seconds that the API server and the controllers need to see each other's changes.

use crate::world::World;
use crate::world::clusters::agent_steps::DeploymentContext;
use crate::world::clusters::deployment::AppDeployment;
use crate::world::clusters::pod::{Pod, PodPhase};
use crate::world::clusters::progress_deadline::{LOOK_AGAIN, ProgressReason};
use crate::world::clusters::rolling::{RollingStep, daemon_set_limits};
use crate::world::clusters::spec::{WorkloadKind, WorkloadSpec};
use crate::world::event::{Event, Queue, WorkloadEvent};
use crate::world::faults::spec::DefectKind;
use crate::world::ids::{ClusterId, NodeId, PodId, TargetId};
use fleetsim_rollout::Revision;

impl AppDeployment {
    /// Returns whether every workload has exactly its desired pods, all available and of its current template.
    pub(super) fn is_settled(&self, context: &DeploymentContext<'_>) -> bool {
        let nodes = context.cluster.nodes.len();
        self.workloads
            .iter()
            .zip(context.workloads)
            .all(|(workload, spec)| workload.is_settled(spec, nodes, context.pods))
    }

    /// Records the time since when each workload is ready on the wanted revision, if there are several.
    pub(super) fn note_workloads(&mut self, context: &DeploymentContext<'_>) {
        if context.workloads.len() < 2 {
            return;
        }
        let nodes = context.cluster.nodes.len();
        for (workload, spec) in self.workloads.iter_mut().zip(context.workloads) {
            if workload.desired != Some(self.goal)
                || !workload.is_settled(spec, nodes, context.pods)
            {
                workload.ready_since = None;
            } else if workload.ready_since.is_none() {
                workload.ready_since = Some(context.queue.now());
            }
        }
    }

    /// Checks the progress of a Deployment; if it is rolling, checks again after its deadline.
    fn update_progress_condition(
        &mut self,
        at: usize,
        spec: &WorkloadSpec,
        pods: &[Pod],
        queue: &mut Queue,
    ) {
        let WorkloadKind::Deployment {
            replicas,
            progress_deadline,
            ..
        } = spec.kind
        else {
            return;
        };
        let counts = self.workloads[at].counts(pods);
        let condition = &mut self.workloads[at].progressing;
        condition.judge(queue.now(), replicas, progress_deadline, counts);
        let look_at = match condition.reason {
            ProgressReason::Updating => Some(condition.updated_at + progress_deadline + LOOK_AGAIN),
            ProgressReason::Complete | ProgressReason::DeadlineExceeded => None,
        };
        let look = Event::Workload(WorkloadEvent::ProgressDeadline {
            target: self.id,
            workload: at as u32,
        });
        queue.keep_scheduled(&mut condition.look, look_at, look);
    }

    /// Returns whether one of the deployment's Deployments has exceeded its progress deadline.
    pub(super) fn is_degraded(&self) -> bool {
        self.workloads
            .iter()
            .any(|workload| workload.progressing.reason == ProgressReason::DeadlineExceeded)
    }
}

impl World<'_> {
    pub(crate) fn handle_workload(&mut self, event: WorkloadEvent, queue: &mut Queue) {
        match event {
            WorkloadEvent::PodCreated(pod) => self.pod_created(pod, queue),
            WorkloadEvent::PodBound(pod) => self.pod_bound(pod, queue),
            WorkloadEvent::SandboxReady(pod) => self.sandbox_ready(pod, queue),
            WorkloadEvent::PodSync(pod) => self.sync_pod(pod, queue),
            WorkloadEvent::ContainerStarted(pod) => self.container_started(pod, queue),
            WorkloadEvent::PodReady { pod, start } => self.pod_ready(pod, start, queue),
            WorkloadEvent::PodAvailable { pod, start } => self.pod_available(pod, start, queue),
            WorkloadEvent::Crashed(pod) => self.crashed(pod, queue),
            WorkloadEvent::Restart(pod) => self.restart(pod, queue),
            WorkloadEvent::PodGone(pod) => self.pod_gone(pod, queue),
            WorkloadEvent::ProgressDeadline { target, workload } => {
                self.progress_deadline(target, workload as usize, queue);
            }
        }
    }

    /// Sets the template of all workloads of a deployment.
    pub(crate) fn roll_out(&mut self, target: TargetId, revision: Revision, queue: &mut Queue) {
        let state = &mut self.deployments[target.index()];
        state.note_revision(revision, queue.now());
        if revision == state.goal {
            let cluster = &mut self.clusters[state.cluster.index()];
            cluster.spend(queue.now());
            cluster.facts.begun.get_or_insert(queue.now());
        }
        for workload in &mut state.workloads {
            workload.desired = Some(revision);
        }
        for workload in 0..self.workloads_of(target).len() {
            self.deployments[target.index()].workloads[workload]
                .progressing
                .begin(queue.now());
            self.sync_workload(target, workload, queue);
        }
    }

    /// Removes all workloads of a deployment, and their pods.
    pub(super) fn take_down(&mut self, target: TargetId, queue: &mut Queue) {
        let pods: Vec<PodId> = self.deployments[target.index()].pods().copied().collect();
        for workload in &mut self.deployments[target.index()].workloads {
            workload.desired = None;
        }
        for pod in pods {
            self.delete_pod(pod, queue);
        }
        self.note_settled(target, queue);
    }

    /// Creates the pods that run on a cluster at the start.
    pub(super) fn settle_cluster(&mut self, cluster: ClusterId, queue: &mut Queue) {
        self.settle_nodes(cluster);
        let mut first = 0;
        for at in 0..self.clusters[cluster.index()].deployments.len() {
            let target = self.clusters[cluster.index()].deployments[at];
            let application = self.application_of_target(target);
            if let Some(revision) = self.spec.installed(application, cluster.index()) {
                first += self.settle(target, revision, first, queue);
            }
        }
    }

    /// Creates the pods of `revision` in their state long after a rollout: available, with their images on the nodes.
    /// The first is on the node with number `first`. Returns the number of nodes by which the next deployment's first
    /// pod is further.
    fn settle(
        &mut self,
        target: TargetId,
        revision: Revision,
        first: usize,
        queue: &mut Queue,
    ) -> usize {
        let cluster = self.cluster_of_target(target);
        let goes_on = self.settles_in_turn(cluster);
        let mut placed = first;
        for (at, workload) in self.workloads_of(target).iter().enumerate() {
            let image = self.catalog.revision(workload.image, revision);
            let nodes = self.nodes_of(cluster);
            let pods = match workload.kind {
                WorkloadKind::Deployment { replicas, .. } => replicas,
                WorkloadKind::DaemonSet { .. } => nodes.len() as u32,
            };
            for nth in 0..pods as usize {
                let node = NodeId::at(nodes.start + (placed + nth) % nodes.len());
                let pod = self.new_pod(target, at, node, revision, PodPhase::Running);
                self.pods[pod.index()].ready = true;
                self.pods[pod.index()].available = true;
                self.deployments[target.index()].workloads[at]
                    .pods
                    .push(pod);
                self.nodes[node.index()].preload(&self.catalog, image, self.spec.node.keep_blobs);
            }
            // If the first node has no room for a pod of each workload, the next one goes on where this one ends.
            if goes_on && matches!(workload.kind, WorkloadKind::Deployment { .. }) {
                placed += pods as usize;
            }
            self.deployments[target.index()].workloads[at].desired = Some(revision);
        }
        let (deployment, context) = self.deployment_with_context(target, queue);
        deployment.has_seen_all(&context);
        placed - first
    }

    /// Returns whether a pod of the target backs off after a failed pull or a crash.
    #[must_use]
    pub fn is_backing_off(&self, target: TargetId) -> bool {
        let state = &self.deployments[target.index()];
        state.pods().any(|pod| {
            let phase = self.pods[pod.index()].phase;
            matches!(phase, PodPhase::ImageBackOff | PodPhase::CrashLoop)
        })
    }

    /// Returns whether a pod of the target runs but cannot pass its readiness probe because of a defect.
    #[must_use]
    pub fn is_stuck(&self, target: TargetId) -> bool {
        let state = &self.deployments[target.index()];
        state.pods().any(|pod| {
            let pod = &self.pods[pod.index()];
            match pod.phase {
                PodPhase::Unready => true,
                PodPhase::Running => {
                    let shows_at_start = self.defect_of_pod(pod).kind == DefectKind::Unready;
                    shows_at_start && pod.troubled && !self.is_starting_again(pod)
                }
                _ => false,
            }
        })
    }

    /// Returns whether a pod's container was stopped because of its start time-out, and has not restarted
    /// successfully.
    fn is_starting_again(&self, pod: &Pod) -> bool {
        self.workload_of(pod).start_timeout.is_some() && !pod.ready
    }

    pub(crate) fn sync_workload(&mut self, target: TargetId, workload: usize, queue: &mut Queue) {
        if self.deployments[target.index()].workloads[workload]
            .desired
            .is_none()
        {
            return;
        }
        match self.workloads_of(target)[workload].kind {
            WorkloadKind::Deployment { .. } => self.sync_deployment(target, workload, queue),
            WorkloadKind::DaemonSet { .. } => self.sync_daemon_set(target, workload, queue),
        }
        self.update_progress_condition(target, workload, queue);
        self.note_settled(target, queue);
    }

    fn sync_deployment(&mut self, target: TargetId, workload: usize, queue: &mut Queue) {
        loop {
            let kind = &self.workloads_of(target)[workload].kind;
            let state = &self.deployments[target.index()].workloads[workload];
            let step = state.replica_counts(kind, &self.pods).next_step();
            if step == RollingStep::default() {
                return;
            }
            for _ in 0..step.create {
                let node = self.node_for_pod(target, workload);
                self.create_pod(target, workload, node, queue);
            }
            for (are_available, count) in
                [(false, step.delete_broken), (true, step.delete_available)]
            {
                for _ in 0..count {
                    let state = &self.deployments[target.index()].workloads[workload];
                    let victim = state.next_victim(are_available, &self.pods);
                    self.delete_pod(victim, queue);
                }
            }
        }
    }

    fn sync_daemon_set(&mut self, target: TargetId, workload: usize, queue: &mut Queue) {
        let WorkloadKind::DaemonSet {
            max_unavailable,
            max_surge,
        } = self.workloads_of(target)[workload].kind
        else {
            unreachable!("the caller handles only DaemonSets");
        };
        let nodes = self.nodes_of(self.cluster_of_target(target));
        let (surge, unavailable) =
            daemon_set_limits(nodes.len() as u32, max_surge, max_unavailable);
        let state = &self.deployments[target.index()].workloads[workload];
        let step = state
            .pods_by_node(&nodes, &self.pods)
            .next_step(surge, unavailable, &self.pods);
        for pod in step.delete {
            self.delete_pod(pod, queue);
        }
        for at in step.create {
            let node = NodeId::at(nodes.start + at);
            if self.nodes[node.index()].is_under_pressure() {
                continue;
            }
            self.create_pod(target, workload, Some(node), queue);
        }
    }

    /// Lets the controllers of all DaemonSets of a cluster act.
    pub(crate) fn sync_daemon_sets(&mut self, cluster: ClusterId, queue: &mut Queue) {
        for at in 0..self.clusters[cluster.index()].deployments.len() {
            let target = self.clusters[cluster.index()].deployments[at];
            for (workload, spec) in self.workloads_of(target).iter().enumerate() {
                if matches!(spec.kind, WorkloadKind::DaemonSet { .. }) {
                    self.sync_workload(target, workload, queue);
                }
            }
        }
    }

    /// Lets the controllers of all workloads of a cluster act.
    pub(crate) fn sync_workloads(&mut self, cluster: ClusterId, queue: &mut Queue) {
        for at in 0..self.clusters[cluster.index()].deployments.len() {
            let target = self.clusters[cluster.index()].deployments[at];
            for workload in 0..self.workloads_of(target).len() {
                self.sync_workload(target, workload, queue);
            }
        }
    }

    fn pod_gone(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &self.pods[id.index()];
        let target = pod.target;
        let workload = pod.workload;
        let node = pod.node;
        let cluster = self.nodes[node.index()].cluster;
        if self.nodes[node.index()].down {
            // Only the node's kubelet can confirm that the pod is gone.
            self.nodes[node.index()].terminating_on_lost_node.push(id);
            return;
        }
        let terminating = &mut self.deployments[target.index()].workloads[workload].terminating;
        let at = terminating
            .iter()
            .position(|&other| other == node)
            .expect("a pod that is gone was terminating");
        terminating.swap_remove(at);
        self.pod_leaves_disk(id, queue);
        self.bind_waiting(cluster, queue);
        self.sync_workload(target, workload, queue);
        self.note_pods_gone(target, queue);
    }

    /// Enables checks and reports of progress deadlines.
    pub fn watch_progress_deadlines(&mut self) {
        self.watches_progress = true;
    }

    /// Starts recording the load of each application over time.
    pub fn watch_applications(&mut self) {
        self.meter.watch_applications();
    }

    /// Checks the progress of a Deployment, if progress deadlines are watched.
    pub(crate) fn update_progress_condition(
        &mut self,
        id: TargetId,
        workload: usize,
        queue: &mut Queue,
    ) {
        if self.watches_progress {
            let spec = &self.workloads_of(id)[workload];
            self.deployments[id.index()]
                .update_progress_condition(workload, spec, &self.pods, queue);
        }
    }

    pub(crate) fn progress_deadline(&mut self, id: TargetId, workload: usize, queue: &mut Queue) {
        self.deployments[id.index()].workloads[workload]
            .progressing
            .look = None;
        self.update_progress_condition(id, workload, queue);
        self.note_settled(id, queue);
    }
}
