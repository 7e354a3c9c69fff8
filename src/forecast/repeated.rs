//! The product's own messages that a forecast repeats: those about targets that have begun and are not ready.

use super::status::ShownRollout;
use super::targets::place_of;
use crate::results::ShownMessage;
use crate::sim::{SeenState, SeenTarget};

/// Returns the messages about targets that have begun and are not ready. `names`: those of the experiment's clusters.
pub(super) fn of_targets(
    shown: &ShownRollout,
    names: &[&str],
    seen: &[SeenTarget],
) -> Vec<ShownMessage> {
    let mut messages = Vec::new();
    for target in &shown.targets {
        let of_application = shown.messages.get(&target.name);
        let message = target.message.as_ref().or(of_application);
        let place = if shown.is_numbered {
            target.name.parse().ok()
        } else {
            place_of(&target.name, names)
        };
        let (Some(message), Some(place)) = (message, place) else {
            continue;
        };
        let state = match seen[place].state {
            SeenState::Updating => "updating",
            SeenState::Failed => "failed",
            SeenState::Waiting | SeenState::Ready => continue,
        };
        messages.push(ShownMessage {
            name: names[place].to_owned(),
            state: state.to_owned(),
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
        });
    }
    messages
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::document::problem::Source;
    use crate::forecast::status;

    /// The messages about the targets `a`, `b` and `c` in an export, all of which count as updating.
    fn messages(export: &str) -> Vec<String> {
        let source = Arc::new(Source::new("status.json", export));
        let shown = status::read(&[source]).unwrap_or_else(|problems| panic!("{problems:?}"));
        let updating = SeenTarget {
            state: SeenState::Updating,
            ..SeenTarget::default()
        };
        let seen = vec![updating; 3];
        let mut messages = Vec::new();
        for shown in of_targets(&shown, &["a", "b", "c"], &seen) {
            messages.push(format!("{}: {}", shown.name, shown.message));
        }
        messages
    }

    /// An operation that a sync window blocks, one that has succeeded, and an application with a condition.
    #[test]
    fn applications_give_the_messages_for_the_rows_of_their_set() {
        let export = r#"{"kind": "List", "items": [
            {"kind": "ApplicationSet", "status": {"applicationStatus": [
                {"application": "a", "status": "Pending", "message": "moved to Pending"},
                {"application": "b", "status": "Progressing"}, {"application": "c", "status": "Progressing"}]}},
            {"kind": "Application", "metadata": {"name": "a"}, "status": {"operationState":
                {"phase": "Running", "message": "Sync operation blocked by sync window"}}},
            {"kind": "Application", "metadata": {"name": "b"}, "status": {"operationState":
                {"phase": "Succeeded", "message": "successfully synced (all tasks run)"}}},
            {"metadata": {"name": "c"}, "spec": {"destination": {}}, "status": {"conditions":
                [{"type": "SyncError", "message": "failed\n to sync"}]}}]}"#;
        assert_eq!(
            messages(export),
            [
                "a: Sync operation blocked by sync window",
                "c: failed to sync"
            ]
        );
    }

    /// A message of `Installed` counts only if it is about the wanted deployment.
    #[test]
    fn a_bundle_deployment_shows_the_message_that_its_bundle_repeats() {
        let deployment = |cluster: &str, applied: &str, conditions: &str| {
            format!(
                r#"{{"kind": "BundleDeployment", "metadata": {{"labels": {{"fleet.cattle.io/cluster": "{cluster}"}}}},
                    "spec": {{"deploymentID": "v2"}},
                    "status": {{"appliedDeploymentID": "{applied}", "conditions": [{conditions}]}}}}"#
            )
        };
        let installed = r#"{"type": "Installed", "status": "False", "message": "no"}"#;
        let ready = r#"{"type": "Ready", "status": "False", "message": "not ready"}"#;
        let items = [
            deployment("a", "v1", installed),
            deployment("b", "v2", &format!("{ready}, {installed}")),
            deployment("c", "v1", &format!("{installed}, {ready}")),
        ];
        let export = format!(r#"{{"kind": "List", "items": [{}]}}"#, items.join(", "));
        assert_eq!(messages(&export), ["b: no", "c: not ready"]);
    }

    #[test]
    fn kubefleet_and_cloud_foundry_show_why_a_target_is_not_ready() {
        let binding = r#"{"kind": "ClusterResourceBinding", "spec": {"targetCluster": "a"}, "status": {"conditions": [
            {"type": "RolloutStarted", "status": "True", "message": "started"},
            {"type": "Applied", "status": "True", "message": "applied"},
            {"type": "Available", "status": "False", "message": "Deployment is not available"}]}}"#;
        assert_eq!(messages(binding), ["a: Deployment is not available"]);
        let run = r#"{"kind": "ClusterStagedUpdateRun", "status": {"stagesStatus": [{"clusters": [
            {"clusterName": "b", "conditions": [
                {"type": "Started", "status": "True", "message": "started"},
                {"type": "Succeeded", "status": "False", "message": "cluster b is gone"}]}]}]}}"#;
        assert_eq!(messages(run), ["b: cluster b is gone"]);
        let stats = r#"{"resources": [{"index": 2, "state": "CRASHED", "details": "exited with status 1"}]}"#;
        assert_eq!(messages(stats), ["c: exited with status 1"]);
    }
}
