//! Compares agents with times computed by hand.

use crate::world::clusters::agent_spec::{AgentSpec, DebounceSpec, LookSpec, ReadinessSpec};
use crate::world::clusters::spec::{WorkloadKind, WorkloadSpec};
use crate::world::event::{AgentEvent, Event};
use crate::world::spec::{ReleaseKind, WorldSpec};
use crate::world::testing::{Played, bare_world, fixed, play_agent};
use fleetsim_units::{SimDuration, SimTime};

const DEBOUNCE: ReadinessSpec = ReadinessSpec::Debounce(DebounceSpec::FLEET);
const LOOKS: ReadinessSpec = ReadinessSpec::Looks(LookSpec::KUBEFLEET);

/// An agent with 0.5 s until it has the instruction, 3 s to apply, and 0.25 s for a report.
const AGENT: AgentSpec = AgentSpec {
    instruction_delay: fixed(SimDuration::from_millis(500)),
    apply: fixed(SimDuration::from_secs(3)),
    report_delay: fixed(SimDuration::from_millis(250)),
    ..AgentSpec::INSTANT
};

/// Time at which the apply ends, in seconds.
const APPLIED: f64 = 3.5;
/// The delay of a report, in seconds.
const REPORT: f64 = 0.25;

/// Creates a cluster whose pod is available `ready_after` seconds after the apply: after a pull of 1 s, and
/// `minReadySeconds`.
fn world(release: ReleaseKind, ready_after: u64) -> WorldSpec {
    let mut world = bare_world(1);
    world.applications[0].release = release;
    world.applications[0].workloads[0].min_ready = SimDuration::from_secs(ready_after - 1);
    world
}

/// Returns a copy of the workload without pods.
fn without_pods(workload: &WorkloadSpec) -> WorkloadSpec {
    let WorkloadKind::Deployment {
        max_unavailable,
        max_surge,
        progress_deadline,
        ..
    } = workload.kind
    else {
        unreachable!("the bare world runs a Deployment");
    };
    let kind = WorkloadKind::Deployment {
        replicas: 0,
        max_unavailable,
        max_surge,
        progress_deadline,
    };
    WorkloadSpec {
        name: "empty".to_owned(),
        kind,
        ..workload.clone()
    }
}

fn play(world: &WorldSpec, readiness: &ReadinessSpec) -> Played {
    play_agent(
        world,
        AgentSpec {
            readiness: readiness.clone(),
            ..AGENT
        },
    )
}

/// Returns the arrivals of reports, in seconds after the end of the apply, with the readiness that they state.
fn reports(played: &Played) -> Vec<(f64, bool)> {
    let arrived = played.events.iter().filter_map(|(at, event)| match event {
        Event::Agent(AgentEvent::ReportArrives(report)) => {
            Some((at.as_secs_f64() - APPLIED - REPORT, report.ready))
        }
        _ => None,
    });
    arrived
        .map(|(at, ready)| ((at * 1000.0).round() / 1000.0, ready))
        .collect()
}

#[test]
fn a_watching_agent_reports_after_its_delay() {
    let delay = ReadinessSpec::Delay(fixed(SimDuration::from_secs(5)));
    assert_eq!(
        reports(&play(&world(ReleaseKind::Initial, 1), &delay)),
        [(0.0, false), (6.0, true)]
    );
}

#[test]
fn a_debounced_report_of_a_first_deployment_waits_for_the_watch() {
    // If the cluster is ready before the watch begins, or before the first report, this is reported 5 + 5 s after the
    // apply. If it becomes ready later, this is reported 5 s after that.
    for (ready, reported) in [(1, 10.0), (7, 10.0), (12, 17.0)] {
        let played = play(&world(ReleaseKind::Initial, ready), &DEBOUNCE);
        assert_eq!(
            reports(&played),
            [(0.0, false), (reported, true)],
            "ready after {ready} s"
        );
    }
}

#[test]
fn a_debounced_report_of_an_update_counts_from_the_first_event() {
    // The creation of the new pod is the first event, and its readiness the next: one report after 5 s, or two
    // reports.
    for (ready, reported) in [(1, 5.0), (4, 5.0), (7, 12.0)] {
        let played = play(&world(ReleaseKind::Update, ready), &DEBOUNCE);
        assert_eq!(
            reports(&played),
            [(0.0, false), (reported, true)],
            "ready after {ready} s"
        );
    }
}

#[test]
fn a_polling_agent_sees_readiness_at_its_next_poll() {
    for (ready, reported) in [(1, 5.0), (6, 7.0), (300, 378.114), (600, 801.280)] {
        let played = play(&world(ReleaseKind::Initial, ready), &LOOKS);
        assert_eq!(
            reports(&played),
            [(0.0, false), (reported, true)],
            "ready after {ready} s"
        );
    }
}

#[test]
fn a_changed_result_restarts_the_polling() {
    // The empty workload is available at the poll after 5 s. The next polls are 5 s and 2 s later, at 10 s and 12 s;
    // without the change of the state they would be at 9.4 s and 12.28 s.
    let mut world = world(ReleaseKind::Initial, 11);
    let second = without_pods(&world.applications[0].workloads[0]);
    world.applications[0].workloads.push(second);
    assert_eq!(reports(&play(&world, &LOOKS)), [(0.0, false), (12.0, true)]);
}

#[test]
fn a_release_without_workloads_is_ready_when_it_is_applied() {
    let mut world = bare_world(1);
    world.applications[0].workloads.clear();
    for readiness in [&AGENT.readiness, &DEBOUNCE, &LOOKS] {
        let played = play(&world, readiness);
        assert_eq!(
            (reports(&played), played.totals.pulls),
            (vec![(0.0, true)], 0),
            "{readiness:?}"
        );
    }
}

#[test]
fn a_deployment_without_pods_is_ready_once_its_controller_has_observed_it() {
    let mut world = bare_world(1);
    world.applications[0].workloads = vec![without_pods(&world.applications[0].workloads[0])];
    assert_eq!(reports(&play(&world, &AGENT.readiness)), [(0.0, true)]);
    assert_eq!(
        reports(&play(&world, &LOOKS)),
        [(0.0, false), (5.0, true)],
        "its first look"
    );
    assert_eq!(
        reports(&play(&world, &DEBOUNCE)),
        [(0.0, false), (10.0, true)],
        "when the watch has begun"
    );
    world.applications[0].release = ReleaseKind::Update;
    assert_eq!(
        reports(&play(&world, &DEBOUNCE)),
        [(0.0, false), (5.0, true)],
        "its changed template is an event"
    );
}

#[test]
fn a_waiting_apply_ends_when_the_pods_are_ready() {
    for readiness in [DEBOUNCE, LOOKS] {
        let played = play_agent(
            &world(ReleaseKind::Initial, 7),
            AgentSpec {
                wait: true,
                readiness,
                ..AGENT
            },
        );
        assert_eq!(reports(&played), [(7.0, true)]);
        let applied = played.deployments[0]
            .applied
            .map_or(0.0, SimTime::as_secs_f64);
        assert!(
            (applied - APPLIED - 7.0).abs() < 1e-6,
            "applied after {applied} s"
        );
    }
}

#[test]
fn a_waiting_apply_does_not_end_while_a_pod_crashes() {
    // The container crashes 5 s after each start, so the pod is never available.
    let mut world = world(ReleaseKind::Initial, 7);
    world.faults.defect.share = fleetsim_units::Share::ALL;
    let played = play_agent(
        &world,
        AgentSpec {
            wait: true,
            ..AGENT
        },
    );
    assert_eq!(
        (reports(&played), played.deployments[0].applied),
        (Vec::new(), None)
    );
}
