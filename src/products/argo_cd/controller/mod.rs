//! Argo CD's two controllers for one ApplicationSet: the ApplicationSet controller and the application controller.
//!
//! Each cluster of the fleet is one application. At the start of a run, a new release for all applications is
//! published. If the set's template names it, by its `targetRevision` or by a parameter of the source, the first pass
//! writes the specs of all applications in the order of their names, and a changed spec makes the application
//! controller compare. If the release is a commit without a webhook, the set changes nothing, and each application is
//! found OutOfSync at its next periodic refresh. The application controller is in [`application_controller`].
//!
//! The rule that queues a pass is [`queues_pass`](crate::rollout::argo_cd::queues_pass). Events of applications arrive
//! after the watch delay, like all events. A pass writes the set's status up to four times: rows, promoted rows and
//! conditions (`performProgressiveSyncs`), and finally the list of resources (`updateResourcesStatus`). Each write
//! reads the set from the cache, which shows the last write only after a watch delay; until then updates are rejected,
//! and after five tries the write gives up (`DefaultRetry` of client-go, in
//! `applicationset/controllers/applicationset_controller.go`). A pass that cannot write its rows ends with an error. A
//! change of rows queues another pass once the controller has seen it; conditions and the list of resources queue
//! none.
//!
//! A pass is also queued by the generators' timers (git 180 s and so on, none for lists and clusters) and by the timer
//! for invalid applications. A rollout is stalled if such a pass would change nothing and no other event is pending.
//!
//! A pass bases its decisions on the state at its beginning. Then it writes the Applications one by one, or in
//! parallel up to `concurrentApplicationUpdates`, and checks each one before its write: if an operation has ended in
//! the meantime, it is requested again; if it is still running, it is not.
//!
//! Argo CD cannot pause clusters, so `paused` has no effect here. A cluster without an agent (`registered: false`) is
//! a destination that Argo CD does not know: its application is invalid, is never written, and keeps its step open.
//!
//! All sets of a run share the workers of the ApplicationSet controller, the limit of its client, and the processes of
//! the application controller. If there are several, a pass sends its writes of the set one after another
//! ([`decision`]), so that those of other passes come in between.
//!
//! Left out: the conditions of an invalid set (`ErrorOccurred`), and `ResourcesUpToDate` after the list of resources,
//! which are further writes.
//!
//! Evidence: 102 rollouts that were recorded from the product's own ApplicationSet controller (`sim::tests`).

mod decision;
mod deletion;
mod pass;
mod set_client;

use std::sync::Arc;

use itertools::Itertools;

use super::application_controller::{ApplicationController, SetStep, View};
use super::{ArgoCdRelease, ArgoCdStrategy};
use crate::control_plane::{
    ApiClient, Change, ControlLoop, Controller, ControllerInput, Plane, RateLimiter, RolloutObject,
    Runtime, StatusLog, TargetStates, Traits,
};
use crate::engine::Streams;
use crate::products::words::first_names;
use crate::products::{Run, Strategy};
use crate::rollout::argo_cd::{
    Application, ApplicationSetSpec, ApplicationSetStatus, ApplicationView, ArgoCd, Generated,
    REFRESH_GRACE_PERIOD, Rollout, RolloutStatus, RowCounts,
};
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, IntOrString, Revision, TargetSet};
use crate::units::{SimDuration, SimTime, counted};
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, ReleaseKind, TargetId};
use decision::DecidingPass;
use deletion::SetDeletion;
use pass::WritingPass;
use set_client::SetClient;

/// Number of workers of the ApplicationSet controller, for all sets. Source: `--concurrent-reconciliations` in
/// `cmd/argocd-applicationset-controller/commands/applicationset_controller.go` of argoproj/argo-cd.
pub(super) const SET_WORKERS: usize = 10;

/// The name of the ApplicationSet controller at the hub.
pub(super) const SET_CONTROLLER: &str = "ApplicationSet controller";

/// The name of the set in the recorded statuses.
const NAME: &str = "app";

/// Argo CD's two controllers with one ApplicationSet.
pub(super) struct ArgoCdController<'r> {
    scheduler: ArgoCd,
    strategy: &'r ArgoCdStrategy,
    view: View,
    clusters: &'r [ClusterSpec],
    /// The labels of the clusters' applications, and the newest revision.
    labels: Vec<Arc<Labels>>,
    wanted: Revision,
    application_controller: ApplicationController,
    /// The ApplicationSet controller's client and back-off.
    client: SetClient,
    limiter: RateLimiter<()>,
    watch_delay: SimDuration,
    /// The number of Applications that a pass writes concurrently.
    width: usize,
    /// The pass in progress, while it decides and another set may send requests between its own.
    deciding: Option<DecidingPass>,
    /// Whether the next pass waits for the other events of this instant.
    is_beginning: bool,
    /// The pass in progress, once it writes Applications.
    writing: Option<WritingPass>,
    /// People's changes during a pass; the next pass reads them.
    unread: Vec<Change>,
    /// The last time at which the set's list of resources was written.
    listed: Option<SimTime>,
    /// Clusters that have joined Argo CD but are not yet destinations in the next pass.
    joining: Vec<usize>,
    /// The reason why the rows of a rolling set cannot be written, so that no step begins.
    too_large: Option<String>,
    /// The set's status after the last pass, and the times at which that pass wrote the rows and the rollout
    /// condition.
    status: ApplicationSetStatus,
    rows_written: Vec<SimTime>,
    condition_written: Option<SimTime>,
    /// The time of the last pass.
    passed: SimTime,
    /// The time of the last input.
    now: SimTime,
    /// Whether the last pass was within the grace period, in which nothing is promoted.
    in_grace: bool,
    /// Whether the last pass failed to write the set and will be retried.
    has_failed: bool,
    /// An application that was incomplete at the last completion check.
    incomplete: usize,
    /// The deletion of the set. `None`: people do not delete it.
    deletion: Option<SetDeletion>,
    /// Applications that were deleted with the set, and those of them that were complete and keep their resources.
    deleted: TargetSet,
    kept_done: TargetSet,
    streams: Streams,
    control_loop: &'r ControlLoop,
}

/// Returns the set after a person has stopped it: no step may update any application.
fn stopped(spec: &ApplicationSetSpec) -> ApplicationSetSpec {
    let mut spec = spec.clone();
    let steps = spec
        .strategy
        .as_mut()
        .and_then(|strategy| strategy.rolling_sync.as_mut());
    for step in steps.into_iter().flat_map(|rolling| &mut rolling.steps) {
        step.max_update = Some(IntOrString::Int(0));
    }
    spec
}

/// Writes the release into the template of every application.
fn name_release(applications: &mut [ApplicationView], release: ArgoCdRelease) {
    for application in applications {
        if let Some(generated) = &mut application.generated {
            generated.wanted = NEW;
            if release != ArgoCdRelease::Commit {
                generated.parameters = NEW.0;
            }
        }
    }
}

/// Maximum number of status changes of a row while its application does not change: Waiting, Pending, Progressing,
/// Healthy.
const ROW_MOVES: u32 = 3;

impl<'r> ArgoCdController<'r> {
    pub(super) fn new(strategy: &'r ArgoCdStrategy, run: &Run<'r>) -> Self {
        let ArgoCdStrategy {
            spec,
            options,
            release,
            ..
        } = strategy;
        let world = run.fleet.world;
        let applications = strategy.applications(&world.clusters);
        let names = applications.iter().map(|(name, _)| name.clone()).collect();
        let labels: Vec<Arc<Labels>> = applications
            .iter()
            .map(|(_, labels)| Arc::clone(labels))
            .collect();
        let mut scheduler = ArgoCd::new(spec.clone(), *options, names);
        let is_update = world.applications[0].release == ReleaseKind::Update;
        let clusters = &world.clusters;
        let application_controller =
            ApplicationController::new(strategy, scheduler.operation(), run);
        let mut view = Vec::new();
        for (index, labels) in labels.iter().enumerate() {
            let generated = Generated {
                valid: clusters[index].registered,
                automated: strategy.own_automated(index),
                ..Generated::new(Arc::clone(labels), OLD.0, OLD)
            };
            let live = application_controller.shown(index).map(|old| {
                let spec = scheduler.spec_of(&generated);
                let settled = Application::settled(Arc::clone(labels), spec, old);
                match strategy.exceptions.skipped.get(&(index as u32)) {
                    Some(status) => status.keep(settled),
                    None => settled,
                }
            });
            view.push(ApplicationView {
                generated: Some(generated),
                live,
            });
        }
        if is_update {
            // Creates the rows that remain from the previous rollout.
            scheduler.reconcile(SimTime::ZERO, &view);
        }
        name_release(&mut view, *release);
        Self {
            scheduler,
            strategy,
            view: View {
                queue: Runtime::of_controller(0, run.hub.workers(SET_CONTROLLER, SET_WORKERS)),
                set: view,
                changed: TargetSet::new(clusters.len()),
            },
            clusters,
            labels,
            wanted: NEW,
            application_controller,
            client: SetClient {
                api: ApiClient::new(run.control_loop, &run.streams, "API requests")
                    .of_hub(&run.hub),
                written: None,
                updating: None,
            },
            limiter: RateLimiter::controller_default(&run.hub, SET_CONTROLLER),
            watch_delay: run.control_loop.watch_delay,
            width: strategy.concurrent_updates as usize,
            deciding: None,
            is_beginning: false,
            writing: None,
            unread: Vec::new(),
            listed: None,
            joining: Vec::new(),
            too_large: strategy.object_limit(run.fleet),
            status: ApplicationSetStatus::default(),
            rows_written: Vec::new(),
            condition_written: None,
            passed: SimTime::ZERO,
            now: SimTime::ZERO,
            in_grace: false,
            has_failed: false,
            incomplete: 0,
            deletion: None,
            deleted: TargetSet::new(clusters.len()),
            kept_done: TargetSet::new(clusters.len()),
            streams: run.streams,
            control_loop: run.control_loop,
        }
    }

    /// Adds the applications that the application controller ignores to the reasons for a hold.
    fn with_skipped(&self, hold: Option<Hold>) -> Option<Hold> {
        let mut names = Vec::new();
        for index in self.strategy.exceptions.skipped.keys() {
            names.push(self.clusters[*index as usize].name.clone());
        }
        if names.is_empty() {
            return hold;
        }
        let skipped = format!("skip-reconcile keeps Argo CD from {}", first_names(&names));
        match hold {
            Some(hold) => Some(Hold {
                explanation: format!("{}; {skipped}", hold.explanation),
                ..hold
            }),
            None if self.view.set.iter().all(ApplicationView::is_done) => {
                Some(Hold::new("skipReconcile", skipped))
            }
            None => None,
        }
    }

    /// Adds the applications that wait for a sync window to a hold.
    fn with_windows(&self, hold: Option<Hold>) -> Option<Hold> {
        let Some(windows) = &self.strategy.sync_windows else {
            return hold;
        };
        let waiting = self.application_controller.waiting_for_windows(self.now);
        let Some(reason) = waiting.reason else {
            return hold;
        };
        let mut names = Vec::new();
        for index in &waiting.applications {
            names.push(self.clusters[*index].name.clone());
        }
        let opens = match waiting.opens {
            Some(at) => format!("which opens on {}", windows.time_in_words(at)),
            None => "which does not open within the horizon".to_owned(),
        };
        let wait = if names.len() == 1 { "waits" } else { "wait" };
        let explanation = format!(
            "{} ({}) {wait} for a sync window, {opens}: {}",
            counted(names.len(), "application"),
            first_names(&names),
            reason.message()
        );
        Some(match hold {
            Some(hold) => Hold {
                explanation: format!("{}; {explanation}", hold.explanation),
                ..hold
            },
            None => Hold::new("syncWindows", explanation),
        })
    }

    /// Handles the deletion or return of a cluster's Secret, after which the generator drops or yields its
    /// application. The first pass after the return does not know the destination yet.
    fn select(&mut self, target: TargetId, is_selected: bool) {
        let index = target.index();
        let is_commit = self.application_controller.release == ArgoCdRelease::Commit;
        let head = self.application_controller.head.commit;
        let wanted = if is_commit { head } else { self.wanted };
        let parameters = if is_commit { OLD } else { self.wanted };
        let generated = Generated::new(Arc::clone(&self.labels[index]), parameters.0, wanted);
        self.view.set[index].generated = is_selected.then_some(Generated {
            valid: false,
            automated: self.strategy.own_automated(index),
            ..generated
        });
        if is_selected && self.clusters[index].registered {
            self.joining.push(index);
        }
        self.view.changed.insert(target.0);
    }

    /// Returns true once the set's status shows the rollout as complete: every row is Healthy on the new revision, and
    /// the rollout condition confirms it. Without rows, all applications must be Synced and Healthy. `counts`: the
    /// rows by status.
    fn is_reported(&mut self, counts: RowCounts) -> bool {
        let unfinished: usize = counts[..RolloutStatus::Healthy as usize].iter().sum();
        if unfinished > 0
            || matches!(
                self.scheduler.conditions().rollout,
                Some(Rollout::Progressing(_))
            )
        {
            return false;
        }
        // The application that was incomplete at the last check is checked first.
        let count = self.view.set.len();
        for index in (self.incomplete..count).chain(0..self.incomplete) {
            let has_row = self.scheduler.rows()[index].is_some();
            if !self.is_complete(index, has_row) {
                self.incomplete = index;
                return false;
            }
        }
        self.incomplete = 0;
        true
    }

    /// Returns true if an application was deleted, or shows the new release and is complete. `has_row`: its row shows
    /// it as complete.
    fn is_complete(&self, index: usize, has_row: bool) -> bool {
        let application = &self.view.set[index];
        let is_gone = application.generated.is_none() && application.live.is_none();
        if self.deletion.is_some() && application.live.is_none() {
            return self.kept_done.contains(index as u32);
        }
        // An application shows its old state until it is compared after the write of its spec. One that the
        // application controller ignores keeps its state indefinitely.
        let shows_release = self.application_controller.shown(index) == Some(self.wanted)
            || has_row && self.strategy.exceptions.is_skipped(index);
        is_gone || shows_release && (has_row || application.is_done())
    }

    fn person(&mut self, change: &Change, plane: &mut Plane<'_>) {
        if let Change::Release(manifests) = change
            && self.application_controller.release == ArgoCdRelease::Commit
        {
            return self.commit(*manifests, plane);
        }
        if self.deciding.is_some() || self.writing.is_some() {
            return self.unread.push(change.clone());
        }
        if self.deletion.is_some() {
            return;
        }
        match change {
            Change::Deleted(RolloutObject::ApplicationSet) => {
                self.deletion = Some(SetDeletion::Marked);
            }
            Change::Release(revision) => self.release(*revision, plane),
            Change::Stop(stop) => self.scheduler.set_spec(if *stop {
                stopped(&self.strategy.spec)
            } else {
                self.strategy.spec.clone()
            }),
            Change::Labels(cluster, labels) => self.relabel(*cluster, labels),
            Change::Selected(target, is_selected) => self.select(*target, *is_selected),
            Change::Approve { .. } | Change::Edited(_) | Change::Deleted(_) => return,
        }
        self.view.queue.add(());
    }

    /// Sets another revision in the template of every application.
    fn release(&mut self, revision: Revision, plane: &mut Plane<'_>) {
        self.wanted = revision;
        for (index, application) in (0..).zip(&mut self.view.set) {
            if let Some(generated) = &mut application.generated {
                generated.wanted = revision;
                generated.parameters = revision.0;
            }
            plane.changed(TargetId(index));
        }
        self.view.changed.insert_all();
    }

    /// Handles another commit with these manifests. The set itself does not change, and no pass begins.
    fn commit(&mut self, manifests: Revision, plane: &mut Plane<'_>) {
        if self.deletion.is_some() {
            return;
        }
        self.wanted = manifests;
        self.application_controller
            .commit(manifests, &self.view.set, plane);
        let head = self.application_controller.head.commit;
        for application in &mut self.view.set {
            if let Some(generated) = &mut application.generated {
                generated.wanted = head;
            }
        }
    }

    /// Changes the labels of a cluster and of its application.
    fn relabel(&mut self, cluster: ClusterId, labels: &Labels) {
        let name = &self.clusters[cluster.index()].name;
        let labels = Arc::new(labels.clone());
        let (_, labels) = self.strategy.application(cluster.index(), name, &labels);
        if let Some(generated) = &mut self.view.set[cluster.index()].generated {
            generated.labels = Arc::clone(&labels);
        }
        self.labels[cluster.index()] = labels;
        self.view.changed.insert(cluster.0);
    }
}

impl Controller for ArgoCdController<'_> {
    fn traits(&self) -> Traits {
        Traits {
            ignores_pause: true,
            reports_completion: true,
            sees_progress_deadlines: true,
            // The application controller watches the clusters without delay; its own writes are seen after the watch
            // delay.
            report_delay: Some(SimDuration::ZERO),
            is_process: false,
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        self.now = now;
        let mut begins = !self.client.api.is_contended();
        match input {
            ControllerInput::Released => {
                self.view.queue.release(());
                self.application_controller.start(&self.view.set, plane);
            }
            ControllerInput::Report(report) => {
                self.application_controller
                    .report(report, now, &mut self.view, plane);
            }
            ControllerInput::Person(change) => self.person(change, plane),
            ControllerInput::HubTurn => self.application_controller.take_turn(now, plane),
            ControllerInput::Timer(number) => {
                match self.view.queue.due(number, plane) {
                    Some(SetStep::Seen) => self.view.queue.add(()),
                    Some(SetStep::Collected(target)) => self.mark_deleted(target, now, plane),
                    Some(SetStep::Begins) => {
                        self.is_beginning = false;
                        begins = true;
                    }
                    Some(SetStep::Try) => self.try_update(now, plane),
                    Some(SetStep::Updated { is_written }) => {
                        self.updated(is_written, now, plane);
                    }
                    Some(SetStep::Answered) => {
                        if let Some(pass) = &mut self.writing {
                            pass.in_flight -= 1;
                        }
                        self.write_applications(now, plane);
                    }
                    None => {}
                }
                self.application_controller
                    .due(number, now, &mut self.view, plane);
            }
            _ => {}
        }
        self.application_controller.begin_attempts(now, plane);
        if !begins {
            return self.begin_passes_later(now, plane);
        }
        while self.view.queue.take(plane).is_some() {
            if self.deletion.is_some() {
                self.delete_set(now, plane);
            } else {
                self.reconcile(now, plane);
            }
        }
    }

    fn is_idle(&self, targets: &dyn TargetStates) -> bool {
        if self.too_large.is_some() {
            return true;
        }
        if self.has_failed
            || self.view.queue.is_busy()
            || !self.application_controller.is_hopeless(targets)
        {
            return false;
        }
        if self.deletion.is_some() {
            return self.view.queue.steps().next().is_none();
        }
        self.view.set.iter().all(ApplicationView::is_done)
            || self
                .hold()
                .is_some_and(|hold| hold.rule != REFRESH_GRACE_PERIOD)
    }

    fn is_done(&self, target: TargetId) -> bool {
        self.is_complete(target.index(), false)
    }

    fn leaves_alone(&self, target: TargetId) -> bool {
        self.strategy.leaves_alone(target.index())
    }

    /// Rows may be out of date when no pending event queues a pass, because neither an application's first operation
    /// nor a comparison queues one. The hold is therefore determined after the remaining row updates, if they would
    /// not instruct any cluster.
    fn hold(&self) -> Option<Hold> {
        if let Some(reason) = &self.too_large {
            return Some(Hold::new("objectSize", reason));
        }
        if let Some(hold) = self.deletion_hold() {
            return Some(hold);
        }
        let mut scheduler = self.scheduler.clone();
        scheduler.sees_until(SimTime::MAX);
        let mut hold = scheduler.hold(&self.view.set);
        for nth in 1..=ROW_MOVES {
            let at = self.passed + SimDuration::from_secs(nth.into());
            if hold.is_some() || !scheduler.reconcile(at, &self.view.set).actions.is_empty() {
                break;
            }
            hold = scheduler.hold(&self.view.set);
        }
        let hold = hold.or_else(|| self.in_grace.then(|| self.scheduler.grace_period_hold()));
        self.with_windows(self.with_skipped(hold))
    }

    fn stages(&self) -> Vec<String> {
        let plan = self.scheduler.steps();
        if plan.lists.is_empty() {
            return vec![String::new(); self.view.set.len()];
        }
        let mut stages = Vec::new();
        for application in 0..self.view.set.len() as u32 {
            let mut steps = plan
                .steps_of(application)
                .map(|step| format!("step {}", step + 1))
                .join("; ");
            if steps.is_empty() {
                "no step".clone_into(&mut steps);
            }
            stages.push(steps);
        }
        stages
    }

    fn timer_kind(&self, number: u32) -> Option<&'static str> {
        let of_set = self.view.queue.timer_kind(number, SetStep::kind);
        of_set.or_else(|| self.application_controller.timer_kind(number))
    }

    /// Shows the rows up to twice, because a pass writes them after their update and after promotion.
    fn show(&mut self, log: &mut StatusLog) {
        if self.deletion.is_some() {
            return self.show_deletions(log);
        }
        let [before, after] = self.scheduler.row_conditions(NAME, &self.status);
        log.show_at(self.rows_written.first().copied(), before);
        log.show_at(self.rows_written.last().copied(), after);
        log.show_at(
            self.condition_written,
            self.scheduler.set_conditions(NAME, &self.view.set),
        );
        log.show(
            self.application_controller
                .conditions(&self.view.set, &self.scheduler),
        );
    }
}
