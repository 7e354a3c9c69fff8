//! Random worlds with several applications: bytes are conserved, Little's law holds, and pods fit on their nodes
//! ([`crate::world::testing::play`] checks these), and a world without failures makes every target ready.

use super::{DAY, deployment, secs};
use crate::engine::{Stream, Streams, dist};
use crate::world::clusters::autoscaling_spec::AutoscalingSpec;
use crate::world::clusters::spec::WorkloadKind;
use crate::world::faults::spec::{DefectSpec, NodeLossSpec, OutageSpec, ReleaseFaults};
use crate::world::quantity::CountOrPercent;
use crate::world::registry::spec::RequestLimit;
use crate::world::spec::{ApplicationSpec, ImageSpec, ReleaseKind, WorldSpec};
use crate::world::testing::{bare_world, fixed, layer, play};
use fleetsim_units::{BytesPerSec, PerSecond, Share};

/// Number of worlds of each kind.
const WORLDS: u64 = 20;

/// Random decisions of one world.
struct Choices {
    stream: Stream,
}

impl Choices {
    /// Returns a number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        (dist::unit(&mut self.stream) * f64::from(end)) as u32
    }

    /// Returns true with probability 1 / `times`.
    fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }
}

/// A world with this number of applications, whose images share layers, and without failures.
fn healthy_world(seed: u64, applications: u32) -> (WorldSpec, Choices) {
    let stream = Streams::new(seed, applications).stream("world", "choices");
    let mut next = Choices { stream };
    let mut world = bare_world(1 + next.below(4) as usize);
    world.registry.egress = BytesPerSec::new(1e7 * f64::from(1 + next.below(20)));
    for cluster in &mut world.clusters {
        cluster.nodes = (1 + next.below(3)).into();
        cluster.downlink = BytesPerSec::new(1e6 * f64::from(1 + next.below(50))).into();
    }
    world.node.serialize_image_pulls = Some(next.once_in(2));
    let release = [ReleaseKind::Update, ReleaseKind::Initial][next.below(2) as usize];
    world.images.clear();
    let workload = world.applications[0].workloads[0].clone();
    world.applications.clear();
    for number in 0..applications {
        let name = format!("app-{number}");
        let mut image = ImageSpec {
            name: name.clone(),
            layers: vec![layer(&format!("base-{}", next.below(3)), 3_000_000)],
            previous: vec![layer(&format!("base-{}", next.below(3)), 3_000_000)],
            later: Vec::new(),
            config: fleetsim_units::Bytes::new(1000).into(),
            registry: 0,
            index: next.once_in(2),
        };
        image.layers.push(layer(&name, 1_000_000));
        image.previous.push(layer(&format!("old {name}"), 900_000));
        let mut own = workload.clone();
        own.image = world.images.len();
        own.min_ready = secs(f64::from(next.below(3)));
        own.termination = fixed(secs(f64::from(next.below(3))));
        own.kind = match next.below(3) {
            0 => WorkloadKind::DaemonSet {
                max_unavailable: CountOrPercent::Count(1),
                max_surge: CountOrPercent::Count(0),
            },
            replicas => deployment(replicas),
        };
        world.images.push(image);
        let mut application = ApplicationSpec::everywhere(name, vec![own], release);
        if number > 0 && next.once_in(3) {
            let mut clusters = Vec::new();
            for cluster in 0..world.clusters.len() {
                if next.once_in(2) {
                    clusters.push(cluster);
                }
            }
            application.clusters = Some(clusters);
        }
        world.applications.push(application);
    }
    if next.once_in(4) {
        let replicas = 3 * applications;
        for cluster in &mut world.clusters {
            cluster.autoscaling = Some(AutoscalingSpec {
                min_nodes: Some(1),
                max_nodes: replicas,
                pods_per_node: 3,
                decision: fixed(secs(5.0)),
                provisioning: fixed(secs(60.0)),
                creation: None,
            });
        }
    }
    (world, next)
}

/// Adds failures of clusters, nodes, pulls, limits and single applications.
fn with_failures((mut world, mut next): (WorldSpec, Choices)) -> WorldSpec {
    if next.once_in(2) {
        world.faults.pull_failure = Share::new(0.2);
    }
    if next.once_in(2) {
        world.faults.outages = Some(OutageSpec {
            between: fixed(secs(40.0)),
            repair: fixed(secs(15.0)),
            ..OutageSpec::default()
        });
    }
    if next.once_in(3) {
        world.faults.node_loss = Some(NodeLossSpec {
            between: fixed(secs(120.0)),
            repair: fixed(secs(90.0)),
            ..NodeLossSpec::default()
        });
    }
    if next.once_in(3) {
        world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(2.0), 10));
    }
    for application in &mut world.applications {
        if next.once_in(3) {
            application.faults = Some(ReleaseFaults {
                not_found: Share::new(0.2),
                defect: DefectSpec {
                    share: Share::new(0.3),
                    ..DefectSpec::default()
                },
                ..ReleaseFaults::default()
            });
        }
    }
    world
}

#[test]
fn every_target_of_a_healthy_world_becomes_ready() {
    for applications in [2, 5, 20] {
        for seed in 0..WORLDS {
            let (world, _) = healthy_world(seed, applications);
            let played = play(&world, seed, DAY);
            assert_eq!(played.deployments.len(), world.targets());
            for (at, ready) in played.ready_s().iter().enumerate() {
                assert!(
                    ready.is_some(),
                    "target {at} of {applications} applications, seed {seed}"
                );
            }
        }
    }
}

#[test]
fn bytes_are_conserved_and_littles_law_holds_whatever_fails() {
    for applications in [2, 5, 20] {
        for seed in 0..WORLDS {
            let world = with_failures(healthy_world(seed, applications));
            let played = play(&world, seed, secs(3600.0));
            assert!(played.totals.pulls > 0, "seed {seed}");
        }
    }
}

#[test]
fn a_random_world_is_the_same_every_time() {
    let world = with_failures(healthy_world(3, 5));
    let first = play(&world, 1, secs(600.0));
    let again = play(&world, 1, secs(600.0));
    assert_eq!(first.events, again.events);
}
