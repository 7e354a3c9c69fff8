//! Several releases of one application in a world without a product, with bytes and times by hand.

use crate::world::clusters::agent_spec::AgentSpec;
use crate::world::clusters::spec::{ProbeSpec, WorkloadKind};
use crate::world::distribution::spec::LazySpec;
use crate::world::event::{AgentEvent, Event};
use crate::world::faults::spec::{DefectKind, DefectSpec, ReleaseFaults};
use crate::world::ids::{ApplicationId, NEW, OLD, TargetId, later_revision};
use crate::world::quantity::CountOrPercent;
use crate::world::spec::{LaterRelease, PlatformSpec, ReleaseKind, WorldSpec};
use crate::world::testing::{
    Intervention, Played, Script, bare_world, fixed, layer, play_agent_with, play_script, play_with,
};
use fleetsim_units::{Bytes, BytesPerSec, Share, SimDuration};

const MB: u64 = 1_000_000;
const HOUR: SimDuration = SimDuration::from_hours(1);
const SHOP: ApplicationId = ApplicationId(0);
const STORE: TargetId = TargetId(0);
const PROBE: ProbeSpec = ProbeSpec {
    initial_delay: SimDuration::ZERO,
    period: SimDuration::from_secs(10),
    success_threshold: 1,
};

/// A cluster with an update of 40 of 100 MB, and a later release that changes 10 MB.
fn world() -> WorldSpec {
    let mut world = bare_world(1);
    let application = &mut world.applications[0];
    application.release = ReleaseKind::Update;
    application.later = vec![LaterRelease::default()];
    let image = &mut world.images[0];
    image.previous = vec![layer("base", 60 * MB), layer("old", 40 * MB)];
    image.layers = vec![layer("base", 60 * MB), layer("app", 40 * MB)];
    image.later = vec![vec![layer("base", 60 * MB), layer("fix", 10 * MB)]];
    world
}

/// A revision whose containers never become ready, in every cluster.
fn unready() -> ReleaseFaults {
    ReleaseFaults {
        defect: DefectSpec {
            share: Share::ALL,
            kind: DefectKind::Unready,
            ..DefectSpec::default()
        },
        ..ReleaseFaults::default()
    }
}

/// Releases the installed revision again.
const BACK: Intervention = |world, queue| {
    world.publish(SHOP, OLD, queue);
    world.instruct(STORE, OLD, queue);
};

/// Releases the first later revision.
const FORWARD: Intervention = |world, queue| {
    world.publish(SHOP, later_revision(0), queue);
    world.instruct(STORE, later_revision(0), queue);
};

fn played(world: &WorldSpec, interventions: &[(f64, Intervention)]) -> Played {
    play_with(world, 1, HOUR, interventions)
}

#[test]
fn a_later_release_pulls_the_layers_that_it_changes() {
    let fixed_forward = played(&world(), &[(100.0, FORWARD)]);
    assert_eq!(fixed_forward.totals.sent.get(), 50 * MB, "40 and 10 MB");
    assert!(fixed_forward.ready_s()[0].is_some_and(|at| at > 100.0));
}

#[test]
fn a_way_back_pulls_nothing_that_the_nodes_still_have() {
    let back = played(&world(), &[(100.0, BACK)]);
    assert_eq!(back.totals.sent.get(), 40 * MB);
    assert_eq!(back.ready_s(), [Some(100.0)]);
}

#[test]
fn a_later_release_with_the_same_image_pulls_nothing() {
    let mut world = world();
    world.images[0].later = vec![world.images[0].layers.clone()];
    let again = played(&world, &[(100.0, FORWARD)]);
    assert_eq!(again.totals.sent.get(), 40 * MB);
}

#[test]
fn a_target_that_runs_the_wanted_revision_already_is_ready_at_once() {
    let world = world();
    let script = Script {
        seed: 1,
        horizon: HOUR,
        instructed: Vec::new(),
        interventions: &[(30.0, |world, queue| world.publish(SHOP, OLD, queue))],
    };
    let played = play_script(&world, &PlatformSpec::INSTANT, &script);
    assert_eq!(played.ready_s(), [Some(30.0)]);
    assert_eq!(played.totals.sent.get(), 0);
}

#[test]
fn an_agent_reports_that_an_instruction_was_withdrawn_before_it_applied_it() {
    let slow = AgentSpec {
        instruction_delay: fixed(SimDuration::from_secs(5)),
        ..AgentSpec::INSTANT
    };
    let played = play_agent_with(&world(), slow, &[(1.0, BACK)]);
    let reports = played.times(|event| {
        matches!(event, Event::Agent(AgentEvent::ReportArrives(report)) if report.applied == OLD && report.ready)
    });
    assert_eq!(
        reports,
        [5.0],
        "the first of the two messages finds nothing to apply"
    );
    assert_eq!(played.totals.pulls, 0);
}

#[test]
fn a_target_is_exposed_until_all_of_its_pods_run_another_revision() {
    let mut world = world();
    world.faults.defect = unready().defect;
    world.applications[0].workloads[0].readiness = Some(PROBE);
    // The old pod keeps serving, so the way back takes no time.
    let back = played(&world, &[(100.0, BACK)]);
    assert_eq!(back.deployments[0].exposed_for, SimDuration::from_secs(100));
    assert!(back.deployments[0].exposed_since.is_none());
    // A pod of the fix must be ready first: it pulls 10 MB and starts for 20 s.
    world.applications[0].workloads[0].start = fixed(SimDuration::from_secs(20));
    let forward = played(&world, &[(100.0, FORWARD)]);
    let exposed = forward.deployments[0].exposed_for.as_secs_f64();
    let ready = forward.ready_s()[0].expect("the fix is ready");
    assert!(
        exposed > 120.0 && (exposed - ready).abs() < 1e-6,
        "{exposed}"
    );
}

#[test]
fn a_defect_belongs_to_its_release() {
    let mut world = world();
    world.applications[0].later[0].faults = unready();
    world.applications[0].workloads[0].readiness = Some(PROBE);
    let first = played(&world, &[]);
    assert!(first.ready_s()[0].is_some(), "the first release works");
    let later = played(&world, &[(100.0, FORWARD)]);
    assert_eq!(later.ready_s(), [None]);
    assert!(later.deployments[0].exposed);
    let again: Intervention = |world, queue| {
        world.publish(SHOP, NEW, queue);
        world.instruct(STORE, NEW, queue);
    };
    let back = played(&world, &[(100.0, FORWARD), (200.0, again)]);
    assert!(back.ready_s()[0].is_some_and(|at| at >= 200.0));
}

/// A service that streams images lazily, with tables of contents of 20 MB.
fn lazy() -> LazySpec {
    LazySpec {
        start_fraction: Share::new(0.1),
        prefetch: Share::new(0.0),
        toc: Bytes::new(20 * MB),
        background: Some(BytesPerSec::new(10e6)),
        ..LazySpec::default()
    }
}

#[test]
fn a_layer_that_comes_in_the_background_for_two_releases_can_be_pulled_again() {
    // The second content mounts the layer `base` while its rest still comes for the first one. The third content has
    // the layer on another one, so it needs the layer once more.
    const AGAIN: Intervention = |world, queue| {
        world.publish(SHOP, later_revision(1), queue);
        world.instruct(STORE, later_revision(1), queue);
    };
    let mut world = world();
    world.applications[0].release = ReleaseKind::Initial;
    world.applications[0].later = vec![LaterRelease::default(); 2];
    world.images[0].previous.clear();
    world.images[0]
        .later
        .push(vec![layer("root", 10 * MB), layer("base", 60 * MB)]);
    world.distribution.lazy = Some(lazy());
    world.node.keep_blobs = false;
    for tenths in 0..100 {
        let at = 2.1 + f64::from(tenths) / 10.0;
        let played = played(&world, &[(2.0, FORWARD), (at, AGAIN)]);
        assert!(played.ready_s()[0].is_some_and(|ready| ready > at), "{at}");
    }
}

#[test]
fn a_pod_whose_image_was_missing_starts_when_another_release_brings_the_image() {
    // Both pods of the first release wait for the image. No pod may be missing during an update, so they stay until a
    // pod of the second release is ready, which has the same content.
    let mut world = world();
    world.applications[0].release = ReleaseKind::Initial;
    world.images[0].previous.clear();
    world.images[0].later = vec![world.images[0].layers.clone()];
    world.faults.not_found = Share::ALL;
    let workload = &mut world.applications[0].workloads[0];
    workload.readiness = Some(PROBE);
    workload.start = fixed(SimDuration::from_secs(600));
    workload.kind = WorkloadKind::Deployment {
        replicas: 2,
        max_unavailable: CountOrPercent::Count(0),
        max_surge: CountOrPercent::Count(1),
        progress_deadline: SimDuration::from_secs(600),
    };
    let found = played(&world, &[(100.0, FORWARD)]);
    assert_eq!(found.totals.sent.get(), 100 * MB, "the image comes once");
    assert!(found.ready_s()[0].is_some_and(|ready| ready > 700.0));
    // The pods of the first release look again while the image is being mounted.
    world.distribution.lazy = Some(LazySpec {
        mount: fixed(SimDuration::from_secs(400)),
        ..lazy()
    });
    let found = played(&world, &[(100.0, FORWARD)]);
    assert!(found.ready_s()[0].is_some_and(|ready| ready > 1100.0));
}
