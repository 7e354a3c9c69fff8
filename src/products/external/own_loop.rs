//! A process that keeps its own control loop: passes, queues, timers and latencies are its own, in virtual time.
//!
//! The two clocks are kept apart by no more than the process's lookahead: an event of the world cannot reach the
//! process earlier than that, so the process may advance up to the next event of the world plus the lookahead
//! (conservative synchronisation: Chandy and Misra, IEEE TSE 5(5), 1979). A process that says when it will act next is
//! left alone until then, which saves most messages.
//!
//! Left out: news other than reports of agents.

use super::ExternalStrategy;
use super::session::Session;
use crate::process::ProcessError;
use crate::process::protocol::{Advanced, Instruction, News, ProcessMessage};
use crate::products::{Clusters, Controller, Decision, Happened, Run};
use crate::results::PassRow;
use crate::rollout::{Hold, Revision};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, Report};

/// A process with a control loop of its own. Its times are in nanoseconds.
pub(super) struct OwnLoopController<'r> {
    session: Session<'r>,
    horizon: u64,
    /// The process's present time.
    at: u64,
    /// It does nothing earlier, unless there is news.
    quiet_until: u64,
    /// Instructions that are carried out at this time.
    arriving: Option<(u64, Vec<Instruction>)>,
    passes: Vec<PassRow>,
    /// The process reports that the rollout has failed.
    failed: Option<String>,
}

impl<'r> OwnLoopController<'r> {
    pub(super) fn new(strategy: &'r ExternalStrategy, run: Run<'r>) -> Self {
        Self {
            session: Session::start(strategy, run),
            horizon: run.horizon.as_nanos(),
            at: 0,
            quiet_until: 0,
            arriving: None,
            passes: Vec::new(),
            failed: None,
        }
    }

    /// Lets the process advance to `until` at most. `None`: it has failed.
    fn advance_to(&mut self, until: u64, news: &[News]) -> Option<()> {
        let answer: Advanced = self.session.ask(&ProcessMessage::Run { until, news }, None)?;
        let Advanced { now, deploy, next, passes, completed, failed } = answer;
        let problem = if !(self.at..=until).contains(&now) {
            format!("`now` must be from {} to {until}, not {now}; time does not go back", self.at)
        } else if next.is_some_and(|next| next < now) {
            format!("`next` must not be earlier than `now`, {now}")
        } else if deploy.is_empty() && completed.is_none() && failed.is_none() && now < until {
            format!("`now` must be `until`, {until}, when nothing is deployed, completed or failed")
        } else {
            self.at = now;
            self.quiet_until = next.unwrap_or(now);
            self.failed = failed.or(self.failed.take());
            self.session.instructed(&deploy)?;
            self.count(passes, deploy.len());
            if !deploy.is_empty() {
                self.arriving = Some((now, deploy));
            }
            return Some(());
        };
        self.session.give_up(problem);
        None
    }

    /// A row for each pass; the last one of an answer is the one that promoted.
    fn count(&mut self, passes: u64, promoted: usize) {
        let row = |promoted: usize| PassRow {
            t_s: SimTime::from_nanos(self.at).as_secs_f64(),
            duration_s: 0.0,
            created: 0,
            promoted: promoted as u64,
            unavailable: self.session.unavailable(),
        };
        let quiet = passes.saturating_sub(1);
        let rows: Vec<PassRow> =
            (0..quiet).map(|_| row(0)).chain((passes > 0 || promoted > 0).then(|| row(promoted))).collect();
        self.passes.extend(rows);
    }
}

impl Controller for OwnLoopController<'_> {
    fn own_loop(&self) -> Option<SimDuration> {
        Some(SimDuration::from_nanos(self.session.lookahead))
    }

    fn hand_over(&mut self, report: Report, now: SimTime) {
        self.session.tell(report, now);
    }

    fn follow(&mut self, now: SimTime, next: Option<SimTime>) {
        let now = now.as_nanos();
        let next = next.map_or(self.horizon, SimTime::as_nanos);
        let until = next.saturating_add(self.session.lookahead).min(self.horizon);
        // Instructions are carried out before anything later can happen.
        while self.arriving.is_none() && self.failed.is_none() {
            if !self.session.news.is_empty() && self.at < now {
                // News happens in the process's present.
                if self.advance_to(now, &[]).is_none() {
                    return;
                }
                continue;
            }
            let has_news = !self.session.news.is_empty();
            if !has_news && (self.at >= until || self.quiet_until > until) {
                return;
            }
            let news = std::mem::take(&mut self.session.news);
            if self.advance_to(until.max(self.at), &news).is_none() {
                return;
            }
        }
    }

    fn take_passes(&mut self) -> Vec<PassRow> {
        std::mem::take(&mut self.passes)
    }

    fn learn(&mut self, report: Report, _now: SimTime) -> bool {
        self.session.learn(report);
        false
    }

    fn decide(&mut self, _now: SimTime) -> Decision {
        unreachable!("a process with a loop of its own makes its own passes")
    }

    fn next_event(&self) -> Option<SimTime> {
        self.arriving.as_ref().map(|(at, _)| SimTime::from_nanos(*at))
    }

    fn advance(&mut self, now: SimTime, _clusters: &dyn Clusters) -> Happened {
        let mut happened = Happened::default();
        if self.arriving.as_ref().is_some_and(|(at, _)| *at <= now.as_nanos()) {
            let (_, instructions) = self.arriving.take().expect("it is there");
            for Instruction { target, revision } in instructions {
                let spec = &self.session.clusters[target as usize];
                if spec.registered && !spec.paused {
                    happened.instructions.push((ClusterId(target), Revision(revision)));
                }
            }
        }
        happened
    }

    fn is_idle(&self, _clusters: &dyn Clusters) -> bool {
        self.failed.is_some()
            || (self.arriving.is_none() && self.session.news.is_empty() && self.quiet_until >= self.horizon)
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        self.session.is_done(cluster)
    }

    fn hold(&self) -> Option<Hold> {
        match &self.failed {
            Some(message) => Some(Hold { rule: "failed", explanation: message.clone() }),
            None => self.session.hold(),
        }
    }

    fn stages(&self) -> Vec<String> {
        self.session.stages.clone()
    }

    fn failure(&self) -> Option<ProcessError> {
        self.session.failure()
    }

    fn finish(&mut self) {
        self.session.finish();
    }
}
