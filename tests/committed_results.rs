//! The results that lie beside the experiments are what this version computes from them.
//!
//! The first replicate of every variant is simulated again and compared with its row in the committed `runs.csv`, and the
//! checksums in `provenance.json` with the files. After a change of the model:
//! `cargo run --release -- run experiments/<name>`.

use std::fs;
use std::path::{Path, PathBuf};

use fleetsim::record::{Provenance, RunRow};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;

/// Runs with more events are simulated again only by an optimised build.
const MOST_EVENTS: u64 = 400_000;

/// Every experiment with its results folder.
fn experiments() -> Vec<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = fs::read_dir(root.join("experiments"))
        .expect("the experiments")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("experiment.yaml").exists())
        .collect();
    folders.sort();
    assert!(!folders.is_empty(), "there are experiments");
    let results = |folder: &PathBuf| root.join("results").join(folder.file_name().expect("a folder has a name"));
    folders.iter().map(|folder| (folder.clone(), results(folder))).collect()
}

#[test]
fn committed_results_are_what_this_version_computes() {
    for (folder, results) in experiments() {
        let experiment = load(&folder, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let provenance = Provenance::read(&results)
            .expect("provenance can be read")
            .unwrap_or_else(|| panic!("{} has no results", folder.display()));
        for (input, recorded) in experiment.inputs.iter().zip(&provenance.inputs) {
            assert_eq!((&input.path, &input.sha256), (&recorded.path, &recorded.sha256), "{}", folder.display());
        }
        assert_eq!((provenance.seed, provenance.replicates), (experiment.seed, experiment.replicates));
        let mut reader = csv::Reader::from_path(results.join("runs.csv")).expect("runs.csv");
        let rows: Vec<RunRow> = reader.deserialize().collect::<Result<_, _>>().expect("rows of runs.csv");
        assert_eq!(rows.len(), experiment.variants.len() * experiment.replicates as usize);
        for variant in &experiment.variants {
            let row = rows.iter().find(|row| row.variant == variant.label && row.replicate == 0);
            // A run without optimisation takes some 10 µs an event; the longest are left to `cargo test --release`.
            if cfg!(debug_assertions) && row.is_some_and(|row| row.events > MOST_EVENTS) {
                continue;
            }
            let run = sim::run(variant, experiment.seed, 0).run;
            assert_eq!(row, Some(&run), "{}: {}", folder.display(), variant.label);
        }
    }
}
