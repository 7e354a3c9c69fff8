//! Machines of a swarm never send more than their network cards, whatever they send: layers, images, or both.

use proptest::prelude::*;

use crate::world::clusters::spec::{WorkloadKind, WorkloadSpec};
use crate::world::distribution::spec::{DistributionKind, DistributionSpec, PiecesSpec};
use crate::world::quantity::CountOrPercent;
use crate::world::spec::{ImageSpec, ReleaseKind, WorldSpec};
use crate::world::testing::{Played, bare_world, layer, play};
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration};

const MB: u64 = 1_000_000;
const WEEK: SimDuration = SimDuration::from_hours(168);

fn mb(rate: f64) -> BytesPerSec {
    BytesPerSec::new(rate * 1e6)
}

/// Seeds and nodes that send 10 MB/s each, and receive as fast as others send.
fn slow_senders(seeds: u32) -> PiecesSpec {
    PiecesSpec {
        seeds,
        source_rate: None,
        seed_out: mb(10.0),
        peer_out: mb(10.0),
        peer_in: mb(1e5),
        piece: Bytes::new(1),
        connections: 2,
        effectiveness: Share::ALL,
        announce: SimDuration::ZERO,
        timeouts: None,
        seeds_have_node_cards: false,
    }
}

fn on_all_nodes(at_a_time: u32) -> WorkloadKind {
    WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(at_a_time),
        max_surge: CountOrPercent::Count(0),
    }
}

/// A fast cluster with these images, whose nodes download through this swarm. All its nodes pull every image.
fn world(nodes: u32, images: &[Vec<(String, u64)>], swarm: PiecesSpec) -> WorldSpec {
    let mut world = bare_world(1);
    world.clusters[0].nodes = nodes.into();
    world.clusters[0].downlink = mb(1e6).into();
    world.node.serialize_image_pulls = Some(false);
    let image = world.images[0].clone();
    let workload = world.applications[0].workloads[0].clone();
    world.images.clear();
    world.applications[0].workloads.clear();
    for (at, layers) in images.iter().enumerate() {
        let layers = layers.iter().map(|(digest, bytes)| layer(digest, *bytes));
        world.images.push(ImageSpec {
            name: format!("image-{at}"),
            layers: layers.collect(),
            ..image.clone()
        });
        world.applications[0].workloads.push(WorkloadSpec {
            name: format!("workload-{at}"),
            image: at,
            kind: on_all_nodes(1),
            ..workload.clone()
        });
    }
    world.distribution = DistributionSpec {
        kind: DistributionKind::Pieces(swarm),
        ..DistributionSpec::default()
    };
    world
}

/// One image with `layers` layers of 4 GB in total.
fn four_gigabytes(layers: u64) -> Vec<(String, u64)> {
    (0..layers)
        .map(|at| (format!("layer-{at}"), 4000 * MB / layers))
        .collect()
}

fn ready_s(played: &Played) -> f64 {
    played.ready_s()[0].expect("the cluster became ready")
}

#[test]
fn one_copy_leaves_the_seeds_no_faster_in_many_layers_than_in_one() {
    for layers in 1..=4 {
        let world = world(10, &[four_gigabytes(layers)], slow_senders(1));
        let took = ready_s(&play(&world, 1, WEEK));
        assert!((took - 400.0).abs() < 0.01, "{layers} layers: {took} s");
    }
}

#[test]
fn layers_share_what_the_nodes_can_send() {
    for layers in 1..=4 {
        let mut swarm = slow_senders(1);
        swarm.seed_out = mb(100.0);
        let world = world(10, &[four_gigabytes(layers)], swarm);
        let took = ready_s(&play(&world, 1, WEEK));
        // Ten copies of 4 GB leave a seed of 100 MB/s and ten nodes of 10 MB/s.
        assert!((took - 200.0).abs() < 0.01, "{layers} layers: {took} s");
    }
}

/// Nodes that cannot help while they download, and no node that is ahead of the others. Ten copies of 4 GB leave the
/// seed, however many layers a node downloads at the same time, although all nodes have the first ones already.
#[test]
fn layers_that_all_nodes_have_give_them_nothing_to_send() {
    for slots in 1..=3 {
        for layers in [1, 4, 8] {
            let mut swarm = slow_senders(1);
            swarm.effectiveness = Share::NONE;
            let mut world = world(10, &[four_gigabytes(layers)], swarm);
            world.node.runtime.download_slots = slots;
            let took = ready_s(&play(&world, 1, WEEK));
            assert!(
                (took - 4000.0).abs() < 0.1,
                "{layers} layers over {slots} slots: {took} s"
            );
        }
    }
}

#[test]
fn a_network_card_limits_what_a_node_sends() {
    let mut swarm = slow_senders(1);
    swarm.effectiveness = Share::new(0.5);
    let mut world = world(10, &[four_gigabytes(2)], swarm);
    world.node.nic = mb(5.0).into();
    // Ten copies of 4 GB leave a seed of 10 MB/s and half of ten cards of 5 MB/s.
    let took = ready_s(&play(&world, 1, WEEK));
    assert!((took - 40_000.0 / 35.0).abs() < 0.01, "{took} s");
}

#[test]
fn nodes_that_have_another_image_do_not_send_the_layers_of_this_one() {
    let mut swarm = slow_senders(1);
    swarm.seed_out = mb(100.0);
    swarm.peer_out = mb(100.0);
    swarm.effectiveness = Share::new(0.1);
    let large = vec![("a".to_owned(), 1000 * MB), ("b".to_owned(), 1000 * MB)];
    let small = vec![("c".to_owned(), 1)];
    let mut world = world(10, &[large, small], swarm);
    world.applications[0].workloads[0].kind = WorkloadKind::Deployment {
        replicas: 3,
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(1),
        progress_deadline: WEEK,
    };
    // Three copies of 2 GB leave a seed of 100 MB/s and three nodes of 10 MB/s.
    let took = ready_s(&play(&world, 1, WEEK));
    assert!((took - 6000.0 / 130.0).abs() < 0.01, "{took} s");
}

/// Layers of up to three images; some digests are in several of them.
fn images() -> impl Strategy<Value = Vec<Vec<(String, u64)>>> {
    let image = proptest::collection::btree_set(0_u64..8, 1..6);
    proptest::collection::vec(image, 1..4).prop_map(|images| {
        let mut named = Vec::new();
        for image in images {
            let layers = image.into_iter();
            named.push(
                layers
                    .map(|at| (format!("layer-{at}"), (at * at + 1) * 10 * MB))
                    .collect(),
            );
        }
        named
    })
}

/// Random swarms, and the number of nodes that pull simultaneously in an update (`None`: all of a first release).
fn swarms() -> impl Strategy<Value = (PiecesSpec, Option<u32>)> {
    let rates = (1.0..100.0, 1.0..100.0, 1.0..1000.0);
    let source = proptest::option::of(1.0..100.0);
    let numbers = (1_u32..4, 0.0..1.0, source);
    let at_a_time = proptest::option::of(1_u32..4);
    (rates, numbers, at_a_time).prop_map(|(rates, numbers, at_a_time)| {
        let swarm = PiecesSpec {
            seeds: numbers.0,
            source_rate: numbers.2.map(mb),
            seed_out: mb(rates.0),
            peer_out: mb(rates.1),
            peer_in: mb(rates.2),
            effectiveness: Share::new(numbers.1),
            ..slow_senders(1)
        };
        (swarm, at_a_time)
    })
}

/// Returns the bytes of one copy of all layers.
fn one_copy(images: &[Vec<(String, u64)>]) -> f64 {
    let mut layers: Vec<&(String, u64)> = images.iter().flatten().collect();
    layers.sort();
    layers.dedup();
    layers.iter().map(|(_, bytes)| *bytes as f64).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn machines_never_send_more_than_their_cards(
        nodes in 1_u32..9,
        images in images(),
        (swarm, at_a_time) in swarms(),
        slots in 1_u32..6,
    ) {
        let mut world = world(nodes, &images, swarm.clone());
        world.node.runtime.download_slots = slots;
        if let Some(at_a_time) = at_a_time {
            world.applications[0].release = ReleaseKind::Update;
            for workload in &mut world.applications[0].workloads {
                workload.kind = on_all_nodes(at_a_time);
            }
        }
        let played = play(&world, 1, WEEK);
        let took = ready_s(&played) + 1e-6;
        let seeds_out = f64::from(swarm.seeds) * swarm.seed_out.get();
        let peers_out = f64::from(nodes) * swarm.peer_out.get();
        let least = one_copy(&images) / seeds_out;
        prop_assert!(took >= least, "{took} s, but one copy leaves the seeds in {least} s");
        let sent = played.totals.from_peers.get() as f64;
        let most = (seeds_out + peers_out) * took;
        prop_assert!(sent <= most + 1.0, "{sent} bytes in {took} s, but at most {most}");
    }
}
