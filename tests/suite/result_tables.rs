//! Tables that answer a question without a join: one column for each factor of a sweep, clusters with their
//! properties, one row for each registry, and asserted limits for programs.

use std::path::Path;

use super::common::{fleetsim, folder_with, text};

const EXPERIMENT: &str = "
name: tables
replicates: 2
regions: [{name: north, bandwidth: 1 Gbit/s}]
fleet:
  - {name: \"a-{1..3}\", nodes: 2, downlink: 80 Mbit/s, rtt: 20 ms, region: north}
  - {name: \"b-{1..2}\", nodes: 1, downlink: 40 Mbit/s, rtt: 30 ms}
registries: [{name: own, registry: {egress: 1 Gbit/s}}]
release:
  images:
    - {name: app, manifest: {layers: [{size: 40 MB}]}}
    - {name: side, registry: own, manifest: {layers: [{size: 10 MB}]}}
  workloads: [{kind: DaemonSet, image: app}, {kind: DaemonSet, image: side}]
faults: {defect: {share: 100%, kind: crashes}}
horizon: 1h
strategies:
  fleet: {rancherFleet: {maxUnavailable: 1}}
  once: {allAtOnce: {}}
sweep:
  strategies.fleet.rancherFleet.maxUnavailable: [1, 50%]
  registry.egress: [1 Gbit/s, 10 Gbit/s]
assert: [\"exposed_targets <= 2\", \"peak_pulls <= 1000\"]
";

/// The records of a table, with their cells by column name.
fn table(results: &Path, name: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(results.join(name)).expect("the table");
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("records")
}

#[test]
fn tables_have_a_column_for_each_factor_and_a_row_for_each_registry() {
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    let run = fleetsim(folder.path())
        .args(["run", ".", "--format", "json", "--junit", "limits.xml"])
        .assert()
        .code(99);
    let json: serde_json::Value = serde_json::from_slice(&run.get_output().stdout).expect("JSON");
    let results = folder.path().join("results/tables");

    let variants = table(&results, "variants.csv");
    let of = |row: &std::collections::BTreeMap<String, String>, columns: &[&str]| {
        columns
            .iter()
            .map(|column| row[*column].clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let factors: Vec<String> = variants
        .iter()
        .map(|row| of(row, &["strategy", "maxUnavailable", "egress"]))
        .collect();
    let expected = [
        "fleet 1 1 Gbit/s",
        "fleet 1 10 Gbit/s",
        "fleet 50% 1 Gbit/s",
        "fleet 50% 10 Gbit/s",
    ];
    for wanted in expected {
        assert!(
            factors.iter().any(|found| found == wanted),
            "{wanted}: {factors:?}"
        );
    }
    assert!(
        factors.contains(&"once  10 Gbit/s".to_owned()),
        "a variant without a factor has an empty field: {factors:?}"
    );

    let runs = table(&results, "runs.csv");
    let stalled = runs
        .iter()
        .find(|row| row["strategy"] == "fleet")
        .expect("a run");
    assert!(
        !stalled["held_by"].contains(": ") && !stalled["held_detail"].is_empty(),
        "{stalled:?}"
    );
    assert_eq!(
        (
            stalled["defective_targets"].as_str(),
            stalled["offline_at_start"].as_str()
        ),
        ("5", "0")
    );

    let mut registries = table(&results, "registries.csv");
    registries.retain(|row| row["kind"] == "registry");
    assert_eq!(registries.len(), 2 * runs.len());
    for run in &runs {
        let own = registries
            .iter()
            .filter(|row| of(row, &["variant", "replicate"]) == of(run, &["variant", "replicate"]));
        let bytes: Vec<u64> = own
            .map(|row| row["egress_bytes"].parse().expect("a number"))
            .collect();
        let [main, side] = bytes[..] else {
            panic!("two registries: {bytes:?}")
        };
        assert_eq!((main + side).to_string(), run["egress_bytes"]);
        assert!(
            main > 3 * side && side > 0,
            "40 MB from one and 10 MB from the other: {bytes:?}"
        );
    }

    let clusters = table(&results, "clusters.csv");
    let columns = [
        "cluster",
        "group",
        "region",
        "nodes",
        "downlink_bytes_per_s",
        "rtt_s",
    ];
    let described: Vec<String> = clusters
        .iter()
        .take(4)
        .map(|row| of(row, &columns))
        .collect();
    assert_eq!(described[0], "a-1 a-{1..3} north 2 10000000.0 0.02");
    assert_eq!(described[3], "b-1 b-{1..2}  1 5000000.0 0.03");

    // The strategy that instructs all clusters immediately exceeds the first limit.
    let asserted = json["assertions"].as_array().expect("a list");
    assert_eq!(
        (asserted.len(), &asserted[0]["holds"], &asserted[1]["holds"]),
        (2, &false.into(), &true.into())
    );
    let once = asserted[0]["variants"].as_array().expect("a list").iter();
    let once = once
        .filter(|row| {
            row["variant"]
                .as_str()
                .is_some_and(|name| name.starts_with("once"))
        })
        .collect::<Vec<_>>();
    assert!(!once.is_empty());
    for row in once {
        assert_eq!(
            (
                row["holds"].as_bool(),
                row["value"].as_f64(),
                row["runs_outside"].as_u64()
            ),
            (Some(false), Some(5.0), Some(2))
        );
    }
    let junit = std::fs::read_to_string(folder.path().join("limits.xml")).expect("the report");
    assert!(
        junit.contains("<testsuite name=\"tables\" tests=\"12\""),
        "{junit}"
    );
    assert!(
        junit.contains("<failure message=\"5 targets; 2 of 2 runs outside the limit\">"),
        "{junit}"
    );
    let report = ["report", "results/tables", "--junit", "again.xml"];
    let again = fleetsim(folder.path()).args(report).assert().success();
    assert!(
        text(&again.get_output().stdout).contains("clusters to the defective revision"),
        "the answer comes first"
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("again.xml")).expect("the report"),
        junit
    );
}
