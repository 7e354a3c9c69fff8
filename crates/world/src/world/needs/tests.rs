//! Compares the bounds with simulated runs. A bound never exceeds the time of a random world, and it equals that time
//! if one resource is slow by construction.

use proptest::prelude::*;

use super::{NeededAmount, ResourceNeed, resource_needs};
use crate::world::clusters::autoscaling_spec::{AutoscalingSpec, NodeCreation};
use crate::world::clusters::spec::{PullPolicy, WorkloadKind, WorkloadSpec};
use crate::world::distribution::spec::{
    CachePlace, CacheSpec, CellSpec, Coalesce, DistributionKind, MirrorSpec, PiecesSpec, SpegelSpec,
};
use crate::world::nodes::spec::{DiskClass, DiskSpec};
use crate::world::quantity::CountOrPercent;
use crate::world::registry::load_spec::{BurstSpec, OtherLoad};
use crate::world::registry::spec::{BlobScope, ClientScope, PullQuota, RequestLimit};
use crate::world::spec::{ImageSpec, NamedRegistry, RegionSpec, ReleaseKind, WorldSpec};
use crate::world::testing::{bare_world, fixed, layer, play};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration};

fn rate(bytes_per_s: f64) -> BytesPerSec {
    BytesPerSec::new(bytes_per_s)
}

/// Returns the time at which the last cluster of a world is ready, in seconds. `None`: some are not ready within a
/// week.
fn simulated_s(world: &WorldSpec) -> Option<f64> {
    let played = play(world, 1, SimDuration::from_hours(168));
    let mut last: f64 = 0.0;
    for ready in played.ready_s() {
        last = last.max(ready?);
    }
    Some(last)
}

/// Asserts that this is the slowest resource of a world, and that its bound is within a few percent of the simulated
/// time.
#[track_caller]
fn assert_dominates(world: &WorldSpec, resource: &str, least_s: f64) {
    let needs = resource_needs(world);
    let slowest = &needs[0];
    assert_eq!(slowest.resource, resource, "{needs:#?}");
    let bound = slowest.least.as_secs_f64();
    assert!((bound - least_s).abs() < 1e-6 * least_s, "{bound} s");
    let simulated = simulated_s(world).expect("all clusters become ready");
    assert!(
        bound <= simulated + 1e-6 && simulated <= bound * 1.05,
        "{resource}: {bound} s, simulated {simulated} s"
    );
}

/// Three clusters of two nodes that all pull 100 MB, over a fast network.
fn daemon_set_world() -> WorldSpec {
    let mut world = bare_world(3);
    for cluster in &mut world.clusters {
        cluster.nodes = 2.into();
        cluster.downlink = rate(1e12).into();
    }
    world.applications[0].workloads[0].kind = daemon_set();
    world
}

const fn daemon_set() -> WorkloadKind {
    WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
    }
}

/// Puts all clusters into one region with this bandwidth.
fn in_region(world: &mut WorldSpec, bandwidth: f64) {
    world.regions = vec![RegionSpec {
        name: "lan".to_owned(),
        bandwidth: rate(bandwidth),
    }];
    for cluster in &mut world.clusters {
        cluster.region = Some(0);
    }
}

#[test]
fn the_bytes_that_cross_a_link_determine_whether_it_dominates() {
    let mut registry = daemon_set_world();
    registry.registry.egress = rate(10e6);
    // 6 nodes, 100 MB each, at 10 MB/s.
    assert_dominates(&registry, "registry link", 60.0);
    registry.registry.other_load = Some(OtherLoad::Constant(rate(5e6)));
    assert_dominates(&registry, "registry link", 120.0);
    let mut region = daemon_set_world();
    in_region(&mut region, 2e6);
    assert_dominates(&region, "link of region lan", 300.0);
    let mut downlinks = daemon_set_world();
    downlinks.clusters[1].downlink = rate(1e6).into();
    assert_dominates(&downlinks, "downlink of c0001", 200.0);
    let mut cards = daemon_set_world();
    cards.node.nic = rate(1e6).into();
    assert_dominates(&cards, "network card of a node of c0000 and 2 alike", 100.0);
}

#[test]
fn the_layer_that_most_nodes_pull_bounds_a_registry_that_limits_each_blob() {
    let mut world = daemon_set_world();
    world.registry.per_blob = Some(rate(20e6).into());
    world.images[0].layers = vec![layer("app", 100_000_000), layer("base", 40_000_000)];
    // 6 nodes, 100 MB each, at 20 MB/s; the 40 MB arrive beside them.
    assert_dominates(&world, "registry, one layer", 30.0);
    in_region(&mut world, 1e12);
    world.clusters[2].region = None;
    world.registry.per_blob_scope = BlobScope::Region;
    // Four nodes are in the region, two are not.
    assert_dominates(&world, "registry, one layer", 20.0);
}

/// A node fetches the layer of 100 MB from one of two registries, once, whichever image comes first.
#[test]
fn a_layer_that_two_registries_have_arrives_once_over_the_downlink() {
    let mut world = daemon_set_world();
    let other = NamedRegistry {
        name: "other".to_owned(),
        spec: world.registry.clone(),
    };
    world.registries = vec![other];
    let second = ImageSpec {
        name: "second".to_owned(),
        registry: 1,
        ..world.images[0].clone()
    };
    world.images.push(second);
    let workload = WorkloadSpec {
        name: "second".to_owned(),
        image: 1,
        ..world.applications[0].workloads[0].clone()
    };
    world.applications[0].workloads.push(workload);
    world.clusters[1].downlink = rate(1e6).into();
    assert_dominates(&world, "downlink of c0001", 200.0);
}

#[test]
fn headers_and_loss_are_in_the_bounds() {
    let mut headers = daemon_set_world();
    headers.registry.egress = rate(10e6);
    headers.registry.tcp.headers = Some(Share::new(0.2));
    assert_dominates(&headers, "registry link", 75.0);
    let mut loss = daemon_set_world();
    for cluster in &mut loss.clusters {
        cluster.rtt = fixed(SimDuration::from_millis(100));
        cluster.loss = Share::new(0.01);
    }
    // 1460 B · 1.22 / 0.1 s / sqrt(0.01) = 178,120 B/s.
    let resource = "connections of a node of c0000 and 2 alike";
    assert_dominates(&loss, resource, 100e6 / 178_120.0);
}

#[test]
fn a_burst_ends_before_the_bytes_do() {
    let mut world = daemon_set_world();
    world.registry.egress = rate(10e6);
    world.registry.burst = Some(BurstSpec {
        bytes: Bytes::new(90_000_000),
        baseline: rate(1e6),
    });
    // The burst of 90 MB above 1 MB/s lasts 10 s at 10 MB/s; the other 500 MB take 500 s.
    assert_dominates(&world, "registry link", 510.0);
}

#[test]
fn caches_mirrors_and_peers_take_bytes_from_the_links_before_them() {
    let cache = |per| {
        DistributionKind::Cache(CacheSpec {
            per,
            coalesce: Coalesce::Stream,
            egress: rate(1e12),
            ..CacheSpec::default()
        })
    };
    let mut world = daemon_set_world();
    in_region(&mut world, 2e6);
    world.distribution.kind = cache(CachePlace::Cluster);
    assert_dominates(&world, "link of region lan", 150.0);
    world.distribution.kind = cache(CachePlace::Region);
    assert_dominates(&world, "link of region lan", 50.0);
    world.distribution.kind = DistributionKind::Cells(CellSpec {
        count: 1,
        cache: Bytes::new(10_000_000_000),
        downloads: 3,
    });
    assert_dominates(&world, "link of region lan", 50.0);
    world.distribution.kind = DistributionKind::Pieces(PiecesSpec {
        timeouts: None,
        ..PiecesSpec::dragonfly(rate(1e12))
    });
    assert_dominates(&world, "link of region lan", 150.0);
    world.distribution.kind = DistributionKind::Direct;
    world.distribution.mirrors = vec![MirrorSpec {
        name: "near".to_owned(),
        region_name: "lan".to_owned(),
        region: 0,
        egress: rate(1e6),
        per_connection: None,
        rtt: SimDuration::ZERO,
        image_names: None,
        holds: vec![0],
    }];
    assert_dominates(&world, "mirror near", 600.0);
}

#[test]
fn an_update_needs_the_new_layers_and_workloads_share_them() {
    let mut world = daemon_set_world();
    world.applications[0].release = ReleaseKind::Update;
    world.registry.egress = rate(1e6);
    world.images[0].layers = vec![layer("base", 70_000_000), layer("app", 30_000_000)];
    world.images[0].previous = vec![layer("base", 70_000_000), layer("old", 30_000_000)];
    let second = ImageSpec {
        name: "side".to_owned(),
        layers: vec![
            layer("base", 70_000_000),
            layer("app", 30_000_000),
            layer("side", 10_000_000),
        ],
        ..world.images[0].clone()
    };
    world.images.push(second);
    let workload = WorkloadSpec {
        name: "side".to_owned(),
        image: 1,
        ..world.applications[0].workloads[0].clone()
    };
    world.applications[0].workloads.push(workload);
    // Each of 6 nodes pulls 30 MB that both images share, and another 10 MB.
    assert_dominates(&world, "registry link", 240.0);
}

#[test]
fn quotas_and_buckets_admit_a_part_immediately() {
    let mut quota = daemon_set_world();
    quota.registry.pull_quota = Some(PullQuota {
        pulls: 2,
        per: SimDuration::from_hours(6),
        scope: ClientScope::Account,
    });
    // There are 6 pulls, and the quota allows 2 in 6 h.
    assert_dominates(&quota, "registry, pull quota", 12.0 * 3600.0);
    quota.registry.pull_quota = Some(PullQuota {
        pulls: 1,
        per: SimDuration::from_hours(6),
        scope: ClientScope::Address,
    });
    let resource = "registry, pull quota of a cluster's address";
    assert_dominates(&quota, resource, 6.0 * 3600.0);
    let mut bucket = daemon_set_world();
    bucket.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(0.001), 30));
    // Each of 6 pulls sends these requests: challenge, tag, list, manifest, config, layer. The token request is not
    // counted.
    let needs = resource_needs(&bucket);
    assert_eq!(
        (needs[0].resource.as_str(), needs[0].amount),
        ("registry, API", NeededAmount::Requests(36))
    );
    assert_eq!(needs[0].least, SimDuration::from_secs(6_000));
    bucket.registry.api.request_limit = Some(RequestLimit {
        scope: ClientScope::Address,
        ..RequestLimit::new(PerSecond::new(0.001), 2)
    });
    // Two pulls of each cluster.
    let needs = resource_needs(&bucket);
    assert_eq!(needs[0].resource, "registry, API of a cluster's address");
    assert_eq!(needs[0].least, SimDuration::from_secs(10_000));
    bucket.registry.api.request_limit = Some(RequestLimit {
        scope: ClientScope::Node,
        ..RequestLimit::new(PerSecond::new(0.001), 2)
    });
    let needs = resource_needs(&bucket);
    assert_eq!(needs[0].resource, "registry, API of a node's address");
    assert_eq!(needs[0].least, SimDuration::from_secs(4_000));
}

#[test]
fn the_fetches_of_a_capped_cache_dominate() {
    let mut world = daemon_set_world();
    world.distribution.kind = DistributionKind::Cache(CacheSpec {
        egress: rate(1e12),
        coalesce: Coalesce::Stream,
        pull_bandwidth: Some(rate(2e6)),
        ..CacheSpec::default()
    });
    // Each cluster's cache fetches 100 MB once.
    let resource = "fetches of the cache of c0000 and 2 alike";
    assert_dominates(&world, resource, 50.0);
}

#[test]
fn unpacking_and_the_disk_dominate_slow_nodes() {
    let mut slow = daemon_set_world();
    slow.node.unpack_rate = rate(1e6).into();
    assert_dominates(&slow, "unpacking on a node of c0000 and 2 alike", 100.0);
    let mut disk = daemon_set_world();
    disk.node.disk = Some(DiskSpec {
        class: DiskClass::Emmc,
        rate: rate(1e6).into(),
        buffer: Bytes::new(1_000_000),
        ..DiskSpec::default()
    });
    let needs = resource_needs(&disk);
    assert_eq!(needs[0].resource, "disk of a node of c0000 and 2 alike");
    assert_eq!(needs[0].least, SimDuration::from_secs(99));
}

#[test]
fn a_scale_up_needs_the_time_of_a_node() {
    let mut world = bare_world(2);
    for cluster in &mut world.clusters {
        cluster.nodes = 1.into();
        cluster.autoscaling = Some(AutoscalingSpec {
            min_nodes: None,
            max_nodes: 9,
            pods_per_node: 2,
            decision: fixed(SimDuration::from_secs(5)),
            provisioning: fixed(SimDuration::from_secs(60)),
            creation: Some(NodeCreation {
                rate: PerSecond::new(0.1),
                burst: 1,
            }),
        });
    }
    world.applications[0].workloads[0].kind = WorkloadKind::Deployment {
        replicas: 5,
        max_unavailable: CountOrPercent::Count(0),
        max_surge: CountOrPercent::Count(1),
        progress_deadline: SimDuration::from_hours(1),
    };
    // Each cluster needs two nodes more, of which the second is created 10 s after the first.
    let needs = resource_needs(&world);
    assert_eq!(needs[0].resource, "new nodes of c0000 and 1 alike");
    assert_eq!(needs[0].amount, NeededAmount::Nodes(2));
    assert_eq!(needs[0].least, SimDuration::from_secs(75));
    let ready = play(&world, 1, SimDuration::from_hours(1)).ready_s()[0].expect("it ends");
    assert!((75.0..80.0).contains(&ready), "{ready}");
}

#[test]
fn a_disk_needs_space_for_both_revisions() {
    let mut world = bare_world(1);
    world.applications[0].release = ReleaseKind::Update;
    world.images[0].previous = vec![layer("old", 300_000_000)];
    world.node.disk = Some(DiskSpec {
        size: Some(Bytes::new(2_000_000_000)),
        used: Bytes::new(500_000_000).into(),
        ..DiskClass::None.spec()
    });
    let needs = resource_needs(&world);
    let space = needs.last().expect("a need of space");
    assert_eq!(space.resource, "space on a disk of c0000");
    // 500 MB are used, and each image counts compressed and unpacked: 600 and 200 MB.
    assert_eq!(space.amount, NeededAmount::Space(Bytes::new(1_300_000_000)));
}

/// Random bytes, each of which makes one decision.
struct Decisions {
    bytes: std::vec::IntoIter<u8>,
}

impl Decisions {
    /// Returns a random number below `end`.
    fn below(&mut self, end: u8) -> u8 {
        self.bytes.next().unwrap_or(0) % end
    }

    /// Returns true with probability 1 / `times`.
    fn once_in(&mut self, times: u8) -> bool {
        self.below(times) == 0
    }

    fn speed(&mut self) -> BytesPerSec {
        rate([1e5, 1e6, 1e7, 1e12][usize::from(self.below(4))])
    }
}

/// A small world.
fn random_world(mut next: Decisions) -> WorldSpec {
    let mut world = bare_world(1 + usize::from(next.below(4)));
    (world.registry.egress, world.node.nic) = (next.speed(), next.speed().into());
    world.node.unpack_rate = next.speed().into();
    let (region, cache_egress) = (next.speed(), next.speed());
    for cluster in &mut world.clusters {
        cluster.downlink = next.speed().into();
        cluster.nodes = (1 + u32::from(next.below(3))).into();
        cluster.installed = next.below(3) > 0;
        cluster.rtt = fixed(SimDuration::from_millis(u64::from(next.below(3)) * 50));
        cluster.loss = Share::new(f64::from(next.below(2)) * 0.01);
    }
    if next.once_in(2) {
        in_region(&mut world, region.get());
    }
    world.applications[0].release =
        [ReleaseKind::Update, ReleaseKind::Initial][usize::from(next.below(2))];
    random_images(&mut world, &mut next);
    world.distribution.kind = random_kind(&mut next, cache_egress);
    world.node.keep_blobs = next.once_in(2);
    if next.once_in(4) {
        world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(1.0), 10));
    }
    if next.once_in(3) && !world.regions.is_empty() {
        world.distribution.mirrors = vec![MirrorSpec {
            name: "near".to_owned(),
            region_name: "lan".to_owned(),
            region: 0,
            egress: cache_egress,
            per_connection: None,
            rtt: SimDuration::ZERO,
            image_names: None,
            holds: vec![0],
        }];
    }
    world
}

/// One or two images that share layers, with a workload each.
fn random_images(world: &mut WorldSpec, next: &mut Decisions) {
    let mut workloads = Vec::new();
    let mut images = Vec::new();
    for number in 0..=next.below(2) {
        let mut image = ImageSpec {
            name: format!("i{number}"),
            layers: vec![layer("base", 3_000_000)],
            previous: vec![layer("base", 3_000_000)],
            index: next.once_in(2),
            ..world.images[0].clone()
        };
        for name in ["a", "b", "c"] {
            if next.once_in(2) {
                image.layers.push(layer(name, 1_000_000));
            }
        }
        image.layers.push(layer(&image.name, 500_000));
        images.push(image);
        let kind = match next.below(3) {
            0 => daemon_set(),
            replicas => WorkloadKind::Deployment {
                replicas: u32::from(replicas),
                max_unavailable: CountOrPercent::Percent(25),
                max_surge: CountOrPercent::Percent(25),
                progress_deadline: SimDuration::from_secs(600),
            },
        };
        workloads.push(WorkloadSpec {
            name: format!("w{number}"),
            kind,
            image: usize::from(number),
            pull_policy: PullPolicy::IfNotPresent,
            ..world.applications[0].workloads[0].clone()
        });
    }
    (world.images, world.applications[0].workloads) = (images, workloads);
}

/// A way of distribution.
fn random_kind(next: &mut Decisions, egress: BytesPerSec) -> DistributionKind {
    let place = [CachePlace::Cluster, CachePlace::Region][usize::from(next.below(2))];
    let coalesce = [
        Coalesce::None,
        Coalesce::OwnCopy,
        Coalesce::Wait,
        Coalesce::Stream,
    ];
    match next.below(5) {
        0 => DistributionKind::Direct,
        1 => DistributionKind::Cache(CacheSpec {
            per: place,
            egress,
            coalesce: coalesce[usize::from(next.below(4))],
            ..CacheSpec::default()
        }),
        2 => DistributionKind::Cells(CellSpec {
            count: 1 + u32::from(next.below(2)),
            cache: Bytes::new(10_000_000_000),
            downloads: 3,
        }),
        3 => DistributionKind::Spegel(SpegelSpec::default()),
        _ => DistributionKind::Pieces(PiecesSpec {
            timeouts: None,
            ..PiecesSpec::dragonfly(egress)
        }),
    }
}

/// Returns the need with the largest minimum time. `None`: no resource has a limit.
fn slowest_of(world: &WorldSpec) -> Option<ResourceNeed> {
    resource_needs(world).into_iter().next()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_bound_exceeds_the_time_of_a_random_world(bytes in prop::collection::vec(any::<u8>(), 60)) {
        let world = random_world(Decisions { bytes: bytes.into_iter() });
        if let (Some(need), Some(simulated)) = (slowest_of(&world), simulated_s(&world)) {
            let bound = need.least.as_secs_f64();
            prop_assert!(bound <= simulated * (1.0 + 1e-6) + 1e-3, "{need:?}, simulated {simulated} s");
        }
    }
}
