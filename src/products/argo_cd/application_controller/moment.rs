//! A moment of the application controller: everything that is due happens.

use std::sync::Arc;

use super::{ApplicationController, Attempt, Due, Place, Shown};
use crate::products::Happened;
use crate::products::argo_cd::ArgoCdRelease;
use crate::rollout::argo_cd::{
    Application, ApplicationSetView, AutoSync, Health, Operation, OperationPhase, OperationState, SyncStatus,
    queues_pass,
};
use crate::rollout::{Revision, TargetSet};
use crate::units::SimTime;
use crate::world::{ClusterId, NEW, OLD, Report};

/// A moment of the controller: what it works on, and what comes of it.
pub(in crate::products::argo_cd) struct Moment<'a> {
    pub(in crate::products::argo_cd) controller: &'a mut ApplicationController,
    pub(in crate::products::argo_cd) view: &'a mut ApplicationSetView,
    /// Applications that changed in the view.
    pub(in crate::products::argo_cd) changed: &'a mut TargetSet,
    pub(in crate::products::argo_cd) now: SimTime,
    /// What an application that syncs by itself requests.
    pub(in crate::products::argo_cd) automatic: Operation,
    /// Whether a cluster answers.
    pub(in crate::products::argo_cd) is_online: &'a dyn Fn(ClusterId) -> bool,
    pub(in crate::products::argo_cd) happened: Happened,
}

impl Moment<'_> {
    /// Everything that is due happens.
    pub(in crate::products::argo_cd) fn advance(mut self) -> Happened {
        for report in std::mem::take(&mut self.controller.inbox) {
            self.work_on(report);
        }
        loop {
            self.begin_attempts();
            let now = self.now;
            let Some(entry) = self.controller.agenda.first_entry().filter(|entry| entry.key().0 <= now) else { break };
            match entry.remove() {
                // Manifests of another revision are asked for first.
                Due::Written(application) => {
                    let at = self.controller.answer(now);
                    self.controller.schedule(at, Due::Refresh(application));
                }
                Due::Refresh(application) => self.controller.compare(application, now),
                Due::Requested(application) => self.requested(application),
                Due::Begins(application) => self.begins(application),
                Due::Shown(application, shown) => self.shown(application, shown),
                Due::SetSeen => self.happened.starts_pass = true,
                Due::RequestsMade(application) => self.requests_made(application),
                Due::AttemptEnds(application) => self.attempt_ends(application),
                Due::Again(application) => {
                    self.controller.compare(application, now);
                    self.controller.enqueue(application);
                }
                Due::Compared(application) => self.compared(application),
            }
        }
        self.happened
    }

    fn place(&mut self, application: usize) -> &mut Place {
        &mut self.controller.places[application]
    }

    fn live(&mut self, application: usize) -> &mut Application {
        self.view.applications[application].live.as_mut().expect("what the application controller sees exists")
    }

    /// What the source of an application resolves to now.
    fn resolved(&mut self, application: usize) -> Revision {
        match self.controller.release {
            ArgoCdRelease::Commit => NEW,
            ArgoCdRelease::TargetRevision | ArgoCdRelease::Parameters => {
                let now = self.now;
                self.place(application).spec(now)
            }
        }
    }

    /// The revision that the running operation of an application applies.
    fn applies_what(&mut self, application: usize) -> Revision {
        self.place(application).applies.expect("an operation that runs has begun")
    }

    /// Changes an object, and notes whether that starts a pass.
    fn change(&mut self, application: usize, change: impl FnOnce(&mut Application)) {
        let live = self.live(application);
        let before = live.clone();
        change(live);
        let starts_pass = queues_pass(Some(&before), Some(live));
        self.happened.starts_pass |= starts_pass;
        self.changed.insert(application as u32);
    }

    fn work_on(&mut self, report: Report) {
        let application = report.cluster.index();
        let now = self.now;
        let place = self.place(application);
        (place.applied, place.ready, place.degraded) = (Some(report.applied), report.ready, report.degraded);
        let is_applying = place.attempt == Some(Attempt::Applying);
        if self.view.applications[application].live.is_none() {
            return;
        }
        self.controller.compare(application, now);
        if is_applying && self.place(application).applies == Some(report.applied) {
            self.attempt_ends(application);
        }
    }

    /// Free processors take the operations that wait.
    fn begin_attempts(&mut self) {
        for shard in 0..self.controller.shards.len() {
            while let Some(application) = self.controller.shards[shard].next_attempt() {
                self.begin_attempt(application);
            }
        }
    }

    /// Sees a request for an operation, unless one runs.
    fn requested(&mut self, application: usize) {
        let operation = self.live(application).operation;
        let place = self.place(application);
        if place.operation.is_none() && operation.is_some() {
            place.operation = operation;
            self.controller.enqueue(application);
        }
    }

    fn begin_attempt(&mut self, application: usize) {
        if self.place(application).failed > 0 {
            self.attempt(application);
        } else {
            let at = self.controller.answer(self.now);
            self.controller.schedule(at, Due::Begins(application));
        }
    }

    fn begins(&mut self, application: usize) {
        let state = OperationState { phase: OperationPhase::Running, started_at: self.now };
        let revision = self.resolved(application);
        let place = self.place(application);
        (place.state, place.applies) = (Some(state), Some(revision));
        self.show(application, Shown::Operation(state, false));
        self.attempt(application);
    }

    /// Writes into an Application, which the ApplicationSet controller sees later.
    fn show(&mut self, application: usize, shown: Shown) {
        let at = self.now + self.controller.watch_delay;
        self.controller.schedule(at, Due::Shown(application, shown));
    }

    fn shown(&mut self, application: usize, shown: Shown) {
        let parameters_only = self.controller.release == ArgoCdRelease::Parameters;
        let before = (self.live(application).sync, self.live(application).health);
        self.change(application, |live| match shown {
            Shown::Operation(state, is_over) => {
                live.operation_state = Some(state);
                live.operation = live.operation.filter(|_| !is_over);
            }
            Shown::Comparison { at, sync, health, revision, begun } => {
                (live.reconciled_at, live.refresh) = (Some(at), false);
                live.revisions = Arc::new([if parameters_only { OLD } else { revision }]);
                (live.sync, live.health) = (sync, health);
                live.operation = begun.or(live.operation);
            }
        });
        if before != (self.live(application).sync, self.live(application).health) {
            self.controller.shown_at = Some(self.now);
        }
        self.happened.changed.push(ClusterId(application as u32));
    }

    fn attempt(&mut self, application: usize) {
        let now = self.now;
        let cluster = ClusterId(application as u32);
        if (self.is_online)(cluster) {
            self.place(application).attempt = Some(Attempt::Requesting);
            match self.controller.shard(application).sync(now) {
                through if through > now => self.controller.schedule(through, Due::RequestsMade(application)),
                _ => self.requests_made(application),
            }
        } else {
            self.place(application).attempt = Some(Attempt::Failing);
            let revision = self.applies_what(application);
            self.happened.pushes.push((cluster, revision));
            let timeout = now + self.controller.settings.tcp_timeout;
            self.controller.schedule(timeout, Due::AttemptEnds(application));
        }
    }

    fn requests_made(&mut self, application: usize) {
        let revision = self.applies_what(application);
        if self.place(application).applied == Some(revision) {
            self.place(application).attempt = Some(Attempt::Idle);
            let end = self.now + self.controller.settings.idle_sync;
            self.controller.schedule(end, Due::AttemptEnds(application));
        } else if self.controller.shard(application).apply(application) {
            self.applies(application);
        }
    }

    fn applies(&mut self, application: usize) {
        let revision = self.applies_what(application);
        self.place(application).attempt = Some(Attempt::Applying);
        self.happened.pushes.push((ClusterId(application as u32), revision));
    }

    fn attempt_ends(&mut self, application: usize) {
        let now = self.now;
        let operation = self.place(application).operation.expect("an attempt has an operation");
        let limit = operation.retry_limit;
        self.controller.shard(application).attempt_ends();
        let place = self.place(application);
        let attempt = place.attempt.take().expect("an attempt ends that ran");
        if attempt != Attempt::Failing {
            let next = if attempt == Attempt::Applying { self.controller.shard(application).applied() } else { None };
            if let Some(next) = next {
                self.applies(next);
            }
            self.operation_ends(application, OperationPhase::Succeeded);
            return;
        }
        let may_repeat = limit < 0 || i64::from(place.failed) < limit;
        match operation.retry_waits.filter(|_| may_repeat) {
            Some(waits) => {
                place.failed += 1;
                let again = now + waits.before(place.failed);
                self.controller.schedule(again, Due::Again(application));
            }
            None => self.operation_ends(application, OperationPhase::Failed),
        }
    }

    fn operation_ends(&mut self, application: usize, phase: OperationPhase) {
        let (now, revision) = (self.now, self.applies_what(application));
        let place = self.place(application);
        (place.failed, place.attempted, place.operation) = (0, Some(revision), None);
        let state = OperationState { phase, ..place.state.expect("an operation ends that ran") };
        place.state = Some(state);
        self.show(application, Shown::Operation(state, true));
        self.controller.compare(application, now);
    }

    fn compared(&mut self, application: usize) {
        let (at, resolved, automatic) = (self.now, self.resolved(application), self.automatic);
        let auto_sync = self.live(application).spec.auto_sync;
        let place = self.place(application);
        place.comparison_due = false;
        let sync = if place.applied == Some(resolved) { SyncStatus::Synced } else { SyncStatus::OutOfSync };
        let health = match place.applied {
            None => Health::Missing,
            Some(_) if place.ready => Health::Healthy,
            Some(_) if place.degraded => Health::Degraded,
            Some(_) => Health::Progressing,
        };
        let syncs_itself = auto_sync == AutoSync::Enabled && sync == SyncStatus::OutOfSync;
        let begins = syncs_itself && place.operation.is_none() && place.attempted != Some(resolved);
        let begun = begins.then_some(automatic);
        if begins {
            place.operation = begun;
            self.controller.enqueue(application);
        }
        self.show(application, Shown::Comparison { at, sync, health, revision: resolved, begun });
    }
}
