//! What Argo CD's two controllers see and do: the ApplicationSet controller's passes, and the application controller.
//!
//! Every cluster of the fleet is one application. At the start of a run there is a new release for all of them. Either
//! the set's template names it, by its `targetRevision` or by a parameter of the source; then the first pass writes
//! the specs of all applications at once, and a changed spec makes the application controller compare. Or it is a
//! commit that nobody announces; then the set changes nothing, and each application is found OutOfSync at its next
//! periodic refresh. What the application controller does is in [`application_controller`].
//!
//! What queues a pass is [`queues_pass`](crate::rollout::argo_cd::queues_pass); news of applications take the watch
//! delay as all news do. The generators' timers (git 180 s and so on, none for lists and clusters) and the one of
//! applications that are not valid queue a pass too; a rollout in which such a pass would change nothing, and nothing
//! else is to come, is stalled.
//!
//! Argo CD knows no paused clusters: `paused` has no meaning here. A cluster without an agent (`registered: false`) is
//! a destination that Argo CD does not know: its application is not valid, is never written, and keeps its step open.
//!
//! Left out: webhooks that announce a commit to all applications at once.

use std::sync::Arc;

use super::application_controller::{ApplicationController, Moment};
use super::refresh;
use super::set_writes::{SetChange, SetWrites};
use super::shard::shard_of;
use super::{ArgoCdRelease, ArgoCdStrategy};
use crate::products::{Change, Clusters, Controller, Decision, Happened, Run, StatusLog, Strategy};
use crate::rollout::argo_cd::{
    Application, ApplicationAction, ApplicationSetSpec, ApplicationSetStatus, ApplicationSetView, ApplicationView,
    ArgoCd, Barrier, Generated, REFRESH_GRACE_PERIOD, RowCounts,
};
use crate::rollout::label_selector::Labels;
use crate::rollout::{Hold, IntOrString, Revision, TargetId, TargetSet};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, NEW, OLD, ReleaseKind, Report};

/// What the set is called in the recorded statuses.
const NAME: &str = "app";

/// Argo CD with one ApplicationSet.
pub(super) struct ArgoCdController {
    scheduler: ArgoCd,
    /// The set as it is when nobody stops it.
    spec: ApplicationSetSpec,
    view: ApplicationSetView,
    /// The names of the clusters, the labels of their applications, and the newest revision.
    names: Vec<String>,
    labels: Vec<Arc<Labels>>,
    is_registered: Vec<bool>,
    wanted: Revision,
    /// Applications that the ApplicationSet controller sees otherwise than in its last pass.
    changed: TargetSet,
    application_controller: ApplicationController,
    set: SetWrites,
    watch_delay: SimDuration,
    /// Writes of the pass in progress: the number of the request, the application, and whether it asks for a sync.
    unwritten: Vec<(usize, usize, bool)>,
    /// Clusters that came to Argo CD, which the next pass does not know as destinations yet.
    joining: Vec<usize>,
    /// Why the rows of a rolling set cannot be written, so that no step begins.
    too_large: Option<String>,
    /// The set's status after the last pass.
    status: ApplicationSetStatus,
    /// Writes of rows in the last pass: the numbers of the requests, and when they were answered.
    row_writes: Vec<usize>,
    rows_written: Vec<SimTime>,
    /// The same of its write of a condition of the rollout.
    condition_write: Option<usize>,
    condition_written: Option<SimTime>,
    /// When the last pass was.
    passed: SimTime,
    /// It was within the grace period, in which nothing is promoted.
    in_grace: bool,
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
                    application_controller.refresh(first, index);
                }
                ArgoCdRelease::Commit => {}
            }
        }
        let watch_delay = run.control_loop.watch_delay;
        let set = SetWrites::new(run.control_loop, &run.streams, strategy.concurrent_updates as usize);
        Self {
            scheduler,
            spec: spec.clone(),
            changed: TargetSet::new(clusters.len()),
            view,
            names: clusters.iter().map(|cluster| cluster.name.clone()).collect(),
            labels,
            is_registered: clusters.iter().map(|cluster| cluster.registered).collect(),
            wanted: NEW,
            application_controller,
            set,
            watch_delay,
            unwritten: Vec::new(),
            joining: Vec::new(),
            too_large: strategy.object_limit(run.fleet).filter(|_| strategy.spec.strategy.is_some()),
            status: ApplicationSetStatus::default(),
            row_writes: Vec::new(),
            rows_written: Vec::new(),
            condition_write: None,
            condition_written: None,
            passed: SimTime::ZERO,
            in_grace: false,
            incomplete: 0,
        }
    }

    /// A cluster's secret is deleted, or is there again: the generator gives its application or does not. The first
    /// pass after its return does not know the destination yet.
    fn select(&mut self, cluster: ClusterId, is_selected: bool) {
        let index = cluster.index();
        let parameters = if self.application_controller.is_by_parameters() { self.wanted.0 } else { OLD.0 };
        let generated = Generated::new(Arc::clone(&self.labels[index]), parameters, self.wanted);
        self.view.applications[index].generated = is_selected.then_some(Generated { valid: false, ..generated });
        if is_selected && self.is_registered[index] {
            self.joining.push(index);
        }
        self.changed.insert(cluster.0);
    }

    /// True once the set's status shows the rollout as complete: every row is Healthy, of the new revision. Without
    /// rows all applications are Synced and Healthy. `counts`: the rows by status.
    fn is_reported(&mut self, counts: RowCounts) -> bool {
        if counts.waiting + counts.pending + counts.progressing > 0 {
            return false;
        }
        let is_complete = |index: usize| {
            let application = &self.view.applications[index];
            let is_settled = self.scheduler.rows()[index].is_some() || application.is_done();
            let is_gone = application.generated.is_none() && application.live.is_none();
            is_gone || is_settled && self.application_controller.applied(index) == Some(NEW)
        };
        // The one that was not complete before is asked first.
        let count = self.view.applications.len();
        let found = (self.incomplete..count).chain(0..self.incomplete).find(|index| !is_complete(*index));
        self.incomplete = found.unwrap_or(0);
        found.is_none()
    }
}

impl Controller for ArgoCdController {
    fn heeds_pause(&self) -> bool {
        false
    }

    fn reports_completion(&self) -> bool {
        true
    }

    fn sees_progress_deadlines(&self) -> bool {
        true
    }

    fn learn(&mut self, report: Report, _now: SimTime) -> bool {
        self.application_controller.learn(report);
        false
    }

    fn change(&mut self, change: &Change, _now: SimTime) -> Option<bool> {
        match change {
            Change::Release(revision) if self.application_controller.follows_specs() => {
                self.wanted = *revision;
                for generated in self.view.applications.iter_mut().flat_map(|view| &mut view.generated) {
                    (generated.wanted, generated.parameters) = (*revision, revision.0);
                }
                self.changed.insert_all();
            }
            Change::Stop(stop) => self.scheduler.set_spec(if *stop { stopped(&self.spec) } else { self.spec.clone() }),
            Change::Labels(cluster, labels) => {
                let (_, labels) = self.spec.application(&self.names[cluster.index()], &Arc::new(labels.clone()));
                self.labels[cluster.index()] = Arc::clone(&labels);
                let generated = self.view.applications[cluster.index()].generated.as_mut()?;
                generated.labels = labels;
                self.changed.insert(cluster.0);
            }
            Change::Selected(cluster, is_selected) => self.select(*cluster, *is_selected),
            _ => return None,
        }
        Some(true)
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let unavailable = self.scheduler.updating() as u64;
        self.passed = now;
        if self.too_large.is_some() {
            return Decision { unavailable, ..Decision::default() };
        }
        let pass = self.scheduler.reconcile_changed(now, &self.view, &self.changed);
        self.changed.clear();
        self.in_grace = pass.status.barrier == Some(Barrier::GracePeriod);
        let wake_at = pass.wake_at.filter(|at| *at > now);
        let mut decision = Decision { unavailable, wake_at, ..Decision::default() };
        self.set.begin(now);
        self.row_writes.clear();
        for _ in 0..pass.status.row_writes {
            self.set.write(&mut decision.requests, SetChange::Rows);
            self.row_writes.push(decision.requests.len());
        }
        if pass.status.conditions_written {
            self.set.write(&mut decision.requests, SetChange::Other);
        }
        self.condition_write = pass.status.conditions_written.then(|| decision.requests.len());
        let mut last: Option<TargetId> = None;
        for action in &pass.actions {
            let (target, is_refresh) = match *action {
                ApplicationAction::Create(target)
                | ApplicationAction::Stage(target, _)
                | ApplicationAction::Deploy(target, _) => (target, false),
                ApplicationAction::Refresh(target) => (target, true),
                ApplicationAction::Delete(target) => {
                    // Its destination is unknown: first its finalizer is taken off, so that the payload stays.
                    self.set.others(&mut decision.requests, 2);
                    self.application_controller.deleted(target.index());
                    continue;
                }
            };
            // Spec and operation of one application are one write.
            if is_refresh || last.replace(target) != Some(target) {
                self.set.others(&mut decision.requests, 1);
            }
            self.changed.insert(target.0);
            let is_request = matches!(action, ApplicationAction::Deploy(..));
            decision.requested += usize::from(is_request);
            decision.created += usize::from(matches!(action, ApplicationAction::Create(..)));
            self.unwritten.push((decision.requests.len(), target.index(), is_request));
        }
        // The set's status lists the state of all applications, and is written last. What a pass writes, the
        // application controller has seen by then.
        let is_new = self.set.is_listed_anew(self.application_controller.shown_at(), !self.unwritten.is_empty());
        self.set.write(&mut decision.requests, if is_new { SetChange::Other } else { SetChange::Nothing });
        self.scheduler.store(now, &pass, &mut self.view);
        for index in self.joining.drain(..) {
            if let Some(generated) = &mut self.view.applications[index].generated {
                generated.valid = true;
                self.changed.insert(index as u32);
            }
        }
        decision.complete = self.is_reported(pass.status.rows);
        self.status = pass.status;
        decision
    }

    fn report_delay(&self, _watch_delay: SimDuration) -> SimDuration {
        // The application controller watches the clusters; what it writes then takes the watch delay.
        SimDuration::ZERO
    }

    fn answered(&mut self, answers: &[SimTime]) {
        self.rows_written = self.row_writes.iter().map(|number| answers[number - 1]).collect();
        self.condition_written = self.condition_write.map(|number| answers[number - 1]);
        for at in self.set.answered(answers) {
            self.application_controller.set_seen(at);
        }
        for (number, application, is_request) in self.unwritten.drain(..) {
            let answer = answers[number - 1];
            if let Some(live) = &self.view.applications[application].live {
                let revision = Revision(live.spec.parameters);
                self.application_controller.spec_is_written(answer, application, revision);
            }
            let seen = answer + self.watch_delay;
            if is_request {
                self.application_controller.sees_request(seen, application);
            } else {
                self.application_controller.sees_write(seen, application);
                self.application_controller.set_seen(seen);
            }
        }
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
        let conditions = self.scheduler.set_conditions(NAME, &self.view);
        match self.condition_written {
            Some(at) => log.show_at(at, conditions),
            None => log.show(conditions),
        }
    }

    fn is_idle(&self, clusters: &dyn Clusters) -> bool {
        self.too_large.is_some()
            || self
                .application_controller
                .is_hopeless(&|cluster| !clusters.is_online(cluster) && !clusters.is_repair_due(cluster))
                && (self.view.is_done() || self.hold().is_some_and(|hold| hold.rule != REFRESH_GRACE_PERIOD))
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let index = cluster.index();
        // Between the write of a spec and the comparison an application still shows what it was.
        let application = &self.view.applications[index];
        let is_gone = application.generated.is_none() && application.live.is_none();
        is_gone || self.application_controller.applied(index) == Some(NEW) && application.is_done()
    }

    /// Rows may be behind their applications when nothing is to come that queues a pass: the first operation of an
    /// application queues none, nor do comparisons. Passes that only brought rows up to date would move no cluster.
    fn hold(&self) -> Option<Hold> {
        if let Some(reason) = &self.too_large {
            return Some(Hold { rule: "objectSize", explanation: reason.clone() });
        }
        let mut scheduler = self.scheduler.clone();
        let mut hold = scheduler.hold(&self.view);
        for nth in 1..=ROW_MOVES {
            if hold.is_some()
                || !scheduler.reconcile(self.passed + SimDuration::from_secs(nth.into()), &self.view).actions.is_empty()
            {
                break;
            }
            hold = scheduler.hold(&self.view);
        }
        hold.or_else(|| self.in_grace.then(|| self.scheduler.grace_period_hold()))
    }

    fn stages(&self) -> Vec<String> {
        let lists = &self.scheduler.steps().lists;
        let mut stages = vec![String::new(); self.view.applications.len()];
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

    fn next_event(&self) -> Option<SimTime> {
        self.application_controller.next_event()
    }

    fn advance(&mut self, now: SimTime, clusters: &dyn Clusters) -> Happened {
        let automatic = self.scheduler.operation();
        let is_online = |cluster: ClusterId| clusters.is_online(cluster);
        let moment = Moment {
            controller: &mut self.application_controller,
            view: &mut self.view,
            changed: &mut self.changed,
            now,
            automatic,
            is_online: &is_online,
            happened: Happened::default(),
        };
        moment.advance()
    }
}
