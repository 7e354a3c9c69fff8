//! The progress deadline of a Deployment: `progressDeadlineSeconds`.
//!
//! Follows `pkg/controller/deployment/progress.go` (`syncRolloutStatus`, `requeueStuckDeployment`) and
//! `pkg/controller/deployment/util/deployment_util.go` (`DeploymentComplete`, `DeploymentProgressing`,
//! `DeploymentTimedOut`) of kubernetes/kubernetes at 008b3652. Progress is a new template, more pods with it, fewer
//! old pods, or more ready or available pods. Pods that crash and become ready again count as progress each time. A
//! complete Deployment is not checked again before the next template. The condition only marks a Deployment and does
//! not change its behaviour. A DaemonSet has no deadline.
//!
//! The check costs an event per rolling Deployment, so a world performs the check only if its driver uses the result
//! ([`crate::world::World::watch_progress_deadlines`]).
//!
//! Left out: the rounding of the condition's times to whole seconds.

use crate::engine::EventId;
use fleetsim_units::{SimDuration, SimTime};

/// Delay from the deadline until the controller's check (`requeueStuckDeployment`).
pub(super) const LOOK_AGAIN: SimDuration = SimDuration::from_secs(1);

/// The counts of a Deployment's status that define progress.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct PodCounts {
    /// Pods of the newest template.
    pub updated: u32,
    /// Pods of other templates.
    pub old: u32,
    /// Ready pods of any template.
    pub ready: u32,
    /// Available pods of any template.
    pub available: u32,
}

/// The reason of a Deployment's `Progressing` condition.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum ProgressReason {
    /// Complete: `NewReplicaSetAvailable`.
    #[default]
    Complete,
    /// In progress: `ReplicaSetUpdated` and similar reasons.
    Updating,
    /// Failed: `ProgressDeadlineExceeded`.
    DeadlineExceeded,
}

/// A Deployment's `Progressing` condition, with the counts of its last check.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progressing {
    counts: PodCounts,
    pub(super) reason: ProgressReason,
    pub(super) updated_at: SimTime,
    /// The pending check of the deadline.
    pub(super) look: Option<EventId>,
}

impl Progressing {
    /// Records a new template.
    pub(super) const fn begin(&mut self, now: SimTime) {
        self.reason = ProgressReason::Updating;
        self.updated_at = now;
    }

    /// Updates the condition for these counts.
    pub(super) fn judge(
        &mut self,
        now: SimTime,
        replicas: u32,
        deadline: SimDuration,
        counts: PodCounts,
    ) {
        let was = std::mem::replace(&mut self.counts, counts);
        if self.reason == ProgressReason::Complete && counts.old == 0 {
            return;
        }
        let is_complete = counts
            == PodCounts {
                updated: replicas,
                old: 0,
                available: replicas,
                ..counts
            };
        let has_progressed = counts.updated > was.updated
            || counts.old < was.old
            || counts.ready > was.ready
            || counts.available > was.available;
        if is_complete {
            self.reason = ProgressReason::Complete;
        } else if has_progressed {
            self.begin(now);
        } else if self.reason == ProgressReason::Updating && now > self.updated_at + deadline {
            self.reason = ProgressReason::DeadlineExceeded;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: SimDuration = SimDuration::from_secs(600);

    fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    /// Returns the reasons of a Deployment with two pods that is checked at these times with these counts.
    fn played(seen: &[(u64, PodCounts)]) -> Vec<ProgressReason> {
        let mut condition = Progressing {
            counts: PodCounts {
                updated: 0,
                old: 2,
                ready: 2,
                available: 2,
            },
            ..Progressing::default()
        };
        condition.begin(at(0));
        let judged = |(secs, counts): &(u64, PodCounts)| {
            condition.judge(at(*secs), 2, DEADLINE, *counts);
            condition.reason
        };
        seen.iter().map(judged).collect()
    }

    #[test]
    fn a_deployment_without_progress_for_its_deadline_fails() {
        let stuck = PodCounts {
            updated: 1,
            old: 2,
            ready: 2,
            available: 2,
        };
        let story = [(1, stuck), (600, stuck), (601, stuck), (602, stuck)];
        // The last progress was the pod created at 1 s; 601 s is not more than 600 s later.
        assert_eq!(
            played(&story),
            [
                ProgressReason::Updating,
                ProgressReason::Updating,
                ProgressReason::Updating,
                ProgressReason::DeadlineExceeded
            ]
        );
    }

    #[test]
    fn every_kind_of_progress_renews_the_deadline_and_ends_the_failure() {
        let stuck = PodCounts {
            updated: 1,
            old: 2,
            ready: 2,
            available: 2,
        };
        for better in [
            PodCounts {
                updated: 2,
                ..stuck
            },
            PodCounts { old: 1, ..stuck },
            PodCounts { ready: 3, ..stuck },
            PodCounts {
                available: 3,
                ..stuck
            },
        ] {
            let story = [
                (0, stuck),
                (700, stuck),
                (1000, better),
                (1600, better),
                (1601, better),
            ];
            let told = [
                ProgressReason::Updating,
                ProgressReason::DeadlineExceeded,
                ProgressReason::Updating,
                ProgressReason::Updating,
                ProgressReason::DeadlineExceeded,
            ];
            assert_eq!(played(&story), told, "{better:?}");
        }
    }

    #[test]
    fn a_complete_deployment_is_not_checked_again() {
        let complete = PodCounts {
            updated: 2,
            old: 0,
            ready: 2,
            available: 2,
        };
        let crashed = PodCounts {
            ready: 0,
            available: 0,
            ..complete
        };
        let story = [
            (1, complete),
            (2, crashed),
            (5000, crashed),
            (5001, complete),
        ];
        assert_eq!(played(&story), [ProgressReason::Complete; 4]);
    }

    #[test]
    fn a_pod_that_becomes_ready_again_and_again_is_progress_each_time() {
        let up = PodCounts {
            updated: 1,
            old: 2,
            ready: 3,
            available: 3,
        };
        let down = PodCounts {
            ready: 2,
            available: 2,
            ..up
        };
        let story: Vec<(u64, PodCounts)> = (0..20)
            .map(|nth| (nth * 305, if nth % 2 == 0 { up } else { down }))
            .collect();
        assert!(
            played(&story)
                .iter()
                .all(|reason| *reason == ProgressReason::Updating),
            "the longest back-off is 300 s"
        );
    }
}
