//! Ways of distribution against what others have measured: Spegel's benchmark, Dragonfly at Volcano Engine, Kraken.
//!
//! Each test prints its table (`cargo test --test distribution_published -- --nocapture`): our figure, the published one, the
//! error, and how many parameters were set on the figures that are compared. Rows that are missed are listed with the
//! reason, and must be missed: nothing is fitted away.

#![allow(clippy::print_stdout, reason = "the tables are what these tests are for")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use fleetsim::record::RunRecord;
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;
use fleetsim::units::SimTime;
use fleetsim::world::Event;

/// A run, with the seconds that each image pull took, in the order in which they began.
struct Run {
    record: RunRecord,
    pulls: Vec<f64>,
}

/// Runs an experiment of one cluster in which every node pulls one image.
fn run(text: &str) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("experiment.yaml"), text).expect("written");
    let experiment =
        load(folder.path(), &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let mut applied = None;
    let mut gone: Vec<SimTime> = Vec::new();
    let mut ends: BTreeMap<u32, SimTime> = BTreeMap::new();
    let mut watch = |now: SimTime, event: &Event| match event {
        Event::Applied { .. } => applied = Some(now),
        Event::PodGone { .. } => gone.push(now),
        Event::Pulled { pull } => {
            ends.insert(pull.0, now);
        }
        _ => {}
    };
    let record = sim::run_observed(&experiment.variants[0], experiment.seed, 0, &mut watch);
    let applied = applied.expect("the release was applied");
    // A DaemonSet's pod is created, and its pull begins, when the old pod is gone, or at once where there is none.
    let began = |pull: u32| gone.get(pull as usize).copied().unwrap_or(applied);
    let pulls = ends.iter().map(|(&pull, &end)| (end - began(pull)).as_secs_f64()).collect();
    Run { record, pulls }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Prints a row, and returns whether ours over the published figure is in `right`.
fn compare(name: &str, ours: f64, published: f64, right: RangeInclusive<f64>) -> bool {
    let ratio = ours / published;
    let met = right.contains(&ratio);
    let mark = if met { "" } else { "  missed" };
    println!("  {name:<42} {ours:>8.2} {published:>8.2} {:>+7.1} %{mark}", (ratio - 1.0) * 100.0);
    met
}

/// Within 15 %.
const CLOSE: RangeInclusive<f64> = 0.85..=1.15;
/// Within a factor of 1.5.
const NEAR: RangeInclusive<f64> = 1.0 / 1.5..=1.5;

fn check(missed: &[String], expected: &[(&str, &str)]) {
    for (row, why) in expected {
        println!("  missed: {row}: {why}");
    }
    let expected: Vec<&str> = expected.iter().map(|(row, _)| *row).collect();
    assert_eq!(missed, expected, "rows beyond the tolerance");
}

const MB: [(&str, u64, u64); 6] = [
    ("1GB-1", 1000, 1),
    ("1GB-4", 1000, 4),
    ("100MB-1", 100, 1),
    ("100MB-4", 100, 4),
    ("10MB-1", 10, 1),
    ("10MB-4", 10, 4),
];

/// Ten nodes of AKS (D8ds_v5, 12.5 Gbit/s) that pull from ghcr.io; a release and then an update of two nodes at a time.
fn spegel(distribution: &str, kind: &str, megabytes: u64, layers: u64) -> Run {
    let size = megabytes as f64 / layers as f64;
    let list = |tag: &str| -> String {
        let layer = |at| format!("{{digest: {tag}{at}, size: {size} MB}}");
        (0..layers).map(layer).collect::<Vec<_>>().join(", ")
    };
    run(&format!(
        "name: spegel\nseed: 1\nreplicates: 1\n\
         fleet: [{{name: aks, nodes: 10, downlink: 100 Gbit/s, rtt: 10 ms}}]\n\
         registry: {{egress: 100 Gbit/s, cdn: {{cold: 46 MB/s, warm: 520 MB/s}}, serviceTime: 140 ms}}\n\
         node: {{nic: 12.5 Gbit/s, unpackRate: 345 MB/s, unpackSpread: 0, unpackPerLayer: 25 ms, pullConstant: 0 s, \
         startOverhead: 1 s}}\n\
         distribution: {distribution}\n\
         release:\n  kind: {kind}\n\
         \x20 images: [{{name: random, compressionRatio: 1, manifest: {{layers: [{}]}}, previous: {{layers: [{}]}}}}]\n\
         \x20 workloads: [{{kind: DaemonSet, image: random, maxUnavailable: 2, termination: 1 s}}]\n\
         strategies: {{bound: {{allAtOnce: {{}}}}}}\n",
        list("new"),
        list("old"),
    ))
}

/// Rows of Spegel's benchmark beyond 15 %, and why.
const SPEGEL_MISSED: &[(&str, &str)] = &[
    ("100MB-4 none create", "25 MB a layer came at 30 MB/s cold, not 46, as if a cold blob had to be waited for"),
    ("100MB-4 none update", "as above: its first two pulls took 4.3 s, the same bytes with Spegel 2.6 s"),
    (
        "10MB-1 none create",
        "2 s more than the same bytes in four layers took; the run with Spegel has 1.9 s in its place",
    ),
    ("10MB-1 spegel-0.3.0 create", "1.4 to 2.5 s on one image at one time: ghcr.io answered unevenly"),
];

#[test]
fn spegels_benchmark_in_24_rows() {
    // The rates were set on the rows of 1 GB: 46 and 520 MB/s a connection cold and warm, 345 MB/s of unpacking, 140 ms for
    // each request at ghcr.io, 600 MB/s from a peer.
    println!("Spegel's benchmark, mean s of ten pulls; 5 parameters, set on the 1GB rows, the others are blind");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/validation/data/spegel-10-nodes.csv");
    let mut reader = csv::Reader::from_path(path).expect("the published rows");
    let published: Vec<(String, String, String, f64, f64)> =
        reader.deserialize().collect::<Result<_, _>>().expect("rows");
    let mut missed = Vec::new();
    for (image, megabytes, layers) in MB {
        for (distribution, way) in [("none", "{direct: {}}"), ("spegel-0.3.0", "{spegel: {peerConnection: 600 MB/s}}")]
        {
            for (phase, kind) in [("create", "initial"), ("update", "update")] {
                let simulated = spegel(way, kind, megabytes, layers);
                let mut rows: Vec<(f64, f64)> = published
                    .iter()
                    .filter(|row| (row.0.as_str(), row.1.as_str(), row.2.as_str()) == (distribution, image, phase))
                    .map(|row| (row.3, row.4))
                    .collect();
                rows.sort_by(|a, b| a.0.total_cmp(&b.0));
                let measured: Vec<f64> = rows.iter().map(|row| row.1).collect();
                assert_eq!((measured.len(), simulated.pulls.len()), (10, 10));
                let name = format!("{image} {distribution} {phase}");
                if !compare(&name, mean(&simulated.pulls), mean(&measured), CLOSE) {
                    missed.push(name.clone());
                }
                if phase == "update" {
                    // The first two nodes go ahead, the others profit, from the network or from the peers.
                    compare(&format!("{name}, first two"), mean(&simulated.pulls[..2]), mean(&measured[..2]), CLOSE);
                    compare(&format!("{name}, others"), mean(&simulated.pulls[2..]), mean(&measured[2..]), CLOSE);
                    if megabytes == 1000 {
                        assert!(
                            simulated.pulls[..2]
                                .iter()
                                .all(|first| simulated.pulls[2..].iter().all(|other| *first > 2.0 * other))
                        );
                    }
                }
                let record = &simulated.record.run;
                if distribution == "none" {
                    assert_eq!(record.peer_bytes, 0);
                } else if phase == "update" {
                    assert_eq!(record.peer_bytes, 8 * megabytes * 1_000_000 + 8 * 8_000, "{image}: eight of ten");
                } else {
                    assert_eq!(record.peer_bytes, 0, "{image}: the first wave finds nobody");
                }
            }
        }
    }
    check(&missed, SPEGEL_MISSED);
}

/// N pods on N nodes behind a registry of 10 Gbit/s, by way of Dragonfly.
fn volcano(mebibytes: u64, layers: u64, pods: u32, distribution: &str) -> Run {
    let layer = format!("{{size: {} MiB}}", mebibytes as f64 / layers as f64);
    let list = vec![layer; layers as usize].join(", ");
    run(&format!(
        "name: volcano\nseed: 1\nreplicates: 1\n\
         fleet: [{{name: vke, nodes: {pods}, downlink: 10 Gbit/s, rtt: 1 ms}}]\n\
         registry: {{egress: 10 Gbit/s, perConnection: unlimited}}\n\
         distribution: {distribution}\n\
         release:\n  kind: initial\n\
         \x20 images: [{{name: image, manifest: {{layers: [{list}]}}}}]\n\
         \x20 workloads: [{{kind: DaemonSet, image: image}}]\n\
         strategies: {{bound: {{allAtOnce: {{}}}}}}\n",
    ))
}

/// Rows of Volcano Engine's table beyond a factor of 1.5, and why.
const VOLCANO_MISSED: &[(&str, &str)] = &[
    (
        "nginx 100 dragonfly + nydus",
        "the lazy pull itself is over in 1 s; 3 s are the pod's start. What grows with the pods",
    ),
    (
        "nginx 200 dragonfly + nydus",
        "is not the pull: creating and scheduling them, the scheduler of Dragonfly, Nydus's own",
    ),
    (
        "nginx 500 dragonfly",
        "start, and 5 s are the chart's resolution. None of it is modelled: see the rows above and",
    ),
    ("nginx 500 dragonfly + nydus", "below"),
    ("tensorflow 50 dragonfly + nydus", "as above"),
    ("tensorflow 100 dragonfly + nydus", "as above"),
    ("tensorflow 200 dragonfly + nydus", "as above"),
    ("tensorflow 500 dragonfly + nydus", "as above"),
];

#[test]
fn dragonfly_at_volcano_engine() {
    println!(
        "Dragonfly at Volcano Engine, s until all pods run (chart in the Dragonfly blog, 2023-04-13); 1 parameter, the \
         seed's 100 MiB/s, set on the registry's peak; 5 and 10 equal layers are a guess"
    );
    let table = [
        ("nginx", 561, 5, [(50, 10.0, 5.0), (100, 10.0, 10.0), (200, 15.0, 15.0), (500, 25.0, 15.0)]),
        ("tensorflow", 3210, 10, [(50, 40.0, 10.0), (100, 40.0, 10.0), (200, 50.0, 15.0), (500, 55.0, 15.0)]),
    ];
    let mut missed = Vec::new();
    for (image, mebibytes, layers, rows) in table {
        for (pods, plain, nydus) in rows {
            let dragonfly = "{dragonfly: {sourceRate: 100 MiB/s}}".to_owned();
            let lazy = format!("{{lazy: {{via: {dragonfly}}}}}");
            for (what, distribution, published) in [("dragonfly", dragonfly, plain), ("dragonfly + nydus", lazy, nydus)]
            {
                let run = volcano(mebibytes, layers, pods, &distribution);
                let ready = run.record.clusters[0].ready_s.expect("ready");
                let applied = run.record.clusters[0].applied_s.expect("applied");
                let name = format!("{image} {pods} {what}");
                // Reports of readiness come 5 s late; the table's times are from creation until all containers run.
                if !compare(&name, ready - applied - 5.0, published, NEAR) {
                    missed.push(name);
                }
                if what == "dragonfly" {
                    let egress = run.record.run.egress_bytes as f64 / f64::from(1 << 30);
                    println!(
                        "    registry bytes {egress:.2} GiB, peak {:.0} MiB/s",
                        run.record.run.egress_peak_1s_bytes_per_s / f64::from(1 << 20)
                    );
                }
            }
        }
    }
    check(&missed, VOLCANO_MISSED);
}

/// Kraken's figures that are missed, and why.
const KRAKEN_MISSED: &[(&str, &str)] =
    &[("p99", "a fluid has no slow peers and no unlucky choice of pieces: all its members end together")];

#[test]
fn kraken_on_2600_hosts() {
    println!(
        "Kraken on 2 600 hosts, 3 GB in two layers, 300 MB/s in and out, 5 origins (its README); no parameter set"
    );
    let run = run("name: kraken\nseed: 1\nreplicates: 1\n\
         fleet: [{name: hosts, nodes: 2600, downlink: 100 Gbit/s, rtt: 1 ms}]\n\
         registry: {egress: 100 Gbit/s, perConnection: unlimited}\n\
         node: {nic: 25 Gbit/s, unpackRate: 1000 GB/s, unpackPerLayer: 0 s, pullConstant: 0 s}\n\
         distribution: {kraken: {seeds: 5, seedOut: 300 MB/s, peerOut: 300 MB/s, peerIn: 300 MB/s}}\n\
         release:\n  kind: initial\n\
         \x20 images: [{name: image, manifest: {layers: [{size: 1.5 GB}, {size: 1.5 GB}]}}]\n\
         \x20 workloads: [{kind: DaemonSet, image: image}]\n\
         strategies: {bound: {allAtOnce: {}}}\n");
    let mut pulls = run.pulls;
    pulls.sort_by(f64::total_cmp);
    let at = |share: f64| pulls[(share * (pulls.len() - 1) as f64) as usize];
    let mut missed = Vec::new();
    for (name, ours, published, right) in
        [("p50", at(0.5), 10.0, 1.0..=1.2), ("p99", at(0.99), 18.0, 15.0 / 18.0..=22.0 / 18.0)]
    {
        if !compare(name, ours, published, right) {
            missed.push(name.to_owned());
        }
    }
    assert_eq!(run.record.run.egress_bytes, 3_000_000_000 + 2600 * 8_000, "one copy, and everybody's config");
    check(&missed, KRAKEN_MISSED);
}
