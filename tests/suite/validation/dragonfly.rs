//! Volcano Engine's storm through Dragonfly, alone and with Nydus (Dragonfly's blog, 2023-04-13).
//!
//! The world is that of the plain registry (`storm`) without its deadline: the same images, nodes and link. No
//! parameter is fitted. The published peaks of the registry cannot be peaks over one second: 27 GiB in 35 s are more
//! than the 586 MiB/s of that row. They look like means over half a minute to a minute, so they do not show how fast a
//! seed fetches.

use fleetsim::world::DistributionSpec;

use super::storm::{self, GIB};
use super::table::{Row, check_missed, compare, published, title};
use super::worlds::{DAY, Played, Way, play, way};

const MIB: f64 = 1_048_576.0;

/// Returns whether an error is within 20 %, the tolerance of docs/validation.md.
fn is_near(error: f64) -> bool {
    error.abs() <= 0.2
}

const ALONE: &str =
    "what grows with the pods: creating and scheduling them, Dragonfly's own scheduler";
const NYDUS: &str =
    "ours is 1 s of pull and then the pod's start; what grows with the pods is neither";
const UNPACK: &str = "most of the time is unpacking, at the default rate";
const COPIES: &str = "one seed serves the swarm here, while theirs grew to 1.6 copies";
const MINUTE: &str = "a mean over a minute that begins with the pull; how the published peak is averaged is not known";
/// Rows whose bytes from the registry are missed, with the reason.
const MISSED_BYTES: [(&str, &str); 4] = [
    ("nginx 100", COPIES),
    ("nginx 200", COPIES),
    ("nginx 500", COPIES),
    ("tensorflow 500", COPIES),
];
/// Rows whose rate in the registry's busiest minute is missed, with the reason.
const MISSED_MINUTE: [(&str, &str); 7] = [
    ("nginx 50", MINUTE),
    ("nginx 100", MINUTE),
    ("nginx 200", MINUTE),
    ("nginx 500", MINUTE),
    ("tensorflow 100", MINUTE),
    ("tensorflow 200", MINUTE),
    ("tensorflow 500", MINUTE),
];
const MISSED: [(&str, &str); 15] = [
    ("nginx 50 alone", UNPACK),
    ("nginx 100 alone", UNPACK),
    ("nginx 500 alone", ALONE),
    ("tensorflow 50 alone", UNPACK),
    ("tensorflow 100 alone", UNPACK),
    ("tensorflow 200 alone", UNPACK),
    ("tensorflow 500 alone", UNPACK),
    (
        "nginx 50 with Nydus",
        "the chart's times are multiples of 5 s",
    ),
    ("nginx 100 with Nydus", NYDUS),
    ("nginx 200 with Nydus", NYDUS),
    ("nginx 500 with Nydus", NYDUS),
    ("tensorflow 50 with Nydus", NYDUS),
    ("tensorflow 100 with Nydus", NYDUS),
    ("tensorflow 200 with Nydus", NYDUS),
    ("tensorflow 500 with Nydus", NYDUS),
];

fn through(distribution: &DistributionSpec, row: &Row) -> Played {
    let mut world = storm::world(row);
    world.clusters[0].nodes = (row.number("pods") as u32).into();
    world.distribution = distribution.clone();
    // A seed fetches its pieces in parallel.
    world.registry.per_connection = None;
    play(&world, 1, DAY)
}

#[test]
fn a_swarm_relieves_the_registry_of_the_storm() {
    let rows = published("storm-volcano-2023.csv");
    let name = |row: &Row, what: &str| format!("{} {} {what}", row.text("image"), row.text("pods"));
    let [dragonfly, nydus] = [Way::Dragonfly, Way::DragonflyLazy].map(|by| way(by).distribution);
    let alone: Vec<Played> = rows.iter().map(|row| through(&dragonfly, row)).collect();
    let lazily: Vec<Played> = rows.iter().map(|row| through(&nydus, row)).collect();

    title(
        "Volcano Engine through Dragonfly, the registry's busiest minute, MiB/s",
        "none",
    );
    let mut beyond = Vec::new();
    for (row, played) in rows.iter().zip(&alone) {
        let published = row.number("registry_peak_dragonfly_mib_per_s");
        if !is_near(compare(
            &name(row, "alone"),
            played.egress_peak_60s / MIB,
            published,
        )) {
            beyond.push(name(row, "").trim().to_owned());
        }
    }
    check_missed(&beyond, &MISSED_MINUTE, "20 %");
    title(
        "Volcano Engine through Dragonfly, bytes from the registry, GiB",
        "none",
    );
    let mut beyond = Vec::new();
    for (row, played) in rows.iter().zip(&alone) {
        let sent = played.totals.sent.get() as f64;
        if !is_near(compare(
            &name(row, "alone"),
            sent / GIB,
            row.number("registry_bytes_dragonfly_gib"),
        )) {
            beyond.push(name(row, "").trim().to_owned());
        }
        let image = row.number("registry_bytes_plain_gib") / row.number("pods") * GIB;
        assert!(
            (sent / image - 1.0).abs() < 1e-2,
            "one copy, and a config for each pod: {sent} of {image}"
        );
    }
    check_missed(&beyond, &MISSED_BYTES, "20 %");
    title(
        "Volcano Engine through Dragonfly, pods created at once, time until all run, s",
        "none",
    );
    let mut missed = Vec::new();
    for (what, played, column) in [
        ("alone", &alone, "dragonfly_s"),
        ("with Nydus", &lazily, "dragonfly_nydus_s"),
    ] {
        for (row, played) in rows.iter().zip(played) {
            if !is_near(compare(
                &name(row, what),
                played.last_ready_s(),
                row.number(column),
            )) {
                missed.push(name(row, what));
            }
        }
    }
    let slowest = lazily.iter().flat_map(Played::pull_s).fold(0.0, f64::max);
    assert!(
        slowest < 1.5,
        "a lazy pull takes about a second: {slowest} s"
    );
    check_missed(&missed, &MISSED, "20 %");
}
