//! The triggers of a pass, and the settings of the controllers around it.
//!
//! Sources are files of argoproj/argo-cd at 37ee0097cf851bc2dd7665fc081bbce61a7e836e. The latency of requests and the
//! delay of the cache are settings of the control loop, in `products/argo_cd`.

use super::super::stored;
use super::view::Application;
use fleetsim_units::SimDuration;

/// Interval between checks of a set that has no steps or, if no generator has its own timer, has invalid applications.
/// Source: `applicationset/controllers/applicationset_controller.go`.
pub const ERROR_REQUEUE: SimDuration = SimDuration::from_mins(3);

/// Interval between checks of a set whose applications are being deleted in reverse order. Source:
/// `applicationset/progressivesync/progressive_sync.go`.
pub(super) const DELETION_REQUEUE: SimDuration = SimDuration::from_secs(10);

/// Returns whether a change of one Application object queues a pass. `None`: the object does not exist.
///
/// Creation, revisions, `reconciledAt`, conditions and the `operation` field do not queue a pass. Neither does the
/// first operation of an application, because the states before and after must both have an operation. Source:
/// `shouldRequeueForApplication` in `applicationset/controllers/applicationset_controller.go`.
pub fn queues_pass(old: Option<&Application>, new: Option<&Application>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => {
            let is_operation_changed = match (old.operation_state, new.operation_state) {
                (Some(old), Some(new)) => {
                    old.phase != new.phase || stored(old.started_at) != stored(new.started_at)
                }
                _ => false,
            };
            is_operation_changed
                || (old.sync, old.health, old.spec) != (new.sync, new.health, new.spec)
                || old.labels != new.labels
                || old.refresh != new.refresh
        }
        (old, new) => old.is_some() && new.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::Revision;
    use super::super::retry::Waits;
    use super::super::view::{Health, Operation, OperationPhase, OperationState, Spec, SyncStatus};
    use super::*;
    use fleetsim_units::SimTime;

    #[test]
    fn only_some_changes_of_an_application_queue_a_pass() {
        let settled = Application::settled(Arc::default(), Spec::default(), Revision(1));
        let state = |phase, second| {
            Some(OperationState {
                phase,
                started_at: SimTime::from_secs(second),
            })
        };
        let running = Application {
            operation_state: state(OperationPhase::Running, 5),
            ..settled.clone()
        };
        let cases = [
            // old, new, queued, why
            (None, Some(settled.clone()), false, "creation"),
            (Some(settled.clone()), None, true, "deletion"),
            (
                Some(settled.clone()),
                Some(running.clone()),
                false,
                "the first operation ever",
            ),
            (
                Some(running.clone()),
                Some(Application {
                    operation_state: state(OperationPhase::Succeeded, 5),
                    ..running.clone()
                }),
                true,
                "another phase",
            ),
            (
                Some(running.clone()),
                Some(Application {
                    operation_state: state(OperationPhase::Running, 6),
                    ..running.clone()
                }),
                true,
                "another operation",
            ),
            (
                Some(settled.clone()),
                Some(Application {
                    sync: SyncStatus::OutOfSync,
                    ..settled.clone()
                }),
                true,
                "sync status",
            ),
            (
                Some(settled.clone()),
                Some(Application {
                    health: Health::Degraded,
                    ..settled.clone()
                }),
                true,
                "health",
            ),
            (
                Some(settled.clone()),
                Some(Application {
                    revisions: Arc::new([Revision(2)]),
                    ..settled.clone()
                }),
                false,
                "a revision alone",
            ),
            (
                Some(settled.clone()),
                Some(Application {
                    refresh: true,
                    ..settled.clone()
                }),
                true,
                "an annotation",
            ),
            (
                Some(settled.clone()),
                Some(Application {
                    operation: Some(Operation {
                        prune: false,
                        retry_limit: 5,
                        retry_waits: Some(Waits::DEFAULT),
                    }),
                    ..settled.clone()
                }),
                false,
                "a request",
            ),
        ];
        for (old, new, queued, why) in cases {
            assert_eq!(queues_pass(old.as_ref(), new.as_ref()), queued, "{why}");
        }
    }
}
