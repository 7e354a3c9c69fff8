//! Disks of limited size, computed by hand.
//!
//! The image of a [`bare_world`] has one layer of 100 MB that cannot be compressed and takes 1 s to download, so it
//! needs 200 MB in all. Nothing else takes time.

use crate::world::clusters::spec::WorkloadKind;
use crate::world::event::{Event, SpaceEvent};
use crate::world::ids::{OLD, TargetId};
use crate::world::nodes::pull_error::PullError;
use crate::world::nodes::spec::{CollectionSpec, DiskClass, DiskSpec};
use crate::world::quantity::CountOrPercent;
use crate::world::spec::{ReleaseKind, WorldSpec};
use crate::world::testing::{Intervention, Played, bare_world, layer, play, play_with};
use fleetsim_units::{Bytes, Share, SimDuration};

const HOUR: SimDuration = SimDuration::from_hours(1);
const MB: u64 = 1_000_000;

/// Loops of the kubelet that run every second.
fn quick() -> CollectionSpec {
    CollectionSpec {
        monitoring_interval: SimDuration::from_secs(1),
        image_gc_period: SimDuration::from_secs(1),
        ..CollectionSpec::default()
    }
}

/// A disk of `size` MB, of which `used` are used, that never limits a rate.
fn disk(size: u64, used: u64) -> DiskSpec {
    DiskSpec {
        size: Some(Bytes::new(size * MB)),
        used: Bytes::new(used * MB).into(),
        collection: quick(),
        ..DiskClass::None.spec()
    }
}

fn world(disk: DiskSpec) -> WorldSpec {
    let mut world = bare_world(1);
    world.node.disk = Some(disk);
    world
}

/// A world with two pods of an older image of 200 MB, which takes 400 MB.
fn update(disk: DiskSpec) -> WorldSpec {
    let mut world = world(disk);
    world.applications[0].release = ReleaseKind::Update;
    world.images[0].previous = vec![layer("old", 200 * MB)];
    world
}

fn of_kind(played: &Played, wanted: SpaceEvent) -> Vec<f64> {
    played.times(|event| matches!(event, Event::Space(_, kind) if *kind == wanted))
}

/// When the cluster was ready, in milliseconds. Unpacking takes 100 ns or less.
fn ready_ms(played: &Played) -> Option<u64> {
    let ready = played.ready_s()[0]?;
    Some((ready * 1e3).round() as u64)
}

/// When the last pull ended, in milliseconds.
fn last_pull_ms(played: &Played) -> Option<u64> {
    let last = played.facts[0].last_pull?;
    Some((last.as_secs_f64() * 1e3).round() as u64)
}

fn failures(played: &Played) -> u64 {
    played.totals.failed_pulls[PullError::NoSpace as usize]
}

#[test]
fn a_download_stops_when_the_disk_is_full() {
    let played = play(&world(disk(60, 0)), 1, SimDuration::from_secs(5));
    // 60 MB arrive in 0.6 s, and stay for the next attempt.
    assert_eq!(failures(&played), 1);
    assert_eq!(played.totals.sent, Bytes::new(60 * MB));
    assert_eq!(played.totals.lost, Bytes::new(60 * MB));
    assert_eq!(ready_ms(&played), None);
}

#[test]
fn a_layer_that_does_not_fit_unpacked_fails_its_pull() {
    let played = play(&world(disk(199, 0)), 1, SimDuration::from_secs(5));
    assert_eq!(failures(&played), 1);
    assert_eq!(played.totals.received, Bytes::new(100 * MB));
    assert_eq!(last_pull_ms(&played), Some(1000));
    let played = play(&world(disk(200, 0)), 1, SimDuration::from_secs(5));
    assert_eq!((failures(&played), ready_ms(&played)), (0, Some(1000)));
}

#[test]
fn blobs_that_are_not_kept_make_room_for_the_next_layer() {
    // Three layers of 40 MB need 40 MB each for their blobs until they are unpacked, and 120 MB afterwards.
    let mut world = world(disk(160, 0));
    world.images[0].layers = vec![
        layer("a", 40 * MB),
        layer("b", 40 * MB),
        layer("c", 40 * MB),
    ];
    world.node.runtime.download_slots = 1;
    world.node.keep_blobs = true;
    assert_eq!(failures(&play(&world, 1, SimDuration::from_secs(5))), 1);
    world.node.keep_blobs = false;
    let played = play(&world, 1, SimDuration::from_secs(5));
    assert_eq!((failures(&played), ready_ms(&played)), (0, Some(1200)));
}

#[test]
fn a_disk_that_is_never_nearly_full_changes_nothing() {
    let limited = play(&update(disk(10_000, 300)), 1, HOUR);
    let free = play(&update(DiskClass::None.spec()), 1, HOUR);
    assert_eq!(limited.events, free.events);
    assert_eq!(limited.totals, free.totals);
}

#[test]
fn the_previous_image_is_removed_when_no_pod_uses_it() {
    // At first 300 of 1,000 MB are free, and 100 while the new layer is unpacked after 1 s. Then the new pod is ready,
    // the old one is gone, and the next look removes 400 MB. Pressure lasts for 5 min.
    let mut disk = disk(1000, 300);
    disk.collection.image_gc_period = HOUR;
    let played = play(&update(disk), 1, HOUR);
    assert_eq!(ready_ms(&played), Some(1000));
    assert_eq!(played.totals.removed_images, 1);
    assert_eq!(played.totals.disk_pressures, 1);
    let looks = of_kind(&played, SpaceEvent::Look);
    assert_eq!(looks.len(), 2, "{looks:?}");
    assert!(looks[0] > 1.0 && looks[0] <= 2.0, "{looks:?}");
    assert!((looks[1] - looks[0] - 300.0).abs() < 1e-9, "{looks:?}");
}

#[test]
fn a_node_under_pressure_takes_no_pods() {
    let mut disk = disk(1000, 200);
    // 240 MB of these keep the disk just below both thresholds: 160 MB are free.
    disk.unused_images = Bytes::new(900 * MB).into();
    let mut world = update(disk);
    world.applications[0].workloads[0].min_ready = SimDuration::from_secs(10);
    world.applications[0].workloads[0].kind = WorkloadKind::Deployment {
        replicas: 2,
        max_unavailable: CountOrPercent::Count(0),
        max_surge: CountOrPercent::Count(1),
        progress_deadline: HOUR,
    };
    let played = play(&world, 1, HOUR);
    // The download leaves 60 MB. The next look removes the unused images, and the second new pod, which is created
    // after 11 s, waits for the end of the pressure.
    let looks = of_kind(&played, SpaceEvent::Look);
    assert!(looks[0] > 0.0 && looks[0] <= 1.0, "{looks:?}");
    assert_eq!(looks.len(), 2, "{looks:?}");
    assert_eq!(played.totals.disk_pressures, 1);
    let ready = played.ready_s()[0].expect("the update ends");
    assert!((ready - looks[0] - 310.0).abs() < 1e-6, "{ready} {looks:?}");
    let enough = play(&update(self::disk(10_000, 200)), 1, HOUR);
    assert_eq!(ready_ms(&enough), Some(1000), "without a limit");
}

#[test]
fn the_collector_frees_space_down_to_the_low_threshold() {
    let mut disk = disk(1000, 100);
    disk.unused_images = Bytes::new(900 * MB).into();
    disk.collection.image_gc_high_threshold_percent = 50;
    disk.collection.image_gc_low_threshold_percent = 40;
    disk.collection.imagefs_available = Share::NONE;
    let played = play(&world(disk), 1, HOUR);
    // 390 MB of unused images remain at the start, so 510 are free. The download leaves 410, and the collector frees
    // 190. Unpacking leaves 500, and the collector frees 100.
    let collections = of_kind(&played, SpaceEvent::Collect);
    assert_eq!(collections.len(), 2, "{collections:?}");
    assert!((collections[1] - collections[0] - 1.0).abs() < 1e-9);
    assert_eq!(of_kind(&played, SpaceEvent::Look), [0.0; 0]);
    assert_eq!(played.totals.disk_pressures, 0);
    assert_eq!(ready_ms(&played), Some(1000));
}

#[test]
fn an_image_stays_until_it_is_old_enough() {
    // The first image is pulled after 1 s, and its pod is gone after 30 s. The second one then lacks 50 MB to be
    // unpacked, in the attempts after 31, 41, 61 and 101 s. The first image is 2 min old after 121 s, and the next
    // attempt comes after 181 s.
    let mut disk = disk(1000, 650);
    disk.collection.pressure_transition = SimDuration::ZERO;
    let mut world = world(disk);
    world.images[0].previous = vec![layer("old", 100 * MB)];
    world.applications[0].workloads[0].kind = WorkloadKind::Deployment {
        replicas: 1,
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
        progress_deadline: HOUR,
    };
    let back: Intervention = |world, queue| world.instruct(TargetId(0), OLD, queue);
    let played = play_with(&world, 1, HOUR, &[(30.0, back)]);
    assert_eq!(failures(&played), 4);
    assert_eq!(played.totals.removed_images, 1);
    assert_eq!(last_pull_ms(&played), Some(181_000));
}

#[test]
fn a_kubelet_that_can_remove_nothing_has_nothing_to_do() {
    // The old image of 20 MB leaves 110 of 1,000 MB, and without it there would be 130, which are too few, too. The
    // old pod is gone after 10 s, so that no image is in use, and the new one is never admitted.
    let mut world = update(disk(1000, 870));
    world.images[0].previous = vec![layer("old", 10 * MB)];
    world.applications[0].workloads[0].termination = SimDuration::from_secs(10).into();
    world.applications[0].workloads[0].kind = WorkloadKind::DaemonSet {
        max_unavailable: CountOrPercent::Count(1),
        max_surge: CountOrPercent::Count(0),
    };
    let played = play(&world, 1, HOUR);
    assert_eq!(ready_ms(&played), None);
    assert_eq!(played.totals.disk_pressures, 1);
    assert_eq!(played.totals.removed_images, 1);
    let (last, _) = played.events.last().expect("the old pod ends");
    assert!(last.as_secs_f64() < 15.0, "{last:?}");
}
