//! Replays the rollout of the events: their pods, nodes, images and schedule times, with the fitted pull model.
//!
//! The simulated world pulls the images, with a queue in each kubelet, download slots, unpacking, and shared layers.
//! The times from a pod's schedule to its pull, and from the pulled image to the start, are drawn from the measured
//! times. Containers other than the first of their pod pull at their recorded times, because the events do not show
//! what ran before them.
//!
//! Left out: the link of the cluster and the registry's limits (they are part of the fitted rates), failed attempts,
//! and pulls of images of unknown size.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use super::{RUNS, RealPod, real_pods, record};
use crate::calibrate::events::ContainerStart;
use crate::calibrate::images::KnownImages;
use crate::calibrate::rates::{LayerBytes, PullModel};
use crate::calibrate::time::seconds_between;
use crate::engine::{self, EntityKey, EventQueue, Model, Streams, dist};
use crate::results::{PredictedPod, PredictionRecord};
use crate::stats;
use crate::units::{Bytes, BytesPerSec, SimDuration, SimTime, counted};
use crate::world::{
    ApplicationId, ApplicationSpec, ClusterSpec, CountOrPercent, DriverEvent, Event, ImageSpec,
    LayerSpec, MOST_IMAGES, MOST_LAYERS, NodeSpec, PlatformSpec, PodId, PodSpec, Queue,
    RegistrySpec, ReleaseKind, SizeModel, TargetId, Uncompressed, WorkloadKind, WorkloadSpec,
    World, WorldSpec,
};

/// Settings of a replay.
#[derive(Clone, Copy, Debug)]
pub(in crate::calibrate) struct ReplaySettings<'m> {
    pub(in crate::calibrate) images: &'m KnownImages,
    /// Ratio of uncompressed to compressed bytes, for images whose uncompressed size is unknown.
    pub(in crate::calibrate) compression_ratio: f64,
    pub(in crate::calibrate) model: &'m PullModel,
    /// Measured times from a pod's scheduling to its pull, in ascending order.
    pub(in crate::calibrate) before: &'m [f64],
    /// Measured times from the pulled image to the start, in ascending order.
    pub(in crate::calibrate) after: &'m [f64],
}

/// A pull in the replay.
#[derive(Clone, Copy, Debug)]
struct ReplayedPull {
    node: usize,
    /// The image. `None`: it was present before the events began.
    image: Option<usize>,
    /// The pod that the pull belongs to. `None`: the pull belongs to a later container of a pod.
    pod: Option<usize>,
    /// Seconds from the scheduling of the first pod to the scheduling of `pod`, or to the pull if there is no pod.
    at: f64,
}

/// The recorded rollout to replay.
struct RecordedRollout<'e> {
    pods: Vec<RealPod<'e>>,
    pulls: Vec<ReplayedPull>,
    nodes: usize,
    world: WorldSpec,
}

/// Maximum product of nodes and layers, which limits memory: each node stores which layers it has.
const MOST_ON_NODES: usize = 50_000_000;

/// Maximum number of pulls on one node, which limits run time: each start or end of a pull visits all pulls in
/// progress on its node.
const MOST_PULLS_OF_NODE: usize = 10_000;

/// Predicts the rollout in these events. `None`: no pod has a known schedule, start and image.
///
/// # Errors
/// Returns an error message if the events have too many nodes and images.
pub(in crate::calibrate) fn of_events(
    starts: &[ContainerStart],
    settings: ReplaySettings<'_>,
    seed: u64,
) -> Result<Option<PredictionRecord>, String> {
    let Some(rollout) = RecordedRollout::of(starts, settings) else {
        return Ok(None);
    };
    rollout.check_size()?;
    Ok(rollout.predicted(settings, seed))
}

impl RecordedRollout<'_> {
    /// Rejects a rollout that would take too much memory.
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
                "one node has {}; a prediction supports at most {MOST_PULLS_OF_NODE} on a node",
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
            "the events have {} with {} on {}; a prediction supports at most {MOST_IMAGES} images, {MOST_LAYERS} \
             layers, and {MOST_ON_NODES} nodes times layers",
            counted(images.len(), "image"),
            counted(layers, "layer"),
            counted(nodes, "node")
        ))
    }

    fn predicted(&self, settings: ReplaySettings<'_>, seed: u64) -> Option<PredictionRecord> {
        let mut runs = Vec::new();
        for replicate in 0..RUNS {
            runs.push(self.run(settings, seed, replicate));
        }
        let first = self.pods.first()?.scheduled;
        let mut rows = Vec::with_capacity(self.pods.len());
        for (at, pod) in self.pods.iter().enumerate() {
            let times: Vec<f64> = runs.iter().map(|run| run[at]).collect();
            rows.push(PredictedPod {
                pod: pod.start.pod.clone(),
                node: pod.start.node.clone(),
                image: pod.start.image.clone(),
                scheduled_s: seconds_between(first, pod.scheduled),
                started_s: seconds_between(first, pod.started),
                predicted_s: stats::median(&times).unwrap_or_default(),
            });
        }
        let sorted: Vec<Vec<f64>> = runs.iter().map(|run| stats::sorted(run)).collect();
        let mut record = record(&self.pods, &sorted, rows)?;
        record.simulated = "nodes, images and schedule times of the events".to_owned();
        Some(record)
    }
}

/// The nodes and images of a replay, numbered in order of first appearance.
struct Numbered<'e> {
    settings: ReplaySettings<'e>,
    nodes: BTreeMap<&'e str, usize>,
    images: BTreeMap<&'e str, usize>,
    specs: Vec<ImageSpec>,
    /// The images that each node has pulled.
    pulled: BTreeSet<(usize, &'e str)>,
}

/// The image of a replayed pull, if it can be replayed.
enum ReplayedImage {
    /// The image was present before any pull, so the replay does not pull it.
    Present,
    Pulled(usize),
    /// The size of the image is unknown.
    Unknown,
}

impl<'e> Numbered<'e> {
    fn node(&mut self, start: &'e ContainerStart) -> usize {
        let next = self.nodes.len();
        *self.nodes.entry(&start.node).or_insert(next)
    }

    fn image(&mut self, start: &'e ContainerStart, node: usize) -> ReplayedImage {
        let name = start.image.as_str();
        if start.was_present && !self.pulled.contains(&(node, name)) {
            return ReplayedImage::Present;
        }
        let number = match self.images.get(name) {
            Some(known) => *known,
            None => {
                let Some(spec) = image_spec(start, self.settings) else {
                    return ReplayedImage::Unknown;
                };
                self.specs.push(spec);
                self.images.insert(name, self.specs.len() - 1);
                self.specs.len() - 1
            }
        };
        self.pulled.insert((node, name));
        ReplayedImage::Pulled(number)
    }
}

impl<'e> RecordedRollout<'e> {
    /// Creates the rollout in these events. `None`: no pod can be replayed.
    fn of(starts: &'e [ContainerStart], settings: ReplaySettings<'e>) -> Option<Self> {
        let mut numbered = Numbered {
            settings,
            nodes: BTreeMap::new(),
            images: BTreeMap::new(),
            specs: Vec::new(),
            pulled: BTreeSet::new(),
        };
        let real_pods = real_pods(starts);
        let first = real_pods.first()?.scheduled;
        let mut pods = Vec::new();
        let mut pulls = Vec::new();
        for pod in real_pods {
            let node = numbered.node(pod.start);
            let image = match numbered.image(pod.start, node) {
                ReplayedImage::Present => None,
                ReplayedImage::Pulled(image) => Some(image),
                ReplayedImage::Unknown => continue,
            };
            pulls.push(ReplayedPull {
                node,
                image,
                pod: Some(pods.len()),
                at: seconds_between(first, pod.scheduled),
            });
            pods.push(pod);
        }
        for start in starts
            .iter()
            .filter(|start| !start.is_first && !start.was_present)
        {
            let node = numbered.node(start);
            let image = match numbered.image(start, node) {
                ReplayedImage::Present => None,
                ReplayedImage::Pulled(image) => Some(image),
                ReplayedImage::Unknown => continue,
            };
            let Some(pulling) = start.pulling else {
                continue;
            };
            pulls.push(ReplayedPull {
                node,
                image,
                pod: None,
                at: seconds_between(first, pulling.at).max(0.0),
            });
        }
        if pods.is_empty() {
            return None;
        }
        let nodes = numbered.nodes.len();
        let is_parallel = is_parallel(starts);
        Some(Self {
            pods,
            pulls,
            nodes,
            world: world(nodes, numbered.specs, is_parallel, settings.model),
        })
    }
}

/// Returns whether any node had two pulls in progress simultaneously.
pub(in crate::calibrate) fn is_parallel(starts: &[ContainerStart]) -> bool {
    let mut spans: Vec<(&str, i64, i64)> = Vec::new();
    for start in starts.iter().filter(|start| start.prints_wait) {
        let (Some(end), Some(length)) = (start.pulled, start.pull_s) else {
            continue;
        };
        // Printed durations may be off by a few milliseconds.
        let from = end.at - (length * 1e9) as i64 + 100_000_000;
        let to = end.at - 100_000_000;
        if from < to {
            spans.push((&start.node, from, to));
        }
    }
    spans.sort_unstable();
    for ((node, _, to), (later_node, later_from, _)) in spans.iter().tuple_windows() {
        if node == later_node && later_from < to {
            return true;
        }
    }
    false
}

/// Returns an image with its known layers, or with one layer of the image's size.
fn image_spec(start: &ContainerStart, settings: ReplaySettings<'_>) -> Option<ImageSpec> {
    let ratio = settings.compression_ratio;
    let Some(layers) = settings.images.layers(&start.image, start.size) else {
        let size = start.size? as f64;
        // If one rate covers download and unpacking, nothing remains to be unpacked.
        let on_disk = if settings.model.unpack_rate.is_some() {
            size * ratio
        } else {
            1.0
        };
        let layer = layer_of(start.image.clone(), LayerBytes::new(size, on_disk));
        return Some(image_of(&start.image, vec![layer]));
    };
    let mut specs = Vec::with_capacity(layers.len());
    for (at, layer) in layers.into_iter().enumerate() {
        let on_disk = layer.uncompressed.unwrap_or(layer.compressed * ratio);
        let digest = match layer.digest {
            Some(digest) => digest,
            None => format!("{}/{at}", start.image),
        };
        specs.push(layer_of(digest, LayerBytes::new(layer.compressed, on_disk)));
    }
    Some(image_of(&start.image, specs))
}

/// Rounds a size to whole bytes, at least one.
fn whole_bytes(number: f64) -> SizeModel {
    Bytes::new((number.round() as u64).max(1)).into()
}

pub(super) fn layer_of(digest: String, bytes: LayerBytes) -> LayerSpec {
    LayerSpec {
        digest,
        compressed: whole_bytes(bytes.compressed),
        uncompressed: Uncompressed::Size(whole_bytes(bytes.uncompressed)),
        // The rates were fitted to the image's own layers, whatever their compression.
        is_zstd: false,
    }
}

/// Returns an image with these layers.
pub(super) fn image_of(name: &str, layers: Vec<LayerSpec>) -> ImageSpec {
    ImageSpec {
        name: name.to_owned(),
        layers,
        previous: Vec::new(),
        later: Vec::new(),
        config: whole_bytes(1.0),
        registry: 0,
        index: true,
    }
}

/// Returns a world with one cluster with these nodes, in which only the fitted model limits pulls.
pub(super) fn world(
    nodes: usize,
    images: Vec<ImageSpec>,
    is_parallel: bool,
    model: &PullModel,
) -> WorldSpec {
    let endless = BytesPerSec::new(1e13);
    let cluster = ClusterSpec {
        name: "replay".to_owned(),
        nodes: u32::try_from(nodes).unwrap_or(u32::MAX).into(),
        ..ClusterSpec::default()
    };
    let mut workloads = Vec::with_capacity(images.len());
    for (at, image) in images.iter().enumerate() {
        workloads.push(workload(at, &image.name));
    }
    let node = NodeSpec {
        registry_pull_qps: 0,
        serialize_image_pulls: Some(!is_parallel),
        unpack_rate: endless.into(),
        unpack_spread: 0.0,
        ..NodeSpec::default()
    };
    let mut world = WorldSpec {
        clusters: vec![cluster],
        regions: Vec::new(),
        registry: RegistrySpec::unlimited(endless, SimDuration::ZERO.into()),
        registries: Vec::new(),
        distribution: crate::world::DistributionSpec::default(),
        node,
        pods: PodSpec::IMMEDIATE,
        images,
        applications: vec![ApplicationSpec::everywhere(
            String::new(),
            workloads,
            ReleaseKind::Initial,
        )],
        faults: crate::world::FaultSpec::default(),
    };
    model.apply(&mut world);
    world
}

/// Returns a workload without pods for the image. `number` identifies it.
fn workload(number: usize, image: &str) -> WorkloadSpec {
    WorkloadSpec {
        name: image.to_owned(),
        image_name: image.to_owned(),
        image: number,
        kind: WorkloadKind::Deployment {
            replicas: 0,
            max_unavailable: CountOrPercent::Percent(25),
            max_surge: CountOrPercent::Percent(25),
            progress_deadline: SimDuration::from_secs(600),
        },
        pull_policy: crate::world::PullPolicy::IfNotPresent,
        start: SimDuration::ZERO.into(),
        readiness: None,
        start_timeout: None,
        min_ready: SimDuration::ZERO,
        termination: SimDuration::ZERO.into(),
    }
}

/// A replay in progress.
struct Replay<'s> {
    world: World<'s>,
    /// Pulls that have not begun yet, in descending order of time.
    ahead: Vec<(f64, ReplayedPull)>,
    /// The real pods that wait for pulls in progress, by simulated pod.
    open: BTreeMap<PodId, usize>,
    /// The time at which the image of each real pod was present.
    pulled: Vec<f64>,
}

impl Model for Replay<'_> {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut Queue) {
        if event == Event::Driver(ApplicationId::default(), DriverEvent::Timer(0)) {
            let (_, pull) = self.ahead.pop().expect("one event for each pull");
            if let Some(image) = pull.image {
                let id = self
                    .world
                    .pull_image(TargetId::at(0), pull.node, image, queue);
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

/// Returns the times at which the images of this number of real pods are present. `ahead`: pulls with their start
/// times in seconds, in descending order.
fn pulled(
    spec: &WorldSpec,
    ahead: Vec<(f64, ReplayedPull)>,
    pods: usize,
    seed: u64,
    replicate: u32,
) -> Vec<f64> {
    let mut queue = EventQueue::new();
    let world = World::new(spec, &PlatformSpec::INSTANT, seed, replicate, &mut queue);
    for (at, _) in ahead.iter().rev() {
        queue.schedule(
            SimTime::ZERO + SimDuration::from_secs_f64(*at),
            Event::Driver(ApplicationId::default(), DriverEvent::Timer(0)),
        );
    }
    let mut replay = Replay {
        world,
        ahead,
        open: BTreeMap::new(),
        pulled: vec![0.0; pods],
    };
    // Nothing fails in a replay, so every pull ends.
    let end = SimTime::ZERO + SimDuration::from_hours(24 * 365);
    engine::run(&mut replay, &mut queue, &mut (), end, |replay, _| {
        replay.ahead.is_empty() && replay.open.is_empty()
    });
    replay.pulled
}

/// Returns the duration of the only pull in a world with one image and one node.
pub(super) fn lone_pull(spec: &WorldSpec) -> f64 {
    let pull = ReplayedPull {
        node: 0,
        image: Some(0),
        pod: Some(0),
        at: 0.0,
    };
    pulled(spec, vec![(0.0, pull)], 1, 1, 0)[0]
}

impl RecordedRollout<'_> {
    /// Returns the times at which the first container of each pod started, in seconds from the first schedule.
    fn run(&self, settings: ReplaySettings<'_>, seed: u64, replicate: u32) -> Vec<f64> {
        let streams = Streams::new(seed, replicate);
        let mut ahead = Vec::with_capacity(self.pulls.len());
        for (nth, pull) in self.pulls.iter().enumerate() {
            let mut at = pull.at;
            if pull.pod.is_some() {
                at += draw(&streams, settings.before, "before the pull", nth);
            }
            ahead.push((at, *pull));
        }
        ahead.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut seconds = pulled(&self.world, ahead, self.pods.len(), seed, replicate);
        for (nth, at) in seconds.iter_mut().enumerate() {
            *at += draw(&streams, settings.after, "after the pull", nth);
        }
        seconds
    }
}

/// Draws one of the measured values. Returns 0 if there are none.
fn draw(streams: &Streams, values: &[f64], purpose: &'static str, nth: usize) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut rng = streams.stream_nth(EntityKey::of("replay"), purpose, nth as u64);
    dist::empirical(&mut rng, values.len(), |at| values[at])
}
