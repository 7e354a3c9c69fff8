//! The four ways from exports to an answer in three commands.

use std::fs;
use std::path::Path;

use super::exports::{
    APPLICATION_SET, FLEET_YAML, PLACEMENT, STAGES, applications, deployment, fleet_clusters,
    members, new_image, old_image, processes,
};
use super::{folder, json, printed};

/// Imports, checks and runs the exports. Returns the output of the three commands.
fn way(folder: &Path, import: &str) -> [String; 3] {
    let imported = printed(folder, &format!("import {import} -o my-experiment"));
    let checked = printed(folder, "check my-experiment");
    let answer = printed(folder, "run my-experiment --replicates 2");
    [imported, checked, answer]
}

fn table(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("my-experiment/clusters.csv")).expect("written");
    text.lines().map(str::to_owned).collect()
}

fn is_answer(answer: &str, of: &str) {
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(of) && words.contains("as-exported") && words.contains("all-at-once"),
        "{answer}"
    );
    // The output also answers which pace the registry can sustain.
    assert!(
        words.contains("Use `other-pace · ") && words.contains("which all meet the limit"),
        "{answer}"
    );
}

#[test]
fn fleet_with_300_clusters_gets_an_answer() {
    let files = [
        ("clusters.json", json(&fleet_clusters(300))),
        ("v2.json", new_image()),
        ("v1.json", old_image()),
        ("fleet.yaml", FLEET_YAML.to_owned()),
    ];
    let folder = folder(&files);
    let import = "--fleet clusters.json --image v2.json --previous v1.json --strategy fleet.yaml";
    let [imported, checked, answer] = way(folder.path(), import);
    // There are 299 clusters in addition to `local`; every 50th is in another workspace: 50, 100, 150, 200, 250.
    for line in [
        "read clusters.json: 300 clusters",
        "note: left out: 6 clusters outside of fleet-default, in `edge-lab`, `fleet-local`",
        "note: 3 of the clusters cannot be updated: 2 paused, 1 without agent",
        "read v2.json: 3 layers, 90 MB; 30 MB of them are not in v1.json",
        "wrote my-experiment: experiment.yaml, clusters.csv, v2.json, v1.json, fleet.yaml",
    ] {
        assert!(imported.contains(line), "{line}: {imported}");
    }
    assert!(imported.contains("inventory.default.site"), "{imported}");
    assert!(checked.contains("294 clusters"), "{checked}");
    assert_eq!(table(folder.path()).len(), 295);
    is_answer(&answer, "291 of 294 clusters ready in");
}

#[test]
fn argo_cd_with_80_applications_gets_an_answer() {
    let files = [
        ("apps.json", json(&applications(80))),
        ("v2.json", new_image()),
        ("v1.json", old_image()),
        ("applicationset.yaml", APPLICATION_SET.to_owned()),
    ];
    let folder = folder(&files);
    let import = "--applications apps.json --image v2.json --previous v1.json --strategy applicationset.yaml";
    let [imported, checked, answer] = way(folder.path(), import);
    for line in [
        "read apps.json: 83 applications",
        "note: left out: 1 application being deleted",
        "note: left out: 2 applications belonging to other ApplicationSets or to none",
    ] {
        assert!(imported.contains(line), "{line}: {imported}");
    }
    assert!(checked.contains("80 clusters"), "{checked}");
    is_answer(&answer, "ready in");
}

#[test]
fn cloud_foundry_with_200_instances_gets_an_answer() {
    let files = [
        ("processes.json", json(&processes(200))),
        ("deployment.json", json(&deployment())),
    ];
    let folder = folder(&files);
    let [imported, checked, answer] = way(
        folder.path(),
        "--process processes.json --deployment deployment.json",
    );
    for line in [
        "read processes.json: a web process with 200 instances",
        "note: left out: 1 of the app's processes, not of the type `web`",
        "strategies.as-exported.cloudFoundry.continueAfter",
        "release.images[0].manifest.layers[0].size",
    ] {
        assert!(imported.contains(line), "{line}: {imported}");
    }
    assert!(checked.contains("200 instances"), "{checked}");
    is_answer(&answer, "ready in");
}

#[test]
fn kubefleet_with_120_members_gets_an_answer() {
    let files = [
        ("members.json", json(&members(120))),
        ("v2.json", new_image()),
        ("v1.json", old_image()),
        ("placement.yaml", PLACEMENT.to_owned()),
        ("stages.yaml", STAGES.to_owned()),
    ];
    let folder = folder(&files);
    let import = "--members members.json --placement placement.yaml --strategy stages.yaml --image v2.json --previous v1.json";
    let [imported, checked, answer] = way(folder.path(), import);
    // Of 120 members, 2 have not joined, 1 is leaving, and 39, 79 and 119 have a taint.
    for line in [
        "read members.json: 120 member clusters",
        "note: left out: 3 members, of which 2 not joined, 1 leaving",
        "note: left out: 3 members with a taint that the placement does not tolerate",
        "strategies.as-exported.kubeFleetStaged.approvals",
    ] {
        assert!(imported.contains(line), "{line}: {imported}");
    }
    assert!(checked.contains("114 member clusters"), "{checked}");
    assert_eq!(
        table(folder.path())[1],
        "aks-member-000,\"fleet.azure.com/location=westeurope,stage=canary\",2"
    );
    is_answer(&answer, "ready in");
}
