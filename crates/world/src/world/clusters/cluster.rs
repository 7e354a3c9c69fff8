//! The state of a cluster, the facts recorded about it, and the creation of a cluster and its nodes.
//!
//! Links, rates and random properties are drawn once before the run: the number of nodes, downlink and round trip for
//! the cluster, one network card rate and one disk rate for all its nodes, the unpack speed for each node. Sources of
//! the values: [`crate::world::calibration`].
//!
//! A cluster to which nodes may join has all of them from the start; `autoscaling` says how.

use crate::world::distribution::setup::CacheLinks;
use crate::world::distribution::spec::CachePlace;
use crate::world::event::{Event, FaultEvent, Queue};
use crate::world::transfers::Transfers;
use std::collections::VecDeque;
use std::ops::Range;

use crate::engine::{EntityKey, Streams, dist};
use crate::world::World;
use crate::world::clusters::autoscaling::Autoscaling;
use crate::world::clusters::cluster_draws::ClusterDraws;
use crate::world::clusters::cuts::Cuts;
use crate::world::clusters::pod_queues::PodQueues;
use crate::world::clusters::spec::ClusterSpec;
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::gaps::GapProcess;
use crate::world::faults::renewal::ProcessState;
use crate::world::ids::{ClusterId, NodeId, PodId, TargetId};
use crate::world::meter::Meter;
use crate::world::nodes::disk_space::DiskSpace;
use crate::world::nodes::node::{DiskHardware, NodeHardware, NodeState};
use crate::world::nodes::pull_wait::{PullWait, PullWaits};
use crate::world::nodes::spec::{DiskSpec, NodeSpec};
use crate::world::quantity::RateModel;
use crate::world::spec::WorldSpec;
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration, SimTime};

/// The state of one cluster, which all of its deployments share. The fields that each download needs are adjacent:
/// with many downloads in flight, memory access dominates the cost.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub id: ClusterId,
    /// Round trip to the registry.
    pub rtt: SimDuration,
    /// The capacity of the cluster's downlink without faults.
    pub downlink: BytesPerSec,
    /// The share of packets that the cluster's link loses.
    pub loss: Share,
    pub cuts: Cuts,
    /// Whether the management cluster knows the cluster, which therefore has an agent.
    pub is_registered: bool,
    pub(crate) pulls_now: usize,
    pub(crate) downloads_now: usize,
    /// Number of layers that are being unpacked or written, plus pulls that have unpacked everything.
    pub(crate) unpacks_now: usize,
    /// Requests and pods that wait before they try again.
    pub(crate) waits_now: PullWaits,
    /// Time until which the durations of the cluster's pulls have been counted.
    pub(crate) spent_until: SimTime,
    pub facts: ClusterFacts,
    pub key: EntityKey,
    pub draws: ClusterDraws,
    /// Number of failures in progress that will end.
    pub(crate) repairs_due: u32,
    /// The gaps of the cluster's link, starting at its first pull.
    pub gaps: Option<Box<GapProcess>>,
    /// The state of the cluster's outage process, if it has one.
    pub outage: ProcessState,
    pub(crate) pod_queues: PodQueues,
    /// The cluster's deployments, in the order of the applications.
    pub deployments: Vec<TargetId>,
    /// The nodes that have joined. Those that may join follow them.
    pub nodes: Range<usize>,
    /// Pods for which no node has room, in the order in which the scheduler saw them.
    pub(crate) unbound: VecDeque<PodId>,
    /// The nodes that were requested, if nodes may join.
    pub(crate) autoscaling: Option<Box<Autoscaling>>,
}

/// A cluster's site as drawn for this run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteFacts {
    /// The cluster's downlink without faults.
    pub downlink: BytesPerSec,
    /// The cluster's round trip to the registry.
    pub rtt: SimDuration,
    /// Number of nodes in the cluster.
    pub nodes: u32,
}

/// Facts recorded about one cluster, whatever its deployments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterFacts {
    /// The time at which workloads of the cluster first got the new revision.
    pub begun: Option<SimTime>,
    /// Time since `begun` during which a pull is in progress and is downloading or has nothing to unpack yet.
    pub transferring: SimDuration,
    /// Time since `begun` without downloads, while images are unpacked or written.
    pub unpacking: SimDuration,
    /// Time since `begun` in which pulls wait after HTTP 429, and nothing is downloaded or unpacked.
    pub throttled: SimDuration,
    /// Time since `begun` in which pulls wait after HTTP 503, or without a response, and nothing is downloaded
    /// or unpacked.
    pub unavailable: SimDuration,
    /// Time since `begun` in which pods wait for the kubelet, and no pull is in progress.
    pub held_by_kubelet: SimDuration,
    /// Bytes that the cluster's nodes received from registries, caches and peers, including aborted attempts.
    pub received: Bytes,
    /// Whether the cluster was offline when the rollout started.
    pub offline: bool,
    /// The time at which the cluster's first image pull began.
    pub first_pull: Option<SimTime>,
    /// The time at which the cluster's last image pull ended.
    pub last_pull: Option<SimTime>,
    /// Number of image pulls begun.
    pub pulls: u64,
    /// Number of failed attempts to pull an image.
    pub failed_pulls: u64,
}

impl ClusterState {
    /// Creates a cluster without deployments, in which nothing has happened yet.
    fn new(
        id: ClusterId,
        world: &WorldSpec,
        site: &DrawnSite,
        draws: ClusterDraws,
        nodes: Range<usize>,
    ) -> Self {
        let spec = &world.clusters[id.index()];
        Self {
            id,
            is_registered: spec.registered,
            key: EntityKey::of(&spec.name),
            rtt: site.rtt,
            draws,
            cuts: Cuts::default(),
            downlink: site.downlink,
            loss: spec.loss,
            repairs_due: 0,
            gaps: None,
            outage: ProcessState::default(),
            pod_queues: PodQueues::new(&world.pods),
            deployments: Vec::new(),
            pulls_now: 0,
            downloads_now: 0,
            unpacks_now: 0,
            waits_now: PullWaits::default(),
            spent_until: SimTime::ZERO,
            nodes,
            unbound: VecDeque::new(),
            autoscaling: (spec.autoscaling.as_ref())
                .map(|autoscaling| Box::new(Autoscaling::new(autoscaling))),
            facts: ClusterFacts {
                offline: draws.offline.is_some(),
                ..ClusterFacts::default()
            },
        }
    }

    /// Counts the time of the cluster's pulls up to `now`. Must be called before the number of pulls changes.
    pub(crate) fn spend(&mut self, now: SimTime) {
        let span = now - self.spent_until.min(now);
        self.spent_until = now;
        if self.facts.begun.is_none() {
            return;
        }
        // The order is the rule of `nodes::pull_wait`.
        if self.downloads_now > 0 {
            self.facts.transferring += span;
        } else if self.unpacks_now > 0 {
            self.facts.unpacking += span;
        } else if self.waits_now.throttled > 0 {
            self.facts.throttled += span;
        } else if self.waits_now.unavailable > 0 {
            self.facts.unavailable += span;
        } else if self.pulls_now > 0 {
            self.facts.transferring += span;
        } else if self.waits_now.kubelet > 0 {
            self.facts.held_by_kubelet += span;
        }
    }

    /// Counts a request or a pod that waits before its next try.
    pub(crate) fn pull_waits(&mut self, wait: PullWait, now: SimTime) {
        self.spend(now);
        self.waits_now.begin(wait);
    }

    /// Counts the end of a wait.
    pub(crate) fn pull_goes_on(&mut self, wait: PullWait, now: SimTime) {
        self.spend(now);
        self.waits_now.end(wait);
    }

    /// Records that an image pull begins on a node of the cluster.
    pub(crate) fn pull_begins(&mut self, now: SimTime, meter: &mut Meter) {
        self.spend(now);
        self.pulls_now += 1;
        self.facts.pulls += 1;
        self.facts.first_pull.get_or_insert(now);
        meter.pull_begins(self.pulls_now == 1);
    }

    /// Counts the end of a pull on one of the nodes, and the end of the pull's waits.
    pub(crate) fn pull_ends(&mut self, now: SimTime, waits: PullWaits, meter: &mut Meter) {
        self.spend(now);
        self.waits_now.end_all(waits);
        self.pulls_now -= 1;
        self.facts.last_pull = Some(now);
        meter.pull_ends(self.pulls_now == 0);
    }

    /// Records that a node of the cluster begins a download.
    pub(crate) fn download_begins(&mut self, meter: &mut Meter) {
        meter.downloads.rise();
        self.spend(meter.now());
        self.downloads_now += 1;
    }

    /// Records that a download of a node of the cluster ends.
    pub(crate) fn download_ends(&mut self, meter: &mut Meter) {
        meter.downloads.fall();
        self.spend(meter.now());
        self.downloads_now -= 1;
    }

    /// Records that a part of an image begins to be unpacked or written.
    pub(crate) fn unpack_begins(&mut self, meter: &Meter) {
        self.spend(meter.now());
        self.unpacks_now += 1;
    }

    /// Records that `count` parts of images are unpacked or written, or no longer needed.
    pub(crate) fn unpacks_end(&mut self, count: usize, meter: &Meter) {
        self.spend(meter.now());
        self.unpacks_now -= count;
    }
}

/// The links and the hardware of a cluster as drawn before the run.
struct DrawnSite {
    /// Rate of each node's network card.
    nic: BytesPerSec,
    downlink: BytesPerSec,
    rtt: SimDuration,
    hardware: NodeHardware,
}

impl DrawnSite {
    /// Draws the links and hardware of a cluster that is slower than others by the factor `slow`.
    fn draw(spec: &ClusterSpec, node: &NodeSpec, slow: f64, streams: &Streams) -> Self {
        let key = EntityKey::of(&spec.name);
        let nic = spec
            .nic
            .unwrap_or_else(|| draw_rate(&node.nic, "nic", streams, key));
        let usual = draw_rate(&spec.downlink, "downlink", streams, key);
        let unpack_rate = draw_rate(&node.unpack_rate, "unpack rate", streams, key);
        let disk = node.disk.as_ref().and_then(DiskSpec::limit);
        let disk = disk.map(|(rate, buffer)| DiskHardware {
            rate: slowed(draw_rate(rate, "disk rate", streams, key), slow),
            buffer,
        });
        let rtt = spec.rtt.draw(streams, key, "rtt", 0);
        let score = spec.downlink.score(usual);
        Self {
            nic,
            downlink: slowed(usual, slow),
            rtt: spec.rtt.correlated(rtt, score, spec.rtt_correlation),
            hardware: NodeHardware {
                unpack_rate: slowed(unpack_rate, slow),
                disk,
            },
        }
    }
}

/// Draws a rate of a cluster: at least 1 byte per second, so that every transfer ends.
fn draw_rate(
    model: &RateModel,
    purpose: &'static str,
    streams: &Streams,
    cluster: EntityKey,
) -> BytesPerSec {
    BytesPerSec::new(model.draw(streams, cluster, purpose, 0).get().max(1.0))
}

impl World<'_> {
    /// Creates a cluster with its nodes, links and deployments, in its state at the start of the rollout.
    pub(crate) fn add_cluster(
        &mut self,
        spec: &ClusterSpec,
        deployments: Vec<TargetId>,
        caches: &CacheLinks,
        queue: &mut Queue,
    ) {
        let id = ClusterId::at(self.clusters.len());
        let draws = ClusterDraws::draw(self.spec, &self.streams, &self.faults.draws, spec);
        let site = DrawnSite::draw(spec, &self.spec.node, draws.slow, &self.streams);
        let nodes = self.add_nodes(id, &site, caches);
        let mut cluster = ClusterState::new(id, self.spec, &site, draws, nodes);
        cluster.deployments = deployments;
        self.clusters.push(cluster);
        if self.spec.runs_anything(id.index()) {
            self.settle_cluster(id, queue);
            for node in self.nodes_of(id) {
                self.contents.share(&mut self.nodes[node].content);
            }
        }
        for node in self.nodes_of(id) {
            self.settle_space(NodeId::at(node));
            self.watch_space(NodeId::at(node), queue);
        }
        if let Some(back) = draws.offline {
            self.cut(id, CutKind::All, queue);
            if let Some(back) = back {
                queue.schedule(back, Event::Fault(FaultEvent::OfflineEnds(id)));
            }
        }
    }

    /// Creates the nodes of a cluster, its downlink, and their network cards. Returns the nodes with which it starts.
    fn add_nodes(&mut self, id: ClusterId, site: &DrawnSite, caches: &CacheLinks) -> Range<usize> {
        let spec = &self.spec.clusters[id.index()];
        let cluster = EntityKey::of(&spec.name);
        let Transfers { links, network, .. } = &mut self.transfers;
        let regional_cache = caches.link(id, CachePlace::Region);
        let link = links.add_cluster(spec.region, regional_cache, site.downlink, network);
        let inside = caches.link(id, CachePlace::Cluster).unwrap_or(link);
        let first = self.nodes.len();
        let drawn = spec.draw_nodes(&self.streams, cluster);
        let scaling = spec.autoscaling.as_ref();
        let at_start = scaling.map_or(drawn, |scaling| scaling.nodes_at_start(drawn));
        let most = spec
            .autoscaling
            .as_ref()
            .map_or(at_start, |spec| spec.max_nodes);
        for at in 0..most {
            let key = cluster.part(u64::from(at));
            let mut rng = self.streams.stream(key, "unpack speed");
            let speed = dist::lognormal(&mut rng, 1.0, self.spec.node.unpack_spread);
            links.add_node(id, inside, site.nic, network);
            let hardware = NodeHardware {
                unpack_rate: BytesPerSec::new(site.hardware.unpack_rate.get() * speed),
                ..site.hardware
            };
            let content = self.contents.first();
            let mut node = NodeState::new(&self.spec.node, content, id, key, hardware);
            let disk = self.spec.node.disk.as_ref();
            let space = DiskSpace::draw(disk, &self.streams, key, self.catalog.len());
            node.space = space.map(Box::new);
            self.nodes.push(node);
        }
        first..first + at_start as usize
    }

    pub(crate) fn nodes_of(&self, cluster: ClusterId) -> Range<usize> {
        self.clusters[cluster.index()].nodes.clone()
    }

    /// Returns the site of each cluster as drawn.
    pub fn site_facts(&self) -> impl Iterator<Item = SiteFacts> {
        self.clusters.iter().map(|cluster| SiteFacts {
            downlink: cluster.downlink,
            rtt: cluster.rtt,
            nodes: cluster.nodes.len() as u32,
        })
    }

    /// Returns the facts recorded about each cluster.
    pub fn cluster_facts(&self) -> impl Iterator<Item = &ClusterFacts> {
        self.clusters.iter().map(|cluster| &cluster.facts)
    }
}

/// Returns the rate of a cluster that is slower than others by `factor`.
fn slowed(rate: BytesPerSec, factor: f64) -> BytesPerSec {
    BytesPerSec::new(rate.get() / factor)
}
