//! Tests that fits recover the rates of generated pulls, and published rates.

use super::choice::{Chosen, FittedDisk, Knowledge, choose};
use super::least_squares::PullGroup;
use super::pipeline::{CONSTANT, DOWNLOAD, PER_LAYER, RequestTimes, UNPACK, critical_path};
use super::*;
use crate::engine::{EntityKey, Streams, dist};

/// Returns eight pulls of an image, with noise of this sigma.
fn pulls(
    name: &str,
    layers: &[LayerBytes],
    at: &[f64; 5],
    knee: Option<f64>,
    sigma: f64,
) -> PullGroup {
    let mut rng = Streams::new(3, 0).stream(EntityKey::of(name), "pulls");
    let length = critical_path(at, layers, RequestTimes::default(), knee).length;
    let durations: Vec<f64> = (0..8)
        .map(|_| dist::lognormal(&mut rng, length, sigma))
        .collect();
    let median = stats::median(&durations).expect("pulls");
    PullGroup {
        image: name.to_owned(),
        layers: layers.to_vec(),
        durations,
        median,
    }
}

fn fitted(groups: &[PullGroup]) -> Chosen {
    choose(groups, RequestTimes::default(), Knowledge::Layers).expect("a fit")
}

fn assert_near(found: f64, expected: f64, bound: f64, name: &str) {
    assert!(
        (found / expected - 1.0).abs() <= bound,
        "{name}: {found}, not {expected} within {bound}"
    );
}

#[test]
fn constant_layers_and_unpack_rate_are_recovered() {
    let truth = [0.3, 0.03, 1.0 / 150e6, 0.0, 0.0];
    let mut groups = Vec::new();
    for count in [9_usize, 120] {
        for size in [50e6, 100e6, 200e6, 400e6, 800e6, 1.6e9, 3.2e9] {
            let name = format!("{count}-{size}");
            groups.push(pulls(
                &name,
                &vec![LayerBytes::new(1000.0, size / count as f64); count],
                &truth,
                None,
                0.05,
            ));
        }
    }
    let chosen = fitted(&groups);
    let at = &chosen.solution.at;
    assert_near(at[UNPACK], truth[UNPACK], 0.05, "unpack");
    assert_near(at[PER_LAYER], truth[PER_LAYER], 0.05, "per layer");
    assert_near(at[CONSTANT], truth[CONSTANT], 0.15, "constant");
    assert!(
        !chosen.free[DOWNLOAD] && chosen.knee.is_none(),
        "these pulls tell nothing about downloads or a disk"
    );
    for index in [CONSTANT, PER_LAYER, UNPACK] {
        let (low, high) = chosen.solution.intervals[index].expect("an interval");
        assert!(
            low <= truth[index] && truth[index] <= high,
            "{index}: {low} to {high}"
        );
    }
}

#[test]
fn downloads_and_unpacking_are_distinguished_by_the_structure_of_images() {
    // Spegel's cold registry: 46 MB/s per connection, 250 MB/s unpacking.
    let truth = [0.3, 0.025, 1.0 / 250e6, 1.0 / 46e6, 0.0];
    let mut groups = Vec::new();
    for size in [20e6, 100e6, 400e6, 1e9] {
        for count in [1_usize, 4, 12, 40] {
            let ratio = if count % 8 == 4 { 3.0 } else { 1.5 };
            let layer = LayerBytes::new(size / count as f64, ratio * size / count as f64);
            groups.push(pulls(
                &format!("{count}-{size}"),
                &vec![layer; count],
                &truth,
                None,
                0.04,
            ));
        }
    }
    let chosen = fitted(&groups);
    let at = &chosen.solution.at;
    assert!(chosen.free[DOWNLOAD], "{chosen:?}");
    assert_near(at[DOWNLOAD], truth[DOWNLOAD], 0.05, "download");
    assert_near(at[UNPACK], truth[UNPACK], 0.15, "unpack");
    assert_near(at[PER_LAYER], truth[PER_LAYER], 0.3, "per layer");
}

#[test]
fn published_pull_times_give_the_published_rates() {
    // The rates fitted to all images' pull times in container-chonks@fa06749 (docs/validation-details.md): nodes,
    // constant, milliseconds per layer, MB/s.
    let csv = include_str!("../../../tests/suite/validation/data/unpack-chonks.csv");
    for (nodes, constant, per_layer, unpack) in [
        ("4", 0.09, 23.9, 198.0),
        ("8", 0.06, 21.1, 197.0),
        ("16", 0.12, 19.2, 199.0),
        ("32", 0.35, 16.9, 208.0),
    ] {
        let mut groups = Vec::new();
        for line in csv
            .lines()
            .filter(|line| line.starts_with(&format!("gke-local-ssd,{nodes},")))
        {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |at: usize| cells[at].parse::<f64>().expect("a number");
            let layer = LayerBytes::new(0.0, number(3) / number(2));
            let layers = vec![layer; number(2) as usize];
            groups.push(PullGroup {
                image: line.to_owned(),
                layers,
                durations: vec![number(6)],
                median: number(6),
            });
        }
        let chosen = fitted(&groups);
        let at = &chosen.solution.at;
        assert_near(1e-6 / at[UNPACK], unpack, 0.02, nodes);
        assert_near(1e3 * at[PER_LAYER], per_layer, 0.02, nodes);
        assert!(
            (at[CONSTANT] - constant).abs() < 0.006,
            "{nodes}: {}",
            at[CONSTANT]
        );
        assert!(chosen.knee.is_none() && !chosen.free[DOWNLOAD], "{nodes}");
    }
}

#[test]
fn a_disk_behind_the_page_cache_is_detected() {
    // EKS c5a.4xlarge in the same source: 300 to 335 MB/s up to about 7 GB, then 132 MB/s.
    let rows = [
        (1.18, 3.9),
        (2.77, 8.3),
        (6.84, 20.4),
        (10.9, 46.8),
        (15.0, 77.6),
        (19.0, 108.5),
    ];
    let group = |(gb, seconds): (f64, f64)| PullGroup {
        image: format!("{gb}"),
        layers: vec![LayerBytes::new(0.0, gb * 1e9 / 9.0); 9],
        durations: vec![seconds],
        median: seconds,
    };
    let chosen = fitted(&rows.map(group));
    let FittedDisk { rate, buffer } = chosen.disk().expect("a disk");
    assert_near(1.0 / chosen.solution.at[UNPACK], 340e6, 0.05, "memory");
    assert_near(rate, 132e6, 0.05, "disk");
    assert!((3e9..6e9).contains(&buffer), "{buffer}");
}

#[test]
fn one_image_determines_one_rate_and_other_rates_keep_their_defaults() {
    let truth = [0.3, 0.025, 1.0 / 120e6, 0.0, 0.0];
    let chosen = fitted(&[pulls(
        "shop",
        &[LayerBytes::new(1e3, 300e6), LayerBytes::new(1e3, 500e6)],
        &truth,
        None,
        0.05,
    )]);
    assert_eq!(chosen.free, [false, false, true, false, false]);
    assert_near(1.0 / chosen.solution.at[UNPACK], 120e6, 0.06, "unpack");
    let (low, high) = chosen.solution.intervals[UNPACK].expect("from the spread of its pulls");
    assert!(low < truth[UNPACK] && truth[UNPACK] < high);
}

#[test]
fn images_with_equal_layer_counts_do_not_determine_the_time_per_layer() {
    let truth = [0.4, 0.025, 1.0 / 200e6, 0.0, 0.0];
    let groups: Vec<PullGroup> = [100e6, 300e6, 900e6, 2e9]
        .iter()
        .map(|size| {
            pulls(
                &format!("{size}"),
                &[LayerBytes::new(0.0, size / 9.0); 9],
                &truth,
                None,
                0.02,
            )
        })
        .collect();
    let chosen = fitted(&groups);
    assert!(chosen.free[CONSTANT] && !chosen.free[PER_LAYER]);
    assert_near(1.0 / chosen.solution.at[UNPACK], 200e6, 0.05, "unpack");
}

#[test]
fn layers_that_a_node_already_has_are_not_pulled_again() {
    let layer = |digest: &str, size: f64| KnownLayer {
        digest: Some(digest.to_owned()),
        compressed: size,
        uncompressed: Some(2.0 * size),
    };
    let mut node = BTreeSet::new();
    let first = missing(&[layer("base", 5.0), layer("app-1", 1.0)], &mut node, 2.6);
    assert_eq!(
        first,
        [LayerBytes::new(5.0, 10.0), LayerBytes::new(1.0, 2.0)]
    );
    let second = missing(&[layer("base", 5.0), layer("app-2", 1.5)], &mut node, 2.6);
    assert_eq!(second, [LayerBytes::new(1.5, 3.0)], "the base is unpacked");
    // On another base, a known blob is unpacked again but not downloaded again.
    let third = missing(&[layer("other", 4.0), layer("app-1", 1.0)], &mut node, 2.6);
    assert_eq!(
        third,
        [LayerBytes::new(4.0, 8.0), LayerBytes::new(0.0, 2.0)]
    );
}
