//! A process that decides in passes: fleetsim keeps the control loop.

use super::ExternalStrategy;
use super::session::Session;
use crate::process::ProcessError;
use crate::process::protocol::{Decided, ProcessMessage};
use crate::products::{Change, Clusters, Controller, Decision, Happened, Run};
use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::{ClusterId, Report};

/// A process that is asked in every pass.
pub(super) struct ExternalController<'r>(Session<'r>);

impl<'r> ExternalController<'r> {
    pub(super) fn new(strategy: &'r ExternalStrategy, run: Run<'r>) -> Self {
        Self(Session::start(strategy, run))
    }
}

impl Controller for ExternalController<'_> {
    fn learn(&mut self, report: Report, now: SimTime) -> bool {
        self.0.tell(report, now);
        self.0.learn(report)
    }

    fn change(&mut self, change: &Change, now: SimTime) -> Option<bool> {
        self.0.tell_change(change, now);
        Some(true)
    }

    fn next_event(&self) -> Option<SimTime> {
        self.0.approvals.next().map(SimTime::from_nanos)
    }

    fn advance(&mut self, now: SimTime, _clusters: &dyn Clusters) -> Happened {
        Happened { starts_pass: self.0.tell_approvals(now), ..Happened::default() }
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let mut decision = Decision { unavailable: self.0.unavailable(), ..Decision::default() };
        let news = std::mem::take(&mut self.0.news);
        let question = ProcessMessage::Pass { now: now.as_nanos(), news: &news };
        let Some(decided) = self.0.ask::<Decided>(&question, None) else { return decision };
        if decided.wake.is_some_and(|wake| wake <= now.as_nanos()) {
            let problem = format!("`wake` must be later than `now`, {}; time does not go back", now.as_nanos());
            self.0.give_up(problem);
            return decision;
        }
        if self.0.instructed(&decided.deploy).is_none() {
            return decision;
        }
        for instruction in decided.deploy {
            decision.requests.in_turn(1);
            decision.instruct(self.0.clusters, instruction.target as usize, Revision(instruction.revision));
        }
        for approval in &decided.approvals {
            self.0.approvals.ask(approval, now.as_nanos());
        }
        decision.wake_at = decided.wake.map(SimTime::from_nanos);
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        self.0.is_done(cluster)
    }

    fn hold(&self) -> Option<Hold> {
        self.0.hold()
    }

    fn stages(&self) -> Vec<String> {
        self.0.stages.clone()
    }

    fn failure(&self) -> Option<ProcessError> {
        self.0.failure()
    }

    fn finish(&mut self) {
        self.0.finish();
    }
}
