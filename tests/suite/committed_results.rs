//! The results committed with the experiments are those that this version computes.
//!
//! For every variant, the displayed run (shown in clusters.csv) is simulated again, and for the results that are
//! committed in full, every run. A run's row must equal that in the committed `runs.csv`, `summary.csv` must follow
//! from all rows, and every table that follows from the rows and the repeated runs must have the checksum in
//! `provenance.json`, whether it is committed or not. The test counts its comparisons, and fails if there are too few.
//!
//! Results of an older format are compared in the columns that they have, and the critical path as one sum.
//!
//! Left out: `workloads.csv`, time series, constants and draws of the other runs, and sensitivity analyses. `fleetsim
//! reproduce results/[0-9]*` compares every file of every run. After a change of the model: `cargo run --release -- run
//! experiments/<name>`, and `plan` for those that have a folder `results/<name>-plan`. Those below
//! experiments/12-incidents need `--out results/12-incidents/<name>`.
//!
//! The answers of a plan are decided again from the runs in its folder, and must be equal to the committed ones byte
//! for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use fleetsim::results::{
    Measure, PLAN_FILE, PlanRecord, Provenance, RunRecord, RunRow, SCHEMA_VERSION, Tables,
    VariantRecord, displayed_replicate, to_json,
};
use fleetsim::scenario::{Experiment, Overrides, Variant, load_plan};
use fleetsim::sim;
use fleetsim::study::plan::search_among;
use fleetsim::study::run_counts;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::common::{contents, experiment_folders, folders_in, loaded, not_tested, root};

/// The results folder that is committed in full.
const EXAMPLE: &str = "03-documented-or-shipped";

/// Maximum size of committed results in bytes.
const MOST_BYTES: u64 = 12_000_000;

/// Experiment and variant whose displayed run has 20 million events. The run is simulated only if `CI` is set.
const FOR_CI: (&str, &str) = (
    "04-registry-storm",
    "storm name=site-{0001..5000}; rate=200/s",
);

/// Minimum number of compared runs, without those that need much time or Go: one of every variant, and all of one
/// folder.
const FEWEST_RUNS: usize = 269;

/// Minimum number of compared tables, without those that depend on omitted variants. `registries.csv` of the folder
/// with all runs is not among them, because it has an older format.
const FEWEST_TABLES: usize = 149;

/// Maximum number of omitted variants: the one in [`FOR_CI`], and four whose schedulers are Go programs.
const MOST_SKIPPED: usize = 5;

/// Every experiment with its results folder, which has the same path below `results`.
fn experiments() -> Vec<(PathBuf, PathBuf)> {
    let root = root();
    let mut found = Vec::new();
    for folder in experiment_folders() {
        let path = folder
            .strip_prefix(root.join("experiments"))
            .expect("it is below the experiments");
        let results = root.join("results").join(path);
        found.push((folder, results));
    }
    found
}

/// The folder of an experiment's plan, given its results folder.
fn plan_of(results: &Path) -> PathBuf {
    let name = results
        .file_name()
        .expect("a folder has a name")
        .to_string_lossy();
    results.with_file_name(format!("{name}-plan"))
}

/// The folder of an experiment's sensitivity analysis, given its results folder.
fn sensitivity_of(results: &Path) -> PathBuf {
    let name = results
        .file_name()
        .expect("a folder has a name")
        .to_string_lossy();
    results.with_file_name(format!("{name}-sensitivity"))
}

/// The committed provenance, which must match the current experiment.
fn checked_provenance(experiment: &Experiment, results: &Path) -> Provenance {
    let at = results.display();
    let provenance = Provenance::read(results)
        .expect("provenance can be read")
        .unwrap_or_else(|| panic!("{at}: there are no results"));
    let name = results.file_name().expect("a folder has a name");
    assert_eq!(provenance.experiment.as_str(), name, "{at}");
    let recorded: Vec<_> = provenance
        .inputs
        .iter()
        .map(|input| (&input.path, &input.sha256))
        .collect();
    let inputs: Vec<_> = experiment
        .inputs
        .iter()
        .map(|input| (&input.path, &input.sha256))
        .collect();
    assert_eq!(inputs, recorded, "{at}");
    assert_eq!(
        (provenance.seed, provenance.replicates),
        (experiment.seed, experiment.replicates),
        "{at}"
    );
    provenance
}

fn committed_rows(results: &Path) -> Vec<RunRow> {
    let mut reader = csv::Reader::from_path(results.join("runs.csv")).expect("runs.csv");
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("rows of runs.csv")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The reason why a variant is not simulated again here. `None`: the variant is simulated.
fn reason_to_skip(variant: &Variant, experiment: &Experiment) -> Option<&'static str> {
    let is_ci = std::env::var_os("CI").is_some();
    if variant.scenario.strategy().command().is_some() {
        // The products' programs are built with Go.
        return std::env::var_os("FLEETSIM_CONTROLLERS")
            .is_none()
            .then_some("FLEETSIM_CONTROLLERS names no programs");
    }
    let is_long = (experiment.name.as_str(), variant.label.as_str()) == FOR_CI;
    (is_long && !is_ci).then_some("20 million events take a minute, and CI is not set")
}

/// Converts a run to format 3: without the columns that came later, and with the critical path as one sum, because
/// format 4 divides the path into more parts.
fn in_format_3(run: &RunRow) -> RunRow {
    let parts = [
        run.path_rule_s,
        run.path_people_s,
        run.path_transfer_s,
        run.path_unpack_s,
        run.path_throttled_s,
        run.path_unavailable_s,
        run.path_kubelet_s,
        run.path_start_s,
        run.path_offline_s,
        run.path_report_s,
    ];
    let sum: f64 = parts.into_iter().flatten().sum();
    let has_path = run.path_rule_s.is_some();
    RunRow {
        path_rule_s: has_path.then_some((sum * 1e6).round() / 1e6),
        path_people_s: None,
        path_transfer_s: None,
        path_unpack_s: None,
        path_throttled_s: None,
        path_unavailable_s: None,
        path_kubelet_s: None,
        path_start_s: None,
        path_offline_s: None,
        path_report_s: None,
        pull_p50_s: None,
        pull_p95_s: None,
        pull_p99_s: None,
        left_behind: 0,
        total_egress_peak_60s_bytes_per_s: 0.0,
        // Format 4 says more about an operation that has failed.
        held_detail: run.held_detail.replace(" (retries are used up)", ""),
        ..run.clone()
    }
}

/// Returns true for measures that have the same meaning in results of format 3.
fn is_of_format_3(measure: Measure) -> bool {
    let column = measure.column();
    let is_new = [
        "left_behind",
        "pull_p50_s",
        "pull_p95_s",
        "pull_p99_s",
        "total_egress_peak_60s_bytes_per_s",
    ];
    !column.starts_with("path_") && !is_new.contains(&column)
}

/// Compares the summary of results of format 3 with that of these records.
fn compare_summaries(records: &[VariantRecord], seed: u64, results: &Path) {
    let committed = Tables::read_summary(results).expect("summary.csv");
    let mut committed: Vec<_> = committed.iter().collect();
    committed.retain(|row| is_of_format_3(row.measure));
    let tables = Tables::of(records, seed);
    let mut computed: Vec<_> = tables.summary.iter().collect();
    computed.retain(|row| is_of_format_3(row.measure));
    assert_eq!(computed, committed, "{}", results.display());
}

/// Simulates a run again, compares it with its row in results of this format, and returns it.
fn simulated_again(variant: &Variant, seed: u64, row: &RunRow, format: u32) -> RunRecord {
    let record = sim::run_in_detail(variant, seed, row.replicate).expect("the run has a result");
    let at = format!("{}, replicate {}", variant.label, row.replicate);
    if format < SCHEMA_VERSION {
        assert_eq!(in_format_3(&record.run), in_format_3(row), "{at}");
    } else {
        assert_eq!(record.run, *row, "{at}");
    }
    record
}

/// A variant with its committed rows.
fn recorded(variant: &Variant, rows: &[RunRow]) -> VariantRecord {
    let of_row = |row: &RunRow| RunRecord {
        run: row.clone(),
        registries: Vec::new(),
        workloads: Vec::new(),
        releases: Vec::new(),
        applications: Vec::new(),
        series: Vec::new(),
        bin_s: 0.0,
        clusters: Vec::new(),
        passes: Vec::new(),
        statuses: Vec::new(),
        application_series: Vec::new(),
    };
    VariantRecord {
        variant: variant.label.clone(),
        strategy: variant.strategy.clone(),
        setting: variant.setting.clone(),
        settings: variant.settings.clone(),
        runs: rows
            .iter()
            .filter(|row| row.variant == variant.label)
            .map(of_row)
            .collect(),
    }
}

/// Numbers of comparisons that were made.
#[derive(Default)]
struct Compared {
    runs: usize,
    tables: usize,
    /// Number of variants without a repeated run.
    skipped: usize,
}

/// Simulates runs of an experiment again, compares them with their rows, and puts them into the records: all runs if
/// `all`, otherwise the displayed run of every variant. The time series of the runs are kept only if `all`.
fn simulate_again(
    experiment: &Experiment,
    records: &mut [VariantRecord],
    (all, format): (bool, u32),
    compared: &mut Compared,
) {
    let displayed = displayed_replicate(records).expect("every variant has runs");
    for (variant, record) in experiment.variants.iter().zip(records) {
        if let Some(reason) = reason_to_skip(variant, experiment) {
            not_tested(&format!("{}, {}: {reason}", experiment.name, variant.label));
            compared.skipped += 1;
            continue;
        }
        for run in &mut record.runs {
            if !all && run.run.replicate != displayed {
                continue;
            }
            *run = simulated_again(variant, experiment.seed, &run.run, format);
            compared.runs += 1;
            if !all {
                run.series = Vec::new();
                run.bin_s = 0.0;
            }
        }
    }
}

/// Compares the runs and tables of one experiment.
fn compare(folder: &Path, results: &Path) -> Compared {
    let at = results.display();
    let experiment = loaded(folder);
    let provenance = checked_provenance(&experiment, results);
    let rows = committed_rows(results);
    let (least, most) = run_counts(&experiment);
    assert!(
        (least..=most).contains(&(rows.len() as u64)),
        "{at}: {} runs",
        rows.len()
    );
    let mut records = Vec::new();
    for variant in &experiment.variants {
        records.push(recorded(variant, &rows));
    }
    let is_whole = results.ends_with(EXAMPLE);
    let mut compared = Compared::default();
    let format = provenance.schema_version;
    simulate_again(&experiment, &mut records, (is_whole, format), &mut compared);
    if format < SCHEMA_VERSION {
        compare_summaries(&records, experiment.seed, results);
    }

    let mut listed = BTreeMap::new();
    for file in &provenance.files {
        listed.insert(file.path.as_str(), file.sha256.as_str());
    }
    for (name, bytes) in Tables::of(&records, experiment.seed).files() {
        let is_known = match name {
            "variants.csv" | "comparison.csv" => true,
            // The rows of results in an older format were compared above.
            "runs.csv" | "summary.csv" => format == SCHEMA_VERSION,
            "clusters.csv" | "passes.csv" | "statuses.csv" => compared.skipped == 0,
            "registries.csv" | "workloads.csv" | "releases.csv" => {
                is_whole && format == SCHEMA_VERSION
            }
            "timeline.csv" => is_whole,
            _ => panic!("{name}: say from which runs it follows"),
        };
        if is_known {
            assert_eq!(
                listed.get(name).copied(),
                Some(sha256(&bytes).as_str()),
                "{at}/{name} differs"
            );
        }
        if is_known || ["runs.csv", "summary.csv"].contains(&name) {
            compared.tables += 1;
        }
    }
    compared
}

#[test]
fn committed_results_equal_those_of_this_version() {
    let experiments = experiments();
    let of_each: Vec<Compared> = experiments
        .par_iter()
        .map(|(folder, results)| compare(folder, results))
        .collect();
    let mut compared = Compared::default();
    for of_one in of_each {
        compared.runs += of_one.runs;
        compared.tables += of_one.tables;
        compared.skipped += of_one.skipped;
    }
    let Compared {
        runs,
        tables,
        skipped,
    } = compared;
    // Printed directly to the terminal, because the test harness would suppress it.
    writeln!(
        std::io::stderr(),
        "committed results: {runs} runs and {tables} tables compared, {skipped} variants skipped"
    )
    .expect("stderr is open");
    assert!(skipped <= MOST_SKIPPED, "{skipped} variants were skipped");
    assert!(runs >= FEWEST_RUNS, "only {runs} runs were compared");
    assert!(
        tables >= FEWEST_TABLES,
        "only {tables} tables were compared"
    );
}

#[test]
fn committed_plans_equal_the_decisions_of_this_version() {
    let mut plans = 0;
    for (folder, results) in experiments() {
        let results = plan_of(&results);
        if results.exists() {
            check_plan(&folder, &results);
            plans += 1;
        }
    }
    assert!(plans >= 1, "no plan was compared");
}

/// Decides a plan again, and simulates the first run of every candidate.
fn check_plan(folder: &Path, results: &Path) {
    let at = results.display();
    let experiment = load_plan(folder, &Overrides::default())
        .unwrap_or_else(|error| panic!("{}", error.render(false)));
    let plan = experiment
        .plan
        .as_ref()
        .expect("it was loaded for its plan");
    let format = checked_provenance(&experiment, results).schema_version;
    let rows = committed_rows(results);
    let row = |label: &str, replicate: u32| {
        rows.iter()
            .find(|row| row.variant == label && row.replicate == replicate)
    };
    experiment.variants.par_iter().for_each(|variant| {
        let first = row(&variant.label, 0).expect("every candidate runs at least once");
        simulated_again(variant, experiment.seed, first, format);
    });
    let recorded = |variant: usize, replicate: u32| {
        let label = &experiment.variants[variant].label;
        let row = row(label, replicate)
            .unwrap_or_else(|| panic!("{at}: the search asks for run {replicate} of {label}"));
        Ok(row.clone())
    };
    let found = search_among(&experiment, plan, false, recorded).expect("nobody stops it");
    assert_eq!(found.runs, rows, "{at}: every run, once and in order");
    let committed = PlanRecord::read(results).expect("a plan");
    // The results of an exhaustive search and of trials cannot be computed from the folder's runs.
    let mut decided = PlanRecord {
        exhaustive: committed.exhaustive,
        ..found.plan
    };
    for (question, committed) in decided.questions.iter_mut().zip(&committed.questions) {
        question.bound.clone_from(&committed.bound);
    }
    let committed = fs::read(results.join(PLAN_FILE)).expect("readable");
    assert_eq!(
        String::from_utf8_lossy(&to_json(&decided)),
        String::from_utf8_lossy(&committed),
        "{at}"
    );
}

/// The folders of results, except measurements, which differ from machine to machine. A folder without a provenance
/// has those of several experiments.
fn of_runs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders_in(&root().join("results")) {
        if folder.ends_with("performance") || folder.ends_with("lab") {
            continue;
        }
        if folder.join("provenance.json").exists() {
            found.push(folder);
        } else {
            found.extend(folders_in(&folder));
        }
    }
    found
}

#[test]
fn every_committed_folder_belongs_to_an_experiment() {
    let of_experiments: Vec<PathBuf> = experiments()
        .into_iter()
        .flat_map(|(_, results)| [plan_of(&results), sensitivity_of(&results), results])
        .collect();
    for folder in of_runs() {
        assert!(
            of_experiments.contains(&folder),
            "{}: there is no such experiment",
            folder.display()
        );
    }
}

#[test]
fn committed_files_have_the_checksums_that_their_provenance_lists() {
    for folder in of_runs() {
        let provenance = Provenance::read(&folder)
            .expect("readable")
            .expect("results have a provenance");
        let listed: BTreeMap<String, String> = provenance
            .files
            .into_iter()
            .map(|file| (file.path, file.sha256))
            .collect();
        for (name, bytes) in contents(&folder) {
            let is_listed = listed.get(&name) == Some(&sha256(&bytes));
            assert!(
                name == "provenance.json" || is_listed,
                "{}/{name} is not the file that is listed",
                folder.display()
            );
        }
    }
}

/// Paths of images in results that a page shows, relative to the root.
fn shown_pictures() -> BTreeSet<String> {
    let pages = contents(&root().join("experiments"))
        .into_iter()
        .filter(|(name, _)| name.ends_with(".md"));
    let front = fs::read(root().join("README.md")).expect("readable");
    let texts = pages
        .map(|(_, bytes)| bytes)
        .chain([front])
        .map(|bytes| String::from_utf8(bytes).expect("text"));
    let mut found = BTreeSet::new();
    for text in texts {
        for picture in text.split("![").skip(1) {
            let link = picture
                .split("](")
                .nth(1)
                .and_then(|rest| rest.split(')').next())
                .expect("a picture has a link");
            if let Some(at) = link.find("results/") {
                found.insert(link[at..].to_owned());
            }
        }
    }
    found
}

#[test]
fn only_tables_shown_charts_and_one_example_are_committed() {
    let git = Command::new("git")
        .args(["ls-files", "results"])
        .current_dir(root())
        .output();
    let Some(listed) = git.ok().filter(|output| output.status.success()) else {
        not_tested("this is not a git repository");
        return;
    };
    let listed = String::from_utf8(listed.stdout).expect("text");
    let files: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let shown = shown_pictures();
    for picture in &shown {
        assert!(
            files.contains(picture),
            "{picture} is shown by a page: add it to git and to .gitignore's exceptions"
        );
    }
    let tables = [
        "provenance.json",
        "variants.csv",
        "runs.csv",
        "summary.csv",
        "uncertainty.csv",
        "plan.csv",
        "plan.json",
        "plan.txt",
        "sensitivity.txt",
        "decisions.csv",
    ];
    for file in &files {
        let is_table = tables
            .iter()
            .any(|table| file.ends_with(&format!("/{table}")));
        // Measurements: docs/performance.md explains the benches, docs/lab.md the laboratory.
        let is_measured = ["results/performance/", "results/lab/"]
            .iter()
            .any(|folder| file.starts_with(folder));
        let is_kept = is_table
            || (is_measured && file.ends_with(".csv"))
            || shown.contains(file)
            || file.starts_with(&format!("results/{EXAMPLE}/"));
        assert!(is_kept, "{file} is committed, but no page shows it");
    }
    let bytes: u64 = files
        .iter()
        .filter_map(|file| root().join(file).metadata().ok())
        .map(|file| file.len())
        .sum();
    assert!(
        bytes <= MOST_BYTES,
        "{bytes} bytes of results are committed"
    );
}
