//! The settings to paste reproduce the fit in an ordinary experiment, which has the defaults otherwise.
//!
//! Each case calibrates a generated stream, pastes the printed settings, and pulls each image again. A constant that is
//! pasted without the round trip it contains would be paid twice.

#![expect(
    clippy::print_stdout,
    reason = "the differences are what these tests are for"
)]

use std::fmt::Write as _;
use std::path::Path;

use fleetsim::scenario::{Overrides, load};
use serde_json::Value;
use tempfile::TempDir;

use super::super::common::{contents, folder_with};
use super::super::validation::worlds::{DAY, play};
use super::stream::{EventStream, Kubelet, benchmark};
use super::{NAMES, calibrated, number};

/// Largest difference between a pull in the experiment and the fit.
const TOLERANCE: f64 = 0.03;

/// An experiment without clusters and with one image. An image of which only the size is known gets three layers.
fn ordinary(image: &Value) -> String {
    let known = number(&image["layers"]);
    let layers = if known > 1.0 { known } else { 3.0 };
    let compressed = number(&image["compressed_bytes"]) / layers;
    let uncompressed = number(&image["uncompressed_bytes"]) / layers;
    let mut text = "name: ordinary\nreplicates: 1\nrelease:\n  kind: initial\n  images:\n    - name: bench\n      \
                    manifest:\n        layers:\n"
        .to_owned();
    for layer in 0..layers as u64 {
        let _ = writeln!(
            text,
            "          - {{digest: layer-{layer}, size: {} B, uncompressed: {} B}}",
            compressed.round().max(1.0),
            uncompressed.round().max(1.0)
        );
    }
    text.push_str(
        "  workloads: [{kind: Deployment, image: bench}]\nstrategies: {all: {allAtOnce: {}}}\n",
    );
    text
}

/// The duration of a pull in an experiment with these settings.
fn pulled(folder: &Path, experiment: &str) -> f64 {
    let path = folder.join("experiment.yaml");
    std::fs::write(&path, experiment).expect("written");
    let loaded = load(&path, &Overrides::default())
        .unwrap_or_else(|error| panic!("{}\n{experiment}", error.render(false)));
    let mut world = (*loaded.variants[0].scenario.world).clone();
    // The fit describes the median node.
    world.node.unpack_spread = 0.0;
    play(&world, 1, DAY).pull_s()[0]
}

/// Calibrates the stream and returns the largest difference between the fit and pulls with the pasted settings.
fn largest_difference(stream: &EventStream, arguments: &[&str]) -> f64 {
    let home: TempDir = folder_with(&[("events.jsonl", &stream.text())]);
    let all = [&["--events", "events.jsonl"], arguments].concat();
    let record = calibrated(home.path(), &all);
    let out = home.path().join("out");
    for (name, bytes) in contents(&out) {
        if name.starts_with("samples/") {
            std::fs::create_dir_all(home.path().join("samples")).expect("a folder");
            std::fs::write(home.path().join(name), bytes).expect("written");
        }
    }
    let settings = std::fs::read_to_string(out.join("settings.yaml")).expect("settings");
    let mut largest: f64 = 0.0;
    let images = record["rates"]["images"].as_array().expect("images");
    for image in images {
        let experiment = format!("{}{settings}", ordinary(image));
        let seconds = pulled(home.path(), &experiment);
        largest = largest.max((seconds / number(&image["fitted_s"]) - 1.0).abs());
    }
    largest
}

#[test]
fn pasted_settings_reproduce_the_fit_in_an_ordinary_experiment() {
    let names = ["--image-name", NAMES];
    let stated = [&names[..], &["--rtt", "9 ms", "--service-time", "4 ms"]].concat();
    for (case, arguments) in [
        ("requests in the constant", &names[..]),
        ("requests apart", &stated[..]),
    ] {
        let found = largest_difference(&benchmark(1), arguments);
        println!("{case}: {:.2} %", found * 100.0);
        assert!(found <= TOLERANCE, "{case}: {found}");
    }
}

#[test]
fn one_rate_of_a_whole_image_is_not_multiplied_by_downloads_at_once() {
    let mut stream = EventStream::new(4);
    for (nth, bytes) in [4_000_000_000_u64, 8_000_000_000, 16_000_000_000]
        .into_iter()
        .enumerate()
    {
        for pod in 0..4 {
            let at = f64::from(pod) * 900.0 + nth as f64 * 9_000.0;
            stream.pod("node-a", at, 9, bytes, Kubelet::Full);
        }
    }
    let found = largest_difference(&stream, &[]);
    println!("sizes alone: {:.2} %", found * 100.0);
    assert!(found <= TOLERANCE, "{found}");
}

#[test]
fn pulls_of_one_image_on_one_node_can_be_pasted_too() {
    let mut stream = EventStream::new(3);
    for pod in 0..6 {
        let at = f64::from(pod) * 60.0;
        stream.pod("node-a", at, 60, 400_000_000, Kubelet::Full);
    }
    let found = largest_difference(&stream, &["--image-name", NAMES]);
    println!("one image: {:.2} %", found * 100.0);
    assert!(found <= TOLERANCE, "{found}");
}

/// EKS' c5a.4xlarge writes 12 GB to memory, and then as fast as its disk: uncompressed gigabytes and seconds.
const BEHIND_MEMORY: [(f64, f64); 7] = [
    (1.18, 3.9),
    (2.77, 8.3),
    (4.8, 14.4),
    (6.84, 20.4),
    (10.9, 46.8),
    (15.0, 77.6),
    (19.0, 108.5),
];

#[test]
fn a_disk_behind_memory_can_be_pasted() {
    // Images that are nearly empty on the wire, and images of programs, whose downloads are written to the disk too.
    for compression in [1_000_000.0, 2.6] {
        let mut stream = EventStream::new(8);
        for (nth, (gigabytes, took)) in BEHIND_MEMORY.into_iter().enumerate() {
            for pod in 0..3 {
                let name = format!("disk-{nth}-{pod}");
                let at = nth as f64 * 1000.0 + f64::from(pod) * 200.0;
                let main = "spec.containers{shop}";
                let image = format!("bench:9-layers-{}-bytes", gigabytes * 1e9);
                let node = format!("node-{pod}");
                let to = format!("Successfully assigned shop/{name} to {node}");
                stream.event(&name, "", &node, at, "Scheduled", &to);
                let pulling = format!("Pulling image \"{image}\"");
                stream.event(&name, main, &node, at + 0.4, "Pulling", &pulling);
                let size = (gigabytes * 1e9 / compression).round();
                let pulled = format!(
                    "Successfully pulled image \"{image}\" in {took}s ({took}s including waiting). Image size: {size} bytes."
                );
                stream.event(&name, main, &node, at + 0.4 + took, "Pulled", &pulled);
                stream.event(
                    &name,
                    main,
                    &node,
                    at + 0.5 + took,
                    "Started",
                    "Started container shop",
                );
            }
        }
        let found = largest_difference(&stream, &["--image-name", NAMES]);
        println!("disk, ratio {compression}: {:.2} %", found * 100.0);
        assert!(found <= TOLERANCE, "{compression}: {found}");
    }
}

#[test]
fn an_experiment_that_has_a_fleet_is_not_silently_slower() {
    let home = folder_with(&[("events.jsonl", &benchmark(1).text())]);
    calibrated(
        home.path(),
        &["--events", "events.jsonl", "--image-name", NAMES],
    );
    let settings = std::fs::read_to_string(home.path().join("out/settings.yaml")).expect("text");
    for stated in [
        "    rtt: 0 ms\n",
        "  serviceTime: 0 ms\n",
        "  disk: {class: none}\n",
    ] {
        assert!(settings.contains(stated), "{stated} in {settings}");
    }
    let path = home.path().join("experiment.yaml");
    std::fs::write(&path, format!("fleet: [{{name: shop}}]\n{settings}")).expect("written");
    let error = load(&path, &Overrides::default()).expect_err("two fleets");
    let text = error.render(false);
    assert!(text.contains("`fleet` appears twice"), "{text}");
}
