//! The real program: what it writes, what it refuses, and that neither threads nor reruns change a byte.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

/// Images of two layers, of which the update changes one.
const MANIFEST: &str = r#"{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
  "config": {"digest": "sha256:CONFIG", "size": 8000},
  "layers": [{"digest": "sha256:BASE", "size": 60000000}, {"digest": "sha256:APP", "size": 20000000}]}"#;

fn manifest(app: char) -> String {
    let digest = |c: char| c.to_string().repeat(64);
    MANIFEST.replace("CONFIG", &digest(app)).replace("BASE", &digest('b')).replace("APP", &digest(app))
}

const EXPERIMENT: &str = r#"
name: small
question: Does the program work?
seed: 7
replicates: 3
horizon: 12h
fleet:
  - {name: "store-{01..30}", labels: {env: prod}, nodes: 2, downlink: 100 Mbit/s, rtt: 30 ms}
registry: {egress: 1 Gbit/s, requests: {rate: 50/s, burst: 100}}
release:
  kind: update
  images: [{name: shop, manifest: shop-v2.json, previous: shop-v1.json}]
  workloads: [{kind: Deployment, image: shop, replicas: 2, readiness: {period: 10 s}}]
faults: {pullFailure: 5%}
strategies:
  careful: {rancherFleet: {maxUnavailable: 10%}}
  all-at-once: {allAtOnce: {}}
sweep: {strategies.careful.rancherFleet.maxUnavailable: [10%, 50%]}
"#;

/// A folder with a small experiment.
fn experiment() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("the file is written");
    write("experiment.yaml", EXPERIMENT);
    write("shop-v1.json", &manifest('1'));
    write("shop-v2.json", &manifest('2'));
    folder
}

/// The program, called in `folder`.
fn fleetsim(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("fleetsim").expect("the program is built");
    command.current_dir(folder);
    command
}

/// Every file below a folder with its bytes.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").display().to_string();
                found.push((name, fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints text")
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = experiment();
    let run = |threads: &str, out: &str| {
        let output = fleetsim(folder.path()).args(["run", ".", "--threads", threads, "--out", out]).assert().success();
        (contents(&folder.path().join(out)), text(&output.get_output().stdout))
    };
    let (one, table_of_one) = run("1", "one");
    let (two, table_of_two) = run("2", "two");
    let names: Vec<&str> = one.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["runs.csv", "summary.csv", "timeline.csv", "clusters.csv", "provenance.json", "charts/pulls.svg"] {
        assert!(names.contains(&name), "{name} is among {names:?}");
    }
    for ((name, one), (other, two)) in one.iter().zip(&two) {
        assert_eq!(name, other);
        assert!(one == two, "{name} differs");
    }
    assert_eq!(table_of_one, table_of_two);
}

#[test]
fn results_are_replaced_as_a_whole_and_said_to_be_reproduced() {
    let folder = experiment();
    let stderr = |args: &[&str]| {
        let assert = fleetsim(folder.path()).arg("run").arg("experiment.yaml").args(args).assert().success();
        text(&assert.get_output().stderr)
    };
    assert_eq!(stderr(&[]), "results: results/small\n");
    assert_eq!(stderr(&[]), "results: results/small (reproduced byte for byte)\n");
    let replaced = stderr(&["--seed", "8"]);
    assert!(replaced.starts_with("results: results/small (replaced; differ from before in "), "{replaced}");
    let left: Vec<_> = fs::read_dir(folder.path().join("results")).expect("results").collect();
    assert_eq!(left.len(), 1, "nothing is left beside the results");
}

#[test]
fn every_byte_out_of_the_registry_is_accounted_for_in_the_runs() {
    let folder = experiment();
    fleetsim(folder.path()).args(["run", ".", "--out", "out"]).assert().success();
    let mut reader = csv::Reader::from_path(folder.path().join("out/runs.csv")).expect("runs.csv");
    let runs: Vec<fleetsim::record::RunRow> = reader.deserialize().collect::<Result<_, _>>().expect("rows");
    assert_eq!(runs.len(), 9, "three variants, three runs each");
    for run in runs {
        let to_nodes = run.egress_bytes - run.upstream_bytes + run.cache_bytes + run.peer_bytes;
        assert_eq!(to_nodes, run.received_bytes + run.lost_bytes, "{}", run.variant);
        // Two nodes a cluster fetch the changed layer and its config; the base is there.
        assert_eq!(run.received_bytes, 30 * 2 * 20_008_000, "{}", run.variant);
    }
}

#[test]
fn a_foreign_folder_is_refused_and_left_alone() {
    let folder = experiment();
    fs::create_dir(folder.path().join("mine")).expect("a folder");
    fs::write(folder.path().join("mine/thesis.txt"), "years of work").expect("a file");
    let assert = fleetsim(folder.path()).args(["run", ".", "--out", "mine"]).assert().code(1);
    let message = text(&assert.get_output().stderr);
    assert!(message.starts_with("error: ") && message.contains("mine"), "{message}");
    assert_eq!(contents(&folder.path().join("mine")), [("thesis.txt".to_owned(), b"years of work".to_vec())]);
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_anything_is_simulated() {
    let folder = experiment();
    fs::write(folder.path().join("file"), "").expect("a file");
    let assert = fleetsim(folder.path()).args(["run", ".", "--out", "file/results"]).assert().code(1);
    let message = text(&assert.get_output().stderr);
    assert!(message.starts_with("error: ") && message.contains("file"), "{message}");
}

#[test]
fn all_mistakes_of_an_experiment_are_told_at_once_with_their_places() {
    let folder = experiment();
    let wrong = EXPERIMENT
        .replace("egress: 1 Gbit/s", "egress: 1000")
        .replace("pullFailure: 5%", "pullFailure: 500%")
        .replace("replicates: 3", "replicats: 3");
    fs::write(folder.path().join("experiment.yaml"), wrong).expect("a file");
    for command in ["run", "check", "explain"] {
        let assert = fleetsim(folder.path()).args([command, "."]).assert().code(2);
        let message = text(&assert.get_output().stderr);
        for part in ["`1000` has no unit", "`500%` is out of range", "`replicats`", "experiment.yaml:"] {
            assert!(message.contains(part), "{command} says {part}: {message}");
        }
        assert!(!folder.path().join("results").exists(), "{command} writes nothing");
    }
}

#[test]
fn an_experiment_that_is_not_there_is_told_by_name() {
    let folder = experiment();
    let assert = fleetsim(folder.path()).args(["run", "nowhere"]).assert().code(2);
    let message = text(&assert.get_output().stderr);
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn json_on_stdout_is_json_and_nothing_else() {
    let folder = experiment();
    let assert = fleetsim(folder.path()).args(["run", ".", "--replicates", "1", "--format", "json"]).assert().success();
    let value: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
    assert!(value["schema_version"].is_u64());
}

#[test]
fn explain_tells_partitions_and_limits_in_numbers() {
    let folder = experiment();
    let assert = fleetsim(folder.path()).args(["explain", "."]).assert().success();
    let explained = text(&assert.get_output().stdout);
    for part in [
        "30 clusters, 60 nodes; registry egress 1 Gbit/s",
        "80 MB; 20 MB of it new to a node",
        "maxUnavailable 3 of 30 clusters",
        "maxUnavailable 15 of 30 clusters",
        "all 30 clusters in the first pass",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    assert!(explained.lines().all(|line| line.chars().count() <= 160), "lines fit a terminal");
}

#[test]
fn the_schema_is_printed_for_editors() {
    let folder = experiment();
    let assert = fleetsim(folder.path()).arg("schema").assert().success();
    let schema: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
    assert!(schema["properties"]["strategies"].is_object());
}
