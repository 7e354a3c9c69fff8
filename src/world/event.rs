//! Everything that can happen in a world, and the queue that it goes through.
//!
//! What follows from an event is said where it is handled; the dispatch is [`crate::world::World::handle`]. Events name pods,
//! pulls and nodes by id, and whoever handles one looks whether it still means anything.

use crate::engine::EventQueue;
use crate::units::SimTime;
use crate::world::clusters::agent::Report;
use crate::world::faults::FaultEvent;
use crate::world::ids::{ClusterId, NodeId, PodId, PullId};
use crate::world::nodes::runtime::request::{Request, Response};
use crate::world::registry::HostRole;

/// Everything that happens in a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Something that the driver of the world scheduled for itself; a world does nothing with it.
    Driver(DriverEvent),
    /// Something fails, or is repaired.
    Fault(FaultEvent),
    /// An offline cluster is back.
    ClusterReturns {
        /// Which cluster.
        cluster: ClusterId,
    },
    /// An instruction has reached a cluster's agent.
    AgentHears {
        /// Which cluster's.
        cluster: ClusterId,
    },
    /// An agent has finished applying.
    Applied {
        /// Which cluster's.
        cluster: ClusterId,
    },
    /// It is time to report the cluster's readiness, if it changed.
    ReadinessDue {
        /// Which cluster's.
        cluster: ClusterId,
    },
    /// A report has reached the management cluster.
    ReportArrives(Report),
    /// The kubelet looks again at a pod whose pull failed.
    PodSync {
        /// Which pod.
        pod: PodId,
    },
    /// A container's process runs.
    ContainerStarted {
        /// Of which pod.
        pod: PodId,
    },
    /// A readiness probe passed often enough.
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
    /// The crash-loop back-off is over.
    Restart {
        /// Of which pod.
        pod: PodId,
    },
    /// A Deployment's controller looks whether its progress deadline is over.
    ProgressDeadline {
        /// In which cluster.
        cluster: ClusterId,
        /// Which workload.
        workload: usize,
    },
    /// A deleted pod's grace is over.
    PodGone {
        /// Which pod.
        pod: PodId,
    },
    /// A window of the registry begins or ends.
    RegistryWindow {
        /// Which registry: 0 is the first.
        registry: u32,
        /// Its place in [`crate::world::RegistrySpec::windows`].
        window: u32,
        /// False: it ends.
        begins: bool,
    },
    /// A request reaches a host that has limits.
    RequestArrives {
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
    /// The answer to a request is back.
    Answered {
        /// Of which pull.
        pull: PullId,
        /// To which request.
        request: Request,
        /// From which host.
        host: HostRole,
        /// What it is.
        answer: Response,
    },
    /// A request that was refused is sent again.
    RequestAgain {
        /// Of which pull.
        pull: PullId,
        /// Which request.
        request: Request,
    },
    /// A host that did not answer is tried again, or given up.
    DialAgain {
        /// By which pull.
        pull: PullId,
        /// For which request.
        request: Request,
        /// Which host.
        host: HostRole,
        /// Since when it does not answer.
        since: SimTime,
    },
    /// A request was refused by a nearer host, or asked for there in vain, and goes to the registry now.
    GoesUpstream {
        /// Of which pull.
        pull: PullId,
        /// Which request.
        request: Request,
    },
    /// A cache, a mirror or a peer has answered a request.
    NearAnswers {
        /// Of which pull.
        pull: PullId,
        /// To which request.
        request: Request,
        /// What it is.
        answer: Response,
    },
    /// The last piece of a layer has come over from a swarm.
    LayerSettles {
        /// For which pull.
        pull: PullId,
        /// Which layer.
        layer: u16,
    },
    /// What the containers of an image read on demand begins to come to a node.
    ReadsBegin {
        /// Which node.
        node: NodeId,
        /// Which image, by its number in this world.
        image: u16,
    },
    /// A group of clusters begins to pre-pull.
    PrePullGroup,
    /// The pre-pull is over: the new revision is released.
    Released,
    /// A transfer is past its slow start.
    RampedUp {
        /// Of which pull.
        pull: PullId,
        /// Of which blob.
        request: Request,
    },
    /// A pull has received nothing for as long as the runtime waits.
    NoProgress {
        /// Which pull.
        pull: PullId,
    },
    /// At least one transfer has brought all its bytes.
    TransfersEnd,
    /// A layer begins to be written, on a node whose disk is a limit.
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
    /// A pull has taken as long as it may.
    PullDeadline {
        /// Which pull.
        pull: PullId,
    },
    /// An image is complete on its node.
    Pulled {
        /// By which pull.
        pull: PullId,
    },
}

/// What the driver of a world may schedule for itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DriverEvent {
    /// News have reached the controller's cache.
    News,
    /// The next object of a pass is written.
    Written,
    /// A pass of the controller ends.
    PassEnds,
    /// The scheduler had asked to be called at this time.
    Wake,
    /// Something of the product's own happens, beside passes and news.
    Due,
}

/// The queue that a world's events go through.
pub type Queue = EventQueue<Event>;
