//! Pods: probes, updates of workloads, and restarts of crashed containers.

use super::*;
use crate::world::clusters::spec::ProbeSpec;
use crate::world::faults::spec::DefectKind;

#[test]
fn a_pod_is_ready_at_the_first_probe_it_can_answer() {
    let cases = [
        // start, initial delay, period, successes, ready after the pull's 1 s, why
        (4.0, 0.0, 10.0, 1, 10.0, "the probe at 0 s comes too early"),
        (0.0, 0.0, 10.0, 1, 0.0, "the first probe finds it able"),
        (10.0, 0.0, 10.0, 1, 10.0, "just in time"),
        (
            4.0,
            5.0,
            10.0,
            1,
            10.0,
            "the probe at 0 s is skipped, and the next comes a period after it",
        ),
        (
            4.0,
            20.0,
            10.0,
            1,
            20.0,
            "the first probe comes after the delay",
        ),
        (6.0, 5.0, 10.0, 2, 20.0, "two in a row"),
    ];
    for (start, initial_delay, period, success_threshold, expected, why) in cases {
        let mut world = bare_world(1);
        world.applications[0].workloads[0].start = fixed(secs(start));
        world.applications[0].workloads[0].readiness = Some(ProbeSpec {
            initial_delay: secs(initial_delay),
            period: secs(period),
            success_threshold,
        });
        assert_near(ready(&play(&world, 1, DAY), 0), 1.0 + expected, 1e-6, why);
    }
}

#[test]
fn a_daemon_set_updates_one_node_after_the_other() {
    let mut world = bare_world(1);
    world.clusters[0].nodes = 3.into();
    world.applications[0].release = ReleaseKind::Update;
    world.applications[0].workloads[0].termination = fixed(secs(2.0));
    world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
    };
    let played = play(&world, 1, DAY);
    // On each node, the old pod terminates (2 s), then the new pod's image is pulled (1 s).
    assert_near(ready(&played, 0), 9.0, 1e-5, "one after the other");
    assert_eq!(played.peak_pulls, 1);
    world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(0),
        max_surge: CountOrPercent::Percent(100),
    };
    let surging = play(&world, 1, DAY);
    // All nodes pull concurrently, while the old pods still run: 300 MB over one link of 100 MB/s; then the old pods
    // terminate.
    assert_eq!(surging.peak_pulls, 3);
    assert_near(ready(&surging, 0), 3.0, 1e-5, "all at once");
}

#[test]
fn a_deployment_never_starts_more_pods_than_surge_and_unavailable_allow() {
    let mut world = bare_world(1);
    world.clusters[0].nodes = 8.into();
    world.applications[0].release = ReleaseKind::Update;
    world.applications[0].workloads[0].kind = deployment(8);
    world.applications[0].workloads[0].readiness = Some(ProbeSpec {
        initial_delay: secs(30.0),
        period: secs(10.0),
        success_threshold: 1,
    });
    let played = play(&world, 1, DAY);
    assert_eq!(played.peak_pulls, 4, "25 % of 8 up and 25 % of 8 down");
    assert_eq!(played.totals.pulls, 8, "one for each node");
}

#[test]
fn a_defective_revision_crashes_indefinitely_and_the_world_becomes_idle() {
    let mut world = bare_world(1);
    world.faults.defect.share = Share::ALL;
    world.faults.defect.crash_after = fixed(secs(5.0));
    world.applications[0].workloads[0].readiness = Some(ProbeSpec {
        initial_delay: secs(0.0),
        period: secs(1.0),
        success_threshold: 1,
    });
    let played = play(&world, 1, DAY);
    assert_eq!(played.ready_s(), [None]);
    assert_eq!(
        played.totals.crashes, 1,
        "what it does from then on changes nothing"
    );
    assert!(played.deployments[0].defective);
}

#[test]
fn without_a_probe_a_crashing_pod_is_ready_again_and_again() {
    let mut world = bare_world(1);
    world.faults.defect.share = Share::ALL;
    world.faults.defect.crash_after = fixed(secs(5.0));
    let played = play(&world, 1, secs(100.0));
    let starts =
        played.times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))));
    // The image is pulled by 1 s; each container lives for 5 s, and the waits between containers are 0, 10, 20, 40, …
    // s.
    let expected = [1.0, 6.0, 21.0, 46.0, 91.0];
    for (start, expected) in starts.iter().zip(expected) {
        assert_near(*start, expected, 1e-6, "a start");
    }
    assert_eq!(starts.len(), expected.len());
    assert!(
        played.deployments[0].ready.is_some(),
        "no probe: ready as soon as it runs"
    );
}

#[test]
fn a_container_restarts_at_the_first_sync_after_its_back_off() {
    let mut world = bare_world(1);
    world.faults.defect.share = Share::ALL;
    world.faults.defect.crash_after = fixed(secs(5.0));
    world.node.error_requeue = fixed(secs(12.0));
    let played = play(&world, 1, secs(130.0));
    let starts =
        played.times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))));
    // With back-offs of 0, 10, 20, 40 s and a sync every 12 s, restarts are 0, 12, 24, 48 s after each crash.
    let expected = [1.0, 6.0, 23.0, 52.0, 105.0];
    for (start, expected) in starts.iter().zip(expected) {
        assert_near(*start, expected, 1e-6, "a start");
    }
    assert_eq!(starts.len(), expected.len());
    // The newer rule: a container restarts after the back-off, by at most half of the back-off.
    world.node.requeue = Requeue::AtExpiry;
    let starts = play(&world, 1, secs(130.0))
        .times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))));
    for (gap, gate) in starts
        .windows(2)
        .map(|pair| pair[1] - pair[0] - 5.0)
        .zip([0.0, 10.0, 20.0, 40.0])
    {
        assert!(
            (gate - 1e-6..=gate * 1.5 + 1e-6).contains(&gap),
            "{gap} s after a gate of {gate} s"
        );
    }
}

#[test]
fn a_process_is_ready_when_it_answers_within_its_start_timeout() {
    // start, time-out, probe's period, ready after the pull's 1 s
    for (start, timeout, period, expected) in [
        (30.0, 60.0, None, 30.0),
        (60.0, 60.0, None, 60.0),
        (30.0, 60.0, Some(20.0), 40.0),
    ] {
        let mut world = bare_world(1);
        world.node.start_spread = 0.0;
        world.applications[0].workloads[0].start = fixed(secs(start));
        world.applications[0].workloads[0].start_timeout = Some(secs(timeout));
        world.applications[0].workloads[0].readiness = period.map(|period| ProbeSpec {
            initial_delay: secs(0.0),
            period: secs(period),
            success_threshold: 1,
        });
        let played = play(&world, 1, DAY);
        assert_near(ready(&played, 0), 1.0 + expected, 1e-6, "it answers");
        assert_eq!(played.totals.crashes, 0, "{start} {timeout}");
    }
}

#[test]
fn a_process_without_a_timely_answer_is_restarted_indefinitely() {
    let mut world = bare_world(1);
    world.node.start_spread = 0.0;
    world.applications[0].workloads[0].start = fixed(secs(61.0));
    world.applications[0].workloads[0].start_timeout = Some(secs(60.0));
    let played = play(&world, 1, secs(500.0));
    let starts =
        played.times(|event| matches!(event, Event::Workload(WorkloadEvent::ContainerStarted(_))));
    // The image is pulled by 1 s; each container lives for 60 s, and the waits between containers are 0, 10, 20, 40
    // and 80 s.
    let expected = [1.0, 61.0, 131.0, 211.0, 311.0, 451.0];
    for (start, expected) in starts.iter().zip(expected) {
        assert_near(*start, expected, 1e-6, "a start");
    }
    assert_eq!(starts.len(), expected.len());
    assert_eq!(played.ready_s(), [None]);
}

#[test]
fn a_start_timeout_stops_a_defective_process_that_never_answers() {
    for (kind, crash_after, life) in [
        (DefectKind::Unready, 0.0, 20.0),
        (DefectKind::Crashes, 5.0, 5.0),
        (DefectKind::Crashes, 25.0, 20.0),
    ] {
        let mut world = bare_world(1);
        world.faults.defect.share = Share::ALL;
        world.faults.defect.kind = kind;
        world.faults.defect.crash_after = fixed(secs(crash_after));
        world.applications[0].workloads[0].start_timeout = Some(secs(20.0));
        let played = play(&world, 1, DAY);
        assert_eq!(played.ready_s(), [None], "{kind:?}");
        let crashes =
            played.times(|event| matches!(event, Event::Workload(WorkloadEvent::Crashed(_))));
        assert_near(crashes[0], 1.0 + life, 1e-6, "the first crash");
        assert_eq!(
            played.totals.crashes, 1,
            "what it does from then on changes nothing"
        );
    }
}
