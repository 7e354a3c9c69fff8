//! The member clusters that a placement picks, with notes for the reader of an import.
//!
//! The rules are in `rollout::kubefleet`. A choice by properties affects the rollout but is not simulated, unless the
//! placement's status lists its clusters.

use super::left_out::LeftOut;
use crate::rollout::kubefleet::{
    NotPicked, NotPickedReason, PickedBy, PickedMembers, PickingSpec, PickingStatus,
    SchedulableMember,
};
use crate::units::counted;

const WITH_STATUS: &str =
    "export the placement with its status, `kubectl get clusterresourceplacement NAME -o yaml`";

/// A member that a placement cannot pick.
pub(super) struct AwayMember<'m> {
    pub(super) name: &'m str,
    pub(super) reason: &'static str,
}

/// The reason why a placement picks nothing.
pub(super) struct Unpickable {
    /// The placement's field that is the reason.
    pub(super) field: String,
    pub(super) reason: String,
    /// The suggested fix.
    pub(super) help: &'static str,
}

/// Returns the clusters that the placement picks.
///
/// # Errors
/// Returns an error if a selector is invalid, the scheduler's choice is unknown, a chosen cluster cannot be picked, or
/// no cluster can be picked.
pub(super) fn pick(
    spec: &PickingSpec,
    status: &PickingStatus,
    members: &[SchedulableMember],
    away: &[AwayMember<'_>],
) -> Result<PickedMembers, Vec<Unpickable>> {
    spec.pick(status, members).map_err(|errors| {
        let mut found = Vec::new();
        for error in errors {
            found.push(unpickable(error, away));
        }
        found
    })
}

fn unpickable(error: NotPicked, away: &[AwayMember<'_>]) -> Unpickable {
    let mut reason = error.to_string();
    let help = match &error.reason {
        NotPickedReason::UnknownName(name) => {
            match away.iter().find(|member| member.name == name.as_str()) {
                Some(member) => {
                    reason = format!("`{name}` {}", member.reason);
                    "KubeFleet does not pick it; remove the name from a copy of the file"
                }
                None => "export all members: `kubectl get memberclusters -o json`",
            }
        }
        NotPickedReason::UnknownStatus => {
            "export all members: `kubectl get memberclusters -o json`"
        }
        NotPickedReason::SomeOf { .. } => WITH_STATUS,
        NotPickedReason::Selector(_) => "Kubernetes would refuse this selector too",
        NotPickedReason::Nobody => {
            "compare its affinity and tolerations with the labels and taints of the members"
        }
    };
    Unpickable {
        field: error.at,
        reason,
        help,
    }
}

/// Returns the members that the placement does not pick, grouped by reason.
pub(super) fn left_out(picked: &PickedMembers, members: &[SchedulableMember]) -> Vec<LeftOut> {
    let mut others = Vec::new();
    let mut tainted = Vec::new();
    for (at, member) in members.iter().enumerate() {
        if picked.tainted.contains(&at) {
            tainted.push(member.name.clone());
        } else if !picked.members.contains(&at) {
            others.push(member.name.clone());
        }
    }
    let why = match picked.by {
        PickedBy::Status => "not in the placement's status",
        PickedBy::Names => "not named by the placement",
        PickedBy::Policy => "not selected by the placement's affinity",
    };
    let tainted_why = "with a taint that the placement does not tolerate";
    let mut found = Vec::new();
    found.extend(LeftOut::of(others, "member", why));
    found.extend(LeftOut::of(tainted, "member", tainted_why));
    found
}

/// Returns the note about the status that determined the picked members.
pub(super) fn note_on(picked: &PickedMembers) -> Option<String> {
    (picked.by == PickedBy::Status).then(|| {
        format!(
            "the {} of the placement's status are its targets",
            counted(picked.members.len(), "member")
        )
    })
}
