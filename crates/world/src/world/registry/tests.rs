//! The registry's limits and outages, compared with hand calculations, and one measured server.

use crate::world::clusters::spec::{WorkloadKind, WorkloadSpec};
use crate::world::event::Event;
use crate::world::meter::TotalsWithOthers;
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::runtime::spec::RuntimeSpec;
use crate::world::nodes::spec::NodeSpec;
use crate::world::quantity::CountOrPercent;
use crate::world::registry::load_spec::{BurstSpec, DailyLoad, LoadSeries, OtherLoad, OtherPulls};
use crate::world::registry::spec::{
    ClientScope, ConnectionLimit, Excess, OverloadSpec, PullQuota, RegistryPreset, RequestLimit,
    WindowSpec,
};
use crate::world::spec::{ImageSpec, NamedRegistry, WorldSpec};
use crate::world::testing::{Played, bare_world, fixed, layer, play};
use fleetsim_units::{Bytes, BytesPerSec, PerSecond, Share, SimDuration};

const DAY: SimDuration = SimDuration::from_hours(24);

fn secs(secs: f64) -> SimDuration {
    SimDuration::from_secs_f64(secs)
}

#[track_caller]
fn assert_ready(played: &Played, expected: &[f64], what: &str) {
    let ready: Vec<f64> = played
        .ready_s()
        .into_iter()
        .map(|at| at.expect("the cluster became ready"))
        .collect();
    assert_eq!(ready.len(), expected.len());
    for (ready, expected) in ready.iter().zip(expected) {
        assert!(
            (ready - expected).abs() < 1e-5,
            "{what}: {ready}, expected {expected}"
        );
    }
}

/// Creates a cluster behind 100 MB/s of egress, and a registry with an outage or brownout.
fn troubled(from: f64, span: f64, trouble: WindowSpec) -> WorldSpec {
    let mut world = bare_world(1);
    world.registry.egress = BytesPerSec::new(100e6);
    world.node.error_requeue = fixed(secs(1.0));
    world.registry.windows = vec![WindowSpec {
        from: secs(from),
        span: secs(span),
        ..trouble
    }];
    world
}

const DOWN: WindowSpec = WindowSpec {
    from: SimDuration::ZERO,
    span: SimDuration::ZERO,
    down: true,
    egress: Share::ALL,
    requests: Share::ALL,
};

fn brownout(egress: f64, requests: f64) -> WindowSpec {
    WindowSpec {
        down: false,
        egress: Share::new(egress),
        requests: Share::new(requests),
        ..DOWN
    }
}

#[test]
fn a_brownout_slows_transfers_and_loses_no_bytes() {
    let played = play(&troubled(0.5, 1.0, brownout(0.1, 1.0)), 1, DAY);
    // 50 MB in 0.5 s, 10 MB in the following second at 10 MB/s, and the other 40 MB in 0.4 s.
    assert_ready(&played, &[1.9], "brownout");
    assert_eq!(
        (played.totals.sent, played.totals.lost),
        (Bytes::new(100_000_000), Bytes::ZERO)
    );
}

#[test]
fn a_run_does_not_wait_for_a_fault_window_without_pulls() {
    let played = play(&troubled(3600.0, 60.0, DOWN), 1, DAY);
    assert_ready(&played, &[1.0], "long before");
    assert_eq!(
        played.times(|event| matches!(event, Event::RegistryWindow { .. })),
        [0.0_f64; 0],
        "the run is over"
    );
}

#[test]
fn in_a_brownout_requests_are_served_more_slowly() {
    let mut world = troubled(0.0, 3600.0, brownout(1.0, 0.5));
    world.registry.api.service_time = fixed(secs(0.1));
    world.registry.token.service_time = fixed(secs(0.1));
    // Six requests to the API and one for the token take 0.2 s each instead of 0.1 s; then the bytes take 1 s.
    assert_ready(&play(&world, 1, DAY), &[7.0 * 0.2 + 1.0], "half the rate");
}

#[test]
fn a_short_registry_outage_only_delays_pulls() {
    let played = play(&troubled(0.4, 100.0, DOWN), 1, DAY);
    assert_ready(&played, &[101.0], "it stands still for 100 s");
    assert_eq!(played.totals.failed_pulls, [0; PullError::COUNT]);
    // The bytes take a second in total, before and after the outage.
    assert!(
        (played.busy_s - 1.0).abs() < 1e-6,
        "an egress that is down is not busy: {} s",
        played.busy_s
    );
}

#[test]
fn an_outage_cancels_pulls_after_five_minutes_and_the_next_attempt_continues() {
    let played = play(&troubled(0.4, 400.0, DOWN), 1, DAY);
    // 40 MB have arrived when transfers stall at 0.4 s. The pull is cancelled at 300.4 s, and retried 10 s later. Each
    // request then waits 30 s for a connection: until 340.4, 370.45 and 400.5 s. The registry has recovered at 400.4
    // s, so the fourth request, at 400.55 s, is answered immediately, and the other 60 MB take 0.6 s.
    assert_ready(&played, &[401.15], "resumed");
    assert_eq!(
        played.totals.failed_pulls[PullError::NoProgress as usize],
        1
    );
    assert_eq!(
        (
            played.totals.timeouts,
            played.totals.failed_pulls.iter().sum::<u64>()
        ),
        (3, 1)
    );
    assert_eq!(
        (played.totals.sent, played.totals.lost),
        (Bytes::new(100_000_000), Bytes::ZERO)
    );
}

#[test]
fn a_runtime_without_a_timeout_waits_indefinitely() {
    let mut world = troubled(0.4, 4000.0, DOWN);
    world.node.runtime = RuntimeSpec::CRI_O;
    let played = play(&world, 1, DAY);
    assert_ready(&played, &[4001.0], "CRI-O");
    assert_eq!(played.totals.failed_pulls, [0; PullError::COUNT]);
}

#[test]
fn without_egress_requests_get_responses_but_no_bytes() {
    let mut world = troubled(0.0, 100.0, brownout(0.0, 1.0));
    world.node.runtime = RuntimeSpec::CONTAINERD_1_7;
    let played = play(&world, 1, DAY);
    // The first attempt is cancelled after 60 s, the second begins at 70 s and waits until 100 s.
    assert_ready(&played, &[101.0], "no egress");
    assert_eq!(
        played.totals.failed_pulls[PullError::NoProgress as usize],
        1
    );
    assert_eq!(played.totals.timeouts, 0);
}

#[test]
fn blobs_that_wait_for_a_connection_arrive_one_after_another() {
    let limit = Some(ConnectionLimit {
        max: 1,
        excess: Excess::Queue,
    });
    let mut world = bare_world(3);
    world.registry.blobs.host.connections = limit;
    let redirected = play(&world, 1, DAY);
    assert_ready(
        &redirected,
        &[1.0, 2.0, 3.0],
        "one at a time, first come first served",
    );
    assert_eq!(redirected.peak_downloads, 1);
    let mut world = bare_world(3);
    world.registry.blobs.redirect = false;
    world.registry.api.connections = limit;
    assert_eq!(
        play(&world, 1, DAY).peak_downloads,
        1,
        "without a redirect the API's connection lasts as long"
    );
}

#[test]
fn a_refused_connection_is_retried_once_and_then_the_pull_fails() {
    let mut world = bare_world(2);
    world.node.error_requeue = fixed(secs(1.0));
    world.registry.blobs.host.connections = Some(ConnectionLimit {
        max: 1,
        excess: Excess::Refuse,
    });
    // The second cluster is 50 ms away, so its requests arrive while the first cluster's layer is sent.
    world.clusters[1].rtt = secs(0.05).into();
    let played = play(&world, 1, DAY);
    // The second cluster's first request to the blob host, for the config, arrives after 12.5 round trips, 0.65 s, and
    // is refused; it is refused again after two more round trips. The next attempt starts 10 s later.
    assert_eq!(played.totals.responses_503, 2);
    assert_eq!(
        played.totals.failed_pulls[PullError::Unavailable as usize],
        1
    );
    assert!(
        played.ready_s()[1].is_some_and(|at| at > 11.0 && at < 13.0),
        "{:?}",
        played.ready_s()
    );
}

#[test]
fn without_a_redirect_blobs_need_one_round_trip_less() {
    let mut world = bare_world(1);
    world.clusters[0].rtt = secs(0.1).into();
    world.registry.blobs.redirect = false;
    // Round trips: for the API, 2 to connect, and 401, HEAD, index, manifest, config and layer; for the token, 2 + 1.
    // These are 11, and the bytes take 1 s.
    assert_ready(&play(&world, 1, DAY), &[2.1], "no blob host");
}

#[test]
fn too_many_concurrent_blobs_reduce_the_egress() {
    let mut world = bare_world(4);
    world.registry.egress = BytesPerSec::new(200e6);
    world.registry.blobs.overload = Some(OverloadSpec {
        connections: 2,
        floor: Share::new(0.2),
    });
    // Four concurrent downloads leave 2/4 of 200 MB/s: 400 MB in 4 s, which all end together.
    assert_ready(&play(&world, 1, DAY), &[4.0; 4], "half the egress");
}

#[test]
fn a_pull_quota_refuses_further_pulls_until_its_window_has_passed() {
    let mut world = bare_world(2);
    world.node.error_requeue = fixed(secs(1.0));
    world.registry.pull_quota = Some(PullQuota {
        pulls: 1,
        per: secs(100.0),
        scope: ClientScope::Account,
    });
    let played = play(&world, 1, DAY);
    // The second cluster tries at 0, 10, 30, 70 and 150 s; only then the first pull is older than 100 s.
    assert_ready(&played, &[1.0, 151.0], "one in 100 s");
    assert_eq!(
        played.totals.failed_pulls[PullError::TooManyRequests as usize],
        4
    );
    assert_eq!(played.totals.responses_429, 20, "five tries each");
}

/// Two clusters of two nodes that each send six requests. Nodes that are refused try again at different times.
fn limited_by_address(scope: ClientScope, burst: u32) -> (Vec<f64>, u64) {
    let mut world = bare_world(2);
    for cluster in &mut world.clusters {
        cluster.nodes = 2.into();
    }
    world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
    };
    world.images[0].layers = vec![layer("app", 1)];
    world.node.error_requeue = NodeSpec::default().error_requeue;
    world.registry.api.request_limit = Some(RequestLimit {
        scope,
        ..RequestLimit::new(PerSecond::new(0.1), burst)
    });
    let played = play(&world, 1, DAY);
    let ready = played.ready_s().into_iter().flatten().collect();
    (ready, played.totals.responses_429)
}

#[test]
fn a_limit_for_each_address_binds_only_where_one_address_sends_more() {
    // A node sends challenge, tag, index, manifest, config and layer: 12 requests from a cluster, 24 in all.
    assert_eq!(limited_by_address(ClientScope::Address, 12).1, 0);
    assert_eq!(limited_by_address(ClientScope::Node, 6).1, 0);
    assert_eq!(limited_by_address(ClientScope::Account, 24).1, 0);
    // The requests beyond a burst of 8 wait for a token each, at one in 10 s.
    for (scope, beyond) in [(ClientScope::Address, 4.0), (ClientScope::Account, 16.0)] {
        let (ready, refused) = limited_by_address(scope, 8);
        assert!(refused > 0, "{scope:?}");
        assert_eq!(ready.len(), 2, "{scope:?}");
        let last = ready.into_iter().fold(0.0, f64::max);
        assert!(last >= beyond * 10.0, "{scope:?}: {last}");
    }
    assert_eq!(limited_by_address(ClientScope::Node, 8).1, 0);
}

#[test]
fn a_server_with_n_workers_answers_n_requests_per_service_time() {
    let mut world = bare_world(100);
    world.registry.api.workers = Some(5);
    world.registry.api.service_time = fixed(secs(0.05));
    world.images[0].layers = vec![layer("app", 1)];
    let played = play(&world, 1, DAY);
    // 100 pulls of 6 requests at 5 / 0.05 s = 100 per second take 6 s; the last cluster is ready after the last
    // request.
    let last = played.ready_s().into_iter().flatten().fold(0.0, f64::max);
    assert!((last - 6.0).abs() < 1e-3, "{last}");
}

#[test]
fn the_preset_of_a_small_harbor_is_as_fast_as_measured() {
    let mut world = bare_world(500);
    world.registry = RegistryPreset::HarborSmall.spec();
    world.images[0].layers = vec![layer("first", 10 << 20)];
    world.images.push(ImageSpec {
        name: "again".to_owned(),
        layers: vec![layer("second", 10 << 20)],
        ..world.images[0].clone()
    });
    let second = WorkloadSpec {
        name: "again".to_owned(),
        image: 1,
        ..world.applications[0].workloads[0].clone()
    };
    world.applications[0].workloads.push(second);
    let played = play(&world, 1, DAY);
    assert_eq!((played.totals.pulls, played.peak_pulls), (1000, 500));
    let last = played.ready_s().into_iter().flatten().fold(0.0, f64::max);
    // 1,000 pulls of 10 MiB, 500 concurrently, took 151.2 s each on average (goharbor/harbor#12540), which is 3.31
    // pulls per second.
    let measured = 500.0 / 151.2;
    assert!(
        (1000.0 / last - measured).abs() < 0.06 * measured,
        "{} pulls a second",
        1000.0 / last
    );
}

#[test]
fn every_preset_serves_a_pull() {
    use RegistryPreset as Preset;
    for preset in [
        Preset::AcrBasic,
        Preset::AcrStandard,
        Preset::AcrPremium,
        Preset::Ecr,
        Preset::ArtifactRegistry,
        Preset::DockerHubAnonymous,
        Preset::DockerHubSignedIn,
        Preset::Ghcr,
        Preset::Quay,
        Preset::DistributionS3,
        Preset::HarborSmall,
    ] {
        let mut world = bare_world(1);
        world.registry = preset.spec();
        let played = play(&world, 1, DAY);
        assert!(played.ready_s()[0].is_some(), "{preset:?}");
        assert_eq!(
            played.totals.failed_pulls,
            [0; PullError::COUNT],
            "{preset:?}"
        );
    }
}

/// Creates a cluster behind 100 MB/s of egress, with a bucket of 50 MB above a baseline of 10 MB/s.
fn with_burst() -> WorldSpec {
    let mut world = bare_world(1);
    world.registry.egress = BytesPerSec::new(100e6);
    world.registry.burst = Some(BurstSpec {
        bytes: Bytes::new(50_000_000),
        baseline: BytesPerSec::new(10e6),
    });
    world
}

#[test]
fn a_registry_sends_its_burst_and_then_the_baseline() {
    // All bytes are from the bucket or the baseline: 100 MB = 50 MB + 10 MB/s · 5 s.
    assert_ready(&play(&with_burst(), 1, DAY), &[5.0], "burst and baseline");
    // A link of 10 MB/s does not use the bucket.
    let mut world = with_burst();
    world.clusters[0].downlink = BytesPerSec::new(10e6).into();
    assert_ready(&play(&world, 1, DAY), &[10.0], "at the baseline");
    // Two clusters share the bucket: 200 MB = 50 MB + 10 MB/s · 15 s.
    let mut world = with_burst();
    world
        .clusters
        .push(crate::world::clusters::spec::ClusterSpec {
            name: "other".into(),
            ..world.clusters[0].clone()
        });
    assert_ready(&play(&world, 1, DAY), &[15.0, 15.0], "shared");
}

#[test]
fn a_burst_is_refilled_by_unused_baseline_bandwidth() {
    let mut world = with_burst();
    // The first layer, 50 MB, is sent at 50 MB/s, which takes 40 of the 50 MB from the bucket in 1 s. While it is
    // unpacked for 3 s, the bucket is refilled with 30 MB. The second layer, 100 MB at 50 MB/s, takes 40 MB/s from the
    // bucket, so its 40 MB last for 1 s. The other 50 MB are sent at 10 MB/s.
    world.clusters[0].downlink = BytesPerSec::new(50e6).into();
    world.images[0].layers = vec![layer("first", 50_000_000)];
    world.node.pull_constant = fixed(secs(0.0));
    world.images.push(ImageSpec {
        name: "second".into(),
        layers: vec![layer("second", 100_000_000)],
        ..world.images[0].clone()
    });
    let second = WorkloadSpec {
        name: "second".into(),
        image: 1,
        ..world.applications[0].workloads[0].clone()
    };
    world.applications[0].workloads.push(second);
    world.node.unpack_per_layer = fixed(secs(3.0));
    // 1 + 3 + 1 + 5 s, and 3 s to unpack the second layer.
    assert_ready(&play(&world, 1, DAY), &[13.0], "refilled");
}

#[test]
fn both_solvers_apply_a_burst() {
    // With a second registry, transfers from it use links other than a link and its ancestors, so the general solver
    // is used.
    let mut world = with_burst();
    world.registries = vec![NamedRegistry {
        name: "other".into(),
        spec: world.registry.clone(),
    }];
    world.images[0].registry = 1;
    assert_ready(&play(&world, 1, DAY), &[5.0], "from the second registry");
}

#[test]
fn the_lower_rate_of_a_burst_and_a_brownout_applies() {
    let mut world = with_burst();
    world.registry.windows = vec![WindowSpec {
        from: secs(0.0),
        span: secs(2.0),
        ..brownout(0.05, 1.0)
    }];
    // 5 MB/s for 2 s, during which the bucket stays full; then 90 MB = 50 MB + 10 MB/s · 4 s.
    assert_ready(&play(&world, 1, DAY), &[6.0], "brownout first");
    // A brownout above the baseline: 20 MB/s, of which 10 MB/s are taken from the bucket. After 2 s the bucket has 30
    // MB, and 60 MB of the image remain: 60 = 30 + 10 · 3.
    world.registry.windows[0].egress = Share::new(0.2);
    assert_ready(&play(&world, 1, DAY), &[5.0], "brownout above the baseline");
}

#[test]
fn a_steady_load_of_other_clients_leaves_the_remaining_egress() {
    let mut world = bare_world(1);
    world.registry.egress = BytesPerSec::new(100e6);
    world.registry.other_load = Some(OtherLoad::Constant(BytesPerSec::new(75e6)));
    assert_ready(&play(&world, 1, DAY), &[4.0], "a quarter of the egress");
    // With a burst, the load of others uses the bucket: 100 MB/s in total, of which 90 MB/s are taken from the bucket,
    // for 50/90 s. Then the fleet has a quarter of 10 MB/s: 100 MB - 25 · 5/9 MB at 2.5 MB/s.
    world.registry.burst = with_burst().registry.burst;
    let expected = 5.0 / 9.0 + (100.0 - 25.0 * 5.0 / 9.0) / 2.5;
    assert_ready(&play(&world, 1, DAY), &[expected], "with a burst");
}

#[test]
fn a_daily_load_follows_the_time_of_day() {
    let mut world = bare_world(1);
    world.registry.egress = BytesPerSec::new(100e6);
    let rates = vec![BytesPerSec::ZERO, BytesPerSec::new(90e6)];
    // The run starts 4 s before noon, when the load begins.
    let starts = secs(12.0 * 3600.0 - 4.0);
    world.images[0].layers = vec![layer("app", 500_000_000)];
    world.clusters[0].downlink = BytesPerSec::new(1e9).into();
    world.registry.other_load = Some(OtherLoad::Daily(DailyLoad { rates, starts }));
    // 400 MB take 4 s, and 100 MB at 10 MB/s take 10 s.
    assert_ready(&play(&world, 1, DAY), &[14.0], "from noon on");
}

#[test]
fn a_recorded_load_is_followed_and_does_not_keep_a_run_from_ending() {
    let mut world = bare_world(1);
    world.registry.egress = BytesPerSec::new(100e6);
    let steps = vec![
        (secs(0.0), BytesPerSec::new(50e6)),
        (secs(1.0), BytesPerSec::ZERO),
        (secs(9e3), BytesPerSec::ZERO),
    ];
    let series = LoadSeries {
        file: String::new(),
        column: None,
        steps,
    };
    world.registry.other_load = Some(OtherLoad::Series(series));
    let played = play(&world, 1, DAY);
    assert_ready(&played, &[1.5], "50 MB/s for a second, then all");
    let later = |event: &Event| matches!(event, Event::RegistryLoad { .. });
    assert_eq!(
        played.times(later),
        [1.0],
        "the run is over before the last step"
    );
}

#[test]
fn pulls_of_other_clients_share_the_egress_and_are_not_counted() {
    let mut world = bare_world(1);
    world.registry.egress = BytesPerSec::new(500e6);
    world.clusters[0].downlink = BytesPerSec::new(1e9).into();
    world.images[0].layers = vec![layer("app", 5_000_000_000)];
    let alone = play(&world, 1, DAY);
    assert_ready(&alone, &[10.0], "alone");
    let pulls = |rate: f64| OtherPulls {
        rate: PerSecond::new(rate),
        downlink: BytesPerSec::new(1e9),
    };
    world.registry.other_load = Some(OtherLoad::Pulls(pulls(1.0)));
    let played = play(&world, 1, DAY);
    let ready = played.ready_s()[0].expect("it became ready");
    // The other clients request about half of the egress, over three connections per pull.
    assert!((11.0..25.0).contains(&ready), "{ready}");
    assert_eq!(
        played.totals.sent, alone.totals.sent,
        "bytes of others are not those of the fleet"
    );
    assert_eq!(played.totals.pulls, 1);
    assert!(played.egress_peaks.0 <= 500e6);
    // Extremely rare pulls have no effect, and do not keep the run alive.
    world.registry.other_load = Some(OtherLoad::Pulls(pulls(1e-9)));
    assert_ready(&play(&world, 1, DAY), &[10.0], "nobody else comes");
}

#[test]
fn the_load_of_other_clients_is_counted_while_the_fleet_pulls_nothing() {
    let mut world = bare_world(1);
    // The cluster's own pull takes 1 s at 1 MB/s, and its container takes hundreds of seconds to start.
    world.images[0].layers = vec![layer("app", 1_000_000)];
    world.clusters[0].downlink = BytesPerSec::new(1e6).into();
    world.node.start_overhead = fixed(secs(599.0));
    let alone = play(&world, 1, DAY).ready_s()[0].expect("it became ready");
    assert!(alone > 300.0, "{alone}");
    let with = |load: OtherLoad| {
        let mut world = world.clone();
        world.registry.other_load = Some(load);
        let played = play(&world, 1, DAY);
        assert_ready(&played, &[alone], "as without others");
        let TotalsWithOthers {
            peak_second: peak,
            other_bytes: bytes,
            ..
        } = played.with_others;
        ((peak / 1e6).round() as u64, bytes / 1e6)
    };
    let (peak, sent) = with(OtherLoad::Constant(BytesPerSec::new(1e6)));
    assert!(
        peak == 2 && (sent - alone).abs() < 1e-4,
        "1 MB/s all the time, and 1 MB/s of its own: {peak}, {sent}"
    );
    let steps = [(0.0, 0.0), (100.0, 6e6), (200.0, 0.0)];
    let steps = steps
        .map(|(at, rate)| (secs(at), BytesPerSec::new(rate)))
        .to_vec();
    let (peak, sent) = with(OtherLoad::Series(LoadSeries {
        file: String::new(),
        column: None,
        steps,
    }));
    assert!(
        peak == 6 && (sent - 600.0).abs() < 1e-6,
        "6 MB/s from 100 to 200 s: {peak}, {sent}"
    );
    let pulls = OtherPulls {
        rate: PerSecond::new(1.0),
        downlink: BytesPerSec::new(1e9),
    };
    let expected = pulls.mean().get() * alone / 1e6;
    let (_, sent) = with(OtherLoad::Pulls(pulls));
    // Hundreds of images are pulled, so their mean size varies by a twentieth.
    assert!(
        (sent / expected - 1.0).abs() < 0.2,
        "{sent} MB, {expected} expected"
    );
}

#[test]
fn a_cold_layer_delays_only_its_first_request() {
    let mut world = bare_world(2);
    world.registry.blobs.cold_first_byte = Some(fixed(secs(3.0)));
    world.clusters[1].rtt = secs(1.0).into();
    // The layer is cold for the first cluster: 3 s to the first byte and 1 s for the bytes, until 4 s. The other
    // cluster requests the layer after 12.5 round trips, when it is warm.
    let played = play(&world, 1, DAY);
    assert_eq!(
        played.ready_s()[0].map(|at| (at * 1e3).round()),
        Some(4000.0)
    );
    let mut warm = world.clone();
    warm.registry.blobs.cold_first_byte = None;
    let second = |world: &WorldSpec| play(world, 1, DAY).ready_s()[1].expect("it became ready");
    assert!(
        (second(&world) - second(&warm)).abs() < 1e-6,
        "it is warm for the second"
    );
}
