//! The events of a world, and their queue.
//!
//! Events name pods, pulls and nodes by id; the handler of an event checks whether it still applies. The dispatch is
//! [`crate::world::World::handle`].

use crate::engine::EventQueue;
use crate::world::clusters::apply_rules::{ApplyFailure, FailedApply};
use crate::world::ids::{ApplicationId, ClusterId, NodeId, PodId, PullId, TargetId};
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::pull_wait::PullWait;
use crate::world::registry::request::{HostRole, Request, Response};
use fleetsim_rollout::Revision;
use fleetsim_units::SimTime;

/// The queue of a world's events.
pub type Queue = EventQueue<Event>;

/// Everything that happens in a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Scheduled by the driver of the world for the control plane of an application; the world ignores it.
    Driver(ApplicationId, DriverEvent),
    /// A failure or its repair.
    Fault(FaultEvent),
    /// An event of a cluster's agent.
    Agent(AgentEvent),
    /// An event of a workload and its pods.
    Workload(WorkloadEvent),
    /// An event of the nodes that join a cluster.
    Scaling(ClusterId, ScalingEvent),
    /// An event of a pull's request to a registry, cache or peer.
    Request(PullId, Request, RequestEvent),
    /// An event of a pull, apart from its requests.
    Pull(PullId, PullEvent),
    /// A layer is written to a node's disk, or the disk's buffer is full.
    DiskChanges(NodeId),
    /// The kubelet examines the space on its node's disk.
    Space(NodeId, SpaceEvent),
    /// An event of the distribution of images.
    Distribution(DistributionEvent),
    /// A window of a registry begins or ends.
    RegistryWindow {
        /// Index of the registry: 0 is the first.
        registry: u32,
        /// Index into [`crate::world::RegistrySpec::windows`].
        window: u32,
        /// Whether the window begins or ends.
        begins: bool,
    },
    /// The rate at which a registry may send, or at which it sends to others, changes.
    RegistryLoad {
        /// Index of the registry: 0 is the first.
        registry: u32,
        /// The change.
        change: LoadEvent,
    },
    /// At least one transfer has completed.
    TransfersEnd,
}

impl Event {
    /// Returns whether a controller or its driver caused the event, instead of the world.
    #[must_use]
    pub const fn is_of_driver(&self) -> bool {
        matches!(self, Self::Driver(..))
    }

    /// Returns the name of the event's kind, for counting.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Driver(_, event) => event.kind(),
            Self::Fault(_) => "failures and repairs",
            Self::Agent(AgentEvent::InstructionArrives(_)) => "instructions that reach an agent",
            Self::Agent(AgentEvent::WorkerFree(_)) => "ends of the wait for a worker of an agent",
            Self::Agent(AgentEvent::StatusSent(_)) => "reports that wait for an agent's client",
            Self::Agent(AgentEvent::Applied(_)) => "ends of an apply",
            Self::Agent(AgentEvent::ApplyFails(..) | AgentEvent::WaitEnds(_)) => "failed applies",
            Self::Agent(AgentEvent::ApplyAgain(_)) => "retries of a failed apply",
            Self::Agent(AgentEvent::ReadinessDue(_)) => "readiness checks by an agent",
            Self::Agent(AgentEvent::ReportArrives(_)) => "reports of an agent",
            Self::Agent(AgentEvent::RemovalArrives(_)) => "deletions that reach an agent",
            Self::Workload(WorkloadEvent::PodSync(_)) => "retries of a pod after a failed pull",
            Self::Workload(WorkloadEvent::Crashed(_)) => "crashes of a container",
            Self::Workload(WorkloadEvent::Restart(_)) => "restarts of a container",
            Self::Workload(_) => "changes of a pod",
            Self::Scaling(..) => "nodes that join a cluster",
            Self::Request(_, _, RequestEvent::Retry(_)) => "retries of a request",
            Self::Request(..) => "requests of a pull",
            Self::Pull(..) => "steps of a pull",
            Self::DiskChanges(_) => "changes of a node's disk",
            Self::Space(..) => "looks of a kubelet at its disk",
            Self::Distribution(_) => "steps of image distribution",
            Self::RegistryWindow { .. } => "windows of a registry",
            Self::RegistryLoad { .. } => "changes of a registry's load",
            Self::TransfersEnd => "ends of transfers",
        }
    }

    /// Returns whether the event only exists because a host has limits, and affects no measured value.
    pub(crate) const fn only_checks_limit(&self) -> bool {
        matches!(
            self,
            Self::Request(_, _, RequestEvent::Arrives(_) | RequestEvent::Served(_))
        )
    }
}

/// A change of the rate at which a registry may send, or at which it sends to clients outside the fleet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadEvent {
    /// The registry's burst allowance is used up.
    BurstEnds,
    /// The steady load from others changes.
    OtherRate,
    /// Another fleet begins a pull.
    OtherPull,
}

/// Events that the driver of a world may schedule for itself, such as those of a management cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DriverEvent {
    /// The new revision is released.
    Released,
    /// A report is in the controller's cache.
    Seen(Report),
    /// A timer of the controller, identified by its number, expires.
    Timer(u32),
    /// A write that instructs a target to run a revision takes effect.
    Instruct(TargetId, Revision),
    /// A write that removes a target's workloads for good takes effect.
    Withdraw(TargetId),
    /// A write that pauses or resumes a target takes effect.
    Pause(TargetId, bool),
    /// The controller's cache shows a person's change, which is identified by its number in the list of changes.
    PersonActs(u32),
    /// People look whether a rollout is stalled. The number is that of a rule of the operator for the application.
    OperatorLooks(u32),
    /// People act by a rule of the operator, identified in the same way.
    OperatorActs(u32),
    /// The application gets a part of the control plane that another application had.
    HubTurn,
}

impl DriverEvent {
    /// Returns the name of the event's kind, for counting.
    const fn kind(self) -> &'static str {
        match self {
            Self::Released => "releases",
            Self::Seen(_) => "reports that the controller sees",
            Self::Timer(_) => "timers of the controller",
            Self::Instruct(..) => "instructions of the controller",
            Self::Withdraw(_) => "deletions by the controller",
            Self::Pause(..) => "pauses of a deployment",
            Self::PersonActs(_) | Self::OperatorActs(_) => "acts of people",
            Self::OperatorLooks(_) => "looks of people",
            Self::HubTurn => "turns of an application at the hub",
        }
    }
}

/// A failure or its repair.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultEvent {
    /// A cluster that was offline from the start reconnects.
    OfflineEnds(ClusterId),
    /// An outage of a single cluster begins.
    OutageBegins(ClusterId),
    /// An outage of a single cluster ends.
    OutageEnds(ClusterId),
    /// Senders retry after a cut of a cluster's link.
    TransfersResume(ClusterId),
    /// A gap of a cluster's link begins or ends.
    GapChanges(ClusterId),
    /// An outage of several clusters begins: an index into [`crate::world::FaultSpec::regional`].
    RegionalBegins(u32),
    /// An outage of several clusters ends.
    RegionalEnds(u32),
    /// An outage from a failure model of another program begins. The number is its place in the model's list.
    GuestBegins(u32),
    /// An outage from a failure model of another program ends.
    GuestEnds(u32),
    /// A node fails.
    NodeFails(NodeId),
    /// A failed node recovers.
    NodeReturns(NodeId),
    /// A node's lease was not renewed for the grace period: its pods count as not ready.
    NodeNotReady {
        /// The node.
        node: NodeId,
        /// The number of the node's failure.
        failure: u32,
    },
    /// A node has been missing for as long as its pods tolerate this.
    NodeEvicts {
        /// The node.
        node: NodeId,
        /// The number of the node's failure.
        failure: u32,
    },
    /// The registry has responded 404 to a pull.
    NotFound(PodId),
    /// A container that worked so far stops passing its readiness probe.
    DefectShows {
        /// The pod.
        pod: PodId,
        /// The number of the container's start.
        start: u32,
    },
}

/// An event of a cluster's agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AgentEvent {
    /// An instruction reaches the agent.
    InstructionArrives(TargetId),
    /// A worker of the agent is free for a target that has waited for one.
    WorkerFree(TargetId),
    /// The agent sends the report of an apply, which has waited for the limit of its client.
    StatusSent(TargetId),
    /// The agent has finished applying a revision.
    Applied(TargetId),
    /// An apply fails.
    ApplyFails(TargetId, ApplyFailure),
    /// The workloads are not ready within the time-out of an apply.
    WaitEnds(TargetId),
    /// The agent retries a failed apply.
    ApplyAgain(TargetId),
    /// The agent reports readiness if it has changed.
    ReadinessDue(TargetId),
    /// A report reaches the management cluster.
    ReportArrives(Report),
    /// The deletion of the workloads reaches the agent.
    RemovalArrives(TargetId),
}

/// A report of an agent to the management cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Report {
    /// The target whose state is reported.
    pub target: TargetId,
    /// The revision that was last applied; [`crate::world::NOTHING`] if only a failed apply is reported, or
    /// the removal of all workloads.
    pub applied: Revision,
    /// Whether the whole release was ready.
    pub ready: bool,
    /// Whether one of the target's Deployments had exceeded its progress deadline; always false unless the world
    /// watches deadlines ([`crate::world::World::watch_progress_deadlines`]).
    pub degraded: bool,
    /// The target's last apply, if it failed.
    pub failure: Option<FailedApply>,
}

/// An event of a workload or one of its pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkloadEvent {
    /// A pod is created for which no node had room.
    PodCreated(PodId),
    /// A pod is created and bound to its node.
    PodBound(PodId),
    /// A pod's sandbox is created.
    SandboxReady(PodId),
    /// The kubelet syncs a pod whose pull failed.
    PodSync(PodId),
    /// A container's process starts to run.
    ContainerStarted(PodId),
    /// A readiness probe has passed often enough.
    PodReady {
        /// The pod.
        pod: PodId,
        /// The number of the container's start.
        start: u32,
    },
    /// A pod has been ready for `minReadySeconds`.
    PodAvailable {
        /// The pod.
        pod: PodId,
        /// The number of the container's start.
        start: u32,
    },
    /// A container has crashed.
    Crashed(PodId),
    /// The crash-loop back-off has expired.
    Restart(PodId),
    /// A deleted pod's grace period has expired.
    PodGone(PodId),
    /// A Deployment's controller checks its progress deadline.
    ProgressDeadline {
        /// The target.
        target: TargetId,
        /// The workload.
        workload: u32,
    },
}

/// An event of the nodes that join a cluster while pods wait for room.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScalingEvent {
    /// The autoscaler requests nodes for the pods that wait.
    Decides,
    /// A requested node is ready.
    NodeJoins,
}

/// An event of a pull's request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestEvent {
    /// The request reaches a host with limits.
    Arrives(HostRole),
    /// A host with limited connections or workers has served the request.
    Served(HostRole),
    /// The response of a registry's host arrives.
    Response(HostRole, Response),
    /// The request is resent after it was refused.
    Retry(PullWait),
    /// The runtime retries to connect to a host that does not respond, or gives up.
    Redial {
        /// The host.
        host: HostRole,
        /// The time of the first attempt.
        since: SimTime,
    },
    /// The request continues to the registry because a nearer host did not have the blob.
    Upstream,
    /// The response of a cache, a mirror or a peer arrives.
    NearbyResponse(Response),
    /// The transfer of the request's blob has passed its slow start.
    RampedUp,
}

/// An event of a pull, apart from its requests. Layers are identified by their index in the image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullEvent {
    /// The last piece of a layer has arrived from a swarm.
    LayerSettles(u16),
    /// A layer begins to be written on a node with a limited disk.
    LayerWrites(u16),
    /// A layer is unpacked.
    Unpacked(u16),
    /// The pull has received no data for as long as the runtime waits.
    Stalled,
    /// The pull has exceeded its deadline.
    Deadline,
    /// A layer does not fit on the node's disk.
    NoSpace,
    /// The image is complete on its node.
    Completed,
    /// In a replay, real machines have completed the pull, or it has failed there.
    OrderEnds(Option<PullError>),
}

/// A loop of the kubelet that examines the space on its node's disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SpaceEvent {
    /// The eviction manager looks at the available space.
    Look,
    /// The image collector runs.
    Collect,
}

/// An event of the distribution of images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DistributionEvent {
    /// The bytes that the containers of an image read on demand begin to arrive at a node.
    ReadsBegin {
        /// The node.
        node: NodeId,
        /// The image, by its number in this world.
        image: u16,
    },
    /// A group of clusters begins to pre-pull.
    PrePullGroup,
    /// The pre-pull is finished: the new revision is released. Handled by the driver.
    Released,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_an_event_is_limited() {
        assert_eq!(size_of::<Event>(), 24, "queues hold many of them");
    }
}
