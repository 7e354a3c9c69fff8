//! Argo CD's application controller: comparisons, and operations with their attempts.
//!
//! After argoproj/argo-cd (`controller/{appcontroller,state,sync,health}.go`,
//! `gitops-engine/pkg/{health,sync,cache}`), as far as it matters to a rollout. Read in versions of v2.13 to v3
//! (`health.go` at 00e5285f), not at the commit that the scheduler follows; that an attempt which cannot connect
//! counts as Failed and not as Error, and that automatic sync repeats nothing, is by their log messages and not by a
//! run.
//!
//! - An application is compared when it was created, when its spec changed, when its operation ended or is tried again,
//!   when its cluster reports something new, and when it is refreshed ([`super::refresh`]). Comparisons share
//!   `--status-processors`.
//! - Synced: the cluster has applied what the source says. Healthy: all of it is ready. Degraded: a Deployment has
//!   exceeded its progress deadline. Progressing: not ready yet. Missing: nothing was ever applied. Pods that crash or
//!   cannot pull change none of this: health is that of the resources in the source, and pods are not among them.
//! - A requested operation waits for one of the `--operation-processors`; then it is Running, and begins. An attempt
//!   makes its API requests through the limited client of its process ([`super::shard`]), and applies. It keeps its
//!   processor until the cluster reports the revision as applied, which is Succeeded, whatever the pods do. An attempt
//!   that finds everything applied makes the same requests, and is over soon.
//! - An attempt on a cluster that is offline keeps its processor until the connection times out. Then the operation
//!   waits for the next attempt (5 s, 10 s, 20 s, … up to 3 min, or as the template's `retry.backoff` says), Running all
//!   the while and without a processor, and with its first `startedAt`. After the last attempt that the template's
//!   `retry.limit` allows (5 repeated ones without it) it is Failed. Nothing starts it again: not the cluster's return,
//!   and not automatic sync, which never repeats a finished operation of the same revision.
//! - An application that may sync by itself and is found OutOfSync begins an operation.
//! - Each write of an Application takes a request, and the ApplicationSet controller sees it a watch delay later. A
//!   comparison of a new spec asks for its manifests first, which is another request.
//!
//! What is known of an offline cluster stays as it was: the cache of a cluster is renewed every 12 h and used until
//! then (`controller/cache/cache.go`), and clusters count as gone for less. When one returns, its watch finds nothing
//! new. Left out therefore: ComparisonError and sync status Unknown of clusters that are gone for longer. Also left
//! out: several applications in one cluster; hooks and waves, which keep an operation Running between their phases; a
//! cluster lost in the middle of an attempt; requests of comparisons, which are counted with the syncs; the split of
//! comparisons into those that resolve the revision anew and those that do not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ArgoCdRelease;
use super::settings::ApplicationControllerSettings;
use super::shard::Shard;
use crate::engine::Stream;
use crate::products::{Happened, Run};
use crate::rollout::argo_cd::{
    Application, ApplicationSetView, AutoSync, Health, Operation, OperationPhase, OperationState, SyncStatus,
    queues_pass,
};
use crate::rollout::{Revision, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, DurationModel, NEW, OLD, Report};

/// What the application controller knows of a cluster and does with its application.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The process that the cluster is assigned to.
    shard: usize,
    applied: Option<Revision>,
    ready: bool,
    degraded: bool,
    /// A comparison is waited for, or runs.
    comparison_due: bool,
    /// What occupies a processor.
    attempt: Option<Attempt>,
    /// Attempts of the running operation that failed.
    failed: u32,
    /// What the last finished operation was to apply.
    attempted: Option<Revision>,
    /// The operation that is requested or running, and its state.
    operation: Option<Operation>,
    state: Option<OperationState>,
}

/// A write of the application controller into an Application's status.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// The state of an operation, and whether it is over.
    Operation(OperationState, bool),
    /// What a comparison has found, and the operation that the application begins by itself.
    Comparison { at: SimTime, sync: SyncStatus, health: Health, revision: Revision, begun: Option<Operation> },
}

/// An attempt of an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Attempt {
    /// Its requests are under way, or it waits to apply.
    Requesting,
    /// The cluster applies.
    Applying,
    /// There is nothing to apply.
    Idle,
    /// The cluster does not answer.
    Failing,
}

/// What the controller does at some time.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The object was created, or its spec was written.
    Written(usize),
    /// An operation is requested.
    Requested(usize),
    /// An operation is written as Running, and begins.
    Begins(usize),
    /// The ApplicationSet controller sees what was written.
    Shown(usize, Shown),
    /// It sees what it has written itself.
    SetSeen,
    /// The requests of an attempt are through.
    RequestsMade(usize),
    /// An attempt ends that is not ended by a report.
    AttemptEnds(usize),
    /// A failed operation is to be tried again.
    Again(usize),
    /// A comparison ends.
    Compared(usize),
    /// A comparison that nothing but time asks for.
    Refresh(usize),
}

/// The application controller with the applications of one set.
pub(super) struct ApplicationController {
    release: ArgoCdRelease,
    settings: ApplicationControllerSettings,
    places: Vec<Place>,
    shards: Vec<Shard>,
    /// Reports that were received and are not worked on yet.
    inbox: Vec<Report>,
    /// By time, and in the order of scheduling.
    agenda: BTreeMap<(SimTime, u64), Due>,
    scheduled: u64,
    /// One request to the API server, and the delay until the ApplicationSet controller sees a write.
    request: DurationModel,
    draws: Stream,
    watch_delay: SimDuration,
    /// When another sync status or health was last shown.
    shown_at: Option<SimTime>,
}

impl ApplicationController {
    /// A controller that has seen each cluster run what is given, ready, in the shard that is given.
    pub(super) fn new(
        release: ArgoCdRelease,
        settings: ApplicationControllerSettings,
        run: &Run<'_>,
        clusters: impl IntoIterator<Item = (usize, Option<Revision>)>,
    ) -> Self {
        let place = |(shard, applied): (usize, Option<Revision>)| Place {
            shard,
            applied,
            ready: applied.is_some(),
            ..Place::default()
        };
        Self {
            release,
            settings,
            places: clusters.into_iter().map(place).collect(),
            shards: vec![Shard::new(settings); settings.shards as usize],
            inbox: Vec::new(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            request: run.control_loop.request.clone(),
            draws: run.streams.stream("argocd-application-controller", "API requests"),
            watch_delay: run.control_loop.watch_delay,
            shown_at: None,
        }
    }

    /// Whether a release is another spec of the applications.
    pub(super) fn follows_specs(&self) -> bool {
        self.release == ArgoCdRelease::TargetRevision
    }

    /// When another sync status or health was last shown.
    pub(super) fn shown_at(&self) -> Option<SimTime> {
        self.shown_at
    }

    /// The ApplicationSet controller sees a write of its own that queues a pass.
    pub(super) fn set_seen(&mut self, at: SimTime) {
        self.schedule(at, Due::SetSeen);
    }

    /// When a request that is sent now is answered.
    fn answer(&mut self, now: SimTime) -> SimTime {
        now + self.request.sample(&mut self.draws)
    }

    pub(super) fn learn(&mut self, report: Report) {
        self.inbox.push(report);
    }

    /// What a cluster has applied, as far as the controller knows.
    pub(super) fn applied(&self, application: usize) -> Option<Revision> {
        self.places[application].applied
    }

    pub(super) fn sees_write(&mut self, at: SimTime, application: usize) {
        self.schedule(at, Due::Written(application));
    }

    pub(super) fn sees_request(&mut self, at: SimTime, application: usize) {
        self.schedule(at, Due::Requested(application));
    }

    pub(super) fn refresh(&mut self, at: SimTime, application: usize) {
        self.schedule(at, Due::Refresh(application));
    }

    pub(super) fn next_event(&self) -> Option<SimTime> {
        if self.inbox.is_empty() { self.agenda.keys().next().map(|&(at, _)| at) } else { Some(SimTime::ZERO) }
    }

    /// Whether all that is still to come are attempts without end on clusters that do not answer and never will.
    pub(super) fn is_hopeless(&self, is_lost: &dyn Fn(ClusterId) -> bool) -> bool {
        let is_endless = |application: usize| {
            self.places[application].failed > 0
                && self.places[application].operation.is_some_and(|operation| operation.retry_limit < 0)
                && is_lost(ClusterId(application as u32))
        };
        let is_hopeless = |due: &Due| match *due {
            Due::AttemptEnds(application) => {
                self.places[application].attempt == Some(Attempt::Failing) && is_endless(application)
            }
            Due::Again(application) => is_endless(application),
            _ => false,
        };
        self.inbox.is_empty()
            && self.agenda.values().all(is_hopeless)
            && self.shards.iter().flat_map(|shard| &shard.waiting).all(|&application| is_endless(application))
    }

    fn schedule(&mut self, at: SimTime, due: Due) {
        self.agenda.insert((at, self.scheduled), due);
        self.scheduled += 1;
    }

    /// Has an application compared as soon as a worker is free; requests before that are one.
    fn compare(&mut self, application: usize, now: SimTime) {
        if std::mem::replace(&mut self.places[application].comparison_due, true) {
            return;
        }
        let at = self.shard(application).compare(now);
        self.schedule(at, Due::Compared(application));
    }

    fn shard(&mut self, application: usize) -> &mut Shard {
        &mut self.shards[self.places[application].shard]
    }

    /// An operation waits for a processor.
    fn enqueue(&mut self, application: usize) {
        self.shard(application).waiting.push_back(application);
    }
}

/// A moment of the controller: what it works on, and what comes of it.
pub(super) struct Moment<'a> {
    pub(super) controller: &'a mut ApplicationController,
    pub(super) view: &'a mut ApplicationSetView,
    /// Applications that changed in the view.
    pub(super) changed: &'a mut TargetSet,
    pub(super) now: SimTime,
    /// What an application that syncs by itself requests.
    pub(super) automatic: Operation,
    /// Whether a cluster answers.
    pub(super) is_online: &'a dyn Fn(ClusterId) -> bool,
    pub(super) happened: Happened,
}

impl Moment<'_> {
    /// Everything that is due happens.
    pub(super) fn advance(mut self) -> Happened {
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
                Revision(self.live(application).spec.parameters)
            }
        }
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
        self.controller.compare(application, now);
        if is_applying && self.resolved(application) == report.applied {
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
        self.place(application).state = Some(state);
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
            let revision = self.resolved(application);
            self.happened.pushes.push((cluster, revision));
            let timeout = now + self.controller.settings.tcp_timeout;
            self.controller.schedule(timeout, Due::AttemptEnds(application));
        }
    }

    fn requests_made(&mut self, application: usize) {
        let revision = self.resolved(application);
        if self.place(application).applied == Some(revision) {
            self.place(application).attempt = Some(Attempt::Idle);
            let end = self.now + self.controller.settings.idle_sync;
            self.controller.schedule(end, Due::AttemptEnds(application));
        } else if self.controller.shard(application).apply(application) {
            self.applies(application);
        }
    }

    fn applies(&mut self, application: usize) {
        let revision = self.resolved(application);
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
        let (now, revision) = (self.now, self.resolved(application));
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
