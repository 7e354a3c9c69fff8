//! The conditions of a `ClusterResourcePlacement`'s status, which count its clusters.
//!
//! Follows `pkg/controllers/placement/{controller,placement_status}.go` and `pkg/utils/condition/condition.go`. The
//! list ends with the first condition that is not True for all clusters. A cluster counts in the conditions of its
//! binding up to the first one that is not True. Left out: the product's wording of messages (only the number of
//! clusters is shown), `Scheduled`, overrides, and `DiffReported`.

use super::super::{ObjectCondition, Revision};
use super::binding::{Binding, BindingState, Bindings, ConditionStatus as Status};

/// A condition of a placement: its type, and its reasons.
struct ConditionKind {
    name: &'static str,
    /// The reasons for Unknown, False and True.
    reasons: [&'static str; 3],
}

/// The conditions, in the product's order.
const CONDITIONS: [ConditionKind; 5] = [
    ConditionKind {
        name: "RolloutStarted",
        reasons: [
            "RolloutStartedUnknown",
            "RolloutNotStartedYet",
            "RolloutStarted",
        ],
    },
    ConditionKind {
        name: "Overridden",
        reasons: [
            "OverriddenPending",
            "OverriddenFailed",
            "NoOverrideSpecified",
        ],
    },
    ConditionKind {
        name: "WorkSynchronized",
        reasons: [
            "WorkSynchronizedUnknown",
            "WorkNotSynchronizedYet",
            "WorkSynchronized",
        ],
    },
    ConditionKind {
        name: "Applied",
        reasons: ["ApplyPending", "ApplyFailed", "ApplySucceeded"],
    },
    ConditionKind {
        name: "Available",
        reasons: [
            "ResourceAvailableUnknown",
            "ResourceNotAvailableYet",
            "ResourceAvailable",
        ],
    },
];

/// The number of clusters with each status of a condition, in the order of [`ConditionKind::reasons`].
type StatusCounts = [usize; 3];

/// Returns the conditions of the placement called `name` with these bindings. `latest` is its newest resource
/// snapshot; `None`: update runs roll out the resources.
pub fn placement_conditions(
    name: &str,
    bindings: &Bindings,
    latest: Option<Revision>,
) -> Vec<ObjectCondition> {
    let object = format!("ClusterResourcePlacement/{name}");
    if latest.is_none()
        && let Some(message) = external(live(bindings))
    {
        return external_conditions(&object, message);
    }
    let mut counts = [StatusCounts::default(); CONDITIONS.len()];
    for binding in live(bindings) {
        for (count, status) in counts.iter_mut().zip(statuses(binding, latest)) {
            count[status as usize] += 1;
            if status != Status::True {
                break;
            }
        }
    }
    let mut list = Vec::new();
    let mut is_decided = false;
    for (kind, count) in CONDITIONS.iter().zip(counts) {
        if is_decided || count == StatusCounts::default() {
            list.push(ObjectCondition::absent(&object, kind.name));
            continue;
        }
        let status = worst(count);
        is_decided = status != Status::True;
        list.push(ObjectCondition::new(
            &object,
            kind.name,
            &format!("{status:?}"),
            kind.reasons[status as usize],
            format!("{} cluster(s)", count[status as usize]),
        ));
    }
    list
}

/// Returns the bindings that count: those that are picked and not being deleted.
fn live(bindings: &Bindings) -> impl Iterator<Item = &Binding> {
    bindings
        .iter()
        .filter(|binding| !binding.deleting && binding.state != BindingState::Unscheduled)
}

/// Returns the conditions of an external rollout that shows only this message.
fn external_conditions(object: &str, message: &str) -> Vec<ObjectCondition> {
    let reason = "RolloutControlledByExternalController";
    let [started, others @ ..] = &CONDITIONS;
    let mut list = vec![ObjectCondition::new(
        object,
        started.name,
        "Unknown",
        reason,
        message,
    )];
    for kind in others {
        list.push(ObjectCondition::absent(object, kind.name));
    }
    list
}

/// Returns the status of a condition with these counts: the worst status that occurs.
const fn worst(count: StatusCounts) -> Status {
    if count[Status::Unknown as usize] > 0 {
        Status::Unknown
    } else if count[Status::False as usize] > 0 {
        Status::False
    } else {
        Status::True
    }
}

/// Returns the message if it is all that an external rollout shows. `None`: all clusters have the same snapshot and
/// have started.
fn external<'b>(mut live: impl Iterator<Item = &'b Binding>) -> Option<&'static str> {
    let first = live.next()?.snapshot;
    if live.any(|binding| binding.snapshot != first) {
        return Some("different resource snapshot versions are observed across clusters");
    }
    first
        .is_none()
        .then_some("no resource snapshot name is observed across clusters")
}

/// Returns the statuses of a binding's conditions at its current generation. A binding with an older snapshot is only
/// waiting for its rollout, unless the rollout is external.
fn statuses(binding: &Binding, latest: Option<Revision>) -> [Status; 5] {
    let is_behind = latest.is_some() && binding.snapshot != latest;
    let started = match (binding.has_started(), binding.is_marked_blocked()) {
        (true, _) if !is_behind => Status::True,
        (_, true) => Status::False,
        _ => Status::Unknown,
    };
    let statuses = binding.work_state().statuses();
    let [overridden, synchronized, applied, available] =
        statuses.map(|status| status.unwrap_or(Status::Unknown));
    [started, overridden, synchronized, applied, available]
}

#[cfg(test)]
mod tests {
    use super::super::super::TargetId;
    use super::super::{ApplyStrategy, WorkState};
    use super::*;
    use fleetsim_units::SimTime;

    const OLD: Revision = Revision(1);
    const NEW: Revision = Revision(2);

    fn words(bindings: &[Binding], latest: Option<Revision>) -> Vec<String> {
        let list = placement_conditions("app", &bindings.iter().cloned().collect(), latest);
        let shown = list
            .into_iter()
            .filter(|condition| !condition.status.is_empty());
        shown
            .map(|it| {
                format!(
                    "{} {} {}: {}",
                    it.condition, it.status, it.reason, it.message
                )
            })
            .collect()
    }

    fn settled(nth: u32, snapshot: Revision) -> Binding {
        Binding::settled(
            format!("app-{nth}"),
            TargetId(nth),
            0,
            snapshot,
            ApplyStrategy(0),
        )
    }

    #[test]
    fn the_status_ends_with_the_first_condition_that_is_not_true_for_all_clusters() {
        let mut going = settled(1, NEW);
        going.report(SimTime::ZERO, WorkState::Unavailable);
        let available = words(&[settled(0, NEW), going.clone()], Some(NEW));
        assert_eq!(
            available,
            [
                "RolloutStarted True RolloutStarted: 2 cluster(s)",
                "Overridden True NoOverrideSpecified: 2 cluster(s)",
                "WorkSynchronized True WorkSynchronized: 2 cluster(s)",
                "Applied True ApplySucceeded: 2 cluster(s)",
                "Available False ResourceNotAvailableYet: 1 cluster(s)",
            ]
        );
        // A blocked binding counts before all others, and only in this condition.
        let mut blocked = settled(2, OLD);
        blocked.set_rollout_started(false);
        assert_eq!(
            words(&[settled(0, NEW), going, blocked], Some(NEW)),
            ["RolloutStarted False RolloutNotStartedYet: 1 cluster(s)"]
        );
        // A binding that is no longer picked does not count.
        let mut unpicked = settled(1, OLD);
        unpicked.unschedule();
        assert_eq!(words(&[settled(0, NEW), unpicked], Some(NEW)).len(), 5);
        // The rollout has not reported on a binding with an older snapshot yet.
        assert_eq!(
            words(&[settled(0, NEW), settled(1, OLD)], Some(NEW)),
            ["RolloutStarted Unknown RolloutStartedUnknown: 1 cluster(s)"]
        );
    }

    #[test]
    fn an_external_rollout_only_reports_that_snapshots_differ() {
        let differ = words(&[settled(0, NEW), settled(1, OLD)], None);
        assert_eq!(
            differ,
            [
                "RolloutStarted Unknown RolloutControlledByExternalController: different resource snapshot versions are \
              observed across clusters"
            ]
        );
        assert_eq!(
            words(&[settled(0, OLD), settled(1, OLD)], None).len(),
            5,
            "before the run nothing is new"
        );
        let fresh = Binding::scheduled("app-0".to_owned(), TargetId(0), 0);
        assert!(words(&[fresh], None)[0].contains("no resource snapshot name is observed"));
    }
}
