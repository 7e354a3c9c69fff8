//! A process that keeps its own control loop: passes, queues, timers and latencies are its own, in virtual time.
//!
//! The two clocks are kept apart by no more than the process's lookahead: an event of the world cannot reach the
//! process earlier than that, so the process may advance up to the next event of the world plus the lookahead
//! (conservative synchronisation: Chandy and Misra, IEEE TSE 5(5), 1979). A process that says when it will act next is
//! left alone until then, which saves most messages.

use super::ExternalStrategy;
use super::session::{ProcessFailed, Session, shortened};
use crate::control_plane::{
    Agenda, Change, Clusters, Controller, ControllerInput, Plane, StatusLog, Traits,
};
use crate::process::ProcessError;
use crate::process::protocol::{
    Advanced, Instruction, News, ProcessCondition, ProcessMessage, SeenReadiness,
};
use crate::products::Run;
use crate::results::PassRow;
use crate::rollout::{Hold, ObjectCondition, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, Report};

/// Timers of the world for the process.
#[derive(Clone, Copy, Debug)]
enum ProcessStep {
    /// Instructions, approvals or seen targets are due.
    Acts,
    /// The process can know of a report.
    Knows(Report),
}

/// Instructions that are carried out at a time of the world, and targets that the product sees then.
#[derive(Debug)]
struct Arriving {
    /// In nanoseconds.
    at: u64,
    instructions: Vec<Instruction>,
    seen: Vec<SeenReadiness>,
}

/// A process with a control loop of its own. Its times are in nanoseconds.
pub(super) struct OwnLoopController<'r> {
    session: Session<'r>,
    horizon: u64,
    strategy: &'r ExternalStrategy,
    /// The process's present time.
    at: u64,
    /// It does nothing earlier, unless there is news.
    quiet_until: u64,
    /// What the last answer leads to.
    arriving: Option<Arriving>,
    agenda: Agenda<ProcessStep>,
    /// The earliest time of instructions or approvals that has a timer.
    timer: Option<u64>,
    /// Passes that the process has made and that are not recorded yet: their number, and instructions.
    passes: Vec<PassRow>,
    /// The conditions that its objects have shown, until they are asked for.
    conditions: Vec<ProcessCondition>,
    /// When the process first reported that the rollout of the new revision is complete.
    completed: Option<SimTime>,
    /// The process reports that the rollout has failed.
    failed: Option<String>,
}

impl<'r> OwnLoopController<'r> {
    pub(super) fn new(strategy: &'r ExternalStrategy, run: Run<'r>) -> Self {
        Self {
            session: Session::start(strategy, run),
            horizon: run.horizon.as_nanos(),
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

    /// Lets the process advance to `until` at most.
    ///
    /// # Errors
    /// When it fails, or its answer breaks a rule.
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

    /// The rule of the protocol that an answer breaks.
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

    /// Lets the process advance to `until`, or to an instant before that in which it gives instructions or `is_enough`.
    /// It stops when it fails, and where nothing happens until then.
    fn follow_until(&mut self, now: u64, until: u64, is_enough: impl Fn(&Self) -> bool) {
        // Instructions are carried out before anything later can happen.
        while self.arriving.is_none() && self.failed.is_none() && !is_enough(self) {
            let advanced = if !self.session.news.is_empty() && self.at < now {
                // News happens in the process's present.
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

    /// How far the process may advance by one answer, at most to `until`. `None`: nothing happens until then.
    fn next_end(&self, until: u64) -> Option<u64> {
        let approvals = &self.session.approvals;
        // Approvals that the process asked for are news, too.
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

    /// Takes the news. Before the release, time stands still for the process, so that no news is older than its
    /// present.
    fn present_news(&mut self) -> Vec<News> {
        let mut news = std::mem::take(&mut self.session.news);
        let earliest = self.at.saturating_sub(self.session.lookahead);
        for piece in &mut news {
            piece.at = piece.at.max(earliest);
        }
        news
    }

    /// One row for all passes that the process reports at one time: it does not say when each of them was.
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

    /// A timer goes off.
    fn due(&mut self, number: u32, now: SimTime, plane: &mut Plane<'_>) {
        match self.agenda.take(number) {
            Some(ProcessStep::Knows(report)) => {
                self.session.learn(report);
                plane.changed(report.cluster);
            }
            Some(ProcessStep::Acts) => {
                self.timer = self.timer.filter(|at| *at > now.as_nanos());
                self.act(now, plane);
            }
            None => {}
        }
    }

    /// Instructions and approvals that are due are carried out.
    fn act(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.session.tell_approvals(now);
        let Some(arriving) = self.arriving.take_if(|of| of.at <= now.as_nanos()) else {
            return;
        };
        for seen in arriving.seen {
            if self.session.sees_ready(seen).is_ok() {
                plane.changed(ClusterId(seen.target));
            }
        }
        for Instruction { target, revision } in arriving.instructions {
            if self.session.reaches(target) {
                plane.promote(ClusterId(target), Revision(revision));
                plane.instruct(now, ClusterId(target), Revision(revision));
            }
        }
    }

    fn conclude(&mut self, now: SimTime) {
        let mut now = now.as_nanos();
        loop {
            self.follow_until(now, self.horizon, |of| of.completed.is_some());
            if self.arriving.take().is_some() {
                // The world is over: instructions change nothing any more.
                continue;
            }
            let is_over = self.completed.is_some()
                || self.failed.is_some()
                || self.session.failure().is_some();
            // In a world that is over, people still approve what the process asks for.
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

    /// Sets the timer of what comes next, and hands over what the process did.
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
            ControllerInput::Released | ControllerInput::Shown => {}
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
            ControllerInput::Link(cluster, is_online) => {
                self.session.tell_link(cluster, is_online, now);
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

    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        self.failed.is_some()
            || (self.arriving.is_none()
                && self.session.news.is_empty()
                && self.session.approvals.next().is_none()
                // What it knows of counts when it can know of it.
                && !self.agenda.iter().any(|step| matches!(step, ProcessStep::Knows(_)))
                && self.quiet_until >= self.horizon)
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        self.session.is_done(cluster)
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
