//! When a Deployment counts as failed: `progressDeadlineSeconds`.
//!
//! Follows `pkg/controller/deployment/progress.go` (`syncRolloutStatus`, `requeueStuckDeployment`) and
//! `pkg/controller/deployment/util/deployment_util.go` (`DeploymentComplete`, `DeploymentProgressing`,
//! `DeploymentTimedOut`) of kubernetes/kubernetes at 008b3652. Progress is a new template, more pods of it, fewer old
//! ones, or more that are ready or available; pods that crash and become ready again are progress, each time. What is
//! complete once is not judged again before the next template. The condition marks a Deployment and changes nothing of
//! what it does. A DaemonSet has no deadline.
//!
//! It costs an event for each rolling Deployment, so a world follows it only when its driver looks at it
//! ([`World::watch_progress_deadlines`]).
//!
//! Left out: that the condition's times are whole seconds.

use super::ids::ClusterId;
use super::spec::WorkloadKind;
use super::{Event, Queue, World};
use crate::engine::EventId;
use crate::units::{SimDuration, SimTime};

/// The controller looks again this long after the deadline (`requeueStuckDeployment`).
const LOOK_AGAIN: SimDuration = SimDuration::from_secs(1);

/// What of a Deployment's status progress is told by.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    /// Pods of the newest template.
    pub(super) updated: u32,
    /// All other pods.
    pub(super) old: u32,
    /// Ready pods of any template.
    pub(super) ready: u32,
    /// Available pods of any template.
    pub(super) available: u32,
}

/// The reason of a Deployment's `Progressing` condition.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Reason {
    /// `NewReplicaSetAvailable`.
    #[default]
    Complete,
    /// `ReplicaSetUpdated` and the like.
    Updating,
    /// `ProgressDeadlineExceeded`.
    DeadlineExceeded,
}

/// A Deployment's `Progressing` condition, with the status it was last judged by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progressing {
    counts: Counts,
    reason: Reason,
    updated_at: SimTime,
    /// When the controller looks whether the deadline is over.
    look: Option<EventId>,
}

impl Progressing {
    /// A new template.
    fn begin(&mut self, now: SimTime) {
        (self.reason, self.updated_at) = (Reason::Updating, now);
    }

    /// The controller sees these pods.
    fn judge(&mut self, now: SimTime, replicas: u32, deadline: SimDuration, counts: Counts) {
        let was = std::mem::replace(&mut self.counts, counts);
        if self.reason == Reason::Complete && counts.old == 0 {
            return;
        }
        let is_complete = counts == Counts { updated: replicas, old: 0, available: replicas, ..counts };
        let has_progressed = counts.updated > was.updated
            || counts.old < was.old
            || counts.ready > was.ready
            || counts.available > was.available;
        if is_complete {
            self.reason = Reason::Complete;
        } else if has_progressed {
            self.begin(now);
        } else if self.reason == Reason::Updating && now > self.updated_at + deadline {
            self.reason = Reason::DeadlineExceeded;
        }
    }
}

impl World<'_> {
    /// From now on Deployments are judged by their progress deadlines, and reports tell of it.
    pub fn watch_progress_deadlines(&mut self) {
        self.watches_progress = true;
    }

    pub(super) fn progress_begins(&mut self, cluster: ClusterId, workload: usize, now: SimTime) {
        self.clusters[cluster.index()].workloads[workload].progressing.begin(now);
    }

    /// A Deployment's controller looks at its pods.
    pub(super) fn judge_progress(&mut self, id: ClusterId, workload: usize, queue: &mut Queue) {
        let WorkloadKind::Deployment { replicas, progress_deadline, .. } = self.spec.workloads[workload].kind else {
            return;
        };
        if !self.watches_progress {
            return;
        }
        let counts = self.progress_counts(id, workload);
        let condition = &mut self.clusters[id.index()].workloads[workload].progressing;
        condition.judge(queue.now(), replicas, progress_deadline, counts);
        let at = condition.updated_at + progress_deadline + LOOK_AGAIN;
        match (condition.reason, condition.look) {
            (Reason::Updating, None) => {
                let look = Event::ProgressDeadline { cluster: id, workload };
                condition.look = Some(queue.schedule(at, look));
            }
            (Reason::Updating, Some(event)) => {
                let is_pending = queue.reschedule(event, at);
                assert!(is_pending, "the look at a deadline is forgotten when it happens");
            }
            (Reason::Complete | Reason::DeadlineExceeded, Some(event)) => {
                queue.cancel(event);
                condition.look = None;
            }
            (Reason::Complete | Reason::DeadlineExceeded, None) => {}
        }
    }

    pub(super) fn progress_deadline(&mut self, id: ClusterId, workload: usize, queue: &mut Queue) {
        self.clusters[id.index()].workloads[workload].progressing.look = None;
        self.judge_progress(id, workload, queue);
        self.note_settled(id, queue);
    }

    /// Whether a Deployment of the cluster has exceeded its progress deadline.
    pub(super) fn is_degraded(&self, id: ClusterId) -> bool {
        let workloads = &self.clusters[id.index()].workloads;
        workloads.iter().any(|workload| workload.progressing.reason == Reason::DeadlineExceeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: SimDuration = SimDuration::from_secs(600);

    fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    /// A Deployment of two pods, seen at these times.
    fn played(seen: &[(u64, Counts)]) -> Vec<Reason> {
        let mut condition =
            Progressing { counts: Counts { updated: 0, old: 2, ready: 2, available: 2 }, ..Progressing::default() };
        condition.begin(at(0));
        let judged = |(secs, counts): &(u64, Counts)| {
            condition.judge(at(*secs), 2, DEADLINE, *counts);
            condition.reason
        };
        seen.iter().map(judged).collect()
    }

    #[test]
    fn a_deployment_is_late_when_nothing_moved_for_its_deadline() {
        let stuck = Counts { updated: 1, old: 2, ready: 2, available: 2 };
        let story = [(1, stuck), (600, stuck), (601, stuck), (602, stuck)];
        // The pod made at 1 s was progress; 601 s is not yet more than 600 s after it.
        assert_eq!(played(&story), [Reason::Updating, Reason::Updating, Reason::Updating, Reason::DeadlineExceeded]);
    }

    #[test]
    fn every_kind_of_progress_renews_the_deadline_and_ends_the_failure() {
        let stuck = Counts { updated: 1, old: 2, ready: 2, available: 2 };
        for better in [
            Counts { updated: 2, ..stuck },
            Counts { old: 1, ..stuck },
            Counts { ready: 3, ..stuck },
            Counts { available: 3, ..stuck },
        ] {
            let story = [(0, stuck), (700, stuck), (1000, better), (1600, better), (1601, better)];
            let told = [
                Reason::Updating,
                Reason::DeadlineExceeded,
                Reason::Updating,
                Reason::Updating,
                Reason::DeadlineExceeded,
            ];
            assert_eq!(played(&story), told, "{better:?}");
        }
    }

    #[test]
    fn what_was_complete_is_not_judged_again() {
        let complete = Counts { updated: 2, old: 0, ready: 2, available: 2 };
        let crashed = Counts { ready: 0, available: 0, ..complete };
        let story = [(1, complete), (2, crashed), (5000, crashed), (5001, complete)];
        assert_eq!(played(&story), [Reason::Complete; 4]);
    }

    #[test]
    fn a_pod_that_becomes_ready_again_and_again_is_progress_each_time() {
        let up = Counts { updated: 1, old: 2, ready: 3, available: 3 };
        let down = Counts { ready: 2, available: 2, ..up };
        let story: Vec<(u64, Counts)> = (0..20).map(|nth| (nth * 305, if nth % 2 == 0 { up } else { down })).collect();
        assert!(played(&story).iter().all(|reason| *reason == Reason::Updating), "the longest back-off is 300 s");
    }
}
