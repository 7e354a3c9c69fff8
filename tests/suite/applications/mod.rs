//! Several applications in one experiment, from the file to the results: times that bytes over bandwidth give, release
//! times, the form with one application, and the tables.

mod over_time;
mod tables;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use fleetsim::results::{ApplicationRow, RunRecord};
use fleetsim::scenario::{Experiment, Overrides, load};
use fleetsim::sim;
use tempfile::TempDir;

/// A world in which only transfers take time that matters: one cluster with 10 MB/s.
const BARE: &str = "
name: apps
replicates: 1
horizon: 2h
fleet: [{name: \"c-{1..N}\", nodes: 1, downlink: 80 Mbit/s, rtt: 0 s, labels: {n: x}}]
registry: {egress: unlimited}
node: {serializeImagePulls: false, unpackRate: 100 GB/s, registryPullQPS: 0}
agent: {instructionDelay: 0 s, apply: 1 ms, applySpread: 0, reportDelay: 0 s}
controller: {request: 1 ms}
strategies: {once: {allAtOnce: {}}}
";

fn bare(clusters: u32, applications: &str) -> String {
    format!("{}{applications}", BARE.replace('N', &clusters.to_string()))
}

/// An application with one image of this size and one pod in each cluster.
fn application(megabytes: u32) -> String {
    format!(
        "release: {{kind: initial, images: [{{name: app, manifest: {{layers: [{{size: {megabytes} MB}}]}}}}], \
         workloads: [{{kind: Deployment, image: app, start: 1 ms, termination: 1 ms}}]}}"
    )
}

fn loaded(folder: &Path, text: &str) -> Experiment {
    let file = folder.join("experiment.yaml");
    fs::write(&file, text).expect("written");
    load(&file, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the first variant of an experiment.
fn record(text: &str) -> RunRecord {
    let folder = TempDir::new().expect("a folder");
    let experiment = loaded(folder.path(), text);
    sim::run(&experiment.variants[0], 1, 0).expect("it runs")
}

fn of<'r>(record: &'r RunRecord, name: &str) -> &'r ApplicationRow {
    let mut rows = record.applications.iter();
    rows.find(|row| row.application == name)
        .expect("it is there")
}

/// The share of a link's rate that is data: Ethernet, IP and TCP headers are the rest.
const DATA: f64 = 1448.0 / 1538.0;

/// Asserts that a time is what a transfer takes that would last `wanted` seconds without headers, and at most 12 s
/// longer for requests and the agent's reports.
fn assert_about(found: Option<f64>, wanted: f64) {
    let found = found.expect("it is complete");
    let transfer = wanted / DATA;
    assert!(
        (transfer - 0.5..transfer + 12.0).contains(&found),
        "{found} s, not {transfer} s"
    );
}

#[test]
fn two_applications_on_one_link_take_as_long_as_their_bytes() {
    let both = record(&bare(
        1,
        &format!(
            "applications: {{shop: {{{}}}, till: {{{}}}}}",
            application(1200),
            application(600)
        ),
    ));
    // Both have 5 MB/s until the smaller one is complete after 120 s; then 600 MB are left at 10 MB/s.
    assert_about(of(&both, "till").completion_s, 120.0);
    assert_about(of(&both, "shop").completion_s, 180.0);
    assert_eq!(both.run.completion_s, of(&both, "shop").completion_s);
    assert_eq!((both.run.targets, both.run.targets_done), (2, 2));
    for (name, bytes) in [("shop", 1_200_000_000), ("till", 600_000_000)] {
        let row = of(&both, name);
        assert_eq!((row.targets, row.pulls, row.peak_pulls), (1, 1, 1));
        assert!((bytes..bytes + 100_000).contains(&row.received_bytes));
    }
    let sum: u64 = both.applications.iter().map(|row| row.received_bytes).sum();
    assert_eq!(sum, both.run.received_bytes);
}

#[test]
fn applications_on_different_clusters_do_not_share_a_link() {
    let text = bare(
        2,
        &format!(
            "applications: {{shop: {{clusters: {{matchLabels: {{n: x}}}}, {}}}, till: {{clusters: {{matchLabels: {{n: \
             y}}}}, {}}}}}",
            application(1200),
            application(600)
        ),
    );
    let text = text.replace(
        "fleet: [",
        "fleet: [{name: other, nodes: 1, downlink: 80 Mbit/s, rtt: 0 s, labels: {n: y}}, ",
    );
    let both = record(&text);
    assert_about(of(&both, "till").completion_s, 60.0);
    assert_about(of(&both, "shop").completion_s, 120.0);
    assert_eq!(
        (of(&both, "till").targets, of(&both, "shop").targets),
        (1, 2)
    );
    let names: Vec<(&str, &str)> = (both.clusters.iter())
        .map(|row| (row.application.as_str(), row.cluster.as_str()))
        .collect();
    assert_eq!(names, [("shop", "c-1"), ("shop", "c-2"), ("till", "other")]);
}

#[test]
fn an_application_that_is_released_later_starts_later() {
    let text = bare(
        1,
        &format!(
            "applications: {{\"svc-{{08..10}}\": {{{}, releases: {{every: 10 min, from: 1 min}}}}}}",
            application(600)
        ),
    );
    let all = record(&text);
    for (at, name) in (0..).zip(["svc-08", "svc-09", "svc-10"]) {
        let row = of(&all, name);
        let released = 60.0 + 600.0 * f64::from(at);
        assert_eq!(row.release_s, Some(released), "{name}");
        assert_about(row.completion_s, 60.0);
        let cluster = &all.clusters[at as usize];
        let instructed = cluster.instructed_s.expect("it was instructed");
        assert!(
            (released..released + 1.0).contains(&instructed),
            "{name}: {instructed}"
        );
    }
    let first_release = all.run.release_s;
    assert!((first_release - 60.0).abs() < 1e-9, "{first_release} s");
    let last = of(&all, "svc-10").completion_s.expect("it is complete");
    let whole = all.run.completion_s.expect("it is complete");
    assert!((whole - 1200.0 - last).abs() < 1e-6, "{whole} and {last}");
    // The time until the last application's release belongs to the rule.
    let rule = all.run.path_rule_s.expect("a path");
    assert!((1200.0..1201.0).contains(&rule), "{rule}");
}

#[test]
fn a_layer_with_a_digest_is_pulled_once_by_all_applications_of_a_pattern() {
    let shared = application(600).replace(
        "{size: 600 MB}",
        "{digest: base, size: 500 MB}, {size: 100 MB}",
    );
    let text = bare(
        1,
        &format!("applications: {{\"svc-{{1..3}}\": {{{shared}, releases: {{every: 10 min}}}}}}"),
    );
    let all = record(&text);
    assert_about(of(&all, "svc-1").completion_s, 60.0);
    assert_about(of(&all, "svc-2").completion_s, 10.0);
    assert_about(of(&all, "svc-3").completion_s, 10.0);
    let received: Vec<u64> = (all.applications.iter())
        .map(|row| row.received_bytes / 1_000_000)
        .collect();
    assert_eq!(received, [600, 100, 100]);
}

/// Two products' worth of random numbers: drawn sizes, links, failures and start times.
const LUCK: &str = "
name: luck
horizon: 8h
fleet: [{name: \"c-{01..12}\", nodes: {min: 1, max: 3}, downlink: {median: 50 Mbit/s, sigma: 0.5}, labels: {env: prod}}]
registry: {egress: unlimited}
faults: {offline: {share: 10%}, pullFailure: 5%, defect: {share: 10%}}
strategies: {careful: {rancherFleet: {maxUnavailable: 20%}}, plain: {argoCd: {}}}
";

const CONTENT: &str = "{images: [{name: app, manifest: {layers: [{size: {median: 40 MB, sigma: 0.6}}, {digest: base, \
                       size: 9 MB}]}}], workloads: [{kind: Deployment, image: app, replicas: 3}, {kind: DaemonSet, \
                       name: agent, image: app}]}";

#[test]
fn one_application_has_the_same_runs_as_a_release() {
    let folder = TempDir::new().expect("a folder");
    let release = loaded(folder.path(), &format!("{LUCK}release: {CONTENT}"));
    let forms = [
        format!("applications: {{shop: {{release: {CONTENT}}}}}"),
        format!(
            "applications: {{shop: {{release: {CONTENT}, clusters: {{matchLabels: {{env: prod}}}}}}}}"
        ),
        "applications: {shop: {release: {file: typical.yaml}}}".to_owned(),
    ];
    fs::write(folder.path().join("typical.yaml"), CONTENT).expect("written");
    for form in forms {
        let application = loaded(folder.path(), &format!("{LUCK}{form}"));
        assert_eq!(application.variants.len(), 2);
        for (one, other) in release.variants.iter().zip(&application.variants) {
            assert_eq!(one.label, other.label);
            for replicate in 0..3 {
                let run = |variant| sim::run_in_detail(variant, 1, replicate).expect("it runs");
                assert_eq!(run(one), run(other), "{form}");
            }
        }
    }
}

#[test]
fn the_world_is_shared_and_products_see_their_own_application() {
    let folder = TempDir::new().expect("a folder");
    let text = format!(
        "{LUCK}applications: {{shop: {{release: {CONTENT}}}, \"svc-{{1..3}}\": {{release: {CONTENT}}}}}"
    );
    let experiment = loaded(folder.path(), &text);
    let scenario = &experiment.variants[0].scenario;
    assert_eq!((scenario.applications.len(), scenario.targets()), (4, 48));
    assert_eq!(scenario.world.images.len(), 4);
    let view = |at: usize| scenario.applications[at].view.as_ref().expect("a view");
    assert!(Arc::ptr_eq(view(1), view(3)), "one entry has one view");
    assert_eq!((view(1).images.len(), view(1).applications.len()), (1, 1));
    let other = &experiment.variants[1].scenario;
    assert!(
        Arc::ptr_eq(&scenario.world, &other.world),
        "strategies share a world"
    );
}

#[test]
fn another_application_changes_no_draw() {
    let elsewhere = "{name: \"d-{1..4}\", nodes: 2, downlink: 50 Mbit/s, labels: {env: test}}";
    let luck = LUCK
        .replace("fleet: [", &format!("fleet: [{elsewhere}, "))
        .replace("pullFailure: 5%", "pullFailure: 0%");
    let shop = format!("shop: {{clusters: {{matchLabels: {{env: prod}}}}, release: {CONTENT}}}");
    let till = format!(
        "till: {{clusters: {{matchLabels: {{env: prod}}}}, release: {CONTENT}, releases: [{{at: 4h}}]}}"
    );
    let more = format!("more: {{clusters: {{matchLabels: {{env: test}}}}, release: {CONTENT}}}");
    let two = record(&format!("{luck}applications: {{{shop}, {till}}}"));
    let three = record(&format!("{luck}applications: {{{shop}, {more}, {till}}}"));
    let rows_of = |record: &RunRecord, name: &str| {
        let mut rows = record.clusters.clone();
        rows.retain(|row| row.application == name);
        rows
    };
    for name in ["shop", "till"] {
        assert_eq!(rows_of(&two, name), rows_of(&three, name), "{name}");
        assert_eq!(of(&two, name), of(&three, name));
    }
}

#[test]
fn a_stalled_run_names_the_first_incomplete_application() {
    let missing = application(10);
    let text = bare(
        1,
        &format!(
            "faults: {{notFound: 100%}}\napplications: {{shop: {{{missing}}}, till: {{{missing}}}}}"
        ),
    );
    let record = record(&text.replace("allAtOnce", "rancherFleet"));
    assert_eq!(record.run.targets_done, 0);
    assert!(
        record.run.held_detail.starts_with("shop: "),
        "{}",
        record.run.held_detail
    );
}

#[test]
fn a_plan_searches_release_times() {
    let folder = TempDir::new().expect("a folder");
    let text = bare(
        1,
        &format!(
            "applications: {{\"svc-{{1..3}}\": {{{}, releases: {{every: 1 min}}}}}}\nsweep: \
             {{\"applications.svc-{{1..3}}.releases.every\": [0 s, 5 min]}}",
            application(60)
        ),
    );
    let experiment = loaded(folder.path(), &text);
    let labels: Vec<&str> = (experiment.variants.iter())
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(labels, ["once every=0 s", "once every=5 min"]);
    let [at_once, later] = [0, 1].map(|at| &experiment.variants[at].scenario);
    assert!(
        Arc::ptr_eq(&at_once.world, &later.world),
        "release times are no setting of the world"
    );
    let peak = |at: usize| {
        sim::run(&experiment.variants[at], 1, 0)
            .expect("it runs")
            .run
            .peak_pulls
    };
    assert_eq!((peak(0), peak(1)), (3, 1));
}
