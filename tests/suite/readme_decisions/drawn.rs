//! The runs of an experiment by the draws of its constants.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// A run of `draws.csv`, as far as the claims need it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct DrawnRow {
    variant: String,
    replicate: u32,
    reachable_ready_s: Option<f64>,
    egress_busy_share: Option<f64>,
    egress_peak_60s_bytes_per_s: f64,
    not_ready_cluster_hours: f64,
    exposed_targets: u64,
    targets: u64,
}

impl DrawnRow {
    /// The time of the run; infinite where it leaves reachable targets behind.
    pub(super) fn time(&self) -> f64 {
        self.reachable_ready_s.unwrap_or(f64::INFINITY)
    }

    /// Returns true if the registry's link of 10 Gbit/s is below nine tenths in the busiest minute.
    pub(super) fn has_room(&self) -> bool {
        self.egress_peak_60s_bytes_per_s < 0.9 * 1.25e9
    }

    /// Returns true if the registry's link is full for less than a tenth of the time.
    pub(super) fn is_seldom_full(&self) -> bool {
        self.egress_busy_share.unwrap_or(0.0) < 0.1
    }

    /// The hours that all clusters together are not ready.
    pub(super) const fn hours(&self) -> f64 {
        self.not_ready_cluster_hours
    }

    pub(super) const fn exposed(&self) -> u64 {
        self.exposed_targets
    }

    /// Returns true if the defective release reaches all targets.
    pub(super) const fn exposes_all(&self) -> bool {
        self.exposed_targets == self.targets
    }
}

/// The runs of all variants with the constants of one draw.
#[derive(Clone, Debug, Default)]
pub(super) struct DrawnWorld {
    runs: BTreeMap<String, DrawnRow>,
}

impl DrawnWorld {
    /// The run of a variant.
    pub(super) fn run(&self, variant: &str) -> &DrawnRow {
        let run = self.runs.get(variant);
        run.unwrap_or_else(|| panic!("no variant {variant}"))
    }

    /// The time of a variant.
    pub(super) fn time(&self, variant: &str) -> f64 {
        self.run(variant).time()
    }

    /// Returns true if a variant completes first among some.
    pub(super) fn is_fastest(&self, variant: &str, among: &[&str]) -> bool {
        let own = self.time(variant);
        own.is_finite() && among.iter().all(|other| own <= self.time(other))
    }

    /// Returns true if a variant completes last among some.
    pub(super) fn is_slowest(&self, variant: &str, among: &[&str]) -> bool {
        let own = self.time(variant);
        among.iter().all(|other| own >= self.time(other))
    }

    /// Returns true if a variant exposes the fewest targets of all that end alike.
    pub(super) fn exposes_fewest(&self, variant: &str, world: &str) -> bool {
        let own = self.run(&format!("{variant} {world}")).exposed();
        let mut others = self.runs.values();
        others.all(|other| !other.variant.ends_with(&format!(" {world}")) || own <= other.exposed())
    }
}

/// The runs of an experiment with drawn constants.
pub(super) struct DrawnExperiment {
    draws: BTreeMap<u32, DrawnWorld>,
}

impl DrawnExperiment {
    /// Reads the draws, which must have this checksum.
    pub(super) fn read(path: &Path, sha256: &str) -> Self {
        let bytes = std::fs::read(path).expect("draws.csv");
        let found: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(found, sha256, "{} are other draws", path.display());
        let mut draws: BTreeMap<u32, DrawnWorld> = BTreeMap::new();
        for row in csv::Reader::from_reader(&bytes[..]).deserialize() {
            let row: DrawnRow = row.expect("a row of draws.csv");
            let draw = draws.entry(row.replicate).or_default();
            draw.runs.insert(row.variant.clone(), row);
        }
        Self { draws }
    }

    /// A digit for each draw: 1 where a condition holds.
    pub(super) fn digits(&self, holds: fn(&DrawnWorld) -> bool) -> String {
        let digit = |draw: &DrawnWorld| if holds(draw) { '1' } else { '0' };
        self.draws.values().map(digit).collect()
    }
}
