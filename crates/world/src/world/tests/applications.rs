//! Several applications on the same clusters, compared with times computed by hand.

use super::{DAY, assert_near, deployment, ready, secs};
use crate::world::clusters::agent_spec::AgentSpec;
use crate::world::clusters::autoscaling_spec::AutoscalingSpec;
use crate::world::clusters::spec::WorkloadKind;
use crate::world::event::{AgentEvent, Event};
use crate::world::faults::cut_kind::CutKind;
use crate::world::faults::spec::{DefectSpec, ReleaseFaults};
use crate::world::ids::{ClusterId, TargetId};
use crate::world::quantity::{CountOrPercent, DurationModel};
use crate::world::spec::{
    ApplicationSpec, ImageSpec, LayerSpec, PlatformSpec, ReleaseKind, WorldSpec,
};
use crate::world::testing::{
    Intervention, Played, Script, bare_world, fixed, layer, play, play_on, play_script,
};
use fleetsim_units::{Bytes, Share, SimDuration};

const FIRST: TargetId = TargetId(0);
const SECOND: TargetId = TargetId(1);

/// Adds an application on all clusters, with a Deployment of one pod whose image has these layers.
fn add(world: &mut WorldSpec, name: &str, layers: Vec<LayerSpec>) {
    let mut workload = world.applications[0].workloads[0].clone();
    workload.name = name.to_owned();
    workload.image = world.images.len();
    world.images.push(ImageSpec {
        name: name.to_owned(),
        layers,
        ..world.images[0].clone()
    });
    let release = world.applications[0].release;
    world.applications.push(ApplicationSpec::everywhere(
        name.to_owned(),
        vec![workload],
        release,
    ));
}

/// One node with 100 MB/s, the application `shop` with 100 MB, and another with this layer.
fn two_applications(layer: LayerSpec) -> WorldSpec {
    let mut world = bare_world(1);
    add(&mut world, "other", vec![layer]);
    world
}

/// Plays a world in which only these targets are instructed.
fn play_only(world: &WorldSpec, instructed: &[TargetId]) -> Played {
    let script = Script {
        seed: 1,
        horizon: DAY,
        instructed: instructed.to_vec(),
        interventions: &[],
    };
    play_script(world, &PlatformSpec::INSTANT, &script)
}

#[test]
fn targets_are_ordered_by_application_and_then_by_cluster() {
    let mut world = bare_world(3);
    add(&mut world, "other", vec![layer("other", 100_000_000)]);
    world.applications[1].clusters = Some(vec![0, 2]);
    assert_eq!(world.targets(), 5);
    // The second cluster has one application, the others have two whose pulls follow each other.
    let times: Vec<f64> = (0..5).map(|at| ready(&play(&world, 1, DAY), at)).collect();
    for (time, expected) in times.iter().zip([1.0, 1.0, 1.0, 2.0, 2.0]) {
        assert_near(*time, expected, 1e-6, "ready");
    }
}

#[test]
fn applications_that_share_a_layer_pull_it_once() {
    let mut world = two_applications(layer("own", 50_000_000));
    let base = layer("base", 200_000_000);
    world.images[0].layers.insert(0, base.clone());
    world.images[1].layers.insert(0, base);
    let played = play(&world, 1, DAY);
    // The first image has 300 MB. Of the second, 50 MB are missing.
    assert_near(ready(&played, 0), 3.0, 1e-6, "the first");
    assert_near(ready(&played, 1), 3.5, 1e-6, "the second");
    assert_eq!(played.totals.sent, Bytes::new(350_000_000));
    assert_eq!(played.totals.received, Bytes::new(350_000_000));
}

#[test]
fn two_rollouts_on_one_link_take_as_long_as_their_bytes() {
    let mut world = two_applications(layer("other", 200_000_000));
    world.node.serialize_image_pulls = Some(false);
    let played = play(&world, 1, DAY);
    // Each gets half of 100 MB/s for 2 s. Then the second gets all of it for its other 100 MB.
    assert_near(ready(&played, 0), 2.0, 1e-6, "the first");
    assert_near(ready(&played, 1), 3.0, 1e-6, "the second");
    assert_eq!(played.peak_pulls, 2);
}

#[test]
fn a_kubelet_that_pulls_serially_pulls_for_one_application_after_the_other() {
    let world = two_applications(layer("other", 200_000_000));
    let played = play(&world, 1, DAY);
    assert_near(ready(&played, 0), 1.0, 1e-6, "the first");
    assert_near(ready(&played, 1), 3.0, 1e-6, "the second");
    assert_eq!(played.peak_pulls, 1);
    assert_eq!(played.facts[0].pulls, 2, "the cluster counts both");
}

#[test]
fn an_application_that_is_not_instructed_stays_as_it_is() {
    let mut world = two_applications(layer("other", 100_000_000));
    world.applications[0].release = ReleaseKind::Update;
    world.applications[1].release = ReleaseKind::Update;
    world.clusters[0].nodes = 3.into();
    world.applications[1].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
    };
    // Three nodes pull 100 MB one after another over one link.
    let played = play_only(&world, &[SECOND]);
    assert_near(ready(&played, 1), 3.0, 1e-6, "the DaemonSet");
    assert_eq!(played.ready_s()[0], None);
    assert_eq!(played.totals.pulls, 3);
    // The Deployment has one pod on one node.
    let played = play_only(&world, &[FIRST]);
    assert_near(ready(&played, 0), 1.0, 1e-6, "the Deployment");
    assert_eq!(played.ready_s()[1], None);
    assert_eq!(played.totals.pulls, 1);
}

#[test]
fn a_defective_application_leaves_the_other_ready() {
    let mut world = two_applications(layer("other", 100_000_000));
    world.applications[1].faults = Some(ReleaseFaults {
        defect: DefectSpec {
            share: Share::ALL,
            crash_after: fixed(secs(1.0)),
            ..DefectSpec::default()
        },
        ..ReleaseFaults::default()
    });
    let readiness = crate::world::clusters::spec::ProbeSpec::default();
    world.applications[0].workloads[0].readiness = Some(readiness);
    world.applications[1].workloads[0].readiness = Some(readiness);
    let played = play(&world, 1, SimDuration::from_hours(1));
    assert_near(ready(&played, 0), 1.0, 1e-6, "the first");
    assert_eq!(played.ready_s()[1], None);
    assert!(played.totals.crashes > 0);
    assert!(!played.deployments[0].defective && played.deployments[1].defective);
    // Images that are missing for one of them.
    world.applications[1].faults = Some(ReleaseFaults {
        not_found: Share::ALL,
        ..ReleaseFaults::default()
    });
    let played = play(&world, 1, SimDuration::from_hours(1));
    assert_near(ready(&played, 0), 1.0, 1e-6, "the first");
    assert_eq!(played.ready_s()[1], None);
}

#[test]
fn a_cut_concerns_all_deployments_of_a_cluster_in_their_order() {
    let world = two_applications(layer("other", 100_000_000));
    let agent = AgentSpec {
        instruction_delay: fixed(secs(10.0)),
        ..AgentSpec::INSTANT
    };
    let platform = PlatformSpec {
        agent,
        ..PlatformSpec::INSTANT
    };
    let cut: Intervention = |world, queue| world.cut(ClusterId(0), CutKind::Management, queue);
    let back: Intervention = |world, queue| world.repair(ClusterId(0), CutKind::Management, queue);
    let played = play_on(&world, &platform, 1, DAY, &[(5.0, cut), (60.0, back)]);
    let mut arrivals = Vec::new();
    for (at, event) in &played.events {
        if let Event::Agent(AgentEvent::InstructionArrives(target)) = event {
            arrivals.push((at.as_secs_f64(), *target));
        }
    }
    // The first two arrive in a cluster that is cut off.
    assert_eq!(
        arrivals,
        [(10.0, FIRST), (10.0, SECOND), (70.0, FIRST), (70.0, SECOND)]
    );
    assert_near(ready(&played, 0), 71.0, 1e-6, "the first");
    assert_near(ready(&played, 1), 72.0, 1e-6, "the second");
}

#[test]
fn a_withdrawn_application_takes_only_its_own_pods_along() {
    let mut world = two_applications(layer("other", 100_000_000));
    world.applications[0].workloads[0].termination = fixed(secs(20.0));
    let withdraw: Intervention = |world, queue| world.withdraw(FIRST, queue);
    let platform = PlatformSpec::INSTANT;
    let played = play_on(&world, &platform, 1, DAY, &[(1.5, withdraw)]);
    assert!(played.deployments[0].removed.is_some());
    assert_near(ready(&played, 1), 2.0, 1e-6, "the second");
    assert_eq!(played.deployments[1].removed, None);
}

#[test]
fn pods_of_all_applications_take_the_room_of_nodes() {
    let mut world = two_applications(layer("other", 100_000_000));
    world.applications[0].workloads[0].kind = deployment(2);
    world.applications[1].workloads[0].kind = deployment(2);
    world.clusters[0].autoscaling = Some(AutoscalingSpec {
        min_nodes: Some(1),
        max_nodes: 4,
        pods_per_node: 3,
        decision: fixed(secs(5.0)),
        provisioning: fixed(secs(60.0)),
        creation: None,
    });
    assert_eq!(world.deployed_pods(0), 4);
    let played = play(&world, 1, DAY);
    // The fourth pod waits for a second node.
    assert_eq!(played.totals.joined_nodes, 1);
    assert_near(ready(&played, 0), 1.0, 1e-6, "the first");
    assert_near(ready(&played, 1), 66.0, 1e-6, "the second");
    // The old pods of both have their room at the start: two nodes with three pods each.
    world.applications[0].release = ReleaseKind::Update;
    world.applications[1].release = ReleaseKind::Update;
    assert_eq!(play_only(&world, &[]).totals.joined_nodes, 0);
}

#[test]
fn old_images_are_on_the_nodes_of_every_application_that_is_installed() {
    let mut world = two_applications(layer("other", 100_000_000));
    for image in &mut world.images {
        image.previous = image.layers.clone();
    }
    world.applications[1].release = ReleaseKind::Update;
    let played = play(&world, 1, DAY);
    // Only the second application has its layer already.
    assert_eq!(played.totals.received, Bytes::new(100_000_000));
    world.applications[0].release = ReleaseKind::Update;
    let played = play(&world, 1, DAY);
    assert_eq!(played.totals.received, Bytes::ZERO);
}

/// Applications without images to pull, whose pods take random times.
fn random_starts(names: &[&str]) -> WorldSpec {
    let mut world = bare_world(3);
    world.images[0].layers.clear();
    world.applications[0].workloads[0].start = DurationModel::Uniform {
        min: secs(1.0),
        max: secs(100.0),
    };
    let probe = crate::world::clusters::spec::ProbeSpec {
        period: SimDuration::from_millis(1),
        ..Default::default()
    };
    world.applications[0].workloads[0].readiness = Some(probe);
    for name in names {
        add(&mut world, name, Vec::new());
    }
    world
}

#[test]
fn another_application_changes_no_draw() {
    let alone = play(&random_starts(&[]), 1, DAY).ready_s();
    let two = play(&random_starts(&["b"]), 1, DAY).ready_s();
    let three = play(&random_starts(&["a", "b"]), 1, DAY).ready_s();
    assert_eq!(two[..3], alone[..], "the first application");
    assert_eq!(three[..3], alone[..], "the first application");
    assert_eq!(three[6..], two[3..], "the application b");
    assert_ne!(two[3..], two[..3], "applications draw independently");
}
