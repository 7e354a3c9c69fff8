//! `fleetsim export`: traces and metrics from the results of a run, to a file or to standard output.

use std::fs;

use serde_json::Value;

use super::common::{fleetsim, folder_with, text};

const EXPERIMENT: &str = "\
name: small
question: ''
seed: 1
replicates: 2
horizon: 2h
fleet: [{name: 'edge-{01..10}', nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]
registry: {egress: 1 Gbit/s}
release:
  kind: update
  images: [{name: shop, manifest: {layers: [{size: 10 MB}]}}]
  workloads: [{kind: Deployment, image: shop}]
strategies: {git: {rancherFleet: {maxUnavailable: 5}}, bound: {allAtOnce: {}}}
";

#[test]
fn results_are_exported_as_a_trace_and_metrics_and_a_wrong_name_writes_nothing() {
    let folder = folder_with(&[("experiment.yaml", EXPERIMENT)]);
    let run = |arguments: &[&str]| {
        fleetsim(folder.path())
            .args(arguments)
            .output()
            .expect("run")
    };
    assert!(run(&["run", ".", "--out", "out"]).status.success());
    assert!(
        run(&["export", "out", "--to", "trace", "-o", "trace.json"])
            .status
            .success()
    );
    let trace: Value =
        serde_json::from_slice(&fs::read(folder.path().join("trace.json")).expect("written"))
            .expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let ready = events
        .iter()
        .filter(|event| event["name"] == "ready")
        .count();
    assert_eq!(ready, 20, "ten clusters of two variants");
    assert!(
        events
            .iter()
            .any(|event| event["name"] == "pass" && event["args"]["promoted"] == 5),
        "passes of Fleet"
    );
    assert!(
        events.iter().any(|event| event["cat"] == "status"),
        "statuses of Fleet"
    );

    let metrics = run(&[
        "export",
        "out",
        "--to",
        "openmetrics",
        "--variant",
        "git",
        "--start",
        "1700000000",
    ]);
    let metrics = text(&metrics.stdout);
    assert!(
        metrics.ends_with("# EOF\n") && !metrics.contains("variant=\"bound\""),
        "{metrics}"
    );
    let sample = "node_network_transmit_bytes_total{job=\"fleetsim\",experiment=\"small\",variant=\"git\",instance=\"registry\",\
                  device=\"egress\"} 0 1700000000\n";
    assert!(metrics.contains(sample), "{metrics}");

    let wrong = run(&[
        "export",
        "out",
        "--to",
        "trace",
        "--variant",
        "gti",
        "-o",
        "wrong.json",
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).contains("no variant `gti`; choose one of `git`, `bound`"),
        "{}",
        text(&wrong.stderr)
    );
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("readable")
        .map(|entry| entry.expect("one").file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with("wrong")),
        "{left:?}"
    );
}
