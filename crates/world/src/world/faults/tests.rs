//! Tests each kind of failure by hand, in worlds where nothing else takes time.

use super::*;
use crate::world::calibration;
use crate::world::clusters::spec::{ProbeSpec, WorkloadKind};
use crate::world::event::{AgentEvent, DriverEvent, Event};
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::spec::{
    DefectKind, NodeLossSpec, OfflineSpec, OutageSpec, OutageWindow, RegionalOutageSpec, SlowSpec,
};
use crate::world::ids::{ApplicationId, NEW, TargetId};
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::runtime::spec::RuntimeSpec;
use crate::world::quantity::{CountOrPercent, DurationModel, FactorModel};
use crate::world::spec::{ReleaseKind, WorldSpec};
use crate::world::testing::{Played, bare_world, fixed, play};
use crate::world::totals::Totals;
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration};

const DAY: SimDuration = SimDuration::from_hours(24);

fn secs(secs: f64) -> SimDuration {
    SimDuration::from_secs_f64(secs)
}

/// Converts to seconds, rounded to milliseconds, because unpacking takes 100 ns in these worlds.
fn millis(time: SimTime) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

fn ready(played: &Played, cluster: usize) -> f64 {
    played.ready_s()[cluster].expect("the cluster became ready")
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, what: &str) {
    assert!(
        (actual - expected).abs() <= 1e-6,
        "{what}: {actual}, expected {expected}"
    );
}

/// Cuts off all clusters in these windows.
fn windows(world: &mut WorldSpec, cuts: CutKind, windows: &[(f64, f64)]) {
    world.faults.regional.push(RegionalOutageSpec {
        clusters: (0..world.clusters.len()).collect(),
        cuts,
        windows: windows
            .iter()
            .map(|&(from, lasts)| OutageWindow {
                from: secs(from),
                lasts: secs(lasts),
            })
            .collect(),
        ..RegionalOutageSpec::default()
    });
}

fn probe(world: &mut WorldSpec) {
    world.applications[0].workloads[0].readiness = Some(ProbeSpec {
        initial_delay: SimDuration::ZERO,
        period: secs(1.0),
        success_threshold: 1,
    });
}

#[test]
fn a_transfer_stalls_while_its_cluster_is_cut_off_and_then_continues() {
    let mut world = bare_world(2);
    windows(&mut world, CutKind::All, &[(0.4, 100.0)]);
    world.faults.regional[0].clusters = vec![1];
    let played = play(&world, 1, DAY);
    assert_near(ready(&played, 0), 1.0, "the other one does not notice");
    // 0.4 s of data out of 1 s, then no data for 100 s, then the rest.
    assert_near(ready(&played, 1), 101.0, "ready");
    assert_eq!(
        played.totals.sent,
        Bytes::new(200_000_000),
        "nothing is sent twice"
    );
}

#[test]
fn without_the_management_cluster_reports_stop_but_image_pulls_continue() {
    let mut world = bare_world(1);
    windows(&mut world, CutKind::Management, &[(0.4, 100.0)]);
    let played = play(&world, 1, DAY);
    assert_eq!(
        played.facts[0].last_pull.map(millis),
        Some(1.0),
        "the image is there in time"
    );
    assert_near(
        ready(&played, 0),
        100.4,
        "and the product learns of it when the link is back",
    );
}

#[test]
fn a_cluster_with_two_outages_is_back_when_both_have_ended() {
    let mut world = bare_world(1);
    windows(&mut world, CutKind::All, &[(0.5, 100.0)]);
    windows(&mut world, CutKind::All, &[(50.0, 100.0)]);
    let played = play(&world, 1, DAY);
    assert_near(ready(&played, 0), 150.5, "ready");
}

#[test]
fn outages_and_brownouts_of_one_region_have_separate_times() {
    let region = Some("eu".to_owned());
    let outage = RegionalOutageSpec {
        region,
        ..RegionalOutageSpec::default()
    };
    let brownout = RegionalOutageSpec {
        downlink: Some(Share::new(0.2)),
        ..outage.clone()
    };
    assert_ne!(outage.key(0), brownout.key(1));
    assert_ne!(
        RegionalOutageSpec::default().key(0),
        RegionalOutageSpec::default().key(1)
    );
}

/// Creates a brownout that leaves this share of the downlink, in percent.
fn left(percent: u32) -> CutKind {
    CutKind::Brownout {
        downlink: Share::new(f64::from(percent) / 100.0),
    }
}

#[test]
fn a_brownout_reduces_the_downlink_but_reports_arrive() {
    let mut world = bare_world(2);
    windows(&mut world, left(20), &[(0.4, 2.0)]);
    world.faults.regional[0].clusters = vec![1];
    let played = play(&world, 1, DAY);
    assert_near(ready(&played, 0), 1.0, "the other one does not notice");
    // 40 MB by 0.4 s, 40 MB in 2 s at a fifth of 100 MB/s, and 20 MB at full rate.
    assert_near(ready(&played, 1), 2.6, "ready");
    assert_eq!(
        (played.totals.sent, played.totals.lost),
        (Bytes::new(200_000_000), Bytes::ZERO),
        "nothing is sent twice"
    );
}

#[test]
fn the_smallest_share_of_concurrent_brownouts_applies_and_an_outage_prevails() {
    for (first, other, expected, why) in [
        // 50 MB at full rate, then 20 MB in 1 s, 20 MB in 2 s, and the last 10 MB at full rate.
        (
            (0.5, 2.0, left(20)),
            (1.5, 2.0, left(10)),
            3.6,
            "a deeper one comes while the first lasts",
        ),
        // 50 MB at full rate, then 10 MB in 1 s, 10 MB in 1 s, 20 MB in 1 s, and the last 10 MB at full rate.
        (
            (0.5, 2.0, left(10)),
            (1.5, 2.0, left(20)),
            3.6,
            "a milder one counts when the first has ended",
        ),
        // 50 MB at full rate, then 2.5 s at a fifth, although the first brownout ends after 2 s.
        (
            (0.5, 2.0, left(20)),
            (1.5, 2.0, left(20)),
            3.0,
            "two of the same depth",
        ),
        // 50 MB at full rate, 20 MB in 1 s, no data for 1 s, and 30 MB at a fifth.
        (
            (0.5, 4.0, left(20)),
            (1.5, 1.0, CutKind::All),
            4.0,
            "cut off within a brownout",
        ),
        (
            (0.5, 1.0, CutKind::Management),
            (0.5, 2.0, left(25)),
            2.5,
            "without its manager, which is back before",
        ),
    ] {
        let mut world = bare_world(1);
        for (from, span, kind) in [first, other] {
            windows(&mut world, kind, &[(from, span)]);
        }
        let played = play(&world, 1, DAY);
        assert_near(ready(&played, 0), expected, why);
        assert_eq!(played.totals.sent, Bytes::new(100_000_000), "{why}");
    }
}

#[test]
fn only_a_brownout_without_any_bandwidth_keeps_a_run_from_ending() {
    for (percent, from, span, expected) in [
        (20, 1000.0, 1000.0, 1.0),
        // 60 MB at a fifth, because the pull ends before the brownout.
        (20, 0.4, 1000.0, 3.4),
        (0, 0.4, 100.0, 101.0),
    ] {
        let mut world = bare_world(1);
        windows(&mut world, left(percent), &[(from, span)]);
        let played = play(&world, 1, DAY);
        assert_near(ready(&played, 0), expected, "ready");
        let last = played.events.last().expect("events").0.as_secs_f64();
        assert_near(last, expected, "the world comes to rest");
    }
}

#[test]
fn brownouts_of_single_clusters_do_not_set_clusters_offline() {
    let mut world = bare_world(200);
    let outages = |cuts| {
        let mean = |mean| DurationModel::Exponential { mean: secs(mean) };
        Some(OutageSpec {
            between: mean(300_000.0),
            repair: mean(100_000.0),
            cuts,
            downlink: None,
        })
    };
    world.faults.outages = outages(CutKind::All);
    let cut: Vec<bool> = play(&world, 1, DAY)
        .facts
        .iter()
        .map(|facts| facts.offline)
        .collect();
    world.faults.outages = outages(left(50));
    let played = play(&world, 1, DAY);
    assert!(played.facts.iter().all(|facts| !facts.offline));
    for (at, cut) in cut.iter().enumerate() {
        // The random numbers are the same, so clusters that would have been cut off take twice as long. Cycles are
        // long compared with a second.
        assert_near(ready(&played, at), if *cut { 2.0 } else { 1.0 }, "ready");
    }
}

#[test]
fn a_pull_without_bytes_for_five_minutes_fails_and_is_retried_after_its_back_off() {
    let mut world = bare_world(1);
    world.node.error_requeue = fixed(secs(10.0));
    world.node.runtime = RuntimeSpec {
        collect_after: None,
        ..RuntimeSpec::CONTAINERD_2_1
    };
    windows(&mut world, CutKind::All, &[(0.5, 400.0)]);
    let played = play(&world, 1, DAY);
    // The cluster is cut off at 0.5 s. The pull is cancelled at 300.5 s, and retried at 310.5 s (back-off of 10 s).
    // That attempt cannot connect and gives up at 340.5 s; with a back-off of 20 s the next one starts at 360.5 s and
    // gives up at 390.5 s. The back-off is then 40 s, and the fourth attempt, at 430.5 s, succeeds because the network
    // has recovered at 400.5 s. Half of the layer is already on the node, so this attempt takes 0.5 s.
    assert_eq!(
        played.totals.failed_pulls[PullError::NoProgress as usize],
        1
    );
    assert_eq!(
        played.totals.failed_pulls[PullError::Unreachable as usize],
        2
    );
    assert_near(ready(&played, 0), 431.0, "ready");
    assert_eq!(
        (played.totals.sent, played.totals.lost),
        (Bytes::new(100_000_000), Bytes::ZERO),
        "it is resumed"
    );
}

#[test]
fn interrupted_transfers_continue_when_their_sender_retries() {
    let mut world = bare_world(1);
    world.registry.tcp.retransmission = Some(secs(0.2));
    windows(&mut world, CutKind::All, &[(0.5, 2.0)]);
    // The sender retransmits 0.2, 0.6, 1.4 and 3 s after the cut at 0.5 s. After the last of these, data for half a
    // second remains.
    assert_near(ready(&play(&world, 1, DAY), 0), 4.0, "ready");
    world.clusters[0].rtt = fixed(secs(0.01));
    world.registry.tcp.retransmission = None;
    let at_once = ready(&play(&world, 1, DAY), 0);
    world.registry.tcp.retransmission = Some(secs(0.2));
    // With a round trip of 10 ms, the sender retransmits 0.21, 0.63, 1.47 and 3.15 s after the cut.
    assert_near(ready(&play(&world, 1, DAY), 0) - at_once, 1.15, "later");
    // Transfers that begin after a cut are not affected by it.
    world.faults.regional.clear();
    world.faults.offline = OfflineSpec {
        share: Share::ALL,
        comes_back: Some(fixed(secs(9.0))),
    };
    let with = ready(&play(&world, 1, DAY), 0);
    world.registry.tcp.retransmission = None;
    assert_near(ready(&play(&world, 1, DAY), 0), with, "no transfer was cut");
}

#[test]
fn a_cut_off_cluster_repeats_its_connection_attempts_like_the_kernel() {
    let mut world = bare_world(1);
    world.clusters[0].rtt = fixed(secs(1.0));
    windows(&mut world, CutKind::All, &[(2.0, 10.0)]);
    let cut = ready(&play(&world, 1, DAY), 0);
    world.faults.regional.clear();
    let whole = ready(&play(&world, 1, DAY), 0);
    // The response to the challenge is in transit, and arrives at 3 s. Then the client tries to connect for a token at
    // 3, 4, 6, 10 and 18 s; the network recovers at 12 s.
    assert_near(cut - whole, 15.0, "later");
}

#[test]
fn a_cluster_with_the_setting_offline_is_offline_in_every_run() {
    let mut world = bare_world(4);
    world.clusters[2].offline = true;
    for seed in 1..6 {
        let played = play(&world, seed, DAY);
        let offline: Vec<bool> = played.facts.iter().map(|facts| facts.offline).collect();
        assert_eq!(offline, [false, false, true, false], "seed {seed}");
        assert_eq!(played.deployments[2].ready, None, "it never comes back");
    }
    world.faults.offline.comes_back = Some(fixed(secs(9.0)));
    let back = play(&world, 1, DAY);
    assert!(ready(&back, 2) >= 9.0, "it comes back after 9 s");
    world.faults.offline.share = Share::ALL;
    let all = play(&world, 1, DAY);
    assert!(
        all.facts.iter().all(|facts| facts.offline),
        "and others may be drawn beside it"
    );
}

#[test]
fn outages_are_independent_and_never_keep_a_run_alive() {
    let mut world = bare_world(200);
    world.faults.outages = Some(OutageSpec {
        between: DurationModel::Exponential { mean: secs(300.0) },
        repair: DurationModel::Exponential { mean: secs(100.0) },
        ..OutageSpec::default()
    });
    let played = play(&world, 1, DAY);
    let offline = played.facts.iter().filter(|facts| facts.offline).count();
    // Clusters are offline for a quarter of the time: 50 of 200, with a tolerance of five standard deviations of 6.1.
    assert!((20..=80).contains(&offline), "{offline} away at the start");
    assert!(
        played.deployments.iter().all(|facts| facts.ready.is_some()),
        "all come back and are told"
    );
    let last = played.events.last().expect("events").0.as_secs_f64();
    let done = played.ready_s().into_iter().flatten().fold(0.0, f64::max);
    assert!(
        last < done + 3600.0,
        "the world comes to rest at {last} s, not long after {done} s"
    );
}

#[test]
fn a_slow_cluster_is_slower_by_its_factor() {
    let mut world = bare_world(1);
    probe(&mut world);
    world.applications[0].workloads[0].start = fixed(secs(2.0));
    world.faults.slow = Some(SlowSpec {
        share: Share::new(1.0),
        factor: FactorModel::Constant(fleetsim_units::Factor::new(3.0)),
    });
    // 3 s for the layer and 6 s to start; probes are sent every second.
    assert_near(ready(&play(&world, 1, DAY), 0), 9.0, "ready");
}

#[test]
fn a_missing_tag_is_requested_repeatedly_until_the_world_is_idle() {
    let mut world = bare_world(1);
    world.node.error_requeue = fixed(secs(10.0));
    world.faults.not_found = Share::new(1.0);
    let played = play(&world, 1, DAY);
    assert_eq!(played.deployments[0].ready, None);
    assert_eq!(
        played.totals.failed_pulls[PullError::NotFound as usize],
        1,
        "at rest after the first answer"
    );
    assert_eq!(
        (played.totals.sent, played.totals.requests),
        (Bytes::ZERO, 2)
    );
    assert!(played.facts[0].first_pull.is_some() && played.peak_pulls == 1);
}

#[test]
fn a_late_defect_is_first_reported_as_ready() {
    for (kind, has_crashed) in [(DefectKind::Crashes, true), (DefectKind::Unready, false)] {
        let mut world = bare_world(1);
        probe(&mut world);
        world.faults.defect.share = Share::new(1.0);
        world.faults.defect.kind = kind;
        world.faults.defect.detected_after = Some(fixed(secs(60.0)));
        let played = play(&world, 1, SimDuration::from_secs(65));
        let reports: Vec<(f64, bool)> = played
            .events
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Agent(AgentEvent::ReportArrives(report)) => {
                    Some((millis(*at), report.ready))
                }
                _ => None,
            })
            .collect();
        // The container first runs at 1 s, and works until 61 s. The first restart after a crash is immediate.
        let expected = match kind {
            DefectKind::Crashes => vec![(1.0, true), (61.0, false), (61.0, true)],
            DefectKind::Unready => vec![(1.0, true), (61.0, false)],
        };
        assert!(reports.ends_with(&expected), "{kind:?}: {reports:?}");
        assert_near(
            millis(played.deployments[0].ready.expect("ready")),
            1.0,
            "when it was first ready",
        );
        assert_eq!(played.totals.crashes > 0, has_crashed);
    }
}

#[test]
fn a_pod_that_is_never_ready_leaves_the_world_idle() {
    let mut world = bare_world(1);
    probe(&mut world);
    world.faults.defect.share = Share::new(1.0);
    world.faults.defect.kind = DefectKind::Unready;
    let played = play(&world, 1, DAY);
    assert_eq!(
        (played.deployments[0].ready, played.totals.crashes),
        (None, 0)
    );
}

/// Runs a world whose first node fails once, at `fails`, for `away`. The cluster is instructed to run the new revision
/// at `told`, and the run ends at 5000 s. Returns the reports that the management cluster receives, with their times,
/// and the totals. Checks that the recorded time of a cluster is the first at which it was ready.
fn with_a_node_lost(
    world: &mut WorldSpec,
    fails: f64,
    away: f64,
    told: f64,
) -> (Vec<(f64, bool)>, Totals) {
    world.faults.node_loss = Some(NodeLossSpec {
        // Failures are so rare that the one that the test configures is the only one.
        between: fixed(SimDuration::from_hours(1_000_000)),
        repair: fixed(secs(away)),
        grace: secs(40.0),
        eviction: secs(300.0),
    });
    let mut queue = Queue::new();
    let mut world = World::new(
        world,
        &crate::world::PlatformSpec::INSTANT,
        1,
        0,
        &mut queue,
    );
    world.faults.schedule(
        SimTime::ZERO + secs(fails),
        FaultEvent::NodeFails(NodeId(0)),
        &mut queue,
    );
    let told = SimTime::ZERO + secs(told);
    queue.schedule(
        told,
        Event::Driver(ApplicationId::default(), DriverEvent::Released),
    );
    let mut seen = Vec::new();
    while let Some((now, event)) = queue.pop() {
        if now > SimTime::from_secs(5000) {
            world.finish(SimTime::from_secs(5000));
            world.assert_bytes_are_conserved();
            let first = seen
                .iter()
                .find(|(at, ready)| *ready && *at >= told.as_secs_f64());
            assert_eq!(
                world.deployments[0].facts.ready.map(millis),
                first.map(|(at, _)| *at),
                "{seen:?}"
            );
            return (seen, world.totals);
        }
        if event == Event::Driver(ApplicationId::default(), DriverEvent::Released) {
            world.instruct(TargetId(0), NEW, &mut queue);
        }
        world.handle(event, &mut queue);
        let reports = world.take_reports();
        seen.extend(
            reports
                .into_iter()
                .map(|report| (millis(now), report.ready)),
        );
    }
    unreachable!("a process of failures has no end")
}

const NEVER: f64 = 1e6;

fn two_pods() -> WorldSpec {
    let mut world = bare_world(1);
    world.clusters[0].nodes = 2.into();
    world.applications[0].release = ReleaseKind::Update;
    world.applications[0].workloads[0].kind = WorkloadKind::Deployment {
        replicas: 2,
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
        progress_deadline: calibration::PROGRESS_DEADLINE,
    };
    world
}

fn daemon_set(nodes: u32, budget: u32) -> WorldSpec {
    let mut world = bare_world(1);
    world.clusters[0].nodes = nodes.into();
    world.applications[0].release = ReleaseKind::Update;
    world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(budget),
        max_surge: CountOrPercent::Count(0),
    };
    world
}

#[test]
fn pods_of_a_lost_node_are_replaced_on_other_nodes_after_340_s() {
    let (seen, _) = with_a_node_lost(&mut two_pods(), 1000.0, NEVER, NEVER);
    // The other node has the image, so a replacement takes no time here.
    assert_eq!(
        seen,
        [(1040.0, false), (1340.0, true)],
        "not ready after the grace, ready again after the toleration"
    );
}

#[test]
fn a_node_that_returns_in_time_restarts_its_pods() {
    let (seen, _) = with_a_node_lost(&mut two_pods(), 1000.0, 200.0, NEVER);
    assert_eq!(seen, [(1040.0, false), (1200.0, true)]);
    let (seen, _) = with_a_node_lost(&mut two_pods(), 1000.0, 20.0, NEVER);
    assert_eq!(
        seen,
        [],
        "an absence shorter than the grace is not noticed, and starting takes no time here"
    );
}

#[test]
fn losing_a_node_does_not_change_the_first_ready_time_of_a_cluster() {
    let (seen, _) = with_a_node_lost(&mut bare_world(1), 1000.0, 200.0, 0.0);
    assert_eq!(
        seen,
        [(0.0, false), (1.0, true), (1040.0, false), (1200.0, true)]
    );
}

#[test]
fn the_pod_of_a_daemon_set_waits_for_its_node() {
    let (seen, _) = with_a_node_lost(&mut daemon_set(2, 1), 1000.0, 2000.0, NEVER);
    assert_eq!(seen, [(1040.0, false), (3000.0, true)]);
}

#[test]
fn one_missing_node_uses_up_a_daemon_sets_budget() {
    for (budget, pulls, why) in [
        (
            1,
            0,
            "its deleted pod is never gone, and no other node may be touched",
        ),
        (
            2,
            2,
            "what it leaves of the budget is used for the two others, one after the other",
        ),
    ] {
        let (seen, totals) = with_a_node_lost(&mut daemon_set(3, budget), 1000.0, NEVER, 2000.0);
        assert_eq!(totals.pulls, pulls, "maxUnavailable {budget}: {why}");
        assert!(
            seen.iter().all(|(at, ready)| *at < 1000.0 || !ready),
            "{seen:?}"
        );
    }
    let (seen, totals) = with_a_node_lost(&mut daemon_set(3, 1), 1000.0, 2000.0, 2000.0);
    assert_eq!(
        totals.pulls, 3,
        "when the node is back, the rollout goes on"
    );
    // The failed node's pod is pulled first, and each other node's after the previous pod is available: three times 1
    // s for 100 MB.
    assert_eq!(seen.last(), Some(&(3003.0, true)));
}

#[test]
fn a_node_that_returns_keeps_the_content_of_its_disk() {
    let mut world = bare_world(1);
    // The layer takes 100 s; the node fails after 60 s of them.
    world.clusters[0].downlink = BytesPerSec::new(1e6).into();
    let (seen, totals) = with_a_node_lost(&mut world, 60.0, 30.0, 0.0);
    assert_eq!(totals.failed_pulls[PullError::NodeLost as usize], 1);
    assert_eq!(
        seen,
        [(0.0, false), (130.0, true)],
        "60 s, 30 s away, and the 40 s that were left"
    );
    assert_eq!(
        (totals.sent, totals.lost),
        (Bytes::new(100_000_000), Bytes::ZERO),
        "nothing twice"
    );
}
