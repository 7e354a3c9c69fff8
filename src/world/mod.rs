//! The simulated truth: clusters, nodes, workloads, images, the registry and what goes wrong.
//!
//! One event enum, one dispatch line an event ([`World::handle`]). The driver of a world tells clusters what to run
//! ([`World::instruct`]) and learns what their agents report ([`World::take_reports`]), both as late as it would be in
//! reality; nothing here knows which product decides.
//!
//! | file | models |
//! |---|---|
//! | `event` | everything that can happen |
//! | `cluster` | a cluster and its nodes, as they are made |
//! | `agent` | instructions, applies and reports, with their delays |
//! | `pod` | pods, probes, back-offs |
//! | `workload`, `rolling` | Deployment and DaemonSet rolling updates |
//! | `restarts` | when containers that crash are started again |
//! | `progress` | the progress deadline of a Deployment |
//! | `pull`, `unpack`, `node`, `disk`, `catalog` | an image pull, layer by layer |
//! | `runtime` | its requests, what the runtime does when one is refused, and pulls that stand still |
//! | `registry`, `token_bucket`, `backoff` | the registry's hosts, limits and outages; token bucket and back-off |
//! | `distribution` | how images are distributed: caches, peers, swarms, mirrors, pre-pulls, lazy pulls |
//! | `route`, `links` | who answers and who sends; links that change |
//! | `cluster_draws` | what is drawn for a cluster before the run |
//! | `quantity` | quantities that are fixed or drawn |
//! | `faults` | what goes wrong |
//! | `meter` | exact peaks, totals and the time series |
//! | `totals` | totals over a run, and what they must add up to |
//! | `spec`, [`calibration`] | parameters, and where their values come from |
//!
//! Bandwidth is shared by [`crate::flow`]: registry egress, then region, cluster downlink and node, with a cap per
//! connection. Left out here, and said in each file: what this model does not follow.

mod backoff;
pub mod calibration;
mod clusters;
mod distribution;
mod event;
mod faults;
mod ids;
mod links;
mod meter;
mod nodes;
mod quantity;
mod registry;
mod route;
mod spec;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod token_bucket;
mod totals;

use std::collections::HashMap;

pub use clusters::agent::Report;
pub use clusters::cluster::ClusterFacts;
pub use clusters::restarts::{Restarter, Restarts};
pub use distribution::spec::*;
pub use event::{DriverEvent, Event, Queue};
pub use faults::FaultEvent;
pub use faults::spec::*;
pub use ids::{ClusterId, NEW, NodeId, OLD, PodId, PullId};
pub use meter::{Bin, ClusterPhase, Gauge, Meter};
pub use nodes::pull::{PullError, PullFacts};
pub use nodes::runtime::request::{Request, Response};
pub use nodes::runtime::spec::*;
pub use quantity::*;
pub use registry::HostRole;
pub use registry::presets::RegistryPreset;
pub use registry::spec::*;
pub use spec::*;
pub use totals::Totals;

use crate::engine::{EventId, Streams};
use crate::flow::{LinkId, Network, TransferId};
use crate::units::{Bytes, BytesPerSec, SimDuration, SimTime};
use clusters::cluster::ClusterState;
use clusters::pod::Pod;
use distribution::DistributionMethod;
use distribution::delivery::{Fill, Links};
use distribution::pre_pull::PrePull;
use nodes::catalog::{Catalog, ImageRef};
use nodes::node::NodeState;
use nodes::pull::{Payload, Pull};
use registry::Registry;

/// One world, running.
#[derive(Debug)]
pub struct World<'s> {
    spec: &'s WorldSpec,
    restarts: Restarts,
    streams: Streams,
    catalog: Catalog,
    clusters: Vec<ClusterState>,
    nodes: Vec<NodeState>,
    pods: Vec<Pod>,
    pulls: Vec<Pull>,
    registries: Vec<Registry>,
    network: Network,
    /// Of each registry.
    egress: Vec<LinkId>,
    regions: Vec<LinkId>,
    /// `None`: every node pulls from the registry, and nobody else has a say.
    distribution: Option<Box<dyn DistributionMethod>>,
    /// What caches and seeds fetch and have fetched.
    fills: Vec<Fill>,
    /// By blob: a download from the registry has completed.
    warm: Vec<bool>,
    pre_pull: Option<PrePull>,
    /// Links without any capacity now.
    dead_links: usize,
    payload: HashMap<TransferId, (Payload, Bytes)>,
    ended_transfers: Vec<TransferId>,
    flow_event: Option<EventId>,
    meter: Meter,
    totals: Totals,
    reports: Vec<Report>,
    /// Pending events that can change nothing any more.
    inert_events: usize,
    watches_progress: bool,
    /// Pending events of failures that go on for ever.
    fault_events: usize,
    /// The turns of the processes of regional outages.
    regional_turns: Vec<u64>,
}

impl<'s> World<'s> {
    /// A world as it is when the rollout starts, with the luck of this seed and replicate, on a platform that restarts
    /// containers like this. What fate has planned, such as clusters that come back, goes onto the queue.
    #[must_use]
    pub fn new(spec: &'s WorldSpec, restarts: Restarts, seed: u64, replicate: u32, queue: &mut Queue) -> Self {
        let streams = Streams::new(seed, replicate);
        let catalog = Catalog::new(&spec.images, &streams);
        let mut network = Network::new();
        let first = network.add_link(None, spec.registry.egress);
        let mut links = Links::new(spec, first, &mut network);
        let others = spec.registries.iter().map(|other| network.add_link(None, other.spec.egress));
        let egress: Vec<LinkId> = std::iter::once(first).chain(others).collect();
        let warm = vec![false; catalog.blobs];
        let mut world = Self {
            spec,
            restarts,
            streams,
            clusters: Vec::with_capacity(spec.clusters.len()),
            nodes: Vec::new(),
            pods: Vec::new(),
            pulls: Vec::new(),
            registries: (0..=spec.registries.len()).map(|at| Registry::new(spec.registry_at(at))).collect(),
            network,
            egress,
            regions: Vec::new(),
            distribution: None,
            fills: Vec::new(),
            warm,
            pre_pull: None,
            dead_links: 0,
            payload: HashMap::new(),
            ended_transfers: Vec::new(),
            flow_event: None,
            meter: Meter::new(spec.clusters.len() as u64),
            totals: Totals::default(),
            reports: Vec::new(),
            inert_events: 0,
            watches_progress: false,
            fault_events: 0,
            regional_turns: Vec::new(),
            catalog,
        };
        for cluster in &spec.clusters {
            world.add_cluster(cluster, &mut links, queue);
        }
        let nodes: Vec<(ClusterId, LinkId)> = world.nodes.iter().map(|node| (node.cluster, node.link)).collect();
        (world.regions, world.distribution) = links.distribution(spec, &world.catalog, &nodes, &mut world.network);
        world.pre_pull = spec.distribution.pre_pull.map(|pre_pull| PrePull::begin(pre_pull, queue));
        world.plan_windows(queue);
        world.start_faults(queue);
        world
    }

    /// Something happens.
    pub fn handle(&mut self, event: Event, queue: &mut Queue) {
        let now = queue.now();
        self.meter.advance(now);
        match event {
            Event::Driver(_) => {}
            Event::Fault(event) => self.fault(event, queue),
            Event::ClusterReturns { cluster } => self.repair(cluster, CutKind::All, queue),
            Event::AgentHears { cluster } => self.agent_hears(cluster, queue),
            Event::Applied { cluster } => self.applied(cluster, queue),
            Event::ReadinessDue { cluster } => self.readiness_due(cluster, queue),
            Event::ReportArrives(report) => self.report_arrives(report, now),
            Event::PodSync { pod } => self.sync_pod(pod, queue),
            Event::ContainerStarted { pod } => self.container_started(pod, queue),
            Event::PodReady { pod, start } => self.pod_ready(pod, start, queue),
            Event::PodAvailable { pod, start } => self.pod_available(pod, start, queue),
            Event::Crashed { pod } => self.crashed(pod, queue),
            Event::Restart { pod } => self.restart(pod, queue),
            Event::ProgressDeadline { cluster, workload } => self.progress_deadline(cluster, workload, queue),
            Event::PodGone { pod } => self.pod_gone(pod, queue),
            Event::RegistryWindow { registry, window, begins } => {
                self.registry_window(registry, window, begins, queue);
            }
            Event::RequestArrives { pull, request, host } => self.request_arrives(pull, request, host, queue),
            Event::Served { pull, request, host } => self.served(pull, request, host, queue),
            Event::Answered { pull, request, host, answer } => self.answered(pull, request, host, answer, queue),
            Event::RequestAgain { pull, request } => self.request_again(pull, request, queue),
            Event::DialAgain { pull, request, host, since } => self.dial_again(pull, request, host, since, queue),
            Event::GoesUpstream { pull, request } => self.send_upstream(pull, request, queue),
            Event::NearAnswers { pull, request, answer } => self.near_answers(pull, request, answer, queue),
            Event::LayerSettles { pull, layer } => self.layer_settled(pull, layer, queue),
            Event::ReadsBegin { node, image } => self.reads_begin(node, ImageRef(image), queue),
            Event::PrePullGroup => self.pre_pull_group(queue),
            // The driver's business.
            Event::Released => {}
            Event::RampedUp { pull, request } => self.ramped_up(pull, request, queue),
            Event::NoProgress { pull } => self.cancel_stalled(pull, queue),
            Event::TransfersEnd => self.transfers_end(queue),
            Event::LayerWrites { pull, layer } => self.layer_writes(pull, layer, queue),
            Event::DiskChanges { node } => self.disk_changes(node, queue),
            Event::Unpacked { pull, layer } => self.unpacked(pull, layer, queue),
            Event::PullDeadline { pull } => self.pull_deadline(pull, queue),
            Event::Pulled { pull } => self.pulled(pull, queue),
        }
    }

    /// Starts a transfer from the registry to a node.
    fn start_transfer(&mut self, pull: PullId, size: Bytes, payload: Payload, queue: &mut Queue) -> TransferId {
        let blob = self.blob_of(payload);
        let (from, cap) = (self.registry_of(pull), self.connection_cap(pull, blob));
        let id = self.start_from_registry(from, self.pulls[pull.index()].node, size, cap, queue.now());
        self.payload.insert(id, (payload, size));
        self.registries[from].transfer_begins();
        self.meter.download_begins();
        self.flow_changed(queue);
        id
    }

    fn start_from_registry(
        &mut self,
        from: usize,
        node: NodeId,
        size: Bytes,
        cap: Option<BytesPerSec>,
        now: SimTime,
    ) -> TransferId {
        if from == 0 {
            return self.network.start(now, self.nodes[node.index()].link, size, cap);
        }
        // Links hang on the first registry's; what comes from another crosses them.
        let over = self.links_to(from, node);
        self.network.start_over(now, &over, size, cap)
    }

    /// Ends a transfer early; the caller says [`World::flow_changed`] when it is done.
    fn cancel_transfer(&mut self, id: TransferId, now: SimTime) -> Bytes {
        let (payload, size) = self.payload.remove(&id).expect("a transfer that is cancelled is in flight");
        // It may have ended at this very instant, with its turn to be told still to come.
        let part = if self.ended_transfers.contains(&id) { size } else { self.network.cancel(now, id) };
        self.count_transfer(payload, part);
        part
    }

    fn count_transfer(&mut self, payload: Payload, bytes: Bytes) {
        self.count_sent(payload, bytes);
        let Some(node) = self.receiver(payload) else { return };
        self.meter.download_ends();
        let cluster = self.nodes[node.index()].cluster;
        self.clusters[cluster.index()].facts.received += bytes;
    }

    fn transfers_end(&mut self, queue: &mut Queue) {
        self.flow_event = None;
        self.network.advance(queue.now(), &mut self.ended_transfers);
        for at in 0..self.ended_transfers.len() {
            // An earlier one of the same instant may have failed its pull, and with it this transfer.
            let Some((payload, size)) = self.payload.remove(&self.ended_transfers[at]) else { continue };
            self.count_transfer(payload, size);
            self.note_warm(payload);
            self.arrived(payload, size, queue);
        }
        self.ended_transfers.clear();
        self.flow_changed(queue);
    }

    /// Rates have changed: note the new egress and when the next transfer ends.
    fn flow_changed(&mut self, queue: &mut Queue) {
        self.admit_waiting(queue);
        self.follow_load(queue.now());
        let mut rate = 0.0;
        let mut is_busy = false;
        for &egress in &self.egress {
            let own = self.network.throughput(egress).get();
            rate += own;
            // A link that carries nothing because it is down is not busy.
            is_busy |= own > 0.0 && self.network.is_saturated(egress);
        }
        self.meter.set_egress(BytesPerSec::new(rate), is_busy);
        match (self.network.next_completion(), self.flow_event) {
            (Some(at), Some(event)) => {
                let pending = queue.reschedule(event, at);
                assert!(pending, "the flow's event is pending until it is handled");
            }
            (Some(at), None) => self.flow_event = Some(queue.schedule(at, Event::TransfersEnd)),
            (None, Some(event)) => {
                queue.cancel(event);
                self.flow_event = None;
            }
            (None, None) => {}
        }
    }

    /// What agents have reported since the last call.
    pub fn take_reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Whether no pending event can bring the rollout on: nothing pends, or only restarts of pods that crash before they
    /// could ever be ready, failures that are still to come, windows of the registry when nobody pulls, and `idle` events
    /// of the driver that change nothing. The end of a failure does count, if its cluster has something left to do or to
    /// tell.
    #[must_use]
    pub fn is_at_rest(&self, queue: &Queue, idle: usize) -> bool {
        let ahead = || self.registries.iter().map(Registry::windows_ahead).sum::<usize>();
        let windows = if self.meter.pulls.value() == 0 { ahead() } else { 0 };
        queue.len() == self.inert_events + self.fault_events + idle + windows && !self.awaits_repair()
    }

    /// Whether the cluster can be reached.
    #[must_use]
    pub fn is_online(&self, cluster: ClusterId) -> bool {
        self.clusters[cluster.index()].cuts.is_managed()
    }

    /// Whether a failure of the cluster that is in progress has an end.
    #[must_use]
    pub fn is_repair_due(&self, cluster: ClusterId) -> bool {
        self.clusters[cluster.index()].repairs_due > 0
    }

    /// Whether a pod of the cluster waits after a failed pull or a crash, and is not being tried again right now.
    #[must_use]
    pub fn is_backing_off(&self, cluster: ClusterId) -> bool {
        self.has_waiting_pods(cluster)
    }

    /// Whether a pod of the cluster runs and will not answer its readiness probe, for a defect.
    #[must_use]
    pub fn is_stuck(&self, cluster: ClusterId) -> bool {
        self.has_stuck_pods(cluster)
    }

    /// The meters.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The share of `span` in which the registry's egress was at its capacity; 0 for no time at all.
    #[must_use]
    pub fn busy_share(&self, span: SimDuration) -> f64 {
        if span.is_zero() { 0.0 } else { self.meter.busy().as_secs_f64() / span.as_secs_f64() }
    }
}
