//! Sandboxes: each pod has one, before its first request for an image, and keeps it.

use super::*;
use crate::engine::{EntityKey, Streams};
use crate::world::calibration;
use crate::world::clusters::restarts::{Restarter, Restarts};
use crate::world::event::FaultEvent;
use crate::world::faults::spec::NodeLossSpec;
use crate::world::spec::PlatformSpec;
use crate::world::testing::play_on;

/// A node whose pods need 2 s for their sandbox and 1 s for their container. An image takes 1 s.
fn with_sandbox() -> WorldSpec {
    let mut world = bare_world(1);
    world.node.sandbox = fixed(secs(2.0));
    world.node.start_overhead = fixed(secs(1.0));
    world.node.start_spread = 0.0;
    world
}

/// Twelve pods with different images on one node, which pulls them in parallel.
fn twelve_pods(pulls_per_second: u32) -> WorldSpec {
    let mut world = bare_world(1);
    world.clusters[0].downlink = BytesPerSec::new(1e12).into();
    world.node.sandbox = calibration::SANDBOX;
    world.node.start_spread = 0.0;
    world.node.serialize_image_pulls = Some(false);
    world.node.registry_pull_qps = pulls_per_second;
    world.node.registry_burst = calibration::REGISTRY_BURST;
    let image = world.images.remove(0);
    let workload = world.applications[0].workloads.remove(0);
    for at in 0..12 {
        world.images.push(ImageSpec {
            name: format!("image-{at}"),
            layers: vec![layer(&format!("layer-{at}"), 1_000_000)],
            ..image.clone()
        });
        world.applications[0].workloads.push(WorkloadSpec {
            name: format!("workload-{at}"),
            image: at,
            ..workload.clone()
        });
    }
    world
}

fn starts(played: &Played) -> Vec<f64> {
    played.times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))))
}

#[track_caller]
fn assert_starts(played: &Played, expected: &[f64], what: &str) {
    let starts = starts(played);
    assert_eq!(starts.len(), expected.len(), "{what}: {starts:?}");
    for (start, expected) in starts.iter().zip(expected) {
        assert_near(*start, *expected, 1e-6, what);
    }
}

#[test]
fn a_sandbox_precedes_the_pull_and_a_present_image() {
    let mut world = with_sandbox();
    assert_starts(&play(&world, 1, DAY), &[4.0], "sandbox, pull, container");
    world.applications[0].workloads[0].kind = deployment(2);
    // One pull serves both pods, whose sandboxes are created simultaneously.
    assert_starts(&play(&world, 1, DAY), &[4.0, 4.0], "two pods");
    world.images[0].layers.clear();
    world.applications[0].workloads[0].kind = deployment(1);
    assert_starts(&play(&world, 1, DAY), &[3.0], "the image is on the node");
}

#[test]
fn a_pod_keeps_its_sandbox_when_its_pull_fails() {
    let mut world = twelve_pods(1);
    world.node.sandbox = fixed(secs(2.0));
    world.images.truncate(2);
    world.applications[0].workloads.truncate(2);
    world.node.registry_burst = 1;
    world.node.error_requeue = fixed(secs(12.0));
    let played = play(&world, 1, DAY);
    assert_eq!(
        played.totals.failed_pulls,
        failures(PullError::KubeletRate, 1)
    );
    // The second pod's pull fails at 2 s; the back-off is 10 s, and the sync comes after 12 s.
    let starts = starts(&played);
    assert_near(starts[0], 2.0, 1e-3, "the first pod");
    assert_near(starts[1], 14.0, 1e-3, "the second pod");
}

#[test]
fn a_container_restarts_in_its_sandbox() {
    let mut world = with_sandbox();
    world.faults.defect.share = Share::ALL;
    world.faults.defect.crash_after = fixed(secs(5.0));
    let played = play(&world, 1, secs(30.0));
    // Each start takes 1 s. The waits after the crashes are 0 and 10 s.
    assert_starts(&played, &[4.0, 10.0, 26.0], "the kubelet");
    let restarts = Restarts {
        by: Restarter::Diego,
        ..Restarts::KUBELET
    };
    let diego = PlatformSpec {
        restarts,
        ..PlatformSpec::INSTANT
    };
    let played = play_on(&world, &diego, 1, secs(31.0), &[]);
    // Diego creates the whole container each time, in 3 s.
    assert_starts(&played, &[4.0, 12.0, 30.0], "Diego");
}

#[test]
fn a_pod_needs_a_new_sandbox_after_its_node_has_failed() {
    let mut world = with_sandbox();
    world.faults.node_loss = Some(NodeLossSpec {
        between: fixed(secs(10.0)),
        repair: fixed(secs(5.0)),
        ..NodeLossSpec::default()
    });
    let mut late = 0;
    for seed in 1..=20 {
        let played = play(&world, seed, secs(100.0));
        let returns =
            played.times(|event| matches!(event, Event::Fault(FaultEvent::NodeReturns(_))));
        for start in starts(&played) {
            let before = returns.iter().rfind(|back| **back < start);
            if let Some(back) = before {
                assert!(start >= back + 3.0 - 1e-6, "started {start}, back {back}");
                late += 1;
            }
        }
    }
    assert!(late > 0, "some node fails before its pod starts");
}

/// The number of pulls that the kubelet refuses in each of 20 runs.
fn refused_pulls(pulls_per_second: u32) -> Vec<u64> {
    let mut runs = Vec::new();
    for seed in 1..=20 {
        let played = play(&twelve_pods(pulls_per_second), seed, DAY);
        runs.push(played.totals.failed_pulls[PullError::KubeletRate as usize]);
    }
    runs
}

#[test]
fn sandboxes_spread_the_pulls_of_pods_that_arrive_together() {
    // Ten of twelve pass immediately; the others come up to a second later.
    let five = refused_pulls(5);
    let one = refused_pulls(1);
    assert!(five.iter().sum::<u64>() <= 1, "at 5/s: {five:?}");
    assert!(
        one.iter().filter(|failed| **failed > 0).count() >= 10,
        "at 1/s: {one:?}"
    );
}

#[test]
fn sandbox_and_container_together_take_what_was_measured() {
    let streams = Streams::new(1, 0);
    let mut logarithms = Vec::new();
    for nth in 0..20_000 {
        let key = EntityKey::of("node");
        let sandbox = calibration::SANDBOX.draw(&streams, key, "sandbox", nth);
        let container = calibration::START_OVERHEAD.draw(&streams, key, "start overhead", nth);
        logarithms.push(libm::log((sandbox + container).as_secs_f64()));
    }
    logarithms.sort_by(f64::total_cmp);
    // Quantiles of 20,000 values.
    let median = libm::exp(logarithms[10_000]);
    let sigma = (logarithms[18_000] - logarithms[2_000]) / (2.0 * 1.2816);
    assert_near(median, 0.6, 0.02, "the median of the sum");
    assert_near(sigma, 0.5, 0.02, "the sigma of the sum");
}
