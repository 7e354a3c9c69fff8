//! Exports that are rejected: rollouts that are over or stopped, errors in a file, and objects of other rollouts.

use super::exporter::Exported;
use super::{changed, cut_folder, printed};

#[test]
fn a_finished_or_stopped_rollout_is_rejected_with_the_reason() {
    let refused = |(shown, code): (String, i32), parts: &[&str]| {
        assert_eq!(code, 2, "{shown}");
        for part in parts {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    };
    let bundle = changed(Exported::Fleet, "status.json", |list| {
        list["items"][0]["spec"]["paused"] = true.into();
    });
    refused(
        bundle,
        &[
            "the bundle is paused, so no other cluster is updated",
            "spec.paused",
            "`paused: false`",
        ],
    );
    let cluster = changed(Exported::Fleet, "status.json", |list| {
        list["items"][24]["spec"]["paused"] = true.into();
    });
    refused(
        cluster,
        &[
            "the product has paused `store-20`",
            "status.json",
            "set `paused: true`",
        ],
    );
    for state in ["Initialize", "Stop"] {
        let run = changed(Exported::KubeFleet, "status.json", |run| {
            run["spec"]["state"] = state.into();
        });
        refused(
            run,
            &[
                &format!("the state of the update run is `{state}`"),
                "spec.state",
                "set `spec.state: Run`",
            ],
        );
    }
    for (kind, status) in [
        ("Succeeded", "False"),
        ("Initialized", "False"),
        ("Succeeded", "True"),
    ] {
        let run = changed(Exported::KubeFleet, "status.json", |run| {
            let condition =
                serde_json::json!({"type": kind, "status": status, "reason": "UpdateRunX"});
            run["status"]["conditions"] = serde_json::json!([condition]);
        });
        let message = format!("the update run is over: {kind} is {status} (UpdateRunX)");
        refused(
            run,
            &[
                &message,
                "status.conditions[0].status",
                "create another update run",
            ],
        );
    }
    let ends = [
        ("FINALIZED", "CANCELED"),
        ("FINALIZED", "SUPERSEDED"),
        ("ACTIVE", "CANCELING"),
        ("FINALIZED", "DEPLOYED"),
    ];
    for (value, reason) in ends {
        let deployment = changed(Exported::CloudFoundry, "deployment.json", |deployment| {
            deployment["status"] = serde_json::json!({"value": value, "reason": reason});
        });
        let message = format!("the deployment is {value} ({reason}), ");
        refused(
            deployment,
            &[
                &message,
                "deployment.json",
                "export only the deployment that is ACTIVE",
            ],
        );
    }
}

#[test]
fn errors_in_exports_have_a_position_and_a_fix() {
    let folder = cut_folder(Exported::ArgoCd);
    let path = folder.path().join("status.json");
    let status = std::fs::read_to_string(&path).expect("written");
    let cases: [(&str, String, &[&str]); 8] = [
        (
            "lastTransitionTime",
            status.replacen("2026-03-01T15:00:00Z", "soon", 1),
            &["`soon` is not a time", "status.json:1:", "write e.g."],
        ),
        (
            "status",
            status.replacen("Waiting", "Wating", 1),
            &["unknown status `Wating`", "`Waiting`, `Pending`"],
        ),
        (
            "names",
            status.replace("store-01", "shop-01"),
            &["the experiment has no `shop-01`"],
        ),
        (
            "twice",
            status.replace("store-02", "store-01"),
            &["only one object may show `store-01`, but several do"],
        ),
        (
            "nothing",
            "{\"kind\": \"Pod\"}".to_owned(),
            &["no object shows a rollout; there are `Pod`"],
        ),
        (
            "empty",
            "{\"kind\": \"ApplicationSet\", \"status\": null}".to_owned(),
            &[
                "`status.applicationStatus` is empty; it must list the targets of the rollout",
                "strategy is `RollingSync`",
            ],
        ),
        (
            "cut off",
            status[..40].to_owned(),
            &["the JSON ends too early"],
        ),
        (
            "start",
            status.replace("Waiting", "Progressing"),
            &["does not say when the rollout began", "--released"],
        ),
    ];
    for (case, text, parts) in cases {
        std::fs::write(&path, text).expect("written");
        let (shown, code) = printed(
            folder.path(),
            &["experiment.yaml", "status.json", "--draws", "19"],
        );
        assert_eq!(code, 2, "{case}: {shown}");
        for part in parts {
            assert!(shown.contains(part), "{case}: {part}: {shown}");
        }
    }
    let (shown, code) = printed(folder.path(), &["experiment.yaml", "none.json"]);
    assert!(
        code == 2 && shown.contains("there is no such file"),
        "{shown}"
    );
}

/// The export is that of `kubectl get bundledeployments -A`, which also has the deployments of each cluster's own
/// agent.
#[test]
fn deployments_of_fleets_agents_are_left_out_and_other_bundles_are_refused() {
    let folder = cut_folder(Exported::Fleet);
    let path = folder.path().join("status.json");
    let status = std::fs::read_to_string(&path).expect("written");
    let arguments = ["experiment.yaml", "status.json", "--draws", "19"];
    let alone = printed(folder.path(), &arguments);
    assert_eq!(alone.1, 0, "{}", alone.0);
    let mut list: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let items = list["items"].as_array_mut().expect("a list");
    let mut other = items.last().expect("a deployment").clone();
    let mut with = |bundle: &str| {
        other["metadata"]["labels"]["fleet.cattle.io/bundle-name"] = bundle.into();
        let mut more = items.clone();
        more.push(other.clone());
        std::fs::write(
            &path,
            serde_json::json!({"kind": "List", "items": more}).to_string(),
        )
        .expect("written");
        printed(folder.path(), &arguments)
    };
    assert_eq!(with("fleet-agent-store-01"), alone);
    let (refused, code) = with("monitoring");
    assert!(
        code == 2
            && refused.contains("must belong to one bundle, but belong to `monitoring`, `shop`"),
        "{refused}"
    );
}
