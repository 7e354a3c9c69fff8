//! Small worlds for the validations, and a loop that plays them without a scheduler.

use std::path::Path;

use fleetsim::engine::{self, EventQueue, Model};
use fleetsim::scenario::{Overrides, load};
use fleetsim::units::{Bytes, SimDuration, SimTime};
use fleetsim::world::{
    ClusterFacts, DeploymentFacts, Event, LayerSpec, NEW, PullEvent, PullFacts, Queue, TargetId,
    Totals, Uncompressed, World, WorldSpec,
};

/// A horizon that is longer than any of these rollouts.
pub(crate) const DAY: SimDuration = SimDuration::from_hours(24);

pub(crate) fn secs(secs: f64) -> SimDuration {
    SimDuration::from_secs_f64(secs)
}

/// A world with one node on which nothing takes time.
pub(crate) fn base() -> WorldSpec {
    world("experiment.yaml")
}

/// A world with one node and the model's defaults.
pub(crate) fn defaults() -> WorldSpec {
    world("defaults.yaml")
}

/// A world with one node in a cloud and the model's defaults, as a user gets it.
pub(crate) fn cloud() -> WorldSpec {
    world("cloud.yaml")
}

/// The world of [`spegel`](super::spegel): ten nodes, ghcr.io, and an update of two nodes at a time.
pub(crate) fn spegel() -> WorldSpec {
    world("spegel.yaml")
}

/// The same cluster with the defaults, and the facts that its source states.
pub(crate) fn spegel_defaults() -> WorldSpec {
    world("spegel-defaults.yaml")
}

/// The world of [`ghcr`](super::ghcr): a cluster in a cloud, and ghcr.io.
pub(crate) fn ghcr() -> WorldSpec {
    world("ghcr.yaml")
}

/// A world with Kraken's 2 600 hosts.
pub(crate) fn kraken() -> WorldSpec {
    world("kraken.yaml")
}

/// Ways of distribution, in the order of `ways.yaml`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Cache,
    CacheStream,
    Spegel,
    Dragonfly,
    DragonflyLazy,
}

/// A world with ten nodes that are updated one at a time, with the given way of distribution and its defaults.
pub(crate) fn way(way: Way) -> WorldSpec {
    variant("ways.yaml", way as usize)
}

fn world(file: &str) -> WorldSpec {
    variant(file, 0)
}

fn variant(file: &str, at: usize) -> WorldSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/suite/validation/base")
        .join(file);
    let experiment = load(&path, &Overrides::default())
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    (*experiment.variants[at].scenario.world).clone()
}

/// Gives the world `count` clusters like its first one.
pub(crate) fn set_clusters(world: &mut WorldSpec, count: usize) {
    let first = world.clusters[0].clone();
    world.clusters = (0..count)
        .map(|at| {
            let mut cluster = first.clone();
            cluster.name = format!("n{at:04}");
            cluster
        })
        .collect();
}

/// `count` equal layers with the given total sizes.
pub(crate) fn layers(name: &str, count: u64, compressed: u64, uncompressed: u64) -> Vec<LayerSpec> {
    (0..count)
        .map(|at| LayerSpec {
            digest: format!("{name}-{at}"),
            compressed: Bytes::new(compressed / count).into(),
            uncompressed: Uncompressed::Size(Bytes::new(uncompressed / count).into()),
            is_zstd: false,
        })
        .collect()
}

/// The results of a played world.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) facts: Vec<ClusterFacts>,
    pub(crate) deployments: Vec<DeploymentFacts>,
    pub(crate) pulls: Vec<PullFacts>,
    pub(crate) totals: Totals,
    pub(crate) peak_pulls: u64,
    /// Highest mean of the registry's egress over a minute, bytes per second.
    pub(crate) egress_peak_60s: f64,
    /// All events with their times.
    pub(crate) events: Vec<(SimTime, Event)>,
}

impl Played {
    /// The time at which the last cluster was ready, in seconds.
    pub(crate) fn last_ready_s(&self) -> f64 {
        let ready = |facts: &DeploymentFacts| {
            facts
                .ready
                .expect("every cluster became ready")
                .as_secs_f64()
        };
        self.deployments.iter().map(ready).fold(0.0, f64::max)
    }

    /// The durations of all pulls, in seconds, in order of their start.
    pub(crate) fn pull_s(&self) -> Vec<f64> {
        self.pulls
            .iter()
            .map(|pull| (pull.ended.expect("it ended") - pull.began).as_secs_f64())
            .collect()
    }

    /// The times of the events that `wanted` accepts, in seconds.
    pub(crate) fn times(&self, wanted: impl Fn(&Event) -> bool) -> Vec<f64> {
        self.events
            .iter()
            .filter(|(_, event)| wanted(event))
            .map(|(at, _)| at.as_secs_f64())
            .collect()
    }
}

struct Driven<'s> {
    world: World<'s>,
    /// Number of clusters instructed so far, and of all clusters.
    told: usize,
    clusters: usize,
}

impl Driven<'_> {
    fn tell_next(&mut self, queue: &mut Queue) {
        if self.told < self.clusters {
            self.world.instruct(TargetId::at(self.told), NEW, queue);
            self.told += 1;
        }
    }
}

impl Model for Driven<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        self.world.handle(event, queue);
        self.world.take_reports();
        if matches!(event, Event::Pull(_, PullEvent::Completed)) {
            self.tell_next(queue);
        }
    }
}

/// Plays a world in which all clusters are instructed immediately.
pub(crate) fn play(spec: &WorldSpec, seed: u64, horizon: SimDuration) -> Played {
    play_closed(spec, seed, horizon, spec.clusters.len())
}

/// Plays a world with a fixed number of concurrently updating clusters: the next one is instructed whenever a pull has
/// ended. This is a closed queue of single-node clusters.
pub(crate) fn play_closed(
    spec: &WorldSpec,
    seed: u64,
    horizon: SimDuration,
    at_once: usize,
) -> Played {
    let mut queue = EventQueue::new();
    let world = World::new(
        spec,
        &fleetsim::world::PlatformSpec::INSTANT,
        seed,
        0,
        &mut queue,
    );
    let mut model = Driven {
        world,
        told: 0,
        clusters: spec.clusters.len(),
    };
    for _ in 0..at_once {
        model.tell_next(&mut queue);
    }
    let mut events = Vec::new();
    let mut observer = |now: SimTime, event: &Event| events.push((now, *event));
    engine::run(
        &mut model,
        &mut queue,
        &mut observer,
        SimTime::ZERO + horizon,
        |model, queue| model.world.is_at_rest(queue, 0),
    );
    let mut world = model.world;
    let totals = world.finish(queue.now());
    world.assert_bytes_are_conserved();
    world.assert_littles_law();
    Played {
        facts: world.cluster_facts().copied().collect(),
        deployments: world.deployment_facts().copied().collect(),
        pulls: world.pulls().collect(),
        totals,
        peak_pulls: world.meter().pulls.peak(),
        egress_peak_60s: world.meter().egress_peaks().1,
        events,
    }
}
