//! The events of a world, and their queue.
//!
//! Events name pods, pulls and nodes by id; the handler of an event checks whether it still applies. The dispatch is
//! [`crate::world::World::handle`].

use crate::engine::EventQueue;
use crate::world::clusters::apply_rules::ApplyFailure;
use crate::world::ids::{ClusterId, NodeId, PodId, PullId};
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
    /// Scheduled by the driver of the world for itself; a world ignores it.
    Driver(DriverEvent),
    /// A failure or its repair.
    Fault(FaultEvent),
    /// Of a cluster's agent.
    Agent(AgentEvent),
    /// Of a workload and its pods.
    Workload(WorkloadEvent),
    /// Of a pull's request to a registry, cache or peer.
    Request(PullId, Request, RequestEvent),
    /// Of a pull, apart from its requests.
    Pull(PullId, PullEvent),
    /// A layer is written to a node's disk, or the disk's buffer is full.
    DiskChanges(NodeId),
    /// Of the distribution of images.
    Distribution(DistributionEvent),
    /// A window of a registry begins or ends.
    RegistryWindow {
        /// Which registry: 0 is the first.
        registry: u32,
        /// Index into [`crate::world::RegistrySpec::windows`].
        window: u32,
        /// False: it ends.
        begins: bool,
    },
    /// The rate that a registry may send, or that it sends to others, changes.
    RegistryLoad {
        /// Which registry: 0 is the first.
        registry: u32,
        /// The change.
        change: LoadEvent,
    },
    /// At least one transfer has completed.
    TransfersEnd,
}

impl Event {
    /// Whether a controller or its driver caused it, and not the world.
    #[must_use]
    pub const fn is_of_driver(&self) -> bool {
        matches!(self, Self::Driver(_))
    }

    /// The name of an event, for a count of such events.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Driver(event) => event.kind(),
            Self::Fault(_) => "failures and repairs",
            Self::Agent(AgentEvent::InstructionArrives(_)) => "instructions that reach an agent",
            Self::Agent(AgentEvent::Applied(_)) => "ends of an apply",
            Self::Agent(AgentEvent::ApplyFails(..) | AgentEvent::WaitEnds(_)) => "failed applies",
            Self::Agent(AgentEvent::ApplyAgain(_)) => "retries of a failed apply",
            Self::Agent(AgentEvent::ReadinessDue(_)) => "looks of an agent at readiness",
            Self::Agent(AgentEvent::ReportArrives(_)) => "reports of an agent",
            Self::Workload(WorkloadEvent::PodSync(_)) => "retries of a pod after a failed pull",
            Self::Workload(WorkloadEvent::Crashed(_)) => "crashes of a container",
            Self::Workload(WorkloadEvent::Restart(_)) => "restarts of a container",
            Self::Workload(_) => "changes of a pod",
            Self::Request(_, _, RequestEvent::Retry(_)) => "retries of a request",
            Self::Request(..) => "requests of a pull",
            Self::Pull(..) => "steps of a pull",
            Self::DiskChanges(_) => "changes of a node's disk",
            Self::Distribution(_) => "steps of the distribution of images",
            Self::RegistryWindow { .. } => "windows of a registry",
            Self::RegistryLoad { .. } => "changes of a registry's load",
            Self::TransfersEnd => "ends of transfers",
        }
    }

    /// Whether it is there only because a host has limits, and changes nothing that is measured.
    pub(crate) const fn only_checks_limit(&self) -> bool {
        matches!(
            self,
            Self::Request(_, _, RequestEvent::Arrives(_) | RequestEvent::Served(_))
        )
    }
}

/// A change of the rate that a registry may send, or sends to clients outside the fleet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoadEvent {
    /// Its burst allowance is spent.
    BurstEnds,
    /// The steady load of others changes.
    OtherRate,
    /// Another fleet begins a pull.
    OtherPull,
}

/// Events that the driver of a world may schedule for itself: those of a management cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DriverEvent {
    /// The new revision is released.
    Released,
    /// A report is in the controller's cache.
    Seen(Report),
    /// A timer of the controller goes off, by its number.
    Timer(u32),
    /// A write takes effect that instructs a cluster to run a revision.
    Instruct(ClusterId, Revision),
    /// A write takes effect that pauses a cluster's deployment, or resumes it.
    Pause(ClusterId, bool),
    /// The controller's cache shows what a person has changed, by its number in the list of changes.
    PersonActs(u32),
}

impl DriverEvent {
    /// The name of an event, for a count of such events.
    const fn kind(self) -> &'static str {
        match self {
            Self::Released => "releases",
            Self::Seen(_) => "reports that the controller sees",
            Self::Timer(_) => "timers of the controller",
            Self::Instruct(..) => "instructions of the controller",
            Self::Pause(..) => "pauses of a deployment",
            Self::PersonActs(_) => "acts of people",
        }
    }
}

/// A failure or its repair.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultEvent {
    /// A cluster that was offline from the start is back.
    OfflineEnds(ClusterId),
    /// An outage of a single cluster begins.
    OutageBegins(ClusterId),
    /// An outage of a single cluster ends.
    OutageEnds(ClusterId),
    /// Senders try again after a cut of a cluster's link.
    TransfersResume(ClusterId),
    /// A gap of a cluster's link begins or ends.
    GapChanges(ClusterId),
    /// An outage of several clusters begins: an index into [`crate::world::FaultSpec::regional`].
    RegionalBegins(u32),
    /// An outage of several clusters ends.
    RegionalEnds(u32),
    /// A node fails.
    NodeFails(NodeId),
    /// A failed node is back.
    NodeReturns(NodeId),
    /// A node's lease was not renewed for the grace period: its pods count as not ready.
    NodeNotReady {
        /// Which node.
        node: NodeId,
        /// After which of its failures.
        failure: u32,
    },
    /// A node has been missing for as long as its pods tolerate.
    NodeEvicts {
        /// Which node.
        node: NodeId,
        /// After which of its failures.
        failure: u32,
    },
    /// The registry has responded 404 to a pull.
    NotFound(PodId),
    /// A container that worked so far stops passing its readiness probe.
    DefectShows {
        /// Of which pod.
        pod: PodId,
        /// After which of its starts.
        start: u32,
    },
}

/// An event of a cluster's agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AgentEvent {
    /// An instruction reaches the agent.
    InstructionArrives(ClusterId),
    /// The agent has finished applying a revision.
    Applied(ClusterId),
    /// An apply fails.
    ApplyFails(ClusterId, ApplyFailure),
    /// The workloads are not ready within the time-out of an apply.
    WaitEnds(ClusterId),
    /// The agent tries a failed apply again.
    ApplyAgain(ClusterId),
    /// The agent reports readiness, if it changed.
    ReadinessDue(ClusterId),
    /// A report reaches the management cluster.
    ReportArrives(Report),
}

/// A report of an agent to the management cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Report {
    /// The reporting cluster.
    pub cluster: ClusterId,
    /// The revision that it applied last; [`crate::world::NOTHING`] if only a failed apply is reported.
    pub applied: Revision,
    /// Whether all of it was ready.
    pub ready: bool,
    /// Whether a Deployment of it had exceeded its progress deadline; always false unless the world watches those
    /// ([`crate::world::World::watch_progress_deadlines`]).
    pub degraded: bool,
    /// Why its last apply failed. `None`: it did not.
    pub failure: Option<ApplyFailure>,
}

/// An event of a workload or one of its pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkloadEvent {
    /// A pod is created and bound to its node.
    PodBound(PodId),
    /// The kubelet syncs a pod whose pull failed.
    PodSync(PodId),
    /// A container's process runs.
    ContainerStarted(PodId),
    /// A readiness probe has passed often enough.
    PodReady {
        /// Of which pod.
        pod: PodId,
        /// After which of its starts.
        start: u32,
    },
    /// A pod has been ready for `minReadySeconds`.
    PodAvailable {
        /// Which pod.
        pod: PodId,
        /// After which of its starts.
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
        /// In which cluster.
        cluster: ClusterId,
        /// Which workload.
        workload: u32,
    },
}

/// An event of a pull's request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestEvent {
    /// It reaches a host that has limits.
    Arrives(HostRole),
    /// A host with limited connections or workers has served it.
    Served(HostRole),
    /// The response of a registry's host is back.
    Response(HostRole, Response),
    /// It is sent again after it was refused.
    Retry(PullWait),
    /// The runtime tries again to connect to a host that does not respond, or gives up.
    Redial {
        /// Which host.
        host: HostRole,
        /// When it first tried.
        since: SimTime,
    },
    /// It continues to the registry, after a nearer host did not have the blob.
    Upstream,
    /// The response of a cache, a mirror or a peer is back.
    NearbyResponse(Response),
    /// The transfer of its blob is past its slow start.
    RampedUp,
}

/// An event of a pull, apart from its requests. Layers are named by their index in the image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullEvent {
    /// The last piece of a layer has come from a swarm.
    LayerSettles(u16),
    /// A layer begins to be written, on a node with a limited disk.
    LayerWrites(u16),
    /// A layer is unpacked.
    Unpacked(u16),
    /// It has received nothing for as long as the runtime waits.
    Stalled,
    /// It has exceeded its deadline.
    Deadline,
    /// The image is complete on its node.
    Completed,
    /// Real machines have carried it out, or it has failed there.
    OrderEnds(Option<PullError>),
}

/// An event of the distribution of images.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DistributionEvent {
    /// The bytes that the containers of an image read on demand begin to come to a node.
    ReadsBegin {
        /// Which node.
        node: NodeId,
        /// Which image, by its number in this world.
        image: u16,
    },
    /// A group of clusters begins to pre-pull.
    PrePullGroup,
    /// The pre-pull is over: the new revision is released. Handled by the driver.
    Released,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stay_small() {
        assert_eq!(size_of::<Event>(), 24, "queues hold many of them");
    }
}
