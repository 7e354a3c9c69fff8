//! The state of a cluster's agent, which it has for each deployment. Its steps are in `agent_steps`.

use std::collections::VecDeque;

use crate::engine::EventId;
use crate::world::clusters::apply_rules::FailedApply;
use crate::world::ids::TargetId;
use fleetsim_rollout::Revision;
use fleetsim_units::SimTime;

/// An agent's report on a deployment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ReportedState {
    pub(super) applied: Revision,
    pub(super) ready: bool,
    pub(super) degraded: bool,
    /// The last apply, if it failed.
    pub(super) failure: Option<FailedApply>,
}

impl ReportedState {
    /// Creates the report of a deployment whose workloads run this revision and are ready.
    pub(super) const fn ready_on(applied: Revision) -> Self {
        Self {
            applied,
            ready: true,
            degraded: false,
            failure: None,
        }
    }

    /// Returns whether the deployment is ready on a revision.
    pub(super) fn is_ready_on(self, revision: Revision) -> bool {
        self.applied == revision && self.ready
    }
}

/// The workers of one agent, and the deployments that wait for one.
#[derive(Debug, Default)]
pub(crate) struct AgentQueue {
    busy: u32,
    waiting: VecDeque<TargetId>,
}

impl AgentQueue {
    /// Takes one of `workers` for a deployment, if one is free. Otherwise the deployment waits.
    pub(super) fn take(&mut self, target: TargetId, workers: u32) -> bool {
        if self.busy < workers {
            self.busy += 1;
            return true;
        }
        if !self.waiting.contains(&target) {
            self.waiting.push_back(target);
        }
        false
    }

    /// Frees a worker, which the deployment takes that has waited longest. `None`: none waits.
    pub(super) fn release(&mut self) -> Option<TargetId> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.busy -= 1;
        }
        next
    }

    /// Takes a deployment that is no longer to be applied out of the queue.
    pub(super) fn forget(&mut self, target: TargetId) {
        self.waiting.retain(|other| *other != target);
    }
}

/// How far the removal of a deployment's workloads is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum RemovalState {
    /// The workloads stay.
    #[default]
    No,
    /// The deletion has not reached the agent.
    Wanted,
    /// The workloads are deleted, and pods terminate.
    Begun,
    /// All pods are gone.
    Over,
}

impl RemovalState {
    /// Whether the workloads are deleted.
    pub(crate) const fn has_begun(self) -> bool {
        matches!(self, Self::Begun | Self::Over)
    }
}

/// What an agent knows of a deployment, and what it does for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agent {
    pub(super) instructed: Option<Revision>,
    /// The revision that the management cluster could not apply because the cluster was offline; it is not retried
    /// automatically.
    pub(super) missed: Option<Revision>,
    pub(super) applying: Option<Revision>,
    /// Whether the deployment has one of the agent's workers, if their number is limited.
    pub(super) has_worker: bool,
    /// Says whether the report of the last apply waits for the limit of the agent's client.
    pub(super) is_writing: bool,
    /// Whether the manifests are applied, and the apply now waits until the workloads are ready.
    pub(super) waits: bool,
    /// The event at which the wait for the workloads times out.
    pub(super) wait_due: Option<EventId>,
    /// Whether a failed apply is being rolled back.
    pub(super) is_rolling_back: bool,
    /// The reason why the last apply failed. `None`: it succeeded.
    pub(super) failure: Option<FailedApply>,
    /// Number of consecutive failed applies.
    pub(super) failures: u32,
    /// Number of applies that failed because the experiment specifies failures.
    pub(super) faults: u32,
    /// The event of the next retry.
    pub(super) retry_due: Option<EventId>,
    /// The event at which the current apply fails, if the experiment says so.
    pub(super) fault_due: Option<EventId>,
    /// The revision whose apply the agent has given up.
    pub(super) given_up: Option<Revision>,
    /// The agent has not reported the failure of the last apply yet.
    pub(super) failure_is_news: bool,
    /// Whether the deployment is paused.
    pub(super) is_paused: bool,
    pub(super) applied: Option<Revision>,
    pub(super) applies: u64,
    pub(super) instructions: u64,
    pub(super) reports: u64,
    pub(super) readiness_changes: u64,
    /// Whether the management cluster expects a report although nothing is to be applied: the instruction before was
    /// withdrawn before the agent applied it.
    pub(super) owes_report: bool,
    /// The last report sent.
    pub(super) sent: Option<ReportedState>,
    pub(super) arrives: SimTime,
    /// The scheduled report of readiness, or poll.
    pub(super) readiness_due: Option<EventId>,
    /// The last state of the workloads that the agent saw: a digest of their status, or the set of available ones.
    pub(super) seen: u128,
    /// The start of the agent's series of polls.
    pub(super) looks_from: SimTime,
    /// Whether everything was available at the agent's last poll.
    pub(super) saw_all_available: bool,
    /// How far the removal of the workloads is.
    pub(super) removal: RemovalState,
    /// The last report that arrived.
    pub(super) reported: Option<ReportedState>,
}

impl Agent {
    /// Creates the state of an agent that applied `applied` long ago, whose workloads are ready.
    pub(crate) fn settled(applied: Option<Revision>) -> Self {
        let reported = applied.map(ReportedState::ready_on);
        Self {
            instructed: applied,
            applied,
            sent: reported,
            saw_all_available: applied.is_some(),
            reported,
            ..Self::default()
        }
    }

    /// Returns the revision that the management cluster last wanted, even if it could not send it.
    pub(crate) fn missed_or_instructed(&self) -> Option<Revision> {
        self.missed.or(self.instructed)
    }

    /// Returns whether the last apply has failed.
    pub(crate) const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns whether the last report that arrived shows the deployment as ready on a revision.
    pub(super) fn is_reported_on(&self, revision: Revision) -> bool {
        self.reported
            .is_some_and(|reported| reported.is_ready_on(revision))
    }

    /// Returns whether the agent has nothing left to do or to report for the deployment.
    pub(crate) fn is_at_rest(&self, settled: bool) -> bool {
        if self.removal != RemovalState::No {
            return self.removal == RemovalState::Over;
        }
        if self.owes_report {
            return false;
        }
        let has_begun = self.instructed.is_some() || self.applied.is_some();
        let is_known = settled && self.reported == self.applied.map(ReportedState::ready_on);
        !has_begun || (self.instructed == self.applied && self.applying.is_none() && is_known)
    }
}
