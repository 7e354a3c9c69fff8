//! Results folders: tables and records, as `fleetsim report` and `fleetsim export` read them.

#![no_main]

use fleetsim_fuzz::results;
use libfuzzer_sys::fuzz_target;

/// A small results folder. An input replaces some of its files.
const FILES: [(&str, &str); 10] = [
    (
        "provenance.json",
        include_str!("../results/provenance.json"),
    ),
    ("variants.csv", include_str!("../results/variants.csv")),
    ("runs.csv", include_str!("../results/runs.csv")),
    ("registries.csv", include_str!("../results/registries.csv")),
    ("summary.csv", include_str!("../results/summary.csv")),
    ("comparison.csv", include_str!("../results/comparison.csv")),
    ("timeline.csv", include_str!("../results/timeline.csv")),
    ("clusters.csv", include_str!("../results/clusters.csv")),
    ("passes.csv", include_str!("../results/passes.csv")),
    ("statuses.csv", include_str!("../results/statuses.csv")),
];

fuzz_target!(|text: &str| results(text, &FILES));
