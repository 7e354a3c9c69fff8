//! Bad input: malformed, truncated, empty, huge, or of the wrong kind. The program prints one clear error, and writes
//! nothing.

use std::fmt::Write as _;
use std::time::Instant;

use super::exports::{
    APPLICATION_SET, FLEET_YAML, PLACEMENT, STAGES, applications, cluster_secrets, deployment,
    fleet_clusters, members, new_image, nodes, processes,
};
use super::{folder, json, names, printed, refused};
use crate::common::loaded;

/// An option, the other options that the option needs, and a valid file for the option.
fn options() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("--fleet", "", json(&fleet_clusters(4))),
        ("--cluster-groups", "--fleet good.json", r#"{"kind": "List", "items": [{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterGroup", "metadata": {"name": "x"}}]}"#.to_owned()),
        ("--members", "", json(&members(4))),
        ("--placement", "--members members.json", PLACEMENT.to_owned()),
        ("--applications", "", json(&applications(4))),
        ("--clusters", "", json(&cluster_secrets(4))),
        ("--process", "", json(&processes(4))),
        ("--deployment", "--process processes.json", json(&deployment())),
        ("--manifest", "", r#"{"applications": [{"name": "shop"}]}"#.to_owned()),
        ("--nodes", "--fleet good.json", json(&nodes())),
        ("--image", "--fleet good.json", new_image()),
        ("--strategy", "--members members.json", STAGES.to_owned()),
        ("--strategy", "--applications apps.json", APPLICATION_SET.to_owned()),
        ("--strategy", "--fleet good.json", FLEET_YAML.to_owned()),
    ]
}

fn files(bad: &str) -> Vec<(&'static str, String)> {
    vec![
        ("good.json", json(&fleet_clusters(4))),
        ("members.json", json(&members(4))),
        ("apps.json", json(&applications(4))),
        ("processes.json", json(&processes(4))),
        ("bad.json", bad.to_owned()),
    ]
}

/// Imports a bad file with an option, and asserts exit code 2, one error that names the file, and no output.
fn is_refused(option: &str, with: &str, bad: &str) -> String {
    let files = files(bad);
    let folder = folder(&files);
    let before = names(folder.path());
    let (code, error) = refused(
        folder.path(),
        &format!("import {with} {option} bad.json -o out"),
        b"",
    );
    assert_eq!(code, 2, "{option}: {error}");
    assert!(
        error.contains("bad.json"),
        "{option} names the file: {error}"
    );
    assert!(!error.contains("panicked"), "{option}: {error}");
    assert_eq!(error.matches("error: ").count(), 1, "{option}: {error}");
    assert_eq!(names(folder.path()), before, "{option} wrote something");
    error
}

#[test]
fn an_empty_file_is_refused_with_the_command_that_writes_one() {
    for (option, with, _) in options() {
        for empty in ["", " \n\n"] {
            let error = is_refused(option, with, empty);
            let is_fleet_yaml = (option, with) == ("--strategy", "--fleet good.json");
            let help = if is_fleet_yaml {
                "help: name your fleet.yaml"
            } else {
                "help: write it with `"
            };
            assert!(
                error.contains("the file is empty") && error.contains(help),
                "{option}: {error}"
            );
        }
    }
}

#[test]
fn a_truncated_file_is_refused_at_its_end() {
    for (option, with, good) in options()
        .into_iter()
        .filter(|(_, _, good)| good.starts_with(['{', '[']))
    {
        let error = is_refused(option, with, &good[..good.len() / 2]);
        assert!(
            error.contains("the JSON ends too early"),
            "{option}: {error}"
        );
        assert!(
            error.contains("the file is cut off; rerun the command"),
            "{option}: {error}"
        );
        assert!(error.contains(" --> bad.json:1:"), "{option}: {error}");
    }
}

#[test]
fn a_malformed_file_is_refused_with_its_position() {
    for (option, with, good) in options() {
        let broken = if good.starts_with(['{', '[']) {
            good.replacen(':', " ", 1)
        } else {
            good.replacen(": ", ": [", 1)
        };
        let error = is_refused(option, with, &broken);
        assert!(
            error.contains("not JSON") || error.contains("not YAML"),
            "{option}: {error}"
        );
        assert!(error.contains(" --> bad.json:"), "{option}: {error}");
    }
}

#[test]
fn a_field_of_a_wrong_type_is_refused_with_its_path() {
    for (option, with, from, to, field) in [
        (
            "--fleet",
            "",
            "\"paused\":false",
            "\"paused\":\"no\"",
            "items[0].spec.paused",
        ),
        (
            "--members",
            "",
            "\"labels\":{",
            "\"labels\":{\"a\":7,",
            "items[0].metadata.labels.a",
        ),
        (
            "--applications",
            "",
            "\"labels\":{",
            "\"labels\":{\"a\":true,",
            "[0].metadata.labels.a",
        ),
        (
            "--process",
            "",
            "\"instances\":4",
            "\"instances\":\"4\"",
            "resources[0].instances",
        ),
        (
            "--nodes",
            "--fleet good.json",
            "\"containerd://1.7.13\"",
            "17",
            "items[0].status.nodeInfo.containerRuntimeVersion",
        ),
    ] {
        let good = options()
            .into_iter()
            .find(|(known, ..)| *known == option)
            .expect("an option")
            .2;
        let bad = good.replacen(from, to, 1);
        assert_ne!(good, bad, "{option}");
        let error = is_refused(option, with, &bad);
        assert!(error.contains(field), "{option}: {error}");
    }
}

#[test]
fn a_file_of_another_kind_is_named_with_the_option_that_reads_it() {
    let exports = [
        (
            json(&fleet_clusters(4)),
            "this is a Cluster list",
            "--fleet",
        ),
        (
            json(&members(4)),
            "this is a MemberCluster list",
            "--members",
        ),
        (
            json(&applications(4)),
            "this is an Application list",
            "--applications",
        ),
        (json(&nodes()), "this is a Node list", "--nodes"),
        (
            json(&processes(4)),
            "this is a list whose first object is a process of Cloud Foundry",
            "--process",
        ),
        (new_image(), "this is an image manifest", "--image"),
        (
            APPLICATION_SET.to_owned(),
            "this is an ApplicationSet",
            "--strategy",
        ),
        (
            STAGES.to_owned(),
            "this is a ClusterStagedUpdateStrategy",
            "--strategy",
        ),
    ];
    for (option, with, _) in options() {
        for (export, what, reads) in &exports {
            if option == *reads {
                continue;
            }
            let error = is_refused(option, with, export);
            assert!(
                error.contains(&format!("{what}; use {reads}")),
                "{option} with {what}: {error}"
            );
        }
    }
}

#[test]
fn exports_that_no_option_reads_are_named_with_the_fix() {
    for (option, bad, what, help) in [
        (
            "--fleet",
            r#"{"kind": "List", "items": [{"apiVersion": "provisioning.cattle.io/v1", "kind": "Cluster", "metadata": {"name": "x"}}]}"#,
            "a Cluster of provisioning.cattle.io/v1",
            "clusters.fleet.cattle.io",
        ),
        (
            "--process",
            r#"{"errors": [{"detail": "App not found", "title": "CF-ResourceNotFound", "code": 10010}]}"#,
            "an error of Cloud Foundry: App not found",
            "cf login",
        ),
        (
            "--fleet",
            r#"{"kind": "List", "items": []}"#,
            "the export has no objects",
            "the permissions with which",
        ),
        (
            "--fleet",
            "NAMESPACE  NAME\nfleet-default  a\n",
            "an object of an unknown kind",
            "kubectl get clusters.fleet.cattle.io -A -o json",
        ),
    ] {
        let error = is_refused(option, "", bad);
        assert!(
            error.contains(what) && error.contains(help),
            "{option}: {error}"
        );
    }
    let index = r#"{"manifests": [{"digest": "sha256:1", "platform": {"os": "linux", "architecture": "amd64"}}]}"#;
    let error = is_refused("--image", "--fleet good.json", index);
    assert!(
        error.contains("lists only the digests of manifests")
            && error.contains("crane manifest IMAGE@sha256:1"),
        "{error}"
    );
}

#[test]
fn conflicting_options_are_rejected() {
    let folder = folder(&files("{}"));
    for (words, message) in [
        ("--image bad.json", "no fleet is named; add one of --fleet"),
        (
            "--fleet good.json --members members.json",
            "--fleet and --members belong to different products",
        ),
        (
            "--members members.json --gitrepo bad.json",
            "--gitrepo does not belong to --members",
        ),
        (
            "--fleet - --strategy -",
            "standard input can be read only once",
        ),
        (
            "--fleet good.json --previous bad.json",
            "each --previous belongs to an --image before it",
        ),
        ("--fleet none.json", "there is no such file"),
        ("--fleet .", "it is a folder, not a file"),
    ] {
        let (code, error) = refused(
            folder.path(),
            &format!("import {words} -o out"),
            json(&fleet_clusters(3)).as_bytes(),
        );
        assert!(
            code == 2 && error.contains(message),
            "{words}: {code}: {error}"
        );
    }
}

#[test]
fn a_strategy_that_the_product_rejects_is_located_in_the_users_file() {
    let strategy = "rolloutStrategy:\n  maxNew: 3\n  maxUnavailable: ten\n";
    let error = is_refused("--strategy", "--fleet good.json", strategy);
    assert!(
        error.contains(" --> bad.json:3:") && error.contains("Fleet refuses this too"),
        "{error}"
    );
}

#[test]
fn a_partition_that_fleet_leaves_empty_is_a_warning() {
    let strategy = "rolloutStrategy:\n  partitions:\n    - {name: all, clusterSelector: {}}\n    \
                    - {name: x, clusterSelector: {matchLabels: {ring: none}}}\n";
    let folder = folder(&[
        ("clusters.json", json(&fleet_clusters(5))),
        ("fleet.yaml", strategy.to_owned()),
    ]);
    let imported = printed(
        folder.path(),
        "import --fleet clusters.json --strategy fleet.yaml -o out",
    );
    assert!(
        imported.contains("warning: partitions[1] (`x`) matches no cluster"),
        "{imported}"
    );
    assert!(printed(folder.path(), "check out").contains("partitions[1] (`x`) matches no cluster"));
}

/// One line of JSON with many clusters and much irrelevant data.
fn huge(clusters: usize) -> String {
    let noise = "x".repeat(300);
    let mut text = "{\"kind\":\"List\",\"items\":[".to_owned();
    for at in 0..clusters {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"apiVersion\":\"fleet.cattle.io/v1alpha1\",\"kind\":\"Cluster\",\"metadata\":{{\"name\":\"s-{at}\",\
             \"namespace\":\"fleet-default\",\"labels\":{{\"n\":\"{at}\"}},\"annotations\":{{\"a\":\"{noise}\"}}}},\
             \"status\":{{\"namespace\":\"c-{at}\"}}}}"
        );
    }
    text + "]}"
}

/// A release build reads 100,000 clusters in seconds, a debug build a tenth of them.
#[test]
fn a_huge_export_on_one_line_is_read_in_seconds() {
    let folder = folder(&[("huge.json", huge(10_000))]);
    let start = Instant::now();
    printed(folder.path(), "import --fleet huge.json -o out");
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert_eq!(
        loaded(&folder.path().join("out")).variants[0]
            .scenario
            .world
            .clusters
            .len(),
        10_000
    );
}

#[test]
fn a_huge_export_of_another_kind_or_cut_off_is_refused_in_seconds() {
    let good = huge(10_000);
    let start = Instant::now();
    let error = is_refused("--members", "", &good);
    assert!(
        error.contains("this is a Cluster list; use --fleet"),
        "{error}"
    );
    let error = is_refused("--fleet", "", &good[..good.len() - 20]);
    assert!(error.contains("the JSON ends too early"), "{error}");
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
