//! Spegel's benchmark: 240 pulls on 10 nodes (AKS, D8ds_v5) from ghcr.io, images of random bytes, without and with
//! Spegel.
//!
//! A DaemonSet is created, so that all ten nodes pull simultaneously; then it is updated to another image, two nodes
//! at a time. A blob is cold at ghcr.io's delivery network until the first download of it has ended; after that a
//! connection is ten times as fast, and a peer can serve the blob. So the first two pulls of an update are slow, with
//! and without Spegel, and the other eight are fast. One world models all of this (`base/spegel.yaml`).
//!
//! Two parameters of ghcr.io are set by hand on the rows of 1 GB: 46 MB/s per cold connection, and 140 ms for each
//! request. The nodes' cards, disks and unpacking rates come from other sources (`base/spegel.yaml`).

use std::fmt::Write;

use fleetsim::stats;
use fleetsim::units::Bytes;
use fleetsim::world::{DistributionSpec, RateModel, ReleaseKind, WorldSpec};

use super::table::{Row, check_missed, compare, published};
use super::worlds::{DAY, Played, layers, play, spegel, spegel_defaults};

const IMAGES: [(&str, u64, u64); 6] = [
    ("1GB-1", 1_000_000_000, 1),
    ("1GB-4", 1_000_000_000, 4),
    ("100MB-1", 100_000_000, 1),
    ("100MB-4", 100_000_000, 4),
    ("10MB-1", 10_000_000, 1),
    ("10MB-4", 10_000_000, 4),
];

/// Rows with an error above 20 %, with the reason for the error.
const MISSED: [(&str, &str); 6] = [
    (
        "100MB-4 none first two",
        "4.3 s, where the same bytes with Spegel, as cold, took 2.6 s",
    ),
    (
        "10MB-1 none create",
        "2 s more than the same bytes in four layers; with Spegel, as cold, 1.9 s",
    ),
    (
        "1GB-4 spegel-0.3.0 other eight",
        "0.8 s too much; the nodes unpack layers faster than those of EKS",
    ),
    (
        "100MB-4 spegel-0.3.0 update",
        "0.16 s too much, from the eight below",
    ),
    (
        "100MB-4 spegel-0.3.0 other eight",
        "0.18 s too much; 25 ms a layer are set, and not of this machine's",
    ),
    (
        "10MB-4 spegel-0.3.0 other eight",
        "0.07 s too much, as the row above",
    ),
];

/// Changes a world of ten nodes to one of the cases.
fn simulated(
    mut world: WorldSpec,
    kind: ReleaseKind,
    with_spegel: bool,
    [bytes, count]: [u64; 2],
) -> Played {
    world.applications[0].release = kind;
    world.images[0].layers = layers("new", count, bytes, bytes);
    world.images[0].previous = layers("old", count, bytes, bytes);
    if !with_spegel {
        world.distribution = DistributionSpec::default();
    }
    play(&world, 1, DAY)
}

fn measured(rows: &[Row], of: [&str; 3]) -> Vec<f64> {
    let is_it =
        |row: &&Row| ["distribution", "image", "phase"].map(|column| row.text(column)) == of;
    let mut rows: Vec<&Row> = rows.iter().filter(is_it).collect();
    rows.sort_by(|a, b| a.number("start_s").total_cmp(&b.number("start_s")));
    rows.iter().map(|row| row.number("pull_s")).collect()
}

fn mean(pulls: &[f64]) -> f64 {
    stats::mean(pulls).expect("pulls")
}

#[test]
fn two_parameters_of_the_registry_predict_most_pulls_without_and_with_peers() {
    let rows = published("spegel-10-nodes.csv");
    println!(
        "\nSpegel's benchmark, pulls from ghcr.io, mean s: ours, published, error (* beyond 20 %)"
    );
    println!("  parameters set on these rows: 2, on the 1GB rows; the others are blind");
    println!(
        "  {:8} {:12}   {:26} {:26} {:26} its other eight",
        "image", "distribution", "create, all ten", "update, all ten", "its first two"
    );
    let mut missed = Vec::new();
    let mut close_means = 0;
    for (image, bytes, count) in IMAGES {
        for distribution in ["none", "spegel-0.3.0"] {
            let peers = distribution != "none";
            let played = [ReleaseKind::Initial, ReleaseKind::Update]
                .map(|kind| simulated(spegel(), kind, peers, [bytes, count]));
            let [create, update] = [&played[0], &played[1]].map(Played::pull_s);
            let [theirs_created, theirs] =
                ["create", "update"].map(|phase| measured(&rows, [distribution, image, phase]));
            assert_eq!(
                [
                    create.len(),
                    update.len(),
                    theirs_created.len(),
                    theirs.len()
                ],
                [10; 4]
            );
            let mut line = format!("  {image:8} {distribution:13}");
            for (part, ours, theirs) in [
                ("create", &create[..], &theirs_created[..]),
                ("update", &update[..], &theirs[..]),
                ("first two", &update[..2], &theirs[..2]),
                ("other eight", &update[2..], &theirs[2..]),
            ] {
                let (ours, theirs) = (mean(ours), mean(theirs));
                let error = ours / theirs - 1.0;
                let close = error.abs() <= 0.2;
                write!(
                    line,
                    " {ours:7.2} {theirs:7.2} {:+6.1} %{}",
                    error * 100.0,
                    if close { ' ' } else { '*' }
                )
                .expect("a String takes all");
                if !close {
                    missed.push(format!("{image} {distribution} {part}"));
                }
                if error.abs() <= 0.15 && (part == "create" || part == "update") {
                    close_means += 1;
                }
            }
            println!("{}", line.trim_end());
            let (first, others) = update.split_at(2);
            if bytes == 1_000_000_000 {
                assert!(
                    first
                        .iter()
                        .all(|first| others.iter().all(|other| first > &(2.0 * other))),
                    "the knee"
                );
            }
            let from_peers = played.each_ref().map(|played| played.totals.from_peers);
            let eight = if peers {
                Bytes::new(8 * bytes)
            } else {
                Bytes::ZERO
            };
            assert_eq!(
                from_peers,
                [Bytes::ZERO, eight],
                "the first wave finds nobody, the other eight do"
            );
        }
    }
    println!("  {close_means} of 24 means within 15 %");
    assert!(close_means >= 18, "{close_means} of 24 means within 15 %");
    check_missed(&missed, &MISSED, "20 %");
}

/// The median of a case's pulls in the world that a user gets.
fn median_with_defaults(kind: ReleaseKind, with_spegel: bool, size: [u64; 2]) -> f64 {
    let mut world = spegel_defaults();
    if let Some(RateModel::LogNormal { median, .. }) = world.registry.per_blob {
        world.registry.per_blob = Some(median.into());
    }
    let mut medians = Vec::new();
    for seed in 1..=3 {
        let mut seeded = world.clone();
        seeded.clusters[0].name = format!("aks-{seed}");
        let pulls = simulated(seeded, kind, with_spegel, size).pull_s();
        medians.push(stats::median(&pulls).expect("pulls"));
    }
    stats::median(&medians).expect("seeds")
}

#[test]
fn the_defaults_and_the_stated_machine_predict_half_of_the_groups() {
    let rows = published("spegel-10-nodes.csv");
    println!("\nSpegel's benchmark with the defaults and the stated machine, median s");
    let mut agreeing = 0;
    for (image, bytes, count) in IMAGES {
        for distribution in ["none", "spegel-0.3.0"] {
            for (kind, phase) in [
                (ReleaseKind::Initial, "create"),
                (ReleaseKind::Update, "update"),
            ] {
                let peers = distribution != "none";
                let ours = median_with_defaults(kind, peers, [bytes, count]);
                let theirs = measured(&rows, [distribution, image, phase]);
                let theirs = stats::median(&theirs).expect("pulls");
                let error = compare(&format!("{image} {distribution} {phase}"), ours, theirs);
                agreeing += usize::from(error.abs() <= 0.2);
            }
        }
    }
    println!("  {agreeing} of 24 within 20 %");
    assert!(agreeing >= 12, "{agreeing} of 24 within 20 %");
}
