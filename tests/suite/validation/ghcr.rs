//! Pulls of programs from ghcr.io by 4 to 256 nodes of one cluster, on three clouds (performance-study).
//!
//! A row is one image on one cluster that pulls it for the first time: the median of its nodes. The first column is the
//! world that a user gets: the preset `ghcr`, a cluster in a cloud, the number of nodes and the image's layers. The
//! constants of the preset were set on these rows, so it is calibrated.
//!
//! The second column fits what a layer contains, as the ratio of its size on disk: one value for each image and cloud,
//! on the wave with the fewest nodes. The other waves of the same image then show how pull time grows with the number
//! of nodes, and nothing was set on them but the preset.
//!
//! Left out: the rates of single layers on one day, which vary; both worlds have the median.

use std::collections::BTreeMap;

use fleetsim::stats;
use fleetsim::units::Bytes;
use fleetsim::world::{LayerSpec, RateModel, Uncompressed, WorldSpec};

use super::table::{Row, published};
use super::worlds::{DAY, ghcr, play};

/// The ratio of an image that does not state its sizes on disk.
const DEFAULT_RATIO: f64 = 2.6;
/// The greatest error of a row that agrees.
const TOLERANCE: f64 = 0.2;

/// A cluster that pulls an image for the first time.
#[derive(Clone, Debug)]
struct Wave {
    cloud: String,
    image: String,
    nodes: u32,
    layers: Vec<u64>,
    median_s: f64,
}

impl Wave {
    fn of(row: &Row) -> Self {
        let mut layers = Vec::new();
        for bytes in row.text("layers").split(' ') {
            layers.push(bytes.parse().expect("a number of bytes"));
        }
        Self {
            cloud: format!("{} {}", row.text("cloud"), row.text("kind")),
            image: row.text("image").to_owned(),
            nodes: row.number("nodes") as u32,
            layers,
            median_s: row.number("pull_s_median"),
        }
    }

    fn world(&self, ratio: f64) -> WorldSpec {
        let mut world = ghcr();
        world.clusters[0].nodes = self.nodes.into();
        if let Some(RateModel::LogNormal { median, .. }) = world.registry.per_blob {
            world.registry.per_blob = Some(median.into());
        }
        let mut layers = Vec::new();
        for (at, &bytes) in self.layers.iter().enumerate() {
            layers.push(LayerSpec {
                digest: format!("layer-{at}"),
                compressed: Bytes::new(bytes).into(),
                uncompressed: Uncompressed::Ratio(ratio),
                is_zstd: false,
            });
        }
        world.images[0].layers = layers;
        world
    }

    /// The relative error of the median pull.
    fn error(&self, ratio: f64) -> f64 {
        let pulls = play(&self.world(ratio), 1, DAY).pull_s();
        stats::median(&pulls).expect("pulls") / self.median_s - 1.0
    }

    /// Returns the ratio with which the wave takes the measured time. More bytes on disk take longer, so it is
    /// bisected.
    fn fitted_ratio(&self) -> f64 {
        let (mut low, mut high): (f64, f64) = (0.5, 12.0);
        for _ in 0..7 {
            let middle = (low * high).sqrt();
            if self.error(middle) > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        (low * high).sqrt()
    }
}

/// How many waves agree.
#[derive(Clone, Debug, Default)]
struct Tally {
    errors: Vec<f64>,
}

impl Tally {
    fn agreeing(&self) -> usize {
        self.errors
            .iter()
            .filter(|error| error.abs() <= TOLERANCE)
            .count()
    }

    fn line(&self) -> String {
        let mut sizes: Vec<f64> = self.errors.iter().map(|error| error.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let median = stats::median(&sizes).unwrap_or_default();
        format!(
            "{} of {} within 20 %, median {:.0} %",
            self.agreeing(),
            self.errors.len(),
            median * 100.0
        )
    }
}

#[test]
fn pulls_grow_with_the_number_of_nodes_as_measured_on_three_clouds() {
    let mut by_image: BTreeMap<(String, String), Vec<Wave>> = BTreeMap::new();
    for row in &published("ghcr-waves.csv") {
        let wave = Wave::of(row);
        let image = (wave.cloud.clone(), wave.image.clone());
        by_image.entry(image).or_default().push(wave);
    }
    println!(
        "\nghcr.io, first pulls of programs, median s: error with the defaults, and with the image's content"
    );
    let mut by_cloud: BTreeMap<String, Tally> = BTreeMap::new();
    let (mut plain, mut grown) = (Tally::default(), Tally::default());
    for ((cloud, image), mut waves) in by_image {
        waves.sort_by_key(|wave| wave.nodes);
        let ratio = waves[0].fitted_ratio();
        for (at, wave) in waves.iter().enumerate() {
            let error = wave.error(DEFAULT_RATIO);
            plain.errors.push(error);
            by_cloud
                .entry(cloud.clone())
                .or_default()
                .errors
                .push(error);
            let is_fitted = at == 0;
            let content = wave.error(ratio);
            if wave.nodes > waves[0].nodes {
                grown.errors.push(content);
            }
            println!(
                "  {cloud:8} {:3} nodes {:7.1} s {:+6.1} % {:+6.1} %{} ratio {ratio:.1} {image}",
                wave.nodes,
                wave.median_s,
                error * 100.0,
                content * 100.0,
                if is_fitted { " (set)" } else { "" },
            );
        }
    }
    for (cloud, tally) in by_cloud {
        println!("  {cloud}: {}", tally.line());
    }
    println!("  with the defaults: {}", plain.line());
    println!("  more nodes than the wave of the fit: {}", grown.line());
    assert!(plain.agreeing() >= 50, "{}", plain.line());
    assert!(
        grown.agreeing() * 3 >= grown.errors.len() * 2,
        "{}",
        grown.line()
    );
}
