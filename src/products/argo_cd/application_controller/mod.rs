//! Argo CD's application controller: comparisons, and operations with their attempts.
//!
//! After argoproj/argo-cd (`controller/{appcontroller,state,sync,health}.go`,
//! `gitops-engine/pkg/{health,sync,cache}`), as far as it matters to a rollout. Read in versions of v2.13 to v3
//! (`health.go` at 00e5285f), not at the commit that the scheduler follows; that an attempt which cannot connect
//! counts as Failed and not as Error, and that automatic sync repeats nothing, is by their log messages and not by a
//! run.
//!
//! - An application is compared when it was created, when its spec changed, when its operation ended or is tried again
//!   (read in v3.5.7, where the operation is queued after that comparison, here at the same time), when its cluster
//!   reports something new, and when it is refreshed ([`super::refresh`]). Comparisons share `--status-processors`.
//!   Each of them counts as a comparison with the newest revision; the product's own, after a change in the cluster,
//!   does not move `reconciledAt`.
//! - Synced: the cluster has applied what the source says. Healthy: all of it is ready. Degraded: a Deployment has
//!   exceeded its progress deadline. Progressing: not ready yet. Missing: nothing was ever applied. Pods that crash or
//!   cannot pull change none of this: health is that of the resources in the source, and pods are not among them.
//! - A requested operation waits for one of the `--operation-processors`; then it is Running, and begins. An attempt
//!   makes its API requests through the limited client of its process ([`super::shard`]), and applies. It keeps its
//!   processor until the cluster reports the revision as applied, which is Succeeded, whatever the pods do. An attempt
//!   that finds everything applied makes the same requests, and is over soon.
//! - An attempt on a cluster that is offline keeps its processor until the connection times out. Then the operation
//!   waits for the next attempt (10 s, 20 s, 40 s, … up to 3 min, or as the template's `retry.backoff` says), Running
//!   all the while and without a processor, and with its first `startedAt`. After the last attempt that the template's
//!   `retry.limit` allows (5 repeated ones without it) it is Failed. Nothing starts it again: not the cluster's return,
//!   and not automatic sync, which never repeats a finished operation of the same revision.
//! - An operation applies, in all its attempts, what the source resolved to when it began. A newer spec does not change
//!   it, and is for the next operation.
//! - An application that may sync by itself and is found OutOfSync begins an operation.
//! - Each write of an Application takes a request, and the ApplicationSet controller sees it a watch delay later. A
//!   comparison of a new spec asks for its manifests first, which is another request.
//!
//! The known state of an offline cluster stays as it was: the cache of a cluster is renewed every 12 h and used until
//! then (`controller/cache/cache.go`), and clusters count as gone for less. When one returns, its watch finds nothing
//! new. Left out therefore: ComparisonError and sync status Unknown of clusters that are gone for longer. Also left
//! out: several applications in one cluster; hooks and waves, which keep an operation Running between their phases; a
//! cluster lost in the middle of an attempt; requests of comparisons, which are counted with the syncs; the split of
//! comparisons into those that resolve the revision anew and those that do not; `selfHeal`, the time-out of a sync,
//! and `retry.refresh`, which lets a retry take the newest revision.

mod attempts;
mod windows;

use std::sync::Arc;

use super::refresh::{WebhookHandler, first_refresh};
use super::settings::ApplicationControllerSettings;
use super::shard::{Shard, shard_of};
use super::sync_windows::{RunWindows, StatusStart};
use super::{ArgoCdRelease, ArgoCdStrategy};
use crate::control_plane::{Agenda, ApiClient, Clusters, Plane, Runtime};
use crate::engine::Streams;
use crate::products::Run;
use crate::rollout::argo_cd::{
    Application, ApplicationView, AutoSync, Health, Operation, OperationPhase, OperationState,
    SyncStatus, queues_pass,
};
use crate::rollout::{Revision, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, OLD, Report};
use windows::WindowWait;

/// A step of the ApplicationSet controller beside its passes.
#[derive(Clone, Copy, Debug)]
pub(super) enum SetStep {
    /// It sees a write of its own that queues a pass.
    Seen,
    /// A write of a pass is answered: of the set, before `createOrUpdateInCluster`, or of an Application.
    Answered,
}

impl SetStep {
    /// What happens, in words for a count of such steps.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Seen => "writes of the set that its controller sees",
            Self::Answered => "answers to writes of the ApplicationSet controller",
        }
    }
}

/// The changes that the ApplicationSet controller makes to an Application with one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApplicationWrite {
    /// The revision that its spec names from then on, if the spec is written.
    pub(super) spec: Option<Revision>,
    /// The spec is written, or a comparison is asked for.
    pub(super) is_change: bool,
    /// An operation is requested.
    pub(super) is_request: bool,
}

/// The ApplicationSet controller's queue, and its view of the set.
pub(super) struct View {
    pub(super) queue: Runtime<(), SetStep>,
    pub(super) set: Vec<ApplicationView>,
    /// Applications that changed since its last pass.
    pub(super) changed: TargetSet,
}

/// The application controller's knowledge of a cluster, and its work on the application there.
#[derive(Clone, Copy, Debug, Default)]
struct TrackedApplication {
    /// The process that the cluster is assigned to.
    shard: usize,
    /// It has the annotation `skip-reconcile`: the controller sees nothing of it (`canProcessApp`).
    is_skipped: bool,
    applied: Option<Revision>,
    /// The revision that it had applied in the comparison that the ApplicationSet controller saw last.
    shown: Option<Revision>,
    ready: bool,
    degraded: bool,
    /// A comparison is waited for, or runs.
    comparison_due: bool,
    /// The attempt that occupies a processor.
    attempt: Option<Attempt>,
    /// Attempts of the running operation that failed.
    failed: u32,
    /// The revision that the last finished operation was to apply.
    attempted: Option<Revision>,
    /// The operation that is requested or running, and its state.
    operation: Option<Operation>,
    state: Option<OperationState>,
    /// The revision that the operation applies: that of the source when it began.
    applies: Option<Revision>,
    /// The revision of the spec, and another one that is written at some time.
    spec: Option<Revision>,
    rewritten: Option<(SimTime, Revision)>,
    /// The start of the operation in its status, when an operation was last looked at.
    status_start: StatusStart,
    /// It waits for a sync window.
    window_wait: Option<WindowWait>,
    /// A refresh in an open window is to come.
    refresh_due: bool,
}

impl TrackedApplication {
    /// The revision that the spec names.
    fn spec(&mut self, now: SimTime) -> Revision {
        if let Some((_, revision)) = self.rewritten.take_if(|(at, _)| *at <= now) {
            self.spec = Some(revision);
        }
        self.spec.expect("what is resolved has a spec")
    }

    fn sync_status(&self, wanted: Revision) -> SyncStatus {
        if self.applied == Some(wanted) {
            SyncStatus::Synced
        } else {
            SyncStatus::OutOfSync
        }
    }

    const fn health(&self) -> Health {
        match self.applied {
            None => Health::Missing,
            Some(_) if self.ready => Health::Healthy,
            Some(_) if self.degraded => Health::Degraded,
            Some(_) => Health::Progressing,
        }
    }
}

/// The applications that the controller knows before the release: each registered cluster runs what is installed.
fn tracked_before_release(strategy: &ArgoCdStrategy, run: &Run<'_>) -> Vec<TrackedApplication> {
    let settings = &strategy.application_controller;
    let world = run.fleet.world;
    let mut tracked = Vec::new();
    for (index, cluster) in world.clusters.iter().enumerate() {
        let applied = world.installed(index).filter(|_| cluster.registered);
        tracked.push(TrackedApplication {
            shard: shard_of(settings, &run.streams, index, &cluster.name),
            is_skipped: strategy.exceptions.is_skipped(index),
            applied,
            shown: applied,
            ready: applied.is_some(),
            // The parameters of the settled application.
            spec: applied.map(|_| OLD),
            status_start: match applied {
                Some(_) => StatusStart::BeforeRelease,
                None => StatusStart::Never,
            },
            ..TrackedApplication::default()
        });
    }
    tracked
}

/// A write of the application controller into an Application's status.
#[derive(Clone, Copy, Debug)]
enum StatusPatch {
    /// The state of an operation, and whether it is over.
    Operation(OperationState, bool),
    /// The result of a comparison, and the operation that the application begins by itself.
    Comparison {
        at: SimTime,
        sync: SyncStatus,
        health: Health,
        revision: Revision,
        applied: Option<Revision>,
        begun: Option<Operation>,
    },
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

/// A step of the controller with an application.
#[derive(Clone, Copy, Debug)]
enum ApplicationStep {
    /// The object was created, or its spec was written.
    Written,
    /// An operation is requested.
    Requested,
    /// An operation is written as Running, and begins.
    Begins,
    /// The ApplicationSet controller sees a write into an Application.
    Seen(StatusPatch),
    /// The requests of an attempt are through.
    RequestsMade,
    /// An attempt ends that is not ended by a report.
    AttemptEnds,
    /// A failed operation is to be tried again.
    Again,
    /// A comparison ends.
    Compared,
    /// A comparison that nothing but time asks for.
    Refresh,
    /// One in an open sync window.
    WindowRefresh,
    /// A sync window lets a blocked operation go on.
    Unblocked,
}

impl ApplicationStep {
    /// What happens, in words for a count of such steps.
    const fn kind(self) -> &'static str {
        match self {
            Self::Written => "writes of an Application that the application controller sees",
            Self::Requested => "requests of an operation",
            Self::Begins => "begins of an operation",
            Self::Seen(_) => "statuses of an Application that the ApplicationSet controller sees",
            Self::RequestsMade | Self::AttemptEnds => "attempts of an operation",
            Self::Again => "retries of an operation",
            Self::Compared => "comparisons",
            Self::Refresh | Self::WindowRefresh => "refreshes",
            Self::Unblocked => "operations that a sync window lets go on",
        }
    }
}

/// The application controller with the applications of one set.
pub(super) struct ApplicationController {
    pub(super) release: ArgoCdRelease,
    settings: ApplicationControllerSettings,
    /// The operation that an application requests which syncs by itself.
    automatic: Operation,
    applications: Vec<TrackedApplication>,
    /// The entries of the fleet.
    names: Vec<String>,
    windows: RunWindows,
    streams: Streams,
    shards: Vec<Shard>,
    agenda: Agenda<(usize, ApplicationStep)>,
    client: ApiClient,
    watch_delay: SimDuration,
    /// First refreshes after the release, of a commit that nothing else announces.
    refreshes: Vec<(SimTime, usize)>,
    /// Announces a commit to applications before that. `None`: there is no webhook.
    webhook: Option<WebhookHandler>,
    /// When another sync status or health was last seen.
    pub(super) shown_at: Option<SimTime>,
}

impl ApplicationController {
    /// A controller that has seen each cluster that it knows run what is installed, ready.
    pub(super) fn new(strategy: &ArgoCdStrategy, automatic: Operation, run: &Run<'_>) -> Self {
        let ArgoCdStrategy {
            release,
            application_controller: settings,
            ..
        } = *strategy;
        let applications = tracked_before_release(strategy, run);
        let mut refreshes = Vec::new();
        if release == ArgoCdRelease::Commit {
            for (index, cluster) in run.fleet.world.clusters.iter().enumerate() {
                if applications[index].applied.is_some() && !applications[index].is_skipped {
                    let at = first_refresh(&settings, &run.streams, &cluster.name);
                    refreshes.push((at, index));
                }
            }
        }
        let windows = match &strategy.sync_windows {
            Some(windows) => RunWindows::new(windows, run.horizon),
            None => RunWindows::default(),
        };
        let mut names = Vec::new();
        if strategy.sync_windows.is_some() {
            for cluster in &run.fleet.world.clusters {
                names.push(cluster.name.clone());
            }
        }
        let webhook = strategy.has_webhook.then(|| WebhookHandler::new(run));
        Self {
            release,
            settings,
            automatic,
            refreshes,
            webhook,
            applications,
            names,
            windows,
            streams: run.streams,
            shards: vec![Shard::new(settings, &run.streams); settings.shards as usize],
            agenda: Agenda::of_controller(1),
            client: ApiClient::without_limit(
                run.control_loop,
                &run.streams,
                "application controller",
            ),
            watch_delay: run.control_loop.watch_delay,
            shown_at: None,
        }
    }

    /// The release begins: the first refreshes are scheduled.
    pub(super) fn start(&mut self, plane: &mut Plane<'_>) {
        for (periodic, application) in std::mem::take(&mut self.refreshes) {
            let at = match &mut self.webhook {
                Some(webhook) => webhook.refresh(plane.now()),
                None => periodic,
            };
            self.agenda
                .add(at, (application, ApplicationStep::Refresh), plane);
        }
    }

    /// The object of an application is deleted, and its cluster keeps what it has. Its steps come to nothing.
    pub(super) fn deleted(&mut self, application: usize, plane: &mut Plane<'_>) {
        let tracked = &mut self.applications[application];
        tracked.operation = None;
        tracked.state = None;
        tracked.attempted = None;
        tracked.failed = 0;
        tracked.comparison_due = false;
        tracked.status_start = StatusStart::Never;
        tracked.window_wait = None;
        tracked.refresh_due = false;
        let attempt = tracked.attempt.take();
        self.agenda.cancel_if(|(of, _)| *of == application, plane);
        let operations = &mut self.shard(application).operations;
        operations.waiting.retain(|waiting| *waiting != application);
        operations.taken -= u32::from(attempt.is_some());
    }

    /// The revision that a cluster has applied, as far as the ApplicationSet controller has seen.
    pub(super) fn shown(&self, application: usize) -> Option<Revision> {
        self.applications[application].shown
    }

    /// The ApplicationSet controller writes an application, answered at `at`.
    pub(super) fn written(
        &mut self,
        application: usize,
        at: SimTime,
        write: ApplicationWrite,
        plane: &mut Plane<'_>,
    ) {
        let seen = at + self.watch_delay;
        if let Some(revision) = write.spec {
            let tracked = &mut self.applications[application];
            // A pass before this one has its answers.
            let before = tracked.rewritten.replace((at, revision));
            tracked.spec = before.map(|(_, revision)| revision).or(tracked.spec);
        }
        if self.applications[application].is_skipped {
            return;
        }
        if write.is_change {
            self.agenda
                .add(seen, (application, ApplicationStep::Written), plane);
        }
        if write.is_request {
            self.agenda
                .add(seen, (application, ApplicationStep::Requested), plane);
        }
    }

    /// Whether all that is still to come are attempts without end on clusters that do not answer and never will.
    pub(super) fn is_hopeless(&self, clusters: &dyn Clusters) -> bool {
        for &(application, step) in self.agenda.iter() {
            let is_attempt = match step {
                ApplicationStep::AttemptEnds => {
                    self.applications[application].attempt == Some(Attempt::Failing)
                }
                ApplicationStep::Again => true,
                _ => false,
            };
            if !is_attempt || !self.fails_without_end(application, clusters) {
                return false;
            }
        }
        let mut waiting = self
            .shards
            .iter()
            .flat_map(|shard| &shard.operations.waiting);
        waiting.all(|&application| self.fails_without_end(application, clusters))
    }

    /// Whether the operation of an application has failed, is repeated without a limit, and its cluster never answers.
    fn fails_without_end(&self, application: usize, clusters: &dyn Clusters) -> bool {
        let tracked = &self.applications[application];
        let cluster = ClusterId(application as u32);
        tracked.failed > 0
            && tracked
                .operation
                .is_some_and(|operation| operation.retry_limit < 0)
            && !clusters.is_online(cluster)
            && !clusters.is_repair_due(cluster)
    }

    /// The purpose of a pending timer, in words. `None`: it is not of this controller.
    pub(super) fn timer_kind(&self, number: u32) -> Option<&'static str> {
        let (_, step) = self.agenda.peek(number)?;
        Some(step.kind())
    }

    /// Has an application compared as soon as a worker is free; requests before that are one.
    fn compare(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        if !std::mem::replace(&mut self.applications[application].comparison_due, true) {
            let at = self.shard(application).compare(now);
            self.agenda
                .add(at, (application, ApplicationStep::Compared), plane);
        }
    }

    fn shard(&mut self, application: usize) -> &mut Shard {
        &mut self.shards[self.applications[application].shard]
    }

    /// A cluster reports something new.
    pub(super) fn report(
        &mut self,
        report: Report,
        now: SimTime,
        view: &mut View,
        plane: &mut Plane<'_>,
    ) {
        let application = report.cluster.index();
        let tracked = &mut self.applications[application];
        tracked.applied = Some(report.applied);
        tracked.ready = report.ready;
        tracked.degraded = report.degraded;
        let ends =
            tracked.attempt == Some(Attempt::Applying) && tracked.applies == Some(report.applied);
        if view.set[application].live.is_none() || tracked.is_skipped {
            return;
        }
        self.compare(application, now, plane);
        if ends {
            self.attempt_ends(application, now, plane);
        }
    }

    /// Free processors take the operations that wait.
    pub(super) fn begin_attempts(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        for shard in 0..self.shards.len() {
            while let Some(application) = self.shards[shard].operations.next() {
                let tracked = &self.applications[application];
                let is_blocked = tracked.window_wait == Some(WindowWait::Operation);
                if tracked.failed > 0 || is_blocked {
                    self.attempt(application, now, plane);
                } else {
                    let at = self.client.send(0, now).answered;
                    self.agenda
                        .add(at, (application, ApplicationStep::Begins), plane);
                }
            }
        }
    }

    /// A timer goes off, if it is one of this controller.
    pub(super) fn due(
        &mut self,
        number: u32,
        now: SimTime,
        view: &mut View,
        plane: &mut Plane<'_>,
    ) {
        let Some((application, step)) = self.agenda.take(number) else {
            return;
        };
        match step {
            // Manifests of another revision are asked for first.
            ApplicationStep::Written => {
                let at = self.client.send(0, now).answered;
                self.agenda
                    .add(at, (application, ApplicationStep::Refresh), plane);
            }
            ApplicationStep::Refresh => self.compare(application, now, plane),
            ApplicationStep::WindowRefresh => {
                self.applications[application].refresh_due = false;
                self.compare(application, now, plane);
            }
            ApplicationStep::Unblocked => {
                let operations = &mut self.shard(application).operations;
                operations.waiting.push_back(application);
            }
            // Sees a request for an operation, unless one runs.
            ApplicationStep::Requested if self.applications[application].operation.is_none() => {
                self.wait(application, live(view, application).operation);
            }
            ApplicationStep::Requested => {}
            ApplicationStep::Begins => self.begins(application, now, plane),
            ApplicationStep::Seen(patch) => self.seen(application, patch, view, plane),
            ApplicationStep::RequestsMade => self.requests_made(application, now, plane),
            ApplicationStep::AttemptEnds => self.attempt_ends(application, now, plane),
            ApplicationStep::Again => {
                self.compare(application, now, plane);
                self.shard(application)
                    .operations
                    .waiting
                    .push_back(application);
            }
            ApplicationStep::Compared => {
                let is_automatic = live(view, application).spec.auto_sync == AutoSync::Enabled;
                self.compared(application, now, is_automatic, plane);
            }
        }
    }

    /// The revision that the source of an application resolves to now.
    fn resolved(&mut self, application: usize, now: SimTime) -> Revision {
        if self.release == ArgoCdRelease::Commit {
            NEW
        } else {
            self.applications[application].spec(now)
        }
    }

    /// The revision that the running operation of an application applies.
    fn applies(&self, application: usize) -> Revision {
        self.applications[application]
            .applies
            .expect("an operation that runs has begun")
    }

    /// An operation, if there is one, waits for a processor.
    fn wait(&mut self, application: usize, operation: Option<Operation>) {
        if operation.is_some() {
            self.applications[application].operation = operation;
            self.shard(application)
                .operations
                .waiting
                .push_back(application);
        }
    }

    fn begins(&mut self, application: usize, now: SimTime, plane: &mut Plane<'_>) {
        let state = OperationState {
            phase: OperationPhase::Running,
            started_at: now,
        };
        let revision = self.resolved(application, now);
        let tracked = &mut self.applications[application];
        tracked.state = Some(state);
        tracked.applies = Some(revision);
        self.patch(
            application,
            StatusPatch::Operation(state, false),
            now,
            plane,
        );
        self.attempt(application, now, plane);
    }

    /// Writes into an Application, which the ApplicationSet controller sees later.
    fn patch(
        &mut self,
        application: usize,
        patch: StatusPatch,
        now: SimTime,
        plane: &mut Plane<'_>,
    ) {
        self.agenda.add(
            now + self.watch_delay,
            (application, ApplicationStep::Seen(patch)),
            plane,
        );
    }

    /// The ApplicationSet controller sees a write into an Application, which may queue a pass.
    fn seen(
        &mut self,
        application: usize,
        patch: StatusPatch,
        view: &mut View,
        plane: &mut Plane<'_>,
    ) {
        let live = live(view, application);
        let before = live.clone();
        self.show(application, patch, live);
        if before.sync != live.sync || before.health != live.health {
            self.shown_at = Some(plane.now());
        }
        if queues_pass(Some(&before), Some(live)) {
            view.queue.add(());
        }
        view.changed.insert(application as u32);
        plane.changed(ClusterId(application as u32));
    }

    /// The ApplicationSet controller's cache of an Application shows a write.
    fn show(&mut self, application: usize, patch: StatusPatch, live: &mut Application) {
        match patch {
            StatusPatch::Operation(state, is_over) => {
                live.operation_state = Some(state);
                live.operation = live.operation.filter(|_| !is_over);
            }
            StatusPatch::Comparison {
                at,
                sync,
                health,
                revision,
                applied,
                begun,
            } => {
                self.applications[application].shown = applied;
                live.reconciled_at = Some(at);
                live.refresh = false;
                let is_revision_kept = self.release == ArgoCdRelease::Parameters;
                live.revisions = Arc::new([if is_revision_kept { OLD } else { revision }]);
                live.sync = sync;
                live.health = health;
                live.operation = begun.or(live.operation);
            }
        }
    }

    /// A comparison ends. `is_automatic`: the application may sync by itself.
    fn compared(
        &mut self,
        application: usize,
        at: SimTime,
        is_automatic: bool,
        plane: &mut Plane<'_>,
    ) {
        let revision = self.resolved(application, at);
        let tracked = &mut self.applications[application];
        tracked.comparison_due = false;
        let sync = tracked.sync_status(revision);
        let health = tracked.health();
        let is_due = sync == SyncStatus::OutOfSync && tracked.attempted != Some(revision);
        let applied = tracked.applied;
        let wants = is_automatic && is_due && tracked.operation.is_none();
        let begins = wants && self.may_begin(application, at, plane);
        let begun = begins.then_some(self.automatic);
        self.wait(application, begun);
        self.patch(
            application,
            StatusPatch::Comparison {
                at,
                sync,
                health,
                revision,
                applied,
                begun,
            },
            at,
            plane,
        );
    }
}

fn live(view: &mut View, application: usize) -> &mut Application {
    view.set[application]
        .live
        .as_mut()
        .expect("what the application controller sees exists")
}
