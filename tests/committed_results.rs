//! The results that lie beside the experiments are what this version computes from them.
//!
//! The first replicate of every variant is simulated again and compared with its row in the committed `runs.csv`, and the
//! checksums in `provenance.json` with the files. Columns that are younger than the results are left out; they come with
//! the next run of the experiment. After a change of the model:
//! `cargo run --release -- run experiments/<name>`.

use std::fs;
use std::path::{Path, PathBuf};

use fleetsim::record::{Provenance, RunRow};
use fleetsim::scenario::{Overrides, load};
use fleetsim::sim;
use fleetsim::study::run_counts;

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

/// The named columns of a row as text, each with its name.
fn fields(row: &RunRow, columns: &csv::StringRecord) -> Vec<(String, String)> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.serialize(row).expect("rows are flat");
    let bytes = writer.into_inner().expect("memory takes every byte");
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let names = reader.headers().expect("a header").clone();
    let values = reader.records().next().expect("one row").expect("it was just written");
    let value = |column: &str| {
        let at = names.iter().position(|name| name == column).unwrap_or_else(|| panic!("there is no column {column}"));
        (column.to_owned(), values[at].to_owned())
    };
    columns.iter().map(value).collect()
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
        let columns = reader.headers().expect("a header").clone();
        let rows: Vec<RunRow> = reader.deserialize().collect::<Result<_, _>>().expect("rows of runs.csv");
        let (least, most) = run_counts(&experiment);
        assert!((least..=most).contains(&(rows.len() as u64)), "{}: {} runs", folder.display(), rows.len());
        for variant in &experiment.variants {
            let row = rows.iter().find(|row| row.variant == variant.label && row.replicate == 0);
            // A run without optimisation takes some 10 µs an event; the longest are left to `cargo test --release`.
            if cfg!(debug_assertions) && row.is_some_and(|row| row.events > MOST_EVENTS) {
                continue;
            }
            let run = sim::run(variant, experiment.seed, 0).run;
            let row = row.unwrap_or_else(|| panic!("{}: no run of {}", folder.display(), variant.label));
            assert_eq!(fields(row, &columns), fields(&run, &columns), "{}: {}", folder.display(), variant.label);
        }
    }
}
