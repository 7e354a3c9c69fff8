//! `fleetsim init`: every product's experiment is valid as written, and an invalid answer writes nothing.

use std::fs;

use super::common::{fleetsim, text};

#[test]
fn the_experiment_for_every_product_is_valid_and_compares_a_setting_of_the_product() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let products = [
        (
            "rancher-fleet",
            "rancherFleet.maxUnavailable: [1, 5%, 10%, 25%, 100%]",
        ),
        (
            "argo-cd",
            "rollingSync.steps[1].maxUpdate: [1, 5%, 10%, 25%, 100%]",
        ),
        (
            "kubefleet-staged",
            "kubeFleetStaged.stages[1].maxConcurrency: [1, 5%, 10%, 25%, 100%]",
        ),
        (
            "kubefleet-rolling",
            "kubeFleetRolling.maxUnavailable: [1, 5%, 10%, 25%, 100%]",
        ),
        ("cloud-foundry", "cloudFoundry.maxInFlight: [1, 5, 20, 100]"),
    ];
    for (product, setting) in products {
        fleetsim(home.path())
            .args(["init", product, "--product", product, "--yes"])
            .assert()
            .success();
        let written =
            fs::read_to_string(home.path().join(product).join("experiment.yaml")).expect("written");
        assert!(written.contains(setting), "{written}");
        fleetsim(home.path())
            .args(["check", product])
            .assert()
            .success();
    }
}

#[test]
fn answers_are_read_from_options_and_input_lines_and_all_others_have_defaults() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let output = fleetsim(home.path())
        .args(["init", "mine", "--clusters", "40", "--settings", "1, 50%"])
        // A number from the menu is also a valid answer.
        .write_stdin("4\n5\n\n\n20 ms\n")
        .output()
        .expect("run");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let asked = text(&output.stderr);
    assert!(
        asked.contains("1 rancher-fleet, 2 argo-cd")
            && !asked.contains("How many clusters")
            && asked.contains("How fast is the registry's link? [10 Gbit/s]: "),
        "{asked}"
    );
    let written = fs::read_to_string(home.path().join("mine/experiment.yaml")).expect("written");
    for line in [
        "  - {name: \"a-canary-{1..2}\", labels: {ring: canary}, nodes: 5, downlink: 100 Mbit/s, rtt: 20 ms}\n",
        "  - {name: \"b-rest-{01..38}\", labels: {ring: rest}, nodes: 5, downlink: 100 Mbit/s, rtt: 20 ms}\n",
        "  strategies.rolling.kubeFleetRolling.maxUnavailable: [1, 50%]\n",
        "  limits: [registry.busiest_minute_p99 < 9000 Mbit/s]\n",
    ] {
        assert!(written.contains(line), "{line} in {written}");
    }
    let ran = fleetsim(home.path())
        .args(["run", "mine", "--replicates", "2"])
        .output()
        .expect("run");
    assert!(
        ran.status.success() && text(&ran.stdout).contains(" of 2 variants"),
        "{}",
        text(&ran.stderr)
    );
}

#[test]
fn an_invalid_answer_is_reported_with_the_reason_and_writes_nothing() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let cases: [(&[&str], &str); 5] = [
        (
            &["--clusters", "0"],
            "`0` is not a valid answer to --clusters (How many clusters are there?): it must be a whole number from 1 to 1000000",
        ),
        (
            &["--egress", "10"],
            "`10` is not a valid answer to --egress",
        ),
        (
            &["--changed", "500 MB"],
            "it must be at most the image's size, 400 MB",
        ),
        (
            &["--settings", "1, many"],
            "`many` must be a count or a percentage; write e.g. `1, 10%, 100%`",
        ),
        (
            &["--product", "cloud-foundry", "--settings", "10%"],
            "maxInFlight",
        ),
    ];
    for (more, message) in cases {
        let output = fleetsim(home.path())
            .args(["init", "mine", "--yes"])
            .args(more)
            .output()
            .expect("run");
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(
            text(&output.stderr).contains(message),
            "{more:?}: {}",
            text(&output.stderr)
        );
        assert!(
            !home.path().join("mine").exists(),
            "{more:?} leaves nothing"
        );
    }
    fs::create_dir(home.path().join("taken")).expect("a folder");
    fs::write(home.path().join("taken/notes.txt"), "mine").expect("a file");
    let output = fleetsim(home.path())
        .args(["init", "taken", "--yes"])
        .output()
        .expect("run");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("taken exists and is not an empty folder; name a new folder")
    );
}

#[test]
fn the_links_depend_on_the_kind_of_site() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let known = [
        ("cloud", "nodes: 3, site: cloud}"),
        ("dsl", "nodes: 3, site: dsl}"),
    ];
    for (site, links) in known {
        fleetsim(home.path())
            .args(["init", site, "--site", site, "--yes"])
            .assert()
            .success();
        let written =
            fs::read_to_string(home.path().join(site).join("experiment.yaml")).expect("written");
        assert!(written.contains(links), "{written}");
        fleetsim(home.path())
            .args(["check", site])
            .assert()
            .success();
    }
    // A user who knows the rate can state it.
    fleetsim(home.path())
        .args([
            "init",
            "own",
            "--site",
            "dsl",
            "--downlink",
            "50 Mbit/s",
            "--yes",
        ])
        .assert()
        .success();
    let written = fs::read_to_string(home.path().join("own/experiment.yaml")).expect("written");
    assert!(
        written.contains("downlink: 50 Mbit/s, rtt: 35 ms"),
        "{written}"
    );
}
