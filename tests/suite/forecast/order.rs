//! Exports of the example whose order contradicts the partitions of its experiment: a time that changed again is left
//! out, and everything else is refused.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::common::root;
use super::printed;

/// The program's output for the example with a changed export.
fn changed_example(change: impl Fn(&mut Vec<Value>)) -> (String, i32) {
    let example = root().join("examples/forecast");
    let folder = TempDir::new().expect("created");
    for file in ["experiment.yaml", "status.json"] {
        std::fs::copy(example.join(file), folder.path().join(file)).expect("copied");
    }
    let path = folder.path().join("status.json");
    let text = std::fs::read_to_string(&path).expect("written");
    let mut export: Value = serde_json::from_str(&text).expect("JSON");
    change(export["items"].as_array_mut().expect("a list"));
    std::fs::write(&path, export.to_string()).expect("written");
    let (shown, code) = printed(
        folder.path(),
        &["experiment.yaml", "status.json", "--draws", "19"],
    );
    (shown.split_whitespace().collect::<Vec<_>>().join(" "), code)
}

/// The BundleDeployment of a cluster.
fn deployment_of<'i>(items: &'i mut [Value], cluster: &str) -> &'i mut Value {
    let mut items = items.iter_mut();
    items
        .find(|item| item["metadata"]["labels"]["fleet.cattle.io/cluster"] == cluster)
        .expect("the cluster is in the export")
}

/// A pod of the first canary was restarted three minutes after its update, so its condition has a new time. The stores
/// that are ready since would have had to wait for it.
#[test]
fn a_ready_condition_that_changed_again_says_nothing_about_the_update() {
    let (shown, code) = changed_example(|items| {
        let canary = deployment_of(items, "canary-1");
        canary["status"]["conditions"][0]["lastUpdateTime"] = "2026-03-01T15:03:30Z".into();
    });
    assert_eq!(code, 0, "{shown}");
    assert!(shown.starts_with("Done at 15:05:"), "{shown}");
    assert!(!shown.contains("Updates take"), "{shown}");
    assert!(
        shown.contains("14 of 24 clusters ready, 4 updating, 6 waiting")
            && shown.contains("6 clusters (store-15, store-16, store-17 and 3 more) wait"),
        "{shown}"
    );
}

/// The rollout cannot be at the stores while a canary is old, or is not ready.
#[test]
fn stores_that_are_updated_before_a_canary_are_refused() {
    for is_told in [false, true] {
        let (shown, code) = changed_example(|items| {
            let canary = deployment_of(items, "canary-2");
            if !is_told {
                canary["spec"]["deploymentID"] = "s-old:o".into();
            }
            canary["status"] = json!({"appliedDeploymentID": "s-old:o", "ready": !is_told,
                "display": {"state": if is_told { "WaitApplied" } else { "Ready" }}});
        });
        assert_eq!(code, 2, "{shown}");
        assert!(
            shown.contains("and the experiment lets it wait for `canary-2`")
                && shown.contains("experiment.yaml:"),
            "{shown}"
        );
    }
}

/// Fleet updates no paused cluster, so the rollout never ends.
#[test]
fn a_paused_cluster_is_refused_unless_the_experiment_pauses_it() {
    let (shown, code) = changed_example(|items| {
        items.push(
            json!({"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "store-18"}, "spec": {"paused": true}}),
        );
    });
    assert_eq!(code, 2, "{shown}");
    assert!(
        shown.contains("the product has paused `store-18`"),
        "{shown}"
    );
}
