//! Spegel's benchmark without Spegel: 120 pulls on 10 nodes (AKS, D8ds_v5) from ghcr.io, images of random bytes.
//!
//! A blob is cold at ghcr.io's delivery network until somebody's download of it has ended, and then a connection carries
//! ten times as much. So all pulls of the create phase are cold, which start together, and the first two of the
//! update phase; the rest of it is warm. Each of the three is a world of its own here, with the connection's rate set.
//! Four parameters, set by hand on the rows of 1 GB: 46 and 520 MB/s a connection, 345 MB/s of unpacking, and 140 ms for each
//! request (and a round trip of 10 ms, a guess that the last one absorbs). The rows of 10 and 100 MB are then blind.
//!
//! Left for when there are peers and a delivery network that warms up: the 12 rows with Spegel, and cold and warm in
//! one world.

use fleetsim::stats;
use fleetsim::units::{BytesPerSec, SimDuration};
use fleetsim::world::DurationModel;

use super::table::{Row, compare, published, title};
use super::worlds::{DAY, base, layers, play, secs};

const COLD: f64 = 46e6;
const WARM: f64 = 520e6;

/// Rows that the model does not meet within 15 %, and why.
const MISSED: [(&str, &str, &str); 4] = [
    (
        "10MB-1",
        "create",
        "2 s more than the same bytes in four layers took; the run with Spegel has 1.6 s in its place",
    ),
    ("100MB-4", "create", "25 MB a layer came at 30 MB/s cold, not 46: as if a cold blob let wait for its first byte"),
    ("100MB-4", "update cold", "as the row above; two pulls"),
    ("1GB-1", "update cold", "32 MB/s a connection, where the create phase had 46; two pulls"),
];

fn simulated(image: &str, connection: f64) -> f64 {
    let (size, count) = image.split_once('-').expect("size and layers");
    let bytes = match size {
        "10MB" => 10_000_000,
        "100MB" => 100_000_000,
        "1GB" => 1_000_000_000,
        other => panic!("a size of {other}"),
    };
    let mut world = base();
    world.clusters[0].rtt = SimDuration::from_millis(10);
    world.registry.service_time = DurationModel::Constant(SimDuration::from_millis(140));
    world.registry.per_connection = Some(BytesPerSec::new(connection));
    world.node.unpack_rate = BytesPerSec::new(345e6);
    world.node.unpack_per_layer = secs(0.025);
    world.images[0].layers = layers(image, count.parse().expect("a number of layers"), bytes, bytes);
    play(&world, 1, DAY).pull_s()[0]
}

#[test]
fn four_rates_set_on_1_gb_tell_most_pulls_of_10_and_100_mb() {
    let rows = published("spegel-10-nodes.csv");
    title(
        "Spegel's benchmark, pulls from ghcr.io without Spegel, median s",
        "4, on the 1GB rows; the others are blind",
    );
    let mut missed = Vec::new();
    for image in ["1GB-1", "1GB-4", "100MB-1", "100MB-4", "10MB-1", "10MB-4"] {
        let of = |phase: &str| -> Vec<&Row> {
            let is_it = |row: &&Row| {
                row.text("distribution") == "none" && row.text("image") == image && row.text("phase") == phase
            };
            rows.iter().filter(is_it).collect()
        };
        let (create, mut update) = (of("create"), of("update"));
        update.sort_by(|a, b| a.number("start_s").total_cmp(&b.number("start_s")));
        let (cold, warm) = update.split_at(2);
        assert_eq!((create.len(), warm.len()), (10, 8));
        for (phase, rows, connection) in
            [("create", create.as_slice(), COLD), ("update cold", cold, COLD), ("update warm", warm, WARM)]
        {
            let pulls: Vec<f64> = rows.iter().map(|row| row.number("pull_s")).collect();
            let measured = stats::median(&pulls).expect("pulls");
            let error = compare(&format!("{image} {phase}"), simulated(image, connection), measured);
            if error.abs() > 0.15 {
                missed.push((image, phase));
            }
        }
    }
    for (image, phase, why) in MISSED {
        println!("  missed: {image} {phase}: {why}");
    }
    let mut expected: Vec<_> = MISSED.iter().map(|&(image, phase, _)| (image, phase)).collect();
    expected.sort_unstable();
    missed.sort_unstable();
    assert_eq!(missed, expected, "rows beyond 15 %");
}
