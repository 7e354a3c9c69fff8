//! Imported windows: Fleet's Schedules and the sync windows of Argo CD's projects.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::exports::{APPLICATION_SET, applications, fleet_clusters};
use super::{folder, json as text_of, printed, refused};

/// A Schedule of a namespace for one cluster.
fn schedule(namespace: &str, name: &str, cluster: &str) -> Value {
    json!({
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Schedule",
        "metadata": {"name": name, "namespace": namespace, "uid": "u", "resourceVersion": "7"},
        "spec": {
            "schedule": "0 0 22 * * ?", "duration": "2h", "location": "Europe/Berlin",
            "targets": {"clusters": [{"name": "one", "clusterName": cluster}]},
        },
        "status": {"active": false, "matchingClusters": [cluster]},
    })
}

/// Clusters, the first three of which say that they have a Schedule.
fn scheduled_clusters() -> Value {
    let mut clusters = fleet_clusters(8);
    for at in 1..=3 {
        let status = &mut clusters["items"][at]["status"];
        status["scheduled"] = true.into();
        status["activeSchedule"] = false.into();
    }
    clusters
}

fn written(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("out").join(name)).expect("written")
}

/// Replaces the assumed start, which is the time of the import.
fn start_at(folder: &Path, start: &str) {
    let text = written(folder, "experiment.yaml");
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_start = line.starts_with("startsAt: ");
        lines.push(if is_start {
            format!("startsAt: {start}")
        } else {
            line.to_owned()
        });
    }
    fs::write(folder.join("out/experiment.yaml"), lines.join("\n") + "\n").expect("written");
}

/// Of three clusters with a Schedule by their status, two have theirs in the files: one in the file with the clusters,
/// the other in the file of `--schedules`. The third is named, with the command that exports its Schedule.
#[test]
fn schedules_of_all_files_are_imported_and_clusters_without_theirs_are_named() {
    let mut clusters = scheduled_clusters();
    let items = clusters["items"].as_array_mut().expect("a list");
    items.push(schedule("fleet-default", "nights", "store-0001"));
    let more = json!({"kind": "List", "apiVersion": "v1", "items": [
        schedule("fleet-default", "late", "store-0002"),
        schedule("edge-lab", "elsewhere", "store-0004"),
        schedule("fleet-default", "nobody", "store-9999"),
    ]});
    let folder = folder(&[
        ("clusters.json", text_of(&clusters)),
        ("schedules.json", text_of(&more)),
    ]);
    let import = "import --fleet clusters.json --schedules schedules.json -o out";
    let imported = printed(folder.path(), import);
    for part in [
        "clusters.json, schedules.json: 2 Schedules for 2 clusters\n",
        "left out: 1 Schedule outside of fleet-default\n",
        "left out: 1 Schedule that selects no target\n",
        "`status.scheduled` of Cluster `store-0003`. Outside of the times of its Schedule, a cluster applies nothing. \
         Export the Schedules with `kubectl get schedules.fleet.cattle.io -A -o json`, and name the file with \
         --schedules\n",
        "replace it with the date, time and time zone of the start, such as `2026-03-28 22:00 Europe/Berlin`\n",
    ] {
        assert!(imported.contains(part), "{part}: {imported}");
    }
    let experiment = written(folder.path(), "experiment.yaml");
    assert!(
        experiment.contains("    rancherFleet:\n      schedules: schedules.yaml\n"),
        "{experiment}"
    );
    let copy = written(folder.path(), "schedules.yaml");
    assert_eq!(copy.matches("kind: Schedule").count(), 2, "{copy}");
    assert!(!copy.contains("uid"), "{copy}");

    start_at(folder.path(), "2026-03-27 20:00 Europe/Berlin");
    let explained = printed(folder.path(), "explain out");
    let line = "schedules (late, nights): 2 of 7 clusters (store-0001, store-0002); outside their windows at the \
                start: 2; the first window opens on Fri 2026-03-27 22:00 Europe/Berlin";
    let explained = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(explained.contains(line), "{explained}");
}

#[test]
fn without_schedules_nothing_is_assumed_about_the_start() {
    let folder = folder(&[("clusters.json", text_of(&fleet_clusters(8)))]);
    let imported = printed(folder.path(), "import --fleet clusters.json -o out");
    assert!(!imported.contains("Schedule"), "{imported}");
    let experiment = written(folder.path(), "experiment.yaml");
    assert!(!experiment.contains("startsAt"), "{experiment}");
}

/// Without the groups, a Schedule for a group selects nothing, which is said.
#[test]
fn a_schedule_for_a_cluster_group_needs_the_groups() {
    let mut of_group = schedule("fleet-default", "nights", "");
    of_group["spec"]["targets"] = json!({"clusters": [{"clusterGroup": "canaries"}]});
    let groups = json!({"kind": "List", "apiVersion": "v1", "items": [{
        "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterGroup",
        "metadata": {"name": "canaries", "namespace": "fleet-default"},
        "spec": {"selector": {"matchLabels": {"ring": "canary"}}},
    }]});
    let folder = folder(&[
        ("clusters.json", text_of(&scheduled_clusters())),
        ("schedules.json", text_of(&of_group)),
        ("groups.json", text_of(&groups)),
    ]);
    let import = "import --fleet clusters.json --schedules schedules.json --replace -o out";
    let imported = printed(folder.path(), import);
    let note = "the Schedule `nights` selects cluster groups, which select nothing: add --cluster-groups\n";
    assert!(imported.contains(note), "{imported}");
    let imported = printed(
        folder.path(),
        &format!("{import} --cluster-groups groups.json"),
    );
    assert!(
        imported.contains("schedules.json: 1 Schedule for 1 cluster\n"),
        "{imported}"
    );
}

#[test]
fn schedules_that_cannot_be_used_are_refused_with_their_place() {
    let mut bad = schedule("fleet-default", "nights", "store-0001");
    bad["spec"]["schedule"] = "0 22 * * *".into();
    let mut selector = schedule("fleet-default", "nights", "store-0001");
    let expression = json!({"key": "a", "operator": "Near", "values": ["b"]});
    selector["spec"]["targets"]["clusters"][0]["clusterSelector"] =
        json!({"matchExpressions": [expression]});
    let folder = folder(&[
        ("clusters.json", text_of(&fleet_clusters(8))),
        ("bad.json", text_of(&bad)),
        ("selector.json", text_of(&selector)),
    ]);
    let import = "import --fleet clusters.json -o out --schedules";
    for (file, parts) in [
        (
            "bad.json",
            [
                "bad.json (Schedules)",
                "parse cron expression: invalid expression length",
            ],
        ),
        ("selector.json", ["selector.json:1:", "Near"]),
        (
            "clusters.json",
            ["clusters.json", "this is a Cluster list; use --fleet"],
        ),
    ] {
        let (code, error) = refused(folder.path(), &format!("{import} {file}"), b"");
        assert_eq!(code, 2, "{error}");
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    assert!(!folder.path().join("out").exists());
}

/// A project of Argo CD with these sync windows.
fn project(name: &str, windows: &Value) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"sourceRepos": ["*"], "roles": [{"name": "r", "jwtTokens": [{"iat": 7}]}], "syncWindows": windows},
    })
}

/// Windows that select clusters and namespaces name the applications of the export. A window of another project, and
/// one that selects nothing, are left out.
#[test]
fn sync_windows_name_the_exported_applications_that_they_select() {
    let mut apps = applications(4);
    for (at, app) in apps.as_array_mut().expect("a list").iter_mut().enumerate() {
        app["spec"]["project"] = "shop".into();
        app["spec"]["destination"] =
            json!({"server": format!("https://k8s-{at}.example.com"), "namespace": "shop"});
    }
    apps[3]["spec"]["project"] = "bank".into();
    apps[2]["spec"]["destination"]["namespace"] = "store".into();
    let nights = |more: Value| {
        let mut window = json!({"kind": "deny", "schedule": "0 18 * * *", "duration": "4h", "timeZone": "Europe/Berlin"});
        let fields = window.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        window
    };
    let projects = json!({"kind": "List", "apiVersion": "v1", "items": [
        project("shop", &json!([
            nights(json!({"clusters": ["https://k8s-0*"]})),
            nights(json!({"namespaces": ["shop"], "clusters": ["*k8s-1*"], "andOperator": true})),
            nights(json!({"namespaces": ["store"], "clusters": ["*k8s-1*"], "andOperator": true})),
        ])),
        project("other", &json!([nights(json!({"applications": ["*"]}))])),
    ]});
    let folder = folder(&[
        ("apps.json", text_of(&apps)),
        ("set.yaml", APPLICATION_SET.to_owned()),
        ("projects.json", text_of(&projects)),
    ]);
    let import =
        "import --applications apps.json --strategy set.yaml --project projects.json -o out";
    let imported = printed(folder.path(), import);
    for part in [
        "projects.json: 2 projects with 2 sync windows for the applications\n",
        "the files do not have the project `bank` of the applications, so its sync windows are unknown",
        "sync windows that select clusters or namespaces name their applications in project.yaml\n",
    ] {
        assert!(imported.contains(part), "{part}: {imported}");
    }
    let copy = written(folder.path(), "project.yaml");
    assert!(
        !copy.contains("iat") && !copy.contains("clusters"),
        "{copy}"
    );
    for name in ["shop-eu-00", "shop-eu-01"] {
        let line = format!("applications: [{name}]\n");
        assert_eq!(copy.matches(&line).count(), 1, "{copy}");
    }
    start_at(folder.path(), "2026-03-27 20:00 Europe/Berlin");
    let explained = printed(folder.path(), "explain out");
    let explained = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "sync windows (2): 2 of 4 applications (shop-eu-00, shop-eu-01); blocked at the start: 2; the first may \
                sync from Fri 2026-03-27 22:00 Europe/Berlin";
    assert!(explained.contains(line), "{explained}");
}

/// The client prints a project without its kind.
#[test]
fn a_project_without_kind_and_without_windows_is_read() {
    let mut shop = project("default", &Value::Null);
    let fields = shop.as_object_mut().expect("an object");
    fields.remove("kind");
    fields.remove("apiVersion");
    let folder = folder(&[
        ("apps.json", text_of(&applications(4))),
        ("project.json", text_of(&shop)),
    ]);
    let import = "import --applications apps.json --project project.json -o out";
    let imported = printed(folder.path(), import);
    assert!(
        imported.contains("project.json: 1 project with 0 sync windows for the applications\n"),
        "{imported}"
    );
    assert!(!folder.path().join("out/project.yaml").exists());
}
