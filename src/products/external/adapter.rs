//! A process that decides in passes, while fleetsim runs the control loop.

use super::ExternalStrategy;
use super::session::{ProcessFailed, Session};
use crate::control_plane::{ApiClient, Controller, ControllerInput, Plane, Runtime};
use crate::process::ProcessError;
use crate::process::protocol::News;
use crate::products::Run;
use crate::rollout::{Hold, Revision};
use crate::units::SimTime;
use crate::world::TargetId;

/// An external process that is asked in every pass.
pub(super) struct ExternalController<'r> {
    session: Session<'r>,
    client: ApiClient,
    /// The control loop. Its only timed steps are people's approvals.
    runtime: Runtime<(), ()>,
}

impl<'r> ExternalController<'r> {
    pub(super) fn new(strategy: &'r ExternalStrategy, run: &Run<'r>) -> Self {
        let client = ApiClient::new(run.control_loop, &run.streams, "API requests");
        Self {
            session: Session::start(strategy, run),
            client,
            runtime: Runtime::new(1),
        }
    }

    fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        plane.begin_pass(self.session.unavailable());
        let news = std::mem::take(&mut self.session.news);
        let end = self.decide(&news, now, plane);
        self.runtime
            .end_pass((), end.unwrap_or(now), 0, false, plane);
    }

    /// Carries out the process's decisions. Returns the end of the pass.
    fn decide(
        &mut self,
        news: &[News],
        now: SimTime,
        plane: &mut Plane<'_>,
    ) -> Result<SimTime, ProcessFailed> {
        let decided = self.session.decide(now, news)?;
        if decided.wake.is_some_and(|wake| wake <= now.as_nanos()) {
            let problem = format!(
                "`wake` must be later than `now`, {}; time does not go back",
                now.as_nanos()
            );
            return Err(self.session.give_up(problem));
        }
        self.session.moves_on(now.as_nanos(), !news.is_empty())?;
        self.session.instructed(&decided.deploy)?;
        let mut at = now;
        for instruction in decided.deploy {
            at = self.client.send(0, at).answered;
            let target = TargetId(instruction.target);
            plane.deploy(
                at,
                &self.session.clusters[target.index()],
                target,
                Revision(instruction.revision),
            );
        }
        self.session
            .asked(&decided.approvals, &[], now.as_nanos())?;
        if let Some(given) = self.session.approvals.next() {
            self.runtime.step(SimTime::from_nanos(given), (), plane);
        }
        self.runtime.clear_timer((), plane);
        if let Some(wake) = decided.wake {
            self.runtime.add_at((), SimTime::from_nanos(wake), plane);
        }
        Ok(at)
    }
}

impl Controller for ExternalController<'_> {
    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released => self.runtime.release(()),
            ControllerInput::Report(report) => {
                self.session.tell(report, now);
                if self.session.learn(report) {
                    self.runtime.add(());
                }
            }
            ControllerInput::Person(change) => {
                self.session.tell_change(change, now);
                self.runtime.add(());
            }
            ControllerInput::Timer(number) => {
                let is_given =
                    self.runtime.due(number, plane).is_some() && self.session.tell_approvals(now);
                if is_given {
                    self.runtime.add(());
                }
            }
            _ => {}
        }
        while self.runtime.take(plane).is_some() {
            self.reconcile(now, plane);
        }
        self.session.settle(plane);
    }

    fn is_done(&self, target: TargetId) -> bool {
        self.session.is_done(target)
    }

    fn hold(&self) -> Option<Hold> {
        self.session.hold()
    }

    fn stages(&self) -> Vec<String> {
        self.session.stages.clone()
    }

    fn finish(&mut self) -> Option<ProcessError> {
        self.session.finish()
    }
}
