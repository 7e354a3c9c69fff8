//! What Argo CD's two controllers see and do: the ApplicationSet controller's passes, and the application controller.
//!
//! Every cluster of the fleet is one application. At the start of a run the set's template names a new release for all
//! of them: its `targetRevision` changes, or, where the experiment says so, a parameter of the source. Either way the
//! first pass writes the specs of all applications at once; a changed spec makes the application controller compare,
//! which finds the application OutOfSync, with `targetRevision` at another revision too. A new commit that nobody but
//! a periodic comparison notices is not followed.
//!
//! The application controller, after argoproj/argo-cd at 37ee0097cf851bc2dd7665fc081bbce61a7e836e
//! (`controller/{appcontroller,state,sync}.go`), as far as it matters to a rollout:
//!
//! - An application is compared when it was created, when its spec changed, when its operation ended, and when its
//!   cluster reports another readiness; comparisons share `--status-processors`.
//! - A requested operation is Running once the controller has seen it, and Succeeded once the cluster reports the
//!   revision as applied. One of a cluster that has it already applies nothing and is over soon. One of a cluster that
//!   cannot be reached (offline, paused, without an agent) runs for ever.
//! - Synced: the cluster has applied what the spec names. Healthy: all of it is ready; Progressing: it is not;
//!   Missing: nothing was ever applied.
//! - An application that may sync by itself and is found OutOfSync begins an operation.
//!
//! What queues a pass is [`queues_pass`]; news of applications take the watch delay as all news do.
//!
//! Left out: Degraded (a report only says whether all is ready), failed and repeated operations, the periodic
//! comparison and the generators' timers (both would find nothing new), and the cap on concurrent operations, which
//! holds an operation only while it sends manifests.

mod proposal;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::product::{Decision, Deploy, Happened, Product};
use crate::rollout::argo_cd::{
    Application, ApplicationSetSpec, ApplicationSetView, ApplicationView, ArgoCd, AutoSync, Generated, Health,
    OperationState, Options, Phase, RolloutStatus, STATUS_PROCESSORS, SyncStatus, queues_pass,
};
use crate::rollout::{Action, ControlLoop, Hold, Revision, Scheduler, TargetId};
use crate::scenario::{ArgoCdRelease, Scenario};
use crate::units::{SimDuration, SimTime};
use crate::world::{ClusterId, ClusterSpec, NEW, OLD, ReleaseKind, Report};

pub(super) use proposal::ProposalProduct;

/// One comparison of an application, with manifests that are cached. Guess: no published figure.
const COMPARISON: SimDuration = SimDuration::from_millis(200);

/// One operation that finds everything applied already. Guess: no published figure.
const IDLE_OPERATION: SimDuration = SimDuration::from_secs(1);

/// Argo CD with one ApplicationSet.
pub(super) struct ArgoCdProduct<'s> {
    scheduler: ArgoCd,
    view: ApplicationSetView,
    release: ArgoCdRelease,
    timing: ControlLoop,
    clusters: &'s [ClusterSpec],
    /// What the application controller knows of each cluster.
    places: Vec<Place>,
    /// Reports that reached the application controller and are not worked on yet.
    inbox: Vec<Report>,
    /// By time, and in the order of scheduling.
    agenda: BTreeMap<(SimTime, u64), Due>,
    scheduled: u64,
    /// For each worker that compares, when it is free.
    comparers: Vec<SimTime>,
}

/// What the application controller knows of a cluster.
#[derive(Clone, Copy, Debug)]
struct Place {
    applied: Option<Revision>,
    ready: bool,
    /// A comparison is waited for, or runs.
    comparison_due: bool,
}

/// What the application controller does at some time.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The object was created, or its spec was written.
    Written(usize),
    /// The requested operation is seen to run, since that time.
    Begins(usize, SimTime),
    /// The operation of that time applied nothing and is over.
    Ends(usize, SimTime),
    /// A comparison ends.
    Compared(usize),
}

impl<'s> ArgoCdProduct<'s> {
    pub(super) fn new(
        scenario: &'s Scenario,
        spec: &ApplicationSetSpec,
        options: Options,
        release: ArgoCdRelease,
    ) -> Self {
        let applications = scenario.argo_cd_applications();
        let names = applications.iter().map(|(name, _)| name.clone()).collect();
        let mut scheduler = ArgoCd::new(spec.clone(), options, names);
        let is_update = scenario.world.release == ReleaseKind::Update;
        let application = |(_, labels): (String, Arc<_>)| {
            let generated = Generated::new(Arc::clone(&labels), OLD.0, OLD);
            let live = is_update.then(|| Application::settled(labels, scheduler.spec_of(&generated), OLD));
            ApplicationView { generated: Some(generated), live }
        };
        let mut view =
            ApplicationSetView { deleted: false, applications: applications.into_iter().map(application).collect() };
        if is_update {
            // The rows that the rollout before this one has left.
            scheduler.reconcile(SimTime::ZERO, &view);
        }
        for generated in view.applications.iter_mut().filter_map(|application| application.generated.as_mut()) {
            (generated.parameters, generated.wanted) = (NEW.0, NEW);
        }
        let place = Place { applied: is_update.then_some(OLD), ready: is_update, comparison_due: false };
        Self {
            scheduler,
            release,
            timing: scenario.control_loop,
            clusters: &scenario.world.clusters,
            places: vec![place; view.applications.len()],
            view,
            inbox: Vec::new(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            comparers: vec![SimTime::ZERO; STATUS_PROCESSORS as usize],
        }
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
        let free = self.comparers.iter_mut().min().expect("there are workers");
        *free = now.max(*free) + COMPARISON;
        let at = *free;
        self.schedule(at, Due::Compared(application));
    }

    fn can_be_told(&self, application: usize) -> bool {
        let spec = &self.clusters[application];
        spec.registered && !spec.paused
    }

    fn live(&mut self, application: usize) -> &mut Application {
        self.view.applications[application].live.as_mut().expect("what the application controller sees exists")
    }

    /// What the spec of an application names.
    fn named(&self, application: usize) -> Option<Revision> {
        self.view.applications[application].live.as_ref().map(|live| Revision(live.spec.parameters))
    }

    fn work_on(&mut self, report: Report, now: SimTime) -> bool {
        let application = report.cluster.index();
        let place = &mut self.places[application];
        let is_news = place.applied.replace(report.applied) != Some(report.applied);
        place.ready = report.ready;
        let ends = is_news && self.named(application) == Some(report.applied);
        self.compare(application, now);
        let state = self.live(application).operation_state;
        match state {
            Some(OperationState { phase: Phase::Running, started_at }) if ends => {
                self.end_operation(application, started_at)
            }
            _ => false,
        }
    }

    fn begin_operation(&mut self, application: usize, started_at: SimTime) -> bool {
        let is_idle = self.places[application].applied == self.named(application);
        let live = self.live(application);
        let before = live.clone();
        live.operation_state = Some(OperationState { phase: Phase::Running, started_at });
        let starts_pass = queues_pass(Some(&before), Some(live));
        if is_idle {
            self.schedule(started_at + IDLE_OPERATION, Due::Ends(application, started_at));
        }
        starts_pass
    }

    /// The operation that began at `started_at` is over, if it is still the one that runs.
    fn end_operation(&mut self, application: usize, started_at: SimTime) -> bool {
        let live = self.live(application);
        let running = OperationState { phase: Phase::Running, started_at };
        if live.operation_state != Some(running) {
            return false;
        }
        let before = live.clone();
        live.operation_state = Some(OperationState { phase: Phase::Succeeded, ..running });
        live.operation = None;
        queues_pass(Some(&before), Some(live))
    }

    fn compared(&mut self, application: usize, now: SimTime, happened: &mut Happened) {
        let place = &mut self.places[application];
        place.comparison_due = false;
        let place = *place;
        let release = self.release;
        let live = self.live(application);
        let before = live.clone();
        let named = Revision(live.spec.parameters);
        live.reconciled_at = Some(now);
        live.revisions = Arc::new([match release {
            ArgoCdRelease::TargetRevision => named,
            ArgoCdRelease::Parameters => OLD,
        }]);
        live.sync = if place.applied == Some(named) { SyncStatus::Synced } else { SyncStatus::OutOfSync };
        live.health = match (place.applied, place.ready) {
            (None, _) => Health::Missing,
            (Some(_), true) => Health::Healthy,
            (Some(_), false) => Health::Progressing,
        };
        happened.starts_pass |= queues_pass(Some(&before), Some(live));
        let syncs_itself = live.spec.auto_sync == AutoSync::Enabled && live.sync == SyncStatus::OutOfSync;
        if syncs_itself && live.operation.is_none() {
            let operation = self.scheduler.operation();
            self.live(application).operation = Some(operation);
            happened.starts_pass |= self.begin_operation(application, now);
            if self.can_be_told(application) {
                happened.deploys.push((ClusterId(application as u32), named));
            }
        }
    }

    /// Rows that are on their way, which is what a budget counts.
    fn updating(&self) -> u64 {
        let is_updating = |status| matches!(status, RolloutStatus::Pending | RolloutStatus::Progressing);
        self.scheduler.rows().iter().flatten().filter(|row| is_updating(row.status)).count() as u64
    }
}

impl Product for ArgoCdProduct<'_> {
    fn learn(&mut self, report: Report) -> bool {
        self.inbox.push(report);
        false
    }

    fn decide(&mut self, now: SimTime) -> Decision {
        let unavailable = self.updating();
        let pass = self.scheduler.reconcile(now, &self.view);
        // Rows are one object, written before the applications.
        let writes = usize::from(pass.status.rows_written);
        let mut decision = Decision { writes, unavailable, again: pass.wake_at == Some(now), ..Decision::default() };
        let mut last: Option<TargetId> = None;
        for action in &pass.actions {
            let (Action::Create { target } | Action::Stage { target, .. } | Action::Deploy { target, .. }) = *action
            else {
                unreachable!("every cluster of the fleet stays a target, and Argo CD asks for nothing else")
            };
            // Spec and operation of one application are one write.
            if last.replace(target) != Some(target) {
                decision.writes += 1;
            }
            let written = now + self.timing.pass_duration(self.clusters.len(), decision.writes);
            let application = target.index();
            if let Action::Deploy { revision, .. } = *action {
                self.schedule(written + self.timing.watch_delay, Due::Begins(application, written));
                if self.can_be_told(application) {
                    let cluster = ClusterId(target.0);
                    decision.deploys.push(Deploy { cluster, revision, after_writes: decision.writes });
                }
            } else {
                decision.created += usize::from(matches!(action, Action::Create { .. }));
                self.schedule(written + self.timing.watch_delay, Due::Written(application));
            }
        }
        self.scheduler.store(now, &pass, &mut self.view);
        decision
    }

    fn is_done(&self, cluster: ClusterId) -> bool {
        let index = cluster.index();
        // Between the write of a spec and the comparison an application still shows what it was.
        self.places[index].applied == Some(NEW) && self.view.applications[index].is_done()
    }

    fn hold(&self) -> Option<Hold> {
        self.scheduler.hold(&self.view)
    }

    fn stages(&self) -> Vec<String> {
        let lists = &self.scheduler.steps().lists;
        let mut stages = vec![String::new(); self.clusters.len()];
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
        if self.inbox.is_empty() { self.agenda.keys().next().map(|&(at, _)| at) } else { Some(SimTime::ZERO) }
    }

    fn advance(&mut self, now: SimTime) -> Happened {
        let mut happened = Happened::default();
        for report in std::mem::take(&mut self.inbox) {
            happened.starts_pass |= self.work_on(report, now);
        }
        while let Some(entry) = self.agenda.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Due::Written(application) => self.compare(application, now),
                Due::Begins(application, started_at) => {
                    happened.starts_pass |= self.begin_operation(application, started_at);
                }
                Due::Ends(application, started_at) => {
                    happened.starts_pass |= self.end_operation(application, started_at);
                    self.compare(application, now);
                }
                Due::Compared(application) => {
                    self.compared(application, now, &mut happened);
                    happened.changed.push(ClusterId(application as u32));
                }
            }
        }
        happened
    }
}
