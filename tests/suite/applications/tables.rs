//! The results folder of several applications: its tables, threads, shards and the answer.

use std::fs;

use tempfile::TempDir;

use super::super::common::{contents, fleetsim, folder_with, text};

/// Two applications with different strategies, and a pattern with a third.
const APPLICATIONS: &str = "
name: morning
replicates: 3
horizon: 6h
fleet:
  - {name: \"store-{1..6}\", nodes: 2, downlink: 100 Mbit/s, rtt: 30 ms, labels: {tier: store}}
  - {name: \"hub-{1..2}\", nodes: 2, downlink: 1 Gbit/s, rtt: 30 ms, labels: {tier: hub}}
faults: {offline: {share: 10%}, defect: {share: 10%}}
applications:
  shop:
    clusters: {matchLabels: {tier: store}}
    release:
      images: [{name: app, manifest: {layers: [{digest: base, size: 20 MB}, {size: 30 MB}]}}]
      workloads: [{kind: Deployment, image: app, replicas: 2}]
    strategy: careful
  \"svc-{01..03}\":
    release: {file: typical.yaml}
    releases: {every: 5 min}
strategies:
  careful: {rancherFleet: {maxUnavailable: 20%}}
  half: {rancherFleet: {maxUnavailable: 50%}}
  bound: {allAtOnce: {}}
";

const TYPICAL: &str = "
images: [{name: svc, manifest: {layers: [{digest: base, size: 20 MB}, {size: 10 MB}]}}]
workloads: [{kind: Deployment, image: svc}]
";

fn folder() -> TempDir {
    folder_with(&[("morning.yaml", APPLICATIONS), ("typical.yaml", TYPICAL)])
}

fn run(folder: &TempDir, args: &[&str]) -> String {
    let output = fleetsim(folder.path())
        .args(args)
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn results_have_a_table_of_applications_whatever_the_threads_and_shards() {
    let folder = folder();
    let answer = run(
        &folder,
        &["run", "morning.yaml", "--out", "one", "--threads", "1"],
    );
    assert!(answer.contains("deployments"), "{answer}");
    run(
        &folder,
        &["run", "morning.yaml", "--out", "two", "--threads", "2"],
    );
    let at = |name: &str| contents(&folder.path().join(name));
    assert!(at("one") == at("two"), "threads change bytes");
    for shard in ["1/2", "2/2"] {
        run(
            &folder,
            &["run", "morning.yaml", "--shard", shard, "--out", "shards"],
        );
    }
    run(&folder, &["merge", "shards", "--out", "merged"]);
    assert!(at("one") == at("merged"), "shards change bytes");
    let table = |name: &str| fs::read_to_string(folder.path().join("one").join(name)).expect(name);
    let applications = table("applications.csv");
    // Two variants with three runs of four applications: the third strategy belongs to `shop`.
    assert_eq!(applications.lines().count(), 1 + 2 * 3 * 4);
    assert!(
        applications.contains("\nhalf,half,,0,shop,6,"),
        "{applications}"
    );
    assert!(
        applications.contains("\nbound,bound,,2,svc-03,8,"),
        "{applications}"
    );
    assert!(table("report.html").contains("Each square is a deployment,"));
    assert!(table("charts/ready.svg").contains("Deployments ready on the new revision"));
    let clusters = table("clusters.csv");
    assert_eq!(clusters.lines().count(), 1 + 2 * (6 + 3 * 8));
    assert!(clusters.contains(",svc-02,hub-1,"), "{clusters}");
    // The page is drawn again from the folder alone.
    run(&folder, &["report", "one"]);
    assert!(
        at("one") == at("two"),
        "the tables are not read back as they were written"
    );
}

#[test]
fn check_and_explain_show_every_application() {
    let folder = folder();
    let check = run(&folder, &["check", "morning.yaml"]);
    assert!(check.contains("2 variants"), "{check}");
    let explained = run(&folder, &["explain", "morning.yaml"]);
    // A node has the layer that all images share once: 3 times 10 MB and 20 MB for each of 16 nodes.
    let images = "\nimage svc-01/svc to svc-03/svc: 2 layers, 30 MB each; 30 MB of it new to a node that runs the \
                  previous revision\n  if every node pulls once: 800 MB\n";
    assert!(explained.contains(images), "{explained}");
    assert!(
        explained.contains("half, svc-01 to svc-03: "),
        "{explained}"
    );
    assert!(explained.contains("half, shop: "), "{explained}");
}

#[test]
fn one_application_has_no_table_of_applications() {
    let folder = folder();
    let one = APPLICATIONS
        .lines()
        .filter(|line| {
            !line.contains("svc-") && !line.contains("typical") && !line.contains("every")
        })
        .collect::<Vec<&str>>()
        .join("\n");
    let one = one.replace("    strategy: careful\n", "");
    fs::write(folder.path().join("one.yaml"), one).expect("written");
    run(&folder, &["run", "one.yaml", "--out", "one"]);
    for file in [
        "applications.csv",
        "applications-timeline.csv",
        "charts/applications.svg",
    ] {
        assert!(!folder.path().join("one").join(file).exists(), "{file}");
    }
    let page = fs::read_to_string(folder.path().join("one/report.html")).expect("a page");
    assert!(!page.to_lowercase().contains("applications"), "a byte more");
    let clusters = fs::read_to_string(folder.path().join("one/clusters.csv")).expect("a table");
    assert!(clusters.starts_with("variant,strategy,setting,replicate,cluster,"));
}
