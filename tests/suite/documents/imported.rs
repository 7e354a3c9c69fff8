//! The documents' own unchanged example files, from import to chart.
//!
//! Each product's export is small and written for this test. The strategy's file is the document's.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::files;
use crate::common::{fleetsim, folder_with, text};

/// Kubernetes' list of objects.
fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// Rancher Fleet's clusters: two in the partition demoRollout, and eight others.
fn clusters() -> String {
    let mut items = Vec::new();
    for at in 0..10 {
        let (stage, env) = if at < 2 {
            ("demoRollout", "staging")
        } else {
            ("stable", "prod")
        };
        items.push(json!({
            "apiVersion": "fleet.cattle.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": format!("store-{at}"), "namespace": "fleet-default", "labels": {"stage": stage, "env": env}},
            "spec": {},
            "status": {"namespace": format!("cluster-{at}"), "agent": {"lastSeen": "2026-03-02T08:00:00Z"}},
        }));
    }
    list(&items)
}

/// KubeFleet's members in the three stages.
fn members() -> String {
    let mut items = Vec::new();
    for (name, environment, order) in [
        ("stg-1", "staging", "1"),
        ("can-1", "canary", "1"),
        ("prod-a", "production", "2"),
        ("prod-b", "production", "1"),
    ] {
        items.push(json!({
            "apiVersion": "cluster.kubernetes-fleet.io/v1",
            "kind": "MemberCluster",
            "metadata": {"name": name, "labels": {"environment": environment, "order": order}},
            "spec": {},
            "status": {"conditions": [{"type": "Joined", "status": "True"}]},
        }));
    }
    list(&items)
}

/// Argo CD's applications of the set in the proposal.
fn applications() -> String {
    let mut items = Vec::new();
    for (name, environment, server) in [
        ("engineering-dev", "dev", "https://1.2.3.4"),
        ("engineering-prod", "us_east_2", "https://2.4.6.8"),
        ("finance-preprod", "qa", "https://9.8.7.6/"),
    ] {
        items.push(json!({
            "metadata": {
                "name": format!("{name}-guestbook"), "namespace": "argocd", "labels": {"env": environment},
                "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "guestbook",
                    "uid": "x"}],
            },
            "spec": {
                "project": "default",
                "source": {"repoURL": "https://example.com/deployments.git", "targetRevision": "HEAD", "path": "guestbook"},
                "destination": {"server": server, "namespace": "guestbook"},
            },
            "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}},
        }));
    }
    Value::Array(items).to_string()
}

/// The processes of an app with 20 web instances.
fn processes() -> String {
    let web = json!({
        "guid": "6a901b7c", "type": "web", "instances": 20, "memory_in_mb": 256, "disk_in_mb": 1024,
        "health_check": {"type": "port", "data": {"timeout": null}},
        "links": {"self": {"href": "https://api.example.org/v3/processes/6a901b7c"}},
    });
    json!({"pagination": {"total_results": 1, "total_pages": 1}, "resources": [web]}).to_string()
}

/// The manifest of the new image.
fn manifest() -> String {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": format!("sha256:{}", "a".repeat(64)),
            "size": 8_000},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
            "digest": format!("sha256:{}", "b".repeat(64)), "size": 50_000_000}],
    })
    .to_string()
}

/// Runs the program, which must succeed. Returns its output.
fn printed(folder: &Path, words: &str) -> String {
    let mut command = fleetsim(folder);
    let output = command
        .args(words.split_whitespace())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn each_example_file_goes_from_import_to_chart() {
    let (clusters, members, applications) = (clusters(), members(), applications());
    let (processes, manifest) = (processes(), manifest());
    let folder = folder_with(&[
        ("clusters.json", &clusters),
        ("members.json", &members),
        ("apps.json", &applications),
        ("processes.json", &processes),
        ("v2.json", &manifest),
        ("strict.yaml", files::STRICT),
        ("manual.yaml", files::MANUAL),
        ("ten.yaml", files::TEN_PERCENT),
        ("one.yaml", files::ONE_PARTITION),
        ("threshold.yaml", files::THRESHOLD),
        ("appset.yaml", files::PROPOSAL),
        ("placement.yaml", files::EXTERNAL),
        ("stages.yaml", files::STAGES),
        ("rolling.json", files::ROLLING),
        ("canary.json", files::CANARY),
    ]);
    for (import, product) in [
        (
            "--fleet clusters.json --strategy strict.yaml",
            "rancherFleet",
        ),
        (
            "--fleet clusters.json --strategy manual.yaml",
            "rancherFleet",
        ),
        ("--fleet clusters.json --strategy ten.yaml", "rancherFleet"),
        ("--fleet clusters.json --strategy one.yaml", "rancherFleet"),
        (
            "--fleet clusters.json --strategy threshold.yaml",
            "rancherFleet",
        ),
        (
            "--applications apps.json --strategy appset.yaml",
            "argoCdProposal",
        ),
        (
            "--members members.json --placement placement.yaml --strategy stages.yaml",
            "kubeFleetStaged",
        ),
        (
            "--process processes.json --deployment rolling.json",
            "cloudFoundry",
        ),
        (
            "--process processes.json --deployment canary.json",
            "cloudFoundry",
        ),
    ] {
        let folder = folder.path();
        let image = if product == "cloudFoundry" {
            ""
        } else {
            " --image v2.json"
        };
        printed(folder, &format!("import {import}{image} -o experiment"));
        let experiment =
            fs::read_to_string(folder.join("experiment/experiment.yaml")).expect("written");
        assert!(
            experiment.contains(&format!("{product}:")),
            "{import}: {experiment}"
        );
        printed(folder, "run experiment --replicates 1 --out results");
        let charts = fs::read_dir(folder.join("results/charts")).expect("there are charts");
        assert!(charts.count() > 0, "{import}");
        for written in ["experiment", "results"] {
            fs::remove_dir_all(folder.join(written)).expect("removed");
        }
    }
}
