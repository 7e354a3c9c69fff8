//! Behaviour that the model must show with its defaults: one test for each of eight statements.

use std::path::Path;

use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;
use fleetsim::units::{Bytes, BytesPerSec, PerSecond, SimDuration};
use fleetsim::world::{
    CountOrPercent, DurationModel, Event, PullError, Request, RequestEvent, RequestLimit,
    RuntimeSpec, Totals, WorkloadEvent, WorkloadKind, WorldSpec,
};

use super::worlds::{DAY, Played, Way, defaults, layers, play, secs, set_clusters, way};

/// One workload for each image, each image with one layer of `megabytes`.
fn set_images(world: &mut WorldSpec, megabytes: &[u64]) {
    let (image, workload) = (
        world.images.remove(0),
        world.applications[0].workloads.remove(0),
    );
    for (at, mb) in megabytes.iter().enumerate() {
        let (mut image, mut workload) = (image.clone(), workload.clone());
        image.name = format!("i{at}");
        image.layers = layers(&image.name, 1, mb * 1_000_000, mb * 2_600_000);
        workload.name.clone_from(&image.name);
        workload.image = at;
        world.images.push(image);
        world.applications[0].workloads.push(workload);
    }
}

fn pull_s(played: &Played) -> f64 {
    played.pull_s()[0]
}

#[test]
fn a_serial_kubelet_and_one_slow_image_delay_every_other_image_on_the_node() {
    let mut world = defaults();
    world.clusters[0].downlink = BytesPerSec::from_mbit(100.0).into();
    set_images(&mut world, &[1_000, 10, 10, 10]);
    let started = |world: &WorldSpec| {
        play(world, 1, DAY)
            .times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))))
    };
    let serial = started(&world);
    assert!(
        serial.iter().all(|started| *started > 80.0),
        "1 GB over 100 Mbit/s comes first: {serial:?}"
    );
    world.node.serialize_image_pulls = Some(false);
    let parallel = started(&world);
    assert_eq!(
        parallel.iter().filter(|started| **started < 15.0).count(),
        3,
        "{parallel:?}"
    );
}

#[test]
fn more_than_ten_parallel_image_pulls_fail_partly_and_are_retried_after_ten_seconds() {
    let mut world = defaults();
    // All pods ask at the same instant.
    world.node.sandbox = SimDuration::ZERO.into();
    world.node.serialize_image_pulls = Some(false);
    set_images(&mut world, &[10; 14]);
    let played = play(&world, 1, DAY);
    assert_eq!(
        played.totals.failed_pulls[PullError::KubeletRate as usize],
        4,
        "five a second, a burst of ten"
    );
    let late: Vec<f64> = played.pulls[10..]
        .iter()
        .map(|pull| pull.began.as_secs_f64())
        .collect();
    assert!(
        late.len() == 4 && late.iter().all(|began| (10.0..=15.0).contains(began)),
        "{late:?}"
    );
    assert!(played.deployments[0].ready.is_some());
}

#[test]
fn requests_above_a_limit_are_multiplied_by_five_or_six_and_stay_in_phase() {
    let versions = [
        ("containerd 2.4", RuntimeSpec::CONTAINERD_2_4, 5),
        ("containerd 2.1", RuntimeSpec::CONTAINERD_2_1, 6),
        ("containerd 2.0", RuntimeSpec::CONTAINERD_2_0, 6),
        ("containerd 1.7", RuntimeSpec::CONTAINERD_1_7, 6),
    ];
    println!("\nA limit of 10 requests/s and 400 nodes, in 5 min");
    println!(
        "  {:14} {:>12} {:>16} {:>9}",
        "", "failed pulls", "429 for each", "requests"
    );
    for (version, runtime, attempts) in versions {
        let mut world = defaults();
        // All pods ask at the same instant.
        world.node.sandbox = SimDuration::ZERO.into();
        set_clusters(&mut world, 400);
        world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(10.0), 10));
        world.node.runtime = runtime;
        let played = play(&world, 1, secs(300.0));
        let failed = played.totals.failed_pulls[PullError::TooManyRequests as usize];
        let for_each = played.totals.responses_429 as f64 / failed as f64;
        println!("  {version:14} {failed:12} {for_each:16.2} {attempts:9}");
        assert!(
            (for_each / f64::from(attempts) - 1.0).abs() < 0.05,
            "{for_each}"
        );
        // Because the kubelet polls, a back-off of 10 s ends after 10-15 s, one of 20 s after 20-30 s, and one of 40 s
        // after 40-60 s.
        let tries = played.times(|event| {
            matches!(
                event,
                Event::Request(_, Request::Challenge, RequestEvent::Arrives(_))
            )
        });
        let within =
            |from: f64, to: f64| tries.iter().filter(|at| (from..to).contains(*at)).count();
        assert!(within(0.0, 1.0) > 400 && within(10.0, 16.0) > 300 && within(30.0, 46.0) > 300);
        assert_eq!(
            (within(1.0, 10.0), within(16.0, 30.0), within(46.5, 69.0)),
            (0, 0, 0),
            "silence in between"
        );
    }
}

/// The cost of a rollout that updates `at_once` of ten nodes at a time, in copies of the image's 100 MB.
fn copies(by: Way, at_once: u32, of: impl Fn(&Totals) -> Bytes) -> u64 {
    let mut world = way(by);
    let max_unavailable = CountOrPercent::Count(at_once);
    world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable,
        max_surge: CountOrPercent::Count(0),
    };
    let played = play(&world, 1, DAY);
    assert_eq!(played.totals.received, Bytes::new(10 * 100_000_000));
    of(&played.totals).get() / 100_000_000
}

/// The model's own tests (`world/delivery/tests.rs`) have more cases, computed by hand byte by byte.
#[test]
fn a_cold_pull_through_cache_multiplies_upstream_bytes_by_the_requests_within_one_download() {
    for at_once in [1, 2, 5, 10] {
        let upstream = |by| copies(by, at_once, |totals| totals.upstream);
        assert_eq!(
            upstream(Way::Cache),
            u64::from(at_once),
            "each of the first {at_once} fetches its own copy"
        );
        assert_eq!(upstream(Way::CacheStream), 1, "requests that share a copy");
    }
}

#[test]
fn spegel_helps_a_rollout_only_from_the_second_wave() {
    for at_once in [1, 2, 5, 10] {
        let from_registry = copies(Way::Spegel, at_once, |totals| totals.sent);
        let from_peers = copies(Way::Spegel, at_once, |totals| totals.from_peers);
        assert_eq!(
            (from_registry, from_peers),
            (u64::from(at_once), u64::from(10 - at_once))
        );
    }
}

#[test]
fn with_ample_bandwidth_layers_take_12_ms_and_unpacking_dominates_above_200_mb_per_s() {
    let time = |count: u64, compressed: u64, uncompressed: u64, downlink_mbit: f64| {
        let mut world = defaults();
        world.node.unpack_spread = 0.0;
        world.node.unpack_rate = BytesPerSec::new(200e6).into();
        world.node.disk = None;
        // The requests of layers, three at a time, may take as long as their unpacking.
        world.registry.api.service_time = SimDuration::ZERO.into();
        world.clusters[0].downlink = BytesPerSec::from_mbit(downlink_mbit).into();
        world.images[0].layers = layers("image", count, compressed, uncompressed);
        pull_s(&play(&world, 1, DAY))
    };
    let per_layer = (time(125, 1_000_000, 1_000_000, 10_000.0)
        - time(9, 1_000_000, 1_000_000, 10_000.0))
        / 116.0;
    assert!((per_layer - 0.012).abs() < 0.001, "{per_layer} s a layer");
    // The image has 1 GB on disk, and 385 MB over the wire. 100 Mbit/s delivers 32 MB/s uncompressed, 1 Gbit/s 325
    // MB/s, which is above the 200 MB/s of unpacking. So a tenfold increase helps little, while a tenfold decrease has
    // its full effect.
    let [slow, fast, faster] =
        [100.0, 1_000.0, 10_000.0].map(|mbit| time(9, 385_000_000, 1_000_000_000, mbit));
    assert!(slow > 30.8 && fast < 8.0, "{slow} s, {fast} s");
    assert!(
        faster > 0.85 * fast && faster > 5.0,
        "{fast} s, {faster} s: 5 s are unpacking"
    );
}

#[test]
fn max_unavailable_changes_the_peak_almost_linearly_but_not_the_bytes() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/validation/base/pacing.yaml");
    let experiment = load(&path, &Overrides::default()).expect("a good experiment");
    let runs: Vec<_> = experiment
        .variants
        .iter()
        .map(|variant| {
            sim::run(variant, 1, 0)
                .expect("the strategy starts no process")
                .run
        })
        .collect();
    for (limit, run) in [5.0, 10.0, 20.0, 40.0].iter().zip(&runs) {
        let ratio = run.peak_pulls as f64 / limit;
        assert!(
            (0.8..=1.0).contains(&ratio),
            "{limit} clusters: {} pulls at once",
            run.peak_pulls
        );
        assert_eq!(run.egress_bytes, runs[0].egress_bytes);
    }
}

#[test]
fn if_pulls_always_fail_only_six_attempts_fit_into_the_progress_deadline() {
    let mut world = defaults();
    set_clusters(&mut world, 200);
    // With this limit, the registry rejects every request.
    world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(1e-9), 1));
    world.registry.api.service_time = DurationModel::Constant(SimDuration::ZERO);
    world.registry.token.service_time = DurationModel::Constant(SimDuration::ZERO);
    let played = play(&world, 1, secs(600.0));
    for (at, facts) in played.facts.iter().enumerate() {
        let ready = played.deployments[at].ready;
        assert_eq!((facts.pulls, ready), (6, None), "pod {at}");
        assert_eq!(facts.received, Bytes::ZERO);
    }
}
