//! Applications over time: their pulls and ready targets add up to those of the run, in memory and in the tables, and
//! only runs in detail record them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fleetsim::results::{OTHER_APPLICATIONS, RunRecord, Tables};
use fleetsim::sim;
use tempfile::TempDir;

use super::super::common::{contents, fleetsim, folder_with, text};
use super::{CONTENT, LUCK, application, bare, loaded};

/// Twelve applications with faults: eight have a series of their own.
fn twelve() -> String {
    let small = CONTENT.replace("median: 40 MB", "median: 10 MB");
    format!(
        "{LUCK}applications: {{shop: {{release: {CONTENT}, releases: [{{at: 20 min}}]}}, \"svc-{{01..11}}\": \
         {{release: {small}, releases: {{every: 2 min}}}}}}"
    )
}

/// Asserts that the series of applications add up to the series of the run.
fn assert_adds_up(record: &RunRecord) {
    for (at, bin) in record.series.iter().enumerate() {
        let mut pulls = 0;
        let mut ready = 0;
        for series in &record.application_series {
            assert!(series.bins[at].pulls >= series.bins[at].pulls_at_peak);
            pulls += series.bins[at].pulls_at_peak;
            ready += series.bins[at].ready_new;
        }
        assert_eq!((pulls, ready), (bin.pulls, bin.ready_new), "bin {at}");
    }
}

#[test]
fn pulls_and_ready_targets_of_applications_add_up_to_those_of_the_run() {
    let folder = TempDir::new().expect("a folder");
    let experiment = loaded(folder.path(), &twelve());
    for variant in &experiment.variants {
        let record = sim::run_in_detail(variant, 1, 0).expect("it runs");
        assert_eq!(record.application_series.len(), 9);
        assert_eq!(record.application_series[8].application, OTHER_APPLICATIONS);
        assert_adds_up(&record);
        let mut by_size = record.applications.clone();
        by_size.sort_by_key(|row| Reverse(row.received_bytes));
        for (series, row) in record.application_series.iter().zip(&by_size[..8]) {
            assert_eq!(series.application, row.application, "the largest first");
            let most = series.bins.iter().map(|bin| bin.pulls).max();
            // A pull that fails immediately is a pull of the series only.
            assert!(most.is_some_and(|most| most >= row.peak_pulls), "{most:?}");
        }
        let plain = sim::run(variant, 1, 0).expect("it runs");
        assert!(plain.application_series.is_empty(), "studies cost nothing");
        let same = RunRecord {
            application_series: Vec::new(),
            statuses: Vec::new(),
            ..record
        };
        assert_eq!(plain, same, "and recording changes no run");
    }
}

/// Runs the experiment in a folder.
fn run(folder: &TempDir, args: &[&str]) {
    fleetsim(folder.path()).args(args).assert().success();
}

/// Asserts that the table of applications adds up to `timeline.csv`.
fn assert_tables_add_up(folder: &Path) {
    let tables = Tables::read(folder).expect("readable");
    assert!(!tables.application_timelines.is_empty());
    let mut pulls: BTreeMap<(String, usize), u64> = BTreeMap::new();
    for (key, timeline) in &tables.application_timelines {
        for bin in 0..timeline.bins() {
            pulls.insert((key.variant.clone(), bin), timeline.pulls_in(bin));
        }
    }
    assert_eq!(pulls.len(), tables.timeline.len(), "the same bins");
    for row in &tables.timeline {
        let bin = (row.t_s / row.bin_s).round() as usize;
        let found = pulls.get(&(row.variant.clone(), bin));
        assert_eq!(found, Some(&row.pulls), "{} {}", row.variant, row.t_s);
    }
    for run in &tables.runs {
        let mut timelines = tables.application_timelines.iter();
        let displayed = timelines.find(|(key, _)| key.variant == run.variant);
        let (key, timeline) = displayed.expect("a timeline of every variant");
        if key.replicate == run.replicate {
            let peak = timeline.peak().expect("there are pulls");
            assert_eq!(peak.pulls, run.peak_pulls, "the exact peak");
        }
    }
}

#[test]
fn the_displayed_run_of_many_runs_has_its_applications_over_time_in_any_folder() {
    let experiment = format!("{}\nreplicates: 5\n", twelve());
    let folder = folder_with(&[("twelve.yaml", &experiment)]);
    run(
        &folder,
        &["run", "twelve.yaml", "--out", "one", "--threads", "1"],
    );
    let one = contents(&folder.path().join("one"));
    assert_tables_add_up(&folder.path().join("one"));
    run(&folder, &["reproduce", "one"]);
    for shard in ["1/2", "2/2"] {
        run(
            &folder,
            &["run", "twelve.yaml", "--shard", shard, "--out", "shards"],
        );
    }
    // With this many runs, the displayed run has no details in any shard, and is simulated again.
    run(&folder, &["merge", "shards", "--out", "merged"]);
    let merged = contents(&folder.path().join("merged"));
    assert!(merged == one, "shards change bytes");
    let page = fs::read_to_string(folder.path().join("one/report.html")).expect("a page");
    assert!(page.contains("id=\"applications\"") && page.contains("setUpApplications"));
    assert!(folder.path().join("one/charts/applications.svg").exists());
    assert!(folder.path().join("one/charts/applications.png").exists());
}

#[test]
fn the_answer_names_the_last_application_and_those_of_the_peak() {
    let applications = format!(
        "applications: {{shop: {{{}}}, till: {{{}}}}}",
        application(1200),
        application(600)
    );
    let folder = folder_with(&[("experiment.yaml", &bare(2, &applications))]);
    let output = fleetsim(folder.path())
        .args(["run", ".", "--out", "one", "--details"])
        .output()
        .expect("it runs");
    let words: Vec<String> = (text(&output.stdout).split_whitespace())
        .map(str::to_owned)
        .collect();
    let answer = words.join(" ");
    assert!(answer.contains("apps shop is done last, "), "{answer}");
    // Of each application, one pod in each of two clusters.
    let peak = "the peak of 4 pulls in the displayed run is of shop (2) and till (2)";
    assert!(answer.contains(peak), "{answer}");
    let table = "application clusters released after completion left behind peak pulls received shop 2 0 s ";
    assert!(answer.contains(table), "{answer}");
}
