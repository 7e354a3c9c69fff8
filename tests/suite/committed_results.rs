//! The results that lie beside the experiments are what this version computes from them.
//!
//! The first replicate of every variant is simulated again and compared with its row in the committed `runs.csv`, and the
//! checksums in `provenance.json` with the files. After a change of the model:
//! `cargo run --release -- run experiments/<name>`, and `plan` for those that have a folder `results/<name>-plan`.
//!
//! The answers of a plan are decided once more from the runs in its folder, and must be the committed ones to the byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fleetsim::results::{PLAN_FILE, PlanRecord, Provenance, RunRow};
use fleetsim::scenario::{Experiment, Overrides, load, load_plan};
use fleetsim::sim;
use fleetsim::study::plan::search_among;
use fleetsim::study::run_counts;

/// Runs with more events are simulated again only by an optimised build.
const MOST_EVENTS: u64 = 500_000;

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

/// Where the plan of an experiment lies that has its results in this folder.
fn plan_of(results: &Path) -> PathBuf {
    let name = results.file_name().expect("a folder has a name").to_string_lossy();
    results.with_file_name(format!("{name}-plan"))
}

/// The rows of a committed `runs.csv`, after its provenance was found to be the experiment's, and the first run of every
/// variant to be what is computed now.
fn checked_runs(experiment: &Experiment, results: &Path) -> Vec<RunRow> {
    let at = results.display();
    let provenance = Provenance::read(results)
        .expect("provenance can be read")
        .unwrap_or_else(|| panic!("{at}: there are no results"));
    let name = results.file_name().expect("a folder has a name");
    assert_eq!(provenance.experiment.as_str(), name, "{at}");
    let recorded: Vec<_> = provenance.inputs.iter().map(|input| (&input.path, &input.sha256)).collect();
    let inputs: Vec<_> = experiment.inputs.iter().map(|input| (&input.path, &input.sha256)).collect();
    assert_eq!(inputs, recorded, "{at}");
    assert_eq!((provenance.seed, provenance.replicates), (experiment.seed, experiment.replicates), "{at}");
    let mut reader = csv::Reader::from_path(results.join("runs.csv")).expect("runs.csv");
    let rows: Vec<RunRow> = reader.deserialize().collect::<Result<_, _>>().expect("rows of runs.csv");
    for variant in &experiment.variants {
        let row = rows.iter().find(|row| row.variant == variant.label && row.replicate == 0);
        // A run without optimisation takes some 10 µs an event; the longest are left to `cargo test --release`.
        if cfg!(debug_assertions) && row.is_some_and(|row| row.events > MOST_EVENTS) {
            continue;
        }
        let run = sim::run(variant, experiment.seed, 0).run;
        assert_eq!(row, Some(&run), "{at}: {}", variant.label);
    }
    rows
}

#[test]
fn committed_results_are_what_this_version_computes() {
    for (folder, results) in experiments() {
        let experiment = load(&folder, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let rows = checked_runs(&experiment, &results);
        let (least, most) = run_counts(&experiment);
        assert!((least..=most).contains(&(rows.len() as u64)), "{}: {} runs", folder.display(), rows.len());
    }
}

#[test]
fn committed_plans_are_what_this_version_decides_from_their_runs() {
    for (folder, results) in experiments() {
        let results = plan_of(&results);
        if !results.exists() {
            continue;
        }
        let at = results.display();
        let experiment =
            load_plan(&folder, &Overrides::default()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let plan = experiment.plan.as_ref().expect("it was loaded for its plan");
        let rows = checked_runs(&experiment, &results);
        let recorded = |variant: usize, replicate: u32| {
            let label = &experiment.variants[variant].label;
            let row = rows.iter().find(|row| row.variant == *label && row.replicate == replicate);
            Ok(row.unwrap_or_else(|| panic!("{at}: the search asks for run {replicate} of {label}")).clone())
        };
        let found = search_among(&experiment, plan, false, recorded, &AtomicBool::new(false)).expect("nobody stops it");
        assert_eq!(found.runs, rows, "{at}: every run, once and in order");
        let committed = PlanRecord::read(&results).expect("readable").expect("a plan");
        // What an exhaustive search found is not in the folder's runs.
        let decided = PlanRecord { exhaustive: committed.exhaustive, ..found.plan };
        let committed = fs::read(results.join(PLAN_FILE)).expect("readable");
        assert_eq!(String::from_utf8_lossy(&decided.to_json()), String::from_utf8_lossy(&committed), "{at}");
    }
}

#[test]
fn every_committed_folder_belongs_to_an_experiment() {
    let of_experiments: Vec<PathBuf> =
        experiments().into_iter().flat_map(|(_, results)| [plan_of(&results), results]).collect();
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("results")).expect("the results") {
        let folder = folder.expect("an entry").path();
        assert!(of_experiments.contains(&folder), "{}: there is no such experiment", folder.display());
    }
}
