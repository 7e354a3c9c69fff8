//! Everything that can happen in a world, and the queue of these events.
//!
//! Events name pods, pulls and nodes by id; the handler of an event checks whether it still applies. The dispatch is
//! [`crate::world::World::handle`].

use crate::engine::EventQueue;
use crate::rollout::Revision;
use crate::units::SimTime;
use crate::world::ids::{ClusterId, NodeId, PodId, PullId};
use crate::world::registry::request::{HostRole, Request, Response};

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
    Request(RequestEvent),
    /// Of a pull, beside its requests.
    Pull(PullEvent),
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
    /// At least one transfer has completed.
    TransfersEnd,
}

/// Events that the driver of a world may schedule for itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DriverEvent {
    /// A change has reached the controller's cache.
    News,
    /// The next object of a pass is written.
    Written,
    /// A pass of the controller ends.
    PassEnds,
    /// The time at which the scheduler asked to be called.
    Wake,
    /// Something specific to the product, beside passes and changes.
    Due,
}

/// A failure or its repair.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FaultEvent {
    /// A cluster that was offline from the start is back.
    OfflineEnds {
        /// Which cluster.
        cluster: ClusterId,
    },
    /// An outage of a single cluster begins.
    OutageBegins {
        /// Of which cluster.
        cluster: ClusterId,
    },
    /// An outage of a single cluster ends.
    OutageEnds {
        /// Of which cluster.
        cluster: ClusterId,
    },
    /// An outage of several clusters begins.
    RegionalBegins {
        /// Index into [`crate::world::FaultSpec::regional`].
        at: u32,
    },
    /// An outage of several clusters ends.
    RegionalEnds {
        /// Index into [`crate::world::FaultSpec::regional`].
        at: u32,
    },
    /// A node fails.
    NodeFails {
        /// Which node.
        node: NodeId,
    },
    /// A failed node is back.
    NodeReturns {
        /// Which node.
        node: NodeId,
    },
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
    NotFound {
        /// To which pod's node.
        pod: PodId,
    },
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
    InstructionArrives {
        /// Which cluster's.
        cluster: ClusterId,
    },
    /// The agent has finished applying a revision.
    Applied {
        /// Which cluster's.
        cluster: ClusterId,
    },
    /// The agent reports readiness, if it changed.
    ReadinessDue {
        /// Which cluster's.
        cluster: ClusterId,
    },
    /// A report reaches the management cluster.
    ReportArrives(Report),
}

/// A report of an agent to the management cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Report {
    /// The reporting cluster.
    pub cluster: ClusterId,
    /// The revision that it applied last.
    pub applied: Revision,
    /// Whether all of it was ready.
    pub ready: bool,
    /// Whether a Deployment of it had exceeded its progress deadline; always false unless the world watches those
    /// ([`crate::world::World::watch_progress_deadlines`]).
    pub degraded: bool,
}

/// An event of a workload or one of its pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkloadEvent {
    /// The kubelet syncs a pod whose pull failed.
    PodSync {
        /// Which pod.
        pod: PodId,
    },
    /// A container's process runs.
    ContainerStarted {
        /// Of which pod.
        pod: PodId,
    },
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
    Crashed {
        /// Of which pod.
        pod: PodId,
    },
    /// The crash-loop back-off has expired.
    Restart {
        /// Of which pod.
        pod: PodId,
    },
    /// A deleted pod's grace period has expired.
    PodGone {
        /// Which pod.
        pod: PodId,
    },
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
    /// A request reaches a host that has limits.
    Arrives {
        /// Of which pull.
        pull: PullId,
        /// Which request.
        request: Request,
        /// Which host.
        host: HostRole,
    },
    /// A host with limited connections or workers has served a request.
    Served {
        /// Of which pull.
        pull: PullId,
        /// Which request.
        request: Request,
        /// Which host.
        host: HostRole,
    },
    /// A registry's response is back.
    Response {
        /// Of which pull.
        pull: PullId,
        /// To which request.
        request: Request,
        /// From which host.
        host: HostRole,
        /// What it is.
        response: Response,
    },
    /// A refused request is sent again.
    Retry {
        /// Of which pull.
        pull: PullId,
        /// Which request.
        request: Request,
    },
    /// The runtime tries again to connect to a host that does not respond, or gives up.
    Redial {
        /// Of which pull.
        pull: PullId,
        /// For which request.
        request: Request,
        /// Which host.
        host: HostRole,
        /// When it first tried.
        since: SimTime,
    },
    /// A request goes on to the registry, after a nearer host was asked in vain.
    Upstream {
        /// Of which pull.
        pull: PullId,
        /// Which request.
        request: Request,
    },
    /// The response of a cache, a mirror or a peer is back.
    NearbyResponse {
        /// Of which pull.
        pull: PullId,
        /// To which request.
        request: Request,
        /// What it is.
        response: Response,
    },
    /// A transfer is past its slow start.
    RampedUp {
        /// Of which pull.
        pull: PullId,
        /// Of which blob.
        request: Request,
    },
}

/// An event of a pull, beside its requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PullEvent {
    /// The last piece of a layer has come from a swarm.
    LayerSettles {
        /// For which pull.
        pull: PullId,
        /// Which layer.
        layer: u16,
    },
    /// A layer begins to be written, on a node with a limited disk.
    LayerWrites {
        /// For which pull.
        pull: PullId,
        /// Its index in the image.
        layer: u16,
    },
    /// A layer is written, or the disk's buffer is full.
    DiskChanges {
        /// Whose disk.
        node: NodeId,
    },
    /// A layer is unpacked.
    Unpacked {
        /// For which pull.
        pull: PullId,
        /// Its index in the image.
        layer: u16,
    },
    /// A pull has received nothing for as long as the runtime waits.
    Stalled {
        /// Which pull.
        pull: PullId,
    },
    /// A pull has exceeded its deadline.
    Deadline {
        /// Which pull.
        pull: PullId,
    },
    /// An image is complete on its node.
    Completed {
        /// By which pull.
        pull: PullId,
    },
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
