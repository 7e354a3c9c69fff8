//! The simulated truth: clusters, nodes, workloads, images, registries and faults.
//!
//! [`World::handle`] dispatches every event. The driver of a world instructs targets to run a revision
//! ([`World::instruct`]) and collects the reports of their agents ([`World::take_reports`]), both with realistic
//! delays. A target is a deployment: one application on one cluster. The world does not know which product makes the
//! decisions.
//!
//! | module | models |
//! |---|---|
//! | `event` | everything that can happen |
//! | `clusters` | clusters, and their deployments with agents, workloads and pods |
//! | `nodes` | nodes with their images, image pulls and container runtime |
//! | `registry` | registries: hosts, limits, outages |
//! | `distribution` | caches, peers, swarms, mirrors, pre-pulls and lazy pulls |
//! | `transfers` | links, and the transfers over them |
//! | `faults` | everything that can fail |
//! | `token_bucket`, `backoff` | rate limits and exponential back-off |
//! | `meter`, `totals` | peaks, time series and totals, and the laws that they must satisfy |
//! | `needs` | what a release needs of each resource, before any simulation |
//! | `spec`, `quantity`, [`calibration`] | settings, and the sources of their values |
//!
//! # Ownership
//! Each part owns its state and its steps. A step takes everything else that it uses as an argument: the queue, the
//! transfers, the meters, the random streams or one other part.
//!
//! | part | owns |
//! |---|---|
//! | `Registry` | hosts, limits, requests in flight; its windows, bursts, other loads, and its egress under load |
//! | `ClusterState` | its cuts, its queues for pods, the times of its pulls |
//! | `AppDeployment` | what the agent does for it (instructions, applies, reports), its workloads |
//! | `WorkloadState` | its pods; the next step of its controller, which reads `Pods` |
//! | `Pods` | all pods and their pending events |
//! | `NodeState` | the content of its disk, its queues and slots; garbage collection |
//! | `Pull` | an attempt in progress; it claims blobs and commits layers on its node |
//! | `Delivery` | the distribution method, mirrors, fills, and the pre-pull |
//! | `LinkLoads` | bytes and rates on the links of regions, mirrors, caches and peers |
//! | `Transfers` | links, transfers in progress, and the event of the next completion |
//! | `FaultProcesses` | pending events of failure processes, and their draws |
//! | `Meter`, `Totals` | measurements |
//!
//! `impl World` routes events to parts and has the steps that involve three or more parts, in the folder of the part
//! where they begin. These steps are:
//!
//! - a request (`nodes::runtime::request`, `distribution::delivery`): a pull sends it over its cluster's link to a
//!   host of a registry, or to a cache or a peer, and the response continues the pull;
//! - a pull (`nodes::pull`, `nodes::unpack`): its end frees slots and blobs for other pulls of the node, starts the
//!   containers of pods, and is counted for its cluster and in the meters;
//! - a pod (`clusters::pod`, `clusters::workload`): it needs its node, its image and its deployment, and its readiness
//!   triggers the controller, then the agent;
//! - a failure (`faults`): a cut changes a cluster, its link and the rates of others, and pulls stall;
//! - a change of rates (`transfers::accounting`): registries react to their load and admit waiting requests, and the
//!   meters and the next completion are updated with the rates;
//! - the start and the end of a run (this file, `totals`).
//!
//! Parts call each other within one event instead of sending events, because the order of events at one instant is
//! part of a result. Each file states what its model leaves out.

mod backoff;
pub mod calibration;
mod clusters;
mod distribution;
mod event;
mod faults;
mod ids;
mod meter;
mod needs;
mod nodes;
mod quantity;
mod registry;
mod spec;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod token_bucket;
mod totals;
mod transfers;

pub use backoff::Backoff;
pub use clusters::agent_client::AgentClientRate;
pub use clusters::agent_spec::{AgentSpec, DebounceSpec, LookProblem, LookSpec, ReadinessSpec};
pub use clusters::apply_rules::{ApplyFailure, ApplyRetry, ApplyRules, FailedApply};
pub use clusters::autoscaling_spec::{AutoscalingSpec, NodeCreation};
pub use clusters::cluster::{ClusterFacts, SiteFacts};
pub use clusters::deployment::DeploymentFacts;
pub use clusters::pod_queues::{PodLimit, PodSpec};
pub use clusters::restarts::{Restarter, Restarts};
pub use clusters::rolling::deployment_limits;
pub use clusters::site::{GapSpec, SiteKind, SiteLink};
pub use clusters::spec::*;
pub use distribution::spec::*;
pub use event::*;
pub use faults::cut_kind::CutKind;
pub use faults::guest::{GuestFaults, GuestOutage, OutageModel};
pub use faults::spec::*;
pub use ids::{
    ApplicationId, ClusterId, NEW, NOTHING, NodeId, OLD, PodId, PullId, TargetId, later_release,
    later_revision,
};
pub use meter::{
    ApplicationSigns, Bin, DeploymentPhase, EgressMeter, Gauge, LoadChange, LoadChangeKind, Meter,
};
pub use needs::{NeededAmount, ResourceNeed, resource_needs};
pub use nodes::catalog::{MOST_IMAGES, MOST_LAYERS};
pub use nodes::order::PullOrder;
pub use nodes::pull_error::{PullError, PullFacts};
pub use nodes::pull_wait::PullWait;
pub use nodes::runtime::spec::*;
pub use nodes::spec::*;
pub use quantity::*;
pub use registry::client::ClientRefusals;
pub use registry::load_spec::{BurstSpec, DailyLoad, LoadSeries, OtherLoad, OtherPulls};
pub use registry::request::{HostRole, Request, Response};
pub use registry::spec::*;
pub use spec::*;
pub use totals::{RegistryTotals, Totals};
pub use transfers::limit_loads::LimitLoad;
pub use transfers::link_loads::{LinkLoad, LinkOwner};

use crate::engine::Streams;
use crate::flow::Network;
use clusters::agent::AgentQueue;
use clusters::agent_client::AgentClient;
use clusters::cluster::ClusterState;
use clusters::deployment::AppDeployment;
use clusters::pods::Pods;
use distribution::Delivery;
use distribution::setup::CacheLinks;
use faults::FaultProcesses;
use faults::strata::FaultDraws;
use fleetsim_units::{SimDuration, SimTime};
use nodes::catalog::Catalog;
use nodes::node::{KnownContents, NodeContent, NodeState};
use nodes::order::PullOrders;
use nodes::pull::Pull;
use nodes::space::ContentSizes;
use registry::Registry;
use transfers::Transfers;
use transfers::blob_links::BlobLinks;
use transfers::limit_loads::LimitLoads;
use transfers::link_loads::LinkLoads;
use transfers::links::Links;

/// A running world.
#[derive(Debug)]
pub struct World<'s> {
    spec: &'s WorldSpec,
    platform: &'s PlatformSpec,
    streams: Streams,
    catalog: Catalog,
    clusters: Vec<ClusterState>,
    deployments: Vec<AppDeployment>,
    /// The workers of each cluster's agent.
    agent_queues: Vec<AgentQueue>,
    /// The clients of each cluster's agent.
    agent_clients: Vec<AgentClient>,
    nodes: Vec<NodeState>,
    contents: KnownContents,
    /// The sizes of blobs and layers on a disk.
    sizes: ContentSizes,
    pods: Pods,
    pulls: Vec<Pull>,
    registries: Vec<Registry<'s>>,
    transfers: Transfers,
    link_loads: LinkLoads,
    limit_loads: LimitLoads,
    delivery: Delivery,
    faults: FaultProcesses,
    meter: Meter,
    totals: Totals,
    /// Reports that have arrived since the last call of [`World::take_reports`].
    reports: Vec<Report>,
    /// Number of events so far that only checked a limit.
    limit_checks: u64,
    watches_progress: bool,
    /// The orders, if real machines carry out the pulls. `None`: pulls are simulated.
    orders: Option<Box<PullOrders>>,
}

impl<'s> World<'s> {
    /// Creates a world at the start of a rollout on `platform`, with the random numbers of this seed and replicate.
    /// Schedules the first events of faults, windows and a pre-pull.
    #[must_use]
    pub fn new(
        spec: &'s WorldSpec,
        platform: &'s PlatformSpec,
        seed: u64,
        replicate: u32,
        queue: &mut Queue,
    ) -> Self {
        let streams = Streams::new(seed, replicate);
        let lazy = spec.distribution.lazy.as_ref();
        let prepared = lazy.map(|lazy| lazy.prepared);
        let catalog = Catalog::new(&spec.images, prepared, &streams);
        let mut network = Network::new();
        let mut links = Links::new(spec, &mut network);
        let mut caches = CacheLinks::new(spec, &links, &mut network);
        links.add_registries(spec, &mut network);
        links.add_blobs(BlobLinks::new(spec, &catalog, &streams, &mut network));
        let mut world = Self {
            spec,
            platform,
            streams,
            clusters: Vec::with_capacity(spec.clusters.len()),
            deployments: Vec::with_capacity(spec.targets()),
            agent_queues: Vec::new(),
            agent_clients: Vec::new(),
            nodes: Vec::new(),
            contents: KnownContents::new(NodeContent::new(&catalog)),
            sizes: ContentSizes::of(&catalog),
            pods: Pods::default(),
            pulls: Vec::new(),
            registries: (0_u32..)
                .zip(spec.all_registries())
                .map(|(number, registry)| Registry::new(registry, number))
                .collect(),
            transfers: Transfers::new(network, links, catalog.blobs),
            link_loads: LinkLoads::default(),
            limit_loads: LimitLoads::default(),
            delivery: Delivery::default(),
            faults: FaultProcesses::new(FaultDraws::new(spec, &streams, seed, replicate)),
            meter: Meter::new(spec.targets() as u64, 1 + spec.registries.len()),
            totals: Totals::default(),
            reports: Vec::new(),
            limit_checks: 0,
            watches_progress: false,
            orders: None,
            catalog,
        };
        let deployments = world.add_deployments();
        world
            .agent_queues
            .resize_with(spec.clusters.len(), AgentQueue::default);
        world
            .agent_clients
            .resize_with(spec.clusters.len(), AgentClient::default);
        for (cluster, deployments) in spec.clusters.iter().zip(deployments) {
            world.add_cluster(cluster, deployments, &caches, queue);
        }
        caches.place_cells(
            |cluster| match world.clusters[cluster.index()].draws.offline {
                None => SimTime::ZERO,
                Some(back) => back.unwrap_or(SimTime::MAX),
            },
        );
        let cache_links = caches.all();
        world.limit_loads = LimitLoads::new(&world.transfers.links, &caches);
        world.delivery = Delivery::new(spec, caches, &world.catalog, &mut world.transfers, queue);
        let mirrors = world.delivery.mirrors.links();
        world.link_loads = LinkLoads::new(spec, &world.transfers, &mirrors, &cache_links);
        world.meter.follow_links(world.link_loads.metered());
        for registry in &world.registries {
            registry.schedule_windows(queue);
        }
        for registry in &mut world.registries {
            registry.start_other_load(&mut world.transfers, &world.streams, queue);
        }
        world.rates_changed(queue);
        world.start_faults(queue);
        world
    }

    /// Handles an event.
    pub fn handle(&mut self, event: Event, queue: &mut Queue) {
        if event.only_checks_limit() {
            // Measured values must not depend on whether a host has limits.
            self.limit_checks += 1;
        } else {
            self.meter.advance(queue.now());
        }
        match event {
            Event::Driver(..) => {}
            Event::Fault(event) => self.handle_fault(event, queue),
            Event::Agent(event) => self.handle_agent(event, queue),
            Event::Workload(event) => self.handle_workload(event, queue),
            Event::Scaling(cluster, event) => self.handle_scaling(cluster, event, queue),
            Event::Request(pull, request, event) => {
                self.handle_request(pull, request, event, queue);
            }
            Event::Pull(pull, event) => self.handle_pull(pull, event, queue),
            Event::DiskChanges(node) => self.disk_changes(node, queue),
            Event::Space(node, event) => self.handle_space(node, event, queue),
            Event::Distribution(event) => self.handle_distribution(event, queue),
            Event::RegistryWindow {
                registry,
                window,
                begins,
            } => {
                let at = registry as usize;
                let now = queue.now();
                for asked in self.registries[at].window_changes(window, begins, now) {
                    self.dial(asked, queue);
                }
                self.set_egress(at, queue);
            }
            Event::RegistryLoad { registry, change } => {
                self.load_changes(registry as usize, change, queue);
            }
            Event::TransfersEnd => self.transfers_end(queue),
        }
    }

    /// Handles a change of a registry's load. Further changes of the load are scheduled after the effects of this
    /// change on the fleet's transfers.
    fn load_changes(&mut self, at: usize, change: LoadEvent, queue: &mut Queue) {
        match change {
            LoadEvent::BurstEnds => {
                self.registries[at].burst_ends();
                self.rates_changed(queue);
            }
            LoadEvent::OtherRate => {
                self.registries[at].other_rate_changes();
                self.set_egress(at, queue);
                self.registries[at].schedule_other_load(&self.streams, queue);
            }
            LoadEvent::OtherPull => {
                let registry = &mut self.registries[at];
                registry.other_pull_begins(&mut self.transfers, &self.streams, queue.now());
                self.rates_changed(queue);
                self.registries[at].schedule_other_load(&self.streams, queue);
            }
        }
    }

    /// Sets the capacity of a registry's egress, which affects every node behind it.
    fn set_egress(&mut self, at: usize, queue: &mut Queue) {
        let links = &self.transfers.links;
        let capacity = links.data(self.registries[at].capacity());
        let all = 0..self.nodes.len();
        self.set_link(links.egress[at], capacity, all, queue);
    }

    /// Removes and returns the reports that have arrived since the last call.
    pub fn take_reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Returns whether no pending event can advance the rollout. Events that cannot advance it are restarts of pods
    /// that never become ready, future failures, windows of a registry while no pull is in progress, loads and
    /// transfers of others, and `idle` events of the driver. The end of a failure counts if its cluster still has work
    /// to do or a report to send.
    #[must_use]
    pub fn is_at_rest(&self, queue: &Queue, idle: usize) -> bool {
        let mut inert = self.pods.inert_events() + self.faults.pending_events + idle;
        inert += self.transfers.events_of_others();
        for registry in &self.registries {
            inert += registry.load_events();
            if self.meter.pulls.value() == 0 {
                inert += registry.windows_ahead;
            }
        }
        queue.len() == inert && !self.awaits_repair()
    }

    /// Returns whether failures, or their ends, are still scheduled.
    #[must_use]
    pub const fn expects_failures(&self) -> bool {
        self.faults.pending_events > 0
    }

    /// Returns whether the cluster can be reached.
    #[must_use]
    pub fn is_online(&self, cluster: ClusterId) -> bool {
        self.clusters[cluster.index()].cuts.is_managed()
    }

    /// Returns whether a failure in progress of the cluster will end.
    #[must_use]
    pub fn is_repair_due(&self, cluster: ClusterId) -> bool {
        self.clusters[cluster.index()].repairs_due > 0
    }

    /// Returns the meters.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the number of events so far that only checked a limit. A world without the limit has only the other
    /// events.
    #[must_use]
    pub const fn limit_checks(&self) -> u64 {
        self.limit_checks
    }

    /// Returns the share of `span` in which the registry's egress was at its capacity; 0 for an empty span.
    #[must_use]
    pub fn busy_share(&self, span: SimDuration) -> f64 {
        if span.is_zero() {
            0.0
        } else {
            self.meter.busy().as_secs_f64() / span.as_secs_f64()
        }
    }
}
