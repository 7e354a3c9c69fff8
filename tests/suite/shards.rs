//! Studies in shards: merging any number of shards gives the same bytes as a single run, and incomplete, mixed or
//! damaged shards are not merged.
//!
//! Tables, charts and page follow from the records of the runs, and drawing takes most of the time of a test. So one
//! test compares whole folders, and the others compare the records for several numbers of shards.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fleetsim::results::{Journal, RunRecord, ShardSet, VariantRecord};
use fleetsim::scenario::{Overrides, VariedExperiment};
use fleetsim::study::{DrawnRuns, Job, StudyObserver, drawn_runs, simulate};
use tempfile::TempDir;

use super::common::{contents, fleetsim, folder_with, text};

/// A product and a baseline in two worlds, with drawn constants.
const EXPERIMENT: &str = "
name: luck
replicates: 5
horizon: 6h
uncertainty: {draws: 3}
fleet: [{name: \"c-{01..8}\", nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
release:
  images: [{name: app, manifest: {layers: [{size: 40 MB}]}}]
  workloads: [{kind: Deployment, image: app, start: {median: 4 s, sigma: 0.6}}]
faults: {apply: [{share: 30%, kind: hook, attempts: 2}]}
strategies:
  once: {allAtOnce: {}}
  fleet: {rancherFleet: {maxUnavailable: 20%}}
sweep:
  faults.offline.share: [10%, 20%]
";

fn experiment(text: &str) -> TempDir {
    folder_with(&[("luck.yaml", text)])
}

/// Runs the program, which must succeed, or at least write its results. Returns its stderr.
fn run(at: &Path, args: &[&str]) -> String {
    let output = fleetsim(at).args(args).output().expect("it runs");
    let told = text(&output.stderr);
    assert!(
        [Some(0), Some(99)].contains(&output.status.code()),
        "{args:?}: {told}"
    );
    told
}

fn refused(at: &Path, args: &[&str], code: i32) -> String {
    text(
        &fleetsim(at)
            .args(args)
            .assert()
            .code(code)
            .get_output()
            .stderr,
    )
}

/// Simulates all shards of a command into `shards`.
fn simulate_shards(at: &Path, command: &[&str], of: u32, round: u32) {
    for number in 1..=of {
        let (shard, round) = (format!("{number}/{of}"), round.to_string());
        run(
            at,
            &[
                command,
                &["--shard", &shard, "--round", &round, "--out", "shards"],
            ]
            .concat(),
        );
    }
}

/// Asserts that two folders have the same files and bytes, with a message that only names the files.
fn assert_same(at: &Path, one: &str, other: &str) {
    let (one, other) = (contents(&at.join(one)), contents(&at.join(other)));
    let names =
        |files: &[(String, Vec<u8>)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    let different: Vec<&String> = one
        .iter()
        .zip(&other)
        .filter(|(a, b)| a != b)
        .map(|(file, _)| &file.0)
        .collect();
    assert!(different.is_empty(), "{different:?}");
}

/// Counts the simulated runs, and the displayed runs that are simulated again for their details.
#[derive(Default)]
struct Counted {
    runs: AtomicUsize,
    details: AtomicUsize,
}

impl StudyObserver for Counted {
    fn round(&self, _at_hand: &[u32], _wanted: &[u32], _firsts: &[&RunRecord], _again: &[bool]) {}

    fn begins(&self, job: Job) {
        let counter = if matches!(job, Job::Run(_)) {
            &self.runs
        } else {
            &self.details
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn ended(&self, _job: Job) {}
}

/// The records of a study that starts from the runs of the shards, the runs with drawn constants, and the number of
/// simulated runs and details.
fn records(at: &Path, shards: Option<&str>) -> (Vec<VariantRecord>, DrawnRuns, [usize; 2]) {
    let varied =
        VariedExperiment::load(&at.join("luck.yaml"), &Overrides::default()).expect("valid");
    let home = tempfile::tempdir().expect("a temporary folder");
    let journal =
        Journal::open_in(home.path(), &home.path().join("out"), b"key").expect("a journal");
    if let Some(shards) = shards {
        journal.add(
            ShardSet::read(&[at.join(shards)])
                .and_then(|set| set.runs())
                .expect("whole"),
        );
    }
    let counted = Counted::default();
    let variants = simulate(varied.base(), &journal, &counted).expect("simulated");
    let drawn_before = journal.saved().count();
    let drawn = drawn_runs(&varied, &journal, || {}).expect("simulated");
    let simulated = counted.runs.into_inner() + journal.saved().count() - drawn_before;
    (variants, drawn, [simulated, counted.details.into_inner()])
}

#[test]
fn the_merged_folder_has_the_bytes_of_a_single_run() {
    let folder = experiment(EXPERIMENT);
    let at = folder.path();
    run(at, &["run", "luck.yaml", "--out", "single"]);
    simulate_shards(at, &["run", "luck.yaml"], 3, 1);
    let told = run(at, &["merge", "shards", "--out", "merged"]);
    // There are five replicates and three draws of four variants.
    assert!(
        told.starts_with("merging 3 shards with 32 runs\n"),
        "{told}"
    );
    assert!(told.ends_with("results: merged\n"), "{told}");
    assert_same(at, "single", "merged");
}

/// Clusters of each product are outside of a window for the first three minutes.
#[test]
fn later_releases_and_people_have_the_same_bytes_with_any_number_of_threads_and_shards() {
    let text = EXPERIMENT
        .replace("uncertainty: {draws: 3}\n", "")
        .replace("replicates: 5", "replicates: 2");
    let text = format!(
        "{text}releases: [{{at: 0 s}}, {{at: 20 s, images: [{{name: app, manifest: {{layers: [{{size: 9 MB}}]}}}}]}}]
operator: [{{when: stalled > 5 min, within: {{median: 10 min, sigma: 1}}, then: rollback}}]
"
    );
    let folder = experiment(&text);
    let at = folder.path();
    run(
        at,
        &["run", "luck.yaml", "--threads", "1", "--out", "single"],
    );
    let releases = fs::read_to_string(at.join("single/releases.csv")).expect("there are releases");
    assert!(
        releases.contains("stalled > 5 min"),
        "people act: {releases}"
    );
    run(
        at,
        &["run", "luck.yaml", "--threads", "3", "--out", "several"],
    );
    assert_same(at, "single", "several");
    simulate_shards(at, &["run", "luck.yaml"], 2, 1);
    run(at, &["merge", "shards", "--out", "merged"]);
    assert_same(at, "single", "merged");
}

#[test]
fn the_merged_folder_of_rollouts_with_windows_has_the_bytes_of_a_single_run() {
    let schedule = "
apiVersion: fleet.cattle.io/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: fleet-default}
spec: {schedule: '0 0 22 * * ?', duration: 2h, location: Europe/Berlin, targets: {clusters: [{clusterName: c-03}]}}
";
    let project = "
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: shop}
spec:
  syncWindows: [{kind: deny, schedule: '0 20 * * *', duration: 2h, applications: [c-0*], timeZone: Europe/Berlin}]
";
    let strategies = "
  fleet: {rancherFleet: {maxUnavailable: 20%, schedules: schedule.yaml}}
  argo: {argoCd: {project: project.yaml}}
sweep:";
    let experiment = EXPERIMENT
        .replace(
            "uncertainty: {draws: 3}",
            "startsAt: 2026-03-27 21:57 Europe/Berlin",
        )
        .replace(
            "  fleet: {rancherFleet: {maxUnavailable: 20%}}\nsweep:",
            &strategies[1..],
        );
    let folder = folder_with(&[
        ("luck.yaml", experiment.as_str()),
        ("schedule.yaml", schedule),
        ("project.yaml", project),
    ]);
    let at = folder.path();
    run(at, &["run", "luck.yaml", "--out", "single"]);
    simulate_shards(at, &["run", "luck.yaml"], 2, 1);
    run(at, &["merge", "shards", "--out", "merged"]);
    assert_same(at, "single", "merged");
    // The copies of the files with windows in the results give the same results.
    let told = fleetsim(at)
        .args(["reproduce", "single"])
        .output()
        .expect("it runs");
    let code = told.status.code();
    assert_eq!(
        code,
        Some(0),
        "{}{}",
        text(&told.stdout),
        text(&told.stderr)
    );
}

#[test]
fn any_number_of_shards_gives_the_records_of_a_single_run() {
    let folder = experiment(EXPERIMENT);
    let at = folder.path();
    let (single, drawn, simulated) = records(at, None);
    assert_eq!(simulated, [32, 4]);
    // A study in a single shard knows which runs are displayed. Several shards leave the displayed runs to the merge.
    for (of, details) in [(1, 0), (2, 4), (3, 4), (7, 4)] {
        simulate_shards(at, &["run", "luck.yaml"], of, 1);
        let (merged, merged_drawn, simulated) = records(at, Some("shards"));
        assert!(merged == single, "{of} shards: the same records");
        assert_eq!(
            (merged_drawn.runs, merged_drawn.constants),
            (drawn.runs.clone(), drawn.constants.clone())
        );
        assert_eq!(simulated, [0, details], "{of}");
        fs::remove_dir_all(at.join("shards")).expect("removed");
    }
}

#[test]
fn after_a_second_round_or_with_few_replicates_no_run_is_left_to_simulate() {
    for (replicates, rounds) in [(5, 2), (2, 1)] {
        let folder =
            experiment(&EXPERIMENT.replace("replicates: 5", &format!("replicates: {replicates}")));
        let at = folder.path();
        for round in 1..=rounds {
            simulate_shards(at, &["run", "luck.yaml"], 3, round);
        }
        let (merged, _, simulated) = records(at, Some("shards"));
        assert!(
            merged == records(at, None).0,
            "{replicates}: the same records"
        );
        assert_eq!(simulated, [0, 0], "{replicates}");
    }
}

#[test]
fn a_precision_is_reached_after_one_round_or_several() {
    let precision = "precision: {to: 8%, of: [completion], max: 30}\n";
    let folder = experiment(&EXPERIMENT.replace("replicates: 5\n", precision));
    let at = folder.path();
    let (single, _, _) = records(at, None);
    let mut left = usize::MAX;
    for round in 1..=2 {
        simulate_shards(at, &["run", "luck.yaml"], 2, round);
        let (merged, _, [simulated, _]) = records(at, Some("shards"));
        assert!(merged == single, "{round}: the same records");
        assert!(simulated < left, "round {round} leaves {simulated} runs");
        left = simulated;
    }
}

#[test]
fn a_shard_has_the_same_bytes_every_time_and_is_not_simulated_twice() {
    let folder = experiment(EXPERIMENT);
    let at = folder.path();
    let shard = |out: &str, threads: &str| {
        run(
            at,
            &[
                "run",
                "luck.yaml",
                "--shard",
                "2/3",
                "--out",
                out,
                "--threads",
                threads,
            ],
        )
    };
    assert_eq!(shard("shards", "2"), "shard: shards/2-of-3 (11 runs)\n");
    let first = contents(&at.join("shards"));
    assert_eq!(
        shard("shards", "2"),
        "shard: shards/2-of-3 (complete already)\n"
    );
    assert!(contents(&at.join("shards")) == first, "left as it is");
    shard("again", "1");
    assert!(
        contents(&at.join("again")) == first,
        "on any number of threads"
    );
    fs::remove_file(at.join("again/2-of-3/runs.bin")).expect("removed");
    assert_eq!(
        shard("again", "1"),
        "shard: again/2-of-3 (11 runs)\n",
        "a damaged shard is simulated again"
    );
    let told = refused(at, &["report", "again/2-of-3"], 2);
    assert!(
        told.contains("is a shard, a part of a study's runs; run `fleetsim merge`"),
        "{told}"
    );
    let told = refused(at, &["reproduce", "again/2-of-3"], 2);
    assert!(
        told.ends_with("run `fleetsim run luck.yaml --shard 2/3` again instead\n"),
        "{told}"
    );
    let told = refused(
        at,
        &[
            "run",
            "luck.yaml",
            "--shard",
            "1/3",
            "--out",
            "again/2-of-3",
        ],
        2,
    );
    assert!(
        told.contains("is itself a results folder or a shard"),
        "{told}"
    );
}

#[test]
fn the_index_of_a_job_or_an_array_selects_the_shard() {
    let folder = experiment(EXPERIMENT);
    let at = folder.path();
    let auto = |name: &str, index: &str| {
        let mut command = fleetsim(at);
        command
            .env_remove("JOB_COMPLETION_INDEX")
            .env_remove("SLURM_ARRAY_TASK_ID")
            .env(name, index);
        text(
            &command
                .args(["run", "luck.yaml", "--shard", "auto/7"])
                .output()
                .expect("it runs")
                .stderr,
        )
    };
    assert_eq!(
        auto("JOB_COMPLETION_INDEX", "0"),
        "shard: results/luck.shards/1-of-7 (5 runs)\n"
    );
    assert_eq!(
        auto("SLURM_ARRAY_TASK_ID", "7"),
        "shard: results/luck.shards/7-of-7 (5 runs)\n"
    );
    assert!(auto("SLURM_ARRAY_TASK_ID", "0").contains("submit the array with --array=1-N"));
    assert!(auto("OTHER", "0").contains("auto/N needs JOB_COMPLETION_INDEX"));
}

#[test]
fn shards_that_do_not_form_the_study_are_rejected() {
    let folder = experiment(EXPERIMENT);
    let at = folder.path();
    let merge = ["merge", "shards", "--out", "merged"];
    run(
        at,
        &["run", "luck.yaml", "--shard", "1/2", "--out", "shards"],
    );
    let told = refused(at, &merge, 2);
    assert_eq!(
        told,
        "error: all 2 shards are needed, but 2-of-2 is missing; run `fleetsim run luck.yaml --shard 2/2 --out shards`\n"
    );
    run(
        at,
        &[
            "run",
            "luck.yaml",
            "--seed",
            "9",
            "--shard",
            "2/2",
            "--out",
            "shards",
        ],
    );
    let told = refused(at, &merge, 2);
    assert!(
        told.starts_with("error: all shards must have the same command, but it is "),
        "{told}"
    );
    run(
        at,
        &[
            "run",
            "luck.yaml",
            "--shard",
            "2/2",
            "--out",
            "shards",
            "--replace",
        ],
    );
    fs::write(at.join("luck.yaml"), EXPERIMENT.replace("40 MB", "41 MB")).expect("written");
    let told = refused(at, &merge, 2);
    assert!(
        told.contains("the same inputs") && told.contains("in this experiment and program"),
        "{told}"
    );
    fs::rename(at.join("luck.yaml"), at.join("moved.yaml")).expect("moved");
    let told = refused(at, &merge, 2);
    assert!(
        told.contains("luck.yaml does not exist; add `--experiment EXPERIMENT`"),
        "{told}"
    );
    assert!(!at.join("merged").exists(), "nothing was written");
}

#[test]
fn plans_and_sensitivity_studies_are_merged_after_one_round_or_two() {
    let plan = EXPERIMENT.to_owned()
        + "plan: {limits: [peak_pulls < 7], search: {strategies.fleet.rancherFleet.maxUnavailable: [20%, 50%]}}\n";
    let sensitivity = "sensitivity luck.yaml --replicates 2 --variant 10% --budget 40 --constant fleet[*].downlink";
    let mut sensitivity: Vec<&str> = sensitivity.split(' ').collect();
    // The recorded command must keep the spaces and signs of this value.
    sensitivity.extend(["--limit", "P(completion <= 8 h) >= 5% with 90% confidence"]);
    let cases: [(&str, &[&str]); 2] = [(&plan, &["plan", "luck.yaml"]), (EXPERIMENT, &sensitivity)];
    for (text, command) in cases {
        let folder = experiment(text);
        let at = folder.path();
        run(at, &[command, &["--out", "single"]].concat());
        for round in 1..=2 {
            simulate_shards(at, command, 2, round);
        }
        run(at, &["merge", "shards", "--out", "merged"]);
        assert_same(at, "single", "merged");
        let second = fs::read_dir(at.join("shards")).expect("a folder").flatten();
        for shard in second.filter(|entry| entry.file_name().to_string_lossy().ends_with("round-2"))
        {
            fs::remove_dir_all(shard.path()).expect("removed");
        }
        let told = run(at, &["merge", "shards", "--out", "merged"]);
        assert!(
            told.contains("results: merged (reproduced byte for byte)\n"),
            "{told}"
        );
    }
}
