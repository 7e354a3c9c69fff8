//! Argo CD's two controllers with one ApplicationSet: the ApplicationSet controller, and the application controller.
//!
//! Every cluster of the fleet is one application. At the start of a run there is a new release for all of them. Either
//! the set's template names it, by its `targetRevision` or by a parameter of the source; then the first pass writes
//! the specs of all applications, in the order of their names, and a changed spec makes the application controller
//! compare. Or it is a commit that nobody announces; then the set changes nothing, and each application is found
//! OutOfSync at its next periodic refresh. The application controller is in [`application_controller`].
//!
//! What queues a pass is [`queues_pass`](crate::rollout::argo_cd::queues_pass); news of applications take the watch
//! delay as all news do. A pass writes the set's status up to four times: rows, promoted rows, conditions, and at last
//! the list of resources. Each write reads the set from the cache, where the last write is not seen for a watch delay;
//! until then updates are refused, and after five tries the write gives up (`DefaultRetry` of client-go, in
//! `applicationset/controllers/applicationset_controller.go`). A pass that cannot write its rows ends with an error. A
//! change of rows queues another pass once the controller has seen it; conditions and the list of resources queue none.
//!
//! The generators' timers (git 180 s and so on, none for lists and clusters) and the one of applications that are not
//! valid queue a pass too; a rollout in which such a pass would change nothing, and nothing else is to come, is
//! stalled.
//!
//! Argo CD knows no paused clusters: `paused` has no meaning here. A cluster without an agent (`registered: false`) is
//! a destination that Argo CD does not know: its application is not valid, is never written, and keeps its step open.
//!
//! Left out: webhooks that announce a commit to all applications at once; a pass that begins with rows which are older
//! than the last write.

use std::sync::Arc;

use super::application_controller::{ApplicationController, SetQueue, SetStep, View};
use super::refresh;
use super::shard::shard_of;
use super::{ArgoCdRelease, ArgoCdStrategy};
use crate::control_plane::{
    ApiClient, Change, Clusters, Controller, ControllerInput, Plane, RateLimiter, RetryPolicy, Runtime, StatusLog,
    Traits,
};
use crate::products::{Run, Strategy};
use crate::rollout::argo_cd::{
    Application, ApplicationAction, ApplicationSetSpec, ApplicationSetStatus, ApplicationSetView, ApplicationView,
    ArgoCd, Barrier, Generated, REFRESH_GRACE_PERIOD, Rollout, RowCounts, SetWrite,
};
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, IntOrString, Pass, Revision, TargetId, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, OLD, ReleaseKind};

/// The name of the set in the recorded statuses.
const NAME: &str = "app";

/// The kinds of objects that the ApplicationSet controller's client has limits for.
const APPLICATIONS: usize = 0;
const SET: usize = 1;

/// The client of the ApplicationSet controller.
struct SetClient {
    api: ApiClient,
    /// When the set's status was last written with another content.
    written: Option<SimTime>,
}

impl SetClient {
    /// Updates the set's status at `begin`. `changes`: its content is another one. Returns whether it is written, and
    /// when the last try is answered.
    fn update(&mut self, begin: SimTime, changes: bool) -> (bool, SimTime) {
        match self.api.update(SET, begin, self.written, RetryPolicy::DEFAULT) {
            Ok(at) => {
                self.written = if changes { Some(at) } else { self.written };
                (true, at)
            }
            Err(at) => (false, at),
        }
    }
}

/// A pass of the ApplicationSet controller.
type DecidedPass = Pass<ApplicationAction, ApplicationSetStatus>;

/// Argo CD with one ApplicationSet.
pub(super) struct ArgoCdController {
    scheduler: ArgoCd,
    /// The set as it is when nobody stops it.
    spec: ApplicationSetSpec,
    view: View,
    /// The names of the clusters, the labels of their applications, and the newest revision.
    names: Vec<String>,
    labels: Vec<Arc<Labels>>,
    is_registered: Vec<bool>,
    wanted: Revision,
    application_controller: ApplicationController,
    /// The ApplicationSet controller's queue, client and back-off.
    queue: SetQueue,
    client: SetClient,
    limiter: RateLimiter<()>,
    watch_delay: SimDuration,
    /// Applications that a pass writes at the same time.
    width: usize,
    /// When the set's list of resources was last written.
    listed: Option<SimTime>,
    /// Clusters that came to Argo CD, which the next pass does not know as destinations yet.
    joining: Vec<usize>,
    /// Why the rows of a rolling set cannot be written, so that no step begins.
    too_large: Option<String>,
    /// The set's status after the last pass; when that wrote the rows, and a condition of the rollout.
    status: ApplicationSetStatus,
    rows_written: Vec<SimTime>,
    condition_written: Option<SimTime>,
    /// When the last pass was.
    passed: SimTime,
    /// It was within the grace period, in which nothing is promoted.
    in_grace: bool,
    /// It could not write the set, and is repeated.
    has_failed: bool,
    /// An application that was not complete when completion was last looked for.
    incomplete: usize,
}

/// The set as a person stops it: no step may update any application.
fn stopped(spec: &ApplicationSetSpec) -> ApplicationSetSpec {
    let mut spec = spec.clone();
    let steps = spec.strategy.as_mut().and_then(|strategy| strategy.rolling_sync.as_mut());
    for step in steps.into_iter().flat_map(|rolling| &mut rolling.steps) {
        step.max_update = Some(IntOrString::Int(0));
    }
    spec
}

/// A row moves on at most so often while its application stays as it is: Waiting, Pending, Progressing, Healthy.
const ROW_MOVES: u32 = 3;

impl ArgoCdController {
    pub(super) fn new(strategy: &ArgoCdStrategy, run: Run<'_>) -> Self {
        let ArgoCdStrategy { spec, options, release, application_controller: settings, .. } = strategy;
        let world = run.fleet.world;
        let applications = strategy.applications(&world.clusters);
        let names = applications.iter().map(|(name, _)| name.clone()).collect();
        let labels = applications.iter().map(|(_, labels)| Arc::clone(labels)).collect();
        let mut scheduler = ArgoCd::new(spec.clone(), *options, names);
        let is_update = world.release == ReleaseKind::Update;
        let clusters = &world.clusters;
        let runs = |index: usize| world.installed(index).filter(|_| clusters[index].registered);
        let application = |(index, (_, labels)): (usize, (String, Arc<_>))| {
            let valid = clusters[index].registered;
            let generated = Generated { valid, ..Generated::new(Arc::clone(&labels), OLD.0, OLD) };
            let live = runs(index).map(|old| Application::settled(labels, scheduler.spec_of(&generated), old));
            ApplicationView { generated: Some(generated), live }
        };
        let applications = applications.into_iter().enumerate().map(application).collect();
        let mut view = ApplicationSetView { deleted: false, applications };
        if is_update {
            // The rows that the rollout before this one has left.
            scheduler.reconcile(SimTime::ZERO, &view);
        }
        let sharded = |index: usize| (shard_of(settings, &run.streams, index, &clusters[index].name), runs(index));
        let mut application_controller =
            ApplicationController::new(*release, *settings, &run, (0..clusters.len()).map(sharded));
        for (index, application) in view.applications.iter_mut().enumerate() {
            let generated = application.generated.as_mut().expect("every cluster has a generated application");
            generated.wanted = NEW;
            match release {
                ArgoCdRelease::TargetRevision | ArgoCdRelease::Parameters => generated.parameters = NEW.0,
                ArgoCdRelease::Commit if application.live.is_some() => {
                    let first = refresh::first_refresh(settings, &run.streams, &clusters[index].name);
                    application_controller.refreshes.push((first, index));
                }
                ArgoCdRelease::Commit => {}
            }
        }
        Self {
            scheduler,
            spec: spec.clone(),
            view: View { set: view, changed: TargetSet::new(clusters.len()) },
            names: clusters.iter().map(|cluster| cluster.name.clone()).collect(),
            labels,
            is_registered: clusters.iter().map(|cluster| cluster.registered).collect(),
            wanted: NEW,
            application_controller,
            queue: Runtime::new(1),
            client: SetClient { api: ApiClient::new(run.control_loop, &run.streams, "API requests"), written: None },
            limiter: RateLimiter::controller_default(),
            watch_delay: run.control_loop.watch_delay,
            width: strategy.concurrent_updates as usize,
            listed: None,
            joining: Vec::new(),
            too_large: strategy.object_limit(run.fleet).filter(|_| strategy.spec.strategy.is_some()),
            status: ApplicationSetStatus::default(),
            rows_written: Vec::new(),
            condition_written: None,
            passed: SimTime::ZERO,
            in_grace: false,
            has_failed: false,
            incomplete: 0,
        }
    }

    /// A cluster's secret is deleted, or is there again: the generator gives its application or does not. The first
    /// pass after its return does not know the destination yet.
    fn select(&mut self, cluster: ClusterId, is_selected: bool) {
        let index = cluster.index();
        let parameters = if self.application_controller.is_by_parameters() { self.wanted.0 } else { OLD.0 };
        let generated = Generated::new(Arc::clone(&self.labels[index]), parameters, self.wanted);
        self.view.set.applications[index].generated = is_selected.then_some(Generated { valid: false, ..generated });
        if is_selected && self.is_registered[index] {
            self.joining.push(index);
        }
        self.view.changed.insert(cluster.0);
    }

    /// True once the set's status shows the rollout as complete: every row is Healthy, of the new revision, and the
    /// condition says so. Without rows all applications are Synced and Healthy. `counts`: the rows by status.
    fn is_reported(&mut self, counts: RowCounts) -> bool {
        let is_unfinished = counts.waiting + counts.pending + counts.progressing > 0;
        if is_unfinished || matches!(self.scheduler.conditions().rollout, Some(Rollout::Progressing(_))) {
            return false;
        }
        let is_complete = |index: usize| {
            let application = &self.view.set.applications[index];
            let is_settled = self.scheduler.rows()[index].is_some() || application.is_done();
            let is_gone = application.generated.is_none() && application.live.is_none();
            is_gone || is_settled && self.application_controller.shown(index) == Some(NEW)
        };
        // The one that was not complete before is asked first.
        let count = self.view.set.applications.len();
        let found = (self.incomplete..count).chain(0..self.incomplete).find(|index| !is_complete(*index));
        self.incomplete = found.unwrap_or(0);
        found.is_none()
    }

    fn person(&mut self, change: &Change) {
        match change {
            Change::Release(revision) if self.application_controller.follows_specs() => {
                self.wanted = *revision;
                for generated in self.view.set.applications.iter_mut().flat_map(|view| &mut view.generated) {
                    (generated.wanted, generated.parameters) = (*revision, revision.0);
                }
                self.view.changed.insert_all();
            }
            Change::Stop(stop) => self.scheduler.set_spec(if *stop { stopped(&self.spec) } else { self.spec.clone() }),
            Change::Labels(cluster, labels) => {
                let (_, labels) = self.spec.application(&self.names[cluster.index()], &Arc::new(labels.clone()));
                self.labels[cluster.index()] = Arc::clone(&labels);
                let generated = &mut self.view.set.applications[cluster.index()].generated;
                generated.iter_mut().for_each(|generated| generated.labels = Arc::clone(&labels));
                self.view.changed.insert(cluster.0);
            }
            Change::Selected(cluster, is_selected) => self.select(*cluster, *is_selected),
            Change::Release(_) | Change::Approve { .. } => return,
        }
        self.queue.add(());
    }

    /// A pass of the ApplicationSet controller.
    fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        plane.begin_pass(self.scheduler.updating() as u64);
        self.passed = now;
        if self.too_large.is_some() {
            self.queue.end_pass((), now, 0, false, plane);
            return;
        }
        self.rows_written.clear();
        self.condition_written = None;
        let mut at = now;
        let (client, rows_written, condition_written) =
            (&mut self.client, &mut self.rows_written, &mut self.condition_written);
        let pass = self.scheduler.reconcile_changed(now, &self.view.set, &self.view.changed, &mut |write| {
            let is_written;
            (is_written, at) = client.update(at, true);
            match write {
                _ if !is_written => {}
                SetWrite::Rows => rows_written.push(at),
                SetWrite::Conditions => *condition_written = Some(at),
            }
            is_written
        });
        self.view.changed.clear();
        for written in &self.rows_written {
            self.queue.step(*written + self.watch_delay, SetStep::Seen, plane);
        }
        let (end, is_written) = if pass.status.failed { (at, false) } else { self.write(at, now, &pass, plane) };
        self.has_failed = !is_written;
        let wake_at = if is_written {
            self.limiter.forget(());
            pass.wake_at.filter(|at| *at > now)
        } else {
            Some(self.limiter.again((), end))
        };
        if let Some(at) = wake_at {
            self.queue.add_at((), at, plane);
        }
        let completes = is_written && self.is_reported(pass.status.rows);
        let created = pass.actions.iter().filter(|action| matches!(action, ApplicationAction::Create(_))).count();
        self.status = pass.status;
        self.queue.end_pass((), end, created as u64, completes, plane);
    }

    /// The writes of a pass that began at `now`, from `begin` on: Applications, and at last the set's list of
    /// resources.
    /// Returns when it ends, and whether that list is written.
    fn write(&mut self, begin: SimTime, now: SimTime, pass: &DecidedPass, plane: &mut Plane<'_>) -> (SimTime, bool) {
        self.in_grace = pass.status.barrier == Some(Barrier::GracePeriod);
        // One request for each application and kind of write: spec and operation are one.
        let mut writes: Vec<(TargetId, bool)> = Vec::new();
        let mut deletions = 0;
        for action in &pass.actions {
            let (target, is_request) = match *action {
                ApplicationAction::Create(target) | ApplicationAction::Stage(target, _) => (target, false),
                ApplicationAction::Deploy(target, revision) => {
                    plane.promote(ClusterId(target.0), revision);
                    (target, true)
                }
                ApplicationAction::Refresh(target) => {
                    self.view.changed.insert(target.0);
                    writes.push((target, false));
                    continue;
                }
                ApplicationAction::Delete(target) => {
                    // Its destination is unknown: first its finalizer is taken off, so that the payload stays.
                    deletions += 2;
                    self.application_controller.deleted(target.index(), plane);
                    continue;
                }
            };
            self.view.changed.insert(target.0);
            match writes.last_mut() {
                Some((last, requests)) if *last == target => *requests |= is_request,
                _ => writes.push((target, is_request)),
            }
        }
        let answers = self.client.api.at_once(APPLICATIONS, begin, writes.len() + deletions, self.width);
        self.scheduler.store(now, pass, &mut self.view.set);
        let has_written = !writes.is_empty();
        for ((target, is_request), answer) in writes.into_iter().zip(&answers) {
            let Some(live) = &self.view.set.applications[target.index()].live else { continue };
            let revision = Revision(live.spec.parameters);
            let seen = *answer + self.watch_delay;
            self.application_controller.written(target.index(), (*answer, revision), is_request, plane);
            if !is_request {
                self.queue.step(seen, SetStep::Seen, plane);
            }
        }
        let at = answers.into_iter().fold(begin, SimTime::max);
        // The set's status lists the state of all applications, and is written last. What a pass writes, the
        // application controller has seen by then.
        let shown_at = self.application_controller.shown_at();
        let is_new = has_written || shown_at.is_some_and(|shown| self.listed.is_none_or(|listed| shown > listed));
        self.listed = Some(begin);
        let (is_written, end) = self.client.update(at, is_new);
        for index in self.joining.drain(..) {
            if let Some(generated) = &mut self.view.set.applications[index].generated {
                generated.valid = true;
                self.view.changed.insert(index as u32);
            }
        }
        (end, is_written)
    }
}

impl Controller for ArgoCdController {
    fn traits(&self) -> Traits {
        Traits {
            ignores_pause: true,
            reports_completion: true,
            sees_progress_deadlines: true,
            // The application controller watches the clusters; what it writes then takes the watch delay.
            report_delay: Some(SimDuration::ZERO),
            is_process: false,
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        let automatic = self.scheduler.operation();
        match input {
            ControllerInput::Released => {
                self.queue.release(());
                self.application_controller.start(plane);
            }
            ControllerInput::Report(report) => self.application_controller.report(report, now, &mut self.view, plane),
            ControllerInput::Person(change) => self.person(change),
            ControllerInput::Timer(number) => {
                if let Some(SetStep::Seen) = self.queue.due(number, plane) {
                    self.queue.add(());
                }
                let view = (&mut self.view, &mut self.queue);
                self.application_controller.due(number, now, view, automatic, plane);
            }
            _ => {}
        }
        self.application_controller.begin_attempts(now, plane);
        while self.queue.take(plane).is_some() {
            self.reconcile(now, plane);
        }
    }

    fn is_idle(&self, clusters: &dyn Clusters) -> bool {
        self.too_large.is_some()
            || !self.has_failed
                && !self.queue.is_busy()
                && self
                    .application_controller
                    .is_hopeless(&|cluster| !clusters.is_online(cluster) && !clusters.is_repair_due(cluster))
                && (self.view.set.is_done() || self.hold().is_some_and(|hold| hold.rule != REFRESH_GRACE_PERIOD))
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let index = cluster.index();
        // Between the write of a spec and the comparison an application still shows what it was.
        let application = &self.view.set.applications[index];
        let is_gone = application.generated.is_none() && application.live.is_none();
        is_gone || self.application_controller.shown(index) == Some(NEW) && application.is_done()
    }

    /// Rows may be behind their applications when nothing is to come that queues a pass: the first operation of an
    /// application queues none, nor do comparisons. Passes that only brought rows up to date would move no cluster.
    fn hold(&self) -> Option<Hold> {
        if let Some(reason) = &self.too_large {
            return Some(Hold { rule: "objectSize".into(), explanation: reason.clone() });
        }
        let mut scheduler = self.scheduler.clone();
        let mut hold = scheduler.hold(&self.view.set);
        for nth in 1..=ROW_MOVES {
            if hold.is_some()
                || !scheduler
                    .reconcile(self.passed + SimDuration::from_secs(nth.into()), &self.view.set)
                    .actions
                    .is_empty()
            {
                break;
            }
            hold = scheduler.hold(&self.view.set);
        }
        hold.or_else(|| self.in_grace.then(|| self.scheduler.grace_period_hold()))
    }

    fn stages(&self) -> Vec<String> {
        let lists = &self.scheduler.steps().lists;
        let mut stages = vec![String::new(); self.view.set.applications.len()];
        for (number, list) in (1..).zip(lists) {
            for &application in list {
                let stage = &mut stages[application as usize];
                let separator = if stage.is_empty() { "" } else { "; " };
                stage.push_str(&format!("{separator}step {number}"));
            }
        }
        for stage in stages.iter_mut().filter(|stage| !lists.is_empty() && stage.is_empty()) {
            stage.push_str("no step");
        }
        stages
    }

    /// A pass writes the rows up to twice: after their update, and after promotion.
    fn show(&mut self, log: &mut StatusLog) {
        let [before, after] = self.scheduler.row_conditions(NAME, &self.status);
        match (self.rows_written.first(), self.rows_written.last()) {
            (Some(&updated), Some(&promoted)) => {
                log.show_at(updated, before);
                log.show_at(promoted, after);
            }
            _ => log.show(before.into_iter().chain(after)),
        }
        let conditions = self.scheduler.set_conditions(NAME, &self.view.set);
        match self.condition_written {
            Some(at) => log.show_at(at, conditions),
            None => log.show(conditions),
        }
    }
}
