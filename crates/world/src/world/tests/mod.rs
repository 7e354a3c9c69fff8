//! Compares the world with hand calculations, published measurements and invariants of any world.

mod applications;
mod pods;
mod random_applications;
mod releases;
mod sandbox;

use crate::world::clusters::spec::{PullPolicy, WorkloadKind, WorkloadSpec};
use crate::world::event::{Event, PullEvent, RequestEvent, WorkloadEvent};
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::runtime::spec::SlotScope;
use crate::world::nodes::spec::{DiskSpec, Requeue};
use crate::world::quantity::{CountOrPercent, DurationModel};
use crate::world::registry::request::Request;
use crate::world::registry::spec::RequestLimit;
use crate::world::spec::{ImageSpec, LayerSpec, RegionSpec, ReleaseKind, Uncompressed, WorldSpec};
use crate::world::testing::{Played, bare_world, fixed, layer, play};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration};

const DAY: SimDuration = SimDuration::from_hours(24);

fn secs(secs: f64) -> SimDuration {
    SimDuration::from_secs_f64(secs)
}

fn ready(played: &Played, cluster: usize) -> f64 {
    played.ready_s()[cluster].expect("the cluster became ready")
}

/// Returns the counts of failed pulls: `count` of one kind, and none of the others.
fn failures(kind: PullError, count: u64) -> [u64; PullError::COUNT] {
    let mut failures = [0; PullError::COUNT];
    failures[kind as usize] = count;
    failures
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= tolerance,
        "{what}: {actual}, expected {expected} within {tolerance}"
    );
}

fn deployment(replicas: u32) -> WorkloadKind {
    WorkloadKind::Deployment {
        replicas,
        max_unavailable: CountOrPercent::Percent(25),
        max_surge: CountOrPercent::Percent(25),
        progress_deadline: SimDuration::from_secs(600),
    }
}

#[test]
fn one_layer_over_one_link_takes_its_size_divided_by_the_rate() {
    let played = play(&bare_world(1), 1, DAY);
    // 100 MB at 100 MB/s take 1 s, and nothing else takes time.
    assert_near(ready(&played, 0), 1.0, 1e-6, "ready");
    assert_eq!(
        (played.totals.sent, played.totals.lost),
        (Bytes::new(100_000_000), Bytes::ZERO)
    );
}

#[test]
fn every_request_of_a_cold_pull_takes_its_round_trips() {
    let mut world = bare_world(1);
    world.clusters[0].rtt = fixed(secs(0.1));
    world.registry.api.service_time = fixed(secs(0.01));
    world.registry.token.service_time = fixed(secs(0.01));
    world.images[0].layers = vec![layer("a", 100_000_000), layer("b", 100_000_000)];
    // API host: handshake 2 RTT, then 401, HEAD, index, manifest, config, each 1 RTT + 10 ms; token host: handshake 2
    // RTT and 1 RTT + 10 ms; blob host: handshake 2 RTT and 1 RTT for the config: 2+5 + 2+1 + 2+1 = 13 RTT + 60 ms.
    // Then both layers concurrently: request 1 RTT + 10 ms and redirect 1 RTT, and 2 s for 200 MB over the shared
    // link. Requests at the registry: 2 HEAD + 2 manifests + config + 2 layers; the token request goes elsewhere.
    let whole = (true, true, 1.3 + 0.06, 7);
    // Without tokens, the 401, the token request and its connection are not needed, which saves 4 RTT + 20 ms.
    let without_tokens = (false, true, 0.9 + 0.04, 6);
    // A tag with a single manifest needs no request for a list.
    let of_one_manifest = (false, false, 0.8 + 0.03, 5);
    for (tokens, index, control, requests) in [whole, without_tokens, of_one_manifest] {
        world.registry.tokens = tokens;
        world.images[0].index = index;
        let played = play(&world, 1, DAY);
        assert_near(ready(&played, 0), control + 0.21 + 2.0, 1e-6, "ready");
        assert_eq!(played.totals.requests, requests);
    }
}

#[test]
fn layers_use_three_slots_and_are_unpacked_in_order() {
    // 10 nodes pulled random bytes, so that nothing compresses, with and without a warm registry: the means were 25.8
    // s for one layer of 1 GB and 12.4 s for four layers of 250 MB cold, and 6.0 and 4.6 s warm
    // (spegel-org/benchmark-results 645a85c). With 46 MB/s per connection cold and 500 MB/s warm, 250 MB/s of
    // unpacking, 25 ms per layer and 0.3 s in total: cold: 0.3 + 1000/46 + 0.025 + 4 = 26.06; four: three
    // concurrently, the fourth after the first: 2 * 250/46 + 1.025 + 0.3 = 12.19 s. Warm: 0.3 + 2 + 0.025 + 4 = 6.33;
    // four: 0.3 + 0.5 + 4 * 1.025 = 4.9 s.
    let cases = [
        (46e6, 1, 26.06, 25.8),
        (46e6, 4, 12.19, 12.4),
        (500e6, 1, 6.33, 6.0),
        (500e6, 4, 4.90, 4.6),
    ];
    for (connection, layers, by_hand, measured) in cases {
        let mut world = bare_world(1);
        world.clusters[0].downlink = BytesPerSec::new(1e12).into();
        world.registry.per_connection = Some(BytesPerSec::new(connection));
        world.node.unpack_rate = BytesPerSec::new(250e6).into();
        world.node.unpack_per_layer = fixed(secs(0.025));
        world.node.pull_constant = fixed(secs(0.3));
        world.images[0].layers = (0..layers)
            .map(|at| layer(&format!("l{at}"), 1_000_000_000 / layers))
            .collect();
        let played = play(&world, 1, DAY);
        assert_near(ready(&played, 0), by_hand, 0.01, "by hand");
        assert_near(ready(&played, 0), measured, 0.07 * measured, "as measured");
        assert_eq!(played.peak_downloads, layers.min(3));
    }
}

#[test]
fn an_update_fetches_and_unpacks_only_new_layers() {
    let mut world = bare_world(1);
    world.applications[0].release = ReleaseKind::Update;
    world.node.unpack_per_layer = fixed(secs(1.0));
    world.images[0].previous = vec![
        layer("base", 50_000_000),
        layer("libs", 50_000_000),
        layer("tail", 5_000_000),
    ];
    world.images[0].layers = vec![
        layer("base", 50_000_000),
        layer("app", 30_000_000),
        layer("tail", 5_000_000),
    ];
    let played = play(&world, 1, DAY);
    assert_eq!(
        played.totals.sent,
        Bytes::new(30_000_000),
        "the base is there, and so is the tail's blob"
    );
    // 30 MB take 0.3 s; then two layers are unpacked, including the upper one, because the layer below it changed.
    assert_near(ready(&played, 0), 0.3 + 2.0, 1e-6, "ready");
}

#[test]
fn discarded_blobs_are_fetched_again_when_the_layer_below_changed() {
    let mut world = bare_world(1);
    world.applications[0].release = ReleaseKind::Update;
    world.node.keep_blobs = false;
    world.images[0].previous = vec![
        layer("base", 50_000_000),
        layer("libs", 50_000_000),
        layer("tail", 5_000_000),
    ];
    world.images[0].layers = vec![
        layer("base", 50_000_000),
        layer("app", 30_000_000),
        layer("tail", 5_000_000),
    ];
    let played = play(&world, 1, DAY);
    assert_eq!(played.totals.sent, Bytes::new(35_000_000));
}

#[test]
fn clusters_share_the_egress_and_clusters_of_a_region_share_its_link() {
    let mut world = bare_world(4);
    world.registry.egress = BytesPerSec::new(200e6);
    world.regions = vec![RegionSpec {
        name: "far".to_owned(),
        bandwidth: BytesPerSec::new(20e6),
    }];
    world.clusters[0].region = Some(0);
    world.clusters[1].region = Some(0);
    let played = play(&world, 1, DAY);
    // Two clusters are behind 20 MB/s: 10 MB/s each, 10 s. The others get (200 - 20) / 2 = 90 MB/s each, 100/90 s.
    assert_near(ready(&played, 0), 10.0, 1e-6, "behind the region's link");
    assert_near(
        ready(&played, 3),
        100.0 / 90.0,
        1e-6,
        "behind the egress alone",
    );
    assert_near(played.egress_peaks.0, 200e6, 1.0, "the peak is the egress");
}

#[test]
fn with_serial_pulls_an_image_waits_for_a_slow_image() {
    let mut world = bare_world(1);
    let mut slow = world.images[0].clone();
    slow.name = "slow".to_owned();
    slow.layers = vec![layer("slow", 1_000_000_000)];
    world.images.insert(0, slow);
    let mut workload = world.applications[0].workloads[0].clone();
    workload.name = "slow".to_owned();
    world.applications[0].workloads[0].image = 1;
    world.applications[0].workloads.insert(0, workload);
    let started = |world: &WorldSpec| {
        play(world, 1, DAY)
            .times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))))
    };
    let serial = started(&world);
    assert_near(serial[0], 10.0, 1e-5, "the slow one, first in the queue");
    assert_near(serial[1], 11.0, 1e-5, "the fast one after it");
    world.node.serialize_image_pulls = Some(false);
    let parallel = started(&world);
    // Both pulls share the downlink until the fast one has its 100 MB.
    assert_near(parallel[0], 2.0, 1e-5, "the fast one");
    assert_near(parallel[1], 11.0, 1e-5, "the slow one");
}

#[test]
fn pods_above_the_kubelets_rate_fail_immediately_and_retry_after_the_back_off() {
    let mut world = bare_world(1);
    world.node.serialize_image_pulls = Some(false);
    (world.node.registry_pull_qps, world.node.registry_burst) = (5, 10);
    world.node.error_requeue = fixed(secs(10.0));
    world.applications[0].workloads[0].pull_policy = PullPolicy::Always;
    world.applications[0].workloads[0].kind = deployment(14);
    let played = play(&world, 1, DAY);
    assert_eq!(
        played.totals.failed_pulls,
        failures(PullError::KubeletRate, 4),
        "14 pulls at once, 10 of them in the burst"
    );
    assert!(ready(&played, 0) >= 10.0, "the others wait for their gate");
}

#[test]
fn one_request_above_the_limit_is_sent_five_times() {
    let mut world = bare_world(1);
    world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(0.001), 1));
    world.node.error_requeue = fixed(secs(10.0));
    let played = play(&world, 1, secs(9.0));
    // The challenge takes the only token; the next request to the API is attempted five times without a wait.
    assert_eq!(
        (played.totals.requests, played.totals.responses_429),
        (6, 5)
    );
    assert_eq!(
        played.totals.failed_pulls,
        failures(PullError::TooManyRequests, 1)
    );
}

#[test]
fn a_pod_that_always_fails_pulls_at_0_10_30_70_150_310_610_s() {
    let mut world = bare_world(1);
    world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(1e-9), 1));
    world.node.runtime.retry_429.attempts = 1;
    // The kubelet syncs every second, so only the back-offs determine the times.
    world.node.error_requeue = fixed(secs(1.0));
    let played = play(&world, 1, secs(700.0));
    let tries = played.times(|event| {
        matches!(
            event,
            Event::Request(_, Request::Challenge, RequestEvent::Arrives(_))
        )
    });
    assert_eq!(tries, [0.0, 10.0, 30.0, 70.0, 150.0, 310.0, 610.0]);
}

#[test]
fn a_broken_download_keeps_its_bytes_if_it_may_resume() {
    for (resume, what) in [(true, "resumed"), (false, "thrown away")] {
        let mut world = bare_world(200);
        world.node.runtime.resume = resume;
        world.node.error_requeue = fixed(secs(1.0));
        world.faults.pull_failure = Share::new(0.5);
        let played = play(&world, 7, DAY);
        assert!(
            played.totals.failed_pulls[2] > 100,
            "about 200 of 400 attempts break"
        );
        assert!(
            played.ready_s().iter().all(Option::is_some),
            "{what}: every started pull ends well in the end"
        );
        assert_eq!(
            played.totals.received,
            Bytes::new(200 * 100_000_000),
            "{what}"
        );
        assert_eq!(played.totals.lost == Bytes::ZERO, resume, "{what}");
    }
}

#[test]
fn data_of_a_failed_pull_is_collected_before_the_next_pull() {
    // Two layers take 10 s each, one after the other, and the deadline is 15 s: the second attempt needs the second
    // layer.
    let play_with = |collect_after: Option<SimDuration>, deadline: f64| {
        let mut world = bare_world(1);
        world.clusters[0].downlink = BytesPerSec::new(10e6).into();
        world.images[0].layers = vec![layer("base", 100_000_000), layer("shop", 100_000_000)];
        world.node.runtime.download_slots = 1;
        world.node.error_requeue = fixed(secs(1.0));
        world.node.pull_deadline = Some(secs(deadline));
        world.node.runtime.collect_after = collect_after;
        play(&world, 1, secs(200.0))
    };
    let kept = play_with(None, 15.0);
    assert_near(
        ready(&kept, 0),
        15.0 + 10.0 + 5.0,
        1e-5,
        "half of the second layer is left to fetch",
    );
    let late = play_with(Some(secs(11.0)), 15.0);
    assert_near(
        ready(&late, 0),
        30.0,
        1e-5,
        "the next attempt is earlier than the collector",
    );
    let collected = play_with(Some(secs(5.0)), 15.0);
    assert_eq!(collected.ready_s(), [None], "each attempt begins anew");
    // The first layer arrived completely and the second partly in each of five attempts at 0, 25, 60, 115 and 210 s.
    assert_eq!(collected.totals.received, Bytes::new(4 * 100_000_000));
    assert_eq!(collected.totals.lost, Bytes::new(4 * 50_000_000));
}

/// Adds a second workload like the first, with an image of these layers.
fn add_cart(world: &mut WorldSpec, layers: Vec<LayerSpec>) {
    let name = "cart".to_owned();
    world.images.push(ImageSpec {
        name: name.clone(),
        layers,
        ..world.images[0].clone()
    });
    let second = WorkloadSpec {
        name,
        image: 1,
        ..world.applications[0].workloads[0].clone()
    };
    world.applications[0].workloads.push(second);
}

#[test]
fn two_pulls_on_one_node_fetch_a_shared_layer_once() {
    for scope in [SlotScope::Node, SlotScope::Image] {
        let mut world = bare_world(1);
        world.node.serialize_image_pulls = Some(false);
        world.node.runtime.slot_scope = scope;
        world.images[0].layers = vec![layer("base", 80_000_000), layer("shop", 10_000_000)];
        add_cart(
            &mut world,
            vec![layer("base", 80_000_000), layer("cart", 10_000_000)],
        );
        let played = play(&world, 1, DAY);
        assert_eq!(played.totals.sent, Bytes::new(100_000_000), "{scope:?}");
        assert_near(ready(&played, 0), 1.0, 1e-6, "the link is never idle");
    }
}

#[test]
fn a_full_page_cache_slows_unpacking_down_to_the_disk() {
    let mut world = bare_world(1);
    world.clusters[0].downlink = BytesPerSec::new(1e12).into();
    world.node.unpack_rate = BytesPerSec::new(300e6).into();
    world.node.disk = Some(DiskSpec {
        rate: BytesPerSec::new(100e6).into(),
        buffer: Bytes::new(200_000_000),
        ..DiskSpec::default()
    });
    // There is nothing to download.
    let unpacked = |name, bytes| LayerSpec {
        uncompressed: Uncompressed::Size(Bytes::new(bytes).into()),
        ..layer(name, 1)
    };
    world.images[0].layers = vec![unpacked("a", 200_000_000), unpacked("b", 400_000_000)];
    // 300 MB are unpacked at 300 MB/s and fill the buffer with the 200 MB that the disk has not written; then 300 MB
    // at 100 MB/s.
    assert_near(
        ready(&play(&world, 1, DAY), 0),
        1.0 + 3.0,
        0.01,
        "the knee is after 300 MB",
    );
    // A layer of 100 MB arrives in no time, is synced in 1 s, and is unpacked in a third of a second.
    world.images[0].layers = vec![layer("a", 100_000_000)];
    assert_near(
        ready(&play(&world, 1, DAY), 0),
        1.0 + 1.0 / 3.0,
        0.01,
        "a download is written before it is unpacked",
    );
}

#[test]
fn an_uncompressed_layer_is_written_and_not_decompressed() {
    let mut world = bare_world(1);
    world.clusters[0].downlink = BytesPerSec::new(1e12).into();
    world.node.unpack_rate = BytesPerSec::new(50e6).into();
    world.node.disk = Some(DiskSpec {
        rate: BytesPerSec::new(100e6).into(),
        buffer: Bytes::new(200_000_000),
        ..DiskSpec::default()
    });
    let plain = LayerSpec {
        uncompressed: Uncompressed::AsSent,
        ..layer("a", 500_000_000)
    };
    // 500 MB are synced in 5 s; then the page cache accepts 200 MB of the files immediately, and the disk writes the
    // rest in 3 s.
    world.images[0].layers = vec![plain.clone()];
    assert_near(ready(&play(&world, 1, DAY), 0), 5.0 + 3.0, 0.01, "the disk");
    world.images[0].layers = vec![layer("a", 500_000_000)];
    let decompressed = ready(&play(&world, 1, DAY), 0);
    assert_near(decompressed, 5.0 + 10.0, 0.01, "50 MB/s");
    // Without a disk, unpacking has the rate of measured pulls.
    world.node.disk = None;
    world.images[0].layers = vec![plain];
    assert_near(ready(&play(&world, 1, DAY), 0), 10.0, 0.01, "no disk");
}

#[test]
fn a_layer_with_zstd_is_unpacked_at_its_own_rate() {
    let mut world = bare_world(1);
    world.clusters[0].downlink = BytesPerSec::new(1e12).into();
    world.node.unpack_rate = BytesPerSec::new(50e6).into();
    world.node.zstd_factor = 2.0;
    let zstd = LayerSpec {
        is_zstd: true,
        ..layer("a", 500_000_000)
    };
    world.images[0].layers = vec![zstd.clone()];
    assert_near(ready(&play(&world, 1, DAY), 0), 5.0, 0.01, "100 MB/s");
    world.node.disk = Some(DiskSpec {
        rate: BytesPerSec::new(50e6).into(),
        buffer: Bytes::new(100_000_000),
        ..DiskSpec::default()
    });
    // The blob is synced in 10 s. While unpacking at 100 MB/s, the buffer is full after 2 s and 200 MB; then 300 MB
    // are unpacked at 50 MB/s.
    let with_disk = ready(&play(&world, 1, DAY), 0);
    assert_near(with_disk, 10.0 + 2.0 + 6.0, 0.01, "the disk");
}

#[test]
fn a_layer_that_an_image_lists_twice_is_downloaded_once_and_unpacked_twice() {
    for scope in [SlotScope::Node, SlotScope::Image] {
        for (slots, keep_blobs) in [(1, true), (1, false), (3, true), (3, false)] {
            let mut world = bare_world(1);
            world.clusters[0].downlink = BytesPerSec::new(100e6).into();
            world.node.runtime.slot_scope = scope;
            world.node.unpack_slots = slots;
            world.node.keep_blobs = keep_blobs;
            world.node.unpack_per_layer = secs(1.0).into();
            let base = layer("base", 50_000_000);
            world.images[0].layers = vec![base.clone(), layer("app", 10_000_000), base];
            let played = play(&world, 1, DAY);
            let what = format!("{scope:?}, {slots} slots, blobs kept: {keep_blobs}");
            assert_eq!(played.totals.sent, Bytes::new(60_000_000), "{what}");
            assert_eq!(played.totals.received, Bytes::new(60_000_000), "{what}");
            let unpacked =
                played.times(|event| matches!(event, Event::Pull(_, PullEvent::Unpacked(_))));
            assert_eq!(unpacked.len(), 3, "{what}");
            assert!(played.ready_s()[0].is_some(), "{what}");
        }
    }
}

#[test]
fn a_planned_failure_aborts_the_download_of_a_layer_that_is_listed_several_times() {
    let mut world = bare_world(1);
    world.node.error_requeue = fixed(secs(1.0));
    world.faults.pull_failure = Share::ALL;
    world.images[0].layers = vec![layer("base", 1_000_000); 40];
    let played = play(&world, 1, secs(60.0));
    assert!(played.totals.pulls > 1, "an attempt is repeated");
    assert_eq!(
        played.totals.failed_pulls,
        failures(PullError::Broken, played.totals.pulls),
        "whichever layer was to break"
    );
}

#[test]
fn unpack_slots_unpack_layers_concurrently_and_commit_them_in_order() {
    let unpacked = |slots, disk| {
        let mut world = bare_world(1);
        world.node.unpack_slots = slots;
        world.node.disk = disk;
        world.node.unpack_rate = BytesPerSec::new(100e6).into();
        world.node.unpack_per_layer = secs(0.5).into();
        // There is nothing to download.
        world.images[0].layers = (0..4)
            .map(|at| LayerSpec {
                uncompressed: Uncompressed::Size(Bytes::new(100_000_000).into()),
                ..layer(&format!("l{at}"), 1)
            })
            .collect();
        ready(&play(&world, 1, DAY), 0)
    };
    assert_near(unpacked(1, None), 4.0 * 1.5, 0.01, "one after the other");
    assert_near(unpacked(2, None), 2.0 * 1.5, 0.01, "two at once");
    assert_near(unpacked(9, None), 1.5, 0.01, "all at once");
    // Two layers are unpacked concurrently, at 50 MB/s each.
    let slow = Some(DiskSpec {
        rate: BytesPerSec::new(100e6).into(),
        buffer: Bytes::ZERO,
        ..DiskSpec::default()
    });
    assert_near(unpacked(2, slow), 2.0 * 2.5, 0.01, "one disk");
}

#[test]
fn pulls_that_unpack_on_each_others_layers_all_end() {
    let mut world = bare_world(1);
    world.node.serialize_image_pulls = Some(false);
    world.node.unpack_slots = 3;
    world.node.unpack_rate = BytesPerSec::new(100e6).into();
    world.node.disk = Some(DiskSpec {
        rate: BytesPerSec::new(100e6).into(),
        buffer: Bytes::new(50_000_000),
        ..DiskSpec::default()
    });
    world.images[0].layers = vec![
        layer("a", 90_000_000),
        layer("b", 1_000_000),
        layer("c", 2_000_000),
    ];
    let longer = [&world.images[0].layers[..], &[layer("d", 1_000_000)]].concat();
    add_cart(&mut world, longer);
    let played = play(&world, 1, DAY);
    assert!(played.ready_s()[0].is_some());
    assert_eq!(
        played
            .times(|event| matches!(
                event,
                Event::Pull(_, PullEvent::Unpacked(_)) | Event::Pull(_, PullEvent::LayerWrites(_))
            ))
            .len(),
        4
    );
}

#[test]
fn an_attempt_past_its_deadline_fails_keeps_its_bytes_and_is_retried() {
    for (resume, expected, what) in [
        // 100 MB at 10 MB/s with 4 s for each attempt: 40 MB, back-off of 10 s, 40 MB, back-off of 20 s, 20 MB.
        (
            true,
            4.0 + 10.0 + 4.0 + 20.0 + 2.0,
            "it goes on where it was",
        ),
        (false, f64::NAN, "it never ends"),
    ] {
        let mut world = bare_world(1);
        world.clusters[0].downlink = BytesPerSec::new(10e6).into();
        world.node.runtime.resume = resume;
        world.node.error_requeue = fixed(secs(1.0));
        world.node.pull_deadline = Some(secs(4.0));
        let played = play(&world, 1, secs(3600.0));
        if resume {
            assert_near(ready(&played, 0), expected, 1e-5, what);
            assert_eq!(played.totals.failed_pulls, failures(PullError::Deadline, 2));
        } else {
            assert_eq!(played.ready_s(), [None], "{what}");
        }
    }
}

#[test]
fn a_deadline_keeps_unpacked_layers_and_drops_the_one_in_progress() {
    for (slots, ready_at, why) in [
        // There is nothing to download, and each of two layers takes 3 s to unpack. Each attempt has 4 s, and the
        // back-off is 10 s.
        (
            1,
            4.0 + 10.0 + 3.0,
            "the first layer stays, the second is unpacked anew",
        ),
        (2, 3.0, "both at once need no second attempt"),
    ] {
        let mut world = bare_world(1);
        world.node.error_requeue = fixed(secs(1.0));
        world.node.pull_deadline = Some(secs(4.0));
        world.node.unpack_per_layer = secs(3.0).into();
        world.node.unpack_slots = slots;
        world.images[0].layers = vec![layer("a", 1), layer("b", 1)];
        assert_near(ready(&play(&world, 1, DAY), 0), ready_at, 1e-3, why);
    }
    // If the upper layer is unpacked first, it cannot be kept, because the layer below is missing.
    let mut world = bare_world(1);
    world.node.error_requeue = fixed(secs(1.0));
    world.node.pull_deadline = Some(secs(4.0));
    world.node.unpack_rate = BytesPerSec::new(1e6).into();
    world.node.unpack_slots = 2;
    world.images[0].layers = vec![
        LayerSpec {
            uncompressed: Uncompressed::Size(Bytes::new(5_000_000).into()),
            ..layer("a", 1)
        },
        layer("b", 1_000_000),
    ];
    let played = play(&world, 1, secs(60.0));
    let unpacked = played.times(|event| matches!(event, Event::Pull(_, PullEvent::Unpacked(1))));
    assert!(unpacked.len() > 1, "again in each attempt: {unpacked:?}");
    assert_eq!(
        played.ready_s(),
        [None],
        "5 s of unpacking never fit into 4 s"
    );
}

#[test]
fn a_pull_deadline_that_is_met_has_no_effect() {
    let mut world = bare_world(1);
    let without = play(&world, 1, DAY);
    world.node.pull_deadline = Some(secs(1.1));
    let with = play(&world, 1, DAY);
    assert_eq!((with.events, with.totals), (without.events, without.totals));
}

#[test]
fn the_newer_kubelet_syncs_when_the_back_off_expires_and_at_least_once_a_minute() {
    let mut world = bare_world(1);
    world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(1e-9), 1));
    world.node.runtime.retry_429.attempts = 1;
    world.node.requeue = Requeue::AtExpiry;
    for seed in 0..50 {
        let played = play(&world, seed, secs(700.0));
        let tries = played.times(|event| {
            matches!(
                event,
                Event::Request(_, Request::Challenge, RequestEvent::Arrives(_))
            )
        });
        for (gap, gate) in tries
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .zip([10.0, 20.0, 40.0, 80.0, 160.0])
        {
            // If the back-off is above a minute, the kubelet syncs every 60-90 s, and finally after 1 to 1.5 times the
            // rest.
            let longest = if gate > 60.0 { gate + 30.0 } else { gate * 1.5 };
            assert!(
                (gate..longest).contains(&gap),
                "{gap} s after a gate of {gate} s"
            );
        }
    }
}

#[test]
fn with_ample_bandwidth_each_layer_takes_its_constant_time() {
    let time = |layers: u64| {
        let mut world = bare_world(1);
        world.node.unpack_per_layer = fixed(secs(0.025));
        world.images[0].layers = (0..layers).map(|at| layer(&format!("l{at}"), 1)).collect();
        ready(&play(&world, 1, DAY), 0)
    };
    assert_near(
        time(125) - time(9),
        116.0 * 0.025,
        1e-3,
        "125 layers against 9",
    );
}

#[test]
fn offline_clusters_are_inactive_until_they_return() {
    let mut world = bare_world(3);
    world.faults.offline.share = Share::ALL;
    assert_eq!(play(&world, 1, DAY).ready_s(), [None; 3]);
    world.faults.offline.comes_back = Some(fixed(secs(60.0)));
    let played = play(&world, 1, DAY);
    assert_near(ready(&played, 2), 61.0, 1e-6, "a minute late");
}

#[test]
fn a_cluster_draws_the_same_numbers_whatever_other_clusters_exist() {
    let mut world = bare_world(50);
    world.faults.pull_failure = Share::new(0.3);
    world.registry.api.service_time = DurationModel::LogNormal {
        median: secs(0.02),
        sigma: 0.5,
    };
    world.node.error_requeue = DurationModel::Uniform {
        min: secs(10.0),
        max: secs(15.0),
    };
    let all = play(&world, 3, DAY);
    world.clusters.drain(..25);
    let half = play(&world, 3, DAY);
    assert_eq!(
        all.ready_s()[25..],
        half.ready_s()[..],
        "no link is shared, so nobody else matters"
    );
}
