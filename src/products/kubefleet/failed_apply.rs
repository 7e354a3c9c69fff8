//! KubeFleet's behaviour and statuses when a member agent cannot apply a Work.
//!
//! Source: the code of kubefleet-dev/kubefleet at e160c1c; not recorded. Single decisions in which a binding with
//! `ApplyFailed` counts as failed are recorded (`crates/rollout/tests/conformance/kubefleet`).
//!
//! - The work applier applies each manifest; one that the API server refuses is `ManifestApplyFailed`
//!   (`pkg/controllers/workapplier/apply.go:329`). The Work's Applied is False and its Available is removed
//!   (`status.go`, `setWorkAppliedCondition`). It does not examine the message: all refusals have the same effect.
//! - The Work is queued again after every outcome, with the delays of its periodic checks: after 5 s, then 2 s, 2.4 s
//!   and so on up to 15 min while the outcome stays the same (`backoff.go`, `When`). It is retried indefinitely, and
//!   nothing is rolled back.
//! - The binding's Applied is False with the reason `NotAllWorkHaveBeenApplied`, and its `failedPlacements` quote the
//!   manifest's message (`pkg/controllers/workgenerator/controller.go`, `setBindingStatus`). The binding has failed.
//! - In a staged run, the cluster keeps its slot. The run is retried with a back-off, and reports after 5 minutes that
//!   it is stuck. A rolling update counts the binding as not ready, which uses up `maxUnavailable`.
//! - There are no hooks: a Job is placed like any other object, and Available follows from it.
//!
//! Left out: manifests of the Work that were applied although another one was refused, and a status of the Work that is
//! written again with another message.

use super::work_generator::WorkGenerator;
use crate::products::FailureRefusal;
use crate::products::words::first_names;
use crate::rollout::kubefleet::binding_name;
use crate::rollout::{Hold, ObjectCondition};
use crate::world::{ApplyFailure, ClusterSpec};

/// Returns the abridged message of a manifest that was not applied.
const fn message(failure: ApplyFailure) -> &'static str {
    match failure {
        ApplyFailure::Rejected => {
            "Failed to apply the manifest (error: an error is returned by the API server: admission webhook denied the \
             request)"
        }
        ApplyFailure::Immutable => {
            "Failed to apply the manifest (error: an error is returned by the API server: Forbidden: updates to \
             statefulset spec for fields other than 'replicas' are forbidden)"
        }
        ApplyFailure::Timeout => {
            "Failed to apply the manifest (error: an error is returned by the API server: failed calling webhook: \
             context deadline exceeded)"
        }
        ApplyFailure::NotReady | ApplyFailure::Hook => {
            "Manifest is not yet available; Fleet will check again later"
        }
    }
}

/// Returns the reason why an apply cannot fail in this way.
pub(super) const fn refusal(failure: ApplyFailure) -> Option<FailureRefusal> {
    match failure {
        ApplyFailure::Hook => Some(FailureRefusal {
            message: "KubeFleet places objects and runs no hooks",
            help: "write `kind: rejected` for an object that a cluster refuses, or `faults.defect` for pods that never \
                   become ready",
        }),
        _ => None,
    }
}

/// Adds the clusters that could not apply their Work to a hold, with the message of each failure.
pub(super) fn with_failures(
    hold: Option<Hold>,
    generator: &WorkGenerator,
    clusters: &[ClusterSpec],
) -> Option<Hold> {
    let mut hold = hold?;
    for failure in ApplyFailure::ALL {
        let mut names = Vec::new();
        for (index, failed) in generator.failed_works() {
            if failed == failure {
                names.push(clusters[index].name.clone());
            }
        }
        if !names.is_empty() {
            let words = format!(
                "; Applied is False on {} ({})",
                first_names(&names),
                message(failure)
            );
            hold.explanation.push_str(&words);
        }
    }
    Some(hold)
}

/// Returns the conditions of these bindings of a placement after failed applies. Each binding comes with the failure
/// of its cluster. `None`: the cluster no longer fails.
pub(super) fn conditions(
    placement: &str,
    bindings: impl Iterator<Item = (usize, Option<ApplyFailure>)>,
    clusters: &[ClusterSpec],
) -> Vec<ObjectCondition> {
    let mut shown = Vec::new();
    for (index, failure) in bindings {
        let name = binding_name(placement, &clusters[index].name, index as u32);
        let object = format!("ClusterResourceBinding/{name}");
        shown.push(match failure {
            Some(failure) => ObjectCondition::new(
                &object,
                "failedPlacements",
                "False",
                "ManifestApplyFailed",
                message(failure),
            ),
            None => ObjectCondition::absent(&object, "failedPlacements"),
        });
    }
    shown
}
