//! Rancher Fleet's controllers, as one bundle sees them: what they observe, and how their decisions reach the clusters.
//!
//! Every cluster of the fleet is a target of one bundle. A report of a cluster's agent becomes the status of its
//! `BundleDeployment`. A changed status or a created deployment starts a pass; the promotion itself does not
//! (rancher/fleet at 3b2c622, `reconciler/{bundle_controller,bundledeployment_controller}.go`). A pass first decides
//! for all targets. Then it visits the targets with a deployment in the order of the clusters' names, one request
//! after the other: it deletes the Secret with the Helm values, if the bundle has none, and writes the deployment if
//! it changes. A pass that changes nothing therefore costs one request for each target. With Helm values, a pass gets
//! the Secret of each target that has a deployment before it decides, and a new deployment takes two more requests:
//! one creates its Secret first, and one sets the Secret's owner afterwards. If the cache does not show the Secret by
//! then, the pass tries to create it again, which the API server rejects; the pass then ends without writing a status.
//! The next pass begins when the cache shows the new deployment. If the watch delay exceeds the duration of a request,
//! each pass therefore creates only one deployment.
//!
//! A pass decides on the state in the cache, which lags behind the controller's own writes (`unseen.rs`).
//!
//! A second controller, with 50 workers, handles each deployment that was created or whose status changed, and patches
//! `status.display` if it is out of date. The patch changes the status, so the bundle controller runs one more pass
//! after most reports.
//!
//! A cluster leaves the workspace when a person deletes its Cluster object. The cluster controller then deletes the
//! cluster's own bundle and its namespace, and removes its finalizer from the cluster
//! (`reconciler/cluster_controller.go`). Deleting the namespace deletes the deployment, whose finalizer the second
//! controller removes; the agent then removes the payload. Until the cluster is gone, passes treat it as a target, and
//! their writes to its namespace are rejected. A cluster that joins the workspace has no namespace in the first pass
//! that sees it, and gets its deployment in the next pass.
//!
//! Schedules open and close windows. Outside these windows agents do nothing (`controller/windows.rs`).
//!
//! All bundles of a run share the workers of both controllers and the limits of their clients. A worker handles one
//! bundle at a time, and no two workers handle the same bundle.
//!
//! A release changes the content of the bundle, and with it the id that all targets want. Contents are stored by their
//! hash, so a return to an older release stores nothing. Left out: the controller that deletes contents without a
//! deployment (`content_controller.go`), after whose work a return stores its content again by one more request.
//!
//! Also left out: the time that Kubernetes takes to delete the other objects of a namespace; Fleet's GitRepo
//! controller; the 50 workers of the cluster controller, because people change clusters only in runs with one
//! application.

mod windows;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use super::failed_apply;
use super::status_writes::StatusWrites;
use super::unseen::{UnseenWrite, UnseenWrites};
use super::{RancherFleetStrategy, clusters};
use crate::control_plane::{
    ApiClient, Change, Controller, ControllerInput, Plane, RateLimiter, Runtime, StatusLog, Traits,
    WorkerPool,
};
use crate::products::words::add_stage;
use crate::products::{Fleet, Run};
use crate::rollout::rancher_fleet::{
    BundleDeployment, BundleState, BundleStatus, BundleView, ClusterView, FleetCluster,
    RancherFleet, groups_of,
};
use crate::rollout::{Hold, QueueRequest, Revision, TargetSet, by_name, places_in};
use crate::units::{SimDuration, SimTime};
use crate::world::{NEW, OLD, ReleaseKind, Report, TargetId, WorldSpec};
use windows::ScheduleWindows;
use writes::PassWrites;

/// Number of workers of the bundle controller, for all bundles. Source: `BUNDLE_RECONCILER_WORKERS` in the Helm chart's
/// `values.yaml`.
const BUNDLE_WORKERS: usize = 50;

/// Number of workers of the second controller. Source: `BUNDLEDEPLOYMENT_RECONCILER_WORKERS` in the Helm chart's
/// `values.yaml`.
const DISPLAY_WORKERS: usize = 50;

/// The names of the two controllers at the hub, whose workers all bundles share.
const BUNDLE_CONTROLLER: &str = "bundle controller";
const DISPLAY_CONTROLLER: &str = "bundledeployment controller";

/// The name of the bundle and the GitRepo in the recorded statuses.
const NAME: &str = "app";

/// Steps of Fleet's controllers other than passes of the bundle controller.
#[derive(Clone, Copy, Debug)]
enum FleetStep {
    /// The caches show a newly created deployment.
    Created(usize),
    /// The caches show a patched display.
    Displayed,
    /// The deployment of a leaving cluster no longer exists, so the agent removes the payload.
    Removed(usize),
    /// The caches show that a cluster is gone.
    Gone(usize),
    /// A joining cluster has a namespace.
    Registered(usize),
    /// A window of a Schedule begins or ends.
    Window(usize),
    /// The caches show whether a cluster is inside its windows.
    Scheduled(usize, bool),
}

/// The times at which the Secret with a deployment's Helm values was created and at which it got its owner.
#[derive(Clone, Copy, Debug)]
struct ValuesSecret {
    created: SimTime,
    owned: Option<SimTime>,
}

/// The part of a deployment that its `status.display` shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Display {
    state: BundleState,
    /// Whether the deployment was applied at least once.
    was_applied: bool,
}

impl Display {
    fn of(deployment: &BundleDeployment) -> Self {
        Self {
            state: deployment.state(),
            was_applied: deployment.applied.is_some(),
        }
    }
}

/// Rancher Fleet's controllers with one bundle.
pub(super) struct FleetController<'s> {
    scheduler: RancherFleet,
    /// The bundle and its deployments, as the cache shows them.
    view: BundleView,
    unseen: UnseenWrites,
    runtime: Runtime<(), FleetStep>,
    retries: RateLimiter<()>,
    client: ApiClient,
    watch_delay: SimDuration,
    /// Whether Helm rolls back a failed apply.
    rolls_back: bool,
    /// Whether the bundle has Helm values.
    has_values: bool,
    /// The Secrets with the Helm values, by cluster.
    secrets: Vec<Option<ValuesSecret>>,
    /// Clusters whose Secrets may be out of date in the cache.
    secrets_behind: BTreeSet<usize>,
    fleet: Fleet<'s>,
    /// The clusters in the form that the rules use.
    clusters: Vec<FleetCluster>,
    /// The rank of each cluster in the order of names.
    ranks: Vec<u32>,
    /// Clusters whose cached state has changed since the last pass.
    changed: TargetSet,
    /// Clusters that run the wanted version and are ready, or are not targets.
    done: TargetSet,
    /// Clusters whose deployments Fleet counts as unavailable.
    unavailable: TargetSet,
    /// The targets with a deployment, which passes write, by the rank of their cluster's name.
    attached: TargetSet,
    /// The content label of each deployment: the bundle's content when the deployment was last written.
    labelled: Vec<Option<Revision>>,
    /// The newest revision whose content is stored in the management cluster.
    stored: Option<Revision>,
    /// Whether each cluster's resources report a failure.
    degraded: Vec<bool>,
    /// The bundle's status as the last pass wrote it. `None`: there is no bundle yet.
    status: Option<BundleStatus>,
    status_writes: StatusWrites,
    /// Whether the bundle is new and has no finalizer yet.
    is_new: bool,
    /// Whether a person has stopped the rollout at least once. After that, agents that resume check their resources.
    was_stopped: bool,
    /// The second controller's client, its workers, and the display of each deployment.
    display_client: ApiClient,
    display_workers: WorkerPool,
    displays: Vec<Option<Display>>,
    /// The cluster controller's client.
    cluster_client: ApiClient,
    /// For each leaving cluster, the time at which the caches show that its deployment no longer exists.
    leaving: BTreeMap<usize, SimTime>,
    windows: ScheduleWindows,
}

impl<'s> FleetController<'s> {
    pub(super) fn new(strategy: &RancherFleetStrategy, run: &Run<'s>) -> Self {
        let fleet = run.fleet;
        let clusters = clusters(fleet);
        let scheduler =
            RancherFleet::new(strategy.strategy.clone(), strategy.rules, clusters.clone())
                .judging_wanted(strategy.judges_wanted);
        let windows = ScheduleWindows::new(
            strategy.schedules.as_ref(),
            clusters.len(),
            client(run, "schedule controller"),
            run.horizon,
        );
        let view = BundleView {
            paused: strategy.paused,
            clusters: views_before_release(fleet.world, &windows),
        };
        let is_new = fleet.world.applications[0].release == ReleaseKind::Initial;
        let old_secret = ValuesSecret {
            created: SimTime::ZERO,
            owned: Some(SimTime::ZERO),
        };
        let mut secrets = Vec::new();
        let mut labelled = Vec::new();
        let mut displays = Vec::new();
        for cluster in &view.clusters {
            let deployment = cluster.deployment.as_ref();
            secrets.push(deployment.map(|_| old_secret));
            labelled.push(deployment.and_then(|deployment| deployment.staged));
            displays.push(deployment.map(Display::of));
        }
        let bundle_workers = run.hub.workers(BUNDLE_CONTROLLER, BUNDLE_WORKERS);
        Self {
            scheduler,
            unseen: UnseenWrites::new(run.control_loop.watch_delay),
            runtime: Runtime::of_controller(0, bundle_workers),
            retries: RateLimiter::controller_default(&run.hub, BUNDLE_CONTROLLER),
            client: client(run, "API requests"),
            watch_delay: run.control_loop.watch_delay,
            rolls_back: strategy.helm.atomic,
            has_values: strategy.has_values,
            secrets,
            secrets_behind: BTreeSet::new(),
            fleet,
            ranks: places_in(&by_name(&clusters, |cluster| &cluster.name)),
            changed: TargetSet::all(clusters.len()),
            done: TargetSet::new(clusters.len()),
            unavailable: TargetSet::new(clusters.len()),
            attached: TargetSet::new(clusters.len()),
            labelled,
            stored: None,
            degraded: vec![false; clusters.len()],
            status: (!is_new).then(|| BundleStatus::settled(clusters.len() as u32)),
            status_writes: StatusWrites::new(run.control_loop.watch_delay),
            is_new,
            was_stopped: strategy.paused,
            display_client: client(run, "status.display"),
            display_workers: WorkerPool::of_hub(&run.hub, DISPLAY_CONTROLLER, DISPLAY_WORKERS),
            displays,
            cluster_client: client(run, "cluster controller"),
            leaving: BTreeMap::new(),
            windows,
            clusters,
            view,
        }
    }

    /// Writes an agent's report to the status of the cluster's deployment, unless the deployment was deleted.
    fn report(&mut self, report: Report, plane: &mut Plane<'_>) {
        let cluster = report.target.index();
        let Some(deployment) = self.view.clusters[cluster].deployment.as_mut() else {
            return;
        };
        let before = *deployment;
        // A failed apply, or a failing revision, also changes the messages of its resources.
        failed_apply::store(report, self.rolls_back, deployment);
        let is_degraded = report.degraded && !deployment.failed;
        let was_degraded = std::mem::replace(&mut self.degraded[cluster], is_degraded);
        if *deployment != before || was_degraded != is_degraded {
            self.changed.insert(report.target.0);
            self.display(cluster, plane);
            self.runtime.add(());
        }
    }

    /// Runs the second controller for a deployment and patches the display if it is out of date.
    fn display(&mut self, cluster: usize, plane: &mut Plane<'_>) {
        let Some(deployment) = &self.view.clusters[cluster].deployment else {
            return;
        };
        let display = Some(Display::of(deployment));
        if std::mem::replace(&mut self.displays[cluster], display) != display {
            let patched = self
                .display_workers
                .work(plane.now(), self.display_client.latency());
            self.runtime
                .step(patched + self.watch_delay, FleetStep::Displayed, plane);
        }
    }

    fn person(&mut self, change: &Change, plane: &mut Plane<'_>) {
        match change {
            Change::Release(revision) => {
                for cluster in &mut self.view.clusters {
                    cluster.wanted = *revision;
                }
                self.changed.insert_all();
            }
            Change::Stop(is_stopped) => {
                self.view.paused = *is_stopped;
                self.was_stopped = true;
            }
            Change::Labels(cluster, labels) => {
                let groups = groups_of(labels, self.fleet.groups)
                    .expect("selectors are checked before they are kept");
                let cluster = &mut self.clusters[cluster.index()];
                cluster.labels = labels.clone().into();
                cluster.groups = groups;
                self.scheduler.set_clusters(self.clusters.clone());
            }
            Change::Selected(target, false) => self.leaves(target.index(), plane),
            Change::Selected(target, true) => {
                let view = &mut self.view.clusters[target.index()];
                view.targeted = true;
                view.registered = false;
                self.changed.insert(target.0);
                self.leaving.remove(&target.index());
                self.runtime
                    .step(plane.now(), FleetStep::Registered(target.index()), plane);
            }
            Change::Approve { .. } | Change::Edited(_) | Change::Deleted(_) => return,
        }
        self.runtime.add(());
    }

    /// Handles a cluster's deletion mark, which the caches now show.
    fn leaves(&mut self, cluster: usize, plane: &mut Plane<'_>) {
        let namespace_deleted = self.cluster_client.in_turn(0, plane.now(), 2);
        let gone = self.cluster_client.in_turn(0, namespace_deleted, 1) + self.watch_delay;
        let removed = self
            .cluster_client
            .in_turn(0, namespace_deleted + self.watch_delay, 1);
        self.leaving.insert(cluster, removed + self.watch_delay);
        self.runtime
            .step(removed, FleetStep::Removed(cluster), plane);
        self.runtime
            .step(gone.max(removed), FleetStep::Gone(cluster), plane);
    }

    fn step(&mut self, step: FleetStep, plane: &mut Plane<'_>) {
        match step {
            FleetStep::Window(schedule) => return self.window(schedule, plane),
            FleetStep::Scheduled(cluster, is_active) => return self.scheduled(cluster, is_active),
            FleetStep::Created(cluster) => self.display(cluster, plane),
            FleetStep::Displayed => {}
            FleetStep::Removed(cluster) => plane.remove(TargetId(cluster as u32)),
            FleetStep::Gone(cluster) => {
                self.unseen.forget(cluster);
                self.secrets[cluster] = None;
                let view = &mut self.view.clusters[cluster];
                view.targeted = false;
                view.deployment = None;
                self.labelled[cluster] = None;
                self.displays[cluster] = None;
                self.leaving.remove(&cluster);
                self.changed.insert(cluster as u32);
                plane.changed(TargetId(cluster as u32));
            }
            FleetStep::Registered(cluster) => {
                self.view.clusters[cluster].registered =
                    self.fleet.world.clusters[cluster].registered;
                self.changed.insert(cluster as u32);
            }
        }
        self.runtime.add(());
    }

    /// Applies the writes that the cache shows now.
    fn see(&mut self, now: SimTime) {
        while let Some(UnseenWrite {
            cluster,
            deployment: written,
            ..
        }) = self.unseen.next_seen(now)
        {
            let shown = self.view.clusters[cluster]
                .deployment
                .get_or_insert(written);
            let BundleDeployment {
                staged,
                deployed,
                paused,
                off_schedule,
                ..
            } = written;
            *shown = BundleDeployment {
                staged,
                deployed,
                paused,
                off_schedule,
                ..*shown
            };
            self.changed.insert(cluster as u32);
        }
    }

    fn reconcile(&mut self, now: SimTime, plane: &mut Plane<'_>) {
        self.runtime.clear_timer((), plane);
        let pass = self
            .scheduler
            .reconcile_changed(now, &self.view, &self.changed);
        self.count_changed();
        plane.begin_pass(self.unavailable.len() as u64);
        // The bundle's status is Ready when the pass counts all targets as ready.
        let completes = self.done.len() == self.clusters.len();
        let planned = self.plan(now, &pass);
        self.changed.clear();
        for cluster in &pass.status.stored {
            self.changed.insert(*cluster);
        }
        let PassWrites {
            at: end,
            created,
            request,
        } = self.write(now, &planned, plane);
        let has_status = !matches!(request, QueueRequest::After(_));
        if has_status {
            self.status_writes.began = now;
            self.status_writes.ended = end;
            self.status = Some(pass.status);
        }
        self.runtime
            .end_pass((), end, created, completes && has_status, plane);
        if let Some(again) = self.retries.requeue((), end, request) {
            self.runtime.add_at((), again, plane);
        }
    }

    /// Updates the sets of done and unavailable clusters.
    fn count_changed(&mut self) {
        for index in self.changed.iter() {
            let cluster = &self.view.clusters[index as usize];
            let is_unavailable = cluster
                .deployment
                .is_some_and(|deployment| deployment.is_unavailable());
            self.done.set(index, !cluster.targeted || cluster.is_done());
            self.unavailable.set(index, is_unavailable);
        }
    }
}

/// Returns the clusters as the caches show them before the release.
fn views_before_release(world: &WorldSpec, windows: &ScheduleWindows) -> Vec<ClusterView> {
    let mut views = Vec::new();
    for (index, spec) in world.clusters.iter().enumerate() {
        let off_schedule = windows.is_off(index);
        let mut view = match world.installed(0, index) {
            Some(installed) if spec.registered => ClusterView::settled(installed),
            _ => ClusterView::new(OLD),
        };
        if let Some(deployment) = &mut view.deployment {
            deployment.off_schedule = off_schedule;
        }
        views.push(ClusterView {
            wanted: NEW,
            registered: spec.registered,
            paused: spec.paused,
            off_schedule,
            ..view
        });
    }
    views
}

/// Creates the client of one of Fleet's controllers. `name` identifies its requests in the random streams.
fn client(run: &Run<'_>, name: &'static str) -> ApiClient {
    let own = ApiClient::new(run.control_loop, &run.streams, name);
    own.of_hub(&run.hub).drawing_sums()
}

impl Controller for FleetController<'_> {
    fn traits(&self) -> Traits {
        Traits {
            reports_completion: true,
            ..Traits::default()
        }
    }

    fn handle(&mut self, now: SimTime, input: ControllerInput<'_>, plane: &mut Plane<'_>) {
        self.see(now);
        self.windows.now = now;
        match input {
            ControllerInput::Released => {
                self.start_windows(plane);
                self.runtime.release(());
            }
            ControllerInput::Report(report) => self.report(report, plane),
            ControllerInput::Person(change) => self.person(change, plane),
            ControllerInput::Timer(number) => {
                if let Some(step) = self.runtime.due(number, plane) {
                    self.step(step, plane);
                }
            }
            _ => {}
        }
        while self.runtime.take(plane).is_some() {
            self.reconcile(now, plane);
        }
    }

    fn is_done(&self, target: TargetId) -> bool {
        let view = &self.view.clusters[target.index()];
        !view.targeted || view.is_done()
    }

    fn hold(&self) -> Option<Hold> {
        let hold = self.scheduler.hold(&self.view)?;
        Some(self.with_windows(hold))
    }

    fn show(&mut self, log: &mut StatusLog) {
        let Some(status) = &self.status else { return };
        let bundle = self
            .status_writes
            .show(self.scheduler.bundle_conditions(NAME, status));
        log.show(bundle.iter().cloned());
        // The GitRepo's Ready condition comes first.
        log.show(RancherFleet::git_repo_conditions(
            NAME, &bundle[0], &self.view,
        ));
    }

    fn timer_kind(&self, number: u32) -> Option<&'static str> {
        self.runtime.timer_kind(number, |step| match step {
            FleetStep::Created(_) => "created deployments that the controllers see",
            FleetStep::Displayed => "patched displays that the controller sees",
            FleetStep::Removed(_) | FleetStep::Gone(_) => "removals of a cluster",
            FleetStep::Registered(_) => "registrations of a cluster",
            FleetStep::Window(_) => "windows that open or close",
            FleetStep::Scheduled(..) => "clusters whose window has opened or closed",
        })
    }

    fn stages(&self) -> Vec<String> {
        let mut stages = vec![String::new(); self.view.clusters.len()];
        for partition in self
            .scheduler
            .partitioning()
            .iter()
            .flat_map(|plan| &plan.partitions)
        {
            for &member in &partition.members {
                add_stage(&mut stages[member as usize], &partition.name);
            }
        }
        stages
    }
}
