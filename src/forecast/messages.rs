//! The product's own messages about targets that are not ready, as its exports show them.
//!
//! | product | message |
//! |---|---|
//! | Fleet | that of the conditions of a BundleDeployment, as the Bundle repeats it |
//! | Argo CD | that of the operation of an Application, or of its first condition |
//! | KubeFleet | that of the condition that is False, of a cluster in an update run or of a binding |
//! | Cloud Foundry | `details` of an instance |
//!
//! Argo CD's rows have messages about the row itself, so the Applications have to be in the export as well. Left out:
//! messages about targets that wait for their turn, and those of the rollout as a whole.

use super::fields::{ShownCondition, ShownObject};

/// Conditions of a KubeFleet binding after the start of its update, in the order in which they are met. Source:
/// `placement/v1/binding_types.go`.
const OF_BINDING: [&str; 4] = ["Overridden", "WorkSynchronized", "Applied", "Available"];

/// Returns the message of a BundleDeployment: that of `MessageFromDeployment` in
/// `internal/cmd/controller/summary/summary.go` of rancher/fleet at 3b2c622, or that of `Ready`.
pub(super) fn of_bundle_deployment(read: &ShownObject) -> Option<String> {
    let is_applied = read.status.applied == read.spec.deployment;
    let mut kinds = vec!["Deployed"];
    if is_applied {
        kinds.push("Installed");
    }
    kinds.extend(["Monitored", "Ready"]);
    let conditions = &read.status.conditions;
    kinds
        .into_iter()
        .find_map(|kind| message_of(conditions, kind))
}

/// Returns the message of the update of a cluster in a KubeFleet update run.
pub(super) fn of_stage_cluster(conditions: &[ShownCondition]) -> Option<String> {
    let mut failed = conditions.iter().filter(|shown| shown.status == "False");
    let succeeded = failed.find(|shown| shown.kind == "Succeeded")?;
    not_empty(&succeeded.message)
}

/// Returns the message of the first condition of a KubeFleet binding that is not met.
pub(super) fn of_binding(conditions: &[ShownCondition]) -> Option<String> {
    OF_BINDING.into_iter().find_map(|kind| {
        let mut conditions = conditions.iter();
        let unmet = conditions.find(|shown| shown.kind == kind && shown.status == "False")?;
        not_empty(&unmet.message)
    })
}

/// Returns the message of an Application of Argo CD: that of an operation that has not succeeded, or of a condition.
pub(super) fn of_application(read: &ShownObject) -> Option<String> {
    let operation = &read.status.operation_state;
    let is_open = operation.phase != "Succeeded";
    let of_operation = not_empty(&operation.message).filter(|_| is_open);
    of_operation.or_else(|| {
        let mut conditions = read.status.conditions.iter();
        conditions.find_map(|condition| not_empty(&condition.message))
    })
}

fn message_of(conditions: &[ShownCondition], kind: &str) -> Option<String> {
    let mut conditions = conditions.iter();
    let condition = conditions.find(|condition| condition.kind == kind)?;
    not_empty(&condition.message)
}

fn not_empty(message: &str) -> Option<String> {
    (!message.trim().is_empty()).then(|| message.to_owned())
}
