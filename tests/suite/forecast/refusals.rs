//! Exports that contradict the experiment are refused with the reason and the setting that would agree; what an export
//! shows of starts, states and agents decides, not the times of conditions.

use serde_json::{Value, json};

use super::exporter::{Exported, time};
use super::{changed, cut_folder, printed};

/// Checks that an output is a refusal with these parts.
fn refused((shown, code): (String, i32), parts: &[&str]) {
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 2, "{shown}");
    for part in parts {
        assert!(line.contains(part), "{part}: {shown}");
    }
}

/// Checks that an output is a forecast with these parts.
fn answered((shown, code): (String, i32), parts: &[&str]) {
    let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 0, "{shown}");
    for part in parts {
        assert!(line.contains(part), "{part}: {shown}");
    }
}

/// The export of Fleet at 30 %, in which every waiting cluster has begun: 16 of 24 are updating, and 20 % allow 4.
#[test]
fn more_updates_than_the_setting_allows_are_refused_at_the_setting() {
    let begun = changed(Exported::Fleet, "status.json", |list| {
        for item in list["items"].as_array_mut().expect("a list") {
            if item["spec"]["deploymentID"] == "s-old:o" {
                item["spec"]["deploymentID"] = "s-new:o".into();
                item["status"]["ready"] = false.into();
                item["status"]["display"]["state"] = "WaitApplied".into();
            }
        }
    });
    refused(
        begun,
        &[
            "clusters are updating, and the experiment lets at most",
            "experiment.yaml:13:",
            "maxUnavailable: ",
        ],
    );
    let of_step = changed(Exported::ArgoCd, "status.json", |set| {
        for row in set["status"]["applicationStatus"]
            .as_array_mut()
            .expect("rows")
        {
            if row["status"] == "Waiting" {
                row["status"] = "Progressing".into();
            }
        }
        set["status"]["conditions"] = json!([{"type": "RolloutProgressing", "status": "True",
            "message": "ApplicationSet is performing rollout of step 1", "lastTransitionTime": time(0.0)}]);
    });
    refused(
        of_step,
        &[
            "are updating",
            "at most 6 update at the same time",
            "maxUpdate: ",
        ],
    );
}

#[test]
fn clusters_missing_on_either_side_are_refused_by_name() {
    let missing = changed(Exported::Fleet, "status.json", |list| {
        list["items"].as_array_mut().expect("a list").truncate(23);
    });
    refused(
        missing,
        &[
            "the export does not show `store-19`, `store-20`, which the experiment updates",
            "experiment.yaml:",
            "leave them out of the experiment's `fleet`",
        ],
    );
    let unknown = changed(Exported::KubeFleet, "status.json", |run| {
        run["status"]["stagesStatus"][1]["clusters"][0]["clusterName"] = "depot".into();
    });
    refused(
        unknown,
        &[
            "the experiment has no `depot`, which the export shows",
            "experiment.yaml:",
        ],
    );
}

#[test]
fn exports_of_other_products_and_unknown_states_are_refused() {
    let folder = cut_folder(Exported::Fleet);
    let set = cut_folder(Exported::ArgoCd);
    std::fs::copy(
        set.path().join("status.json"),
        folder.path().join("set.json"),
    )
    .expect("copied");
    let released = time(0.0);
    let arguments = ["experiment.yaml", "set.json", "--released", &released];
    refused(
        printed(folder.path(), &arguments),
        &[
            "the export is of Argo CD",
            "but the strategy is `rancherFleet`",
            "choose a strategy `argoCd` with --variant",
        ],
    );
    let state = changed(Exported::Fleet, "status.json", |list| {
        list["items"][1]["status"]["display"]["state"] = "Rebasing".into();
    });
    refused(
        state,
        &[
            "unknown state `Rebasing`",
            "status.display.state",
            "`WaitApplied`",
        ],
    );
    let other = changed(Exported::KubeFleetRolling, "status.json", |list| {
        for item in list["items"].as_array_mut().expect("a list") {
            item["apiVersion"] = "work.karmada.io/v1alpha2".into();
        }
    });
    refused(
        other,
        &["there are `ClusterResourceBinding of work.karmada.io`"],
    );
}

#[test]
fn a_given_start_must_agree_with_the_export() {
    let folder = cut_folder(Exported::KubeFleet);
    for error in [-1800.0, 600.0] {
        let given = time(error);
        let arguments = ["experiment.yaml", "status.json", "--released", &given];
        refused(
            printed(folder.path(), &arguments),
            &[
                "but the export shows that the rollout began at",
                "leave --released out",
            ],
        );
    }
}

/// The exports show the start in other fields than the usual ones.
#[test]
fn the_start_is_read_from_snapshots_conditions_and_managed_fields() {
    let snapshots = changed(Exported::KubeFleetRolling, "status.json", |list| {
        for item in list["items"].as_array_mut().expect("a list") {
            let conditions = item["status"]["conditions"].as_array_mut().expect("a list");
            conditions.retain(|condition| condition["status"] == "True");
        }
        list["items"].as_array_mut().expect("a list").push(json!({
            "apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourceSnapshot",
            "metadata": {"name": "shop-1-snapshot", "creationTimestamp": time(0.0),
                "labels": {"kubernetes-fleet.io/is-latest-snapshot": "true"}}}));
    });
    answered(snapshots, &["Done at 15:", " after the start: "]);
    let condition = changed(Exported::ArgoCd, "status.json", |set| {
        for row in set["status"]["applicationStatus"]
            .as_array_mut()
            .expect("rows")
        {
            if row["status"] == "Waiting" {
                row["lastTransitionTime"] = Value::Null;
            }
        }
        set["status"]["conditions"] = json!([{"type": "RolloutProgressing", "status": "True",
            "message": "ApplicationSet is performing rollout of step 1", "lastTransitionTime": time(0.0)}]);
    });
    answered(condition, &["Done at 15:"]);
    let fields = changed(Exported::Fleet, "status.json", |list| {
        let items = list["items"].as_array_mut().expect("a list");
        items.remove(0);
        for item in items {
            if item["spec"]["deploymentID"] == "s-old:o" {
                item["metadata"]["managedFields"] = json!([{"manager": "fleetcontroller", "time": time(0.0),
                    "fieldsV1": {"f:spec": {"f:deploymentID": {}, "f:stagedDeploymentID": {}}}}]);
            }
        }
    });
    answered(fields, &["Done at 15:"]);
    let without = changed(Exported::Fleet, "status.json", |list| {
        list["items"].as_array_mut().expect("a list").remove(0);
    });
    refused(
        without,
        &[
            "does not say when the rollout began",
            "--show-managed-fields",
        ],
    );
}

/// All conditions are older than the release, as those of a release without a change of pods. Ids and states decide.
#[test]
fn a_cluster_is_done_by_its_ids_whatever_its_conditions_times() {
    let old = changed(Exported::Fleet, "status.json", |list| {
        for item in list["items"].as_array_mut().expect("a list") {
            if item["kind"] == "BundleDeployment" {
                for condition in item["status"]["conditions"].as_array_mut().expect("a list") {
                    condition["lastUpdateTime"] = "2026-02-20T22:00:00Z".into();
                }
            }
        }
        let bundle = &mut list["items"][0];
        bundle["metadata"]["managedFields"][0]["time"] = time(0.0).into();
        bundle["status"] = json!({});
    });
    let (shown, _) = &old;
    assert!(!shown.contains("0 of 24"), "{shown}");
}

/// The agent of a cluster that is updating was last heard two hours ago.
#[test]
fn a_silent_agent_gives_two_ends_and_is_named() {
    let mut name = String::new();
    let folder = cut_folder(Exported::Fleet);
    let path = folder.path().join("status.json");
    let text = std::fs::read_to_string(&path).expect("written");
    let mut export: Value = serde_json::from_str(&text).expect("JSON");
    let items = export["items"].as_array_mut().expect("a list");
    for item in items.iter() {
        if item["status"]["display"]["state"] == "WaitApplied" {
            let label = item["metadata"]["labels"]["fleet.cattle.io/cluster"].as_str();
            name = label.expect("it has a cluster").to_owned();
        }
    }
    items.push(json!({"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "status": {"agent": {"lastSeen": time(-7200.0)}}}));
    std::fs::write(&path, export.to_string()).expect("written");
    let arguments = ["experiment.yaml", "status.json", "--draws", "19"];
    let shown = printed(folder.path(), &arguments);
    answered(
        shown,
        &[
            &format!(
                "That is if `{name}` comes back now. If `{name}` stays away, the others are done at"
            ),
            &format!("Silent: the agent of `{name}`, since "),
        ],
    );
}
