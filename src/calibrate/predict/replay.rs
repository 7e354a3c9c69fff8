//! The rollout of the events again: their pods, nodes, images and times of schedule, with the fitted pull model.
//!
//! The world pulls the images: queue of each kubelet, download slots, unpacking, layers that images share. The times
//! from a pod's schedule to its pull, and from the image to the start, are drawn from the measured ones. Containers
//! that are not the first of their pod pull when they did, because what ran before them is not in the events.
//!
//! Left out: the link of the cluster and the registry's limits (they are part of the fitted rates), failed attempts,
//! and pulls of images whose size is not known.

use std::collections::{BTreeMap, BTreeSet};

use super::{RUNS, RealPod, real_pods, record};
use crate::calibrate::events::ContainerStart;
use crate::calibrate::images::{KnownImages, KnownLayer};
use crate::calibrate::rates::{LayerBytes, PullModel};
use crate::calibrate::time::seconds_between;
use crate::engine::{self, EntityKey, EventQueue, Model, Streams, dist};
use crate::results::{PredictedPod, PredictionRecord};
use crate::stats;
use crate::units::{Bytes, BytesPerSec, SimDuration, SimTime, counted};
use crate::world::{
    ClusterId, ClusterSpec, CountOrPercent, DriverEvent, Event, ImageSpec, LayerSpec, MOST_IMAGES,
    MOST_LAYERS, NodeSpec, PlatformSpec, PodId, PodSpec, Queue, RegistrySpec, ReleaseKind,
    Uncompressed, WorkloadKind, WorkloadSpec, World, WorldSpec,
};

/// The measured times around a pull, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(in crate::calibrate) struct Latencies<'m> {
    /// From a pod's schedule to its pull.
    pub(in crate::calibrate) before: &'m [f64],
    /// From the image to the start.
    pub(in crate::calibrate) after: &'m [f64],
}

/// A pull of the replay.
#[derive(Clone, Copy, Debug)]
struct ReplayedPull {
    node: usize,
    /// `None`: the image was there before the events began.
    image: Option<usize>,
    /// Which of the real pods it belongs to; `None`: of a later container.
    pod: Option<usize>,
    /// Seconds from the first schedule: of the schedule of a real pod, otherwise of the pull.
    at: f64,
}

/// The recorded rollout that is replayed.
struct RecordedRollout<'e> {
    pods: Vec<RealPod<'e>>,
    pulls: Vec<ReplayedPull>,
    nodes: usize,
    world: WorldSpec,
}

/// Most nodes times layers, which limits memory: a node knows which layers it has.
const MOST_ON_NODES: usize = 50_000_000;

/// Most pulls of one node, which limits time: each start or end of a pull looks at those in progress on its node.
const MOST_PULLS_OF_NODE: usize = 10_000;

/// Predicts the rollout of these events. `None` when no pod's schedule, start and image are known.
///
/// # Errors
/// When they have too many nodes and images, in words.
pub(in crate::calibrate) fn of_events(
    starts: &[ContainerStart],
    images: &KnownImages,
    ratio: f64,
    model: &PullModel,
    latencies: Latencies<'_>,
    seed: u64,
) -> Result<Option<PredictionRecord>, String> {
    let Some(rollout) = rollout(starts, images, ratio, model) else {
        return Ok(None);
    };
    rollout.check_size()?;
    Ok(rollout.predicted(latencies, seed))
}

impl RecordedRollout<'_> {
    /// Refuses what would take too much memory.
    fn check_size(&self) -> Result<(), String> {
        let nodes = self.nodes;
        let images = &self.world.images;
        let layers: usize = images.iter().map(|image| image.layers.len()).sum();
        let mut pulls = vec![0; nodes];
        for pull in &self.pulls {
            pulls[pull.node] += 1;
        }
        let most = pulls.into_iter().max().unwrap_or(0);
        if most > MOST_PULLS_OF_NODE {
            return Err(format!(
                "one node has {}; a prediction has at most {MOST_PULLS_OF_NODE} on a node",
                counted(most, "container")
            ));
        }
        let is_small = images.len() <= MOST_IMAGES
            && layers <= MOST_LAYERS
            && nodes.saturating_mul(layers) <= MOST_ON_NODES;
        if is_small {
            return Ok(());
        }
        Err(format!(
            "the events have {} with {} on {}; a prediction has at most {MOST_IMAGES} images, {MOST_LAYERS} layers, and \
             {MOST_ON_NODES} nodes times layers",
            counted(images.len(), "image"),
            counted(layers, "layer"),
            counted(nodes, "node")
        ))
    }

    fn predicted(&self, latencies: Latencies<'_>, seed: u64) -> Option<PredictionRecord> {
        let runs: Vec<Vec<f64>> = (0..RUNS)
            .map(|replicate| self.run(latencies, seed, replicate))
            .collect();
        let first = self.pods.first()?.scheduled;
        let rows = self.pods.iter().enumerate().map(|(at, pod)| PredictedPod {
            pod: pod.start.pod.clone(),
            node: pod.start.node.clone(),
            image: pod.start.image.clone(),
            scheduled_s: seconds_between(first, pod.scheduled),
            started_s: seconds_between(first, pod.started),
            predicted_s: stats::median(&runs.iter().map(|run| run[at]).collect::<Vec<_>>())
                .unwrap_or_default(),
        });
        let sorted: Vec<Vec<f64>> = runs.iter().map(|run| stats::sorted(run)).collect();
        let mut record = record(&self.pods, &sorted, rows.collect())?;
        record.simulated = "nodes, images and schedule times of the events".to_owned();
        Some(record)
    }
}

fn rollout<'e>(
    starts: &'e [ContainerStart],
    images: &KnownImages,
    ratio: f64,
    model: &PullModel,
) -> Option<RecordedRollout<'e>> {
    let mut specs: Vec<ImageSpec> = Vec::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut nodes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pulled: BTreeSet<(usize, &str)> = BTreeSet::new();
    let pods = real_pods(starts);
    let first = pods.first()?.scheduled;
    let mut kept: Vec<RealPod<'e>> = Vec::new();
    let mut pulls = Vec::new();
    let others = starts
        .iter()
        .filter(|start| !start.is_first && !start.was_present);
    let of_pods = pods.iter().map(|pod| (pod.start, Some(*pod)));
    for (start, pod) in of_pods.chain(others.map(|start| (start, None))) {
        let next = nodes.len();
        let node = *nodes.entry(&start.node).or_insert(next);
        // An image that was there before anything pulled it has no pull in the replay.
        let was_there = start.was_present && !pulled.contains(&(node, start.image.as_str()));
        let image = if was_there {
            None
        } else {
            let known = numbers.get(start.image.as_str()).copied();
            let Some(at) = known.or_else(|| {
                specs.push(image_spec(start, images, ratio, model)?);
                Some(specs.len() - 1)
            }) else {
                continue;
            };
            numbers.insert(&start.image, at);
            pulled.insert((node, start.image.as_str()));
            Some(at)
        };
        let at = match pod {
            Some(pod) => seconds_between(first, pod.scheduled),
            None => match start.pulling {
                Some(stamp) => seconds_between(first, stamp.at).max(0.0),
                None => continue,
            },
        };
        pulls.push(ReplayedPull {
            node,
            image,
            pod: pod.map(|_| kept.len()),
            at,
        });
        kept.extend(pod);
    }
    let world = world(nodes.len(), specs, is_parallel(starts), model);
    (!kept.is_empty()).then_some(RecordedRollout {
        pods: kept,
        pulls,
        nodes: nodes.len(),
        world,
    })
}

/// Whether a node had two pulls in progress at the same time.
pub(in crate::calibrate) fn is_parallel(starts: &[ContainerStart]) -> bool {
    let mut spans: Vec<(&str, i64, i64)> = starts
        .iter()
        .filter(|start| start.prints_wait)
        .filter_map(|start| {
            let (end, length) = (start.pulled?.at, start.pull_s?);
            // Printed durations are shorter or longer by some milliseconds.
            Some((
                start.node.as_str(),
                end - (length * 1e9) as i64 + 100_000_000,
                end - 100_000_000,
            ))
        })
        .filter(|(_, from, to)| from < to)
        .collect();
    spans.sort_unstable();
    spans
        .windows(2)
        .any(|pair| pair[0].0 == pair[1].0 && pair[1].1 < pair[0].2)
}

/// The layers of an image: known ones, or one of its size.
fn image_spec(
    start: &ContainerStart,
    images: &KnownImages,
    ratio: f64,
    model: &PullModel,
) -> Option<ImageSpec> {
    let layers = match images.layers(&start.image, start.size) {
        Some(layers) => {
            let known = |(at, layer): (usize, &KnownLayer)| {
                let digest = layer
                    .digest
                    .clone()
                    .unwrap_or_else(|| format!("{}/{at}", start.image));
                (
                    digest,
                    (
                        layer.compressed,
                        layer.uncompressed.unwrap_or(layer.compressed * ratio),
                    ),
                )
            };
            layers.iter().enumerate().map(known).collect()
        }
        None => {
            let size = start.size? as f64;
            // With one rate for download and unpacking, nothing is left to unpack.
            let on_disk = if model.unpack_rate.is_some() {
                size * ratio
            } else {
                1.0
            };
            vec![(start.image.clone(), (size, on_disk))]
        }
    };
    Some(image_of(&start.image, layers))
}

/// An image with these layers, each with its digest.
pub(super) fn image_of(name: &str, layers: Vec<(String, LayerBytes)>) -> ImageSpec {
    let bytes = |number: f64| Bytes::new((number.round() as u64).max(1)).into();
    let layer = |(digest, (compressed, uncompressed))| LayerSpec {
        digest,
        compressed: bytes(compressed),
        uncompressed: Uncompressed::Size(bytes(uncompressed)),
    };
    ImageSpec {
        name: name.to_owned(),
        layers: layers.into_iter().map(layer).collect(),
        previous: Vec::new(),
        config: bytes(1.0),
        registry: 0,
        index: true,
    }
}

/// One cluster with these nodes, and nothing that limits pulls but the fitted model.
pub(super) fn world(
    nodes: usize,
    images: Vec<ImageSpec>,
    is_parallel: bool,
    model: &PullModel,
) -> WorldSpec {
    let endless = BytesPerSec::new(1e13);
    let none = SimDuration::ZERO;
    let cluster = ClusterSpec {
        name: "replay".to_owned(),
        nodes: u32::try_from(nodes).unwrap_or(u32::MAX).into(),
        downlink: endless.into(),
        rtt: none.into(),
        ..ClusterSpec::default()
    };
    let workload = |(at, image): (usize, &ImageSpec)| WorkloadSpec {
        name: image.name.clone(),
        image_name: image.name.clone(),
        image: at,
        kind: WorkloadKind::Deployment {
            replicas: 0,
            max_unavailable: CountOrPercent::Percent(25),
            max_surge: CountOrPercent::Percent(25),
            progress_deadline: SimDuration::from_secs(600),
        },
        pull_policy: crate::world::PullPolicy::IfNotPresent,
        start: none.into(),
        readiness: None,
        min_ready: none,
        termination: none.into(),
    };
    let mut registry = RegistrySpec {
        per_connection: None,
        ..RegistrySpec::unlimited(endless, none.into())
    };
    let mut node = NodeSpec {
        nic: endless.into(),
        registry_pull_qps: 0,
        serialize_image_pulls: Some(!is_parallel),
        unpack_rate: endless.into(),
        unpack_spread: 0.0,
        ..NodeSpec::default()
    };
    model.apply(&mut node, &mut registry);
    WorldSpec {
        clusters: vec![cluster],
        regions: Vec::new(),
        registry,
        registries: Vec::new(),
        distribution: crate::world::DistributionSpec::default(),
        node,
        pods: PodSpec::IMMEDIATE,
        workloads: images.iter().enumerate().map(workload).collect(),
        images,
        release: ReleaseKind::Initial,
        faults: crate::world::FaultSpec::default(),
    }
}

/// A replay in progress.
struct Replay<'s> {
    world: World<'s>,
    /// Pulls that are still to begin, the next one last.
    ahead: Vec<(f64, ReplayedPull)>,
    /// The real pods that wait for pulls in progress.
    open: BTreeMap<PodId, usize>,
    /// When the image of each real pod was there.
    pulled: Vec<f64>,
}

impl Model for Replay<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        if event == Event::Driver(DriverEvent::Timer(0)) {
            let (_, pull) = self.ahead.pop().expect("one event for each pull");
            if let Some(image) = pull.image {
                let id = self
                    .world
                    .pull_image(ClusterId::at(0), pull.node, image, queue);
                self.open.extend(pull.pod.map(|pod| (id, pod)));
            } else if let Some(pod) = pull.pod {
                self.pulled[pod] = queue.now().as_secs_f64();
            }
        }
        self.world.handle(event, queue);
        let now = queue.now().as_secs_f64();
        for id in self.world.take_pulled() {
            if let Some(pod) = self.open.remove(&id) {
                self.pulled[pod] = now;
            }
        }
    }
}

/// When the images of so many real pods are there: `ahead` are pulls with the seconds at which they begin, the next one
/// last.
fn pulled(
    spec: &WorldSpec,
    ahead: Vec<(f64, ReplayedPull)>,
    pods: usize,
    (seed, replicate): (u64, u32),
) -> Vec<f64> {
    let mut queue = EventQueue::new();
    let world = World::new(spec, &PlatformSpec::INSTANT, seed, replicate, &mut queue);
    for (at, _) in ahead.iter().rev() {
        queue.schedule(
            SimTime::ZERO + SimDuration::from_secs_f64(*at),
            Event::Driver(DriverEvent::Timer(0)),
        );
    }
    let mut replay = Replay {
        world,
        ahead,
        open: BTreeMap::new(),
        pulled: vec![0.0; pods],
    };
    // Nothing fails here, so every pull ends.
    let end = SimTime::ZERO + SimDuration::from_hours(24 * 365);
    engine::run(&mut replay, &mut queue, &mut (), end, |_, _| false);
    replay.pulled
}

/// The duration of the pull of a world's only image by its only node.
pub(super) fn lone_pull(spec: &WorldSpec) -> f64 {
    pulled(
        spec,
        vec![(
            0.0,
            ReplayedPull {
                node: 0,
                image: Some(0),
                pod: Some(0),
                at: 0.0,
            },
        )],
        1,
        (1, 0),
    )[0]
}

impl RecordedRollout<'_> {
    /// When the first container of each pod started, in seconds from the first schedule.
    fn run(&self, latencies: Latencies<'_>, seed: u64, replicate: u32) -> Vec<f64> {
        let streams = Streams::new(seed, replicate);
        let key = EntityKey::of("replay");
        let draw = |values: &[f64], purpose: &'static str, nth: usize| {
            let mut rng = streams.stream_nth(key, purpose, nth as u64);
            if values.is_empty() {
                0.0
            } else {
                dist::empirical(&mut rng, values.len(), |at| values[at])
            }
        };
        let begins = |(nth, pull): (usize, &ReplayedPull)| {
            let before = if pull.pod.is_some() {
                draw(latencies.before, "before the pull", nth)
            } else {
                0.0
            };
            (pull.at + before, *pull)
        };
        let mut ahead: Vec<(f64, ReplayedPull)> =
            self.pulls.iter().enumerate().map(begins).collect();
        ahead.sort_by(|a, b| b.0.total_cmp(&a.0));
        let pulled = pulled(&self.world, ahead, self.pods.len(), (seed, replicate));
        let after =
            |(nth, pulled): (usize, &f64)| pulled + draw(latencies.after, "after the pull", nth);
        pulled.iter().enumerate().map(after).collect()
    }
}
