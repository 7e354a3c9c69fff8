//! Approvals that people give to a process, each some time after the process requested it.
//!
//! As for every product, the delay depends on the index of the request, so that a process and a native strategy with
//! the same requests wait equally long. A process requests approvals in its answers. KubeFleet's own controller shows
//! its requests in conditions instead, which may arrive later than the request itself. Its future requests are
//! therefore listed in advance, and it never runs ahead for longer than their shortest delay.

use std::collections::BTreeSet;

use crate::engine::Streams;
use crate::process::protocol::{Approval, ApprovalTime, ProcessCondition};
use crate::products::delay::pause;
use crate::units::{SimDuration, SimTime};
use crate::world::DurationModel;

/// The approvals that a strategy requests, and the delay until they are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ApprovalModel {
    /// Delay from the request of an approval to the approval. `None`: approvals are never given.
    pub(crate) delay: Option<DurationModel>,
    /// Approvals that the process requests through its conditions.
    pub(crate) by_condition: Vec<Approval>,
}

/// The approvals of one run.
pub(super) struct Approvals<'r> {
    model: &'r ApprovalModel,
    streams: Streams,
    /// The requested approvals, in the order of their requests.
    asked: Vec<Approval>,
    /// The times at which each approval was requested and is given.
    pub(super) pauses: Vec<(SimTime, SimTime)>,
    /// The future approvals by time, in nanoseconds.
    due: BTreeSet<(u64, Approval)>,
}

impl<'r> Approvals<'r> {
    pub(super) fn new(model: &'r ApprovalModel, streams: Streams) -> Self {
        Self {
            model,
            streams,
            asked: Vec::new(),
            pauses: Vec::new(),
            due: BTreeSet::new(),
        }
    }

    /// Records a request for an approval. Requests may be repeated.
    pub(super) fn ask(&mut self, approval: &Approval, at: u64) {
        if !self.asked.contains(approval)
            && let Some(delay) = self.delay(self.asked.len())
        {
            self.asked.push(approval.clone());
            let given = at.saturating_add(delay.as_nanos());
            self.pauses
                .push((SimTime::from_nanos(at), SimTime::from_nanos(given)));
            self.due.insert((given, approval.clone()));
        }
    }

    /// Records a condition, which may contain a request for an approval.
    pub(super) fn notice(&mut self, condition: &ProcessCondition) {
        let model = self.model;
        for approval in &model.by_condition {
            if asks_for(condition, approval) {
                self.ask(approval, condition.at);
                return;
            }
        }
    }

    /// Returns the next approval that is given at `now` or earlier.
    pub(super) fn given_by(&mut self, now: u64) -> Option<(u64, Approval)> {
        let (at, _) = self.due.first()?;
        if *at <= now {
            self.due.pop_first()
        } else {
            None
        }
    }

    /// Returns the time of the next approval.
    pub(super) fn next(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Returns how far the process may run ahead, in nanoseconds, without a request being noticed too late.
    pub(super) fn lookahead(&self) -> Option<u64> {
        let open = self
            .model
            .by_condition
            .iter()
            .filter(|approval| !self.asked.contains(approval))
            .count();
        (0..open)
            .filter_map(|at| self.delay(self.asked.len() + at))
            .map(SimDuration::as_nanos)
            .min()
    }

    /// Returns the delay of the approval request with index `nth`.
    fn delay(&self, nth: usize) -> Option<SimDuration> {
        self.model
            .delay
            .as_ref()
            .map(|delay| pause(delay, &self.streams, nth as u64))
    }
}

/// Returns whether a condition of a KubeFleet update run shows that a stage waits for this approval.
fn asks_for(condition: &ProcessCondition, approval: &Approval) -> bool {
    let tasks = if approval.when == ApprovalTime::Before {
        "before-stage tasks"
    } else {
        "after-stage tasks"
    };
    condition.reason == "StageUpdatingWaiting"
        && condition.object.rsplit('/').next() == Some(&approval.stage)
        && condition.message.contains(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    fn waits(at: u64, stage: &str, message: &str) -> ProcessCondition {
        ProcessCondition {
            at,
            object: format!("ClusterStagedUpdateRun/run/{stage}"),
            condition: "Progressing".to_owned(),
            status: "False".to_owned(),
            reason: "StageUpdatingWaiting".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn an_approval_is_given_once_and_counts_from_the_request_in_kubefleets_conditions() {
        let delay = Some(SimDuration::from_mins(10).into());
        let model = ApprovalModel {
            delay,
            by_condition: vec![Approval::new("canary", false), Approval::new("rest", true)],
        };
        let mut approvals = Approvals::new(&model, Streams::new(1, 0));
        let ten_minutes = 600_000_000_000;
        assert_eq!(
            approvals.lookahead(),
            Some(ten_minutes),
            "a request may come in the next instant"
        );
        // The texts are copied from the recorded runs.
        let after =
            "All clusters in the stage are updated, waiting for after-stage tasks to complete";
        let before = "Not all before-stage tasks are completed, waiting for approval";
        approvals.notice(&waits(5, "early", after));
        assert_eq!(approvals.next(), None, "this stage needs no approval");
        approvals.notice(&waits(7, "canary", after));
        approvals.notice(&waits(9, "canary", after));
        assert_eq!(approvals.next(), Some(7 + ten_minutes));
        assert_eq!(approvals.given_by(6 + ten_minutes), None);
        assert_eq!(
            approvals.given_by(7 + ten_minutes),
            Some((7 + ten_minutes, Approval::new("canary", false)))
        );
        assert_eq!(approvals.next(), None, "nobody approves twice");
        approvals.notice(&waits(11, "rest", before));
        assert_eq!(
            (approvals.next(), approvals.lookahead()),
            (Some(11 + ten_minutes), None)
        );
    }
}
