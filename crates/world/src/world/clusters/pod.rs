//! Pods from creation to readiness.
//!
//! The kubelet creates a pod's sandbox before it asks for the pod's image, whether or not the image is on the node
//! (kubernetes `SyncPod` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). Pods draw this time independently, so
//! the requests of pods that arrive together spread. Later syncs and restarts of a container keep the sandbox. A
//! restart by Diego creates the whole container again, and a cell downloads while it creates, so there both times
//! follow the download.
//!
//! A pod waits for its image, starts, and becomes ready at the first readiness probe that its process can answer. It
//! is available `minReadySeconds` later. A failed pull puts it into image back-off for 10, 20, … 300 s. The kubelet
//! checks the back-off only when the pod is synced: 10-15 s after each error or, under the newer rule, when the
//! back-off expires. A container that crashes restarts by the platform's rule ([`crate::world::Restarts`]).
//!
//! Readiness probes are sent every period from the container's start, because its first sync as running makes the
//! kubelet probe immediately (kubernetes `pkg/kubelet/prober/{worker,prober_manager}.go`). Probes before
//! `initialDelay` are skipped. A probe that times out fails like a refused probe, and the next one is sent a period
//! later, so `timeoutSeconds` has no effect unless it exceeds the period. `failureThreshold` ends readiness, which
//! only a crash does in this model.
//!
//! With a start time-out, a check probes the process from its start. If the process has not answered by the time-out,
//! the process is stopped, which counts as a crash (code.cloudfoundry.org/executor
//! `depot/steps/{monitor_step,health_check_step}.go`; the kubelet's startup probe does the same). The period of the
//! check is left out.
//!
//! Left out: evictions, init containers, liveness probes, and the seconds that the API server, the
//! kubelet's status manager and the workload controllers need to see each other's changes. The kubelet sees container
//! changes once a second (PLEG); the mean delay of half a second is part of `startOverhead`.

use crate::engine::EventId;
use crate::world::backoff::BackoffEntry;
use crate::world::clusters::cluster::ClusterState;
use crate::world::clusters::restarts::{Crashes, Restarter};
use crate::world::clusters::spec::WorkloadSpec;
use crate::world::event::{Event, Queue, WorkloadEvent};
use crate::world::ids::{NEW, NodeId, PodId, TargetId};
use crate::world::nodes::catalog::ImageRef;
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::pull_wait::PullWait;
use crate::world::nodes::spec::Requeue;
use crate::world::quantity::DurationModel;
use crate::world::{World, calibration};
use fleetsim_rollout::Revision;
use fleetsim_units::{SimDuration, SimTime};

/// The phase of a pod.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PodPhase {
    /// No node has room for the pod.
    Unbound,
    /// The pod waits to be created and bound to its node.
    Pending,
    /// The pod's sandbox is being created.
    Sandbox,
    /// The pod waits for its image, in its node's queue or during the pull.
    Pulling,
    /// The pod's pull failed; the pod is synced again later.
    ImageBackOff,
    /// The pod's container is being created.
    Starting,
    /// The pod's process runs.
    Running,
    /// The pod's process runs but no longer answers its readiness probe.
    Unready,
    /// The pod's node has failed.
    Lost,
    /// The pod's container has crashed and restarts later.
    CrashLoop,
    /// The pod is deleted, and is gone when its grace period ends.
    Terminating,
}

/// One pod.
#[derive(Debug)]
pub(crate) struct Pod {
    pub target: TargetId,
    pub node: NodeId,
    pub workload: usize,
    pub revision: Revision,
    pub image: ImageRef,
    pub phase: PodPhase,
    pub ready: bool,
    pub available: bool,
    pub image_backoff: BackoffEntry,
    pub crashes: Crashes,
    /// The number of earlier pods of the deployment on the node. Together with the pod's own counters, it identifies
    /// the pod's random draws.
    ordinal: u32,
    /// Number of starts of the pod's container; events of earlier starts are stale.
    pub starts: u32,
    /// Number of requeues after an error.
    requeues: u32,
    /// Start of the pod's image back-off.
    backed_off_at: SimTime,
    /// Number of the pod's requeues before the image back-off.
    requeues_before: u32,
    /// The reason why the pod backs off after a failed pull, if it does.
    pub(crate) waits_for: Option<PullWait>,
    /// Whether the pod backs off, has crashed and not become ready since, or is not ready because of a defect.
    pub(crate) troubled: bool,
    /// Whether the pod only pre-pulls its image before the release.
    pub(crate) pre_pull: bool,
    /// Whether the pod can never become ready, because it crashes first or its image is missing. Its events then have
    /// no effect.
    pub(crate) never_ready: bool,
    /// The pod's next pending event, apart from probes.
    pub next: Option<EventId>,
}

impl Pod {
    /// Returns whether the pod has a node. Without one, [`Pod::node`] is any node of its cluster.
    pub(crate) fn has_node(&self) -> bool {
        self.phase != PodPhase::Unbound
    }
}

impl World<'_> {
    pub(crate) fn new_pod(
        &mut self,
        target: TargetId,
        workload: usize,
        node: NodeId,
        revision: Revision,
        phase: PodPhase,
    ) -> PodId {
        let image = self
            .catalog
            .revision(self.workloads_of(target)[workload].image, revision);
        // A pod without a node gets its number with its node.
        let mut ordinal = 0;
        if phase != PodPhase::Unbound {
            ordinal = self.next_pod_on(target, node);
            self.nodes[node.index()].uses_image(image);
        }
        self.pods.add(Pod {
            target,
            node,
            workload,
            revision,
            image,
            phase,
            ready: false,
            available: false,
            image_backoff: BackoffEntry::default(),
            crashes: Crashes::default(),
            ordinal,
            starts: 0,
            requeues: 0,
            backed_off_at: SimTime::ZERO,
            requeues_before: 0,
            waits_for: None,
            troubled: false,
            pre_pull: false,
            never_ready: false,
            next: None,
        })
    }

    /// Creates a pod on this node. `None`: no node has room for it.
    pub(crate) fn create_pod(
        &mut self,
        target: TargetId,
        workload: usize,
        node: Option<NodeId>,
        queue: &mut Queue,
    ) {
        let state = &mut self.deployments[target.index()].workloads[workload];
        let revision = state
            .desired
            .expect("a controller without a template creates nothing");
        let Some(node) = node else {
            let id = self.new_unbound_pod(target, workload, revision);
            self.create_unbound_pod(id, queue);
            return;
        };
        let id = self.new_pod(target, workload, node, revision, PodPhase::Pulling);
        self.deployments[target.index()].workloads[workload]
            .pods
            .push(id);
        let cluster = self.cluster_of_target(target);
        let bound = self.clusters[cluster.index()].pod_queues.bound(queue.now());
        self.bind_at(id, bound, queue);
    }

    /// Adds a pod without a node to a workload.
    fn new_unbound_pod(&mut self, target: TargetId, workload: usize, revision: Revision) -> PodId {
        let any = NodeId::at(self.nodes_of(self.cluster_of_target(target)).start);
        let id = self.new_pod(target, workload, any, revision, PodPhase::Unbound);
        self.deployments[target.index()].workloads[workload]
            .pods
            .push(id);
        id
    }

    /// Returns the cluster of a pod.
    pub(crate) fn cluster_of_pod(&self, id: PodId) -> &ClusterState {
        let node = self.pods[id.index()].node;
        &self.clusters[self.nodes[node.index()].cluster.index()]
    }

    /// Counts a pod of a deployment on a node, and returns the number of earlier ones.
    fn next_pod_on(&mut self, target: TargetId, node: NodeId) -> u32 {
        let deployment = &mut self.deployments[target.index()];
        let first = self.clusters[deployment.cluster.index()].nodes.start;
        deployment.next_pod(node.index() - first)
    }

    /// Gives a node to a pod without one.
    pub(super) fn place(&mut self, id: PodId, node: NodeId) {
        let ordinal = self.next_pod_on(self.pods[id.index()].target, node);
        self.nodes[node.index()].uses_image(self.pods[id.index()].image);
        let pod = &mut self.pods[id.index()];
        pod.node = node;
        pod.ordinal = ordinal;
        pod.phase = PodPhase::Pulling;
    }

    /// Gives a pod to its kubelet at the time at which the scheduler binds it.
    pub(super) fn bind_at(&mut self, id: PodId, bound: SimTime, queue: &mut Queue) {
        let now = queue.now();
        if bound == now {
            self.reach_node(id, queue);
        } else {
            self.pods[id.index()].phase = PodPhase::Pending;
            self.pods.schedule(
                id,
                bound - now,
                Event::Workload(WorkloadEvent::PodBound(id)),
                queue,
            );
        }
    }

    /// Called when a pod is created and bound.
    pub(crate) fn pod_bound(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods.take_event(id) == PodPhase::Pending {
            self.reach_node(id, queue);
        }
    }

    /// Called when the kubelet of a pod's node receives it, or finds it again after a failure of the node.
    pub(crate) fn reach_node(&mut self, id: PodId, queue: &mut Queue) {
        if self.nodes[self.pods[id.index()].node.index()].down {
            self.pods[id.index()].phase = PodPhase::Lost;
            return;
        }
        let sandbox = match self.platform.restarts.by {
            Restarter::Kubelet => self.draw_sandbox(id, 0),
            Restarter::Diego => SimDuration::ZERO,
        };
        if sandbox.is_zero() {
            self.ensure_image(id, queue);
            return;
        }
        self.pods[id.index()].phase = PodPhase::Sandbox;
        let event = Event::Workload(WorkloadEvent::SandboxReady(id));
        self.pods.schedule(id, sandbox, event, queue);
    }

    /// Draws the time that the `nth` sandbox of a pod takes.
    fn draw_sandbox(&self, id: PodId, nth: u32) -> SimDuration {
        let usual = self.draw(id, &self.spec.node.sandbox, "sandbox", nth);
        slowed(usual, self.cluster_of_pod(id).draws.start)
    }

    /// Called when the sandbox of a pod is created: the kubelet asks for the image.
    pub(crate) fn sandbox_ready(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods.take_event(id) == PodPhase::Sandbox {
            self.ensure_image(id, queue);
        }
    }

    pub(crate) fn delete_pod(&mut self, id: PodId, queue: &mut Queue) {
        self.set_troubled(id, false);
        self.pod_goes_on(id, queue.now());
        let pod = &mut self.pods[id.index()];
        let target = pod.target;
        let workload = pod.workload;
        let node = pod.node;
        let was = std::mem::replace(&mut pod.phase, PodPhase::Terminating);
        pod.ready = false;
        pod.available = false;
        if was == PodPhase::Unbound {
            // No kubelet has the pod, so it is gone at once.
            self.deployments[target.index()].workloads[workload]
                .pods
                .retain(|&other| other != id);
            self.stop_waiting(id);
            return;
        }
        let host = &mut self.nodes[node.index()];
        host.pull_queue.retain(|waiting| waiting.pod != id);
        let on_lost_node = host.down;
        if on_lost_node {
            host.terminating_on_lost_node.push(id);
        }
        let state = &mut self.deployments[target.index()].workloads[workload];
        state.pods.retain(|&other| other != id);
        state.terminating.push(node);
        if on_lost_node {
            return;
        }
        let grace = match was {
            PodPhase::Running | PodPhase::Unready => self.draw(
                id,
                &self.workloads_of(target)[workload].termination,
                "termination",
                0,
            ),
            _ => SimDuration::ZERO,
        };
        queue.schedule_in(grace, Event::Workload(WorkloadEvent::PodGone(id)));
    }

    /// Pre-pulls the new image of a workload on a node.
    pub(crate) fn pre_pull_image(
        &mut self,
        target: TargetId,
        node: NodeId,
        workload: usize,
        queue: &mut Queue,
    ) {
        // Pre-pulls must not change the numbers and the random draws of the rollout's pods, so the node does not count
        // this one.
        let id = self.new_pod(target, workload, node, NEW, PodPhase::Unbound);
        // Nothing runs an image that is pulled in advance, so the kubelet may remove it.
        let image = self.pods[id.index()].image;
        self.nodes[node.index()].uses_image(image);
        self.nodes[node.index()].leaves_image(image, queue.now());
        let pod = &mut self.pods[id.index()];
        pod.phase = PodPhase::Pulling;
        pod.pre_pull = true;
        pod.ordinal = 1 << 31 | workload as u32;
        self.enqueue_pull(id, queue);
    }

    /// Downloads the image of a pod that only needs the image, without running it afterwards.
    pub(crate) fn bring_image(&mut self, id: PodId, queue: &mut Queue) {
        self.pods[id.index()].pre_pull = true;
        self.ensure_image(id, queue);
    }

    /// Syncs a pod that has no image yet.
    pub(crate) fn ensure_image(&mut self, id: PodId, queue: &mut Queue) {
        self.pods[id.index()].phase = PodPhase::Pulling;
        if self.needs_pull(id) {
            self.enqueue_pull(id, queue);
        } else {
            self.image_ready(id, queue);
        }
    }

    pub(crate) fn sync_pod(&mut self, id: PodId, queue: &mut Queue) {
        let now = queue.now();
        if self.pods.take_event(id) != PodPhase::ImageBackOff {
            return;
        }
        let backs_off = self.pods[id.index()]
            .image_backoff
            .expires()
            .is_some_and(|expires| now < expires);
        debug_assert!(
            !backs_off || !self.needs_pull(id),
            "a sync that does nothing is not scheduled"
        );
        self.set_troubled(id, false);
        self.pod_goes_on(id, now);
        // A missing image is on the node if another release brings the same content.
        self.pods[id.index()].never_ready &= self.needs_pull(id);
        self.ensure_image(id, queue);
    }

    /// Requeues a pod whose pull has failed.
    fn requeue(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &mut self.pods[id.index()];
        pod.backed_off_at = queue.now();
        pod.requeues_before = pod.requeues;
        let backing_off = &mut self.nodes[pod.node.index()].backing_off;
        if !backing_off.contains(&id) {
            backing_off.push(id);
        }
        let until = pod.image_backoff.expires().unwrap_or(SimTime::ZERO);
        self.schedule_sync(id, until, queue);
    }

    /// Schedules the first sync of a pod in image back-off at `until` or later. Earlier syncs would only draw the time
    /// of the next sync, so they are not scheduled.
    fn schedule_sync(&mut self, id: PodId, until: SimTime, queue: &mut Queue) {
        let pod = &self.pods[id.index()];
        let expires = pod.image_backoff.expires().unwrap_or(SimTime::ZERO);
        let mut at = pod.backed_off_at;
        loop {
            at = at + self.until_next_sync(id, expires.saturating_since(at));
            if at >= until {
                break;
            }
        }
        let wait = at.saturating_since(queue.now());
        self.pods
            .schedule(id, wait, Event::Workload(WorkloadEvent::PodSync(id)), queue);
    }

    /// Called when an image is now on a node: the next sync of a pod that backs off there starts its container.
    pub(crate) fn image_appears(&mut self, node: NodeId, queue: &mut Queue) {
        let mut waiting = std::mem::take(&mut self.nodes[node.index()].backing_off);
        waiting.retain(|id| self.pods[id.index()].phase == PodPhase::ImageBackOff);
        for &id in &waiting {
            let pod = &mut self.pods[id.index()];
            let is_pending = pod
                .image_backoff
                .expires()
                .is_some_and(|expires| queue.now() < expires);
            if is_pending && !self.needs_pull(id) {
                let pod = &mut self.pods[id.index()];
                pod.requeues = pod.requeues_before;
                if let Some(event) = pod.next.take() {
                    queue.cancel(event);
                    self.pods.take_event(id);
                }
                self.pods[id.index()].never_ready = false;
                self.schedule_sync(id, queue.now(), queue);
            }
        }
        self.nodes[node.index()].backing_off = waiting;
    }

    /// Returns the time from a failed sync of a pod to the next sync. `left`: how much longer the back-off lasts.
    fn until_next_sync(&mut self, id: PodId, left: SimDuration) -> SimDuration {
        let pod = &mut self.pods[id.index()];
        pod.requeues += 1;
        let nth = pod.requeues;
        let wait = match self.spec.node.requeue {
            Requeue::AfterError => {
                self.draw(id, &self.spec.node.error_requeue, "error requeue", nth)
            }
            Requeue::AtExpiry => {
                let wait = left.min(self.spec.node.sync_frequency);
                let jitter = DurationModel::Uniform {
                    min: wait,
                    max: wait.mul_f64(1.0 + calibration::REQUEUE_JITTER),
                };
                self.draw(id, &jitter, "expiry requeue", nth)
            }
        };
        // A kubelet that syncs continuously notices the end of the back-off immediately.
        if wait.is_zero() { left } else { wait }
    }

    pub(crate) fn image_ready(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods[id.index()].phase != PodPhase::Pulling {
            return;
        }
        if self.pods[id.index()].pre_pull {
            self.pods[id.index()].phase = PodPhase::Terminating;
            self.pre_pulled(id, queue);
            return;
        }
        self.start_container(id, queue);
    }

    pub(crate) fn pull_failed(&mut self, id: PodId, error: PullError, queue: &mut Queue) {
        let now = queue.now();
        let backoff = self.spec.node.image_backoff;
        let pod = &mut self.pods[id.index()];
        if pod.phase == PodPhase::Pulling {
            pod.phase = PodPhase::ImageBackOff;
            pod.image_backoff.fail(now, backoff);
            self.totals.backoffs += 1;
            self.set_troubled(id, true);
            self.pod_waits(id, error, now);
            self.requeue(id, queue);
        }
        self.count_failed_pull(id, error);
    }

    /// Counts a failed attempt for a pod.
    pub(crate) fn count_failed_pull(&mut self, id: PodId, error: PullError) {
        let pod = &self.pods[id.index()];
        let cluster = self.nodes[pod.node.index()].cluster;
        self.clusters[cluster.index()].facts.failed_pulls += 1;
        self.deployments[pod.target.index()].facts.failed_pulls += 1;
        self.totals.failed_pulls[error as usize] += 1;
    }

    fn start_container(&mut self, id: PodId, queue: &mut Queue) {
        let pod = &mut self.pods[id.index()];
        pod.phase = PodPhase::Starting;
        pod.starts += 1;
        let nth = pod.starts;
        let draws = self.cluster_of_pod(id).draws;
        let usual = self.draw(id, &self.spec.node.start_overhead, "start overhead", nth);
        let mut overhead = slowed(usual, draws.start);
        if self.platform.restarts.by == Restarter::Diego {
            overhead += self.draw_sandbox(id, nth);
        }
        if let Some(rate) = self.spec.pods.starts_per_second {
            let node = &mut self.nodes[self.pods[id.index()].node.index()];
            overhead += node.wait_to_start(rate, draws.slow, queue.now());
        }
        if self.read_on_demand(id, overhead, queue) {
            return;
        }
        self.pods.schedule(
            id,
            overhead,
            Event::Workload(WorkloadEvent::ContainerStarted(id)),
            queue,
        );
    }

    /// Called at the event at which the process of a container starts.
    pub(crate) fn container_started(&mut self, id: PodId, queue: &mut Queue) {
        self.pods.take_event(id);
        self.process_runs(id, queue);
    }

    /// Called when the process of a container starts, if the pod still waits for it.
    pub(crate) fn process_runs(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods[id.index()].phase != PodPhase::Starting {
            return;
        }
        let pod = &mut self.pods[id.index()];
        pod.phase = PodPhase::Running;
        let start = pod.starts;
        let is_defective = self.deployments[pod.target.index()]
            .draws
            .of(pod.revision)
            .defective;
        let workload = self.workload_of(&self.pods[id.index()]);
        let is_latent = self.defect_of_pod(&self.pods[id.index()]).is_latent();
        let works = !is_defective || is_latent;
        let defect_crash = if is_defective {
            self.show_defect(id, start, queue)
        } else {
            None
        };
        // A defective container never answers, unless its defect is latent.
        let mut able = None;
        if works {
            let usual = self.draw(id, &workload.start, "start", start);
            able = Some(slowed(usual, self.cluster_of_pod(id).draws.start));
        }
        let WorkloadSpec {
            readiness,
            start_timeout,
            ..
        } = *workload;
        let late = start_timeout.filter(|limit| able.is_none_or(|able| able > *limit));
        if let Some(crash) = defect_crash.into_iter().chain(late).min() {
            let event = Event::Workload(WorkloadEvent::Crashed(id));
            self.pods.schedule(id, crash, event, queue);
        }
        let ready = match (readiness, able) {
            _ if late.is_some() => return,
            (None, _) if start_timeout.is_none() => {
                self.pod_ready(id, start, queue);
                return;
            }
            (_, None) => return,
            (None, Some(able)) => able,
            (Some(probe), Some(able)) => probe.succeeds(able),
        };
        queue.schedule_in(
            ready,
            Event::Workload(WorkloadEvent::PodReady { pod: id, start }),
        );
    }

    pub(crate) fn pod_ready(&mut self, id: PodId, start: u32, queue: &mut Queue) {
        let pod = &mut self.pods[id.index()];
        if pod.phase != PodPhase::Running || pod.starts != start {
            return;
        }
        pod.crashes.ready(queue.now());
        pod.ready = true;
        let target = pod.target;
        let workload = pod.workload;
        let min_ready = self.workloads_of(target)[workload].min_ready;
        if min_ready.is_zero() {
            self.pod_available(id, start, queue);
        } else {
            self.update_progress_condition(target, workload, queue);
            queue.schedule_in(
                min_ready,
                Event::Workload(WorkloadEvent::PodAvailable { pod: id, start }),
            );
        }
    }

    pub(crate) fn pod_available(&mut self, id: PodId, start: u32, queue: &mut Queue) {
        let pod = &mut self.pods[id.index()];
        if pod.phase != PodPhase::Running || pod.starts != start {
            return;
        }
        pod.available = true;
        let target = pod.target;
        let workload = pod.workload;
        self.set_troubled(id, false);
        self.sync_workload(target, workload, queue);
    }

    /// Returns when a container restarts whose back-off ends at `opens`.
    fn restarts_at(&mut self, id: PodId, now: SimTime, opens: SimTime) -> SimTime {
        let mut at = if self.platform.restarts.by == Restarter::Diego {
            opens
        } else {
            now
        };
        // The crash itself causes a sync. Each sync during the back-off fails, and schedules the next one.
        while at < opens {
            at = at + self.until_next_sync(id, opens - at);
        }
        at
    }

    pub(crate) fn crashed(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods.take_event(id) != PodPhase::Running {
            return;
        }
        let now = queue.now();
        let spec = self.workload_of(&self.pods[id.index()]);
        let is_latent = self.defect_of_pod(&self.pods[id.index()]).is_latent();
        let must_answer = spec.readiness.is_some() || spec.start_timeout.is_some();
        let pod = &mut self.pods[id.index()];
        let target = pod.target;
        let workload = pod.workload;
        pod.phase = PodPhase::CrashLoop;
        pod.ready = false;
        pod.available = false;
        let is_defective = self.deployments[target.index()]
            .draws
            .of(pod.revision)
            .defective;
        pod.never_ready = must_answer && is_defective && !is_latent;
        let wait = pod.crashes.crash(now, &self.platform.restarts);
        self.totals.crashes += 1;
        self.set_troubled(id, true);
        if let Some(wait) = wait {
            let at = self.restarts_at(id, now, now + wait);
            self.pods[id.index()].crashes.restarts(at);
            self.pods.schedule(
                id,
                at - now,
                Event::Workload(WorkloadEvent::Restart(id)),
                queue,
            );
        }
        self.sync_workload(target, workload, queue);
    }

    pub(crate) fn restart(&mut self, id: PodId, queue: &mut Queue) {
        if self.pods.take_event(id) == PodPhase::CrashLoop {
            self.start_container(id, queue);
        }
    }

    /// Draws a duration for a pod. The draw is identified by the pod's ordinal on its node and by `nth`, so the same
    /// pod of the same node draws the same value whenever it runs.
    pub fn draw(
        &self,
        id: PodId,
        model: &DurationModel,
        purpose: &'static str,
        nth: u32,
    ) -> SimDuration {
        let pod = &self.pods[id.index()];
        model.draw(
            &self.streams,
            self.key_of_pod(pod),
            purpose,
            u64::from(pod.ordinal) << 32 | u64::from(nth),
        )
    }

    /// Ends a pre-pull. Returns whether the pod is an unfinished pre-pull.
    pub(crate) fn cancel_pre_pull(&mut self, id: PodId, queue: &mut Queue) -> bool {
        let pod = &mut self.pods[id.index()];
        if !pod.pre_pull || pod.phase == PodPhase::Terminating {
            return false;
        }
        pod.phase = PodPhase::Terminating;
        if let Some(event) = pod.next.take() {
            queue.cancel(event);
        }
        self.pre_pulled(id, queue);
        true
    }

    /// Records whether a pod is in trouble.
    pub(crate) fn set_troubled(&mut self, id: PodId, troubled: bool) {
        let pod = &mut self.pods[id.index()];
        if pod.pre_pull {
            return;
        }
        if pod.troubled == troubled {
            return;
        }
        pod.troubled = troubled;
        let target = pod.target;
        let troubled_pods = &mut self.deployments[target.index()].troubled_pods;
        if troubled {
            *troubled_pods += 1;
        } else {
            *troubled_pods -= 1;
        }
        self.note_phase(target);
    }
}

/// Returns a duration in a cluster that is slower than others by `factor`.
fn slowed(span: SimDuration, factor: f64) -> SimDuration {
    // Multiplying by 1 is exact up to 2^53 ns, which is a hundred days.
    span.mul_f64(factor)
}
