//! Runtimes whose requests are refused or get no response, compared with hand calculations.

use crate::world::clusters::spec::{PullPolicy, WorkloadKind};
use crate::world::event::{Event, RequestEvent};
use crate::world::faults::cut_kind::CutKind;
use crate::world::ids::ClusterId;
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::runtime::spec::RuntimeSpec;
use crate::world::registry::request::Request;
use crate::world::registry::spec::RequestLimit;
use crate::world::spec::WorldSpec;
use crate::world::testing::{Intervention, Played, bare_world, fixed, play, play_with};
use fleetsim_units::{PerSecond, Share, SimDuration};

const DAY: SimDuration = SimDuration::from_hours(24);

fn secs(secs: f64) -> SimDuration {
    SimDuration::from_secs_f64(secs)
}

/// Creates a registry that answers only one request.
fn one_request(clusters: usize, runtime: RuntimeSpec) -> WorldSpec {
    let mut world = bare_world(clusters);
    world.node.runtime = runtime;
    world.node.error_requeue = fixed(secs(1.0));
    world.registry.api.request_limit = Some(RequestLimit::new(PerSecond::new(1e-9), 1));
    world
}

fn asked(played: &Played, wanted: Request) -> Vec<f64> {
    played.times(|event| matches!(event, Event::Request(_, request, RequestEvent::Arrives(_)) if *request == wanted))
}

#[test]
fn requests_above_a_limit_are_multiplied_and_stay_in_phase() {
    for (runtime, tries) in [
        (RuntimeSpec::CONTAINERD_2_4, 5),
        (RuntimeSpec::CONTAINERD_1_7, 6),
    ] {
        let played = play(&one_request(200, runtime), 1, secs(100.0));
        // At 0 s, the challenge of one pull is answered, and its following requests are refused. The other 199 pulls
        // are refused immediately. At 10, 30 and 70 s all 200 retry together.
        assert_eq!(
            played.totals.responses_429,
            4 * 200 * tries,
            "each becomes {tries}"
        );
        let mut times = asked(&played, Request::Challenge);
        times.dedup();
        assert_eq!(
            times,
            [0.0, 10.0, 30.0, 70.0],
            "nothing pulls them apart but the kubelet's requeue, here fixed"
        );
    }
}

#[test]
fn cri_o_doubles_its_wait_or_honours_retry_after() {
    let mut world = one_request(1, RuntimeSpec::CRI_O);
    let doubling = play(&world, 1, secs(31.0));
    assert_eq!(
        asked(&doubling, Request::Resolve),
        [0.0, 2.0, 6.0, 14.0, 30.0]
    );
    world.registry.retry_after = Some(secs(5.0));
    let told = play(&world, 1, secs(25.0));
    assert_eq!(asked(&told, Request::Resolve), [0.0, 5.0, 10.0, 15.0, 20.0]);
}

#[test]
fn cri_o_merges_identical_pulls() {
    for (runtime, pulls) in [(RuntimeSpec::CONTAINERD_2_4, 3), (RuntimeSpec::CRI_O, 1)] {
        let mut world = bare_world(1);
        world.node.runtime = runtime;
        world.node.serialize_image_pulls = Some(false);
        world.applications[0].workloads[0].pull_policy = PullPolicy::Always;
        let WorkloadKind::Deployment { replicas, .. } =
            &mut world.applications[0].workloads[0].kind
        else {
            panic!("a Deployment")
        };
        *replicas = 3;
        let played = play(&world, 1, DAY);
        assert_eq!(played.totals.pulls, pulls);
        assert!(
            played.ready_s()[0].is_some_and(|at| (at - 1.0).abs() < 1e-6),
            "{:?}",
            played.ready_s()
        );
    }
}

#[test]
fn a_cut_off_cluster_resumes_when_it_is_connected_again() {
    let cut: Intervention = |world, queue| world.cut(ClusterId(0), CutKind::All, queue);
    let restore: Intervention = |world, queue| world.repair(ClusterId(0), CutKind::All, queue);
    let played = play_with(&bare_world(2), 1, DAY, &[(0.5, cut), (10.5, restore)]);
    let ready: Vec<f64> = played.ready_s().into_iter().flatten().collect();
    assert!(
        (ready[0] - 11.0).abs() < 1e-6 && (ready[1] - 1.0).abs() < 1e-6,
        "{ready:?}"
    );
    assert_eq!(played.totals.lost.get(), 0);
}

#[test]
fn requests_from_a_cut_off_cluster_get_no_response() {
    let cut: Intervention = |world, queue| world.cut(ClusterId(0), CutKind::All, queue);
    let restore: Intervention = |world, queue| world.repair(ClusterId(0), CutKind::All, queue);
    let mut world = bare_world(1);
    world.node.error_requeue = fixed(secs(1.0));
    world.node.runtime = RuntimeSpec::CONTAINERD_2_1;
    let played = play_with(&world, 1, DAY, &[(0.0, cut), (35.0, restore)]);
    // One attempt takes 30 s; the next one starts at 40 s.
    assert_eq!(
        played.totals.failed_pulls[PullError::Unreachable as usize],
        1
    );
    assert!(
        played.ready_s()[0].is_some_and(|at| (at - 41.0).abs() < 1e-6),
        "{:?}",
        played.ready_s()
    );
    // The registry recovers after 5 s, and the kernel's next attempt to connect, 7 s after the first, reaches it.
    let brief = play_with(&world, 1, DAY, &[(0.0, cut), (5.0, restore)]);
    assert!(
        brief.ready_s()[0].is_some_and(|at| (at - 8.0).abs() < 1e-6),
        "{:?}",
        brief.ready_s()
    );
    assert_eq!(brief.totals.timeouts, 0);
}

#[test]
fn a_slow_downlink_does_not_count_as_stalled() {
    let slow: Intervention = |world, queue| {
        world.cut(
            ClusterId(0),
            CutKind::Brownout {
                downlink: Share::new(0.01),
            },
            queue,
        );
    };
    let played = play_with(&bare_world(1), 1, DAY, &[(0.5, slow)]);
    // 50 MB at full rate, then 50 MB at 1 MB/s.
    assert!(
        played.ready_s()[0].is_some_and(|at| (at - 50.5).abs() < 1e-6),
        "{:?}",
        played.ready_s()
    );
}
