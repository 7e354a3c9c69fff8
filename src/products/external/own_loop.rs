//! A process that runs its own control loop: it has its own passes, queues, timers and latencies, in virtual time.
//!
//! The two clocks differ by at most the process's lookahead: an event of the world cannot reach the process sooner, so
//! the process may advance to the next event of the world plus the lookahead (conservative synchronisation: Chandy and
//! Misra, IEEE TSE 5(5), 1979). If a process announces its next action, it is not asked earlier, which saves most
//! messages.

use super::ExternalStrategy;
use super::session::{ProcessFailed, Session, shortened};
use crate::control_plane::{
    Agenda, Change, Controller, ControllerInput, Plane, StatusLog, TargetStates, Traits,
};
use crate::process::ProcessError;
use crate::process::protocol::{
    Advanced, Instruction, News, ProcessCondition, ProcessMessage, SeenReadiness,
};
use crate::products::Run;
use crate::results::PassRow;
use crate::rollout::{Hold, ObjectCondition, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{Report, TargetId};

/// Timers that the world keeps for the process.
#[derive(Clone, Copy, Debug)]
enum ProcessStep {
    /// Instructions, approvals or readiness changes are due.
    Acts,
    /// A report can reach the process.
    Knows(Report),
}

/// Instructions to carry out at a time of the world, and changes of the targets' readiness that the product sees then.
#[derive(Debug)]
struct Arriving {
    /// The time in nanoseconds.
    at: u64,
    instructions: Vec<Instruction>,
    seen: Vec<SeenReadiness>,
}

/// A process with its own control loop. Its times are in nanoseconds.
pub(super) struct OwnLoopController<'r> {
    session: Session<'r>,
    horizon: u64,
    strategy: &'r ExternalStrategy,
    /// The process's current virtual time.
    at: u64,
    /// The process does nothing before this time unless an event arrives.
    quiet_until: u64,
    /// The effects of the last answer that have not happened yet.
    arriving: Option<Arriving>,
    agenda: Agenda<ProcessStep>,
    /// The earliest time of instructions or approvals for which a timer is set.
    timer: Option<u64>,
    /// Passes of the process that are not recorded yet, with the number of their instructions.
    passes: Vec<PassRow>,
    /// Conditions of the process's objects that were not collected yet.
    conditions: Vec<ProcessCondition>,
    /// The time at which the process first reported that the rollout of the new revision is complete.
    completed: Option<SimTime>,
    /// The process's message, if it reported that the rollout has failed.
    failed: Option<String>,
}

impl<'r> OwnLoopController<'r> {
    pub(super) fn new(strategy: &'r ExternalStrategy, run: &Run<'r>) -> Self {
        Self {
            horizon: run.horizon.as_nanos(),
            session: Session::start(strategy, run),
            strategy,
            at: 0,
            quiet_until: 0,
            arriving: None,
            agenda: Agenda::of_controller(0),
            timer: None,
            passes: Vec::new(),
            conditions: Vec::new(),
            completed: None,
            failed: None,
        }
    }

    /// Advances the process to `until` or an earlier time.
    ///
    /// # Errors
    /// Returns an error if the process fails or its answer breaks a rule.
    fn advance_to(&mut self, until: u64, news: &[News]) -> Result<(), ProcessFailed> {
        let question = ProcessMessage::Run { until, news };
        let answer: Advanced = self.session.ask(&question, None)?;
        if let Some(problem) = self.problem_of(&answer, until) {
            return Err(self.session.give_up(problem));
        }
        let Advanced {
            now,
            deploy,
            next,
            approvals,
            seen,
            passes,
            conditions,
            completed,
            failed,
        } = answer;
        self.at = now;
        self.quiet_until = next.unwrap_or(now);
        if completed == Some(self.session.newest.0) {
            self.completed.get_or_insert(SimTime::from_nanos(now));
        }
        self.failed = failed.map(shortened).or(self.failed.take());
        if now < until {
            self.session.moves_on(now, !news.is_empty())?;
        }
        self.session.asked(&approvals, &conditions, now)?;
        self.conditions.extend(conditions);
        self.session.instructed(&deploy)?;
        self.count(passes, !deploy.is_empty());
        self.arriving = (!deploy.is_empty() || !seen.is_empty()).then_some(Arriving {
            at: now,
            instructions: deploy,
            seen,
        });
        Ok(())
    }

    /// Returns the protocol rule that an answer breaks, if any.
    fn problem_of(&self, answer: &Advanced, until: u64) -> Option<String> {
        let now = answer.now;
        if !(self.at..=until).contains(&now) {
            return Some(format!(
                "`now` must be from {} to {until}, not {now}; time does not go back",
                self.at
            ));
        }
        if answer.next.is_some_and(|next| next < now) {
            return Some(format!("`next` must not be earlier than `now`, {now}"));
        }
        let says_nothing = answer.deploy.is_empty()
            && answer.approvals.is_empty()
            && answer.seen.is_empty()
            && answer.completed.is_none()
            && answer.failed.is_none();
        if says_nothing && now < until {
            return Some(format!(
                "`now` must be `until`, {until}, when nothing is deployed, asked for, seen, completed or failed"
            ));
        }
        None
    }

    /// Advances the process to `until`, or to an earlier instant in which it gives instructions or `is_enough` holds.
    /// Stops early if the process fails, or if nothing happens until then.
    fn follow_until(&mut self, now: u64, until: u64, is_enough: impl Fn(&Self) -> bool) {
        // Instructions are carried out before anything later can happen.
        while self.arriving.is_none() && self.failed.is_none() && !is_enough(self) {
            let advanced = if !self.session.news.is_empty() && self.at < now {
                // Events are delivered at the process's current time.
                self.advance_to(now, &[])
            } else if let Some(end) = self.next_end(until) {
                let news = self.present_news();
                self.advance_to(end, &news)
            } else {
                return;
            };
            if advanced.is_err() {
                return;
            }
        }
    }

    /// Returns the time to which the process may advance in one answer, at most `until`. `None`: nothing happens until
    /// `until`.
    fn next_end(&self, until: u64) -> Option<u64> {
        let approvals = &self.session.approvals;
        // Approvals that the process requested are events as well.
        let given = approvals
            .next()
            .map_or(u64::MAX, |at| at.saturating_add(self.session.lookahead));
        let end = until.min(given);
        let has_news = !self.session.news.is_empty();
        if !has_news && (self.at >= end || self.quiet_until > end) {
            return None;
        }
        let unnoticed = approvals
            .lookahead()
            .map_or(u64::MAX, |span| self.at.saturating_add(span));
        Some(end.min(unnoticed).max(self.at))
    }

    /// Takes the pending events. The process's clock is stopped before the release, so that no event is older than its
    /// current time.
    fn present_news(&mut self) -> Vec<News> {
        let mut news = std::mem::take(&mut self.session.news);
        let earliest = self.at.saturating_sub(self.session.lookahead);
        for piece in &mut news {
            piece.at = piece.at.max(earliest);
        }
        news
    }

    /// Adds one row for all passes that the process reports at one time, because it does not report the time of each
    /// pass.
    fn count(&mut self, passes: u32, instructs: bool) {
        if passes == 0 && !instructs {
            return;
        }
        let passes = u64::from(passes);
        let unavailable = self.session.unavailable();
        let t_s = SimTime::from_nanos(self.at).as_secs_f64();
        match self.passes.last_mut() {
            Some(row) if row.t_s.total_cmp(&t_s).is_eq() => {
                row.passes += passes;
                row.unavailable = unavailable;
            }
            _ => self.passes.push(PassRow {
                t_s,
                passes,
                duration_s: 0.0,
                created: 0,
                promoted: 0,
                unavailable,
            }),
        }
    }

    /// Handles a timer.
    fn due(&mut self, number: u32, now: SimTime, plane: &mut Plane<'_>) {
        match self.agenda.take(number) {
            Some(ProcessStep::Knows(report)) => {
                self.session.learn(report);
                plane.changed(report.target);
            }
            Some(ProcessStep::Acts) => {
                self.timer = self.timer.filter(|at| *at > now.as_nanos());
                self.act(now, plane);
            }
            None => {}
        }
    }

    /// Carries out instructions and approvals that are due.
    fn act(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.session.tell_approvals(now);
        let Some(arriving) = self.arriving.take_if(|of| of.at <= now.as_nanos()) else {
            return;
        };
        for seen in arriving.seen {
            if self.session.sees_ready(seen).is_ok() {
                plane.changed(TargetId(seen.target));
            }
        }
        for Instruction { target, revision } in arriving.instructions {
            if self.session.reaches(target) {
                plane.promote(TargetId(target), Revision(revision));
                plane.instruct(now, TargetId(target), Revision(revision));
            }
        }
    }

    fn conclude(&mut self, now: SimTime) {
        let mut now = now.as_nanos();
        loop {
            self.follow_until(now, self.horizon, |of| of.completed.is_some());
            if self.arriving.take().is_some() {
                // The run has already ended, so instructions have no effect.
                continue;
            }
            let is_over = self.completed.is_some()
                || self.failed.is_some()
                || self.session.failure().is_some();
            // After the run has ended, people still give requested approvals.
            let Some(at) = self.session.approvals.next() else {
                return;
            };
            if is_over || at >= self.horizon {
                return;
            }
            now = now.max(at);
            self.session.tell_approvals(SimTime::from_nanos(now));
        }
    }

    /// Sets the timer for the next event, and hands over the process's recorded activity.
    fn settle(&mut self, plane: &mut Plane<'_>) {
        let arriving = self.arriving.as_ref().map(|of| of.at);
        let next = arriving
            .into_iter()
            .chain(self.session.approvals.next())
            .min();
        if let Some(at) = next
            && self.timer.is_none_or(|timer| at < timer)
        {
            self.timer = Some(at);
            self.agenda
                .add(SimTime::from_nanos(at), ProcessStep::Acts, plane);
        }
        plane.passes().append(&mut self.passes);
        if let Some(at) = self.completed {
            plane.reports_completion(at);
        }
        self.session.settle(plane);
    }
}

impl Controller for OwnLoopController<'_> {
    fn traits(&self) -> Traits {
        Traits {
            sees_progress_deadlines: self.strategy.sees_progress_deadlines,
            ignores_pause: !self.strategy.heeds_pause,
            report_delay: Some(SimDuration::ZERO),
            is_process: true,
            ..Traits::default()
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        match input {
            ControllerInput::Released | ControllerInput::Shown | ControllerInput::HubTurn => {}
            ControllerInput::Report(report) => {
                self.session.tell(report, now);
                if !self.session.sees {
                    let known = now + SimDuration::from_nanos(self.session.lookahead);
                    self.agenda.add(known, ProcessStep::Knows(report), plane);
                }
            }
            ControllerInput::Timer(number) => self.due(number, now, plane),
            ControllerInput::Person(change) => {
                if let Change::Release(_) = change {
                    self.completed = None;
                }
                self.session.tell_change(change, now);
            }
            ControllerInput::Link(target, is_online) => {
                self.session.tell_link(target, is_online, now);
            }
            ControllerInput::Quiet(next) => {
                let next = next.map_or(self.horizon, SimTime::as_nanos);
                let until = next
                    .saturating_add(self.session.lookahead)
                    .min(self.horizon);
                self.follow_until(now.as_nanos(), until, |_| false);
            }
            ControllerInput::Over => self.conclude(now),
        }
        self.settle(plane);
    }

    fn is_idle(&self, _targets: &dyn TargetStates) -> bool {
        self.failed.is_some()
            || (self.arriving.is_none()
                && self.session.news.is_empty()
                && self.session.approvals.next().is_none()
                // A report takes effect when the process can see it.
                && !self.agenda.iter().any(|step| matches!(step, ProcessStep::Knows(_)))
                && self.quiet_until >= self.horizon)
    }

    fn is_done(&self, target: TargetId) -> bool {
        self.session.is_done(target)
    }

    fn hold(&self) -> Option<Hold> {
        match &self.failed {
            Some(message) => Some(Hold::new("failed", message)),
            None => self.session.hold(),
        }
    }

    fn show(&mut self, log: &mut StatusLog) {
        for ProcessCondition {
            at,
            object,
            condition,
            status,
            reason,
            message,
        } in self.conditions.drain(..)
        {
            let shown = ObjectCondition {
                object,
                condition,
                status,
                reason,
                message,
            };
            log.show_at(Some(SimTime::from_nanos(at)), [shown]);
        }
    }

    fn stages(&self) -> Vec<String> {
        self.session.stages.clone()
    }

    fn finish(&mut self) -> Option<ProcessError> {
        self.session.finish()
    }
}
