//! `fleetsim check` reports legal but surprising settings once, with the reason, in a list of bounded length.

use std::fs;

use super::common::{fleetsim, folder_with, text};

/// The output of `fleetsim check` for an experiment with this fleet and the rest of the file.
fn checked(fleet: &str, rest: &str) -> String {
    let experiment = format!(
        "name: surprises\nquestion: ''\nseed: 1\nreplicates: 1\nhorizon: 1h\nfleet: {fleet}\nregistry: {{egress: 1 Gbit/s}}\n\
         release:\n  kind: update\n  images: [{{name: shop, manifest: {{layers: [{{size: 10 MB}}]}}}}]\n  \
         workloads: [{{kind: Deployment, image: shop}}]\n{rest}"
    );
    let folder = folder_with(&[("experiment.yaml", &experiment)]);
    let output = fleetsim(folder.path())
        .args(["check", "experiment.yaml"])
        .output()
        .expect("run");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

const FLEET: &str = "[{name: 'edge-{001..100}', nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]";

#[test]
fn a_strategy_that_the_documentation_describes_differently_is_reported_once() {
    let found = checked(
        FLEET,
        "strategies:\n  git: {rancherFleet: {maxUnavailable: 10%}}\n  told: {rancherFleet: {maxUnavailable: 10%, rules: documented}}\n\
         sweep: {strategies.git.rancherFleet.maxUnavailable: [10%, 20%]}\n",
    );
    let difference = "warning: git maxUnavailable=10%: the released code differs from the documentation\n  \
                      code:           maxUnavailable 10 of 100 clusters; ";
    assert!(found.contains(difference), "{found}");
    assert!(
        found.contains("\n  documentation:  maxUnavailable no limit of 100 clusters; "),
        "{found}"
    );
    assert!(
        found.contains("docs/schedulers.md#rancher-fleet; `rules: documented` simulates"),
        "{found}"
    );
    assert_eq!(
        found.matches("differs from the documentation").count(),
        1,
        "once for the strategy: {found}"
    );
}

#[test]
fn a_setting_that_the_product_warns_about_is_named_with_its_strategies() {
    let found = checked(
        FLEET,
        "strategies:\n  a: {kubeFleetRolling: {maxSurge: 10%}}\n  b: {kubeFleetRolling: {maxSurge: 20%}}\n",
    );
    assert!(
        found.contains("warning: a, b: maxSurge has no effect on an update"),
        "{found}"
    );
}

#[test]
fn an_object_that_would_be_too_large_is_reported_with_its_size_and_a_link() {
    let fleet = "[{name: 'edge-{0001..5000}', nodes: 1, downlink: 100 Mbit/s, rtt: 30 ms}]";
    let strategy = "strategies:\n  staged:\n    kubeFleetStaged: {stages: [{name: all, labelSelector: {}, maxConcurrency: 10%}]}\n";
    let found = checked(fleet, strategy);
    assert!(
        found.contains("warning: staged: the status of the ClusterStagedUpdateRun has about 405 B"),
        "{found}"
    );
    assert!(found.contains("(docs/schedulers.md#sizes)"), "{found}");
    // The rows of the steps make an ApplicationSet large. Without steps there are no rows.
    let all = "{matchExpressions: [{key: none, operator: DoesNotExist}]}";
    let found = checked(
        fleet,
        &format!(
            "strategies:\n  rolls: {{argoCd: {{strategy: {{type: RollingSync, rollingSync: {{steps: [{all}]}}}}}}}}\n  \
             does-not: {{argoCd: {{}}}}\n"
        ),
    );
    assert!(
        found.contains("warning: rolls: the status of the ApplicationSet has about 468 B"),
        "{found}"
    );
    assert!(!found.contains("does-not: the status"), "{found}");
}

#[test]
fn a_long_list_is_truncated_and_the_rest_is_counted() {
    let many: String = (0..30)
        .map(|at| {
            format!(
                "  s{at}: {{rancherFleet: {{maxUnavailable: {}}}}}\n",
                at + 1
            )
        })
        .collect();
    let found = checked(FLEET, &format!("strategies:\n{many}"));
    assert_eq!(found.matches("warning: ").count(), 20, "{found}");
    assert!(
        found.ends_with("10 more; `fleetsim check --all` prints them\n"),
        "{found}"
    );
}

#[test]
fn an_error_near_the_end_of_a_named_file_is_located_in_that_file() {
    let experiment = "name: x\nfleet: [{name: a}]\nrelease:\n  images: [{name: i, manifest: i.json}]\n  \
                      workloads: [{kind: Deployment, image: i}]\nstrategies: {a: {allAtOnce: {}}}\n";
    // The position of the error in the file is beyond the length of the experiment.
    let blank = "\n".repeat(experiment.len() + 10);
    let manifest =
        format!("{blank}{{\"layers\": [{{\"digest\": \"sha256:a\", \"size\": \"big\"}}]}}\n");
    let home = folder_with(&[("x.yaml", experiment), ("i.json", &manifest)]);
    let output = fleetsim(home.path())
        .args(["check", "x.yaml"])
        .output()
        .expect("run");
    let messages = text(&output.stderr);
    let line = experiment.len() + 11;
    assert!(messages.contains(&format!("i.json:{line}:")), "{messages}");
    assert!(!messages.contains("--set"), "{messages}");
}

/// An experiment in which the fleet.yaml of one strategy selects only two of five clusters.
const DIFFERENT_TARGETS: &str = "name: x\nquestion: q\nseed: 1\nreplicates: 2\nfleet: [{name: 'edge-{1..5}', nodes: 1}]\nrelease:\n  \
    kind: update\n  images: [{name: i, manifest: {layers: [{size: 1 MB}]}}]\n  workloads: [{kind: Deployment, image: i}]\n\
    strategies:\n  file: {rancherFleet: {file: fleet.yaml, accept: [helm.waitForJobs]}}\n  all: {allAtOnce: {}}\n";

const TWO_OF_FIVE: &str = "Paused: no\nhelm: {waitForJobs: true}\noverrideTargets: [{clusterName: edge-1}, {clusterName: edge-2}]\n";

#[test]
fn strategies_with_different_numbers_of_targets_are_reported_as_not_comparable() {
    let home = folder_with(&[
        ("experiment.yaml", DIFFERENT_TARGETS),
        ("fleet.yaml", TWO_OF_FIVE),
    ]);
    let caution = "The compared strategies have different targets, so their times and loads are not comparable: \
                   `file` has 2 clusters and `all` has 5 clusters.";
    for words in [&["check", "."][..], &["run", ".", "--out", "out"]] {
        let output = fleetsim(home.path()).args(words).output().expect("run");
        let said = text(&output.stdout).replace("\n  ", " ").replace('\n', " ");
        assert!(said.contains(caution), "{words:?}: {said}");
    }
    let page = fs::read_to_string(home.path().join("out/report.html")).expect("a page");
    assert!(
        page.contains("<strong>The compared strategies have different targets"),
        "in bold"
    );
}

#[test]
fn results_list_accepted_fields_and_notes() {
    let home = folder_with(&[
        ("experiment.yaml", DIFFERENT_TARGETS),
        ("fleet.yaml", TWO_OF_FIVE),
    ]);
    let output = fleetsim(home.path())
        .args(["run", ".", "--out", "out"])
        .output()
        .expect("run");
    let said = text(&output.stdout).replace("\n  ", " ");
    let accepted = "fleet.yaml: `helm.waitForJobs` is accepted and not simulated";
    let case = "fleet.yaml: `Paused` is read as `paused`";
    for note in [accepted, case] {
        assert!(said.contains(&format!("note: `file`: {note}")), "{said}");
    }
    let read = |name: &str| fs::read_to_string(home.path().join("out").join(name)).expect("a file");
    let provenance: serde_json::Value =
        serde_json::from_str(&read("provenance.json")).expect("JSON");
    let notes = &provenance["file_notes"][0];
    assert_eq!(notes["strategy"], "file");
    assert!(
        notes["notes"]
            .to_string()
            .contains("`helm.waitForJobs` is accepted"),
        "{notes}"
    );
    let page = read("report.html");
    let answer = page.find("<h2 id=\"answer-title\">").expect("an answer");
    let comparison = page
        .find("<h2 id=\"comparison-title\">")
        .expect("a comparison");
    let block = page.find("id=\"file-notes\"><strong>").expect("notes");
    assert!(answer < block && block < comparison, "beside the answer");
    assert!(page[block..comparison].contains("<strong>helm.waitForJobs</strong> is accepted"));
}

#[test]
fn results_without_notes_have_no_list_of_notes() {
    let experiment = DIFFERENT_TARGETS.replace(
        "file: fleet.yaml, accept: [helm.waitForJobs]",
        "maxUnavailable: 1",
    );
    let home = folder_with(&[("experiment.yaml", &experiment)]);
    fleetsim(home.path())
        .args(["run", ".", "--out", "out"])
        .assert()
        .success();
    let provenance = fs::read_to_string(home.path().join("out/provenance.json")).expect("written");
    assert!(!provenance.contains("file_notes"), "{provenance}");
    let page = fs::read_to_string(home.path().join("out/report.html")).expect("a page");
    assert!(!page.contains("id=\"file-notes\""));
}
