//! Argo CD's application controller: comparisons, and operations with their attempts.
//!
//! Follows argoproj/argo-cd (`controller/{appcontroller,state,sync,health}.go`,
//! `gitops-engine/pkg/{health,sync,cache}`) where it affects a rollout. Read in versions v2.13 to v3 (`health.go` at
//! 00e5285f), not at the commit that the scheduler follows. Two rules come from log messages, not from a test run: an
//! attempt that cannot connect counts as Failed, not as Error, and automatic sync never retries.
//!
//! - An application is compared when it is created, when its spec changes, when its operation ends or is retried, when
//!   its cluster reports a change, and when it is refreshed ([`super::refresh`]). (In v3.5.7 a retried operation is
//!   queued after its comparison; here both happen at the same time.) Comparisons share `--status-processors`. Each
//!   comparison counts as one with the newest revision; in the product, a comparison after a change in the cluster
//!   does not move `reconciledAt`.
//! - Synced: the cluster has applied the source. Healthy: all resources are ready. Degraded: a Deployment has exceeded
//!   its progress deadline. Progressing: not ready yet. Missing: nothing was ever applied. Pods that crash or cannot
//!   pull do not change this: health covers the resources in the source, and pods are not among them.
//! - A requested operation waits for one of the `--operation-processors`; then it starts and is Running. An attempt
//!   makes its API requests through the rate-limited client of its process ([`super::shard`]), and applies. The
//!   attempt keeps its processor until the cluster reports the revision as applied. The operation has then Succeeded,
//!   whatever the state of the pods. An attempt that finds everything applied makes the same requests and ends soon
//!   after.
//! - An attempt on an offline cluster keeps its processor until the connection times out. Then the operation waits for
//!   the next attempt (10 s, 20 s, 40 s, … up to 3 min, or as the template's `retry.backoff` says). Meanwhile it is
//!   Running, occupies no processor, and keeps its first `startedAt`. After the last attempt that the template's
//!   `retry.limit` allows (by default 5 retries) it is Failed. Nothing starts it again: neither the cluster's return
//!   nor automatic sync, which never repeats a finished operation of the same revision.
//! - All attempts of an operation apply the revision that the source resolved to when the operation began. A newer
//!   spec does not change it; the next operation applies that.
//! - An application with automatic sync begins an operation when it is found OutOfSync.
//! - Each write of an Application takes one request, and the ApplicationSet controller sees it a watch delay later. A
//!   comparison of a new spec first asks for its manifests, which is another request.
//!
//! The known state of an offline cluster stays as it was: the cache of a cluster is renewed every 12 h and used until
//! then (`controller/cache/cache.go`), and clusters count as gone for less. When one returns, its watch finds nothing
//! new. Left out therefore: ComparisonError and sync status Unknown of clusters that are gone for longer. Also left
//! out: several applications in one cluster; hooks and waves, which keep an operation Running between their phases; a
//! cluster lost in the middle of an attempt; requests of comparisons, which are counted with the syncs; the split of
//! comparisons into those that resolve the revision again and those that do not; `selfHeal`, and `retry.refresh`,
//! which lets a retry take the newest revision.
//!
//! `failed_syncs` has syncs that fail in a cluster that responds, and the time-out of a sync.

mod attempts;
mod commits;
mod deletion;
mod failed_syncs;
mod windows;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::hub_cpu::HubCpu;
use super::refresh::WebhookHandler;
use super::settings::ApplicationControllerSettings;
use super::shard::{Destinations, Shard};
use super::sync_windows::{RunWindows, StatusStart};
use super::{ArgoCdRelease, ArgoCdStrategy};
use crate::control_plane::{Agenda, ApiClient, Plane, Runtime};
use crate::engine::Streams;
use crate::products::Run;
use crate::rollout::argo_cd::{
    Application, ApplicationView, AutoSync, Health, Operation, OperationMessage, OperationPhase,
    OperationState, SyncStatus, queues_pass,
};
use crate::rollout::{Revision, TargetId, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{ApplicationId, NEW, NOTHING, OLD, Report};
use commits::SourceRevision;
use deletion::FinalizerState;
use windows::WindowWait;

/// A step of the ApplicationSet controller other than the start of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum SetStep {
    /// The controller sees its own write, which queues a pass.
    Seen,
    /// The garbage collector has deleted an Application of a set that is gone.
    Collected(TargetId),
    /// A write of a pass is answered: a write of the set before `createOrUpdateInCluster`, or a write of an
    /// Application.
    Answered,
    /// A pass begins, after all events of the same instant.
    Begins,
    /// The next try of an update of the set is due.
    Try,
    /// The last try of an update of the set is answered.
    Updated {
        /// Whether the API server has accepted the update.
        is_written: bool,
    },
}

impl SetStep {
    /// Returns the name of this kind of step, for counts.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Seen => "writes to the ApplicationSet that its controller sees",
            Self::Collected(_) => "deletions by the garbage collector",
            Self::Begins => "starts of a pass with several ApplicationSets",
            Self::Try => "tries of updates by the ApplicationSet controller",
            Self::Answered | Self::Updated { .. } => {
                "responses to writes by the ApplicationSet controller"
            }
        }
    }
}

/// The changes that the ApplicationSet controller makes to an Application in one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApplicationWrite {
    /// The revision in the new spec, if the spec is written.
    pub(super) spec: Option<Revision>,
    /// Whether the write changes the spec or requests a comparison.
    pub(super) is_change: bool,
    /// Whether the write requests an operation.
    pub(super) is_request: bool,
}

/// The ApplicationSet controller's queue and its view of the set.
pub(super) struct View {
    pub(super) queue: Runtime<(), SetStep>,
    pub(super) set: Vec<ApplicationView>,
    /// Applications that changed after the last pass.
    pub(super) changed: TargetSet,
}

/// The application controller's state of one cluster's application.
#[derive(Clone, Copy, Debug, Default)]
struct TrackedApplication {
    /// The process that handles the cluster.
    shard: usize,
    /// Whether the application has the annotation `skip-reconcile`, which makes the controller ignore it
    /// (`canProcessApp`).
    is_skipped: bool,
    applied: Option<Revision>,
    /// The revision in the newest comparison that the ApplicationSet controller has seen.
    shown: Option<Revision>,
    ready: bool,
    degraded: bool,
    /// Whether a comparison is pending or running.
    comparison_due: bool,
    /// The attempt that occupies a processor, if any.
    attempt: Option<Attempt>,
    /// The number of failed attempts of the running operation.
    failed: u32,
    /// The reason why the last attempt failed, if its cluster responded, or why the operation was ended.
    failure: Option<&'static str>,
    /// The commit of the last finished operation.
    attempted: Option<Revision>,
    /// The operation that is requested or running, and its state.
    operation: Option<Operation>,
    state: Option<OperationState>,
    /// The revision that the operation applies: the one that the source resolved to when the operation began.
    applies: Option<SourceRevision>,
    /// The current revision of the spec, and the next revision with the time at which it takes effect.
    spec: Option<Revision>,
    rewritten: Option<(SimTime, Revision)>,
    /// The start of the operation in its status, at the last check of an operation.
    status_start: StatusStart,
    /// The application waits for a sync window.
    window_wait: Option<WindowWait>,
    /// A refresh in an open window is scheduled.
    refresh_due: bool,
    /// How far its deletion is.
    deletion: FinalizerState,
}

impl TrackedApplication {
    /// Returns the revision that the spec names.
    fn spec(&mut self, now: SimTime) -> Revision {
        if let Some((_, revision)) = self.rewritten.take_if(|(at, _)| *at <= now) {
            self.spec = Some(revision);
        }
        self.spec.expect("a resolved application has a spec")
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

/// Returns the applications as the controller knows them before the release: each registered cluster runs the
/// installed revision.
fn tracked_before_release(strategy: &ArgoCdStrategy, run: &Run<'_>) -> Vec<TrackedApplication> {
    let settings = &strategy.application_controller;
    let world = run.fleet.world;
    let destinations = Destinations::of_hub(&run.hub, run.streams);
    let mut tracked = Vec::new();
    for (index, cluster) in world.clusters.iter().enumerate() {
        let applied = world.installed(0, index).filter(|_| cluster.registered);
        tracked.push(TrackedApplication {
            shard: destinations.borrow_mut().shard(settings, &cluster.name),
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

/// A write of the application controller to an Application's status.
#[derive(Clone, Copy, Debug)]
enum StatusPatch {
    /// The state of an operation, its message, and whether it is over.
    Operation(OperationState, Option<OperationMessage>, bool),
    /// The result of a comparison, and the operation that automatic sync begins.
    Comparison {
        at: SimTime,
        sync: SyncStatus,
        health: Health,
        revision: Revision,
        applied: Option<Revision>,
        begun: Option<Operation>,
    },
}

/// The state of one attempt to carry out an operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Attempt {
    /// The requests are in progress, or the attempt waits to apply.
    Requesting,
    /// The cluster is applying.
    Applying,
    /// A hook is running and will fail. It does not occupy a processor.
    Hook,
    /// There is nothing to apply.
    Idle,
    /// The cluster is unreachable.
    Failing,
}

/// Stands for all applications in a step that is not of one of them.
const OF_ALL: usize = usize::MAX;

/// A step of the controller for one application.
#[derive(Clone, Copy, Debug)]
enum ApplicationStep {
    /// The application's object was created, or its spec was written.
    Written,
    /// An operation is requested.
    Requested,
    /// An operation starts and is marked as Running.
    Begins,
    /// The ApplicationSet controller sees a write to an Application.
    Seen(StatusPatch),
    /// The API server has answered the requests of an attempt.
    RequestsMade,
    /// The cores that the shards share have computed some attempts. Of all applications.
    Computed,
    /// An attempt ends without a report from the cluster.
    AttemptEnds,
    /// A failed operation is due for a retry.
    Again,
    /// The operation that began at this time reaches its time-out.
    TimesOut(SimTime),
    /// A comparison ends.
    Compared,
    /// A periodic refresh asks for a comparison.
    Refresh,
    /// A refresh in an open sync window.
    WindowRefresh,
    /// A sync window opens, and a blocked operation continues.
    Unblocked,
    /// The controller works on the deletion of the application.
    Finalizes,
    /// The ApplicationSet controller sees that the object is gone.
    Gone,
}

impl ApplicationStep {
    /// Returns the name of this kind of step, for counts.
    const fn kind(self) -> &'static str {
        match self {
            Self::Written => "writes to an Application that the application controller sees",
            Self::Requested => "requests of an operation",
            Self::Begins => "begins of an operation",
            Self::Seen(_) => "statuses of an Application that the ApplicationSet controller sees",
            Self::RequestsMade | Self::Computed | Self::AttemptEnds => "attempts of an operation",
            Self::Again => "retries of an operation",
            Self::TimesOut(_) => "time-outs of an operation",
            Self::Compared => "comparisons",
            Self::Refresh | Self::WindowRefresh => "refreshes",
            Self::Finalizes | Self::Gone => "deletions of an Application",
            Self::Unblocked => "operations that continue when a sync window opens",
        }
    }
}

/// The application controller and the applications of one set. All sets share its processes.
pub(super) struct ApplicationController {
    pub(super) release: ArgoCdRelease,
    /// The newest commit, in a release by commit.
    pub(super) head: SourceRevision,
    settings: ApplicationControllerSettings,
    /// The operation to request for automatic sync.
    automatic: Operation,
    applications: Vec<TrackedApplication>,
    /// The entries of the fleet.
    names: Vec<String>,
    windows: RunWindows,
    streams: Streams,
    /// The set of the applications, as the application of the run that it is.
    set: ApplicationId,
    shards: Vec<Shard>,
    /// The cores that the shards share. `None`: they are no limit.
    cores: Option<Rc<RefCell<HubCpu>>>,
    /// The timer of the next computation that ends on the shared cores, if it is one of this set.
    hub_timer: Option<u32>,
    agenda: Agenda<(usize, ApplicationStep)>,
    client: ApiClient,
    watch_delay: SimDuration,
    /// Announces a commit to applications before their periodic refreshes. `None`: there is no webhook.
    webhook: Option<WebhookHandler>,
    /// Applications of which an operation has failed in a cluster that answers, was ended, or was blocked by a sync
    /// window.
    with_messages: BTreeSet<usize>,
    /// The last time at which a changed sync status or health was seen.
    pub(super) shown_at: Option<SimTime>,
}

impl ApplicationController {
    /// Creates the controller in its state before the rollout: every known cluster is ready on the installed revision.
    pub(super) fn new(strategy: &ArgoCdStrategy, automatic: Operation, run: &Run<'_>) -> Self {
        let ArgoCdStrategy {
            release,
            application_controller: settings,
            ..
        } = *strategy;
        let applications = tracked_before_release(strategy, run);
        let windows = match &strategy.sync_windows {
            Some(windows) => RunWindows::new(windows, run.horizon),
            None => RunWindows::default(),
        };
        let mut names = Vec::new();
        if strategy.sync_windows.is_some() || release == ArgoCdRelease::Commit {
            for cluster in &run.fleet.world.clusters {
                names.push(cluster.name.clone());
            }
        }
        let mut shards = Vec::new();
        for number in 0..settings.shards {
            shards.push(Shard::new(number, settings, &run.streams, &run.hub));
        }
        let cores = HubCpu::new(&settings)
            .map(|cores| run.hub.working_part("shared cores", settings, cores));
        let webhook = strategy.has_webhook.then(|| WebhookHandler::new(run));
        Self {
            release,
            head: SourceRevision::of(NEW),
            settings,
            automatic,
            webhook,
            applications,
            names,
            windows,
            streams: run.streams,
            set: run.hub.application(),
            shards,
            cores,
            hub_timer: None,
            agenda: Agenda::of_controller(1),
            client: ApiClient::without_limit(
                run.control_loop,
                &run.streams,
                "application controller",
            ),
            watch_delay: run.control_loop.watch_delay,
            with_messages: BTreeSet::new(),
            shown_at: None,
        }
    }

    /// Starts the release. A commit is found at the first refreshes after it, because nothing else announces it.
    pub(super) fn start(&mut self, set: &[ApplicationView], plane: &mut Plane<'_>) {
        if self.release == ArgoCdRelease::Commit {
            self.await_refreshes(set, plane);
        }
    }

    /// Handles the deletion of an application's object. The cluster keeps its resources, and pending steps of the
    /// application have no effect.
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
        operations.forget(application);
        if attempt.is_some_and(|attempt| attempt != Attempt::Hook) {
            operations.release();
        }
        let shard = self.applications[application].shard;
        let gone = self.synced(application);
        if let Some(cores) = &self.cores {
            cores.borrow_mut().forget(shard, gone, plane.now());
            self.schedule_hub(plane);
        }
    }

    /// Returns the revision that a cluster has applied, as the ApplicationSet controller sees it.
    pub(super) fn shown(&self, application: usize) -> Option<Revision> {
        self.applications[application].shown
    }

    /// Handles a write of an application by the ApplicationSet controller; the API server answers at `at`.
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
            // The writes of an earlier pass have been answered by now.
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

    /// Returns the purpose of a pending timer. `None`: the timer belongs to another controller.
    pub(super) fn timer_kind(&self, number: u32) -> Option<&'static str> {
        let (_, step) = self.agenda.peek(number)?;
        Some(step.kind())
    }

    /// Queues a comparison of an application for the next free worker. Requests while one is queued are merged.
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

    /// Handles a report of a cluster.
    pub(super) fn report(
        &mut self,
        report: Report,
        now: SimTime,
        view: &mut View,
        plane: &mut Plane<'_>,
    ) {
        let application = report.target.index();
        let tracked = &mut self.applications[application];
        let was = (tracked.ready, tracked.degraded);
        tracked.applied = (report.applied != NOTHING).then_some(report.applied);
        tracked.ready = report.ready;
        tracked.degraded = report.degraded;
        let applies = tracked.applies.map(|applies| applies.manifests);
        let ends = tracked.attempt == Some(Attempt::Applying) && applies == Some(report.applied);
        let is_same = was == (report.ready, report.degraded);
        if view.set[application].live.is_none() || tracked.is_skipped {
            return;
        }
        if let Some(failure) = report.failure {
            self.sync_fails(application, failure.kind, now, plane);
            if is_same {
                return;
            }
        }
        self.compare(application, now, plane);
        self.note_removal(application, now, plane);
        if ends {
            self.attempt_ends(application, now, plane);
        }
    }

    /// Assigns waiting operations to free processors.
    pub(super) fn begin_attempts(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        for shard in 0..self.shards.len() {
            while let Some(application) = self.shards[shard].operations.next(plane) {
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

    /// Handles a timer of this controller.
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
            // A changed revision requires a request for its manifests first.
            ApplicationStep::Written => {
                let at = self.client.send(0, now).answered;
                self.agenda
                    .add(at, (application, ApplicationStep::Refresh), plane);
            }
            ApplicationStep::Refresh => self.compare(application, now, plane),
            ApplicationStep::Finalizes => self.finalize(application, now, plane),
            ApplicationStep::Gone => {
                view.set[application].live = None;
                view.changed.insert(application as u32);
                view.queue.add(());
                plane.changed(TargetId(application as u32));
                plane.shows();
                self.deleted(application, plane);
            }
            ApplicationStep::WindowRefresh => {
                self.applications[application].refresh_due = false;
                self.compare(application, now, plane);
            }
            ApplicationStep::Unblocked => {
                self.shard(application).operations.wait(application);
            }
            // A request for an operation is ignored while an operation runs.
            ApplicationStep::Requested if self.applications[application].operation.is_none() => {
                self.wait(application, live(view, application).operation);
            }
            ApplicationStep::Requested => {}
            ApplicationStep::Begins => self.begins(application, now, plane),
            ApplicationStep::Seen(patch) => self.seen(application, patch, view, plane),
            ApplicationStep::RequestsMade => self.requests_made(application, now, plane),
            ApplicationStep::Computed => self.computed(now, plane),
            ApplicationStep::AttemptEnds => self.attempt_ends(application, now, plane),
            ApplicationStep::TimesOut(begun) => self.times_out(application, begun, now, plane),
            ApplicationStep::Again => {
                self.compare(application, now, plane);
                self.shard(application).operations.wait(application);
            }
            ApplicationStep::Compared => {
                let is_automatic = live(view, application).spec.auto_sync == AutoSync::Enabled;
                self.compared(application, now, is_automatic, plane);
            }
        }
    }

    /// Returns the revision that the source of an application resolves to now.
    fn resolved(&mut self, application: usize, now: SimTime) -> SourceRevision {
        if self.release == ArgoCdRelease::Commit {
            self.head
        } else {
            SourceRevision::of(self.applications[application].spec(now))
        }
    }

    /// Returns the revision that the running operation of an application applies.
    fn applies(&self, application: usize) -> SourceRevision {
        self.applications[application]
            .applies
            .expect("an operation that runs has begun")
    }

    /// Queues an application's operation, if there is one, for a processor.
    fn wait(&mut self, application: usize, operation: Option<Operation>) {
        if operation.is_some() {
            self.applications[application].operation = operation;
            self.shard(application).operations.wait(application);
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
        tracked.failure = None;
        self.schedule_time_out(application, now, plane);
        self.patch(
            application,
            StatusPatch::Operation(state, None, false),
            now,
            plane,
        );
        self.attempt(application, now, plane);
    }

    /// Writes to an Application; the ApplicationSet controller sees the write later.
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

    /// Handles the arrival of a write to an Application at the ApplicationSet controller, which may queue a pass.
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
        if before.operation_message != live.operation_message {
            plane.shows();
        }
        if before.sync != live.sync || before.health != live.health {
            self.shown_at = Some(plane.now());
        }
        if queues_pass(Some(&before), Some(live)) {
            view.queue.add(());
        }
        view.changed.insert(application as u32);
        plane.changed(TargetId(application as u32));
    }

    /// Applies a write to the ApplicationSet controller's cached Application.
    fn show(&mut self, application: usize, patch: StatusPatch, live: &mut Application) {
        match patch {
            StatusPatch::Operation(state, message, is_over) => {
                live.operation_state = Some(state);
                live.operation_message = message;
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

    /// Handles the end of a comparison. `is_automatic`: the application has automatic sync.
    fn compared(
        &mut self,
        application: usize,
        at: SimTime,
        is_automatic: bool,
        plane: &mut Plane<'_>,
    ) {
        let source = self.resolved(application, at);
        let tracked = &mut self.applications[application];
        tracked.comparison_due = false;
        let sync = tracked.sync_status(source.manifests);
        let health = tracked.health();
        let is_due = sync == SyncStatus::OutOfSync && tracked.attempted != Some(source.commit);
        let applied = tracked.applied;
        let stays = tracked.deletion == FinalizerState::No;
        let wants = is_automatic && is_due && stays && tracked.operation.is_none();
        let begins = wants && self.may_begin(application, at, plane);
        let begun = begins.then_some(self.automatic);
        self.wait(application, begun);
        self.patch(
            application,
            StatusPatch::Comparison {
                at,
                sync,
                health,
                revision: source.commit,
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
        .expect("the application controller sees only existing applications")
}
