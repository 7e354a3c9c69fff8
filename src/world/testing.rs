//! Small worlds whose times can be computed by hand, for tests.

use std::collections::BTreeMap;

use crate::engine::{self, EventQueue, Model};
use crate::units::{Bytes, BytesPerSec, Share, SimDuration, SimTime};
use crate::world::World;
use crate::world::clusters::cluster::ClusterFacts;
use crate::world::distribution::spec::DistributionSpec;
use crate::world::event::{DriverEvent, Event, Queue};
use crate::world::faults::spec::FaultSpec;
use crate::world::ids::{ClusterId, NEW};
use crate::world::nodes::runtime::spec::{RuntimeSpec, RuntimeVersion};
use crate::world::quantity::CountOrPercent;
use crate::world::quantity::DurationModel;
use crate::world::registry::spec::RegistrySpec;
use crate::world::spec::{
    AgentSpec, ClusterSpec, ImageSpec, LayerSpec, NodeSpec, PullOrder, PullPolicy, ReleaseKind, Requeue, Uncompressed,
    WorkloadKind, WorkloadSpec, WorldSpec,
};
use crate::world::totals::Totals;

/// A duration that does not vary.
pub(crate) const fn fixed(span: SimDuration) -> DurationModel {
    DurationModel::Constant(span)
}

/// A layer of `bytes` that does not compress.
pub(crate) fn layer(digest: &str, bytes: u64) -> LayerSpec {
    LayerSpec {
        digest: digest.to_owned(),
        compressed: Bytes::new(bytes).into(),
        uncompressed: Uncompressed::Ratio(1.0),
    }
}

/// `count` online clusters of one node; one Deployment with one pod of a one-layer image. Nothing takes time but
/// downloads: 100 MB at 100 MB/s per cluster, and every other delay is zero.
pub(crate) fn bare_world(count: usize) -> WorldSpec {
    let nothing: DurationModel = fixed(SimDuration::ZERO);
    let fast = BytesPerSec::new(1e12);
    let cluster = |at: usize| ClusterSpec {
        region_name: None,
        clusters: None,
        name: format!("c{at:04}"),
        labels: BTreeMap::new(),
        nodes: 1,
        downlink: BytesPerSec::new(100e6).into(),
        rtt: nothing.clone(),
        loss: Share::NONE,
        region: None,
        paused: false,
        registered: true,
    };
    WorldSpec {
        clusters: (0..count).map(cluster).collect(),
        regions: Vec::new(),
        registry: RegistrySpec::unlimited(fast, nothing.clone()),
        registries: Vec::new(),
        distribution: DistributionSpec::default(),
        node: NodeSpec {
            version: RuntimeVersion::default(),
            crash_backoff: None,
            nic: fast.into(),
            pulls: PullOrder::Serial,
            pull_rate: None,
            image_backoff: crate::world::Backoff::default(),
            error_requeue: nothing.clone(),
            requeue: Requeue::AfterError,
            pull_deadline: None,
            runtime: RuntimeSpec::CONTAINERD_2_4,
            keep_blobs: true,
            unpack_slots: 1,
            disk: None,
            unpack_rate: BytesPerSec::new(1e15).into(),
            unpack_spread: 0.0,
            unpack_per_layer: nothing.clone(),
            pull_constant: nothing.clone(),
            start_overhead: nothing.clone(),
        },
        images: vec![ImageSpec {
            name: "shop".to_owned(),
            layers: vec![layer("app", 100_000_000)],
            previous: Vec::new(),
            config: Bytes::ZERO.into(),
            registry: 0,
        }],
        workloads: vec![WorkloadSpec {
            image_name: String::new(),
            name: "shop".to_owned(),
            kind: WorkloadKind::Deployment {
                replicas: 1,
                max_unavailable: CountOrPercent::Percent(25),
                max_surge: CountOrPercent::Percent(25),
                progress_deadline: SimDuration::from_secs(600),
            },
            image: 0,
            pull_policy: PullPolicy::IfNotPresent,
            start: nothing.clone(),
            readiness: None,
            min_ready: SimDuration::ZERO,
            termination: nothing.clone(),
        }],
        release: ReleaseKind::Initial,
        agent: AgentSpec {
            instruction_delay: nothing.clone(),
            apply: nothing.clone(),
            report_delay: nothing.clone(),
            readiness_delay: nothing.clone(),
        },
        faults: FaultSpec::default(),
    }
}

/// What a played world came to.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) facts: Vec<ClusterFacts>,
    pub(crate) totals: Totals,
    pub(crate) peak_pulls: u64,
    pub(crate) peak_downloads: u64,
    pub(crate) egress_peaks: (f64, f64),
    /// For how long the egress was at its capacity.
    pub(crate) busy_s: f64,
    /// Every event with its time.
    pub(crate) events: Vec<(SimTime, Event)>,
}

impl Played {
    /// When each cluster was ready, in seconds.
    pub(crate) fn ready_s(&self) -> Vec<Option<f64>> {
        self.facts.iter().map(|facts| facts.ready.map(SimTime::as_secs_f64)).collect()
    }

    /// When the events that `wanted` accepts happened, in seconds.
    pub(crate) fn times(&self, wanted: impl Fn(&Event) -> bool) -> Vec<f64> {
        self.events.iter().filter(|(_, event)| wanted(event)).map(|(at, _)| at.as_secs_f64()).collect()
    }
}

/// What a test does to a world at a time of its choice.
pub(crate) type Deed = fn(&mut World<'_>, &mut Queue);

/// A world without a product, and what is done to it, in the order of time.
struct Alone<'s> {
    world: World<'s>,
    deeds: std::vec::IntoIter<Deed>,
}

impl Model for Alone<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        if event == Event::Driver(DriverEvent::Due) {
            self.deeds.next().expect("one event for each deed")(&mut self.world, queue);
        }
        self.world.handle(event, queue);
        self.world.take_reports();
    }
}

/// Tells every cluster the new revision at time zero, and lets the world run until nothing more can happen or the
/// horizon comes. Bytes are checked for conservation.
pub(crate) fn play(spec: &WorldSpec, seed: u64, horizon: SimDuration) -> Played {
    play_with(spec, seed, horizon, &[])
}

/// As [`play`], and does this and that at so many seconds, in the order of time.
pub(crate) fn play_with(spec: &WorldSpec, seed: u64, horizon: SimDuration, deeds: &[(f64, Deed)]) -> Played {
    let mut queue = EventQueue::new();
    let world = World::new(spec, crate::world::Restarts::KUBELET, seed, 0, &mut queue);
    let deeds_alone: Vec<Deed> = deeds.iter().map(|&(_, deed)| deed).collect();
    let mut model = Alone { world, deeds: deeds_alone.into_iter() };
    for at in 0..spec.clusters.len() {
        model.world.instruct(ClusterId::at(at), NEW, &mut queue);
    }
    for &(at, _) in deeds {
        queue.schedule(SimTime::ZERO + SimDuration::from_secs_f64(at), Event::Driver(DriverEvent::Due));
    }
    let mut events = Vec::new();
    let mut observer = |now: SimTime, event: &Event| events.push((now, *event));
    engine::run(&mut model, &mut queue, &mut observer, SimTime::ZERO + horizon, |model, queue| {
        model.world.is_at_rest(queue, 0)
    });
    let totals = model.world.finish(queue.now());
    model.world.assert_bytes_are_conserved();
    model.world.assert_littles_law();
    Played {
        facts: model.world.facts().copied().collect(),
        totals,
        peak_pulls: model.world.meter().pulls.peak(),
        peak_downloads: model.world.meter().downloads.peak(),
        egress_peaks: model.world.meter().egress_peaks(),
        busy_s: model.world.meter().busy().as_secs_f64(),
        events,
    }
}
